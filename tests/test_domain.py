import pickle
from collections import Counter
from copy import deepcopy

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import Bounds
from scipy.stats import kstest
from sklearn.base import BaseEstimator, clone

from sktvbo import ETGPUCB, GPUCB, TVGPUCB, TimeVaryingGPRegressor
from sktvbo.domain import Arms, Box, FiniteSet, ParameterSpace, as_domain
from sktvbo.exceptions import (
    DomainError,
    InvalidObservationError,
    SktvboError,
)
from sktvbo.kernels import Empirical, Forgetting

BOX = Box([(0.0, 10.0), (-1.0, 1.0), (1e6, 1e6 + 1e-3)])
ARMS = FiniteSet([[0.0, 5.0, 1.0], [1.0, 5.0, 3.0], [4.0, 5.0, 2.0]])  # the second is flat
DOMAINS = pytest.mark.parametrize("domain", [BOX, ARMS], ids=["box", "finite"])


# -- construction -------------------------------------------------------------------------------


def test_box_has_its_bounds():
    box = Box([(0, 2), (-3, 4)])
    assert_array_equal(box.lower, [0.0, -3.0])
    assert_array_equal(box.upper, [2.0, 4.0])
    assert box.lower.dtype == np.float64
    assert box.n_dims == 2


def test_finite_set_has_its_points_and_bounding_box():
    assert_array_equal(ARMS.points, [[0, 5, 1], [1, 5, 3], [4, 5, 2]])
    assert_array_equal(ARMS.lower, [0, 5, 1])
    assert_array_equal(ARMS.upper, [4, 5, 3])
    assert ARMS.n_dims == 3


@pytest.mark.parametrize(
    ("bounds", "message"),
    [
        ([], r"shape \(d, 2\)"),
        ((0, 1), r"got \(2,\).*\[\(low, high\)\] for one dimension"),
        ([(0, 1, 2)], r"got \(1, 3\)"),
        ([(0, 1), (2, 2)], r"bounds\[1\] must have low < high, got \(2.0, 2.0\)"),
        ([(3, 1)], r"low < high, got \(3.0, 1.0\)"),
        ([(0, np.nan)], r"bounds\[0\] must be finite"),
        ([(-np.inf, 1)], r"bounds\[0\] must be finite"),
        ([(-1.7e308, 1.7e308)], r"bounds\[0\] must be finite"),
        ([("a", "b")], "must be real numbers"),
        ([(0, 1j)], "must be real numbers"),
        ([(0, 1), (0,)], "must be real numbers"),
    ],
)
def test_box_rejects_bad_bounds(bounds, message):
    with pytest.raises(DomainError, match=message):
        Box(bounds)


@pytest.mark.parametrize(
    ("points", "message"),
    [
        ([], r"shape \(m, d\)"),
        ([1.0, 2.0], r"got \(2,\)"),
        (np.zeros((3, 0)), r"got \(3, 0\)"),
        ([[0.0], [np.nan]], "finite, got .* in row 1"),
        ([[0.0], [1.0], [0.0]], r"distinct, got \[0.0\] in row 2"),
        ([[0.0], [-0.0]], "distinct"),
        ([[-1.7e308], [1.7e308]], "finite width"),
        ([["x"]], "must be real numbers"),
    ],
)
def test_finite_set_rejects_bad_points(points, message):
    with pytest.raises(DomainError, match=message):
        FiniteSet(points)


def test_callers_arrays_are_neither_changed_nor_kept():
    bounds, points = np.array([[0.0, 1.0]]), np.array([[0.0], [1.0]])
    box, arms = Box(bounds), FiniteSet(points)
    bounds[0, 1] = points[1, 0] = 7.0
    assert box.upper[0] == 1.0
    assert arms.points[1, 0] == 1.0


@pytest.mark.parametrize("array", [BOX.lower, BOX.upper, ARMS.points, ARMS.upper])
def test_attributes_are_read_only(array):
    with pytest.raises(ValueError, match="read-only"):
        array[0] = 9.0


# -- as_domain ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "domain",
    [
        Box([(0, 1), (2, 4)]),
        [(0, 1), (2, 4)],
        ((0, 1), [2, 4]),
        np.array([[0, 1], [2, 4]], dtype=np.int32),
        Bounds([0, 2], [1, 4]),
    ],
)
def test_as_domain_takes_every_form_of_a_box(domain):
    assert as_domain(domain) == Box([(0.0, 1.0), (2.0, 4.0)])


def test_as_domain_takes_scalar_and_broadcast_bounds():
    assert as_domain(Bounds(0.0, 1.0)) == Box([(0, 1)])
    assert as_domain(Bounds(0.0, [1.0, 2.0])) == Box([(0, 1), (0, 2)])


@DOMAINS
def test_as_domain_returns_domains_as_they_are(domain):
    assert as_domain(domain) is domain


@pytest.mark.parametrize("domain", [None, 3, "unit", {(0, 1)}])
def test_as_domain_rejects_other_types(domain):
    with pytest.raises(DomainError, match=rf"must be a Box.*got {type(domain).__name__}\."):
        as_domain(domain)


