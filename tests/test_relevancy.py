"""Convolutions against quadrature, and relevancies against integrals of posteriors."""

from itertools import cycle, pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.integrate import quad
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern, RationalQuadratic
from twins import relevancy as twin

from sktvbo import TimeVaryingGPRegressor
from sktvbo.exceptions import JitterWarning, UnsupportedKernelError
from sktvbo.kernels import Empirical, Forgetting, Wiener
from sktvbo.relevancy import (
    RelevancySweep,
    spatial_convolution,
    temporal_convolution,
    wasserstein_relevancy,
)

SPATIAL = {
    "rbf": RBF(0.7),
    "matern12": Matern(0.7, nu=0.5),
    "matern32": Matern(0.7, nu=1.5),
    "matern52": Matern(0.7, nu=2.5),
    "matern-inf": Matern(0.7, nu=np.inf),
}
TEMPORAL = {
    "rbf": RBF(1.3),
    "matern12": Matern(1.3, nu=0.5),
    "matern32": Matern(1.3, nu=1.5),
    "matern52": Matern(1.3, nu=2.5),
    "forgetting": Forgetting(0.4),
    "rbf and matern": RBF(1.3) + 0.2 * Matern(0.5, nu=0.5),
}

every_spatial = pytest.mark.parametrize("kernel", SPATIAL.values(), ids=list(SPATIAL))
every_temporal = pytest.mark.parametrize("kernel", TEMPORAL.values(), ids=list(TEMPORAL))


def with_scales(kernel, length_scale):
    return kernel.__class__(**{**kernel.get_params(), "length_scale": length_scale})


def at_distance(kernel, r):
    """The kernel at the distances r, of any shape."""
    return kernel(np.reshape(r, (-1, 1)), [[0.0]]).reshape(np.shape(r))


# --- spatial convolutions -------------------------------------------------------------------------


def gauss_legendre(breaks, order=40):
    """Nodes and weights over consecutive intervals."""
    x, w = np.polynomial.legendre.leggauss(order)
    middle, half = 0.5 * (np.add(breaks[1:], breaks[:-1])), 0.5 * np.diff(breaks)
    return (
        (middle[:, np.newaxis] + half[:, np.newaxis] * x).ravel(),
        (half[:, np.newaxis] * w).ravel(),
    )


def quadrature(kernel, d, r):
    """∫ k(|z|) k(|z − x|) dz over R^d, |x| = r > 0, in coordinates about the foci 0 and x.

    There the distances from the foci are a (s + c) and a (s − c), a = r / 2, and a kernel's kink at
    its center is none: with s = cosh ξ, c = cos η in the plane the trapezoidal rule converges
    exponentially, with s and c themselves in space the Gauss-Legendre rule does.
    """
    a, reach = 0.5 * r, 30.0
    if d == 1:
        z, weights = gauss_legendre(np.r_[np.linspace(-reach, 0.0, 9), np.linspace(r, reach, 9)])
        return weights @ (at_distance(kernel, np.abs(z)) * at_distance(kernel, np.abs(z - r)))
    if d == 2:
        xi, step = np.linspace(0.0, np.arccosh(reach / a), 300, retstep=True)
        eta = np.arange(80) * (2.0 * np.pi / 80)
        s, c = np.cosh(xi)[:, np.newaxis], np.cos(eta)
        weights = np.full(300, 2.0 * np.pi / 80 * step)
        weights[0] *= 0.5
        area = a**2 * (s**2 - c**2)
    else:
        s, weights = gauss_legendre(np.linspace(1.0, reach / a, 12))
        c, across = gauss_legendre([-1.0, 1.0])
        s = s[:, np.newaxis]
        area = 2.0 * np.pi * a**3 * (s**2 - c**2) * across
    values = at_distance(kernel, a * (s + c)) * at_distance(kernel, a * (s - c))
    return weights @ np.sum(values * area, axis=1)


def quadrature_at_zero(kernel, d):
    """∫ k(|z|)² dz over R^d."""
    surface = {1: 2.0, 2: 2.0 * np.pi, 3: 4.0 * np.pi}[d]
    r, weights = gauss_legendre(np.linspace(0.0, 30.0, 20))
    return surface * weights @ (at_distance(kernel, r) ** 2 * r ** (d - 1))


@every_spatial
@pytest.mark.parametrize("d", [1, 2, 3])
def test_spatial_convolution_is_the_integral(d, kernel):
    distances = [0.05, 0.4, 1.0, 3.0]
    direction = np.arange(1.0, d + 1)
    direction /= np.linalg.norm(direction)
    found = spatial_convolution(kernel, np.zeros((1, d)), np.outer([0.0, *distances], direction))
    expected = [quadrature_at_zero(kernel, d), *(quadrature(kernel, d, r) for r in distances)]
    assert_allclose(found[0], expected, rtol=1e-9)


