"""Measured limits: outcomes beside the objective, and the probability that all limits hold.

Each outcome has a surrogate like the objective's, with hyperparameters of its own, on the same
rows. It is updated by the same functions, applied to a `view` of the run in which the outcome takes
the place of y. Limits apply to the outcomes without noise.
"""

import math
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri, ndtri_exp
from sklearn.utils import check_random_state

from .._fast.limits import Limits, excess, log_weights, within
from .._tables import as_table, frame_columns
from .._validation import LARGEST_Y, check_size, finite_number, invalid, real_array
from .._values import replaced
from ..acquisition._compiled import ManyPlaces
from ..acquisition._optimize import N_CANDIDATES, last_feasible
from ..domain._search_space import SearchSpace
from ..exceptions import InvalidObservationError
from ._failures import OPTIMISM, Chance
from ._state import History, Model, SearchState

# Name of the objective among the limits.
OBJECTIVE = "objective"

# Deviations of learnt models are too small by about this factor, and not known to be smaller than
# this part of the noise.
_UNDERSTATED, _LEAST = 1.1, 0.4

# Growth of this factor after a certain violation. A query is certified up to rounding.
_RATE, _ROUNDING = 0.5, 1e-2

# The prior deviation of an outcome is at least this part of the median distance to the limit, but
# not larger by more than this factor, unless all values are of one place and may show only noise.
_REACH, _WIDEST = 0.5, 2.0

# The data say little about an outcome where this part of its prior variance is left. This does not
# matter where the limits hold with the second probability.
_UNKNOWN, _SURE = 0.5, 0.99

# Typical distances of candidates from known places, in unit form.
_NEAR, _FAR = 1e-3, 0.3

# Halvings that locate the boundary of the certified places on the way of a climb.
_N_HALVINGS = 8


class Limit(NamedTuple):
    """Lower and upper limit of an outcome, in its unit; infinite where there is none."""

    name: str
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class Outcomes:
    """Outcomes of the data set, and their models.

    Attributes
    ----------
    values : ndarray of shape (n, k)
        Of the rows of the data set.
    models : tuple of Model
        One for each of the k outcomes that are measured; none before there is a surrogate.
    excess : float
        Of the factor of standard deviations, after violations; see `recalibrated`.
    """

    values: np.ndarray
    models: tuple = ()
    excess: float = 0.0

    def to_plain(self):
        """Return what a journal stores: no unfinished search."""
        models = [list(model[:2]) for model in self.models]
        return {"values": self.values, "models": models, "excess": self.excess}

    @classmethod
    def from_plain(cls, plain):
        """Return the outcomes of `to_plain`."""
        models = tuple(Model(*model) for model in plain["models"])
        return cls(plain["values"], models, plain["excess"])


@dataclass(frozen=True, eq=False)
class _OutcomeHistory(History):
    """History of a run in which the outcome ``index`` takes the place of y."""

    index: int = field(default=0, kw_only=True)

    def latest_outside(self, data, n):
        entries = super().latest_outside(data, n)
        return [replace(entry, y=entry.outcomes[self.index], variance=0.0) for entry in entries]


# --- arguments ------------------------------------------------------------------------------------


def limits_of(constraints, owner):
    """Return the limits (tuple of `Limit`) of the parameter ``outcome_constraints``."""
    if constraints is None:
        return ()
    name, form = "outcome_constraints", "None or a dict of names and pairs (low, high)"
    if not isinstance(constraints, dict) or not constraints:
        raise invalid(name, form, constraints, owner)
    found = []
    for outcome, pair in constraints.items():
        if not (isinstance(outcome, str) and outcome):
            raise invalid(name, form, constraints, owner)
        got, label = f"{outcome!r}: {pair!r}", f"{name}[{outcome!r}]"
        is_pair = isinstance(pair, tuple | list) and len(pair) == 2
        if not is_pair or pair[0] is pair[1] is None or any(map(_is_infinite, pair)):
            raise invalid(
                name, "pairs (low, high), with one None for no limit", owner=owner, got=got
            )
        low, high = (
            end if bound is None else finite_number(bound, label, largest=LARGEST_Y)
            for bound, end in zip(pair, (-np.inf, np.inf))
        )
        if not low < high:
            raise invalid(name, "pairs with low < high", owner=owner, got=got)
        found.append(Limit(outcome, low, high))
    return tuple(found)


def _is_infinite(bound):
    return isinstance(bound, float) and math.isinf(bound)


