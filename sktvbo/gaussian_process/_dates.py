"""Conversion of dates and durations to numbers in a unit of time, and checks of X and y.

Columns of X, times of an optimizer and parameters of kernels are converted here; ``_durations`` has
the units. A column of times has one kind: numbers, dates without a time zone, dates with one, or
durations. Times of different kinds cannot be compared, so a model or a run has one kind: see
`check_kinds`.

Dates count from 1970. Dates with a time zone are converted to UTC. Dates without one are read as
UTC: neither their zone nor their side of a clock change is known.
"""

from datetime import date
from functools import wraps
from numbers import Real

import numpy as np
from sklearn import config_context
from sklearn.base import clone
from sklearn.gaussian_process.kernels import (
    RBF,
    ExpSineSquared,
    Kernel,
    Matern,
    RationalQuadratic,
)
from sklearn.utils.validation import validate_data

from .._durations import (
    DURATION_TYPES,
    PERIOD,
    UNITS,
    counted,
    is_duration,
    nanoseconds,
    number_of_duration,
    number_of_period,
    scalar,
)
from .._tables import frame_columns, with_columns_in_order
from .._validation import (
    LARGEST_X,
    LARGEST_Y,
    check_complete,
    check_size,
    finite_array,
    invalid,
    is_gap,
)
from ._data import time_position
from ._kernel_families import parameters

NUMBERS = "numbers"
NAIVE = "dates without a time zone"
ZONED = "dates with a time zone"
DURATIONS = "durations"

_DATES = (date, np.datetime64)  # a datetime and a Timestamp are dates


# --- tables ---------------------------------------------------------------------------------------


def numeric_times(X, unit):
    """Return X with numbers in place of dates and durations, and the kinds of these columns.

    Parameters
    ----------
    X : array-like of shape (n, d)
        Data frame, array (also of objects, such as ``frame.to_numpy()``) or list of rows.
    unit : str
        Unit of the numbers; see `check_time_unit`.

    Returns
    -------
    X : array-like of shape (n, d)
        The same object if all columns are numbers; otherwise a copy, a frame if X is one.
    kinds : dict of int to str
        Kinds of the columns of dates or durations, by position; see `check_kinds`.

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
    """Raise a ValueError unless the columns of dates have the kinds of an earlier call.

    Parameters
    ----------
    kinds, known : dict of int to str
        Results of `numeric_times`, now and at ``fit``.
    names : sequence of str, default=()
        Names of the columns, for the message; empty: positions.
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
    """Return the error for times of a kind that cannot be compared with the known times."""
    if {known, kind} == {NAIVE, ZONED}:
        advice = "Give all of them a zone: .dt.tz_localize(zone) in pandas, replace(tzinfo=zone)."
    advice = advice or f"Convert them to {known}."
    return invalid(name, f"{known}, as {where}", got=kind, advice=advice, error=error)


def columns_of(table):
    """Return (label, column (n,)) pairs of a frame or an array; empty for other types."""
    if isinstance(table, np.ndarray):
        several = table.ndim == 2 and table.dtype.kind in "MmO"
        return enumerate(table.T) if several else ()
    return frame_columns(table) or ()


def _as_table(X):
    """Return a list of rows with dates as an array of objects; other values unchanged."""
    if isinstance(X, _DATES + DURATION_TYPES):
        advice = "Write [[t]] for one time, with its place before it if there is one."
        raise invalid("X", "of two dimensions", got="a single date or duration", advice=advice)
    if not isinstance(X, list | tuple):
        return X
    if len(X) and isinstance(X[0], _DATES + DURATION_TYPES):
        advice = "Write [[t] for t in X] for a single column."
        raise invalid("X", "of two dimensions", got="a list of dates or durations", advice=advice)
    try:
        if np.asarray(X).dtype.kind not in "MmO":
            return X
        rows = [list(row) for row in X]
    except (TypeError, ValueError):  # of different lengths, or of one dimension
        return X
    # NumPy would convert some dates to integers, and numbers beside durations to durations.
    table = np.empty((len(rows), len(rows[0])), dtype=object)
    for i, row in enumerate(rows):
        if len(row) != table.shape[1]:
            return X
        table[i] = row
    return table


def _with_columns(table, numbers):
    """Return a copy of a table with other columns (n,) at some positions."""
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
            # By position: names may be duplicates, or no strings.
            table.isetitem(i, values)
        return table
    table = table.clone()
    for i, values in numbers.items():
        series = type(table.to_series(i))
        table.replace_column(i, series(table.columns[i], values))
    return table


