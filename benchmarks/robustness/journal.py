"""Time of a step with a journal and without, in turn in one process.

python benchmarks/robustness/journal.py [--synchronous full]
"""

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np

from sktvbo import GPUCB, SWGPUCB, WDBO
from sktvbo.journal import Journal

BOX = [(0.0, 1.0)] * 3
CASES = {
    "SW-GP-UCB, window 30, held": (SWGPUCB, {"window": 30, "refit_every": 10**9}),
    "GP-UCB, all kept, held": (GPUCB, {"refit_every": 10**9}),
    "W-DBO, searched at each step": (WDBO, {}),
}
STEPS = 150


def steps(optimizer, t):
    """Seconds of an ask and its tell, by the clock and of the processor."""
    begun = time.perf_counter(), time.process_time()
    x = optimizer.ask(t)
    optimizer.tell(x, float(-np.sum((x - 0.5 - 0.3 * np.sin(0.05 * t)) ** 2)))
    return time.perf_counter() - begun[0], time.process_time() - begun[1]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--synchronous", choices=("normal", "full"), default="normal")
    parser.add_argument("--folder", type=Path, help="on the disk to be measured")
    arguments = parser.parse_args()
    for name, (kind, options) in CASES.items():
        with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
            path = Path(folder) / "run.db"
            journal = Journal(path, synchronous=arguments.synchronous)
            plain = kind(BOX, random_state=0, **options)
            written = kind(BOX, random_state=0, journal=journal, **options)
            without, beside = [], []
            for t in range(STEPS):
                pair = [(plain, without), (written, beside)]
                for optimizer, times in pair if t % 2 else pair[::-1]:
                    times.append(steps(optimizer, float(t)))
            assert np.array_equal(plain.told_X_, written.told_X_)
            late = np.array([without, beside])[:, STEPS // 2 :]
            clock, processor = 1e3 * np.median(late, axis=1).T
            extra = 1e3 * np.median(late[1] - late[0], axis=0)
            print(
                f"{name}: {clock[0]:.2f} ms without, {clock[1]:.2f} ms with, medians (processor "
                f"{processor[0]:.2f} and {processor[1]:.2f}); difference of a pair {extra[0]:.2f} "
                f"ms (processor {extra[1]:.2f}); {path.stat().st_size / STEPS:.0f} bytes a step"
            )
            written.close()


if __name__ == "__main__":
    main()
