"""Optimizers on finite sets: the filter is taken where it applies, and results do not tell."""

import copy
import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from optimizers.cases import points_of
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from sktvbo import GPUCB, TVGPUCB, UITVBO, WDBO, BayesianOptimizer, TimeVaryingGPRegressor
from sktvbo.acquisition import ThompsonSampling
from sktvbo.domain import FiniteSet
from sktvbo.gaussian_process._conditioned import Dense
from sktvbo.gaussian_process._filter import Filter
from sktvbo.gaussian_process._rows import Layout, Rows
from sktvbo.kernels import Forgetting

AXIS = np.linspace(0.0, 3.0, 18)
GRID = FiniteSet([(a, b) for a in AXIS for b in AXIS])


def surrogate(solver="auto", **parameters):
    return TimeVaryingGPRegressor(
        RBF(0.2), Forgetting(0.05), noise_variance=0.02, optimizer=None, solver=solver, **parameters
    )


def tracker(solver="auto", domain=GRID, **parameters):
    defaults = {"n_initial_points": 5, "clock": "step", "random_state": 0}
    return TVGPUCB(domain, surrogate=surrogate(solver, normalize_y=True), **defaults | parameters)


def told(opt, steps, start=0):
    """Queries of some steps; every tenth observation is late, every seventh is a batch of three."""
    queries, rng = [], np.random.RandomState(start)
    for t in range(start, start + steps):
        X = points_of(opt.suggest(float(t), n=3 if t % 7 == 3 else 1))
        for x in X:
            y = float(np.sin(x[0] + 0.1 * t) - (x[1] - 1.0) ** 2 + 0.1 * rng.normal())
            opt.tell(x, y, t - 2.5 if t % 10 == 9 else float(t))
        queries.extend(X)
    return np.array(queries)


def test_the_same_queries_as_with_the_dense_solver():
    """324 points, 128 steps: steps are settled once, and some are late."""
    ours, theirs = tracker(), tracker("dense")
    assert_array_equal(told(ours, 90), told(theirs, 90))
    one, other = ours.surrogate_, theirs.surrogate_
    assert [type(gp._gp) for gp in (one, other)] == [Filter, Dense]
    places = np.column_stack([GRID.to_unit(GRID.points), np.full(GRID.size, 91.0)])
    for a, b in zip(one.predict(places, return_std=True), other.predict(places, return_std=True)):
        assert_allclose(a, b, rtol=1e-8, atol=1e-8)
    assert_array_equal(ours.recommend(91.0), theirs.recommend(91.0))
    assert_array_equal(ours.X_, theirs.X_)
    assert_array_equal(one.X_train_, other.X_train_)


def test_a_run_goes_on_after_a_pickle():
    opt = tracker()
    told(opt, 80)
    again = pickle.loads(pickle.dumps(opt))
    assert_array_equal(told(again, 5, 80), told(opt, 5, 80))


@pytest.mark.parametrize("kind", [GPUCB, UITVBO], ids=lambda kind: kind.label)
def test_other_algorithms_that_keep_all_take_it_while_hyperparameters_are_held(kind):
    opt = kind(GRID, n_initial_points=5, refit_every=10**9, random_state=0)
    for t in range(70):
        x = opt.ask(t)
        opt.tell(x, float(np.sin(x[0] + 0.1 * t)))
    assert type(opt.surrogate_._gp) is Filter


def test_a_search_goes_back_to_the_dense_solver_and_steps_after_it_return():
    opt = TVGPUCB(GRID, n_initial_points=70, refit_every=3, random_state=0)
    kinds = []
    for t in range(76):
        x = opt.ask(t)
        opt.tell(x, float(np.sin(x[0] + 0.1 * t)))
        kinds.append(type(getattr(opt.surrogate_, "_gp", None)))
    assert kinds[69:] == [Dense, Filter, Filter, Dense, Filter, Filter, Dense]


