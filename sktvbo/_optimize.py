"""Optimization loop over ask, call and tell, with budgets, callbacks and parallel workers.

The logger ``sktvbo.optimize`` reports the start and the end at level INFO, and each call at level
DEBUG.
"""

from __future__ import annotations

import contextlib
import inspect
import logging
import math
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent import futures
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from joblib import effective_n_jobs
from joblib.externals.loky import ProcessPoolExecutor

from ._validation import LARGEST_Y, check_int, check_real, finite_number, invalid
from .domain import as_domain
from .evaluation import Clock, Optimizer, StepClock, WallClock
from .evaluation._clocks import copy_clock
from .evaluation._optimizer import check_optimizer, next_query
from .evaluation._run import progress_bar
from .exceptions import InvalidObservationError
from .gaussian_process._dates import NUMBERS
from .optimizers._ask_tell import AskTell
from .optimizers._durable import run_of, snapshot
from .optimizers._names import as_optimizer
from .optimizers._outcomes import is_missing
from .optimizers._state import handles

if TYPE_CHECKING:
    from ._typing import ContextLike, Point, Time, TimeSource

__all__ = ["Call", "Optimization", "optimize"]

_logger = logging.getLogger("sktvbo.optimize")


@dataclass(frozen=True, eq=False)
class Call:
    """A call of the function, recorded right after the optimizer was told its result.

    Attributes
    ----------
    x : ndarray of shape (d,), or a dict for named parameters
    t : float or date
        Time of the query, as the clock told it.
    y : float
        Value of the function, or NaN if the call failed, or has measured outcomes alone.
    n_calls : int
        Number of calls told so far, including this one.
    seconds : float
        Seconds since the start of the loop.
    optimizer : BayesianOptimizer
    error : Exception or None
        Exception of a failed call: one of ``catch`` of `optimize`, or that of a worker that died.
    outcomes : dict of str to float, or None
        Measured outcomes that the function returned beside y.
    """

    x: Point
    t: Time
    y: float
    n_calls: int
    seconds: float
    optimizer: Any = field(repr=False)
    error: Exception | None = None
    outcomes: Mapping[str, float | None] | None = None


@dataclass(frozen=True, eq=False)
class Optimization:
    """Result of `optimize`.

    Attributes
    ----------
    optimizer : BayesianOptimizer
        The optimizer after the last call. ``optimize(function, optimizer=optimizer, ...)``
        continues.
    x : ndarray of shape (d,), or a dict for named parameters, or None
        The optimizer's recommendation for the time at which the loop ended. Without a surrogate,
        limits and a context it is the best observation, or None if there is no observation.
    calls : list of Call
        The calls, in the order in which they were told.
    stopped : {"calls", "time", "callback", "error"}
        Reason for the end. With "error" the result is the attribute ``optimization`` of an
        exception.
    """

    optimizer: Any
    x: Any
    calls: list[Call] = field(repr=False)
    stopped: Literal["calls", "time", "callback", "error"]


