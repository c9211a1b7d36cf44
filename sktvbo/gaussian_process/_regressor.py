"""Base of the regressors: parameters, fitting, updates of the rows, and predictions."""

from __future__ import annotations

import copy
from abc import ABCMeta, abstractmethod
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import TYPE_CHECKING, ClassVar, overload

import numpy as np
from scipy.stats import norm
from sklearn.base import clone
from sklearn.gaussian_process.kernels import Kernel, Matern
from sklearn.utils.validation import check_is_fitted

from .._durations import DEFAULT_UNIT, check_time_unit
from .._sklearn import BaseEstimator, RegressorMixin
from .._validation import (
    check_bool,
    check_bounds,
    check_int,
    check_random_state,
    check_real,
    finite_number,
    invalid,
    known_variance,
    real_array,
)
from .._values import replaced
from ._conditioned import TrendTerm
from ._covariance import SeparableCovariance
from ._data import Layout, Rows
from ._dates import (
    NUMBERS,
    check_parameters,
    check_searched_bounds,
    finite_posterior,
    mixed_kinds,
    numeric_durations,
    read_time,
    validated,
)
from ._exact_posterior import Dense
from ._fit_warnings import (
    advise_on_columns,
    advise_on_durations,
    advise_on_fit,
    advise_on_level,
    advise_on_outliers,
    advise_on_rows,
    advise_on_time_alone,
)
from ._fitted import FittedGP, Learnt
from ._future import temporal_length_scale
from ._hyperparameters import (
    Screening,
    SearchRecord,
    default_spatial,
    default_temporal,
    likeliest,
    log_posterior,
    rough_start,
    screened_starts,
    search,
    with_rough_part,
)
from ._intervals import N_KNOWN, Intervals, predictive
from ._linear_mean import LinearMean
from ._noise import NoiseModel
from ._outliers import reweighted, screened
from ._prior_mean import QuadraticMean, prior_variance
from ._quasi_newton import completed
from ._relevancy import rows_beyond
from ._time_scales import follow_times, follows_times

if TYPE_CHECKING:
    from typing import Literal, Self

    from numpy.typing import ArrayLike

    from .._typing import Array, RandomState, Time


# Searches of a robust fit after the first one, at most.
_MAX_SEARCHES = 10

# The other choice of prior mean is searched again if it is predicted to gain this, in nats.
_LARGE_GAIN = 1.0

# From this many rows on, the first search of the other choice begins at the result with the present
# one: four times as fast, and less likely by more than 0.1 nats in one of 75 fits.
_MANY_ROWS = 64

# Terms are predicted at this many rows at a time, which bounds the memory.
_BLOCK = 1000

# Attributes that rows take over from those that they replace.
_OF_OTHERS = ("prior_mean", "location", "scale", "static")


