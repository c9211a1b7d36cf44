"""Weights of places by limits, against NumPy and finite differences."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import norm
from twins import limits as twin

from sktvbo._fast.limits import Limits, excess, log_weights, within

LIMITS = [(-1.0, 1.0), (-np.inf, 0.5), (0.2, np.inf)]


@pytest.mark.parametrize(("low", "high"), LIMITS)
def test_probabilities_and_their_slopes(low, high):
    rng = np.random.RandomState(0)
    mean, std = 3.0 * rng.standard_normal(50), rng.uniform(0.1, 2.0, size=50)
    found, on_mean, _ = within(mean, std, low, high)
    assert_allclose(found, twin.within(mean, std, low, high), rtol=1e-12)
    expected = norm.cdf(high, mean, std) - norm.cdf(low, mean, std)
    assert_allclose(np.exp(found), expected, rtol=1e-9, atol=1e-12)
    step = 1e-6
    up, down = (within(mean + s, std, low, high)[0] for s in (step, -step))
    assert_allclose(on_mean, (up - down) / (2.0 * step), rtol=1e-5, atol=1e-7)
    for widened in ((1.0, 0.0), (1.5, 0.3)):
        _, _, on_std = within(mean, std, low, high, *widened)
        up, down = (within(mean, std + s, low, high, *widened)[0] for s in (step, -step))
        assert_allclose(on_std, (up - down) / (2.0 * step), rtol=1e-5, atol=1e-7)
    assert len(within(mean[:0], std[:0], low, high)[0]) == 0


def test_the_log_probability_is_exact_in_the_tails():
    mean, std = np.array([0.0, 30.0, -30.0, 1e9, 0.0]), np.array([1.0, 1.0, 1.0, 1e-9, 1e9])
    found, on_mean, on_std = within(mean, std, -1.0, 1.0)
    assert_allclose(found[0], np.log(norm.cdf(1.0) - norm.cdf(-1.0)), rtol=1e-12)
    assert_allclose(found[1:3], norm.logcdf(-29.0), rtol=1e-9)
    assert_allclose(found[4], np.log(2e-9 / np.sqrt(2.0 * np.pi)), rtol=1e-6)
    assert np.isfinite([found, on_mean, on_std]).all()
    assert (found <= 0.0).all()


@pytest.mark.parametrize("optimism", [0.0, 1.0])
@pytest.mark.parametrize(("low", "high"), LIMITS)
def test_expected_excesses_and_their_slopes(low, high, optimism):
    rng = np.random.RandomState(0)
    mean, std = 3.0 * rng.standard_normal(50), rng.uniform(0.1, 2.0, size=50)
    found, _, _ = excess(mean, std, low, high, optimism=optimism)
    assert_allclose(found, twin.excess(mean, std, low, high, optimism), rtol=1e-12, atol=1e-15)
    draws = mean[0] + std[0] * rng.standard_normal(200_000)
    drawn = np.maximum(np.maximum(draws - high, low - draws), 0.0).mean()
    assert optimism or found[0] == pytest.approx(drawn, abs=0.02)
    for widened in ((1.0, 0.0), (1.5, 0.3)):
        options, step = (low, high, *widened, optimism), 1e-6
        _, on_mean, on_std = excess(mean, std, *options)
        for slope, a, b in ((on_mean, step, 0.0), (on_std, 0.0, step)):
            up, down = (excess(mean + s * a, std + s * b, *options)[0] for s in (1.0, -1.0))
            assert_allclose(slope, (up - down) / (2.0 * step), rtol=1e-5, atol=1e-7)


def test_expected_excesses_far_from_the_limits():
    mean, std = np.array([0.0, 1e9, -1e9, 5.0]), np.array([1e-150, 1e-150, 1e9, 1e-9])
    found, on_mean, on_std = excess(mean, std, -np.inf, 1.0)
    assert_allclose(found, [0.0, 1e9, 1e9 * (norm.pdf(1.0) - norm.cdf(-1.0)), 4.0], rtol=1e-6)
    assert np.isfinite([found, on_mean, on_std]).all()
    assert excess(np.empty(0), np.empty(0), 0.0, 1.0)[0].shape == (0,)


@pytest.mark.parametrize("z", [np.nan, 0.0, norm.ppf(0.99)])
def test_weights_and_their_slopes(z):
    log_p = np.log(np.array([1e-300, 1e-9, 0.01, 0.3, 0.49, 0.7, 0.98, 0.9999]))
    found, slopes = log_weights(log_p, z)
    assert_allclose(found, twin.log_weights(log_p, z), rtol=1e-10, atol=1e-14)
    step = 1e-6
    up, down = (log_weights(log_p + s, z)[0] for s in (step, -step))
    assert_allclose(slopes, (up - down) / (2.0 * step), rtol=1e-5, atol=1e-6)
    assert (found <= 0.0).all()
    assert len(log_weights(np.empty(0), z)[0]) == 0


def test_shapes_that_do_not_fit():
    for function in (within, excess):
        with pytest.raises(ValueError, match="one length"):
            function(np.zeros(2), np.ones(3), 0.0, 1.0)
    with pytest.raises(ValueError, match="one row for each"):
        Limits([], np.zeros((1, 2)), np.zeros(1), np.ones(1), np.ones(1), np.zeros(1), 0.0)
