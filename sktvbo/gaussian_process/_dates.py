"""Times in all the forms that users have, as numbers in a unit of time.

This is the one place where dates and durations become numbers: for the columns of X, the times of
an optimizer, and the parameters of kernels. A column of times is of one kind: numbers, dates
without a time zone, dates with one, or durations. Numbers of different kinds cannot be compared, so
a model or a run holds one kind: see `check_kinds`.

Dates count from 1970. Those with a time zone are converted to UTC. Those without one are taken as
they are, as if in UTC: nothing tells in which zone, or on which side of a clock change, they are.
"""

from datetime import UTC, date, datetime, timedelta
from math import gcd
from numbers import Real

import numpy as np
from sklearn.base import clone
from sklearn.gaussian_process.kernels import Kernel

from .._tables import frame_columns
from .._validation import check_choice, invalid

# Nanoseconds of each unit of time that dates and durations can be counted in.
_UNITS = {
    "ns": 1,
    "us": 10**3,
    "ms": 10**6,
    "s": 10**9,
    "min": 60 * 10**9,
    "h": 3600 * 10**9,
    "D": 86400 * 10**9,
    "W": 604800 * 10**9,
}
_RESOLUTIONS = _UNITS | {"m": _UNITS["min"]}  # NumPy's name
# NumPy has others, which become one of these: calendar units of dates, and parts of nanoseconds.
_CONVERTED = {"Y": "D", "M": "D", "ps": "ns", "fs": "ns", "as": "ns"}

NUMBERS = "numbers"
NAIVE = "dates without a time zone"
ZONED = "dates with a time zone"
DURATIONS = "durations"

_DATES = (date, np.datetime64)  # a datetime and a Timestamp are dates
_DURATIONS = (timedelta, np.timedelta64)


def check_time_unit(unit, owner):
    """The unit, which is one that dates can be counted in."""
    return check_choice(unit, tuple(_UNITS), "time_unit", owner)


# --- tables ---------------------------------------------------------------------------------------


def numeric_times(X, unit):
    """X with numbers in place of dates and durations, and the kinds of these columns.

    Parameters
    ----------
    X : array-like of shape (n, d)
        A data frame, an array, also one of objects such as ``frame.to_numpy()``, or a list of rows.
    unit : str
        Of the numbers; see `check_time_unit`.

    Returns
    -------
    X : array-like of shape (n, d)
        The same object where there are only numbers; otherwise a copy, a frame of a frame.
    kinds : dict of int to str
        Of the columns that held dates or durations, by position; see `check_kinds`.

    Raises
    ------
    ValueError
        A date is missing, or a column holds times of several kinds.
    """
    table = _as_table(X)
    kinds, numbers = {}, {}
    for i, (label, column) in enumerate(columns_of(table)):
        kind, values = read_times(column, unit, f"Column {label!r}")
        if kind != NUMBERS:
            kinds[i], numbers[i] = kind, values
    return (_with_columns(table, numbers), kinds) if kinds else (X, kinds)


def check_kinds(kinds, known, names=()):
    """Raise a ValueError unless the columns of dates are those of an earlier call.

    Parameters
    ----------
    kinds, known : dict of int to str
        Of `numeric_times`, now and at ``fit``.
    names : sequence of str, default=()
        Of the columns, for the message; empty for positions.
    """
    for i in sorted({*kinds, *known}):
        now, then = kinds.get(i, NUMBERS), known.get(i, NUMBERS)
        if now != then:
            label = names[i] if len(names) else i
            advice = ""
            if now == NUMBERS and then != DURATIONS:
                advice = "NumPy and polars make numbers of dates beside numbers: give the frame."
            raise mixed_kinds(f"Column {label!r}", then, now, "in the data of fit", advice)


def mixed_kinds(name, known, kind, where, advice="", error=ValueError):
    """The error of times of a kind that cannot be compared with the known ones."""
    if {known, kind} == {NAIVE, ZONED}:
        advice = "Give all of them a zone: .dt.tz_localize(zone) in pandas, replace(tzinfo=zone)."
    advice = advice or f"Convert them to {known}."
    return invalid(name, f"{known}, as {where}", got=kind, advice=advice, error=error)


