"""Quadratic prior mean, against a fit to y minus that mean."""

import pickle

import numpy as np
import pytest
from gaussian_process.cases import PLACES, afresh, as_learnt, greatest_deviation
from gaussian_process.cases import make as any_model
from gaussian_process.cases import moving_waves as data
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import approx_fprime
from scipy.stats import qmc
from sklearn.base import clone
from sklearn.gaussian_process.kernels import Matern

from sktvbo import SparseTimeVaryingGPRegressor, TimeVaryingGPRegressor
from sktvbo.gaussian_process import (
    QuadraticInjection,
    QuadraticMean,
    WeightedTimeVaryingGPRegressor,
)
from sktvbo.kernels import Forgetting

MEAN = QuadraticMean(0.8)
SPATIAL, TEMPORAL = Matern([0.4, 0.7], nu=2.5), Matern(5.0, nu=1.5)
KINDS = [TimeVaryingGPRegressor, WeightedTimeVaryingGPRegressor]

both_kinds = pytest.mark.parametrize("kind", KINDS)
with_a_mean = pytest.mark.parametrize("tau", [0.0, 1.0, np.inf])


def make(kind=TimeVaryingGPRegressor, **options):
    return any_model(SPATIAL, TEMPORAL, kind, prior_mean=MEAN).set_params(**options)


def expected_mean(U, depth=MEAN.depth):
    d = U.shape[1]
    return -depth * (((U - 0.5) ** 2).sum(axis=1) - d / 12.0) / np.sqrt(d / 180.0)


# --- the polynomial -------------------------------------------------------------------------------


@pytest.mark.parametrize("d", [1, 2, 5])
def test_the_polynomial_has_mean_0_and_the_depth_for_standard_deviation(d):
    U = qmc.Sobol(d, seed=0).random(2**14)
    polynomial = MEAN.polynomial(d)
    m = polynomial(U)
    assert_allclose(m, expected_mean(U), rtol=1e-11, atol=1e-13)
    assert_allclose([m.mean(), m.std()], [0.0, MEAN.depth], atol=2e-3)
    assert polynomial(np.full((1, d), 0.5))[0] >= m.max()
    assert polynomial(np.ones((1, d)))[0] <= m.min()
    for u in U[:3]:
        slope = approx_fprime(u, lambda s: polynomial(s[np.newaxis])[0], 1e-7)
        assert_allclose(polynomial.slope(u), slope, atol=1e-5)


def test_columns_choose_the_coordinates_it_depends_on():
    U = np.random.RandomState(0).uniform(size=(20, 4))
    polynomial = QuadraticMean(0.8, columns=[0, 3]).polynomial(4)
    assert_allclose(polynomial(U), expected_mean(U[:, [0, 3]]), rtol=1e-12)


# --- in a regressor -------------------------------------------------------------------------------


@both_kinds
@with_a_mean
def test_a_fit_is_one_to_the_residuals(kind, tau):
    X, y = data()
    options = {"mean_prior_std": tau, "noise_model": QuadraticInjection(0.02)}
    gp = make(kind, **options).fit(X, y)
    rest = make(kind, prior_mean=None, **options).fit(X, y - expected_mean(X[:, :2]))
    mean, cov = gp.predict(PLACES, return_cov=True)
    expected, expected_cov = rest.predict(PLACES, return_cov=True)
    assert_allclose(mean, expected + expected_mean(PLACES[:, :2]), rtol=1e-10)
    assert_allclose(cov, expected_cov, rtol=1e-10)
    ours, theirs = (g.log_marginal_likelihood(eval_gradient=True) for g in (gp, rest))
    assert_allclose(ours[0], theirs[0], rtol=1e-10)
    assert_allclose(ours[1], theirs[1], rtol=1e-8)
    assert_allclose(gp.mean_, rest.mean_, rtol=1e-10, atol=1e-12)
    if kind is TimeVaryingGPRegressor:
        assert_allclose(gp.relevancy(), rest.relevancy(), rtol=1e-9)
        without = make(prior_mean=None, **options).fit(X, y).log_marginal_likelihood()
        assert abs(ours[0] - without) > 1.0


