"""Boxes and named parameters."""

from collections import Counter

import numpy as np
import pytest
from domain.cases import ARMS, BOX, PARAMETERS, POINT, SPACE
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import kstest

from sktvbo.domain import Box, ParameterSpace
from sktvbo.exceptions import DomainError, InvalidObservationError

# --- Boxes ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("bounds", "message"),
    [
        ([], r"shape \(d, 2\)"),
        ((0, 1), r"Got shape \(2,\) .*\[\(low, high\)\] for one dimension"),
        ([(0, 1, 2)], r"Got shape \(1, 3\)"),
        ([(0, 1), (2, 2)], r"bounds\[1\] must be low < high\. Got \(2.0, 2.0\)"),
        ([(-np.inf, 1)], r"bounds\[0\] must be finite"),
        ([(-1.7e308, 1.7e308)], r"bounds\[0\] must be finite"),
        ([("a", "b")], "must be real numbers"),
        ([(0, 1), (0,)], "must be real numbers"),
    ],
)
def test_box_rejects_bad_bounds(bounds, message):
    with pytest.raises(DomainError, match=message):
        Box(bounds)


def test_from_unit_gives_the_nearest_member():
    assert_array_equal(BOX.from_unit([[-0.5, 0.5, 2.0]]), [[0.0, 0.0, BOX.upper[2]]])
    assert_array_equal(ARMS.from_unit([[0.2, 7.0, 0.9], [0.9, 0.0, 0.4]]), ARMS.points[1:])
    assert_array_equal(ARMS.from_unit(ARMS.to_unit(ARMS.points)), ARMS.points)
    member = ARMS.from_unit(ARMS.to_unit(ARMS.points[1]))
    member[:] = 9.0
    assert_array_equal(ARMS.points[1], [1, 5, 3])


def test_box_samples_uniformly():
    X = BOX.sample(2000, np.random.RandomState(0))
    for u in BOX.to_unit(X).T:
        assert kstest(u, "uniform").pvalue > 0.01
        assert kstest(u**1.1, "uniform").pvalue < 0.01  # the test notices a slight bias


def test_box_clips_rounding_errors_and_names_the_coordinate_that_is_outside():
    box = Box([(0.0, 100.0)])
    assert box.validate_point(100.0 + 5e-8)[0] == 100.0
    assert box.validate_point(-5e-8)[0] == 0.0
    with pytest.raises(DomainError, match=r"x\[0\] must be in \[0.0, 100.0\]. Got 100.0000"):
        box.validate_point(100.0 + 5e-7)
    with pytest.raises(DomainError, match=r"X\[1, 0\] must be in \[0.0, 10.0\]. Got -1.0"):
        BOX.validate_points([[5.0, 0.0, 1e6], [-1.0, 0.0, 1e6]])


def test_box_offers_sobol_points_and_gradients_only():
    U = BOX.candidates(64, np.random.RandomState(0))
    assert U.shape == (64, 3)
    for u in U.T:  # one in each 64th, as of Sobol points
        assert_array_equal(np.sort(np.floor(64 * u)), np.arange(64))
    assert_array_equal(U, BOX.candidates(64, np.random.RandomState(0)))
    assert_array_equal(BOX.candidates(2), [[0.0] * 3, [0.5] * 3])
    assert BOX.continuous.all()
    assert BOX.neighbours(U[0]).shape == (0, 3)
    assert BOX.size == np.inf


# --- Named parameters: rows, dicts and the unit form ----------------------------------------------


def test_dict_becomes_a_row_and_the_row_a_dict_of_python_types():
    row = SPACE.validate_point(POINT)
    assert_array_equal(row, [1e-3, 5.0, 0.0, 1.0, 4.0, 0.0])
    half = np.sqrt(0.5)
    expected = [0.6, 3 / 7, 0.25, 0, half, 0, 0, 0, 0, 0, half]
    assert_allclose(SPACE.to_unit(row), expected, rtol=1e-12)
    assert_array_equal(np.flatnonzero(SPACE.continuous), [0, 2])
    assert (SPACE.parameters, SPACE.size) == (PARAMETERS, np.inf)
    assert_array_equal(SPACE.validate_point(dict(reversed(POINT.items()))), row)
    decoded = SPACE.decode(row)
    assert decoded == POINT
    assert SPACE.decode_all([row, SPACE.upper]) == [POINT, SPACE.decode(SPACE.upper)]
    ends = np.array([row, SPACE.lower, SPACE.upper])
    assert_array_equal(SPACE.from_unit(SPACE.to_unit(ends))[1:], ends[1:])
    assert list(decoded) == list(PARAMETERS)
    assert [type(v) for v in decoded.values()] == [float, int, float, type(None), int, str]
    assert SPACE.decode(row - np.array([0, 1e-10, 0, 0, 0, 0])) == POINT
    assert SPACE.decode(SPACE.upper + 1e-10)["rate"] == 3.0
    numpy_point = {**POINT, "depth": np.int64(5), "alpha": np.float32(1e-3)}
    assert_allclose(SPACE.validate_point(numpy_point), row, rtol=1e-6)


