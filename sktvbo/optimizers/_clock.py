"""Clocks of an optimizer, and the reading of times."""

import time

import numpy as np

from .._validation import LARGEST_X, finite_array, finite_number, invalid
from ..exceptions import InvalidObservationError
from ..gaussian_process._dates import DURATIONS, read_time, read_times


class ElapsedTime:
    """Clock of the seconds since the first call, without those between pickling and unpickling."""

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
    """Clock of the seconds since the first call, including those without a process.

    It never goes back: if the computer's clock is set back, it stands still until that catches up.
    """

    def __init__(self):
        self._origin, self._latest = None, 0.0

    def __call__(self, n_told):
        if self._origin is None:
            self._origin = time.time()
        self._latest = max(self._latest, time.time() - self._origin)
        return self._latest


class StepCount:
    """Clock of the number of observations told."""

    def __call__(self, n_told):
        return float(n_told)


class CallableTime:
    """Clock from a callable without arguments."""

    def __init__(self, function):
        self._function = function

    def __call__(self, n_told):
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
    _check_no_duration(kind, unit)
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
    _check_no_duration(kind, unit)
    return kind, finite_array(numbers, "t", (n,), InvalidObservationError, LARGEST_X)


def _check_no_duration(kind, unit):
    if kind == DURATIONS:
        advice = f"Give the duration as a number, in units of {unit!r}."
        error = InvalidObservationError
        raise invalid("t", "a number or a date", got="a duration", advice=advice, error=error)