def test_as_domain_rejects_unbounded_bounds():
    with pytest.raises(DomainError, match="finite"):
        as_domain(Bounds())


# -- unit box -----------------------------------------------------------------------------------


@DOMAINS
def test_unit_map_and_back(domain):
    X = domain.sample(3, 0)
    U = domain.to_unit(X)
    assert U.min() >= 0.0
    assert U.max() <= 1.0
    assert_allclose(domain.from_unit(U), X, rtol=1e-12)
    assert_allclose(domain.from_unit(U[0]), X[0], rtol=1e-12)


def test_unit_corners_are_exact():
    assert_array_equal(BOX.from_unit(np.zeros(3)), BOX.lower)
    assert_array_equal(BOX.from_unit(np.ones(3)), BOX.upper)


def test_from_unit_gives_the_nearest_member():
    assert_array_equal(BOX.from_unit([[-0.5, 0.5, 2.0]]), [[0.0, 0.0, BOX.upper[2]]])
    assert_array_equal(ARMS.from_unit([[0.2, 7.0, 0.9], [0.9, 0.0, 0.4]]), ARMS.points[1:])
    assert_array_equal(ARMS.from_unit(ARMS.to_unit(ARMS.points)), ARMS.points)
    member = ARMS.from_unit(ARMS.to_unit(ARMS.points[1]))
    member[:] = 9.0
    assert_array_equal(ARMS.points[1], [1, 5, 3])


def test_flat_coordinate_maps_to_zero():
    assert_array_equal(ARMS.to_unit(ARMS.points)[:, 1], 0.0)
    assert_array_equal(ARMS.from_unit([[0.5, 0.0, 0.5]])[:, 1], 5.0)


def test_unit_map_is_affine_outside_too():
    assert_allclose(Box([(0, 10)]).to_unit([[20.0]]), [[2.0]])


@DOMAINS
@pytest.mark.parametrize("method", ["to_unit", "from_unit"])
def test_unit_map_rejects_wrong_shapes(domain, method):
    with pytest.raises(InvalidObservationError, match=r"3 coordinate.*got shape \(2,\)"):
        getattr(domain, method)([0.0, 1.0])


# -- sampling -----------------------------------------------------------------------------------


def test_box_samples_uniformly():
    X = BOX.sample(2000, np.random.RandomState(0))
    for u in BOX.to_unit(X).T:
        assert kstest(u, "uniform").pvalue > 0.01
        assert kstest(u**1.1, "uniform").pvalue < 0.01  # the test notices a slight bias


def test_finite_set_samples_without_replacement_when_it_can():
    index = ARMS.indices(ARMS.sample(3, 0))
    assert sorted(index) == [0, 1, 2]
    counts = np.bincount(ARMS.indices(ARMS.sample(3000, 0)), minlength=3)
    assert_allclose(counts, 1000, atol=100)


@DOMAINS
def test_sample_is_reproducible_and_may_be_empty(domain):
    assert_array_equal(domain.sample(5, 1), domain.sample(5, 1))
    assert domain.sample(0, 1).shape == (0, 3)


# -- validation ---------------------------------------------------------------------------------


def test_valid_point_is_a_float64_copy():
    x = np.array([1, 0, 1e6], dtype=np.float32)
    point = BOX.validate_point(x)
    assert point.dtype == np.float64
    assert not np.shares_memory(point, x)
    point = BOX.validate_point(BOX.lower)
    point[0] = 5.0
    assert BOX.lower[0] == 0.0


def test_members_copy_does_not_reach_the_set():
    point = ARMS.validate_point(ARMS.points[1])
    point[:] = 9.0
    assert_array_equal(ARMS.points[1], [1, 5, 3])


@pytest.mark.parametrize("x", [0.25, np.float32(0.25), [0.25], np.array(0.25)])
def test_scalar_is_a_point_in_one_dimension(x):
    assert_array_equal(Box([(0, 1)]).validate_point(x), [0.25])
    assert FiniteSet([[0.5], [0.25]]).index(x) == 1


def test_box_clips_rounding_errors_and_nothing_more():
    box = Box([(0.0, 100.0)])
    assert box.validate_point(100.0 + 5e-8)[0] == 100.0
    assert box.validate_point(-5e-8)[0] == 0.0
    with pytest.raises(DomainError, match=r"x\[0\] must lie in \[0.0, 100.0\], got 100.0000"):
        box.validate_point(100.0 + 5e-7)


def test_box_names_the_coordinate_that_is_outside():
    with pytest.raises(DomainError, match=r"x\[1\] must lie in \[-1.0, 1.0\], got 2.5"):
        BOX.validate_point([5.0, 2.5, 1e6])
    with pytest.raises(DomainError, match=r"X\[1, 0\] must lie in \[0.0, 10.0\], got -1.0"):
        BOX.validate_points([[5.0, 0.0, 1e6], [-1.0, 0.0, 1e6]])


