"""Shares of exploring queries: a peak that appears far from all queries, and the price elsewhere.

    python benchmarks/decisions/explore.py --shares 0 0.04 0.1 --dims 1 2

One query a step over the unit box. In "found" a hill of height 1 and width 0.15 stands still; from
step 100 on a second one of height 1.6 and width 0.12 stands 0.45 or more away, if it can. The
columns have the share of the runs that query the second one before step 260, and the median number
of steps until then ("-": not within 160). The others have the regret over that of uniform queries,
± the standard error of its difference to the first share, of live systems of `live.py` and of
"still", a bowl that does not move.
"""

import argparse
import warnings

import numpy as np
from live import N_STEPS, Live

from sktvbo.exceptions import ModelWarning
from sktvbo.optimizers._names import ALGORITHMS

CHANGE, LAST, NEAR = 100, 260, 0.45
KINDS = ("still", "drift", "level", "jumps")


def steps_until_found(optimizer, d, seed):
    """Return the number of steps from the change until the second hill is queried, or infinity."""
    rng, noise = np.random.RandomState(500 + seed), np.random.RandomState(seed)
    first, second = rng.uniform(0.2, 0.8, d), rng.uniform(0.1, 0.9, d)
    # In one dimension nothing is farther than 0.4 from the middle.
    farthest = np.linalg.norm(np.maximum(first - 0.1, 0.9 - first))
    while np.linalg.norm(first - second) <= min(NEAR, 0.99 * farthest):
        second = rng.uniform(0.1, 0.9, d)
    for t in range(LAST):
        x = optimizer.ask(float(t))
        value = np.exp(-np.sum((x - first) ** 2) / (2.0 * 0.15**2))
        if t >= CHANGE:
            value += 1.6 * np.exp(-np.sum((x - second) ** 2) / (2.0 * 0.12**2))
            if value > 1.2:
                return t - CHANGE
        optimizer.tell(x, value + 0.05 * noise.normal())
    return np.inf


def regret(optimizer, kind, d, seed):
    """Return the regret of a run over that of uniform queries."""
    problem, lost = Live("drift" if kind == "still" else kind, d, seed, False), []
    if kind == "still":
        problem.centre[:] = problem.centre[0]
    for t in range(N_STEPS):
        x = optimizer.ask(float(t))
        value = problem.values(x[np.newaxis], t)[0]
        lost.append(problem.best[t] - value)
        optimizer.tell(x, problem.observed(value))
    return np.mean(lost) / problem.uniform.mean()


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--algorithms", nargs="+", choices=ALGORITHMS, default=["W-DBO"])
    parser.add_argument("--shares", nargs="+", type=float, default=[0.0, 0.04, 0.1])
    parser.add_argument("--kinds", nargs="*", choices=KINDS, default=list(KINDS))
    parser.add_argument("--dims", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--seeds", type=int, default=6)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", ModelWarning)
    kinds, seeds = arguments.kinds, range(arguments.seeds)
    print(f"{'':22}{'found':>7}{'median':>8}" + "".join(f"{kind:>18}" for kind in kinds))
    for label in arguments.algorithms:
        for d in arguments.dims:
            before = None
            for share in arguments.shares:

                def made(seed, label=label, d=d, share=share):
                    box = [(0.0, 1.0)] * d
                    return ALGORITHMS[label](box, random_state=seed, exploration=share)

                # Twice as many runs: each is found, or not.
                steps = [
                    steps_until_found(made(seed), d, seed) for seed in range(2 * arguments.seeds)
                ]
                lost = np.array(
                    [[regret(made(seed), kind, d, seed) for seed in seeds] for kind in kinds]
                ).reshape(len(kinds), arguments.seeds)
                before = lost if before is None else before
                errors = np.std(lost - before, axis=1, ddof=1) / np.sqrt(len(seeds))
                median = f"{np.median(steps):.0f}" if np.isfinite(np.median(steps)) else "-"
                row = f"{f'{label}, {d}d, {share:g}':22}{np.isfinite(steps).mean():7.2f}{median:>8}"
                cells = zip(lost.mean(axis=1), errors)
                print(row + "".join(f"{m:10.3f} ± {e:.3f}" for m, e in cells), flush=True)


if __name__ == "__main__":
    main()
