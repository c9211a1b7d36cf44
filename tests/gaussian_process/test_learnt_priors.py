"""Priors of hyperparameters that are learnt from earlier fits."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import trapezoid
from scipy.stats import norm
from sklearn.gaussian_process.kernels import Matern

from sktvbo import TimeVaryingGPRegressor
from sktvbo.gaussian_process._hyperparameters import SearchRecord
from sktvbo.gaussian_process._learnt_priors import (
    LEAST_SPREAD,
    LearntMean,
    LogMixture,
    pooled,
    uncertainties,
)
from sktvbo.gaussian_process._static_part import StaticPart
from sktvbo.kernels import Exponential, LogNormal

BOUNDS = np.array([[1e-3, 1e2], [1e-2, 10.0]])
THETA = np.linspace(*np.log(BOUNDS).T, 4001)


def mixture(other=None, median=(0.3, 2.0), spread=(0.5, 0.8)):
    return LogMixture.of(np.array(median), np.array(spread), other, BOUNDS)


@pytest.mark.parametrize("other", [None, LogNormal(0.4, 0.7), Exponential(0.5)])
def test_density_of_the_logarithm(other):
    """It integrates to 1 within the bounds, up to what is learnt beyond them."""
    density = np.exp([mixture(other).logpdf(np.exp(theta)) for theta in THETA])
    assert_allclose(trapezoid(density, THETA, axis=0), 1.0, atol=0.03)


@pytest.mark.parametrize("other", [None, LogNormal(0.4, 0.7), Exponential(0.5)])
def test_slope(other):
    prior, step = mixture(other), 1e-6
    for theta in THETA[::400]:
        up, down = (prior.logpdf(np.exp(theta + h)) for h in (step, -step))
        assert_allclose(prior.log_slope(np.exp(theta)), (up - down) / (2.0 * step), atol=1e-6)


@pytest.mark.parametrize("other", [None, LogNormal(0.4, 0.7)])
def test_far_away_it_is_the_prior_without_earlier_fits(other):
    """The density is at least a tenth of that, so what is learnt costs at most 2.3 nats."""
    prior = mixture(other, median=(1e-3, 1e-2), spread=(0.5, 0.5))
    x = np.array([[20.0, 5.0], [50.0, 8.0]])
    differences = [
        prior.logpdf(each) - (0.0 if other is None else other.logpdf(each)) for each in x
    ]
    assert_allclose(differences[0], differences[1], atol=1e-6)
    without = np.array([0.0, 0.0]) if other is None else other.logpdf(np.exp(THETA))
    total = np.log(trapezoid(np.broadcast_to(np.exp(without), THETA.shape), THETA, axis=0))
    assert_allclose(differences[0], np.log(0.1) - total, atol=2e-3)


def test_near_what_was_learnt_it_is_narrow():
    prior = mixture(LogNormal(0.4, 0.7))
    assert (prior.logpdf(prior.median) > np.log(0.9) + norm.logpdf(0.0, scale=prior.spread)).all()


def test_pooled_medians_and_spreads():
    logs = np.random.RandomState(0).normal([0.0, 3.0, 1.0], [0.1, 2.0, 0.1], size=(400, 3))
    median, spread = pooled(logs, np.broadcast_to([0.0, 0.1, 9.0], logs.shape))
    assert_allclose(median, [0.0, 3.0, 1.0], atol=0.3)
    assert_allclose(spread, [LEAST_SPREAD, 2.0, 3.0], rtol=0.1)
    (median,), (spread,) = pooled(np.array([[1.0]]), np.zeros((1, 1)))
    assert median == 1.0
    assert_allclose(spread, np.sqrt(2.0) * LEAST_SPREAD)  # of a single fit: twice the variance


def test_what_data_leave_open():
    """The more rows, the less; one at a bound is only known to be beyond it."""
    rng, spreads = np.random.RandomState(0), []
    for n in (40, 160):
        X = np.column_stack([rng.uniform(size=n), np.arange(float(n))])
        kernels = Matern(0.3, (0.01, 10.0), nu=2.5), Matern(100.0, (1.0, 50.0), nu=2.5)
        gp = TimeVaryingGPRegressor(*kernels)
        gp.fit(X, np.sin(9.0 * X[:, 0]) + 0.1 * rng.normal(size=n))
        covariance = gp.fitted_.gp.covariance
        known = np.sqrt(uncertainties(covariance, gp.fitted_.record))
        spreads.append(dict(zip(covariance.names, known)))
    few, many = spreads
    assert 0.5 > few["noise_variance"] > 1.5 * many["noise_variance"]
    assert many["temporal_kernel__length_scale"] == 3.0
    assert_allclose(uncertainties(covariance, SearchRecord()), 9.0)


def chosen(w, n=30):
    """Return if a learnt mean is used, whose square has the coefficient w, and its gain in nats."""
    static = StaticPart.empty([0], 1.0).plus(1e6 * np.eye(2), 1e6 * np.array([0.0, w]))
    mean = LearntMean(0.5, [0], only_if_likelier=True, spread=1.0, static=static, scale=1.0)
    rng, t = np.random.RandomState(0), np.arange(float(n))
    X = np.column_stack([rng.uniform(size=n), t])
    y = -np.sqrt(180.0) * ((X[:, 0] - 0.5) ** 2 - 1.0 / 12.0) + 0.1 * rng.normal(size=n)
    options = {"signal_variance": 0.3, "noise_variance": 0.01, "optimizer": None}
    gp = TimeVaryingGPRegressor(Matern(0.5, nu=2.5), Matern(100.0, nu=2.5), **options)
    without = gp.fit(X, y).log_marginal_likelihood_value_
    polynomial = mean.polynomial(1)
    with_mean = gp.fit(X, y - polynomial(X[:, :1])).log_marginal_likelihood_value_
    found = gp.set_params(prior_mean=mean).fit(X, y).prior_mean_
    return found is not None, with_mean - without


def test_a_learnt_mean_needs_less_likelihood():
    """By the odds of what was learnt, which are 9."""
    found = [chosen(w) for w in np.linspace(-3.0, 1.0, 81)]
    gains = np.array([gain for _, gain in found])
    assert ((gains > -2.0) & (gains < -0.2)).any()
    assert ((gains > -6.0) & (gains < -2.4)).any()
    for is_used, gain in found:
        if abs(gain + np.log(9.0)) > 1e-6:
            assert is_used is bool(gain > -np.log(9.0))


def test_a_learnt_mean_is_used_from_few_rows_on():
    is_used, gain = chosen(-1.0, n=5)
    assert gain > 0.0
    assert is_used
