"""Finite sets of points, and arms."""

import numpy as np
import pytest
from domain.cases import ARMS
from numpy.testing import assert_allclose, assert_array_equal

from sktvbo import GPUCB, TVGPUCB, TimeVaryingGPRegressor
from sktvbo.domain import Arms, FiniteSet, as_domain
from sktvbo.exceptions import DomainError
from sktvbo.kernels import Empirical, Forgetting


@pytest.mark.parametrize(
    ("points", "message"),
    [
        ([], r"shape \(m, d\)"),
        ([1.0, 2.0], r"Got shape \(2,\)"),
        (np.zeros((3, 0)), r"Got shape \(3, 0\)"),
        ([[0.0], [np.nan]], "finite. Got .* in row 1"),
        ([[0.0], [1.0], [0.0]], r"distinct. Got \[0.0\] in row 2"),
        ([[0.0], [-0.0]], "distinct"),
        ([[-1.7e308], [1.7e308]], "finite width"),
        ([["x"]], "must be real numbers"),
    ],
)
def test_finite_set_rejects_bad_points(points, message):
    with pytest.raises(DomainError, match=message):
        FiniteSet(points)


def test_finite_set_samples_without_replacement_when_it_can():
    index = ARMS.indices(ARMS.sample(3, 0))
    assert sorted(index) == [0, 1, 2]
    counts = np.bincount(ARMS.indices(ARMS.sample(3000, 0)), minlength=3)
    assert_allclose(counts, 1000, atol=100)


def test_finite_set_repairs_rounding_errors_and_nothing_more():
    assert_array_equal(ARMS.validate_point([1.0 + 1e-9, 5.0 - 1e-9, 3.0]), [1.0, 5.0, 3.0])
    with pytest.raises(
        DomainError, match=r"one of the 3 points.*Got \[1.1, .* nearest is \[1.0, 5.0, 3.0\].*1\)"
    ):
        ARMS.validate_point([1.1, 5.0, 3.0])
    with pytest.raises(DomainError, match=r"X\[1\] must be one of"):
        ARMS.validate_points([[1.0, 5.0, 3.0], [9.0, 5.0, 3.0]])


def test_finite_set_offers_its_members():
    assert_array_equal(ARMS.candidates(1), ARMS.to_unit(ARMS.points))
    assert not ARMS.continuous.any()
    assert ARMS.size == 3
    assert_array_equal(ARMS.neighbours(ARMS.to_unit(ARMS.points[1])), ARMS.candidates(1)[[0, 2]])


# --- Arms -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("n_arms", "indices"), [([4, 1, np.int64(3)], [1.0, 3.0, 4.0]), (3, [0.0, 1.0, 2.0])]
)
def test_arms_are_their_indices_in_both_forms(n_arms, indices):
    arms, rows = Arms(n_arms), np.array(indices)[:, np.newaxis]
    for found in (arms.points, arms.to_unit(rows), arms.from_unit(rows), arms.candidates(512)):
        assert_array_equal(found, rows)
    assert_array_equal(arms.from_unit(np.add(rows, [[-7.0], [0.4], [9.0]])), rows)
    assert_array_equal(arms.neighbours(rows[1]), rows[[0, 2]])
    assert sorted(arms.sample(3, 0)[:, 0]) == indices
    assert_array_equal(arms.indices(rows[::-1]), [2, 1, 0])
    assert [i for i in range(6) if arms.contains(i)] == indices
    assert (arms.n_dims, arms.n_unit, arms.size) == (1, 1, 3)
    assert not arms.continuous.any()
    assert as_domain(arms) is arms


def test_arms_are_equal_if_their_indices_are():
    assert Arms([1, 0]) == Arms(2) != Arms([4, 1])
    assert_array_equal(Arms([4, 1]).to_unit([[0.0], [2.0]]), [[0.0], [2.0]])
    with pytest.raises(DomainError, match="distinct"):
        Arms([1, 1])


@pytest.mark.parametrize("x", [1, 1.0, [1], np.array([1], dtype=np.int16), 1.0 + 1e-10])
def test_an_arm_is_given_by_its_index(x):
    assert_array_equal(Arms(3).validate_point(x), [1.0])


@pytest.mark.parametrize("x", [-1, 3, 0.5, 1.0 + 1e-8])
def test_other_numbers_are_no_arms(x):
    with pytest.raises(DomainError, match="one of the 3 points"):
        Arms(3).validate_point(x)
    assert not Arms(3).contains(x)


@pytest.mark.parametrize("n_arms", [0, -2, 3.0, "3", None, True, [-1]])
def test_number_of_arms_is_a_positive_int(n_arms):
    with pytest.raises(DomainError, match=r"'n_arms' parameter of Arms must be an int .* Got"):
        Arms(n_arms)


# --- the repr -------------------------------------------------------------------------------------


def test_repr_of_more_than_six_points_shows_both_ends_and_the_shape():
    many = FiniteSet(np.arange(14.0).reshape(7, 2))
    first, last = "[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]", "[8.0, 9.0], [10.0, 11.0], [12.0, 13.0]"
    assert repr(many) == f"FiniteSet([{first}, ..., {last}], shape=(7, 2))"
    assert len(repr(FiniteSet(np.arange(1e5)[:, np.newaxis]))) < 120
    assert f"domain={many!r}" in repr(GPUCB(many)).replace("\n" + 13 * " ", " ")


ARMS_COVARIANCE = np.array([[1.0, 0.9, 0.0], [0.9, 1.0, 0.0], [0.0, 0.0, 1.0]])


@pytest.mark.parametrize("options", [{"optimizer": None}, {}], ids=["fixed", "noise is learnt"])
def test_what_is_seen_of_an_arm_says_something_of_another(options):
    options |= {"signal_variance_bounds": "fixed", "noise_variance": 0.01}
    surrogate = TimeVaryingGPRegressor(
        Empirical(ARMS_COVARIANCE), Forgetting(0.03, "fixed"), **options
    )
    opt = TVGPUCB(Arms(3), surrogate=surrogate, n_initial_points=1, random_state=0)
    opt.tell([0], -1.0, t=0.0)
    assert_array_equal(opt.recommend(0.0), [2.0])
    opt.tell([0], 2.0, t=0.0)
    opt.tell([2], 0.1, t=0.0)
    mean = opt.surrogate_.predict([[0, 0.0], [1, 0.0], [2, 0.0]])
    assert mean[1] == pytest.approx(0.9 * mean[0])
