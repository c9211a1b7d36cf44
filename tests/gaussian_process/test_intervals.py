"""Predictions of new observations, intervals, and their coverage."""

import pickle

import numpy as np
import pytest
from gaussian_process.cases import data, each
from numpy.testing import assert_allclose
from scipy.stats import norm
from sklearn.gaussian_process.kernels import RBF, Matern

from sktvbo import SparseTimeVaryingGPRegressor, TimeVaryingGPRegressor
from sktvbo.gaussian_process import QuadraticInjection
from sktvbo.gaussian_process._intervals import predictive


@each
@pytest.mark.parametrize("normalize_y", [False, True])
def test_noise_is_added_in_the_units_of_y(kind, normalize_y):
    X, y = data()
    options = {"noise_variance": 0.3, "optimizer": None, "normalize_y": normalize_y}
    gp = kind(RBF(0.5), RBF(3.0), noise_model=QuadraticInjection(0.2), **options)
    gp.fit(X, 50.0 * y)
    new, noise = data(9, seed=1)[0], 0.3 * (np.std(50.0 * y) if normalize_y else 1.0) ** 2
    mean, std = gp.predict(new, return_std=True)
    assert_allclose(gp.predict(new, include_noise=True), mean)
    found = gp.predict(new, return_std=True, include_noise=True)
    assert_allclose(found, (mean, np.sqrt(std**2 + noise)))
    cov, noisy = (gp.predict(new, False, True, include_noise=n)[1] for n in (False, True))
    assert_allclose(noisy, cov + noise * np.eye(9))


@each
def test_the_interval_has_its_probability(kind):
    X, y = data()
    gp = kind(RBF(0.5), RBF(3.0), optimizer=None, noise_variance=0.1).fit(X, y)
    for include_noise in (False, True):
        mean, std = gp.predict(X, return_std=True, include_noise=include_noise)
        for level in (0.5, 0.9, 0.95):
            low, high = gp.predict_interval(X, level, include_noise=include_noise)
            assert_allclose(norm.cdf(high, mean, std) - norm.cdf(low, mean, std), level)
            assert_allclose(low + high, 2.0 * mean)
    default = gp.predict_interval(X)
    assert_allclose(default, gp.predict_interval(X, 0.9, include_noise=True))


@pytest.mark.parametrize("level", [0.0, 1.0, -0.5, 90, "high", np.nan])
def test_levels_are_probabilities(level):
    gp = TimeVaryingGPRegressor(optimizer=None).fit(*data())
    with pytest.raises(ValueError, match=r"level must be a float in the range \(0, 1\)"):
        gp.predict_interval(data()[0], level)
    with pytest.raises(ValueError, match=r"include_noise must be True or False\. Got 'yes'"):
        gp.predict(data()[0], include_noise="yes")


def simulated(seed, n, n_new=150):
    """Draw from the model: rows up to t = 10, and new places in space and in the future.

    With the exact mean and standard deviation of observations there, which are normal.
    """
    rng = np.random.RandomState(seed)
    X = np.column_stack([rng.uniform(size=(n + 2 * n_new, 2)), np.zeros(n + 2 * n_new)])
    X[:, 2] = rng.uniform(0.0, 10.0, len(X))
    X[n + n_new :, 2] = rng.uniform(10.0, 12.0, n_new)
    K = Matern(0.2, nu=2.5)(X[:, :2]) * Matern(1.0, nu=1.5)(X[:, 2:]) + 0.04 * np.eye(len(X))
    y = np.linalg.cholesky(K[:n, :n]) @ rng.normal(size=n)
    gains = np.linalg.solve(K[:n, :n], K[:n, n:])
    std = np.sqrt(K.diagonal()[n:] - np.sum(gains * K[:n, n:], axis=0))
    return X[:n], y, X[n:], y @ gains, std


