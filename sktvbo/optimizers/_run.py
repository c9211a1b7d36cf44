"""The state of a run: a value, which each step replaces by the next one.

Nothing here is changed in place, but for the clock, which starts when it is first read. A step that
fails half-way has therefore not happened.
"""

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import islice
from numbers import Real

import numpy as np
from sklearn.base import clone

from .._validation import check_rows, invalid
from .._values import replaced
from ..acquisition import PosteriorMean
from ..exceptions import AskTellError, InvalidObservationError
from ..gaussian_process._dates import NAIVE, NUMBERS, mixed_kinds
from ..journal._rows import START, Place
from ..staleness import KeepAll, RunSoFar
from ._clock import as_time, as_times
from ._contexts import corrected, measured
from ._dataset import DataSet, Log, Told
from ._default_models import Times, suited
from ._failures import Failures, Risk, with_failure
from ._many import without
from ._queries import FLOAT32, MAX_PENDING, Asked, Query, not_pending
from ._random import copied
from ._step_limiter import StepLimiter
from ._suggest import best_queries, best_query, random_queries, start_queries

# At least this many of the observations told are remembered, whatever is shown of them: policies
# may ask for the latest, and hyperparameters be learnt from some that were removed.
_MIN_REMEMBERED = 256

# The sampling interval is taken from this many observations, the latest.
_N_RECENT = 50

# Below this many observations (or n_initial_points) the hyperparameters are not searched, nor is
# the scale of y taken from them.
_MIN_TO_LEARN = 10

# What most observations remove.
_NONE = np.empty(0, dtype=np.intp)

# With refit_every="auto" hyperparameters are searched when that promises more than so many nats.
_WORTH_A_SEARCH = 0.1

# And when so many data sets have come since: what forgets by wrong ones may learn no more of them.
_AT_THE_LATEST = 10


