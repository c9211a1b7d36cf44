"""Quantiles and intervals of a transformed target."""

import pickle

import numpy as np
import pytest
from gaussian_process.cases import each
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import norm
from sklearn.base import clone
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.exceptions import NotFittedError
from sklearn.gaussian_process.kernels import RBF, Matern
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV, TimeSeriesSplit
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import PowerTransformer, QuantileTransformer, StandardScaler

from sktvbo import TimeVaryingGPRegressor
from sktvbo.gaussian_process import TransformedTargetGPRegressor

LOG = {"func": np.log, "inverse_func": np.exp}
# name: (parameters, ends of the range of the target)
TRANSFORMATIONS = {
    "log": (LOG, (0.0, np.inf)),
    "box-cox": ({"transformer": PowerTransformer("box-cox")}, (0.0, np.inf)),
    "yeo-johnson": ({"transformer": PowerTransformer("yeo-johnson")}, (-np.inf, np.inf)),
    "square root": ({"func": np.sqrt, "inverse_func": np.square}, (0.0, np.inf)),
    "reciprocal": ({"func": np.reciprocal, "inverse_func": np.reciprocal}, (0.0, np.inf)),
    "falling": (
        {"func": lambda y: -np.log(y), "inverse_func": lambda z: np.exp(-z)},
        (0.0, np.inf),
    ),
    "logit": (
        {"func": lambda y: np.log(y / (9 - y)), "inverse_func": lambda z: 9 / (1 + np.exp(-z))},
        (0.0, 9.0),
    ),
    "identity": ({}, (-np.inf, np.inf)),
    "ranks": (
        {"transformer": QuantileTransformer(n_quantiles=50, output_distribution="normal")},
        (0.0, 9.0),
    ),
}
every = pytest.mark.parametrize("name", TRANSFORMATIONS)
SHARES = np.array([0.01, 0.05, 0.3, 0.5, 0.9, 0.999])


def positive(n=60, seed=0, spread=0.5):
    """Return rows and a positive target below 9."""
    rng = np.random.RandomState(seed)
    X = np.column_stack([rng.uniform(size=n), np.arange(float(n))])
    z = np.sin(6.0 * X[:, 0] + 0.05 * X[:, 1]) + spread * rng.normal(size=n)
    return X, np.minimum(np.exp(z), 8.9)


def held(**options):
    options = {"optimizer": None, "noise_variance": 0.2, "normalize_y": True} | options
    return TimeVaryingGPRegressor(RBF(0.3), Matern(20.0), **options)


X, Y = positive()
NEW = np.column_stack([np.linspace(0.0, 1.0, 9), np.full(9, 60.0)])


@each
def test_quantiles_of_a_log_normal_target_are_a_closed_form(kind):
    gp = kind(RBF(0.3), Matern(20.0), optimizer=None, noise_variance=0.2, random_state=0)
    model = TransformedTargetGPRegressor(gp, **LOG).fit(X, Y)
    for include_noise in (True, False):
        m, s = clone(gp).fit(X, np.log(Y)).predict(NEW, True, include_noise=include_noise)
        found = model.predict_quantiles(NEW, SHARES, include_noise=include_noise)
        assert_allclose(found, np.exp(m[:, np.newaxis] + np.outer(s, norm.ppf(SHARES))), rtol=1e-9)
        low, high = model.predict_interval(NEW, 0.8, include_noise=include_noise)
        assert_allclose([low, high], np.exp([m + norm.ppf(0.1) * s, m + norm.ppf(0.9) * s]))
    assert_allclose(model.predict(NEW), np.exp(m))
    assert_allclose(model.predict(NEW), model.predict_quantiles(NEW, [0.5])[:, 0])
    average = model.predict_quantiles(NEW, (np.arange(5000) + 0.5) / 5000, include_noise=False)
    assert_allclose(average.mean(axis=1), np.exp(m + 0.5 * s**2), rtol=1e-3)


@every
def test_quantiles_rise_within_the_range_of_the_target(name):
    options, (low, high) = TRANSFORMATIONS[name]
    model = TransformedTargetGPRegressor(held(noise_variance=4.0), **options).fit(X, Y)
    values = model.predict_quantiles(NEW, SHARES)
    assert values.shape == (len(NEW), len(SHARES))
    assert np.all(np.diff(values, axis=1) >= -1e-12)
    assert np.all((values >= low) & (values <= high))
    ends = model.predict_interval(NEW, 0.98)
    assert_allclose(ends[0], values[:, 0])
    inside = model.predict(NEW)
    assert np.all((inside >= ends[0]) & (inside <= ends[1]))


