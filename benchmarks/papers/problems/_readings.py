"""Selection of days and interpolation in tables of readings."""

import numpy as np

from sktvbo._validation import invalid


def check_days(days, name, owner, n_days):
    """Return the first and last day, both included, of an option that is a day or such a pair."""
    pair = (days, days) if np.ndim(days) == 0 else tuple(days)
    whole = all(isinstance(i, int | np.integer) and not isinstance(i, bool) for i in pair)
    if not (len(pair) == 2 and whole and 0 <= pair[0] <= pair[1] < n_days):
        expected = f"an int in the range [0, {n_days - 1}] or a pair (first, last) of such"
        raise invalid(name, expected, days, owner)
    return int(pair[0]), int(pair[1])


def rows_of_days(table, days, rows_per_day):
    """Return the rows of a table from the first to the last of two days, both included."""
    first, last = days
    return table[first * rows_per_day : (last + 1) * rows_per_day]


def between_rows(table, position, columns):
    """Return readings at fractional row positions; position and columns are broadcast."""
    row = np.minimum(np.asarray(position).astype(np.intp), len(table) - 2)
    weight = position - row
    return (1.0 - weight) * table[row, columns] + weight * table[row + 1, columns]
