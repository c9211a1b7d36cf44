"""Clocks: how time passes while an optimizer thinks.

The run loop makes three calls per query::

    t = clock.now()                          the optimizer is asked at t
    t_query = clock.answer(n, not_before)    it has answered: the query happens at t_query
    clock.told()                             it has been told what came out

A clock of your own subclasses `Clock` and defines these three.
"""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING

import numpy as np

from .._validation import check_real, invalid
from ..exceptions import InvalidObservationError

if TYPE_CHECKING:
    from .._typing import Array, ResponseTimes

# Each named response time has these coefficients, in seconds, of 1, n, n² and n³.
_RESPONSE_TIMES = {
    "papers": (0.350, 0.0, 0.0, 2.77e-7),
    "sktvbo": (6.28e-3, 1.37e-5, 1.74e-7, 2.75e-10),
}


class Clock:
    """How time passes while an optimizer thinks; the interface that all clocks share.

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

    def initial_times(
        self, n: int, horizon: float, rng: np.random.RandomState
    ) -> tuple[Array, float]:
        """Times of the initial design, and when the optimizer takes over.

        Parameters
        ----------
        n : int
            Points of the initial design.
        horizon : float
        rng : RandomState

        Returns
        -------
        times : ndarray of shape (n,)
            Here n uniform times in [0, horizon / 40], sorted (W-DBO appendix G.1).
        start : float
            Here horizon / 40, or 0 when n = 0.
        """
        end = horizon / 40.0 if n else 0.0
        return np.sort(rng.uniform(0.0, end, size=n)), end

    def start(self, t: float) -> None:
        """Set the clock to the time t and let it run.

        Parameters
        ----------
        t : float
        """
        self._t = check_real(t, "t")

    def now(self) -> float:
        """Time at which the optimizer is asked.

        Returns
        -------
        float
        """
        return self._t

    def answer(self, n: int, not_before: float) -> float:
        """Note that the optimizer has answered.

        Parameters
        ----------
        n : int
            Size of the data set it has worked with.
        not_before : float
            The query must not happen earlier (an optimizer may choose to wait).

        Returns
        -------
        float
            Time at which the query happens.
        """
        raise NotImplementedError(f"{type(self).__name__} must define answer(n, not_before).")

    def told(self) -> None:
        """Note that the optimizer has been told the observation."""
        raise NotImplementedError(f"{type(self).__name__} must define told().")

    def __repr__(self):
        return f"{type(self).__name__}()"


class StepClock(Clock):
    """One query a step, one unit of time a step, however long the optimizer thinks.

    The query made at step k happens at t = k; one that has to wait happens at the first step
    that is late enough. The initial design takes the steps 0, 1, ..., n - 1.

    Examples
    --------
    >>> from sktvbo.evaluation import StepClock
    >>> clock = StepClock()
    >>> clock.start(0)
    >>> clock.answer(n=10, not_before=1.5)
    2.0
    """

    def initial_times(
        self, n: int, horizon: float, rng: np.random.RandomState
    ) -> tuple[Array, float]:
        """Steps of the initial design, 0 to n - 1, and the next one.

        Parameters
        ----------
        n : int
        horizon : float
        rng : RandomState
            Not used.

        Returns
        -------
        times : ndarray of shape (n,)
        start : float

        Raises
        ------
        ValueError
            When there are fewer than n steps before the horizon.
        """
        if n > math.ceil(horizon):
            raise invalid(
                "n_initial",
                f"at most the steps before the horizon, {math.ceil(horizon)}",
                n,
                advice="Use fewer initial points or a longer horizon.",
            )
        return np.arange(n, dtype=np.float64), float(n)

    def answer(self, n: int, not_before: float) -> float:
        """See `Clock.answer`."""
        # Less than a billionth of a step is rounding, not a wish to wait.
        self._t += max(0, math.ceil(not_before - self._t - 1e-9))
        return self._t

    def told(self) -> None:
        """See `Clock.told`."""
        self._t += 1.0


class WallClock(Clock):
    """Real time, in seconds: it passes while the optimizer thinks.

    Asking and telling both take their time, and so does the problem. Where the optimizer chooses
    to wait, the clock sleeps. Results differ from run to run and from machine to machine.

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
    """Pretend that thinking takes a given time: deterministic, whatever the machine.

    Parameters
    ----------
    response_time : callable, int -> float, or str
        Seconds from the question to the answer, given the size of the data set that the model has,
        0 for an algorithm without a model (`AskTell` says which that is); "papers" and
        "sktvbo", or a fraction such as "papers/4", are those of `response_time`.
    call_duration : float, default=0.0
        Seconds from the query to the next question: the cost of the objective.

    Raises
    ------
    TypeError
        When response_time is neither callable nor a name.
    ValueError
        When call_duration is negative or not finite, or there is no response time of that name.

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

    def __init__(self, response_time: ResponseTimes, call_duration: float = 0.0) -> None:
        self.response_time = _checked(response_time, self)
        self.call_duration = check_real(call_duration, "call_duration", self, interval="[0, inf)")

    def answer(self, n: int, not_before: float) -> float:
        """See `Clock.answer`.

        Raises
        ------
        InvalidObservationError
            When response_time gives something else than a number >= 0, or time stands still.
        """
        response = check_real(
            self.response_time(n),
            f"response_time({n})",
            interval="[0, inf)",
            advice="It is a number of seconds.",
            error=InvalidObservationError,
        )
        if self._t + response + self.call_duration <= self._t:
            raise invalid(
                f"response_time({n}) + call_duration",
                f"large enough to move the time t={self._t} forward",
                got=f"{response} + {self.call_duration}",
                advice="The run would never end.",
                error=InvalidObservationError,
            )
        self._t = max(self._t + response, float(not_before))
        return self._t

    def told(self) -> None:
        """See `Clock.told`."""
        self._t += self.call_duration

    def __repr__(self):
        return f"SimulatedClock({self.response_time!r}, call_duration={self.call_duration!r})"


class ThinkingClock(Clock):
    """Time passes while the optimizer thinks, as measured, and a query takes a given time.

    Nobody waits: a run of 600 s is over when the optimizer has thought for as long as it may. What
    counts are the processor's seconds of this process, so that other processes do not matter;
    threads count each for itself, so that one thread is the fair number. Observing and telling
    count as thinking. Results differ from run to run and from machine to machine.

    Parameters
    ----------
    call_duration : float, default=0.0
        Seconds from the query to the next question: the cost of the objective.

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
    """A response time by its name, so that results depend neither on the machine nor on its load.

    Parameters
    ----------
    name : {"papers", "sktvbo"} or one of these, a slash and a number
        "papers": W-DBO on BoTorch, by its authors, as in W-DBO and BOLT. "sktvbo": the W-DBO of
        this package. "papers/4": a quarter of it, as on a machine four times as fast.

    Returns
    -------
    callable, int -> float
        Seconds from the question to the answer, a cubic of the size of the data set with
        coefficients >= 0 (BOLT section 4). It can be pickled.

    Raises
    ------
    ValueError
        When there is none of that name, or the number is not positive.

    Notes
    -----
    The time of a W-DBO step, which fits, computes the relevancies and maximizes the acquisition
    function, in three dimensions. Measured on an x86-64 core, one thread, by::

        OMP_NUM_THREADS=1 python benchmarks/speed/steps.py response

    for both. The papers give no numbers of their laptop's, so "papers" has their
    algorithm's growth with n, and not their machine's speed.

    One response time for all algorithms is a simplification: those that look for no irrelevant
    observations, or learn no temporal lengthscale, answer sooner with as many observations. What
    remains, and what the papers are about, is that more observations cost more time.

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


def _checked(given, owner):
    """The response time that a clock is given, by its name or itself."""
    if isinstance(given, str):
        return _Cubic(given)
    # `response_time` itself makes one of a name.
    makes_one = given is response_time
    if not callable(given) or makes_one:
        constant = f"Write lambda n: {given!r} for a constant."
        raise invalid(
            "response_time",
            "a callable that takes the data-set size and returns seconds, or one of "
            f"{', '.join(_RESPONSE_TIMES)}",
            given,
            owner,
            advice="Write response_time('papers')." if makes_one else constant,
            error=TypeError,
        )
    return given


class _Cubic:
    """A named response time; a class, and not a closure, for pickle."""

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
