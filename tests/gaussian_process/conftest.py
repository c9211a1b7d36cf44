"""Fixtures of the posteriors' tests."""

import pytest
from gaussian_process.cases import lifted
from gaussian_process.models import MODELS, rows


@pytest.fixture(scope="module")
def fitted():
    """Every model, fitted once."""
    X, y, v = lifted()
    return {name: gp.fit(rows(gp, X[:, :-1], X[:, -1]), y, v) for name, gp in MODELS.items()}
