"""Places that are known to violate a limit of an outcome are not asked again."""

import numpy as np
import pytest

from sktvbo import ABO, BOLT, GPUCB, IGPUCB, SWGPUCB, TVGPUCB, UITVBO, WDBO, WGPUCB
from sktvbo.domain import Arms, Context, FiniteSet

# Value and outcome of each member; the best value is beyond the limit of 0.6.
MEMBERS = np.array([[0.1, 0.2], [0.3, 0.2], [0.5, 0.3], [0.9, 0.9], [0.7, 0.4]])
LETTERS = list("abcde")


def of_member(x):
    return MEMBERS[LETTERS.index(x["arm"]) if isinstance(x, dict) else int(x[0])]


def of_point(x):
    return np.array([0.1 * (x[0] + x[1]), 0.13 * x[0] + 0.25 * (x[0] > 2.5)])


def of_number(x):
    return np.array([0.05, 0.06]) * x["n"]


def of_corner(x):
    total = np.sum(x)
    return np.array([2.0 if total > 0.9 else 0.5 - total, 0.7 * total])


SPACES = {
    "arms": (Arms(5), of_member),
    "categories": ({"arm": LETTERS}, of_member),
    "points": (FiniteSet([[i, j] for i in range(5) for j in range(4)]), of_point),
    "integers": ({"n": ("integer", 0, 20)}, of_number),
    "line": ([(0.0, 1.0)], of_corner),
    "corner": ([(0.0, 1.0)] * 2, of_corner),
    "batches": (Arms(5), of_member),
    "context": ({"arm": LETTERS, "load": Context("real", 0.0, 1.0)}, of_member),
}


def asked(name, kind, n, size=1, shift=lambda t: 0.0, **options):
    """Return the outcomes (n,) of queries, and the probabilities that they are within the limit."""
    (space, measured), rng, found, t = SPACES[name], np.random.RandomState(0), [], -1.0
    opt = kind(space, outcome_constraints={"g": (None, 0.6)}, random_state=0, **options)
    known = []
    while len(found) < n:
        context = {"load": rng.uniform()} if name == "context" else None
        queries = (
            opt.suggest(t + 1.0, size) if size > 1 else [opt.suggest(t + 1.0, context=context)]
        )
        places = [query.x for query in queries]
        if opt.surrogate_ is None:
            known.extend([1.0] * len(places))
        else:
            known.extend(opt.probability_feasible(places, queries[0].t, context=context))
        for query in queries:
            y, g = measured(query.x) + np.array([0.0, shift(query.t)])
            found.append(g)
            y, g = [y, g] + 0.02 * rng.standard_normal(2)
            opt.tell(query, y, outcomes={"g": g})
        t = max(query.t for query in queries)
    return np.array(found), np.array(known)


def bound(mean, std, state):
    return mean + std, 1.0, 1.0


# Each space, and each algorithm that does not drop all of its data at once.
CASES = [
    ("categories", SWGPUCB, {"window": 60}),
    ("line", UITVBO, {}),
    ("batches", WGPUCB, {"size": 5}),
    ("context", IGPUCB, {}),
]
MORE = [
    ("arms", GPUCB, {}),
    ("integers", TVGPUCB, {}),
    ("arms", WDBO, {"acquisition": "ts"}),
    *((name, WDBO, {"size": 4} if name == "batches" else {}) for name in SPACES),
    ("line", ABO, {}),
    ("points", BOLT, {}),
    ("corner", GPUCB, {}),
    ("corner", WDBO, {"acquisition": bound}),
]
MORE = [pytest.param(*case, marks=pytest.mark.slow) for case in MORE if case not in CASES]


@pytest.mark.parametrize(("name", "kind", "options"), [*CASES, *MORE])
def test_known_violators_are_not_asked_again(name, kind, options):
    outcomes, known = asked(name, kind, 36, **options)
    assert (known >= 0.05).all()
    assert (outcomes > 0.6).sum() <= 9


@pytest.mark.slow
@pytest.mark.parametrize("name", ["arms", "categories"])
@pytest.mark.parametrize("kind", [WDBO, GPUCB, TVGPUCB])
def test_a_violator_is_asked_at_most_three_times_of_100(name, kind):
    beyond = asked(name, kind, 100)[0] > 0.6
    assert beyond.sum() <= 3
    assert not beyond[50:].any()


@pytest.mark.parametrize(
    "kind", [TVGPUCB, *(pytest.param(kind, marks=pytest.mark.slow) for kind in (WDBO, SWGPUCB))]
)
def test_a_violator_that_is_allowed_again_is_found(kind):
    found, _ = asked("arms", kind, 60, shift=lambda t: -0.6 * (t >= 30.0))
    assert np.mean(np.isclose(found[40:], 0.3)) > 0.7  # the best member
