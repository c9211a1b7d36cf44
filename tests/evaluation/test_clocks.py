"""Clocks: how time passes during a run."""

import pickle
import time
from copy import deepcopy

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from sktvbo.evaluation import (
    Clock,
    SimulatedClock,
    StepClock,
    ThinkingClock,
    WallClock,
    response_time,
)
from sktvbo.exceptions import InvalidObservationError


def walk(clock, start, n, wait=0.0, size=0):
    """Return (asked at, query at) of n queries that each want to wait."""
    clock.start(start)
    pairs = []
    for _ in range(n):
        t = clock.now()
        pairs.append((t, clock.answer(size, t + wait)))
        clock.told()
    return pairs


def constant(seconds):
    return lambda n: seconds


# --- steps and simulated time ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("clock", "start", "options", "expected"),
    [
        (StepClock(), 3, {}, [(3.0, 3.0), (4.0, 4.0)]),
        # A wait takes whole steps, and a rounding error is not a wait.
        (StepClock(), 0, {"wait": 1.5}, [(0.0, 2.0), (3.0, 5.0)]),
        (StepClock(), 0, {"wait": 1e-12}, [(0.0, 0.0), (1.0, 1.0)]),
        # A response time plus the duration of the call.
        (SimulatedClock(constant(0.5), call_duration=1.0), 2.0, {}, [(2.0, 2.5), (3.5, 4.0)]),
        (SimulatedClock(lambda n: 0.25 * n), 0.0, {"size": 4}, [(0.0, 1.0), (1.0, 2.0)]),
        # A wait replaces a shorter response time.
        (SimulatedClock(constant(0.5)), 0.0, {"wait": 2.0}, [(0.0, 2.0), (2.0, 4.0)]),
        (SimulatedClock(constant(0.5)), 0.0, {"wait": 0.1}, [(0.0, 0.5), (0.5, 1.0)]),
    ],
)
def test_times_of_queries(clock, start, options, expected):
    assert walk(clock, start, 2, **options) == expected


def test_initial_steps():
    times, start = StepClock().initial_times(4, 10.0, np.random.RandomState(0))
    assert_array_equal(times, [0, 1, 2, 3])
    assert start == 4.0
    assert len(StepClock().initial_times(10, 10.0, None)[0]) == 10
    with pytest.raises(
        ValueError, match=r"n_initial must be at most the steps before the horizon, 10. Got 11"
    ):
        StepClock().initial_times(11, 10.0, None)


@pytest.mark.parametrize("start", [0.0, 1e9])
def test_simulated_time_must_advance(start):
    clock = SimulatedClock(constant(0.0 if start == 0.0 else 1e-9))
    clock.start(start)
    with pytest.raises(InvalidObservationError, match=r"response_time\(7\) \+ call_duration must"):
        clock.answer(7, start)


@pytest.mark.parametrize("seconds", [-1.0, np.nan, np.inf, "1.0", None, [1.0]])
def test_simulated_response_must_be_a_duration(seconds):
    clock = SimulatedClock(constant(seconds), call_duration=5.0)
    clock.start(0.0)
    with pytest.raises(InvalidObservationError, match=r"response_time\(3\) must be a float in"):
        clock.answer(3, 0.0)


def test_simulated_clock_rejects_bad_arguments():
    with pytest.raises(TypeError, match=r"callable.*Got 0.5 instead. Write lambda n: 0.5"):
        SimulatedClock(0.5)
    with pytest.raises(TypeError, match=r"one of papers, .*Write response_time\('papers'\)"):
        SimulatedClock(response_time=response_time)


@pytest.mark.parametrize("duration", [-1.0, np.nan, np.inf])
@pytest.mark.parametrize("clock", [ThinkingClock, lambda call: SimulatedClock("papers", call)])
def test_a_call_duration_is_finite_and_not_negative(clock, duration):
    with pytest.raises(ValueError, match=r"'call_duration' .* range \[0, inf\). Got .* instead"):
        clock(duration)