def test_far_from_all_rows_the_prior_mean_is_predicted():
    X, y = data()
    gp = make(normalize_y=True).fit(X, y)
    U = np.random.RandomState(2).uniform(size=(5, 2))
    late = np.column_stack([U, np.full(5, 1e6)])
    for one in (gp, gp.fitted_.with_rows(X[:3], y[:3], restandardize=False)):
        assert_allclose(one.predict(late), y.mean() + y.std() * expected_mean(U), rtol=1e-10)


def test_position_of_time_and_choice_of_columns():
    X, y = data()
    mean = QuadraticMean(0.8, columns=[1])
    gp = make(prior_mean=mean).fit(X, y)
    first = make(prior_mean=mean, time_column=0).fit(X[:, [2, 0, 1]], y)
    assert_allclose(first.predict(PLACES[:, [2, 0, 1]]), gp.predict(PLACES), rtol=1e-10)
    late = np.array([[0.1, 0.5, 1e6], [0.9, 0.5, 1e6], [0.1, 1.0, 1e6]])
    high, same, low = gp.predict(late)
    assert_allclose(high, same, rtol=1e-12)
    assert high > low


def test_it_has_no_effect_on_time_alone():
    X, y = data()
    alone, plain = (
        make(spatial_kernel=None, prior_mean=mean).fit(X[:, 2:], y) for mean in (MEAN, None)
    )
    assert_array_equal(alone.predict(PLACES[:, 2:]), plain.predict(PLACES[:, 2:]))


def test_draws():
    gp = make(mean_prior_std=1.0, normalize_y=True).fit(*data())
    mean, cov = gp.predict(PLACES, return_cov=True)
    assert greatest_deviation(gp.sample_y(PLACES, 4000).T, mean, cov) < 5.0


# --- errors ---------------------------------------------------------------------------------------


def test_it_excludes_the_kalman_filter():
    rng = np.random.RandomState(0)
    X = np.column_stack([rng.choice([0.2, 0.8], size=300), np.arange(300.0)])
    y = np.sin(0.1 * X[:, 1]) + 0.1 * rng.normal(size=300)
    gp = make(spatial_kernel=Matern(0.4), temporal_kernel=Forgetting(0.05)).fit(X, y)
    dense = clone(gp).set_params(solver="dense").fit(X, y)
    assert_allclose(gp.predict(X[:5]), dense.predict(X[:5]), rtol=1e-12)
    with pytest.raises(ValueError, match=r"'prior_mean' .* None with solver='kalman'"):
        gp.set_params(solver="kalman").fit(X, y)


def test_a_sparse_regressor_has_no_quadratic_mean():
    with pytest.raises(ValueError, match=r"'prior_mean' .* a LinearMean or None"):
        SparseTimeVaryingGPRegressor(prior_mean=MEAN).fit(np.eye(3), np.ones(3))


@pytest.mark.parametrize(
    ("mean", "message"),
    [
        ("high", r"'prior_mean' parameter of TimeVaryingGPRegressor must be a QuadraticMean or"),
        (QuadraticMean(np.nan), r"'depth' parameter of QuadraticMean must be a float"),
        (QuadraticMean(columns=[0, 2]), r"'columns' parameter .* an int in the range \[0, 1\]"),
        (QuadraticMean(columns=[0, 0]), r"'columns' parameter .* must be different columns"),
        (QuadraticMean(only_if_likelier="yes"), r"'only_if_likelier' parameter .* True or False"),
    ],
)
def test_bad_prior_means(mean, message):
    X, y = data()
    gp = make().fit(X, y)
    before = gp.predict(PLACES)
    with pytest.raises(ValueError, match=message):
        gp.set_params(prior_mean=mean).fit(X, y)
    assert_array_equal(gp.predict(PLACES), before)


# --- used only if likelier ------------------------------------------------------------------------

CHOICE = QuadraticMean(1.0, only_if_likelier=True)


