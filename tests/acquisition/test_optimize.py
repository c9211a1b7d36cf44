"""The maximizer against brute force and dense searches, over every kind of domain."""

import itertools

import numpy as np
import pytest
from acquisition.cases import ARMS, BOX, COUNTABLE, MIXED, Function
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.gaussian_process.kernels import Matern

from sktvbo import TimeVaryingGPRegressor
from sktvbo.acquisition import maximize
from sktvbo.domain import Box, ParameterSpace

LINE = Box([(-2.0, 4.0)])
DOMAINS = pytest.mark.parametrize(
    "domain", [BOX, ARMS, COUNTABLE, MIXED], ids=["box", "finite", "countable", "mixed"]
)


def upper_bound(width):
    return lambda mean, std: (mean + width * std, 1.0, width)


def posterior_over(domain, seed):
    """A posterior with several maxima, given random values at random members."""
    rng = np.random.RandomState(seed)
    U = domain.to_unit(domain.sample(25, rng))
    X = np.column_stack([U, np.arange(25.0)])
    gp = TimeVaryingGPRegressor(Matern(0.5, nu=2.5), Matern(20.0, nu=1.5), optimizer=None)
    return gp.fit(X, rng.normal(size=25)).posterior_at(26.0)


class Watched:
    """A posterior that keeps the places at which it is evaluated."""

    def __init__(self, posterior):
        self.posterior = posterior
        self.seen = []

    def __call__(self, U):
        self.seen.append(U)
        return self.posterior(U)

    def with_gradient(self, u):
        self.seen.append(u[np.newaxis])
        return self.posterior.with_gradient(u)


# --- maximize -------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(("box", "width"), [(BOX, 0.5), (BOX, 0.0), (LINE, 1.5)])
def test_maximum_over_a_box_is_that_of_a_dense_grid(box, width, seed):
    posterior, score, d = posterior_over(box, seed), upper_bound(width), box.n_dims
    x = maximize(score, posterior, box, np.random.RandomState(seed))
    grid = np.stack(np.meshgrid(*[np.linspace(0, 1, 201)] * d), axis=-1).reshape(-1, d)
    best = score(*posterior(grid))[0].max()
    found = score(*posterior(box.to_unit(x)[np.newaxis]))[0][0]
    assert best - 1e-9 <= found <= best + 0.01
    assert box.contains(x)


@pytest.mark.parametrize("domain", [ARMS, COUNTABLE], ids=["finite", "countable"])
@pytest.mark.parametrize("seed", range(5))
def test_maximum_over_a_countable_domain_is_that_of_brute_force(domain, seed):
    posterior, score = Watched(posterior_over(domain, seed)), upper_bound(0.5)
    # An anchor is a member already: it changes nothing.
    anchors = domain.candidates(512)[-3:]
    x = maximize(score, posterior, domain, np.random.RandomState(seed), anchors=anchors)
    assert [len(U) for U in posterior.seen] == [40]
    product = itertools.product(range(2, 10), range(5))
    members = ARMS.points if domain is ARMS else np.array([*product], dtype=float)
    values = score(*posterior(domain.to_unit(members)))[0]
    assert_array_equal(x, members[np.argmax(values)])


def test_maximum_over_more_combinations_than_candidates_is_that_of_brute_force():
    space = ParameterSpace({"a": ("integer", 0, 99), "b": ("integer", 0, 29), "c": list("wxyz")})
    members = np.array(list(itertools.product(range(100), range(30), range(4))), dtype=float)
    U = space.to_unit(members)
    for seed in range(5):
        posterior, score = posterior_over(space, seed), upper_bound(0.5)
        x = maximize(score, posterior, space, np.random.RandomState(seed))
        assert_array_equal(x, members[np.argmax(score(*posterior(U))[0])])


