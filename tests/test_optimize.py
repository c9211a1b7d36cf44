"""Optimization loop: budgets, callbacks, three kinds of workers, and errors."""

import contextlib
import itertools
import logging
import threading
import time
import warnings
from concurrent.futures import (
    BrokenExecutor,
    Executor,
    Future,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
)
from datetime import UTC, datetime, timedelta
from fractions import Fraction

import numpy as np
import pytest
from calls import Killed, deadly, moving, sometimes
from joblib import Parallel, delayed

import sktvbo
from sktvbo import ABO, WDBO, RandomSearch, evaluation, optimize, problems
from sktvbo.domain import Arms, Context
from sktvbo.evaluation import Clock, StepClock
from sktvbo.exceptions import InvalidObservationError, LimitWarning

BOX = [(0.0, 10.0)]


def stepwise(function=moving, domain=BOX, *args, **options):
    options = {"clock": StepClock(), "n_initial_points": 5, "random_state": 0} | options
    return optimize(function, domain, *args, **options)


def loop_error(error, match, function=moving, domain=BOX, *args, **options):
    """The calls that the error of a loop carries."""
    with pytest.raises(error, match=match) as caught:
        optimize(function, domain, *args, **options)
    found = caught.value.optimization
    assert getattr(found.optimizer, "pending_", []) == []
    return found


class Foreign:
    """Optimizer of another package, at one place, whose ``tell`` has no parameter ``failed``."""

    def __init__(self, x=2.0):
        self.x = x

    def ask(self, t):
        return [self.x]

    def tell(self, x, y, t):
        self.last = x, y, t


FOREIGN = {"domain": None, "optimizer": Foreign()}


class Together(Executor):
    """Executor whose calls end at the same time, once there are as many as answers."""

    def __init__(self, *answers):
        self.answers, self.waiting = answers, []

    def submit(self, function, x, t):
        self.waiting.append(Future())
        if len(self.waiting) == len(self.answers):
            for future, answer in zip(self.waiting, self.answers):
                if isinstance(answer, Exception):
                    future.set_exception(answer)
                else:
                    future.set_result(answer)
        return self.waiting[-1]


def failed_calls(found, has_failed):
    """Return the calls that failed, which must be those of which ``has_failed`` is true."""
    failed = [call for call in found.calls if call.error is not None]
    assert failed == [call for call in found.calls if has_failed(call)]
    assert len(failed) == found.optimizer.n_failed_
    return failed


@pytest.fixture
def dask_client():
    """Context of the client of a local Dask cluster, and its settings."""
    distributed = pytest.importorskip("distributed")
    dask = pytest.importorskip("dask")

    @contextlib.contextmanager
    def connected(processes, settings=None, n_workers=2):
        options = {"n_workers": n_workers, "threads_per_worker": 1, "dashboard_address": None}
        with (
            dask.config.set(settings or {}),
            distributed.LocalCluster(processes=processes, **options) as cluster,
            distributed.Client(cluster) as client,
        ):
            yield client

    return connected


# --- sequential calls -----------------------------------------------------------------------------


def test_it_equals_a_loop_of_ask_and_tell():
    found = stepwise(n_calls=20)
    opt = WDBO(BOX, n_initial_points=5, random_state=0)
    for t in range(20):
        x = opt.ask(t)
        opt.tell(x, moving(x, t))
    np.testing.assert_array_equal(found.optimizer.told_X_, opt.told_X_)
    np.testing.assert_array_equal(found.x, opt.recommend(20.0))
    assert found.stopped == "calls"
    assert [call.t for call in found.calls] == list(range(20))
    assert [call.y for call in found.calls] == opt.told_y_.tolist()
    assert [call.n_calls for call in found.calls] == list(range(1, 21))
    assert found.calls[-1].optimizer is found.optimizer


def test_names_parameters_and_optimizers():
    found = stepwise(
        lambda x, t: x["k"], {"k": ("integer", 1, 9)}, "SW-GP-UCB", n_calls=12, window=6
    )
    assert type(found.optimizer) is sktvbo.SWGPUCB
    assert len(found.optimizer.X_) == 6
    given = WDBO(n_initial_points=4, maximize=False)
    found = optimize(lambda x, t: -moving(x, t), BOX, given, n_calls=5, clock=StepClock())
    assert found.optimizer is not given
    assert (found.optimizer.maximize, given.domain) == (False, None)


