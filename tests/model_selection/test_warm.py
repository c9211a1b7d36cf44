"""WarmStarted: each fit goes on from the weights of the last."""

import copy
import pickle

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.linear_model import Ridge, SGDRegressor
from sklearn.neural_network import MLPRegressor
from sklearn.utils.estimator_checks import parametrize_with_checks

from sktvbo.model_selection import OnlineTuner, WarmStarted


@pytest.fixture
def rows(rng):
    X = rng.normal(size=(60, 3))
    return X, X @ [1.0, -1.0, 0.5] + 0.1 * rng.normal(size=60)


def trees(n=3):
    return GradientBoostingRegressor(n_estimators=n, random_state=0)


def test_it_goes_on_where_it_was(rows):
    X, y = rows
    learner = WarmStarted(trees()).fit(X, y)
    learner.set_params(estimator__n_estimators=6).partial_fit(X, y)
    by_hand = trees().set_params(warm_start=True).fit(X, y).set_params(n_estimators=6).fit(X, y)
    assert_array_equal(learner.predict(X), by_hand.predict(X))
    assert len(learner.set_params(estimator__n_estimators=2).fit(X, y).learner_.estimators_) == 2
    assert learner.estimator.warm_start is False


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_learning_rate_takes_effect_at_once(rows):
    X, y = rows
    learner = WarmStarted(MLPRegressor(hidden_layer_sizes=(4,), max_iter=1, random_state=0)).fit(
        X, y
    )
    slow, fast = copy.deepcopy(learner), copy.deepcopy(learner)
    slow.set_params(estimator__learning_rate_init=1e-9).partial_fit(X, y)
    fast.set_params(estimator__learning_rate_init=0.1).partial_fit(X, y)
    before = learner.learner_.coefs_[0]
    assert np.abs(slow.learner_.coefs_[0] - before).max() < 1e-6
    assert np.abs(fast.learner_.coefs_[0] - before).max() > 1e-2


def test_a_failure_leaves_it_as_it_was(rows):
    X, y = rows
    learner = WarmStarted(trees()).fit(X, y)
    before = pickle.dumps(learner)
    with pytest.raises(ValueError, match="features"):
        learner.partial_fit(X[:, :2], y)
    with pytest.raises(ValueError, match="n_estimators=1 must be larger or equal"):
        copy.deepcopy(learner).set_params(estimator__n_estimators=1).partial_fit(X, y)
    assert pickle.dumps(learner) == before


def test_a_learner_without_warm_start(rows):
    with pytest.raises(TypeError, match=r"'estimator' parameter of WarmStarted .* Got Ridge\(\)"):
        WarmStarted(Ridge()).fit(*rows)


def test_a_population_of_them(rows):
    X, y = rows
    slow = SGDRegressor(learning_rate="constant", eta0=1e-4, max_iter=1, tol=None, random_state=0)
    alone = WarmStarted(slow)
    space = {"estimator__eta0": ("log-real", 1e-5, 0.1)}
    tuner = OnlineTuner(WarmStarted(slow), space, random_state=0)
    for _ in range(12):
        alone.partial_fit(X[:40], y[:40])
        tuner.partial_fit(X[:40], y[:40], validation=(X[40:], y[40:]))
    assert alone.score(X[40:], y[40:]) < 0.5
    assert tuner.score(X[40:], y[40:]) > 0.8


@parametrize_with_checks([WarmStarted(trees(30))])
def test_scikit_learns_checks(estimator, check):
    check(estimator)
