"""Exact Gaussian process regression on space and time."""

from __future__ import annotations

import copy
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from .._docstrings import described_like
from .._validation import check_choice, check_int, invalid
from .._warnings import without_warnings
from ..exceptions import UnsupportedKernelError
from . import _fit_warnings
from ._composite import SHORTEST_PERIODIC
from ._dates import columns_like_fit
from ._exact_posterior import Dense, Weighted
from ._level import GAIN, STATIC, likely_level, with_level
from ._quasi_newton import completed
from ._regressor import TimeVaryingGP
from .kalman._filter import Filter, SiteIndex, distinct, has_white_noise
from .kalman._state_space import LARGE_STATE, Composed, Linear, process_of

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

_SOLVERS = ("auto", "dense", "kalman")

# Parameters without a Kalman filter, and what they add to the model.
_UNFILTERED = {
    "noise_model": "growing noise",
    "prior_mean": "a QuadraticMean",
}

# "auto" uses the filter from this many rows on, if a likelihood with its gradient is faster.
_MIN_ROWS = 256

# With given sites and held hyperparameters "auto" uses it earlier, from these numbers of rows, and
# of rows divided by the size of the state, on: the Cholesky factor takes O(n²) for each site.
# Unless they are fixed, hyperparameters count as held after this many updates a row: each search
# discards the filter, which takes O(n N²) to build. For composite kernels, whose state has p
# numbers a site, the rows have to be √p times more, and LARGE_STATE is the largest state.
_MIN_ROWS_HELD, _ROWS_A_STATE_HELD = 64, 1.0 / 16.0
_UPDATES_A_ROW = 0.25

# A search takes about as many likelihoods with gradients of all rows.
_N_EVALUATIONS = 15

# "auto" does not use it for larger states: two covariances of the state would fill the memory.
_MAX_STATE = 6000

# With a smaller ``max_size`` "auto" only learns with it: relevancies need the dense matrices.
_MIN_SIZE = 1000


def _dense_seconds(n):
    """Return the cost of a likelihood with its gradient by a Cholesky factor of n rows.

    The constants here and in `_filter_seconds` are processor seconds on one core. They are within a
    factor of 2 of ``benchmarks/speed/solvers.py``: 250 to 4,000 rows at 1 to 150 sites, states of
    1 to 630 numbers, at regular, irregular and coincident times. Only their ratio matters.
    """
    return 4e-8 * n**2 + 4.5e-11 * n**3


def _filter_seconds(process, n_sites, n, n_times, n_gaps):
    """Return the same as `_dense_seconds` for the filter, at times with distinct gaps between them.

    The filter of one site is compiled, see `Series`. Otherwise a time takes O(N²), which is limited
    by the memory, an observation O(N²) by BLAS, and a gap O(p²) for its matrices.
    """
    p = process.order
    square = (n_sites * p) ** 2
    calls = 5e-3 if isinstance(process, Composed | Linear) else 1e-3
    if n_sites == 1 and process.has_chains:
        return calls + n * (2e-6 + 2e-8 * square)
    a_time = 1.3e-8 if p == 1 else 6e-8
    return calls + n * (3e-6 + 2e-9 * square) + n_times * a_time * square + n_gaps * 5e-7 * p**2


def _filter_is_faster(process, n_sites, rows):
    """Return True if a likelihood with its gradient costs less by the filter."""
    n, limit = rows.n, _dense_seconds(rows.n)
    if _filter_seconds(process, n_sites, n, n, n) <= limit:
        return True  # even if all times and gaps differ
    times = np.unique(rows.t)
    n_gaps = len(np.unique(np.diff(times)))
    return _filter_seconds(process, n_sites, n, len(times), n_gaps) <= limit


def _steps_are_faster(process, n_sites, n):
    """Return True if the filter is faster for steps of an optimizer with held hyperparameters."""
    size, largest, rows_a_state = n_sites * process.order, _MAX_STATE, _ROWS_A_STATE_HELD
    if isinstance(process, Composed | Linear):
        largest, rows_a_state = LARGE_STATE, rows_a_state * np.sqrt(process.order)
    return size <= min(n / rows_a_state, largest)


