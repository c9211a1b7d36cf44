"""Probability that all limits of outcomes hold, and inputs where that is certified.

Inputs are certified if the probability is at least a required one. If none is, the least risky
known input is used instead.

Notation, at an input u and a time t, for each outcome f with limits low <= f <= high:

    mean, std        of the posterior of f
    width, least     the deviation in use is sqrt((width std)² + least²)
    p                P(low <= f <= high); for all outcomes, which are independent, the product
    z                standard normal quantile of the required probability, the ``safety``
    excess           E max(f - high, 0) + E max(low - f, 0)
"""

import math
from functools import cache, cached_property, partial

import numpy as np
from scipy.spatial.distance import cdist
from scipy.special import ndtri, ndtri_exp

from .._fast.limits import Limits as CompiledLimits
from .._fast.limits import excess, within
from .._values import distinct_rows
from ..acquisition._compiled import ManyPlaces
from ..acquisition._optimize import N_CANDIDATES, last_feasible, untaken
from ._chance import Probability, posterior_in, with_slopes
from ._constants import (
    LARGEST_EXCESS,
    LEAST,
    MIN_DIFFERENCES,
    NEAR,
    NOISE_MARGIN,
    REACH,
    ROUNDING,
    STEP,
    SURE,
    UNDERSTATED,
    UNKNOWN,
    UNSEEN,
    VARIES,
    WIDE,
    WIDEST,
)
from ._models import outcome_data
from ._outcomes import OBJECTIVE, measured, measurements, summed, without_noise, without_violation


class Feasibility:
    """Probability that all limits of a run with a surrogate hold, by input and time.

    Parameters
    ----------
    run : RunState
    widens : bool, default=False
        True: standard deviations are at least as large as data alone can show, see `_widening`.

    Attributes
    ----------
    is_modelled : ndarray of bool of shape (k,)
        For each limit, True if its outcome was measured.
    """

    def __init__(self, run, widens=False):
        known, self._outcomes, self._data = run.part("limits"), [], []
        models = dict(zip(measured(run), [model.surrogate for model in known.models]))
        models[OBJECTIVE] = run.query_surrogate
        data = {OBJECTIVE: run.data}
        if widens:
            data |= {name: outcome_data(run, i) for i, name in enumerate(measured(run))}
        for limit in run.config.limits:
            surrogate, width, least = models[limit.name], 1.0, 0.0
            if surrogate is None:
                continue
            low, high = limit.ends
            if widens:
                width, least = _widening(surrogate, data[limit.name].y, low, high)
                width *= UNDERSTATED + known.excess
                self._data.append(data[limit.name])
            low, high = sorted((run.sign * low, run.sign * high))
            self._outcomes.append((surrogate, low, high, width, least))
        self.is_modelled = np.array([models[limit.name] is not None for limit in run.config.limits])
        self._unit_of = run.domain.unit_of

    def at(self, t, latest=None, moving=None, **required):
        """Return the `WithinLimits` at a time, or in the window up to a later one.

        ``required`` are its arguments z and ``near``.
        """
        latest = t if latest is None else latest
        outcomes = [
            (ManyPlaces(posterior_in(surrogate.at(t), t, latest, moving)), *limits)
            for surrogate, *limits in self._outcomes
        ]
        return WithinLimits(outcomes, np.count_nonzero(~self.is_modelled), **required)

    def violated(self, place, t, distances):
        """Return the violation of limits, from 0 to 1, at an input (1, u) and time t.

        It is the probability given the model. If one of the measured ``distances`` (k,) beyond the
        limits, NaN if unknown, is too large for noise, it is 1 whatever the model predicts.
        """
        if (distances > self.noise_margins)[self.is_modelled].any():
            return 1.0
        return -np.expm1(self.at(t).log(place)[0])

    @cached_property
    def noise_margins(self):
        """Distances (k,) beyond limits that noise may explain: two standard deviations of each.

        Available if the `Feasibility` widens.
        """
        margins = np.zeros(len(self.is_modelled))
        margins[self.is_modelled] = [
            NOISE_MARGIN * _noise(surrogate.noise_std_, self._unit_of(data.rows[:, :-1]), data.y)
            for (surrogate, *_), data in zip(self._outcomes, self._data)
        ]
        return margins

    def is_known(self, U, t):
        """Return where in U (m, u) the limits are known to hold or not to hold at time t (m,).

        There the data explain most of the variance of each outcome, or the limits surely hold.
        """
        known = np.ones(len(U), dtype=bool)
        for surrogate, *_ in self._outcomes:
            posterior = ManyPlaces(surrogate.at(t).posterior_at(t))
            share = (posterior(U)[1] / posterior.scale) ** 2 / surrogate.signal_variance_
            known &= share < UNKNOWN
        return known | (self.at(t).log(U) >= np.log(SURE))


