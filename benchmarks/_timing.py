"""Two ways of doing the same thing, timed in turn: A B A B ..., medians and their ratio."""

import platform
from time import perf_counter, sleep

import numpy as np


def seconds(function, timer=perf_counter):
    """Duration of one call, and what it returned."""
    start = timer()
    result = function()
    return timer() - start, result


def alternate(ours, theirs, repeats, calls=1, timer=perf_counter):
    """Median seconds of each, called in turn; ours ``calls`` times a turn, to be measurable."""
    ours(), theirs()
    mine, other = [], []
    for _ in range(repeats):
        sleep(0.1)  # threads of the other one may still be spinning
        mine.append(seconds(lambda: [ours() for _ in range(calls)], timer)[0] / calls)
        other.append(seconds(theirs, timer)[0])
    return report(mine, other)


def report(mine, other):
    """Medians with the range of each, and the ratio of the medians."""
    a, b = np.median(mine), np.median(other)
    spread = " ".join(f"[{1e3 * min(s):.4g}, {1e3 * max(s):.4g}]" for s in (mine, other))
    return f"ours {1e3 * a:9.4g} ms   theirs {1e3 * b:9.4g} ms   ratio {b / a:8.1f}   {spread}"


def header(title):
    """Title and machine."""
    print(
        f"\n{title}\n({platform.machine()}, Python {platform.python_version()}; medians [min, max])"
    )


def constant(seconds, n):
    """A response time that does not depend on the size n of the data set."""
    return seconds
