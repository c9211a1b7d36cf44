"""Synthetic functions with time as the last coordinate.

A function g is vectorised over the rows of Z (n, n_dims), in the literature's form, which is
*minimized*; the problem maximizes -g. ``argmin`` is the spatial minimizer of g, if known.
"""

from functools import partial
from itertools import combinations_with_replacement

import numpy as np
from scipy.ndimage import minimum_filter
from scipy.optimize import brentq, minimize, minimize_scalar

from ..domain import Box
from ._base import Problem
from ._registry import register


class Synthetic(Problem):
    """Maximize -g(z), z = (x, t): x scaled to [0, 1]^d, t to [0, horizon].

    Parameters
    ----------
    name : str
    g : callable, (n, n_dims) -> (n,)
        In the literature's units, time last.
    bounds : (low, high) or array-like of shape (n_dims, 2)
        Range of each coordinate of z, or one for all.
    n_dims : int
        Dimensions in all, time included.
    argmin : callable, float -> (n_dims - 1,), or sequence of float, default=None
        Spatial minimizer of g at its time coordinate s, in g's units; a sequence if constant.
        None: a numeric search.
    horizon, noise, noise_variance, random_state
        See `sktvbo.problems.make`.
    """

    def __init__(
        self,
        name,
        g,
        bounds,
        n_dims,
        argmin=None,
        *,
        horizon=600.0,
        noise=0.05,
        noise_variance=None,
        random_state=None,
    ):
        super().__init__(name, [(0.0, 1.0)] * (n_dims - 1), horizon, random_state=random_state)
        self._g = g
        self._box = Box(np.broadcast_to(np.asarray(bounds, dtype=np.float64), (n_dims, 2)))
        self._argmin = argmin
        self._set_noise(noise, noise_variance)

    def _values(self, X, t):
        u = np.broadcast_to(np.asarray(t) / self.horizon, len(X))
        return -self._g(self._box.from_unit(np.column_stack([X, u])))

    def _argmax(self, t):
        if self._argmin is None:
            return super()._argmax(t)
        z = np.full(self._box.n_dims, t / self.horizon)
        s = self._box.from_unit(z)[-1]
        x = self._argmin(s) if callable(self._argmin) else self._argmin
        return self._box.to_unit(np.append(x, s))[:-1]


def _synthetic(name, *, bounds, n_dims, argmin=None):
    """Register the decorated g."""

    def decorate(g):
        register(name, partial(Synthetic, name, g, bounds, n_dims, argmin))
        return g

    return decorate


def _best_of(g, candidates, s):
    """Return the candidate with the smallest g, of (n, n_dims - 1), or (n,) in one dimension."""
    Z = np.column_stack([candidates, np.full(len(candidates), s)])
    return Z[np.argmin(g(Z)), :-1]


def _descend(g, starts, s, bounds):
    """Return the best local minimizer that L-BFGS-B finds from the starts (n, n_dims - 1)."""
    d = starts.shape[1]
    # Complex step: the imaginary part of g(z + ih) is h g'(z), without cancellation.
    h = 1e-20
    steps = 1j * h * np.eye(d, d + 1)

    def value_and_slopes(x):
        values = g(np.append(x, s) + steps)
        return values[0].real, values.imag / h

    ends = [
        minimize(
            value_and_slopes,
            x,
            method="L-BFGS-B",
            jac=True,
            bounds=[bounds] * d,
            options={"ftol": 1e-14, "gtol": 1e-9},
        ).x
        for x in starts
    ]
    return _best_of(g, np.clip(np.vstack([starts, ends]), *bounds), s)


# At each time both exponentials are largest at the origin.
@_synthetic("ackley", bounds=(-32.0, 32.0), n_dims=4, argmin=(0.0,) * 3)
def ackley(Z):
    """W-DBO appendix G.2, a = 20, b = 0.2, c = 2 pi."""
    radius = np.sqrt(np.mean(Z**2, axis=1))
    waves = np.mean(np.cos(2.0 * np.pi * Z), axis=1)
    return -20.0 * np.exp(-0.2 * radius) - np.exp(waves) + 20.0 + np.e


