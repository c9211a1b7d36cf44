"""Starts of searches: near the scale of the data, and from an exact fit of a part of the rows."""

import numpy as np
import pytest
from gaussian_process.cases import data
from scipy import stats
from sklearn.gaussian_process.kernels import RBF, Matern, RationalQuadratic

from sktvbo import SparseTimeVaryingGPRegressor, TimeVaryingGPRegressor
from sktvbo.gaussian_process import QuadraticInjection, WeightedTimeVaryingGPRegressor
from sktvbo.kernels import Forgetting


@pytest.mark.parametrize("scale", [1e-9, 1e9])
def test_a_start_far_from_the_data_reaches_the_same_optimum(scale):
    """The initial lengthscale is in another unit than the times."""
    X, y = data(80)
    bounds = (1e-10, 1e12)
    near = TimeVaryingGPRegressor(RBF(0.5), Matern(2.0, bounds)).fit(X, y)
    X[:, -1] *= scale
    far = TimeVaryingGPRegressor(RBF(0.5), Matern(2.0, bounds)).fit(X, y)
    learnt = far.temporal_kernel_.length_scale / scale
    assert learnt == pytest.approx(near.temporal_kernel_.length_scale, rel=0.05)
    ours = far.log_marginal_likelihood_value_
    assert ours == pytest.approx(near.log_marginal_likelihood_value_, abs=1e-3)


DAY = 86_400.0


def cycles(n, period, noise, seed=0):
    """Return times 0, ..., n − 1 and a noisy sine of this period."""
    t = np.arange(float(n))
    return t, np.sin(2.0 * np.pi * t / period) + noise * np.random.RandomState(seed).normal(size=n)


@pytest.mark.parametrize(
    ("n", "period", "noise"),
    [(720, 24, 0.0), (720, 24, 0.3), (8760, 24, 0.05), (4368, 168, 1.0), (600, 6, 0.1)],
    ids=["daily", "with noise", "a year", "weekly", "few rows a cycle"],
)
@pytest.mark.parametrize("unit", [1.0, pytest.param(3600.0, marks=pytest.mark.slow)])
def test_cycles_much_shorter_than_the_data_are_found(n, period, noise, unit):
    """The likelihood is at least that of scikit-learn's kernel at a start near the cycle."""
    t, y = cycles(n, period, noise)
    X = unit * t[:, np.newaxis] + 1.7e9 * (unit > 1.0)
    gp = TimeVaryingGPRegressor(normalize_y=True).fit(X, y)
    near = TimeVaryingGPRegressor(
        temporal_kernel=Matern(0.3 * period * unit, (unit, 10.0 * n * unit), nu=1.5),
        noise_variance=max(noise**2, 1e-3),
        normalize_y=True,
    ).fit(X, y)
    assert gp.log_marginal_likelihood_value_ > near.log_marginal_likelihood_value_ - 1.0
    signal = np.sin(2.0 * np.pi * t / period)
    assert np.mean((gp.predict(X) - signal) ** 2) < 0.2 * np.mean(signal**2)


@pytest.mark.parametrize(
    ("kind", "irregular", "waves", "days"),
    [(TimeVaryingGPRegressor, False, 1.0, 1.0), (WeightedTimeVaryingGPRegressor, True, 20.0, 60.0)],
    ids=["fast in time", "fast in space"],
)
def test_fast_changes_in_time_or_space_are_found(kind, waves, days, irregular):
    rng = np.random.RandomState(0)
    t = np.sort(rng.uniform(0.0, 30.0, 600)) if irregular else np.arange(600) / 20.0
    X = np.column_stack([rng.uniform(size=600), t * DAY])
    f = np.sin(2.0 * np.pi * (waves * X[:, 0] + t / days))
    y = f + 0.1 * rng.normal(size=600)
    gp = kind(normalize_y=True).fit(X, y)
    assert np.mean((gp.predict(X) - f) ** 2) < 0.05 * np.var(f)


