"""Copies of values, distinct rows beside NumPy's, and arrays that grow."""

import signal
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from sktvbo._values import append_rows, distinct_rows, replaced


@pytest.mark.parametrize("d", [1, 2, 5])
@pytest.mark.parametrize("n", [0, 1, 2, 200])
def test_distinct_rows_are_numpys(n, d, rng):
    rows = rng.randint(-2, 3, size=(n, d)) / 3.0
    found, first = distinct_rows(rows)
    expected, expected_first = np.unique(rows, axis=0, return_index=True)
    assert len(expected) < n or n < 200 or d == 5  # some are there again
    assert_array_equal(found, expected)
    assert_array_equal(first, expected_first)
    assert_array_equal(distinct_rows(np.asfortranarray(rows))[0], expected)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timers that interrupt")
def test_an_interrupt_is_an_interrupt(rng):
    rows = rng.uniform(size=(2000, 3))

    def interrupt(number, frame):
        raise KeyboardInterrupt

    before, interrupted = signal.signal(signal.SIGALRM, interrupt), 0
    try:
        for seconds in rng.uniform(1e-5, 1e-3, size=200):
            try:
                signal.setitimer(signal.ITIMER_REAL, seconds)
                while True:
                    distinct_rows(rows)
            except KeyboardInterrupt:
                interrupted += 1
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
    assert interrupted == 200


def test_arrays_that_grow_from_the_same_ones_in_threads_share_nothing_that_differs():
    for _ in range(20):
        first, room = append_rows({"a": np.zeros((0, 2))}, {"a": np.zeros((3, 2))})

        def more(value):
            arrays, its = append_rows(first, {"a": np.full((4, 2), value)}, room)  # noqa: B023
            for _ in range(30):
                arrays, its = append_rows(arrays, {"a": np.full((1, 2), value)}, its)
            return arrays["a"]

        with ThreadPoolExecutor(4) as pool:
            for value, array in enumerate(pool.map(more, range(4))):
                assert_array_equal(array, [[0.0, 0.0]] * 3 + [[value, value]] * 34)


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
