"""Dense Cholesky solver against ``numpy.linalg``, and the levels of jitter."""

import copy
import itertools
import pickle
import re
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from sktvbo._fast import cholesky as compiled
from sktvbo.exceptions import JitterWarning, NotPositiveDefiniteError
from sktvbo.gaussian_process._cholesky import (
    DenseCholesky,
    cholesky,
    dot,
    draws,
    half_product,
    lower_inverse,
    matvec,
    product,
    rmatvec,
    try_cholesky,
)


def spd(rng, n):
    half = rng.normal(size=(n, n + 5))
    return half @ half.T / n


def solver_of(A):
    return DenseCholesky(*cholesky(A, np.zeros(len(A)), "kernel"))


def grown(solver, A, *more):
    """Return a factor of the first rows of A with further rows appended one by one."""
    rows = [*range(solver.n)]
    for i in more:
        solver = solver.append(A[i, rows].copy(), A[i, i])
        rows.append(i)
    return solver


def assert_factors(solver, A, rtol=1e-9):
    """All results of the solver are those of A."""
    n = len(A)
    b = np.linspace(-1.0, 1.0, 3 * n).reshape(3, n)
    L = np.tril(solver.L)
    assert solver.n == n
    assert_allclose(L @ L.T, A, rtol=rtol, atol=rtol)
    assert_allclose(solver.log_determinant, np.linalg.slogdet(A)[1], rtol=rtol, atol=rtol)
    assert_allclose(solver.solve(b[0]), np.linalg.solve(A, b[0]), rtol=rtol, atol=rtol)
    for transpose, triangle in ((False, L), (True, L.T)):
        found = solver.half_solve(b.copy(), transpose=transpose)
        assert_allclose(found.T, np.linalg.solve(triangle, b.T), rtol=rtol, atol=rtol)
    assert_allclose(solver.inverse(), np.linalg.inv(A), rtol=rtol, atol=rtol)


@pytest.mark.parametrize("n", [1, 2, 40])
def test_dense(rng, n):
    A, b = spd(rng, n), np.ones((2, n))
    assert_factors(solver_of(A), A)
    assert solver_of(A).half_solve(b) is b
    for vector in (np.arange(n), np.arange(1.0 * n)[::-1], np.float32(np.arange(n)), [*range(n)]):
        before = vector.copy()
        expected = np.linalg.solve(A, vector)
        assert_allclose(solver_of(A).solve(vector), expected, rtol=1e-6)
        assert_array_equal(vector, before)


def test_a_factor_grows_from_one_row_and_shrinks_to_one(rng):
    A, n = spd(rng, 40), 1
    solver = solver_of(A[:1, :1])
    for m in (2, 15, 16, 17, 40):
        solver, n = grown(solver, A, *range(n, m)), m
        assert_factors(solver, A[:m, :m])
    rows = [*range(40)]
    while len(rows) > 1:
        i = int(rng.randint(len(rows)))
        solver = solver.drop(i)
        del rows[i]
        assert_factors(solver, A[np.ix_(rows, rows)])


COPIES = copy.copy, copy.deepcopy, lambda solver: pickle.loads(pickle.dumps(solver))


@pytest.mark.parametrize("other_of", [lambda solver: solver, *COPIES])
def test_factors_that_extend_the_same_one_are_independent(rng, other_of):
    A, rows = spd(rng, 23), [*range(21), 22]
    # The first append allocates capacity: both extensions compete for the same row of it.
    ancestor = grown(solver_of(A[:20, :20]), A, 20)
    other = other_of(ancestor)
    assert np.shares_memory(other.L, ancestor.L) == (other is ancestor)
    one = grown(ancestor, A, 21)
    assert np.shares_memory(one.L, ancestor.L)
    two = grown(other, A, 22)
    one.drop(3)
    # A row that is refused leaves the factor.
    for kappa in (A[0, 0] - 1.0, -1.0, np.nan):
        assert one.append(A[0, :22].copy(), kappa) is None
    one = grown(one, A, 22)
    assert_factors(ancestor, A[:21, :21])
    assert_factors(one, A)
    assert_factors(two, A[np.ix_(rows, rows)])


