"""Queries for which some parameters are fixed, or only some values are available."""

import numpy as np
import pytest
from contract.cases import ALGORITHMS, some

from sktvbo import WDBO, RandomSearch
from sktvbo.domain import Arms, Context, FiniteSet
from sktvbo.exceptions import AskTellError, DomainError, InvalidObservationError, LimitWarning

OFTEN = ("random", "ABO", "ET-GP-UCB", "SparQ-GP-UCB", "TV-GP-UCB", "W-DBO")
KINDS = {
    "a": ("real", 0.0, 3.0),
    "rate": ("log-real", 1e-4, 1.0),
    "n": ("integer", -2, 7),
    "width": ("log-integer", 1, 64),
    "dose": ("discrete", [0.1, 0.2, 0.7]),
    "level": ("ordinal", ["low", "mid", "high"]),
    "kind": ["u", "v", "w", "z"],
}
# Values that a scaling to [0, 1] and back does not return exactly.
REQUESTS = (
    {"fixed": {"a": 0.3, "kind": "v"}},
    {"fixed": {"rate": 0.0123, "level": "mid", "width": 5}},
    {"fixed": {"n": -1, "dose": 0.7}, "available": {"kind": ["w", "z"]}},
    {"available": {"n": [0, 5], "width": [1, 3, 64], "level": ["low", "high"]}},
    {"fixed": {"a": 0.7, "rate": 0.3, "n": 3, "width": 7, "dose": 0.2, "level": "low"}},
    {},
)


def fits(x, fixed=None, available=None):
    """Return True if a query has what is fixed, and only what is available."""
    is_fixed = all(x[name] == value for name, value in (fixed or {}).items())
    return is_fixed and all(x[name] in values for name, values in (available or {}).items())


@pytest.mark.parametrize("name", some(ALGORITHMS, OFTEN))
def test_queries_have_exactly_what_is_fixed_and_available(name):
    begun = {} if name == "random" else {"n_initial_points": 6}
    opt = ALGORITHMS[name](KINDS, random_state=0, **begun)
    for t in range(11):
        request = REQUESTS[t % len(REQUESTS)]
        x = opt.ask(t, **request)
        assert fits(x, **request), (x, request)
        opt.tell(x, -abs(x["a"] - 1.0) - 0.1 * (x["kind"] == "u"), t)
    for request in REQUESTS[:: 1 if name != "random" else 6]:  # random: among observations alone
        assert fits(opt.recommend(11, **request), **request)


def test_random_search_recommends_the_best_query_that_fits():
    opt = ALGORITHMS["random"]({"c": ["a", "b", "z"]}, random_state=0)
    for t in range(8):
        opt.tell({"c": "ab"[t % 2]}, float(t), t)
    assert opt.recommend(8) == {"c": "b"}
    assert opt.recommend(8, available={"c": ["a", "z"]}) == {"c": "a"}
    with pytest.raises(AskTellError, match="matches 'fixed'"):
        opt.recommend(8, fixed={"c": "z"})


@pytest.mark.parametrize(
    ("domain", "requests", "allowed"),
    [
        (Arms(6), [{"available": [0, 4]}, {"fixed": {"x0": 3}}], [{0, 4}, {3}]),
        (Arms([1, 3, 5]), [{"available": [[5]]}], [{5}]),
        (
            FiniteSet({"u": [0, 0, 1, 1], "v": [0, 1, 0, 1]}),
            [{"fixed": {"u": 1}}, {"available": {"v": [0]}}, {"available": [[0, 1], [1, 0]]}],
            [{(1, 0), (1, 1)}, {(0, 0), (1, 0)}, {(0, 1), (1, 0)}],
        ),
    ],
)
def test_members_that_are_left(domain, requests, allowed):
    opt, seen = WDBO(domain, n_initial_points=2, random_state=0), [set() for _ in requests]
    for t in range(24):
        i = t % len(requests)
        x = opt.ask(t, **requests[i])
        seen[i].add(tuple(x) if len(x) > 1 else x[0])
        opt.tell(x, float(np.sin(t)), t)
    assert seen == allowed


def test_a_query_is_the_best_of_what_is_left():
    """The best place of a slice is found, not the best place of all moved there."""
    opt = WDBO([(0.0, 1.0)] * 2, random_state=0)
    for t, x in enumerate(np.random.RandomState(0).uniform(size=(40, 2))):
        opt.tell(x, -4.0 * (x[0] - x[1]) ** 2 - (x[1] - 0.5) ** 2, t)
    for t, level in enumerate([0.1, 0.9], start=40):
        x = opt.ask(t, fixed={"x1": level})
        assert abs(x[0] - level) < 0.15
        opt.tell(x, -4.0 * (x[0] - level) ** 2 - (level - 0.5) ** 2)


def test_all_available_categories_are_drawn_as_often():
    names = [f"c{i}" for i in range(60)]
    opt = RandomSearch({"x": ("real", 0.0, 1.0), "c": names}, random_state=0)
    drawn = [opt.ask(t, available={"c": ["c7", "c41"]})["c"] for t in range(60)]
    assert set(drawn) == {"c7", "c41"}
    assert 15 <= drawn.count("c7") <= 45


def test_start_points_wait_until_they_fit():
    start = [{"x": 0.2, "c": "A"}, {"x": 0.7, "c": "B"}]
    space = {"x": ("real", 0.0, 1.0), "c": ["A", "B"]}
    opt = WDBO(space, start_points=start, random_state=0)
    assert opt.ask(0, available={"c": iter(["B"])}) not in start
    assert [opt.ask(1), opt.ask(2, fixed={"x": 0.7})] == start


