"""Rare feasible sets: equations between integers, products, slow functions, what is known."""

import itertools
import math

import numpy as np
import pytest
from scipy.optimize import LinearConstraint, NonlinearConstraint

from sktvbo import ABO, WDBO, RandomSearch
from sktvbo.domain import Constrained, Context, Vectorized, _rules
from sktvbo.domain._lattice import _kernel, _reduced, _without_reals
from sktvbo.domain._one_query import of_one_query
from sktvbo.exceptions import DomainError


def integers(names, low=0, high=100):
    return dict.fromkeys(names, ("integer", low, high))


def total(p, names="abcde"):
    return sum(p[name] for name in names)


EQUAL = LinearConstraint([1, -1], 0, 0)
WHOLE = LinearConstraint(np.ones(5), 100, 100)
LISTED = [0.0, 2.5, 5.0, 10.0, 20.0, 40.0, 80.0]

# By name: parameters, constraints, and a check of a point written down on its own.
CASES = {
    "percentages": (integers("abcde"), WHOLE, lambda p: total(p) == 100),
    "equal": (integers("ab", 0, 999), EQUAL, lambda p: p["a"] == p["b"]),
    "coins": (
        integers("ab", 0, 1000),
        LinearConstraint([3, 5], 1000, 1000),
        lambda p: 3 * p["a"] + 5 * p["b"] == 1000,
    ),
    "two equations": (
        integers("abcde"),
        [WHOLE, LinearConstraint([1, 2, 3, 4, 5], 250, 250)],
        lambda p: (
            total(p) == 100 and p["a"] + 2 * p["b"] + 3 * p["c"] + 4 * p["d"] == 250 - 5 * p["e"]
        ),
    ),
    "with a real": (
        integers("abc", 0, 200) | {"r": ("real", 0.0, 1.0), "kind": ["u", "v"]},
        LinearConstraint([[1, 1, 1, 2.5, 0], [1, -1, 0, 0, 0]], [150.5, -5], [150.5, 5]),
        lambda p: abs(total(p, "abc") + 2.5 * p["r"] - 150.5) < 1e-6 and abs(p["a"] - p["b"]) <= 5,
    ),
    "steps of five": (
        {name: ("ordinal", list(range(0, 101, 5))) for name in "abcde"},
        WHOLE,
        lambda p: total(p) == 100,
    ),
    "listed": (
        dict.fromkeys("abcdefg", ("discrete", LISTED)),
        LinearConstraint(np.ones(7), 100.0, 100.0),
        lambda p: abs(total(p, "abcdefg") - 100.0) < 1e-9,
    ),
    "and a function": (
        integers("abcde"),
        [WHOLE, lambda p: p["a"] >= 2 * p["b"]],
        lambda p: total(p) == 100 and p["a"] >= 2 * p["b"],
    ),
    "product": (
        integers("ab", 1, 2000),
        NonlinearConstraint(lambda p: p["a"] * p["b"], 7200, 7200),
        lambda p: p["a"] * p["b"] == 7200,
    ),
    "product by answer": (
        integers("ab", 1, 400),
        lambda p: p["a"] * p["b"] == 720,
        lambda p: p["a"] * p["b"] == 720,
    ),
}
MADE = {name: Constrained(space, rule) for name, (space, rule, _) in CASES.items()}
each = pytest.mark.parametrize("name", CASES)


@each
def test_members_are_found_and_differ(name):
    domain, is_member = MADE[name], CASES[name][2]
    plain = domain.domain
    assert np.mean([*map(is_member, plain.decode_all(plain.sample(300, 0)))]) < 0.03
    points = domain.decode_all(domain.sample(30, 0))
    assert all(map(is_member, points))
    assert len({str(point) for point in points}) >= 8
    space = domain.search_space()
    U = space.candidates(128, 0)
    assert all(map(is_member, domain.decode_all(domain.from_unit(U))))
    near = np.vstack([space.neighbours(u) for u in U[:12]])
    assert len(near)
    assert all(map(is_member, domain.decode_all(domain.from_unit(near))))


@pytest.mark.parametrize("value", [0, 1, 51, 89, 99, 100])
@pytest.mark.parametrize("name", ["percentages", "steps of five", "and a function"])
def test_each_value_that_some_member_has_may_be_fixed(name, value):
    if name == "steps of five":
        value -= value % 5
    domain, is_member = MADE[name], CASES[name][2]
    here = of_one_query(domain, {"a": value}, None)
    points = here.decode_all(here.from_unit(here.search_space().candidates(64, 0)))
    assert all(is_member(point) and point["a"] == value for point in points)
    with pytest.raises(DomainError, match="values of some point of the domain"):
        of_one_query(domain, {"a": 100, "c": 50}, None)


