"""Weighted regression against dense formulas, and against the published one, in features."""

import numpy as np
import pytest
from gaussian_process.cases import prior
from grids import pairs_of
from numpy.testing import assert_allclose
from sklearn.gaussian_process.kernels import (
    RBF,
    ConstantKernel,
    DotProduct,
    Kernel,
    Matern,
    RationalQuadratic,
)
from sklearn.utils.estimator_checks import parametrize_with_checks

from sktvbo import TimeVaryingGPRegressor
from sktvbo.gaussian_process import (
    GeometricInjection,
    QuadraticInjection,
    WeightedTimeVaryingGPRegressor,
)
from sktvbo.kernels import Wiener

STATIC = ConstantKernel(1.0, "fixed")


@parametrize_with_checks(
    [
        WeightedTimeVaryingGPRegressor(
            RBF(), STATIC, noise_model=QuadraticInjection(0.01), normalize_y=True, time_column=0
        )
    ]
)
def test_scikit_learns_checks(estimator, check):
    check(estimator)


def data(n=25, d=2, seed=0):
    rng = np.random.RandomState(seed)
    X = np.column_stack([rng.uniform(size=(n, d)), np.arange(float(n))])
    return X, 2.0 + np.sin(4.0 * X[:, :-1].sum(axis=1)) + 0.1 * rng.normal(size=n)


KERNELS = {
    "static": (RBF([0.3, 0.5]), STATIC),
    "matern": (Matern(0.4, nu=2.5), Matern(20.0, nu=1.5)),
    "unknown": (RationalQuadratic(0.4), Wiener(0.1)),
}
MODELS = {
    "geometric": GeometricInjection(0.9),
    "quadratic": QuadraticInjection(0.2),
    "no model": None,
}
every_model = pytest.mark.parametrize("model", MODELS.values(), ids=list(MODELS))
every_kernel = pytest.mark.parametrize("kernels", KERNELS.values(), ids=list(KERNELS))


def make(kernels, model, kind=WeightedTimeVaryingGPRegressor, **options):
    defaults = {"signal_variance": 1.4, "noise_variance": 0.05, "optimizer": None}
    return kind(*kernels, noise_model=model, **defaults | options)


def ratio(model, age):
    """Return 1 / w by age."""
    if isinstance(model, GeometricInjection):
        return 0.9**-age
    return 1.0 + (0.2 * age) ** 2 if model else np.ones(len(age))


# --- the width ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kernels", "model", "normalize_y", "now", "known"),
    pairs_of(KERNELS.values(), MODELS.values(), (False, True), (24.0, 30.0), (0.0, 0.4)),
)
def test_mean_and_width_are_the_dense_formulas(kernels, model, normalize_y, now, known):
    """cᵀ y, and cᵀ (σ² I + V) c + k(x, x) − 2 kᵀ c + cᵀ K c: only growth with age is a weight."""
    X, y = data()
    v = np.linspace(0.0, known, len(X))
    gp = make(kernels, model, normalize_y=normalize_y).fit(X, y, v).advance(now)
    new = data(8, seed=1)[0] + np.array([0.0, 0.0, 20.0])
    k = prior(gp)
    K, k_new = k(X), k(X, new)
    location, scale = (y.mean(), y.std()) if normalize_y else (0.0, 1.0)
    v = v / scale**2
    c = np.linalg.solve(K + np.diag(0.05 * ratio(model, now - X[:, -1]) + v), k_new)
    cov = k(new) - k_new.T @ c - c.T @ k_new + c.T @ K @ c + (c.T * (0.05 + v)) @ c

    mean, std = gp.predict(new, return_std=True)
    assert_allclose(mean, location + c.T @ (y - location), rtol=1e-10)
    assert_allclose(std, scale * np.sqrt(np.diag(cov)), rtol=1e-9)
    found = gp.predict(new, return_cov=True)[1]
    assert_allclose(found, scale**2 * cov, rtol=0.0, atol=1e-11)


@every_kernel
@every_model
def test_the_width_is_positive_and_below_the_standard_deviation(kernels, model):
    X, y = data()
    new = np.vstack([X, data(30, seed=2)[0]])
    width = make(kernels, model).fit(X, y).predict(new, return_std=True)[1]
    std = make(kernels, model, TimeVaryingGPRegressor).fit(X, y).predict(new, return_std=True)[1]
    assert np.all(width > 0.0)
    if model is None:
        assert_allclose(width, std, rtol=1e-12)
    else:
        assert np.all(width < std)


