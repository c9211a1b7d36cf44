"""Displays: what they store, and what a reader finds in the picture."""

import sys
from itertools import pairwise

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.gaussian_process.kernels import RBF, Matern

from sktvbo import GPUCB, WDBO, RandomSearch, TimeVaryingGPRegressor, evaluation, problems
from sktvbo.domain import FiniteSet
from sktvbo.exceptions import (
    AskTellError,
    DomainError,
    InvalidObservationError,
    MissingExtraError,
    UnsupportedKernelError,
)
from sktvbo.plotting import (
    ComparisonDisplay,
    DatasetSizeDisplay,
    PosteriorDisplay,
    RegretDisplay,
    RelevancyDisplay,
    animate_run,
)
from sktvbo.relevancy import wasserstein_relevancy


@pytest.fixture
def plt():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    yield pyplot
    pyplot.close("all")


@pytest.fixture(scope="module")
def comparison():
    chosen = [problems.make(name, horizon=40.0) for name in ("six-hump-camel", "eggholder")]
    # The response time makes the runs' queries fall on different times.
    clock = evaluation.SimulatedClock(response_time=lambda n: 0.7 + 0.02 * n)
    algorithms = {"one": RandomSearch(), "two": RandomSearch()}
    return evaluation.compare(algorithms, chosen, n_replications=3, clock=clock, n_initial=4)


@pytest.fixture(scope="module")
def camel():
    return problems.make("six-hump-camel", horizon=60.0)


@pytest.fixture(scope="module")
def tracked(camel):
    """A W-DBO at two thirds of its run, that has forgotten something."""
    optimizer = evaluation.run(WDBO(n_initial_points=8), camel, horizon=40.0).optimizer
    assert optimizer.n_removed_ > 0
    return optimizer


@pytest.fixture(scope="module")
def arms():
    """A W-DBO on six arms, the best of which moves from 1 to 4 at half time."""
    domain = FiniteSet([[0.0, 1.0], [2.0, 0.0], [1.0, 1.0], [3.0, 2.0], [0.0, 3.0], [5.0, 5.0]])
    problem = problems.from_callable(
        lambda x, t: -float(np.sum((x - domain.points[1 if t < 20.0 else 4]) ** 2)),
        domain,
        horizon=40.0,
    )
    result = evaluation.run(WDBO(n_initial_points=5), problem, n_initial=5, horizon=30.0)
    return result.optimizer, problem


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


def test_many_algorithms_remain_distinguishable(plt):
    times = np.arange(3.0)
    mean = {f"algorithm {i}": np.full(3, float(i)) for i in range(14)}
    display = RegretDisplay(times, mean, mean, problem="p", n_replications=2).plot()
    looks = {(line.get_color(), line.get_linestyle()) for line in display.lines_.values()}
    assert len(looks) == 14


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


@pytest.mark.parametrize("problem", [None, "ackley"])
def test_regret_wants_to_know_the_problem(comparison, problem):
    with pytest.raises(ValueError, match=f"one of six-hump-camel, eggholder.*got {problem!r}"):
        RegretDisplay.from_comparison(comparison, problem)


def test_regret_needs_a_query_after_the_initial_ones():
    problem = problems.make("six-hump-camel", horizon=15.0)
    table = evaluation.compare({"random": RandomSearch()}, [problem], n_replications=1)
    with pytest.raises(InvalidObservationError, match="at least one query after the 15 initial"):
        RegretDisplay.from_comparison(table)


# --- posterior ------------------------------------------------------------------------------------


def test_posterior_is_the_surrogates_own(tracked, camel):
    display = PosteriorDisplay.from_run(tracked, camel, n_times=7, n_places=5)
    np.testing.assert_allclose(display.times, [0, 10, 20, 30, 40, 50, 60])
    np.testing.assert_allclose(display.places, [0, 0.25, 0.5, 0.75, 1])
    assert display.mean.shape == (5, 7)
    for j, t in enumerate(display.times):
        rows = [[x, t] for x in display.places]
        np.testing.assert_allclose(display.mean[:, j], tracked.surrogate_.predict(rows))
        assert display.optimum[j] == camel.optimum(t)[0][0]
    assert display.now == 39.0


