"""Configuration and state of a run: values. Each step replaces the state by the next one.

Nothing here is changed in place, except for the clock, which starts when it is first read, and the
timer of the steps. A step that fails half-way leaves the optimizer as it was.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .._durations import nanoseconds
from .._validation import invalid, invalid_observation
from .._values import GROW_LOCK, GrowableArrays, append_rows, replaced
from ..domain._base import Domain
from ..exceptions import AskTellError, InvalidObservationError
from ..gaussian_process._dates import (
    NAIVE,
    NUMBERS,
    dates_of,
    is_auto,
    merged,
    mixed_kinds,
    numeric_periods,
)
from ..journal._rows import START, Position
from ..staleness import KeepAll
from ._clock import as_time, as_times
from ._part import Part

if TYPE_CHECKING:
    from .._typing import Point

# Largest number of pending queries stored, and of times of queries made with a surrogate.
MAX_PENDING = 1024

# Number of the latest expired queries stored, as their results may come late.
_MAX_EXPIRED = 256

# With query_timeout="auto" a query expires after this many times the 95th percentile of the latest
# delays, once there are enough of them.
_PATIENCE, _MIN_DELAYS, _MAX_DELAYS = 10.0, 20, 100

# Least number of observations stored, whatever `history` exposes: policies may use the latest, and
# hyperparameters may be learnt from removed ones.
_MIN_STORED = 256

# Number of the latest resets whose times are stored: those that may be taken back successively.
_MAX_RESETS = 4

# Name of the objective among the limits of measured outcomes.
OBJECTIVE = "objective"


# --- observations ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Observation:
    """An observation, and its effect on the data set.

    Attributes
    ----------
    row : ndarray of shape (d + 1,)
        Query and time.
    y : float
        As told.
    now : float
        Present time when it was told.
    n : int
        Size of the data set afterwards.
    removed : ndarray of int
        Positions, among all observations, of those that were removed then.
    record : dict of str to float
        Record of the policy.
    variance : float
        Known variance of the noise of y, in units of y².
    query : int or None
        Id of the query that it answers, if any.
    predicted : (float, float) or None
        Mean and standard deviation of y, noise included, predicted before it was told.
    removed_weights : tuple of float
        Weights of those that were removed, with ``robust=True``; otherwise empty.
    outcomes : tuple of (float or None), or None
        Outcomes in the order of the limits, None for one that was not measured; None without
        limits.
    asked : ndarray of shape (d,), or None
        Row of the query, if another point was set.
    """

    row: np.ndarray
    y: float
    now: float
    n: int
    removed: np.ndarray
    record: dict
    variance: float = 0.0
    query: int | None = None
    predicted: tuple | None = None
    removed_weights: tuple = ()
    outcomes: tuple | None = None
    asked: np.ndarray | None = None

    @property
    def asked_x(self):
        """Row (d,) of the query that it answers, or its own."""
        return self.row[:-1] if self.asked is None else self.asked

    def converted(self, rows, columns):
        """Return the observation after a change of the domain and of the outcomes.

        Parameters
        ----------
        rows : callable
            From rows (n, d), or with further columns, to those in the new domain.
        columns : list of int
            Positions of the outcomes that remain.
        """
        return replace(
            self,
            row=rows([self.row])[0],
            asked=None if self.asked is None else rows([self.asked])[0],
            outcomes=tuple(self.outcomes[i] for i in columns) if columns else None,
        )


class Answer(NamedTuple):
    """An observation, or a failure, that is told, as the answer to a query or without one.

    Attributes
    ----------
    x : ndarray of shape (d,)
        Row of the query.
    y : float or None
        None if the measurement failed.
    t : float
        Time of the measurement.
    variance : float
        Known variance of the noise of y, in units of y².
    outcomes : tuple of (float or None), or None
        See `Observation`.
    query : Query or None
        The query that it answers.
    extended : DataSet or None
        Data set with the observation, before the removals of the step.
    learns : bool
        True if models of outcomes learn from it.
    """

    x: np.ndarray
    y: float | None
    t: float
    variance: float
    outcomes: tuple | None
    query: object
    extended: object = None
    learns: bool = True

    @property
    def row(self):
        """Query and time (d + 1,)."""
        return np.append(self.x, self.t)

    @property
    def query_id(self):
        """Id of the query, or None."""
        return None if self.query is None else self.query.id

    @property
    def asked(self):
        """Row (d,) of the query, if another point was set; None otherwise."""
        if self.query is None or not (self.x != self.query.x).any():
            return None
        return self.query.x


class Log(Sequence):
    """A list that only grows, as a value: a longer one leaves the shorter one unchanged.

    Values that grew from one another share their memory, so appending takes O(1).

    Parameters
    ----------
    items : iterable, default=()
    limit : int, default=None
        Number of the latest items stored; None: all.
    total : int, default=None
        Number of items appended so far; None: that of ``items``.
    """

    def __init__(self, items=(), limit=None, total=None):
        self._items = list(items)
        self._start, self._stop = 0, len(self._items)
        self.limit = limit
        self.total = self._stop if total is None else total

    def __len__(self):
        return self._stop - self._start

    def __iter__(self):
        return islice(self._items, self._start, self._stop)

    def __getitem__(self, i):
        where = range(self._start, self._stop)[i]
        return [self._items[j] for j in where] if isinstance(i, slice) else self._items[where]

    def __reduce__(self):
        return Log, (list(self), self.limit, self.total)

    @property
    def first(self):
        """Position, among all items so far, of the first one that is stored."""
        return self.total - self._stop + self._start

    def take(self, positions):
        """Return the items at positions among all items so far, which must be stored."""
        first = self.first
        return [self[i - first] for i in positions]

    def append(self, item):
        """Return the log with one item more."""
        longer = object.__new__(Log)
        longer.limit, longer.total = self.limit, self.total + 1
        full = self.limit is not None and len(self) >= self.limit
        start = self._start + 1 if full else self._start
        with GROW_LOCK:
            # Share the memory unless another log has grown from this one, or an eighth of it
            # contains items that are no longer stored.
            shared = len(self._items) == self._stop and start <= (self._stop - start) // 8 + 64
            items = self._items if shared else self._items[start : self._stop]
            longer._start = start if shared else 0
            items.append(item)
            longer._items, longer._stop = items, len(items)
        return longer


class Remaining(Sequence):
    """Items of a sequence without some of them, found in O(log k) when k are left out.

    Parameters
    ----------
    items : Sequence
    gone : iterable of int
        Indices of those that are left out.
    """

    def __init__(self, items, gone):
        self._items = items
        # Number of remaining items before each one that is left out.
        self._before = [i - n for n, i in enumerate(sorted(gone))]

    def __len__(self):
        return len(self._items) - len(self._before)

    def __getitem__(self, i):
        where = range(len(self))[i]
        if isinstance(i, slice):
            return [self[j] for j in where]
        return self._items[where + bisect_right(self._before, where)]


@dataclass(frozen=True, eq=False)
class History:
    """All observations told, or the latest of them.

    Attributes
    ----------
    log : Log of Observation
    untold : tuple of int
        Positions of those that were taken back and are stored.
    n_untold : int
        Number of those that were taken back, stored or not.
    """

    log: Log = field(default_factory=Log)
    untold: tuple = ()
    n_untold: int = 0

    @property
    def total(self):
        """Observations told, those taken back included: the position of the next one."""
        return self.log.total

    @property
    def n_told(self):
        """Observations told and not taken back, stored or not."""
        return self.log.total - self.n_untold

    @property
    def positions(self):
        """Positions of the stored observations that were not taken back."""
        return self._remaining(range(self.log.first, self.log.total))

    @property
    def entries(self):
        """Observations at these positions."""
        return self._remaining(self.log)

    def _remaining(self, items):
        if not self.untold:
            return items
        return Remaining(items, [position - self.log.first for position in self.untold])

    def append(self, entry):
        """Return the history with one observation more."""
        log, untold = self.log.append(entry), self.untold
        if untold and min(untold) < log.first:
            untold = tuple(position for position in untold if position >= log.first)
        return replaced(self, log=log, untold=untold)

    def take_back(self, position):
        """Return the history without a stored observation."""
        return replaced(self, untold=(*self.untold, position), n_untold=self.n_untold + 1)

    def latest(self, n):
        """Return the latest n observations, or fewer; None: all."""
        entries = self.entries
        return entries[:] if n is None else entries[max(len(entries) - n, 0) :]

    def latest_outside(self, data, n, counts):
        """Return at most n latest observations, not in a data set, for which ``counts`` is True."""
        held = {*data.positions.tolist(), *self.untold}
        positions = range(self.log.total - 1, self.log.first - 1, -1)
        entries = (self.log.take([i])[0] for i in positions if i not in held)
        return list(islice(filter(counts, entries), n))[::-1]


_ARRAYS = ("positions", "rows", "y", "variance", "outcomes")


@dataclass(frozen=True, eq=False)
class DataSet:
    """The observations that the surrogate is conditioned on.

    Attributes
    ----------
    positions : ndarray of int of shape (n,)
        Among all observations told.
    rows : ndarray of shape (n, d + 1)
        Queries and times.
    y, variance : ndarray of shape (n,)
        Observations, and known variances of their noise.
    outcomes : ndarray of shape (n, k)
        Outcomes that are measured with y; NaN where one was not.
    room : GrowableArrays or None
        Memory in which the arrays grow.
    """

    positions: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=np.intp))
    rows: np.ndarray = field(default_factory=lambda: np.empty((0, 0)))
    y: np.ndarray = field(default_factory=lambda: np.empty(0))
    variance: np.ndarray = field(default_factory=lambda: np.empty(0))
    outcomes: np.ndarray = field(default_factory=lambda: np.empty((0, 0)))
    room: GrowableArrays | None = field(default=None, repr=False)

    def __getstate__(self):
        return vars(self) | {"room": None}

    def __len__(self):
        return len(self.y)

    @classmethod
    def of(cls, positions, observations):
        """Return a data set of observations at positions."""
        if not observations:
            return cls()
        rows = np.array([entry.row for entry in observations])
        y = np.array([entry.y for entry in observations])
        variance = np.array([entry.variance for entry in observations])
        outcomes = np.array([entry.outcomes or () for entry in observations], dtype=np.float64)
        return cls(np.asarray(positions, dtype=np.intp), rows, y, variance, outcomes)

    def append(self, position, entry):
        """Append an observation, or an answer."""
        more = {"positions": [position], "rows": [entry.row], "y": [entry.y]}
        more |= {"variance": [entry.variance], "outcomes": [entry.outcomes or ()]}
        arrays, room = append_rows(vars(self), more, self.room)
        return DataSet(**arrays, room=room)

    def joined(self, other):
        """Return the rows of this data set, and then those of another one."""
        if not len(self):
            return other
        pairs = [(getattr(self, name), getattr(other, name)) for name in _ARRAYS]
        return DataSet(*map(np.concatenate, pairs))

    @property
    def latest(self):
        """The last row, a data set."""
        return self.take(slice(-1, None))

    def drop(self, indices):
        """Drop some of the rows."""
        stay = np.ones(len(self.y), dtype=bool)
        stay[indices] = False
        return self.take(stay)

    def take(self, indices):
        """Return some of the rows, in this order."""
        return DataSet(*[getattr(self, name)[indices] for name in _ARRAYS])


# --- queries --------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Query:
    """A query that an optimizer was asked for: a handle to use instead of x.

    `BayesianOptimizer.suggest` returns them, and ``pending_`` lists those without an answer.
    ``tell(query, y)`` answers exactly this query, while x alone may match several, and
    ``cancel(query)`` withdraws it. Handles may be pickled.

    Attributes
    ----------
    id : int
        0, 1, 2, ... in the order in which they were asked for, or announced.
    x : ndarray of shape (d,), or a dict for named parameters
    t : float
        Time of the query, which may be later than ``asked``.
    asked : float
        Present time of the ``ask`` or ``suggest``; -inf if it was announced.
    context : ndarray of shape (c,), or a dict, or None
        Context in which it was asked for, on a domain with one.

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
    """Return queries as users see them."""
    return [
        replaced(query, x=domain.decode(query.x), context=domain.decode_context(query.x))
        for query in queries
    ]


