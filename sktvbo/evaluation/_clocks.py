"""Clocks that model how time passes during a run.

A run makes three calls per query::

    t = clock.now()                          time at which the optimizer is asked
    t_query = clock.answer(n, not_before)    the optimizer has answered: time of the query
    clock.told()                             the optimizer has been told the observation

A custom clock subclasses `Clock` and defines these methods.
"""

from __future__ import annotations

import copy
import math
import time
from typing import TYPE_CHECKING

import numpy as np

from .._validation import check_random_state, check_real, invalid, invalid_observation
from ..exceptions import InvalidObservationError

if TYPE_CHECKING:
    from .._typing import Array, RandomState, ResponseTimes

# Coefficients of the named response times, in seconds, of 1, n, n² and n³.
_RESPONSE_TIMES = {
    "papers": (0.350, 0.0, 0.0, 2.77e-7),
    "sktvbo": (6.28e-3, 1.37e-5, 1.74e-7, 2.75e-10),
}


class Clock:
    """Interface of all clocks.

    Examples
    --------
    >>> from sktvbo.evaluation import StepClock
    >>> clock = StepClock()
    >>> clock.start(3.0)
    >>> clock.now(), clock.answer(0, not_before=3.0)
    (3.0, 3.0)
    >>> clock.told()
    >>> clock.now()
    4.0
    """

    def initial_times(self, n: int, horizon: float, rng: RandomState) -> tuple[Array, float]:
        """Return the times of the initial design and the start of the optimizer.

        Parameters
        ----------
        n : int
            Number of points of the initial design.
        horizon : float
        rng : int, RandomState, Generator or None

        Returns
        -------
        times : ndarray of shape (n,)
            Here n sorted uniform times in [0, horizon / 40] (W-DBO appendix G.1).
        start : float
            Here horizon / 40, or 0 when n = 0.
        """
        end = horizon / 40.0 if n else 0.0
        return np.sort(check_random_state(rng).uniform(0.0, end, size=n)), end

    def start(self, t: float) -> None:
        """Start the clock at time t.

        Parameters
        ----------
        t : float
        """
        self._t = check_real(t, "t")

    def now(self) -> float:
        """Return the present time, at which the optimizer is asked.

        Returns
        -------
        float
        """
        return self._t

    def answer(self, n: int, not_before: float) -> float:
        """Advance to the query, after the optimizer has answered.

        Parameters
        ----------
        n : int
            Size of the data set of the optimizer's model.
        not_before : float
            Earliest time of the query; an optimizer may choose to wait.

        Returns
        -------
        float
            Time of the query.
        """
        raise NotImplementedError(f"{type(self).__name__} must define answer(n, not_before).")

    def told(self) -> None:
        """Advance past the observation, after the optimizer was told."""
        raise NotImplementedError(f"{type(self).__name__} must define told().")

    def __repr__(self):
        return f"{type(self).__name__}()"


def copy_clock(clock, expected="a Clock, such as StepClock()"):
    """Return a copy of a user's clock, or raise a TypeError for anything else."""
    calls = "start", "now", "answer", "told"
    if isinstance(clock, type) or not all(hasattr(clock, call) for call in calls):
        raise invalid("clock", expected, clock, error=TypeError)
    return copy.deepcopy(clock)


class StepClock(Clock):
    """Clock with one query and one unit of time per step, independent of the computing time.

    The query of step k happens at t = k. A query that has to wait happens at the first step that
    is late enough. The initial design takes the steps 0, 1, ..., n - 1.

    Examples
    --------
    >>> from sktvbo.evaluation import StepClock
    >>> clock = StepClock()
    >>> clock.start(0)
    >>> clock.answer(n=10, not_before=1.5)
    2.0
    """

    def initial_times(self, n: int, horizon: float, rng: RandomState) -> tuple[Array, float]:
        """Return the steps of the initial design, 0 to n - 1, and the next one, n.

        Parameters
        ----------
        n : int
        horizon : float
        rng : int, RandomState, Generator or None
            Not used.

        Returns
        -------
        times : ndarray of shape (n,)
        start : float

        Raises
        ------
        ValueError
            Fewer than n steps before the horizon.
        """
        if n > math.ceil(horizon):
            expected = f"at most the steps before the horizon, {math.ceil(horizon)}"
            advice = "Use fewer initial points or a longer horizon."
            raise invalid("n_initial", expected, n, advice=advice)
        return np.arange(n, dtype=np.float64), float(n)

    def answer(self, n: int, not_before: float) -> float:
        """See `Clock.answer`."""
        # A difference below 1e-9 is rounding, not a wish to wait.
        self._t += max(0, math.ceil(not_before - self._t - 1e-9))
        return self._t

    def told(self) -> None:
        """See `Clock.told`."""
        self._t += 1.0


