"""The exact regressor: scikit-learn's conventions and numbers, streams of rows, and its errors."""

import copy
import pickle
import warnings
from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import (
    RBF,
    ConstantKernel,
    DotProduct,
    ExpSineSquared,
    Matern,
    RationalQuadratic,
    WhiteKernel,
)
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import parametrize_with_checks

from sktvbo import TimeVaryingGPRegressor
from sktvbo.exceptions import JitterWarning, NotPositiveDefiniteError, UnsupportedKernelError
from sktvbo.gaussian_process import _exact
from sktvbo.kernels import Forgetting, Separable
from sktvbo.relevancy import wasserstein_relevancy


@parametrize_with_checks(
    [
        TimeVaryingGPRegressor(),
        TimeVaryingGPRegressor(optimizer=None),
        TimeVaryingGPRegressor(RBF(), Forgetting()),
        TimeVaryingGPRegressor(normalize_y=True),
        TimeVaryingGPRegressor(RationalQuadratic()),
        TimeVaryingGPRegressor(time_column=0),
        TimeVaryingGPRegressor(n_restarts_optimizer=1, random_state=0),
    ]
)
def test_scikit_learns_checks(estimator, check):
    check(estimator)


def data(n=40, d=2, seed=0):
    """Places in the unit box with times in order, and noisy values of a drifting function."""
    rng = np.random.RandomState(seed)
    X = np.column_stack([rng.uniform(size=(n, d)), np.sort(rng.uniform(0.0, 8.0, n))])
    y = np.sin(4.0 * X[:, :-1].sum(axis=1) + 0.5 * X[:, -1]) + 0.1 * rng.normal(size=n)
    return X, y


def with_time_at(X, column):
    """X with its last column moved to another position."""
    return np.insert(X[:, :-1], column, X[:, -1], axis=1)


def make(spatial=None, temporal=None, **parameters):
    """A regressor that keeps the hyperparameters given, unless told otherwise."""
    spatial = Matern(0.5, nu=2.5) if spatial is None else spatial
    temporal = Matern(3.0, nu=1.5) if temporal is None else temporal
    defaults = {"signal_variance": 1.3, "noise_variance": 0.02, "optimizer": None}
    return TimeVaryingGPRegressor(spatial, temporal, **defaults | parameters)


def everything(gp, X):
    """What the model says about X and of itself, in one vector."""
    mean, std = gp.predict(X, return_std=True)
    return np.r_[mean, std, gp.log_marginal_likelihood()]


# --- equality with scikit-learn's regressor -------------------------------------------------------

# name: (spatial, temporal, number of spatial columns, time column)
MODELS = {
    "rbf-rbf": (RBF(0.4), RBF(2.0), 1, -1),
    "matern12-rbf": (Matern(0.4, nu=0.5), RBF(2.0), 2, -1),
    "matern32-matern12": (Matern(0.4, nu=1.5), Matern(2.0, nu=0.5), 2, -1),
    "matern52-matern32": (Matern(0.4, nu=2.5), Matern(2.0, nu=1.5), 3, -1),
    "rbf-matern52": (RBF(0.4), Matern(2.0, nu=2.5), 2, -1),
    "ard-forgetting": (RBF([0.3, 0.9]), Forgetting(0.1), 2, -1),
    "ard-matern": (Matern([0.3, 0.9, 0.5], nu=1.5), Matern(2.0, nu=1.5), 3, -1),
    "time-first": (Matern([0.3, 0.9], nu=2.5), Forgetting(0.1), 2, 0),
    "time-in-the-middle": (RBF([0.3, 0.9]), Matern(2.0, nu=1.5), 2, 1),
    "static": (Matern(0.4, nu=2.5), ConstantKernel(1.0, "fixed"), 2, -1),
    "fixed": (RBF(0.4, "fixed"), Forgetting(0.1), 2, -1),
    "all-fixed": (RBF(0.4, "fixed"), Matern(2.0, "fixed", nu=1.5), 2, -1),
    "rational-matern": (RationalQuadratic(0.4, 1.5), Matern(2.0, nu=1.5), 2, -1),
    "rbf-periodic": (RBF([0.3, 0.9]), ExpSineSquared(1.0, 3.0), 2, -1),
    "dot-rational": (1.0 + DotProduct(0.5), RationalQuadratic(2.0), 2, 0),
    "time-alone": (RBF(1.0), Matern(2.0, nu=1.5), 0, -1),
    "time-alone-rational": (RBF(1.0, "fixed"), RationalQuadratic(2.0), 0, -1),
}

every_model = pytest.mark.parametrize(
    ("spatial", "temporal", "d", "column"), MODELS.values(), ids=list(MODELS)
)


def both(spatial, temporal, d, column, *, normalize_y=False, seed=0):
    """Our model and scikit-learn's, hyperparameters as given, and points to predict."""
    X, y = data(d=d, seed=seed)
    new, _ = data(n=15, d=d, seed=seed + 1)
    if column >= 0:
        X, new = with_time_at(X, column), with_time_at(new, column)
    ours = make(spatial, temporal, time_column=column, normalize_y=normalize_y).fit(X, y)
    kernel = ConstantKernel(1.3) * Separable(spatial, temporal, time_column=column)
    theirs = GaussianProcessRegressor(
        kernel, alpha=0.02, optimizer=None, normalize_y=normalize_y
    ).fit(X, y)
    return ours, theirs, new


@every_model
@pytest.mark.parametrize("normalize_y", [False, True])
def test_predictions_are_scikit_learns(spatial, temporal, d, column, normalize_y):
    ours, theirs, new = both(spatial, temporal, d, column, normalize_y=normalize_y)
    X = np.vstack([new, ours.X_train_[:5]])
    assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-8, atol=1e-8)
    for option in ("return_std", "return_cov"):
        for found, expected in zip(
            ours.predict(X, **{option: True}), theirs.predict(X, **{option: True})
        ):
            assert_allclose(found, expected, rtol=1e-8, atol=1e-8)
    assert ours.log_marginal_likelihood() == pytest.approx(
        theirs.log_marginal_likelihood(), rel=1e-8
    )


def scikit_learns_with_noise(gp, **parameters):
    """scikit-learn's regressor with our fitted model's prior and noise, as kernels."""
    separable = Separable(
        gp.spatial_kernel or RBF(1.0, "fixed"), gp.temporal_kernel, time_column=gp.time_column
    )
    signal = ConstantKernel(gp.signal_variance, gp.signal_variance_bounds)
    noise = WhiteKernel(gp.noise_variance, gp.noise_variance_bounds)
    theirs = GaussianProcessRegressor(signal * separable + noise, alpha=0.0, **parameters)
    return theirs.fit(gp.X_train_, gp.y_train_)


