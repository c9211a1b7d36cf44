"""Sobol points against SciPy's engine."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.stats import qmc

from sktvbo.domain import Box
from sktvbo.domain._sobol import plain, scrambled


@pytest.mark.parametrize("d", [1, 3, 40])
@pytest.mark.parametrize("n", [1, 2, 512])
def test_they_are_scipys_to_the_bit(d, n):
    for seed in (0, 7, np.uint64(2**32 - 1)):
        expected = qmc.Sobol(d, rng=np.random.default_rng(seed)).random(n)
        assert_array_equal(scrambled(n, d, seed), expected)
    assert_array_equal(plain(n, d), qmc.Sobol(d, scramble=False).random(n))


def test_any_number_of_points_is_the_beginning_of_more():
    assert_array_equal(scrambled(5, 2, 0), scrambled(8, 2, 0)[:5])
    assert scrambled(0, 2, 0).shape == (0, 2)


def test_a_boxs_candidates_are_these():
    found = Box([(0.0, 1.0)] * 2).candidates(64, np.random.RandomState(3))
    seed = np.random.RandomState(3).randint(2**32, dtype=np.uint64)
    assert_array_equal(found, scrambled(64, 2, seed))
