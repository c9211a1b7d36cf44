"""Stale-data policies on surrogates that never saw an optimizer."""

import copy
from math import ceil, log, pi, sqrt
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import qmc
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern

from sktvbo import TimeVaryingGPRegressor
from sktvbo.gaussian_process import GeometricInjection, QuadraticInjection
from sktvbo.kernels import Empirical, Forgetting
from sktvbo.relevancy import wasserstein_relevancy
from sktvbo.staleness import (
    EventTriggeredReset,
    KeepAll,
    NoiseThreshold,
    PeriodicReset,
    RelevancyBudget,
    RelevancyCap,
    ResponseTime,
    SlidingWindow,
    VariationBudget,
)
from sktvbo.theory import maximum_information_gain, recommended_dataset_size

STATIC = ConstantKernel(1.0, "fixed")


def surrogate(n=40, l_T=5.0):
    X = np.column_stack([np.random.RandomState(0).uniform(size=n), np.arange(float(n))])
    gp = TimeVaryingGPRegressor(RBF(0.3), Matern(l_T, nu=1.5), optimizer=None)
    return gp.fit(X, np.sin(6.0 * X[:, 0] + 0.3 * X[:, 1]))


def test_keep_all():
    gp = surrogate()
    assert KeepAll().before_add(gp, [0.5], 40.0, 1.0).size == 0
    assert KeepAll().after_add(gp, 40.0).size == 0


# --- a budget of relevancy ------------------------------------------------------------------------


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


def recomputed(X, y, noise, now, l_T=5.0):
    """Relevancies of `surrogate`'s rows, from nothing."""
    return wasserstein_relevancy(
        X,
        y,
        spatial_kernel=RBF(0.3),
        temporal_kernel=Matern(l_T, nu=1.5),
        signal_variance=1.0,
        noise_variance=noise,
        now=now,
    )


def removed_one_by_one(gp, noise, now, goes_on):
    """Rows, in the order of a relevancy that is computed afresh after each removal, and prices."""
    left, removals = np.arange(len(gp.X_train_)), []
    while True:
        relevancy = recomputed(gp.X_train_[left], gp.y_train_[left], noise[left], now)
        least = np.argmin(relevancy)
        if not goes_on(left, relevancy[least]):
            return removals
        removals.append((left[least], relevancy[least]))
        left = np.delete(left, least)


def uneven(n=30):
    """A surrogate of observations of different known quality, and the variances of their noise."""
    gp, v = surrogate(n), np.random.RandomState(3).uniform(0.0, 0.3, n)
    return gp.fit(gp.X_train_, gp.y_train_, v), gp.noise_variance_ + v


def test_the_budget_pays_the_relevancies_computed_afresh():
    gp, noise = uneven()
    policy = RelevancyBudget(alpha=0.25, min_size=5)
    policy.after_add(gp, 30.0)
    found = policy.after_add(gp, 33.0)

    budget = 1.25 ** (3.0 / 5.0)

    def affordable(left, relevancy):
        nonlocal budget
        if not budget > 1.0 + relevancy:
            return False
        budget /= 1.0 + relevancy
        return True

    expected = removed_one_by_one(gp, noise, 33.0, affordable)
    assert len(expected) > 3
    assert_array_equal(found, [index for index, _ in expected])
    assert_allclose([price for _, price in policy.removals_], [r for _, r in expected], rtol=1e-6)
    assert policy.budget_ == pytest.approx(budget, rel=1e-9)


# --- a cap of relevancy ---------------------------------------------------------------------------


@pytest.mark.parametrize(("max_size", "min_size", "left"), [(12, 5, 12), (3, 8, 8), (29, 10, 29)])
def test_the_cap_removes_in_the_order_of_relevancies_computed_afresh(max_size, min_size, left):
    gp, noise = uneven()
    policy = RelevancyCap(max_size, min_size)
    found = policy.after_add(gp, 31.0)
    expected = removed_one_by_one(gp, noise, 31.0, lambda rows, _: len(rows) > left)
    assert len(found) == 30 - left
    assert_array_equal(found, [index for index, _ in expected])
    assert_allclose([price for _, price in policy.removals_], [r for _, r in expected], rtol=1e-6)
    # The order by the first relevancies alone is another one.
    if left < 20:
        assert found.tolist() != np.argsort(gp.relevancy(31.0))[: 30 - left].tolist()


