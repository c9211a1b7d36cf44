"""Displays of comparisons: regret and size of the data set over time, and regrets over problems."""

from itertools import pairwise

import numpy as np
import pytest
from plotting.cases import made_run

from sktvbo import RandomSearch, evaluation
from sktvbo.exceptions import InvalidObservationError
from sktvbo.plotting import ComparisonDisplay, DatasetSizeDisplay, RegretDisplay

# --- regret ---------------------------------------------------------------------------------------


def test_regret_curve_is_the_running_average(comparison):
    display = RegretDisplay.from_comparison(comparison, "eggholder", n_times=23)
    results = comparison.results["two", "eggholder"]
    first = [r.times[r.n_initial] for r in results]
    assert display.times[[0, -1]].tolist() == [max(first), 40.0]
    assert display.times.shape == display.mean["two"].shape == (23,)
    for i, now in enumerate(display.times):
        averages = []
        for r in results:
            made = [
                regret for t, regret in list(zip(r.times, r.regrets))[r.n_initial :] if t <= now
            ]
            averages.append(sum(made) / len(made))
        spread = np.sqrt(sum((a - np.mean(averages)) ** 2 for a in averages) / 2)
        assert display.mean["two"][i] == pytest.approx(np.mean(averages))
        assert display.standard_error["two"][i] == pytest.approx(spread / np.sqrt(3))


def test_regret_picture_has_curves_and_bands_on_the_axes_given(comparison, plt):
    figure, (left, right) = plt.subplots(1, 2)
    display = RegretDisplay.from_comparison(comparison, "eggholder")
    assert display.plot(ax=right) is display
    assert (display.ax_, display.figure_) == (right, figure)
    assert not left.has_data()
    assert len(right.collections) == 2
    np.testing.assert_array_equal(display.lines_["two"].get_ydata(), display.mean["two"])


@pytest.mark.parametrize("lowest", [1.0, -0.5])
def test_regret_axis_starts_at_zero_unless_a_regret_is_negative(lowest, plt):
    curve = {"a": np.array([2.0, lowest])}
    display = RegretDisplay([0.0, 1.0], curve, curve, problem="p", n_replications=2).plot()
    bottom = display.ax_.get_ylim()[0]
    assert bottom == 0.0 if lowest > 0.0 else bottom < lowest


# --- size of the data set -------------------------------------------------------------------------


def test_sizes_are_medians_and_quartiles_over_the_runs(three_runs):
    display = DatasetSizeDisplay.from_runs({"a": three_runs, "b": [made_run([0, 1], [4, 5])]})
    # The first query after the initial one of the third run is at 3.
    assert display.times.tolist() == [3, 4, 5, 6, 10]
    # Sizes then: 2 2 1, 2 2 2, 3 2 2, 3 1 2, and the same at the end.
    assert display.median["a"].tolist() == [2, 2, 2, 2, 2]
    assert display.lower["a"].tolist() == [1.5, 2, 2, 1.5, 1.5]
    assert display.upper["a"].tolist() == [2, 2, 2.5, 2.5, 2.5]
    assert display.median["b"].tolist() == [5] * 5
    assert display.n_runs == {"a": 3, "b": 1}


def test_sizes_are_shown_until_the_first_run_ends(three_runs):
    short = made_run([0, 1], [4, 5], horizon=4.5, problem="q")
    display = DatasetSizeDisplay.from_runs({"a": three_runs, "b": [short]})
    assert display.times.tolist() == [3, 4, 4.5]
    assert display.problem is None


@pytest.mark.parametrize("log", [False, True])
def test_sizes_picture(three_runs, log, plt):
    runs = {"a": three_runs, "b": [made_run([0, 1], [4, 5])]}
    display = DatasetSizeDisplay.from_runs(runs)
    ax = display.plot(log=log).ax_
    assert ax.get_xscale() == ax.get_yscale() == ("log" if log else "linear")
    assert len(ax.collections) == 1  # a single run has no band
    band = ax.collections[0].get_paths()[0].vertices
    assert (band[:, 1].min(), band[:, 1].max()) == (1.5, 2.5)
    line = display.lines_["a"]
    np.testing.assert_array_equal(line.get_ydata(), display.median["a"])
    assert line.get_drawstyle() == "steps-post"  # a size holds until the next time
    # A logarithmic axis starts after 0.
    early = DatasetSizeDisplay.from_runs({"a": [made_run([0, 1, 2], [1, 2, 3], n_initial=0)]})
    assert early.plot(log=log).ax_.get_xlim()[0] == (1.0 if log else 0.0)


@pytest.mark.parametrize("display", [RegretDisplay, DatasetSizeDisplay])
def test_a_run_needs_a_query_after_the_initial_ones(display):
    table = evaluation.Comparison({("a", "p"): [made_run([0, 1], [1, 2], n_initial=2)]})
    with pytest.raises(InvalidObservationError, match="at least one query after the 2 initial"):
        display.from_comparison(table)
    for runs, message in (({}, "Got no algorithm"), ({"a": []}, "Got none for 'a'")):
        with pytest.raises(ValueError, match=message):
            DatasetSizeDisplay.from_runs(runs)


# --- normalized regret over problems --------------------------------------------------------------


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
    (whisker,) = ax.collections[0].get_segments()
    np.testing.assert_allclose(whisker, [[0.0, 0.0], [0.0, 0.5]])
    # Colours are those of the other displays.
    from matplotlib.colors import to_rgba

    lines = DatasetSizeDisplay.from_comparison(scored, "p").plot().lines_
    colours = [to_rgba(lines[name].get_color()) for name in "abc"]
    assert [display.bars_[name][0].get_facecolor() for name in "abc"] == colours
    assert len(set(colours)) == 3


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
    # An algorithm without any run is the last; one problem has no error.
    scored.results["a", "p"] = scored.results["a", "q"] = []
    ax = ComparisonDisplay.from_comparison(scored).plot().ax_
    assert [label.get_text() for label in ax.get_xticklabels()] == ["b", "c", "a"]
    only = {key: runs for key, runs in scored.results.items() if key[1] == "p"}
    single = ComparisonDisplay.from_comparison(evaluation.Comparison(only)).plot()
    assert single.ax_.get_title() == "p"
    assert np.isnan(list(single.standard_error.values())).all()


def test_the_sizes_of_an_optimizer_are_beside_what_it_was_told(tracked, plt):
    display = DatasetSizeDisplay.from_optimizer(tracked).plot()
    n = tracked.n_told_
    assert display.told.tolist() == list(range(1, n + 1))
    assert display.ax_.get_title() == f"{len(tracked.X_)} of {n} kept"
    assert [line.get_label() for line in display.ax_.lines] == ["told", "W-DBO"]
    short = tracked.with_parameters(history=5)
    assert DatasetSizeDisplay.from_optimizer(short).told.tolist() == list(range(n - 4, n + 1))
    keeper = RandomSearch([(0.0, 1.0)])
    keeper.tell_many([[0.1], [0.2]], [0.0, 1.0], [0.0, 1.0])
    title = DatasetSizeDisplay.from_optimizer(keeper).plot().ax_.get_title()
    assert title == "all 2 observations are kept"
