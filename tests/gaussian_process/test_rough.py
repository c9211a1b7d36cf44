"""Default kernel in time: smooth, or smooth and rough where that is likelier."""

import pickle
import warnings

import numpy as np
import pytest
from scipy.stats import gamma
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, Matern, Sum, WhiteKernel

from sktvbo import TimeVaryingGPRegressor
from sktvbo.gaussian_process import SparseTimeVaryingGPRegressor, WeightedTimeVaryingGPRegressor
from sktvbo.gaussian_process._hyperparameters import default_temporal
from sktvbo.gaussian_process._regressor import length_scale_in_time


def _walks(seed, n=150, n_sites=1):
    """Return X and y of random walks, with a column for each site if there are several."""
    steps = np.random.default_rng(seed).normal(size=(n, n_sites))
    t = np.arange(1.0 * n)
    if n_sites == 1:
        return t[:, np.newaxis], np.cumsum(steps)
    sites = np.tile(np.eye(n_sites), (n, 1))
    return np.column_stack([sites, np.repeat(t, n_sites)]), np.cumsum(steps, axis=0).ravel()


def _smooth(seed, n=150, noise=0.1):
    rng, t = np.random.default_rng(seed), np.arange(1.0 * n)[:, np.newaxis]
    root = np.linalg.cholesky(Matern(30.0, nu=2.5)(t) + 1e-9 * np.eye(n))
    return t, root @ rng.normal(size=n) + noise * rng.normal(size=n)


def _fitted(X, y, kind=TimeVaryingGPRegressor, **parameters):
    return kind(**{"normalize_y": True} | parameters).fit(X, y)


def _given_as_default(gp):
    """Return the smooth default kernel for the rows of a fit, to be given explicitly."""
    return default_temporal(gp._gp.rows, follow_data=True)


def _is_rough(gp):
    return isinstance(gp.temporal_kernel_, Sum)


@pytest.mark.parametrize("n_sites", [1, 2])
def test_random_walks_are_rough(n_sites):
    gp = _fitted(*_walks(0, n_sites=n_sites))
    smooth, rough = gp.temporal_kernel_.k1, gp.temporal_kernel_.k2.k2
    assert (smooth.nu, rough.nu) == (1.5, 0.5)
    assert len(gp.theta_) == 5 + (n_sites > 1)


def test_smooth_functions_are_smooth():
    kernels = [_fitted(*_smooth(seed)).temporal_kernel_ for seed in range(5)]
    assert [type(kernel) for kernel in kernels] == [Matern] * 5


@pytest.mark.parametrize("draw", [_walks, _smooth])
def test_it_is_at_least_as_likely_as_the_smooth_kernel(draw):
    for seed in range(3):
        X, y = draw(seed)
        gp = _fitted(X, y)
        smooth = _fitted(X, y, temporal_kernel=_given_as_default(gp))
        value = smooth.log_marginal_likelihood_value_
        # The sum is used where it gains two nats.
        assert gp.log_marginal_likelihood_value_ >= value + (2.0 if _is_rough(gp) else -0.1)


def test_forecasts_of_walks_are_as_good_as_the_latest_value():
    errors = {"default": [], "smooth": [], "latest": []}
    for seed in range(4):
        X, y = _walks(seed, n=200, n_sites=2)
        gp = _fitted(X[:300], y[:300])
        smooth = _fitted(X[:300], y[:300], temporal_kernel=_given_as_default(gp))
        for i in range(300, 400, 2):
            now = slice(i, i + 2)
            errors["default"].extend(gp.predict(X[now]) - y[now])
            errors["smooth"].extend(smooth.predict(X[now]) - y[now])
            errors["latest"].extend(y[i - 2 : i] - y[now])
            gp.partial_fit(X[now], y[now])
            smooth.partial_fit(X[now], y[now])
    default, smooth, latest = (np.sqrt(np.mean(np.square(e))) for e in errors.values())
    assert default < 1.02 * latest
    assert smooth > 1.05 * latest


