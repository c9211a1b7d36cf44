"""Relevancies with a new inverse after each removal (W-DBO theorem 4.1)."""

import numpy as np


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
