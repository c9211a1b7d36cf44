"""Constraints of an optimizer: no query breaks them, whatever the algorithm and the domain."""

import itertools

import numpy as np
import pytest
from contract.cases import ARMS, BY_NAME, KINDS, ask_and_tell, fingerprint, objective, same_state
from numpy.testing import assert_array_equal
from scipy.optimize import LinearConstraint, NonlinearConstraint

from sktvbo import WDBO
from sktvbo.domain import Constrained, Context, WithContext
from sktvbo.exceptions import DomainError

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
OTHERS = ("RandomSearch", "WDBO", "ABO", "thompson")

BY_DOMAIN = [(case.name, "box") for case in KINDS]
BY_DOMAIN += itertools.product(OTHERS, ("finite", "named"))


@pytest.mark.parametrize(("name", "domain"), BY_DOMAIN)
def test_no_query_breaks_them(name, domain):
    case, few = BY_NAME[name], {"n_initial_points": 4} if BY_NAME[name].modelled else {}
    opt = constrained(name, domain, **few)
    queries = case.drive(opt, 5, 0, domain)
    queries += [query.x for query in opt.suggest(5.0, n=2)]
    queries.append(opt.recommend(7.0))
    assert all(allowed(x, domain) for x in queries)
    free = case.make(domain, **few)
    assert not all(allowed(x, domain) for x in case.drive(free, 5, 0, domain))


def test_the_best_that_is_allowed_is_found():
    """Of a peak beyond the line, what is nearest on it; while it moves along."""
    opt = WDBO([(0.0, 1.0)] * 2, constraints=RULES["box"][0], n_initial_points=8, random_state=0)
    ask_and_tell(opt, 25, lambda x, t: -np.sum((x - [0.5 + 0.008 * t, 0.5]) ** 2))
    assert opt.recommend(25) == pytest.approx([0.4, 0.2], abs=0.02)


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


def test_a_constraint_that_fails_leaves_the_optimizer_as_it_was():
    broken = []

    def fragile(x):
        if broken:
            raise ArithmeticError("the simulator is down")
        return x[0] <= 0.5

    opt, twin = (
        WDBO([(0.0, 1.0)], constraints=fragile, n_initial_points=3, random_state=0)
        for _ in range(2)
    )
    for each in (opt, twin):
        ask_and_tell(each, 5, lambda x, t: 0.1 * t)
    broken.append(True)
    with pytest.raises(ArithmeticError):
        opt.ask(5.0)
    broken.clear()
    assert_array_equal(opt.ask(5.0), twin.ask(5.0))
    same_state(opt, twin)


# --- constraints that read the context ------------------------------------------------------------

# The more load, the less of the first coordinate: x <= 1 - load / 2.
IN_CONTEXT = {
    "box": WithContext([(0.0, 1.0), (0.0, 2.0)], [(0.0, 1.0)]),
    "finite": WithContext(ARMS, [(0.0, 1.0)]),
    "named": {"x": ("real", 0.0, 1.0), "load": Context(0.0, 1.0), "n": ("integer", 0, 3)},
}


def number(x, context):
    return 1.0 - 0.5 * context[0] - x[0]


def answer(x, context):
    return x[0] <= 1.0 - 0.5 * context[0]


def by_name(x, context):
    return x["x"] <= 1.0 - 0.5 * context["load"]


READING = {
    "number": number,
    "bool": answer,
    "by_name": by_name,
    "nonlinear": NonlinearConstraint(number, 0.0, np.inf),
    "linear": LinearConstraint([1.0, 0.0, 0.5], -np.inf, 1.0),
}


def reading(name, form, domain="box", **options):
    few = {"n_initial_points": 3} if BY_NAME[name].modelled else {}
    options = few | {"constraints": READING[form]} | options
    return BY_NAME[name].make(**options).set_params(domain=IN_CONTEXT[domain])


def context_at(load, domain):
    return {"load": load} if domain == "named" else [load]


def drive_in_contexts(opt, loads, domain="box", start=0):
    """Queries at the best of the first coordinate, which the constraint bounds; all are checked."""
    for t, load in enumerate(loads, start):
        query = opt.suggest(float(t), context=context_at(load, domain))
        first = query.x["x"] if domain == "named" else query.x[0]
        assert first <= 1.0 - 0.5 * load + 1e-12
        opt.tell(query, first)
    return opt


LOADS = 1.5 * np.random.RandomState(0).uniform(size=6)
OF_CONTEXT = [(name, "number", "box") for name in ("RandomSearch", "WDBO", "thompson")]
OF_CONTEXT += [("WDBO", form, "box") for form in ("bool", "linear", "nonlinear")]
OF_CONTEXT += [("WDBO", "linear", "finite"), ("WDBO", "by_name", "named")]


