"""OnlineTuner on four drifting streams, compared with fixed settings and repeated grid searches.

    python benchmarks/online_tuner.py [--streams NAME ...] [--seeds 10] [--store FILE]

Finished runs are kept in the store, and an interrupted command resumes there.
"""

import argparse
import json
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.linear_model import Ridge, SGDClassifier, SGDRegressor
from sklearn.model_selection import TimeSeriesSplit
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from sktvbo.datasets import load_la_traffic, load_ny_ozone
from sktvbo.model_selection import OnlineTuner

SEARCH_EVERY, SEARCH_BATCHES, N_FOLDS = 10, 20, 6


class Stream(NamedTuple):
    """Batches (X, y), a learner, the space of its hyperparameters, and a grid of 12 settings.

    The learner is refitted to the latest ``window`` rows, or learns by ``partial_fit`` with None.
    """

    batches: list
    learner: object
    space: dict
    grid: dict
    window: int | None = None
    classes: object = None

    @property
    def settings(self):
        return [dict(zip(self.grid, values)) for values in product(*self.grid.values())]


def season(n, low, high):
    """Paces (n,) of a change that is slow, fast, and slow again."""
    return low * (high / low) ** (0.5 - 0.5 * np.cos(2.0 * np.pi * np.arange(n) / n))


def days_ahead(values, n_days=3):
    """Batches of a day: values (n, m), from those of the last days and their mean over places."""
    batches = []
    for day in range(n_days, len(values)):
        past = values[day - n_days : day]
        X = np.column_stack([*past[::-1], np.full(values.shape[1], past[-1].mean())])
        batches.append((X, values[day]))
    return batches


def steps_ahead(values, ahead, size):
    """Batches of some steps: values (n, m) from those of some steps ago, and their mean."""
    batches = []
    for start in range(2 * ahead, len(values) - size + 1, size):
        rows = range(start, start + size)
        lags = [values[[i - ahead - lag for i in rows]] for lag in (0, 2, 5)]
        lags.append(np.repeat(lags[0].mean(axis=1, keepdims=True), values.shape[1], axis=1))
        X = np.column_stack([lag.ravel() for lag in lags])
        batches.append((X, values[start : start + size].ravel()))
    return batches


def digits(seed, n_batches=100, size=160):
    """The parcels of the gallery: digits whose destinations swap, in a calm and a busy season."""
    rng = np.random.RandomState(seed)
    images, digit = load_digits(return_X_y=True)
    order = np.resize(rng.permutation(len(images)), n_batches * size)
    X = images[order] / 16.0 + 0.3 * rng.normal(size=(len(order), 64))
    destination, batches = rng.permutation(10), []
    for i, pace in enumerate(season(n_batches, 0.005, 4.0)):
        for _ in range(rng.poisson(pace)):
            pair = rng.choice(10, size=2, replace=False)
            destination[pair] = destination[pair[::-1]]
        today = slice(i * size, (i + 1) * size)
        batches.append((X[today], destination[digit[order[today]]]))
    return Stream(
        batches,
        KNeighborsClassifier(5, algorithm="brute"),
        {"window": ("log-real", 50, 1400), "n_neighbors": ("integer", 1, 20)},
        {"window": [50, 100, 200, 400, 800, 1400], "n_neighbors": [3, 16]},
        window=400,
        classes=np.arange(10),
    )


