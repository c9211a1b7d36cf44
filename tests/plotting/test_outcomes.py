"""The feasible region over time, and outcomes with their limits."""

import numpy as np
import pytest
from contract.cases import fingerprint
from numpy.testing import assert_allclose, assert_array_equal

from sktvbo import WDBO
from sktvbo.exceptions import AskTellError
from sktvbo.plotting import OutcomeDisplay, TrackDisplay

LIMITS = {"load": (None, 0.8), "objective": (-1.0, None)}


@pytest.fixture(scope="module")
def limited():
    opt = WDBO([(0.0, 1.0)], outcome_constraints=LIMITS, random_state=0)
    for t in range(20):
        x = opt.ask(float(t))
        opt.tell(x, x[0], outcomes={"load": x[0] + 0.2 * np.sin(t / 6.0)})
    return opt


def test_tracks_have_the_probability_that_limits_hold(limited, plt):
    display = TrackDisplay.from_optimizer(limited, n_times=4, n_values=9)
    (track,) = display.tracks
    for j, t in enumerate(display.times):
        X = track.axis.values[:, np.newaxis]
        assert_allclose(track.feasible[:, j], limited.probability_feasible(X, t), rtol=1e-9)
    figure = display.plot().figure_
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert "limits hold (0.5)" in labels
    n_drawn = len(display.axes_[0].collections)
    unlimited = TrackDisplay(
        [type(track)(track.axis, track.mean, track.recommended, track.queried)],
        display.times,
        display.told_at,
        display.kept,
        now=display.now,
    )
    assert len(unlimited.plot().axes_[0].collections) < n_drawn


def test_outcomes_over_time(limited, plt):
    before = fingerprint(limited)
    display = OutcomeDisplay.from_optimizer(limited, n_times=5, until=25.0, units={"load": "%"})
    assert fingerprint(limited) == before
    load, objective = display.tracks
    assert (load.label, load.low, load.high) == ("load (%)", -np.inf, 0.8)
    assert_array_equal(objective.told, limited.told_y_)
    assert_allclose(load.told, limited.told_X_[:, 0] + 0.2 * np.sin(display.told_at / 6.0))
    x = limited.recommend(25.0)
    found = limited.predict(x, 25.0, True, outcome="load")
    assert_allclose([load.mean[-1], load.std[-1]], found)
    axes = display.plot(color="red").axes_
    assert [ax.get_ylabel() for ax in axes] == ["load (%)", "objective"]
    levels = [line.get_ydata()[0] for line in axes[0].lines if line.get_label() == "limit"]
    assert levels == [0.8]


def test_optimizers_without_outcomes_or_a_surrogate():
    opt = WDBO([(0.0, 1.0)], random_state=0)
    opt.tell([0.5], 1.0, 0.0)
    with pytest.raises(AskTellError, match="fitted a surrogate"):
        OutcomeDisplay.from_optimizer(opt)
    for t in range(1, 9):
        opt.tell(opt.ask(float(t)), 1.0)
    with pytest.raises(ValueError, match="one with outcome_constraints"):
        OutcomeDisplay.from_optimizer(opt)


@pytest.mark.parametrize("display", [OutcomeDisplay, TrackDisplay])
def test_a_display_needs_a_history(display):
    opt = WDBO([(0.0, 1.0)], outcome_constraints=LIMITS, history=0, random_state=0)
    for t in range(6):
        opt.tell(opt.ask(float(t)), 1.0, outcomes={"load": 0.5})
    with pytest.raises(ValueError, match="'history' parameter of WDBO must be None, or an int of"):
        display.from_optimizer(opt)


@pytest.mark.parametrize("display", [OutcomeDisplay, TrackDisplay])
def test_displays_of_a_run_with_dates(display):
    found = []
    for first in (0.0, np.datetime64("2024-01-01T00")):
        step = 1.0 if first == 0.0 else np.timedelta64(1, "h")
        opt = WDBO([(0.0, 1.0)], outcome_constraints=LIMITS, time_unit="h", random_state=0)
        for i in range(6):
            opt.tell(opt.ask(first + i * step), 1.0, outcomes={"load": 0.5})
        found.append(display.from_optimizer(opt, n_times=3))
    assert_allclose(*(each.times - each.times[0] for each in found))
