"""Displays of runs, comparisons and data sets.

As in scikit-learn, a display is made by a ``from_...`` class method and stores its data. Unlike
there, this method only computes; ``plot`` draws, any number of times and on any axes. Most displays
pass further keywords of ``plot`` on to matplotlib, which only drawing needs.
"""

from ._animation import animate_run
from ._comparison import ComparisonDisplay
from ._curves import DatasetSizeDisplay, RegretDisplay
from ._outcomes import OutcomeDisplay
from ._posterior import PosteriorDisplay
from ._relevancy import RelevancyDisplay
from ._slices import SliceDisplay, TrackDisplay

__all__ = [
    "ComparisonDisplay",
    "DatasetSizeDisplay",
    "OutcomeDisplay",
    "PosteriorDisplay",
    "RegretDisplay",
    "RelevancyDisplay",
    "SliceDisplay",
    "TrackDisplay",
    "animate_run",
]
