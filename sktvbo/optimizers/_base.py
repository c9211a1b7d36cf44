"""BayesianOptimizer: parameters, hooks, the ask/tell contract, attributes, persistence."""

from __future__ import annotations

import copy
import json
import logging
import re
from collections.abc import Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import field, replace
from itertools import repeat
from pathlib import Path
from typing import TYPE_CHECKING, overload

import numpy as np
from sklearn.base import clone
from sklearn.utils.metadata_routing import UNUSED

from .._durations import check_time_unit
from .._sklearn import BaseEstimator
from .._tables import Row, as_row, as_table, is_one, is_table, rows_of
from .._validation import (
    LARGEST_Y,
    check_bool,
    check_int,
    check_random_state,
    check_real,
    check_variances,
    finite_number,
    invalid,
    plain_number,
)
from .._values import containers_copied, replaced
from .._warnings import warn_caller
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
from ..gaussian_process._dates import (
    NUMBERS,
    ZONED,
    dates_of,
    number_of_duration,
    numeric_periods,
)
from ..gaussian_process._regressor import TimeVaryingGP
from ..journal import Journal, events
from ..journal._encoding import qualified_name
from ..journal._file import FORMAT, JournalFile
from ..staleness import KeepAll, MaximumSize, as_policy
from ._change import changed, check_held, continued
from ._clock import make_clock
from ._default_models import (
    drifting_surrogate,
    smooth_surrogate,
    static_surrogate,
)
from ._failures import has_failed, with_failures
from ._feasibility import Feasibility
from ._html import representation
from ._lock import StepLock
from ._log import log_events, logger
from ._observe import (
    addressed,
    is_repeated,
    is_searching,
    observe,
    observe_failure,
    observe_many,
    posterior_at_rows,
    predicted_observation,
    refit,
    with_first_models,
    with_known_context,
)
from ._outcomes import (
    OBJECTIVE,
    check_names,
    limits_of,
    many_outcomes_of,
    measured,
    outcomes_of,
    view,
)
from ._parameters import algorithm
from ._parts import begun_parts
from ._serialization import (
    Recorder,
    checksum,
    decode_state,
    encode_parameters,
    encode_state,
    new_optimizer,
    read_state,
    restored_run,
    state_errors,
    version,
    with_stored_parameters,
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
    row_in_context,
    too_few,
)
from ._suggest import announce, in_context, recommend, suggest
from ._undo import cancel, position_of, untell

