"""Covariances, products and sums of terms, and their derivatives compared with a NumPy twin."""

from itertools import product

import numpy as np
import pytest
from grids import pairs_of
from numpy.testing import assert_allclose, assert_array_equal
from twins import sums as twin

from sktvbo._fast import gram, sums
from sktvbo._fast.gram import Family

SIGNAL = 1.7
SIZES = (0, 1, 2, 40)


class Product:
    """The compiled product of two correlations, with the methods of a compiled sum."""

    def __init__(self, spatial, temporal, signal=SIGNAL):
        self.families, self.signal = (spatial, temporal), signal

    def gram(self, Z, t, out, multiply=False):
        gram.gram(Z, t, *self.families, self.signal, out, multiply)

    def cross_gram(self, *points_and_out, multiply=False):
        *points, out = points_and_out
        gram.cross_gram(*points, *self.families, self.signal, out, multiply)

    def cross_with_gradient(self, z, u, Z, t, k, dk):
        gram.cross_with_gradient(z, u, Z, t, *self.families, self.signal, k, dk)

    def _covariance(self, Z, t):
        K = np.full((len(t), len(t)), np.nan)
        self.gram(Z, t, K)
        return K

    def contract_gradient(self, Z, t, P, a, out):
        gram.contract_gradient(Z, t, *self.families, self._covariance(Z, t), P, a, out)

    def slope_products(self, Z, t, a, out):
        gram.slope_products(Z, t, *self.families, self._covariance(Z, t), a, out)

    def contract_cross_gradient(self, Z1, t1, Z2, t2, W, out):
        K = np.full(W.shape, np.nan)
        self.cross_gram(Z1, t1, Z2, t2, K)
        gram.contract_cross_gradient(Z1, t1, Z2, t2, *self.families, K, W, out[1:])


# Families of the terms of a sum, and the number of those that do not depend on the place.
SUMS = {
    "one": ([Family.MATERN52], 0),
    "smooth and rough": ([Family.MATERN52, Family.MATERN12], 0),
    "with a level": ([Family.MATERN52, Family.MATERN12, Family.MATERN12], 1),
    "all": (list(Family), 0),
    "all shared": (list(Family), 5),
    "all twice": ([*Family, *Family], 5),
    "none": ([], 0),
}
TEMPORAL = {family.name: family for family in Family} | SUMS


def both(spatial, temporal):
    """Return a compiled covariance, its twin, and the rows of its derivatives by dimension."""
    if isinstance(temporal, Family):
        # The derivative in the signal variance is that in the weight of the only term.
        known = twin.Sum(spatial, [temporal], [1.0], [SIGNAL], 0)
        return Product(spatial, temporal), known, lambda d: [*range(1 + d), 2 + d]
    families, n_shared = temporal
    rates, weights = np.random.RandomState(len(families)).uniform(0.2, 2.0, (2, len(families)))
    given = spatial, np.array(families, dtype=np.intc), rates, weights, n_shared
    return sums.Sum(*given), twin.Sum(*given), lambda d: list(range(1 + d + 2 * len(families)))


def points(rng, d, n):
    """Return places and times, some equal: there the families differ most."""
    Z, t = rng.normal(size=(d, n)), rng.normal(size=n)
    if n > 5:
        Z[:, 3] = Z[:, 4]
        t[4] = t[5]
        Z[:, 5], t[5] = Z[:, 2], t[2]
    return Z, t


@pytest.mark.parametrize(("n", "d"), [(0, 2), (1, 1), (7, 0), (7, 3)])
def test_scale(rng, n, d):
    X, units, Z = rng.normal(size=(n, d)), rng.uniform(1.0, 2.0, size=d), np.full((d, n), np.nan)
    X = np.asfortranarray(X)[::-1]
    length = gram.scale(X, units, Z)
    assert_array_equal(Z, (X * units).T)
    assert_allclose(length, np.sqrt(np.sum(Z**2)), rtol=1e-14)
    assert gram.scale(np.array([[1e200]]), np.array([1e200]), np.empty((1, 1))) == np.inf


def orders(t):
    """Return times in no order, and in order: all, but a late one, and in two series."""
    ordered = np.sort(t)
    if len(t) < 6:
        return [t, ordered]
    late = ordered.copy()
    late[-2] = ordered[1]
    return [t, ordered, late, np.concatenate([ordered[::2], ordered[1::2]])]


every_pair = pytest.mark.parametrize(
    ("spatial", "d", "temporal"),
    [(s, d, TEMPORAL[name]) for s, d, name in pairs_of(Family, (0, 1, 3), TEMPORAL)],
)


@every_pair
def test_gram(rng, spatial, d, temporal):
    one, other, _ = both(spatial, temporal)
    for n in SIZES:
        Z, times = points(rng, d, n)
        for t in orders(times):
            K = np.full((n, n), np.nan)
            one.gram(Z, t, K)
            assert_allclose(np.tril(K), other.gram(Z, t), rtol=1e-12)
            assert np.isnan(K[np.triu_indices(n, 1)]).all()


