"""The fitted model, an immutable value that optimizers hold and estimators show."""

from __future__ import annotations

import copy
from abc import abstractmethod
from dataclasses import dataclass, field, replace
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, overload

import numpy as np

from .._validation import (
    LARGEST_X,
    check_bool,
    check_real,
    check_rows,
    finite_array,
    finite_number,
    invalid,
    known_variance,
)
from .._values import read_only, replaced
from ._conditioned import Conditioned, TimeSlice, TimeWindow
from ._dates import columns_like_fit, finite_posterior, numeric_durations
from ._exact_posterior import Dense
from ._hyperparameters import SearchRecord
from ._kernel_families import rescaled
from ._outliers import appended
from ._prior_mean import QuadraticMean
from ._quasi_newton import completed
from ._static_part import StaticPart, information_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, Literal, Self

    from numpy.typing import ArrayLike
    from sklearn.gaussian_process.kernels import Kernel

    from .._typing import Array, Indices, Mask, Posterior, Time
    from ._covariance import SeparableCovariance
    from ._linear_mean import LinearMean
    from ._noise import NoiseModel
    from ._relevancy import RelevancySweep


# Fraction of the information about a static part that stays when a row is removed, and the largest
# number of its columns: its size is their number squared.
_STAYS, _MOST_COLUMNS = 0.998, 20