if TYPE_CHECKING:
    from collections.abc import Sequence
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

    A surrogate is conditioned on the observations, an acquisition function chooses the next query,
    and a stale-data policy forgets observations. The named algorithms of this package are such
    compositions; this class takes any other.

    Parameters
    ----------
    domain : Box, FiniteSet, list of (low, high) pairs, scipy.optimize.Bounds, or dict
        Where queries may lie. With a dict of named parameters, queries are dicts: see
        `~sktvbo.domain.ParameterSpace`. A `~sktvbo.domain.Context` is measured, not chosen.
    surrogate : TimeVaryingGPRegressor, default=None
        Sees the domain scaled to the unit box, then time in the user's unit. None: the algorithm's
        own, Matérn 5/2 in space on standardized observations, with a learnt mean (see Notes).
    acquisition : callable or str, default=None
        See `sktvbo.acquisition`, or a name: "ucb", "ei", "pi", "ts", "mean". None is "ucb": UCB
        with the algorithm's β (see Notes) and ``margin=0.2``.
    policy : stale-data policy or str, default=None
        See `sktvbo.staleness`, or a name such as "sliding-window". None is ``KeepAll()``.
    n_initial_points : "auto" or int, default="auto"
        Observations before queries follow the surrogate. "auto": 5, or fewer for a few members,
        spread over the domain (see Notes). An int: that many uniform ones, as in the papers.
    refit_every : int, "auto" or None, default="auto"
        Search the hyperparameters at every ``refit_every``-th observation; "auto": when a search
        promises a gain (see `BayesianOptimizer`); None: only when the surrogate is first fitted.
    maximize : bool, default=True
        False to minimize.
    clock : "wall", "calendar", "step" or callable, default="wall"
        Time where none is given: observations and failures told ("step"), the callable's, or
        seconds since the first call, and on from the latest time given. "wall" stands still between
        a pickle or journal and its use, "calendar" goes on.
    constraints : LinearConstraint, NonlinearConstraint, callable, or a list of them, default=None
        What queries and recommendations must satisfy, see `~sktvbo.domain.Constrained`. A callable
        of x, or of x and the context, returns True, or a number of at least 0, where x is allowed.
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
        Points to ask first; with ``max_step`` they are approached step by step. They are the first
        of the initial points; "auto" spreads the others within 0.2 of each range around the first.
    max_size : int, default=None
        Largest data set. Beyond it the least relevant observations are removed, or the oldest if
        relevancies are unavailable: see `~sktvbo.staleness.MaximumSize`. None is no limit.
    query_timeout : float, duration, "auto" or None, default="auto"
        Age, in the user's unit of time, at which a query without an answer expires: later queries
        no longer keep away from it. "auto" is 10 times the 95th percentile of the latest delays of
        answers, from the 20th on (see Notes). None is any age.
    time_unit : {"ns", "us", "ms", "s", "min", "h", "D", "W"}, default="s"
        Unit of times given as dates: ``datetime``, ``numpy.datetime64``, ``pandas.Timestamp``, or a
        column of them. Dates without a time zone are read as UTC.
    step_budget : float, default=None
        Processor time, in seconds, of an ``ask``, a ``suggest`` or a ``tell`` (see Notes). None is
        no limit.
    seasonal_periods : float, duration, str, or a list of them, default=None
        Periods of seasons that the default surrogate learns, in the unit of the times, or such as
        "1D": see `~sktvbo.kernels.with_seasons`. "auto" is a day and a week; the times must be
        dates.
    robust : bool, default=False
        Give outliers a smaller weight in the surrogate, see
        `~sktvbo.gaussian_process.TimeVaryingGPRegressor`; `to_frame` and the log show them.
    outcome_constraints : mapping of str to (low, high), default=None
        Limits of outcomes that are measured beside y, None for no limit: ``{"latency": (None,
        200.0)}``. The name "objective" stands for y. They apply without noise (see Notes).
    safety : float in [0.5, 1), default=None
        Required probability that all limits hold at a query; it needs ``start_points`` within the
        limits, and no custom surrogate. None weighs queries by the probability that they hold.

    Attributes
    ----------
    X_ : ndarray of shape (n, d + 1)
        Data set: queries and times, in the user's units. A context stands before the time, and is
        part of the d columns.
    y_ : ndarray of shape (n,)
        Data set: observations.
    surrogate_ : estimator or None
        None before there are as many observations as initial points.
    belief_ : estimator or None
        Surrogate of the next query: ``surrogate_``, or conditioned on an expert's answers as well.
    policy_ : stale-data policy
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
        The latest of them, at most 150, and their times.
    next_time_ : float or None
        Time of the latest query asked for.
    pending_ : list of Query
        Queries without an answer, oldest first, with ``id``, ``x`` and ``t``.
    pending_X_ : ndarray of shape (p, d + 1)
        Their places and times.
    history_ : dict of str to ndarray of shape (m,)
        After each of these ``tell``: the present time, the size n of the data set, and the policy's
        record (resets, budget, window...).
    label : str or None
        Name of the algorithm in the literature.

    Notes
    -----
    A run begins with the first ``ask`` or ``tell`` that succeeds, which checks all parameters. An
    attribute with a trailing underscore raises a `~sklearn.exceptions.NotFittedError` before. The
    run keeps the parameters that it began with: `with_parameters` goes on with others, and
    ``set_params`` of a `~sklearn.base.clone` is for a new run.

    The default surrogate of this class is that of `WDBO`. With seasons, beside a context, and for a
    limited outcome it is smooth in time. The default β is "growing". With fewer than 10
    observations in the data set, the latest removed ones are used to learn hyperparameters and the
    scale of y.

    Each initial point of "auto" is the one of 16 Sobol points, or random members, that is farthest
    from all that is told, failed or pending. It is within ``max_step``, and satisfies the
    constraints. Before there is a surrogate, ``recommend`` and ``predict`` fit one for each call.

    ``refit_every="auto"`` searches when the gradient of the likelihood promises more than 0.1 nats,
    when the data set has grown by a tenth or fallen to half since the last search, and after ten
    times as many observations as there are in the data set. Otherwise an observation is added in
    O(n²) with the hyperparameters held.

    At least the latest 256 observations are stored, whatever ``history`` is: policies and searches
    may use them. `SparQGPUCB` draws the expert's places from the stored ones.

    A query that expired may still be answered, by its handle, or by x if no other query is there;
    the latest 256 are stored. The delay of an answer is the time from its query to the first
    ``ask`` after the answer. With ``query_timeout="auto"`` nothing expires where all delays are 0.

    With a ``step_budget`` the search for a query stops when its time is over, and a search of the
    hyperparameters goes on in slices, in the next ``tell`` or in `refit`. The data set is limited
    to the size whose slowest updates take 0.45 of the budget, but not below 30: these are timed as
    it grows. Beyond it the least relevant observations are removed, as by ``max_size``. Work in all
    threads of the process counts. `tell_many` has no limit. Results depend on the speed of the
    machine; a journal holds the hyperparameters, but no unfinished search.

    Each measured outcome has a surrogate like the objective's, also with ``robust``, on the rows of
    the data set where it was measured. The latest 150 failures are rows as well, until they are
    older than a data set from which observations were removed. The limit of an outcome without a
    row holds with probability ½. With ``safety`` the first queries of "auto", 3 (d + 1) of them,
    are within 0.1 of each range around a start point, or at the next integer or member; categories
    are free. Later ones are where all limits hold with this probability, after deviations are
    widened by at least 1.1, and more after violations. While an outcome is not seen to vary, they
    are within 0.05 of a known place. Every third one is the nearest of these places to the best one
    where the limits probably hold. Where no place within reach is certified, queries go to a start
    point, or to the least predicted violation near known places. Hyperparameters are learnt:
    violations may be more frequent.

    The times of a run are all numbers, all dates with a time zone, or all dates without one.

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
    n_initial_points: int | str = "auto"
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
    query_timeout: float | timedelta | np.timedelta64 | str | None = "auto"
    time_unit: str = "s"
    step_budget: float | None = None
    seasonal_periods: float | timedelta | np.timedelta64 | str | Sequence[Any] | None = None
    robust: bool = False
    outcome_constraints: Mapping[str, tuple[float | None, float | None]] | None = None
    safety: float | None = None

    # --- hooks that an algorithm may override -----------------------------------------------------
    #
    # They are called on a copy of the optimizer, made when the run begins, and change nothing.

    def _make_surrogate(self, times):
        """Return an unfitted surrogate, used when the user gives none.

        Called when the surrogate is first fitted, and at every later search of the hyperparameters
        for the temporal kernel alone, whose bounds may follow the data.

        Parameters
        ----------
        times : Times
            ``data`` (n,), of the data set that is learnt from; ``recent`` (m,), of the latest
            observations told; ``pending``, of queries not told yet; the domain's ``n_unit``, and
            whether it ``has_context``; and whether the data are ``of_outcome``.
        """
        explained = times.of_outcome or times.has_context or self.seasonal_periods is not None
        return smooth_surrogate(times) if explained else drifting_surrogate(times)

    def _make_acquisition(self):
        """Return an acquisition function, used when the user gives none; called once a run.

        The default discounts the uncertainty near the faces of a box, where less is to be learnt.
        """
        return UCB(self._make_beta(), margin=0.2)

    def _make_beta(self):
        """Return β of the default acquisition function, see `UCB`.

        "growing" explores little while there are few observations: the uncertainty of a function
        that changes smoothly grows by itself.
        """
        return "growing"

    @property
    def _has_default_acquisition(self):
        """True if the acquisition function is that of `_make_acquisition`."""
        given = self.acquisition
        return given is None or (isinstance(given, str) and given == "ucb")

    def _make_policy(self):
        """Return a new stale-data policy; called once a run."""
        return KeepAll() if self.policy is None else as_policy(self.policy, self)

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

    def _latest_query_time(self, t, surrogate, policy):
        """Return the latest time for a query of ``suggest``; t for the present.

        Called for each query that is made with a surrogate.

        Parameters
        ----------
        t : float
            Present time.
        surrogate : Surrogate
            At time t, conditioned on pending queries as well.
        policy : stale-data policy
            After the latest observation.
        """
        return t

    def _check_parameters(self):
        """Raise a ValueError for an invalid parameter; called when a run begins."""
        if self.domain is None:
            raise invalid(
                "domain",
                "a Box, a FiniteSet, a list of (low, high) pairs or a dict of parameters",
                None,
                self,
                error=DomainError,
            )
        if self.n_initial_points != "auto":
            check_int(self.n_initial_points, "n_initial_points", self, advice="Or give 'auto'.")
        if self.refit_every is not None and self.refit_every != "auto":
            check_int(self.refit_every, "refit_every", self, advice="'auto' will do as well.")
        if self.history is not None:
            check_int(self.history, "history", self, low=0)
        default = type(self).max_size
        if not (isinstance(self.max_size, type(default)) and self.max_size == default):
            check_int(self.max_size, "max_size", self)
        check_bool(self.maximize, "maximize", self)
        check_time_unit(self.time_unit, self)
        has_seasons = numeric_periods(self.seasonal_periods, self.time_unit, self) != ()
        if has_seasons and self.surrogate is not None:
            expected = "None with surrogate=..., whose temporal_kernel may have seasons"
            raise invalid("seasonal_periods", expected, self.seasonal_periods, self)
        if self.surrogate is not None:
            self._check_unused(self._surrogate_parameters, "with surrogate=...")
        if not self._has_default_acquisition:
            self._check_unused(self._acquisition_parameters, "with acquisition=...")
        if not (self.query_timeout is None or has_auto_timeout(self)):
            timeout = number_of_duration(self.query_timeout, self.time_unit)
            check_real(timeout, "query_timeout", self, interval="(0, inf)")
        if self.step_budget is not None:
            check_real(self.step_budget, "step_budget", self, interval="(0, inf)")
        check_bool(self.robust, "robust", self)
        if self.robust:
            self._check_robust()
        if self.safety is not None:
            check_real(self.safety, "safety", self, interval="[0.5, 1)")
            for name in ("outcome_constraints", "start_points"):
                if getattr(self, name) is None:
                    raise invalid(name, "given with safety=...", None, self)
            if not (self.surrogate is None or isinstance(self.surrogate, TimeVaryingGP)):
                expected = "None, or one of sktvbo.gaussian_process, with safety=..."
                raise invalid("surrogate", expected, self.surrogate, self)

    def _check_robust(self):
        """Raise a ValueError if the surrogate cannot weigh outliers."""
        if self.surrogate is None:
            return
        known, name = self.surrogate.get_params(deep=False), type(self.surrogate).__name__
        if "robust" not in known:
            expected = f"False with a {name}, which does not weigh outliers"
            raise invalid("robust", expected, self.robust, self)
        if known.get("noise_model") is not None:
            expected = "False with a surrogate whose noise grows with age"
            raise invalid("robust", expected, self.robust, self)

    def _check_unused(self, names, when):
        """Raise a ValueError for parameters that were given and have no effect."""
        for name in names:
            value, default = getattr(self, name), getattr(type(self), name)
            if not (isinstance(value, type(default)) and value == default):
                expected = f"left at its default {default!r} {when}, where it has no effect"
                raise invalid(name, expected, value, self)

    def _n_initial(self, domain):
        """Return the number of observations before the surrogate."""
        if self.n_initial_points == "auto":
            # Near the start points, more are needed to tell slopes from noise.
            n = self._n_spread if self.safety is None else 3 * (domain.n_dims + 1)
            return int(min(n, domain.size))
        return self.n_initial_points

    # No setters of metadata requests: no meta-estimator calls an optimizer's predict.
    __metadata_request__predict = dict.fromkeys(
        ("t", "return_std", "context", "include_noise", "outcome"), UNUSED
    )

    # --- attributes that an algorithm may set -----------------------------------------------------

    # Name in tables and pictures; None: that of the class.
    label = None

    # Parameters without effect when the user gives a surrogate, or an acquisition function.
    _surrogate_parameters = _acquisition_parameters = ()

    # Initial points with n_initial_points="auto".
    _n_spread = 5

    # True if all members of a small space are visited.
    _visits_members = True

    # With fewer observations neither hyperparameters nor the scale of y follow these alone.
    _min_to_learn = 10

    # True: search the hyperparameters after an observation from before all others, whatever
    # refit_every is, because the temporal kernel of _make_surrogate begins at the first time.
    _searches_for_the_past = False

    # --- the contract -----------------------------------------------------------------------------

    def ask(self, t: Time | None = None, context: ContextLike = None) -> Point:
        """Return the point to query now.

        A query is pending until it is told or cancelled. The surrogate is conditioned on its own
        mean at the latest 32 pending queries, so that a new query lies elsewhere (hallucinated
        observations, Desautels et al. 2014). The latest 1024 are stored.

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
        StepBudgetWarning
            Three of the latest 100 steps took longer than ``step_budget``; once.

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

        It is pending like a query of ``ask``. An algorithm that chooses the time as well, such as
        `ABO`, may return a query for a later time than t.

        Parameters
        ----------
        t : float or date, default=None
            Present time, as in ``ask``.
        n : int, default=None
            Size of a batch. Each query of a batch takes those before it as pending, and is at
            another place if one is left.
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
        ForgottenQueryWarning, StepBudgetWarning
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
        with self._lock(), self._timed_step() as before:
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
        outcomes: Mapping[str, float | None] | pd.Series | None = None,
        failed: bool = False,
    ) -> None:
        """Add an observation, search the hyperparameters, forget what is stale.

        Parameters
        ----------
        x : array-like of shape (d,), a dict for named parameters, a Series, or a Query
            A query, asked for or not; values rounded to float32 match the pending query. Of several
            pending ones at x, the one in the same ``context`` that was asked for last, not after t.
        y : float
            The observation.
        t : float or date, default=None
            Its time, which may be before earlier ones; None is the time asked for.
        context : array-like of shape (c,), or a dict for named variables, default=None
            Measured values; None is the context asked for.
        y_variance : float, default=None
            Known variance of the noise of y, in units of y², on top of the learnt noise: that of
            scores divided by their number, where y is their mean.
        outcomes : dict of str to float, or a row of a frame, default=None
            Values of all ``outcome_constraints`` except "objective"; None or NaN where one was not
            measured. Other columns of a frame are ignored. May be left out of a failure.
        failed : bool, default=False
            True, without y: it could not be measured. Later queries avoid places and times where
            queries are likely to fail; surrogate and policy are unchanged. Models of outcomes learn
            from ``outcomes``. A failure with one beyond its limit does not count twice: once this
            outcome has a model, only that learns from it.

        Raises
        ------
        ValueError
            x outside of the domain, y or t not finite, a negative variance, wrong shapes. The
            optimizer is as before.
        AskTellError
            No t was given and x was not asked for; a `Query` that is not pending, unless it is told
            the same again, which changes nothing.

        Warns
        -----
        AmbiguousQueryWarning
            Several queries at x are pending, and neither t nor context tells them apart.
        StepBudgetWarning
            As in ``ask``.
        """
        with self._lock(), self._timed_step() as before:
            run = before
            x = _place(run, x, context, answered=True)
            if t is not None:
                t, run = run.read_time(t)
            failed = failed is not False and has_failed(y, failed)
            variance, others = 0.0, None
            y = None if failed else finite_number(y, "y", InvalidObservationError, LARGEST_Y)
            if y_variance is not None:
                variance = check_real(y_variance, "y_variance", interval="[0, inf)")
            if run.config.limits or outcomes is not None:
                others = outcomes_of(run, outcomes, failed)
            if len(run.pending.queries) > 1 and not isinstance(x, Query) and run.is_ambiguous(x, t):
                _warn_ambiguous()
            row, t, query = addressed(run, x, t)
            if is_repeated(run, (row, y, t, 0.0 if failed else variance, others, query)):
                return
            if failed:
                self._take(before, observe_failure(run, row, t, query, others), "fail")
                return
            known = predicted_observation(run, row, t, variance)
            after = observe(run, row, y, t, variance, others, query, predicted=known)
            self._take(before, after, "tell")

    def announce(self, x: PointLike, t: Time | None = None, *, context: ContextLike = None) -> None:
        """Add a pending query that is made elsewhere.

        Parameters
        ----------
        x : array-like of shape (d,), or a dict for named parameters
        t : float or date, default=None
            Its time; None reads the clock.
        context : array-like of shape (c,), or a dict for named variables, default=None
            Measured values, on a domain with a context.

        Raises
        ------
        ValueError
            x outside of the domain, t not finite.
        """
        with self._lock():
            run = self._run_or_new()
            x = with_known_context(run.domain.place(_without_outcomes(run, x), context))
            t, timed = run.read_time(t)
            self._take(run, announce(timed, x, t), "announce")

    def cancel(self, x: PointLike | Query) -> None:
        """Withdraw a pending query.

        If it was the latest, the present time goes back to the one before: this undoes a query with
        a wrong time.

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
        outcomes: Mapping[str, ArrayLike] | pd.DataFrame | None = None,
        failed: ArrayLike = False,
    ) -> None:
        """Add many observations in one step, with one search of the hyperparameters.

        The hyperparameters are learnt from all of them (of more than 1000, the latest). Then they
        are added one by one in the order of time; the policy sees each one as if told alone.

        Parameters
        ----------
        X : array-like of shape (n, d), a table, a list of dicts for named parameters, or of Query
            Queries, asked for or not; see `tell`. Columns of a data frame, or of a dict of columns,
            are matched by name; others are ignored if they are those of `to_frame`. Equal points
            without a time answer the latest pending queries there, in their order.
        y : array-like of shape (n,)
            NaN or None for a measurement that failed; left out when all did.
        t : float, date, or array-like of shape (n,), default=None
            Their times; None is the times asked for.
        context : list of contexts, or one for all, default=None
            See `tell`.
        y_variance : float or array-like of shape (n,), default=None
            See `tell`.
        outcomes : dict of str to array-like of shape (n,), or data frame, default=None
            See `tell`.
        failed : bool or array-like of bool of shape (n,), default=False
            Measurements that failed, see `tell`.

        Raises
        ------
        ValueError
            As in `tell`. The optimizer is as before.
        AskTellError
            No t was given and something in X was not asked for; a `Query` is told another value.

        Warns
        -----
        AmbiguousQueryWarning
            As in `tell`: other queries at the same x remain pending.
        """
        with self._lock():
            before = self._run_or_new()
            columns = _columns(before, X, y, t, y_variance, context, failed)
            run, places, y, t, variances = columns
            gone = np.array([value is None for value in y], dtype=bool)
            others = many_outcomes_of(run, outcomes, gone)
            if not len(places):
                return
            observations, left = [None] * len(places), run
            for i in _matching_order(run, places, t):
                time = None if t is None else float(t[i])
                place = places[i]
                x, time, query = addressed(left, place, time)
                variance = 0.0 if y[i] is None else float(variances[i])
                observation = x, y[i], time, variance, others[i], query
                if is_repeated(left, observation, observations):
                    continue
                if query is not None:
                    left = replaced(left, pending=left.pending.without(query))
                observations[i] = observation
            if _is_ambiguous(left, places, t, observations):
                _warn_ambiguous()
            found = [observation for observation in observations if observation is not None]
            if not found:
                return
            found.sort(key=lambda observation: observation[2])
            after, entries = observe_many(run, found)
            self._take(before, after, "tell_many", entries=entries)

    def refit(self, deadline: float | None = None) -> bool:
        """Search the hyperparameters now, for instance while nothing else is to be done.

        Goes on with a search that ``step_budget`` or an earlier ``deadline`` has interrupted.

        Parameters
        ----------
        deadline : float, default=None
            Processor time, in seconds, after which the search is interrupted, but not before an
            evaluation of the likelihood. The next `refit`, or with a ``step_budget`` the next
            ``tell``, continues it. None: the search is completed.

        Returns
        -------
        done : bool
            False if the search is not completed.

        Raises
        ------
        AskTellError
            There is no surrogate yet. With a deadline there is nothing to do.
        ValueError
            The deadline is not positive.
        """
        if deadline is not None:
            deadline = check_real(deadline, "deadline", interval="(0, inf)")
        with self._lock():
            run = self._run_or_new()
            if run.surrogate is None:
                if deadline is not None:
                    return True
                raise too_few("refit()", run, run.config.n_initial)
            after = refit(run, deadline)
            if after is not run:
                self._take(run, after, "refit")
        return not is_searching(after)

    def untell(
        self, x: PointLike | Query | None = None, t: Time | None = None, *, id: int | None = None
    ) -> None:
        """Remove an observation that was told by mistake.

        It leaves the data set, the attributes and the counts. Stored observations that were removed
        when it was told are restored. The hyperparameters are held. After the latest observation
        the policy is restored as well. The present time is the latest of the remaining ones. To
        correct a value, tell it again: ``tell(x, y, t)``.

        Parameters
        ----------
        x : array-like of shape (d,), a dict for named parameters, or a Query, default=None
            Its place, or the query that it answered; the latest if there are several. None is the
            latest of all.
        t : float or date, default=None
            Its time; None is any.
        id : int, default=None
            Id of the query that it answered; None is any.

        Raises
        ------
        AskTellError
            There is no such observation, or it is no longer stored (see ``history``).
        """
        with self._lock():
            run = self._run_or_new()
            if id is not None:
                check_int(id, "id", low=0)
            if isinstance(x, Query):
                if id not in (None, x.id):
                    raise invalid("id", f"left out, or {x.id}, with this query", id)
                x, id = x.x, x.id
            row = None if x is None else run.domain.as_row(_without_outcomes(run, x))
            time = None if t is None else run.read_time(t)[0]
            position = position_of(run, row, time, id)
            if position is None:
                wanted = {"x": x, "t": t, "id": id}
                got = ", ".join(f"{k}={v!r}" for k, v in wanted.items() if v is not None)
                n_stored = len(run.history.positions)
                raise AskTellError(
                    f"untell(): no matching observation{f' for {got}' if got else ''}. {n_stored} "
                    "are stored and can be removed; told_X_ lists them."
                )
            self._take(run, untell(run, position), "untell")

    def with_parameters(self, **changes: Any) -> Self:
        """Return an optimizer that goes on with other parameters and the same observations.

        This optimizer is unchanged. Observations, pending queries, failures, counts, clock and
        random state go on in the new one, and its other parameters are the same.

        Parameters
        ----------
        **changes : object
            Parameters of the constructor, or of a part: ``acquisition__xi=0.1``. All but
            ``maximize`` and ``time_unit``, which give the observations their meaning. A run with a
            journal must be given a new one, or None: it begins with the stored observations.

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
            The journal exists already, or cannot be written.

        Notes
        -----
        Hyperparameters are the same, unless the surrogate is another one, for instance by
        ``surrogate``, ``seasonal_periods`` or ``robust``: then they are searched in this call. A
        policy with other parameters loses what it has learnt. ``random_state`` begins another
        sequence.

        ``outcome_constraints`` may have other limits, and fewer outcomes; one that was not measured
        with the observations is refused. ``start_points`` that are given are the next queries.
        ``max_step`` counts from the latest query. ``history`` cannot bring back observations.

        A ``domain`` is of the same kind as before, with the same number of dimensions and the same
        context. Bounds may be wider or narrower; arms, members and categories may be added and
        withdrawn. Named parameters have the same names and kinds, and a distribution is the same.
        Values of an ordinal have the same order. A withdrawn category is a value that may only have
        been observed: see the third item of a parameter in `~sktvbo.domain.ParameterSpace`.

        Observations outside of a new domain remain in the data set, and may be untold; queries and
        recommendations lie inside. A pending query that may not be made any more has expired: it
        may be answered, and later queries do not keep away from it. Start points outside are left
        out. ``max_step`` is a fraction of the new ranges, and a run that is outside continues from
        the nearest point. Answers of an expert are dropped if places are scaled otherwise.

        Lengthscales keep their meaning in the user's unit, on a logarithmic scale for "log-real".
        One lengthscale of several parameters is multiplied by the geometric mean of their factors,
        which is 1 for a category. Of other kernels all lengthscales and periods are, and of a
        custom surrogate none. Bounds of hyperparameters are those of the new unit box, from the
        next search on.

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
        run = self._resumed()
        source = self._new_run() if run is None else run
        new, change, n_started = changed(source, changes, begun=run is not None)
        fresh = new._new_run()
        if run is not None:
            after = continued(run, fresh, change, n_started, changes)
            if new.journal is not None:
                after = new._recorder_of(fresh).record(fresh, after, "with_parameters", {})
            new._run = after
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
        if "_run" in vars(self):
            check_held(self, params)
        return super().set_params(**params)

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
        outcome: str | None = None,
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
        outcome: str | None = None,
    ) -> tuple[Array, Array]: ...
    def predict(
        self,
        X: PointsLike,
        t: Time | ArrayLike | None = None,
        return_std: bool = False,
        *,
        context: ContextsLike = None,
        include_noise: bool = False,
        outcome: str | None = None,
    ) -> Array | tuple[Array, Array]:
        """Predict the function at places and times, past or future.

        Parameters
        ----------
        X : array-like of shape (m, d), a list of dicts for named parameters, or a table
            Places in the domain, or one of shape (d,), a dict or a Series. Columns of a data frame,
            or of a dict of columns, are matched by name.
        t : float, date, or array-like of shape (m,), default=None
            One time for all, or one for each; None reads the clock.
        return_std : bool, default=False
            Also return the standard deviation.
        context : array-like of shape (c,), or a dict for named variables, default=None
            Measured values, on a domain with a `~sktvbo.domain.Context`; or a list of m of them.
        include_noise : bool, default=False
            Predict observations, with noise, instead of the function.
        outcome : str, default=None
            Name of an outcome to predict in place of the objective.

        Returns
        -------
        mean : ndarray of shape (m,), or a float for one place
            In units of y, and with its sign.
        std : ndarray of shape (m,), or a float for one place
            Only with ``return_std``.

        Raises
        ------
        AskTellError
            There is no observation yet.
        ValueError
            Places outside of the domain, invalid times, wrong shapes.

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
        check_bool(return_std, "return_std")
        check_bool(include_noise, "include_noise")
        one = is_one(X)
        rows = _rows_in_context(run, X, context, one)
        times = run.read_times(t, len(rows))[0]
        names = [*measured(run), OBJECTIVE]
        if outcome is not None and outcome not in names:
            raise invalid("outcome", f"one of {', '.join(map(repr, names))}", outcome)
        run = _with_belief(run, "predict()")
        if outcome not in (None, OBJECTIVE):
            run = view(run, names.index(outcome))
            if run.surrogate is None:
                expected, got = (
                    "one that was measured before predict()",
                    f"{outcome!r}, which is not",
                )
                raise invalid("outcome", expected, got=got, error=AskTellError)
        mean, std = _predicted(run, rows, times, include_noise)
        if one:
            mean, std = float(mean[0]), float(std[0])
        return (mean, std) if return_std else mean

    def probability_feasible(
        self, X: PointsLike, t: Time | ArrayLike | None = None, *, context: ContextsLike = None
    ) -> Array:
        """Return the probability that all ``outcome_constraints`` hold, without noise.

        Parameters
        ----------
        X : array-like of shape (m, d), a list of dicts for named parameters, or a table
            As in `predict`.
        t : float, date, or array-like of shape (m,), default=None
            As in `predict`.
        context : array-like of shape (c,), or a dict for named variables, default=None
            As in `predict`.

        Returns
        -------
        p : ndarray of shape (m,), or a float for one place
            1 without ``outcome_constraints``.

        Raises
        ------
        AskTellError
            There is no observation yet.
        ValueError
            Places outside of the domain, invalid times, wrong shapes.
        """
        run = self._run_or_new()
        one = is_one(X)
        rows = _rows_in_context(run, X, context, one)
        times = run.read_times(t, len(rows))[0]
        run, p = _with_belief(run, "probability_feasible()"), np.ones(len(rows))
        if run.config.limits:
            feasibility = Feasibility(run)
            for time in np.unique(times):
                here = times == time
                p[here] = np.exp(feasibility.at(time).log(run.domain.to_unit(rows[here])))
        return float(p[0]) if one else p

    def recommend(self, t: Time | None = None, *, context: ContextLike = None) -> Point:
        """Return the point with the best posterior mean: exploitation without exploration.

        ``predict`` there gives the posterior mean and its standard deviation. With
        ``outcome_constraints`` all limits hold there with probability ``safety``, or 0.5, which
        ``probability_feasible`` gives.

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
            There is no observation yet.
        InvalidObservationError
            The time is not finite, or is a date among numbers.

        Warns
        -----
        LimitWarning
            No such point is known, or the data say little about the limits at this time. The point
            of the least expected violation is returned: in the second case, of the data set. The
            text states the time and the probability.
        """
        run = self._run_or_new()
        t = run.read_time(t)[0]
        context = run.domain.contexts(context, 1)[0]
        run = _with_belief(run, "recommend()")
        return run.domain.decode(recommend(in_context(run, context), t))

    def to_frame(self) -> pd.DataFrame:
        """Return queries and observations as a data frame.

        Returns
        -------
        frame : pandas.DataFrame
            A row for each of the latest ``history`` observations, then for each failed measurement
            in ``failed_X_`` and each pending query, oldest first. Columns are the parameters by
            name (x0, x1, ... without names) and

            - ``time``, as dates where dates were given, and ``y``, NaN for failed and pending rows;
            - ``predicted_mean``, ``predicted_std``: of y, before it was told, in units of y. The
              noise is included, and ``y_variance``. NaN where there was no model, and for several
              observations in one `tell_many`;
            - ``residual``: ``(y - predicted_mean) / predicted_std``, standard normal if the model
              is right;
            - ``outlier_weight``: weight in the surrogate, or when it was removed; 1 is full
              weight, 0 ignored. NaN without ``robust``;
            - ``removed_at``: time of removal from the data set; NaN while it is in it;
            - ``failed`` and ``pending``: bool;
            - ``query``: id of the query, or <NA> if it failed or was not asked for;
            - each outcome by its name, NaN where it was not measured.

            A column gets a trailing underscore if a parameter has its name. ``tell_many(frame,
            frame.y, frame.time, outcomes=frame, failed=frame.failed)`` tells all but pending rows
            to another optimizer.

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
        >>> print(opt.to_frame().dropna(axis=1, how="all").to_string())
           rate loss  time    y  failed  pending query
        0  0.10   l2   1.0  0.5   False    False  <NA>
        1  1.00   l2   2.0  NaN    True    False  <NA>
        2  0.01   l1   3.0  NaN   False     True     0
        """
        try:
            import pandas as pd
        except ImportError as exc:
            raise MissingExtraError(
                "to_frame() needs pandas, which is not installed: pip install pandas."
            ) from exc
        present = snapshot(self)
        run, failed = present._begun(), present.failed_X_
        shown, pending = run.shown, run.pending_now
        rows = np.concatenate([present.told_X_, failed, present.pending_X_])
        kind = np.repeat([0, 1, 2], [len(shown), len(failed), len(pending)])
        columns = run.domain.described(rows[:, :-1])
        unknown = np.full(len(rows) - len(shown), np.nan)
        queries = [entry.query for entry in shown] + [None] * len(failed)
        y, nothing = np.append(present.told_y_, unknown), (np.nan, np.nan)
        predicted = [entry.predicted or nothing for entry in shown] + [nothing] * len(unknown)
        mean, std = np.array(predicted).reshape(-1, 2).T
        outcomes = {}
        for i, name in enumerate(measured(run)):
            told = np.array([entry.outcomes[i] for entry in shown], dtype=np.float64)
            of_failed = run.failures.outcomes[:, i]
            outcomes[name] = np.concatenate([told, of_failed, np.full(len(pending), np.nan)])

        def dated(times):
            if run.time.kind in (None, NUMBERS):
                return times
            dates = pd.Series(dates_of(times, run.algorithm.time_unit))
            return dates.dt.tz_localize("UTC") if run.time.kind == ZONED else dates

        own = {
            "time": dated(rows[:, -1]),
            "y": y,
            "predicted_mean": mean,
            "predicted_std": std,
            "residual": (y - mean) / std,
            "outlier_weight": np.append(self._outlier_weights(run), unknown),
            "removed_at": dated(np.append(present.removed_at_, unknown)),
            "failed": kind == 1,
            "pending": kind == 2,
            "query": pd.array([*queries, *(query.id for query in pending)], dtype="Int64"),
        }
        for name, values in own.items():
            while name in columns:
                name += "_"
            columns[name] = values
        columns |= outcomes
        # pandas would make NaN of None among strings, and 1.0 of 1 beside None.
        for name, values in columns.items():
            if isinstance(values, list) and len(set(map(type, values))) > 1:
                columns[name] = pd.Series(values, dtype=object)
        return pd.DataFrame(columns)

    def _outlier_weights(self, run):
        """Return the weights (m,) of the shown observations, NaN where unknown."""
        known = {}
        for entry in run.shown:
            known.update(zip(entry.removed.tolist(), entry.removed_weights))
        known |= run.outlier_weights
        n = len(run.shown)
        positions = list(run.history.positions)[-n:] if n else []
        return np.array([known.get(i, np.nan) for i in positions], dtype=np.float64)

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
            if len(entry.removed):
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
        return self._begun().failures.total

    @property
    def failed_X_(self) -> Array:
        return self._begun().failures.rows.copy()

    @property
    def next_time_(self) -> float | None:
        return self._begun().time.next

    # --- notebooks --------------------------------------------------------------------------------

    def _repr_html_(self):
        """Return the parameters and the state of the run as HTML."""
        return representation(self)

    def _repr_mimebundle_(self, **kwargs):
        """Return the representations that a notebook chooses from."""
        return {"text/plain": repr(self), "text/html": self._repr_html_()}

    # --- journals, JSON and pickles ---------------------------------------------------------------

    def __sklearn_clone__(self):
        return BaseEstimator.__sklearn_clone__(copy.copy(self))

    def __getstate__(self):
        state = dict(super().__getstate__())
        state.pop("_lock", None)
        state.pop("_recorder", None)
        for name, value in state.items():
            # Mappings other than dicts need not have copies or pickles.
            if isinstance(value, Mapping) and not isinstance(value, dict):
                state[name] = containers_copied(value)
        return state | {"_version": version("sktvbo")}

    def __setstate__(self, state):
        state, mine = dict(state), version("sktvbo")
        made_by = state.pop("_version", "an unknown version")
        if made_by != mine:
            warn_caller(
                f"This {type(self).__name__} was pickled by sktvbo {made_by} and is read by "
                f"{mine}: results may differ, or it may fail. A journal or to_json() raises an "
                "error when it cannot be read.",
                VersionWarning,
            )
        super().__setstate__(state)
        self._lock = StepLock()

    @classmethod
    def resume(cls, journal: PathLike | Journal) -> Self:
        """Open the run of a journal, with the parameters in the file.

        A program that knows the parameters resumes its run with
        ``journal=Journal(path, resume=True)``, which also begins it.

        Parameters
        ----------
        journal : path-like or `~sktvbo.journal.Journal`

        Returns
        -------
        optimizer
            Of this class, or of the subclass whose run it is: ``BayesianOptimizer.resume`` opens
            all. In the state after the last call that returned: same observations, data set,
            hyperparameters and random state. The surrogate is conditioned again: predictions are
            equal up to rounding.

        Raises
        ------
        JournalError
            The journal does not exist, is in use, damaged, incomplete, another algorithm's, or
            lacks a parameter that plain data cannot hold, such as a function.

        Notes
        -----
        A clock ``"wall"`` stands still while there is no process; ``"calendar"`` goes on.

        Examples
        --------
        >>> import os, tempfile
        >>> from sktvbo import WDBO, BayesianOptimizer
        >>> path = os.path.join(tempfile.mkdtemp(), "run.db")
        >>> opt = WDBO([(0.0, 1.0)], n_initial_points=3, random_state=0, journal=path)
        >>> for t in range(5):
        ...     opt.tell(opt.ask(t), 0.1 * t)
        >>> opt.close()                                   # or the process ends in any way
        >>> BayesianOptimizer.resume(path).n_told_
        5
        """
        where = Journal.of(journal)
        with closing(events(where.path)) as found:
            header = next(found).body
        where = replace(where, resume=True)
        new = new_optimizer(cls, header, {"journal": where}, where.path)
        new._begun()
        return new

    def close(self) -> None:
        """Close the journal, so that another optimizer may `resume` it; the next step reopens it.

        The closed file is complete and may be copied. Without a journal nothing happens.

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
        """Return parameters, and the state of the run if it has begun, as JSON.

        Returns
        -------
        text : str
            Plain data with version, format and a checksum, for `from_json`.

        Raises
        ------
        JournalError
            A part cannot be stored as plain data.
        """
        run = vars(self).get("_run")
        source = self if run is None else run.algorithm
        state = None if run is None else encode_state(run)
        content = source._header() | {"state": state}
        return json.dumps(content | {"sha256": checksum(content)}, allow_nan=False)

    @classmethod
    def from_json(cls, text: str, **parameters: Any) -> Self:
        """Restore the optimizer of `to_json`, without a journal.

        Parameters
        ----------
        text : str
        **parameters
            Parameters that plain data cannot hold, such as functions and objects of custom classes:
            the error names them. Others may be given too, with unchanged values.

        Raises
        ------
        JournalError
            The text is no result of `to_json`, was changed, or lacks a parameter.
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
                "The text must be that of to_json(). Got one with a wrong checksum instead: it was "
                "changed. Restore a copy."
            )
        new = new_optimizer(cls, header, parameters, "JSON")
        if state is not None:
            run = new._new_run()
            with state_errors("JSON"):
                new._run = restored_run(run, decode_state(state))
        return new

    def _header(self):
        """Return the body of a journal's first event."""
        return {
            "format": FORMAT,
            "version": version("sktvbo"),
            "optimizer": qualified_name(type(self)),
            "parameters": encode_parameters(self.get_params(deep=False)),
        }

    def _recorder_of(self, run):
        """Return the recorder of the run's journal, opened if need be."""
        recorder = vars(self).get("_recorder")
        if recorder is None or not recorder.is_open:
            begun = run.place.number > 0
            file = JournalFile(run.algorithm.journal, begun)
            header = None if run.place.number else run.algorithm._header()
            recorder = self._recorder = Recorder(file, run, header)
        return recorder

    # --- the run ----------------------------------------------------------------------------------

    def __post_init__(self):
        self._lock = StepLock()

    def _begun(self):
        """Return the state of the run, or raise if there is none."""
        run = self._resumed()
        if run is None:
            raise NotBegunError(
                f"This {type(self).__name__} has not begun a run yet. Call ask() or tell() first."
            )
        return run

    def _run_or_new(self):
        """Return the state of the run, or of a new one."""
        return self._resumed() or self._new_run()

    @contextmanager
    def _timed_step(self):
        """Context with the same as `_run_or_new`, of a step whose time may be limited."""
        run = self._run_or_new()
        if run.timer is None:
            yield run
            return
        try:
            run.timer.begin()
            yield run
        finally:
            run.timer.stop()  # unless `_take` has ended the step

    def _resumed(self):
        """Return the state of the run, after it was resumed if need be, or None without one."""
        journal = self.journal
        if "_run" not in vars(self) and isinstance(journal, Journal) and journal.resume:
            with self._lock():
                # Another thread may have resumed it.
                if "_run" not in vars(self) and Path(str(journal.path)).is_file():
                    self._resume(JournalFile(Journal.of(journal)))
        return vars(self).get("_run")

    def _resume(self, file):
        """Take up the run of an open journal, if it holds one."""
        try:
            header = file.header()
            if header is None:
                file.close()
                return
            algorithm = self._new_run().algorithm
            with state_errors(file.path):
                run = with_stored_parameters(algorithm, header, file.path)._new_run()
                self._run = restored_run(run, read_state(file, run.history.log.limit))
            self._recorder = Recorder(file, self._run, header, is_stored=True)
        except BaseException:
            file.close()
            raise

    def _copied(self):
        """Return a copy with parts of its own, which has made no step."""
        new = copy.copy(self)
        vars(new).pop("_run", None)
        for name, value in self.get_params(deep=False).items():
            if hasattr(value, "get_params") and not isinstance(value, type):
                setattr(new, name, clone(value))
            else:  # an owner may change dicts and lists later
                setattr(new, name, containers_copied(plain_number(value)))
        return new

    def _new_run(self):
        self._check_parameters()
        algorithm = self._copied()
        if self.journal is not None:
            algorithm.journal = Journal.of(self.journal).located()
        acquisition, policy = algorithm.acquisition, algorithm._make_policy()
        if algorithm._has_default_acquisition:
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
            allowed = domain.queryable(start)
            if not allowed.all():
                got = str(start[np.argmin(allowed)].tolist())
                expected = "points that satisfy the constraints"
                raise invalid("start_points", expected, owner=self, got=got, error=DomainError)
        timeout, delays = number_of_duration(self.query_timeout, self.time_unit), None
        if has_auto_timeout(self):
            timeout, delays = None, ()
        limits = limits_of(self.outcome_constraints, self)
        check_names(limits, domain, self)
        config = RunConfig(
            algorithm=algorithm,
            domain=domain,
            acquisition=as_acquisition(acquisition, self),
            n_initial=self._n_initial(domain),
            start_points=start,
            size_limit=size_limit,
            limits=limits,
        )
        return RunState(
            config=config,
            clock=make_clock(self.clock, self),
            policy=policy,
            # A copy of NumPy's global generator would be every optimizer's.
            rng=np.random.RandomState()
            if self.random_state is None
            else copy.deepcopy(check_random_state(self.random_state)),
            pending=PendingQueries(
                timeout=np.inf if timeout is None else float(timeout), delays=delays
            ),
            history=History(Log(limit=n_stored(algorithm.history))),
            parts=begun_parts(config),
        )

    def _take(self, run, after, kind, **said):
        """Replace the present state by the next one: the only place where a run changes.

        The journal is written first; ``kind`` and ``said`` describe the step.
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
        if after.timer is not None:
            after.timer.end(kind)
        if logger.isEnabledFor(logging.INFO):
            log_events(run, after)


def has_auto_timeout(optimizer):
    """Return True if an optimizer learns when queries expire."""
    timeout = getattr(optimizer, "query_timeout", None)
    return isinstance(timeout, str) and timeout == "auto"


def check_parts(owner, surrogate, policy):
    """Raise unless an optimizer's surrogate, None for its own, and policy can work together."""
    if surrogate is not None:
        if not hasattr(surrogate, "fit") or isinstance(surrogate, type):
            expected = "None or an estimator, see sktvbo.staleness.Surrogate"
            raise invalid("surrogate", expected, surrogate, owner)
        if hasattr(surrogate, "check"):
            surrogate.check()
    policy.check(surrogate)


