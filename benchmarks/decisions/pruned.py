"""Excess of Optuna studies with pruners, where intermediate values are noisy or say nothing.

    python benchmarks/decisions/pruned.py --seeds 4        # 5 minutes

A study has 60 trials of two parameters; the cell is the mean excess of the last 30 over the best
value, for each seed, and the number of complete trials. Losses fall at a rate that differs between
trials, with noise of 0.1 at each of 8 steps. Accuracies are at chance level in the first 3 steps.
"""

import argparse
import warnings

import numpy as np
import optuna
from optuna.pruners import MedianPruner, NopPruner, SuccessiveHalvingPruner
from optuna.trial import TrialState

from sktvbo.integrations.optuna import TimeVaryingSampler

N_TRIALS, N_LAST = 60, 30
PRUNERS = {"none": NopPruner, "median": MedianPruner, "halving": SuccessiveHalvingPruner}


def excess(params):
    return (params["x"] - 0.3) ** 2 + (params["y"] - 0.7) ** 2


def loss(v, rng):
    """Yield a loss after each step, and the final one."""
    rate = rng.uniform(0.5, 1.5)
    for k in range(1, 9):
        yield v + 3.0 * np.exp(-rate * k) + 0.1 * rng.normal()
    yield v + 0.03 * rng.normal()


def accuracy(v, rng):
    """Yield an accuracy after each step, and the final one."""
    final = 0.95 - 0.45 * min(3.0 * v, 1.0)
    for k in range(1, 9):
        yield 0.5 + (final - 0.5) * max(k - 3, 0) / 5.0 + 0.02 * rng.normal()
    yield final + 0.01 * rng.normal()


CURVES = {"loss": (loss, "minimize"), "accuracy": (accuracy, "maximize")}


def run(name, pruner, seed):
    """Return the mean excess of the last trials, and the number of complete ones."""
    (curve, direction), rng = CURVES[name], np.random.default_rng(seed)
    sampler = TimeVaryingSampler("W-DBO", time="number", seed=seed)
    study = optuna.create_study(sampler=sampler, pruner=PRUNERS[pruner](), direction=direction)

    def objective(trial):
        params = {key: trial.suggest_float(key, 0.0, 1.0) for key in "xy"}
        *values, final = curve(excess(params), rng)
        for k, value in enumerate(values, 1):
            trial.report(value, k)
            if trial.should_prune():
                raise optuna.TrialPruned
        return final

    study.optimize(objective, n_trials=N_TRIALS)
    mean = np.mean([excess(trial.params) for trial in study.trials[-N_LAST:]])
    return mean, sum(trial.state == TrialState.COMPLETE for trial in study.trials)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--curves", nargs="+", choices=CURVES, default=list(CURVES))
    parser.add_argument("--pruners", nargs="+", choices=PRUNERS, default=list(PRUNERS))
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    for name in arguments.curves:
        for pruner in arguments.pruners:
            runs = [run(name, pruner, seed) for seed in range(arguments.seeds)]
            means, n_complete = np.transpose(runs)
            cells = " ".join(f"{mean:.4f}" for mean in means)
            print(f"{name:10}{pruner:10}{means.mean():.4f}   {cells}   {n_complete.mean():.0f}")


if __name__ == "__main__":
    main()
