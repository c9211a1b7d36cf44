"""What an optimizer takes for the time when the caller gives none."""

import time

import numpy as np

from .._validation import LARGEST_X, finite_array, finite_number, invalid
from ..exceptions import InvalidObservationError
from ..gaussian_process._dates import DURATIONS, read_time, read_times


class ElapsedTime:
    """Seconds since the first call; goes on where it stood after pickling."""

    def __init__(self):
        self._origin = None

    def __call__(self, n_told):
        if self._origin is None:
            self._origin = time.perf_counter()
        return time.perf_counter() - self._origin

    def __getstate__(self):
        return {"elapsed": None if self._origin is None else self(0)}

    def __setstate__(self, state):
        elapsed = state["elapsed"]
        self._origin = None if elapsed is None else time.perf_counter() - elapsed


class CalendarTime:
    """Seconds since the first call, by the calendar: they go on while there is no process.

    When the computer's clock is put back, they stand still until it has caught up.
    """

    def __init__(self):
        self._origin, self._latest = None, 0.0

    def __call__(self, n_told):
        if self._origin is None:
            self._origin = time.time()
        self._latest = max(self._latest, time.time() - self._origin)
        return self._latest


class StepCount:
    """0, 1, 2, ...: how many observations have been told."""

    def __call__(self, n_told):
        return float(n_told)


class CallableTime:
    """A callable without arguments."""

    def __init__(self, function):
        self._function = function

    def __call__(self, n_told):
        return self._function()


def make_clock(clock, owner=None):
    """Clock from the ``clock`` parameter of an optimizer."""
    if callable(clock):
        return CallableTime(clock)
    if isinstance(clock, str) and clock == "wall":
        return ElapsedTime()
    if isinstance(clock, str) and clock == "calendar":
        return CalendarTime()
    if isinstance(clock, str) and clock == "step":
        return StepCount()
    raise invalid("clock", "'wall', 'calendar', 'step' or a callable", clock, owner)


def as_time(t, unit):
    """The kind of a time, see `gaussian_process._dates`, and the time as a finite number."""
    kind, number = read_time(t, unit, "t", InvalidObservationError)
    _check_no_duration(kind, unit)
    return kind, finite_number(number, "t", InvalidObservationError, LARGEST_X)


def as_times(t, n, unit):
    """The kind of one time, or of n of them, and these times as numbers (n,)."""
    try:
        one = np.ndim(t) == 0
    except ValueError:  # lists of different lengths
        one = False
    if one:
        kind, number = as_time(t, unit)
        return kind, np.full(n, number)
    kind, numbers = read_times(t, unit, "t", InvalidObservationError)
    _check_no_duration(kind, unit)
    return kind, finite_array(numbers, "t", (n,), InvalidObservationError, LARGEST_X)


def _check_no_duration(kind, unit):
    if kind == DURATIONS:
        advice = f"Give the length of a duration as a number, such as that of its units {unit!r}."
        error = InvalidObservationError
        raise invalid("t", "a number or a date", got="a duration", advice=advice, error=error)
