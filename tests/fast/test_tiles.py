"""Small matrices in one thread compared with NumPy."""

import numpy as np
import pytest
from fast import matrices
from grids import pairs_of
from numpy.testing import assert_allclose
from twins import tiles as twin

from sktvbo._fast import tiles as fast

# The tiles are 32 rows high.
SIZES = [0, 1, 2, 31, 32, 33, 64, 100]


def spd(rng, n):
    """Return a covariance matrix (n, n) with NaN above the diagonal, which must not be read."""
    A = np.ascontiguousarray(matrices.spd(rng, n))
    A[np.triu_indices(n, 1)] = np.nan
    return A


def lower(rng, n, capacity=None):
    """Return a factor in the corner of a larger array of NaN."""
    L = np.full((capacity or n,) * 2, np.nan)
    L[np.tril_indices(n)] = twin.factor(spd(rng, n))[np.tril_indices(n)]
    return L


@pytest.mark.parametrize("n", SIZES)
def test_factor(rng, n):
    A = spd(rng, n)
    expected = twin.factor(A)
    assert fast.factor(A)
    assert_allclose(np.tril(A), expected, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("bad", [0, 40, 69])
def test_not_positive_definite(rng, bad):
    A = spd(rng, 70)
    A[bad, bad] = -1.0
    assert twin.factor(A) is None
    assert not fast.factor(A)


@pytest.mark.parametrize("n", SIZES)
def test_inverse(rng, n):
    L = lower(rng, n)
    expected = twin.inverse(L)
    fast.inverse(L)
    assert_allclose(np.tril(L), expected, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize(
    ("n", "n_sides", "transpose"), pairs_of(SIZES, [0, 1, 5, 8, 9, 70], (False, True))
)
def test_solve_lower(rng, n, n_sides, transpose):
    L, B = lower(rng, n, capacity=n + 3), rng.normal(size=(n_sides, n))
    expected = twin.solve_lower(L, n, B, transpose)
    fast.solve_lower(L, n, B, transpose)
    assert_allclose(B, expected, rtol=1e-11, atol=1e-11)


def test_solve_with_an_ill_conditioned_factor(rng):
    # Like substitution, with a residual of the order of rounding.
    x = np.sort(rng.uniform(size=200))
    A = np.exp(-0.5 * ((x[:, np.newaxis] - x) / 0.3) ** 2) + 1e-8 * np.eye(200)
    L = twin.factor(A)
    B = rng.normal(size=(40, 200))
    X = B.copy()
    fast.solve_lower(L, 200, X)
    backward = np.abs(X @ L.T - B).max() / (np.abs(X).max() * np.abs(L).max())
    assert backward < 1e-13


@pytest.mark.parametrize(
    "shape", [(0, 3, 2), (3, 0, 2), (3, 2, 0), (1, 1, 1), (40, 300, 70), (21, 9, 40)]
)
def test_product(rng, shape):
    m, k, n = shape
    A, B, out = rng.normal(size=(m, k)), rng.normal(size=(k, n)), np.full((m, n), np.nan)
    fast.product(A, B, out)
    assert_allclose(out, twin.product(A, B), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (1, 1), (40, 32), (7, 65), (70, 300)])
def test_half_product(rng, shape):
    n = shape[1]
    A, C, out = rng.normal(size=shape), rng.normal(size=(n, n)), np.full(shape, np.nan)
    C += C.T
    fast.half_product(A, C, out)
    assert_allclose(out, twin.half_product(A, C), rtol=1e-12, atol=1e-12)
    whole = 2.0 * np.einsum("ij,ij->i", out, A)
    assert_allclose(whole, np.einsum("ij,jk,ik->i", A, C, A), rtol=1e-12, atol=1e-10)


@pytest.mark.parametrize("columns", [0, 1, 3, 8, 9, 17])
@pytest.mark.parametrize("shape", [(0, 3), (1, 1), (7, 8), (8, 9), (17, 0), (40, 130)])
def test_product_with_few(rng, shape, columns):
    A, B = rng.normal(size=shape), rng.normal(size=(shape[1], columns))
    out = np.full((shape[0], columns), np.nan)
    fast.product_with_few(A, B, out)
    assert_allclose(out, twin.product_with_few(A, B), rtol=1e-12, atol=1e-12)
    # A column does not depend on the others.
    for j in range(columns):
        alone = np.empty((shape[0], 1))
        fast.product_with_few(A, np.ascontiguousarray(B[:, j : j + 1]), alone)
        assert (alone[:, 0] == out[:, j]).all()
    # Nor on the array around A.
    room, again = np.full((shape[0] + 2, shape[1] + 3), np.nan), np.empty_like(out)
    room[: shape[0], : shape[1]] = A
    fast.product_with_few(room[: shape[0], : shape[1]], B, again)
    assert (again == out).all()


def test_shapes_that_do_not_fit():
    A = np.ones((2, 3))
    with pytest.raises(ValueError, match="square"):
        fast.solve_lower(np.eye(3), 4, np.ones((1, 4)))
    with pytest.raises(ValueError, match="contiguous"):
        fast.product_with_few(A.T, A, np.ones((3, 3)))
