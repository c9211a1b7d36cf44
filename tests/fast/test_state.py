"""Values of a run: its log, data set and pending queries."""

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor

import joblib
import numpy as np
import pytest
from numpy.testing import assert_array_equal

from sktvbo.optimizers._state import DataSet, Log, Observation, PendingQueries


def test_a_longer_log_leaves_the_shorter_as_it_was():
    empty = Log()
    one = empty.append("a")
    two, other = one.append("b"), one.append("c")
    three = two.append("e")
    logs = empty, one, two, other, three
    assert ["".join(log) for log in logs] == ["", "a", "ab", "ac", "abe"]
    assert [len(log) for log in logs] == [0, 1, 2, 2, 3]
    assert [bool(log) for log in logs] == [False, True, True, True, True]


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


def test_capped_memory_does_not_grow():
    log, held = Log(limit=300), []
    for i in range(3000):
        log = log.append(i)
        held.append(len(log._items))
    assert max(held) <= 300 + 300 // 8 + 66
    assert list(log) == list(range(2700, 3000))
    assert (log.total, log.first, len(log)) == (3000, 2700, 300)
    assert log.take([2700, 2999]) == [2700, 2999]
    twin = pickle.loads(pickle.dumps(log)).append(3000)
    assert (twin.total, twin[0], twin.limit) == (3001, 2701, 300)


def test_logs_that_grow_from_one_in_several_threads_are_their_own():
    begun = Log(range(100))

    def grow(number):
        log = begun
        for i in range(300):
            log = log.append((number, i))
        return log

    with ThreadPoolExecutor(8) as pool:
        logs = list(pool.map(grow, range(8)))
    for number, log in enumerate(logs):
        assert list(log[100:]) == [(number, i) for i in range(300)]


def grown(data, *positions):
    for i in positions:
        row, outcomes = np.array([0.1 * i, 2.0 * i]), (None, 3.0 * i)
        data = data.append(i, Observation(row, float(i), 0.0, i, None, {}, 0.5, outcomes=outcomes))
    return data


def holds(data, *positions):
    expected = np.array(positions, dtype=float)
    assert_array_equal(data.positions, positions)
    assert_array_equal(data.rows, np.column_stack([0.1 * expected, 2.0 * expected]))
    assert_array_equal(data.y, expected)
    assert_array_equal(data.variance, np.full(len(expected), 0.5))
    unknown = np.full(len(expected), np.nan)
    assert_array_equal(data.outcomes, np.column_stack([unknown, 3.0 * expected]))


def test_a_data_set_grows_in_place_and_leaves_the_smaller_as_it_was():
    five = grown(DataSet(), *range(5))
    nine, other = grown(five, *range(5, 9)), grown(five, 7)
    fewer = grown(nine.drop([0, 3]), 20)
    holds(five, *range(5))
    holds(nine, *range(9))
    holds(other, *range(5), 7)
    holds(fewer, 1, 2, 4, 5, 6, 7, 8, 20)
    assert nine.positions.dtype == np.intp
    assert np.shares_memory(five.rows, nine.rows)
    assert not np.shares_memory(five.rows, other.rows)
    again = pickle.loads(pickle.dumps(five))
    assert again.room is None
    holds(grown(again, 8), *range(5), 8)
    assert joblib.hash(five) == joblib.hash(again)


def test_expired_queries_leave_the_state_when_something_is_told():
    x = np.zeros(1)
    pending, _ = PendingQueries(timeout=5.0).append([(x, 0.0), (x, 8.0)], 8.0, 8.0)
    assert [query.id for query in pending.at(10.0)] == [1]
    assert len(pending.queries) == 2
    assert [query.id for query in pending.answered(None, 10.0).queries] == [1]
    assert pending.answered(pending.queries[1], 10.0).queries == ()
    assert pending.n_total == 2
