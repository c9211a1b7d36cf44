"""What BR- and SW-GP-UCB share: a length that a variation budget gives."""

from .._validation import check_int, check_real
from ..acquisition import InformationGainBeta
from ..staleness import VariationBudget
from ._base import StaticAlgorithm
from ._parameters import algorithm

# Observations in a window or a block when nothing is said of either: as the policies have it.
DEFAULT_LENGTH = 50


@algorithm
class VariationBudgeted(StaticAlgorithm):
    """IGP-UCB on a part of the observations, as long as one parameter or a budget says."""

    horizon: int | None = None
    variation_budget: float = 1.0

    # The parameter of this name gives the length outright.
    _length = None

    def _make_beta(self):
        return InformationGainBeta()

    def _length_or_budget(self):
        """The length, or what computes it of a surrogate."""
        length = getattr(self, self._length)
        if length is None and self.horizon is None:
            return DEFAULT_LENGTH
        return VariationBudget(self.horizon, self.variation_budget) if length is None else length

    def _check_parameters(self):
        super()._check_parameters()
        for name in (self._length, "horizon"):
            if getattr(self, name) is not None:
                check_int(getattr(self, name), name, self)
        check_real(self.variation_budget, "variation_budget", self, interval="(0, inf)")
        if getattr(self, self._length) is not None:
            self._check_unused(("horizon", "variation_budget"), f"with {self._length}=...")
        elif self.horizon is None:
            self._check_unused(("variation_budget",), "without a horizon")
