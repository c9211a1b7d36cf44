"""Cancelled queries: their places are left alone at their time."""

from dataclasses import dataclass, replace

import numpy as np

from ._part import Part

# Reals nearer than this part of each range to a cancelled place are left alone as well.
_NEAR = 0.05

# Cancelled queries stored, the latest.
_MAX_CANCELLED = 100


@dataclass(frozen=True, eq=False)
class Cancelled(Part):
    """Places of cancelled queries, at which a simulation may crash.

    They are left alone at the time at which they were asked for, and for less than the usual
    interval between observations, unless they are told or announced.

    Attributes
    ----------
    rows : ndarray of shape (m, d + 1)
        The places, and the times at which they were asked for.
    """

    rows: np.ndarray

    name = "cancelled"

    @classmethod
    def begun(cls, config):
        return cls(np.empty((0, config.domain.n_dims + 1)))

    def narrow(self, choice, space):
        if not (choice.is_query and len(self.rows)):
            return space
        run, waiting = choice.run, {query.x.tobytes() for query in choice.run.pending_now}
        ages, interval = choice.t - self.rows[:, -1], run.times_of([choice.t]).interval
        near = (ages == 0.0) | ((ages > 0.0) & (ages < interval))
        near &= [row[:-1].tobytes() not in waiting for row in self.rows]
        if not near.any():
            return space
        return space.avoiding(run.domain.unit_of(self.rows[near, :-1]), _NEAR)

    def told(self, run, after, told):
        elsewhere = (self.rows[:, :-1] != told.x).any(axis=1)
        return self if elsewhere.all() else replace(self, rows=self.rows[elsewhere])

    def taken_back(self, run, after, query):
        if query.id < 0:  # an observation
            return self
        rows = np.vstack([self.rows, np.append(query.x, query.asked)])
        return replace(self, rows=rows[-_MAX_CANCELLED:])

    def continued(self, run, new, change):
        return replace(self, rows=change.rows(run.part(self.name).rows))