def test_posterior_splits_kept_from_removed(tracked, camel):
    display = PosteriorDisplay.from_run(tracked, camel, n_times=3)
    np.testing.assert_array_equal(display.kept, tracked.X_)
    assert len(display.removed) == tracked.n_removed_
    both = np.vstack([display.kept, display.removed])
    assert sorted(both.tolist()) == sorted(tracked.told_X_.tolist())


def test_posterior_leaves_the_optimizer_as_it_is(camel):
    def next_query(look):
        optimizer = evaluation.run(WDBO(n_initial_points=5), camel, horizon=20.0).optimizer
        if look:
            PosteriorDisplay.from_run(optimizer, camel, n_times=5)
        return optimizer.ask(25.0)

    np.testing.assert_array_equal(next_query(look=True), next_query(look=False))


def test_posterior_of_a_minimizer_has_the_users_sign():
    optimizer = WDBO([(-2.0, 4.0)], maximize=False, n_initial_points=6, random_state=0)
    for t in range(12):
        x = optimizer.ask(t)
        optimizer.tell(x, 10.0 + (x[0] - 1.0) ** 2)
    display = PosteriorDisplay.from_run(optimizer, n_places=61, n_times=4)
    assert display.optimum is None
    assert display.times[[0, -1]].tolist() == [0.0, 11.0]
    assert display.places[[0, -1]].tolist() == [-2.0, 4.0]
    assert display.places[np.argmin(display.mean[:, -1])] == pytest.approx(1.0, abs=0.3)
    assert display.mean[:, -1].min() == pytest.approx(10.0, abs=1.0)


def test_posterior_knows_of_a_query_that_is_under_way(tracked, camel):
    optimizer = evaluation.run(WDBO(n_initial_points=5), camel, horizon=20.0).optimizer
    optimizer.ask(23.5)
    assert PosteriorDisplay.from_run(optimizer, until=30.0, n_times=2).now == 23.5


def test_posterior_picture(tracked, camel, plt):
    figure, ax = plt.subplots()
    display = PosteriorDisplay.from_run(tracked, camel, n_times=30).plot(ax)
    assert display.ax_ is ax
    assert display.figure_ is figure
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("time (s)", "x")
    assert ax.get_xlim() == (0.0, 60.0)
    assert display.colorbar_.ax.get_ylabel() == "posterior mean"
    entries = [text.get_text() for text in ax.get_legend().get_texts()]
    assert entries[:2] == [f"kept ({len(tracked.X_)})", f"removed ({tracked.n_removed_})"]
    assert "argmax" in entries[2]
    assert [text.get_text() for text in ax.texts] == ["$t_0$"]
    lines = {line.get_label(): line for line in ax.lines}
    assert lines[entries[0]].get_color() == "red"
    assert lines[entries[0]].get_marker() == "o"
    np.testing.assert_array_equal(lines[entries[0]].get_xdata(), tracked.X_[:, 1])
    assert lines[entries[1]].get_color() == "black"
    assert lines[entries[1]].get_marker() == "x"
    assert lines[entries[2]].get_color() == "cyan"
    assert set(lines[entries[3]].get_xdata()) == {display.now}
    figure.canvas.draw()


def test_the_curve_of_the_optimum_is_broken_where_it_jumps(plt):
    display = PosteriorDisplay(
        np.arange(4.0),
        np.linspace(0.0, 1.0, 3),
        np.arange(12.0).reshape(3, 4),
        kept=np.zeros((0, 2)),
        removed=np.zeros((0, 2)),
        now=1.0,
        optimum=np.array([0.1, 0.12, 0.8, 0.79]),
        space_label="power (W)",
        time_unit="h",
        value_label="throughput (bit/s)",
    ).plot()
    curve = next(line for line in display.ax_.lines if line.get_color() == "cyan")
    np.testing.assert_array_equal(curve.get_xdata(), [0, 1, np.nan, 2, 3])
    np.testing.assert_array_equal(curve.get_ydata(), [0.1, 0.12, np.nan, 0.8, 0.79])
    assert display.ax_.get_xlabel() == "time (h)"
    assert display.ax_.get_ylabel() == "power (W)"
    assert display.colorbar_.ax.get_ylabel() == "throughput (bit/s)"


