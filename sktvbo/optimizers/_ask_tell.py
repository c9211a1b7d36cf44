"""The ask/tell contract that all optimizers share: queries, observations, tables."""

from __future__ import annotations

import copy
import inspect
from dataclasses import dataclass, field, is_dataclass
from typing import TYPE_CHECKING, dataclass_transform, overload

import numpy as np

from .._docstrings import described_like
from .._durations import check_time_unit, number_of_duration
from .._validation import (
    LARGEST_Y,
    check_bool,
    check_int,
    check_real,
    finite_number,
    invalid,
    invalid_domain,
)
from .._warnings import step
from ..exceptions import AskTellError, InvalidObservationError
from ..gaussian_process._regressor import as_estimator
from ..staleness import KeepAll
from ._begin import changed, check_held, continued, has_auto_timeout, in_learnt_ranges
from ._durable import Durable
from ._failures import has_failed
from ._observe import (
    cancel,
    latest_told,
    observe,
    observe_many,
    predicted_observation,
    untell,
)
from ._outcomes import kept_outcomes, many_outcomes_of, outcomes_of
from ._places import (
    addressed,
    columns_of,
    is_repeated,
    known_handle,
    observations_of,
    place_of,
    place_set,
    places_set,
    rivals_of,
    warn_ambiguous,
    with_known_context,
    without_outcomes,
)
from ._report import frame_of, pending_rows, removed_at, representation
from ._serialization import change_event
from ._state import Answer, Query, handles
from ._suggest import announce, of_query, suggest

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import timedelta
    from typing import Any, Literal, Self

    import pandas as pd
    from numpy.typing import ArrayLike

    from .._typing import (
        Array,
        Available,
        ContextLike,
        ContextsLike,
        Fixed,
        PathLike,
        Point,
        PointLike,
        PointsLike,
        RandomState,
        Real,
        Time,
        TimeSource,
    )
    from ..domain import StepLimit
    from ..domain._context import DomainLike
    from ..domain._rules import Constraint
    from ..journal import Journal
    from ..staleness import Surrogate


def absent(default: Any = None, *, init: Literal[False] = False) -> Any:
    """Return a field that fixes the value of a parameter which a class does not have."""
    return field(default=default, init=init)


@dataclass_transform(kw_only_default=True, eq_default=False, field_specifiers=(field, absent))
def algorithm(cls):
    """Decorate an optimizer class, whose annotated attributes become keyword-only parameters.

    Adds the constructor, and with it ``get_params``. Signature and docstring list the parameters of
    the class first, and those that all optimizers share last.
    """
    cls = dataclass(kw_only=True, eq=False, repr=False)(cls)
    bases, declared_in = [base for base in cls.__mro__ if is_dataclass(base)], {"self": 0}
    for i, base in enumerate(bases):
        for name in inspect.get_annotations(base):
            declared_in.setdefault(name, i)
    parameters = [
        parameter.replace(annotation=parameter.empty)
        for parameter in inspect.signature(cls.__init__).parameters.values()
    ]
    parameters.sort(key=lambda p: (p.kind, declared_in[p.name]))
    cls.__init__.__signature__ = inspect.Signature(parameters)
    return described_like(bases[1] if bases[1:] else cls)(cls)


