"""What makes W-DBO decide well: its parts, one changed at a time, on development problems.

    python benchmarks/decisions.py FOLDER --seconds 4 --replications 3
    python benchmarks/decisions.py FOLDER --seconds 4 --replications 3 --later
    python benchmarks/decisions.py FOLDER --seconds 4 --replications 3 --faced
    python benchmarks/decisions.py FOLDER --seconds 1 --replications 2 --single
    python benchmarks/decisions.py FOLDER --seconds 4 --replications 3 --still

Every algorithm gets the same queries at the same times, so that its own speed counts for nothing.
The problems are in no paper, and have been chosen before anything was tuned on them: draws of
spatio-temporal Gaussian processes with random kernels, rates and noise in 1 to 8 dimensions,
classical functions that the papers do not have, sliced along their last coordinate or going round,
and moving peaks. --later adds problems and variants of a second round: functions that jump, ripple,
or have a narrow funnel that rises. --faced has others, whose optimum is near faces of the box, and
--single others in one dimension. The rounds began from defaults of their time, which --longest,
--margin, --many, --n-few and --alternatives say.
FOLDER keeps finished runs: the same command goes on where it was stopped.
"""

import argparse
from dataclasses import dataclass, field
from functools import partial
from itertools import repeat

import numpy as np
from _development import (
    HORIZON,
    development_problems,
    faced_problems,
    later_problems,
    single_problems,
)
from _still import Still
from _timing import constant
from joblib import parallel_config
from scipy.stats import lognorm
from sklearn.base import BaseEstimator
from sklearn.gaussian_process.kernels import Matern

from sktvbo import GPUCB, WDBO, evaluation
from sktvbo.acquisition import UCB, DimensionBeta, ExpectedImprovement, GrowingBeta
from sktvbo.gaussian_process import Bowl
from sktvbo.optimizers._surrogates import smooth_alternatives
from sktvbo.staleness import KeepAll

# --- variants -------------------------------------------------------------------------------------


@dataclass(kw_only=True, eq=False, repr=False)
class Variant(WDBO):
    """W-DBO with other parts; the defaults are those chosen.

    Parameters
    ----------
    mean : float
        Width of the mean's prior.
    scale, many : float
        Of β = scale · d log(2 n), up to ``n_few`` observations and with many, as `GrowingBeta` has
        it; a smaller ``many`` than ``scale`` is none.
    n_few : int or None
        None as `GrowingBeta` has it.
    margin : float
        Within which the standard deviation counts for less.
    bowl : triple of float or None
        Depth of the bowl that is the prior mean, and how far depth and slopes may be from that.
    alternatives : str
        Of "bowl", "terms" and "both", those that the surrogate is compared with.
    spatial_nu, temporal_nu : float
        Smoothness of the Matérn kernels.
    isotropic : bool
        One spatial lengthscale for all dimensions.
    longest : float or None
        Upper bound of the spatial lengthscales, in sides of the unit box; None for the package's.
    prior : float
        Standard deviation of log l_S in a prior with median ½ √d; 0 for none.
    time_prior : float
        That of log l_T, with a median of 100 s; 0 for none.
    noise_prior : float
        That of log σ², with median 0.01; 0 for none.
    options : dict
        More parameters of the surrogate.
    min_size : int
        Observations that W-DBO keeps in any case.
    forgets : bool
        False to keep all observations.
    """

    mean: float = 1.0
    scale: float = 0.05
    many: float = 0.2
    n_few: int | None = None
    margin: float = 0.2
    bowl: tuple | None = None
    alternatives: str = "bowl"
    spatial_nu: float = 2.5
    temporal_nu: float = 2.5
    isotropic: bool = True
    longest: float | None = None
    prior: float = 0.0
    time_prior: float = 0.0
    noise_prior: float = 0.0
    options: dict = field(default_factory=dict)
    min_size: int = 10
    forgets: bool = True

    def _make_acquisition(self):
        beta = GrowingBeta(self.scale, max(self.scale, self.many), self.n_few)
        return UCB(beta, margin=self.margin)

    def _make_policy(self):
        if not self.forgets:
            return KeepAll()
        return super()._make_policy().set_params(min_size=self.min_size)

    def _make_surrogate(self, times):
        surrogate, d = super()._make_surrogate(times), len(self.domain.lower)
        length_scale, priors = 0.5, {}
        for sd, name, median in (
            (self.prior, "spatial_kernel__length_scale", 0.5 * np.sqrt(d)),
            (self.time_prior, "temporal_kernel__length_scale", HORIZON / 6.0),
            (self.noise_prior, "noise_variance", 0.01),
        ):
            if sd:
                priors[name] = lognorm(s=sd, scale=median)
        if not self.isotropic and d > 1:
            length_scale = np.full(d, length_scale)
        lower, upper = surrogate.spatial_kernel.length_scale_bounds
        bounds = (lower, self.longest or upper)
        return surrogate.set_params(
            spatial_kernel=Matern(length_scale, bounds, nu=self.spatial_nu),
            temporal_kernel__nu=self.temporal_nu,
            mean_prior_std=self.mean,
            prior_mean=Bowl(*self.bowl) if self.bowl else None,
            hyperpriors=priors or None,
            alternatives=self._alternatives(times),
            **self.options,
        )

    def _alternatives(self, times):
        found = dict(zip(("bowl", "terms", "both"), smooth_alternatives(times)))
        return tuple(found[name] for name in self.alternatives.split())


