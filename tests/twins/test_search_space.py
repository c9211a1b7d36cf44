"""Search spaces within limits, against all members within them."""

import itertools

import numpy as np
import pytest
from acquisition.cases import ARMS, BOX, COUNTABLE, MIXED
from grids import pairs_of
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.gaussian_process.kernels import Matern

from sktvbo import TimeVaryingGPRegressor
from sktvbo.acquisition import UCB, AcquisitionState
from sktvbo.acquisition._compiled import objective_of
from sktvbo.acquisition._objective import ScipyClimber, Score
from sktvbo.acquisition._optimize import maximize_joint, optimize
from sktvbo.domain import FiniteSet, ParameterSpace
from sktvbo.exceptions import DomainError

MANY = ParameterSpace({"a": ("integer", 0, 99), "b": ("log-integer", 1, 99)})
GRID = np.linspace(0.0, 1.0, 201)
PARTS = {
    "box": BOX.search_space().within([0.2, 0.5], [0.3, 0.9]),
    "a coordinate fixed": BOX.search_space().within([0.25, 0.0], [0.25, 1.0]),
    "finite": ARMS.search_space().within([0.2, 0.0], [0.7, 0.6]),
    "countable": COUNTABLE.search_space().within([0.3] + 5 * [0.0], [0.6] + 5 * [1.0]),
    "many": MANY.search_space().within([0.1, 0.3], [0.3, 0.4]),
    "a category fixed": MIXED.search_space().within(
        [0.1, 0.2, 0.0, 0.5**0.5, 0.0], [0.4, 0.7, 0.0, 0.5**0.5, 0]
    ),
}


def members(part):
    """All members of a part in unit form, or a dense grid of them."""
    columns = {
        BOX: [-2.0 + 6.0 * GRID, 10.0 + 20.0 * GRID],
        COUNTABLE: [range(2, 10), range(5)],
        MANY: [range(100), range(1, 100)],
        MIXED: [np.geomspace(1.001e-4, 0.999, 401), range(6), range(3)],
    }
    rows = ARMS.points if part.domain is ARMS else [*itertools.product(*columns[part.domain])]
    U = part.domain.to_unit(np.array(rows))
    return U[np.all((part.lower - 1e-9 <= U) & (part.upper + 1e-9 >= U), axis=1)]


def objective_over(domain, seed, compiled):
    rng = np.random.RandomState(seed)
    X = np.column_stack([domain.to_unit(domain.sample(25, rng)), np.arange(25.0)])
    gp = TimeVaryingGPRegressor(Matern(0.5, nu=2.5), Matern(20.0, nu=1.5), optimizer=None)
    posterior = gp.fit(X, rng.normal(size=25)).posterior_at(26.0)
    score = Score(UCB(0.25), AcquisitionState(25, 25, 2, gp, posterior))
    return (objective_of if compiled else ScipyClimber.of_posterior)(score, posterior)


@pytest.mark.parametrize(("name", "compiled", "seed"), pairs_of(PARTS, (True, False), range(3)))
def test_the_best_of_a_part_is_found(name, compiled, seed):
    part = PARTS[name]
    objective = objective_over(part.domain, seed, compiled)
    rng = np.random.RandomState(seed)
    anchors = part.domain.to_unit(part.domain.sample(3, rng))
    x = optimize(objective, part, rng, anchors)
    u = part.domain.to_unit(x)
    assert part.allowed(u[np.newaxis])[0]
    best = objective.values(members(part)).max()
    found = objective.values(u[np.newaxis])[0]
    assert best - 1e-9 <= found <= best + 0.01


@pytest.mark.parametrize("part", PARTS.values(), ids=PARTS)
def test_all_that_a_search_sees_is_in_the_part(part):
    rng = np.random.RandomState(0)
    U = part.candidates(64, rng)
    assert part.allowed(U).all()
    assert len(np.unique(U, axis=0)) >= min(4, len(members(part)))
    for u in U[:5]:
        assert part.allowed(part.neighbours(u)).all()
    seen = []

    def draw(places):
        seen.append(places)
        return rng.normal(size=len(places))

    # Anchors outside of the part are of no use to a draw.
    maximize_joint(draw, part, rng, anchors=part.domain.to_unit(part.domain.sample(3, rng)))
    assert part.allowed(seen[0]).all()
    window = part.during(3.0, 4.0)
    assert window.allowed(window.candidates(64, rng)).all()


def test_what_is_fixed_stays_to_the_bit():
    part = PARTS["a coordinate fixed"]
    objective = objective_over(BOX, 0, compiled=True)
    assert optimize(objective, part, np.random.RandomState(0))[0] == -0.5
    window = part.during(26.0, 28.0)
    assert_array_equal([window.lower, window.upper], [[0.25, 0.0, 0.0], [0.25, 1.0, 1.0]])
    assert_array_equal(window.continuous, [False, True, True])


def test_the_whole_within_its_own_bounds_is_searched_as_it_is():
    objective, whole = objective_over(BOX, 1, compiled=True), BOX.search_space()
    spaces = whole, whole.within([0.0, 0.0], [1.0, 1.0])
    found = [optimize(objective, space, np.random.RandomState(2)) for space in spaces]
    assert_array_equal(*found)


