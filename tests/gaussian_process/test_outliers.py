"""Weights of outliers: against a dense reference, in updates, and for unusual data."""

import copy
import warnings
from itertools import cycle

import numpy as np
import pytest
from scipy.stats import norm, t
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


def data(n=60, outliers=SIZES, seed=0):
    rng = np.random.RandomState(seed)
    X = np.column_stack([rng.uniform(size=n), np.arange(float(n))])
    y = np.sin(6.0 * X[:, 0] + 0.1 * X[:, 1]) + 0.05 * rng.normal(size=n)
    for i, size in outliers.items():
        y[i] += size
    return X, y


def regressor(**options):
    return TimeVaryingGPRegressor(*KERNELS, **HELD | {"robust": True} | options)


def limit(n, number=5.0):
    return t.isf(norm.sf(number), n)


def test_likelihood_and_its_gradient_have_the_weights():
    X, y = data()
    gp = regressor(optimizer="fmin_l_bfgs_b").fit(X, y)
    w = gp.outlier_weights_
    K = gp.signal_variance_ * gp.spatial_kernel_(X[:, :1]) * gp.temporal_kernel_(X[:, 1:])
    A = K + np.diag(gp.noise_variance_ / w)
    value = -0.5 * (y @ np.linalg.solve(A, y) + np.linalg.slogdet(A)[1] + 60 * np.log(2 * np.pi))
    assert gp.log_marginal_likelihood_value_ == pytest.approx(value, rel=1e-8)
    theta, h = gp.theta_, 1e-5
    _, gradient = gp.log_marginal_likelihood(theta, eval_gradient=True)
    for i, step in enumerate(h * np.eye(len(theta))):
        ends = [gp.log_marginal_likelihood(theta + s * step) for s in (1, -1)]
        assert gradient[i] == pytest.approx((ends[0] - ends[1]) / (2 * h), abs=1e-4)


def test_without_outliers_the_posterior_is_that_of_plain_regression():
    X, y = data(outliers={})
    plain, robust = (
        TimeVaryingGPRegressor(normalize_y=True, robust=r).fit(X, y) for r in (False, True)
    )
    assert (robust.outlier_weights_ == 1.0).all()
    np.testing.assert_array_equal(robust.theta_, plain.theta_)
    np.testing.assert_array_equal(robust.predict(X), plain.predict(X))


def fresh(gp):
    """Return the posterior of the same rows and weights, computed from these alone."""
    rows, noise = gp._gp.rows, gp.noise_variance_ * gp._gp.rows.scale**2
    variance = noise / gp.outlier_weights_
    plain = TimeVaryingGPRegressor(*KERNELS, **HELD).fit(gp.X_train_[:1], gp.y_train_[:1])
    zero = plain.condition_on(rows.X, rows.y, variance, total_variance=True)
    return zero.without([0])


@pytest.mark.parametrize("size", [0.0, 40.0])
def test_append_and_drop_agree_with_a_fresh_fit_with_the_same_weights(size):
    X, y = data()
    gp = regressor().fit(X[:50], y[:50])
    for i in range(50, 60):
        gp = gp.condition_on(X[i : i + 1], y[i : i + 1] + size * (i == 55))
        assert len(gp.outlier_weights_) == i + 1
        np.testing.assert_allclose(gp.predict(X), fresh(gp).predict(X), atol=1e-8)
    assert (gp.outlier_weights_[55] < 1e-3) == (size > 0.0)
    kept = np.delete(np.arange(60), [3, 20, 58])
    dropped = gp.without([3, 20, 58])
    np.testing.assert_array_equal(dropped.outlier_weights_, gp.outlier_weights_[kept])
    np.testing.assert_allclose(dropped.predict(X), fresh(dropped).predict(X), atol=1e-8)
    refitted = regressor(optimizer="fmin_l_bfgs_b").fit(X, y).refit()
    assert set(np.flatnonzero(refitted.outlier_weights_ < 0.02)) == {4, 20, 33}


