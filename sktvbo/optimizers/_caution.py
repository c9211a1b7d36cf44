"""Cautious steps: places near observed ones, before a model knows the outcome."""

import numpy as np
from scipy.spatial.distance import cdist

from .._validation import check_random_state
from .._values import distinct_rows

# A cautious step is at most this part of each range.
NEAR = 0.1

# The nearest integer or member is a cautious step as well, if it is nearer than this.
_STEP = 0.6

# Distances up to this one are rounding errors.
_SLACK = 1e-9

# Distances of places drawn around known ones are at least this part of the largest.
_NEAREST = 0.003


class Near:
    """Places within a cautious step of known ones; categories are free.

    Parameters
    ----------
    domain : Domain
    known : ndarray of shape (m, u)
        In unit form.
    length : float
        Longest step, as a part of each range.
    """

    def __init__(self, domain, known, length):
        space = domain.search_space()
        k = space.domain.n_unit
        ends = np.append(domain.unit_columns[1:], domain.n_unit)
        ordered = np.zeros(domain.n_unit, dtype=bool)
        for start, end, kind in zip(domain.unit_columns, ends, domain.kinds):
            ordered[start:end] = kind != "unordered"
        self._columns = np.flatnonzero(ordered[:k])
        # Places, and how far from each others are near them (u,).
        known, _ = distinct_rows(known)
        wide = length * space.upper[self._columns] + _SLACK
        self._parts = [(known[:, self._columns], wide)]
        free = space.continuous[self._columns]
        if not free.all():
            found, moves = [], space.continuous
            for shape in distinct_rows(known[:, ~moves])[0]:
                # Steps of integers and members are the same whatever the reals are.
                places = known[(known[:, ~moves] == shape).all(axis=1)]
                for step in steps_from(domain, places[0]):
                    found.append(np.where(moves, places, step)[:, self._columns])
            steps = np.vstack([known[:0, self._columns], *found])
            self._parts.append((steps, np.where(free, wide, _SLACK)))

    def contains(self, U):
        """Return which places (m, u) are near known ones (m,)."""
        U, found = U[:, self._columns], np.zeros(len(U), dtype=bool)
        for places, widths in self._parts:
            if len(places):
                found |= cdist(U / widths, places / widths, "chebyshev").min(axis=1) <= 1.0
        return found


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
    return places[nearest[(np.abs(move) < _STEP * space.upper[column])[nearest]]]


def around(space, known, n, farthest, rng=None):
    """Return places (n, u) around known ones (m, u) of a space, more of them near than far."""
    rng, free = check_random_state(0 if rng is None else rng), np.flatnonzero(space.continuous)
    found = known[rng.randint(len(known), size=n)]
    shifts = rng.standard_normal((n, len(free)))
    shifts *= np.geomspace(_NEAREST * farthest, farthest, n)[:, np.newaxis]
    found[:, free] = np.clip(found[:, free] + shifts, space.lower[free], space.upper[free])
    return space.projected(found)
