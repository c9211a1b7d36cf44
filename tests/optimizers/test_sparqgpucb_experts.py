"""The calls that only SparQ has: ask_expert and tell_expert."""

import copy

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from optimizers.cases import (
    BY_NAME,
    N_INITIAL,
    STEPS,
    fail_after,
    fingerprint,
    objective,
    points,
    points_of,
    same_state,
    space,
)

from sktvbo import TimeVaryingGPRegressor
from sktvbo.domain import Box
from sktvbo.exceptions import AskTellError, DomainError, InvalidObservationError

CASE = BY_NAME["SparQGPUCB-expert"]


def started(domain="box"):
    return CASE.after(domain=domain)[0]


def test_places_are_those_that_were_queried(domain):
    opt = started(domain)
    places = opt.ask_expert(STEPS)
    assert isinstance(places, list) == (domain == "named")
    rows = points(places, domain)
    told = set(map(tuple, opt.told_X_[:, :-1]))
    assert set(map(tuple, rows)) <= told
    assert len(np.unique(rows, axis=0)) == len(rows) >= min(len(told), 5)
    opt.tell_expert(places, [objective(x, STEPS, domain) for x in places])
    assert_array_equal(opt.expert_X_, np.column_stack([rows, np.full(len(rows), STEPS)]))
    assert opt.expert_y_.tolist() == [objective(x, STEPS, domain) for x in places]


def test_nobody_is_asked_before_there_is_a_surrogate(domain):
    opt = CASE.make(domain)
    for t in range(N_INITIAL):
        places = opt.ask_expert(t)
        assert len(places) == 0
        assert isinstance(places, list) == (domain == "named")
        opt.tell_expert(places, [])
        x = opt.ask(t)
        with pytest.raises(AskTellError, match=r"before tell_expert\(\) must be at least"):
            opt.tell_expert([x], [0.5], t)
        opt.tell(x, 0.1 * t)
    assert len(opt.ask_expert(N_INITIAL)) > 0


def test_answers_are_for_the_next_query_alone():
    opt, mute = started(), started()
    CASE.consult(opt, STEPS)
    assert len(opt.expert_y_) > 0
    assert not np.array_equal(opt.ask(STEPS), mute.ask(STEPS))
    opt.tell([0.5, 0.5], 0.1, STEPS)
    assert opt.expert_X_.shape == (0, 3)
    assert opt.expert_y_.shape == (0,)
    assert_array_equal(opt.surrogate_.X_train_[:, -1], opt.X_[:, -1])


def test_newer_answers_replace_older_ones():
    opt, twin = CASE.make(refit_every=100), CASE.make(refit_every=100)
    CASE.drive(opt, STEPS), CASE.drive(twin, STEPS)
    places = opt.ask_expert(STEPS)
    twin.ask_expert(STEPS)
    opt.tell_expert(places, np.arange(float(len(places))))
    for each in (opt, twin):
        each.tell_expert(places[:3], [0.1, 0.2, 0.3])
    assert_array_equal(opt.expert_y_, [0.1, 0.2, 0.3])
    assert_array_equal(opt.ask(STEPS), twin.ask(STEPS))


def test_answers_about_other_places_and_at_another_time():
    opt = started()
    opt.tell_expert([[0.3, 0.3], [1.7, -0.2]], [0.2, 0.1], STEPS + 2.0)
    assert opt.expert_X_.tolist() == [[0.3, 0.3, STEPS + 2.0], [1.7, -0.2, STEPS + 2.0]]
    with pytest.raises(InvalidObservationError, match="t must be at least"):
        opt.ask(STEPS + 1.0)
    assert opt.ask(STEPS + 2.0).shape == (2,)


def test_the_callers_arrays_are_neither_changed_nor_kept():
    opt = started()
    places = opt.ask_expert(STEPS)
    mine, answers = places.copy(), np.linspace(0.0, 1.0, len(places))
    opt.tell_expert(mine, answers)
    assert_array_equal(mine, places)
    mine[:] = answers[:] = 77.0
    opt.expert_X_[:] = opt.expert_y_[:] = 88.0
    assert opt.expert_X_.max() < 20.0
    assert opt.expert_y_.max() <= 1.0