def test_a_batch_in_a_context():
    space = {"x": ("real", 0.0, 1.0), "c": ["A", "B"], "load": Context(0.0, 10.0)}
    opt = WDBO(space, n_initial_points=2, random_state=0)
    for t in range(6):
        batch = opt.suggest(t, 3, context={"load": float(t)}, fixed={"c": "B"})
        assert [query.x["c"] for query in batch] == ["B"] * 3
        assert len({query.x["x"] for query in batch}) == 3
        for query in batch:
            opt.tell(query, query.x["x"])


def test_a_step_limit_counts():
    opt = WDBO([(0.0, 1.0)] * 2, max_step=0.2, start_points=[[0.5, 0.5]], random_state=0)
    assert opt.ask(0).tolist() == [0.5, 0.5]
    assert opt.ask(1, fixed={"x1": 0.65})[1] == 0.65
    with pytest.raises(DomainError, match="within max_step of the latest query, in 'x1' too"):
        opt.ask(2, fixed={"x1": 0.9})
    X = np.random.RandomState(0).uniform(size=(20, 2))
    opt.tell_many(X, -np.sum((X - 0.1) ** 2, axis=1), np.arange(20.0))
    opt.announce([0.9, 0.9], 20.0)
    assert opt.ask(21.0).min() >= 0.7 - 1e-9
    assert np.abs(opt.recommend(21.0) - 0.1).max() < 0.1  # a recommendation is free


def test_queries_on_the_way_to_a_better_place_differ():
    space = {"x": ("real", 0.0, 1.0), "y": ("real", 0.0, 1.0), "c": ["a", "b"]}
    start, rng = {"x": 0.5, "y": 0.5, "c": "a"}, np.random.default_rng(0)
    opt = WDBO(space, max_step=0.1, start_points=[start], random_state=0)
    for t in range(20):
        x = opt.ask(t)
        bowl = (x["x"] - 0.5) ** 2 + (x["y"] - 0.5 - 0.003 * t) ** 2
        opt.tell(x, 0.1 * (x["c"] == "b") - bowl + 0.01 * rng.normal())
    batch = opt.suggest(20, 4, available={"c": ["a"]})
    assert len({(query.x["x"], query.x["y"]) for query in batch}) == 4


def test_what_is_completely_fixed_is_asked_again_after_a_cancel():
    opt = RandomSearch({"x": ("real", 0.0, 1.0), "n": ("integer", 0, 3)}, random_state=0)
    fixed = {"x": 0.4, "n": 2}
    for _ in range(2):
        assert opt.ask(0.0, fixed=fixed) == fixed
        opt.cancel(fixed)


@pytest.mark.parametrize(
    ("request_", "error", "match"),
    [
        ({"fixed": {"q": 1}}, InvalidObservationError, "a dict of some of 'x', 'n', 'c'. Got"),
        ({"fixed": {"load": 1.0}}, InvalidObservationError, "A context is given as context"),
        ({"fixed": [0.3]}, InvalidObservationError, "fixed must be a dict of some of"),
        ({"fixed": {"x": 1.5}}, DomainError, r"fixed\['x'\] must be in \[0.0, 1.0\]. Got 1.5"),
        ({"fixed": {"x": np.nan}}, DomainError, r"fixed\['x'\]"),
        ({"fixed": {"n": 2.5}}, DomainError, r"fixed\['n'\] must be a whole number"),
        ({"fixed": {"c": "Z"}}, DomainError, r"one of \['A', 'B'\]. Got 'Z'"),
        ({"available": {"c": "A"}}, InvalidObservationError, "a list of at least one value"),
        ({"available": {"c": []}}, InvalidObservationError, "a list of at least one value"),
        ({"available": {"x": [0.1, 0.2]}}, DomainError, "of a parameter that has steps"),
        ({"available": [[0.1]]}, InvalidObservationError, "members of a finite set"),
        ({"fixed": {"c": "A"}, "available": {"c": ["B"]}}, DomainError, "values of some point"),
        ({"fixed": {"x": 0.9, "n": 4}}, DomainError, "values of some point"),
    ],
)
@pytest.mark.parametrize("n_told", [0, 5])
def test_invalid_requests_leave_the_run_as_it_is(request_, error, match, n_told):
    space = {"x": ("real", 0.0, 1.0), "n": ("integer", 0, 4), "c": ["A", "B"]}
    rules = {"constraints": lambda x: 4.5 - 4.0 * x["x"] - x["n"]}
    opt = WDBO(space | {"load": Context(0, 1)}, n_initial_points=3, random_state=0, **rules)
    for t in range(n_told):
        opt.tell(opt.ask(t, context={"load": 0.5}), 1.0)
    before = opt.n_told_, len(opt.pending_)
    with pytest.raises(error, match=match):
        opt.ask(9, context={"load": 0.5}, **request_)
    assert (opt.n_told_, len(opt.pending_)) == before


@pytest.mark.parametrize("n_told", [2, 30])
def test_what_cannot_be_safe_warns_each_time(n_told, recwarn):
    space = {"a": ("real", 0.0, 1.0), "c": ["p", "q"]}
    limits = {"outcome_constraints": {"ms": (None, 200.0)}, "safety": 0.95}
    opt = WDBO(space, start_points=[{"a": 0.2, "c": "p"}], random_state=0, **limits)
    for t in range(n_told):
        x = opt.ask(t)
        opt.tell(x, x["a"], outcomes={"ms": 100.0 + 150.0 * x["a"] + np.sin(t)})
    assert opt.ask(n_told, fixed={"a": 0.25})["a"] == 0.25
    assert not recwarn
    for _ in range(2):
        with pytest.warns(LimitWarning, match="No point with the fixed and available values"):
            opt.ask(n_told, fixed={"a": 0.95})
