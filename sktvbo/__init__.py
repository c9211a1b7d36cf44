"""Time-varying Gaussian processes for scikit-learn, and optimizers that track a moving optimum."""

import logging
from importlib.metadata import version

from . import optimizers
from .gaussian_process import SparseTimeVaryingGPRegressor, TimeVaryingGPRegressor
from .loops import optimize
from .optimizers import *  # noqa: F403

__version__ = version("sktvbo")

__all__ = [
    "SparseTimeVaryingGPRegressor",
    "TimeVaryingGPRegressor",
    "optimize",
    *optimizers.__all__,
]

# Whoever wants to see what is logged says so, as of any library.
logging.getLogger(__name__).addHandler(logging.NullHandler())