# --- columns --------------------------------------------------------------------------------------


def read_times(column, unit, name, error=ValueError):
    """Return the kind of a column of times, and its numbers (n,); other columns unchanged.

    Parameters
    ----------
    column : array-like of shape (n,)
        Column of a frame, Series, index, array or list.
    unit : str
    name : str
        For messages.
    error : type, default=ValueError
    """
    values, kind = _as_array(column)
    if values.dtype.kind in "Mm":
        kind = kind or (NAIVE if values.dtype.kind == "M" else DURATIONS)
        _check_gaps(np.isnat(values), name, error)
        numbers = counted(values, unit, name, error)
        _check_distinct(numbers, values.astype(np.int64), name, error)
        return kind, numbers
    types = set(map(type, values)) if values.dtype == object else set()
    if not any(issubclass(kind, _DATES + DURATION_TYPES) for kind in types):
        return NUMBERS, column
    _check_gaps(np.array([is_gap(value) for value in values]), name, error)
    kinds = {_kind_of(value) for value in values}
    if len(kinds) > 1:
        expected = "of one kind: numbers, dates with or without a time zone, or durations"
        raise invalid(name, expected, got=" and ".join(sorted(kinds)), error=error)
    # One by one: a single array of dates would round some, or overflow.
    numbers = np.array([counted(np.array([scalar(v)]), unit, name, error)[0] for v in values])
    _check_distinct(numbers, map(nanoseconds, values), name, error)
    return kinds.pop(), numbers


def read_time(value, unit, name, error=ValueError):
    """Return the kind of one time, and its number; other values unchanged."""
    if isinstance(value, Real) and not isinstance(value, np.timedelta64):
        return NUMBERS, value
    if not isinstance(value, _DATES + DURATION_TYPES):
        kind = getattr(getattr(value, "dtype", None), "kind", None)
        if kind not in ("M", "m", "O") or np.size(value) != 1:
            return NUMBERS, value
        value = np.asarray(value).reshape(1)
    kind, numbers = read_times(value if np.ndim(value) else [value], unit, name, error)
    return kind, value if kind == NUMBERS else float(numbers[0])


def dates_of(numbers, unit):
    """Return dates (n,) in microseconds, from numbers since 1970 in a unit; NaT for NaN."""
    microseconds = np.rint(numbers * (UNITS[unit] / UNITS["us"]))
    missing = np.isnan(microseconds)
    dates = np.where(missing, 0.0, microseconds).astype("datetime64[us]")
    dates[missing] = np.datetime64("NaT")
    return dates


def _as_array(column):
    """Return values (n,) of a column, dates in UTC, and the kind: ZONED, or None if unknown yet."""
    if isinstance(column, list | tuple):
        return np.fromiter(column, dtype=object, count=len(column)), None
    dtype = getattr(column, "dtype", None)
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


def _kind_of(value):
    """Return the kind of one time."""
    if isinstance(value, DURATION_TYPES):
        return DURATIONS
    if isinstance(value, _DATES):
        return ZONED if getattr(value, "tzinfo", None) is not None else NAIVE
    return NUMBERS if isinstance(value, Real) else f"{type(value).__name__} {value!r}"


def _check_gaps(missing, name, error):
    if missing.any():
        advice = f"Drop row {np.argmax(missing)}, or fill it in." if len(missing) > 1 else ""
        raise invalid(name, "dates without gaps", got="NaT", advice=advice, error=error)


def _check_distinct(numbers, exact, name, error):
    """Raise an error if different times, as whole numbers, have become one float."""
    n = len(np.unique(numbers))
    if n < len(numbers) and n < len(set(exact)):
        raise merged(name, error)


def merged(name, error=ValueError):
    """Return the error of dates that differ by less than a float since 1970 can hold."""
    expected = "of dates that are equal or at least 0.5 microseconds apart"
    advice = "Give numbers since a date of your own: (dates - dates[0]) / np.timedelta64(1, 's')."
    return invalid(
        name,
        expected,
        got="closer ones, which are one float since 1970",
        advice=advice,
        error=error,
    )


# --- durations among the parameters of kernels ----------------------------------------------------


def is_auto(value):
    """Return True if a parameter ``seasonal_periods`` is "auto"."""
    return isinstance(value, str) and value == "auto"


