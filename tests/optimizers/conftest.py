"""Fixture that shows what a query was chosen by."""

import numpy as np
import pytest

from sktvbo.acquisition import UCB


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
