"""Exact Gaussian process regression on space and time."""

import copy
from numbers import Integral, Real

import numpy as np
from scipy.linalg import eigh
from scipy.optimize import minimize
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.gaussian_process.kernels import Kernel, Matern
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from .. import relevancy as _relevancy
from .._covariance import SeparableCovariance
from .._solvers import DenseCholesky, cholesky, lower_inverse, times, try_cholesky
from .._threads import blas_threads
from ..exceptions import NotPositiveDefiniteError
from ._priors import HyperPrior

_LOG_2PI = np.log(2.0 * np.pi)


class TimeVaryingGPRegressor(RegressorMixin, BaseEstimator):
    """Gaussian process regression of a function of space that changes with time.

    f is a Gaussian process with mean 0 and covariance λ k_S(x, x') k_T(t, t'), observed with
    Gaussian noise of variance σ² (W-DBO assumption 3.2). λ, σ² and the kernels' hyperparameters
    maximize the marginal likelihood. Rows are appended and dropped in O(n²), and every row has a
    relevancy to predictions of the future.

    Parameters
    ----------
    spatial_kernel : Kernel, default=None
        scikit-learn kernel of the spatial columns. None is ``Matern(nu=2.5)`` with one lengthscale,
        whose start and bounds follow the data's extent (1.0 when ``optimizer=None``).
    temporal_kernel : Kernel, default=None
        scikit-learn kernel of the time column. None is ``Matern(nu=1.5)``, whose lengthscale is
        bounded below by the median interval between the data's times and above by ten times their
        span (1.0 when ``optimizer=None``). ``ConstantKernel(1.0, "fixed")`` makes a static model.
    signal_variance : float, default=1.0
        λ, in units of y² (after normalization, if any).
    signal_variance_bounds : pair of floats or "fixed", default=(1e-3, 1e3)
    noise_variance : float, default=1e-2
        σ², in units of y² (after normalization, if any).
    noise_variance_bounds : pair of floats or "fixed", default=(1e-6, 1e1)
    noise_model : QuadraticInjection or GeometricInjection, default=None
        How the noise of an observation grows with its age, counted from ``now_``; None: it does
        not.
    time_column : int or str, default=-1
        Position of time among the columns of X, or its name when X is a data frame.
    optimizer : "fmin_l_bfgs_b", callable or None, default="fmin_l_bfgs_b"
        Search of the hyperparameters. A callable is scikit-learn's: ``optimizer(obj_func,
        initial_theta, bounds) -> theta_opt, func_min``, with
        ``obj_func(theta, eval_gradient=True)`` minus the log marginal likelihood. None keeps the
        values given.
    n_restarts_optimizer : int, default=0
        Further searches, from starts drawn log-uniformly within the bounds.
    hyperpriors : dict of str to frozen scipy.stats distribution, default=None
        Priors of hyperparameters in their natural units, for maximum a posteriori fits: e.g.
        ``{"spatial_kernel__length_scale": scipy.stats.gamma(3, scale=0.1)}``. Names are those of
        ``set_params``; ``signal_variance``, ``noise_variance`` and ``noise_model__...`` likewise.
    normalize_y : bool, default=False
        Standardize y before fitting; predictions come back in y's own units.
    random_state : int, RandomState or None, default=None
        For the restarts.

    Attributes
    ----------
    X_train_ : ndarray (n, d + 1)
        Training inputs.
    y_train_ : ndarray (n,)
        Training targets, in the units given.
    spatial_kernel_, temporal_kernel_ : Kernel
        Kernels with the learnt hyperparameters; ``spatial_kernel_`` is None when time is alone.
    signal_variance_, noise_variance_ : float
        Learnt λ and σ².
    noise_std_ : float
        σ in the units of y, of an observation without age.
    noise_model_ : noise model or None
        With the learnt hyperparameter.
    now_ : float
        Present time, from which ages count: the latest training time unless ``advance`` moved it.
    theta_ : ndarray (n_theta,)
        Logarithms of signal variance, spatial, temporal and noise hyperparameters (noise variance,
        then noise model); fixed ones are left out.
    log_marginal_likelihood_value_ : float
        At ``theta_``.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only when X had names.

    Notes
    -----
    RBF, Matérn 1/2, 3/2 and 5/2 (one lengthscale, or one per dimension), ``Forgetting`` and fixed
    constants run through compiled code; any other kernel through its own ``__call__``, slower.

    Examples
    --------
    >>> import numpy as np
    >>> from sktvbo import TimeVaryingGPRegressor
    >>> rng = np.random.RandomState(0)
    >>> X = np.column_stack([rng.uniform(size=60), np.arange(60)])   # place, time
    >>> y = np.sin(6 * X[:, 0] + 0.1 * X[:, 1]) + 0.05 * rng.normal(size=60)
    >>> gp = TimeVaryingGPRegressor().fit(X, y)
    >>> mean, std = gp.predict([[0.5, 60.0]], return_std=True)
    >>> bool(abs(mean[0] - np.sin(9.0)) < 3 * std[0] < 0.5)
    True
    """

    def __init__(
        self,
        spatial_kernel=None,
        temporal_kernel=None,
        *,
        signal_variance=1.0,
        signal_variance_bounds=(1e-3, 1e3),
        noise_variance=1e-2,
        noise_variance_bounds=(1e-6, 1e1),
        noise_model=None,
        time_column=-1,
        optimizer="fmin_l_bfgs_b",
        n_restarts_optimizer=0,
        hyperpriors=None,
        normalize_y=False,
        random_state=None,
    ):
        self.spatial_kernel = spatial_kernel
        self.temporal_kernel = temporal_kernel
        self.signal_variance = signal_variance
        self.signal_variance_bounds = signal_variance_bounds
        self.noise_variance = noise_variance
        self.noise_variance_bounds = noise_variance_bounds
        self.noise_model = noise_model
        self.time_column = time_column
        self.optimizer = optimizer
        self.n_restarts_optimizer = n_restarts_optimizer
        self.hyperpriors = hyperpriors
        self.normalize_y = normalize_y
        self.random_state = random_state

    # --- fitting -----------------------------------------------------------------------------

    def fit(self, X, y, y_variance=None):
        """Learn the hyperparameters and condition on the data.

        Parameters
        ----------
        X : array-like (n, d + 1)
            Space and time; a single column is time alone. A data frame's columns of dates become
            seconds since 1970, UTC, and so are then all times and lengthscales.
        y : array-like (n,)
        y_variance : array-like (n,), default=None
            Variance of each observation known beforehand, in units of y²; comes on top of
            ``noise_variance``.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            The data or a parameter is unusable; the estimator is left as it was.
        """
        return self._commit(lambda new: new._fit(X, y, y_variance))

    def partial_fit(self, X, y, y_variance=None):
        """Append rows with the hyperparameters held, O(n²) a row.

        On a new estimator this conditions on the data with the hyperparameters as given.

        Parameters
        ----------
        X : array-like (m, d + 1)
        y : array-like (m,)
        y_variance : array-like (m,), default=None
            See ``fit``.

        Returns
        -------
        self
        """
        return self._commit(lambda new: new._partial_fit(X, y, y_variance))

    def forget(self, indices):
        """Drop training rows with the hyperparameters held, O(n²) a row.

        Parameters
        ----------
        indices : array-like of int, or bool mask (n,)
            Rows of ``X_train_``; at least one row has to stay.

        Returns
        -------
        self
        """
        check_is_fitted(self)
        return self._commit(lambda new: new._forget(indices))

    def advance(self, now):
        """Move the present time on: with a ``noise_model`` all observations age.

        Parameters
        ----------
        now : float
            Not before any training time.

        Returns
        -------
        self

        Notes
        -----
        O(n³) with a noise model, as every noise variance changes; nothing without.
        """
        check_is_fitted(self)
        return self._commit(lambda new: new._advance(now))

    def advanced(self, now):
        """This estimator, or a copy of it that has been advanced where that changes anything.

        Parameters
        ----------
        now : float
            Times before ``now_`` change nothing.

        Returns
        -------
        estimator : TimeVaryingGPRegressor

        Raises
        ------
        NotFittedError
            Before ``fit``.
        """
        check_is_fitted(self)
        if self.noise_model is None or now <= self.now_:
            return self
        new = copy.copy(self)
        new._advance(now)
        return new

    def _commit(self, change):
        """Apply a change to a shallow copy, and take it over once it has succeeded."""
        new = copy.copy(self)
        change(new)
        self.__dict__ = new.__dict__
        return self

    def _fit(self, X, y, y_variance):
        self._check_parameters()
        X = _numeric_times(X)
        X, y = validate_data(self, X, y, dtype=np.float64, order="C", y_numeric=True)
        self._set_data(X.copy(), y.astype(np.float64), _check_variance(y_variance, len(X)))
        self._hold_scale(False)
        self._learn()

    def _partial_fit(self, X, y, y_variance):
        fitted = hasattr(self, "_solver")
        if not fitted:
            self._check_parameters()
        X = _numeric_times(X)
        X, y = validate_data(
            self, X, y, dtype=np.float64, order="C", y_numeric=True, reset=not fitted
        )
        y_variance = _check_variance(y_variance, len(X))
        if fitted:
            self._append(X, y, y_variance)
        else:
            self._set_data(X.copy(), y.astype(np.float64), y_variance)
            self._condition(self._initial_covariance(follow_data=False))

    def _advance(self, now):
        latest = self._t.max() + self._time_origin
        if not isinstance(now, Real) or not latest <= now < np.inf:
            raise ValueError(
                f"now must be a finite time, not before the latest training time {latest}. "
                f"Got {now!r} instead."
            )
        self.now_ = float(now)
        if self.noise_model is not None:
            self._condition(self._covariance)

    def _forget(self, indices):
        n = len(self.X_train_)
        indices = np.asarray(indices)
        if indices.dtype == bool:
            if indices.shape != (n,):
                raise ValueError(f"A mask must have shape ({n},). Got {indices.shape}.")
            indices = np.flatnonzero(indices)
        indices = indices.reshape(-1)
        if indices.size == 0:
            return
        if not np.issubdtype(indices.dtype, np.integer):
            raise ValueError(f"indices must be integers or a mask. Got dtype {indices.dtype}.")
        if indices.min() < -n or indices.max() >= n:
            raise ValueError(
                f"indices must lie in [0, {n}), the rows of X_train_. Got {indices.min()} to "
                f"{indices.max()}."
            )
        indices = np.unique(indices % n)
        if len(indices) == n:
            raise ValueError(
                f"At least one of the {n} rows has to stay. Got all of them to forget."
            )
        self._drop(indices)

    def _check_parameters(self):
        for name in ("signal_variance", "noise_variance"):
            value, bounds = getattr(self, name), getattr(self, f"{name}_bounds")
            if not isinstance(value, Real) or not 0.0 < value < np.inf:
                raise ValueError(
                    f"The '{name}' parameter must be a positive finite float. "
                    f"Got {value!r} instead."
                )
            if isinstance(bounds, str) and bounds == "fixed":
                continue
            pair = np.asarray(bounds)
            if (
                pair.shape != (2,)
                or pair.dtype.kind not in "iuf"
                or not 0.0 < pair[0] <= pair[1] < np.inf
            ):
                raise ValueError(
                    f"The '{name}_bounds' parameter must be 'fixed' or a pair 0 < low <= high. "
                    f"Got {bounds!r} instead."
                )
        for name in ("spatial_kernel", "temporal_kernel"):
            kernel = getattr(self, name)
            if kernel is not None and not isinstance(kernel, Kernel):
                raise ValueError(
                    f"The '{name}' parameter must be a scikit-learn kernel or None. "
                    f"Got {kernel!r} instead."
                )
        if self.noise_model is not None:
            if not hasattr(self.noise_model, "ratio"):
                raise ValueError(
                    "The 'noise_model' parameter must be a QuadraticInjection, a "
                    f"GeometricInjection or None. Got {self.noise_model!r} instead."
                )
            self.noise_model.check()
        if not (self.optimizer in (None, "fmin_l_bfgs_b") or callable(self.optimizer)):
            raise ValueError(
                "The 'optimizer' parameter must be 'fmin_l_bfgs_b', a callable or None. "
                f"Got {self.optimizer!r} instead."
            )
        if not isinstance(self.n_restarts_optimizer, Integral) or self.n_restarts_optimizer < 0:
            raise ValueError(
                "The 'n_restarts_optimizer' parameter must be a non-negative int. "
                f"Got {self.n_restarts_optimizer!r} instead."
            )

    def _time_position(self):
        """Position of the time column, counted from the left."""
        if isinstance(self.time_column, str):
            names = getattr(self, "feature_names_in_", None)
            if names is None or self.time_column not in names:
                known = "X has no column names" if names is None else f"X has {list(names)}"
                raise ValueError(
                    f"time_column={self.time_column!r} names no column: {known}. "
                    "Give a data frame with that column, or a position."
                )
            return list(names).index(self.time_column)
        n_columns = self.n_features_in_
        if (
            not isinstance(self.time_column, Integral)
            or not -n_columns <= self.time_column < n_columns
        ):
            raise ValueError(
                f"The 'time_column' parameter must be the position or name of one of the "
                f"{n_columns} columns of X. Got {self.time_column!r} instead."
            )
        return int(self.time_column) % n_columns

    def _split(self, X):
        """X (n, d + 1) as space (n, d) and time (n,) since the time origin."""
        position = self._position
        if position == X.shape[1] - 1:
            S = np.ascontiguousarray(X[:, :-1])
        else:
            S = np.delete(X, position, axis=1)
        return S, X[:, position] - self._time_origin

    def _set_data(self, X, y, y_variance):
        self._position = self._time_position()
        # Shifted, so that Unix timestamps lose no precision; but a kernel that is not stationary,
        # such as `Wiener`, is meant for the times as given.
        stationary = self.temporal_kernel is None or self.temporal_kernel.is_stationary()
        self._time_origin = X[0, self._position] if stationary else 0.0
        self.X_train_, self.y_train_, self._y_variance = X, y, y_variance
        self._S, self._t = self._split(X)
        self.now_ = float(X[:, self._position].max())

    # Location and scale of y that stay as they were; None: those of the training targets.
    _held_scale = None

    def _normalize(self):
        """Location, scale and standardized values of the training targets."""
        y = self.y_train_
        if not self.normalize_y:
            return 0.0, 1.0, y
        if self._held_scale is not None:
            mean, scale = self._held_scale
            return mean, scale, (y - mean) / scale
        # By way of the largest: squares of large numbers overflow.
        peak = np.abs(y).max() or 1.0
        mean, scale = peak * (y / peak).mean(), peak * (y / peak).std()
        if not scale > 10.0 * np.finfo(float).eps * max(abs(mean), np.abs(y).max()):
            scale = 1.0  # all equal
        return mean, scale, (y - mean) / scale

    def _noise(self, covariance, rows=slice(None)):
        """Noise variance (n,) of the training rows, in the units of the standardized y."""
        noise = covariance.noise(self._ages()[rows])
        return noise + np.abs(self._y_variance[rows]) / self._y_scale / self._y_scale

    def _ages(self):
        """Ages (n,) of the training rows at the present time; NaN for no noise of the model's.

        A negative ``_y_variance`` stands for such a row: its amount is all the noise there is.
        """
        ages = (self.now_ - self._time_origin) - self._t
        return np.where(self._y_variance < 0.0, np.nan, ages)

    def _initial_covariance(self, follow_data):
        spatial, temporal = self.spatial_kernel, self.temporal_kernel
        if self._S.shape[1] == 0:
            spatial = None
        elif spatial is None:
            spatial = Matern(nu=2.5)
            if follow_data:
                extent = np.ptp(self._S, axis=0).max() or 1.0
                spatial = Matern(0.5 * extent, (0.01 * extent, 10.0 * extent), nu=2.5)
        if temporal is None:
            temporal = Matern(nu=1.5)
            if follow_data:
                gaps = np.diff(np.unique(self._t))
                interval, span = (np.median(gaps), gaps.sum()) if gaps.size else (1.0, 1.0)
                bounds = (interval, 10.0 * max(interval, span))
                temporal = Matern(np.clip(0.25 * span, *bounds), bounds, nu=1.5)
        # Cloned: what was learnt must never reach the kernels that were given.
        return SeparableCovariance(
            None if spatial is None else clone(spatial),
            clone(temporal),
            (float(self.signal_variance), self.signal_variance_bounds),
            (float(self.noise_variance), self.noise_variance_bounds),
            self._S.shape[1],
            None if self.noise_model is None else clone(self.noise_model),
        )

    def _learn(self, start=None):
        """Search the hyperparameters, from theta ``start`` if given, and condition on the data."""
        covariance = self._initial_covariance(follow_data=self.optimizer is not None)
        self._y_mean, self._y_scale, y = self._normalize()
        bounds = covariance.bounds
        if self.optimizer is not None and len(bounds):
            if not np.isfinite(bounds).all():
                raise ValueError(
                    "Searching the hyperparameters needs finite bounds for all of them. "
                    f"Got {np.exp(bounds).tolist()}."
                )
            starts = [np.clip(covariance.theta if start is None else start, *bounds.T)]
            if self.n_restarts_optimizer:
                rng = check_random_state(self.random_state)
                starts.extend(rng.uniform(*bounds.T, (self.n_restarts_optimizer, len(bounds))))
            with blas_threads(len(y)):
                results = [self._search(covariance, y, theta, bounds) for theta in starts]
            covariance = covariance.with_theta(min(results, key=lambda r: r[1])[0])
        self._condition(covariance)

    def _search(self, covariance, y, theta, bounds):
        """One search of the hyperparameters: the theta found and its negative log likelihood."""
        workspace = self._workspace()
        prior = HyperPrior(self.hyperpriors, covariance.names)

        def objective(theta, eval_gradient=True):
            value, *gradient = self._criterion(
                covariance.with_theta(theta), y, eval_gradient, workspace
            )
            value += prior(theta)
            return (-value, -gradient[0] - prior.gradient(theta)) if eval_gradient else -value

        if prior(theta) == -np.inf:
            raise ValueError(
                f"The hyperpriors give the start of the search no density: {prior.where(theta)}. "
                "Start elsewhere, or use a distribution that covers the bounds."
            )

        if callable(self.optimizer):
            return self.optimizer(objective, theta, bounds=bounds)
        found = minimize(objective, theta, method="L-BFGS-B", jac=True, bounds=bounds)
        return found.x, found.fun

    def _workspace(self):
        """Memory that the evaluations of a search share."""
        return np.empty((3, len(self._t), len(self._t)))

    def _criterion(self, covariance, y, eval_gradient, workspace):
        """What a search maximizes, with its gradient if asked for."""
        return self._likelihood(covariance, y, eval_gradient, workspace)

    def _likelihood(self, covariance, y, eval_gradient, workspace=None, jitter=0.0):
        """log p(y) (W-DBO section 2), with its gradient in theta if asked for.

        −½ yᵀa − ½ log|Δ| − (n/2) log 2π, and ½ Σ_ij (a aᵀ − Δ⁻¹)_ij ∂Δ_ij/∂theta. Minus infinity
        where Δ is not numerically positive definite, so that a search turns back.
        """
        n = len(y)
        K, L, P = np.empty((3, n, n)) if workspace is None else workspace
        K = covariance.gram(self._S, self._t, out=K)
        L[:] = K
        np.fill_diagonal(L, np.diagonal(K) + self._noise(covariance) + jitter)
        value = -np.inf
        if try_cholesky(L):
            a, value = _weights(DenseCholesky(L), y)
        if not eval_gradient:
            return (value,)
        if value == -np.inf:
            return value, np.zeros(len(covariance.bounds))
        P[:] = L
        return value, 0.5 * covariance.gradient(
            self._S, self._t, self._ages(), K, lower_inverse(P), a
        )

    def _condition(self, covariance, solver=None):
        """Condition on the training data; ``solver`` is the factor when it is known already."""
        self._y_mean, self._y_scale, y = self._normalize()
        with blas_threads(len(y)):
            if solver is None:
                K = covariance.gram(self._S, self._t)
                solver = DenseCholesky(*cholesky(K, self._noise(covariance), covariance))
            a, value = _weights(solver, y)
        if value == -np.inf:
            raise NotPositiveDefiniteError(
                f"Solving with the covariance matrix of {covariance} overflowed. "
                "Scale y to a moderate range (normalize_y=True), or raise noise_variance."
            )
        self._covariance, self._solver, self._weights = covariance, solver, a
        self.log_marginal_likelihood_value_ = float(value)
        self.signal_variance_ = covariance.signal_variance
        self.noise_variance_ = covariance.noise_variance
        self.noise_model_ = covariance.noise_model

    @property
    def noise_std_(self):
        check_is_fitted(self, "_solver")
        return float(np.sqrt(self.noise_variance_) * self._y_scale)

    @property
    def spatial_kernel_(self):
        check_is_fitted(self, "_solver")
        return self._covariance.spatial

    @property
    def temporal_kernel_(self):
        check_is_fitted(self, "_solver")
        return self._covariance.temporal

    @property
    def theta_(self):
        check_is_fitted(self, "_solver")
        return self._covariance.theta

    def __sklearn_is_fitted__(self):
        return hasattr(self, "_solver")

    # --- streaming ---------------------------------------------------------------------------

    def _extend(self, X, y, y_variance):
        """Take validated rows into the training data, without conditioning on them."""
        S, t = self._split(X)
        self.X_train_ = np.vstack([self.X_train_, X])
        self.y_train_ = np.append(self.y_train_, y)
        self._y_variance = np.append(self._y_variance, y_variance)
        self._S, self._t = np.vstack([self._S, S]), np.append(self._t, t)
        self.now_ = max(self.now_, float(X[:, self._position].max()))
        self._y_mean, self._y_scale, _ = self._normalize()

    def _delete(self, indices):
        """Take rows out of the training data, without conditioning on the others."""
        for name in ("X_train_", "y_train_", "_y_variance", "_S", "_t"):
            setattr(self, name, np.delete(getattr(self, name), indices, axis=0))
        self._y_mean, self._y_scale, _ = self._normalize()

    def _noise_moved(self, old_scale, old_now):
        """Whether rows that were there before have other noise now.

        It is in units of the standardized y, and grows with age.
        """
        rescaled = self._y_scale != old_scale and self._y_variance.any()
        return rescaled or (self.noise_model is not None and self.now_ != old_now)

    def _append(self, X, y, y_variance):
        """Append validated rows with the hyperparameters held."""
        n, m, old = len(self.X_train_), len(X), (self._y_scale, self.now_)
        self._extend(X, y, y_variance)
        solver = None if self._noise_moved(*old) or 10 * m > n else self._solver
        if solver is not None:
            noise = self._noise(self._covariance, slice(n, None))
            for i in range(n, n + m):
                row, rows = slice(i, i + 1), slice(0, i + 1)
                k = self._covariance.cross(
                    self._S[row], self._t[row], self._S[rows], self._t[rows]
                )[0]
                solver = solver.append(k[:-1], k[-1] + noise[i - n])
                if solver is None:
                    break
        self._condition(self._covariance, solver)

    def _drop(self, indices):
        """Drop validated, sorted rows with the hyperparameters held."""
        n, old = len(self.X_train_), (self._y_scale, self.now_)
        self._delete(indices)
        solver = None if self._noise_moved(*old) or 10 * len(indices) > n else self._solver
        if solver is not None:
            for i in reversed(indices):
                solver = solver.drop(int(i))
        self._condition(self._covariance, solver)

    def _hold_scale(self, hold):
        """Let y stay standardized as it is, or let the scale follow the training targets again."""
        self._held_scale = (self._y_mean, self._y_scale) if hold else None

    def _update(self, X, y, y_variance=None, *, drop=(), refit=False, hold_scale=False):
        """Drop rows (even all), append validated ones; ``refit`` searches on from ``theta_``.

        With ``hold_scale`` y stays standardized as it was: a handful of rows has no scale.
        """
        n = len(self.X_train_)
        y_variance = np.zeros(len(X)) if y_variance is None else y_variance
        self._hold_scale(hold_scale)
        if refit or len(drop) == n:
            keep = np.delete(np.arange(n), drop)
            self._set_data(
                np.vstack([self.X_train_[keep], X]),
                np.append(self.y_train_[keep], y),
                np.append(self._y_variance[keep], y_variance),
            )
            if refit:
                self._learn(start=self.theta_)
            else:
                self._condition(self._covariance)
            return
        if len(drop):
            self._drop(np.sort(drop))
        self._append(X, y, y_variance)

    def updated(
        self,
        X=None,
        y=None,
        y_variance=None,
        *,
        drop=(),
        refit=False,
        hold_scale=False,
        learn_with=None,
        total_variance=False,
        temporal_kernel=None,
    ):
        """A new estimator with rows dropped and rows appended; this one stays as it is.

        Parameters
        ----------
        X : array-like of shape (m, d + 1), default=None
            New rows; None for none.
        y : array-like of shape (m,), default=None
        y_variance : array-like of shape (m,), default=None
            See `fit`.
        drop : array-like of int, default=()
            Rows of ``X_train_`` to drop; all of them may go when new ones come.
        refit : bool, default=False
            Search the hyperparameters on from ``theta_``; otherwise they are held, O(n²) a row.
            Nothing is searched without an ``optimizer``.
        hold_scale : bool, default=False
            With ``normalize_y``, let y stay standardized as it is (with ``refit``: as the rows that
            are learnt from ask for) rather than by the rows that are left: a handful has no scale.
        learn_with : (X, y) pair of array-likes, default=None
            Rows to learn the hyperparameters and the scale from, besides those kept and appended,
            but not to be conditioned on. Needs ``refit``.
        total_variance : bool, default=False
            ``y_variance`` is all the noise that the new rows have, not on top of
            ``noise_variance``.
        temporal_kernel : Kernel, default=None
            Replaces the parameter of that name. Needs ``refit``.

        Returns
        -------
        estimator : TimeVaryingGPRegressor
        """
        check_is_fitted(self)
        new = copy.copy(self)
        d = self.X_train_.shape[1]
        X = np.empty((0, d)) if X is None else np.asarray(X, dtype=np.float64)
        y = np.empty(0) if y is None else np.asarray(y, dtype=np.float64)
        drop = np.asarray(drop, dtype=np.intp)
        if y_variance is not None and total_variance:
            y_variance = -np.asarray(y_variance, dtype=np.float64)
        if temporal_kernel is not None:
            new.temporal_kernel = temporal_kernel
        if not len(X):
            new._hold_scale(hold_scale)
            new._forget(drop)
            return new
        if learn_with is not None:
            more_X, more_y = learn_with
            kept, borrowed = len(self.X_train_) - len(drop), len(more_X)
            rows = np.vstack([np.reshape(more_X, (borrowed, d)), X])
            new._update(rows, np.append(more_y, y), drop=drop, refit=True)
            new._hold_scale(hold_scale)
            new._forget(kept + np.arange(borrowed))
            return new
        refit = refit and self.optimizer is not None
        hold = hold_scale and not refit
        new._update(X, y, y_variance, drop=drop, refit=refit, hold_scale=hold)
        if hold_scale:
            new._hold_scale(True)
        return new

    # --- what was learnt ---------------------------------------------------------------------

    def predict(self, X, return_std=False, return_cov=False):
        """Posterior of f, without observation noise.

        Parameters
        ----------
        X : array-like (m, d + 1)
        return_std, return_cov : bool, default=False
            Also return the standard deviations, or the covariance; not both.

        Returns
        -------
        mean : ndarray (m,)
        std : ndarray (m,)
            Only with ``return_std``.
        cov : ndarray (m, m)
            Only with ``return_cov``.
        """
        if return_std and return_cov:
            raise ValueError("At most one of return_std and return_cov can be asked for.")
        check_is_fitted(self)
        X = validate_data(self, _numeric_times(X), dtype=np.float64, order="C", reset=False)
        S, t = self._split(X)
        with blas_threads(max(len(t), len(self._t))):
            return self._posterior(S, t, return_std, return_cov)

    def _posterior(self, S, t, return_std=False, return_cov=False):
        """``predict`` for validated places (m, d) and shifted times (m,)."""
        K = self._covariance.cross(S, t, *self._basis)
        mean = self._y_mean + self._y_scale * times(K, self._weights)
        if return_cov:
            cov = self._covariance.cross(S, t) - self._explained(K, full=True)
            return mean, self._y_scale**2 * cov
        if return_std:
            variance = self._covariance.variance(S, t) - self._explained(K)
            return mean, self._y_scale * np.sqrt(np.maximum(variance, 0.0))
        return mean

    @property
    def _basis(self):
        """The points whose covariances with a place make its posterior."""
        return self._S, self._t

    def _explained(self, K, full=False):
        """Prior minus posterior variance (m,), or covariance, from K (m, n); K becomes K L⁻ᵀ."""
        return squares(self._solver.half_solve(K), full)

    def _explained_slope(self, k):
        """Half the gradient (n,) of the explained variance in one place's covariances k (n,)."""
        return self._solver.solve(k)

    def sample_y(self, X, n_samples=1, random_state=0):
        """Draws of f from the posterior.

        Parameters
        ----------
        X : array-like (m, d + 1)
        n_samples : int, default=1
        random_state : int, RandomState or None, default=0

        Returns
        -------
        samples : ndarray (m, n_samples)
        """
        rng = check_random_state(random_state)
        mean, cov = self.predict(X, return_cov=True)
        # Rounding may leave eigenvalues of -1e-16: nothing to warn of.
        return rng.multivariate_normal(mean, cov, n_samples, check_valid="ignore").T

    def log_marginal_likelihood(self, theta=None, eval_gradient=False):
        """Log marginal likelihood of the training data, of the standardized y with ``normalize_y``.

        Parameters
        ----------
        theta : array-like (n_theta,), default=None
            Logarithms of the hyperparameters, in the order of ``theta_``; None is ``theta_``.
        eval_gradient : bool, default=False
            Also return the gradient in theta.

        Returns
        -------
        value : float
        gradient : ndarray (n_theta,)
            Only with ``eval_gradient``.
        """
        check_is_fitted(self)
        if theta is None and not eval_gradient:
            return self.log_marginal_likelihood_value_
        covariance = self._covariance if theta is None else self._covariance.with_theta(theta)
        y, jitter = self._normalize()[2], self._solver.jitter
        result = self._likelihood(covariance, y, eval_gradient, jitter=jitter)
        return result if eval_gradient else result[0]

    def information_gain(self):
        """What the training data tells about f, ½ log det(I + Σ⁻¹ K), in nats (SparQ eq. 26).

        Returns
        -------
        gain : float
        """
        check_is_fitted(self)
        noise = self._noise(self._covariance)
        return 0.5 * float(self._solver.log_determinant - np.sum(np.log(noise)))

    def relevancy(self, now=None):
        """Relevancy of each training row to predictions from ``now`` on (W-DBO eq. 12).

        Parameters
        ----------
        now : float, default=None
            Present time; None is the latest training time.

        Returns
        -------
        relevancy : ndarray (n,)
            2-Wasserstein distance between the posteriors with and without the row, relative to that
            between the posterior and the prior. See :func:`sktvbo.relevancy.wasserstein_relevancy`.
        """
        return self.relevancy_sweep(now).relevancy()

    def check_relevancy(self):
        """Raise an UnsupportedKernelError unless the relevancy of these kernels is known.

        Raises
        ------
        UnsupportedKernelError
            A kernel without a closed-form convolution.
        """
        check_is_fitted(self)
        self._covariance.stationary_factors()

    def relevancy_sweep(self, now=None):
        """Relevancies that stay up to date while rows are taken out, O(n²) each.

        Parameters
        ----------
        now : float, default=None
            See ``relevancy``.

        Returns
        -------
        sweep : sktvbo.relevancy.RelevancySweep
            Its removals leave the estimator as it is.
        """
        check_is_fitted(self)
        latest = self._t.max()
        now = latest if now is None else now - self._time_origin
        # Both are rounded from the user's time.
        if abs(now - latest) <= 4.0 * np.spacing(abs(now + self._time_origin)):
            now = latest
        factors = self._covariance.stationary_factors()
        with blas_threads(len(self._t)):
            C = _relevancy.convolutions(*factors, self._S, now - self._t)
            return _relevancy.RelevancySweep(self._solver.inverse(), self._weights, C)

    def posterior_at(self, t, moving=None):
        """The posterior at one time as a function of space alone, for many evaluations.

        Parameters
        ----------
        t : float
        moving : array-like of bool (d,), default=None
            Coordinates of which gradients are wanted; None for all. Of others, such as an arm's
            index, they may be 0.

        Returns
        -------
        posterior : callable
            ``posterior(S)`` of places (m, d) gives mean and standard deviation (m,);
            ``posterior.with_gradient(s)`` of one place (d,) gives both and their gradients (d,);
            ``posterior.sample(S, rng)`` draws f (m,) jointly.
        """
        check_is_fitted(self)
        return _TimeSlice(self, t, moving)

    def posterior_between(self, low, high, moving=None):
        """The posterior as a function of space and of time in an interval.

        Parameters
        ----------
        low, high : float
        moving : array-like of bool (d,), default=None
            See ``posterior_at``.

        Returns
        -------
        posterior : callable
            As of ``posterior_at``, of places with one more coordinate: time, 0 at ``low`` and 1 at
            ``high``.
        """
        check_is_fitted(self)
        return _TimeWindow(self, low, high, moving)


