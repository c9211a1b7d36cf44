"""Small parts, of one class each.

They determine queries (start points, cancelled inputs, visits of members, exploration, the answers
of an expert), or warn (of an overconfident surrogate, of answers that miss their queries).
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import bdtri, ndtri
from sklearn.gaussian_process.kernels import ConstantKernel

from .._values import distinct_rows, replaced
from .._warnings import warn_caller
from ..acquisition._optimize import N_CANDIDATES
from ..domain import Arms
from ..exceptions import OverconfidenceWarning, UnansweredQueryWarning
from ..gaussian_process import WeightedTimeVaryingGPRegressor
from ..gaussian_process._regressor import as_estimator
from ..staleness import KeepAll
from ._models import can_be_searched, times_of
from ._part import Optimum, Part
from ._places import at_place, of_time
from ._report import logger
from ._step_limiter import neighbourhood

# --- start points, and initial points -------------------------------------------------------------

# An initial point after the first is the most distant of this many Sobol points.
_N_SPREAD = 16

# Initial points are within this part of each range around the first start point.
_NEAR_START = 0.2


@dataclass(frozen=True, eq=False)
class Start(Part):
    """Start points, which come first, and with ``n_initial_points="auto"`` the initial points.

    Every run has this part: `_suggest` takes the `next` start point before all other queries.
    `_begin` and `Limits` read ``n_asked``.

    Attributes
    ----------
    n_asked : int
        Number of start points that were queried, or cannot be reached.
    """

    n_asked: int = 0

    name = "start"

    @classmethod
    def of(cls, config):
        return cls()

    def next(self, run, t):
        """Return the row (d,) of a start point, or on the way to it, or None; and the part."""
        points, n = run.config.start_points, self.n_asked
        while n < len(points):
            x = aim = points[n]
            if not len(allowed_in_context(run.domain, aim[np.newaxis])):
                break  # a later query may be allowed to take it
            for part in run.at_moment("towards"):
                x = None if x is None else part.towards(run, t, x)
            if x is None or np.array_equal(x, aim):
                n += 1
            if x is not None:
                return x, replaced(self, n_asked=n)
        return None, self if n == self.n_asked else replaced(self, n_asked=n)

    def sampler(self, choice, space, draw):
        """Return a sampler of initial points: the middle, then points far from all others.

        The others are observations, failures, pending queries and those of the same step. The
        points are within reach; with start points they are near the first one, and none is in the
        middle.
        """
        run = choice.run
        if run.surrogate is not None or not run.config.spreads_initial:
            return draw
        if run.limiter is None:
            points = allowed_in_context(run.domain, run.config.start_points)
            if len(points):
                space = neighbourhood(run.domain, space, points[0], _NEAR_START)
        if not (len(run.config.start_points) or len(choice.places_of(run.data.rows))):
            return central(space)
        return distant(choice, space, lambda n, rng: drawn(space, n, rng))


def allowed_in_context(domain, points):
    """Return those of some points (k, d) that may be queried in the present context."""
    space = domain.search_space()
    if domain.n_chosen < domain.n_dims:
        points = points[domain.queryable(points)]
    if space.limited:  # to fixed or available values of this query
        points = points[space.allowed(domain.unit_of(points))]
    return points


def central(space):
    """Return a sampler of rows in the middle of a space, or nearest to it.

    Coordinates without a middle are drawn at random: categories, arms and angles.
    """
    domain, middle = space.domain, 0.5 * (space.lower + space.upper)
    has_middle = ~np.isin(domain.kinds, ("cyclic", "unordered")) & (not isinstance(domain, Arms))
    free = np.flatnonzero(domain.unit_mask(has_middle))

    def sample(n, rng):
        places = rng.permutation(space.candidates(N_CANDIDATES, rng))
        if space.members is None:
            moved = places.copy()
            moved[:, free] = middle[free]
            moved = space.projected(space.nearest(moved))
            places = np.vstack([moved[space.allowed(moved)], places])
        gaps = np.linalg.norm(places[:, free] - middle[free], axis=1)
        return space.decode(places[np.argsort(gaps, kind="stable")[:n]])

    return sample


def drawn(space, n, rng):
    """Return random inputs (m, u) of a space, of which n distant ones will be chosen."""
    return rng.permutation(space.candidates(_N_SPREAD * n, rng))[: _N_SPREAD * n]


def distant(choice, space, draw):
    """Return a sampler of rows from the inputs that ``draw`` returns.

    Those with most new categories come first, and among these the most distant.
    """
    others = choice.places_of(choice.run.data.rows)

    def sample(n, rng):
        places = draw(n, rng)
        distances = gaps(places, others, space.domain.n_unit)
        order = np.lexsort((-distances, -n_new_categories(places, others, space.domain)))
        return space.decode(places[order[:n]])

    return sample


def n_new_categories(places, others, domain):
    """Return the number (m,) of categories of inputs (m, u) that none of the others has."""
    columns = np.array([column for each in domain.categories for column in each], dtype=int)
    new = columns[~(others[:, columns] > 0.0).any(axis=0)]
    return np.count_nonzero(places[:, new] > 0.0, axis=1)


def gaps(places, others, k):
    """Return distances (m,) of inputs from the nearest of others, in the first k coordinates."""
    # Arms have no distance: all others are equally far.
    steps = np.minimum(np.abs(places[:, np.newaxis, :k] - others[:, :k]), 1.0)
    return np.linalg.norm(steps, axis=2).min(axis=1, initial=np.inf)


# --- cancelled inputs -----------------------------------------------------------------------------

# Reals nearer than this part of each range to a cancelled input are avoided as well.
_LEFT_ALONE = 0.05

# Cancelled queries stored, the latest.
_MAX_CANCELLED = 100


@dataclass(frozen=True, eq=False)
class Cancelled(Part):
    """Inputs of cancelled queries, at which a simulation may crash.

    Queries avoid them at the time at which they were asked for, and for less than the usual
    interval between observations, unless they are told or announced.

    Attributes
    ----------
    rows : ndarray of shape (m, d + 1)
        The inputs, and the times at which they were asked for.
    """

    rows: np.ndarray

    name = "cancelled"

    @classmethod
    def of(cls, config):
        return cls(np.empty((0, config.domain.n_dims + 1)))

    def narrow(self, choice, space):
        if not (choice.is_query and len(self.rows)):
            return space
        run, waiting = choice.run, {query.x.tobytes() for query in choice.run.pending_now}
        ages, interval = choice.t - self.rows[:, -1], times_of(run, [choice.t]).interval
        near = (ages == 0.0) | ((ages > 0.0) & (ages < interval))
        near &= [row[:-1].tobytes() not in waiting for row in self.rows]
        if not near.any():
            return space
        return space.avoiding(run.domain.unit_of(self.rows[near, :-1]), _LEFT_ALONE)

    def told(self, run, after, answer):
        elsewhere = (self.rows[:, :-1] != answer.x).any(axis=1)
        return self if elsewhere.all() else replace(self, rows=self.rows[elsewhere])

    def taken_back(self, run, after, query):
        if query.id < 0:  # an observation
            return self
        rows = np.vstack([self.rows, np.append(query.x, query.asked)])
        return replace(self, rows=rows[-_MAX_CANCELLED:])

    def continued(self, run, new, change):
        return replace(self, rows=change.rows(run.part(self.name).rows))


# --- visits of categories and members -------------------------------------------------------------

# Members of a small space, queries from visit to visit, and observations for which a visit counts.
# For a larger space also the repetitions at one input that lead to a visit, and the observations
# considered. Observations for which a visit of a failing member counts.
_FEW_MEMBERS, _VISIT_EVERY, _LASTS = 20, 5, 50
_MANY_MEMBERS, _VISIT_MANY_EVERY, _MIN_REPEATS, _N_LATEST = 1000, 40, 4, 1000
_FAILING_LASTS = 150

# Kinds of numbers without steps.
_NUMBERS = "straight", "curved", "cyclic"

# Within this number of queries each category is tried this often, as the best values of other
# parameters may differ between categories. Later ones are tried once, at every fifth query.
_TRIED_BY, _N_TRIALS = 30, 4


class Visits(Part):
    """Visits of categories and members; failed and pending queries count as visits."""

    name, is_stored = "visits", False

    @classmethod
    def of(cls, config):
        return cls() if config.visits_members else None

    def narrow(self, choice, space):
        """Return the categories, or the members, that are due; the space if there are none."""
        if not choice.is_query or choice.surrogate is None:
            return space
        is_early = choice.number < _TRIED_BY
        if is_early or _is_turn(choice, _VISIT_EVERY):
            part = _with_rare_categories(choice, space, _N_TRIALS if is_early else 1)
            if part is not space:
                return part
        size, every, turn = space.reachable.size, _VISIT_EVERY, False
        if not 1 < size <= _MANY_MEMBERS:
            return space
        if size > _FEW_MEMBERS:
            every = _VISIT_MANY_EVERY
            turn = not choice.queries and _is_repeated(choice.run.history.entries)
        if not (turn or _is_turn(choice, every)):
            return space
        members = space.candidates(_MANY_MEMBERS)
        latest, fails = _latest_visits(choice, members), choice.fails(members)
        prior = choice.run.algorithm._prior
        if prior is not None:  # earlier runs have visited the others
            latest[(latest < 0) & ~prior.may_be_best(space.decode(members))] = 0
        # Count up to the next turn: no member becomes due before it.
        n, is_few = choice.run.history.total + every, size <= _FEW_MEMBERS
        least = np.where(fails, _FAILING_LASTS, _LASTS if is_few else 0)
        due = latest < n - np.maximum((n + 1) // 2, least)
        due = np.where(latest < 0, ~fails | (due & is_few), due)
        due &= latest == latest[due].min(initial=n)
        return space.among(members[due]) if due.any() else space


def _is_turn(choice, every):
    """Return True for one of each ``every`` successive queries."""
    return choice.number % every == every - 1


def _with_rare_categories(choice, space, n_trials):
    """Return the part of a space with categories that were tried less than ``n_trials`` times.

    It is the space if there are none. A category with fewer members is tried once for each. All are
    tried once before any is tried again, and again only where success is probable.
    """
    categories = space.domain.categories
    if not categories:
        return space
    latest = choice.run.history.latest(_N_LATEST)
    tried = np.count_nonzero(choice.places_of([entry.row for entry in latest]), axis=0)
    prior = choice.run.algorithm._prior
    if prior is not None and choice.number < _TRIED_BY:  # earlier runs have tried the others
        tried[~prior.may_have_best(space.domain)] = n_trials
    is_whole = space.is_whole and choice.chance is None
    for columns in categories:
        n, needed = tried[columns], min(n_trials, space.domain.size / len(columns))
        if (n >= needed).all():
            continue
        if is_whole:
            rare = n == 0 if (n == 0).any() else n < needed
        else:
            rare = _rare_and_allowed(choice, space, columns, n, needed)
        if rare.any():
            upper = space.upper.copy()
            upper[columns[~rare]] = 0.0
            space = space.within(space.lower, upper)
    return space


def _rare_and_allowed(choice, space, columns, n, needed):
    """Return which categories (k,), tried n (k,) times, are rare and not excluded from a space."""
    places = space.candidates(N_CANDIDATES)
    places = places[~choice.fails(places)]
    rare = places[:, columns].any(axis=0) & (n == 0)
    if not rare.any():
        rare = places[choice.succeeds(places)][:, columns].any(axis=0) & (n < needed)
    return rare


def _latest_visits(choice, members):
    """Return the number (m,) of observations before the latest visit of members (m, u).

    It is -1 without a visit. A visit in another category of a context does not count; for contexts
    of numbers, visits in all of them do.
    """
    run = choice.run
    n, history, failures = run.history.total, run.history, run.failures
    entries = history.latest(_N_LATEST)
    places = choice.places_of([entry.row for entry in entries])
    counts = np.full(len(places), n)
    visits = [*history.positions[len(history.positions) - len(entries) :], *failures.n_before]
    counts[: len(visits)] = visits
    compared = np.ones(run.domain.n_unit, dtype=bool)
    compared[run.domain.unit_mask(np.isin(run.domain.kinds, _NUMBERS))] = False
    order = np.argsort(-counts, kind="stable")
    places, first = distinct_rows(places[order][:, compared])
    is_at = np.isclose(members[:, np.newaxis, compared], places).all(axis=2)
    return np.where(is_at, counts[order][first], -1).max(axis=1, initial=-1)


def _is_repeated(entries):
    """Return True if the latest observation was the n-th at its point, n = 4, 8, 16, ...."""
    if len(entries) < _MIN_REPEATS or (entries[-1].row[:-1] != entries[-2].row[:-1]).any():
        return False
    places = np.array([entry.row[:-1] for entry in entries[-_N_LATEST:]])
    n = np.count_nonzero((places == places[-1]).all(axis=1))
    return n >= _MIN_REPEATS and n.bit_count() == 1


# --- exploration ----------------------------------------------------------------------------------

# Number of the latest observations near which nothing is explored, and the prior correlation of an
# input with a near one: that of a Matérn kernel at a distance of one lengthscale is about this.
_N_RECENT, _CORRELATED = 60, 0.5


@dataclass(frozen=True, eq=False)
class Exploration(Part):
    """A share of the queries, at a random input that is far from the latest ones.

    After a long time without observed changes, a surrogate predicts that inputs far from the
    optimum are still worse. Only a query there can show an improvement. The most uncertain inputs
    would be at the faces of the domain, near which there is less to be found. If all inputs are
    near the latest 60 observations, failures or pending queries, or the others probably violate a
    limit or fail, the query is chosen as usual.

    Attributes
    ----------
    share : float
    """

    share: float

    name, is_stored = "exploration", False

    @classmethod
    def of(cls, config):
        share = config.exploration
        return cls(share) if share else None

    def choose(self, choice, space):
        n = choice.number
        if not choice.is_query or int(self.share * (n + 1)) == int(self.share * n):
            return None
        places = _far_inputs(choice, space)
        if not len(places):
            return None
        return Optimum(space.decode(places[[choice.rng.randint(len(places))]])[0], choice.t)


def _far_inputs(choice, space):
    """Return candidates (m, u) far from the latest queries that probably succeed."""
    n = choice.effort.get("n_candidates", N_CANDIDATES)
    places = space.candidates(n, choice.rng)
    latest = choice.run.history.latest(_N_RECENT)
    known = choice.places_of([entry.row for entry in latest])
    if len(places):
        kernel = choice.surrogate.spatial_kernel_
        near = kernel(places, known) > _CORRELATED * kernel.diag(places)[:, np.newaxis]
        places = places[~near.any(axis=1)]
    chance = choice.chance
    return places if chance is None or not len(places) else places[chance.succeeds(places)]


# --- answers of an expert -------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Expert(Part):
    """Answers of an expert for the next query; an observation or a failure drops them.

    `RunState.query_surrogate` is the surrogate of this part if it has answers. `SparQGPUCB` asks.

    Attributes
    ----------
    X : ndarray of shape (q, d + 1)
        Inputs and time of the answers.
    y : ndarray of shape (q,)
    surrogate : Surrogate or None
        Conditioned on the answers, and on the data set; None without answers.
    asked_at : float or None
        Time at which the expert was last asked.
    """

    X: np.ndarray
    y: np.ndarray
    surrogate: object = None
    asked_at: float | None = None

    name = "expert"

    @classmethod
    def of(cls, config):
        if not config.asks_expert:
            return None
        return cls(np.empty((0, config.domain.n_dims + 1)), np.empty(0))

    def without_answers(self):
        """Return the part after the answers were used."""
        return replaced(self, X=self.X[:0], y=self.y[:0], surrogate=None)

    def told(self, run, after, answer):
        return self.without_answers()

    def taken_back(self, run, after, query):
        return self if after.data is run.data else self.without_answers()

    def continued(self, run, new, change):
        return run.part(self.name)


def without_answers(run):
    """Return the run without answers of an expert."""
    expert = run.part(Expert.name)
    return run if expert is None else run.with_part(expert.without_answers())


# --- warnings -------------------------------------------------------------------------------------

# Successive residuals of a test, and its probability of a false alarm if the model is right.
_N_RESIDUALS, _FALSE_ALARM = 50, 1e-6

# Half of the residuals are larger than this, 1.30, with that probability; 0.67 is usual.
_HALF = _N_RESIDUALS // 2
_LARGE = -ndtri(0.5 * bdtri(_HALF - 1, _N_RESIDUALS, 1.0 - _FALSE_ALARM))


@dataclass(frozen=True, eq=False)
class Calibration(Part):
    """Calibration of a run's predictions, with one warning if the latest residuals are too large.

    In a residual r_i = (y_i − μ_i) / s_i, μ_i and s_i² are mean and variance of y_i, with noise,
    given all observations before it. If the model is right, y_i given these is Gaussian with this
    mean and variance, whatever queries were made. So the r_i are standard normal and independent,
    and of 50 of them at least 25 are beyond ±1.30 with probability 1e-6.

    The number of large residuals is robust to single ones; their mean square is not. In the first
    50 steps, hyperparameters learnt from few observations lead to one or two residuals of 10
    standard deviations and more, and so does the first 1 after zeros in 0/1 rewards. With learnt
    hyperparameters more residuals are large than with the right ones: at most 22 of 50 in 86 runs
    of ``benchmarks/decisions/calibration.py``, of which none warns.

    Small residuals give no warning. Residuals below 0.5 are usual if the function is smoother than
    the model or has no noise, and only cost exploration.

    Attributes
    ----------
    has_warned : bool
    """

    has_warned: bool = False

    name = "calibration"

    @classmethod
    def of(cls, config):
        return cls()

    def told(self, run, after, answer):
        if self.has_warned or answer.y is None:
            return self
        last = after.history.log[-1]
        if last.predicted is None:
            return self
        mean, std = last.predicted
        if not abs(last.y - mean) > _LARGE * std:
            return self
        latest = after.history.latest(_N_RESIDUALS)
        if len(latest) < _N_RESIDUALS or any(entry.predicted is None for entry in latest):
            return self
        residuals = [abs(entry.y - entry.predicted[0]) / entry.predicted[1] for entry in latest]
        if sum(residual > _LARGE for residual in residuals) < _HALF:
            return self
        size = float(np.median(residuals))
        message = (
            f"Half of the last {_N_RESIDUALS} observations differ from their predictions by more "
            f"than {size:.3g} times the predicted standard deviation, where 0.67 is usual: the "
            f"surrogate is overconfident. {_remedies(run)}to_frame() has predictions and residuals."
        )
        logger.warning(message, extra={"sktvbo": {"event": "miscalibrated", "median": size}})
        warn_caller(message, OverconfidenceWarning)
        return replaced(self, has_warned=True)

    def continued(self, run, new, change):
        return run.part(self.name)


def _remedies(run):
    """Return known faults of the model of an overconfident run, with remedies, as sentences."""
    surrogate, sentences = run.surrogate, []
    if not can_be_searched(surrogate):
        sentences.append("It learns no hyperparameters (optimizer=None): give a larger noise. ")
    elif run.config.refit_every is None:
        sentences.append("Its hyperparameters are held: use refit_every='auto' or refit(). ")
    elif str(getattr(run.config.surrogate, "noise_variance_bounds", "")) == "fixed":
        sentences.append("Its noise is fixed: learn it, with other noise_variance_bounds. ")
    is_static = isinstance(getattr(surrogate, "temporal_kernel_", None), ConstantKernel)
    weighs = isinstance(as_estimator(surrogate), WeightedTimeVaryingGPRegressor)
    if is_static and type(run.policy) is KeepAll and not weighs:
        sentences.append("It models a function that never changes: WDBO forgets. ")
    return "".join(sentences)


# Queries that are passed over before the warning.
_MANY = 10


@dataclass(frozen=True, eq=False)
class Unanswered(Part):
    """Pending queries that were passed over by observations which answer none.

    Such an observation has the time of a query and another input, such as a motor's actual
    position, or its input and another time, that of the measurement. It passes over the latest
    query of its time, or else of its input. Observations that do not belong to any query do so as
    well.

    Attributes
    ----------
    passed : tuple of int
        Ids of these queries.
    has_warned : bool
    """

    passed: tuple = ()
    has_warned: bool = False

    name = "unanswered"

    @classmethod
    def of(cls, config):
        return cls()

    def told(self, run, after, answer):
        if answer.query is not None or self.has_warned:
            return self
        pending = after.pending_now
        left = [query for query in pending if query.id not in self.passed]
        earlier = [query for query in left if query.t <= answer.t]
        queries = of_time(left, answer.t, after.begin) or at_place(after.domain, answer.x, earlier)
        if not queries:
            return self
        known = {query.id for query in pending}
        passed = (*(i for i in self.passed if i in known), queries[-1].id)
        if len(passed) < _MANY:
            return replaced(self, passed=passed)
        warn_caller(
            f"{_MANY} queries are pending whose times or points were told, but not both: "
            "tell(x, y, t) answers a query of the time t, and x may be rounded by a hundredth of "
            "each range. Other queries keep away from pending ones. Tell the handle of suggest(t): "
            "tell(query, y), with t=... for the time of the measurement and x=... for the point "
            "that was set. If these observations answer no query, ignore this.",
            UnansweredQueryWarning,
        )
        return replaced(self, passed=(), has_warned=True)

    def continued(self, run, new, change):
        return run.part(self.name)
