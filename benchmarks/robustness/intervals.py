"""Coverage of prediction intervals on simulated and on real data.

    python benchmarks/robustness/intervals.py [simulated|real ...]

Simulated: 50 draws each of Gaussian processes with random dimension, lengthscales and noise. Given
the training rows, a new observation is normal with known mean and variance, so that the probability
that an interval is right is computed, not counted. "in space" are new places within the times of
the training rows, "ahead" places at later times.

Real: the sparse regressor with default arguments learns from some days at four sensors in five.
"a day ahead" are all readings of the next day at the same sensors, "left out" those of the training
days at the others. SKTVBO_DATA names the folder of the data.
"""

import sys

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.stats import norm
from sklearn.gaussian_process.kernels import Matern

from sktvbo import SparseTimeVaryingGPRegressor, TimeVaryingGPRegressor
from sktvbo.datasets import load_intel_temperature, load_la_traffic, load_ny_ozone

LEVELS = 0.5, 0.9, 0.95
N_ORIGINS, N_SETS, N_NEW = 5, 50, 200


def tables():
    """Name, readings (n_times, n_sensors), times in days, places, days to learn from."""
    data = load_intel_temperature()
    yield "temperature", data.temperature[::3], data.t[::3] / 86400.0, data.xy, 3
    data = load_ny_ozone()
    days = (data.date - data.date[0]) / np.timedelta64(1, "D")
    yield "ozone", data.ozone, days, data.xy, 60
    data = load_la_traffic()
    chosen = np.arange(0, data.speed.shape[1], 4)
    yield "traffic", data.speed[::6, chosen], data.t[::6] / 86400.0, data.xy[chosen], 3


def rows(readings, times, places, when, which):
    """X (n, 3) and y (n,) of some times and sensors."""
    X = [np.column_stack([places[which], np.full(len(which), times[i])]) for i in when]
    return np.vstack(X), readings[np.ix_(when, which)].ravel()


def draw(seed, n):
    """Rows, new places in space and ahead, and the exact mean and deviation of observations."""
    rng = np.random.default_rng(seed)
    d = int(rng.integers(1, 4))
    in_space, in_time = rng.uniform(0.2, 0.6) * np.sqrt(d), rng.uniform(0.5, 2.0)
    noise, level = rng.uniform(0.02, 0.2), rng.normal()
    X = rng.uniform(size=(n + 2 * N_NEW, d + 1)) * [*[1.0] * d, 10.0]
    X[n + N_NEW :, -1] = rng.uniform(10.0, 11.0, N_NEW)
    K = Matern(in_space, nu=2.5)(X[:, :d]) * Matern(in_time, nu=1.5)(X[:, d:])
    K[np.diag_indices_from(K)] += noise
    y = np.linalg.cholesky(K[:n, :n]) @ rng.normal(size=n)
    gains = cho_solve(cho_factor(K[:n, :n]), K[:n, n:])
    std = np.sqrt(K.diagonal()[n:] - np.einsum("ij,ij->j", gains, K[:n, n:]))
    return X[:n], y + level, X[n:], gains.T @ y + level, std


def simulated():
    print(f"{'':31}" + "".join(f"{100 * level:10.0f} %" for level in LEVELS))
    for kind, n in ((TimeVaryingGPRegressor, 250), (SparseTimeVaryingGPRegressor, 1_000)):
        found = []
        for seed in range(N_SETS):
            X, y, new, mean, std = draw(seed, n)
            gp = kind(normalize_y=True, random_state=0, warn=False).fit(X, y)
            hits = []
            for level in LEVELS:
                low, high = (norm.cdf(side, mean, std) for side in gp.predict_interval(new, level))
                hits.append((high - low).reshape(2, N_NEW).mean(axis=1))
            found.append(hits)
        means, errors = np.mean(found, axis=0), np.std(found, axis=0, ddof=1) / np.sqrt(N_SETS)
        for i, where in enumerate(("in space", "ahead")):
            cells = zip(means[:, i], errors[:, i])
            shares = "".join(f"{100 * m:7.1f} ± {100 * e:.1f}" for m, e in cells)
            name = "sparse" if kind is SparseTimeVaryingGPRegressor else "exact"
            print(f"{name:7}{n:6,d} rows  {where:9}{shares}", flush=True)


def real():
    print(f"{'':25}{'50 %':>8}{'90 %':>8}{'95 %':>8}{'R²':>8}{'n':>8}")
    for name, readings, times, places, n_days in tables():
        rng = np.random.default_rng(0)
        found = {"a day ahead": [], "left out": []}
        origins = np.linspace(times[0] + n_days, times[-1] - 1.0, N_ORIGINS)
        for origin in origins:
            sensors = rng.permutation(len(places))
            kept, others = np.split(sensors, [4 * len(sensors) // 5])
            past = np.flatnonzero((origin - n_days <= times) & (times < origin))
            ahead = np.flatnonzero((origin <= times) & (times < origin + 1.0))
            gp = SparseTimeVaryingGPRegressor(normalize_y=True, random_state=0, warn=False)
            gp.fit(*rows(readings, times, places, past, kept))
            for what, when, which in (("a day ahead", ahead, kept), ("left out", past, others)):
                X, y = rows(readings, times, places, when, which)
                intervals = [gp.predict_interval(X, level) for level in LEVELS]
                hits = [np.mean((low <= y) & (y <= high)) for low, high in intervals]
                found[what].append([*hits, gp.score(X, y), len(gp.X_train_)])
        for what, values in found.items():
            *coverage, score, n = np.mean(values, axis=0)
            shares = "".join(f"{100.0 * c:8.0f}" for c in coverage)
            print(f"{name:12}{what:13}{shares}{score:8.2f}{n:8,.0f}", flush=True)


if __name__ == "__main__":
    for part in sys.argv[1:] or ("simulated", "real"):
        {"simulated": simulated, "real": real}[part]()
