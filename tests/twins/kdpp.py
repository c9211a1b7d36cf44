"""Determinants for every choice and proposal; arguments are not changed."""

from itertools import combinations

import numpy as np


def determinant(K, items):
    return np.linalg.det(K[np.ix_(items, items)])


def log_determinant(K, items):
    sign, value = np.linalg.slogdet(K[np.ix_(items, items)])
    return value if sign > 0 else -np.inf


def is_symmetric(K):
    return bool(np.isfinite(K).all() and np.array_equal(K, K.T))


def best(residual, diagonal, tol):
    """Return the lowest index among the largest residuals."""
    items = [j for j in range(len(residual)) if residual[j] > tol * diagonal[j]]
    if not items:
        return -1
    top = max(items, key=lambda j: residual[j])
    return min(j for j in items if residual[j] >= residual[top] - tol * diagonal[top])


def eliminate(column, L, residual, m, j):
    """Return row m of the factor, and the residuals."""
    row = (column - L[:m, j] @ L[:m]) / np.sqrt(residual[j])
    row[j] = np.sqrt(residual[j])
    residual = residual - row**2
    residual[j] = 0.0
    return row, residual


def greedy(K, k, ties=1e-9):
    """Return indices (k,): each the lowest of those with the largest determinant."""
    chosen = []
    for _ in range(k):
        others = [j for j in range(len(K)) if j not in chosen]
        values = np.array([determinant(K, [*chosen, j]) for j in others])
        chosen.append(others[np.flatnonzero(values >= (1.0 - ties) * values.max())[0]])
    return np.array(chosen)


def swap_chain(K, Z, rest, leave, enter, u, tol):
    """Return Z after each proposal (n, k), and the last rest, log-determinant, accepted."""
    Z, rest = Z.copy(), rest.copy()
    log_det, accepted, states = log_determinant(K, Z), 0, []
    for p, q, coin in zip(leave, enter, u):
        new = Z.copy()
        new[p] = rest[q]
        log_new = log_determinant(K, new)
        others = log_determinant(K, np.delete(Z, p)) if len(Z) > 1 else 0.0
        singular = not np.exp(log_new - others) > tol * K[new[p], new[p]]
        if not singular and coin < 0.5 * min(1.0, np.exp(log_new - log_det)):
            rest[q] = Z[p]
            Z, log_det, accepted = new, log_new, accepted + 1
        states.append(Z)
    return np.array(states).reshape(-1, len(Z)), rest, log_det, accepted


def distribution(K, k):
    """Return all k-subsets (m, k) in lexicographic order, and their probabilities (m,)."""
    subsets = np.array(list(combinations(range(len(K)), k)))
    weights = np.array([determinant(K, items) for items in subsets])
    return subsets, weights / weights.sum()


def transitions(K, k):
    """Return transition probabilities (m, m) between the k-subsets (SparQ algorithm 2)."""
    subsets, p = distribution(K, k)
    T = np.zeros((len(p), len(p)))
    for a, b in combinations(range(len(p)), 2):
        if len(set(subsets[a]) & set(subsets[b])) == k - 1:
            T[a, b] = 0.5 * min(1.0, p[b] / p[a]) / (k * (len(K) - k))
            T[b, a] = 0.5 * min(1.0, p[a] / p[b]) / (k * (len(K) - k))
    return T + np.diag(1.0 - T.sum(axis=1))