def test_posterior_over_arms(arms, plt):
    optimizer, problem = arms
    display = PosteriorDisplay.from_run(optimizer, problem, n_times=9)
    assert display.places.tolist() == [0, 1, 2, 3, 4, 5]
    assert display.optimum.tolist() == [1, 1, 1, 1, 4, 4, 4, 4, 4]
    domain = problem.domain
    for j, t in enumerate(display.times):
        rows = np.column_stack([domain.to_unit(domain.points), np.full(6, t)])
        np.testing.assert_allclose(display.mean[:, j], optimizer.surrogate_.predict(rows))
    np.testing.assert_array_equal(
        display.kept, np.column_stack([domain.indices(optimizer.X_[:, :-1]), optimizer.X_[:, -1]])
    )
    ax = display.plot().ax_
    assert ax.get_ylabel() == "index of the arm"
    assert ax.get_ylim() == (-0.5, 5.5)
    display.figure_.canvas.draw()


def test_posterior_of_several_dimensions_is_refused():
    problem = problems.make("ackley", horizon=30.0)
    optimizer = evaluation.run(WDBO(), problem, horizon=16.0).optimizer
    with pytest.raises(DomainError, match="one real dimension or a FiniteSet, got Box"):
        PosteriorDisplay.from_run(optimizer, problem)


@pytest.mark.parametrize("optimizer", [WDBO([(0, 1)]), RandomSearch([(0, 1)])])
def test_posterior_needs_a_surrogate(optimizer):
    optimizer.tell(optimizer.ask(0.0), 1.0)
    with pytest.raises(AskTellError, match="without one after 1 observations"):
        PosteriorDisplay.from_run(optimizer)


# --- size of the data set -------------------------------------------------------------------------


def made_run(times, sizes, *, regret=1.0, n_initial=1, horizon=10.0, problem="p"):
    """A run of which only times, sizes and a constant regret matter."""
    n = len(times)
    return evaluation.RunResult(
        problem=problem,
        horizon=horizon,
        n_initial=n_initial,
        times=np.array(times, dtype=float),
        queries=np.zeros((n, 1)),
        observations=np.zeros(n),
        regrets=np.full(n, float(regret)),
        response_times=np.zeros(n),
        dataset_sizes=np.array(sizes),
        removed_counts=np.zeros(n, dtype=int),
    )


@pytest.fixture
def three_runs():
    return [
        made_run([0, 2, 5], [1, 2, 3]),
        made_run([1, 2, 6], [1, 2, 1]),
        made_run([0, 3, 4], [1, 1, 2]),
    ]


def test_sizes_are_medians_and_quartiles_of_what_the_runs_hold(three_runs):
    display = DatasetSizeDisplay.from_runs({"a": three_runs, "b": [made_run([0, 1], [4, 5])]})
    # The third run makes its first query after the initial one at 3.
    assert display.times.tolist() == [3, 4, 5, 6, 10]
    # Held then: 2 2 1, 2 2 2, 3 2 2, 3 1 2, and the same at the end.
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
    with pytest.raises(ValueError, match=r"one of six-hump-camel, eggholder.*got None"):
        DatasetSizeDisplay.from_comparison(comparison)


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


def test_algorithms_that_keep_everything_do_not_hide_each_other(plt):
    run = made_run([0, 1, 2], [1, 2, 3])
    runs = {name: [run] for name in "abc"}
    widths = [
        line.get_linewidth() for line in DatasetSizeDisplay.from_runs(runs).plot().lines_.values()
    ]
    assert widths == sorted(set(widths), reverse=True)


@pytest.mark.parametrize(
    ("runs", "message"), [({}, "got no algorithm"), ({"a": []}, "got none for 'a'")]
)
def test_sizes_need_runs(runs, message):
    with pytest.raises(ValueError, match=message):
        DatasetSizeDisplay.from_runs(runs)


