"""Log records of queries and events."""

import json
import logging

import numpy as np
import pytest

from sktvbo import ABO, ETGPUCB, SWGPUCB, BayesianOptimizer, RandomSearch
from sktvbo.acquisition import UCB
from sktvbo.exceptions import JournalError

BOX = [(0.0, 10.0)]


@pytest.fixture
def records(caplog):
    """Return the structured fields of the events of a kind so far."""
    caplog.set_level(logging.DEBUG, "sktvbo.optimizers")

    def of(event):
        assert all(record.name == "sktvbo.optimizers" for record in caplog.records)
        json.dumps([record.sktvbo for record in caplog.records], allow_nan=False)
        return [r.sktvbo for r in caplog.records if r.sktvbo["event"] == event]

    return of


def test_a_query_has_one_record_with_what_it_was_chosen_for(records, caplog):
    acquisition = UCB(beta=4.0)
    options = {"n_initial_points": 3, "start_points": [[1.0]] * 4, "random_state": 0}
    opt = SWGPUCB(BOX, acquisition=acquisition, window=9, maximize=False, **options)
    for t in range(6):
        x = opt.ask(t)
        predicted = opt.predict(x, t, return_std=True) if t > 3 else (None, None)
        (*_, found) = records("query")
        assert (found["query"], found["x"], found["t"]) == (t, x.tolist(), t)
        assert (found["mean"], found["std"]) == pytest.approx(predicted)
        if t > 3:
            assert found["acquisition"] == pytest.approx(-predicted[0] + 2.0 * predicted[1])
        opt.tell(x, (x[0] - 4.0) ** 2)
    assert len(records("query")) == 6
    assert [r.levelno for r in caplog.records if "Query" in r.message] == [logging.DEBUG] * 6
    assert "Query 5: x=[" in caplog.text


def test_a_batch_and_a_later_time_are_logged_as_chosen(records):
    opt = ABO(BOX, n_initial_points=3, random_state=0)
    for t in range(5):
        opt.tell(opt.ask(t), float(t))
    queries = opt.suggest(5.0, n=3)
    found = records("query")[-3:]
    assert [(f["query"], f["t"]) for f in found] == [(q.id, q.t) for q in queries]
    # Each is chosen with those before it as pending, which makes its own place less uncertain.
    assert opt.predict(queries[0].x, queries[0].t) == pytest.approx(found[0]["mean"])
    assert all(f["acquisition"] > f["mean"] for f in found)


@pytest.mark.parametrize("acquisition", ["ucb", "ei", "ts"])
def test_the_level_changes_no_query(acquisition, caplog):
    domain = {"rate": ("log-real", 1e-3, 1.0), "depth": ("integer", 1, 5), "loss": ["l1", "l2"]}
    options = {"max_step": 0.3, "n_initial_points": 4, "random_state": 0, "query_timeout": 4.0}

    def queries(level):
        caplog.set_level(level, "sktvbo.optimizers")
        opt, found = BayesianOptimizer(domain, acquisition=acquisition, **options), []
        for t in range(9):
            query = opt.suggest(t)
            found.append(query.x)
            opt.tell(query, failed=True) if t == 5 else opt.tell(query, query.x["rate"])
        return found

    assert queries(logging.DEBUG) == queries(logging.WARNING)


def test_searches_removals_and_resets(records):
    opt = SWGPUCB(BOX, window=5, n_initial_points=4, refit_every=3, random_state=0)
    for t in range(10):
        opt.tell([float(t)], np.sin(t), float(t))
    assert [found["n"] for found in records("refit")] == [4, 5, 5]
    assert [found["t"] for found in records("refit")] == [3.0, 6.0, 9.0]
    assert records("refit")[-1]["theta"] == opt.surrogate_.theta_.tolist()
    assert [found["removed"] for found in records("removal")] == [[i] for i in range(5)]
    assert {found["n"] for found in records("removal")} == {5}
    assert not records("reset")
    opt = ETGPUCB(BOX, n_initial_points=4, random_state=0)
    for t in range(6):
        opt.tell([float(t)], np.sin(t) + 1e3 * (t == 5), float(t))
    assert records("reset") == [{"event": "reset", "t": 5.0, "n": 1, "removed": [0, 1, 2, 3, 4]}]


def test_tell_many_has_one_record_of_all_that_it_removed(records):
    opt = SWGPUCB(BOX, window=5, n_initial_points=4, random_state=0)
    times = np.arange(12.0)
    opt.tell_many(np.ones((12, 1)), np.sin(times), times)
    (found,) = records("removal")
    assert (found["removed"], found["n"]) == (list(range(7)), 5)


def test_an_expired_query_is_logged_when_it_is_given_up(records):
    opt = RandomSearch(BOX, query_timeout=3.0, random_state=0)
    lost, late, failing = (opt.suggest(float(t)) for t in (0.0, 1.0, 2.0))
    opt.tell(late, 1.0)
    opt.tell(failing, failed=True)
    assert not records("expired")
    opt.tell(opt.ask(3.5), 1.0)
    assert records("expired") == [{"event": "expired", "t": 3.5, "query": lost.id}]


def test_a_step_that_fails_has_no_events(records, tmp_path):
    path = tmp_path / "run.db"
    opt = SWGPUCB(BOX, window=2, n_initial_points=2, random_state=0, journal=path)
    opt.tell([1.0], 1.0, 0.0)
    path.rename(tmp_path / "moved.db")
    with pytest.raises(JournalError):
        opt.tell([2.0], 2.0, 1.0)
    assert not records("refit")
    (tmp_path / "moved.db").rename(path)
    opt.tell([2.0], 2.0, 1.0)
    assert len(records("refit")) == 1