@pytest.mark.parametrize(
    ("bad", "error", "message"),
    [
        (lambda o, X: o.tell_expert(X[:, :1], np.ones(len(X))), InvalidObservationError, "X must"),
        (
            lambda o, X: o.tell_expert(X + 9.0, np.ones(len(X))),
            DomainError,
            r"X\[0, [01]\] must be in",
        ),
        (
            lambda o, X: o.tell_expert(X * np.nan, np.ones(len(X))),
            InvalidObservationError,
            "X must",
        ),
        (
            lambda o, X: o.tell_expert(X, np.ones(len(X) - 1)),
            InvalidObservationError,
            r"y must be an array of shape \(\d+,\)",
        ),
        (lambda o, X: o.tell_expert(X, np.full(len(X), np.nan)), InvalidObservationError, "finite"),
        (lambda o, X: o.tell_expert(X, 1.0), InvalidObservationError, r"Got shape \(\)"),
        (lambda o, X: o.tell_expert(X, None), InvalidObservationError, r"Got shape \(\)"),
        (lambda o, X: o.tell_expert(X, ["a"] * len(X)), InvalidObservationError, "real numbers"),
        (lambda o, X: o.tell_expert(X, [1j] * len(X)), InvalidObservationError, "real numbers"),
        (lambda o, X: o.tell_expert([], [1.0]), InvalidObservationError, "X must"),
        (lambda o, X: o.tell_expert(X, np.ones(len(X)), 3.0), InvalidObservationError, "at least"),
        (lambda o, X: o.tell_expert(X, np.ones(len(X)), np.nan), InvalidObservationError, "t must"),
        (lambda o, X: o.ask_expert(3.0), InvalidObservationError, "at least"),
        (lambda o, X: o.ask_expert(np.inf), InvalidObservationError, "t must be finite"),
    ],
)
def test_a_bad_call_says_why_and_changes_nothing(bad, error, message):
    opt = started()
    places = opt.ask_expert(STEPS)
    before = fingerprint(opt)
    with pytest.raises(error, match=message):
        bad(opt, places)
    assert fingerprint(opt) == before


def test_answers_without_a_question_need_a_time():
    opt = BY_NAME["SparQGPUCB"].after()[0]
    with pytest.raises(AskTellError, match=r"t must be given unless ask_expert\(\)"):
        opt.tell_expert([[0.5, 0.5]], [0.1])
    opt.tell_expert([[0.5, 0.5]], [0.1], STEPS)
    assert opt.expert_y_.tolist() == [0.1]


@pytest.mark.parametrize("calls", [1, 2], ids=["with the answers", "without them"])
def test_failure_while_the_answers_are_taken_in_changes_nothing(calls, monkeypatch):
    opt = started()
    places = opt.ask_expert(STEPS)
    answers = [objective(x, STEPS) for x in places]
    twin, before = copy.deepcopy(opt), fingerprint(opt)
    with monkeypatch.context() as patch:
        called = fail_after(patch, TimeVaryingGPRegressor, "updated", calls)
        with pytest.raises(MemoryError, match="planted"):
            opt.tell_expert(places, answers)
    assert len(called) == calls
    assert fingerprint(opt) == before
    for each in (opt, twin):
        each.tell_expert(places, answers)
    same_state(opt, twin)
    assert_array_equal(opt.ask(STEPS), twin.ask(STEPS))


def test_failure_while_choosing_the_places_changes_nothing(monkeypatch):
    opt = started()
    twin, before = started(), fingerprint(opt)
    with monkeypatch.context() as patch:
        called = fail_after(patch, Box, "decode_all")  # when all has been drawn
        with pytest.raises(MemoryError, match="planted"):
            opt.ask_expert(STEPS)
    assert called
    assert fingerprint(opt) == before
    assert_array_equal(opt.ask_expert(STEPS), twin.ask_expert(STEPS))


def test_answers_and_pending_queries_together():
    opt = started()
    first = opt.ask(STEPS)
    CASE.consult(opt, STEPS + 1)
    batch = points_of(opt.suggest(STEPS + 1, n=3))
    U = space("box").to_unit(np.vstack([first, batch]))
    assert len(np.unique(U.round(3), axis=0)) == 4
    opt.tell(batch[0], 0.4)
    opt.tell(first, 0.3)
    assert opt.told_X_[-2:, 2].tolist() == [STEPS + 1.0, STEPS]
