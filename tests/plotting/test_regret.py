"""Regret over time."""

import numpy as np
import pytest

from sktvbo import RandomSearch, evaluation, problems
from sktvbo.exceptions import InvalidObservationError
from sktvbo.plotting import RegretDisplay


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


def test_regret_needs_a_query_after_the_initial_ones():
    problem = problems.make("six-hump-camel", horizon=15.0)
    table = evaluation.compare({"random": RandomSearch()}, [problem], n_replications=1)
    with pytest.raises(InvalidObservationError, match="at least one query after the 15 initial"):
        RegretDisplay.from_comparison(table)
