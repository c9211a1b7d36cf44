"""Sums and products of temporal kernels, against scikit-learn's kernels and quadrature."""

import pickle
from itertools import cycle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process.kernels import (
    RBF,
    ConstantKernel,
    ExpSineSquared,
    Matern,
    RationalQuadratic,
)

from sktvbo import BOLT, WDBO, TimeVaryingGPRegressor
from sktvbo.gaussian_process._composite import SHORTEST_PERIODIC, Composite
from sktvbo.gaussian_process._covariance import (
    GenericCovariance,
    PairCovariance,
    SeparableCovariance,
)
from sktvbo.gaussian_process._future import temporal_length_scale
from sktvbo.gaussian_process.kalman._filter import Filter, SiteIndex
from sktvbo.kernels import Forgetting, Wiener, season_priors, with_seasons
from sktvbo.relevancy import temporal_convolution

BOUNDS = (1e-3, 1e3)
QUASI_PERIODIC = Matern(3.0, nu=1.5) * ExpSineSquared(0.8, 1.3)
SEASON = Matern(2.0, nu=2.5) + ConstantKernel(0.5) * Matern(5.0, nu=0.5) * ExpSineSquared(
    0.6, 0.9, periodicity_bounds="fixed"
)
NESTED = (ConstantKernel(2.0) * (Matern(1.0, nu=1.5) + Forgetting(0.2))) * (
    ExpSineSquared(1.1, 2.0) + ConstantKernel(0.3, "fixed") * Matern(4.0, "fixed", nu=2.5)
)
TWO_SEASONS = Matern(6.0, nu=0.5) * ExpSineSquared(2.5, 1.0) * ExpSineSquared(3.0, 7.0)
WITH_SERIES = {
    "quasi-periodic": QUASI_PERIODIC,
    "season": SEASON,
    "nested": NESTED,
    "two seasons": TWO_SEASONS,
    "constant": 2.0 * Matern(nu=0.5),
    "sharp": Matern(3.0, nu=1.5) * ExpSineSquared(0.12, 1.3),
}
KERNELS = WITH_SERIES | {
    "rbf": RBF(2.0) * ExpSineSquared(0.3, 1.0) + 0.2 * RBF(1.0) * Matern(3.0, nu=0.5) * Matern(),
    "periodic": ExpSineSquared(0.2, 3.0),
    "level": Matern(nu=1.5) + ConstantKernel(0.1),
    "smooth and rough": 0.7 * Matern(3.0, nu=2.5) + 0.3 * Matern(0.8, nu=0.5),
    "forgetting": Forgetting(0.3) + 0.3 * RBF(1.1),
}
every_series = pytest.mark.parametrize("kernel", WITH_SERIES.values(), ids=list(WITH_SERIES))
SPACE = None, Matern([0.4, 0.9], nu=2.5)
PAIRS = [
    (Matern(2.0, nu=1.5), SPACE[1]),
    (Forgetting(0.2), RBF(0.5)),
    (RBF(1.5), Matern(0.8, nu=0.5)),
    (RBF(1.5), RBF(0.5, "fixed")),
    (ConstantKernel(1.0, "fixed"), RBF([0.4, 0.9])),
    (Matern(2.0, nu=2.5), None),
]
# Composites alone and in space, in turns.
every_kernel = pytest.mark.parametrize(
    ("temporal", "spatial"), [*PAIRS, *zip(KERNELS.values(), cycle(SPACE)), (NESTED, SPACE[1])]
)


def both(spatial, temporal, signal=BOUNDS):
    """Return the compiled covariance and the one of kernel calls."""
    n_dims = 0 if spatial is None else 2
    arguments = (1.7, signal), (0.05, BOUNDS), n_dims
    compiled = SeparableCovariance.of(spatial, temporal, *arguments)
    general = GenericCovariance((spatial, temporal), *arguments, None, 0.0)
    assert not isinstance(compiled, GenericCovariance)
    return compiled, general


def points(spatial, n, seed=0):
    rng = np.random.RandomState(seed)
    return rng.uniform(size=(n, 0 if spatial is None else 2)), rng.uniform(1.0, 6.0, n)


def values_at(kernel, ages):
    return kernel(np.reshape(ages, (-1, 1)), [[0.0]])[:, 0]


