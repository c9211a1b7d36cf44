"""Arguments of the compiled functions: read-only arrays, other layouts, shapes that do not fit."""

from importlib import import_module
from itertools import product

import numpy as np
import pytest
from fast.matrices import LAYOUTS, REFUSED, read_only
from numpy.testing import assert_array_equal

from sktvbo._fast import kalman
from sktvbo._fast.gram import Family
from sktvbo._fast.posterior import Formula
from sktvbo._fast.sums import Sum

N, D, R = 5, 2, 3


def integers(*values):
    return np.array(values, dtype=np.intp)


def valid():
    """Return arguments of one valid call of each function."""
    rng = np.random.RandomState(1)
    Z, t, square = rng.normal(size=(D, N)), rng.normal(size=N), rng.normal(size=(N, N))
    few, pair, n_slopes = [Z[:, :3].copy(), t[:3]], [Family.RBF, Family.MATERN32], 1 + D + 2 * R
    at = Z[:, 0].copy(), 0.3, Z, t
    convolution = few[0], few[0].copy(), pair[1], 8, 1.0
    move, start, site = integers(0, 0, 0), integers(0, 1, 2, 3), integers(0, 1, 0)
    rows = [start, site, np.ones((3, 2)), np.ones(3), np.zeros((2, 4)), np.eye(4)]
    one = np.eye(2)[np.newaxis]
    filtering = [move, one, one[np.newaxis], one, *rows]
    moments = [np.zeros((3, 2, 4)), np.zeros((3, 4, 4))]
    kalman.filter(*(np.copy(A) for A in filtering), np.zeros((2, 3)), *moments)
    return {
        "cholesky.solve_lower": [np.eye(6), 4, np.ones((2, 4))],
        "cholesky.append": [np.eye(6), 4, 0.1 * np.ones(4), 20.0],
        "cholesky.drop": [np.eye(6), 4, 1, np.zeros((3, 3))],
        "cholesky.symmetrize": [square],
        "cholesky.block_plus": [np.eye(6), integers(0, 3), np.ones((2, 3)), np.ones(2), np.eye(3)],
        "cholesky.add_outer": [np.eye(3), np.ones((2, 3)), 1.0],
        "convolution.spatial": [*convolution, np.empty((3, 3))],
        "convolution.spatial symmetric": [*convolution, np.empty((3, 3)), True],
        "gram.scale": [Z.T.copy(), np.ones(D), np.zeros((D, N))],
        "gram.gram": [Z, t, *pair, 1.0, np.zeros((N, N))],
        "gram.cross_gram": [*few, Z, t, *pair, 1.0, np.empty((3, N))],
        "gram.cross_with_gradient": [*at, *pair, 1.0, np.empty(N), np.empty((D + 1, N))],
        "gram.contract_gradient": [Z, t, *pair, square, square.copy(), t.copy(), np.empty(D + 2)],
        "gram.slope_products": [Z, t, *pair, square, t.copy(), np.empty((D + 2, N))],
        "gram.contract_cross_gradient": [
            *(*few, Z, t, *pair, square[:3].copy(), square[1:4].copy(), np.empty(D + 1))
        ],
        "kalman.filter": [*filtering, np.zeros((2, 3)), *(A.copy() for A in moments)],
        "kalman.smooth": [*filtering, *moments, np.zeros((2, 4)), np.zeros((4, 4))],
        "kdpp.is_symmetric": [np.eye(4)],
        "kdpp.best": [np.ones(3), np.ones(3), 1e-13],
        "kdpp.eliminate": [np.ones(4), np.zeros((2, 4)), np.ones(4), 0, 0],
        "kdpp.swap_chain": [
            *(np.eye(4), integers(0, 1), integers(2, 3), integers(0, 1), integers(1, 0)),
            *(np.array([0.1, 0.9]), 1e-13, 10, np.zeros((2, 2), dtype=np.intp)),
        ],
        "limits.within": [t, np.ones(N), -1.0, 1.0],
        "limits.excess": [t, np.ones(N), -1.0, 1.0],
        "limits.log_weights": [-np.ones(N), 0.0],
        "posterior.scores": [Formula.BOUND, 1.0, t, np.ones(N)],
        "ascent.model_minimum": [np.eye(N), t, -np.ones(N), np.ones(N)],
        "sums.gram": [Z, t, np.zeros((N, N))],
        "sums.cross_gram": [*few, Z, t, np.empty((3, N))],
        "sums.cross_with_gradient": [*at, np.empty(N), np.empty((D + 1, N))],
        "sums.contract_gradient": [Z, t, square, t.copy(), np.empty(n_slopes)],
        "sums.slope_products": [Z, t, t.copy(), np.empty((n_slopes, N))],
        "sums.contract_cross_gradient": [*few, Z, t, square[:3].copy(), np.empty(n_slopes)],
        "tiles.factor": [np.eye(4)],
        "tiles.inverse": [np.eye(4)],
        "tiles.solve_lower": [np.eye(6), 4, np.ones((2, 4))],
        "tiles.product": [np.ones((3, 4)), np.ones((4, 5)), np.empty((3, 5))],
        "tiles.product_with_few": [np.ones((3, 4)), np.ones((4, 5)), np.empty((3, 5))],
    }