@dataclass(frozen=True)
class Run(Asked):
    """What a run holds between two steps.

    Attributes
    ----------
    algorithm : BayesianOptimizer
        The optimizer as it was when the run began, for its parameters.
    make_policy, make_surrogate, latest_query_time : callable
        Its hooks of these names.
    searches_for_the_past : bool
        Whether an observation from before all others makes a search of the hyperparameters.
    domain, clock, acquisition
        Made of its parameters.
    n_initial : int
        Observations before there is a surrogate.
    start : ndarray of shape (k, d)
        Rows that are asked first.
    cap : stale-data policy or None
        What forgets after the policy has.
    timeout : float
        Age at which queries are no longer waited for.
    policy : stale-data policy
        With what it has learnt in the run.
    policy_before : stale-data policy or None
        As it was before the latest observation, as far as that is known.
    rng : RandomState
        A step draws from a copy.
    surrogate : Surrogate or None
        Of the data set; None until there are ``n_initial_points`` observations.
    now : float
        Present time: the latest of ``passed``, and of when the unanswered queries were asked for.
    passed : float
        Latest time told, or at which a query was asked for that has been told.
    next_time : float or None
        Time of the latest query asked for.
    since_search : int
        Observations since the hyperparameters were searched.
    searched : int
        Size of the data set then.
    unanswered : tuple of Query
        With rows (d,) for x, not told yet, oldest first.
    n_queries : int
        How many were asked for, or announced.
    n_started : int
        How many of the ``start`` were asked, or cannot be reached.
    queries : tuple of (float, int)
        Times of the latest queries made with a surrogate, and sizes of the data set then.
    told : Log of Told
    untold : tuple of int
        Positions of those that were taken back.
    kept : DataSet
    place : Place
        Where in its journal, if it has one.
    failures : Failures or None
        None as long as no query has failed.
    limiter : StepLimiter or None
        None without a step limit.
    times : str or None
        Kind of the times given, numbers or dates of some kind; None before the first.
    """

    algorithm: object
    make_policy: object
    make_surrogate: object
    latest_query_time: object
    searches_for_the_past: bool
    domain: object
    clock: object
    acquisition: object
    policy: object
    rng: np.random.RandomState
    n_initial: int
    start: np.ndarray
    cap: object = None
    timeout: float = np.inf
    surrogate: object = None
    policy_before: object = None
    now: float = -np.inf
    passed: float = -np.inf
    next_time: float | None = None
    since_search: int = 0
    searched: int = 0
    unanswered: tuple = ()
    n_queries: int = 0
    n_started: int = 0
    queries: tuple = ()
    told: Log = field(default_factory=Log)
    untold: tuple = ()
    kept: DataSet = field(default_factory=DataSet)
    place: Place = START
    failures: Failures | None = None
    limiter: StepLimiter | None = None
    times: str | None = None

    # --- what an algorithm with more to remember may override -------------------------------------

    @property
    def belief(self):
        """The surrogate that queries are made with."""
        return self.surrogate

    @property
    def holds_when_few(self):
        """Whether few observations hold the hyperparameters, or borrow forgotten ones to search."""
        return False

    def after_telling(self, x, y, t=None, variance=0.0):
        """The run with an observation at a row x (d,) of the domain; t None: when it was asked.

        x may be a pending query, which this answers. ``variance`` is the part of the noise's
        variance that is known.
        """
        x, t, query = self.addressed(x, t)
        return self.after_observing(x, y, t, variance, query)

    def addressed(self, x, t):
        """Row (d,), time and pending query, None if there is none, of an x and a time, or None."""
        found = [x] if isinstance(x, Query) else self.matching(x, t)
        if found:
            query = found[-1]
            k = self.domain.n_chosen
            row = query.x if x is query or k == len(x) else corrected(x, query.x, k)
            return row, query.t if t is None else t, query
        if t is None:
            advice = "Give the time of the observation: tell(x, y, t)."
            raise not_pending("x", str(x.tolist()), when=" when no t is given", advice=advice)
        return measured(x), t, None

    def after_observing(self, x, y, t, variance, query, *, held=False, first=None, only_kept=False):
        """The run with an observation at x (d,) and t, which may answer a query.

        ``held`` forbids a search of the hyperparameters; ``first`` is a first surrogate that knows
        of the observation; with ``only_kept`` the data set alone does.
        """
        left = self._left(t, query)
        now, row = left["now"], np.append(x, t)
        if only_kept:
            after = replaced(self, kept=self.kept.append(self.told.total, row, y, variance))
        else:
            after = self._with_observation(row, y, variance, now, held, first)
        record = _checked_record(after.policy)
        removed = _NONE
        if len(after.kept) <= len(self.kept):
            before = np.append(self.kept.positions, self.told.total)
            removed = np.setdiff1d(before, after.kept.positions, assume_unique=True)
        entry = Told(
            row,
            y,
            now,
            len(after.kept),
            removed,
            record,
            variance,
            None if query is None else query.id,
        )
        left |= self._at_place(x, t, query)
        return replaced(after, **left, told=self.told.append(entry), policy_before=self.policy)

    def after_failing(self, x, t, query):
        """The run with a measurement at x (d,) and t that failed, which may answer a query."""
        left = self._left(t, query) | self._at_place(x, t, query)
        return replaced(self, **left, failures=with_failure(self.failures, np.append(x, t), self))

    def _at_place(self, x, t, query):
        """What changes of the step limiter with an observation, or a failure, at x (d,) and t."""
        if self.limiter is None:
            return {}
        # An asked query was counted when it was asked; a late observation moves nothing.
        counted = query is not None or (self.limiter.at is not None and self.limiter.at[-1] > t)
        return {} if counted else {"limiter": self.limiter.moved(x, t)}

    def _left(self, t, query):
        """What else changes of the run when something is told at a time, which may be a query's."""
        passed, unanswered = max(t, self.passed), self.unanswered
        if query is not None:
            unanswered = tuple(other for other in unanswered if other.id != query.id)
            passed = max(passed, query.asked)
        if self.timeout < np.inf:
            unanswered = tuple(query for query in unanswered if query.t >= passed - self.timeout)
        return {"now": max(t, self.now), "passed": passed, "unanswered": unanswered}

    def after_untelling(self, position):
        """The run without the observation at a position among all that was told."""
        return without(self, position)

    # --- pending queries --------------------------------------------------------------------------

    @property
    def pending(self):
        """Queries (tuple) whose answers are still to come, oldest first."""
        return self.pending_at(self.now)

    def pending_at(self, now):
        """Those of the unanswered queries that are still waited for at a time."""
        if self.timeout == np.inf:
            return self.unanswered
        return tuple(query for query in self.unanswered if query.t >= now - self.timeout)

    def pending_near(self, x, rounded):
        """Pending queries at the chosen part of a row x (d,), oldest first.

        If there are none, and x may be ``rounded``, those that x was before it went through
        float32, unless they are at several places.
        """
        pending, k = self.pending, self.domain.n_chosen
        if not pending:
            return []
        rows = np.array([query.x for query in pending])[:, :k]
        found = np.flatnonzero((rows == x[:k]).all(axis=1))
        if rounded and not len(found):
            close = (np.abs(rows - x[:k]) <= FLOAT32 * np.abs(rows)).all(axis=1)
            found = np.flatnonzero(close)
            if (rows[found] != rows[found[:1]]).any():
                return []
        return [pending[i] for i in found]

    def matching(self, x, t):
        """Pending queries that match a row x (d,) and a time (None: any) best, oldest first.

        A query in the context of x comes first, then the one asked for last at t or before.
        """
        k = self.domain.n_chosen
        found = self.pending_near(x, rounded=self.domain.continuous.any())
        if len(found) < 2:
            return found
        latest = np.inf if t is None else t + FLOAT32 * abs(t)

        def distance(query):
            elsewhere = not np.array_equal(query.x[k:], x[k:])
            return elsewhere, query.t > latest, 0.0 if t is None else abs(query.t - t)

        distances = [distance(query) for query in found]
        best = min(distances)
        return [query for query, each in zip(found, distances) if each == best]

    # --- time -------------------------------------------------------------------------------------

    def timed(self, t):
        """The run with the kind of its times, and a time as a float; None reads the clock."""
        given = t is not None
        if not given:
            t = self.clock(self.n_told + self.n_failed)
        kind, t = as_time(t, self.algorithm.time_unit)
        return self._with_kind(kind, t, given), t

    def timed_many(self, t, n):
        """The same with one time, or n of them, as an array (n,)."""
        if t is None:
            run, t = self.timed(t)
            return run, np.full(n, t)
        kind, t = as_times(t, n, self.algorithm.time_unit)
        return self._with_kind(kind, t), t

    def _with_kind(self, kind, t, given=True):
        """The run whose times are of a kind, which is its own from the first one on.

        Among dates the numbers that the run itself shows, such as those in ``told_X_``, are known.
        """
        if kind == self.times:
            return self
        if self.times is None:
            return replaced(self, times=kind)
        if kind == NUMBERS and given and np.isin(t, self._shown_times).all():
            return self
        name, advice = "t", ""
        if not given:
            name = "The time that the clock tells"
            advice = "Give t, or another clock, such as clock=lambda: datetime.now(timezone.utc)."
        where = "the earlier times of this run"
        raise mixed_kinds(name, self.times, kind, where, advice, InvalidObservationError)

    @property
    def _shown_times(self):
        """Times that are told, pending or failed."""
        times = [self.now, *(query.t for query in self.unanswered)]
        times += [entry.row[-1] for entry in self.told] + [row[-1] for row in self.kept.rows]
        return np.array(times if self.failures is None else [*times, *self.failures.rows[:, -1]])

    def forward_time(self, t):
        """As `timed`, of a time that is not before an earlier one."""
        run, t = self.timed(t)
        if t < self.now:
            advice = "A late observation is told with tell(x, y, t)."
            if run.times == NAIVE:
                advice += (
                    " Local times go back when daylight saving time ends: give dates with a time "
                    "zone, such as datetime.now(timezone.utc)."
                )
            raise invalid(
                "t",
                f"at least {self.now}, the latest time asked or told",
                t,
                advice=advice,
                error=InvalidObservationError,
            )
        return run, t

    # --- querying ---------------------------------------------------------------------------------

    def after_asking(self, t, size, *, may_wait):
        """The run with ``size`` more queries pending, and these queries (x, time).

        Queries are for time t, unless they ``may_wait`` until the algorithm's latest time.
        """
        rng, queries = copied(self.rng), self.queries
        first, n_started = start_queries(self, t, size)
        run = replaced(self._with_queries(first, t) if first else self, n_started=n_started)
        size -= len(first)
        if self.surrogate is None:
            found = random_queries(run, t, size, rng)
        else:
            found = best_queries(run, t, size, rng, may_wait) if size else []
            # Queries at later times were taken back.
            queries = (*made_until(t, queries), (t, len(self.kept)))[-MAX_PENDING:]
        after, found = run._with_queries(found, t), first + found
        after = replaced(after, rng=rng, now=t, next_time=found[-1][1], queries=queries)
        return after, found

    def best_mean(self, t):
        """Row (d,) where the posterior mean at time t is best."""
        surrogate, rng = self.belief.at(t), copied(self.rng)
        return best_query(self, surrogate, PosteriorMean(), t, t, rng, self.risk)[0]

    @property
    def risk(self):
        """Where and when queries fail, made anew each time; None as long as none has."""
        return None if self.failures is None else Risk(self.failures, self)

    # --- learning ---------------------------------------------------------------------------------

    @property
    def sign(self):
        """1.0, or -1.0 when minimizing: the surrogate is given what is to be maximized."""
        return 1.0 if self.algorithm.maximize else -1.0

    @property
    def min_to_learn(self):
        """How many observations make a search of the hyperparameters, and a scale of y."""
        return min(self.algorithm.n_initial_points, _MIN_TO_LEARN)

    @property
    def holds(self):
        """Whether the hyperparameters are never searched again, once there is a surrogate."""
        return self.algorithm.refit_every is None or not _is_searched(self.surrogate)

    @property
    def keeps_all(self):
        """Whether nothing is ever dropped."""
        return type(self.policy) is KeepAll and self.cap is None

    @property
    def n_told(self):
        """How many observations were told, remembered or not."""
        return self.told.total - len(self.untold)

    @property
    def positions(self):
        """Positions, among all that was told, of what is remembered and was not taken back."""
        remembered = range(self.told.first, self.told.total)
        if not self.untold:
            return remembered
        gone = set(self.untold)
        return [position for position in remembered if position not in gone]

    @property
    def entries(self):
        """The observations at these positions."""
        return self.told if not self.untold else self.told.at(self.positions)

    @property
    def n_failed(self):
        """How many queries failed."""
        return 0 if self.failures is None else self.failures.total

    @property
    def shown(self):
        """The observations told that users see: those that the ``history`` has room for."""
        history, entries = self.algorithm.history, self.entries
        return entries[:] if history is None else entries[max(len(entries) - history, 0) :]

    def rows(self, entries):
        """Queries and times (n, d + 1) of some observations told."""
        return np.array([entry.row for entry in entries]).reshape(-1, self.domain.n_dims + 1)

    def observations(self, entries):
        """Rows and values of some observations told, as the surrogate sees them."""
        return self.to_surrogate(self.rows(entries), [entry.y for entry in entries])

    def to_surrogate(self, rows, y):
        X = np.column_stack([self.domain.to_unit(rows[:, :-1]), rows[:, -1]])
        return X, self.sign * np.array(y, dtype=np.float64)

    def _so_far(self):
        """What a policy is told before an observation is added."""
        return RunSoFar(
            n_told=self.n_told + 1,
            queries=made_until(self.now, self.queries),
            latest=self._latest,
        )

    def _latest(self, n):
        """The latest n observations told, as the surrogate sees them."""
        entries = self.entries
        return self.observations(entries[max(len(entries) - n, 0) :])

    def _with_observation(self, place, y, variance, now, only_held, first):
        """The run with surrogate, policy and data set after an observation at a place (d + 1,)."""
        kept = self.kept.append(self.told.total, place, y, variance)
        if self.surrogate is None and len(kept) < self.n_initial:
            return replaced(self, kept=kept)
        row, target = self.to_surrogate(place[np.newaxis], [y])
        policy = copy.copy(self.policy)
        if hasattr(policy, "watch"):
            policy.watch(self._so_far())
        if self.surrogate is None:
            surrogate, since_search = self.first_surrogate(kept) if first is None else first, 0
            searched = len(kept)
        else:
            found = policy.before_add(self.surrogate, row[0, :-1], float(place[-1]), target[0])
            drop = check_rows(found, len(self.kept), _rows_of(policy, "before_add"))
            kept = kept.drop(drop) if len(drop) else kept
            surrogate, since_search, searched = self._next_surrogate(
                row, target, variance, drop, kept, only_held
            )
        surrogate, kept = self._without_stale(policy, surrogate, kept, now)
        if self.cap is not None:
            surrogate, kept = self._without_stale(self.cap, surrogate, kept, now)
        return replaced(
            self,
            surrogate=surrogate,
            policy=policy,
            kept=kept,
            since_search=since_search,
            searched=searched,
        )

    def _without_stale(self, policy, surrogate, kept, now):
        """A surrogate and its data set, without what a policy drops."""
        found, name = policy.after_add(surrogate, now), _rows_of(policy, "after_add")
        drop = check_rows(found, len(kept), name)
        if len(drop) == len(kept):
            raise invalid(name, f"fewer than all {len(kept)}", got="all of them")
        if not len(drop):
            return surrogate, kept
        kept = kept.drop(drop)
        return surrogate.without(drop, restandardize=len(kept) >= self.min_to_learn), kept

    def first_surrogate(self, kept):
        """The surrogate fitted to all that was told, the new observation included."""
        X, y = self.to_surrogate(kept.rows, kept.y)
        surrogate = self.given_surrogate()
        if surrogate is None:
            surrogate = self._suited(self.make_surrogate(self.times_of(X[:, -1])))
        return surrogate.fit(X, y, *self.some_variances(kept.variance))

    def given_surrogate(self):
        """The surrogate that the user gave, unfitted; None if it is the algorithm's own."""
        surrogate = self.algorithm.surrogate
        return None if surrogate is None else self._suited(surrogate)

    def _suited(self, surrogate):
        return suited(clone(surrogate), self.domain, self.policy)

    def _next_surrogate(self, row, target, variance, drop, kept, only_held):
        """Return the surrogate without some rows and with the new one; with its hyperparameters searched if due."""
        surrogate, few = self.surrogate, len(kept) < self.min_to_learn
        known, scale = self.some_variances(np.array([variance])), {"restandardize": not few}
        early = self.searches_for_the_past and row[0, -1] < surrogate.X_train_[:, -1].min()
        if len(drop) == len(self.kept):
            surrogate = surrogate.with_rows(row, target, *known, **scale)
        else:
            surrogate = surrogate.without(drop, **scale) if len(drop) else surrogate
            surrogate = surrogate.condition_on(row, target, *known, **scale)
        if only_held or (few and self.holds_when_few):
            return surrogate, self.since_search + 1, self.searched
        if not self.search_is_due(surrogate, len(kept), early):
            return surrogate, self.since_search + 1, self.searched
        times, extra = surrogate.X_train_[:, -1], None
        if few:
            # Forgotten observations still tell which kind of function it is.
            forgotten = self._forgotten(kept, self.min_to_learn - len(kept))
            variances = np.array([entry.variance for entry in forgotten])
            extra = *self.observations(forgotten), *self.some_variances(variances)
            times = np.concatenate([times[:-1], extra[0][:, -1], times[-1:]])
        kernel = self.temporal_kernel_for(times)
        return surrogate.refit(extra, temporal_kernel=kernel), 0, len(kept)

    def temporal_kernel_for(self, times):
        """The default temporal kernel, whose bounds follow the times of what is learnt from.

        None for a surrogate that the user gave.
        """
        if self.algorithm.surrogate is not None:
            return None
        return self.make_surrogate(self.times_of(times)).temporal_kernel

    @staticmethod
    def some_variances(variances):
        """Known variances (n,) as the last argument of a surrogate's call; none where all are 0.

        A surrogate of one's own need not know of variances unless some are told.
        """
        return (variances,) if variances.any() else ()

    def _forgotten(self, kept, count):
        """At most so many observations, the latest told that a data set has not."""
        held, first = {*kept.positions.tolist(), *self.untold}, self.told.first
        latest = (i for i in reversed(range(first, self.told.total)) if i not in held)
        return self.told.at(sorted(islice(latest, count)))

    def search_is_due(self, surrogate, size, due=False):
        """Return True if hyperparameters are to be searched for a surrogate of ``size`` rows."""
        every = self.algorithm.refit_every
        if not _is_searched(surrogate):
            return False
        if due or every is None:
            return due
        if every != "auto":
            return self.since_search + 1 >= every
        return (
            not 0.5 * self.searched <= size <= 1.1 * self.searched
            or self.since_search + 1 >= _AT_THE_LATEST * size
            or _search_gain(surrogate) > _WORTH_A_SEARCH
        )

    def times_of(self, kept):
        """What bounds may follow, of a data set at these times, the new observation last."""
        recent = [entry.row[-1] for entry in self.entries[-_N_RECENT:]]
        pending = tuple(query.t for query in self.pending)
        domain = self.domain
        has_context = domain.n_chosen < domain.n_dims
        recent = np.array([*recent, kept[-1]])
        return Times(kept, recent, pending, domain.n_unit, has_context, domain.is_constrained)