def measured(run):
    """Return the names of the outcomes that are told."""
    return [limit.name for limit in run.config.limits if limit.name != OBJECTIVE]


def outcomes_of(run, outcomes, failed=False):
    """Return the outcomes (k,) of one observation as a tuple; None without limits, or if failed."""
    if failed and outcomes is not None:
        raise invalid(
            "outcomes", "left out with failed=True", outcomes, error=InvalidObservationError
        )
    columns = _columns(run, outcomes, failed)
    if columns is None:
        return None
    return tuple(
        finite_number(value, f"outcomes[{name!r}]", InvalidObservationError, LARGEST_Y)
        for name, value in columns.items()
    )


def many_outcomes_of(run, outcomes, failed):
    """Return the outcomes of n observations as a list of tuples (k,), None of those that failed.

    Parameters
    ----------
    run : RunState
    outcomes : dict of columns, or a data frame
    failed : ndarray of bool of shape (n,)
    """
    if frame_columns(outcomes) is not None:
        outcomes = as_table(outcomes)
    columns, n = _columns(run, outcomes, failed.all()), len(failed)
    if columns is None:
        return [None] * n
    found = np.empty((n, len(columns)))
    for i, (name, column) in enumerate(columns.items()):
        label = f"outcomes[{name!r}]"
        values = real_array(column, label, InvalidObservationError)
        if values.shape != (n,):
            got = f"shape {values.shape}"
            expected = f"an array of shape ({n},)"
            raise invalid(label, expected, got=got, error=InvalidObservationError)
        if not np.array_equal(np.isfinite(values), ~failed):
            expected = "finite, and NaN where failed=True"
            raise invalid(label, expected, column, error=InvalidObservationError)
        check_size(values[~failed], label, LARGEST_Y, InvalidObservationError)
        found[:, i] = values
    return [None if gone else tuple(row) for row, gone in zip(found.tolist(), failed)]


def check_start(run, x, y, outcomes):
    """Raise an InvalidObservationError if a start point (d,) was measured beyond a limit."""
    start = run.config.start_points
    # Their contexts are not known.
    if run.surrogate is not None or not ((start == x) | np.isnan(start)).all(axis=1).any():
        return
    values = {OBJECTIVE: y} | dict(zip(measured(run), outcomes or ()))
    for name, low, high in run.config.limits:
        if not low <= values[name] <= high:
            raise invalid(
                "start_points",
                "within all outcome_constraints, as safety=... begins there",
                got=f"{name}={values[name]:g} beyond ({low:g}, {high:g}) at {x.tolist()}",
                owner=run.algorithm,
                advice="Choose another start point.",
                error=InvalidObservationError,
            )


def _columns(run, outcomes, optional):
    """Return the outcomes told, by name in the order of the limits; None if there are none."""
    names = measured(run)
    known = outcomes.keys() if hasattr(outcomes, "keys") else None
    if (outcomes is None or (known is not None and len(known) == 0)) and (optional or not names):
        return None
    if not names:
        expected = "left out without outcome_constraints that name them"
        raise invalid("outcomes", expected, outcomes, error=InvalidObservationError)
    if known is None or set(known) != set(names):
        raise invalid(
            "outcomes",
            f"values named {', '.join(map(repr, names))}, and no others",
            got=repr(outcomes) if known is None else f"{', '.join(map(repr, known)) or 'none'}",
            error=InvalidObservationError,
        )
    return {name: outcomes[name] for name in names}


# --- the state ------------------------------------------------------------------------------------


def begun_outcomes(limits):
    """Return the outcomes of a run that begins; None without limits."""
    n_measured = sum(limit.name != OBJECTIVE for limit in limits)
    return Outcomes(np.empty((0, n_measured))) if limits else None


def view(run, i):
    """Return a run in which the i-th outcome that is measured takes the place of y."""
    known, model = run.outcomes, {"surrogate": None, "search": SearchState()}
    if known.models:
        model = known.models[i]._asdict()
    values = known.values[:, i]
    data = replaced(run.data, y=values, variance=np.zeros(len(values)), room=None)
    history = _OutcomeHistory(run.history.log, run.history.untold, index=i)
    others = {"answers": None, "forecast": None, "outcomes": None}
    return replaced(run, data=data, history=history, **others, **model)


def views(run):
    """Return the `view` of each outcome that is measured."""
    return [view(run, i) for i in range(run.outcomes.values.shape[1])]


