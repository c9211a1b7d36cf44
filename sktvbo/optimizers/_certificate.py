"""Places that are certified: all limits hold there with a required probability.

Where none is, the least risky known place takes their place.
"""

from functools import cache, partial

import numpy as np
from scipy.spatial.distance import cdist
from scipy.special import ndtri

from .._fast.limits import excess
from .._values import distinct_rows
from ..acquisition._optimize import N_CANDIDATES, last_feasible, untaken
from ._constants import LARGEST_EXCESS, NEAR, ROUNDING, STEP, UNSEEN, VARIES, WIDE
from ._feasibility import Feasibility
from ._outcomes import measurements, summed, without_noise, without_violation

# Distances up to this one are rounding errors.
_SLACK = 1e-9


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

    Attributes
    ----------
    known : ndarray of shape (j, u)
        Start points that were not measured beyond a limit, and what was measured.
    """

    def __init__(self, run, level):
        self.level, self._run, self._domain = level, run, run.domain
        self._is_required = run.algorithm.safety is not None
        excess = run.part("limits").excess
        self._is_exhausted = self._is_required and excess >= LARGEST_EXCESS
        self._feasibility = Feasibility(run, widens=self._is_required)
        self._starts = run.domain.unit_of(without_violation(run, run.config.start_points))
        rows, self._distances = measurements(run)
        self._told = run.domain.unit_of(rows[:, :-1])
        self.known = np.vstack([self._starts, self._told])
        self._near_at = cache(self._near)

    def at(self, t, latest=None, moving=None):
        """Return the `WithinLimits` at a time, or in the window up to a later one."""
        near = partial(self._near_at, t if latest is None else latest)
        return self._feasibility.at(t, latest, moving, z=ndtri(self.level), near=near)

    def certifies(self, place, t):
        """Return True if a place (1, u) is certified at time t, up to rounding."""
        return not self._is_exhausted and bool(self.at(t).log_weight(place)[0] >= -ROUNDING)

    def _near(self, t):
        """Return a function of places that may be certified, see `near`; None if all may."""
        if not self._is_required:
            return None
        if self._is_exhausted:
            return near(self._domain, self.known[:0], UNSEEN)
        space, length = self._domain.search_space(), UNSEEN
        # Where an outcome was not measured, nothing is known.
        told = self._told[~np.isnan(self._distances).any(axis=0)]
        known = space.with_current_context(np.vstack([self._starts, told]))
        if len(told) and _varies(self._feasibility.at(t), known):
            length = max(length, np.ptp(told[:, : space.domain.n_unit], axis=0).max())
        else:
            # A violation is no noise of an outcome that is not seen to vary.
            told = self._told[self._distances.max(axis=0) == 0.0]
            known = space.with_current_context(np.vstack([self._starts, told]))
        return near(self._domain, known, length) if length < WIDE else None

    def towards(self, space, t, x, taken=()):
        """Return the row (d,) that is certified at time t and nearest to one (d,); None if none.

        Places ``taken`` (j, u) are excluded unless nothing else is found.
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
        """Return the row (d,) in a space, near known places, of the least predicted violation.

        Of those where none is predicted, it is that of the least expected one. The probability of
        none is no guide: it is largest where least is known. What was measured last near a place is
        expected there at least, also by a model that does not change, but for what may be noise.
        Start points come first, unless a violation was measured or is predicted there. Places
        ``taken`` (j, u) are excluded unless nothing else is found.
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
        """Return the place (1, u) of the least predicted violation, then of the least expected.

        Also return this predicted violation.
        """
        k = self._domain.search_space().domain.n_unit
        measured, close = [], cdist(places[:, :k], self._told[:, :k], "chebyshev") <= UNSEEN
        found = without_noise(self._distances, self._feasibility.noise_margins)
        for distances in found[self._feasibility.is_modelled]:
            steps = np.where(close & ~np.isnan(distances), np.arange(len(distances)), -1)
            latest = steps.max(axis=1, initial=-1)
            measured.append(np.append(distances, 0.0)[latest])
        measured = np.reshape(measured, (-1, len(places)))
        both = _violations(self._feasibility.at(t), places)
        predicted, expected = (summed(np.maximum(each, measured)) for each in both)
        best = np.lexsort([expected, predicted])[0]
        return places[[best]], predicted[best]


def _varies(limits, U):
    """Return True if every outcome is seen to vary among known places U (m, u).

    The difference that is certain must be a part of their distance from the limit.
    """
    for mean, std, low, high in limits.predicted(U):
        margin = np.median(np.minimum(high - mean, mean - low))
        if np.max(mean - std) - np.min(mean + std) < VARIES * margin:
            return False
    return True


def _violations(limits, U):
    """Return distances (2, k, m) of k outcomes beyond their limits: of means, and expected."""
    found = []
    for mean, std, low, high in limits.predicted(U):
        beyond = np.maximum(low - mean, mean - high)
        found.append([np.maximum(beyond - std, 0.0), excess(mean, std, low, high)[0]])
    return np.reshape(found, (-1, 2, len(U))).swapaxes(0, 1)


def near(domain, known, length):
    """Return a function of places (m, u): if they are within a step of known ones (m,).

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
    ends = np.append(domain.unit_columns[1:], domain.n_unit)
    ordered = np.repeat(domain.kinds != "unordered", ends - domain.unit_columns)
    columns = np.flatnonzero(ordered[: space.domain.n_unit])
    # Places, and how far from each others are near them (u,).
    known, _ = distinct_rows(known)
    wide = length * space.upper[columns] + _SLACK
    balls = [(known[:, columns] / wide, wide)]
    free = space.continuous[columns]
    if not free.all():
        steps, moves = [known[:0, columns]], space.continuous
        for shape in distinct_rows(known[:, ~moves])[0]:
            # Steps of integers and members are the same whatever the reals are.
            places = known[(known[:, ~moves] == shape).all(axis=1)]
            for step in steps_from(domain, places[0]):
                steps.append(np.where(moves, places, step)[:, columns])
        widths = np.where(free, wide, _SLACK)
        balls.append((np.vstack(steps) / widths, widths))

    def contains(U):
        found = np.zeros(len(U), dtype=bool)
        for places, widths in balls:
            if len(places):
                gaps = cdist(U[:, columns] / widths, places, "chebyshev")
                found |= gaps.min(axis=1) <= 1.0
        return found

    return contains


def steps_from(domain, here):
    """Return the nearest place (m, u) on each side of one (u,), by an integer or as a member."""
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