def test_finite_set_repairs_rounding_errors_and_nothing_more():
    assert_array_equal(ARMS.validate_point([1.0 + 1e-9, 5.0 - 1e-9, 3.0]), [1.0, 5.0, 3.0])
    with pytest.raises(
        DomainError, match=r"one of the 3 points.*got \[1.1, .*nearest is \[1.0, 5.0, 3.0\].*1\)"
    ):
        ARMS.validate_point([1.1, 5.0, 3.0])
    with pytest.raises(DomainError, match=r"X\[1\] must be one of"):
        ARMS.validate_points([[1.0, 5.0, 3.0], [9.0, 5.0, 3.0]])


def test_index_finds_every_member():
    points = np.random.RandomState(0).normal(size=(200, 3)) + 1e6
    arms = FiniteSet(points)
    assert [arms.index(x) for x in points] == list(range(200))
    assert_array_equal(arms.indices(points[::-1]), np.arange(200)[::-1])


@DOMAINS
@pytest.mark.parametrize(
    ("x", "message"),
    [
        ([1.0, np.nan, 1.0], r"finite, got nan at x\[1\]"),
        ([np.inf, 0.0, 1.0], r"finite, got inf at x\[0\]"),
        ([1.0, 0.0], r"shape \(3,\).*got shape \(2,\)"),
        ([[1.0, 0.0, 1.0]], r"shape \(3,\).*got shape \(1, 3\)"),
        (1.0, r"shape \(3,\).*got shape \(\)"),
        (["a", "b", "c"], "real numbers"),
        ([1j, 0, 0], "real numbers"),
    ],
)
def test_unusable_points_are_rejected(domain, x, message):
    with pytest.raises(InvalidObservationError, match=message):
        domain.validate_point(x)


@DOMAINS
def test_validate_points_wants_two_dimensions(domain):
    with pytest.raises(InvalidObservationError, match=r"X must have shape \(n, 3\)"):
        domain.validate_points(domain.lower)
    with pytest.raises(InvalidObservationError, match=r"got nan at X\[0, 2\]"):
        domain.validate_points([[1.0, 5.0, np.nan]])


def test_errors_are_value_errors_of_this_package():
    for error in (DomainError, InvalidObservationError):
        assert issubclass(error, ValueError)
        assert issubclass(error, SktvboError)


def test_contains():
    assert BOX.contains(BOX.lower)
    assert BOX.contains(BOX.upper)
    assert not BOX.contains([5.0, 2.0, 1e6])
    assert not BOX.contains([5.0, np.nan, 1e6])
    assert ARMS.contains([4.0, 5.0, 2.0])
    assert not ARMS.contains([4.0, 5.0, 2.1])
    assert not ARMS.contains([4.0, np.inf, 2.0])
    with pytest.raises(InvalidObservationError, match="shape"):
        BOX.contains([1.0])


# -- equality, repr, copies ---------------------------------------------------------------------


@DOMAINS
def test_repr_evaluates_to_an_equal_domain(domain):
    again = eval(repr(domain), {"Box": Box, "FiniteSet": FiniteSet})
    assert again == domain
    assert hash(again) == hash(domain)


def test_equality():
    assert Box([(0, 1)]) != Box([(0, 2)])
    assert Box([(0, 1)]) != Box([(0, 1), (0, 1)])
    assert FiniteSet([[0], [1]]) != FiniteSet([[1], [0]])
    assert Box([(0, 1)]) != FiniteSet([[0], [1]])
    assert Box([(0, 1)]) != [(0, 1)]


@DOMAINS
@pytest.mark.parametrize(
    "copy", [deepcopy, lambda d: pickle.loads(pickle.dumps(d)), lambda d: clone(d, safe=False)]
)
def test_copies_are_equal_and_still_read_only(domain, copy):
    again = copy(domain)
    assert again == domain
    assert again is not domain
    assert not again.lower.flags.writeable
    assert_array_equal(
        again.validate_point(ARMS.points[0] if domain is ARMS else BOX.lower),
        ARMS.points[0] if domain is ARMS else BOX.lower,
    )


@DOMAINS
def test_estimators_that_hold_a_domain_can_be_cloned(domain):
    class Holder(BaseEstimator):
        def __init__(self, domain=None):
            self.domain = domain

    assert clone(Holder(domain)).domain == domain


# -- what a maximizer asks for -------------------------------------------------------------------


def test_box_offers_sobol_points_and_gradients_only():
    U = BOX.candidates(64, np.random.RandomState(0))
    assert U.shape == (64, 3)
    for u in U.T:  # one in each 64th, as of Sobol points
        assert_array_equal(np.sort(np.floor(64 * u)), np.arange(64))
    assert_array_equal(U, BOX.candidates(64, np.random.RandomState(0)))
    assert not np.array_equal(U, BOX.candidates(64, np.random.RandomState(1)))
    assert_array_equal(BOX.candidates(2), [[0.0] * 3, [0.5] * 3])
    assert BOX.continuous.all()
    assert BOX.neighbours(U[0]).shape == (0, 3)
    assert BOX.size == np.inf


