"""What BR- and SW-GP-UCB share: a length that a variation budget gives."""

from .._checks import invalid
from ..acquisition import UCB, InformationGainBeta
from ..staleness import VariationBudget
from ._base import StaticAlgorithm
from ._parameters import algorithm


@algorithm
class VariationBudgeted(StaticAlgorithm):
    """IGP-UCB on a part of the observations, as long as one parameter or a budget says."""

    horizon: int | None = None
    variation_budget: float = 1.0

    # The parameter of this name gives the length outright.
    _length = None

    def _make_acquisition(self):
        return UCB(InformationGainBeta())

    def _length_or_budget(self):
        """The length, or what computes it of a surrogate."""
        length = getattr(self, self._length)
        return VariationBudget(self.horizon, self.variation_budget) if length is None else length

    def _check_parameters(self):
        super()._check_parameters()
        if getattr(self, self._length) is None and self.horizon is None:
            raise invalid(
                self._length,
                "an int in the range [1, inf) when there is no 'horizon'",
                None,
                self,
                advice="Give one, or the number of observations in the whole run as horizon.",
            )
