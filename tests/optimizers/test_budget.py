"""step_budget: searches in slices, the limit of the data set, and warnings; refit(deadline=)."""

import contextlib
import pickle
import time
import warnings

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.gaussian_process.kernels import Matern, RationalQuadratic

from sktvbo import BOLT, GPUCB, WDBO, TimeVaryingGPRegressor
from sktvbo.exceptions import AskTellError, StepBudgetWarning

LONG = 1e6


def f(x, t):
    return -float(np.sum((np.asarray(x) - 0.5 - 0.3 * np.sin(0.05 * t)) ** 2))


def run(opt, steps, start=0):
    for t in range(start, start + steps):
        x = opt.ask(float(t))
        opt.tell(x, f(x, t))
    return opt


def theta(opt):
    return opt.surrogate_.theta_


@pytest.mark.parametrize("kind", [WDBO, BOLT, GPUCB])
def test_with_a_long_budget_hyperparameters_are_learnt_at_once(kind):
    opt = run(kind([(0, 1)] * 2, n_initial_points=5, step_budget=LONG, random_state=0), 30)
    state = opt._run
    assert state.sliced_search is None
    assert state.search.age < 30
    assert not np.allclose(opt.surrogate_.signal_variance_, opt.surrogate_.signal_variance)
    searched = opt.surrogate_.refit()
    assert searched.log_marginal_likelihood() - opt.surrogate_.log_marginal_likelihood() < 1.0


@pytest.mark.parametrize(("kind", "refit_every"), [(WDBO, "auto"), (BOLT, 1), (GPUCB, None)])
def test_no_observation_is_lost_whatever_the_budget(kind, refit_every):
    opt = kind([(0, 1)] * 2, n_initial_points=5, refit_every=refit_every, step_budget=1e-9)
    opt.set_params(random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StepBudgetWarning)
        run(opt, 60)
    assert opt.n_told_ == len(opt.told_y_) == 60
    assert len(opt.X_) <= 33
    assert_array_equal(opt.told_X_[:, -1], np.arange(60.0))


def test_a_budget_that_cannot_be_kept_warns_once_and_names_the_part():
    opt = run(WDBO([(0, 1)], n_initial_points=3, step_budget=LONG, random_state=0), 6)
    opt._run.timer.seconds = 1e-9
    with pytest.warns(StepBudgetWarning) as caught:
        run(opt, 100, start=6)
    (message,) = [str(w.message) for w in caught]
    # Two of each of the first six cycles were within the budget.
    assert "12 of the latest 24 steps" in message
    assert "the update of the model took" in message or "the search for the query" in message
    assert "larger step_budget" in message
    assert caught[0].filename == __file__


def test_a_warning_that_is_an_error_follows_the_step():
    opt = run(WDBO([(0, 1)], n_initial_points=3, step_budget=LONG, random_state=0), 6)
    opt.ask(6.0)
    opt._run.timer.seconds = 1e-9
    run(opt, 6, start=6)
    with warnings.catch_warnings():
        warnings.simplefilter("error", StepBudgetWarning)
        with pytest.raises(StepBudgetWarning):
            opt.ask(12.0)  # 13 of 26 steps exceed the budget, before 12 of 25
        opt.tell(opt.pending_[-1], 1.0)
    assert opt.n_told_ == 13


# Steps that raise, or that change nothing.
WITHOUT_EFFECT = {
    "tell": lambda opt: opt.tell([0.5], np.nan, 7.0),
    "tell outside": lambda opt: opt.tell([2.0], 1.0, 7.0),
    "tell again": lambda opt: opt.tell(opt.again, 0.5),
    "fail": lambda opt: opt.tell([0.5], 1.0, 7.0, failed=True),
    "ask": lambda opt: opt.ask(-1.0),
    "suggest": lambda opt: opt.suggest(np.nan, n=2),
    "tell_many": lambda opt: opt.tell_many([[0.5]], [np.nan], [7.0], outcomes=1.0),
    "announce": lambda opt: opt.announce([2.0], 7.0),
    "cancel": lambda opt: opt.cancel([0.123]),
    "untell": lambda opt: opt.untell(id=99),
}