def test_the_weight_of_a_new_row_follows_from_its_prediction():
    X, y = data(outliers={})
    gp = regressor().fit(X, y)
    x = np.array([[0.3, 60.0]])
    mean, std = gp.predict(x, return_std=True)
    v, L = std[0] ** 2 + 0.05**2, limit(61)
    for z in (0.0, 4.9, -6.5, 20.0, 1e5):
        excess = max(abs(z) - L, 0.0)
        new = gp.condition_on(x, mean + z * np.sqrt(v))
        # The next row could show a change: until then the influence is at most that of L.
        huber = 0.05**2 / (0.05**2 + v * excess / L)
        assert new.outlier_weights_[-1] == pytest.approx(huber)
        gain = std[0] ** 2 / v
        assert abs(new.predict(x) - mean)[0] == pytest.approx(gain * min(abs(z), L) * np.sqrt(v))
        new = new.condition_on(x + 1.0, new.predict(x + 1.0))
        expected = 0.05**2 / (0.05**2 + v * excess**2)
        assert new.outlier_weights_[-2:] == pytest.approx([expected, 1.0])
        np.testing.assert_allclose(new.predict(X), fresh(new).predict(X), atol=1e-8)
    later = gp.partial_fit(x, mean + 10.0).partial_fit(x + 1.0, mean)
    assert later.outlier_weights_[-2] < 1e-4
    assert len(gp.y_train_) == 62


@pytest.mark.parametrize(
    ("sizes", "weights"),
    [
        ([6.0, 60.0, 40.0], ([0], [0, 0], [0, 1, 1])),
        ([6.0, -6.0, 6.0], ([0], [0, 0], [0, 0, 0])),
        ([6.0, 12.0], ([0], [1, 1])),
        ([6.0, 6.0, 6.0], ([0], [1, 1], [1, 1, 1])),
    ],
)
def test_two_or_three_similar_outliers_are_a_change(sizes, weights):
    X, y = data(outliers={})
    X[40:43, 0] = 0.3
    gp = regressor().fit(X[:40], y[:40])
    for i, size, expected in zip(range(40, 43), sizes, weights):
        gp = gp.condition_on(X[i : i + 1], y[i : i + 1] + size)
        found = gp.outlier_weights_[40:]
        assert ((found == 1.0) == np.array(expected, dtype=bool)).all()
    np.testing.assert_allclose(gp.predict(X), fresh(gp).predict(X), atol=1e-8)
    # A search, which weighs all rows, does not undo this.
    learning = copy.copy(gp)
    learning.optimizer = "fmin_l_bfgs_b"
    assert (learning.refit().outlier_weights_[40:] == 1.0)[found == 1.0].all()


def test_two_similar_outliers_of_a_fit_are_no_change():
    X, y = data(outliers={30: 9.0, 31: 9.0})
    assert np.flatnonzero(regressor().fit(X, y).outlier_weights_ < 1.0).tolist() == [30, 31]


def test_a_fit_searches_until_weights_and_hyperparameters_agree():
    rng = np.random.RandomState(3)
    X = np.arange(100.0)[:, np.newaxis]
    truth = np.sqrt(2.0) * np.sin(0.2 * X[:, 0])
    y, bad = truth + 0.1 * rng.normal(size=100), rng.choice(100, 10, replace=False)
    y[bad] += 0.1 * rng.choice([-1.0, 1.0], 10) * 10.0 ** rng.uniform(np.log10(8.0), 2.0, 10)
    gp = TimeVaryingGPRegressor(normalize_y=True, robust=True).fit(X, y)
    assert gp.noise_std_ < 0.15
    assert np.sqrt(np.mean((gp.predict(X) - truth) ** 2)) < 0.08
    weights = gp.refit().outlier_weights_
    np.testing.assert_allclose(gp.outlier_weights_, weights, atol=0.1)


def test_location_and_scale_follow_the_rows_with_full_weight():
    X, y = data()
    gp = regressor(normalize_y=True).fit(X, y)
    full = gp.outlier_weights_ == 1.0
    rows = gp.condition_on(X[:1] + 60.0, [200.0], restandardize=True)._gp.rows
    assert rows.location == pytest.approx(y[full].mean())
    assert rows.scale == pytest.approx(y[full].std())


