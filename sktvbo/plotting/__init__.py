"""Displays of runs, comparisons and data sets.

As in scikit-learn, a display is made by a ``from_...`` class method and stores its data. Unlike
there, this method only computes; ``plot`` draws, any number of times and on any axes. Most displays
pass further keywords of ``plot`` on to matplotlib, which only drawing needs.
"""

from ._baseline import BaselineDisplay
from ._comparison import ComparisonDisplay, DatasetSizeDisplay, RegretDisplay
from ._forecast import ForecastDisplay
from ._panels import OutcomeDisplay, SliceDisplay, TrackDisplay
from ._places import PosteriorDisplay, RelevancyDisplay
from ._report import report

__all__ = [
    "BaselineDisplay",
    "ComparisonDisplay",
    "DatasetSizeDisplay",
    "ForecastDisplay",
    "OutcomeDisplay",
    "PosteriorDisplay",
    "RegretDisplay",
    "RelevancyDisplay",
    "SliceDisplay",
    "TrackDisplay",
    "report",
]
