"""Checks of arguments, with one sentence for all errors.

"The 'alpha' parameter of WDBO must be a float in the range [0, inf). Got -1 instead."

Limits of numbers, and the treatment of difficult ones:

1. Inputs (X, also in units of the lengthscales, times and y) are finite and at most 1e100 in
   absolute value, so that squares and differences are finite. Other numbers are refused, by name,
   before anything changes.
2. Outputs are finite, or an error says why they cannot be. What is too small for a float is 0.
3. Inside, units are taken out. Time counts from the first observation; standardized y, and the
   sums of the relevancy, are in units of their own size. Where such a unit is not taken from the
   data's standard deviation it is a power of two, which changes no digit: with ``normalize_y``, y
   times 2^k gives predictions times 2^k to the bit, and the same hyperparameters and relevancies.
4. y whose spread is in the last digit or two of its size, or below 1e-150, is constant: it is not
   standardized by its rounding errors, but has the scale 1.
5. A covariance matrix that is not positive definite is helped by adding to its diagonal 1e-10 of
   the mean prior variance, then ten times as much, and so on to 1e-4, with one warning that states
   the amount; then an error names the kernel and the remedy. That is decided in
   ``gaussian_process/_cholesky.py`` alone.
6. Relevancies tell no observations apart that determine each other to within 1e-8 of the signal
   variance (a standard deviation of 1e-4): such observations are ranked as if they had that much
   more noise. Smaller differences are lost in the rounding of the convolutions.
7. Variances that rounding has made negative are 0.
8. Correlations are computed in the units of the lengthscales, and fall to 0 without overflow at any
   distance and in any number of dimensions.
"""

import difflib
import math
import re
import reprlib
from datetime import date, timedelta
from functools import partial
from numbers import Integral, Real

import numpy as np
import sklearn.utils

from .exceptions import DomainError, InvalidObservationError

# See the rules above: 1, 5 and 6.
LARGEST_X = LARGEST_Y = 1e100
FIRST_JITTER, LAST_JITTER = 1e-10, 1e-4
RESOLUTION = 1e-8

# A float is recognized first: the check of an abstract type is slow.
_REAL = (float, Real)


def check_random_state(random_state):
    """Return the RandomState of an argument: a new one, or one that draws from what is given.

    As `sklearn.utils.check_random_state`, which does not take a `numpy.random.Generator`: here it
    is drawn from by the methods of a RandomState.
    """
    if isinstance(random_state, np.random.Generator):
        return np.random.RandomState(random_state.bit_generator)
    return sklearn.utils.check_random_state(random_state)


def invalid(name, expected, value=None, owner=None, *, got=None, advice="", error=ValueError):
    """Return an error that states expected and given values, and a remedy; the caller raises it.

    Parameters
    ----------
    name : str
        Name of the argument, or of the parameter of ``owner``.
    expected : str
        Allowed values, such as "a float in the range (0, inf)".
    value : object, default=None
        Given value.
    owner : object, class or str, default=None
        Owner of the parameter; None for an argument of a function.
    got : str, default=None
        Description of the value, in place of its repr: "shape (2,)".
    advice : str, default=""
        Remedy, a sentence.
    error : type, default=ValueError
    """
    subject = name
    if owner is not None:
        if not isinstance(owner, str):
            owner = (owner if isinstance(owner, type) else type(owner)).__name__
        subject = f"The '{name}' parameter of {owner}"
    got = reprlib.repr(value) if got is None else got
    return error(f"{subject} must be {expected}. Got {got} instead.{advice and ' '}{advice}")


# Errors of a domain, and of points, values and times.
invalid_domain = partial(invalid, error=DomainError)
invalid_observation = partial(invalid, error=InvalidObservationError)


def choose(text, known, name, owner=None):
    """Return the known name that equals a text up to case, hyphens and other signs.

    Raises
    ------
    ValueError
        No name does; the message has the closest one.
    """

    def plain(text):
        return re.sub(r"[^a-z0-9]", "", text.lower())

    for one in known:
        if plain(one) == plain(text):
            return one
    lower = {one.lower(): one for one in known}
    close = difflib.get_close_matches(text.lower(), lower, n=1)
    hint = f"Did you mean {lower[close[0]]!r}?" if close else ""
    raise invalid(name, f"one of {', '.join(known)}", text, owner, advice=hint)


def check_real(value, name, owner=None, *, interval="(-inf, inf)", advice="", error=ValueError):
    """Return the value as a float in an interval such as "(0, 1]"; no bool and no duration."""
    low, high = map(float, interval[1:-1].split(","))
    if isinstance(value, _REAL) and not isinstance(value, (bool, np.timedelta64)):
        above = low < value or (low == value and interval[0] == "[")
        below = value < high or (value == high and interval[-1] == "]")
        if above and below:
            return float(value)
    expected = f"a float in the range {interval}"
    raise invalid(name, expected, value, owner, advice=advice, error=error)


