"""
=======================================
Tuning a classifier on a drifting world
=======================================

How much of the past should a classifier be trained on? As much as possible while the world stands
still, and little when it changes: old examples are wrong then. In this example the pace of change
has seasons, so the best hyperparameters move. An optimizer tunes them while the work goes on, at
one fit a day, against the best setting that never changes, which only hindsight knows.
"""

# %%
# The stream
# ----------
# Parcels are sorted by a handwritten digit to ten destinations, 200 a day. Scans are poor: noise is
# added to the images of :func:`sklearn.datasets.load_digits`. Now and then two digits swap their
# destinations, which the classifier is not told: in the calm season once in many months, in the
# busy one several times a day. The correct destinations of a day's parcels are known in the
# evening.
#
# No image occurs twice within eight days, so none is both in the training set and in the test set.

import matplotlib.pyplot as plt
import numpy as np
from joblib import Parallel, delayed
from scipy.ndimage import uniform_filter1d
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.datasets import load_digits
from sklearn.neighbors import KNeighborsClassifier
from threadpoolctl import threadpool_limits

from sktvbo import ETGPUCB, GPUCB, TVGPUCB, WDBO, RandomSearch

PER_DAY, PAST_DAYS = 200, 7
CALM, BUSY = 0.005, 4.0  # swaps a day


def swaps_a_day(day, n_days):
    """From calm to busy and back, smoothly."""
    season = 0.5 - 0.5 * np.cos(2.0 * np.pi * day / n_days)
    return CALM * (BUSY / CALM) ** season


def make_stream(n_days, seed):
    """Images (n, 64) and destinations (n,); the first PAST_DAYS come before day 0."""
    rng = np.random.RandomState(seed)
    images, digits = load_digits(return_X_y=True)
    days = np.arange(-PAST_DAYS, n_days)
    order = np.resize(rng.permutation(len(images)), len(days) * PER_DAY)
    X = images[order] / 16.0 + 0.3 * rng.normal(size=(len(order), 64))
    destination, y = rng.permutation(10), []
    for day, today in zip(days, np.split(digits[order], len(days))):
        for _ in range(rng.poisson(swaps_a_day(day, n_days))):
            pair = rng.choice(10, size=2, replace=False)
            destination[pair] = destination[pair[::-1]]
        y.append(destination[today])
    return X, np.concatenate(y)


# %%
# The model and its parameters
# ----------------------------
# The model is nearest neighbours among the latest ``n_rows`` examples. It is fitted once a day.
# Each morning the optimizer returns the parameters, and the model is fitted to the past. In the
# evening the program tells the accuracy on the day's parcels, which is noisy by some 3 %.


class Recent(MetaEstimatorMixin, ClassifierMixin, BaseEstimator):
    """A classifier that is trained on the latest rows only."""

    def __init__(self, estimator, n_rows=200):
        self.estimator = estimator
        self.n_rows = n_rows

    def fit(self, X, y):
        n = round(self.n_rows)
        self.estimator_ = clone(self.estimator).fit(X[-n:], y[-n:])
        self.classes_ = self.estimator_.classes_
        return self

    def predict(self, X):
        return self.estimator_.predict(X)


model = Recent(KNeighborsClassifier(algorithm="brute"))
domain = {
    "n_rows": ("log-real", 50, PAST_DAYS * PER_DAY),
    "estimator__n_neighbors": ("integer", 1, 20),
}


def accuracy(params, stream, day):
    """Trained on what was known in the morning, scored on the day's parcels."""
    X, y = stream
    morning = (day + PAST_DAYS) * PER_DAY
    today = slice(morning, morning + PER_DAY)
    return clone(model).set_params(**params).fit(X[:morning], y[:morning]).score(X[today], y[today])


def tune(optimizer, stream, n_days):
    """Accuracy of each day, and the parameters that were asked for."""
    scores, asked = [], []
    for day in range(n_days):
        params = optimizer.ask(day)
        score = accuracy(params, stream, day)
        optimizer.tell(params, score)
        scores.append(score)
        asked.append(params)
    return np.array(scores), asked


# %%
# Optimizers and baselines
# ------------------------
# The optimizers return one setting a day. The baselines run each setting of a grid through all
# streams:
#
# - the *best fixed* setting is the one with the best average over all streams and days;
# - *tuned once* needs neither hindsight nor an optimizer: in each stream it keeps the setting that
#   is best over the first 20 days. Its days count from the first, to its advantage, and it costs a
#   fit of each setting on each of the 20 days;
# - the *oracle* changes its setting every day, to the one that is best over the eleven days around
#   the day in the average over streams. All streams have the same seasons, but different parcels
#   and swaps, so the oracle uses the season and hardly the chance events of a stream.
#
# The oracle's lead over the best fixed setting is the possible gain. It would be zero if the
# optimum did not move.

grid = [
    {"n_rows": n_rows, "estimator__n_neighbors": k}
    for n_rows in (50, 100, 200, 400, 800, 1400)
    for k in (3, 16)
]
optimizers = {
    "W-DBO": WDBO(domain, n_initial_points=10),
    "TV-GP-UCB": TVGPUCB(domain, n_initial_points=10),
    "ET-GP-UCB": ETGPUCB(domain, n_initial_points=10),
    "GP-UCB": GPUCB(domain, n_initial_points=10),
    "random search": RandomSearch(domain),
}