class WithinLimits(Probability):
    """Probability that all limits hold, as a function of inputs in unit form.

    With a required quantile z the weight is 1 where the quantile of the probability is at least z.
    Below z it falls steeply, so that a search follows the boundary of the certified inputs. With an
    optimism, for searches where no input is probably within the limits, log and log weight are
    minus the expected excess: summed over the outcomes, in units of their standardized values. Each
    outcome is then assumed to be better by this multiple of its standard deviation, so that
    uncertain inputs are explored.

    Parameters
    ----------
    outcomes : list of (ManyPlaces, float, float, float, float)
        For each outcome the posterior, lower and upper limit, and width and least of
        `sktvbo._fast.limits.within`. The posteriors are independent.
    n_unknown : int, default=0
        Number of limits on outcomes that were not measured yet: each holds with probability ½.
    z : float, default=nan
        Standard normal quantile of the required probability, if any.
    near : callable, () -> (callable or None), default=None
        Returns a function (m, u) -> (m,), True for inputs that may be certified, or None for all.
    optimism : float, default=nan
    """

    def __init__(self, outcomes, n_unknown=0, *, z=np.nan, near=None, optimism=np.nan):
        self._outcomes, self._log_unknown = outcomes, n_unknown * math.log(0.5)
        self.z, self._near, self._optimism = z, near, optimism
        self.is_sure, self.decides = not math.isnan(z), not math.isnan(optimism)

    def log(self, U):
        """Return the logarithm of the probability (m,) at inputs U (m, u)."""
        log_p = np.full(len(U), self._log_unknown)
        for posterior, *limits in self._outcomes:
            log_p += self._term(posterior, limits)(*posterior(U))[0]
        return log_p

    def log_with_slopes(self, U):
        """Return `log` and its derivatives (m, u) by the input."""
        log_p, slopes = np.full(len(U), self._log_unknown), np.zeros(U.shape)
        for posterior, *limits in self._outcomes:
            value, slope = with_slopes(self._term(posterior, limits), posterior, U)
            log_p += value
            slopes += slope
        return log_p, slopes

    def _term(self, posterior, limits):
        """Return the term of an outcome, as a function of mean and deviation, see `with_slopes`."""
        if not self.decides:
            return lambda mean, std: within(mean, std, *limits)
        scale, more = posterior.scale, (*limits, self._optimism)
        return lambda mean, std: -np.array(excess(mean, std, *more)) / scale

    def log_weight(self, U):
        return self.log(U) if self.decides else super().log_weight(U)

    def log_weight_with_slopes(self, U):
        return self.log_with_slopes(U) if self.decides else super().log_weight_with_slopes(U)

    def succeeds(self, U):
        """Return which inputs (m, u) are certified (m,), or probably within the limits."""
        if not self.is_sure:
            # An outcome that was not measured yet does not distinguish inputs.
            return self.log(U) - self._log_unknown >= np.log(0.5)
        certified, near = ndtri_exp(self.log(U)) >= self.z, self._near and self._near()
        return certified if near is None else certified & near(U)

    def predicted(self, U):
        """Yield mean and widened standard deviation (m,) of each outcome, and its limits."""
        for posterior, low, high, width, least in self._outcomes:
            mean, std = posterior(U)
            yield mean, np.hypot(width * std, least), low, high

    def floor(self, values, succeed):
        """Return the value of a violation: the median of those where the limits probably hold.

        With the lowest value a search would stay where the limits surely hold. With a required
        probability a violation is like any other failure, as queries do not go beyond the limits.
        """
        return values.min() if self.is_sure else np.median(values[succeed])

    def least_excess(self, optimism):
        return self if self.is_sure else WithinLimits(self._outcomes, optimism=optimism)

    def compiled(self):
        """Return the log weight compiled, or None."""
        parts = [posterior.compiled for posterior, *_ in self._outcomes]
        if not parts or None in parts or self._log_unknown:
            return None
        posteriors, units, locations, scales = zip(*parts)
        low, high, widths, least = np.array([part[1:] for part in self._outcomes]).T
        low, high = ((limit - np.array(locations)) / scales for limit in (low, high))
        limits = low, high, widths, least / np.array(scales)
        return CompiledLimits(posteriors, units, *limits, z=self.z, optimism=self._optimism)


def _noise(learnt, places, y):
    """Return the standard deviation of the noise of values y (n,) at inputs (n, u).

    A wrong model attributes changes to noise. The median difference of y in the nearer half of
    successive rows shows how large the noise is at most.
    """
    if len(y) < MIN_DIFFERENCES:
        return learnt
    steps = np.abs(np.diff(places, axis=0)).max(axis=1)
    differences = np.abs(np.diff(y))[steps <= np.median(steps)]
    return min(learnt, np.median(differences) / (ndtri(0.75) * math.sqrt(2.0)))


