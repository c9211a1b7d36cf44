"""One optimizer from several threads, and from processes that were forked in the meantime."""

import copy
import os
import pickle
import threading
from concurrent.futures import ThreadPoolExecutor

import joblib
import numpy as np
import pytest
from contract.cases import BOX, BY_NAME
from numpy.testing import assert_array_equal

from sktvbo import GPUCB, SWGPUCB, BayesianOptimizer, RandomSearch
from sktvbo.acquisition import UCB
from sktvbo.exceptions import AskTellError


def in_threads(count, work):
    """Run work(number) in threads that start together; what they return."""
    together = threading.Barrier(count)

    def begin(number):
        together.wait(timeout=60.0)
        return work(number)

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(begin, range(count), timeout=7200.0))


@pytest.mark.parametrize(
    ("kind", "pairs"),
    [
        (lambda: RandomSearch(BOX, clock="step", random_state=0), 60),
        (lambda: BY_NAME["WDBO"].make(clock="step", refit_every=50), 8),
        pytest.param(
            lambda: SWGPUCB(
                BOX, window=10, clock="step", refit_every=200, history=5000, random_state=0
            ),
            2000,
            marks=pytest.mark.slow,
        ),
    ],
    ids=["random", "wdbo", "long"],
)
def test_nothing_is_lost_or_doubled(kind, pairs):
    opt, n_threads = kind(), 8

    def work(number):
        told = []
        for i in range(pairs):
            x = opt.ask(0.0)
            y = number + i / pairs
            opt.tell(x, y)
            assert np.isfinite(opt.X_).all()
            told.append((*x, y))
        return told

    done = [one for told in in_threads(n_threads, work) for one in told]
    assert opt.n_told_ == n_threads * pairs
    assert opt.pending_ == []
    recorded = np.column_stack([opt.told_X_[:, :-1], opt.told_y_]).tolist()
    told = sorted(map(list, done))
    if opt.history is None:
        assert sorted(recorded) == told
    else:
        assert all(row in told for row in recorded[:50])
    assert len({row[2] for row in recorded}) == len(recorded)


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
    with opt._lock():
        for twin in twins:
            assert in_threads(1, lambda number: twin.ask(1.0))[0].shape == (2,)  # noqa: B023


def asked(opt):
    return opt.ask(8.0)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks")
def test_a_fork_while_another_thread_is_at_work_is_not_locked_out():
    opt, _ = BY_NAME["GPUCB"].after(8)
    held, leave = threading.Event(), threading.Event()

    def hold():
        with opt._lock():
            held.set()
            leave.wait(timeout=60.0)

    thread = threading.Thread(target=hold)
    thread.start()
    try:
        assert held.wait(timeout=60.0)
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            os.write(write, repr(opt.ask(8.0).tolist()).encode())
            os._exit(0)
        os.close(write)
        with os.fdopen(read) as answers:
            answer = answers.read()
        assert os.waitpid(child, 0)[1] == 0
    finally:
        leave.set()
        thread.join()
    assert answer == repr(opt.ask(8.0).tolist())


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
