"""
=================================================
How long a window? Sensitivity curves of a search
=================================================

SW-GP-UCB keeps the latest observations, a window. How many are best depends on how fast the optimum
moves, which a grid search shows. Problems are its samples, and the score is minus the average
regret. W-DBO, the dashed line, has no window to be tuned.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import GridSearchCV, PredefinedSplit

from sktvbo import SWGPUCB, WDBO, problems
from sktvbo.model_selection import OnlineRun


def walk(period):
    """Return a problem whose optimum moves to and fro in a number of steps."""
    best = lambda t: 0.5 + 0.3 * np.sin(2.0 * np.pi * t / period)  # noqa: E731
    return problems.from_callable(
        lambda x, t: -((x[0] - best(t)) ** 2),
        [(0.0, 1.0)],
        horizon=120.0,
        optimum=lambda t: ([best(t)], 0.0),
        noise_variance=1e-3,
        name=f"period {period}",
    )


periods, windows = (50, 2000), [4, 8, 16, 32, 64]
samples = [walk(period) for period in periods]
each = PredefinedSplit([0, 1])  # a score for each problem


def regrets(optimizer, grid):
    """Return the average regret of each combination on each problem, of shape (n, 2)."""
    run = OnlineRun(optimizer, n_replications=6, random_state=0, normalize="random")
    found = GridSearchCV(run, grid, cv=each, refit=False, n_jobs=2).fit(samples).cv_results_
    return -np.column_stack([found["split0_test_score"], found["split1_test_score"]])


curves = regrets(SWGPUCB(refit_every=20), {"optimizer__window": windows})
untuned = regrets(WDBO(), {"optimizer__alpha": [0.25]})[0]
figure, ax = plt.subplots(figsize=(7.0, 4.0), layout="constrained")
for i, (problem, curve) in enumerate(zip(samples, curves.T)):
    best = windows[np.argmin(curve)]
    print(f"{problem.name}: best window {best}, regret {curve.min():.2f}; W-DBO {untuned[i]:.2f}")
    ax.plot(windows, curve, "o-", color=f"C{i}", label=f"{problem.name} steps")
    ax.axhline(untuned[i], color=f"C{i}", linestyle="dashed", label=f"W-DBO, {problem.name} steps")
ax.set(xscale="log", ylim=(0.0, None), xlabel="window", ylabel="regret / random search's")
ax.set_xticks(windows, windows)
ax.minorticks_off()
ax.legend()
plt.show()