@pytest.mark.parametrize("mean_prior_std", [0.0, 2.0])
def test_the_kalman_filter_has_the_weights_of_dense_regression(mean_prior_std):
    X, y = data(80)
    truth = np.sin(6.0 * X[:, 0] + 0.1 * X[:, 1])
    X[:, 0] = np.arange(80) % 4 / 3.0
    y += np.sin(6.0 * X[:, 0] + 0.1 * X[:, 1]) - truth
    options = {"mean_prior_std": mean_prior_std, "normalize_y": True}
    pair = [
        regressor(**options, solver=solver).fit(X[:70], y[:70]) for solver in ("dense", "kalman")
    ]
    assert type(pair[1]._gp).__name__ == "Filter"

    def compare(a, b):
        np.testing.assert_allclose(b.outlier_weights_, a.outlier_weights_, rtol=1e-8)
        places = X[::3] + np.array([0.0, 0.4])
        expected = a.predict(places, return_std=True)
        np.testing.assert_allclose(b.predict(places, return_std=True), expected, atol=1e-8)

    compare(*pair)
    assert np.flatnonzero(pair[1].outlier_weights_ < 0.01).tolist() == [4, 20, 33]
    for i, size in zip(range(70, 80), [0.0, 30.0, 0.0, 0.0, -9.0, -9.0, -9.0, 0.0, 0.0, 0.0]):
        pair = [gp.condition_on(X[i : i + 1], y[i : i + 1] + size) for gp in pair]
        compare(*pair)
    compare(*(gp.without([3, 20, 71]) for gp in pair))


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
    later = X[-1] + np.array([[0.0, 1.0], [0.0, 2.0], [0.0, 3.0], [0.0, 4.0]])
    options = HELD | {"robust": True, "inducing": np.vstack([X, later])}
    sparse = SparseTimeVaryingGPRegressor(*KERNELS, **options).fit(X, y)
    dense = regressor().fit(X, y)
    places = X + np.array([0.0, 0.4])
    for row, size in zip(later[:, np.newaxis], (0.0, 30.0, -9.0, -9.0)):
        np.testing.assert_allclose(sparse.outlier_weights_, dense.outlier_weights_, rtol=1e-6)
        expected = dense.predict(places, return_std=True)
        np.testing.assert_allclose(sparse.predict(places, return_std=True), expected, atol=1e-6)
        value = dense.predict(row) + size
        sparse, dense = (gp.condition_on(row, value) for gp in (sparse, dense))
    np.testing.assert_allclose(sparse.outlier_weights_, dense.outlier_weights_, rtol=1e-6)


@pytest.mark.slow
def test_sparse_regression_learns_without_the_outliers():
    rng = np.random.RandomState(0)
    X = np.column_stack([rng.uniform(size=800), np.linspace(0.0, 20.0, 800)])
    truth = np.sin(6.0 * X[:, 0] + X[:, 1])
    y, bad = truth + 0.1 * rng.normal(size=800), np.arange(7, 800, 40)
    y[bad] += rng.choice([-1.0, 1.0], len(bad)) * rng.uniform(3.0, 30.0, len(bad))
    options = {"n_inducing": 150, "inducing": "greedy", "normalize_y": True}
    gp = SparseTimeVaryingGPRegressor(**options, robust=True, random_state=0).fit(X, y)
    assert np.flatnonzero(gp.outlier_weights_ < 0.5).tolist() == bad.tolist()
    assert 0.09 < gp.noise_std_ < 0.14
    assert np.sqrt(np.mean((gp.predict(X) - truth) ** 2)) < 0.05
    gp.partial_fit([[X[0, 0], 21.0]], [50.0])
    assert gp.outlier_weights_[-1] < 0.01


@pytest.mark.parametrize("fitted", [False, True])
def test_rows_are_weighted_as_at_the_fit_until_the_next_search(fitted):
    X, y = data()
    (X, y), (new, value) = (X[:-1], y[:-1]), (X[-1:], y[-1:] + 50.0)
    gp, same = (regressor(robust=fitted).fit(X, y) for _ in range(2))
    gp.set_params(robust=not fitted).partial_fit(new, value)
    np.testing.assert_allclose(gp.predict(X), same.partial_fit(new, value).predict(X))
    searched = gp.set_params(optimizer="fmin_l_bfgs_b").refit()
    assert hasattr(searched, "outlier_weights_") is not fitted
    if not fitted:
        outliers = np.flatnonzero(searched.outlier_weights_ < 0.1)
        np.testing.assert_array_equal(outliers, [4, 20, 33, 59])


def test_few_rows_have_weight_1():
    X, y = data(9, {4: 100.0})
    with pytest.warns(ModelWarning, match="no effect with 9 rows"):
        gp = regressor(optimizer="fmin_l_bfgs_b", normalize_y=True).fit(X, y)
    assert (gp.outlier_weights_ == 1.0).all()
    X, y = data(10, {4: 100.0})
    gp = gp.condition_on(X[9:], y[9:], restandardize=True)
    assert np.flatnonzero(gp.outlier_weights_ < 1e-3).tolist() == [4]


