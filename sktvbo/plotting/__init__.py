"""Pictures of runs, comparisons and data sets, in the manner of scikit-learn's displays.

A ``from_...`` classmethod computes, ``plot`` draws: a display can be drawn again, elsewhere,
without computing again. Only drawing needs matplotlib.
"""

from ._animation import animate_run
from ._comparison import ComparisonDisplay
from ._dataset_size import DatasetSizeDisplay
from ._posterior import PosteriorDisplay
from ._regret import RegretDisplay
from ._relevancy import RelevancyDisplay

__all__ = [
    "ComparisonDisplay",
    "DatasetSizeDisplay",
    "PosteriorDisplay",
    "RegretDisplay",
    "RelevancyDisplay",
    "animate_run",
]