def with_values(run, after):
    """Return the run after a step with the outcomes of its data set, from those before the step."""
    old, new = run.data.positions, after.data.positions
    values, known = np.empty((len(new), run.outcomes.values.shape[1])), np.isin(new, old)
    values[known] = run.outcomes.values[np.isin(old, new)]
    for i in np.flatnonzero(~known):
        values[i] = after.history.log.at([new[i]])[0].outcomes
    return replaced(after, outcomes=replaced(run.outcomes, values=values))


def with_models(run, models):
    """Return the run with other models of its outcomes."""
    return replaced(run, outcomes=replaced(run.outcomes, models=tuple(models)))


# --- the probability ------------------------------------------------------------------------------


class Feasibility:
    """Probability that all limits of a run with a surrogate hold, in place and time.

    Parameters
    ----------
    run : RunState
    widens : bool, default=False
        Standard deviations are not taken for smaller than data alone can show, see `_widening`.
    """

    def __init__(self, run, widens=False):
        models, values, self._parts = iter(run.outcomes.models), _values(run), []
        for name, *limits in run.config.limits:
            surrogate = run.model if name == OBJECTIVE else next(models).surrogate
            width, least = 1.0, 0.0
            if widens:
                width, least = _widening(surrogate, values[name], *limits)
                width *= _UNDERSTATED + run.outcomes.excess
            low, high = sorted(run.sign * limit for limit in limits)
            self._parts.append((surrogate, low, high, width, least))

    def at(self, t, moving=None):
        """Return the `WithinLimits` at one time, for places (m, u) in unit form."""
        return WithinLimits(
            (ManyPlaces(surrogate.at(t).posterior_at(t, moving)), *limits)
            for surrogate, *limits in self._parts
        )

    def is_known(self, U, t):
        """Return at which places U (m, u) the limits are known to hold or not at time t (m,).

        The data explain most of the variance of each outcome there, or the limits surely hold.
        """
        found = np.ones(len(U), dtype=bool)
        for surrogate, *_ in self._parts:
            posterior = ManyPlaces(surrogate.at(t).posterior_at(t))
            share = (posterior(U)[1] / posterior.scale) ** 2 / surrogate.signal_variance_
            found &= share < _UNKNOWN
        return found | (self.at(t).log(U) >= np.log(_SURE))

    def between(self, low, high, moving=None):
        """Return it for places with a time (m, u + 1), 0 at ``low`` and 1 at ``high``."""
        return WithinLimits(
            (ManyPlaces(surrogate.posterior_between(low, high, moving)), *limits)
            for surrogate, *limits in self._parts
        )


class WithinLimits(Chance):
    """Probability that all limits hold, as a function of places in unit form.

    Parameters
    ----------
    parts : iterable of (ManyPlaces, float, float, float, float)
        Of each outcome the posterior, lower and upper limit, and width and least of
        `sktvbo._fast.limits.within`. The posteriors are independent.
    """

    def __init__(self, parts):
        self._parts = list(parts)

    def log(self, U):
        """Return the logarithm of the probability (m,) at places U (m, u)."""
        found = np.zeros(len(U))
        for posterior, *limits in self._parts:
            found += within(*posterior(U), *limits)[0]
        return found

    def floor(self, values, succeed):
        """Return the value of a violation: the median of those where the limits probably hold.

        With the lowest value a search would stay where the limits hold surely.
        """
        return np.median(values[succeed])

    def least_excess(self, optimism=OPTIMISM):
        return LeastExcess(self._parts, optimism)

    def log_with_slopes(self, U):
        """Return `log` and its derivatives (m, u) in the place."""
        log_p, slopes = np.zeros(len(U)), np.zeros(U.shape)
        for posterior, *limits in self._parts:
            mean, std, mean_slopes, std_slopes = posterior.with_gradients(U)
            value, on_mean, on_std = within(mean, std, *limits)
            log_p += value
            slopes += on_mean[:, np.newaxis] * mean_slopes + on_std[:, np.newaxis] * std_slopes
        return log_p, slopes

    def compiled(self, **options):
        """Return the log weight as compiled `Limits` with more arguments, or None."""
        parts = [posterior.compiled for posterior, *_ in self._parts]
        if None in parts:
            return None
        posteriors, units, locations, scales = zip(*parts)
        low, high, widths, least = np.array([part[1:] for part in self._parts]).T
        low, high = ((limit - np.array(locations)) / scales for limit in (low, high))
        return Limits(posteriors, units, low, high, widths, least / np.array(scales), **options)


