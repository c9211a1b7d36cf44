"""Weights of outliers: in fits and updates, of changes, which are none, and for unusual data."""

import copy
import warnings

import numpy as np
import pytest
from gaussian_process.cases import as_learnt
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import approx_fprime
from sklearn.gaussian_process.kernels import Matern

from sktvbo.exceptions import ModelWarning
from sktvbo.gaussian_process import (
    QuadraticInjection,
    SparseTimeVaryingGPRegressor,
    TimeVaryingGPRegressor,
)

KERNELS = Matern(0.5, nu=2.5), Matern(20.0, nu=1.5)
HELD = {"optimizer": None, "noise_variance": 0.05**2}
SIZES = {4: 5.0, 20: -50.0, 33: 20.0, 50: 0.4}


def data(n=60, outliers=SIZES, n_places=None):
    rng = np.random.RandomState(0)
    x, t = rng.uniform(size=n), np.arange(float(n))
    if n_places is not None:
        x = t % n_places / (n_places - 1)
    y = np.sin(6.0 * x + 0.1 * t) + 0.05 * rng.normal(size=n)
    y[list(outliers)] += list(outliers.values())
    return np.column_stack([x, t]), y


def regressor(**options):
    return TimeVaryingGPRegressor(*KERNELS, **HELD | {"robust": True} | options)


def robust_and_plain(X, y):
    """Return two regressors that have learnt from the same rows."""
    return [TimeVaryingGPRegressor(normalize_y=True, robust=r).fit(X, y) for r in (True, False)]


def outliers(gp, weight=1.0):
    """Return the rows with weights below a number; none is above 1."""
    assert gp.outlier_weights_.max() <= 1.0
    return np.flatnonzero(gp.outlier_weights_ < weight).tolist()


def error(gp, X, f):
    return np.sqrt(np.mean((gp.predict(X) - f) ** 2))


def fresh(gp):
    """Return plain regression on the same rows, with noise variances divided by the weights."""
    plain = as_learnt(gp).fit(gp.X_train_[:1], gp.y_train_[:1])
    variance = gp.noise_variance_ / gp.outlier_weights_
    return plain.condition_on(gp.X_train_, gp.y_train_, variance, total_variance=True).without([0])


def test_likelihood_and_its_gradient_have_the_weights():
    gp = regressor(optimizer="fmin_l_bfgs_b").fit(*data())
    assert outliers(gp, 0.02) == [4, 20, 33]
    value = fresh(gp).log_marginal_likelihood()
    assert gp.log_marginal_likelihood_value_ == pytest.approx(value, rel=1e-8)
    _, gradient = gp.log_marginal_likelihood(gp.theta_, eval_gradient=True)
    assert_allclose(gradient, approx_fprime(gp.theta_, gp.log_marginal_likelihood, 1e-7), atol=1e-3)


def test_without_outliers_the_posterior_is_that_of_plain_regression():
    X, y = data(outliers={})
    robust, plain = robust_and_plain(X, y)
    assert (robust.outlier_weights_ == 1.0).all()
    assert_array_equal(robust.theta_, plain.theta_)
    assert_array_equal(robust.predict(X), plain.predict(X))


def test_append_and_drop_agree_with_a_fresh_fit_with_the_same_weights():
    X, y = data(outliers=SIZES | {55: 40.0})
    gp = regressor().fit(X[:50], y[:50])
    for i in range(50, 60):
        gp = gp.condition_on(X[i : i + 1], y[i : i + 1])
        assert len(gp.outlier_weights_) == i + 1
        assert_allclose(gp.predict(X), fresh(gp).predict(X), atol=1e-8)
    assert outliers(gp, 1e-3) == [4, 20, 33, 55]
    dropped = gp.without([3, 20, 58])
    assert_array_equal(dropped.outlier_weights_, np.delete(gp.outlier_weights_, [3, 20, 58]))
    assert_allclose(dropped.predict(X), fresh(dropped).predict(X), atol=1e-8)


