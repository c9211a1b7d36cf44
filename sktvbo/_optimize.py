"""Optimization loop over ask, call and tell, with budgets, callbacks and parallel workers.

The logger ``sktvbo.optimize`` reports the start and the end at level INFO, and each call at level
DEBUG.
"""

from __future__ import annotations

import contextlib
import copy
import inspect
import logging
import time
from concurrent import futures
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from joblib import effective_n_jobs
from joblib.externals.loky import ProcessPoolExecutor

from ._validation import check_int, check_real, invalid
from .domain import as_domain
from .evaluation import WallClock
from .evaluation._ask_tell import check_optimizer, next_query
from .evaluation._run import progress_bar
from .optimizers._names import as_optimizer

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any, Literal

    from ._typing import Point
    from .evaluation import AskTell, Clock

__all__ = ["Call", "Optimization", "optimize"]

_logger = logging.getLogger("sktvbo.optimize")


@dataclass(frozen=True, eq=False)
class Call:
    """A call of the function, recorded right after the optimizer was told its result.

    Attributes
    ----------
    x : ndarray of shape (d,), or a dict for named parameters
    t : float
        Time of the query.
    y : float
        Value of the function, or NaN if the call failed.
    n_calls : int
        Number of calls told so far, including this one.
    seconds : float
        Seconds since the start of the loop.
    optimizer : BayesianOptimizer
    error : Exception or None
        Exception of a failed call, see ``catch`` of `optimize`.
    """

    x: Point
    t: float
    y: float
    n_calls: int
    seconds: float
    optimizer: Any = field(repr=False)
    error: Exception | None = None


@dataclass(frozen=True, eq=False)
class Optimization:
    """Result of `optimize`.

    Attributes
    ----------
    optimizer : BayesianOptimizer
        The optimizer after the last call. ``optimize(function, optimizer=optimizer, ...)``
        continues.
    x : ndarray of shape (d,), or a dict for named parameters, or None
        The optimizer's recommendation for the time at which the loop ended. Without a surrogate it
        is the best observation, or None if there is no observation.
    calls : list of Call
        The calls, in the order in which they were told.
    stopped : {"calls", "time", "callback", "error"}
        Reason for the end. With "error" the result is the attribute ``optimization`` of an
        exception.
    """

    optimizer: Any
    x: Point | None
    calls: list[Call] = field(repr=False)
    stopped: Literal["calls", "time", "callback", "error"]


