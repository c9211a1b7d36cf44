"""Sums of terms and their derivatives compared with their NumPy twins."""

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
from numpy.testing import assert_allclose
from twins import sums as twin

from sktvbo._fast import gram, sums
from sktvbo._fast.gram import Family

SIZES = (0, 1, 2, 40)
# Families of the terms, and the number of those that do not depend on the place.
CASES = {
    "one": ([Family.MATERN52], 0),
    "smooth and rough": ([Family.MATERN52, Family.MATERN12], 0),
    "with a level": ([Family.MATERN52, Family.MATERN12, Family.MATERN12], 1),
    "all": (list(Family), 0),
    "all shared": (list(Family), 5),
    "all twice": ([*Family, *Family], 5),
    "none": ([], 0),
}
every_case = pytest.mark.parametrize(("families", "n_shared"), CASES.values(), ids=list(CASES))
every_space = pytest.mark.parametrize(("spatial", "d"), [(s, d) for s in Family for d in range(4)])


def both(spatial, families, n_shared):
    """Return the compiled sum and its twin."""
    rng = np.random.RandomState(len(families))
    rates, weights = rng.uniform(0.2, 2.0, (2, len(families)))
    given = spatial, np.array(families, dtype=np.intc), rates, weights, n_shared
    return sums.Sum(*given), twin.Sum(*given)


def points(rng, d, n):
    """Return places and times, some equal: there the families differ most."""
    Z, t = rng.normal(size=(d, n)), rng.normal(size=n)
    if n > 5:
        Z[:, 3] = Z[:, 4]
        t[4] = t[5]
        Z[:, 5], t[5] = Z[:, 2], t[2]
    return Z, t


def orders(t):
    """Return times in no order, and in order: all, but a late one, and in two series."""
    ordered = np.sort(t)
    if len(t) < 6:
        return [t, ordered]
    late = ordered.copy()
    late[-2] = ordered[1]
    return [t, ordered, late, np.concatenate([ordered[::2], ordered[1::2]])]


def n_slopes(d, families):
    return 1 + d + 2 * len(families)


@every_space
@every_case
def test_gram(rng, spatial, d, families, n_shared):
    one, other = both(spatial, families, n_shared)
    for n in SIZES:
        Z, times = points(rng, d, n)
        for t in orders(times):
            K = np.full((n, n), np.nan)
            one.gram(Z, t, K)
            assert_allclose(np.tril(K), other.gram(Z, t), rtol=1e-12)
            assert np.isnan(K[np.triu_indices(n, 1)]).all()


@every_space
@every_case
def test_cross_gram(rng, spatial, d, families, n_shared):
    one, other = both(spatial, families, n_shared)
    for n, m in product(SIZES, (0, 1, 7)):
        first, second = points(rng, d, n), points(rng, d, m)
        if n and m:
            second[0][:, 0], second[1][0] = first[0][:, 0], first[1][0]
        K = np.full((n, m), np.nan)
        one.cross_gram(*first, *second, K)
        assert_allclose(K, other.cross_gram(*first, *second), rtol=1e-12)


@every_space
@every_case
def test_cross_with_gradient(rng, spatial, d, families, n_shared):
    one, other = both(spatial, families, n_shared)
    for n in SIZES:
        Z, times = points(rng, d, n)
        elsewhere = rng.normal(size=d), rng.normal()
        on_the_first = (Z[:, 0].copy(), times[0]) if n else elsewhere
        for z, u in (elsewhere, on_the_first):
            k, dk = np.full(n, np.nan), np.full((d + 1, n), np.nan)
            one.cross_with_gradient(z, u, Z, times, k, dk)
            for value, expected in zip((k, dk), other.cross_with_gradient(z, u, Z, times)):
                assert_allclose(value, expected, rtol=1e-11, atol=1e-14)


@every_space
@every_case
def test_sums_over_derivatives(rng, spatial, d, families, n_shared):
    one, other = both(spatial, families, n_shared)
    for n in SIZES:
        Z, times = points(rng, d, n)
        for t in orders(times):
            a, P = rng.normal(size=n), np.tril(rng.normal(size=(n, n)))
            expected = other.contract_gradient(Z, t, P, a)
            P[np.triu_indices(n, 1)] = np.nan
            out = np.full(n_slopes(d, families), np.nan)
            one.contract_gradient(Z, t, P, a, out)
            assert_allclose(out, expected, rtol=1e-10, atol=1e-10)
            out = np.full((n_slopes(d, families), n), np.nan)
            one.slope_products(Z, t, a, out)
            assert_allclose(out, other.slope_products(Z, t, a), rtol=1e-10, atol=1e-11)
        for m in SIZES:
            second = (Z, t) if m == n else points(rng, d, m)
            W, out = rng.normal(size=(n, m)), np.full(n_slopes(d, families), np.nan)
            one.contract_cross_gradient(Z, t, *second, W, out)
            expected = other.contract_cross_gradient(Z, t, *second, W)
            assert_allclose(out, expected, rtol=1e-10, atol=1e-10)


