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

# In time, and of a level.
KERNELS = {
    "Matern 1/2": (Matern(1.3, nu=0.5), None),
    "Matern 3/2": (Matern(1.3, nu=1.5), None),
    "Matern 5/2": (Matern(1.3, nu=2.5), None),
    "Forgetting": (Forgetting(0.05), None),
    "sum": (Matern(2.0, nu=2.5) + ConstantKernel(0.3) * Matern(0.4, nu=0.5), None),
    "product": (Matern(2.0, nu=1.5) * Matern(9.0, nu=0.5), None),
    "season": (Matern(1.3, nu=1.5) + Matern(30.0, nu=1.5) * ExpSineSquared(1.5, 6.0), None),
    "level": (Matern(1.3, nu=2.5), ConstantKernel(0.5) * Matern(0.7, nu=1.5)),
}
PLACES, NOISES, TIMES = (1, 2, 3, 6, 12), (1e-6, 1e-4, 1e-2, 1.0), ("together", "twice", "apart")


def stream(n, n_places, times, seed=0):
    """Return n rows at places on a line: all at a time, each twice, or one after another."""
    rng = np.random.RandomState(seed)
    if times == "apart":
        place, t = rng.randint(n_places, size=n), np.cumsum(rng.exponential(1.0 / 6.0, n))
    else:
        at_a_time = n_places * (1 + (times == "twice"))
        place, t = np.arange(n) % n_places, np.arange(n) // at_a_time / 6.0
    y = np.sin(t) + 0.5 * np.cos(0.7 * t + place) + 0.01 * rng.normal(size=n)
    return np.column_stack([0.5 * place, t]), y


def assert_accurate(name, n_places, noise, times, n):
    """Compare the gradient, and moments at places and times in the past, with the dense ones.

    The tolerance is relative to the norm of the gradient, to the largest mean, and to each
    variance. A filter subtracts from the prior variance, 1: of variances near the smallest noise it
    loses 2e-10 (computed with 50 digits, which the dense ones agree with).
    """
    X, y = stream(n, n_places, times)
    temporal, level = KERNELS[name]
    made = TimeVaryingGPRegressor(Matern(1.0, nu=2.5), temporal, optimizer=None)
    options = {"noise_variance": noise, "noise_variance_bounds": (1e-9, 1e3)}
    options["level_kernel"] = level
    dense, kalman = (
        clone(made).set_params(**options, solver=solver).fit(X, y) for solver in ("dense", "kalman")
    )
    theta = dense.theta_ + np.linspace(-0.3, 0.3, len(dense.theta_))
    theta[-1] = np.log(noise)
    (one, slope), (other, found) = (
        gp.log_marginal_likelihood(theta, eval_gradient=True) for gp in (dense, kalman)
    )
    assert_allclose(other, one, rtol=1e-8, atol=1e-8 * n)
    assert_allclose(found, slope, rtol=0.0, atol=1e-6 * np.linalg.norm(slope))
    rng, end = np.random.RandomState(1), X[-1, -1]
    where = rng.choice(np.append(np.unique(X[:, 0]), 0.2), size=40)
    Q = np.column_stack([where, rng.uniform(-0.1 * end, 1.1 * end, 40)])
    (mean, std), found = (gp.predict(Q, return_std=True) for gp in (dense, kalman))
    assert_allclose(found[0], mean, rtol=0.0, atol=1e-6 * np.abs(mean).max())
    # The series of a season omits 1e-10 of the variance.
    assert_allclose(found[1] ** 2, std**2, rtol=1e-6, atol=2e-9 if name == "season" else 5e-10)


@pytest.mark.parametrize(
    ("name", "n_places", "noise", "times"), pairs_of(KERNELS, PLACES, NOISES, TIMES)
)
def test_gradients_and_smoothed_moments(name, n_places, noise, times):
    assert_accurate(name, n_places, noise, times, 400)


@pytest.mark.parametrize("name", ["Matern 1/2", "Matern 3/2", "Matern 5/2", "level"])
@pytest.mark.parametrize("n_places", [2, 3])
def test_little_noise_and_many_simultaneous_rows(name, n_places):
    """A recursion that is unstable with simultaneous rows overflows here."""
    assert_accurate(name, n_places, 1e-6, "together", 600)


@pytest.mark.slow
@pytest.mark.parametrize("n", [50, 500, 2000])
@pytest.mark.parametrize("name", KERNELS)
def test_gradients_and_smoothed_moments_of_all_combinations(name, n):
    for n_places, noise, times in product(PLACES, NOISES, TIMES):
        if n < 2000 or (n_places in (2, 6) and noise in (1e-6, 1e-2)):
            assert_accurate(name, n_places, noise, times, n)


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
    X, _ = stream(n * n_places, n_places, "together")
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
