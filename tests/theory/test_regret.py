"""Bounds on the regret compared with simulations, and reset periods."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import quad
from sklearn.gaussian_process.kernels import RBF, DotProduct, Matern, RationalQuadratic

from sktvbo.exceptions import UnsupportedKernelError
from sktvbo.kernels import Wiener
from sktvbo.theory import (
    power_above,
    recommended_dataset_size,
    regret_slope_lower_bound,
    regret_upper_bound,
    reset_period,
    spectral_density,
)

# --- lower bound ----------------------------------------------------------------------------------

LOWER = {
    "spatial_kernel": Matern(0.8, nu=2.5),
    "temporal_kernel": Matern(2.0, nu=1.5),
    "signal_variance": 1.7,
    "lipschitz": 0.6,
    "n_dims": 3,
    "call_duration": 6.0,
}


def lower_standard_deviation():
    """σ_c of BOLT eq. (5) for LOWER, by quadrature."""
    below, _ = quad(lambda z: spectral_density(LOWER["temporal_kernel"], z), 0.0, 1.0 / 12.0)
    z = np.sqrt(5.0 * 3.0) / 0.8
    diagonal = (1.0 + z + z**2 / 3.0) * np.exp(-z)
    return np.sqrt(2.0 * 1.7 * (1.0 + diagonal) * (1.0 - 2.0 * below))


def test_the_lower_bound_is_the_mean_of_a_truncated_normal():
    # Lemma C.3: the mean of max(0, N(-L√d, σ_c²)).
    sigma, steepest = lower_standard_deviation(), 0.6 * np.sqrt(3.0)
    mean, _ = quad(
        lambda r: r * np.exp(-0.5 * ((r + steepest) / sigma) ** 2) / np.sqrt(2.0 * np.pi) / sigma,
        0.0,
        np.inf,
    )
    assert_allclose(regret_slope_lower_bound(**LOWER), mean, rtol=1e-8)


@pytest.mark.parametrize("kernel", [Matern(nu=0.5), Matern(nu=1.5), Matern(nu=2.5), RBF()])
@pytest.mark.parametrize("duration", [0.8, 2.0, 4.0])
def test_the_forecast_error_exceeds_the_power_above_half_the_sampling_frequency(kernel, duration):
    # The variance of f(nc) given all of f(0), f(c), ..., f((n-1)c), for k_T(0) = 1.
    times = duration * np.arange(81)[:, np.newaxis]
    last = np.linalg.cholesky(kernel(times))[-1, -1]
    assert power_above(kernel, 0.5 / duration) < last**2


def test_the_lower_bound_falls_with_the_sampling_frequency_and_with_smoothness():
    durations = np.array([100.0, 10.0, 2.0, 1.0])
    options = LOWER | {"lipschitz": 0.2, "call_duration": durations}
    kernels = Matern(nu=0.5), Matern(nu=1.5), Matern(nu=2.5), RBF()
    slopes = np.array(
        [regret_slope_lower_bound(**options | {"temporal_kernel": kernel}) for kernel in kernels]
    )
    assert np.all(np.diff(slopes, axis=1) < 0.0)
    assert np.all(np.diff(slopes[:, -1]) < 0.0)


def test_the_lower_bound_vanishes_without_a_warning_for_fast_calls():
    assert regret_slope_lower_bound(**LOWER | {"call_duration": 1e-9}) == 0.0
    options = LOWER | {"temporal_kernel": RBF(), "call_duration": [1e-9, 1e-3]}
    assert regret_slope_lower_bound(**options).tolist() == [0.0, 0.0]


def test_an_anisotropic_spatial_kernel_counts_between_the_corners():
    scales = np.array([0.5, 1.0, 2.0])
    equal = 1.0 / np.sqrt(np.mean(scales**-2.0))
    one, other = (
        regret_slope_lower_bound(**LOWER | {"spatial_kernel": RBF(scale)})
        for scale in (scales, equal)
    )
    assert_allclose(one, other, rtol=1e-12)


@pytest.mark.parametrize("name", ["signal_variance", "lipschitz", "call_duration"])
@pytest.mark.parametrize("value", [0.0, -1.0, np.nan, np.inf])
def test_nonpositive_arguments_of_the_lower_bound(name, value):
    expected = "(positive and finite|a float in the range .0, inf.)"
    with pytest.raises(ValueError, match=f"{name} must be {expected}. Got {value} instead"):
        regret_slope_lower_bound(**{**LOWER, name: value})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"spatial_kernel": DotProduct()}, "spatial_kernel must be stationary"),
        ({"temporal_kernel": Wiener()}, "temporal_kernel must be an RBF, a Matern or a Forgetting"),
        ({"n_dims": 1.5}, r"n_dims must be an int in the range .* Got 1\.5"),
    ],
)
def test_invalid_kernels_and_dimensions_of_the_lower_bound(options, message):
    error = ValueError if "n_dims" in options else UnsupportedKernelError
    with pytest.raises(error, match=message):
        regret_slope_lower_bound(**LOWER | options)


# --- upper bound ----------------------------------------------------------------------------------

UPPER = {
    "dataset_size": 4,
    "n_iterations": 30,
    "response_time": lambda n: 0.2 + 0.05 * n,
    "spatial_kernel": RBF(1.5),
    "temporal_kernel": Matern(3.0, nu=1.5),
    "signal_variance": 1.7,
    "noise_variance": 0.3,
    "lipschitz": 2.0,
    "n_dims": 2,
    "delta": 0.05,
}


def total_variance_bound(**arguments):
    """Return the bound on Σ_i σ²(x_i, t_i), by inversion of the upper bound."""
    T, d = arguments["n_iterations"], arguments["n_dims"]
    grid = (arguments["lipschitz"] * d * T**2) ** d
    beta = 2.0 * np.log(grid * np.pi**2 * T**2 / (6.0 * arguments["delta"]))
    return (regret_upper_bound(**arguments) - 2.0) ** 2 / (4.0 * beta * T)


def total_variance(queries, arguments):
    """Return Σ_i σ²(x_i, t_i) of an optimizer with the latest n observations."""
    n, R = arguments["dataset_size"], arguments["response_time"]
    signal, noise = arguments["signal_variance"], arguments["noise_variance"]
    sizes = np.minimum(np.arange(len(queries) - 1), n - 1) + 1
    times = np.concatenate([[0.0], np.cumsum([R(size) for size in sizes])])[:, np.newaxis]
    K = signal * arguments["spatial_kernel"](queries) * arguments["temporal_kernel"](times)
    total = 0.0
    for i in range(len(queries)):
        kept = slice(max(0, i - n), i)
        k = K[kept, i]
        total += signal - k @ np.linalg.solve(K[kept, kept] + noise * np.eye(len(k)), k)
    return total


@pytest.mark.parametrize("n", [1, 4, 15])
@pytest.mark.parametrize("places", ["uniform", "one", "corners"])
def test_posterior_variances_of_simulated_data_sets_lie_below_the_bound(n, places):
    arguments = UPPER | {"dataset_size": n}
    rng = np.random.RandomState(0)
    queries = {
        "uniform": rng.uniform(size=(30, 2)),
        "one": np.full((30, 2), 0.3),
        "corners": np.repeat(np.arange(30) % 2, 2).reshape(30, 2).astype(float),
    }[places]
    bound = total_variance_bound(**arguments)
    assert total_variance(queries, arguments) <= bound
    assert bound < 1.7 * 30


def test_the_bound_is_reached_by_one_observation_in_the_opposite_corner():
    arguments = UPPER | {"dataset_size": 1, "n_iterations": 2}
    variance = total_variance(np.array([[0.0, 0.0], [1.0, 1.0]]), arguments)
    assert_allclose(variance, total_variance_bound(**arguments), rtol=1e-12)


def test_the_recommended_size_minimizes_the_upper_bound():
    sizes = np.arange(1, 100)
    options = UPPER | {"n_iterations": 100}
    bounds = [regret_upper_bound(**options | {"dataset_size": n}) for n in sizes]
    best = recommended_dataset_size(UPPER["temporal_kernel"], UPPER["response_time"])
    assert sizes[np.argmin(bounds)] == best


def test_the_upper_bound_with_stale_data_is_that_without_data():
    stale = regret_upper_bound(**{**UPPER, "response_time": lambda n: 1e3})
    beta = 4.0 * np.log(2.0 * 2.0 * 30.0**2) + 2.0 * np.log(np.pi**2 * 30.0**2 / 0.3)
    assert_allclose(stale, 2.0 + 2.0 * 30.0 * np.sqrt(1.7 * beta), rtol=1e-12)
    assert regret_upper_bound(**UPPER) < stale


def test_in_one_dimension_beta_is_that_of_the_paper():
    # BOLT eq. (63) puts 6 δ under the power of d, which is right for d = 1.
    arguments = {**UPPER, "n_dims": 1, "response_time": lambda n: 1e3}
    beta = 2.0 * np.log(2.0 * 30.0**2 / (6.0 * 0.05)) + 4.0 * np.log(np.pi * 30.0)
    assert_allclose(regret_upper_bound(**arguments), 2.0 + 60.0 * np.sqrt(1.7 * beta), rtol=1e-12)


def test_gp_ucb_stays_below_the_upper_bound():
    # Draws of the process on a grid of 15 points; UCB with β_T, on the latest n observations.
    arguments = {**UPPER, "n_dims": 1, "n_iterations": 25}
    T, n, noise, signal = 25, 4, 0.3, 1.7
    x = np.linspace(0.0, 1.0, 15)[:, np.newaxis]
    times = np.cumsum([0.0, *(arguments["response_time"](min(i, n)) for i in range(1, T))])
    K_S, K_T = RBF(1.5)(x), Matern(3.0, nu=1.5)(times[:, np.newaxis])
    roots = [np.linalg.cholesky(K + 1e-10 * np.eye(len(K))) for K in (K_S, K_T)]
    beta = 2.0 * np.log(2.0 * T**2 * np.pi**2 * T**2 / (6.0 * 0.05))
    rng = np.random.RandomState(0)
    for _ in range(10):
        f = np.sqrt(signal) * roots[1] @ rng.normal(size=(T, 15)) @ roots[0].T
        chosen, y, regret = [], [], 0.0
        for i in range(T):
            kept = np.arange(max(0, i - n), i)
            at = np.array([chosen[j] for j in kept], dtype=int)
            k = signal * K_S[:, at] * K_T[i, kept]
            gram = signal * K_S[np.ix_(at, at)] * K_T[np.ix_(kept, kept)]
            weights = np.linalg.solve(gram + noise * np.eye(len(kept)), k.T)
            mean = weights.T @ np.array([y[j] for j in kept])
            variance = signal - np.sum(k * weights.T, axis=1)
            chosen.append(np.argmax(mean + np.sqrt(beta * variance)))
            y.append(f[i, chosen[-1]] + np.sqrt(noise) * rng.normal())
            regret += f[i].max() - f[i, chosen[-1]]
        assert 0.0 < regret < regret_upper_bound(**arguments)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"signal_variance": 0.0}, r"signal_variance must be a float in the range .* Got 0\.0"),
        ({"noise_variance": 0.0}, r"noise_variance must be a float in the range .* Got 0\.0"),
        ({"lipschitz": 0.0}, r"lipschitz must be a float in the range .* Got 0\.0"),
        ({"n_iterations": 4}, r"n_iterations must be greater .*=4\. Got 4"),
        ({"dataset_size": 0}, "dataset_size must be an int"),
        ({"delta": 1.0}, r"delta must be a float in the range \(0, 1\). Got 1\.0"),
        ({"temporal_kernel": Wiener()}, "temporal_kernel must be stationary"),
    ],
)
def test_invalid_arguments_of_the_upper_bound(options, message):
    error = UnsupportedKernelError if "temporal_kernel" in options else ValueError
    with pytest.raises(error, match=message):
        regret_upper_bound(**UPPER | options)


# --- reset period ---------------------------------------------------------------------------------


def test_the_reset_period_is_the_formula():
    # 12 · 10^(1/2) = 37.9…; 24 · 100^(11/38) = 91.0…, as c = 6 / (5 + 6); 24 · 100^(3/10) = 95.5…,
    # as c = 2 / (1 + 2) for d = 1 and ν = ½.
    settings = {"n_dims": 2, "horizon": 10_000}
    assert reset_period(0.01, spatial_kernel=RBF(), **settings) == 38
    assert reset_period(0.01, spatial_kernel=Matern(nu=np.inf), **settings) == 38
    assert reset_period(0.01, spatial_kernel=Matern(nu=2.5), **settings) == 92
    assert reset_period(0.01, spatial_kernel=Matern(nu=0.5), n_dims=1, horizon=1e4) == 96


@pytest.mark.parametrize("kernel", [RBF(), Matern(nu=0.5), Matern(nu=2.5)])
def test_the_slower_the_change_the_rarer_the_reset(kernel):
    periods = [
        reset_period(epsilon, spatial_kernel=kernel, n_dims=3, horizon=500)
        for epsilon in (0.9, 0.1, 1e-2, 1e-4, 1e-300)
    ]
    assert all(type(period) is int for period in periods)
    assert periods == sorted(periods)
    assert 12 < periods[0] < periods[1] < periods[2] < 500
    assert periods[-1] == 500
    unlimited = reset_period(1e-12, spatial_kernel=kernel, n_dims=3, horizon=np.inf)
    assert unlimited > 12_000 - 1


@pytest.mark.parametrize(
    ("name", "values", "message"),
    [
        ("epsilon", [0.0, 1.0, -0.1, np.nan], r"epsilon must be a float in the range \(0, 1\)"),
        ("horizon", [0, np.nan], r"horizon must be a float in the range \[1, inf\]"),
        ("n_dims", [0], "n_dims must be an int"),
        ("spatial_kernel", [RationalQuadratic()], "must be an RBF or a Matern kernel"),
    ],
)
def test_invalid_arguments_of_the_reset_period(name, values, message):
    options = {"epsilon": 0.1, "spatial_kernel": RBF(), "n_dims": 2, "horizon": 100}
    error = UnsupportedKernelError if name == "spatial_kernel" else ValueError
    for value in values:
        with pytest.raises(error, match=message):
            reset_period(**options | {name: value})
