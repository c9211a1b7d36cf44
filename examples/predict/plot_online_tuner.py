"""
========================================
A learner on a stream that tunes itself
========================================

On a drifting stream, old rows help while the drift is slow, and harm when it is fast. Here its pace
has seasons, so that no fixed window is best throughout.
:class:`~sktvbo.model_selection.OnlineTuner` trains twelve learners with different windows side by
side. It predicts their weighted average, and the weights follow the losses on the latest rows.
"""

# %%
# The stream
# ----------
# The target is a linear function of eight features. Its weights take a random walk, slowly in the
# calm season and fast in the busy one. A batch has fifty rows, and is predicted before it is
# learnt.

import matplotlib.pyplot as plt
import numpy as np
from scipy.ndimage import uniform_filter1d
from sklearn.base import clone
from sklearn.linear_model import Ridge
from threadpoolctl import threadpool_limits

from sktvbo.model_selection import OnlineTuner


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
# The learner and the space
# -------------------------
# Ridge regression is refitted to a window of the latest rows. Window and penalty are tuned
# together, both on a logarithmic scale.

learner = Ridge(alpha=1.0)
space = {"window": ("log-real", 25, 1000), "alpha": ("log-real", 0.01, 100.0)}
tuner = OnlineTuner(learner, space, window=200, random_state=0)

losses, windows = [], []
with threadpool_limits(1):  # the matrices are small, and threads would wait for each other
    for i, (X, y) in enumerate(stream):
        if i:
            losses.append(np.mean((tuner.predict(X) - y) ** 2))
        tuner.partial_fit(X, y)
        windows.append(tuner.weights_ @ [setting["window"] for setting in tuner.settings_])
tuned = np.array(losses)

# %%
# The comparison is with windows that never change. The best of them is known only in hindsight.


def losses_of_window(window):
    """Mean squared error of each batch but the first, which is only learnt."""
    X, y = map(np.concatenate, zip(*stream))
    found = []
    for start in range(50, len(y), 50):
        past, batch = slice(max(start - window, 0), start), slice(start, start + 50)
        model = clone(learner).fit(X[past], y[past])
        found.append(np.mean((model.predict(X[batch]) - y[batch]) ** 2))
    return np.array(found)


with threadpool_limits(1):
    fixed = {window: losses_of_window(window) for window in (25, 50, 100, 200, 400, 1000)}
best = min(fixed, key=lambda window: fixed[window].mean())

print("mean squared error, with a noise variance of 1")
for window in fixed:
    print(f"  window {window:4d}    {fixed[window].mean():.3f}{'   the best' * (window == best)}")
print(f"  OnlineTuner    {tuned.mean():.3f}")

# %%
# The picture
# -----------
# Above, the weighted mean of the windows: long in the calm seasons, short in the busy ones (grey).
# Below, the error, averaged over eleven batches.

figure, (above, below) = plt.subplots(2, 1, figsize=(8.4, 7.2), sharex=True, layout="constrained")
rows = 50 * np.arange(1, n_batches)
above.plot(rows, windows[1:], color="black", lw=1.8)
above.set(ylabel="mean window", yscale="log")


def smoothed(values):
    return uniform_filter1d(values, 11, mode="nearest")


for window, colour in ((25, "#E69F00"), (1000, "#009E73"), (best, "#D55E00")):
    label = f"window {window}{', the best' * (window == best)}"
    below.plot(rows, smoothed(fixed[window]), color=colour, lw=1, label=label)
below.plot(rows, smoothed(tuned), color="black", lw=1.8, label="OnlineTuner")
below.set(xlabel="rows of the stream", ylabel="squared error", yscale="log")
below.legend(ncols=2, frameon=False)
for ax in (above, below):
    pace = ax.twinx()
    pace.fill_between(50 * np.arange(n_batches), paces(n_batches), color="0.9", linewidth=0)
    pace.set(ylim=(0.0, 0.9), yticks=[])
    pace.set_zorder(ax.get_zorder() - 1)
    ax.patch.set_visible(False)
plt.show()
