"""Prequential error of a regressor on streams, by the rows that a bounded memory keeps.

    SKTVBO_DATA=folder python benchmarks/decisions/bounded_streams.py               # development
    SKTVBO_DATA=folder python benchmarks/decisions/bounded_streams.py --set held-out --seeds 8
    python benchmarks/decisions/bounded_streams.py --long 100000 --size 500         # time, memory

Each row is predicted, then added; beyond ``--size`` rows some are dropped. Hyperparameters are
learnt from the first rows and held, as `partial_fit` does. The error is the RMSE of the predictions
after these first rows, over the standard deviation of the same readings.

===========  =====================================================================
Rule         Rows that stay
===========  =====================================================================
oldest       the latest
reservoir    a uniform sample of all rows so far (Vitter's algorithm R)
relevancy    the most relevant, by ``max_size``; a twentieth is dropped at once
===========  =====================================================================

Streams of sensors read some of them at random at each time. Simulated ones are draws of a Gaussian
process of two coordinates and time: "uniform" reads at random places; "visits" stays within one of
eight regions for a while; "bursts" reads often for a while, then rarely.
"""

import argparse
import resource
import sys
import time
from pathlib import Path

import numpy as np
from sklearn.gaussian_process.kernels import Matern

from sktvbo import TimeVaryingGPRegressor

sys.path.append(str(Path(__file__).parents[1] / "papers"))

from datasets import load_intel_temperature, load_irish_wind, load_la_traffic, load_ny_ozone

N_ROWS = 2000


def sensors(values, t, xy, n_read, part, rng):
    """Return rows (n, 3) and readings (n,) of some sensors at successive times.

    The times begin anywhere in the first half of the data, held out: in the second.
    """
    n_times, half = N_ROWS // n_read, len(t) // 2
    first = rng.randint(half - n_times + 1) + half * (part != "development")
    values, t = values[first : first + n_times], t[first : first + n_times]
    read = np.concatenate([rng.permutation(values.shape[1])[:n_read] for _ in t])
    index = np.repeat(np.arange(len(t)), n_read)
    X, y = np.column_stack([xy[read], t[index]]), values[index, read]
    known = np.isfinite(y)
    return X[known], y[known]


def intel(part, rng):
    data = load_intel_temperature()
    return sensors(data.temperature, data.t / 3600.0, data.xy, 15, part, rng)


def traffic(part, rng):
    data = load_la_traffic()
    return sensors(data.speed, data.t / 3600.0, data.xy, 15, part, rng)


def ozone(part, rng):
    data = load_ny_ozone()
    return sensors(data.ozone, data.t, data.xy, 20, part, rng)


def wind(part, rng):
    data = load_irish_wind()
    return sensors(np.sqrt(data.wind), data.t, data.xy, 8, part, rng)


