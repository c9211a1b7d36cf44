"""Answers of an expert, for the next query of SparQ-GP-UCB."""

from dataclasses import dataclass

import numpy as np

from .._values import replaced
from ._part import Part


@dataclass(frozen=True, eq=False)
class Expert(Part):
    """An expert who is asked beside the queries; an observation or a failure ends its answers.

    Attributes
    ----------
    X : ndarray of shape (q, d + 1)
        Places and time of the answers.
    y : ndarray of shape (q,)
    surrogate : Surrogate or None
        Conditioned on the answers, and on the data set; None without answers.
    asked_at : float or None
        Time at which the expert was last asked.
    """

    X: np.ndarray
    y: np.ndarray
    surrogate: object = None
    asked_at: float | None = None

    name = "expert"

    @classmethod
    def begun(cls, config):
        if not config.algorithm._asks_expert:
            return None
        return cls(np.empty((0, config.domain.n_dims + 1)), np.empty(0))

    def without_answers(self):
        """Return the part after the answers were used."""
        return replaced(self, X=self.X[:0], y=self.y[:0], surrogate=None)

    def told(self, run, after, told):
        return self.without_answers()

    def taken_back(self, run, after, query):
        return self if after.data is run.data else self.without_answers()

    def continued(self, run, new, change):
        return run.part(self.name)


def without_answers(run):
    """Return the run without answers of an expert."""
    expert = run.part(Expert.name)
    return run if expert is None else run.with_part(expert.without_answers())
