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
from sktvbo.exceptions import JitterWarning, NotPositiveDefiniteError, SktvboError
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
    A = spd(rng, n)
    assert_factors(solver_of(A), A)


def test_solves_do_not_change_the_right_hand_side(rng):
    A, b = spd(rng, 6), rng.normal(size=6)
    kept = b.copy()
    solver_of(A).solve(b)
    assert_array_equal(b, kept)
    assert solver_of(A).half_solve(B := np.ones((2, 6))) is B


def test_solve_takes_any_real_vector(rng):
    A = spd(rng, 6)
    solver = solver_of(A)
    for b in (np.arange(6), np.arange(6.0)[::-1], np.arange(6, dtype=np.float32), list(range(6))):
        assert_allclose(solver.solve(b), np.linalg.solve(A, b), rtol=1e-6)


def test_grow_from_one(rng):
    A = spd(rng, 60)
    solver = solver_of(A[:1, :1])
    for n in range(1, 60):
        solver = solver.append(A[n, :n].copy(), A[n, n])
        if n in (1, 15, 16, 17, 59):
            assert_factors(solver, A[: n + 1, : n + 1])


def test_shrink_to_one(rng):
    A = spd(rng, 30)
    solver, rows = solver_of(A), list(range(30))
    while len(rows) > 1:
        i = int(rng.randint(len(rows)))
        solver = solver.drop(i)
        del rows[i]
        assert_factors(solver, A[np.ix_(rows, rows)])


def test_append_and_drop_leave_the_old_factor(rng):
    A = spd(rng, 22)
    small = solver_of(A[:20, :20])
    grown = small.append(A[20, :20].copy(), A[20, 20])
    grown.drop(3)
    assert_factors(small, A[:20, :20])
    assert_factors(grown, A[:21, :21])


def test_two_factors_that_extend_the_same_one(rng):
    A = spd(rng, 23)
    # The first append allocates capacity: both extensions compete for the same row of it.
    ancestor = solver_of(A[:20, :20]).append(A[20, :20].copy(), A[20, 20])
    one = ancestor.append(A[21, :21].copy(), A[21, 21])
    rows = [*range(21), 22]
    two = ancestor.append(A[22, :21].copy(), A[22, 22])
    one = one.append(A[22, :22].copy(), A[22, 22])
    assert_factors(ancestor, A[:21, :21])
    assert_factors(one, A)
    assert_factors(two, A[np.ix_(rows, rows)])


def test_another_thread_extends_the_same_factor_meanwhile(rng, monkeypatch):
    A, append, others = spd(rng, 23), compiled.append, []
    ancestor = solver_of(A[:20, :20]).append(A[20, :20].copy(), A[20, 20])

    def interrupted(*arguments):
        monkeypatch.undo()
        others.append(ancestor.append(A[22, :21].copy(), A[22, 22]))
        return append(*arguments)

    monkeypatch.setattr(compiled, "append", interrupted)
    one, (two,) = ancestor.append(A[21, :21].copy(), A[21, 21]), others
    assert_factors(one, A[:22, :22])
    rows = [*range(21), 22]
    assert_factors(two, A[np.ix_(rows, rows)])


def test_append_after_a_refused_row(rng):
    A = spd(rng, 22)
    solver = solver_of(A[:20, :20]).append(A[20, :20].copy(), A[20, 20])
    assert solver.append(A[0, :21].copy(), A[0, 0] - 1.0) is None
    assert_factors(solver, A[:21, :21])
    assert_factors(solver.append(A[21, :21].copy(), A[21, 21]), A)


@pytest.mark.parametrize("kappa", [1.0, 0.5, 1.0 + 1e-15, -1.0, np.nan])
def test_a_row_that_is_not_positive_definite(kappa):
    assert solver_of(np.eye(3)).append(np.array([1.0, 0.0, 0.0]), kappa) is None


def test_append_reuses_capacity(rng):
    A = spd(rng, 12)
    solver = solver_of(A[:10, :10]).append(A[10, :10].copy(), A[10, 10])
    assert np.shares_memory(solver.L, solver.append(A[11, :11].copy(), A[11, 11]).L)


@pytest.mark.parametrize(
    "duplicate", [copy.copy, copy.deepcopy, lambda s: pickle.loads(pickle.dumps(s))]
)
def test_copies_are_independent(rng, duplicate):
    A = spd(rng, 23)
    solver = solver_of(A[:20, :20]).append(A[20, :20].copy(), A[20, 20])
    other = duplicate(solver)
    assert not np.shares_memory(solver.L, other.L)
    rows = [*range(21), 22]
    one = solver.append(A[21, :21].copy(), A[21, 21])
    two = other.append(A[22, :21].copy(), A[22, 22])
    assert_factors(one, A[:22, :22])
    assert_factors(two, A[np.ix_(rows, rows)])


def test_pickles_hold_only_the_factor(rng):
    A = spd(rng, 21)
    exact = DenseCholesky(np.linalg.cholesky(A[:20, :20]), jitter=0.25)
    grown = exact.append(A[20, :20].copy(), A[20, 20])
    assert len(pickle.dumps(grown)) < 8 * 21**2 + 500
    assert pickle.loads(pickle.dumps(grown)).jitter == 0.25
    # Entries above the diagonal are undefined: equal factors give equal bytes.
    stained = grown.append(np.zeros(grown.n), 1.0)
    clean = pickle.dumps(stained)
    stained.L[np.triu_indices(stained.n, 1)] = np.nan
    assert pickle.dumps(stained) == clean


# --- jitter ---------------------------------------------------------------------------------------


def stated_amount(record):
    return float(re.search(r"only after (\S+) was added to its diagonal", str(record.message))[1])