@every_spatial
@pytest.mark.parametrize("d", [2, 3, 4])
def test_one_lengthscale_per_dimension_is_a_change_of_variables(rng, d, kernel):
    scales = np.linspace(0.4, 1.6, d)
    X, Y = rng.normal(size=(6, d)), rng.normal(size=(4, d))
    expected = np.prod(scales) * spatial_convolution(
        with_scales(kernel, 1.0), X / scales, Y / scales
    )
    found = spatial_convolution(with_scales(kernel, scales), X, Y)
    assert_allclose(found, expected, rtol=1e-12)


# --- temporal convolutions ------------------------------------------------------------------------

TIMES = np.array([-4.0, -0.7, 0.0, 0.3, 0.3])


def future_integral(kernel, t, s, now):
    """∫ k(τ − t) k(τ − s) dτ over τ ≥ now."""

    def product(tau):
        return np.prod(kernel([[tau]], [[t], [s]]))

    breaks = now + np.array([0.0, 2.0, 8.0, 30.0, 120.0])
    return sum(quad(product, *ab, epsabs=1e-200, epsrel=1e-12)[0] for ab in pairwise(breaks))


@every_temporal
@pytest.mark.parametrize("now", [0.3, 6.0])
def test_temporal_convolution_is_the_integral(now, kernel):
    found = temporal_convolution(kernel, TIMES[:4], now)
    expected = [[future_integral(kernel, t, s, now) for s in TIMES[:4]] for t in TIMES[:4]]
    assert_allclose(found, expected, rtol=1e-9)


@every_temporal
def test_temporal_convolution_of_two_sets(kernel):
    C = temporal_convolution(kernel, TIMES, 1.0)
    assert_allclose(C, C.T, rtol=1e-12)
    assert_allclose(temporal_convolution(kernel, TIMES[:2], 1.0, TIMES[1:]), C[:2, 1:], rtol=1e-12)
    assert np.linalg.eigvalsh(C).min() > -1e-12


# --- relevancies ----------------------------------------------------------------------------------


def observations(n, d):
    """Places (n, d), times and values in a closed form."""
    k = np.arange(1.0, n * d + 1).reshape(n, d)
    X = 0.5 + 0.5 * np.sin(1.7 * k**2)
    t = 0.4 * np.arange(n) + 0.1 * np.cos(3.0 * np.arange(n))
    return X, t, np.sin(5.0 * X.sum(axis=1)) * np.cos(t) + 0.1 * np.cos(7.0 * t)


def problem(n=30, d=2, pace=1.0, **changes):
    """Arguments of ``wasserstein_relevancy``; the data's times are stretched by ``pace``."""
    X, t, y = observations(n, d)
    t = pace * t
    arguments = {
        "X": np.column_stack([X, t]),
        "y": y,
        "spatial_kernel": Matern(0.4, nu=2.5),
        "temporal_kernel": Matern(3.0, nu=1.5),
        "signal_variance": 1.3,
        "noise_variance": 0.05,
        "now": t.max() + 0.5,
    }
    return arguments | changes


def dense_covariance(X, spatial_kernel, temporal_kernel, signal_variance, noise_variance, **_):
    K = signal_variance * spatial_kernel(X[:, :-1]) * temporal_kernel(X[:, -1:])
    return K + noise_variance * np.eye(len(X))


def brute_force(X, y, spatial_kernel, temporal_kernel, signal_variance, noise_variance, now):
    """Relevancies for d = 1 by integration of the posteriors with and without each row."""
    x = X[:, 0]
    # Kinks are at the observations: between them everything is smooth.
    ends = np.unique(x)[[0, -1]] + [[-8.0, 8.0], [-2.0, 2.0]]
    places, weights = gauss_legendre(np.sort(np.r_[np.unique(x), ends.ravel()]), 30)
    times, time_weights = gauss_legendre(now + np.array([0.0, 2.0, 4.0, 8.0, 16.0, 40.0]), 30)
    in_space = spatial_kernel(places[:, None], X[:, :1])
    k = signal_variance * in_space[:, None] * temporal_kernel(times[:, None], X[:, 1:])
    K = dense_covariance(X, spatial_kernel, temporal_kernel, signal_variance, noise_variance)

    def posterior(rows):
        P, k_rows = np.linalg.inv(K[np.ix_(rows, rows)]), k[..., rows]
        variance = signal_variance - np.einsum("xti,ij,xtj->xt", k_rows, P, k_rows)
        return k_rows @ (P @ y[rows]), variance

    def distance(one, other):
        return weights @ ((one[0] - other[0]) ** 2 + other[1] - one[1]) @ time_weights

    everything = posterior(np.arange(len(x)))
    whole = distance(everything, (0.0, signal_variance))
    without = [posterior(np.delete(np.arange(len(x)), i)) for i in range(len(x))]
    return np.sqrt([distance(everything, other) / whole for other in without])