def _eggholder_argmin(s):
    grid = np.linspace(-512.0, 512.0, 16385)
    values = eggholder(np.column_stack([grid, np.full(len(grid), s)]))
    padded = np.r_[np.inf, values, np.inf]
    valleys = np.flatnonzero((values <= padded[:-2]) & (values <= padded[2:]))
    # Half a grid step gains less than 1 at the best valley, so a much worse one cannot win. The
    # cusps, where a root's argument is zero, lie 100 above the best.
    valleys = valleys[values[valleys] <= values[valleys].min() + 5.0]
    refined = [
        minimize_scalar(
            lambda x: eggholder(np.array([[x, s]]))[0],
            bounds=(grid[max(i - 1, 0)], grid[min(i + 1, len(grid) - 1)]),
            method="bounded",
            options={"xatol": 1e-7},
        ).x
        for i in valleys
    ]
    return _best_of(eggholder, np.r_[grid[valleys], refined], s)


@_synthetic("eggholder", bounds=(-512.0, 512.0), n_dims=2, argmin=_eggholder_argmin)
def eggholder(Z):
    """W-DBO appendix G.2."""
    x1, x2 = Z.T
    u = x2 + 47.0
    return -u * np.sin(np.sqrt(np.abs(u + x1 / 2.0))) - x1 * np.sin(np.sqrt(np.abs(x1 - u)))


def _camel(x, s):
    """SHC(x, t) of W-DBO appendix G.4."""
    return (4.0 - 2.1 * x**2 + x**4 / 3.0) * x**2 + x * s + (-4.0 + 4.0 * s**2) * s**2


def _camel_argmin(s):
    # The derivative d SHC(x, s) / dx is 2 x^5 - 8.4 x^3 + 8 x + s.
    return _polynomial_argmin(six_hump_camel, [2.0, 0.0, -8.4, 0.0, 8.0, s], s)


def _switched_argmin(s):
    if s < -0.5:
        return _camel_argmin(s)
    # The derivative d SHC(s, x) / dx is 16 x^3 - 8 x + s.
    return _polynomial_argmin(six_hump_camel_switched, [16.0, 0.0, -8.0, s], s)


def _polynomial_argmin(g, derivative, s):
    # Real parts of all roots, as rounding may turn a double root into a complex pair.
    stationary = np.clip(np.roots(derivative).real, -2.0, 2.0)
    return _best_of(g, np.r_[stationary, -2.0, 2.0], s)


@_synthetic("six-hump-camel", bounds=(-2.0, 2.0), n_dims=2, argmin=_camel_argmin)
def six_hump_camel(Z):
    """W-DBO appendix G.4."""
    return _camel(Z[:, 0], Z[:, 1])


@_synthetic("six-hump-camel-switched", bounds=(-2.0, 2.0), n_dims=2, argmin=_switched_argmin)
def six_hump_camel_switched(Z):
    """W-DBO appendix G.4: x and t swap at t = -1/2, a sudden change of the objective."""
    x, s = Z.T
    return np.where(s < -0.5, _camel(x, s), _camel(s, x))


@_synthetic("rastrigin", bounds=(-4.0, 4.0), n_dims=5, argmin=(0.0,) * 4)
def rastrigin(Z):
    """W-DBO appendix G.2, a = 10."""
    return 10.0 * Z.shape[1] + np.sum(Z**2 - 10.0 * np.cos(2.0 * np.pi * Z), axis=1)


# x sin(sqrt x) is stationary where 2 sin y + y cos y = 0, y = sqrt x; the best such x.
_SCHWEFEL = brentq(lambda y: 2.0 * np.sin(y) + y * np.cos(y), 20.0, 21.0, xtol=1e-14) ** 2


