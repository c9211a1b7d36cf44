"""OnlineTuner on drifting streams, against fixed settings and repeated searches.

    python benchmarks/online_tuner.py [--streams judged|chosen-on|NAME ...] [--seeds 10]

What is done is kept in --store, so that a run that was interrupted goes on where it was. Four
streams judge; the tuner's defaults were chosen on the others.
"""

import argparse
import json
import time
import warnings
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.stats import loguniform, randint
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.datasets import load_digits
from sklearn.exceptions import FitFailedWarning
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.linear_model import Ridge, SGDClassifier, SGDRegressor
from sklearn.model_selection import HalvingGridSearchCV, RandomizedSearchCV, TimeSeriesSplit
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_limits

from sktvbo import RandomSearch
from sktvbo.datasets import (
    load_intel_temperature,
    load_irish_wind,
    load_la_traffic,
    load_ny_ozone,
)
from sktvbo.model_selection import OnlineTuner, Windowed
from sktvbo.model_selection._mixture import Answers, Together, Weights

SEARCH_EVERY, SEARCH_BATCHES, N_FOLDS = 10, 20, 6


class Stream(NamedTuple):
    """Batches (X, y), a learner with the setting that it starts with, a space and a grid of 12."""

    batches: list
    learner: object
    space: dict
    grid: dict
    classes: object = None

    @property
    def settings(self):
        names = list(self.grid)
        return [dict(zip(names, values)) for values in product(*self.grid.values())]


# --- streams to choose the defaults on ------------------------------------------------------------


def season(n, low, high):
    """Paces (n,) of a change that is slow, fast, and slow again."""
    return low * (high / low) ** (0.5 - 0.5 * np.cos(2.0 * np.pi * np.arange(n) / n))


def days_ahead(values, n_days=3):
    """Batches of a day: values (n, m) from those of the last days, and their mean over places."""
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


def walking_weights(seed, n_batches=100, size=40, dim=8):
    """A linear function whose weights take a random walk, at a pace that has seasons."""
    rng = np.random.RandomState(seed)
    w, batches = rng.normal(size=dim), []
    for pace in season(n_batches, 0.003, 1.0):
        X = rng.normal(size=(size, dim))
        batches.append((X, X @ w + rng.normal(size=size)))
        w = (w + pace * rng.normal(size=dim)) / np.sqrt(1.0 + pace**2)
    return batches


def ridge_on_walk(seed):
    learner = Windowed(Ridge(alpha=1.0), window=200, memory=1000)
    return Stream(
        walking_weights(seed),
        learner,
        {"window": ("log-real", 20, 1000), "estimator__alpha": ("log-real", 0.01, 100.0)},
        {"window": [25, 60, 150, 300, 600, 1000], "estimator__alpha": [0.3, 10.0]},
    )


def sgd_on_walk(seed):
    learner = SGDRegressor(learning_rate="constant", eta0=0.01, alpha=1e-4, random_state=0)
    return Stream(
        walking_weights(seed),
        learner,
        {"eta0": ("log-real", 1e-4, 0.3), "alpha": ("log-real", 1e-6, 0.1)},
        {"eta0": [3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1], "alpha": [1e-5, 1e-2]},
    )


def sea(seed, n_batches=100, size=100):
    """SEA concepts (Street and Kim 2001): the sum of two of three features against a threshold."""
    rng = np.random.RandomState(seed)
    batches, left = [], 0
    for _ in range(n_batches):
        if not left:
            threshold, left = rng.choice([7.0, 8.0, 9.0, 9.5, 5.0, 12.0]), rng.randint(3, 30)
        left -= 1
        X = rng.uniform(0.0, 10.0, size=(size, 3))
        y = (X[:, 0] + X[:, 1] <= threshold) ^ (rng.uniform(size=size) < 0.1)
        batches.append((X, y.astype(int)))
    return batches


