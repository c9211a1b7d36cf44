"""Gaussian process regressors of functions that change with time."""

from ._exact import TimeVaryingGPRegressor, WeightedTimeVaryingGPRegressor
from ._noise import GeometricInjection, NoiseModel, QuadraticInjection
from ._prior_mean import QuadraticMean
from ._sparse import SparseTimeVaryingGPRegressor
from ._transformed import TransformedTargetGPRegressor

__all__ = [
    "GeometricInjection",
    "NoiseModel",
    "QuadraticInjection",
    "QuadraticMean",
    "SparseTimeVaryingGPRegressor",
    "TimeVaryingGPRegressor",
    "TransformedTargetGPRegressor",
    "WeightedTimeVaryingGPRegressor",
]
