import pickle
import time
from copy import deepcopy
from datetime import datetime

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from sktvbo.evaluation import Clock, SimulatedClock, StepClock, ThinkingClock, WallClock
from sktvbo.evaluation._clocks import response_time
from sktvbo.exceptions import InvalidObservationError


def walk(clock, start, n, wait=0.0, size=0):
    """(asked at, query at) of n queries that each want to wait."""
    clock.start(start)
    pairs = []
    for _ in range(n):
        t = clock.now()
        pairs.append((t, clock.answer(size, t + wait)))
        clock.told()
    return pairs


def constant(seconds):
    return lambda n: seconds


# --- steps ----------------------------------------------------------------------------------------


def test_a_step_is_one_unit():
    assert walk(StepClock(), 3, 3) == [(3.0, 3.0), (4.0, 4.0), (5.0, 5.0)]


def test_waiting_takes_whole_steps():
    assert walk(StepClock(), 0, 3, wait=1.5) == [(0.0, 2.0), (3.0, 5.0), (6.0, 8.0)]
    assert walk(StepClock(), 0, 2, wait=1.0) == [(0.0, 1.0), (2.0, 3.0)]


def test_rounding_is_not_a_wish_to_wait():
    assert walk(StepClock(), 0, 2, wait=1e-12) == [(0.0, 0.0), (1.0, 1.0)]


def test_initial_steps():
    times, start = StepClock().initial_times(4, 10.0, np.random.RandomState(0))
    assert_array_equal(times, [0, 1, 2, 3])
    assert start == 4.0


def test_initial_steps_must_fit():
    assert len(StepClock().initial_times(10, 10.0, None)[0]) == 10
    with pytest.raises(
        ValueError, match=r"n_initial must be at most the steps before the horizon, 10. Got 11"
    ):
        StepClock().initial_times(11, 10.0, None)


# --- simulated ------------------------------------------------------------------------------------


def test_simulated_time_is_response_plus_call():
    clock = SimulatedClock(constant(0.5), call_duration=1.0)
    assert walk(clock, 2.0, 3) == [(2.0, 2.5), (3.5, 4.0), (5.0, 5.5)]


def test_simulated_response_depends_on_the_data_set():
    clock = SimulatedClock(lambda n: 0.25 * n)
    assert walk(clock, 0.0, 2, size=4) == [(0.0, 1.0), (1.0, 2.0)]


def test_simulated_wait_replaces_the_response_when_longer():
    assert walk(SimulatedClock(constant(0.5)), 0.0, 2, wait=2.0) == [(0.0, 2.0), (2.0, 4.0)]
    assert walk(SimulatedClock(constant(0.5)), 0.0, 2, wait=0.1) == [(0.0, 0.5), (0.5, 1.0)]


def test_simulated_clock_is_deterministic():
    clocks = [SimulatedClock(lambda n: 0.1 + n / 7, call_duration=0.3) for _ in range(2)]
    assert walk(clocks[0], 0.1, 50, size=3) == walk(clocks[1], 0.1, 50, size=3)


@pytest.mark.parametrize("start", [0.0, 1e9])
def test_simulated_time_must_not_stand_still(start):
    clock = SimulatedClock(constant(0.0 if start == 0.0 else 1e-9))
    clock.start(start)
    with pytest.raises(InvalidObservationError, match=r"response_time\(7\) \+ call_duration must"):
        clock.answer(7, start)


def test_a_call_alone_may_move_time():
    assert walk(SimulatedClock(constant(0.0), 1.0), 0.0, 2) == [(0.0, 0.0), (1.0, 1.0)]


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
    with pytest.raises(ValueError, match=r"'call_duration' .* range \[0, inf\). Got -1.* instead"):
        SimulatedClock(constant(1.0), call_duration=-1)


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
    assert repr(R) == f"response_time({name!r})"


def test_botorch_answers_later_than_sktvbo():
    for n in (15, 120, 500):
        assert response_time("papers")(n) > 10.0 * response_time("sktvbo")(n)


@pytest.mark.parametrize("name", ["papers", "sktvbo"])
def test_a_simulated_clock_accepts_a_name(name):
    named, given = SimulatedClock(name, 0.5), SimulatedClock(response_time(name), 0.5)
    assert walk(named, 1.0, 5, size=100) == walk(given, 1.0, 5, size=100)
    assert repr(named) == f"SimulatedClock(response_time({name!r}), call_duration=0.5)"


