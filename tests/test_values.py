"""Frozen values of which the next one is made."""

from dataclasses import dataclass, replace

import pytest

from sktvbo._values import replaced


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
    with pytest.raises(AttributeError):
        other.y = 4.0


def test_a_field_that_is_not_there():
    with pytest.raises(TypeError, match="Point has no field mass, z"):
        replaced(Point(1.0), mass=1.0, x=2.0, z=3.0)
