"""The papers' own comparisons: average regret by algorithm, over fresh functions, with errors.

    python benchmarks/orderings.py tvgp-fig2 --seeds 20 --n-jobs 2 --output docs/tables

Settings: tvgp-fig2, et-fig2, et-table1, et-table2, sparq-fig1. Each writes SETTING.csv, a line
for each condition and algorithm: mean, standard error and median over the seeds of the average
regret R_T/T, its mean in each quarter of the run, the mean number of resets, and in what share of
the seeds the paper's algorithm is better. In one seed all algorithms see the same function, and
noise from the same stream.
"""

import argparse
import csv
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern

from sktvbo import (
    BRGPUCB,
    ETGPUCB,
    GPUCB,
    IGPUCB,
    RGPUCB,
    SWGPUCB,
    TVGPUCB,
    WGPUCB,
    RandomSearch,
    SparQGPUCB,
    TimeVaryingGPRegressor,
)
from sktvbo.acquisition import UCB, LogBeta
from sktvbo.evaluation import StepClock, run
from sktvbo.gaussian_process import GeometricInjection, WeightedGPRegressor
from sktvbo.kernels import Forgetting
from sktvbo.problems import make
from sktvbo.theory import maximum_information_gain, reset_period

STATIC = ConstantKernel(1.0, "fixed")


def known(spatial, temporal=STATIC, noise=0.01, kind=TimeVaryingGPRegressor, **options):
    """The surrogate that knows the function's hyperparameters."""
    return kind(spatial, temporal, noise_variance=noise, optimizer=None, **options)


def markov(spatial, epsilon, noise, horizon, scale, *, event=False, believed=None):
    """Algorithms and problem for a Markov Gaussian process on a grid of 50 x 50."""
    acquisition = UCB(LogBeta(scale=scale, rate=4.0))
    believed = epsilon if believed is None else believed
    period = reset_period(believed, spatial_kernel=spatial, n_dims=2, horizon=horizon)
    static = {"surrogate": known(spatial, noise=noise), "acquisition": acquisition}
    forgetting = known(spatial, Forgetting(believed, "fixed"), noise)
    algorithms = {
        "GP-UCB": GPUCB(n_initial_points=1, **static),
        "R-GP-UCB": RGPUCB(reset_period=period, n_initial_points=1, **static),
        "TV-GP-UCB": TVGPUCB(
            epsilon=believed, n_initial_points=1, surrogate=forgetting, acquisition=acquisition
        ),
    }
    if event:
        algorithms["ET-GP-UCB"] = ETGPUCB(n_initial_points=1, **static)
    options = {
        "name": "markov-gp",
        "epsilon": epsilon,
        "kernel": spatial,
        "horizon": horizon,
        "noise_variance": noise,
    }
    return algorithms, options, {"n_initial": 0}


def tvgp_fig2():
    """TVGP figure 2a-b: β = 0.8 log(4 t), noise variance 0.01; T = 300, as the text names none."""
    for name, kernel in (
        ("RBF", RBF(0.2, "fixed")),
        ("Matern 5/2", Matern(0.2, "fixed", nu=2.5)),
    ):
        for epsilon in (0.001, 0.01, 0.03):
            yield f"{name}, eps={epsilon}", *markov(kernel, epsilon, 0.01, 300, 0.8)


def et_fig2():
    """ET figure 2 (its table 4): β = 0.4 log(4 t), noise variance 0.02, T = 400."""
    for epsilon in (0.01, 0.03, 0.05):
        yield (
            f"eps={epsilon}",
            *markov(RBF(0.2, "fixed"), epsilon, 0.02, 400, 0.4, event=True),
        )
    yield (
        "eps=0.05, believed 0.001",
        *markov(RBF(0.2, "fixed"), 0.05, 0.02, 400, 0.4, event=True, believed=0.001),
    )


def et_table2():
    """ET table 2: the trigger's probability; as figure 2, for ET-GP-UCB alone."""
    for epsilon in (0.01, 0.03, 0.05):
        _, options, run_options = markov(RBF(0.2, "fixed"), epsilon, 0.02, 400, 0.4)
        static = known(RBF(0.2, "fixed"), noise=0.02)
        algorithms = {
            f"delta={delta}": ETGPUCB(
                delta=delta,
                n_initial_points=1,
                surrogate=static,
                acquisition=UCB(LogBeta(scale=0.4, rate=4.0)),
            )
            for delta in (0.005, 0.01, 0.05, 0.1, 0.5)
        }
        yield f"eps={epsilon}", algorithms, options, run_options


