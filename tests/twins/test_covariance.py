"""Derivatives of covariances against differences, hyperparameters, noise and closed forms."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.gaussian_process.kernels import Matern, RationalQuadratic

from sktvbo.gaussian_process import GeometricInjection, QuadraticInjection
from sktvbo.gaussian_process._covariance import SeparableCovariance
from sktvbo.kernels import Empirical, Forgetting, Wiener

BOUNDS, D = (1e-3, 1e3), 2

FUSED = (Matern([0.4, 0.9], nu=2.5), Matern(2.0, nu=1.5))
# Kernels without a compiled form, stationary and not.
GENERAL = (RationalQuadratic(0.5, 1.5), Wiener(0.3))


def covariance(kernels, signal=(1.7, BOUNDS), noise=(0.05, BOUNDS), noise_model=None):
    spatial, temporal = kernels
    n_dims = 0 if spatial is None else D
    return SeparableCovariance.of(spatial, temporal, signal, noise, n_dims, noise_model)


def places(kernels, n, seed=0):
    """Return places (n, d) and times (n,)."""
    rng = np.random.RandomState(seed)
    return rng.uniform(size=(n, 0 if kernels[0] is None else D)), rng.uniform(1.0, 6.0, n)


def slopes(function, theta, step=1e-6):
    moves = step * np.eye(len(theta))
    return np.array([(function(theta + m) - function(theta - m)) / (2.0 * step) for m in moves])


# --- derivatives ----------------------------------------------------------------------------------


@pytest.mark.parametrize("signal", [(1.7, BOUNDS), (1.7, "fixed")], ids=["learnt", "fixed"])
@pytest.mark.parametrize("kernels", [FUSED, GENERAL], ids=["fused", "general"])
def test_the_sums_are_the_derivatives_in_theta(kernels, signal, rng):
    c = covariance(kernels, signal=signal, noise_model=GeometricInjection(0.9, (0.5, 1.0)))
    (S, t), others = places(kernels, 9), places(kernels, 5, seed=1)
    age, theta = 6.0 - t, c.theta
    W, weights, y = rng.normal(size=(9, 5)), rng.normal(size=9), rng.normal(size=9)

    def matrix(theta):
        at = c.with_theta(theta)
        return at.cross(S, t) + np.diag(at.noise(age))

    def log_likelihood(theta):
        D = matrix(theta)
        return -0.5 * (y @ np.linalg.solve(D, y) + np.linalg.slogdet(D)[1])

    P = np.linalg.inv(matrix(theta))
    a = P @ y
    on_noise = c.noise_gradient(a * a - np.diag(P), age)
    gradient = 0.5 * np.append(c.gradient(S, t, c.cross(S, t), P.copy(), a), on_noise)
    assert_allclose(gradient, slopes(log_likelihood, theta), rtol=1e-5, atol=1e-7)

    expected = slopes(lambda x: np.sum(W * c.with_theta(x).cross(S, t, *others)), theta)
    found = c.cross_gradient(S, t, *others, c.cross(S, t, *others), W)
    assert_allclose(np.append(found, [0.0, 0.0]), expected, rtol=1e-5, atol=1e-7)
    expected = slopes(lambda x: weights @ c.with_theta(x).variance(S, t), theta)
    found = c.variance_gradient(S, t, weights)
    assert_allclose(np.append(found, [0.0, 0.0]), expected, rtol=1e-5, atol=1e-7)


def test_fixed_coordinates_have_no_gradient():
    arms, temporal = Empirical(np.eye(3) + 1.0), Matern(2.0, nu=1.5)
    c = SeparableCovariance.of(arms, temporal, (1.7, BOUNDS), (0.05, BOUNDS), 1)
    S, t = np.array([[0.0], [2.0]]), np.array([1.0, 2.0])
    k, dk = c.cross_with_gradient(np.array([2.0]), 3.0, *c.to_scaled(S, t), [False])
    assert_allclose(k, 1.7 * np.array([1.0, 2.0]) * temporal([[3.0]], t[:, np.newaxis])[0])
    assert_array_equal(dk[0], 0.0)
    variance, slope = c.variance_with_gradient(np.array([2.0]), 3.0, [False])
    assert variance == pytest.approx(3.4)
    assert_array_equal(slope, 0.0)


@pytest.mark.parametrize("kernels", [FUSED, GENERAL], ids=["fused", "general"])
def test_the_variance_has_a_gradient(kernels):
    c, (S, t) = covariance(kernels), places(kernels, 1)
    variance, slope = c.variance_with_gradient(S[0], t[0])
    assert variance == pytest.approx(c.variance(S, t)[0])
    in_time = (c.variance(S, t + 1e-3)[0] - c.variance(S, t)[0]) / 1e-3
    assert_allclose(slope, [0.0, 0.0, in_time], rtol=1e-5, atol=1e-8)
    assert bool(in_time > 0.1) is (kernels is GENERAL)


# --- theta ----------------------------------------------------------------------------------------


def test_theta_is_in_the_order_of_its_names():
    kernels = Matern([0.4, 0.9], nu=2.5), Forgetting(0.2)
    c = covariance(kernels, noise_model=QuadraticInjection(0.3, BOUNDS))
    scale = "spatial_kernel__length_scale"
    names = ["signal_variance", scale, scale, "temporal_kernel__epsilon", "noise_variance"]
    assert c.names == [*names, "noise_model__rate"]
    assert_allclose(np.exp(c.theta), [1.7, 0.4, 0.9, 0.2, 0.05, 0.3], rtol=1e-14)
    new = c.with_theta(np.log([2.0, 0.5, 0.6, 0.1, 0.02, 0.7]))
    assert (new.noise_variance, new.noise_model.rate) == pytest.approx((0.02, 0.7))
    assert str(new) == "2 * Matern(length_scale=[0.5, 0.6], nu=2.5) * Forgetting(epsilon=0.1)"
