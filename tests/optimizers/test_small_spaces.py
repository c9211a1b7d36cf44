"""Visits of all members of a discrete space, and of all categories."""

import numpy as np
import pytest

from sktvbo import (
    ABO,
    BOLT,
    ETGPUCB,
    GPUCB,
    RGPUCB,
    SWGPUCB,
    TVGPUCB,
    UITVBO,
    WDBO,
    WGPUCB,
)
from sktvbo.domain import Arms, Context, FiniteSet
from sktvbo.optimizers import _parts
from sktvbo.optimizers._durable import run_of
from sktvbo.optimizers._suggest import Choice

GRID = np.array([[i, j] for i in range(4) for j in range(5)], dtype=float)
ARMS = {"arm": [f"arm {i}" for i in range(9)]}


def asked_of(opt, value, n):
    """Return n queries; ``value`` is the objective."""
    queries = []
    for t in range(n):
        queries.append(opt.ask(float(t)))
        opt.tell(queries[-1], value(queries[-1]), float(t))
    return queries


def run_over_arms(seed, algorithm=WDBO):
    values = np.random.RandomState(seed).normal(size=9)
    opt = algorithm(ARMS, random_state=seed)
    return asked_of(opt, lambda x: values[ARMS["arm"].index(x["arm"])], 45)


def run_over_grid(seed, algorithm=WDBO):
    place = np.random.RandomState(seed).uniform(0.0, 4.0, 2)
    opt = algorithm(FiniteSet(GRID), random_state=seed)
    return asked_of(opt, lambda x: -((x - place) ** 2).sum(), 100)


@pytest.mark.parametrize(
    ("run", "algorithm", "size"),
    [("arms", WDBO, 9), ("arms", GPUCB, 9), ("grid", TVGPUCB, 20)],
)
def test_all_members_are_visited_within_five_times_as_many_steps(run, algorithm, size):
    queries = {"arms": run_over_arms, "grid": run_over_grid}[run](0, algorithm)
    assert len({tuple(x.values() if isinstance(x, dict) else x) for x in queries}) == size


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100))
def test_all_members_are_visited_with_100_seeds(seed):
    assert len({x["arm"] for x in run_over_arms(seed)}) == 9
    assert len({tuple(x) for x in run_over_grid(seed)}) == 20


def test_without_the_rule_members_are_not_visited(monkeypatch):
    monkeypatch.setattr(_parts, "_FEW_MEMBERS", 0)
    assert len({tuple(x) for x in run_over_grid(0)}) < 20


@pytest.mark.parametrize("seed", [1, 3])
def test_after_repeated_queries_a_new_member_of_a_larger_space_is_asked(seed):
    members = FiniteSet(np.random.RandomState(seed).uniform(size=(60, 2)))
    queries = asked_of(WDBO(members, random_state=seed), lambda x: -((x - 0.5) ** 2).sum(), 60)
    asked, n_turns = [members.index(x) for x in queries], 0
    for i in range(5, 60):
        before = asked[:i]
        if before[-1] == before[-2] and before.count(before[-1]) in (4, 8, 16, 32):
            assert asked[i] not in before
            n_turns += 1
    assert n_turns >= 4
    # After every repeated query it would be 23 members.
    assert len(set(asked)) <= 16


def test_other_spaces_have_the_same_queries(monkeypatch):
    def queries():
        box = asked_of(WDBO([(0.0, 4.0)], random_state=0), lambda x: -((x[0] - 1.0) ** 2), 12)
        larger = FiniteSet(np.vstack([GRID, [[9.0, 9.0]]]))
        return box, asked_of(WDBO(larger, random_state=0), lambda x: -((x - 1.0) ** 2).sum(), 20)

    found = queries()
    monkeypatch.setattr(_parts, "_FEW_MEMBERS", 0)
    for queried, expected in zip(found, queries()):
        np.testing.assert_array_equal(queried, expected)


def test_failed_and_pending_queries_are_visits():
    opt = WDBO(FiniteSet(GRID[:8]), random_state=0)
    n_failed = 0
    for t in range(60):
        x = opt.ask(float(t))
        if tuple(x) == tuple(GRID[7]):
            n_failed += 1
            opt.tell(x, t=float(t), failed=True)
        else:
            opt.tell(x, -(x**2).sum(), float(t))
    assert 1 <= n_failed <= 3
    opt = WDBO(FiniteSet(GRID[:8]), random_state=0)
    asked_of(opt, lambda x: -(x**2).sum(), 6)
    assert (
        len(
            {
                tuple(x)
                for x in [*opt.told_X_[:, :-1], *(query.x for query in opt.suggest(60.0, 20))]
            }
        )
        == 8
    )


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
        x = opt.ask(float(t), context=context)
        visited.add((x["arm"], context["load"]))
        opt.tell(x, float(int(x["arm"][4:]) == 3), float(t), context=context)
    assert len(visited) == 18


def narrowed_to(opt, queries, t=None):
    """Space that visits leave for the query after some others of a batch, at a time or now."""
    run = run_of(opt)
    t = run.time.now if t is None else t
    choice = Choice(run, run.query_surrogate.at(t), t, None, queries=queries)
    return run.part("visits").narrow(choice, run.domain.search_space())


