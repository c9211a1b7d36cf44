"""Synthetic functions, time being the last coordinate.

A function costs a few lines: g, vectorised over the rows of Z (n, n_dims), in the literature's
form and to be *minimized* there; the problem maximizes -g. Where the spatial minimizer of g at a
given time is known, ``argmin(s)`` gives it; the default is a numeric search.
"""

from functools import partial

import numpy as np
from scipy.optimize import minimize_scalar

from ..domain import Box
from ._base import Problem, register


class Synthetic(Problem):
    """Maximize -g(z), z = (x, t): x scaled to [0, 1]^d, t to [0, horizon].

    Parameters
    ----------
    name : str
    g : callable, (n, n_dims) -> (n,)
        In its own units, time last.
    bounds : (low, high) or array-like of shape (n_dims, 2)
        The range of each coordinate of z, or one for all.
    n_dims : int
        Dimensions in all, time included.
    argmin : callable, float -> (n_dims - 1,), default=None
        The spatial minimizer of g when its time coordinate is s, all in g's own units. None:
        a numeric search.
    horizon, noise, random_state
        See `sktvbo.problems.make`.
    """

    def __init__(
        self, name, g, bounds, n_dims, argmin=None, *, horizon=600.0, noise=0.05, random_state=None
    ):
        super().__init__(name, [(0.0, 1.0)] * (n_dims - 1), horizon, random_state=random_state)
        self._g = g
        self._box = Box(np.broadcast_to(np.asarray(bounds, dtype=np.float64), (n_dims, 2)))
        self._argmin = argmin
        self._set_noise(noise)

    def _values(self, X, t):
        u = np.broadcast_to(np.asarray(t) / self.horizon, len(X))
        return -self._g(self._box.from_unit(np.column_stack([X, u])))

    def _argmax(self, t):
        if self._argmin is None:
            return super()._argmax(t)
        z = np.full(self._box.n_dims, t / self.horizon)
        s = self._box.from_unit(z)[-1]
        return self._box.to_unit(np.append(self._argmin(s), s))[:-1]


def _synthetic(name, *, bounds, n_dims, argmin=None):
    """Register the decorated g."""

    def decorate(g):
        register(name, partial(Synthetic, name, g, bounds, n_dims, argmin))
        return g

    return decorate


def _best_of(g, candidates, s):
    """The candidate, one spatial coordinate each, with the smallest g."""
    Z = np.column_stack([candidates, np.full(len(candidates), s)])
    return Z[np.argmin(g(Z)), :1]


def _ackley_argmin(s):
    # Whatever the time, both exponentials are largest at the origin.
    return np.zeros(3)


@_synthetic("ackley", bounds=(-32.0, 32.0), n_dims=4, argmin=_ackley_argmin)
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
    # Half a grid step gains less than 1 at the best valley, so a far worse one cannot win. The
    # cusps, where a root's argument is zero, are no candidates: all lie 100 above the best.
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
    # d SHC(x, s) / dx = 2 x^5 - 8.4 x^3 + 8 x + s.
    return _polynomial_argmin(six_hump_camel, [2.0, 0.0, -8.4, 0.0, 8.0, s], s)


def _switched_argmin(s):
    if s < -0.5:
        return _camel_argmin(s)
    # d SHC(s, x) / dx = 16 x^3 - 8 x + s.
    return _polynomial_argmin(six_hump_camel_switched, [16.0, 0.0, -8.0, s], s)


def _polynomial_argmin(g, derivative, s):
    # Real parts of all roots: a double root may come out as a complex pair, and a candidate too
    # many does no harm.
    stationary = np.clip(np.roots(derivative).real, -2.0, 2.0)
    return _best_of(g, np.r_[stationary, -2.0, 2.0], s)


@_synthetic("six-hump-camel", bounds=(-2.0, 2.0), n_dims=2, argmin=_camel_argmin)
def six_hump_camel(Z):
    """W-DBO appendix G.4."""
    return _camel(Z[:, 0], Z[:, 1])


@_synthetic("six-hump-camel-switched", bounds=(-2.0, 2.0), n_dims=2, argmin=_switched_argmin)
def six_hump_camel_switched(Z):
    """W-DBO appendix G.4: x and t change places at t = -1/2, a sudden change of the objective."""
    x, s = Z.T
    return np.where(s < -0.5, _camel(x, s), _camel(s, x))
