"""Acquisition functions, schedules of β, and the maximization over a domain.

An acquisition function is called with posterior means and standard deviations (m,) and an
`AcquisitionState`. It returns scores, to be maximized, and their derivatives in both, each an array
(m,) or a number. The maximizer applies the chain rule. Optional attributes of a custom one:

- ``sees_places = True``: it is called with the inputs as well, ``(mean, std, state, X)``; rows X
  (m, d + 1) are in the user's units and end with the time of the query, as in ``X_``;
  ``state.latest`` is the row of the query before. Derivatives in the input are found by
  differences.
- ``margin``: if positive, standard deviations are reduced near the faces of the box, see `UCB`.
- ``logarithm(score)``: for an improvement, its logarithm and the derivative of this in the score. A
  failed query has no improvement. If queries have failed, scores are weighted by the probability of
  success, and an improvement is multiplied by it.
- ``joint = True``: it is not called; a draw from the joint posterior is maximized, as for
  `ThompsonSampling`.
- ``check()``: raises an error if a parameter is invalid.
"""

from typing import TYPE_CHECKING

from ._beta import (
    AcquisitionState,
    BOLTBeta,
    DimensionBeta,
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
from ._optimize import maximize

if TYPE_CHECKING:
    from ._beta import Schedule as Schedule
    from ._functions import Acquisition as Acquisition

__all__ = [
    "UCB",
    "AcquisitionState",
    "BOLTBeta",
    "DimensionBeta",
    "ExpectedImprovement",
    "InformationGainBeta",
    "LogBeta",
    "PosteriorMean",
    "ProbabilityOfImprovement",
    "SmoothnessBeta",
    "ThompsonSampling",
    "as_acquisition",
    "maximize",
]
