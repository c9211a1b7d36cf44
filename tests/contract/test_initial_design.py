"""Queries before there is a surrogate, with n_initial_points="auto"; answers from the first on."""

from itertools import cycle

import numpy as np
import pytest
from contract.cases import (
    ALGORITHMS,
    BOX,
    BY_NAME,
    DOMAINS,
    NAMED,
    ask_and_tell,
    points,
    points_of,
    space,
)
from numpy.testing import assert_allclose, assert_array_equal
from papers.cases import HORIZONS
from scipy.optimize import LinearConstraint
from scipy.spatial.distance import pdist
from scipy.stats import qmc

from sktvbo import GPUCB, WDBO, RandomSearch, papers
from sktvbo.domain import Arms, Context, FiniteSet, as_domain
from sktvbo.exceptions import AskTellError

OFTEN = ("WDBO", "ABO", "ETGPUCB", "WGPUCB", "SparQGPUCB-expert", "mean")

N_AUTO = 3


def make(name, domain="box", **options):
    return BY_NAME[name].make(domain, n_initial_points="auto", **options)


@pytest.mark.parametrize(("name", "domain"), [*zip(OFTEN, cycle(DOMAINS))])
def test_answers_from_the_first_observation_on(name, domain):
    opt = make(name, domain)
    places = space(domain).decode_all(space(domain).sample(4, 0))
    for t in range(6):
        BY_NAME[name].drive(opt, 1, t, domain)
        assert (opt.surrogate_ is not None) == (t + 1 >= N_AUTO)
        state = opt.to_json() if t + 1 < N_AUTO else None
        assert space(domain).contains(opt.recommend(t))
        mean, std = opt.predict(places, t, return_std=True)
        assert np.isfinite(mean).all()
        assert (std > 0.0).all()
        assert state in (None, opt.to_json())  # an answer changes nothing
    X = space(domain).to_unit(opt.told_X_[:N_AUTO, :-1])
    assert pdist(X).min() > 0.2


@pytest.mark.parametrize("n_initial_points", ["auto", 9])
def test_one_observation_is_what_is_predicted(n_initial_points):
    opt = GPUCB(BOX, n_initial_points=n_initial_points, maximize=False, random_state=0)
    for ask in (opt.recommend, lambda t: opt.predict([1.0, 0.0], t)):
        with pytest.raises(AskTellError, match=r"must be at least 1\. Got 0"):
            ask(0.0)
    x = opt.ask(0.0)
    opt.tell(x, 1e6)
    assert opt.predict(x, 0.0) == pytest.approx(1e6)
    worse = [0.1, -0.9]
    opt.tell(worse, 1e6 + 5.0, 1.0)
    # The mean is lower still a little farther from the worse of both.
    found = opt.recommend(1.0)
    assert np.linalg.norm(found - x) < 0.5 * np.linalg.norm(found - worse)
    assert opt.surrogate_ is None
    opt.untell(), opt.untell()
    with pytest.raises(AskTellError, match="Got 0"):
        opt.recommend(1.0)


@pytest.mark.parametrize("name", OFTEN)
def test_a_constant_is_no_obstacle(name):
    opt = make(name)
    found = ask_and_tell(opt, 8, lambda x, t: 1e3)
    assert opt.predict([1.0, 0.0], 8.0) == pytest.approx(1e3)
    # The posterior mean alone is the same everywhere.
    assert len(np.unique(found, axis=0)) == (N_AUTO if name == "mean" else 8)


def test_initial_points_are_spread_better_than_uniform_ones():
    def design(n_initial_points, seed):
        opt = GPUCB([(0.0, 1.0)] * 2, n_initial_points=n_initial_points, random_state=seed)
        return points_of(opt.suggest(0.0, n=6))

    spread, uniform = (np.array([design(n, seed) for seed in range(40)]) for n in ("auto", 9))
    for each in (spread, uniform):
        assert_allclose(each[:, 0].mean(axis=0), 0.5, atol=0.15)  # anywhere
    gaps = [np.mean([pdist(X).min() for X in each]) for each in (spread, uniform)]
    assert gaps[0] > 2.0 * gaps[1]
    discrepancies = [np.mean([*map(qmc.discrepancy, each)]) for each in (spread, uniform)]
    assert discrepancies[0] < discrepancies[1]