@pytest.mark.parametrize(
    ("spatial", "temporal"),
    [*zip(cycle(k for name, k in SPATIAL.items() if name != "matern-inf"), TEMPORAL.values())],
    ids=str,
)
def test_relevancy_is_the_distance_between_posteriors(spatial, temporal):
    arguments = problem(n=5, d=1, spatial_kernel=spatial, temporal_kernel=temporal)
    assert_allclose(wasserstein_relevancy(**arguments), brute_force(**arguments), rtol=1e-7)


def test_relevancy_with_noise_of_several_sizes():
    arguments = problem(n=5, d=1, noise_variance=np.array([0.5, 0.01, 0.1, 1.0, 0.02]))
    assert_allclose(wasserstein_relevancy(**arguments), brute_force(**arguments), rtol=1e-7)


@pytest.mark.parametrize("noise", [0.05, np.linspace(0.01, 1.0, 80)], ids=["one", "many"])
@every_temporal
def test_relevancy_is_plain_linear_algebra(kernel, noise):
    # Not too old: the fresh inverses lose the digits of what hardly matters any more.
    arguments = problem(n=80, pace=0.1, temporal_kernel=kernel, noise_variance=noise)
    X, now = arguments["X"], arguments["now"]
    C = spatial_convolution(arguments["spatial_kernel"], X[:, :-1])
    C *= temporal_convolution(kernel, X[:, -1], now)
    expected = twin.relevancy(dense_covariance(**arguments), arguments["y"], C)
    assert_allclose(wasserstein_relevancy(**arguments), expected, rtol=1e-9)


@pytest.mark.parametrize("factor", [1e-6, 30.0, 1e8])
def test_units_of_y_do_not_matter(factor):
    arguments = problem()
    scales = {"y": factor, "signal_variance": factor**2, "noise_variance": factor**2}
    scaled = {name: scale * arguments[name] for name, scale in scales.items()}
    expected = wasserstein_relevancy(**arguments)
    assert_allclose(wasserstein_relevancy(**arguments | scaled), expected, rtol=1e-8)


@every_temporal
def test_the_calendar_does_not_matter(kernel):
    arguments = problem(temporal_kernel=kernel)
    X = arguments["X"].copy()
    X[:, -1] = np.round(4.0 * X[:, -1]) / 4.0
    moved = X + np.array([0.0, 0.0, 1.7e9])
    now = X[:, -1].max() + 0.5
    expected = wasserstein_relevancy(**arguments | {"X": X, "now": now})
    found = wasserstein_relevancy(**arguments | {"X": moved, "now": now + 1.7e9})
    assert_allclose(found, expected, rtol=1e-9)


def test_units_of_space_and_time_do_not_matter():
    arguments = problem()
    scaled = arguments | {
        "X": arguments["X"] * [1e-3, 1e-3, 86400.0],
        "spatial_kernel": Matern(0.4e-3, nu=2.5),
        "temporal_kernel": Matern(3.0 * 86400.0, nu=1.5),
        "now": 86400.0 * arguments["now"],
    }
    expected = wasserstein_relevancy(**arguments)
    assert_allclose(wasserstein_relevancy(**scaled), expected, rtol=1e-8)


@pytest.mark.parametrize("column", [0, 1, -2])
def test_time_column(column):
    arguments = problem()
    X = arguments["X"]
    moved = np.insert(X[:, :-1], column % 3, X[:, -1], axis=1)
    found = wasserstein_relevancy(**arguments | {"X": moved, "time_column": column})
    assert_array_equal(found, wasserstein_relevancy(**arguments))


def test_time_alone():
    arguments = problem(n=12, pace=0.3)
    X, y, now = arguments["X"][:, -1:], arguments["y"], arguments["now"]
    time = arguments["temporal_kernel"]
    K = 1.3 * time(X) + 0.05 * np.eye(12)
    expected = twin.relevancy(K, y, temporal_convolution(time, X[:, 0], now))
    for spatial in (None, arguments["spatial_kernel"]):
        found = wasserstein_relevancy(**arguments | {"X": X, "spatial_kernel": spatial})
        assert_allclose(found, expected, rtol=1e-9)


