"""Columns of dates in data frames, as numbers."""

import numpy as np

from .._checks import invalid


def numeric_times(X):
    """X, with a data frame's columns of dates as seconds since 1970 (UTC)."""
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
            numeric.isetitem(i, _seconds(dates))
    return X if numeric is None else numeric


def _seconds(dates):
    """Seconds since 1970 (n,) of dates in a data frame's column, of any resolution."""
    count = dates.astype(np.int64)
    per_second = int(np.timedelta64(1, "s") / np.timedelta64(1, np.datetime_data(dates.dtype)[0]))
    nanoseconds = 10**9 // per_second
    # Dates from 1678 to 2262 can be counted in nanoseconds: rounded in that way, equal dates are
    # equal numbers at all resolutions. Other dates exist at the coarser ones alone.
    countable = np.abs(count) <= np.iinfo(np.int64).max // nanoseconds
    return np.where(countable, count * nanoseconds * 1e-9, count / per_second)