def tree_on_sea(seed):
    learner = Windowed(DecisionTreeClassifier(max_depth=4, random_state=0), window=500, memory=2000)
    return Stream(
        sea(seed),
        learner,
        {"window": ("log-real", 50, 2000), "estimator__max_depth": ("integer", 1, 10)},
        {"window": [50, 150, 500, 2000], "estimator__max_depth": [2, 4, 8]},
        [0, 1],
    )


def bayes_on_sea(seed):
    learner = Windowed(GaussianNB(), window=500, memory=2000)
    return Stream(
        sea(seed + 100),
        learner,
        {"window": ("log-real", 30, 2000), "estimator__var_smoothing": ("log-real", 1e-9, 1.0)},
        {"window": [30, 100, 250, 500, 1000, 2000], "estimator__var_smoothing": [1e-6, 0.03]},
        [0, 1],
    )


def neighbours_on_wave(seed, n_batches=100, size=50):
    """A wave that travels, at a pace that has seasons, seen by nearest neighbours."""
    rng = np.random.RandomState(seed)
    phase, batches = 0.0, []
    for pace in season(n_batches, 0.005, 1.0):
        X = rng.uniform(size=(size, 2))
        batches.append((X, np.sin(6.0 * X[:, 0] + phase) + X[:, 1] + 0.4 * rng.normal(size=size)))
        phase += pace * rng.choice([-1.0, 1.0])
    learner = Windowed(KNeighborsRegressor(5), window=200, memory=1500)
    return Stream(
        batches,
        learner,
        {"window": ("log-real", 40, 1500), "estimator__n_neighbors": ("integer", 1, 40)},
        {"window": [50, 200, 600, 1500], "estimator__n_neighbors": [3, 10, 30]},
    )


def sgd_on_clouds(seed, n_batches=100, size=60, dim=6):
    """Two classes whose centres walk."""
    rng = np.random.RandomState(seed)
    centres, batches = rng.normal(size=(2, dim)), []
    for pace in season(n_batches, 0.01, 0.8):
        y = rng.randint(2, size=size)
        batches.append((centres[y] + 1.5 * rng.normal(size=(size, dim)), y))
        step = pace * rng.normal(size=(2, dim))
        centres = (centres + step) / np.sqrt(1.0 + pace**2)
    learner = SGDClassifier(
        "log_loss", learning_rate="constant", eta0=0.01, alpha=1e-4, random_state=0
    )
    return Stream(
        batches,
        learner,
        {"eta0": ("log-real", 1e-4, 1.0), "alpha": ("log-real", 1e-6, 0.3)},
        {"eta0": [3e-4, 3e-3, 1e-2, 3e-2, 1e-1, 0.5], "alpha": [1e-4, 3e-2]},
        [0, 1],
    )


def ridge_on_sites(seed, n_batches=150, n_sites=15):
    """Sites that share their days' weather, whose surprises have heavy tails; tomorrow's value.

    The rows of a batch err together, so that they tell as much as few.
    """
    rng = np.random.RandomState(seed)
    level, own = 0.0, np.zeros(n_sites)
    offsets, days = rng.normal(size=n_sites), []
    for pace in season(n_batches + 3, 0.2, 1.0):
        level = 0.6 * level + pace * rng.standard_t(4)
        own = 0.5 * own + 0.5 * rng.standard_t(4, size=n_sites)
        days.append(offsets + level + own)
    learner = Windowed(make_pipeline(StandardScaler(), Ridge(alpha=1.0)), window=200, memory=2000)
    alpha = "estimator__ridge__alpha"
    return Stream(
        days_ahead(np.array(days)),
        learner,
        {"window": ("log-real", 45, 2000), alpha: ("log-real", 0.1, 1000.0)},
        {"window": [60, 150, 300, 600, 1200, 2000], alpha: [1.0, 100.0]},
    )


