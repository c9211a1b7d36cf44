"""Dates and durations in all formats, or an error that names the column."""

import pickle
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import cycle
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.gaussian_process.kernels import (
    RBF,
    ConstantKernel,
    ExpSineSquared,
    Matern,
    RationalQuadratic,
)
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from sktvbo import BayesianOptimizer, SparseTimeVaryingGPRegressor, TimeVaryingGPRegressor
from sktvbo.acquisition import UCB
from sktvbo.gaussian_process import WeightedTimeVaryingGPRegressor
from sktvbo.papers._brunzema2022 import ScaledOnceGPRegressor

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")

START = datetime(2024, 10, 26, 20, 0, 0, 123456, tzinfo=UTC)
ZURICH = ZoneInfo("Europe/Zurich")
N = 24
# Across the end of daylight saving time on October 27, with its repeated hour.
DATES = [START + timedelta(minutes=40 * i) for i in range(N)]
HOURS = np.array([(date - datetime(1970, 1, 1, tzinfo=UTC)) / timedelta(hours=1) for date in DATES])
PLACE = np.linspace(0.0, 1.0, N)
Y = np.sin(6.0 * PLACE) + np.cos(HOURS - HOURS[0])
KERNELS = RBF(0.3), Matern(5.0, nu=1.5)
EITHER = [TimeVaryingGPRegressor, SparseTimeVaryingGPRegressor]


def regressor(**options):
    options = {"optimizer": None, "noise_variance": 0.01, "time_unit": "h"} | options
    return TimeVaryingGPRegressor(*KERNELS, **options)


def pandas_frame(dates, **options):
    return pd.DataFrame({"place": PLACE, "when": pd.Series(dates, **options)})


def rows(dates):
    return [[place, date] for place, date in zip(PLACE.tolist(), dates)]


def arrow(type_):
    return {"dtype": pd.ArrowDtype(type_)}


NAIVE = [date.replace(tzinfo=None) for date in DATES]
LOCAL = [date.astimezone(ZURICH) for date in DATES]
STAMPS = [pd.Timestamp(date) for date in NAIVE]
FORMS = {
    "pandas": (pandas_frame(STAMPS), "naive"),
    "pandas category": (pandas_frame(STAMPS, dtype="category"), "naive"),
    "pandas objects": (pandas_frame(NAIVE, dtype=object), "naive"),
    "pandas in Arrow": (pandas_frame(NAIVE, **arrow(pa.timestamp("us"))), "naive"),
    "pandas to_numpy": (pandas_frame(STAMPS).to_numpy(), "naive"),
    "polars": (pl.DataFrame({"place": PLACE, "when": NAIVE}), "naive"),
    "rows of datetime": (rows(NAIVE), "naive"),
    "rows of datetime64": (rows([np.datetime64(date, "ns") for date in NAIVE]), "naive"),
    "rows of Timestamp": (rows(STAMPS), "naive"),
    "objects of datetime": (np.array(rows(NAIVE), dtype=object), "naive"),
    "pandas zoned": (pandas_frame(pd.to_datetime(LOCAL)), "zoned"),
    "pandas zoned objects": (pandas_frame(LOCAL, dtype=object), "zoned"),
    "pandas zoned in Arrow": (pandas_frame(DATES, **arrow(pa.timestamp("us", "UTC"))), "zoned"),
    "pandas zoned to_numpy": (pandas_frame(pd.to_datetime(LOCAL)).to_numpy(), "zoned"),
    "polars zoned": (
        pl.DataFrame({"place": PLACE, "when": DATES}).with_columns(
            pl.col("when").dt.convert_time_zone("Europe/Zurich")
        ),
        "zoned",
    ),
    "rows of zoned datetime": (rows(LOCAL), "zoned"),
}


@pytest.mark.filterwarnings("ignore:X does not have valid feature names:UserWarning")
@pytest.mark.parametrize("form", FORMS)
def test_dates_of_each_form_are_hours(form):
    """Frames at fit and arrays at predict, and both ways, are equal to the bit."""
    X, kind = FORMS[form]
    frame = FORMS["pandas" if kind == "naive" else "pandas zoned"][0]
    gp, framed = regressor().fit(X, Y), regressor(time_column="when").fit(frame, Y)
    assert_allclose(gp.X_train_[:, 1], HOURS, rtol=1e-15)
    for model in (gp, framed):
        assert_array_equal(model.predict(X), framed.predict(frame))