@pytest.mark.parametrize("domain", DOMAINS)
def test_a_batch_and_single_queries_are_spread_alike(domain):
    one, batch = make("WDBO", domain), make("WDBO", domain)
    single = [one.ask(0.0) for _ in range(5)]
    assert_array_equal(points(single, domain), points(points_of(batch.suggest(0.0, n=5)), domain))
    other = points(points_of(make("WDBO", domain, random_state=1).suggest(0.0, n=2)), domain)
    if domain != "finite":  # of a few members, all are compared
        assert not np.array_equal(points(single[:2], domain), other)


# --- the first one --------------------------------------------------------------------------------

LINE = FiniteSet(np.linspace(-3.0, 1.0, 300)[:, np.newaxis] ** 3)  # as dense at 0 as can be
MIDDLES = {
    "box": (WDBO, BOX, {}, [1.0, 0.0]),
    "many": (GPUCB, [(-1.0, 3.0)] * 12, {}, [1.0] * 12),
    "logarithm": (WDBO, {"rate": ("log-real", 1e-4, 1.0)}, {}, {"rate": 1e-2}),
    "integers": (WDBO, {"n": ("integer", 0, 8), "m": ("integer", 1, 4)}, {}, {"n": 4, "m": {2, 3}}),
    "ordinal": (WDBO, {"size": ("ordinal", ["s", "m", "l"])}, {}, {"size": "m"}),
    "mixed": (
        WDBO,
        {"x": ("real", 0.0, 1.0), "k": ["a", "b", "c"], "h": ("cyclic", 0.0, 24.0)},
        {},
        {"x": 0.5},
    ),
    "step": (WDBO, BOX, {"max_step": 0.1}, [1.0, 0.0]),
    "limits": (
        WDBO,
        {"x": ("real", 0.0, 1.0), "k": ["a", "b"]},
        {"outcome_constraints": {"load": (None, 1.0)}},
        {"x": 0.5},
    ),
    "context": (WDBO, {"x": ("real", 0.0, 1.0), "load": Context(0.0, 9.0)}, {}, {"x": 0.5}),
    "inside": (WDBO, BOX, {"constraints": [lambda x: 0.5 - abs(x[0] - 1.0)]}, [1.0, 0.0]),
}


@pytest.mark.parametrize("name", MIDDLES)
def test_the_first_is_in_the_middle(name):
    kind, domain, options, middle = MIDDLES[name]
    context = {"context": {"load": 7.0}} if name == "context" else {}
    found = [kind(domain, random_state=seed, **options).ask(0.0, **context) for seed in range(6)]
    for x in found:
        if isinstance(middle, list):
            assert_allclose(x, middle, atol=1e-9)
            continue
        for key, value in middle.items():
            expected = value if isinstance(value, set | str) else pytest.approx(value)
            assert x[key] in expected if isinstance(value, set) else x[key] == expected
    if name in ("mixed", "limits"):  # what has no middle is anywhere
        assert len({x["k"] for x in found}) > 1


def test_the_first_of_a_set_is_nearest_to_the_middle():
    middle = 0.5 * (LINE.points.min() + LINE.points.max())
    gaps = [abs(WDBO(LINE, random_state=seed).ask(0.0)[0] - middle) for seed in range(3)]
    assert_allclose(gaps, np.abs(LINE.points - middle).min())
    firsts = {WDBO(Arms(9), random_state=seed).ask(0.0).item() for seed in range(12)}
    assert len(firsts) > 3  # arms have no middle


CONSTRAINTS = {
    "function": [lambda x: np.hypot(x[0] - 0.5, x[1] - 0.5) - 0.3],
    "linear": LinearConstraint([[1.0, 1.0]], -np.inf, 0.6),
    "equation": LinearConstraint([[1.0, 2.0]], 0.9, 0.9),
}
NEAREST = {"function": 0.3, "linear": 0.4 / np.sqrt(2.0), "equation": 0.6 / np.sqrt(5.0)}


@pytest.mark.parametrize("name", CONSTRAINTS)
def test_a_middle_that_is_excluded(name):
    opt = WDBO([(0.0, 1.0)] * 2, constraints=CONSTRAINTS[name], random_state=0)
    first = opt.ask(0.0)
    gap = np.linalg.norm(first - 0.5)
    assert gap == pytest.approx(NEAREST[name], abs=0.05)
    assert as_domain(opt.domain).contains(first)
    found = [first, *points_of(opt.suggest(0.0, n=2))]
    assert pdist(found).min() > 0.1