def _with_belief(run, caller):
    """Return the run with a surrogate, fitted to the observations so far if it has none.

    Without any observation raise an AskTellError.
    """
    if run.surrogate is not None:
        return run
    if not len(run.data):
        raise too_few(caller, run, 1)
    return with_first_models(run)


def _predicted(run, rows, times, include_noise):
    """Return mean and standard deviation (m,) at rows (m, d) and times (m,), in the user's sign."""
    mean, std = posterior_at_rows(run, rows, times)
    if include_noise:
        std = np.hypot(std, run.model.noise_std_)
    return mean, std


def begun(optimizer):
    """Return a copy of an optimizer that begins a run."""
    return with_run(optimizer, optimizer._new_run())


def run_of(optimizer):
    """Return the state of an optimizer's run."""
    return optimizer._run


def snapshot(optimizer):
    """Return a copy of an optimizer in its present state, whatever other threads do with it."""
    return with_run(optimizer, optimizer._begun())


def with_run(optimizer, run):
    """Return a copy of an optimizer with another state of its run."""
    other = copy.copy(optimizer)
    other._run = run
    return other


def _place(run, x, context=None, *, answered=False):
    """Return a user's x as a row (d,) of the domain, or as a pending query.

    With ``answered`` the query may also be one that was told already.
    """
    if isinstance(x, Query):
        query = run.query_of(x, answered=answered)
        if context is None:
            return query
        chosen = query.x[: run.domain.n_chosen]
        return replace(query, x=row_in_context(run.domain, chosen, context))
    x = _without_outcomes(run, x)
    try:
        return run.domain.place(x, context)
    except DomainError as exc:
        return row_in_context(run.domain, _point_near(run, x, exc), context)


