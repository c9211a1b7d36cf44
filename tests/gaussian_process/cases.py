"""Data, models and streams shared by the tests of the regressors."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import (
    RBF,
    ConstantKernel,
    DotProduct,
    ExpSineSquared,
    Matern,
    RationalQuadratic,
)

from sktvbo import SparseTimeVaryingGPRegressor, TimeVaryingGPRegressor
from sktvbo.gaussian_process import WeightedTimeVaryingGPRegressor
from sktvbo.kernels import Forgetting, Separable

KINDS = [TimeVaryingGPRegressor, WeightedTimeVaryingGPRegressor, SparseTimeVaryingGPRegressor]
each = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)


def data(n=40, d=2, seed=0):
    """Return places in the unit box, increasing times, and noisy values of a drifting function."""
    rng = np.random.RandomState(seed)
    X = np.column_stack([rng.uniform(size=(n, d)), np.sort(rng.uniform(0.0, 8.0, n))])
    y = np.sin(4.0 * X[:, :-1].sum(axis=1) + 0.5 * X[:, -1]) + 0.1 * rng.normal(size=n)
    return X, y


def moving_waves(n=30, seed=0, level=3.0):
    """Return n places in two dimensions with times up to n, and noisy waves around a level."""
    rng = np.random.RandomState(seed)
    X = np.column_stack([rng.uniform(size=(n, 2)), np.sort(rng.uniform(0.0, n, n))])
    return X, level + np.sin(5.0 * X[:, 0] + 0.2 * X[:, 2]) + 0.1 * rng.normal(size=n)


# Places and times at which to predict, for 30 of them.
PLACES = np.column_stack([np.random.RandomState(1).uniform(size=(7, 2)), np.linspace(25, 34, 7)])


def shuffled(n=40, seed=0):
    """Return places with shuffled times, noisy values of a static function, and known variances."""
    rng = np.random.RandomState(seed)
    X = np.column_stack([rng.uniform(size=(n, 2)), rng.permutation(n) + 100.0])
    return X, np.sin(5.0 * X[:, 0]) + 0.1 * rng.normal(size=n), rng.uniform(0.0, 0.3, n)


START, LATEST = 50.0, 60.0


def lifted(n=30, d=2, seed=0):
    """Return places with times from START to LATEST, values about 3, and known variances."""
    rng = np.random.RandomState(seed)
    X = np.column_stack([rng.uniform(size=(n, d)), np.sort(rng.uniform(START, LATEST, n))])
    y = 3.0 + 2.0 * np.sin(4.0 * X[:, :-1].sum(axis=1) + 0.4 * X[:, -1])
    return X, y + 0.1 * rng.normal(size=n), rng.uniform(0.0, 0.2, n)


def with_time_at(X, column):
    """Move the last column of X to another position."""
    return np.insert(X[:, :-1], column, X[:, -1], axis=1)


def make(spatial=None, temporal=None, kind=TimeVaryingGPRegressor, **parameters):
    """Return a regressor with fixed hyperparameters, unless an optimizer is given."""
    spatial = Matern(0.5, nu=2.5) if spatial is None else spatial
    temporal = Matern(3.0, nu=1.5) if temporal is None else temporal
    defaults = {"signal_variance": 1.3, "noise_variance": 0.02, "optimizer": None}
    return kind(spatial, temporal, **defaults | parameters)


def as_learnt(gp):
    """Return a regressor with the learnt hyperparameters of another."""
    return make(
        gp.spatial_kernel_,
        gp.temporal_kernel_,
        signal_variance=gp.signal_variance_,
        noise_variance=gp.noise_variance_,
    )


def afresh(gp, X, y, v=None):
    """Condition on rows from nothing, with the hyperparameters, scale of y and time of another."""
    return gp.fitted_.with_rows(X, y, v).at(gp.now_).regressor()


def prior(gp):
    """Return the learnt covariance of f as one scikit-learn kernel."""
    kernel = Separable(gp.spatial_kernel_, gp.temporal_kernel_, time_column=gp.time_column)
    return ConstantKernel(gp.signal_variance_, "fixed") * kernel


def dense_prediction(gp, X, y, noise, new, mean, scale):
    """Return mean and standard deviation by dense algebra; noise is in units of standardized y."""
    k = prior(gp)
    P = np.linalg.inv(k(X) + np.diag(noise))
    K = k(new, X)
    variance = k.diag(new) - np.einsum("ij,jk,ik->i", K, P, K)
    return mean + scale * K @ P @ ((y - mean) / scale), scale * np.sqrt(variance)


def everything(gp, X):
    """Return means and standard deviations at X, and the log likelihood, in one vector."""
    mean, std = gp.predict(X, return_std=True)
    return np.r_[mean, std, gp.log_marginal_likelihood()]


def assert_same_posterior(one, other, X, tolerance=1e-8):
    """Compare means, standard deviations and covariances at X."""
    for option in ("return_std", "return_cov"):
        for found, expected in zip(*(gp.predict(X, **{option: True}) for gp in (one, other))):
            assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


def greatest_deviation(draws, mean, cov):
    """Return the greatest deviation of the moments of draws (n, m), in standard errors."""
    n, variances, centred = len(draws), np.diag(cov), draws - mean
    on_mean = centred.mean(axis=0) / np.sqrt(variances / n)
    errors = np.sqrt((np.outer(variances, variances) + cov**2) / n)
    return np.abs(np.vstack([on_mean, (centred.T @ centred / n - cov) / errors])).max()


class MyRBF(RBF):
    """Subclasses, which compute the same, are not recognized as kernels with a closed form."""


class MyMatern(Matern):
    pass


class MyForgetting(Forgetting):
    pass


class MyConstant(ConstantKernel):
    pass


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
    "ard-season": (
        RBF([0.3, 0.9]),
        Matern(2.0, nu=2.5) + ConstantKernel(0.5) * Matern(4.0) * ExpSineSquared(1.0, 3.0),
        *(2, -1),
    ),
    "dot-rational": (1.0 + DotProduct(0.5), RationalQuadratic(2.0), 2, 0),
    "time-alone": (RBF(1.0), Matern(2.0, nu=1.5), 0, -1),
    "time-alone-rational": (RBF(1.0, "fixed"), RationalQuadratic(2.0), 0, -1),
}

every_model = pytest.mark.parametrize(
    ("spatial", "temporal", "d", "column"), MODELS.values(), ids=list(MODELS)
)


def both(spatial, temporal, d, column, *, normalize_y=False, seed=0):
    """Return our model, scikit-learn's with the same hyperparameters, and points to predict."""
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


def first_start(obj_func, initial_theta, bounds):
    """Optimizer that returns its start."""
    return initial_theta, obj_func(initial_theta, eval_gradient=False)


def stream(gp, seed, n_operations, *, variances=False):
    """Append and drop random rows; yield the rows that should remain, twenty times.

    The sizes are such that the factor is updated, not computed again.
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


X0, Y0 = data(n=5)
