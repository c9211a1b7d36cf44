"""Long runs on a function that drifts: memory, time, regret, posterior and warnings over the steps.

    python benchmarks/soak.py [--steps 50000] [--algorithms bolt wdbo sw tv et] [--seconds 600]
        [--seed 0]

Of each algorithm: by how much memory grows from the first fifth to the end, and the time of a step,
of the optimizer as it was after the first fifth and as it is at the end, in turn; the regret of all
tenths, how far the posterior is from one that is conditioned afresh, how often the factor was made
anew, and the warnings by kind. The regret is also put beside that of new optimizers, which begin at
the start of the second tenth, or of the last, and see the same function with the same noise: what
they have too is not the long run's. ``--seconds`` stops each algorithm after a while, and says at
which step.
"""

import argparse
import collections
import gc
import pickle
import statistics
import sys
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.base import clone

from sktvbo import BOLT, ETGPUCB, SWGPUCB, TVGPUCB, WDBO
from sktvbo.domain import FiniteSet

BOX = [(0.0, 1.0), (0.0, 1.0)]
ARMS = FiniteSet(np.random.RandomState(0).uniform(size=(24, 2)))
COMMON = {"history": 10_000}
NEW = 3  # optimizers that begin at the start of a tenth
PAIRS = 1000  # steps that are timed in turn
ALGORITHMS = {
    "bolt": lambda: BOLT(BOX, max_size=40, refit_every=50, **COMMON),
    "wdbo": lambda: WDBO(BOX, max_size=60, refit_every=50, **COMMON),
    "sw": lambda: SWGPUCB(BOX, window=40, refit_every=50, **COMMON),
    "tv": lambda: TVGPUCB(ARMS, refit_every=None, **COMMON),
    "et": lambda: ETGPUCB(BOX, refit_every=50, **COMMON),
}


def value(x, t):
    """A bump that goes in a circle, and its greatest value 0."""
    centre = 0.5 + 0.3 * np.array([np.cos(0.01 * t), np.sin(0.01 * t)])
    return -float(np.sum((np.asarray(x) - centre) ** 2))


def best(optimizer, t):
    points = getattr(optimizer.domain, "points", None)
    return 0.0 if points is None else max(value(x, t) for x in points)