def test_more_than_a_quarter_of_outliers_have_weight_1():
    X, y = data(outliers={i: (-1) ** (i // 3) * 50.0 for i in range(0, 60, 3)})
    with pytest.warns(ModelWarning, match="more than a quarter") as found:
        gp = regressor().fit(X, y)
    assert len([w for w in found if "robust" in str(w.message)]) == 1
    assert (gp.outlier_weights_ == 1.0).all()


def test_the_largest_of_too_many_outliers_have_small_weights():
    X, y = data(20, {})
    gp = regressor().fit(X[:14], y[:14])
    for i, size in enumerate([20.0, -30.0, 3.0, -40.0, 50.0, -60.0], 14):
        gp = gp.condition_on(X[i : i + 1], y[i : i + 1] + size)
    assert np.flatnonzero(gp.outlier_weights_ < 1.0).tolist() == [14, 15, 17, 18, 19]
    np.testing.assert_allclose(gp.predict(X), fresh(gp).predict(X), atol=1e-8)


@pytest.mark.parametrize("n", [2, 30])
@pytest.mark.parametrize("optimizer", [None, "fmin_l_bfgs_b"])
def test_constant_y_and_two_observations_have_weight_1(n, optimizer):
    X, _ = data(n, {})
    gp = regressor(normalize_y=True, optimizer=optimizer).fit(X, np.full(n, 3.0))
    assert (gp.outlier_weights_ == 1.0).all()
    np.testing.assert_allclose(gp.predict(X), 3.0)
    gp.condition_on(X[:1] + 1.0, [3.0]).refit()


@pytest.mark.parametrize("size", [1e9, 1e60, -1e90])
def test_a_reading_of_any_size_has_no_influence(size):
    X, y = data(outliers={})
    gp = regressor().fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        new = gp.condition_on([[0.3, 60.0]], [size])
        limited = gp.condition_on([[0.3, 60.0]], gp.predict([[0.3, 60.0]]) + np.sign(size))
        np.testing.assert_allclose(new.predict(X), limited.predict(X), atol=1e-6)
        new = new.condition_on([[0.3, 61.0]], gp.predict([[0.3, 61.0]])).without([60, 61])
    np.testing.assert_allclose(new.predict(X), gp.predict(X), atol=1e-6)
    y[20] = size
    again = regressor(normalize_y=True, optimizer="fmin_l_bfgs_b").fit(X, y)
    assert again.outlier_weights_[20] < 1e-10
    assert np.abs(again.predict(X[20:21])[0]) < 3.0


def test_heavy_tails_lower_the_limit():
    X, y = data(120, {})
    y += 0.05 * np.random.RandomState(2).standard_t(1.5, 120)
    truth = np.sin(6.0 * X[:, 0] + 0.1 * X[:, 1])
    plain, robust = (
        TimeVaryingGPRegressor(normalize_y=True, robust=r).fit(X, y) for r in (False, True)
    )
    rows = robust._gp.rows
    assert rows.heavy_tails
    assert limit(120, 2.0) < 2.1 < limit(120)
    excess = (np.abs(rows.scores) > limit(120, 2.0)) & (np.abs(rows.scores) < limit(120))
    assert (robust.outlier_weights_[excess] < 1.0).any()
    errors = [np.sqrt(np.mean((gp.predict(X) - truth) ** 2)) for gp in (plain, robust)]
    assert errors[1] < 0.7 * errors[0]


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
    ("kind", "outliers"), [("series", "up"), ("moving", "far"), ("still", "both")]
)
def test_up_to_a_fifth_of_outliers_hardly_matter(kind, outliers):
    for seed in range(2):
        X, f, Xs, fs, rng = trend(kind, seed=seed)
        bad = rng.permutation(100) < 19
        signs = np.ones(100) if outliers == "up" else rng.choice([-1.0, 1.0], 100)
        y = (
            f
            + 0.1 * rng.normal(size=100)
            + np.where(bad, signs * (5.0 if outliers != "far" else 500.0), 0.0)
        )
        without, robust = (
            TimeVaryingGPRegressor(normalize_y=True, robust=r).fit(X[rows], y[rows])
            for r, rows in ((False, ~bad), (True, slice(None)))
        )
        errors = [np.sqrt(np.mean((gp.predict(Xs) - fs) ** 2)) for gp in (without, robust)]
        assert errors[1] < 1.5 * errors[0]


@pytest.mark.parametrize(
    ("kind", "changed"),
    [("series", slice(50, 53)), ("moving", slice(94, 100)), ("series", slice(60, 100))],
)
def test_rows_beside_a_change_have_full_weight(kind, changed):
    X, f, _, _, rng = trend(kind)
    f[changed] += 5.0
    y = f + 0.1 * rng.normal(size=100)
    plain, robust = (
        TimeVaryingGPRegressor(normalize_y=True, robust=r).fit(X, y) for r in (False, True)
    )
    errors = [np.sqrt(np.mean((gp.predict(X) - f) ** 2)) for gp in (plain, robust)]
    assert errors[1] < 1.01 * errors[0]


@pytest.mark.parametrize("n_dims", [0, 2])
def test_events_in_a_constant_y_are_no_outliers(n_dims):
    rng = np.random.RandomState(0)
    X = np.column_stack([rng.uniform(size=(200, n_dims)), np.arange(200.0)])
    y = (rng.permutation(200) < 29) * 1.0
    with warnings.catch_warnings():
        warnings.filterwarnings("error", "y is constant|robust", ModelWarning)
        gp = TimeVaryingGPRegressor(normalize_y=True, robust=True).fit(X, y)
    assert (gp.outlier_weights_ == 1.0).all()
    assert np.mean(gp.predict(X)) == pytest.approx(0.145, abs=0.01)
    gp = regressor(normalize_y=True).fit(X[:100], y[:100])
    for i in range(100, 110):
        gp = gp.condition_on(X[i : i + 1], [float(i % 4 == 0)])
    assert (gp.outlier_weights_ == 1.0).all()


@pytest.mark.parametrize("outliers", [{4: 9.0}, {4: -1e6}, {2: 90.0, 12: -4.0, 25: 1000.0}])
def test_outliers_in_a_constant_y_are_found(outliers):
    X, _ = data(30, {})
    y = np.full(30, 3.0)
    y[list(outliers)] = list(outliers.values())
    gp = TimeVaryingGPRegressor(normalize_y=True, robust=True).fit(X, y)
    assert np.flatnonzero(gp.outlier_weights_ < 0.01).tolist() == list(outliers)
    np.testing.assert_allclose(gp.predict(X), 3.0, atol=1e-2)
    gp = regressor(normalize_y=True).fit(X, np.full(30, 3.0)).condition_on(X[-1:] + 1.0, [50.0])
    assert gp.condition_on(X[-1:] + 2.0, [3.0]).outlier_weights_[-2] < 0.01


def test_several_rows_with_an_outlier_have_the_weights_of_a_fit():
    X, y = data(outliers={20: -50.0, 52: 30.0})
    found = regressor().fit(X[:45], y[:45]).condition_on(X[45:], y[45:]).outlier_weights_
    np.testing.assert_allclose(found, regressor().fit(X, y).outlier_weights_, rtol=0.05)
    assert np.flatnonzero(found < 1.0).tolist() == [20, 52]


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (regressor(noise_model=QuadraticInjection()), "'noise_model'.*None with robust=True"),
        (regressor(robust="yes"), "'robust'"),
    ],
)
def test_unsupported_combinations_are_errors(model, message):
    with pytest.raises(ValueError, match=message):
        model.fit(*data())


