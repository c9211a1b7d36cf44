"""Log-integers, ordinals, lists of numbers, NumPy scalars."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from scipy.optimize import LinearConstraint

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


# --- numbers that may be a range ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spec", "kind"),
    [
        ((0.0, 10.0), "'real', 0.0, 10.0"),
        (np.array([1.0, 2.5]), "'real', 1.0, 2.5"),
        ([np.int64(1), 3], "'integer', 1, 3"),
        ([16, 32, int], "'integer', 16, 32"),
    ],
)
def test_two_numbers_are_no_categories_unless_they_are_named_so(spec, kind):
    with pytest.raises(DomainError, match=rf"\({kind}\) is the range, .* are two categories"):
        one(spec)
    with pytest.raises(DomainError, match="is the range"):
        as_domain({"a": ("real", 0.0, 1.0), "b": Context(spec)})
    assert one(("categorical", list(spec))).size == len(spec)
    for values in (["rbf", "poly"], np.array([1, 2, 3]), [2, 1], [True, False], [1, None]):
        assert one(values).parameters["a"] == ("categorical", list(values))
    assert type(one(("ordinal", np.logspace(-3, 0, 4))).parameters["a"][1][0]) is float


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


@pytest.mark.parametrize("values", [[4, 1, 100, 2], [1e-9, 4e-9, 5e-9], (-2.5, 1e6), [7], [0.1, 3]])
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
    drawn, counts = np.unique(space.sample(3000, 0), return_counts=True)
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


# --- scalars of NumPy -----------------------------------------------------------------------------


def test_numpy_scalars_are_the_categories_that_they_hold():
    space = one(("categorical", [np.int64(1), True, 1.5, np.str_("l1"), None]))
    told = [1, np.bool_(True), np.float64(1.5), "l1", None]
    assert [space.validate_point({"a": value})[0] for value in told] == [0, 1, 2, 3, 4]
    assert type(space.decode([0.0])["a"]) is np.int64
    with pytest.raises(DomainError, match=r"distinct values. Got np.float64\(0.5\) again"):
        one(("categorical", [0.5, np.float64(0.5)]))
    assert not one(("categorical", [np.int64(1)])).contains({"a": True})


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (("log-integer", 0, 9), r"must be at least 1. Got \(0.0, 9.0\)"),
        (("log-integer", 1, 2**45), r"at most 2\*\*44"),
        (("log-integer", 1), r"must be \('log-integer', low, high\)"),
        (("discrete", ["a", "b"]), "real numbers"),
        (("discrete", [True, False]), "made of numbers. Got"),
        (("discrete", [0.0, np.inf]), "made of finite numbers"),
        (("discrete", [[1, 2], [3, 4]]), "made of finite numbers"),
        (("discrete", [1e-12, 1e-11, 1.0]), "differ by more than 2e-9 of their range.*'ordinal'"),
        (("ordinal", []), r"\('ordinal', values\) with a list of at least one value"),
        (("ordinal", [1, 1]), "distinct values. Got 1 again"),
        (("categorical", np.eye(2)), "a list of at least one value"),
        (stats.uniform(1, 3), r"Write \('real', 1, 4\)"),
        (stats.loguniform(1e-3, 1e2), r"Write \('log-real', 0\.001, 100\)"),
        (stats.randint(2, 9), r"Write \('integer', 2, 8\)"),
        (stats.poisson(4), r"Write \('integer', 0, high\)"),
        (stats.norm([0, 1]), r"Write \('real', low, high\)"),
        (stats.norm, r"must be \('real', low, high\)"),
    ],
)
def test_what_makes_no_sense_is_refused(spec, message):
    with pytest.raises(DomainError, match=message):
        one(spec)


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