def run_stream(seed, n_days):
    stream = make_stream(n_days, seed)
    with threadpool_limits(1):  # the matrices are small: threads would wait
        fixed = [[accuracy(params, stream, day) for day in range(n_days)] for params in grid]
        tuned = {
            name: tune(clone(optimizer).set_params(random_state=seed), stream, n_days)
            for name, optimizer in optimizers.items()
        }
    return np.array(fixed), tuned


def hindsight(fixed):
    """Best fixed setting, tuned once in each stream, oracle of each day: positions in the grid.

    ``fixed`` holds the accuracies (streams, settings, days) of the grid.
    """
    smooth = uniform_filter1d(fixed.mean(axis=0), 11, axis=1, mode="nearest")
    once = fixed[:, :, :20].mean(axis=2).argmax(axis=1)
    return fixed.mean(axis=(0, 2)).argmax(), once, smooth.argmax(axis=0)


def study(n_days, n_streams, n_jobs):
    """Accuracies (streams, days) of everybody, those of the grid, and the settings."""
    runs = Parallel(n_jobs)(delayed(run_stream)(seed, n_days) for seed in range(n_streams))
    fixed = np.array([run[0] for run in runs])
    best, once, oracle = hindsight(fixed)
    accuracies = {
        "oracle": fixed[:, oracle, np.arange(n_days)],
        "best fixed": fixed[:, best],
        "tuned once": fixed[np.arange(n_streams), once],
    }
    for name in optimizers:
        accuracies[name] = np.array([run[1][name][0] for run in runs])
    asked = {name: [run[1][name][1] for run in runs] for name in optimizers}
    return accuracies, fixed, [grid[best], [grid[i] for i in oracle], asked]


# Small when a test runs this file.
n_days, n_streams, n_jobs = (100, 4, 2) if __name__ == "__main__" else (30, 2, 1)
accuracies, fixed, (best_params, oracle_params, asked) = study(n_days, n_streams, n_jobs)

# %%
# The result
# ----------
# The table has the mean accuracy over *all* days, including the optimizers' ten random first ones,
# and the difference from the best fixed setting, paired by stream. Errors are standard errors over
# the streams.


def mean_and_error(values):
    return f"{np.mean(values):.3f} ± {np.std(values, ddof=1) / np.sqrt(len(values)):.3f}"


print(f"{n_streams} streams of {n_days} days; best fixed: {best_params}")
print(f"{'':14s} {'accuracy':>15s} {'against best fixed':>20s}")
reference = accuracies["best fixed"].mean(axis=1)
for name, by_day in accuracies.items():
    means = by_day.mean(axis=1)
    difference = "" if name == "best fixed" else mean_and_error(means - reference)
    print(f"{name:14s} {mean_and_error(means):>15s} {difference:>20s}")

# %%
# The optimum does move: the oracle is ahead of the best fixed setting by several standard errors.
# But no optimizer beats that setting. All are ahead of random search, and the differences between
# them are within their errors. Tracking costs more here than it can gain: a day has a single
# query, its answer is noisy, and a medium setting does well in most seasons. In practice that
# setting is not known in advance. Tuning once, with more than twice the fits, is below it by more
# than 2 % of accuracy.
#
# The picture
# -----------
# Left, accuracy, averaged over streams and eleven days. Right, the number of rows that the model is
# trained on: the geometric mean over streams and eleven days of W-DBO's choices, and the choices of
# hindsight. W-DBO uses fewer rows in the busy season than in the calm ones, but fewer than the
# oracle in the calm ones. Its accuracy is below that of the best fixed setting while it begins, and
# close to it from day 20 on.

figure, (left, right) = plt.subplots(1, 2, figsize=(10.6, 4.2), layout="constrained")
colours = {"oracle": "black", "best fixed": "#D55E00", "W-DBO": "#0072B2"}


def smoothed(values):
    return uniform_filter1d(np.mean(values, axis=0), 11, mode="nearest")


for name, colour in colours.items():
    left.plot(smoothed(accuracies[name]), color=colour, label=name)
left.set(xlabel="day", ylabel="accuracy")
log_rows = np.log([[params["n_rows"] for params in run] for run in asked["W-DBO"]])
right.step(range(n_days), [params["n_rows"] for params in oracle_params], color="black")
right.axhline(best_params["n_rows"], color=colours["best fixed"])
right.plot(np.exp(smoothed(log_rows)), color=colours["W-DBO"])
right.set(xlabel="day", ylabel="n_rows", yscale="log")
busy = right.twinx()
busy.fill_between(range(n_days), swaps_a_day(np.arange(n_days), n_days), color="0.85", zorder=0)
busy.set(ylabel="swaps a day (grey)", ylim=(0.0, 2.0 * BUSY))
right.set_zorder(busy.get_zorder() + 1)
right.patch.set_visible(False)
figure.legend(*left.get_legend_handles_labels(), loc="outside upper center", ncols=3, frameon=False)
plt.show()
