"""Factors, posteriors and relevancies."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from properties import strategies as some
from sklearn.gaussian_process.kernels import Matern

from sktvbo import TimeVaryingGPRegressor


def fitted(X, y, kind=TimeVaryingGPRegressor, **options):
    options = {"noise_variance": 0.05, "optimizer": None} | options
    return kind(Matern(0.5, nu=2.5), Matern(3.0, nu=1.5), **options).fit(X, y)


def assert_same(one, other, X, tolerance=1e-7):
    for a, b in zip(one.predict(X, return_std=True), other.predict(X, return_std=True)):
        assert_allclose(a, b, rtol=tolerance, atol=tolerance)


PLACES = np.column_stack([np.random.RandomState(0).uniform(size=(6, 2)), np.linspace(0, 12, 6)])
two_d = some.data(n=st.integers(2, 12), d=st.just(2))


@given(two_d, st.data())
def test_appending_and_forgetting_is_fitting_what_is_left(rows, data):
    X, y = rows
    first = data.draw(st.integers(1, len(X)))
    gp = fitted(X[:first], y[:first])
    if first < len(X):
        gp.partial_fit(X[first:], y[first:])
    drop = data.draw(st.lists(st.integers(0, len(X) - 1), max_size=len(X) - 1, unique=True))
    gp.forget(drop)
    kept = np.setdiff1d(np.arange(len(X)), drop)
    assert_array_equal(gp.X_train_, X[kept])
    assert_same(gp, fitted(X[kept], y[kept]), PLACES)


@given(two_d, some.seeds)
def test_the_order_of_the_rows_does_not_matter(rows, seed):
    X, y = rows
    order = np.random.RandomState(seed).permutation(len(X))
    assert_same(fitted(X, y), fitted(X[order], y[order]), PLACES)


@given(two_d, st.floats(-1e9, 1e9))
def test_the_origin_of_time_does_not_matter(rows, origin):
    X, y = rows
    shift = np.array([0.0, 0.0, origin])
    there = fitted(X + shift, y)
    mean, std = there.predict(PLACES + shift, return_std=True)
    expected = fitted(X, y).predict(PLACES, return_std=True)
    assert_allclose([mean, std], expected, rtol=1e-4, atol=1e-4)


@given(two_d, st.integers(-300, 300))
def test_the_unit_of_y_does_not_matter(rows, power):
    X, y = rows
    one, other = (fitted(X, np.ldexp(y, k), normalize_y=True) for k in (0, power))
    if np.ptp(y) == 0.0:
        return  # constants have the scale 1
    for a, b in zip(one.predict(PLACES, return_std=True), other.predict(PLACES, return_std=True)):
        assert_array_equal(np.ldexp(a, power), b)


@given(two_d)
def test_an_observation_never_makes_the_posterior_wider(rows):
    X, y = rows
    before = fitted(X[:-1], y[:-1]).predict(PLACES, return_std=True)[1]
    after = fitted(X, y).predict(PLACES, return_std=True)[1]
    assert (after <= before + 1e-7).all()
    assert (after >= 0.0).all()
    assert (before <= 1.0 + 1e-12).all()


@given(two_d, st.floats(0.0, 100.0))
def test_known_noise_adds_to_what_is_there(rows, variance):
    X, y = rows
    with_known = TimeVaryingGPRegressor(
        Matern(0.5, nu=2.5), Matern(3.0, nu=1.5), noise_variance=0.05, optimizer=None
    ).fit(X, y, np.full(len(y), variance))
    assert_same(with_known, fitted(X, y, noise_variance=0.05 + variance), PLACES)