def _point_near(run, x, error):
    """Return the chosen part (k,) of the query without an answer that x was.

    x is outside of the domain: it was rounded to float32, or the query was made in another domain.
    Without such a query, raise the domain's error.
    """
    try:
        row = run.domain.as_row(x)
    except DomainError:  # an unknown category has no number
        raise error from None
    found = run.pending.near(row, run.domain.n_chosen, run.pending.unanswered, rounded=True)
    if not found:
        raise error
    return found[0].x[: run.domain.n_chosen]


def _rows_in_context(run, X, context, one):
    """Return rows (m, d) of places as users give them, one or several, with their contexts."""
    domain, X = run.domain, _without_outcomes(run, X)
    rows = domain.place(X, context)[np.newaxis] if one else domain.places(X, context)
    if np.isnan(rows).any():
        domain.contexts(None, len(rows))  # an error: it must be given
    return rows


def _warn_ambiguous():
    """Warn the caller of an optimizer's method that x may be the answer to another query."""
    warn_caller(
        "Several queries at this x are pending, which were asked for at different times or in "
        "different contexts. The one asked for last is taken. To choose, give the time (t=) or the "
        "context (context=) of the query, or its handle, which suggest() returns. Withdraw those "
        "whose results are lost by cancel(query), or set query_timeout.",
        AmbiguousQueryWarning,
    )