@pytest.mark.parametrize(
    ("kind", "n"),
    [
        (TimeVaryingGPRegressor, 200),
        pytest.param(SparseTimeVaryingGPRegressor, 600, marks=pytest.mark.slow),
    ],
)
def test_coverage_on_simulated_data(kind, n):
    """50 draws, learnt from: within two points of nominal, in space and in the future.

    The probability of each interval is known, given the rows, and needs no counting.
    """
    levels, found = (0.5, 0.9, 0.95), []
    for seed in range(50):
        X, y, new, mean, std = simulated(seed, n)
        gp = kind(random_state=0).fit(X, y)
        sides = [norm.cdf(gp.predict_interval(new, level), mean, std) for level in levels]
        found.append([(high - low).reshape(2, -1).mean(axis=1) for low, high in sides])
    assert np.std(found, axis=0).max() / np.sqrt(50) < 0.007
    coverage = np.mean(found, axis=0).T
    if kind is SparseTimeVaryingGPRegressor:
        # In space these points do not suffice: their residual counts as noise.
        assert np.all((coverage[0] >= levels) & (coverage[0] <= np.array(levels) + 0.06))
        coverage[0] = levels
    assert_allclose(coverage, [levels, levels], atol=0.02)
    # The intervals of f alone are too narrow for observations.
    low, high = norm.cdf(gp.predict_interval(new, include_noise=False), mean, std)
    assert np.mean(high - low) < 0.88