# Two steps of a resolution after 1970, in seconds.
SECONDS = {"Y": 730 * 86400, "M": 59 * 86400, "W": 14 * 86400, "D": 2 * 86400, "h": 7200.0}
SECONDS |= {"m": 120.0, "s": 2.0, "ms": 2e-3, "us": 2e-6, "ns": 2e-9}
UNITS = {"ns": 1e-9, "s": 1.0, "h": 3600.0, "W": 604800.0}


@pytest.mark.parametrize(("step", "unit"), [*zip(SECONDS, cycle(UNITS))])
def test_every_resolution_and_unit(step, unit):
    date = np.datetime64("1970-01-01", step) + np.timedelta64(2, step)
    gp = regressor(time_unit=unit).fit(np.array([[date]]), [1.0])
    assert gp.X_train_[0, 0] == pytest.approx(SECONDS[step] / UNITS[unit], rel=1e-12)


DAYS = np.array(["2024-02-28", "2024-02-29", "2024-03-01"], dtype="datetime64[D]")
STEPS = [timedelta(hours=1.5 * i) for i in range(4)]
# name: (table of one column, unit, numbers)
ALONE = {
    name: (table, "D", [19781.0, 19782.0, 19783.0])
    for name, table in {
        "datetime64": DAYS[:, np.newaxis],
        "datetime64[ns]": DAYS.astype("datetime64[ns]")[:, np.newaxis],
        "datetime64[25s]": DAYS.astype("datetime64[25s]")[:, np.newaxis],
        "rows of arrays": list(DAYS.astype("datetime64[ns]")[:, np.newaxis]),
        "date": [[day] for day in DAYS.tolist()],
        "pandas date": pd.DataFrame({"day": DAYS.tolist()}),
        "pandas date in Arrow": pd.DataFrame({"day": DAYS.tolist()}, **arrow(pa.date32())),
        "polars Date": pl.DataFrame({"day": DAYS.tolist()}),
    }.items()
} | {
    f"durations, {name}": (table, "h", [0.0, 1.5, 3.0, 4.5])
    for name, table in {
        "pandas": pd.DataFrame({"elapsed": STEPS}),
        "pandas objects": pd.DataFrame({"elapsed": STEPS}, dtype=object),
        "polars": pl.DataFrame({"elapsed": STEPS}),
        "timedelta64": np.array(STEPS, dtype="timedelta64[m]")[:, np.newaxis],
        "rows": [[step] for step in STEPS],
    }.items()
}


@pytest.mark.parametrize("form", ALONE)
def test_days_and_durations_alone(form):
    table, unit, numbers = ALONE[form]
    gp = regressor(time_unit=unit).fit(table, np.zeros(len(numbers)))
    assert_array_equal(gp.X_train_[:, 0], numbers)


def test_durations_beside_integers():
    rows = [[1, step] for step in STEPS]  # NumPy would make durations of both columns
    assert_array_equal(regressor().fit(rows, np.zeros(4)).X_train_[:, 0], np.ones(4))


REGRESSORS = {
    "dense": partial(TimeVaryingGPRegressor, solver="dense"),
    "kalman": partial(TimeVaryingGPRegressor, solver="kalman"),
    "robust": partial(TimeVaryingGPRegressor, robust=True),
    "weighted": WeightedTimeVaryingGPRegressor,
    "sparse": partial(SparseTimeVaryingGPRegressor, random_state=0),
    "published": ScaledOnceGPRegressor,
}


@pytest.mark.parametrize(("name", "unit"), [*zip(REGRESSORS, cycle(["h", "D"]))])
def test_durations_have_the_same_unit_however_a_model_begins(name, unit):
    temporal = Matern(pd.Timedelta("36h"), (pd.Timedelta("6h"), pd.Timedelta("30D")), nu=1.5)
    level = ConstantKernel(0.5, "fixed") * Matern(np.timedelta64(90, "m"), "fixed", nu=0.5)
    options = {"optimizer": None, "time_unit": unit, "level_kernel": level}
    gp, X = REGRESSORS[name](RBF(0.3), temporal, **options), FORMS["pandas"][0]
    hours = {"h": 1.0, "D": 24.0}[unit]
    models = [clone(gp).fit(X, Y), clone(gp).partial_fit(X, Y)]
    models += [models[1].condition_on(X, Y), models[1].refit(), clone(models[1]).partial_fit(X, Y)]
    for model in models:
        found = model.temporal_kernel_.get_params()
        assert found["length_scale"] == pytest.approx(36.0 / hours, rel=1e-12)
        assert_allclose(found["length_scale_bounds"], (6.0 / hours, 720.0 / hours), rtol=1e-12)
        found = model.level_kernel_.get_params()["k2__length_scale"]
        assert found == pytest.approx(1.5 / hours, rel=1e-12)
    assert_allclose(models[0].predict(X), models[1].predict(X), rtol=1e-9)
    assert temporal.length_scale == pd.Timedelta("36h")  # the given kernel is unchanged


