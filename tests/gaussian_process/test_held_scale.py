"""The scale of y is held with the hyperparameters."""

import pickle

import numpy as np
import pytest
from gaussian_process.cases import lifted, make
from grids import pairs_of
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.gaussian_process.kernels import Matern

from sktvbo import SparseTimeVaryingGPRegressor, TimeVaryingGPRegressor
from sktvbo.gaussian_process import WeightedTimeVaryingGPRegressor

NEW, NEW_Y, _ = lifted(n=4, seed=9)


def scale_of(gp):
    """Return the number that y is divided by."""
    return gp.noise_std_ / np.sqrt(gp.noise_variance_)


@pytest.mark.parametrize("restandardize", [None, False])
@pytest.mark.parametrize(
    "change",
    [
        lambda gp: gp.forget([0]),
        lambda gp: gp.partial_fit(NEW[:1], [9.0]),
        lambda gp: gp.fitted_.with_rows(NEW[:1], [9.0]),
        lambda gp: pickle.loads(pickle.dumps(gp)).forget([0]),
    ],
)
def test_the_next_change_holds_the_scale_too(change, restandardize):
    X, y, _ = lifted()
    held = make(normalize_y=True).fit(X, y).without(range(29), restandardize=restandardize)
    held = held.condition_on(NEW, 50.0 * NEW_Y, restandardize=restandardize)
    assert scale_of(change(held)) == pytest.approx(y.std(), rel=1e-12)


def test_the_scale_follows_y_until_it_has_ten_values():
    X, _, _ = lifted(13)
    y = np.array([5.0, 5.0, 5.0, 0.0, 6.0, 7.0, 1.0, 2.0, 3.0, 4.0, 8.0, 9.0, 1e6])
    gp = make(normalize_y=True).partial_fit(X[:1], y[:1])
    for i in range(1, 12):
        gp.partial_fit(X[i : i + 1], y[i : i + 1])
        assert scale_of(gp) == pytest.approx(np.std(y[: i + 1]) or 1.0)
    held = scale_of(gp)
    assert scale_of(gp.partial_fit(X[12:], y[12:])) == held


def test_the_scale_of_many_rows_is_updated():
    X, y, _ = lifted(1100)
    y += 1e3 + np.linspace(0.0, 50.0, 1100)
    gp = make(kind=SparseTimeVaryingGPRegressor, inducing=X[::200], normalize_y=True)
    gp.fit(X[:1000], y[:1000])
    for i in range(1000, 1100, 20):
        gp = gp.condition_on(X[i : i + 20], y[i : i + 20], restandardize=True)
    assert scale_of(gp) == pytest.approx(y.std(), rel=1e-12)


# --- the noise is held in the units of y -------------------------------------------------------

SENSORS = np.column_stack([np.arange(0.0, 150.0, 2.5) % 3.0, np.arange(0.0, 150.0, 2.5)])
KINDS = {
    "exact": TimeVaryingGPRegressor(),
    "kalman": TimeVaryingGPRegressor(solver="kalman"),
    "weighted": WeightedTimeVaryingGPRegressor(),
    "sparse": SparseTimeVaryingGPRegressor(inducing=SENSORS),
}


def sensors(n=150, level=0.0):
    """Return readings of three sensors in turn."""
    t = np.arange(float(n))
    X = np.column_stack([t % 3.0, t])
    y = level + 20.0 + 5.0 * np.sin(X[:, 0] + t / 8.0)
    return X, y + 0.5 * np.random.RandomState(0).normal(size=n)


def of_kind(name, optimizer):
    kernels = {"spatial_kernel": Matern(2.0, nu=2.5), "temporal_kernel": Matern(10.0, nu=1.5)}
    return clone(KINDS[name]).set_params(**kernels, normalize_y=True, optimizer=optimizer)


@pytest.mark.parametrize("kind", KINDS)
def test_a_stream_from_one_row_on_finds_its_scale_and_holds_it(kind):
    X, y = sensors(level=1e9)
    gp = of_kind(kind, "fmin_l_bfgs_b").partial_fit(X[:1], y[:1])
    for i in range(1, 60):
        gp.partial_fit(X[i : i + 1], y[i : i + 1])
    scale = scale_of(gp)
    assert 0.3 < scale / y.std() < 3.0
    gp.partial_fit(X[60:61], [2e9])
    assert scale_of(gp) == scale


@pytest.mark.parametrize(
    ("kind", "optimizer", "first", "level"),
    pairs_of(KINDS, ("fmin_l_bfgs_b", None), ("fit", "partial_fit"), (0.0, 3.0, 1e9)),
)
def test_constant_values_define_no_scale(kind, optimizer, first, level):
    X, y = sensors(level=level)
    gp = of_kind(kind, optimizer)
    theta = of_kind(kind, None).fit(X, y).theta_
    getattr(gp, first)(X[:40], np.full(40, level))
    assert_array_equal(gp.theta_, theta)
    known = np.append(np.full(40, level), y[40:60])
    for factor, rows in ((1.0, slice(40, 60)), (1e3, slice(60, None))):
        gp.partial_fit(X[rows], factor * y[rows])
        assert scale_of(gp) == pytest.approx(known.std(), rel=1e-6)
