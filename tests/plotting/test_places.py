"""Displays over time and place: posterior mean, and relevancy of the observations."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from plotting.cases import KERNELS, VARIANCES

from sktvbo import GPUCB, WDBO, TimeVaryingGPRegressor, evaluation, problems
from sktvbo.exceptions import AskTellError, DomainError, UnsupportedKernelError
from sktvbo.plotting import PosteriorDisplay, RelevancyDisplay
from sktvbo.relevancy import wasserstein_relevancy

# --- posterior mean -------------------------------------------------------------------------------


def display_of(mean, places, **options):
    """Return a display without observations."""
    none = np.zeros((0, 2))
    times = np.arange(float(mean.shape[1]))
    return PosteriorDisplay(times, places, mean, kept=none, removed=none, now=1.0, **options)


def test_posterior_is_the_surrogates_own(tracked, camel):
    display = PosteriorDisplay.from_run(tracked, camel, n_times=7, n_places=5)
    assert_allclose(display.times, [0, 10, 20, 30, 40, 50, 60])
    assert_allclose(display.places, [0, 0.25, 0.5, 0.75, 1])
    assert display.mean.shape == (5, 7)
    for j, t in enumerate(display.times):
        rows = [[x, t] for x in display.places]
        assert_allclose(display.mean[:, j], tracked.surrogate_.predict(rows))
        assert display.optimum[j] == camel.optimum(t)[0][0]
    assert display.now == 39.0
    assert_array_equal(display.kept, tracked.X_)
    both = np.vstack([display.kept, display.removed])
    assert sorted(both.tolist()) == sorted(tracked.told_X_.tolist())


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


def test_posterior_picture(tracked, camel, plt):
    figure, ax = plt.subplots()
    display = PosteriorDisplay.from_run(tracked, camel, n_times=30).plot(ax)
    assert display.ax_ is ax
    assert display.figure_ is figure
    assert ax.get_xlim() == (0.0, 60.0)
    entries = [text.get_text() for text in ax.get_legend().get_texts()]
    assert entries[:2] == [f"kept ({len(tracked.X_)})", f"removed ({tracked.n_removed_})"]
    assert "argmax" in entries[2]
    assert [text.get_text() for text in ax.texts] == ["$t_0$"]
    kept, removed, optimum, now = (
        next(line for line in ax.lines if line.get_label() == entry) for entry in entries
    )
    assert [kept.get_marker(), removed.get_marker()] == ["o", "x"]
    assert_array_equal(kept.get_xdata(), tracked.X_[:, 1])
    assert optimum.get_color() == "cyan"
    assert set(now.get_xdata()) == {display.now}
    figure.canvas.draw()


def test_the_curve_of_the_optimum_is_broken_where_it_jumps(plt):
    display = display_of(
        np.arange(12.0).reshape(3, 4),
        np.linspace(0.0, 1.0, 3),
        optimum=np.array([0.1, 0.12, 0.8, 0.79]),
    ).plot()
    curve = next(line for line in display.ax_.lines if line.get_color() == "cyan")
    assert_array_equal(curve.get_xdata(), [0, 1, np.nan, 2, 3])
    assert_array_equal(curve.get_ydata(), [0.1, 0.12, np.nan, 0.8, 0.79])


def test_posterior_over_arms(arms, plt):
    optimizer, problem = arms
    display = PosteriorDisplay.from_run(optimizer, problem, n_times=9)
    assert display.places.tolist() == [0, 1, 2, 3, 4, 5]
    assert display.optimum.tolist() == [1, 1, 1, 1, 4, 4, 4, 4, 4]
    domain = problem.domain
    for j, t in enumerate(display.times):
        rows = np.column_stack([domain.to_unit(domain.points), np.full(6, t)])
        assert_allclose(display.mean[:, j], optimizer.surrogate_.predict(rows))
    indices = domain.indices(optimizer.X_[:, :-1])
    assert_array_equal(display.kept, np.column_stack([indices, optimizer.X_[:, -1]]))
    assert display.plot().ax_.get_ylim() == (-0.5, 5.5)
    assert_array_equal(RelevancyDisplay.from_optimizer(optimizer).places, indices)


def test_posterior_of_several_dimensions_is_refused():
    problem = problems.make("ackley", horizon=30.0)
    optimizer = evaluation.run(WDBO(), problem, horizon=16.0).optimizer
    with pytest.raises(DomainError, match=r"of one real dimension, or a FiniteSet\. Got Box"):
        PosteriorDisplay.from_run(optimizer, problem)


@pytest.mark.parametrize("maximize", [True, False])
def test_the_colour_scale_covers_the_best_half(maximize, plt):
    # 15 of 40 values are far below; the range of the others is a thousandth of that of all.
    mean = np.concatenate([np.linspace(-1000.0, -500.0, 15), np.linspace(0.0, 1.0, 25)])
    mean = np.column_stack([mean, mean]) * (1.0 if maximize else -1.0)
    display = display_of(mean, np.arange(40.0), maximize=maximize)
    colours = display.plot().colorbar_.mappable
    inside = colours.levels[np.abs(colours.levels) < 2.0]
    assert len(inside) > 5
    worse = colours.get_cmap()(0.0 if maximize else 1.0)
    end = colours.cmap.get_under() if maximize else colours.cmap.get_over()
    assert_allclose(end, worse)
    everything = display.plot(coloured=1.0).colorbar_.mappable.levels
    assert max(abs(everything[0]), abs(everything[-1])) >= 1000.0
    with pytest.raises(ValueError, match=r"coloured must be a float in the range \(0, 1\]"):
        display.plot(coloured=0.0)


# --- relevancy ------------------------------------------------------------------------------------


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
    assert_allclose(display.relevancy, expected)
    assert_array_equal(display.times, times)
    assert_array_equal(display.places, places)
    assert display.now == 9.0
    assert RelevancyDisplay.from_estimator(gp).now == 6.0
    with pytest.raises(ValueError, match="now must be no earlier than any observation"):
        RelevancyDisplay.from_estimator(gp, now=3.0)


def test_relevancy_of_an_optimizer(forgetful):
    display = RelevancyDisplay.from_optimizer(forgetful, now=31.0)
    unit = (forgetful.X_ - [0.0, -1.0, 0.0]) / [10.0, 2.0, 1.0]
    expected = wasserstein_relevancy(unit, forgetful.y_, **KERNELS, **VARIANCES, now=31.0)
    assert_allclose(display.relevancy, expected, rtol=1e-6)
    assert_array_equal(display.times, forgetful.X_[:, -1])
    assert display.places is None
    assert display.removed_places is None
    everything = np.append(display.times, display.removed_times)
    assert sorted(everything.tolist()) == forgetful.told_X_[:, -1].tolist()
    assert RelevancyDisplay.from_optimizer(forgetful).now == 29.0


def test_relevancy_against_time_in_several_dimensions(forgetful, plt):
    display = RelevancyDisplay.from_optimizer(forgetful)
    ax = display.plot().ax_
    assert display.colorbar_ is None
    (dots,) = ax.collections
    order = np.argsort(display.relevancy)
    rows = np.column_stack([display.times, display.relevancy])[order]
    assert_array_equal(dots.get_offsets(), rows)
    assert_array_equal(dots.get_array(), rows[:, 1])
    crosses = next(line for line in ax.lines if line.get_marker() == "x")
    assert_array_equal(crosses.get_xdata(), display.removed_times)
    # At the lower end of the axis, for any scale.
    assert crosses.get_transform() == ax.get_xaxis_transform()


def test_relevancy_against_place_in_one_dimension(tracked, plt):
    display = RelevancyDisplay.from_optimizer(tracked).plot()
    ax = display.ax_
    assert_array_equal(np.column_stack([display.places, display.times]), tracked.X_)
    gone = tracked.told_X_[np.isfinite(tracked.removed_at_)]
    crosses = next(line for line in ax.lines if line.get_marker() == "x")
    assert_array_equal(crosses.get_xydata()[:, ::-1], gone)
    (dots,) = ax.collections
    order = np.argsort(display.relevancy)
    assert_array_equal(dots.get_offsets(), tracked.X_[order][:, ::-1])
    assert_array_equal(dots.get_array(), display.relevancy[order])
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    assert texts == [f"kept ({len(tracked.X_)})", f"removed ({tracked.n_removed_})", "now, 39"]


def test_relevancy_needs_a_time_varying_surrogate(camel):
    with pytest.raises(AskTellError, match="has not begun a run"):
        RelevancyDisplay.from_optimizer(WDBO([(0, 1)]))
    static = evaluation.run(GPUCB(), camel, horizon=16.0).optimizer
    with pytest.raises(UnsupportedKernelError):
        RelevancyDisplay.from_optimizer(static)