HOURS_3 = [pd.Timedelta("3h"), timedelta(hours=3), np.timedelta64(3, "h")]


@pytest.mark.parametrize("duration", HOURS_3)
def test_whatever_has_durations_in_its_kernels_can_be_printed(duration, capsys):
    periodic = ExpSineSquared(0.5, duration) * Matern(5 * duration, (duration, 9 * duration))
    kernel = 2.0 * RBF(duration) + RationalQuadratic(duration, 0.5) + periodic
    gp = TimeVaryingGPRegressor(None, kernel, level_kernel=kernel, time_unit="h", optimizer=None)
    opt = BayesianOptimizer([(0.0, 1.0)], surrogate=gp, acquisition=UCB(1.0))
    grid = {"temporal_kernel": [kernel, RBF(duration)], "level_kernel": [None]}
    search = GridSearchCV(gp, grid, cv=2, verbose=3).fit(FORMS["pandas"][0], Y)
    assert str(duration) in capsys.readouterr().out
    for shown in (kernel, make_pipeline(gp), search, search.best_params_, search.cv_results_, opt):
        assert str(duration) in repr(shown)
    assert "<div" in search._repr_html_()


@pytest.mark.parametrize("kind", EITHER)
@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (1.0 * RBF("90min") + RBF(2.0), "k1__k2__length_scale of Sum .* '90min' .*Timedelta"),
        (Matern(3.0, ("1h", "2D")), r"length_scale_bounds of Matern .*Timedelta\('1h'\)"),
        (ExpSineSquared(1.0, "1D"), r"periodicity of ExpSineSquared .*Timedelta\('1D'\)"),
        (RBF("short"), r"length_scale of RBF .* Got 'short' instead\.$"),
    ],
    ids=str,
)
def test_a_text_in_a_kernel_names_the_duration_to_give(kind, kernel, message):
    X = FORMS["pandas"][0]
    for gp in (kind(None, kernel), kind(level_kernel=kernel)):
        for method in (gp.fit, gp.partial_fit):
            with pytest.raises(ValueError, match=message):
                method(X, Y)
    with pytest.raises(ValueError, match=r"must be numbers\. Got"):
        kind(kernel).fit(X, Y)


def test_another_unit_is_that_of_the_next_fit():
    X, temporal = FORMS["pandas"][0], Matern(pd.Timedelta("36h"), nu=1.5)
    gp = TimeVaryingGPRegressor(RBF(0.3), temporal, time_unit="h").fit(X, Y)
    before, refitted = gp.predict(X), gp.refit().theta_
    appended = gp.condition_on(X, Y).X_train_
    gp.set_params(time_unit="D")
    assert_array_equal(gp.predict(X), before)
    assert clone(gp).fit(X, Y).now_ == HOURS.max() / 24.0
    assert gp.advance(X["when"].max()).now_ == HOURS.max()
    assert_array_equal(gp.condition_on(X, Y).X_train_, appended)
    assert_array_equal(gp.refit().theta_, refitted)


# --- mixed kinds ----------------------------------------------------------------------------------

KINDS = {
    "numbers": pandas_frame(HOURS.tolist()),
    "dates without a time zone": FORMS["pandas"][0],
    "dates with a time zone": FORMS["pandas zoned"][0],
    "durations": pandas_frame([timedelta(hours=h) for h in HOURS]),
}


@pytest.mark.parametrize("fitted", KINDS)
@pytest.mark.parametrize("given", KINDS)
def test_times_of_another_kind_are_rejected(fitted, given):
    gp = regressor(time_column="when").fit(KINDS[fitted], Y)
    gp = pickle.loads(pickle.dumps(gp))
    before = gp.predict(KINDS[fitted])
    if fitted != given:
        with pytest.raises(ValueError, match=f"Column 'when' must be {fitted}, .* Got {given}"):
            gp.predict(KINDS[given])
    assert_array_equal(gp.predict(KINDS[fitted]), before)
    refitted = gp.fit(KINDS[given], Y)  # another fit may have another kind
    assert_array_equal(refitted.predict(KINDS[given]), gp.predict(KINDS[given]))


