"""Queries have handles: which one is answered, withdrawn, or still to come."""

import copy
import warnings
from datetime import UTC, datetime

import numpy as np
import pytest
from contract.cases import (
    ARMS,
    BY_NAME,
    DOMAINS,
    NAMED,
    STEPS,
    fingerprint,
    in_turns,
    points,
    points_of,
)
from contract.test_retries import restarted
from numpy.testing import assert_array_equal

from sktvbo import GPUCB, RandomSearch
from sktvbo.domain import Context, FiniteSet, WithContext, as_domain
from sktvbo.exceptions import (
    AskTellError,
    DomainError,
    InvalidObservationError,
    SktvboError,
    UnansweredQueryWarning,
)


@pytest.mark.parametrize("domain", DOMAINS)
def test_pending_queries_are_listed_as_users_see_them_oldest_first(domain):
    case = BY_NAME["WDBO"]
    opt, _ = case.after(domain=domain)
    first = len(opt.told_y_)
    asked = [opt.ask(STEPS), *points_of(opt.suggest(STEPS + 1.0, n=2))]
    opt.announce(asked[0], 3.0)
    found = opt.pending_
    assert [query.id for query in found] == list(range(first, first + 4))
    assert [query.t for query in found] == [STEPS, STEPS + 1.0, STEPS + 1.0, 3.0]
    assert all(type(query.x) is type(asked[0]) for query in found)
    assert_array_equal(points([q.x for q in found], domain), points([*asked, asked[0]], domain))
    assert_array_equal(opt.pending_X_[:, -1], [query.t for query in found])


def test_what_is_not_pending_is_refused():
    opt, other = (GPUCB([(0.0, 1.0)], random_state=seed) for seed in (0, 1))
    told, gone, left = (opt.suggest(t) for t in (0.0, 1.0, 2.0))
    opt.tell(told, 1.0)
    opt.cancel(gone)
    strange = [other.suggest(t) for t in (0.0, 1.0, 2.0, 3.0)]
    before = fingerprint(opt)
    for call in (opt.cancel, lambda query: opt.tell(query, 2.0)):
        with pytest.raises(AskTellError, match=r"query 0, .*told already"):
            call(told)
        for query in (gone, *strange[1:]):
            with pytest.raises(AskTellError, match="cancelled, expired or another"):
                call(query)
    assert fingerprint(opt) == before
    with pytest.raises(InvalidObservationError, match="y must be finite"):
        opt.tell(left, np.nan)
    assert fingerprint(opt) == before
    opt.tell(left, 1.0)


# --- x that is not what it was --------------------------------------------------------------------


ROUNDED = DOMAINS | {
    "wide": [(1e6, 1e6 + 1.0), (-1e-9, 1e-9)],
    "thirds": FiniteSet(np.arange(7.0)[:, np.newaxis] / 6.0),
    "counts": {"n": ("integer", 0, 10**9), "m": ("log-integer", 1, 10**12)},
    "context": WithContext([(0.0, 10.0)], [(0.0, 1.0)]),
}


def each_number(read, x):
    """Return a point with some function of each of its reals."""
    if isinstance(x, dict):
        return {k: read(v) if isinstance(v, float) else v for k, v in x.items()}
    return np.array([read(v) for v in x])


def context_in(domain):
    return {"context": [0.5]} if domain == "context" else {}


@pytest.mark.parametrize("domain", ROUNDED)
def test_x_of_float32_answers_its_query_and_is_the_data(domain):
    opt = RandomSearch(ROUNDED[domain], random_state=0)
    space = as_domain(ROUNDED[domain])
    for t, timed in ((0.0, True), (0.1, False), (1e9, True), (1.7e9, False)):
        x = opt.ask(t, **context_in(domain))
        if domain == "counts":
            read = {k: int(np.float32(v)) for k, v in x.items()}
        else:
            read = each_number(np.float32, x)
        opt.tell(read, 1.0, **({"t": t} if timed else {}))
        assert opt.pending_ == []
        row = space.as_row(read)[: space.n_chosen]
        expected = np.clip(row, space.lower[: len(row)], space.upper[: len(row)])
        if isinstance(space, FiniteSet):
            expected = space.points[np.argmin(np.abs(space.points - row).max(axis=1))]
        assert_array_equal(opt.told_X_[-1, : len(row)], expected)
    assert opt.to_frame()["query"].tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize(("domain", "digits"), [("box", 2), ("named", 3), ("context", 2)])
