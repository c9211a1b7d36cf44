"""How often prediction intervals are right on real data: a day ahead, and at sensors left out.

The sparse regressor with default arguments learns from the days before, at four sensors in five.
"a day ahead" are all readings of the next day at the same sensors, "left out" those of the days
learnt from at the others. SKTVBO_DATA names the folder of the data.
"""

import numpy as np

from sktvbo import SparseTimeVaryingGPRegressor
from sktvbo.datasets import load_intel_temperature, load_la_traffic, load_ny_ozone

LEVELS = 0.5, 0.9, 0.95
N_ORIGINS = 5


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


def main():
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
    main()
