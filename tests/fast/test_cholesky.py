"""Updates of a Cholesky factor compared with new factors."""

import numpy as np
import pytest
from fast.matrices import spd
from numpy.testing import assert_allclose, assert_array_equal
from twins import cholesky as twin

from sktvbo._fast import cholesky as fast

SIZES = [0, 1, 2, 40]


def factor(A, capacity=None):
    """Return the lower factor in the corner of a larger array of NaN, which must not be read."""
    n = len(A)
    L = np.full((capacity or n + 3,) * 2, np.nan)
    L[np.tril_indices(n)] = np.linalg.cholesky(A)[np.tril_indices(n)]
    return L


def append(L, n, k, kappa):
    """Append on a copy; return the new factor and the square of its pivot."""
    L = L.copy()
    pivot = fast.append(L, n, k, kappa)
    return np.tril(L[: n + 1, : n + 1]), pivot


def drop(L, n, i):
    out = np.full((n - 1, n - 1), np.nan)
    fast.drop(L, n, i, out)
    return np.tril(out)


@pytest.mark.parametrize("transpose", [False, True])
@pytest.mark.parametrize("n_sides", [0, 1, 5])
@pytest.mark.parametrize("n", SIZES)
def test_solve_lower(rng, n, n_sides, transpose):
    L, B = factor(spd(rng, n)), rng.normal(size=(n_sides, n))
    expected = twin.solve_lower(L, n, B, transpose)
    assert fast.solve_lower(L, n, B, transpose) is None
    assert_allclose(B, expected, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("n", SIZES)
def test_append(rng, n):
    A = spd(rng, n + 1)
    L = factor(A[:n, :n], capacity=n + 4)
    k, kappa = A[n, :n].copy(), A[n, n]
    found, pivot = append(L, n, k, kappa)
    expected, expected_pivot = twin.append(L, n, k, kappa)
    assert_allclose(found, expected, rtol=1e-10, atol=1e-12)
    assert pivot == pytest.approx(expected_pivot, rel=1e-10)


@pytest.mark.parametrize("n", SIZES[1:])
def test_drop(rng, n):
    L = factor(spd(rng, n))
    for i in {0, n // 2, n - 1}:
        expected, in_place = twin.drop(L, n, i), L.copy()
        assert_allclose(drop(L, n, i), expected, rtol=1e-10, atol=1e-12)
        fast.drop(in_place, n, i, in_place)
        assert_allclose(np.tril(in_place[: n - 1, : n - 1]), expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("n", SIZES)
def test_symmetrize(rng, n):
    A = rng.normal(size=(n, n))
    expected = twin.symmetrize(A)
    assert fast.symmetrize(A) is None
    assert_array_equal(A, expected)


@pytest.mark.parametrize("kappa", [0.5, 1.0, np.nan])
def test_append_without_a_positive_pivot(kappa):
    L = np.full((3, 3), 7.0)
    L[0, 0] = 1.0
    pivot = fast.append(L, 1, np.ones(1), kappa)
    assert not pivot > 0.0
    assert pivot == pytest.approx(kappa - 1.0, nan_ok=True)
    assert L[0, 0] == 1.0
    assert L[1, 1] == 7.0
    assert_array_equal(L[2], 7.0)


def backward_error(L, A):
    """Return |L L' - A| relative to A, small for a stable algorithm at any condition number."""
    return np.abs(L @ L.T - A).max() / np.abs(A).max()


def test_ill_conditioned_append_and_drop(rng):
    n = 40
    A = spd(rng, n + 1, condition=1e10)
    L = factor(A[:n, :n], capacity=n + 1)
    appended, pivot = append(L, n, A[n, :n].copy(), A[n, n])
    assert pivot > 0.0
    assert backward_error(appended, A) < 1e-14
    for i in (0, 17, n):
        smaller = np.delete(np.delete(A, i, axis=0), i, axis=1)
        assert backward_error(drop(appended, n + 1, i), smaller) < 1e-14


def test_drops_keep_a_nearly_singular_factor_positive(rng):
    n = 40
    L = factor(spd(rng, n, condition=1e10), capacity=n)
    while n > 1:
        fast.drop(L, n, int(rng.randint(n)), L)
        n -= 1
        assert np.all(np.diagonal(L)[:n] > 0.0)


N = 4
SQUARE = np.eye(6)


@pytest.mark.parametrize(
    ("name", "args", "message"),
    [
        ("solve_lower", (SQUARE, 7, np.ones((2, 7))), "at least n rows"),
        ("solve_lower", (SQUARE, -1, np.ones((2, 0))), "at least n rows"),
        ("append", (SQUARE, 6, np.ones(6), 2.0), "at least n rows"),
        ("drop", (SQUARE, 7, 0, np.ones((6, 6))), "at least n rows"),
        ("drop", (SQUARE, N, N, np.ones((3, 3))), r"i must be in \[0, n\)"),
        ("drop", (SQUARE, N, -1, np.ones((3, 3))), r"i must be in \[0, n\)"),
        ("drop", (SQUARE, N, 0, np.ones((2, 2))), "at least n - 1 rows"),
    ],
)
def test_wrong_shapes(name, args, message):
    copies = [a.copy() if isinstance(a, np.ndarray) else a for a in args]
    with pytest.raises(ValueError, match=message):
        getattr(fast, name)(*copies)


# --- inverses -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("at", "n", "q"), [([], 0, 0), ([], 2, 1), ([1], 1, 0), ([0, 3, 4], 5, 3)])
def test_block_plus(rng, at, n, q):
    at, A = np.array(at, dtype=np.intp), spd(rng, 6)
    Z, w, out = rng.normal(size=(q, n)), rng.normal(size=q), np.full((n, n), np.nan)
    fast.block_plus(A[:5, :5], at, Z, w, out)  # rows of a larger array
    assert_allclose(out, twin.block_plus(A, at, Z, w), rtol=1e-12, atol=1e-12)
    for wrong in (5, -1):
        with pytest.raises(ValueError, match="positions must be rows"):
            fast.block_plus(A[:5, :5], np.array([wrong]), np.ones((0, 2)), w[:0], np.eye(2))


@pytest.mark.parametrize("q", [0, 1, 4])
@pytest.mark.parametrize("n", SIZES)
def test_add_outer(rng, n, q):
    A, U = rng.normal(size=(n, n)), rng.normal(size=(q, n))
    expected = twin.add_outer(A, U, -0.7)
    fast.add_outer(A, U, -0.7)
    assert_allclose(A, expected, rtol=1e-12, atol=1e-12)
