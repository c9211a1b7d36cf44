"""What all optimizers share: the ask/tell contract, time, history, scaling, and atomic steps."""

import copy
from collections import deque
from dataclasses import dataclass, field
from functools import partial
from numbers import Integral, Real

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.gaussian_process.kernels import ConstantKernel, Matern
from sklearn.utils import check_random_state

from .._checks import check_positive_int
from .._maximizer import TimeWindow, maximize, maximize_joint
from .._threads import blas_threads
from ..acquisition import UCB, AcquisitionState, PosteriorMean
from ..domain import as_domain
from ..exceptions import AskTellError, DomainError, InvalidObservationError
from ..gaussian_process import TimeVaryingGPRegressor
from ..staleness import KeepAll
from ._clock import make_clock

# Queries whose time is remembered until they are told, and those that a new query keeps away from.
_MAX_PENDING, _MAX_HALLUCINATED = 1024, 32

# Observations of which the sampling interval is taken.
_N_RECENT = 50

# So many, or n_initial_points, make a search of the hyperparameters.
_MIN_TO_FIT = 10


@dataclass
class _Run:
    """State of a run. Steps build what is new first, and assign it last."""

    domain: object
    clock: object
    rng: np.random.RandomState
    surrogate: object  # None until there are n_initial_points observations
    policy: object
    acquisition: object
    now: float = -np.inf  # latest time asked or told
    next_time: float | None = None
    since_refit: int = 0
    pending: deque = field(default_factory=lambda: deque(maxlen=_MAX_PENDING))
    # Times of the latest queries made with a surrogate, and sizes of the data set then.
    asked: deque = field(default_factory=lambda: deque(maxlen=_MAX_PENDING))
    kept: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=np.intp))
    # All that was told; the data set is what stands at `kept`.
    told: list = field(default_factory=list)  # rows (x, t)
    y: list = field(default_factory=list)
    removed_at: list = field(default_factory=list)  # NaN while in the data set
    history: list = field(default_factory=list)  # a dict of numbers for each
    own: dict = field(default_factory=dict)  # an algorithm's; values are replaced, never changed