def test_it_learns_from_earlier_runs():
    first = optimize(lambda x, t: -((x[0] - 7.0) ** 2), [(0.0, 10.0)], n_calls=32, clock="step")
    second = optimize(
        lambda x, t: -((x[0] - 7.0) ** 2), [(0.0, 10.0)], n_calls=2, earlier=[first.optimizer]
    )
    assert abs(second.calls[0].x[0] - 7.0) < 0.5


def test_an_optimizer_of_another_package():
    found = optimize(moving, optimizer=Foreign(), n_calls=3, clock=StepClock())
    assert found.optimizer.last == ([2.0], moving([2.0], 2.0), 2.0)
    assert found.x == [2.0]  # the best observation without a model


def test_an_optimizer_may_wait():
    opt = ABO(BOX, n_initial_points=4, lookahead=2.0, random_state=0, refit_every=100)
    found = optimize(moving, optimizer=opt, n_calls=25, clock=StepClock())
    times = [call.t for call in found.calls]
    assert found.optimizer.told_X_[:, -1].tolist() == times
    assert max(np.diff(times)) > 1.0


def test_a_budget_of_time():
    began = time.monotonic()
    found = optimize(lambda x, t: time.sleep(0.02) or 1.0, BOX, "random", max_seconds=0.3)
    assert 0.3 <= time.monotonic() - began < 5.0
    assert found.stopped == "time"
    assert 1 <= len(found.calls) <= 15
    times = [call.t for call in found.calls]
    assert times == sorted(times)
    assert 0.0 <= times[0] < times[-1] < 0.35


def test_a_callback_gets_each_call_and_may_stop():
    seen = []

    def stop(call):
        seen.append(call)
        return call.y > 6.0

    for callbacks in ([stop, lambda call: None], stop):
        seen.clear()
        found = stepwise(lambda x, t: float(t), n_calls=50, callbacks=callbacks)
        assert found.stopped == "callback"
        assert [call.y for call in seen] == list(range(8))
        assert found.calls == seen


def test_progress(capsys):
    pytest.importorskip("tqdm")
    stepwise(n_calls=4, progress=True)
    assert "4/4" in capsys.readouterr().err


def test_it_logs(caplog):
    with caplog.at_level(logging.DEBUG, logger="sktvbo.optimize"):
        stepwise(n_calls=3)
    assert {record.name for record in caplog.records} == {"sktvbo.optimize"}
    levels = [record.levelname for record in caplog.records]
    assert levels == ["INFO", "DEBUG", "DEBUG", "DEBUG", "INFO"]
    assert "y=" in caplog.records[1].getMessage()
    assert caplog.records[-1].getMessage() == "Stopped by calls after 3 calls."


# --- workers --------------------------------------------------------------------------------------


def test_in_processes_of_joblib():
    options = {"n_initial_points": 6, "random_state": 0, "catch": ZeroDivisionError}
    found = optimize(sometimes, BOX, n_calls=14, n_jobs=2, **options)
    assert len(found.calls) == found.optimizer.n_told_ + found.optimizer.n_failed_ == 14
    assert 0 < len(failed_calls(found, lambda call: call.x[0] > 5.0)) < 14
    assert len({float(call.x[0]) for call in found.calls}) == 14
    # The processes of joblib still work.
    assert Parallel(n_jobs=2)(delayed(abs)(-i) for i in range(3)) == [0, 1, 2]


def test_the_number_of_parallel_calls():
    three, together = threading.Semaphore(3), threading.Barrier(3)

    def function(x, t):
        assert three.acquire(blocking=False), "a fourth call"
        together.wait(60.0)
        time.sleep(0.002)  # time in which an additional call would start
        three.release()
        return moving(x, t)

    with ThreadPoolExecutor(8) as executor:
        found = stepwise(function, n_calls=18, executor=executor, n_jobs=3)
    assert len(found.calls) == found.optimizer.n_told_ == 18


def test_the_order_of_ask_and_tell():
    events = []

    class Order(RandomSearch):
        def ask(self, t=None, **options):
            events.append("ask")
            return super().ask(t, **options)

        def tell(self, x, y, t=None):
            events.append("tell")
            super().tell(x, y, t)

    optimize(moving, BOX, Order(), n_calls=3, executor=Immediate(), n_jobs=1)
    assert events == ["ask", "tell"] * 3