def optimize(
    function: Callable[[Any, float], float | tuple[float | None, Mapping[str, float | None]]],
    domain: object = None,
    optimizer: str | Optimizer = "W-DBO",
    *,
    n_calls: int | None = None,
    max_seconds: float | None = None,
    clock: Clock | TimeSource | None = None,
    n_jobs: int | None = None,
    executor: futures.Executor | None = None,
    callbacks: Sequence[Callable[[Any, Call], object]] = (),
    progress: bool = False,
    catch: type[Exception] | tuple[type[Exception], ...] = (),
    context: Callable[..., ContextLike] | None = None,
    **options: Any,
) -> Optimization:
    """Ask, call the function and tell its value until a budget is spent.

    Parameters
    ----------
    function : callable, (x, t) -> float
        Function to optimize. x is a dict for named parameters, and t is the time of the clock. With
        ``outcome_constraints`` it returns (y, outcomes), with a dict of outcomes. None is what was
        not measured: y, which is told as a failure, or an outcome.
    domain : Box, FiniteSet, list of (low, high) pairs, scipy.optimize.Bounds, or dict, default=None
        Domain of x. None: the optimizer has one, and is continued without being cloned.
    optimizer : str or optimizer, default="W-DBO"
        Name of an algorithm in the literature, or an optimizer. With a ``domain`` it is cloned;
        without one it may be any `~sktvbo.evaluation.Optimizer`.
    n_calls, max_seconds : int and float, default=None
        Budget; at least one must be given. Calls still running after ``max_seconds`` of real time,
        or when a callback stops the loop, are abandoned: their queries are cancelled.
    clock : "wall", "step", "calendar", callable, or Clock, default=None
        Source of the time. None is the optimizer's parameter ``clock``; another one becomes its
        parameter with a ``domain``. "wall" counts seconds, "step" calls, and a callable without
        arguments may tell dates. A `~sktvbo.evaluation.Clock` is copied. All but "calendar" and
        callables start at the optimizer's latest time.
    n_jobs : int, default=None
        Number of parallel calls, each in its own process. -1: one per core. None: one, in this
        process. A finished call is told at once, and the next query is asked for.
    executor : concurrent.futures.Executor, default=None
        Makes ``n_jobs`` calls at a time in place of processes: threads, or a cluster, such as
        ``client.get_executor(pure=False)`` of Dask.
    callbacks : callable or list of callables
        Called with each `Call` after it was told. Returning True ends the loop.
    progress : bool, default=False
        Show a progress bar; needs tqdm.
    catch : exception class or tuple of them, default=()
        Exceptions that mark a call as failed. The optimizer is told ``failed=True``, and the loop
        continues. A failed call counts as a call. InvalidObservationError, or ValueError, includes
        results that are no finite number.
    context : callable, default=None
        ``context(t)``, or ``context()`` if it requires no argument, returns what is measured before
        a query, on a domain with a `~sktvbo.domain.Context`; and before the recommendation.
    **options
        Parameters of the optimizer, such as ``maximize=False``, ``random_state=0``, or
        ``earlier=[...]`` to learn from earlier runs. Only with a ``domain``.

    Returns
    -------
    Optimization

    Raises
    ------
    ValueError
        No budget, or an invalid argument.
    BaseException
        Exceptions of the function that are not in ``catch``, exceptions of a callback, and
        KeyboardInterrupt. Finished calls are told, and the other queries are cancelled. The
        attribute ``optimization`` of the exception is an `Optimization` with all calls told.
    MissingExtraError
        ``progress=True`` without tqdm.

    Notes
    -----
    `joblib.Parallel` takes as many tasks in advance as it has workers. The loop therefore starts
    its own processes of the same kind, and asks for a query only when a worker is free. A call that
    runs in a process when the loop ends is completed there, and not told.

    A process that dies during a call takes those of the other calls with it. These calls have
    failed, and the loop goes on with new processes. A call that is lost in an ``executor`` has
    failed as well; if the executor then takes no further call, this error ends the loop. A call
    that never returns occupies its worker: limit its time in the function, or give
    ``max_seconds``.

    Examples
    --------
    >>> from sktvbo import optimize
    >>> from sktvbo.evaluation import StepClock
    >>> optimization = optimize(
    ...     lambda x, t: -((x[0] - 3.0 - 0.05 * t) ** 2),
    ...     [(0.0, 10.0)],
    ...     n_calls=40,
    ...     clock=StepClock(),
    ...     n_initial_points=6,
    ...     random_state=0,
    ... )
    >>> bool(abs(optimization.x[0] - 5.0) < 0.5)
    True

    An exception of the function carries all calls made before it:

    >>> def failing(x, t):
    ...     if t == 7:
    ...         raise OSError("no answer")
    ...     return -x[0]
    >>> try:
    ...     optimize(failing, [(0.0, 10.0)], n_calls=40, clock=StepClock())
    ... except OSError as exc:
    ...     optimization = getattr(exc, "optimization")
    >>> len(optimization.calls), optimization.stopped
    (7, 'error')
    >>> rest = optimize(
    ...     failing, optimizer=optimization.optimizer, n_calls=9, clock=StepClock(), catch=OSError
    ... )
    >>> [call.error for call in rest.calls if call.error]
    [OSError('no answer')]
    """
    if n_calls is None and max_seconds is None:
        raise invalid("n_calls", "given, or max_seconds, or both", None)
    if n_calls is not None:
        check_int(n_calls, "n_calls")
    if max_seconds is not None:
        check_real(max_seconds, "max_seconds", interval="(0, inf)")
    callbacks = [callbacks] if callable(callbacks) else list(callbacks)
    for callback in (function, *callbacks):
        if not callable(callback):
            raise invalid("function, and each of callbacks,", "callable", callback)
    catch = _exception_classes(catch)
    if context is not None and not callable(context):
        expected = "a callable that returns what is measured at a time t"
        raise invalid("context", expected, context)
    if isinstance(clock, str) or (callable(clock) and not isinstance(clock, type)):
        options |= {} if domain is None else {"clock": clock}
    optimizer = _prepared_optimizer(optimizer, domain, options)
    if catch and not _accepts_failures(optimizer):
        raise invalid("optimizer", "one with tell(..., failed=True), for catch", optimizer)
    if context is None and _needs_context(optimizer):
        expected = "given for a domain with a context"
        raise invalid("context", expected, None, advice="context(t) returns what is measured.")
    loop = _Loop(
        function,
        optimizer,
        n_calls,
        None if max_seconds is None else time.monotonic() + max_seconds,
        _loop_clock(clock, optimizer),
        callbacks,
        catch,
        context,
    )
    with contextlib.ExitStack() as stack:
        loop.workers, n_workers = stack.enter_context(_executor(executor, n_jobs))
        if _accepts_failures(optimizer) and not isinstance(loop.workers, _InlineExecutor):
            loop.catch += futures.BrokenExecutor, futures.CancelledError  # the worker died
        if progress:
            bar = stack.enter_context(progress_bar(total=n_calls, unit="call"))
            # What update() returns, True after a redraw, would stop the loop.
            loop.callbacks.append(lambda call: bar.update() and None)
        _logger.info("Start with %r.", optimizer)
        try:
            loop.run(n_workers)
            return loop.result()
        except BaseException as exc:
            loop.stopped = "error"
            # vars() also works for exception classes that restrict their attributes.
            vars(exc)["optimization"] = loop.result()
            raise
        finally:
            _logger.info("Stopped by %s after %d calls.", loop.stopped, len(loop.calls))


