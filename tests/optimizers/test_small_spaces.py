"""Visits of all members of a discrete space, and of all categories."""

import copy

import numpy as np
import pytest
from scipy.optimize import LinearConstraint
from sklearn.gaussian_process.kernels import Matern

from sktvbo import (
    ABO,
    BOLT,
    ETGPUCB,
    GPUCB,
    SWGPUCB,
    TVGPUCB,
    UITVBO,
    WDBO,
    WGPUCB,
    TimeVaryingGPRegressor,
)
from sktvbo.domain import Arms, Context, FiniteSet

GRID = np.array([[i, j] for i in range(4) for j in range(5)], dtype=float)
ARMS = {"arm": [f"arm {i}" for i in range(9)]}
SLOW = pytest.mark.slow


def asked_of(opt, value, n):
    """Return n queries; ``value`` is the objective."""
    queries = []
    for t in range(n):
        queries.append(opt.ask(float(t)))
        opt.tell(queries[-1], value(queries[-1]), float(t))
    return queries


def of_grid(seed):
    """Return an objective that falls with the distance from a random place of the grid."""
    place = np.random.RandomState(seed).uniform(0.0, 4.0, 2)
    return lambda x: -((x - place) ** 2).sum()


def of_arms(seed):
    values = dict(zip(ARMS["arm"], np.random.RandomState(seed).normal(size=9)))
    return lambda x: values[x["arm"]]


@pytest.mark.parametrize(
    ("algorithm", "space", "objective", "seed"),
    [
        (GPUCB, ARMS, of_arms, 0),
        (TVGPUCB, FiniteSet(GRID), of_grid, 0),
        (WDBO, ARMS, of_arms, 0),
        *(pytest.param(WDBO, ARMS, of_arms, i, marks=SLOW) for i in range(1, 100)),
        *(pytest.param(WDBO, FiniteSet(GRID), of_grid, i, marks=SLOW) for i in range(100)),
    ],
)
def test_all_members_are_visited_within_five_times_as_many_steps(algorithm, space, objective, seed):
    size = 9 if space is ARMS else len(GRID)
    queries = asked_of(algorithm(space, random_state=seed), objective(seed), 5 * size)
    assert len({tuple(x.values() if space is ARMS else x) for x in queries}) == size


@pytest.mark.parametrize("seed", [1, 3])
def test_after_repeated_queries_a_new_member_of_a_larger_space_is_asked(seed):
    members = FiniteSet(np.random.RandomState(seed).uniform(size=(60, 2)))
    queries = asked_of(WDBO(members, random_state=seed), lambda x: -((x - 0.3) ** 2).sum(), 60)
    asked, n_turns = [members.index(x) for x in queries], 0
    for i in range(5, 60):
        before = asked[:i]
        if before[-1] == before[-2] and before.count(before[-1]) in (4, 8, 16, 32):
            assert asked[i] not in before
            n_turns += 1
    assert n_turns >= 2
    # After every repeated query it would be 23 members.
    assert len(set(asked)) <= 16


def test_failed_and_pending_queries_are_visits():
    opt, worst, n_failed = WDBO(FiniteSet(GRID[:8]), random_state=0), tuple(GRID[7]), 0
    for t in range(60):
        x = opt.ask(float(t))
        n_failed += (failed := tuple(x) == worst)
        opt.tell(x, None if failed else -(x**2).sum(), float(t), failed=failed)
    assert 1 <= n_failed <= 3
    opt = WDBO(FiniteSet(GRID[:8]), random_state=0)
    asked_of(opt, lambda x: -(x**2).sum(), 6)
    places = [*opt.told_X_[:, :-1], *(query.x for query in opt.suggest(60.0, 20))]
    assert len(set(map(tuple, places))) == 8


def test_what_was_untold_is_no_visit():
    opt = WDBO(FiniteSet(GRID[:8]), random_state=0)
    opt.tell(GRID[7], 0.0, -1.0)
    opt.untell()
    assert any(tuple(x) == tuple(GRID[7]) for x in asked_of(opt, lambda x: -(x**2).sum(), 60))


