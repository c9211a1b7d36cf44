"""The objective of a callable, climbed by SciPy."""

from sktvbo.acquisition import as_acquisition
from sktvbo.acquisition._objective import ScipyClimber, Score


def objective(score, posterior):
    """The objective of a callable (mean, std) under a posterior."""

    def acquisition(mean, std, state):
        return score(mean, std)

    return ScipyClimber.of_posterior(Score(as_acquisition(acquisition), None), posterior)
