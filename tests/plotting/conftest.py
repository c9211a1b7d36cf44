"""Runs, comparisons and problems for all displays."""

import numpy as np
import pytest
from plotting.cases import KERNELS, VARIANCES, made_run

from sktvbo import WDBO, RandomSearch, TimeVaryingGPRegressor, evaluation, problems
from sktvbo.domain import FiniteSet


@pytest.fixture
def plt():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    yield pyplot
    pyplot.close("all")


@pytest.fixture(scope="session")
def comparison():
    chosen = [problems.make(name, horizon=40.0) for name in ("six-hump-camel", "eggholder")]
    # With this response time the queries of the runs are at different times.
    clock = evaluation.SimulatedClock(response_time=lambda n: 0.7 + 0.02 * n)
    algorithms = {"one": RandomSearch(), "two": RandomSearch()}
    return evaluation.compare(algorithms, chosen, n_replications=3, clock=clock, n_initial=4)


@pytest.fixture(scope="session")
def camel():
    return problems.make("six-hump-camel", horizon=60.0)


@pytest.fixture(scope="session")
def tracked(camel):
    """A W-DBO at two thirds of its run, after some removals."""
    optimizer = evaluation.run(WDBO(n_initial_points=8), camel, horizon=40.0).optimizer
    assert optimizer.n_removed_ > 0
    return optimizer


@pytest.fixture(scope="session")
def arms():
    """A W-DBO on six arms; the best one moves from 1 to 4 at half the horizon."""
    domain = FiniteSet([[0.0, 1.0], [2.0, 0.0], [1.0, 1.0], [3.0, 2.0], [0.0, 3.0], [5.0, 5.0]])
    problem = problems.from_callable(
        lambda x, t: -float(np.sum((x - domain.points[1 if t < 20.0 else 4]) ** 2)),
        domain,
        horizon=40.0,
    )
    result = evaluation.run(WDBO(n_initial_points=5), problem, n_initial=5, horizon=30.0)
    return result.optimizer, problem


@pytest.fixture
def three_runs():
    return [
        made_run([0, 2, 5], [1, 2, 3]),
        made_run([1, 2, 6], [1, 2, 1]),
        made_run([0, 3, 4], [1, 1, 2]),
    ]


@pytest.fixture(scope="session")
def forgetful():
    """A W-DBO in two dimensions with known hyperparameters, after some removals."""
    gp = TimeVaryingGPRegressor(**KERNELS, **VARIANCES, optimizer=None)
    optimizer = WDBO(
        [(0.0, 10.0), (-1.0, 1.0)], surrogate=gp, alpha=2.0, n_initial_points=4, random_state=0
    )
    for t in range(30):
        x = optimizer.ask(float(t))
        optimizer.tell(x, np.cos(x[0] + 0.1 * t) - x[1] ** 2)
    assert 0 < optimizer.n_removed_ < 26
    return optimizer
