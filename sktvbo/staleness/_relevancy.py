"""Policies that remove the observations least relevant to future predictions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import nnls

from .._validation import check_int, check_real
from ..gaussian_process._dates import numeric_durations
from ..gaussian_process._future import future_of
from ..gaussian_process._kernel_families import recognize_or_raise
from ..gaussian_process._regressor import as_fitted, length_scale_in_time
from ..gaussian_process._relevancy import (
    from_least_relevant,
    least_relevant_beyond,
    rows_beyond,
    rows_of,
)
from ..kernels import Empirical
from ..theory import recommended_dataset_size
from ._base import NO_ROWS, StaleDataPolicy

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike

    from .._typing import Indices
    from ._base import RunSoFar
    from ._surrogate import Surrogate

# Purpose of the kernel, as error messages state it.
_PURPOSE = "The relevancy of observations"


class RelevancyBudget(StaleDataPolicy):
    """Remove the least relevant observations within a budget that grows with time.

    The budget b starts at 1 and grows by (1 + α)^{Δt / l_T} between two observations, l_T being the
    surrogate's temporal lengthscale. While 1 + R̂ of the least relevant observation is below b, the
    observation is removed and b divided by 1 + R̂ (W-DBO algorithm 1 and eq. 80).

    For a sum or product of temporal kernels, l_T is effective: that of the Matérn 5/2 kernel with
    the same integral of (k_T(τ) / k_T(0))² over τ ≥ 0.

    Parameters
    ----------
    alpha : float, default=0.25
        Relative change of the predictions allowed per temporal lengthscale.
    min_size : int, default=10
        Observations that stay whatever the budget pays.
    max_step : float, default=10.0
        Cap on Δt / l_T in one step. Without it, a far too small fitted lengthscale pays for the
        whole data set.
    max_size : int, default=None
        Beyond this size the least relevant observations are removed even if the budget does not
        pay for them. None: no limit.

    Attributes
    ----------
    budget_ : float
        b after the last step.
    offered_budget_ : float
        b in the last step before removals, compared with 1 + relevancy.
    removed_relevancy_ : float
        Largest relevancy of a row removed in the last step; 0 if none was removed.
    removals_ : list of (index, relevancy)
        Rows removed in the last step. b was divided by 1 + relevancy for each, except for those
        removed by ``max_size`` alone. Indices refer to the rows before the removals.

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

    summarizes = True
    budget_: float | None = None
    _allowed_size: int | None = None
    offered_budget_ = 1.0
    removed_relevancy_ = 0.0

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

    def watch(self, run: RunSoFar) -> None:
        """Record the largest data set allowed."""
        self._allowed_size = run.max_size

    def after_add(self, surrogate: Surrogate, now: float) -> Indices:
        """Return the least relevant rows; the surrogate's kernels must support relevancies.

        Parameters and kernels are checked in the first call.
        """
        surrogate, budget = as_fitted(surrogate), 1.0
        if self.budget_ is None:
            self.check()
            surrogate.check_relevancy()
        else:
            # The lengthscale at the start of the interval (algorithm 1, line 24). Time goes back
            # only when the latest observation was taken back.
            elapsed = min(max(now - self.now_, 0.0) / self.length_scale_, self.max_step)
            budget = self.budget_ * (1.0 + self.alpha) ** elapsed
        self.offered_budget_ = budget
        rows, relevancies, n = [], [], len(surrogate.X_train_)
        largest = n if self.max_size is None else self.max_size
        if self._allowed_size is not None:
            largest = min(largest, self._allowed_size)
        if n > largest or (budget > 1.0 and n >= self.min_size):
            for n, row, relevancy in from_least_relevant(surrogate, now):
                price = 1.0 + relevancy
                paid = n > self.min_size and budget > price
                if not paid and n <= largest:
                    # A budget that min_size leaves unspent does not accumulate.
                    budget = min(budget, price)
                    break
                rows.append(row)
                relevancies.append(relevancy)
                if paid:
                    budget /= price
        self.budget_, self.removals_ = budget, list(zip(rows, relevancies))
        self.removed_relevancy_ = max(relevancies, default=0.0)
        self.now_, self.length_scale_ = now, length_scale_in_time(surrogate)
        return np.array(rows, dtype=np.intp)

    def check(self, surrogate: Surrogate | None = None) -> None:
        """Raise a ValueError for an invalid parameter; see `StaleDataPolicy.check`."""
        check_real(self.alpha, "alpha", self, interval="[0, inf)")
        check_int(self.min_size, "min_size", self)
        check_real(self.max_step, "max_step", self, interval="(0, inf]")
        if self.max_size is not None:
            check_int(self.max_size, "max_size", self)
        _check_kernels(surrogate)

    def record(self) -> Mapping[str, float]:
        """Return columns of the optimizer's history."""
        return {
            "budget": 1.0 if self.budget_ is None else self.budget_,
            "offered_budget": self.offered_budget_,
            "removed_relevancy": self.removed_relevancy_,
        }


