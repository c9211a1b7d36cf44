"""What the tiles compute, in plain NumPy."""

import numpy as np


def factor(A):
    """Lower factor of A, of which the lower triangle counts; None if there is none."""
    try:
        return np.linalg.cholesky(np.tril(A) + np.tril(A, -1).T)
    except np.linalg.LinAlgError:
        return None


def inverse(L):
    """Lower triangle of (L Lᵀ)⁻¹."""
    L = np.tril(L)
    return np.tril(np.linalg.inv(L @ L.T))


def solve_lower(L, n, B, transpose=False):
    """B with each row b replaced by L⁻¹ b, or L⁻ᵀ b."""
    L = np.tril(L[:n, :n])
    return np.linalg.solve(L.T if transpose else L, B.T).T


solve_lower_few = solve_lower


def product(A, B):
    return A @ B


def product_with_few(A, B):
    return np.array([A @ b for b in B.T]).T.reshape(len(A), B.shape[1])
