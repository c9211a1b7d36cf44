"""Who is better, from paired differences, of rows that may err together."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import norm

from sktvbo.model_selection._evidence import Evidence


def seen(*batches, members=None):
    evidence = Evidence().joined((members or batches[0].shape[1]) - 1)
    for batch in batches:
        evidence = evidence.after(batch)
    return evidence


def of_differences(d):
    """Losses of a champion and of a challenger that is better by d."""
    return np.column_stack([10.0 + d, np.full(len(d), 10.0)])


def test_it_is_the_self_normalized_sum_of_each_pair(rng):
    losses = rng.exponential(size=(40, 3))
    evidence = seen(losses)
    for i in range(3):
        d = losses[:, [i]] - losses
        z = d.sum(axis=0) / np.sqrt(np.maximum((d**2).sum(axis=0), 1e-300))
        assert_allclose(evidence.over(i), norm.cdf(z))
    assert_allclose(evidence.over(0)[1], 1.0 - evidence.over(1)[0])


def test_equals_and_newcomers_are_as_probably_better_as_worse(rng):
    losses = np.repeat(rng.uniform(size=(10, 1)), 2, axis=1)
    assert_array_equal(seen(losses).over(0), [0.5, 0.5])
    assert_array_equal(seen(rng.uniform(size=(10, 2))).joined(2).over(1)[2:], [0.5, 0.5])


def test_a_single_row_proves_nothing():
    assert seen(of_differences(np.array([1e9]))).over(0)[1] < 0.9
    assert seen(np.array([[1e300, 1.0]])).over(0)[1] == pytest.approx(norm.cdf(1.0))


def test_who_failed_is_never_better(rng):
    losses = rng.uniform(size=(10, 3))
    losses[4, 2] = np.nan
    evidence = seen(losses)
    assert evidence.over(0)[2] == 0.0
    assert_allclose(evidence.over(0)[:2], seen(losses[:, :2]).over(0))


@pytest.mark.parametrize("n", [2, 5, 50])
@pytest.mark.parametrize("draw", ["normal", "standard_cauchy", "ternary"])
def test_the_error_rate_is_that_stated(rng, n, draw):
    def probability(better):
        if draw == "ternary":  # of losses that are 0 or 1
            d = rng.choice([-1.0, 0.0, 1.0], size=n, p=[0.1, 0.8 - better, 0.1 + better])
        else:
            d = getattr(rng, draw)(size=n) + 2.0 * better
        return seen(of_differences(d)).over(0)[1]

    found = np.array([probability(0.0) for _ in range(1500)])
    for confidence in (0.9, 0.975):
        z = norm.ppf(confidence)
        rate = np.mean(found >= confidence)
        assert rate <= np.exp(-0.5 * z**2)  # Efron's bound, for any number of rows
        if n == 50:  # about normal; 0.1 has a standard error of 0.008
            assert rate <= (1.0 - confidence) + 0.02
    if n == 50:  # and it is not so cautious that it never finds anything
        assert np.mean([probability(0.4) >= 0.9 for _ in range(300)]) > 0.25


def batches_of(rng, n_batches, size, together):
    """Differences of equals; a part of their variance is the same for all rows of a batch."""
    for _ in range(n_batches):
        d = np.sqrt(together) * rng.normal() + np.sqrt(1.0 - together) * rng.normal(size=size)
        yield of_differences(d)


@pytest.mark.parametrize(("together", "low", "high"), [(0.0, 1.0, 1.6), (0.3, 4.0, 20.0)])
def test_rows_that_err_together_count_as_few(rng, together, low, high):
    # Rows of 20, of which a part of 0.3 of the variance is common: 1 + 0.3 · 20 / 0.7 = 9.6.
    found = [seen(*batches_of(rng, 30, 20, together)).redundancy for _ in range(40)]
    assert low <= np.median(found) <= high


def test_the_error_rate_is_that_stated_where_rows_err_together(rng):
    found = []
    for _ in range(200):
        evidence = seen(*batches_of(rng, 20, 20, 0.3))
        alone = norm.cdf(evidence.total[0, 1] / np.sqrt(evidence.squares[0, 1]))
        found.append((evidence.over(0)[1] >= 0.9, alone >= 0.9))
    with_redundancy, without = np.mean(found, axis=0)
    assert with_redundancy < 0.17
    assert without > 0.25  # as if rows were independent, luck is taken for evidence


def test_some_members_and_another_champion(rng):
    first, second = rng.exponential(size=(2, 30, 4))
    chosen = [2, 0, 3]
    whole = seen(first[:, chosen], second[:, chosen])
    parts = seen(first, second).of(chosen)
    for i in range(3):
        assert_allclose(
            parts.total[i] / np.sqrt(np.maximum(parts.squares[i], 1e-300)),
            whole.total[i] / np.sqrt(np.maximum(whole.squares[i], 1e-300)),
        )
    # The latest means were over the old champion.
    assert np.isnan(parts.mean).all()
    assert_allclose(seen(first, second).of([0, 2]).mean, seen(second).mean[[0, 2]])


def test_newcomers_are_compared_from_their_first_row_on(rng):
    first, second = rng.exponential(size=(30, 2)), rng.exponential(size=(30, 3))
    evidence = seen(first).joined(1).after(second)
    alone = seen(second)
    assert_allclose(evidence.total[2], alone.total[2])
    assert_allclose(evidence.squares[:, 2], alone.squares[:, 2])
    assert len(evidence.ratios) == 1  # of the one that was there before


def test_what_has_faded_counts_less(rng):
    early, late = of_differences(np.ones(20)), of_differences(-np.ones(20))
    evenly = seen(early, late).over(0)[1]
    faded = seen(early).faded(0.5).after(late).over(0)[1]
    assert evenly == pytest.approx(0.5)
    assert faded < 0.3
