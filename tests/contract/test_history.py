"""What is remembered of a run: as much as asked for, at a price that does not grow."""

import pickle
import subprocess
import sys
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from contract.cases import BOX, BY_NAME, STEPS, objective
from numpy.testing import assert_array_equal

from sktvbo import SWGPUCB, RandomSearch
from sktvbo.exceptions import OverconfidenceWarning
from sktvbo.optimizers._state import History, Log

TOLD = ("told_X_", "told_y_", "removed_at_")


@pytest.mark.parametrize("history", [0, 5, 10_000])
def test_history_caps_what_is_shown_and_changes_no_query(few, history):
    full, queries = few.after()
    opt = few.make(history=history)
    assert_array_equal(few.drive(opt, STEPS), queries)
    m = min(history, STEPS)
    for name in TOLD:
        assert_array_equal(getattr(opt, name), getattr(full, name)[STEPS - m :], err_msg=name)
    assert opt.told_X_.shape == (m, 3)
    for name, column in opt.history_.items():
        assert_array_equal(column, full.history_[name][STEPS - m :], err_msg=name)
    assert bool(opt.history_) == (m > 0)
    for name in ("X_", "y_", "n_told_", "n_removed_", "next_time_"):
        assert_array_equal(getattr(opt, name), getattr(full, name), err_msg=name)


def windowed(history, steps, window=8):
    """An optimizer with a window after some steps, hyperparameters held."""
    opt = SWGPUCB(
        BOX, window=window, history=history, n_initial_points=5, refit_every=10**9, random_state=0
    )
    rng = np.random.RandomState(0)
    for t in range(steps):
        x = rng.uniform(*np.transpose(BOX))
        opt.tell(x, objective(x, t), t)
    return opt


def test_a_capped_run_pickles_and_remembers_no_more_than_its_cap():
    early, late = windowed(100, 300), windowed(100, 600)
    assert late.n_told_ == 600
    assert late.n_removed_ == 592
    assert len(late.told_y_) == 100
    assert abs(len(pickle.dumps(late)) - len(pickle.dumps(early))) < 2000
    uncapped = len(pickle.dumps(windowed(None, 600)))
    assert uncapped > 2 * len(pickle.dumps(late))


def busy(opt, start, stop):
    """Steps of all kinds; a third of the observations is taken back."""
    rng = np.random.RandomState(start)
    for t in range(start, stop):
        x = opt.ask(t) if t % 50 == 0 else rng.uniform(*np.transpose(BOX))
        opt.tell(x, objective(x, t % 9), t)
        if t % 3 == 0:
            opt.untell()
        if t % 11 == 0:
            opt.announce(x, t)
            opt.tell([0.5, 0.5], t=t, failed=True)
            opt.cancel(x)


SLOW = ("SWGPUCB", "BOLT-max-size", "SparQGPUCB")
SLOW = [pytest.param(name, 300, marks=pytest.mark.slow) for name in SLOW]


@pytest.mark.parametrize(("name", "steps"), [("RandomSearch", 660), *SLOW])
def test_without_a_history_the_state_does_not_grow(name, steps):
    case, sizes = BY_NAME[name], []
    opt = case.make(history=0, **({"refit_every": None} if case.modelled else {}))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OverconfidenceWarning)  # of a made-up objective
        for start in (0, steps):
            busy(opt, start, start + steps)
            sizes.append(len(pickle.dumps(opt)))
    # Failures and times of queries are stored up to numbers that are not reached.
    assert sizes[1] - sizes[0] < 2000
    assert len(opt.X_) <= 257
    assert (opt.n_told_, len(opt._run.history.untold)) == (4 * steps // 3, 85)
    twin = type(opt).from_json(opt.to_json())
    assert (twin.n_told_, twin.n_removed_) == (opt.n_told_, opt.n_removed_)


SOAK = """
import sys, warnings
import numpy as np
import sktvbo
from sktvbo.exceptions import OverconfidenceWarning
warnings.simplefilter("ignore", OverconfidenceWarning)
name, options, steps = sys.argv[1], eval(sys.argv[2]), int(sys.argv[3])
opt = getattr(sktvbo, name)([(0.0, 1.0)] * 2, history=0, random_state=0, **options)
used = []
for t in range(steps):
    x = opt.ask(float(t))
    opt.tell(x, -float(np.sum((x - 0.5 - 0.3 * np.sin(0.01 * t)) ** 2)))
    if t % 5 == 0:
        opt.untell()
    if t % (steps // 40) == 0:
        used.append(int(open("/proc/self/statm").read().split()[1]) * 4096)
print(*used)
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs Linux' /proc")
@pytest.mark.parametrize(
    ("name", "options"),
    [("RandomSearch", {}), ("SWGPUCB", {"window": 10, "refit_every": None})],
)
def test_memory_of_the_last_quarter_of_200_000_steps_is_constant(name, options):
    command = [sys.executable, "-c", SOAK, name, repr(options), "200000"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    used = np.array(done.stdout.split(), dtype=float)
    assert used[30:].max() < 1.01 * used[29]


def lines_run(function):
    """Lines of Python that a call runs: the same on every machine."""
    count = 0

    def trace(frame, event, _):
        nonlocal count
        count += 1
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        function()
    finally:
        sys.settrace(before)
    return count


class Counting(list):
    """A list that counts what is read of it."""

    read = 0

    def __getitem__(self, i):
        found = super().__getitem__(i)
        Counting.read += len(found) if isinstance(i, slice) else 1
        return found

    def __iter__(self):
        Counting.read += len(self)
        return super().__iter__()


@pytest.mark.parametrize("name", ["SWGPUCB", "ETGPUCB", "WDBO", "RGPUCB-auto", "BOLT-max-size"])
def test_a_step_reads_no_more_of_a_long_run(name, monkeypatch):
    """Of what was told a step reads a constant, and runs as many lines as at first."""
    case = BY_NAME[name]
    read, lines = {}, {}
    for told in (600, 6000):
        opt = case.make(refit_every=10**9)
        rng = np.random.RandomState(0)
        case.drive(opt, 12)
        # What was told before is made up; the data set, and all that a step asks of it, is not.
        run, shift = opt._run, told - 12
        log = Log([run.history.log[0]] * shift + list(run.history.log))
        log._items = Counting(log)
        data = replace(run.data, positions=run.data.positions + shift)
        opt._run = replace(run, history=History(log), data=data)
        Counting.read = 0
        x = rng.uniform(size=2)
        lines[told] = lines_run(lambda: opt.tell(x, 0.3, 12.0))  # noqa: B023
        read[told] = Counting.read
        assert opt.n_told_ == told + 1
    assert read[6000] == read[600] <= 400
    assert lines[6000] < 1.5 * lines[600]


def test_random_search_recommends_the_best_of_all_that_was_told():
    opt = RandomSearch([(0.0, 1.0)], history=0, random_state=0)
    values = {}
    for t in range(300):
        x = opt.ask(t)
        values[float(x[0])] = -abs(x[0] - 0.3)
        opt.tell(x, values[float(x[0])])
    assert opt.recommend(300.0)[0] == max(values, key=values.get)


def test_an_expert_is_asked_about_what_is_remembered():
    opt = BY_NAME["SparQGPUCB"].make(history=10, n_queries=4)
    X = np.random.RandomState(1).uniform(size=(300, 2))
    opt.tell_many(X, [0.1] * 300, 0.01 * np.arange(300))
    places = opt.ask_expert(10.0)
    assert places.shape == (4, 2)
    assert {tuple(place) for place in places} <= {tuple(x) for x in X[-256:]}