def test_listed_values_are_available_in_rare_sets():
    here = of_one_query(MADE["percentages"], {"b": 3}, {"a": [17, 60], "c": [0, 4]})
    points = here.decode_all(here.from_unit(here.search_space().candidates(64, 0)))
    assert {point["a"] for point in points} == {17, 60}
    assert all(p["b"] == 3 and p["c"] in (0, 4) and total(p) == 100 for p in points)


@pytest.mark.parametrize("kind", [RandomSearch, WDBO, ABO])
@pytest.mark.parametrize("options", [{}, {"max_step": 0.1}], ids=["free", "steps"])
def test_runs_stay_in_rare_sets(kind, options):
    space, rule, is_member = CASES["percentages"]
    opt = kind(space | {"load": Context(0, 1)}, constraints=rule, random_state=0, **options)
    asked = []
    for t in range(9):
        query = opt.suggest(t, context={"load": 0.1 * t})
        asked.append(query.x)
        opt.tell(query, -((query.x["a"] - 40.0) ** 2))
    asked += [query.x for query in opt.suggest(20, n=2, context={"load": 0.5})]
    asked.append(opt.recommend(20, context={"load": 0.5}))
    assert all(map(is_member, asked))
    assert len({str(x) for x in asked}) >= 6
    steps = np.abs(np.diff(opt.told_X_[:, :5], axis=0)).max()
    assert steps <= 10 if options else steps > 10


def test_the_best_of_a_rare_set_is_found():
    opt = WDBO(*CASES["percentages"][:1], constraints=WHOLE, random_state=0)
    best = np.array([40, 30, 20, 10, 0])
    for t in range(45):
        x = opt.ask(t)
        opt.tell(x, -1e-3 * np.sum((np.array(list(x.values())) - best) ** 2))
    found = np.array(list(opt.recommend(45).values()))
    assert np.abs(found - best).max() <= 4


# --- what is known --------------------------------------------------------------------------------


def hidden(p):
    """Nobody knows where this holds: 1 member of 10 million."""
    return 7 * p["a"] + 11 * p["b"] == 13 * p["c"] and p["c"] > 100


KNOWN = {"a": 228, "b": 5, "c": 127}
LARGE = integers("abc", 0, 999)


def test_where_none_is_found_the_remedies_are_named():
    opt = WDBO(LARGE, constraints=lambda p: hidden(p) and p["c"] == 127, random_state=0)
    with pytest.raises(DomainError, match=r"found none instead.*give it in start_points, or tell"):
        opt.ask(0)
    sure = WDBO(integers("ab", 0, 999), constraints=LinearConstraint([2, 4], 7, 7))
    with pytest.raises(DomainError, match="Got linear ones that none satisfies"):
        sure.tell({"a": 1, "b": 1}, 0.0, t=0.0)


@pytest.mark.parametrize("seed", ["start", "told", "pending"])
def test_known_points_lead_to_others(seed):
    assert hidden(KNOWN)
    options = {"start_points": [KNOWN]} if seed == "start" else {}
    opt = WDBO(LARGE, constraints=hidden, n_initial_points=3, random_state=0, **options)
    if seed == "told":
        opt.tell(KNOWN, 1.0, t=0.0)
    elif seed == "pending":
        opt.announce(KNOWN, t=0.0)
    asked = []
    for t in range(5):
        asked.append(opt.ask(t))
        opt.tell(asked[-1], -asked[-1]["a"])
    assert all(map(hidden, asked))
    assert len({str(x) for x in asked}) >= 4


# --- functions that are slow, and functions of many points ----------------------------------------


class Counted:
    """A function that counts its calls."""

    def __init__(self, function):
        self.function, self.n_calls = function, 0

    def __call__(self, x):
        self.n_calls += 1
        return self.function(x)


SLOW = {
    "number": lambda x: 1.0 - x.sum(),
    "answer": lambda x: bool(x.sum() <= 1.0),
}


@pytest.mark.parametrize("form", SLOW)
@pytest.mark.parametrize("options", [{}, {"max_step": 0.2}], ids=["free", "steps"])
@pytest.mark.parametrize("kind", [RandomSearch, WDBO])
def test_a_slow_function_is_called_few_times(form, options, kind, monkeypatch):
    monkeypatch.setattr(_rules, "_SLOW", 0.0)
    rule = Counted(SLOW[form])
    opt, most = kind([(0.0, 1.0)] * 3, constraints=rule, random_state=0, **options), []
    for t in range(12):
        rule.n_calls = 0
        x = opt.ask(t)
        most.append(rule.n_calls)
        assert x.sum() <= 1.0
        opt.tell(x, -np.sum((x - 0.5) ** 2))
    rule.n_calls = 0
    opt.recommend(12)
    assert max(*most, rule.n_calls) <= 200
    assert max(most) >= 5


