"""Measured limits: outcomes beside the objective, and the probability that all limits hold.

Each outcome has a surrogate like the objective's, with hyperparameters of its own. Its rows are
those of the data set in which it was measured, and failures in which it was. It is updated by the
same functions, applied to a `view` of the run in which the outcome takes the place of y. Limits
apply to the outcomes without noise.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import NamedTuple

import numpy as np
from scipy.spatial.distance import cdist
from scipy.special import ndtri, ndtri_exp

from .._fast.limits import Limits, excess, log_weights, within
from .._tables import as_table, frame_columns, is_added
from .._validation import LARGEST_Y, check_size, finite_number, invalid, real_array
from .._values import replaced
from ..acquisition._compiled import ManyPlaces
from ..acquisition._optimize import N_CANDIDATES, last_feasible, untaken
from ..domain._search_space import SearchSpace
from ..exceptions import InvalidObservationError
from ._caution import NEAR, Near, around
from ._failures import OPTIMISM, Chance, is_missing
from ._state import OBJECTIVE, DataSet, History, Model, SearchState

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

# Latest observations among which violations of start points are looked for.
_N_REMEMBERED = 256

# Largest typical distance of candidates from known places, in unit form.
_FAR = 0.3

# After this number of certified queries in turn, one that is not certified is worth a warning.
CALM = 10

# An outcome is seen to vary if known places differ by this part of the distance to the limit.
# Before, a certified place is within this part of each range of a known one. After, distances are
# not limited where known places are this far apart.
_VARIES, _UNSEEN, _WIDE = 0.5, 0.05, 0.5

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
        Of the rows of the data set; NaN where one was not measured.
    models : tuple of Model
        One for each of the k outcomes that are measured; none before there is a surrogate. The
        surrogate is None of an outcome without a row.
    excess : float
        Of the factor of standard deviations, after violations; see `recalibrated`.
    calm : int
        Certified queries since the latest other one, at most `CALM`: a warning comes after these.
    """

    values: np.ndarray
    models: tuple = ()
    excess: float = 0.0
    calm: int = CALM

    def to_plain(self):
        """Return what a journal stores: no unfinished search."""
        models = [list(model[:2]) for model in self.models]
        return vars(self) | {"models": models}

    @classmethod
    def from_plain(cls, plain):
        """Return the outcomes of `to_plain`."""
        return cls(**plain | {"models": tuple(Model(*model) for model in plain["models"])})


@dataclass(frozen=True, eq=False)
class _OutcomeHistory(History):
    """History of a run in which the outcome ``index`` takes the place of y."""

    index: int = field(kw_only=True)
    n_measured: float = math.inf

    of_outcome = True

    def _outside(self, data):
        for entry in super()._outside(data):
            if entry.outcomes[self.index] is not None:
                yield replace(entry, y=entry.outcomes[self.index], variance=0.0)


# --- arguments ------------------------------------------------------------------------------------


def limits_of(constraints, owner):
    """Return the limits (tuple of `Limit`) of the parameter ``outcome_constraints``."""
    if constraints is None:
        return ()
    name, form = "outcome_constraints", "None or a dict of names and pairs (low, high)"
    if not isinstance(constraints, Mapping) or not constraints:
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


def check_names(limits, domain, owner):
    """Raise unless the names of measured outcomes are those of no other column of a frame."""
    for name, *_ in limits:
        if name in domain.columns or is_added(name):
            raise invalid(
                "outcome_constraints",
                "named unlike parameters, contexts and the other columns of to_frame()",
                owner=owner,
                got=repr(name),
                advice="Choose another name.",
            )


def _is_infinite(bound):
    return isinstance(bound, float) and math.isinf(bound)


def measured(run):
    """Return the names of the outcomes that are told."""
    return [limit.name for limit in run.config.measured_limits]


