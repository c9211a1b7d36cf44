"""Time-varying Gaussian processes for scikit-learn, and optimizers that track a moving optimum."""

from importlib.metadata import version

from .gaussian_process import SparseTimeVaryingGPRegressor, TimeVaryingGPRegressor
from .optimizers import GPUCB, WDBO, BayesianOptimizer, RandomSearch

__version__ = version("sktvbo")

__all__ = [
    "GPUCB",
    "WDBO",
    "BayesianOptimizer",
    "RandomSearch",
    "SparseTimeVaryingGPRegressor",
    "TimeVaryingGPRegressor",
]