def integral(function, end=150.0, width=0.1):
    """Return the integral of a function of times (n,) from 0 to ``end``, by Gauss's rule."""
    nodes, weights = np.polynomial.legendre.leggauss(12)
    starts = np.arange(0.0, end, width)[:, np.newaxis]
    return function((starts + 0.5 * width * (1.0 + nodes)).ravel()) @ np.tile(
        0.5 * width * weights, len(starts)
    )


# --- covariances ----------------------------------------------------------------------------------


@every_kernel
def test_matrices_are_those_of_kernel_calls(spatial, temporal):
    one, other = points(spatial, 9), points(spatial, 5, seed=1)
    for moved in (0.0, 0.1):
        compiled, general = (c.with_theta(c.theta + moved) for c in both(spatial, temporal))
        compiled = pickle.loads(pickle.dumps(compiled))
        assert compiled.names == general.names
        assert_array_equal(compiled.theta, general.theta)
        expected = general.cross(*one)
        assert_allclose(np.tril(compiled.gram(*one)), np.tril(expected), rtol=1e-12, atol=1e-13)
        assert_allclose(compiled.cross(*one), expected, rtol=1e-12, atol=1e-13)
        expected = general.cross(*one, *other)
        assert_allclose(compiled.cross(*one, *other), expected, rtol=1e-12, atol=1e-13)
        assert_allclose(compiled.variance(*one), general.variance(*one), rtol=1e-14)
        for c in (compiled, general):
            out, square = np.full((9, 5), np.nan), np.full((9, 9), np.nan)
            assert c.cross(*one, *other, out=out) is out
            assert_array_equal(out, c.cross(*one, *other))
            assert c.gram(*one, out=square) is square
            assert_array_equal(np.tril(square), np.tril(c.gram(*one)))
            row = general.cross(*one)[4]
            assert_allclose(c.row(*one, 4), row, rtol=1e-12, atol=1e-13)
        if isinstance(compiled, PairCovariance):
            continue  # compiled code computes the covariances in time
        *_, variance, options = compiled.at_one_time(*one, 7.5)
        *_, expected, others = general.at_one_time(*one, 7.5)
        assert_allclose(variance, expected, rtol=1e-12)
        assert options.keys() == others.keys() == {"in_time"}
        assert_allclose(options["in_time"], others["in_time"], rtol=1e-12, atol=1e-13)


@every_kernel
@pytest.mark.parametrize("signal", [BOUNDS, "fixed"], ids=["learnt", "fixed"])
def test_derivatives_in_theta_are_those_of_kernel_calls(spatial, temporal, signal, rng):
    compiled, general = both(spatial, temporal, signal)
    one, other = points(spatial, 9), points(spatial, 5, seed=1)
    K = general.gram(*one)
    P = np.linalg.inv(K + 0.05 * np.eye(9))
    a = P @ rng.normal(size=9)
    found = compiled.gradient(*one, compiled.gram(*one), P.copy(), a)
    expected = general.gradient(*one, K, P.copy(), a)
    assert_allclose(found, expected, rtol=1e-10, atol=1e-10 * np.abs(expected).max())
    W = rng.normal(size=(9, 5))
    found, expected = (
        c.cross_gradient(*one, *other, c.cross(*one, *other), W) for c in (compiled, general)
    )
    assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
    found, expected = (c.variance_gradient(*one, a) for c in (compiled, general))
    assert_allclose(found, expected, rtol=1e-8, atol=1e-8)
    # dK/dtheta a, whose product with a vector is a sum over derivatives.
    K, b = compiled.gram(*one), rng.normal(size=9)
    weights = -0.5 * (np.outer(b, a) + np.outer(a, b))
    expected = compiled.gradient(*one, K, weights, np.zeros(9))
    assert_allclose(compiled.slope_products(*one, K, a) @ b, expected, rtol=1e-10, atol=1e-12)


