"""Tracking a finite set for ever, by a filter whose hyperparameters are held."""

import copy
import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from optimizers.cases import points_of, same_state
from sklearn.gaussian_process.kernels import Matern

from sktvbo import GPUCB, TVGPUCB, UITVBO, TimeVaryingGPRegressor
from sktvbo.domain import FiniteSet
from sktvbo.evaluation import run
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
        assert_array_equal(opt.predict(POINTS, 300.0, True), twin.predict(POINTS, 300.0, True))
        if first in (100, 150):
            for each in (opt, twin):
                each.untell()
                each.untell(t=first + 22.0)


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
    assert len(one.X_) == len(many.X_) == 1400
    assert_allclose(many.predict(POINTS, 1400.0), one.predict(POINTS, 1400.0), atol=1e-9)


def test_more_than_a_search_learns_from_are_told_at_once():
    one, many = tracker(0), tracker(0)
    for opt, size in ((one, 1), (many, 1500)):
        told(opt, 100)
        rng = np.random.RandomState(5)
        X = POINTS[rng.randint(len(POINTS), size=1500)]
        y, t = [value(x, 0.0, rng) for x in X], 100.0 + np.arange(1500.0)
        for i in range(0, 1500, size):
            opt.tell_many(X[i : i + size], y[i : i + size], t[i : i + size])
    assert len(many.X_) == 1600
    assert_allclose(many.predict(POINTS, 1700.0), one.predict(POINTS, 1700.0), atol=1e-9)


@pytest.mark.parametrize("kind", [GPUCB, TVGPUCB, UITVBO], ids=lambda kind: kind.label)
def test_what_was_learnt_first_is_held(kind):
    opt = kind(FiniteSet(POINTS), n_initial_points=30, refit_every=None, history=0, random_state=0)
    steps([opt], 30)
    theta = opt.surrogate_.theta_.copy()
    steps([opt], 120, 30)
    told(opt, 40, 150, 20)
    opt.tell(POINTS[3], 1.0, 100.5)
    assert_array_equal(opt.surrogate_.theta_, theta)
    assert opt._run.since_search >= 160


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
