"""The forms in which users give a domain."""

import numpy as np
import pytest
from domain.cases import DOMAINS, PARAMETERS, SPACE
from scipy.optimize import Bounds

from sktvbo.domain import Box, as_domain
from sktvbo.exceptions import DomainError


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
    with pytest.raises(DomainError, match=rf"must be a Box.*Got {type(domain).__name__} instead\."):
        as_domain(domain)


def test_as_domain_rejects_unbounded_bounds():
    with pytest.raises(DomainError, match="finite"):
        as_domain(Bounds())


def test_a_dict_is_a_parameter_space():
    assert as_domain(PARAMETERS) == SPACE
    assert as_domain(SPACE) is SPACE