def outcomes_of(run, outcomes, failed=False):
    """Return the outcomes (k,) of one observation, see `Observation`; it may have ``failed``."""
    columns = _columns(run, outcomes, failed)
    return columns and tuple(
        None
        if is_missing(value)
        else finite_number(value, f"outcomes[{name!r}]", InvalidObservationError, LARGEST_Y)
        for name, value in columns.items()
    )


def many_outcomes_of(run, outcomes, failed):
    """Return the outcomes of n observations as a list, see `outcomes_of`.

    Parameters
    ----------
    run : RunState
    outcomes : dict of columns, or a data frame
    failed : ndarray of bool of shape (n,)
    """
    n = len(failed)
    columns = _columns(run, outcomes, failed.all())
    if columns is None or all(column is None for column in columns.values()):
        return [columns and (None,) * len(columns)] * n
    found = np.empty((n, len(columns)))
    for i, (name, column) in enumerate(columns.items()):
        label = f"outcomes[{name!r}]"
        values = real_array(column, label, InvalidObservationError)
        if values.shape != (n,):
            got = f"shape {values.shape}"
            expected = f"an array of shape ({n},)"
            raise invalid(label, expected, got=got, error=InvalidObservationError)
        if np.isinf(values).any():
            expected = "finite, or NaN where it was not measured"
            raise invalid(label, expected, column, error=InvalidObservationError)
        check_size(values[~np.isnan(values)], label, LARGEST_Y, InvalidObservationError)
        found[:, i] = values
    return [tuple(None if v != v else v for v in row) for row in found.tolist()]


def _columns(run, outcomes, optional):
    """Return the outcomes told, by name in the order of the limits; None if there are none.

    A frame, or a row of one, may have other columns.
    """
    names, may_have_others = measured(run), not isinstance(outcomes, Mapping)
    if frame_columns(outcomes) is not None:
        outcomes = as_table(outcomes)
    known = outcomes.keys() if hasattr(outcomes, "keys") else None
    if (outcomes is None or (known is not None and len(known) == 0)) and (optional or not names):
        return dict.fromkeys(names) or None
    if not names:
        expected = "left out without outcome_constraints that name them"
        raise invalid("outcomes", expected, outcomes, error=InvalidObservationError)
    others = set() if known is None else set(known).difference(names)
    if known is None or not set(names).issubset(known) or (others and not may_have_others):
        raise invalid(
            "outcomes",
            f"values named {', '.join(map(repr, names))}, None if not measured, and no others",
            got=repr(outcomes) if known is None else f"{', '.join(map(repr, known)) or 'none'}",
            error=InvalidObservationError,
        )
    return {name: outcomes[name] for name in names}


# --- the state ------------------------------------------------------------------------------------


def begun_outcomes(limits):
    """Return the outcomes of a run that begins; None without limits."""
    n_measured = sum(limit.name != OBJECTIVE for limit in limits)
    return Outcomes(np.empty((0, n_measured))) if limits else None


def kept_outcomes(run, new):
    """Return the positions (list) of the outcomes of a run that another one measures as well.

    Raise a ValueError for an outcome that was not measured with the observations.
    """
    known = measured(run)
    unknown = [name for name in measured(new) if name not in known]
    if unknown and run.history.total:
        raise invalid(
            "outcome_constraints",
            f"limits of what was measured: {', '.join(map(repr, [*known, OBJECTIVE]))}",
            owner=new.algorithm,
            got=f"a limit of {unknown[0]!r}",
            advice="Begin another run, and tell_many() observations with this outcome.",
        )
    return [known.index(name) for name in measured(new) if name in known]


def continued_outcomes(run, new, columns):
    """Return the outcomes of a run that goes on as another one; ``columns`` are those it keeps."""
    if new.outcomes is None:
        return None
    if run.outcomes is None or not run.history.total:
        return replaced(new.outcomes, values=np.empty((len(run.data), len(measured(new)))))
    models = [run.outcomes.models[i] for i in columns if run.outcomes.models]
    return replaced(run.outcomes, values=run.outcomes.values[:, columns], models=tuple(models))