class LeastExcess(WithinLimits):
    """Limits of which none probably holds: the log weight is minus the expected excess.

    It is the sum over the outcomes, in units of their standardized values. An outcome is taken for
    better by some multiple of its standard deviation, so that uncertain places are explored.

    Parameters
    ----------
    parts : iterable
        See `WithinLimits`.
    optimism : float
        This multiple.
    """

    decides = True

    def __init__(self, parts, optimism):
        super().__init__(parts)
        self._optimism = optimism

    def log_weight(self, U):
        found = np.zeros(len(U))
        for posterior, *limits in self._parts:
            found -= excess(*posterior(U), *limits, self._optimism)[0] / posterior.scale
        return found

    def log_weight_with_slopes(self, U):
        found, slopes = np.zeros(len(U)), np.zeros(U.shape)
        for posterior, *limits in self._parts:
            mean, std, mean_slopes, std_slopes = posterior.with_gradients(U)
            value, on_mean, on_std = excess(mean, std, *limits, self._optimism)
            found -= value / posterior.scale
            slope = on_mean[:, np.newaxis] * mean_slopes + on_std[:, np.newaxis] * std_slopes
            slopes -= slope / posterior.scale
        return found, slopes

    def compiled(self):
        return super().compiled(optimism=self._optimism)


class Certificate:
    """Places where all limits hold with a required probability, by time.

    Parameters
    ----------
    run : RunState
    level : float
        Required probability.
    """

    def __init__(self, run, level):
        self.level = level
        self._feasibility = Feasibility(run, widens=run.algorithm.safety is not None)
        self._starts = run.domain.unit_of(_without_violation(run, run.config.start_points))
        self._unit = run.domain.unit_of
        self._known = np.vstack([self._starts, run.model.X_train_[:, :-1]])

    def at(self, t, moving=None):
        """Return the `Certified` at one time, for places (m, u) in unit form."""
        return Certified(self._feasibility.at(t, moving), self.level)

    def between(self, low, high, moving=None):
        """Return it for places with a time (m, u + 1), 0 at ``low`` and 1 at ``high``."""
        return Certified(self._feasibility.between(low, high, moving), self.level)

    def part_of(self, space, t):
        """Return the part of a search space that is certified, at time t unless it has a window."""
        chance = self.at(t) if space.window is None else self.between(*space.window)
        return CertifiedSpace.of(space, chance, self._known)

    def towards(self, space, t, x):
        """Return the row (d,) that is certified at time t and nearest to one (d,); None if none."""
        part, aim = self.part_of(space, t), self._unit(x[np.newaxis])
        places = part.candidates(N_CANDIDATES)
        if not len(places):
            return None
        nearest = places[[np.argmin(np.linalg.norm(places - aim, axis=1))]]
        if space.continuous[: space.domain.n_unit].all():
            nearest = last_feasible(part, nearest, aim, part.n_halvings)
        return space.decode(nearest)[0]

    def least_risky(self, space, t):
        """Return the row (d,) in a space, of those known, where all limits most probably hold.

        Start points come first, unless they were measured to violate a limit.
        """
        for known in (self._starts, self._known):
            places = space.with_current_context(space.nearest(known))
            places = places[space.allowed(places)]
            if len(places):
                break
        else:
            places = space.candidates(N_CANDIDATES)
        return space.decode(places[[np.argmax(self.at(t).log(places))]])[0]


class Certified(Chance):
    """Probability that all limits hold, with a weight that is 1 where it is large enough.

    Below the required probability the weight falls steeply, so that a search goes along the
    boundary of the certified places.

    Parameters
    ----------
    chance : WithinLimits
    level : float
        Required probability.
    """

    is_sure = True  # at the places of a CertifiedSpace

    def __init__(self, chance, level):
        self._chance, self._z = chance, ndtri(level)
        self.log, self.log_with_slopes = chance.log, chance.log_with_slopes

    def succeeds(self, U):
        """Return which places (m, u) are certified (m,)."""
        return ndtri_exp(self.log(U)) >= self._z

    def log_weight(self, U):
        return log_weights(self.log(U), self._z)[0]

    def log_weight_with_slopes(self, U):
        log_p, slopes = self.log_with_slopes(U)
        found, on_log = log_weights(log_p, self._z)
        return found, on_log[:, np.newaxis] * slopes

    def compiled(self):
        return self._chance.compiled(z=self._z)