@pytest.mark.parametrize(("max_size", "min_size"), [(30, 10), (50, 10), (5, 30), (5, 100)])
def test_nothing_is_removed_below_the_cap_or_the_least_size(max_size, min_size):
    policy = RelevancyCap(max_size, min_size)
    assert policy.after_add(surrogate(30), 31.0).size == 0
    assert policy.removals_ == []


def test_the_recommended_cap_follows_the_response_time_and_the_kernel():
    gp = surrogate(40)
    policy = RelevancyCap(min_size=1)
    assert policy.after_add(gp, 41.0).size == 0  # nothing is known of the response time
    assert policy.max_size_ is None

    for slower in (1.0, 3.0):
        sizes = np.arange(10, 40)
        R = ResponseTime(sizes, slower * (0.2 + 1e-5 * sizes**3))
        policy.response_time_ = R
        expected = recommended_dataset_size(Matern(5.0, nu=1.5), R)
        assert policy.after_add(gp, 41.0).size == 40 - expected > 0
        assert policy.max_size_ == expected


def test_two_response_times_are_not_enough():
    policy = RelevancyCap()
    policy.response_time_ = ResponseTime([10, 20], [0.1, 0.2])
    assert policy.after_add(surrogate(), 41.0).size == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_size": 0}, "'max_size' parameter of RelevancyCap must be a positive int. Got 0"),
        ({"max_size": 2.0}, "'max_size' .* Got 2.0"),
        ({"max_size": "all"}, "'max_size' .* Got 'all'"),
        ({"max_size": True}, "'max_size' .* Got True"),
        ({"min_size": -1}, "'min_size' parameter of RelevancyCap must be a positive int. Got -1"),
    ],
)
def test_bad_caps(options, message):
    with pytest.raises(ValueError, match=message):
        RelevancyCap(**options).after_add(surrogate(), 41.0)


# --- response times -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "coefficients",
    [[0.1, 0, 0, 0], [0.05, 1e-3, 0, 1e-7], [0, 0, 2e-5, 0], [1e-3, 1e-4, 1e-6, 1e-8]],
)
def test_response_times_that_are_cubics_are_recovered(coefficients):
    n = np.arange(5, 200, 7)
    R = ResponseTime(n, np.polynomial.polynomial.polyval(n, coefficients))
    assert_allclose(R.coefficients, coefficients, rtol=1e-7, atol=1e-12)
    assert R(1000) == pytest.approx(np.polynomial.polynomial.polyval(1000, coefficients))


def noisy_response_times(outlier=0.0):
    rng = np.random.RandomState(0)
    n = rng.randint(5, 100, size=60)
    seconds = 0.1 + 1e-6 * n**3 + 0.05 * rng.exponential(size=60)
    seconds[7] += outlier
    return n, seconds


@pytest.mark.parametrize("outlier", [0.0, 60.0])
def test_response_times_are_the_non_negative_least_squares(outlier):
    """Karush, Kuhn and Tucker: no coefficient can be moved for the better."""
    n, seconds = noisy_response_times(outlier)
    R = ResponseTime(n, seconds)
    powers = np.vander(n / n.max(), 4, increasing=True)
    slopes = powers.T @ (seconds - [R(i) for i in n])
    assert np.all(R.coefficients >= 0.0)
    assert np.all(slopes <= 1e-9)
    assert_allclose(slopes[R.coefficients > 0.0], 0.0, atol=1e-9)
    assert np.any(R.coefficients > 0.0)


