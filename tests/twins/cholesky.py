"""New factors by LAPACK; results are returned, arguments are not changed."""

import numpy as np
from scipy.linalg import solve_triangular


def _leading(L, n):
    return np.tril(L[:n, :n])


def solve_lower(L, n, B, transpose=False):
    if n == 0:
        return B.copy()
    return solve_triangular(_leading(L, n), B.T, lower=True, trans=int(transpose)).T


def append(L, n, k, kappa):
    """Return the bordered factor (n + 1, n + 1) and the square of its new pivot."""
    A = _leading(L, n) @ _leading(L, n).T
    bordered = np.block([[A, k[:, np.newaxis]], [k[np.newaxis], np.array([[kappa]])]])
    pivot = kappa - (k @ np.linalg.solve(A, k) if n else 0.0)
    return np.linalg.cholesky(bordered), pivot


def drop(L, n, i):
    A = _leading(L, n) @ _leading(L, n).T
    smaller = np.delete(np.delete(A, i, axis=0), i, axis=1)
    return np.linalg.cholesky(smaller) if n > 1 else np.empty((0, 0))


def symmetrize(A):
    return np.tril(A) + np.tril(A, -1).T


def add_outer(A, U, scale):
    """Return A + scale Uᵀ U."""
    return A + scale * U.T @ U


def block_plus(A, at, Z, w):
    """Return the block of A in rows and columns ``at``, padded with zeros, + Zᵀ diag(w) Z."""
    more = Z.shape[1] - len(at)
    return np.pad(A[at][:, at], ((0, more), (0, more))) + (Z.T * w) @ Z