def sgd_on_rushes(seed, n_batches=150, size=150, dim=8):
    """A linear function, and bursts for some batches in which other weights hold.

    Within a batch all is alike; from one to the next it is not.
    """
    rng = np.random.RandomState(seed)
    w, batches, burst, left = rng.normal(size=dim), [], np.zeros(dim), 0
    for _ in range(n_batches):
        if not left and rng.uniform() < 0.08:
            burst, left = 0.7 * rng.normal(size=dim), rng.randint(1, 6)
        left = max(left - 1, 0)
        X = rng.normal(size=(size, dim)) + 0.7 * rng.normal(size=dim)
        noise = (0.7 + 1.5 * (left > 0)) * rng.normal(size=size)
        batches.append((X, X @ (w + burst * (left > 0)) + noise))
        w = (w + 0.02 * rng.normal(size=dim)) / np.sqrt(1.0 + 0.02**2)
    learner = SGDRegressor(learning_rate="constant", eta0=0.03, alpha=1e-4, random_state=0)
    return Stream(
        batches,
        learner,
        {"eta0": ("log-real", 1e-4, 0.1), "alpha": ("log-real", 1e-6, 0.1)},
        {"eta0": [1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2], "alpha": [1e-5, 1e-2]},
    )


def ridge_on_winds(seed, n_batches=300, n_stations=12):
    """Tomorrow's wind at Irish stations in one of 18 years' stretches, by ridge regression."""
    values = load_irish_wind().wind
    start = np.random.RandomState(seed).randint(len(values) - n_batches - 3)
    values = values[start : start + n_batches + 3, :n_stations] / 5.0
    learner = Windowed(make_pipeline(StandardScaler(), Ridge(alpha=10.0)), window=240, memory=2400)
    alpha = "estimator__ridge__alpha"
    return Stream(
        days_ahead(values),
        learner,
        {"window": ("log-real", 36, 2400), alpha: ("log-real", 0.1, 1000.0)},
        {"window": [48, 120, 240, 600, 1200, 2400], alpha: [1.0, 100.0]},
    )


def sgd_on_rooms(seed, n_sensors=15, size=9):
    """Temperatures of an office in an hour, at 15 sensors; batches of an hour and a half."""
    values = load_intel_temperature().temperature
    chosen = np.random.RandomState(seed).choice(values.shape[1], n_sensors, replace=False)
    learner = SGDRegressor(learning_rate="constant", eta0=0.01, alpha=1e-4, random_state=0)
    return Stream(
        steps_ahead((values[:, chosen] - 22.0) / 3.0, 6, size),
        learner,
        {"eta0": ("log-real", 1e-4, 0.1), "alpha": ("log-real", 1e-6, 0.1)},
        {"eta0": [1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2], "alpha": [1e-5, 1e-2]},
    )


def ridge_on_seasons(seed, n_batches=300, size=10, dim=6):
    """Weights that go round with the year, rows that follow on each other, heavy tails."""
    rng = np.random.RandomState(seed)
    base, swing = rng.normal(size=(2, dim))
    phase = rng.uniform(0.0, 2.0 * np.pi, size=dim)
    x, error, batches = rng.normal(size=(size, dim)), np.zeros(size), []
    for day in range(n_batches):
        x = 0.8 * x + 0.6 * rng.normal(size=(size, dim))
        common = 0.5 * rng.standard_t(3)
        error = 0.5 * error + 0.7 * rng.standard_t(3, size=size)
        w = base + 0.7 * swing * np.sin(2.0 * np.pi * day / 200.0 + phase)
        batches.append((x, x @ w + common + error))
    learner = Windowed(Ridge(alpha=1.0), window=100, memory=2000)
    return Stream(
        batches,
        learner,
        {"window": ("log-real", 30, 2000), "estimator__alpha": ("log-real", 0.01, 1000.0)},
        {"window": [40, 100, 200, 400, 1000, 2000], "estimator__alpha": [1.0, 30.0]},
    )