def test_response_times_never_decrease():
    rng = np.random.RandomState(1)
    for _ in range(20):
        R = ResponseTime(rng.randint(1, 60, size=8), rng.exponential(size=8))
        assert np.all(np.diff([R(n) for n in range(1, 200)]) >= 0.0)
        assert R(1) > 0.0
    falling = ResponseTime([10, 20, 30, 40], [3.0, 2.5, 1.5, 1.0])
    assert falling(10) == pytest.approx(falling(40)) == pytest.approx(2.0)


def test_a_pause_counts_for_as_long_as_it_was():
    """As documented: least squares, without robustness."""
    n, seconds = noisy_response_times()
    usual = ResponseTime(n, seconds)
    odd = ResponseTime(*noisy_response_times(60.0))
    mean = np.mean([odd(i) - usual(i) for i in n])
    assert mean == pytest.approx(60.0 / 60, rel=1e-6)


@pytest.mark.parametrize(("m", "known"), [(0, False), (2, False), (3, False), (4, True)])
def test_few_sizes_say_nothing(m, known):
    sizes = np.repeat(np.arange(1, m + 1), 5)
    assert ResponseTime(sizes, np.ones(len(sizes))).known is known


# --- resets by period -----------------------------------------------------------------------------


def sizes_under(policy, n_initial, n_steps):
    """Sizes of the data set after each step of a policy that sees nothing else."""
    n, sizes = n_initial, []
    for _ in range(n_steps):
        gp = SimpleNamespace(X_train_=np.zeros((n, 2)))
        dropped = policy.before_add(gp, np.zeros(1), 0.0, 0.0)
        assert dropped.tolist() in ([], list(range(n)))
        n += 1 - len(dropped)
        sizes.append(n)
    return sizes


def test_blocks():
    policy = PeriodicReset(4)
    assert sizes_under(policy, 2, 9) == [3, 4, 1, 2, 3, 4, 1, 2, 3]
    assert (policy.n_resets_, policy.steps_, policy.period_) == (2, 3, 4)


def test_more_observations_at_first_than_fit_in_a_block():
    assert sizes_under(PeriodicReset(3), 5, 4) == [1, 2, 3, 1]


def test_blocks_of_one():
    assert sizes_under(PeriodicReset(1), 1, 3) == [1, 1, 1]


def test_a_callable_period_is_asked_when_a_block_is_full():
    answers, asked = iter([3, 5, 2, 4]), []

    def period(gp):
        asked.append(len(gp.X_train_))
        return next(answers)

    policy = PeriodicReset(period)
    # 3, then 5: the block goes on; then 2: it is over, and the next one is of 2; then 4: goes on.
    assert sizes_under(policy, 1, 8) == [2, 3, 4, 5, 1, 2, 3, 4]
    assert asked == [1, 3, 5, 2]
    assert (policy.n_resets_, policy.period_) == (1, 4)


@pytest.mark.parametrize("period", [0, -3, 2.5, None, True, lambda gp: 0])
def test_bad_periods(period):
    with pytest.raises(ValueError, match="'period' parameter of PeriodicReset must be a positive"):
        sizes_under(PeriodicReset(period), 2, 1)


# --- resets by events -----------------------------------------------------------------------------


def static(n=20, **options):
    X = np.column_stack([np.random.RandomState(0).uniform(size=n), np.arange(float(n))])
    defaults = {"noise_variance": 0.01, "optimizer": None}
    return TimeVaryingGPRegressor(RBF(0.3), STATIC, **defaults | options).fit(
        X, 4.0 + 3.0 * np.sin(6.0 * X[:, 0])
    )


def et_bound(std, noise_std, steps, delta):
    """ET lemma 3, eq. (11)."""
    pi_s = pi**2 * steps**2 / 6
    rho = 2 * log(2 * pi_s / delta)
    w = sqrt(2 * noise_std**2 * log(2 * pi_s / delta))
    return sqrt(rho) * std + w


@pytest.mark.parametrize("normalize_y", [False, True])
@pytest.mark.parametrize("delta", [0.1, 0.7])
def test_an_event_is_what_the_lemma_excludes(normalize_y, delta):
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


