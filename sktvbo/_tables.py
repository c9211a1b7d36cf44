"""Tables and labelled rows as inputs: columns are found by name, not by position.

A table is a data frame of pandas or polars, or a dict of columns; a labelled row is a dict,
a pandas Series, or a row of a table.
"""

from collections.abc import Mapping

import numpy as np

from ._validation import invalid, invalid_observation

# Columns of ``to_frame()`` in addition to the parameters, allowed in a table of points. Underscores
# follow them where a parameter has the same name.
ADDED = (
    "time",
    "y",
    "predicted_mean",
    "predicted_std",
    "outlier_weight",
    "residual",
    "removed_at",
    "failed",
    "pending",
    "query",
)


class Row(dict):
    """Values by name from a table, whose columns may have changed their types."""


def in_memory(X, name="X"):
    """Return a data frame or Series of dask as one of pandas; other values unchanged.

    Raises
    ------
    InvalidObservationError
        A table of Arrow, or a lazy frame of polars.
    """
    expected = "a data frame of pandas or polars"
    if hasattr(X, "to_pylist"):
        advice = "Give X.to_pandas()."
        raise invalid_observation(name, expected, got="a table of Arrow", advice=advice)
    if hasattr(X, "collect_schema") and not hasattr(X, "get_columns"):
        advice = f"Call collect() first: {name}.collect()."
        raise invalid_observation(name, expected, got="a lazy frame of polars", advice=advice)
    return X.compute() if hasattr(X, "iloc") and hasattr(X, "compute") else X


def frame_columns(X):
    """Return label and column (n,) of each column of a data frame; None for other values."""
    X = in_memory(X)
    if hasattr(X, "iloc") and hasattr(X, "columns"):  # pandas
        return [(name, X.iloc[:, i]) for i, name in enumerate(X.columns)]
    if hasattr(X, "get_columns"):  # polars
        return list(zip(X.columns, X.get_columns()))
    return None


def with_columns_in_order(table, names, what, owner=None):
    """Return a data frame with its columns in the order of ``names``; other values unchanged.

    Raises a ValueError for columns with other names, or with a name twice.
    """
    columns = None if type(table) is np.ndarray or not names else frame_columns(table)
    if columns is None:
        return table
    labels = [label for label, _ in columns]
    if len(labels) != len(names) or set(labels) != set(names):
        expected = f"a table with the columns {list(names)}, in any order"
        raise invalid(what, expected, owner=owner, got=f"the columns {labels}")
    return table[list(names)]


def as_table(X):
    """Return the columns (n,) by name of a data frame or dict of columns; None for other values."""
    if type(X) is np.ndarray:
        return None
    columns = list(X.items()) if isinstance(X, Mapping) else frame_columns(X)
    if columns is None:
        return None
    table = dict(columns)
    if len(table) < len(columns):
        names = [name for name, _ in columns]
        raise invalid_observation("X", "a table of unique column names", names)
    lengths = {name: len(column) if np.ndim(column) else None for name, column in columns}
    if None in lengths.values() or len(set(lengths.values())) > 1:
        expected = "a table with columns of one length"
        raise invalid_observation("X", expected, got=str(lengths))
    return table


def is_table(X):
    """Return whether a value is a data frame or a dict of columns."""
    if not isinstance(X, Mapping):
        return type(X) is not np.ndarray and frame_columns(X) is not None
    columns = (isinstance(v, list | np.ndarray) or hasattr(v, "to_numpy") for v in X.values())
    return bool(X) and all(columns) and all(np.ndim(v) for v in X.values())


def rows_of(X):
    """Return the rows of a table; other values unchanged."""
    table = as_table(X)
    if table is None:
        return X
    return [Row(zip(table, values)) for values in zip(*table.values())]


def as_row(x):
    """Return the values by name of a dict or a Series; None for other values."""
    if type(x) is np.ndarray:
        return None
    if isinstance(x, Mapping):
        return x
    if not hasattr(x, "iloc") or np.ndim(x) != 1:
        return None
    row = Row(x.items())
    if len(row) < len(x):
        raise invalid_observation("x", "a Series of unique labels", x)
    return row


def is_one(X):
    """Return whether a value is a single point, in any accepted form."""
    if isinstance(X, Mapping) or frame_columns(X) is not None:
        return not is_table(X)
    return np.ndim(X) < 2 and not any(isinstance(x, Mapping) for x in np.atleast_1d(X))


def check_names(mapping, names, what, form):
    """Raise an InvalidObservationError unless these names are given, in any order.

    A table may also have the other columns of ``to_frame()``.
    """
    if mapping.keys() == set(names):
        return
    missing = [name for name in names if name not in mapping]
    unknown = [name for name in mapping if name not in names and not is_added(name)]
    faults = {"lacks": missing, "has the unknown": unknown}
    parts = [f"{verb} {', '.join(map(repr, some))}" for verb, some in faults.items() if some]
    if parts:
        expected = f"{form} {', '.join(map(repr, names))} and no other"
        got = f"one that {' and '.join(parts)}"
        raise invalid_observation(what, expected, got=got)


def is_added(name):
    """Return whether ``to_frame()`` adds a column of this name."""
    return isinstance(name, str) and name.rstrip("_") in ADDED
