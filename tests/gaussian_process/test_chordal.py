"""Regression on the Earth: latitude and longitude in degrees, lengthscales in kilometres."""

import warnings
from functools import partial

import numpy as np
import pytest
from gaussian_process.cases import make
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern

from sktvbo import BayesianOptimizer, SparseTimeVaryingGPRegressor, TimeVaryingGPRegressor
from sktvbo.exceptions import UnsupportedKernelError
from sktvbo.kernels import ChordalMatern, Separable, with_seasons
from sktvbo.relevancy import spatial_convolution
from sktvbo.theory import dataset_size_criterion

RADIUS = 6371.0
SPARSE = SparseTimeVaryingGPRegressor

CORRELATIONS = {
    0.5: lambda r: np.exp(-r),
    1.5: lambda r: (1.0 + np.sqrt(3.0) * r) * np.exp(-np.sqrt(3.0) * r),
    2.5: lambda r: (1.0 + np.sqrt(5.0) * r + 5.0 * r**2 / 3.0) * np.exp(-np.sqrt(5.0) * r),
    np.inf: lambda r: np.exp(-0.5 * r**2),
}


def great_circle(A, B):
    """Return distances (n, m) in km of places in degrees, by the haversine formula."""
    (lat, lon), (lat2, lon2) = (np.deg2rad(places).T for places in (A, B))
    lat, lon = lat[:, np.newaxis], lon[:, np.newaxis]
    h = np.sin((lat - lat2) / 2.0) ** 2
    h = h + np.cos(lat) * np.cos(lat2) * np.sin((lon - lon2) / 2.0) ** 2
    return 2.0 * RADIUS * np.arcsin(np.sqrt(np.minimum(h, 1.0)))


def chord(A, B):
    return 2.0 * RADIUS * np.sin(great_circle(A, B) / (2.0 * RADIUS))


def places(n, seed=0):
    """Return uniform places (n, 2) on the Earth, in degrees."""
    rng = np.random.RandomState(seed)
    return np.column_stack(
        [np.rad2deg(np.arcsin(rng.uniform(-1.0, 1.0, n))), rng.uniform(-180.0, 180.0, n)]
    )


def data(n=60, seed=0):
    """Return places and times (n, 3), and noisy values of a smooth function."""
    S, rng = places(n, seed), np.random.RandomState(seed + 1)
    t = np.sort(rng.uniform(0.0, 10.0, n))
    y = np.sin(np.deg2rad(S[:, 0]) * 2.0) + np.cos(np.deg2rad(S[:, 1]) + 0.3 * t)
    return np.column_stack([S, t]), y + 0.1 * rng.normal(size=n)


@pytest.mark.parametrize("nu", CORRELATIONS)
def test_values_are_those_of_great_circle_distances(nu):
    A, B = places(20), places(30, seed=1)
    kernel = ChordalMatern(3000.0, nu=nu)
    assert_allclose(kernel(A, B), CORRELATIONS[nu](chord(A, B) / 3000.0), atol=1e-12)


@pytest.mark.parametrize("nu", [1.5, 2.5])
def test_a_covariance_where_the_great_circle_distance_gives_none(nu):
    S = places(300)
    wrong = CORRELATIONS[nu](great_circle(S, S) / 20_000.0)
    assert np.linalg.eigvalsh(wrong)[0] < -1e-6
    assert np.linalg.eigvalsh(ChordalMatern(20_000.0, nu=nu)(S))[0] > -1e-12


def test_poles_and_the_date_line():
    kernel = ChordalMatern(500.0)
    pole = [[90.0, lon] for lon in (-180.0, 0.0, 77.0, 180.0, 360.0)]
    assert_allclose(kernel(pole), 1.0)
    assert_allclose(kernel([[10.0, 180.0]], [[10.0, -180.0]]), 1.0)
    assert_allclose(kernel([[10.0, 359.0]], [[10.0, -1.0]]), 1.0)
    across = kernel([[0.0, 179.5]], [[0.0, -179.5]])
    assert_allclose(across, kernel([[0.0, 0.0]], [[0.0, 1.0]]))
    assert_allclose(kernel([[89.5, 0.0]], [[89.5, 180.0]]), kernel([[0.0, 0.0]], [[1.0, 0.0]]))


