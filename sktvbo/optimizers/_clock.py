"""Clocks of an optimizer, and the reading of times."""

import time

import numpy as np

from .._locks import Lock
from .._validation import LARGEST_X, finite_array, finite_number, invalid
from .._warnings import warn_caller
from ..exceptions import InvalidObservationError
from ..gaussian_process._dates import DURATIONS, read_time, read_times

# --- clocks ---------------------------------------------------------------------------------------

# Threads read a clock one at a time: a later reading must not come before an earlier one.
_READING = Lock()


class ElapsedTime:
    """Clock of the seconds since the first call, except those between pickling and unpickling.

    It continues from the latest time told, if that is later.
    """

    def __init__(self):
        self._origin = None

    def __call__(self, n_told, latest):
        now = time.perf_counter()
        if self._origin is None:
            self._origin = now
        self._origin = min(self._origin, now - max(latest, 0.0))
        return max(now - self._origin, latest)  # not before it by a rounding error

    def __getstate__(self):
        return {"elapsed": None if self._origin is None else self(0, 0.0)}

    def __setstate__(self, state):
        elapsed = state["elapsed"]
        self._origin = None if elapsed is None else time.perf_counter() - elapsed


class CalendarTime:
    """Clock of the seconds since the first call, including those without a process.

    It never goes back: if the computer's clock is set back, it stands still until that catches up.
    It continues from the latest time told, if that is later.
    """

    def __init__(self):
        self._origin, self._latest, self._read = None, 0.0, -np.inf

    def __call__(self, n_told, latest):
        with _READING:
            read = time.time()
            back, stands = self._read - read, self._latest
            if self._origin is None:
                self._origin = read
            if back <= 0.0 and latest > self._latest:
                self._origin = min(self._origin, read - latest)
            self._read = read
            self._latest = now = max(self._latest, read - self._origin, latest)
        if back > 0.0:
            warn_caller(
                f"The computer's clock jumped back by {back:.6g} s. The clock 'calendar' stands "
                f"still at {stands:.6g} s until it catches up. To go on, give times to ask(t), or "
                "use another clock.",
            )
        return now


class StepCount:
    """Clock that counts observations and failures told, but is not before the latest time."""

    def __call__(self, n_told, latest):
        return max(float(n_told), latest)


class CallableTime:
    """Clock from a callable without arguments."""

    def __init__(self, function):
        self._function = function

    def __call__(self, n_told, latest):
        return self._function()


_CLOCKS = {"wall": ElapsedTime, "calendar": CalendarTime, "step": StepCount}


def make_clock(clock, owner=None):
    """Return the clock of an optimizer's ``clock`` parameter."""
    if callable(clock):
        return CallableTime(clock)
    if isinstance(clock, str) and clock in _CLOCKS:
        return _CLOCKS[clock]()
    raise invalid("clock", "'wall', 'calendar', 'step' or a callable", clock, owner)


def as_time(t, unit):
    """Return the kind of a time, see `gaussian_process._dates`, and the time as a finite number."""
    kind, number = read_time(t, unit, "t", InvalidObservationError)
    if kind == DURATIONS:
        raise _no_duration(unit)
    return kind, finite_number(number, "t", InvalidObservationError, LARGEST_X)


def as_times(t, n, unit):
    """Return the kind of one time, or of n times, and the times as numbers (n,)."""
    try:
        is_one = np.ndim(t) == 0
    except ValueError:  # lists of different lengths
        is_one = False
    if is_one:
        kind, number = as_time(t, unit)
        return kind, np.full(n, number)
    kind, numbers = read_times(t, unit, "t", InvalidObservationError)
    if kind == DURATIONS:
        raise _no_duration(unit)
    return kind, finite_array(numbers, "t", (n,), InvalidObservationError, LARGEST_X)


def _no_duration(unit):
    advice, error = f"Give the duration as a number, in units of {unit!r}.", InvalidObservationError
    return invalid("t", "a number or a date", got="a duration", advice=advice, error=error)
