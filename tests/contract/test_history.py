"""What is remembered of a run: as much as asked for, at a price that does not grow."""

import pickle
import sys
from dataclasses import replace

import numpy as np
import pytest
from contract.cases import BOX, BY_NAME, STEPS, in_turns, objective
from numpy.testing import assert_allclose, assert_array_equal

from sktvbo import GPUCB, RandomSearch

TOLD = ("told_X_", "told_y_", "removed_at_")


@in_turns("history", [0, 5, 10_000])
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


@pytest.mark.parametrize(
    ("name", "steps"),
    [("RandomSearch", 660), pytest.param("SWGPUCB", 300, marks=pytest.mark.slow)],
)
@pytest.mark.filterwarnings("ignore::sktvbo.exceptions.OverconfidenceWarning")
def test_without_a_history_the_state_does_not_grow(name, steps):
    case, sizes = BY_NAME[name], []
    opt = case.make(history=0, **({"refit_every": None} if case.modelled else {}))
    for start in (0, steps):
        busy(opt, start, start + steps)
        sizes.append(len(pickle.dumps(opt)))
        # These are stored up to numbers that may not be reached yet.
        known = [opt._run.part(name) for name in ("failures", "cancelled")]
        sizes[-1] -= sum(len(pickle.dumps(part)) for part in known)
        assert len(known[0].rows) <= 150
        assert len(known[1].rows) <= 100
    # So are times of queries.
    assert sizes[1] - sizes[0] < 2000
    assert len(opt.X_) <= 257
    assert (opt.n_told_, len(opt._run.history.untold)) == (4 * steps // 3, 85)
    twin = type(opt).from_json(opt.to_json())
    assert (twin.n_told_, twin.n_removed_) == (opt.n_told_, opt.n_removed_)


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
        log = type(run.history.log)([run.history.log[0]] * shift + list(run.history.log))
        log._items = Counting(log)
        data = replace(run.data, positions=run.data.positions + shift)
        opt._run = replace(run, history=type(run.history)(log), data=data)
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


@pytest.mark.parametrize("store", ["json", "journal", "copied journal"])
def test_outcomes_of_rows_that_the_history_has_lost_stay_in_the_data_set(store, tmp_path):
    limits = {"load": (None, 2.0), "heat": (0.0, None)}
    options = {"history": 0, "refit_every": None, "outcome_constraints": limits}
    journal = None if store == "json" else tmp_path / "run.db"
    opt = GPUCB(BOX, random_state=0, journal=journal, **options)
    X = np.random.RandomState(0).uniform(*np.transpose(BOX), size=(300, 2))
    heat = [None if i % 5 == 0 else x for i, x in enumerate(X[:, 0])]
    told = {"load": X[:, 0] + X[:, 1], "heat": heat}
    opt.tell_many(X, X[:, 0], np.arange(300.0), outcomes=told)
    assert len(opt._run.history.log) < len(opt.X_) == 300
    if store == "copied journal":
        opt = opt.with_parameters(journal=tmp_path / "copy.db")
    expected = [opt.predict(X[:9], 300.0, outcome=name) for name in limits]
    if store == "json":
        restored = GPUCB.from_json(opt.to_json())
    else:
        opt.close()
        restored = GPUCB.resume(opt.journal)
    found = [restored.predict(X[:9], 300.0, outcome=name) for name in limits]
    restored.tell(X[0], 0.0, t=301.0, outcomes={"load": 1.0, "heat": None})
    restored.close()
    assert_allclose(found, expected, rtol=1e-6, atol=1e-9)
    assert_array_equal(restored._run.data.outcomes[:-1], opt._run.data.outcomes)
