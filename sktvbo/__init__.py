"""Time-varying Gaussian processes for scikit-learn, and optimizers that track a moving optimum."""

from importlib.metadata import version

from . import optimizers
from .gaussian_process import SparseTimeVaryingGPRegressor, TimeVaryingGPRegressor
from .optimizers import *  # noqa: F403

__version__ = version("sktvbo")

__all__ = ["SparseTimeVaryingGPRegressor", "TimeVaryingGPRegressor", *optimizers.__all__]
