"""Samples, information gain and present time of all regressors."""

import inspect
from functools import partial

import numpy as np
import pytest
from gaussian_process.cases import data, greatest_deviation, lifted, make, prior
from numpy.testing import assert_array_equal
from sklearn.gaussian_process.kernels import RBF

from sktvbo.gaussian_process import (
    GeometricInjection,
    QuadraticInjection,
    SparseTimeVaryingGPRegressor,
    TimeVaryingGPRegressor,
    WeightedTimeVaryingGPRegressor,
)

noisy = partial(make, noise_variance=0.05)

# --- samples --------------------------------------------------------------------------------------


@pytest.mark.parametrize("normalize_y", [False, True])
def test_samples_have_the_posteriors_moments(normalize_y):
    X, y = data()
    y = 3.0 * y + 10.0
    gp = make(normalize_y=normalize_y).fit(X, y)
    new = X[10:14] + 0.02
    mean, cov = gp.predict(new, return_cov=True)
    samples = gp.sample_y(new, 20_000, random_state=0)
    assert samples.shape == (4, 20_000)
    assert greatest_deviation(samples.T, mean, cov) < 5.0
    # Wrong samplers do not pass: independent draws, a wrong scale, observations instead of f.
    normal = np.random.RandomState(0).normal(size=samples.shape).T
    noise = np.sqrt(0.02) * (y.std() if normalize_y else 1.0)
    for wrong in (
        mean + np.sqrt(np.diagonal(cov)) * normal,
        mean + 1.1 * (samples.T - mean),
        samples.T + noise * normal,
    ):
        assert greatest_deviation(wrong, mean, cov) > 5.0


def test_samples_are_reproducible():
    X, y = data()
    gp = make().fit(X, y)
    first = gp.sample_y(X[:3])
    assert first.shape == (3, 1)
    assert_array_equal(gp.sample_y(X[:3], random_state=np.random.RandomState(0)), first)
    assert np.any(gp.sample_y(X[:3], random_state=1) != first)


# --- information gain -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "normalize_y", "known"),
    [
        (None, False, 0.0),
        (None, True, 1.0),
        (QuadraticInjection(0.3), False, 1.0),
        (GeometricInjection(0.8), True, 0.0),
    ],
    ids=str,
)
def test_information_gain(model, normalize_y, known):
    X, y, v = lifted()
    gp = noisy(noise_model=model, normalize_y=normalize_y).fit(X, y, known * v)
    ratio = 1.0 if model is None else model.ratio(X[:, -1].max() - X[:, -1])
    noise = 0.05 * ratio + known * v / (y.std() if normalize_y else 1.0) ** 2
    expected = 0.5 * np.linalg.slogdet(np.eye(len(X)) + prior(gp)(X) / noise[:, np.newaxis])[1]
    assert gp.information_gain() == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("known_noise", [False, True])
def test_information_gain_of_the_sparse_regressor(known_noise):
    X, y, v = lifted()
    v = v if known_noise else np.zeros(len(X))
    Z = X[::3] + 0.01
    gp = noisy(RBF(0.4), RBF(3.0), SparseTimeVaryingGPRegressor, inducing=Z).fit(X, y, v)
    K_Z = prior(gp)(Z) + 1.3e-12 * np.eye(len(Z))
    K_ZX = prior(gp)(Z, X)
    Q = K_ZX.T @ np.linalg.solve(K_Z, K_ZX)
    Sigma = np.diag(0.05 + v)
    expected = 0.5 * (np.linalg.slogdet(Sigma + Q)[1] - np.linalg.slogdet(Sigma)[1])
    assert gp.information_gain() == pytest.approx(expected, rel=1e-7)
    exact = noisy(RBF(0.4), RBF(3.0)).fit(X, y, v)
    assert gp.information_gain() < exact.information_gain()


# --- the present time -----------------------------------------------------------------------------


@pytest.mark.parametrize("column", [-1, 0])
@pytest.mark.parametrize("model", [None, QuadraticInjection(0.3)], ids=str)
def test_advancing_to_the_present_changes_nothing(model, column):
    """At every origin of time: it is subtracted inside, which rounds."""
    rng = np.random.RandomState(0)
    S = rng.uniform(size=(4, 2))
    gp = make(noise_model=model, time_column=column)
    for origin in rng.uniform(-2e9, 2e9, 100):
        t = origin + rng.uniform(0.0, 10.0 ** rng.uniform(-7.0, 3.0), 4)
        gp.fit(np.column_stack([t, S] if column == 0 else [S, t]), np.ones(4))
        assert gp.now_ == t.max()
        assert gp.advance(gp.now_).now_ == t.max()
        assert gp.advance(float(t.max())).now_ == t.max()
        later = np.nextafter(t.max(), np.inf)
        assert gp.advance(later).now_ == later
        with pytest.raises(ValueError, match="now must be a time not before"):
            gp.advance(np.nextafter(t.max(), -np.inf))


def test_at_a_later_time():
    X, y, _ = lifted()
    still = make().fit(X, y).fitted_
    ageing = make(noise_model=QuadraticInjection(0.3)).fit(X, y).fitted_
    assert still.at(99.0) is still
    assert ageing.at(ageing.now_) is ageing
    assert ageing.at(0.0) is ageing
    later = ageing.at(99.0)
    assert (ageing.now_, later.now_) == (X[:, 2].max(), 99.0)
    expected = make(noise_model=QuadraticInjection(0.3)).fit(X, y).advance(99.0)
    assert_array_equal(later.predict(X), expected.predict(X))
    assert np.any(later.predict(X) != ageing.predict(X))
    # The noise model is that of the fit until the next one.
    changed = ageing.regressor().set_params(noise_model=None)
    assert_array_equal(changed.at(99.0).predict(X), later.predict(X))


# --- parameters -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "kind", [TimeVaryingGPRegressor, SparseTimeVaryingGPRegressor, WeightedTimeVaryingGPRegressor]
)
def test_only_the_kernels_may_be_positional(kind):
    parameters = inspect.signature(kind).parameters.values()
    positional = [p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]
    assert positional == ["spatial_kernel", "temporal_kernel"]
    with pytest.raises(TypeError):
        kind(None, None, 1.0)