def et_table1():
    """ET table 1: change at two steps, or all the time; T = 500, noise variance 0.1, l = 0.2."""
    kernel, noise, horizon = RBF(0.2, "fixed"), 0.1, 500
    static = {"surrogate": known(kernel, noise=noise), "n_initial_points": 1}
    # The weights that belong to the same variation budget, B_T = 1, as BR's blocks and SW's window.
    gain = maximum_information_gain(kernel(np.linspace(0.0, 1.0, 101)[:, None]), noise, horizon)
    discount = 1.0 - gain**-0.25 / np.sqrt(horizon)
    weighted = known(
        kernel, noise=noise, kind=WeightedGPRegressor, noise_model=GeometricInjection(discount)
    )
    algorithms = {
        "IGP-UCB": IGPUCB(**static),
        "BR-GP-UCB": BRGPUCB(horizon=horizon, **static),
        "SW-GP-UCB": SWGPUCB(horizon=horizon, **static),
        "W-GP-UCB": WGPUCB(surrogate=weighted, n_initial_points=1),
        "ET-GP-UCB": ETGPUCB(acquisition=UCB(LogBeta(0.4, 4.0)), **static),
    }
    for name in ("gp-abrupt", "gp-slow"):
        options = {"name": name, "horizon": horizon, "noise_variance": noise}
        yield name, algorithms, options, {"n_initial": 0}


def sparq_fig1():
    """SparQ figure 1: the moving bump, T = 500; hyperparameters by marginal likelihood."""
    common = {"n_initial_points": 10}
    algorithms = {
        "random": RandomSearch(),
        "GP-UCB": GPUCB(acquisition=UCB("log"), **common),
        "R-GP-UCB": RGPUCB(acquisition=UCB("log"), **common),
        "SW-GP-UCB": SWGPUCB(horizon=500, **common),
        "TV-GP-UCB": TVGPUCB(acquisition=UCB("log"), **common),
        "W-GP-UCB": WGPUCB(**common),
        "SparQ-GP-UCB": SparQGPUCB(**common),
    }
    options = {"name": "moving-bump", "horizon": 500}
    yield "moving bump", algorithms, options, {"n_initial": 10, "expert": "problem"}


# With the algorithm whose regret the others' is compared with, seed by seed.
SETTINGS = {
    "tvgp-fig2": (tvgp_fig2, "TV-GP-UCB"),
    "et-fig2": (et_fig2, "ET-GP-UCB"),
    "et-table1": (et_table1, "ET-GP-UCB"),
    "et-table2": (et_table2, "delta=0.1"),
    "sparq-fig1": (sparq_fig1, "SparQ-GP-UCB"),
}
QUARTERS = 4


def replicate(optimizer, options, run_options, seed):
    """Average regret of a run, in all and in each quarter of it, and the number of resets."""
    problem = make(**options, random_state=seed)
    result = run(optimizer, problem, clock=StepClock(), random_state=seed, **run_options)
    quarters = [part.mean() for part in np.array_split(result.regrets, QUARTERS)]
    resets = result.history.get("n_resets", [np.nan])[-1]
    return [result.regrets.mean(), *quarters, resets]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("setting", choices=SETTINGS)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--n-jobs", type=int, default=2)
    parser.add_argument("--output", type=Path, default=Path("docs/tables"))
    arguments = parser.parse_args()

    setting, rival = SETTINGS[arguments.setting]
    seeds, lines = range(arguments.seeds), []
    for condition, algorithms, options, run_options in setting():
        jobs = [(name, seed) for name in algorithms for seed in seeds]
        regrets = Parallel(n_jobs=arguments.n_jobs)(
            delayed(replicate)(algorithms[name], options, run_options, seed) for name, seed in jobs
        )
        regrets = np.reshape(regrets, (len(algorithms), len(seeds), -1))
        reference = regrets[list(algorithms).index(rival), :, 0]
        for name, values in zip(algorithms, regrets):
            average = values[:, 0]
            error = average.std(ddof=1) / np.sqrt(len(seeds))
            wins = "" if name == rival else f"{np.mean(reference < average):.0%}"
            *quarters, resets = values[:, 1:].mean(axis=0)
            numbers = (average.mean(), error, np.median(average), *quarters)
            resets = "" if np.isnan(resets) else f"{resets:.1f}"
            lines.append([condition, name, *[f"{v:.3f}" for v in numbers], resets, wins])
            print(*lines[-1], sep="\t", flush=True)
    arguments.output.mkdir(parents=True, exist_ok=True)
    header = ["Condition", "Algorithm", "Average regret", "Standard error", "Median"]
    header += [f"Quarter {i + 1}" for i in range(QUARTERS)] + ["Resets", f"{rival} better"]
    with open(arguments.output / f"{arguments.setting}.csv", "w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([header, *lines])


if __name__ == "__main__":
    main()
