"""Kernels, their convolutions, and the compiled code behind them."""

import numpy as np
from hypothesis import assume, example, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from properties import strategies as some
from sklearn.gaussian_process.kernels import ConstantKernel, Matern

from sktvbo import TimeVaryingGPRegressor
from sktvbo.relevancy import spatial_convolution, temporal_convolution


def lowest_eigenvalue(K):
    return np.linalg.eigvalsh((K + K.T) / 2.0)[0]


@given(some.families(), some.data(d=st.integers(1, 150)), st.floats(0.0, 1e6))
def test_spatial_convolutions_fall_with_the_distance(kernel, data, far):
    X = data[0][:, :-1]
    at_zero = 1.0
    volume = np.log(kernel.length_scale) * X.shape[1]
    assume(abs(volume) < 360.0)  # beyond 700, of which families make up to 336, is an error
    C = spatial_convolution(kernel, X)
    assert np.isfinite(C).all()
    assert lowest_eigenvalue(C / C[0, 0]) > -1e-8 * len(C)
    line = np.zeros((4, X.shape[1]))
    line[:, 0] = [0.0, 0.1, 0.3, 0.3 + far]
    along = spatial_convolution(kernel, line)[0] / C[0, 0]
    assert_allclose(along[0], at_zero, rtol=1e-12)
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
