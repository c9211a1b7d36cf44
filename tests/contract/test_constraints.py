"""Constraints of an optimizer: no query breaks them, whatever the algorithm and the domain."""

import itertools

import numpy as np
import pytest
from contract.cases import ARMS, BY_NAME, ask_and_tell, objective, same_state
from numpy.testing import assert_array_equal
from scipy.optimize import LinearConstraint, NonlinearConstraint

from sktvbo import ABO, GPUCB, WDBO, RandomSearch
from sktvbo.acquisition import ThompsonSampling
from sktvbo.exceptions import AskTellError

# The bump of the cases moves into what may not be queried.
RULES = {
    "box": [LinearConstraint([1.0, 1.0], -np.inf, 0.6), lambda x: x[0] - 0.1],
    "finite": [LinearConstraint([1.0, 1.0], 0.6, 1.2)],
    "named": [lambda p: p["rate"] * p["depth"] <= 1.5, lambda p: p["loss"] != "l1"],
}


def allowed(x, domain):
    if domain == "box":
        return x[0] + x[1] <= 0.6 and x[0] >= 0.1
    if domain == "finite":
        return 0.6 <= x.sum() <= 1.2
    return p_allowed(x)


def p_allowed(p):
    return p["rate"] * p["depth"] <= 1.5 and p["loss"] != "l1"


def constrained(name, domain="box", **options):
    return BY_NAME[name].make(domain, constraints=RULES[domain], **options)


# Of places and named parameters the algorithms that search in their own ways.
BY_DOMAIN = [(name, "box") for name in BY_NAME]
BY_DOMAIN += itertools.product(("RandomSearch", "WDBO", "ABO", "thompson"), ("finite", "named"))


@pytest.mark.parametrize(("name", "domain"), BY_DOMAIN)
def test_no_query_breaks_them(name, domain):
    case, few = BY_NAME[name], {"n_initial_points": 4} if BY_NAME[name].modelled else {}
    opt = constrained(name, domain, **few)
    queries = case.drive(opt, 6, 0, domain)
    queries += [query.x for query in opt.suggest(6.0, n=2)]
    queries.append(opt.recommend(7.0))
    assert all(allowed(x, domain) for x in queries)
    free = case.make(domain, **few)
    assert not all(allowed(x, domain) for x in case.drive(free, 6, 0, domain))


def test_the_best_that_is_allowed_is_found():
    """Of a peak beyond the line, what is nearest on it; while it moves along."""
    opt = WDBO([(0.0, 1.0)] * 2, constraints=RULES["box"][0], n_initial_points=8, random_state=0)
    ask_and_tell(opt, 40, lambda x, t: -np.sum((x - [0.5 + 0.005 * t, 0.5]) ** 2))
    assert opt.recommend(40) == pytest.approx([0.4, 0.2], abs=0.02)


def test_what_breaks_them_may_be_told():
    opt = constrained("WDBO")
    for t in range(8):
        opt.tell([1.5, 0.5], 1.0 - 0.01 * t, t)
        opt.tell([0.2, -0.5 + 0.01 * t], 0.0, t)
    assert opt.n_told_ == 16
    assert allowed(opt.ask(8.0), "box")
    assert allowed(opt.recommend(8.0), "box")
    finite = constrained("TVGPUCB-fixed", "finite")  # whose posterior is kept at every member
    for t, x in enumerate(ARMS.points):
        finite.tell(x, objective(x, t, "finite"), t)
    assert allowed(finite.ask(12.0), "finite")


def test_the_best_query_of_a_random_search_is_one_that_is_allowed():
    opt = RandomSearch([(0.0, 1.0)], constraints=lambda x: x[0] <= 0.5, random_state=0)
    opt.tell([0.9], 5.0, 0.0)
    with pytest.raises(AskTellError, match=r"at least 1 in the domain that .* Got none that does"):
        opt.recommend(0.0)
    opt.tell([0.3], 1.0, 0.0)
    opt.tell([0.4], 0.0, 0.0)
    assert opt.recommend(0.0) == [0.3]


def test_a_constraint_that_fails_leaves_the_optimizer_as_it_was():
    broken = []

    def fragile(x):
        if broken:
            raise ArithmeticError("the simulator is down")
        return x[0] <= 0.5

    opt = WDBO([(0.0, 1.0)], constraints=fragile, n_initial_points=3, random_state=0)
    twin = WDBO([(0.0, 1.0)], constraints=fragile, n_initial_points=3, random_state=0)
    for t in range(5):
        for o in (opt, twin):
            o.tell(o.ask(t), 0.1 * t)
    broken.append(True)
    with pytest.raises(ArithmeticError):
        opt.ask(5.0)
    broken.clear()
    assert_array_equal(opt.ask(5.0), twin.ask(5.0))
    same_state(opt, twin)


@pytest.mark.slow
def test_no_infeasible_query_in_ten_thousand():
    """Over three problems: a wedge with an equation, a thin ring, and named parameters."""
    line = LinearConstraint([[1.0, 1.0, 0.0], [1.0, -1.0, 1.0]], [-np.inf, 0.2], [0.9, 0.2])
    ring = NonlinearConstraint(lambda x: x @ x, 0.8, 1.0)
    problems = {
        "linear": (
            [(0.0, 1.0)] * 3,
            line,
            lambda x: x[0] + x[1] <= 0.9 + 1e-9 and abs(x[0] - x[1] + x[2] - 0.2) <= 1e-9,
        ),
        "ring": ([(-2.0, 2.0)] * 2, ring, lambda x: 0.8 <= x @ x <= 1.0),
        "named": (BY_NAME["WDBO"].make("named").domain, RULES["named"], p_allowed),
    }
    kinds = [
        (RandomSearch, {}, 300),
        (GPUCB, {"n_initial_points": 10}, 9),
        (WDBO, {"n_initial_points": 10}, 9),
        (ABO, {"n_initial_points": 10}, 9),
        (GPUCB, {"n_initial_points": 10, "acquisition": ThompsonSampling()}, 9),
    ]
    n, rng = 0, np.random.RandomState(0)
    for domain, rules, check in problems.values():
        for kind, options, n_batches in kinds:
            opt = kind(domain, constraints=rules, random_state=0, **options)
            for t in range(n_batches):
                queries = opt.suggest(10.0 * t, n=10)
                assert all(check(query.x) for query in queries)
                for query in queries:
                    opt.tell(query, rng.normal())
                n += len(queries)
    assert n >= 10_000