def drift(places_of, part, rng, n=N_ROWS):
    """Return readings of a function whose lengthscales are 0.3 in space and ``slow`` in time."""
    slow, noise = (60.0, 0.1) if part == "development" else (40.0, 0.2)
    X = places_of(n, rng)
    frequencies = rng.normal(size=(400, 3)) / [0.3, 0.3, slow]
    phases, weights = rng.uniform(0.0, 2.0 * np.pi, 400), rng.normal(size=400) / np.sqrt(200.0)
    parts = np.array_split(X, 1 + n // 2000)  # bounds the memory
    y = np.concatenate([np.cos(part @ frequencies.T + phases) @ weights for part in parts])
    return X, y + noise * rng.normal(size=n)


def uniform(n, rng):
    return np.column_stack([rng.uniform(size=(n, 2)), 0.1 * np.arange(n)])


def visits(n, rng):
    X = uniform(n, rng)
    regions = rng.uniform(size=(8, 2))
    visited = np.repeat(rng.randint(8, size=n // 40 + 1), 40)[:n]
    X[:, :2] = regions[visited] + 0.1 * (X[:, :2] - 0.5)
    return X


def bursts(n, rng):
    X = uniform(n, rng)
    X[:, 2] = np.cumsum(np.where(np.arange(n) // 100 % 2, 0.19, 0.01))
    return X


STREAMS = {
    "intel": intel,
    "traffic": traffic,
    "ozone": ozone,
    "wind": wind,
    "uniform": lambda part, rng: drift(uniform, part, rng),
    "visits": lambda part, rng: drift(visits, part, rng),
    "bursts": lambda part, rng: drift(bursts, part, rng),
}


def oldest(n, size, n_seen, rng):
    return [0]


def reservoir(n, size, n_seen, rng):
    i = rng.randint(n_seen)
    return [i if i < size else n - 1]


RULES = {"oldest": oldest, "reservoir": reservoir, "relevancy": None}


def regressor(X, nu, max_size=None):
    """Return a regressor whose lengthscales start at the scale of X (n, 3)."""
    *extents, span = np.ptp(X, axis=0)
    spatial = Matern(np.multiply(0.3, extents), (1e-3 * min(extents), 1e3 * max(extents)), nu=nu)
    temporal = Matern(0.1 * span, (1e-3 * span, 1e2 * span), nu=nu)
    options = {"normalize_y": True, "solver": "dense", "max_size": max_size}
    return TimeVaryingGPRegressor(spatial, temporal, **options)


def run(stream, rule, size, seed):
    """Return the relative error and the milliseconds a row."""
    name, part, nu, n_first = stream
    X, y = STREAMS[name](part, np.random.RandomState(seed))
    rng, drop = np.random.RandomState(seed), RULES[rule]
    gp = regressor(X[:n_first], nu, size if drop is None else None).fit(X[:n_first], y[:n_first])
    errors, start = [], time.process_time()
    if drop is not None and n_first > size:
        order = rng.permutation(n_first) if drop is reservoir else np.arange(n_first)
        gp.forget(order[: n_first - size])
    for i in range(n_first, len(y)):
        errors.append(gp.predict(X[i : i + 1])[0] - y[i])
        gp.partial_fit(X[i : i + 1], y[i : i + 1])
        n = len(gp.X_train_)
        if drop is not None and n > size:
            gp.forget(drop(n, size, i + 1, rng))
    seconds = (time.process_time() - start) / len(errors)
    return np.sqrt(np.mean(np.square(errors))) / np.std(y[n_first:]), 1e3 * seconds


def compare(arguments):
    """Print a table of the errors."""
    rules, seeds = list(RULES), range(arguments.seeds)
    titles = [*rules, *(f"{rule}/oldest" for rule in rules[1:])]
    print(f"{'':10}" + "".join(f"{title:>18}" for title in titles) + "  ms a row")
    for name in arguments.streams:
        stream = name, arguments.set, arguments.nu, arguments.first
        found = [[run(stream, rule, arguments.size, seed) for seed in seeds] for rule in rules]
        errors, times = np.moveaxis(found, -1, 0)
        columns = [*errors, *(errors[1:] / errors[0])]
        spreads = [np.std(column, ddof=1) / np.sqrt(len(column)) for column in columns]
        cells = [f"{np.mean(each):10.3f} ± {error:.3f}" for each, error in zip(columns, spreads)]
        of_rules = " ".join(f"{value:.2f}" for value in times.mean(axis=1))
        print(f"{name:10}{''.join(cells)}  {of_rules}", flush=True)


def long(arguments):
    """Print time and memory of a stream of rows, one at a time."""
    X, y = drift(uniform, "development", np.random.RandomState(0), arguments.long)
    first = slice(arguments.size)
    gp = regressor(X[first], arguments.nu, arguments.size).fit(X[first], y[first])
    start, squares = time.process_time(), 0.0
    for i in range(arguments.size, len(y)):
        squares += (gp.predict(X[i : i + 1])[0] - y[i]) ** 2
        gp.partial_fit(X[i : i + 1], y[i : i + 1])
        if (i + 1) % (len(y) // 10) == 0:
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
            n_predicted, seconds = i + 1 - arguments.size, time.process_time() - start
            rmse = np.sqrt(squares / n_predicted)
            rows = f"{i + 1:8} rows, {len(gp.X_train_)} kept"
            print(f"{rows}, {seconds:6.1f} s, peak {peak} MB, RMSE {rmse:.3f}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--set", choices=("development", "held-out"), default="development")
    parser.add_argument("--streams", nargs="+", choices=STREAMS, default=list(STREAMS))
    parser.add_argument("--size", type=int, default=100)
    parser.add_argument("--first", type=int, default=300)
    parser.add_argument("--nu", type=float, default=1.5)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--long", type=int, metavar="ROWS")
    arguments = parser.parse_args()
    if arguments.long:
        long(arguments)
    else:
        compare(arguments)


if __name__ == "__main__":
    main()
