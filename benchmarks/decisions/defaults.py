"""Our changes of W-DBO one by one, and alternatives to its defaults.

    python benchmarks/decisions/defaults.py FOLDER --sets development papers
    python benchmarks/decisions/defaults.py FOLDER --alternatives --replications 2
    python benchmarks/decisions/defaults.py FOLDER --alternatives "β / 2" --seconds 0.25

W-DBO differs from the paper in CHANGES. The first table has the regret with a change in units of
the regret without it: "first" is one change of the published algorithm, "last" the same change when
all others are made. A value below 1 means that the change pays. With --alternatives, the table has
the regret with an alternative in units of the regret with the default: above 1, the default is
better. All get the same queries at the same times. Ratios are paired run by run, averaged
geometrically over the problems, ± the standard error over the problems. The development problems
are those on which the defaults were chosen; the held-out problems are others (_problems.py); the
papers' problems have noise of 5 % of their variance. Finished runs are stored in FOLDER: the same
command resumes.
"""

import argparse
import sys
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np
from _problems import (
    HORIZON,
    PAPERS_PROBLEMS,
    constant,
    development_problems,
    held_out_problems,
)
from joblib import parallel_config
from sklearn.base import clone
from sklearn.gaussian_process.kernels import Matern

from sktvbo import WDBO, evaluation, papers
from sktvbo.acquisition import UCB, DimensionBeta, ExpectedImprovement
from sktvbo.papers._bardou2024 import UncappedBudget

sys.path.append(str(Path(__file__).parents[1] / "papers"))

from _stored import compare
from problems import make

PUBLISHED = papers.published("W-DBO", horizon=HORIZON)

# Parameters of the surrogate, and of its smooth kernel in time, that belong to a change.
OF_SURROGATE = {
    "mean learnt, with a prior": ["mean_prior_std"],
    "bounds of λ and σ²": ["signal_variance_bounds", "noise_variance_bounds"],
    "fit from the last optimum": ["signal_variance", "noise_variance"],
    "quadratic mean": ["prior_mean"],
}
OF_SPACE = {
    "bounds of l_S": ["length_scale_bounds"],
    "fit from the last optimum": ["length_scale"],
}
OF_SMOOTH = {
    "Matérn 5/2 in time": ["nu"],
    "bounds of l_T": ["length_scale_bounds"],
    "fit from the last optimum": ["length_scale"],
}
# Hyperparameters whose prior belongs to a change.
OF_PRIORS = {
    "prior of l_S": "spatial_kernel__length_scale",
    "rough part in time": "temporal_kernel__k2__k1__constant_value",
}
CHANGES = (
    *dict.fromkeys([*OF_SURROGATE, *OF_SPACE, *OF_SMOOTH, *OF_PRIORS]),
    "a lengthscale a parameter",
    "fit when it promises a gain",
    "margin at the faces",
    "β of at most 4 dimensions",
    "data set of 10 at least",
)


@dataclass(kw_only=True, eq=False, repr=False)
class Mixed(WDBO):
    """W-DBO with some of the CHANGES, and as published in all else but ``refit_every``.

    Parameters
    ----------
    changes : tuple of str
    surrogate_parameters : dict
        Other parameters of the surrogate.
    """

    changes: tuple = CHANGES
    surrogate_parameters: dict = field(default_factory=dict)

    @property
    def _min_to_learn(self):
        return 10 if "data set of 10 at least" in self.changes else 2

    def _make_surrogate(self, times):
        ours, theirs = super()._make_surrogate(times), PUBLISHED.surrogate
        made = clone(ours if "fit from the last optimum" in self.changes else theirs)
        self._change(made, OF_SURROGATE, ours, theirs)
        grouped = "a lengthscale a parameter" in self.changes
        space = clone(ours.spatial_kernel) if grouped else Matern(nu=2.5)
        made.set_params(spatial_kernel=space)
        self._change(space, OF_SPACE, ours.spatial_kernel, theirs.spatial_kernel)
        length = float(np.max(space.length_scale))
        if not grouped:
            bounds = np.reshape(space.length_scale_bounds, (-1, 2))
            space.length_scale_bounds = bounds.min(), bounds.max()
        space.length_scale = np.full(times.n_unit, length) if grouped else length
        smooth = clone(theirs.temporal_kernel)
        self._change(smooth, OF_SMOOTH, ours.temporal_kernel.k1, theirs.temporal_kernel)
        rough = "rough part in time" in self.changes
        priors = {
            name: ours.hyperpriors[name] for c, name in OF_PRIORS.items() if c in self.changes
        }
        made.set_params(
            temporal_kernel=smooth + ours.temporal_kernel.k2 if rough else smooth,
            hyperpriors=priors,
        )
        made.set_params(**self.surrogate_parameters)
        smooth.length_scale = float(np.clip(smooth.length_scale, *smooth.length_scale_bounds))
        return made

    def _change(self, made, parameters, ours, theirs):
        """Set the parameters of each change to ours if it is made, or else to theirs."""
        for change, names in parameters.items():
            known = (ours if change in self.changes else theirs).get_params()
            made.set_params(**{name: known[name] for name in names})

    def _make_acquisition(self):
        margin = 0.2 if "margin at the faces" in self.changes else 0.0
        bounded = "β of at most 4 dimensions" in self.changes
        return UCB(DimensionBeta(0.2, 4 if bounded else None), margin=margin)

    def _make_policy(self):
        if "data set of 10 at least" in self.changes:
            return super()._make_policy()
        return UncappedBudget(self.alpha)