def resident():
    """Memory of this process, in MB."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * 4096 / 1e6


def off(optimizer, told):
    """Distance of the posterior from one conditioned afresh, in standard deviations of y.

    Where the surrogate has absorbed rows, that is of all that was ``told``, rows (n, d + 2).
    """
    surrogate = optimizer.surrogate_
    X, y = surrogate.X_train_, surrogate.y_train_
    if surrogate.n_absorbed_:
        X, y = np.column_stack([ARMS.to_unit(told[:, :-2]), told[:, -2]]), told[:, -1]
    learnt = {
        name: getattr(surrogate, f"{name}_")
        for name in ("spatial_kernel", "temporal_kernel", "signal_variance", "noise_variance")
    }
    # A matrix of many rows has no room in memory: those are filtered afresh.
    solver = "dense" if len(X) <= 5000 else "kalman"
    fresh = clone(surrogate).set_params(optimizer=None, solver=solver, **learnt)
    fresh.fit(X, y)
    grid = np.random.RandomState(1).uniform(size=(50, 2))
    rows = np.column_stack([grid, np.full(50, X[:, -1].max() + 1.0)])
    mean, std = surrogate.predict(rows, return_std=True)
    mean_fresh, std_fresh = fresh.predict(rows, return_std=True)
    scale = np.std(y) or 1.0
    return max(np.abs(mean - mean_fresh).max(), np.abs(std - std_fresh).max()) / scale


def step(optimizer, t, noise, told=None):
    """A query and its answer, to be noted in ``told`` (d + 2,); the regret."""
    x = optimizer.ask(t)
    y = value(x, t) + noise
    optimizer.tell(x, y)
    if told is not None:
        told[:] = *x, t, y
    return best(optimizer, t) - value(x, t)


def anew(name, first, last, noise):
    """Mean regrets of optimizers that begin at a step, after their initial queries."""
    found = []
    for seed in range(1, NEW + 1):
        optimizer = ALGORITHMS[name]().set_params(random_state=seed)
        regrets = [step(optimizer, t, noise[t]) for t in range(first, last)]
        found.append(np.mean(regrets[optimizer.n_initial_points :]))
    return " ".join(f"{regret:.4f}" for regret in sorted(found))


def error(regrets):
    """Standard error of the mean of regrets, which hang together for less than a block."""
    blocks = [np.mean(block) for block in np.array_split(regrets, max(len(regrets) // 250, 2))]
    return np.std(blocks, ddof=1) / np.sqrt(len(blocks))


def in_turn(early, late, t_early, t_late):
    """Seconds of the processor that a step takes, of two optimizers in turn: medians."""
    spent = [], []
    for i in range(PAIRS):
        pair = [(early, t_early + i, spent[0]), (late, t_late + i, spent[1])]
        for optimizer, t, seconds in pair if i % 2 else pair[::-1]:
            before = time.process_time()
            step(optimizer, t, 0.0)
            seconds.append(time.process_time() - before)
    return [statistics.median(seconds) for seconds in spent]


def soak(name, steps, seconds, seed):
    noise = 0.01 * np.random.RandomState(seed).normal(size=steps)
    # What the script itself remembers has its room from the beginning.
    optimizer = ALGORITHMS[name]().set_params(random_state=seed)
    regrets, told = np.full(steps, np.nan), np.full((steps, len(BOX) + 2), np.nan)
    n, memory, early = 0, [], None
    begun, kinds = time.monotonic(), collections.Counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for t in range(steps):
            regrets[t], n = step(optimizer, t, noise[t], told[t]), t + 1
            if t + 1 == steps // 5:
                early = pickle.dumps(optimizer)
            if t % 100 == 99:
                gc.collect()
                memory.append(resident())
                kinds.update(type(warning.message).__name__ for warning in caught)
                caught.clear()
            if time.monotonic() - begun > seconds:
                break
    regrets, end, tenth = regrets[:n], resident(), n // 10
    start = memory[len(memory) // 5] if memory else end
    distance, remade = off(optimizer, told[:n]), optimizer.surrogate_.n_remade_
    kept = f"{len(optimizer.X_)} held, {optimizer.n_absorbed_} absorbed of {optimizer.n_told_}"
    times = "of which the first fifth was not reached"
    if early is not None:
        before, after = in_turn(pickle.loads(early), optimizer, steps // 5, n)
        times = f"{1e3 * before:.2f} ms after a fifth, {1e3 * after:.2f} ms at the end "
        times += f"({100.0 * (after / before - 1.0):+.1f} %; medians of {PAIRS} pairs in turn)"
    tenths = np.array_split(regrets, 10)
    means, errors = [np.mean(part) for part in tenths], [error(part) for part in tenths]
    print(
        f"{name}: {n} of {steps} steps, {kept}\n"
        f"  memory {start:.1f} MB after a fifth, {end:.1f} MB at the end "
        f"({100.0 * (end / start - 1.0):+.1f} %)\n"
        f"  step {times}\n"
        f"  regret of the tenths: {' '.join(f'{mean:.4f}' for mean in means)}; "
        f"errors {errors[1]:.4f} of the second, {errors[-1]:.4f} of the last\n"
        f"    of new optimizers: {anew(name, tenth, 2 * tenth, noise)} in the second tenth, "
        f"{anew(name, n - tenth, n, noise)} in the last\n"
        f"  posterior off a fresh one by {distance:.1e}; "
        f"made anew {remade} times since the last search\n"
        f"  warnings: {dict(kinds) or 'none'}",
        flush=True,
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=50_000)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--algorithms", nargs="+", choices=ALGORITHMS, default=list(ALGORITHMS))
    parser.add_argument("--seed", type=int, default=0, help="of the optimizer and of the noise")
    arguments = parser.parse_args()
    for name in arguments.algorithms:
        soak(name, arguments.steps, arguments.seconds, arguments.seed)


if __name__ == "__main__":
    sys.exit(main())
