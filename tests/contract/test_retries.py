"""Answers that come twice, or late: clients retry after a crash, and workers are slow."""

import pickle

import numpy as np
import pytest
from contract.cases import fingerprint

from sktvbo import GPUCB, WDBO, RandomSearch
from sktvbo.domain import Arms, Context
from sktvbo.exceptions import AskTellError

BOX = [(0.0, 10.0)]


def restarted(opt, how, path):
    """Return the optimizer after its process has ended and another one has taken over."""
    if how == "pickle":
        return pickle.loads(pickle.dumps(opt))
    if how == "json":
        return type(opt).from_json(opt.to_json())
    if how == "journal":
        opt.close()
        return type(opt).resume(path)
    return opt


# --- told again -----------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["same process", "pickle", "json", "journal"])
def test_the_same_answer_again_changes_nothing_and_another_one_is_refused(how, tmp_path):
    path = tmp_path / "run.db" if how == "journal" else None
    opt = GPUCB(BOX, n_initial_points=3, random_state=0, journal=path)
    queries = opt.suggest(0.0, n=6)
    for query in queries[:3]:
        opt.tell(query, float(query.id), y_variance=0.5)
    opt.tell(queries[3], 3.0, t=7.0)
    opt.tell(queries[4], failed=True)
    opt = restarted(opt, how, path)
    before = fingerprint(opt)
    for query in queries[:3]:
        opt.tell(query, np.float32(query.id), y_variance=0.5)
    opt.tell(queries[3], 3.0, t=7.0)
    opt.tell(queries[4], np.nan, failed=True)
    opt.tell_many(queries[:3], [0.0, 1.0, 2.0], y_variance=0.5)
    assert fingerprint(opt) == before
    same = r"query 1, which was told already, must be the same as before, y=1\.0\. Got y=2\.0 inst"
    for match, i, given in [
        (same, 1, {"y": 2.0, "y_variance": 0.5}),
        ("before, t=0.0. Got t=1.0", 1, {"y": 1.0, "t": 1.0, "y_variance": 0.5}),
        ("before, y_variance=0.5. Got y_variance=0.0", 1, {"y": 1.0}),
        ("before, t=7.0. Got t=0.0", 3, {"y": 3.0}),
        ("before, failed=True. Got y=4.0", 4, {"y": 4.0}),
        ("y=0.0, y_variance=0.5. Got failed=True", 0, {"failed": True}),
    ]:
        with pytest.raises(AskTellError, match=match):
            opt.tell(queries[i], **given)
    with pytest.raises(AskTellError, match=r"query 1,.* Got y=5\.0"):
        opt.tell_many(queries[:2], [0.0, 5.0], y_variance=0.5)
    assert fingerprint(opt) == before
    opt.tell(queries[5], 5.0)
    assert (opt.n_told_, opt.n_failed_, opt.pending_) == (5, 1, [])


def test_in_another_context():
    opt = RandomSearch({"x": ("real", 0.0, 1.0), "load": Context(0.0, 1.0)}, random_state=0)
    query = opt.suggest(0.0, context={"load": 0.5})
    for _ in range(2):
        opt.tell(query, 1.0, context={"load": 0.25})
    with pytest.raises(AskTellError, match=r"before, context=\[0.25\]. Got context=\[0.5\]"):
        opt.tell(query, 1.0)
    assert opt.n_told_ == 1


def test_some_rows_of_many_were_told_before_or_come_twice():
    opt = GPUCB(BOX, n_initial_points=3, random_state=0)
    queries = opt.suggest(0.0, n=5)
    opt.tell_many(queries[:2], [0.0, 1.0])
    y = np.array([0.0, 1.0, 2.0, np.nan, 4.0, 4.0])
    opt.tell_many([*queries, queries[4]], y, failed=np.isnan(y))
    assert sorted(opt.told_y_) == [0.0, 1.0, 2.0, 4.0]
    assert (opt.n_failed_, opt.pending_) == (1, [])
    last = opt.suggest(1.0)
    with pytest.raises(AskTellError, match=r"query 5, which was told already.* Got y="):
        opt.tell_many([last, last], [5.0, 6.0])
    assert opt.pending_[0].id == last.id


def test_an_answer_older_than_the_history_is_refused():
    opt = RandomSearch(BOX, history=0, random_state=0)
    first = opt.suggest(0.0)
    opt.tell(first, 0.0)
    for t in range(1, 300):
        opt.tell(opt.ask(t), 0.0)
    with pytest.raises(AskTellError, match="before the observations that are stored"):
        opt.tell(first, 0.0)
    assert opt.n_told_ == 300


