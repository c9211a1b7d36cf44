"""Acquisition functions, the schedules of β, and the maximization over a domain.

An acquisition function is called with the posterior mean and standard deviation at a place and an
`AcquisitionState`; it returns a score, to be maximized, and the derivatives of the score in
both: the maximizer does the rest by the chain rule. One with ``joint = True`` is not called but
stands for a draw from the joint posterior, as `ThompsonSampling`.

One with ``sees_places = True`` is called with the places as well, ``(mean, std, state, X)``: arrays
(m,), and rows X (m, d + 1) in the user's units with the time of the query at their end, as in
``X_``. It returns the same three, each an array or a number; the derivatives in the place are found
by differences. One with a positive ``margin`` is called with standard deviations that are smaller
near the faces of the box, see `UCB`.

Where queries have failed, a score is weighed by the probability of success. One that measures an
improvement, which a failure does not bring, says so by ``logarithm(score)``: the logarithm of that
improvement, and its derivative in the score.
"""

from typing import TYPE_CHECKING

from ._beta import (
    AcquisitionState,
    BOLTBeta,
    DimensionBeta,
    GrowingBeta,
    InformationGainBeta,
    LogBeta,
    SmoothnessBeta,
)
from ._functions import (
    UCB,
    ExpectedImprovement,
    PosteriorMean,
    ProbabilityOfImprovement,
    ThompsonSampling,
    as_acquisition,
)
from ._maximize import maximize

if TYPE_CHECKING:
    from ._beta import Schedule as Schedule
    from ._functions import Acquisition as Acquisition

__all__ = [
    "UCB",
    "AcquisitionState",
    "BOLTBeta",
    "DimensionBeta",
    "ExpectedImprovement",
    "GrowingBeta",
    "InformationGainBeta",
    "LogBeta",
    "PosteriorMean",
    "ProbabilityOfImprovement",
    "SmoothnessBeta",
    "ThompsonSampling",
    "as_acquisition",
    "maximize",
]