def check_int(value, name, owner=None, *, low=1, high=None, advice="", error=ValueError):
    """Return the value as an int from ``low`` to ``high``, both included; None: no upper limit."""
    whole = isinstance(value, Integral) and not isinstance(value, bool | np.timedelta64)
    if whole and value >= low and (high is None or value <= high):
        return int(value)
    expected = f"an int in the range [{low}, {'inf)' if high is None else f'{high}]'}"
    raise invalid(name, expected, value, owner, advice=advice, error=error)


def check_bool(value, name, owner=None):
    """Return the value as a bool; the string "False" and the number 1 are refused."""
    if isinstance(value, bool | np.bool_):
        return bool(value)
    raise invalid(name, "True or False", value, owner)


def plain_number(value):
    """Return a NumPy scalar as a Python number, whose sums do not overflow; others as given."""
    if isinstance(value, np.generic) and value.dtype.kind in "biuf":
        return {"b": bool, "f": float}.get(value.dtype.kind, int)(value)
    return value


def check_choice(value, choices, name, owner=None):
    """Return the one of the choices that the value equals; NumPy scalars count as Python's."""
    plain = value.item() if isinstance(value, np.str_ | np.bool_ | np.integer) else value
    for choice in choices:
        # Types are compared too: an array compares element by element, and True equals 1.
        if type(plain) is type(choice) and plain == choice:
            return choice
    *others, last = map(repr, choices)
    expected = f"{', '.join(others)} or {last}" if others else last
    raise invalid(name, expected, value, owner)


def check_bounds(bounds, name, owner=None, *, high=None):
    """Return bounds of a hyperparameter: a pair 0 < low <= high of finite numbers, or "fixed".

    ``high`` is the largest upper bound allowed; None: no limit.
    """
    if isinstance(bounds, str) and bounds == "fixed":
        return bounds
    pair = np.asarray(bounds)
    if (
        pair.shape != (2,)
        or pair.dtype.kind not in "iuf"
        or not 0.0 < pair[0] <= pair[1] < np.inf
        or (high is not None and pair[1] > high)
    ):
        limit = " < inf" if high is None else f" <= {high:g}"
        raise invalid(name, f"'fixed' or a pair 0 < low <= high{limit}", bounds, owner)
    return bounds


def finite_number(value, name, error=ValueError, largest=np.inf):
    """Return a value, or an array's only one, as a finite float of magnitude <= ``largest``."""
    number = value
    if not isinstance(value, _REAL) or isinstance(value, np.timedelta64):  # for NumPy an integer
        try:
            array = np.asarray(value)
        except ValueError as exc:  # lists of different lengths
            raise invalid(name, "one real number", value, error=error) from exc
        if array.size != 1 or array.dtype.kind not in "biuf" or np.ma.is_masked(value):
            raise invalid(name, "one real number", value, error=error)
        number = array.reshape(())[()]
    try:
        number = float(number)
    except OverflowError:  # an int or a fraction beyond the largest float
        number = np.inf
    if not math.isfinite(number):
        raise invalid(name, "finite", value, error=error)
    if abs(number) > largest:
        raise _too_large(name, largest, abs(number), error)
    return number


def is_gap(value):
    """Return True if a value among others is None, NaN, NaT or <NA>."""
    if isinstance(value, np.datetime64 | np.timedelta64):
        return bool(np.isnat(value))
    try:
        return value is None or bool(value != value)
    except (TypeError, ValueError):
        return np.ndim(value) == 0  # <NA>


def check_complete(values, name):
    """Raise a ValueError that names the first missing value of an array, also among objects."""
    array = np.asarray(values)
    if not array.ndim or array.dtype.kind not in ("f", "O"):
        return
    gaps = np.isnan(array) if array.dtype.kind == "f" else are_gaps(array)
    if gaps.any():
        place = np.argwhere(gaps)[0]
        gap = f"{array[tuple(place)]} in row {place[0]}"
        raise ValueError(f"Input {name} contains NaN: {gap}. Drop such rows, or fill them in.")


def are_gaps(array):
    """Return a mask of the missing values in an array of objects."""
    return np.array([is_gap(v) for v in array.flat], dtype=bool).reshape(array.shape)