def test_x_of_few_decimals_answers_the_nearest_query_of_its_time(domain, digits):
    opt = RandomSearch(ROUNDED[domain], random_state=1)
    opt.suggest(4.0, n=3, **context_in(domain))  # never answered
    for t in range(5, 15):
        for query in opt.suggest(float(t), n=2, **context_in(domain)):
            opt.tell(each_number(lambda v: round(float(v), digits), query.x), 1.0, t)
            assert query.id not in [each.id for each in opt.pending_]
    assert [query.id for query in opt.pending_] == [0, 1, 2]


def test_two_decimals_of_a_small_range_and_of_queries_that_are_close():
    opt = RandomSearch([(0.0, 1.0)], random_state=0)
    for x in (0.5, 0.504, 0.56):
        opt.announce([x], 0.0)
    opt.tell([0.502], 1.0, 0.0)  # as near to the first as to the second
    assert len(opt.pending_) == 3
    opt.tell([0.5004], 1.0, 0.0)
    opt.tell([0.566], 1.0, 0.0)
    opt.tell([0.51], 1.0, 0.0)
    assert opt.pending_ == []


def test_what_is_further_away_is_no_answer():
    opt = RandomSearch([(0.0, 1.0)], random_state=0)
    x = opt.ask(0.0)
    with pytest.raises(AskTellError, match=r"still pending when no t is given.*the handle of sugg"):
        opt.tell(x + 0.0101, 1.0)
    opt.tell(x + 0.0101, 1.0, 0.0)
    assert len(opt.pending_) == 1
    for where in (ARMS.points[0] + 1e-2, ARMS.points[0] + 2.0):
        with pytest.raises(DomainError):
            RandomSearch(ARMS).tell(where, 1.0, 0.0)
    steps = RandomSearch(FiniteSet(np.arange(1001.0)[:, np.newaxis]), random_state=0)
    steps.announce([500.0], 0.0)
    steps.tell([501.0], 1.0, 0.0)  # another member
    assert len(steps.pending_) == 1
    named = RandomSearch(NAMED, random_state=0)
    x = named.ask(0.0)
    for other in ({"depth": x["depth"] % 5 + 1}, {"loss": "l1" if x["loss"] != "l1" else "l2"}):
        named.tell(x | other, 1.0, 0.0)
    assert len(named.pending_) == 1


def test_what_is_read_back_beyond_the_edge_is_stored_as_measured():
    opt = RandomSearch([(0.0, 1.0)])
    opt.announce([1.0], 0.0)
    with pytest.raises(DomainError):
        opt.tell([1.02], 1.0, 0.0)
    opt.tell([1.004], 1.0, 0.0)
    assert_array_equal(opt.told_X_, [[1.004, 0.0]])


def test_cancelling_and_a_journal_take_a_rounded_x(tmp_path):
    opt = RandomSearch([(0.0, 1.0)], random_state=0, journal=tmp_path / "run.db")
    opt.cancel(opt.ask(0.0).astype(np.float32))
    query = opt.suggest(1.0)
    opt.tell(query.x.round(2), 1.0)
    opt.tell(query, 1.0)  # told again by its handle: x is not compared
    opt.close()
    again = RandomSearch.resume(tmp_path / "run.db")
    again.tell(query, 1.0)
    assert_array_equal(again.told_X_, [[*query.x.round(2), 1.0]])
    again.untell(query)
    assert again.n_told_ == 0


# --- what was set in place of a query -------------------------------------------------------------


