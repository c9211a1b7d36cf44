"""All that was told in a run, or the latest of it; and what is kept of it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice

import numpy as np

from .._arrays import GROWING, Room, grown


class Log(Sequence):
    """A list that only grows, as a value: a longer one leaves the shorter one as it was.

    Values that grew from one another share their memory, so appending takes O(1).

    Parameters
    ----------
    items : iterable, default=()
    limit : int, default=None
        How many items are held, the latest; None: all.
    total : int, default=None
        How many there have been; None: those that are given.
    """

    def __init__(self, items=(), limit=None, total=None):
        self._items = list(items)
        self._start, self._stop = 0, len(self._items)
        self.limit = limit
        self.total = self._stop if total is None else total

    def __len__(self):
        return self._stop - self._start

    def __iter__(self):
        return islice(self._items, self._start, self._stop)

    def __getitem__(self, i):
        found = range(self._start, self._stop)[i]
        return [self._items[j] for j in found] if isinstance(i, slice) else self._items[found]

    def __reduce__(self):
        return Log, (list(self), self.limit, self.total)

    @property
    def first(self):
        """Position, among all there have been, of the first item that is held."""
        return self.total - len(self)

    def at(self, positions):
        """The items at some positions, which are held, among all there have been."""
        first = self.first
        return [self[i - first] for i in positions]

    def append(self, item):
        """The log with one item more."""
        longer = Log(limit=self.limit, total=self.total + 1)
        full = self.limit is not None and len(self) >= self.limit
        start = self._start + 1 if full else self._start
        with GROWING:
            # Where another log has grown from this one already, the memory goes on with its item;
            # and what is no longer held is let go once it is an eighth of what is.
            shared = len(self._items) == self._stop and start <= (self._stop - start) // 8 + 64
            items = self._items if shared else self._items[start : self._stop]
            longer._start = start if shared else 0
            items.append(item)
            longer._items, longer._stop = items, len(items)
        return longer


@dataclass(frozen=True, slots=True)
class Told:
    """An observation, and what it did to the data set.

    Attributes
    ----------
    row : ndarray of shape (d + 1,)
        Query and time.
    y : float
        As told.
    now : float
        Present time when it was told.
    n : int
        Size of the data set afterwards.
    removed : ndarray of int
        Positions, among all that was told, of what was removed then.
    record : dict of str to float
        Of the policy.
    variance : float
        Known variance of the noise of y, in units of y².
    query : int or None
        Id of the query that it answers, if it does.
    """

    row: np.ndarray
    y: float
    now: float
    n: int
    removed: np.ndarray
    record: dict
    variance: float = 0.0
    query: int | None = None


_ARRAYS = ("positions", "rows", "y", "variance")


@dataclass(frozen=True, eq=False)
class DataSet:
    """The observations that are kept.

    Attributes
    ----------
    positions : ndarray of int of shape (n,)
        Among all that was told.
    rows : ndarray of shape (n, d + 1)
        Queries and times.
    y, variance : ndarray of shape (n,)
        Observations, and known variances of their noise.
    room : Room or None
        In which the arrays grow.
    """

    positions: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=np.intp))
    rows: np.ndarray = field(default_factory=lambda: np.empty((0, 0)))
    y: np.ndarray = field(default_factory=lambda: np.empty(0))
    variance: np.ndarray = field(default_factory=lambda: np.empty(0))
    room: Room | None = field(default=None, repr=False)

    def __getstate__(self):
        return vars(self) | {"room": None}

    def __len__(self):
        return len(self.y)

    def append(self, position, row, y, variance):
        """The data set with one observation more, row (d + 1,)."""
        old = {name: getattr(self, name) for name in _ARRAYS}
        if not len(self):
            old["rows"] = np.empty((0, len(row)))
        more = {"positions": [position], "rows": [row], "y": [y], "variance": [variance]}
        arrays, room = grown(old, more, self.room)
        return DataSet(**arrays, room=room)

    def drop(self, indices):
        """The data set without some of its rows."""
        if not len(indices):
            return self
        return self.of(np.delete(np.arange(len(self)), indices))

    def of(self, indices):
        """Some of its rows, in this order."""
        return DataSet(*(getattr(self, name)[indices] for name in _ARRAYS))