@dataclass(eq=False, repr=False)
class TimeVaryingGPRegressor(TimeVaryingGP):
    """Gaussian process regression of a function of space that changes with time.

    f is a Gaussian process with a constant mean and covariance λ k_S(x, x') k_T(t, t'), observed
    with Gaussian noise of variance σ² (W-DBO assumption 3.2). λ, σ² and the kernels'
    hyperparameters maximize the marginal likelihood. Rows are appended and dropped in O(n²). Every
    row has a relevancy to future predictions.

    Parameters
    ----------
    spatial_kernel : Kernel, default=None
        scikit-learn kernel of the spatial columns. None: ``Matern(nu=2.5)`` with one hyperparameter
        and lengthscales proportional to the extents of the columns at most rows, or to their
        ranges, whichever is likelier; start and bounds follow (1.0 with ``optimizer=None``).
    temporal_kernel : Kernel, default=None
        scikit-learn kernel of the time column. None: ``Matern(nu=1.5)``, with a lengthscale between
        the median interval of the data's times and ten times their span (1.0 with
        ``optimizer=None``), plus ``c * Matern(nu=0.5)`` where that is likelier (see Notes).
        ``ConstantKernel(1.0, "fixed")`` makes a static model.
    level_kernel : Kernel, default=None
        scikit-learn kernel of the time column, for a level that all inputs share: the covariance is
        then λ (k_S k_T + k_L). None: no level. Give its variance relative to λ as a factor, such as
        ``1.0 * Matern(nu=0.5)``.
    signal_variance : float, default=1.0
        λ, in units of y² (after normalization, if any).
    signal_variance_bounds : pair of floats or "fixed", default=(1e-3, 1e3)
    noise_variance : float, default=1e-2
        σ², in units of y² (after normalization, if any).
    noise_variance_bounds : pair of floats or "fixed", default=(1e-6, 1e1)
    noise_model : NoiseModel, default=None
        Growth of an observation's noise with its age, counted from ``now_``, such as
        `QuadraticInjection` or `GeometricInjection`; None: constant noise.
    time_column : int or label, default=-1
        Position of time among the columns of X, or its name when X is a data frame. -1: the only
        column of dates, or else the last column. Several columns of dates, or a last column that
        increases with the dates, are an error.
    optimizer : "fmin_l_bfgs_b", callable or None, default="fmin_l_bfgs_b"
        Search of the hyperparameters: a quasi-Newton method within the bounds (see Notes), or a
        callable as in scikit-learn, ``optimizer(obj_func, initial_theta, bounds) -> theta_opt,
        func_min``. None: no search.
    n_restarts_optimizer : int, default=0
        Further searches, from starts drawn log-uniformly within the bounds.
    hyperpriors : dict of str to frozen scipy.stats distribution, default=None
        Priors of hyperparameters in their natural units, for maximum a posteriori fits: e.g.
        ``{"spatial_kernel__length_scale": scipy.stats.gamma(3, scale=0.1)}``. Names are as in
        ``set_params``, including ``signal_variance``, ``noise_variance``, ``noise_model__...``.
    normalize_y : bool, default=False
        Standardize y before fitting; predictions are in the units of y. `partial_fit` and `forget`
        hold location and scale, as the hyperparameters. Nothing is learnt from a constant y; its
        scale is 1 until rows differ.
    mean_prior_std : float, default=0.0
        Standard deviation τ of the Gaussian prior of a learnt constant mean of y, in units of y
        (after normalization, if any). 0: the mean is 0; ``np.inf``: a flat prior, which makes this
        generalized least squares, as is 0 with a `LinearMean`.
    prior_mean : LinearMean or QuadraticMean, default=None
        Prior mean of f, added to the constant mean: linear in columns of X with learnt
        coefficients, or given over the unit box. None: 0.
    robust : bool, default=False
        Divide the noise variance of outliers by weights below 1 (see Notes). Not with a
        ``noise_model``.
    time_unit : {"ns", "us", "ms", "s", "min", "h", "D", "W"}, default=None
        Unit of the numbers that dates and durations become. Dates count from 1970; dates without a
        time zone are read as UTC. Lengthscales and periods of ``temporal_kernel``, and their
        bounds, may be durations, such as ``pandas.Timedelta``. Rates are per unit. Times that are
        numbers are unchanged. None: seconds; with such times, durations give a warning.
    random_state : int, RandomState, Generator or None, default=None
        Source of randomness of the restarts.
    max_size : int, default=None
        Most rows that `fit` and `partial_fit` keep, for streams (see Notes). None: all.
    solver : "auto", "dense" or "kalman", default="auto"
        Algorithm of conditioning; results are the same. "dense": Cholesky factor, for any kernel.
        "kalman": Kalman filter over the observed inputs, for Markov kernels in time (see Notes).
        "auto": the filter where it is possible and faster.
    sites : array-like of shape (M, d), default=None
        Distinct inputs at which the filter tracks the posterior, observed or not. Columns of a data
        frame are matched by name, and dates are accepted, as in X; columns of a `LinearMean` are
        left out. None: the inputs of the data.

    Attributes
    ----------
    X_train_ : ndarray of shape (n, d + 1)
        Training inputs; read-only.
    y_train_ : ndarray of shape (n,)
        Training targets, in the units given; read-only.
    spatial_kernel_, temporal_kernel_ : Kernel
        Copies of the kernels with the learnt hyperparameters; ``spatial_kernel_`` is None when time
        is alone.
    level_kernel_ : Kernel or None
        Kernel of the level with the learnt hyperparameters.
    signal_variance_, noise_variance_ : float
        Learnt λ and σ².
    mean_ : float
        Posterior mean of the constant mean, in the units of y; with a `LinearMean`, where all its
        columns are 0.
    coef_, coef_std_ : ndarray of shape (p,)
        Posterior mean and standard deviation of the coefficients of a `LinearMean`, in units of y
        over those of its columns. With a `LinearMean` only.
    noise_std_ : float
        σ in the units of y, of an observation of age 0.
    outlier_weights_ : ndarray of shape (n,)
        Weights of the rows: 1 is full weight, 0 ignored. With ``robust`` only.
    noise_model_ : NoiseModel or None
        Noise model with the learnt hyperparameters.
    now_ : float
        Present time, from which ages count: latest training time, or that of ``advance``.
    theta_ : ndarray of shape (n_theta,)
        Logarithms of the learnt hyperparameters: signal variance, spatial kernel, temporal kernel,
        level, noise variance, noise model.
    log_marginal_likelihood_value_ : float
        At ``theta_``.
    fitted_ : object
        Value that optimizers hold as their surrogate, see `sktvbo.staleness.Surrogate`: also with
        ``with_rows``, ``posterior_between``, ``search_gain`` and ``relevancy_sweep``.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only when X had names.
    time_column_ : int
        Position of time among the columns of X, counted from the left.
    time_kinds_ : dict of int to str
        Kind of the columns of X that held dates or durations at `fit`, by position. Later times
        must be of the same kind.

    Notes
    -----
    The default kernel in time is smooth, or smooth and rough:
    ``Matern(l, nu=1.5) + c * Matern(r, nu=0.5)``, with c from 0.001 to 100 and r from half the
    median interval to ten spans. One smooth kernel forecasts worse than the latest value where
    measurements are rough, such as prices or wind. From 20 rows on, `fit` uses the sum if it is
    likelier by more than the corrected Akaike criterion asks for: 2 nats with many rows, 4 with 20.
    `refit` keeps a sum, and may add a rough part where the rows have doubled or contradict the
    model. The kernel stays a single one with a callable ``optimizer``, or with a prior of a
    hyperparameter of ``temporal_kernel`` in ``hyperpriors``.

    From 20 rows on, `fit` first compares hyperparameters over the whole box, on a third of the rows
    if there are more than 150, and begins at the likeliest. The order of the rows does not matter.
    `refit` begins at the previous result, and reuses its Hessian. It compares hyperparameters as
    `fit` does when most rows are new, or where new rows contradict the model.
    ``Matern(length_scale=[...], nu=2.5)`` learns a lengthscale per column, which needs more data
    than the default kernel.

    RBF, Matérn 1/2, 3/2 and 5/2 (one lengthscale, or one per dimension),
    `~sktvbo.kernels.Forgetting` and fixed constants have compiled code; in time, also their sums
    and products with constants and ``ExpSineSquared``. Other kernels are called, which is slower.
    A ``WhiteKernel`` is as in scikit-learn: independent noise of each row, which predicted standard
    deviations include.

    A season is ``Matern(l) + a * Matern(decay) * ExpSineSquared(s, period)``, for instance. Without
    RBF, such kernels have relevancies if all parts decay, and a Kalman filter. Both use cosines,
    which omit less than 1e-10 of the variance for periodic lengthscales s ≥ 0.1. So the lower bound
    of a learnt s is raised to 0.1 if s starts there or above. With a filter over several sites, or
    a large state, it is raised to 0.5 at most. A warning names a bound that is raised and reached.
    An s that starts below 0.1 keeps the given bounds, and has neither relevancies nor a filter.

    The Kalman solver supports `~sktvbo.kernels.Forgetting` and Matérn 1/2, 3/2, 5/2 in time, whose
    state has N = M, M, 2 M, 3 M numbers for M sites, `~sktvbo.kernels.Wiener` and a fixed
    constant, and sums and products as above. Sizes of states are added in sums and multiplied in
    products; ``ExpSineSquared`` has 1 + 2 for each harmonic. ``level_kernel`` adds its numbers for
    each site. Not supported are a level with `~sktvbo.kernels.Wiener`, ``noise_model``,
    `QuadraticMean` and a WhiteKernel in space.
    ``solver="auto"`` uses the filter from 256 rows on, where a likelihood is faster: for a single
    site roughly from 20 N rows on. With ``sites`` and held hyperparameters it uses it from 64 rows
    on if there are at least N / 16, for a sum or product with p = N / M √p times as many, up to a
    state of 300.

    With the Kalman solver a likelihood takes O(n N²), `partial_fit` O(N²) a row for any n, and
    O(N³) once for a new site. Predictions from the latest time on take O(1) at a site; those of
    the past O(n N²), and O(N²) an input (a smoother). A row that is late by at most the latest 32
    rows is inserted exactly, at the cost of filtering those after it again. Later rows and `forget`
    filter all rows again. `relevancy` is dense, O(n³). Memory is linear in the rows.

    With ``max_size`` memory is bounded. `fit` learns the hyperparameters from all its rows.
    `partial_fit` drops a twentieth of the rows once they exceed ``max_size``: those least relevant
    to the future, or the oldest with the Kalman solver or without relevancies. With a
    ``prior_mean`` that has a ``spread``, their information about the static part of f stays. With a
    ``max_size`` below 1000, "auto" may use the filter in `fit`, which then keeps the latest rows.
    It is dense once rows are appended or dropped. `condition_on` and `refit` keep all rows.

    ``robust`` compares rows with leave-one-out predictions. Up to L standard deviations √v the
    weight is 1; at z > L of them it is σ² / (σ² + v (z − L)²). L is 10.5 for 10 rows, 5.8 for 50
    and 5 for many; it is 2 where the residuals have heavier tails than a Gaussian. Consecutive
    outliers of one sign, three or more if they were not appended, whose sizes differ by at most a
    factor of 4, are a change of the function: they and the rows beside it have weight 1. Outliers
    at one input count as consecutive, and so do those at neighbouring inputs at equal times. All
    weights are 1 with fewer than 10 rows, or if more than a quarter would have a smaller one. A fit
    first compares rows with the medians of their neighbours, and searches hyperparameters until the
    weights agree with them, up to ten times more.

    A row appended alone is compared with the prediction for it, and has that weight until the next
    search. If it is an outlier, its influence is that of L standard deviations until another row is
    appended, which could show that the function changes.

    References
    ----------
    J. Hartikainen, S. Särkkä, "Kalman Filtering and Smoothing Solutions to Temporal Gaussian
    Process Regression Models", MLSP 2010 (the filter; the smoother is Bryson's and Frazier's).

    Examples
    --------
    >>> import numpy as np
    >>> from sktvbo import TimeVaryingGPRegressor
    >>> rng = np.random.RandomState(0)
    >>> X = np.column_stack([rng.uniform(size=60), np.arange(60)])   # input, time
    >>> y = np.sin(6 * X[:, 0] + 0.1 * X[:, 1]) + 0.05 * rng.normal(size=60)
    >>> gp = TimeVaryingGPRegressor().fit(X, y)
    >>> mean, std = gp.predict([[0.5, 60.0]], return_std=True)
    >>> bool(abs(mean[0] - np.sin(9.0)) < 3 * std[0] < 0.5)
    True

    A stream of 20,000 rows at two inputs, each row in constant time:

    >>> from sktvbo.kernels import Forgetting
    >>> t = np.arange(20_000.0)
    >>> X = np.column_stack([t % 2.0, t])
    >>> y = np.sin(0.01 * t) + 0.1 * rng.normal(size=len(t))
    >>> stream = TimeVaryingGPRegressor(
    ...     temporal_kernel=Forgetting(0.01), solver="kalman", optimizer=None
    ... ).fit(X[:-1], y[:-1]).partial_fit(X[-1:], y[-1:])
    >>> bool(abs(stream.predict([[0.0, 20_000.0]])[0] - np.sin(200.0)) < 0.3)
    True
    """

    _: KW_ONLY
    solver: str = "auto"
    sites: ArrayLike | None = None
    max_size: int | None = None

    # Class of ``_gp`` without a Kalman filter.
    _dense_class: ClassVar[type[Dense]] = Dense

    def check(self) -> None:
        super().check()
        check_choice(self.solver, _SOLVERS, "solver", self)
        if self.max_size is not None:
            check_int(self.max_size, "max_size", self)

    def _seconds_to_search(self, rows):
        seconds = _N_EVALUATIONS * _dense_seconds(rows.n)
        if seconds <= _fit_warnings.LONG or not self._can_learn_from(rows):
            return 0.0
        covariance = self._initial_covariance(rows, follow_data=True)
        is_dense = self._choose_conditioning(covariance, rows)[0] is self._dense_class
        return seconds if is_dense and len(covariance.bounds) else 0.0

    def _likelier_level(self, gp):
        known, rows, none = gp.covariance, gp.rows, super()._likelier_level(gp)
        shared, is_static = with_level(known, rows, self.temporal_kernel is None)
        if shared is None or (self.solver == "kalman" and process_of(shared) is None):
            return none
        other = copy.copy(self)
        other.level_kernel = likely_level(known, shared, rows)
        if other.level_kernel is None:
            return none
        if is_static:
            other.temporal_kernel = STATIC
        # The warnings of a model that is not returned do not concern the user.
        found, _ = without_warnings(UserWarning, completed, other._learn_one(rows))
        gain = found.objective - gp.objective
        return (other.level_kernel, is_static, gain) if gain > GAIN else none

    def _choose_conditioning(self, covariance, rows):
        self._given_sites()  # checked also where a stream begins with a Cholesky factor
        if self.solver == "kalman":
            self._check_kalman(covariance, rows)
            return Filter, self._sites(rows)
        if self.solver == "auto" and self._prefers_filter(covariance, rows):
            return Filter, self._sites(rows), True
        return (self._dense_class,)

    def _adapt_to_rows(self, gp, n_new):
        if self.solver != "auto":
            return gp
        if self.max_size is not None and self.max_size < _MIN_SIZE:
            return _dense(gp)
        is_filter = isinstance(gp, Filter)
        held = self.optimizer is None or gp.n_updates >= _UPDATES_A_ROW * gp.rows.n
        held = self.sites is not None and (is_filter or held)
        sites = gp.sites if is_filter else None
        if not self._prefers_filter(gp.covariance, gp.rows, sites, held):
            return _dense(gp)
        if is_filter:
            return gp
        return Filter.of(gp.covariance, gp.rows, self._sites(gp.rows), True)

    def _prefers_filter(self, covariance, rows, sites=None, held=False):
        """Return True if the filter is possible, and faster than the Cholesky factor."""
        if rows.n < (_MIN_ROWS_HELD if held else _MIN_ROWS) or self._dense_class is not Dense:
            return False
        has_others = covariance.noise_model is not None or self._quadratic_mean is not None
        process = None if has_others else process_of(covariance)
        if process is None:
            return False
        known = self._given_sites() if sites is None else sites
        m = len(distinct(rows.S) if known is None else known)
        if m * process.order > _MAX_STATE:
            return False
        for_steps = held and _steps_are_faster(process, m, rows.n)
        if not (for_steps or _filter_is_faster(process, m, rows)):
            return False
        return sites is not None or not has_white_noise(covariance, rows.S)

    def _check_kalman(self, covariance, rows):
        """Raise an error unless a Kalman filter supports the parameters."""
        if self._dense_class is not Dense:
            raise invalid("solver", "'auto' or 'dense'", self.solver, self)
        for name, what in _UNFILTERED.items():
            value = self._quadratic_mean if name == "prior_mean" else getattr(self, name)
            if value is not None:
                expected = f"None with solver='kalman', which does not support {what}"
                raise invalid(name, expected, value, self)
        if process_of(covariance) is None:
            level = "" if covariance.level is None else f" with the level {covariance.level}"
            raise UnsupportedKernelError(
                f"The temporal kernel {covariance.temporal}{level} has no Kalman filter. Supported "
                "are Forgetting, Wiener without a level, Matern with nu in (0.5, 1.5, 2.5), and "
                "ConstantKernel(1.0, 'fixed'); and sums and products of these, without Wiener, and "
                f"ExpSineSquared with lengthscales from {SHORTEST_PERIODIC:g} on, or with custom "
                "kernels that have state_space(). solver='dense' takes any."
            )
        if has_white_noise(covariance, rows.S):
            raise UnsupportedKernelError(
                f"The spatial kernel {covariance.spatial} has no Kalman filter: a WhiteKernel is "
                "noise of observations, not of inputs. Use noise_variance or solver='dense'."
            )

    def _given_sites(self):
        """Return ``sites`` as an array (M, d), or None."""
        if self.sites is None:
            return None
        outside = (self._time_position, *self._columns_of_mean()[1])
        sites = columns_like_fit(self, self.sites, "sites", owner=self, without=outside)
        if len(distinct(sites)) < len(sites):
            raise invalid("sites", "distinct inputs", self.sites, self)
        return sites

    def _sites(self, rows):
        """Return the index of the given sites and those of the rows."""
        sites = self._given_sites()
        if sites is None:
            return SiteIndex(distinct(rows.S))
        return SiteIndex(sites).with_places(rows.S)

    def _exact(self):
        return self._fitted