@every_kernel
@pytest.mark.parametrize("model", [None, GeometricInjection(1.0), QuadraticInjection(0.0)], ids=str)
def test_with_weights_1_it_is_the_ordinary_regressor(kernels, model):
    """Also with known variances, which are no weights."""
    X, y = data()
    v = np.linspace(0.0, 0.4, len(X))
    weighted = make(kernels, model, normalize_y=True).fit(X, y, v)
    ordinary = make(kernels, None, TimeVaryingGPRegressor, normalize_y=True).fit(X, y, v)
    new = data(8, seed=1)[0] + np.array([0.0, 0.0, 20.0])
    assert_allclose(
        weighted.predict(new, return_std=True), ordinary.predict(new, return_std=True), rtol=1e-12
    )


# --- the published form, in features --------------------------------------------------------------


class Cosines(Kernel):
    """A kernel of n features, cos(j x) / (j + 1)."""

    def __init__(self, n=4):
        self.n = n

    def features(self, X):
        j = np.arange(self.n)
        return np.cos(j * X) / (j + 1)

    def __call__(self, X, Y=None, eval_gradient=False):
        K = self.features(X) @ self.features(X if Y is None else Y).T
        return (K, np.empty((*K.shape, 0))) if eval_gradient else K

    def diag(self, X):
        return np.sum(self.features(X) ** 2, axis=1)

    def is_stationary(self):
        return False


def with_constant(X):
    """Features of DotProduct(0.5)."""
    return np.column_stack([np.full(len(X), 0.5), X])


@pytest.mark.parametrize(
    ("kernel", "features", "d"),
    [(DotProduct(0.5), with_constant, 2), (Cosines(), Cosines().features, 1)],
    ids=["dot product", "cosines"],
)
@pytest.mark.parametrize("discount", [0.8, 0.97, 1.0])
def test_mean_and_width_are_those_of_deng(kernel, features, d, discount):
    """Weights w_s = γ^{-s} and regularizer λ_t = λ γ^{-t}, as published.

    A_t = Σ w_s φ_s φ_sᵀ + λ_t I and Ã_t = Σ w_s² φ_s φ_sᵀ + λ γ^{-2t} I; the width is the square
    root of φᵀ A⁻¹ Ã A⁻¹ φ, of a regression that is regularized by λ = σ² rather than 1: hence
    the σ between both.
    """
    X, y = data(20, d)
    t, noise = X[-1, -1], 0.07
    gp = WeightedTimeVaryingGPRegressor(
        kernel,
        STATIC,
        noise_variance=noise,
        noise_model=GeometricInjection(discount),
        optimizer=None,
    ).fit(X, y)
    new = data(8, d, seed=1)[0]
    Phi, phi = features(X[:, :-1]), features(new[:, :-1])
    w = discount ** -X[:, -1]
    identity = np.eye(Phi.shape[1])
    A = (Phi.T * w) @ Phi + noise * discount**-t * identity
    A_tilde = (Phi.T * w**2) @ Phi + noise * discount ** (-2.0 * t) * identity
    inner = np.linalg.solve(A, phi.T)

    mean, width = gp.predict(new, return_std=True)
    assert_allclose(mean, inner.T @ (Phi.T @ (w * y)), rtol=1e-8)
    published = np.sqrt(np.einsum("ji,jk,ki->i", inner, A_tilde, inner))
    assert_allclose(width, np.sqrt(noise) * published, rtol=1e-7)


def test_the_standard_deviation_is_not_the_width_of_deng():
    """Otherwise the test above would not distinguish the two regressors."""
    X, y = data(20, 1)
    options = {"noise_variance": 0.07, "noise_model": GeometricInjection(0.8), "optimizer": None}
    new = data(8, 1, seed=1)[0]
    std, width = (
        kind(Cosines(), STATIC, **options).fit(X, y).predict(new, return_std=True)[1]
        for kind in (TimeVaryingGPRegressor, WeightedTimeVaryingGPRegressor)
    )
    assert np.all(width < 0.9 * std)
