"""A step of GP-UCB, ask and tell, beside the GP samplers of other packages.

    OMP_NUM_THREADS=1 python benchmarks/bench_peers.py

CPU time in turn, each on its own n observations of one function, with its own default search of the
hyperparameters and of the next query. A peer that is not installed is left out.
"""

import argparse
import warnings
from importlib.util import find_spec
from time import process_time

import numpy as np
from _timing import header

from sktvbo import GPUCB

D = 3
NAMES = [f"x{i}" for i in range(D)]


def objective(x, rng):
    return float(np.sin(4.0 * np.sum(x)) + 0.1 * rng.normal())


def sktvbo(n, rng):
    optimizer = GPUCB([(0.0, 1.0)] * D, n_initial_points=n, clock="step", random_state=0)
    for t in range(n):
        x = rng.uniform(size=D)
        optimizer.tell(x, objective(x, rng), t)

    def step():
        x = optimizer.ask()
        optimizer.tell(x, objective(x, rng))

    return step


def skopt(n, rng):
    from skopt import Optimizer

    optimizer = Optimizer(
        [(0.0, 1.0)] * D,
        base_estimator="GP",
        acq_func="LCB",
        n_initial_points=n - 1,
        random_state=0,
    )
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


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--size", type=int, default=100)
    parser.add_argument("--repeats", type=int, default=9)
    arguments = parser.parse_args()
    header(f"A step of GP-UCB at n = {arguments.size}, d = {D}, and of others, CPU time")
    warnings.simplefilter("ignore")
    makers = [maker for maker in (sktvbo, skopt, bayes_opt, optuna) if find_spec(maker.__name__)]
    steps = [maker(arguments.size, np.random.RandomState(0)) for maker in makers]
    times = [[] for _ in steps]
    for _ in range(arguments.repeats + 1):
        for step, found in zip(steps, times):
            start = process_time()
            step()
            found.append(process_time() - start)
    ours = np.median(times[0][1:])
    for maker, (_, *found) in zip(makers, times):
        spread = f"[{1e3 * min(found):.4g}, {1e3 * max(found):.4g}]"
        middle = np.median(found)
        print(
            f"{maker.__name__:>10} {1e3 * middle:9.4g} ms   ratio {middle / ours:7.1f}   {spread}"
        )


if __name__ == "__main__":
    main()