def narrowed(opt, queries, t=None):
    """Number of members of this space."""
    return narrowed_to(opt, queries, t).size


@pytest.mark.parametrize("history", [None, 0])
def test_a_visit_counts_for_as_many_steps_as_the_run_was_old(history):
    opt = GPUCB(Arms(3), history=history, random_state=0)
    opt.tell_many(np.repeat([[0.0], [1.0], [2.0]], 40, axis=0), np.zeros(120), np.arange(120.0))
    at_turn = [([2.0], 200.0)] * 4
    assert narrowed(opt, at_turn) == 1  # arm 0, visited until step 39
    assert narrowed(opt, at_turn[1:]) == 3
    opt.tell([0.0], 0.0, 120.0)
    assert narrowed(opt, at_turn) == 3  # arm 1, visited until step 79, is not due before step 158
    opt.tell_many(np.full((34, 1), 2.0), np.zeros(34), np.arange(121.0, 155.0))
    assert narrowed(opt, at_turn) == 1


def test_in_a_young_run_a_visit_counts_for_fifty_observations():
    opt, at_turn = GPUCB(Arms(4), random_state=0), [([2.0], 200.0)] * 4
    opt.tell_many(np.repeat([[0.0], [1.0], [2.0]], 10, axis=0), np.zeros(30), np.arange(30.0))
    assert narrowed(opt, at_turn) == 1  # arm 3, never visited
    opt.tell([3.0], 0.0, 30.0)
    assert narrowed(opt, at_turn) == 4
    opt.tell_many(np.full((23, 1), 2.0), np.zeros(23), np.arange(31.0, 54.0))
    assert narrowed(opt, at_turn) == 4
    opt.tell([2.0], 0.0, 54.0)
    assert narrowed(opt, at_turn) == 1  # arm 0, visited until step 9


def test_what_is_known_to_violate_a_limit_is_visited_again_once_that_is_forgotten():
    opt = TVGPUCB(Arms(3), outcome_constraints={"g": (None, 1.0)}, random_state=0)
    arms, y = np.repeat([0.0, 1.0, 2.0], 40), 0.1 * np.random.RandomState(0).normal(size=120)
    outcomes = {"g": 0.1 * y + 2.0 * (arms == 0.0)}
    opt.tell_many(arms[:, np.newaxis], y, np.arange(120.0), outcomes=outcomes)
    at_turn = [([2.0], 200.0)] * 4
    assert narrowed(opt, at_turn, 120.0) == 3
    assert narrowed(opt, at_turn, 1e6) == 1  # arm 0, visited until step 39


@pytest.mark.parametrize("kind", [GPUCB, TVGPUCB, pytest.param(WDBO, marks=pytest.mark.slow)])
def test_a_violator_that_no_model_forgets_is_visited_after_150_observations(kind):
    opt = kind(Arms(3), outcome_constraints={"g": (None, 1.0)}, refit_every=1000, random_state=0)
    arms, at_turn = np.append(np.zeros(5), np.resize([1.0, 2.0], 145)), [([2.0], 200.0)] * 4
    y = 0.1 * np.random.RandomState(0).normal(size=150)
    for part, size in ((slice(145), 3), (slice(145, 150), 1)):  # arm 0, visited until step 4
        outcomes = {"g": 0.1 * y[part] + 2.0 * (arms[part] == 0.0)}
        opt.tell_many(arms[part, np.newaxis], y[part], np.arange(150.0)[part], outcomes=outcomes)
        assert narrowed(opt, at_turn) == size
        assert opt.probability_feasible([[0.0]], 150.0)[0] < 0.05


@pytest.mark.parametrize(("outcome", "others"), [(2.0, [1.0, 1.0]), (0.0, [0.0, 0.0])])
def test_a_category_that_is_known_to_violate_a_limit_is_not_tried(monkeypatch, outcome, others):
    monkeypatch.setattr(_parts, "_N_LATEST", 10)  # "c" counts as untried
    space = {"kind": ["a", "b", "c"], "n": ("integer", 0, 6)}
    opt = GPUCB(space, outcome_constraints={"g": (None, 1.0)}, random_state=0)
    for t in range(20):
        x = {"kind": "c" if t < 10 else "ab"[t % 2], "n": t % 7}
        opt.tell(x, 0.01 * t, float(t), outcomes={"g": outcome * (t < 10) + 0.001 * t})
    assert narrowed_to(opt, ()).upper.tolist() == [*others, 1.0, 1.0]


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


@pytest.mark.parametrize(
    ("algorithm", "space"),
    [
        (WDBO, Arms(5)),
        (WGPUCB, PAIRS),
        (SWGPUCB, FIVE),
        *(
            pytest.param(algorithm, space, marks=pytest.mark.slow)
            for algorithm, space in (
                (UITVBO, Arms(5)),
                (ABO, FIVE),
                (BOLT, PAIRS),
                (TVGPUCB, FIVE),
                (RGPUCB, Arms(5)),
                (ETGPUCB, PAIRS),
            )
        ),
    ],
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
    for t in range(4):
        opt.tell([3.0], 0.0, float(t))
    assert narrowed(opt, ()) == 29
    assert narrowed(opt, (([5.0], 4.0),)) == 30