def test_the_influence_of_a_new_row_is_bounded_and_vanishes_once_it_is_confirmed():
    X, y = data(outliers={})
    gp, x = regressor().fit(X, y), np.array([[0.3, 60.0]])
    mean, std = gp.predict(x, return_std=True, include_noise=True)
    latest, confirmed = [], []
    for z in (0.0, 4.9, -6.5, 2e2, -2e3, 1e5):
        new = gp.condition_on(x, mean + z * std)
        assert (new.outlier_weights_[-1] == 1.0) == (abs(z) < 5.0)
        latest.append(abs(new.predict(x) - mean)[0])
        new = new.condition_on(x + 1.0, gp.predict(x + 1.0))
        assert (new.outlier_weights_[-2:] == 1.0).tolist() == [abs(z) < 5.0, True]
        assert_allclose(new.predict(X), fresh(new).predict(X), atol=1e-8)
        confirmed.append(abs(new.predict(x) - mean)[0])
    # The next row could show a change: until then the influence is that of the limit.
    assert_allclose(latest[3:], latest[2])
    assert latest[0] < latest[1] < latest[2] < 1.2 * latest[1]
    # Then it decreases as 1 / |z|.
    assert confirmed[1] > confirmed[2] > 10.0 * confirmed[3]
    assert confirmed[3] == pytest.approx(10.0 * confirmed[4], rel=0.1)


@pytest.mark.parametrize(
    ("sizes", "weights"),
    [
        ([6.0, 60.0, 40.0], ([0], [0, 0], [0, 1, 1])),
        ([6.0, -6.0, 6.0], ([0], [0, 0], [0, 0, 0])),
        ([6.0, 12.0, 6.0], ([0], [1, 1], [1, 1, 1])),
    ],
)
def test_two_or_three_similar_outliers_are_a_change(sizes, weights):
    X, y = data(outliers={})
    X[40:43, 0] = 0.3
    gp = regressor().fit(X[:40], y[:40])
    for i, size, expected in zip(range(40, 43), sizes, weights):
        gp = gp.condition_on(X[i : i + 1], y[i : i + 1] + size)
        found = gp.outlier_weights_[40:]
        assert (found == 1.0).tolist() == expected
    assert_allclose(gp.predict(X), fresh(gp).predict(X), atol=1e-8)
    # A search, which weighs all rows, does not undo this.
    learning = copy.copy(gp).set_params(optimizer="fmin_l_bfgs_b")
    assert (learning.refit().outlier_weights_[40:] == 1.0)[found == 1.0].all()


def test_two_similar_outliers_of_a_fit_are_no_change():
    assert outliers(regressor().fit(*data(outliers={30: 9.0, 31: 9.0}))) == [30, 31]


def test_a_fit_searches_until_weights_and_hyperparameters_agree():
    rng = np.random.RandomState(3)
    X = np.arange(100.0)[:, np.newaxis]
    truth = np.sqrt(2.0) * np.sin(0.2 * X[:, 0])
    y, bad = truth + 0.1 * rng.normal(size=100), rng.choice(100, 10, replace=False)
    y[bad] += 0.1 * rng.choice([-1.0, 1.0], 10) * 10.0 ** rng.uniform(np.log10(8.0), 2.0, 10)
    gp = TimeVaryingGPRegressor(normalize_y=True, robust=True).fit(X, y)
    assert gp.noise_std_ < 0.15
    assert error(gp, X, truth) < 0.08
    assert_allclose(gp.outlier_weights_, gp.refit().outlier_weights_, atol=0.1)


def test_location_and_scale_follow_the_rows_with_full_weight():
    X, y = data()
    gp = regressor(normalize_y=True).fit(X, y)
    full = gp.outlier_weights_ == 1.0
    new = gp.condition_on(X[:1] + 60.0, [200.0], restandardize=True)
    assert new.mean_ == pytest.approx(y[full].mean())
    assert new.noise_std_ == pytest.approx(0.05 * y[full].std())


# --- the Kalman filter and sparse regression ------------------------------------------------------


def assert_same_weights_and_predictions(found, expected, X, atol=1e-8):
    assert_allclose(found.outlier_weights_, expected.outlier_weights_, rtol=100.0 * atol)
    places = X + np.array([0.0, 0.4])
    one, other = (gp.predict(places, return_std=True) for gp in (found, expected))
    assert_allclose(one, other, atol=atol)