@pytest.mark.parametrize("call", WITHOUT_EFFECT.values(), ids=WITHOUT_EFFECT)
def test_a_step_without_effect_is_over(call, monkeypatch):
    """Work of the caller after a step is not counted as a step."""
    seconds = [0.0]
    monkeypatch.setattr(time, "process_time", lambda: seconds[0])
    opt = WDBO([(0, 1)], n_initial_points=3, step_budget=LONG, random_state=0)
    opt.again = opt.suggest(0.0)
    opt.tell(opt.again, 0.5)
    run(opt, 2, start=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error", StepBudgetWarning)
        for _ in range(4):
            with contextlib.suppress(ValueError, RuntimeError):
                call(opt)
            seconds[0] += 100.0 * LONG
            opt.announce([0.5], 7.0)
            opt.tell_many([[0.25]], [0.5], [7.0])
            opt.refit()
        run(opt, 1, start=8)


def test_a_search_that_is_interrupted_goes_on():
    """In steps, and in refit; a pickle has the unfinished search."""
    options = {"n_initial_points": 5, "refit_every": 50, "step_budget": LONG}
    opt = run(WDBO([(0, 1)] * 2, random_state=0, **options), 20)
    opt = pickle.loads(pickle.dumps(opt))
    before, n = theta(opt), len(opt.X_)
    assert opt._run.search.age > 0
    whole = pickle.loads(pickle.dumps(opt))
    assert whole.refit()
    done = [opt.refit(deadline=1e-5)]
    while not done[-1] and len(done) < 500:
        if len(done) % 3 == 0:
            opt = pickle.loads(pickle.dumps(opt))
        done.append(opt.refit(deadline=1e-5))
    assert len(done) > 3
    assert done[-1]
    assert len(opt.X_) == n
    assert (theta(opt) != before).any()
    assert_array_equal(theta(opt), theta(whole))
    assert opt._run.search.age == 0


def test_refit_before_the_surrogate_and_without_hyperparameters():
    opt = WDBO([(0, 1)], n_initial_points=5)
    with pytest.raises(AskTellError, match=r"refit\(\) must be at least"):
        opt.refit()
    # A control loop calls it in every cycle.
    assert opt.refit(deadline=0.1) is True
    fixed = TimeVaryingGPRegressor(optimizer=None)
    opt = run(WDBO([(0, 1)], surrogate=fixed, n_initial_points=2, random_state=0), 4)
    before = opt._run
    assert opt.refit() is True
    assert opt._run is before
    for bad in (0.0, -1.0, np.nan, "soon"):
        with pytest.raises(ValueError, match="deadline must be a float"):
            opt.refit(deadline=bad)


def test_an_interrupted_search_ends_with_untell_and_does_not_stop_those_of_tell():
    opt = run(WDBO([(0, 1)] * 2, n_initial_points=5, refit_every=3, random_state=0), 20)
    assert opt.refit(deadline=1e-5) is False
    other = pickle.loads(pickle.dumps(opt))
    other.untell()
    assert other._run.sliced_search is None
    run(opt, 4, start=20)
    assert opt._run.sliced_search is None
    assert opt._run.search.age < 3


def test_a_journal_has_the_hyperparameters(tmp_path):
    path = tmp_path / "run.db"
    opt = WDBO([(0, 1)] * 2, n_initial_points=5, step_budget=0.02, random_state=0, journal=path)
    run(opt, 30)
    while not opt.refit(deadline=1e-4):
        pass
    expected, told = theta(opt), opt.told_X_
    opt.close()
    again = WDBO.resume(path)
    assert again.step_budget == 0.02
    assert_array_equal(theta(again), expected)
    assert_array_equal(again.told_X_, told)
    run(again, 5, start=30)


def test_many_observations_are_limited_too():
    opt = GPUCB([(0, 1)], n_initial_points=5, step_budget=LONG, random_state=0)
    rng = np.random.RandomState(0)
    X = rng.uniform(size=(50, 1))
    opt.tell_many(X, [f(x, 0) for x in X], t=np.arange(50.0))
    assert len(opt.X_) == 50
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StepBudgetWarning)
        opt._run.timer.seconds = 1e-9
        run(opt, 20, start=50)
    assert len(opt.X_) < 50
    assert opt.n_told_ == 70


KERNELS = {"compiled": None, "called": RationalQuadratic(0.5)}


@pytest.mark.parametrize("kernel", KERNELS)
def test_the_search_for_a_query_stops(kernel):
    """When the time is over before the search, the score of the candidates is all that is left."""
    calls = []

    def score(mean, std, state):
        calls.append(len(mean))
        return mean + std, np.ones(len(mean)), np.ones(len(mean))

    surrogate = TimeVaryingGPRegressor(KERNELS[kernel], Matern(9.0, nu=1.5), optimizer=None)
    opt = GPUCB([(0, 1)] * 3, n_initial_points=5, acquisition=score, surrogate=surrogate)
    opt.set_params(step_budget=LONG, random_state=0)
    run(opt, 7)
    calls.clear()
    opt.ask(7.0)
    assert len(calls) > 5
    assert calls[0] > 500
    timer = opt._run.timer
    timer.seconds = 1e-9
    for t in range(8, 15):
        opt.cancel(opt.pending_[-1])
        calls.clear()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", StepBudgetWarning)
            x = opt.ask(float(t))
    assert ((x >= 0.0) & (x <= 1.0)).all()
    assert calls == [16 + 3]  # and the latest three places
