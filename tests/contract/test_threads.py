"""One optimizer from several threads, and from processes that were forked in the meantime."""

import copy
import pickle
import sys
import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import joblib
import numpy as np
import pytest
from contract.cases import BOX, BY_NAME, FEW, STEPS
from numpy.testing import assert_array_equal

from sktvbo import GPUCB, WDBO, BayesianOptimizer, RandomSearch
from sktvbo.acquisition import UCB
from sktvbo.domain import as_domain
from sktvbo.exceptions import AskTellError
from sktvbo.plotting import RelevancyDisplay, SliceDisplay, TrackDisplay


def in_threads(count, work):
    """Run work(number) in threads that start together; what they return."""
    together = threading.Barrier(count)

    def begin(number):
        together.wait(timeout=60.0)
        return work(number)

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(begin, range(count), timeout=7200.0))


def test_nothing_is_lost_or_doubled():
    opt, n_threads, pairs = BY_NAME["WDBO"].make(clock="step", refit_every=50), 8, 8

    def work(number):
        told = []
        for i in range(pairs):
            x = opt.ask(0.0)
            y = number + i / pairs
            opt.tell(x, y)
            assert np.isfinite(opt.X_).all()
            told.append([*x, y])
        return told

    done = [one for told in in_threads(n_threads, work) for one in told]
    assert opt.n_told_ == n_threads * pairs
    assert opt.pending_ == []
    recorded = np.column_stack([opt.told_X_[:, :-1], opt.told_y_]).tolist()
    assert sorted(recorded) == sorted(done)


def test_pending_queries_of_other_threads_are_heeded():
    opt = GPUCB(BOX, n_initial_points=5, random_state=0)
    BY_NAME["GPUCB"].drive(opt, 8)
    alone = copy.deepcopy(opt)
    found = in_threads(8, lambda number: opt.ask(8.0))
    assert len({tuple(x) for x in found}) == 8
    # They are those that one thread would have got, in some order.
    expected = sorted(tuple(alone.ask(8.0)) for _ in range(8))
    assert sorted(map(tuple, found)) == expected


def test_readers_do_not_wait():
    entered, leave = threading.Event(), threading.Event()

    class Slow(UCB):
        def __call__(self, mean, std, state):
            entered.set()
            assert leave.wait(timeout=60.0)
            return super().__call__(mean, std, state)

    opt = BayesianOptimizer(BOX, acquisition=Slow(), n_initial_points=3, random_state=0)
    for t in range(4):
        opt.tell([0.5, 0.1 * t], float(t), t)
    with ThreadPoolExecutor(1) as pool:
        asking = pool.submit(opt.ask, 4.0)
        try:
            assert entered.wait(timeout=60.0)
            assert opt.n_told_ == 4
            assert len(opt.X_) == 4
            assert opt.recommend(4.0).shape == (2,)
            assert copy.copy(opt).n_told_ == 4
        finally:
            leave.set()
        assert asking.result(timeout=60.0).shape == (2,)


def answers(opt):
    """Answers of an optimizer by name: all properties, tables, predictions, texts, displays."""
    X, kind = as_domain(BOX).sample(3, np.random.RandomState(0)), type(opt)
    names = [name for name in dir(kind) if isinstance(getattr(kind, name), property)]
    found = {name: partial(getattr, opt, name) for name in names if not name.startswith("_")}
    found |= {
        "to_frame": opt.to_frame,
        "recommend": partial(opt.recommend, 20.0),
        "to_json": opt.to_json,
        "_repr_html_": opt._repr_html_,
        "copy": lambda: copy.copy(opt).to_frame(),
        "pickle": lambda: pickle.loads(pickle.dumps(opt)).to_frame(),
        "with_parameters": lambda: opt.with_parameters(domain=[(0.0, 2.0), (-1.0, 2.0)]).to_frame(),
    }
    if kind is not RandomSearch:
        found["predict"] = partial(opt.predict, X, 20.0, return_std=True)
        found["probability"] = partial(opt.probability_feasible, X, 20.0)
    if kind is WDBO:
        for display in (RelevancyDisplay, SliceDisplay, TrackDisplay):
            found[display.__name__] = partial(display.from_optimizer, opt)
    return found


@pytest.mark.parametrize("case", FEW, ids=lambda case: case.name)
def test_an_answer_is_that_of_one_state(case, monkeypatch):
    """Another thread makes steps between all that a call reads."""
    early, late = case.after(9)[0], case.after(STEPS)[0]
    late.tell([0.5, 0.5], t=float(STEPS), failed=True)
    late.announce([0.5, 0.5], STEPS)
    states, calls = [vars(opt)["_run"] for opt in (early, late)], [0]

    def resumed(self):
        state = states[min(calls[0], 1)] if self is opt else vars(self)["_run"]
        calls[0] += 1
        return state

    opt = copy.copy(early)
    expected = {name: answer() for name, answer in answers(early).items()}
    monkeypatch.setattr(type(opt), "_resumed", resumed)
    for name, answer in answers(opt).items():
        calls[0] = 0
        assert joblib.hash(answer()) == joblib.hash(expected[name]), name


