"""Coverage of prediction intervals from few rows, on draws from the model.

    python benchmarks/decisions/coverage.py --seeds 100               # ten minutes
    python benchmarks/decisions/coverage.py --rows 6 20 --seeds 40    # a minute

Draws of Gaussian processes in one or two dimensions and time, with the form of the default kernels.
Lengthscales, variance and noise are drawn. Rows are uniform in the unit box and in time; "near" are
new observations there, "ahead" those in the next fifth of the time. Each interval's probability,
given the rows, is known. "plug-in" is the interval that takes the learnt hyperparameters as known,
"interval" that of ``predict_interval``. Widths are geometric means, relative to the true posterior.
"""

import argparse
import warnings
from itertools import product

import numpy as np
from scipy.stats import norm
from sklearn.gaussian_process.kernels import Matern

from sktvbo import TimeVaryingGPRegressor

LEVEL, N_NEW, SPAN = 0.9, 40, 10.0

SETTINGS = {
    "default": {},
    "normalize_y": {"normalize_y": True},
    "own kernels": {"spatial_kernel": Matern(nu=2.5), "temporal_kernel": Matern(nu=1.5)},
}


def draw(seed, n):
    """Return rows X (n, d + 1) and y (n,), new places, and mean and deviation of y there."""
    rng = np.random.RandomState(seed)
    d, m = rng.randint(1, 3), n + 2 * N_NEW
    lengths, duration = np.exp(rng.uniform(np.log(0.2), 0.0, d)), 10.0 ** rng.uniform(0.0, 1.0)
    variance, share = np.exp(rng.uniform(np.log([0.2, 1e-3]), np.log([5.0, 0.3])))
    X = np.column_stack([rng.uniform(size=(m, d)), rng.uniform(0.0, SPAN, m)])
    X[n + N_NEW :, -1] = rng.uniform(SPAN, 1.2 * SPAN, N_NEW)
    K = Matern(lengths, nu=2.5)(X[:, :-1]) * Matern(duration, nu=1.5)(X[:, -1:])
    K = variance * (K + share * np.eye(m))
    y = np.linalg.cholesky(K[:n, :n]) @ rng.standard_normal(n)
    gains = np.linalg.solve(K[:n, :n], K[:n, n:])
    std = np.sqrt(K.diagonal()[n:] - np.sum(gains * K[:n, n:], axis=0))
    return X[:n], y, X[n:], y @ gains, std


def plug_in(gp, X):
    """Return the interval that takes the hyperparameters as known."""
    mean, std = gp.predict(X, return_std=True, include_noise=True)
    half = norm.ppf(0.5 + 0.5 * LEVEL) * std
    return mean - half, mean + half


def scores(ends, mean, std):
    """Return coverage near the rows and ahead, and the mean logarithm of the width."""
    low, high = norm.cdf(ends, mean, std)
    true = 2.0 * norm.ppf(0.5 + 0.5 * LEVEL) * std
    return *(high - low).reshape(2, -1).mean(axis=1), np.mean(np.log((ends[1] - ends[0]) / true))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[6, 10, 20, 50, 100, 199, 200])
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--settings", nargs="+", choices=SETTINGS, default=list(SETTINGS))
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    print(f"{'':16}{'rows':>6}{'near':>24}{'ahead':>18}{'width':>8}")
    for n, name in product(arguments.rows, arguments.settings):
        found = []
        for seed in range(arguments.first_seed, arguments.first_seed + arguments.seeds):
            X, y, new, *true = draw(seed, n)
            gp = TimeVaryingGPRegressor(**SETTINGS[name]).fit(X, y)
            ends = plug_in(gp, new), gp.predict_interval(new, LEVEL)
            found.append([scores(each, *true) for each in ends])
        means, errors = np.mean(found, axis=0), np.std(found, axis=0) / np.sqrt(len(found))
        for kind, mean, error in zip(("plug-in", "interval"), means, errors):
            parts = [f"{m:10.3f} ± {e:.3f}" for m, e in zip(mean[:2], error)]
            print(f"{name:16}{n:6}  {kind:8}", *parts, f"{np.exp(mean[2]):7.2f}", flush=True)


if __name__ == "__main__":
    main()
