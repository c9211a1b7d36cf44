"""Durations as numbers in a unit of time."""

import re
from datetime import UTC, date, datetime, timedelta
from math import gcd
from numbers import Real

import numpy as np

from ._validation import check_choice, invalid

# Nanoseconds per unit of time.
UNITS = {
    "ns": 1,
    "us": 10**3,
    "ms": 10**6,
    "s": 10**9,
    "min": 60 * 10**9,
    "h": 3600 * 10**9,
    "D": 86400 * 10**9,
    "W": 604800 * 10**9,
}
# Unit of a regressor without ``time_unit``.
DEFAULT_UNIT = "s"

_RESOLUTIONS = UNITS | {"m": UNITS["min"]}  # NumPy's name
# NumPy's other units, with their replacements: calendar units, and fractions of nanoseconds.
_CONVERTED = {"Y": "D", "M": "D", "ps": "ns", "fs": "ns", "as": "ns"}

DURATION_TYPES = (timedelta, np.timedelta64)

# Values of a period, for messages.
PERIOD = "positive, a duration, or a string such as '1D' or '90 min'"


def check_time_unit(unit, owner=None):
    """Return the unit of time if it is supported, else raise a ValueError."""
    return check_choice(unit, tuple(UNITS), "time_unit", owner)


def number_of_duration(value, unit):
    """Return a duration as a number of units; other values unchanged."""
    if not is_duration(value):
        return value
    return float(counted(np.array([scalar(value)]), unit, "A duration", ValueError)[0])


def number_of_period(value, unit):
    """Return a period as a float in a unit, None for other values than `PERIOD` says.

    Without a ``unit`` durations are such values.
    """
    if isinstance(value, str) and unit is not None:
        text = re.fullmatch(r"(\d+(?:\.\d*)?) ?([a-zA-Z]+)", value)
        if text and text[2] in UNITS:
            value = float(text[1]) * UNITS[text[2]] / UNITS[unit]
    number = value if unit is None else number_of_duration(value, unit)
    is_number = isinstance(number, Real) and not isinstance(number, bool | np.timedelta64)
    return float(number) if is_number and 0.0 < number < np.inf else None


def is_duration(value):
    """Return True for a duration of Python, NumPy or pandas."""
    return isinstance(value, DURATION_TYPES)


def counted(values, unit, name, error):
    """Return datetime64 or timedelta64 as numbers (n,) in a unit."""
    step, n = np.datetime_data(values.dtype)
    if step in _CONVERTED and not (step in "YM" and values.dtype.kind == "m"):
        step, n = _CONVERTED[step], 1
        values = values.astype(f"{values.dtype.kind}8[{step}]")
    if step not in _RESOLUTIONS:
        got = f"{values.dtype}, whose length in {unit!r} is not known"
        raise invalid(name, "in a unit of time from weeks to attoseconds", got=got, error=error)
    numerator, denominator = n * _RESOLUTIONS[step], UNITS[unit]
    divisor = gcd(numerator, denominator)
    numerator, denominator = numerator // divisor, denominator // divisor
    # Exact up to the last rounding: equal times of different resolutions give equal numbers.
    whole, rest = np.divmod(values.astype(np.int64), denominator)
    return whole * float(numerator) + rest * numerator / denominator


def nanoseconds(value):
    """Return a date or duration as a whole number of nanoseconds; None in another unit."""
    value = scalar(value)
    step, n = np.datetime_data(value.dtype)
    return int(value.astype(np.int64)) * n * _RESOLUTIONS[step] if step in _RESOLUTIONS else None


def scalar(value):
    """Return a date, in UTC, or a duration as a NumPy scalar."""
    for method in ("to_datetime64", "to_timedelta64"):  # of pandas, to the nanosecond
        if hasattr(value, method):
            return getattr(value, method)()
    if isinstance(value, datetime) and value.tzinfo is not None:
        value = value.astimezone(UTC).replace(tzinfo=None)
    if isinstance(value, date):
        return np.datetime64(value)
    return np.timedelta64(value) if isinstance(value, timedelta) else value
