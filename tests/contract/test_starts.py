"""Settings that are asked first, caps on the data set, and queries that expire."""

from datetime import timedelta

import numpy as np
import pytest
from contract.cases import ARMS, BOX, BY_NAME, DOMAINS, NAMED, STEPS, points, points_of
from numpy.testing import assert_allclose, assert_array_equal

from sktvbo import BOLT, GPUCB, UITVBO, WDBO, BayesianOptimizer, RandomSearch
from sktvbo.domain import FiniteSet, StepLimit, as_domain
from sktvbo.staleness import RelevancyBudget

STARTS = {
    "box": [[1.0, 0.5], [0.3, -0.2]],
    "finite": ARMS.points[[4, 2]].tolist(),
    "named": [
        {"rate": 0.5, "alpha": 0.1, "depth": 3, "loss": "l2"},
        {"rate": 0.1, "alpha": 0.2, "depth": 1, "loss": None},
    ],
}


@pytest.mark.parametrize("domain", DOMAINS)
@pytest.mark.parametrize("name", ["WDBO", "RandomSearch", "SparQGPUCB", "ABO"])
def test_start_points_are_asked_first(name, domain):
    opt = BY_NAME[name].make(domain, start_points=STARTS[domain])
    found = [opt.ask(0.0)]
    opt.tell(found[0], 1.0)
    found.append(opt.suggest(1.0, n=3)[0].x)
    assert_array_equal(points(found, domain), points(STARTS[domain], domain))
    assert len(opt.pending_) == 3


@pytest.mark.parametrize("n_initial", [5, 2, 1])
def test_they_are_the_first_of_the_initial_points(n_initial):
    opt = WDBO(BOX, start_points=STARTS["box"], n_initial_points=n_initial, random_state=0)
    asked = []
    for t in range(12):
        asked.append(opt.ask(t))
        opt.tell(asked[-1], 100.0 - 30.0 * np.sum((asked[-1] - [1.3, 0.2]) ** 2))
        assert (opt.surrogate_ is not None) == (t + 1 >= n_initial)
    assert_array_equal(asked[:2], STARTS["box"])
    assert np.abs(opt.recommend(12) - [1.3, 0.2]).max() < 0.2


def test_they_are_asked_although_a_history_was_told():
    opt = GPUCB(BOX, start_points=STARTS["box"], random_state=0)
    opt.tell_many(np.random.RandomState(0).uniform(0.0, 1.0, (20, 2)), np.arange(20.0), 0.0)
    assert_array_equal(points_of(opt.suggest(1.0, n=3))[:2], STARTS["box"])


# --- start points that are farther away than one step ---------------------------------------------

FAR = {
    "box": ([[0.1, -0.9], [1.9, 0.1], [0.1, 0.1]], 0.25, [0, 4, 8]),
    # Members are 0, 1/8, ... 1: a step is 0.25, of 0.3.
    "finite": ([[0.0], [1.0], [0.5]], 0.3, [0, 4, 6]),
}
FAR_DOMAINS = {"box": BOX, "finite": FiniteSet(np.linspace(0.0, 1.0, 9)[:, np.newaxis])}


@pytest.mark.parametrize(
    ("domain", "by"), [("box", "one"), ("box", "resumed"), ("finite", "batch")]
)
def test_far_ones_are_approached_by_steps(domain, by, tmp_path):
    starts, part, reached = FAR[domain]
    options = {"start_points": starts, "max_step": part, "n_initial_points": 3}
    opt = GPUCB(FAR_DOMAINS[domain], random_state=0, journal=tmp_path / "run.db", **options)
    found, n = [], reached[-1] + 3
    while len(found) < n:
        asked = points_of(opt.suggest(len(found), n=n if by == "batch" else 1))
        if by == "resumed":
            opt.close()
            opt = GPUCB.resume(tmp_path / "run.db")
        for x in asked:
            opt.tell(x, 1.0)
        found.extend(asked)
    space = as_domain(FAR_DOMAINS[domain])
    assert_array_equal(space.validate_points(found)[reached], space.validate_points(starts))
    assert np.abs(np.diff(space.to_unit(opt.told_X_[:, :-1]), axis=0)).max() <= part + 1e-9
    opt.close()


def test_what_was_told_before_is_where_they_are_approached_from():
    opt = WDBO([(0.0, 1.0)], start_points=[[0.9]], max_step=0.25, n_initial_points=4)
    opt.tell_many([[0.5], [0.2]], [1.0, 2.0], [0.0, 1.0])
    assert_allclose(opt.ask(2.0), [0.45], atol=1e-12)
    opt.announce([0.1], 3.0)  # somebody moved the machine
    X = points_of(opt.suggest(4.0, n=5))
    assert_allclose(X[:4, 0], [0.35, 0.6, 0.85, 0.9], atol=1e-12)
    assert abs(X[4, 0] - 0.9) <= 0.25 + 1e-9
    again = WDBO([(0.0, 1.0)], start_points=[[0.9]], max_step=0.25, random_state=0)
    again.tell([0.0], t=0.0, failed=True)
    assert again.ask(1.0) == 0.25


