"""Displays: what they store, and what a reader finds in the picture."""

import sys

import numpy as np
import pytest

from sktvbo import WDBO, RandomSearch, evaluation, problems
from sktvbo.domain import FiniteSet
from sktvbo.exceptions import (
    AskTellError,
    DomainError,
    InvalidObservationError,
    MissingExtraError,
)
from sktvbo.plotting import PosteriorDisplay, RegretDisplay


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
    with pytest.raises(DomainError, match="one dimension or a FiniteSet, got 3 dimensions"):
        PosteriorDisplay.from_run(optimizer, problem)


@pytest.mark.parametrize("optimizer", [WDBO([(0, 1)]), RandomSearch([(0, 1)])])
def test_posterior_needs_a_surrogate(optimizer):
    optimizer.tell(optimizer.ask(0.0), 1.0)
    with pytest.raises(AskTellError, match="without one after 1 observations"):
        PosteriorDisplay.from_run(optimizer)


# --- without matplotlib ---------------------------------------------------------------------------


@pytest.mark.parametrize("axes_given", [False, True])
def test_missing_matplotlib_names_the_extra(comparison, tracked, camel, axes_given, monkeypatch):
    regret = RegretDisplay.from_comparison(comparison, "eggholder")
    posterior = PosteriorDisplay.from_run(tracked, camel, n_times=2)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    for display in (regret, posterior):
        expected = rf'{type(display).__name__}\.plot needs .*pip install "sktvbo\[plot\]"'
        with pytest.raises(MissingExtraError, match=expected):
            display.plot(object() if axes_given else None)