def outcomes_of_failures(run, new):
    """Return the outcomes (f, k) of the failures of a run that goes on as another one."""
    known, old = measured(run), run.failures.outcomes
    nothing = np.full(len(old), np.nan)
    found = [old[:, known.index(name)] if name in known else nothing for name in measured(new)]
    return np.column_stack([np.empty((len(old), 0)), *found])


def view(run, i):
    """Return a run in which the i-th outcome that is measured takes the place of y."""
    known, model = run.outcomes, {"surrogate": None, "search": SearchState()}
    if known.models:
        model = known.models[i]._asdict()
    data, history = _data_of(run, i), _OutcomeHistory(**vars(run.history), index=i)
    n_missing = run.algorithm._min_to_learn - len(data)
    if n_missing > 0 and data.positions is not run.data.positions:
        n_measured = len(data) + len(history.latest_outside(run.data, n_missing))
        history = replaced(history, n_measured=n_measured)
    others = {"answers": None, "forecast": None, "outcomes": None}
    return replaced(run, data=data, history=history, **others, **model)


def _data_of(run, i):
    """Return the data set of the i-th outcome that is measured, in the order of telling.

    Failures have positions below 0. They leave it when they are older than all of a data set from
    which observations were removed.
    """
    data, values, failures = run.data, run.outcomes.values[:, i], run.failures
    measured = ~np.isnan(values)
    found = replaced(data, y=values, variance=np.zeros(len(values)), room=None)
    if not measured.all():
        found = found.take(measured)
    if failures is None:
        return found
    y, rows = failures.outcomes[:, i], failures.rows
    chosen = ~np.isnan(y)
    if 0 < len(data) < run.history.n_told:
        chosen &= rows[:, -1] >= data.rows[:, -1].min()
    if not chosen.any():
        return found
    n_before = np.array(failures.n_before)[chosen]
    positions = len(rows) - failures.total - 1 - np.flatnonzero(chosen)
    order = np.argsort(np.append(found.positions, n_before - 0.5), kind="stable")
    return DataSet(
        np.append(found.positions, positions),
        np.vstack([found.rows.reshape(-1, rows.shape[1]), rows[chosen]]),
        np.append(found.y, y[chosen]),
        np.zeros(len(order)),
    ).take(order)


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
        models, data, self._parts = iter(run.outcomes.models), _data_by_name(run), []
        self._n_unknown, self.is_modelled = 0, []
        for name, *limits in run.config.limits:
            surrogate = run.model if name == OBJECTIVE else next(models).surrogate
            self.is_modelled.append(surrogate is not None)
            if surrogate is None:
                self._n_unknown += 1
                continue
            width, least = 1.0, 0.0
            if widens:
                width, least = _widening(surrogate, data[name].y, *limits)
                width *= _UNDERSTATED + run.outcomes.excess
            low, high = sorted(run.sign * limit for limit in limits)
            self._parts.append((surrogate, low, high, width, least))

    def at(self, t, moving=None):
        """Return the `WithinLimits` at one time, for places (m, u) in unit form."""
        parts = [
            (ManyPlaces(surrogate.at(t).posterior_at(t, moving)), *limits)
            for surrogate, *limits in self._parts
        ]
        return WithinLimits(parts, self._n_unknown)

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
        parts = [
            (ManyPlaces(surrogate.posterior_between(low, high, moving)), *limits)
            for surrogate, *limits in self._parts
        ]
        return WithinLimits(parts, self._n_unknown)