@pytest.mark.parametrize(
    ("S", "message"),
    [
        ([[90.1, 0.0]], "latitudes must be degrees within ±90. Got 90.1 instead. The order is"),
        ([[139.69, 35.68]], "latitudes must be .* latitude, longitude"),
        ([[0.0, 361.0]], "longitudes must be degrees within ±360"),
        ([[np.nan, 0.0]], "latitudes must be"),
        ([[1.0]], "two columns, latitude and longitude. Got 1 columns"),
    ],
)
def test_wrong_places(S, message):
    for use in (ChordalMatern(), partial(ChordalMatern(), [[0.0, 0.0]])):
        with pytest.raises(ValueError, match=message):
            use(S)


def test_wrong_latitudes_leave_a_regressor_unchanged():
    X, y = data()
    gp, wrong = make(ChordalMatern()).fit(X, y), [[95.0, 0.0, 11.0]]
    for call in (gp.predict, partial(gp.partial_fit, y=[0.0]), partial(gp.fit, y=[0.0])):
        with pytest.raises(ValueError, match="latitudes must be degrees within ±90"):
            call(wrong)
    assert_array_equal(gp.X_train_, X)


@pytest.mark.parametrize("temporal", [ChordalMatern(5.0), Matern(5.0) + ChordalMatern(5.0)])
def test_not_a_kernel_in_time(temporal):
    X, y = data(n=10)
    for kernels in ({"temporal_kernel": temporal}, {"level_kernel": temporal}):
        with pytest.raises(ValueError, match="two columns, latitude and longitude"):
            TimeVaryingGPRegressor(RBF(), **kernels).fit(X, y)
    with pytest.raises(UnsupportedKernelError, match="must be stationary"):
        dataset_size_criterion(ChordalMatern(), lambda n: 1.0, 5)


@pytest.mark.parametrize("kernel", [ChordalMatern(), 2.0 * ChordalMatern() + RBF()])
def test_optimizers_refuse_it(kernel):
    optimizer = BayesianOptimizer([(-80.0, 80.0)] * 2, surrogate=TimeVaryingGPRegressor(kernel))
    with pytest.raises(ValueError, match=r"'spatial_kernel' .* other than ChordalMatern"):
        optimizer.ask(0.0)


@pytest.mark.parametrize("length_scale", [3.0, 1000.0, 9e4])
def test_a_search_from_any_lengthscale_gives_no_advice(length_scale):
    X, y = data(n=150)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        gp = TimeVaryingGPRegressor(ChordalMatern(length_scale), mean_prior_std=np.inf).fit(X, y)
    assert 1000.0 < gp.spatial_kernel_.length_scale < 30_000.0
    assert gp.score(*data(n=100, seed=9)) > 0.5


@pytest.mark.parametrize("seed", [0, 4])
def test_a_search_finds_the_scale_of_neighbours_on_a_surface(seed):
    S, rng = places(200, seed), np.random.RandomState(seed + 1)
    X = np.column_stack([S, np.sort(rng.uniform(0.0, 10.0, 200))])
    K = ChordalMatern(600.0, nu=2.5)(S) * Matern(5.0)(X[:, 2:]) + 0.01 * np.eye(200)
    y = np.linalg.cholesky(K) @ rng.normal(size=200)
    gp = TimeVaryingGPRegressor(ChordalMatern(9e4, nu=2.5), Matern(1.0)).fit(X, y)
    assert 400.0 < gp.spatial_kernel_.length_scale < 900.0


def test_advice_on_a_fixed_lengthscale_is_in_kilometres():
    X, y = data(n=100)
    near = X * [0.001, 0.001, 1.0]  # within a few kilometres
    kernel = ChordalMatern(1e5, "fixed")
    with pytest.warns(UserWarning, match="its columns extend over 39.5"):
        TimeVaryingGPRegressor(kernel, Matern(5.0)).fit(near, y)