def test_a_worker_that_never_answers_does_not_delay_the_end():
    never, queries = threading.Event(), []

    def hanging(x, t):
        queries.append(x)
        if len(queries) == 3:
            never.wait(20.0)
        time.sleep(0.01)
        return 1.0

    began = time.monotonic()
    executor = ThreadPoolExecutor(2)
    found = optimize(hanging, BOX, "random", max_seconds=0.4, executor=executor, n_jobs=2)
    assert time.monotonic() - began < 5.0
    never.set()
    executor.shutdown()
    assert found.stopped == "time"
    abandoned = [x for x in queries if x[0] not in found.optimizer.told_X_[:, 0]]
    assert 1 <= len(abandoned) <= 2
    assert found.optimizer.pending_ == []


# --- errors ---------------------------------------------------------------------------------------


class Immediate(Executor):
    """Executor that calls at once, in this thread."""

    def submit(self, function, *args):
        future = Future()
        try:
            future.set_result(function(*args))
        except ZeroDivisionError as exc:
            future.set_exception(exc)
        return future


WORKERS = {"executor": Immediate(), "n_jobs": 2}


@pytest.mark.parametrize(
    ("error", "workers"),
    [
        *((error, {}) for error in (ZeroDivisionError, KeyboardInterrupt, SystemExit)),
        (ZeroDivisionError, WORKERS),
    ],
)
def test_an_exception_carries_all_calls(error, workers):
    def function(x, t):
        if t >= 7.0:
            raise error("planted")
        return moving(x, t)

    options = {"n_calls": 20, "clock": StepClock(), "n_initial_points": 5, "random_state": 0}
    found = loop_error(error, "planted", function, **options, **workers)
    assert found.stopped == "error"
    assert found.optimizer.told_y_.tolist() == [call.y for call in found.calls]
    assert len(found.calls) >= 7
    np.testing.assert_array_equal(found.x, found.optimizer.recommend(float(len(found.calls))))
    rest = optimize(moving, optimizer=found.optimizer, n_calls=3, clock=StepClock())
    assert rest.optimizer.n_told_ == len(found.calls) + 3


def test_finished_calls_are_told_before_an_error_is_raised():
    """Five calls end while the sixth fails: all are told, without further callbacks."""

    def seen(call):
        assert call.n_calls <= 3

    answers = 0.0, 1.0, 2.0, ZeroDivisionError("planted"), ValueError("caught"), 5.0
    options = {"executor": Together(*answers), "n_jobs": 6, "catch": ValueError, "callbacks": seen}
    options |= {"n_calls": 6, "n_initial_points": 6}  # without a surrogate the best call is x
    found = loop_error(ZeroDivisionError, "planted", **options)
    np.testing.assert_array_equal([call.y for call in found.calls], [0.0, 1.0, 2.0, np.nan, 5.0])
    assert (found.optimizer.n_told_, found.optimizer.n_failed_) == (4, 1)
    np.testing.assert_array_equal(found.x, found.calls[-1].x)


def test_an_error_of_the_first_call_carries_no_calls():
    class StrictError(Exception):
        def __setattr__(self, name, value):
            assert name.startswith("__")
            super().__setattr__(name, value)

    def function(x, t):
        raise StrictError

    found = loop_error(StrictError, None, function, n_calls=2)
    assert (found.calls, found.x) == ([], None)


def test_an_error_of_recommend_carries_all_calls():
    class Broken(WDBO):
        def recommend(self, t=None, **options):
            raise ArithmeticError("no best")

    opt = Broken(BOX, n_initial_points=3, random_state=0)
    found = loop_error(ArithmeticError, "no best", domain=None, optimizer=opt, n_calls=6)
    assert len(found.calls) == 6
    np.testing.assert_array_equal(found.x, max(found.calls, key=lambda call: call.y).x)


