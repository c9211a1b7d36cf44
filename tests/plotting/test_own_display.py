"""A display from outside of the package: data, how they are computed, how they are drawn."""

from dataclasses import KW_ONLY

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from sktvbo import RandomSearch
from sktvbo.exceptions import AskTellError
from sktvbo.plotting._common import Display, OptimizerView, display_data


@display_data
class ValueDisplay(Display):
    """Values of the observations over time, those in the data set in full colour."""

    times: np.ndarray
    y: np.ndarray
    removed: np.ndarray
    _: KW_ONLY
    time_unit: str = ""
    dates: bool = False

    @classmethod
    def from_optimizer(cls, optimizer, **labels):
        view = OptimizerView(optimizer)
        y = view.optimizer.told_y_
        return cls(view.told[:, -1], y, view.removed, **view.labels(labels))

    def plot(self, ax=None, **options):
        (ax,) = self._panels(ax)
        for rows, alpha in ((self.removed, 0.3), (~self.removed, 1.0)):
            ax.plot(self._on_axis(self.times[rows]), self.y[rows], "o", alpha=alpha, **options)
        self._set_up_time(ax)
        return self._finish(ax)


def test_a_display_is_one_class(tracked, plt):
    display = ValueDisplay.from_optimizer(tracked, time_unit="h")
    assert_array_equal(display.y, tracked.told_y_)
    given = plt.figure().add_subplot()
    for ax in (None, given):
        shown = display.plot(ax, markersize=3.0).ax_
        assert shown.get_xlabel() == "time (h)"
        drawn = np.concatenate([line.get_xydata() for line in shown.lines])
        assert len(drawn) == tracked.n_told_
        assert shown.lines[0].get_xydata()[:, 0].size == tracked.n_removed_
    assert display.ax_ is given


def test_it_needs_what_all_displays_need():
    random = RandomSearch([(0.0, 1.0)])
    random.tell([0.5], 1.0, t=0.0)
    with pytest.raises(AskTellError, match="must be one that has fitted a surrogate"):
        ValueDisplay.from_optimizer(random)