@algorithm
class AskTell(Durable):
    """Base of all optimizers: queries, observations, journal and tables, without a model.

    Parameters
    ----------
    domain : Box, FiniteSet, list of (low, high) pairs, scipy.optimize.Bounds, or dict
        Inputs that may be queried. With a dict of named parameters, queries are dicts: see
        `~sktvbo.domain.ParameterSpace`. A `~sktvbo.domain.Context` is measured, not chosen.
    maximize : bool, default=True
        False to minimize.
    clock : "wall", "calendar", "step" or callable, default="wall"
        Source of times that are not given. "step" counts observations and failures told; "wall" and
        "calendar" count seconds since the first call. They are never before the latest time given.
        "wall" stops between a pickle or journal and its use, "calendar" does not. A callable
        returns the time.
    constraints : LinearConstraint, NonlinearConstraint, callable, or a list of them, default=None
        Conditions that queries and recommendations must satisfy, see `~sktvbo.domain.Constrained`.
        A callable of x, or of x and the context, returns True, or a number of at least 0, where x
        is allowed.
    random_state : int, RandomState, Generator or None, default=None
        A RandomState or Generator is copied when the run begins.
    history : int, default=None
        Number of most recent observations exposed by ``told_X_``, ``told_y_`` and `to_frame`; None
        keeps all. Bounds the memory of long runs (see `BayesianOptimizer`).
    journal : path-like or `~sktvbo.journal.Journal`, default=None
        File in which every step is written before the call returns. A path begins a run;
        ``Journal(path, resume=True)`` resumes the run in the file if there is one.
    max_step : float, sequence of float of shape (d,), dict or StepLimit, default=None
        Largest distance of a query from the one before, as a fraction of each range; see
        `~sktvbo.domain.StepLimit` for limits per unit of time. None is no limit.
    start_points : array-like of shape (k, d), or a list of dicts, default=None
        Points to query first; with ``max_step`` they are approached step by step. They are the
        first of the initial points; "auto" spreads the others within 0.2 of each range around the
        first.
    query_timeout : float, duration, "auto" or None, default="auto"
        Age, in the user's unit of time, at which a query without an answer expires: later queries
        no longer keep away from it. "auto" is 10 times the 95th percentile of the latest delays of
        answers, once there are 20 (see `BayesianOptimizer`). With None queries never expire.
    time_unit : {"ns", "us", "ms", "s", "min", "h", "D", "W"}, default="s"
        Unit of times given as dates: ``datetime``, ``numpy.datetime64``, ``pandas.Timestamp``, or a
        column of them. Dates without a time zone are read as UTC.

    Attributes
    ----------
    X_ : ndarray of shape (n, d + 1)
        Data set: queries and times, in the user's units. A context stands before the time, and
        counts among the d columns.
    y_ : ndarray of shape (n,)
        Data set: observations.
    surrogate_ : estimator or None
        None before there are as many observations as initial points.
    belief_ : estimator or None
        Surrogate for the next query: ``surrogate_``, or conditioned on an expert's answers as well.
    policy_ : stale-data policy
        A copy, as are ``surrogate_`` and ``belief_``: changes to them do not affect the run.
    n_told_, n_removed_ : int
        Observations told, and removed from the data set, in the whole run.
    told_X_ : ndarray of shape (m, d + 1)
        Queries and times told, or the latest m = ``history`` of them.
    told_y_ : ndarray of shape (m,)
        Their observations.
    removed_at_ : ndarray of shape (m,)
        Time at which each of these was removed; NaN while it is in the data set.
    n_failed_ : int
        Queries that failed.
    failed_X_ : ndarray of shape (f, d + 1)
        Inputs and times of the latest failures, at most 150.
    next_time_ : float or None
        Time of the latest query asked for.
    pending_ : list of Query
        Queries without an answer, oldest first, with ``id``, ``x`` and ``t``.
    pending_X_ : ndarray of shape (p, d + 1)
        Inputs and times of pending queries.
    history_ : dict of str to ndarray of shape (m,)
        Values after each of these observations: the present time, the size n of the data set, and
        the policy's record (resets, budget, window...).
    label : str or None
        Name of the algorithm in the literature.
    """

    domain: DomainLike | None = field(default=None, kw_only=False)
    maximize: bool = True
    clock: TimeSource = "wall"
    constraints: Constraint | Sequence[Constraint] | None = None
    random_state: RandomState = None
    history: int | None = None
    journal: PathLike | Journal | None = None
    max_step: ArrayLike | Mapping[str, float] | StepLimit | None = None
    start_points: PointsLike | None = None
    query_timeout: float | timedelta | np.timedelta64 | str | None = "auto"
    time_unit: str = "s"

    # --- hooks of every algorithm, which the steps call -------------------------------------------

    # Name in tables and plots; None: the name of the class.
    label = None

    # Earlier runs, see the parameter ``earlier`` of algorithms with a model.
    _prior = None

    # True if a run cannot begin without start points.
    _needs_start_points = False

    def _make_policy(self):
        """Return a new stale-data policy; called once a run."""
        return KeepAll()

    def _of_model(self, domain, policy):
        """Return the fields of `RunConfig` for the algorithm's model, a dict; called once a run."""
        return {}

    def _recommended(self, run, here, t):
        """Return the row (d,) of a recommendation at time t.

        Parameters
        ----------
        run, here : RunState
            ``here`` has the domain of the query, see `of_query`.
        t : float
        """
        raise NotImplementedError

    def _before_surrogate(self, run, data):
        """Return the data set after an observation that does not lead to a surrogate.

        Parameters
        ----------
        run : RunState
            Before the observation.
        data : DataSet
            With the observation.
        """
        return data

    def _check_parameters(self):
        """Raise a ValueError for an invalid parameter; called when a run begins."""
        if self.domain is None:
            raise invalid_domain(
                "domain",
                "a Box, a FiniteSet, a list of (low, high) pairs or a dict of parameters",
                None,
                self,
            )
        if self.history is not None:
            check_int(self.history, "history", self, low=0)
        check_bool(self.maximize, "maximize", self)
        check_time_unit(self.time_unit, self)
        if not (self.query_timeout is None or has_auto_timeout(self)):
            timeout = number_of_duration(self.query_timeout, self.time_unit)
            check_real(timeout, "query_timeout", self, interval="(0, inf)")

    # --- the contract -----------------------------------------------------------------------------

    def ask(
        self,
        t: Time | None = None,
        context: ContextLike = None,
        *,
        fixed: Fixed = None,
        available: Available = None,
    ) -> Point:
        """Return the point to query now.

        A query is pending until its result is told, or until it is cancelled. The surrogate is
        conditioned on its own mean at the latest 32 pending queries, with the noise of an
        observation (hallucinated observations, Desautels et al. 2014). A new query lies elsewhere,
        unless noise makes another observation there worth more. The latest 1024 pending queries are
        stored.

        Parameters
        ----------
        t : float or date, default=None
            Present time, in the user's unit; None reads the clock. It may not be before an earlier
            time.
        context : array-like of shape (c,), or a dict for named variables, default=None
            Measured values, on a domain with a `~sktvbo.domain.Context`: the query is the best
            choice in this context.
        fixed : dict, default=None
            Values of parameters that are fixed in this query, by name ("x0", "x1", ... without
            names).
        available : dict of lists, or array-like of shape (m, d), default=None
            The only values, by name, that parameters with steps may have in this query; or the only
            members of a `FiniteSet`. Start points that do not fit are asked later.

        Returns
        -------
        x : ndarray of shape (d,), or a dict for named parameters

        Raises
        ------
        InvalidObservationError
            The time is not finite, goes backwards, or is a date among numbers.
        DomainError
            No point of the domain, or none within ``max_step``, matches ``fixed`` and
            ``available``.

        Warns
        -----
        UserWarning
            More than 1024 queries are pending, and the oldest are forgotten.
        LimitWarning
            With ``safety``: several successive queries are not certified, or no point that matches
            ``fixed`` and ``available`` is.
        StepBudgetWarning
            Three of the latest 100 steps took longer than ``step_budget``; once.

        See Also
        --------
        suggest : Query with its handle and its time, or a batch of queries.
        """
        return self._asked(t, 1, context, fixed, available, may_wait=False)[0].x

    @overload
    def suggest(
        self,
        t: Time | None = None,
        n: None = None,
        *,
        context: ContextLike = None,
        fixed: Fixed = None,
        available: Available = None,
    ) -> Query: ...
    @overload
    def suggest(
        self,
        t: Time | None = None,
        *,
        n: int,
        context: ContextsLike = None,
        fixed: Fixed = None,
        available: Available = None,
    ) -> list[Query]: ...
    @overload
    def suggest(
        self,
        t: Time | None,
        n: int,
        *,
        context: ContextsLike = None,
        fixed: Fixed = None,
        available: Available = None,
    ) -> list[Query]: ...
    def suggest(
        self,
        t: Time | None = None,
        n: int | None = None,
        *,
        context: ContextsLike = None,
        fixed: Fixed = None,
        available: Available = None,
    ) -> Query | list[Query]:
        """Return the next query, as a `Query` with its time, or a batch of queries.

        It is pending like a query of ``ask``. An algorithm that chooses the time as well, such as
        `ABO`, may return a query for a later time than t.

        Parameters
        ----------
        t : float or date, default=None
            Present time, as in ``ask``.
        n : int, default=None
            Size of a batch. For each query, the earlier ones of the batch are pending. With a
            surrogate all are at different points, if there are enough.
        context : array-like of shape (c,), or a dict for named variables, default=None
            Measured values, as in ``ask``; with ``n`` also a list of n of them.
        fixed, available : dict, default=None
            As in ``ask``, for all queries of a batch.

        Returns
        -------
        query : Query
            With ``n``: a list of n of them.

        Raises
        ------
        InvalidObservationError, DomainError
            As in ``ask``.
        ValueError
            ``n`` is not an integer of at least 1.

        Warns
        -----
        UserWarning, StepBudgetWarning
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
            return self._asked(t, 1, context, fixed, available, may_wait=True)[0]
        return self._asked(t, check_int(n, "n"), context, fixed, available, may_wait=True)

    @step
    def _asked(self, t, size, context, fixed, available, *, may_wait):
        """Add ``size`` pending queries in one step, and return their handles."""
        only = {"fixed": fixed, "available": available}
        with self._lock, self._timed_step() as before:
            t, run = before.read_present_time(t)
            after, new = suggest(run, t, size, context, may_wait=may_wait, **only)
            first = after.pending.n_total - size
            queries = [Query(first + i, x, time, t) for i, (x, time) in enumerate(new)]
            queries = handles(run.domain, queries)
            self._take(before, after, "ask")
        return queries

    def recommend(
        self,
        t: Time | None = None,
        *,
        context: ContextLike = None,
        fixed: Fixed = None,
        available: Available = None,
    ) -> Point:
        """Return the point with the best posterior mean: exploitation without exploration.

        ``predict`` returns the posterior mean and its standard deviation at this point. With
        ``outcome_constraints`` all limits hold there with probability ``safety``, or 0.5;
        ``probability_feasible`` returns this probability. `RandomSearch` returns the query of the
        best observation.

        Parameters
        ----------
        t : float or date, default=None
            Any time, past or future; None reads the clock.
        context : array-like of shape (c,), or a dict for named variables, default=None
            Measured values, on a domain with a `~sktvbo.domain.Context`.
        fixed : dict, default=None
        available : dict of lists, or array-like of shape (m, d), default=None
            Fixed values, or the only ones available, as in ``ask``.

        Returns
        -------
        x : ndarray of shape (d,), or a dict for named parameters

        Raises
        ------
        AskTellError
            There is no observation yet; for `RandomSearch`, none that satisfies the constraints.
        DomainError
            No point of the domain matches ``fixed`` and ``available``.
        InvalidObservationError
            The time is not finite, or is a date among numbers.

        Warns
        -----
        LimitWarning
            No such point is known, or the data contain little information on the limits at this
            time. The point with the least expected violation is returned; in the second case it is
            one of the data set. The message states the time and the probability.
        """
        run = self._run_or_new()
        t = run.read_time(t)[0]
        here = of_query(run, run.domain.contexts(context, 1)[0], fixed, available)
        return run.domain.decode(self._recommended(run, here, t))

    @step
    def tell(
        self,
        x_or_query: PointLike | Query | None = None,
        y: Real | None = None,
        t: Time | None = None,
        *,
        context: ContextLike = None,
        y_variance: Real | None = None,
        outcomes: Mapping[str, float | None] | pd.Series | None = None,
        failed: bool = False,
        x: PointLike | None = None,
    ) -> None:
        """Add an observation, search the hyperparameters, forget stale observations.

        Parameters
        ----------
        x_or_query : array-like of shape (d,), a dict for named parameters, a Series, or a Query
            The `Query` of ``suggest``, or a point, which may be given as ``x`` instead. A point
            answers the pending query there. If there are several and no t, it answers the one asked
            for last, in the same ``context`` if possible. It may be rounded, to float32 or within a
            hundredth of a real's range, if any other pending query is 4 times as far away. The
            point told is recorded, even if it is outside of the domain by up to a hundredth of the
            range.
        y : float
            The observation.
        t : float or date, default=None
            Time of the observation, which may be before earlier ones; None is the time of the
            query. With t, a point answers only a query of this time. For an observation that
            answers no query, although one is pending at its point and time, tell the query that
            `announce` returns.
        context : array-like of shape (c,), or a dict for named variables, default=None
            Measured values; None is the context of the query.
        y_variance : float, default=None
            Known variance of the noise of y, in units of y², in addition to the learnt noise. If y
            is a mean of scores, it is their variance divided by their number.
        outcomes : dict of str to float, or a row of a frame, default=None
            Values of all ``outcome_constraints`` except "objective"; None or NaN where one was not
            measured. Other columns of a frame are ignored. May be omitted for a failure.
        failed : bool, default=False
            True, without y, if the measurement failed. Later queries avoid inputs and times where
            queries are likely to fail; surrogate and policy are unchanged. Models of outcomes learn
            from ``outcomes``. A failure with an outcome beyond its limit does not count twice: once
            this outcome has a model, only that model learns from it.
        x : array-like of shape (d,), a dict for named parameters, or a Series, default=None
            Point that was set instead of the query. It is recorded, and ``max_step`` counts from
            it. None is the point of the query.

        Raises
        ------
        ValueError
            x outside of the domain, y or t not finite, a negative variance, wrong shapes. The
            optimizer is unchanged.
        AskTellError
            No t is given and x is not a pending query; or a `Query` is not pending. To tell a query
            the same result again is no error, and changes nothing.

        Warns
        -----
        AmbiguousQueryWarning
            Several queries at x are pending, and neither t nor context distinguishes them.
        ModelWarning
            Contexts span less than a tenth of their declared range, or more than three times it;
            once.
        UnansweredQueryWarning
            Ten queries are pending although observations were told at their times, or at their
            points with other times, which answer none; once.
        StepBudgetWarning
            As in ``ask``.
        """
        with self._lock, self._timed_step() as before:
            run = before
            if x_or_query is None:
                x_or_query, x = x, None
            query = place_of(run, x_or_query, context, answered=True)
            place = place_set(run, query, x)
            if t is not None:
                t, run = run.read_time(t)
            failed = failed is not False and has_failed(y, failed)
            variance, others = 0.0, None
            y = None if failed else finite_number(y, "y", InvalidObservationError, LARGEST_Y)
            if y_variance is not None:
                variance = check_real(y_variance, "y_variance", interval="[0, inf)")
            if run.config.limits or outcomes is not None:
                others = outcomes_of(run, outcomes, failed)
            if rivals_of(run, query, t):
                warn_ambiguous()
            row, t, answered = addressed(run, query, t, place)
            answer = Answer(row, y, t, 0.0 if failed else variance, others, answered)
            if isinstance(query, Query) and is_repeated(run, answer, place):  # only handles can be
                return
            predicted = None if failed else predicted_observation(run, answer)
            after = observe(in_learnt_ranges(run, [answer]), answer, predicted=predicted)
            self._take(before, after, "fail" if failed else "tell")

    @step
    def announce(
        self, x: PointLike, t: Time | None = None, *, context: ContextLike = None
    ) -> Query:
        """Add a pending query that was chosen elsewhere, and return it.

        Parameters
        ----------
        x : array-like of shape (d,), or a dict for named parameters
        t : float or date, default=None
            Time of the query; None reads the clock.
        context : array-like of shape (c,), or a dict for named variables, default=None
            Measured values, on a domain with a context.

        Returns
        -------
        query : Query
            Its handle.

        Raises
        ------
        ValueError
            x outside of the domain, t not finite.
        """
        with self._lock:
            run = self._run_or_new()
            x = with_known_context(run.domain.place(without_outcomes(run, x), context))
            t, timed = run.read_time(t)
            after = announce(timed, x, t)
            self._take(run, after, "announce")
        return handles(run.domain, after.pending.queries[-1:])[0]

    @step
    def cancel(self, x: PointLike | Query) -> None:
        """Withdraw a pending query.

        For the usual interval between observations, later queries avoid its point: reals within
        0.05 of each range, or the member itself. An observation there ends this. If no other point
        is left, nearer ones are asked.

        If it was the latest query, the present time goes back to the previous one. This undoes a
        query with a wrong time.

        Parameters
        ----------
        x : array-like of shape (d,), a dict for named parameters, or a Query
            A query that was asked for, or announced. If there are several at x, it is the one asked
            for last.

        Raises
        ------
        AskTellError
            It was not asked for, or was told already.

        Warns
        -----
        AmbiguousQueryWarning
            Several queries at x are pending.
        """
        with self._lock:
            run = self._run_or_new()
            x = place_of(run, x)
            if rivals_of(run, x, None):
                warn_ambiguous()
            self._take(run, cancel(run, x), "cancel")

    @step
    def tell_many(
        self,
        X: PointsLike | Sequence[Query],
        y: ArrayLike | None = None,
        t: Time | ArrayLike | None = None,
        *,
        context: ContextsLike = None,
        y_variance: ArrayLike | None = None,
        outcomes: Mapping[str, ArrayLike] | pd.DataFrame | None = None,
        failed: ArrayLike = False,
        x: PointsLike | None = None,
    ) -> None:
        """Add many observations in one step, with one search of the hyperparameters.

        The hyperparameters are learnt from all of them, or from the latest 1000. Then the
        observations are added one by one in the order of time; the policy sees each one as if told
        alone.

        Parameters
        ----------
        X : array-like of shape (n, d), a table, a list of dicts for named parameters, or of Query
            Points, asked for or not; see `tell`. Columns of a data frame, or of a dict of columns,
            are matched by name; further columns of `to_frame` are ignored. Equal points without a
            time answer the latest pending queries there, in their order.
        y : array-like of shape (n,)
            NaN or None for a measurement that failed; omitted if all failed.
        t : float, date, or array-like of shape (n,), default=None
            Times of the observations; None is the times of the queries.
        context : list of contexts, or one for all, default=None
            See `tell`.
        y_variance : float or array-like of shape (n,), default=None
            See `tell`.
        outcomes : dict of str to array-like of shape (n,), or data frame, default=None
            See `tell`.
        failed : bool or array-like of bool of shape (n,), default=False
            Measurements that failed, see `tell`.
        x : array-like of shape (n, d), a table, or a list, default=None
            Points that were set instead of the queries, see `tell`; a list may contain None.

        Raises
        ------
        ValueError
            As in `tell`. The optimizer is unchanged.
        AskTellError
            No t is given and a point of X is not a pending query; or a `Query` was told another
            result before.

        Warns
        -----
        AmbiguousQueryWarning, UnansweredQueryWarning
            As in `tell`: other queries at the same x remain pending.
        """
        with self._lock:
            before = self._run_or_new()
            run, places, y, *known = columns_of(before, X, y, t, y_variance, context, failed)
            gone = np.array([value is None for value in y], dtype=bool)
            others = many_outcomes_of(run, outcomes, gone)
            answers = observations_of(run, places, y, *known, others, places_set(run, places, x))
            if answers:
                after, entries = observe_many(in_learnt_ranges(run, answers), answers)
                self._take(before, after, "tell_many", entries=entries)

    @step
    def untell(
        self, x: PointLike | Query | None = None, t: Time | None = None, *, id: int | None = None
    ) -> None:
        """Remove an observation, or a failure, that was told by mistake.

        It leaves the data set, the attributes and the counts. Stored observations that were removed
        when it was told are restored. Hyperparameters do not change. If it is the latest
        observation, the policy and the summary of removed observations are restored as well. The
        present time is the latest of the remaining times. The query that it answered counts as
        expired, and may be answered again, for instance with another value, or with outcomes that
        came later: ``untell(query)``, then ``tell(query, y, outcomes=...)``.

        Parameters
        ----------
        x : array-like of shape (d,), a dict for named parameters, or a Query, default=None
            Its point, or the query that it answered; the latest if there are several. None is the
            latest of all.
        t : float or date, default=None
            Its time; None is any time.
        id : int, default=None
            Id of the query that it answered; None is any query.

        Raises
        ------
        AskTellError
            There is no such observation, or it is no longer stored (see ``history``).
        """
        with self._lock:
            run = self._run_or_new()
            if id is not None:
                check_int(id, "id", low=0)
            handle = None
            if isinstance(x, Query):
                if id not in (None, x.id):
                    raise invalid("id", f"left out, or {x.id}, with this query", id)
                handle = known_handle(run, x)
                x, id = x.x, x.id
            row = None if x is None else run.domain.as_row(without_outcomes(run, x))
            time = None if t is None else run.read_time(t)[0]
            told = latest_told(run, row, time, id)
            if told is None:
                criteria = {"x": x, "t": t, "id": id}
                got = ", ".join(f"{k}={v!r}" for k, v in criteria.items() if v is not None)
                n_stored = len(run.history.positions)
                known = f"{n_stored} are stored and can be removed; told_X_ lists them."
                if id in run.pending.untold:
                    known = f"The answer to query {id} was untold already."
                raise AskTellError(
                    f"untell(): no matching observation{f' for {got}' if got else ''}. {known}"
                )
            said = {}
            if told.failed:
                said = {"failed": True, "x": told.row[:-1].tolist(), "t": float(told.row[-1])}
            self._take(run, untell(run, told, handle), "untell", **said)

    @step
    def with_parameters(self, **changes: Any) -> Self:
        """Return an optimizer that continues with other parameters and the same observations.

        This optimizer is unchanged. The new one continues with its observations, pending queries,
        failures, counts, clock and random state. Parameters that are not named stay the same.

        Parameters
        ----------
        **changes : object
            Parameters of the constructor, or of a part: ``acquisition__xi=0.1``. ``maximize`` and
            ``time_unit`` cannot change, as they define the meaning of the observations. A run with
            a journal continues in the same file, which resumes with the new parameters: this
            optimizer can make no more steps. ``journal`` may be the path of a new file, or None for
            no journal.

        Returns
        -------
        optimizer
            Of the same class.

        Raises
        ------
        ValueError
            A parameter is invalid, or does not fit the observations (see Notes). In particular:
        DomainError
            Observations do not fit the domain, or no point satisfies the constraints. With
            ``safety``, all start points are outside of the domain.
        JournalError
            A new journal exists already, or the journal cannot be written.

        Notes
        -----
        Hyperparameters stay the same unless the surrogate changes, for instance with ``surrogate``,
        ``seasonal_periods`` or ``robust``: then this call searches them. A policy with other
        parameters loses its state. ``random_state`` starts another sequence.

        ``outcome_constraints`` may have other limits, and fewer outcomes; an outcome that was not
        measured with the observations is an error. New ``start_points`` are the next queries.
        ``max_step`` counts from the latest query. ``history`` cannot restore observations.

        A ``domain`` must be of the same kind as before, with the same number of dimensions and the
        same contexts, whose ranges may differ. Bounds may be wider or narrower; arms, members and
        categories may be added and withdrawn. Parameters keep their names and kinds, and the values
        of an ordinal their order. A withdrawn category may occur in observations, but not in
        queries: see the third item of a parameter in `~sktvbo.domain.ParameterSpace`.

        Observations outside of a new domain remain in the data set, and may be untold; queries and
        recommendations lie inside. A pending query outside counts as expired: it may be answered,
        and later queries do not keep away from it. Start points outside are dropped. ``max_step``
        is a fraction of the new ranges, and a run that is outside continues from the nearest point.
        Answers of an expert are dropped if the scale of the inputs changes.

        Lengthscales keep their meaning in the user's unit, on a logarithmic scale for "log-real". A
        lengthscale that several parameters share is multiplied by the geometric mean of their
        factors; the factor of a category is 1. In other kernels this holds for all lengthscales and
        periods, and in a custom surrogate for none. From the next search on, bounds of
        hyperparameters refer to the new unit box.

        Examples
        --------
        >>> from sktvbo import WDBO
        >>> opt = WDBO([(0.0, 4.0)], n_initial_points=5, random_state=0)
        >>> for t in range(20):
        ...     x = opt.ask(t)
        ...     opt.tell(x, -((x[0] - 5.0) ** 2))
        >>> wider = opt.with_parameters(domain=[(0.0, 8.0)], max_step=0.3)
        >>> for t in range(20, 30):
        ...     x = wider.ask(t)
        ...     wider.tell(x, -((x[0] - 5.0) ** 2))
        >>> wider.n_told_, bool(abs(wider.recommend(30)[0] - 5.0) < 0.2)
        (30, True)
        """
        with self._lock:
            run = self._resumed()
            source = self._new_run() if run is None else run
            new, change, n_started = changed(source, changes, has_begun=run is not None)
            fresh = new._new_run()
            if run is not None:
                new._run = after = continued(run, fresh, change, n_started, changes)
                if new.journal is not None and "journal" in changes:
                    new._run = new._recorder_of(fresh).record(fresh, after, "copy", {})
                elif new.journal is not None:
                    said = change_event(change, kept_outcomes(run, fresh), changes)
                    self._hand_over(run, new, after, said)
        return new

    def set_params(self, **params: Any) -> Self:
        """Set parameters of an optimizer whose run has not begun.

        Parameters
        ----------
        **params : object
            Parameters of the constructor, or of a part: ``acquisition__xi=0.1``.

        Returns
        -------
        optimizer
            This one.

        Raises
        ------
        AskTellError
            The run has begun, and a value differs: see `with_parameters`.
        ValueError
            There is no such parameter.
        """
        # Without a domain it cannot resume a run: it is a template.
        if self.domain is not None and self._resumed() is not None:
            check_held(self, params)
        return super().set_params(**params)

    # --- tables and attributes --------------------------------------------------------------------

    def now(self) -> float:
        """Read the clock: the time that ``ask()`` without a time would use.

        Returns
        -------
        t : float
            In the user's unit.
        """
        return self._run_or_new().read_time(None)[0]

    def to_frame(self) -> pd.DataFrame:
        """Return queries and observations as a data frame.

        Returns
        -------
        frame : pandas.DataFrame
            A row for each of the latest ``history`` observations, then for each failed measurement
            in ``failed_X_`` and each pending query, oldest first. Columns are the parameters by
            name (x0, x1, ... without names) and

            - ``time``, as dates where dates were given, and ``y``, NaN for failed and pending rows;
            - ``predicted_mean``, ``predicted_std``: prediction of y before it was told, in units of
              y, with the noise and ``y_variance``. NaN where there was no model, and for several
              observations in one `tell_many`;
            - ``residual``: ``(y - predicted_mean) / predicted_std``, standard normal if the model
              is right;
            - ``outlier_weight``: weight in the surrogate, or the last one before removal; 1 is full
              weight, 0 is ignored. NaN without ``robust``;
            - ``removed_at``: time of removal from the data set; NaN before;
            - ``failed`` and ``pending``: bool;
            - ``query``: id of the query, or <NA> if it was not asked for;
            - each outcome by its name, NaN where it was not measured.

            A column gets a trailing underscore if a parameter has its name. To tell its
            observations and failures to another optimizer: ``told = frame[~frame.pending]``, then
            ``tell_many(told, told.y, told.time, outcomes=told, failed=told.failed)``.

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
        >>> query = opt.announce({"rate": 0.01, "loss": "l1"}, t=3.0)
        >>> print(opt.to_frame().dropna(axis=1, how="all").to_string())
           rate loss  time    y  failed  pending query
        0  0.10   l2   1.0  0.5   False    False  <NA>
        1  1.00   l2   2.0  NaN    True    False  <NA>
        2  0.01   l1   3.0  NaN   False     True     0
        """
        return frame_of(self._current())

    @property
    def X_(self) -> Array:
        run = self._current()
        return run.data.rows.reshape(-1, run.domain.n_dims + 1).copy()

    @property
    def y_(self) -> Array:
        return self._current().data.y.copy()

    @property
    def told_X_(self) -> Array:
        run = self._current()
        return run.rows(run.shown)

    @property
    def told_y_(self) -> Array:
        return np.array([entry.y for entry in self._current().shown], dtype=np.float64)

    @property
    def removed_at_(self) -> Array:
        return removed_at(self._current())

    @property
    def history_(self) -> dict[str, Array]:
        rows = [
            {"time": entry.now, "n": entry.n, **entry.record} for entry in self._current().shown
        ]
        names = dict.fromkeys(name for row in rows for name in row)
        return {name: np.array([row.get(name) for row in rows], dtype=np.float64) for name in names}

    @property
    def pending_(self) -> list[Query]:
        run = self._current()
        return handles(run.domain, run.pending_now)

    @property
    def pending_X_(self) -> Array:
        return pending_rows(self._current())

    @property
    def surrogate_(self) -> Surrogate | None:
        return as_estimator(self._current().surrogate)

    @property
    def belief_(self) -> Surrogate | None:
        return as_estimator(self._current().query_surrogate)

    @property
    def policy_(self) -> Any:
        return copy.deepcopy(self._current().policy)

    @property
    def n_told_(self) -> int:
        return self._current().history.n_told

    @property
    def n_removed_(self) -> int:
        run = self._current()
        return run.history.n_told - len(run.data)

    @property
    def n_failed_(self) -> int:
        return self._current().failures.total

    @property
    def failed_X_(self) -> Array:
        return self._current().failures.rows.copy()

    @property
    def next_time_(self) -> float | None:
        return self._current().time.next

    def _repr_html_(self):
        """Return the parameters and the state of the run as HTML."""
        return representation(self)

    def _repr_mimebundle_(self, **kwargs):
        """Return the representations that a notebook chooses from."""
        return {"text/plain": repr(self), "text/html": self._repr_html_()}
