"""Surrogates without an optimizer, for the policies."""

import numpy as np
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern

from sktvbo import TimeVaryingGPRegressor
from sktvbo.staleness import RunSoFar

STATIC = ConstantKernel(1.0, "fixed")


def rows(n):
    return np.column_stack([np.random.RandomState(0).uniform(size=n), np.arange(float(n))])


def surrogate(n=40, l_T=5.0):
    X = rows(n)
    gp = TimeVaryingGPRegressor(RBF(0.3), Matern(l_T, nu=1.5), optimizer=None)
    return gp.fit(X, np.sin(6.0 * X[:, 0] + 0.3 * X[:, 1]))


def static(n=20, **options):
    X, options = rows(n), {"noise_variance": 0.01, "optimizer": None} | options
    gp = TimeVaryingGPRegressor(RBF(0.3), STATIC, **options)
    return gp.fit(X, 4.0 + 3.0 * np.sin(6.0 * X[:, 0]))


def so_far(n_told=0, times=(), sizes=()):
    """Return what `watch` receives."""
    return RunSoFar(n_told, tuple(zip(times, sizes, strict=True)), latest=None)