def test_finite_set_offers_its_members():
    assert_array_equal(ARMS.candidates(1), ARMS.to_unit(ARMS.points))
    assert not ARMS.continuous.any()
    assert ARMS.size == 3
    assert_array_equal(ARMS.neighbours(ARMS.to_unit(ARMS.points[1])), ARMS.candidates(1)[[0, 2]])


@DOMAINS
def test_decode_copies_and_the_unit_form_is_as_long_as_a_row(domain):
    row = domain.sample(1, 0)[0]
    point = domain.decode(row)
    assert_array_equal(point, row)
    assert not np.shares_memory(point, row)
    rows = domain.sample(3, 0)
    points = domain.decode_all(rows)
    assert_array_equal(points, rows)
    assert not np.shares_memory(points, rows)
    assert domain.n_unit == domain.n_dims == 3


# -- named parameters: construction --------------------------------------------------------------

PARAMETERS = {
    "alpha": ("log-real", 1e-6, 1e-1),
    "depth": ("integer", 2, 9),
    "rate": ("real", -1.0, 3.0),
    "penalty": ("categorical", ["l1", None, 1, True, (1, 2), [1, 2]]),
    "frozen": ("integer", 4, 4),
    "solver": ("categorical", ["sag"]),
}
SPACE = ParameterSpace(PARAMETERS)
POINT = {
    "alpha": 1e-3,
    "depth": 5,
    "rate": 0.0,
    "penalty": None,
    "frozen": 4,
    "solver": "sag",
}


def test_parameter_space_has_its_parameters():
    assert SPACE.names == tuple(PARAMETERS)
    assert SPACE.parameters == PARAMETERS
    assert (SPACE.n_dims, SPACE.n_unit) == (6, 4 + 6 + 1)
    assert_array_equal(SPACE.lower, [1e-6, 2, -1, 0, 4, 0])
    assert_array_equal(SPACE.upper, [1e-1, 9, 3, 5, 4, 0])
    assert_array_equal(np.flatnonzero(SPACE.continuous), [0, 2])
    assert SPACE.size == np.inf
    assert ParameterSpace({"a": ("integer", 0, 2), "b": ("categorical", ["x", "y"])}).size == 6


def test_a_dict_is_a_parameter_space():
    assert as_domain(PARAMETERS) == SPACE
    assert as_domain(SPACE) is SPACE


def test_callers_dict_is_neither_changed_nor_kept():
    values = ["l1", "l2"]
    parameters = {"a": ["integer", 0, 3], "b": ("categorical", values)}
    before = deepcopy(parameters)
    space = ParameterSpace(parameters)
    space.sample(3, 0)
    assert parameters == before
    parameters["c"] = ("real", 0, 1)
    values.append("l3")
    space.parameters["b"][1].append("l4")
    assert space.parameters == {"a": ("integer", 0, 3), "b": ("categorical", ["l1", "l2"])}


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({}, r"at least one named parameter, got \{\}"),
        ([("real", 0, 1)], "must be a dict"),
        ({3: ("real", 0, 1)}, "names of parameters must be strings, got 3"),
        ({"a": (0, 1)}, r"parameters\['a'\] must be \('real', low, high\).*got \(0, 1\)"),
        ({"a": ("float", 0, 1)}, r"parameters\['a'\] must be .*got \('float', 0, 1\)"),
        ({"a": "real"}, r"parameters\['a'\] must be .*got 'real'"),
        ({"a": ("real", 0)}, r"must be \('real', low, high\), got 1 bound"),
        ({"a": ("real", 1, 1)}, r"low < high, got \(1.0, 1.0\)"),
        ({"a": ("real", 0, np.inf)}, r"finite bounds, got \(0.0, inf\)"),
        ({"a": ("real", -1.7e308, 1.7e308)}, "finite bounds"),
        ({"a": ("real", "0", 1)}, r"parameters\['a'\] must be real numbers, got '0'"),
        ({"a": ("real", [0, 1], 1)}, r"one number, got \[0, 1\]"),
        ({"a": ("log-real", 0.0, 1)}, r"low > 0, got 0.0"),
        ({"a": ("log-real", 1e6, 1e6 + 2e-10)}, "logarithms differ"),
        ({"a": ("log-real", 2, 1)}, "low < high"),
        ({"a": ("integer", 0.5, 2)}, "whole bounds.*got 0.5"),
        ({"a": ("integer", 0, 2**51)}, r"at most 2\*\*50"),
        ({"a": ("integer", 3, 2)}, r"low <= high, got \(3.0, 2.0\)"),
        ({"a": ("categorical", [])}, "at least one value"),
        ({"a": ("categorical", "l1")}, "a list of at least one value"),
        ({"a": ("categorical", "l1", "l2")}, r"a list.*got \('l1', 'l2'\)"),
        ({"a": ("categorical", {"l1", "l2"})}, "a list of at least one value"),
        ({"a": ("categorical", ["l1", "l2", "l1"])}, "distinct values, got 'l1' again"),
        ({"a": ("categorical", [np.nan, float("nan")])}, "distinct values, got nan again"),
    ],
)
def test_parameter_space_rejects_bad_parameters(parameters, message):
    with pytest.raises(DomainError, match=message):
        ParameterSpace(parameters)


