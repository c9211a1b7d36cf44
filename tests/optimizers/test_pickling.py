"""Interrupted and resumed, copied, cloned, seeded."""

import copy
import pickle

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from optimizers.cases import BOX, BY_NAME, N_INITIAL, STEPS, points, points_of, same_state
from sklearn.base import clone

from sktvbo import RandomSearch

COPIES = {"pickle": lambda opt: pickle.loads(pickle.dumps(opt)), "deepcopy": copy.deepcopy}


@pytest.fixture(params=COPIES)
def twin_of(request):
    return COPIES[request.param]


@pytest.mark.parametrize(
    ("domain", "at"),
    [("box", 0), ("box", N_INITIAL - 1), ("box", 11), ("finite", 11), ("named", 11)],
)
def test_a_copy_in_mid_run_goes_on_alike(few, domain, at, twin_of):
    opt, _ = few.after(at, domain)
    expected, queries = few.after(at + 2, domain)
    twin = twin_of(opt)
    again = few.drive(twin, 2, at, domain)
    assert_array_equal(points(again, domain), points(queries[at:], domain))
    same_state(twin, expected)
    assert getattr(opt, "n_told_", 0) == at


def test_a_copy_between_ask_and_tell_with_several_pending(few, twin_of):
    opt, _ = few.after(8)
    few.consult(opt, 8)
    batch = points_of(opt.suggest(8.0, n=2))
    single = opt.ask(8.5)
    twin = twin_of(opt)
    for each in (opt, twin):
        each.tell(batch[1], 0.3)
        each.tell(single, 0.2)
    same_state(opt, twin)
    assert_array_equal(opt.ask(20.0), twin.ask(20.0))  # one is still pending


def test_a_copy_between_the_experts_answers_and_the_query(twin_of):
    case = BY_NAME["SparQGPUCB-expert"]
    opt, _ = case.after()
    case.consult(opt, STEPS)
    twin = twin_of(opt)
    assert len(twin.expert_y_) > 0
    assert_array_equal(twin.expert_X_, opt.expert_X_)
    assert_array_equal(twin.recommend(STEPS), opt.recommend(STEPS))
    x = opt.ask(STEPS)
    assert_array_equal(twin.ask(STEPS), x)
    opt.tell(x, 0.5), twin.tell(x, 0.5)
    same_state(opt, twin)


def test_a_copy_between_asking_the_expert_and_the_answers(twin_of):
    case = BY_NAME["SparQGPUCB-expert"]
    opt, _ = case.after()
    places = opt.ask_expert(STEPS)
    twin = twin_of(opt)
    for each in (opt, twin):
        each.tell_expert(places, np.linspace(0.0, 1.0, len(places)))
    assert_array_equal(opt.expert_X_[:, -1], STEPS)
    assert_array_equal(opt.ask(STEPS), twin.ask(STEPS))


def test_a_copy_is_independent(case, twin_of):
    opt, _ = case.after()
    untouched, _ = case.after()
    twin = twin_of(opt)
    case.drive(twin, 1, start=STEPS)
    same_state(opt, untouched)


def test_wall_clock_goes_on_where_it_stood(twin_of):
    opt = RandomSearch(BOX, random_state=0)
    opt.ask()
    earlier = opt.suggest().t
    assert earlier <= twin_of(opt).suggest().t < earlier + 60.0


def test_clone_starts_afresh_with_the_same_parameters(case):
    opt, queries = case.after()
    fresh = clone(opt)
    assert not hasattr(fresh, "n_told_")
    assert {k: repr(v) for k, v in fresh.get_params().items()} == {
        k: repr(v) for k, v in opt.get_params().items()
    }
    assert_array_equal(case.drive(fresh, 7), queries[:7])


# --- seeds ----------------------------------------------------------------------------------------


def test_same_seed_same_run_other_seed_another(case):
    opt, queries = case.after(7)
    again = case.make()
    assert_array_equal(case.drive(again, 7), queries)
    same_state(again, opt)
    assert not np.array_equal(case.make(random_state=1).ask(0), queries[0])


def test_a_random_state_is_not_used_up(case):
    rng = np.random.RandomState(7)
    first, second = case.make(random_state=rng), case.make(random_state=7)
    assert_array_equal(case.drive(first, 6), case.drive(second, 6))
    assert rng.randint(2**30) == np.random.RandomState(7).randint(2**30)


def test_without_a_seed_each_is_another_and_numpys_generator_stays(case):
    before = np.random.get_state()[1].copy()
    first, second = case.make(random_state=None), case.make(random_state=None)
    assert not np.array_equal(first.ask(0.0), second.ask(0.0))
    case.drive(first, 6, start=1)
    assert_array_equal(np.random.get_state()[1], before)
