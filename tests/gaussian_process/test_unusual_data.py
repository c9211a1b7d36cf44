"""Duplicates, few rows, all equal, other units, types and layouts."""

import warnings

import numpy as np
import pytest
from gaussian_process.cases import MODELS, data, everything, make
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process.kernels import Matern

from sktvbo import TimeVaryingGPRegressor
from sktvbo.exceptions import JitterWarning


def test_duplicates_with_tiny_noise():
    X, y = data(n=15)
    X, y = np.vstack([X, X]), np.append(y, y)
    with pytest.warns(JitterWarning, match=r"only after \d\.\de-\d\d was added to its diagonal"):
        gp = make(noise_variance=1e-20).fit(X, y)
    assert_allclose(gp.predict(X), y, atol=1e-5)
    assert np.isfinite(everything(gp, X)).all()


def test_duplicates_are_no_trouble_with_noise():
    X, y = data(n=15)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", ConvergenceWarning)  # of no noise, which there is not
        gp = TimeVaryingGPRegressor().fit(np.vstack([X] * 4), np.tile(y, 4))
    assert np.isfinite(everything(gp, X)).all()


@pytest.mark.parametrize("value", [0.0, 5.0, 1e-300, -1e9])
@pytest.mark.parametrize("normalize_y", [False, True])
def test_all_equal_y(value, normalize_y):
    X, _ = data()
    gp = TimeVaryingGPRegressor(normalize_y=normalize_y).fit(X, np.full(len(X), value))
    assert np.isfinite(everything(gp, X)).all()
    if normalize_y:
        assert_allclose(gp.predict(X), value, rtol=1e-6)


@pytest.mark.parametrize("optimizer", [None, "fmin_l_bfgs_b"])
@pytest.mark.parametrize("normalize_y", [False, True])
@pytest.mark.parametrize(("n", "d"), [(1, 2), (1, 0), (2, 6), (3, 0)])
def test_few_observations(n, d, normalize_y, optimizer):
    X, y = data(n=n, d=d)
    gp = TimeVaryingGPRegressor(optimizer=optimizer, normalize_y=normalize_y).fit(X, y)
    assert np.isfinite(everything(gp, data(d=d, seed=1)[0])).all()
    gp.partial_fit(X + 0.1, y).forget([0])
    assert np.isfinite(everything(gp, X)).all()


def test_all_at_one_time_or_at_one_place():
    X, y = data()
    for frozen in ([2], [0, 1], [0, 1, 2]):
        held = X.copy()
        held[:, frozen] = 0.5
        assert np.isfinite(everything(TimeVaryingGPRegressor().fit(held, y), X)).all()


@pytest.mark.parametrize("optimizer", [None, "fmin_l_bfgs_b"])
def test_the_calendar_does_not_matter(optimizer):
    X, y = data()
    X[:, -1] = np.round(8.0 * X[:, -1]) / 8.0
    shift = np.array([0.0, 0.0, 1.7e9])
    here = TimeVaryingGPRegressor(optimizer=optimizer).fit(X[:35], y[:35])
    there = TimeVaryingGPRegressor(optimizer=optimizer).fit(X[:35] + shift, y[:35])
    for _ in range(2):
        assert_allclose(everything(there, X + shift), everything(here, X), rtol=1e-6, atol=1e-6)
        assert_allclose(there.relevancy(), here.relevancy(), rtol=1e-6)
        assert_allclose(there.relevancy(1.7e9 + 9.0), here.relevancy(9.0), rtol=1e-6)
        here.partial_fit(X[35:], y[35:]).forget([0, 3])
        there.partial_fit(X[35:] + shift, y[35:]).forget([0, 3])


@pytest.mark.parametrize("unit", [1e-9, 86400.0, 1e12])
def test_units_of_time_and_space_do_not_matter(unit):
    X, y = data()
    expected = TimeVaryingGPRegressor().fit(X, y)
    for factors in ([1.0, 1.0, unit], [unit, unit, 1.0]):
        gp = TimeVaryingGPRegressor().fit(X * factors, y)
        assert_allclose(everything(gp, X * factors), everything(expected, X), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("kind", [np.float32, np.float16, int, np.uint8])
def test_other_real_types(kind):
    X, y = data()
    X, y = (16.0 * X).astype(kind), (16.0 * y + 20.0).astype(kind)
    gp = make(Matern(8.0, nu=2.5), Matern(20.0, nu=1.5)).fit(X[:38], y[:38])
    gp.partial_fit(X[38:], y[38:])
    assert gp.X_train_.dtype == gp.y_train_.dtype == gp.predict(X).dtype == np.float64
    expected = make(Matern(8.0, nu=2.5), Matern(20.0, nu=1.5)).fit(X.astype(float), y.astype(float))
    assert_allclose(everything(gp, X), everything(expected, X.astype(float)), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    "layout",
    [np.asfortranarray, lambda A: np.repeat(A, 2, axis=-1)[..., ::2], np.ndarray.tolist],
    ids=["Fortran", "strided", "list"],
)
@pytest.mark.parametrize("name", ["ard-matern", "time-first", "rational-matern"])
def test_any_layout(name, layout):
    spatial, temporal, d, column = MODELS[name]
    X, y = data(d=d)
    gp = make(spatial, temporal, time_column=column)
    expected = everything(clone(gp).fit(X, y), X)
    gp.fit(layout(X[:38]), layout(y[:38]), layout(np.zeros(38)))
    gp.partial_fit(layout(X[38:]), layout(y[38:]))
    assert_allclose(everything(gp, layout(X)), expected, rtol=1e-9, atol=1e-9)
