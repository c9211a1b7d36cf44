"""What all optimizers share: parameters, hooks, the ask/tell contract, and what they show."""

from __future__ import annotations

import copy
import json
import re
import warnings
from contextlib import suppress
from dataclasses import field, replace
from itertools import repeat
from pathlib import Path
from typing import TYPE_CHECKING, overload

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils import check_random_state

from .._tables import is_one, rows_of
from .._validation import (
    LARGEST_Y,
    check_bool,
    check_int,
    check_real,
    check_variances,
    finite_number,
    invalid,
    plain_number,
)
from .._values import replaced
from ..acquisition import UCB, as_acquisition
from ..domain import as_domain
from ..domain._constrained import constrained
from ..exceptions import (
    AmbiguousQueryWarning,
    AskTellError,
    DomainError,
    InvalidObservationError,
    JournalError,
    MissingExtraError,
    NotBegunError,
    VersionWarning,
)
from ..gaussian_process._dates import NUMBERS, ZONED, check_time_unit, dates_of, number_of_duration
from ..journal import Journal
from ..journal._encoding import types_within
from ..journal._file import FORMAT, JournalFile
from ..staleness import KeepAll, MaximumSize, as_policy
from ._clock import make_clock
from ._default_models import smooth_surrogate, static_surrogate
from ._failures import has_failed, with_failures
from ._lock import StepLock
from ._observe import addressed, observe, observe_failure, observe_many, with_known_context
from ._parameters import algorithm
from ._serialization import (
    Recorder,
    checksum,
    explained_state,
    of_header,
    of_plain,
    parameters_as_plain,
    qualified,
    read,
    restored,
    to_plain,
    version,
)
from ._state import (
    History,
    Log,
    PendingQueries,
    Query,
    RunConfig,
    RunState,
    handles,
    n_stored,
    too_few,
)
from ._step_limiter import StepLimiter
from ._suggest import announce, in_context, recommend, suggest
from ._undo import cancel, position_of, untell

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import timedelta
    from typing import Any, Literal, Self

    import pandas as pd
    from numpy.typing import ArrayLike

    from .._typing import (
        Array,
        ContextLike,
        ContextsLike,
        Model,
        PathLike,
        Point,
        PointLike,
        PointsLike,
        RandomState,
        Time,
        TimeSource,
    )
    from ..acquisition import Acquisition
    from ..domain import StepLimit
    from ..domain._convert import DomainLike
    from ..domain._rules import Constraint
    from ..journal import Journal
    from ..staleness import StaleDataPolicy, Surrogate


