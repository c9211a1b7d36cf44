"""
========================================
A learner on a stream that tunes itself
========================================

How much of the past should be learnt from? All of it while the world stands still, and little when
it moves fast. Here the pace has seasons, so no fixed window is right.
:class:`~sktvbo.model_selection.OnlineTuner` moves the window while the stream goes on: a champion
and eleven challengers with other windows learn side by side and predict together, by an average
whose weights are learnt, and a challenger that has been better on the same rows leads.
"""

# %%
# The stream
# ----------
# A linear function of eight features whose weights take a random walk: slowly in the calm season,
# fast in the busy one. Fifty rows a batch; each batch is predicted before it is learnt.

import matplotlib.pyplot as plt
import numpy as np
from scipy.ndimage import uniform_filter1d
from sklearn.base import clone
from sklearn.linear_model import Ridge
from threadpoolctl import threadpool_limits

from sktvbo.model_selection import OnlineTuner, Windowed
from sktvbo.plotting import TuningDisplay


def paces(n_batches):
    """Two seasons of change: calm, busy, calm, busy, calm."""
    season = 0.5 - 0.5 * np.cos(4.0 * np.pi * np.arange(n_batches) / n_batches)
    return 0.003 * (0.8 / 0.003) ** season


def make_stream(n_batches, seed=0, size=50, dim=8):
    rng = np.random.RandomState(seed)
    w, batches = rng.normal(size=dim), []
    for pace in paces(n_batches):
        X = rng.normal(size=(size, dim))
        batches.append((X, X @ w + rng.normal(size=size)))
        w = (w + pace * rng.normal(size=dim)) / np.sqrt(1.0 + pace**2)
    return batches


# Small when a test runs this file.
n_batches = 160 if __name__ == "__main__" else 30
stream = make_stream(n_batches)

# %%
# The learner, and what is tuned
# ------------------------------
# Any estimator becomes a learner on a stream in a window of its latest rows
# (:class:`~sktvbo.model_selection.Windowed`). Window and penalty are tuned together, both on a
# logarithmic scale. The estimator's own setting is what the champion begins with.

learner = Windowed(Ridge(alpha=1.0), window=200, memory=1000)
space = {
    "window": ("log-real", 25, 1000),
    "estimator__alpha": ("log-real", 0.01, 100.0),
}
tuner = OnlineTuner(learner, space, random_state=0)


def losses(model):
    """Mean squared error of each batch but the first, which is only learnt."""
    found = []
    for i, (X, y) in enumerate(stream):
        if i:
            found.append(np.mean((model.predict(X) - y) ** 2))
        model.partial_fit(X, y)
    return np.array(found)


# %%
# The comparison is with every window of a grid that never changes, the best of which only hindsight
# knows, and with the setting that the tuner began with.

windows = (25, 50, 100, 200, 400, 1000)
with threadpool_limits(1):  # the matrices are small: threads would wait
    fixed = {w: losses(clone(learner).set_params(window=w)) for w in windows}
    tuned = losses(tuner)
best = min(windows, key=lambda w: fixed[w].mean())

print("mean squared error, of which 1 is noise")
for w in windows:
    print(f"  window {w:4d}    {fixed[w].mean():.3f}{'   best in hindsight' * (w == best)}")
print(f"  OnlineTuner    {tuned.mean():.3f}")

# %%
# The picture
# -----------
# Above, what was tried and what served. Blue points were better than the champion on the same rows,
# red ones worse: in the calm seasons the long windows are blue, in the busy ones (grey) the short.
# Below, the error, averaged over eleven batches.

figure, (above, below) = plt.subplots(2, 1, figsize=(8.4, 7.2), sharex=True, layout="constrained")
TuningDisplay.from_estimator(tuner).plot(above)

rows = 50 * np.arange(1, n_batches)


def smoothed(values):
    return uniform_filter1d(values, 11, mode="nearest")


below.plot(rows, smoothed(fixed[windows[0]]), color="#E69F00", lw=1, label=f"window {windows[0]}")
below.plot(rows, smoothed(fixed[windows[-1]]), color="#009E73", lw=1, label=f"window {windows[-1]}")
below.plot(rows, smoothed(fixed[best]), color="#D55E00", label=f"window {best}, best in hindsight")
below.plot(rows, smoothed(tuned), color="black", lw=1.8, label="OnlineTuner")
below.set(xlabel="rows of the stream", ylabel="squared error", yscale="log")
below.legend(ncols=2, frameon=False)
above.set_xlabel("")
for ax in (above, below):
    pace = ax.twinx()
    pace.fill_between(50 * np.arange(n_batches), paces(n_batches), color="0.9", linewidth=0)
    pace.set(ylim=(0.0, 0.9), yticks=[])
    pace.set_zorder(ax.get_zorder() - 1)
    ax.patch.set_visible(False)
plt.show()
