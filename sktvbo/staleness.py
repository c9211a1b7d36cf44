"""Stale-data policies: what to forget, and when.

A policy sees the surrogate before an observation is added, ``before_add(surrogate, x, t, y)``,
and after, ``after_add(surrogate, now)``; each returns indices of the surrogate's training rows to
drop. ``x`` is in the surrogate's coordinates (the unit box), times are the user's. An optional
``record()`` gives numbers for the optimizer's history. A policy's own state is in attributes with a
trailing underscore, which it replaces and never changes in place: the optimizer works on a copy of
the policy, and takes it over only when the whole step has succeeded.
"""

from numbers import Real

import numpy as np
from scipy.optimize import nnls
from scipy.stats import qmc
from sklearn.base import BaseEstimator

from ._checks import check_positive, check_positive_int, check_probability
from ._factors import temporal_length_scale
from .kernels import Empirical
from .theory import maximum_information_gain, recommended_dataset_size

__all__ = [
    "EventTriggeredReset",
    "KeepAll",
    "NoiseThreshold",
    "PeriodicReset",
    "RelevancyBudget",
    "RelevancyCap",
    "ResponseTime",
    "SlidingWindow",
    "VariationBudget",
]

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

    def record(self):
        """What the optimizer's history says of this policy after a step: numbers by name."""
        return {}


class PeriodicReset(KeepAll):
    """Forget everything at the start of each block of observations.

    The first observation of a block is all that is left (R-GP-UCB, TVGP algorithm 1).

    Parameters
    ----------
    period : int or callable, default=50
        Observations in a block; a callable is given the surrogate whenever a block is full and
        returns how long blocks should be: the block goes on when that is longer. See
        :class:`VariationBudget`.

    Attributes
    ----------
    period_ : int
        Length of the present block.
    steps_ : int
        Observations in it so far.
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

    def __init__(self, period=50):
        self.period = period

    def before_add(self, surrogate, x, t, y):
        """All rows when a block is full.

        Parameters
        ----------
        surrogate : estimator
            Fitted.
        x : ndarray (u,)
        t, y : float

        Returns
        -------
        indices : ndarray of int
        """
        n = len(surrogate.X_train_)
        steps = getattr(self, "steps_", n) + 1
        self.n_resets_ = getattr(self, "n_resets_", 0)
        if not hasattr(self, "period_") or steps > self.period_:
            self.period_ = self._length(surrogate)
        if steps <= self.period_:
            self.steps_ = steps
            return _NOTHING
        self.steps_, self.n_resets_ = 1, self.n_resets_ + 1
        return np.arange(n)

    def _length(self, surrogate):
        period = self.period(surrogate) if callable(self.period) else self.period
        return check_positive_int(period, "period", self)

    def record(self):
        """Columns of the optimizer's history."""
        return {"n_resets": getattr(self, "n_resets_", 0), "period": getattr(self, "period_", None)}


class EventTriggeredReset(KeepAll):
    """Forget everything when an observation is beyond what a static function allows.

    With probability 1 − δ all observations of a static function satisfy
    ``|y − μ(x)| ≤ √ρ σ(x) + w̄``, ρ = 2 log(2 π_s / δ), w̄² = 2 σ_n² log(2 π_s / δ), π_s = π² s² /
    6, s being the number of observations since the last reset. One that does not is all that is
    left (ET lemma 3, algorithm 1).

    Parameters
    ----------
    delta : float in (0, 1), default=0.1
        δ_B, probability of a reset though the function is static.

    Attributes
    ----------
    deviation_, bound_ : float
        The two sides of the inequality at the last observation, in units of y.
    steps_ : int
        Observations since the last reset; 0 at a reset.
    n_resets_ : int

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

    def __init__(self, delta=0.1):
        self.delta = delta

    def before_add(self, surrogate, x, t, y):
        """All rows when the observation is out of bounds.

        Parameters
        ----------
        surrogate : estimator
            Fitted.
        x : ndarray (u,)
        t, y : float

        Returns
        -------
        indices : ndarray of int
        """
        delta = check_probability(self.delta, "delta", self)
        n = len(surrogate.X_train_)
        steps = getattr(self, "steps_", n) + 1
        mean, std = surrogate.advanced(t).posterior_at(t)(x[np.newaxis])
        rho = 2.0 * np.log(2.0 * (np.pi**2 * steps**2 / 6.0) / delta)  # eq. (10)
        noise_bound = np.sqrt(rho) * surrogate.noise_std_
        self.deviation_ = float(abs(y - mean[0]))
        self.bound_ = float(np.sqrt(rho) * std[0] + noise_bound)  # eq. (11)
        triggered = self.deviation_ > self.bound_
        self.steps_ = 0 if triggered else steps
        self.n_resets_ = getattr(self, "n_resets_", 0) + int(triggered)
        return np.arange(n) if triggered else _NOTHING

    def record(self):
        """Columns of the optimizer's history."""
        names = {"n_resets": 0, "deviation": np.nan, "bound": np.nan}
        return {name: getattr(self, f"{name}_", value) for name, value in names.items()}


