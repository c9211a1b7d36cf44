"""Seasons of the default surrogates."""

from datetime import datetime, timedelta
from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import expon, lognorm
from sklearn.gaussian_process.kernels import Matern

from sktvbo import ABO, TVGPUCB, UITVBO, WDBO, BayesianOptimizer, TimeVaryingGPRegressor
from sktvbo.kernels import Exponential, LogNormal, season_priors, with_seasons


def objective(x, t):
    """Return values whose level and optimum follow a period of 24."""
    phase = np.sin(2.0 * np.pi * t / 24.0)
    return 2.0 * phase - 8.0 * (x[0] - 0.5 - 0.35 * phase) ** 2


def regret(kind, seed=0, n=72, **options):
    """Return the mean regret of a run from its 30th query on, and the optimizer."""
    opt = kind([(0.0, 1.0)], random_state=seed, clock="step", **options)
    noise, found = np.random.RandomState(seed), []
    for t in range(n):
        x = opt.ask(t)
        found.append(2.0 * np.sin(2.0 * np.pi * t / 24.0) - objective(x, t))
        opt.tell(x, objective(x, t) + 0.1 * noise.normal())
    return np.mean(found[30:]), opt


@pytest.mark.parametrize(
    ("value", "unit", "expected"),
    [
        (None, "s", ()),
        (24, "h", (24.0,)),
        ("1D", "h", (24.0,)),
        (["1D", "1W"], "D", (1.0, 7.0)),
        (("90 min", timedelta(days=1)), "h", (1.5, 24.0)),
        (np.timedelta64(2, "h"), "min", (120.0,)),
        (np.array([1.0, 2.5]), "s", (1.0, 2.5)),
    ],
    ids=str,
)
def test_periods_are_numbers_in_the_unit_of_time(value, unit, expected):
    opt = WDBO([(0.0, 1.0)], n_initial_points=2, seasonal_periods=value, time_unit=unit)
    for t in range(2):
        opt.tell([0.5 * t], float(t), float(t))
    found = opt.surrogate_.temporal_kernel_.get_params()
    found = [value for name, value in found.items() if name.endswith("periodicity")]
    assert sorted(found) == pytest.approx(expected)


def test_priors_are_those_of_scipy():
    x = np.array([0.2, 1.0, 7.0])
    assert_allclose(Exponential(0.5).logpdf(x), expon(scale=0.5).logpdf(x))
    assert_allclose(LogNormal(3.0, 0.7).logpdf(x), lognorm(0.7, scale=3.0).logpdf(x))
    for prior in (Exponential(0.5), LogNormal(3.0, 0.7)):
        up, down = (prior.logpdf(x * np.exp(h)) for h in (1e-5, -1e-5))
        assert_allclose(prior.log_slope(x), (up - down) / 2e-5, rtol=1e-6, atol=1e-8)


def test_priors_name_all_hyperparameters_of_the_seasons():
    kernel = with_seasons(Matern(6.0, nu=2.5), 24.0, 168.0)
    gp = TimeVaryingGPRegressor(Matern(), kernel, hyperpriors=season_priors(24.0, 168.0)).fit(
        np.random.RandomState(0).uniform(size=(12, 2)), np.arange(12.0)
    )
    names = [name for name in gp._gp.covariance.names if name.startswith("temporal")]
    assert set(names) - set(season_priors(24.0, 168.0)) == {"temporal_kernel__k1__k1__length_scale"}
    medians = [prior.median for prior in season_priors(24.0).values() if hasattr(prior, "median")]
    assert medians == [240.0, 1.0]
    assert season_priors(24.0)["temporal_kernel__k2__k1__k1__constant_value"].mean == 0.5
    assert gp.set_params(solver="kalman", optimizer=None).fit(gp.X_train_, gp.y_train_)


@pytest.mark.parametrize(
    "periods", [("1D", "1W"), (timedelta(days=1), np.timedelta64(7, "D"))], ids=str
)
def test_periods_of_kernels_are_those_of_optimizers(periods):
    kernel = with_seasons(Matern(6.0), *periods, time_unit="h")
    assert kernel == with_seasons(Matern(6.0), 24.0, 168.0)
    assert season_priors(*periods, time_unit="h") == season_priors(24.0, 168.0)