# -- named parameters: rows, dicts and the unit form ---------------------------------------------


def random_space(rng):
    def term():
        kind = rng.choice(["real", "log-real", "integer", "categorical"])
        if kind == "categorical":
            return kind, list(range(rng.randint(1, 6)))
        if kind == "integer":
            low = rng.randint(-50, 50)
            return kind, low, low + rng.choice([0, 1, 7, 10**6])
        low = 10.0 ** rng.uniform(-9, 3)
        return kind, low, low * (1.0 + 10.0 ** rng.uniform(-3, 9))

    return ParameterSpace({f"p{i}": term() for i in range(rng.randint(1, 7))})


@pytest.mark.parametrize("seed", range(20))
def test_rows_survive_the_unit_form_and_the_dict(seed):
    rng = np.random.RandomState(seed)
    space = random_space(rng)
    rows = np.vstack([space.sample(50, rng), space.lower, space.upper])
    U = space.to_unit(rows)
    assert U.shape == (52, space.n_unit)
    assert U.min() >= 0.0
    assert U.max() <= 1.0
    back = space.from_unit(U)
    countable = [kind in ("integer", "categorical") for kind, *_ in space.parameters.values()]
    assert_array_equal(back[:, countable], rows[:, countable])
    assert_array_equal(back[-2:], rows[-2:])
    assert_allclose(back, rows, rtol=1e-12)
    assert_array_equal(space.to_unit(rows[3]), U[3])
    assert_array_equal(space.from_unit(U[3]), back[3])
    dicts = space.decode_all(rows)
    assert dicts == [space.decode(row) for row in rows]
    assert_array_equal(space.validate_points(dicts), rows)
    assert_array_equal(space.validate_points(rows), rows)


@pytest.mark.parametrize("seed", range(20))
def test_any_unit_point_becomes_a_member(seed):
    rng = np.random.RandomState(seed)
    space = random_space(rng)
    U = rng.uniform(-0.5, 1.5, size=(200, space.n_unit))
    rows = space.from_unit(U)
    assert_array_equal(space.validate_points(rows), rows)
    assert np.all((space.lower <= rows) & (rows <= space.upper))


@pytest.mark.parametrize("low", [-(2**50), 0])
def test_large_integers_survive_the_unit_form(low):
    space = ParameterSpace({"seed": ("integer", low, 2**50)})
    rows = space.upper - np.arange(1000.0)[:, np.newaxis]
    assert_array_equal(space.from_unit(space.to_unit(rows)), rows)


def test_unit_form_by_hand():
    U = SPACE.to_unit([1e-6 * 1e5**0.25, 4.0, 2.0, 2.0, 4.0, 0.0])
    half = np.sqrt(0.5)
    assert_allclose(U, [0.25, 2 / 7, 0.75, 0, 0, half, 0, 0, 0, 0, half], rtol=1e-12)


def test_any_two_categories_are_one_apart():
    for n in (2, 3, 5):
        U = ParameterSpace({"a": ("categorical", list(range(n)))}).to_unit(np.arange(n)[:, None])
        squared = ((U[:, np.newaxis] - U) ** 2).sum(axis=2)
        assert_allclose(squared, 1.0 - np.eye(n), rtol=1e-15)


def test_dict_becomes_a_row_and_the_row_a_dict_of_python_types():
    row = SPACE.validate_point(POINT)
    assert_array_equal(row, [1e-3, 5.0, 0.0, 1.0, 4.0, 0.0])
    assert row.dtype == np.float64
    assert_array_equal(SPACE.validate_point(dict(reversed(POINT.items()))), row)
    decoded = SPACE.decode(row)
    assert decoded == POINT
    assert list(decoded) == list(PARAMETERS)
    assert [type(v) for v in decoded.values()] == [float, int, float, type(None), int, str]
    assert SPACE.decode(row - np.array([0, 1e-10, 0, 0, 0, 0])) == POINT
    assert SPACE.decode(SPACE.upper + 1e-10)["rate"] == 3.0
    numpy_point = {**POINT, "depth": np.int64(5), "alpha": np.float32(1e-3)}
    assert_allclose(SPACE.validate_point(numpy_point), row, rtol=1e-6)


def test_categories_are_told_apart_by_type():
    values = PARAMETERS["penalty"][1]
    rows = SPACE.validate_points([{**POINT, "penalty": value} for value in values])
    assert_array_equal(rows[:, 3], np.arange(6))
    for row, value in zip(rows, values):
        assert SPACE.decode(row)["penalty"] is value


