"""
=======================
Looking at a comparison
=======================

Tables say which algorithm was better; plots show why. The displays of :mod:`sktvbo.plotting` draw
the records of runs: regrets over all problems, sizes of the data sets, relevancies of observations.
"""

# %%
# Two problems, three algorithms, and a second of thinking for each query. To be quick,
# hyperparameters are searched at every fifth observation only.

import matplotlib.pyplot as plt

from sktvbo import GPUCB, WDBO, RandomSearch, evaluation, problems
from sktvbo.plotting import ComparisonDisplay, DatasetSizeDisplay, RelevancyDisplay

camel = problems.make("six-hump-camel", horizon=80.0)
eggholder = problems.make("eggholder", horizon=80.0)
comparison = evaluation.compare(
    {"W-DBO": WDBO(refit_every=5), "GP-UCB": GPUCB(refit_every=5), "random search": RandomSearch()},
    [camel, eggholder],
    n_replications=3,
    clock=evaluation.SimulatedClock(response_time=lambda n: 1.0),
    n_jobs=2,
    keep_optimizers=True,
)

# %%
# Over all problems
# -----------------
# On each problem the best average regret becomes 0 and the worst 1, so that problems of different
# scales can be averaged. The first group of bars is that average.

ComparisonDisplay.from_comparison(comparison).plot(by_problem=True)
plt.show()

# %%
# What is kept
# ------------
# GP-UCB and random search keep everything. W-DBO removes what no longer matters, which depends on
# the problem and not on the number of queries.

DatasetSizeDisplay.from_comparison(comparison, camel.name).plot()
plt.show()

# %%
# Why it is kept
# --------------
# The darker an observation, the more the predictions of the future would change without it.

run = comparison.results["W-DBO", camel.name][0]
RelevancyDisplay.from_optimizer(run.optimizer).plot()
plt.show()