@pytest.mark.parametrize(
    ("nu", "length_scale"), [(0.5, 2000.0), (1.5, 500.0), (2.5, 2000.0), (np.inf, 500.0)]
)
def test_the_convolution_is_an_integral_over_the_earth(nu, length_scale):
    kernel, i = ChordalMatern(length_scale, nu=nu), np.arange(40_000) + 0.5
    latitudes = np.rad2deg(np.arcsin(1.0 - i / 20_000))  # of a Fibonacci lattice
    lattice = np.column_stack([latitudes, np.rad2deg(np.pi * (1.0 + 5.0**0.5) * i) % 360.0])
    angles = np.rad2deg(np.array([0.0, 0.5, 1.0, 2.0]) * length_scale / RADIUS)
    S = np.column_stack([10.0 + angles, np.full(4, 180.0)])
    expected = 4.0 * np.pi * RADIUS**2 / 40_000 * kernel(S, lattice) @ kernel(S, lattice).T
    found = spatial_convolution(kernel, S) / expected[0, 0]
    assert_allclose(found, expected / expected[0, 0], atol=0.02)


def test_relevancies_in_a_region_are_those_of_the_plane():
    X, y = data(n=60)
    X[:, :2] = np.random.RandomState(0).uniform(-300.0, 300.0, (60, 2))
    plane = make(Matern(200.0, nu=2.5)).fit(X, y).relevancy()
    X[:, :2] = np.rad2deg(X[:, :2] / RADIUS)
    X[:, 1] += 180.0  # on both sides of the date line
    earth = make(ChordalMatern(200.0, nu=2.5)).fit(X, y).relevancy()
    assert_allclose(earth, plane, rtol=0.02, atol=1e-4)


class Uncompiled(ChordalMatern):
    pass


def test_compiled_code_computes_the_same():
    (X, y), (new, _) = data(n=80), data(n=9, seed=4)
    for temporal in (Matern(5.0, nu=0.5), RBF(5.0), with_seasons(Matern(5.0), 3.0)):
        compiled, called = (
            make(kind(2000.0, nu=2.5), temporal).fit(X, y) for kind in (ChordalMatern, Uncompiled)
        )
        assert_allclose(compiled.predict(new), called.predict(new), atol=1e-9)
        theta = compiled.theta_ + 0.1
        for found in zip(*(gp.log_marginal_likelihood(theta, True) for gp in (compiled, called))):
            assert_allclose(*found, atol=1e-8)


@pytest.mark.parametrize("inducing", ["kmeans", "greedy", "kdpp"])
def test_inducing_points_are_all_over_the_earth(inducing):
    X, y = data(n=400)
    options = {"n_inducing": 60, "inducing": inducing, "random_state": 0}
    gp = make(ChordalMatern(8000.0, nu=2.5), Matern(10.0, nu=2.5), SPARSE, **options).fit(X, y)
    nearest = great_circle(X[:, :2], gp.inducing_points_[:, :2]).min(axis=1)
    assert np.quantile(nearest, 0.9) < 3000.0
    assert gp.score(X, y) > 0.8


def test_other_models():
    (X, y), (new, _) = data(n=60), data(n=20, seed=5)
    kernel, seasonal = ChordalMatern(2500.0), with_seasons(Matern(5.0, nu=1.5), 3.0)
    exact, sparse = make(kernel, seasonal), make(kernel, seasonal, SPARSE, inducing=X)
    assert_allclose(sparse.fit(X, y).predict(new), exact.fit(X, y).predict(new), atol=1e-4)
    of_two_ranges = make(kernel + 0.5 * ChordalMatern(200.0, nu=0.5))
    assert of_two_ranges.fit(X, y).score(X, y) > 0.9
    X[:, :2] = X[np.arange(60) % 5, :2]
    dense, kalman = (
        make(kernel, solver=solver, mean_prior_std=2.0)
        .fit(X[:-1], y[:-1])
        .partial_fit(X[-1:], y[-1:])
        for solver in ("dense", "kalman")
    )
    assert_allclose(kalman.predict(new), dense.predict(new), atol=1e-6)


