"""Domains that several modules are tested with."""

import pytest

from sktvbo.domain import Box, FiniteSet, ParameterSpace

BOX = Box([(0.0, 10.0), (-1.0, 1.0), (1e6, 1e6 + 1e-3)])
ARMS = FiniteSet([[0.0, 5.0, 1.0], [1.0, 5.0, 3.0], [4.0, 5.0, 2.0]])  # the second is flat
DOMAINS = pytest.mark.parametrize("domain", [BOX, ARMS], ids=["box", "finite"])
PARAMETERS = {
    "alpha": ("log-real", 1e-6, 1e-1),
    "depth": ("integer", 2, 9),
    "rate": ("real", -1.0, 3.0),
    "penalty": ("categorical", ["l1", None, 1, True, (1, 2), [1, 2]]),
    "frozen": ("integer", 4, 4),
    "solver": ("categorical", ["sag"]),
}
SPACE = ParameterSpace(PARAMETERS)
POINT = {"alpha": 1e-3, "depth": 5, "rate": 0.0, "penalty": None, "frozen": 4, "solver": "sag"}
