"""Checks of arguments: what passes, and the one sentence of what does not."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from sktvbo import WDBO
from sktvbo._validation import (
    check_bounds,
    check_choice,
    check_int,
    check_real,
    check_rows,
    check_variances,
    finite_array,
    finite_number,
    invalid,
    real_array,
)
from sktvbo.exceptions import DomainError


def test_the_sentence_about_a_parameter():
    expected = "The 'alpha' parameter of WDBO must be a float. Got -1 instead. Raise it."
    for owner in (WDBO, WDBO(), "WDBO"):
        error = invalid("alpha", "a float", -1, owner, advice="Raise it.")
        assert type(error) is ValueError
        assert str(error) == expected


def test_the_sentence_about_an_argument():
    error = invalid("t", "finite", got="NaN", error=DomainError)
    assert type(error) is DomainError
    assert str(error) == "t must be finite. Got NaN instead."
    assert len(str(invalid("x", "short", list(range(1000))))) < 60


@pytest.mark.parametrize(
    ("interval", "inside", "outside"),
    [
        ("(0, 1)", [0.5, np.float32(0.25)], [0.0, 1.0, -1.0, 2]),
        ("[0, 1]", [0, 1, 0.5], [-1e-9, 1.1]),
        ("[0, inf)", [0.0, 1e300], [np.inf, -0.1]),
        ("(0, inf]", [np.inf, 1], [0.0]),
    ],
)
def test_real(interval, inside, outside):
    for value in inside:
        number = check_real(value, "a", interval=interval)
        assert type(number) is float
        assert number == value
    for value in [*outside, np.nan, True, "1", None, [0.5], 0.5j, np.timedelta64(1, "s")]:
        with pytest.raises(ValueError, match=r"a must be a float in the range .* Got .* instead"):
            check_real(value, "a", interval=interval)


def test_int():
    for value in (1, np.int32(3), 4):
        number = check_int(value, "n", high=4)
        assert type(number) is int
        assert number == value
    for value in (0, 5, 2.0, True, "1", None, np.timedelta64(1, "s")):
        with pytest.raises(ValueError, match=r"n must be an int in the range \[1, 4\]\. Got"):
            check_int(value, "n", high=4)
    assert check_int(10**9, "n") == 10**9
    with pytest.raises(TypeError, match=r"\[0, inf\). Got -1 instead. Count."):
        check_int(-1, "n", low=0, advice="Count.", error=TypeError)


def test_choice():
    assert check_choice("b", ("a", "b", None), "how") == "b"
    assert check_choice(None, ("a", "b", None), "how") is None
    for value in ("c", np.array(["a", "b"]), 0):
        with pytest.raises(ValueError, match=r"how must be 'a', 'b' or None. Got"):
            check_choice(value, ("a", "b", None), "how")
    with pytest.raises(ValueError, match=r"how must be 1. Got True"):
        check_choice(True, (1,), "how")


def test_bounds():
    assert check_bounds("fixed", "b") == "fixed"
    assert check_bounds((1, 1.0), "b") == (1, 1.0)
    for value in ("free", (0.0, 1.0), (2.0, 1.0), (1.0, np.inf), (1.0,), None, ("a", "b")):
        with pytest.raises(ValueError, match=r"b must be 'fixed' or a pair 0 < low <= high. Got"):
            check_bounds(value, "b")
    with pytest.raises(ValueError, match=r"high <= 1. Got"):
        check_bounds((0.5, 2.0), "b", high=1.0)


def test_arrays_are_new_and_in_double_precision():
    given = np.asfortranarray(np.arange(6.0).reshape(2, 3))
    for made in (real_array(given, "X"), finite_array(given, "X", ("n", 3))):
        assert made.flags.c_contiguous
        assert not np.shares_memory(made, given)
        assert_array_equal(made, given)
    assert real_array([1, True], "X").dtype == np.float64
    assert np.isnan(real_array([np.nan], "X")).all()


@pytest.mark.parametrize("value", ["a", [1j], [[1.0], [1.0, 2.0]], ["1"]])
def test_what_is_no_array_of_real_numbers(value):
    with pytest.raises(DomainError, match=r"X must be real numbers\. Got .* instead"):
        real_array(value, "X", DomainError)


def test_shapes_and_numbers_that_are_not_finite():
    with pytest.raises(ValueError, match=r"X must be an array of shape \(n, 3\). Got shape \(2, 2"):
        finite_array(np.ones((2, 2)), "X", ("n", 3))
    with pytest.raises(ValueError, match=r"y must be an array of shape \(n,\). Got shape \(0,\)"):
        finite_array([], "y", ("n",))
    with pytest.raises(ValueError, match=r"y must be finite. Got 2 NaN or infinity instead"):
        finite_array([1.0, np.nan, np.inf], "y", (3,))


def test_rows():
    mask = np.array([True, False, False, True, False])
    for value in ([3, 0], (-2, -5, 3), mask, mask.tolist(), np.array([[0], [3]], dtype=np.uint8)):
        rows = check_rows(value, 5, "rows")
        assert rows.dtype == np.intp
        assert rows.tolist() == [0, 3]
    for value in ([], (), np.zeros(5, dtype=bool)):
        assert check_rows(value, 5, "rows").tolist() == []
    assert check_rows(np.array([-1], dtype=np.int8), 300, "rows").tolist() == [299]
    hidden = np.ma.array([1, 2], mask=[False, True])
    for value in ([0.0], ["a"], None, mask[:2], hidden, [[1], [1, 2]]):
        with pytest.raises(ValueError, match=r"rows must be integers or a mask.* Got .* instead"):
            check_rows(value, 5, "rows")
    for value in ([5], [-6], [2**64 - 1]):
        with pytest.raises(ValueError, match=r"rows must be rows of X_train_, in \[0, 5\)\. Got"):
            check_rows(value, 5, "rows")


def test_masked_values():
    hidden = np.ma.array([1.0, 2.0], mask=[False, True])
    for value in (np.ma.masked, hidden[1:]):
        with pytest.raises(DomainError, match=r"y must be one real number\. Got .* instead"):
            finite_number(value, "y", DomainError)
    for value in (np.ma.masked, hidden):
        with pytest.raises(DomainError, match=r"X must be real numbers\. Got .*masked values"):
            real_array(value, "X", DomainError)
    assert finite_number(hidden[:1], "y") == 1.0
    assert_array_equal(real_array(hidden[:1], "X"), [1.0])


def test_variances():
    assert_array_equal(check_variances(0.5, 3, "v"), [0.5] * 3)
    assert_array_equal(check_variances([1, 2], 2, "v"), [1.0, 2.0])
    assert_array_equal(check_variances([0.0, 2.0], 2, "v", zero=True), [0.0, 2.0])
    for value in (0.0, -1.0, [1.0, np.nan], np.inf, [1.0], [[1.0, 1.0]]):
        with pytest.raises(ValueError, match=r"v must be a positive finite number, or 2 of them"):
            check_variances(value, 2, "v")
    with pytest.raises(ValueError, match=r"v must be a non-negative finite number, or 2 of them"):
        check_variances(-1.0, 2, "v", zero=True)