def squares(V, full):
    """V Vᵀ (m, m), or only its diagonal (m,)."""
    return V @ V.T if full else np.einsum("ij,ij->i", V, V)


class _Posterior:
    """Posterior of a fitted regressor, ready to be evaluated many times."""

    def __init__(self, gp, moving):
        self._gp = copy.copy(gp)  # which may learn more meanwhile
        self._moving = moving
        self._data = gp._basis
        if gp._covariance.fused:
            self._data = gp._covariance.scale(*self._data)
            # d(scaled) / d(plain) of each coordinate, time last.
            Z, u = gp._covariance.scale(np.ones((1, gp._S.shape[1])), np.ones(1))
            self._units = np.append(Z[:, 0], u)
        else:
            self._units = np.ones(gp._S.shape[1] + 1)

    def _gradient(self, s, t):
        """Mean, standard deviation and their gradients (d + 1,) at a place (d,) and time."""
        gp, units = self._gp, self._units
        k, dk = gp._covariance.cross_with_gradient(
            s * units[:-1], t * units[-1], *self._data, self._moving
        )
        w = gp._explained_slope(k)
        prior, prior_slope = gp._covariance.variance_with_gradient(s, t, self._moving)
        std = np.sqrt(max(prior - k @ w, 1e-300))
        dk = dk * units[:, np.newaxis]
        mean = gp._y_mean + gp._y_scale * (k @ gp._weights)
        std_slope = (0.5 * prior_slope - dk @ w) / std
        return mean, gp._y_scale * std, gp._y_scale * (dk @ gp._weights), gp._y_scale * std_slope


