"""Bounded memory: the rows that `fit` and `partial_fit` keep of a stream."""

import pickle

import numpy as np
import pytest
from gaussian_process.cases import data, everything
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern, RationalQuadratic

from sktvbo import BayesianOptimizer, SparseTimeVaryingGPRegressor, TimeVaryingGPRegressor
from sktvbo.gaussian_process import QuadraticInjection, WeightedTimeVaryingGPRegressor
from sktvbo.gaussian_process.kalman._filter import Filter
from sktvbo.relevancy import wasserstein_relevancy

STATIC, WEIGHTED = ConstantKernel(1.0, "fixed"), WeightedTimeVaryingGPRegressor
SOLVERS = "auto", "dense"
KERNELS = {"spatial_kernel": RBF(0.4), "temporal_kernel": Matern(3.0, nu=1.5)}


def make(kind=TimeVaryingGPRegressor, **options):
    return kind(**{**KERNELS, "optimizer": None, "max_size": 40, **options})


def rowwise(gp, X, y, variances=None):
    """Append rows one by one, and check the number that stays."""
    for i in range(len(y)):
        gp.partial_fit(X[[i]], y[[i]], None if variances is None else variances[[i]])
        assert len(gp.X_train_) <= gp.max_size
    return gp


def greedy(X, y, size):
    """Return positions of the rows that stay: plain relevancies after each removal."""
    known = {"signal_variance": 1.0, "noise_variance": 1e-2, **KERNELS}
    stay = np.arange(len(y))
    while len(stay) > size:
        found = wasserstein_relevancy(X[stay], y[stay], now=X[:, -1].max(), **known)
        stay = np.delete(stay, np.argmin(found))
    return stay


def test_the_least_relevant_rows_are_dropped():
    X, y = data(n=60)
    stay = np.arange(40)
    for i in range(40, 60):
        stay = np.append(stay, i)
        if len(stay) > 40:
            stay = stay[greedy(X[stay], y[stay], 38)]
    assert not np.array_equal(stay, np.arange(60)[-len(stay) :])  # not just the latest
    assert_array_equal(rowwise(make(), X, y).X_train_, X[stay])


def test_the_posterior_is_that_of_the_rows_kept():
    X, y = data(n=80)
    variances = np.random.RandomState(3).uniform(0.0, 0.1, 80)
    gp = rowwise(make(), X, y, variances)
    kept = np.flatnonzero((X[:, np.newaxis] == gp.X_train_).all(axis=2).any(axis=1))
    fresh = clone(gp).fit(X[kept], y[kept], variances[kept])
    new, _ = data(n=10, seed=5)
    assert_allclose(everything(gp, new), everything(fresh, new), rtol=1e-8, atol=1e-8)


def test_batches_are_rows_one_by_one():
    X, y = data(n=150)
    variances = np.random.RandomState(3).uniform(0.0, 0.1, 150)
    found = rowwise(make(), X, y, variances)
    for n_parts in (1, 7):
        gp = make()
        for part in np.array_split(np.arange(150), n_parts):
            gp.partial_fit(X[part], y[part], variances[part])
        assert_array_equal(gp.X_train_, found.X_train_)
        assert_allclose(gp.predict(X[:9]), found.predict(X[:9]), atol=1e-10)


def latest(X, size):
    return X[np.argsort(X[:, -1], kind="stable")[-size:]]


@pytest.mark.parametrize(
    "options",
    [
        {"spatial_kernel": RationalQuadratic(0.4)},
        {"temporal_kernel": STATIC},
        {"solver": "kalman"},
        {"kind": WEIGHTED, "temporal_kernel": STATIC, "noise_model": QuadraticInjection(0.1)},
    ],
    ids=["space", "static", "kalman", "weighted"],
)
def test_without_relevancies_the_oldest_are_dropped(options):
    X, y = data(n=60)
    X[:, 0] = np.round(X[:, 0])  # of few places
    X[:, 1] = 0.0
    gp = rowwise(make(**options), X, y)
    assert 38 <= len(gp.X_train_) <= 40
    assert_array_equal(gp.X_train_, X[-len(gp.X_train_) :])


def test_a_late_row_is_dropped_before_newer_ones():
    X, y = data(n=41)
    X[-1, -1] = -1.0
    gp = rowwise(make(spatial_kernel=RationalQuadratic(0.4)), X, y)
    assert_array_equal(gp.X_train_, latest(X[:-1], 38))


