"""Immutable values: copies with other fields, and arrays that grow without copies."""

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, NonlinearConstraint

from ._locks import Lock

# Values in two threads may append to the same arrays.
GROW_LOCK = Lock()


def replaced(value, **changes):
    """Return a frozen value with other values for some of its fields, as `dataclasses.replace`.

    It takes a tenth of the time. The class must have neither slots nor ``__post_init__`` nor values
    computed on demand.
    """
    fields = vars(value)
    if not changes.keys() <= fields.keys():
        unknown = ", ".join(sorted(changes.keys() - fields.keys()))
        raise TypeError(f"{type(value).__name__} has no field {unknown}")
    new = object.__new__(type(value))
    vars(new).update(fields)
    vars(new).update(changes)
    return new


# Objects of SciPy whose fields may be a user's arrays.
_OF_ARRAYS = Bounds, LinearConstraint, NonlinearConstraint


def owned(value):
    """Return a value that its owner cannot change: the only way in for a user's parameters.

    Mappings become dicts; lists, tuples, tables and SciPy's constraints are copies, at any depth;
    arrays are read-only copies. Other objects are taken as they are.
    """
    if isinstance(value, Mapping):
        return {key: owned(part) for key, part in value.items()}
    if type(value) in (list, tuple):
        return type(value)(map(owned, value))
    if isinstance(value, np.ndarray):
        return read_only(value.copy())
    if isinstance(value, _OF_ARRAYS):
        new = copy.copy(value)
        vars(new).update((name, owned(part)) for name, part in vars(value).items())
        return new
    return copy.copy(value) if hasattr(value, "to_numpy") else value  # a table or a column


# Values of these types cannot change.
_CONSTANT = frozenset({int, float, str, bool, bytes, type(None), np.float64, np.int64})


def deep_copy(value):
    """Return a deep copy of an object with attributes, a tenth of the calls of `copy.deepcopy`."""
    if not hasattr(value, "__dict__"):
        return copy.deepcopy(value)
    new, memo = copy.copy(value), {}
    for name, part in vars(value).items():
        if type(part) not in _CONSTANT:
            vars(new)[name] = copy.deepcopy(part, memo)
    return new


def read_only(array):
    """Return a view of an array that cannot be written to."""
    view = array.view()
    view.flags.writeable = False
    return view


def distinct_rows(rows):
    """Return the distinct rows of an array, in lexicographic order, and their first positions.

    `numpy.unique` with ``axis=0`` compares rows as records, and turns an interrupt into a
    TypeError.

    Parameters
    ----------
    rows : ndarray of shape (n, d), d ≥ 1
        Without NaN.

    Returns
    -------
    distinct : ndarray of shape (m, d)
    first : ndarray of int of shape (m,)
    """
    order = np.lexsort(rows.T[::-1])  # stable
    ordered = rows[order]
    new = np.ones(len(rows), dtype=bool)
    new[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    return ordered[new], order[new]


@dataclass(eq=False)
class GrowableArrays:
    """Arrays with spare rows at the end, shared by values that grew from one another.

    Filled rows are never written again: appending costs O(1) without copies, and shorter arrays
    stay valid. A second append to the same rows copies them into new arrays.
    """

    capacity: int
    filled: int
    arrays: dict = field(default_factory=dict)


def append_rows(arrays, more, storage=None):
    """Return arrays with rows appended, and the storage that holds them.

    Parameters
    ----------
    arrays : dict of str to ndarray
        Arrays of n rows each; others than those of ``more`` are left out.
    more : dict of str to array-like
        Arrays of m rows each.
    storage : GrowableArrays or None
        Storage of ``arrays``, if they have one.

    Returns
    -------
    longer : dict of str to ndarray
        Arrays of n + m rows each; read only.
    storage : GrowableArrays
    """
    first = next(iter(more))
    n, end, longer = len(arrays[first]), len(arrays[first]) + len(more[first]), {}
    with GROW_LOCK:
        if storage is None or storage.filled != n or end > storage.capacity:
            storage = GrowableArrays(end + max(16, n // 2), n)
            for name, new in more.items():
                shape, old = np.shape(new)[1:], arrays[name]
                whole = storage.arrays[name] = np.empty((storage.capacity, *shape), old.dtype)
                whole[:n] = old.reshape(n, *shape)
        for name, new in more.items():
            whole = storage.arrays[name]
            whole[n:end], longer[name] = new, whole[:end]
        storage.filled = end
    return longer, storage


# A range that is at most this many times the extent of most rows has no tail.
_WITHOUT_TAIL = 1.5


def extents_of_most(columns, share):
    """Return extents (d,) of columns (n, d) that a few rows cannot change.

    The width of the shortest interval with a part of the rows, divided by this part; the range of
    columns without a tail. If one value takes such a part, the interval has more rows.

    Parameters
    ----------
    columns : ndarray of shape (n, d)
    share : float
        Part of the rows; 1: the range.
    """
    n, columns = len(columns), np.sort(columns, axis=0)
    ranges, extents = columns[-1] - columns[0], np.zeros(columns.shape[1])
    for part in (share, 0.8, 0.95):
        k = int(np.ceil(part * (n - 1)))
        if part >= share and k and (extents == 0.0).any():
            widths = (columns[k:] - columns[: n - k]).min(axis=0) * ((n - 1) / k)
            extents = np.where(extents > 0.0, extents, widths)
    return np.where((extents > 0.0) & (ranges > _WITHOUT_TAIL * extents), extents, ranges)
