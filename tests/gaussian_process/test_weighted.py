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


def make(kernels, model, kind=WeightedTimeVaryingGPRegressor, **options):
    defaults = {"signal_variance": 1.4, "noise_variance": 0.05, "optimizer": None}
    return kind(*kernels, noise_model=model, **defaults | options)


# --- the width ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kernels", "model", "normalize_y", "now", "known", "width"),
    pairs_of(
        [
            (RBF([0.3, 0.5]), STATIC),
            (Matern(0.4, nu=2.5), Matern(20.0, nu=1.5)),
            (RationalQuadratic(0.4), Wiener(0.1)),
        ],
        [GeometricInjection(0.9), QuadraticInjection(0.2), None],
        *((False, True), (24.0, 30.0), (0.0, 0.4), (0.0, 1.5)),
    ),
)
def test_mean_and_width_are_the_dense_formulas(kernels, model, normalize_y, now, known, width):
    """cᵀ y, and cᵀ (σ² I + V) c + k(x, x) − 2 kᵀ c + cᵀ K c: only growth with age is a weight."""
    X, y = data()
    v = np.linspace(0.0, known, len(X))
    gp = make(kernels, model, normalize_y=normalize_y, mean_prior_std=width)
    gp.fit(X, y, v).advance(now)
    new = data(8, seed=1)[0] + np.array([0.0, 0.0, 20.0])
    K, k_new, k_both = (prior(gp)(*rows) + width**2 for rows in ((X, X), (X, new), (new, new)))
    location, scale = (y.mean(), y.std()) if normalize_y else (0.0, 1.0)
    v = v / scale**2
    growth = np.ones(len(X)) if model is None else model.ratio(now - X[:, -1])
    c = np.linalg.solve(K + np.diag(0.05 * growth + v), k_new)
    cov = k_both - k_new.T @ c - c.T @ k_new + c.T @ K @ c + (c.T * (0.05 + v)) @ c

    mean, std = gp.predict(new, return_std=True)
    assert_allclose(mean, location + c.T @ (y - location), rtol=1e-10)
    assert_allclose(std, scale * np.sqrt(np.diag(cov)), rtol=1e-9)
    found = gp.predict(new, return_cov=True)[1]
    assert_allclose(found, scale**2 * cov, rtol=0.0, atol=1e-11)


# --- the published form, in features --------------------------------------------------------------


@pytest.mark.parametrize("d", [1, 2])
@pytest.mark.parametrize("discount", [0.8, 0.97, 1.0])
def test_mean_and_width_are_those_of_deng(d, discount):
    """Weights w_s = γ^{-s} and regularizer λ_t = λ γ^{-t}, as published.

    A_t = Σ w_s φ_s φ_sᵀ + λ_t I and Ã_t = Σ w_s² φ_s φ_sᵀ + λ γ^{-2t} I; the width is the square
    root of φᵀ A⁻¹ Ã A⁻¹ φ, of a regression that is regularized by λ = σ² rather than 1: hence
    the σ between both.
    """
    X, y = data(20, d)
    t, noise = X[-1, -1], 0.07
    model = GeometricInjection(discount)
    gp = make((DotProduct(0.5), STATIC), model, signal_variance=1.0, noise_variance=noise).fit(X, y)
    new = data(8, d, seed=1)[0]
    # The features of the dot product are its constant and the columns of space.
    Phi, phi = (np.column_stack([np.full(len(A), 0.5), A[:, :-1]]) for A in (X, new))
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
    (X, y), (new, _) = data(20, 1), data(8, 1, seed=1)
    std, width = (
        make((DotProduct(0.5), STATIC), GeometricInjection(0.8), kind)
        .fit(X, y)
        .predict(new, return_std=True)[1]
        for kind in (TimeVaryingGPRegressor, WeightedTimeVaryingGPRegressor)
    )
    assert np.all(width < 0.9 * std)
