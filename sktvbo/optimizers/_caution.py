"""Cautious steps: places near observed ones, before a model knows the outcome."""

import numpy as np
from scipy.spatial.distance import cdist

from .._values import distinct_rows

# A cautious step is at most this part of each range.
NEAR = 0.1

# The nearest integer or member is a cautious step as well, if it is nearer than this.
_STEP = 0.6

# Distances up to this one are rounding errors.
_SLACK = 1e-9


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
    return places[nearest[(np.abs(move) < _STEP * space.upper[column])[nearest]]]