def test_fit_learns_from_all_rows():
    X, y = data(n=70)
    options = {"optimizer": "fmin_l_bfgs_b", "normalize_y": True}
    gp, unbounded = make(**options).fit(X, y), make(**options, max_size=None).fit(X, y)
    assert_array_equal(gp.theta_, unbounded.theta_)
    assert len(gp.X_train_) == 40
    assert gp.mean_ == unbounded.mean_
    assert gp.noise_std_ == unbounded.noise_std_
    assert len(unbounded.X_train_) == 70
    assert len(gp.condition_on(X, y).X_train_) == 110


def test_of_many_more_rows_the_latest_are_compared():
    X, y = data(n=200)
    order = np.random.RandomState(0).permutation(200)
    recent = latest(X, 80)
    gp = make().fit(X[order], y[order])
    assert len(gp.X_train_) == 40
    assert np.isin(gp.X_train_[:, -1], recent[:, -1]).all()
    assert gp.X_train_[:, -1].min() < latest(X, 40)[:, -1].min()


def test_a_filter_that_learns_from_a_long_series():
    t = np.arange(2000.0)[:, np.newaxis]
    gp = make(max_size=50, spatial_kernel=None).fit(t, np.sin(t[:, 0] / 20.0))
    assert_array_equal(gp.X_train_, t[-50:])
    gp.partial_fit([[2000.0]], [0.0])
    assert len(gp.X_train_) == 48


@pytest.mark.parametrize("max_size", [300, 999, 1000])
def test_auto_learns_with_a_filter_and_is_dense_in_streams_of_fewer_than_1000_rows(max_size):
    t = np.arange(402.0)[:, np.newaxis]
    y = np.sin(t[:, 0] / 20.0)
    auto, dense = (make(max_size=max_size, spatial_kernel=None, solver=s) for s in SOLVERS)
    for gp in (auto, dense):
        gp.fit(t[:400], y[:400])
    assert isinstance(auto._gp, Filter) == (max_size > 400)
    assert_array_equal(auto.X_train_, t[:400][-max_size:])
    for i in (400, 401):
        for gp in (auto, dense):
            gp.partial_fit(t[[i]], y[[i]])
        assert isinstance(auto._gp, Filter) == (max_size >= 1000)
    assert len(auto.X_train_) == len(dense.X_train_)
    new = [[403.0]]
    assert_allclose(everything(auto, new), everything(dense, new), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("max_size", [1, 2, 19, 20])
def test_small_sizes(max_size):
    X, y = data(n=30)
    gp = rowwise(make(max_size=max_size), X, y)
    assert len(gp.X_train_) >= max_size - max_size // 20


@pytest.mark.parametrize("max_size", [0, -3, 2.5, "all", True])
def test_a_smaller_size_from_the_next_row_on_or_an_error(max_size):
    X, y = data(n=60)
    gp = make().fit(X, y).set_params(max_size=max_size)
    for call in (gp.fit, gp.partial_fit):
        with pytest.raises(ValueError, match="'max_size' parameter of TimeVaryingGPRegressor"):
            call(X, y)
    assert len(gp.X_train_) == 40
    assert len(gp.set_params(max_size=10).partial_fit(X[-1:] + 0.1, y[-1:]).X_train_) == 10


@pytest.mark.parametrize("wrong", [np.full(20, -1.0), np.ones(3), np.full(20, np.nan)])
def test_an_error_leaves_all_rows(wrong):
    X, y = data(n=60)
    gp = make().fit(X[:40], y[:40])
    with pytest.raises(ValueError, match="y_variance"):
        gp.partial_fit(X[40:], y[40:], wrong)
    assert_array_equal(gp.X_train_, X[:40])


def test_copies_and_robust_regression():
    X, y = data(n=120)
    y[60] += 100.0
    gp = rowwise(make(robust=True), X, y)
    other = pickle.loads(pickle.dumps(gp)).partial_fit(X[-1:] + 0.1, y[-1:])
    gp.partial_fit(X[-1:] + 0.1, y[-1:])
    assert_array_equal(gp.X_train_, other.X_train_)
    assert_allclose(gp.predict(X[:5]), other.predict(X[:5]), atol=1e-9)


def test_sparse_regression_has_no_such_parameter():
    with pytest.raises(TypeError, match="max_size"):
        SparseTimeVaryingGPRegressor(max_size=10)


def test_an_optimizer_refuses_it():
    opt = BayesianOptimizer([(0.0, 1.0)], surrogate=make(spatial_kernel=None))
    with pytest.raises(ValueError, match="Use the optimizer's max_size"):
        opt.ask(0.0)
