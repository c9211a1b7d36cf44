"""An observation that is taken back has not been told, but for the hyperparameters."""

import copy

import joblib
import numpy as np
import pytest
from contract.cases import BOX, BY_NAME, CASES, STEPS, ask_and_tell, fingerprint, same_state
from numpy.testing import assert_allclose, assert_array_equal

from sktvbo import ETGPUCB, GPUCB, SWGPUCB, WDBO, BayesianOptimizer, Journal, RandomSearch
from sktvbo.domain import as_domain
from sktvbo.exceptions import AskTellError, InvalidObservationError
from sktvbo.optimizers._state import Remaining
from sktvbo.staleness import EventTriggeredReset

HELD = {"refit_every": 10**9}
MODELLED = [case.name for case in CASES if case.modelled]


def conditioned_afresh(opt):
    """The surrogate with its hyperparameters, conditioned on the data set."""
    gp, X = opt.surrogate_, opt.X_.copy()
    rows = np.column_stack([as_domain(opt.domain).to_unit(X[:, :-1]), X[:, -1]])
    few = len(rows) < min(opt.n_initial_points, 10)
    return gp.fitted_.with_rows(rows, opt.y_, restandardize=not few).regressor()


def test_the_latest_has_not_been_told(few_modelled):
    case = few_modelled
    twin = case.make(**HELD)
    case.drive(twin, STEPS)
    opt = copy.deepcopy(twin)
    opt.tell([1.9, 0.9], 9.0, STEPS + 1.0)
    assert opt.n_told_ == STEPS + 1
    opt.untell()
    order = np.argsort(opt.X_[:, -1], kind="stable")
    assert_array_equal(opt.X_[order], twin.X_)
    assert_array_equal(opt.y_[order], twin.y_)
    for each in ("told_X_", "told_y_", "removed_at_", "n_told_", "n_removed_"):
        assert_array_equal(getattr(opt, each), getattr(twin, each), err_msg=each)
    for column, values in twin.history_.items():
        assert_array_equal(opt.history_[column], values)
    assert joblib.hash(opt.policy_) == joblib.hash(twin.policy_)
    places = np.column_stack([np.random.RandomState(0).uniform(size=(9, 2)), np.full(9, STEPS)])
    if opt.surrogate_.noise_model is not None:
        assert opt.surrogate_.now_ == twin.surrogate_.now_
    found, expected = (o.surrogate_.predict(places, return_std=True) for o in (opt, twin))
    assert_allclose(found, expected, rtol=1e-6, atol=1e-8)
    opt.ask(STEPS)  # as the time was taken back as well
    # The twin goes on in the same way, within what floats are.
    for each in (opt, twin):
        each.tell([0.4, 0.3], 0.5, STEPS)
    assert opt.n_removed_ == twin.n_removed_
    if opt.surrogate_.noise_model is None:
        assert_allclose(*(each.surrogate_.predict(places) for each in (opt, twin)), atol=1e-7)


LARGE = {"WDBO": {"alpha": 0.1}, "SWGPUCB": {"window": 12}}


@pytest.mark.parametrize("name", [*LARGE, "SparQGPUCB"])
def test_an_earlier_one_leaves_the_surrogate_without_it(name):
    case = BY_NAME[name]
    opt = case.make(n_initial_points=4, **LARGE.get(name, {}))
    case.drive(opt, STEPS)
    row, y = opt.X_[1], opt.y_[1]
    opt.untell(row[:-1], row[-1])
    assert row.tolist() not in opt.X_.tolist()
    assert row.tolist() not in opt.told_X_.tolist()
    assert y not in opt.told_y_
    assert opt.n_told_ == len(opt.told_y_) == len(opt.removed_at_) == STEPS - 1
    assert len(opt.y_) == opt.n_told_ - opt.n_removed_ == np.isnan(opt.removed_at_).sum()
    assert all(len(column) == STEPS - 1 for column in opt.history_.values())
    places = np.column_stack([np.random.RandomState(0).uniform(size=(9, 2)), np.full(9, STEPS)])
    assert_allclose(
        opt.surrogate_.predict(places), conditioned_afresh(opt).predict(places), atol=1e-7
    )
    opt.tell(opt.ask(STEPS), 0.3)
    assert opt.n_told_ == STEPS


def test_a_reset_by_an_outlier_is_taken_back():
    opt = ETGPUCB(BOX, n_initial_points=6, random_state=0)
    ask_and_tell(opt, 12, lambda x, t: 0.01 * x[0])
    before = opt.X_
    outlier = opt.suggest(12.0)
    opt.tell(outlier, 1e6)
    assert len(opt.X_) == 1
    late = opt.suggest(13.0)
    opt.tell(late, 0.01 * late.x[0])
    assert opt.X_[-1, -1] == 13.0
    opt.untell(late)  # what was told since goes first, and may be told again
    assert opt.X_[:, -1].tolist() == [12.0]
    opt.untell(outlier)
    assert_array_equal(opt.X_, before)
    assert np.isnan(opt.removed_at_).all()
    opt.tell(late.x, 0.01 * late.x[0], late.t)
    assert len(opt.X_) == 13


