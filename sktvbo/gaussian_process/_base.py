"""What the regressors share: parameters, fitting, and changes of what was learnt."""

from __future__ import annotations

import copy
from abc import ABCMeta, abstractmethod
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, ClassVar, overload

import numpy as np
from scipy.stats import norm
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.gaussian_process.kernels import Kernel
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from .._validation import (
    LARGEST_X,
    LARGEST_Y,
    check_bounds,
    check_choice,
    check_int,
    check_real,
    check_rows,
    finite_array,
    invalid,
    known_variance,
)
from ._advice import (
    advise_on_constant,
    advise_on_dates,
    advise_on_fit,
    advise_on_rows,
    advise_on_size,
)
from ._conditioned import Conditioned
from ._constant_mean import prior_variance
from ._covariance import SeparableCovariance
from ._dates import NUMBERS, check_time_unit, mixed_kinds, numeric_durations, read_time
from ._inputs import finite_posterior, validated
from ._noise import NoiseModel
from ._prior_mean import QuadraticMean
from ._rows import Layout, Rows, time_position
from ._search import Knowledge, explains_little, log_posterior, search
from ._starts import kernels_or_defaults, restarts, screened_starts
from ._views import TimeSlice, TimeWindow

if TYPE_CHECKING:
    from typing import Literal, Self

    from numpy.typing import ArrayLike
    from sklearn.gaussian_process.kernels import Kernel

    from .._typing import Array, Mask, Posterior, RandomState, Time
    from ._noise import NoiseModel
    from ._relevancy import RelevancySweep


# The constructor is made from the fields, so that a parameter and its default stand once.
estimator = dataclass(eq=False, repr=False)


