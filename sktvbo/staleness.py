"""Stale-data policies: what to forget, and when.

A policy sees the surrogate before an observation is added, ``before_add(surrogate, x, t, y)``,
and after, ``after_add(surrogate, now)``; each returns indices of the surrogate's training rows to
drop. ``x`` is in the surrogate's coordinates (the unit box), times are the user's. A policy's own
state is in attributes with a trailing underscore, which it replaces and never changes in place: the
optimizer works on a copy of the policy, and takes it over only when the whole step has succeeded.
"""

from numbers import Integral, Real

import numpy as np
from sklearn.base import BaseEstimator

from .kernels import temporal_length_scale

__all__ = ["KeepAll", "RelevancyBudget"]

_NOTHING = np.empty(0, dtype=np.intp)


class KeepAll(BaseEstimator):
    """Forget nothing.

    Examples
    --------
    >>> from sktvbo.staleness import KeepAll
    >>> KeepAll().after_add(surrogate=None, now=1.0).size
    0
    """

    def before_add(self, surrogate, x, t, y):
        """Nothing to drop."""
        return _NOTHING

    def after_add(self, surrogate, now):
        """Nothing to drop."""
        return _NOTHING


class RelevancyBudget(KeepAll):
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

    Attributes
    ----------
    budget_ : float
        b after the last step.
    removals_ : list of (index, relevancy)
        Rows removed in the last step and what was paid: b was divided by 1 + relevancy. Indices
        count the rows before the removals.

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

    def __init__(self, alpha=0.25, min_size=10, max_step=10.0):
        self.alpha = alpha
        self.min_size = min_size
        self.max_step = max_step

    def after_add(self, surrogate, now):
        """Rows to remove at time ``now``.

        Parameters
        ----------
        surrogate : TimeVaryingGPRegressor
            Fitted, with kernels of which the relevancy is known.
        now : float
            Present time, not before any observation.

        Returns
        -------
        indices : ndarray of int
        """
        self._check_parameters()
        budget = 1.0
        if hasattr(self, "budget_"):
            # The lengthscale known when the interval began (algorithm 1, line 24).
            elapsed = min((now - self.now_) / self.length_scale_, self.max_step)
            budget = self.budget_ * (1.0 + self.alpha) ** elapsed
        removals = []
        if budget > 1.0 and len(surrogate.X_train_) >= self.min_size:
            sweep = surrogate.relevancy_sweep(now)
            while True:
                relevancy = sweep.relevancy()
                least = np.argmin(relevancy)
                price = 1.0 + relevancy[least]
                if sweep.n == self.min_size or not budget > price:
                    # What min_size leaves unspent is not saved up, as nothing is in the paper.
                    budget = min(budget, price)
                    break
                removals.append((int(sweep.index[least]), float(relevancy[least])))
                budget /= price
                sweep.remove(least)
        self.budget_, self.removals_ = budget, removals
        self.now_, self.length_scale_ = now, temporal_length_scale(surrogate.temporal_kernel_)
        return np.array([index for index, _ in removals], dtype=np.intp)

    def _check_parameters(self):
        if not isinstance(self.alpha, Real) or not 0.0 <= self.alpha < np.inf:
            raise ValueError(
                "The 'alpha' parameter of RelevancyBudget must be a non-negative float. "
                f"Got {self.alpha!r} instead."
            )
        if not isinstance(self.min_size, Integral) or self.min_size < 1:
            raise ValueError(
                "The 'min_size' parameter of RelevancyBudget must be a positive int. "
                f"Got {self.min_size!r} instead."
            )
        if not isinstance(self.max_step, Real) or not self.max_step > 0.0:
            raise ValueError(
                "The 'max_step' parameter of RelevancyBudget must be a positive float. "
                f"Got {self.max_step!r} instead."
            )
