"""Budgets and caps of relevancy, and response times."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF, Matern
from staleness.surrogates import so_far, surrogate

from sktvbo.relevancy import wasserstein_relevancy
from sktvbo.staleness import MaximumSize, RelevancyBudget, RelevancyCap, ResponseTime

# --- a budget -------------------------------------------------------------------------------------


def test_the_budget_grows_with_time_only():
    gp, policy = surrogate(), RelevancyBudget()
    for _ in range(3):
        assert policy.after_add(gp, 40.0).size == 0
        assert policy.budget_ == 1.0


def test_min_size_stays_and_its_unspent_budget_does_not_accumulate():
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
    assert policy.offered_budget_ == pytest.approx(1.1**2.0)
    assert policy.removed_relevancy_ == max(price for _, price in policy.removals_) > 0.0


def removed_one_by_one(gp, noise, now, size):
    """Return rows in the order of a relevancy recomputed after each removal, and prices."""
    kernels = {"spatial_kernel": RBF(0.3), "temporal_kernel": Matern(5.0, nu=1.5)}
    options = {**kernels, "signal_variance": 1.0, "now": now}
    left, removals = np.arange(len(gp.X_train_)), []
    while len(left) > size:
        rows = gp.X_train_[left], gp.y_train_[left]
        relevancy = wasserstein_relevancy(*rows, noise_variance=noise[left], **options)
        least = np.argmin(relevancy)
        removals.append((left[least], relevancy[least]))
        left = np.delete(left, least)
    return removals


def uneven(n=30):
    """Return a surrogate with different known noise variances, and these variances."""
    gp, v = surrogate(n), np.random.RandomState(3).uniform(0.0, 0.3, n)
    return gp.fit(gp.X_train_, gp.y_train_, v), gp.noise_variance_ + v


def test_the_budget_pays_before_the_largest_size_applies():
    gp, _ = uneven()
    free, capped = RelevancyBudget(min_size=3), RelevancyBudget(min_size=3, max_size=5)
    for policy in (free, capped):
        policy.now_, policy.length_scale_, policy.budget_ = 30.0, 5.0, 1.0
        policy.after_add(gp, 33.0)
    paid = len(free.removals_)
    assert 3 < paid < len(capped.removals_) == len(gp.X_train_) - 5
    assert capped.removals_[:paid] == free.removals_


# --- a cap ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("max_size", "min_size", "left"), [(12, 5, 12), (3, 8, 3), (29, 10, 29)])
def test_the_cap_removes_in_the_order_of_recomputed_relevancies(max_size, min_size, left):
    gp, noise = uneven()
    policy = RelevancyCap(max_size, min_size)
    found = policy.after_add(gp, 31.0)
    expected = removed_one_by_one(gp, noise, 31.0, left)
    assert len(found) == 30 - left
    assert_array_equal(found, [index for index, _ in expected])
    assert_allclose([price for _, price in policy.removals_], [r for _, r in expected], rtol=1e-6)
    # The order by the first relevancies alone is another one.
    if left < 20:
        assert found.tolist() != np.argsort(gp.relevancy(31.0))[: 30 - left].tolist()


@pytest.mark.parametrize("policy", [RelevancyCap(30, 5), RelevancyBudget(max_size=30)])
def test_an_observation_that_informs_only_about_the_mean_is_removed_first(policy):
    """Even an extreme one: mean and scale of the other rows do not depend on it."""
    X, y = surrogate(30).X_train_, surrogate(30).y_train_
    X, y = np.vstack([[0.5, -1e3], X]), np.append(-50.0, y)
    gp = clone(surrogate()).set_params(mean_prior_std=1.0).fit(X, y)
    assert_array_equal(policy.after_add(gp, 30.0), [0])
    assert policy.removals_ == [(0, 0.0)]


@pytest.mark.parametrize("size", [1, 12, 29])
def test_maximum_size_removes_like_the_cap(size):
    gp, _ = uneven()
    found = MaximumSize(size).after_add(gp, 31.0)
    assert_array_equal(found, RelevancyCap(size, min_size=1).after_add(gp, 31.0))
    assert len(found) == 30 - size


@pytest.mark.parametrize("policy", [RelevancyBudget(), RelevancyCap(30), RelevancyCap()])
def test_no_more_stay_than_the_step_budget_allows(policy):
    gp = surrogate()
    policy.watch(replace(so_far(40), max_size=25))
    expected = RelevancyCap(25).after_add(gp, now=39.0)
    assert_array_equal(policy.after_add(gp, now=39.0), expected)
    policy.watch(so_far(40))
    assert len(policy.after_add(gp, now=39.0)) == (10 if policy.max_size == 30 else 0)


def test_the_allowed_size_bounds_the_search_for_the_recommended_one():
    policy = RelevancyCap()
    times = np.cumsum([1.0, 1.2, 1.5, 1.9, 2.4])
    policy.watch(replace(so_far(40, times, (10, 20, 30, 40, 50)), max_size=25))
    policy.after_add(surrogate(l_T=1e6), now=39.0)
    assert policy.max_size_ == 25


@pytest.mark.parametrize(("allowed", "expected"), [(None, 20), (25, 20), (12, 12)])
def test_the_recommended_size_has_a_limit_of_its_own(allowed, expected):
    """Also while the response time is unknown; a given size is not limited by it."""
    policy, gp = RelevancyCap(largest=20), surrogate(l_T=1e6)
    for times, sizes in (([], []), (np.cumsum([1.0, 1.2, 1.5, 1.9, 2.4]), (10, 20, 30, 40, 50))):
        policy.watch(replace(so_far(40, times, sizes), max_size=allowed))
        assert len(policy.after_add(gp, now=39.0)) == 40 - expected
        assert policy.max_size_ == expected
    given = RelevancyCap(30, largest=20)
    assert len(given.after_add(gp, now=39.0)) == 10


def test_a_repeated_query_does_not_count_for_the_response_time():
    plain, again = RelevancyCap(), RelevancyCap()
    plain.watch(so_far(30, [0.0, 1.0, 3.0, 6.0, 10.0], [10, 20, 30, 40, 50]))
    again.watch(so_far(30, [0.0, 1.0, 1.0, 3.0, 6.0, 10.0, 10.0], [10, 20, 20, 30, 40, 50, 50]))
    assert_allclose(again.response_time_.coefficients, plain.response_time_.coefficients)


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


@pytest.mark.parametrize("outlier", [0.0, 60.0])
def test_response_times_are_the_non_negative_least_squares(outlier):
    """Karush, Kuhn and Tucker: no change of a coefficient is an improvement."""
    rng = np.random.RandomState(0)
    n = rng.randint(5, 100, size=60)
    seconds = 0.1 + 1e-6 * n**3 + 0.05 * rng.exponential(size=60)
    seconds[7] += outlier
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


@pytest.mark.parametrize(("m", "known"), [(0, False), (2, False), (3, False), (4, True)])
def test_few_sizes_do_not_determine_the_model(m, known):
    sizes = np.repeat(np.arange(1, m + 1), 5)
    assert ResponseTime(sizes, np.ones(len(sizes))).known is known
