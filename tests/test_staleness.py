"""Stale-data policies on surrogates that never saw an optimizer."""

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF, Matern

from sktvbo import TimeVaryingGPRegressor
from sktvbo.staleness import KeepAll, RelevancyBudget


def surrogate(n=40, l_T=5.0):
    X = np.column_stack([np.random.RandomState(0).uniform(size=n), np.arange(float(n))])
    gp = TimeVaryingGPRegressor(RBF(0.3), Matern(l_T, nu=1.5), optimizer=None)
    return gp.fit(X, np.sin(6.0 * X[:, 0] + 0.3 * X[:, 1]))


def test_keep_all():
    gp = surrogate()
    assert KeepAll().before_add(gp, [0.5], 40.0, 1.0).size == 0
    assert KeepAll().after_add(gp, 40.0).size == 0


def test_no_time_no_budget():
    gp, policy = surrogate(), RelevancyBudget()
    for _ in range(3):
        assert policy.after_add(gp, 40.0).size == 0
        assert policy.budget_ == 1.0


def test_irrelevant_rows_go_first():
    gp, policy = surrogate(), RelevancyBudget()
    policy.after_add(gp, 40.0)
    removed = policy.after_add(gp, 45.0)
    assert removed.size > 10
    assert removed[:10].max() < 15  # six lengthscales ago
    assert [index for index, _ in policy.removals_] == removed.tolist()


def test_min_size_stays_and_its_unspent_budget_is_not_saved_up():
    gp, policy = surrogate(n=12, l_T=1.0), RelevancyBudget(alpha=5.0, min_size=10)
    policy.after_add(gp, 12.0)
    assert policy.after_add(gp, 1000.0).size == 2
    gp.forget([0, 1])
    assert policy.after_add(gp, 2000.0).size == 0
    assert policy.budget_ <= 1.0 + gp.relevancy(2000.0).min()


def test_one_step_is_capped():
    gp, policy = surrogate(l_T=0.01), RelevancyBudget(alpha=0.1, min_size=1, max_step=2.0)
    policy.after_add(gp, 40.0)
    policy.after_add(gp, 41.0)
    spent = np.prod([1.0 + price for _, price in policy.removals_])
    assert policy.budget_ * spent == pytest.approx(1.1**2.0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"alpha": -1.0}, "'alpha'"),
        ({"alpha": None}, "'alpha'"),
        ({"min_size": 0}, "'min_size'"),
        ({"max_step": 0.0}, "'max_step'"),
    ],
)
def test_bad_parameters(options, message):
    with pytest.raises(ValueError, match=message):
        RelevancyBudget(**options).after_add(surrogate(), 40.0)
