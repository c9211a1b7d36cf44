"""Cyclic parameters and contexts: the two ends of the range are one point."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import LinearConstraint

from sktvbo import ABO, BOLT, WDBO, BayesianOptimizer, RandomSearch
from sktvbo.domain import Constrained, Context, ParameterSpace, as_domain
from sktvbo.exceptions import DomainError

SPACE = {"a": ("cyclic", -180, 180), "x": ("real", 0.0, 1.0), "k": ["u", "v"]}
DOMAIN = ParameterSpace(SPACE)


def apart(a, b, turn=360.0):
    """Distance on the circle, in turns."""
    gap = np.mod(np.asarray(a) - b, turn)
    return np.minimum(gap, turn - gap) / turn


def test_distances_are_those_on_the_circle():
    rows = np.column_stack([[-180.0, 179.0, -179.0, 0.0, 90.0], np.full(5, 0.5), np.zeros(5)])
    U = DOMAIN.to_unit(rows)
    assert U.shape == (5, 5)
    gaps = np.linalg.norm(U[:, np.newaxis, :2] - U[:, :2], axis=2)
    turns = apart(rows[:, :1], rows[:, 0])
    assert_allclose(gaps, np.sin(np.pi * turns), atol=1e-12)
    assert_allclose(DOMAIN.from_unit(U), rows, atol=1e-9)
    X = DOMAIN.sample(400, 0)
    assert_allclose(apart(DOMAIN.from_unit(DOMAIN.to_unit(X))[:, 0], X[:, 0]), 0.0, atol=1e-12)
    assert np.histogram(X[:, 0], bins=4, range=(-180, 180))[0].min() > 70


def test_numbers_beyond_are_turned_back():
    for value, turned in ((370.0, 10.0), (180.0, -180.0), (-190.0, 170.0), (-180.0, -180.0)):
        point = {"a": value, "x": 0.5, "k": "u"}
        assert DOMAIN.validate_point(point)[0] == turned
    tiny = ParameterSpace({"a": ("cyclic", 0.0, 1.0)})
    assert 0.0 <= tiny.validate_point({"a": -1e-300})[0] < 1.0
    with pytest.raises(ValueError, match="finite"):
        DOMAIN.validate_point({"a": np.nan, "x": 0.5, "k": "u"})
    with pytest.raises(DomainError, match="low < high"):
        ParameterSpace({"a": ("cyclic", 1.0, 1.0)})
    assert as_domain(DOMAIN.parameters) == DOMAIN
    assert eval(repr(DOMAIN), {"ParameterSpace": ParameterSpace}) == DOMAIN


@pytest.mark.parametrize("kind", [RandomSearch, WDBO, BOLT, ABO])
@pytest.mark.parametrize("part", [0.05, 0.3])
@pytest.mark.parametrize("start", [-179.0, 45.0])
def test_steps_are_limited_along_the_circle(kind, part, start):
    few = {} if kind is RandomSearch else {"n_initial_points": 3}
    first = [{"a": start, "x": 0.5, "k": "u"}]
    opt = kind(SPACE, max_step={"a": part}, start_points=first, random_state=0, **few)
    angles = []
    for t in range(9):
        x = opt.ask(t)
        angles.append(x["a"])
        opt.tell(x, -float(apart(x["a"], start + 170.0)))
    moves = apart(angles[1:], np.array(angles[:-1]))
    assert moves.max() <= part + 1e-9
    assert moves.max() > 0.3 * part


def test_the_optimum_beyond_the_end_is_found():
    opt = WDBO(SPACE, random_state=0)
    for t in range(40):
        x = opt.ask(t)
        value = -16.0 * apart(x["a"], 178.0) ** 2 - (x["x"] - 0.3) ** 2 - 0.1 * (x["k"] == "u")
        opt.tell(x, float(value))
    best = opt.recommend(40)
    assert apart(best["a"], 178.0) < 0.03
    again = WDBO.from_json(opt.to_json())
    assert apart(again.recommend(40)["a"], best["a"]) < 1e-4
    near, far = ({"a": a, "x": 0.5, "k": "v"} for a in (179.9, 0.0))
    means = opt.predict([near, near | {"a": -179.9}, far], 40)
    assert abs(means[0] - means[1]) < 0.1 * abs(means[0] - means[2])


def test_an_answer_is_matched_along_the_circle():
    opt = RandomSearch({"a": ("cyclic", 0.0, 360.0)}, random_state=0)
    opt.announce({"a": 0.0}, 0.0)
    opt.announce({"a": 30.0}, 0.0)
    opt.tell({"a": 359.5}, 1.0, 0.0)
    assert [query.x for query in opt.pending_] == [{"a": 30.0}]
    opt.tell({"a": 50.0}, 1.0, 0.0)  # another place
    assert len(opt.pending_) == 1


def test_limits_failures_and_constraints_are_on_the_circle():
    opt = WDBO(
        SPACE,
        outcome_constraints={"p": (None, 0.4)},
        safety=0.9,
        start_points=[{"a": 175.0, "x": 0.5, "k": "u"}],
        constraints=lambda p: p["x"] <= 0.8,
        random_state=0,
    )
    for t in range(14):
        query = opt.suggest(t)
        assert query.x["x"] <= 0.8
        distance = float(apart(query.x["a"], 175.0))
        opt.tell(query, distance, outcomes={"p": 2.0 * distance})
    told = apart(opt.told_X_[:, 0], 175.0)
    assert told.max() > 0.05
    assert np.mean(told > 0.2) <= 0.2
    assert opt.ask(20, fixed={"a": 180.0})["a"] == -180.0
    linear = Constrained(SPACE, LinearConstraint([1, 0, 0], -10.0, 10.0))
    assert np.abs(linear.sample(40, 0)[:, 0]).max() <= 10.0
    with pytest.raises(DomainError, match="on another scale"):
        Constrained(SPACE, LinearConstraint([1, 1, 0], 5.0, 5.0)).sample(1, 0)


def test_a_cyclic_context_is_near_across_the_end():
    domain = {"x": ("real", 0.0, 1.0), "hour": Context.cyclic(0, 24)}
    assert Context.cyclic(0, 24) == Context("cyclic", 0, 24)
    opt, rng = BayesianOptimizer(domain, random_state=0), np.random.RandomState(0)
    for t in range(30):
        hour = rng.uniform(-2.0, 2.0) % 24.0
        x = opt.ask(t, context={"hour": hour})
        opt.tell(x, -((x["x"] - 0.5 - 0.1 * np.sin(2.0 * np.pi * hour / 24.0)) ** 2))
    means = opt.predict([{"x": 0.1}] * 3, 30, context=[{"hour": h} for h in (23.99, 0.01, 24.01)])
    assert_allclose(means[1:], means[0], atol=1e-3)
