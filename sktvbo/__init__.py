"""Time-varying Gaussian processes for scikit-learn, and optimizers that track a moving optimum."""

from importlib.metadata import version

from .gaussian_process import SparseTimeVaryingGPRegressor, TimeVaryingGPRegressor
from .optimizers import (
    ABO,
    BOLT,
    BRGPUCB,
    ETGPUCB,
    GPUCB,
    IGPUCB,
    RGPUCB,
    SWGPUCB,
    TVGPUCB,
    UITVBO,
    WDBO,
    WGPUCB,
    BayesianOptimizer,
    RandomSearch,
    SparQGPUCB,
)

__version__ = version("sktvbo")

__all__ = [
    "ABO",
    "BOLT",
    "BRGPUCB",
    "ETGPUCB",
    "GPUCB",
    "IGPUCB",
    "RGPUCB",
    "SWGPUCB",
    "TVGPUCB",
    "UITVBO",
    "WDBO",
    "WGPUCB",
    "BayesianOptimizer",
    "RandomSearch",
    "SparQGPUCB",
    "SparseTimeVaryingGPRegressor",
    "TimeVaryingGPRegressor",
]
