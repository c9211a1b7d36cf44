"""Gradients and smoothed moments of the filter, and fits that end where dense ones end."""

from itertools import product

import numpy as np
import pytest
from grids import pairs_of
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.gaussian_process.kernels import ConstantKernel, ExpSineSquared, Matern

from sktvbo import TimeVaryingGPRegressor
from sktvbo.gaussian_process.kalman._filter import Filter
from sktvbo.kernels import Forgetting

KERNELS = {
    "Matern 1/2": Matern(1.3, nu=0.5),
    "Matern 3/2": Matern(1.3, nu=1.5),
    "Matern 5/2": Matern(1.3, nu=2.5),
    "Forgetting": Forgetting(0.05),
    "sum": Matern(2.0, nu=2.5) + ConstantKernel(0.3) * Matern(0.4, nu=0.5),
    "product": Matern(2.0, nu=1.5) * Matern(9.0, nu=0.5),
    "season": Matern(1.3, nu=1.5) + Matern(30.0, nu=1.5) * ExpSineSquared(1.5, 6.0),
}
PLACES, NOISES, TOGETHER = (1, 2, 3, 6, 12), (1e-6, 1e-4, 1e-2, 1.0), (True, False)


def stream(n, n_places, together, seed=0):
    """Return n rows at places on a line, all of them at a time or one after another."""
    rng = np.random.RandomState(seed)
    if together:
        place, t = np.arange(n) % n_places, np.arange(n) // n_places / 6.0
    else:
        place, t = rng.randint(n_places, size=n), np.cumsum(rng.exponential(1.0 / 6.0, n))
    y = np.sin(t) + 0.5 * np.cos(0.7 * t + place) + 0.01 * rng.normal(size=n)
    return np.column_stack([0.5 * place, t]), y


def assert_accurate(name, n_places, noise, together, n):
    """Compare the gradient, and moments at places and times in the past, with the dense ones.

    The tolerance is relative to the norm of the gradient, and to the largest moment.
    """
    X, y = stream(n, n_places, together)
    made = TimeVaryingGPRegressor(Matern(1.0, nu=2.5), KERNELS[name], optimizer=None)
    options = {"noise_variance": noise, "noise_variance_bounds": (1e-9, 1e3)}
    dense, kalman = (
        clone(made).set_params(**options, solver=solver).fit(X, y) for solver in ("dense", "kalman")
    )
    theta = dense.theta_ + np.linspace(-0.3, 0.3, len(dense.theta_))
    theta[-1] = np.log(noise)
    (one, slope), (other, found) = (
        gp.log_marginal_likelihood(theta, eval_gradient=True) for gp in (dense, kalman)
    )
    assert_allclose(other, one, rtol=1e-8)
    assert_allclose(found, slope, rtol=0.0, atol=1e-6 * np.linalg.norm(slope))
    rng, end = np.random.RandomState(1), X[-1, -1]
    where = rng.choice(np.append(np.unique(X[:, 0]), 0.2), size=40)
    Q = np.column_stack([where, rng.uniform(-0.1 * end, 1.1 * end, 40)])
    for known, moment in zip(*(gp.predict(Q, return_std=True) for gp in (dense, kalman))):
        assert_allclose(moment, known, rtol=0.0, atol=1e-6 * np.abs(known).max())


@pytest.mark.parametrize(
    ("name", "n_places", "noise", "together"), pairs_of(KERNELS, PLACES, NOISES, TOGETHER)
)
def test_gradients_and_smoothed_moments(name, n_places, noise, together):
    assert_accurate(name, n_places, noise, together, 400)


@pytest.mark.parametrize("name", [f"Matern {nu}" for nu in ("1/2", "3/2", "5/2")])
@pytest.mark.parametrize("n_places", [2, 3])
def test_little_noise_and_many_simultaneous_rows(name, n_places):
    """A recursion that is unstable with simultaneous rows overflows here."""
    assert_accurate(name, n_places, 1e-6, True, 600)


@pytest.mark.slow
@pytest.mark.parametrize("n", [50, 500, 2000])
@pytest.mark.parametrize("name", KERNELS)
def test_gradients_and_smoothed_moments_of_all_combinations(name, n):
    for n_places, noise, together in product(PLACES, NOISES, TOGETHER):
        if n < 2000 or (n_places in (2, 6) and noise in (1e-6, 1e-2)):
            assert_accurate(name, n_places, noise, together, n)


def fitted(X, y, solver, **parameters):
    gp = TimeVaryingGPRegressor(normalize_y=True, solver=solver, **parameters).fit(X, y)
    assert isinstance(gp._gp, Filter) == (solver == "auto")
    return gp.log_marginal_likelihood_value_


@pytest.mark.slow
@pytest.mark.parametrize("nu", [0.5, 1.5, 2.5])
@pytest.mark.parametrize(("n_places", "noise"), [(2, 1e-4), (2, 1e-2), (3, 1e-4), (6, 1e-2)])
def test_fits_by_the_filter_end_where_dense_ones_end(nu, n_places, noise):
    rng, n = np.random.RandomState(0), 600 // n_places
    K = Matern(3.0, nu=2.5)(np.arange(n)[:, np.newaxis] / 6.0) + 1e-10 * np.eye(n)
    shared = np.linalg.cholesky(K) @ rng.normal(size=(n, n_places))
    f = 0.6 * shared[:, :1] + 0.8 * shared
    X, _ = stream(n * n_places, n_places, True)
    y = f.ravel() + np.sqrt(noise) * rng.normal(size=len(X))
    auto, dense = (fitted(X, y, s, temporal_kernel=Matern(nu=nu)) for s in ("auto", "dense"))
    assert auto > dense - 0.1


@pytest.mark.slow
@pytest.mark.parametrize("motes", [(0, 1), (5, 20, 40), (10, 11, 12, 13)])
def test_fits_of_temperatures_end_where_dense_ones_end(data_dir, motes):
    data = np.load(data_dir / "intel_lab_temperature.npz")
    motes, n = list(motes), 600 // len(motes)
    y = data["temperature_c"][:n, motes].ravel().astype(float)
    times, places = np.arange(n) / 6.0, data["xy_m"][motes]
    X = np.column_stack([np.tile(places, (n, 1)), np.repeat(times, len(motes))])
    auto, dense = (fitted(X, y, solver) for solver in ("auto", "dense"))
    assert auto > dense - 0.1
