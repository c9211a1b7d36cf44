"""Stored numbers, which are the same on every processor.

Linear algebra rounds differently on another processor. A rounding error may change a decision, and
then the rest of the run. A number is stored only if it hardly moves when the observations do.
"""

import numpy as np
import pytest
from numpy.testing import assert_allclose

# Standard deviation of the moves, relative to the spread of the observations.
MOVE = 1e-12
N_MOVES = 2


def moved(y, seed):
    """Return observations y (n,) moved as rounding may move them."""
    y = np.asarray(y, dtype=float)
    return y + MOVE * np.ptp(y) * np.random.RandomState(seed).standard_normal(y.shape)


def movement(compute, y, found=None):
    """Return the largest change of the numbers ``compute(y)`` when y moves; inf: of their shape.

    ``found`` are these numbers, if known.
    """
    found = np.asarray(compute(y) if found is None else found, dtype=float)
    others = [np.asarray(compute(moved(y, seed)), dtype=float) for seed in range(N_MOVES)]
    if any(other.shape != found.shape for other in others):
        return np.inf
    return max(np.abs(other - found).max(initial=0.0) for other in others)


def assert_stored(compute, y, stored, *, atol):
    """Assert that the numbers ``compute(y)`` are as stored, and that they can be stored.

    Parameters
    ----------
    compute : callable, (n,) -> array
        Numbers from the observations, the same at each call with the same observations.
    y : array-like of shape (n,)
    stored : array-like
    atol : float
        Absolute tolerance of each number.
    """
    found = compute(y)
    if not (change := movement(compute, y, found)) <= atol:
        pytest.fail(
            f"These numbers cannot be stored: they move by {change:.1e}, of which {atol:g} is "
            f"allowed, when the observations move by {MOVE:g} of their spread. Another processor "
            "rounds as differently. Compare statistics of several runs within their error, "
            "decisions after given observations, or two computations of one process."
        )
    assert_allclose(found, stored, rtol=0.0, atol=atol)