@pytest.mark.parametrize(
    ("name", "domain", "maximize"),
    [("W-DBO", BOX, True), ("random", {"k": ("integer", 0, 9)}, True), ("random", BOX, False)],
)
def test_without_a_model_the_best_observation_is_returned(name, domain, maximize):
    def value(x, t):
        return float(x["k"] if isinstance(x, dict) else x[0])

    options = {"clock": StepClock(), "random_state": 0, "maximize": maximize}
    options |= {"n_initial_points": 9} if name == "W-DBO" else {}
    best, worst = (max, -1.0) if maximize else (min, 99.0)
    for n_calls in (1, 4):
        found = optimize(value, domain, name, n_calls=n_calls, **options)
        wanted = best(found.calls, key=lambda call: call.y).x
        np.testing.assert_equal(found.x, wanted)
    # Observations told before the loop count as well.
    options = {"optimizer": found.optimizer, "clock": StepClock()}
    more = optimize(lambda x, t: worst, n_calls=2, **options)
    np.testing.assert_equal(more.x, wanted)


@pytest.mark.parametrize("workers", [{}, WORKERS])
def test_caught_exceptions_are_told_as_failures(workers):
    found = stepwise(sometimes, n_calls=12, catch=(OSError, ZeroDivisionError), **workers)
    assert len(found.calls) == 12
    failed = failed_calls(found, lambda call: call.x[0] > 5.0)
    assert 0 < len(failed) < 12
    assert all(isinstance(call.error, ZeroDivisionError) for call in failed)
    assert np.isnan([call.y for call in failed]).all()
    assert found.optimizer.n_told_ == 12 - len(failed)
    assert found.optimizer.failed_X_.tolist() == [[*call.x, call.t] for call in failed]
    assert found.optimizer.pending_ == []
    with pytest.raises(ZeroDivisionError):
        stepwise(sometimes, n_calls=12, catch=OSError, **workers)
    found = stepwise(lambda x, t: 1 / 0, n_calls=3, catch=ZeroDivisionError, **workers)
    assert (found.x, len(found.calls), found.stopped) == (None, 3, "calls")


def test_equal_queries_of_several_workers_are_cancelled_without_a_warning():
    """A query that is pending before the loop stays pending."""
    opt, never = RandomSearch(Arms(1), random_state=0), threading.Event()
    opt.ask(0.0)
    with ThreadPoolExecutor(3) as executor:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            options = {"max_seconds": 0.2, "executor": executor, "n_jobs": 3}
            optimize(lambda x, t: never.wait(20.0), optimizer=opt, **options)
        never.set()
    assert [query.id for query in opt.pending_] == [0]


def test_a_query_may_expire_during_its_call():
    def late(x, t):
        opt.tell([1.0], 0.0, t + 100.0)
        raise ZeroDivisionError("planted")

    opt = RandomSearch(BOX, random_state=0, query_timeout=10.0)
    with pytest.raises(ZeroDivisionError, match="planted"):
        optimize(late, optimizer=opt, n_calls=2, clock=StepClock())


def test_an_error_of_a_callback_ends_the_loop():
    def broken(call):
        raise KeyError("planted")

    found = loop_error(KeyError, "planted", n_calls=4, callbacks=broken)
    assert found.optimizer.n_told_ == 1


@pytest.mark.parametrize(
    "y", [np.float32(1.5), np.array(1.5), np.array([1.5]), Fraction(3, 2), np.int8(1), np.True_]
)
def test_a_value_may_be_any_number(y):
    found = stepwise(lambda x, t: y, n_calls=2)
    assert [type(call.y) for call in found.calls] == [float, float]
    assert found.calls[0].y == found.optimizer.told_y_[0] == float(np.squeeze(np.asarray(y, float)))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_calls": None}, "n_calls must be given, or max_seconds"),
        ({"n_calls": 0}, "n_calls must be an int"),
        ({"max_seconds": 0.0}, r"max_seconds must be a float in the range \(0, inf\)"),
        ({"optimizer": "best"}, "optimizer must be one of ABO, "),
        ({"domain": None}, "domain must be given with the name of an optimizer"),
        ({"domain": None, "optimizer": WDBO(BOX), "alpha": 1.0}, "domain must be given with alpha"),
        ({"domain": None, "optimizer": object()}, "optimizer must be an ask/tell optimizer"),
        ({"catch": KeyboardInterrupt}, "catch must be a subclass of Exception"),
        ({"catch": (OSError, 3)}, "catch must be a subclass of Exception"),
        ({"catch": OSError} | FOREIGN, r"one with tell\(..., failed=True\)"),
        ({"callbacks": [3]}, "callbacks, must be callable. Got 3"),
        ({"function": 3}, "must be callable. Got 3"),
        ({"executor": object(), "n_jobs": 1}, "a concurrent.futures.Executor"),
        ({"executor": Immediate()}, "n_jobs must be given with an executor"),
        ({"alpha": -1.0}, "'alpha' parameter of WDBO"),
        ({"speed": -1.0}, "Invalid parameter 'speed'"),
    ],
)
def test_bad_arguments(options, message):
    options = {"function": moving, "domain": BOX, "n_calls": 1} | options
    with pytest.raises(TypeError if "ask/tell" in message else ValueError, match=message):
        optimize(**options)


