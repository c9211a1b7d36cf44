"""W-DBO's defaults, each replaced by an alternative, on development and on held-out problems.

    python benchmarks/decisions/defaults.py FOLDER --seconds 4 --replications 2
    python benchmarks/decisions/defaults.py FOLDER --seconds 0.25 --variants "β, no growth"

Prints the regret with each alternative in units of the regret with the default: paired run by run,
averaged geometrically over the problems, ± the standard error over the problems. A value above 1
means that the default is better. All get the same queries at the same times. The development
problems are those on which the defaults were chosen; the held-out problems are others
(_problems.py). Finished runs are stored in FOLDER: the same command resumes.
"""

import argparse
from dataclasses import dataclass, field
from functools import partial

import numpy as np
from _problems import HORIZON, constant, development_problems, held_out_problems
from joblib import parallel_config

from sktvbo import WDBO, evaluation
from sktvbo.acquisition import UCB, DimensionBeta, ExpectedImprovement


@dataclass(kw_only=True, eq=False, repr=False)
class Variant(WDBO):
    """W-DBO with other parameters of its default surrogate.

    Parameters
    ----------
    surrogate_parameters : dict
    """

    surrogate_parameters: dict = field(default_factory=dict)

    def _make_surrogate(self, times):
        return super()._make_surrogate(times).set_params(**self.surrogate_parameters)


def surrogate(**parameters):
    return Variant(surrogate_parameters=parameters)


VARIANTS = {
    "default": WDBO(),
    "mean 0, not learnt": surrogate(mean_prior_std=0.0),
    "no margin": WDBO(acquisition=UCB("growing")),
    "β, no growth": WDBO(acquisition=UCB(DimensionBeta(0.05), margin=0.2)),
    "β = 0.2 d log(2 n)": WDBO(acquisition=UCB(DimensionBeta(0.2), margin=0.2)),
    "expected improvement": WDBO(acquisition=ExpectedImprovement()),
    "no prior mean": surrogate(prior_mean=None),
    "lengthscales up to 2": surrogate(spatial_kernel__length_scale_bounds=(0.01, 2.0)),
    "Matérn 3/2 in time": surrogate(temporal_kernel__nu=1.5),
    "search at each step": WDBO(refit_every=1),
    "search at each 5th step": WDBO(refit_every=5),
    "α = 0.1": WDBO(alpha=0.1),
    "α = 1": WDBO(alpha=1.0),
}


SETS = {"development": development_problems, "held-out": held_out_problems}


def regrets(optimizers, problems, arguments):
    """Return the regrets of each optimizer by problem, run by run."""
    with parallel_config("loky", inner_max_num_threads=1):
        comparison = evaluation.compare(
            optimizers,
            problems,
            arguments.replications,
            clock=evaluation.SimulatedClock(partial(constant, arguments.seconds)),
            horizon=HORIZON,
            n_jobs=arguments.jobs,
            store=arguments.folder,
        )
    found = {name: {} for name in optimizers}
    for row in comparison.rows():
        found[row["algorithm"]].setdefault(row["problem"], []).append(row["average_regret"])
    return found


def ratio(runs, default):
    """Return the geometric mean over problems of the paired ratios, and its standard error."""
    logs = [np.mean(np.log(runs[name]) - np.log(default[name])) for name in default]
    mean = np.exp(np.mean(logs))
    return mean, mean * np.std(logs, ddof=1) / np.sqrt(len(logs))


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", help="store of finished runs")
    parser.add_argument("--seconds", type=float, default=4.0, help="between two queries")
    parser.add_argument("--replications", type=int, default=2)
    parser.add_argument("--variants", nargs="+", choices=VARIANTS, default=list(VARIANTS))
    parser.add_argument("--problems", type=int, help="only the first few of each set")
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--jobs", type=int, default=-1)
    arguments = parser.parse_args()
    chosen = {name: VARIANTS[name] for name in ["default", *arguments.variants]}
    found = {
        name: regrets(chosen, SETS[name]()[: arguments.problems], arguments)
        for name in arguments.sets
    }
    print(f"{'instead of the default':28}" + "".join(f"{name:>16}" for name in found))
    for variant in arguments.variants:
        if variant != "default":
            cells = [ratio(runs[variant], runs["default"]) for runs in found.values()]
            print(f"{variant:28}" + "".join(f"{m:9.2f} ± {e:.2f}" for m, e in cells), flush=True)


if __name__ == "__main__":
    main()
