"""Constant mean with a Gaussian prior, in closed form.

y = m + f + noise with m ~ N(0, τ²). With G the inverse covariance of f + noise and
u = G 1,

    precision of m given y:  A = 1/τ² + 1ᵀ u,      its posterior mean:  m̂ = uᵀ y / A,
    inverse covariance of y:  G − u uᵀ / A,        its log-determinant:  log|G| − log(τ² A).

The weights of the posterior are then G (y − m̂ 1), and a place with covariances k has the posterior
mean m̂ + kᵀ G (y − m̂ 1) and the variance k(x, x) − kᵀ G k + r² / A, r = 1 − kᵀ u. τ = ∞ is
generalized least squares: the limit, except that log 2π stands for log τ² in the likelihood, as if
the flat prior had the density 1.
"""

from dataclasses import dataclass, replace

import numpy as np

from .._fast import cholesky as _cholesky
from ._cholesky import matvec


@dataclass(frozen=True, eq=False)
class Mean:
    """Posterior of the constant mean, in units of the standardized y.

    Attributes
    ----------
    value : float
        m̂.
    precision : float
        A; infinite for a known mean of 0.
    direction : ndarray of shape (b,) or None
        u, or its equivalent in another basis. None for a known mean of 0, and in a Kalman filter,
        which filters a column of ones as well.
    share : float
        Part of the mean in what is predicted: 1 in f, 0 in a term of f.
    """

    value: float
    precision: float
    direction: np.ndarray | None
    share: float = 1.0

    @property
    def is_learnt(self):
        """True if the mean has a prior variance, rather than being 0."""
        return self.precision < np.inf

    def of_term(self, direction):
        """Return the mean as it enters a term of f, which excludes it."""
        return replace(self, value=0.0, direction=direction, share=0.0)

    def trend_residual(self, K):
        """Return r (m,) of places with covariances K (m, b), for a learnt mean."""
        return self.share - matvec(K, self.direction)

    def covariance(self, K, full):
        """Return the covariance (m, m), or variances (m,), due to the uncertain mean.

        K (m, b) are the covariances of the places with the observations.
        """
        if not self.is_learnt:
            return 0.0
        rest = self.trend_residual(K) / np.sqrt(self.precision)
        return np.outer(rest, rest) if full else rest * rest

    def corrected_weights(self, k, c):
        """Return weights (b,) of the observations at a place, and the variance due to the mean.

        From the covariances k (b,) of the place, and its weights c (b,) for a known mean.
        """
        if not self.is_learnt:
            return c, 0.0
        rest = self.share - k @ self.direction
        return c + (rest / self.precision) * self.direction, rest * rest / self.precision

    def weight_corrections(self, K):
        """Return r uᵀ / A (m, b): the weights of the observations in m̂ r."""
        if not self.is_learnt:
            return 0.0
        return np.outer(self.trend_residual(K) / self.precision, self.direction)

    def downdate(self, G):
        """Return G − u uᵀ / A, written over G (b, b), C order."""
        if self.is_learnt:
            _cholesky.add_outer(G, self.direction[np.newaxis], -1.0 / self.precision)
        return G

    def downdate_product(self, Gv, v):
        """Return (G − u uᵀ / A) v, from G v and v (b,)."""
        if self.is_learnt:
            Gv = Gv - (self.direction @ v / self.precision) * self.direction
        return Gv

    def information_correction(self, variance, weight):
        """Return log(A / (1/τ² + Σ 1/σ_i²)): minus twice the information about m, in nats."""
        if not self.is_learnt:
            return 0.0
        return np.log(self.precision / (1.0 / variance + weight))


ZERO = Mean(0.0, np.inf, None)


def prior_variance(std):
    """Return τ²; 0 or infinity if τ² or its reciprocal underflows or overflows."""
    variance = std * std
    return variance if variance >= np.finfo(float).tiny else 0.0


def estimate_mean(variance, ones, cross, direction):
    """Return the posterior of the mean given y (n,), and its term of the log likelihood.

    Parameters
    ----------
    variance : float
        τ² > 0, perhaps infinite.
    ones, cross : float
        1ᵀ u and uᵀ y.
    direction : ndarray of shape (n,) or None
        u, see `Mean`.
    """
    precision = 1.0 / variance + ones
    value = cross / precision
    log_prior = np.log(variance) if variance < np.inf else -np.log(2.0 * np.pi)
    gain = 0.5 * (cross * value - np.log(precision) - log_prior)
    return Mean(value, precision, direction), gain
