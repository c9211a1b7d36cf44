"""Steps of an optimizer, tell and ask in d = 3, beside the steps of other packages.

    OMP_NUM_THREADS=1 python benchmarks/speed/steps.py wdbo        # beside wdbo_algo
    OMP_NUM_THREADS=1 python benchmarks/speed/steps.py gpucb       # beside other GP samplers
    OMP_NUM_THREADS=1 python benchmarks/speed/steps.py response    # R(n) of W-DBO

All times are of the processor, in turn, on observations of the same function. Each package
searches its hyperparameters and maximizes its acquisition with its own defaults. A peer that is
not installed is left out. ``response`` prints R(n), the time of a W-DBO step by the size n of its
data set, with a budget that removes next to nothing, and its coefficients of 1, n, n², n³ in
seconds.
"""

import argparse
import warnings
from functools import partial
from importlib.util import find_spec

import numpy as np
from _timing import header, report, seconds
from sklearn.base import clone
from sklearn.gaussian_process.kernels import Matern

from sktvbo import GPUCB, WDBO, TimeVaryingGPRegressor
from sktvbo.staleness import ResponseTime

D = 3
NAMES = [f"x{i}" for i in range(D)]
BOX = [(0.0, 1.0)] * D


def objective(x, rng, t=0.0):
    return float(np.sin(4.0 * np.sum(x) + 6.0 * t) + 0.1 * rng.normal())


# --- W-DBO ----------------------------------------------------------------------------------------


class Ours:
    """W-DBO of this package."""

    def __init__(self, n, alpha=None):
        options = {} if alpha is None else {"alpha": alpha}
        self._optimizer = WDBO(BOX, n_initial_points=n, random_state=0, **options)

    def tell(self, x, y, t):
        self._optimizer.tell(x, y, t)

    def ask(self, t):
        return self._optimizer.ask(t)

    @property
    def data(self):
        return self._optimizer.X_, self._optimizer.y_

    @property
    def surrogate(self):
        return self._optimizer.surrogate_


class Theirs:
    """W-DBO by its authors, wdbo_algo, for time in [0, 1]; it draws from the global generators."""

    def __init__(self, n, alpha=None):
        import gpytorch
        import torch
        from wdbo_algo.optimizer import WDBOOptimizer

        torch.set_default_dtype(torch.float64)
        warnings.filterwarnings("ignore", module="gpytorch|botorch|linear_operator")
        np.random.seed(0)
        matern = gpytorch.kernels.MaternKernel
        options = () if alpha is None else (alpha,)
        self._optimizer = WDBOOptimizer(np.array(BOX), matern, matern, [2.5], [1.5], n, *options)

    def tell(self, x, y, t):
        self._optimizer.tell(x, t, y)
        self._optimizer.clean(t)

    def ask(self, t):
        return self._optimizer.next_query(t)

    @property
    def data(self):
        return self._optimizer._xx_tt, self._optimizer._yy

    @property
    def hyperparameters(self):
        return self._optimizer._gpr.get_kernel_log_hyperparameters()


def step_of(optimizer, x, y, t, next_t):
    optimizer.tell(x, y, t)
    return optimizer.ask(next_t)


def wdbo(sizes, n_steps):
    header(f"A W-DBO step, d = {D}: tell, search, forget, ask; theirs: wdbo_algo")
    for n in sizes:
        rng, sides, times = np.random.default_rng(0), (Ours(n), Theirs(n)), ([], [])
        for t in np.linspace(0.0, 0.5, n):
            x = rng.uniform(size=D)
            y = objective(x, rng, t)
            for side in sides:
                side.tell(x, y, t)
        gap = 0.5 / n
        x, _ = (side.ask(t + gap) for side in sides)
        likelihoods = []
        for _ in range(n_steps):
            t += gap
            y, queries = objective(x, rng, t), []
            for side, found in zip(sides, times):
                elapsed, query = seconds(partial(step_of, side, x, y, t, t + gap))
                found.append(elapsed)
                queries.append(query)
            x = queries[0]
            likelihoods.append(likelihoods_of(*sides))
        kept = [len(side.data[1]) for side in sides]
        means = "ours {:.2f}, theirs {:.2f}".format(*np.median(likelihoods, axis=0))
        print(f"n = {n:4d}   {report(*times)}   kept {kept}   log likelihood {means}", flush=True)


def likelihoods_of(ours, theirs):
    """Return the log likelihoods of both sides' hyperparameters, each of its own model.

    The data are those of theirs.
    """
    paper = TimeVaryingGPRegressor(Matern(nu=2.5), Matern(nu=1.5), normalize_y=True)
    models = clone(ours.surrogate), paper
    found = ours.surrogate.theta_, theirs.hyperparameters
    return [
        model.set_params(optimizer=None).fit(*theirs.data).log_marginal_likelihood(theta)
        for model, theta in zip(models, found)
    ]