@every
def test_a_quantile_within_the_range_is_the_transformed_one(name):
    """The probability of lower values of the target is that of the transformed target."""
    options, _ = TRANSFORMATIONS[name]
    X, y = positive(spread=0.1)
    model = TransformedTargetGPRegressor(held(noise_variance=0.02), **options).fit(X, y + 2.0)
    values = model.predict_quantiles(NEW, [0.4, 0.5, 0.6])
    z = model.transformer_.transform(values.reshape(-1, 1)).reshape(values.shape)
    mean, std = model.regressor_.predict(NEW, return_std=True, include_noise=True)
    below = norm.cdf((z.T - mean) / std).T
    expected = [0.4, 0.5, 0.6] if name not in ("reciprocal", "falling") else [0.6, 0.5, 0.4]
    assert_allclose(below, np.tile(expected, (len(NEW), 1)), atol=1e-6)


def test_beyond_the_range_of_a_square_root_is_zero():
    """The square of a negative value is positive, and no quantile."""
    gp = held(noise_variance=100.0)
    options, _ = TRANSFORMATIONS["square root"]
    model = TransformedTargetGPRegressor(gp, **options).fit(X, Y)
    assert np.all(model.regressor_.predict_quantiles(NEW, [0.05]) < -1.0)
    assert_allclose(model.predict_quantiles(NEW, [0.05]), 0.0, atol=1e-9)


def log_normal(seed, n=240, n_known=200):
    """Return rows and target to learn from, new rows, and the probability of an interval there."""
    rng = np.random.RandomState(seed)
    S, t = rng.uniform(size=(n, 1)), np.arange(float(n))
    K = RBF(0.3)(S) * Matern(40.0, nu=1.5)(t[:, np.newaxis])
    f = np.linalg.cholesky(K + 1e-9 * np.eye(n)) @ rng.normal(size=n)
    X, y = np.column_stack([S, t]), np.exp(f + 0.3 * rng.normal(size=n))
    order = rng.permutation(n)
    known, new = order[:n_known], order[n_known:]

    def coverage(low, high):
        low, high = (norm.cdf(np.log(end), f[new], 0.3) for end in (low, high))
        return np.mean(high - low)

    return X[known], y[known], X[new], coverage


def test_coverage_on_log_normal_data():
    """90 % intervals with known hyperparameters, over 30 draws: standard error 0.006."""
    options, found = {"noise_variance": 0.09, "optimizer": None}, []
    gp = TimeVaryingGPRegressor(RBF(0.3), Matern(40.0, nu=1.5), **options)
    for seed in range(30):
        X, y, new, coverage = log_normal(seed)
        model = TransformedTargetGPRegressor(gp, **LOG).fit(X, y)
        found.append(coverage(*model.predict_interval(new, 0.9)))
    assert_allclose(np.mean(found), 0.9, atol=0.02)


def test_coverage_with_a_learnt_transformation():
    """Box-Cox finds nearly a logarithm, and the same coverage."""
    gp, found = TimeVaryingGPRegressor(normalize_y=True), []
    for seed in range(3):
        X, y, new, coverage = log_normal(seed)
        models = [
            TransformedTargetGPRegressor(gp, **given)
            for given in (LOG, TRANSFORMATIONS["box-cox"][0])
        ]
        found.append([coverage(*model.fit(X, y).predict_interval(new, 0.9)) for model in models])
        assert abs(models[1].transformer_.lambdas_[0]) < 0.3
    assert_allclose(*np.mean(found, axis=0), atol=0.02)
    assert np.mean(found) > 0.82


def test_intervals_are_wide_where_the_target_is_large():
    model = TransformedTargetGPRegressor(held(), **LOG).fit(X, Y)
    low, high = model.predict_interval(NEW)
    assert np.corrcoef(high - low, model.predict(NEW))[0, 1] > 0.95


# --- as a scikit-learn estimator ------------------------------------------------------------------


def test_it_is_scikit_learns_with_other_methods():
    options, _ = TRANSFORMATIONS["box-cox"]
    one = TransformedTargetGPRegressor(held(), **options).fit(X, Y)
    other = TransformedTargetRegressor(held(), **options).fit(X, Y)
    assert_allclose(one.predict(NEW), other.predict(NEW))
    assert one.score(X, Y) == other.score(X, Y)
    assert one.get_params().keys() == other.get_params().keys()
    assert one.n_features_in_ == other.n_features_in_ == 2


