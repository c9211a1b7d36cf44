"""Factors, inverses and products in NumPy."""

import numpy as np


def factor(A):
    """Return the lower factor of A, from its lower triangle; None if not positive definite."""
    try:
        return np.linalg.cholesky(np.tril(A) + np.tril(A, -1).T)
    except np.linalg.LinAlgError:
        return None


def inverse(L):
    """Return the lower triangle of (L Lᵀ)⁻¹."""
    L = np.tril(L)
    return np.tril(np.linalg.inv(L @ L.T))


def solve_lower(L, n, B, transpose=False):
    """Return L⁻¹ b, or L⁻ᵀ b, for each row b of B."""
    L = np.tril(L[:n, :n])
    return np.linalg.solve(L.T if transpose else L, B.T).T


def product(A, B):
    return A @ B


def product_with_few(A, B):
    return np.array([A @ b for b in B.T]).T.reshape(len(A), B.shape[1])


def half_product(A, C, tile=32):
    """Return A T, C = T + Tᵀ, T lower triangular in tiles."""
    at = np.arange(len(C)) // tile
    return A @ (C * np.heaviside(np.subtract.outer(at, at), 0.5))
