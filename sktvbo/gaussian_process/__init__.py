"""Gaussian process regressors of functions that change with time."""

from ._exact import TimeVaryingGPRegressor
from ._noise import GeometricInjection, QuadraticInjection
from ._sparse import SparseTimeVaryingGPRegressor
from ._weighted import WeightedGPRegressor

__all__ = [
    "GeometricInjection",
    "QuadraticInjection",
    "SparseTimeVaryingGPRegressor",
    "TimeVaryingGPRegressor",
    "WeightedGPRegressor",
]
