"""Temporal kernels that scikit-learn lacks, and the separable space-time product.

All are ``sklearn.gaussian_process.kernels.Kernel`` objects: they work in scikit-learn's own
``GaussianProcessRegressor``, in sums and products, and in grid searches.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.gaussian_process.kernels import (
    RBF,
    ConstantKernel,
    Hyperparameter,
    Kernel,
    Matern,
    NormalizedKernelMixin,
    StationaryKernelMixin,
)

from ._fast.gram import Family
from .exceptions import UnsupportedKernelError

__all__ = ["Empirical", "Forgetting", "Separable", "Wiener"]


class Forgetting(StationaryKernelMixin, NormalizedKernelMixin, Kernel):
    r"""Forgetting at a constant rate: :math:`k(t, t') = (1 - \epsilon)^{|t - t'| / 2}`.

    The covariance in time of the Markov model f_{t+1} = √(1-ε) f_t + √ε g_{t+1}, with g_t
    independent draws from the spatial process. It equals
    ``Matern(nu=0.5, length_scale=-2 / log(1 - epsilon))``; ε → 0 is a static function, ε → 1 one
    that is independent in time.

    Parameters
    ----------
    epsilon : float in (0, 1), default=0.03
        Forgetting rate per unit of time.
    epsilon_bounds : pair of floats in (0, 1) or "fixed", default=(1e-4, 0.9)
        Bounds of the search when ``epsilon`` is learnt from data.

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

    def __init__(self, epsilon=0.03, epsilon_bounds=(1e-4, 0.9)):
        self.epsilon = epsilon
        self.epsilon_bounds = epsilon_bounds

    @property
    def hyperparameter_epsilon(self):
        return Hyperparameter("epsilon", "numeric", self.epsilon_bounds)

    @property
    def length_scale(self):
        """Lengthscale of the equal Matérn-1/2 kernel, in units of time."""
        bounds = self.hyperparameter_epsilon
        if not bounds.fixed and not np.all((bounds.bounds > 0.0) & (bounds.bounds < 1.0)):
            raise ValueError(
                "The 'epsilon_bounds' parameter of Forgetting must be 'fixed' or a pair in (0, 1). "
                f"Got {self.epsilon_bounds!r} instead."
            )
        if not 0.0 < self.epsilon < 1.0:
            raise ValueError(
                f"The 'epsilon' parameter of Forgetting must lie in (0, 1). Got {self.epsilon!r} "
                "instead. For a static function use ConstantKernel(1.0, 'fixed')."
            )
        return -2.0 / np.log1p(-self.epsilon)

    def __call__(self, X, Y=None, eval_gradient=False):
        X = np.atleast_2d(X)
        if Y is not None and eval_gradient:
            raise ValueError("Gradient can only be evaluated when Y is None.")
        age = cdist(X, X if Y is None else Y, metric="cityblock")
        K = np.exp(-age / self.length_scale)
        if not eval_gradient:
            return K
        if self.hyperparameter_epsilon.fixed:
            return K, np.empty((*K.shape, 0))
        # TVGP appendix B, times epsilon: theta is log(epsilon).
        slope = -self.epsilon / (1.0 - self.epsilon) * (age / 2.0) * K
        return K, slope[:, :, np.newaxis]

    def __repr__(self):
        return f"{type(self).__name__}(epsilon={self.epsilon:.3g})"