def test_sizes_need_a_query_after_the_initial_ones():
    with pytest.raises(InvalidObservationError, match=r"after the 2 initial ones.*got none"):
        DatasetSizeDisplay.from_runs({"a": [made_run([0, 1], [1, 2], n_initial=2)]})


@pytest.mark.parametrize("display", [RegretDisplay, DatasetSizeDisplay])
def test_an_algorithm_without_a_finished_run_is_left_out(display, three_runs, plt):
    table = evaluation.Comparison({("failed", "p"): [], ("a", "p"): three_runs})
    assert list(display.from_comparison(table).plot().lines_) == ["a"]
    with pytest.raises(ValueError, match="finished run on 'p', got none; see its failures"):
        display.from_comparison(evaluation.Comparison({("failed", "p"): []}))


# --- comparison -----------------------------------------------------------------------------------


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


def tops(bars):
    return [bar.get_y() + bar.get_height() for bar in bars]


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
    display.figure_.canvas.draw()


def test_comparison_of_one_problem_has_no_error(scored, plt):
    only = {key: runs for key, runs in scored.results.items() if key[1] == "p"}
    display = ComparisonDisplay.from_comparison(evaluation.Comparison(only)).plot()
    assert display.ax_.get_title() == "p"
    assert np.isnan(list(display.standard_error.values())).all()
    display.figure_.canvas.draw()


# --- relevancy ------------------------------------------------------------------------------------

KERNELS = {"spatial_kernel": RBF(0.3), "temporal_kernel": Matern(8.0, nu=1.5)}
VARIANCES = {"signal_variance": 1.5, "noise_variance": 0.1}


@pytest.fixture(scope="module")
def forgetful():
    """A W-DBO in two dimensions whose hyperparameters are known, and that has forgotten some."""
    gp = TimeVaryingGPRegressor(**KERNELS, **VARIANCES, optimizer=None)
    optimizer = WDBO(
        [(0.0, 10.0), (-1.0, 1.0)], surrogate=gp, alpha=2.0, n_initial_points=4, random_state=0
    )
    for t in range(30):
        x = optimizer.ask(float(t))
        optimizer.tell(x, np.cos(x[0] + 0.1 * t) - x[1] ** 2)
    assert 0 < optimizer.n_removed_ < 26
    return optimizer


@pytest.mark.parametrize("time_column", [0, 1])
def test_relevancy_of_a_regressor(rng, time_column):
    places, times = rng.uniform(size=7), np.arange(7.0)
    X = np.column_stack([times, places] if time_column == 0 else [places, times])
    y = rng.normal(size=7)
    gp = TimeVaryingGPRegressor(**KERNELS, **VARIANCES, time_column=time_column, optimizer=None)
    display = RelevancyDisplay.from_estimator(gp.fit(X, y), now=9.0)
    expected = wasserstein_relevancy(
        np.column_stack([places, times]), y, **KERNELS, **VARIANCES, now=9.0
    )
    np.testing.assert_allclose(display.relevancy, expected)
    np.testing.assert_array_equal(display.times, times)
    np.testing.assert_array_equal(display.places, places)
    assert display.now == 9.0
    assert RelevancyDisplay.from_estimator(gp).now == 6.0
    with pytest.raises(ValueError, match="before any observation"):
        RelevancyDisplay.from_estimator(gp, now=3.0)


def test_relevancy_of_a_regressor_whose_time_column_has_a_name(rng):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"a": rng.uniform(size=6), "when": np.arange(6.0), "b": np.ones(6)})
    gp = TimeVaryingGPRegressor(**KERNELS, **VARIANCES, time_column="when", optimizer=None)
    display = RelevancyDisplay.from_estimator(gp.fit(frame, frame["a"]))
    assert display.times.tolist() == [0, 1, 2, 3, 4, 5]
    assert display.places is None