def columns_of(table):
    """Label and column (n,) of each column of a frame or an array; nothing of anything else."""
    if isinstance(table, np.ndarray):
        several = table.ndim == 2 and table.dtype.kind in "MmO"
        return enumerate(table.T) if several else ()
    return frame_columns(table) or ()


def _as_table(X):
    """A list of rows with dates as an array of objects; anything else as it is."""
    if not isinstance(X, list | tuple):
        return X
    if len(X) and isinstance(X[0], _DATES + _DURATIONS):
        advice = "Write [[t] for t in X] for a single column."
        raise invalid("X", "of two dimensions", got="a list of dates or durations", advice=advice)
    try:
        if np.asarray(X).dtype.kind not in "MmO":
            return X
        rows = [list(row) for row in X]
    except (TypeError, ValueError):  # of different lengths, or of one dimension
        return X
    # NumPy would make integers of some dates, and durations of numbers beside durations.
    table = np.empty((len(rows), len(rows[0])), dtype=object)
    for i, row in enumerate(rows):
        if len(row) != table.shape[1]:
            return X
        table[i] = row
    return table


def _with_columns(table, numbers):
    """A copy of a table with other columns (n,) at some positions."""
    if isinstance(table, np.ndarray):
        if table.dtype.kind in "Mm":
            return np.column_stack([numbers[i] for i in range(table.shape[1])])
        table = table.copy()
        for i, values in numbers.items():
            table[:, i] = values
        return table
    if hasattr(table, "iloc"):
        table = table.copy(deep=False)
        for i, values in numbers.items():
            # By position, as names need not be strings, nor different.
            table.isetitem(i, values)
        return table
    if hasattr(table, "column_names"):
        for i, values in numbers.items():
            table = table.set_column(i, table.column_names[i], [values])
        return table
    table = table.clone()
    for i, values in numbers.items():
        series = type(table.to_series(i))
        table.replace_column(i, series(table.columns[i], values))
    return table


# --- columns --------------------------------------------------------------------------------------


def read_times(column, unit, name, error=ValueError):
    """The kind of a column of times, and its numbers (n,); of other values the column itself.

    Parameters
    ----------
    column : array-like of shape (n,)
        A column of a frame, a Series, an index, an array or a list.
    unit : str
    name : str
        For messages.
    error : type, default=ValueError
    """
    values, kind = _as_array(column)
    if values.dtype.kind in "Mm":
        kind = kind or (NAIVE if values.dtype.kind == "M" else DURATIONS)
        _check_gaps(np.isnat(values), name, error)
        return kind, _counted(values, unit, name, error)
    types = set(map(type, values)) if values.dtype == object else set()
    if not any(issubclass(kind, _DATES + _DURATIONS) for kind in types):
        return NUMBERS, column
    _check_gaps(np.array([_is_missing(value) for value in values]), name, error)
    kinds = {_kind_of(value) for value in values}
    if len(kinds) > 1:
        expected = "of one kind: numbers, dates with or without a time zone, or durations"
        raise invalid(name, expected, got=" and ".join(sorted(kinds)), error=error)
    # One by one: in one array of dates NumPy would round some, or overflow.
    numbers = [_counted(np.array([_scalar(v)]), unit, name, error)[0] for v in values]
    return kinds.pop(), np.array(numbers)


def read_time(value, unit, name, error=ValueError):
    """The kind of one time, and its number; anything else is returned as it is."""
    if isinstance(value, Real) and not isinstance(value, np.timedelta64):
        return NUMBERS, value
    if not isinstance(value, _DATES + _DURATIONS):
        kind = getattr(getattr(value, "dtype", None), "kind", None)
        if kind not in ("M", "m", "O") or np.size(value) != 1:
            return NUMBERS, value
        value = np.asarray(value).reshape(1)
    kind, numbers = read_times(value if np.ndim(value) else [value], unit, name, error)
    return kind, value if kind == NUMBERS else float(numbers[0])


