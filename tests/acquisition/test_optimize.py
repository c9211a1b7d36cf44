"""The maximizer against brute force and dense searches, over every kind of domain."""

import itertools

import numpy as np
import pytest
from acquisition.cases import ARMS, BOX, COUNTABLE, MIXED, objective
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.gaussian_process.kernels import Matern

from sktvbo import TimeVaryingGPRegressor
from sktvbo.acquisition import maximize
from sktvbo.acquisition._optimize import maximize_joint, optimize
from sktvbo.domain import Box, FiniteSet, ParameterSpace
from sktvbo.exceptions import DomainError

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


class Function:
    """A known function in the place of a posterior mean; its gradient by differences."""

    def __init__(self, f):
        self.f = f

    def __call__(self, U):
        return np.array([self.f(u) for u in U]), np.zeros(len(U))

    def with_gradient(self, u):
        steps = 1e-6 * np.eye(len(u))
        slope = np.array([self.f(u + h) - self.f(u - h) for h in steps]) / 2e-6
        return self.f(u), 0.0, slope, np.zeros(len(u))


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
    if domain is ARMS:
        members = ARMS.points
    else:
        members = np.array(list(itertools.product(range(2, 10), range(5))), dtype=float)
    values = score(*posterior(domain.to_unit(members)))[0]
    assert_array_equal(x, members[np.argmax(values)])


def test_maximum_over_more_combinations_than_candidates_is_that_of_brute_force():
    space = ParameterSpace(
        {"a": ("integer", 0, 99), "b": ("integer", 0, 29), "c": ("categorical", list("wxyz"))}
    )
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
    maximize(upper_bound(1.0), posterior, domain, np.random.RandomState(0), anchors=anchors)
    U = np.vstack(posterior.seen)
    assert_allclose(domain.to_unit(domain.from_unit(U)), U, atol=1e-12)


@DOMAINS
def test_the_same_seed_gives_the_same_place(domain):
    posterior = posterior_over(domain, 0)

    def again(seed):
        return maximize(upper_bound(1.0), posterior, domain, np.random.RandomState(seed))

    assert_array_equal(again(3), again(3))


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


# --- A window of time -----------------------------------------------------------------------------


@DOMAINS
def test_rows_of_a_window_are_those_of_the_domain_with_the_time_at_the_end(domain):
    window = domain.search_space().during(100.0, 104.0)
    U = np.column_stack([domain.to_unit(domain.sample(5, 0)), [0.0, 0.25, 0.5, 0.875, 1.0]])
    rows = window.decode(U)
    assert_array_equal(rows[:, -1], [100.0, 101.0, 102.0, 103.5, 104.0])
    assert_array_equal(rows[:, :-1], domain.from_unit(U[:, :-1]))
    assert_array_equal(window.continuous, [*domain.continuous, True])


@pytest.mark.parametrize("low", [0.1, 1.7e9 + 0.1])
def test_times_stay_in_the_window(low):
    window = ARMS.search_space().during(low, low + 0.3)
    times = window.decode(np.column_stack([np.zeros((101, 2)), np.linspace(0, 1, 101)]))[:, -1]
    assert times[0] == low
    assert times[-1] == low + 0.3
    assert np.all(np.diff(times) > 0.0)