def test_relevancy_of_an_optimizer(forgetful):
    display = RelevancyDisplay.from_optimizer(forgetful, now=31.0)
    unit = (forgetful.X_ - [0.0, -1.0, 0.0]) / [10.0, 2.0, 1.0]
    expected = wasserstein_relevancy(unit, forgetful.y_, **KERNELS, **VARIANCES, now=31.0)
    np.testing.assert_allclose(display.relevancy, expected, rtol=1e-6)
    np.testing.assert_array_equal(display.times, forgetful.X_[:, -1])
    assert display.places is None
    assert display.removed_places is None
    everything = np.append(display.times, display.removed_times)
    assert sorted(everything.tolist()) == forgetful.told_X_[:, -1].tolist()
    assert RelevancyDisplay.from_optimizer(forgetful).now == 29.0


def test_relevancy_against_time_in_several_dimensions(forgetful, plt):
    display = RelevancyDisplay.from_optimizer(forgetful, time_unit="min")
    assert display.plot() is display
    ax = display.ax_
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("time (min)", "relevancy")
    assert display.colorbar_ is None
    (dots,) = ax.collections
    drawn = sorted(dots.get_offsets().tolist())
    assert drawn == sorted(np.column_stack([display.times, display.relevancy]).tolist())
    assert dots.get_array().tolist() == sorted(display.relevancy)
    assert dots.get_array().tolist() == dots.get_offsets()[:, 1].tolist()
    crosses = next(line for line in ax.lines if line.get_marker() == "x")
    np.testing.assert_array_equal(crosses.get_xdata(), display.removed_times)
    # At the foot of the axes, whatever the scale.
    assert crosses.get_transform() == ax.get_xaxis_transform()


def test_relevancy_against_place_in_one_dimension(tracked, plt):
    display = RelevancyDisplay.from_optimizer(tracked).plot()
    ax = display.ax_
    np.testing.assert_array_equal(np.column_stack([display.places, display.times]), tracked.X_)
    gone = tracked.told_X_[np.isfinite(tracked.removed_at_)]
    crosses = next(line for line in ax.lines if line.get_marker() == "x")
    np.testing.assert_array_equal(crosses.get_xydata()[:, ::-1], gone)
    (dots,) = ax.collections
    order = np.argsort(display.relevancy)
    np.testing.assert_array_equal(dots.get_offsets(), tracked.X_[order][:, ::-1])
    np.testing.assert_array_equal(dots.get_array(), display.relevancy[order])
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("time (s)", "x")
    assert display.colorbar_.ax.get_ylabel() == "relevancy"
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [
        f"kept ({len(tracked.X_)})",
        f"removed ({tracked.n_removed_})",
        "now, 39",
    ]
    display.figure_.canvas.draw()


def test_relevancy_over_arms(arms, plt):
    optimizer, problem = arms
    display = RelevancyDisplay.from_optimizer(optimizer).plot()
    np.testing.assert_array_equal(display.places, problem.domain.indices(optimizer.X_[:, :-1]))
    assert display.ax_.get_ylabel() == "index of the arm"


def test_relevancy_knows_of_a_query_that_is_under_way(camel):
    optimizer = evaluation.run(WDBO(n_initial_points=5), camel, horizon=20.0).optimizer
    optimizer.ask(23.5)
    assert RelevancyDisplay.from_optimizer(optimizer).now == 23.5


def test_relevancy_needs_a_surrogate_that_knows_time(camel):
    with pytest.raises(AskTellError, match="without one after 0 observations"):
        RelevancyDisplay.from_optimizer(WDBO([(0, 1)]))
    static = evaluation.run(GPUCB(), camel, horizon=16.0).optimizer
    with pytest.raises(UnsupportedKernelError):
        RelevancyDisplay.from_optimizer(static)


# --- animation ------------------------------------------------------------------------------------

SHORT = {"horizon": 30.0, "n_initial": 8, "random_state": 3}


