"""The fitted model, an immutable value: what optimizers hold, and what an estimator shows."""

from __future__ import annotations

import copy
from abc import abstractmethod
from dataclasses import dataclass, field, replace
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, overload

import numpy as np

from .._validation import LARGEST_X, check_real, check_rows, finite_array, invalid, known_variance
from .._values import read_only, replaced
from ._conditioned import Conditioned, TimeSlice, TimeWindow
from ._dates import columns_like_fit, finite_posterior, numeric_durations
from ._hyperparameters import SearchRecord
from ._kernel_families import rescaled
from ._outliers import appended
from ._quasi_newton import completed

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, Literal, Self

    from numpy.typing import ArrayLike
    from sklearn.gaussian_process.kernels import Kernel

    from .._typing import Array, Mask, Posterior
    from ._covariance import SeparableCovariance
    from ._noise import NoiseModel
    from ._prior_mean import QuadraticMean
    from ._relevancy import RelevancySweep


class Learnt:
    """Attributes of a fitted model; `TimeVaryingGPRegressor` documents them."""

    @property
    @abstractmethod
    def _fitted(self) -> Conditioned:
        """The conditioned GP."""

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
    def prior_mean_(self) -> QuadraticMean | None:
        """Prior mean that is used, None if the fit is likelier without."""
        return None if self._fitted.rows.prior_mean is None else copy.deepcopy(self.prior_mean)

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
        gp = self._fitted
        return float(gp.rows.location + gp.rows.scale * gp.mean.value)

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


@dataclass(frozen=True, eq=False)
class FittedGP(Learnt):
    """Gaussian process with learnt hyperparameters, conditioned on rows: an immutable value.

    It has all methods of a `sktvbo.staleness.Surrogate`, and the attributes of a fitted regressor.
    Arrays are taken as they are; times are numbers. Methods that change something return another
    value.

    Attributes
    ----------
    model : TimeVaryingGP
        Unfitted regressor with the parameters; never changed.
    gp : Conditioned
    record : SearchRecord
        Of the latest search of the hyperparameters, for the next one.
    initial : SeparableCovariance or None
        Covariance of the model's kernels as given, of which a search gets other bounds. None until
        the first one.
    """

    model: Any
    gp: Conditioned
    record: SearchRecord = field(default_factory=SearchRecord)
    initial: SeparableCovariance | None = field(default=None, repr=False)

    def __getstate__(self):
        return {name: value for name, value in vars(self).items() if name != "initial"}

    _fitted = property(attrgetter("gp"))

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

    def condition_on(
        self,
        X: ArrayLike,
        y: ArrayLike,
        y_variance: ArrayLike | None = None,
        *,
        total_variance: bool = False,
        restandardize: bool | None = None,
    ) -> Self:
        """Return the model with additional rows; see `TimeVaryingGPRegressor.condition_on`."""
        if total_variance and y_variance is None:
            raise invalid("y_variance", "given with total_variance=True", y_variance)
        rows = _rows(X, y, y_variance)
        rows[-1][:] = total_variance
        standardize = self.model._standardize(restandardize)
        if self.gp.rows.weights is not None:
            gp = appended(self.gp, rows, standardize)
        else:
            gp = self.gp.append(*rows, standardize=standardize)
        return replaced(self, gp=self.model._adapt_to_rows(gp, len(rows[1])))

    def without(self, indices: ArrayLike, *, restandardize: bool | None = None) -> Self:
        """Return the model without some rows; see `TimeVaryingGPRegressor.without`."""
        n = self.gp.rows.n
        indices = check_rows(indices, n, "indices")
        if len(indices) == n:
            raise invalid("The rows to drop", f"fewer than all {n}", got="all of them")
        if not len(indices) and restandardize is None:
            return self
        gp = self.gp.drop(indices, standardize=self.model._standardize(restandardize))
        return replaced(self, gp=self.model._adapt_to_rows(gp, 0))

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

    def rescaled(
        self,
        X: ArrayLike,
        scales: ArrayLike,
        typical: float,
        groups: Sequence[int],
        **parameters: Any,
    ) -> Self:
        """Return the model of the same observations after a linear change of the places.

        Lengthscales follow. Other hyperparameters, and their bounds, are held; a prior mean is that
        of the new places.

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
            Parameters of the model for the new places, such as ``sites``; its spatial kernel is
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
        rows = gp.rows.with_places(X)
        if rows.prior_mean is not None:
            rows = rows.with_prior_mean(model.prior_mean.polynomial(len(scales)))
        gp = model._condition(covariance, rows)
        return replace(self, model=model, gp=gp, initial=None)

    def at(self, now: float) -> Self:
        """Return the model at a later present time, itself if nothing changes.

        Parameters
        ----------
        now : float
            Times before ``now_`` change nothing.
        """
        now = check_real(now, "now")
        if self.gp.covariance.noise_model is None or now <= self.gp.rows.now:
            return self
        return replaced(self, gp=self.gp.at(now))

    # --- hyperparameters --------------------------------------------------------------------------

    def refit(
        self,
        extra_rows: tuple[Array, ...] | None = None,
        *,
        temporal_kernel: Kernel | None = None,
    ) -> Self:
        """Return the model after a search of its hyperparameters; see `TimeVaryingGPRegressor`."""
        return completed(self.refitted(extra_rows, temporal_kernel))

    def refitted(self, extra_rows=None, temporal_kernel=None):
        """Return the result of `refit`: a computation in parts, see `completed`."""
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
        searched = model._make_rows(*arrays, known=known).with_prior_mean(rows.prior_mean)
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

    @overload
    def predict(self, X: ArrayLike, return_std: Literal[False] = False) -> Array: ...
    @overload
    def predict(self, X: ArrayLike, return_std: bool = False) -> tuple[Array, Array]: ...
    def predict(self, X: ArrayLike, return_std: bool = False) -> Array | tuple[Array, Array]:
        """Return the posterior mean (m,) of f at rows X (m, d + 1), or mean and deviation."""
        places = self.gp.rows.layout.split(np.asarray(X, dtype=np.float64))
        with np.errstate(over="ignore"):
            posterior = self.gp.posterior(*places, return_std)
            return finite_posterior(posterior, "mean", "uncertainty")

    def posterior_at(
        self, t: float, moving: Mask | None = None, *, level: bool = True
    ) -> Posterior:
        """Return the posterior at one time; see `TimeVaryingGPRegressor.posterior_at`."""
        read = partial(columns_like_fit, self.model, name="places", with_time=False)
        return TimeSlice(self.gp, t, moving, level, read)

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
            As from `posterior_at`, of places with time as the last coordinate: 0 at ``low``, 1 at
            ``high``.
        """
        return TimeWindow(self.gp, low, high, moving)

    def information_gain(self) -> float:
        """Return the information of the rows about f, in nats.

        Returns
        -------
        gain : float
            ½ log det(I + Σ⁻¹ K) (SparQ eq. 26), with K as the model approximates it.
        """
        return self.gp.information_gain

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
            Of the exact model; its removals do not change this one.
        """
        return self.gp.relevancy_sweep(self.gp.rows.latest if now is None else now)


def _rows(X, y, y_variance=None):
    """Return X (m, d + 1), y, variance and mask (m,) of rows."""
    X = np.ascontiguousarray(X, dtype=np.float64)
    y = np.ascontiguousarray(y, dtype=np.float64)
    return X, y, *known_variance(y_variance, len(X))