class Wiener(Kernel):
    r"""Uncertainty that grows for ever: :math:`k(t, t') = 1 + \sigma_w^2 (\min(t, t') - t_0)`.

    The covariance of a function that starts as a draw from the spatial process and then takes a
    random walk, f_{t+1} = f_t + σ_w g_{t+1}, with g_t independent draws from the spatial process.
    After the last observation the posterior mean stays as it is, and the posterior variance grows
    by σ_w² k_S per unit of time, where a stationary kernel goes back to the prior.

    Parameters
    ----------
    drift_variance : float, default=0.03
        σ_w², variance added per unit of time, relative to the spatial variance.
    drift_variance_bounds : pair of floats or "fixed", default=(1e-5, 1e1)
        Bounds of the search when ``drift_variance`` is learnt from data.
    start : float, default=0.0
        t_0, in the units and from the origin of the data's times; no time may lie before it.

    Raises
    ------
    ValueError
        When called with times before ``start``, or with other than one column, or if
        ``drift_variance`` is not positive and finite.

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

    def __init__(self, drift_variance=0.03, drift_variance_bounds=(1e-5, 1e1), start=0.0):
        self.drift_variance = drift_variance
        self.drift_variance_bounds = drift_variance_bounds
        self.start = start

    @property
    def hyperparameter_drift_variance(self):
        return Hyperparameter("drift_variance", "numeric", self.drift_variance_bounds)

    def is_stationary(self):
        """False: the variance depends on the time since ``start``."""
        return False

    def _elapsed(self, X):
        """Times X (n, 1) since the start, (n,)."""
        if not 0.0 < self.drift_variance < np.inf:
            raise ValueError(
                "The 'drift_variance' parameter of Wiener must be positive and finite. "
                f"Got {self.drift_variance!r} instead. For a static function use "
                "ConstantKernel(1.0, 'fixed')."
            )
        t = _one_column(X, "Wiener", "times")
        # Negated, so that NaN is an error too.
        if not np.all(t >= self.start):
            raise ValueError(
                f"Wiener starts at start={self.start!r}: all times must be at or after it. "
                f"Got times from {t.min()}. Set start to the earliest time, or before."
            )
        return t - self.start

    def __call__(self, X, Y=None, eval_gradient=False):
        if Y is not None and eval_gradient:
            raise ValueError("Gradient can only be evaluated when Y is None.")
        elapsed = self._elapsed(X)
        other = elapsed if Y is None else self._elapsed(Y)
        drift = self.drift_variance * np.minimum.outer(elapsed, other)
        if not eval_gradient:
            return 1.0 + drift
        if self.hyperparameter_drift_variance.fixed:
            return 1.0 + drift, np.empty((*drift.shape, 0))
        # theta is log(drift_variance), in which the drift is its own derivative.
        return 1.0 + drift, drift[:, :, np.newaxis]

    def diag(self, X):
        return 1.0 + self.drift_variance * self._elapsed(X)

    def __repr__(self):
        name = type(self).__name__
        return f"{name}(drift_variance={self.drift_variance:.3g}, start={self.start:.10g})"


class Empirical(Kernel):
    """Covariance of finitely many arms, given as a matrix: k(i, j) = ``covariance[i, j]``.

    For arms without coordinates, or whose coordinates say little: sensors in a building, web pages,
    channels. The matrix is usually estimated from earlier data, as in the experiments of TVGP. It
    has no hyperparameters.

    Parameters
    ----------
    covariance : array-like (m, m)
        Symmetric and positive semi-definite, up to rounding. Points are the arms' indices 0, 1,
        ..., m - 1, as floats in one column.

    Raises
    ------
    ValueError
        When called, if ``covariance`` is no covariance matrix, or the points are no indices of it.

    Notes
    -----
    With ``signal_variance=1.0, signal_variance_bounds="fixed"``, ``TimeVaryingGPRegressor`` takes
    the matrix in the units that it is in.

    References
    ----------
    I. Bogunovic, J. Scarlett, V. Cevher, "Time-Varying Gaussian Process Bandit Optimization",
    AISTATS 2016 (TVGP), section 5.

    Examples
    --------
    What is observed at one arm says something of the arms that vary with it:

    >>> from sktvbo import TimeVaryingGPRegressor
    >>> from sktvbo.kernels import Empirical, Forgetting
    >>> arms = Empirical([[1.0, 0.8, 0.0], [0.8, 1.0, 0.0], [0.0, 0.0, 1.0]])
    >>> gp = TimeVaryingGPRegressor(arms, Forgetting(0.1), optimizer=None)
    >>> gp.fit([[0, 5.0]], [1.0]).predict([[0, 5.0], [1, 5.0], [2, 5.0]]).round(2)  # arm, time
    array([0.99, 0.79, 0.  ])
    """

    def __init__(self, covariance):
        self.covariance = covariance

    # scikit-learn's compares by !=, which fails on arrays of different sizes.
    def __eq__(self, other):
        return type(self) is type(other) and np.array_equal(self.covariance, other.covariance)

    __hash__ = None

    def is_stationary(self):
        """False: indices have no distances."""
        return False

    def _matrix(self):
        """The validated covariance (m, m)."""
        C = np.asarray(self.covariance)
        if C.ndim != 2 or C.shape[0] != C.shape[1] or C.size == 0 or C.dtype.kind not in "iuf":
            raise ValueError(
                "The 'covariance' parameter of Empirical must be a square matrix of real numbers. "
                f"Got shape {C.shape}, dtype {C.dtype} instead."
            )
        rounding = np.finfo(C.dtype if C.dtype.kind == "f" else float).eps
        C = np.ascontiguousarray(C, dtype=np.float64)
        _check_covariance(C.tobytes(), len(C), float(rounding))
        return C

    def _index(self, X, m):
        """Points X (n, 1) as indices (n,)."""
        x = _one_column(X, "Empirical", "indices")
        wrong = ~((x == np.rint(x)) & (x >= 0) & (x < m))
        if wrong.any():
            raise ValueError(
                f"Points of Empirical are indices of its arms: integers from 0 to {m - 1}. "
                f"Got {x[wrong][0]}."
            )
        return x.astype(np.intp)

    def __call__(self, X, Y=None, eval_gradient=False):
        if Y is not None and eval_gradient:
            raise ValueError("Gradient can only be evaluated when Y is None.")
        C = self._matrix()
        rows = self._index(X, len(C))
        K = C[np.ix_(rows, rows if Y is None else self._index(Y, len(C)))]
        return (K, np.empty((*K.shape, 0))) if eval_gradient else K

    def diag(self, X):
        C = self._matrix()
        return np.diagonal(C)[self._index(X, len(C))]

    def convolution(self, X, Y=None):
        """Σ_m k(x, m) k(y, m) over the arms m, of which relevancies are made.

        Parameters
        ----------
        X : array-like (n, 1)
            Indices.
        Y : array-like (k, 1), default=None
            None is X.

        Returns
        -------
        convolution : ndarray (n, k)
        """
        C = self._matrix()
        rows = C[self._index(X, len(C))]
        return rows @ (rows if Y is None else C[self._index(Y, len(C))]).T

    def __repr__(self):
        # A list may be ragged: the repr is for error messages, and must not raise one.
        C = self.covariance
        shape = C.shape if hasattr(C, "shape") else np.asarray(C, dtype=object).shape
        return f"{type(self).__name__}(covariance of shape {shape})"


# Kernels are cloned for every likelihood; an eigendecomposition each time would dwarf the rest.
@lru_cache(maxsize=4)
def _check_covariance(data, m, rounding):
    """Raise unless the (m, m) matrix of these bytes is a covariance matrix up to rounding."""
    C = np.frombuffer(data).reshape(m, m)
    if not np.isfinite(C).all():
        raise ValueError(
            "The 'covariance' parameter of Empirical must be finite. "
            f"Got {C[~np.isfinite(C)][0]} among its entries."
        )
    skew = np.abs(C - C.T)
    if skew.max() > 10.0 * rounding * np.abs(C).max():
        i, j = np.unravel_index(skew.argmax(), C.shape)
        raise ValueError(
            "The 'covariance' parameter of Empirical must be symmetric. "
            f"Got {C[i, j]} at ({i}, {j}) and {C[j, i]} at ({j}, {i})."
        )
    eigenvalues = np.linalg.eigvalsh(C)
    if eigenvalues[0] < -10.0 * m * rounding * np.abs(eigenvalues).max():
        raise ValueError(
            "The 'covariance' parameter of Empirical must be positive semi-definite. "
            f"Got a smallest eigenvalue of {eigenvalues[0]:.3g}. Adding its size to the diagonal "
            "makes it so."
        )


def _one_column(X, kernel, content):
    """Points X (n, 1) as (n,), in double precision."""
    X = np.atleast_2d(np.asarray(X, dtype=np.float64))
    if X.shape[1] != 1:
        raise ValueError(
            f"{kernel} takes {content} in one column, shape (n, 1). Got shape {X.shape}."
        )
    return X[:, 0]


class Separable(Kernel):
    """Product of a kernel of the spatial columns and a kernel of the time column.

    k((x, t), (x', t')) = k_S(x, x') k_T(t, t'); with time as the only column, k_T alone.

    Parameters
    ----------
    spatial, temporal : Kernel
        Any scikit-learn kernels; ``temporal`` sees one column.
    time_column : int, default=-1
        Position of time among the columns of X.

    Notes
    -----
    theta is that of ``spatial`` followed by that of ``temporal``. Parameters are reached by
    ``spatial__...`` and ``temporal__...``. (W-DBO assumption 3.2, without the factor λ: multiply by
    a ``ConstantKernel``.)

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

    def __init__(self, spatial, temporal, time_column=-1):
        self.spatial = spatial
        self.temporal = temporal
        self.time_column = time_column

    def get_params(self, deep=True):
        params = {
            "spatial": self.spatial,
            "temporal": self.temporal,
            "time_column": self.time_column,
        }
        if deep:
            for name, kernel in self._factors():
                params |= {f"{name}__{k}": v for k, v in kernel.get_params().items()}
        return params

    def _factors(self):
        return (("spatial", self.spatial), ("temporal", self.temporal))

    @property
    def hyperparameters(self):
        return [
            Hyperparameter(f"{name}__{h.name}", h.value_type, h.bounds, h.n_elements)
            for name, kernel in self._factors()
            for h in kernel.hyperparameters
        ]

    @property
    def theta(self):
        return np.concatenate([self.spatial.theta, self.temporal.theta])

    @theta.setter
    def theta(self, theta):
        split = self.spatial.n_dims
        self.spatial.theta = theta[:split]
        self.temporal.theta = theta[split:]

    @property
    def bounds(self):
        bounds = [k.bounds for _, k in self._factors() if k.bounds.size]
        return np.vstack(bounds) if bounds else np.empty((0, 2))

    def __eq__(self, other):
        return (
            type(self) is type(other)
            and self.time_column == other.time_column
            and self.spatial == other.spatial
            and self.temporal == other.temporal
        )

    __hash__ = None

    def is_stationary(self):
        return self.spatial.is_stationary() and self.temporal.is_stationary()

    @property
    def requires_vector_input(self):
        return True

    def __call__(self, X, Y=None, eval_gradient=False):
        if Y is not None and eval_gradient:
            raise ValueError("Gradient can only be evaluated when Y is None.")
        X, t = split_time(X, self.time_column)
        Y, s = (None, None) if Y is None else split_time(Y, self.time_column)
        if X.shape[1] == 0:
            n_fixed = self.spatial.n_dims
            if not eval_gradient:
                return self.temporal(t, s)
            K_T, slope_T = self.temporal(t, eval_gradient=True)
            return K_T, np.dstack([np.zeros((*K_T.shape, n_fixed)), slope_T])
        if not eval_gradient:
            return self.spatial(X, Y) * self.temporal(t, s)
        K_S, slope_S = self.spatial(X, eval_gradient=True)
        K_T, slope_T = self.temporal(t, eval_gradient=True)
        slopes = np.dstack([slope_S * K_T[:, :, np.newaxis], slope_T * K_S[:, :, np.newaxis]])
        return K_S * K_T, slopes

    def diag(self, X):
        X, t = split_time(X, self.time_column)
        if X.shape[1] == 0:
            return self.temporal.diag(t)
        return self.spatial.diag(X) * self.temporal.diag(t)

    def __repr__(self):
        return f"{type(self).__name__}({self.spatial}, {self.temporal})"


