"""Forecasts and gaps by kernel in time, relative to persistence: the default of the regressors.

    python benchmarks/decisions/forecasts.py
    python benchmarks/decisions/forecasts.py --sets lab walk --stretches 8

Each stretch has three sites (of drawn functions: two), the first rows of which are fitted. Then the
sites are forecast one and six intervals ahead at every time, and told with the hyperparameters
held. The error is relative to that of the latest value, and its standard error is over stretches.
A fifth of the rows of the fit is left out, and predicted by another fit: the error is relative to
the standard deviation. Real data is read from the folder SKTVBO_DATA.
"""

import argparse
import os
import warnings
from pathlib import Path
from time import process_time

import numpy as np
from sklearn.gaussian_process.kernels import Matern

from sktvbo import TimeVaryingGPRegressor

# File, array and interval of real data.
FILES = {
    "lab": ("intel_lab_temperature.npz", "temperature_c", 1 / 6),
    "traffic": ("metr_la_speed_week1.npz", "speed_mph", 1 / 12),
    "wind": ("irish_wind.npz", "wind_knots", 1.0),
    "prices": ("sp500_subset_close.npz", "close_usd", 1.0),
}

# Covariance of drawn functions, and their noise.
DRAWS = {
    "walk": (lambda t: np.minimum.outer(t + 1.0, t + 1.0), 0.0),
    "ou": (lambda t: Matern(10.0, nu=0.5)(t[:, np.newaxis]), 0.1),
    "ou-fast": (lambda t: Matern(3.0, nu=0.5)(t[:, np.newaxis]), 0.3),
    "both": (lambda t: (Matern(60.0, nu=2.5) + 0.3 * Matern(5.0, nu=0.5))(t[:, np.newaxis]), 0.1),
    "smooth": (lambda t: Matern(30.0, nu=2.5)(t[:, np.newaxis]), 0.1),
    "noisy": (lambda t: Matern(30.0, nu=1.5)(t[:, np.newaxis]), 0.3),
}


def stretch(name, seed, length):
    """Return values (length, m) of sites, and the interval between them."""
    rng = np.random.default_rng([sum(map(ord, name)), seed])
    if name in DRAWS:
        covariance, noise = DRAWS[name]
        root = np.linalg.cholesky(covariance(np.arange(1.0 * length)) + 1e-9 * np.eye(length))
        return root @ rng.normal(size=(length, 2)) + noise * rng.normal(size=(length, 2)), 1.0
    file, array, interval = FILES[name]
    with np.load(Path(os.environ["SKTVBO_DATA"]) / file) as content:
        Y = content[array].astype(float)
    Y = np.log(Y) if name == "prices" else Y
    start = rng.integers(len(Y) - length + 1)
    return Y[start : start + length, rng.choice(Y.shape[1], 3, replace=False)], interval


def kernels(interval, n):
    """Return kernels in time by name, with the bounds of the default."""
    longest = 10.0 * interval * (n - 1)
    smooth = Matern(0.025 * longest, (interval, longest), nu=1.5)
    rough = Matern(3.0 * interval, (0.5 * interval, longest), nu=0.5)
    return {"default": None, "3/2": smooth, "1/2": rough}


def rows(Y, interval, first=0):
    """Return X, with a column for each site, and y of values (n, m)."""
    n, m = Y.shape
    times = (first + np.arange(n)) * interval
    return np.column_stack([np.tile(np.eye(m), (n, 1)), np.repeat(times, m)]), Y.ravel()


def relative(errors, others):
    return np.sqrt(np.mean(np.square(errors)) / np.mean(np.square(others)))


def measure(kernel, Y, interval, n, ahead=6):
    """Return the errors one and six intervals ahead and in gaps, coverage, likelihood, seconds."""
    X, y = rows(Y, interval)
    m, start = Y.shape[1], process_time()
    gp = TimeVaryingGPRegressor(temporal_kernel=kernel, normalize_y=True).fit(
        X[: n * m], y[: n * m]
    )
    seconds, value = process_time() - start, gp.log_marginal_likelihood_value_
    errors, latest, inside = [], [], []
    for i in range(n, len(Y) - ahead + 1):
        future, now = slice(i * m, (i + ahead) * m), slice(i * m, (i + 1) * m)
        errors.append((gp.predict(X[future]) - y[future]).reshape(ahead, m)[[0, -1]])
        latest.append(Y[i - 1] - Y[[i, i + ahead - 1]])
        low, high = gp.predict_interval(X[now])
        inside.append(np.mean((low <= y[now]) & (y[now] <= high)))
        gp.partial_fit(X[now], y[now])
    errors, latest = np.array(errors), np.array(latest)
    gap = np.random.default_rng(0).uniform(size=n * m) < 0.2
    X, y = X[: n * m], y[: n * m]
    filled = TimeVaryingGPRegressor(temporal_kernel=kernel, normalize_y=True).fit(X[~gap], y[~gap])
    left = np.std(filled.predict(X[gap]) - y[gap]) / np.std(y)
    forecasts = [relative(errors[:, j], latest[:, j]) for j in range(2)]
    return [*forecasts, left, np.mean(inside), value, seconds]


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sets", nargs="+", choices=[*FILES, *DRAWS], default=[*FILES, *DRAWS])
    parser.add_argument("--stretches", type=int, default=4)
    parser.add_argument("--times", type=int, default=200, help="of the fit, at each site")
    parser.add_argument("--forecasts", type=int, default=100)
    parser.add_argument("--first", type=int, default=0, help="seed of the first stretch")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    print("set      kernel         one ahead    six ahead    gaps   90 %  likelihood  seconds")
    n, seeds = arguments.times, range(arguments.first, arguments.first + arguments.stretches)
    for name in arguments.sets:
        for kind in kernels(1.0, n):
            table = []
            for seed in seeds:
                Y, interval = stretch(name, seed, n + arguments.forecasts)
                table.append(measure(kernels(interval, n)[kind], Y, interval, n))
            mean, error = np.mean(table, axis=0), np.std(table, axis=0) / np.sqrt(len(table) - 1)
            line = "  ".join(f"{mean[j]:.3f} ± {error[j]:.3f}" for j in range(2))
            rest = f"{mean[2]:.3f}  {mean[3]:.2f} {mean[4]:10.1f} {mean[5]:8.2f}"
            print(f"{name:8s} {kind:12s} {line}  {rest}", flush=True)


if __name__ == "__main__":
    main()