def test_another_thread_extends_the_same_factor_meanwhile(rng, monkeypatch):
    A, append, others = spd(rng, 23), compiled.append, []
    ancestor = grown(solver_of(A[:20, :20]), A, 20)

    def interrupted(*arguments):
        monkeypatch.undo()
        others.append(grown(ancestor, A, 22))
        return append(*arguments)

    monkeypatch.setattr(compiled, "append", interrupted)
    assert_factors(grown(ancestor, A, 21), A[:22, :22])
    rows = [*range(21), 22]
    assert_factors(others[0], A[np.ix_(rows, rows)])


def test_pickles_hold_only_the_factor(rng):
    A = spd(rng, 21)
    exact = DenseCholesky(np.linalg.cholesky(A[:20, :20]), jitter=0.25)
    larger = grown(exact, A, 20)
    assert len(pickle.dumps(larger)) < 8 * 21**2 + 500
    assert pickle.loads(pickle.dumps(larger)).jitter == 0.25
    # Entries above the diagonal are undefined: equal factors give equal bytes.
    stained = larger.append(np.zeros(larger.n), 1.0)
    clean = pickle.dumps(stained)
    stained.L[np.triu_indices(stained.n, 1)] = np.nan
    assert pickle.dumps(stained) == clean


# --- jitter ---------------------------------------------------------------------------------------


def stated_amount(record):
    return float(re.search(r"only after (\S+) was added to its diagonal", str(record.message))[1])


def test_no_jitter_without_need(rng):
    """Only the lower triangle is read, and nothing is changed."""
    A, noise = spd(rng, 8), np.arange(8.0)
    half = np.tril(A)
    half[np.triu_indices(8, 1)] = np.nan
    before = half.copy()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        L, jitter = cholesky(half, noise, "kernel")
    assert jitter == 0.0
    assert_allclose(np.tril(L), np.linalg.cholesky(A + np.diag(noise)), rtol=1e-10)
    assert_array_equal(half, before)
    assert_array_equal(noise, np.arange(8.0))


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize(("defect", "expected"), [(1e-13, 1e-10), (3e-8, 1e-7), (5e-5, 1e-4)])
def test_the_smallest_jitter_that_helps(defect, expected, scale):
    # The smallest eigenvalue is about -defect times the mean of the diagonal, which is `scale`.
    A = scale * np.array([[1.0, 1.0 + defect], [1.0 + defect, 1.0]])
    with pytest.warns(JitterWarning, match="raise noise_variance") as records:
        L, jitter = cholesky(A, np.zeros(2), "kernel")
    assert len(records) == 1
    assert jitter == pytest.approx(expected * scale, rel=1e-6)
    assert stated_amount(records[0]) == pytest.approx(jitter, rel=0.06)
    assert_allclose(np.tril(L) @ np.tril(L).T, A + jitter * np.eye(2), rtol=1e-12)


@pytest.mark.parametrize("A", [-np.eye(3), np.zeros((3, 3)), np.diag([1.0, 1.0, -1.0])])
def test_matrices_that_no_jitter_helps(A):
    message = (
        r"The 3 x 3 covariance matrix of my kernel is not positive definite, even with [0-9].* "
        r"added to its diagonal\. Raise noise_variance"
    )
    with pytest.raises(NotPositiveDefiniteError, match=message):
        cholesky(A, np.zeros(3), "my kernel")


def test_jitter_stays_with_the_factor():
    A = np.ones((2, 2)) + np.array([[0.0, 1e-8], [1e-8, 0.0]])
    with pytest.warns(JitterWarning):
        solver = solver_of(A)
    larger = solver.append(np.array([0.5, 0.5]), 1.0)
    assert larger.jitter == larger.drop(0).jitter == solver.jitter > 0.0
    row = np.tril(larger.L)[2]
    assert row @ row == pytest.approx(1.0 + solver.jitter, abs=1e-14)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_entries_that_are_not_finite(value):
    message = r"The 3 x 3 covariance matrix of my kernel has entries that are not finite\. Scale X"
    none, one = np.zeros(3), np.array([value, 0.0, 0.0])
    for diagonal, below, noise in ((one, none, none), (none, one, none), (none, none, one)):
        A = np.eye(3) + np.diag(diagonal) + np.diag(below[:2], -1)
        with pytest.raises(NotPositiveDefiniteError, match=message):
            cholesky(A, noise, "my kernel")


