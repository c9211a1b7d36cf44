"""Policies that remove the observations that matter least to the future."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import nnls

from .._validation import check_int, check_real
from ..gaussian_process._kernel_families import recognize_or_raise, temporal_length_scale
from ..kernels import Empirical
from ..theory import recommended_dataset_size
from ._base import StaleDataPolicy, least_relevant

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import ArrayLike

    from .._surrogate import Surrogate
    from ._base import RunSoFar

# Messages say that this is what a kernel is needed for.
_PURPOSE = "The relevancy of observations"


class RelevancyBudget(StaleDataPolicy):
    """Remove the least relevant observations within a budget that grows with time.

    The budget b starts at 1 and grows by (1 + α)^{Δt / l_T} between two observations, l_T being the
    surrogate's temporal lengthscale. While 1 + R̂ of the least relevant observation is below b, the
    observation is removed and b divided by 1 + R̂ (W-DBO algorithm 1 and eq. 80).

    Parameters
    ----------
    alpha : float, default=0.25
        Relative change of the predictions allowed per temporal lengthscale.
    min_size : int, default=10
        Observations that always stay.
    max_step : float, default=10.0
        Cap on Δt / l_T in one step: a lengthscale that was fitted far too small would otherwise buy
        the whole data set.
    max_size : int, default=None
        Beyond so many observations the least relevant go whether the budget pays for them or not:
        what changes little would need ever more. None is no limit.

    Attributes
    ----------
    budget_ : float
        b after the last step.
    removals_ : list of (index, relevancy)
        Rows removed in the last step and what was paid: b was divided by 1 + relevancy, but not
        for those that only ``max_size`` removes. Indices count the rows before the removals.

    Examples
    --------
    >>> import numpy as np
    >>> from sktvbo import TimeVaryingGPRegressor
    >>> from sktvbo.staleness import RelevancyBudget
    >>> rng = np.random.RandomState(0)
    >>> X = np.column_stack([rng.uniform(size=40), np.arange(40.0)])
    >>> gp = TimeVaryingGPRegressor().fit(X, np.sin(6 * X[:, 0] + X[:, 1] / 5))
    >>> policy = RelevancyBudget()
    >>> policy.after_add(gp, now=39.0).size     # the first step has no budget yet
    0
    >>> bool(policy.after_add(gp, now=42.0).size > 0)
    True
    """

    def __init__(
        self,
        alpha: float = 0.25,
        min_size: int = 10,
        max_step: float = 10.0,
        max_size: int | None = None,
    ) -> None:
        self.alpha = alpha
        self.min_size = min_size
        self.max_step = max_step
        self.max_size = max_size

    def after_add(self, surrogate: Surrogate, now: float) -> ArrayLike:
        """The least relevant rows, for a surrogate of which the relevancy is known."""
        self.check()
        surrogate.check_relevancy()
        budget = 1.0
        if hasattr(self, "budget_"):
            # The lengthscale is the one known when the interval began (algorithm 1, line 24).
            # Before that no time has passed: a wild one was taken back.
            elapsed = max(now - self.now_, 0.0) / self.length_scale_
            elapsed = min(elapsed, self.max_step)
            budget = self.budget_ * (1.0 + self.alpha) ** elapsed
        removals, n = [], len(surrogate.X_train_)
        largest = max(n if self.max_size is None else self.max_size, self.min_size)
        if n > largest or (budget > 1.0 and n >= self.min_size):
            sweep = surrogate.relevancy_sweep(now)
            while True:
                least, relevancy = least_relevant(sweep)
                price = 1.0 + relevancy
                paid = sweep.n > self.min_size and budget > price
                if not paid and sweep.n <= largest:
                    # What min_size leaves unspent is not saved up: in the paper nothing is.
                    budget = min(budget, price)
                    break
                removals.append((int(sweep.index[least]), relevancy))
                sweep.remove(least)
                if paid:
                    budget /= price
        self.budget_, self.removals_ = budget, removals
        self.now_, self.length_scale_ = now, temporal_length_scale(surrogate.temporal_kernel_)
        return np.array([index for index, _ in removals], dtype=np.intp)

    def check(self, surrogate: Surrogate | None = None) -> None:
        """Raise a ValueError for a parameter that makes no sense; see `StaleDataPolicy.check`."""
        check_real(self.alpha, "alpha", self, interval="[0, inf)")
        check_int(self.min_size, "min_size", self)
        check_real(self.max_step, "max_step", self, interval="(0, inf]")
        if self.max_size is not None:
            check_int(self.max_size, "max_size", self)
        _check_forgets(surrogate)

    def record(self) -> Mapping[str, float]:
        """Columns of the optimizer's history."""
        return {"budget": getattr(self, "budget_", 1.0)}


