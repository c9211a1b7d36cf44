"""
=========================
Tracking a moving optimum
=========================

A function changes while it is maximized, and old observations become stale. A static model trusts
them, and a model that keeps all of them slows down at every step. At every step W-DBO removes the
observations that matter least to predictions of the future.

This example compares it with GP-UCB, whose model is static, on a parabola whose optimum moves to
and fro.
"""

# %%
# The problem and the clock
# -------------------------
# As in the papers, each query takes four seconds. Here the time is simulated, so that it does not
# depend on the machine. With a :class:`~sktvbo.evaluation.WallClock` it is real time.

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
# Regret
# ------
# In each replication all algorithms start from the same observations. The regret is the gap between
# a query's value and the best value available at that moment.

print(comparison)
RegretDisplay.from_comparison(comparison).plot()
plt.show()

# %%
# The regrets of the single runs:

for name in comparison.algorithms:
    runs = comparison.results[name, problem.name]
    print(f"{name:14s}", *(f"{run.average_regret:6.2f}" for run in runs))

# %%
# Predictions of each algorithm
# -----------------------------
# The plots show the replication that was the worst for GP-UCB. The colour is the posterior mean
# over time and x, computed at the end of the run, :math:`t_0`. Red dots are observations in the
# data set, black crosses are removed ones, and the cyan curve is the true optimum.

worst = np.argmax([run.average_regret for run in comparison.results["GP-UCB", problem.name]])
for name in ("W-DBO", "GP-UCB"):
    run = comparison.results[name, problem.name][worst]
    display = PosteriorDisplay.from_run(run.optimizer, problem).plot()
    display.ax_.set_title(f"{name}, average regret {run.average_regret:.2f}", pad=28)
plt.show()

# %%
# The queries of W-DBO follow the optimum, and most old observations are removed. GP-UCB
# has no model of time, so its prediction is the same at all times: observations of different
# times contradict each other, and the model explains the difference as noise.
#
# Cost of a step
# --------------
# A refit takes O(n³) in the size of the data set. The data set of GP-UCB grows with every step. The
# size of W-DBO's depends on the function and not on the length of the run. In a run as short as
# this one a step of either takes milliseconds.

for row in comparison.summary():
    print(
        f"{row['algorithm']:14s} {row['dataset_size']:5.0f} observations, "
        f"{1e3 * row['response_time']:5.1f} ms a step"
    )
