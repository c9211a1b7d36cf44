"""Spectra of kernels, by quadrature."""

import numpy as np
from scipy.integrate import quad
from sklearn.gaussian_process.kernels import RBF, Matern

from sktvbo.kernels import Forgetting

SPECTRA = {
    "rbf": RBF(1.3),
    "matern12": Matern(1.3, nu=0.5),
    "matern11": Matern(1.3, nu=1.1),
    "matern52": Matern(1.3, nu=2.5),
    "matern-inf": Matern(1.3, nu=np.inf),
    "forgetting": Forgetting(0.4),
}


def fourier_power(kernel, frequency):
    """Return the share of the variance above a frequency, by quadrature of the kernel.

    The density below f is the Fourier transform of k cut at f: 2 ∫_0^∞ k(τ) 2 f sinc(2 f τ) dτ.
    """

    def density(age):
        return 4.0 * frequency * np.sinc(2.0 * frequency * age) * kernel([[age]], [[0.0]]).item()

    # Beyond 60 lengthscales the correlation is below 1e-12.
    below, _ = quad(density, 0.0, 90.0, limit=2000)
    return 1.0 - below