def _prepared_optimizer(optimizer, domain, options):
    """Return the optimizer to run: a clone with a domain and options, or the one given."""
    if domain is not None:
        return as_optimizer(optimizer, "optimizer").set_params(domain=domain, **options)
    if isinstance(optimizer, str):
        raise invalid("domain", "given with the name of an optimizer", None)
    check_optimizer(optimizer)
    if options:
        raise invalid("domain", f"given with {', '.join(options)}", None)
    return optimizer


def _needs_context(optimizer):
    """Return True if an optimizer asks in contexts."""
    if not isinstance(optimizer, AskTell) or optimizer.domain is None:
        return False
    domain = as_domain(optimizer.domain)
    return domain.n_chosen < domain.n_dims


def _loop_clock(clock, optimizer):
    """Return the clock of a loop, from any of the forms that users give."""
    is_ours = isinstance(optimizer, AskTell)
    own = optimizer.clock if is_ours else "wall"
    clock = own if clock is None else clock
    if is_ours and not callable(clock):
        kind = optimizer._run_or_new().time.kind
        if kind not in (None, NUMBERS):
            advice = "For example clock=lambda: datetime.now(timezone.utc)."
            raise invalid("clock", f"a callable that tells {kind}", clock, advice=advice)
    if isinstance(clock, str) and clock in ("wall", "step"):
        return WallClock() if clock == "wall" else StepClock()
    if isinstance(clock, str) and clock == own == "calendar":
        return _ReadClock(optimizer.now)
    if callable(clock) and not isinstance(clock, type):
        return _ReadClock(clock)
    expected = "'wall', 'step', a callable, a Clock, or 'calendar' if it is the optimizer's"
    return copy_clock(clock, expected)


class _ReadClock(Clock):
    """Clock that is only read, from a callable; its times may be dates."""

    def __init__(self, read):
        self.now = read

    def start(self, t):
        pass

    def told(self):
        pass


def _exception_classes(catch):
    """Return the exception classes as a tuple."""
    classes = (catch,) if isinstance(catch, type) else catch
    if isinstance(classes, tuple | list) and all(
        isinstance(each, type) and issubclass(each, Exception) for each in classes
    ):
        return tuple(classes)
    raise invalid("catch", "a subclass of Exception, or a tuple of them", catch)


def _with_outcomes(result):
    """Return value and outcomes of a call; None for a function that returns the value alone."""
    if isinstance(result, tuple) and len(result) == 2 and isinstance(result[1], Mapping):
        return result
    return result, None


def _accepts_failures(optimizer):
    """Return True if ``optimizer.tell`` has a parameter ``failed``."""
    parameters = inspect.signature(optimizer.tell).parameters.values()
    return any(p.name == "failed" or p.kind is p.VAR_KEYWORD for p in parameters)