@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("form", ["number", "answer", "nonlinear"])
def test_one_call_answers_for_many_points(named, form):
    def of_columns(X):
        a, b = (X["a"], X["b"]) if named else X.T
        return a + b <= 7.0 if form == "answer" else 7.0 - a - b

    def of_point(x):
        a, b = (x["a"], x["b"]) if named else x
        return bool(a + b <= 7.0) if form == "answer" else 7.0 - a - b

    space = {"a": ("real", 0, 10), "b": ("integer", 0, 10)} if named else [(0.0, 10.0)] * 2
    counted = Counted(of_columns)
    many, one = Vectorized(counted), of_point
    if form == "nonlinear":
        many, one = (NonlinearConstraint(rule, 0.0, np.inf) for rule in (many, one))
    domains = [Constrained(space, rule) for rule in (many, one)]
    counted.n_calls = 0
    np.testing.assert_array_equal(*(domain.sample(40, 0) for domain in domains))
    assert counted.n_calls <= 4
    np.testing.assert_allclose(*(domain.search_space().candidates(64, 0) for domain in domains))


def test_a_function_of_many_points_may_read_a_context():
    opt = WDBO(
        {"x": ("real", 0.0, 1.0), "load": Context(0.0, 1.0)},
        constraints=Vectorized(lambda X, context: X["x"] <= 1.0 - 0.5 * context["load"]),
    )
    assert opt.ask(0.0, context={"load": 1.0})["x"] <= 0.5


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda X: True, "one for each point. Got bool of shape"),
        (lambda X: X[:, :2], r"one for each point. Got shape \(1, 2\)"),
        (lambda X: "yes", "one for each point"),
    ],
)
def test_what_is_not_one_answer_a_point_is_refused(function, message):
    with pytest.raises(DomainError, match=message):
        Constrained([(0.0, 1.0)] * 3, Vectorized(function))


def test_a_function_of_many_points_that_is_not_declared_names_the_remedy():
    with pytest.raises(DomainError, match=r"at once as Vectorized\(function\)"):
        Constrained([(0.0, 1.0)] * 2, lambda X: X[:, 0] <= 0.5)


# --- the lattice ----------------------------------------------------------------------------------


COEFFICIENTS = np.array([3, 5, -7, 2])
SCALES = [1e-9, 1e-7, 1.0, 1e7, 1e9, 1e9 / 3.0]


def scaled(scale, **other):
    """Return a domain with an equation between numbers, times a scale."""
    equation = LinearConstraint(scale * COEFFICIENTS, scale * 50, scale * 50)
    return Constrained(integers("abcd") | other, equation)


@pytest.mark.parametrize("scale", SCALES)
def test_steps_are_the_same_at_any_scale_of_an_equation(scale):
    spaces = [scaled(each).search_space() for each in (1.0, scale)]
    expected, found = (space.feasible._lattice.steps for space in spaces)
    assert len(found)
    assert not (found @ COEFFICIENTS).any()
    np.testing.assert_array_equal(found, expected)
    u = spaces[0].candidates(1, 0)[0]
    np.testing.assert_array_equal(*(space.neighbours(u) for space in spaces))


def test_integers_of_any_size_are_exact_coefficients():
    matrix = [[10.0**9 + 7, 10.0**9 + 9, -1.0]]
    assert _without_reals([[]], matrix) == matrix


@pytest.mark.parametrize("seed", range(8))
def test_the_lattice_is_all_of_the_kernel(seed):
    rng = np.random.RandomState(seed)
    m, n = rng.randint(1, 4), 5
    matrix = rng.randint(-9, 10, size=(m, n))
    basis = np.array(_reduced(_kernel(matrix.tolist(), n)), dtype=np.int64)
    rank = np.linalg.matrix_rank(matrix)
    assert basis.shape == (n - rank, n)
    assert not (matrix @ basis.T).any()
    # A basis of a part of the kernel alone would have minors with a common divisor.
    columns = itertools.combinations(range(n), n - rank)
    minors = [round(np.linalg.det(basis[:, list(chosen)])) for chosen in columns]
    assert math.gcd(*minors) == 1


# --- integer programs -----------------------------------------------------------------------------


IDS = "integers", "a real", "listed"


@pytest.mark.parametrize("other", [{}, {"d": ("real", 0, 1)}, {"d": ("discrete", LISTED)}], ids=IDS)
@pytest.mark.parametrize("scale", SCALES)
def test_programs_are_solved_at_any_scale_of_an_equation(scale, other, capfd):
    domain = scaled(scale, **dict.fromkeys("abc", ("integer", 0, 1000)) | other)
    rows = domain.domain.sample(6, 0)
    near = np.array([domain.search_space().feasible._program.near(row) for row in rows])
    gaps = domain.domain.numbers(near) @ COEFFICIENTS - 50
    np.testing.assert_allclose(gaps, 0.0, atol=1e-5)
    assert not any(capfd.readouterr())