@dataclass(frozen=True, eq=False)
class PendingQueries:
    """Queries without an answer.

    Attributes
    ----------
    queries : tuple of Query
        With rows (d,) for x, oldest first. Expired ones may be among them.
    n_total : int
        Queries asked for, or announced, so far: the id of the next one.
    timeout : float
        Age at which a query expires.
    expired : tuple of Query
        The latest that have expired without an answer, or whose answer was taken back, oldest
        first.
    untold : tuple of int
        Ids of those whose answer was taken back.
    delays : tuple of float, or None
        The latest delays of answers, from which the timeout follows; None if it is given.
    answered_at : tuple of float
        Times of the queries that were answered since the latest ask.
    """

    queries: tuple = ()
    n_total: int = 0
    timeout: float = np.inf
    expired: tuple = ()
    delays: tuple | None = None
    answered_at: tuple = ()
    untold: tuple = ()

    def at(self, now):
        """Return the queries that have not expired."""
        if self.timeout == np.inf or not self.queries:
            return self.queries
        return tuple([query for query in self.queries if query.t >= now - self.timeout])

    @property
    def unanswered(self):
        """All queries, expired or not."""
        return (*self.expired, *self.queries)

    def expired_at(self, now):
        """Return the queries that have expired, oldest first."""
        if self.timeout == np.inf:
            return self.expired
        return (*self.expired, *(q for q in self.queries if q.t < now - self.timeout))

    def append(self, rows, asked, now):
        """Add queries (x, time) asked for at a time; also return how many were forgotten."""
        new = [Query(self.n_total + i, x, t, asked) for i, (x, t) in enumerate(rows)]
        pending = self._with_delays(asked)
        if len(pending.queries) + len(new) > MAX_PENDING:
            pending = pending._expired_before(max(asked, now))
        queries = (*pending.queries, *new)
        n_total = self.n_total + len(new)
        pending = replaced(pending, queries=queries[-MAX_PENDING:], n_total=n_total)
        return pending, max(len(queries) - MAX_PENDING, 0)

    def without(self, query, **changes):
        """Remove a query, which may have expired, and change other fields."""
        queries = tuple([each for each in self.queries if each.id != query.id])
        if len(queries) == len(self.queries):
            changes["expired"] = tuple([each for each in self.expired if each.id != query.id])
            changes["untold"] = tuple([i for i in self.untold if i != query.id])
        return replaced(self, queries=queries, **changes)

    def with_untold(self, query):
        """Return the queries with one more that may be answered again."""
        expired = sorted((*self.expired, query), key=attrgetter("id"))
        untold = (*self.untold, query.id)[-_MAX_EXPIRED:]
        return replaced(self.with_expired(self.queries, expired), untold=untold)

    def answered(self, query, passed):
        """Remove a query, or none for None; queries that are too old at a time expire."""
        pending = self
        if query is not None:
            times = () if self.delays is None else (*self.answered_at, query.t)
            pending = self.without(query, answered_at=times[-_MAX_DELAYS:])
        return pending._expired_before(passed)

    def _expired_before(self, now):
        """Move the queries that are too old at a time to the expired ones."""
        live = self.at(now)
        if len(live) == len(self.queries):
            return self
        return self.with_expired(live, self.expired_at(now))

    def with_expired(self, live, expired):
        """Return some queries as pending ones, and others as expired ones, oldest first."""
        return replaced(self, queries=tuple(live), expired=tuple(expired[-_MAX_EXPIRED:]))

    def _with_delays(self, asked):
        """Return the queries with a timeout that follows the delays of the latest answers.

        A query was answered at the latest when the next one is asked for. A delay of 0, as for
        queries that all have one time, is ignored.
        """
        if not (self.answered_at and math.isfinite(asked)):
            return self
        new = [asked - t for t in self.answered_at if asked > t]
        delays, timeout = (*self.delays, *new)[-_MAX_DELAYS:], self.timeout
        if len(delays) >= _MIN_DELAYS:
            timeout = _PATIENCE * sorted(delays)[int(0.95 * (len(delays) - 1))]
        return replaced(self, delays=delays, timeout=timeout, answered_at=())