def dates_of(numbers, unit):
    """Dates (n,) in microseconds, of numbers since 1970 in a unit; NaT for NaN."""
    microseconds = np.rint(numbers * (_UNITS[unit] / _UNITS["us"]))
    missing = np.isnan(microseconds)
    dates = np.where(missing, 0.0, microseconds).astype("datetime64[us]")
    dates[missing] = np.datetime64("NaT")
    return dates


def _as_array(column):
    """Values (n,) of a column, dates in UTC; the kind is ZONED or, where not known yet, None."""
    if isinstance(column, list | tuple):
        return np.fromiter(column, dtype=object, count=len(column)), None
    dtype = getattr(column, "dtype", getattr(column, "type", None))
    arrow = getattr(dtype, "pyarrow_dtype", dtype)
    zone = getattr(arrow, "tz", None) or getattr(dtype, "time_zone", None)
    kind, step = getattr(dtype, "kind", ""), getattr(arrow, "unit", None)
    if step is not None and kind in ("M", "m"):  # pandas' own, and Arrow's in pandas
        word = "datetime64" if kind == "M" else "timedelta64"
        values = column.to_numpy(dtype=f"{word}[{step}]")
    elif hasattr(column, "to_numpy") and not hasattr(column, "iloc"):
        values = column.to_numpy()
    else:
        values = np.asarray(column)
    return values, ZONED if zone and values.dtype.kind == "M" else None


def _counted(values, unit, name, error):
    """Numbers (n,) of datetime64 or timedelta64, in a unit; equal times are equal numbers."""
    step, n = np.datetime_data(values.dtype)
    if step in _CONVERTED and not (step in "YM" and values.dtype.kind == "m"):
        step, n = _CONVERTED[step], 1
        values = values.astype(f"{values.dtype.kind}8[{step}]")
    if step not in _RESOLUTIONS:
        got = f"{values.dtype}, whose length in {unit!r} is not known"
        raise invalid(name, "in a unit of time from weeks to attoseconds", got=got, error=error)
    numerator, denominator = n * _RESOLUTIONS[step], _UNITS[unit]
    divisor = gcd(numerator, denominator)
    numerator, denominator = numerator // divisor, denominator // divisor
    # Exact up to the last rounding: equal times of different resolutions are equal numbers.
    whole, rest = np.divmod(values.astype(np.int64), denominator)
    return whole * float(numerator) + rest * numerator / denominator


def _scalar(value):
    """A date, in UTC, or a duration as NumPy has them."""
    for method in ("to_datetime64", "to_timedelta64"):  # of pandas, to the nanosecond
        if hasattr(value, method):
            return getattr(value, method)()
    if isinstance(value, datetime) and value.tzinfo is not None:
        value = value.astimezone(UTC).replace(tzinfo=None)
    if isinstance(value, date):
        return np.datetime64(value)
    return np.timedelta64(value) if isinstance(value, timedelta) else value


def _kind_of(value):
    """The kind of one time."""
    if isinstance(value, _DURATIONS):
        return DURATIONS
    if isinstance(value, _DATES):
        return ZONED if getattr(value, "tzinfo", None) is not None else NAIVE
    return NUMBERS if isinstance(value, Real) else f"{type(value).__name__} {value!r}"


def _is_missing(value):
    """Whether a value among dates is None, NaN, NaT or <NA>."""
    if isinstance(value, np.datetime64 | np.timedelta64):
        return bool(np.isnat(value))
    try:
        return value is None or bool(value != value)
    except TypeError:  # <NA>
        return True


def _check_gaps(missing, name, error):
    if missing.any():
        advice = f"Drop row {np.argmax(missing)}, or fill it in." if len(missing) > 1 else ""
        raise invalid(name, "dates without gaps", got="NaT", advice=advice, error=error)


# --- durations among the parameters of kernels ----------------------------------------------------


def number_of_duration(value, unit):
    """A duration as a number of units; anything else as it is."""
    if not _is_duration(value):
        return value
    return float(_counted(np.array([_scalar(value)]), unit, "A duration", ValueError)[0])


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
            parts = [number_of_duration(part, unit) for part in (value if pair else [value])]
            found[name] = tuple(parts) if pair else parts[0]
    return clone(kernel).set_params(**found) if found else kernel


def _is_duration(value):
    return isinstance(value, _DURATIONS)