def test_posterior_and_likelihood_are_those_of_scikit_learn():
    X, y = _walks(1, n=80, n_sites=2)
    gp = TimeVaryingGPRegressor(solver="dense").fit(X, y)
    assert _is_rough(gp)

    class OfSpace(Matern):
        def __call__(self, X, Y=None, eval_gradient=False):
            return super().__call__(X[:, :-1], None if Y is None else Y[:, :-1])

    class OfTime(type(gp.temporal_kernel_)):
        def __call__(self, X, Y=None, eval_gradient=False):
            return super().__call__(X[:, -1:], None if Y is None else Y[:, -1:])

    space = OfSpace(gp.spatial_kernel_.length_scale, nu=2.5)
    time = OfTime(gp.temporal_kernel_.k1, gp.temporal_kernel_.k2)
    kernel = ConstantKernel(gp.signal_variance_) * space * time + WhiteKernel(gp.noise_variance_)
    theirs = GaussianProcessRegressor(kernel, alpha=0.0, optimizer=None).fit(X, y)
    new = X + np.array([0.1, 0.0, 0.5])
    np.testing.assert_allclose(gp.predict(new), theirs.predict(new), rtol=1e-6, atol=1e-8)
    value = theirs.log_marginal_likelihood_value_
    np.testing.assert_allclose(gp.log_marginal_likelihood_value_, value, rtol=1e-8)


def test_filter_and_factor_find_the_same():
    X, y = _walks(2, n=300)
    gps = [_fitted(X, y, solver=solver) for solver in ("dense", "kalman")]
    assert all(map(_is_rough, gps))
    dense, kalman = (gp.log_marginal_likelihood_value_ for gp in gps)
    np.testing.assert_allclose(dense, kalman, atol=0.5)


@pytest.mark.parametrize(
    "parameters",
    [
        {"temporal_kernel": Matern(10.0, (1.0, 1000.0), nu=1.5)},
        {"hyperpriors": {"temporal_kernel__length_scale": gamma(3.0, scale=5.0)}},
        {"optimizer": None},
        {"optimizer": lambda function, theta, bounds: (theta, function(theta, False))},
    ],
    ids=["given", "prior", "no search", "callable"],
)
def test_a_kernel_that_users_determine_stays_a_single_one(parameters):
    assert type(_fitted(*_walks(0), **parameters).temporal_kernel_) is Matern


def test_other_priors_leave_the_choice():
    prior = {"noise_variance": gamma(1.0, scale=0.1)}
    assert _is_rough(_fitted(*_walks(0, n_sites=2), hyperpriors=prior))


def test_few_rows_are_smooth():
    for n in (1, 2, 6, 19):
        for seed in range(3):
            assert type(_fitted(*_walks(seed, n=n)).temporal_kernel_) is Matern


def test_rows_at_one_time_are_smooth():
    X = np.column_stack([np.linspace(0.0, 1.0, 40), np.zeros(40)])
    assert type(_fitted(X, np.sin(6.0 * X[:, 0])).temporal_kernel_) is Matern


def test_the_order_of_the_rows_does_not_matter():
    X, y = _walks(3, n_sites=2)
    order = np.random.default_rng(0).permutation(len(y))
    gp, other = _fitted(X, y), _fitted(X[order], y[order])
    assert _is_rough(gp)
    value = gp.log_marginal_likelihood_value_
    np.testing.assert_allclose(other.log_marginal_likelihood_value_, value, atol=0.1)


@pytest.mark.parametrize(
    "parameters",
    [
        {"robust": True},
        {"level_kernel": 1.0 * Matern(20.0, (1.0, 2000.0), nu=1.5)},
        {"mean_prior_std": 1.0},
        {"max_size": 100},
        {"n_restarts_optimizer": 1, "random_state": 0},
    ],
    ids=lambda parameters: next(iter(parameters)),
)
def test_it_goes_with_other_parameters(parameters):
    X, y = _walks(0, n=120, n_sites=2)
    gp = _fitted(X, y, **parameters)
    mean, std = gp.predict(X[-4:] + np.array([0.0, 0.0, 1.0]), return_std=True)
    assert np.isfinite(mean).all()
    assert (std > 0.0).all()
    again = gp.refit()
    assert type(again.temporal_kernel_) is type(gp.temporal_kernel_)


def test_weighted_regressor_is_rough_too():
    assert _is_rough(_fitted(*_walks(0), kind=WeightedTimeVaryingGPRegressor))


def test_inducing_points_have_the_smooth_kernel():
    gp = _fitted(*_walks(0, n=200), kind=SparseTimeVaryingGPRegressor, n_inducing=30)
    assert type(gp.temporal_kernel_) is Matern
    assert type(gp.refit().temporal_kernel_) is Matern


