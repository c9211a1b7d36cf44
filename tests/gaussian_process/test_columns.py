"""Columns of space in different units: default lengthscales are proportional to their extents."""

import warnings
from itertools import cycle

import numpy as np
import pytest
from gaussian_process.cases import each
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF, Matern

from sktvbo import SparseTimeVaryingGPRegressor, TimeVaryingGPRegressor
from sktvbo.exceptions import ModelWarning
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
    X = np.random.RandomState(0).uniform(size=(8, 2)) * [1.0, 50.0]
    kernel = ProportionalMatern([0.4, 20.0], (1e-2, 1e3), nu=2.5)
    assert_array_equal(kernel(X), Matern([0.4, 20.0], nu=2.5)(X))
    assert_allclose(kernel.theta, np.log([20.0]))
    assert_allclose(kernel.bounds, np.log([[1e-2, 1e3]]))
    assert_allclose(kernel.clone_with_theta(np.log([5.0])).length_scale, [0.1, 5.0])


# --- columns whose range few rows determine -------------------------------------------------------


def columns(draw, n=240, seed=0):
    """Return X (n, 3) with a column of a distribution, y, and a function of it at most rows."""
    rng = np.random.default_rng(seed)
    drawn = draw(rng, n)
    X = np.column_stack([drawn, rng.uniform(size=n), np.arange(n) / 24.0])
    low, high = np.quantile(drawn, [0.1, 0.8])
    f = np.sin(3.0 * np.clip((drawn - low) / (high - low), 0.0, 1.5))
    f = f + X[:, 1] + 0.3 * np.sin(X[:, 2])
    return X, f + 0.1 * rng.normal(size=n), f


DRAWN = {
    "uniform": lambda rng, n: rng.uniform(size=n),
    "log-normal": lambda rng, n: np.exp(1.5 * rng.normal(size=n)),
    "small": lambda rng, n: 1e-7 * np.exp(2.0 * rng.normal(size=n)),
    "heavy": lambda rng, n: 1e3 * rng.standard_cauchy(size=n),
    "clusters": lambda rng, n: (
        np.where(rng.uniform(size=n) < 0.5, 0.0, 300.0) + rng.uniform(size=n)
    ),
}
MODELS = {
    "dense": TimeVaryingGPRegressor(normalize_y=True),
    "robust": TimeVaryingGPRegressor(normalize_y=True, robust=True),
    "sparse": SparseTimeVaryingGPRegressor(n_inducing=60, normalize_y=True, random_state=0),
}


@pytest.mark.parametrize(("model", "name"), [*zip(cycle(MODELS), DRAWN)])
def test_the_range_of_a_skewed_column_is_no_scale(model, name):
    X, y, f = columns(DRAWN[name])
    gp = clone(MODELS[model]).fit(X, y)
    low, high = np.quantile(X[:, 0], [0.1, 0.9])
    most = (X[:, 0] >= low) & (X[:, 0] <= high)
    assert np.std((gp.predict(X) - f)[most]) < 0.12 * np.std(f)


@pytest.mark.filterwarnings("ignore::sktvbo.exceptions.ModelWarning")
@pytest.mark.parametrize(
    ("model", "column", "bad"),
    [("dense", 1, [-999.0] * 8), ("robust", 0, [-1e4, 1e6]), ("sparse", 2, [-1e4, 1e6])],
)
def test_a_few_wrong_cells_do_not_change_the_model_of_the_others(model, column, bad):
    X, y, f = columns(DRAWN["uniform"])
    rows = np.random.default_rng(1).choice(len(y), len(bad), replace=False)
    wrong, rest = X.copy(), np.delete(np.arange(len(y)), rows)
    wrong[rows, column] = bad
    predicted = [clone(MODELS[model]).fit(A, y).predict(X) for A in (X, wrong)]
    clean, broken = np.std((np.array(predicted) - f)[:, rest], axis=1)
    assert broken < 1.5 * clean + 0.02


@pytest.mark.parametrize("kernel", [Matern(0.5, nu=2.5), RBF(1.0), Matern([1.0, 1.0], nu=1.5)])
@pytest.mark.parametrize("units", [(1e-4, 1e-4), (1e4, 1e4), (1.0, 1e4), (1e-4, 1.0)], ids=str)
def test_a_kernel_whose_start_is_in_other_units_fits_well_or_warns(kernel, units):
    X, y, f = columns(DRAWN["log-normal"])
    X[:, :2] *= units
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        gp = TimeVaryingGPRegressor(kernel, normalize_y=True).fit(X, y)
    messages = [str(record.message) for record in caught]
    warned = any(text.startswith("spatial_kernel has one lengthscale for") for text in messages)
    assert warned == (np.ptp(np.log(units)) > 1.0 and np.size(kernel.length_scale) == 1)
    if not warned:
        assert np.std(gp.predict(X) - f) < 0.25 * np.std(f)


def advice(X, y):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        TimeVaryingGPRegressor(Matern(0.5), Matern(2.0), optimizer=None).fit(X, y)
    return [str(r.message) for r in caught if r.category is ModelWarning]


def test_rows_that_carry_the_range_of_a_column_are_named():
    X, y, _ = columns(DRAWN["uniform"])
    X[7, 1] = -999.0
    (text,) = advice(X, y)
    assert "Column 1 extends over 1000, and over 0.99" in text
    assert "without 1 of 240 rows, such as row 7 with -999." in text
    X[[30, 31], 1] = 1e6
    assert "without 3 of 240 rows, such as row 7" in advice(X, y)[0]
    X[:, 1], X[5, 2] = 0.5, 1e9
    assert any(text.startswith("Column 2 extends over 1e+09") for text in advice(X, y))
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=["a", "b", "time"])
    assert any(text.startswith("Column 'time' extends") for text in advice(frame, y))


@pytest.mark.parametrize("name", [*DRAWN, "binary", "counts", "few rows"])
def test_no_rows_are_named_in_columns_of_many_shapes(name):
    draws = DRAWN | {
        "binary": lambda rng, n: rng.uniform(size=n) < 0.03,
        "counts": lambda rng, n: rng.poisson(0.3, size=n),
        "few rows": lambda rng, n: np.append(np.zeros(n - 1), 50.0),
    }
    X, y, _ = columns(draws[name] if name in DRAWN else DRAWN["uniform"])
    X[:, 0] = draws[name](np.random.default_rng(2), len(y))
    n = 8 if name == "few rows" else len(y)
    assert not any(text.startswith("Column") for text in advice(X[-n:], y[-n:]))
