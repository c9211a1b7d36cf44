"""``refit_every="auto"``: hyperparameters are searched when it pays."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from sktvbo import (
    ETGPUCB,
    GPUCB,
    SWGPUCB,
    WDBO,
    BayesianOptimizer,
    SparQGPUCB,
    TimeVaryingGPRegressor,
)
from sktvbo.optimizers import _run

BOX = [(0.0, 1.0)] * 2


@pytest.fixture
def searches(monkeypatch):
    """Sizes of the data sets that were searched, first fits left out."""
    original, sizes = TimeVaryingGPRegressor.updated, []

    def spy(self, *args, refit=False, **options):
        found = original(self, *args, refit=refit, **options)
        if refit:
            sizes.append(len(found.X_train_))
        return found

    monkeypatch.setattr(TimeVaryingGPRegressor, "updated", spy)
    return sizes


def drive(opt, n_steps, begin=0, value=lambda x, t: np.sin(4.0 * x.sum() + t / 10.0)):
    rng = np.random.RandomState(begin)
    for t in range(begin, begin + n_steps):
        x = rng.uniform(size=2)
        opt.tell(x, value(x, t) + 0.1 * rng.normal(), float(t))


def test_searches_are_few_and_miss_little(searches):
    opt = GPUCB(BOX, n_initial_points=20, refit_every="auto")
    drive(opt, 80, value=lambda x, t: np.sin(4.0 * x.sum()))
    # Growing by a tenth from 20 to 80 rows makes about fifteen.
    assert 8 <= len(searches) <= 30
    surrogate = opt.surrogate_
    again = surrogate.updated(drop=[], refit=True)
    gained = again.log_marginal_likelihood_value_ - surrogate.log_marginal_likelihood_value_
    assert gained < 1.0


def test_a_promise_makes_a_search(searches, monkeypatch):
    opt = GPUCB(BOX, n_initial_points=30, refit_every="auto")
    drive(opt, 31)
    searches.clear()
    promised = iter([0.0, _run._WORTH_A_SEARCH, 1.01 * _run._WORTH_A_SEARCH])
    monkeypatch.setattr(TimeVaryingGPRegressor, "search_gain", lambda self: next(promised))
    drive(opt, 3, begin=31)
    assert searches == [34]


def test_growth_and_resets_make_a_search(searches, monkeypatch):
    monkeypatch.setattr(TimeVaryingGPRegressor, "search_gain", lambda self: 0.0)
    drive(GPUCB(BOX, n_initial_points=30, refit_every="auto"), 45)
    assert searches == [34, 38, 42]
    searches.clear()
    opt = ETGPUCB(BOX, n_initial_points=30, refit_every="auto")
    drive(opt, 33)
    assert searches == []
    opt.tell([0.5, 0.5], 1e3, 33.0)
    assert searches == [1]


def test_searches_come_at_the_latest_when_so_many_data_sets_have_come(searches, monkeypatch):
    monkeypatch.setattr(TimeVaryingGPRegressor, "search_gain", lambda self: 0.0)
    drive(SWGPUCB(BOX, window=10, n_initial_points=10, refit_every="auto"), 115)
    assert searches == []
    drive(SWGPUCB(BOX, window=10, n_initial_points=10, refit_every="auto"), 250)
    assert searches == [11, 11]  # with the one that the window then drops


def test_a_surrogate_without_a_promise_is_searched_always(searches, monkeypatch):
    owner = next(c for c in TimeVaryingGPRegressor.__mro__ if "search_gain" in vars(c))
    monkeypatch.delattr(owner, "search_gain")
    drive(GPUCB(BOX, n_initial_points=20, refit_every="auto"), 25)
    assert len(searches) == 5


def test_nothing_to_search(searches):
    surrogate = TimeVaryingGPRegressor(optimizer=None, normalize_y=True)
    opt = BayesianOptimizer(BOX, surrogate=surrogate, n_initial_points=10, refit_every="auto")
    drive(opt, 40)
    assert searches == []
    assert opt.surrogate_.search_gain() == 0.0


def test_experts_and_sweeps(searches):
    opt = SparQGPUCB(BOX, n_initial_points=10, refit_every="auto", random_state=0)
    for t in range(14):
        opt.tell(opt.ask(t), float(np.cos(t)))
        if t > 10:
            places = opt.ask_expert(t + 0.5)
            opt.tell_expert(places, np.cos(places.sum(axis=1)), t + 0.5)
    opt = WDBO(BOX, n_initial_points=20, refit_every="auto", random_state=0)
    drive(opt, 60)
    assert opt.n_removed_ > 0
    fresh = opt.surrogate_.updated(drop=[])
    assert_array_equal(fresh.X_train_, opt.surrogate_.X_train_)


# --- the promise ----------------------------------------------------------------------------------


def sample(n, seed=0):
    rng = np.random.RandomState(seed)
    X = np.column_stack([rng.uniform(size=(n, 2)), np.arange(n)])
    return X, np.sin(4.0 * X[:, 0] + X[:, 2] / 20.0) + 0.1 * rng.normal(size=n)


def test_there_is_nothing_to_gain_after_a_search():
    X, y = sample(60)
    gp = TimeVaryingGPRegressor().fit(X, y)
    assert 0.0 <= gp.search_gain() < 1e-6


def test_the_promise_is_about_what_a_search_gains():
    X, y = sample(80)
    gp = TimeVaryingGPRegressor().fit(X[:74], y[:74])
    held = gp.updated(X[74:], np.where(np.arange(6) % 2, 1.5, -1.5))
    gained = held.updated(refit=True).log_marginal_likelihood_value_
    gained -= held.log_marginal_likelihood_value_
    assert gained > 1.0
    assert held.search_gain() > 0.1


def test_what_is_not_known():
    X, y = sample(60)
    gp = TimeVaryingGPRegressor().partial_fit(X, y)
    assert gp.search_gain() == np.inf
    gp.fit(X, y)
    assert gp.updated(drop=np.arange(20)).search_gain() == np.inf
    callable_search = TimeVaryingGPRegressor(optimizer=lambda f, x, bounds: (x, f(x)[0]))
    assert callable_search.fit(X, y).search_gain() == np.inf