def test_rows_appended_after_a_change_have_full_weight():
    """The hyperparameters are held, and do not explain it: rows beyond are no outliers."""
    rng = np.random.RandomState(0)
    X = np.column_stack([rng.uniform(size=120), np.arange(120.0)])
    y = np.sin(6.0 * X[:, 0] + 0.05 * X[:, 1]) + 0.05 * rng.standard_normal(120)
    y[90:] += 10.0
    robust, plain = (
        TimeVaryingGPRegressor(normalize_y=True, robust=robust).fit(X[:60], y[:60])
        for robust in (True, False)
    )
    for i in range(60, 120):
        robust.partial_fit(X[i : i + 1], y[i : i + 1])
        plain.partial_fit(X[i : i + 1], y[i : i + 1])
    assert robust.outlier_weights_[90:].min() == 1.0
    assert robust.predict(X[95:]) == pytest.approx(plain.predict(X[95:]), abs=0.05)


# --- several places at equal times ----------------------------------------------------------------


def panel(n_sites=3, n=80, irregular=False, seed=0):
    """Return X, f and noise of sites that are observed together, or each at its own times."""
    rng = np.random.default_rng(seed)
    t, site = np.repeat(np.arange(float(n)), n_sites), np.tile(np.arange(float(n_sites)), n)
    if irregular:
        t = t + rng.uniform(0.0, 0.9, len(t))
    return np.column_stack([site, t]), np.sin(0.1 * t + 1.5 * site), 0.1 * rng.normal(size=len(t))


