"""Futures of kernels in time by quadrature: against closed forms, and against other quadrature."""

from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import quad_vec
from sklearn.gaussian_process.kernels import (
    RBF,
    ConstantKernel,
    DotProduct,
    ExpSineSquared,
    Matern,
    RationalQuadratic,
    WhiteKernel,
)

from sktvbo.exceptions import UnsupportedKernelError
from sktvbo.gaussian_process._composite import Composite
from sktvbo.gaussian_process._future import (
    Future,
    future_of,
    temporal_length_scale,
    with_decaying_bounds,
)
from sktvbo.kernels import Forgetting, Wiener, with_seasons
from sktvbo.relevancy import temporal_convolution


class ByQuadrature(Future):
    future_basis = None


KNOWN = {
    "matern12": Matern(2.0, nu=0.5),
    "matern32, long": Matern(3e7, nu=1.5),
    "matern52, short": Matern(1e-5, nu=2.5),
    "rbf": RBF(3.0),
    "forgetting": Forgetting(0.2),
    "smooth and rough": Matern(300.0, nu=2.5) + 0.1 * Matern(0.1, nu=0.5),
    "product": 2.0 * Matern(nu=0.5) * Matern(3.0, nu=2.5),
    "season": with_seasons(Matern(6.0, nu=2.5), 24.0),
    "oscillation": Matern(7.0, nu=1.5) * ExpSineSquared(1.0, 1.0),
}
UNKNOWN = {
    **{f"alpha {alpha}": RationalQuadratic(2.0, alpha) for alpha in (0.3, 0.5, 1.0, 30.0)},
    "matern of any nu": Matern(3.0, nu=0.8),
    "sum with rbf": RBF(30.0) + 0.2 * Matern(0.5, nu=0.5),
    "product with rbf": RBF(5.0) * Matern(2.0, nu=1.5),
    "sum with rational": RationalQuadratic(4.0, 0.8) + RBF(0.1),
    "white": RationalQuadratic(4.0, 0.8) + WhiteKernel(0.3),
    "rbf season": RBF(4.0) * ExpSineSquared(1.0, 2.0),
}


def ages(length_scale, start=0.0, seed=0):
    """Ages (9,) of many magnitudes, the least at some lengthscales."""
    u = np.random.RandomState(seed).exponential(size=8) * np.logspace(-4.0, 1.0, 8)
    return length_scale * (start + np.append(0.0, u))


def length_scale_of(known):
    return known.length_scale if isinstance(known, Composite) else known.length_scales[0]


@pytest.mark.parametrize("start", [0.0, 2.0, 15.0])
@pytest.mark.parametrize("kernel", KNOWN.values(), ids=list(KNOWN))
def test_quadrature_has_the_values_of_closed_forms(kernel, start):
    known, quadrature = future_of(kernel, "This"), ByQuadrature(kernel, "This")
    assert not isinstance(known, Future)
    l = length_scale_of(known)
    u, v = ages(l, start), ages(l, start, seed=1)[:5]
    C = known.future_convolution(u, v)
    assert_allclose(quadrature.future_convolution(u, v), C, rtol=0.0, atol=1e-8 * C.max())
    found, square = (future.future_convolution(u, u) for future in (quadrature, known))
    assert_allclose(found, square, rtol=0.0, atol=1e-8 * C.max())
    scaled = quadrature.future_convolution(u, u, u.min())
    assert_allclose(scaled / scaled[0, 0], square / C[0, 0], atol=1e-8)


@pytest.mark.parametrize("name", list(KNOWN))
def test_effective_lengthscale_and_bounds_of_the_decay(name):
    kernel, gaps = KNOWN[name], np.linspace(0.0, 40.0, 300)
    known, quadrature = Composite.of(kernel), ByQuadrature(kernel, "This")
    if known.series is not None:
        expected = Composite(known.leaves * 1, known.terms)
        effective = expected.future_basis.integral / expected.variance**2
        assert_allclose(effective / quadrature.length_scale, _matern52_integral(), rtol=1e-8)
    bound = quadrature.decay(gaps)
    values = kernel(gaps[:, np.newaxis], [[0.0]])[:, 0] / kernel.diag(np.zeros((1, 1)))
    assert (np.diff(bound) <= 1e-12).all()
    assert (bound >= 0.98 * np.abs(values)).all()  # a peak may be between two nodes
    assert bound[0] == pytest.approx(1.0)
    if "season" not in name and name != "oscillation":
        assert_allclose(bound, values, atol=1e-12)