@pytest.mark.parametrize(
    ("periods", "unit", "message"),
    [
        ((0.0,), None, "A period must be positive"),
        ((np.nan,), None, "A period must be positive"),
        ((True,), None, "A period must be positive"),
        (("a day",), "h", "A period must be positive, a duration, or a string such as '1D'"),
        (([24.0, 168.0],), None, "Give several periods as several arguments"),
        (("1D",), None, "Give time_unit, that of the regressor: '1D' needs it"),
        (("1D",), "hour", "time_unit must be 'ns', .* Got 'hour'"),
        ((2.0, 2.0), None, "periods must be distinct"),
        (("1D", 24.0), "h", "periods must be distinct"),
    ],
    ids=str,
)
def test_invalid_periods_of_kernels(periods, unit, message):
    for call in (partial(with_seasons, Matern()), season_priors):
        with pytest.raises(ValueError, match=message):
            call(*periods, time_unit=unit)


def test_seasons_are_added_to_a_kernel():
    with pytest.raises(ValueError, match="kernel must be a scikit-learn kernel"):
        with_seasons(24.0, 24.0)


@pytest.mark.parametrize(
    ("kind", "most"),
    [
        (TVGPUCB, 0.5),
        *(
            pytest.param(kind, most, marks=pytest.mark.slow)
            for kind, most in ((WDBO, 0.5), (UITVBO, 0.5), (ABO, 0.8), (BayesianOptimizer, 0.8))
        ),
    ],
)
def test_the_right_period_lowers_the_regret(kind, most):
    seeds, n = (range(1), 72) if kind is TVGPUCB else (range(4), 144)
    without = [regret(kind, seed, n)[0] for seed in seeds]
    right = [regret(kind, seed, n, seasonal_periods=24.0) for seed in seeds]
    assert np.mean([value for value, _ in right]) < most * np.mean(without)
    _, opt = right[0]
    season = opt.surrogate_.temporal_kernel_.k2
    assert season.k2.periodicity == 24.0
    assert season.k1.k1.constant_value > 0.1
    if kind is TVGPUCB:  # the rate is that of the part without seasons
        length_scale = opt.surrogate_.temporal_kernel_.k1.length_scale
        assert opt.epsilon_ == pytest.approx(-np.expm1(-2.0 / length_scale))


@pytest.mark.slow
def test_a_wrong_period_is_hardly_used():
    without = [regret(BayesianOptimizer, seed)[0] for seed in range(2)]
    wrong = [regret(BayesianOptimizer, seed, seasonal_periods=17.0) for seed in range(2)]
    assert np.mean([value for value, _ in wrong]) < 1.5 * np.mean(without)
    _, opt = wrong[0]
    assert opt.surrogate_.temporal_kernel_.k2.k1.k1.constant_value < 0.05


def test_a_period_may_be_longer_than_the_run():
    _, opt = regret(BayesianOptimizer, n=35, seasonal_periods=[24.0, 5_000.0])
    assert np.isfinite(opt.surrogate_.theta_).all()


def test_auto_is_a_day_and_a_week():
    opt = WDBO([(0.0, 1.0)], seasonal_periods="auto", time_unit="h", random_state=0)
    with pytest.raises(ValueError, match="None or periods if times are numbers"):
        opt.ask(0.0)
    for hour in range(12):
        opt.tell(opt.ask(datetime(2026, 3, 1, hour)), float(hour))
    kernel = opt.surrogate_.temporal_kernel_
    assert (kernel.k1.k2.k2.periodicity, kernel.k2.k2.periodicity) == (24.0, 168.0)


@pytest.mark.parametrize(("max_size", "expected"), [(None, 100), (40, 40), (5, 5), (300, 100)])
def test_w_dbo_holds_a_hundred_observations(max_size, expected):
    opt = WDBO([(0.0, 1.0)], seasonal_periods=24.0, max_size=max_size, random_state=0)
    opt.ask(0.0)
    assert opt.policy_.min_size == expected


def test_a_surrogate_of_the_user_has_its_own_kernel():
    opt = WDBO([(0.0, 1.0)], surrogate=TimeVaryingGPRegressor(), seasonal_periods=24.0)
    with pytest.raises(ValueError, match=r"'seasonal_periods' .* None with surrogate=\.\.\."):
        opt.ask(0.0)
