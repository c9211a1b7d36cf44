"""
=======================================
How much to forget: a grid search for α
=======================================

W-DBO has one hyperparameter, α: how much forgetting may change the predictions, per temporal
lengthscale. With too little forgetting the data set grows, thinking takes longer, and the optimum
has moved by the time of the answer. With too much the model lacks data.

W-DBO figure 1 shows the average regret against α. Here that study is a grid search:
:class:`~sktvbo.model_selection.OnlineRun` makes an estimator of an optimizer, whose samples are
problems and whose score is minus the average regret.
"""

# %%
# Problems and a clock
# --------------------
# Three synthetic problems. The clock charges for thinking: one second, and more as the data set
# grows, four seconds for 26 observations, twelve for 50. On a real clock the curve would depend on
# the machine, and two jobs in parallel would slow each other down.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import GridSearchCV, LeaveOneOut

from sktvbo import WDBO, evaluation, problems
from sktvbo.model_selection import OnlineRun

names = ["ackley", "six-hump-camel", "six-hump-camel-switched"]
clock = evaluation.SimulatedClock(response_time=lambda n: 1.0 + (n / 15.0) ** 2)

# %%
# The search
# ----------
# Regrets on different problems have different scales, so each is divided by what uniform queries
# would get there. With one problem left out at a time, every test score belongs to one problem.
#
# To pick a value, ``n_replications=5`` and ``search.best_params_`` would do. For the standard
# errors we want to see the replications one by one: their seeds are a second axis of the grid.

alphas = [0.02, 0.25, 1.0, 4.0]
seeds = range(3)
search = GridSearchCV(
    OnlineRun(WDBO(), clock=clock, normalize="random"),
    {"optimizer__alpha": alphas, "random_state": seeds},
    cv=LeaveOneOut(),
    n_jobs=2,
    refit=False,
    error_score="raise",
).fit([problems.make(name) for name in names])

scores = [search.cv_results_[f"split{i}_test_score"] for i in range(len(names))]
regrets = -np.reshape(scores, (len(names), len(alphas), len(seeds)))


def mean_and_error(values):
    """Mean over the last axis, and its standard error."""
    return values.mean(axis=-1), values.std(axis=-1, ddof=1) / np.sqrt(values.shape[-1])


means, errors = mean_and_error(regrets)
print(f"{'alpha':24s}", *(f"{alpha:13g}" for alpha in alphas))
for name, mean, error in zip(names, means, errors):
    print(f"{name:24s}", *(f"{m:6.3f} ± {e:.3f}" for m, e in zip(mean, error)))

# %%
# The picture
# -----------
# On the right, as in the paper, each problem's mean regrets are scaled so that the best α gets 0
# and the worst gets 1, and then averaged over the problems. That scaling hides how large the
# differences are, and whether they are more than chance; the left side shows it.

scaled = (means - means.min(axis=1, keepdims=True)) / np.ptp(means, axis=1, keepdims=True)
overall, overall_error = mean_and_error(scaled.T)

figure, (left, right) = plt.subplots(1, 2, figsize=(10.0, 4.4), layout="constrained")
colors = ["#0072B2", "#D55E00", "#009E73"]
for i, (name, color) in enumerate(zip(names, colors)):
    shifted = np.array(alphas) * 1.05 ** (i - 1.0)  # so that the bars do not overlap
    left.errorbar(shifted, means[i], errors[i], fmt="o-", capsize=3, color=color, label=name)
    right.plot(alphas, scaled[i], color=color, alpha=0.4)
right.plot(alphas, overall, "o-", color="black", label="mean of the problems, ± s.e.")
right.fill_between(
    alphas, overall - overall_error, overall + overall_error, color="black", alpha=0.15, linewidth=0
)
left.set(ylabel="average regret / that of random queries", ylim=(0.0, 1.05))
right.set(ylabel="average regret, 0 best to 1 worst α")
for ax in (left, right):
    ax.set(xscale="log", xlabel="α")
    ax.set_xticks(alphas, [f"{alpha:g}" for alpha in alphas])
    ax.minorticks_off()
    ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2, frameon=False)
plt.show()

# %%
# What it says, and what it does not
# ----------------------------------
# On average over the problems there is a valley: one of the two middle values of α has the lowest
# regret. Three replications do not tell which; the paper finds its best α at 1/4. On the switched
# camel, where the old function must be forgotten, α = 1 is better than the smallest α by more than
# the error bars.
#
# So the best α depends on the problem and on the cost of thinking. Use your own problem, your own
# response time and more replications.