# --- workers that die or answer nonsense ----------------------------------------------------------


def check_failures_are_told(found, function, n_calls):
    """Every call is told once: with the value that it returned, or as a failure."""
    assert len(list(function.folder.glob("killed*"))) >= function.n_kills
    assert (found.stopped, len(found.calls)) == ("calls", n_calls)
    returned = {float(path.read_text()) for path in function.folder.glob("done*")}
    told = sorted(call.y for call in found.calls if call.error is None)
    assert told == sorted(found.optimizer.told_y_)
    assert returned >= set(told)
    assert found.optimizer.n_failed_ == n_calls - len(told)
    assert found.optimizer.pending_ == []


@pytest.mark.parametrize("n_kills", [1, pytest.param(6, marks=pytest.mark.slow)])
def test_calls_that_are_lost_with_a_process_have_failed(n_kills, tmp_path):
    """Those of the other processes of the pool as well; the loop goes on with a new one."""
    function = Killed(tmp_path, n_kills)
    n_calls, n_jobs = 10 + 8 * n_kills, 2
    found = optimize(function, BOX, "random", n_calls=n_calls, n_jobs=n_jobs, random_state=0)
    check_failures_are_told(found, function, n_calls)
    assert 0 < found.optimizer.n_failed_ <= n_jobs * n_kills
    assert all(call.error is None or "terminated" in str(call.error) for call in found.calls)


def test_an_executor_that_is_broken_for_good_ends_the_loop():
    starts = [[1.0], [8.0], [2.0], [3.0]]
    with ProcessPoolExecutor(1) as pool:
        options = {"n_calls": 4, "executor": pool, "n_jobs": 1, "start_points": starts}
        found = loop_error(BrokenExecutor, None, deadly, BOX, "random", **options)
    assert [call.error is None for call in found.calls] == [True, False]
    assert (found.optimizer.n_told_, found.optimizer.n_failed_) == (1, 1)


def test_a_lost_call_ends_the_loop_of_an_optimizer_without_failures():
    options = {"executor": Together(BrokenExecutor("lost")), "n_jobs": 1, "n_calls": 2}
    assert loop_error(BrokenExecutor, "lost", moving, None, Foreign(), **options).calls == []


@pytest.mark.slow
def test_a_killed_worker_of_dask_costs_its_own_query_only(tmp_path, dask_client):
    """Dask repeats the call; a call that may not be repeated has failed."""
    killed = pytest.importorskip("distributed").scheduler.KilledWorker
    # Without a delay the result of the call before may be lost with the worker.
    function, settings = Killed(tmp_path, 1, delay=0.2), "distributed.scheduler.allowed-failures"
    options = {"n_jobs": 2, "random_state": 0, "catch": killed}
    with dask_client(True) as client:
        with pytest.raises(ValueError, match=r"Give client\.get_executor\(pure=False\)"):
            optimize(moving, BOX, n_calls=1, executor=client, n_jobs=1)
        executor = client.get_executor(pure=False)
        found = optimize(function, BOX, "random", n_calls=14, executor=executor, **options)
    check_failures_are_told(found, function, 14)
    assert found.optimizer.n_failed_ == 0
    options["start_points"] = [[1.0], [8.0], [2.0], [3.0]]
    with dask_client(True, {settings: 0}) as client:
        executor = client.get_executor(pure=False)
        found = optimize(deadly, BOX, "random", n_calls=4, executor=executor, **options)
    (failed,) = failed_calls(found, lambda call: call.x[0] > 7.0)
    assert isinstance(failed.error, killed)
    assert found.optimizer.n_told_ == 3


NONSENSE = {
    1.0: ("high", "'high'"),
    2.0: (np.nan, "nan"),
    3.0: (np.ones(2), "array"),
    4.0: (None, "None"),
    9.0: ({}, "{}"),
}


