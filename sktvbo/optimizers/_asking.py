"""Where to query next."""

from __future__ import annotations

from typing import TYPE_CHECKING, overload

import numpy as np

from .._checks import check_int
from ._clock import end_of
from ._contexts import after_asking
from ._queries import Query, handles

if TYPE_CHECKING:
    from typing import Literal

    from .._typing import Array, ContextLike, ContextsLike, Point, Points, Time


class Asking:
    """Part of an optimizer: a query, or several, and what is to come with them."""

    @overload
    def ask(
        self,
        t: Time | None = None,
        *,
        n_points: None = None,
        context: ContextLike = None,
        return_time: Literal[False] = False,
        return_query: Literal[False] = False,
        deadline: float | None = None,
    ) -> Point: ...
    @overload
    def ask(
        self,
        t: Time | None = None,
        *,
        n_points: None = None,
        context: ContextLike = None,
        return_time: Literal[True],
        return_query: Literal[False] = False,
        deadline: float | None = None,
    ) -> tuple[Point, float]: ...
    @overload
    def ask(
        self,
        t: Time | None = None,
        *,
        n_points: None = None,
        context: ContextLike = None,
        return_time: Literal[False] = False,
        return_query: Literal[True],
        deadline: float | None = None,
    ) -> Query: ...
    @overload
    def ask(
        self,
        t: Time | None = None,
        *,
        n_points: int,
        context: ContextsLike = None,
        return_time: Literal[False] = False,
        return_query: Literal[False] = False,
        deadline: float | None = None,
    ) -> Points: ...
    @overload
    def ask(
        self,
        t: Time | None = None,
        *,
        n_points: int,
        context: ContextsLike = None,
        return_time: Literal[True],
        return_query: Literal[False] = False,
        deadline: float | None = None,
    ) -> tuple[Points, Array]: ...
    @overload
    def ask(
        self,
        t: Time | None = None,
        *,
        n_points: int,
        context: ContextsLike = None,
        return_time: Literal[False] = False,
        return_query: Literal[True],
        deadline: float | None = None,
    ) -> list[Query]: ...
    def ask(
        self,
        t: Time | None = None,
        *,
        n_points: int | None = None,
        context: ContextsLike = None,
        return_time: bool = False,
        return_query: bool = False,
        deadline: float | None = None,
    ) -> object:
        """Where to query next.

        Queries that were asked for and not told yet are pending: the surrogate takes them for
        observations of its own mean, so that a new query looks elsewhere (hallucinated
        observations, Desautels et al. 2014). The latest 32 are heeded, the latest 1024 remembered;
        see ``cancel``.

        Parameters
        ----------
        t : float or date, default=None
            Present time, in the user's unit; None reads the clock. Never before an earlier time.
        n_points : int, default=None
            Ask for a batch of this many queries.
        context : array-like of shape (c,), or a dict for named variables, default=None
            What has been measured, on a domain with a `~sktvbo.domain.Context`: the query is the
            best that can be chosen in it. With ``n_points`` it may be a list of n_points of them.
        return_time : bool, default=False
            Also return the time of the query, which may be later than t only then.
        return_query : bool, default=False
            Return a `Query` in place of x, which has the time besides.
        deadline : float, default=None
            Seconds of real time that may pass: the search for the query ends then, with the best
            found. The candidates that it begins with (some hundreds, or all members of a finite
            set) are compared however short the time is; queries of a batch share it. What is
            found depends on the speed of the machine. None is no limit.

        Returns
        -------
        x : ndarray of shape (d,), or a dict for named parameters
            With ``n_points``: ndarray of shape (n_points, d), or a list of dicts. With
            ``return_query``: a `Query`, or a list of them.
        t_query : float
            Only with ``return_time``; with ``n_points`` an ndarray of shape (n_points,).

        Raises
        ------
        InvalidObservationError
            The time is not finite, goes backwards, or is a date among numbers.
        ValueError
            The deadline is not a number of seconds, 0 or more.

        Warns
        -----
        ForgottenQueryWarning
            More than 1024 queries are pending, and the oldest are forgotten.
        """
        until = end_of(deadline)
        with self._lock():
            before = self._run_or_new()
            run, t = before.forward_time(t)
            size = 1 if n_points is None else check_int(n_points, "n_points")
            may_wait = return_time or return_query
            after, queries = after_asking(run, t, size, context, may_wait=may_wait, until=until)
            if return_query:
                x = handles(run.domain, after.unanswered[-size:])
                times = np.array([query.t for query in x])
                if n_points is None:
                    x, times = x[0], x[0].t
            elif n_points is None:
                x, times = run.domain.decode(queries[0][0]), queries[0][1]
            else:
                x = run.domain.decode_all([x for x, _ in queries])
                times = np.array([time for _, time in queries])
            self._take(before, after, "ask")
        return (x, times) if return_time else x