def test_which_one_is_taken_back():
    opt = RandomSearch([(0.0, 1.0)], random_state=0)
    query = opt.suggest(1.0)
    opt.tell(query, 1.0)
    for t, y in ((2.0, 2.0), (3.0, 3.0), (2.5, 4.0)):
        opt.tell([0.1], y, t)
    opt.untell([0.1], 2.0)
    assert opt.told_y_.tolist() == [1.0, 3.0, 4.0]
    opt.untell([0.1])  # of several the one told last
    assert opt.told_y_.tolist() == [1.0, 3.0]
    opt.untell(query)
    assert opt.told_y_.tolist() == [3.0]
    opt.untell()
    assert opt.n_told_ == 0
    assert opt.X_.shape == (0, 2)
    x = opt.suggest(0.5)
    opt.tell(x, 5.0)
    opt.untell(id=x.id)
    assert opt.n_told_ == 0
    opt.tell(x.x, 6.0, x.t)  # as it should have been
    assert opt.y_.tolist() == [6.0]


def test_without_enough_observations_there_is_no_surrogate_again():
    opt, twin = (GPUCB(BOX, n_initial_points=3, random_state=0) for _ in range(2))
    for each in (opt, twin):
        each.tell_many([[0.0, 0.0], [0.5, 0.0]], [0.0, 1.0], [0.0, 1.0])
    opt.tell([0.7, 0.2], 9.0, 5.0)
    opt.untell()
    assert opt.surrogate_ is None
    for each in (opt, twin):
        each.tell([0.9, 0.2], 1.0, 5.0)
    assert_array_equal(opt.surrogate_.theta_, twin.surrogate_.theta_)
    assert_array_equal(opt.X_, twin.X_)


def test_what_is_no_longer_remembered_is_refused():
    opt = SWGPUCB(BOX, window=5, history=4, n_initial_points=4, refit_every=10**9)
    for t in range(300):
        opt.tell([0.5, 0.5], 0.1 * t, t)
    before = fingerprint(opt)
    for which in ({"t": 0.0}, {"x": [0.5, 0.5], "t": 9.5}, {"id": 3}, {"x": [0.5, 0.6]}):
        with pytest.raises(AskTellError, match="no matching observation"):
            opt.untell(**which)
    with pytest.raises(InvalidObservationError, match="t must be finite"):
        opt.untell(t=np.nan)
    assert fingerprint(opt) == before
    opt.untell(t=298.0)
    opt.untell()
    assert opt.n_told_ == 298
    assert len(opt.told_y_) == 4
    with pytest.raises(AskTellError, match="no matching observation"):
        GPUCB(BOX).untell()


def test_policies_are_not_told_of_it_again():
    seen = []

    class Watching(EventTriggeredReset):
        def watch(self, run):
            seen.append((run.n_told, run.latest(3)[1].tolist()))

    opt = BayesianOptimizer(BOX, policy=Watching(), n_initial_points=2, random_state=0)
    for t in range(4):
        opt.tell([0.5, 0.1 * t], float(t), t)
    opt.untell(t=1.0)
    opt.tell([0.5, 0.5], 4.0, 4.0)
    assert seen[-1] == (4, [0.0, 2.0, 3.0])


def test_the_clock_of_steps_does_not_go_back():
    opt = GPUCB(BOX, clock="step", n_initial_points=2, random_state=0)
    for _ in range(3):
        opt.tell(opt.ask(), 0.0)
    query = opt.suggest()
    opt.untell()
    assert query.t == opt.suggest().t == opt.now() == 3.0
    opt.tell([0.5, 0.5], 1.0, 9.0)
    assert opt.suggest().t == 9.0


# --- failures -------------------------------------------------------------------------------------


def test_a_failure_is_taken_back(few):
    opt, _ = few.after()
    few.consult(opt, STEPS)
    query = opt.suggest(STEPS)
    twin = copy.deepcopy(opt)
    opt.tell(query, failed=True)
    assert (opt.n_failed_, len(opt.pending_)) == (1, 0)
    opt.untell(query)
    assert (opt.n_failed_, len(opt.failed_X_), opt.n_told_) == (0, 0, STEPS)
    for each in (opt, twin):
        each.tell(query, 0.5)
    same_state(opt, twin, 1e-9)  # but for the time of the next query
    assert opt.ask(STEPS + 1.0) is not None


LIMITED = {"outcome_constraints": {"load": (None, 1.0)}, "n_initial_points": 4, "refit_every": None}


