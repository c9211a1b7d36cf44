"""Tracking a finite set for ever: the same queries, whatever is remembered, in bounded memory."""

import copy
import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from optimizers.cases import fingerprint, points_of, same_state
from sklearn.gaussian_process.kernels import Matern

from sktvbo import GPUCB, TVGPUCB, UITVBO, TimeVaryingGPRegressor
from sktvbo.domain import FiniteSet, WithContext
from sktvbo.evaluation import run
from sktvbo.exceptions import AbsorbedError, AskTellError
from sktvbo.kernels import Forgetting
from sktvbo.problems import make

POINTS = np.random.RandomState(1).uniform(size=(20, 2))


def surrogate(**parameters):
    defaults = {"normalize_y": True, "optimizer": None, "noise_variance": 0.02}
    return TimeVaryingGPRegressor(Matern(0.4, nu=2.5), Forgetting(0.03), **defaults | parameters)


def tracker(history, domain=None, **options):
    domain = FiniteSet(POINTS) if domain is None else domain
    defaults = {"surrogate": surrogate(), "n_initial_points": 5, "random_state": 0}
    return TVGPUCB(domain, **defaults | options, history=history)


def value(x, t, rng):
    return float(np.sin(5.0 * x[0] + 0.02 * t) - x[1] + 0.1 * rng.normal())


def steps(opts, n, first=0):
    """Steps of several optimizers that make the same queries, some told late, some in batches."""
    rng = np.random.RandomState(first)
    for t in range(first, first + n):
        size = 3 if t % 50 == 49 else 1
        X, *others = [points_of(opt.suggest(float(t), n=size)) for opt in opts]
        for found in others:
            assert_array_equal(found, X, err_msg=f"at {t}")
        for x in X:
            y, time = value(x, t, rng), t - 3.5 if t % 20 == 19 else float(t)
            for opt in opts:
                opt.tell(x, y, time)


def told(opt, n, first=0, size=10):
    """Observations of random places, some at a time."""
    rng = np.random.RandomState(first)
    for t in range(first, first + n, size):
        X = POINTS[rng.randint(len(POINTS), size=size)]
        opt.tell_many(X, [value(x, t, rng) for x in X], t + np.arange(size, dtype=float))
    return opt


@pytest.mark.parametrize("last", [300, pytest.param(2000, marks=pytest.mark.slow)])
def test_steps_are_the_same_whatever_is_remembered(last):
    full, none, some = opts = [tracker(history) for history in (None, 0, 50)]
    steps(opts, last)
    n = full.n_told_
    assert full.n_absorbed_ == 0
    for opt, keep in ((none, 32), (some, 50)):
        held = n - opt.n_absorbed_
        assert keep <= held == len(opt.X_) < 2 * keep
        assert_array_equal(opt.X_, full.X_[-held:])
        assert_array_equal(opt.y_, full.y_[-held:])
        assert_array_equal(opt.surrogate_.X_train_[:, -1], opt.X_[:, -1])
        assert (opt.n_told_, opt.n_removed_) == (n, 0)
        assert_array_equal(opt.recommend(last + 1.0), full.recommend(last + 1.0))
        for at in (last, last + 100.0, float(opt.X_[5, -1])):
            found, expected = (o.predict(POINTS, at, return_std=True) for o in (opt, full))
            assert_allclose(found, expected, rtol=1e-8, atol=1e-8)
    for name in ("told_X_", "told_y_", "removed_at_"):
        assert_array_equal(getattr(some, name), getattr(full, name)[-50:])
    assert_array_equal(some.history_["n"], full.history_["n"][-50:])
    # What the acquisition and the policies are told is the size of all.
    assert none._run.queries[-1] == full._run.queries[-1]


@pytest.mark.parametrize("history", [0, pytest.param(50, marks=pytest.mark.slow)])
def test_what_is_held_and_written_does_not_grow(history, monkeypatch):
    # What updates take is let go every so many of them.
    monkeypatch.setattr("sktvbo.gaussian_process._conditioned._MAX_UPDATES", 25)
    opt, rows, early, late = tracker(history), [], [], []
    for first in range(0, 2500, 10):
        told(opt, 10, first)
        rows.append(len(opt.X_))
        if 500 <= first < 1000 or first >= 2000:
            sizes = early if first < 1000 else late
            sizes.append([len(pickle.dumps(opt)), len(opt.to_json())])
    assert opt.n_told_ == 2500
    assert max(rows[20:]) <= 2 * max(history, 32) + 10
    assert (np.max(late, axis=0) < 1.02 * np.max(early, axis=0)).all()