def neighbours_on_regimes(seed, n_batches=120, size=60):
    """Three classes under four regimes, each of which comes back."""
    rng = np.random.RandomState(seed)
    regimes, now, batches = rng.normal(size=(4, 3, 5)), 0, []
    for _ in range(n_batches):
        if rng.uniform() < 0.15:
            now = rng.randint(4)
        X = rng.normal(size=(size, 5)) + 0.5 * rng.normal(size=5)
        y = (X @ regimes[now].T + rng.gumbel(size=(size, 3))).argmax(axis=1)
        batches.append((X, y))
    learner = Windowed(KNeighborsClassifier(7), window=600, memory=2400)
    return Stream(
        batches,
        learner,
        {"window": ("log-real", 40, 2400), "estimator__n_neighbors": ("integer", 1, 40)},
        {"window": [60, 120, 300, 600, 1200, 2400], "estimator__n_neighbors": [7, 25]},
        [0, 1, 2],
    )


def sgd_on_boundary(seed, n_batches=100, size=80, dim=6):
    """A boundary that walks, and labels of which some are wrong; rates up to far too high ones."""
    rng = np.random.RandomState(seed + 50)
    w, batches = rng.normal(size=dim), []
    for pace in season(n_batches, 0.003, 0.15):
        X = 0.4 * rng.normal(size=(size, dim))
        batches.append((X, ((X @ w > 0.0) ^ (rng.uniform(size=size) < 0.08)).astype(int)))
        w = (w + pace * rng.normal(size=dim)) / np.sqrt(1.0 + pace**2)
    learner = SGDClassifier(
        "log_loss", learning_rate="constant", eta0=0.01, alpha=1e-4, random_state=0
    )
    return Stream(
        batches,
        learner,
        {"eta0": ("log-real", 1e-3, 10.0), "alpha": ("log-real", 1e-6, 0.1)},
        {"eta0": [3e-3, 1e-2, 3e-2, 0.1, 0.3, 1.0], "alpha": [1e-5, 1e-3]},
        [0, 1],
    )


# --- streams that judge ---------------------------------------------------------------------------


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
    learner = Windowed(KNeighborsClassifier(5, algorithm="brute"), window=400, memory=1400)
    return Stream(
        batches,
        learner,
        {"window": ("log-real", 50, 1400), "estimator__n_neighbors": ("integer", 1, 20)},
        {"window": [50, 100, 200, 400, 800, 1400], "estimator__n_neighbors": [3, 16]},
        np.arange(10),
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
        [0, 1],
    )


