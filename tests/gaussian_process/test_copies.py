"""Arrays and kernels of the caller, and independent copies."""

import copy
import io
import json
import pickle

import joblib
import numpy as np
import pytest
from gaussian_process.cases import MODELS, afresh, data, everything, lifted, make
from gaussian_process.models import MODELS as FAMILIES
from gaussian_process.models import rows as rows_of
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.gaussian_process.kernels import ExpSineSquared, Matern, RationalQuadratic

from sktvbo import SparseTimeVaryingGPRegressor
from sktvbo.gaussian_process import QuadraticMean

SPARSE = SparseTimeVaryingGPRegressor

# --- arrays and kernels of the caller -------------------------------------------------------------


@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_arrays_of_the_caller_are_neither_changed_nor_shared(method):
    X, y = data()
    given = X, y, np.linspace(0.0, 0.5, len(y))
    arrays = [array.copy() for array in given]
    gp = getattr(make(), method)(*arrays)
    for array, kept in zip(arrays, given):
        assert_array_equal(array, kept)
        array[:] = 7.0
    assert_array_equal(gp.X_train_, X)
    assert_array_equal(gp.y_train_, y)
    gp.forget([0])
    fresh = make().fit(*(array[1:] for array in given))
    assert_allclose(everything(gp, X), everything(fresh, X), rtol=1e-8, atol=1e-8)


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
    gp, (X, y) = make(spatial, temporal, optimizer=optimizer), data()
    gp.fit(X, y).partial_fit(X[:1], y[:1]).forget([0])
    assert gp.spatial_kernel is spatial
    assert gp.temporal_kernel is temporal
    assert (spatial, temporal) == MODELS[name][:2]
    # Changing them later has no effect either.
    before, theta = everything(gp, X), gp.theta_
    spatial.theta = spatial.theta + 1.0
    temporal.theta = temporal.theta + 1.0
    assert_array_equal(everything(gp, X), before)
    assert_array_equal(gp.theta_, theta)
    assert_array_equal(np.r_[gp.spatial_kernel_.theta, gp.temporal_kernel_.theta], theta[1:-1])


READ = ("theta_", "spatial_kernel_", "temporal_kernel_", "fitted_")
CALLED = ("predict", "predict_terms", "sample_y", "forget", "without", "log_marginal_likelihood")
CALLED += ("relevancy", "posterior_at")


def test_clone_is_unfitted():
    X, y = data()
    gp = clone(make().fit(X, y))
    assert not hasattr(gp, "X_train_")
    uses = [lambda name=name: getattr(gp, name) for name in READ]
    uses += [lambda name=name: getattr(gp, name)([[0.0, 0.0, 0.0]]) for name in CALLED]
    for use in (*uses, lambda: gp.condition_on(X, y), gp.refit):
        with pytest.raises(NotFittedError):
            use()


# --- copies ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "duplicate",
    [lambda gp: pickle.loads(pickle.dumps(gp)), copy.deepcopy, copy.copy],
    ids=["pickle", "deepcopy", "copy"],
)
@pytest.mark.parametrize(
    "model",
    [{}, {"spatial": RationalQuadratic(0.4)}, {"kind": SPARSE, "inducing": data(n=9, seed=1)[0]}],
    ids=["exact", "general kernel", "sparse"],
)
def test_copies_are_independent(duplicate, model):
    X, y = data(n=60)
    gp = make(**model, normalize_y=True).fit(X[:40], y[:40])
    # The first append allocates capacity in the factor, for which both copies would compete.
    gp.partial_fit(X[40:41], y[40:41])
    other = duplicate(gp)
    assert_array_equal(everything(other, X), everything(gp, X))
    for k in range(41, 50):
        gp.partial_fit(X[k : k + 1], y[k : k + 1])
        other.partial_fit(X[k + 10 : k + 11], y[k + 10 : k + 11])
    gp.forget([2])
    for model, rows in ((gp, [0, 1, *range(3, 50)]), (other, [*range(41), *range(51, 60)])):
        fresh = afresh(gp, X[rows], y[rows])
        assert_array_equal(model.X_train_, X[rows])
        assert_allclose(everything(model, X), everything(fresh, X), rtol=1e-8, atol=1e-8)


# --- files ----------------------------------------------------------------------------------------


def through_joblib(gp):
    file = io.BytesIO()
    joblib.dump(gp, file)
    file.seek(0)
    return joblib.load(file)


def through_states(value):
    """Rebuild an object as skops does: from plain values, arrays, and types with their states."""
    if isinstance(value, dict):
        return {through_states(key): through_states(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return type(value)([through_states(part) for part in value])
    if value is None or isinstance(value, bool | int | float | str | type | np.generic):
        return value
    if isinstance(value, np.ndarray):
        return value.copy()
    if isinstance(value, slice):
        json.dumps([value.start, value.stop, value.step])
    constructor, arguments, *_ = value.__reduce__()  # an error for objects with slots
    if constructor is type(value):
        return constructor(*through_states(arguments))
    new = type(value).__new__(type(value))
    if hasattr(new, "__setstate__"):
        new.__setstate__(through_states(value.__getstate__()))
    else:
        vars(new).update(through_states(value.__getstate__()))
    return new


FILES = {
    f"pickle {protocol}": lambda gp, protocol=protocol: pickle.loads(pickle.dumps(gp, protocol))
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1)
} | {"joblib": through_joblib, "deepcopy": copy.deepcopy, "states": through_states}

STORED = FAMILIES | {
    "kalman": make(solver="kalman", normalize_y=True),
    "kalman-season": make(
        temporal=Matern(3.0) + Matern(9.0, nu=0.5) * ExpSineSquared(3.0, 2.0), solver="kalman"
    ),
    "robust": make(robust=True, mean_prior_std=1.0),
    "prior-mean": make(prior_mean=QuadraticMean(only_if_likelier=True)),
    "learnt": make(optimizer="fmin_l_bfgs_b", noise_variance=0.05),
}


@pytest.mark.parametrize("name", STORED)
def test_every_fitted_model_can_be_stored(name):
    X, y, v = lifted()
    gp = clone(STORED[name])
    X = rows_of(gp, np.round(X[:, :-1]) if name.startswith("kalman") else X[:, :-1], X[:, -1])
    gp.fit(X[:25], y[:25], v[:25]).partial_fit(X[25:28], y[25:28])
    # Values computed on demand are no part of what is stored.
    gp.predict(X, return_cov=True), gp.log_marginal_likelihood(gp.theta_, eval_gradient=True)
    assert gp._gp.covariance.periodic_bounds.keys() <= set(gp._gp.covariance.names)
    expected = everything(gp, X), everything(gp.condition_on(X[28:], y[28:]), X)
    for way, through in FILES.items():
        other = through(gp)
        found = everything(other, X), everything(other.condition_on(X[28:], y[28:]), X)
        assert_array_equal(found, expected, err_msg=way)
        assert other.get_params().keys() == gp.get_params().keys()