def test_a_category_that_is_not_a_number_is_found_again():
    space = ParameterSpace({"missing": ("categorical", [np.nan, -1])})
    for nan in (np.nan, float("nan")):
        assert space.validate_point({"missing": nan})[0] == 0.0


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"alpha": 0.2}, DomainError, r"x\['alpha'\] must lie in \[1e-06, 0.1\], got 0.2"),
        ({"alpha": -1.0}, DomainError, r"x\['alpha'\] must lie in"),
        ({"rate": -1.1}, DomainError, r"x\['rate'\] must lie in \[-1.0, 3.0\], got -1.1"),
        ({"depth": 4.5}, DomainError, r"x\['depth'\] must be a whole number from 2 to 9, got 4.5"),
        ({"depth": 10}, DomainError, r"x\['depth'\] must be a whole number from 2 to 9, got 10"),
        ({"penalty": "l2"}, DomainError, r"x\['penalty'\] must be one of \['l1', .*got 'l2'"),
        ({"penalty": 1.0}, DomainError, r"must be one of .*got 1.0"),
        ({"rate": np.nan}, InvalidObservationError, r"finite, got nan at x\['rate'\]"),
        ({"rate": None}, InvalidObservationError, r"x\['rate'\]"),
        ({"rate": "1"}, InvalidObservationError, r"x\['rate'\] must be real numbers, got '1'"),
        ({"rate": [1.0]}, InvalidObservationError, r"x\['rate'\] must be one number, got \[1.0\]"),
        ({"dpth": 3}, InvalidObservationError, "no other, but has the unknown 'dpth'"),
    ],
)
def test_unusable_dicts_are_rejected(change, error, message):
    with pytest.raises(error, match=message):
        SPACE.validate_point({**POINT, **change})


def test_missing_names_are_named():
    point = {"alpha": 1e-3, "dpth": 5, "rate": 0.0}
    message = r"x must give .*lacks 'depth', 'penalty', 'frozen', 'solver' and has .*'dpth'"
    with pytest.raises(InvalidObservationError, match=message):
        SPACE.validate_point(point)
    with pytest.raises(InvalidObservationError, match=r"X\[1\] must give each"):
        SPACE.validate_points([POINT, point])


@pytest.mark.parametrize(
    ("i", "value", "error", "message"),
    [
        (3, 6.0, DomainError, r"\['penalty'\] must be the position of a .*0 to 5, got 6.0"),
        (3, 0.5, DomainError, r"\['penalty'\] must be the position"),
        (1, 4.5, DomainError, r"\['depth'\] must be a whole number"),
        (0, np.inf, InvalidObservationError, r"finite, got inf at x\['alpha'\]"),
    ],
)
def test_unusable_rows_are_rejected(i, value, error, message):
    row = SPACE.validate_point(POINT)
    row[i] = value
    with pytest.raises(error, match=message):
        SPACE.validate_point(row)
    assert not SPACE.contains(row)
    for call in (SPACE.decode, SPACE.to_unit):
        with pytest.raises(error):
            call(row)


def test_errors_in_a_list_of_dicts_give_the_place():
    with pytest.raises(DomainError, match=r"X\[1, 'depth'\] must be a whole number"):
        SPACE.validate_points([POINT, {**POINT, "depth": 1}])
    with pytest.raises(DomainError, match=r"X\[1, 'penalty'\] must be one of"):
        SPACE.validate_points([POINT, {**POINT, "penalty": "l2"}])
    with pytest.raises(InvalidObservationError, match=r"got nan at X\[1, 'rate'\]"):
        SPACE.validate_points([POINT, {**POINT, "rate": np.nan}])
    with pytest.raises(InvalidObservationError, match=r"shape \(6,\).*got shape \(2,\)"):
        SPACE.validate_point([1e-3, 5.0])


def test_rounding_errors_are_repaired_on_each_parameters_scale():
    row = SPACE.validate_point(POINT)
    repaired = SPACE.validate_point(row + np.array([0, 1e-10, 0, -1e-10, 1e-10, 0]))
    assert_array_equal(repaired, row)
    space = ParameterSpace({"a": ("log-real", 1e-6, 1e-1)})
    assert space.validate_point([1e-6 * (1 - 1e-9)])[0] == 1e-6
    assert not space.contains([1e-6 * (1 - 1e-7)])  # a linear scale would forgive it
    assert space.validate_point([0.1 * (1 + 1e-9)])[0] == 0.1
    assert not space.contains([0.1 * (1 + 1e-7)])


def test_contains_takes_dicts_and_rows():
    assert SPACE.contains(POINT)
    assert SPACE.contains(SPACE.lower)
    assert SPACE.contains(SPACE.upper)
    for change in ({"alpha": 1.0}, {"depth": 2.5}, {"penalty": "l2"}, {"rate": np.nan}):
        assert not SPACE.contains({**POINT, **change})
    with pytest.raises(InvalidObservationError, match="lacks 'depth'"):
        SPACE.contains({"alpha": 1e-3})


# -- named parameters: sampling, candidates, neighbours ------------------------------------------