# name: size of an event at each site, by time t and site
EVENTS = {
    "at all sites": lambda t, site: 5.0 * ((t >= 50) & (t < 54)),
    "of either sign": lambda t, site: 5.0 * ((t >= 50) & (t < 54)) * np.where(site == 1, -1.0, 1.0),
    "at one time": lambda t, site: 4.0 * ((t >= 50) & (t < 51)),
    "at one site": lambda t, site: 6.0 * ((t >= 50) & (t < 55) & (site == 2)),
    "until now": lambda t, site: 5.0 * (t >= 76),
}


def largest_error(gp, X, f):
    return np.abs(gp.predict(X) - f).max()


@pytest.mark.parametrize(
    ("name", "order"), [*zip(EVENTS, cycle(["in time", "by site", "at random"]))]
)
def test_an_event_that_sites_see_together_is_no_outlier(name, order):
    X, f, noise = panel()
    t, site = X.T[::-1]
    f = f + EVENTS[name](t, site)
    rng = np.random.default_rng(1)
    orders = {"in time": t, "by site": site, "at random": rng.uniform(size=len(t))}
    those = np.argsort(orders[order], kind="stable")
    X, y = X[those], (f + noise)[those]
    gp = TimeVaryingGPRegressor(normalize_y=True, robust=True).fit(X, y)
    event = EVENTS[name](*X.T[::-1]) != 0.0
    assert gp.outlier_weights_[event].min() == 1.0
    plain = TimeVaryingGPRegressor(normalize_y=True).fit(X, y)
    assert largest_error(gp, X[event], f[those][event]) <= 1.05 * largest_error(
        plain, X[event], f[those][event]
    )


@pytest.mark.parametrize("event", ["at all sites", "of either sign"])
def test_an_event_of_sites_that_are_observed_at_their_own_times_is_no_outlier(event):
    X, f, noise = panel(irregular=True)
    f = f + EVENTS[event](np.floor(X[:, 1]), X[:, 0])
    gp = TimeVaryingGPRegressor(normalize_y=True, robust=True).fit(X, f + noise)
    assert gp.outlier_weights_[EVENTS[event](np.floor(X[:, 1]), X[:, 0]) != 0.0].min() == 1.0


@pytest.mark.parametrize(
    ("n_sites", "event"), [(3, "at all sites"), (6, "at one site"), (3, "until now")]
)
def test_an_event_of_several_sites_told_row_by_row(event, n_sites):
    X, f, noise = panel(n_sites)
    f = f + EVENTS[event](X[:, 1], X[:, 0])
    first, last = 40 * n_sites, 56 * n_sites
    gp = TimeVaryingGPRegressor(normalize_y=True, robust=True).fit(X[:first], (f + noise)[:first])
    start = first if event != "until now" else 76 * n_sites
    for i in range(start, min(last, len(X)) if event != "until now" else len(X)):
        gp.partial_fit(X[i : i + 1], (f + noise)[i : i + 1])
    known = EVENTS[event](gp.X_train_[:, 1], gp.X_train_[:, 0]) != 0.0
    assert (gp.outlier_weights_[known] == 1.0).mean() > 0.9


@pytest.mark.parametrize(
    ("n_sites", "share", "irregular"), [(3, 0.03, True), (3, 0.08, False), (8, 0.05, True)]
)
def test_glitches_of_single_sites_are_outliers(n_sites, share, irregular):
    X, f, noise = panel(n_sites, 240 // n_sites, irregular)
    rng = np.random.default_rng(2)
    glitch = rng.uniform(size=len(X)) < share
    y = f + noise + np.where(glitch, rng.choice([-1.0, 1.0], len(X)) * rng.uniform(3, 8, len(X)), 0)
    gp = TimeVaryingGPRegressor(normalize_y=True, robust=True).fit(X, y)
    plain = TimeVaryingGPRegressor(normalize_y=True).fit(X, y)
    assert (gp.outlier_weights_ < 0.1)[glitch].mean() > 0.9
    assert np.std(gp.predict(X) - f) < 0.5 * np.std(plain.predict(X) - f)