def _widening(surrogate, y, low, high):
    """Return factor and least value of the standard deviation of an outcome with values y (n,).

    Hyperparameters are learnt but treated as known, which makes deviations too small. Also, a few
    values near one input do not show how much the outcome varies elsewhere. The limit is assumed to
    be within reach: far from all data the outcome deviates by at least a part of the distance of
    the data from the limit. For equal values within the limits, that distance is the only scale.
    """
    prior = np.sqrt(surrogate.signal_variance_) * surrogate.gp.rows.scale
    width, least = REACH * np.median(np.minimum(high - y, y - low)) / prior, surrogate.noise_std_
    if np.ptp(y) == 0.0 and width > 0.0:
        return width, LEAST * width * least
    places = surrogate.X_train_[:, :-1]
    widest = WIDEST if (places != places[0]).any() else np.inf
    return np.clip(width, 1.0, widest), LEAST * least


# --- certified inputs -----------------------------------------------------------------------------

# Distances up to this one are rounding errors.
_SLACK = 1e-9


class Certificate:
    """Inputs where all limits hold with a required probability, by time.

    Until all outcomes are seen to vary, the models have no information about other inputs: only
    inputs near a known one are certified. Afterwards the distance to a known one is at most the
    widest range of the known ones.

    Parameters
    ----------
    run : RunState
    level : float
        Required probability.

    Attributes
    ----------
    known : ndarray of shape (j, u)
        Start points that were not measured beyond a limit, and measured inputs.
    """

    def __init__(self, run, level):
        self.level, self._run, self._domain = level, run, run.domain
        self._is_required = run.config.safety is not None
        excess = run.part("limits").excess
        self._is_exhausted = self._is_required and excess >= LARGEST_EXCESS
        self._feasibility = Feasibility(run, widens=self._is_required)
        self._starts = run.domain.unit_of(without_violation(run, run.config.start_points))
        rows, self._distances = measurements(run)
        self._measured = run.domain.unit_of(rows[:, :-1])
        self.known = np.vstack([self._starts, self._measured])
        self._near_at = cache(self._near)

    def at(self, t, latest=None, moving=None):
        """Return the `WithinLimits` at a time, or in the window up to a later one."""
        near = partial(self._near_at, t if latest is None else latest)
        return self._feasibility.at(t, latest, moving, z=ndtri(self.level), near=near)

    def certifies(self, place, t):
        """Return True if an input (1, u) is certified at time t, up to rounding."""
        return not self._is_exhausted and bool(self.at(t).log_weight(place)[0] >= -ROUNDING)

    def _near(self, t):
        """Return a function of inputs that may be certified, see `near`; None if all may."""
        if not self._is_required:
            return None
        if self._is_exhausted:
            return near(self._domain, self.known[:0], UNSEEN)
        space, length = self._domain.search_space(), UNSEEN
        # Where an outcome was not measured, nothing is known.
        measured = self._measured[~np.isnan(self._distances).any(axis=0)]
        known = space.with_current_context(np.vstack([self._starts, measured]))
        if len(measured) and _varies(self._feasibility.at(t), known):
            length = max(length, np.ptp(measured[:, : space.domain.n_unit], axis=0).max())
        else:
            # A violation of an outcome that is not seen to vary is not noise.
            measured = self._measured[self._distances.max(axis=0) == 0.0]
            known = space.with_current_context(np.vstack([self._starts, measured]))
        return near(self._domain, known, length) if length < WIDE else None

    def towards(self, space, t, x, taken=()):
        """Return the row (d,) nearest to a row x (d,) that is certified at time t; None if none is.

        Inputs ``taken`` (j, u) are excluded unless nothing else is found.
        """
        part, aim = space.certified(self, t), self._domain.unit_of(x[np.newaxis])
        aim = space.with_current_context(aim)
        places = part.candidates(N_CANDIDATES)
        if not len(places):
            return None
        free = untaken(places, space, taken)
        places = free if len(free) else places
        nearest = places[[np.argmin(np.linalg.norm(places - aim, axis=1))]]
        if space.continuous[: space.domain.n_unit].all():
            end = last_feasible(part, nearest, aim)
            nearest = np.vstack([untaken(end, space, taken), nearest])[:1]
        return space.decode(nearest)[0]

    def least_risky(self, space, t, taken=()):
        """Return the row (d,) in a space, near known inputs, with the least predicted violation.

        Of rows without a predicted violation, it is the one with the least expected violation. The
        probability that the limits hold is no guide: it is largest where least is known. A
        violation that was measured last near an input is expected there at least, also by a static
        model, except for what noise may explain. Start points come first, unless a violation was
        measured or is predicted there. Inputs ``taken`` (j, u) are excluded unless nothing else is
        found.
        """
        starts, margins = self._run.config.start_points, self._feasibility.noise_margins
        starts = self._domain.unit_of(without_violation(self._run, starts, margins))
        known = space.with_current_context(space.nearest(np.vstack([starts, self.known])))
        starts = known[: len(starts)]
        starts = untaken(starts[space.allowed(starts)], space, taken)
        if len(starts):
            place, predicted = self._of_least_violation(starts, t)
            if predicted == 0.0:
                return space.decode(place)[0]
        places = space.candidates(N_CANDIDATES)
        if len(known):
            places = np.vstack([known, space.around(known, N_CANDIDATES, NEAR), places])
        places = places[space.allowed(places)]
        is_near = near(self._domain, known, NEAR)(places)
        places = places[is_near] if is_near.any() else places
        free = untaken(places, space, taken)
        return space.decode(self._of_least_violation(free if len(free) else places, t)[0])[0]

    def _of_least_violation(self, places, t):
        """Return the input (1, u) with the least predicted violation, then the least expected one.

        Also return this predicted violation.
        """
        k = self._domain.search_space().domain.n_unit
        measured, close = [], cdist(places[:, :k], self._measured[:, :k], "chebyshev") <= UNSEEN
        beyond = without_noise(self._distances, self._feasibility.noise_margins)
        for distances in beyond[self._feasibility.is_modelled]:
            steps = np.where(close & ~np.isnan(distances), np.arange(len(distances)), -1)
            latest = steps.max(axis=1, initial=-1)
            measured.append(np.append(distances, 0.0)[latest])
        measured = np.reshape(measured, (-1, len(places)))
        both = _violations(self._feasibility.at(t), places)
        predicted, expected = (summed(np.maximum(each, measured)) for each in both)
        best = np.lexsort([expected, predicted])[0]
        return places[[best]], predicted[best]