def test_pipelines_and_grid_search():
    scale = ColumnTransformer([("inputs", StandardScaler(), [0])], remainder="passthrough")
    model = TransformedTargetGPRegressor(held(), transformer=PowerTransformer("box-cox"))
    grid = {
        "target__regressor__noise_variance": [0.05, 0.2],
        "target__transformer__method": ["box-cox", "yeo-johnson"],
    }
    search = GridSearchCV(
        Pipeline([("scale", scale), ("target", model)]), grid, cv=TimeSeriesSplit(3)
    )
    best = search.fit(X, Y).best_estimator_
    assert best[-1].regressor.noise_variance == search.best_params_[next(iter(grid))]
    low, high = best[-1].predict_interval(best[:-1].transform(NEW))
    assert np.all((low < best.predict(NEW)) & (best.predict(NEW) < high))


def test_copies_and_pickles_predict_the_same():
    model = TransformedTargetGPRegressor(held(), **LOG).fit(X, Y)
    expected = model.predict_quantiles(NEW, SHARES)
    assert_array_equal(pickle.loads(pickle.dumps(model)).predict_quantiles(NEW, SHARES), expected)
    new = clone(model)
    assert new.regressor is not model.regressor
    with pytest.raises(NotFittedError):
        new.predict_interval(NEW)
    assert_array_equal(new.fit(X, Y).predict_quantiles(NEW, SHARES), expected)
    assert not hasattr(model.regressor, "_gp")  # a clone of it is fitted


def test_data_frames_with_dates():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"x": X[:, 0], "day": pandas.date_range("2026-01-01", periods=60)})
    model = TransformedTargetGPRegressor(held(time_unit="D"), **LOG)
    model.fit(frame, pandas.Series(Y, name="flow"))
    assert list(model.feature_names_in_) == ["x", "day"]
    low, high = model.predict_interval(frame.tail(3))
    known = TransformedTargetGPRegressor(held(), **LOG).fit(X, Y).predict_interval(X[-3:])
    assert_allclose([low, high], known)


def test_known_variances_are_those_of_the_transformed_target():
    variance = np.linspace(0.0, 1.0, 60)
    model = TransformedTargetGPRegressor(held(), **LOG).fit(X, Y, y_variance=variance)
    expected = held().fit(X, np.log(Y), variance).predict_interval(NEW)
    assert_allclose(np.log(model.predict_interval(NEW)), expected)


# --- errors ---------------------------------------------------------------------------------------

BAD_FITS = {
    "another regressor": ({"regressor": LinearRegression()}, Y, "must be a regressor of sktvbo"),
    "none": ({"regressor": None}, Y, "such as TimeVaryingGPRegressor"),
    "not monotone": (
        {"func": lambda y: (y - 1.0) ** 2, "inverse_func": np.sqrt, "check_inverse": False},
        Y,
        "The transformed y must be monotone in y. Got ",
    ),
    "zero": ({"transformer": PowerTransformer("box-cox")}, Y - Y.min(), "strictly positive"),
    "two functions": ({"func": np.log}, Y, "inverse_func"),
}


@pytest.mark.parametrize("name", BAD_FITS)
def test_a_fit_that_fails_changes_nothing(name):
    options, y, match = BAD_FITS[name]
    model = TransformedTargetGPRegressor(held(), **LOG).fit(X, Y)
    expected = model.predict_interval(NEW)
    model.set_params(**{"func": None, "inverse_func": None, **options})
    with pytest.raises((ValueError, TypeError), match=match):
        model.fit(X, y)
    assert_array_equal(model.predict_interval(NEW), expected)


@pytest.mark.parametrize("shares", [0.5, [0.0, 0.5], [0.5, 1.0], [np.nan], [[0.5]], "half"])
def test_quantiles_are_probabilities(shares):
    model = TransformedTargetGPRegressor(held(), **LOG).fit(X, Y)
    for estimator in (model.regressor_, model):
        with pytest.raises(ValueError, match="quantiles must be"):
            estimator.predict_quantiles(NEW, shares)
    for level in (0.0, 1.0, "high"):
        with pytest.raises(ValueError, match="level must be a float in the range"):
            model.predict_interval(NEW, level)
