"""Regret of W-DBO with a limit on the step length, a tenth of each range.

    python benchmarks/decisions/step_limit.py --seeds 5      # four problems that drift: 3 minutes

One query per unit of time; the average regret is that after 30 queries.
"""

import argparse

import numpy as np

from sktvbo import WDBO
from sktvbo.problems import make

PROBLEMS = ["rastrigin", "ackley", "shekel", "moving-bump"]


def run(name, max_step, seed, n_steps):
    """Return the average regret, and the longest step in units of the ranges."""
    problem = make(name, horizon=600.0, random_state=seed)
    optimizer = WDBO(problem.domain, max_step=max_step, random_state=seed)
    regrets, X = [], []
    for t in np.linspace(0.0, problem.horizon, n_steps):
        x = optimizer.ask(t)
        optimizer.tell(x, problem.observe(x, t))
        regrets.append(problem.optimum(t)[1] - problem.value(x, t))
        X.append(x)
    return np.mean(regrets[30:]), np.abs(np.diff(problem.domain.to_unit(X), axis=0)).max()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--problems", nargs="+", default=PROBLEMS)
    arguments = parser.parse_args()
    print(f"{'problem':16s}{'free':>10s}{'limited':>10s}{'ratio':>8s}{'longest step':>14s}")
    for name in arguments.problems:
        (free, _), (limited, longest) = (
            np.transpose([run(name, limit, s, arguments.steps) for s in range(arguments.seeds)])
            for limit in (None, 0.1)
        )
        means = np.mean(free), np.mean(limited), np.mean(limited) / np.mean(free)
        print(f"{name:16s}{means[0]:10.4f}{means[1]:10.4f}{means[2]:8.2f}{longest.max():14.9f}")


if __name__ == "__main__":
    main()
