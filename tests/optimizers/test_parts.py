"""The protocol of parts: a capability beside the others, without a change of their code."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from sktvbo import WDBO
from sktvbo.optimizers import _begin
from sktvbo.optimizers._chance import Probability
from sktvbo.optimizers._part import Part

BOX = [(0.0, 1.0), (0.0, 1.0)]
LIMITS = {"outcome_constraints": {"load": (None, 0.7)}}


@dataclass(frozen=True, eq=False)
class Corner(Part):
    """Queries are in the corner below some coordinate; what is told is counted."""

    n_told: int = 0
    n_back: int = 0

    name, is_stored = "corner", False
    high = 0.4

    @classmethod
    def of(cls, config):
        return cls()

    def narrow(self, choice, space):
        return space.within([0.0, 0.0], [self.high, self.high]) if choice.is_query else space

    def told(self, run, after, told):
        assert after.history.total == run.history.total + (told.y is not None)
        return replace(self, n_told=self.n_told + 1)

    def taken_back(self, run, after, query):
        return replace(self, n_back=self.n_back + 1)


class Slope(Probability):
    """A probability that falls with the first coordinate."""

    def log(self, U):
        return -3.0 * U[:, 0]

    def log_with_slopes(self, U):
        return self.log(U), np.tile([-3.0] + [0.0] * (U.shape[1] - 1), (len(U), 1))


class Left(Part):
    """Queries on the right are less likely to be allowed."""

    name, is_stored = "left", False

    @classmethod
    def of(cls, config):
        return cls()

    def cause(self, choice):
        return lambda t, latest, moving: Slope()


def driven(opt, n=16, first=None):
    x = first
    for t in range(n):
        x = opt.ask(float(t))
        load = {"load": float(x[0])} if opt.outcome_constraints else None
        opt.tell(x, float(x.sum()), float(t), outcomes=load)
    return opt


@pytest.mark.parametrize("first", [True, False], ids=["first", "last"])
@pytest.mark.parametrize("options", [{}, {"max_step": 0.1}, LIMITS], ids=["", "step", "limits"])
def test_a_part_of_ones_own_narrows_queries_beside_the_others(monkeypatch, options, first):
    kinds = (Corner, *_begin.KINDS) if first else (*_begin.KINDS, Corner)
    monkeypatch.setattr(_begin, "KINDS", kinds)
    opt = driven(WDBO(BOX, random_state=0, **options))
    x = opt.told_X_[:, :-1]
    assert x.max() <= Corner.high + 1e-9
    assert x[-6:].sum(axis=1).max() > 0.6  # the best is in the corner of the corner
    if "max_step" in options:
        assert np.abs(np.diff(x, axis=0)).max() <= 0.1 + 1e-9
    opt.tell([0.1, 0.1], t=20.0, failed=True)
    opt.suggest(21.0, n=3)
    opt.cancel(opt.pending_[-1])
    opt.untell()
    corner = opt._run.part("corner")
    assert (corner.n_told, corner.n_back) == (17, 2)


def test_without_the_part_queries_leave_the_corner():
    assert driven(WDBO(BOX, random_state=0)).told_X_[-6:, :-1].sum(axis=1).max() > 1.2


def test_a_cause_of_ones_own_counts_beside_the_others(monkeypatch):
    alone = driven(WDBO(BOX, random_state=0, **LIMITS))
    monkeypatch.setattr(_begin, "KINDS", (*_begin.KINDS, Left))
    opt = driven(WDBO(BOX, random_state=0, **LIMITS))
    assert opt.told_X_[8:, 0].mean() < alone.told_X_[8:, 0].mean() - 0.1