def test_thompson_sampling_draws_from_it():
    opt = BayesianOptimizer(
        GRID,
        surrogate=surrogate(),
        acquisition=ThompsonSampling(),
        n_initial_points=5,
        random_state=0,
    )
    for t in range(70):
        x = opt.ask(t)
        opt.tell(x, float(np.sin(x[0] + 0.1 * t)))
    assert type(opt.surrogate_._gp) is Filter
    assert len(np.unique([opt.ask(70.0) for _ in range(3)], axis=0)) > 1


@pytest.mark.parametrize("temporal", [ConstantKernel(1.0, "fixed"), Forgetting(0.02)], ids=str)
def test_thompson_sampling_with_a_learnt_mean_is_that_of_the_dense_solver(temporal):
    domain = FiniteSet(np.linspace(0.0, 1.0, 30)[:, np.newaxis])

    def queries(solver):
        gp = surrogate(solver, mean_prior_std=1.0, normalize_y=True)
        opt = BayesianOptimizer(
            domain,
            surrogate=gp.set_params(temporal_kernel=temporal),
            acquisition=ThompsonSampling(),
            n_initial_points=5,
            random_state=0,
        )
        for t in range(60):
            x = opt.ask(t)
            opt.tell(x, 5.0 + float(np.sin(9.0 * x[0] + 0.02 * t)))
        assert type(opt.surrogate_._gp) is (Dense if solver == "dense" else Filter)
        return opt.told_X_

    assert_array_equal(queries("kalman"), queries("dense"))


def test_a_step_goes_through_no_more_rows_when_there_are_more(monkeypatch):
    opt, whole = tracker(), []
    told(opt, 80)
    noise, split = Rows.noise, Layout.split

    def noted(self, covariance, rows=slice(None)):
        found = noise(self, covariance, rows)
        whole.extend(["noise"] * (len(found) > 20))
        return found

    def noted_too(self, X):
        whole.extend(["split"] * (len(X) > 20))
        return split(self, X)

    monkeypatch.setattr(Rows, "noise", noted)
    monkeypatch.setattr(Layout, "split", noted_too)
    opt.tell(opt.ask(80.0), 0.5)
    opt.ask(81.0)
    assert not whole
    assert np.shares_memory(opt._run.kept.rows, told_once_more(opt)._run.kept.rows)
    assert opt.surrogate_._gp.information_gain > 0.0
    assert whole == ["noise"]
    # Nor do the rows that a filter was made of keep another copy of themselves.
    gp = opt.surrogate_._gp
    made = Filter.of(gp.covariance, gp.rows.at(gp.rows.now), gp.sites)
    assert not {"_space_time", "targets"} & vars(made.origin).keys()


def told_once_more(opt):
    """The same, one observation later."""
    later = copy.copy(opt)
    later.tell([0.0, 0.0], 0.5, 82.0)
    return later


def test_discrete_named_parameters_are_finitely_many_places():
    domain = {"depth": ("integer", 1, 12), "loss": ("categorical", ["l1", "l2", "huber"])}
    opt = tracker(domain=domain)
    for t in range(70):
        x = opt.ask(float(t))
        opt.tell(x, -float(abs(x["depth"] - 0.1 * t)))
    assert type(opt.surrogate_._gp) is Filter
    assert len(opt.surrogate_.sites) == 36


@pytest.mark.parametrize("case", ["box", "policy"])
def test_whoever_forgets_or_never_comes_back_stays_dense(case):
    options = {"surrogate": surrogate(), "n_initial_points": 5, "random_state": 0}
    opt = GPUCB([(0.0, 1.0)], **options) if case == "box" else WDBO(GRID, **options)
    for t in range(6):
        opt.tell(opt.ask(t), 0.1 * t)
    assert opt.surrogate_.solver == "dense"
    assert opt.surrogate_.sites is None
    assert options["surrogate"].solver == "auto"


def test_a_step_does_not_grow_with_the_run():
    """In what a regressor holds besides the rows themselves, which are shared."""
    opt = tracker(n_initial_points=64)
    held = []
    for t in range(64 + 64 * 3):
        opt.tell(opt.ask(float(t)), 0.1, float(t))
        if t >= 64 and t % 64 == 32:
            gp = opt.surrogate_._gp
            state = pickle.dumps((gp.state, gp.tail))
            held.append(len(state))
    assert max(held) < 1.05 * min(held)
