"""Log-integers, ordinals, lists of numbers, distributions of scipy.stats, NumPy scalars."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from scipy.optimize import LinearConstraint
from sklearn.base import clone
from sklearn.model_selection import ParameterSampler

from sktvbo import WDBO, Journal, RandomSearch
from sktvbo.domain import Context, ParameterSpace, as_domain
from sktvbo.exceptions import DomainError, InvalidObservationError

SIZES = [16, 32, 64]


def one(spec):
    return ParameterSpace({"a": spec})


# --- log-integers ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("low", "high"), [(1, 1), (1, 1000), (7, 9), (1, 2**44)])
def test_log_integers_survive_the_unit_form(low, high):
    space = one(("log-integer", low, high))
    rows = np.unique(np.rint(np.geomspace(low, high, 500)))[:, np.newaxis]
    rows = np.vstack([rows, space.upper - np.arange(min(high - low, 300.0))[:, np.newaxis]])
    U = space.to_unit(rows)
    assert U.min() >= 0.0
    assert U.max() <= 1.0
    assert_array_equal(space.from_unit(U), rows)


def test_log_integers_are_scaled_by_their_logarithm():
    space = one(("log-integer", 1, 1000))
    assert_allclose(space.to_unit([[1], [10], [100], [1000]])[:, 0], [0, 1 / 3, 2 / 3, 1])
    assert space.decode([100.0]) == {"a": 100}
    assert type(space.decode([100.0])["a"]) is int


def test_log_integers_are_drawn_in_proportion_to_what_is_rounded_to_them():
    drawn = one(("log-integer", 1, 8)).sample(40_000, 0)[:, 0].astype(int)
    edges = np.log(np.arange(1, 10) - 0.5)
    expected = 40_000 * np.diff(edges) / (edges[-1] - edges[0])
    counts = np.bincount(drawn, minlength=9)[1:]
    assert stats.chisquare(counts, expected).pvalue > 1e-3
    assert stats.chisquare(counts, np.full(8, 5000.0)).pvalue < 1e-6


# --- ordinals -------------------------------------------------------------------------------------


def test_ordinals_are_equally_spaced_in_their_order():
    space = one(("ordinal", SIZES))
    rows = space.validate_points([{"a": size} for size in SIZES])
    assert_array_equal(rows[:, 0], [0, 1, 2])
    assert_array_equal(space.to_unit(rows)[:, 0], [0.0, 0.5, 1.0])
    assert [point["a"] for point in space.decode_all(rows)] == SIZES
    assert (space.n_unit, space.size, space.continuous.tolist()) == (1, 3, [False])
    assert_array_equal(np.sort(space.neighbours([0.5])[:, 0]), [0.0, 1.0])
    assert space != one(("categorical", SIZES))


def test_an_optimizer_finds_the_best_ordinal_and_log_integer():
    domain = {"size": ("ordinal", [8, 16, 32, 64, 128]), "n": ("log-integer", 1, 4096)}
    opt = WDBO(domain, n_initial_points=6, random_state=0)
    for t in range(25):
        x = opt.ask(t)
        opt.tell(x, -abs(np.log2(x["size"]) - 5.0) - abs(np.log2(x["n"]) - 6.0))
    best = opt.recommend(25)
    assert best["size"] == 32
    assert 45 <= best["n"] <= 90


# --- numbers that may be a range ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spec", "kind"),
    [
        ([0.0, 10.0], "'real', 0.0, 10.0"),
        ((0.0, 10.0), "'real', 0.0, 10.0"),
        ([1, 16], "'integer', 1, 16"),
        (np.array([1.0, 2.5]), "'real', 1.0, 2.5"),
        ([np.int64(1), 3], "'integer', 1, 3"),
        ([16, 32, int], "'integer', 16, 32"),
        ((1e-3, 1.0, float), "'real', 0.001, 1.0"),
    ],
)
def test_two_numbers_are_no_categories_unless_they_are_named_so(spec, kind):
    with pytest.raises(DomainError, match=rf"\({kind}\) is the range, .* are two categories"):
        one(spec)
    with pytest.raises(DomainError, match="is the range"):
        as_domain({"a": ("real", 0.0, 1.0), "b": Context(spec)})
    assert one(("categorical", list(spec))).size == len(spec)


@pytest.mark.parametrize("value", [True, np.bool_(False)])
def test_a_bool_is_no_number(value):
    for kind, *bounds in (("integer", 0, 1), ("real", 0.0, 1.0), ("discrete", [0, 1])):
        space = one((kind, *bounds))
        with pytest.raises(InvalidObservationError, match=r"one number.* \[False, True\]"):
            space.validate_point({"a": value})
    for spec in (("real", value, 2.0), ("integer", value, 9)):
        with pytest.raises(DomainError, match="one number"):
            one(spec)


# --- numbers of a list ----------------------------------------------------------------------------


LISTS = pytest.mark.parametrize(
    "values", [[4, 1, 100, 2], [1e-9, 4e-9, 5e-9], (-2.5, 1e6), [7], range(0, 90, 30), [0.1, 3]]
)


@LISTS
def test_listed_numbers_are_at_their_distances(values):
    space = one(("discrete", values))
    rows = space.validate_points([{"a": value} for value in sorted(values)])
    low, high = min(values), max(values)
    assert_array_equal(rows[:, 0], sorted(values))
    U = space.to_unit(rows)
    assert_allclose(U[:, 0], (np.sort(values) - low) / ((high - low) or 1.0), rtol=1e-12)
    assert_array_equal(space.from_unit(U), rows)
    assert_array_equal(space.candidates(8), U)
    assert [point["a"] for point in space.decode_all(rows)] == sorted(values)
    whole = all(isinstance(value, int) for value in values)
    assert {type(point["a"]) for point in space.decode_all(rows)} == {int if whole else float}
    assert (space.n_unit, space.size) == (1, len(values))
    assert eval(repr(space)) == space != one(("ordinal", values))


@LISTS
def test_listed_numbers_are_drawn_equally_often(values):
    drawn, counts = np.unique(one(("discrete", values)).sample(3000, 0), return_counts=True)
    assert_array_equal(drawn, np.sort(values))
    assert len(values) == 1 or stats.chisquare(counts).pvalue > 1e-3


def test_the_nearest_listed_number_and_its_neighbours():
    space = one(("discrete", [0, 1, 2, 10, 40]))
    assert_array_equal(
        space.from_unit([[-1.0], [0.14], [0.16], [0.62], [0.63], [2.0]])[:, 0],
        [0, 2, 10, 10, 40, 40],
    )
    found = space.from_unit(space.neighbours(space.to_unit([2.0])))[:, 0]
    assert sorted(found) == [0, 1, 10, 40]
    assert space.contains({"a": 10.0 + 1e-8})
    assert not space.contains({"a": 10.001})
    with pytest.raises(DomainError, match=r"one of the listed numbers from 0.0 to 40.0. Got 3.0"):
        space.validate_point({"a": 3})


@pytest.mark.parametrize(
    ("values", "match"),
    [
        (["a", "b"], "real numbers"),
        ([True, False], "made of numbers. Got"),
        ([0.0, np.inf], "made of finite numbers"),
        ([[1, 2], [3, 4]], "made of finite numbers"),
        ([1, 2, 1.0], "differ by more than 2e-9 of their range.*'ordinal'"),
        ([1e-12, 1e-11, 1.0], "differ by more than 2e-9 of their range.*'ordinal'"),
        ([], "list of at least one value"),
    ],
)
def test_lists_that_are_refused(values, match):
    with pytest.raises(DomainError, match=match):
        one(("discrete", values))


@pytest.mark.parametrize("kind", [WDBO, RandomSearch])
def test_a_run_over_listed_numbers(kind, tmp_path):
    path, values = tmp_path / "run.db", [0, 1, 2, 10, 40]
    domain = {"n": ("discrete", values), "load": Context("discrete", [0.5, 8.0])}
    # Whole numbers next to one another: no step is longer than 0.3 of the range.
    rules = {"max_step": {"n": 0.3}, "constraints": LinearConstraint([1.0, 1.0], -np.inf, 12.0)}
    opt = kind(domain, **rules, random_state=0, journal=path)
    asked = []
    for t in range(12):
        query = opt.suggest(t, context={"load": 0.5 if t % 2 else 3.0})
        asked.append(query.x["n"])
        opt.tell(query, -abs(query.x["n"] - 10.0))
    assert set(asked) == {0, 1, 2, 10}
    assert all(type(value) is int for value in asked)
    assert opt.to_frame()["n"].tolist() == asked
    assert opt.to_frame()["load"].tolist() == [3.0, 0.5] * 6
    copy = kind.from_json(opt.to_json())
    found = opt.ask(12.0, context={"load": 0.5})
    assert copy.ask(12.0, context={"load": 0.5}) == found
    opt.close()
    resumed = kind(domain, **rules, random_state=0, journal=Journal(path, resume=True))
    assert resumed.pending_[0].x == found


def test_other_numbers_for_a_run():
    opt = WDBO({"n": ("discrete", [0, 1, 10])}, n_initial_points=3, random_state=0)
    for t in range(6):
        x = opt.ask(t)
        opt.tell(x, float(x["n"]))
    wider = opt.with_parameters(domain={"n": ("discrete", [1, 10, 40])})
    asked = []
    for t in range(6, 14):
        asked.append(wider.ask(t)["n"])
        wider.tell({"n": asked[-1]}, float(asked[-1]))
    assert set(asked) <= {1, 10, 40}
    assert asked[-1] == 40
    assert set(wider.told_X_[:, 0]) == {0.0, 1.0, 10.0, 40.0}


# --- scalars of NumPy -----------------------------------------------------------------------------


def test_numpy_scalars_are_the_categories_that_they_hold():
    space = one(("categorical", [np.int64(1), True, 1.5, np.str_("l1"), None]))
    told = [1, np.bool_(True), np.float64(1.5), "l1", None]
    assert [space.validate_point({"a": value})[0] for value in told] == [0, 1, 2, 3, 4]
    assert type(space.decode([0.0])["a"]) is np.int64
    with pytest.raises(DomainError, match=r"distinct values. Got np.float64\(0.5\) again"):
        one(("categorical", [0.5, np.float64(0.5)]))
    assert not one(("categorical", [np.int64(1)])).contains({"a": True})


@pytest.mark.parametrize("kind", ["ordinal", "categorical"])
def test_an_array_gives_plain_values(kind):
    space = one((kind, np.logspace(-3, 0, 4)))
    assert [type(value) for value in space.parameters["a"][1]] == [float] * 4
    assert space.validate_point({"a": np.float64(1e-2)})[0] == 1.0


# --- distributions --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("distribution", "spec"),
    [
        (stats.uniform(1, 3), ("real", 1.0, 4.0)),
        (stats.uniform(loc=-2.0), ("real", -2.0, -1.0)),
        (stats.loguniform(1e-3, 1e2), ("log-real", 1e-3, 1e2)),
        (stats.reciprocal(2.0, 3.0), ("log-real", 2.0, 3.0)),
        (stats.beta(1.0, 1.0), ("real", 0.0, 1.0)),
        (stats.randint(2, 9), ("integer", 2, 8)),
        (["rbf", "poly"], ("categorical", ["rbf", "poly"])),
        (np.array([1, 2, 3]), ("categorical", [1, 2, 3])),
        ([2, 1], ("categorical", [2, 1])),
        ([True, False], ("categorical", [True, False])),
        ([1, None], ("categorical", [1, None])),
        ([int, float], ("categorical", [int, float])),
    ],
)
def test_what_a_distribution_or_a_list_stands_for(distribution, spec):
    kind, *rest = one(distribution).parameters["a"]
    assert kind == spec[0]
    if kind == "categorical":
        assert rest == list(spec[1:])
    else:
        assert_allclose(rest, spec[1:], rtol=1e-12)


CONTINUOUS = [
    stats.norm(3, 2),
    stats.gamma(2.0, scale=0.1),
    stats.truncnorm(-1, 2),
    stats.loguniform(0.1, 10.0, loc=5.0),
    stats.halfcauchy(),
]
DISCRETE = [stats.poisson(5), stats.binom(10, 0.3), stats.geom(0.2)]


@pytest.mark.parametrize("distribution", CONTINUOUS, ids=lambda d: d.dist.name)
def test_a_continuous_distribution_is_scaled_by_its_distribution_function(distribution):
    space = one(distribution)
    low, high = space.lower[0], space.upper[0]
    v = distribution.ppf(np.linspace(0.01, 0.99, 50))
    cdf = distribution.cdf
    expected = (cdf(v) - cdf(low)) / (cdf(high) - cdf(low))
    U = space.to_unit(v[:, np.newaxis])
    assert_allclose(U[:, 0], expected, rtol=1e-9)
    assert_allclose(space.from_unit(U)[:, 0], v, rtol=1e-7)
    assert_array_equal(space.from_unit([[-0.1], [0.0], [1.0], [1.1]])[:, 0], [low, low, high, high])
    drawn = space.sample(4000, 0)[:, 0]
    assert stats.kstest(drawn, cdf).pvalue > 1e-3
    assert stats.kstest(drawn, stats.uniform(low, high - low).cdf).pvalue < 1e-6
    assert all(space.contains(row) for row in space.sample(20, 1))


@pytest.mark.parametrize("distribution", DISCRETE, ids=lambda d: d.dist.name)
def test_a_discrete_distribution_says_how_integers_are_drawn(distribution):
    space = one(distribution)
    drawn = space.sample(20_000, 0)[:, 0]
    assert_array_equal(drawn, np.rint(drawn))
    values, counts = np.unique(drawn, return_counts=True)
    often = distribution.pmf(values) > 1e-3
    expected = 20_000 * distribution.pmf(values[often])
    assert_allclose(counts[often], expected, atol=4.5 * np.sqrt(expected).max())
    assert type(space.decode(drawn[:1])["a"]) is int
    assert_array_equal(space.from_unit(space.to_unit(drawn[:, np.newaxis]))[:, 0], drawn)


def test_the_draws_are_those_of_a_randomized_search():
    """Of one dict of distributions, both draw from the same; the counts are compared."""
    spec = {"C": stats.loguniform(1e-3, 1e3), "degree": stats.randint(2, 6), "kernel": ["a", "b"]}
    theirs = list(ParameterSampler(spec, 3000, random_state=0))
    space = ParameterSpace(spec)
    ours = space.decode_all(space.sample(3000, 1))
    assert set(ours[0]) == set(theirs[0])
    C = [[point["C"] for point in points] for points in (ours, theirs)]
    assert C[0] != C[1]
    assert stats.ks_2samp(*C).pvalue > 1e-3
    for name in ("degree", "kernel"):
        table = [
            np.unique([p[name] for p in points], return_counts=True)[1] for points in (ours, theirs)
        ]
        assert stats.chi2_contingency(table).pvalue > 1e-3


def test_distributions_compare_and_show():
    space = ParameterSpace({"a": stats.norm(3, scale=2), "b": ("real", 0, 1)})
    assert hash(one(stats.norm(3))) == hash(one(stats.norm(3)))
    assert one(stats.norm(3)) != one(stats.norm(4))
    assert repr(space) == (
        "ParameterSpace({'a': scipy.stats.norm(3, scale=2), 'b': ('real', 0.0, 1.0)})"
    )


def test_an_optimizer_over_distributions_is_cloned_and_steps():
    opt = clone(
        WDBO(
            {"a": stats.norm(0, 1), "k": stats.poisson(4), "m": ["x", "y"]},
            n_initial_points=8,
            random_state=0,
        )
    )
    for t in range(30):
        x = opt.ask(t)
        opt.tell(x, -((x["a"] - 0.7) ** 2) - 0.1 * abs(x["k"] - 3) - (x["m"] == "x"))
    best = opt.recommend(30)
    assert best["m"] == "y"
    assert abs(best["a"] - 0.7) < 0.4
    assert type(best["k"]) is int


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (("log-integer", 0, 9), r"must be at least 1. Got \(0.0, 9.0\)"),
        (("log-integer", 1, 2**45), r"at most 2\*\*44"),
        (("log-integer", 1), r"must be \('log-integer', low, high\)"),
        (("ordinal", []), r"\('ordinal', values\) with a list of at least one value"),
        (("ordinal", [1, 1]), "distinct values. Got 1 again"),
        (("categorical", np.eye(2)), "a list of at least one value"),
        (stats.norm([0, 1]), "a distribution of one number"),
        (stats.norm, "a frozen distribution of scipy.stats or a list of categories"),
        (stats.uniform(0, np.inf), "must be finite"),
        (stats.norm(np.nan), "must be finite"),
    ],
)
def test_what_makes_no_sense_is_refused(spec, message):
    with pytest.raises(DomainError, match=message):
        one(spec)
