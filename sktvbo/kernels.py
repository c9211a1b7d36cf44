"""Kernels that scikit-learn lacks: of time, of the Earth's surface, and separable products.

All are ``sklearn.gaussian_process.kernels.Kernel`` objects: they work in scikit-learn's own
``GaussianProcessRegressor``, in sums and products, and in grid searches.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cache, lru_cache
from numbers import Real
from typing import TYPE_CHECKING, Any, Literal, Protocol, overload, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.distance import cdist
from sklearn.gaussian_process.kernels import (
    ConstantKernel,
    ExpSineSquared,
    Hyperparameter,
    Kernel,
    Matern,
    NormalizedKernelMixin,
    StationaryKernelMixin,
)

from ._durations import PERIOD, check_time_unit, number_of_period
from ._validation import check_choice, check_int, check_real, invalid

if TYPE_CHECKING:
    from ._typing import Array, Bounds

__all__ = [
    "ChordalMatern",
    "Decaying",
    "Empirical",
    "Forgetting",
    "FutureConvolved",
    "Markov",
    "Separable",
    "Wiener",
    "season_priors",
    "with_seasons",
]

# Advice for parameters at the static limit, which the kernels exclude.
_STATIC = "For a static function use ConstantKernel(1.0, 'fixed')."


@runtime_checkable
class Decaying(Protocol):
    """Optional protocol of a kernel in time: how its correlation decays.

    Without it, the decay follows from values of the kernel, also where it oscillates.
    """

    def decay(self, ages: Array) -> Array:
        """Return an upper bound of the correlation that never increases with age.

        Parameters
        ----------
        ages : ndarray of shape (n,)
            Differences in time, ≥ 0.

        Returns
        -------
        ndarray of shape (n,)
            At least ``|k(age)| / k(0)``.
        """


@runtime_checkable
class FutureConvolved(Protocol):
    """Optional protocol of a kernel in time: its convolution over the future in closed form.

    Without it, relevancies compute the integral by quadrature, as in sums and products with others
    than constants.
    """

    def future_convolution(self, u: Array, v: Array) -> Array:
        """Return the convolution of the kernel with itself over all later times.

        Parameters
        ----------
        u, v : ndarray of shape (n,) and (m,)
            Ages, ≥ 0.

        Returns
        -------
        ndarray of shape (n, m)
            ``∫ k(s + u_i) k(s + v_j) ds`` over s > 0.
        """


@runtime_checkable
class Markov(Protocol):
    """Optional protocol of a stationary kernel in time: its form as a linear differential equation.

    The process is f = H z, dz = F z dt + noise, with z of covariance P at any one time, so that
    k(τ) = H exp(F τ) P Hᵀ for τ ≥ 0. With it the Kalman filter takes the kernel, and sums and
    products of it with others that have such a form.
    """

    def state_space(self) -> tuple[Array, Array, Array]:
        """Return the matrices of the process.

        Returns
        -------
        F : ndarray of shape (p, p)
            With no eigenvalue of a positive real part.
        P : ndarray of shape (p, p)
            Stationary covariance of the state.
        H : ndarray of shape (p,)
        """


class Forgetting(StationaryKernelMixin, NormalizedKernelMixin, Kernel):
    r"""Forgetting at a constant rate: :math:`k(t, t') = (1 - \epsilon)^{|t - t'| / 2}`.

    The covariance in time of the Markov model f_{t+1} = √(1-ε) f_t + √ε g_{t+1}, with g_t
    independent draws from the spatial process. It equals
    ``Matern(nu=0.5, length_scale=-2 / log(1 - epsilon))``. ε → 0 gives a static function, ε → 1
    independence in time.

    Parameters
    ----------
    epsilon : float in (0, 1), default=0.03
        Forgetting rate per unit of time.
    epsilon_bounds : pair of floats in (0, 1) or "fixed", default=(1e-4, 0.9)
        Bounds of the search when ``epsilon`` is learnt from data. In the regressors the default
        bounds are widened to what the times can show, in their unit.

    References
    ----------
    I. Bogunovic, J. Scarlett, V. Cevher, "Time-Varying Gaussian Process Bandit Optimization",
    AISTATS 2016 (TVGP), equations 7 and 8, appendix B.

    Examples
    --------
    >>> from sktvbo.kernels import Forgetting
    >>> Forgetting(epsilon=0.19)([[0.0], [1.0], [2.0]]).round(3)
    array([[1.  , 0.9 , 0.81],
           [0.9 , 1.  , 0.9 ],
           [0.81, 0.9 , 1.  ]])
    """

    def __init__(self, epsilon: float = 0.03, epsilon_bounds: Bounds = (1e-4, 0.9)) -> None:
        self.epsilon = epsilon
        self.epsilon_bounds = epsilon_bounds

    @property
    def hyperparameter_epsilon(self) -> Hyperparameter:
        """Name and bounds of ε, for scikit-learn."""
        return Hyperparameter("epsilon", "numeric", self.epsilon_bounds)

    def check(self) -> None:
        """Raise a ValueError for an invalid parameter."""
        bounds = self.hyperparameter_epsilon
        if not bounds.fixed and not np.all((bounds.bounds > 0.0) & (bounds.bounds < 1.0)):
            expected = "'fixed' or a pair 0 < low <= high < 1"
            raise invalid("epsilon_bounds", expected, self.epsilon_bounds, self)
        check_real(self.epsilon, "epsilon", self, interval="(0, 1)", advice=_STATIC)

    @property
    def length_scale(self) -> float:
        """Lengthscale of the equal Matérn-1/2 kernel, in units of time."""
        self.check()
        return -2.0 / np.log1p(-self.epsilon)

    @overload
    def __call__(
        self, X: ArrayLike, Y: ArrayLike | None = None, eval_gradient: Literal[False] = False
    ) -> Array: ...
    @overload
    def __call__(
        self, X: ArrayLike, Y: None = None, *, eval_gradient: Literal[True]
    ) -> tuple[Array, Array]: ...
    @overload
    def __call__(
        self, X: ArrayLike, Y: ArrayLike | None = None, eval_gradient: bool = False
    ) -> Array | tuple[Array, Array]: ...
    def __call__(
        self, X: ArrayLike, Y: ArrayLike | None = None, eval_gradient: bool = False
    ) -> Array | tuple[Array, Array]:
        X = np.atleast_2d(X)
        _check_gradient(Y, eval_gradient)
        age = cdist(X, X if Y is None else Y, metric="cityblock")
        K = np.exp(-age / self.length_scale)
        if not eval_gradient:
            return K
        if self.hyperparameter_epsilon.fixed:
            return K, np.empty((*K.shape, 0))
        # TVGP appendix B, times epsilon because theta is log(epsilon).
        slope = -self.epsilon / (1.0 - self.epsilon) * (age / 2.0) * K
        return K, slope[:, :, np.newaxis]

    def __repr__(self):
        return f"{type(self).__name__}(epsilon={self.epsilon:.3g})"


class Wiener(Kernel):
    r"""Random walk in time: :math:`k(t, t') = 1 + \sigma_w^2 (\min(t, t') - t_0)`.

    The covariance of a function that starts as a draw from the spatial process and then takes a
    random walk, f_{t+1} = f_t + σ_w g_{t+1}, with g_t independent draws from the spatial process.
    After the last observation the posterior mean is constant and the posterior variance grows by
    σ_w² k_S per unit of time, whereas a stationary kernel returns to the prior.

    Parameters
    ----------
    drift_variance : float, default=0.03
        σ_w², variance added per unit of time, relative to the spatial variance.
    drift_variance_bounds : pair of floats or "fixed", default=(1e-5, 1e1)
        Bounds of the search when ``drift_variance`` is learnt from data. In the regressors the
        default bounds are widened to what the times can show, in their unit.
    start : float or date, default=0.0
        t_0, in the unit and from the origin of the data's times. The regressors take a date as
        well, of the kind of these times.
    before : {"error", "constant"}, default="error"
        Times before ``start`` raise an error, or the function is constant until ``start``.

    Raises
    ------
    ValueError
        When called: times before ``start``, more than one column, or a ``drift_variance`` that is
        not positive and finite.

    References
    ----------
    P. Brunzema, A. von Rohr, S. Trimpe, "On Controller Tuning with Time-Varying Bayesian
    Optimization", CDC 2022 (UI-TVBO).

    Examples
    --------
    >>> from sktvbo.kernels import Wiener
    >>> Wiener(drift_variance=0.1, start=10.0)([[10.0], [11.0], [20.0]])
    array([[1. , 1. , 1. ],
           [1. , 1.1, 1.1],
           [1. , 1.1, 2. ]])
    """

    def __init__(
        self,
        drift_variance: float = 0.03,
        drift_variance_bounds: Bounds = (1e-5, 1e1),
        start: float | date | np.datetime64 = 0.0,
        before: Literal["error", "constant"] = "error",
    ) -> None:
        self.drift_variance = drift_variance
        self.drift_variance_bounds = drift_variance_bounds
        self.start = start
        self.before = before

    @property
    def hyperparameter_drift_variance(self) -> Hyperparameter:
        """Name and bounds of the variance, for scikit-learn."""
        return Hyperparameter("drift_variance", "numeric", self.drift_variance_bounds)

    def is_stationary(self) -> bool:
        """Return False: the variance depends on the time since ``start``."""
        return False

    def check(self) -> None:
        """Raise a ValueError for an invalid parameter."""
        interval = "(0, inf)"
        check_real(self.drift_variance, "drift_variance", self, interval=interval, advice=_STATIC)
        advice = "A regressor takes a date, with times that are dates." * (
            not isinstance(self.start, Real)
        )
        check_real(self.start, "start", self, advice=advice)
        check_choice(self.before, ("error", "constant"), "before", self)

    def elapsed(self, X: ArrayLike) -> Array:
        """Return the time for which the function has changed, 0 before ``start``.

        Parameters
        ----------
        X : array-like of shape (n, 1)
            Times.

        Returns
        -------
        ndarray of shape (n,)
        """
        self.check()
        t = _one_column(X, "times of Wiener")
        # The negated comparison refuses NaN as well.
        if not np.all(t >= (self.start if self.before == "error" else -np.inf)):
            expected = f"at or after start={self.start!r}"
            advice = "Set start to the earliest time, or before, or before='constant'."
            raise invalid("times of Wiener", expected, got=f"times from {t.min()}", advice=advice)
        return np.maximum(t - self.start, 0.0)

    @overload
    def __call__(
        self, X: ArrayLike, Y: ArrayLike | None = None, eval_gradient: Literal[False] = False
    ) -> Array: ...
    @overload
    def __call__(
        self, X: ArrayLike, Y: None = None, *, eval_gradient: Literal[True]
    ) -> tuple[Array, Array]: ...
    @overload
    def __call__(
        self, X: ArrayLike, Y: ArrayLike | None = None, eval_gradient: bool = False
    ) -> Array | tuple[Array, Array]: ...
    def __call__(
        self, X: ArrayLike, Y: ArrayLike | None = None, eval_gradient: bool = False
    ) -> Array | tuple[Array, Array]:
        _check_gradient(Y, eval_gradient)
        elapsed = self.elapsed(X)
        other = elapsed if Y is None else self.elapsed(Y)
        drift = self.drift_variance * np.minimum.outer(elapsed, other)
        if not eval_gradient:
            return 1.0 + drift
        if self.hyperparameter_drift_variance.fixed:
            return 1.0 + drift, np.empty((*drift.shape, 0))
        # theta is log(drift_variance), so the drift is its own derivative.
        return 1.0 + drift, drift[:, :, np.newaxis]

    def diag(self, X: ArrayLike) -> Array:
        """Return the prior variances at rows.

        Parameters
        ----------
        X : array-like of shape (n, n_columns)

        Returns
        -------
        ndarray of shape (n,)
        """
        return 1.0 + self.drift_variance * self.elapsed(X)

    def __repr__(self):
        drift, start = self.drift_variance, self.start
        start = format(start, ".10g") if isinstance(start, Real) else start
        return f"{type(self).__name__}(drift_variance={drift:.3g}, start={start})"


class Empirical(Kernel):
    """Covariance of finitely many arms, given as a matrix: k(i, j) = ``covariance[i, j]``.

    For arms without informative coordinates: sensors in a building, web pages, channels. The matrix
    is usually estimated from earlier data, as in the experiments of TVGP. The kernel has no
    hyperparameters.

    Parameters
    ----------
    covariance : array-like of shape (m, m)
        Symmetric and positive semi-definite, up to rounding. Points are the arms' indices 0, 1,
        ..., m - 1, as floats in one column.

    Raises
    ------
    ValueError
        When called: ``covariance`` is not a covariance matrix, or a point is not an index of it.

    Notes
    -----
    With ``signal_variance=1.0, signal_variance_bounds="fixed"``, a
    `~sktvbo.gaussian_process.TimeVaryingGPRegressor` uses the matrix unscaled.

    References
    ----------
    I. Bogunovic, J. Scarlett, V. Cevher, "Time-Varying Gaussian Process Bandit Optimization",
    AISTATS 2016 (TVGP), section 5.

    Examples
    --------
    An observation of one arm informs about correlated arms:

    >>> from sktvbo import TimeVaryingGPRegressor
    >>> from sktvbo.kernels import Empirical, Forgetting
    >>> arms = Empirical([[1.0, 0.8, 0.0], [0.8, 1.0, 0.0], [0.0, 0.0, 1.0]])
    >>> gp = TimeVaryingGPRegressor(arms, Forgetting(0.1), optimizer=None)
    >>> gp.fit([[0, 5.0]], [1.0]).predict([[0, 5.0], [1, 5.0], [2, 5.0]]).round(2)  # arm, time
    array([0.99, 0.79, 0.  ])
    """

    def __init__(self, covariance: ArrayLike) -> None:
        self.covariance = covariance

    # scikit-learn compares parameters with !=, which fails on arrays of different sizes.
    def __eq__(self, other):
        return type(self) is type(other) and np.array_equal(self.covariance, other.covariance)

    __hash__ = None

    def is_stationary(self) -> bool:
        """Return False: indices have no distances."""
        return False

    def _matrix(self):
        """Return the validated covariance (m, m)."""
        C = np.asarray(self.covariance)
        if C.ndim != 2 or C.shape[0] != C.shape[1] or C.size == 0 or C.dtype.kind not in "iuf":
            got = f"shape {C.shape}, dtype {C.dtype}"
            raise invalid("covariance", "a square matrix of real numbers", owner=self, got=got)
        rounding = np.finfo(C.dtype if C.dtype.kind == "f" else float).eps
        C = np.ascontiguousarray(C, dtype=np.float64)
        _check_covariance(C.tobytes(), len(C), float(rounding))
        return C

    def _index(self, X, m):
        """Return points X (n, 1) as indices (n,)."""
        x = _one_column(X, "indices of Empirical")
        wrong = ~((x == np.rint(x)) & (x >= 0) & (x < m))
        if wrong.any():
            got = f"{x[wrong][0]}"
            raise invalid("indices of Empirical", f"whole numbers from 0 to {m - 1}", got=got)
        return x.astype(np.intp)

    @overload
    def __call__(
        self, X: ArrayLike, Y: ArrayLike | None = None, eval_gradient: Literal[False] = False
    ) -> Array: ...
    @overload
    def __call__(
        self, X: ArrayLike, Y: None = None, *, eval_gradient: Literal[True]
    ) -> tuple[Array, Array]: ...
    @overload
    def __call__(
        self, X: ArrayLike, Y: ArrayLike | None = None, eval_gradient: bool = False
    ) -> Array | tuple[Array, Array]: ...
    def __call__(
        self, X: ArrayLike, Y: ArrayLike | None = None, eval_gradient: bool = False
    ) -> Array | tuple[Array, Array]:
        _check_gradient(Y, eval_gradient)
        C = self._matrix()
        rows = self._index(X, len(C))
        K = C[np.ix_(rows, rows if Y is None else self._index(Y, len(C)))]
        return (K, np.empty((*K.shape, 0))) if eval_gradient else K

    def diag(self, X: ArrayLike) -> Array:
        """Return the prior variances at rows.

        Parameters
        ----------
        X : array-like of shape (n, n_columns)

        Returns
        -------
        ndarray of shape (n,)
        """
        C = self._matrix()
        return np.diagonal(C)[self._index(X, len(C))]

    def convolution(self, X: ArrayLike, Y: ArrayLike | None = None) -> Array:
        """Return Σ_m k(x, m) k(y, m) over the arms m, for relevancies.

        Parameters
        ----------
        X : array-like of shape (n, 1)
            Indices.
        Y : array-like of shape (k, 1), default=None
            None: X.

        Returns
        -------
        convolution : ndarray of shape (n, k)
        """
        C = self._matrix()
        rows = C[self._index(X, len(C))]
        return rows @ (rows if Y is None else C[self._index(Y, len(C))]).T

    def __repr__(self):
        # Error messages use the repr, so it must not fail on a ragged list.
        C = self.covariance
        shape = C.shape if hasattr(C, "shape") else np.asarray(C, dtype=object).shape
        return f"{type(self).__name__}(covariance of shape {shape})"


# Each likelihood clones the kernel: an eigendecomposition per clone would dominate the cost.
@lru_cache(maxsize=4)
def _check_covariance(data, m, rounding):
    """Raise unless the (m, m) matrix of these bytes is a covariance matrix up to rounding."""
    C = np.frombuffer(data).reshape(m, m)
    if not np.isfinite(C).all():
        got = f"{C[~np.isfinite(C)][0]} among its entries"
        raise invalid("covariance", "finite", owner="Empirical", got=got)
    skew = np.abs(C - C.T)
    if skew.max() > 10.0 * rounding * np.abs(C).max():
        i, j = np.unravel_index(skew.argmax(), C.shape)
        got = f"{C[i, j]} at ({i}, {j}) and {C[j, i]} at ({j}, {i})"
        raise invalid("covariance", "symmetric", owner="Empirical", got=got)
    eigenvalues = np.linalg.eigvalsh(C)
    if eigenvalues[0] < -10.0 * m * rounding * np.abs(eigenvalues).max():
        expected, got = "positive semi-definite", f"a smallest eigenvalue of {eigenvalues[0]:.3g}"
        advice = "Add its absolute value to the diagonal."
        raise invalid("covariance", expected, owner="Empirical", got=got, advice=advice)


def _check_gradient(Y, eval_gradient):
    if Y is not None and eval_gradient:
        raise invalid("eval_gradient", "False unless Y is None", eval_gradient)


def _one_column(X, name):
    """Return points X (n, 1) as (n,), in double precision."""
    X = np.atleast_2d(np.asarray(X, dtype=np.float64))
    if X.shape[1] != 1:
        raise invalid(name, "one column, of shape (n, 1)", got=f"shape {X.shape}")
    return X[:, 0]


class ProportionalMatern(Matern):
    """Matérn kernel with lengthscales in fixed ratios within groups of columns.

    With one group, the default over columns in different units, with the ratios of their extents.
    Optimizers have a group for each parameter, as a category has several columns.

    Parameters
    ----------
    length_scale : array-like of shape (d,)
        In the units of the columns. The logarithms of the largest of each group are the
        hyperparameters.
    length_scale_bounds : pair of floats, array (n_groups, 2) or "fixed", default=(1e-5, 1e5)
        Bounds of the largest.
    nu : float, default=1.5
    groups : sequence of int, default=(0,)
        First column of each group, in increasing order.
    """

    def __init__(
        self,
        length_scale: ArrayLike = 1.0,
        length_scale_bounds: Any = (1e-5, 1e5),
        nu: float = 1.5,
        groups: Sequence[int] = (0,),
    ) -> None:
        super().__init__(length_scale, length_scale_bounds, nu)
        self.groups = groups

    @property
    def hyperparameter_length_scale(self) -> Hyperparameter:
        bounds = self.length_scale_bounds
        n = 1 if isinstance(bounds, str) else len(self.groups)
        return Hyperparameter("length_scale", "numeric", bounds, n)

    @property
    def theta(self) -> Array:
        if self.hyperparameter_length_scale.fixed:
            return np.empty(0)
        return np.log(np.maximum.reduceat(self.length_scale, self.groups))

    @theta.setter
    def theta(self, theta: ArrayLike) -> None:
        if not self.hyperparameter_length_scale.fixed:
            lengths = np.asarray(self.length_scale, dtype=np.float64)
            self.length_scale = rescaled_groups(lengths, self.groups, np.exp(theta))

    @overload
    def __call__(
        self, X: ArrayLike, Y: ArrayLike | None = None, eval_gradient: Literal[False] = False
    ) -> Array: ...
    @overload
    def __call__(
        self, X: ArrayLike, Y: None = None, *, eval_gradient: Literal[True]
    ) -> tuple[Array, Array]: ...
    @overload
    def __call__(
        self, X: ArrayLike, Y: ArrayLike | None = None, eval_gradient: bool = False
    ) -> Array | tuple[Array, Array]: ...
    def __call__(
        self, X: ArrayLike, Y: ArrayLike | None = None, eval_gradient: bool = False
    ) -> Any:
        if not eval_gradient:
            return super().__call__(X, Y)
        K, slopes = super().__call__(X, Y, eval_gradient=True)
        if self.hyperparameter_length_scale.fixed:
            return K, slopes[:, :, :0]
        return K, np.add.reduceat(slopes, self.groups, axis=2)


def rescaled_groups(lengths: Array, groups: Sequence[int], largest: Array) -> Array:
    """Return lengthscales (d,) with other largest ones in each group, in the same ratios."""
    widths = np.diff([*groups, len(lengths)])
    ratios = lengths / np.repeat(np.maximum.reduceat(lengths, groups), widths)
    return ratios * np.repeat(largest, widths)


# Mean radius of the Earth, in kilometres.
_RADIUS = 6371.0


class ChordalMatern(Matern):
    r"""Matérn kernel on the Earth: latitude and longitude in degrees, lengthscale in kilometres.

    A function of the great-circle distance ζ through the chord :math:`2 R \sin(\zeta / 2 R)`, the
    straight line between both points, with R = 6371 km. It is a covariance for every ``nu``; the
    Matérn function of ζ itself is one for ``nu`` up to 0.5 only. The chord is shorter than ζ by
    0.1 % at 1000 km, 1 % at 3100 km and 36 % at the antipodes.

    Parameters
    ----------
    length_scale : float, default=1000.0
        In kilometres.
    length_scale_bounds : pair of floats or "fixed", default=(1.0, 1e5)
    nu : float, default=1.5
        Smoothness, as in scikit-learn's ``Matern``.

    Raises
    ------
    ValueError
        When called: other than two columns, a latitude beyond ±90, a longitude beyond ±360, or
        several lengthscales.

    Notes
    -----
    Longitudes may be of either convention, -180 to 180 or 0 to 360. The kernel is the "Yadrenko"
    model of GSTools with ``latlon=True``. For relevancies the Earth is a plane with the same
    distances: for lengthscales up to 2000 km their convolutions differ from the integral by at most
    2 % of its largest value. With a sum or product in time there is no compiled code, which is
    slower. Optimizers refuse the kernel, as they scale inputs to the unit box. With an altitude as
    third column, ``Separable(ChordalMatern(), Matern(500.0, (1.0, 1e5)))`` is a kernel in space,
    with lengthscales in kilometres and in units of the altitude, without relevancies.

    References
    ----------
    T. Gneiting, "Strictly and non-strictly positive definite functions on spheres", Bernoulli 2013.

    Examples
    --------
    >>> from sktvbo.kernels import ChordalMatern
    >>> paris, tokyo = [48.86, 2.35], [35.68, 139.69]
    >>> ChordalMatern(5000.0, nu=0.5)([paris], [tokyo, [-90.0, 0.0], [-90.0, 77.0]]).round(3)
    array([[0.172, 0.092, 0.092]])
    """

    def __init__(
        self,
        length_scale: float = 1000.0,
        length_scale_bounds: Bounds = (1.0, 1e5),
        nu: float = 1.5,
    ) -> None:
        super().__init__(length_scale, length_scale_bounds, nu)

    def is_stationary(self) -> bool:
        """Return False: differences in degrees are not distances."""
        return False

    def positions(self, X: ArrayLike) -> Array:
        """Return locations as points in space.

        Parameters
        ----------
        X : array-like of shape (n, 2)
            Latitude and longitude in degrees.

        Returns
        -------
        positions : ndarray of shape (n, 3)
            In kilometres, from the centre of the Earth.

        Raises
        ------
        ValueError
            As for a call of the kernel.
        """
        X = np.atleast_2d(np.asarray(X, dtype=np.float64))
        if X.shape[1] != 2:
            expected = "two columns, latitude and longitude"
            raise invalid("locations of ChordalMatern", expected, got=f"{X.shape[1]} columns")
        if np.ndim(self.length_scale):
            raise invalid("length_scale", "one number, in km", self.length_scale, self)
        for column, name, largest in zip(X.T, ("latitudes", "longitudes"), (90.0, 360.0)):
            wrong = ~(np.abs(column) <= largest)
            if wrong.any():
                expected = f"degrees within ±{largest:g}"
                advice = "The order is latitude, longitude."
                raise invalid(name, expected, float(column[wrong][0]), advice=advice)
        latitude, longitude = np.deg2rad(X.T)
        across = np.cos(latitude)
        parts = across * np.cos(longitude), across * np.sin(longitude), np.sin(latitude)
        return _RADIUS * np.column_stack(parts)

    @overload
    def __call__(
        self, X: ArrayLike, Y: ArrayLike | None = None, eval_gradient: Literal[False] = False
    ) -> Array: ...
    @overload
    def __call__(
        self, X: ArrayLike, Y: None = None, *, eval_gradient: Literal[True]
    ) -> tuple[Array, Array]: ...
    @overload
    def __call__(
        self, X: ArrayLike, Y: ArrayLike | None = None, eval_gradient: bool = False
    ) -> Array | tuple[Array, Array]: ...
    def __call__(
        self, X: ArrayLike, Y: ArrayLike | None = None, eval_gradient: bool = False
    ) -> Array | tuple[Array, Array]:
        # A kernel of the points: for other values of nu, Matern's gradient calls a copy of itself.
        of_points = Matern(self.length_scale, self.length_scale_bounds, self.nu)
        return of_points(self.positions(X), None if Y is None else self.positions(Y), eval_gradient)


class Separable(Kernel):
    """Product of a kernel over the spatial columns and a kernel over the time column.

    k((x, t), (x', t')) = k_S(x, x') k_T(t, t'); k_T alone if time is the only column.

    Parameters
    ----------
    spatial, temporal : Kernel
        Any scikit-learn kernels; ``temporal`` receives one column.
    time_column : int, default=-1
        Position of time among the columns of X.

    Notes
    -----
    theta is that of ``spatial`` followed by that of ``temporal``. The parameters are
    ``spatial__...`` and ``temporal__...``. The kernel is that of W-DBO assumption 3.2 without the
    factor λ: multiply by a ``ConstantKernel`` to add it.

    Examples
    --------
    >>> from sklearn.gaussian_process import GaussianProcessRegressor
    >>> from sklearn.gaussian_process.kernels import RBF, Matern
    >>> from sktvbo.kernels import Separable
    >>> kernel = Separable(Matern(nu=2.5), RBF(length_scale=3.0))
    >>> X = [[0.1, 0.0], [0.4, 1.0], [0.9, 2.0]]
    >>> gpr = GaussianProcessRegressor(1.0 * kernel, alpha=0.01, optimizer=None)
    >>> gpr.fit(X, [0.0, 1.0, 0.5]).predict([[0.4, 1.0]]).round(3)
    array([0.916])
    """

    def __init__(self, spatial: Kernel, temporal: Kernel, time_column: int | str = -1) -> None:
        self.spatial = spatial
        self.temporal = temporal
        self.time_column = time_column

    def _factors(self):
        return ("spatial", self.spatial), ("temporal", self.temporal)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters and those of the kernels.

        Parameters
        ----------
        deep : bool, default=True
            Include those of the kernels, prefixed with their name and two underscores.

        Returns
        -------
        dict
        """
        params = super().get_params(deep=False)
        for name, kernel in self._factors() if deep else ():
            params |= {f"{name}__{k}": v for k, v in kernel.get_params().items()}
        return params

    @property
    def hyperparameters(self) -> list[Hyperparameter]:
        """Names and bounds of the hyperparameters of both kernels."""
        return [
            Hyperparameter(f"{name}__{h.name}", h.value_type, h.bounds, h.n_elements)
            for name, kernel in self._factors()
            for h in kernel.hyperparameters
        ]

    @property
    def theta(self) -> Array:
        """Logarithms of the hyperparameters, first the spatial ones."""
        return np.append(self.spatial.theta, self.temporal.theta)

    @theta.setter
    def theta(self, theta: ArrayLike) -> None:
        n_dims = self.spatial.n_dims
        self.spatial.theta, self.temporal.theta = theta[:n_dims], theta[n_dims:]

    @property
    def bounds(self) -> Array:
        """Logarithms of the lower and upper bounds of the hyperparameters."""
        # scikit-learn's bounds without any hyperparameter have the shape (0,).
        return np.vstack([kernel.bounds.reshape(-1, 2) for _, kernel in self._factors()])

    def __eq__(self, other):
        if type(self) is not type(other):
            return False
        return self.get_params(deep=False) == other.get_params(deep=False)

    __hash__ = None

    def is_stationary(self) -> bool:
        """Return True if both kernels are stationary.

        Returns
        -------
        bool
        """
        return self.spatial.is_stationary() and self.temporal.is_stationary()

    @property
    def requires_vector_input(self) -> bool:
        """True: rows are vectors."""
        return True

    def __repr__(self):
        return f"Separable({self.spatial}, {self.temporal})"

    @overload
    def __call__(
        self, X: ArrayLike, Y: ArrayLike | None = None, eval_gradient: Literal[False] = False
    ) -> Array: ...
    @overload
    def __call__(
        self, X: ArrayLike, Y: None = None, *, eval_gradient: Literal[True]
    ) -> tuple[Array, Array]: ...
    @overload
    def __call__(
        self, X: ArrayLike, Y: ArrayLike | None = None, eval_gradient: bool = False
    ) -> Array | tuple[Array, Array]: ...
    def __call__(
        self, X: ArrayLike, Y: ArrayLike | None = None, eval_gradient: bool = False
    ) -> Array | tuple[Array, Array]:
        _check_gradient(Y, eval_gradient)
        X, t = split_time(X, self.time_column)
        Y, s = (None, None) if Y is None else split_time(Y, self.time_column)
        if X.shape[1] == 0:
            if not eval_gradient:
                return self.temporal(t, s)
            K_T, slope_T = self.temporal(t, eval_gradient=True)
            return K_T, np.dstack([np.zeros((*K_T.shape, self.spatial.n_dims)), slope_T])
        if not eval_gradient:
            return self.spatial(X, Y) * self.temporal(t, s)
        K_S, slope_S = self.spatial(X, eval_gradient=True)
        K_T, slope_T = self.temporal(t, eval_gradient=True)
        slopes = np.dstack([slope_S * K_T[:, :, np.newaxis], slope_T * K_S[:, :, np.newaxis]])
        return K_S * K_T, slopes

    def diag(self, X: ArrayLike) -> Array:
        """Return the prior variances at rows.

        Parameters
        ----------
        X : array-like of shape (n, n_columns)

        Returns
        -------
        ndarray of shape (n,)
        """
        X, t = split_time(X, self.time_column)
        if X.shape[1] == 0:
            return self.temporal.diag(t)
        return self.spatial.diag(X) * self.temporal.diag(t)