# The constructor is generated from the fields: parameters and defaults are written once.
@dataclass(eq=False, repr=False)
class TimeVaryingGP(Intervals, Learnt, RegressorMixin, BaseEstimator, metaclass=ABCMeta):
    """Base of the regressors; `TimeVaryingGPRegressor` documents the parameters.

    The learnt state is one immutable value, ``fitted_``; this class validates the users' arguments.
    `condition_on`, `without` and `refit` return a new estimator with a new value. Methods that
    change an estimator in place replace its whole state at the end, so that an error leaves it
    unchanged.
    """

    spatial_kernel: Kernel | None = None
    temporal_kernel: Kernel | None = None
    _: KW_ONLY
    level_kernel: Kernel | None = None
    signal_variance: float = 1.0
    signal_variance_bounds: tuple[float, float] | str = (1e-3, 1e3)
    noise_variance: float = 1e-2
    noise_variance_bounds: tuple[float, float] | str = (1e-6, 1e1)
    noise_model: NoiseModel | None = None
    time_column: int | str | tuple = -1
    optimizer: str | Callable | None = "fmin_l_bfgs_b"
    n_restarts_optimizer: int = 0
    hyperpriors: dict | None = None
    normalize_y: bool = False
    mean_prior_std: float = 0.0
    prior_mean: QuadraticMean | LinearMean | None = None
    robust: bool = False
    time_unit: str | None = None
    random_state: RandomState = None

    # Class of ``fitted_``, which optimizers hold.
    _fitted_class: ClassVar[type[FittedGP]] = FittedGP

    # Parameter of the exact regressors; see `TimeVaryingGPRegressor`.
    max_size: ClassVar[int | None] = None

    # Kinds of ``prior_mean``.
    _prior_means: ClassVar[tuple[type, ...]] = (QuadraticMean, LinearMean)

    # False: `fit` gives no warnings about the model, as for the surrogates of optimizers.
    _advises: ClassVar[bool] = True

    # Location and scale of the rows, if known in advance.
    _known_of_rows: ClassVar[dict] = {}

    # Result of the latest hyperparameter search, for the next one.
    _search_record: ClassVar[SearchRecord] = SearchRecord()

    # ``time_unit`` of the latest fit, which has the times of the rows: `set_params` may change it.
    # It is not set before, so that durations are not read in another unit.
    _fitted_unit: ClassVar[str]

    # Position of time in the rows of the latest fit, for the same reason.
    _time_position: ClassVar[int]

    @abstractmethod
    def _choose_conditioning(self, covariance, rows):
        """Return the class of ``Conditioned`` for rows, and further arguments of its ``of``."""

    def __repr__(self, N_CHAR_MAX=700):
        # scikit-learn's kernels print numbers, but no durations.
        new = copy.copy(self)
        unit = self.time_unit or DEFAULT_UNIT
        new.temporal_kernel, new.level_kernel = self._numeric_kernels(unit)
        return BaseEstimator.__repr__(new, N_CHAR_MAX)

    def _numeric_kernels(self, unit, kind=None):
        """Return the kernels in time and of the level, with numbers; see `numeric_durations`."""
        kernels = self.temporal_kernel, self.level_kernel
        return [numeric_durations(kernel, unit, kind) for kernel in kernels]

    @property
    def _fitted_kind(self):
        """Kind of the times of the latest fit."""
        return self.time_kinds_.get(self._time_position, NUMBERS)

    # --- fitting ----------------------------------------------------------------------------------

    def fit(self, X: ArrayLike, y: ArrayLike, y_variance: ArrayLike | None = None) -> Self:
        """Learn the hyperparameters and condition on the data.

        Parameters
        ----------
        X : array-like of shape (n, d + 1)
            Space and time; a single column is time alone. Columns of dates or durations become
            numbers in the ``time_unit``, which is then the unit of all times and lengthscales.
            Later rows must have times of the same kind.
        y : array-like of shape (n,)
        y_variance : array-like of shape (n,), default=None
            Known noise variance of each observation, in units of y², in addition to
            ``noise_variance``.

        Returns
        -------
        self : TimeVaryingGP

        Raises
        ------
        ValueError
            The data or a parameter is invalid, or several columns may be time, or the rows do not
            determine a coefficient of a `LinearMean` with a flat prior; the estimator is unchanged.

        Warns
        -----
        ModelWarning
            The model does not suit the data: y far from 0 without a mean, lengthscales or rates far
            from the data's scale, a kernel without effect, durations beside times that are numbers,
            too many rows, too few inducing points, a level that all inputs share.
        ConvergenceWarning
            The hyperparameter search did not converge, or ended at a bound.
        """
        self.check()
        new = copy.copy(self)
        rows = new._make_rows(*new._validate(X, y, y_variance))
        if self._advises:
            if not rows.S.shape[1]:
                advise_on_time_alone(self.spatial_kernel, self._quadratic_mean)
            if self.time_unit is None and new._fitted_kind == NUMBERS:
                advise_on_durations(self.temporal_kernel, self.level_kernel)
            has_mean = self.normalize_y or self._mean_variance > 0.0
            advise_on_rows(rows, type(self).__name__, has_mean, new._seconds_to_search(rows))
            names = getattr(new, "feature_names_in_", ())
            advise_on_columns(rows, names, self.spatial_kernel)
        new._gp, new._search_record = completed(new._learn(rows, warn=self._advises))
        if self._advises:
            if self.robust:
                advise_on_outliers(new._gp)
            searched, has_priors = self._can_learn_from(rows), bool(self.hyperpriors)
            options = {"has_priors": has_priors, "is_default_in_time": self.temporal_kernel is None}
            advise_on_fit(new._gp.covariance, rows, searched, self.normalize_y, **options)
            has_choice = self.level_kernel is None and not (has_priors or callable(self.optimizer))
            if searched and has_choice:
                advise_on_level(*new._likelier_level(new._gp))
        if self.max_size is not None:
            new = new._with(_reduced(new.fitted_, int(self.max_size)))
        return self._replace_state(new)

    def partial_fit(self, X: ArrayLike, y: ArrayLike, y_variance: ArrayLike | None = None) -> Self:
        """Append rows with the hyperparameters held, O(n²) a row.

        On a new estimator this conditions on the data with the hyperparameters as given. With
        ``normalize_y`` location and scale of y are held as well: after `fit`, otherwise from 10
        distinct values of y on (or from 100 rows that are not all equal).

        Parameters
        ----------
        X : array-like of shape (m, d + 1)
        y : array-like of shape (m,)
        y_variance : array-like of shape (m,), default=None
            See `fit`.

        Returns
        -------
        self : TimeVaryingGP

        Raises
        ------
        ValueError
            As `fit`, and `condition_on` after it; the estimator is unchanged.
        """
        if self.__sklearn_is_fitted__():
            X, y = self._validated(X, y)
            return self._replace_state(self._with(self._appended(self.fitted_, X, y, y_variance)))
        self.check()
        new = copy.copy(self)
        X, y, *variance = new._validate(X, y, y_variance)
        first = slice(self.max_size)
        rows = new._make_rows(*(array[first] for array in (X, y, *variance)))
        covariance = new._initial_covariance(rows, follow_data=False)
        new._gp = new._condition_again(covariance, rows, self.normalize_y)
        if rows.n < len(y):
            rest = slice(rows.n, None)
            fitted = self._appended(new.fitted_, X[rest], y[rest], variance[0][rest])
            new = new._with(fitted)
        return self._replace_state(new)

    def _appended(self, fitted, X, y, y_variance=None):
        """Return a fitted value with more rows, and without those beyond ``max_size``."""
        if self.max_size is None:
            return fitted.condition_on(X, y, y_variance)
        variance, _ = known_variance(y_variance, len(y))
        size, first = check_int(self.max_size, "max_size", self), 0
        while first < len(y):
            # A sweep of the relevancies takes O(n³): each removes a twentieth of the rows.
            part = slice(first, first + max(size + 1 - fitted.gp.rows.n, 1))
            fitted = fitted.condition_on(X[part], y[part], variance[part])
            if fitted.gp.rows.n > size:
                fitted = _reduced(fitted, size - size // 20)
            first = part.stop
        return fitted

    def forget(self, indices: ArrayLike) -> Self:
        """Drop training rows with the hyperparameters held, O(n²) a row; see `partial_fit`.

        Parameters
        ----------
        indices : array-like of int, or bool mask of shape (n,)
            Rows of ``X_train_``; at least one row must remain.

        Returns
        -------
        self : TimeVaryingGP

        Raises
        ------
        ValueError
            Indices out of range, or of all rows, or the others do not determine a coefficient of a
            `LinearMean` with a flat prior; the estimator is unchanged.
        """
        return self._replace_state(self.without(indices))

    def advance(self, now: Time) -> Self:
        """Advance the present time: with a ``noise_model`` all observations age.

        Parameters
        ----------
        now : float or date
            Not before any training time.

        Returns
        -------
        self : TimeVaryingGP

        Raises
        ------
        NotFittedError
            Before `fit`.
        ValueError
            A time that is not finite, or before the latest training time.

        Notes
        -----
        O(n³) with a noise model, as every noise variance changes; O(1) without.
        """
        gp = self._fitted
        latest, now = gp.rows.latest, check_real(self._number_of(now, "now"), "now")
        if now < latest:
            raise invalid("now", f"a time not before the latest training time {latest}", now)
        new = copy.copy(self)
        new._gp = gp.at(now)
        return self._replace_state(new)

    def _validated(self, X, y):
        if not self.__sklearn_is_fitted__():
            check_is_fitted(self)  # slow
        return validated(self, X, y)

    def _standardize(self, restandardize):
        """Return the argument ``standardize`` of a conditioned GP."""
        return None if restandardize is None else self.normalize_y and restandardize

    @property
    def fitted_(self) -> FittedGP:
        gp, own = self._fitted, vars(self)
        model = object.__new__(type(self))
        vars(model).update((k, v) for k, v in own.items() if k not in ("_gp", "_search_record"))
        return self._fitted_class(model, gp, self._search_record)

    def _with(self, fitted):
        new = object.__new__(type(self))
        vars(new).update(vars(fitted.model), _gp=fitted.gp, _search_record=fitted.record)
        return new

    def _replace_state(self, new):
        """Replace the state by that of another estimator, in one assignment."""
        self.__dict__ = new.__dict__
        return self

    def _validate(self, X, y, y_variance):
        """Return X, y, variance and mask (n,) of the user's rows, validated, for a new fit."""
        X, y = validated(self, X, y, reset=True)
        return X, y, *known_variance(y_variance, len(X))

    def _make_rows(self, X, y, variance, total, like=None, standardize=None, known=None):
        """Return rows with their own time origin; scale and prior mean as in ``like``.

        ``known`` are the weights and scores of robust regression, if known.
        """
        position = self._time_position
        # A non-stationary kernel, such as `Wiener`, refers to the times as given.
        kernels = self.temporal_kernel, self.level_kernel
        stationary = all(kernel is None or kernel.is_stationary() for kernel in kernels)
        layout = self._layout(X, X[0, position] if stationary else 0.0)
        if like is None:
            mean, options = self._quadratic_mean, {"standardize": self.normalize_y}
            if mean is not None and not mean.only_if_likelier:
                options["prior_mean"] = mean.polynomial(X.shape[1] - 1)
            options |= self._known_of_rows
        else:
            options = {name: getattr(like, name) for name in _OF_OTHERS}
            options["standardize"] = like.standardize if standardize is None else standardize
        if self.robust:
            weights, scores = known or (screened(X, y, position), np.zeros(len(y)))
            options |= {"weights": weights, "scores": scores}
        return Rows.of(X, y, variance, total, layout, **options)

    @property
    def _quadratic_mean(self):
        return self.prior_mean if isinstance(self.prior_mean, QuadraticMean) else None

    @property
    def _mean_variance(self):
        """Prior variance of the constant mean."""
        variance = prior_variance(float(self.mean_prior_std))
        return np.inf if variance == 0.0 and isinstance(self.prior_mean, LinearMean) else variance

    def _layout(self, X, origin):
        """Return the layout of rows X, with the columns of a linear mean."""
        layout = Layout(self._time_position, origin)
        if not isinstance(self.prior_mean, LinearMean):
            return layout
        columns, outside = self._columns_of_mean()
        layout = Layout(layout.position, origin, self.prior_mean.trend(X, columns), outside)
        self._check_trend(layout, X)
        return layout

    def _columns_of_mean(self):
        """Return the positions in X of the columns of a linear mean, and of those not in space."""
        if not isinstance(self.prior_mean, LinearMean):
            return [], ()
        names = getattr(self, "feature_names_in_", ())
        return self.prior_mean.positions(names, self.n_features_in_, self._time_position)

    def _check_trend(self, layout, X):
        """Raise an error if rows X leave coefficients of a linear mean unknown."""
        unknown = layout.trend.undetermined(X, self._mean_variance)
        if unknown:
            names = list(getattr(self, "feature_names_in_", range(X.shape[1])))
            names = ", ".join(repr(names[i]) for i in unknown)
            raise invalid(
                "Columns of a LinearMean with a flat prior",
                "linearly independent of one another and of a constant",
                got=f"{names}, which are not in {len(X)} rows,",
                advice="Leave columns out, give more rows, or a finite prior_std.",
            )

    def check(self) -> None:
        """Raise a ValueError for an invalid parameter, as `fit` does."""
        for name in ("signal_variance", "noise_variance"):
            check_real(getattr(self, name), name, self, interval="(0, inf)")
            check_bounds(getattr(self, f"{name}_bounds"), f"{name}_bounds", self)
        check_real(self.mean_prior_std, "mean_prior_std", self, interval="[0, inf]")
        if self.prior_mean is not None:
            if not isinstance(self.prior_mean, self._prior_means):
                kinds = " or ".join(f"a {kind.__name__}" for kind in self._prior_means)
                raise invalid("prior_mean", f"{kinds} or None", self.prior_mean, self)
            self.prior_mean.check()
        for name in ("spatial_kernel", "temporal_kernel", "level_kernel"):
            self._check_kernel(name)
        if self.noise_model is not None:
            if not isinstance(self.noise_model, NoiseModel):
                expected = "a NoiseModel, such as QuadraticInjection(), or None"
                raise invalid("noise_model", expected, self.noise_model, self)
            self.noise_model.check()
        if not (self.optimizer in (None, "fmin_l_bfgs_b") or callable(self.optimizer)):
            expected = "'fmin_l_bfgs_b', a callable or None"
            raise invalid("optimizer", expected, self.optimizer, self)
        check_int(self.n_restarts_optimizer, "n_restarts_optimizer", self, low=0)
        if self.time_unit is not None:
            check_time_unit(self.time_unit, self)
        check_bool(self.robust, "robust", self)
        if self.robust and self.noise_model is not None:
            expected = "None with robust=True, as both change the noise of an observation"
            raise invalid("noise_model", expected, self.noise_model, self)

    def _check_kernel(self, name):
        kernel = getattr(self, name)
        if kernel is not None:
            if not isinstance(kernel, Kernel):
                raise invalid(name, "a scikit-learn kernel or None", kernel, self)
            check_parameters(kernel, in_time=name != "spatial_kernel")
            if self.optimizer is not None:
                check_searched_bounds(kernel, self.time_unit or DEFAULT_UNIT)

    @property
    def _follows_data(self):
        """True if kernels, or their bounds, follow the data of a search."""
        temporal, level = self.temporal_kernel, self.level_kernel
        if self.spatial_kernel is None or temporal is None:
            return True
        return follows_times(temporal) or follows_times(level)

    def _initial_covariance(self, rows, follow_data):
        """Return the covariance at the start of a search; default kernels may follow the data."""
        kernels = self._numeric_kernels(self._fitted_unit, self._fitted_kind)
        spatial, (temporal, level) = [None], kernels
        if rows.S.shape[1]:
            kernel = self.spatial_kernel
            spatial = default_spatial(rows, follow_data) if kernel is None else [kernel]
        temporal = default_temporal(rows, follow_data) if temporal is None else temporal
        # Cloned: learning must not change the user's kernels.
        if follow_data:
            temporal, level = (follow_times(kernel, rows.t) for kernel in (temporal, level))
        covariances = [
            SeparableCovariance.of(
                None if kernel is None else clone(kernel),
                clone(temporal),
                (float(self.signal_variance), self.signal_variance_bounds),
                (float(self.noise_variance), self.noise_variance_bounds),
                rows.S.shape[1],
                None if self.noise_model is None else clone(self.noise_model),
                self._mean_variance,
                None if level is None else clone(level),
            )
            for kernel in spatial
        ]
        return likeliest(covariances, rows, self.hyperpriors)

    def _learn(self, rows, start=None, record=None, *, n_known=0, **options):
        """Return a search of the hyperparameters: a computation in parts, see `completed`.

        Its result is a GP conditioned on the rows, and a `SearchRecord`. It starts from theta
        ``start`` if given; ``record`` is that of the previous search. With ``robust``, the first
        ``n_known`` rows have been in an earlier search. Options are the covariance ``initial`` of
        the kernels as given, if known, and ``warn``.
        """
        if self.robust:
            return self._learn_with_weights(rows, start, record, n_known, **options)
        return self._learn_with_mean(rows, start, record, **options)

    def _learn_with_weights(self, rows, start, record, n_known, **options):
        """Learn as `_learn`, with weights that follow from the hyperparameters found.

        Hyperparameters are searched again until both agree. Where rows are known, they are searched
        again at most once, if a weight changes by more than a half.
        """
        first = self._learn_with_mean if n_known else self._learn_without_screened
        gp, record = yield from first(rows, start, record, **options)
        n_more, change = (1, 0.5) if n_known else (_MAX_SEARCHES, 0.1)
        gp, full = (yield partial(reweighted, gp, n_known)), np.zeros(rows.n, dtype=bool)
        for _ in range(n_more):
            weights = gp.rows.weights
            if np.abs(weights - rows.weights).max() <= change or not self._can_learn_from(rows):
                break
            rows, theta = gp.rows.with_weights(weights, self.normalize_y), gp.covariance.theta
            if (weights == 1.0).all() and not n_known:
                theta = record = None  # without outliers the search is that of a plain fit
            gp, record = yield from self._learn_with_mean(rows, theta, record, **options)
            gp = yield partial(reweighted, gp, n_known, full)
            # A weight that a search takes back does not become smaller again: searches end.
            full = full | ((weights < 0.5) & (gp.rows.weights == 1.0))
        return gp, record

    def _learn_without_screened(self, rows, start, record, **options):
        """Learn as `_learn_with_mean`, from the rows with weight 1.

        The weights of screened rows are too small for their residuals: in a search, these would
        make a small noise variance likely.
        """
        outliers = np.flatnonzero(rows.weights < 1.0)
        if not len(outliers):
            return (yield from self._learn_with_mean(rows, start, record, **options))
        those = rows.drop(outliers, standardize=False)
        gp, record = yield from self._learn_with_mean(those, start, record, **options)
        rows = rows.with_scale_of(gp.rows).with_prior_mean(gp.rows.prior_mean)
        return (yield partial(self._condition, gp.covariance, rows)), record

    def _learn_with_mean(self, rows, start, record, **options):
        """Learn with the weights of the rows.

        With ``only_if_likelier`` the rows have the present choice of prior mean. The other choice
        is searched as well: at the first fit always, later from its own latest hyperparameters, and
        only if the predicted likelihood is larger, or if they are so far from its maximum that the
        prediction is inaccurate. Few rows without a static part have no prior mean.
        """
        mean = self._quadratic_mean
        optional = mean is not None and mean.only_if_likelier
        if optional and rows.n < mean._min_rows and rows.static is None:
            rows = rows.with_prior_mean(None)
            return (yield from self._learn_one(rows, start, record, **options))
        gp, latest = held = yield from self._learn_one(rows, start, record, **options)
        if not optional:
            return held
        other = mean.polynomial(rows.S.shape[1]) if rows.prior_mean is None else None
        rows, value = rows.with_prior_mean(other), log_posterior(gp, self.hyperpriors)
        value += mean.log_odds * (-1.0 if other is not None else 1.0)
        if rows.n < _MANY_ROWS and (record is None or record.other is None):
            other = yield from self._learn_one(rows, **options)
        elif record is None:
            start = gp.covariance.theta
            other = yield from self._learn_one(rows, start, latest, screen=False, **options)
        else:
            start, known = latest.start_of_other(record.other, gp.covariance)
            before = yield partial(self._condition, gp.covariance.with_theta(start), rows)
            gain = yield partial(known.predicted_gain, before, self.hyperpriors)
            other = before, known
            if gain > _LARGE_GAIN or log_posterior(before, self.hyperpriors) + gain > value:
                options |= {"warn": False, "screen": False}
                other = yield from self._learn_one(rows, start, known, **options)
        if log_posterior(other[0], self.hyperpriors) > value:
            held, other = other, held
        return held[0], replaced(held[1], other=(other[0].covariance.theta, other[1]))

    def _learn_one(self, rows, start=None, record=None, *, initial=None, warn=False, screen=True):
        """Learn with the weights and the prior mean of the rows.

        A search without a ``start`` begins with a screening of the whole box. One that has a start
        is followed by a screening if it is due, unless ``screen`` is False.
        """
        if initial is None:
            follow_data = self.optimizer is not None
            initial = yield partial(self._initial_covariance, rows, follow_data)
        at_start = initial = self._suited_to(start, initial)
        if start is not None:
            at_start = initial.with_theta(np.clip(start, *initial.bounds.T))
        kind, *basis = self._choose_conditioning(at_start, rows)
        if not self._can_learn_from(rows):
            return (yield partial(kind.of, at_start, rows, *basis)), SearchRecord()
        rows, n, n_theta = rows.with_held_scale(), rows.n, len(initial.bounds)
        initial, criterion = kind.searchable(initial, *basis), kind.criterion(rows, *basis)
        known = record and record.hessian_for(n_theta, n)
        screening, is_due = Screening(n), False
        screen = screen and not callable(self.optimizer)
        if start is None and screen:
            start = yield from screened_starts(criterion, initial, rows, self.hyperpriors)
        options = self._search_options | {"warn": warn, "hessian": known}
        covariance, hessian, gain = yield from search(criterion, initial, start, **options)
        if record is not None:
            screening, is_due = record.screening.after(n, record.n_new(rows), gain, n_theta)
        if screen and is_due:
            starts = yield from screened_starts(criterion, covariance, rows, self.hyperpriors)
            if starts and not np.array_equal(starts[0].x, covariance.theta):
                options |= {"warn": False, "n_restarts": 0, "hessian": None}
                covariance, hessian, _ = yield from search(criterion, initial, starts, **options)
        if (
            screen
            and (is_due or record is None)
            and self._may_be_rough
            and isinstance(covariance.temporal, Matern)
        ):
            rough, found = yield from rough_start(criterion, covariance, rows, self.hyperpriors)
            if rough is not None:
                options = {"initial": rough, "warn": warn, "screen": False}
                gp, found = yield from self._learn_one(rows, rough.theta, found, **options)
                return gp, replaced(found, screening=screening)
        gp = yield partial(kind.after_search, criterion, covariance, rows, *basis)
        return gp, SearchRecord(hessian, n, rows.latest, screening)

    @property
    def _may_be_rough(self):
        """True if the kernel in time may get a rough part: by default, and if no prior names it."""
        named = any(name.startswith("temporal_kernel") for name in self.hyperpriors or ())
        return self.temporal_kernel is None and not named

    def _suited_to(self, start, initial):
        """Return a covariance of default kernels, with a rough part in time if theta has one."""
        if start is None or len(start) == len(initial.bounds) or not self._may_be_rough:
            return initial
        return with_rough_part(initial)

    def _seconds_to_search(self, rows):
        """Return the estimated duration of a search on one core; 0 if it is short or unknown."""
        return 0.0

    def _likelier_level(self, gp):
        """Return the level of a likelier model of the rows of a GP, see `advise_on_level`."""
        return None, False, 0.0

    def _can_learn_from(self, rows):
        """Return True if hyperparameters are learnt from rows: not from a centred constant y."""
        return self.optimizer is not None and not (self.normalize_y and rows.is_constant)

    @property
    def _search_options(self):
        """Arguments of `search`."""
        return {
            "optimizer": self.optimizer,
            "n_restarts": self.n_restarts_optimizer,
            "hyperpriors": self.hyperpriors,
            "random_state": self.random_state,
        }

    def _condition(self, covariance, rows):
        """Return a GP conditioned on rows, with known hyperparameters."""
        kind, *basis = self._choose_conditioning(covariance, rows)
        return kind.of(covariance, rows, *basis)

    def _condition_again(self, covariance, rows, standardize):
        """Return the same as `_condition`, with the weights of robust regression."""
        gp = self._condition(covariance, rows)
        if not self.robust:
            return gp
        rows = reweighted(gp).rows
        return gp._recomputed(rows.with_weights(rows.weights, standardize))

    def _adapt_to_rows(self, gp, n_new):
        """Return the best form of a GP whose rows have changed, the last ``n_new`` new."""
        return gp

    # --- attributes, posterior, relevancies -------------------------------------------------------

    @abstractmethod
    def _exact(self):
        """Return the exact posterior in any form."""

    @property
    def _fitted(self):
        """Conditioned GP; raises NotFittedError before `fit`."""
        gp = self.__dict__.get("_gp")
        if gp is None:
            check_is_fitted(self)
        return gp

    def __sklearn_is_fitted__(self):
        return hasattr(self, "_gp")

    @overload
    def predict_terms(self, X: ArrayLike, return_std: Literal[False] = False) -> Array: ...
    @overload
    def predict_terms(self, X: ArrayLike, return_std: bool = False) -> tuple[Array, Array]: ...
    def predict_terms(self, X: ArrayLike, return_std: bool = False) -> Array | tuple[Array, Array]:
        """Return the posterior of each term of f, such as trend and seasons.

        f is the sum of the mean, of a term for each summand of ``temporal_kernel_``, times the
        spatial kernel, and of one for each summand of ``level_kernel_``. Products of sums are
        multiplied out. The last term is the sum over the columns of a `LinearMean`, if any. The
        default kernel in time has a smooth term and, where that is likelier, a rough one.

        Parameters
        ----------
        X : array-like of shape (m, d + 1)
        return_std : bool, default=False
            Also return the standard deviations.

        Returns
        -------
        means : ndarray of shape (m, n_terms)
            In the order of the summands. Their sum plus ``mean_`` is the mean of `predict`. A
            season has a slow level of its own, its average over a period.
        stds : ndarray of shape (m, n_terms)
            Only with ``return_std``. Terms are correlated: their variances do not add up to that of
            `predict`.

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn.gaussian_process.kernels import Matern
        >>> from sktvbo import TimeVaryingGPRegressor
        >>> from sktvbo.kernels import with_seasons
        >>> hours = np.arange(96.0)[:, np.newaxis]
        >>> y = 0.1 * hours[:, 0] + np.sin(2.0 * np.pi * hours[:, 0] / 24.0)
        >>> kernel = with_seasons(Matern(48.0, nu=2.5), 24.0)
        >>> gp = TimeVaryingGPRegressor(None, kernel, normalize_y=True).fit(hours, y)
        >>> trend, day = gp.predict_terms([[54.0], [66.0]]).T      # highest and lowest of a day
        >>> day.round(1)
        array([ 1., -1.])
        """
        check_bool(return_std, "return_std")
        gp, (S, t, F) = self._places(X)
        terms = gp.terms() if F is None else [*gp.terms(), TrendTerm(gp)]
        moments = np.empty((2, len(t), len(terms)))
        for first in range(0, len(t), _BLOCK):
            block = slice(first, first + _BLOCK)
            for i, term in enumerate(terms):
                features = None if F is None else F[block]
                parts = term.posterior(S[block], t[block], return_std, F=features)
                moments[: 1 + return_std, block, i] = parts
        moments = finite_posterior(tuple(moments[: 1 + return_std]), "mean", "uncertainty")
        return moments if return_std else moments[0]

    def predict_quantiles(
        self, X: ArrayLike, quantiles: ArrayLike, *, include_noise: bool = True
    ) -> Array:
        """Return quantiles of new observations, or of f.

        Parameters
        ----------
        X : array-like of shape (m, d + 1)
        quantiles : array-like of shape (k,)
            Probabilities of lower values, in (0, 1).
        include_noise : bool, default=True
            Quantiles of observations, as in `predict`, rather than of f.

        Returns
        -------
        values : ndarray of shape (m, k)

        Notes
        -----
        Up to 199 rows the quantiles allow for the uncertainty of the learnt hyperparameters, and of
        the mean with ``normalize_y``: they are quantiles of a mixture of posteriors with other
        hyperparameters, weighted by their posterior density. Their prior density is uniform in the
        logarithms within the bounds, times ``hyperpriors``. The median may differ from the mean of
        `predict`, whose standard deviation treats the hyperparameters as known. This takes about a
        hundred times as long as `predict`. From 200 rows on, without an ``optimizer`` and before a
        search the quantiles are those of the posterior of `predict`.
        """
        shares = real_array(quantiles, "quantiles")
        if shares.ndim != 1 or not np.all((shares > 0.0) & (shares < 1.0)):
            raise invalid("quantiles", "an array of shape (k,) in the range (0, 1)", quantiles)
        check_bool(include_noise, "include_noise")
        if self._knows_hyperparameters():
            mean, std = self.predict(X, return_std=True, include_noise=include_noise)
            return mean[:, np.newaxis] + norm.ppf(shares) * std[:, np.newaxis]
        gp, (S, t, F) = self._places(X)
        with np.errstate(over="ignore"):
            mixture = predictive(gp, self._search_record, self.hyperpriors, self.normalize_y)
            values = mixture.quantiles(S, t, shares, include_noise, F)
        return finite_posterior((values.T,), "quantiles")[0]

    def _knows_hyperparameters(self):
        """Return True if the hyperparameters are held, or learnt from many rows."""
        gp, n_searched = self._fitted, self._search_record.n
        held = self.optimizer is None or not n_searched or not len(gp.covariance.theta)
        return held or gp.rows.n >= N_KNOWN

    def _places(self, X):
        return self._fitted, self._gp.rows.layout.places(validated(self, X))

    def sample_y(self, X: ArrayLike, n_samples: int = 1, random_state: RandomState = 0) -> Array:
        """Draw samples of f from the posterior.

        Parameters
        ----------
        X : array-like of shape (m, d + 1)
        n_samples : int, default=1
        random_state : int, RandomState, Generator or None, default=0

        Returns
        -------
        samples : ndarray of shape (m, n_samples)
        """
        rng, n_samples = check_random_state(random_state), check_int(n_samples, "n_samples")
        gp, (S, t, F) = self._places(X)
        Z = rng.standard_normal((n_samples, len(t)))
        return finite_posterior(gp.draws(S, t, Z, F), "draws").T

    @overload
    def log_marginal_likelihood(
        self, theta: ArrayLike | None = None, eval_gradient: Literal[False] = False
    ) -> float: ...
    @overload
    def log_marginal_likelihood(
        self, theta: ArrayLike | None = None, eval_gradient: bool = False
    ) -> tuple[float, Array]: ...
    def log_marginal_likelihood(
        self, theta: ArrayLike | None = None, eval_gradient: bool = False
    ) -> float | tuple[float, Array]:
        """Return the log marginal likelihood of the (standardized) training data.

        Parameters
        ----------
        theta : array-like of shape (n_theta,), default=None
            Logarithms of the hyperparameters, in the order of ``theta_``; None is ``theta_``.
        eval_gradient : bool, default=False
            Also return the gradient in theta.

        Returns
        -------
        value : float
        gradient : ndarray of shape (n_theta,)
            Only with ``eval_gradient``.

        Notes
        -----
        The value is that of the exact model, also if the estimator approximates it: O(n³), with the
        Kalman solver O(n).
        """
        if theta is None and not eval_gradient:
            return self.log_marginal_likelihood_value_
        gp = self._exact()
        covariance = gp.covariance if theta is None else gp.covariance.with_theta(theta)
        value, gradient = gp.log_likelihood(covariance, eval_gradient)
        return (value, gradient) if eval_gradient else value

    @property
    def log_marginal_likelihood_value_(self) -> float:
        return self._exact().objective

    def relevancy(self, now: Time | None = None) -> Array:
        """Return the relevancy of each training row to predictions from ``now`` on (W-DBO eq. 12).

        Parameters
        ----------
        now : float or date, default=None
            Present time; None is the latest training time.

        Returns
        -------
        relevancy : ndarray of shape (n,)
            2-Wasserstein distance between the posteriors with and without the row, over that
            between posterior and prior. See `sktvbo.relevancy.wasserstein_relevancy`.
        """
        fitted = self.fitted_
        now = None if now is None else finite_number(self._number_of(now, "now"), "now")
        return fitted.relevancy_sweep(now).relevancy()

    def _number_of(self, time, name):
        """Return a time as a number in the user's unit; dates are of the kind given to `fit`."""
        if type(time) is float:
            return time
        kind, number = read_time(time, self._fitted_unit, name)
        known = self._fitted_kind
        if kind not in (NUMBERS, known):
            raise mixed_kinds(name, known, kind, "in the data of fit")
        return number


def _reduced(fitted, size):
    """Return a fitted value with at most ``size`` rows: the most relevant, or else the latest.

    For a filter, or for more than 2 ``size`` rows, the latest: this bounds time and memory. The
    information of the others about the static part stays.
    """
    gp = fitted.gp
    n_oldest = gp.rows.n - (2 * size if isinstance(gp, Dense) else size)
    if n_oldest > 0:
        fitted = fitted.summarized(np.argsort(gp.rows.t, kind="stable")[:n_oldest])
    return fitted.summarized(rows_beyond(size, fitted, fitted.now_, fitted.gp.rows.t))


def as_fitted(surrogate):
    """Return the form of a surrogate that an optimizer holds: ``fitted_`` of these regressors."""
    return surrogate.fitted_ if isinstance(surrogate, TimeVaryingGP) else surrogate


def length_scale_in_time(surrogate):
    """Return the lengthscale l_T of a surrogate's temporal kernel, in units of time.

    A fitted value of these regressors computes it once for its hyperparameters; a custom surrogate
    has its ``temporal_kernel_`` recognized at each call.
    """
    if isinstance(surrogate, FittedGP):
        return surrogate.gp.covariance.temporal_length_scale
    return temporal_length_scale(surrogate.temporal_kernel_)


def as_estimator(surrogate):
    """Return a copy, for users, of a surrogate that an optimizer holds, or of None."""
    if not isinstance(surrogate, FittedGP):
        return copy.deepcopy(surrogate)
    estimator = surrogate.regressor()
    vars(estimator).update(copy.deepcopy(estimator.get_params(deep=False)))
    return estimator


def without_advice(estimator):
    """Return the estimator; if it is one of these regressors, its `fit` gives no more advice.

    The advice is for users. A clone gives it again.
    """
    if isinstance(estimator, TimeVaryingGP):
        estimator._advises = False
    return estimator