@every_model
def test_likelihood_and_gradient_are_scikit_learns(spatial, temporal, d, column):
    if d == 0:
        # Ours has no theta for a kernel that no column is for.
        spatial = RBF(1.0, "fixed")
    ours, *_ = both(spatial, temporal, d, column)
    theirs = scikit_learns_with_noise(ours, optimizer=None)
    assert_allclose(ours.theta_, theirs.kernel_.theta, rtol=1e-12)
    for theta in (ours.theta_, ours.theta_ + 0.1 * np.cos(np.arange(len(ours.theta_)))):
        value, gradient = ours.log_marginal_likelihood(theta, eval_gradient=True)
        expected = theirs.log_marginal_likelihood(theta, eval_gradient=True)
        assert value == pytest.approx(expected[0], rel=1e-8)
        assert value == pytest.approx(ours.log_marginal_likelihood(theta), rel=1e-12)
        assert_allclose(gradient, expected[1], rtol=1e-7, atol=1e-8)


@every_model
def test_gradient_is_the_derivative(spatial, temporal, d, column):
    gp, *_ = both(spatial, temporal, d, column)
    _, gradient = gp.log_marginal_likelihood(eval_gradient=True)
    step = 1e-5
    numeric = [
        gp.log_marginal_likelihood(gp.theta_ + move) - gp.log_marginal_likelihood(gp.theta_ - move)
        for move in step * np.eye(len(gp.theta_))
    ]
    assert_allclose(gradient, np.array(numeric) / (2.0 * step), rtol=1e-5, atol=1e-5)


def test_gradient_with_known_variances():
    X, y = data()
    gp = make().fit(X, y, np.linspace(0.0, 0.5, len(y)))
    _, gradient = gp.log_marginal_likelihood(eval_gradient=True)
    step = 1e-5
    numeric = [
        gp.log_marginal_likelihood(gp.theta_ + move) - gp.log_marginal_likelihood(gp.theta_ - move)
        for move in step * np.eye(4)
    ]
    assert_allclose(gradient, np.array(numeric) / (2.0 * step), rtol=1e-5)


@pytest.mark.parametrize(
    "name", ["rbf-rbf", "matern52-matern32", "ard-forgetting", "time-first", "rational-matern"]
)
@pytest.mark.filterwarnings("ignore:The optimal value found:sklearn.exceptions.ConvergenceWarning")
def test_the_optimum_is_not_below_scikit_learns(name):
    spatial, temporal, d, column = MODELS[name]
    gp, *_ = both(spatial, temporal, d, column)
    start = gp.log_marginal_likelihood()
    gp.set_params(optimizer="fmin_l_bfgs_b").fit(gp.X_train_, gp.y_train_)
    best = scikit_learns_with_noise(gp).log_marginal_likelihood_value_
    assert best > start + 1.0
    assert gp.log_marginal_likelihood_value_ > best - 1e-6 * abs(best)
    assert gp.log_marginal_likelihood(gp.theta_) == pytest.approx(
        gp.log_marginal_likelihood_value_, rel=1e-10
    )


def test_known_variances_add_to_the_noise():
    X, y = data()
    variance = np.linspace(0.0, 0.5, len(y))
    for normalize_y in (False, True):
        gp = make(normalize_y=normalize_y).fit(X, y, variance)
        # scikit-learn's alpha is in units of the standardized y.
        alpha = 0.02 + variance / (np.var(y) if normalize_y else 1.0)
        kernel = 1.3 * Separable(gp.spatial_kernel, gp.temporal_kernel)
        theirs = GaussianProcessRegressor(
            kernel, alpha=alpha, optimizer=None, normalize_y=normalize_y
        ).fit(X, y)
        for found, expected in zip(gp.predict(X, True), theirs.predict(X, True)):
            assert_allclose(found, expected, rtol=1e-8, atol=1e-8)


class Transposed(RationalQuadratic):
    """A kernel whose matrices are in Fortran order."""

    def __call__(self, X, Y=None, eval_gradient=False):
        if eval_gradient:
            K, gradient = super().__call__(X, eval_gradient=True)
            return np.asfortranarray(K), gradient
        return np.asfortranarray(super().__call__(X, Y))


class Single(Transposed):
    """A kernel whose matrices are in single precision."""

    def __call__(self, X, Y=None, eval_gradient=False):
        K = super().__call__(X, Y, eval_gradient)
        return tuple(k.astype(np.float32) for k in K) if eval_gradient else K.astype(np.float32)


@pytest.mark.parametrize(("kind", "rtol"), [(Transposed, 1e-8), (Single, 1e-3)])
@pytest.mark.parametrize("d", [0, 2])
def test_unknown_kernels_may_return_any_real_matrix(kind, rtol, d):
    X, y = data(d=d)
    expected = make(RationalQuadratic(0.5), RationalQuadratic(2.0)).fit(X, y)
    gp = make(kind(0.5), kind(2.0)).fit(X, y)
    assert_allclose(everything(gp, X[::2]), everything(expected, X[::2]), rtol=rtol, atol=rtol)
    new, values = data(n=1, d=d, seed=3)
    expected.partial_fit(new, values).forget([0])
    gp.partial_fit(new, values).forget([0])
    assert_allclose(everything(gp, X[::2]), everything(expected, X[::2]), rtol=rtol, atol=rtol)


# --- streaming ------------------------------------------------------------------------------------


