"""Stale-data policies: resets, windows and thresholds of noise."""

import copy
from math import ceil, log, pi, sqrt
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF
from staleness.surrogates import STATIC, so_far, static, surrogate

from sktvbo import TimeVaryingGPRegressor
from sktvbo.gaussian_process import GeometricInjection, QuadraticInjection
from sktvbo.kernels import Empirical
from sktvbo.staleness import (
    EventTriggeredReset,
    NoiseThreshold,
    PeriodicReset,
    SlidingWindow,
    VariationBudget,
)
from sktvbo.theory import maximum_information_gain


def sizes_under(policy, n_initial, n_steps):
    """Sizes of the data set after each step."""
    sizes = [n_initial]
    for _ in range(n_steps):
        gp = SimpleNamespace(X_train_=np.zeros((sizes[-1], 2)))
        dropped = policy.before_add(gp, np.zeros(1), 0.0, 0.0)
        assert dropped.tolist() in ([], list(range(sizes[-1])))
        sizes.append(sizes[-1] + 1 - len(dropped))
    return sizes[1:]


@pytest.mark.parametrize(
    ("period", "n_initial", "sizes", "steps", "n_resets"),
    [
        (4, 2, [3, 4, 1, 2, 3, 4, 1, 2, 3], 3, 2),
        (3, 5, [1, 2, 3, 1], 1, 2),  # more observations at first than fit in a block
        (1, 1, [1, 1, 1], 1, 3),
    ],
)
def test_blocks(period, n_initial, sizes, steps, n_resets):
    policy = PeriodicReset(period)
    assert sizes_under(policy, n_initial, len(sizes)) == sizes
    assert (policy.n_resets_, policy.steps_, policy.period_) == (n_resets, steps, period)


def test_the_first_query_of_a_block_is_from_the_prior_if_asked_for():
    for from_prior in (True, False):
        policy, queried = PeriodicReset(3, from_prior=from_prior), []
        for _ in range(7):
            sizes_under(policy, 1, 1)
            queried.append(policy.queries_prior)
        # The first call makes the second observation.
        assert queried == [from_prior and i % 3 == 1 for i in range(7)]
    with pytest.raises(ValueError, match="'from_prior' parameter of PeriodicReset"):
        PeriodicReset(3, from_prior=1).check()


def test_a_callable_period_is_called_when_a_block_is_full():
    answers, asked = iter([3, 5, 2, 4]), []
    policy = PeriodicReset(lambda gp: asked.append(len(gp.X_train_)) or next(answers))
    # 3, then 5: the block goes on; then 2: it is over, and the next one is of 2; then 4: goes on.
    assert sizes_under(policy, 1, 8) == [2, 3, 4, 5, 1, 2, 3, 4]
    assert asked == [1, 3, 5, 2]
    assert (policy.n_resets_, policy.period_) == (1, 4)


# --- by events ------------------------------------------------------------------------------------


def et_bound(std, noise_std, steps, delta):
    """ET lemma 3, eq. (11)."""
    rho = 2 * log(2 * (pi**2 * steps**2 / 6) / delta)
    return sqrt(rho) * (std + noise_std)


@pytest.mark.parametrize(("normalize_y", "delta"), [(False, 0.1), (True, 0.7)])
def test_an_event_violates_the_bound_of_the_lemma(normalize_y, delta):
    gp = static(normalize_y=normalize_y)
    mean, std = gp.predict([[0.47, 20.0]], return_std=True)
    noise_std = 0.1 * (gp.y_train_.std() if normalize_y else 1.0)
    bound = et_bound(std[0], noise_std, 21, delta)
    for sign in (1.0, -1.0):
        for factor, dropped in ((0.999, []), (1.001, list(range(20)))):
            policy = EventTriggeredReset(delta)
            y = mean[0] + sign * factor * bound
            assert policy.before_add(gp, np.array([0.47]), 20.0, y).tolist() == dropped
            assert policy.bound_ == pytest.approx(bound, rel=1e-10)
            assert policy.deviation_ == pytest.approx(factor * bound, rel=1e-10)
            assert (policy.n_resets_, policy.steps_) == ((1, 0) if dropped else (0, 21))