def split_time(X, time_column=-1):
    """Columns of X (n, d + 1) as space (n, d) and time (n, 1)."""
    X = np.atleast_2d(X)
    n_columns = X.shape[1]
    if not -n_columns <= time_column < n_columns:
        raise ValueError(
            f"time_column={time_column} is not among the {n_columns} columns of X. "
            "Give a position between 0 and the number of columns less one, or -1 for the last."
        )
    column = time_column % n_columns
    return np.delete(X, column, axis=1), X[:, column : column + 1]


# --- Kernels that the compiled code knows ---------------------------------------------------------

_MATERN = {0.5: Family.MATERN12, 1.5: Family.MATERN32, 2.5: Family.MATERN52, np.inf: Family.RBF}

# Coordinates over lengthscale are multiplied by this: see _fast/gram.pyx.
_SCALE = {
    Family.CONSTANT: 1.0,
    Family.RBF: np.sqrt(0.5),
    Family.MATERN12: 1.0,
    Family.MATERN32: np.sqrt(3.0),
    Family.MATERN52: np.sqrt(5.0),
}

SUPPORTED = "RBF, Matern with nu in (0.5, 1.5, 2.5, inf) and, for time, Forgetting"


@dataclass(frozen=True)
class Factor:
    """A kernel that the compiled code knows: its family and lengthscales, free of its object.

    ``length_scales`` is (d,); ``log_slope`` is d log l / d theta, 1 but for ``Forgetting``;
    ``n_theta`` is 0 (fixed), 1 (one lengthscale for all dimensions) or d.
    """

    family: Family
    length_scales: np.ndarray
    n_theta: int
    forgetting: bool = False
    log_slope: float = 1.0

    def with_theta(self, theta):
        """The same factor with other hyperparameters, theta (n_theta,)."""
        if self.n_theta == 0:
            return self
        if self.forgetting:
            epsilon = np.exp(theta[0])
            return _forgetting_factor(epsilon, self.n_theta)
        scales = np.empty_like(self.length_scales)
        scales[:] = np.exp(theta)
        return Factor(self.family, scales, self.n_theta)

    def scale(self, X):
        """X (n, d) as (d, n) in the units of the compiled code, C-ordered."""
        factors = _SCALE[self.family] / self.length_scales
        return np.multiply(X.T, factors[:, np.newaxis], order="C")

    def fold(self, slopes):
        """Sums over the derivatives by log lengthscale (d,) as derivatives by theta (n_theta,)."""
        if self.n_theta == 0:
            return slopes[:0]
        if self.n_theta == 1:
            return np.array([slopes.sum() * self.log_slope])
        return slopes


