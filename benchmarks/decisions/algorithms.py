"""Regret of all algorithms by default, in units of random search's, on drifting problems.

    python benchmarks/decisions/algorithms.py FOLDER
    python benchmarks/decisions/algorithms.py FOLDER --algorithms W-DBO SW-GP-UCB --replications 2

All get the same queries at the same times of a run of 600 seconds. Prints the ratio of regrets:
paired run by run, averaged geometrically over the problems, ± the standard error over the problems.
The problems are every second one in at most four dimensions that does not jump: 14 development and
11 held-out problems. SparQ-GP-UCB has no expert. Finished runs are stored in FOLDER: the same
command resumes.
"""

import argparse
from pathlib import Path

from _problems import Jumping
from defaults import SETS, ratio, regrets

from sktvbo.optimizers._names import ALGORITHMS


def drifting(problems):
    """Return every second problem that drifts, in at most four dimensions."""
    smooth = [problem for problem in problems if not isinstance(problem, Jumping)]
    return [problem for problem in smooth if problem.domain.n_dims <= 4][::2]


def regrets_of(label, name, problems, arguments):
    """Return the regrets of an algorithm on the problems of a set, run by run."""
    # Problems of the two sets have the same names: each set has its own folder.
    own = argparse.Namespace(**vars(arguments) | {"folder": Path(arguments.folder, name)})
    return regrets({label: ALGORITHMS[label]()}, problems, own)[label]


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", help="store of finished runs")
    parser.add_argument("--seconds", type=float, default=4.0, help="between two queries")
    parser.add_argument("--replications", type=int, default=1)
    parser.add_argument("--algorithms", nargs="+", choices=ALGORITHMS, default=list(ALGORITHMS))
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--jobs", type=int, default=-1)
    arguments = parser.parse_args()
    problems = {name: drifting(SETS[name]()) for name in arguments.sets}
    random = {
        name: regrets_of("random", name, chosen, arguments) for name, chosen in problems.items()
    }
    print(f"{'regret / random search':28}" + "".join(f"{name:>16}" for name in problems))
    for label in arguments.algorithms:
        cells = [
            ratio(regrets_of(label, name, chosen, arguments), random[name])
            for name, chosen in problems.items()
        ]
        print(f"{label:28}" + "".join(f"{m:9.2f} ± {e:.2f}" for m, e in cells), flush=True)


if __name__ == "__main__":
    main()
