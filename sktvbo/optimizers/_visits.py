"""Visits of the members of a discrete space, and of all categories of any space.

With the default acquisition function queries are for a category that was never tried, until all
were. Some queries are for a member without a visit among the latest half of all observations, the
one whose visit is the longest ago: so a member that becomes the best is found again within as many
steps as the run is old, and where nothing changes visits become rare as 1 / time. In a space of at
most 20 members it is every fifth query, and a visit lasts for 50 observations at least. In one of
at most 1000, where visits of all cost more, it is every 40th query, and the one after the n-th at
the same point, n = 4, 8, 16, ...: more of these would show nothing of other members. What is known
to violate a limit, or to fail, is visited as well, as a model never forgets it where nothing has
changed so far. This visit lasts for 150 observations at least. A member of a larger space that was
never visited, and is expected to fail, is left out.
"""

import numpy as np

from .._values import distinct_rows
from ..acquisition._optimize import N_CANDIDATES
from ._part import Part

# The numbers above, and of the latest observations, beyond which none counts as a visit.
_FEW_MEMBERS, _VISIT_EVERY, _LASTS = 20, 5, 50
_MANY_MEMBERS, _VISIT_MANY_EVERY, _MIN_REPEATS, _N_LATEST = 1000, 40, 4, 1000
_FAILING_LASTS = 150

# Categories are tried by this number of queries; those that are added later, at every fifth query.
_TRIED_BY = 30


class Visits(Part):
    """Visits of categories and members; failed and pending queries are visits as well."""

    name, is_stored = "visits", False

    @classmethod
    def begun(cls, config):
        algorithm = config.algorithm
        visits = algorithm._visits_members and algorithm._has_default_acquisition
        return cls() if visits else None

    def narrow(self, choice, space):
        """Return the categories, or the members, whose turn it is; the space if there are none."""
        if not choice.is_query or choice.surrogate is None:
            return space
        if choice.number < _TRIED_BY or _is_turn(choice, _VISIT_EVERY):
            tried = _with_untried_categories(choice, space)
            if tried is not space:
                return tried
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
        # No member becomes due before the next turn.
        n, is_few = choice.run.history.total + every, size <= _FEW_MEMBERS
        least = np.where(fails, _FAILING_LASTS, _LASTS if is_few else 0)
        due = latest < n - np.maximum((n + 1) // 2, least)
        due = np.where(latest < 0, ~fails | (due & is_few), due)
        due &= latest == latest[due].min(initial=n)
        return space.among(members[due]) if due.any() else space


def _is_turn(choice, every):
    """Return True for one query of some in turn."""
    return choice.number % every == every - 1


def _with_untried_categories(choice, space):
    """Return the part of a space with categories that were never tried, if there are any."""
    categories = space.domain.categories
    if not categories:
        return space
    latest = choice.run.history.latest(_N_LATEST)
    tried = choice.places_of([entry.row for entry in latest]).any(axis=0)
    for columns in categories:
        if tried[columns].all():
            continue
        # Constraints and limits may exclude a category.
        places = space.candidates(N_CANDIDATES)
        places = places[~choice.fails(places)]
        untried = places[:, columns].any(axis=0) & ~tried[columns]
        if untried.any():
            upper = space.upper.copy()
            upper[columns[~untried]] = 0.0
            space = space.within(space.lower, upper)
    return space


def _latest_visits(choice, members):
    """Return how many observations (m,) were told before the latest visit of members (m, u).

    It is -1 without a visit. A visit in another category of a context does not count; for contexts
    of numbers, visits in all of them do.
    """
    run = choice.run
    n, history, failures = run.history.total, run.history, run.failures
    entries = history.latest(_N_LATEST)
    places = choice.places_of([entry.row for entry in entries])
    counts = np.full(len(places), n)
    told = [*history.positions[len(history.positions) - len(entries) :], *failures.n_before]
    counts[: len(told)] = told
    compared = np.ones(run.domain.n_unit, dtype=bool)
    compared[run.domain.unit_columns[np.isin(run.domain.kinds, ["straight", "curved"])]] = False
    order = np.argsort(-counts, kind="stable")
    places, first = distinct_rows(places[order][:, compared])
    is_at = np.isclose(members[:, np.newaxis, compared], places).all(axis=2)
    return np.where(is_at, counts[order][first], -1).max(axis=1, initial=-1)


def _is_repeated(told):
    """Return True if the latest observation was the n-th at its point, n = 4, 8, 16, ...."""
    if len(told) < _MIN_REPEATS or (told[-1].row[:-1] != told[-2].row[:-1]).any():
        return False
    places = np.array([entry.row[:-1] for entry in told[-_N_LATEST:]])
    n = np.count_nonzero((places == places[-1]).all(axis=1))
    return n >= _MIN_REPEATS and n.bit_count() == 1
