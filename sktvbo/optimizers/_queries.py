"""Queries that were asked for: their handles, and which of them an answer is for."""

from dataclasses import dataclass, field

import numpy as np

from .._checks import invalid
from ..exceptions import AskTellError

# Numbers that went through float32 differ by at most half of this part of themselves.
_FLOAT32 = 2.0**-23


@dataclass(frozen=True, eq=False)
class Query:
    """A query that an optimizer was asked for: its handle, in place of x.

    `BayesianOptimizer.ask` gives them with ``return_query=True``, and ``pending_`` lists those
    whose answers are still to come. ``tell(query, y)`` answers this very query, where x alone may
    stand for several, and ``cancel(query)`` withdraws it. Handles may be pickled.

    Attributes
    ----------
    id : int
        0, 1, 2, ... in the order in which they were asked for, or announced.
    x : ndarray of shape (d,), or a dict for named parameters
    t : float
        When it is to be made.

    Examples
    --------
    >>> from sktvbo import WDBO
    >>> from sktvbo.domain import Arms
    >>> opt = WDBO(Arms(2), random_state=0)
    >>> X = opt.ask(0.0, n_points=3)
    >>> first, *others = opt.pending_
    >>> opt.tell(first, 1.0)
    >>> opt.cancel(others[0])
    >>> [query.id for query in opt.pending_]
    [2]
    """

    id: int
    x: object
    t: float
    # Present time when it was asked for; an announced one says nothing of that.
    asked: float = field(default=-np.inf, repr=False)


def near(queries, x):
    """Those queries that a row x (d,) may have been before it went through float32; a list.

    Empty, too, where they are at several places.
    """
    if not queries:
        return []
    rows = np.array([query.x for query in queries])
    close = np.flatnonzero((np.abs(rows - x) <= _FLOAT32 * np.abs(rows)).all(axis=1))
    one_place = (rows[close] == rows[close[:1]]).all()
    return [queries[i] for i in close] if one_place else []


def not_pending(what, got, *, when="", advice=""):
    """The error of an x, or a query, that stands for no pending one."""
    expected = f"a query of ask() that is still pending{when}"
    return invalid(what, expected, got=got, advice=advice, error=AskTellError)
