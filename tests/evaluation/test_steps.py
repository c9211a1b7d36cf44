"""Runs step by step."""

import inspect
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from sktvbo import ABO, GPUCB, WDBO, RandomSearch, SparQGPUCB
from sktvbo.evaluation import SimulatedClock, StepClock, WallClock, run, steps
from sktvbo.exceptions import AskTellError, InvalidObservationError
from sktvbo.problems import from_callable, make


@pytest.fixture
def problem():
    return make("six-hump-camel", horizon=30.0, random_state=5)


@pytest.mark.parametrize(
    ("optimizer", "clock"),
    [
        (WDBO(n_initial_points=6), StepClock()),
        (WDBO(n_initial_points=6), SimulatedClock(lambda n: 0.7, call_duration=0.3)),
        (ABO(n_initial_points=6), StepClock()),
        (RandomSearch(), None),
    ],
)
def test_a_run_is_its_steps(problem, optimizer, clock):
    result = run(optimizer, problem, clock, n_initial=6, random_state=2)
    found = list(steps(optimizer, problem, clock, n_initial=6, random_state=2))
    assert_array_equal([step.time for step in found], result.times)
    assert_array_equal([step.x for step in found], result.queries)
    assert_array_equal([step.y for step in found], result.observations)
    assert_array_equal([step.size for step in found], result.dataset_sizes)
    assert_array_equal([step.removed for step in found], result.removed_counts)
    assert [step.initial for step in found] == [True] * 6 + [False] * (len(result.times) - 6)
    assert all(step.seconds > 0.0 for step in found)


def test_experts_are_asked_during_the_run():
    bump = make("moving-bump", horizon=20)
    options = {"n_initial": 6, "expert": "problem"}
    found = list(steps(SparQGPUCB(n_initial_points=5), bump, **options))
    result = run(SparQGPUCB(n_initial_points=5), bump, **options)
    assert_array_equal([step.y for step in found], result.observations)


def test_a_step_has_the_surrogate_before_its_observation(problem):
    before = None
    for i, step in enumerate(steps(WDBO(n_initial_points=8), problem, n_initial=8), 1):
        optimizer = step.optimizer
        assert (optimizer.n_told_, len(optimizer.X_)) == (i, step.size)
        assert_array_equal(optimizer.told_X_[-1], [*step.x, step.time])
        assert step.surrogate is before
        assert (step.surrogate is None) == (i <= 8)
        before = optimizer.surrogate_


def test_the_surrogate_of_a_step_does_not_change_later(problem):
    rows = [[0.2, 15.0], [0.7, 15.0]]
    run_ = steps(WDBO(n_initial_points=8), problem, n_initial=8)
    surrogate = [next(run_) for _ in range(12)][-1].surrogate
    believed = surrogate.predict(rows, return_std=True)
    for _ in run_:
        pass
    assert_array_equal(surrogate.predict(rows, return_std=True), believed)


def test_a_run_can_be_stopped_and_inspected_between_steps(problem):
    run_ = steps(GPUCB(n_initial_points=6), problem, n_initial=6)
    for step in run_:
        if step.time == 12.0:
            break
    run_.close()
    assert list(run_) == []
    optimizer = step.optimizer
    shorter = run(GPUCB(n_initial_points=6), problem, n_initial=6, horizon=13.0)
    assert_array_equal(optimizer.told_X_[:, :-1], shorter.queries)
    # Calls between two steps do not change the run.
    straight = run(GPUCB(n_initial_points=6), problem, n_initial=6)
    watched = []
    for step in steps(GPUCB(n_initial_points=6), problem, n_initial=6):
        if not step.initial:
            step.optimizer.recommend(step.time)
        watched.append(step.y)
    assert_array_equal(watched, straight.observations)


def test_steps_are_made_one_at_a_time(problem):
    asked = []

    def value(x, t):
        asked.append(t)
        return float(x[0])

    line = from_callable(value, [(0.0, 1.0)], horizon=10.0, optimum=lambda t: ([1.0], 1.0))
    run_ = steps(RandomSearch(), line, n_initial=2)
    assert inspect.isgenerator(run_)
    assert asked == []
    next(run_)
    assert asked == [0.0]
    next(run_)
    next(run_)
    assert asked == [0.0, 1.0, 2.0]


def test_a_wall_clock_counts_the_time_between_steps():
    box = make("ackley", horizon=0.3)
    times = []
    for step in steps(RandomSearch(), box, WallClock(), n_initial=1):
        times.append(step.time)
        if len(times) == 3:
            break
    assert np.all(np.diff(times) > 0.0)


def test_invalid_arguments_are_refused_before_the_first_step(problem):
    with pytest.raises(TypeError, match=r"Got 'ackley' instead. Make one with sktvbo.problems.mak"):
        steps(WDBO(), "ackley")
    with pytest.raises(TypeError, match="must be an ask/tell optimizer"):
        steps("WDBO", problem)
    with pytest.raises(ValueError, match="horizon must be"):
        steps(WDBO(), problem, horizon=31.0)
    with pytest.raises(ValueError, match="n_initial must be at most"):
        steps(WDBO(), problem, n_initial=31)
    with pytest.raises(TypeError, match="expert must be"):
        steps(WDBO(), problem, expert=3)


def test_an_error_in_a_step_is_raised_there(problem):
    broken = from_callable(
        lambda x, t: float(x[0]) if t < 4.0 else np.inf,
        [(0.0, 1.0)],
        horizon=9.0,
        optimum=lambda t: ([1.0], 1.0),
    )
    seen = []
    with pytest.raises(InvalidObservationError, match="finite"):
        seen.extend(step.time for step in steps(RandomSearch(), broken, n_initial=1))
    assert seen == [0.0, 1.0, 2.0, 3.0]

    class Late(RandomSearch):
        def suggest(self, t=None, n=None, *, context=None):
            return replace(super().suggest(t), t=t - 1.0)

    with pytest.raises(AskTellError, match=r"must be at least t\. Got 0\.0 for t=1\.0"):
        list(steps(Late(), problem, n_initial=1))


def test_a_step_cannot_be_changed(problem):
    step = next(steps(RandomSearch(), problem))
    with pytest.raises(AttributeError):
        step.y = 0.0
