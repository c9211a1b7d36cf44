"""A long mixed stream stays what a fresh fit would be."""

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import Matern

from sktvbo import TimeVaryingGPRegressor


@pytest.mark.parametrize("normalize_y", [False, True])
def test_two_thousand_appends_and_drops(normalize_y):
    rng = np.random.RandomState(0)
    X = np.column_stack([rng.uniform(size=(1400, 2)), np.arange(1400.0)])
    y = np.sin(5.0 * X[:, 0] + X[:, 2] / 50.0) + 0.1 * rng.normal(size=1400)
    gp = TimeVaryingGPRegressor(
        Matern(0.3, nu=2.5), Matern(60.0, nu=1.5), optimizer=None, normalize_y=normalize_y
    ).fit(X[:200], y[:200])
    left, new = list(range(200)), 200
    for _ in range(2000):
        if rng.uniform() < 0.5 and new < len(X):
            gp.partial_fit(X[[new]], y[[new]])
            left.append(new)
            new += 1
        elif len(left) > 100:
            out = rng.randint(len(left))
            gp.forget([out])
            del left[out]
    fresh = TimeVaryingGPRegressor(
        Matern(0.3, nu=2.5), Matern(60.0, nu=1.5), optimizer=None, normalize_y=normalize_y
    ).fit(X[left], y[left])
    np.testing.assert_array_equal(gp.X_train_, X[left])
    for a, b in zip(gp.predict(X, return_std=True), fresh.predict(X, return_std=True)):
        np.testing.assert_allclose(a, b, atol=1e-7)
    assert gp.log_marginal_likelihood_value_ == pytest.approx(
        fresh.log_marginal_likelihood_value_, abs=1e-7
    )
