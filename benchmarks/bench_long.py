"""Whether step 20,000 is as quick as step 2,000: time of a step, size of the process.

    OMP_NUM_THREADS=1 python benchmarks/bench_long.py [--steps 20000] [--algorithms WDBO BOLT ...]

Every algorithm has a bounded data set (``max_size=15``; `TVGPUCB`, which forgets nothing, a finite
set and so the Kalman filter) and remembers no history. Each runs in a process of its own. Times are
of the processor: steps of the optimizer as it was after the first tenth, which was pickled then,
and of the one that has gone on, in turn.
"""

import argparse
import gc
import pickle
import statistics
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np

import sktvbo
from sktvbo.domain import FiniteSet

BOX = [(0.0, 1.0), (0.0, 1.0)]
COMMON = {"history": 0, "random_state": 0, "refit_every": 200, "n_initial_points": 10}
KINDS = {
    "RandomSearch": {},
    "GPUCB": {},
    "IGPUCB": {},
    "RGPUCB": {"reset_period": 15},
    "BRGPUCB": {"reset_period": 15},
    "SWGPUCB": {"window": 15},
    "TVGPUCB": {"domain": FiniteSet(np.random.RandomState(0).uniform(size=(24, 2)))},
    "WGPUCB": {},
    "UITVBO": {},
    "ETGPUCB": {},
    "ABO": {},
    "WDBO": {},
    "BOLT": {},
    "SparQGPUCB": {},
}
PAIRS = 300


def made(name):
    kind = getattr(sktvbo, name)
    known = kind().get_params(deep=False)
    bound = {} if name in ("TVGPUCB", "BOLT") else {"max_size": 15}
    options = {"domain": BOX, "max_size": 15} if name == "BOLT" else {"domain": BOX, **bound}
    options |= COMMON | KINDS[name]
    return kind(**{key: value for key, value in options.items() if key in known})


def step(optimizer, t):
    x = optimizer.ask(float(t))
    y = -float(np.sum((x - 0.5 - 0.3 * np.sin(0.01 * t)) ** 2)) + 0.1 * np.sin(1e3 * t)
    optimizer.tell(x, y, float(t))


def megabytes():
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * 4096 / 2**20


def run(name, steps):
    """One algorithm, in this process."""
    warnings.simplefilter("ignore")
    optimizer, early = made(name), steps // 10
    for t in range(steps):
        step(optimizer, t)
        if t + 1 == early:
            kept, before = pickle.dumps(optimizer), megabytes()
    after = megabytes()
    pair, spent = (pickle.loads(kept), optimizer), ([], [])
    for i in range(PAIRS):
        for side in (0, 1) if i % 2 else (1, 0):
            start = time.process_time()
            step(pair[side], (early, steps)[side] + i)
            spent[side].append(time.process_time() - start)
    times = [1e3 * statistics.median(seconds) for seconds in spent]
    print(
        f"{name:13} {compared('step', times, 'ms')}   {compared('process', (before, after), 'MB')}"
    )
    sys.stdout.flush()


def compared(what, pair, unit):
    a, b = pair
    return f"{what} {a:7.3f} {unit}, then {b:7.3f} {unit} ({100.0 * (b / a - 1.0):+5.1f} %)"


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--steps", type=int, default=20_000)
    parser.add_argument("--algorithms", nargs="+", choices=KINDS, default=list(KINDS))
    parser.add_argument("--here", action="store_true", help="in this process, one after another")
    arguments = parser.parse_args()
    for name in arguments.algorithms:
        if arguments.here:
            run(name, arguments.steps)
            continue
        options = ["--here", "--steps", str(arguments.steps), "--algorithms", name]
        subprocess.run([sys.executable, __file__, *options], check=True)


if __name__ == "__main__":
    main()