def _requires_arguments(function):
    """Return True if a function cannot be called without arguments."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # some compiled functions have no signature
        return False
    kinds = inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD
    return any(p.kind in kinds and p.default is p.empty for p in parameters)


class _InlineExecutor:
    """Executor that runs a call in this thread, before ``submit`` returns."""

    def submit(self, function, *args):
        future = futures.Future()
        try:
            future.set_result(function(*args))
        except BaseException as exc:  # KeyboardInterrupt too: ``future.result()`` raises it
            future.set_exception(exc)
        return future


class _Processes(futures.Executor):
    """Executor of processes that replaces those that were lost when one of them died."""

    def __init__(self, n_workers):
        self._n_workers = n_workers
        self._pool = ProcessPoolExecutor(n_workers)

    def submit(self, function, *args):
        try:
            return self._pool.submit(function, *args)
        except futures.BrokenExecutor:
            self._pool = ProcessPoolExecutor(self._n_workers)
            return self._pool.submit(function, *args)

    def shutdown(self):
        self._pool.shutdown(wait=False)


@contextlib.contextmanager
def _executor(executor, n_jobs):
    """Context with an executor and its number of parallel calls."""
    if executor is not None:
        if not isinstance(executor, futures.Executor):
            is_client = hasattr(executor, "get_executor")
            advice = "Give client.get_executor(pure=False)." if is_client else ""
            raise invalid("executor", "a concurrent.futures.Executor", executor, advice=advice)
        if n_jobs is None:
            raise invalid("n_jobs", "given with an executor", None)
        yield executor, check_int(n_jobs, "n_jobs")
        return
    n_workers = effective_n_jobs(1 if n_jobs is None else n_jobs)
    if n_workers == 1:
        yield _InlineExecutor(), 1
        return
    # Separate pools: using the one that joblib reuses breaks its next call.
    processes = _Processes(n_workers)
    try:
        yield processes, n_workers
    finally:
        processes.shutdown()


@dataclass
class _Loop:
    """State of a running loop."""

    function: Callable
    optimizer: Any
    n_calls: int | None
    deadline: float | None  # of time.monotonic()
    clock: Clock
    callbacks: list
    catch: tuple
    context: Callable | None = None
    workers: Any = None

    def __post_init__(self):
        self._takes_time = self.context is not None and _requires_arguments(self.context)
        self.calls = []
        self.stopped = None
        self._start = time.monotonic()
        self._running = {}  # x and t of the running calls, by future
        self._telling = None  # the future told last, or being told
        rows = getattr(self.optimizer, "told_X_", ())
        asked = getattr(self.optimizer, "next_time_", None)
        latest = [row[-1] for row in rows] + ([] if asked is None else [asked])
        self.clock.start(max([0.0, *latest]))
        if len(rows):
            self.clock.told()  # the next call comes after the last one, not at the same time

    def run(self, n_workers):
        """Call the function until the loop is over, ``n_workers`` calls at a time."""
        waits = isinstance(self.workers, _InlineExecutor)
        with self._cancelling():
            while not self._is_over():
                most = n_workers
                if self.n_calls is not None:
                    most = min(n_workers, self.n_calls - len(self.calls))
                while len(self._running) < most:
                    self._submit(*self._ask(waits))
                timeout = None
                if self.deadline is not None:
                    timeout = max(self.deadline - time.monotonic(), 0.0)
                done, _ = futures.wait(self._running, timeout, futures.FIRST_COMPLETED)
                # Tell several finished calls in the order in which they were asked for.
                for future in [future for future in self._running if future in done]:
                    self._tell(future)
                    for callback in self.callbacks:
                        if callback(self.calls[-1]):
                            self.stopped = "callback"

    def _submit(self, x, t):
        try:
            self._running[self.workers.submit(self.function, x, t)] = x, t
        except BaseException:
            self._cancel(x, t)
            raise

    def result(self):
        """Return the `Optimization` so far."""
        return Optimization(self.optimizer, self._best(), self.calls, self.stopped)

    def _best(self):
        """Return the recommendation for the present, else the best observation, else None."""
        optimizer = self.optimizer
        limited = False
        if isinstance(optimizer, AskTell) and optimizer.n_told_:
            optimizer = snapshot(optimizer)  # other threads may tell it
            limited = self.context is not None or bool(run_of(optimizer).config.limits)
        if getattr(optimizer, "surrogate_", None) is not None or limited:
            try:
                t = self.clock.now()
                return optimizer.recommend(t, **self._context(t))
            except Exception:
                # After an error, which the model may have raised, use the best observation.
                if self.stopped != "error":
                    raise
        observations = [(call.y, call.x) for call in self.calls if not math.isnan(call.y)]
        sign = 1.0 if getattr(optimizer, "maximize", True) else -1.0
        told_y = getattr(optimizer, "told_y_", ())
        if len(told_y):
            i = np.argmax(sign * told_y)
            x = as_domain(optimizer.domain).decode(optimizer.told_X_[i, :-1])
            observations.append((told_y[i], x))
        return max(observations, key=lambda pair: sign * pair[0], default=(None, None))[1]

    def _is_over(self):
        """Return True if the loop is over, and set ``stopped`` to the reason."""
        if self.stopped is None and len(self.calls) == self.n_calls:
            self.stopped = "calls"
        if self.stopped is None and self.deadline is not None:
            self.stopped = "time" if time.monotonic() >= self.deadline else None
        return self.stopped is not None

    @contextlib.contextmanager
    def _cancelling(self):
        """Context that cancels all queries that are not told at its end."""
        try:
            yield
        except BaseException:
            self._tell_finished()
            raise
        finally:
            for future, query in self._running.items():
                future.cancel()
                self._cancel(*query)

    def _tell_finished(self):
        """Tell the calls that finished before an error."""
        for future in [future for future in self._running if future is not self._telling]:
            if future.done() and not future.cancelled():
                error = future.exception()
                if error is None or isinstance(error, self.catch):
                    # Another result that is no number: the first error is raised.
                    with contextlib.suppress(InvalidObservationError):
                        self._tell(future)

    def _cancel(self, x, t):
        """Cancel a query, the latest one if several have the same x and t."""
        if not hasattr(self.optimizer, "cancel"):
            return
        if not hasattr(self.optimizer, "pending_"):
            self.optimizer.cancel(x)
            return
        pending = self.optimizer.pending_
        if isinstance(self.optimizer, AskTell):
            run = run_of(self.optimizer)
            pending = handles(run.domain, run.pending.unanswered)  # expired ones as well
            t = run.read_time(t)[0]  # a number, of a date
        for query in reversed(pending):
            same = query.x == x if isinstance(x, dict) else np.array_equal(query.x, x)
            if same and query.t == t:
                self.optimizer.cancel(query)
                return

    def _ask(self, waits):
        """Return a query and its time, which the optimizer may choose if ``waits``."""
        t = self.clock.now()
        context = self._context(t)
        if isinstance(self.clock, _ReadClock) or not (waits and hasattr(self.optimizer, "suggest")):
            return self.optimizer.ask(t, **context), t
        x, t, _ = next_query(self.optimizer, t, **context)
        self.clock.answer(len(getattr(self.optimizer, "X_", self.calls)), t)
        return x, t

    def _context(self, t):
        """Return the context at a time as an argument of a query, a dict."""
        if self.context is None:
            return {}
        return {"context": self.context(t) if self._takes_time else self.context()}

    def _tell(self, future):
        """Tell the value of a finished call, or its failure."""
        self._telling = future
        x, t = self._running[future]
        y, outcomes, error = np.nan, None, None
        try:
            y, measured = _with_outcomes(future.result())
            if self.catch:
                for name, value in (measured or {}).items():
                    if not is_missing(value):
                        name = f"outcomes[{name!r}]"
                        finite_number(value, name, InvalidObservationError, LARGEST_Y)
            outcomes = measured
            if self.catch and (y is not None or measured is None):
                finite_number(y, "y", InvalidObservationError, LARGEST_Y)
        except self.catch as exc:
            y, error = np.nan, exc
        known = {} if outcomes is None else {"outcomes": outcomes}
        if error is None and (y is not None or outcomes is None):
            self.optimizer.tell(x, y, t, **known)
        else:
            self.optimizer.tell(x, t=t, failed=True, **known)
        del self._running[future]
        self.clock.told()
        seconds = time.monotonic() - self._start
        y = math.nan if y is None else float(np.reshape(y, ())[()])
        call = Call(x, t, y, len(self.calls) + 1, seconds, self.optimizer, error, outcomes)
        self.calls.append(call)
        _logger.debug("%r", call)
