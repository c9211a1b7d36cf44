"""Many optimizers in one process: memory and steps, beside Optuna and scikit-optimize.

    OMP_NUM_THREADS=1 python benchmarks/speed/many_optimizers.py [--optimizers 1000] [--only NAME]

Each library runs in a process of its own. All optimizers get the same observations of a function of
three variables. Memory is the resident size of the process over what it was before the first
optimizer, per optimizer. Then come rounds of steps: ask and tell of each optimizer in turn, so that
no optimizer's data are in the cache of the processor. Steps per second are the median of the
rounds by the processor's clock, with the lowest and highest in brackets.
"""

import argparse
import gc
import importlib
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
from _timing import header

D = 3


def value(x):
    return float(np.exp(-np.sum((np.asarray(x) - 0.4) ** 2)))


def ours(kind):
    """Functions to make an optimizer of sktvbo with its observations, and to make a step."""
    import sktvbo

    def make(X, y, seed):
        optimizer = getattr(sktvbo, kind)([(0.0, 1.0)] * D, clock="step", random_state=seed)
        optimizer.tell_many(X, y, np.arange(len(y)))
        return optimizer

    def step(optimizer):
        x = optimizer.ask()
        optimizer.tell(x, value(x))

    return make, step


def optuna(**options):
    """Functions to make a study of Optuna with its observations, and to make a step."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    space = {f"x{i}": optuna.distributions.FloatDistribution(0.0, 1.0) for i in range(D)}

    def make(X, y, seed):
        sampler = optuna.samplers.TPESampler(seed=seed, **options)
        study = optuna.create_study(direction="maximize", sampler=sampler)
        for row, each in zip(X, y):
            study.add_trial(
                optuna.trial.create_trial(
                    params=dict(zip(space, row.tolist())), distributions=space, value=each
                )
            )
        return study

    def step(study):
        trial = study.ask(space)
        study.tell(trial, value(list(trial.params.values())))

    return make, step


def skopt():
    """Functions to make a GP optimizer of scikit-optimize with its observations, and a step."""
    import skopt

    def make(X, y, seed):
        optimizer = skopt.Optimizer([(0.0, 1.0)] * D, "GP", acq_func="EI", random_state=seed)
        optimizer.tell(X.tolist(), (-y).tolist())
        return optimizer

    def step(optimizer):
        x = optimizer.ask()
        optimizer.tell(x, -value(x))

    return make, step


# The package, its optimizers, and the greatest number of them that is measured.
LIBRARIES = {
    "WDBO": ("sktvbo", lambda: ours("WDBO"), 1000),
    "GPUCB": ("sktvbo", lambda: ours("GPUCB"), 1000),
    "TPE": ("optuna", optuna, 1000),
    "multivariate TPE": ("optuna", lambda: optuna(multivariate=True), 1000),
    "GP": ("skopt", skopt, 50),
}


def resident():
    """Return the resident size of the process in bytes."""
    gc.collect()
    pages = Path("/proc/self/statm").read_text().split()[1]
    return int(pages) * 4096


def measure(name, arguments):
    """Print memory and steps per second of one library."""
    package, library, most = LIBRARIES[name]
    n = min(arguments.optimizers, most)
    warnings.filterwarnings("ignore", module="optuna|skopt|sklearn")
    make, step = library()
    rng = np.random.default_rng(0)
    data = rng.uniform(size=(n + 1, arguments.observations, D))
    observations = [(X, np.array([value(x) for x in X])) for X in data]
    step(make(*observations[n], seed=n))  # everything is imported
    before = resident()
    optimizers = [make(*observations[seed], seed=seed) for seed in range(n)]
    told = (resident() - before) / n
    rates = []
    for _ in range(arguments.rounds):
        start = time.process_time()
        for optimizer in optimizers:
            step(optimizer)
        rates.append(n / (time.process_time() - start))
    after = (resident() - before) / n
    version = importlib.import_module(package).__version__
    print(
        f"{' '.join([package, version, name]):36} {n:5}  {told / 1024:7.0f}  {after / 1024:7.0f}"
        f"   {np.median(rates):8.3g} [{min(rates):.3g}, {max(rates):.3g}]",
        flush=True,
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--optimizers", type=int, default=1000)
    parser.add_argument("--observations", type=int, default=50)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", choices=LIBRARIES)
    arguments = parser.parse_args()
    if arguments.only:
        measure(arguments.only, arguments)
        return
    header(f"Optimizers of {arguments.observations} observations in one process, d = {D}")
    print(f"{'':36} {'':5}  kB with    kB after   steps/s")
    print(f"{'':36} {'n':>5}  the data   steps")
    for name in LIBRARIES:
        subprocess.run([sys.executable, *sys.argv, "--only", name], check=True)


if __name__ == "__main__":
    main()