class Learnt:
    """Attributes and methods of a fitted model, of a regressor and of its value `FittedGP` alike.

    `TimeVaryingGPRegressor` documents the attributes.
    """

    optimizer: Any
    prior_mean: Any

    @property
    @abstractmethod
    def _fitted(self) -> Conditioned:
        """The conditioned GP."""

    # --- methods that a regressor overrides: it validates, and wraps the value --------------------

    @property
    @abstractmethod
    def fitted_(self) -> FittedGP:
        """The value, with the present parameters."""

    def _with(self, fitted: Any) -> Any:
        """Return the same kind of model with another value."""
        return fitted

    def _validated(self, X, y):
        """Return X (m, d + 1) and y (m,) of further rows."""
        return X, y

    def _places(self, X):
        """Return the conditioned GP, and space, times and features of X (m, d + 1)."""
        gp = self._fitted
        return gp, gp.rows.layout.places(np.asarray(X, dtype=np.float64))

    def _number_of(self, time, name):
        """Return a time as a number in the user's unit."""
        return time

    # --- attributes -------------------------------------------------------------------------------

    @property
    def X_train_(self) -> Array:
        return read_only(self._fitted.rows.X)

    @property
    def y_train_(self) -> Array:
        return read_only(self._fitted.rows.y)

    @property
    def now_(self) -> float:
        return self._fitted.rows.now

    @property
    def time_column_(self) -> int:
        return self._fitted.rows.layout.position

    @property
    def prior_mean_(self) -> QuadraticMean | LinearMean | None:
        """Prior mean that is used, None if the fit is likelier without."""
        rows = self._fitted.rows
        is_used = rows.prior_mean is not None or rows.layout.trend is not None
        return copy.deepcopy(self.prior_mean) if is_used else None

    @property
    def signal_variance_(self) -> float:
        return self._fitted.covariance.signal_variance

    @property
    def noise_variance_(self) -> float:
        return self._fitted.covariance.noise_variance

    @property
    def noise_model_(self) -> NoiseModel | None:
        return copy.deepcopy(self._fitted.covariance.noise_model)

    @property
    def mean_(self) -> float:
        gp, value = self._fitted, self._fitted.mean.value
        if gp.rows.layout.trend is not None:
            value = (gp.rows.layout.trend.from_zero @ gp.mean.vector)[0]
        return float(gp.rows.location + gp.rows.scale * value)

    @property
    def coef_(self) -> Array:
        trend = self._trend("coef_")
        return self._fitted.rows.scale * (trend.from_zero @ self._fitted.mean.vector)[1:]

    @property
    def coef_std_(self) -> Array:
        root = (self._trend("coef_std_").from_zero @ self._fitted.mean.root)[1:]
        return self._fitted.rows.scale * np.sqrt(np.einsum("ij,ij->i", root, root))

    def _trend(self, name):
        trend = self._fitted.rows.layout.trend
        if trend is None:
            raise AttributeError(f"{name} needs prior_mean=LinearMean(...).")
        return trend

    @property
    def noise_std_(self) -> float:
        gp = self._fitted
        return float(np.sqrt(gp.covariance.noise_variance) * gp.rows.scale)

    @property
    def spatial_kernel_(self) -> Kernel:
        return copy.deepcopy(self._fitted.covariance.spatial)

    @property
    def temporal_kernel_(self) -> Kernel:
        return copy.deepcopy(self._fitted.covariance.temporal)

    @property
    def level_kernel_(self) -> Kernel | None:
        return copy.deepcopy(self._fitted.covariance.level)

    @property
    def outlier_weights_(self) -> Array:
        weights = self._fitted.rows.weights
        if weights is None:
            raise AttributeError("outlier_weights_ needs robust=True.")
        return weights.copy()

    @property
    def theta_(self) -> Array:
        return self._fitted.covariance.theta.copy()

    # --- rows and time ----------------------------------------------------------------------------

    def condition_on(
        self,
        X: ArrayLike,
        y: ArrayLike,
        y_variance: ArrayLike | None = None,
        *,
        total_variance: bool = False,
        restandardize: bool | None = None,
    ) -> Self:
        """Return an estimator with additional rows, with the hyperparameters held, O(n²) a row.

        Parameters
        ----------
        X : array-like of shape (m, d + 1)
        y : array-like of shape (m,)
        y_variance : array-like of shape (m,), default=None
            See `fit`.
        total_variance : bool, default=False
            ``y_variance`` is the total noise variance of these rows, without ``noise_variance``.
        restandardize : bool, default=None
            With ``normalize_y``: True standardizes y by all rows, False keeps location and scale,
            None follows `partial_fit`.

        Returns
        -------
        estimator : TimeVaryingGP

        Raises
        ------
        ValueError
            Arrays of wrong shapes, or not finite; names or kinds of columns other than at `fit`.
        """
        if total_variance and y_variance is None:
            raise invalid("y_variance", "given with total_variance=True", y_variance)
        fitted, (X, y) = self.fitted_, self._validated(X, y)
        rows, model = _rows(X, y, y_variance), fitted.model
        rows[-1][:] = total_variance
        standardize = model._standardize(restandardize)
        if fitted.gp.rows.weights is not None:
            gp = appended(fitted.gp, rows, standardize)
        else:
            gp = fitted.gp.append(*rows, standardize=standardize)
        return self._with(replaced(fitted, gp=model._adapt_to_rows(gp, len(rows[1]))))

    def without(self, indices: ArrayLike, *, restandardize: bool | None = None) -> Self:
        """Return an estimator without some rows, with the hyperparameters held, O(n²) a row.

        Parameters
        ----------
        indices : array-like of int, or bool mask of shape (n,)
            Rows of ``X_train_``; at least one row must remain.
        restandardize : bool, default=None
            See `condition_on`.

        Returns
        -------
        estimator : TimeVaryingGP

        Raises
        ------
        ValueError
            As `TimeVaryingGPRegressor.forget`.
        """
        fitted = self.fitted_
        n, model = fitted.gp.rows.n, fitted.model
        indices = check_rows(indices, n, "indices")
        if len(indices) == n:
            raise invalid("The rows to drop", f"fewer than all {n}", got="all of them")
        if not len(indices) and restandardize is None:
            return self
        rows = fitted.gp.rows
        if rows.layout.trend is not None:
            model._check_trend(rows.layout, np.delete(rows.X, indices, axis=0))
        gp = fitted.gp.drop(indices, standardize=model._standardize(restandardize))
        return self._with(replaced(fitted, gp=model._adapt_to_rows(gp, 0)))

    def at(self, now: Time) -> Self:
        """Return this estimator at a later present time, at which its observations have aged.

        Parameters
        ----------
        now : float or date
            Times before ``now_`` change nothing.

        Returns
        -------
        estimator : TimeVaryingGP
            Itself if nothing changes.

        Raises
        ------
        NotFittedError
            Before `fit`.
        ValueError
            A time that is not finite.
        """
        fitted, now = self.fitted_, check_real(self._number_of(now, "now"), "now")
        if fitted.gp.covariance.noise_model is None or now <= fitted.gp.rows.now:
            return self
        return self._with(replaced(fitted, gp=fitted.gp.at(now)))

    # --- hyperparameters --------------------------------------------------------------------------

    def refit(
        self,
        extra_rows: tuple[Array, ...] | None = None,
        *,
        temporal_kernel: Kernel | None = None,
    ) -> Self:
        """Return an estimator with the same rows whose hyperparameters are searched again.

        The search starts from ``theta_``, or from the kernels as given if ``temporal_kernel`` has
        another number of free hyperparameters. When as many rows are new as there were, or they
        contradict the model, others are compared as in `fit`. Without an ``optimizer`` nothing
        changes. With ``normalize_y`` y is standardized by the rows of the search.

        Parameters
        ----------
        extra_rows : (X, y) or (X, y, y_variance) of array-likes, default=None
            Additional rows for the search, which are not conditioned on; may be empty.
        temporal_kernel : Kernel, default=None
            Replaces the parameter of that name.

        Returns
        -------
        estimator : TimeVaryingGP

        Raises
        ------
        ValueError
            As `condition_on`; or an invalid kernel.
        """
        fitted = self.fitted_
        if self.optimizer is None:
            return self
        if extra_rows is not None and np.size(extra_rows[0]):
            X, y, *variance = extra_rows
            extra_rows = *self._validated(X, y), *variance
        return self._with(completed(fitted.refitted(extra_rows, temporal_kernel)))

    # --- posterior --------------------------------------------------------------------------------

    @overload
    def predict(
        self,
        X: ArrayLike,
        return_std: Literal[False] = False,
        return_cov: Literal[False] = False,
        *,
        include_noise: bool = False,
    ) -> Array: ...
    @overload
    def predict(
        self,
        X: ArrayLike,
        return_std: bool = False,
        return_cov: bool = False,
        *,
        include_noise: bool = False,
    ) -> tuple[Array, Array]: ...
    def predict(
        self,
        X: ArrayLike,
        return_std: bool = False,
        return_cov: bool = False,
        *,
        include_noise: bool = False,
    ) -> Array | tuple[Array, Array]:
        """Return the posterior of f, or of new observations.

        Parameters
        ----------
        X : array-like of shape (m, d + 1)
        return_std, return_cov : bool, default=False
            Also return the standard deviations, or the covariance; not both.
        include_noise : bool, default=False
            Predict observations of age 0, with noise ``noise_std_``, rather than f. The mean is the
            same.

        Returns
        -------
        mean : ndarray of shape (m,)
        std : ndarray of shape (m,)
            Only with ``return_std``.
        cov : ndarray of shape (m, m)
            Only with ``return_cov``.
        """
        if return_std and return_cov:
            raise invalid("return_cov", "False with return_std=True", return_cov)
        check_bool(include_noise, "include_noise")
        gp, (S, t, F) = self._places(X)
        with np.errstate(over="ignore"):
            parts = gp.posterior(S, t, return_std, return_cov, F)
            posterior = finite_posterior(parts, "mean", "uncertainty")
        if include_noise and return_std:
            return posterior[0], np.hypot(posterior[1], self.noise_std_)
        if include_noise and return_cov:
            posterior[1][np.diag_indices(len(t))] += self.noise_std_**2
        return posterior

    def posterior_at(self, t: Time, moving: Mask | None = None, *, level: bool = True) -> Posterior:
        """Return the posterior at one time as a function of space, for many evaluations.

        Parameters
        ----------
        t : float or date
        moving : array-like of bool of shape (d,), default=None
            Coordinates whose gradients are needed; None: all. Gradients in others, such as an arm's
            index, may be 0.
        level : bool, default=True
            False: standard deviations and draws are those of differences between inputs, without
            the level and the mean, which all inputs share. Means are those of f.

        Returns
        -------
        posterior : callable
            ``posterior(S)`` returns mean and standard deviation (m,) at inputs (m, d);
            ``posterior.with_gradient(s)`` both at one input (d,), and their gradients (d,);
            ``posterior.sample(S, rng)`` a joint draw of f (m,).
        """
        fitted, t = self.fitted_, finite_number(self._number_of(t, "t"), "t")
        without = (fitted.model._time_position,)
        read = partial(columns_like_fit, fitted.model, name="inputs", without=without)
        return TimeSlice(fitted.gp, t, moving, level, read)

    def information_gain(self) -> float:
        """Return the information of the training data about f, in nats.

        Returns
        -------
        gain : float
            ½ log det(I + Σ⁻¹ K) (SparQ eq. 26), with K as the estimator approximates it.
        """
        return self._fitted.information_gain