def test_parameters_are_sampled_uniformly_on_their_scales():
    rows = SPACE.sample(4000, np.random.RandomState(0))
    assert_array_equal(rows, SPACE.sample(4000, np.random.RandomState(0)))
    assert SPACE.sample(0, 1).shape == (0, 6)
    U = SPACE.to_unit(rows)
    for u in U[:, SPACE.continuous].T:
        assert kstest(u, "uniform").pvalue > 0.01
        assert kstest(u**1.1, "uniform").pvalue < 0.01  # the test notices a slight bias
    for i, n in ((1, 8), (3, 6)):  # five standard deviations; both ends as likely as the rest
        counts = np.bincount((rows[:, i] - SPACE.lower[i]).astype(int), minlength=n)
        assert_allclose(counts, 4000 / n, atol=5 * np.sqrt(4000 / n))
    assert_array_equal(rows[:, 4:], [[4.0, 0.0]] * 4000)


def test_candidates_are_spread_evenly_over_all_parameters():
    U = SPACE.candidates(512, np.random.RandomState(0))
    assert U.shape == (512, SPACE.n_unit)
    rows = SPACE.from_unit(U)
    assert_allclose(SPACE.to_unit(rows), U, atol=1e-12)
    counts = np.bincount(rows[:, 3].astype(int), minlength=6)
    assert np.all(np.abs(counts - 512 / 6) < 1.0)
    assert_array_equal(np.bincount(rows[:, 1].astype(int))[2:], 64)
    assert_array_equal(np.sort(np.floor(512 * U[:, 0])), np.arange(512))
    assert set(Counter(map(tuple, rows[:, [1, 3]])).values()) <= {10, 11}


def test_a_small_countable_space_is_enumerated():
    space = ParameterSpace({"a": ("integer", -1, 2), "b": ("categorical", ["p", "r"])})
    rows = space.from_unit(space.candidates(8))
    assert list(map(tuple, rows)) == [(a, b) for a in (-1, 0, 1, 2) for b in (0, 1)]
    assert len(space.candidates(4, np.random.RandomState(0))) == 4  # not all: sampled


def test_neighbours_differ_in_one_integer_or_category():
    u = SPACE.to_unit(SPACE.validate_point(POINT))
    before = u.copy()
    rows = SPACE.from_unit(SPACE.neighbours(u))
    assert_array_equal(u, before)
    here = SPACE.validate_point(POINT)
    assert_allclose(rows[:, [0, 2]], here[[0, 2]] * np.ones((len(rows), 1)))
    assert np.all((rows[:, [1, 3]] != here[[1, 3]]).sum(axis=1) == 1)
    assert sorted(rows[rows[:, 1] != 5, 1]) == [3, 4, 6, 7, 9]  # 5 -2, -1, +1, +2, +4
    assert sorted(rows[rows[:, 3] != 1, 3]) == [0, 2, 3, 4, 5]
    assert_array_equal(
        SPACE.neighbours(u)[:, SPACE.continuous], u[SPACE.continuous] + 0 * rows[:, :2]
    )
    assert ParameterSpace({"a": ("real", 0, 1)}).neighbours(np.array([0.3])).shape == (0, 1)


# -- named parameters: equality, repr, copies ----------------------------------------------------


@pytest.mark.parametrize(
    "other",
    [
        {"a": ("integer", 0, 4), "b": ("categorical", [1, "x"])},
        {"a": ("real", 0, 3), "b": ("categorical", [1, "x"])},
        {"a": ("integer", 0, 3), "b": ("categorical", [True, "x"])},
        {"a": ("integer", 0, 3), "b": ("categorical", ["x", 1])},
        {"a": ("integer", 0, 3), "b": ("categorical", [1, "x", "y"])},
        {"b": ("categorical", [1, "x"]), "a": ("integer", 0, 3)},
        {"a": ("integer", 0, 3), "c": ("categorical", [1, "x"])},
        {"a": ("integer", 0, 3)},
    ],
)
def test_spaces_that_differ_are_not_equal(other):
    parameters = {"a": ("integer", 0, 3), "b": ("categorical", [1, "x"])}
    space = ParameterSpace(parameters)
    assert space == ParameterSpace(deepcopy(parameters))
    assert hash(space) == hash(ParameterSpace(deepcopy(parameters)))
    assert space != ParameterSpace(other)
    assert space != parameters
    assert ParameterSpace({"a": ("real", 0, 1)}) != Box([(0, 1)])


@pytest.mark.parametrize(
    "copy",
    [
        deepcopy,
        lambda d: pickle.loads(pickle.dumps(d)),
        lambda d: clone(d, safe=False),
        lambda d: eval(repr(d), {"ParameterSpace": ParameterSpace}),
    ],
)
def test_copies_of_a_space_are_equal(copy):
    again = copy(SPACE)
    assert again is not SPACE
    assert again == SPACE
    assert hash(again) == hash(SPACE)
    assert not again.lower.flags.writeable
    assert not again.continuous.flags.writeable
    assert again.decode(again.validate_point(POINT)) == POINT