# --- the run --------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class RunConfig:
    """Parameters of a run, as they were when it began.

    The defaults of the model's parameters are those of a run without a model.

    Attributes
    ----------
    algorithm : AskTell
        Copy of the optimizer, for its parameters and hooks.
    domain : Domain
    start_points : ndarray of shape (k, d)
        Rows to query first.
    n_initial : int, or infinity
        Observations before there is a surrogate.
    acquisition : callable or None
    size_limit : stale-data policy or None
        Policy that forgets after the algorithm's own.
    limits : tuple of Limit
        Limits of measured outcomes.
    surrogate, seasonal_periods, robust, refit_every, step_budget, safety, exploration
        As the parameters of `BayesianOptimizer`; a ``surrogate`` of None is the algorithm's own.
    spreads_initial : bool
        True if the initial points are spread over the domain.
    visits_members : bool
        True if all members of a small space are visited.
    asks_expert : bool
        True if an expert is asked as well as the system.
    """

    algorithm: object
    domain: object
    start_points: np.ndarray
    n_initial: float = math.inf
    acquisition: object = None
    size_limit: object = None
    limits: tuple = ()
    surrogate: object = None
    seasonal_periods: object = None
    robust: bool = False
    refit_every: int | str | None = None
    step_budget: float | None = None
    safety: float | None = None
    exploration: float = 0.0
    spreads_initial: bool = False
    visits_members: bool = False
    asks_expert: bool = False

    @property
    def measured_limits(self):
        """Limits of outcomes that are measured with y."""
        return [limit for limit in self.limits if limit.name != OBJECTIVE]