def numeric_periods(value, unit, owner):
    """Return a parameter ``seasonal_periods`` as a tuple of floats in a unit of time.

    A period is a number, a duration, or a string such as "1D" or "90 min"; "auto" is a day and a
    week.
    """
    if value is None:
        return ()
    if is_auto(value):
        value = ["1D", "7D"]
    many = isinstance(value, list | tuple | np.ndarray)
    periods = []
    for period in value if many else [value]:
        number = number_of_period(period, unit)
        if number is None:
            raise invalid("seasonal_periods", f"'auto', {PERIOD}", period, owner)
        periods.append(number)
    if len(set(periods)) < len(periods) or not periods:
        raise invalid("seasonal_periods", "distinct, and at least one", value, owner)
    return tuple(periods)


def numeric_durations(kernel, unit):
    """Return a kernel with numbers in place of durations, and of pairs of durations.

    The given kernel is not changed; without durations it is returned itself.
    """
    if not isinstance(kernel, Kernel):
        return kernel
    numbers = {}
    for name, value in parameters(kernel).items():
        pair = isinstance(value, tuple | list) and any(map(is_duration, value))
        if pair or is_duration(value):
            parts = [number_of_duration(part, unit) for part in (value if pair else [value])]
            numbers[name] = tuple(parts) if pair else parts[0]
    return clone(kernel).set_params(**numbers) if numbers else kernel


def check_no_texts(kernel, durations):
    """Raise an error for a lengthscale, a period or a bound of a kernel that is a string.

    With ``durations`` the remedy is a duration: the kernel is one in time.
    """
    for name, value in parameters(kernel).items():
        own = name.rpartition("__")[2]
        many = value if isinstance(value, tuple | list) else [value]
        texts = [part for part in many if isinstance(part, str) and part != "fixed"]
        if texts and (own in ("length_scale", "periodicity") or own.endswith("_bounds")):
            is_time = durations and texts[0][:1].isdigit()
            advice = f"Write pandas.Timedelta({texts[0]!r})." if is_time else ""
            expected = "numbers or durations" if durations else "numbers"
            raise invalid(f"{name} of {type(kernel).__name__}", expected, value, advice=advice)


def _show_durations(kind):
    """Let a class of kernels of scikit-learn print durations and texts, which it takes for numbers.

    Without this, pipelines, searches and their results cannot be printed: these print the kernels
    that the user gave, of which a regressor does not know. Kernels without durations are printed as
    before.
    """
    of_numbers = kind.__repr__

    @wraps(of_numbers)
    def shown(self):
        values = {k: v for k, v in self.get_params().items() if not k.endswith("_bounds")}
        if not any(is_duration(v) or isinstance(v, str) for v in values.values()):
            return of_numbers(self)
        texts = (f"{k}={format(v, '.3g') if _is_number(v) else v}" for k, v in values.items())
        return f"{type(self).__name__}({', '.join(texts)})"

    kind.__repr__ = shown


def _is_number(value):
    return isinstance(value, Real) and not is_duration(value)


for _kind in (RBF, Matern, RationalQuadratic, ExpSineSquared):
    _show_durations(_kind)


# --- inputs and outputs of a regressor ------------------------------------------------------------


def validated(estimator, X, y="no_validation", *, reset=False):
    """Return X, or X and y, checked and copied: finite numbers of moderate size, no masks."""
    has_y = not (isinstance(y, str) and y == "no_validation")
    if reset:
        estimator._fitted_unit = estimator.time_unit
    unit = estimator._fitted_unit
    if _is_plain(estimator, [X, y] if has_y else [X], reset):
        if not has_y:
            return np.ascontiguousarray(X)
        if reset:
            estimator.n_features_in_, estimator.time_kinds_ = X.shape[1], {}
        return X.copy(order="C"), y.copy()
    X, kinds = numeric_times(_distinct(_unmasked(X, "X")), unit)
    _check_columns(X)
    options = {"dtype": np.float64, "order": "C", "reset": reset}
    if has_y:
        targets = np.asarray(y)
        check_complete(targets, "y")
        if targets.ndim and read_times(targets, unit, "y")[0] != NUMBERS:
            raise invalid("y", "numbers", got="dates or durations")
        options |= {"y": _unmasked(y, "y"), "y_numeric": True}
    # Arrays of other libraries become NumPy's, which all computations use.
    with config_context(array_api_dispatch=False):
        arrays = validate_data(estimator, X, **options)
    if reset:
        estimator.time_kinds_ = kinds
    names = getattr(estimator, "feature_names_in_", ())
    check_kinds(kinds, estimator.time_kinds_, names)
    if not has_y:
        return check_size(arrays, "X", LARGEST_X)
    X, y = arrays
    return check_size(X.copy(), "X", LARGEST_X), check_size(y.astype(np.float64), "y", LARGEST_Y)