class WallClock(Clock):
    """Real time in seconds, which passes while the optimizer computes.

    Asking, telling and observing all take time. When the optimizer chooses to wait, the clock
    sleeps. Results differ from run to run and from machine to machine.

    Examples
    --------
    >>> from sktvbo.evaluation import WallClock
    >>> clock = WallClock()
    >>> clock.start(100.0)
    >>> 100.0 <= clock.now() < 101.0
    True
    """

    def start(self, t: float) -> None:
        """See `Clock.start`."""
        self._offset = check_real(t, "t") - time.perf_counter()

    def now(self) -> float:
        """See `Clock.now`."""
        return time.perf_counter() + self._offset

    def answer(self, n: int, not_before: float) -> float:
        """See `Clock.answer`."""
        while (wait := not_before - self.now()) > 0.0:
            time.sleep(wait)
        return self.now()

    def told(self) -> None:
        """See `Clock.told`."""


class SimulatedClock(Clock):
    """Simulated time in which an answer takes a given time: the same on every machine.

    Parameters
    ----------
    response_time : callable, int -> float, or str
        Seconds from ask to answer, given the number of observations in the model: 0 without a
        model, see `Optimizer`. A name such as "papers", "sktvbo" or "papers/4" is one of
        `response_time`.
    call_duration : float, default=0.0
        Seconds from the query to the next ask: the duration of the objective.

    Raises
    ------
    TypeError
        response_time is neither callable nor a name.
    ValueError
        An unknown name, or a call_duration that is negative or not finite.

    Examples
    --------
    >>> from sktvbo.evaluation import SimulatedClock
    >>> clock = SimulatedClock(response_time=lambda n: 0.1 + 0.01 * n, call_duration=1.0)
    >>> clock.start(0.0)
    >>> clock.answer(n=40, not_before=0.0)
    0.5
    >>> clock.told()
    >>> clock.now()
    1.5
    """

    def __init__(self, response_time: ResponseTimes | str, call_duration: float = 0.0) -> None:
        self.response_time = _as_response_time(response_time, self)
        self.call_duration = check_real(call_duration, "call_duration", self, interval="[0, inf)")

    def answer(self, n: int, not_before: float) -> float:
        """See `Clock.answer`.

        Raises
        ------
        InvalidObservationError
            response_time returns anything but a number >= 0, or the time does not advance.
        """
        response = check_real(
            self.response_time(n),
            f"response_time({n})",
            interval="[0, inf)",
            advice="It is a number of seconds.",
            error=InvalidObservationError,
        )
        if self._t + response + self.call_duration <= self._t:
            raise invalid_observation(
                f"response_time({n}) + call_duration",
                f"large enough to advance the time t={self._t}",
                got=f"{response} + {self.call_duration}",
                advice="The run would never end.",
            )
        self._t = max(self._t + response, float(not_before))
        return self._t

    def told(self) -> None:
        """See `Clock.told`."""
        self._t += self.call_duration

    def __repr__(self):
        return f"SimulatedClock({self.response_time!r}, call_duration={self.call_duration!r})"