@pytest.mark.parametrize("way", ["live", "json", "journal"])
def test_a_failure_with_outcomes_has_taught_nothing(way, tmp_path):
    options = {"random_state": 0} | LIMITED
    opt = WDBO(BOX, **options, **({"journal": tmp_path / "run"} if way == "journal" else {}))
    for t in range(8):
        x = opt.ask(t)
        opt.tell(x, x[0], outcomes={"load": 0.5 * x[1]})
    places = np.random.RandomState(0).uniform(size=(9, 2))
    expected = opt.predict(places, 8.0, return_std=True, outcome="load")
    queries = opt.suggest(8.0, n=2)
    for query, load in zip(queries, (9.0, -7.0)):
        opt.tell(query, failed=True, outcomes={"load": load})
    if way == "json":
        opt = WDBO.from_json(opt.to_json())
    elif way == "journal":
        opt.close()
        opt = WDBO.resume(tmp_path / "run")
    _, second = opt.failed_X_
    opt.untell(id=queries[0].id)
    assert opt.failed_X_.tolist() == [second.tolist()]
    opt.untell(second[:-1], second[-1])
    found = opt.predict(places, 8.0, return_std=True, outcome="load")
    assert_allclose(found, expected, atol=1e-6)
    opt.tell(queries[1], 0.5, outcomes={"load": 0.0})
    assert (opt.n_told_, opt.n_failed_) == (9, 0)
    if way == "journal":
        opt.close()
        again = WDBO(BOX, **options, journal=Journal(tmp_path / "run", resume=True))
        assert (again.n_told_, again.n_failed_) == (9, 0)


def test_the_latest_of_observations_and_failures():
    opt = RandomSearch([(0.0, 1.0)], random_state=0)
    for t, y in enumerate([None, 1.0, 2.0, None, None, 3.0, None]):
        opt.tell([0.1 * t], y, float(t), failed=y is None)
    left = []
    while opt.n_told_ + opt.n_failed_:
        opt.untell()
        left.append(sorted([*opt.told_X_[:, -1], *opt.failed_X_[:, -1]]))
    assert left == [[float(t) for t in range(n)] for n in range(6, -1, -1)]


# --- answers that are told again ------------------------------------------------------------------


@pytest.mark.parametrize("which", ["handle", "id", "x"])
@pytest.mark.parametrize("failed", [False, True])
@pytest.mark.parametrize("stored", [False, True])
def test_the_handle_may_be_answered_again(which, failed, stored):
    opt = GPUCB(BOX, n_initial_points=3, random_state=0)
    ask_and_tell(opt, 4, lambda x, t: x[0])
    query = opt.suggest(4.0)
    # At another time, and where something else was set.
    opt.tell(query, None if failed else 1.0, 4.3, failed=failed, x=None if failed else [0.5, 0.5])
    told = {"handle": {"x": query}, "id": {"id": query.id}, "x": {"x": query.x}}[which]
    opt.untell(**told)
    if stored:
        opt = GPUCB.from_json(opt.to_json())
    with pytest.raises(AskTellError, match=f"query {query.id} was untold already"):
        opt.untell(id=query.id)
    opt.ask(5.0)
    opt.tell(query, 2.0)
    assert opt.told_X_[-1].tolist() == [*query.x, 4.0]
    assert opt.to_frame()["query"].tolist()[4] == query.id
    opt.tell(query, 2.0)  # again the same
    with pytest.raises(AskTellError, match=r"untell\(query\), then tell the same query"):
        opt.tell(query, 3.0)
    assert opt.n_told_ == 5


def test_outcomes_that_come_later():
    options = {"random_state": 0} | LIMITED
    opt, twin = WDBO(BOX, **options), WDBO(BOX, **options)
    for t in range(6):
        query = opt.suggest(t)
        assert_allclose(twin.suggest(t).x, query.x, atol=1e-6)
        opt.tell(query, query.x[0], outcomes={"load": None})
        opt.untell(query)
        for each in (opt, twin):
            each.tell(query, query.x[0], outcomes={"load": query.x[1]})
    assert_array_equal(opt.X_, twin.X_)
    assert_allclose(*(each.predict([[0.5, 0.5]], 6.0, outcome="load") for each in (opt, twin)))


def test_what_remains_is_a_sequence():
    for gone in ([], [0], [3, 4], [9, 0, 5], list(range(10))):
        items = [i for i in range(10) if i not in gone]
        found = Remaining(range(10), gone)
        assert len(found) == len(items)
        assert [*found] == items == found[:]
        assert [*reversed(found)] == items[::-1]
        assert [found[-1 - i] for i in range(len(items))] == items[::-1]
        assert found[2:5] == items[2:5]
        with pytest.raises(IndexError):
            found[len(items)]


def test_steps_after_one_read_no_more_of_the_history(monkeypatch):
    """The number of items read in a step does not grow with their number."""
    read, get = [0], Remaining.__getitem__

    def counted(self, i):
        read[0] += 1
        return get(self, i)

    n_read = []
    for n in (300, 1200):
        opt = SWGPUCB(BOX, window=5, n_initial_points=4, refit_every=None, random_state=0)
        opt.tell_many(np.full((n, 2), 0.5), np.arange(n) % 7, np.arange(float(n)))
        opt.untell(t=n - 20.0)
        monkeypatch.setattr(Remaining, "__getitem__", counted)
        read[0] = 0
        for t in range(n, n + 3):
            opt.tell(opt.suggest(t), 0.5)
        monkeypatch.undo()
        n_read.append(read[0])
    assert max(n_read) <= 200
