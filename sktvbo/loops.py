"""The loop of asking, measuring and telling, ready-made: budgets, callbacks, workers.

What happens is logged by the logger ``sktvbo.loops``: the beginning and the end at level INFO, and
each call at level DEBUG.
"""

from __future__ import annotations

import contextlib
import copy
import inspect
import logging
import time
from concurrent import futures
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from joblib import effective_n_jobs
from joblib.externals.loky import ProcessPoolExecutor

from ._validation import check_int, check_real, invalid
from .domain import as_domain
from .evaluation import WallClock
from .evaluation._contestants import check_contestant, next_query
from .evaluation._run import progress_bar
from .optimizers._names import as_optimizer

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any, Literal

    from ._typing import Point
    from .evaluation import AskTell, Clock

__all__ = ["Call", "Optimization", "optimize"]

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class Call:
    """A call of the function, just after the optimizer was told what came out.

    Attributes
    ----------
    x : ndarray of shape (d,), or a dict for named parameters
    t : float
        The time that it was asked for.
    y : float
        NaN when the call failed.
    n_calls : int
        How many calls have been told, this one included.
    seconds : float
        Since the loop began.
    optimizer : BayesianOptimizer
    error : Exception or None
        The exception of a call that failed: see ``catch`` of `optimize`.
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
    """What came of a loop.

    Attributes
    ----------
    optimizer : BayesianOptimizer
        As it is now; the loop may go on with ``optimize(function, optimizer=optimizer, ...)``.
    x : ndarray of shape (d,), or a dict for named parameters, or None
        Its recommendation for the time at which the loop ended. As long as it has no surrogate, the
        best observation that it was told; None if there is none.
    calls : list of Call
        In the order in which they were told.
    stopped : {"calls", "time", "callback", "error"}
        What ended it. With "error" this is the attribute ``optimization`` of an exception.
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
    """Ask, call and tell, until a budget is spent.

    Parameters
    ----------
    function : callable, (x, t) -> float
        What is to be tracked; x is a dict for named parameters, and t the time of the clock.
    domain : Box, FiniteSet, list of (low, high) pairs, scipy.optimize.Bounds, or dict, default=None
        Where x may lie. None: the optimizer has one, is used itself, and goes on where it is.
    optimizer : str or optimizer, default="W-DBO"
        An algorithm's name in the literature, or an optimizer. With a ``domain`` it is cloned; with
        None it may be any `~sktvbo.evaluation.AskTell`.
    n_calls, max_seconds : int and float, default=None
        The budget, one of them at least. The calls that are running when ``max_seconds`` of real
        time are over, or a callback stops, are not waited for: their queries are cancelled.
    clock : Clock, default=None
        How time passes; it is copied, and started at the optimizer's time. None: a
        `~sktvbo.evaluation.WallClock`, seconds since the beginning.
        `~sktvbo.evaluation.StepClock` counts the calls.
    n_jobs : int, default=None
        How many calls at once, in as many processes; -1: one per core, None: one, here. As soon as
        one is finished it is told, and the next query is asked for.
    executor : concurrent.futures.Executor or distributed.Client, default=None
        Who calls in place of processes, ``n_jobs`` at once: threads, or a Dask cluster, on
        which ``n_jobs=None`` is the number of its threads.
    callbacks : callable or list of callables
        Each is given every `Call` as it is told, and ends the loop by returning True.
    progress : bool, default=False
        Show a bar; needs tqdm.
    catch : exception class or tuple of them, default=()
        A call that raises one of these has failed: the optimizer is told so, with ``failed=True``,
        and the loop goes on. It counts as a call.
    **options
        Parameters of the optimizer: ``maximize=False``, ``random_state=0``, ``alpha=0.5``. With a
        ``domain`` only.

    Returns
    -------
    Optimization

    Raises
    ------
    ValueError
        No budget, or an argument that makes no sense.
    BaseException
        What the function or a callback raises, unless it is to be caught, and KeyboardInterrupt.
        Finished calls are told, the other queries cancelled, and the exception has an attribute
        ``optimization``, an `Optimization` with all that was told.
    MissingExtraError
        ``progress=True`` without tqdm.

    Notes
    -----
    `joblib.Parallel` takes as many tasks ahead as it has workers. So that no query is asked for
    before there is somebody to make it, the loop has processes of its own, of the same kind. Calls
    that they are making when the loop ends are finished, and not told.

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

    When the function raises an exception, nothing is lost:

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
    catch = _classes(catch)
    optimizer = _ready(optimizer, domain, options)
    if catch and not _takes_failures(optimizer):
        raise invalid("optimizer", "one with tell(..., failed=True), for catch", optimizer)
    loop = _Loop(
        function,
        optimizer,
        n_calls=n_calls,
        deadline=None if max_seconds is None else time.monotonic() + max_seconds,
        clock=WallClock() if clock is None else copy.deepcopy(clock),
        callbacks=callbacks,
        catch=catch,
    )
    with contextlib.ExitStack() as ends:
        workers, at_once = ends.enter_context(_workers(executor, n_jobs))
        if progress:
            bar = ends.enter_context(progress_bar(total=n_calls, unit="call"))
            loop.callbacks.append(lambda call: _advance(bar))
        _logger.info("Begin with %r.", optimizer)
        try:
            if workers is None:
                loop.run_here()
            else:
                loop.run_with(workers, at_once)
            return loop.result()
        except BaseException as exc:
            loop.stopped = "error"
            # Also where the exception's class restricts its attributes.
            vars(exc)["optimization"] = loop.result()
            raise
        finally:
            _logger.info("Ended by %s after %d calls.", loop.stopped, len(loop.calls))


def _advance(bar):
    bar.update()


def _ready(optimizer, domain, options):
    """The optimizer that the loop drives."""
    if domain is not None:
        return as_optimizer(optimizer, "optimizer").set_params(domain=domain, **options)
    if isinstance(optimizer, str):
        raise invalid("domain", "given with the name of an optimizer", None)
    check_contestant(optimizer)
    if options:
        raise invalid("domain", f"given with {', '.join(options)}", None)
    return optimizer


def _classes(catch):
    """Exception classes as a tuple."""
    classes = (catch,) if isinstance(catch, type) else catch
    if isinstance(classes, tuple | list) and all(
        isinstance(each, type) and issubclass(each, Exception) for each in classes
    ):
        return tuple(classes)
    raise invalid("catch", "a subclass of Exception, or a tuple of them", catch)


def _takes_failures(optimizer):
    """Return True if it may be told that a call failed."""
    parameters = inspect.signature(optimizer.tell).parameters.values()
    return any(p.name == "failed" or p.kind is p.VAR_KEYWORD for p in parameters)


def _are_same(x, other):
    """Return True for the same arrays, or dicts."""
    return x == other if isinstance(x, dict) else np.array_equal(x, other)


@contextlib.contextmanager
def _workers(executor, n_jobs):
    """The executor, or None to call here, and how many calls at once."""
    if executor is not None:
        yield _given(executor, n_jobs)
        return
    at_once = effective_n_jobs(1 if n_jobs is None else n_jobs)
    if at_once == 1:
        yield None, 1
        return
    # The processes that joblib keeps are its own: others who take them break its next call.
    processes = ProcessPoolExecutor(at_once)
    try:
        yield processes, at_once
    finally:
        processes.shutdown(wait=False)


def _given(executor, n_jobs):
    """An executor that was given, and how many calls at once."""
    if n_jobs is not None:
        at_once = check_int(n_jobs, "n_jobs")
    elif hasattr(executor, "nthreads"):
        at_once = sum(executor.nthreads().values())
    else:
        raise invalid("n_jobs", "given with an executor", None)
    if hasattr(executor, "get_executor"):
        # This is a client of Dask, for which a call with the same arguments is another call.
        executor = executor.get_executor(pure=False)
    if not hasattr(executor, "submit"):
        raise invalid("executor", "a concurrent.futures.Executor or a dask Client", executor)
    return executor, at_once


class _Loop:
    """A loop under way."""

    def __init__(self, function, optimizer, *, n_calls, deadline, clock, callbacks, catch):
        self.function = function
        self.optimizer = optimizer
        self.n_calls = n_calls
        self.deadline = deadline
        self.clock = clock
        self.callbacks = callbacks
        self.catch = catch
        self.calls = []
        self.stopped = None
        self._began = time.monotonic()
        self._running = {}  # queries that are being made, by future; by None the one made here
        self._telling = None  # the future whose result is being told, or was the latest
        told = getattr(optimizer, "told_X_", ())
        asked = getattr(optimizer, "next_time_", None)
        clock.start(max([0.0, *(row[-1] for row in told), *([] if asked is None else [asked])]))
        if len(told):
            clock.told()  # the loop goes on after a call, and not with it

    def run_here(self):
        """Call in this process, one after the other."""
        with self._cancelling():
            while not self._is_over():
                x, t = self._running[None] = self._ask(may_wait=True)
                self._tell(None, partial(self.function, x, t))
                self._call_back()

    def run_with(self, workers, at_once):
        """Let workers call, so many at once."""
        with self._cancelling():
            while not self._is_over():
                while len(self._running) < at_once and self._may_begin():
                    x, t = self._ask()
                    self._running[workers.submit(self.function, x, t)] = x, t
                timeout = None
                if self.deadline is not None:
                    timeout = max(self.deadline - time.monotonic(), 0.0)
                done, _ = futures.wait(self._running, timeout, futures.FIRST_COMPLETED)
                # Of several that are done, the first to be asked for is told first.
                for call in [call for call in self._running if call in done]:
                    self._tell(call, call.result)
                    self._call_back()

    def result(self):
        """What came of it so far."""
        return Optimization(self.optimizer, self._best(), self.calls, self.stopped)

    def _best(self):
        """The recommendation for now, or else the best observation, or None."""
        optimizer = self.optimizer
        if getattr(optimizer, "surrogate_", None) is not None:
            try:
                return optimizer.recommend(self.clock.now())
            except Exception:
                if self.stopped != "error":
                    raise
                # The model may be what has raised the error.
        found = [(call.y, call.x) for call in self.calls if call.error is None]
        sign = 1.0 if getattr(optimizer, "maximize", True) else -1.0
        told_y = getattr(optimizer, "told_y_", ())
        if len(told_y):
            i = np.argmax(sign * told_y)
            x = as_domain(optimizer.domain).decode(optimizer.told_X_[i, :-1])
            found.append((told_y[i], x))
        return max(found, key=lambda pair: sign * pair[0], default=(None, None))[1]

    def _may_begin(self):
        """Whether the budget allows another call."""
        return self.n_calls is None or len(self.calls) + len(self._running) < self.n_calls

    def _is_over(self):
        """Whether nothing more is to be done; notes why."""
        if self.stopped is None and len(self.calls) == self.n_calls:
            self.stopped = "calls"
        if self.stopped is None and self.deadline is not None:
            self.stopped = "time" if time.monotonic() >= self.deadline else None
        return self.stopped is not None

    @contextlib.contextmanager
    def _cancelling(self):
        """Withdraw at the end, whatever it is, the queries that have not been told."""
        try:
            yield
        except BaseException:
            self._tell_finished()
            raise
        finally:
            for call, (x, t) in self._running.items():
                if call is not None:
                    call.cancel()
                self._cancel(x, t)

    def _tell_finished(self):
        """Tell of the calls that have finished, before an error goes through."""
        for call in [call for call in self._running if call not in (None, self._telling)]:
            if call.done() and not call.cancelled():
                error = call.exception()
                if error is None or isinstance(error, self.catch):
                    self._tell(call, call.result)

    def _cancel(self, x, t):
        """Withdraw a query, this very one where x and t are those of several."""
        if not hasattr(self.optimizer, "cancel"):
            return
        if not hasattr(self.optimizer, "pending_"):
            self.optimizer.cancel(x)
            return
        for query in reversed(self.optimizer.pending_):
            if query.t == t and _are_same(query.x, x):
                self.optimizer.cancel(query)
                return

    def _ask(self, may_wait=False):
        """A query and its time, waited for where the optimizer chooses to."""
        t = self.clock.now()
        if not (may_wait and hasattr(self.optimizer, "suggest")):
            return self.optimizer.ask(t), t
        x, t = next_query(self.optimizer, t)
        self.clock.answer(len(getattr(self.optimizer, "X_", self.calls)), t)
        return x, t

    def _tell(self, call, result):
        """Tell what a call has returned, or that it has failed."""
        self._telling = call
        x, t = self._running[call]
        y, error = np.nan, None
        try:
            y = result()
        except self.catch as exc:
            error = exc
        if error is None:
            self.optimizer.tell(x, y, t)
        else:
            self.optimizer.tell(x, t=t, failed=True)
        del self._running[call]
        self.clock.told()
        seconds = time.monotonic() - self._began
        y = float(np.reshape(y, ())[()])
        told = Call(x, t, y, len(self.calls) + 1, seconds, self.optimizer, error)
        self.calls.append(told)
        _logger.debug("%r", told)

    def _call_back(self):
        """Give the callbacks the latest call."""
        for callback in self.callbacks:
            if callback(self.calls[-1]):
                self.stopped = "callback"