# One part changed at a time, but for the first, which is how the package began.
VARIANTS = {
    "first version": {
        "mean": 0.0,
        "scale": 0.2,
        "many": 0.0,
        "margin": 0.0,
        "alternatives": "",
        "temporal_nu": 1.5,
        "longest": 2.0,
        "refit_every": 1,
    },
    "chosen": {},
    **{f"mean {width:g}": {"mean": width} for width in (0.0, 0.5, 2.0, 4.0, np.inf)},
    **{f"β {scale:g}": {"scale": scale, "many": 0.0} for scale in (0.01, 0.02, 0.1, 0.2, 0.4)},
    **{f"ν_T {nu:g}": {"temporal_nu": nu} for nu in (0.5, 1.5, np.inf)},
    **{f"ν_S {nu:g}": {"spatial_nu": nu} for nu in (1.5, np.inf)},
    "l_S up to 5": {"longest": 5.0},
    "prior of l_S": {"prior": 0.75},
    "l_S by dimension": {"isotropic": False},
    "l_S by dimension, prior": {"isotropic": False, "prior": 1.0},
    "prior of l_T": {"time_prior": 1.0},
    "prior of σ²": {"noise_prior": 1.5},
    "σ² from 1e-6": {"options": {"noise_variance_bounds": (1e-6, 1.0)}},
    "λ up to 100": {"options": {"signal_variance_bounds": (0.05, 100.0)}},
    "a restart at each search": {"options": {"n_restarts_optimizer": 1}},
    "search always": {"refit_every": 1},
    "search every 5": {"refit_every": 5},
    "α 0.1": {"alpha": 0.1},
    "α 1": {"alpha": 1.0},
    "at least 30": {"min_size": 30},
}


class EarlyBeta(BaseEstimator):
    """β = scale · d log(2 n) after 45 observations, and ``early`` · d log(2 n) before."""

    def __init__(self, early, scale=0.05):
        self.early = early
        self.scale = scale

    def __call__(self, state):
        scale = self.early if state.n_told < 45 else self.scale
        return scale * state.n_dims * float(np.log(2.0 * state.n))


class PowerBeta(BaseEstimator):
    """β = 0.15 (d / 3)^power log(2 n)."""

    def __init__(self, power):
        self.power = power

    def __call__(self, state):
        return 0.15 * (state.n_dims / 3.0) ** self.power * float(np.log(2.0 * state.n))


# The second round, on more problems.
LATER = {
    **{name: VARIANTS[name] for name in ("chosen", "first version", "mean 0.5", "ν_T 1.5")},
    "keep all": {"forgets": False},
    **{f"trust region {length:g}": {"trust_region": length} for length in (0.4, 0.8)},
    "EI": {"acquisition": ExpectedImprovement()},
    **{f"β {early:g} at first": {"acquisition": UCB(EarlyBeta(early))} for early in (0.01, 0.2)},
    **{f"β as d^{power:g}": {"acquisition": UCB(PowerBeta(power))} for power in (0.0, 2.0)},
}

# The fifth.
MARGINS = {
    "no margin": {"margin": 0.0},
    **{f"margin {margin:g}": {"margin": margin} for margin in (0.1, 0.2, 0.4)},
    "margin 0.2, β 0.1": {"margin": 0.2, "scale": 0.1, "many": 0.0},
}
# The eighth, at 0.25 s; β 0.2 is among the first.
GROWTH = {"β 0.05": {"many": 0.0}}
# The tenth.
DEPTHS = [(depth, 0.0) for depth in (0.25, 0.5, 0.75, 1.0)]
DEPTHS += [(0.15, 0.15), (0.25, 0.25), (0.5, 0.25), (0.5, 0.5)]
BOWLS = {
    "no bowl": {"bowl": None},
    **{f"bowl {depth:g} ± {std:g}": {"bowl": (depth, std, std)} for depth, std in DEPTHS},
    **{
        f"bowl 0.25 ± 0.25, margin {margin:g}": {"bowl": (0.25,) * 3, "margin": margin}
        for margin in (0.0, 0.1, 0.4)
    },
    **{
        f"bowl {depth:g} ± 0.25, slopes {slope:g}": {"bowl": (depth, 0.25, slope)}
        for depth in (0.25, 0.5)
        for slope in (0.35, 0.5, 1.0)
    },
}
BOWLS = {name: {"alternatives": ""} | parts for name, parts in BOWLS.items()}
# The twelfth.
ALTERNATIVES = {
    "or a bowl": {"alternatives": "bowl"},
    "or terms": {"alternatives": "terms"},
    "or a bowl, terms, or both": {"alternatives": "bowl terms both"},
    "a bowl, or terms": {"bowl": (0.5, 0.0, 0.0), "alternatives": "both"},
}
# The fifteenth, in one dimension.
SINGLE = {f"β grows from {n}": {"n_few": n} for n in (100, 50, 25, 12)}
SINGLE |= {name: VARIANTS[name] for name in ("β 0.2", "β 0.4")}
SINGLE |= {"β 0.1 and more": {"scale": 0.1, "n_few": 100}}
ALL = VARIANTS | LATER | MARGINS | GROWTH | BOWLS | ALTERNATIVES | SINGLE


