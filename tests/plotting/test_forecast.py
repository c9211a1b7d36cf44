"""Display of a regressor over time: predictions ahead of its rows, by site, and their terms."""

import copy
import datetime as dt
import warnings

import numpy as np
import pytest
from matplotlib.dates import ConciseDateFormatter
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.gaussian_process.kernels import RBF, Matern

from sktvbo.gaussian_process import (
    LinearMean,
    SparseTimeVaryingGPRegressor,
    TimeVaryingGPRegressor,
    WeightedTimeVaryingGPRegressor,
)
from sktvbo.kernels import with_seasons
from sktvbo.plotting import ForecastDisplay

HELD = {"optimizer": None, "normalize_y": True}
TIME = np.arange(60.0)
SEASONAL = with_seasons(Matern(40.0, nu=2.5), 12.0)


def wave(t):
    return 0.05 * t + np.sin(2.0 * np.pi * t / 12.0)


def in_time(**options):
    """Return a regressor of time alone, with a season."""
    return TimeVaryingGPRegressor(None, SEASONAL, **HELD, **options).fit(TIME[:, None], wave(TIME))


def at_sites(n, n_times=8, kind=TimeVaryingGPRegressor, **options):
    """Return a regressor of sites in the second column, after time in the first."""
    rows = np.array([[t, float(site)] for site in range(n) for t in range(n_times)])
    kernels = RBF(2.0), Matern(6.0, nu=1.5)
    gp = kind(*kernels, **HELD, time_column=0, **options)
    return gp.fit(rows, np.sin(rows[:, 1] + 0.2 * rows[:, 0]))


def test_the_numbers_are_those_of_the_regressor():
    gp = in_time()
    display = ForecastDisplay.from_estimator(gp, 6.0, level=0.8, n_times=31)
    assert (display.now, display.level) == (59.0, 0.8)
    assert_allclose(display.times, np.linspace(35.0, 65.0, 31))
    (site,), X = display.sites, display.times[:, None]
    assert_allclose(site.mean, gp.predict(X))
    assert_allclose([site.lower, site.upper], gp.predict_interval(X, 0.8))
    assert_allclose(site.terms, gp.predict_terms(X).T)
    assert display.terms == ["trend, lengthscale 40", "season of 12"]
    assert site.label == ""
    assert_array_equal(site.observed_at, TIME[35:])
    assert_array_equal(site.observed, wave(TIME[35:]))
    # It knows what comes: half a season ahead.
    assert_allclose(site.mean[-1], wave(65.0), atol=0.3)


@pytest.mark.parametrize(
    "kind", [TimeVaryingGPRegressor, SparseTimeVaryingGPRegressor, WeightedTimeVaryingGPRegressor]
)
def test_each_site_has_its_own_rows_and_predictions(kind):
    options = {"n_inducing": 20} if kind is SparseTimeVaryingGPRegressor else {}
    gp = at_sites(3, kind=kind, **options)
    display = ForecastDisplay.from_estimator(gp, 2.0, n_times=5)
    assert [site.label for site in display.sites] == ["x = 0", "x = 1", "x = 2"]
    for i, site in enumerate(display.sites):
        X = np.column_stack([display.times, np.full(5, float(i))])
        assert_allclose(site.mean, gp.predict(X))
        here = gp.X_train_[:, 1] == i
        assert_array_equal(site.observed, gp.y_train_[here])
    assert display.terms == []
    assert display.sites[0].terms is None


def test_sites_are_found_or_given():
    gp = at_sites(21)
    with pytest.raises(ValueError, match=r"sites must be given for rows with more than 20 sites"):
        ForecastDisplay.from_estimator(gp, 2.0)
    display = ForecastDisplay.from_estimator(gp, 2.0, sites=[[3.0], [0.5]], n_times=4)
    assert [len(site.observed) for site in display.sites] == [8, 0]
    assert len(ForecastDisplay.from_estimator(at_sites(20), 2.0, n_times=3).sites) == 20
    with pytest.raises(ValueError, match="sites must be an array of shape"):
        ForecastDisplay.from_estimator(gp, 2.0, sites=[[3.0, 1.0]])


@pytest.mark.parametrize("zone", [None, "Europe/Zurich"])
def test_dates_are_dates_and_columns_have_names(plt, zone):
    pd = pytest.importorskip("pandas")
    when = pd.date_range("2026-03-01", periods=40, freq="h", tz=zone)
    frame = pd.DataFrame({"depth": np.tile([1.0, 2.5], 20), "when": when})
    gp = TimeVaryingGPRegressor(optimizer=None, time_unit="h").fit(frame, wave(TIME[:40]))
    before = copy.deepcopy({k: v for k, v in vars(gp).items() if k != "_gp"})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        display = ForecastDisplay.from_estimator(gp, dt.timedelta(hours=5), n_times=7)
    assert {k: v for k, v in vars(gp).items() if k != "_gp"}.keys() == before.keys()
    assert gp.time_kinds_ == before["time_kinds_"]
    assert [site.label for site in display.sites] == ["depth = 1", "depth = 2.5"]
    later = pd.DataFrame({"depth": 2.5, "when": when[-1:] + pd.Timedelta(hours=5)})
    assert_allclose(display.sites[1].mean[-1], gp.predict(later)[0])
    display.plot()
    assert isinstance(display.axes_[0].xaxis.get_major_formatter(), ConciseDateFormatter)
    since = when[30].to_pydatetime()
    shown = ForecastDisplay.from_estimator(gp, 5.0, since=since, n_times=3)
    assert_allclose(shown.times, when[30].timestamp() / 3600.0 + np.array([0.0, 7.0, 14.0]))


