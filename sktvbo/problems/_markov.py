"""Samples of Gaussian processes on a grid of the unit cube that change with time."""

import math
import pickle
from functools import lru_cache, partial

import numpy as np
from scipy.linalg.lapack import dpstrf
from sklearn.gaussian_process.kernels import RBF, Kernel

from .._validation import check_int, check_real, invalid, real_array
from ..domain import FiniteSet
from ._base import STEP_SLACK, Problem, seed_of_function
from ._registry import member


def _grid(n_grid, n_dims):
    axes = np.meshgrid(*[np.linspace(0.0, 1.0, n_grid)] * n_dims, indexing="ij")
    return np.column_stack([axis.ravel() for axis in axes])


# The key is the pickle: scikit-learn's kernels have no hash, and their repr rounds to 3 digits.
@lru_cache(maxsize=2)
def _factor(pickled_kernel, n_grid, n_dims):
    """Return A (m, r) with A Aᵀ = k(grid, grid) up to 1e-12.

    Pivoted Cholesky stops at the numerical rank r, so a singular matrix needs no jitter. An RBF on
    2500 points has r = 275, which makes a draw nine times cheaper. Points of a symmetric grid are
    equally good pivots: rounding would choose between them, and each choice is another function.
    Distinct scales of the points decide.
    """
    K = pickle.loads(pickled_kernel)(_grid(n_grid, n_dims))
    scales = np.linspace(1.0, 2.0, len(K))[:, np.newaxis]
    L, pivots, rank, _ = dpstrf(scales * K * scales.T, lower=1)
    A = np.empty((len(K), rank))
    A[pivots - 1] = np.tril(L)[:, :rank]
    return A / scales


_grid_gp = partial(member, "_draw_function")


class GridGP(Problem):
    """Samples of a Gaussian process on a grid of the unit cube; a subclass defines the change.

    A subclass defines ``_at(t, index)`` and ``_draw_function()``, which may have further
    keyword-only options and draws by ``_samples(n)``. The samples come from a separate stream,
    derived from ``random_state``: they and the noise are independent.

    Parameters
    ----------
    name : str
    kernel : scikit-learn kernel, default=None
        Covariance over the unit cube. None: ``RBF(0.2)``.
    n_grid : int, default=101
        Points per dimension, the ends of [0, 1] included.
    n_dims : int, default=1
    horizon : float, default=500.0
        In steps.
    noise_variance : float, default=0.1
    random_state : int, RandomState, Generator or None, default=None
        Random state of the function and, by a separate stream, of the noise.
    **own
        Options of ``_draw_function``.
    """

    def __init__(
        self,
        name,
        *,
        kernel=None,
        n_grid=101,
        n_dims=1,
        horizon=500.0,
        noise_variance=0.1,
        random_state=None,
        **own,
    ):
        n_grid = check_int(n_grid, "n_grid", self, low=2)
        n_dims = check_int(n_dims, "n_dims", self)
        kernel = RBF(0.2) if kernel is None else kernel
        if not isinstance(kernel, Kernel):
            expected = "one of scikit-learn's kernels, such as RBF(0.2), or None"
            raise invalid("kernel", expected, kernel, self, error=TypeError)
        self._function_rng = np.random.RandomState(seed_of_function(random_state))
        domain = FiniteSet(_grid(n_grid, n_dims))
        super().__init__(name, domain, horizon, noise_variance, random_state)
        self._factor_key = pickle.dumps(kernel), n_grid, n_dims
        self._draw_function(**own)

    def _samples(self, n):
        """Return independent samples (n, m) of the process."""
        A = _factor(*self._factor_key)
        # Rounding changes the rank: the random numbers must not depend on it.
        Z = self._function_rng.standard_normal((n, len(A)))
        return Z[:, : A.shape[1]] @ A.T

    def _at(self, t, index):
        """Return values at the grid points of these indices; t and index are broadcast."""
        raise NotImplementedError(f"{type(self).__name__} must define _at(t, index).")

    def _values(self, X, t):
        return self._at(t, self.domain.indices(X))

    def _argmax(self, t):
        points = self.domain.points
        return points[np.argmax(self._at(t, np.arange(len(points))))]