@every_case
def test_sums_over_derivatives_are_differences(rng, families, n_shared):
    d, n, step, R = 2, 12, 1e-6, len(families)
    Z, t = rng.normal(size=(d, n)), rng.normal(size=n)
    a, P = rng.normal(size=n), rng.normal(size=(n, n))
    P = P + P.T
    rates, weights = rng.uniform(0.2, 2.0, (2, R))

    def total(log_parameters):
        signal, scales, w, l = np.split(np.exp(log_parameters), [1, 1 + d, 1 + d + R])
        kinds = np.array(families, dtype=np.intc)
        kernel = sums.Sum(Family.MATERN32, kinds, rates / l, signal * w * weights, n_shared)
        K, scaled = np.empty((n, n)), Z / scales[:, np.newaxis]
        kernel.cross_gram(scaled, t, scaled, t, K)
        return np.sum((np.outer(a, a) - P) * K)

    steps = step * np.eye(1 + d + 2 * R)
    numeric = [(total(e) - total(-e)) / (2.0 * step) for e in steps]
    kinds, out = np.array(families, dtype=np.intc), np.empty(1 + d + 2 * R)
    kernel = sums.Sum(Family.MATERN32, kinds, rates, weights, n_shared)
    kernel.contract_gradient(Z, t, P, a, out)
    assert_allclose(out, numeric, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("family", Family)
@pytest.mark.parametrize("gap", [1e-6, 0.01, 3.0])
def test_rounding_does_not_add_up_over_many_rows(family, gap):
    n, rate, one = 1000, np.array([0.7]), np.ones(1)
    Z, t, K = np.empty((0, n)), gap * np.arange(n), np.zeros((n, n))
    given = Family.CONSTANT, np.array([family], dtype=np.intc), rate, one, 0
    sums.Sum(*given).gram(Z, t, K)
    assert_allclose(K, twin.Sum(*given).gram(Z, t), rtol=1e-12, atol=1e-250)


@pytest.mark.parametrize("spatial", Family)
@pytest.mark.parametrize("temporal", Family)
def test_one_term_is_a_product(rng, spatial, temporal):
    (Z, t), rate, n = points(rng, 2, 20), 0.7, 20
    expected, K = np.zeros((2, n, n))
    gram.gram(Z, rate * t, spatial, temporal, 1.7, expected)
    arrays = np.array([temporal], dtype=np.intc), np.array([rate]), np.array([1.7])
    sums.Sum(spatial, *arrays, 0).gram(Z, t, K)
    assert_allclose(K, expected, rtol=1e-13)


@pytest.mark.parametrize("family", Family)
@pytest.mark.parametrize("gap", [1e60, 1e100, 1e200])
def test_far_apart_is_uncorrelated_and_finite(family, gap):
    kinds, one = np.array([family], dtype=np.intc), np.ones(1)
    kernel = sums.Sum(Family.CONSTANT, kinds, one, one, 0)
    Z, t, K = np.zeros((1, 2)), np.array([0.0, gap]), np.zeros((2, 2))
    kernel.gram(Z, t, K)
    assert K[1, 0] == (1.0 if family == Family.CONSTANT else 0.0)
    k, dk, out = np.empty(2), np.empty((2, 2)), np.empty(4)
    kernel.cross_with_gradient(np.zeros(1), 0.0, Z, t, k, dk)
    kernel.contract_gradient(Z, t, np.eye(2), np.ones(2), out)
    for found in (k, dk, out):
        assert np.isfinite(found).all()


# --- arguments ------------------------------------------------------------------------------------

N, D, R = 5, 2, 3
FUNCTIONS = {
    "gram": 1,
    "cross_gram": 1,
    "cross_with_gradient": 2,
    "contract_gradient": 1,
    "slope_products": 1,
    "contract_cross_gradient": 1,
}


def kernel():
    return both(Family.MATERN52, [Family.RBF, Family.MATERN32, Family.MATERN12], 1)[0]


def arguments(name):
    """Return arguments of one valid call; results are the last ones."""
    rng = np.random.RandomState(1)
    Z, t, square = rng.normal(size=(D, N)), rng.normal(size=N), rng.normal(size=(N, N))
    few = Z[:, :3].copy(), t[:3]
    return {
        "gram": [Z, t, np.zeros((N, N))],
        "cross_gram": [*few, Z, t, np.empty((3, N))],
        "cross_with_gradient": [Z[:, 0].copy(), 0.3, Z, t, np.empty(N), np.empty((D + 1, N))],
        "contract_gradient": [Z, t, square, t.copy(), np.empty(1 + D + 2 * R)],
        "slope_products": [Z, t, t.copy(), np.empty((1 + D + 2 * R, N))],
        "contract_cross_gradient": [*few, Z, t, square[:3].copy(), np.empty(1 + D + 2 * R)],
    }[name]


ARRAYS = array_arguments(arguments, FUNCTIONS)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_read_only_inputs(name):
    check_read_only(getattr(kernel(), name), arguments(name), arguments(name), FUNCTIONS[name])


@pytest.mark.parametrize(("name", "position", "axis"), axes_of(ARRAYS))
def test_wrong_shapes(name, position, axis):
    check_wrong_shape(getattr(kernel(), name), arguments(name), position, axis)


@pytest.mark.parametrize(("name", "position", "layout"), other_layouts(ARRAYS))
def test_other_layouts_are_refused(name, position, layout):
    check_layout_is_refused(getattr(kernel(), name), arguments(name), position, layout)


@pytest.mark.parametrize(("n_rates", "n_shared"), [(2, 0), (4, 0), (3, 4), (3, -1)])
def test_terms_that_do_not_fit(n_rates, n_shared):
    families, ones = np.zeros(3, dtype=np.intc), np.ones(3)
    with pytest.raises(ValueError, match="fit"):
        sums.Sum(Family.RBF, families, np.ones(n_rates), ones, n_shared)