def real_array(value, name, error=ValueError):
    """Return a new C-ordered float64 array of real numbers.

    NaN and infinity are allowed, and missing values among objects are NaN.
    """
    if type(value) is np.ndarray and value.dtype == np.float64:
        return np.array(value, order="C")
    array = None
    try:
        array = np.asarray(value)
        if array.dtype.kind not in "biufO":
            raise TypeError(f"dtype {array.dtype}")
        if np.ma.is_masked(value):
            raise TypeError("masked values")
        if array.dtype == object:
            array = np.where(are_gaps(array), np.nan, array)
        return np.array(array, dtype=np.float64, order="C")
    except (TypeError, ValueError) as exc:
        got, advice = f"{reprlib.repr(value)} ({exc})", ""
        if array is not None and (
            array.dtype.kind in "Mm" or any(isinstance(v, date | timedelta) for v in array.flat)
        ):
            advice = "Give numbers in place of dates and durations, such as hours."
        raise invalid(name, "real numbers", got=got, advice=advice, error=error) from exc


def finite_array(value, name, shape, error=ValueError, largest=np.inf):
    """Return a new C-ordered float64 array of finite numbers of magnitude <= ``largest``.

    In the tuple ``shape`` a number is a length, and a str, such as "n", any length but 0.
    """
    array = real_array(value, name, error)
    fits = len(shape) == array.ndim
    for length, dimension in zip(array.shape, shape):
        fits = fits and (length > 0 if isinstance(dimension, str) else length == dimension)
    if not fits:
        lengths = ", ".join(map(str, shape)) + "," * (len(shape) == 1)
        got = f"shape {array.shape}"
        raise invalid(name, f"an array of shape ({lengths})", got=got, error=error)
    size = np.abs(array).max(initial=0.0)  # NaN if any number is
    if not size < np.inf:
        count = np.count_nonzero(~np.isfinite(array))
        raise invalid(name, "finite", got=f"{count} NaN or infinity", error=error)
    if size > largest:
        raise _too_large(name, largest, size, error)
    return array


def check_size(array, name, largest, error=ValueError):
    """Return the array of finite numbers, whose magnitudes must be <= ``largest``."""
    size = max(array.max(), -array.min()) if array.size else 0.0
    if size > largest:
        raise _too_large(name, largest, size, error)
    return array


def _too_large(name, largest, size, error):
    expected = f"at most {largest:g} in absolute value"
    return invalid(name, expected, got=f"{size:.3g}", advice="Use a larger unit.", error=error)


def check_rows(value, n, name):
    """Return sorted, distinct row numbers in [0, n) from indices, which may be < 0, or a mask."""
    try:
        rows = np.asarray(value)
    except ValueError as exc:  # lists of different lengths
        raise invalid(name, "integers or a mask", value) from exc
    if rows.dtype == bool and rows.shape == (n,):
        rows = np.flatnonzero(rows)
    elif rows.dtype == bool:
        raise invalid(name, f"integers or a mask of shape ({n},)", got=f"shape {rows.shape}")
    if rows.size == 0:
        return np.empty(0, dtype=np.intp)
    if np.ma.is_masked(value):
        raise invalid(name, "integers or a mask", got="masked values")
    if rows.dtype.kind not in "iu":
        nan = rows.dtype.kind == "f" and np.isnan(rows).any()
        raise invalid(name, "integers or a mask", got="NaN" if nan else f"dtype {rows.dtype}")
    if rows.min() < -n or rows.max() >= n:
        raise invalid(name, f"rows of X_train_, in [0, {n})", got=f"{rows.min()} to {rows.max()}")
    rows = rows.astype(np.intp).ravel() % n
    return rows if rows.size == 1 else np.unique(rows)


def check_variances(value, n, name, *, zero=False):
    """Return variances (n,) from one number or n: finite, positive or, with ``zero``, 0."""
    variances = real_array(value, name)
    in_range = (variances >= 0.0 if zero else variances > 0.0) & (variances < np.inf)
    if variances.shape not in ((), (n,)) or not np.all(in_range):
        sign, got = "non-negative" if zero else "positive", None
        if variances.shape == (n,):
            row = int(np.argmin(in_range))
            got = f"{variances[row]} in row {row}"
        raise invalid(name, f"a {sign} finite number, or {n} of them", value, got=got)
    return np.broadcast_to(variances, (n,))


def known_variance(y_variance, n):
    """Return known variances (n,), zeros for None, and a mask of those that are the whole noise."""
    total = np.zeros(n, dtype=bool)
    if y_variance is None:
        return np.zeros(n), total
    variance = real_array(y_variance, "y_variance")
    if variance.shape != (n,) or not np.isfinite(variance).all() or (variance < 0.0).any():
        got = f"shape {variance.shape}, minimum {np.min(variance, initial=np.inf)}"
        if variance.shape == (n,) and not np.isfinite(variance).all():
            row = int(np.argmin(np.isfinite(variance)))
            got = f"{variance[row]} in row {row}"
        raise invalid("y_variance", f"{n} non-negative finite numbers, one per row of X", got=got)
    return variance, total
