"""Measurements that failed: learnt from, heeded, and remembered wherever a run is."""

import copy

import numpy as np
import pytest
from contract.cases import BOX, BY_NAME, DOMAINS, in_turns, timed
from contract.failing import UNIT, fails, value
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import pdist

from sktvbo import GPUCB, WDBO, RandomSearch, SparQGPUCB
from sktvbo.domain import as_domain
from sktvbo.exceptions import AskTellError, InvalidObservationError

# --- what a failure is ----------------------------------------------------------------------------


def test_a_failure_is_no_observation(few):
    opt, _ = few.after(7)
    few.consult(opt, 7.0)
    x = opt.ask(7.0)
    surrogate, shown = opt._run.surrogate, opt.told_X_
    opt.tell(x, failed=True)
    assert (opt.n_failed_, opt.n_told_) == (1, 7)
    assert_array_equal(opt.failed_X_, [[*x, 7.0]])
    assert_array_equal(opt.told_X_, shown)
    assert opt._run.surrogate is surrogate
    assert len(opt.pending_X_) == 0
    with pytest.raises(AskTellError, match="still pending"):
        opt.tell(x, failed=True)


# They hardly explore, so they find out first if the best member of a set fails by chance.
EXPLOITING = ("improvement", "probability", "mean")


@pytest.mark.parametrize("name", EXPLOITING)
def test_a_member_that_fails_is_left_after_three_failures(name):
    opt, _ = BY_NAME[name].after(8, "finite")
    asked = []
    for t in 8.0 + 0.5 * np.arange(6):
        asked.append(tuple(opt.ask(t)))
        opt.tell(asked[-1], failed=True)
    assert asked.count(asked[0]) <= 3
    assert len(set(asked)) >= 4


@in_turns("domain", DOMAINS)
def test_the_same_place_is_not_asked_at_once_again(few, domain):
    if domain == "finite" and few.name in EXPLOITING:
        pytest.skip("see the test before")
    opt, _ = few.after(8, domain)
    space = as_domain(DOMAINS[domain])

    def nearest(heeding):
        told, places = copy.deepcopy(opt), []
        for t in (8.0, 8.5, 9.0):
            one = told if heeding else copy.deepcopy(told)
            x = one.ask(t)
            one.tell(x, failed=True)
            places.append(space.to_unit(space.validate_point(x)))
        return min(pdist(places, "chebyshev"))

    # Who forgets each failure at once stays where it is, but for what time changes.
    assert nearest(heeding=True) > 5.0 * nearest(heeding=False)


def test_times_and_queries_that_were_not_asked_for():
    opt = GPUCB(BOX, random_state=0)
    opt.tell([1.0, 0.5], t=3.0, failed=True)
    assert_array_equal(opt.failed_X_, [[1.0, 0.5, 3.0]])
    with pytest.raises(InvalidObservationError, match=r"at least 3\.0"):
        opt.ask(2.0)
    with pytest.raises(AskTellError, match="still pending when no t is given"):
        opt.tell([1.0, 0.5], failed=True)


def test_a_failure_takes_a_step_of_the_clock_that_counts():
    opt = GPUCB(BOX, clock="step", random_state=0)
    for step in range(4):
        x, t = timed(opt.suggest())
        assert t == step
        opt.tell(x, *([] if step % 2 else [1.0]), failed=bool(step % 2))


def test_the_latest_are_remembered():
    opt = RandomSearch(UNIT, random_state=0)
    for t in range(155):
        opt.tell([0.5, 0.5], t=t, failed=True)
    assert opt.n_failed_ == 155
    assert_array_equal(opt.failed_X_[[0, -1], -1], [5.0, 154.0])


# --- the first queries ----------------------------------------------------------------------------


@pytest.mark.parametrize("domain", DOMAINS)
def test_when_all_fails_queries_stay_random(domain):
    opt, asked = WDBO(DOMAINS[domain], n_initial_points=3, random_state=0), []
    for t in range(10):
        asked.append(opt.ask(t))
        opt.tell(asked[-1], failed=True)
    assert opt.surrogate_ is None
    assert opt.n_failed_ == 10
    assert len({str(x) for x in asked}) >= 9  # of the 12 members of the finite set
    with pytest.raises(AskTellError, match=r"at least 1\. Got 0"):
        opt.recommend(10)


# --- whole runs -----------------------------------------------------------------------------------


def test_what_the_expert_said_was_for_the_query_that_failed():
    opt = SparQGPUCB(UNIT, n_initial_points=4, random_state=0)
    for t in range(6):
        opt.tell(opt.ask(t), float(t))
    places = opt.ask_expert(6.0)
    opt.tell_expert(places, np.ones(len(places)))
    assert len(opt.expert_y_)
    opt.tell(opt.ask(6.0), failed=True)
    assert len(opt.expert_y_) == 0


# --- remembered -----------------------------------------------------------------------------------


@pytest.mark.parametrize("level", [-1000.0, 1000.0])
def test_what_a_failure_costs_does_not_depend_on_the_level_of_y(level):
    queries = []
    for shift in (0.0, level):
        opt = GPUCB(UNIT, n_initial_points=8, random_state=0)
        rng = np.random.RandomState(0)
        for x in rng.uniform(size=(24, 2)):
            told = {"failed": True} if fails(x) else {"y": value(x) + shift}
            opt.tell(x, t=0.0, **told)
        queries.append(opt.ask(0.0))
    assert_allclose(queries[0], queries[1], atol=1e-3)
    assert not fails(queries[1])