def split_time(X: ArrayLike, time_column: int | str = -1):
    """Return the columns of X (n, d + 1) as space (n, d) and time (n, 1)."""
    X = np.atleast_2d(X)
    n_columns = X.shape[1]
    column = check_int(
        time_column,
        "time_column",
        low=-n_columns,
        high=n_columns - 1,
        advice="It is a position among the columns of X; -1 is the last.",
    )
    column %= n_columns
    return np.delete(X, column, axis=1), X[:, column : column + 1]


# Start and bounds of a season's variance relative to the kernel without it, of its periodic
# lengthscale, and of the lengthscale over which its shape changes, in periods.
_AMPLITUDE = 0.1, (1e-3, 10.0)
_SMOOTHNESS = 1.0, (0.1, 10.0)
_DECAY = 10.0, (2.0, 1000.0)


def with_seasons(
    kernel: Kernel, *periods: float | str | timedelta | np.timedelta64, time_unit: str | None = None
) -> Kernel:
    """Return a temporal kernel with a season of each period added.

    A season is a * Matérn 3/2 (decay) * ``ExpSineSquared`` (smoothness, period): a function of the
    period whose shape changes slowly. Periods are fixed; a, smoothness and decay are learnt.

    Parameters
    ----------
    kernel : Kernel
        Kernel of the part that is not periodic.
    *periods : float, duration or str
        Distinct periods, one argument each: numbers in the unit of time, durations, or strings
        such as "1D" and "90 min".
    time_unit : {"ns", "us", "ms", "s", "min", "h", "D", "W"}, default=None
        ``time_unit`` of the regressor; needed for durations and strings.

    Returns
    -------
    kernel : Kernel
        Sum of the given kernel and a term for each period. Its hyperparameters are those of the
        given kernel, then for each period a, decay and smoothness.

    Raises
    ------
    ValueError
        No kernel is given; a period is not positive, or given twice; a duration without unit.

    See Also
    --------
    season_priors : Priors of these hyperparameters.

    References
    ----------
    C. E. Rasmussen, C. K. I. Williams, "Gaussian Processes for Machine Learning", MIT Press 2006,
    eq. 5.16: the quasi-periodic kernel.

    Examples
    --------
    >>> from sklearn.gaussian_process.kernels import Matern
    >>> from sktvbo.kernels import with_seasons
    >>> daily = with_seasons(Matern(length_scale=6.0, nu=2.5), 24.0)     # hours
    >>> print(daily.k2)
    0.316**2 * Matern(length_scale=240, nu=1.5) * ExpSineSquared(length_scale=1, periodicity=24)
    >>> daily == with_seasons(Matern(length_scale=6.0, nu=2.5), "1D", time_unit="h")
    True
    """
    if not isinstance(kernel, Kernel):
        expected = "a scikit-learn kernel, for the part that is not periodic"
        raise invalid("kernel", expected, kernel, advice="Give one, such as Matern(nu=1.5).")
    for period in _numeric_periods(periods, time_unit):
        kernel = kernel + season(period, *_SMOOTHNESS)
    return kernel


