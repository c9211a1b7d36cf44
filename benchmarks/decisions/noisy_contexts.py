"""Regret beside a context where noise hides nearly all.

    python benchmarks/decisions/noisy_contexts.py --seeds 20        # 5 minutes
    python benchmarks/decisions/noisy_contexts.py --kinds arms --seeds 8

- arms: 600 clicks of one of five arms, the best of which differs between four segments; the last
  300 queries count, and uniform queries have a regret of 0.28.
- real: 400 queries of one real beside one real context, and noise with a standard deviation of 1;
  the last 200 count, and uniform queries have a regret of 0.45.

Each row has the regret, the size of the data set and the lengthscale in time at the end.
"""

import argparse

import numpy as np

from sktvbo import WDBO
from sktvbo.domain import Context

ARMS, SEGMENTS = list("abcde"), list("stuv")
RATES = np.full((4, 5), 0.15)
RATES[range(4), (0, 2, 4, 1)] = 0.5


def arms(seed):
    """Yield the optimizer and the regret of a query."""
    optimizer = WDBO({"arm": ARMS, "segment": Context(SEGMENTS)}, random_state=seed)
    rng = np.random.default_rng(seed)
    for t in range(600):
        i = rng.integers(4)
        query = optimizer.suggest(t, context={"segment": SEGMENTS[i]})
        rate = RATES[i, ARMS.index(query.x["arm"])]
        optimizer.tell(query, float(rng.uniform() < rate))
        yield optimizer, 0.5 - rate


def real(seed):
    """Yield the optimizer and the regret of a query."""
    optimizer = WDBO({"x": ("real", 0, 1), "c": Context(0, 1)}, random_state=seed)
    rng = np.random.default_rng(seed)
    for t in range(400):
        c = rng.uniform()
        query = optimizer.suggest(t, context={"c": c})
        regret = 4.0 * (query.x["x"] - 0.2 - 0.6 * c) ** 2
        optimizer.tell(query, rng.normal() - regret)
        yield optimizer, regret


KINDS = {"arms": arms, "real": real}


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--first", type=int, default=100, metavar="SEED")
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
    arguments = parser.parse_args()
    for kind in arguments.kinds:
        means = []
        for seed in range(arguments.first, arguments.first + arguments.seeds):
            *steps, (optimizer, last) = KINDS[kind](seed)
            regrets = [regret for _, regret in steps] + [last]
            means.append(np.mean(regrets[len(regrets) // 2 :]))
            n, kernel = len(optimizer.X_), optimizer.surrogate_.temporal_kernel_
            print(f"{kind:6}{seed:5}{means[-1]:8.4f}{n:5}  {kernel}", flush=True)
        print(f"{kind:6} mean {np.mean(means):.4f}, largest {max(means):.4f}", flush=True)


if __name__ == "__main__":
    main()