# -- arms ----------------------------------------------------------------------------------------


def test_arms_are_their_indices_in_both_forms():
    arms = Arms(5)
    indices = np.arange(5.0)[:, np.newaxis]
    assert_array_equal(arms.points, indices)
    assert_array_equal(arms.to_unit(indices), indices)
    assert_array_equal(arms.from_unit(indices), indices)
    assert_array_equal(arms.candidates(512), indices)
    assert_array_equal(arms.to_unit([3.0]), [3.0])
    assert (arms.n_dims, arms.n_unit, arms.size) == (1, 1, 5)
    assert not arms.continuous.any()
    assert as_domain(arms) is arms


def test_arms_go_to_the_nearest_and_have_neighbours():
    arms = Arms(4)
    assert_array_equal(arms.from_unit([[-7.0], [1.4], [1.6], [9.0]]), [[0], [1], [2], [3]])
    assert_array_equal(arms.neighbours(np.array([2.0])), [[0], [1], [3]])
    assert sorted(arms.sample(4, 0)[:, 0]) == [0, 1, 2, 3]
    assert_array_equal(arms.indices([[3.0], [0.0]]), [3, 0])


def test_one_arm_is_enough():
    assert_array_equal(Arms(1).to_unit([0.0]), [0.0])
    assert_array_equal(Arms(1).from_unit([0.3]), [0.0])


@pytest.mark.parametrize("x", [1, 1.0, [1], np.array([1], dtype=np.int16), 1.0 + 1e-10])
def test_an_arm_is_given_by_its_index(x):
    assert_array_equal(Arms(3).validate_point(x), [1.0])


@pytest.mark.parametrize("x", [-1, 3, 0.5, 1.0 + 1e-8])
def test_other_numbers_are_no_arms(x):
    with pytest.raises(DomainError, match="one of the 3 points"):
        Arms(3).validate_point(x)
    assert not Arms(3).contains(x)


@pytest.mark.parametrize("n_arms", [0, -2, 3.0, "3", None, True, [3]])
def test_number_of_arms_is_a_positive_int(n_arms):
    with pytest.raises(DomainError, match="n_arms must be a positive int, got"):
        Arms(n_arms)


@pytest.mark.parametrize(
    "copy",
    [
        deepcopy,
        lambda d: pickle.loads(pickle.dumps(d)),
        lambda d: clone(d, safe=False),
        lambda d: eval(repr(d), {"Arms": Arms}),
    ],
)
def test_copies_of_arms_are_equal(copy):
    again = copy(Arms(3))
    assert type(again) is Arms
    assert again == Arms(3)
    assert hash(again) == hash(Arms(3))
    assert_array_equal(again.to_unit([2.0]), [2.0])
    assert not again.points.flags.writeable


def test_arms_equal_nothing_with_another_unit_form():
    same_rows = FiniteSet(Arms(3).points)
    assert Arms(3) != same_rows
    assert same_rows != Arms(3)
    assert Arms(3) != Arms(4)
    assert Arms(3) != 3


ARMS_COVARIANCE = np.array([[1.0, 0.9, 0.0], [0.9, 1.0, 0.0], [0.0, 0.0, 1.0]])


def arms_surrogate(**options):
    fixed = {"signal_variance_bounds": "fixed", "noise_variance": 0.01}
    kernel = Empirical(ARMS_COVARIANCE)
    return TimeVaryingGPRegressor(kernel, Forgetting(0.03, "fixed"), **(fixed | options))


@pytest.mark.parametrize("algorithm", [GPUCB, TVGPUCB, ETGPUCB])
@pytest.mark.parametrize("options", [{"optimizer": None}, {}], ids=["fixed", "noise is learnt"])
def test_optimizers_choose_among_arms(algorithm, options):
    best = {"surrogate": arms_surrogate(**options), "n_initial_points": 3, "random_state": 0}
    opt = algorithm(Arms(3), clock="step", **best)
    for _ in range(12):
        x = opt.ask()
        opt.tell(x, [0.0, 0.1, 1.0][int(x[0])])
    assert_array_equal(opt.recommend(), [2.0])
    assert_array_equal(opt.surrogate_.X_train_[:, :-1], opt.X_[:, :-1])
    again = pickle.loads(pickle.dumps(opt))
    assert_array_equal(again.ask(), opt.ask())


def test_what_is_seen_of_an_arm_says_something_of_another():
    opt = TVGPUCB(Arms(3), surrogate=arms_surrogate(optimizer=None), n_initial_points=1)
    opt.tell([0], -1.0, t=0.0)
    assert_array_equal(opt.recommend(0.0), [2.0])
    opt.tell([0], 2.0, t=0.0)
    opt.tell([2], 0.1, t=0.0)
    mean = opt.surrogate_.predict([[0, 0.0], [1, 0.0], [2, 0.0]])
    assert mean[1] == pytest.approx(0.9 * mean[0])
