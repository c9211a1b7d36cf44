"""Regret from the first query, by the number and the place of the initial points.

    python benchmarks/decisions/start.py FOLDER --replications 2      # the choice
    python benchmarks/decisions/start.py FOLDER --sets held-out papers --designs auto
    python benchmarks/decisions/start.py FOLDER --sets papers --designs auto --told 15
    python benchmarks/decisions/start.py FOLDER --sets held-out --designs auto --algorithms BOLT

The table has the average regret over the first 48 of 150 queries, and over the later ones, in units
of the regret with 15 uniform initial points: paired run by run, averaged geometrically over the
problems, ± the standard error over the problems. A design is "auto", N spread out ("spread-N"), or
N uniform ones ("N"). Of the problems every second one moves as it does; of the others some stand
still and four are on 200 members. They have 1 to 8 dimensions, held-out ones up to 6. Before the
first query ``--told`` uniform observations are told. Finished runs are stored in FOLDER: the same
command resumes.
"""

import argparse
from functools import partial
from pathlib import Path

import numpy as np
from _problems import (
    HORIZON,
    PAPERS_PROBLEMS,
    Jumping,
    Still,
    constant,
    development_problems,
    held_out_problems,
)
from joblib import parallel_config

from sktvbo import evaluation, problems
from sktvbo.domain import FiniteSet
from sktvbo.optimizers._names import ALGORITHMS
from sktvbo.problems import Problem

N_FIRST = 48


class OfMembers(Problem):
    """A problem on 200 random points of the unit box."""

    def __init__(self, moving, n=200):
        points = np.random.RandomState(0).uniform(size=(n, moving.domain.n_dims))
        domain = FiniteSet(points)
        super().__init__(f"{moving.name}, members", domain, HORIZON, moving.noise_variance)
        self.moving = moving

    def _values(self, X, t):
        return self.moving._values(X, t)


def variety(drawn):
    """Return every second problem, every fourth standing still, and four on members."""
    moving = drawn[::2]
    smooth = [problem for problem in drawn[1::2] if not isinstance(problem, Jumping)]
    return [*moving, *map(Still, smooth[::2]), *map(OfMembers, smooth[1::2][:4])]


def held_out():
    """Return the held-out problems in at most six dimensions."""
    return variety([problem for problem in held_out_problems() if problem.domain.n_dims <= 6])


def papers():
    """Return the papers' problems."""
    return [problems.make(name, horizon=HORIZON, noise=0.05) for name in PAPERS_PROBLEMS]


SETS = {
    "development": lambda: variety(development_problems()),
    "held-out": held_out,
    "papers": papers,
}
DESIGNS = ["3", "spread-1", "spread-3", "spread-5", "spread-8"]


def with_design(label, design):
    """Return an optimizer with initial points as the name of a design says."""
    n = design.removeprefix("spread-")
    if n == design:
        return ALGORITHMS[label](n_initial_points=design if design == "auto" else int(design))
    return type(f"Spread{n}", (ALGORITHMS[label],), {"_n_spread": int(n)})()


def regrets(label, design, drawn, arguments, folder):
    """Return early and late regrets (n, 2) by problem, run by run."""
    with parallel_config("loky", inner_max_num_threads=1):
        comparison = evaluation.compare(
            {f"{label}, {design}": with_design(label, design)},
            drawn,
            arguments.replications,
            clock=evaluation.SimulatedClock(partial(constant, 4.0)),
            horizon=HORIZON,
            n_initial=arguments.told,
            n_jobs=arguments.jobs,
            store=folder,
        )
    found = {}
    for (_, problem), runs in comparison.results.items():
        queried = [run.regrets[arguments.told :] for run in runs]
        found[problem] = [(each[:N_FIRST].mean(), each[N_FIRST:].mean()) for each in queried]
    return found


def ratios(runs, reference):
    """Return geometric means (2,) over problems of the paired ratios, and standard errors."""
    logs = [np.mean(np.log(runs[name]) - np.log(reference[name]), axis=0) for name in reference]
    means = np.exp(np.mean(logs, axis=0))
    return means, means * np.std(logs, axis=0, ddof=1) / np.sqrt(len(logs))


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", help="store of finished runs")
    parser.add_argument("--sets", nargs="+", choices=SETS, default=["development"])
    parser.add_argument("--designs", nargs="+", default=DESIGNS)
    parser.add_argument("--algorithms", nargs="+", choices=ALGORITHMS, default=["W-DBO"])
    parser.add_argument("--told", type=int, default=0)
    parser.add_argument("--replications", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1)
    arguments = parser.parse_args()
    print(f"{'':32}{'first 48':>16}{'later':>16}")
    for set_name in arguments.sets:
        drawn, folder = SETS[set_name](), Path(arguments.folder, f"{set_name}-{arguments.told}")
        for label in arguments.algorithms:
            today = regrets(label, "15", drawn, arguments, folder)
            for design in arguments.designs:
                means, errors = ratios(regrets(label, design, drawn, arguments, folder), today)
                cells = "".join(f"{m:9.3f} ± {e:.3f}" for m, e in zip(means, errors))
                print(f"{set_name + ', ' + label + ', ' + design:32}{cells}", flush=True)


if __name__ == "__main__":
    main()
