"""Fixtures that run a test on every optimizer, and on every kind of domain."""

import pytest
from contract.cases import CASES, DOMAINS, FEW, FEW_MODELLED, PLACED


@pytest.fixture(params=CASES, ids=lambda case: case.name)
def case(request):
    return request.param


@pytest.fixture(params=FEW, ids=lambda case: case.name)
def few(request):
    """Of each kind one, or with --runslow every case."""
    return request.param


@pytest.fixture(params=FEW_MODELLED, ids=lambda case: case.name)
def few_modelled(request):
    return request.param


@pytest.fixture(params=PLACED, ids=lambda pair: f"{pair[0].name}-{pair[1]}")
def placed(request):
    return request.param


@pytest.fixture(params=DOMAINS)
def domain(request):
    """Name of a domain."""
    return request.param
