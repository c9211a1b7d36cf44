"""Two functions timed in turn: A B A B ..., medians and their ratio."""

import platform
from time import process_time, sleep

import numpy as np


def seconds(function, timer=process_time):
    """Return the duration of one call and its result."""
    start = timer()
    result = function()
    return timer() - start, result


def timed(ours, theirs, repeats, calls=1, timer=process_time):
    """Return the durations of both, called in turn, ours ``calls`` times a turn."""
    ours(), theirs()
    mine, other = [], []
    for _ in range(repeats):
        sleep(0.1)  # threads of the other one may still be spinning
        mine.append(seconds(lambda: [ours() for _ in range(calls)], timer)[0] / calls)
        other.append(seconds(theirs, timer)[0])
    return mine, other


def alternate(ours, theirs, repeats, **options):
    """Return the report of both, timed in turn."""
    return report(*timed(ours, theirs, repeats, **options))


def report(mine, other):
    """Return the medians with their ranges, and the ratio of the medians."""
    a, b = np.median(mine), np.median(other)
    spread = " ".join(f"[{1e3 * min(s):.4g}, {1e3 * max(s):.4g}]" for s in (mine, other))
    return f"ours {1e3 * a:9.4g} ms   theirs {1e3 * b:9.4g} ms   ratio {b / a:8.1f}   {spread}"


def header(title):
    """Print a title and the machine."""
    print(
        f"\n{title}\n({platform.machine()}, Python {platform.python_version()}; medians [min, max])"
    )


def drifting(n, d=3):
    """Return n rows X (n, d + 1) and y (n,) of a function that drifts, with noise."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.uniform(size=(n, d)), np.arange(n)])
    return X, np.sin(5.0 * X[:, 0] + X[:, -1] / 50.0) + 0.1 * rng.normal(size=n)
