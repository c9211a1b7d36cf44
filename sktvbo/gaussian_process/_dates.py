"""Dates among the columns of X, and durations among the parameters of kernels, as numbers."""

from datetime import UTC, datetime, timedelta

import numpy as np
from sklearn.base import clone
from sklearn.gaussian_process.kernels import Kernel

from .._checks import check_choice, invalid

# Seconds of each unit of time that dates and durations can be counted in.
_UNITS = {
    "ns": 1e-9,
    "us": 1e-6,
    "ms": 1e-3,
    "s": 1.0,
    "min": 60.0,
    "h": 3600.0,
    "D": 86400.0,
    "W": 604800.0,
}


def check_time_unit(unit, owner):
    """The unit, which is one that `numeric_times` knows."""
    return check_choice(unit, tuple(_UNITS), "time_unit", owner)


def numeric_times(X, unit):
    """X, with columns of dates as the time since 1970 (UTC), in a unit of time.

    X may be a data frame, or an array of objects, as column transformers make of zoned dates.
    """
    if isinstance(X, np.ndarray) and X.dtype == object and X.ndim == 2 and len(X):
        return _numeric_objects(X, unit)
    if not hasattr(X, "dtypes") or not hasattr(X, "isetitem"):
        return X
    numeric = None
    for i, (name, dtype) in enumerate(zip(X.columns, X.dtypes)):
        if getattr(dtype, "kind", "") == "M":
            column = X.iloc[:, i]
            dates = column.to_numpy(dtype=f"datetime64[{column.dt.unit}]")
            if np.isnat(dates).any():
                raise invalid(f"Column {name!r}", "dates without gaps", got="NaT")
            numeric = X.copy(deep=False) if numeric is None else numeric
            # The column is set by its position, as names need not be strings, nor different.
            numeric.isetitem(i, _seconds(dates) / _UNITS[unit])
    return X if numeric is None else numeric


def _numeric_objects(X, unit):
    """An array of objects (n, d), with columns of dates as numbers."""
    numeric = X.copy()
    for i in range(X.shape[1]):
        if not isinstance(X[0, i], datetime):
            continue
        # NaT is a datetime, and the only one that is not itself.
        if not all(isinstance(date, datetime) and date == date for date in X[:, i]):
            raise invalid(f"Column {i}", "dates without gaps", got="something else among them")
        seconds = [
            (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp() for date in X[:, i]
        ]
        numeric[:, i] = np.array(seconds) / _UNITS[unit]
    return numeric


def number_of_date(value, unit):
    """A date as the time since 1970 (UTC), in a unit; NaN for NaT. Else the value as it is."""
    if isinstance(value, np.datetime64):
        if np.isnat(value):
            return np.nan
        if value == value.astype("datetime64[s]"):
            value = value.astype("datetime64[s]")
        return float(_seconds(np.array([value]))[0] / _UNITS[unit])
    if isinstance(value, datetime):
        if value != value:  # NaT, the only one that is not itself
            return np.nan
        return (value if value.tzinfo else value.replace(tzinfo=UTC)).timestamp() / _UNITS[unit]
    return value


def number_of_duration(value, unit):
    """How many units a duration has; what is none stays as it is."""
    return _count(value, unit)


def _seconds(dates):
    """Seconds since 1970 (n,) of dates in a data frame's column, of any resolution."""
    count = dates.astype(np.int64)
    per_second = int(np.timedelta64(1, "s") / np.timedelta64(1, np.datetime_data(dates.dtype)[0]))
    nanoseconds = 10**9 // per_second
    # Dates from 1678 to 2262 can be counted in nanoseconds: rounded in that way, equal dates are
    # equal numbers at all resolutions. Other dates exist at the coarser ones alone.
    countable = np.abs(count) <= np.iinfo(np.int64).max // nanoseconds
    return np.where(countable, count * nanoseconds * 1e-9, count / per_second)


def numeric_durations(kernel, unit):
    """A kernel whose parameters are numbers where they were durations, and pairs of durations.

    What was given is not changed; without durations it is what is returned.
    """
    if not isinstance(kernel, Kernel):
        return kernel
    found = {}
    for name, value in kernel.get_params().items():
        pair = isinstance(value, tuple | list) and any(map(_is_duration, value))
        if pair or _is_duration(value):
            parts = [_count(part, unit) for part in (value if pair else [value])]
            found[name] = tuple(parts) if pair else parts[0]
    return clone(kernel).set_params(**found) if found else kernel


def _is_duration(value):
    return isinstance(value, timedelta | np.timedelta64)


def _count(duration, unit):
    """How many units a duration has; what is none stays as it is."""
    if isinstance(duration, np.timedelta64):
        return float(duration / np.timedelta64(1, "ns")) / (1e9 * _UNITS[unit])
    return duration.total_seconds() / _UNITS[unit] if _is_duration(duration) else duration
