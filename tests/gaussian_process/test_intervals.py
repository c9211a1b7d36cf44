"""Predictions of new observations, intervals, and their coverage."""

import numpy as np
import pytest
from gaussian_process.cases import data, each
from numpy.testing import assert_allclose
from scipy.stats import norm
from sklearn.gaussian_process.kernels import RBF, Matern

from sktvbo import SparseTimeVaryingGPRegressor, TimeVaryingGPRegressor
from sktvbo.gaussian_process import QuadraticInjection


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
        (TimeVaryingGPRegressor, 150),
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
