"""Spectra compared with quadrature."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import quad
from scipy.special import gamma
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern, RationalQuadratic

from sktvbo.exceptions import UnsupportedKernelError
from sktvbo.kernels import Forgetting, Wiener
from sktvbo.theory import power_above, spectral_density

SPECTRA = {
    "rbf": RBF(1.3),
    "matern12": Matern(1.3, nu=0.5),
    "matern11": Matern(1.3, nu=1.1),
    "matern52": Matern(1.3, nu=2.5),
    "matern-inf": Matern(1.3, nu=np.inf),
    "forgetting": Forgetting(0.4),
}
every_spectrum = pytest.mark.parametrize("kernel", SPECTRA.values(), ids=list(SPECTRA))


@every_spectrum
def test_the_spectral_density_is_the_fourier_transform(kernel):
    def correlation(age):
        return kernel([[age]], [[0.0]]).item()

    # Beyond 60 lengthscales the correlation is below 1e-12.
    for frequency in (0.05, 0.3, 1.1):
        transform, _ = quad(
            correlation, 0.0, 90.0, weight="cos", wvar=2.0 * np.pi * frequency, limit=400
        )
        assert_allclose(spectral_density(kernel, frequency), 2.0 * transform, rtol=1e-6, atol=1e-10)


@every_spectrum
def test_the_spectral_density_integrates_to_one(kernel):
    half, _ = quad(lambda f: spectral_density(kernel, f), 0.0, np.inf, epsrel=1e-9)
    assert_allclose(2.0 * half, 1.0, rtol=1e-7)


@every_spectrum
def test_the_power_above_a_frequency_is_the_integral(kernel):
    for frequency in (0.0, 0.05, 0.3, 1.1):
        tail, _ = quad(lambda f: spectral_density(kernel, f), frequency, np.inf, epsrel=1e-9)
        assert_allclose(power_above(kernel, frequency), 2.0 * tail, rtol=1e-6)


@pytest.mark.parametrize("nu", [0.5, 1.1, 2.5])
def test_the_matern_density_is_the_formula(nu):
    length, s = 1.7, np.array([-0.4, 0.0, 0.2, 3.0])
    constant = 2.0 * np.sqrt(np.pi) * gamma(nu + 0.5) * (2.0 * nu) ** nu / gamma(nu)
    tails = (2.0 * nu / length**2 + 4.0 * np.pi**2 * s**2) ** (-nu - 0.5)
    density = spectral_density(Matern(length, nu=nu), s)
    assert_allclose(density, constant / length ** (2.0 * nu) * tails, rtol=1e-12)


def test_the_far_tail_keeps_its_relative_accuracy():
    # 1 - 2 arctan(x) / π = 2 arctan(1 / x) / π with x = 2π l f.
    f = np.array([1e3, 1e9, 1e15])
    expected = 2.0 / np.pi * np.arctan(1.0 / (2.0 * np.pi * 1.3 * f))
    assert_allclose(power_above(Matern(1.3, nu=0.5), f), expected, rtol=1e-12)
    # Mills' ratio bounds the normal tail from both sides.
    z = 2.0 * np.pi * 1.3 * 3.0
    phi = np.exp(-0.5 * z**2) / np.sqrt(2.0 * np.pi)
    tail = power_above(RBF(1.3), 3.0)
    assert 2.0 * phi * z / (1.0 + z**2) < tail < 2.0 * phi / z


def test_invalid_arguments():
    message = "temporal_kernel must be an RBF, a Matern or a Forgetting"
    for kernel in (RationalQuadratic(), Wiener(), RBF() + Matern(), ConstantKernel(1.0)):
        with pytest.raises(UnsupportedKernelError, match=message):
            spectral_density(kernel, 1.0)
    with pytest.raises(ValueError, match="one lengthscale"):
        power_above(RBF([1.0, 2.0]), 1.0)
    with pytest.raises(ValueError, match="frequency must be finite"):
        spectral_density(RBF(), [0.0, np.nan])
    with pytest.raises(ValueError, match=r"frequency must be non-negative. Got -1\.0"):
        power_above(RBF(), [-1.0, 1.0])
