"""Contexts: measured with each query, in rows and unit forms, and fixed in a search."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from sktvbo.domain import Box, Constrained, Context, FiniteSet, WithContext, as_domain
from sktvbo.exceptions import DomainError, InvalidObservationError

BOX = WithContext([(0.0, 2.0), (-1.0, 1.0)], [(0.0, 100.0)])
ARMS = WithContext(FiniteSet(np.random.RandomState(5).uniform(size=(40, 2))), [(0.0, 1.0)] * 2)
NAMED = as_domain(
    {
        "rate": ("log-real", 1e-3, 1.0),
        "load": Context(0.0, 100.0),
        "depth": ("integer", 0, 5),
        "flow": Context("log-real", 1.0, 100.0),
        "sky": Context(["sun", "rain"]),
    }
)


def test_a_dict_says_which_variables_are_measured():
    assert NAMED.columns == ("rate", "depth", "load", "flow", "sky")
    assert NAMED.chosen.columns == ("rate", "depth")
    assert (NAMED.n_dims, NAMED.n_chosen, NAMED.n_unit) == (5, 2, 6)
    row = NAMED.place({"rate": 0.1, "depth": 2}, {"load": 150.0, "flow": 10.0, "sky": "rain"})
    assert_array_equal(row, [0.1, 2.0, 150.0, 10.0, 1.0])
    assert_allclose(NAMED.to_unit(row), [2 / 3, 0.4, 1.5, 0.5, 0.0, 0.5**0.5])
    assert NAMED.decode(row) == {"rate": 0.1, "depth": 2}
    assert NAMED.decode_all([row]) == [{"rate": 0.1, "depth": 2}]
    assert NAMED.decode_context(row) == {"load": 150.0, "flow": 10.0, "sky": "rain"}
    assert_array_equal(NAMED.continuous, [True] + 5 * [False])


def test_numbers_outside_of_the_usual_range_are_facts():
    row = BOX.place([1.0, 0.0], 250.0)
    assert_array_equal(row, [1.0, 0.0, 250.0])
    assert_array_equal(BOX.to_unit(row), [0.5, 0.5, 2.5])
    assert BOX.decode_context(row) == [250.0]
    assert_array_equal(BOX.place([1.0, 0.0]), [1.0, 0.0, np.nan])  # not measured
    with pytest.raises(DomainError):
        BOX.place([3.0, 0.0], 50.0)


def test_a_context_that_is_not_given_is_described_as_nan():
    columns = NAMED.described([NAMED.place({"rate": 0.1, "depth": 2})])
    assert columns.pop("rate") == [pytest.approx(0.1)]
    assert columns.pop("depth") == [2]
    assert set(columns) == {"load", "flow", "sky"}
    assert_array_equal([*columns.values()], np.nan)


def test_contexts_are_one_for_all_or_one_for_each():
    assert_array_equal(BOX.contexts(3.0, 2), [[3.0], [3.0]])
    assert_array_equal(BOX.contexts([3.0], 1), [[3.0]])
    assert_array_equal(BOX.contexts([[3.0], [4.0]], 2), [[3.0], [4.0]])
    assert_array_equal(ARMS.contexts([0.1, 0.2], 2), [[0.1, 0.2]] * 2)
    skies = [{"load": 1, "flow": 10, "sky": sky} for sky in ("rain", "sun")]
    assert_array_equal(NAMED.contexts(skies, 2), [[1, 10, 1], [1, 10, 0]])
    assert_array_equal(NAMED.contexts(skies[0], 2), [[1, 10, 1]] * 2)


@pytest.mark.parametrize(
    ("domain", "context", "message"),
    [
        (BOX, None, "context must be given: an array of shape"),
        (BOX, [1.0, 2.0], r"an array of shape \(1,\) of finite numbers"),
        (BOX, np.nan, r"an array of shape \(1,\) of finite numbers"),
        (BOX, "much", r"an array of shape \(1,\) of finite numbers"),
        (BOX, {"load": 3.0}, r"an array of shape \(1,\)"),
        (BOX, [[1.0], [2.0], [3.0]], r"one for all, or one for each of 2 point\(s\). Got 3"),
        (NAMED, {"load": 3.0}, "a dict of 'load', a finite number; 'flow', a finite positive"),
        (NAMED, {"load": 1.0, "flow": 10.0, "sky": "snow"}, "one of"),
        (NAMED, {"load": 1.0, "flow": -1.0, "sky": "sun"}, "'flow', a finite positive number"),
        (NAMED, [1.0, 10.0, 2.0], r"'sky', one of \['sun', 'rain'\]"),
        (Box([(0, 1)]), 3.0, "None for a domain without a context"),
    ],
)
def test_contexts_that_make_no_sense_are_refused(domain, context, message):
    with pytest.raises((InvalidObservationError, DomainError), match=message):
        domain.contexts(context, 2)


@pytest.mark.parametrize(
    ("domain", "context", "message"),
    [
        ([(0, 1)], FiniteSet([[0.0]]), "a list of .* or a dict of named variables"),
        (BOX, [(0, 1)], "give all of it at once"),
        ([(0, 1)], [(1, 0)], "low < high"),
        ({"a": Context(0, 1)}, None, "at least one named parameter"),
        ({"a": ("real", 0, 1), "b": Context()}, None, "Got 0 bound"),
    ],
)
def test_domains_that_make_no_sense_are_refused(domain, context, message):
    with pytest.raises(DomainError, match=message):
        as_domain(domain) if context is None else WithContext(domain, context)


def test_of_a_finite_set_all_members_are_compared_in_the_context():
    space = ARMS.in_context(np.array([0.3, 1.7])).search_space()
    U = space.candidates(8)
    assert len(U) == space.size == 40
    assert_array_equal(U[:, 2:], np.tile([0.3, 1.7], (40, 1)))
    assert_array_equal(space.with_current_context(np.zeros((2, 4)))[:, 2:], [[0.3, 1.7]] * 2)
    assert_array_equal(space.decode(U)[:, 2:], U[:, 2:])
    assert ARMS.members(100) is None  # with their contexts there are more
    with pytest.raises(InvalidObservationError, match="context must be given"):
        ARMS.search_space()


def test_constraints_are_of_what_is_chosen():
    chosen = Constrained(Box([(0.0, 1.0)] * 2), lambda x: x[0] <= 0.3)
    domain = WithContext(chosen, [(0.0, 1.0)]).in_context(np.array([0.7]))
    X = domain.sample(20, np.random.RandomState(0))
    assert (X[:, 0] <= 0.3).all()
    assert_array_equal(X[:, 2], 0.7)
    space = domain.search_space()
    assert space.allowed(space.candidates(64, np.random.RandomState(0))).all()
    assert not space.allowed(np.array([[0.5, 0.5, 0.7]]))[0]