class RelevancyCap(StaleDataPolicy):
    """Remove the least relevant observations beyond a number of them (BOLT algorithm 1).

    Parameters
    ----------
    max_size : int or "recommended", default="recommended"
        n*, how many to keep. "recommended" follows the surrogate's temporal kernel and the times
        between the queries so far: argmax_n Σ_{i≤n} k_T(i R(n))² (eq. 9).
    min_size : int, default=10
        Observations that always stay.

    Attributes
    ----------
    max_size_ : int or None
        The present n*; None as long as nothing is known of the response time.
    response_time_ : ResponseTime
        The model R(n) of the times between the queries, which `watch` keeps up to date.
    removals_ : list of (index, relevancy)
        Rows removed in the last step. Indices count the rows before the removals.

    Examples
    --------
    >>> import numpy as np
    >>> from sktvbo import TimeVaryingGPRegressor
    >>> from sktvbo.staleness import RelevancyCap
    >>> rng = np.random.RandomState(0)
    >>> X = np.column_stack([rng.uniform(size=40), np.arange(40.0)])
    >>> gp = TimeVaryingGPRegressor().fit(X, np.sin(6 * X[:, 0] + X[:, 1] / 5))
    >>> RelevancyCap(max_size=30).after_add(gp, now=39.0).size
    10
    """

    def __init__(self, max_size: int | str | Callable = "recommended", min_size: int = 10) -> None:
        self.max_size = max_size
        self.min_size = min_size

    def check(self, surrogate: Surrogate | None = None) -> None:
        """Raise a ValueError for a parameter that makes no sense; see `StaleDataPolicy.check`."""
        check_int(self.min_size, "min_size", self)
        if not (isinstance(self.max_size, str) and self.max_size == "recommended"):
            check_int(self.max_size, "max_size", self)
        _check_forgets(surrogate)

    def watch(self, run: RunSoFar) -> None:
        """Fit the response time to the times between the queries, once they determine it."""
        if len(run.queries) > 1:
            durations = np.diff(run.query_times)
            passed = durations > 0.0  # a query asked for again takes no time
            model = ResponseTime(run.query_sizes[:-1][passed], durations[passed])
            if model.known:
                self.response_time_ = model

    def after_add(self, surrogate: Surrogate, now: float) -> ArrayLike:
        """The least relevant rows, for a surrogate of which the relevancy is known."""
        self.check()
        surrogate.check_relevancy()
        self.max_size_ = self._max_size(surrogate)
        removals = []
        if self.max_size_ is not None:
            target = max(self.max_size_, self.min_size)
            if len(surrogate.X_train_) > target:
                sweep = surrogate.relevancy_sweep(now)
                while sweep.n > target:
                    least, relevancy = least_relevant(sweep)
                    removals.append((int(sweep.index[least]), relevancy))
                    sweep.remove(least)
        self.removals_ = removals
        return np.array([index for index, _ in removals], dtype=np.intp)

    def _max_size(self, surrogate):
        if not isinstance(self.max_size, str):
            return int(self.max_size)
        response_time = getattr(self, "response_time_", None)
        if response_time is None or not response_time.known:
            return None
        return recommended_dataset_size(
            surrogate.temporal_kernel_, response_time, start=getattr(self, "max_size_", None)
        )

    def record(self) -> Mapping[str, float]:
        """Columns of the optimizer's history."""
        return {"max_size": getattr(self, "max_size_", None)}


class ResponseTime:
    """Response time by data-set size, a cubic with coefficients ≥ 0 (BOLT section 4).

    Fitted by non-negative least squares, so that it never decreases (BOLT definition 3.5).

    Parameters
    ----------
    sizes : array-like of shape (m,)
        Sizes n of the data set.
    durations : array-like of shape (m,)
        Times between two queries, positive.

    Attributes
    ----------
    known : bool
        Whether there is enough to go by.
    coefficients : ndarray of shape (4,)
        Of 1, n, n² and n³.

    Notes
    -----
    Plain least squares: a pause between two queries counts for as long as it was.

    Examples
    --------
    >>> from sktvbo.staleness import ResponseTime
    >>> R = ResponseTime([10, 20, 30, 40], [0.1, 0.2, 0.3, 0.4])
    >>> round(R(100), 6)
    1.0
    """

    def __init__(self, sizes: ArrayLike, durations: ArrayLike) -> None:
        n, R = np.asarray(sizes, dtype=np.float64), np.asarray(durations, dtype=np.float64)
        self.coefficients = np.zeros(4)
        # Fewer different sizes leave the cubic open, and what it says of larger ones arbitrary.
        self.known = len(np.unique(n)) >= len(self.coefficients)
        if self.known:
            # Sizes are in units of the largest, so that their powers are of one magnitude.
            scale = n.max()
            found = nnls(np.vander(n / scale, 4, increasing=True), R)[0]
            self.coefficients = found / scale ** np.arange(4.0)

    def __call__(self, n: int) -> float:
        """R(n), in the units of the durations."""
        return float(np.polynomial.polynomial.polyval(n, self.coefficients))


def _check_forgets(surrogate):
    """Raise unless a user's surrogate has kernels of which the relevancy is known."""
    temporal = getattr(surrogate, "temporal_kernel", None)
    spatial = getattr(surrogate, "spatial_kernel", None)
    if temporal is not None:
        recognize_or_raise(temporal, 1, _PURPOSE)
    if not (spatial is None or isinstance(spatial, Empirical)):
        # How many columns it is for, only one with several lengthscales can say.
        recognize_or_raise(spatial, np.size(getattr(spatial, "length_scale", 1.0)), _PURPOSE)
