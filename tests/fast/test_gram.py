"""Separable covariances and their derivatives compared with their NumPy twins."""

from itertools import product

import numpy as np
import pytest
from fast.matrices import (
    array_arguments,
    axes_of,
    check_layout_is_refused,
    check_read_only,
    check_wrong_shape,
    other_layouts,
)
from numpy.testing import assert_allclose, assert_array_equal
from twins import gram as twin

from sktvbo._fast import gram as fast
from sktvbo._fast.gram import Family

FAMILIES = list(Family)
SIGNAL = 1.7
FUNCTIONS = [
    "gram",
    "cross_gram",
    "cross_with_gradient",
    "contract_gradient",
    "slope_products",
    "contract_cross_gradient",
]

SIZES = (0, 1, 2, 40)

all_dimensions = pytest.mark.parametrize("d", range(5))
all_families = pytest.mark.parametrize(
    ("spatial", "temporal"), [(s, t) for s in FAMILIES for t in FAMILIES]
)


def points(rng, d, n):
    """Return places and times, some equal: there the families differ most."""
    Z, u = rng.normal(size=(d, n)), rng.normal(size=n)
    if n > 5:
        Z[:, 3] = Z[:, 4]
        u[4] = u[5]
        Z[:, 5], u[5] = Z[:, 2], u[2]
    return Z, u


def covariance(Z, u, spatial, temporal, signal=SIGNAL):
    out = np.full((len(u), len(u)), np.nan)
    fast.gram(Z, u, spatial, temporal, signal, out)
    return out


def cross_covariance(Z1, u1, Z2, u2, spatial, temporal):
    out = np.full((len(u1), len(u2)), np.nan)
    fast.cross_gram(Z1, u1, Z2, u2, spatial, temporal, SIGNAL, out)
    return out


def row_with_gradient(z, u, Z, times, spatial, temporal):
    k, dk = np.full(len(times), np.nan), np.full((len(z) + 1, len(times)), np.nan)
    fast.cross_with_gradient(z, u, Z, times, spatial, temporal, SIGNAL, k, dk)
    return k, dk


def contraction(Z, u, spatial, temporal, K, P, a):
    out = np.full(len(Z) + 2, np.nan)
    fast.contract_gradient(Z, u, spatial, temporal, K, P, a, out)
    return out


@all_families
@all_dimensions
def test_gram(rng, d, spatial, temporal):
    for n in SIZES:
        Z, u = points(rng, d, n)
        K = covariance(Z, u, spatial, temporal)
        assert_allclose(np.tril(K), twin.gram(Z, u, spatial, temporal, SIGNAL), rtol=1e-12)
        assert np.isnan(K[np.triu_indices(n, 1)]).all()


@all_families
def test_matrices_are_multiplied_in_place(rng, spatial, temporal):
    for n in SIZES:
        Z, u = points(rng, 2, n)
        before = rng.normal(size=(n, n))
        found, K = before.copy(), covariance(Z, u, spatial, temporal)
        fast.gram(Z, u, spatial, temporal, SIGNAL, found, True)
        assert_allclose(np.tril(found), np.tril(before * np.tril(K)), rtol=1e-14)
        assert_array_equal(np.triu(found, 1), np.triu(before, 1))
        found, K = before.copy(), cross_covariance(Z, u, Z, u, spatial, temporal)
        fast.cross_gram(Z, u, Z, u, spatial, temporal, SIGNAL, found, True)
        assert_allclose(found, before * K, rtol=1e-14)


@all_families
@all_dimensions
def test_cross_gram(rng, d, spatial, temporal):
    for n, m in product(SIZES, (0, 1, 7)):
        Z1, u1 = points(rng, d, n)
        Z2, u2 = points(rng, d, m)
        if n and m:
            Z2[:, 0], u2[0] = Z1[:, 0], u1[0]
        expected = twin.cross_gram(Z1, u1, Z2, u2, spatial, temporal, SIGNAL)
        assert_allclose(cross_covariance(Z1, u1, Z2, u2, spatial, temporal), expected, rtol=1e-12)


@all_families
@all_dimensions
def test_cross_with_gradient(rng, d, spatial, temporal):
    for n in SIZES:
        Z, times = points(rng, d, n)
        elsewhere = rng.normal(size=d), rng.normal()
        on_the_first = (Z[:, 0].copy(), times[0]) if n else elsewhere
        for z, u in (elsewhere, on_the_first):
            found = row_with_gradient(z, u, Z, times, spatial, temporal)
            expected = twin.cross_with_gradient(z, u, Z, times, spatial, temporal, SIGNAL)
            for value, reference in zip(found, expected):
                assert_allclose(value, reference, rtol=1e-11, atol=1e-15)