class SlidingWindow(KeepAll):
    """Keep the latest observations.

    Parameters
    ----------
    window : int or callable, default=50
        How many, the new one included; a callable is given the first fitted surrogate. See
        :class:`VariationBudget`.

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

    def __init__(self, window=50):
        self.window = window

    def after_add(self, surrogate, now):
        """All but the latest rows, by the times of the observations.

        Parameters
        ----------
        surrogate : estimator
            Fitted.
        now : float

        Returns
        -------
        indices : ndarray of int
        """
        if not hasattr(self, "window_"):
            window = self.window(surrogate) if callable(self.window) else self.window
            self.window_ = check_positive_int(window, "window", self)
        times = surrogate.X_train_[:, -1]
        return np.argsort(times, kind="stable")[: -self.window_]

    def record(self):
        """Columns of the optimizer's history."""
        return {"window": getattr(self, "window_", None)}


class VariationBudget(BaseEstimator):
    """Window, or block, of SW- and BR-GP-UCB, ⌈γ_T^{1/4} √(T / B_T)⌉ observations.

    Parameters
    ----------
    horizon : int
        T, observations in the whole run.
    variation_budget : float, default=1.0
        B_T, the sum of ‖f_{t+1} − f_t‖ over the run, in the norm of the surrogate's kernel and
        units of the standardized y.

    Notes
    -----
    γ_T is the information that T observations can give at most
    (:func:`sktvbo.theory.maximum_information_gain`), under the fitted kernel, among 256 places of
    the unit box, or all arms of an ``Empirical`` kernel. It enters by its fourth root only.

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

    def __init__(self, horizon, variation_budget=1.0):
        self.horizon = horizon
        self.variation_budget = variation_budget

    def __call__(self, surrogate):
        """Observations (int) to a window or block, for a fitted surrogate."""
        horizon = check_positive_int(self.horizon, "horizon", self)
        check_positive(self.variation_budget, "variation_budget", self)
        n_dims = surrogate.X_train_.shape[1] - 1
        kernel = surrogate.spatial_kernel_
        if isinstance(kernel, Empirical):
            places = np.arange(float(len(kernel.covariance)))[:, np.newaxis]
        else:
            places = qmc.Sobol(n_dims, scramble=False).random_base2(8)
        K = surrogate.signal_variance_ * kernel(places)
        gain = maximum_information_gain(K, surrogate.noise_variance_, horizon)
        length = np.ceil(gain**0.25 * np.sqrt(horizon / self.variation_budget))
        return int(np.clip(length, 1, horizon))


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
        surrogate.check_relevancy()
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
                price = 1.0 + relevancy.min()
                if sweep.n == self.min_size or not budget > price:
                    # What min_size leaves unspent is not saved up, as nothing is in the paper.
                    budget = min(budget, price)
                    break
                removals.append(_remove_least(sweep, relevancy))
                budget /= price
        self.budget_, self.removals_ = budget, removals
        self.now_, self.length_scale_ = now, temporal_length_scale(surrogate.temporal_kernel_)
        return np.array([index for index, _ in removals], dtype=np.intp)

    def _check_parameters(self):
        check_positive(self.alpha, "alpha", self, zero=True)
        check_positive_int(self.min_size, "min_size", self)
        check_positive(self.max_step, "max_step", self, finite=False)

    def record(self):
        """Columns of the optimizer's history."""
        return {"budget": getattr(self, "budget_", 1.0)}


class RelevancyCap(KeepAll):
    """Remove the least relevant observations beyond a number of them (BOLT algorithm 1).

    Parameters
    ----------
    max_size : int or "recommended", default="recommended"
        n*, how many to keep. "recommended" follows the surrogate's temporal kernel and the response
        times seen so far: argmax_n Σ_{i≤n} k_T(i R(n))² (eq. 9).
    min_size : int, default=10
        Observations that always stay.

    Attributes
    ----------
    max_size_ : int or None
        The present n*; None as long as nothing is known of the response time.
    response_time_ : ResponseTime
        The model R(n), which the optimizer keeps up to date.
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

    def __init__(self, max_size="recommended", min_size=10):
        self.max_size = max_size
        self.min_size = min_size

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
        min_size = check_positive_int(self.min_size, "min_size", self)
        surrogate.check_relevancy()
        self.max_size_ = self._max_size(surrogate)
        removals = []
        if self.max_size_ is not None:
            target = max(self.max_size_, min_size)
            if len(surrogate.X_train_) > target:
                sweep = surrogate.relevancy_sweep(now)
                while sweep.n > target:
                    removals.append(_remove_least(sweep, sweep.relevancy()))
        self.removals_ = removals
        return np.array([index for index, _ in removals], dtype=np.intp)

    def _max_size(self, surrogate):
        if self.max_size != "recommended":
            return check_positive_int(self.max_size, "max_size", self)
        response_time = getattr(self, "response_time_", None)
        if response_time is None or not response_time.known:
            return None
        return recommended_dataset_size(
            surrogate.temporal_kernel_, response_time, start=self.__dict__.get("max_size_")
        )

    def record(self):
        """Columns of the optimizer's history."""
        return {"max_size": getattr(self, "max_size_", None)}


