"""Pictures of runs, comparisons and data sets.

As in scikit-learn, a display is made by a ``from_...`` class method and stores what it shows. Other
than there, that method only computes, and nothing is drawn before ``plot``: a display can be drawn
again, elsewhere, without computing again. Most displays pass further keywords of ``plot`` on to
matplotlib. Only drawing needs it.
"""

from ._animation import animate_run
from ._comparison import ComparisonDisplay
from ._dataset_size import DatasetSizeDisplay
from ._posterior import PosteriorDisplay
from ._regret import RegretDisplay
from ._relevancy import RelevancyDisplay
from ._slices import SliceDisplay, TrackDisplay

__all__ = [
    "ComparisonDisplay",
    "DatasetSizeDisplay",
    "PosteriorDisplay",
    "RegretDisplay",
    "RelevancyDisplay",
    "SliceDisplay",
    "TrackDisplay",
    "animate_run",
]