def mixed(*changes):
    """Return W-DBO with these changes."""
    when = "auto" if "fit when it promises a gain" in changes else 1
    return Mixed(changes=changes, refit_every=when)


def surrogate(**parameters):
    """Return the default with other parameters of the surrogate."""
    return Mixed(surrogate_parameters=parameters)


ALTERNATIVES = {
    "β / 2": WDBO(acquisition=UCB(DimensionBeta(0.1), margin=0.2)),
    "constant mean": surrogate(prior_mean=None),
    "expected improvement": WDBO(acquisition=ExpectedImprovement()),
    "search at each 5th step": WDBO(refit_every=5),
    "α = 0.1": WDBO(alpha=0.1),
    "α = 1": WDBO(alpha=1.0),
}
VARIANTS = {"published": PUBLISHED, "default": WDBO(), **ALTERNATIVES}
for change in CHANGES:
    VARIANTS[f"published, {change}"] = mixed(change)
    VARIANTS[f"default but {change}"] = mixed(*(other for other in CHANGES if other != change))


def papers_problems():
    """Return the papers' problems."""
    return [make(name, horizon=HORIZON, noise=0.05) for name in PAPERS_PROBLEMS]


SETS = {"development": development_problems, "held-out": held_out_problems}


def regrets(optimizers, problems, arguments):
    """Return the regrets of each optimizer by problem, run by run."""
    with parallel_config("loky", inner_max_num_threads=1):
        comparison = compare(
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
    sets = SETS | {"papers": papers_problems}
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", help="store of finished runs")
    parser.add_argument("--seconds", type=float, default=4.0, help="between two queries")
    parser.add_argument("--replications", type=int, default=1)
    parser.add_argument("--changes", nargs="*", choices=CHANGES, default=CHANGES)
    parser.add_argument("--alternatives", nargs="*", choices=ALTERNATIVES)
    parser.add_argument("--one-in", type=int, default=1, help="only each n-th problem of a set")
    parser.add_argument("--sets", nargs="+", choices=sets, default=list(sets))
    parser.add_argument("--jobs", type=int, default=-1)
    arguments = parser.parse_args()
    # Rows: what is divided, and by what, in each column.
    if arguments.alternatives is None:
        columns = ("first", "last")
        rows = {
            change: [(f"published, {change}", "published"), ("default", f"default but {change}")]
            for change in arguments.changes
        } | {"all of them": [("default", "published"), None]}
    else:
        columns = ("",)
        rows = {name: [(name, "default")] for name in arguments.alternatives or ALTERNATIVES}
    pairs = [pair for row in rows.values() for pair in row if pair]
    chosen = {name: VARIANTS[name] for pair in pairs for name in pair}
    found = {
        name: regrets(chosen, sets[name]()[:: arguments.one_in], arguments)
        for name in arguments.sets
    }
    titles = (f"{name} {column}".strip() for name in found for column in columns)
    print(f"{'':34}" + "".join(f"{title:>20}" for title in titles))
    for row, pairs in rows.items():
        ratios = [
            pair and ratio(runs[pair[0]], runs[pair[1]])
            for runs in found.values()
            for pair in pairs
        ]
        cells = ["{:.2f} ± {:.2f}".format(*each) if each else "" for each in ratios]
        print(f"{row:34}" + "".join(f"{cell:>20}" for cell in cells).rstrip())


if __name__ == "__main__":
    main()
