"""Prediction intervals from few rows, which allow for the uncertainty of the hyperparameters.

Few rows are explained about as well by very different hyperparameters θ. An observation y* has the
density

    p(y* | y) = ∫ p(y* | y, θ) p(θ | y) dθ ≈ Σ_k w_k N(y*; μ_k, s_k²),    w_k ∝ p(y, θ_k) / q(θ_k),

by importance sampling. p(θ) is uniform within the bounds, times the hyperpriors. Half of the θ_k
are from that uniform distribution, half from a t distribution around the θ of the fit, whose scale
is from the information on θ. Such a defensive mixture q has bounded weights (T. Hesterberg,
"Weighted Average Importance Sampling and Defensive Mixture Distributions", Technometrics 1995).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import solve_triangular
from scipy.special import gammaincinv, ndtr, ndtri
from scipy.stats import multivariate_t, qmc

from .._validation import check_real
from .._values import replaced
from ._exact_posterior import Dense
from ._hyperparameters import HyperPrior
from .kalman._filter import Filter

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from .._typing import Array

# From this many rows on hyperparameters count as known: intervals change by 3 % of their width.
N_KNOWN = 200

# θ_k of each kind, and degrees of freedom of the t distribution.
_N_EACH, _DEGREES = 64, 4.0

# Bounds in theta are this much wider, so that equal ones have a density.
_MARGIN = 1e-6

# Components with a smaller part of the largest weight are left out.
_LEAST_WEIGHT = 1e-3

# Quantiles are computed for this many inputs at a time, which bounds the memory.
_BLOCK = 1000

# Accuracy of a quantile, relative to the range of those of the components.
_ACCURACY = 1e-7


class Intervals:
    """Mixin that adds intervals to an estimator with quantiles."""

    def predict_interval(
        self, X: ArrayLike, level: float = 0.9, *, include_noise: bool = True
    ) -> tuple[Array, Array]:
        """Return intervals that contain a new observation, or f, with a given probability.

        Parameters
        ----------
        X : array-like of shape (m, d + 1)
        level : float, default=0.9
            Probability, in (0, 1).
        include_noise : bool, default=True
            Intervals of observations, as in `predict_quantiles`, rather than of f.

        Returns
        -------
        lower, upper : ndarray of shape (m,)
            Central interval: the probabilities of lower and of higher values are equal. They are
            two quantiles of `predict_quantiles`, whose notes apply.
        """
        rest = 0.5 - 0.5 * check_real(level, "level", interval="(0, 1)")
        quantiles = self.predict_quantiles(X, (rest, 1.0 - rest), include_noise=include_noise)
        return quantiles[:, 0], quantiles[:, 1]


@dataclass(frozen=True, eq=False)
class Mixture:
    """Mixture of posteriors with different hyperparameters.

    Attributes
    ----------
    gps : list of Conditioned
    weights : ndarray of shape (k,)
        Their sum is 1.
    """

    gps: list
    weights: np.ndarray

    def quantiles(self, S, t, shares, include_noise, F=None):
        """Return quantiles (k, m) at inputs (m, d) and times (m,), for probabilities (k,).

        F (m, q) are the features of a linear mean there, or None.
        """
        values = np.empty((len(shares), len(t)))
        for first in range(0, len(t), _BLOCK):
            block = slice(first, first + _BLOCK)
            options = {"return_std": True, "F": None if F is None else F[block]}
            moments = [gp.posterior(S[block], t[block], **options) for gp in self.gps]
            mean, std = np.swapaxes(moments, 0, 1)
            if include_noise:
                noise = [np.sqrt(gp.covariance.noise_variance) * gp.rows.scale for gp in self.gps]
                std = np.hypot(std, np.array(noise)[:, np.newaxis])
            std = np.maximum(std, np.finfo(np.float64).tiny)
            values[:, block] = [self._quantile(share, mean, std) for share in shares]
        return values

    def _quantile(self, probability, mean, std):
        """Return quantiles (m,) from the components' means and deviations (k, m)."""
        from scipy.optimize.elementwise import find_root  # seldom needed, and slow to import

        quantiles = mean + ndtri(probability) * std
        low, high = quantiles.min(axis=0), quantiles.max(axis=0)

        def excess(share, i):
            y = low[i] + share * (high[i] - low[i])
            return self.weights @ ndtr((y - mean[:, i]) / std[:, i]) - probability

        tolerances = {"xatol": _ACCURACY, "xrtol": _ACCURACY}
        found = find_root(excess, (0.0, 1.0), args=(np.arange(len(low)),), tolerances=tolerances)
        # Without a change of sign all components agree up to rounding.
        return low + np.where(found.success, found.x, 0.5) * (high - low)