def test_with_all_of_the_history_all_is_kept():
    opt = told(tracker(None), 300)
    assert len(opt.X_) == len(opt.surrogate_.X_train_) == 300


AGAIN = {
    "copy": copy.deepcopy,
    "pickle": lambda opt: pickle.loads(pickle.dumps(opt)),
    "json": lambda opt: TVGPUCB.from_json(opt.to_json()),
    "journal": lambda opt: opt.close() or TVGPUCB.resume(opt.journal),
}


@pytest.mark.parametrize("case", AGAIN)
def test_a_run_goes_on_to_the_bit(case, tmp_path, monkeypatch):
    monkeypatch.setattr("sktvbo.gaussian_process._conditioned._MAX_UPDATES", 60)
    monkeypatch.setattr("sktvbo.gaussian_process._filter._MOST_UPDATES", 60)
    # The dense solver's last digits may depend on where in memory an array begins.
    kalman, path = surrogate(solver="kalman"), tmp_path / "run.db" if case == "journal" else None
    opt, twin = tracker(0, surrogate=kalman, journal=path), tracker(0, surrogate=kalman)
    for first in range(0, 200, 25):
        steps([opt, twin], 25, first)
        opt = AGAIN[case](opt)
        same_state(opt, twin)
        assert opt.n_absorbed_ == twin.n_absorbed_
        assert_array_equal(opt.predict(POINTS, 300.0, True), twin.predict(POINTS, 300.0, True))
        if first in (100, 150):
            for each in (opt, twin):
                each.untell()
                each.untell(t=first + 22.0)
    assert opt.n_absorbed_ > 100


def test_many_are_told_as_one_by_one():
    one, many = tracker(0), tracker(0)
    for opt, size in ((one, 1), (many, 40)):
        told(opt, 200, 0, 40)
        rng = np.random.RandomState(5)
        X = POINTS[rng.randint(20, size=1200)]
        y, t = [value(x, 0.0, rng) for x in X], 200.0 + np.arange(1200.0)
        for i in range(0, 1200, 600 if size == 40 else 1):
            part = slice(i, i + (600 if size == 40 else 1))
            opt.tell_many(X[part], y[part], t[part])
    assert one.n_told_ == many.n_told_ == 1400
    assert len(many.X_) <= 600
    assert_allclose(many.predict(POINTS, 1400.0), one.predict(POINTS, 1400.0), atol=1e-9)


def test_more_than_a_search_learns_from_are_told_at_once():
    opt, full = tracker(0), tracker(None)
    for each in (opt, full):
        told(each, 100)
        told(each, 1500, 100, 1500)
    assert opt.n_absorbed_ > 30
    assert_allclose(opt.predict(POINTS, 1700.0), full.predict(POINTS, 1700.0), atol=1e-9)


