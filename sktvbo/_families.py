"""A table of the correlation functions that have compiled code and closed forms, one row each.

A new stationary family is a row here, a branch in ``_fast/gram.pyx`` and its twin in the tests.
"""

from dataclasses import dataclass

import numpy as np
from scipy.stats import t as student_t
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern

from ._fast.gram import Family
from .kernels import Forgetting, ProportionalMatern


@dataclass(frozen=True)
class Correlation:
    """A correlation function of the distance r, with lengthscale l.

    Parameters
    ----------
    kernels : tuple of (type, float or None)
        The classes of kernels that compute it, each with its ``nu`` if it has one.
    order : float or None
        ν of the Matérn family, infinite for RBF.
    scale : float
        The compiled code works in z = ``scale`` r / l.
    polynomial : tuple of float or None
        α_k, where the correlation is exp(-z) Σ_k α_k z^k.
    spectrum : frozen scipy.stats distribution or None
        Of 2π l f, where the frequency f is distributed as the spectral density is.
    """

    kernels: tuple
    order: float | None
    scale: float
    polynomial: tuple | None
    spectrum: object


def matern_spectrum(order):
    """Student's t distribution with 2ν degrees of freedom, of 2π l f for a Matérn kernel."""
    return student_t(2.0 * order)


FAMILIES = {
    Family.CONSTANT: Correlation(
        kernels=((ConstantKernel, None),), order=None, scale=1.0, polynomial=None, spectrum=None
    ),
    Family.RBF: Correlation(
        kernels=((RBF, None), (Matern, np.inf)),
        order=np.inf,
        scale=np.sqrt(0.5),
        polynomial=None,
        spectrum=matern_spectrum(np.inf),
    ),
    Family.MATERN12: Correlation(
        kernels=((Matern, 0.5), (Forgetting, None)),
        order=0.5,
        scale=1.0,
        polynomial=(1.0,),
        spectrum=matern_spectrum(0.5),
    ),
    Family.MATERN32: Correlation(
        kernels=((Matern, 1.5),),
        order=1.5,
        scale=np.sqrt(3.0),
        polynomial=(1.0, 1.0),
        spectrum=matern_spectrum(1.5),
    ),
    Family.MATERN52: Correlation(
        kernels=((Matern, 2.5), (ProportionalMatern, 2.5)),
        order=2.5,
        scale=np.sqrt(5.0),
        polynomial=(1.0, 1.0, 1.0 / 3.0),
        spectrum=matern_spectrum(2.5),
    ),
}

_FAMILY_OF = {
    kernel: family for family, correlation in FAMILIES.items() for kernel in correlation.kernels
}


def family_of(kernel):
    """The family of a kernel, None if it has none.

    Exact types only: a subclass may compute anything.
    """
    kind = type(kernel)
    return _FAMILY_OF.get((kind, kernel.nu if issubclass(kind, Matern) else None))