def test_no_jitter_without_need(rng):
    A = spd(rng, 8)
    noise = np.arange(8.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        L, jitter = cholesky(A, noise, "kernel")
    assert jitter == 0.0
    assert_allclose(np.tril(L), np.linalg.cholesky(A + np.diag(noise)), rtol=1e-10)


def test_only_the_lower_triangle_is_read_and_nothing_is_changed(rng):
    A = spd(rng, 8)
    half = np.tril(A)
    half[np.triu_indices(8, 1)] = np.nan
    kept, noise = half.copy(), np.full(8, 0.1)
    L, _ = cholesky(half, noise, "kernel")
    assert_allclose(np.tril(L), np.linalg.cholesky(A + 0.1 * np.eye(8)), rtol=1e-10)
    assert_array_equal(half, kept)
    assert_array_equal(noise, 0.1)


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
    with pytest.raises(NotPositiveDefiniteError, match=r"not positive definite, even with [0-9]"):
        cholesky(A, np.zeros(3), "kernel")


def test_jitter_stays_with_the_factor():
    A = np.ones((2, 2)) + np.array([[0.0, 1e-8], [1e-8, 0.0]])
    with pytest.warns(JitterWarning):
        solver = solver_of(A)
    grown = solver.append(np.array([0.5, 0.5]), 1.0)
    assert grown.jitter == solver.jitter > 0.0
    assert np.tril(grown.L)[2] @ np.tril(grown.L)[2] == pytest.approx(
        1.0 + solver.jitter, abs=1e-14
    )
    assert grown.drop(0).jitter == solver.jitter


def test_beyond_jitter():
    A = np.array([[1.0, 1.1], [1.1, 1.0]])
    message = (
        r"The 2 x 2 covariance matrix of my kernel is not positive definite, even with 1\.0e-04 "
        r"added to its diagonal\. Raise noise_variance"
    )
    with pytest.raises(NotPositiveDefiniteError, match=message) as caught:
        cholesky(A, np.zeros(2), "my kernel")
    assert isinstance(caught.value, ValueError)
    assert isinstance(caught.value, SktvboError)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("place", [(0, 0), (2, 1), "noise"])
def test_entries_that_are_not_finite(place, value):
    A, noise = np.eye(3), np.zeros(3)
    if place == "noise":
        noise[1] = value
    else:
        A[place] = value
    message = r"The 3 x 3 covariance matrix of my kernel has entries that are not finite\. Scale X"
    with pytest.raises(NotPositiveDefiniteError, match=message):
        cholesky(A, noise, "my kernel")


def test_try_cholesky(rng):
    A = spd(rng, 9)
    expected = np.linalg.cholesky(A)
    assert try_cholesky(A)
    assert_allclose(np.tril(A), expected, rtol=1e-10)
    assert not try_cholesky(np.array([[1.0, 2.0], [2.0, 1.0]]))
    assert not try_cholesky(np.array([[np.nan]]))
    assert not try_cholesky(np.array([[np.inf]]))
    assert try_cholesky(np.empty((0, 0)))


@pytest.mark.parametrize("n", [0, 1, 9])
def test_lower_inverse(rng, n):
    A = spd(rng, n) if n else np.empty((0, 0))
    L = np.linalg.cholesky(A) if n else A.copy()
    assert lower_inverse(L) is L
    assert_allclose(np.tril(L), np.tril(np.linalg.inv(A)), rtol=1e-9, atol=1e-12)


# --- products -------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(1, 1), (7, 3), (3, 7), (1, 5), (5, 1)])
def test_products(rng, shape):
    m, n = shape
    K, x, z = rng.normal(size=shape), rng.normal(size=n), rng.normal(size=m)
    kept = K.copy()
    assert_allclose(matvec(K, x), K @ x, rtol=1e-12, atol=1e-14)
    assert_allclose(rmatvec(K, z), K.T @ z, rtol=1e-12, atol=1e-14)
    assert dot(x, x) == pytest.approx(x @ x, rel=1e-12)
    assert_array_equal(K, kept)
    assert matvec(K, x).shape == (m,)
    assert rmatvec(K, z).shape == (n,)


@pytest.mark.parametrize("least", [0, 500], ids=["BLAS", "tiles"])
def test_products_of_matrices(rng, least, monkeypatch):
    monkeypatch.setattr("sktvbo.gaussian_process._cholesky.MIN_ROWS_FOR_THREADS", least)
    whole = rng.normal(size=(30, 40))
    blocks = whole, whole[:21, :33], whole.T
    for A, n_columns in itertools.product(blocks, (1, 8, 9, 15, 16, 17)):
        B = rng.normal(size=(A.shape[1], n_columns))
        found = product(A, B)
        assert found.flags.c_contiguous
        assert_allclose(found, A @ B, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("least", [0, 500], ids=["BLAS", "tiles"])
def test_forms_by_half_products(rng, least, monkeypatch):
    monkeypatch.setattr("sktvbo.gaussian_process._cholesky.MIN_ROWS_FOR_THREADS", least)
    A, C = rng.normal(size=(50, 70)), spd(rng, 70)
    kept, found = A.copy(), half_product(A, C)
    assert_allclose(2.0 * np.sum(A * found, axis=1), np.sum(A * (A @ C), axis=1), rtol=1e-12)
    assert_array_equal(A, kept)


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


@pytest.mark.parametrize("wrong", [-1.0, -1e-3, np.nan, np.inf])
def test_draws_of_no_covariance_are_errors(wrong, rng):
    K = spd(rng, 5)
    K[2, 2] = wrong
    with pytest.raises(NotPositiveDefiniteError, match="posterior covariance of 5 places is not"):
        draws(K, 1.0, np.ones((1, 5)))
