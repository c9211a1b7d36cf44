"""Curves over time, one per algorithm."""

import numpy as np
import pytest

from sktvbo import evaluation
from sktvbo.plotting import DatasetSizeDisplay, RegretDisplay


def test_many_algorithms_remain_distinguishable(plt):
    times = np.arange(3.0)
    mean = {f"algorithm {i}": np.full(3, float(i)) for i in range(14)}
    display = RegretDisplay(times, mean, mean, problem="p", n_replications=2).plot()
    looks = {(line.get_color(), line.get_linestyle()) for line in display.lines_.values()}
    assert len(looks) == 14


@pytest.mark.parametrize("display", [RegretDisplay, DatasetSizeDisplay])
def test_curves_take_the_users_style(display, three_runs, plt):
    table = evaluation.Comparison({(name, "p"): three_runs for name in "ab"})
    drawn = display.from_comparison(table).plot(lw=5.0, marker="s", color="red")
    for line in drawn.lines_.values():
        assert (line.get_linewidth(), line.get_marker(), line.get_color()) == (5.0, "s", "red")
    bands = [tuple(band.get_facecolor()[0][:3]) for band in drawn.ax_.collections]
    assert bands == [(1.0, 0.0, 0.0)] * 2
    assert [text.get_text() for text in drawn.ax_.get_legend().get_texts()] == ["a", "b"]