class BayesianOptimizer(BaseEstimator):
    """Optimizer of a function that changes with time, composed of three parts.

    A surrogate is conditioned on the observations, an acquisition function says where to query
    next, a stale-data policy what to forget. The named algorithms of this package are such
    compositions; this class takes any other.

    Parameters
    ----------
    domain : Box, FiniteSet, list of (low, high) pairs, scipy.optimize.Bounds, or dict
        Where queries may lie. A dict names parameters, and queries are dicts then: see
        :class:`~sktvbo.domain.ParameterSpace`.
    surrogate : TimeVaryingGPRegressor, default=None
        Sees the domain scaled to the unit box, and time in the user's unit, as last column. None is
        a ``Matern(nu=2.5)`` in space and a ``Matern(nu=1.5)`` in time on standardized
        observations.
    acquisition : callable, default=None
        As in :mod:`sktvbo.acquisition`. None is ``UCB()``.
    policy : stale-data policy, default=None
        As in :mod:`sktvbo.staleness`. None is ``KeepAll()``.
    n_initial_points : int, default=15
        Queries drawn uniformly before the surrogate is fitted. When a policy has left fewer
        observations, or fewer than 10, hyperparameters and the scale of y are found with the latest
        of the forgotten ones besides: what kind of function it is survives.
    refit_every : int, default=1
        Hyperparameters are searched at every ``refit_every``-th observation, from the present ones;
        at the others the observation is added with the hyperparameters held, O(n²).
    maximize : bool, default=True
        False to minimize.
    clock : "wall", "step" or callable, default="wall"
        Time when ``ask`` is given none: seconds since the first call, the number of observations
        told, or what the callable returns.
    random_state : int, RandomState or None, default=None

    Attributes
    ----------
    X_ : ndarray (n, d + 1)
        Data set: queries and times, in the user's units.
    y_ : ndarray (n,)
        Data set: observations, as told.
    surrogate_ : estimator or None
        None before there are ``n_initial_points`` observations.
    policy_ : stale-data policy
    n_told_, n_removed_ : int
        Observations told; observations removed from the data set.
    told_X_ : ndarray (n_told, d + 1)
        All queries and times told.
    told_y_ : ndarray (n_told,)
    removed_at_ : ndarray (n_told,)
        Time at which each was removed; NaN while it is in the data set.
    next_time_ : float or None
        Time of the latest query asked for.
    history_ : dict of str to ndarray (n_told,)
        After each ``tell``: the present time, the size n of the data set, and what the policy
        records (resets, budget, window...).

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

    def __init__(
        self,
        domain=None,
        *,
        surrogate=None,
        acquisition=None,
        policy=None,
        n_initial_points=15,
        refit_every=1,
        maximize=True,
        clock="wall",
        random_state=None,
    ):
        self.domain = domain
        self.surrogate = surrogate
        self.acquisition = acquisition
        self.policy = policy
        self.n_initial_points = n_initial_points
        self.refit_every = refit_every
        self.maximize = maximize
        self.clock = clock
        self.random_state = random_state

    # --- what an algorithm may override -------------------------------------------------------

    def _make_surrogate(self, times, recent):
        """Unfitted surrogate, when the user gives none.

        Made anew at every search of the hyperparameters, as bounds may follow ``times`` (n,), those
        of the data set, and ``recent``, the latest ones told.
        """
        return default_surrogate(smooth_kernel(times, recent))

    def _make_acquisition(self):
        """Acquisition function, when the user gives none."""
        return UCB()

    def _make_policy(self):
        """Stale-data policy."""
        return KeepAll() if self.policy is None else clone(self.policy, safe=False)

    def _latest(self, run, surrogate, t):
        """Until when the query may wait; t for at once."""
        return t

    # --- the contract ------------------------------------------------------------------------

    def ask(self, t=None, *, n_points=None, return_time=False):
        """Where to query next.

        Queries that were asked for and not told yet are pending: the surrogate takes them for
        observations of its own mean, so that a new query looks elsewhere (hallucinated
        observations, Desautels et al. 2014). The latest 32 are heeded; see ``cancel``.

        Parameters
        ----------
        t : float, default=None
            Present time, in the user's unit; None reads the clock. Never before an earlier time.
        n_points : int, default=None
            Ask for a batch of so many queries.
        return_time : bool, default=False
            Also return the time of the query.

        Returns
        -------
        x : ndarray (d,), or a dict for named parameters
            With ``n_points``: ndarray (n_points, d), or a list of dicts.
        t_query : float
            Only with ``return_time``; with ``n_points`` an ndarray (n_points,).

        Raises
        ------
        InvalidObservationError
            The time is not finite or goes backwards.
        """
        run = self._started()
        t = self._forward_time(run, t)
        size = 1 if n_points is None else n_points
        if not isinstance(size, Integral) or isinstance(size, bool) or size < 1:
            raise ValueError(f"n_points must be a positive int or None. Got {n_points!r}.")
        rng = copy.deepcopy(run.rng)
        if run.surrogate is None:
            queries = [(x, t) for x in run.domain.sample(size, rng)]
        else:
            with blas_threads(len(run.kept)):
                queries = self._queries(run, t, size, rng)
            run.asked.append((t, len(run.kept)))
        run.rng, run.now, run.next_time = rng, t, queries[-1][1]
        run.pending.extend(queries)
        if n_points is None:
            x, times = run.domain.decode(queries[0][0]), queries[0][1]
        else:
            x = run.domain.decode_all([x for x, _ in queries])
            times = np.array([time for _, time in queries])
        return (x, times) if return_time else x

    def tell(self, x, y, t=None):
        """Add an observation, search the hyperparameters, forget what is stale.

        Parameters
        ----------
        x : array-like (d,), or a dict for named parameters
            A query, asked for or not.
        y : float
            What was observed.
        t : float, default=None
            When; None is the time asked for. A late or a corrected time is welcome.

        Raises
        ------
        ValueError
            x outside of the domain, y or t not finite, wrong shapes. The optimizer is as before.
        AskTellError
            No t was given and x was not asked for.
        """
        run = self._started()
        x = run.domain.validate_point(x)
        y = _finite_float(y, "y")
        t = None if t is None else _finite_float(t, "t")
        # Of several queries of one point the one at that time, or else the oldest.
        matches = [i for i, (point, _) in enumerate(run.pending) if np.array_equal(point, x)]
        asked = min(matches, key=lambda i: run.pending[i][1] != t, default=None)
        if t is None and asked is not None:
            t = run.pending[asked][1]
        elif t is None:
            raise AskTellError(
                f"tell() without t expects a point that ask() returned, got {x.tolist()}, which is "
                "not pending. Give the time of the observation: tell(x, y, t)."
            )
        now = max(t, run.now)
        with blas_threads(len(run.kept)):
            surrogate, policy, kept, since_refit = self._absorb(run, x, t, y, now)
        record = getattr(policy, "record", dict)()

        new = len(run.told)
        run.surrogate, run.policy, run.since_refit, run.now = surrogate, policy, since_refit, now
        run.told.append(np.append(x, t))
        run.y.append(y)
        run.removed_at.append(np.nan)
        for index in np.setdiff1d(np.append(run.kept, new), kept):
            run.removed_at[index] = now
        run.kept = kept
        run.history.append({"time": now, "n": len(kept), **record})
        if asked is not None:
            del run.pending[asked]

    def cancel(self, x):
        """Withdraw a query that will not be told: others need not keep away from it any longer.

        Parameters
        ----------
        x : array-like (d,), or a dict for named parameters
            A query that was asked for; the oldest if several are the same.

        Raises
        ------
        AskTellError
            It was not asked for, or told already.
        """
        run = self._started()
        x = run.domain.validate_point(x)
        for i, (point, _) in enumerate(run.pending):
            if np.array_equal(point, x):
                del run.pending[i]
                return
        raise AskTellError(f"cancel() expects a point that ask() returned, got {x.tolist()}.")

    def recommend(self, t=None):
        """Where the posterior mean is best at a time: exploitation without exploration.

        Parameters
        ----------
        t : float, default=None
            Any time, past or future; None reads the clock.

        Returns
        -------
        x : ndarray (d,), or a dict for named parameters

        Raises
        ------
        AskTellError
            There are fewer than ``n_initial_points`` observations.
        """
        run = self._started()
        t = self._time(run, t)
        if run.surrogate is None:
            raise AskTellError(
                f"recommend() expects at least n_initial_points={self.n_initial_points} "
                f"observations, got {len(run.told)}. Tell some more first."
            )
        with blas_threads(len(run.kept)):
            surrogate, rng = self._present(run, t), copy.deepcopy(run.rng)
            x, _ = self._query(run, surrogate, PosteriorMean(), t, t, rng)
        return run.domain.decode(x)

    # --- attributes --------------------------------------------------------------------------

    @property
    def X_(self):
        run = self._started()
        return np.array([run.told[i] for i in run.kept]).reshape(-1, run.domain.n_dims + 1)

    @property
    def y_(self):
        run = self._started()
        return np.array([run.y[i] for i in run.kept], dtype=np.float64)

    @property
    def told_X_(self):
        run = self._started()
        return np.array(run.told).reshape(-1, run.domain.n_dims + 1)

    @property
    def told_y_(self):
        return np.array(self._started().y, dtype=np.float64)

    @property
    def removed_at_(self):
        return np.array(self._started().removed_at, dtype=np.float64)

    @property
    def history_(self):
        history = self._started().history
        names = dict.fromkeys(name for row in history for name in row)
        return {
            name: np.array([row.get(name) for row in history], dtype=np.float64) for name in names
        }

    @property
    def surrogate_(self):
        return self._started().surrogate

    @property
    def policy_(self):
        return self._started().policy

    @property
    def n_told_(self):
        return len(self._started().told)

    @property
    def n_removed_(self):
        run = self._started()
        return len(run.told) - len(run.kept)

    @property
    def next_time_(self):
        return self._started().next_time

    # --- inside ------------------------------------------------------------------------------

    def _started(self):
        """State of the run, made at the first call."""
        if not hasattr(self, "_run"):
            self._check_parameters()
            acquisition = self.acquisition
            self._run = _Run(
                domain=as_domain(self.domain),
                clock=make_clock(self.clock),
                # A copy of NumPy's global generator would be every optimizer's.
                rng=np.random.RandomState()
                if self.random_state is None
                else copy.deepcopy(check_random_state(self.random_state)),
                surrogate=None,
                policy=self._make_policy(),
                acquisition=self._make_acquisition() if acquisition is None else acquisition,
            )
        return self._run

    def _check_parameters(self):
        if self.domain is None:
            raise DomainError(
                f"{type(self).__name__} needs a domain before its first step: expected a Box, a "
                "FiniteSet, a list of (low, high) pairs or a dict of parameters, got None."
            )
        for name in ("n_initial_points", "refit_every"):
            check_positive_int(getattr(self, name), name, self)

    def _time(self, run, t):
        return _finite_float(run.clock(len(run.told)) if t is None else t, "t")

    def _forward_time(self, run, t):
        t = self._time(run, t)
        if t < run.now:
            raise InvalidObservationError(
                f"Time must not go backwards: expected t >= {run.now}, the latest time asked or "
                f"told, got {t}. A late observation is told with tell(x, y, t)."
            )
        return t

    def _present(self, run, t):
        """The surrogate as it is at time t: injected noise has grown."""
        return run.surrogate.advanced(t)

    def _queries(self, run, t, size, rng):
        """Queries (x, time), each with the pending ones and those before hallucinated."""
        surrogate = self._present(run, t)
        pending = list(run.pending)[-_MAX_HALLUCINATED:]
        if pending:
            surrogate = self._hallucinate(run, surrogate, pending)
        queries = []
        for i in range(size):
            if i:
                surrogate = self._hallucinate(run, surrogate, queries[-1:])
            latest = self._latest(run, surrogate, t)
            queries.append(self._query(run, surrogate, run.acquisition, t, latest, rng))
        return queries

    @staticmethod
    def _hallucinate(run, surrogate, queries):
        """The surrogate with its own posterior mean observed at some queries."""
        X = np.array([np.append(run.domain.to_unit(x), t) for x, t in queries])
        surrogate = copy.copy(surrogate)
        surrogate._update(X, surrogate.predict(X), hold_scale=True)
        return surrogate

    @staticmethod
    def _query(run, surrogate, acquisition, t, latest, rng):
        """Where, and when between t and ``latest``, an acquisition function is largest.

        Scores are to be maximized: the surrogate has seen -y when minimizing.
        """
        posterior = surrogate.posterior_at(t, run.domain.continuous)
        # The latest queries are near the optimum when the optimizer has been tracking it.
        recent = surrogate.X_train_[-3:, :-1]
        if getattr(acquisition, "joint", False):
            draw = partial(posterior.sample, rng=rng)
            return maximize_joint(draw, run.domain, rng, anchors=recent), t
        state = AcquisitionState(
            len(run.kept), len(run.told), run.domain.n_dims, surrogate, posterior
        )

        def score(mean, std):
            return acquisition(mean, std, state)

        if not latest > t:
            return maximize(score, posterior, run.domain, rng, anchors=recent), t
        row = maximize(
            score,
            surrogate.posterior_between(t, latest, run.domain.continuous),
            TimeWindow(run.domain, t, latest),
            rng,
            anchors=np.column_stack([recent, np.zeros(len(recent))]),
        )
        return row[:-1], float(row[-1])

    def _step_policy(self, run):
        """A copy of the policy, for one step to change."""
        return copy.copy(run.policy)

    def _absorb(self, run, x, t, y, now):
        """Surrogate, policy, data set and refit counter after an observation.

        Nothing of the run is changed.
        """
        kept = np.append(run.kept, len(run.told))
        row, target = self._seen(run, np.append(x, t)[np.newaxis], [y])
        if run.surrogate is None and len(kept) < self.n_initial_points:
            return None, run.policy, kept, 0
        policy = self._step_policy(run)
        if run.surrogate is None:
            surrogate, since_refit = self._first_surrogate(run, row, target), 0
        else:
            surrogate = copy.copy(run.surrogate)
            drop = np.asarray(policy.before_add(surrogate, row[0, :-1], t, target[0]), np.intp)
            kept = np.delete(kept, drop)
            since_refit = self._extend(run, surrogate, kept, drop, row, target)
        drop = np.asarray(policy.after_add(surrogate, now), np.intp)
        if len(drop):
            kept = np.delete(kept, drop)
            surrogate._hold_scale(len(kept) < self._enough)
            surrogate.forget(drop)
        return surrogate, policy, kept, since_refit

    def _first_surrogate(self, run, row, target):
        """The surrogate fitted to all that was told, and the new row."""
        X, y = self._seen(run, np.array(run.told).reshape(-1, run.domain.n_dims + 1), run.y)
        X, y = np.vstack([X, row]), np.append(y, target)
        surrogate = clone(self._fresh_surrogate(run, X[:, -1], X[-1, -1]))
        return surrogate.set_params(time_column=-1).fit(X, y)

    def _extend(self, run, surrogate, kept, drop, row, target):
        """Drop rows from the surrogate, append the new one, search if it is time; refit counter."""
        since_refit, few = run.since_refit + 1, len(kept) < self._enough
        search = since_refit >= self.refit_every and surrogate.optimizer is not None
        if not search or (few and self._holds(run)):
            surrogate._update(row, target, drop=drop, hold_scale=few)
            return since_refit
        borrowed = 0
        if few:
            # What kind of function it is survives what is forgotten of its values.
            forgotten = np.setdiff1d(np.arange(len(run.told)), kept)
            borrowed = min(self._enough - len(kept), len(forgotten))
            latest = forgotten[len(forgotten) - borrowed :]
            told, y = [run.told[i] for i in latest], [run.y[i] for i in latest]
            X, y = self._seen(run, np.reshape(told, (borrowed, -1)), y)
            row, target = np.vstack([X, row]), np.append(y, target)
        times = np.append(np.delete(surrogate.X_train_[:, -1], drop), row[:, -1])
        fresh = self._fresh_surrogate(run, times, row[-1, -1])
        surrogate.temporal_kernel = fresh.temporal_kernel
        surrogate._update(row, target, drop=drop, refit=True)
        if few:
            surrogate._hold_scale(True)
            surrogate.forget(len(kept) - 1 + np.arange(borrowed))
        return 0

    def _holds(self, run):
        """Whether hyperparameters are rather held than searched with forgotten observations."""
        return False

    @property
    def _enough(self):
        """How many observations make a search of the hyperparameters, and a scale of y."""
        return min(self.n_initial_points, _MIN_TO_FIT)

    def _seen(self, run, told, y):
        """What the surrogate sees of rows (m, d + 1) and observations (m,)."""
        X = np.column_stack([run.domain.to_unit(told[:, :-1]), told[:, -1]])
        return X, np.array(y) * (1.0 if self.maximize else -1.0)

    def _fresh_surrogate(self, run, times, t):
        """The user's surrogate, or the algorithm's own for a data set at these times."""
        if self.surrogate is not None:
            return self.surrogate
        recent = np.array([row[-1] for row in run.told[-_N_RECENT:]] + [t])
        return self._make_surrogate(times, recent)


def default_surrogate(temporal_kernel, kind=TimeVaryingGPRegressor, **options):
    """Matérn 5/2 in space, with bounds for the unit box and standardized observations.

    The bounds are close to those of TuRBO (Eriksson et al. 2019), and matter more than they seem
    to: after the function has jumped, or when all recent queries are at one place, the likelihood
    alone is content with a lengthscale of many boxes, and exploration ends.
    """
    return kind(
        Matern(length_scale=0.5, length_scale_bounds=(0.01, 2.0), nu=2.5),
        temporal_kernel,
        signal_variance_bounds=(0.05, 20.0),
        noise_variance_bounds=(1e-4, 1.0),
        normalize_y=True,
        **options,
    )


def static_surrogate(**options):
    """The default surrogate of a function that does not change."""
    return default_surrogate(ConstantKernel(1.0, "fixed"), **options)


def smooth_kernel(times, recent, nu=1.5):
    """Matérn in time, of at least five sampling intervals and at most ten times the span.

    What changes faster than that cannot be tracked by one query an interval. Without the lower
    bound a few odd observations make the likelihood believe in pure change: each interval then buys
    the removal of what little is known, and what is left supports no better belief.
    """
    gaps = np.diff(np.unique(recent))
    lowest = 5.0 * (np.median(gaps) if gaps.size else 1.0)
    bounds = (lowest, max(10.0 * np.ptp(times), 2.0 * lowest))
    return Matern(np.clip(0.25 * np.ptp(times), *bounds), bounds, nu=nu)


def _finite_float(value, name):
    if not isinstance(value, Real):
        array = np.asarray(value)
        if array.size != 1 or array.dtype.kind not in "iuf":
            raise InvalidObservationError(f"{name} must be one real number. Got {value!r} instead.")
        value = array.reshape(())[()]
    try:
        number = float(value)
    except OverflowError:  # an int or a fraction beyond the largest float
        number = np.inf
    if not np.isfinite(number):
        raise InvalidObservationError(f"{name} must be finite. Got {value} instead.")
    return number
