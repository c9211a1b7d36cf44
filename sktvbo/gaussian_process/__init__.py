"""Gaussian process regressors of functions that change with time."""

from typing import TYPE_CHECKING

from ._earlier_fits import hyperpriors_from
from ._exact import TimeVaryingGPRegressor, WeightedTimeVaryingGPRegressor
from ._linear_mean import LinearMean
from ._noise import GeometricInjection, NoiseModel, QuadraticInjection
from ._prior_mean import QuadraticMean
from ._sparse import SparseTimeVaryingGPRegressor

if TYPE_CHECKING:
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


def __getattr__(name):
    if name == "TransformedTargetGPRegressor":  # its import of sklearn.compose takes long
        from ._transformed import TransformedTargetGPRegressor

        globals()[name] = TransformedTargetGPRegressor
        return TransformedTargetGPRegressor
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__():
    return sorted({*globals(), *__all__})