def test_a_response_time_can_be_divided():
    faster = SimulatedClock("papers/2.5").response_time
    assert faster(120) == pytest.approx(response_time("papers")(120) / 2.5, rel=1e-14)
    assert repr(faster) == "response_time('papers/2.5')"
    assert pickle.loads(pickle.dumps(faster))(120) == faster(120)


@pytest.mark.parametrize(
    "name", ["paper", "", "papers/", "papers/0", "papers/-1", "papers/inf", "/2"]
)
def test_unknown_response_times_name_the_known_ones(name):
    with pytest.raises(
        ValueError, match=f"must be one of papers, sktvbo, .*. Got '{name}' instead"
    ):
        response_time(name)
    with pytest.raises(
        ValueError, match=f"must be one of papers, sktvbo, .*. Got '{name}' instead"
    ):
        SimulatedClock(name)


# --- wall -----------------------------------------------------------------------------------------


def test_wall_clock_runs_with_real_time():
    clock = WallClock()
    clock.start(100.0)
    tic = time.perf_counter()
    time.sleep(0.02)
    t = clock.now()
    assert 0.02 <= t - 100.0 <= time.perf_counter() - tic + 1e-3
    assert clock.answer(5, 0.0) >= t


def test_wall_clock_sleeps_until_the_query():
    clock = WallClock()
    clock.start(0.0)
    tic = time.perf_counter()
    assert 0.03 <= clock.answer(5, not_before=0.03) < 1.0
    assert time.perf_counter() - tic >= 0.029


# --- thinking -------------------------------------------------------------------------------------


def think(seconds):
    """Compute for at least so many of the processor's seconds; how many it took."""
    tic = time.process_time()
    while time.process_time() - tic < seconds:
        pass
    return time.process_time() - tic


def test_thinking_clock_runs_while_the_process_computes():
    clock = ThinkingClock()
    clock.start(100.0)
    thought = think(0.02)
    time.sleep(0.1)
    assert thought <= clock.now() - 100.0 < thought + 0.05


def test_thinking_clock_charges_a_query_and_does_not_sleep():
    clock = ThinkingClock(call_duration=1000.0)
    clock.start(0.0)
    tic = time.perf_counter()
    assert 500.0 <= clock.answer(5, not_before=500.0) < 501.0
    clock.told()
    assert 1500.0 <= clock.now() < 1501.0
    assert 1500.0 <= clock.answer(5, not_before=20.0) < 1501.0
    assert time.perf_counter() - tic < 1.0


@pytest.mark.parametrize("duration", [-1.0, np.nan, np.inf])
def test_thinking_clock_refuses_durations(duration):
    with pytest.raises(ValueError, match="'call_duration' parameter of ThinkingClock"):
        ThinkingClock(duration)


# --- all ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("clock", [WallClock(), ThinkingClock(), SimulatedClock(constant(1.0))])
def test_continuous_clocks_spread_the_initial_times(clock):
    times, start = clock.initial_times(200, 400.0, np.random.RandomState(0))
    assert start == 10.0
    assert_array_equal(times, np.sort(times))
    assert 0.0 <= times.min() < 1.0
    assert 9.0 < times.max() <= 10.0
    empty, start = clock.initial_times(0, 400.0, np.random.RandomState(0))
    assert len(empty) == 0
    assert start == 0.0


@pytest.mark.parametrize(
    "clock", [StepClock(), WallClock(), ThinkingClock(), SimulatedClock(constant(1.0))]
)
def test_clocks_start_where_told_again_and_again(clock):
    for start in (5.0, 2.0):
        clock.start(start)
        assert start <= clock.now() < start + 1.0
        clock.answer(0, start)
        clock.told()
        assert deepcopy(clock).now() == pytest.approx(clock.now(), abs=0.1)


def test_reprs():
    assert repr(StepClock()) == "StepClock()"
    assert "call_duration=2.0" in repr(SimulatedClock(abs, 2.0))
    assert repr(ThinkingClock(2.0)) == "ThinkingClock(call_duration=2.0)"


def test_interface_says_what_to_define():
    clock = Clock()
    clock.start(0.0)
    with pytest.raises(NotImplementedError, match="must define answer"):
        clock.answer(0, 0.0)
    with pytest.raises(NotImplementedError, match="must define told"):
        clock.told()


@pytest.mark.parametrize("clock", [StepClock(), WallClock(), ThinkingClock()])
@pytest.mark.parametrize("t", [datetime(2026, 1, 1), np.datetime64("2026"), np.timedelta64(1, "h")])
def test_clocks_start_at_numbers(clock, t):
    with pytest.raises(ValueError, match="t must be a float"):
        clock.start(t)