@pytest.mark.parametrize("temporal", [RBF(5.0), with_seasons(Matern(5.0), 3.0)])
def test_the_posterior_at_a_time_has_the_gradients_of_degrees(temporal):
    gp = make(ChordalMatern(2500.0), temporal).fit(*data(n=50))
    posterior, s, h = gp.posterior_at(10.0), np.array([40.0, 100.0]), 1e-4 * np.eye(2)
    assert posterior.compiled() is None
    assert gp.fitted_.posterior_between(10.0, 11.0).compiled() is None
    mean, std, *slopes = posterior.with_gradient(s)
    assert_allclose([mean, std], [v[0] for v in gp.predict([[*s, 10.0]], return_std=True)])
    differences = np.subtract(posterior(s + h), posterior(s - h)) / 2e-4
    assert_allclose(slopes, differences, rtol=1e-4)


def kriged(kernel, S, y, new):
    """Return mean and variance of ordinary kriging, with a flat prior of the mean, at one time."""
    gp = make(kernel, ConstantKernel(1.0, "fixed"), mean_prior_std=np.inf, noise_variance=0.05)
    gp.fit(np.column_stack([S, np.zeros(len(S))]), y)
    rows = np.column_stack([new, np.zeros(len(new))])
    mean, std = gp.predict(rows, return_std=True, include_noise=True)
    return mean, std**2


@pytest.mark.parametrize(
    ("name", "options", "kernel"),
    [
        ("Exponential", {}, ChordalMatern(3000.0, nu=0.5)),
        ("Matern", {"nu": 1.5}, ChordalMatern(3000.0 * np.sqrt(2.0), nu=1.5)),
        ("Gaussian", {}, ChordalMatern(3000.0 * np.sqrt(2.0 / np.pi), nu=np.inf)),
    ],
)
def test_predictions_are_those_of_gstools(name, options, kernel):
    gs = pytest.importorskip("gstools")
    (X, y), new = data(), places(20, seed=3)
    model = getattr(gs, name)(
        latlon=True, geo_scale=gs.KM_SCALE, var=1.3, len_scale=3000.0, nugget=0.05, **options
    )
    theirs = gs.krige.Ordinary(model, X[:, :2].T, y, exact=False, cond_err="nugget")
    assert_allclose(kriged(kernel, X[:, :2], y, new), theirs(new.T), atol=1e-10)


@pytest.mark.parametrize(
    ("name", "kernel"),
    [("exponential", Matern(3.0 / 3.0, nu=0.5)), ("gaussian", RBF(3.0 * 4.0 / 7.0 / np.sqrt(2.0)))],
)
def test_predictions_in_the_plane_are_those_of_pykrige(name, kernel):
    ok = pytest.importorskip("pykrige.ok")
    rng = np.random.RandomState(0)
    S, y, new = rng.uniform(0.0, 10.0, (60, 2)), rng.normal(size=60), rng.uniform(0.0, 10.0, (9, 2))
    parameters = {"psill": 1.3, "range": 3.0, "nugget": 0.05}
    theirs = ok.OrdinaryKriging(
        *S.T, y, variogram_model=name, variogram_parameters=parameters, exact_values=False
    )
    assert_allclose(kriged(kernel, S, y, new), theirs.execute("points", *new.T), atol=1e-9)


def test_an_altitude_beside_latitude_and_longitude():
    """Separable is a kernel in space here: its last column is the altitude."""
    X, y = data(80)
    altitude = np.random.RandomState(2).uniform(0.0, 3000.0, 80)
    X, y = np.insert(X, 2, altitude, axis=1), y + 2.0 * np.sin(altitude / 700.0)
    chordal, up = ChordalMatern(3000.0), Matern(500.0, (1.0, 1e5))
    gp = TimeVaryingGPRegressor(Separable(chordal, up), normalize_y=True).fit(X, y)
    assert gp.score(X, y) > 0.9
    assert 100.0 < gp.spatial_kernel_.temporal.length_scale < 1e4
    by_hand = chordal(X[:, :2]) * up(X[:, 2:3])
    assert_allclose(Separable(chordal, up)(X[:, :3]), by_hand)
    flat = TimeVaryingGPRegressor(chordal, normalize_y=True).fit(np.delete(X, 2, axis=1), y)
    assert gp.log_marginal_likelihood_value_ > flat.log_marginal_likelihood_value_ + 20.0
