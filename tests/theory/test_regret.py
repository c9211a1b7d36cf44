"""Lower bound on the regret and its spectra compared with quadrature, and reset periods."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import quad
from sklearn.gaussian_process.kernels import RBF, DotProduct, Matern, RationalQuadratic
from theory.spectra import fourier_power

from sktvbo.exceptions import UnsupportedKernelError
from sktvbo.kernels import Wiener
from sktvbo.theory import regret_slope_lower_bound, reset_period

# --- lower bound ----------------------------------------------------------------------------------

LOWER = {"spatial_kernel": Matern(0.8, nu=2.5), "temporal_kernel": Matern(2.0, nu=1.5)}
LOWER |= {"signal_variance": 1.7, "lipschitz": 0.6, "n_dims": 3, "call_duration": 6.0}


def lower_standard_deviation():
    """σ_c of BOLT eq. (5) for LOWER, by quadrature."""
    diagonal = LOWER["spatial_kernel"](np.zeros((1, 3)), np.ones((1, 3))).item()
    return np.sqrt(2.0 * 1.7 * (1.0 + diagonal) * fourier_power(LOWER["temporal_kernel"], 1 / 12))


def test_the_lower_bound_is_the_mean_of_a_truncated_normal():
    # Lemma C.3: the mean of max(0, N(-L√d, σ_c²)).
    sigma, steepest = lower_standard_deviation(), 0.6 * np.sqrt(3.0)
    mean, _ = quad(
        lambda r: r * np.exp(-0.5 * ((r + steepest) / sigma) ** 2) / np.sqrt(2.0 * np.pi) / sigma,
        0.0,
        np.inf,
    )
    assert_allclose(regret_slope_lower_bound(**LOWER), mean, rtol=1e-8)


def test_the_lower_bound_falls_with_the_sampling_frequency_and_with_smoothness():
    durations = np.array([100.0, 10.0, 2.0, 1.0])
    options = LOWER | {"lipschitz": 0.2, "call_duration": durations}
    kernels = Matern(nu=0.5), Matern(nu=1.5), Matern(nu=2.5), RBF()
    slopes = [regret_slope_lower_bound(**options | {"temporal_kernel": k}) for k in kernels]
    assert np.all(np.diff(slopes, axis=1) < 0.0)
    assert np.all(np.diff(np.transpose(slopes)[-1]) < 0.0)


def test_the_lower_bound_vanishes_without_a_warning_for_fast_calls():
    assert regret_slope_lower_bound(**LOWER | {"call_duration": 1e-9}) == 0.0
    options = LOWER | {"temporal_kernel": RBF(), "call_duration": [1e-9, 1e-3]}
    assert regret_slope_lower_bound(**options).tolist() == [0.0, 0.0]


def test_an_anisotropic_spatial_kernel_counts_between_the_corners():
    scales = np.array([0.5, 1.0, 2.0])
    kernels = RBF(scales), RBF(1.0 / np.sqrt(np.mean(scales**-2.0)))
    one, other = (regret_slope_lower_bound(**LOWER | {"spatial_kernel": k}) for k in kernels)
    assert_allclose(one, other, rtol=1e-12)


@pytest.mark.parametrize("name", ["signal_variance", "lipschitz", "call_duration"])
@pytest.mark.parametrize("value", [0.0, -1.0, np.nan, np.inf])
def test_nonpositive_arguments_of_the_lower_bound(name, value):
    expected = "(positive and finite|a float in the range .0, inf.)"
    with pytest.raises(ValueError, match=f"{name} must be {expected}. Got {value} instead"):
        regret_slope_lower_bound(**{**LOWER, name: value})


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"spatial_kernel": DotProduct()}, UnsupportedKernelError, "must be stationary"),
        ({"temporal_kernel": Wiener()}, UnsupportedKernelError, "an RBF, a Matern or a Forgetting"),
        ({"temporal_kernel": RBF() + Matern()}, UnsupportedKernelError, "an RBF, a Matern or"),
        ({"temporal_kernel": RBF([1.0, 2.0])}, ValueError, "one lengthscale"),
        ({"n_dims": 1.5}, ValueError, r"n_dims must be an int in the range .* Got 1\.5"),
    ],
)
def test_invalid_kernels_and_dimensions_of_the_lower_bound(options, error, message):
    with pytest.raises(error, match=message):
        regret_slope_lower_bound(**LOWER | options)


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