@pytest.mark.parametrize(
    "temporal",
    [RBF(100.0), RationalQuadratic(100.0), Matern(100.0, nu=0.5), Forgetting(0.001, (1e-6, 0.999))],
    ids=lambda kernel: type(kernel).__name__,
)
def test_kernels_that_start_at_long_lengthscales_find_a_cycle(temporal):
    t, y = cycles(360, 12, 0.1)
    gp = TimeVaryingGPRegressor(temporal_kernel=temporal, normalize_y=True)
    assert gp.fit(t[:, np.newaxis], y).score(t[:, np.newaxis], y) > 0.8


def test_compared_starts_obey_bounds_and_priors():
    t, y = cycles(360, 24, 0.1)
    prior = stats.uniform(100.0, 1000.0)
    gp = TimeVaryingGPRegressor(
        temporal_kernel=Matern(200.0, (1.0, 1e4), nu=1.5),
        hyperpriors={"temporal_kernel__length_scale": prior},
        normalize_y=True,
    ).fit(t[:, np.newaxis], y)
    assert 100.0 <= gp.temporal_kernel_.length_scale <= 1100.0


def collapsing(n):
    """At little noise the trace term of the bound drives a search to noise alone."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.uniform(size=(n, 2)), np.sort(rng.uniform(0.0, 100.0, n))])
    y = np.sin(6.0 * X[:, 0] + 0.2 * X[:, 2]) + np.cos(5.0 * X[:, 1])
    return X, y + 0.1 * rng.normal(size=n)


def test_the_sparse_regressor_does_not_collapse():
    X, y = collapsing(1_000)
    gp = SparseTimeVaryingGPRegressor(normalize_y=True, random_state=0).fit(X, y)
    assert gp.score(X, y) > 0.97
    # Too few points do not collapse to pure noise either.
    few = SparseTimeVaryingGPRegressor(n_inducing=50, normalize_y=True, random_state=0).fit(X, y)
    assert few.score(X, y) > 0.6
    assert gp.elbo_ > few.elbo_


@pytest.mark.parametrize("seed", [2, 3])  # with few points or rows, noise is as likely
def test_a_strong_column_beside_others_is_no_noise(seed):
    rng, t = np.random.default_rng(seed), np.arange(300.0)
    x = rng.normal(size=(300, 4))
    f = x @ [1.0, -0.5, 0.3, 0.2] + np.sin(3.0 * x[:, 0]) + 0.8 * np.sin(t / 25.0)
    gp = SparseTimeVaryingGPRegressor(normalize_y=True, random_state=0)
    gp.fit(X := np.column_stack([x, t]), f + 0.1 * rng.normal(size=300))
    assert np.sqrt(np.mean((gp.predict(X) - f) ** 2)) < 0.15


def test_the_bound_is_maximal_where_the_search_ends():
    X, y = collapsing(2_000)
    gp = SparseTimeVaryingGPRegressor(n_inducing=60, inducing=X[::40], random_state=0)
    gp.fit(X, y)
    rng = np.random.RandomState(0)
    for _ in range(10):
        step = 0.1 * rng.normal(size=len(gp.theta_))
        assert gp.elbo(gp.theta_ + step) < gp.elbo_


def test_hyperpriors_hold_and_starts_without_density_are_left_out():
    X, y = collapsing(800)
    gp = SparseTimeVaryingGPRegressor(n_inducing=40, random_state=0)
    name = "spatial_kernel__length_scale"
    allowed = stats.uniform(0.05, 1.0)  # excludes some starts
    gp.set_params(spatial_kernel=Matern(0.1, nu=2.5), hyperpriors={name: allowed}).fit(X, y)
    assert 0.05 <= gp.spatial_kernel_.length_scale <= 1.05
    gp.set_params(hyperpriors={name: stats.norm(0.2, 1e-3)}).fit(X, y)
    assert gp.spatial_kernel_.length_scale == pytest.approx(0.2, abs=0.01)


def test_known_noise_and_noise_models_in_the_start():
    X, y = collapsing(600)
    options = {"noise_model": QuadraticInjection(0.01), "n_inducing": 100, "random_state": 0}
    gp = SparseTimeVaryingGPRegressor(**options).fit(X, y, np.full(600, 0.01))
    assert gp.score(X, y) > 0.8