@algorithm
class BayesianOptimizer(BaseEstimator):
    """Optimizer of a function that changes with time, composed of three parts.

    A surrogate is conditioned on the observations, an acquisition function says where to query
    next, a stale-data policy what to forget. The named algorithms of this package are such
    compositions; this class takes any other.

    Parameters
    ----------
    domain : Box, FiniteSet, list of (low, high) pairs, scipy.optimize.Bounds, or dict
        Where queries may lie. A dict names parameters, and queries are dicts then: see
        `~sktvbo.domain.ParameterSpace`. With variables that are measured and not chosen, a dict
        with some `~sktvbo.domain.Context` or a `~sktvbo.domain.WithContext`.
    surrogate : TimeVaryingGPRegressor, default=None
        Sees the domain scaled to the unit box, and time in the user's unit, as last column. None is
        a ``Matern(nu=2.5)`` in space and in time, with a mean that is learnt, and, without
        constraints, a `~sktvbo.gaussian_process.QuadraticMean` where that is likelier, on
        standardized observations. Custom regressors: see `~sktvbo.staleness.Surrogate`.
    acquisition : callable or str, default=None
        As in `sktvbo.acquisition`, or by name: "ucb", "ei", "pi", "ts", "mean". None is
        ``UCB("growing", margin=0.2)``.
    policy : stale-data policy or str, default=None
        As in `sktvbo.staleness`, or by name, such as "sliding-window": see
        `~sktvbo.staleness.as_policy`. None is ``KeepAll()``.
    n_initial_points : int, default=15
        Queries drawn uniformly before the surrogate is fitted. When a policy has left fewer
        observations, or fewer than 10, hyperparameters and the scale of y are found with the latest
        of the forgotten ones besides: what kind of function it is survives.
    refit_every : int, "auto" or None, default="auto"
        Hyperparameters are searched at every ``refit_every``-th observation, from the present ones;
        at the others the observation is added with the hyperparameters held, O(n²). "auto" searches
        when the gradient of the likelihood promises that a search gains more than 0.1 nats, when
        the data set has grown by a tenth, or fallen to half, since the last one, and when ten times
        as many observations have come since. None holds those that the first surrogate has learnt.
    maximize : bool, default=True
        False to minimize.
    clock : "wall", "calendar", "step" or callable, default="wall"
        Time when ``ask`` is given none: seconds since the first call, the number of observations
        and failures told, or what the callable returns. Between a pickle and its use, or a journal
        and `resume`, "wall" stands still, and "calendar" goes on.
    constraints : LinearConstraint, NonlinearConstraint, callable, or a list of them, default=None
        What queries and recommendations must satisfy, see `~sktvbo.domain.Constrained`: those of
        `scipy.optimize`, and callables of x, a dict for named parameters, that return True, or a
        number that is 0 or more, where x may be queried. What is told need not satisfy them.
    random_state : int, RandomState or None, default=None
    history : int, default=None
        Of how many of the observations told, the latest, the attributes below are to tell, whether
        they are in the data set or not. None is all, and memory grows then with the run; 0 is none.
        What the optimizer does is the same, but that a policy which asks for more of the latest
        observations than that (and than 256), and the expert's places of `SparQGPUCB`, have no more
        to choose from. The data set stays whole: of an algorithm that forgets nothing memory grows
        by it.
    journal : path-like or `~sktvbo.journal.Journal`, default=None
        File in which every step is written before the call returns; see `resume`.
    max_step : float, sequence of float of shape (d,), dict or StepLimit, default=None
        How far a query may be from the one before, as a part of each range: see
        `~sktvbo.domain.StepLimit`, which also limits what is moved per unit of time. All queries
        are, once there is a first. None is no limit.
    start_points : array-like of shape (k, d), or a list of dicts, default=None
        Settings to be asked first, such as those known to be good. They take the place of random
        queries: the surrogate is there once as many observations were told, or
        ``n_initial_points`` if these are fewer. With ``max_step`` queries approach each of them by
        one step at a time, and leave out a point that no step brings nearer.
    max_size : int, default=None
        Largest data set, from when there is a surrogate. What the policy leaves beyond it is
        removed, the least relevant observations, or the oldest where the relevancy is not known:
        see `~sktvbo.staleness.MaximumSize`. None is no limit.
    query_timeout : float or duration, default=None
        Age, in the user's unit of time, at which a query that was not told is no longer waited for:
        its worker may be gone. None is any age.
    time_unit : {"ns", "us", "ms", "s", "min", "h", "D", "W"}, default="s"
        Unit of time of dates: wherever a time is given it may be a ``date``, a ``datetime``, a
        ``numpy.datetime64`` or a ``pandas.Timestamp``, or a column of them, which is the time since
        1970. Dates without a time zone are taken as if in UTC, also where local time jumps. The
        times of a run are all numbers, all dates with a time zone, or all dates without one.

    Attributes
    ----------
    X_ : ndarray of shape (n, d + 1)
        Data set: queries and times, in the user's units; a context stands between them, and counts
        among the d.
    y_ : ndarray of shape (n,)
        Data set: observations, as told.
    surrogate_ : estimator or None
        None before there are ``n_initial_points`` observations.
    belief_ : estimator or None
        What the next query is made with: ``surrogate_``, or with an expert's answers besides.
    policy_ : stale-data policy
    n_told_, n_removed_ : int
        Observations told; observations removed from the data set. Of the whole run, always.
    told_X_ : ndarray of shape (m, d + 1)
        All queries and times told, or the latest m = ``history`` of them.
    told_y_ : ndarray of shape (m,)
        Their observations.
    removed_at_ : ndarray of shape (m,)
        Time at which each of these was removed; NaN while it is in the data set.
    n_failed_ : int
        Queries that failed.
    failed_X_ : ndarray of shape (f, d + 1)
        Those of them that are remembered, the latest, and their times.
    next_time_ : float or None
        Time of the latest query asked for.
    pending_ : list of Query
        Queries that were asked for and not told yet, oldest first, with ``id``, ``x`` and ``t``:
        after `resume`, those whose answers are still to come.
    pending_X_ : ndarray of shape (p, d + 1)
        Their places and times.
    history_ : dict of str to ndarray of shape (m,)
        After each of these ``tell``: the present time, the size n of the data set, and what the
        policy records (resets, budget, window...).
    label : str or None
        The algorithm's name in the literature, of the class.

    Notes
    -----
    A run begins with the first ``ask`` or ``tell`` that succeeds, which checks all parameters, and
    those of the parts. Before, an attribute with a trailing underscore raises a
    `~sklearn.exceptions.NotFittedError`. A run goes on with the parameters that it began with, and
    its parts with theirs: ``set_params`` later on is for the next run, which a
    `~sklearn.base.clone` of the optimizer begins.

    Examples
    --------
    >>> from sktvbo.acquisition import UCB
    >>> from sktvbo.optimizers import BayesianOptimizer
    >>> from sktvbo.staleness import RelevancyBudget
    >>> opt = BayesianOptimizer(
    ...     [(0.0, 10.0)], acquisition=UCB(beta=2.0), policy=RelevancyBudget(alpha=0.5),
    ...     n_initial_points=5, random_state=0,
    ... )
    >>> for t in range(25):
    ...     x = opt.ask(t)
    ...     opt.tell(x, -(x[0] - 5.0 - 0.02 * t) ** 2)
    >>> bool(abs(opt.recommend(25)[0] - 5.5) < 0.2)
    True
    """

    domain: DomainLike | None = field(default=None, kw_only=False)
    surrogate: Model | None = None
    acquisition: Acquisition | str | None = None
    policy: StaleDataPolicy | str | None = None
    n_initial_points: int = 15
    refit_every: int | str | None = "auto"
    maximize: bool = True
    clock: TimeSource = "wall"
    constraints: Constraint | Sequence[Constraint] | None = None
    random_state: RandomState = None
    history: int | None = None
    journal: PathLike | Journal | None = None
    max_step: ArrayLike | Mapping[str, float] | StepLimit | None = None
    start_points: PointsLike | None = None
    max_size: int | None = None
    query_timeout: float | timedelta | np.timedelta64 | str | None = None
    time_unit: str = "s"

    # --- what an algorithm may override: five hooks -----------------------------------------------
    #
    # They are called on a copy of the optimizer, as it was when the run began, and may read its
    # parameters. They change nothing.

    def _make_surrogate(self, times):
        """Unfitted surrogate, when the user gives none.

        Called when the surrogate is first fitted, and at every later search of the hyperparameters:
        of that surrogate the temporal kernel alone is used, since its bounds may follow the data.

        Parameters
        ----------
        times : Times
            ``kept`` (n,), of the data set that is learnt from; ``recent`` (m,), of the latest
            observations told; ``pending``, of queries not told yet; the domain's ``n_unit``, and
            whether it ``has_context`` and ``is_constrained``.
        """
        return smooth_surrogate(times)

    def _make_acquisition(self):
        """Acquisition function, when the user gives none; called once, when the run begins.

        The default is a bound that keeps from the faces of a box, where less is to be learnt.
        """
        return UCB(self._make_beta(), margin=0.2)

    def _make_beta(self):
        """β of the default acquisition function, as `UCB` has it.

        It explores little while there are few observations: what changes smoothly becomes
        uncertain by itself.
        """
        return "growing"

    def _make_policy(self):
        """Stale-data policy without a history; called once, when the run begins."""
        return KeepAll() if self.policy is None else as_policy(self.policy, self)

    def _latest_query_time(self, t, surrogate, policy):
        """Until when a query may wait; t for at once.

        Called in ``ask`` for each query that is made with a surrogate.

        Parameters
        ----------
        t : float
            Present time.
        surrogate : Surrogate
            Fitted, as it is at time t, pending queries included.
        policy : stale-data policy
            As the latest observation has left it.
        """
        return t

    def _check_parameters(self):
        """Raise a ValueError for a parameter that makes no sense; called when a run begins."""
        if self.domain is None:
            raise invalid(
                "domain",
                "a Box, a FiniteSet, a list of (low, high) pairs or a dict of parameters",
                None,
                self,
                error=DomainError,
            )
        check_int(self.n_initial_points, "n_initial_points", self)
        if self.refit_every is not None and self.refit_every != "auto":
            check_int(self.refit_every, "refit_every", self, advice="'auto' will do as well.")
        if self.history is not None:
            check_int(self.history, "history", self, low=0)
        default = type(self).max_size
        if not (isinstance(self.max_size, type(default)) and self.max_size == default):
            check_int(self.max_size, "max_size", self)
        check_bool(self.maximize, "maximize", self)
        check_time_unit(self.time_unit, self)
        if self.surrogate is not None:
            self._check_unused(self._surrogate_parameters, "with surrogate=...")
        if self.acquisition is not None:
            self._check_unused(self._acquisition_parameters, "with acquisition=...")
        if self.query_timeout is not None:
            timeout = number_of_duration(self.query_timeout, self.time_unit)
            check_real(timeout, "query_timeout", self, interval="(0, inf)")

    def _check_unused(self, names, when):
        """Raise a ValueError for parameters that have no effect and were given all the same."""
        for name in names:
            value, default = getattr(self, name), getattr(type(self), name)
            if not (isinstance(value, type(default)) and value == default):
                expected = f"left at its default {default!r} {when}, where it has no effect"
                raise invalid(name, expected, value, self)

    def _n_initial(self, n_started):
        """How many observations there are before the surrogate, of which so many are given."""
        return min(self.n_initial_points, n_started or self.n_initial_points)

    # --- what an algorithm may set ----------------------------------------------------------------

    # Tables and pictures show this name; None is that of the class.
    label = None

    # Parameters of the default surrogate, and of the default acquisition function: they have no
    # effect when the user gives that part.
    _surrogate_parameters = _acquisition_parameters = ()

    # Where this is True, an observation from before all others makes a search of hyperparameters,
    # whatever refit_every says: the temporal kernel of _make_surrogate knows of no earlier time.
    _searches_for_the_past = False

    # --- the contract -----------------------------------------------------------------------------

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
            t, run = before.read_present_time(t)
            after, found = suggest(run, t, size, context, may_wait=may_wait)
            first = after.pending.n_total - size
            queries = [Query(first + i, x, time, t) for i, (x, time) in enumerate(found)]
            queries = handles(run.domain, queries)
            self._take(before, after, "ask")
        return queries

    def tell(
        self,
        x: PointLike | Query,
        y: float | None = None,
        t: Time | None = None,
        *,
        context: ContextLike = None,
        y_variance: float | None = None,
        failed: bool = False,
    ) -> None:
        """Add an observation, search the hyperparameters, forget what is stale.

        Parameters
        ----------
        x : array-like of shape (d,), a dict for named parameters, a Series, or a Query
            A query, asked for or not. Of several pending ones at x, the one in that ``context`` is
            answered, and of these the one asked for last, at or before time t if it is given. A
            `Query` is answered itself. One that lost digits as a float32 finds the query that it
            was.
        y : float
            What was observed.
        t : float or date, default=None
            When; None is the time asked for. A late or a corrected time is welcome.
        context : array-like of shape (c,), or a dict for named variables, default=None
            What was measured beside; None is the context asked for.
        y_variance : float, default=None
            Variance of the noise of y as far as it is known, in units of y²; comes on top of what
            the surrogate learns. Such is the variance of a mean of scores, divided by their number.
        failed : bool, default=False
            True, without y: nothing could be measured. It is no observation, and moves neither
            surrogate nor policy; but where and when queries succeed is learnt, and heeded by
            those to come, the random ones included. Failures fade as time passes, as fast as they
            have been seen to. The latest 150 are remembered.

        Raises
        ------
        ValueError
            x outside of the domain, y or t not finite, a negative variance, wrong shapes. The
            optimizer is as before.
        AskTellError
            No t was given and x was not asked for; a `Query` that is not pending.

        Warns
        -----
        AmbiguousQueryWarning
            Several queries at x are pending, and neither t nor context tells them apart.
        """
        with self._lock():
            before = run = self._run_or_new()
            x = _place(run, x, context)
            if t is not None:
                t, run = run.read_time(t)
            if len(run.pending.queries) > 1 and not isinstance(x, Query) and run.is_ambiguous(x, t):
                _warn_ambiguous()
            if failed is not False and has_failed(y, failed):
                after = observe_failure(run, *addressed(run, x, t))
                row = after.failures.rows[-1].tolist()
                self._take(before, after, "fail", x=row[:-1], t=row[-1])
                return
            y, variance = finite_number(y, "y", InvalidObservationError, LARGEST_Y), 0.0
            if y_variance is not None:
                variance = check_real(y_variance, "y_variance", interval="[0, inf)")
            row, t, query = addressed(run, x, t)
            self._take(before, observe(run, row, y, t, variance, query), "tell")

    def announce(self, x: PointLike, t: Time | None = None, *, context: ContextLike = None) -> None:
        """Take notice of a query that was not asked for here: it is pending until it is told.

        Parameters
        ----------
        x : array-like of shape (d,), or a dict for named parameters
            A query that somebody else is making.
        t : float or date, default=None
            When; None reads the clock.
        context : array-like of shape (c,), or a dict for named variables, default=None
            What has been measured, on a domain with a context.

        Raises
        ------
        ValueError
            x outside of the domain, t not finite.
        """
        with self._lock():
            run = self._run_or_new()
            x = with_known_context(run.domain.place(x, context))
            t, timed = run.read_time(t)
            self._take(run, announce(timed, x, t), "announce")

    def cancel(self, x: PointLike | Query) -> None:
        """Withdraw a query that will not be told: others need not keep away from it any longer.

        Nor does its time count as having been: after a query that was asked for far too late, by
        mistake, this is the way back.

        Parameters
        ----------
        x : array-like of shape (d,), a dict for named parameters, or a Query
            A query that was asked for, or announced; of several at x the one asked for last.

        Raises
        ------
        AskTellError
            It was not asked for, or told already.

        Warns
        -----
        AmbiguousQueryWarning
            Several queries at x are pending.
        """
        with self._lock():
            run = self._run_or_new()
            x = _place(run, x)
            if not isinstance(x, Query) and run.is_ambiguous(x, None):
                _warn_ambiguous()
            self._take(run, cancel(run, x), "cancel")

    def tell_many(
        self,
        X: PointsLike | Sequence[Query],
        y: ArrayLike | None = None,
        t: Time | ArrayLike | None = None,
        *,
        context: ContextsLike = None,
        y_variance: ArrayLike | None = None,
        failed: ArrayLike = False,
    ) -> None:
        """Add many observations in one step, with one search of the hyperparameters.

        In the order of time, they are added one by one with the hyperparameters that all of them
        (of more than 1000 the latest) ask for; the policy sees each as if it was told by itself.

        Parameters
        ----------
        X : array-like of shape (n, d), a table, a list of dicts for named parameters, or of Query
            Queries, asked for or not; see `tell`. The columns of a data frame, or of a dict of
            columns, are found by name; those of `to_frame` may be among them. Equal ones without a
            time answer the latest pending queries there, in the order in which these were asked
            for.
        y : array-like of shape (n,)
            NaN or None for a measurement that failed; left out when all did.
        t : float, date, or array-like of shape (n,), default=None
            When; None is the times asked for.
        context : list of contexts, or one for all, default=None
            See `tell`.
        y_variance : float or array-like of shape (n,), default=None
            See `tell`.
        failed : bool or array-like of bool of shape (n,), default=False
            Measurements that failed, see `tell`.

        Raises
        ------
        ValueError
            As in `tell`. The optimizer is as before.
        AskTellError
            No t was given and something in X was not asked for; a query is told twice.

        Warns
        -----
        AmbiguousQueryWarning
            As in `tell`: other queries at the same x remain pending.
        """
        with self._lock():
            before = self._run_or_new()
            columns = _columns(before, X, y, t, y_variance, context, failed)
            run, places, y, t, variances = columns
            if not len(places):
                return
            observations, left = [None] * len(places), run
            for i in _matching_order(run, places, t):
                time = None if t is None else float(t[i])
                place = places[i]
                if isinstance(place, Query) and all(
                    query.id != place.id for query in left.pending.queries
                ):
                    left.query_of(place)  # an error: it was told above
                x, time, query = addressed(left, place, time)
                if query is not None:
                    left = replaced(left, pending=left.pending.without(query))
                observations[i] = x, y[i], time, float(variances[i]), query
            if _is_ambiguous(left, places, t, observations):
                _warn_ambiguous()
            found = sorted(observations, key=lambda observation: observation[2])
            after, entries = observe_many(run, found)
            self._take(before, after, "tell_many", entries=entries)

    def untell(
        self, x: PointLike | Query | None = None, t: Time | None = None, *, id: int | None = None
    ) -> None:
        """Take an observation back: a wrong value, or a wild time.

        It leaves the data set, the attributes and the counts, and what was removed when it was told
        is back, as far as it is remembered. The hyperparameters are held. When it is the latest
        one, the policy, too, is as it was before. The present time is the latest of those that are
        left. To correct a value, tell it again: ``tell(x, y, t)``.

        Parameters
        ----------
        x : array-like of shape (d,), a dict for named parameters, or a Query, default=None
            Where it was made, or the query that it answered; the latest if there are several. None
            is the latest of all.
        t : float or date, default=None
            When; None is any time.
        id : int, default=None
            Of the query that it answered; None is any.

        Raises
        ------
        AskTellError
            There is no such observation, or it is no longer remembered (see ``history``).
        """
        with self._lock():
            run = self._run_or_new()
            if isinstance(x, Query):
                x, t, id = x.x, t, x.id
            row = None if x is None else run.domain.as_row(x)
            time = None if t is None else run.read_time(t)[0]
            position = position_of(run, row, time, id)
            if position is None:
                wanted = {"x": x, "t": t, "id": id}
                got = ", ".join(f"{k}={v!r}" for k, v in wanted.items() if v is not None)
                raise invalid(
                    "What is taken back",
                    f"one of the {len(run.history.positions)} observations that are remembered",
                    got=got or "none at all",
                    error=AskTellError,
                )
            self._take(run, untell(run, position), "untell")

    # --- predictions and tables -------------------------------------------------------------------

    def now(self) -> float:
        """Read the clock: the time that ``ask()`` without one would take.

        Returns
        -------
        t : float
            In the user's unit.
        """
        return self._run_or_new().read_time(None)[0]

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
        rows = _rows_in_context(run.domain, X, context, one)
        times = run.read_times(t, len(rows))[0]
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
        t = run.read_time(t)[0]
        context = run.domain.contexts(context, 1)[0]
        _check_belief(run, "recommend()")
        return run.domain.decode(recommend(in_context(run, context), t))

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
        shown, failed, pending = run.shown, self.failed_X_, run.pending_now
        rows = np.concatenate([run.rows(shown), failed, self.pending_X_])
        kind = np.repeat([0, 1, 2], [len(shown), len(failed), len(pending)])
        columns = run.domain.described(rows[:, :-1])
        unknown = np.full(len(rows) - len(shown), np.nan)
        queries = [entry.query for entry in shown] + [None] * len(failed)

        def dated(times):
            if run.time.kind in (None, NUMBERS):
                return times
            dates = pd.Series(dates_of(times, run.algorithm.time_unit))
            return dates.dt.tz_localize("UTC") if run.time.kind == ZONED else dates

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

    # --- attributes -------------------------------------------------------------------------------

    @property
    def X_(self) -> Array:
        run = self._begun()
        return run.data.rows.reshape(-1, run.domain.n_dims + 1).copy()

    @property
    def y_(self) -> Array:
        return self._begun().data.y.copy()

    @property
    def told_X_(self) -> Array:
        run = self._begun()
        return run.rows(run.shown)

    @property
    def told_y_(self) -> Array:
        return np.array([entry.y for entry in self._begun().shown], dtype=np.float64)

    @property
    def removed_at_(self) -> Array:
        run = self._begun()
        shown = run.shown
        stored = run.history.positions
        positions = np.array(stored, dtype=np.intp)[len(stored) - len(shown) :]
        removed_at = np.full(len(shown), np.nan)
        for entry in shown:
            removed_at[np.isin(positions, entry.removed)] = entry.now
        removed_at[np.isin(positions, run.data.positions)] = np.nan  # it has come back
        return removed_at

    @property
    def history_(self) -> dict[str, Array]:
        rows = [{"time": entry.now, "n": entry.n, **entry.record} for entry in self._begun().shown]
        names = dict.fromkeys(name for row in rows for name in row)
        return {name: np.array([row.get(name) for row in rows], dtype=np.float64) for name in names}

    @property
    def pending_(self) -> list[Query]:
        run = self._begun()
        return handles(run.domain, run.pending_now)

    @property
    def pending_X_(self) -> Array:
        run = self._begun()
        rows = [np.append(query.x, query.t) for query in run.pending_now]
        return np.array(rows).reshape(-1, run.domain.n_dims + 1)

    @property
    def surrogate_(self) -> Surrogate | None:
        return self._begun().surrogate

    @property
    def belief_(self) -> Surrogate | None:
        return self._begun().model

    @property
    def policy_(self) -> StaleDataPolicy:
        return self._begun().policy

    @property
    def n_told_(self) -> int:
        return self._begun().history.n_told

    @property
    def n_removed_(self) -> int:
        run = self._begun()
        return run.history.n_told - len(run.data)

    @property
    def n_failed_(self) -> int:
        return self._begun().n_failed

    @property
    def failed_X_(self) -> Array:
        run = self._begun()
        if run.failures is None:
            return np.empty((0, run.domain.n_dims + 1))
        return run.failures.rows.copy()

    @property
    def next_time_(self) -> float | None:
        return self._begun().time.next

    # --- journals, JSON and pickles ---------------------------------------------------------------

    def __getstate__(self):
        state = dict(super().__getstate__())
        state.pop("_lock", None)
        state.pop("_recorder", None)
        return state | {"_version": version("sktvbo")}

    def __setstate__(self, state):
        state, mine = dict(state), version("sktvbo")
        made_by = state.pop("_version", "an unknown version")
        if made_by != mine:
            warnings.warn(
                f"This {type(self).__name__} was pickled by sktvbo {made_by}, and is read by "
                f"{mine}: it may go on otherwise, or fail. A journal, or to_json(), says when it "
                "cannot be read.",
                VersionWarning,
                stacklevel=2,
            )
        super().__setstate__(state)
        self._lock = StepLock()

    @classmethod
    def resume(cls, journal: PathLike | Journal, **parameters: Any) -> Self:
        """Go on with a run where its journal ends.

        Parameters
        ----------
        journal : path-like or `~sktvbo.journal.Journal`
        **parameters
            Those that plain data cannot hold, such as functions and objects of one's own classes:
            the error names them. Others may be given too, if they are as they were.

        Returns
        -------
        optimizer
            As it was after the last call that returned, random state included: it goes on as if
            nothing had happened. Hyperparameters are not searched again.

        Raises
        ------
        JournalError
            The journal does not exist, is in use, damaged, not complete, another algorithm's, or
            lacks a parameter; says what to do.

        Notes
        -----
        A clock ``"wall"`` stands still while there is no process; ``"calendar"`` goes on.

        Examples
        --------
        >>> import os, tempfile
        >>> from sktvbo import WDBO
        >>> path = os.path.join(tempfile.mkdtemp(), "run.db")
        >>> opt = WDBO([(0.0, 1.0)], n_initial_points=3, random_state=0, journal=path)
        >>> for t in range(5):
        ...     opt.tell(opt.ask(t), 0.1 * t)
        >>> opt.close()                                   # or the process ends, in any way
        >>> WDBO.resume(path).n_told_
        5
        """
        where = Journal.of(journal)
        if not Path(where.path).is_file():
            advice = f"Begin a run with {cls.__name__}(..., journal=path)."
            raise JournalError(f"The journal {where.path} does not exist. {advice}")
        file = JournalFile(where)
        try:
            header = file.header()
            new = of_header(cls, header, parameters | {"journal": journal}, where.path)
            run = new._new_run()
            with explained_state(where.path):
                stored = read(file, run.history.log.limit)
            new._restore(run, stored, where.path)
            new._recorder = Recorder(file, new._run, header, written=True)
        except BaseException:
            file.close()
            raise
        return new

    def close(self) -> None:
        """Let the journal go, so that another optimizer may `resume` it; the next step reopens it.

        Its file is complete then, and may be copied alone. Without a journal this does nothing.

        Raises
        ------
        JournalError
            The file was deleted, renamed or replaced, or cannot be written.
        """
        with self._lock():
            recorder = vars(self).pop("_recorder", None)
            if recorder is not None:
                recorder.close()

    def to_json(self) -> str:
        """All of the optimizer as JSON: parameters, and the state of the run if it has begun.

        Returns
        -------
        text : str
            Of plain data, with version, format and a checksum; for `from_json`.

        Raises
        ------
        JournalError
            A part holds what plain data cannot.
        """
        run = vars(self).get("_run")
        source = self if run is None else run.algorithm
        state = None if run is None else to_plain(run)
        content = source._header() | {"state": state}
        return json.dumps(content | {"sha256": checksum(content)}, allow_nan=False)

    @classmethod
    def from_json(cls, text: str, **parameters: Any) -> Self:
        """The optimizer of `to_json`, without a journal; it goes on as the other would.

        Parameters
        ----------
        text : str
        **parameters
            As in `resume`.

        Raises
        ------
        JournalError
            The text is another's, has been changed, or lacks a parameter.
        """
        try:
            content = json.loads(text)
            header = {name: content[name] for name in ("format", "optimizer", "parameters")}
            state, digest = content["state"], content.pop("sha256")
        except (ValueError, KeyError, TypeError, RecursionError) as exc:
            found = f"{type(exc).__name__}: {exc}"
            raise JournalError(f"The text must be that of to_json(). Got {found} instead.") from exc
        if header["format"] == FORMAT and digest != checksum(content):
            raise JournalError(
                "The text must be that of to_json(), as it was written. Got one whose checksum is "
                "another instead: something in it has changed. Restore a copy."
            )
        new = of_header(cls, header, parameters, "JSON")
        if state is not None:
            run = new._new_run()
            with explained_state("JSON"):
                stored = of_plain(state)
            new._restore(run, stored, "JSON")
        return new

    def _header(self):
        """What a journal begins with."""
        return {
            "format": FORMAT,
            "version": version("sktvbo"),
            "optimizer": qualified(type(self)),
            "parameters": parameters_as_plain(self),
        }

    def _restore(self, run, stored, source):
        with explained_state(source):
            self._run = restored(run, stored, types_within(*self.get_params(deep=False).values()))

    def _recorder_of(self, run):
        """What writes the run's journal, opened if need be."""
        recorder = vars(self).get("_recorder")
        if recorder is None or not recorder.is_open:
            begun = run.place.number > 0
            file = JournalFile(Journal.of(run.algorithm.journal), begun)
            header = None if run.place.number else run.algorithm._header()
            recorder = self._recorder = Recorder(file, run, header)
        return recorder

    # --- the run ----------------------------------------------------------------------------------

    def __post_init__(self):
        self._lock = StepLock()

    def _begun(self):
        """State of the run, for those who only look."""
        if "_run" not in vars(self):
            raise NotBegunError(
                f"This {type(self).__name__} has not begun a run yet. Call ask() or tell() first."
            )
        return self._run

    def _run_or_new(self):
        """State of the run, or of a new one; a step takes the next one over when it succeeds."""
        return self._run if "_run" in vars(self) else self._new_run()

    def _new_run(self):
        self._check_parameters()
        algorithm = copy.copy(self)
        for name, value in self.get_params(deep=False).items():
            if hasattr(value, "get_params") and not isinstance(value, type):
                setattr(algorithm, name, clone(value))
            else:
                setattr(algorithm, name, plain_number(value))
        acquisition, policy = algorithm.acquisition, algorithm._make_policy()
        if acquisition is None:
            acquisition = algorithm._make_acquisition()
        check_parts(self, algorithm.surrogate, policy)
        size_limit = None
        if self.max_size not in (None, policy.max_size):
            size_limit = MaximumSize(self.max_size)
        domain = constrained(as_domain(self.domain), self.constraints, self)
        start = np.empty((0, domain.n_dims))
        if self.start_points is not None:
            try:
                start = domain.places(self.start_points)
            except (DomainError, InvalidObservationError) as exc:
                # They are what the message calls X.
                raise type(exc)(f"start_points{str(exc).removeprefix('X')}") from exc
            allowed = domain.allowed(domain.to_unit(start))
            if not allowed.all():
                got = str(start[np.argmin(allowed)].tolist())
                expected = "points that satisfy the constraints"
                raise invalid("start_points", expected, owner=self, got=got, error=DomainError)
        timeout = number_of_duration(self.query_timeout, self.time_unit)
        config = RunConfig(
            algorithm=algorithm,
            domain=domain,
            acquisition=as_acquisition(acquisition, self),
            n_initial=self._n_initial(len(start)),
            start_points=start,
            size_limit=size_limit,
        )
        return RunState(
            config=config,
            clock=make_clock(self.clock, self),
            policy=policy,
            # A copy of NumPy's global generator would be every optimizer's.
            rng=np.random.RandomState()
            if self.random_state is None
            else copy.deepcopy(check_random_state(self.random_state)),
            pending=PendingQueries(timeout=np.inf if timeout is None else float(timeout)),
            history=History(Log(limit=n_stored(algorithm.history))),
            limiter=StepLimiter.of(algorithm, domain),
        )

    def _take(self, run, after, kind, **said):
        """Take the next state over from the present one: the one place where a run changes.

        ``kind`` and what was ``said`` tell the journal of the step, which writes it first.
        """
        if vars(self).get("_run", run) is not run:
            raise AskTellError(
                f"A step of this {type(self).__name__} was made within another step, by one of "
                "its own parts. A clock, kernel, acquisition function or policy may look at the "
                "optimizer, and must not ask() or tell() it."
            )
        if run.algorithm.journal is not None:
            after = self._recorder_of(run).record(run, after, kind, said)
        self._run = after