def set_near(domain, x):
    """Return another point than a query, which a machine may have set."""
    if domain == "named":
        return x | {"rate": 1.0 - x["rate"], "loss": "l1" if x["loss"] != "l1" else None}
    if domain == "finite":
        return ARMS.points[2 if np.array_equal(x, ARMS.points[3]) else 3]
    return np.array([0.5, -0.25]) if x[0] != 0.5 else np.array([0.25, 0.5])


@in_turns(
    "place",
    [("box", "journal"), ("finite", "same process"), ("named", "json"), ("named", "pickle")],
)
def test_a_handle_is_told_with_what_was_set(few, place, tmp_path):
    domain, how = place
    opt = few.make(domain, journal=tmp_path / "run.db" if how == "journal" else None)
    few.drive(opt, 7, domain=domain)
    first, second, third, failing = opt.suggest(7.0, n=4)
    x = set_near(domain, first.x)
    opt.tell(first, 0.25, x=x)
    opt.tell(failing, failed=True, x=x)
    opt.tell_many([second, third], [0.5, 0.75], x=[x, None])
    opt = restarted(opt, how, tmp_path / "run.db")
    opt.tell(first, 0.25, x=x)  # the same again
    opt.tell(failing, failed=True, x=x)
    opt.tell_many([second, third], [0.5, 0.75], x=[x, None])
    with pytest.raises(AskTellError, match=r"query 7, which was told already, must be .* x="):
        opt.tell(first, 0.25, x=set_near(domain, x))
    assert opt.pending_ == []
    expected = points([x, x, third.x], domain)
    assert_array_equal(opt.told_X_[-3:, :-1], expected)
    assert_array_equal(opt.failed_X_[-1, :-1], expected[0])
    assert opt.told_X_[-3:, -1].tolist() == [7.0] * 3
    if how == "same process":
        opt.untell(second)
        assert opt.n_told_ == 9


def test_what_was_set_needs_a_query_and_is_checked():
    pd = pytest.importorskip("pandas")
    opt = RandomSearch({"x": ("real", 0.0, 1.0), "load": Context(0.0, 1.0)}, random_state=0)
    query, other = (opt.suggest(t, context={"load": 0.5}) for t in (0.0, 1.0))
    before = fingerprint(opt)
    for match, what, x in [
        ("x_or_query must be a query", {"x": 0.1}, {"x": 1}),
        ("x", query, {"x": 1.2}),
        ("x must be a dict", query, {"y": 1.0}),
        ("x must be the point that was set", query, other),
    ]:
        with pytest.raises((ValueError, SktvboError), match=match):
            opt.tell(what, 1.0, x=x)
    for match, X in [(r"x\[1", [None, {"x": 3}]), ("x must be one point", [None] * 3)]:
        with pytest.raises(ValueError, match=match):
            opt.tell_many([query, other], [1.0, 2.0], x=X)
    assert fingerprint(opt) == before
    opt.tell(query.x, 1.0, t=0.0, x={"x": 0.75, "load": 0.25})  # x of ask() names it as well
    opt.tell_many([other], [2.0], x=pd.DataFrame({"x": [0.5]}), context=[{"load": 0.125}])
    assert_array_equal(opt.told_X_, [[0.75, 0.25, 0.0], [0.5, 0.125, 1.0]])


@in_turns("how", ["x", "rounded", "many"])
def test_a_step_counts_from_what_was_set(few, how):
    opt = few.make(max_step=0.05)
    few.drive(opt, 7)
    for t in range(7, 11):
        query = opt.suggest(max(t, opt.next_time_))
        x = query.x + 0.3 * (1.0 - query.x)
        if how == "x":
            opt.tell(query, 1.0, x=x)
        elif how == "many":
            opt.tell_many([query], [1.0], x=[x])
        else:
            x = query.x + 0.0099 * np.sign(1.0 - query.x)
            opt.tell(x, 1.0, query.t)
        after = copy.deepcopy(opt).ask(query.t + 1.0)
        assert (np.abs(after - x) <= 0.1 + 1e-9).all()


# --- observations that answer none ----------------------------------------------------------------