def _matching_order(run, places, t):
    """Return the order in which many observations choose their pending queries.

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
    for i, (place, observation) in enumerate(zip(places, observations)):
        query = None if observation is None else observation[-1]
        if query is not None and not isinstance(place, Query):
            with_it = replaced(pending, queries=(*pending.queries, query))
            if replaced(left, pending=with_it).is_ambiguous(
                place, None if t is None else float(t[i])
            ):
                return True
    return False


def _place_in(run, x, i, context):
    """Return row i of a user's X as `_place` does."""
    try:
        return _place(run, x, context, answered=True)
    except (DomainError, InvalidObservationError) as exc:
        # The message calls it x, or x['rate'].
        message = re.sub(r"^x(\[)?", lambda m: f"X[{i}{', ' if m[1] else ']'}", str(exc))
        raise type(exc)(message) from exc


def _columns(run, X, y, t, y_variance, context, failed):
    """Return the run, places, and columns (n,): y None of a failure, t, and variances.

    t is None where no time was given.
    """
    handles = isinstance(X, list | tuple) and any(isinstance(x, Query) for x in X)
    X, places = _without_outcomes(run, X), None
    if not handles and np.size(X) == 0:
        if context is not None:
            run.domain.contexts(context, 0)
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


def _without_outcomes(run, X):
    """Return points without columns of outcomes, which `to_frame` adds, in any form of a point."""
    if not run.config.limits or type(X) is np.ndarray:
        return X
    names = measured(run)
    if isinstance(X, list):
        return [_without_outcomes(run, x) for x in X]
    table = as_table(X) if is_table(X) else as_row(X)
    if table is None or not any(name in table for name in names):
        return X
    kind = Row if isinstance(table, Row) else dict
    return kind({name: column for name, column in table.items() if name not in names})


@algorithm
class Algorithm(BayesianOptimizer):
    """Base of the named algorithms: the policy is the algorithm's own, and no parameter."""

    policy: StaleDataPolicy | str | None = field(default=None, init=False)


@algorithm
class StaticAlgorithm(Algorithm):
    """Base of the algorithms whose model is a function that does not change."""

    # Without a kernel in time there are no seasons to learn.
    seasonal_periods: None = field(default=None, init=False)

    def _make_surrogate(self, times):
        return static_surrogate()

    def _make_beta(self):
        return "dimension"
