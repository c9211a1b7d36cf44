"""Properties that several displays share."""

import sys

import pytest
from contract.cases import fingerprint

from sktvbo import WDBO, RandomSearch, evaluation
from sktvbo.exceptions import AskTellError, MissingExtraError
from sktvbo.plotting import (
    ComparisonDisplay,
    DatasetSizeDisplay,
    PosteriorDisplay,
    RegretDisplay,
    RelevancyDisplay,
    SliceDisplay,
    TrackDisplay,
)

CURVES = [RegretDisplay, DatasetSizeDisplay]
OF_OPTIMIZERS = {
    "posterior": lambda optimizer: PosteriorDisplay.from_run(optimizer, n_places=5, n_times=2),
    "relevancy": RelevancyDisplay.from_optimizer,
    "sizes": DatasetSizeDisplay.from_optimizer,
    "slices": lambda optimizer: SliceDisplay.from_optimizer(optimizer, n_values=5),
    "tracks": lambda optimizer: TrackDisplay.from_optimizer(optimizer, n_times=3, n_values=5),
}


@pytest.mark.parametrize("display", CURVES)
def test_an_algorithm_without_a_finished_run_is_left_out(display, three_runs, plt):
    table = evaluation.Comparison({("failed", "p"): [], ("a", "p"): three_runs})
    assert list(display.from_comparison(table).plot().lines_) == ["a"]
    with pytest.raises(ValueError, match=r"finished run on 'p'\. Got none .* See its failures"):
        display.from_comparison(evaluation.Comparison({("failed", "p"): []}))


@pytest.mark.parametrize("display", CURVES)
@pytest.mark.parametrize("problem", [None, "ackley"])
def test_a_comparison_of_several_problems_needs_the_name_of_one(display, problem, comparison):
    with pytest.raises(ValueError, match=f"one of six-hump-camel, eggholder.*Got {problem!r}"):
        display.from_comparison(comparison, problem)


SPREAD = "p (median and quartiles of 1 to 3 runs)"
UNITS = {"time_unit": "h", "space_label": "power (W)", "value_label": "rate (bit/s)"}
LABELS = {
    "regret": (
        "comparison",
        lambda found: RegretDisplay.from_comparison(
            found, "eggholder", time_unit="steps", regret_unit="V"
        ),
        ["time (steps)", "average regret (V)", "eggholder (mean ± s.e. of 3 runs)"],
    ),
    "sizes": (
        "three_runs",
        lambda runs: DatasetSizeDisplay.from_runs({"a": runs, "b": runs[:1]}, time_unit="h"),
        ["time (h)", "size of the data set (observations)", SPREAD],
    ),
    "comparison": (
        "comparison",
        ComparisonDisplay.from_comparison,
        ["", "normalized average regret\n(best 0, worst 1)", "mean ± s.e. of 2 problems"],
    ),
    "units": (
        "tracked",
        lambda optimizer: PosteriorDisplay.from_run(optimizer, **UNITS),
        ["time (h)", "power (W)", "", "rate (bit/s)"],
    ),
    "arms": (
        "arms",
        lambda found: PosteriorDisplay.from_run(*found),
        ["time", "index of the arm", "", "posterior mean"],
    ),
    "relevancy": ("tracked", RelevancyDisplay.from_optimizer, ["time", "x", "", "relevancy"]),
    "relevancy in several dimensions": (
        "forgetful",
        lambda found: RelevancyDisplay.from_optimizer(found, time_unit="min"),
        ["time (min)", "relevancy", ""],
    ),
}


@pytest.mark.parametrize("name", LABELS)
def test_labels_and_units(name, request, plt):
    fixture, make, labels = LABELS[name]
    display = make(request.getfixturevalue(fixture))
    assert display.plot() is display
    ax, bar = display.ax_, getattr(display, "colorbar_", None)
    assert display.figure_ is ax.figure
    found = [ax.get_xlabel(), ax.get_ylabel(), ax.get_title()]
    assert found + ([] if bar is None else [bar.ax.get_ylabel()]) == labels


@pytest.mark.parametrize("display", CURVES)
def test_curves_take_the_users_style(display, three_runs, plt):
    table = evaluation.Comparison({(name, "p"): three_runs for name in "ab"})
    drawn = display.from_comparison(table).plot(lw=5.0, marker="s", color="red")
    for line in drawn.lines_.values():
        assert (line.get_linewidth(), line.get_marker(), line.get_color()) == (5.0, "s", "red")
    bands = [tuple(band.get_facecolor()[0][:3]) for band in drawn.ax_.collections]
    assert bands == [(1.0, 0.0, 0.0)] * 2
    assert [text.get_text() for text in drawn.ax_.get_legend().get_texts()] == ["a", "b"]
    bars = ComparisonDisplay.from_comparison(table).plot(ec="red", alpha=0.5).bars_
    assert bars["a"][0].get_edgecolor() == (1.0, 0.0, 0.0, 0.5)


def test_missing_matplotlib_names_the_extra(comparison, tracked, monkeypatch):
    displays = [display.from_comparison(comparison, "eggholder") for display in CURVES]
    displays.append(ComparisonDisplay.from_comparison(comparison))
    displays.extend(make(tracked) for make in OF_OPTIMIZERS.values())
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    for display in displays:
        expected = rf'{type(display).__name__}\.plot needs .*pip install "sktvbo\[plot\]"'
        with pytest.raises(MissingExtraError, match=expected):
            display.plot(object())


@pytest.mark.parametrize("name", OF_OPTIMIZERS)
def test_a_display_does_not_change_the_optimizer(name, tracked):
    before = fingerprint(tracked)
    OF_OPTIMIZERS[name](tracked)
    assert fingerprint(tracked) == before


@pytest.mark.parametrize("name", OF_OPTIMIZERS)
def test_a_display_of_an_optimizer_needs_its_surrogate_or_history(name):
    message = (
        "with two observations or more" if name == "sizes" else "without one after 1 observations"
    )
    for optimizer in (WDBO([(0, 1)]), RandomSearch([(0, 1)])):
        optimizer.tell([0.5], 1.0, 0.0)
        with pytest.raises(AskTellError, match=message):
            OF_OPTIMIZERS[name](optimizer)


@pytest.mark.parametrize("name", ["posterior", "relevancy"])
def test_a_pending_query_is_the_present(name, camel):
    optimizer = evaluation.run(WDBO(n_initial_points=5), camel, horizon=20.0).optimizer
    optimizer.ask(23.5)
    assert OF_OPTIMIZERS[name](optimizer).now == 23.5
