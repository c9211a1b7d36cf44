"""Kernels, their convolutions, and the compiled code behind them."""

import numpy as np
from hypothesis import assume, example, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from properties import strategies as some
from scipy.optimize import approx_fprime
from sklearn.gaussian_process.kernels import ConstantKernel, Matern

from sktvbo import TimeVaryingGPRegressor
from sktvbo.kernels import Forgetting, Separable, Wiener
from sktvbo.relevancy import spatial_convolution, temporal_convolution


def lowest_eigenvalue(K):
    return np.linalg.eigvalsh((K + K.T) / 2.0)[0]


@given(some.data(n=st.integers(2, 8)), some.families(), some.temporal)
def test_the_gradient_of_the_likelihood(data, spatial, temporal):
    X, y = data
    gp = TimeVaryingGPRegressor(spatial, temporal, noise_variance=0.1, optimizer=None).fit(X, y)
    _, slope = gp.log_marginal_likelihood(gp.theta_, eval_gradient=True)
    expected = approx_fprime(gp.theta_, gp.log_marginal_likelihood, 1e-6)
    assert_allclose(slope, expected, rtol=1e-3, atol=1e-3 * max(1.0, np.abs(expected).max()))


@given(some.data(), some.families(), some.temporal)
def test_kernels_are_positive_semi_definite(data, spatial, temporal):
    K = Separable(spatial, temporal)(data[0])
    assert lowest_eigenvalue(K) > -1e-9 * len(K)
    assert_allclose(K, K.T, rtol=1e-12)
    assert np.abs(K).max() <= 1.0 + 1e-12


@given(st.floats(1e-4, 0.99), some.data())
def test_forgetting_is_a_matern_kernel(epsilon, data):
    T = data[0][:, -1:]
    forgetting = Forgetting(epsilon)
    expected = Matern(forgetting.length_scale, nu=0.5)(T)
    assert_allclose(forgetting(T), expected, rtol=1e-9, atol=1e-300)
    assert_allclose(forgetting(T), (1.0 - epsilon) ** (np.abs(T - T.T) / 2.0), rtol=1e-9)


@given(st.floats(1e-5, 10.0), st.floats(-20.0, 20.0), some.data())
def test_a_random_walk_has_a_covariance(drift, start, data):
    T = data[0][:, -1:]
    K = Wiener(drift, start=start, before="constant")(T)
    assert lowest_eigenvalue(K) > -1e-9 * len(K) * K.max()
    assert (np.diagonal(K) >= 1.0).all()


@given(some.families(), some.data(d=st.integers(1, 150)), st.floats(0.0, 1e6))
def test_spatial_convolutions_fall_with_the_distance(kernel, data, far):
    X = data[0][:, :-1]
    volume = np.log(kernel.length_scale) * X.shape[1]
    assume(abs(volume) < 360.0)  # beyond 700, of which families make up to 336, is an error
    C = spatial_convolution(kernel, X)
    assert np.isfinite(C).all()
    assert lowest_eigenvalue(C / C[0, 0]) > -1e-8 * len(C)
    line = np.zeros((4, X.shape[1]))
    line[:, 0] = [0.0, 0.1, 0.3, 0.3 + far]
    along = spatial_convolution(kernel, line)[0] / C[0, 0]
    assert_allclose(along[0], 1.0, rtol=1e-12)
    assert (np.diff(along) <= 1e-12).all()
    assert (along >= 0.0).all()


# Of numbers below this the last digits are lost.
TINY = np.finfo(np.float64).tiny
FAST = np.array([[7.9915856421672355], [4.6147936225293185], [7.805291762864554]]), None


@given(some.temporal, some.data(), st.floats(0.0, 100.0))
@example(Matern(0.01778279410038923, nu=1.5), FAST, 0.0)
def test_temporal_convolutions_fall_with_time(kernel, data, later):
    t = data[0][:, -1]
    C, after = (temporal_convolution(kernel, t, now) for now in (10.0, 10.0 + later))
    assert_allclose(C, C.T, rtol=1e-10, atol=TINY)
    assert lowest_eigenvalue(C) > -1e-9 * max(C.max(), 1e-300) * len(C)
    assert (after <= C * (1.0 + 1e-9) + TINY).all()
    assert (after >= 0.0).all()


@given(some.data(n=st.integers(2, 8)), some.families(), st.floats(0.01, 100.0))
def test_a_constant_factor_is_the_signal_variance(data, spatial, factor):
    X, y = data
    common = {"noise_variance": 0.1, "optimizer": None}
    one = TimeVaryingGPRegressor(spatial, Matern(2.0), signal_variance=factor, **common).fit(X, y)
    other = TimeVaryingGPRegressor(ConstantKernel(factor) * spatial, Matern(2.0), **common)
    for a, b in zip(one.predict(X, return_std=True), other.fit(X, y).predict(X, return_std=True)):
        assert_allclose(a, b, rtol=1e-6, atol=1e-7)
