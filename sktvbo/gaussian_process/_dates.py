"""Conversion of dates and durations to numbers in a unit of time, and checks of X and y.

Columns of X, times of an optimizer and parameters of kernels are converted here; ``_durations`` has
the units. A column of times has one kind: numbers, dates without a time zone, dates with one, or
durations. Times of different kinds cannot be compared, so a model or a run has one kind: see
`check_kinds`.

Dates count from 1970. Dates with a time zone are converted to UTC. Dates without one are read as
UTC: neither their zone nor their side of a clock change is known.
"""

from datetime import date
from functools import reduce, wraps
from numbers import Integral, Real

import numpy as np
from sklearn import config_context
from sklearn.base import clone
from sklearn.gaussian_process.kernels import (
    RBF,
    ConstantKernel,
    ExpSineSquared,
    Kernel,
    Matern,
    RationalQuadratic,
    WhiteKernel,
)
from sklearn.utils.validation import validate_data

from .._durations import (
    DEFAULT_UNIT,
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
from .._tables import frame_columns, in_memory, with_columns_in_order
from .._validation import (
    LARGEST_X,
    LARGEST_Y,
    check_complete,
    check_int,
    check_size,
    finite_array,
    invalid,
    is_gap,
)
from ..kernels import Forgetting, Wiener
from ._kernel_families import parameters

NUMBERS = "numbers"
NAIVE = "dates without a time zone"
ZONED = "dates with a time zone"
DURATIONS = "durations"

_DATES = (date, np.datetime64)  # a datetime and a Timestamp are dates

# From this many steps on, a column hardly increases with the dates by chance.
_MIN_DATES = 8


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
                advice = "NumPy and polars turn dates beside numbers into numbers: give the frame."
            raise mixed_kinds(f"Column {label!r}", then, now, "in the data of fit", advice)


def mixed_kinds(name, known, kind, where, advice="", error=ValueError):
    """Return the error for times of a kind that cannot be compared with the known times."""
    if {known, kind} == {NAIVE, ZONED}:
        advice = "Give all of them a zone: .dt.tz_localize(zone) in pandas, replace(tzinfo=zone)."
    advice = advice or f"Convert them to {known}."
    return invalid(name, f"{known}, as {where}", got=kind, advice=advice, error=error)


def time_position(column, table, X, kinds, owner):
    """Return the position of the time column, counted from the left.

    Parameters
    ----------
    column : int or label
        Parameter ``time_column``. -1: the only column of dates, or else the last column.
    table : array-like of shape (n, d + 1)
        Data as given.
    X : ndarray of shape (n, d + 1)
        The same as numbers.
    kinds : dict of int to str
        See `numeric_times`.
    owner : object

    Raises
    ------
    ValueError
        No such column; or -1, and several columns may be time, or time is in the index.
    """
    n_columns, labels = X.shape[1], [label for label, _ in frame_columns(table) or ()]
    if isinstance(column, Integral) and column == -1:
        return _default_position(table, X, kinds, labels or list(range(n_columns)), owner)
    if isinstance(column, str | tuple):
        if column in labels:
            return labels.index(column)
        known, advice = f"one of {labels}", ""
        if not labels or isinstance(labels[0], Integral):
            known = "a position, as X has no column names"
            advice = (
                "Tools that pass arrays on, such as RegressorChain and SequentialFeatureSelector, "
                "may move the columns: see 'Pipelines' in the guide."
            )
        raise invalid("time_column", known, column, owner, advice=advice)
    try:
        return check_int(column, "time_column", low=-n_columns, high=n_columns - 1) % n_columns
    except ValueError:
        expected = f"the position or name of one of the {n_columns} columns of X"
        raise invalid("time_column", expected, column, owner) from None


def _default_position(table, X, kinds, labels, owner):
    """Return the position of the only column of dates, or else the last one."""
    last = X.shape[1] - 1
    dates = [i for i, kind in kinds.items() if kind != DURATIONS]
    times = dates or list(kinds)
    found = " and ".join(f"{kinds[i]} in column {labels[i]!r}" for i in times)
    if len(times) == 1 and times != [last]:
        if not dates:
            found += f", but {labels[last]!r} as last column"
        elif last not in kinds and _counts_with(X[:, last], X[:, times[0]]):
            found += f", and column {labels[last]!r}, which increases with them"
        else:
            return times[0]
    elif len(times) < 2:
        if not times:
            check_index(table, f"set time_column if column {labels[last]!r} has the times")
        return last
    expected = "the name or position of the column of times"
    raise invalid("time_column", expected, owner=owner, got=f"-1 for {found}")


def _counts_with(column, dates):
    """Return True if a column (n,) is another count of the time of dates (n,)."""
    order = np.lexsort((column, dates))
    steps, is_later = np.diff(column[order]), np.diff(dates[order]) > 0.0
    return np.count_nonzero(is_later) >= _MIN_DATES and np.array_equal(steps > 0.0, is_later)


def check_index(table, advice):
    """Raise an error for a frame of pandas with times in its index."""
    index = getattr(table, "index", None) if hasattr(table, "iloc") else None
    levels = range(getattr(index, "nlevels", 0))
    for level in map(index.get_level_values, levels) if levels else ():
        is_period = str(level.dtype).startswith("period")
        first = level[0] if level.dtype == object and len(level) else None
        if level.dtype.kind in "Mm" or is_period or isinstance(first, _DATES + DURATION_TYPES):
            reset = f"X{'.to_timestamp()' * is_period}.reset_index()"
            raise invalid(
                "X",
                "a frame with times in a column",
                got=f"times in its index, of dtype {level.dtype}",
                advice=f"Give {reset}, or {advice}.",
            )


def columns_of(table):
    """Return (label, column (n,)) pairs of a frame or an array; empty for other types."""
    if isinstance(table, np.ndarray):
        several = table.ndim == 2 and table.dtype.kind in "MmO"
        return enumerate(table.T) if several else ()
    return frame_columns(table) or ()


def _as_table(X):
    """Return a list of rows with dates as an array of objects; other values unchanged."""
    if isinstance(X, _DATES + DURATION_TYPES):
        advice = "Write [[t]] for one time, or [[x, t]] with further columns."
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
        Name in messages.
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
    """Return the error for dates that differ by less than a float since 1970 can hold."""
    expected = "dates that are equal or at least 0.5 microseconds apart"
    advice = "Give numbers since one of them: (dates - dates[0]) / np.timedelta64(1, 's')."
    return invalid(
        name,
        expected,
        got="closer ones, which are equal as floats",
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


def numeric_durations(kernel, unit, kind=None):
    """Return a kernel with numbers in place of durations, of pairs of durations, and of dates.

    The given kernel is not changed; without such parameters it is returned itself. ``kind`` is the
    kind of the data's times, which a date must share; None: unknown.
    """
    if not isinstance(kernel, Kernel):
        return kernel
    numbers = {}
    for name, value in parameters(kernel).items():
        many = parts_of(value)
        if not isinstance(value, DURATION_TYPES) and any(map(is_duration, many)):
            numbers[name] = tuple(number_of_duration(part, unit) for part in many)
        elif isinstance(value, _DATES + DURATION_TYPES):
            own, numbers[name] = read_time(value, unit, name)
            # Durations are lengths, except for a start, which is a time like those of the data.
            is_length = own == DURATIONS and (kind == NUMBERS or not name.endswith("start"))
            if own != kind and kind is not None and not is_length:
                owner = f"{name} of {type(kernel).__name__}"
                raise mixed_kinds(owner, kind, own, "in the data of fit")
    return clone(kernel).set_params(**numbers) if numbers else kernel


def parts_of(value):
    """Return the entries of a parameter of a kernel, such as both bounds, as a list."""
    is_array = isinstance(value, np.ndarray) and value.ndim
    return list(value) if is_array or isinstance(value, tuple | list) else [value]


# Parameters that are lengths of time, and those of kernels that are no times.
_LENGTHS = ("length_scale", "periodicity")
_NO_TIMES = {
    ExpSineSquared: "length_scale",
    RationalQuadratic: "alpha",
    Matern: "nu",
    ConstantKernel: "constant_value",
    WhiteKernel: "noise_level",
    Forgetting: "epsilon",
    Wiener: "drift_variance",
}


def check_parameters(kernel, in_time):
    """Raise an error for a parameter of a kernel that is a text, or a wrong duration or date.

    In time, lengthscales, periods and their bounds may be durations, and other parameters dates.
    """
    for name, value in parameters(kernel).items():
        base, own, part = _parsed(name, kernel)
        is_length = base in _LENGTHS or own != base
        is_time = in_time and not any(
            isinstance(part, kind) and base == number for kind, number in _NO_TIMES.items()
        )
        many = parts_of(value)
        texts = [text for text in many if isinstance(text, str) and text != "fixed"]
        dates = any(isinstance(value, _DATES) for value in many)
        wrong_dates = dates and (is_length or not is_time)
        if (texts and is_length) or wrong_dates or (any(map(is_duration, many)) and not is_time):
            advice = "A rate is per time_unit." * (base in ("epsilon", "drift_variance"))
            if texts and is_time and texts[0][:1].isdigit():
                advice = f"Write pandas.Timedelta({texts[0]!r})."
            expected = "numbers" + " or durations" * is_time
            raise invalid(f"{name} of {type(kernel).__name__}", expected, value, advice=advice)


def check_searched_bounds(kernel, unit):
    """Raise an error for a bound of a kernel that a search cannot have, such as infinity."""
    for name, value in parameters(numeric_durations(kernel, unit)).items():
        base, own, part = _parsed(name, kernel)
        if own == base or isinstance(value, str) or not hasattr(part, f"hyperparameter_{base}"):
            continue
        pairs = np.asarray(value)
        is_valid = pairs.dtype.kind in "iuf" and pairs.shape[-1:] == (2,)
        if is_valid:
            low, high = np.moveaxis(pairs, -1, 0)
            is_valid = np.all((low > 0.0) & (low <= high) & (high < np.inf))
        if not is_valid:
            expected = "'fixed' or pairs 0 < low <= high < inf"
            raise invalid(f"{name} of {type(kernel).__name__}", expected, value)


def _parsed(name, kernel):
    """Return a parameter's name without its path and "_bounds", without its path, and its owner."""
    *path, own = name.split("__")
    part = reduce(lambda whole, key: getattr(whole, key, None), path, kernel)
    return own.removesuffix("_bounds"), own, part


def _show_durations(kind):
    """Let a class of scikit-learn kernels print durations and texts, which it formats as numbers.

    Without this, pipelines, searches and their results cannot be printed: they print the kernels as
    given, without a regressor. Kernels without durations are printed as before.
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
        estimator._fitted_unit = estimator.time_unit or DEFAULT_UNIT
    unit = estimator._fitted_unit
    if _is_plain(estimator, [X, y] if has_y else [X], reset):
        if not has_y:
            return np.ascontiguousarray(X)
        if reset:
            estimator.n_features_in_, estimator.time_kinds_ = X.shape[1], {}
            estimator._time_position = time_position(estimator.time_column, X, X, {}, estimator)
        return X.copy(order="C"), y.copy()
    table = _distinct(in_memory(_unmasked(X, "X")))
    X, kinds = numeric_times(table, unit)
    _check_columns(X)
    options = {"dtype": np.float64, "order": "C", "reset": reset}
    if has_y:
        y = in_memory(y, "y")
        targets = np.asarray(y)
        check_complete(targets, "y")
        if targets.ndim and read_times(targets, unit, "y")[0] != NUMBERS:
            raise invalid("y", "numbers", got="dates or durations")
        options |= {"y": _unmasked(y, "y"), "y_numeric": True}
    if not (reset or kinds) and estimator._time_position in estimator.time_kinds_:
        check_index(table, "the columns of fit")
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
    if reset:
        position = time_position(estimator.time_column, table, X, kinds, estimator)
        estimator._time_position = position
    return check_size(X.copy(), "X", LARGEST_X), check_size(y.astype(np.float64), "y", LARGEST_Y)


def columns_like_fit(estimator, table, name, *, owner=None, without=()):
    """Return an array (m, d + 1) whose columns are those of X at ``fit``.

    As in X, the columns of a data frame are found by name where X has names, and dates and
    durations become numbers. In an array, numbers in the ``time_unit`` may stand for dates.

    Parameters
    ----------
    estimator : TimeVaryingGP
        Has the names and kinds of the columns of X.
    table : array-like of shape (m, d + 1), less the columns of ``without``
    name : str
        Name in messages.
    owner : object, default=None
        Owner of the parameter ``name``, for messages; None for an argument of a method.
    without : sequence of int, default=()
        Positions in X of columns that the table lacks, such as time.

    Raises
    ------
    ValueError
        Other columns, values that are not finite, or times of another kind.
    """
    names, n_columns = list(getattr(estimator, "feature_names_in_", ())), estimator.n_features_in_
    indices = [i for i in range(n_columns) if i not in without]
    names = [names[i] for i in indices] if names else names
    table = _unmasked(in_memory(table, name), name)
    table = with_columns_in_order(table, names, name, owner)
    numbers, kinds = numeric_times(table, estimator._fitted_unit)
    dates = estimator.time_kinds_
    known = {position: dates[i] for position, i in enumerate(indices) if i in dates}
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
                advice="Scale X and y to moderate ranges, or check the kernels at these inputs.",
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