def few_rows(seed, n, n_new=40):
    """Draw as `simulated` does, with lengthscales and noise that are drawn as well."""
    rng = np.random.RandomState(seed)
    length, duration, noise = np.exp(
        rng.uniform(np.log([0.2, 1.0, 1e-3]), np.log([1.0, 10.0, 0.3]))
    )
    X = np.column_stack([rng.uniform(size=n + n_new), rng.uniform(0.0, 10.0, n + n_new)])
    X[-n_new // 2 :, 1] = rng.uniform(10.0, 12.0, n_new // 2)
    K = Matern(length, nu=2.5)(X[:, :1]) * Matern(duration, nu=1.5)(X[:, 1:])
    K += noise * np.eye(len(X))
    y = np.linalg.cholesky(K[:n, :n]) @ rng.normal(size=n)
    gains = np.linalg.solve(K[:n, :n], K[:n, n:])
    std = np.sqrt(K.diagonal()[n:] - np.sum(gains * K[:n, n:], axis=0))
    return X[:n], y, X[n:], y @ gains, std


def plug_in(gp, X, level=0.9):
    """Interval that takes the hyperparameters as known."""
    mean, std = gp.predict(X, return_std=True, include_noise=True)
    return norm.interval(level, mean, std)


@pytest.mark.parametrize("normalize_y", [False, True])
def test_coverage_from_few_rows(normalize_y):
    """With hyperparameters as known it is about 0.7, whose standard error is 0.02 over 40 draws."""
    found = []
    for seed in range(40):
        X, y, new, mean, std = few_rows(seed, 8)
        gp = TimeVaryingGPRegressor(normalize_y=normalize_y).fit(X, y)
        sides = [norm.cdf(ends, mean, std) for ends in (gp.predict_interval(new), plug_in(gp, new))]
        found.append([np.mean(high - low) for low, high in sides])
    coverage, held = np.mean(found, axis=0)
    assert held < 0.8
    assert 0.86 < coverage < 0.94


def test_an_interval_agrees_with_quadrature():
    """Over the only hyperparameter that is learnt; the sum over it is a closed form otherwise."""
    X, y = data(8)
    new, bounds = data(5, seed=1)[0], (0.01, 100.0)
    kernels = RBF(0.5, "fixed"), RBF(3.0, "fixed")
    options = {"signal_variance_bounds": bounds, "noise_variance_bounds": "fixed"}
    gp = TimeVaryingGPRegressor(*kernels, noise_variance=0.1, **options).fit(X, y)
    thetas = np.linspace(*np.log(bounds), 2000)
    weights = np.exp([gp.log_marginal_likelihood([theta]) for theta in thetas])
    held = {"noise_variance": 0.1, "optimizer": None}
    moments = [
        TimeVaryingGPRegressor(*kernels, signal_variance=np.exp(theta), **held)
        .fit(X, y)
        .predict(new, return_std=True, include_noise=True)
        for theta in thetas[::10]
    ]
    mean, std = np.swapaxes(moments, 0, 1)
    weights = weights[::10] / weights[::10].sum()
    for level in (0.5, 0.9):
        low, high = gp.predict_interval(new, level)
        below, within = (weights @ norm.cdf(end, mean, std) for end in (low, high))
        assert_allclose(below, 0.5 - 0.5 * level, atol=0.01)
        assert_allclose(within, 0.5 + 0.5 * level, atol=0.01)


@pytest.mark.parametrize("solver", ["dense", "kalman"])
@pytest.mark.parametrize("normalize_y", [False, True])
def test_hyperparameters_count_as_known(solver, normalize_y):
    """From 200 rows on, without a search, and where none is learnt."""
    X, y = data(200, d=1)
    X[:, 0] = np.round(5.0 * X[:, 0]) / 5.0
    options = {"solver": solver, "normalize_y": normalize_y}
    fixed = {"signal_variance_bounds": "fixed", "noise_variance_bounds": "fixed"}
    kernels = RBF(0.5, "fixed"), Matern(3.0, "fixed", nu=1.5)
    for gp in (
        TimeVaryingGPRegressor(**options).fit(X, y),
        TimeVaryingGPRegressor(optimizer=None, **options).fit(X[:9], y[:9]),
        TimeVaryingGPRegressor(**options).partial_fit(X[:9], y[:9]),
        TimeVaryingGPRegressor(*kernels, **fixed, **options).fit(X[:9], y[:9]),
    ):
        assert_allclose(gp.predict_interval(X[:5]), plug_in(gp, X[:5]), rtol=1e-12)


@each
def test_an_interval_of_few_rows_is_wider(kind):
    X, y = data(12)
    new = data(9, seed=1)[0]
    gp = kind(random_state=0).fit(X, y)
    widths = [
        np.log(high - low).mean() for low, high in (gp.predict_interval(new), plug_in(gp, new))
    ]
    assert widths[0] > widths[1] + 0.05
    before = pickle.dumps(gp)
    one, other = gp.predict_interval(new), gp.predict_interval(new)
    assert_allclose(one, other, rtol=0.0)
    assert pickle.dumps(gp) == before


def test_rows_that_have_left_tell_about_the_hyperparameters():
    X, y = data(150)
    new, few = data(9, seed=1)[0], np.arange(140, 150)
    gp = TimeVaryingGPRegressor().fit(X, y).without(np.arange(140))
    alone = TimeVaryingGPRegressor().fit(X[few], y[few])
    excess = [
        np.log(np.subtract(*g.predict_interval(new)) / np.subtract(*plug_in(g, new))).mean()
        for g in (gp, alone)
    ]
    assert abs(excess[0]) < 0.1 < excess[1]


def test_levels_are_nested_and_units_do_not_matter():
    X, y = data(10)
    new = data(9, seed=1)[0]
    gp = TimeVaryingGPRegressor(normalize_y=True).fit(X, y)
    narrow, wide = (gp.predict_interval(new, level) for level in (0.5, 0.9))
    of_f = gp.predict_interval(new, include_noise=False)
    assert np.all((wide[0] < narrow[0]) & (narrow[1] < wide[1]))
    assert np.all(np.subtract(*of_f[::-1]) < np.subtract(*wide[::-1]))
    moved = TimeVaryingGPRegressor(normalize_y=True).fit(X, 1e4 * y + 1e6)
    assert_allclose(moved.predict_interval(new), 1e4 * np.array(wide) + 1e6, rtol=1e-6)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_intervals_from_hardly_any_rows_are_finite(n):
    X, y = data(n)
    for options in ({}, {"normalize_y": True}, {"spatial_kernel": RBF(0.5, (0.5, 0.5))}):
        low, high = TimeVaryingGPRegressor(**options).fit(X, y).predict_interval(data(5)[0])
        assert np.all(np.isfinite(low) & (low < high))


def test_a_mean_that_was_subtracted_is_uncertain():
    """Far from few rows the intervals are wider than those of a known mean."""
    ratios = []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        X, y = np.column_stack([rng.uniform(size=8), np.arange(8.0)]), rng.normal(size=8)
        gp = TimeVaryingGPRegressor(normalize_y=True).fit(X, y)
        widths = [
            np.subtract(*mixture.quantiles(np.array([[0.5]]), np.array([30.0]), (0.95, 0.05), True))
            for mixture in (
                predictive(gp._gp, gp._search_record, None, centred) for centred in (True, False)
            )
        ]
        low, high = gp.predict_interval([[0.5, 30.0]])
        assert high - low == pytest.approx(widths[0])
        ratios.append(widths[0] / widths[1])
    assert np.median(ratios) > 1.02
