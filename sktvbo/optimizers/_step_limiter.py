"""Step limit: the inputs that a run may query next."""

from dataclasses import dataclass

import numpy as np

from .._validation import invalid_domain
from ..acquisition._optimize import untaken
from ..domain import StepLimit
from ..domain._search_space import CENTER, RADIUS
from ..domain._step_limit import as_step_limit
from ._part import Part

# A step must reduce the distance to a start point by at least this part of a straight step.
_NEARER = 0.1

# Differences up to this one, in unit form, are rounding errors.
_SLACK = 1e-9

# Limits of two coordinates bound an arc of less than half of a circle: a step of a cyclic parameter
# that is longer than this part of a turn is made in two.
_LONGEST_ARC = 0.24

# Candidates within reach, in addition to the nearest input.
_N_CANDIDATES = 64


@dataclass(frozen=True, eq=False)
class StepLimiter(Part):
    """The step limit of a run.

    It is read as `RunState.limiter`: limits use its `step` on the way to an input, and `_suggest`
    the `heading` of a query. With a step limit, initial queries of a batch are drawn one by one.

    Attributes
    ----------
    limit : StepLimit
    """

    limit: StepLimit

    name = "step limit"

    @classmethod
    def of(cls, config):
        limit = as_step_limit(config.algorithm.max_step, config.domain, config.algorithm)
        return None if limit is None else cls(limit)

    def within_reach(self, run, t, space):
        """Return the part of a search space in which a query for time t may lie.

        It contains the next values and members in each direction, however short the step.
        """
        if run.setting is None:
            return space
        here, reach = self._reach(run, t)
        low, high = _with_next_values(space, here, *_around(run.domain, here, reach))
        k = space.domain.n_unit
        gaps = np.maximum(low[:k] - space.upper[:k], space.lower[:k] - high[:k])
        if (gaps > _SLACK).any():
            i = np.searchsorted(run.domain.unit_columns, np.argmax(gaps), side="right") - 1
            expected = f"within max_step of the latest query, in {run.domain.columns[i]!r} too"
            got = f"values farther away from {run.domain.decode(run.setting[:-1])}"
            raise invalid_domain("The fixed or available values", expected, got=got)
        return _between(space, run.domain, low, high, lambda: _next_members(space, here, reach))

    def _reach(self, run, t):
        """Return the present setting (u,), and the distances (u,) within reach."""
        domain, shares = run.domain, self.limit.shares(run.domain)
        if self.limit.per == "time":
            with np.errstate(invalid="ignore"):  # free coordinates stay free even if no time passes
                shares = np.where(shares == np.inf, np.inf, shares * max(t - run.setting[-1], 0.0))
        return domain.to_unit(run.setting[:-1]), _widths(domain, shares)

    def part_of(self, run, t):
        """Return the part of the domain in which a query for time t may lie."""
        return self.within_reach(run, t, run.domain.search_space())

    def narrow(self, choice, space):
        return self.within_reach(choice.run, choice.t, space) if choice.is_query else space

    def towards(self, run, t, aim):
        """Return the row within reach at time t that is nearest to a row (d,) of the domain.

        None if no step leads there: no row within reach is nearer by a tenth of a straight step.
        """
        part, domain = self.part_of(run, t), run.domain
        if not part.limited:
            return aim
        target = domain.to_unit(aim)
        if part.allowed(target[np.newaxis])[0]:
            return aim
        here = self._here(run, part)
        near, left = _nearest(domain, part, here, target)
        clipped = np.clip(target, part.lower, part.upper)
        gap, clipped = (np.linalg.norm(u - target) for u in (here, clipped))
        if near is None or gap - left < _NEARER * (gap - clipped):
            return None
        waits = self.limit.per == "time"
        moved = gap - left > 0.0 or (waits and t <= run.setting[-1])
        return part.decode(near[np.newaxis])[0] if moved else None

    def step(self, run, t, aim):
        """Return the row within reach at time t on the way to a row (d,).

        It is the present setting if no step leads there.
        """
        x = self.towards(run, t, aim)
        if x is None:
            part = self.part_of(run, t)
            x = part.decode(self._here(run, part)[np.newaxis])[0]
        return x

    def heading(self, choice, space, optimum):
        """Return a query in a space, or one on the way to a better input.

        The best input within reach may be a local optimum that no step leaves. If the mean at an
        observation out of reach exceeds the mean at x by more than the standard deviation at x,
        the query is the input within reach that is nearest to this observation, unless another
        query is pending or has failed there.
        """
        domain, surrogate, t = choice.run.domain, choice.surrogate, choice.t
        part = space.at(optimum.t)
        if not part.limited:
            return optimum
        places = np.vstack([domain.to_unit(optimum.x), surrogate.X_train_[:, :-1]])
        places = part.with_current_context(part.nearest(places))
        mean, std = surrogate.posterior_at(t)(places)
        best = np.argmax(mean)
        aim = places[best]
        if mean[best] <= mean[0] + std[0] or part.allowed(aim[np.newaxis])[0]:
            return optimum
        here = self._here(choice.run, part)
        next_, gap = _nearest(domain, part, here, aim)
        if next_ is None or not gap < np.linalg.norm(here - aim):
            return optimum
        if not len(untaken(next_[np.newaxis], part, choice.places_of(()))):
            return optimum
        chance = choice.chance
        if chance is not None and chance.log(next_[np.newaxis])[0] < np.log(0.5):
            return optimum
        return optimum._replace(x=part.decode(next_[np.newaxis])[0])

    def _here(self, run, part):
        """Return the present setting (u,), in the present context."""
        return part.with_current_context(run.domain.to_unit(run.setting[np.newaxis, :-1]))[0]


