"""Acquisition functions, and their maximization over a domain.

An acquisition function scores the posterior mean and standard deviation at a place, and gives the
derivatives of the score in both: the maximizer does the rest by the chain rule.
"""

from dataclasses import dataclass
from numbers import Real

import numpy as np
from scipy.optimize import minimize
from scipy.stats import qmc
from sklearn.base import BaseEstimator

from .domain import FiniteSet

__all__ = ["UCB", "AcquisitionState", "maximize"]


@dataclass(frozen=True)
class AcquisitionState:
    """What a score may depend on besides the posterior.

    Attributes
    ----------
    n : int
        Observations in the data set.
    n_told : int
        Observations told so far, removed ones included.
    n_dims : int
        Dimensions of the domain, without time.
    """

    n: int
    n_told: int
    n_dims: int


class UCB(BaseEstimator):
    """Upper confidence bound, μ + √β σ.

    Parameters
    ----------
    beta : "dimension", "log", float or callable, default="dimension"
        - "dimension": 0.2 d log(2 n), with n the observations in the data set (the authors' code
          of W-DBO);
        - "log": 0.8 log(4 t), with t the observations told so far (TVGP section 5);
        - a non-negative float: constant;
        - a callable of an :class:`AcquisitionState`.

    Examples
    --------
    >>> from sktvbo.acquisition import UCB, AcquisitionState
    >>> score, d_mean, d_std = UCB(beta=4.0)(1.0, 0.5, AcquisitionState(n=10, n_told=10, n_dims=2))
    >>> float(score)
    2.0
    """

    def __init__(self, beta="dimension"):
        self.beta = beta

    def beta_value(self, state):
        """β in this state."""
        if callable(self.beta):
            beta = self.beta(state)
        elif self.beta == "dimension":
            beta = 0.2 * state.n_dims * np.log(2.0 * state.n)
        elif self.beta == "log":
            beta = 0.8 * np.log(4.0 * state.n_told)
        else:
            beta = self.beta
        if not isinstance(beta, Real) or not 0.0 <= beta < np.inf:
            raise ValueError(
                "The 'beta' parameter of UCB must be, or give, a non-negative finite float, or be "
                f"'dimension' or 'log'. Got {beta!r} instead."
            )
        return float(beta)

    def __call__(self, mean, std, state):
        """Score, and its derivatives in mean and standard deviation; arrays or floats."""
        width = np.sqrt(self.beta_value(state))
        return mean + width * std, 1.0, width


def maximize(score, posterior, domain, rng, *, anchors=None, n_candidates=512, n_starts=6):
    """Where an acquisition function is largest.

    Over a ``FiniteSet`` by enumeration; over a ``Box`` from scrambled Sobol points, the best of
    which L-BFGS-B improves with analytic gradients.

    Parameters
    ----------
    score : callable (mean, std) -> (value, d value / d mean, d value / d std)
    posterior : callable (m, d) -> mean (m,), std (m,)
        In the coordinates of the unit box. For a ``Box`` it also has ``with_gradient(u)``, which
        returns mean, std and their gradients (d,) at u (d,).
    domain : Box or FiniteSet
    rng : RandomState
    anchors : array-like (k, d), default=None
        Places of the unit box to consider besides the Sobol points, such as the incumbent.
    n_candidates : int, default=512
        Number of Sobol points, a power of two.
    n_starts : int, default=6
        How many of the best are improved.

    Returns
    -------
    x : ndarray (d,)
        A place in the domain's own coordinates.
    """
    if isinstance(domain, FiniteSet):
        values = score(*posterior(domain.to_unit(domain.points)))[0]
        return domain.points[np.argmax(values)].copy()

    sobol = qmc.Sobol(domain.n_dims, rng=np.random.default_rng(rng.randint(2**32, dtype=np.uint64)))
    candidates = sobol.random(n_candidates)
    if anchors is not None and len(anchors):
        candidates = np.vstack([anchors, candidates])
    values = score(*posterior(candidates))[0]
    order = np.argsort(-values, kind="stable")[:n_starts]

    def objective(u):
        mean, std, mean_slope, std_slope = posterior.with_gradient(u)
        value, on_mean, on_std = score(mean, std)
        return -value, -(on_mean * mean_slope + on_std * std_slope)

    best, best_value = candidates[order[0]], values[order[0]]
    bounds = [(0.0, 1.0)] * domain.n_dims
    for start in candidates[order]:
        found = minimize(objective, start, method="L-BFGS-B", jac=True, bounds=bounds)
        if -found.fun > best_value:
            best, best_value = found.x, -found.fun
    return np.clip(domain.from_unit(best), domain.lower, domain.upper)