def ozone(seed, n_sites=15):
    """Tomorrow's ozone at 15 sites of New York State, from their last three days and all sites'."""
    data = load_ny_ozone()
    chosen = np.random.RandomState(seed).choice(data.ozone.shape[1], n_sites, replace=False)
    learner = Windowed(make_pipeline(StandardScaler(), Ridge(alpha=1.0)), window=300, memory=3000)
    alpha = "estimator__ridge__alpha"
    return Stream(
        days_ahead(data.ozone[:, chosen] / 10.0),
        learner,
        {"window": ("log-real", 45, 3000), alpha: ("log-real", 0.1, 1000.0)},
        {"window": [60, 150, 300, 750, 1500, 3000], alpha: [1.0, 100.0]},
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


CHOSEN_ON = {
    f.__name__: f
    for f in (
        ridge_on_walk,
        sgd_on_walk,
        tree_on_sea,
        bayes_on_sea,
        neighbours_on_wave,
        sgd_on_clouds,
        ridge_on_sites,
        sgd_on_rushes,
        ridge_on_winds,
        sgd_on_rooms,
        ridge_on_seasons,
        neighbours_on_regimes,
        sgd_on_boundary,
    )
}
JUDGED = {f.__name__: f for f in (digits, hyperplane, ozone, traffic)}

# --- who competes ---------------------------------------------------------------------------------


def loss(learner, X, y, classes):
    """Mean error rate, or squared error."""
    found = learner.predict(X)
    return np.mean(found != y) if classes is not None else np.mean((found - y) ** 2)


def learn(learner, X, y, classes):
    return learner.partial_fit(X, y) if classes is None else learner.partial_fit(X, y, classes)


def prequential(learner, stream, after=None):
    """Mean loss over the batches but the first, each predicted before it is learnt."""
    losses = []
    for i, (X, y) in enumerate(stream.batches):
        if i:
            losses.append(float(loss(learner, X, y, stream.classes)))
        learn(learner, X, y, stream.classes)
        if after is not None:
            after(i, learner)
    return float(np.mean(losses))


def tuned(stream, seed, **options):
    tuner = OnlineTuner(stream.learner, stream.space, random_state=seed, **options)
    return prequential(tuner, stream)


class InOrder(MetaEstimatorMixin, BaseEstimator):
    """A learner of rows in the order of their last column: a halving search shuffles them."""

    def __init__(self, estimator):
        self.estimator = estimator

    def __sklearn_tags__(self):
        return self.estimator.__sklearn_tags__()

    def fit(self, X, y):
        order = np.argsort(X[:, -1])
        self.estimator_ = clone(self.estimator).fit(X[order, :-1], y[order])
        if hasattr(self.estimator_, "classes_"):
            self.classes_ = self.estimator_.classes_
        return self

    def predict(self, X):
        return self.estimator_.predict(X[:, :-1])


def searched_again(stream, search):
    """A learner whose setting a search finds anew at every tenth batch, on the latest twenty."""

    def after(i, learner):
        if (i + 1) % SEARCH_EVERY:
            return
        recent = stream.batches[max(i + 1 - SEARCH_BATCHES, 0) : i + 1]
        X, y = (np.concatenate(parts) for parts in zip(*recent))
        search.fit(np.column_stack([X, np.arange(len(X))]), y)
        if not np.isfinite(search.cv_results_["mean_test_score"]).any():
            raise RuntimeError(f"no setting could be scored by {search!r}")
        best = search.best_params_
        learner.set_params(**{name.removeprefix("estimator__"): v for name, v in best.items()})

    return prequential(clone(stream.learner), stream, after)


def search_options(stream, seed):
    """For either search: with six folds each has 108 fits, and eleven challengers 110."""
    return {
        "cv": TimeSeriesSplit(N_FOLDS),
        "scoring": "neg_mean_squared_error" if stream.classes is None else "accuracy",
        "random_state": seed,
        "refit": False,
    }


def halving(stream, seed):
    """Of the grid's 12 settings, 4 go on to three times the rows, and one or two to nine."""
    values = {f"estimator__{name}": values for name, values in stream.grid.items()}
    search = HalvingGridSearchCV(InOrder(stream.learner), values, **search_options(stream, seed))
    return searched_again(stream, search)


def randomized(stream, seed):
    """18 settings, drawn at random as the tuner draws its own."""
    drawn = {}
    for name, (kind, low, high) in stream.space.items():
        distribution = loguniform(low, high) if kind == "log-real" else randint(low, high + 1)
        drawn[f"estimator__{name}"] = distribution
    learner = InOrder(stream.learner)
    search = RandomizedSearchCV(learner, drawn, n_iter=18, **search_options(stream, seed))
    return searched_again(stream, search)


def grid(stream):
    """Losses by batch of each setting, the mean of all together, and of what hindsight would do."""
    learners = [clone(stream.learner).set_params(**setting) for setting in stream.settings]
    X, y = stream.batches[0]
    weights = Weights.before(y, classifier=stream.classes is not None).joined(len(learners) - 1)
    each, together = [], []
    for i, (X, y) in enumerate(stream.batches):
        if i:
            told = [Answers(learner, X) for learner in learners]
            each.append([float(loss(one, X, y, stream.classes)) for one in told])
            mixture = Together(told, weights)
            together.append(float(loss(mixture, X, y, stream.classes)))
            weights = mixture.learnt(X, y).faded()
        for learner in learners:
            learn(learner, X, y, stream.classes)
    each = np.array(each)
    return {
        "fixed": each.mean(axis=0).tolist(),
        "together": float(np.mean(together)),
        "switched": switched(each),
    }


def switched(losses, n_switches=5):
    """Mean loss of the best sequence of settings that changes so often, by losses (n, m)."""
    total = np.zeros((n_switches + 1, losses.shape[1]))
    for row in losses:
        total[1:] = np.minimum(total[1:], total[:-1].min(axis=1, keepdims=True))
        total = total + row
    return float(total.min() / len(losses))


def competitors(stream, seed):
    """What is compared: functions by name, which return a mean loss, or what grid() does."""
    return {
        "grid": lambda: grid(stream),
        "no tuning": lambda: prequential(clone(stream.learner), stream),
        "OnlineTuner": lambda: tuned(stream, seed),
        "four challengers": lambda: tuned(stream, seed, n_challengers=4),
        "champion alone": lambda: tuned(stream, seed, serve="champion"),
        "random challengers": lambda: tuned(stream, seed, optimizer=RandomSearch()),
        "randomized search": lambda: randomized(stream, seed),
        "halving search": lambda: halving(stream, seed),
    }


# --- the study ------------------------------------------------------------------------------------


def run_all(names, n_seeds, store):
    """Mean losses by stream, seed and competitor; what the store has is not run again."""
    found = json.loads(store.read_text()) if store.exists() else {}
    for seed in range(n_seeds):
        for name in names:
            done = found.setdefault(f"{name}-{seed}", {})
            stream = STREAMS[name](seed)
            for who, run in competitors(stream, seed).items():
                if who not in done:
                    start = time.process_time()
                    done[who] = run()
                    done[f"seconds of {who}"] = time.process_time() - start
                    store.write_text(json.dumps(found))
    return found


def report(name, runs):
    """Lines of a table: mean losses, and differences to the best fixed setting, in percent."""
    each = np.array([run["grid"]["fixed"] for run in runs])
    best = each.mean(axis=0).argmin()
    fixed, tuner = each[:, best], np.array([run["OnlineTuner"] for run in runs])
    setting = ", ".join(
        f"{k.split('__')[-1]}={v:g}" for k, v in STREAMS[name](0).settings[best].items()
    )
    lines = [f"{name} (best fixed: {setting}; {len(runs)} seeds)"]
    rows = {"best fixed": fixed, "best fixed of each seed": each.min(axis=1)}
    rows["best with 5 switches"] = np.array([run["grid"]["switched"] for run in runs])
    rows["all 12 together"] = np.array([run["grid"]["together"] for run in runs])
    rows |= {who: np.array([run[who] for run in runs]) for who in COMPETITORS}
    for who, losses in rows.items():
        differences = f"{percent(losses, fixed):>16}   {percent(tuner, losses):>16}"
        lines.append(f"  {who:24} {losses.mean():8.4f}   {differences}")
    return lines


def percent(losses, reference):
    """Mean and standard error of paired differences, in percent of the mean reference."""
    difference = 100.0 * (losses - reference) / reference.mean()
    error = difference.std(ddof=1) / np.sqrt(len(difference)) if len(difference) > 1 else np.nan
    return f"{difference.mean():+6.1f} ± {error:.1f} %"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--streams", nargs="+", default=["judged"], help="judged, chosen-on, or names"
    )
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--store", type=Path, default=Path("online_tuner.json"))
    arguments = parser.parse_args()
    groups = {"judged": list(JUDGED), "chosen-on": list(CHOSEN_ON)}
    names = [name for given in arguments.streams for name in groups.get(given, [given])]
    with threadpool_limits(1), warnings.catch_warnings():
        # Challengers that diverge say so, and a small fold may lack classes or neighbours.
        warnings.simplefilter("ignore", FitFailedWarning)
        warnings.simplefilter("ignore", UserWarning)
        found = run_all(names, arguments.seeds, arguments.store)
    print(f"{'':26} {'loss':>8}   {'to best fixed':>16}   {'tuner to this':>16}")
    for name in names:
        print("\n".join(report(name, [found[f"{name}-{seed}"] for seed in range(arguments.seeds)])))


STREAMS = CHOSEN_ON | JUDGED
COMPETITORS = (
    "no tuning",
    "OnlineTuner",
    "four challengers",
    "champion alone",
    "random challengers",
    "randomized search",
    "halving search",
)

if __name__ == "__main__":
    main()