def static(mean, scale):
    """GP-UCB, for functions that do not change."""
    surrogate = GPUCB()._make_surrogate(None).set_params(mean_prior_std=mean)
    return GPUCB(acquisition=UCB(DimensionBeta(scale)), surrogate=surrogate)


STATIC = {
    "first version": (0.0, 0.2),
    **{f"mean 1, β {scale:g}": (1.0, scale) for scale in (0.02, 0.05, 0.1, 0.2, 0.4)},
    "mean 4, β 0.1": (4.0, 0.1),
    "mean inf, β 0.1": (np.inf, 0.1),
}


# --- the study ------------------------------------------------------------------------------------


def study(folder, seconds, n_replications, variants, found):
    """Finished runs of the variants on some problems."""
    clock = evaluation.SimulatedClock(partial(constant, seconds))
    with parallel_config("loky", inner_max_num_threads=1):
        return evaluation.compare(
            variants,
            found,
            n_replications,
            clock=clock,
            horizon=HORIZON,
            n_jobs=-1,
            store=folder,
        )


def print_table(comparison, units=None):
    """Regrets in units of another's, run by run: geometric means over the problems.

    ``units`` are pairs of algorithms, one in units of the other; by default all in units of the
    first.
    """
    regrets = {}
    for row in comparison.rows():
        runs = regrets.setdefault(row["algorithm"], {})
        runs.setdefault(row["problem"], []).append(row["average_regret"])
    if units is None:
        units = zip(regrets, repeat(next(iter(regrets))))
    print(f"{'':28}{'regret':>8}{'error':>8}   worst and best problem")
    for name, unit in units:
        runs, first = regrets[name], regrets[unit]
        logs = {p: np.mean(np.log(runs[p]) - np.log(first[p])) for p in first}
        values = np.array(list(logs.values()))
        error = np.std(values, ddof=1) / np.sqrt(len(values))
        ends = [
            f"{p} {np.exp(logs[p]):.2f}" for p in (max(logs, key=logs.get), min(logs, key=logs.get))
        ]
        mean = np.exp(np.mean(values))
        print(f"{name:28}{mean:8.2f}{mean * error:8.2f}   {', '.join(ends)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", help="where finished runs are kept")
    parser.add_argument("--seconds", type=float, default=4.0, help="between two queries")
    parser.add_argument("--replications", type=int, default=3)
    parser.add_argument(
        "--longest", type=float, help="upper bound of l_S where a variant has none of its own"
    )
    parser.add_argument(
        "--margin", type=float, default=0.2, help="where a variant has none of its own"
    )
    parser.add_argument(
        "--many", type=float, default=0.2, help="scale of β with many observations, likewise"
    )
    parser.add_argument("--n-few", type=int, help="observations from which β grows, likewise")
    parser.add_argument(
        "--alternatives", default="bowl", help="of the surrogate, likewise; '' for none"
    )
    parser.add_argument("--variants", nargs="+", choices=ALL, help="all of a round by default")
    rounds = parser.add_mutually_exclusive_group()
    rounds.add_argument("--later", action="store_true", help="the second round")
    rounds.add_argument("--faced", action="store_true", help="an optimum near faces of the box")
    rounds.add_argument("--single", action="store_true", help="one dimension")
    rounds.add_argument("--still", action="store_true", help="GP-UCB's parts, on stopped functions")
    arguments = parser.parse_args()
    found = development_problems()
    if arguments.still:
        found = [Still(problem) for problem in found]
        variants = {name: static(*parts) for name, parts in STATIC.items()}
    else:
        if arguments.later:
            found += later_problems()
        elif arguments.faced:
            found = faced_problems()
        elif arguments.single:
            found = single_problems()
        own = LATER if arguments.later else SINGLE if arguments.single else VARIANTS
        names = arguments.variants or own
        common = {
            name: getattr(arguments, name)
            for name in ("longest", "margin", "many", "n_few", "alternatives")
        }
        variants = {name: Variant(**common | ALL[name]) for name in names}
    folder, seconds = arguments.folder, arguments.seconds
    print_table(study(folder, seconds, arguments.replications, variants, found))


if __name__ == "__main__":
    main()
