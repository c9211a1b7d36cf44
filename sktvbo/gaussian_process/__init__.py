"""Gaussian process regressors of functions that change with time."""

from ._exact import TimeVaryingGPRegressor

__all__ = ["TimeVaryingGPRegressor"]
