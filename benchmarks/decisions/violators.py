"""Queries at places that are known to violate a limit, over eight kinds of spaces.

    python benchmarks/decisions/violators.py --seeds 2                   # W-DBO: two minutes
    python benchmarks/decisions/violators.py --kinds arms corner --algorithms GPUCB SWGPUCB

100 queries of a system that stands still, and noise of 0.02. What violates the limit has the best
values. A cell is the number of queries where the limit held with a predicted probability below
0.05, and after it that of violations among the last 50 queries: means over the seeds. With
``--lifted`` the cell is the number of steps in which the best place is found after the limit was
lifted at step 100: all outcomes fall by 1, or with ``--lifted own`` those beyond the limit alone.
"""

import argparse
import warnings
from functools import partial

import numpy as np

import sktvbo
from sktvbo.domain import Arms, Context, FiniteSet
from sktvbo.exceptions import LimitWarning, ModelWarning

NOISE, LIMIT, N_STEPS, BATCH = 0.02, 0.6, 100, 3
ARMS = np.array([[0.1, 0.2], [0.3, 0.2], [0.5, 0.3], [0.9, 0.9], [0.7, 0.4], [0.2, 0.5]])
GRID = np.array([[i, j] for i in range(6) for j in range(5)], dtype=float)
KINDS, MODES = list("abcd"), list("uvw")


def of_arm(x, context):
    return ARMS[int(x[0])]


def of_categories(x, context):
    kind, mode = KINDS.index(x["kind"]), MODES.index(x["mode"])
    return 0.2 * kind + 0.1 * mode, 0.9 if kind == 3 else 0.1 + 0.1 * mode


def of_point(x, context):
    return 0.1 * (x[0] + x[1]), 0.13 * x[0] + 0.25 * (x[0] > 3.5)


def of_integer(x, context):
    return 0.05 * x["n"], 0.06 * x["n"]


def of_line(x, context):
    return 2.0 if x[0] > 0.6 else 0.8 - x[0], float(x[0] > 0.6) + 0.2 * x[0]


def of_corner(x, context):
    return 2.0 if x[0] + x[1] > 1.0 else 0.5 - x[0] - x[1], 0.9 * (x[0] + x[1])


def in_context(x, context):
    arm = "abcde".index(x["arm"])
    return ARMS[arm, 0], ARMS[arm, 1] + 0.2 * context["load"] * (arm == 4)


SPACES = {
    "arms": (Arms(6), of_arm),
    "categories": ({"kind": KINDS, "mode": MODES}, of_categories),
    "points": (FiniteSet(GRID), of_point),
    "integer": ({"n": ("integer", 0, 20)}, of_integer),
    "line": ([(0.0, 1.0)], of_line),
    "corner": ([(0.0, 1.0)] * 2, of_corner),
    "batches": (Arms(6), of_arm),
    "context": ({"arm": list("abcde"), "load": Context("real", 0.0, 1.0)}, in_context),
}

# The best value of each space, beyond the limit.
BEST = dict(zip(SPACES, [0.9, 0.8, 0.9, 1.0, 2.0, 2.0, 0.9, 0.9]))


def asked(kind, algorithm, seed, n_steps=N_STEPS, lifted=np.inf, own=False):
    """Yield for each query (value, outcome, predicted probability that the limit holds)."""
    (space, system), rng = SPACES[kind], np.random.RandomState(seed)
    limits = {"g": (None, LIMIT)}
    opt = getattr(sktvbo, algorithm)(space, outcome_constraints=limits, random_state=seed)
    t = -1.0
    for _ in range(0, n_steps, BATCH if kind == "batches" else 1):
        t += 1.0
        context = {"load": float(rng.uniform())} if kind == "context" else None
        queries = opt.suggest(t, BATCH) if kind == "batches" else [opt.suggest(t, context=context)]
        places = [query.x for query in queries]
        known = opt.surrogate_ is not None
        p = opt.probability_feasible(places, t, context=context) if known else [1.0] * len(places)
        for query, x, p_x in zip(queries, places, p):
            y, g = system(x, context)
            g -= t >= lifted and (g > LIMIT or not own)
            told = np.array([y, g]) + NOISE * rng.standard_normal(2)
            opt.tell(query, told[0], outcomes={"g": told[1]})
            t = max(t, query.t)
            yield y, g, p_x


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--kinds", nargs="+", default=list(SPACES))
    parser.add_argument("--algorithms", nargs="+", default=["WDBO"])
    parser.add_argument("--lifted", nargs="?", choices=["all", "own"], const="all")
    arguments = parser.parse_args()
    for category in (LimitWarning, ModelWarning):
        warnings.simplefilter("ignore", category)
    print(" " * 12 + "".join(f"{kind:>12s}" for kind in arguments.kinds))
    for algorithm in arguments.algorithms:
        print(f"{algorithm:12s}", end="")
        for kind in arguments.kinds:
            runs = [partial(asked, kind, algorithm, seed) for seed in range(arguments.seeds)]
            if arguments.lifted:
                own = arguments.lifted == "own"
                runs = [np.array(list(run(3 * N_STEPS, N_STEPS, own)))[N_STEPS:] for run in runs]
                after = [
                    np.append(np.flatnonzero(run[:, 0] > BEST[kind] - 1e-9), 999)[0] for run in runs
                ]
                print(f"{np.mean(after):12.0f}", end="", flush=True)
                continue
            runs = np.array([list(run())[:N_STEPS] for run in runs])
            known, late = runs[:, :, 2] < 0.05, runs[:, -50:, 1] > LIMIT
            found = f"{known.sum(axis=1).mean():.1f} {late.sum(axis=1).mean():.1f}"
            print(f"{found:>12s}", end="", flush=True)
        print()


if __name__ == "__main__":
    main()
