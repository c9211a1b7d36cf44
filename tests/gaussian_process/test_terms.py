"""Predictions of the terms of a sum in time, such as trend and season."""

import numpy as np
import pytest
from gaussian_process.cases import make
from grids import pairs_of
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.gaussian_process.kernels import (
    RBF,
    ConstantKernel,
    ExpSineSquared,
    Matern,
    WhiteKernel,
)

from sktvbo.gaussian_process import (
    GeometricInjection,
    QuadraticMean,
    SparseTimeVaryingGPRegressor,
    WeightedTimeVaryingGPRegressor,
)
from sktvbo.kernels import Wiener, with_seasons

TREND, SEASON = Matern(9.0, nu=2.5), Matern(30.0) * ExpSineSquared(0.8, 6.0)
ALONE = Wiener(0.1)
# name: (temporal kernel, its terms)
SUMS = {
    "season": (with_seasons(TREND, 6.0), [TREND, with_seasons(TREND, 6.0).k2]),
    "multiplied out": (
        ConstantKernel(0.7) * (TREND + SEASON),
        [ConstantKernel(0.7) * TREND, ConstantKernel(0.7) * SEASON],
    ),
    "one term": (TREND, [TREND]),
}
DENSE_SUMS = {
    "seasons": (
        with_seasons(TREND, 6.0, 15.0),
        [TREND, *(with_seasons(TREND, period).k2 for period in (6.0, 15.0))],
    ),
    "not stationary": (ALONE + RBF(5.0), [ALONE, RBF(5.0)]),
    "white": (TREND + WhiteKernel(0.1), [TREND, WhiteKernel(0.1)]),
}
MEANS = {
    "none": {},
    "learnt": {"mean_prior_std": 2.0, "normalize_y": True},
    "flat": {"mean_prior_std": np.inf},
}


RNG = np.random.RandomState(0)
T = np.sort(RNG.uniform(0.0, 30.0, 60))
Y = 3.0 + 0.1 * T + np.sin(2.0 * np.pi * T / 6.0) + 0.1 * RNG.normal(size=60)
X = np.column_stack([RNG.randint(2, size=60), T])
# At places with observations and between, in the past and the future.
PLACES = np.column_stack([[0.0, 1.0, 0.3, 0.7, 1.0, 0.2], [2.0, 28.0, 15.0, 29.9, 33.0, 40.0]])
MODELS = {
    "dense": {"solver": "dense"},
    "kalman": {"solver": "kalman"},
    "sparse": {"kind": SparseTimeVaryingGPRegressor, "inducing": X},
    "robust": {"robust": True, "solver": "dense"},
    "ageing": {"noise_model": GeometricInjection(0.95)},
    "weighted": {"kind": WeightedTimeVaryingGPRegressor, "noise_model": GeometricInjection(0.95)},
}

CASES = pairs_of(SUMS, MODELS, MEANS)
CASES += pairs_of(DENSE_SUMS, [model for model in MODELS if model != "kalman"], MEANS)


def fitted(kernel, model, **options):
    return make(RBF(0.8), kernel, **MODELS[model], **options).fit(X, Y)


def by_dense_algebra(gp, terms):
    """Return means and standard deviations (m, n_terms), with the prior of the mean in Δ."""
    rows, signal = gp._gp.rows, gp.signal_variance_
    noise = rows.noise(gp._gp.covariance)
    (S, t), (S_new, t_new) = (np.split(A, [1], axis=1) for A in (X, PLACES))
    G = np.linalg.inv(signal * gp.spatial_kernel_(S) * gp.temporal_kernel_(t) + np.diag(noise))
    u, precision = G.sum(axis=1), G.sum()
    if np.isfinite(gp.mean_prior_std):
        precision += gp.mean_prior_std**-2 if gp.mean_prior_std else np.inf
    P = G - np.outer(u, u) / precision
    means, variances = [], []
    for term in terms:
        k = signal * gp.spatial_kernel_(S_new, S) * term(t_new, t)
        means.append(k @ P @ ((Y - rows.location) / rows.scale))
        variances.append(signal * term.diag(t_new) - np.einsum("ij,jk,ik->i", k, P, k))
        if isinstance(gp, WeightedTimeVaryingGPRegressor):
            variances[-1] -= (k @ P) ** 2 @ (noise - gp.noise_variance_)
    return rows.scale * np.array(means).T, rows.scale * np.sqrt(variances).T


@pytest.mark.parametrize(("name", "model", "mean"), CASES)
def test_terms_are_those_of_dense_algebra(name, model, mean):
    kernel, terms = (SUMS | DENSE_SUMS)[name]
    gp = fitted(kernel, model, **MEANS[mean])
    means, stds = gp.predict_terms(PLACES, return_std=True)
    expected = by_dense_algebra(gp, terms)
    # The inducing points have jitter.
    tolerance = 2e-5 if model == "sparse" else 1e-6
    assert_allclose(means, expected[0], rtol=0, atol=tolerance)
    assert_allclose(stds, expected[1], rtol=0, atol=tolerance)
    assert_allclose(means.sum(axis=1) + gp.mean_, gp.predict(PLACES), atol=1e-8)
    assert_array_equal(gp.predict_terms(PLACES), means)


def test_a_prior_mean_is_in_no_term():
    kernel, terms = SUMS["season"]
    prior_mean = QuadraticMean(0.5)
    gp = fitted(kernel, "dense", prior_mean=prior_mean, normalize_y=True)
    means = gp.predict_terms(PLACES)
    whole = means.sum(axis=1) + gp.mean_ + Y.std() * prior_mean.polynomial(1)(PLACES[:, :1])
    assert means.shape == (6, len(terms))
    assert_allclose(whole, gp.predict(PLACES))


def test_time_alone_and_many_rows():
    """More places, and more rows, than are processed at once."""
    t = np.arange(1500.0)[:, np.newaxis]
    day = np.sin(2.0 * np.pi * t[:, 0] / 24.0)
    kernel = Matern(300.0) + Matern(500.0) * ExpSineSquared(2.0, 24.0)
    gp = make(temporal=kernel, solver="kalman", normalize_y=True).fit(t, 0.01 * t[:, 0] + day)
    trend, season = gp.predict_terms(t).T
    assert_allclose(trend + season + gp.mean_, gp.predict(t), atol=1e-6)
    # A season has a level of its own, its average over a period.
    level = np.convolve(season, np.full(24, 1.0 / 24.0), mode="same")
    assert np.abs(season - level - day)[24:-24].max() < 0.1
    late = np.linspace(1400.0, 1550.0, 70)[:, np.newaxis]
    filtered = gp.predict_terms(late, return_std=True)
    dense = gp.set_params(solver="dense").fit(t, gp.y_train_)
    assert_allclose(filtered, dense.predict_terms(late, return_std=True), atol=1e-6)