# Positions of the arrays that are written, where it is not the last argument.
WRITTEN = {
    "cholesky.solve_lower": [2],
    "cholesky.append": [0],
    "cholesky.drop": [3],
    "cholesky.symmetrize": [0],
    "cholesky.add_outer": [0],
    "gram.cross_with_gradient": [7, 8],
    "kalman.filter": [8, 9, 10, 11, 12],
    "kalman.smooth": [12, 13],
    "kdpp.eliminate": [1, 2],
    "kdpp.swap_chain": [1, 2, 8],
    "sums.cross_with_gradient": [4, 5],
    "convolution.spatial symmetric": [5],
}
NOTHING = "kdpp.is_symmetric kdpp.best limits.within limits.excess limits.log_weights"
WRITTEN |= dict.fromkeys([*NOTHING.split(), "posterior.scores", "ascent.model_minimum"], ())
# Lengths that need not fit: of right-hand sides, of rows of the factor, of dimensions.
FREE = {
    *(("cholesky.solve_lower", 2, 0), ("cholesky.add_outer", 1, 0), ("kdpp.eliminate", 1, 0)),
    *(("tiles.solve_lower", 2, 0), ("cholesky.block_plus", 1, 0)),
    *(("gram.gram", 0, 0), ("sums.gram", 0, 0), ("limits.log_weights", 0, 0)),
}
# Layouts that a function takes.
TAKEN = {("ascent.model_minimum", i, "strided") for i in (1, 2, 3)}
TAKEN |= {("gram.scale", 0, layout) for layout in ("strided", "Fortran")}

VALID = valid()
every_function = pytest.mark.parametrize("name", VALID)


def arrays(name):
    """Return the positions of the arrays among the arguments of a function."""
    return [i for i, argument in enumerate(VALID[name]) if isinstance(argument, np.ndarray)]


def written(name):
    """Return the positions of arrays that a function writes: by default the last one."""
    return WRITTEN.get(name, [len(VALID[name]) - 1])


def called(name, arguments):
    """Return what a function returns, and the arrays that it has written."""
    module, function = name.split()[0].split(".")
    owner = import_module(f"sktvbo._fast.{module}")
    if module == "sums":
        kinds = np.array([Family.RBF, Family.MATERN32, Family.MATERN12], dtype=np.intc)
        owner = Sum(Family.MATERN52, kinds, np.ones(R), np.ones(R), 1)
    found = getattr(owner, function)(*arguments)
    found = found if isinstance(found, tuple) else (found,)
    return [*found, *(arguments[i] for i in written(name))]


@every_function
def test_inputs_may_be_read_only(name):
    expected = called(name, valid()[name])
    arguments = valid()[name]
    for i in set(arrays(name)).difference(written(name)):
        arguments[i] = read_only(arguments[i])
    for found, wanted in zip(called(name, arguments), expected, strict=True):
        assert_array_equal(found, wanted)


@every_function
def test_results_need_writable_arrays(name):
    for i in written(name):
        arguments = valid()[name]
        arguments[i] = read_only(arguments[i])
        with pytest.raises(REFUSED):
            called(name, arguments)


@every_function
def test_other_layouts_are_refused(name):
    for i, layout in product(arrays(name), LAYOUTS):
        arguments = valid()[name]
        if (name, i, layout) in TAKEN or (layout, arguments[i].ndim) == ("Fortran", 1):
            continue
        arguments[i] = LAYOUTS[layout](arguments[i])
        with pytest.raises(REFUSED):
            called(name, arguments)


@every_function
def test_shapes_that_do_not_fit(name):
    message = r"fit|must|needed|square|hold|length|each|divide|rows"
    for i in arrays(name):
        for axis, length in enumerate(VALID[name][i].shape):
            if (name, i, axis) in FREE:
                continue
            arguments, shape = valid()[name], list(VALID[name][i].shape)
            shape[axis] = length + 1
            arguments[i] = np.zeros(shape, dtype=arguments[i].dtype)
            with pytest.raises(ValueError, match=message):
                called(name, arguments)
