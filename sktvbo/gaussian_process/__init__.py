"""Gaussian process regressors of functions that change with time."""

from ._earlier_fits import hyperpriors_from
from ._exact import TimeVaryingGPRegressor, WeightedTimeVaryingGPRegressor
from ._noise import GeometricInjection, NoiseModel, QuadraticInjection
from ._prior_mean import QuadraticMean
from ._sparse import SparseTimeVaryingGPRegressor

__all__ = [
    "GeometricInjection",
    "NoiseModel",
    "QuadraticInjection",
    "QuadraticMean",
    "SparseTimeVaryingGPRegressor",
    "TimeVaryingGPRegressor",
    "WeightedTimeVaryingGPRegressor",
    "hyperpriors_from",
]
