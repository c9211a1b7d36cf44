"""TuningDisplay: what a tuner has tried, and chosen."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import SGDRegressor

from sktvbo.model_selection import OnlineTuner
from sktvbo.plotting import TuningDisplay

SPACE = {"eta0": ("log-real", 1e-4, 0.3), "penalty": ("categorical", ["l2", None])}


def tuner_after(n_batches):
    tuner = OnlineTuner(
        SGDRegressor(learning_rate="constant", random_state=0),
        SPACE,
        n_challengers=2,
        random_state=0,
    )
    rng = np.random.RandomState(0)
    for _ in range(n_batches):
        X = rng.normal(size=(50, 2))
        tuner.partial_fit(X, X[:, 0] + 0.1 * rng.normal(size=50))
    return tuner


@pytest.fixture(scope="module")
def tuner():
    return tuner_after(6)


def test_it_stores_the_trials(tuner):
    display, trials = TuningDisplay.from_estimator(tuner), tuner.trials_
    assert (display.parameter, display.log) == ("eta0", True)
    assert_array_equal(display.rows, np.repeat(50 * np.arange(1, 6), 3))
    assert_array_equal(display.values, trials["param_eta0"])
    losses = trials["loss"].reshape(5, 3)
    assert_allclose(display.advantage, (losses[:, :1] - losses).ravel())
    other = TuningDisplay.from_estimator(tuner, "penalty")
    assert (other.parameter, other.log) == ("penalty", False)
    assert set(other.values) <= {"l2", None}


def test_it_draws_them(tuner):
    pytest.importorskip("matplotlib").use("Agg")
    from matplotlib import pyplot

    display = TuningDisplay.from_estimator(tuner)
    assert not hasattr(display, "ax_")
    assert display.plot(lw=3.0) is display
    history = tuner.history_
    assert_array_equal(display.line_.get_ydata(), history["param_eta0"])
    assert_array_equal(display.line_.get_xdata(), history["n_rows"])
    assert display.line_.get_linewidth() == 3.0
    assert len(display.points_.get_offsets()) == 10
    assert display.ax_.get_yscale() == "log"
    assert display.ax_.get_ylabel() == "eta0"
    low, high = display.points_.get_clim()
    assert low == -high < 0.0

    _, ax = pyplot.subplots()
    assert TuningDisplay.from_estimator(tuner, "penalty").plot(ax).ax_ is ax
    ax.figure.canvas.draw()
    labels = {text.get_text() for text in ax.get_yticklabels()}
    assert labels <= {"'l2'", "None"}
    pyplot.close("all")


def test_what_failed_is_drawn_as_the_worst():
    pytest.importorskip("matplotlib").use("Agg")
    from matplotlib import pyplot

    champion = np.array([True, False, False])
    display = TuningDisplay(
        np.array([50, 50, 50]),
        np.array([1.0, 2.0, 3.0]),
        np.array([0.0, -0.5, np.nan]),
        champion,
        parameter="a",
    )
    assert_array_equal(display.plot().points_.get_array(), [-0.5, -0.5])
    pyplot.close("all")


def test_what_cannot_be_shown(tuner):
    with pytest.raises(ValueError, match=r"parameter must be one of eta0, penalty.* Got 'alpha'"):
        TuningDisplay.from_estimator(tuner, "alpha")
    with pytest.raises(ValueError, match=r"one that has scored a round\. Got none"):
        TuningDisplay.from_estimator(tuner_after(1))
    with pytest.raises(NotFittedError):
        TuningDisplay.from_estimator(tuner_after(0))