@_grid_gp("markov-gp", n_grid=50, n_dims=2, noise_variance=0.01)
class MarkovGP(GridGP):
    r"""A Gaussian process that forgets at a constant rate.

    .. math:: f_0 = g_0, \quad f_{s+1} = \sqrt{1-\epsilon} f_s + \sqrt{\epsilon} g_{s+1},

    with g independent samples of the process. The domain is a grid of the unit cube. Time counts
    steps, and the function is constant between two steps.

    Parameters
    ----------
    epsilon : float in [0, 1], default=0.01
        Rate of change: 0 gives a static function, 1 independent functions at each step.
    kernel, n_grid, n_dims, horizon, noise_variance, random_state
        See `GridGP`; by default 50 by 50 points and a noise variance of 0.01. The whole function is
        stored, 8 ``n_grid**n_dims`` bytes per step. A longer horizon continues the function of a
        shorter one.

    Notes
    -----
    TVGP section 5.1, equations 3 and 4: the defaults, with ``epsilon`` in 0.001, 0.01, 0.03 and
    ``kernel`` either the default or ``Matern(0.2, nu=2.5)``. ET's comparison within the model is
    ``horizon=400, noise_variance=0.02`` with ``epsilon`` in 0.01, 0.03, 0.05.

    Examples
    --------
    >>> from sktvbo import problems
    >>> problem = problems.make("markov-gp", epsilon=0.03, horizon=200, random_state=0)
    >>> problem.value([0.0, 1.0], 7.9) == problem.value([0.0, 1.0], 7.0)
    True
    """

    def _draw_function(self, *, epsilon=0.01):
        epsilon = check_real(epsilon, "epsilon", self, interval="[0, 1]")
        f = self._samples(math.floor(self.horizon + STEP_SLACK) + 1)
        for s in range(1, len(f)):
            f[s] = math.sqrt(1.0 - epsilon) * f[s - 1] + math.sqrt(epsilon) * f[s]  # TVGP eq. 4
        self._table = f

    def _at(self, t, index):
        return self._table[np.floor(np.asarray(t) + STEP_SLACK).astype(np.intp), index]


@_grid_gp("gp-abrupt")
class AbruptGP(GridGP):
    """A Gaussian process sample, replaced by an independent one at given times.

    The domain is a grid of the unit cube; between the changes the function is static.

    Parameters
    ----------
    change_times : sequence of float, default=(100.0, 200.0)
        Increasing, each above 0; the new function holds from a change time on.
    kernel, n_grid, n_dims, horizon, noise_variance, random_state
        See `GridGP`.

    Notes
    -----
    ET appendix A (a) fixes the horizon, the change times, the kernel and the noise. Its three
    functions are those of Deng et al. (2022); these are others of the same kind, so regrets compare
    in order, not in size.

    Examples
    --------
    >>> from sktvbo import problems
    >>> problem = problems.make("gp-abrupt", random_state=0)
    >>> [bool(problem.value(0.0, t) == problem.value(0.0, 0.0)) for t in (99.9, 100.0)]
    [True, False]
    """

    def _draw_function(self, *, change_times=(100.0, 200.0)):
        times = real_array(change_times, "change_times")
        increasing = times.ndim == 1 and np.all(np.diff(times, prepend=0.0) > 0.0)
        if not (increasing and np.all(np.isfinite(times))):
            expected = "an increasing sequence of finite times above 0"
            raise invalid("change_times", expected, change_times, self)
        self._change_times = times
        self._pieces = self._samples(len(times) + 1)

    def _at(self, t, index):
        piece = np.searchsorted(self._change_times, np.asarray(t) + STEP_SLACK, side="right")
        return self._pieces[piece, index]


@_grid_gp("gp-slow")
class SlowGP(GridGP):
    """A Gaussian process sample that changes slowly into an independent one.

    f(x, t) = cos(a) g(x) + sin(a) h(x), a = π t / (2 horizon), with g and h independent samples.
    It is a sample of the same process at each time, and equals h at the horizon. The domain is a
    grid of the unit cube.

    Parameters
    ----------
    kernel, n_grid, n_dims, horizon, noise_variance, random_state
        See `GridGP`.

    Notes
    -----
    ET appendix A (b) fixes the horizon, the kernel and the noise. Its function is that of Deng et
    al. (2022); this is another of the same kind, so regrets compare in order, not in size.

    Examples
    --------
    >>> from sktvbo import problems
    >>> problem = problems.make("gp-slow", random_state=0)
    >>> bool(abs(problem.value(0.5, 101.0) - problem.value(0.5, 100.0)) < 0.01)
    True
    """

    def _draw_function(self):
        self._first, self._last = self._samples(2)

    def _at(self, t, index):
        angle = 0.5 * np.pi * np.asarray(t) / self.horizon
        return np.cos(angle) * self._first[index] + np.sin(angle) * self._last[index]