def test_events_are_counted_from_the_last_one():
    gp, policy = static(5), EventTriggeredReset(0.2)
    std = gp.predict([[0.5, 5.0]], return_std=True)[1][0]
    mean = gp.predict([[0.5, 5.0]])[0]
    for y, steps in ((mean, 6), (mean, 7), (99.0, 8), (mean, 1), (mean, 2)):
        policy.before_add(gp, np.array([0.5]), 5.0, y)
        assert policy.bound_ == pytest.approx(et_bound(std, 0.1, steps, 0.2), rel=1e-10)
    assert (policy.steps_, policy.n_resets_) == (2, 1)


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
    """Share of runs on a static function, of known hyperparameters, with any reset."""
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


def test_a_static_function_seldom_triggers():
    assert false_alarm_rate(EventTriggeredReset(0.1)) <= 0.1


def test_a_narrower_bound_triggers_on_static_functions():
    assert false_alarm_rate(TooNarrow(0.1)) > 0.1


def test_a_function_that_changes_triggers():
    gp, policy = static(), EventTriggeredReset()
    assert policy.before_add(gp, np.array([0.3]), 20.0, 4.0 + 3.0 * np.sin(1.8)).size == 0
    assert policy.before_add(gp, np.array([0.3]), 21.0, 4.0 - 3.0 * np.sin(1.8)).size == 20


@pytest.mark.parametrize("delta", [0.0, 1.0, -1.0, np.nan, "0.1", None])
def test_bad_deltas(delta):
    with pytest.raises(ValueError, match=r"'delta' parameter of EventTriggeredReset .* \(0, 1\)"):
        EventTriggeredReset(delta).before_add(static(5), np.array([0.5]), 5.0, 1.0)


# --- windows --------------------------------------------------------------------------------------


def at_times(*times):
    return SimpleNamespace(X_train_=np.column_stack([np.zeros(len(times)), times]))


@pytest.mark.parametrize(
    ("times", "dropped"),
    [
        ([0.0, 1.0, 2.0], []),
        ([0.0, 1.0, 2.0, 3.0], [0]),
        ([0.0, 5.0, 2.0, 3.0], [0]),
        ([4.0, 5.0, 6.0, 3.0], [3]),  # what was told late is old
        ([4.0, 1.0, 6.0, 3.0, 2.0], [1, 4]),
        ([1.0, 1.0, 1.0, 1.0, 1.0], [0, 1]),  # of the same time the first told
        ([0.0], []),
    ],
)
def test_a_window_keeps_the_latest_by_time(times, dropped):
    found = SlidingWindow(3).after_add(at_times(*times), now=9.0)
    assert sorted(found.tolist()) == dropped


def test_a_callable_window_is_asked_once():
    asked = []

    def window(gp):
        asked.append(gp)
        return 2

    policy, first = SlidingWindow(window), at_times(0.0, 1.0, 2.0)
    assert policy.after_add(first, now=2.0).tolist() == [0]
    assert policy.after_add(at_times(1.0, 2.0, 3.0), now=3.0).tolist() == [0]
    assert asked == [first]
    assert policy.window_ == 2


@pytest.mark.parametrize("window", [0, -1, 2.0, None, False, lambda gp: 1.5])
def test_bad_windows(window):
    with pytest.raises(ValueError, match="'window' parameter of SlidingWindow must be a positive"):
        SlidingWindow(window).after_add(at_times(0.0, 1.0), now=1.0)


def greedy_gain(K, noise, n):
    """½ log|I + K/σ²| of n places (again, if need be), each the best to add, by determinants."""
    chosen, best = [], 0.0
    for _ in range(n):
        gains = []
        for i in range(len(K)):
            rows = [*chosen, i]
            M = np.eye(len(rows)) + K[np.ix_(rows, rows)] / noise
            gains.append(0.5 * np.linalg.slogdet(M)[1])
        chosen.append(int(np.argmax(gains)))
        best = max(gains)
    return best