def test_far_integer_is_reached_from_few_candidates():
    space = ParameterSpace({"a": ("integer", 0, 10**6), "b": ("integer", 0, 10**6)})

    def ridge(u):
        a, b = 1e6 * u
        return -abs(a - 654_321) - 3.0 * abs(b - 123_456)

    rng = np.random.RandomState(0)
    x = maximize(upper_bound(0.0), Function(ridge), space, rng, n_candidates=4, n_starts=1)
    assert_allclose(x, [654_321, 123_456], atol=0.5)


@pytest.mark.parametrize("seed", range(5))
def test_maximum_over_a_mixed_space_is_that_of_a_dense_search(seed):
    posterior, score = posterior_over(MIXED, seed), upper_bound(0.5)
    x = maximize(score, posterior, MIXED, np.random.RandomState(seed))
    rates = np.geomspace(1e-4, 1.0, 2001)
    rows = np.array(list(itertools.product(rates, range(6), range(3))))
    rows[:, 0] = np.clip(rows[:, 0], 1e-4, 1.0)
    best = score(*posterior(MIXED.to_unit(rows)))[0].max()
    found = score(*posterior(MIXED.to_unit(x)[np.newaxis]))[0][0]
    assert best - 1e-9 <= found <= best + 1e-6  # a grid of 2001 is that dense
    assert_array_equal(MIXED.validate_point(x), x)


@pytest.mark.parametrize("seed", range(5))
def test_maximum_over_angles_is_that_of_a_dense_search_and_found_in_few_rounds(seed):
    domain = ParameterSpace({"angle": ("cyclic", 0.0, 1.0), "x": ("real", 0.0, 1.0)})
    posterior, score = Watched(posterior_over(domain, seed)), upper_bound(0.5)
    x = maximize(score, posterior, domain, np.random.RandomState(seed))
    rounds = sum(len(U) >= 48 for U in posterior.seen[1:])  # 48 steps of an angle
    assert rounds <= 6
    rows = np.array(list(itertools.product(np.arange(1000) / 1000.0, np.linspace(0.0, 1.0, 401))))
    best = score(*posterior(domain.to_unit(rows)))[0].max()
    assert score(*posterior(domain.to_unit(x)[np.newaxis]))[0][0] >= best - 1e-5


def test_reals_integers_and_categories_are_improved_by_turns():
    """From one start: the best integer depends on the real, and the other way round."""
    peak = MIXED.to_unit([0.01, 4.0, 2.0])

    def ridge(u):
        gap = u - peak
        return -((gap[0] + gap[1]) ** 2) - 0.1 * gap[1] ** 2 - 0.05 * (gap[2:] @ gap[2:])

    rng = np.random.RandomState(2)
    x = maximize(upper_bound(0.0), Function(ridge), MIXED, rng, n_candidates=2, n_starts=1)
    assert_allclose(x, [0.01, 4.0, 2.0], rtol=1e-4)


@DOMAINS
def test_a_surrogate_is_asked_about_members_only(domain):
    posterior = Watched(posterior_over(domain, 0))
    anchors = domain.to_unit(domain.sample(3, 1))
    found = [
        maximize(upper_bound(1.0), posterior, domain, np.random.RandomState(0), anchors=anchors)
        for _ in range(2)
    ]
    assert_array_equal(*found)  # the same seed gives the same place
    U = np.vstack(posterior.seen)
    assert_allclose(domain.to_unit(domain.from_unit(U)), U, atol=1e-12)


def test_anchor_is_considered():
    """A peak too narrow for the candidates is found from a place on its slope."""
    peak = MIXED.to_unit([0.0123, 3.0, 1.0])
    function = Function(lambda u: np.exp(-np.sum(((u - peak) / 1e-4) ** 2)))

    def found(anchors):
        rng = np.random.RandomState(0)
        x = maximize(upper_bound(0.0), function, MIXED, rng, anchors=anchors, n_candidates=16)
        return np.allclose(x, [0.0123, 3.0, 1.0], rtol=1e-3)

    assert found([peak + np.array([5e-5, 0, 0, 0, 0])])
    assert not found(None)
