"""Small functions whose values are known."""

import numpy as np
import pytest
from gaussian_process.cases import data
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.gaussian_process.kernels import RBF, Matern
from theory.spectra import SPECTRA, fourier_power

from sktvbo import TimeVaryingGPRegressor
from sktvbo._values import extents_of_most
from sktvbo.gaussian_process._outliers import has_heavy_tails
from sktvbo.gaussian_process._relevancy import rows_beyond
from sktvbo.theory._regret import power_above


def test_of_outliers_alone_the_least_relevant_is_dropped():
    X, y = (array[::-1] for array in data(n=10))
    gp = TimeVaryingGPRegressor(RBF(0.4), Matern(3.0, nu=1.5), optimizer=None).fit(X, y)
    arguments = X[0, -1], X[:, -1]
    expected = rows_beyond(7, gp.fitted_, *arguments)
    assert len(expected) == 3
    assert 0 not in expected

    class Unconfirmed:
        X_train_, outlier_weights_ = X, np.full(10, 0.5)
        check_relevancy, relevancy_sweep = gp.fitted_.check_relevancy, gp.fitted_.relevancy_sweep

    assert_array_equal(rows_beyond(7, Unconfirmed, *arguments), expected)


def test_extents_of_most_rows():
    even = np.linspace(3.0, 7.0, 41)
    assert extents_of_most(even[:, np.newaxis], 0.8) == pytest.approx([4.0])
    wrong = np.append(even, [-999.0, 1e9])[:, np.newaxis]
    assert extents_of_most(wrong, 0.8) == pytest.approx([4.0], rel=0.1)
    assert extents_of_most(wrong, 1.0) == 1e9 + 999.0
    assert extents_of_most(np.full((5, 2), 3.0), 0.5).tolist() == [0.0, 0.0]
    assert extents_of_most(np.ones((1, 2)), 0.5).tolist() == [0.0, 0.0]


def test_large_scores_of_neighbours_in_time_are_a_change():
    scores = np.random.RandomState(0).normal(size=120)
    assert not has_heavy_tails(scores, np.empty((120, 0)), np.arange(120.0))
    scores[20:100:10] = [4.0, -5.0] * 4
    assert has_heavy_tails(scores, np.empty((120, 0)), np.arange(120.0))
    scores[21:100:10] = scores[20:100:10]
    assert not has_heavy_tails(scores, np.empty((120, 0)), np.arange(120.0))


@pytest.mark.parametrize("kernel", SPECTRA.values(), ids=list(SPECTRA))
def test_the_power_above_a_frequency_is_the_integral(kernel):
    for frequency in (0.0, 0.05, 0.3, 1.1):
        found = power_above(kernel, frequency)
        assert_allclose(found, fourier_power(kernel, frequency), rtol=1e-6, atol=1e-9)


def test_the_far_tail_keeps_its_relative_accuracy():
    # 1 - 2 arctan(x) / π = 2 arctan(1 / x) / π with x = 2π l f.
    f = np.array([1e3, 1e9, 1e15])
    expected = 2.0 / np.pi * np.arctan(1.0 / (2.0 * np.pi * 1.3 * f))
    assert_allclose(power_above(Matern(1.3, nu=0.5), f), expected, rtol=1e-12)
    # Mills' ratio bounds the normal tail from both sides.
    z = 2.0 * np.pi * 1.3 * 3.0
    phi = np.exp(-0.5 * z**2) / np.sqrt(2.0 * np.pi)
    tail = power_above(RBF(1.3), 3.0)
    assert 2.0 * phi * z / (1.0 + z**2) < tail < 2.0 * phi / z


@pytest.mark.parametrize("kernel", [Matern(nu=0.5), Matern(nu=1.5), Matern(nu=2.5), RBF()])
@pytest.mark.parametrize("duration", [0.8, 2.0, 4.0])
def test_the_forecast_error_exceeds_the_power_above_half_the_sampling_frequency(kernel, duration):
    # The variance of f(nc) given all of f(0), f(c), ..., f((n-1)c), for k_T(0) = 1.
    times = duration * np.arange(81)[:, np.newaxis]
    last = np.linalg.cholesky(kernel(times))[-1, -1]
    assert power_above(kernel, 0.5 / duration) < last**2