@_synthetic("schwefel", bounds=(-500.0, 500.0), n_dims=4, argmin=(_SCHWEFEL,) * 3)
def schwefel(Z):
    """W-DBO appendix G.2; its constant is rounded, so the minimum is 5e-5, not 0."""
    return 418.9829 * Z.shape[1] - np.sum(Z * np.sin(np.sqrt(np.abs(Z))), axis=1)


# The least root of the derivative of x^4 - 16 x^2 + 5 x.
_STYBLINSKI_TANG = np.roots([4.0, 0.0, -32.0, 5.0]).real.min()


@_synthetic("styblinski-tang", bounds=(-5.0, 5.0), n_dims=4, argmin=(_STYBLINSKI_TANG,) * 3)
def styblinski_tang(Z):
    """W-DBO appendix G.2, where 1/2 multiplies the whole sum."""
    return 0.5 * np.sum(Z**4 - 16.0 * Z**2 + 5.0 * Z, axis=1)


def _rosenbrock_argmin(s):
    # The slope in x1 vanishes at x2 = n(x1) / d(x1). Substituted into the slope in x2, times d^3,
    # this gives a polynomial of degree 9 in x1. For all s in [-1, 1.5] the minimum lies inside the
    # bounds; for |x1| < 1/302, x2 does not.
    x = np.polynomial.Polynomial([0.0, 1.0])
    n, d = 200.0 * x**3 + x - 1.0, 200.0 * x
    slope = 200.0 * (n - x**2 * d) * d**2 - 400.0 * n * (s * d**2 - n**2) + 2.0 * (n - d) * d**2
    x1 = slope.roots().real
    x1 = x1[np.abs(x1) > 1e-3]
    return _best_of(rosenbrock, np.clip(np.column_stack([x1, n(x1) / d(x1)]), -1.0, 1.5), s)


@_synthetic("rosenbrock", bounds=(-1.0, 1.5), n_dims=3, argmin=_rosenbrock_argmin)
def rosenbrock(Z):
    """W-DBO appendix G.2."""
    x, following = Z[:, :-1], Z[:, 1:]
    return np.sum(100.0 * (following - x**2) ** 2 + (x - 1.0) ** 2, axis=1)


_SHEKEL_BETA = np.array([1, 2, 2, 4, 4, 6, 3, 7, 5, 5]) / 10.0
_SHEKEL_C = np.array(
    [[4, 1, 8, 6, 3, 2, 5, 8, 6, 7], [4, 1, 8, 6, 7, 9, 3, 1, 2, 3.6]] * 2, dtype=np.float64
)


def _shekel_argmin(s):
    # Where the gradient vanishes, x is a weighted mean of the centres, which have x1 = x3, so a
    # grid of that plane suffices. The sharpest peak loses less than a tenth at half a grid step, so
    # valleys shallower by more need no descent.
    axis = np.linspace(0.0, 10.0, 101)
    a, b = (v.ravel() for v in np.meshgrid(axis, axis, indexing="ij"))
    values = shekel(np.column_stack([a, b, a, np.full(len(a), s)])).reshape(101, 101)
    valleys = (values == minimum_filter(values, 3)) & (values <= 0.9 * values.min())
    i, j = np.nonzero(valleys)
    return _descend(shekel, np.column_stack([axis[i], axis[j], axis[i]]), s, (0.0, 10.0))


@_synthetic("shekel", bounds=(0.0, 10.0), n_dims=4, argmin=_shekel_argmin)
def shekel(Z):
    """W-DBO appendix G.2, m = 10 centres, the columns of C."""
    squares = np.sum((Z[:, :, np.newaxis] - _SHEKEL_C) ** 2, axis=1)
    return -np.sum(1.0 / (squares + _SHEKEL_BETA), axis=1)


