"""solver="auto" against the measured cost of a likelihood with its gradient."""

from time import process_time

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.gaussian_process.kernels import ExpSineSquared, Matern

from sktvbo import TimeVaryingGPRegressor
from sktvbo.kernels import Forgetting, with_seasons

DAY = ExpSineSquared(1.5, 24.0)
KERNELS = {
    "forgetting": (Forgetting(0.05), None),
    "matern": (Matern(20.0, nu=2.5), None),
    "sum": (Matern(20.0, nu=1.5) + 0.5 * Matern(5.0, nu=0.5), None),
    "season": (Matern(48.0, nu=2.5) + Matern(100.0, nu=1.5) * DAY, None),
    "seasons": (with_seasons(Matern(48.0, nu=2.5), 24.0, 168.0), None),
    "decays": (Matern(30.0, nu=1.5) * ExpSineSquared(1.0, 7.0) * Matern(9.0, nu=0.5), None),
    "level": (Matern(20.0, nu=1.5), 0.5 * Matern(5.0, nu=0.5)),
}
# Kernel, rows, places, times, and the solver that took less than half of the processor time in
# benchmarks/speed/solvers.py.
FASTER = [
    ("forgetting", 1000, 15, "irregular", "Filter"),
    ("forgetting", 1000, 150, "irregular", "Dense"),
    ("matern", 1000, 1, "irregular", "Filter"),
    ("matern", 1000, 50, "irregular", "Dense"),
    ("matern", 2000, 50, "coincident", "Filter"),
    ("sum", 500, 1, "regular", "Filter"),
    ("season", 700, 1, "irregular", "Filter"),
    ("seasons", 600, 1, "regular", "Dense"),
    ("seasons", 2500, 1, "regular", "Filter"),
    ("decays", 500, 1, "regular", "Dense"),
    ("decays", 1500, 1, "irregular", "Dense"),
    ("level", 600, 5, "coincident", "Filter"),
    ("level", 600, 50, "irregular", "Dense"),
]


def solver_of(gp):
    return type(gp._gp).__name__


def case(kernel, n, n_places, times):
    """Return an unfitted regressor, and n rows at places in turn."""
    rng, i = np.random.RandomState(0), np.arange(n)
    t = {"regular": 1.0 * i, "irregular": np.cumsum(rng.uniform(0.5, 1.5, n))}
    t["coincident"] = i // n_places
    S = rng.uniform(size=(n_places, 2 * (n_places > 1)))
    X = np.column_stack([S[i % n_places], t[times]])
    spatial = Matern(0.3, nu=2.5) if n_places > 1 else None
    temporal, level = KERNELS[kernel]
    gp = TimeVaryingGPRegressor(spatial, temporal, level_kernel=level, optimizer=None)
    return gp, X, np.sin(i / 10.0) + 0.1 * rng.normal(size=n)


@pytest.mark.parametrize(("kernel", "n", "n_places", "times", "faster"), FASTER)
def test_auto_takes_the_solver_that_is_much_faster(kernel, n, n_places, times, faster):
    gp, X, y = case(kernel, n, n_places, times)
    assert solver_of(gp.fit(X, y)) == faster


@pytest.mark.slow
@pytest.mark.parametrize(("kernel", "n", "n_places", "times", "faster"), FASTER)
def test_the_costs_are_as_measured(kernel, n, n_places, times, faster):
    gp, X, y = case(kernel, n, n_places, times)
    seconds = {}
    for kind, solver in (("Dense", "dense"), ("Filter", "kalman")):
        fitted = clone(gp).set_params(solver=solver).fit(X, y)
        seconds[kind] = np.inf
        for _ in range(3):
            start = process_time()
            fitted.log_marginal_likelihood(fitted.theta_, True)
            seconds[kind] = min(seconds[kind], process_time() - start)
    assert seconds.pop(faster) < 1.5 * min(seconds.values())


def test_rows_that_come_and_go_change_the_solver():
    gp, X, y = case("seasons", 2500, 1, "regular")
    gp.fit(X[:600], y[:600])
    assert solver_of(gp) == "Dense"
    more = gp.condition_on(X[600:], y[600:])
    assert solver_of(more) == "Filter"
    assert solver_of(more.without(np.arange(1900))) == "Dense"