def season(period: float, smoothness: float, bounds: Bounds) -> Kernel:
    """Return the term of a period in `with_seasons`, with a start and bounds of its smoothness."""
    decay, (low, high) = _DECAY
    slow = Matern(period * decay, (period * low, period * high), nu=1.5)
    return ConstantKernel(*_AMPLITUDE) * slow * ExpSineSquared(smoothness, period, bounds, "fixed")


def season_priors(
    *periods: float | str | timedelta | np.timedelta64, time_unit: str | None = None
) -> dict[str, Any]:
    """Return priors of the hyperparameters that `with_seasons` adds, by name.

    The variance a, relative to the kernel without season, is exponential with mean 0.5: a season
    has to be likelier than none. Smoothness is log-normal with median 1 and spread 0.5, the decay
    log-normal with median 10 periods and spread 1.

    Parameters
    ----------
    *periods : float, duration or str
        As for `with_seasons`.
    time_unit : str, default=None
        As for `with_seasons`.

    Returns
    -------
    priors : dict of str to distribution
        For ``hyperpriors`` of `~sktvbo.gaussian_process.TimeVaryingGPRegressor`.

    Raises
    ------
    ValueError
        As `with_seasons`.
    """
    priors = {}
    for i, period in enumerate(_numeric_periods(periods, time_unit)):
        season = "temporal_kernel__" + "k1__" * (len(periods) - 1 - i) + "k2__"
        priors |= {
            f"{season}k1__k1__constant_value": Exponential(0.5),
            f"{season}k1__k2__length_scale": LogNormal(_DECAY[0] * period, 1.0),
            f"{season}k2__length_scale": LogNormal(_SMOOTHNESS[0], 0.5),
        }
    return priors