@pytest.fixture
def film(camel, plt, tmp_path):
    """What is drawn in each of three frames, and the size of the file."""
    pillow = pytest.importorskip("PIL.Image")
    from matplotlib.animation import PillowWriter

    drawn = []

    def look(i, n):
        ax = plt.gca()
        lines = {line.get_label(): line.get_xydata() for line in ax.lines}
        drawn.append((ax.texts[0].get_text(), lines, ax.collections[1], ax.get_ylim()))

    animation = animate_run(
        WDBO(n_initial_points=8), camel, **SHORT, n_frames=3, n_places=5, time_unit="steps"
    )
    path = tmp_path / "run.gif"
    animation.save(path, writer=PillowWriter(fps=10), dpi=40, progress_callback=look)
    with pillow.open(path) as image:
        assert image.n_frames == 3
    return drawn


def test_animation_shows_beliefs_at_the_moment_of_a_query(film, camel):
    result = evaluation.run(WDBO(n_initial_points=8), camel, **SHORT)
    # 22 queries with a surrogate, at 8 to 29: the first, the middle and the last one. A shorter run
    # of the same seed ends just before the query.
    before = [
        evaluation.run(WDBO(n_initial_points=8), camel, **SHORT | {"horizon": t}).optimizer
        for t in (8.0, 18.0, 29.0)
    ]
    grid = np.linspace(0.0, 1.0, 5)
    gone = np.zeros((0, 2))
    for (title, lines, dots, _), optimizer, t in zip(film, before, (8, 18, 29), strict=True):
        assert title == f"WDBO on six-hump-camel, t = {t} steps, {len(optimizer.X_)} kept"
        mean = optimizer.surrogate_.predict(np.column_stack([grid, np.full(5, t)]))
        np.testing.assert_allclose(lines["posterior mean"], np.column_stack([grid, mean]))
        truth = camel.values(grid[:, np.newaxis], float(t))
        np.testing.assert_allclose(lines["objective"], np.column_stack([grid, truth]))
        (x_star,), f_star = camel.optimum(t)
        np.testing.assert_allclose(lines["optimum"], [[x_star, f_star]])
        np.testing.assert_array_equal(
            lines["query"], [[result.queries[t, 0], result.observations[t]]]
        )
        X, y = optimizer.X_, optimizer.y_
        np.testing.assert_array_equal(dots.get_offsets(), np.column_stack([X[:, 0], y]))
        # Pale after a quarter of the horizon.
        fade = [max(0.15, 1.0 - (t - then) / 7.5) for then in X[:, 1]]
        np.testing.assert_allclose(dots.get_alpha(), fade)
        removed = np.isfinite(optimizer.removed_at_)
        now_gone = np.column_stack([optimizer.told_X_[removed, 0], optimizer.told_y_[removed]])
        if t > 8:
            just = [row for row in now_gone.tolist() if row not in gone.tolist()]
            assert sorted(lines["just removed"].tolist()) == sorted(just)
        gone = now_gone
    assert len(gone) > 0
    assert len({limits for *_, limits in film}) == 1  # the scale stays


def test_animation_band_and_labels(camel, plt, tmp_path):
    _, ax = plt.subplots()
    animation = animate_run(
        WDBO(n_initial_points=8),
        camel,
        **SHORT | {"horizon": 12.0},
        n_frames=1,
        n_places=3,
        value_label="f (V)",
        ax=ax,
    )
    assert ax.has_data()  # before it plays
    animation.save(tmp_path / "run.gif", writer="pillow", dpi=40)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("x", "f (V)")
    entries = [text.get_text() for text in ax.get_legend().get_texts()]
    beliefs = {"± 2 s.d.", "posterior mean", "objective", "optimum"}
    assert set(entries) == beliefs | {"kept (pale: old)", "just removed", "query"}
    surrogate = evaluation.run(
        WDBO(n_initial_points=8), camel, **SHORT | {"horizon": 8.0}
    ).optimizer.surrogate_
    mean, std = surrogate.predict([[x, 8.0] for x in (0.0, 0.5, 1.0)], return_std=True)
    band = ax.collections[0].get_paths()[0].vertices[:, 1]
    assert band.max() == pytest.approx((mean + 2.0 * std).max())
    assert band.min() == pytest.approx((mean - 2.0 * std).min())