def ask_and_answer(opt, number):
    query = opt.suggest()
    opt.tell(query, -float(np.sum((query.x - 0.5) ** 2)))


def fail_and_take_back(opt, number):
    query = opt.suggest()
    opt.tell(query, t=query.t + 1e-9 * number, failed=True)
    query = opt.suggest()
    opt.tell(query, 0.0)
    opt.untell(id=query.id)
    opt.cancel(opt.suggest(n=2)[0])


def tell_some(opt, number):
    opt.tell_many(np.full((2, 2), 0.5), [1.0, 2.0], [0.01 * number, 0.02 * number])


def predict(opt, number):
    if opt.predict_too:
        mean, std = opt.predict([[0.5, 0.5], [1.0, 0.0]], [0.0, 1.0 + number], return_std=True)
        assert np.isfinite(mean).all()
        assert np.isfinite(std).all()
    assert opt.recommend().shape == (2,)


def tabulate(opt, number):
    frame = opt.to_frame()
    assert frame["y"].isna().sum() == (frame["failed"] | frame["pending"]).sum()
    assert frame["query"].dropna().is_unique


def show(opt, number):
    assert type(opt).__name__ in repr(opt)
    assert "observations" in opt._repr_html_()


def copy_it(opt, number):
    twin = pickle.loads(pickle.dumps(opt))
    assert len(twin.told_y_) == min(twin.n_told_, 5000)
    assert type(opt).from_json(opt.to_json()).n_removed_ >= 0


WORK = [ask_and_answer, ask_and_answer, fail_and_take_back, tell_some]
WORK += [predict, tabulate, show, copy_it]


@pytest.mark.parametrize("kind", [RandomSearch, WDBO])
@pytest.mark.parametrize("seconds", [0.2, pytest.param(60.0, marks=pytest.mark.slow)])
def test_eight_threads_at_work_on_one_optimizer(kind, seconds):
    options = {} if kind is RandomSearch else {"max_size": 12, "refit_every": 200}
    opt = kind(BOX, clock="calendar", history=5000, query_timeout=None, random_state=0, **options)
    opt.predict_too = kind is not RandomSearch
    for _ in range(6):
        ask_and_answer(opt, 0)
    done = [0] * len(WORK)

    def work(number):
        end = time.monotonic() + seconds
        while not done[number] or time.monotonic() < end:
            WORK[number](opt, number)
            done[number] += 1

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", UserWarning)
            in_threads(len(WORK), work)
    finally:
        sys.setswitchinterval(interval)
    assert opt.n_told_ == 6 + done[0] + done[1] + 2 * done[3]
    assert opt.n_failed_ == done[2]
    assert len(opt.pending_) == min(done[2], 1024)


def test_a_step_within_a_step_is_refused():
    class Telling(UCB):
        def __call__(self, mean, std, state):
            opt.tell([0.5, 0.5], 1.0, 3.0)
            return super().__call__(mean, std, state)

    opt = BayesianOptimizer(BOX, acquisition=Telling(), n_initial_points=3, random_state=0)
    for t in range(3):
        opt.tell([0.5, 0.1 * t], float(t), t)
    with pytest.raises(AskTellError, match="within another step"):
        opt.ask(3.0)
    assert opt.next_time_ is None


def test_copies_have_locks_of_their_own():
    opt = GPUCB(BOX, n_initial_points=3, random_state=0)
    opt.ask(0.0)
    twins = [copy.copy(opt), copy.deepcopy(opt), pickle.loads(pickle.dumps(opt))]
    with opt._lock:
        for twin in twins:
            assert in_threads(1, lambda number: twin.ask(1.0))[0].shape == (2,)  # noqa: B023


def asked(opt):
    return opt.ask(8.0)


@pytest.mark.parametrize(
    "backend", [pytest.param("loky", marks=pytest.mark.slow), "threading", "multiprocessing"]
)
def test_jobs_go_on_from_an_optimizer_that_was_used(backend):
    opt, _ = BY_NAME["WDBO"].after(8)
    with joblib.parallel_config(backend, n_jobs=2):
        found = joblib.Parallel()(joblib.delayed(asked)(copy.deepcopy(opt)) for _ in range(2))
    expected = opt.ask(8.0)
    for x in found:
        assert_array_equal(x, expected)
