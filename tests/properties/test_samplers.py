"""Determinantal point processes against enumeration."""

from itertools import combinations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from properties import strategies as some
from scipy.stats import chisquare

from sktvbo.dpp import greedy_map, sample_kdpp

small = some.covariances(n=st.integers(2, 6))


def subsets(K, k):
    """All subsets of size k, with their probabilities."""
    sets = list(combinations(range(len(K)), k))
    determinants = np.array([np.linalg.det(K[np.ix_(s, s)]) for s in sets]).clip(0.0)
    return sets, determinants / determinants.sum()


@given(small, st.data())
def test_the_greedy_choice_is_the_best_at_each_step(K, data):
    k = data.draw(st.integers(1, len(K)))
    chosen = greedy_map(K, k)
    assert len(set(chosen)) == k
    for i in range(k):
        gains = {
            j: np.linalg.slogdet(K[np.ix_([*chosen[:i], j], [*chosen[:i], j])])[1]
            for j in set(range(len(K))) - set(chosen[:i])
        }
        assert gains[chosen[i]] >= max(gains.values()) - 1e-5


@given(small, st.data(), some.seeds, st.sampled_from(["mcmc", "exact"]))
def test_samples_are_sets_in_order_and_repeat_with_their_seed(K, data, seed, method):
    k = data.draw(st.integers(1, len(K)))
    options = {"method": method, "random_state": seed}
    if method == "mcmc":
        options["n_steps"] = 50
    found = sample_kdpp(K, k, **options)
    assert found.shape == (k,)
    assert (np.diff(found) > 0).all()
    assert 0 <= found[0] <= found[-1] < len(K)
    assert_array_equal(found, sample_kdpp(K, k, **options))


def frequencies(K, k, sets, draw, n):
    index = {s: i for i, s in enumerate(sets)}
    return np.bincount([index[tuple(draw(K, k, i))] for i in range(n)], minlength=len(sets))


def fits(counts, probabilities):
    """p-value of the counts, rare sets taken together."""
    expected = counts.sum() * probabilities
    common = expected >= 5.0
    counts = np.append(counts[common], counts[~common].sum())
    expected = np.append(expected[common], expected[~common].sum())
    keep = expected > 0.0
    if keep.sum() < 2:
        return 1.0
    return chisquare(
        counts[keep], expected[keep] * counts[keep].sum() / expected[keep].sum()
    ).pvalue


def exact(K, k, i):
    return sample_kdpp(K, k, method="exact", random_state=i)


def chain(K, k, i):
    return sample_kdpp(K, k, method="mcmc", n_steps=60, random_state=i)


def uniform(K, k, i):
    return np.sort(np.random.RandomState(i).choice(len(K), k, replace=False))


@settings(max_examples=8)
@given(some.covariances(n=st.integers(3, 5)), st.integers(1, 2), st.sampled_from([exact, chain]))
def test_samples_have_the_probabilities_of_their_determinants(K, k, draw):
    sets, probabilities = subsets(K, k)
    assert fits(frequencies(K, k, sets, draw, 300), probabilities) > 1e-6


def test_a_sampler_that_is_wrong_is_found_out():
    K = np.diag([1.0, 2.0, 3.0, 10.0])
    sets, probabilities = subsets(K, 2)
    assert fits(frequencies(K, 2, sets, uniform, 300), probabilities) < 1e-6
    assert fits(frequencies(K, 2, sets, exact, 300), probabilities) > 1e-6
