"""The log of a run: a list that grows as a value."""

import copy
import pickle

import pytest

from sktvbo.optimizers._log import Log


def test_a_longer_log_leaves_the_shorter_as_it_was():
    empty = Log()
    one = empty.append("a")
    two, other = one.append("b"), one.append("c")
    three = two.append("d")
    assert [list(log) for log in (empty, one, two, other, three)] == [
        [],
        ["a"],
        ["a", "b"],
        ["a", "c"],
        ["a", "b", "d"],
    ]
    assert [len(log) for log in (empty, one, two, other, three)] == [0, 1, 2, 2, 3]
    assert not empty
    assert one


def test_positions_and_slices_know_the_length():
    shorter = Log(range(3))
    shorter.append(99)
    assert (shorter[0], shorter[-1]) == (0, 2)
    assert shorter[1:] == [1, 2]
    assert shorter[-2:] == [1, 2]
    assert shorter[-9:] == [0, 1, 2]
    with pytest.raises(IndexError):
        shorter[3]


@pytest.mark.parametrize("twin_of", [copy.deepcopy, lambda log: pickle.loads(pickle.dumps(log))])
def test_copies_hold_what_the_log_holds_and_no_more(twin_of):
    log = Log([1, 2])
    log.append(3)
    twin = twin_of(log)
    assert list(twin) == [1, 2]
    assert list(twin.append(4)) == [1, 2, 4]
    assert list(log) == [1, 2]