@dataclass(frozen=True, eq=False)
class CertifiedSpace(SearchSpace):
    """The part of a search space that is certified.

    Attributes
    ----------
    whole : SearchSpace
    chance : Certified
    known : ndarray of shape (m, k)
        Places near which candidates are drawn.
    """

    whole: SearchSpace | None = None
    chance: Certified | None = None
    known: np.ndarray | None = None

    @classmethod
    def of(cls, space, chance, known):
        """Return the part of a space that is certified by a chance."""
        found = cls(**vars(space), whole=space, chance=chance, known=known)
        found = replace(found, n_halvings=_N_HALVINGS)
        if math.isfinite(space.size):
            members = space.candidates(min(space.size, N_CANDIDATES))
            count = math.inf
            if len(members) >= space.size:
                count = int(chance.succeeds(members).sum())
            found = replace(found, size=count)
        return found

    def allowed(self, U):
        found = self.whole.allowed(U)
        if found.any():
            found[found] = self.chance.succeeds(U[found])
        return found

    def candidates(self, n, rng=None):
        """Return certified places (m, u): spread over the space, and near the known ones."""
        if self.whole.size <= n:
            places = self.whole.candidates(n, rng)
            return places[self.allowed(places)]
        places, free = self.whole.candidates(n // 2, rng), np.flatnonzero(self.whole.continuous)
        rng = check_random_state(0 if rng is None else rng)
        known = self.whole.with_current_context(self.whole.nearest(self.known))
        known = known[self.allowed(known)]
        if len(known):
            near = known[rng.randint(len(known), size=n // 4)]
            shifts = rng.standard_normal((len(near), len(free)))
            shifts *= np.geomspace(_NEAR, _FAR, len(near))[:, np.newaxis]
            near[:, free] = np.clip(near[:, free] + shifts, self.lower[free], self.upper[free])
            places = np.vstack([places, self.whole.projected(near)])
        return np.vstack([known, places[self.allowed(places)]])


def _without_violation(run, points):
    """Return those of some points (k, d) whose latest outcomes in the data set are allowed."""
    rows, values, found = run.data.rows[:, :-1], _values(run), []
    for x in points:
        here = np.flatnonzero((rows == x).all(axis=1))[-1:]
        found.append(
            all(
                (low <= values[name][here]).all() and (values[name][here] <= high).all()
                for name, low, high in run.config.limits
            )
        )
    return points[np.array(found, dtype=bool)]


def recalibrated(run, after):
    """Return the run after an observation at a certified query with other factors of deviations.

    If the probability p was right, that of a violation given the observation is 1 − p on average.
    The factor grows with the excess over what is allowed, and falls back to at least the model's.
    """
    entry, level = after.history.log[-1], run.algorithm.safety
    if entry.query is None or run.surrogate is None:
        return after
    *x, t = entry.row
    place = run.domain.to_unit(np.array(x))[np.newaxis]
    if Certificate(run, level).at(t).log_weight(place)[0] < -_ROUNDING:
        return after
    violated = -np.expm1(Certificate(after, level).at(t).log(place)[0])
    excess = max(after.outcomes.excess + _RATE * (violated - (1.0 - level)), 0.0)
    return replaced(after, outcomes=replaced(after.outcomes, excess=float(excess)))


def _widening(surrogate, y, low, high):
    """Return factor and least value of the standard deviation of an outcome with values y (n,).

    Hyperparameters are learnt and treated as known, which makes deviations too small. A few values
    near one place do not show how much the outcome varies elsewhere either. The limit is assumed to
    be within reach: far from all data the outcome deviates by at least a part of the distance of
    the data from the limit. That distance is the only scale of equal values within the limits.
    """
    prior = np.sqrt(surrogate.signal_variance_) * surrogate.posterior_at(0.0).scale
    width, least = _REACH * np.median(np.minimum(high - y, y - low)) / prior, surrogate.noise_std_
    if np.ptp(y) == 0.0 and width > 0.0:
        return width, _LEAST * width * least
    places = surrogate.X_train_[:, :-1]
    widest = _WIDEST if (places != places[0]).any() else np.inf
    return np.clip(width, 1.0, widest), _LEAST * least


def _values(run):
    """Return the values (n,) in the data set of everything that has a limit, by name."""
    return dict(zip(measured(run), run.outcomes.values.T)) | {OBJECTIVE: run.data.y}
