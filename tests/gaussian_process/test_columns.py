"""Columns of space in different units: default lengthscales are proportional to their extents."""

import numpy as np
from gaussian_process.cases import each
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.gaussian_process.kernels import Matern

from sktvbo import TimeVaryingGPRegressor
from sktvbo.kernels import ProportionalMatern


def heights(n=150, seed=0):
    """Return a coordinate in [0, 1], a height in meters and times, and a function of all."""
    rng = np.random.RandomState(seed)
    X = np.column_stack([rng.uniform(size=n), rng.uniform(0.0, 3000.0, n), np.arange(float(n))])
    f = np.sin(5.0 * X[:, 0]) + np.cos(X[:, 1] / 600.0 + X[:, 2] / 60.0)
    return X, f + 0.1 * rng.normal(size=n), f


@each
def test_units_of_columns_do_not_matter(kind):
    X, y, f = heights()
    options = {"normalize_y": True, "random_state": 0}
    predicted = []
    for units in ([1.0, 1.0, 1.0], [1.0, 1.0 / 3000.0, 1.0], [1e6, 1e-6, 3600.0]):
        gp = kind(**options).fit(X * units, y)
        predicted.append(gp.predict(X * units))
        assert 1.0 - np.mean((predicted[-1] - f) ** 2) / np.var(f) > 0.98
        assert len(gp.theta_) == 4
    assert_allclose(predicted[1:], [predicted[0]] * 2, atol=0.02)


def test_one_column_has_a_plain_kernel():
    X, y, _ = heights(40)
    spatial = TimeVaryingGPRegressor().fit(X[:, 1:], y).spatial_kernel_
    assert type(spatial) is Matern
    assert np.ndim(spatial.length_scale) == 0


def test_a_column_that_is_constant_where_the_data_are():
    X, y, f = heights()
    X = np.insert(X, 1, 7.0, axis=1)
    gp = TimeVaryingGPRegressor().fit(X, y)
    assert 1.0 - np.mean((gp.predict(X) - f) ** 2) / np.var(f) > 0.98


def test_the_kernel_is_scikit_learns_with_one_hyperparameter():
    """Values, gradient and the round trip of theta, against Matern with the same lengthscales."""
    X = np.random.RandomState(0).uniform(size=(8, 2)) * [1.0, 50.0]
    kernel = ProportionalMatern([0.4, 20.0], (1e-2, 1e3), nu=2.5)
    K, slopes = kernel(X, eval_gradient=True)
    theirs, each = Matern([0.4, 20.0], nu=2.5)(X, eval_gradient=True)
    assert_array_equal(K, theirs)
    assert slopes.shape == (8, 8, 1)
    assert_allclose(slopes[:, :, 0], each.sum(axis=2), atol=1e-14)
    assert_allclose(kernel.theta, np.log([20.0]))
    assert_allclose(kernel.bounds, np.log([[1e-2, 1e3]]))
    assert_allclose(kernel.clone_with_theta(np.log([5.0])).length_scale, [0.1, 5.0])
    assert clone(kernel) == kernel
    fixed = ProportionalMatern([0.4, 20.0], "fixed", nu=2.5)
    assert fixed.theta.shape == (0,)
    assert fixed(X, eval_gradient=True)[1].shape == (8, 8, 0)
