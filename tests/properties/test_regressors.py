"""Factors, posteriors and relevancies."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from properties import strategies as some
from sklearn.gaussian_process.kernels import Matern

from sktvbo import TimeVaryingGPRegressor
from sktvbo.gaussian_process._cholesky import DenseCholesky, cholesky


def factor(A):
    return DenseCholesky(*cholesky(A, np.zeros(len(A)), "A"))


def fitted(X, y, kind=TimeVaryingGPRegressor, **options):
    options = {"noise_variance": 0.05, "optimizer": None} | options
    return kind(Matern(0.5, nu=2.5), Matern(3.0, nu=1.5), **options).fit(X, y)


def assert_same(one, other, X, tolerance=1e-7):
    for a, b in zip(one.predict(X, return_std=True), other.predict(X, return_std=True)):
        assert_allclose(a, b, rtol=tolerance, atol=tolerance)


PLACES = np.column_stack([np.random.RandomState(0).uniform(size=(6, 2)), np.linspace(0, 12, 6)])
two_d = some.data(n=st.integers(2, 12), d=st.just(2))


@given(some.covariances(), some.seeds)
def test_a_factor_solves(A, seed):
    b = np.random.RandomState(seed).normal(size=len(A))
    x = factor(A).solve(b)
    assert_allclose(A @ x, b, atol=1e-9 * np.linalg.cond(A) ** 0.5 * (1.0 + np.abs(b).max()))


@given(some.covariances(), some.seeds)
def test_both_halves_are_a_solution(A, seed):
    solver, B = factor(A), np.random.RandomState(seed).normal(size=(3, len(A)))
    half = solver.half_solve(B.copy())
    assert_allclose(np.sum(half**2, axis=1), [b @ solver.solve(b) for b in B], rtol=1e-6)
    assert_allclose(
        solver.half_solve(half, transpose=True), [solver.solve(b) for b in B], rtol=1e-6
    )


@given(some.covariances(n=st.integers(2, 8)), st.data())
def test_rows_come_and_go(A, data):
    """Any order of appending and dropping has the factor of what is left."""
    solver, left = factor(A[:1, :1]), [0]
    for _ in range(data.draw(st.integers(1, 12))):
        absent = sorted(set(range(len(A))) - set(left))
        if absent and (len(left) == 1 or data.draw(st.booleans())):
            new = data.draw(st.sampled_from(absent))
            grown = solver.append(A[new, left].copy(), A[new, new])
            assert grown is not None
            solver, left = grown, [*left, new]
        else:
            i = data.draw(st.integers(0, len(left) - 1))
            solver, left = solver.drop(i), left[:i] + left[i + 1 :]
    expected = factor(A[np.ix_(left, left)])
    assert_allclose(np.tril(solver.L), np.tril(expected.L), atol=1e-5 * np.sqrt(A.max()))
    assert_allclose(solver.log_determinant, expected.log_determinant, rtol=1e-5, atol=1e-5)


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


@given(two_d, some.temporal)
def test_relevancies_are_those_of_a_fresh_sweep_after_removals(rows, temporal):
    X, y = rows
    options = {"noise_variance": 0.05, "optimizer": None}
    gp = TimeVaryingGPRegressor(Matern(0.5, nu=2.5), temporal, **options).fit(X, y)
    sweep = gp.fitted_.relevancy_sweep(10.0)
    while sweep.n > 1:
        relevancy = sweep.relevancy()
        assert np.isfinite(relevancy).all()
        assert (relevancy >= 0.0).all()
        left = sweep.index
        fresh = TimeVaryingGPRegressor(Matern(0.5, nu=2.5), temporal, **options)
        expected = fresh.fit(X[left], y[left]).relevancy(10.0)
        assert_allclose(relevancy, expected, rtol=1e-4, atol=1e-4)
        sweep.remove(np.argmin(relevancy))


@given(two_d, st.floats(0.0, 100.0))
def test_known_noise_adds_to_what_is_there(rows, variance):
    X, y = rows
    with_known = TimeVaryingGPRegressor(
        Matern(0.5, nu=2.5), Matern(3.0, nu=1.5), noise_variance=0.05, optimizer=None
    ).fit(X, y, np.full(len(y), variance))
    assert_same(with_known, fitted(X, y, noise_variance=0.05 + variance), PLACES)