def test_an_answer_that_was_taken_back_may_be_told_again():
    opt = RandomSearch(BOX, random_state=0)
    query = opt.suggest(0.0)
    opt.tell(query, 1.0)
    opt.untell(query)
    assert opt.pending_ == []  # later queries do not keep away from it
    opt.tell(query, 2.0)
    assert (opt.told_y_.tolist(), opt.n_told_) == ([2.0], 1)


# --- told late ------------------------------------------------------------------------------------


def after_answers(n, delay, timeout="auto", kind=RandomSearch, domain=BOX, **options):
    """Return an optimizer that was told n answers, each a delay after its query, and the time."""
    opt = kind(domain, query_timeout=timeout, random_state=0, **options)
    waiting = [opt.suggest(0.0)]
    for t in np.arange(1, n + 1) * delay:
        opt.tell(waiting.pop(0), 0.0)
        waiting.append(opt.suggest(t))
    opt.cancel(waiting[0])
    return opt, n * delay


@pytest.mark.parametrize("timeout", ["auto", None])
def test_queries_expire_at_ten_times_the_usual_delay_after_20_answers(timeout):
    for n, expires in ((19, False), (20, timeout == "auto")):
        opt, t = after_answers(n, 0.5, timeout)
        lost = opt.suggest(t)
        opt.ask(t + 5.0)
        assert len(opt.pending_) == 2
        last = opt.suggest(t + 5.1)
        assert (lost.id not in [query.id for query in opt.pending_]) == expires
        opt.tell(last, 1.0)
        opt.tell(lost, 1.0)
        assert opt.told_X_[-1].tolist() == [*lost.x, lost.t]


def test_slow_answers_raise_the_age_and_few_outliers_do_not():
    opt, t = after_answers(100, 1.0)
    for _ in range(4):
        query = opt.suggest(t)
        t += 1000.0
        opt.tell(query, 0.0)
    lost = opt.suggest(t)
    opt.ask(t + 10.5)
    assert len(opt.pending_) == 1
    for _ in range(8):
        query = opt.suggest(t := t + 20.0)
        opt.tell(query, 0.0)
    assert lost.id not in [query.id for query in opt.pending_]
    lost = opt.suggest(t := t + 20.0)
    opt.ask(t + 190.0)
    assert lost.id in [query.id for query in opt.pending_]


def test_a_run_without_workers_lets_nothing_expire_that_has_one_time():
    opt = RandomSearch(BOX, random_state=0)
    lost = opt.suggest(0.0)
    for _ in range(50):
        opt.tell(opt.suggest(0.0), 0.0)
    opt.ask(1e6)
    assert opt.pending_[0].id == lost.id


@pytest.mark.parametrize("how", ["same process", "pickle", "json", "journal"])
def test_a_late_result_is_accepted_by_handle_and_by_x(how, tmp_path):
    path = tmp_path / "run.db" if how == "journal" else None
    opt, t = after_answers(20, 1.0, kind=WDBO, n_initial_points=5, journal=path)
    lost = [opt.suggest(t) for _ in range(3)]
    opt.tell(opt.suggest(t + 100.0), 0.0)
    opt = restarted(opt, how, path)
    assert opt.pending_ == []
    opt.tell(lost[0], 1.0)
    opt.tell(lost[1].x, 2.0)
    opt.cancel(lost[2])
    assert opt.told_X_[-2:].tolist() == [[*query.x, t] for query in lost[:2]]
    assert opt.to_frame()["query"].tolist()[-2:] == [lost[0].id, lost[1].id]
    opt.tell(lost[0], 1.0)
    for gone in (lost[2], lost[2].x):
        with pytest.raises(AskTellError, match="still pending"):
            opt.tell(gone, 1.0)


def test_by_x_only_if_it_is_unambiguous():
    opt, t = after_answers(20, 1.0, domain=Arms(1))
    opt.suggest(t), opt.suggest(t + 1.0)
    opt.tell(opt.suggest(t + 100.0), 0.0)
    assert opt.pending_ == []
    with pytest.raises(AskTellError, match="still pending when no t is given"):
        opt.tell([0], 1.0)
    opt.tell([0], 1.0, t)  # an observation of its own
    assert opt.told_X_[-1].tolist() == [0.0, t]


def test_the_latest_256_expired_queries_are_stored():
    opt = RandomSearch(BOX, query_timeout=1.0, random_state=0)
    queries = opt.suggest(0.0, n=300)
    opt.tell(opt.suggest(10.0), 0.0)
    for query in queries[-256:]:
        opt.tell(query, 0.0)
    with pytest.raises(AskTellError, match="expired"):
        opt.tell(queries[43], 0.0)