def test_injected_noise_has_grown_by_the_time_of_the_observation():
    gp = static(noise_model=QuadraticInjection(0.1))
    std = copy.deepcopy(gp).advance(90.0).predict([[0.5, 90.0]], return_std=True)[1][0]
    assert std > 1.5 * gp.predict([[0.5, 90.0]], return_std=True)[1][0]
    policy = EventTriggeredReset(0.2)
    policy.before_add(gp, np.array([0.5]), 90.0, 4.0)
    assert policy.bound_ == pytest.approx(et_bound(std, 0.1, 21, 0.2), rel=1e-10)
    assert gp.now_ == 19.0


class TooNarrow(EventTriggeredReset):
    """Without the noise, and with ρ = 1."""

    def before_add(self, surrogate, x, t, y):
        mean, std = surrogate.posterior_at(t)(x[np.newaxis])
        alarm = abs(y - mean[0]) > std[0]
        return np.arange(len(surrogate.X_train_)) if alarm else np.empty(0, dtype=int)


def false_alarm_rate(policy, n_runs=30, n_steps=100):
    """Return the share of runs on a static function, with known hyperparameters, with a reset."""
    model = TimeVaryingGPRegressor(RBF(0.2), STATIC, noise_variance=0.05, optimizer=None)
    alarms = 0
    for seed in range(n_runs):
        rng = np.random.RandomState(seed)
        x = rng.uniform(size=(n_steps, 1))
        K = RBF(0.2)(x) + 1e-10 * np.eye(n_steps)
        y = np.linalg.cholesky(K) @ rng.normal(size=n_steps) + sqrt(0.05) * rng.normal(size=n_steps)
        X = np.column_stack([x, np.arange(float(n_steps))])
        gp, trigger = clone(model).fit(X[:1], y[:1]), clone(policy)
        for i in range(1, n_steps):
            if trigger.before_add(gp, x[i], float(i), y[i]).size:
                alarms += 1
                break
            gp.partial_fit(X[i : i + 1], y[i : i + 1])
    return alarms / n_runs


@pytest.mark.parametrize(("policy", "is_seldom"), [(EventTriggeredReset, True), (TooNarrow, False)])
def test_a_static_function_seldom_triggers_but_does_with_a_narrower_bound(policy, is_seldom):
    assert (false_alarm_rate(policy(0.1)) <= 0.1) is is_seldom


def test_a_function_that_changes_triggers():
    gp, policy = static(), EventTriggeredReset()
    assert policy.before_add(gp, np.array([0.3]), 20.0, 4.0 + 3.0 * np.sin(1.8)).size == 0
    assert policy.before_add(gp, np.array([0.3]), 21.0, 4.0 - 3.0 * np.sin(1.8)).size == 20


def test_an_outcome_out_of_bounds_resets_once():
    gp, policy = static(8), EventTriggeredReset()
    x = gp.X_train_[0, :-1]
    assert policy.before_add(gp, x, 8.0, 4.0 + 3.0 * np.sin(6.0 * x[0])).size == 0
    assert not policy.before_outcome(gp, x, 8.0, 4.0 + 3.0 * np.sin(6.0 * x[0]))
    assert (policy.steps_, policy.n_resets_) == (9, 0)
    deviation, bound = policy.deviation_, policy.bound_
    assert policy.before_outcome(gp, x, 8.0, 1e3)
    assert not policy.before_outcome(gp, x, 8.0, 1e3)  # of the same observation
    assert (policy.steps_, policy.n_resets_) == (0, 1)
    assert (policy.deviation_, policy.bound_) == (deviation, bound)
    assert not EventTriggeredReset.__base__().before_outcome(gp, x, 8.0, 1e3)


# --- windows, and the variation budget that gives their length ------------------------------------


def at_times(*times):
    return SimpleNamespace(X_train_=np.column_stack([np.zeros(len(times)), times]))


