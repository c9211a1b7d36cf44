"""Correlations of stationary kernels."""

import numpy as np
from sklearn.gaussian_process.kernels import Kernel

from .._validation import invalid
from ..exceptions import UnsupportedKernelError


def correlation_of(kernel, name):
    """Return k(X, 0) / k(0, 0) of a stationary kernel, as a function X (n, d) -> (n,)."""
    if not isinstance(kernel, Kernel):
        raise invalid(name, "a scikit-learn kernel", kernel)
    if not kernel.is_stationary():
        raise invalid(name, "stationary", got=f"{kernel}", error=UnsupportedKernelError)

    def correlation(X):
        origin = np.zeros((1, X.shape[1]))
        return kernel(X, origin)[:, 0] / kernel.diag(origin)

    return correlation
