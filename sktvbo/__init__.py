"""Time-varying Gaussian processes for scikit-learn, and optimizers that track a moving optimum."""

from importlib.metadata import version

from .gaussian_process import TimeVaryingGPRegressor

__version__ = version("sktvbo")

__all__ = ["TimeVaryingGPRegressor"]
