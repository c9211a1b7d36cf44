"""Relevancy of observations to future predictions."""

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF, Matern

from sktvbo import GPUCB, WDBO, TimeVaryingGPRegressor, evaluation
from sktvbo.exceptions import AskTellError, UnsupportedKernelError
from sktvbo.plotting import RelevancyDisplay
from sktvbo.relevancy import wasserstein_relevancy

KERNELS = {"spatial_kernel": RBF(0.3), "temporal_kernel": Matern(8.0, nu=1.5)}
VARIANCES = {"signal_variance": 1.5, "noise_variance": 0.1}


@pytest.fixture(scope="module")
def forgetful():
    """A W-DBO in two dimensions with known hyperparameters, after some removals."""
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
    with pytest.raises(ValueError, match="now must be no earlier than any observation"):
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
    # At the lower end of the axis, for any scale.
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


def test_relevancy_needs_a_time_varying_surrogate(camel):
    with pytest.raises(AskTellError, match="has not begun a run"):
        RelevancyDisplay.from_optimizer(WDBO([(0, 1)]))
    static = evaluation.run(GPUCB(), camel, horizon=16.0).optimizer
    with pytest.raises(UnsupportedKernelError):
        RelevancyDisplay.from_optimizer(static)


def test_relevancy_takes_the_users_style(forgetful, plt):
    ax = RelevancyDisplay.from_optimizer(forgetful).plot(s=9.0, lw=2.0).ax_
    (dots,) = ax.collections
    assert dots.get_sizes().tolist() == [9.0]
    assert dots.get_linewidth().tolist() == [2.0]
