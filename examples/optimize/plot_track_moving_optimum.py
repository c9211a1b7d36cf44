"""
=========================
Tracking a moving optimum
=========================

A function changes while it is maximized. Old observations go stale: an optimizer that trusts them
is wrong, and one that keeps them slows down at every step. At every step W-DBO removes the
observations that matter least to predictions of the future.

Here it meets GP-UCB, whose model is static, on a parabola whose optimum moves to and fro.
"""

# %%
# The problem and the clock
# -------------------------
# Thinking takes four seconds of simulated time, whatever the machine: the papers' setting without
# the papers' laptop. With a :class:`~sktvbo.evaluation.WallClock` real time would pass.

import matplotlib.pyplot as plt
import numpy as np

from sktvbo import GPUCB, WDBO, RandomSearch, evaluation, problems
from sktvbo.plotting import PosteriorDisplay, RegretDisplay


def best(t):
    return 5.0 + 3.0 * np.sin(2.0 * np.pi * t / 300.0)


problem = problems.from_callable(
    lambda x, t: -((x[0] - best(t)) ** 2),
    [(0.0, 10.0)],
    horizon=600.0,
    optimum=lambda t: ([best(t)], 0.0),
    noise_variance=0.3**2,
    name="parabola",
)
comparison = evaluation.compare(
    {"W-DBO": WDBO(), "GP-UCB": GPUCB(), "random search": RandomSearch()},
    [problem],
    n_replications=5,
    clock=evaluation.SimulatedClock(response_time=lambda n: 4.0),
    n_jobs=2,
    keep_optimizers=True,
)

# %%
# How well they do
# ----------------
# In each replication all algorithms start from the same observations. The regret is the gap between
# a query's value and the best value available at that moment.

print(comparison)
RegretDisplay.from_comparison(comparison).plot()
plt.show()

# %%
# A mean of few runs hides how different they are:

for name in comparison.algorithms:
    runs = comparison.results[name, problem.name]
    print(f"{name:14s}", *(f"{run.average_regret:6.2f}" for run in runs))

# %%
# What each of them predicts
# --------------------------
# We look at the replication that was the worst for GP-UCB. The colour is the posterior mean over
# time and space, as the optimizer sees it *now*, at :math:`t_0`, the end of the run. Red dots are
# observations in the data set, black crosses those that have been removed, and the cyan curve is
# where the function is truly best.

worst = np.argmax([run.average_regret for run in comparison.results["GP-UCB", problem.name]])
for name in ("W-DBO", "GP-UCB"):
    run = comparison.results[name, problem.name][worst]
    display = PosteriorDisplay.from_run(run.optimizer, problem).plot()
    display.ax_.set_title(f"{name}, average regret {run.average_regret:.2f}", pad=28)
plt.show()

# %%
# The queries of W-DBO follow the optimum, and most old observations are removed. GP-UCB
# has no model of time, so its picture is the same from left to right: observations of different
# times contradict each other, and the difference is taken for noise.
#
# What a step costs
# -----------------
# A refit costs O(n³) in the size of the data set. That of GP-UCB holds everything and grows with
# every step; that of W-DBO follows the function and not the length of the run. In a run as short as
# this one either takes milliseconds.

for row in comparison.summary():
    print(
        f"{row['algorithm']:14s} {row['dataset_size']:5.0f} observations, "
        f"{1e3 * row['response_time']:5.1f} ms a step"
    )