def check_parts(owner, surrogate, policy):
    """Raise unless an optimizer's surrogate, None for its own, and policy can work together."""
    if surrogate is not None:
        if not hasattr(surrogate, "fit") or isinstance(surrogate, type):
            expected = "None or an estimator, see sktvbo.staleness.Surrogate"
            raise invalid("surrogate", expected, surrogate, owner)
        if hasattr(surrogate, "check"):
            surrogate.check()
    policy.check(surrogate)


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
        surrogate = run.model.at(time)
        mean[here], std[here] = surrogate.posterior_at(time)(places[here])
    if include_noise:
        std = np.hypot(std, run.model.noise_std_)
    return run.sign * mean, std


def begun(optimizer, n_started=0):
    """Return a copy of an optimizer that begins a run, whose start points are asked elsewhere."""
    run = optimizer._new_run()
    config = replaced(run.config, n_initial=optimizer._n_initial(n_started))
    return with_run(optimizer, replaced(run, config=config))


def run_of(optimizer):
    """The state of an optimizer's run."""
    return optimizer._run


def with_run(optimizer, run):
    """A copy of an optimizer that goes on from another state of its run."""
    other = copy.copy(optimizer)
    other._run = run
    return other


def _place(run, x, context=None):
    """What users give for x: a row (d,) of the domain, or a pending query."""
    if isinstance(x, Query):
        query = run.query_of(x)
        if context is None:
            return query
        return replace(query, x=run.domain.place(x.x, context))
    try:
        return run.domain.place(x, context)
    except DomainError as exc:
        return run.domain.place(_point_near(run, x, exc), context)