@DOMAINS
def test_window_pairs_each_candidate_with_spread_out_times(domain):
    window = domain.search_space().during(5.0, 6.0)
    base = domain.candidates(64, np.random.RandomState(0))
    U = window.candidates(64, np.random.RandomState(0))
    k = max(2, 64 // len(base))
    assert len(U) == (k + 1) * len(base)
    for place in np.unique(base, axis=0):
        copies = np.sum(np.all(base == place, axis=1))
        times = U[np.all(U[:, :-1] == place, axis=1), -1]
        assert np.sum(times == 0.0) == copies
        # Besides the first, as many in each k-th part of the window.
        parts = np.floor(k * times[times > 0.0]).astype(int)
        assert_array_equal(np.bincount(parts, minlength=k), copies)
    later = np.sort(U[U[:, -1] > 0.0, -1])
    assert_allclose(np.diff(later), 1.0 / len(later))


def test_times_of_a_window_over_a_box_are_spread_in_each_part_of_the_box():
    window = BOX.search_space().during(5.0, 6.0)
    U = window.candidates(64, np.random.RandomState(0))[64:128]
    for u in U[:, :2].T:  # the first half of the window: one in each of 8 x 8 cells
        cells = np.floor(8 * u) + 8 * np.floor(16 * U[:, 2])
        assert_array_equal(np.sort(cells), np.arange(64))


def test_window_over_a_finite_set_has_all_other_arms_as_neighbours():
    window = ARMS.search_space().during(5.0, 6.0)
    U = ARMS.to_unit(ARMS.points)
    neighbours = window.neighbours(np.append(U[7], 0.3))
    assert_array_equal(neighbours[:, :-1], np.delete(U, 7, axis=0))
    assert_array_equal(neighbours[:, -1], 0.3)
    window = BOX.search_space().during(5.0, 6.0)
    assert window.neighbours(np.full(3, 0.3)).shape == (0, 3)


@DOMAINS
@pytest.mark.parametrize("seed", range(3))
def test_maximum_over_a_window_is_that_of_a_dense_search(domain, seed):
    rng = np.random.RandomState(seed)
    members = domain.sample(1500 if domain is MIXED or domain is BOX else 40, 99)
    U = domain.to_unit(members)
    X = np.column_stack([domain.to_unit(domain.sample(25, rng)), np.arange(25.0) / 5.0])
    gp = TimeVaryingGPRegressor(Matern(0.5, nu=2.5), Matern(1.0, nu=2.5), optimizer=None)
    gp.fit(X, rng.normal(size=25))

    class Posterior(Function):
        def __init__(self):
            super().__init__(lambda v: self.mean(v[np.newaxis])[0])

        def mean(self, V):
            return gp.predict(np.column_stack([V[:, :-1], 4.0 + 2.0 * V[:, -1]]))

        def __call__(self, V):
            return self.mean(V), np.zeros(len(V))

    posterior = Posterior()
    dense = np.vstack([np.column_stack([U, np.full(len(U), u)]) for u in np.linspace(0, 1, 41)])
    window = domain.search_space().during(4.0, 6.0)
    x = optimize(objective(upper_bound(0.0), posterior), window, rng, n_candidates=128)
    assert 4.0 <= x[-1] <= 6.0
    assert domain.contains(x[:-1])
    found = np.append(domain.to_unit(x[:-1]), (x[-1] - 4.0) / 2.0)
    assert posterior(found[np.newaxis])[0][0] >= posterior(dense)[0].max() - 1e-9


@pytest.mark.parametrize(("low", "high"), [(2.0, 1.0), (1.0, 1.0), (0.0, np.inf), (np.nan, 1.0)])
def test_window_needs_an_interval(low, high):
    with pytest.raises(DomainError, match=r"low < high. Got \("):
        BOX.search_space().during(low, high)


# --- maximize_joint -------------------------------------------------------------------------------


@DOMAINS
def test_joint_draw_is_made_once_at_distinct_members(domain):
    calls = []

    def draw(U):
        calls.append(U)
        return -np.arange(len(U), dtype=float) % 7

    x = maximize_joint(
        draw, domain.search_space(), np.random.RandomState(0), anchors=domain.candidates(2)[:2]
    )
    (U,) = calls
    assert len(np.unique(U, axis=0)) == len(U)
    assert_allclose(domain.to_unit(domain.from_unit(U)), U, atol=1e-12)
    assert_array_equal(x, domain.from_unit(U[np.argmax(draw(U))]))
    assert len(U) == 40 if domain.size < np.inf else 512 < len(U) <= 512 + 2 * 33


def test_late_joint_draws_are_finer_than_the_candidates():
    """A peak between the Sobol points is met by places around an anchor on its slope."""
    peak = np.array([0.70001, 0.3])

    def missed(anchors):
        def draw(U):
            return -np.sum((U - peak) ** 2, axis=1)

        x = maximize_joint(draw, BOX.search_space(), np.random.RandomState(0), anchors=anchors)
        return np.linalg.norm(BOX.to_unit(x) - peak)

    assert missed(None) > 0.01
    assert missed([peak + 0.005]) < 0.003
    assert missed([peak]) == pytest.approx(0.0, abs=1e-15)


def test_joint_draws_try_the_neighbours_of_an_anchor():
    anchor = MIXED.to_unit([0.01, 2.0, 0.0])
    places = []

    def draw(U):
        places.append(U)
        return np.zeros(len(U))

    maximize_joint(
        draw, MIXED.search_space(), np.random.RandomState(0), anchors=[anchor], n_candidates=2
    )
    rows = MIXED.from_unit(places[0])
    assert len(rows) == 2 + 33
    discrete = (rows[:, 1:] == [2.0, 0.0]).all(axis=1)
    assert 17 <= discrete.sum() <= 19  # the anchor's own, and by chance a candidate's
    # 2 - 2, 2 - 1, 2 + 1, 2 + 2 and two categories
    assert len(np.unique(rows[:, 1:], axis=0)) >= 1 + 6


# A joint draw enumerates no more than these; above, it is made at a part of the members.
ALL, MORE = (FiniteSet(np.random.RandomState(6).uniform(size=(m, 2))) for m in (1024, 20_000))


def test_a_joint_draw_is_made_at_all_of_the_members_that_it_can_take():
    calls = []

    def draw(U):
        calls.append(U)
        return -np.arange(len(U), dtype=float)

    rng = np.random.RandomState(0)
    x = maximize_joint(draw, ALL.search_space(), rng, anchors=ALL.candidates(512)[:3])
    assert_array_equal(calls, [ALL.candidates(512)])
    assert_array_equal(x, ALL.points[0])
    assert rng.randint(2**31) == np.random.RandomState(0).randint(2**31)  # nothing was drawn


def test_a_joint_draw_over_a_large_set_is_made_at_a_part_of_it():
    members = MORE.candidates(512)
    anchors = members[[7, 11_000, 19_999]]

    def places(seed, anchors=anchors):
        calls = []

        def draw(U):
            calls.append(U)
            return U[:, 0]

        x = maximize_joint(draw, MORE.search_space(), np.random.RandomState(seed), anchors=anchors)
        (U,) = calls
        assert_array_equal(MORE.to_unit(x), U[np.argmax(U[:, 0])])
        return MORE.indices(MORE.from_unit(U))

    index = places(0)
    assert len(np.unique(index)) == len(index)
    assert 1024 + 3 * 20 < len(index) <= 1024 + 3 * 33
    for anchor in anchors:
        nearest = np.argsort(np.linalg.norm(members - anchor, axis=1))[:33]
        assert set(nearest) <= set(index)
    assert_array_equal(index, places(0))
    assert len(np.intersect1d(index, places(1))) < 300  # 99 around the anchors, 52 by chance
    assert len(places(0, anchors=None)) == 1024


def test_members_of_a_large_set_are_drawn_uniformly():
    counts = np.zeros(20_000)
    rng = np.random.RandomState(0)

    def draw(U):
        counts[MORE.indices(MORE.from_unit(U))] += 1
        return U[:, 0]

    for _ in range(40):
        maximize_joint(draw, MORE.search_space(), rng)
    assert counts.sum() == 40 * 1024
    # Twenty blocks of as many members each: five standard deviations of a binomial.
    blocks = counts.reshape(20, -1).sum(axis=1)
    assert_allclose(blocks, 2048, atol=5 * np.sqrt(2048))
