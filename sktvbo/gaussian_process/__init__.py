"""Gaussian process regressors of functions that change with time."""

from ._earlier_fits import hyperpriors_from
from ._exact import TimeVaryingGPRegressor, WeightedTimeVaryingGPRegressor
from ._linear_mean import LinearMean
from ._noise import GeometricInjection, NoiseModel, QuadraticInjection
from ._prior_mean import QuadraticMean
from ._sparse import SparseTimeVaryingGPRegressor
from ._transformed import TransformedTargetGPRegressor

__all__ = [
    "GeometricInjection",
    "LinearMean",
    "NoiseModel",
    "QuadraticInjection",
    "QuadraticMean",
    "SparseTimeVaryingGPRegressor",
    "TimeVaryingGPRegressor",
    "TransformedTargetGPRegressor",
    "WeightedTimeVaryingGPRegressor",
    "hyperpriors_from",
]