def sample(kind, seed=0):
    """Return 60 rows of a quadratic function, or of moving waves, in three dimensions."""
    rng = np.random.RandomState(seed)
    S, t = rng.uniform(size=(60, 3)), np.arange(60.0)
    y = {
        "quadratic": -4.0 * ((S - 0.5) ** 2).sum(axis=1),
        "waves": np.sin(5.0 * S[:, 0] + 0.1 * t) * np.cos(4.0 * S[:, 1] * S[:, 2] - 0.07 * t),
    }[kind]
    return np.column_stack([S, t]), y + 0.05 * rng.normal(size=60)


def choose(**options):
    parameters = {
        "spatial_kernel": Matern(0.5, (0.01, 1.0), nu=2.5),
        "temporal_kernel": Matern(20.0, (5.0, 1e3), nu=2.5),
        "prior_mean": CHOICE,
        "normalize_y": True,
        "mean_prior_std": 1.0,
    }
    return TimeVaryingGPRegressor(**parameters | options)


@pytest.mark.parametrize("optimizer", ["fmin_l_bfgs_b", None])
@pytest.mark.parametrize("kind", ["quadratic", "waves"])
def test_the_likelier_mean_is_used(kind, optimizer):
    X, y = sample(kind)
    gp = choose(optimizer=optimizer).fit(X, y)
    each = [choose(optimizer=optimizer, prior_mean=m).fit(X, y) for m in (None, QuadraticMean(1.0))]
    best = int(np.argmax([one.log_marginal_likelihood_value_ for one in each]))
    assert best == (kind == "quadratic")
    assert (gp.prior_mean_ is None) is (best == 0)
    assert_array_equal(gp.theta_, each[best].theta_)
    assert_array_equal(gp.predict(X, return_std=True), each[best].predict(X, return_std=True))


def test_few_rows_have_no_mean_unless_others_have_left():
    X, y = sample("quadratic")
    for n in (3, 9, 10):
        gp = choose().fit(X[:n], y[:n])
        assert (gp.fitted_.record.other is not None) is (n == 10)
        assert n == 10 or gp.prior_mean_ is None
    for depth in (1.0, 0.0):
        mean = QuadraticMean(depth, only_if_likelier=True, spread=1.0)
        known = choose(prior_mean=mean).fit(X, y)
        assert (known.fitted_.record.other is None) is (depth == 0.0)  # a flat mean is none
        some = np.arange(54)
        assert known.fitted_.without(some).refit().record.other is None
        assert known.fitted_.summarized(some).refit().record.other is not None


def test_later_searches_change_the_choice():
    gp = choose().fit(*sample("waves"))
    assert gp.prior_mean_ is None
    Z, z = sample("quadratic", seed=1)
    Z[:, 3] += 500.0
    for i in range(60):
        gp = gp.without([0]).condition_on(Z[i : i + 1], z[i : i + 1]).refit()
        if gp.prior_mean_ is not None:
            break
    fresh = choose(prior_mean=QuadraticMean(1.0)).fit(gp.X_train_, gp.y_train_)
    assert repr(gp.prior_mean_) == repr(CHOICE)
    value = fresh.log_marginal_likelihood_value_
    assert gp.log_marginal_likelihood_value_ == pytest.approx(value, abs=0.05)


def test_held_hyperparameters_hold_the_choice():
    X, y = sample("quadratic")
    gp = choose().fit(X[:40], y[:40]).partial_fit(X[40:], y[40:]).forget([0, 7])
    assert repr(gp.prior_mean_) == repr(CHOICE)
    known = {"prior_mean": QuadraticMean(1.0), "normalize_y": True, "mean_prior_std": 1.0}
    fresh = as_learnt(gp).set_params(**known).fit(X[:40], y[:40])
    fresh = afresh(fresh, np.delete(X, [0, 7], axis=0), np.delete(y, [0, 7]))
    assert_allclose(gp.predict(X), fresh.predict(X), rtol=1e-9)
    assert repr(gp.fitted_.with_rows(X[:3], y[:3]).prior_mean_) == repr(CHOICE)
    again = pickle.loads(pickle.dumps(gp))
    assert_array_equal(again.predict(X), gp.predict(X))