def remembered(history):
    """How many of the observations told a run remembers, when so many are to be shown."""
    return None if history is None else max(history, _MIN_REMEMBERED)


def too_few(caller, run):
    """The error of a call that needs a surrogate, before there is one."""
    return invalid(
        f"The number of observations before {caller}",
        f"at least n_initial_points={run.n_initial}",
        got=str(run.n_told),
        advice="Tell some more first.",
        error=AskTellError,
    )


def _checked_record(policy):
    """What a policy records: a dict of str to float or None."""
    record = getattr(policy, "record", dict)() or {}
    name = f"What {type(policy).__name__}.record returns"
    if not isinstance(record, Mapping):
        raise invalid(name, "a dict of names and numbers", record)
    found = {}
    for key, value in record.items():
        number = isinstance(value, Real | np.bool_)
        if not (isinstance(key, str) and (value is None or (number and value == value))):
            expected = "a dict of names and numbers, None for what is not known"
            raise invalid(name, expected, got=f"{key!r}: {value!r}")
        found[key] = None if value is None else float(value)
    return found


def _rows_of(policy, method):
    """How messages call what a policy's method returns."""
    return f"The rows that {type(policy).__name__}.{method} returns"


def _is_searched(surrogate):
    """Whether there is something to search."""
    return getattr(surrogate, "optimizer", True) is not None


def _search_gain(surrogate):
    """What a search promises; a surrogate that does not know is always searched."""
    return surrogate.search_gain() if hasattr(surrogate, "search_gain") else np.inf


def made_until(t, queries):
    """Of some queries (time, size), in order, those that were made until a time."""
    if not queries or queries[-1][0] <= t:
        return queries
    return tuple(query for query in queries if query[0] <= t)