@pytest.mark.parametrize("mean_prior_std", [0.0, 2.0])
def test_the_kalman_filter_has_the_weights_of_dense_regression(mean_prior_std):
    X, y = data(80, SIZES | {71: 30.0, 74: -9.0, 75: -9.0, 76: -9.0}, n_places=4)
    options = {"mean_prior_std": mean_prior_std, "normalize_y": True}
    pair = [regressor(**options, solver=s).fit(X[:70], y[:70]) for s in ("kalman", "dense")]
    assert outliers(pair[0], 0.01) == [4, 20, 33]
    for i in range(70, 80):
        assert_same_weights_and_predictions(*pair, X[::3])
        pair = [gp.condition_on(X[i : i + 1], y[i : i + 1]) for gp in pair]
    assert_same_weights_and_predictions(*(gp.without([3, 20, 71]) for gp in pair), X[::3])


@pytest.mark.parametrize("mean_prior_std", [0.0, 2.0])
def test_predictions_without_a_row_are_those_of_a_sparse_regression_without_it(mean_prior_std):
    X, y = data()
    options = {"mean_prior_std": mean_prior_std, "inducing": X[::4]}
    gp = SparseTimeVaryingGPRegressor(*KERNELS, **HELD, **options).fit(X, y)._gp
    residual, variance = gp.leave_one_out()
    for i in range(60):
        rest = type(gp).of(gp.covariance, gp.rows.drop([i]), gp.Z)
        mean, expected = rest.joint(gp.rows.S[i : i + 1], gp.rows.t[i : i + 1], full=False)
        assert residual[i] == pytest.approx(y[i] - mean[0], rel=1e-8)
        assert variance[i] == pytest.approx(expected[0], rel=1e-8)


def test_inducing_points_at_the_rows_have_the_weights_of_dense_regression():
    X, y = data()
    later = X[-1] + np.column_stack([np.zeros(4), np.arange(1.0, 5.0)])
    options = HELD | {"robust": True, "inducing": np.vstack([X, later])}
    pair = [SparseTimeVaryingGPRegressor(*KERNELS, **options).fit(X, y), regressor().fit(X, y)]
    for row, size in zip(later[:, np.newaxis], (0.0, 30.0, -9.0, -9.0)):
        assert_same_weights_and_predictions(*pair, X, atol=1e-6)
        value = pair[1].predict(row) + size
        pair = [gp.condition_on(row, value) for gp in pair]
    assert_same_weights_and_predictions(*pair, X, atol=1e-6)


@pytest.mark.slow
def test_sparse_regression_learns_without_the_outliers():
    rng = np.random.RandomState(0)
    X = np.column_stack([rng.uniform(size=800), np.linspace(0.0, 20.0, 800)])
    truth = np.sin(6.0 * X[:, 0] + X[:, 1])
    y, bad = truth + 0.1 * rng.normal(size=800), np.arange(7, 800, 40)
    y[bad] += rng.choice([-1.0, 1.0], len(bad)) * rng.uniform(3.0, 30.0, len(bad))
    options = {"n_inducing": 150, "inducing": "greedy", "normalize_y": True}
    gp = SparseTimeVaryingGPRegressor(**options, robust=True, random_state=0).fit(X, y)
    assert outliers(gp, 0.5) == bad.tolist()
    assert 0.09 < gp.noise_std_ < 0.14
    assert error(gp, X, truth) < 0.05
    gp.partial_fit([[X[0, 0], 21.0]], [50.0])
    assert gp.outlier_weights_[-1] < 0.01


# --- few rows, many outliers, constant y ----------------------------------------------------------


