"""Visits of all members of a small space.

With the default acquisition function some queries are for a member without a visit among the latest
observations. In a space of at most 20 members every fifth: all are visited within five times as
many steps. In one of at most 1000 the query after the n-th at the same point, n = 4, 8, 16, ...:
more of these would show nothing of other members.
"""

import numpy as np

from ._part import Part

# The numbers above, and of the latest observations.
_FEW_MEMBERS, _MANY_MEMBERS, _VISIT_EVERY, _MIN_REPEATS, _N_LATEST = 20, 1000, 5, 4, 1000


class Visits(Part):
    """Visits of members of a finite domain; failed and pending queries are visits as well.

    They are unknown if fewer than the latest observations are stored.
    """

    name, is_stored = "visits", False

    @classmethod
    def begun(cls, config):
        algorithm = config.algorithm
        visits = algorithm._visits_members and algorithm._has_default_acquisition
        return cls() if visits else None

    def narrow(self, choice, space):
        """Return the members without a visit, if it is their turn and there are any."""
        history, size = choice.run.history, space.reachable.size
        if not choice.is_query or choice.surrogate is None or size > _MANY_MEMBERS:
            return space
        if history.log.first and len(history.log) < _N_LATEST:
            return space
        told = history.entries
        if size <= _FEW_MEMBERS:
            turn = choice.number % _VISIT_EVERY == _VISIT_EVERY - 1
        else:
            turn = not choice.queries and _is_repeated(told)
        if not turn:
            return space
        members = space.candidates(_MANY_MEMBERS)
        taken = choice.places_of([entry.row for entry in told[-_N_LATEST:]])
        is_taken = np.isclose(members[:, np.newaxis], taken).all(axis=2).any(axis=1)
        return space if is_taken.all() else space.among(members[~is_taken])


def _is_repeated(told):
    """Return True if the latest observation was the n-th at its point, n = 4, 8, 16, ...."""
    if len(told) < _MIN_REPEATS or (told[-1].row[:-1] != told[-2].row[:-1]).any():
        return False
    places = np.array([entry.row[:-1] for entry in told[-_N_LATEST:]])
    n = np.count_nonzero((places == places[-1]).all(axis=1))
    return n >= _MIN_REPEATS and n.bit_count() == 1
