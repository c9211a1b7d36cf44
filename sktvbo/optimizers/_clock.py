"""What an optimizer takes for the time when the caller gives none."""

import math
import time
from numbers import Real
from time import monotonic

import numpy as np

from .._checks import check_real, finite_array, finite_number, invalid
from .._limits import LARGEST_X
from ..exceptions import InvalidObservationError
from ..gaussian_process._dates import number_of_date


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


def end_of(deadline):
    """When, on the monotonic clock, so many seconds have passed from now; None: never."""
    if deadline is None:
        return math.inf
    return monotonic() + check_real(deadline, "deadline", interval="[0, inf]")


def as_time(t, unit):
    """A time, or a date, as a finite number; dates count from 1970 (UTC), in a unit of time."""
    if not isinstance(t, Real):
        t = number_of_date(t, unit)
    return finite_number(t, "t", InvalidObservationError, LARGEST_X)


def as_times(t, n, unit):
    """Times (n,) of one time or date, or of n of them."""
    try:
        array = np.asarray(t)
    except ValueError:  # lists of different lengths
        array = np.empty(0)
    if array.ndim == 0:
        return np.full(n, as_time(t, unit))
    if array.dtype.kind in "MO":
        array = np.array([number_of_date(each, unit) for each in array.ravel()])
    return finite_array(array, "t", (n,), InvalidObservationError, LARGEST_X)
