"""What users give a regressor, and get: dates and masks; nothing that is not finite."""

import numpy as np

from .._checks import invalid


def finite_posterior(values, name):
    """The values of a posterior, which are finite."""
    if not np.isfinite(values).all():
        count = np.count_nonzero(~np.isfinite(values))
        raise invalid(
            f"The posterior {name}",
            "finite",
            got=f"{count} NaN or infinity",
            advice="Scale X and y to moderate ranges, or check the kernels at these places.",
        )
    return values


def unmasked(array, name):
    """What a user gave, unless some of it is masked: scikit-learn would take what is below."""
    if np.ma.is_masked(array):
        raise invalid(name, "without masked values", got="some that are masked")
    return array


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
