"""Reals, integers and categories, by themselves."""

import numpy as np
import pytest
from domain.cases import PARAMETERS, POINT, SPACE
from numpy.testing import assert_allclose, assert_array_equal

from sktvbo.domain import ParameterSpace
from sktvbo.exceptions import DomainError


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({}, r"at least one named parameter. Got \{\}"),
        ([("real", 0, 1)], "must be a dict"),
        ({3: ("real", 0, 1)}, "a dict whose names are strings. Got 3"),
        ({"a": (0, 1)}, r"parameters\['a'\] must be \('real', low, high\).*Got \(0, 1\)"),
        ({"a": "real"}, r"parameters\['a'\] must be .*Got 'real'"),
        ({"a": ("real", 0)}, r"must be \('real', low, high\). Got 1 bound"),
        ({"a": ("real", 1, 1)}, r"low < high. Got \(1.0, 1.0\)"),
        ({"a": ("real", 0, np.inf)}, r"parameters\['a'\] must be finite.*\(0.0, inf\)"),
        ({"a": ("real", -1.7e308, 1.7e308)}, "finite, with a finite difference"),
        ({"a": ("real", "0", 1)}, r"parameters\['a'\] must be real numbers. Got '0'"),
        ({"a": ("real", [0, 1], 1)}, r"one number. Got \[0, 1\]"),
        ({"a": ("log-real", 0.0, 1)}, r"must be positive. Got \(0.0, 1.0\)"),
        ({"a": ("log-real", 1e6, 1e6 + 2e-10)}, "logarithms to differ.*Use 'real'"),
        ({"a": ("log-real", 2, 1)}, "low < high"),
        ({"a": ("integer", 0.5, 2)}, r"whole numbers.*Got \(0.5, 2.0\)"),
        ({"a": ("integer", 0, 2**51)}, r"at most 2\*\*50"),
        ({"a": ("integer", 3, 2)}, r"low <= high. Got \(3.0, 2.0\)"),
        ({"a": ("categorical", [])}, "at least one value"),
        ({"a": ("categorical", "l1", "l2")}, r"a list.*Got \('l1', 'l2'\)"),
        ({"a": ("categorical", {"l1", "l2"})}, "a list of at least one value"),
        ({"a": ("categorical", ["l1", "l2", "l1"])}, "distinct values. Got 'l1' again"),
        ({"a": ("categorical", [np.nan, float("nan")])}, "distinct values. Got nan again"),
    ],
)
def test_parameter_space_rejects_bad_parameters(parameters, message):
    with pytest.raises(DomainError, match=message):
        ParameterSpace(parameters)


@pytest.mark.parametrize("low", [-(2**50), 0])
def test_large_integers_survive_the_unit_form(low):
    space = ParameterSpace({"seed": ("integer", low, 2**50)})
    rows = space.upper - np.arange(1000.0)[:, np.newaxis]
    assert_array_equal(space.from_unit(space.to_unit(rows)), rows)


@pytest.mark.parametrize("kind", ["ordinal", "categorical"])
def test_some_values_may_only_have_been_observed(kind):
    spec = (kind, ["a", "b", "c", "d", "e"], ["e", "b", "c"])
    space = ParameterSpace({"p": spec, "n": ("integer", 0, 1)})
    assert space.size == 6
    assert space.parameters["p"] == (kind, ["a", "b", "c", "d", "e"], ["b", "c", "e"])
    assert eval(repr(space)) == space != ParameterSpace({"p": spec[:2], "n": ("integer", 0, 1)})
    rows = np.array([[float(i), 1.0] for i in range(5)])
    assert space.queryable(rows).tolist() == [False, True, True, False, True]
    U = space.unit_of(rows)
    assert len(np.unique(U, axis=0)) == 5
    assert_array_equal(space.from_unit(U[[1, 2, 4]]), rows[[1, 2, 4]])
    assert space.queryable(space.from_unit(U)).all()
    drawn, counts = np.unique(space.sample(3000, 0)[:, 0], return_counts=True)
    assert drawn.tolist() == [1.0, 2.0, 4.0]
    assert counts.min() > 900
    assert_array_equal(space.candidates(8), space.to_unit([[p, n] for p in drawn for n in (0, 1)]))
    found = space.from_unit(space.neighbours(U[2]))
    assert {tuple(row) for row in found} <= {(1.0, 1.0), (4.0, 1.0), (2.0, 0.0)}
    assert space.described(rows)["p"] == ["a", "b", "c", "d", "e"]
    with pytest.raises(DomainError, match="that may be queried"):
        space.validate_point({"p": "a", "n": 0})


def test_any_two_categories_are_one_apart():
    for n in (2, 3, 5):
        U = ParameterSpace({"a": ("categorical", list(range(n)))}).to_unit(np.arange(n)[:, None])
        squared = ((U[:, np.newaxis] - U) ** 2).sum(axis=2)
        assert_allclose(squared, 1.0 - np.eye(n), rtol=1e-15)


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


def test_rounding_errors_are_repaired_on_each_parameters_scale():
    row = SPACE.validate_point(POINT)
    repaired = SPACE.validate_point(row + np.array([0, 1e-10, 0, -1e-10, 1e-10, 0]))
    assert_array_equal(repaired, row)
    space = ParameterSpace({"a": ("log-real", 1e-6, 1e-1)})
    assert space.validate_point([1e-6 * (1 - 1e-9)])[0] == 1e-6
    assert not space.contains([1e-6 * (1 - 1e-7)])  # a linear scale would forgive it
    assert space.validate_point([0.1 * (1 + 1e-9)])[0] == 0.1
    assert not space.contains([0.1 * (1 + 1e-7)])
