"""Search of the hyperparameters: fixed ones, bounds, starts, priors."""

import numpy as np
import pytest
from gaussian_process.cases import data, first_start, make, shuffled
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from scipy.optimize import approx_fprime
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF, Matern

from sktvbo import TimeVaryingGPRegressor
from sktvbo.gaussian_process import QuadraticInjection
from sktvbo.kernels import Forgetting


def test_fixed_hyperparameters_stay():
    X, y = data()
    spatial, temporal = RBF(0.5), Matern(2.0, "fixed", nu=1.5)
    gp = TimeVaryingGPRegressor(
        *(spatial, temporal), signal_variance=1.7, signal_variance_bounds="fixed"
    ).fit(X, y)
    assert gp.signal_variance_ == 1.7
    assert gp.temporal_kernel_ == temporal
    assert_allclose(gp.theta_, [gp.spatial_kernel_.theta[0], np.log(gp.noise_variance_)])
    assert gp.spatial_kernel_.length_scale != 0.5
    gp.set_params(spatial_kernel=RBF(0.5, "fixed"), noise_variance_bounds="fixed").fit(X, y)
    assert gp.theta_.shape == (0,)
    assert gp.noise_variance_ == 1e-2
    value, gradient = gp.log_marginal_likelihood([], eval_gradient=True)
    assert value == pytest.approx(gp.log_marginal_likelihood())
    assert gradient.shape == (0,)


def test_learnt_hyperparameters_lie_within_their_bounds():
    X, y = data()
    bounds = {"signal_variance_bounds": (2.0, 3.0), "noise_variance_bounds": (0.5, 0.6)}
    gp = TimeVaryingGPRegressor(RBF(5.0, (4.0, 6.0)), Forgetting(0.5, (0.4, 0.6)), **bounds)
    learnt = np.exp(gp.fit(X, y).theta_)
    assert np.all(learnt * (1.0 + 1e-12) >= [2.0, 4.0, 0.4, 0.5])
    assert np.all(learnt / (1.0 + 1e-12) <= [3.0, 6.0, 0.6, 0.6])


def test_default_kernels_follow_the_data():
    X, y = data()
    X *= [20.0, 5.0, 3600.0]
    gp = TimeVaryingGPRegressor().fit(X, y)
    extent, gaps = np.ptp(X[:, 0]), np.diff(X[:, 2])
    assert gp.spatial_kernel_.nu == 2.5
    assert gp.temporal_kernel_.nu == 1.5
    assert_allclose(gp.spatial_kernel_.length_scale_bounds, [0.01 * extent, 10.0 * extent])
    assert_allclose(gp.temporal_kernel_.length_scale_bounds, [np.median(gaps), 10.0 * gaps.sum()])
    gp.set_params(optimizer=None).fit(X, y)
    assert gp.spatial_kernel_ == Matern(nu=2.5)
    assert gp.temporal_kernel_ == Matern(nu=1.5)


def test_custom_optimizer():
    X, y = data()
    calls = []

    def optimizer(obj_func, initial_theta, bounds):
        value, gradient = obj_func(initial_theta)
        assert obj_func(initial_theta, eval_gradient=False) == pytest.approx(value)
        assert np.all((bounds[:, 0] <= initial_theta) & (initial_theta <= bounds[:, 1]))
        calls.append((initial_theta, value, gradient))
        return initial_theta + 0.1, float(len(calls))

    gp = make(RBF(0.5), RBF(2.0), optimizer=optimizer, n_restarts_optimizer=2, random_state=3)
    gp.fit(X, y)
    start = np.log([1.3, 0.5, 2.0, 0.02])
    # The first of three searches returned the smallest value.
    assert_allclose(gp.theta_, start + 0.1)
    assert_allclose(calls[0][0], start)
    value, gradient = gp.log_marginal_likelihood(start, eval_gradient=True)
    assert calls[0][1] == pytest.approx(-value)
    assert_allclose(calls[0][2], -gradient)
    assert len({tuple(theta) for theta, *_ in calls}) == 3


def test_restarts_never_make_it_worse():
    X, y = data(n=25)
    bad_start = make(RBF(50.0), RBF(50.0), optimizer="fmin_l_bfgs_b", random_state=0)
    one = clone(bad_start).fit(X, y)
    several = clone(bad_start).set_params(n_restarts_optimizer=5).fit(X, y)
    assert several.log_marginal_likelihood_value_ >= one.log_marginal_likelihood_value_
    again = clone(several).fit(X, y)
    assert_array_equal(again.theta_, several.theta_)


def test_a_start_out_of_bounds_is_moved_in():
    X, y = data()
    gp = make(RBF(1e-9), RBF(2.0), optimizer=first_start, signal_variance=1e7).fit(X, y)
    assert_allclose(np.exp(gp.theta_), [1e3, 1e-5, 2.0, 0.02], rtol=1e-9)
    assert gp.signal_variance == 1e7


