"""Where queries lie, and the checks of arguments."""

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from properties import strategies as some

from sktvbo import RandomSearch
from sktvbo.domain import Box, FiniteSet, ParameterSpace, as_domain

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
def test_anything_is_a_value_or_an_error(value):
    opt = RandomSearch([(0.0, 1.0)])
    _, error = outcome(opt.tell, [0.5], value, 0.0)
    assert np.isfinite(opt.told_y_).all()
    assert len(opt.told_y_) == (error is None)
    assert error is None or error.startswith("y must be ")


@given(anything)
def test_anything_is_a_place_or_an_error(value):
    opt = RandomSearch([(0.0, 1.0)])
    _, error = outcome(opt.tell, value, 1.0, 0.0)
    assert len(opt.told_y_) == (error is None)
    assert error is None or "must be" in error


@given(anything)
def test_anything_is_a_domain_or_an_error(value):
    domain, error = outcome(as_domain, value)
    if error is not None:
        assert "must be" in error
    else:
        assert len(domain.sample(1, np.random.RandomState(0))) == 1
