"""Priors of hyperparameters that are learnt from earlier fits.

The logarithms θ of a hyperparameter in R earlier fits have the median m and the deviation s, at
least 0.5. A further fit has

    p(θ) = W N(θ; m, s² (1 + 1/R)) + (1 − W) q(θ),

with q the density without earlier fits: that of the prior, or uniform within the bounds. Where data
contradict the earlier fits, the density is that without them but for the factor 1 − W: the prior
fades without a rule for when.
"""

from dataclasses import dataclass

import numpy as np

# Least deviation of the logarithm of a hyperparameter over fits.
LEAST_SPREAD = 0.5

# Weight W of what earlier fits say.
_WEIGHT = 0.9
_LOG_WEIGHT, _LOG_REST = np.log(_WEIGHT) - 0.5 * np.log(2.0 * np.pi), np.log1p(-_WEIGHT)

# Number of places at which a density is integrated.
_N_GRID = 201


def pooled(logs):
    """Return median and deviation (k,) of further logarithms, from those of earlier fits (R, k)."""
    n = len(logs)
    spread = np.std(logs, axis=0, ddof=1) if n > 1 else 0.0
    spread = np.maximum(spread, LEAST_SPREAD) * np.sqrt(1.0 + 1.0 / n)
    return np.median(logs, axis=0), np.broadcast_to(spread, np.shape(logs)[1:])


@dataclass(frozen=True, eq=False)
class LogMixture:
    """Mixture of a log-normal distribution and another one, of k hyperparameters of one name.

    As for other priors, ``logpdf`` is what a search adds to the log likelihood; here it is a
    density of the logarithm.

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
        log_scale = np.log(theta[-1] - theta[0])
        if other is not None:
            log_scale += np.log(np.mean(np.exp(other.logpdf(np.exp(theta))), axis=0))
        return cls(median, spread, other, log_scale)

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