def hyperplane(seed, n_batches=100, size=100, dim=10):
    """A rotating hyperplane (Hulten et al. 2001): weights drift and now and then turn back."""
    rng = np.random.RandomState(seed)
    w, direction, batches = rng.uniform(size=dim), rng.choice([-1.0, 1.0], size=dim), []
    for pace in season(n_batches, 0.001, 0.1):
        X = rng.uniform(size=(size, dim))
        y = (X @ w > 0.5 * w.sum()) ^ (rng.uniform(size=size) < 0.05)
        batches.append((X - 0.5, y.astype(int)))
        w = w + pace * direction * (np.arange(dim) < dim // 2)
        direction = np.where(rng.uniform(size=dim) < 0.1, -direction, direction)
    learner = SGDClassifier(
        "log_loss", learning_rate="constant", eta0=0.01, alpha=1e-4, random_state=0
    )
    return Stream(
        batches,
        learner,
        {"eta0": ("log-real", 1e-3, 10.0), "alpha": ("log-real", 1e-6, 0.1)},
        {"eta0": [3e-3, 1e-2, 3e-2, 0.1, 0.3, 1.0], "alpha": [1e-5, 1e-3]},
        classes=[0, 1],
    )


def ozone(seed, n_sites=15):
    """Tomorrow's ozone at 15 sites of New York State, from their last three days and all sites'."""
    data = load_ny_ozone()
    chosen = np.random.RandomState(seed).choice(data.ozone.shape[1], n_sites, replace=False)
    return Stream(
        days_ahead(data.ozone[:, chosen] / 10.0),
        make_pipeline(StandardScaler(), Ridge(alpha=1.0)),
        {"window": ("log-real", 45, 3000), "ridge__alpha": ("log-real", 0.1, 1000.0)},
        {"window": [60, 150, 300, 750, 1500, 3000], "ridge__alpha": [1.0, 100.0]},
        window=300,
    )


def traffic(seed, n_detectors=20, ahead=6, size=18):
    """Speeds in half an hour at 20 detectors in Los Angeles, from those of the last half hour.

    A batch is an hour and a half, of 18 times.
    """
    data = load_la_traffic()
    chosen = np.random.RandomState(seed).choice(data.speed.shape[1], n_detectors, replace=False)
    learner = SGDRegressor(learning_rate="constant", eta0=0.01, alpha=1e-4, random_state=0)
    return Stream(
        steps_ahead((data.speed[:, chosen] - 55.0) / 15.0, ahead, size),
        learner,
        {"eta0": ("log-real", 1e-4, 0.1), "alpha": ("log-real", 1e-6, 0.1)},
        {"eta0": [1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2], "alpha": [1e-5, 1e-2]},
    )


STREAMS = {f.__name__: f for f in (digits, hyperplane, ozone, traffic)}


# --- competitors ----------------------------------------------------------------------------------


class Fixed:
    """A learner whose setting never changes by itself."""

    def __init__(self, stream, setting):
        self.stream, self.rows = stream, None
        self.configure({"window": stream.window} | setting)

    def configure(self, setting):
        self.window = setting["window"]
        self.parameters = {name: value for name, value in setting.items() if name != "window"}
        if not hasattr(self, "learner"):
            self.learner = clone(self.stream.learner)
        self.learner.set_params(**self.parameters)

    def predict(self, X):
        return self.learner.predict(X)

    def partial_fit(self, X, y):
        if self.window is None:
            options = {} if self.stream.classes is None else {"classes": self.stream.classes}
            self.learner.partial_fit(X, y, **options)
            return
        new = (X, y) if self.rows is None else map(np.concatenate, zip(self.rows, (X, y)))
        longest = max(self.stream.grid["window"])
        self.rows = tuple(part[-longest:] for part in new)
        self.learner.fit(*(part[-self.window :] for part in self.rows))


def loss(learner, stream, i):
    """Mean error rate, or squared error, of a batch."""
    X, y = stream.batches[i]
    found = learner.predict(X)
    return float(np.mean((found - y) ** 2 if stream.classes is None else found != y))


def prequential(learner, stream, after=lambda i, learner: None):
    """Mean loss over the batches but the first, each predicted before it is learnt."""
    losses = []
    for i, batch in enumerate(stream.batches):
        if i:
            losses.append(loss(learner, stream, i))
        learner.partial_fit(*batch)
        after(i, learner)
    return float(np.mean(losses))


def tuned(stream, seed, **options):
    """Loss of the weighted average, and that of its best learner alone."""
    tuner = OnlineTuner(
        stream.learner, stream.space, window=stream.window, random_state=seed, **options
    )
    alone = []

    def after(i, tuner):
        if i + 1 < len(stream.batches):
            alone.append(loss(tuner.best_estimator_, stream, i + 1))

    return [prequential(tuner, stream, after), float(np.mean(alone))]


def searched(stream):
    """Grid search at every tenth batch, on the latest twenty, with folds in the order of time."""

    def score(setting, X, y):
        losses = []
        for train, test in TimeSeriesSplit(N_FOLDS).split(X):
            learner = Fixed(stream, setting)
            learner.partial_fit(X[train], y[train])
            losses.append(loss(learner, stream._replace(batches=[(X[test], y[test])]), 0))
        return np.mean(losses)

    def after(i, learner):
        if (i + 1) % SEARCH_EVERY == 0:
            recent = stream.batches[max(i + 1 - SEARCH_BATCHES, 0) : i + 1]
            X, y = map(np.concatenate, zip(*recent))
            learner.configure({"window": None} | min(stream.settings, key=lambda s: score(s, X, y)))

    return prequential(Fixed(stream, {}), stream, after)


def competitors(stream, seed):
    """Functions by name; each returns a mean loss, or a list of such."""
    return {
        "grid": lambda: [prequential(Fixed(stream, s), stream) for s in stream.settings],
        "own setting": lambda: prequential(Fixed(stream, {}), stream),
        "OnlineTuner": lambda: tuned(stream, seed),
        "n_settings=5": lambda: tuned(stream, seed, n_settings=5),
        "repeated grid search": lambda: searched(stream),
    }


# --- the study ------------------------------------------------------------------------------------


def run_all(names, n_seeds, store):
    """Mean losses by stream, seed and competitor; those in the store are not run again."""
    found = json.loads(store.read_text()) if store.exists() else {}
    for seed in range(n_seeds):
        for name in names:
            done = found.setdefault(f"{name}-{seed}", {})
            stream = STREAMS[name](seed)
            for competitor, run in competitors(stream, seed).items():
                if competitor not in done:
                    done[competitor] = run()
                    store.write_text(json.dumps(found))
    return found


def report(name, runs):
    """Lines of a table: mean losses, and differences in percent."""
    grid = np.array([run["grid"] for run in runs])
    best = grid.mean(axis=0).argmin()
    tuner = np.array([run["OnlineTuner"] for run in runs])
    rows = {
        "best fixed setting": grid[:, best],
        "own setting": np.array([run["own setting"] for run in runs]),
        "OnlineTuner": tuner[:, 0],
        "its best learner alone": tuner[:, 1],
        "n_settings=5": np.array([run["n_settings=5"][0] for run in runs]),
        "repeated grid search": np.array([run["repeated grid search"] for run in runs]),
    }
    setting = ", ".join(
        f"{k.split('__')[-1]}={v:g}" for k, v in STREAMS[name](0).settings[best].items()
    )
    lines = [f"{name} (best fixed setting: {setting}; {len(runs)} seeds)"]
    for competitor, losses in rows.items():
        differences = f"{percent(losses, grid[:, best]):>16}   {percent(tuner[:, 0], losses):>16}"
        lines.append(f"  {competitor:22} {losses.mean():8.4f}   {differences}")
    return lines


def percent(losses, reference):
    """Mean and standard error of paired differences, in percent of the mean reference."""
    difference = 100.0 * (losses - reference) / reference.mean()
    error = difference.std(ddof=1) / np.sqrt(len(difference)) if len(difference) > 1 else np.nan
    return f"{difference.mean():+6.1f} ± {error:.1f} %"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--streams", nargs="+", default=list(STREAMS), choices=list(STREAMS))
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--store", type=Path, default=Path("online_tuner.json"))
    arguments = parser.parse_args()
    with threadpool_limits(1):
        found = run_all(arguments.streams, arguments.seeds, arguments.store)
    print(f"{'':24} {'loss':>8}   {'to best fixed':>16}   {'tuner to this':>16}")
    for name in arguments.streams:
        print("\n".join(report(name, [found[f"{name}-{seed}"] for seed in range(arguments.seeds)])))


if __name__ == "__main__":
    main()