@pytest.mark.parametrize("name", ["papers", "sktvbo"])
def test_named_response_times_are_growing_cubics(name):
    R = response_time(name)
    coefficients = R.coefficients
    assert len(coefficients) == 4
    assert min(coefficients) >= 0.0
    for n in (0, 15, 300):
        by_hand = sum(c * n**power for power, c in enumerate(coefficients))
        assert R(n) == pytest.approx(by_hand, rel=1e-12)
    assert 0.0 < R(15) < R(120) < R(500)
    assert pickle.loads(pickle.dumps(R))(120) == R(120)
    faster = response_time(f"{name}/2.5")
    assert faster(120) == pytest.approx(R(120) / 2.5, rel=1e-14)
    named, given = SimulatedClock(name, 0.5), SimulatedClock(R, 0.5)
    assert walk(named, 1.0, 5, size=100) == walk(given, 1.0, 5, size=100)


@pytest.mark.parametrize("name", ["paper", "", "papers/", "papers/0", "papers/inf", "/2"])
@pytest.mark.parametrize("function", [response_time, SimulatedClock])
def test_unknown_response_times_name_the_known_ones(function, name):
    with pytest.raises(ValueError, match=f"one of papers, sktvbo, .*. Got '{name}' instead"):
        function(name)


# --- real time ------------------------------------------------------------------------------------


def test_wall_clock_sleeps_until_the_query():
    clock = WallClock()
    clock.start(0.0)
    tic = time.perf_counter()
    assert 0.03 <= clock.answer(5, not_before=0.03) < 1.0
    assert time.perf_counter() - tic >= 0.029


def test_thinking_clock_counts_processor_time():
    clock = ThinkingClock()
    clock.start(100.0)
    tic = time.process_time()
    while time.process_time() - tic < 0.02:
        pass
    used = time.process_time() - tic
    time.sleep(0.1)
    assert used <= clock.now() - 100.0 < used + 0.05


def test_thinking_clock_charges_a_query_and_does_not_sleep():
    clock = ThinkingClock(call_duration=1000.0)
    clock.start(0.0)
    tic = time.perf_counter()
    assert 500.0 <= clock.answer(5, not_before=500.0) < 501.0
    clock.told()
    assert 1500.0 <= clock.now() < 1501.0
    assert 1500.0 <= clock.answer(5, not_before=20.0) < 1501.0
    assert time.perf_counter() - tic < 1.0


# --- all clocks -----------------------------------------------------------------------------------

CONTINUOUS = [WallClock(), ThinkingClock(), SimulatedClock(constant(1.0))]


@pytest.mark.parametrize("clock", CONTINUOUS)
def test_continuous_clocks_spread_the_initial_times(clock):
    times, start = clock.initial_times(200, 400.0, np.random.RandomState(0))
    assert start == 10.0
    assert_array_equal(times, np.sort(times))
    assert 0.0 <= times.min() < 1.0
    assert 9.0 < times.max() <= 10.0
    empty, start = clock.initial_times(0, 400.0, np.random.RandomState(0))
    assert len(empty) == 0
    assert start == 0.0


@pytest.mark.parametrize("clock", [StepClock(), *CONTINUOUS])
def test_clocks_can_be_restarted_and_copied(clock):
    for start in (5.0, 2.0):
        clock.start(start)
        assert start <= clock.now() < start + 1.0
        clock.answer(0, start)
        clock.told()
        assert deepcopy(clock).now() == pytest.approx(clock.now(), abs=0.1)


def test_a_custom_clock_must_define_two_methods():
    clock = Clock()
    clock.start(0.0)
    with pytest.raises(NotImplementedError, match="must define answer"):
        clock.answer(0, 0.0)
    with pytest.raises(NotImplementedError, match="must define told"):
        clock.told()