def _varies(limits, U):
    """Return True if every outcome is seen to vary among known inputs U (m, u).

    The certain difference must be at least the share `VARIES` of their distance from the limit.
    """
    for mean, std, low, high in limits.predicted(U):
        margin = np.median(np.minimum(high - mean, mean - low))
        if np.max(mean - std) - np.min(mean + std) < VARIES * margin:
            return False
    return True


def _violations(limits, U):
    """Return predicted and expected distances (2, k, m) of k outcomes beyond their limits."""
    pairs = []
    for mean, std, low, high in limits.predicted(U):
        beyond = np.maximum(low - mean, mean - high)
        pairs.append([np.maximum(beyond - std, 0.0), excess(mean, std, low, high)[0]])
    return np.reshape(pairs, (-1, 2, len(U))).swapaxes(0, 1)


def near(domain, known, length):
    """Return a function of inputs (m, u): True where they are within a step of known ones (m,).

    Categories are free.

    Parameters
    ----------
    domain : Domain
    known : ndarray of shape (m, u)
        In unit form.
    length : float
        Longest step, as a part of each range.
    """
    space = domain.search_space()
    k = space.domain.n_unit
    columns = np.flatnonzero(domain.unit_mask(domain.kinds != "unordered")[:k])
    moves = np.append(space.continuous[:k] | space.domain.circular, space.continuous[k:])
    # Known inputs, and the distances (u,) within which others are near them.
    known, _ = distinct_rows(known)
    wide = length * space.upper[columns] + _SLACK
    balls = [(known[:, columns] / wide, wide)]
    free = moves[columns]
    if not free.all():
        steps = [known[:0, columns]]
        for shape in distinct_rows(known[:, ~moves])[0]:
            # Steps of integers and members do not depend on the reals.
            places = known[(known[:, ~moves] == shape).all(axis=1)]
            for step in steps_from(domain, places[0]):
                steps.append(np.where(moves, places, step)[:, columns])
        widths = np.where(free, wide, _SLACK)
        balls.append((np.vstack(steps) / widths, widths))

    def contains(U):
        inside = np.zeros(len(U), dtype=bool)
        for places, widths in balls:
            if len(places):
                gaps = cdist(U[:, columns] / widths, places, "chebyshev")
                inside |= gaps.min(axis=1) <= 1.0
        return inside

    return contains


def steps_from(domain, here):
    """Return the nearest input (m, u) on each side of one (u,), by an integer or as a member."""
    space = domain.search_space()
    places = space.neighbours(space.with_current_context(here[np.newaxis])[0])
    order = np.argsort(np.linalg.norm(places - here, axis=1), kind="stable")
    places = places[order]
    moves = places - here
    column = np.argmax(np.abs(moves), axis=1)
    move = moves[np.arange(len(moves)), column]
    side = np.where(move > 0.0, 1, -1) * (1 + column)
    nearest = np.unique(side, return_index=True)[1]
    return places[nearest[(np.abs(move) < STEP * space.upper[column])[nearest]]]
