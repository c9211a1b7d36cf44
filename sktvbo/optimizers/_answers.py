"""Methods of an optimizer that answer: queries, recommendations, predictions, tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, overload

import numpy as np

from .._tables import is_one
from .._validation import check_int
from ..exceptions import MissingExtraError
from ..gaussian_process._dates import NUMBERS, ZONED, dates_of
from ._contexts import after_asking, in_context, rows_of
from ._queries import Query, handles
from ._run import too_few

if TYPE_CHECKING:
    from typing import Literal

    import pandas as pd
    from numpy.typing import ArrayLike

    from .._typing import Array, ContextLike, ContextsLike, Point, PointsLike, Time


class Answers:
    """Part of an optimizer: queries, and views of its run, which change nothing."""

    def ask(self, t: Time | None = None, context: ContextLike = None) -> Point:
        """Return the point to query now.

        Queries that were asked for and not told yet are pending: the surrogate takes them for
        observations of its own mean, so that a new query looks elsewhere (hallucinated
        observations, Desautels et al. 2014). The latest 32 are heeded, the latest 1024 remembered;
        see ``cancel``.

        Parameters
        ----------
        t : float or date, default=None
            Present time, in the user's unit; None reads the clock. Never before an earlier time.
        context : array-like of shape (c,), or a dict for named variables, default=None
            Measured values, on a domain with a `~sktvbo.domain.Context`: the query is the best
            choice in this context.

        Returns
        -------
        x : ndarray of shape (d,), or a dict for named parameters

        Raises
        ------
        InvalidObservationError
            The time is not finite, goes backwards, or is a date among numbers.

        Warns
        -----
        ForgottenQueryWarning
            More than 1024 queries are pending, and the oldest are forgotten.

        See Also
        --------
        suggest : Query with its handle and its time, or a batch of queries.
        """
        return self._asked(t, 1, context, may_wait=False)[0].x

    @overload
    def suggest(
        self, t: Time | None = None, n: None = None, *, context: ContextLike = None
    ) -> Query: ...
    @overload
    def suggest(
        self, t: Time | None = None, *, n: int, context: ContextsLike = None
    ) -> list[Query]: ...
    @overload
    def suggest(self, t: Time | None, n: int, *, context: ContextsLike = None) -> list[Query]: ...
    def suggest(
        self, t: Time | None = None, n: int | None = None, *, context: ContextsLike = None
    ) -> Query | list[Query]:
        """Return the next query, as a `Query` with its time, or a batch of queries.

        It is pending until it is told, as a query of ``ask``. Its time may be later than t for an
        algorithm that chooses the time too, such as `ABO`.

        Parameters
        ----------
        t : float or date, default=None
            Present time, as in ``ask``.
        n : int, default=None
            Size of a batch. Each query of a batch takes those before it as pending.
        context : array-like of shape (c,), or a dict for named variables, default=None
            Measured values, as in ``ask``; with ``n`` also a list of n of them.

        Returns
        -------
        query : Query
            With ``n``: a list of n of them.

        Raises
        ------
        InvalidObservationError
            As in ``ask``.
        ValueError
            ``n`` is not an integer of at least 1.

        Warns
        -----
        ForgottenQueryWarning
            As in ``ask``.

        Examples
        --------
        >>> from sktvbo import WDBO
        >>> opt = WDBO([(0.0, 10.0)], random_state=0)
        >>> batch = opt.suggest(0.0, n=3)
        >>> for query in reversed(batch):
        ...     opt.tell(query, -((query.x[0] - 5.0) ** 2))
        >>> [query.id for query in batch], opt.suggest(1.0).t
        ([0, 1, 2], 1.0)
        """
        if n is None:
            return self._asked(t, 1, context, may_wait=True)[0]
        return self._asked(t, check_int(n, "n"), context, may_wait=True)

    def _asked(self, t, size, context, may_wait):
        """Make one step: ``size`` more queries are pending; their handles."""
        with self._lock():
            before = self._run_or_new()
            run, t = before.forward_time(t)
            after, found = after_asking(run, t, size, context, may_wait=may_wait)
            first = after.n_queries - size
            queries = [Query(first + i, x, time, t) for i, (x, time) in enumerate(found)]
            queries = handles(run.domain, queries)
            self._take(before, after, "ask")
        return queries

    def now(self) -> float:
        """Read the clock: the time that ``ask()`` without one would take.

        Returns
        -------
        t : float
            In the user's unit.
        """
        return self._run_or_new().timed(None)[1]

    @overload
    def predict(
        self,
        X: PointsLike,
        t: Time | ArrayLike | None = None,
        return_std: Literal[False] = False,
        *,
        context: ContextsLike = None,
        include_noise: bool = False,
    ) -> Array: ...
    @overload
    def predict(
        self,
        X: PointsLike,
        t: Time | ArrayLike | None = None,
        return_std: bool = False,
        *,
        context: ContextsLike = None,
        include_noise: bool = False,
    ) -> tuple[Array, Array]: ...
    def predict(
        self,
        X: PointsLike,
        t: Time | ArrayLike | None = None,
        return_std: bool = False,
        *,
        context: ContextsLike = None,
        include_noise: bool = False,
    ) -> Array | tuple[Array, Array]:
        """What the function is believed to be at places and times, past or future.

        Parameters
        ----------
        X : array-like of shape (m, d), a list of dicts for named parameters, or a table
            Places in the domain; or one of them, of shape (d,), a dict or a Series. The columns of
            a data frame, or of a dict of columns, are found by name; those of `to_frame` may be
            among them.
        t : float, date, or array-like of shape (m,), default=None
            One time for all, or one for each; None reads the clock.
        return_std : bool, default=False
            Also return the standard deviation.
        context : array-like of shape (c,), or a dict for named variables, default=None
            In which, on a domain with a `~sktvbo.domain.Context`; or a list of m of them.
        include_noise : bool, default=False
            Of an observation of the function, instead of the function itself.

        Returns
        -------
        mean : ndarray of shape (m,), or a float for one place
            In units of y, and with its sign.
        std : ndarray of shape (m,), or a float for one place
            Only with ``return_std``.

        Raises
        ------
        AskTellError
            There are fewer than ``n_initial_points`` observations.
        ValueError
            Places outside of the domain, times that are none, wrong shapes.

        Examples
        --------
        >>> import numpy as np
        >>> from sktvbo import WDBO
        >>> opt = WDBO([(0.0, 10.0)], maximize=False, n_initial_points=8, random_state=0)
        >>> for t in range(20):
        ...     x = opt.ask(t)
        ...     opt.tell(x, 300.0 + (x[0] - 5.0) ** 2)
        >>> mean, std = opt.predict([[5.0], [6.0]], t=20, return_std=True)
        >>> bool((np.abs(mean - [300.0, 301.0]) < 0.5).all() and (std < 1.0).all())
        True
        """
        run = self._run_or_new()
        one = is_one(X)
        rows = rows_of(run.domain, X, context, one)
        times = run.timed_many(t, len(rows))[1]
        _check_belief(run, "predict()")
        mean, std = _predicted(run, rows, times, include_noise)
        if one:
            mean, std = float(mean[0]), float(std[0])
        return (mean, std) if return_std else mean

    def recommend(self, t: Time | None = None, *, context: ContextLike = None) -> Point:
        """Return the point with the best posterior mean: exploitation without exploration.

        ``predict`` there gives the posterior mean and its standard deviation.

        Parameters
        ----------
        t : float or date, default=None
            Any time, past or future; None reads the clock.
        context : array-like of shape (c,), or a dict for named variables, default=None
            Measured values, on a domain with a `~sktvbo.domain.Context`.

        Returns
        -------
        x : ndarray of shape (d,), or a dict for named parameters

        Raises
        ------
        AskTellError
            There are fewer than ``n_initial_points`` observations.
        InvalidObservationError
            The time is not finite, or is a date among numbers.
        """
        run = self._run_or_new()
        t = run.timed(t)[1]
        context = run.domain.contexts(context, 1)[0]
        _check_belief(run, "recommend()")
        return run.domain.decode(in_context(run, context).best_mean(t))

    def to_frame(self) -> pd.DataFrame:
        """What was asked and told, as a data frame.

        Returns
        -------
        frame : pandas.DataFrame
            A row for each observation told, in that order, as far as ``history`` goes, then for
            each failed measurement in ``failed_X_``, and for each pending query, the oldest first.
            Columns are the parameters by name (x0, x1, ... where they have none) and

            - ``time``, of a measurement or a query, and ``y``, NaN for what failed or is pending;
              times are dates where dates were given;
            - ``removed_at``: when it was removed from the data set; NaN while it is in it;
            - ``failed`` and ``pending``: bool;
            - ``query``: id of the query, or <NA> for what failed, or was not asked for.

            An underscore is put behind the name of one of these when a parameter is called so.

        Raises
        ------
        MissingExtraError
            pandas is not installed.

        Examples
        --------
        >>> from sktvbo import RandomSearch
        >>> opt = RandomSearch({"rate": ("log-real", 1e-3, 1.0), "loss": ["l1", "l2"]})
        >>> opt.tell({"rate": 0.1, "loss": "l2"}, 0.5, t=1.0)
        >>> opt.tell({"rate": 1.0, "loss": "l2"}, t=2.0, failed=True)
        >>> opt.announce({"rate": 0.01, "loss": "l1"}, t=3.0)
        >>> print(opt.to_frame().to_string())
           rate loss  time    y  removed_at  failed  pending query
        0  0.10   l2   1.0  0.5         NaN   False    False  <NA>
        1  1.00   l2   2.0  NaN         NaN    True    False  <NA>
        2  0.01   l1   3.0  NaN         NaN   False     True     0
        """
        try:
            import pandas as pd
        except ImportError as exc:
            raise MissingExtraError(
                "to_frame() needs pandas, which is not installed: pip install pandas."
            ) from exc
        run = self._begun()
        shown, failed, pending = run.shown, self.failed_X_, run.pending
        rows = np.concatenate([run.rows(shown), failed, self.pending_X_])
        kind = np.repeat([0, 1, 2], [len(shown), len(failed), len(pending)])
        columns = run.domain.described(rows[:, :-1])
        unknown = np.full(len(rows) - len(shown), np.nan)
        queries = [entry.query for entry in shown] + [None] * len(failed)

        def dated(times):
            if run.times in (None, NUMBERS):
                return times
            dates = pd.Series(dates_of(times, run.algorithm.time_unit))
            return dates.dt.tz_localize("UTC") if run.times == ZONED else dates

        own = {
            "time": dated(rows[:, -1]),
            "y": np.append(self.told_y_, unknown),
            "removed_at": dated(np.append(self.removed_at_, unknown)),
            "failed": kind == 1,
            "pending": kind == 2,
            "query": pd.array([*queries, *(query.id for query in pending)], dtype="Int64"),
        }
        for name, values in own.items():
            while name in columns:
                name += "_"
            columns[name] = values
        # pandas would make NaN of None among strings, and 1.0 of 1 beside None.
        for name, values in columns.items():
            if isinstance(values, list) and len(set(map(type, values))) > 1:
                columns[name] = pd.Series(values, dtype=object)
        return pd.DataFrame(columns)


def _check_belief(run, caller):
    """Raise an AskTellError unless the run has a surrogate."""
    if run.surrogate is None:
        raise too_few(caller, run)


def _predicted(run, rows, times, include_noise):
    """Mean and standard deviation (m,) at rows (m, d) and times (m,), with the user's sign."""
    places = run.domain.to_unit(rows)
    mean, std = np.empty(len(rows)), np.empty(len(rows))
    for time in np.unique(times):
        here = times == time
        surrogate = run.belief.advanced(time)
        mean[here], std[here] = surrogate.posterior_at(time)(places[here])
    if include_noise:
        std = np.hypot(std, run.belief.noise_std_)
    return run.sign * mean, std
