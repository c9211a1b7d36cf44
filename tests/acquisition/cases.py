"""Objectives and search spaces for tests of the maximizer."""

from sktvbo.acquisition import as_acquisition
from sktvbo.acquisition._objective import ScipyClimber, Score
from sktvbo.domain import Box


def objective(score, posterior):
    """The objective of a callable (mean, std) under a posterior."""

    def acquisition(mean, std, state):
        return score(mean, std)

    return ScipyClimber.of_posterior(Score(as_acquisition(acquisition), None), posterior)


def unit_box(u):
    """The search space of a box of u coordinates."""
    return Box([(0.0, 1.0)] * u).search_space()
