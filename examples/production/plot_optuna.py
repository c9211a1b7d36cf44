"""
===================
A sampler in Optuna
===================

A study whose best parameters move: Optuna's storages, dashboard and workers stay as they are,
and the sampler models time. Here a trial's time is its number; by default it is when the trial
started, and it may be a user attribute.
"""

import matplotlib.pyplot as plt
import numpy as np
import optuna

from sktvbo.integrations.optuna import TimeVaryingSampler

optuna.logging.set_verbosity(optuna.logging.WARNING)
samplers = {
    "W-DBO": TimeVaryingSampler("W-DBO", time="number", seed=0),
    "TPE": optuna.samplers.TPESampler(seed=0),
}


def best_input(t):
    return 5.0 + 3.0 * np.sin(t / 15.0)


def objective(trial):
    x = trial.suggest_float("x", 0.0, 10.0)
    return (x - best_input(trial.number)) ** 2


fig, ax = plt.subplots(layout="constrained")
for name, sampler in samplers.items():
    study = optuna.create_study(sampler=sampler)
    study.optimize(objective, n_trials=80)
    ax.plot([trial.params["x"] for trial in study.trials], ".", label=name)
    print(f"{name:5s} mean regret {np.mean([trial.value for trial in study.trials[20:]]):.2f}")
ax.plot(best_input(np.arange(80)), "k", label="best input")
ax.set(xlabel="trial", ylabel="x")
ax.legend()
plt.show()