def _point_near(run, x, error):
    """Return the chosen part (k,) of the pending query that x was before rounding to float32.

    x is outside of the domain. Without such a query, raise the domain's error.
    """
    try:
        row = run.domain.as_row(x)
    except DomainError:  # an unknown category has no number
        raise error from None
    found = run.pending_near(row)
    if not found:
        raise error
    return found[0].x[: run.domain.n_chosen]


def _rows_in_context(domain, X, context, one):
    """Return rows (m, d) of places as users give them, one or several, with their contexts."""
    rows = domain.place(X, context)[np.newaxis] if one else domain.places(X, context)
    if np.isnan(rows).any():
        domain.contexts(None, len(rows))  # an error: it must be given
    return rows


def _warn_ambiguous():
    """Warn the caller of an optimizer's method that x may be the answer to another query."""
    warnings.warn(
        "Several queries at this x are pending, which were asked for at different times or in "
        "different contexts. The one asked for last is taken. To choose, give the time (t=) or the "
        "context (context=) of the query, or its handle, which suggest() returns. Withdraw those "
        "whose results are lost by cancel(query), or set query_timeout.",
        AmbiguousQueryWarning,
        stacklevel=3,
    )


def _matching_order(run, places, t):
    """Indices in which many observations choose their pending queries.

    Handles come first, then times at which a query was asked for, then the latest time and row:
    each row takes the latest query that is left.
    """
    asked = {query.t for query in run.pending_now}

    def priority(i):
        known = (False, 0.0) if t is None else (t[i] in asked, t[i])
        return isinstance(places[i], Query), *known, i

    return sorted(range(len(places)), key=priority, reverse=True)