def test_layouts_and_types():
    arguments = problem()
    expected = wasserstein_relevancy(**arguments)
    X, y = arguments["X"].copy(), arguments["y"].copy()
    X.flags.writeable = y.flags.writeable = False
    for array in (X, np.asfortranarray(X), np.repeat(X, 2, axis=1)[:, ::2], X.tolist()):
        found = wasserstein_relevancy(**arguments | {"X": array, "y": np.repeat(y, 2)[::2]})
        assert_array_equal(found, expected)
    single = {"X": X.astype(np.float32), "y": y.astype(np.float32)}
    assert_allclose(wasserstein_relevancy(**arguments | single), expected, rtol=1e-3)


# --- errors ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"now": 5.0}, r"now must be no earlier than any observation\. Got 5\.0, but an"),
        ({"now": np.nan}, r"now must be a float in the range .* Got nan"),
        ({"X": np.full((30, 3), np.nan)}, "X must be finite. Got 90 NaN"),
        ({"y": np.full(30, np.inf)}, r"y must be finite"),
        ({"y": np.zeros(29)}, r"y must be an array of shape \(30,\)\. Got shape \(29,\)"),
        ({"time_column": 3}, r"time_column must be an int in the range \[-3, 2\]. Got 3"),
        ({"spatial_kernel": RBF([1.0, 2.0, 3.0])}, r"per column \(2\)\. Got 3 len"),
        ({"spatial_kernel": None}, "spatial_kernel must be a kernel of the 2 spatial .* Got None"),
        ({"temporal_kernel": None}, "temporal_kernel must be a kernel of the time .* Got None"),
        ({"temporal_kernel": Forgetting(1.2)}, "'epsilon' parameter of Forgetting"),
        ({"noise_variance": np.ones(29)}, "noise_variance must be .* or 30 of them"),
        ({"signal_variance": 0.0}, "signal_variance must be a float .* Got 0.0"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_errors(changes, message):
    with pytest.raises(ValueError, match=message):
        wasserstein_relevancy(**problem(**changes))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"spatial_kernel": RationalQuadratic()}, "not available for RationalQuadratic.*Supported"),
        ({"spatial_kernel": 2.0 * RBF()}, "no closed form is known"),
        ({"spatial_kernel": Forgetting()}, "not available for Forgetting"),
        ({"spatial_kernel": ConstantKernel(1.0, "fixed")}, "The relevancy of observations"),
        ({"temporal_kernel": Wiener()}, "it is not stationary"),
        ({"temporal_kernel": ConstantKernel(1.0, "fixed")}, "it never forgets"),
    ],
    ids=lambda value: str(value)[:60],
)
def test_unsupported_kernels(changes, message):
    with pytest.raises(UnsupportedKernelError, match=message):
        wasserstein_relevancy(**problem(**changes))


