"""Average regret and size of the data set over time."""

import numpy as np
import pytest
from plotting.cases import made_run

from sktvbo import RandomSearch, evaluation, problems
from sktvbo.exceptions import InvalidObservationError
from sktvbo.plotting import DatasetSizeDisplay, RegretDisplay

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


def test_regret_ends_at_the_tables_numbers(comparison):
    display = RegretDisplay.from_comparison(comparison, "six-hump-camel")
    for row in comparison.summary():
        if row["problem"] == "six-hump-camel":
            assert display.mean[row["algorithm"]][-1] == pytest.approx(row["average_regret"])
            error = display.standard_error[row["algorithm"]][-1]
            assert error == pytest.approx(row["standard_error"])


def test_regret_picture_has_curves_bands_labels_and_units(comparison, plt):
    display = RegretDisplay.from_comparison(
        comparison, "eggholder", time_unit="steps", regret_unit="V"
    )
    assert display.plot() is display
    ax = display.ax_
    assert display.figure_ is ax.figure
    assert ax.get_xlabel() == "time (steps)"
    assert ax.get_ylabel() == "average regret (V)"
    assert ax.get_title() == "eggholder (mean ± s.e. of 3 runs)"
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["one", "two"]
    assert len(ax.collections) == 2
    np.testing.assert_array_equal(display.lines_["two"].get_ydata(), display.mean["two"])


def test_a_single_run_has_no_band(plt):
    problem = problems.make("six-hump-camel", horizon=30.0)
    single = evaluation.compare({"random": RandomSearch()}, [problem], n_replications=1)
    display = RegretDisplay.from_comparison(single).plot()
    assert np.isnan(display.standard_error["random"]).all()
    assert len(display.ax_.collections) == 0
    assert display.ax_.get_title() == "six-hump-camel (1 run)"
    assert display.ax_.get_xlabel() == "time (s)"
    assert display.ax_.get_ylabel() == "average regret (units of f)"


@pytest.mark.parametrize("lowest", [1.0, -0.5])
def test_regret_axis_starts_at_zero_unless_a_regret_is_negative(lowest, plt):
    curve = {"a": np.array([2.0, lowest])}
    display = RegretDisplay([0.0, 1.0], curve, curve, problem="p", n_replications=2).plot()
    bottom = display.ax_.get_ylim()[0]
    assert bottom == 0.0 if lowest > 0.0 else bottom < lowest


def test_regret_uses_the_axes_given(comparison, plt):
    figure, (left, right) = plt.subplots(1, 2)
    display = RegretDisplay.from_comparison(comparison, "eggholder").plot(ax=right)
    assert display.ax_ is right
    assert display.figure_ is figure
    assert not left.has_data()


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


def test_sizes_of_a_comparison_are_those_of_its_runs(comparison):
    display = DatasetSizeDisplay.from_comparison(comparison, "eggholder", time_unit="h")
    runs = {name: comparison.results[name, "eggholder"] for name in ("one", "two")}
    direct = DatasetSizeDisplay.from_runs(runs)
    np.testing.assert_array_equal(display.times, direct.times)
    np.testing.assert_array_equal(display.median["two"], direct.median["two"])
    assert (display.problem, display.time_unit) == ("eggholder", "h")


@pytest.mark.parametrize("log", [False, True])
def test_sizes_picture(three_runs, log, plt):
    runs = {"a": three_runs, "b": [made_run([0, 1], [4, 5])]}
    display = DatasetSizeDisplay.from_runs(runs, time_unit="steps")
    assert display.plot(log=log) is display
    ax = display.ax_
    assert (ax.get_xlabel(), ax.get_ylabel()) == (
        "time (steps)",
        "size of the data set (observations)",
    )
    assert ax.get_title() == "p (median and quartiles of 1 to 3 runs)"
    assert ax.get_xscale() == ax.get_yscale() == ("log" if log else "linear")
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["a", "b"]
    assert len(ax.collections) == 1  # a single run has no band
    band = ax.collections[0].get_paths()[0].vertices
    assert (band[:, 1].min(), band[:, 1].max()) == (1.5, 2.5)
    line = display.lines_["a"]
    np.testing.assert_array_equal(line.get_ydata(), display.median["a"])
    assert line.get_drawstyle() == "steps-post"  # a size holds until the next time
    display.figure_.canvas.draw()


def test_sizes_on_a_logarithmic_axis_start_after_zero(plt):
    run = made_run([0, 1, 2], [1, 2, 3], n_initial=0)
    ax = DatasetSizeDisplay.from_runs({"a": [run]}).plot(log=True).ax_
    assert ax.get_xlim() == (1.0, 10.0)


def test_curves_of_equal_sizes_have_different_widths(plt):
    run = made_run([0, 1, 2], [1, 2, 3])
    runs = {name: [run] for name in "abc"}
    lines = DatasetSizeDisplay.from_runs(runs).plot().lines_.values()
    widths = [line.get_linewidth() for line in lines]
    assert widths == sorted(set(widths), reverse=True)


@pytest.mark.parametrize(
    ("runs", "message"), [({}, "Got no algorithm"), ({"a": []}, "Got none for 'a'")]
)
def test_sizes_need_runs(runs, message):
    with pytest.raises(ValueError, match=message):
        DatasetSizeDisplay.from_runs(runs)


@pytest.mark.parametrize("display", [RegretDisplay, DatasetSizeDisplay])
def test_a_run_needs_a_query_after_the_initial_ones(display):
    table = evaluation.Comparison({("a", "p"): [made_run([0, 1], [1, 2], n_initial=2)]})
    with pytest.raises(InvalidObservationError, match="at least one query after the 2 initial"):
        display.from_comparison(table)