# --- Named parameters: which points are members ---------------------------------------------------


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"alpha": 0.2}, DomainError, r"x\['alpha'\] must be in \[1e-06, 0.1\]. Got 0.2"),
        ({"alpha": -1.0}, DomainError, r"x\['alpha'\] must be in"),
        ({"depth": 4.5}, DomainError, r"x\['depth'\] must be a whole number from 2 to 9. Got 4.5"),
        ({"depth": 10}, DomainError, r"x\['depth'\] must be a whole number from 2 to 9. Got 10"),
        ({"penalty": "l2"}, DomainError, r"x\['penalty'\] must be one of \['l1', .*Got 'l2'"),
        ({"penalty": 1.0}, DomainError, r"must be one of .*Got 1.0"),
        ({"rate": np.nan}, InvalidObservationError, r"finite. Got nan at x\['rate'\]"),
        ({"rate": None}, InvalidObservationError, r"x\['rate'\]"),
        ({"rate": "1"}, InvalidObservationError, r"x\['rate'\] must be real numbers. Got '1'"),
        ({"rate": [1.0]}, InvalidObservationError, r"x\['rate'\] must be one number. Got \[1.0\]"),
        ({"dpth": 3}, InvalidObservationError, "Got one that has the unknown 'dpth' instead"),
    ],
)
def test_unusable_dicts_are_rejected(change, error, message):
    with pytest.raises(error, match=message):
        SPACE.validate_point({**POINT, **change})


@pytest.mark.parametrize(
    ("i", "value", "error", "message"),
    [
        (3, 6.0, DomainError, r"\['penalty'\] must be the position of a .*0 to 5. Got 6.0"),
        (3, 0.5, DomainError, r"\['penalty'\] must be the position"),
        (1, 4.5, DomainError, r"\['depth'\] must be a whole number"),
        (0, np.inf, InvalidObservationError, r"finite. Got inf at x\['alpha'\]"),
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
    message = r"X\[1\] must be .* one that lacks 'penalty', 'frozen', 'solver' and has .*'dpth'"
    with pytest.raises(InvalidObservationError, match=message):
        SPACE.validate_points([POINT, {"alpha": 1e-3, "depth": 5, "rate": 0.0, "dpth": 5}])
    with pytest.raises(InvalidObservationError, match=r"shape \(6,\).*Got shape \(2,\)"):
        SPACE.validate_point([1e-3, 5.0])


# --- Named parameters: samples, candidates, neighbours --------------------------------------------


def test_parameters_are_sampled_uniformly_on_their_scales():
    rows = SPACE.sample(4000, np.random.RandomState(0))
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
    assert set(Counter(map(tuple, rows[:, [1, 3]])).values()) <= {10, 11, 12}


def test_a_small_countable_space_is_enumerated():
    space = ParameterSpace({"a": ("integer", -1, 2), "b": ("categorical", ["p", "r"])})
    rows = space.from_unit(space.candidates(8))
    assert list(map(tuple, rows)) == [(a, b) for a in (-1, 0, 1, 2) for b in (0, 1)]
    assert len(space.candidates(4, np.random.RandomState(0))) == 4  # not all: sampled


def test_neighbours_differ_in_one_integer_or_category():
    here = SPACE.validate_point(POINT)
    u = SPACE.to_unit(here)
    rows = SPACE.from_unit(SPACE.neighbours(u))
    assert_allclose(rows[:, [0, 2]], here[[0, 2]] * np.ones((len(rows), 1)))
    assert np.all((rows[:, [1, 3]] != here[[1, 3]]).sum(axis=1) == 1)
    assert sorted(rows[rows[:, 1] != 5, 1]) == [3, 4, 6, 7, 9]  # 5 -2, -1, +1, +2, +4
    assert sorted(rows[rows[:, 3] != 1, 3]) == [0, 2, 3, 4, 5]
    assert_array_equal(
        SPACE.neighbours(u)[:, SPACE.continuous], u[SPACE.continuous] + 0 * rows[:, :2]
    )
    assert ParameterSpace({"a": ("real", 0, 1)}).neighbours(np.array([0.3])).shape == (0, 1)
