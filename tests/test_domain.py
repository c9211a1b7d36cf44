import pickle
from copy import deepcopy

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import Bounds
from scipy.stats import kstest
from sklearn.base import BaseEstimator, clone

from sktvbo.domain import Box, FiniteSet, as_domain
from sktvbo.exceptions import DomainError, InvalidObservationError, SktvboError

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


@pytest.mark.parametrize("domain", [{"a": (0, 1)}, None, 3, "unit", {(0, 1)}])
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


@DOMAINS
def test_unit_corners_are_exact(domain):
    assert_array_equal(domain.from_unit(np.zeros(3)), domain.lower)
    assert_array_equal(domain.from_unit(np.ones(3)), domain.upper)


def test_flat_coordinate_maps_to_zero():
    assert_array_equal(ARMS.to_unit(ARMS.points)[:, 1], 0.0)
    assert_array_equal(ARMS.from_unit([[0.5, 0.5, 0.5]])[:, 1], 5.0)


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