@estimator
class TimeVaryingGP(RegressorMixin, BaseEstimator, metaclass=ABCMeta):
    """Base of the regressors; `TimeVaryingGPRegressor` documents the parameters.

    All that was learnt is one value, a ``Conditioned``. `condition_on`, `without`, `with_rows`,
    `refit` and `at` return a new estimator with a new value. A method that changes an estimator in
    place takes over a complete one, so that an error leaves it unchanged.
    """

    spatial_kernel: Kernel | None = None
    temporal_kernel: Kernel | None = None
    _: KW_ONLY
    signal_variance: float = 1.0
    signal_variance_bounds: tuple[float, float] | str = (1e-3, 1e3)
    noise_variance: float = 1e-2
    noise_variance_bounds: tuple[float, float] | str = (1e-6, 1e1)
    noise_model: NoiseModel | None = None
    time_column: int | str = -1
    optimizer: str | Callable | None = "fmin_l_bfgs_b"
    n_restarts_optimizer: int = 0
    hyperpriors: dict | None = None
    normalize_y: bool = False
    mean_prior_std: float = 0.0
    time_unit: str = "s"
    warn: bool = True
    random_state: int | np.random.RandomState | None = None

    # The class of ``_gp``: it says how the rows are conditioned on. A regressor that has several
    # makes "solver" a parameter, and chooses where it is "auto".
    _kind: ClassVar[type[Conditioned]]
    solver: ClassVar[str] = "only"

    # A regressor that has a prior mean makes it a parameter.
    prior_mean: ClassVar[QuadraticMean | None] = None

    # What the latest search of the hyperparameters has learnt, for the next one.
    _knowledge: ClassVar[Knowledge] = Knowledge()

    @abstractmethod
    def _choose_basis(self, covariance, rows):
        """What ``_kind.of`` and ``_kind.criterion`` take besides covariance and rows, a tuple."""

    def __repr__(self, N_CHAR_MAX=700):
        # scikit-learn's kernels print numbers only.
        new = copy.copy(self)
        new.temporal_kernel = self._numeric_temporal_kernel
        return BaseEstimator.__repr__(new, N_CHAR_MAX)

    @property
    def _numeric_temporal_kernel(self):
        """The temporal kernel as given, with numbers in place of durations."""
        return numeric_durations(self.temporal_kernel, self.time_unit)

    # --- fitting ----------------------------------------------------------------------------------

    def fit(self, X: ArrayLike, y: ArrayLike, y_variance: ArrayLike | None = None) -> Self:
        """Learn the hyperparameters and condition on the data.

        Parameters
        ----------
        X : array-like of shape (n, d + 1)
            Space and time; a single column is time alone. Columns of dates or durations, in a data
            frame, an array or a list of rows, become numbers in the ``time_unit``, and so are then
            all times and lengthscales. Later rows must have times of the same kind.
        y : array-like of shape (n,)
        y_variance : array-like of shape (n,), default=None
            Variance of each observation known beforehand, in units of y²; comes on top of
            ``noise_variance``.

        Returns
        -------
        self : TimeVaryingGP

        Raises
        ------
        ValueError
            The data or a parameter is unusable; the estimator is left as it was.

        Warns
        -----
        ModelWarning
            The model does not suit the data: y far from 0 without a mean, lengthscales far from
            the data's scale, too many rows or too few inducing points; dates without a time zone
            that go back as when daylight saving time ends.
        ConvergenceWarning
            The search of the hyperparameters was stopped, or ended at their bounds.
        """
        self._check_parameters()
        new = copy.copy(self)
        rows = new._rows(*new._validated(X, y, y_variance, reset=True))
        if self.warn:
            has_mean = self.normalize_y or self.mean_prior_std > 0.0
            advise_on_rows(rows, type(self).__name__, has_mean)
            kind = new.time_kinds_.get(rows.layout.position)
            advise_on_dates(rows, kind, self.time_unit)
            if self.optimizer is not None and not self._teaches(rows):
                advise_on_constant(rows)
        new._gp, new._knowledge = new._learn(rows, warn=self.warn)
        if self.warn:
            advise_on_fit(new._gp.covariance, rows, self._teaches(rows), self.normalize_y)
        return self._take_over(new)

    def partial_fit(self, X: ArrayLike, y: ArrayLike, y_variance: ArrayLike | None = None) -> Self:
        """Append rows with the hyperparameters held, O(n²) a row.

        On a new estimator this conditions on the data with the hyperparameters as given. With
        ``normalize_y`` the location and scale of y are held as well: after `fit`, and otherwise
        from 10 different values of y on (or 100 rows that differ).

        Parameters
        ----------
        X : array-like of shape (m, d + 1)
        y : array-like of shape (m,)
        y_variance : array-like of shape (m,), default=None
            See `fit`.

        Returns
        -------
        self : TimeVaryingGP
        """
        new = copy.copy(self)
        if self.__sklearn_is_fitted__():
            rows = new._validated(X, y, y_variance, reset=False)
            new._gp = new._suited(self._gp.append(*rows), len(X))
        else:
            self._check_parameters()
            rows = new._rows(*new._validated(X, y, y_variance, reset=True))
            covariance = self._initial_covariance(rows, follow_data=False)
            new._gp, new._knowledge = self._condition(covariance, rows), Knowledge()
        return self._take_over(new)

    def forget(self, indices: ArrayLike) -> Self:
        """Drop training rows with the hyperparameters held, O(n²) a row; see `partial_fit`.

        Parameters
        ----------
        indices : array-like of int, or bool mask of shape (n,)
            Rows of ``X_train_``; at least one row has to stay.

        Returns
        -------
        self : TimeVaryingGP
        """
        return self._take_over(self.without(indices))

    def advance(self, now: Time) -> Self:
        """Move the present time on: with a ``noise_model`` all observations age.

        Parameters
        ----------
        now : float or date
            Not before any training time.

        Returns
        -------
        self : TimeVaryingGP

        Notes
        -----
        O(n³) with a noise model, as every noise variance changes; nothing without.
        """
        latest = self._fitted.rows.latest
        now = check_real(self._number_of(now, "now"), "now")
        if now < latest:
            raise invalid("now", f"a time not before the latest training time {latest}", now)
        return self._take_over(self._with(self._gp.at(now)))

    def at(self, now: Time) -> Self:
        """Return this estimator at a later present time; see `advance`.

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
        gp = self._fitted
        now = check_real(self._number_of(now, "now"), "now")
        if self.noise_model is None or now <= gp.rows.now:
            return self
        return self._with(gp.at(now))

    def condition_on(
        self,
        X: ArrayLike,
        y: ArrayLike,
        y_variance: ArrayLike | None = None,
        *,
        total_variance: bool = False,
        restandardize: bool | None = None,
    ) -> Self:
        """Return an estimator that has more rows, with the hyperparameters held, O(n²) a row.

        Parameters
        ----------
        X : array-like of shape (m, d + 1)
        y : array-like of shape (m,)
        y_variance : array-like of shape (m,), default=None
            See `fit`.
        total_variance : bool, default=False
            ``y_variance`` is the whole noise variance of these rows, in place of
            ``noise_variance``.
        restandardize : bool, default=None
            With ``normalize_y``: True standardizes y by all rows, False keeps location and scale,
            None follows `partial_fit`.

        Returns
        -------
        estimator : TimeVaryingGP

        Raises
        ------
        ValueError
            Arrays of other shapes or not finite.
        """
        rows = self._new_rows(X, y, y_variance, total_variance)
        gp = self._fitted.append(*rows, standardize=self._standardize(restandardize))
        return self._with(self._suited(gp, len(rows[1])))

    def without(self, indices: ArrayLike, *, restandardize: bool | None = None) -> Self:
        """Return an estimator that lacks rows, with the hyperparameters held, O(n²) a row.

        Parameters
        ----------
        indices : array-like of int, or bool mask of shape (n,)
            Rows of ``X_train_``; at least one row has to stay.
        restandardize : bool, default=None
            See `condition_on`.

        Returns
        -------
        estimator : TimeVaryingGP

        Raises
        ------
        ValueError
            Indices of no rows, or of all.
        """
        n = self._fitted.rows.n
        indices = check_rows(indices, n, "indices")
        if len(indices) == n:
            raise invalid("The rows to drop", f"fewer than all {n}", got="all of them")
        if not len(indices) and restandardize is None:
            return self
        gp = self._gp.drop(indices, standardize=self._standardize(restandardize))
        return self._with(self._suited(gp, 0))

    def with_rows(
        self,
        X: ArrayLike,
        y: ArrayLike,
        y_variance: ArrayLike | None = None,
        *,
        restandardize: bool | None = None,
    ) -> Self:
        """Return an estimator conditioned on other rows, with the hyperparameters held.

        The present time is the latest of their times.

        Parameters
        ----------
        X : array-like of shape (m, d + 1)
        y : array-like of shape (m,)
        y_variance : array-like of shape (m,), default=None
            See `fit`.
        restandardize : bool, default=None
            See `condition_on`.

        Returns
        -------
        estimator : TimeVaryingGP

        Raises
        ------
        ValueError
            See `condition_on`.
        """
        rows = self._new_rows(X, y, y_variance)
        rows = self._rows(*rows, like=self._gp.rows, standardize=self._standardize(restandardize))
        return self._with(self._condition(self._gp.covariance, rows))

    def refit(
        self,
        extra_rows: tuple[Array, ...] | None = None,
        *,
        temporal_kernel: Kernel | None = None,
    ) -> Self:
        """Return an estimator with the same rows whose hyperparameters are searched again.

        The search starts from ``theta_``. Without an ``optimizer`` nothing changes. With
        ``normalize_y`` y is standardized by the rows that are learnt from.

        Parameters
        ----------
        extra_rows : (X, y) or (X, y, y_variance) of array-likes, default=None
            Rows to learn from as well, without being conditioned on them; there may be none.
        temporal_kernel : Kernel, default=None
            Replaces the parameter of that name.

        Returns
        -------
        estimator : TimeVaryingGP

        Raises
        ------
        ValueError
            Arrays of other shapes or not finite, or no kernel.
        """
        rows = self._fitted.rows
        if self.optimizer is None:
            return self
        new = copy.copy(self)
        if temporal_kernel is not None:
            new.temporal_kernel = temporal_kernel
            new._check_parameters()
        arrays, n_extra = (rows.X, rows.y, rows.variance, rows.total), 0
        if extra_rows is not None and np.size(extra_rows[0]):
            extra = self._new_rows(*extra_rows)
            arrays, n_extra = map(np.concatenate, zip(arrays, extra)), len(extra[1])
        learnt = new._rows(*arrays).with_prior_mean(rows.prior_mean)
        if self.normalize_y and learnt.is_constant:
            learnt = learnt.scaled_as(rows)
        learnt = learnt.at(max(learnt.now, rows.now))
        new._gp, new._knowledge = new._learn(learnt, self.theta_, self._knowledge)
        if n_extra:
            new._gp = new._gp.drop(rows.n + np.arange(n_extra), standardize=False)
        return new

    def _new_rows(self, X, y, y_variance=None, total_variance=False):
        """Return X (m, d + 1), y, variance and mask (m,) of rows for a fitted estimator."""
        X = finite_array(X, "X", ("m", self._fitted.rows.X.shape[1]), largest=LARGEST_X)
        y = finite_array(y, "y", (len(X),), largest=LARGEST_Y)
        if total_variance and y_variance is None:
            raise invalid("y_variance", "given with total_variance=True", y_variance)
        variance, total = known_variance(y_variance, len(X))
        total[:] = total_variance
        return X, y, variance, total

    def _standardize(self, restandardize):
        """Return the argument of that name of a conditioned GP."""
        return None if restandardize is None else self.normalize_y and restandardize

    def _with(self, gp):
        """Return this estimator around another conditioned GP."""
        new = object.__new__(type(self))
        vars(new).update(vars(self), _gp=gp)
        return new

    def _take_over(self, new):
        """Become another estimator, in one assignment."""
        self.__dict__ = new.__dict__
        return self

    def _validated(self, X, y, y_variance, *, reset):
        """Arrays of rows from what a user gave: X, y, variance and mask."""
        X, y = validated(self, X, y, reset=reset)
        return X, y, *known_variance(y_variance, len(X))

    def _rows(self, X, y, variance, total, like=None, standardize=None):
        """Rows with a time origin of their own; present time, and scale if held, as of others."""
        names = getattr(self, "feature_names_in_", ())
        position = time_position(self.time_column, X.shape[1], list(names), self)
        # A kernel that is not stationary, such as `Wiener`, is meant for the times as given.
        stationary = self.temporal_kernel is None or self.temporal_kernel.is_stationary()
        layout = Layout(position, X[0, position] if stationary else 0.0)
        options = {"standardize": self.normalize_y}
        if like is None:
            mean, n_dims = self.prior_mean, X.shape[1] - 1
            if mean is not None and not mean.only_if_likelier:
                options["prior_mean"] = mean.polynomial(n_dims)
            return Rows.of(X, y, variance, total, layout, **options)
        options["prior_mean"] = like.prior_mean
        options["standardize"] = like.standardize if standardize is None else standardize
        options |= {"location": like.location, "scale": like.scale}
        return Rows.of(X, y, variance, total, layout, **options)

    def check(self) -> None:
        """Raise a ValueError for a parameter that makes no sense, as `fit` does."""
        self._check_parameters()

    def _check_parameters(self):
        for name in ("signal_variance", "noise_variance"):
            check_real(getattr(self, name), name, self, interval="(0, inf)")
            check_bounds(getattr(self, f"{name}_bounds"), f"{name}_bounds", self)
        check_real(self.mean_prior_std, "mean_prior_std", self, interval="[0, inf]")
        kinds = {
            "spatial_kernel": (Kernel, "a scikit-learn kernel or None"),
            "temporal_kernel": (Kernel, "a scikit-learn kernel or None"),
            "noise_model": (NoiseModel, "a NoiseModel, such as QuadraticInjection(), or None"),
        }
        for name, (kind, expected) in kinds.items():
            value = getattr(self, name)
            if not (value is None or isinstance(value, kind)):
                raise invalid(name, expected, value, self)
        if self.noise_model is not None:
            self.noise_model.check()
        if not (self.optimizer in (None, "fmin_l_bfgs_b") or callable(self.optimizer)):
            expected = "'fmin_l_bfgs_b', a callable or None"
            raise invalid("optimizer", expected, self.optimizer, self)
        check_int(self.n_restarts_optimizer, "n_restarts_optimizer", self, low=0)
        check_time_unit(self.time_unit, self)
        check_choice(self.warn, (True, False), "warn", self)

    def _initial_covariance(self, rows, follow_data):
        """The covariance that a search starts from; default kernels may follow the data."""
        temporal = self._numeric_temporal_kernel
        spatial, temporal = kernels_or_defaults(self.spatial_kernel, temporal, rows, follow_data)
        # The kernels are cloned because what is learnt must never reach those that were given.
        return SeparableCovariance(
            None if spatial is None else clone(spatial),
            clone(temporal),
            (float(self.signal_variance), self.signal_variance_bounds),
            (float(self.noise_variance), self.noise_variance_bounds),
            rows.S.shape[1],
            None if self.noise_model is None else clone(self.noise_model),
            prior_variance(float(self.mean_prior_std)),
        )

    def _learn(self, rows, start=None, knowledge=None, warn=False):
        """Conditioned on rows, with hyperparameters searched from theta ``start`` if given.

        Beside it is what the search leaves to the next one, as ``knowledge`` is of an earlier one.
        With a prior mean that is used only if likelier, the rows come with the one that was held.
        The other choice is searched as well: at first always, later from the hyperparameters found
        and only if that promises a larger likelihood.
        """
        gp, learnt = held = self._learn_one(rows, start, knowledge, warn=warn)
        if self.prior_mean is None or not self.prior_mean.only_if_likelier:
            return held
        other = self.prior_mean.polynomial(rows.S.shape[1]) if rows.prior_mean is None else None
        other_rows, value = rows.with_prior_mean(other), log_posterior(gp, self.hyperpriors)
        if knowledge is None:
            challenger = self._learn_one(other_rows, warn=warn)
        else:
            before = self._condition(gp.covariance, other_rows)
            promised = learnt.gain(before, self.hyperpriors)
            if log_posterior(before, self.hyperpriors) + promised <= value:
                return held
            challenger = self._learn_one(other_rows, gp.covariance.theta, learnt, first=False)
        return challenger if log_posterior(challenger[0], self.hyperpriors) > value else held

    def _learn_one(self, rows, start=None, knowledge=None, *, first=True, warn=False):
        """As `_learn`, with the prior mean that the rows have.

        The ``first`` one of a search counts that it has found nothing, and may begin anew.
        """
        covariance = self._initial_covariance(rows, follow_data=self.optimizer is not None)
        kind, *basis = self._choose_kind(covariance, rows)
        if warn:
            advise_on_size(rows, kind, type(self).__name__)
        if self._teaches(rows):
            rows = rows.held()
            criterion = kind.criterion(rows, *basis)
            if start is None and not callable(self.optimizer):
                start = screened_starts(criterion, covariance, rows, self.hyperpriors)
            known = knowledge and knowledge.hessian_for(len(covariance.bounds), rows.n)
            options = {"warn": warn, "hessian": known}
            initial = covariance
            covariance, hessian = self._search(criterion, initial, start, **options)
            gp = kind.learnt(criterion, covariance, rows, *basis)
            if knowledge is None or not explains_little(gp):
                return gp, Knowledge(hessian, rows.n)
            # What went on from there has come to nothing, and would again next time. After 1, 2, 4,
            # ... of them, where all is noise at little cost, another beginning is tried.
            n_lost = knowledge.n_lost + first
            if first and not n_lost & (n_lost - 1):
                starts = np.array([covariance.theta, *restarts(initial, rows, self.hyperpriors)])
                options = {"n_restarts": 0, "hessian": hessian}
                covariance, hessian = self._search(criterion, initial, starts, **options)
                gp = kind.learnt(criterion, covariance, rows, *basis)
            return gp, Knowledge(hessian, rows.n, n_lost)
        if start is not None:
            covariance = covariance.with_theta(np.clip(start, *covariance.bounds.T))
        return kind.of(covariance, rows, *basis), Knowledge()

    def _teaches(self, rows):
        """Whether hyperparameters are searched with rows: a constant that is centred tells none."""
        return self.optimizer is not None and not (self.normalize_y and rows.is_constant)

    def _search(self, criterion, covariance, start, **options):
        """What `search` returns, with the estimator's parameters."""
        options = {
            "optimizer": self.optimizer,
            "n_restarts": self.n_restarts_optimizer,
            "hyperpriors": self.hyperpriors,
            "random_state": self.random_state,
        } | options
        return search(criterion, covariance, start, **options)

    def _condition(self, covariance, rows):
        """Conditioned on rows, with known hyperparameters."""
        kind, *basis = self._choose_kind(covariance, rows)
        return kind.of(covariance, rows, *basis)

    def _choose_kind(self, covariance, rows):
        """The class of ``Conditioned`` for rows, and what its ``of`` and ``criterion`` take."""
        return self._kind, *self._choose_basis(covariance, rows)

    def _suited(self, gp, n_new):
        """A conditioned GP whose rows have changed, the last ``n_new`` new, as suits them now."""
        return gp

    # --- attributes, posterior, relevancies -------------------------------------------------------

    @abstractmethod
    def _dense(self):
        """The exact posterior of the same rows under the same covariance, dense."""

    def _exact(self):
        """The same in any form."""
        return self._dense()

    @property
    def _fitted(self):
        """Conditioned GP, or a NotFittedError."""
        gp = self.__dict__.get("_gp")
        if gp is None:
            check_is_fitted(self)
        return gp

    def __sklearn_is_fitted__(self):
        return hasattr(self, "_gp")

    @property
    def X_train_(self) -> Array:
        return self._fitted.rows.X

    @property
    def y_train_(self) -> Array:
        return self._fitted.rows.y

    @property
    def now_(self) -> float:
        return self._fitted.rows.now

    @property
    def signal_variance_(self) -> float:
        return self._fitted.covariance.signal_variance

    @property
    def noise_variance_(self) -> float:
        return self._fitted.covariance.noise_variance

    @property
    def noise_model_(self) -> NoiseModel | None:
        return self._fitted.covariance.noise_model

    @property
    def mean_(self) -> float:
        rows = self._fitted.rows
        return float(rows.location + rows.scale * self._gp.mean.value)

    @property
    def noise_std_(self) -> float:
        return float(np.sqrt(self.noise_variance_) * self._gp.rows.scale)

    @property
    def spatial_kernel_(self) -> Kernel:
        return self._fitted.covariance.spatial

    @property
    def temporal_kernel_(self) -> Kernel:
        return self._fitted.covariance.temporal

    @property
    def theta_(self) -> Array:
        return self._fitted.covariance.theta.copy()

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
        """Posterior of f, or of new observations.

        Parameters
        ----------
        X : array-like of shape (m, d + 1)
        return_std, return_cov : bool, default=False
            Also return the standard deviations, or the covariance; not both.
        include_noise : bool, default=False
            Of observations that are made at their times, whose noise is ``noise_std_``, rather than
            of f. The mean is the same.

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
        check_choice(include_noise, (True, False), "include_noise")
        gp, places = self._places(X)
        with np.errstate(over="ignore"):
            parts = gp.posterior(*places, return_std, return_cov)
            found = finite_posterior(parts, "mean", "uncertainty")
        if include_noise and return_std:
            return found[0], np.hypot(found[1], self.noise_std_)
        if include_noise and return_cov:
            found[1][np.diag_indices(len(places[1]))] += self.noise_std_**2
        return found

    def predict_interval(
        self, X: ArrayLike, level: float = 0.9, *, include_noise: bool = True
    ) -> tuple[Array, Array]:
        """Intervals that a new observation, or f, is in with a probability.

        Parameters
        ----------
        X : array-like of shape (m, d + 1)
        level : float, default=0.9
            Probability, in (0, 1).
        include_noise : bool, default=True
            Of observations that are made at their times, as in `predict`, rather than of f.

        Returns
        -------
        lower, upper : ndarray of shape (m,)
            The central interval of the posterior, which is Gaussian; the hyperparameters are taken
            for known.
        """
        level = check_real(level, "level", interval="(0, 1)")
        mean, std = self.predict(X, return_std=True, include_noise=include_noise)
        half = norm.ppf(0.5 + 0.5 * level) * std
        return mean - half, mean + half

    def _places(self, X):
        """The conditioned GP, and places and times (m, d), (m,) of X (m, d + 1) as it has them."""
        return self._fitted, self._gp.rows.layout.split(validated(self, X))

    def sample_y(self, X: ArrayLike, n_samples: int = 1, random_state: RandomState = 0) -> Array:
        """Draws of f from the posterior.

        Parameters
        ----------
        X : array-like of shape (m, d + 1)
        n_samples : int, default=1
        random_state : int, RandomState or None, default=0

        Returns
        -------
        samples : ndarray of shape (m, n_samples)
        """
        rng, n_samples = check_random_state(random_state), check_int(n_samples, "n_samples")
        gp, places = self._places(X)
        mean, cov = gp.joint(*places)
        # Rounding may leave eigenvalues of -1e-16, which are nothing to warn of.
        draws = rng.multivariate_normal(np.zeros(len(mean)), cov, n_samples, check_valid="ignore")
        return finite_posterior(mean[:, np.newaxis] + gp.rows.scale * draws.T, "draws")

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
        """Log marginal likelihood of the training data, of the standardized y with ``normalize_y``.

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
        Of the exact model, O(n³), whatever the estimator approximates; linear in n with the Kalman
        solver.
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

    def information_gain(self) -> float:
        """What the training data tells about f, in nats.

        Returns
        -------
        gain : float
            ½ log det(I + Σ⁻¹ K) (SparQ eq. 26), of the f that the estimator approximates.
        """
        return self._fitted.information_gain

    def search_gain(self) -> float:
        """What a search of the hyperparameters promises to gain, with the rows there are.

        Returns
        -------
        gain : float
            In nats of the log likelihood, or posterior density with ``hyperpriors``: the maximum,
            within the bounds, of its gradient and of the Hessian that the last search has left.
            0 if there is nothing to search, infinite where no Hessian is known: before a search, of
            a callable ``optimizer``, or when the number of rows has changed by more than a tenth.

        Notes
        -----
        O(n²) in the exact model, but for the first time after a search.
        """
        gp = self._fitted
        if self.optimizer is None:
            return 0.0
        return self._knowledge.gain(gp, self.hyperpriors)

    def relevancy(self, now: Time | None = None) -> Array:
        """Relevancy of each training row to predictions from ``now`` on (W-DBO eq. 12).

        Parameters
        ----------
        now : float or date, default=None
            Present time; None is the latest training time.

        Returns
        -------
        relevancy : ndarray of shape (n,)
            2-Wasserstein distance between the posteriors with and without the row, relative to that
            between the posterior and the prior. See `sktvbo.relevancy.wasserstein_relevancy`.
        """
        return self.relevancy_sweep(now).relevancy()

    def check_relevancy(self) -> None:
        """Raise an UnsupportedKernelError unless the relevancy of these kernels is known.

        Raises
        ------
        UnsupportedKernelError
            A kernel without a closed-form convolution.
        """
        self._fitted.covariance.stationary_factors()

    def relevancy_sweep(self, now: Time | None = None) -> RelevancySweep:
        """Relevancies that stay up to date while rows are taken out, O(n²) each.

        Parameters
        ----------
        now : float or date, default=None
            See `relevancy`.

        Returns
        -------
        sweep : sktvbo.relevancy.RelevancySweep
            In the exact model; its removals leave the estimator as it is.
        """
        gp = self._dense()
        return gp.relevancy_sweep(gp.rows.latest if now is None else self._number_of(now, "now"))

    def posterior_at(self, t: Time, moving: Mask | None = None) -> Posterior:
        """The posterior at one time as a function of space alone, for many evaluations.

        Parameters
        ----------
        t : float or date
        moving : array-like of bool of shape (d,), default=None
            Coordinates of which gradients are wanted; None for all. Of others, such as an arm's
            index, they may be 0.

        Returns
        -------
        posterior : callable
            ``posterior(S)`` of places (m, d) gives mean and standard deviation (m,);
            ``posterior.with_gradient(s)`` of one place (d,) gives both and their gradients (d,);
            ``posterior.sample(S, rng)`` draws f (m,) jointly.
        """
        return TimeSlice(self._fitted, self._number_of(t, "t"), moving)

    def posterior_between(self, low: Time, high: Time, moving: Mask | None = None) -> Posterior:
        """The posterior as a function of space and of time in an interval.

        Parameters
        ----------
        low, high : float or date
        moving : array-like of bool of shape (d,), default=None
            See `posterior_at`.

        Returns
        -------
        posterior : callable
            As of `posterior_at`, of places with one more coordinate: time, 0 at ``low`` and 1 at
            ``high``.
        """
        low, high = self._number_of(low, "low"), self._number_of(high, "high")
        return TimeWindow(self._fitted, low, high, moving)

    def _number_of(self, time, name):
        """A time as a number in the user's unit; dates are of the kind that `fit` was given."""
        if type(time) is float:
            return time
        position = self._fitted.rows.layout.position
        kind, number = read_time(time, self.time_unit, name)
        known = self.time_kinds_.get(position, NUMBERS)
        if kind not in (NUMBERS, known):
            raise mixed_kinds(name, known, kind, "in the data of fit")
        return number