def stream(gp, seed, n_operations, *, variances=False):
    """Random additions and removals, with the rows that should be left, twenty times on the way.

    Sizes stay where a row is cheaper to append or to drop than everything is to factor.
    """
    rng = np.random.RandomState(seed)
    X, y = data(n=400, seed=seed)
    v = rng.uniform(0.0, 0.2, 400)

    def given(rows):
        return v[rows] if variances else None

    left = list(range(40))
    gp.fit(X[left], y[left], given(left))
    for k in range(1, n_operations + 1):
        size = 1 + int(rng.rand() < 0.2)
        if len(left) < 80 and (len(left) < 30 or rng.rand() < 0.5):
            rows = [int(r) for r in rng.choice(np.setdiff1d(np.arange(400), left), size, False)]
            gp.partial_fit(X[rows], y[rows], given(rows))
            left += rows
        else:
            positions = rng.choice(len(left), size, replace=False)
            gp.forget(positions)
            left = [r for i, r in enumerate(left) if i not in positions]
        if k % (n_operations // 20) == 0:
            yield X[left], y[left], given(left)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("normalize_y", [False, True], ids=["plain", "normalized"])
@pytest.mark.parametrize("variances", [False, True], ids=["same noise", "known variances"])
def test_a_stream_is_a_fresh_fit(seed, normalize_y, variances):
    gp = make(normalize_y=normalize_y)
    new, _ = data(n=20, seed=100 + seed)
    for X, y, v in stream(gp, seed, 500, variances=variances):
        assert_array_equal(gp.X_train_, X)
        assert_array_equal(gp.y_train_, y)
        fresh = clone(gp).fit(X, y, v)
        assert_allclose(everything(gp, new), everything(fresh, new), rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize(
    ("spatial", "temporal"),
    [
        (RBF([0.4, 0.9]), Forgetting(0.1)),
        (Matern(0.4, nu=0.5), RBF(2.0)),
        (RationalQuadratic(0.4), Matern(2.0, nu=1.5)),
    ],
    ids=str,
)
def test_streams_of_other_kernels(spatial, temporal):
    gp = make(spatial, temporal)
    new, _ = data(n=20, seed=100)
    for X, y, _ in stream(gp, 0, 100):
        fresh = clone(gp).fit(X, y)
        assert_allclose(everything(gp, new), everything(fresh, new), rtol=1e-8, atol=1e-8)
        assert_allclose(
            gp.predict(new, return_cov=True)[1], fresh.predict(new, return_cov=True)[1], atol=1e-8
        )


def test_hyperparameters_are_held():
    X, y = data()
    gp = TimeVaryingGPRegressor(RBF(0.5), Matern(2.0, nu=1.5)).fit(X[:30], y[:30])
    theta = gp.theta_
    gp.partial_fit(X[30:32], y[30:32]).forget([0, 5])
    assert_array_equal(gp.theta_, theta)
    fresh = make(
        gp.spatial_kernel_,
        gp.temporal_kernel_,
        signal_variance=gp.signal_variance_,
        noise_variance=gp.noise_variance_,
    ).fit(gp.X_train_, gp.y_train_)
    assert_allclose(everything(gp, X), everything(fresh, X), rtol=1e-8, atol=1e-8)


def test_a_row_costs_no_factorization(monkeypatch):
    X, y = data()
    gp = make().fit(X[:35], y[:35])
    monkeypatch.setattr(_exact, "cholesky", None)
    gp.partial_fit(X[35:38], y[35:38]).forget([0, 7, 36]).partial_fit(X[38:], y[38:])
    monkeypatch.undo()
    fresh = make().fit(gp.X_train_, gp.y_train_)
    assert_allclose(everything(gp, X), everything(fresh, X), rtol=1e-8, atol=1e-8)


def test_many_rows_at_once():
    X, y = data()
    gp = make().fit(X[:10], y[:10]).partial_fit(X[10:], y[10:])
    assert_allclose(everything(gp, X), everything(make().fit(X, y), X), rtol=1e-10, atol=1e-10)
    gp.forget(np.arange(20))
    fresh = make().fit(X[20:], y[20:])
    assert_allclose(everything(gp, X), everything(fresh, X), rtol=1e-8, atol=1e-8)


def test_first_partial_fit_learns_nothing():
    X, y = data()
    gp = TimeVaryingGPRegressor(RBF(0.5), RBF(2.0)).partial_fit(X, y)
    assert_array_equal(gp.theta_, np.log([1.0, 0.5, 2.0, 1e-2]))
    fresh = make(RBF(0.5), RBF(2.0), signal_variance=1.0, noise_variance=1e-2).fit(X, y)
    assert_allclose(everything(gp, X), everything(fresh, X), rtol=1e-12)


def test_fit_starts_anew():
    X, y = data()
    gp = make().fit(X, y, np.full(len(y), 3.0)).partial_fit(X, y)
    assert_array_equal(everything(gp.fit(X, y), X), everything(make().fit(X, y), X))


@pytest.mark.parametrize(
    "indices",
    [[1, 3], (3, 1, 1), np.array([1, -7], dtype=np.int8), np.array([1, 3], np.uint64), [-9, 3]],
    ids=str,
)
def test_ways_to_name_rows(indices):
    X, y = data(n=10)
    expected = np.delete(X, [1, 3], axis=0)
    assert_array_equal(make().fit(X, y).forget(indices).X_train_, expected)
    mask = np.zeros(10, dtype=bool)
    mask[[1, 3]] = True
    assert_array_equal(make().fit(X, y).forget(mask).X_train_, expected)
    assert_array_equal(make().fit(X, y).forget(mask.tolist()).X_train_, expected)


def test_forgetting_one_row_or_none():
    X, y = data(n=10)
    assert_array_equal(make().fit(X, y).forget(4).X_train_, np.delete(X, 4, axis=0))
    for nothing in ([], np.zeros(10, dtype=bool), np.array([], dtype=int)):
        gp = make().fit(X, y)
        before = everything(gp, X)
        assert gp.forget(nothing) is gp
        assert_array_equal(everything(gp, X), before)


def test_a_row_twice_with_little_noise_streams_too():
    X, y = data(n=30)
    gp = make(noise_variance=1e-20).fit(X, y)
    with pytest.warns(JitterWarning):
        gp.partial_fit(X[:1], y[:1])
    assert_allclose(gp.predict(X), y, atol=1e-4)
    gp.forget([30]).partial_fit(data(n=1, seed=9)[0], [0.0])
    assert np.isfinite(everything(gp, X)).all()


# --- an error changes nothing ---------------------------------------------------------------------


class Fragile(RationalQuadratic):
    """A kernel that is not a number far away."""

    def __call__(self, X, Y=None, eval_gradient=False):
        result = super().__call__(X, Y, eval_gradient)
        if np.any(np.abs(X) > 100.0):
            return np.full((len(X), len(X if Y is None else Y)), np.nan)
        return result


FAR = np.array([[1000.0, 0.5, 9.0]])
FAILURES = {
    "fit: NaN in X": lambda gp, X, y: gp.fit(X * np.nan, y),
    "fit: infinite y": lambda gp, X, y: gp.fit(X, y + np.inf),
    "fit: lengths": lambda gp, X, y: gp.fit(X, y[:-1]),
    "fit: variances": lambda gp, X, y: gp.fit(X[:, 1:], y, -np.ones(len(y))),
    "fit: parameters": lambda gp, X, y: gp.set_params(signal_variance=-1.0).fit(X[:, 1:], y),
    "fit: time column": lambda gp, X, y: gp.set_params(time_column=2).fit(X[:, 1:], y),
    "fit: covariance": lambda gp, X, y: gp.fit(np.vstack([X, FAR]), np.append(y, 0.0)),
    "partial_fit: columns": lambda gp, X, y: gp.partial_fit(X[:, 1:], y),
    "partial_fit: NaN": lambda gp, X, y: gp.partial_fit(X[:1], [np.nan]),
    "partial_fit: variances": lambda gp, X, y: gp.partial_fit(X[:1], y[:1], [-1.0]),
    "partial_fit: covariance": lambda gp, X, y: gp.partial_fit(FAR, [0.0]),
    "partial_fit: last row": lambda gp, X, y: gp.partial_fit(np.vstack([X[:1], FAR]), y[:2]),
    "forget: everything": lambda gp, X, y: gp.forget(np.arange(len(y))),
    "forget: not there": lambda gp, X, y: gp.forget([0, 30]),
    "forget: not whole": lambda gp, X, y: gp.forget([0.5]),
}


@pytest.mark.parametrize("failure", FAILURES.values(), ids=list(FAILURES))
def test_after_an_error_all_is_as_before(failure):
    X, y = data(n=30)
    spare, values = data(n=5, seed=1)
    gp = make(Fragile(0.5), normalize_y=True).fit(X[:29], y[:29]).partial_fit(X[29:], y[29:])
    state, snapshot, before = dict(vars(gp)), copy.deepcopy(gp), everything(gp, spare)
    with pytest.raises(ValueError):
        failure(gp, X, y)
    parameters = gp.get_params(deep=False)
    assert vars(gp).keys() == state.keys()
    assert all(vars(gp)[name] is state[name] for name in state if name not in parameters)
    assert_array_equal(everything(gp, spare), before)
    # Nor has the storage behind the arrays changed.
    for model in (gp, snapshot):
        model.partial_fit(spare[:2], values[:2]).forget([3])
    assert_allclose(everything(gp, spare), everything(snapshot, spare), rtol=1e-12)


def test_a_first_fit_that_fails_leaves_nothing():
    X, y = data()
    for method in ("fit", "partial_fit"):
        gp = make(RBF([1.0, 2.0, 3.0]))
        with pytest.raises(ValueError, match="lengthscales"):
            getattr(gp, method)(X, y)
        assert vars(gp).keys() == gp.get_params(deep=False).keys()
        with pytest.raises(NotFittedError):
            gp.predict(X)


# --- what belongs to the caller -------------------------------------------------------------------


@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_the_callers_arrays_are_the_callers(method):
    X, y = data()
    v = np.linspace(0.0, 0.5, len(y))
    arrays = X.copy(), y.copy(), v.copy()
    gp = getattr(make(), method)(*arrays)
    before = [everything(gp, X), gp.log_marginal_likelihood(gp.theta_)]
    for array, given in zip(arrays, (X, y, v)):
        assert_array_equal(array, given)
        array[:] = 7.0
    after = [everything(gp, X), gp.log_marginal_likelihood(gp.theta_)]
    assert_array_equal(after[0], before[0])
    assert after[1] == before[1]
    assert_array_equal(gp.X_train_, X)
    assert_array_equal(gp.y_train_, y)
    gp.forget([0])
    fresh = make().fit(X[1:], y[1:], v[1:])
    assert_allclose(everything(gp, X), everything(fresh, X), rtol=1e-8, atol=1e-8)


def test_read_only_arrays():
    X, y = data()
    v = np.ones(len(y))
    for array in (X, y, v):
        array.flags.writeable = False
    gp = make(optimizer="fmin_l_bfgs_b").fit(X, y, v).partial_fit(X[:2], y[:2], v[:2])
    assert np.isfinite(everything(gp, X)).all()


def test_predictions_are_not_views():
    X, y = data()
    gp = make().fit(X, y)
    before = everything(gp, X)
    for returned in (*gp.predict(X, return_std=True), gp.predict(X, return_cov=True)[1]):
        returned[:] = np.nan
    gp.theta_[:] = np.nan
    assert_array_equal(everything(gp, X), before)


@pytest.mark.parametrize("optimizer", [None, "fmin_l_bfgs_b"])
@pytest.mark.parametrize("name", ["ard-forgetting", "rational-matern"])
def test_the_kernels_given_are_not_changed(name, optimizer):
    spatial, temporal = (clone(kernel) for kernel in MODELS[name][:2])
    gp = make(spatial, temporal, optimizer=optimizer)
    parameters = gp.get_params()
    X, y = data()
    gp.fit(X, y).partial_fit(X[:1], y[:1]).forget([0])
    assert gp.spatial_kernel is spatial
    assert gp.temporal_kernel is temporal
    assert (spatial, temporal) == MODELS[name][:2]
    assert gp.get_params() == parameters
    # And the other way round: changing them later does not change what was learnt.
    before, theta = everything(gp, X), gp.theta_
    spatial.theta = spatial.theta + 1.0
    temporal.theta = temporal.theta + 1.0
    assert_array_equal(everything(gp, X), before)
    assert_array_equal(gp.theta_, theta)
    learnt = np.r_[gp.spatial_kernel_.theta, gp.temporal_kernel_.theta]
    assert_array_equal(learnt, theta[1:-1])


def test_clone_is_unfitted():
    X, y = data()
    gp = clone(make().fit(X, y))
    assert not hasattr(gp, "X_train_")
    for use in (
        gp.predict,
        gp.sample_y,
        gp.forget,
        gp.log_marginal_likelihood,
        gp.relevancy,
        gp.relevancy_sweep,
        gp.posterior_at,
        lambda _: gp.theta_,
        lambda _: gp.spatial_kernel_,
        lambda _: gp.temporal_kernel_,
    ):
        with pytest.raises(NotFittedError):
            use([[0.0, 0.0, 0.0]])


# --- copies ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "duplicate",
    [lambda gp: pickle.loads(pickle.dumps(gp)), copy.deepcopy, copy.copy],
    ids=["pickle", "deepcopy", "copy"],
)
@pytest.mark.parametrize("name", ["matern52-matern32", "rational-matern"])
def test_copies_go_on_alone(duplicate, name):
    spatial, temporal, d, _ = MODELS[name]
    X, y = data(n=60, d=d)
    gp = make(spatial, temporal, normalize_y=True).fit(X[:40], y[:40])
    # The first row appended makes spare room in the factor, for which both copies would compete.
    gp.partial_fit(X[40:41], y[40:41])
    other = duplicate(gp)
    assert_array_equal(everything(other, X), everything(gp, X))
    for k in range(41, 50):
        gp.partial_fit(X[k : k + 1], y[k : k + 1])
        other.partial_fit(X[k + 10 : k + 11], y[k + 10 : k + 11])
    gp.forget([2])
    for model, rows in ((gp, [0, 1, *range(3, 50)]), (other, [*range(41), *range(51, 60)])):
        fresh = make(spatial, temporal, normalize_y=True).fit(X[rows], y[rows])
        assert_array_equal(model.X_train_, X[rows])
        assert_allclose(everything(model, X), everything(fresh, X), rtol=1e-8, atol=1e-8)


def test_a_pickle_goes_on_the_same():
    X, y = data(n=60)
    gp = TimeVaryingGPRegressor(random_state=0).fit(X[:40], y[:40]).partial_fit(X[40:42], y[40:42])
    other = pickle.loads(pickle.dumps(gp))
    for model in (gp, other):
        model.partial_fit(X[42:45], y[42:45]).forget([0, 9])
    assert_array_equal(everything(other, X), everything(gp, X))
    assert_array_equal(other.sample_y(X, random_state=1), gp.sample_y(X, random_state=1))


# --- unusual data ---------------------------------------------------------------------------------


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


# --- data frames ----------------------------------------------------------------------------------


@pytest.fixture
def frame():
    pandas = pytest.importorskip("pandas")
    X, y = data()
    return pandas.DataFrame({"hour": X[:, 2], "east": X[:, 0], "north": X[:, 1]}), y


def test_time_column_by_name(frame):
    X, y = frame
    gp = make(time_column="hour").fit(X[:38], y[:38]).partial_fit(X[38:], y[38:])
    expected = make(time_column=0).fit(X.to_numpy(), y)
    assert_allclose(everything(gp, X), everything(expected, X.to_numpy()), rtol=1e-9, atol=1e-9)
    assert list(gp.feature_names_in_) == ["hour", "east", "north"]
    assert_allclose(everything(make(time_column=0).fit(X, y), X), everything(gp, X), rtol=1e-9)


def test_time_columns_that_are_not_there(frame):
    X, y = frame
    with pytest.raises(ValueError, match=r"time_column='day' names no column: X has \['hour', 'e"):
        make(time_column="day").fit(X, y)
    with pytest.raises(ValueError, match="time_column='hour' names no column: X has no column nam"):
        make(time_column="hour").fit(X.to_numpy(), y)


def test_columns_in_another_order_are_refused(frame):
    X, y = frame
    gp = make(time_column="hour").fit(X, y)
    other = X[["east", "north", "hour"]]
    for use in (gp.predict, partial(gp.partial_fit, y=y)):
        with pytest.raises(ValueError, match="feature names should match"):
            use(other)


def test_names_go_with_the_frame(frame):
    X, y = frame
    gp = make(time_column=0).fit(X, y).fit(X.to_numpy(), y)
    assert not hasattr(gp, "feature_names_in_")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        gp.predict(X.to_numpy())


# --- samples --------------------------------------------------------------------------------------


def moments_agree(samples, mean, cov):
    """Whether the samples (m, n) have these moments, up to five standard errors."""
    n = samples.shape[1]
    error_of_mean = np.sqrt(np.diagonal(cov) / n)
    error_of_cov = np.sqrt((np.outer(np.diagonal(cov), np.diagonal(cov)) + cov**2) / n)
    return bool(
        np.all(np.abs(samples.mean(axis=1) - mean) < 5.0 * error_of_mean)
        and np.all(np.abs(np.cov(samples) - cov) < 5.0 * error_of_cov)
    )


@pytest.mark.parametrize("normalize_y", [False, True])
def test_samples_have_the_posteriors_moments(normalize_y):
    X, y = data()
    y = 3.0 * y + 10.0
    gp = make(normalize_y=normalize_y).fit(X, y)
    new = X[10:14] + 0.02
    mean, cov = gp.predict(new, return_cov=True)
    samples = gp.sample_y(new, 20_000, random_state=0)
    assert samples.shape == (4, 20_000)
    assert moments_agree(samples, mean, cov)
    # Wrong samplers do not pass: independent draws, a wrong scale, observations instead of f.
    normal = np.random.RandomState(0).normal(size=samples.shape)
    center, spread = mean[:, np.newaxis], np.sqrt(np.diagonal(cov))[:, np.newaxis]
    noise = np.sqrt(0.02) * (y.std() if normalize_y else 1.0)
    assert not moments_agree(center + spread * normal, mean, cov)
    assert not moments_agree(center + 1.1 * (samples - center), mean, cov)
    assert not moments_agree(samples + noise * normal, mean, cov)


def test_samples_are_reproducible():
    X, y = data()
    gp = make().fit(X, y)
    first = gp.sample_y(X[:3])
    assert first.shape == (3, 1)
    assert_array_equal(gp.sample_y(X[:3], random_state=np.random.RandomState(0)), first)
    assert np.any(gp.sample_y(X[:3], random_state=1) != first)


# --- the search -----------------------------------------------------------------------------------


def test_fixed_hyperparameters_stay():
    X, y = data()
    spatial, temporal = RBF(0.5), Matern(2.0, "fixed", nu=1.5)
    gp = TimeVaryingGPRegressor(
        *(spatial, temporal), signal_variance=1.7, signal_variance_bounds="fixed"
    ).fit(X, y)
    assert gp.signal_variance_ == 1.7
    assert gp.temporal_kernel_ == temporal
    assert_allclose(gp.theta_, [gp.spatial_kernel_.theta[0], np.log(gp.noise_variance_)])
    assert gp.spatial_kernel_.length_scale != 0.5
    gp.set_params(spatial_kernel=RBF(0.5, "fixed"), noise_variance_bounds="fixed").fit(X, y)
    assert gp.theta_.shape == (0,)
    assert gp.noise_variance_ == 1e-2
    value, gradient = gp.log_marginal_likelihood([], eval_gradient=True)
    assert value == pytest.approx(gp.log_marginal_likelihood())
    assert gradient.shape == (0,)


def test_learnt_hyperparameters_lie_within_their_bounds():
    X, y = data()
    bounds = {"signal_variance_bounds": (2.0, 3.0), "noise_variance_bounds": (0.5, 0.6)}
    gp = TimeVaryingGPRegressor(RBF(5.0, (4.0, 6.0)), Forgetting(0.5, (0.4, 0.6)), **bounds)
    gp.fit(X, y)
    tolerance = 1.0 + 1e-12
    assert 2.0 / tolerance <= gp.signal_variance_ <= 3.0 * tolerance
    assert 0.5 / tolerance <= gp.noise_variance_ <= 0.6 * tolerance
    assert 4.0 / tolerance <= gp.spatial_kernel_.length_scale <= 6.0 * tolerance
    assert 0.4 / tolerance <= gp.temporal_kernel_.epsilon <= 0.6 * tolerance


def test_theta_is_in_the_documented_order():
    X, y = data()
    gp = TimeVaryingGPRegressor(RBF([0.5, 0.7]), Forgetting(0.1)).fit(X, y)
    expected = [
        gp.signal_variance_,
        *gp.spatial_kernel_.length_scale,
        gp.temporal_kernel_.epsilon,
        gp.noise_variance_,
    ]
    assert_allclose(np.exp(gp.theta_), expected, rtol=1e-12)


def test_default_kernels_follow_the_data():
    X, y = data()
    X *= [20.0, 5.0, 3600.0]
    gp = TimeVaryingGPRegressor().fit(X, y)
    extent, gaps = np.ptp(X[:, 0]), np.diff(X[:, 2])
    assert gp.spatial_kernel_.nu == 2.5
    assert gp.temporal_kernel_.nu == 1.5
    assert_allclose(gp.spatial_kernel_.length_scale_bounds, [0.01 * extent, 10.0 * extent])
    assert_allclose(gp.temporal_kernel_.length_scale_bounds, [np.median(gaps), 10.0 * gaps.sum()])
    gp.set_params(optimizer=None).fit(X, y)
    assert gp.spatial_kernel_ == Matern(nu=2.5)
    assert gp.temporal_kernel_ == Matern(nu=1.5)


def test_custom_optimizer():
    X, y = data()
    calls = []

    def optimizer(obj_func, initial_theta, bounds):
        value, gradient = obj_func(initial_theta)
        assert obj_func(initial_theta, eval_gradient=False) == pytest.approx(value)
        calls.append((initial_theta, bounds, value, gradient))
        return initial_theta + 0.1, float(len(calls))

    gp = make(RBF(0.5), RBF(2.0), optimizer=optimizer, n_restarts_optimizer=2, random_state=3)
    gp.fit(X, y)
    start = np.log([1.3, 0.5, 2.0, 0.02])
    # The first of three searches returned the smallest value.
    assert_allclose(gp.theta_, start + 0.1)
    assert_allclose(calls[0][0], start)
    value, gradient = gp.log_marginal_likelihood(start, eval_gradient=True)
    assert calls[0][2] == pytest.approx(-value)
    assert_allclose(calls[0][3], -gradient)
    assert len(calls) == 3
    for theta, bounds, *_ in calls:
        assert bounds.shape == (4, 2)
        assert np.all((bounds[:, 0] <= theta) & (theta <= bounds[:, 1]))
    assert np.any(calls[1][0] != calls[2][0])


def test_restarts_never_make_it_worse():
    X, y = data(n=25)
    bad_start = make(RBF(50.0), RBF(50.0), optimizer="fmin_l_bfgs_b", random_state=0)
    one = clone(bad_start).fit(X, y)
    several = clone(bad_start).set_params(n_restarts_optimizer=5).fit(X, y)
    assert several.log_marginal_likelihood_value_ >= one.log_marginal_likelihood_value_
    again = clone(several).fit(X, y)
    assert_array_equal(again.theta_, several.theta_)


def first_start(obj_func, initial_theta, bounds):
    """An optimizer that is content with where it is."""
    return initial_theta, obj_func(initial_theta, eval_gradient=False)


def test_a_start_out_of_bounds_is_moved_in():
    X, y = data()
    gp = make(RBF(1e-9), RBF(2.0), optimizer=first_start, signal_variance=1e7).fit(X, y)
    assert_allclose(np.exp(gp.theta_), [1e3, 1e-5, 2.0, 0.02], rtol=1e-9)
    assert gp.signal_variance == 1e7


def test_grid_search_over_the_kernels_parameters():
    X, y = data()
    search = GridSearchCV(make(), {"temporal_kernel__length_scale": [1e-3, 3.0]}, cv=3).fit(X, y)
    assert search.best_params_ == {"temporal_kernel__length_scale": 3.0}


def test_going_on_searching_from_what_was_learnt():
    X, y = data(n=60)
    gp = TimeVaryingGPRegressor(RBF(0.5), RBF(2.0)).fit(X[:50], y[:50])
    held, searched = copy.deepcopy(gp), copy.deepcopy(gp)
    held._update(X[50:], y[50:], refit=False)
    searched._update(X[50:], y[50:], refit=True)
    assert_array_equal(held.theta_, gp.theta_)
    assert_array_equal(searched.X_train_, X)
    assert searched.log_marginal_likelihood() >= held.log_marginal_likelihood()
    assert np.any(searched.theta_ != gp.theta_)
    waiting = copy.deepcopy(gp).set_params(optimizer=first_start)
    waiting._update(X[50:], y[50:], refit=True)
    assert_allclose(waiting.theta_, gp.theta_, rtol=1e-12)
    expected = gp.partial_fit(X[50:], y[50:])
    assert_allclose(everything(held, X), everything(expected, X), rtol=1e-12)


@pytest.mark.parametrize("drop", [[], [7, 0], range(50)], ids=["none", "two", "all"])
@pytest.mark.parametrize("refit", [False, True])
def test_dropping_and_adding_in_one_step(drop, refit):
    X, y = data(n=60)
    gp = TimeVaryingGPRegressor(RBF(0.5), RBF(2.0)).fit(X[:50], y[:50])
    gp._update(X[50:], y[50:], drop=drop, refit=refit)
    left = np.setdiff1d(np.arange(60), drop)
    assert_array_equal(gp.X_train_, X[left])
    fresh = make(
        gp.spatial_kernel_,
        gp.temporal_kernel_,
        signal_variance=gp.signal_variance_,
        noise_variance=gp.noise_variance_,
    ).fit(X[left], y[left])
    assert_allclose(everything(gp, X), everything(fresh, X), rtol=1e-8, atol=1e-8)


# --- relevancies ----------------------------------------------------------------------------------


@pytest.mark.parametrize("normalize_y", [False, True])
@pytest.mark.parametrize("name", ["rbf-rbf", "ard-forgetting", "time-first", "time-alone"])
def test_relevancy_is_the_functions(name, normalize_y):
    gp, *_ = both(*MODELS[name], normalize_y=normalize_y)
    y, variance = gp.y_train_, np.linspace(0.0, 0.1, len(gp.y_train_))
    mean, scale = (y.mean(), y.std()) if normalize_y else (0.0, 1.0)
    gp.fit(gp.X_train_, y, variance)
    for now in (None, 8.5, 20.0):
        expected = wasserstein_relevancy(
            *(gp.X_train_, (y - mean) / scale),
            spatial_kernel=gp.spatial_kernel,
            temporal_kernel=gp.temporal_kernel,
            signal_variance=1.3,
            noise_variance=0.02 + variance / scale**2,
            now=gp.X_train_[:, gp.time_column].max() if now is None else now,
            time_column=gp.time_column,
        )
        assert_allclose(gp.relevancy(now), expected, rtol=1e-8, atol=1e-9)


def test_relevancy_after_a_stream():
    gp = make(normalize_y=True)
    for X, y, v in stream(gp, 0, 60, variances=True):
        fresh = clone(gp).fit(X, y, v)
        assert_allclose(gp.relevancy(9.0), fresh.relevancy(9.0), rtol=1e-6, atol=1e-9)


def test_sweep_foretells_the_relevancy_after_forgetting():
    gp = make().fit(*data())
    before = everything(gp, X0)
    sweep = gp.relevancy_sweep(9.0)
    for position in (3, 20, 0):
        sweep.remove(position)
    assert_array_equal(everything(gp, X0), before)
    gp.forget(np.setdiff1d(np.arange(40), sweep.index))
    found = sweep.relevancy()[np.argsort(sweep.index)]
    assert_allclose(found, gp.relevancy(9.0), rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("shift", [0.0, 0.1, 1.7e9 + 0.3])
def test_now_may_be_the_latest_time(shift):
    X, y = data()
    gp = make().fit(X + np.array([0.0, 0.0, shift]), y)
    latest = gp.X_train_[:, -1].max()
    assert_array_equal(gp.relevancy(latest), gp.relevancy())
    # Rounding on the user's side is no error.
    assert_allclose(gp.relevancy(np.nextafter(latest, 0.0)), gp.relevancy(), rtol=1e-9)


@pytest.mark.parametrize(
    ("now", "message"),
    [
        (1.0, "now must be no earlier than any observation"),
        (np.nan, "now must be finite"),
        (np.inf, "now must be finite"),
    ],
)
def test_relevancy_at_times_that_make_no_sense(now, message):
    with pytest.raises(ValueError, match=message):
        make().fit(*data()).relevancy(now)


@pytest.mark.parametrize(
    ("kernels", "message"),
    [
        ((RationalQuadratic(), RBF()), "not available for RationalQuadratic"),
        ((RBF(), ExpSineSquared()), "not available for ExpSineSquared"),
        ((RBF(), ConstantKernel(1.0, "fixed")), "never forgets"),
        ((ConstantKernel(1.0, "fixed"), RBF()), "The relevancy of observations is not available"),
    ],
    ids=str,
)
def test_relevancy_of_unsupported_kernels(kernels, message):
    gp = make(*kernels).fit(*data())
    with pytest.raises(UnsupportedKernelError, match=message):
        gp.relevancy()


# --- the posterior at one time --------------------------------------------------------------------


@pytest.mark.parametrize("normalize_y", [False, True])
@every_model
def test_posterior_at_one_time(spatial, temporal, d, column, normalize_y):
    gp, _, _ = both(spatial, temporal, d, column, normalize_y=normalize_y)
    t, step = 8.3, 1e-5
    S = np.random.RandomState(1).uniform(size=(5, d))
    at_t = gp.posterior_at(t)
    rows = np.column_stack([S, np.full(5, t)])
    expected = gp.predict(with_time_at(rows, column) if column >= 0 else rows, return_std=True)
    for found, reference in zip(at_t(S), expected):
        assert_allclose(found, reference, rtol=1e-10)
    mean, std, *slopes = at_t.with_gradient(S[0])
    assert_allclose([mean, std], [expected[0][0], expected[1][0]], rtol=1e-8)
    for k, move in enumerate(step * np.eye(d)):
        up, down = at_t((S[0] + move)[np.newaxis]), at_t((S[0] - move)[np.newaxis])
        for slope, high, low in zip(slopes, up, down):
            assert slope[k] == pytest.approx((high[0] - low[0]) / (2.0 * step), rel=1e-4, abs=1e-6)


# --- errors ---------------------------------------------------------------------------------------

PARAMETER_ERRORS = [
    ({"signal_variance": 0.0}, "'signal_variance' parameter must be a positive finite float"),
    ({"signal_variance": np.inf}, r"'signal_variance' parameter must be .* Got inf instead"),
    ({"signal_variance": "one"}, r"'signal_variance' parameter must be .* Got 'one' instead"),
    ({"noise_variance": -1.0}, r"'noise_variance' parameter must be .* Got -1\.0 instead"),
    ({"noise_variance": np.nan}, r"'noise_variance' parameter must be .* Got nan instead"),
    ({"noise_variance": [0.1, 0.2]}, "'noise_variance' parameter must be a positive finite float"),
    ({"signal_variance_bounds": "free"}, "'signal_variance_bounds' parameter must be 'fixed' or"),
    ({"signal_variance_bounds": None}, r"'signal_variance_bounds' .* Got None instead"),
    ({"signal_variance_bounds": ("a", "b")}, "'signal_variance_bounds' parameter must be"),
    ({"noise_variance_bounds": (2.0, 1.0)}, r"a pair 0 < low <= high\. Got \(2\.0, 1\.0\)"),
    ({"noise_variance_bounds": (0.0, 1.0)}, "'noise_variance_bounds' parameter must be"),
    ({"noise_variance_bounds": (1.0, np.inf)}, "'noise_variance_bounds' parameter must be"),
    ({"noise_variance_bounds": (0.1, 1.0, 2.0)}, "'noise_variance_bounds' parameter must be"),
    ({"spatial_kernel": "rbf"}, "'spatial_kernel' parameter must be a scikit-learn kernel or None"),
    ({"temporal_kernel": RBF}, "'temporal_kernel' parameter must be a scikit-learn kernel or None"),
    ({"temporal_kernel": Forgetting(1.5)}, "'epsilon' parameter of Forgetting must be"),
    ({"temporal_kernel": Forgetting(0.5, (1e-3, 1.0))}, "epsilon_bounds"),
    ({"spatial_kernel": RBF([1.0] * 3)}, r"one, or one per column \(2\)\. Got 3 lengthscales"),
    ({"temporal_kernel": RBF([1.0] * 2)}, r"one, or one per column \(1\)\. Got 2 lengthscales"),
    ({"spatial_kernel": RBF(-1.0)}, "parameter of RBF must be positive and finite"),
    ({"optimizer": "adam"}, "'optimizer' parameter must be 'fmin_l_bfgs_b', a callable or None"),
    ({"n_restarts_optimizer": -1}, "'n_restarts_optimizer' parameter must be a non-negative int"),
    ({"n_restarts_optimizer": 1.5}, r"'n_restarts_optimizer' parameter .* Got 1\.5 instead"),
    ({"time_column": 3}, r"'time_column' parameter must be .* 3 columns of X\. Got 3 instead"),
    ({"time_column": -4}, r"'time_column' parameter must be .* 3 columns of X\. Got -4 instead"),
    ({"time_column": 0.0}, r"'time_column' parameter must be .* Got 0\.0 instead"),
    ({"time_column": "hour"}, "time_column='hour' names no column: X has no column names"),
]


@pytest.mark.parametrize(("parameters", "message"), PARAMETER_ERRORS, ids=str)
@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_wrong_parameters(parameters, message, method):
    gp = TimeVaryingGPRegressor(**parameters)
    with pytest.raises(ValueError, match=message):
        getattr(gp, method)(*data())


def test_a_search_needs_finite_bounds():
    with pytest.raises(ValueError, match="Searching the hyperparameters needs finite bounds"):
        TimeVaryingGPRegressor(RBF(1.0, (1e-3, np.inf))).fit(*data())


X0, Y0 = data(n=5)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((np.full((5, 3), np.nan), Y0), "Input X contains NaN"),
        ((np.full((5, 3), np.inf), Y0), "Input X contains infinity"),
        ((X0, np.full(5, np.nan)), "Input y contains NaN"),
        ((X0, np.full(5, -np.inf)), "Input y contains infinity"),
        ((X0, Y0[:3]), "inconsistent numbers of samples"),
        ((X0, np.ones((5, 2))), "y should be a 1d array"),
        ((X0[:, 0], Y0), "Expected 2D array"),
        ((X0[:0], Y0[:0]), "0 sample"),
        ((1j * X0, Y0), "Complex data not supported"),
        ((X0, Y0, np.ones(4)), r"y_variance must hold 5 .* Got shape \(4,\)"),
        ((X0, Y0, np.ones((5, 1))), r"y_variance must hold 5 .* Got shape \(5, 1\)"),
        ((X0, Y0, -np.ones(5)), r"y_variance must hold 5 non-negative .* minimum -1\.0"),
        ((X0, Y0, np.full(5, np.nan)), "y_variance must hold 5 non-negative finite numbers"),
        ((X0, Y0, np.full(5, np.inf)), "y_variance must hold 5 non-negative finite numbers"),
    ],
    ids=range(14),
)
def test_wrong_data(arguments, message):
    for call in (make().fit, make().partial_fit, make().fit(*data()).partial_fit):
        with pytest.raises(ValueError, match=message):
            call(*arguments)


