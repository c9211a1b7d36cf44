"""An objective that fails in a part of the box."""

import numpy as np

UNIT = [(0.0, 1.0)] * 2


def fails(x):
    """In a quarter of the unit box."""
    return bool(np.max(np.abs(np.asarray(x) - 0.5)) < 0.25)


def value(x):
    return float(np.exp(-4.0 * np.sum((np.asarray(x) - 0.6) ** 2)))


def result(x):
    return {"failed": True} if fails(x) else {"y": value(x)}


def drive(opt, steps, start=0):
    for t in range(start, start + steps):
        x = opt.ask(t)
        opt.tell(x, **result(x))
    return opt
