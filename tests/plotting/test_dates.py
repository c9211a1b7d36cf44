"""Displays of runs with dates, and the display beside a fixed setting."""

import datetime as dt

import numpy as np
import pytest
from matplotlib.dates import ConciseDateFormatter, num2date
from numpy.testing import assert_allclose
from sklearn.gaussian_process.kernels import Matern

from sktvbo import WDBO, TimeVaryingGPRegressor
from sktvbo.domain import Context
from sktvbo.exceptions import AskTellError, DomainError
from sktvbo.plotting import (
    BaselineDisplay,
    DatasetSizeDisplay,
    OutcomeDisplay,
    PosteriorDisplay,
    RelevancyDisplay,
    SliceDisplay,
    TrackDisplay,
    _baseline,
)

START = dt.datetime(2026, 3, 1, tzinfo=dt.UTC)
STEP = dt.timedelta(hours=6)
FIRST, LAST, LATER = START, START + 15 * STEP, START + 20 * STEP


@pytest.fixture(scope="module")
def dated():
    """A run with dates, one every six hours."""
    limits = {"outcome_constraints": {"load": (None, 0.9)}}
    opt = WDBO([(0.0, 1.0)], time_unit="D", random_state=0, **limits)
    for i in range(16):
        x = opt.ask(START + i * STEP)
        opt.tell(x, -((x[0] - 0.3 - 0.01 * i) ** 2), outcomes={"load": x[0]})
    return opt


# Each with the latest date that it shows.
MAKERS = {
    "track": (lambda opt: TrackDisplay.from_optimizer(opt, until=LATER, n_times=12), LATER),
    "outcome": (lambda opt: OutcomeDisplay.from_optimizer(opt, until=LATER, n_times=12), LATER),
    "posterior": (lambda opt: PosteriorDisplay.from_run(opt, until=LATER, n_times=5), LATER),
    "relevancy": (lambda opt: RelevancyDisplay.from_optimizer(opt, now=LATER), LATER),
    "size": (DatasetSizeDisplay.from_optimizer, LAST),
    "baseline": (lambda opt: BaselineDisplay.from_optimizer(opt, [0.3]), LAST),
}


@pytest.mark.parametrize("name", MAKERS)
def test_the_axis_of_times_has_dates(plt, dated, name):
    make, latest = MAKERS[name]
    display = make(dated).plot()
    ax = display.ax_ if hasattr(display, "ax_") else display.axes_[0]
    assert isinstance(ax.xaxis.get_major_formatter(), ConciseDateFormatter)
    assert ax.get_xlabel() == ""
    found = num2date(ax.dataLim.x1)
    assert abs(found - latest) <= dt.timedelta(hours=12)
    assert found > FIRST


@pytest.mark.parametrize("zone", [None, "UTC"])
def test_the_relevancy_of_a_regressor_has_dates_and_names(plt, zone):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"when": pd.date_range("2026-03-01", periods=9, freq="6h", tz=zone)})
    frame["depth"] = np.linspace(-1.0, 2.0, 9) ** 2
    gp = TimeVaryingGPRegressor(optimizer=None, time_unit="h").fit(frame, np.sin(frame["depth"]))
    later = LATER if zone else LATER.replace(tzinfo=None)
    display = RelevancyDisplay.from_estimator(gp, now=later).plot()
    assert display.ax_.get_ylabel() == "depth"
    assert isinstance(display.ax_.xaxis.get_major_formatter(), ConciseDateFormatter)
    assert display.now == LATER.timestamp() / 3600.0
    assert display.ax_.lines[0].get_label() == "now, 2026-03-06 00:00"
    assert RelevancyDisplay.from_estimator(gp, space_label="z").plot().ax_.get_ylabel() == "z"
    plain = TimeVaryingGPRegressor(optimizer=None).fit(gp.X_train_[:, ::-1], np.zeros(9))
    assert RelevancyDisplay.from_estimator(plain).space_label == "x"


def test_a_slice_names_its_date(plt, dated):
    display = SliceDisplay.from_optimizer(dated, [LAST, LATER], n_values=5).plot()
    texts = [text.get_text() for text in display.figure_.legends[0].get_texts()]
    assert texts[-1] == "t = 2026-03-04 18:00 and 2026-03-06 00:00 (the same)"


def test_numbers_are_accepted_as_well(dated):
    dates = LATER.timestamp() / 86_400.0, LATER
    displays = [TrackDisplay.from_optimizer(dated, until=t, n_times=3) for t in dates]
    assert_allclose(displays[0].times, displays[1].times)


def run_of(sign, n=30):
    opt, rng = WDBO([(0.0, 1.0)], maximize=sign > 0, random_state=0), np.random.RandomState(0)
    for t in range(n):
        x = opt.ask(t)
        opt.tell(x, sign * truth(x[0], t) + 0.01 * rng.standard_normal())
    return opt