def _numeric_periods(periods, unit):
    """Return periods as floats in a unit of time; None: they are numbers already."""
    if unit is not None:
        check_time_unit(unit)
    numbers = [number_of_period(period, unit) for period in periods]
    for period, number in zip(periods, numbers):
        if number is None:
            advice = "Give several periods as several arguments." * isinstance(period, list | tuple)
            if unit is None and number_of_period(period, "s") is not None:
                advice = f"Give time_unit, that of the regressor: {period!r} needs it."
            raise invalid("A period", PERIOD, period, advice=advice)
    if len(set(numbers)) < len(numbers):
        raise invalid("The periods", "distinct", got=f"{numbers}")
    return numbers


@dataclass(frozen=True)
class Exponential:
    """Exponential distribution, whose density takes a tenth of the time of SciPy's."""

    mean: float

    def logpdf(self, x: Array) -> Array:
        """Return the log density at positive x."""
        return -np.asarray(x) / self.mean - np.log(self.mean)

    def log_slope(self, x: Array) -> Array:
        """Return the derivative of the log density in log x, at positive x."""
        return -np.asarray(x) / self.mean


@cache
def _log_of_root(spread):
    """Return the logarithm of √(2π) times a standard deviation."""
    return np.log(spread * np.sqrt(2.0 * np.pi))


@dataclass(frozen=True)
class LogNormal:
    """Log-normal distribution, whose density takes a tenth of the time of SciPy's."""

    median: float
    spread: float

    def logpdf(self, x: Array) -> Array:
        """Return the log density at positive x."""
        z = np.log(np.asarray(x) / self.median) / self.spread
        return -0.5 * z * z - np.log(x) - _log_of_root(self.spread)

    def log_slope(self, x: Array) -> Array:
        """Return the derivative of the log density in log x, at positive x."""
        return -np.log(np.asarray(x) / self.median) / self.spread**2 - 1.0
