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

    They are left alone at the time at which they were asked for, and in later queries until
    something is told. What was told is free.

    Attributes
    ----------
    rows : ndarray of shape (m, d + 1)
        The places, and the times at which they were asked for.
    n_answers : tuple of int
        Number of observations and failures told before each was cancelled.
    """

    rows: np.ndarray
    n_answers: tuple = ()

    name = "cancelled"

    @classmethod
    def begun(cls, config):
        return cls(np.empty((0, config.domain.n_dims + 1)))

    def narrow(self, choice, space):
        run = choice.run
        if not (choice.is_query and len(self.rows)):
            return space
        left = (self.rows[:, -1] == choice.t) | (np.array(self.n_answers) == _n_answers(run))
        if not left.any():
            return space
        return space.avoiding(run.domain.unit_of(self.rows[left, :-1]), _NEAR)

    def told(self, run, after, told):
        elsewhere = (self.rows[:, :-1] != told.x).any(axis=1)
        return self if elsewhere.all() else self._those(elsewhere)

    def taken_back(self, run, after, query):
        if query.id < 0:  # an observation
            return self
        rows = np.vstack([self.rows, np.append(query.x, query.asked)])
        counts = (*self.n_answers, _n_answers(after))
        return replace(self, rows=rows[-_MAX_CANCELLED:], n_answers=counts[-_MAX_CANCELLED:])

    def continued(self, run, new, change):
        old = run.part(self.name)
        return replace(old, rows=change.rows(old.rows))

    def _those(self, some):
        """Return some of the queries, a mask (m,)."""
        counts = tuple(n for n, is_left in zip(self.n_answers, some) if is_left)
        return replace(self, rows=self.rows[some], n_answers=counts)


def _n_answers(run):
    """Return the number of observations and failures told."""
    return run.history.total + run.failures.total