@pytest.mark.parametrize(("horizon", "budget"), [(3, 1.0), (5, 0.7), (5, 2.5)])
def test_variation_budget_is_its_formula(horizon, budget):
    gp = TimeVaryingGPRegressor(
        RBF(0.4), STATIC, signal_variance=2.0, noise_variance=0.3, optimizer=None
    ).fit([[0.1, 0.2, 0.0], [0.9, 0.3, 1.0]], [1.0, 2.0])
    K = 2.0 * RBF(0.4)(qmc.Sobol(2, scramble=False).random_base2(8))
    gain = greedy_gain(K, 0.3, horizon)
    expected = min(horizon, ceil(gain**0.25 * sqrt(horizon / budget)))
    assert VariationBudget(horizon, budget)(gp) == expected


@pytest.mark.parametrize(("budget", "length"), [(1e-9, 400), (1e9, 1)])
def test_a_window_is_of_one_observation_at_least_and_of_the_horizon_at_most(budget, length):
    assert VariationBudget(400, budget)(static()) == length


def test_variation_budget_grows_with_the_square_root():
    few, many = VariationBudget(1000, 4.0)(static()), VariationBudget(1000, 1.0)(static())
    assert many == pytest.approx(2 * few, abs=2)


def test_variation_budget_makes_windows_and_blocks():
    gp = static()
    length = VariationBudget(400)(gp)
    window, block = SlidingWindow(VariationBudget(400)), PeriodicReset(VariationBudget(400))
    window.after_add(gp, now=20.0)
    block.before_add(gp, np.zeros(1), 20.0, 0.0)
    assert window.window_ == block.period_ == length


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"horizon": 0}, "'horizon' parameter of VariationBudget must be a positive int. Got 0"),
        ({"horizon": 10.0}, "'horizon' .* Got 10.0"),
        ({"horizon": 10, "variation_budget": 0.0}, "'variation_budget' .* positive float. Got 0.0"),
        ({"horizon": 10, "variation_budget": np.inf}, "'variation_budget' .* Got inf"),
        ({"horizon": 10, "variation_budget": None}, "'variation_budget' .* Got None"),
    ],
)
def test_bad_variation_budgets(options, message):
    with pytest.raises(ValueError, match=message):
        VariationBudget(**options)(static())


# --- a bound on injected noise --------------------------------------------------------------------


def injected(times, model=None):
    X = np.column_stack([np.linspace(0.0, 1.0, len(times)), times])
    gp = TimeVaryingGPRegressor(
        RBF(0.3), STATIC, noise_model=model or QuadraticInjection(0.5), optimizer=None
    )
    return gp.fit(X, X[:, 0])


@pytest.mark.parametrize(
    ("cap", "bound"),
    [("log", log(30)), (7.25, 7.25), (7.2499, 7.2499), (lambda s: s / 3.0, 10.0), (0.0, 0.0)],
)
def test_what_is_noisier_than_the_bound_goes(cap, bound):
    times = np.arange(30.0)
    policy = NoiseThreshold(cap)
    found = policy.after_add(injected(times), now=29.0)
    ratio = 1.0 + (0.5 * (29.0 - times)) ** 2  # 7.25 at age 5
    expected = [i for i in range(30) if ratio[i] > bound and i != 29]
    assert found.tolist() == expected
    assert (policy.steps_, policy.cap_) == (30, pytest.approx(bound))


def test_the_bound_grows_with_all_observations_so_far_not_with_those_kept():
    gp, policy = injected(np.arange(10.0)), NoiseThreshold(lambda s: float(s))
    for steps in (10, 11, 12):
        policy.after_add(gp, now=9.0)
        assert (policy.steps_, policy.cap_) == (steps, steps)


@pytest.mark.parametrize(
    ("times", "dropped"),
    [([0.0, 1.0, 2.0], [0, 1]), ([2.0, 0.0, 1.0], [1, 2]), ([2.0, 1.0, 2.0], [1])],
)
def test_the_newest_is_kept_whatever_the_bound(times, dropped):
    found = NoiseThreshold(0.0).after_add(injected(times), now=50.0)
    assert found.tolist() == dropped


