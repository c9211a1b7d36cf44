"""The arena: everybody on the papers' moving problems, at equal queries or at equal time.

    python arena.py FOLDER --seconds 4 --replications 3
    python arena.py FOLDER --seconds 4 --optimizers W-DBO wdbo_algo --problems hartmann-3 powell

Equal queries: each gets one query every so many seconds of 600, at the same times, from the same
initial design and with the same noise, so that only what it decides counts. FOLDER keeps finished
runs: the same command goes on where it was stopped. The rivals' packages are those of
requirements-peers.txt.
"""

import argparse
import csv
from functools import partial

from _timing import constant
from joblib import parallel_config
from rivals import rivals

from sktvbo import BOLT, GPUCB, WDBO, RandomSearch, evaluation, problems

HORIZON = 600.0

PROBLEMS = (
    "hartmann-3",
    "hartmann-6",
    "schwefel",
    "styblinski-tang",
    "rastrigin",
    "powell",
    "shekel",
    "eggholder",
    "rosenbrock",
    "ackley",
    "temperature-field",
)


def everybody():
    """Optimizers by name."""
    ours = {"W-DBO": WDBO(), "BOLT": BOLT(), "GP-UCB": GPUCB(), "random": RandomSearch()}
    return ours | rivals(HORIZON)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", help="where finished runs are kept")
    parser.add_argument("--seconds", type=float, default=4.0, help="between two queries")
    parser.add_argument("--replications", type=int, default=3)
    parser.add_argument("--optimizers", nargs="+", choices=everybody(), default=list(everybody()))
    parser.add_argument("--problems", nargs="+", choices=PROBLEMS, default=list(PROBLEMS))
    parser.add_argument("--jobs", type=int, default=-1)
    parser.add_argument("--csv", help="also write a row per run there")
    arguments = parser.parse_args()
    optimizers = everybody()
    with parallel_config("loky", inner_max_num_threads=1):
        comparison = evaluation.compare(
            {name: optimizers[name] for name in arguments.optimizers},
            [problems.make(name, noise=0.05, horizon=HORIZON) for name in arguments.problems],
            arguments.replications,
            clock=evaluation.SimulatedClock(partial(constant, arguments.seconds)),
            n_jobs=arguments.jobs,
            store=arguments.folder,
        )
    print(comparison)
    if arguments.csv:
        rows = list(comparison.rows())
        with open(arguments.csv, "w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, rows[0])
            writer.writeheader()
            writer.writerows(rows)


if __name__ == "__main__":
    main()
