"""Gaussian process regressors of functions that change with time."""

from ._exact import TimeVaryingGPRegressor
from ._noise import GeometricInjection, QuadraticInjection
from ._sparse import SparseTimeVaryingGPRegressor

__all__ = [
    "GeometricInjection",
    "QuadraticInjection",
    "SparseTimeVaryingGPRegressor",
    "TimeVaryingGPRegressor",
]