def response(sizes, n_steps, repeats=5):
    header(f"R(n), a W-DBO step at d = {D}: the least median of {repeats} repetitions")
    for make in (Ours, Theirs) if find_spec("wdbo_algo") else (Ours,):
        kept, least = [], []
        for n in sizes:
            runs = [repetition(make, n, n_steps, seed) for seed in range(repeats)]
            kept.append(runs[0][1])
            least.append(min(median for median, _ in runs))
            print(f"{make.__name__:7} n = {kept[-1]:4}   {1e3 * least[-1]:9.2f} ms", flush=True)
        coefficients = ", ".join(f"{c:.3g}" for c in ResponseTime(kept, least).coefficients)
        print(f"{make.__name__:7} R(n) = ({coefficients}) · (1, n, n², n³)")


def repetition(make, n, n_steps, seed):
    """Return the median seconds of a step from n observations, and the size at the end."""
    rng, optimizer, times = np.random.default_rng(seed), make(n, alpha=1e-12), []
    for t in np.linspace(0.0, 0.5, n):
        x = rng.uniform(size=D)
        optimizer.tell(x, objective(x, rng, t), t)
    gap = 0.5 / n
    x = optimizer.ask(t + gap)
    for _ in range(n_steps):
        t += gap
        y = objective(x, rng, t)
        elapsed, x = seconds(partial(step_of, optimizer, x, y, t, t + gap))
        times.append(elapsed)
    return np.median(times), len(optimizer.data[1])


# --- GP-UCB: each function returns a step from n observations -------------------------------------


def sktvbo(n, rng):
    optimizer = GPUCB(BOX, n_initial_points=n, clock="step", random_state=0)
    for t in range(n):
        x = rng.uniform(size=D)
        optimizer.tell(x, objective(x, rng), t)

    def step():
        x = optimizer.ask()
        optimizer.tell(x, objective(x, rng))

    return step


def skopt(n, rng):
    from skopt import Optimizer

    optimizer = Optimizer(BOX, "GP", acq_func="LCB", n_initial_points=n - 1, random_state=0)
    X = rng.uniform(size=(n, D)).tolist()
    optimizer.tell(X, [-objective(x, rng) for x in X])

    def step():
        x = optimizer.ask()
        optimizer.tell(x, -objective(x, rng))

    return step


def bayes_opt(n, rng):
    from bayes_opt import BayesianOptimization
    from bayes_opt.acquisition import UpperConfidenceBound

    optimizer = BayesianOptimization(
        None,
        dict.fromkeys(NAMES, (0.0, 1.0)),
        acquisition_function=UpperConfidenceBound(),
        random_state=0,
        verbose=0,
        allow_duplicate_points=True,
    )
    for _ in range(n):
        x = rng.uniform(size=D)
        optimizer.register(dict(zip(NAMES, x)), objective(x, rng))

    def step():
        found = optimizer.suggest()
        optimizer.register(found, objective([found[name] for name in NAMES], rng))

    return step


def optuna(n, rng):
    import optuna as package

    package.logging.set_verbosity(package.logging.ERROR)
    sampler = package.samplers.GPSampler(seed=0, n_startup_trials=10)
    study = package.create_study(direction="maximize", sampler=sampler)
    box = {name: package.distributions.FloatDistribution(0.0, 1.0) for name in NAMES}
    for _ in range(n):
        x = rng.uniform(size=D)
        trial = package.trial.create_trial(
            params=dict(zip(NAMES, x)), distributions=box, value=objective(x, rng)
        )
        study.add_trial(trial)

    def step():
        trial = study.ask(box)
        study.tell(trial, objective([trial.params[name] for name in NAMES], rng))

    return step


def gpucb(sizes, n_steps):
    makers = [sktvbo, *(maker for maker in (skopt, bayes_opt) if find_spec(maker.__name__))]
    if find_spec("optuna") and find_spec("torch"):
        makers.append(optuna)
    warnings.simplefilter("ignore")
    for n in sizes:
        header(f"A step of GP-UCB at n = {n}, d = {D}, beside the GP samplers of others")
        steps = [maker(n, np.random.RandomState(0)) for maker in makers]
        times = [[seconds(step)[0] for step in steps] for _ in range(n_steps + 1)][1:]
        medians = np.median(times, axis=0)
        for maker, median, *found in zip(makers, medians, *times):
            ends = f"[{1e3 * min(found):.4g}, {1e3 * max(found):.4g}]"
            print(
                f"{maker.__name__:>10} {1e3 * median:9.4g} ms   {median / medians[0]:7.1f}   {ends}"
            )


PARTS = {"wdbo": (wdbo, [30, 60, 120, 240], 12), "gpucb": (gpucb, [100], 9)}
PARTS["response"] = (response, [15, 30, 60, 120, 240], 5)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("part", choices=PARTS)
    parser.add_argument("--sizes", type=int, nargs="+")
    parser.add_argument("--steps", type=int)
    arguments = parser.parse_args()
    function, sizes, n_steps = PARTS[arguments.part]
    function(arguments.sizes or sizes, arguments.steps or n_steps)


if __name__ == "__main__":
    main()