def test_steps_to_start_points_take_their_time():
    limit = StepLimit(0.1, per="time")
    opt = GPUCB([(0.0, 1.0)], start_points=[[0.0], [1.0], [0.9]], max_step=limit, random_state=0)
    X = [opt.ask(t)[0] for t in (0.0, 2.0, 2.0, 7.0, 20.0, 20.0, 21.0)]
    assert_allclose(X, [0.0, 0.2, 0.2, 0.7, 1.0, 1.0, 0.9], atol=1e-12)


def test_start_points_that_cannot_be_reached_are_left_out():
    wall = [lambda x: abs(x[0] - 0.5) - 0.2]  # no step leads from below to above
    options = {"start_points": [[0.05], [0.9], [0.2]], "constraints": wall, "max_step": 0.1}
    X = points_of(GPUCB([(0.0, 1.0)], random_state=0, **options).suggest(0.0, n=6))[:, 0]
    assert_allclose(X[:4], [0.05, 0.15, 0.25, 0.3], atol=0.02)
    assert (X < 0.3 + 1e-9).all()
    assert 0.2 in X
    assert np.abs(np.diff(X)).max() <= 0.1 + 1e-9
    held = GPUCB(NAMED, start_points=STARTS["named"], max_step={"loss": 0.0, "rate": 0.0})
    found = points_of(held.suggest(0.0, n=3))
    assert found[0] == STARTS["named"][0]
    expected = STARTS["named"][1] | {"loss": "l2", "rate": 0.5}
    assert found[1] == expected | {"alpha": pytest.approx(expected["alpha"])}


# --- the size of the data set ---------------------------------------------------------------------


def test_any_policy_is_capped(few_modelled):
    case, size = few_modelled, 3
    opt, (free, _) = case.make(max_size=size), case.after()
    case.drive(opt, STEPS)
    # All initial points are needed for the first model.
    assert (opt.history_["n"][opt.n_initial_points - 1 :] <= size).all()
    if not case.forgets or "max_size" in case.options:
        assert len(opt.y_) == size
    assert len(opt.y_) == np.isnan(opt.removed_at_).sum() == opt.n_told_ - opt.n_removed_
    assert type(opt.policy_) is type(free.policy_)


@pytest.mark.parametrize(
    ("kind", "options"), [(WDBO, {"seasonal_periods": 4.0}), (BOLT, {"step_budget": 1e9})]
)
def test_the_cap_holds_with_seasons_and_a_budget(kind, options):
    opt = kind([(0.0, 1.0)], max_size=4, refit_every=None, random_state=0, **options)
    for t in range(8):
        opt.tell(opt.ask(t), float(t % 4))
    assert (opt.history_["n"][4:] == 4).all()


def test_the_smaller_of_two_caps_holds():
    options = {"policy": RelevancyBudget(max_size=12), "n_initial_points": 4, "refit_every": 99}
    for given, size in ((10, 10), (14, 12)):
        opt = BayesianOptimizer(BOX, max_size=given, random_state=0, **options)
        opt.tell_many(np.random.RandomState(0).uniform(0, 1, (30, 2)), np.zeros(30), np.zeros(30))
        assert len(opt.y_) == size


# --- queries that are no longer waited for --------------------------------------------------------


def test_a_worker_that_never_answers_is_forgotten():
    opt, twin = (UITVBO(BOX, query_timeout=q, random_state=3) for q in (5.0, None))
    for each in (opt, twin):
        for t in range(20):
            each.tell(each.ask(t), float(t % 3))
        lost = each.suggest(20.0)
        each.ask(25.0)
        assert len(each.pending_) == 2  # as old as that is not too old
    queries = [each.ask(25.5) for each in (opt, twin)]
    assert not np.array_equal(*queries)  # only one keeps away from the lost query
    assert [q.t for q in opt.pending_] == [25.0, 25.5]
    opt.tell(lost, 1.0)  # late
    assert opt.to_frame()["query"][20] == lost.id
    assert [q.t for q in opt.pending_] == [25.0, 25.5]
    opt.tell(opt.pending_[0], 1.0, 31.0)
    assert opt.pending_ == []


def test_a_wild_time_lets_nothing_expire():
    opt = RandomSearch(BOX, query_timeout=timedelta(minutes=1), time_unit="min", random_state=0)
    waiting, wild = opt.suggest(0.0), opt.suggest(1e12)
    assert [query.id for query in opt.pending_] == [wild.id]
    opt.cancel(wild)
    opt.ask(1.0)
    opt.tell(waiting, 1.0)
    assert opt.told_X_[0, -1] == 0.0