def test_contexts_and_places_that_were_never_there():
    domain = WithContext(FiniteSet(POINTS), [(0.0, 1.0)])
    opts = [tracker(h, domain, surrogate=surrogate(solver="kalman")) for h in (None, 0)]
    rng = np.random.RandomState(0)
    for t in range(160):
        context = [[0.1, 0.5, 0.9, 0.7][t // 10 % 3 + (t > 140)]]
        x, other = (opt.ask(t, context=context) for opt in opts)
        assert_array_equal(x, other)
        y = value(x, t, rng)
        for opt in opts:
            opt.tell(x, y)
    full, opt = opts
    assert opt.n_absorbed_ > 90
    best = [o.recommend(160.0, context=[0.5]) for o in (opt, full)]
    found, expected = (o.predict(x, 160.0, context=[0.5]) for o, x in zip((opt, full), best))
    assert_allclose(found, expected)


# --- what is given up -----------------------------------------------------------------------------


def test_what_is_held_may_be_taken_back_and_no_more():
    full, opt = tracker(None), tracker(0)
    for each in (full, opt):
        told(each, 200, 0, 1)
        each.untell()
        each.untell(t=190.0)
    assert_allclose(opt.predict(POINTS, 200.0), full.predict(POINTS, 200.0), atol=1e-9)
    assert (opt.n_told_, opt.n_removed_) == (198, 0)
    before, first = fingerprint(opt), opt.n_absorbed_
    held = len(opt.X_)
    for gone in (0.0, first - 1.0):
        with pytest.raises(AskTellError, match=rf"one of the {held} obs.* history=None all are"):
            opt.untell(t=gone)
    assert fingerprint(opt) == before
    for left in range(held, 1, -1):
        assert len(opt.X_) == left
        opt.untell()
    with pytest.raises(AskTellError, match="one of the 0 observations that are remembered"):
        opt.untell()
    steps([opt], 80, 200)
    assert opt.n_absorbed_ > first


def test_too_late_and_too_long_ago():
    opt = told(tracker(0), 200, 0, 1)
    at = opt.n_absorbed_ - 1.0  # an observation a unit of time
    before = fingerprint(opt)
    with pytest.raises(AbsorbedError, match=f"must be at least {at}, .* larger history"):
        opt.tell(POINTS[0], 1.0, at - 0.5)
    with pytest.raises(AbsorbedError, match="posterior must be at least"):
        opt.predict(POINTS, at - 0.5)
    assert fingerprint(opt) == before
    opt.tell(POINTS[0], 1.0, at)
    assert opt.n_told_ == 201
    assert np.isfinite(opt.predict(POINTS, at)).all()


@pytest.mark.parametrize(
    "options",
    [
        {"surrogate": surrogate(optimizer="fmin_l_bfgs_b"), "refit_every": 10**9},
        {"surrogate": surrogate(optimizer="fmin_l_bfgs_b"), "refit_every": "auto"},
        {"max_size": 150},
        {"surrogate": surrogate(solver="dense")},
    ],
    ids=["every", "auto", "max_size", "dense"],
)
def test_where_rows_are_needed_again_they_are_held(options):
    opt = tracker(0, **options)
    told(opt, 120, 0, 60 if "refit_every" in options else 1)
    assert opt.n_absorbed_ == 0
    assert len(opt.X_) == 120


# --- hyperparameters that are searched once -------------------------------------------------------


@pytest.mark.parametrize("kind", [GPUCB, TVGPUCB, UITVBO], ids=lambda kind: kind.label)
def test_what_was_learnt_first_is_held_and_rows_are_absorbed(kind):
    opts = [
        kind(FiniteSet(POINTS), n_initial_points=30, refit_every=None, history=h, random_state=0)
        for h in (None, 0)
    ]
    steps(opts, 30)
    theta = opts[0].surrogate_.theta_.copy()
    steps(opts, 120, 30)
    for opt in opts:
        told(opt, 40, 150, 20)
        assert_array_equal(opt.surrogate_.theta_, theta)
        assert opt._run.since_search >= 160
    full, opt = opts
    assert opt.n_absorbed_ > 90
    # Before all that are held, and not before those absorbed.
    early = opt.surrogate_._gp.start.state.t + opt.surrogate_._gp.rows.layout.origin
    for each in opts:
        each.tell(POINTS[3], 1.0, early)
    assert_allclose(opt.predict(POINTS, 200.0), full.predict(POINTS, 200.0), rtol=1e-7, atol=1e-7)


def test_never_is_never_for_policies_as_well():
    opt = tracker(
        None,
        surrogate=surrogate(optimizer="fmin_l_bfgs_b"),
        refit_every=None,
        max_size=40,
        n_initial_points=20,
    )
    told(opt, 20, 0, 20)
    theta = opt.surrogate_.theta_.copy()
    told(opt, 100, 20, 20)
    steps([opt], 10, 120)
    assert len(opt.X_) == 40
    assert_array_equal(opt.surrogate_.theta_, theta)


def test_the_size_of_the_data_set_in_a_run():
    problem = make("markov-gp", horizon=150.0, n_grid=4, random_state=0)
    result = run(tracker(0, problem.domain), problem)
    assert_array_equal(np.diff(result.dataset_sizes), 1)