def _dense(gp):
    """Return a posterior with a Cholesky factor in place of a filter."""
    return Dense.of(gp.covariance, gp.rows) if isinstance(gp, Filter) else gp


@described_like(TimeVaryingGPRegressor)
@dataclass(eq=False, repr=False)
class WeightedTimeVaryingGPRegressor(TimeVaryingGPRegressor):
    """Weighted regression with the standard deviation of W-GP-UCB.

    With c = Δ⁻¹ k(x) the mean is cᵀ y, as in a Gaussian process. The width is

        s² = σ² ‖c‖² + k(x, x) − 2 kᵀ c + cᵀ K c,

    the error from observation noise of variance σ² plus the error from the function's norm. With
    the noise σ² / w_i of the weighted model, s² = k(x, x) − kᵀ c − σ² Σ_i (1/w_i − 1) c_i²: at most
    the posterior variance, and equal to it if all weights are 1.

    Parameters
    ----------
    noise_model : NoiseModel, default=None
        Reciprocal weights 1 / w_i of the observations by age; None: all 1.
    temporal_kernel : kernel, default=None
        As in `TimeVaryingGPRegressor`. The literature uses a static one,
        ``ConstantKernel(1.0, "fixed")``.

    References
    ----------
    Y. Deng, X. Zhou, B. Kim, A. Tewari, A. Gupta, N. Shroff, "Weighted Gaussian Process Bandits for
    Non-stationary Environments", AISTATS 2022.

    Examples
    --------
    >>> from sktvbo.gaussian_process import (
    ...     GeometricInjection, TimeVaryingGPRegressor, WeightedTimeVaryingGPRegressor,
    ... )
    >>> X, y = [[0.1, 0.0], [0.5, 4.0]], [0.3, 0.7]
    >>> model = GeometricInjection(0.9)
    >>> gp = TimeVaryingGPRegressor(noise_model=model, optimizer=None).fit(X, y)
    >>> weighted = WeightedTimeVaryingGPRegressor(noise_model=model, optimizer=None).fit(X, y)
    >>> std, s = (each.predict([[0.2, 4.0]], return_std=True)[1] for each in (gp, weighted))
    >>> bool(s < std)
    True
    """

    _dense_class = Weighted
