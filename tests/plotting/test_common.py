"""What the pictures share."""

import sys

import pytest

from sktvbo import evaluation
from sktvbo.exceptions import MissingExtraError
from sktvbo.plotting import (
    ComparisonDisplay,
    DatasetSizeDisplay,
    PosteriorDisplay,
    RegretDisplay,
    RelevancyDisplay,
)


@pytest.mark.parametrize("display", [RegretDisplay, DatasetSizeDisplay])
def test_an_algorithm_without_a_finished_run_is_left_out(display, three_runs, plt):
    table = evaluation.Comparison({("failed", "p"): [], ("a", "p"): three_runs})
    assert list(display.from_comparison(table).plot().lines_) == ["a"]
    with pytest.raises(ValueError, match=r"finished run on 'p'\. Got none .* See its failures"):
        display.from_comparison(evaluation.Comparison({("failed", "p"): []}))


@pytest.mark.parametrize("axes_given", [False, True])
def test_missing_matplotlib_names_the_extra(comparison, tracked, camel, axes_given, monkeypatch):
    regret = RegretDisplay.from_comparison(comparison, "eggholder")
    posterior = PosteriorDisplay.from_run(tracked, camel, n_times=2)
    sizes = DatasetSizeDisplay.from_comparison(comparison, "eggholder")
    relevancy = RelevancyDisplay.from_optimizer(tracked)
    overall = ComparisonDisplay.from_comparison(comparison)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    for display in (regret, posterior, sizes, relevancy, overall):
        expected = rf'{type(display).__name__}\.plot needs .*pip install "sktvbo\[plot\]"'
        with pytest.raises(MissingExtraError, match=expected):
            display.plot(object() if axes_given else None)
