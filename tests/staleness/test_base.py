"""Contract of all policies."""

import copy
from functools import partial

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF
from staleness.surrogates import so_far, surrogate

from sktvbo import TimeVaryingGPRegressor, staleness
from sktvbo.gaussian_process import QuadraticInjection
from sktvbo.kernels import Forgetting
from sktvbo.staleness import (
    EventTriggeredReset,
    KeepAll,
    MaximumSize,
    NoiseThreshold,
    PeriodicReset,
    RelevancyBudget,
    RelevancyCap,
    SlidingWindow,
    StaleDataPolicy,
    Surrogate,
    VariationBudget,
)


def test_every_policy_is_derived_from_the_base_which_drops_and_records_nothing():
    kinds = [getattr(staleness, name) for name in staleness.__all__]
    kinds = [kind for kind in kinds if hasattr(kind, "after_add") and kind is not Surrogate]
    assert all(issubclass(kind, StaleDataPolicy) for kind in kinds)
    policy = StaleDataPolicy()
    assert steps_of(surrogate(), policy, [40.0]) == [([], [])]
    assert policy.record() == vars(policy) == {}


def steps_of(gp, policy, times):
    """Return what a policy drops at some times, with a surprising observation each time."""
    dropped = []
    for t in times:
        policy.watch(so_far(int(t)))
        before = policy.before_add(gp, np.array([0.5]), t, 50.0)
        dropped.append((before.tolist(), policy.after_add(gp, t).tolist()))
    return dropped


BUDGET = {"budget": 1.0, "offered_budget": 1.0, "removed_relevancy": 0.0}
POLICIES = {
    "keep all": (KeepAll(), {}),
    "period": (PeriodicReset(16), {"n_resets": 0, "period": None}),
    "event": (EventTriggeredReset(), {"n_resets": 0, "deviation": None, "bound": None}),
    "window": (SlidingWindow(9), {"window": None}),
    "budget": (RelevancyBudget(min_size=2), BUDGET),
    "cap": (RelevancyCap(8, min_size=2), {"max_size": None}),
    "noise": (NoiseThreshold(), {"cap": None}),
}
every_policy = pytest.mark.parametrize(("policy", "record"), POLICIES.values(), ids=list(POLICIES))


@pytest.fixture(scope="module")
def aging():
    """Surrogate of 15 rows that every policy supports."""
    kernels, rows = (RBF(0.3), Forgetting(0.1)), surrogate(15)
    gp = TimeVaryingGPRegressor(*kernels, noise_model=QuadraticInjection(0.3), optimizer=None)
    return gp.fit(rows.X_train_, rows.y_train_)


@every_policy
def test_records_have_the_same_names_from_first_to_last(policy, record, aging):
    policy = clone(policy)
    assert policy.record().keys() == record.keys()
    for name, value in policy.record().items():
        assert value == pytest.approx(record[name])
    steps_of(aging, policy, [16.0, 17.0, 18.0])
    assert policy.record().keys() == record.keys()
    for name, value in policy.record().items():
        assert value == getattr(policy, f"{name}_")
        assert np.isfinite(value)


@every_policy
def test_a_copy_goes_on_without_the_original(policy, record, aging):
    """A failed step of the optimizer leaves no trace."""
    policy = clone(policy)
    steps_of(aging, policy, [16.0, 17.0])
    before, step = copy.deepcopy(vars(policy)), copy.copy(policy)
    first = steps_of(aging, step, [19.0, 25.0])
    assert vars(policy) == before
    assert steps_of(aging, policy, [19.0, 25.0]) == first
    if not isinstance(policy, SlidingWindow) and record:
        assert vars(policy) != before  # the copy had state to share


@pytest.mark.parametrize(
    ("kind", "name", "values", "expected"),
    [
        (EventTriggeredReset, "delta", [0.0, 1.0, -1.0, np.nan, "0.1", None], r"range \(0, 1\)"),
        (MaximumSize, "max_size", [0, None], "an int"),
        (NoiseThreshold, "cap", [-1.0, np.nan, "linear", None], "'log', a float"),
        (PeriodicReset, "period", [0, -3, 2.5, None, True], "an int"),
        (RelevancyBudget, "alpha", [-1.0, None], "a float"),
        (RelevancyBudget, "max_size", [0], "an int"),
        (RelevancyBudget, "max_step", [0.0], "a float"),
        (RelevancyBudget, "min_size", [0], "an int"),
        (RelevancyCap, "max_size", [0, 2.0, "all", True], "an int"),
        (RelevancyCap, "min_size", [-1], "an int"),
        (RelevancyCap, "largest", [0, 2.5], "an int"),
        (SlidingWindow, "window", [0, -1, 2.0, None, False], "an int"),
        (VariationBudget, "horizon", [0, 10.0], "an int"),
        (VariationBudget, "variation_budget", [0.0, np.inf, None], "a float"),
    ],
)
def test_invalid_parameters(kind, name, values, expected, aging):
    options = {"horizon": 10} if kind is VariationBudget else {}
    for value in values:
        policy = kind(**options | {name: value})
        uses = [policy.check, partial(steps_of, aging, policy, [16.0])]
        for use in uses if isinstance(policy, StaleDataPolicy) else uses[:1]:
            with pytest.raises(ValueError, match=f"'{name}' par.* of {kind.__name__} .*{expected}"):
                use()


@pytest.mark.parametrize(
    "policy",
    [
        NoiseThreshold(lambda s: -s),
        PeriodicReset(lambda gp: 0),
        PeriodicReset(VariationBudget(0)),
        SlidingWindow(lambda gp: 1.5),
    ],
)
def test_invalid_results_of_callables(policy, aging):
    with pytest.raises(ValueError, match=r"parameter of \w+ must be"):
        steps_of(aging, policy, [16.0])