BAD = {
    "NaT": ([*STAMPS[:-1], pd.NaT], "without gaps. Got NaT instead. Drop row 23"),
    "a number": ([*NAIVE[:-1], 1.0], "of one kind.* Got dates without a time zone and numbers"),
    "both": ([*NAIVE[:-1], DATES[0]], "of one kind.* Got dates with a .* and dates without"),
    "text": ([str(date) for date in NAIVE], "numbers or dates. Got dtype .* pandas.to_datetime"),
    "Period": (pd.period_range("2024", periods=N), "numbers or dates. Got dtype period.*to_timest"),
    "category": (pd.Categorical(list("ab") * 12), "numbers or dates. Got dtype category.*OneHot"),
}


@pytest.mark.parametrize("case", BAD)
def test_columns_that_cannot_be_read_are_named_in_the_error(case):
    values, message = BAD[case]
    gp = regressor(time_column=1).fit(PLACE[:, np.newaxis] + [0.0, 1.0], Y)
    frame = pd.DataFrame(
        {"place": PLACE, "when": pd.Series(values, dtype=getattr(values, "dtype", object))}
    )
    for call in (gp.predict, lambda X: gp.fit(X, Y)):
        with pytest.raises((TypeError, ValueError), match=f"Column 'when' must be .*{message}"):
            call(frame)
        with pytest.raises((TypeError, ValueError), match="Column 1 must be"):
            call(frame.to_numpy())


def test_dates_as_targets_are_rejected():
    with pytest.raises(ValueError, match=r"X must be of two dimensions.* \[\[t\] for t in X\]"):
        regressor().fit(NAIVE, Y)
    for y in (NAIVE, pd.Series(STAMPS), np.array(NAIVE, dtype="datetime64[us]"), pl.Series(NAIVE)):
        with pytest.raises(ValueError, match=r"y must be numbers\. Got dates"):
            regressor().fit(FORMS["pandas"][0], y)


# --- single times ---------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", EITHER)
def test_single_times_may_be_dates(kind):
    gp = kind(*KERNELS, optimizer=None, time_unit="h").fit(FORMS["pandas zoned"][0], Y)
    later, hours, places = DATES[-1] + timedelta(hours=3), HOURS[-1] + 3.0, [[0.2], [0.7]]
    assert_allclose(gp.relevancy(later), gp.relevancy(hours), rtol=1e-6)
    assert_allclose(gp.posterior_at(later)(places), gp.posterior_at(hours)(places), rtol=1e-6)
    assert gp.advance(later) is gp
    numbers = regressor().fit(KINDS["numbers"], Y)
    wrong = later.replace(tzinfo=None)
    for model, expected in ((gp, "dates with a time zone"), (numbers, "numbers")):
        for call in (model.relevancy, model.posterior_at, model.advance, model.at):
            with pytest.raises(ValueError, match=f"must be {expected}, as in the data of f"):
                call(wrong)


def test_a_single_time_is_no_table():
    gp = regressor().fit(FORMS["pandas"][0], Y)
    for time in (STAMPS[0], NAIVE[0], np.datetime64(NAIVE[0]), pd.Timedelta("1h")):
        with pytest.raises(ValueError, match=r"X must be of two dim.* Write \[\[t\]\] for one"):
            gp.predict(time)


def test_masked_arrays_are_rejected():
    X = np.ma.masked_array(np.column_stack([PLACE, HOURS]), mask=False)
    regressor(time_column=1).fit(X, Y)
    X.mask[3, 0] = True
    with pytest.raises(ValueError, match="without masked values"):
        regressor(time_column=1).fit(X, Y)


@pytest.mark.parametrize("dtype", [object, None])
def test_dates_that_floats_cannot_tell_apart_are_refused(dtype):
    def fitted(nanoseconds):
        times = pd.Timestamp("2026-03-01T12") + pd.to_timedelta(nanoseconds)
        frame = pd.DataFrame({"x": 0.0, "t": pd.Series(times, dtype=dtype)})
        return regressor(time_column="t", time_unit="s").fit(frame, Y[: len(frame)])

    assert len(np.unique(fitted(1000 * np.arange(8)).X_train_[:, 1])) == 8
    assert len(np.unique(fitted(np.zeros(8)).X_train_[:, 1])) == 1
    with pytest.raises(ValueError, match=r"Column 't' must be dates .* 0.5 micro"):
        fitted([0, 100])
