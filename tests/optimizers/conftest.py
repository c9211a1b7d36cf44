"""Fixtures that run a test on every optimizer, and on every kind of domain."""

import numpy as np
import pytest
from optimizers.cases import CASES, DOMAINS, FEW, FEW_MODELLED

from sktvbo.acquisition import UCB


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


@pytest.fixture(params=[case for case in CASES if case.modelled], ids=lambda case: case.name)
def modelled(request):
    return request.param


@pytest.fixture(params=DOMAINS)
def domain(request):
    """Name of a domain."""
    return request.param


@pytest.fixture
def asked(monkeypatch):
    """The state that the latest query's score was given, and its √β."""
    original, seen = UCB.beta_value, {}

    def spy(self, state):
        beta = original(self, state)
        seen.update(state=state, width=np.sqrt(beta))
        return beta

    monkeypatch.setattr(UCB, "beta_value", spy)
    return seen
