"""Dense Gaussian process of a sum of chains, from its covariance matrix."""

import numpy as np
from sklearn.gaussian_process.kernels import ConstantKernel, Matern


class Chains:
    """The same arguments as the compiled class; rows with infinite noise are only queried."""

    def __init__(self, order, rate, line, weight, gap, Y, R, H):
        t = np.cumsum(gap)[:, np.newaxis]
        kinds = [
            Matern(np.sqrt(2.0 * p - 1.0) / c, nu=p - 0.5)(t) if c else ConstantKernel()(t)
            for p, c in zip(order, rate)
        ]
        H = np.ones((len(gap), 1)) if H is None else H
        self.K = sum(w * np.outer(h, h) * kinds[i] for w, h, i in zip(weight, H.T, line))
        self.known = np.isfinite(R)
        self.Y, self.R = Y[self.known], R[self.known]

    @property
    def observed(self):
        return self.K[np.ix_(self.known, self.known)] + np.diag(self.R)

    def sums(self):
        """Return Y' Δ⁻¹ Y (k, k) and log |Δ|."""
        return self.Y.T @ np.linalg.solve(self.observed, self.Y), np.linalg.slogdet(self.observed)[
            1
        ]

    def smoothed(self):
        """Return means (n, k) and variances (n,) of f."""
        cross = self.K[:, self.known]
        solved = np.linalg.solve(self.observed, cross.T)
        return solved.T @ self.Y, np.diagonal(self.K) - np.einsum("qn,nq->q", cross, solved)