@dataclass(frozen=True, eq=False)
class FittedGP(Learnt):
    """Gaussian process with learnt hyperparameters, conditioned on rows: an immutable value.

    It is a `sktvbo.staleness.Surrogate`, with the attributes of a fitted regressor. Arrays are
    taken as they are; times are numbers. Methods that change something return another value.

    Attributes
    ----------
    model : TimeVaryingGP
        Unfitted regressor with the parameters; never changed.
    gp : Conditioned
    record : SearchRecord
        Record of the latest search of the hyperparameters, for the next one.
    initial : SeparableCovariance or None
        Covariance of the model's kernels as given, which a search begins with. None until the first
        one.
    """

    model: Any
    gp: Conditioned
    record: SearchRecord = field(default_factory=SearchRecord)
    initial: SeparableCovariance | None = field(default=None, repr=False)

    def __getstate__(self):
        return {name: value for name, value in vars(self).items() if name != "initial"}

    _fitted = property(attrgetter("gp"))

    @property
    def fitted_(self) -> Self:
        return self

    # Parameters of the model.
    optimizer = property(attrgetter("model.optimizer"))
    prior_mean = property(attrgetter("model.prior_mean"))
    level_kernel = property(attrgetter("model.level_kernel"))

    def regressor(self) -> Any:
        """Return the fitted regressor.

        Returns
        -------
        estimator : TimeVaryingGP
        """
        return self.model._with(self)

    # --- rows and time ----------------------------------------------------------------------------

    def with_rows(
        self,
        X: ArrayLike,
        y: ArrayLike,
        y_variance: ArrayLike | None = None,
        *,
        restandardize: bool | None = None,
    ) -> Self:
        """Return the model conditioned on other rows, with the hyperparameters held.

        The present time is the latest of their times. Parameters are those of
        `TimeVaryingGPRegressor.condition_on`.
        """
        standardize = self.model._standardize(restandardize)
        rows = _rows(X, y, y_variance)
        rows = self.model._make_rows(*rows, like=self.gp.rows, standardize=standardize)
        gp = self.model._condition_again(self.gp.covariance, rows, standardize)
        return replaced(self, gp=gp)

    def summarized(self, indices: Indices, *, restandardize: bool | None = None) -> Self:
        """Return the model without some rows, whose information about the static part stays.

        Without a ``prior_mean`` with a ``spread``, or with a Kalman filter: the same as `without`.
        """
        gp, mean = self.gp, self.model.prior_mean
        is_static = isinstance(mean, QuadraticMean) and mean.spread
        columns = mean.columns_of(gp.rows.S.shape[1]) if is_static else ()
        if type(gp) is not Dense or not 0 < len(columns) <= _MOST_COLUMNS:
            return self.without(indices, restandardize=restandardize)
        indices = check_rows(indices, gp.rows.n, "indices")
        static = gp.rows.static or StaticPart.empty(columns, mean.spread)
        known = information_of(gp, indices, static)
        static = static.faded(_STAYS ** len(indices)).plus(*known)
        gp = replaced(gp, rows=gp.rows.with_static(static))
        return replaced(self, gp=gp).without(indices, restandardize=restandardize)

    def unsummarized(self, indices: Indices) -> Self:
        """Return the model without the information of restored rows in its static part."""
        gp, static = self.gp, self.gp.rows.static
        if static is None:
            return self
        return self.with_static(static.minus(*information_of(gp, indices, static)))

    def with_static(self, static: StaticPart | None) -> Self:
        """Return the model with another static part, such as that of an earlier state."""
        return replaced(self, gp=self.gp._recomputed(self.gp.rows.with_static(static)))

    def rescaled(
        self,
        X: ArrayLike,
        scales: ArrayLike,
        typical: float,
        groups: Sequence[int],
        **parameters: Any,
    ) -> Self:
        """Return the model of the same observations after a linear change of the inputs.

        Lengthscales follow. Other hyperparameters, and their bounds, are held; a prior mean is that
        for the new inputs.

        Parameters
        ----------
        X : array-like of shape (n, d + 1)
            The rows of ``X_train_`` after the change, time last.
        scales : array-like of shape (d,)
            Factors of distances in each column.
        typical : float
            Factor of a lengthscale that all columns share.
        groups : sequence of int
            First column of each parameter.
        **parameters
            Parameters of the model for the new inputs, such as ``sites``; its spatial kernel is
            rescaled if it is not among them.

        Raises
        ------
        ValueError
            The kernel has another number of lengthscales.
        """
        gp, model = self.gp, copy.copy(self.model)
        X = finite_array(X, "X", (gp.rows.n, "d + 1"), largest=LARGEST_X)
        vars(model).update(parameters, n_features_in_=X.shape[1], _time_position=len(scales))
        if model.spatial_kernel is not None and "spatial_kernel" not in parameters:
            model.spatial_kernel = rescaled(model.spatial_kernel, scales, typical, groups)
        spatial = rescaled(gp.covariance.spatial, scales, typical, groups)
        kernels = spatial, gp.covariance.temporal, len(scales), gp.covariance.level
        covariance = gp.covariance.with_kernels(*kernels)
        before, rows = gp.rows, gp.rows.with_places(X)
        if before.static is not None:
            columns = model.prior_mean.columns_of(len(scales))
            factors = np.asarray(scales)[columns]
            offsets = rows.S[0, columns] - factors * before.S[0, before.static.columns]
            rows = rows.with_static(before.static.moved(columns, factors, offsets))
        if rows.prior_mean is not None:
            rows = rows.with_prior_mean(model.prior_mean.polynomial(len(scales)))
        gp = model._condition(covariance, rows)
        return replace(self, model=model, gp=gp, initial=None)

    # --- hyperparameters --------------------------------------------------------------------------

    def refitted(self, extra_rows=None, temporal_kernel=None):
        """Return the value after `refit`: a computation in parts, see `completed`."""
        model, initial, n = self.model, self.initial, self.gp.rows.n
        if model.optimizer is None:
            return self
        if temporal_kernel is not None:
            model = copy.copy(model)
            model.temporal_kernel = temporal_kernel
            model._check_kernel("temporal_kernel")
            temporal = numeric_durations(temporal_kernel, model._fitted_unit, model._fitted_kind)
            initial = initial and initial.with_temporal(temporal)
        rows = self._rows_to_search(model, extra_rows)
        if initial is None or model._follows_data:
            initial = model._initial_covariance(rows, follow_data=True)  # for other rows
        start, record = self.gp.covariance.theta, self.record
        initial = model._suited_to(start, initial)
        if len(start) != len(initial.bounds):
            start, record = None, None  # theta has other entries
        options = {"n_known": 0 if self.gp.rows.weights is None else n, "initial": initial}
        gp, record = yield from model._learn(rows, start, record, **options)
        if rows.n > n:
            gp = yield partial(gp.drop, np.arange(n, rows.n), standardize=False)
        return replace(self, model=model, gp=gp, record=record, initial=initial)

    def _rows_to_search(self, model, extra_rows):
        """Return the rows and further ones, standardized by all of them."""
        rows, n_extra, known = self.gp.rows, 0, None
        arrays = rows.X, rows.y, rows.variance, rows.total
        if extra_rows is not None and np.size(extra_rows[0]):
            extra = _rows(*extra_rows)
            arrays, n_extra = map(np.concatenate, zip(arrays, extra)), len(extra[1])
        if rows.weights is not None:
            weights = np.append(rows.weights, np.ones(n_extra))
            known = weights, np.append(rows.scores, np.zeros(n_extra))
        mean = rows.prior_mean and model.prior_mean.polynomial(rows.S.shape[1])
        searched = model._make_rows(*arrays, known=known).with_prior_mean(mean)
        searched = searched.with_static(rows.static)
        if model.normalize_y and searched.is_constant:
            searched = searched.with_scale_of(rows)
        return searched.at(max(searched.now, rows.now))

    def search_gain(self) -> float:
        """Return the gain that a hyperparameter search with the present rows predicts.

        Returns
        -------
        gain : float
            In nats of the log likelihood, or posterior density with ``hyperpriors``: maximum,
            within the bounds, of the quadratic model by gradient and the last search's Hessian.
            0 if there is nothing to search. Infinite without a Hessian: before a search, with a
            callable ``optimizer``, or if the number of rows has changed by more than a tenth.

        Notes
        -----
        O(n²) in the exact model, except the first time after a search.
        """
        if self.model.optimizer is None:
            return 0.0
        return self.record.predicted_gain(self.gp, self.model.hyperpriors)

    # --- posterior --------------------------------------------------------------------------------

    def posterior_between(self, low: float, high: float, moving: Mask | None = None) -> Posterior:
        """Return the posterior as a function of space and of time in an interval.

        Parameters
        ----------
        low, high : float
        moving : array-like of bool of shape (d,), default=None
            See `posterior_at`.

        Returns
        -------
        posterior : callable
            As from `posterior_at`, for inputs with time as the last coordinate: 0 at ``low``, 1 at
            ``high``.
        """
        return TimeWindow(self.gp, low, high, moving)

    def check_relevancy(self) -> None:
        """Raise an UnsupportedKernelError unless these kernels have relevancies."""
        _ = self.gp.covariance.stationary_factors  # recognizes the kernels, or raises

    def relevancy_sweep(self, now: float | None = None) -> RelevancySweep:
        """Return relevancies that are updated while rows are removed, O(n²) each.

        Parameters
        ----------
        now : float, default=None
            Present time; None is the latest training time.

        Returns
        -------
        sweep : sktvbo.relevancy.RelevancySweep
            Relevancies in the exact model; removals from it do not change this model.
        """
        return self.gp.relevancy_sweep(self.gp.rows.latest if now is None else now)


def _rows(X, y, y_variance=None):
    """Return X (m, d + 1), y, variance and mask (m,) of rows."""
    X = np.ascontiguousarray(X, dtype=np.float64)
    y = np.ascontiguousarray(y, dtype=np.float64)
    return X, y, *known_variance(y_variance, len(X))