def _forgetting_factor(epsilon, n_theta):
    log_keep = np.log1p(-epsilon)
    # l = -2 / log(1 - e):  d log l / d log e = e / ((1 - e) log(1 - e)).
    log_slope = epsilon / ((1.0 - epsilon) * log_keep)
    scales = np.array([-2.0 / log_keep])
    return Factor(Family.MATERN12, scales, n_theta, forgetting=True, log_slope=log_slope)


def recognize(kernel, n_dims):
    """The ``Factor`` of a kernel over ``n_dims`` columns, or None if only its own call will do.

    Exact types only: a subclass may compute anything.
    """
    kind = type(kernel)
    if kind is Forgetting:
        if n_dims != 1:
            return None
        _ = kernel.length_scale  # validates epsilon
        return _forgetting_factor(kernel.epsilon, 0 if kernel.hyperparameter_epsilon.fixed else 1)
    if kind is ConstantKernel:
        if not (kernel.hyperparameter_constant_value.fixed and kernel.constant_value == 1.0):
            return None
        return Factor(Family.CONSTANT, np.ones(n_dims), 0)
    if kind is RBF:
        family = Family.RBF
    elif kind is Matern and kernel.nu in _MATERN:
        family = _MATERN[kernel.nu]
    else:
        return None
    scales = np.atleast_1d(np.asarray(kernel.length_scale, dtype=np.float64))
    if scales.ndim > 1 or scales.size not in (1, n_dims):
        raise ValueError(
            f"{kernel} has {scales.size} lengthscales, but there are {n_dims} columns for it. "
            f"Give one lengthscale, or {n_dims}."
        )
    if not (np.all(np.isfinite(scales)) and np.all(scales > 0.0)):
        raise ValueError(f"Lengthscales must be positive and finite. Got {kernel}.")
    n_theta = 0 if kernel.hyperparameter_length_scale.fixed else scales.size
    return Factor(family, np.broadcast_to(scales, (n_dims,)).copy(), n_theta)


def recognize_or_raise(kernel, n_dims, purpose):
    """The ``Factor`` of a stationary kernel with a closed form for ``purpose``, or an error."""
    factor = recognize(kernel, n_dims)
    if factor is None or factor.family == Family.CONSTANT:
        reason = "it never forgets" if factor is not None else "no closed form is known for it"
        raise UnsupportedKernelError(
            f"{purpose} is not available for {kernel}: {reason}. Supported are {SUPPORTED}."
        )
    return factor


def temporal_length_scale(kernel):
    """Lengthscale l_T of a temporal kernel, in units of time."""
    return float(recognize_or_raise(kernel, 1, "A temporal lengthscale").length_scales[0])
