"""Priors of hyperparameters that are learnt from earlier fits.

The logarithms θ of a hyperparameter in R earlier fits have the median m and the deviation s, the
largest of the deviation between the fits, the one that their data leave, and 0.5. The prior of
another fit is

    p(θ) = W N(θ; m, s² (1 + 1/R)) + (1 − W) q(θ),

with q the density without earlier fits: that of the prior, or uniform within the bounds. Where data
contradict the earlier fits, only the second term is left: the earlier fits then have no effect.
"""

from dataclasses import dataclass

import numpy as np

from ._prior_mean import QuadraticMean

# Least deviation of the logarithm of a hyperparameter over fits.
LEAST_SPREAD = 0.5

# Largest deviation that a fit leaves.
_WIDEST = 3.0

# Weight W of earlier fits.
_WEIGHT = 0.9
_LOG_WEIGHT, _LOG_REST = np.log(_WEIGHT) - 0.5 * np.log(2.0 * np.pi), np.log1p(-_WEIGHT)

# Number of points of the integral of a density.
_N_GRID = 201


def uncertainties(covariance, record):
    """Return the variances (n_theta,) of the logarithms of hyperparameters after a search.

    One at a bound may be anywhere beyond it.

    Parameters
    ----------
    covariance : SeparableCovariance
    record : SearchRecord
    """
    hessian, n = record.hessian, len(covariance.theta)
    if hessian is None or len(hessian) != n:
        return np.full(n, _WIDEST**2)
    at_bound = np.isclose(covariance.theta[:, np.newaxis], covariance.bounds).any(axis=1)
    variances = np.diag(np.linalg.inv(hessian + np.eye(n) / _WIDEST**2))
    return np.where(at_bound, _WIDEST**2, variances)


def pooled(logs, variances=None):
    """Return median and deviation (k,) of the logarithms of hyperparameters for another fit.

    Parameters
    ----------
    logs : ndarray of shape (R, k)
        Logarithms in earlier fits.
    variances : ndarray of shape (R, k), default=None
        See `uncertainties`. None: 0.
    """
    n = len(logs)
    between = np.var(logs, axis=0, ddof=1) if n > 1 else np.zeros(np.shape(logs)[1])
    left = 0.0 if variances is None else np.mean(variances, axis=0)
    spread = np.sqrt(np.maximum(between, left))
    return np.median(logs, axis=0), np.maximum(spread, LEAST_SPREAD) * np.sqrt(1.0 + 1.0 / n)


@dataclass(frozen=True, eq=False)
class LogMixture:
    """Mixture of a log-normal distribution and another one, for k hyperparameters of one name.

    As with other priors, a search adds ``logpdf`` to the log likelihood; here it is a density of
    the logarithm.

    Attributes
    ----------
    median, spread : ndarray of shape (k,)
        Median of the hyperparameter, and deviation of its logarithm.
    other : distribution or None
        With ``logpdf`` and ``log_slope``; None is uniform.
    log_scale : ndarray of shape (k,)
        Logarithm of the integral of ``other`` over the bounds.
    """

    median: np.ndarray
    spread: np.ndarray
    other: object
    log_scale: np.ndarray

    @classmethod
    def of(cls, median, spread, other, bounds):
        """Return the mixture of a log-normal distribution and another one within bounds (k, 2)."""
        theta = np.linspace(*np.log(bounds).T, _N_GRID)
        density = np.ones_like(theta) if other is None else np.exp(other.logpdf(np.exp(theta)))
        return cls(median, spread, other, np.log(np.trapezoid(density, theta, axis=0)))

    def _terms(self, x):
        """Return the logarithms (k,) of both weighted densities of log x, and z (k,)."""
        z = np.log(x / self.median) / self.spread
        learnt = _LOG_WEIGHT - 0.5 * z * z - np.log(self.spread)
        other = _LOG_REST - self.log_scale
        return learnt, other if self.other is None else other + self.other.logpdf(x), z

    def logpdf(self, x):
        """Return the log density of log x, at positive x (k,)."""
        return np.logaddexp(*self._terms(x)[:2])

    def log_slope(self, x):
        """Return the derivative of the log density in log x, at positive x (k,)."""
        learnt, other, z = self._terms(x)
        share = 1.0 / (1.0 + np.exp(other - learnt))
        slope = 0.0 if self.other is None else self.other.log_slope(x)
        return (1.0 - share) * slope - share * z / self.spread


class LearntMean(QuadraticMean):
    """Quadratic prior mean that earlier fits have learnt.

    Parameters
    ----------
    depth, columns, only_if_likelier, spread
        Parameters of the mean without earlier fits, see `QuadraticMean`.
    static : StaticPart
        Information of earlier fits about it.
    scale : float
        Divisor of y.
    """

    # The same prior odds as for the hyperparameters of earlier fits.
    log_odds = float(np.log(_WEIGHT / (1.0 - _WEIGHT)))
    _min_rows = 0

    def __init__(self, depth, columns, only_if_likelier, spread, static, scale):
        super().__init__(depth, columns, only_if_likelier, spread)
        self.static = static
        self.scale = scale

    @property
    def default(self):
        """The mean without earlier fits."""
        return QuadraticMean(self.depth, self.columns, self.only_if_likelier, self.spread)

    def polynomial(self, n_dims):
        return self.static.mean(super().polynomial(n_dims), self.scale, n_dims)