def test_any_model_of_the_noise_will_do():
    times = np.arange(30.0)
    found = NoiseThreshold(4.0).after_add(injected(times, GeometricInjection(0.5)), now=29.0)
    assert found.tolist() == list(range(27))  # 2^age > 4


def test_without_a_model_no_observation_becomes_noisier():
    with pytest.raises(ValueError, match="NoiseThreshold needs a surrogate with a noise_model"):
        NoiseThreshold().after_add(surrogate(), 40.0)


@pytest.mark.parametrize("cap", [-1.0, np.nan, "linear", None, lambda s: -s])
def test_bad_bounds_of_noise(cap):
    with pytest.raises(ValueError, match="'cap' parameter of NoiseThreshold must be, or give"):
        NoiseThreshold(cap).after_add(injected(np.arange(5.0)), 4.0)


# --- what all policies have in common -------------------------------------------------------------


def steps_of(gp, policy, times):
    """What a policy drops at some times, told of a surprise each time."""
    dropped = []
    for t in times:
        before = policy.before_add(gp, np.array([0.5]), t, 50.0)
        dropped.append((before.tolist(), policy.after_add(gp, t).tolist()))
    return dropped


POLICIES = {
    "keep all": (KeepAll(), {}),
    "period": (PeriodicReset(16), {"n_resets": 0, "period": None}),
    "event": (EventTriggeredReset(), {"n_resets": 0, "deviation": np.nan, "bound": np.nan}),
    "window": (SlidingWindow(9), {"window": None}),
    "budget": (RelevancyBudget(min_size=2), {"budget": 1.0}),
    "cap": (RelevancyCap(8, min_size=2), {"max_size": None}),
    "noise": (NoiseThreshold(), {"cap": np.nan}),
}
every_policy = pytest.mark.parametrize(("policy", "record"), POLICIES.values(), ids=list(POLICIES))


@pytest.fixture(scope="module")
def aging():
    """A surrogate that every policy can work with, 15 rows."""
    gp = surrogate(15)
    return TimeVaryingGPRegressor(
        RBF(0.3), Forgetting(0.1), noise_model=QuadraticInjection(0.3), optimizer=None
    ).fit(gp.X_train_, gp.y_train_)


@every_policy
def test_records_have_the_same_names_from_first_to_last(policy, record, aging):
    policy = clone(policy)
    assert policy.record().keys() == record.keys()
    for name, value in policy.record().items():
        assert value == pytest.approx(record[name], nan_ok=True)
    steps_of(aging, policy, [16.0, 17.0, 18.0])
    assert policy.record().keys() == record.keys()
    for name, value in policy.record().items():
        assert value == getattr(policy, f"{name}_")
        assert np.isfinite(value)


@every_policy
def test_a_copy_goes_on_without_the_original(policy, record, aging):
    """As the optimizer needs: a step that fails must not have happened."""
    policy = clone(policy)
    steps_of(aging, policy, [16.0, 17.0])
    before, step = copy.deepcopy(vars(policy)), copy.copy(policy)
    first = steps_of(aging, step, [19.0, 25.0])
    after = vars(policy)
    assert after.keys() == before.keys()
    for name, value in before.items():
        assert after[name] == value
    assert steps_of(aging, policy, [19.0, 25.0]) == first
    if not isinstance(policy, SlidingWindow) and record:
        assert vars(policy) != before  # there was something to share


def test_variation_budget_of_arms_counts_them_all():
    rng = np.random.RandomState(0)
    A = rng.normal(size=(6, 3))
    gp = TimeVaryingGPRegressor(
        Empirical(A @ A.T), ConstantKernel(1.0, "fixed"), noise_variance=0.1, optimizer=None
    ).fit([[0, 0.0], [3, 1.0]], [0.0, 1.0])
    gain = maximum_information_gain(A @ A.T, 0.1, 50)
    assert VariationBudget(50)(gp) == int(np.ceil(gain**0.25 * np.sqrt(50)))