def test_where_no_member_is_within_the_nearest_is_taken():
    part = COUNTABLE.search_space().within([0.01] + 5 * [0.0], [0.04] + 5 * [1.0])
    assert_array_equal(COUNTABLE.from_unit(part.candidates(8))[:, 0], [2.0])
    arms = FiniteSet([[0.0], [1.0], [4.0]]).search_space().within([0.1], [0.15])
    assert_array_equal(arms.candidates(8), [[0.0]])
    assert arms.size == 1
    mixed = MIXED.search_space().within([0.5, 0.65, 0.0, 0.0, 0.0], [0.6, 0.7, 1.0, 1.0, 1.0])
    assert_allclose(MIXED.from_unit(mixed.candidates(8, np.random.RandomState(0)))[:, 1], 3.0)


@pytest.mark.parametrize(("low", "high"), [([0.5], [0.4]), ([0.1, 0.1], [0.2, 0.0]), ([0.0], 1.0)])
def test_bounds_are_checked(low, high):
    with pytest.raises(DomainError, match="2 numbers each, low <= high"):
        BOX.search_space().within(low, high)


def test_members_beyond_the_limits():
    points = np.array([[0.0, 0.0], [0.1, 0.1], [0.5, 0.0], [0.6, 0.9], [1.0, 1.0]])
    whole = FiniteSet(points).search_space()
    part = whole.within([0.0, 0.0], [0.2, 0.2], points[[2, 4]])
    assert_array_equal(part.members, points[[0, 1, 2, 4]])
    assert_array_equal(part.allowed(points), [True, True, True, False, True])
    assert_array_equal(part.neighbours(points[1]), points[[0, 2, 4]])
    # A part of the part: what is beyond one of the limits is within the others, or beyond as well.
    again = part.within([0.0, 0.0], [0.7, 1.0], points[[4]])
    assert_array_equal(again.members, points[[0, 1, 2, 4]])
    assert_array_equal(part.within([0.4, 0.0], [0.7, 1.0]).members, points[[2]])
    narrow = part.within([0.0, 0.0], [0.05, 0.05], points[[1, 3]])
    assert_array_equal(narrow.members, points[[0, 1]])
    context = whole.given(np.array([7.0]), np.array([0.7]))
    found = context.within([0.0] * 3, [0.2] * 3, points[[4]])
    assert_array_equal(found.candidates(8)[:, :2], points[[0, 1, 4]])


def test_categories_that_limits_leave_are_drawn_as_often():
    names = [f"c{i}" for i in range(60)]
    space = ParameterSpace({"x": ("real", 0.0, 1.0), "c": names}).search_space()
    upper = np.zeros(61)
    upper[[0, 8, 42]] = 1.0
    places = space.within(np.zeros(61), upper).candidates(512, 0)
    counts = np.count_nonzero(places, axis=0)[1:]
    assert counts.sum() == len(places) == 512
    assert (counts[[7, 41]] > 150).all()


class Falling:
    """Certificate of places whose first coordinate is at most 1 - t / 10 until some time t."""

    def __init__(self, known, high=None):
        self.known, self.high = np.array(known), high

    def at(self, low, high=None):
        return Falling(self.known, 1.0 - (low if high is None else high) / 10.0)

    def succeeds(self, U):
        return U[:, 0] <= self.high


def test_a_certified_part_is_the_same_in_any_order():
    whole, certificate = BOX.search_space(), Falling([[0.42, 0.5], [0.9, 0.9]])
    first = whole.certified(certificate, 5.0).within([0.3, 0.0], [1.0, 1.0])
    second = whole.within([0.3, 0.0], [1.0, 1.0]).certified(certificate, 5.0)
    U = np.random.RandomState(0).uniform(size=(200, 2))
    assert_array_equal(first.allowed(U), (U[:, 0] >= 0.3) & (U[:, 0] <= 0.5))
    assert_array_equal(second.allowed(U), first.allowed(U))
    assert_array_equal(first.reachable.allowed(U), U[:, 0] >= 0.3)
    for part, high in ((first, 0.5), (first.at(6.0), 0.4), (first.during(6.0, 6.5), 0.35)):
        places = part.candidates(128, np.random.RandomState(0))
        assert part.allowed(places).all()
        assert high - 0.02 < places[:, 0].max() <= high
    # Half of the candidates are spread over the space, and others lie around known places.
    near = np.abs(first.candidates(128, 0) - [0.42, 0.5]).max(axis=1) < 0.1
    assert 16 <= near.sum() <= 64
    assert all(one < other for one, other in zip(first.effort, whole.effort))


def test_certified_members_of_a_small_space_are_counted():
    whole, certificate = COUNTABLE.search_space(), Falling(np.zeros((1, 6)))
    part = whole.certified(certificate, 5.0)
    n = np.count_nonzero(whole.candidates(64)[:, 0] <= 0.5)
    assert 0 < n < whole.size
    assert part.size == len(part.candidates(64)) == n
    assert part.among(whole.candidates(64)[:3]).reachable.size == 3
    assert part.at(10.0).size < n
    assert part.during(5.0, 6.0).size == np.inf