@every_kernel
def test_derivatives_at_a_point_are_differences(spatial, temporal):
    compiled, _ = both(spatial, temporal)
    (S, t), h = points(spatial, 9), 1e-6
    s, time, units = np.full(S.shape[1], 0.3), 3.21, compiled.units()
    k, dk = compiled.cross_with_gradient(
        s * units[:-1], time * units[-1], *compiled.to_scaled(S, t)
    )
    expected = compiled.cross(s[np.newaxis], np.array([time]), S, t)[0]
    assert_allclose(k, expected, rtol=1e-12, atol=1e-14)
    for i, step in enumerate(h * np.eye(len(s) + 1)):
        up, down = (
            compiled.cross((s + e[:-1])[np.newaxis], np.array([time + e[-1]]), S, t)[0]
            for e in (step, -step)
        )
        assert_allclose(dk[i] * units[i], (up - down) / (2.0 * h), rtol=1e-6, atol=1e-7)


def test_phases_are_accurate_many_periods_from_the_origin():
    kernel, t = ExpSineSquared(0.5, 0.7), np.array([0.0, 0.7e9, 0.7e9 + 0.2])
    found, _ = Composite.of(kernel).row_with_slope(t[1], t)
    assert_allclose(found[1:], kernel(t[1:2, np.newaxis], t[1:, np.newaxis])[0], rtol=1e-13)


@pytest.mark.parametrize(
    "temporal", [RationalQuadratic() + Matern(), Matern() * Wiener(), Matern(nu=2.5) ** 2], ids=str
)
def test_other_parts_are_called(temporal):
    covariance = SeparableCovariance.of(None, temporal, (1.0, BOUNDS), (0.1, BOUNDS), 0)
    assert type(covariance) is GenericCovariance


@pytest.mark.parametrize(
    "temporal",
    [ConstantKernel(0.0) * Matern(), Matern() * ExpSineSquared(-1.0), 1.0 + ExpSineSquared(1, 0.0)],
    ids=str,
)
def test_invalid_values(temporal):
    with pytest.raises(ValueError, match="must be positive and finite"):
        Composite.of(temporal)


# --- the cap on harmonics -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("start", "given", "low"), [(0.8, 1e-3, SHORTEST_PERIODIC), (0.8, 0.7, 0.7), (0.09, 1e-3, 1e-3)]
)
def test_bounds_of_a_periodic_lengthscale_are_raised(start, given, low):
    kernel = Matern(3.0, "fixed") * ExpSineSquared(start, 1.0, (given, 10.0), "fixed")
    bounds = both(None, kernel)[0].bounds
    assert_allclose(np.exp(bounds[1]), [low, 10.0])
    assert len(bounds) == 3  # with the variances of signal and noise


def test_bounds_of_a_filter_limit_its_state():
    for kernel, n_places, low in (
        (with_seasons(Matern(), 1.0), 1, 0.1),
        (with_seasons(Matern(), 1.0, 7.0), 1, 0.2),
        (with_seasons(Matern(), 1.0), 2, 0.5),
        (Matern() * ExpSineSquared(0.3, 1.0), 2, 0.3),
        (Matern() * ExpSineSquared(1.0, 1.0, (0.7, 2.0)), 1, 0.7),
    ):
        covariance = both(None, kernel)[0]
        sites = SiteIndex(np.arange(n_places)[:, np.newaxis] * 1.0)
        found = Filter.searchable(covariance, sites)
        for name in covariance.periodic_bounds:
            i = covariance.names.index(name)
            assert_allclose(np.exp(found.bounds[i, 0]), low)
            assert found.bounds[i, 1] == covariance.bounds[i, 1]
        again = pickle.loads(pickle.dumps(found)).with_theta(found.theta)
        assert_array_equal(again.bounds, found.bounds)


# --- sharp seasons --------------------------------------------------------------------------------


SHAPES = {
    "one hour": lambda hour: 3.0 * (hour == 8.0),
    "office hours": lambda hour: 2.0 * ((hour >= 8.0) & (hour < 18.0)),
    "smooth": lambda hour: np.sin(2.0 * np.pi * hour / 24.0),
}