def _is_ambiguous(left, places, t, observations):
    """Return True if a query that many observations have left pending matches one of them."""
    pending = left.pending
    if not pending.queries:
        return False
    for i, (place, (*_, query)) in enumerate(zip(places, observations)):
        if query is not None and not isinstance(place, Query):
            with_it = replaced(pending, queries=(*pending.queries, query))
            if replaced(left, pending=with_it).is_ambiguous(
                place, None if t is None else float(t[i])
            ):
                return True
    return False


def _place_in(run, x, i, context):
    """What users give for row i of X, as of `_place`."""
    try:
        return _place(run, x, context)
    except (DomainError, InvalidObservationError) as exc:
        # It is what the message calls x, or x['rate'].
        message = re.sub(r"^x(\[)?", lambda m: f"X[{i}{', ' if m[1] else ']'}", str(exc))
        raise type(exc)(message) from exc


def _columns(run, X, y, t, y_variance, context, failed):
    """Return the run, places, and columns (n,): y None of a failure, t, and variances.

    t is None where no time was given.
    """
    handles = isinstance(X, list | tuple) and any(isinstance(x, Query) for x in X)
    places = None
    if not handles and np.size(X) == 0:
        places = []
    elif not handles:
        with suppress(DomainError):
            places = list(run.domain.places(X, context))
    if places is None:
        X = rows_of(X)
        contexts = repeat(None) if context is None else run.domain.contexts(context, len(X))
        places = [_place_in(run, x, i, of_x) for i, (x, of_x) in enumerate(zip(X, contexts))]
    n = len(places)
    y = with_failures(y, failed, n)
    if t is not None:
        t, run = run.read_times(t, n)
    variances = np.zeros(n)
    if y_variance is not None:
        variances = check_variances(y_variance, n, "y_variance", zero=True)
    return run, places, y, t, variances


@algorithm
class Algorithm(BayesianOptimizer):
    """Base of the named algorithms: the policy is the algorithm's own, and no parameter."""

    policy: StaleDataPolicy | str | None = field(default=None, init=False)


@algorithm
class StaticAlgorithm(Algorithm):
    """Base of the algorithms whose model is a function that does not change."""

    def _make_surrogate(self, times):
        return static_surrogate()

    def _make_beta(self):
        return "dimension"