@pytest.mark.parametrize(
    ("indices", "message"),
    [
        ([5], r"indices must lie in \[0, 5\), the rows of X_train_\. Got 5 to 5"),
        ([-6, 0], r"indices must lie in \[0, 5\).* Got -6 to 0"),
        ([0.0, 1.0], "indices must be integers or a mask. Got dtype float64"),
        (["a"], "indices must be integers or a mask"),
        (None, "indices must be integers or a mask"),
        ([True, False], r"A mask must have shape \(5,\)\. Got \(2,\)"),
        (range(5), "At least one of the 5 rows has to stay"),
        (np.ones(5, dtype=bool), "At least one of the 5 rows has to stay"),
    ],
    ids=str,
)
def test_rows_that_cannot_be_forgotten(indices, message):
    with pytest.raises(ValueError, match=message):
        make().fit(X0, Y0).forget(indices)


def test_wrong_questions():
    gp = make().fit(X0, Y0)
    with pytest.raises(ValueError, match="At most one of return_std and return_cov"):
        gp.predict(X0, return_std=True, return_cov=True)
    with pytest.raises(ValueError, match="X has 2 features, but TimeVaryingGPRegressor is expecti"):
        gp.predict(X0[:, 1:])
    with pytest.raises(ValueError, match="X has 2 features, but TimeVaryingGPRegressor is expecti"):
        gp.partial_fit(X0[:, 1:], Y0)
    with pytest.raises(ValueError, match="Input X contains NaN"):
        gp.predict(X0 * np.nan)
    with pytest.raises(ValueError, match=r"theta must be .* shape \(4,\)\. Got shape \(3,\)"):
        gp.log_marginal_likelihood(np.zeros(3))


