"""What it costs to go no farther than a tenth of each range at once.

    python benchmarks/caution.py                # four problems that drift, 5 seeds: 3 minutes

W-DBO, one query a unit of time. The regret is that after 30 queries.
"""

import argparse

import numpy as np

from sktvbo import WDBO
from sktvbo.problems import make

PROBLEMS = ["rastrigin", "ackley", "shekel", "moving-bump"]


def regret(problem, max_step, seed, steps):
    """Average regret, and the longest step in parts of the ranges."""
    optimizer = WDBO(problem.domain, max_step=max_step, random_state=seed)
    lost = []
    for t in np.linspace(0.0, problem.horizon, steps):
        x = optimizer.ask(t)
        optimizer.tell(x, problem.observe(x, t))
        lost.append(problem.optimum(t)[1] - problem.value(x, t))
    U = problem.domain.to_unit(optimizer.told_X_[:, :-1])
    return np.mean(lost[30:]), np.abs(np.diff(U, axis=0)).max()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--problems", nargs="+", default=PROBLEMS)
    arguments = parser.parse_args()
    print(f"{'problem':16s}{'free':>10s}{'limited':>10s}{'ratio':>8s}{'longest step':>14s}")
    for name in arguments.problems:
        found = {None: [], 0.1: []}
        for seed in range(arguments.seeds):
            for limit, runs in found.items():
                problem = make(name, horizon=600.0, random_state=seed)
                runs.append(regret(problem, limit, seed, arguments.steps))
        free, limited = (np.array(runs) for runs in found.values())
        means = free[:, 0].mean(), limited[:, 0].mean()
        print(
            f"{name:16s}{means[0]:10.4f}{means[1]:10.4f}{means[1] / means[0]:8.2f}"
            f"{limited[:, 1].max():14.9f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