@all_families
@all_dimensions
def test_contract_gradient(rng, d, spatial, temporal):
    for n in SIZES:
        Z, u = points(rng, d, n)
        K = covariance(Z, u, spatial, temporal)
        a = rng.normal(size=n)
        P = np.tril(rng.normal(size=(n, n)))
        expected = twin.contract_gradient(Z, u, spatial, temporal, K, P, a)
        P[np.triu_indices(n, 1)] = np.nan
        found = contraction(Z, u, spatial, temporal, K, P, a)
        assert_allclose(found, expected, rtol=1e-10, atol=1e-10)


@all_families
@all_dimensions
def test_slope_products(rng, d, spatial, temporal):
    for n in SIZES:
        Z, u = points(rng, d, n)
        K, a = covariance(Z, u, spatial, temporal), rng.normal(size=n)
        out = np.full((d + 2, n), np.nan)
        fast.slope_products(Z, u, spatial, temporal, K, a, out)
        expected = twin.slope_products(Z, u, spatial, temporal, K, a)
        assert_allclose(out, expected, rtol=1e-10, atol=1e-12)


@all_families
@all_dimensions
def test_contract_cross_gradient(rng, d, spatial, temporal):
    for n1, n2 in product(SIZES, SIZES):
        (Z1, u1), (Z2, u2) = points(rng, d, n1), points(rng, d, n2)
        if n1 == n2:
            Z2, u2 = Z1, u1  # equal points
        K = cross_covariance(Z1, u1, Z2, u2, spatial, temporal)
        W = rng.normal(size=(n1, n2))
        out = np.full(d + 1, np.nan)
        fast.contract_cross_gradient(Z1, u1, Z2, u2, spatial, temporal, K, W, out)
        expected = twin.contract_cross_gradient(Z1, u1, Z2, u2, spatial, temporal, K, W)
        assert_allclose(out, expected, rtol=1e-10, atol=1e-10)


@all_families
def test_contraction_is_the_derivative_in_the_logarithms(rng, spatial, temporal):
    d, n, step = 3, 12, 1e-6
    Z, u = rng.normal(size=(d, n)), rng.normal(size=n)
    a, P = rng.normal(size=n), rng.normal(size=(n, n))
    P = P + P.T
    W = np.outer(a, a) - P

    def weighted_sum(log_parameters):
        signal, scales, last = np.split(np.exp(log_parameters), [1, d + 1])
        scaled = Z / scales[:, None], u / last
        K = cross_covariance(*scaled, *scaled, *families)
        return signal[0] * np.sum(W * K)

    families = spatial, temporal
    steps = step * np.eye(d + 2)
    numeric = [(weighted_sum(e) - weighted_sum(-e)) / (2.0 * step) for e in steps]
    found = contraction(Z, u, *families, covariance(Z, u, *families), P, a)
    assert_allclose(found, numeric, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("family", FAMILIES)
def test_far_apart_is_uncorrelated_and_finite(family):
    Z, u = np.array([[0.0, 1e8]]), np.zeros(2)
    K = covariance(Z, u, family, Family.CONSTANT)
    assert K[1, 0] == (SIGNAL if family == Family.CONSTANT else 0.0)
    k, dk = row_with_gradient(Z[:, 0].copy(), 0.0, Z, u, family, Family.CONSTANT)
    assert np.isfinite(k).all()
    assert np.isfinite(dk).all()


N, D = 5, 2


def arguments(name):
    """Return arguments of one valid call."""
    rng = np.random.RandomState(1)
    Z, u = rng.normal(size=(D, N)), rng.normal(size=N)
    families = Family.RBF, Family.MATERN32
    square = rng.normal(size=(N, N))
    return {
        "gram": [Z, u, *families, 1.0, np.zeros((N, N))],
        "cross_gram": [Z[:, :3].copy(), u[:3], Z, u, *families, 1.0, np.empty((3, N))],
        "cross_with_gradient": [
            *(Z[:, 0].copy(), 0.3, Z, u, *families, 1.0),
            *(np.empty(N), np.empty((D + 1, N))),
        ],
        "contract_gradient": [Z, u, *families, square, square.copy(), u.copy(), np.empty(D + 2)],
        "slope_products": [Z, u, *families, square, u.copy(), np.empty((D + 2, N))],
        "contract_cross_gradient": [
            *(Z[:, :3].copy(), u[:3], Z, u, *families),
            *(square[:3].copy(), square[1:4].copy(), np.empty(D + 1)),
        ],
    }[name]


OUTPUTS = {name: 2 if name == "cross_with_gradient" else 1 for name in FUNCTIONS}
ARRAYS = array_arguments(arguments, FUNCTIONS)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_read_only_inputs(name):
    check_read_only(getattr(fast, name), arguments(name), arguments(name), OUTPUTS[name])


@pytest.mark.parametrize(("name", "position", "axis"), axes_of(ARRAYS))
def test_wrong_shapes(name, position, axis):
    check_wrong_shape(getattr(fast, name), arguments(name), position, axis)


@pytest.mark.parametrize(("name", "position", "layout"), other_layouts(ARRAYS))
def test_other_layouts_are_refused(name, position, layout):
    check_layout_is_refused(getattr(fast, name), arguments(name), position, layout)
