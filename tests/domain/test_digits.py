"""Listed numbers and members that are told with fewer digits than they have."""

import numpy as np
import pytest

from sktvbo import WDBO, RandomSearch
from sktvbo.domain import Arms, FiniteSet, ParameterSpace
from sktvbo.exceptions import DomainError

TENTHS, THIRDS = np.arange(0, 1, 0.1).tolist(), np.linspace(0.0, 1.0, 4).tolist()
LISTS = {
    "tenths": (TENTHS, [0.3, np.float32(0.7), 0.6], [0.35, 0.3001, "0.3", True]),
    "thirds": (THIRDS, [0.3333, 0.333333, np.float32(2.0 / 3.0)], [0.3, 0.34]),
    "integers": ([16, 32, 64], [16.0, np.int8(32)], [16.001, 20]),
    "scales": ([1e-6 / 3.0, 1e-3 / 3.0, 1.0], [3.333e-7, 3.333e-4], [3.4e-7, 3.4e-4]),
}


@pytest.mark.parametrize("kind", ["discrete", "ordinal"])
@pytest.mark.parametrize("name", LISTS)
def test_a_listed_number_may_have_fewer_digits(kind, name):
    values, rounded, others = LISTS[name]
    space = ParameterSpace({"v": (kind, values), "u": ["a", "b"]})
    for value in rounded:
        nearest = min(values, key=lambda v: abs(v - float(value)))
        found = space.decode(space.validate_point({"v": value, "u": "a"}))["v"]
        assert found == nearest
        assert type(found) is type(nearest)
    for value in others:
        with pytest.raises((DomainError, ValueError)):
            space.validate_point({"v": value, "u": "a"})


@pytest.mark.parametrize("kind", ["discrete", "ordinal"])
def test_fixed_and_available_numbers_may_have_fewer_digits(kind):
    opt = RandomSearch({"v": (kind, TENTHS)}, random_state=0)
    assert opt.ask(0.0, fixed={"v": 0.3}) == {"v": TENTHS[3]}
    assert opt.ask(1.0, available={"v": [0.6]}) == {"v": TENTHS[6]}
    opt.tell({"v": 0.3}, 1.0, 0.0)
    opt.tell({"v": 0.6}, 1.0, 1.0)
    assert not opt.pending_


def test_categories_are_no_numbers():
    space = ParameterSpace({"v": ("categorical", [0.1 + 0.2, 1])})
    for value in (0.3, 1.0, True):
        with pytest.raises(DomainError, match="one of"):
            space.validate_point({"v": value})


def test_a_history_of_members_may_have_fewer_digits():
    points = np.random.default_rng(0).uniform(size=(60, 2)) * [1.0, 1e3]
    opt = WDBO(FiniteSet(points), random_state=0)
    opt.tell_many(points.round(6), np.arange(60.0), np.arange(60.0))
    np.testing.assert_array_equal(opt.told_X_[:, :-1], points)
    opt.tell(points[3].astype(np.float32), 1.0, 60.0)
    for moved in (points[3] + [1e-6, 0.0], points[3] + [0.0, 0.01]):
        with pytest.raises(DomainError, match="one of the 60 points"):
            opt.tell(moved, 1.0, 61.0)
    with pytest.raises(DomainError):
        Arms(4).index([1.0001])


def test_what_is_measured_beyond_the_domain_names_the_remedy():
    opt = RandomSearch([(0.0, 1.0)] * 2, random_state=0)
    query = opt.suggest(0.0)
    opt.tell(query, 1.0, x=[1.004, 0.5])
    assert opt.told_X_[0].tolist() == [1.004, 0.5, 0.0]
    query = opt.suggest(1.0)
    remedy = r"widen it by with_parameters\(domain=...\)"
    for tell in (
        lambda opt: opt.tell(query, 1.0, x=[1.02, 0.5]),
        lambda opt: opt.tell([1.02, 0.5], 1.0, 1.0),
        lambda opt: opt.tell_many([[0.5, 0.5], [1.02, 0.5]], [1.0, 2.0], [1.0, 2.0]),
    ):
        with pytest.raises(DomainError, match=remedy):
            tell(opt)
    wider = opt.with_parameters(domain=[(0.0, 1.1)] * 2)
    wider.tell(query, 1.0, x=[1.02, 0.5])
    opt = wider.with_parameters(domain=[(0.0, 1.0)] * 2)
    assert opt.told_X_[1, 0] == 1.02
    assert opt.ask(2.0).max() <= 1.0


@pytest.mark.parametrize("named", [False, True])
def test_a_run_goes_on_from_a_reading_beyond_the_edge(named):
    domain = dict.fromkeys("ab", ("real", 0.0, 1.0)) if named else [(0.0, 1.0)] * 2
    opt = WDBO(domain, max_step=0.3, n_initial_points=3, random_state=0)
    for t in range(12):
        query = opt.suggest(t)
        read = np.array(list(query.x.values()) if named else query.x) + 0.004
        opt.tell(query, float(read.sum()), x=dict(zip("ab", read)) if named else read)
    assert opt.told_X_[:, :2].max() > 1.0
    x = opt.ask(12)
    assert max(x.values() if named else x) <= 1.0