def truth(x, t):
    return -4.0 * (x - 0.3 - 0.01 * t) ** 2


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_the_gain_over_a_fixed_setting(plt, sign):
    opt = run_of(sign)
    unsure = BaselineDisplay.from_optimizer(opt, [0.2]).gain_std
    for t in range(0, 30, 4):  # with controls at the baseline its prediction is more certain
        opt.tell([0.2], sign * truth(0.2, t), t + 0.5)
    display = BaselineDisplay.from_optimizer(opt, [0.2], value_label="yield (g)")
    known = truth(0.2, display.times)
    assert display.gain_std < min(0.5 * display.gain, 0.5 * unsure)
    errors = display.baseline - sign * known
    assert (np.abs(errors) < 3.0 * display.baseline_std + 0.02).all()
    display.plot()
    assert display.ax_.get_ylabel() == "yield (g)"
    assert f"{'above' if sign > 0 else 'below'} the baseline" in display.ax_.get_title()


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_the_gain_has_its_standard_deviation(sign):
    """Over functions that are drawn from the model, measured also at the baseline."""
    arms, times, ratios = np.linspace(0.0, 1.0, 11)[:, np.newaxis], np.arange(20.0), []
    kernels = Matern(0.3, nu=2.5), Matern(20.0, nu=2.5)
    model = TimeVaryingGPRegressor(*kernels, noise_variance=1e-4, optimizer=None)
    K = np.kron(kernels[0](arms), kernels[1](times[:, np.newaxis])) + 1e-9 * np.eye(220)
    for seed in range(16):
        rng = np.random.RandomState(seed)
        f = (np.linalg.cholesky(K) @ rng.normal(size=220)).reshape(11, 20)
        opt = WDBO([(0.0, 1.0)], surrogate=model, maximize=sign > 0, random_state=seed)
        for t in range(20):
            i = 2 if t % 4 == 0 else rng.randint(11)
            opt.tell(arms[i], f[i, t] + 0.01 * rng.normal(), times[t])
        display = BaselineDisplay.from_optimizer(opt, arms[2])
        known = f[2, display.times.astype(int)]
        ratios.append((display.gain - sign * np.sum(display.y - known)) / display.gain_std)
    assert 0.5 < np.sqrt(np.mean(np.square(ratios))) < 1.5


def in_loads(sign, n=40):
    """Return a run in alternating loads, and the saving over x = 0 in the loads of the run."""
    domain = {"x": ("real", 0.0, 1.0), "load": Context(0.0, 100.0)}
    opt, saved = WDBO(domain, maximize=sign > 0, random_state=0), 0.0
    for t in range(n):
        load = 50.0 + 40.0 * np.sin(t / 5.0)
        x = opt.ask(t, context={"load": load})["x"]
        opt.tell({"x": x}, sign * (load - 20.0 * (x - 0.5) ** 2), context={"load": load})
        saved += 20.0 * (0.25 - (x - 0.5) ** 2)
    return opt, saved


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_each_observation_is_compared_in_its_own_context(sign):
    opt, saved = in_loads(sign)
    display = BaselineDisplay.from_optimizer(opt, {"x": 0.0})
    assert_allclose(display.y, opt.told_y_)
    assert abs(display.gain - saved) < 3.0 * display.gain_std
    loads, others = opt.told_X_[:, 1], []
    assert_allclose(display.baseline, sign * (loads - 5.0), atol=8.0)
    # In one context the levels of the loads cancel as well.
    for load in (20.0, 80.0):
        others.append(BaselineDisplay.from_optimizer(opt, {"x": 0.0}, context={"load": load}))
        assert abs(others[-1].gain - saved) < 3.0 * others[-1].gain_std + 0.05 * saved
        assert_allclose(np.median(others[-1].y), sign * load, atol=3.0)
    assert others[0].predicted
    assert not display.predicted


def test_many_observations_are_predicted_in_blocks(monkeypatch):
    opt = run_of(1.0, 60)
    assert opt.n_removed_ > 5
    whole = BaselineDisplay.from_optimizer(opt, [0.2])
    for name, value in {"_MANY": 50, "_BLOCK": 20, "_MARGIN": 15, "_N_RECOMMENDED": 7}.items():
        monkeypatch.setattr(_baseline, name, value)
    blocks = BaselineDisplay.from_optimizer(opt, [0.2])
    assert abs(blocks.gain - whole.gain) < 3.0 * blocks.gain_std
    assert blocks.gain_std > whole.gain_std
    assert (np.abs(blocks.baseline - whole.baseline) < 3.0 * blocks.baseline_std + 0.02).all()
    known = np.isfinite(blocks.recommended)
    assert np.count_nonzero(known) == 7
    assert known[[0, -1]].all()
    assert_allclose(blocks.recommended[known], whole.recommended[known], atol=0.05)


def test_the_limits_of_a_baseline(plt, dated):
    (at,) = BaselineDisplay.from_optimizer(dated, [0.3]).plot().ax_.lines[2:3]
    assert at.get_label() == "at the baseline (within limits: 100%)"
    display = BaselineDisplay.from_optimizer(dated, [0.95])
    times = [START + i * STEP for i in range(16)]
    assert display.feasible == pytest.approx([dated.probability_feasible([0.95], t) for t in times])
    assert "limits: 0%" in display.plot().ax_.lines[2].get_label()


def test_the_line_of_a_logarithmic_outcome_is_its_median(plt):
    limits = {"outcome_constraints": {"ms": (None, 100.0)}, "outcome_scales": {"ms": "log"}}
    opt = WDBO([(0.0, 1.0)], **limits, random_state=0)
    rng = np.random.default_rng(0)
    for t in range(12):
        x = opt.ask(t)
        opt.tell(x, x[0], outcomes={"ms": 20.0 * np.exp(x[0] + rng.normal())})
    display = OutcomeDisplay.from_optimizer(opt, n_times=4).plot()
    (track,), (line, *_) = display.tracks, display.axes_[0].lines[-2:]
    for t, x, median in zip(display.times, map(opt.recommend, display.times), line.get_ydata()):
        mean, std = opt.predict(x, t, return_std=True, outcome="ms")
        assert median == pytest.approx(mean / np.sqrt(1.0 + (std / mean) ** 2))
    assert (line.get_ydata() < 0.999 * track.mean).all()


def test_a_baseline_needs_a_run_and_a_place():
    with pytest.raises(AskTellError, match="fitted a surrogate"):
        BaselineDisplay.from_optimizer(run_of(1.0, 2), [0.2])
    with pytest.raises(DomainError, match=r"x\[0\] must be in"):
        BaselineDisplay.from_optimizer(run_of(1.0, 8), [1.2])