class _TimeSlice(_Posterior):
    """The posterior at one time."""

    def __init__(self, gp, t, moving=None):
        super().__init__(gp, moving)
        self._t = t - gp._time_origin

    def __call__(self, S):
        """Mean and standard deviation (m,) at the places S (m, d)."""
        S = np.asarray(S, dtype=np.float64)
        return self._gp._posterior(S, np.full(len(S), self._t), return_std=True)

    def sample(self, S, rng):
        """A joint draw of f (m,) at the places S (m, d)."""
        S = np.asarray(S, dtype=np.float64)
        mean, cov = self._gp._posterior(S, np.full(len(S), self._t), return_cov=True)
        variances, directions = eigh(cov)
        # Rounding may leave some below 0.
        z = np.sqrt(np.maximum(variances, 0.0)) * rng.standard_normal(len(S))
        return mean + directions @ z

    def with_gradient(self, s):
        """Mean, standard deviation and their gradients (d,) at one place s (d,)."""
        mean, std, mean_slope, std_slope = self._gradient(s, self._t)
        return mean, std, mean_slope[:-1], std_slope[:-1]


class _TimeWindow(_Posterior):
    """The posterior in an interval of time, which the last coordinate runs through from 0 to 1."""

    def __init__(self, gp, low, high, moving=None):
        super().__init__(gp, moving)
        self._low, self._width = low - gp._time_origin, high - low

    def __call__(self, U):
        """Mean and standard deviation (m,) at the points U (m, d + 1)."""
        S = np.ascontiguousarray(U[:, :-1], dtype=np.float64)
        return self._gp._posterior(S, self._low + self._width * U[:, -1], return_std=True)

    def with_gradient(self, u):
        """Mean, standard deviation and their gradients (d + 1,) at one point u (d + 1,)."""
        units = np.append(np.ones(len(u) - 1), self._width)
        mean, std, *slopes = self._gradient(u[:-1], self._low + self._width * u[-1])
        return mean, std, slopes[0] * units, slopes[1] * units