def absurd(x, t):
    return NONSENSE.get(float(x[0]), (7.0,))[0]


SLOWLY = [pytest.param(name, marks=pytest.mark.slow) for name in ("processes", "dask")]


@pytest.fixture(params=["none", "threads", *SLOWLY])
def two_workers(request):
    """Arguments of `optimize` for two workers, or for none."""
    if request.param == "none":
        yield {}
    elif request.param == "processes":
        yield {"n_jobs": 2}
    elif request.param == "threads":
        with ThreadPoolExecutor(2) as executor:
            yield {"n_jobs": 2, "executor": executor}
    else:
        with request.getfixturevalue("dask_client")(processes=False) as client:
            yield {"n_jobs": 2, "executor": client.get_executor(pure=False)}


def test_a_worker_that_returns_nonsense_costs_its_own_query_only(two_workers):
    starts = [[5.0], *([x] for x in NONSENSE), [6.0]]
    options = {"n_calls": 9, "start_points": starts, "random_state": 0} | two_workers
    found = optimize(absurd, BOX, "random", catch=InvalidObservationError, **options)
    failed = {float(call.x[0]): str(call.error) for call in found.calls if call.error}
    assert failed.keys() == NONSENSE.keys()
    for x, message in failed.items():
        assert message.startswith("y must be")
        assert NONSENSE[x][1] in message
    assert found.optimizer.told_y_.tolist() == [7.0] * 4
    assert (found.optimizer.n_failed_, found.optimizer.pending_) == (5, [])
    found = loop_error(InvalidObservationError, "y must be", absurd, BOX, "random", **options)
    assert set(found.optimizer.told_y_) <= {7.0}
    assert found.optimizer.n_failed_ == 0


def test_all_finished_calls_are_told_when_two_are_nonsense():
    options = {"n_calls": 4, "executor": Together(1.0, np.nan, np.nan, 2.0), "n_jobs": 4}
    found = loop_error(InvalidObservationError, "y must be finite", **options)
    assert found.optimizer.told_y_.tolist() == [1.0, 2.0]


# --- clocks ---------------------------------------------------------------------------------------


def hourly(start=0):
    """A clock of dates, an hour between two readings."""
    hours = itertools.count(start)
    return lambda: datetime(2026, 3, 1, tzinfo=UTC) + timedelta(hours=next(hours))


@pytest.mark.parametrize("how", ["argument", "parameter", "started"])
def test_the_clock_of_the_optimizer(how):
    """Calls are counted, as by StepClock, wherever the clock is given."""
    expected = stepwise(n_calls=9)
    options = {"n_initial_points": 5, "random_state": 0}
    if how == "argument":
        found = optimize(moving, BOX, n_calls=9, clock="step", **options)
    elif how == "parameter":
        found = optimize(moving, BOX, WDBO(clock="step", **options), n_calls=9)
    else:
        half = optimize(moving, BOX, n_calls=4, clock="step", **options)
        found = optimize(moving, optimizer=half.optimizer, n_calls=5)
        assert found.optimizer is half.optimizer
    np.testing.assert_array_equal(found.optimizer.told_X_, expected.optimizer.told_X_)
    assert (found.optimizer.clock, found.optimizer.now()) == ("step", 9.0)


@pytest.mark.parametrize("clock", ["wall", "calendar"])
def test_seconds_of_the_clock_go_on(clock):
    found = optimize(moving, BOX, "random", n_calls=3, clock=clock)
    assert found.optimizer.clock == clock
    rest = optimize(moving, optimizer=found.optimizer, n_calls=3, clock=clock)
    times = [call.t for call in found.calls + rest.calls]
    assert 0.0 <= times[0] < 60.0
    assert times == sorted(times) == rest.optimizer.told_X_[:, -1].tolist()


