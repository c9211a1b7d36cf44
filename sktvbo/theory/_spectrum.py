"""Spectra of temporal kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from sklearn.gaussian_process.kernels import Matern

from .._validation import invalid, real_array
from ..exceptions import UnsupportedKernelError
from ..gaussian_process._kernel_families import FAMILIES, family_of, matern_spectrum

if TYPE_CHECKING:
    from numpy.typing import ArrayLike
    from sklearn.gaussian_process.kernels import Kernel

    from .._typing import Numbers


def spectral_density(temporal_kernel: Kernel, frequency: ArrayLike) -> Numbers:
    """Return the spectral density S_T of a temporal kernel's correlation.

    Parameters
    ----------
    temporal_kernel : Kernel
        ``RBF``, ``Matern`` of any nu, or `sktvbo.kernels.Forgetting`.
    frequency : float or array-like of shape (n,)
        In cycles per unit of time. S_T is even.

    Returns
    -------
    density : float or ndarray of shape (n,)
        ∫ k_T(τ) exp(-2πi f τ) dτ / k_T(0), in units of time. Its integral over all frequencies is
        1.

    Raises
    ------
    UnsupportedKernelError
        Another kernel.

    Notes
    -----
    With lengthscale l, 2π l f has Student's t-distribution with 2ν degrees of freedom, for RBF the
    normal distribution.

    Examples
    --------
    >>> from sklearn.gaussian_process.kernels import Matern
    >>> from sktvbo.theory import spectral_density
    >>> spectral_density(Matern(length_scale=2.0, nu=0.5), [0.0, 1.0]).round(4)
    array([4.    , 0.0252])
    """
    scale, spectrum = _spectrum(temporal_kernel)
    return scale * spectrum.pdf(scale * _frequencies(frequency))


def power_above(temporal_kernel: Kernel, frequency: ArrayLike) -> Numbers:
    """Return the share of the variance in time above a frequency, 1 - 2 ∫_0^f S_T.

    Parameters
    ----------
    temporal_kernel : Kernel
        As for `~sktvbo.theory.spectral_density`.
    frequency : float or array-like of shape (n,)
        Non-negative, in cycles per unit of time.

    Returns
    -------
    share : float or ndarray of shape (n,)
        From 1 at frequency 0 down to 0, with full relative accuracy.

    Examples
    --------
    Sampling a smooth function once per unit of time loses little:

    >>> from sklearn.gaussian_process.kernels import RBF, Matern
    >>> from sktvbo.theory import power_above
    >>> print(f"{power_above(Matern(nu=0.5), 0.5):.4f} {power_above(RBF(), 0.5):.4f}")
    0.1962 0.0017
    """
    frequency = _frequencies(frequency)
    if np.any(frequency < 0.0):
        raise invalid("frequency", "non-negative", got=f"{frequency.min()}")
    scale, spectrum = _spectrum(temporal_kernel)
    return 2.0 * spectrum.sf(scale * frequency)


def _spectrum(kernel):
    """Return 2π l of a temporal kernel of lengthscale l, and the distribution of 2π l f."""
    family = family_of(kernel)
    if family is not None:
        spectrum = FAMILIES[family].spectrum
    else:
        spectrum = matern_spectrum(kernel.nu) if type(kernel) is Matern else None
    if spectrum is None:
        raise invalid(
            "temporal_kernel",
            "an RBF, a Matern or a Forgetting kernel, whose spectral density is known",
            got=f"{kernel}",
            error=UnsupportedKernelError,
        )
    scale = np.asarray(kernel.length_scale, dtype=np.float64)
    if scale.size != 1:
        raise invalid("temporal_kernel", "a kernel of one lengthscale", got=f"{kernel}")
    return 2.0 * np.pi * scale.item(), spectrum


def _frequencies(frequency):
    frequency = real_array(frequency, "frequency")
    if not np.isfinite(frequency).all():
        raise invalid("frequency", "finite", got="NaN or infinity")
    return frequency
