"""Sums of kernels in time, with a level that all places share, against calls of the kernels."""

import numpy as np
import pytest
from grids import pairs_of
from numpy.testing import assert_allclose
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern

from sktvbo.gaussian_process._covariance import CompiledCovariance, SeparableCovariance
from sktvbo.kernels import Forgetting

BOUNDS = (1e-3, 1e3)
SMOOTH_AND_ROUGH = ConstantKernel(0.7) * Matern(3.0, nu=2.5) + ConstantKernel(0.3) * Matern(
    0.8, nu=0.5
)
LEVEL = ConstantKernel(0.4) * Matern(0.6, nu=0.5)
PAIRS = {
    "no level": (SMOOTH_AND_ROUGH, None),
    "level": (SMOOTH_AND_ROUGH, LEVEL),
    "one and a level": (Matern(3.0, nu=1.5), LEVEL),
    "fixed": (
        ConstantKernel(0.7, "fixed") * Matern(3.0, nu=2.5) + Matern(0.8, "fixed", nu=0.5),
        ConstantKernel(0.4) * Matern(0.6, "fixed", nu=0.5),
    ),
    "forgetting": (Forgetting(0.3) + 0.3 * RBF(1.1), 0.2 * Forgetting(0.1) + ConstantKernel(0.1)),
    "common factor": (ConstantKernel(0.5) * (Matern(3.0, nu=2.5) + Matern(0.8, nu=0.5)), LEVEL),
}
SPACE = None, RBF(0.5), Matern([0.4, 0.9], nu=2.5)
SIGNALS = (1.7, BOUNDS), (1.7, "fixed")
every_pair = pytest.mark.parametrize(
    ("spatial", "pair", "signal"), pairs_of(SPACE, PAIRS.values(), SIGNALS)
)


def covariance(spatial, pair, signal):
    arguments = signal, (0.05, BOUNDS), 0 if spatial is None else 2
    found = SeparableCovariance.of(spatial, pair[0], *arguments, mean_variance=1.0, level=pair[1])
    assert type(found) is CompiledCovariance
    return found


def points(spatial, n, seed=0):
    rng = np.random.RandomState(seed)
    return rng.uniform(size=(n, 0 if spatial is None else 2)), np.sort(rng.uniform(1.0, 6.0, n))


def called(c, S, t, S2=None, t2=None):
    """Return λ (k_S k_T + k_L) by calls of the kernels."""
    times = t[:, np.newaxis], None if t2 is None else t2[:, np.newaxis]
    K = c.temporal(*times) * (1.0 if c.spatial is None else c.spatial(S, S2))
    return c.signal_variance * (K + (0.0 if c.level is None else c.level(*times)))


def derivatives(c, function, step=1e-5):
    """Return central differences of a function of a covariance, for λ's and the kernels' theta."""
    n = c._parts[2].stop
    moves = step * np.eye(len(c.theta))[:n]
    both = [
        (function(c.with_theta(c.theta + m)), function(c.with_theta(c.theta - m))) for m in moves
    ]
    return np.array([(after - before) / (2.0 * step) for after, before in both])


@every_pair
def test_matrices_are_kernel_calls_and_derivatives_differences(spatial, pair, signal, rng):
    c = covariance(spatial, pair, signal)
    one, other = points(spatial, 9), points(spatial, 5, seed=1)
    a, W = rng.normal(size=9), rng.normal(size=(9, 5))
    P = np.linalg.inv(called(c, *one) + 0.05 * np.eye(9))
    K = c.gram(*one)
    assert_allclose(np.tril(K), np.tril(called(c, *one)), rtol=1e-12)
    assert_allclose(c.cross(*one, *other), called(c, *one, *other), rtol=1e-12)
    assert c.varying.level is None
    assert_allclose(c.varying.cross(*one), called(c.varying, *one), rtol=1e-12)
    expected = derivatives(c, lambda c: np.sum((np.outer(a, a) - P) * called(c, *one)))
    assert_allclose(c.gradient(*one, K, P, a), expected, rtol=1e-6, atol=1e-6)
    expected = derivatives(c, lambda c: called(c, *one) @ a)
    assert_allclose(c.slope_products(*one, K, a), expected, rtol=1e-6, atol=1e-6)
    expected = derivatives(c, lambda c: np.sum(W * called(c, *one, *other)))
    found = c.cross_gradient(*one, *other, c.cross(*one, *other), W)
    assert_allclose(found, expected, rtol=1e-6, atol=1e-6)
    expected = derivatives(c, lambda c: a @ called(c, *one).diagonal())
    assert_allclose(c.variance_gradient(*one, a), expected, rtol=1e-6, atol=1e-6)