def test_the_middle_of_what_is_left():
    opt = WDBO({"a": ("real", 0.0, 1.0), "b": ("real", 0.0, 1.0), "k": ["u", "v"]}, random_state=0)
    x = opt.ask(0.0, fixed={"a": 0.9}, available={"k": ["v"]})
    assert x == {"a": 0.9, "b": pytest.approx(0.5), "k": "v"}


def test_a_middle_that_is_known_is_not_asked_again():
    def first(change):
        opt = WDBO(BOX, random_state=0)
        change(opt)
        return as_domain(BOX).to_unit(opt.ask(1.0))

    for change in (
        lambda opt: opt.tell([1.0, 0.0], 1.0, 0.0),
        lambda opt: opt.tell([1.0, 0.0], t=0.0, failed=True),
        lambda opt: opt.announce([1.0, 0.0], 0.0),
        lambda opt: opt.ask(0.0),
        lambda opt: opt.tell([0.1, 0.9], 1.0, 0.0),  # another point: far from it
    ):
        assert np.abs(first(change) - 0.5).max() > 0.2
    assert_allclose(first(lambda opt: opt.cancel(opt.suggest(0.0))), 0.5, atol=0.1)


# --- domains --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "few", [Arms(2), Arms([4]), FiniteSet([[0.0], [1.0]]), {"loss": ["l1", "l2"]}]
)
def test_few_members_need_no_more_points_than_members(few):
    opt, m = WDBO(few, random_state=0), int(as_domain(few).size)
    found = points_of(opt.suggest(0.0, n=m))
    rows = as_domain(few).validate_points(list(found))
    assert len(np.unique(rows, axis=0)) == m
    for query in opt.pending_:
        assert opt.surrogate_ is None
        opt.tell(query, 1.0)
    assert opt.surrogate_ is not None
    opt.ask(1.0)


# --- steps, starts and failures -------------------------------------------------------------------


def test_around_a_start_point():
    near = 0.2
    opt = WDBO(BOX, start_points=[[1.9, 0.5]], random_state=0)
    found = ask_and_tell(opt, N_AUTO, lambda x, t: float(t))
    assert_array_equal(found[0], [1.9, 0.5])
    U = as_domain(BOX).to_unit(found)
    assert np.abs(U - U[0]).max() <= near + 1e-9
    assert pdist(U).min() > 0.1
    assert opt.surrogate_ is not None
    start = {"rate": 0.5, "alpha": 0.1, "depth": 3, "loss": "l2"}
    opt = WDBO(NAMED, start_points=[start], random_state=0)
    others = [query.x for query in opt.suggest(0.0, n=4)][1:]
    assert all(abs(x["rate"] - 0.5) <= near + 1e-9 for x in others)
    assert {x["depth"] for x in others} == {3}


def test_more_start_points_than_initial_ones():
    many = as_domain(BOX).sample(N_AUTO + 1, 0)
    opt = WDBO(BOX, start_points=many, random_state=0)
    assert_array_equal(ask_and_tell(opt, N_AUTO + 1, lambda x, t: float(t)), many)


def test_failures_count_for_nothing_and_are_kept_away_from():
    opt = WDBO(BOX, random_state=0)
    for t in range(4):
        opt.tell(opt.ask(t), failed=True)
    with pytest.raises(AskTellError, match=r"at least 1\. Got 0"):
        opt.recommend(4.0)
    for t in range(4, 4 + N_AUTO):
        assert opt.surrogate_ is None
        opt.tell(opt.ask(t), 1.0)
    assert opt.surrogate_ is not None
    rows = np.vstack([opt.failed_X_, opt.told_X_])[:, :-1]
    assert pdist(as_domain(BOX).to_unit(rows)).min() > 0.1


# --- the papers -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ALGORITHMS)
def test_the_papers_have_their_own(name):
    opt = papers.published(name, BOX, random_state=0, **HORIZONS.get(name, {}))
    if isinstance(opt, RandomSearch):  # all its points are
        return
    assert isinstance(opt.n_initial_points, int)
    drawn = as_domain(BOX).sample(1, np.random.RandomState(0))[0]
    assert_array_equal(opt.ask(0.0), drawn)
