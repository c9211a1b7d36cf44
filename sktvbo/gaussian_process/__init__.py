"""Gaussian process regressors of functions that change with time."""

from ._bowl import Bowl
from ._exact import TimeVaryingGPRegressor
from ._noise import GeometricInjection, NoiseModel, QuadraticInjection
from ._sparse import SparseTimeVaryingGPRegressor
from ._weighted import WeightedGPRegressor

__all__ = [
    "Bowl",
    "GeometricInjection",
    "NoiseModel",
    "QuadraticInjection",
    "SparseTimeVaryingGPRegressor",
    "TimeVaryingGPRegressor",
    "WeightedGPRegressor",
]
