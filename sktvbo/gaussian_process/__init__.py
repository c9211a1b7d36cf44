"""Gaussian process regressors of functions that change with time."""

from ._exact import TimeVaryingGPRegressor
from ._noise import GeometricInjection, NoiseModel, QuadraticInjection
from ._sparse import SparseTimeVaryingGPRegressor
from ._weighted import WeightedTimeVaryingGPRegressor

__all__ = [
    "GeometricInjection",
    "NoiseModel",
    "QuadraticInjection",
    "SparseTimeVaryingGPRegressor",
    "TimeVaryingGPRegressor",
    "WeightedTimeVaryingGPRegressor",
]