def test_refit_keeps_the_sum_and_its_likelihood():
    gp = _fitted(*_walks(0))
    again = gp.refit()
    assert _is_rough(again)
    assert again.log_marginal_likelihood_value_ >= gp.log_marginal_likelihood_value_ - 1e-3
    more = gp.condition_on([[150.0]], [gp.y_train_[-1]]).refit()
    assert len(more.theta_) == len(gp.theta_)


def test_refit_finds_the_rough_part_when_rows_have_doubled():
    X, y = _walks(0)
    gp = _fitted(X[:18], y[:18])
    assert not _is_rough(gp)
    gp = gp.condition_on(X[18:], y[18:]).refit()
    assert _is_rough(gp)
    np.testing.assert_allclose(
        gp.log_marginal_likelihood_value_, _fitted(X, y).log_marginal_likelihood_value_, atol=1.0
    )


def test_refit_with_a_given_kernel_has_that_kernel():
    gp = _fitted(*_walks(0))
    assert type(gp.refit(temporal_kernel=Matern(nu=2.5)).temporal_kernel_) is Matern


def test_pickles_and_terms():
    X, y = _walks(0)
    gp = _fitted(X, y)
    again = pickle.loads(pickle.dumps(gp))
    np.testing.assert_array_equal(again.predict(X), gp.predict(X))
    np.testing.assert_allclose(again.refit().theta_, gp.refit().theta_)
    terms = gp.predict_terms(X)
    assert terms.shape == (len(X), 2)
    np.testing.assert_allclose(terms.sum(axis=1) + gp.mean_, gp.predict(X), atol=1e-6)


def test_relevancies_and_the_lengthscale_in_time_exist():
    gp = _fitted(*_walks(0, n=60, n_sites=2))
    assert _is_rough(gp)
    relevancy = gp.relevancy()
    assert np.isfinite(relevancy).all()
    assert (relevancy >= 0.0).all()
    assert 0.0 < length_scale_in_time(gp) < np.inf


def test_no_advice_on_bounds_of_parts_that_nobody_gave():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for seed in range(3):
            assert _is_rough(_fitted(*_walks(seed, n_sites=2)))


def test_units_of_time_and_y_do_not_matter():
    X, y = _walks(0)
    gp, other = _fitted(X, y), _fitted(3600.0 * X + 1.7e9, 50.0 + 1e3 * y)
    assert _is_rough(other)
    np.testing.assert_allclose(
        other.log_marginal_likelihood_value_, gp.log_marginal_likelihood_value_, atol=0.1
    )


def test_few_rows_of_many_hyperparameters_keep_the_smooth_kernel():
    """The corrected criterion is infinite where rows are hardly more than hyperparameters."""
    rng = np.random.default_rng(0)
    X, y = (
        np.column_stack([rng.uniform(size=(22, 18)), np.arange(22.0)]),
        np.cumsum(rng.normal(size=22)),
    )
    gp = TimeVaryingGPRegressor(Matern(np.ones(18), nu=2.5), normalize_y=True).fit(X, y)
    assert type(gp.temporal_kernel_) is Matern


def test_the_smooth_part_may_be_the_slow_one():
    """A search from a fast smooth part and a static rough one does not reach the other order."""
    n, losses = 200, []
    fast = ConstantKernel(0.01, (1e-3, 1e2)) * Matern(8.0, (0.5, 2e3), nu=0.5)
    options = {"temporal_kernel": Matern(2e3, (1.0, 2e3), nu=1.5) + fast, "signal_variance": 30.0}
    for seed in (1, 4, 5):
        rng, t = np.random.default_rng(seed), np.arange(n) * 1.0
        x = rng.uniform(size=(n, 3))
        first, cycle = (np.arcsin(np.sin(p)) for p in (5.0 * x[:, 0], 2.0 * np.pi * t / 20.0 + 1.0))
        f = 2.0 / np.pi * (2.0 * first + cycle) + x[:, 1] - x[:, 2]
        X, y = np.column_stack([x, t]), f + 0.1 * rng.normal(size=n)
        found, other = (
            TimeVaryingGPRegressor(normalize_y=True, **given).fit(X, y) for given in ({}, options)
        )
        losses.append(other.log_marginal_likelihood_value_ - found.log_marginal_likelihood_value_)
    assert max(losses) < 1.0
