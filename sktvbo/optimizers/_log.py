"""All that was told in a run."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np


class Log(Sequence):
    """A list that only grows, as a value: a longer one leaves the shorter one as it was.

    Values that grew from one another share their memory, so appending takes O(1).
    """

    def __init__(self, items=()):
        self._items = list(items)
        self._n = len(self._items)

    def __len__(self):
        return self._n

    def __iter__(self):
        return islice(self._items, self._n)

    def __getitem__(self, i):
        found = range(self._n)[i]
        return [self._items[j] for j in found] if isinstance(i, slice) else self._items[found]

    def __reduce__(self):
        return Log, (list(self),)

    def append(self, item):
        """The log with one item more."""
        longer = Log()
        # When another log has grown from this one already, the memory goes on with its item.
        longer._items = self._items if len(self._items) == self._n else list(self)
        longer._items.append(item)
        longer._n = self._n + 1
        return longer


@dataclass(frozen=True)
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
    """

    row: np.ndarray
    y: float
    now: float
    n: int
    removed: np.ndarray
    record: dict
    variance: float = 0.0
