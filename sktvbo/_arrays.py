"""What NumPy has too, but slower, or not as safely."""

import threading

import numpy as np

# Two values in two threads may grow from the same one.
GROWING = threading.Lock()


def distinct_rows(rows):
    """The distinct rows of an array, in lexicographic order, and where each occurs first.

    `numpy.unique` with ``axis=0`` compares rows as records, and an interrupt that comes meanwhile
    becomes a TypeError there.

    Parameters
    ----------
    rows : ndarray of shape (n, d), d ≥ 1
        Without NaN.

    Returns
    -------
    distinct : ndarray of shape (m, d)
    first : ndarray of int of shape (m,)
    """
    order = np.lexsort(rows.T[::-1])  # which keeps equal rows in their order
    ordered = rows[order]
    new = np.ones(len(rows), dtype=bool)
    new[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    return ordered[new], order[new]


class Room:
    """Arrays with room behind their rows, shared by values that grew from one another.

    What some rows hold is never written again, so appending takes O(1) and no copy, and shorter
    rows stay valid; the second that grow from the same rows get a room of their own.
    """

    def __init__(self, arrays, capacity):
        self._arrays = {
            name: np.empty((capacity, *array.shape[1:]), array.dtype)
            for name, array in arrays.items()
        }
        self._capacity, self._filled = capacity, 0

    def _append(self, arrays, n):
        end = self._filled + n
        for name, array in arrays.items():
            self._arrays[name][self._filled : end] = array
        self._filled = end
        return {name: array[:end] for name, array in self._arrays.items()}


def grown(arrays, more, room=None):
    """Arrays with rows behind them, and the room that holds them.

    Parameters
    ----------
    arrays, more : dict of str to ndarray
        Of n rows each, and of m each.
    room : Room or None
        That of ``arrays``, if they have one.

    Returns
    -------
    arrays : dict of str to ndarray
        Of n + m rows each, which are not to be written to.
    room : Room
    """
    n, m = len(next(iter(arrays.values()))), len(next(iter(more.values())))
    with GROWING:
        if room is None or room._filled != n or n + m > room._capacity:
            room = Room(arrays, n + m + max(16, n // 2))
            room._append(arrays, n)
        return room._append(more, m), room
