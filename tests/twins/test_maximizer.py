"""The maximizer in windows of time and of joint draws, and of acquisitions that see places."""

import numpy as np
import pytest
from acquisition.cases import ARMS, BOX, COUNTABLE, MIXED, Function, UCBLessCost
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.gaussian_process.kernels import Matern

from sktvbo import GPUCB, TimeVaryingGPRegressor
from sktvbo.acquisition import AcquisitionState, as_acquisition
from sktvbo.acquisition._compiled import objective_of
from sktvbo.acquisition._objective import ScipyClimber, Score
from sktvbo.acquisition._optimize import maximize_joint, optimize
from sktvbo.domain import Box, FiniteSet
from sktvbo.exceptions import DomainError
from twins.maximizer import objective

DOMAINS = pytest.mark.parametrize(
    "domain", [BOX, ARMS, COUNTABLE, MIXED], ids=["box", "finite", "countable", "mixed"]
)


def upper_bound(width):
    return lambda mean, std: (mean + width * std, 1.0, width)


# --- A window of time -----------------------------------------------------------------------------


@DOMAINS
def test_window_pairs_each_candidate_with_spread_out_times(domain):
    window = domain.search_space().during(5.0, 6.0)
    base = domain.candidates(64, np.random.RandomState(0))
    U = window.candidates(64, np.random.RandomState(0))
    rows = window.decode(U)
    assert_array_equal(rows[:, :-1], domain.from_unit(U[:, :-1]))
    assert_allclose(rows[:, -1], 5.0 + U[:, -1], rtol=1e-15)
    assert_array_equal(window.continuous, [*domain.continuous, True])
    k = max(2, 64 // len(base))
    assert len(U) == (k + 1) * len(base)
    for place in np.unique(base, axis=0):
        copies = np.sum(np.all(base == place, axis=1))
        times = U[np.all(U[:, :-1] == place, axis=1), -1]
        assert np.sum(times == 0.0) == copies
        # After time 0, each of the k equal parts of the window has one time a copy.
        parts = np.floor(k * times[times > 0.0]).astype(int)
        assert_array_equal(np.bincount(parts, minlength=k), copies)
    later = np.sort(U[U[:, -1] > 0.0, -1])
    assert_allclose(np.diff(later), 1.0 / len(later))


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

    def mean(V):
        return gp.predict(np.column_stack([V[:, :-1], 4.0 + 2.0 * V[:, -1]]))

    class Posterior(Function):
        def __call__(self, V):
            return mean(V), np.zeros(len(V))

    posterior = Posterior(lambda v: mean(v[np.newaxis])[0])
    dense = np.vstack([np.column_stack([U, np.full(len(U), u)]) for u in np.linspace(0, 1, 41)])
    window = domain.search_space().during(4.0, 6.0)
    x = optimize(objective(upper_bound(0.0), posterior), window, rng, n_candidates=128)
    assert 4.0 <= x[-1] <= 6.0
    assert domain.contains(x[:-1])
    found = np.append(domain.to_unit(x[:-1]), (x[-1] - 4.0) / 2.0)
    assert mean(found[np.newaxis])[0] >= mean(dense).max() - 1e-9


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


# A joint draw enumerates no more than 1024 members; of more it is made at a part.
MORE = FiniteSet(np.random.RandomState(6).uniform(size=(20_000, 2)))


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
        assert set(np.argsort(np.linalg.norm(members - anchor, axis=1))[:33]) <= set(index)
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


# --- acquisitions that see places -----------------------------------------------------------------


@pytest.fixture(scope="module")
def seen():
    opt = GPUCB([(0.0, 10.0)], random_state=0)
    for t in range(20):
        x = opt.ask(t)
        opt.tell(x, np.exp(-((x[0] - 6.0) ** 2) / 4.0))
    return opt.surrogate_.posterior_at(20.0), AcquisitionState(20, 20, 1, opt.surrogate_)


def test_compiled_and_plain_climbs_agree(seen):
    posterior, state = seen
    space = Box([(0.0, 10.0)]).search_space()
    score = Score.over(as_acquisition(UCBLessCost(0.1)), state, space, 20.0)
    rows = [
        optimize(make(score, posterior), space, np.random.RandomState(0))
        for make in (objective_of, ScipyClimber.of_posterior)
    ]
    assert_allclose(*rows, atol=1e-4)
    grid = np.linspace(0.0, 1.0, 4001)[:, np.newaxis]
    best = grid[np.argmax(score.values(*posterior(grid), grid))]
    assert_allclose(rows[0], 10.0 * best, atol=5e-3)


def test_slopes_in_the_place_are_differences_at_the_same_mean(seen):
    _, state = seen
    space = Box([(0.0, 10.0), (0.0, 1.0)]).search_space()
    score = Score.over(as_acquisition(UCBLessCost(0.1)), state, space, 20.0)
    U = np.array([[0.0, 1.0], [0.7, 0.2], [1.0, 0.5]])
    found = score.with_gradient(np.zeros(3), np.ones(3), U)
    assert_allclose(found[3], [[-1.0, 0.0]] * 3, atol=1e-6)
    assert_array_equal(found[1], np.ones(3))