@pytest.mark.parametrize(("spatial", "temporal"), [*zip(Family, [*Family][1:] + [*Family][:1])])
def test_matrices_are_multiplied_in_place(rng, spatial, temporal):
    one, other, _ = both(spatial, temporal)
    for n in SIZES:
        Z, t = points(rng, 2, n)
        before = rng.normal(size=(n, n))
        found, K = before.copy(), other.cross_gram(Z, t, Z, t)
        one.gram(Z, t, found, multiply=True)
        assert_allclose(np.tril(found), np.tril(before * K), rtol=1e-12)
        assert_array_equal(np.triu(found, 1), np.triu(before, 1))
        found = before.copy()
        one.cross_gram(Z, t, Z, t, found, multiply=True)
        assert_allclose(found, before * K, rtol=1e-12)


@every_pair
def test_cross_gram(rng, spatial, d, temporal):
    one, other, _ = both(spatial, temporal)
    for n, m in product(SIZES, (0, 1, 7)):
        first, second = points(rng, d, n), points(rng, d, m)
        if n and m:
            second[0][:, 0], second[1][0] = first[0][:, 0], first[1][0]
        K = np.full((n, m), np.nan)
        one.cross_gram(*first, *second, K)
        assert_allclose(K, other.cross_gram(*first, *second), rtol=1e-12)


@every_pair
def test_cross_with_gradient(rng, spatial, d, temporal):
    one, other, _ = both(spatial, temporal)
    for n in SIZES:
        Z, times = points(rng, d, n)
        elsewhere = rng.normal(size=d), rng.normal()
        on_the_first = (Z[:, 0].copy(), times[0]) if n else elsewhere
        for z, u in (elsewhere, on_the_first):
            k, dk = np.full(n, np.nan), np.full((d + 1, n), np.nan)
            one.cross_with_gradient(z, u, Z, times, k, dk)
            for value, expected in zip((k, dk), other.cross_with_gradient(z, u, Z, times)):
                assert_allclose(value, expected, rtol=1e-11, atol=1e-14)


@every_pair
def test_sums_over_derivatives(rng, spatial, d, temporal):
    one, other, rows = both(spatial, temporal)
    rows = rows(d)
    for n in SIZES:
        Z, times = points(rng, d, n)
        for t in orders(times):
            a, P = rng.normal(size=n), np.tril(rng.normal(size=(n, n)))
            expected = other.contract_gradient(Z, t, P, a)[rows]
            P[np.triu_indices(n, 1)] = np.nan
            out = np.full(len(rows), np.nan)
            one.contract_gradient(Z, t, P, a, out)
            assert_allclose(out, expected, rtol=1e-10, atol=1e-10)
            out = np.full((len(rows), n), np.nan)
            one.slope_products(Z, t, a, out)
            assert_allclose(out, other.slope_products(Z, t, a)[rows], rtol=1e-10, atol=1e-11)
        for m in SIZES:
            second = (Z, t) if m == n else points(rng, d, m)
            W, out = rng.normal(size=(n, m)), np.full(len(rows), np.nan)
            one.contract_cross_gradient(Z, t, *second, W, out)
            expected = other.contract_cross_gradient(Z, t, *second, W)[rows]
            if isinstance(one, Product):  # without that in the signal variance
                out, expected = out[1:], expected[1:]
            assert_allclose(out, expected, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("family", Family)
@pytest.mark.parametrize("gap", [1e-6, 3.0])
def test_rounding_does_not_add_up_over_many_rows(family, gap):
    n, rate, one, rows = 1000, np.array([0.7]), np.ones(1), np.arange(0, 1000, 27)
    Z, t, K = np.empty((0, n)), gap * np.arange(n), np.zeros((n, n))
    given = Family.CONSTANT, np.array([family], dtype=np.intc), rate, one, 0
    sums.Sum(*given).gram(Z, t, K)
    expected = twin.Sum(*given).cross_gram(Z[:, rows], t[rows], Z, t)
    assert_allclose(
        K[rows], expected * (rows[:, np.newaxis] >= np.arange(n)), rtol=1e-12, atol=1e-250
    )


@pytest.mark.parametrize("family", Family)
@pytest.mark.parametrize("far", [1e8, 1e60, 1e100])
def test_far_apart_is_uncorrelated_and_finite(family, far):
    kinds, one = np.array([family], dtype=np.intc), np.ones(1)
    apart, together = np.array([0.0, far]), np.zeros(2)
    for kernel, Z, t in (
        (sums.Sum(Family.CONSTANT, kinds, one, one, 0), together[np.newaxis], 1e100 * apart),
        (Product(family, Family.CONSTANT, 1.0), apart[np.newaxis], together),
    ):
        K, k, dk = np.zeros((2, 2)), np.empty(2), np.empty((2, 2))
        kernel.gram(Z, t, K)
        assert K[1, 0] == (1.0 if family == Family.CONSTANT else 0.0)
        kernel.cross_with_gradient(np.zeros(1), 0.0, Z, t, k, dk)
        out = np.empty(3 if isinstance(kernel, Product) else 4)
        kernel.contract_gradient(Z, t, np.eye(2), np.ones(2), out)
        for found in (k, dk, out):
            assert np.isfinite(found).all()


@pytest.mark.parametrize(("n_rates", "n_shared"), [(2, 0), (4, 0), (3, 4), (3, -1)])
def test_terms_that_do_not_fit(n_rates, n_shared):
    families, ones = np.zeros(3, dtype=np.intc), np.ones(3)
    with pytest.raises(ValueError, match="fit"):
        sums.Sum(Family.RBF, families, np.ones(n_rates), ones, n_shared)