def predictive(gp, record, hyperpriors, centred):
    """Return the predictive distribution of a GP, a `Mixture`, O(n³) for each component.

    Parameters
    ----------
    gp : Conditioned
    record : SearchRecord
        Record of the search of its hyperparameters, which may have had further rows.
    hyperpriors : dict of str to frozen scipy.stats distribution, or None
    centred : bool
        True if the mean of y was subtracted: it is then uncertain, with a flat prior.
    """
    covariance, rows = gp.covariance, gp.rows
    if centred and covariance.mean_variance == 0.0:
        covariance = replaced(covariance, mean_variance=np.inf)
    kind, basis = type(gp), gp.extra_args
    if isinstance(gp, Filter):
        kind, basis = Dense, ()  # the same, and faster for few rows
    past = _information_of_past(record, rows.n, len(covariance.theta))
    information = past + _information(covariance, rows, record)
    thetas, log_density = _proposals(covariance.theta, covariance.bounds, information)
    criterion, prior = kind.criterion(rows, *basis), HyperPrior(hyperpriors, covariance.names)
    log_weights = -log_density
    for k, (theta, step) in enumerate(zip(thetas, thetas - covariance.theta)):
        value, _ = criterion(covariance.with_theta(theta), False)
        log_weights[k] += value + prior(theta) - 0.5 * (step @ past @ step)
    if log_weights.max() == -np.inf:
        return Mixture([gp], np.ones(1))
    weights = np.exp(log_weights - log_weights.max())
    large = np.flatnonzero(weights >= _LEAST_WEIGHT)
    gps = [kind.of(covariance.with_theta(thetas[k]), rows, *basis) for k in large]
    return Mixture(gps, weights[large] / weights[large].sum())


def _information_of_past(record, n, n_theta):
    """Return the information on θ (n_theta, n_theta) of removed rows of the search."""
    if record.hessian is None or record.n <= n:
        return np.zeros((n_theta, n_theta))
    return record.scaled_to(record.n - n)


def _information(covariance, rows, record):
    """Return the information on θ (n_theta, n_theta) of the rows; 0 if unknown."""
    criterion = Dense.criterion(rows)
    criterion(covariance, "later")
    information = criterion.information()
    if information is None:
        information = record.scaled_to(rows.n)
    return 0.0 if information is None else information


def _proposals(theta, bounds, information):
    """Return θ_k (k, n_theta), and the logarithms of q (k,), without those beyond the bounds.

    The first one is theta.
    """
    low, high = bounds[:, 0] - _MARGIN, bounds[:, 1] + _MARGIN
    U = qmc.Sobol(len(theta) + 1, scramble=False).random(2 * _N_EACH)
    U = (U + 0.5**0.5) % 1.0  # the first point is 0
    U, local = U[:_N_EACH, :-1], U[_N_EACH:]
    # The precision of a uniform distribution is 12 over its squared width.
    L = np.linalg.cholesky(information + np.diag(12.0 / (high - low) ** 2))
    chi2 = 2.0 * gammaincinv(0.5 * _DEGREES, local[:, -1:])
    Z = ndtri(local[:, :-1]) * np.sqrt(_DEGREES / chi2)
    near = theta + solve_triangular(L, Z.T, lower=True, trans=1).T
    near = near[np.all((near >= low) & (near <= high), axis=1)]
    thetas = np.vstack([theta, low + U * (high - low), near])
    scale = np.linalg.inv(L @ L.T)
    local = multivariate_t.logpdf(thetas, theta, 0.5 * (scale + scale.T), _DEGREES)
    return thetas, np.logaddexp(-np.log(high - low).sum(), local)