class RelevancyCap(StaleDataPolicy):
    """Remove the least relevant observations beyond a number of them (BOLT algorithm 1).

    Parameters
    ----------
    max_size : int or "recommended", default="recommended"
        n*, the largest data set. "recommended" follows the surrogate's temporal kernel and the
        times between the queries so far: argmax_n Σ_{i≤n} k_T(i R(n))² (eq. 9).
    min_size : int, default=10
        Observations that stay however few are recommended.
    largest : int, default=None
        Limit of a recommended size. None: no limit.

    Attributes
    ----------
    max_size_ : int or None
        The present n*, at most ``largest`` and what a ``step_budget`` allows; None while neither
        these nor the response time are known.
    response_time_ : ResponseTime or None
        The model R(n) of the times between the queries, updated by `watch`; with a "recommended"
        size only.
    removals_ : list of (index, relevancy)
        Rows removed in the last step. Indices refer to the rows before the removals.

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

    summarizes = True
    max_size_: int | None = None
    _allowed_size: int | None = None
    response_time_: ResponseTime | None = None

    def __init__(
        self,
        max_size: int | str = "recommended",
        min_size: int = 10,
        largest: int | None = None,
    ) -> None:
        self.max_size = max_size
        self.min_size = min_size
        self.largest = largest

    def check(self, surrogate: Surrogate | None = None) -> None:
        """Raise a ValueError for an invalid parameter; see `StaleDataPolicy.check`."""
        check_int(self.min_size, "min_size", self)
        if self.largest is not None:
            check_int(self.largest, "largest", self)
        if not (isinstance(self.max_size, str) and self.max_size == "recommended"):
            check_int(self.max_size, "max_size", self)
        _check_kernels(surrogate)

    def watch(self, run: RunSoFar) -> None:
        """Fit the response time to the times between the queries, once they determine it."""
        self._allowed_size = run.max_size
        if isinstance(self.max_size, str) and len(run.queries) > 1:
            durations = np.diff(run.query_times)
            passed = durations > 0.0  # a repeated query takes no time
            model = ResponseTime(run.query_sizes[:-1][passed], durations[passed])
            if model.known:
                self.response_time_ = model

    def after_add(self, surrogate: Surrogate, now: float) -> Indices:
        """Return the least relevant rows; the surrogate's kernels must support relevancies."""
        self.check()
        surrogate = as_fitted(surrogate)
        surrogate.check_relevancy()
        self.max_size_ = self._max_size(surrogate)
        self.removals_ = []
        if self.max_size_ is not None:
            size = self.max_size_
            if isinstance(self.max_size, str):
                size = max(size, self.min_size)
            self.removals_ = least_relevant_beyond(size, surrogate, now)
        return rows_of(self.removals_)

    def _max_size(self, surrogate):
        is_given = not isinstance(self.max_size, str)
        limits = self._allowed_size, self.max_size if is_given else self.largest
        allowed = min((int(limit) for limit in limits if limit is not None), default=None)
        if is_given or self.response_time_ is None:
            return allowed
        start, limit = self.max_size_, {}
        if allowed is not None:
            start, limit = start and min(start, allowed), {"max_size": allowed}
        return recommended_dataset_size(
            surrogate.temporal_kernel_, self.response_time_, start=start, **limit
        )

    def record(self) -> Mapping[str, float]:
        """Return columns of the optimizer's history."""
        return {"max_size": self.max_size_}


class MaximumSize(StaleDataPolicy):
    """Remove the observations beyond a number: the least relevant, or else the oldest.

    An optimizer's ``max_size`` applies this policy after its own. It works with any surrogate:
    where relevancies are unavailable, the oldest observations are removed.

    Parameters
    ----------
    max_size : int, default=300
        Observations that stay.

    Examples
    --------
    >>> import numpy as np
    >>> from sktvbo import TimeVaryingGPRegressor
    >>> from sktvbo.kernels import Wiener
    >>> from sktvbo.staleness import MaximumSize
    >>> X = np.column_stack([np.linspace(0.0, 1.0, 6), [5.0, 4.0, 3.0, 2.0, 1.0, 0.0]])
    >>> without = TimeVaryingGPRegressor(temporal_kernel=Wiener(), optimizer=None)
    >>> MaximumSize(4).after_add(without.fit(X, X[:, 0]), now=5.0)
    array([5, 4])
    """

    summarizes = True

    def __init__(self, max_size: int = 300) -> None:
        self.max_size = max_size

    def check(self, surrogate: Surrogate | None = None) -> None:
        """Raise a ValueError for an invalid parameter; see `StaleDataPolicy.check`."""
        check_int(self.max_size, "max_size", self)

    def after_add(self, surrogate: Surrogate, now: float) -> Indices:
        """Return the rows beyond the number."""
        self.check()
        X, size = surrogate.X_train_, int(self.max_size)
        if len(X) <= size:
            return NO_ROWS
        return rows_beyond(size, as_fitted(surrogate), now, X[:, -1])


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
        True if the sizes determine the cubic: at least four different ones.
    coefficients : ndarray of shape (4,)
        Of 1, n, n² and n³.

    Notes
    -----
    Plain least squares: a pause between two queries counts with its full length.

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
        self.known = len(set(n.tolist())) >= len(self.coefficients)
        if self.known:
            # Sizes in units of the largest have powers of one magnitude.
            scale = n.max()
            solution = nnls(np.vander(n / scale, 4, increasing=True), R)[0]
            self.coefficients = solution / scale ** np.arange(4.0)

    def __call__(self, n: int) -> float:
        """Return R(n) in the units of the durations."""
        return float(np.polynomial.polynomial.polyval(n, self.coefficients))


def _check_kernels(surrogate):
    """Raise unless the kernels of a user's surrogate support relevancies."""
    # Durations count in any unit: only the families of kernels matter.
    temporal = numeric_durations(getattr(surrogate, "temporal_kernel", None), "s")
    spatial = getattr(surrogate, "spatial_kernel", None)
    if temporal is not None:
        future_of(temporal, _PURPOSE)
    if not (spatial is None or isinstance(spatial, Empirical)):
        # Only a kernel with several lengthscales states its number of columns.
        recognize_or_raise(spatial, np.size(getattr(spatial, "length_scale", 1.0)), _PURPOSE)
