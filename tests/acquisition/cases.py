"""Domains, objectives and search spaces for tests of the maximizer."""

import numpy as np

from sktvbo.acquisition import as_acquisition
from sktvbo.acquisition._objective import ScipyClimber, Score
from sktvbo.domain import Box, FiniteSet, ParameterSpace

BOX = Box([(-2.0, 4.0), (10.0, 30.0)])
ARMS = FiniteSet(np.random.RandomState(5).uniform(-3, 3, size=(40, 2)))
COUNTABLE = ParameterSpace({"depth": ("integer", 2, 9), "kind": ("categorical", list("abcde"))})
MIXED = ParameterSpace(
    {
        "rate": ("log-real", 1e-4, 1.0),
        "depth": ("integer", 0, 5),
        "kind": ("categorical", list("abc")),
    }
)


def objective(score, posterior):
    """The objective of a callable (mean, std) under a posterior."""

    def acquisition(mean, std, state):
        return score(mean, std)

    return ScipyClimber.of_posterior(Score(as_acquisition(acquisition), None), posterior)


def unit_box(u):
    """The search space of a box of u coordinates."""
    return Box([(0.0, 1.0)] * u).search_space()
