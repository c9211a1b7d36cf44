"""A computation in slices of time, such as a search of the hyperparameters over several steps.

The computation calls its expensive parts through `Slices`. A slice repeats it from its start with
the results that are known, which costs little, and computes further ones until its time is over.
"""

import time
from typing import NamedTuple

import numpy as np


class OutOfTime(Exception):
    """The slice is over, and the computation is not."""


class _Whole(NamedTuple):
    """Result of a function that calls parts."""

    name: str
    found: object


class Slices:
    """Calls of a computation's parts, with the results that are known.

    The computation makes the same calls each time.

    Parameters
    ----------
    results : sequence, default=()
        Attribute of that name at the end of the slice before.
    cost : float, default=0.0
        Attribute of that name, in seconds of processor time.
    until : float, default=inf
        End of the slice, of `time.process_time`: no part begins that would last longer.
    expected : float, default=0.0
        Expected time of a part.
    n_sure : int, default=0
        Number of parts that are computed whatever their time.

    Attributes
    ----------
    results : list
        Of the parts that are done.
    cost : float
        Largest time of a part.
    """

    def __init__(self, results=(), cost=0.0, until=np.inf, expected=0.0, n_sure=0):
        self.results, self.cost = list(results), cost
        self._until, self._expected = until, expected
        self._next, self._n_sure = 0, n_sure

    def __call__(self, function, *args, **options):
        """Return the result of a part, or raise `OutOfTime` if it is unknown and does not fit."""
        if self._next == len(self.results):
            if self.are_over():
                raise OutOfTime
            self._n_sure -= 1
            begin = time.process_time()
            self.results.append(function(*args, **options))
            self.cost = max(self.cost, time.process_time() - begin)
        self._next += 1
        return self.results[self._next - 1]

    def are_over(self):
        """Return True if no further part fits in."""
        time_left = self._until - time.process_time()
        return self._n_sure <= 0 and max(self.cost, self._expected) > time_left

    def whole(self, function, *args, **options):
        """Return the result of a function that calls parts; it replaces theirs when it is known."""
        begin, name = self._next, function.__name__
        known = self.results[begin] if begin < len(self.results) else None
        if not (isinstance(known, _Whole) and known.name == name):
            known = _Whole(name, function(*args, slices=self, **options))
            self.results[begin:] = [known]
        self._next = begin + 1
        return known.found


class AtOnce:
    """Calls of a computation that is made at once; see `Slices`."""

    def __call__(self, function, *args, **options):
        return function(*args, **options)

    def whole(self, function, *args, **options):
        return function(*args, slices=self, **options)


AT_ONCE = AtOnce()
