"""Where queries lie, and the checks of arguments."""

import pickle

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from properties import strategies as some

from sktvbo._validation import check_rows, finite_number, real_array
from sktvbo.domain import Box, FiniteSet, ParameterSpace, as_domain
from sktvbo.exceptions import SktvboError

boxes = st.lists(some.bounds, min_size=1, max_size=4).map(Box)
spaces = some.named_domains.map(ParameterSpace)
finite = st.builds(
    lambda seed, n, d: FiniteSet(np.random.RandomState(seed).normal(size=(n, d))),
    some.seeds,
    st.integers(1, 9),
    some.dims,
)
domains = st.one_of(boxes, spaces, finite)


@given(domains, some.seeds)
def test_what_is_drawn_is_inside_and_comes_back(domain, seed):
    for row in domain.sample(4, np.random.RandomState(seed)):
        assert domain.contains(row) or isinstance(domain, ParameterSpace)
        assert_array_equal(domain.validate_point(domain.decode(row)), row)


@given(domains, some.seeds)
def test_the_unit_box_and_back(domain, seed):
    rows = domain.sample(5, np.random.RandomState(seed))
    U = domain.to_unit(rows)
    assert (U >= 0.0).all()
    assert (U <= 1.0).all()
    back = domain.from_unit(U)
    assert_allclose(domain.to_unit(back), U, atol=1e-7)
    for point, row in zip(domain.decode_all(back), domain.decode_all(rows)):
        if isinstance(point, dict):
            for name in point:
                if not isinstance(point[name], float):
                    assert point[name] == row[name]


@given(domains, some.seeds)
def test_anywhere_in_the_unit_box_is_a_point(domain, seed):
    U = np.random.RandomState(seed).uniform(size=(6, domain.to_unit(domain.sample(1)).shape[1]))
    for row in domain.from_unit(U):
        assert_array_equal(domain.validate_point(domain.decode(row)), row)


@given(domains)
def test_a_domain_comes_through_a_pickle(domain):
    again = pickle.loads(pickle.dumps(domain))
    assert again == domain
    assert as_domain(again) is again
    assert repr(again) == repr(domain)


@given(boxes, st.data())
def test_points_outside_are_refused_by_name(box, data):
    i = data.draw(st.integers(0, len(box.lower) - 1))
    x = box.lower.copy()
    x[i] = data.draw(st.sampled_from([np.nan, np.inf, -np.inf, box.upper[i] + 1.0, -1e300]))
    with pytest.raises(SktvboError, match="must"):
        box.validate_point(x)
    assert not box.contains(x)


@given(spaces, st.data())
def test_dicts_with_other_values_are_refused(space, data):
    point = dict(space.decode(space.sample(1, np.random.RandomState(0))[0]))
    name = data.draw(st.sampled_from(sorted(point)))
    point[name] = data.draw(st.sampled_from([np.nan, "no such value", [1], 1e300, object()]))
    with pytest.raises(SktvboError, match="must"):
        space.validate_point(point)


@given(st.integers(1, 8), st.data())
def test_rows_to_drop_are_numpy_s(n, data):
    mask = np.array(data.draw(st.lists(st.booleans(), min_size=n, max_size=n)))
    indices = data.draw(st.permutations([int(i) for i in np.flatnonzero(mask)]))
    signed = [i - n if data.draw(st.booleans()) else i for i in indices]
    for value in (mask, mask.tolist(), indices, signed, np.array(signed, dtype=int)):
        assert_array_equal(check_rows(value, n, "rows"), np.flatnonzero(mask))


anything = st.one_of(
    some.json_values,
    st.floats(),
    st.binary(max_size=4),
    st.complex_numbers(),
    st.lists(st.floats(), max_size=4).map(np.array),
    st.lists(st.floats(), min_size=1, max_size=3).map(lambda v: np.ma.array(v, mask=True)),
    st.datetimes().map(np.datetime64),
    st.fractions(),
    st.decimals(allow_nan=True),
)


def outcome(call, *args):
    """What a call returns, and its error's message; one of them is None."""
    try:
        return call(*args), None
    except (ValueError, TypeError) as exc:
        return None, str(exc)


@given(anything)
@example([None, []])
def test_anything_is_a_number_or_an_error(value):
    number, error = outcome(finite_number, value, "y")
    if error is not None:
        assert error.startswith("y must be ")
    else:
        assert type(number) is float
        assert np.isfinite(number)


@given(anything, st.integers(0, 6))
def test_anything_is_rows_or_an_error(value, n):
    rows, error = outcome(check_rows, value, n, "rows")
    if error is not None:
        assert error.startswith("rows must be ")
    else:
        assert rows.dtype == np.intp
        assert (np.diff(rows) > 0).all()
        assert set(rows) <= set(range(n))


@given(anything)
def test_anything_is_an_array_or_an_error(value):
    array, error = outcome(real_array, value, "X")
    if error is not None:
        assert error.startswith("X must be ")
    else:
        assert array.dtype == np.float64


@given(anything)
def test_anything_is_a_domain_or_an_error(value):
    domain, error = outcome(as_domain, value)
    if error is not None:
        assert "must be" in error
    else:
        assert len(domain.sample(1, np.random.RandomState(0))) == 1