def test_members_are_visited_in_each_context():
    opt = WDBO(ARMS | {"load": Context("categorical", ["low", "high"])}, random_state=0)
    visited = set()
    for t in range(100):
        context = {"load": ["low", "high"][t // 5 % 2]}
        arm = opt.ask(float(t), context=context)["arm"]
        visited.add((arm, context["load"]))
        opt.tell({"arm": arm}, float(arm == "arm 3"), float(t), context=context)
    assert len(visited) == 18


def asked_at_turn(opt, n=4, t=200.0):
    """Return the arm of the query after n others, each cancelled, one at a time."""
    opt = copy.deepcopy(opt)
    for i in range(n):
        opt.cancel(opt.ask(t + i))
    return opt.ask(t + n)[0]


def told_of_arms(arms, start, opt):
    """Tell values of arms, of which the third one is the best."""
    arms = np.array(arms, dtype=float)
    times = np.arange(start, start + len(arms), dtype=float)
    opt.tell_many(arms[:, np.newaxis], 1.0 * (arms == 2.0), times)


@pytest.mark.parametrize("history", [None, 0])
def test_a_visit_counts_for_as_many_steps_as_the_run_was_old(history):
    opt = GPUCB(Arms(3), history=history, random_state=0)
    told_of_arms(np.repeat([0, 1, 2], 40), 0, opt)
    assert asked_at_turn(opt) == 0.0  # visited until step 39
    assert asked_at_turn(opt, 3) == 2.0
    told_of_arms([0], 120, opt)
    assert asked_at_turn(opt) == 2.0  # arm 1, visited until step 79, is not due before step 158
    told_of_arms([2] * 34, 121, opt)
    assert asked_at_turn(opt) == 1.0


def test_in_a_young_run_a_visit_counts_for_fifty_observations():
    opt = GPUCB(Arms(4), random_state=0)
    told_of_arms(np.repeat([0, 1, 2], 10), 0, opt)
    assert asked_at_turn(opt) == 3.0  # never visited
    told_of_arms([3], 30, opt)
    assert asked_at_turn(opt) == 2.0
    told_of_arms([2] * 23, 31, opt)
    assert asked_at_turn(opt) == 2.0
    told_of_arms([2], 54, opt)
    assert asked_at_turn(opt) == 0.0  # visited until step 9


def test_what_is_known_to_violate_a_limit_is_visited_again_once_that_is_forgotten():
    opt = TVGPUCB(Arms(3), outcome_constraints={"g": (None, 1.0)}, random_state=0)
    arms, y = np.repeat([0.0, 1.0, 2.0], 40), 0.1 * np.random.RandomState(0).normal(size=120)
    outcomes = {"g": 0.1 * y + 2.0 * (arms == 0.0)}
    opt.tell_many(arms[:, np.newaxis], y, np.arange(120.0), outcomes=outcomes)
    assert asked_at_turn(opt, t=120.0) != 0.0
    assert asked_at_turn(opt, t=1e6) == 0.0  # visited until step 39


@pytest.mark.parametrize("kind", [GPUCB, TVGPUCB, pytest.param(WDBO, marks=SLOW)])
def test_a_violator_that_no_model_forgets_is_visited_after_150_observations(kind):
    opt = kind(Arms(3), outcome_constraints={"g": (None, 1.0)}, refit_every=1000, random_state=0)
    arms = np.append(np.zeros(5), np.resize([1.0, 2.0], 145))
    y = 0.1 * np.random.RandomState(0).normal(size=150)
    for part, is_due in ((slice(145), False), (slice(145, 150), True)):  # visited until step 4
        outcomes = {"g": 0.1 * y[part] + 2.0 * (arms[part] == 0.0)}
        opt.tell_many(arms[part, np.newaxis], y[part], np.arange(150.0)[part], outcomes=outcomes)
        assert (asked_at_turn(opt, t=150.0) == 0.0) == is_due
        assert opt.probability_feasible([[0.0]], 154.0)[0] < 0.05


@pytest.mark.parametrize("is_beyond", [True, False])
def test_a_category_that_is_known_to_violate_a_limit_is_not_tried(is_beyond):
    space = {"kind": ["a", "b", "c"], "n": ("integer", 0, 6)}
    held = TimeVaryingGPRegressor(Matern(0.5), Matern(1e4), normalize_y=True, optimizer=None)
    opt = GPUCB(space, surrogate=held, outcome_constraints={"g": (None, 1.0)}, random_state=0)
    t = np.arange(1010)  # "c" is not among the latest 1000, and counts as untried
    X = [{"kind": "c" if i < 10 else "ab"[i % 2], "n": i % 7} for i in t]
    opt.tell_many(X, 0.01 * t, 1.0 * t, outcomes={"g": 2.0 * is_beyond * (t < 10) + 1e-5 * t})
    assert (opt.ask(1010.0)["kind"] == "c") != is_beyond


def steps_until_found(algorithm, space, changes_at):
    """Number of steps until the worst of five members, which becomes the best, is queried."""
    opt, rng, worst = algorithm(space, random_state=0), np.random.RandomState(0), None
    values = {}
    for t in range(2 * changes_at + 1):
        x = opt.ask(float(t))
        key = tuple(x.values() if isinstance(x, dict) else x)
        value = values.setdefault(key, 0.2 * len(values))
        worst = min(values, key=values.get)
        if t >= changes_at and key == worst:
            return t - changes_at
        opt.tell(x, value + 0.05 * rng.normal())
    return np.inf


FIVE = FiniteSet([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0], [0.4, 0.6]])
PAIRS = {"glue": ["a", "b"], "foil": ["u", "v", "w"]}


OFTEN = [(WDBO, Arms(5)), (WGPUCB, PAIRS), (SWGPUCB, FIVE)]
SELDOM = [(UITVBO, Arms(5)), (ABO, FIVE), (BOLT, PAIRS), (TVGPUCB, FIVE), (ETGPUCB, PAIRS)]


@pytest.mark.parametrize(
    ("algorithm", "space"), [*OFTEN, *(pytest.param(*pair, marks=SLOW) for pair in SELDOM)]
)
def test_what_becomes_the_best_is_found_within_as_many_steps_as_the_run_is_old(algorithm, space):
    assert steps_until_found(algorithm, space, 50) <= 50


def test_members_are_visited_whatever_the_numbers_of_a_context_are():
    opt = GPUCB({"arm": list("abcde"), "load": Context(0.0, 1.0)}, random_state=0)
    late = set()
    for t in range(70):
        context = {"load": 0.37 * t % 1.0}
        x = opt.ask(float(t), context)
        opt.tell(x, float(x["arm"] == "c"), float(t), context=context)
        late |= {x["arm"]} if t >= 15 else set()
    assert late == set("abcde")


def test_still_members_are_visited_ever_less():
    queries = asked_of(GPUCB(Arms(4), random_state=0), lambda x: float(x[0] == 2.0), 200)
    others = [t for t, x in enumerate(queries) if x[0] != 2.0]
    assert sum(t >= 100 for t in others) <= 4


MIXED = {
    "x": ("real", 0.0, 1.0),
    "n": ("integer", 1, 8),
    "kind": list("abcdefgh"),
    "on": [False, True],
}
LARGE = {"kind": list(range(15)), "other": list(range(9)), "n": ("integer", 1, 30)}


@pytest.mark.parametrize(
    ("algorithm", "space"),
    [(WDBO, MIXED), (TVGPUCB, LARGE), (ABO, MIXED)],
)
def test_all_categories_are_tried_by_30_queries(algorithm, space):
    queries = asked_of(algorithm(space, random_state=1), lambda x: float(x["kind"] in (0, "a")), 30)
    for name, values in space.items():
        if isinstance(values, list):
            assert {x[name] for x in queries} == set(values)


BLEND = {f"part {i}": ("real", 0.0, 1.0) for i in range(3)} | {"solvent": list("abcde")}
WHOLE = LinearConstraint([1.0, 1.0, 1.0, 0.0], 1.0, 1.0)


@pytest.mark.parametrize(
    ("algorithm", "size", "options"),
    [
        (WDBO, 1, {}),
        (WDBO, 4, {"constraints": WHOLE}),
        (TVGPUCB, 4, {}),
        (SWGPUCB, 3, {"window": 40}),
    ],
)
def test_categories_beside_numbers_are_tried_four_times_by_30_queries(algorithm, size, options):
    opt, asked = algorithm(BLEND, random_state=0, **options), []
    for t in range(0, 30, size):
        for query in opt.suggest(float(t), n=size) if size > 1 else [opt.suggest(float(t))]:
            asked.append(query.x["solvent"])
            opt.tell(query, float(query.x["solvent"] == "a"))
    numbers = {solvent: asked.count(solvent) for solvent in "abcde"}
    assert min(numbers.values()) >= 4
    assert max(numbers, key=numbers.get) == "a"


def test_all_categories_are_tried_once_before_any_is_tried_again():
    space = {"x": ("real", 0.0, 1.0), "kind": list(range(20))}
    queries = asked_of(WDBO(space, random_state=0), lambda x: float(x["kind"] == 0), 20)
    assert len({x["kind"] for x in queries}) == 20


def test_categories_of_few_members_are_tried_once_for_each():
    space = {"kind": list(range(13)), "on": [False, True]}  # 26 members
    queries = asked_of(WDBO(space, random_state=0), lambda x: float(x["kind"] == 0), 30)
    assert np.bincount([x["kind"] for x in queries]).min() == 2


def test_categories_that_probably_violate_a_limit_are_not_tried_again():
    space, n_violations = {"x": ("real", 0.0, 1.0), "kind": list("abcde")}, 0
    loads = dict(zip("abcde", [0.2, 0.4, 0.6, 1.5, 1.3]))
    for seed in range(6):
        opt = WDBO(space, outcome_constraints={"load": (None, 1.0)}, random_state=seed)
        for t in range(30):
            x = opt.ask(float(t))
            load = loads[x["kind"]] + 0.2 * x["x"]
            opt.tell(x, -abs(x["x"] - 0.5), outcomes={"load": load})
            n_violations += load > 1.0
    assert 12 <= n_violations <= 22  # 15; two are of the first trials; 30 if all were tried again


def test_a_category_whose_best_place_is_elsewhere_is_found():
    heights, n_found = dict(zip("abcde", [0.6, 0.7, 1.0, 0.8, 0.5])), 0

    def value(x):
        best = (0.2, 0.3) if x["kind"] in "ce" else (0.8, 0.6)
        return heights[x["kind"]] * np.exp(
            -6.0 * ((x["x"] - best[0]) ** 2 + (x["y"] - best[1]) ** 2)
        )

    space = {"x": ("real", 0.0, 1.0), "y": ("real", 0.0, 1.0), "kind": list("abcde")}
    for algorithm in (WDBO, TVGPUCB):
        for seed in range(6):
            queries = asked_of(algorithm(space, random_state=seed), value, 45)
            n_found += [x["kind"] for x in queries[-5:]].count("c") >= 3
    assert n_found >= 7  # 10; with one trial of each category 2


@pytest.mark.parametrize(
    ("space", "options", "tried"),
    [
        (MIXED, {"constraints": lambda x: x["kind"] != "c"}, 7),
        (LARGE, {"constraints": lambda x: x["kind"] != 3}, 14),
        (MIXED, {"max_step": {"x": 0.1, "n": 0.2, "kind": 0.0, "on": 1.0}}, 1),
        (MIXED | {"kind": ("categorical", list("abcdefgh"), ["b", "d"])}, {}, 2),
        (MIXED | {"load": Context(0.0, 1.0)}, {}, 8),
    ],
)
def test_categories_that_are_excluded_are_not_tried(space, options, tried):
    opt, kinds = WDBO(space, random_state=0, **options), set()
    for t in range(18):
        context = {"load": 0.1 * (t % 5)} if "load" in space else None
        x = opt.ask(float(t), context)
        kinds.add(x["kind"])
        opt.tell(x, float(x["kind"] in (0, "b")), float(t), context=context)
    assert len(kinds) == tried


def test_a_repeated_member_is_left_by_one_query_of_a_batch():
    opt = GPUCB(FiniteSet(np.arange(30.0)[:, np.newaxis]), n_initial_points=2, random_state=0)
    for t, x in enumerate([0.0, 10.0, 20.0, 29.0] + [3.0] * 4):
        opt.tell([x], float(x == 3.0), float(t))
    first, second = (query.x[0] for query in opt.suggest(8.0, n=2))
    assert first != 3.0
    assert second == 3.0
