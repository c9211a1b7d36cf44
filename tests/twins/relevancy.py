"""Relevancies with a new inverse after each removal (W-DBO theorem 4.1)."""

import numpy as np


def _quadratic_forms(P, C):
    return np.einsum("ij,jk,ki->i", P, C, P)


def remove(P, C, a, q, index, n, i):
    """Return the sweep's state (P, C, a, q, index), n - 1 entries, after removing position i.

    The leading n entries of the arguments are used; the inverse and ``q`` are recomputed.
    """
    P, C, a = P[:n, :n], C[:n, :n], a[:n]
    covariance = np.linalg.inv(P)
    y = covariance @ a
    order = np.arange(n)
    order[i] = n - 1
    order = order[:-1]
    fresh = np.linalg.inv(covariance[np.ix_(order, order)])
    kept_C = C[np.ix_(order, order)]
    return fresh, kept_C, fresh @ y[order], _quadratic_forms(fresh, kept_C), index[order]


def relevancy(K, y, C):
    """Return R̂ of eq. (12) for covariance K of the observations, noise included: O(n^4)."""
    n = len(y)
    P = np.linalg.inv(K)
    a = P @ y
    whole = a @ C @ a + np.sum(P * C)
    ratios = np.empty(n)
    for i in range(n):
        kept = np.delete(np.arange(n), i)
        without = np.zeros((n, n))
        without[np.ix_(kept, kept)] = np.linalg.inv(K[np.ix_(kept, kept)])
        change = a - without @ y
        ratios[i] = (change @ C @ change + np.sum((P - without) * C)) / whole
    return np.sqrt(ratios)