@pytest.mark.parametrize("solver", ["dense", pytest.param("kalman", marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    ("name", "trend"), [*zip(SHAPES, [Matern(), Matern(24.0, nu=2.5), Matern()])], ids=str
)
def test_seasons_of_any_shape_are_forecast(name, solver, trend):
    hours, noise = np.arange(480.0), 0.1 * np.random.RandomState(0).normal(size=480)
    kernel, priors = with_seasons(trend, 24.0), season_priors(24.0)
    gp = TimeVaryingGPRegressor(None, kernel, hyperpriors=priors, solver=solver)
    future = np.arange(480.0, 528.0)
    gp.fit(hours[:, np.newaxis], SHAPES[name](hours % 24.0) + noise)
    forecast = gp.predict(future[:, np.newaxis])
    assert np.sqrt(np.mean((forecast - SHAPES[name](future % 24.0)) ** 2)) < 0.05
    # A later search starts from what was learnt.
    assert_allclose(gp.refit().theta_, gp.theta_, atol=0.1)


def test_a_season_at_its_bound_names_the_remedy():
    for n, low, message in (
        (24, 0.5, r"0\.5: the season is sharper\. Lower the bound"),
        (60, 0.01, r"0\.1: the season is sharper\. The bound is raised .* start below it"),
    ):
        t = np.arange(8.0 * n)
        y = 3.0 * (t % n == 8.0) + 0.1 * np.random.RandomState(0).normal(size=len(t))
        season = Matern(10.0 * n) * ExpSineSquared(1.0, n, (low, 10.0), "fixed")
        kernel = Matern() + ConstantKernel(0.1, (1e-3, 10.0)) * season
        with pytest.warns(ConvergenceWarning, match=message) as record:
            TimeVaryingGPRegressor(None, kernel).fit(t[:, np.newaxis], y)
        # Its amplitude is arbitrary.
        assert not [each for each in record if "constant_value" in str(each.message)]


# --- series, relevancies and lengthscales ---------------------------------------------------------


@every_series
def test_the_series_is_the_kernel(kernel):
    composite, ages = Composite.of(kernel), np.linspace(0.0, 20.0, 300)
    rates, frequencies, polynomials = composite.series
    powers = ages ** np.arange(polynomials.shape[1])[:, np.newaxis]
    terms = np.exp(-np.outer(rates, ages)) * np.cos(np.outer(frequencies, ages))
    found = np.sum(terms * (polynomials @ powers), axis=0)
    assert_allclose(found, values_at(kernel, ages), rtol=0.0, atol=1e-10 * composite.variance)
    assert (composite.decay(ages) * composite.variance >= np.abs(found) - 1e-12).all()


@every_series
def test_convolutions_are_integrals_over_the_future(kernel):
    ages = np.array([0.0, 0.3, 2.5])

    def products(tau):
        values = np.array([values_at(kernel, tau + a) for a in ages])
        return values[:, np.newaxis] * values

    expected = integral(products)
    found = temporal_convolution(kernel, 4.0 - ages, 4.0)
    assert_allclose(found, expected, rtol=1e-8, atol=1e-14)
    alone = temporal_convolution(kernel, 4.0 - ages, 4.0, [4.0])[:, 0]
    assert_allclose(alone, found[:, 0], atol=1e-14)
    # Long after all observations only their ratios matter: the unit is that of the slowest decay.
    assert (Composite.of(kernel).future_convolution(ages + 1e5, ages + 1e5, 1e5) > 0.0).any()


@every_series
def test_the_lengthscale_has_the_integral_of_the_squared_correlation(kernel):
    smooth = Matern(temporal_length_scale(kernel), nu=2.5)

    def squared(k):
        return integral(lambda tau: (values_at(k, tau) / values_at(k, 0.0)) ** 2)

    assert_allclose(squared(kernel), squared(smooth), rtol=1e-8)
    assert temporal_length_scale(Matern(2.0, nu=1.5)) == 2.0  # of one kernel it is its own
    assert temporal_length_scale(Forgetting(0.19)) == pytest.approx(-1.0 / np.log(0.9))


@pytest.mark.parametrize("algorithm", [WDBO, BOLT])
def test_algorithms_with_relevancies_take_a_season(algorithm):
    surrogate = TimeVaryingGPRegressor(temporal_kernel=SEASON, mean_prior_std=1.0, normalize_y=True)
    opt = algorithm([(0.0, 1.0)], surrogate=surrogate, n_initial_points=5, random_state=0)
    for t in range(9):
        x = opt.ask(t)
        opt.tell(x, -((x[0] - 0.5 - 0.3 * np.sin(t)) ** 2))
    assert np.isfinite(opt.surrogate_.relevancy()).all()