@pytest.mark.parametrize(("name", "n_jobs"), [("W-DBO", None), ("ABO", 2), ("random", 2)])
def test_dates(name, n_jobs):
    seen = []

    def noted(x, t):
        seen.append(t)
        return moving(x, 0.0)

    options = {"random_state": 0, "time_unit": "h"}
    options |= {} if name == "random" else {"seasonal_periods": "auto"}
    with ThreadPoolExecutor(2) as pool:
        workers = {} if n_jobs is None else {"executor": pool, "n_jobs": n_jobs}
        found = optimize(noted, BOX, name, n_calls=7, clock=hourly(), **options, **workers)
        opt = found.optimizer
        rest = optimize(noted, optimizer=opt, n_calls=3, clock=hourly(20), **workers)
    assert {type(t) for t in seen} == {datetime}
    assert sorted(seen) == sorted(call.t for call in found.calls + rest.calls)
    assert opt.pending_ == []
    assert np.diff(np.sort(opt.told_X_[:, -1])).min() >= 1.0
    assert opt.to_frame()["time"].dt.tz is not None
    assert opt.recommend(hourly(30)()).shape == (1,)


def test_dates_of_a_call_that_fails_or_is_left():
    def failing(x, t):
        if t.hour == 2:
            raise OSError("lost")
        return 1.0

    opt = loop_error(OSError, "lost", failing, BOX, "random", n_calls=5, clock=hourly()).optimizer
    found = optimize(failing, optimizer=opt, n_calls=5, clock=hourly(25), catch=OSError)
    assert [call.error is None for call in found.calls] == [True, False, True, True, True]
    opt = WDBO(BOX)
    opt.tell([5.0], 1.0, hourly()())
    for clock in (None, "wall", "step", StepClock()):
        with pytest.raises(ValueError, match="clock must be a callable that tells dates with a"):
            optimize(failing, optimizer=opt, n_calls=1, clock=clock)


@pytest.mark.parametrize("clock", ["sundial", 3, StepClock, Clock, "calendar"])
def test_what_is_no_clock(clock):
    opt = WDBO(BOX)
    with pytest.raises(TypeError, match="clock must be 'wall', 'step', a callable, a Clock"):
        optimize(moving, optimizer=opt, n_calls=1, clock=clock)
    assert "_run" not in vars(opt)
    if clock != "calendar":
        with pytest.raises(TypeError, match="clock must be a Clock, such as StepClock"):
            evaluation.run(opt, problems.make("six-hump-camel", horizon=9.0), clock)


# --- limits and contexts --------------------------------------------------------------------------


@pytest.mark.parametrize("n_calls", [1, 3, 4, 8])
@pytest.mark.parametrize("domain", [[(0.0, 1.0)], {"x": ("real", 0.0, 1.0)}])
def test_the_result_with_limits_is_what_recommend_says(n_calls, domain):
    def measure(x, t):
        (value,) = x.values() if isinstance(x, dict) else x
        return value, {"p": value}

    found = optimize(
        measure,
        domain,
        n_calls=n_calls,
        clock="step",
        outcome_constraints={"p": (None, 0.6)},
        random_state=0,
    )
    told = found.optimizer.told_X_[:, 0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LimitWarning)
        expected = found.optimizer.recommend(found.optimizer.now())
    assert found.x == expected
    if (told <= 0.6).any():
        (value,) = found.x.values() if isinstance(found.x, dict) else found.x
        assert value <= 0.65


@pytest.mark.parametrize("takes_time", [True, False])
@pytest.mark.parametrize("name", ["W-DBO", "random"])
def test_queries_are_made_in_the_context_of_their_time(takes_time, name):
    loads = [0.1 * (t % 7) for t in range(12)]
    now = iter([*loads, 0.5])
    domain = {"x": ("real", 0.0, 1.0), "load": Context(0.0, 1.0)}

    def at(t):
        return {"load": [*loads, 0.5][int(t)]}

    def present():
        return {"load": next(now)}

    found = optimize(
        lambda x, t: -((x["x"] - loads[int(t)]) ** 2),
        domain,
        name,
        n_calls=12,
        clock="step",
        context=at if takes_time else present,
        random_state=0,
    )
    np.testing.assert_allclose(found.optimizer.told_X_[:, 1], loads)
    expected = found.optimizer.recommend(12, context={"load": 0.5})
    assert found.x == expected
    match = "context must be given for a domain with a context"
    with pytest.raises(ValueError, match=match):
        optimize(lambda x, t: 0.0, domain, n_calls=1)
    with pytest.raises(ValueError, match="a callable that returns"):
        optimize(lambda x, t: 0.0, domain, n_calls=1, context={"load": 0.5})
    with pytest.raises(ValueError, match="a domain without a context"):
        problems.from_callable(lambda x, t: 0.0, domain, horizon=1.0)