class Follower(BaseEstimator):
    """An optimizer of another house: it has a surrogate, and queries the latest best place."""

    def __init__(self, domain=None, *, maximize=True, random_state=None):
        self.domain = domain
        self.maximize = maximize
        self.random_state = random_state

    n_removed_ = 0
    X_ = np.empty((0, 2))
    y_ = np.empty(0)

    def ask(self, t=None, *, return_time=False):
        x = self.X_[-5:][np.argmax(self.y_[-5:]), :-1]
        return (x, t) if return_time else x

    def tell(self, x, y, t=None):
        self.X_, self.y_ = np.vstack([self.X_, np.append(x, t)]), np.append(self.y_, y)
        gp = TimeVaryingGPRegressor(optimizer=None)
        rows = np.column_stack([self.domain.to_unit(self.X_[:, :-1]), self.X_[:, -1]])
        self.surrogate_ = gp.fit(rows, self.y_)


def test_animation_of_any_optimizer_with_a_surrogate(camel, plt, tmp_path):
    pytest.importorskip("PIL.Image")
    options = {"horizon": 9.0, "n_initial": 3, "random_state": 3}
    animation = animate_run(Follower(), camel, **options, n_frames=1, n_places=5)
    animation.save(tmp_path / "run.gif", writer="pillow", dpi=40)
    ax = plt.gca()
    lines = {line.get_label(): line.get_xydata() for line in ax.lines}
    # The first frame is the second query: the first one was made without a surrogate.
    second = list(evaluation.steps(Follower(), camel, **options))[1]
    assert ax.texts[0].get_text() == "Follower on six-hump-camel, t = 1 s, 1 kept"
    grid = np.linspace(0.0, 1.0, 5)
    mean = second.surrogate.predict(np.column_stack([grid, np.ones(5)]))
    np.testing.assert_allclose(lines["posterior mean"], np.column_stack([grid, mean]))
    np.testing.assert_array_equal(lines["query"], [[second.x[0], second.y]])


def test_animation_over_arms(arms, plt, tmp_path):
    _, problem = arms
    optimizer = WDBO(n_initial_points=5)
    animation = animate_run(optimizer, problem, horizon=9.0, n_initial=5, n_frames=2)
    animation.save(tmp_path / "run.gif", writer="pillow", dpi=40)
    ax = plt.gca()
    assert ax.get_xlim() == (-0.5, 5.5)
    assert ax.get_xlabel() == "index of the arm"
    lines = {line.get_label(): line for line in ax.lines}
    truth = problem.values(problem.domain.points, 8.0)
    # The first and the last arm are drawn as wide as the others.
    np.testing.assert_array_equal(lines["objective"].get_ydata(), truth[[0, *range(6), 5]])
    np.testing.assert_array_equal(lines["objective"].get_xdata()[1:-1], np.arange(6))
    assert lines["optimum"].get_xdata().tolist() == [1]
    assert optimizer.domain is None  # it was cloned


def test_animation_says_what_it_cannot_show(camel, plt):
    with pytest.raises(TypeError, match=r"must be an ask/tell optimizer.*Got .*RunResult"):
        animate_run(made_run([0], [1]), camel)
    with pytest.raises(TypeError, match="problem must be a"):
        animate_run(WDBO(), "six-hump-camel")
    with pytest.raises(DomainError, match=r"of one real dimension, or a FiniteSet. Got Box"):
        animate_run(WDBO(), problems.make("ackley"))
    with pytest.raises(AskTellError, match="RandomSearch with none among 16 queries"):
        animate_run(RandomSearch(), camel, horizon=16.0)
    for name, value in (("n_frames", 0), ("n_places", 1), ("fps", 0.0), ("n_frames", 2.5)):
        with pytest.raises(ValueError, match=f"{name} must be an? .*Got {value}"):
            animate_run(WDBO(), camel, **{name: value})
    assert plt.get_fignums() == []  # nothing half made is left behind


# --- without matplotlib ---------------------------------------------------------------------------


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


def test_animation_without_matplotlib_fails_before_the_run(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match=r"animate_run needs .*sktvbo\[plot\]"):
        animate_run(WDBO(), None)