@pytest.mark.parametrize(("domain", "dated"), [("box", True), ("finite", False), ("named", False)])
def test_an_observation_of_another_time_answers_none(domain, dated):
    def at(hour):
        return datetime(2026, 3, 1, hour, tzinfo=UTC) if dated else float(hour)

    opt = RandomSearch(DOMAINS[domain], random_state=0)
    query = opt.suggest(at(14))
    opt.tell_many([query.x], [1.0], [at(5)])
    opt.tell(query.x, 1.0, at(20))
    assert [each.id for each in opt.pending_] == [query.id]
    opt.tell(x=query.x, y=0.0, t=at(14))
    assert (opt.n_told_, opt.pending_) == (3, [])
    query = opt.suggest(at(21))
    opt.tell(opt.announce(query.x, at(21)), 1.0)  # beside the run, at its time and place
    assert [each.id for each in opt.pending_] == [query.id]
    opt.tell(query, 0.0, at(22))
    assert opt.pending_ == []


def test_a_query_for_a_later_time_is_answered_at_the_time_it_was_asked_for_as_well():
    opt, _ = BY_NAME["ABO"].after()
    query = opt.suggest(STEPS)
    opt.tell(query.x, 1.0, STEPS)
    assert opt.pending_ == []


WRONG = {
    "another place": lambda opt, t: opt.tell((opt.ask(t) + 0.3) % 1.0, 0.0, t),
    "another time": lambda opt, t: opt.tell(opt.ask(t), 0.0, t + 0.5),
    "failures": lambda opt, t: opt.tell(opt.ask(t), failed=True, t=t + 0.5),
    "many": lambda opt, t: opt.tell_many([opt.ask(t)], [0.0], t + 0.5),
}


@pytest.mark.parametrize(
    ("wrong", "how"), [*zip(WRONG, ["same process", "json", "journal", "same process"])]
)
def test_answers_that_answer_none_are_warned_of_once(wrong, how, tmp_path):
    path = tmp_path / "run.db" if how == "journal" else None
    opt = RandomSearch([(0.0, 1.0)], random_state=0, journal=path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for t in range(9):
            WRONG[wrong](opt, float(t))
    opt = restarted(opt, how, path)
    with pytest.warns(UnansweredQueryWarning, match=r"10 queries are .* tell\(query, y\)") as found:
        WRONG[wrong](opt, 9.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for t in range(10, 30):
            WRONG[wrong](opt, float(t))
    assert found[0].filename == __file__


@pytest.mark.filterwarnings("error")
def test_controls_and_late_answers_are_not_warned_of():
    opt, late = RandomSearch({"arm": ["a", "b"]}, random_state=0), []
    for t in range(40):
        late.append(opt.suggest(float(t)))
        opt.tell({"arm": "a"}, 0.0, t + 0.5)  # at another time
        if t >= 5:
            opt.tell(late.pop(0), 0.0)
    many = RandomSearch([(0.0, 1.0)], random_state=0)
    many.suggest(0.0, n=20)
    many.tell([0.5], 0.0, 0.0)  # one control passes over one query


# --- time that is taken back ----------------------------------------------------------------------


@pytest.mark.parametrize("name", ["WDBO", "BOLT-recommended", "RandomSearch"])
def test_a_query_far_too_late_is_taken_back(name):
    opt, _ = BY_NAME[name].after()
    opt.ask(STEPS)
    x = opt.ask(1e12)
    with pytest.raises(InvalidObservationError, match="at least 1000000000000"):
        opt.ask(STEPS + 1.0)
    opt.tell(opt.pending_[0], 0.5)  # another answer comes in between
    opt.cancel(x)
    assert opt.next_time_ is None
    with pytest.raises(InvalidObservationError, match=f"at least {STEPS}"):
        opt.ask(STEPS - 1.0)
    x = opt.ask(STEPS + 1.0)
    opt.tell(x, 0.5)
    assert opt.history_["time"][-1] == opt.next_time_ == STEPS + 1.0
    assert [query.t for query in opt.pending_] == []