def optimize(
    function: Callable[[Any, float], float],
    domain: object = None,
    optimizer: str | AskTell = "W-DBO",
    *,
    n_calls: int | None = None,
    max_seconds: float | None = None,
    clock: Clock | None = None,
    n_jobs: int | None = None,
    executor: object = None,
    callbacks: Sequence[Callable[[Any, Call], object]] = (),
    progress: bool = False,
    catch: type[Exception] | tuple[type[Exception], ...] = (),
    **options: Any,
) -> Optimization:
    """Ask, call the function and tell its value until a budget is spent.

    Parameters
    ----------
    function : callable, (x, t) -> float
        Function to optimize. x is a dict for named parameters, and t is the time of the clock.
    domain : Box, FiniteSet, list of (low, high) pairs, scipy.optimize.Bounds, or dict, default=None
        Domain of x. None: the optimizer has one, and is continued without being cloned.
    optimizer : str or optimizer, default="W-DBO"
        Name of an algorithm in the literature, or an optimizer. With a ``domain`` it is cloned;
        without one it may be any `~sktvbo.evaluation.AskTell`.
    n_calls, max_seconds : int and float, default=None
        Budget; at least one must be given. Calls still running after ``max_seconds`` of real time,
        or when a callback stops the loop, are abandoned: their queries are cancelled.
    clock : Clock, default=None
        Source of the time, copied and started at the optimizer's time. None is a
        `~sktvbo.evaluation.WallClock`, in seconds since the start. A
        `~sktvbo.evaluation.StepClock` counts the calls.
    n_jobs : int, default=None
        Number of parallel calls, each in its own process. -1: one per core. None: one, in this
        process. A finished call is told at once, and the next query is asked for.
    executor : concurrent.futures.Executor or distributed.Client, default=None
        Makes ``n_jobs`` calls at a time in place of processes: threads, or a Dask cluster. On
        Dask, ``n_jobs=None`` is the number of threads of the cluster.
    callbacks : callable or list of callables
        Called with each `Call` after it was told. Returning True ends the loop.
    progress : bool, default=False
        Show a progress bar; needs tqdm.
    catch : exception class or tuple of them, default=()
        Exceptions that mark a call as failed. The optimizer is told ``failed=True``, and the loop
        continues. A failed call counts as a call.
    **options
        Parameters of the optimizer, such as ``maximize=False`` or ``random_state=0``. Only with a
        ``domain``.

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

    Examples
    --------
    >>> from sktvbo import optimize
    >>> from sktvbo.evaluation import StepClock
    >>> found = optimize(
    ...     lambda x, t: -((x[0] - 3.0 - 0.05 * t) ** 2),
    ...     [(0.0, 10.0)],
    ...     n_calls=40,
    ...     clock=StepClock(),
    ...     n_initial_points=6,
    ...     random_state=0,
    ... )
    >>> bool(abs(found.x[0] - 5.0) < 0.5)
    True

    An exception of the function carries all calls made before it:

    >>> def failing(x, t):
    ...     if t == 7:
    ...         raise OSError("no answer")
    ...     return -x[0]
    >>> try:
    ...     optimize(failing, [(0.0, 10.0)], n_calls=40, clock=StepClock())
    ... except OSError as exc:
    ...     found = exc.optimization
    >>> len(found.calls), found.stopped
    (7, 'error')
    >>> rest = optimize(
    ...     failing, optimizer=found.optimizer, n_calls=9, clock=StepClock(), catch=OSError
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
    optimizer = _prepared_optimizer(optimizer, domain, options)
    if catch and not _accepts_failures(optimizer):
        raise invalid("optimizer", "one with tell(..., failed=True), for catch", optimizer)
    loop = _Loop(
        function,
        optimizer,
        n_calls,
        None if max_seconds is None else time.monotonic() + max_seconds,
        WallClock() if clock is None else copy.deepcopy(clock),
        callbacks,
        catch,
    )
    with contextlib.ExitStack() as stack:
        workers, n_workers = stack.enter_context(_executor(executor, n_jobs))
        if progress:
            bar = stack.enter_context(progress_bar(total=n_calls, unit="call"))
            loop.callbacks.append(lambda call: _advance(bar))
        _logger.info("Start with %r.", optimizer)
        try:
            loop.run(workers, n_workers)
            return loop.result()
        except BaseException as exc:
            loop.stopped = "error"
            # vars() also works for exception classes that restrict their attributes.
            vars(exc)["optimization"] = loop.result()
            raise
        finally:
            _logger.info("Stopped by %s after %d calls.", loop.stopped, len(loop.calls))


def _advance(bar):
    bar.update()  # its return value, True after a redraw, would stop the loop


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


def _exception_classes(catch):
    """Return the exception classes as a tuple."""
    classes = (catch,) if isinstance(catch, type) else catch
    if isinstance(classes, tuple | list) and all(
        isinstance(each, type) and issubclass(each, Exception) for each in classes
    ):
        return tuple(classes)
    raise invalid("catch", "a subclass of Exception, or a tuple of them", catch)


def _accepts_failures(optimizer):
    """Return True if ``optimizer.tell`` has a parameter ``failed``."""
    parameters = inspect.signature(optimizer.tell).parameters.values()
    return any(p.name == "failed" or p.kind is p.VAR_KEYWORD for p in parameters)


class _InlineExecutor:
    """Executor that runs a call in this thread, before ``submit`` returns."""

    def submit(self, function, *args):
        future = futures.Future()
        try:
            future.set_result(function(*args))
        except BaseException as exc:  # KeyboardInterrupt too: ``future.result()`` raises it
            future.set_exception(exc)
        return future


@contextlib.contextmanager
def _executor(executor, n_jobs):
    """Context with an executor and its number of parallel calls."""
    if executor is not None:
        yield _given_executor(executor, n_jobs)
        return
    n_workers = effective_n_jobs(1 if n_jobs is None else n_jobs)
    if n_workers == 1:
        yield _InlineExecutor(), 1
        return
    # A separate pool: using the one that joblib reuses breaks its next call.
    processes = ProcessPoolExecutor(n_workers)
    try:
        yield processes, n_workers
    finally:
        processes.shutdown(wait=False)


def _given_executor(executor, n_jobs):
    """Return the user's executor and its number of parallel calls."""
    if n_jobs is not None:
        n_workers = check_int(n_jobs, "n_jobs")
    elif hasattr(executor, "nthreads"):
        n_workers = sum(executor.nthreads().values())
    else:
        raise invalid("n_jobs", "given with an executor", None)
    if hasattr(executor, "get_executor"):
        # A Dask client: pure=False repeats a call that has the same arguments.
        executor = executor.get_executor(pure=False)
    if not hasattr(executor, "submit"):
        raise invalid("executor", "a concurrent.futures.Executor or a dask Client", executor)
    return executor, n_workers


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

    def __post_init__(self):
        self.calls = []
        self.stopped = None
        self._start = time.monotonic()
        self._running = {}  # (x, t) of the running calls, by future
        self._telling = None  # the future told last, or being told
        told = getattr(self.optimizer, "told_X_", ())
        asked = getattr(self.optimizer, "next_time_", None)
        latest = [row[-1] for row in told] + ([] if asked is None else [asked])
        self.clock.start(max([0.0, *latest]))
        if len(told):
            self.clock.told()  # the next call comes after the last one, not at the same time

    def run(self, workers, n_workers):
        """Call the function until the loop is over, ``n_workers`` calls at a time."""
        waits = isinstance(workers, _InlineExecutor)
        with self._cancelling():
            while not self._is_over():
                while len(self._running) < n_workers and self._has_budget():
                    x, t = self._ask(waits)
                    self._running[workers.submit(self.function, x, t)] = x, t
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

    def result(self):
        """Return the `Optimization` so far."""
        return Optimization(self.optimizer, self._best(), self.calls, self.stopped)

    def _best(self):
        """Return the recommendation for the present, else the best observation, else None."""
        optimizer = self.optimizer
        if getattr(optimizer, "surrogate_", None) is not None:
            try:
                return optimizer.recommend(self.clock.now())
            except Exception:
                # After an error, which the model may have raised, use the best observation.
                if self.stopped != "error":
                    raise
        found = [(call.y, call.x) for call in self.calls if call.error is None]
        sign = 1.0 if getattr(optimizer, "maximize", True) else -1.0
        told_y = getattr(optimizer, "told_y_", ())
        if len(told_y):
            i = np.argmax(sign * told_y)
            x = as_domain(optimizer.domain).decode(optimizer.told_X_[i, :-1])
            found.append((told_y[i], x))
        return max(found, key=lambda pair: sign * pair[0], default=(None, None))[1]

    def _has_budget(self):
        """Return True if another call may start."""
        return self.n_calls is None or len(self.calls) + len(self._running) < self.n_calls

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
            for future, (x, t) in self._running.items():
                future.cancel()
                self._cancel(x, t)

    def _tell_finished(self):
        """Tell the calls that finished before an error."""
        for future in [future for future in self._running if future is not self._telling]:
            if future.done() and not future.cancelled():
                error = future.exception()
                if error is None or isinstance(error, self.catch):
                    self._tell(future)

    def _cancel(self, x, t):
        """Cancel a query, the latest one if several have the same x and t."""
        if not hasattr(self.optimizer, "cancel"):
            return
        if not hasattr(self.optimizer, "pending_"):
            self.optimizer.cancel(x)
            return
        for query in reversed(self.optimizer.pending_):
            same = query.x == x if isinstance(x, dict) else np.array_equal(query.x, x)
            if same and query.t == t:
                self.optimizer.cancel(query)
                return

    def _ask(self, waits):
        """Return a query and its time, which the optimizer may choose if ``waits``."""
        t = self.clock.now()
        if not (waits and hasattr(self.optimizer, "suggest")):
            return self.optimizer.ask(t), t
        x, t = next_query(self.optimizer, t)
        self.clock.answer(len(getattr(self.optimizer, "X_", self.calls)), t)
        return x, t

    def _tell(self, future):
        """Tell the value of a finished call, or its failure."""
        self._telling = future
        x, t = self._running[future]
        y, error = np.nan, None
        try:
            y = future.result()
        except self.catch as exc:
            error = exc
        if error is None:
            self.optimizer.tell(x, y, t)
        else:
            self.optimizer.tell(x, t=t, failed=True)
        del self._running[future]
        self.clock.told()
        seconds = time.monotonic() - self._start
        y = float(np.reshape(y, ())[()])
        call = Call(x, t, y, len(self.calls) + 1, seconds, self.optimizer, error)
        self.calls.append(call)
        _logger.debug("%r", call)
