"""The sampler for Optuna beside Optuna's own, on the papers' moving problems.

    python benchmarks/papers/optuna_samplers.py --trials 200 --seeds 3

One trial per second, the time of a trial is its number, and the horizon of the function is the
number of trials. Average regret from the sixteenth trial on. Optuna's sampler with a Gaussian
process needs torch: see requirements-peers.txt.
"""

import argparse
import warnings

import numpy as np
import optuna
from arena import PAPERS_PROBLEMS
from optuna.samplers import CmaEsSampler, GPSampler, TPESampler

from sktvbo import problems
from sktvbo.integrations.optuna import TimeVaryingSampler

N_INITIAL = 15
SYNTHETIC = [name for name in PAPERS_PROBLEMS if name != "temperature-field"]


def sampler(name, seed):
    """A sampler by name."""
    theirs = {"TPE": TPESampler, "CMA-ES": CmaEsSampler, "GP": GPSampler}
    if name in theirs:
        return theirs[name](seed=seed)
    return TimeVaryingSampler(name, time="number", seed=seed)


def regret(name, problem_name, n_trials, seed):
    """Average regret of a study."""
    problem = problems.make(problem_name, noise=0.05, horizon=float(n_trials))
    problem.seed(seed)
    box, regrets = problem.domain, []

    def objective(trial):
        ranges = zip(box.lower, box.upper)
        x = np.array([trial.suggest_float(f"x{i}", *ends) for i, ends in enumerate(ranges)])
        t = float(trial.number)
        regrets.append(problem.optimum(t)[1] - problem.value(x, t))
        return problem.observe(x, t)

    study = optuna.create_study(direction="maximize", sampler=sampler(name, seed))
    study.optimize(objective, n_trials=n_trials)
    return np.mean(regrets[N_INITIAL:])


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--trials", type=int, default=200)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--samplers", nargs="+", default=["W-DBO", "TPE", "CMA-ES", "GP"])
    parser.add_argument("--problems", nargs="+", default=SYNTHETIC)
    arguments = parser.parse_args()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.filterwarnings("ignore", category=optuna.exceptions.ExperimentalWarning)
    print(f"{'':18}" + "".join(f"{name:>10}" for name in arguments.samplers) + "   best")
    n_best = 0
    for problem in arguments.problems:
        means = [
            np.mean(
                [regret(name, problem, arguments.trials, seed) for seed in range(arguments.seeds)]
            )
            for name in arguments.samplers
        ]
        best = int(np.argmin(means))
        n_best += best == 0
        numbers = "".join(f"{mean:10.4g}" for mean in means)
        print(f"{problem:18}{numbers}   {arguments.samplers[best]}", flush=True)
    print(f"{arguments.samplers[0]} is best on {n_best} of {len(arguments.problems)}")


if __name__ == "__main__":
    main()
