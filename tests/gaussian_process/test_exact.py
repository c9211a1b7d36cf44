"""Exact regressor: conventions and results of scikit-learn."""

import numpy as np
import pytest
from gaussian_process.cases import (
    MODELS,
    assert_same_posterior,
    both,
    data,
    every_model,
    everything,
    make,
)
from numpy.testing import assert_allclose
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, RationalQuadratic, WhiteKernel
from sklearn.utils.estimator_checks import parametrize_with_checks

from sktvbo import TimeVaryingGPRegressor
from sktvbo.kernels import Forgetting, Separable


@parametrize_with_checks(
    [
        TimeVaryingGPRegressor(),
        TimeVaryingGPRegressor(optimizer=None, normalize_y=True, time_column=0),
    ]
)
def test_scikit_learns_checks(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks(
    [
        TimeVaryingGPRegressor(normalize_y=True, time_column=0),
        TimeVaryingGPRegressor(RBF(), Forgetting()),
        TimeVaryingGPRegressor(RationalQuadratic()),
        TimeVaryingGPRegressor(n_restarts_optimizer=1, random_state=0),
        TimeVaryingGPRegressor(optimizer=None, max_size=150),
    ]
)
def test_scikit_learns_checks_that_are_slow(estimator, check):
    check(estimator)


@every_model
@pytest.mark.parametrize("normalize_y", [False, True])
def test_predictions_are_scikit_learns(spatial, temporal, d, column, normalize_y):
    ours, theirs, new = both(spatial, temporal, d, column, normalize_y=normalize_y)
    X = np.vstack([new, ours.X_train_[:5]])
    assert_same_posterior(ours, theirs, X)
    assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-8, atol=1e-8)
    value = theirs.log_marginal_likelihood()
    assert ours.log_marginal_likelihood() == pytest.approx(value, rel=1e-8)


def scikit_learns_with_noise(gp, **parameters):
    """Return scikit-learn's regressor with prior and noise of our fitted model, as kernels."""
    spatial = gp.spatial_kernel or RBF(1.0, "fixed")
    separable = Separable(spatial, gp.temporal_kernel, time_column=gp.time_column)
    signal = ConstantKernel(gp.signal_variance, gp.signal_variance_bounds)
    noise = WhiteKernel(gp.noise_variance, gp.noise_variance_bounds)
    theirs = GaussianProcessRegressor(signal * separable + noise, alpha=0.0, **parameters)
    return theirs.fit(gp.X_train_, gp.y_train_)


@every_model
def test_likelihood_and_gradient_are_scikit_learns(spatial, temporal, d, column):
    if d == 0:
        # Without columns of space its kernel has no hyperparameters.
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
    value = gp.log_marginal_likelihood(gp.theta_)
    assert value == pytest.approx(gp.log_marginal_likelihood_value_, rel=1e-10)


def converted(convert):
    """Return a kernel that is not recognized, whose matrices are converted."""

    class Converted(RationalQuadratic):
        def __call__(self, X, Y=None, eval_gradient=False):
            found = super().__call__(X, Y, eval_gradient)
            return tuple(map(convert, found)) if eval_gradient else convert(found)

    return Converted


@pytest.mark.parametrize(("convert", "rtol"), [(np.asfortranarray, 1e-8), (np.float32, 1e-3)])
@pytest.mark.parametrize("d", [0, 2])
def test_unknown_kernels_may_return_any_real_matrix(convert, rtol, d):
    X, y = data(d=d)
    new, values = data(n=1, d=d, seed=3)
    kind = converted(convert)
    expected = make(RationalQuadratic(0.5), RationalQuadratic(2.0)).fit(X, y)
    gp = make(kind(0.5), kind(2.0)).fit(X, y)
    for _ in range(2):
        assert_allclose(everything(gp, X[::2]), everything(expected, X[::2]), rtol=rtol, atol=rtol)
        expected.partial_fit(new, values).forget([0])
        gp.partial_fit(new, values).forget([0])