@pytest.mark.parametrize("unit", [None, "h"])
@pytest.mark.parametrize("start", ["2026-03-01", None], ids=["dates", "durations"])
def test_terms_and_axes_have_the_unit_of_the_fit(plt, start, unit):
    times = np.arange(40) * np.timedelta64(3600, "s")
    if start is not None:
        times = np.datetime64(start) + times
    season = dt.timedelta(hours=12)
    kernel = with_seasons(Matern(dt.timedelta(days=2), nu=1.5), season, time_unit=unit or "s")
    gp = TimeVaryingGPRegressor(None, kernel, optimizer=None, time_unit=unit)
    gp.fit(times[:, np.newaxis], wave(TIME[:40]))
    display = ForecastDisplay.from_estimator(gp, dt.timedelta(hours=5), n_times=3)
    assert (display.time_unit, display.dates) == (unit or "s", start is not None)
    assert display.terms[1] == f"season of {'12 h' if unit else '4.32e+04 s'}"
    if start is None:
        assert display.plot().axes_[-1].get_xlabel() == f"time ({unit or 's'})"


def test_the_picture(plt):
    display = ForecastDisplay.from_estimator(in_time(), 6.0, value_label="load", time_unit="h")
    display.plot(c="red")
    above, below = display.axes_
    lines = {line.get_label(): line for line in above.lines}
    assert lines["predicted"].get_color() == "red"
    assert lines["observed"].get_xdata().tolist() == display.sites[0].observed_at.tolist()
    assert [line.get_label() for line in below.lines[:2]] == display.terms
    assert display.terms[1] == "season of 12 h"
    for ax in display.axes_:
        assert ax.lines[-1].get_xdata()[0] == display.now
        assert ax.get_xlim() == (display.times[0], display.times[-1])
    assert (above.get_ylabel(), below.get_ylabel()) == ("load", "terms of load")
    texts = [text.get_text() for text in display.figure_.legends[0].get_texts()]
    assert "interval of observations (0.9)" in texts


def test_panels(plt):
    several = ForecastDisplay.from_estimator(at_sites(3), 2.0, n_times=4, terms=True).plot()
    assert len(several.axes_) == 6
    assert [ax.get_title() for ax in several.axes_] == ["x = 0", "x = 1", "x = 2", "", "", ""]
    places = [ax.get_subplotspec().rowspan.start for ax in several.axes_]
    assert places == [0, 0, 0, 1, 1, 1]
    _, axes = plt.subplots(1, 1)
    assert list(ForecastDisplay.from_estimator(at_sites(1), 2.0).plot(axes).axes_) == [axes]


def test_a_linear_mean_is_a_term():
    display = ForecastDisplay.from_estimator(in_time(prior_mean=LinearMean([0])), 2.0, n_times=3)
    assert display.terms == ["trend, lengthscale 40", "season of 12", "linear mean"]
    assert display.sites[0].terms.shape == (3, 3)


def test_names_of_terms():
    kernel = Matern(30.0, nu=1.5) + 0.5 * Matern(3.0, nu=0.5)
    gp = TimeVaryingGPRegressor(None, kernel, **HELD).fit(TIME[:, None], wave(TIME))
    names = ForecastDisplay.from_estimator(gp, 2.0, n_times=3).terms
    assert names == ["trend, lengthscale 30", "rough part, lengthscale 3"]
    gp = at_sites(2, level_kernel=Matern(9.0, nu=1.5))
    names = ForecastDisplay.from_estimator(gp, 2.0, n_times=3).terms
    assert names == ["trend, lengthscale 6", "level: trend, lengthscale 9"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"horizon": 0.0}, "horizon must be"),
        ({"horizon": dt.timedelta(0)}, "horizon must be"),
        ({"since": 65.0}, r"since must be before the end, 65\.0"),
        ({"n_times": 1}, "n_times must be an int"),
        ({"level": 1.0}, "level must be"),
        ({"terms": 2}, "terms must be"),
    ],
)
def test_bad_arguments(options, message):
    with pytest.raises(ValueError, match=message):
        ForecastDisplay.from_estimator(in_time(), **{"horizon": 6.0} | options)