# --- hyperpriors ----------------------------------------------------------------------------------


def fit(hyperpriors, **options):
    X, y, _ = shuffled()
    options = {"noise_variance": 0.05, "normalize_y": True, "hyperpriors": hyperpriors} | options
    gp = TimeVaryingGPRegressor(RBF(0.4), Matern(20.0, nu=1.5)).set_params(**options)
    return gp.fit(X, y)


def test_a_narrow_prior_holds_its_hyperparameter():
    free, held = fit(None), fit({"spatial_kernel__length_scale": stats.norm(0.15, 1e-3)})
    assert held.spatial_kernel_.length_scale == pytest.approx(0.15, abs=0.005)
    assert abs(free.spatial_kernel_.length_scale - 0.15) > 0.05
    assert held.log_marginal_likelihood_value_ < free.log_marginal_likelihood_value_


@pytest.mark.parametrize("model", [None, QuadraticInjection(0.1, (1e-3, 1.0))], ids=str)
def test_the_posterior_mode_is_stationary(model):
    priors = {
        "signal_variance": stats.gamma(2.0, scale=1.0),
        "spatial_kernel__length_scale": stats.gamma(3.0, scale=0.2),
        "temporal_kernel__length_scale": stats.lognorm(1.0, scale=30.0),
        "noise_variance": stats.gamma(2.0, scale=0.1),
    }
    if model is not None:
        priors["noise_model__rate"] = stats.gamma(2.0, scale=0.1)
    gp = fit(priors, noise_model=model)

    def log_posterior(theta):
        terms = zip(priors.values(), np.exp(theta))
        return gp.log_marginal_likelihood(theta) + sum(p.logpdf(v) for p, v in terms)

    slope = approx_fprime(gp.theta_, log_posterior, 1e-6)
    assert_allclose(slope, 0.0, atol=1e-2)


def test_one_prior_for_all_lengthscales():
    prior = {"spatial_kernel__length_scale": stats.norm(0.2, 1e-3)}
    gp = fit(prior, spatial_kernel=Matern([0.4, 0.4], nu=2.5))
    assert_allclose(gp.spatial_kernel_.length_scale, 0.2, atol=0.005)


LOGNORM = r"must be a frozen .* Got scipy.stats.lognorm .* parameters: .*lognorm\(s=\.\.\., sc"


@pytest.mark.parametrize(
    ("hyperpriors", "message"),
    [
        ({"noise_variance": stats.lognorm}, LOGNORM),
        (
            {"length_scale": stats.gamma(2.0)},
            r"A key .* \(signal_variance, .*\)\. Got 'length_scale'",
        ),
        (
            {"noise_variance": 0.1},
            r"\['noise_variance'\] must be a frozen scipy.stats distribution",
        ),
        ({"noise_variance": stats.uniform(5.0, 1.0)}, "no density at noise_variance = "),
    ],
)
def test_bad_hyperpriors(hyperpriors, message):
    with pytest.raises(ValueError, match=message):
        fit(hyperpriors)


# --- searches that start from useless hyperparameters ---------------------------------------------


def lost(seed, **parameters):
    """Return a regressor that has learnt pure noise, and rows of a function, one of them old."""
    rng, n = np.random.RandomState(seed), 60
    X = np.column_stack([rng.uniform(size=(n, 2)), np.sort(rng.uniform(0.0, 7e3, n))])
    kernels = Matern(0.5, (0.01, 2.0), nu=2.5), Matern(3e4, (5.0, 7e4), nu=2.5)
    bounds = {"signal_variance_bounds": (0.05, 20.0), "noise_variance_bounds": (1e-4, 1.0)}
    options = bounds | {"normalize_y": True, "mean_prior_std": 1.0} | parameters
    gp = TimeVaryingGPRegressor(*kernels, **options).fit(X, rng.normal(size=n))
    t = np.append(-7e3, np.sort(rng.uniform(0.0, 300.0, n - 1)))
    Z = np.column_stack([rng.uniform(size=(n, 2)), t])
    centre = 0.5 + 0.3 * np.column_stack([np.cos(0.01 * t), np.sin(0.01 * t)])
    return gp, Z, -np.sum((Z[:, :2] - centre) ** 2, axis=1) + 0.01 * rng.normal(size=n)


def test_starts_without_a_density_are_left_out():
    never = {"temporal_kernel__length_scale": stats.uniform(4e3, 6.6e4)}
    gp, X, y = lost(4, hyperpriors=never)
    found = gp.fitted_.with_rows(X, y).refit()
    assert found.temporal_kernel_.length_scale >= 4e3