def _numeric_times(X):
    """X, with a data frame's columns of dates as seconds since 1970 (UTC)."""
    if not hasattr(X, "dtypes") or not hasattr(X, "assign"):
        return X
    dates = {}
    for name, dtype in X.dtypes.items():
        if getattr(dtype, "kind", "") == "M":
            values = X[name].to_numpy(dtype="datetime64[ns]")
            if np.isnat(values).any():
                raise ValueError(f"Column {name!r} must hold dates. It contains NaT.")
            dates[name] = values.astype(np.int64) * 1e-9
    return X.assign(**dates) if dates else X


def _weights(solver, y):
    """Δ⁻¹ y (n,) and log p(y), minus infinity if either overflows."""
    a = solver.solve(y)
    with np.errstate(over="ignore", invalid="ignore"):
        value = -0.5 * (y @ a + solver.log_determinant + len(y) * _LOG_2PI)
    return a, value if np.isfinite(a).all() and np.isfinite(value) else -np.inf


def _check_variance(y_variance, n):
    """Known observation variances (n,); zeros for None."""
    if y_variance is None:
        return np.zeros(n)
    variance = np.array(y_variance, dtype=np.float64)
    if variance.shape != (n,) or not np.isfinite(variance).all() or (variance < 0.0).any():
        raise ValueError(
            f"y_variance must hold {n} non-negative finite numbers, one per row of X. "
            f"Got shape {variance.shape}, minimum {np.min(variance, initial=np.inf)}."
        )
    return variance