@pytest.mark.parametrize("fitted", [False, True])
def test_rows_are_weighted_as_at_the_fit_until_the_next_search(fitted):
    X, y = data(outliers=SIZES | {59: 50.0})
    gp, same = (regressor(robust=fitted).fit(X[:-1], y[:-1]) for _ in range(2))
    gp.set_params(robust=not fitted).partial_fit(X[-1:], y[-1:])
    assert_allclose(gp.predict(X), same.partial_fit(X[-1:], y[-1:]).predict(X))
    searched = gp.set_params(optimizer="fmin_l_bfgs_b").refit()
    assert hasattr(searched, "outlier_weights_") is not fitted
    if not fitted:
        assert outliers(searched, 0.1) == [4, 20, 33, 59]


def test_few_rows_have_weight_1():
    X, y = data(10, {4: 100.0})
    with pytest.warns(ModelWarning, match="no effect with 9 rows"):
        gp = regressor(optimizer="fmin_l_bfgs_b", normalize_y=True).fit(X[:9], y[:9])
    assert outliers(gp) == []
    assert outliers(gp.condition_on(X[9:], y[9:], restandardize=True), 1e-3) == [4]


def test_more_than_a_quarter_of_outliers_have_weight_1():
    X, y = data(outliers={i: (-1) ** (i // 3) * 50.0 for i in range(0, 60, 3)})
    with pytest.warns(ModelWarning, match="more than a quarter") as found:
        gp = regressor().fit(X, y)
    assert len([w for w in found if "robust" in str(w.message)]) == 1
    assert outliers(gp) == []


def test_the_largest_of_too_many_outliers_have_small_weights():
    X, y = data(20, dict(zip(range(14, 20), [20.0, -30.0, 3.0, -40.0, 50.0, -60.0])))
    gp = regressor().fit(X[:14], y[:14])
    for i in range(14, 20):
        gp = gp.condition_on(X[i : i + 1], y[i : i + 1])
    assert outliers(gp) == [14, 15, 17, 18, 19]
    assert_allclose(gp.predict(X), fresh(gp).predict(X), atol=1e-8)


@pytest.mark.parametrize("size", [1e9, 1e60, -1e90])
def test_a_reading_of_any_size_has_no_influence(size):
    X, y = data(outliers={})
    gp = regressor().fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        new = gp.condition_on([[0.3, 60.0]], [size])
        limited = gp.condition_on([[0.3, 60.0]], gp.predict([[0.3, 60.0]]) + np.sign(size))
        assert_allclose(new.predict(X), limited.predict(X), atol=1e-6)
        new = new.condition_on([[0.3, 61.0]], gp.predict([[0.3, 61.0]])).without([60, 61])
    assert_allclose(new.predict(X), gp.predict(X), atol=1e-6)
    y[20] = size
    again = regressor(normalize_y=True, optimizer="fmin_l_bfgs_b").fit(X, y)
    assert again.outlier_weights_[20] < 1e-10
    assert np.abs(again.predict(X[20:21])[0]) < 3.0


@pytest.mark.parametrize("n_dims", [0, 2])
def test_events_in_a_constant_y_are_no_outliers(n_dims):
    rng = np.random.RandomState(0)
    X = np.column_stack([rng.uniform(size=(200, n_dims)), np.arange(200.0)])
    y = (rng.permutation(200) < 29) * 1.0
    with warnings.catch_warnings():
        warnings.filterwarnings("error", "y is constant|robust", ModelWarning)
        gp = TimeVaryingGPRegressor(normalize_y=True, robust=True).fit(X, y)
    assert outliers(gp) == []
    assert np.mean(gp.predict(X)) == pytest.approx(0.145, abs=0.01)
    gp = regressor(normalize_y=True).fit(X[:100], y[:100])
    for i in range(100, 110):
        gp = gp.condition_on(X[i : i + 1], [float(i % 4 == 0)])
    assert outliers(gp) == []


@pytest.mark.parametrize("sizes", [{4: 9.0}, {4: -1e6}, {2: 90.0, 12: -4.0, 25: 1000.0}])
def test_outliers_in_a_constant_y_are_found(sizes):
    X, y = data(30, {})[0], np.full(30, 3.0)
    gp = regressor(normalize_y=True, optimizer="fmin_l_bfgs_b").fit(X, y)
    assert outliers(gp) == []
    new = gp.condition_on(X[-1:] + 1.0, [50.0]).condition_on(X[-1:] + 2.0, [3.0])
    assert new.outlier_weights_[-2] < 0.01
    y[list(sizes)] = list(sizes.values())
    gp = TimeVaryingGPRegressor(normalize_y=True, robust=True).fit(X, y)
    assert outliers(gp, 0.01) == list(sizes)
    assert_allclose(gp.predict(X), 3.0, atol=1e-2)


def test_several_rows_with_an_outlier_have_the_weights_of_a_fit():
    X, y = data(outliers={20: -50.0, 52: 30.0})
    gp = regressor().fit(X[:45], y[:45]).condition_on(X[45:], y[45:])
    assert_allclose(gp.outlier_weights_, regressor().fit(X, y).outlier_weights_, rtol=0.05)
    assert outliers(gp) == [20, 52]


def test_unsupported_combinations_are_errors():
    with pytest.raises(ValueError, match=r"'noise_model'.*None with robust=True"):
        regressor(noise_model=QuadraticInjection()).fit(*data())
    with pytest.raises(ValueError, match="'robust'"):
        regressor(robust="yes").fit(*data())


# --- the share, the tails and the neighbours of outliers ------------------------------------------


def test_heavy_tails_lower_the_limit():
    X, y = data(120, {})
    truth = np.sin(6.0 * X[:, 0] + 0.1 * X[:, 1])
    heavy = y + 0.05 * np.random.RandomState(2).standard_t(1.5, 120)
    robust, plain = robust_and_plain(X, heavy)
    assert error(robust, X, truth) < 0.7 * error(plain, X, truth)
    x = [[0.3, 120.0]]
    for gp, is_full in ((robust_and_plain(X, y)[0], True), (robust, False)):
        mean, std = gp.predict(x, return_std=True, include_noise=True)
        assert (gp.condition_on(x, mean + 3.0 * std).outlier_weights_[-1] == 1.0) == is_full


def trend(kind, n=100, seed=0):
    """Return X, the function at X and at new places, whose places are Xs, and a generator."""
    rng = np.random.RandomState(seed)
    d = {"series": 0, "moving": 1, "still": 2}[kind]
    X, Xs = (np.column_stack([rng.uniform(size=(m, d)), np.arange(m) * n / m]) for m in (n, 200))
    if kind == "still":
        X[:, -1] = Xs[:, -1] = 0.0
    f, fs = (np.sin(0.15 * A[:, -1] + 3.0 * A[:, :-1].sum(axis=1)) for A in (X, Xs))
    return X, f, Xs, fs, rng


@pytest.mark.parametrize(
    ("kind", "signs", "size"),
    [("series", [1.0], 5.0), ("moving", [-1.0, 1.0], 500.0), ("still", [-1.0, 1.0], 5.0)],
)
@pytest.mark.parametrize("seed", [0, 1])
def test_up_to_a_fifth_of_outliers_hardly_matter(kind, signs, size, seed):
    X, f, Xs, fs, rng = trend(kind, seed=seed)
    bad = rng.permutation(100) < 19
    y = f + np.where(bad, size * rng.choice(signs, 100), 0.0) + 0.1 * rng.normal(size=100)
    robust, without = robust_and_plain(X, y)[0], robust_and_plain(X[~bad], y[~bad])[1]
    assert error(robust, Xs, fs) < 1.5 * error(without, Xs, fs)


@pytest.mark.parametrize(
    ("kind", "changed"),
    [("series", slice(50, 53)), ("moving", slice(94, 100)), ("series", slice(60, 100))],
)
def test_rows_beside_a_change_have_full_weight(kind, changed):
    X, f, _, _, rng = trend(kind)
    f[changed] += 5.0
    robust, plain = robust_and_plain(X, f + 0.1 * rng.normal(size=100))
    assert error(robust, X, f) < 1.01 * error(plain, X, f)


def test_rows_appended_after_a_change_have_full_weight():
    """The hyperparameters are held, and do not explain it: rows beyond are no outliers."""
    rng = np.random.RandomState(0)
    X = np.column_stack([rng.uniform(size=120), np.arange(120.0)])
    y = np.sin(6.0 * X[:, 0] + 0.05 * X[:, 1]) + 0.05 * rng.standard_normal(120)
    y[90:] += 10.0
    robust, plain = robust_and_plain(X[:60], y[:60])
    for i in range(60, 120):
        robust.partial_fit(X[i : i + 1], y[i : i + 1])
        plain.partial_fit(X[i : i + 1], y[i : i + 1])
    assert robust.outlier_weights_[90:].min() == 1.0
    assert robust.predict(X[95:]) == pytest.approx(plain.predict(X[95:]), abs=0.05)


# --- several places at equal times ----------------------------------------------------------------


def panel(n_sites=3, n=80, irregular=False):
    """Return X, f and noise of sites that are observed together, or each at its own times."""
    rng = np.random.default_rng(0)
    t, site = np.repeat(np.arange(float(n)), n_sites), np.tile(np.arange(float(n_sites)), n)
    if irregular:
        t = t + rng.uniform(0.0, 0.9, len(t))
    return np.column_stack([site, t]), np.sin(0.1 * t + 1.5 * site), 0.1 * rng.normal(size=len(t))


# name: size of an event at each site, by step and site
EVENTS = {
    "at all sites": lambda t, site: 5.0 * ((t >= 50) & (t < 54)),
    "of either sign": lambda t, site: 5.0 * ((t >= 50) & (t < 54)) * np.where(site == 1, -1.0, 1.0),
    "at one time": lambda t, site: 4.0 * (t == 50),
    "at one site": lambda t, site: 6.0 * ((t >= 50) & (t < 55) & (site == 2)),
    "until now": lambda t, site: 5.0 * (t >= 76),
}


def event_of(name, X):
    return EVENTS[name](np.floor(X[:, 1]), X[:, 0])


@pytest.mark.parametrize(
    ("name", "irregular"),
    [*((name, False) for name in EVENTS), ("at all sites", True), ("of either sign", True)],
)
def test_an_event_that_sites_see_together_is_no_outlier_in_any_order_of_rows(name, irregular):
    X, f, noise = panel(irregular=irregular)
    y = f + event_of(name, X) + noise
    rows = np.random.default_rng(1).permutation(len(X))
    robust, plain = robust_and_plain(X[rows], y[rows])
    event = event_of(name, X) != 0.0
    assert robust.outlier_weights_[event[rows]].min() == 1.0
    errors = [np.abs(gp.predict(X) - (y - noise))[event].max() for gp in (robust, plain)]
    assert errors[0] <= 1.05 * errors[1]


@pytest.mark.parametrize(
    ("n_sites", "name", "steps"),
    [(3, "at all sites", (40, 56)), (6, "at one site", (40, 56)), (3, "until now", (76, 80))],
)
def test_an_event_of_several_sites_told_row_by_row(n_sites, name, steps):
    X, f, noise = panel(n_sites)
    y = f + event_of(name, X) + noise
    first = 40 * n_sites
    gp = TimeVaryingGPRegressor(normalize_y=True, robust=True).fit(X[:first], y[:first])
    for i in range(n_sites * steps[0], n_sites * steps[1]):
        gp.partial_fit(X[i : i + 1], y[i : i + 1])
    event = event_of(name, gp.X_train_) != 0.0
    assert (gp.outlier_weights_[event] == 1.0).mean() > 0.9


@pytest.mark.parametrize(
    ("n_sites", "share", "irregular"), [(3, 0.03, True), (3, 0.08, False), (8, 0.05, True)]
)
def test_glitches_of_single_sites_are_outliers(n_sites, share, irregular):
    X, f, noise = panel(n_sites, 240 // n_sites, irregular)
    rng = np.random.default_rng(2)
    glitch = rng.uniform(size=len(X)) < share
    sizes = rng.choice([-1.0, 1.0], len(X)) * rng.uniform(3, 8, len(X))
    robust, plain = robust_and_plain(X, f + noise + np.where(glitch, sizes, 0.0))
    assert (robust.outlier_weights_ < 0.1)[glitch].mean() > 0.9
    assert error(robust, X, f) < 0.5 * error(plain, X, f)
