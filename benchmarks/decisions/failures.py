"""Regret where queries fail by chance: told as failures, over that of cancelled queries.

    python benchmarks/decisions/failures.py
    python benchmarks/decisions/failures.py --algorithms W-DBO --cases line/bursts --seeds 8

A maximum moves through a box of one or two dimensions, or through integers. Whether a query fails
has nothing to do with its place. As a failure it may be taken for one of its place; a cancelled
query teaches nothing. The ratio is that of the mean regrets over the seeds, of all queries from
step 25 on.

=========  ========================================================================
Pattern    Failures, at a rate r
=========  ========================================================================
random     each query with probability r
bursts     four in a row, at the rate r as well
periodic   every (1 / r)-th query
=========  ========================================================================
"""

import argparse

import numpy as np

from sktvbo.optimizers._names import ALGORITHMS

N_STEPS, N_FIRST, NOISE, BURST = 120, 25, 0.01, 4
RATES = (0.0, 0.1, 0.2, 0.33)
NAMES = ("W-DBO", "TV-GP-UCB", "BOLT", "SW-GP-UCB", "GP-UCB", "UI-TVBO")
CASES = ("line/random", "square/random", "integers/random", "line/bursts", "line/periodic")

# By problem: the domain, and the width of a unit of it.
PROBLEMS = {
    "line": ([(0.0, 1.0)], 1.0),
    "square": ([(0.0, 1.0)] * 2, 1.0),
    "integers": ({"x": ("integer", 0, 20)}, 20.0),
}


def lost(pattern, rate, rng):
    """Return which queries (n,) fail."""
    steps = np.arange(N_STEPS)
    if pattern == "periodic":
        return (steps * rate) % 1.0 >= 1.0 - rate if rate else steps < 0
    draws = rng.uniform(size=N_STEPS)
    if pattern == "random":
        return draws < rate
    begins = draws < rate / (BURST * (1.0 - rate) + rate)
    found, left = np.zeros(N_STEPS, dtype=bool), 0
    for step in steps:
        left = left - 1 if left else BURST * begins[step]
        found[step] = left > 0
    return found


def regret(algorithm, problem, pattern, rate, seed, report):
    """Return the mean regret of a run, in units of the box's side squared."""
    domain, width = PROBLEMS[problem]
    rng = np.random.default_rng(seed)
    fails, noise = lost(pattern, rate, rng), NOISE * rng.normal(size=N_STEPS)
    phases, found = rng.uniform(0.0, 2.0 * np.pi, len(domain)), []
    optimizer = ALGORITHMS[algorithm](domain, random_state=seed)
    for t in range(N_STEPS):
        query = optimizer.suggest(float(t))
        best = 0.5 + 0.25 * np.sin(t / 20.0 + phases)
        x = [query.x["x"]] if problem == "integers" else query.x
        found.append(np.sum((np.array(x) / width - best) ** 2))
        if not fails[t]:
            optimizer.tell(query, noise[t] - found[-1])
        elif report == "failed":
            optimizer.tell(query, failed=True)
        else:
            optimizer.cancel(query)
    return np.mean(found[N_FIRST:])


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--algorithms", nargs="+", choices=ALGORITHMS, default=NAMES)
    parser.add_argument("--cases", nargs="+", default=CASES, help="problem/pattern")
    parser.add_argument("--rates", nargs="+", type=float, default=RATES)
    parser.add_argument("--seeds", type=int, default=3)
    arguments = parser.parse_args()
    print(" " * 16 + "".join(f"{case:>17s}" for case in arguments.cases))
    for algorithm in arguments.algorithms:
        for rate in arguments.rates:
            print(f"{algorithm:12}{rate:4.2f}", end="")
            for case in arguments.cases:
                runs = [(*case.split("/"), rate, seed) for seed in range(arguments.seeds)]
                failed, cancelled = (
                    sum(regret(algorithm, *run, report) for run in runs)
                    for report in ("failed", "cancel")
                )
                print(f"{failed / cancelled:17.2f}", end="", flush=True)
            print()


if __name__ == "__main__":
    main()
