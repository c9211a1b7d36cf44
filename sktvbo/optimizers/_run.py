"""The state of a run: a value, which each step replaces by the next one.

Nothing here is changed in place, but for the clock, which starts when it is first read. A step that
fails half-way has therefore not happened.
"""

import copy
from dataclasses import dataclass, field, replace
from functools import partial
from time import monotonic

import numpy as np
from sklearn.base import clone

from .._checks import check_rows, finite_number, invalid
from .._maximizer import TimeWindow, maximize, maximize_joint
from .._score import Score
from .._threads import blas_threads
from ..acquisition import AcquisitionState, PosteriorMean
from ..exceptions import AskTellError, InvalidObservationError
from ..staleness import RunSoFar
from ._log import Log, Told
from ._surrogates import Times

# At most this many queries are remembered until they are told.
_MAX_PENDING = 1024

# A new query keeps away from at most this many pending ones, the latest.
_MAX_HALLUCINATED = 32

# The sampling interval is taken from this many observations, the latest.
_N_RECENT = 50

# Below this many observations (or n_initial_points) the hyperparameters are not searched, nor is
# the scale of y taken from them.
_MIN_TO_LEARN = 10


@dataclass(frozen=True)
class Run:
    """What a run holds between two steps.

    Attributes
    ----------
    algorithm : BayesianOptimizer
        The optimizer as it was when the run began, for its parameters.
    make_surrogate, latest_query_time : callable
        Its hooks of these names.
    searches_for_the_past : bool
        Whether an observation from before all others makes a search of the hyperparameters.
    domain, clock, acquisition
        Made of its parameters.
    policy : stale-data policy
        With what it has learnt in the run.
    rng : RandomState
        A step draws from a copy.
    surrogate : Surrogate or None
        Of the data set; None until there are ``n_initial_points`` observations.
    now : float
        Latest time asked or told.
    next_time : float or None
        Time of the latest query asked for.
    since_search : int
        Observations since the hyperparameters were searched.
    pending : tuple of (ndarray, float)
        Queries and their times, not told yet.
    queries : tuple of (float, int)
        Times of the latest queries made with a surrogate, and sizes of the data set then.
    told : Log of Told
    kept : ndarray of int
        Positions of the data set among all that was told.
    """

    algorithm: object
    make_surrogate: object
    latest_query_time: object
    searches_for_the_past: bool
    domain: object
    clock: object
    acquisition: object
    policy: object
    rng: np.random.RandomState
    surrogate: object = None
    now: float = -np.inf
    next_time: float | None = None
    since_search: int = 0
    pending: tuple = ()
    queries: tuple = ()
    told: Log = field(default_factory=Log)
    kept: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=np.intp))

    # --- what an algorithm with more to remember may override -------------------------------------

    @property
    def belief(self):
        """The surrogate that queries are made with."""
        return self.surrogate

    @property
    def holds_when_few(self):
        """Whether few observations hold the hyperparameters, or borrow forgotten ones to search."""
        return False

    def after_telling(self, x, y, t=None):
        """The run with an observation at a row x (d,) of the domain; t None: when it was asked."""
        # Of several queries of one point the one at that time is answered, or else the oldest.
        same = [i for i, (point, _) in enumerate(self.pending) if np.array_equal(point, x)]
        answered = min(same, key=lambda i: self.pending[i][1] != t, default=None)
        if t is None:
            if answered is None:
                advice = "Give the time of the observation: tell(x, y, t)."
                raise _not_pending(x, " when no t is given", advice)
            t = self.pending[answered][1]
        pending = self.pending if answered is None else _without(self.pending, answered)
        now = max(t, self.now)
        with blas_threads(len(self.kept)):
            after = self._with_observation(x, t, y, now)
        record = dict(getattr(after.policy, "record", dict)() or {})
        removed = np.setdiff1d(np.append(self.kept, len(self.told)), after.kept)
        entry = Told(np.append(x, t), y, now, len(after.kept), removed, record)
        return replace(after, now=now, pending=pending, told=self.told.append(entry))

    # --- time -------------------------------------------------------------------------------------

    def time(self, t):
        """A time as a float; None reads the clock."""
        return finite_number(
            self.clock(len(self.told)) if t is None else t, "t", InvalidObservationError
        )

    def forward_time(self, t):
        """A time that is not before an earlier one."""
        t = self.time(t)
        if t < self.now:
            raise invalid(
                "t",
                f"at least {self.now}, the latest time asked or told",
                t,
                advice="A late observation is told with tell(x, y, t).",
                error=InvalidObservationError,
            )
        return t

    # --- querying ---------------------------------------------------------------------------------

    def after_asking(self, t, size, until=np.inf):
        """The run with ``size`` more queries pending, and these queries (x, time).

        They share the time until ``until``, of the monotonic clock.
        """
        rng, queries = copy.deepcopy(self.rng), self.queries
        if self.surrogate is None:
            found = [(x, t) for x in self.domain.sample(size, rng)]
        else:
            with blas_threads(len(self.kept)):
                found = self._best_queries(t, size, rng, until)
            queries = (*queries, (t, len(self.kept)))[-_MAX_PENDING:]
        pending = (*self.pending, *found)[-_MAX_PENDING:]
        after = replace(
            self, rng=rng, now=t, next_time=found[-1][1], pending=pending, queries=queries
        )
        return after, found

    def after_cancelling(self, x):
        """The run without the oldest pending query at a row x (d,)."""
        for i, (point, _) in enumerate(self.pending):
            if np.array_equal(point, x):
                return replace(self, pending=_without(self.pending, i))
        raise _not_pending(x)

    def best_mean(self, t):
        """Row (d,) where the posterior mean at time t is best."""
        with blas_threads(len(self.kept)):
            surrogate, rng = self.belief.advanced(t), copy.deepcopy(self.rng)
            return self._best_query(surrogate, PosteriorMean(), t, t, rng)[0]

    def _best_queries(self, t, size, rng, until):
        """Queries (x, time), each with the pending ones and those before hallucinated."""
        surrogate = self.belief.advanced(t)
        pending = self.pending[-_MAX_HALLUCINATED:]
        if pending:
            surrogate = self._hallucinated(surrogate, pending)
        queries = []
        for i in range(size):
            if i:
                surrogate = self._hallucinated(surrogate, queries[-1:])
            latest = self.latest_query_time(t, surrogate, self.policy)
            now = monotonic()
            share = now + (until - now) / (size - i)
            queries.append(self._best_query(surrogate, self.acquisition, t, latest, rng, share))
        return queries

    def _hallucinated(self, surrogate, queries):
        """The surrogate with its own posterior mean observed at some queries."""
        X = np.array([np.append(self.domain.to_unit(x), t) for x, t in queries])
        return surrogate.updated(X, surrogate.predict(X), hold_scale=True)

    def _best_query(self, surrogate, acquisition, t, latest, rng, until=np.inf):
        """Where, and when between t and ``latest``, an acquisition function is largest.

        Scores are to be maximized: the surrogate was given -y when minimizing. The search ends at
        the time ``until`` of the monotonic clock.
        """
        posterior = surrogate.posterior_at(t, self.domain.continuous)
        # The latest queries are near the optimum when the optimizer has been tracking it.
        recent = surrogate.X_train_[-3:, :-1]
        if getattr(acquisition, "joint", False):
            draw = partial(posterior.sample, rng=rng)
            return maximize_joint(draw, self.domain, rng, anchors=recent), t
        state = AcquisitionState(
            len(self.kept), len(self.told), self.domain.n_dims, surrogate, posterior
        )
        score = Score(acquisition, state)
        if not latest > t:
            return maximize(score, posterior, self.domain, rng, anchors=recent, until=until), t
        row = maximize(
            score,
            surrogate.posterior_between(t, latest, self.domain.continuous),
            TimeWindow(self.domain, t, latest),
            rng,
            anchors=np.column_stack([recent, np.zeros(len(recent))]),
            until=until,
        )
        return row[:-1], float(row[-1])

    # --- learning ---------------------------------------------------------------------------------

    @property
    def sign(self):
        """1.0, or -1.0 when minimizing: the surrogate is given what is to be maximized."""
        return 1.0 if self.algorithm.maximize else -1.0

    @property
    def min_to_learn(self):
        """How many observations make a search of the hyperparameters, and a scale of y."""
        return min(self.algorithm.n_initial_points, _MIN_TO_LEARN)

    def rows(self, positions):
        """Queries and times (n, d + 1) at some positions among all that was told."""
        rows = [self.told[i].row for i in positions]
        return np.array(rows).reshape(-1, self.domain.n_dims + 1)

    def values(self, positions):
        """Observations (n,) at some positions among all that was told."""
        return np.array([self.told[i].y for i in positions], dtype=np.float64)

    def observations(self, positions):
        """Rows and values at some positions, as the surrogate sees them."""
        return self._to_surrogate(self.rows(positions), self.values(positions))

    def _to_surrogate(self, rows, y):
        X = np.column_stack([self.domain.to_unit(rows[:, :-1]), rows[:, -1]])
        return X, self.sign * np.array(y)

    def _so_far(self):
        """What a policy is told before an observation is added."""
        return RunSoFar(
            n_told=len(self.told) + 1,
            queries=self.queries,
            latest=lambda n: self.observations(range(max(len(self.told) - n, 0), len(self.told))),
        )

    def _with_observation(self, x, t, y, now):
        """The run with the surrogate, policy and data set after an observation."""
        kept = np.append(self.kept, len(self.told))
        if self.surrogate is None and len(kept) < self.algorithm.n_initial_points:
            return replace(self, kept=kept)
        row, target = self._to_surrogate(np.append(x, t)[np.newaxis], [y])
        policy = copy.copy(self.policy)
        if hasattr(policy, "watch"):
            policy.watch(self._so_far())
        if self.surrogate is None:
            surrogate, since_search = self._first_surrogate(row, target), 0
        else:
            found = policy.before_add(self.surrogate, row[0, :-1], t, target[0])
            drop = check_rows(found, len(self.kept), _rows_of(policy, "before_add"))
            kept = np.delete(kept, drop)
            surrogate, since_search = self._next_surrogate(row, target, drop, kept)
        found, name = policy.after_add(surrogate, now), _rows_of(policy, "after_add")
        drop = check_rows(found, len(kept), name)
        if len(drop) == len(kept):
            raise invalid(name, f"fewer than all {len(kept)}", got="all of them")
        if len(drop):
            kept = np.delete(kept, drop)
            surrogate = surrogate.updated(drop=drop, hold_scale=len(kept) < self.min_to_learn)
        return replace(
            self, surrogate=surrogate, policy=policy, kept=kept, since_search=since_search
        )

    def _first_surrogate(self, row, target):
        """The surrogate fitted to all that was told, and the new row."""
        X, y = self.observations(range(len(self.told)))
        X, y = np.vstack([X, row]), np.append(y, target)
        surrogate = self.algorithm.surrogate
        if surrogate is None:
            surrogate = self.make_surrogate(self._times(X[:, -1]))
        surrogate = clone(surrogate)
        if "time_column" in surrogate.get_params(deep=False):
            surrogate.set_params(time_column=-1)
        return surrogate.fit(X, y)

    def _next_surrogate(self, row, target, drop, kept):
        """The surrogate without some rows and with the new one, and the count since a search."""
        surrogate, few = self.surrogate, len(kept) < self.min_to_learn
        if not self._search_is_due(row[0, -1]) or (few and self.holds_when_few):
            surrogate = surrogate.updated(row, target, drop=drop, hold_scale=few)
            return surrogate, self.since_search + 1
        times, borrowed = np.delete(surrogate.X_train_[:, -1], drop), None
        if few:
            # What kind of function it is survives what is forgotten of its values.
            forgotten = np.setdiff1d(np.arange(len(self.told)), kept)
            borrowed = self.observations(forgotten[-(self.min_to_learn - len(kept)) :])
            times = np.append(times, borrowed[0][:, -1])
        temporal_kernel = None
        if self.algorithm.surrogate is None:
            fresh = self.make_surrogate(self._times(np.append(times, row[:, -1])))
            temporal_kernel = fresh.temporal_kernel
        surrogate = surrogate.updated(
            row,
            target,
            drop=drop,
            refit=True,
            hold_scale=few,
            learn_with=borrowed,
            temporal_kernel=temporal_kernel,
        )
        return surrogate, 0

    def _search_is_due(self, t):
        """Whether an observation at time t makes a search of the hyperparameters."""
        if getattr(self.surrogate, "optimizer", True) is None:
            return False
        if self.since_search + 1 >= self.algorithm.refit_every:
            return True
        return self.searches_for_the_past and t < self.surrogate.X_train_[:, -1].min()

    def _times(self, kept):
        """What bounds may follow, of a data set at these times, the new observation last."""
        recent = [entry.row[-1] for entry in self.told[-_N_RECENT:]]
        pending = tuple(time for _, time in self.pending)
        return Times(kept, np.array([*recent, kept[-1]]), pending)


def too_few(caller, run):
    """The error of a call that needs a surrogate, before there is one."""
    return invalid(
        f"The number of observations before {caller}",
        f"at least n_initial_points={run.algorithm.n_initial_points}",
        got=str(len(run.told)),
        advice="Tell some more first.",
        error=AskTellError,
    )


def _rows_of(policy, method):
    """How messages call what a policy's method returns."""
    return f"The rows that {type(policy).__name__}.{method} returns"


def _not_pending(x, when="", advice=""):
    expected = f"a query of ask() that is still pending{when}"
    return invalid("x", expected, got=str(x.tolist()), advice=advice, error=AskTellError)


def _without(items, i):
    return (*items[:i], *items[i + 1 :])