def _matern52_integral():
    return Composite.of(1.0 * Matern(nu=2.5)).future_basis.integral


def by_adaptive_quadrature(kernel, u, v, scale):
    cuts = np.append(0.0, scale * np.logspace(-3.0, 60.0, 64))

    def integrand(s):
        k = kernel(s + np.append(u, v)[:, np.newaxis], np.zeros((1, 1)))[:, 0]
        return np.outer(k[: len(u)], k[len(u) :])

    return sum(quad_vec(integrand, *ends, epsabs=1e-13 * scale)[0] for ends in pairwise(cuts))


@pytest.mark.parametrize("kernel", UNKNOWN.values(), ids=list(UNKNOWN))
def test_convolutions_of_unknown_kernels(kernel):
    l = temporal_length_scale(kernel)
    u, v = np.array([0.0, 0.07, 4.1]) * l, np.array([0.0, 1.2]) * l
    expected = by_adaptive_quadrature(kernel, u, v, l)
    found = temporal_convolution(kernel, -u, 0.0, -v)
    assert_allclose(found, expected, rtol=0.0, atol=1e-8 * np.max(expected))
    assert_allclose(temporal_convolution(kernel, -u, 0.0)[:, :1], found[:, :1], rtol=1e-12)


@pytest.mark.parametrize("unit", [1e-9, 1.0, 3e8])
def test_units_of_time_do_not_matter(unit):
    u = ages(1.0)
    one = Future(RationalQuadratic(1.0, 0.4), "This")
    other = Future(RationalQuadratic(unit, 0.4), "This")
    assert_allclose(
        other.future_convolution(unit * u, unit * u) / unit, one.future_convolution(u, u), rtol=1e-8
    )
    assert_allclose(other.length_scale, unit * one.length_scale, rtol=1e-8)


def test_ages_beyond_the_range_of_floats_have_finite_relevancies():
    future = Future(RBF(1.0) + RBF(0.5), "This")
    u = 1e4 + np.arange(5.0)
    C = future.future_convolution(u, u, u.min())
    assert np.isfinite(C).all()
    assert (np.diff(C.diagonal()) <= 0.0).all()
    assert C[0, 0] > 0.0


@pytest.mark.parametrize(
    ("kernel", "reason"),
    [
        (ConstantKernel(1.0, "fixed"), "it never forgets, as it has a part that does not decay"),
        (ExpSineSquared(), "it never forgets, .* Multiply that part by a decay"),
        (RBF() + 0.1 * ExpSineSquared(), "it never forgets"),
        (RationalQuadratic() + 1.0, "it never forgets"),
        (Wiener(), "it is not stationary, .* Use a kernel that decays"),
        (DotProduct(), "it is not stationary"),
        (RBF() * Wiener(), "it is not stationary"),
        (RationalQuadratic(alpha=0.25), "it decays so slowly that .* alpha from 0.3 on"),
        (RationalQuadratic(alpha=0.02), "it decays so slowly"),
        (WhiteKernel(), "its values at different times are 0"),
        (RBF(1e4) * ExpSineSquared(), ".* oscillates too often .* closed forms"),
    ],
    ids=str,
)
def test_errors_say_why_there_is_no_future(kernel, reason):
    with pytest.raises(UnsupportedKernelError, match=f"This is not available for .*: {reason}"):
        future_of(kernel, "This")


def test_bounds_of_a_search_stay_where_kernels_decay():
    kernel = RationalQuadratic(2.0, 1.0) + 0.5 * RationalQuadratic(3.0, 5.0, alpha_bounds="fixed")
    bounded = with_decaying_bounds(kernel, None)
    low, high = bounded.k1.alpha_bounds
    assert 0.25 < low < 0.3
    assert high == pytest.approx(1e5)
    assert bounded.k2 == kernel.k2
    assert tuple(bounded.k1.length_scale_bounds) == kernel.k1.length_scale_bounds
    for unchanged in (Matern(nu=0.5) + Forgetting(), RBF(), Wiener(), RationalQuadratic(alpha=0.1)):
        assert with_decaying_bounds(unchanged, None) == unchanged