class WithinLimits(Chance):
    """Probability that all limits hold, as a function of places in unit form.

    Parameters
    ----------
    parts : list of (ManyPlaces, float, float, float, float)
        Of each outcome the posterior, lower and upper limit, and width and least of
        `sktvbo._fast.limits.within`. The posteriors are independent.
    n_unknown : int
        Number of limits on outcomes that were not measured yet: each holds with probability ½.
    """

    def __init__(self, parts, n_unknown):
        self._parts, self._log_unknown = parts, n_unknown * math.log(0.5)

    def log(self, U):
        """Return the logarithm of the probability (m,) at places U (m, u)."""
        found = np.full(len(U), self._log_unknown)
        for posterior, *limits in self._parts:
            found += within(*posterior(U), *limits)[0]
        return found

    def succeeds(self, U):
        # An outcome that was not measured yet does not tell places apart.
        return self.log(U) - self._log_unknown >= np.log(0.5)

    def varies(self, U):
        """Return True if every outcome is seen to vary among known places U (m, u).

        The difference that is certain must be a part of their distance from the limit.
        """
        for posterior, low, high, width, least in self._parts:
            mean, std = posterior(U)
            spread = np.hypot(width * std, least)
            margin = np.median(np.minimum(high - mean, mean - low))
            if np.max(mean - spread) - np.min(mean + spread) < _VARIES * margin:
                return False
        return True

    def violations(self, U):
        """Return distances (2, k, m) of k outcomes beyond their limits: of means, and expected."""
        found = []
        for posterior, low, high, width, least in self._parts:
            mean, std = posterior(U)
            std = np.hypot(width * std, least)
            beyond = np.maximum(low - mean, mean - high)
            found.append([np.maximum(beyond - std, 0.0), excess(mean, std, low, high)[0]])
        return np.reshape(found, (-1, 2, len(U))).swapaxes(0, 1)

    def floor(self, values, succeed):
        """Return the value of a violation: the median of those where the limits probably hold.

        With the lowest value a search would stay where the limits hold surely.
        """
        return np.median(values[succeed])

    def least_excess(self, optimism=OPTIMISM):
        return LeastExcess(self._parts, optimism)

    def log_with_slopes(self, U):
        """Return `log` and its derivatives (m, u) in the place."""
        log_p, slopes = np.full(len(U), self._log_unknown), np.zeros(U.shape)
        for posterior, *limits in self._parts:
            mean, std, mean_slopes, std_slopes = posterior.with_gradients(U)
            value, on_mean, on_std = within(mean, std, *limits)
            log_p += value
            slopes += on_mean[:, np.newaxis] * mean_slopes + on_std[:, np.newaxis] * std_slopes
        return log_p, slopes

    def compiled(self, **options):
        """Return the log weight as compiled `Limits` with more arguments, or None."""
        parts = [posterior.compiled for posterior, *_ in self._parts]
        if not parts or None in parts or self._log_unknown:
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
        super().__init__(parts, n_unknown=0)
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

    While an outcome is not seen to vary, its model says nothing of other places: those alone are
    certified that are near a known one. Afterwards the distance to a known one is at most the
    widest range of the known ones.

    Parameters
    ----------
    run : RunState
    level : float
        Required probability.
    """

    def __init__(self, run, level):
        self.level, self._domain = level, run.domain
        self._is_required = run.algorithm.safety is not None
        self._feasibility = Feasibility(run, widens=self._is_required)
        self._starts = run.domain.unit_of(without_violation(run, run.config.start_points))
        rows, self._distances = measurements(run)
        self._told = run.domain.unit_of(rows[:, :-1])
        self._known = np.vstack([self._starts, self._told])
        self._near_at = cache(self._near)

    def at(self, t, moving=None):
        """Return the `Certified` at one time, for places (m, u) in unit form."""
        return Certified(self._feasibility.at(t, moving), self.level, partial(self._near_at, t))

    def between(self, low, high, moving=None):
        """Return it for places with a time (m, u + 1), 0 at ``low`` and 1 at ``high``."""
        chance = self._feasibility.between(low, high, moving)
        return Certified(chance, self.level, partial(self._near_at, high))

    def _near(self, t):
        """Return what is `Near` known places; None if that is everything."""
        if not self._is_required:
            return None
        space, length = self._domain.search_space(), _UNSEEN
        # Where an outcome was not measured, nothing is known.
        told = self._told[~np.isnan(self._distances).any(axis=0)]
        known = space.with_current_context(np.vstack([self._starts, told]))
        if len(told) and self._feasibility.at(t).varies(known):
            length = max(length, np.ptp(told[:, : space.domain.n_unit], axis=0).max())
        else:
            # A violation is no noise of an outcome that is not seen to vary.
            told = self._told[self._distances.max(axis=0) == 0.0]
            known = space.with_current_context(np.vstack([self._starts, told]))
        return Near(self._domain, known, length) if length < _WIDE else None

    def part_of(self, space, t):
        """Return the part of a search space that is certified, at time t unless it has a window."""
        chance = self.at(t) if space.window is None else self.between(*space.window)
        return CertifiedSpace.of(space, chance, self._known)

    def towards(self, space, t, x, taken=()):
        """Return the row (d,) that is certified at time t and nearest to one (d,); None if none.

        Places ``taken`` (j, u) are excluded unless nothing else is found.
        """
        part, aim = self.part_of(space, t), self._domain.unit_of(x[np.newaxis])
        aim = space.with_current_context(aim)
        places = part.candidates(N_CANDIDATES)
        if not len(places):
            return None
        free = untaken(places, space, taken)
        places = free if len(free) else places
        nearest = places[[np.argmin(np.linalg.norm(places - aim, axis=1))]]
        if space.continuous[: space.domain.n_unit].all():
            end = last_feasible(part, nearest, aim, part.n_halvings)
            nearest = np.vstack([untaken(end, space, taken), nearest])[:1]
        return space.decode(nearest)[0]

    def least_risky(self, space, t, taken=()):
        """Return the row (d,) in a space, near known places, of the least predicted violation.

        Of those where none is predicted, it is that of the least expected one. The probability of
        none is no guide: it is largest where least is known. What was measured last near a place is
        expected there at least, also by a model that does not change. Start points come first,
        unless a violation was measured or is predicted there. Places ``taken`` (j, u) are excluded
        unless nothing else is found.
        """
        known = space.with_current_context(space.nearest(self._known))
        starts = known[: len(self._starts)]
        starts = untaken(starts[space.allowed(starts)], space, taken)
        if len(starts):
            predicted, expected = self._violations(starts, t)
            if predicted.min() == 0.0:
                return space.decode(starts[np.lexsort([expected, predicted])[:1]])[0]
        places = space.candidates(N_CANDIDATES)
        if len(known):
            places = np.vstack([known, around(space, known, N_CANDIDATES, NEAR), places])
        places = places[space.allowed(places)]
        near = places[Near(self._domain, known, NEAR).contains(places)]
        places = near if len(near) else places
        free = untaken(places, space, taken)
        places = free if len(free) else places
        predicted, expected = self._violations(places, t)
        return space.decode(places[np.lexsort([expected, predicted])[:1]])[0]

    def _violations(self, U, t):
        """Return predicted and expected violations (m,) of all limits at places (m, u)."""
        k = self._domain.search_space().domain.n_unit
        measured, near = [], cdist(U[:, :k], self._told[:, :k], "chebyshev") <= _UNSEEN
        for distances in self._distances[self._feasibility.is_modelled]:
            steps = np.where(near & ~np.isnan(distances), np.arange(len(distances)), -1)
            latest = steps.max(axis=1, initial=-1)
            measured.append(np.append(distances, 0.0)[latest])
        measured = np.reshape(measured, (-1, len(U)))
        return map(summed, np.maximum(self.at(t).violations(U), measured))


class Certified(Chance):
    """Probability that all limits hold, with a weight that is 1 where it is large enough.

    Below the required probability the weight falls steeply, so that a search goes along the
    boundary of the certified places.

    Parameters
    ----------
    chance : WithinLimits
    level : float
        Required probability.
    near : callable, () -> Near or None
        The only places that may be certified; None: all.
    """

    is_sure = True  # at the places of a CertifiedSpace

    def __init__(self, chance, level, near):
        self._chance, self._z, self._near = chance, ndtri(level), near
        self.log, self.log_with_slopes = chance.log, chance.log_with_slopes
        self.violations = chance.violations

    def succeeds(self, U):
        """Return which places (m, u) are certified (m,)."""
        found, near = ndtri_exp(self.log(U)) >= self._z, self._near()
        return found if near is None else found & near.contains(U)

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
        places = self.whole.candidates(n // 2, rng)
        known = self.whole.with_current_context(self.whole.nearest(self.known))
        known = known[self.allowed(known)]
        if len(known):
            places = np.vstack([places, around(self.whole, known, n // 4, _FAR, rng)])
        return np.vstack([known, places[self.allowed(places)]])


def without_violation(run, points):
    """Return those of some points (k, d) whose latest outcomes are allowed, also if forgotten."""
    rows, distances = measurements(run, _N_REMEMBERED)
    k, found = run.domain.n_chosen, np.ones(len(points), dtype=bool)
    for i, x in enumerate(points):
        here = distances[:, (rows[:, :k] == x[:k]).all(axis=1)]
        found[i] = not any(of_limit[~np.isnan(of_limit)][-1:].any() for of_limit in here)
    return points[found]


def measurements(run, n_latest=None):
    """Return rows (m, d + 1) at which outcomes are known, and their distances (k, m) beyond limits.

    A distance is 0 within the limit, and NaN if the outcome was not measured. The rows are those of
    the data set, or of the latest observations, and failures, in the order of time.
    """
    if n_latest is None:
        data = run.data
        rows, y, outcomes, order = data.rows, data.y, run.outcomes.values, data.positions
    else:
        entries = run.history.latest(n_latest)
        rows, y = run.rows(entries), np.array([entry.y for entry in entries])
        outcomes = np.array([entry.outcomes or () for entry in entries], dtype=np.float64)
        positions = run.history.positions
        order = np.array(positions[len(positions) - len(entries) :])
    names, rows = measured(run), rows.reshape(-1, run.domain.n_dims + 1)
    outcomes = outcomes.reshape(len(rows), len(names))
    if run.failures is not None:
        rows = np.vstack([rows, run.failures.rows])
        y = np.append(y, np.full(len(rows) - len(y), np.nan))
        outcomes = np.vstack([outcomes, run.failures.outcomes])
        order = np.append(order, np.array(run.failures.n_before) - 0.5)
    values = dict(zip(names, outcomes.T)) | {OBJECTIVE: y}
    found = [
        np.maximum(np.maximum(low - values[name], values[name] - high), 0.0)
        for name, low, high in run.config.limits
    ]
    found, chosen = np.array(found), np.lexsort([order, rows[:, -1]])
    chosen = chosen[~np.isnan(found).all(axis=0)[chosen]]
    return rows[chosen], found[:, chosen]


def summed(distances):
    """Return sums (m,) of known distances (k, m) beyond limits, over the largest of each limit."""
    largest = np.fmax.reduce(distances, axis=1, initial=0.0, keepdims=True)
    return np.nansum(distances / np.where(largest > 0.0, largest, 1.0), axis=0)


def recalibrated(run, after, row):
    """Return the run after a step at a certified query with other factors of deviations.

    The query and its time are in ``row`` (d + 1,).

    If the probability p was right, that of a violation given the observation is 1 − p on average.
    The factor grows with the excess over what is allowed, and falls back to at least the model's.
    """
    level = run.algorithm.safety
    if run.surrogate is None:
        return after
    *x, t = row
    place = run.domain.unit_of([x])
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


def _data_by_name(run):
    """Return the data set of everything that has a limit, by name."""
    return {name: _data_of(run, i) for i, name in enumerate(measured(run))} | {OBJECTIVE: run.data}