@pytest.mark.parametrize(
    ("times", "dropped"),
    [
        ([0.0, 1.0, 2.0], []),
        ([0.0, 5.0, 2.0, 3.0], [0]),
        ([4.0, 1.0, 6.0, 3.0, 2.0], [1, 4]),  # told late
        ([1.0, 1.0, 1.0, 1.0, 1.0], [0, 1]),  # of the same time the first told
    ],
)
def test_a_window_keeps_the_latest_by_time(times, dropped):
    assert sorted(SlidingWindow(3).after_add(at_times(*times), now=9.0)) == dropped


def test_a_callable_window_is_called_once():
    asked = []
    policy, first = SlidingWindow(lambda gp: asked.append(gp) or 2), at_times(0.0, 1.0, 2.0)
    assert policy.after_add(first, now=2.0).tolist() == [0]
    assert policy.after_add(at_times(1.0, 2.0, 3.0), now=3.0).tolist() == [0]
    assert asked == [first]
    assert policy.window_ == 2


@pytest.mark.parametrize(("budget", "length"), [(1e-9, 400), (1e9, 1)])
def test_a_window_is_from_one_observation_to_the_horizon(budget, length):
    assert VariationBudget(400, budget)(static()) == length


def test_variation_budget_of_arms_counts_them_all():
    A = np.random.RandomState(0).normal(size=(6, 3))
    gp = TimeVaryingGPRegressor(Empirical(A @ A.T), STATIC, noise_variance=0.1, optimizer=None)
    gp.fit([[0, 0.0], [3, 1.0]], [0.0, 1.0])
    gain = maximum_information_gain(A @ A.T, 0.1, 50)
    assert VariationBudget(50)(gp) == ceil(gain**0.25 * sqrt(50))


# --- A bound on injected noise --------------------------------------------------------------------


def injected(times, model=QuadraticInjection(0.5)):  # noqa: B008
    X = np.column_stack([np.linspace(0.0, 1.0, len(times)), times])
    gp = TimeVaryingGPRegressor(RBF(0.3), STATIC, noise_model=model, optimizer=None)
    return gp.fit(X, X[:, 0])


@pytest.mark.parametrize(
    ("cap", "bound"),
    [("log", log(30)), (7.25, 7.25), (7.2499, 7.2499), (lambda s: s / 3.0, 10.0), (0.0, 0.0)],
)
def test_observations_noisier_than_the_bound_are_dropped(cap, bound):
    times = np.arange(30.0)
    policy = NoiseThreshold(cap)
    found = policy.after_add(injected(times), now=29.0)
    ratio = 1.0 + (0.5 * (29.0 - times)) ** 2  # 7.25 at age 5
    expected = [i for i in range(30) if ratio[i] > bound and i != 29]
    assert found.tolist() == expected
    assert policy.cap_ == pytest.approx(bound)


def test_the_bound_grows_with_all_observations_told():
    gp, policy = injected(np.arange(10.0)), NoiseThreshold(lambda s: float(s))
    policy.after_add(gp, now=9.0)
    assert policy.cap_ == 10.0  # the rows of the surrogate, without `watch`
    for steps in (10, 11, 12):
        policy.watch(so_far(n_told=steps))
        policy.after_add(gp, now=9.0)
        assert (policy.steps_, policy.cap_) == (steps, steps)


@pytest.mark.parametrize(
    ("times", "dropped"),
    [([0.0, 1.0, 2.0], [0, 1]), ([2.0, 0.0, 1.0], [1, 2]), ([2.0, 1.0, 2.0], [1])],
)
def test_the_newest_is_kept_for_any_bound(times, dropped):
    found = NoiseThreshold(0.0).after_add(injected(times), now=50.0)
    assert found.tolist() == dropped


def test_the_noise_model_is_the_surrogates():
    times = np.arange(30.0)
    found = NoiseThreshold(4.0).after_add(injected(times, GeometricInjection(0.5)), now=29.0)
    assert found.tolist() == list(range(27))  # 2^age > 4


def test_a_noise_model_is_required():
    with pytest.raises(ValueError, match=r"noise model, .* for NoiseThreshold\. Got None"):
        NoiseThreshold().after_add(surrogate(), 40.0)
