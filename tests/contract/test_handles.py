"""Queries have handles: which one is answered, withdrawn, or still to come."""

import json

import numpy as np
import pytest
from contract.cases import (
    ARMS,
    BY_NAME,
    DOMAINS,
    NAMED,
    STEPS,
    fingerprint,
    points,
    points_of,
)
from numpy.testing import assert_array_equal

from sktvbo import BOLT, GPUCB, RandomSearch
from sktvbo.domain import as_domain
from sktvbo.exceptions import AskTellError, DomainError, InvalidObservationError
from sktvbo.optimizers import Query


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


def test_ask_returns_the_points_of_the_queries_of_suggest():
    opt, _ = BY_NAME["GPUCB"].after()
    query = opt.suggest(STEPS)
    assert isinstance(query, Query)
    assert query.t == STEPS
    first, second = opt.suggest(STEPS + 1.0, n=2)
    assert [first.id, second.id] == [query.id + 1, query.id + 2]
    twin, _ = BY_NAME["GPUCB"].after()
    assert_array_equal(twin.ask(STEPS), query.x)
    assert_array_equal(twin.ask(STEPS + 1.0), first.x)
    assert_array_equal(twin.ask(STEPS + 1.0), second.x)
    assert [query.id for query in twin.pending_] == [query.id, first.id, second.id]


def test_what_is_not_pending_is_refused():
    opt, other = (GPUCB([(0.0, 1.0)], random_state=seed) for seed in (0, 1))
    told, gone, left = (opt.suggest(t) for t in (0.0, 1.0, 2.0))
    opt.tell(told, 1.0)
    opt.cancel(gone)
    strange = [other.suggest(t) for t in (0.0, 1.0, 2.0, 3.0)]
    before = fingerprint(opt)
    for call in (opt.cancel, lambda query: opt.tell(query, 2.0)):
        with pytest.raises(AskTellError, match="query 0, which was told already"):
            call(told)
        for query in (gone, *strange[1:]):
            with pytest.raises(AskTellError, match="cancelled, has expired or is another"):
                call(query)
    assert fingerprint(opt) == before
    with pytest.raises(InvalidObservationError, match="y must be finite"):
        opt.tell(left, np.nan)
    assert fingerprint(opt) == before
    opt.tell(left, 1.0)


# --- x that is not what it was --------------------------------------------------------------------


@pytest.mark.parametrize("domain", DOMAINS)
def test_x_that_went_through_a_file_finds_its_query(domain):
    opt = RandomSearch(DOMAINS[domain], random_state=0)
    for t in (1.0, 2.0):
        x = opt.ask(t)
        again = json.loads(json.dumps(x if isinstance(x, dict) else x.tolist()))
        opt.cancel(again)
        assert opt.pending_ == []
        opt.announce(x, t)
        opt.tell(again, 1.0)
        assert_array_equal(opt.told_X_[-1, :-1], as_domain(opt.domain).validate_point(x))
        assert opt.told_X_[-1, -1] == t


def test_rounded_x_is_another_point_and_its_handle_is_the_query():
    opt = RandomSearch([(0.0, 1.0)], random_state=0)
    query = opt.suggest(0.0)
    rounded = query.x.astype(np.float32)
    with pytest.raises(AskTellError, match="still pending when no t is given"):
        opt.tell(rounded, 1.0)
    opt.tell(rounded, 1.0, 0.0)
    assert [each.id for each in opt.pending_] == [query.id]
    opt.tell(query, 2.0)
    assert opt.pending_ == []
    assert_array_equal(opt.told_X_[:, 0], [float(rounded[0]), query.x[0]])


def test_what_is_further_away_is_no_answer():
    opt = RandomSearch([(0.0, 1.0)], random_state=0)
    x = opt.ask(0.0)
    with pytest.raises(AskTellError):
        opt.tell(x * (1.0 + 1e-6), 1.0)
    with pytest.raises(DomainError):
        opt.tell(x + 2.0, 1.0)
    with pytest.raises(DomainError):
        RandomSearch(ARMS).tell(ARMS.points[0] + 1e-6, 1.0, 0.0)
    named = RandomSearch(NAMED, random_state=0)
    x = named.ask(0.0)
    with pytest.raises(DomainError, match="loss"):
        named.tell(x | {"loss": "l3"}, 1.0)


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


def test_times_taken_back_do_not_tell_of_the_response():
    """BOLT would take a pause of 1e12 for what a step costs."""
    opt = BOLT([(0.0, 1.0)], n_initial_points=4, random_state=0)
    for t in np.arange(14.0):
        if t > 10.0:
            opt.cancel(opt.ask(1e12))  # an observation follows at once, or another query does
        if t > 12.0:
            opt.tell([0.5], 0.0, t - 0.5)
        opt.tell(opt.ask(t), np.sin(t))
    assert opt.policy_.response_time_(14) == pytest.approx(1.0)
