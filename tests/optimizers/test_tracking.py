"""Optimizers on finite sets: the filter is taken where it applies, and queries do not tell."""

import copy
import pickle

import numpy as np
import pytest
from contract.cases import ask_and_tell, points_of, same_state, some
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.gaussian_process.kernels import ConstantKernel, Matern

from sktvbo import GPUCB, TVGPUCB, UITVBO, WDBO, BayesianOptimizer, TimeVaryingGPRegressor
from sktvbo.acquisition import ThompsonSampling
from sktvbo.domain import FiniteSet
from sktvbo.evaluation import run
from sktvbo.kernels import Forgetting
from sktvbo.problems import make

AXIS = np.linspace(0.0, 3.0, 18)
GRID = FiniteSet([(a, b) for a in AXIS for b in AXIS])


def solver_of(gp):
    return type(gp._gp).__name__


POINTS = FiniteSet(np.random.RandomState(1).uniform(size=(20, 2)))


def surrogate(**parameters):
    defaults = {"normalize_y": True, "optimizer": None, "noise_variance": 0.02}
    return TimeVaryingGPRegressor(Matern(0.4, nu=2.5), Forgetting(0.03), **defaults | parameters)


def tracker(domain=POINTS, **options):
    defaults = {"surrogate": surrogate(), "n_initial_points": 5, "random_state": 0}
    return TVGPUCB(domain, **defaults | options)


def value(x, t, rng):
    return float(np.sin(5.0 * x[0] + 0.02 * t) - x[1] + 0.1 * rng.normal())


def steps(opts, n, first=0):
    """Steps of several optimizers that make the same queries, some told late, some in batches."""
    rng = np.random.RandomState(first)
    for t in range(first, first + n):
        size = 3 if t % 50 == 49 else 1
        asked = [opt.suggest(float(t), n=size) for opt in opts]
        X, *others = [points_of(queries) for queries in asked]
        for found in others:
            assert_array_equal(found, X, err_msg=f"at {t}")
        for x, queries in zip(X, zip(*asked)):
            y, time = value(x, t, rng), t - 3.5 if t % 20 == 19 else float(t)
            for opt, query in zip(opts, queries):
                opt.tell(query, y, time)


def tell_anywhere(opt, n, first=0, size=10):
    """Observations of random places, some at a time."""
    rng = np.random.RandomState(first)
    for t in range(first, first + n, size):
        X = POINTS.points[rng.randint(POINTS.size, size=size)]
        opt.tell_many(X, [value(x, t, rng) for x in X], t + np.arange(size, dtype=float))
    return opt


def test_the_same_queries_as_with_the_dense_solver():
    """324 points, 94 steps: some are late, and some in batches."""
    ours, theirs = (tracker(GRID, surrogate=surrogate(solver=s)) for s in ("auto", "dense"))
    steps([ours, theirs], 90)
    one, other = ours.surrogate_, theirs.surrogate_
    assert [solver_of(gp) for gp in (one, other)] == ["Filter", "Dense"]
    places = np.column_stack([GRID.to_unit(GRID.points), np.full(GRID.size, 91.0)])
    for a, b in zip(one.predict(places, return_std=True), other.predict(places, return_std=True)):
        assert_allclose(a, b, rtol=1e-8, atol=1e-8)
    assert_array_equal(ours.recommend(91.0), theirs.recommend(91.0))
    assert_array_equal(ours.X_, theirs.X_)
    assert_array_equal(one.X_train_, other.X_train_)


@pytest.mark.parametrize("temporal", [ConstantKernel(1.0, "fixed"), Forgetting(0.02)], ids=str)
def test_thompson_sampling_with_a_learnt_mean_is_that_of_the_dense_solver(temporal):
    domain = FiniteSet(np.linspace(0.0, 1.0, 30)[:, np.newaxis])

    def queries(solver):
        gp = surrogate(solver=solver, mean_prior_std=1.0)
        opt = BayesianOptimizer(
            domain,
            surrogate=gp.set_params(temporal_kernel=temporal),
            acquisition=ThompsonSampling(),
            n_initial_points=5,
            random_state=0,
        )
        ask_and_tell(opt, 60, lambda x, t: 5.0 + float(np.sin(9.0 * x[0] + 0.02 * t)))
        assert solver_of(opt.surrogate_) == ("Dense" if solver == "dense" else "Filter")
        return opt.told_X_

    assert_array_equal(queries("kalman"), queries("dense"))


