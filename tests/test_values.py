"""Frozen values of which the next one is made."""

from dataclasses import dataclass, replace

import pytest

from sktvbo import GPUCB
from sktvbo._values import replaced
from sktvbo.optimizers._run import Run


@dataclass(frozen=True)
class Point:
    x: float
    y: float = 2.0


@dataclass(frozen=True)
class Heavy(Point):
    mass: float = 3.0


def test_it_is_a_new_value_of_the_same_kind():
    point = Heavy(1.0)
    other = replaced(point, y=5.0, mass=7.0)
    assert replaced is not replace
    assert other == replace(point, y=5.0, mass=7.0)
    assert type(other) is Heavy
    assert point == Heavy(1.0)
    assert replaced(point) == point


def test_a_field_that_is_not_there():
    with pytest.raises(TypeError, match="Point has no field mass, z"):
        replaced(Point(1.0), mass=1.0, x=2.0, z=3.0)


def test_runs_are_frozen_as_they_were():
    opt = GPUCB([(0.0, 1.0)], random_state=0)
    opt.ask(0.0)
    run = replaced(opt._run, now=3.0)
    assert isinstance(run, Run)
    assert (run.now, opt._run.now) == (3.0, 0.0)
    with pytest.raises(AttributeError):
        run.now = 4.0
