"""What all optimizers share: parameters, hooks, the ask/tell contract, and what they show."""

from __future__ import annotations

import copy
import re
from contextlib import suppress
from dataclasses import field, replace
from itertools import repeat
from typing import TYPE_CHECKING

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils import check_random_state

from .._tables import rows_of
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
    AskTellError,
    DomainError,
    InvalidObservationError,
    NotBegunError,
)
from ..gaussian_process._dates import check_time_unit, number_of_duration
from ..staleness import KeepAll, MaximumSize, as_policy
from ._answers import Answers
from ._attributes import Attributes
from ._clock import make_clock
from ._contexts import measured
from ._durable import Durable
from ._failures import has_failed, with_failures
from ._lock import StepLock
from ._log import Log
from ._many import position_of, with_many
from ._parameters import algorithm
from ._parts import check_parts
from ._queries import Query, warn_ambiguous
from ._run import Run, remembered
from ._step_limiter import StepLimiter
from ._surrogates import smooth_surrogate, static_surrogate

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import timedelta

    from numpy.typing import ArrayLike

    from .._typing import (
        ContextLike,
        ContextsLike,
        Model,
        PathLike,
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
    from ..staleness import StaleDataPolicy


@algorithm
class BayesianOptimizer(Answers, Attributes, Durable, BaseEstimator):
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
        to choose from. Where the surrogate is a Kalman filter, nothing is forgotten, and the
        hyperparameters are held (``refit_every=None``, or a surrogate without ``optimizer``), the
        data set is capped as well, at the latest ``history`` observations (at least 32) to twice as
        many: the surrogate absorbs those before, and memory does not grow at all. The posterior is
        still that of all, from the time of the first of those left on. These alone can be taken
        back, and failures weigh as the worst place of these; what is told, or predicted, of an
        earlier time is an `~sktvbo.exceptions.AbsorbedError`.
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
        among the d. Without the ``n_absorbed_`` oldest.
    y_ : ndarray of shape (n,)
        Data set: observations, as told.
    surrogate_ : estimator or None
        None before there are ``n_initial_points`` observations.
    belief_ : estimator or None
        What the next query is made with: ``surrogate_``, or with an expert's answers besides.
    policy_ : stale-data policy
    n_told_, n_removed_ : int
        Observations told; observations removed from the data set. Of the whole run, always.
    n_absorbed_ : int
        Observations that the surrogate is conditioned on, and that are held no longer: see
        ``history``.
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

    # An algorithm that has more to remember sets another class of a run's state.
    _run_class = Run

    # Where this is True, an observation from before all others makes a search of hyperparameters,
    # whatever refit_every says: the temporal kernel of _make_surrogate knows of no earlier time.
    _searches_for_the_past = False

    # --- the contract -----------------------------------------------------------------------------

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
        AbsorbedError
            A time before that of observations that are held no longer: see ``history``.
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
                run, t = run.timed(t)
            if len(run.unanswered) > 1 and not isinstance(x, Query) and run.is_ambiguous(x, t):
                warn_ambiguous()
            if failed is not False and has_failed(y, failed):
                after = run.after_failing(*run.addressed(x, t))
                row = after.failures.rows[-1].tolist()
                self._take(before, after, "fail", x=row[:-1], t=row[-1])
                return
            y, variance = finite_number(y, "y", InvalidObservationError, LARGEST_Y), 0.0
            if y_variance is not None:
                variance = check_real(y_variance, "y_variance", interval="[0, inf)")
            self._take(before, run.after_telling(x, y, t, variance), "tell")

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
            x = measured(run.domain.place(x, context))
            timed, t = run.timed(t)
            self._take(run, timed.after_announcing(x, t), "announce")

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
                warn_ambiguous()
            self._take(run, run.after_cancelling(x), "cancel")

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
                if isinstance(place, Query) and all(q.id != place.id for q in left.unanswered):
                    left.query_of(place)  # an error: it was told above
                x, time, query = left.addressed(place, time)
                if query is not None:
                    others = tuple(q for q in left.unanswered if q.id != query.id)
                    left = replaced(left, unanswered=others)
                observations[i] = x, y[i], time, float(variances[i]), query
            if _is_ambiguous(left, places, t, observations):
                warn_ambiguous()
            found = sorted(observations, key=lambda observation: observation[2])
            after, entries = with_many(run, found)
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
            time = None if t is None else run.timed(t)[1]
            position = position_of(run, row, time, id)
            if position is None:
                wanted = {"x": x, "t": t, "id": id}
                got = ", ".join(f"{k}={v!r}" for k, v in wanted.items() if v is not None)
                raise invalid(
                    "What is taken back",
                    f"one of the {len(run.returnable)} observations that are remembered",
                    got=got or "none at all",
                    advice="With history=None all are." if run.n_absorbed else "",
                    error=AskTellError,
                )
            self._take(run, run.after_untelling(position), "untell")

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
        cap = None
        if self.max_size not in (None, getattr(policy, "max_size", None)):
            cap = MaximumSize(self.max_size)
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
        return self._run_class(
            algorithm=algorithm,
            make_policy=algorithm._make_policy,
            make_surrogate=algorithm._make_surrogate,
            latest_query_time=algorithm._latest_query_time,
            searches_for_the_past=algorithm._searches_for_the_past,
            domain=domain,
            limiter=StepLimiter.of(algorithm, domain),
            n_initial=self._n_initial(len(start)),
            start=start,
            cap=cap,
            timeout=np.inf if timeout is None else float(timeout),
            told=Log(limit=remembered(algorithm.history)),
            clock=make_clock(self.clock, self),
            acquisition=as_acquisition(acquisition, self),
            policy=policy,
            # A copy of NumPy's global generator would be every optimizer's.
            rng=np.random.RandomState()
            if self.random_state is None
            else copy.deepcopy(check_random_state(self.random_state)),
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


def begun(optimizer, n_started=0):
    """A copy of an optimizer that begins a run, of which others ask the start points."""
    run = optimizer._new_run()
    return with_run(optimizer, replaced(run, n_initial=optimizer._n_initial(n_started)))


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
        return run.domain.place(run.point_near(x, exc), context)


def _matching_order(run, places, t):
    """Indices in which many observations choose their pending queries.

    Handles come first, then times at which a query was asked for, then the latest time and row:
    each row takes the latest query that is left.
    """
    asked = {query.t for query in run.pending}

    def priority(i):
        known = (False, 0.0) if t is None else (t[i] in asked, t[i])
        return isinstance(places[i], Query), *known, i

    return sorted(range(len(places)), key=priority, reverse=True)


def _is_ambiguous(left, places, t, observations):
    """Return True if a query that many observations have left pending matches one of them."""
    if not left.unanswered:
        return False
    for i, (place, (*_, query)) in enumerate(zip(places, observations)):
        if query is not None and not isinstance(place, Query):
            with_it = replaced(left, unanswered=(*left.unanswered, query))
            if with_it.is_ambiguous(place, None if t is None else float(t[i])):
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
        run, t = run.timed_many(t, n)
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
