"""Comparisons over all problems."""

from itertools import pairwise

import numpy as np
import pytest
from plotting.cases import made_run

from sktvbo import evaluation
from sktvbo.plotting import ComparisonDisplay, DatasetSizeDisplay


@pytest.fixture
def scored():
    """Average regrets 1, 2, 3 on p and 8, 4, 4 on q."""
    regrets = {"a": {"p": 1, "q": 8}, "b": {"p": 2, "q": 4}, "c": {"p": 3, "q": 4}}
    return evaluation.Comparison(
        {
            (name, problem): [made_run([0, 1], [1, 2], regret=regret, problem=problem)]
            for name, by_problem in regrets.items()
            for problem, regret in by_problem.items()
        }
    )


def tops(bars):
    return [bar.get_y() + bar.get_height() for bar in bars]


def test_comparison_averages_normalized_regrets(scored):
    display = ComparisonDisplay.from_comparison(scored)
    assert display.by_problem == {
        "a": {"p": 0.0, "q": 1.0},
        "b": {"p": 0.5, "q": 0.0},
        "c": {"p": 1.0, "q": 0.0},
    }
    assert display.mean == {"a": 0.5, "b": 0.25, "c": 0.5}
    # Two values that differ by 2 h have a standard error of h.
    assert display.standard_error == pytest.approx({"a": 0.5, "b": 0.25, "c": 0.5})


def test_comparison_picture_has_the_best_first(scored, plt):
    display = ComparisonDisplay.from_comparison(scored)
    assert display.plot() is display
    ax = display.ax_
    assert [label.get_text() for label in ax.get_xticklabels()] == ["b", "a", "c"]
    assert [tops(display.bars_[name])[0] for name in "abc"] == pytest.approx([0.5, 0.25, 0.5])
    centres = [bar.get_x() + bar.get_width() / 2 for bar in ax.patches]
    assert centres == pytest.approx([0, 1, 2])
    assert ax.get_ylabel() == "normalized average regret\n(best 0, worst 1)"
    assert ax.get_title() == "mean ± s.e. of 2 problems"
    (whisker,) = ax.collections[0].get_segments()
    np.testing.assert_allclose(whisker, [[0.0, 0.0], [0.0, 0.5]])
    colours = {name: bars[0].get_facecolor() for name, bars in display.bars_.items()}
    assert len(set(colours.values())) == 3


def test_comparison_colours_are_those_of_the_other_displays(scored, plt):
    from matplotlib.colors import to_rgba

    bars = ComparisonDisplay.from_comparison(scored).plot().bars_
    lines = DatasetSizeDisplay.from_comparison(scored, "p").plot().lines_
    for name in "abc":
        assert bars[name][0].get_facecolor() == to_rgba(lines[name].get_color())


def test_comparison_picture_by_problem(scored, plt):
    display = ComparisonDisplay.from_comparison(scored).plot(by_problem=True)
    ax = display.ax_
    labels = [label.get_text() for label in ax.get_xticklabels()]
    assert labels == ["mean ± s.e.", "p", "q"]
    assert tops(display.bars_["a"]) == pytest.approx([0.5, 0.0, 1.0])
    assert all(bar.get_height() > 0 for bar in display.bars_["a"])  # the best has a bar, too
    assert sorted(text.get_text() for text in ax.get_legend().get_texts()) == ["a", "b", "c"]
    edges = sorted((bar.get_x(), bar.get_x() + bar.get_width()) for bar in ax.patches)
    assert all(right <= left + 1e-9 for (_, right), (left, _) in pairwise(edges))


def test_comparison_says_where_no_run_has_finished(scored, plt):
    scored.results["c", "q"] = []
    display = ComparisonDisplay.from_comparison(scored)
    assert display.mean["c"] == 1.0
    assert np.isnan(display.standard_error["c"])
    ax = display.plot(by_problem=True).ax_
    (note,) = ax.texts
    assert note.get_text() == "no run"
    bar = display.bars_["c"][2]
    assert note.xy[0] == pytest.approx(bar.get_x() + bar.get_width() / 2)


def test_comparison_puts_an_algorithm_without_any_run_last(scored, plt):
    scored.results["a", "p"] = scored.results["a", "q"] = []
    display = ComparisonDisplay.from_comparison(scored).plot()
    assert [label.get_text() for label in display.ax_.get_xticklabels()] == ["b", "c", "a"]
    assert [text.get_text() for text in display.ax_.texts] == ["no run"]


def test_comparison_of_one_problem_has_no_error(scored, plt):
    only = {key: runs for key, runs in scored.results.items() if key[1] == "p"}
    display = ComparisonDisplay.from_comparison(evaluation.Comparison(only)).plot()
    assert display.ax_.get_title() == "p"
    assert np.isnan(list(display.standard_error.values())).all()
    display.figure_.canvas.draw()


def test_comparison_takes_the_users_style(scored, plt):
    bars = ComparisonDisplay.from_comparison(scored).plot(ec="red", alpha=0.5).bars_
    for name in "abc":
        assert bars[name][0].get_edgecolor() == (1.0, 0.0, 0.0, 0.5)