@dataclass(frozen=True, eq=False)
class TimeState:
    """Times of a run.

    Attributes
    ----------
    now : float
        Present time: the latest of ``passed`` and the times at which pending queries were asked
        for.
    passed : float
        Latest time told, or at which an answered query was asked for.
    next : float or None
        Time of the latest query asked for.
    kind : str or None
        Kind of the times given, numbers or dates of some kind; None before the first.
    date : tuple of (float, int), or None
        Latest date given as a number, and in nanoseconds; lost in a journal.
    resets : tuple of float
        Times of the latest observations before which the policy has dropped all others, oldest
        first. Observations older than the latest reset are not data.
    """

    now: float = -np.inf
    passed: float = -np.inf
    next: float | None = None
    kind: str | None = None
    date: tuple | None = None
    resets: tuple = ()

    @property
    def reset(self):
        """Time of the latest reset; -inf without any."""
        return self.resets[-1] if self.resets else -np.inf

    def after_reset(self, t):
        """Return the times after a reset at a time."""
        return replaced(self, resets=(*self.resets, t)[-_MAX_RESETS:])

    def in_force(self, times):
        """Return the times without the resets that are later than some time of a data set (n,).

        Such rows are back, as the observation that had removed them was taken back.
        """
        first = np.min(times, initial=np.inf)
        return replaced(self, resets=tuple(t for t in self.resets if t <= first))