class ThinkingClock(Clock):
    """Measured processor time of the optimizer, plus a given time per query.

    The clock never sleeps: a run of 600 s ends when processor time and queries add up to 600 s. It
    counts the processor time of this process, which other processes do not affect. Threads are
    added up, so use one thread. Observing and telling count as well. Results differ from run to run
    and from machine to machine.

    Parameters
    ----------
    call_duration : float, default=0.0
        Seconds from the query to the next ask: the duration of the objective.

    Examples
    --------
    >>> from sktvbo.evaluation import ThinkingClock
    >>> clock = ThinkingClock(call_duration=60.0)
    >>> clock.start(0.0)
    >>> clock.answer(n=10, not_before=0.0) < 1.0
    True
    >>> clock.told()
    >>> 60.0 <= clock.now() < 61.0
    True
    """

    def __init__(self, call_duration: float = 0.0) -> None:
        self.call_duration = check_real(call_duration, "call_duration", self, interval="[0, inf)")

    def start(self, t: float) -> None:
        """See `Clock.start`."""
        self._offset = check_real(t, "t") - time.process_time()

    def now(self) -> float:
        """See `Clock.now`."""
        return time.process_time() + self._offset

    def answer(self, n: int, not_before: float) -> float:
        """See `Clock.answer`."""
        self._offset += max(0.0, not_before - self.now())
        return max(self.now(), not_before)

    def told(self) -> None:
        """See `Clock.told`."""
        self._offset += self.call_duration

    def __repr__(self):
        return f"ThinkingClock(call_duration={self.call_duration!r})"


def response_time(name: str) -> ResponseTimes:
    """Return a named response time, which depends neither on the machine nor on its load.

    Parameters
    ----------
    name : {"papers", "sktvbo"}, or one of these, a slash and a number
        "papers": W-DBO on BoTorch, by its authors, as in W-DBO and BOLT. "sktvbo": the W-DBO of
        this package. "papers/4": a quarter of "papers", as on a machine four times as fast.

    Returns
    -------
    callable, int -> float
        Seconds from ask to answer: a cubic polynomial of the size of the data set, with
        coefficients >= 0 (BOLT section 4). It can be pickled.

    Raises
    ------
    ValueError
        An unknown name, or a number that is not positive.

    Notes
    -----
    The response time is that of a W-DBO step in three dimensions: fit, relevancies and
    maximization of the acquisition function. Both were measured on an x86-64 core with one thread::

        OMP_NUM_THREADS=1 python benchmarks/speed/steps.py response

    The papers do not give the times of their laptop. So "papers" has the growth with n of their
    implementation, but not the speed of their machine.

    One response time for all algorithms is a simplification. Algorithms that compute no relevancies
    or learn no temporal lengthscale answer sooner for the same n. The dependence on n, which the
    papers study, remains.

    Examples
    --------
    >>> from sktvbo.evaluation import SimulatedClock, response_time
    >>> clock = SimulatedClock(response_time="papers", call_duration=0.05)
    >>> clock.response_time(30) < clock.response_time(120)
    True
    >>> bool(response_time("papers/4")(50) == response_time("papers")(50) / 4)
    True
    """
    return _Cubic(name)


def _as_response_time(value, owner):
    """Return the response time of a clock, given by name or as a callable."""
    if isinstance(value, str):
        return _Cubic(value)
    if callable(value) and value is not response_time:
        return value
    raise invalid(
        "response_time",
        "a callable that takes the data-set size and returns seconds, or one of "
        f"{', '.join(_RESPONSE_TIMES)}",
        value,
        owner,
        advice="Write response_time('papers')."
        if value is response_time
        else f"Write lambda n: {value!r} for a constant.",
        error=TypeError,
    )


class _Cubic:
    """Named response time: a class rather than a closure, so that it can be pickled."""

    def __init__(self, name):
        known, slash, divisor = name.partition("/")
        try:
            divisor = float(divisor) if slash else 1.0
        except ValueError:
            divisor = math.nan
        if known not in _RESPONSE_TIMES or not 0.0 < divisor < math.inf:
            raise invalid(
                "The name of a response time",
                f"one of {', '.join(_RESPONSE_TIMES)}, or one of these divided by a positive "
                "number, such as papers/4",
                name,
            )
        self.name = name
        self.coefficients = tuple(c / divisor for c in _RESPONSE_TIMES[known])

    def __call__(self, n):
        a, b, c, d = self.coefficients
        return a + n * (b + n * (c + n * d))

    def __repr__(self):
        return f"response_time({self.name!r})"
