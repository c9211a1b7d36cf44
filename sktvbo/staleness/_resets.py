"""Policies that drop the whole data set."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .._validation import check_bool, check_int, check_real
from ._base import NO_ROWS, StaleDataPolicy
from ._windows import check_length

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from .._typing import Array, Indices
    from ._surrogate import Surrogate


class PeriodicReset(StaleDataPolicy):
    """Drop all observations at the start of each block.

    Only the first observation of the new block is left (R-GP-UCB, TVGP algorithm 1).

    Parameters
    ----------
    period : int or callable, default=50
        Observations in a block. A callable receives the surrogate whenever a block is full and
        returns the length; a longer one continues the block. See `VariationBudget`.
    from_prior : bool, default=False
        Reset before the first query of a block, which is drawn uniformly as under a constant prior.
        False: that query still uses the old block.

    Attributes
    ----------
    period_ : int
        Length of the present block.
    steps_ : int
        Observations in the block so far.
    n_resets_ : int

    Examples
    --------
    >>> from sktvbo import BayesianOptimizer
    >>> from sktvbo.staleness import PeriodicReset
    >>> opt = BayesianOptimizer(
    ...     [(0.0, 1.0)], policy=PeriodicReset(10), n_initial_points=5, random_state=0
    ... )
    >>> for t in range(24):
    ...     x = opt.ask(t)
    ...     opt.tell(x, -(x[0] - 0.01 * t) ** 2)
    >>> len(opt.X_), opt.policy_.n_resets_
    (4, 2)
    """

    period_: int | None = None
    steps_: int | None = None
    n_resets_: int = 0

    def __init__(self, period: int | Callable = 50, from_prior: bool = False) -> None:
        self.period = period
        self.from_prior = from_prior

    def check(self, surrogate: Surrogate | None = None) -> None:
        """Raise a ValueError for an invalid parameter; see `StaleDataPolicy.check`."""
        check_length(self.period, "period", self)
        check_bool(self.from_prior, "from_prior", self)

    @property
    def queries_prior(self) -> bool:
        """True if the block is full and the next query is drawn from the prior."""
        if not self.from_prior or self.steps_ is None or self.period_ is None:
            return False
        return self.steps_ >= self.period_

    def before_add(self, surrogate: Surrogate, x: Array, t: float, y: float) -> Indices:
        """Return all rows when a block is full."""
        n = len(surrogate.X_train_)
        steps = max(n, self.steps_ or 0) + 1  # late observations are rows of the block as well
        if self.period_ is None or steps > self.period_:
            self.period_ = self._length(surrogate)
        if steps <= self.period_:
            self.steps_ = steps
            return NO_ROWS
        self.steps_, self.n_resets_ = 1, self.n_resets_ + 1
        return np.arange(n)

    def _length(self, surrogate):
        period = self.period(surrogate) if callable(self.period) else self.period
        return check_int(period, "period", self)

    def record(self) -> Mapping[str, float]:
        """Return columns of the optimizer's history."""
        return {"n_resets": self.n_resets_, "period": self.period_}


class EventTriggeredReset(StaleDataPolicy):
    """Drop all observations when a new one contradicts a static function.

    With probability 1 − δ all observations of a static function satisfy
    ``|y − μ(x)| ≤ √ρ σ(x) + w̄``, ρ = 2 log(2 π_s / δ), w̄² = 2 σ_n² log(2 π_s / δ), π_s = π² s² /
    6. Here s is the number of observations since the last reset. After a violation only the new
    observation is left (ET lemma 3, algorithm 1). The same holds of each outcome that has a limit
    (ETSO).

    Parameters
    ----------
    delta : float in (0, 1), default=0.1
        δ_B, probability of a reset when the function is static, and of one for each static outcome.

    Attributes
    ----------
    deviation_, bound_ : float
        Left and right side of the inequality at the last observation, in units of y.
    steps_ : int
        Observations since the last reset; 0 at a reset.
    n_resets_ : int

    References
    ----------
    P. Brunzema, A. von Rohr, F. Solowjow, S. Trimpe, "Event-Triggered Time-Varying Bayesian
    Optimization" (ET). A. Holzapfel et al., "Event-Triggered Safe Bayesian Optimization on
    Quadcopters", L4DC 2024 (ETSO).

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.gaussian_process.kernels import ConstantKernel
    >>> from sktvbo import TimeVaryingGPRegressor
    >>> from sktvbo.staleness import EventTriggeredReset
    >>> X = np.column_stack([np.linspace(0, 1, 12), np.arange(12)])
    >>> static = TimeVaryingGPRegressor(temporal_kernel=ConstantKernel(1.0, "fixed"))
    >>> gp, policy = static.fit(X, np.sin(6 * X[:, 0])), EventTriggeredReset()
    >>> policy.before_add(gp, np.array([0.5]), 12.0, np.sin(3.0)).size
    0
    >>> policy.before_add(gp, np.array([0.5]), 12.0, np.sin(3.0) + 2.0).size
    12
    """

    deviation_: float | None = None
    bound_: float | None = None
    steps_: int | None = None
    n_resets_: int = 0

    def __init__(self, delta: float = 0.1) -> None:
        self.delta = delta

    def check(self, surrogate: Surrogate | None = None) -> None:
        """Raise a ValueError for an invalid parameter; see `StaleDataPolicy.check`."""
        check_real(self.delta, "delta", self, interval="(0, 1)")

    def before_add(self, surrogate: Surrogate, x: Array, t: float, y: float) -> Indices:
        """Return all rows when the observation is out of bounds."""
        self.check()
        n = len(surrogate.X_train_)
        self.steps_ = (n if self.steps_ is None else self.steps_) + 1
        self.deviation_, self.bound_ = self._sides(surrogate, x, t, y)
        return np.arange(n) if self._contradicted(self.deviation_, self.bound_) else NO_ROWS

    def before_outcome(self, surrogate: Surrogate, x: Array, t: float, value: float) -> bool:
        """Return True when an outcome is out of bounds, unless its observation was (ETSO)."""
        return self.steps_ > 0 and self._contradicted(*self._sides(surrogate, x, t, value))

    def _sides(self, surrogate, x, t, y):
        """Return left and right side of the inequality of a measured value."""
        mean, std = surrogate.at(t).posterior_at(t)(x[np.newaxis])
        rho = 2.0 * np.log(2.0 * (np.pi**2 * self.steps_**2 / 6.0) / self.delta)  # eq. (10)
        noise_bound = np.sqrt(rho) * surrogate.noise_std_
        return float(abs(y - mean[0])), float(np.sqrt(rho) * std[0] + noise_bound)  # eq. (11)

    def _contradicted(self, deviation, bound):
        """Return True, and count a reset, if a value is out of bounds."""
        triggered = deviation > bound
        if triggered:
            self.steps_, self.n_resets_ = 0, self.n_resets_ + 1
        return triggered

    def record(self) -> Mapping[str, float]:
        """Return columns of the optimizer's history."""
        return {"n_resets": self.n_resets_, "deviation": self.deviation_, "bound": self.bound_}
