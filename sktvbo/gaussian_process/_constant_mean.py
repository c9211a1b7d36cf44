"""A constant mean with a Gaussian prior, in closed form.

y = m + f + noise with m ~ N(0, τ²). With G the inverse covariance of f + noise and u = G 1,

    precision of m given y:  A = 1/τ² + 1ᵀ u,      its posterior mean:  m̂ = uᵀ y / A,
    inverse covariance of y:  G − u uᵀ / A,        its log-determinant:  log|G| − log(τ² A).

The weights of the posterior are then G (y − m̂ 1), and a place with covariances k has the posterior
mean m̂ + kᵀ G (y − m̂ 1) and the variance k(x, x) − kᵀ G k + r² / A, r = 1 − kᵀ u. τ = ∞ is
generalized least squares: the limit, except that log 2π stands for log τ² in the likelihood, as if
the flat prior had the density 1.
"""

from dataclasses import dataclass

import numpy as np

from .._fast import cholesky as _cholesky
from ._cholesky import matvec


@dataclass(frozen=True, eq=False)
class Mean:
    """The mean given the observations, in units of the standardized y.

    Attributes
    ----------
    value : float
        m̂.
    precision : float
        A; infinite where the mean is known to be 0.
    direction : ndarray of shape (b,) or None
        u, or what stands for it in another basis; None where the mean is known to be 0, and of a
        Kalman filter, whose states filter the 1 beside y.
    """

    value: float
    precision: float
    direction: np.ndarray | None

    @property
    def is_learnt(self):
        """Whether it is not just known to be 0."""
        return self.precision < np.inf

    def rest(self, K):
        """r (m,) of places with covariances K (m, b), where the mean is learnt."""
        return 1.0 - matvec(K, self.direction)

    def covariance(self, K, full):
        """Return what its uncertainty adds to the covariance (m, m), or to the variances (m,).

        K (m, b) are the covariances of the places with the observations.
        """
        if not self.is_learnt:
            return 0.0
        rest = self.rest(K) / np.sqrt(self.precision)
        return np.outer(rest, rest) if full else rest * rest

    def widened(self, k, c):
        """Return weights of the observations and variance at a place, with a mean that is learnt.

        From the place's covariances k (b,), and its weights c (b,) if the mean were known.
        """
        if not self.is_learnt:
            return c, 0.0
        rest = 1.0 - k @ self.direction
        return c + (rest / self.precision) * self.direction, rest * rest / self.precision

    def shares(self, K):
        """r uᵀ / A (m, b): the weights of the observations in m̂ r."""
        if not self.is_learnt:
            return 0.0
        return np.outer(self.rest(K) / self.precision, self.direction)

    def removed(self, G):
        """G − u uᵀ / A, written over G (b, b), C order."""
        if self.is_learnt:
            _cholesky.add_outer(G, self.direction[np.newaxis], -1.0 / self.precision)
        return G

    def removed_from(self, Gv, v):
        """(G − u uᵀ / A) v, from G v and v (b,)."""
        if self.is_learnt:
            Gv = Gv - (self.direction @ v / self.precision) * self.direction
        return Gv

    def lost(self, variance, weight):
        """log(A / (1/τ² + Σ 1/σ_i²)): twice what the observations tell about m, not f, in nats."""
        if not self.is_learnt:
            return 0.0
        return np.log(self.precision / (1.0 / variance + weight))


ZERO = Mean(0.0, np.inf, None)


def prior_variance(std):
    """τ²; 0, or infinite, where floats have no room for it or for its reciprocal."""
    variance = std * std
    return variance if variance >= np.finfo(float).tiny else 0.0


def given(variance, direction, y):
    """The mean given y (n,), and what it adds to the log likelihood.

    Parameters
    ----------
    variance : float
        τ² > 0, perhaps infinite.
    direction : ndarray of shape (n,)
        u.
    y : ndarray of shape (n,)
    """
    return posterior(variance, direction.sum(), direction @ y, direction)


def posterior(variance, ones, cross, direction):
    """As `given`, from 1ᵀ u and uᵀ y."""
    precision = 1.0 / variance + ones
    value = cross / precision
    log_prior = np.log(variance) if variance < np.inf else -np.log(2.0 * np.pi)
    gain = 0.5 * (cross * value - np.log(precision) - log_prior)
    return Mean(value, precision, direction), gain