def neighbourhood(domain, space, row, part):
    """Return the inputs of a space within a part of each range around a row (d,).

    If no member is there, the one nearest to the middle remains. Categories are free.
    """
    here, reach = domain.to_unit(row), _widths(domain, np.full(domain.n_dims, part))
    return _between(space, domain, *_around(domain, here, reach), lambda: None)


def _around(domain, here, reach):
    """Return limits (u,), (u,) of the inputs within reach (u,) of one (u,)."""
    low, high = here - reach, here + reach
    for i in domain.unit_columns[domain.kinds == "cyclic"]:
        turn, columns = 2.0 * np.pi * min(reach[i], _LONGEST_ARC), slice(i, i + 2)
        angle = np.arctan2(here[i + 1] - CENTER, here[i] - CENTER)
        # An arc has its ends, and some of the four extremes of the circle.
        ends = np.array([angle - turn, angle + turn])
        quarters = 0.5 * np.pi * np.arange(np.ceil(2 * ends[0] / np.pi), 2 * ends[1] / np.pi)
        angles = np.append(ends, quarters)
        arc = CENTER + RADIUS * np.array([np.cos(angles), np.sin(angles)])
        low[columns], high[columns] = arc.min(axis=1), arc.max(axis=1)
        if reach[i] >= 0.5:
            low[columns], high[columns] = 0.0, 1.0
    return low, high


def _between(space, domain, low, high, beyond):
    """Return the part of a space within limits (u,) that exclude something."""
    spans = _spans(domain)
    low, high = np.maximum(low, spans[0]), np.minimum(high, spans[1])
    return space if np.array_equal([low, high], spans) else space.within(low, high, beyond())


def _nearest(domain, part, here, aim):
    """Return the input (u,) of a part nearest to an aim (u,), or None, and its distance."""
    clipped = np.clip(aim, part.lower, part.upper)
    # If the clipped input is forbidden, one on the straight line may be allowed.
    ways = aim - here
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(ways == 0.0, 1.0, (clipped - here) / ways)
    places = np.array([clipped, here + share.min() * ways])
    places = domain.to_unit(part.decode(places))
    places = np.vstack([places, part.candidates(_N_CANDIDATES)])
    places = places[part.allowed(places)]
    if not len(places):
        return None, np.inf
    gaps = np.linalg.norm(places - aim, axis=1)
    return places[np.argmin(gaps)], gaps.min()


def _with_next_values(space, here, low, high):
    """Return limits (u,), (u,) with the next value in each direction of a coordinate that moves.

    So a parameter with few values can step however small the limit is. If the next value is
    forbidden, the limits include the next allowed one as well.
    """
    k, low, high = space.domain.n_unit, np.array(low), np.array(high)
    moves, here = (low[:k] < high[:k]) & ~space.domain.circular, here[:k]
    steps = space.domain.neighbours(here)
    steps = steps[(steps != here).sum(axis=1) == 1]
    for values in steps, steps[space.allowed(steps)]:
        below = np.where(values < here, values, -np.inf).max(axis=0, initial=-np.inf)
        above = np.where(values > here, values, np.inf).min(axis=0, initial=np.inf)
        low[:k] = np.where(moves & np.isfinite(below), np.minimum(low[:k], below), low[:k])
        high[:k] = np.where(moves & np.isfinite(above), np.maximum(high[:k], above), high[:k])
    return low, high


def _next_members(space, here, reach):
    """Return the next members (m, k) in each direction, or None if the space does not list them.

    A member is one of them unless another of them is nearer to it. Such steps lead from any member
    to every other one, each step nearer than the one before.
    """
    places = space.listed()
    if places is None:
        return None
    here, reach = here[: places.shape[1]], reach[: places.shape[1]]
    left = places[np.all((places == here) | (reach > 0.0), axis=1)]
    left, members = left[np.any(left != here, axis=1)], []
    while len(left):
        gaps = np.linalg.norm(left - here, axis=1)
        members.append(left[np.argmin(gaps)])
        left = left[np.linalg.norm(left - members[-1], axis=1) >= gaps]
    return np.reshape(members, (-1, len(here)))


def _spans(domain):
    """Return lowest and highest unit coordinates (2, u)."""
    high = np.ones(domain.n_unit)
    ordered = domain.unit_columns[domain.kinds != "unordered"]
    high[ordered] = domain.to_unit(domain.upper)[ordered]
    return np.array([np.zeros(domain.n_unit), high])


def _widths(domain, shares):
    """Return distances (u,) in unit form of shares (d,) of the ranges.

    A category is held or free.
    """
    spans, ends = _spans(domain)[1], np.append(domain.unit_columns[1:], domain.n_unit)
    widths = np.empty(domain.n_unit)
    for share, kind, start, end in zip(shares, domain.kinds, domain.unit_columns, ends):
        if kind == "unordered":
            widths[start:end] = np.inf if share else 0.0
        elif kind == "cyclic":
            widths[start:end] = share
        else:
            widths[start] = share * spans[start] if spans[start] else 0.0
    return widths