@pytest.mark.parametrize("kernel", [Wiener(), ConstantKernel(1.0, "fixed")], ids=str)
def test_convolutions_of_unsupported_kernels(kernel):
    with pytest.raises(UnsupportedKernelError, match="The spatial convolution is not available"):
        spatial_convolution(kernel, [[0.0]])
    with pytest.raises(UnsupportedKernelError, match="The temporal convolution is not available"):
        temporal_convolution(kernel, [0.0], 1.0)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: spatial_convolution(RBF(), np.zeros((3, 2)), np.zeros((3, 1))), "Y must be .* 2"),
        (lambda: temporal_convolution(RBF([1.0, 2.0]), [0.0], 1.0), r"column \(1\)\. Got 2 len"),
        (lambda: temporal_convolution(RBF(), [0.0], 1.0, [-1.0, 2.0]), "no earlier than any obs"),
        (lambda: temporal_convolution(RBF(), [0.0, 2.0], 1.0, [0.0]), "no earlier than any obs"),
        (lambda: temporal_convolution(RBF(), [np.nan], 1.0), "t must be finite"),
    ],
)
def test_errors_of_convolutions(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_duplicates_without_noise_take_jitter():
    X = [[0.1, 0.0], [0.1, 0.0], [0.9, 1.0]]
    arguments = problem(X=X, y=[1.0, 1.0, 0.5], now=1.0, noise_variance=0.0)
    with pytest.warns(JitterWarning):
        found = wasserstein_relevancy(**arguments)
    assert np.isfinite(found).all()


# --- the sweep ------------------------------------------------------------------------------------


def sweep_of(K, y, C, rows):
    P = np.linalg.inv(K[np.ix_(rows, rows)])
    return RelevancySweep(P, P @ y[rows], C[np.ix_(rows, rows)].copy())


@every_temporal
def test_sweep_after_many_removals_is_a_fresh_sweep(rng, kernel):
    n = 60
    arguments = problem(n=n, temporal_kernel=kernel)
    X, y = arguments["X"], arguments["y"]
    K = dense_covariance(**arguments)
    C = spatial_convolution(arguments["spatial_kernel"], X[:, :-1])
    C *= temporal_convolution(kernel, X[:, -1], arguments["now"])
    sweep = sweep_of(K, y, C, np.arange(n))
    left = set(range(n))
    while sweep.n > 1:
        # The least relevant first, as the policies do, and sometimes any.
        position = np.argmin(sweep.relevancy()) if rng.rand() < 0.7 else rng.randint(sweep.n)
        left.remove(sweep.index[position])
        sweep.remove(int(position))
        assert set(sweep.index) == left
        assert sweep.n == len(left)
        fresh = sweep_of(K, y, C, sweep.index.copy())
        assert_allclose(sweep.relevancy(), fresh.relevancy(), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("seed", [2, 125, 916])
def test_relevancies_are_numbers_until_one_is_left(seed):
    """A jump that smooth kernels with next to no noise do not expect.

    What the whole data set contributes falls by orders of magnitude while rows are taken out.
    """
    rng = np.random.RandomState(seed)
    d, scale, l_T = rng.randint(1, 4), 10 ** rng.uniform(-1, 0.5), 10 ** rng.uniform(-0.5, 3)
    nus = [0.5, 1.5, 2.5, np.inf]
    temporal, spatial = Matern(l_T, nu=nus[rng.randint(4)]), Matern(scale, nu=nus[rng.randint(4)])
    noise, t = 10 ** rng.uniform(-6, -1), np.arange(60.0)
    X = np.column_stack([rng.uniform(size=(60, d)), t * 10 ** rng.uniform(-2, 0)])
    y = np.sin(3.0 * X[:, 0]) + rng.choice([1.0, 10.0, 1000.0]) * (t > rng.randint(10, 55))
    options = {"mean_prior_std": rng.choice([0.0, 1.0]), "normalize_y": rng.rand() < 0.5}
    gp = TimeVaryingGPRegressor(spatial, temporal, noise_variance=noise, optimizer=None)
    gp.set_params(**options).fit(X, y)
    sweep = gp.fitted_.relevancy_sweep()
    while sweep.n > 1:
        relevancy = sweep.relevancy()
        assert np.all(np.isfinite(relevancy) & (relevancy >= 0.0))
        sweep.remove(np.argmin(relevancy))


def test_sums_that_rounding_has_made_negative_are_zero():
    for sums in ((-1e-20, -1e-17), (-1e-3, 0.0)):
        sweep = RelevancySweep(np.diag([2.0, 1.0]), np.array([1e-9, 2e-9]), np.diag([1.0, 3.0]))
        sweep._mean_part, sweep._variance_part = sums
        found = sweep.relevancy()
        # Of a total of 0 the order is left.
        assert_allclose(found[1] / found[0], np.sqrt(3.0 / 2.0), rtol=1e-6)


def test_sweep_leaves_what_it_was_given():
    arguments = problem(n=8)
    P = np.linalg.inv(dense_covariance(**arguments))
    given = P, P @ arguments["y"], np.eye(8)
    before = [array.copy() for array in given]
    sweep = RelevancySweep(*given)
    sweep.remove(3)
    sweep.relevancy()
    for array, kept in zip(given, before):
        assert_array_equal(array, kept)


def test_relevancy_of_arms_sums_over_them():
    rng = np.random.RandomState(0)
    A = rng.normal(size=(5, 3))
    arms, temporal = Empirical(A @ A.T / 3.0), Matern(3.0, nu=1.5)
    X = np.column_stack([rng.randint(5, size=7), np.sort(rng.uniform(0.0, 6.0, 7))])
    arguments = problem(X=X, y=rng.normal(size=7), now=6.5, spatial_kernel=arms)
    to_all = arms(X[:, :1], np.arange(5.0)[:, np.newaxis])
    C = (to_all @ to_all.T) * temporal_convolution(temporal, X[:, 1], 6.5)
    expected = twin.relevancy(dense_covariance(**arguments), arguments["y"], C)
    assert_allclose(wasserstein_relevancy(**arguments), expected, rtol=1e-6)
    assert_allclose(spatial_convolution(arms, X[:, :1]), to_all @ to_all.T, rtol=1e-12)
