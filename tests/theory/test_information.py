"""Information gains compared with determinants and enumeration."""

from itertools import combinations_with_replacement

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.gaussian_process.kernels import RBF

from sktvbo.exceptions import NotPositiveDefiniteError
from sktvbo.theory import information_gain, maximum_information_gain


def random_covariance(n, seed=0):
    A = np.random.RandomState(seed).normal(size=(n, n))
    return A @ A.T / n


@pytest.mark.parametrize("noise", [0.1, np.linspace(0.05, 2.0, 9)], ids=["same", "each-its-own"])
def test_the_information_gain_is_half_the_log_determinant(noise):
    K = random_covariance(9)
    sign, logdet = np.linalg.slogdet(np.eye(9) + K / np.broadcast_to(noise, 9)[:, np.newaxis])
    assert sign == 1.0
    assert_allclose(information_gain(K, noise), 0.5 * logdet, rtol=1e-12)


def test_the_information_gain_of_a_singular_covariance_is_finite():
    assert_allclose(information_gain(np.ones((500, 500)), 1e-6), 0.5 * np.log1p(5e8), rtol=1e-9)


def test_the_greedy_gain_is_that_of_choosing_one_by_one():
    K, noise = random_covariance(7), np.linspace(0.05, 0.5, 7)
    given, chosen = K.copy(), []
    for n in range(1, 20):
        gains = [
            information_gain(K[np.ix_(S, S)], noise[S]) for S in ([*chosen, i] for i in range(7))
        ]
        chosen.append(int(np.argmax(gains)))
        assert_allclose(maximum_information_gain(K, noise, n), max(gains), rtol=1e-10)
    assert len(set(chosen)) > 3
    assert np.array_equal(K, given)


def test_the_greedy_gain_is_close_to_the_maximum():
    K = RBF(0.3)(np.linspace(0.0, 1.0, 8)[:, np.newaxis])
    for n in (1, 2, 4):
        maximum = max(
            information_gain(K[np.ix_(S, S)], 0.1)
            for S in map(list, combinations_with_replacement(range(8), n))
        )
        greedy = maximum_information_gain(K, 0.1, n)
        assert (1.0 - np.exp(-1.0)) * maximum <= greedy <= maximum * (1.0 + 1e-12)


def test_independent_points_are_observed_in_turn():
    # 3 points twice and 2 once: an observation seen m times has its noise divided by m.
    expected = 0.5 * (3 * np.log1p(2 / 0.2) + 2 * np.log1p(1 / 0.2))
    assert_allclose(maximum_information_gain(np.eye(5), 0.2, 8), expected, rtol=1e-12)


@pytest.mark.parametrize("gain", [information_gain, lambda K, s: maximum_information_gain(K, s, 2)])
def test_invalid_arguments(gain):
    for noise in (0.0, -1.0, np.nan, [0.1, 0.1, 0.1]):
        with pytest.raises(ValueError, match="noise_variance must be a positive finite number"):
            gain(np.eye(2), noise)
    with pytest.raises(ValueError, match=r"K must be a symmetric matrix\. .* shape \(2, 3\)"):
        gain(np.ones((2, 3)), 0.1)
    with pytest.raises(ValueError, match="K must be a symmetric matrix"):
        gain([[1.0, 0.5], [0.4, 1.0]], 0.1)
    with pytest.raises(ValueError, match=r"K must be finite\. Got 1 NaN"):
        gain([[np.nan]], 0.1)


def test_an_indefinite_matrix_has_no_gain():
    with pytest.raises(NotPositiveDefiniteError, match=r"covariance\. .* negative eigenvalues"):
        information_gain([[1.0, 3.0], [3.0, 1.0]], 0.1)
    with pytest.raises(ValueError, match=r"K must be a covariance. Got -1\.0 on its diagonal"):
        maximum_information_gain([[1.0, 0.0], [0.0, -1.0]], 0.1, 2)
    with pytest.raises(ValueError, match=r"n must be an int in the range \[1, inf\)\. Got 0"):
        maximum_information_gain(np.eye(2), 0.1, 0)
