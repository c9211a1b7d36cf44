"""Runs with limited outcomes."""

import numpy as np

from sktvbo import WDBO

BOX = [(0.0, 1.0), (0.0, 2.0)]
LIMITS = {"load": (None, 0.8), "heat": (-0.5, 1.0)}


def load(x, t):
    return x[0] + 0.2 * np.sin(t / 9.0)


def heat(x, t):
    return x[1] - 0.5 + 0.1 * np.cos(t / 7.0)


def objective(x, t):
    return -((x[0] - 0.9) ** 2) - (x[1] - 1.2) ** 2


def outcomes(x, t):
    return {"load": load(x, t), "heat": heat(x, t)}


def drive(opt, stop, start=0):
    for t in range(start, stop):
        x = opt.ask(float(t))
        opt.tell(x, objective(x, t), outcomes=outcomes(x, t))
    return opt


def on_a_line(limits, kind=WDBO, **options):
    """Return an optimizer of one coordinate, and with safety a start point at 0.2."""
    start = {"start_points": [[0.2]]} if "safety" in options else {}
    return kind([(0.0, 1.0)], outcome_constraints=limits, random_state=0, **start | options)


def measure(opt, steps, c, y=lambda x: x):
    """Ask, and tell y and the outcome "c" of x and t, in these steps; return the queries (n,)."""
    for t in range(steps):
        (x,) = opt.ask(float(t))
        opt.tell([x], y(x), outcomes={"c": c(x, t)})
    return opt.told_X_[:, 0]


def told_of(limits, values):
    """Return an optimizer with values of the outcome "load" at even places, at times 0, 1, ...."""
    opt = on_a_line({"load": limits}, safety=0.9, n_initial_points=4)
    for t, (x, value) in enumerate(zip(np.linspace(0.1, 0.3, len(values)), values)):
        opt.tell([x], np.sin(5.0 * x), float(t), outcomes={"load": value})
    return opt
