"""Base of all domains, and what is taken for one."""

import pickle
from copy import deepcopy

import numpy as np
import pytest
from domain.cases import ARMS, BOX, DOMAINS, SPACE
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import Bounds
from sklearn.base import clone

import sktvbo.domain
from sktvbo import GPUCB
from sktvbo.domain import Arms, Box, Context, FiniteSet, ParameterSpace, WithContext, as_domain
from sktvbo.exceptions import DomainError, InvalidObservationError

DEPTHS = ParameterSpace({"depth": ("integer", 1, 4)})


@pytest.mark.parametrize(
    "array",
    [BOX.lower, BOX.upper, ARMS.points, ARMS.upper, ARMS.candidates(1), DEPTHS.candidates(4)],
)
def test_what_a_domain_shares_is_read_only(array):
    with pytest.raises(ValueError, match="read-only"):
        array[0] = 9.0


# --- The two forms of a point ---------------------------------------------------------------------


@DOMAINS
def test_unit_map_and_back(domain):
    X = domain.sample(3, 0)
    U = domain.to_unit(X)
    assert U.min() >= 0.0
    assert U.max() <= 1.0
    assert_allclose(domain.from_unit(U), X, rtol=1e-12)
    assert_allclose(domain.from_unit(U[0]), X[0], rtol=1e-12)
    for point in (domain.decode(X[0]), domain.decode_all(X), domain.validate_point(X[0])):
        assert point.dtype == float
        assert not np.shares_memory(point, X)
    assert_array_equal(domain.decode_all(X), X)
    assert_array_equal(domain.sample(3, 0), X)
    assert domain.sample(0, 1).shape == (0, 3)


@DOMAINS
@pytest.mark.parametrize("method", ["to_unit", "from_unit"])
def test_unit_map_rejects_wrong_shapes(domain, method):
    with pytest.raises(InvalidObservationError, match=r"3 coordinate.*Got shape \(2,\)"):
        getattr(domain, method)([0.0, 1.0])


# --- Which points are members ---------------------------------------------------------------------


@pytest.mark.parametrize("x", [0.25, np.float32(0.25), [0.25], np.array(0.25)])
def test_scalar_is_a_point_in_one_dimension(x):
    assert_array_equal(Box([(0, 1)]).validate_point(x), [0.25])
    assert FiniteSet([[0.5], [0.25]]).index(x) == 1


@DOMAINS
@pytest.mark.parametrize(
    ("x", "message"),
    [
        ([1.0, np.nan, 1.0], r"finite. Got nan at x\[1\]"),
        ([np.inf, 0.0, 1.0], r"finite. Got inf at x\[0\]"),
        ([1.0, 0.0], r"shape \(3,\).*Got shape \(2,\)"),
        ([[1.0, 0.0, 1.0]], r"shape \(3,\).*Got shape \(1, 3\)"),
        (1.0, r"shape \(3,\).*Got shape \(\)"),
        (["a", "b", "c"], "real numbers"),
    ],
)
def test_unusable_points_are_rejected(domain, x, message):
    with pytest.raises(InvalidObservationError, match=message):
        domain.validate_point(x)


@DOMAINS
def test_rows_that_are_no_members(domain):
    assert domain.contains(domain.sample(1, 0)[0])
    assert not domain.contains([4.0, np.nan, 2.0])
    assert not domain.contains([4.0, 5.0, 2.1])
    with pytest.raises(InvalidObservationError, match="shape"):
        domain.contains([1.0])
    with pytest.raises(InvalidObservationError, match=r"X must be an array of shape \(n, 3\)"):
        domain.validate_points(domain.lower)
    with pytest.raises(InvalidObservationError, match=r"Got nan at X\[0, 2\]"):
        domain.validate_points([[1.0, 5.0, np.nan]])


# --- Equality and copies --------------------------------------------------------------------------


NAMED_CONTEXT = as_domain({"a": ("real", 0, 1), "load": Context(0, 9), "sky": Context(["a", "b"])})
# Domains whose reprs evaluate to them, and others.
SHOWN = [BOX, ARMS, Arms(3), Arms([4, 1]), SPACE, NAMED_CONTEXT, WithContext(ARMS, [(0.0, 1.0)])]
SHORTENED = [FiniteSet(np.arange(14.0).reshape(7, 2))]
COPIES = [
    deepcopy,
    lambda domain: pickle.loads(pickle.dumps(domain)),
    lambda domain: clone(GPUCB(domain)).domain,
    lambda domain: GPUCB.from_json(GPUCB(domain).to_json()).domain,
]


@pytest.mark.parametrize("domain", SHOWN + SHORTENED, ids=lambda domain: type(domain).__name__)
def test_copies_are_equal_and_still_read_only(domain):
    found = [copy(domain) for copy in COPIES]
    if domain in SHOWN:
        found.append(eval(repr(domain), vars(sktvbo.domain)))
    for again in found:
        assert type(again) is type(domain)
        assert again == domain
        assert hash(again) == hash(domain)
        assert not again.lower.flags.writeable
        assert not again.continuous.flags.writeable
        assert_array_equal(again.sample(9, 0), domain.sample(9, 0))
    others = [*SHOWN, *SHORTENED, Box([(0, 1)]), FiniteSet([[0], [1]]), FiniteSet([[1], [0]])]
    assert sum(other == domain for other in others) == 1


# --- the forms in which users give a domain -------------------------------------------------------


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


def test_as_domain_rejects_other_types():
    for domain in (None, 3, "unit", {(0, 1)}):
        message = rf"must be a Box.*Got {type(domain).__name__} instead\."
        with pytest.raises(DomainError, match=message):
            as_domain(domain)
    with pytest.raises(DomainError, match="finite"):
        as_domain(Bounds())