def test_discrete_named_parameters_are_finitely_many_places():
    domain = {"depth": ("integer", 1, 12), "loss": ("categorical", ["l1", "l2", "huber"])}
    opt = tracker(domain)
    ask_and_tell(opt, 70, lambda x, t: -float(abs(x["depth"] - 0.1 * t)))
    assert solver_of(opt.surrogate_) == "Filter"
    assert len(opt.surrogate_.sites) == 36


@pytest.mark.parametrize("case", ["box", "policy"])
def test_whoever_forgets_or_never_comes_back_stays_dense(case):
    options = {"surrogate": surrogate(), "n_initial_points": 5, "random_state": 0}
    opt = GPUCB([(0.0, 1.0)], **options) if case == "box" else WDBO(GRID, **options)
    ask_and_tell(opt, 6, lambda x, t: 0.1 * t)
    assert opt.surrogate_.solver == "dense"
    assert opt.surrogate_.sites is None
    assert options["surrogate"].solver == "auto"


def test_a_step_does_not_grow_with_the_run():
    """Measured without the rows, which are shared."""
    opt, held = tracker(GRID, n_initial_points=64), []
    for t in range(64 + 64 * 3):
        opt.tell(opt.ask(float(t)), 0.1, float(t))
        if t >= 64 and t % 64 == 32:
            gp = opt.surrogate_._gp
            state = pickle.dumps((gp.state, gp.tail))
            held.append(len(state))
    assert max(held) < 1.05 * min(held)


# --- indefinitely ---------------------------------------------------------------------------------


AGAIN = {
    "copy": copy.deepcopy,
    "pickle": lambda opt: pickle.loads(pickle.dumps(opt)),
    "json": lambda opt: TVGPUCB.from_json(opt.to_json()),
    "journal": lambda opt: opt.close() or TVGPUCB.resume(opt.journal),
}


@pytest.mark.parametrize("case", some(AGAIN, ("pickle", "journal")))
def test_a_run_goes_on_alike(case, tmp_path):
    options = {"surrogate": surrogate(solver="kalman")}
    opt = tracker(history=0, journal=tmp_path / "run.db" if case == "journal" else None, **options)
    twin = tracker(history=0, **options)
    for first in range(0, 60, 15):
        steps([opt, twin], 15, first)
        opt = AGAIN[case](opt)
        same_state(opt, twin)
        found, expected = (each.predict(POINTS.points, 300.0, True) for each in (opt, twin))
        assert_allclose(found, expected, rtol=1e-7, atol=1e-9)
        if first in (30, 45):
            for each in (opt, twin):
                each.untell()
                each.untell(t=first + 12.0)


def test_more_than_a_search_learns_from_are_told_at_once():
    one, many = tracker(history=0), tracker(history=0)
    for opt, size in ((one, 30), (many, 1050)):
        tell_anywhere(opt, 100)
        rng = np.random.RandomState(5)
        X = POINTS.points[rng.randint(POINTS.size, size=1050)]
        y, t = [value(x, 0.0, rng) for x in X], 100.0 + np.arange(1050.0)
        for i in range(0, 1050, size):
            opt.tell_many(X[i : i + size], y[i : i + size], t[i : i + size])
    assert len(many.X_) == 1150
    assert_allclose(
        many.predict(POINTS.points, 1250.0), one.predict(POINTS.points, 1250.0), atol=1e-9
    )


@pytest.mark.parametrize("kind", [GPUCB, TVGPUCB, UITVBO], ids=lambda kind: kind.label)
def test_what_was_learnt_first_is_held_and_tracked(kind):
    opt = kind(POINTS, n_initial_points=30, refit_every=None, history=0, random_state=0)
    steps([opt], 30)
    theta = opt.surrogate_.theta_.copy()
    steps([opt], 120, 30)
    tell_anywhere(opt, 40, 150, 20)
    opt.tell(POINTS.points[3], 1.0, 100.5)
    assert_array_equal(opt.surrogate_.theta_, theta)
    assert solver_of(opt.surrogate_) == "Filter"


def test_never_is_never_for_policies_as_well():
    opt = tracker(
        surrogate=surrogate(optimizer="fmin_l_bfgs_b"),
        refit_every=None,
        max_size=40,
        n_initial_points=20,
    )
    tell_anywhere(opt, 20, 0, 20)
    theta = opt.surrogate_.theta_.copy()
    tell_anywhere(opt, 100, 20, 20)
    steps([opt], 10, 120)
    assert len(opt.X_) == 40
    assert_array_equal(opt.surrogate_.theta_, theta)


def test_the_size_of_the_data_set_in_a_run():
    problem = make("markov-gp", horizon=150.0, n_grid=4, random_state=0)
    result = run(tracker(problem.domain, history=0), problem)
    assert_array_equal(np.diff(result.dataset_sizes), 1)
