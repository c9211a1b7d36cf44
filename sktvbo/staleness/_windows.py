"""Policies that keep the latest observations."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.stats import qmc

from .._sklearn import BaseEstimator
from .._validation import check_int, check_real
from ..kernels import Empirical
from ..theory import maximum_information_gain
from ._base import StaleDataPolicy

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from .._typing import Indices
    from ._surrogate import Surrogate


class SlidingWindow(StaleDataPolicy):
    """Keep the latest observations.

    Parameters
    ----------
    window : int or callable, default=50
        Number of observations, the new one included. A callable receives the first fitted
        surrogate. See `VariationBudget`.

    Attributes
    ----------
    window_ : int

    Examples
    --------
    >>> from sktvbo import BayesianOptimizer
    >>> from sktvbo.staleness import SlidingWindow
    >>> opt = BayesianOptimizer(
    ...     [(0.0, 1.0)], policy=SlidingWindow(10), n_initial_points=5, random_state=0
    ... )
    >>> for t in range(20):
    ...     x = opt.ask(t)
    ...     opt.tell(x, -(x[0] - 0.01 * t) ** 2)
    >>> float(opt.X_[:, -1].min())
    10.0
    """

    window_: int | None = None

    def __init__(self, window: int | Callable = 50) -> None:
        self.window = window

    def check(self, surrogate: Surrogate | None = None) -> None:
        """Raise a ValueError for an invalid parameter; see `StaleDataPolicy.check`."""
        check_length(self.window, "window", self)

    def after_add(self, surrogate: Surrogate, now: float) -> Indices:
        """Return all but the latest rows, by the times of the observations."""
        if self.window_ is None:
            window = self.window(surrogate) if callable(self.window) else self.window
            self.window_ = check_int(window, "window", self)
        times = surrogate.X_train_[:, -1]
        return np.argsort(times, kind="stable")[: -self.window_]

    def record(self) -> Mapping[str, float]:
        """Return columns of the optimizer's history."""
        return {"window": self.window_}


class VariationBudget(BaseEstimator):
    """Length of a window of SW-GP-UCB or a block of BR-GP-UCB: ⌈γ_T^{1/4} √(T / B_T)⌉.

    Parameters
    ----------
    horizon : int
        T, number of observations in the whole run.
    variation_budget : float, default=1.0
        B_T, the sum of ‖f_{t+1} − f_t‖ over the run, in the norm of the surrogate's kernel and
        units of the standardized y.

    Notes
    -----
    γ_T is the maximum information gain of T observations under the fitted kernel
    (`sktvbo.theory.maximum_information_gain`). The candidates are 256 points of the unit box, or
    all arms of an `~sktvbo.kernels.Empirical` kernel.

    References
    ----------
    X. Zhou, N. Shroff, "No-Regret Algorithms for Time-Varying Bayesian Optimization", CISS 2021.

    Examples
    --------
    >>> from sktvbo import TimeVaryingGPRegressor
    >>> from sktvbo.staleness import VariationBudget
    >>> gp = TimeVaryingGPRegressor(optimizer=None).fit([[0.1, 0.0], [0.9, 1.0]], [1.0, 2.0])
    >>> VariationBudget(horizon=400)(gp) < VariationBudget(horizon=1600)(gp)
    True
    """

    def __init__(self, horizon: float, variation_budget: float = 1.0) -> None:
        self.horizon = horizon
        self.variation_budget = variation_budget

    def check(self) -> None:
        """Raise a ValueError for an invalid parameter."""
        check_int(self.horizon, "horizon", self)
        check_real(self.variation_budget, "variation_budget", self, interval="(0, inf)")

    def __call__(self, surrogate: Surrogate) -> int:
        """Return the number of observations in a window or block, for a fitted surrogate."""
        self.check()
        horizon = int(self.horizon)
        gain = maximum_gain(surrogate, horizon)
        length = np.ceil(gain**0.25 * np.sqrt(horizon / self.variation_budget))
        return int(np.clip(length, 1, horizon))


def maximum_gain(surrogate: Surrogate, n: int) -> float:
    """Return γ_n of a fitted surrogate's static model; see the notes of `VariationBudget`."""
    kernel = surrogate.spatial_kernel_
    if isinstance(kernel, Empirical):
        candidates = np.arange(float(len(kernel.covariance)))[:, np.newaxis]
    else:
        candidates = qmc.Sobol(surrogate.X_train_.shape[1] - 1, scramble=False).random_base2(8)
    K = surrogate.signal_variance_ * kernel(candidates)
    return maximum_information_gain(K, surrogate.noise_variance_, n)


def check_length(length: int | Callable, name: str, owner: StaleDataPolicy) -> None:
    """Raise a ValueError unless this is a number of observations or a callable."""
    if isinstance(length, VariationBudget):
        length.check()
    elif not callable(length):
        check_int(length, name, owner)