@dataclass(frozen=True, eq=False)
class SearchState:
    """Age of the latest hyperparameter search.

    Attributes
    ----------
    age : int
        Observations since then.
    size : int
        Size of the data set then.
    """

    age: int = 0
    size: int = 0


class Model(NamedTuple):
    """Model of the objective, or of an outcome.

    Attributes
    ----------
    surrogate : Surrogate or None
        Conditioned on the data set; None before there are ``n_initial`` observations.
    search : SearchState
    sliced_search : Search or None
        Search of the hyperparameters that continues in the next steps; lost in a journal.
    """

    surrogate: object = None
    search: SearchState = SearchState()
    sliced_search: object = None


class Forecast(NamedTuple):
    """Posterior of f at the latest query, known from the search for it; see `_observe`.

    Attributes
    ----------
    surrogate : Surrogate
    x : ndarray of shape (d,)
    t : float
    mean, std : float
        In units of y, with the sign for maximization.
    """

    surrogate: object
    x: np.ndarray
    t: float
    mean: float
    std: float


@dataclass(frozen=True, eq=False)
class RunState:
    """State of a run between two steps.

    Attributes
    ----------
    config : RunConfig
    clock : callable
    rng : RandomState
        A step draws from a copy.
    policy : stale-data policy
        In its present state.
    policy_before : stale-data policy or None
        Its state before the latest observation; None if that is unknown.
    static_before : StaticPart or None
        Static part of the objective before the latest observation.
    objective : Model
    time : TimeState
    pending : PendingQueries
    query_sizes : tuple of (float, int)
        Times of the latest queries made with a surrogate, and sizes of the data set then.
    history : History
    data : DataSet
    forecast : Forecast or None
        Only a cache: without it, predictions are computed when an observation is told.
    setting : ndarray of shape (d + 1,), or None
        Setting of the system: the latest query, or the point that was set instead, and its time;
        None before the first.
    parts : dict of str to Part
        The capabilities that the run uses, by name, see `sktvbo.optimizers._part`.
    position : Position
        Position in its journal, if it has one.
    """

    config: RunConfig
    clock: object
    rng: np.random.RandomState
    policy: object
    policy_before: object = None
    static_before: object = None
    objective: Model = field(default_factory=Model)
    time: TimeState = field(default_factory=TimeState)
    pending: PendingQueries = field(default_factory=PendingQueries)
    query_sizes: tuple = ()
    history: History = field(default_factory=History)
    data: DataSet = field(default_factory=DataSet)
    forecast: Forecast | None = None
    setting: np.ndarray | None = None
    parts: dict = field(default_factory=dict)
    position: Position = START

    # --- parts ------------------------------------------------------------------------------------

    def part(self, name):
        """Return the part of a name, None if the run does not use it."""
        return self.parts.get(name)

    def with_part(self, part):
        """Return the run with a part instead of the one of the same name."""
        return replaced(self, parts=self.parts | {part.name: part})

    @property
    def failures(self):
        """`Failures` of queries."""
        return self.parts["failures"]

    @property
    def limiter(self):
        """`StepLimiter` of a run with a ``max_step``, or None."""
        return self.parts.get("step limit")

    @property
    def timer(self):
        """`StepTimer` of a run with a ``step_budget``, or None."""
        return self.parts.get("step budget")

    def at_moment(self, moment):
        """Return the parts (list) that override a moment, the name of a method of `Part`."""
        nothing = getattr(Part, moment)
        return [part for part in self.parts.values() if getattr(type(part), moment) is not nothing]

    def step_to(self, after, moment, *arguments):
        """Return the state after a step, with all parts updated.

        Parameters
        ----------
        after : RunState
            After it, except for the parts.
        moment : str
            Name of the method: "told" or "taken_back".
        *arguments
            Further arguments of it.
        """
        for part in self.at_moment(moment):
            new = getattr(part, moment)(self, after, *arguments)
            after = after if new is part else after.with_part(new)
        return after

    # --- the setting of the system ----------------------------------------------------------------

    def with_setting(self, x, t):
        """Return the run at a query, a row x (d,) and a time t."""
        return replaced(self, setting=np.append(x, t))

    def setting_after(self, answer):
        """Return the setting of the system after an observation or a failure."""
        if answer.query is None or answer.query.id in self.pending.untold:
            late = self.setting is not None and self.setting[-1] > answer.t  # the setting is newer
            return self.setting if late else np.append(self._nearest(answer.x), answer.t)
        # The query became the setting when it was asked for.
        if answer.asked is None or not self._is_set_to(answer.asked, answer.query.t):
            return self.setting
        return np.append(self._nearest(answer.x), answer.query.t)

    def _nearest(self, x):
        """Return the point (d,) of the domain that is nearest to a row (d,), in its context."""
        k = self.domain.n_chosen
        if (x[:k] >= self.domain.lower[:k]).all() and (x[:k] <= self.domain.upper[:k]).all():
            return x
        nearest = self.domain.from_unit(self.domain.unit_of(x[np.newaxis]))[0]
        return np.append(nearest[:k], x[k:])

    def without_query(self, after, query):
        """Return the state ``after`` a query was taken back, at the latest of the others."""
        return replaced(after, setting=after.latest) if self._is_set_to(query.x, query.t) else after

    def _is_set_to(self, x, t):
        return self.setting is not None and np.array_equal(self.setting, np.append(x, t))

    @property
    def latest(self):
        """Row (d + 1,) of the latest query, told, failed or pending; None without any.

        If several have this time, it is the one asked for last.
        """
        queries = [(entry.row, entry.query) for entry in self.history.entries]
        queries += zip(self.failures.rows, self.failures.queries)
        queries += [
            (np.append(query.x, query.t), query.id)
            for query in self.pending.unanswered
            if query.id not in self.pending.untold
        ]

        def order(each):
            (*_, t), query = each
            return t, -1 if query is None else query

        return max(reversed(queries), key=order)[0] if queries else None

    # --- configuration ----------------------------------------------------------------------------

    domain = property(attrgetter("config.domain"))
    algorithm = property(attrgetter("config.algorithm"))

    @property
    def excludes_places(self):
        """True if constraints, or limits of outcomes, exclude a part of the domain."""
        algorithm, known = self.algorithm, self.algorithm.domain
        is_constrained = isinstance(known, Domain) and known.is_constrained
        return is_constrained or algorithm.constraints is not None or bool(self.config.limits)

    @property
    def sign(self):
        """1.0, or -1.0 when minimizing: the surrogate describes a function to maximize."""
        return 1.0 if self.algorithm.maximize else -1.0

    @property
    def keeps_all(self):
        """True if no observation is ever removed from the data set."""
        unlimited = self.config.size_limit is None and self.timer is None
        return unlimited and isinstance(self.policy, KeepAll)

    @property
    def never_drops(self):
        """True if no observation is ever removed, and the policy need not be called."""
        return self.keeps_all and type(self.policy) is KeepAll

    # --- observations in the surrogate's form -----------------------------------------------------

    # Of the `Model` of the objective.
    surrogate = property(attrgetter("objective.surrogate"))
    search = property(attrgetter("objective.search"))
    sliced_search = property(attrgetter("objective.sliced_search"))

    def with_objective(self, **changes):
        """Return the run with changes of the model of its objective."""
        return replaced(self, objective=self.objective._replace(**changes))

    @property
    def query_surrogate(self):
        """Surrogate for queries: with an expert's answers if there are any."""
        expert = self.parts.get("expert")
        return (expert and expert.surrogate) or self.objective.surrogate

    @property
    def outlier_weights(self):
        """Weights of the observations in the data set by position; empty if not robust."""
        weights = getattr(self.surrogate, "outlier_weights_", None)
        return {} if weights is None else dict(zip(self.data.positions.tolist(), weights.tolist()))

    @property
    def shown(self):
        """Observations that users see: the latest ``history`` of them."""
        return self.history.latest(self.algorithm.history)

    def rows(self, entries):
        """Return queries and times (n, d + 1) of some observations."""
        return np.array([entry.row for entry in entries]).reshape(-1, self.domain.n_dims + 1)

    def to_surrogate(self, rows, y):
        """Return rows and values in the surrogate's form: X (n, u + 1) and y (n,)."""
        X = np.column_stack([self.domain.unit_of(rows[:, :-1]), rows[:, -1]])
        y = np.array(y, dtype=np.float64)
        return X, y if self.algorithm.maximize else -y

    def latest_observations(self, n):
        """Return the latest n observations in the surrogate's form."""
        entries = self.history.latest(n)
        return self.to_surrogate(self.rows(entries), [entry.y for entry in entries])

    @property
    def periods(self):
        """Periods (tuple) of the seasons of the default surrogate."""
        algorithm = self.algorithm
        return numeric_periods(self.config.seasonal_periods, algorithm.time_unit, algorithm)

    # --- pending queries --------------------------------------------------------------------------

    @property
    def begin(self):
        """Time of the first stored observation, None without any."""
        return self.history.log[0].row[-1] if len(self.history.log) else None

    @property
    def pending_now(self):
        """Queries (tuple) without an answer that have not expired, oldest first."""
        return self.pending.at(self.time.now)

    # --- time -------------------------------------------------------------------------------------

    def read_time(self, t):
        """Return a time as a float, and the state with its kind; None reads the clock."""
        is_given = t is not None
        if not is_given:
            t = self.clock(self.history.n_told + self.failures.total, self.time.now)
        kind, number = as_time(t, self.algorithm.time_unit)
        state = self if kind == self.time.kind else self._with_kind(kind, number, is_given)
        return number, state if kind == NUMBERS else state._with_date(t, number)

    def read_times(self, t, n):
        """Return one time, or n of them, as an array (n,), and the state as `read_time`."""
        if t is None:
            t, state = self.read_time(t)
            return np.full(n, t), state
        kind, t = as_times(t, n, self.algorithm.time_unit)
        return t, self if kind == self.time.kind else self._with_kind(kind, t, True)

    def shown_time(self, t):
        """Return a time as text, a date where dates were given."""
        if self.time.kind in (None, NUMBERS):
            return f"{t:.15g}"
        return str(dates_of(np.array([t]), self.algorithm.time_unit)[0])

    def _with_kind(self, kind, t, is_given):
        """Return the state with a kind of times, which never changes afterwards.

        Among dates, numbers that the run itself has returned, as in ``told_X_``, are allowed.
        """
        if self.time.kind is None:
            self.check_seasons(kind)
            return replaced(self, time=replaced(self.time, kind=kind))
        if kind == NUMBERS and is_given and np.isin(t, self._shown_times).all():
            return self
        name, advice = "t", ""
        if not is_given:
            name = "The time of the clock"
            advice = "Give t, or another clock, such as clock=lambda: datetime.now(timezone.utc)."
        where = "the earlier times of this run"
        raise mixed_kinds(name, self.time.kind, kind, where, advice, InvalidObservationError)

    def _with_date(self, date, number):
        """Return the state after a date; its number must differ from that of another date."""
        latest, exact = self.time.date, (number, nanoseconds(np.asarray(date).reshape(-1)[0]))
        if latest is not None and latest[0] == number and latest != exact:
            raise merged("t", InvalidObservationError)
        return self if latest == exact else replaced(self, time=replaced(self.time, date=exact))

    def check_seasons(self, kind):
        """Raise a ValueError if times of a kind have no default seasons."""
        if kind == NUMBERS and is_auto(self.config.seasonal_periods):
            expected = "None or periods if times are numbers"
            advice = (
                "Give dates as t, or a clock that returns dates, or seasonal_periods=['1D', '7D'] "
                "with the right time_unit."
            )
            raise invalid("seasonal_periods", expected, "auto", self.algorithm, advice=advice)

    @property
    def _shown_times(self):
        """Times of observations, pending queries and failures."""
        times = [self.time.now, *(query.t for query in self.pending.queries)]
        times += [entry.row[-1] for entry in self.history.log]
        times += [row[-1] for row in self.data.rows]
        return np.array([*times, *self.failures.rows[:, -1]])

    def read_present_time(self, t):
        """Return the result of `read_time` for a time that must not be before an earlier one."""
        t, state = self.read_time(t)
        if t < self.time.now:
            advice = "Tell a late observation with tell(x, y, t)."
            if state.time.kind == NAIVE:
                advice += (
                    " Local times go back when daylight saving time ends: give dates with a time "
                    "zone, such as datetime.now(timezone.utc)."
                )
            raise invalid_observation(
                "t", f"at least {self.time.now}, the latest time asked or told", t, advice=advice
            )
        return t, state


def made_until(t, queries):
    """Return the queries (time, size), in order, that were made until a time."""
    if not queries or queries[-1][0] <= t:
        return queries
    return tuple(query for query in queries if query[0] <= t)


def n_stored(history):
    """Return the number of observations to store for a parameter ``history``; None: all."""
    return None if history is None else max(history, _MIN_STORED)


def too_few(caller, run, least):
    """Return the error of a call that needs at least some observations."""
    return invalid(
        f"The number of observations before {caller}",
        f"at least {least}",
        got=str(run.history.n_told),
        advice="Tell some more first.",
        error=AskTellError,
    )