@pytest.mark.parametrize("n", [0, 1, 9])
def test_factors_and_inverses_in_place(rng, n):
    A = spd(rng, n) if n else np.empty((0, 0))
    L, inverse = A.copy(), np.tril(np.linalg.inv(A))
    assert try_cholesky(L)
    assert_allclose(np.tril(L), np.linalg.cholesky(A), rtol=1e-10)
    assert lower_inverse(L) is L
    assert_allclose(np.tril(L), inverse, rtol=1e-9, atol=1e-12)
    for wrong in ([[1.0, 2.0], [2.0, 1.0]], [[np.nan]], [[np.inf]]):
        assert not try_cholesky(np.array(wrong))


# --- products -------------------------------------------------------------------------------------


@pytest.mark.parametrize("least", [0, 500], ids=["BLAS", "tiles"])
def test_products(rng, least, monkeypatch):
    monkeypatch.setattr("sktvbo.gaussian_process._cholesky.MIN_ROWS_FOR_THREADS", least)
    whole = rng.normal(size=(30, 40))
    for A, n_columns in itertools.product((whole, whole[:21, :33], whole.T), (1, 8, 9, 17)):
        B = rng.normal(size=(A.shape[1], n_columns))
        found = product(A, B)
        assert found.flags.c_contiguous
        assert_allclose(found, A @ B, rtol=1e-12, atol=1e-12)
    C = spd(rng, 40)
    expected = np.sum(whole * (whole @ C), axis=1)
    assert_allclose(2.0 * np.sum(whole * half_product(whole, C), axis=1), expected, rtol=1e-12)
    x, z = rng.normal(size=40), rng.normal(size=30)
    assert_allclose(matvec(whole, x), whole @ x, rtol=1e-12, atol=1e-14)
    assert_allclose(rmatvec(whole, z), whole.T @ z, rtol=1e-12, atol=1e-14)
    assert dot(x, x) == pytest.approx(x @ x, rel=1e-12)


# --- draws ----------------------------------------------------------------------------------------


def covariances(rng, m=30):
    """Return posterior covariances where the prior variance is 1."""
    half = rng.normal(size=(m, 3))
    symmetric = rng.normal(size=(m, m))
    twice = np.repeat(np.arange(m // 2), 2)
    return {
        "full rank": spd(rng, m),
        "rank 3": half @ half.T,
        "twice": spd(rng, m)[np.ix_(twice, twice)],
        "zero": np.zeros((m, m)),
        "indefinite by rounding": 1e-16 * (symmetric + symmetric.T),
        "small beside large": np.outer(v := np.logspace(-4, 0, m), v) * spd(rng, m),
    }


@pytest.mark.parametrize("name", covariances(np.random.RandomState(0)))
@pytest.mark.parametrize("scale", [1.0, 1e-20, 1e20])
def test_draws_have_the_covariance_though_it_is_singular(name, scale):
    K = covariances(np.random.RandomState(0))[name]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = draws(scale * K, scale, np.eye(len(K))) / np.sqrt(scale)
    assert_allclose(found.T @ found, K, rtol=0.0, atol=2e-12)
    if name == "twice":
        assert_allclose(found[:, ::2], found[:, 1::2], rtol=0.0, atol=1e-9)
    if name == "small beside large":
        assert_allclose((found**2).sum(axis=0), K.diagonal(), rtol=1e-3)
    for wrong in (-1.0, -1e-3, np.nan, np.inf):
        K[2, 2] = wrong
        with pytest.raises(NotPositiveDefiniteError, match="covariance of 30 points is not"):
            draws(K, 1.0, np.ones((1, 30)))
