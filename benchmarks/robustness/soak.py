"""Long runs on a function that drifts: memory, time and regret over the steps.

    OMP_NUM_THREADS=1 python benchmarks/robustness/soak.py [--steps 50000] [--algorithms WDBO BOLT]

Every algorithm has a bounded data set (but for TV-GP-UCB, which forgets nothing, on a finite set
and so with the Kalman filter) and runs in a process of its own. Prints memory after a fifth of the
steps and at the end; the processor time of a step then, of both optimizers in turn; the regret in
the second and in the last tenth, ± the standard error over blocks; and the warnings by kind.
"""

import argparse
import collections
import gc
import pickle
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np

import sktvbo
from sktvbo.domain import FiniteSet

BOX = [(0.0, 1.0), (0.0, 1.0)]
ARMS = FiniteSet(np.random.RandomState(0).uniform(size=(24, 2)))
BOUNDED = {"domain": BOX, "max_size": 40, "refit_every": 50}
KINDS = {
    "RandomSearch": {"domain": BOX},
    "RGPUCB": BOUNDED | {"reset_period": 40},
    "BRGPUCB": BOUNDED | {"reset_period": 40},
    "SWGPUCB": BOUNDED | {"window": 40},
    "TVGPUCB": {"domain": ARMS, "refit_every": None},
}
OTHERS = ["GPUCB", "IGPUCB", "WGPUCB", "UITVBO", "ETGPUCB", "ABO", "WDBO", "BOLT", "SparQGPUCB"]
KINDS |= dict.fromkeys(OTHERS, BOUNDED)
PAIRS = 300  # steps that are timed in turn
BLOCK = 250  # regrets of steps further apart are taken for independent


def value(x, t):
    """Return the height at x of a bump that moves on a circle; its maximum is 0."""
    centre = 0.5 + 0.3 * np.array([np.cos(0.01 * t), np.sin(0.01 * t)])
    return -float(np.sum((np.asarray(x) - centre) ** 2))


def step(optimizer, t, noise=0.0):
    """Make a query, tell its answer, and return its regret."""
    x = optimizer.ask(float(t))
    optimizer.tell(x, value(x, t) + noise, float(t))
    points = getattr(optimizer.domain, "points", None)
    return (0.0 if points is None else max(value(p, t) for p in points)) - value(x, t)


def megabytes():
    gc.collect()
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * 4096 / 2**20


def in_turn(optimizers, times):
    """Return the median processor seconds of a step, of two optimizers in turn."""
    spent = [], []
    for i in range(PAIRS):
        for side in (0, 1) if i % 2 else (1, 0):
            start = time.process_time()
            step(optimizers[side], times[side] + i)
            spent[side].append(time.process_time() - start)
    return np.median(spent, axis=1)


def mean_and_error(regrets):
    means = [np.mean(block) for block in np.array_split(regrets, max(len(regrets) // BLOCK, 2))]
    return f"{np.mean(means):.4f} ± {np.std(means, ddof=1) / np.sqrt(len(means)):.4f}"


def change(a, b, unit):
    return f"{a:.2f} {unit}, then {b:.2f} {unit} ({100.0 * (b / a - 1.0):+.1f} %)"


def soak(name, n_steps, seed):
    optimizer = getattr(sktvbo, name)(**KINDS[name], history=0, random_state=seed)
    noise, regrets = 0.01 * np.random.RandomState(seed).normal(size=n_steps), np.zeros(n_steps)
    kinds, early = collections.Counter(), n_steps // 5
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for t in range(n_steps):
            regrets[t] = step(optimizer, t, noise[t])
            if t + 1 == early:
                pickled, before = pickle.dumps(optimizer), megabytes()
            kinds.update(type(warning.message).__name__ for warning in caught)
            caught.clear()
    after = megabytes()
    a, b = 1e3 * in_turn((pickle.loads(pickled), optimizer), (early, n_steps))
    tenths = np.array_split(regrets, 10)
    print(
        f"{name}: memory {change(before, after, 'MB')}; step {change(a, b, 'ms')}\n"
        f"  regret {mean_and_error(tenths[1])} in the second tenth, {mean_and_error(tenths[-1])} "
        f"in the last; warnings {dict(kinds) or 'none'}",
        flush=True,
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=50_000)
    parser.add_argument("--algorithms", nargs="+", choices=KINDS, default=list(KINDS))
    parser.add_argument("--seed", type=int, default=0, help="of the optimizer and of the noise")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    for name in arguments.algorithms:
        if arguments.here:
            soak(name, arguments.steps, arguments.seed)
        else:
            options = ["--steps", str(arguments.steps), "--seed", str(arguments.seed)]
            command = [sys.executable, __file__, "--here", *options, "--algorithms", name]
            subprocess.run(command, check=True)


if __name__ == "__main__":
    main()
