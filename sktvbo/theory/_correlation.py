"""Correlations of stationary kernels."""

import numpy as np
from sklearn.gaussian_process.kernels import Kernel

from .._validation import invalid
from ..exceptions import UnsupportedKernelError
from ..gaussian_process._composite import Circle, Composite


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


def squared_correlation_of(kernel, name):
    """Return the square of `correlation_of`, averaged over the phases of seasons.

    A season lets the correlation increase with age, but not the average.
    """
    correlation = correlation_of(kernel, name)
    found = Composite.of(kernel)
    has_season = found is not None and any(isinstance(leaf, Circle) for leaf in found.leaves)
    if has_season and found.series is not None:
        return lambda X: found.mean_square(X[:, 0])
    if found is not None and found.families is not None:  # compiled
        return lambda X: (found.row_with_slope(0.0, X[:, 0])[0] / found.variance) ** 2
    return lambda X: correlation(X) ** 2