class ResponseTime:
    """Response time by data-set size, a cubic with coefficients ≥ 0 (BOLT section 4).

    Fitted by non-negative least squares, so that it never decreases (BOLT definition 3.5).

    Parameters
    ----------
    sizes : array-like (m,)
        Sizes n of the data set.
    durations : array-like (m,)
        Times between two queries, positive.

    Attributes
    ----------
    known : bool
        Whether there is enough to go by.
    coefficients : ndarray (4,)
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

    def __init__(self, sizes, durations):
        n, R = np.asarray(sizes, dtype=np.float64), np.asarray(durations, dtype=np.float64)
        self.coefficients = np.zeros(4)
        # Fewer different sizes leave the cubic open, and what it says of larger ones arbitrary.
        self.known = len(np.unique(n)) >= len(self.coefficients)
        if self.known:
            # In units of the largest size, so that the powers are of one magnitude.
            scale = n.max()
            found = nnls(np.vander(n / scale, 4, increasing=True), R)[0]
            self.coefficients = found / scale ** np.arange(4.0)

    def __call__(self, n):
        """R(n), in the units of the durations."""
        return float(np.polynomial.polynomial.polyval(n, self.coefficients))


class NoiseThreshold(KeepAll):
    """Forget observations whose injected noise exceeds a bound g(s) (SparQ algorithm 1, line 4).

    Parameters
    ----------
    cap : "log", float or callable, default="log"
        g in units of σ², of the number s of observations so far: "log" is log s. A callable takes
        s; any g of order below s^{1/4} keeps the regret bound.

    Attributes
    ----------
    steps_ : int
        Observations so far.
    cap_ : float
        g at ``steps_``.

    Notes
    -----
    What is as new as the newest observation is kept whatever g says. The surrogate needs a
    ``noise_model``.

    Examples
    --------
    >>> import numpy as np
    >>> from sktvbo import TimeVaryingGPRegressor
    >>> from sktvbo.gaussian_process import QuadraticInjection
    >>> from sktvbo.staleness import NoiseThreshold
    >>> X = np.column_stack([np.linspace(0, 1, 20), np.arange(20.0)])
    >>> gp = TimeVaryingGPRegressor(noise_model=QuadraticInjection(), optimizer=None)
    >>> NoiseThreshold().after_add(gp.fit(X, X[:, 0]), now=19.0).size   # 1 + age² > log 20
    18
    """

    def __init__(self, cap="log"):
        self.cap = cap

    def after_add(self, surrogate, now):
        """Rows whose noise variance at time ``now`` exceeds g σ².

        Parameters
        ----------
        surrogate : estimator
            Fitted, with a ``noise_model``.
        now : float

        Returns
        -------
        indices : ndarray of int
        """
        if surrogate.noise_model_ is None:
            raise ValueError(
                "NoiseThreshold needs a surrogate with a noise_model, got None: without one no "
                "observation ever becomes noisier. Give it a QuadraticInjection()."
            )
        times = surrogate.X_train_[:, -1]
        self.steps_ = getattr(self, "steps_", len(times) - 1) + 1
        self.cap_ = self._cap(self.steps_)
        ratio = surrogate.noise_model_.ratio(np.maximum(now - times, 0.0))
        stale = ratio > self.cap_
        stale[times == times.max()] = False
        return np.flatnonzero(stale)

    def _cap(self, steps):
        cap = np.log(steps) if isinstance(self.cap, str) and self.cap == "log" else self.cap
        cap = cap(steps) if callable(cap) else cap
        if not isinstance(cap, Real) or not cap >= 0.0:
            raise ValueError(
                "The 'cap' parameter of NoiseThreshold must be, or give, a non-negative float, or "
                f"be 'log'. Got {cap!r} instead."
            )
        return float(cap)

    def record(self):
        """Columns of the optimizer's history."""
        return {"cap": getattr(self, "cap_", np.nan)}


def _remove_least(sweep, relevancy):
    """Take the least relevant row out of a sweep: its index and relevancy."""
    least = np.argmin(relevancy)
    removal = int(sweep.index[least]), float(relevancy[least])
    sweep.remove(least)
    return removal
