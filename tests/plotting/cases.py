"""Artificial runs, and known hyperparameters."""

import numpy as np
from sklearn.gaussian_process.kernels import RBF, Matern

from sktvbo import evaluation

KERNELS = {"spatial_kernel": RBF(0.3), "temporal_kernel": Matern(8.0, nu=1.5)}
VARIANCES = {"signal_variance": 1.5, "noise_variance": 0.1}


def made_run(times, sizes, *, regret=1.0, n_initial=1, horizon=10.0, problem="p"):
    """Return a run with given times, sizes and a constant regret."""
    n = len(times)
    return evaluation.RunResult(
        problem=problem,
        horizon=horizon,
        n_initial=n_initial,
        times=np.array(times, dtype=float),
        queries=np.zeros((n, 1)),
        observations=np.zeros(n),
        regrets=np.full(n, float(regret)),
        response_times=np.zeros(n),
        dataset_sizes=np.array(sizes),
        removed_counts=np.zeros(n, dtype=int),
    )
