"""Queries that were asked for: their handles, and which of them an answer is for."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from .._validation import invalid
from .._values import replaced
from ..exceptions import (
    AmbiguousQueryWarning,
    AskTellError,
    DomainError,
    ForgottenQueryWarning,
)
from ._contexts import corrected

if TYPE_CHECKING:
    from .._typing import Point

# At most this many queries are remembered until they are told, and as many of those made with a
# surrogate.
MAX_PENDING = 1024

# Numbers that went through float32 differ by at most half of this part of themselves.
FLOAT32 = 2.0**-23


@dataclass(frozen=True, eq=False)
class Query:
    """A query that an optimizer was asked for: its handle, in place of x.

    `BayesianOptimizer.suggest` returns them, and ``pending_`` lists those whose answers are still
    to come. ``tell(query, y)`` answers this very query, where x alone may match several, and
    ``cancel(query)`` withdraws it. Handles may be pickled.

    Attributes
    ----------
    id : int
        0, 1, 2, ... in the order in which they were asked for, or announced.
    x : ndarray of shape (d,), or a dict for named parameters
    t : float
        When it is to be made.
    asked : float
        Present time when it was asked for; -inf if it was announced.
    context : ndarray of shape (c,), or a dict, or None
        In which it was asked for, on a domain with one.

    Examples
    --------
    >>> from sktvbo import WDBO
    >>> from sktvbo.domain import Arms
    >>> opt = WDBO(Arms(2), random_state=0)
    >>> first, *others = opt.suggest(0.0, n=3)
    >>> opt.tell(first, 1.0)
    >>> opt.cancel(others[0])
    >>> [query.id for query in opt.pending_]
    [2]
    """

    id: int
    x: Point
    t: float
    asked: float = field(default=-np.inf, repr=False)
    context: Point | None = field(default=None, repr=False)


def handles(domain, queries):
    """Queries as users get them."""
    return [
        replace(query, x=domain.decode(query.x), context=domain.decode_context(query.x))
        for query in queries
    ]


def warn_ambiguous():
    """Warn the caller of an optimizer's method that x may be the answer to another query."""
    warnings.warn(
        "Several queries at this x are pending, which were asked for at different times or in "
        "different contexts. The one asked for last is taken. To choose, give the time (t=) or the "
        "context (context=) of the query, or its handle, which suggest() returns. Withdraw those "
        "whose results are lost by cancel(query), or set query_timeout.",
        AmbiguousQueryWarning,
        stacklevel=3,
    )


def not_pending(what, got, *, when="", advice=""):
    """The error of an x, or a query, that stands for no pending one."""
    expected = f"a query of ask() that is still pending{when}"
    return invalid(what, expected, got=got, advice=advice, error=AskTellError)


def at_latest(run):
    """A run of which a time was taken back, at the latest that is told or pending."""
    now = max([run.passed, *(query.asked for query in run.unanswered)])
    if now == run.now:
        return run
    asked = [query.t for query in run.unanswered if np.isfinite(query.asked)]
    return replaced(run, now=now, next_time=asked[-1] if asked else None)


class Asked:
    """What a run does about its queries, but for answering them."""

    def query_of(self, handle):
        """The pending query, with a row for x, of a handle that users have."""
        for query in self.pending:
            if query.id == handle.id:
                x, k = self.domain.place(handle.x), self.domain.n_chosen
                if query.t == handle.t and np.array_equal(query.x[:k], x[:k]):
                    return query
        got = f"query {handle.id}, which"
        if any(entry.query == handle.id for entry in self.entries):
            raise not_pending("query", f"{got} was told already")
        gone = "was cancelled, has expired or is another optimizer's"
        raise not_pending("query", f"{got} {gone}")

    def point_near(self, x, error):
        """The chosen part (k,) of the pending query that x was before it went through float32.

        x is outside of the domain. Without such a query, raise the domain's error.
        """
        try:
            row = self.domain.as_row(x)
        except DomainError:  # an unknown category has no number
            raise error from None
        found = self.pending_near(row, rounded=True)
        if not found:
            raise error
        return found[0].x[: self.domain.n_chosen]

    def is_ambiguous(self, x, t):
        """Return True if queries that match a row x (d,) and a time differ in what is recorded."""
        k = self.domain.n_chosen
        answers = {
            (corrected(x, query.x, k).tobytes(), query.t if t is None else t)
            for query in self.matching(x, t)
        }
        return len(answers) > 1

    def after_announcing(self, x, t):
        """The run with a query (d,) pending that was not asked for."""
        return self._with_queries([(x, t)], -np.inf)

    def _with_queries(self, queries, asked):
        """The run with some queries (x, time) more pending, asked for at a time."""
        new = [Query(self.n_queries + i, x, t, asked) for i, (x, t) in enumerate(queries)]
        unanswered = (*self.unanswered, *new)
        if len(unanswered) > MAX_PENDING:
            unanswered = (*self.pending_at(max(asked, self.now)), *new)
        if len(unanswered) > MAX_PENDING:
            warnings.warn(
                f"{len(unanswered)} queries were asked for and not told; the latest {MAX_PENDING} "
                "of them are remembered. Tell each one as it was asked for, or cancel(x) it; what "
                "is forgotten can still be told with its time: tell(x, y, t).",
                ForgottenQueryWarning,
                stacklevel=4,
            )
            unanswered = unanswered[-MAX_PENDING:]
        run = replaced(self, unanswered=unanswered, n_queries=self.n_queries + len(new))
        if self.limiter is None or not queries:
            return run
        return replaced(run, limiter=self.limiter.moved(*queries[-1]))

    def after_cancelling(self, x):
        """The run without a pending query, or without the latest one at a row x (d,).

        When none is left of its time, this has not been, and earlier times may be asked for again.
        """
        found = [x] if isinstance(x, Query) else self.matching(x, None)
        if not found:
            raise not_pending("x", str(x.tolist()))
        query = found[-1]
        others = tuple(other for other in self.unanswered if other.id != query.id)
        run = replaced(self, unanswered=others)
        if self.limiter is not None:
            run = replaced(run, limiter=self.limiter.back(run, query))
        return at_latest(run)
