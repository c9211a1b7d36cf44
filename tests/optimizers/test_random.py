"""Copies of random states."""

import copy
import pickle

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from sktvbo.optimizers._random import copied


@pytest.mark.parametrize(
    "rng",
    [np.random.RandomState(0), np.random.RandomState(np.random.PCG64(0))],
    ids=["MT19937", "another"],
)
def test_a_copy_draws_the_same_and_leaves_the_original(rng):
    rng.normal(size=3)  # one of a pair is kept for the next draw
    expected = copy.deepcopy(rng).normal(size=1000)
    new = copied(rng)
    again = pickle.loads(pickle.dumps(new))
    assert_array_equal(new.normal(size=1000), expected)
    assert_array_equal(again.normal(size=1000), expected)
    assert_array_equal(rng.normal(size=1000), expected)