@pytest.mark.parametrize(("name", "form", "domain"), OF_CONTEXT)
def test_queries_satisfy_what_reads_the_context_in_theirs(name, form, domain):
    opt = drive_in_contexts(reading(name, form, domain), LOADS[:5], domain)
    loads = [0.1, 1.0, 0.8]
    batch = opt.suggest(6.0, n=3, context=[context_at(load, domain) for load in loads])
    found = [*(query.x for query in batch), opt.recommend(7.0, context=context_at(1.0, domain))]
    for x, load in zip(found, [*loads, 1.0]):
        assert (x["x"] if domain == "named" else x[0]) <= 1.0 - 0.5 * load + 1e-12
    assert drive_in_contexts(opt, [0.9], domain, start=8).n_told_ == 6


def test_the_best_query_of_a_random_search_is_one_that_is_allowed_in_the_context():
    opt = reading("RandomSearch", "number")
    for x in (0.2, 0.4, 0.9):
        opt.tell([x, 0.0], x, 0.0, context=0.0)
    assert [opt.recommend(1.0, context=load)[0] for load in (0.0, 1.0, 1.3)] == [0.9, 0.4, 0.2]


def test_a_step_limit_holds_in_every_context():
    opt = reading("WDBO", "bool", max_step=0.2)
    drive_in_contexts(opt, [0.3, 0.5, 0.7, 0.5, 0.3, 0.1])
    assert np.abs(np.diff(opt.told_X_[:, :2] / [1.0, 2.0], axis=0)).max() <= 0.2 + 1e-9
    opt.tell([1.0, 0.0], 1.0, 6.0, context=0.0)
    before = fingerprint(opt)
    # From here nothing within reach is allowed.
    with pytest.raises(DomainError, match=r"context \[1\.5\] must be .* reach\. Got .*none"):
        opt.ask(7.0, context=1.5)
    assert fingerprint(opt) == before
    assert 0.8 <= opt.ask(7.0, context=0.3)[0] <= 0.85


def test_a_context_in_which_nothing_is_allowed_is_an_error():
    for domain, form in (("box", "bool"), ("finite", "linear")):
        opt = drive_in_contexts(reading("WDBO", form, domain), LOADS[:4], domain)
        before = fingerprint(opt)
        for call in (opt.ask, opt.recommend):
            match = r"WDBO in the context \[3\.\] must be satisfied by some point of the domain"
            with pytest.raises(DomainError, match=match):
                call(9.0, context=[3.0])
        assert fingerprint(opt) == before


def test_a_start_point_waits_for_a_context_in_which_it_is_allowed():
    opt = reading("WDBO", "number", start_points=[[0.9, 0.5], [0.3, 0.5]])
    drive_in_contexts(opt, [1.0, 0.1, 1.0])
    assert (opt.told_X_[0, :2] != [0.9, 0.5]).any()
    assert_array_equal(opt.told_X_[1:, :2], [[0.9, 0.5], [0.3, 0.5]])


def test_what_reads_a_context_needs_one():
    for rule in (READING["number"], READING["nonlinear"]):
        with pytest.raises(DomainError, match=r"of x alone, without a context\. Got one of"):
            WDBO([(0.0, 1.0)] * 2, constraints=rule).ask(0.0)
        with pytest.raises(DomainError, match=r"Give it as constraints=\.\.\. of an optimizer"):
            Constrained([(0.0, 1.0)], rule)
    with pytest.raises(DomainError, match=r"A of shape \(1, 3\)"):
        WDBO([(0.0, 1.0)] * 2, constraints=READING["linear"]).ask(0.0)
    for rule, match in (
        (lambda x, context: context[5] > 0.0, "one that raises IndexError"),
        (lambda x, context: "yes", "must be real numbers"),
    ):
        with pytest.raises(DomainError, match=match):
            WDBO(IN_CONTEXT["box"], constraints=rule).ask(0.0, context=0.5)
    sky = {"x": ("real", 0.0, 1.0), "sky": Context(["sun", "rain"])}
    with pytest.raises(DomainError, match="Got a coefficient of a category of the context"):
        WDBO(sky, constraints=LinearConstraint([1.0, 1.0], 0.0, 1.0)).ask(0.0)


def test_a_second_argument_with_a_default_is_no_context():
    opt = WDBO(IN_CONTEXT["box"], constraints=lambda x, most=0.5: most - x[0], random_state=0)
    assert opt.ask(0.0, context=0.9)[0] <= 0.5