def columns_like_fit(estimator, table, name, *, owner=None, with_time=True):
    """Return an array (m, d + 1), or of places (m, d), whose columns are those of X at ``fit``.

    As X itself: the columns of a data frame are found by name where X has names, and dates and
    durations become numbers. In an array, numbers in the ``time_unit`` may stand for dates.

    Parameters
    ----------
    estimator : TimeVaryingGP
        It knows names and kinds of the columns of X.
    table : array-like of shape (m, d + 1) or (m, d)
    name : str
        For messages.
    owner : object, default=None
        Owner of the parameter ``name``, for messages; None for an argument of a method.
    with_time : bool, default=True
        False: the table lacks the time column.

    Raises
    ------
    ValueError
        Other columns, values that are not finite, or times of another kind.
    """
    names, n_columns = list(getattr(estimator, "feature_names_in_", ())), estimator.n_features_in_
    indices = list(range(n_columns))
    if not with_time:
        indices.remove(time_position(estimator.time_column, n_columns, names, estimator))
    names = [names[i] for i in indices] if names else names
    table = with_columns_in_order(_unmasked(table, name), names, name, owner)
    numbers, kinds = numeric_times(table, estimator._fitted_unit)
    dates = estimator.time_kinds_
    known = {place: dates[i] for place, i in enumerate(indices) if i in dates}
    is_array = type(table) is np.ndarray or frame_columns(table) is None
    check_kinds(known | kinds if is_array else kinds, known, names)
    return finite_array(numbers, name, ("m", len(indices)), largest=LARGEST_X)


def _is_plain(estimator, arrays, reset):
    """Return True if all checks, which are as slow as some likelihoods, would pass."""
    for array, largest in zip(arrays, (LARGEST_X, LARGEST_Y)):
        if not (type(array) is np.ndarray and array.dtype == np.float64):
            return False
        if not np.abs(array).max(initial=0.0) <= largest:  # NaN if any number is
            return False
    X, *y = arrays
    if X.ndim != 2 or not X.size or any(array.shape != X.shape[:1] for array in y):
        return False
    if hasattr(estimator, "feature_names_in_"):
        return False
    return reset or (estimator.n_features_in_ == X.shape[1] and not estimator.time_kinds_)


def _check_columns(X):
    """Raise an error that names the first non-numeric column of X."""
    for label, column in columns_of(X):
        values = np.asarray(column)
        if values.dtype.kind in "biufc":
            continue
        try:
            values.astype(np.float64)
        except (TypeError, ValueError) as exc:
            dtype = getattr(column, "dtype", values.dtype)
            raise invalid(
                f"Column {label!r}",
                "numbers or dates",
                got=f"dtype {dtype} ({exc})",
                advice="Convert text by pandas.to_datetime or pandas.to_numeric, a Period by "
                ".dt.to_timestamp(), and categories by an encoder such as OneHotEncoder.",
                error=type(exc),
            ) from exc


def finite_posterior(arrays, *names):
    """Return one array or a tuple of arrays, with these names, if all are finite; else raise."""
    for name, values in zip(names, arrays if isinstance(arrays, tuple) else [arrays]):
        if not np.isfinite(values).all():
            raise invalid(
                f"The posterior {name}",
                "finite",
                got=f"{np.count_nonzero(~np.isfinite(values))} NaN or infinity",
                advice="Scale X and y to moderate ranges, or check the kernels at these places.",
            )
    return arrays


def _distinct(X):
    """Return X unless it is a data frame with duplicate column names."""
    names = [label for label, _ in columns_of(X)]
    if len(set(names)) < len(names):
        raise invalid("X", "a data frame with unique column names", names)
    return X


def _unmasked(array, name):
    """Return an array without masked values; scikit-learn would use the values below a mask."""
    if np.ma.is_masked(array):
        raise invalid(name, "without masked values", got="some that are masked")
    return array