class Indefinite(RationalQuadratic):
    """A kernel that is none."""

    def __call__(self, X, Y=None, eval_gradient=False):
        K = super().__call__(X, Y, eval_gradient)
        return (2.0 - K[0], K[1]) if eval_gradient else 2.0 - K


def test_a_kernel_that_is_none():
    message = r"The 5 x 5 covariance matrix of 1\.3 \* Indefinite.* is not positive definite.*Raise"
    with pytest.raises(NotPositiveDefiniteError, match=message):
        make(Indefinite()).fit(X0, Y0)


def test_a_kernel_that_is_not_a_number():
    with pytest.raises(NotPositiveDefiniteError, match="has entries that are not finite"):
        make(Fragile()).fit(np.vstack([X0, FAR]), np.append(Y0, 0.0))


@pytest.mark.parametrize("optimizer", [None, "fmin_l_bfgs_b"])
@pytest.mark.parametrize("scale", [1e200, 1e308])
def test_numbers_that_overflow(scale, optimizer):
    gp = make(optimizer=optimizer, noise_variance=1e-6)
    with pytest.raises(NotPositiveDefiniteError, match=r"Scale y .*normalize_y=True"):
        gp.fit(X0, scale * Y0)


def test_normalization_is_the_remedy_for_overflow():
    expected = make(normalize_y=True).fit(X0, Y0).predict(X0, return_std=True)
    found = make(normalize_y=True).fit(X0, 1e200 * Y0).predict(X0, return_std=True)
    assert_allclose(np.array(found) / 1e200, expected, rtol=1e-10)
