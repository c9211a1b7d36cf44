"""ABO.

F. M. Nyikosa, M. A. Osborne, S. J. Roberts, "Bayesian Optimization for Dynamic Problems", 2018,
from the authors' code (fmnyikosa/bayes_opt_mat).
"""

from dataclasses import dataclass

import numpy as np
from sklearn.gaussian_process.kernels import RBF

from .._sklearn import BaseEstimator
from .._validation import check_real
from ..acquisition import UCB
from ..gaussian_process._regressor import length_scale_in_time
from ..optimizers import ABO
from ..optimizers._ask_tell import algorithm
from ..staleness import StaleDataPolicy
from ._parts import FixedStartGPRegressor, known_horizon

ERRATA = (
    "The paper's text was not available: all is from the authors' code. Its 17 scripts have "
    "fixed steps (optimiseForTime=0); here the time is chosen, as the paper describes.",
    "The scripts differ in the starts of the search: here lengthscales of 1, λ = 1, σ² = 0.01.",
    "m and d' of κ are taken for the iteration and for the length of (t, x).",
)

_WIDE = (1e-4, 1e4)


@dataclass(eq=False, repr=False)
class IterationBeta(BaseEstimator):
    """β = κ², κ = √(2 log(m^{d'/2 + 2} π² / (3 δ))) / 5 at iteration m, with d' = d + 1.

    Parameters
    ----------
    delta : float in (0, 1), default=0.1
    """

    delta: float = 0.1

    def check(self):
        """Raise a ValueError if a parameter is invalid."""
        check_real(self.delta, "delta", self, interval="(0, 1)")

    def __call__(self, state):
        power = (state.n_dims + 1) / 2.0 + 2.0
        log = power * np.log(state.n_told) + np.log(np.pi**2 / (3.0 * self.delta))
        return float(2.0 * log / 25.0)


class StableLengthScale(StaleDataPolicy):
    """Policy that drops nothing, and notes when the temporal lengthscale has become stable.

    Stable from iteration 6 on: at the third time that ``|l_i − l_{i−4}|`` / 4 < 0.1, for good.

    Parameters
    ----------
    tolerance : float, default=0.1

    Attributes
    ----------
    length_scales_ : tuple of float
        Latest values, at most five.
    hits_ : int
    """

    length_scales_ = ()
    n_steps_ = hits_ = 0

    def __init__(self, tolerance=0.1):
        self.tolerance = tolerance

    def after_add(self, surrogate, now):
        """Record the lengthscale."""
        latest = length_scale_in_time(surrogate)
        self.length_scales_ = (*self.length_scales_, latest)[-5:]
        self.n_steps_ += 1
        slope = abs(latest - self.length_scales_[0]) / 4.0
        self.hits_ += int(self.n_steps_ >= 6 and slope < self.tolerance)
        return super().after_add(surrogate, now)

    @property
    def settled(self):
        """True if the lengthscale has become stable."""
        return self.hits_ >= 3

    def record(self):
        """Return the columns of the optimizer's history."""
        return {"length_scale": self.length_scales_[-1] if self.length_scales_ else None}


@algorithm
class PublishedABO(ABO):
    """ABO as published.

    Parameters
    ----------
    horizon : float, default=1.0
        Unit of time in which the lengthscale starts from 1, and is stable to within 0.1.

    Examples
    --------
    >>> from sktvbo import papers
    >>> round(papers.published("ABO", [(0.0, 1.0)], horizon=600.0).lookahead, 2)
    0.33
    """

    horizon: float = 1.0

    def _check_parameters(self):
        super()._check_parameters()
        check_real(self.horizon, "horizon", self, interval="(0, inf)")

    def _make_surrogate(self, times):
        low, high = _WIDE
        return FixedStartGPRegressor(
            RBF([1.0] * times.n_unit, _WIDE),  # one lengthscale for each of (t, x)
            RBF(self.horizon, (low * self.horizon, high * self.horizon)),
            signal_variance_bounds=_WIDE,
            noise_variance_bounds=(1e-6, 1e2),
        )

    def _make_policy(self):
        return StableLengthScale(0.1 * self.horizon)


def abo(domain, *, delta=0.1, lookahead=1 / 3, horizon=None, **parameters):
    """Return ABO."""
    own = {
        "horizon": known_horizon(horizon, "ABO"),
        "lookahead": lookahead,
        "acquisition": UCB(IterationBeta(delta)),
        "n_initial_points": 15,
        "refit_every": 1,
    }
    return PublishedABO(domain, **own | parameters)


ALGORITHMS = {"ABO": (abo, "Nyikosa, Osborne & Roberts", 2018)}