_HARTMANN_ALPHA = np.array([1.0, 1.2, 3.0, 3.2])
_HARTMANN_3 = (
    np.array([[3, 10, 30], [0.1, 10, 35], [3, 10, 30], [0.1, 10, 35]]),
    np.array([[3689, 1170, 2673], [4699, 4387, 7470], [1091, 8732, 5547], [381, 5743, 8828]]) / 1e4,
)
_HARTMANN_6 = (
    np.array(
        [
            [10, 3, 17, 3.5, 1.7, 8],
            [0.05, 10, 17, 0.1, 8, 14],
            [3, 3.5, 1.7, 10, 17, 8],
            [17, 8, 0.05, 10, 0.1, 14],
        ]
    ),
    np.array(
        [
            [1312, 1696, 5569, 124, 8283, 5886],
            [2329, 4135, 8307, 3736, 1004, 9991],
            [2348, 1451, 3522, 2883, 3047, 6650],
            [4047, 8828, 8732, 5743, 1091, 381],
        ]
    )
    / 1e4,
)


def _hartmann(Z, A, P):
    """Sum of four bumps with centres P (4, n_dims) and steepnesses A (4, n_dims)."""
    squares = np.sum(A * (Z[:, np.newaxis] - P) ** 2, axis=2)
    return -np.exp(-squares) @ _HARTMANN_ALPHA


# All sets of four weights, multiples of 1/12, with the sum 1.
_WEIGHTS = (
    np.array([np.diff([0, *cuts, 12]) for cuts in combinations_with_replacement(range(13), 3)])
    / 12.0
)


def _hartmann_argmin(A, P, s):
    # Where the gradient vanishes, x_j = sum_i w_i A_ij P_ij / sum_i w_i A_ij, with weights w the
    # bumps' shares of the value: the minimum lies inside this image of the simplex.
    X = (_WEIGHTS @ (A * P) / (_WEIGHTS @ A))[:, :-1]
    g = partial(_hartmann, A=A, P=P)
    values = g(np.column_stack([X, np.full(len(X), s)]))
    return _descend(g, X[np.argsort(values)[:4]], s, (0.0, 1.0))


@_synthetic(
    "hartmann-3", bounds=(0.0, 1.0), n_dims=3, argmin=partial(_hartmann_argmin, *_HARTMANN_3)
)
def hartmann_3(Z):
    """W-DBO appendix G.2."""
    return _hartmann(Z, *_HARTMANN_3)


@_synthetic(
    "hartmann-6", bounds=(0.0, 1.0), n_dims=6, argmin=partial(_hartmann_argmin, *_HARTMANN_6)
)
def hartmann_6(Z):
    """W-DBO appendix G.2."""
    return _hartmann(Z, *_HARTMANN_6)


def _powell_argmin(s):
    # Even powers of linear terms are convex: a single minimum.
    return _descend(powell, np.array([[s, -s / 10.0, s]]), s, (-4.0, 5.0))


@_synthetic("powell", bounds=(-4.0, 5.0), n_dims=4, argmin=_powell_argmin)
def powell(Z):
    """W-DBO appendix G.2."""
    a, b, c, d = Z.T
    return (a + 10.0 * b) ** 2 + 5.0 * (c - d) ** 2 + (b - 2.0 * c) ** 4 + 10.0 * (a - d) ** 4


def _griewank_argmin(s):
    # Minimize sum_i i a_i^2 / 4000 - c prod_i cos a_i, with a_i = x_i / sqrt(i). If c < 0, only a_1
    # differs from 0: by Pythagoras' theorem on the sphere, cos r = prod_i cos a_i for an r with
    # r^2 <= sum_i a_i^2, so a_1 = r alone is no worse. There sin r / r = 1 / (2000 |c|).
    c, x = np.cos(s / np.sqrt(6.0)), np.zeros(5)
    if c < -1.0 / 2000.0:
        x[0] = brentq(lambda r: np.sinc(r / np.pi) + 1.0 / (2000.0 * c), 0.0, np.pi, xtol=1e-14)
    return x


@_synthetic("griewank", bounds=(-600.0, 600.0), n_dims=6, argmin=_griewank_argmin)
def griewank(Z):
    """BOLT appendix F."""
    waves = np.cos(Z / np.sqrt(np.arange(1, Z.shape[1] + 1)))
    return np.sum(Z**2, axis=1) / 4000.0 - np.prod(waves, axis=1) + 1.0
