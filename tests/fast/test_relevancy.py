"""Removal of an observation from the sweep compared with a new inverse."""

import numpy as np
import pytest
from fast.matrices import spd
from numpy.testing import assert_allclose, assert_array_equal
from twins import relevancy as twin

from sktvbo._fast import relevancy as fast

NAMES = ["P", "C", "a", "q", "index"]


def state(rng, n, condition=100.0):
    """Return P, C, a, q, index of n observations."""
    P, half = condition * spd(rng, n, condition), rng.normal(size=(n, n + 2))
    C = half @ half.T / (n + 2)
    q = np.array([row @ C @ row for row in P])
    return [P, C, P @ rng.normal(size=n), q, np.arange(n)]


def assert_states_agree(found, expected, n, rtol=1e-9):
    """Compare the leading n entries of the compiled state with the twin's."""
    for name, value, reference in zip(NAMES, found, expected):
        value = value[:n, :n] if value.ndim == 2 else value[:n]
        scale = np.abs(reference).max(initial=0.0)
        assert_allclose(value, reference, rtol=rtol, atol=rtol * scale, err_msg=name)


@pytest.mark.parametrize("n", [1, 2, 40])
def test_remove(rng, n):
    for i in {0, n // 2, n - 1}:
        arrays = state(rng, n)
        expected = twin.remove(*arrays, n, i)
        fast.remove(*arrays, n, i)
        assert_states_agree(arrays, expected, n - 1)
        assert arrays[-1][n - 1] == i


def test_remove_one_after_the_other(rng):
    N = 40
    arrays = state(rng, N)
    removed = []
    for n in range(N, 1, -1):
        expected = twin.remove(*arrays, n, i := int(rng.randint(n)))
        removed.append(arrays[-1][i])
        fast.remove(*arrays, n, i)
        assert_states_agree(arrays, expected, n - 1)
        # Removed observations do not return.
        assert sorted([*arrays[-1][: n - 1], *removed]) == list(range(N))


def test_the_matrices_stay_symmetric(rng):
    arrays = state(rng, 30)
    for n in range(30, 20, -1):
        fast.remove(*arrays, n, n // 3)
    for M in arrays[:2]:
        assert_allclose(M[:20, :20], M[:20, :20].T, rtol=1e-12)


def test_ill_conditioned(rng):
    n, i = 30, 11
    arrays = state(rng, n, condition=1e10)
    expected = twin.remove(*arrays, n, i)
    fast.remove(*arrays, n, i)
    # The twin's inverses have the same error: condition times machine precision.
    assert_states_agree(arrays, expected, n - 1, rtol=1e-6)


@pytest.mark.parametrize(("n", "i"), [(5, 0), (4, 4), (4, -1), (0, 0)])
def test_positions_that_are_not_there(rng, n, i):
    arrays = state(rng, 4)
    before = [A.copy() for A in arrays]
    with pytest.raises(ValueError, match="0 <= i < n <= N"):
        fast.remove(*arrays, n, i)
    for array, kept in zip(arrays, before):
        assert_array_equal(array, kept)
