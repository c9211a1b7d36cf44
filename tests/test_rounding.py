"""Guard of stored numbers: what rounding changes is refused, also where it is as stored."""

import numpy as np
import pytest
from rounding import assert_stored, moved, movement

Y = np.array([3.0, 1.0, 2.0, 1.0])


def first_smallest(y):
    """Return the position of the smallest value: a tie, which rounding breaks."""
    return [np.argmin(y)]


def those_below(y):
    return np.flatnonzero(y < 1.0 + 1e-16)


def test_observations_move_a_little_and_differently():
    moves = [moved(Y, seed) - Y for seed in (0, 1)]
    for move in moves:
        assert 0.0 < np.abs(move).max() < 1e-11
    assert np.abs(moves[0] - moves[1]).max() > 1e-13


def test_numbers_that_hardly_move_are_compared():
    assert movement(np.cumsum, Y) < 1e-10
    assert_stored(np.cumsum, Y, [3.0, 4.0, 6.0, 7.0], atol=1e-6)
    with pytest.raises(AssertionError, match="Not equal to tolerance"):
        assert_stored(np.cumsum, Y, [3.0, 4.0, 6.0, 7.1], atol=1e-6)


@pytest.mark.parametrize("flips", [first_smallest, those_below])
def test_decisions_that_rounding_changes_cannot_be_stored(flips):
    with pytest.raises(pytest.fail.Exception, match="cannot be stored: they move by"):
        assert_stored(flips, Y, flips(Y), atol=1e-6)
