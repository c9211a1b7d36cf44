"""Fixtures that run a test on every optimizer, and on every kind of domain."""

import pytest
from optimizers.cases import CASES, DOMAINS


@pytest.fixture(params=CASES, ids=lambda case: case.name)
def case(request):
    return request.param


@pytest.fixture(params=[case for case in CASES if case.modelled], ids=lambda case: case.name)
def modelled(request):
    return request.param


@pytest.fixture(params=DOMAINS)
def domain(request):
    """Name of a domain."""
    return request.param
