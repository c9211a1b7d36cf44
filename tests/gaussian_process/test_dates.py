"""Dates and durations in all formats, or an error that names the column."""

import pickle
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import cycle
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.gaussian_process import GaussianProcessRegressor
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
from sktvbo.kernels import Separable
from sktvbo.papers._brunzema2022 import ScaledOnceGPRegressor

START = datetime(2024, 10, 26, 20, 0, 0, 123456, tzinfo=UTC)
ZURICH = ZoneInfo("Europe/Zurich")
N = 24
# Across the end of daylight saving time on October 27, with its repeated hour.
DATES = [START + timedelta(minutes=40 * i) for i in range(N)]
HOURS = np.array([(date - datetime(1970, 1, 1, tzinfo=UTC)) / timedelta(hours=1) for date in DATES])
PLACE = np.linspace(0.0, 1.0, N)
Y = np.sin(6.0 * PLACE) + np.cos(HOURS - HOURS[0])
KERNELS = RBF(0.3), Matern(5.0, nu=1.5)


def regressor(**options):
    options = {"optimizer": None, "noise_variance": 0.01, "time_unit": "h"} | options
    return TimeVaryingGPRegressor(*KERNELS, **options)


def expected(mask=slice(None)):
    """Return predictions of scikit-learn with hours since the first date, exact in floats."""
    X = np.column_stack([PLACE, HOURS - HOURS[0]])
    gp = GaussianProcessRegressor(Separable(*KERNELS), alpha=0.01, optimizer=None)
    return gp.fit(X[::2], Y[::2]).predict(X[mask])


def naive(dates):
    return [date.replace(tzinfo=None) for date in dates]


def pandas_frame(dates, **options):
    return pd.DataFrame({"place": PLACE, "when": pd.Series(dates, **options)})


def rows(dates):
    return [[place, date] for place, date in zip(PLACE.tolist(), dates)]


def objects(dates):
    return np.array(rows(dates), dtype=object)


def arrow(type_):
    return {"dtype": pd.ArrowDtype(type_)}


NAIVE, LOCAL = naive(DATES), [date.astimezone(ZURICH) for date in DATES]
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
    "objects of datetime": (objects(NAIVE), "naive"),
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


def cut(X, part):
    return X.iloc[part] if hasattr(X, "iloc") else X[part]


def of_kind(kind):
    return [name for name, (_, its) in FORMS.items() if its == kind]


@pytest.mark.parametrize("fitted", FORMS)
def test_dates_of_each_form_are_hours(fitted):
    X, kind = FORMS[fitted]
    gp = regressor().fit(cut(X, slice(None, None, 2)), Y[::2])
    assert_allclose(gp.X_train_[:, 1], HOURS[::2], rtol=1e-15)
    for name in of_kind(kind):
        with_names = hasattr(FORMS[name][0], "columns") == hasattr(X, "columns")
        if with_names:  # otherwise scikit-learn warns
            assert_allclose(gp.predict(FORMS[name][0]), expected(), atol=1e-6, err_msg=name)


@pytest.mark.filterwarnings("ignore:X does not have valid feature names:UserWarning")
@pytest.mark.parametrize("kind", ["naive", "zoned"])
def test_a_frame_at_fit_and_an_array_at_predict(kind):
    """Both ways, equal to the bit."""
    X = FORMS["pandas" if kind == "naive" else "pandas zoned"][0]
    framed = regressor(time_column="when").fit(X, Y)
    array = regressor().fit(X.to_numpy(), Y)
    for name in of_kind(kind):
        other = FORMS[name][0]
        assert_array_equal(framed.predict(other), framed.predict(X))
        if not hasattr(other, "columns"):
            assert_array_equal(array.predict(other), framed.predict(X))


DAYS = np.array(["2024-02-28", "2024-02-29", "2024-03-01"], dtype="datetime64[D]")
ALONE = {
    "datetime64": DAYS[:, np.newaxis],
    "datetime64[ns]": DAYS.astype("datetime64[ns]")[:, np.newaxis],
    "datetime64[25s]": DAYS.astype("datetime64[25s]")[:, np.newaxis],
    "rows of arrays": list(DAYS.astype("datetime64[ns]")[:, np.newaxis]),
    "date": [[day] for day in DAYS.tolist()],
    "pandas date": pd.DataFrame({"day": DAYS.tolist()}),
    "pandas date in Arrow": pd.DataFrame({"day": DAYS.tolist()}, dtype=pd.ArrowDtype(pa.date32())),
    "polars Date": pl.DataFrame({"day": DAYS.tolist()}),
}


@pytest.mark.parametrize("form", ALONE)
def test_days_alone(form):
    gp = regressor(time_unit="D").fit(ALONE[form], [1.0, 2.0, 3.0])
    assert_array_equal(gp.X_train_[:, 0], [19781.0, 19782.0, 19783.0])


@pytest.mark.parametrize("step", ["Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns"])
@pytest.mark.parametrize(
    ("unit", "seconds"), [("ns", 1e-9), ("s", 1.0), ("h", 3600.0), ("W", 604800.0)]
)
def test_every_resolution_and_unit(step, unit, seconds):
    date = np.datetime64("1970-01-01", step) + np.timedelta64(2, step)
    days = (date.astype("datetime64[D]") - np.datetime64("1970-01-01")).astype(int)
    expected = days * 86400.0 / seconds
    if days == 0:
        lengths = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
        expected = 2.0 * lengths[step] / seconds
    gp = regressor(time_unit=unit).fit(np.array([[date]]), [1.0])
    assert gp.X_train_[0, 0] == pytest.approx(expected, rel=1e-12)


STEPS = [timedelta(hours=1.5 * i) for i in range(4)]
ELAPSED = {
    "pandas": pd.DataFrame({"elapsed": STEPS}),
    "pandas objects": pd.DataFrame({"elapsed": STEPS}, dtype=object),
    "polars": pl.DataFrame({"elapsed": STEPS}),
    "timedelta64": np.array(STEPS, dtype="timedelta64[m]")[:, np.newaxis],
    "rows": [[step] for step in STEPS],
}


@pytest.mark.parametrize("form", ELAPSED)
def test_durations_are_counted_in_the_unit(form):
    gp = regressor().fit(ELAPSED[form], [0.0, 1.0, 2.0, 3.0])
    assert_array_equal(gp.X_train_[:, 0], [0.0, 1.5, 3.0, 4.5])
    beside = [[1, step] for step in STEPS]  # NumPy would make durations of both columns
    assert_array_equal(regressor().fit(beside, np.zeros(4)).X_train_[:, 0], np.ones(4))


@pytest.mark.parametrize("kind", [TimeVaryingGPRegressor, SparseTimeVaryingGPRegressor])
@pytest.mark.parametrize("hours", [pd.Timedelta("36h"), np.timedelta64(36, "h")])
def test_lengthscales_that_are_durations(kind, hours):
    temporal = Matern(hours, (pd.Timedelta("6h"), pd.Timedelta("30D")), nu=1.5)
    options = {"time_unit": "h", "random_state": 0}
    gp = kind(RBF(0.3), temporal, **options)
    numbers = kind(RBF(0.3), Matern(36.0, (6.0, 720.0), nu=1.5), **options)
    assert "length_scale=36" in repr(gp)
    assert repr(gp) == repr(numbers)
    X = FORMS["pandas"][0]
    assert_allclose(gp.fit(X, Y).theta_, numbers.fit(X, Y).theta_)
    assert temporal.length_scale is hours  # the given kernel is unchanged
    held = gp.set_params(optimizer=None).fit(X, Y)
    assert held.temporal_kernel_.length_scale == 36.0
    assert held.temporal_kernel_.length_scale_bounds == (6.0, 720.0)


REGRESSORS = {
    "dense": partial(TimeVaryingGPRegressor, solver="dense"),
    "kalman": partial(TimeVaryingGPRegressor, solver="kalman"),
    "robust": partial(TimeVaryingGPRegressor, robust=True),
    "weighted": WeightedTimeVaryingGPRegressor,
    "published": ScaledOnceGPRegressor,
}


@pytest.mark.parametrize("unit", ["h", "D"])
@pytest.mark.parametrize("name", REGRESSORS)
def test_durations_have_the_same_unit_however_a_model_begins(name, unit):
    temporal = Matern(pd.Timedelta("3h"), "fixed", nu=1.5)
    level = ConstantKernel(0.5, "fixed") * Matern(np.timedelta64(90, "m"), "fixed", nu=0.5)
    level = None if name == "kalman" else level
    options = {"optimizer": None, "time_unit": unit, "level_kernel": level}
    gp, X = REGRESSORS[name](RBF(0.3), temporal, **options), FORMS["pandas"][0]
    expected = 3.0 / {"h": 1.0, "D": 24.0}[unit]
    models = [clone(gp).fit(X, Y), clone(gp).partial_fit(X, Y)]
    models += [models[1].condition_on(X, Y), models[1].refit(), clone(models[1]).partial_fit(X, Y)]
    for model in models:
        assert model.temporal_kernel_.length_scale == pytest.approx(expected, rel=1e-12)
        if level is not None:
            found = model.level_kernel_.get_params()["k2__length_scale"]
            assert found == pytest.approx(expected / 2.0, rel=1e-12)
    assert_allclose(models[0].predict(X), models[1].predict(X), rtol=1e-9)


DURATIONS = [pd.Timedelta("3h"), timedelta(hours=3), np.timedelta64(3, "h")]
KERNELS_OF_DURATIONS = {
    "Matern": lambda d: Matern(d, (d, 9 * d), nu=0.5),
    "RBF": lambda d: 2.0 * RBF(d),
    "RationalQuadratic": lambda d: RationalQuadratic(d, 0.5) + RBF(d),
    "ExpSineSquared": lambda d: ExpSineSquared(0.5, d) * Matern(5 * d),
}


@pytest.mark.parametrize(("name", "duration"), [*zip(KERNELS_OF_DURATIONS, cycle(DURATIONS))])
def test_whatever_has_durations_in_its_kernels_can_be_printed(name, duration, capsys):
    kernel = KERNELS_OF_DURATIONS[name](duration)
    gp = TimeVaryingGPRegressor(None, kernel, level_kernel=kernel, time_unit="h", optimizer=None)
    opt = BayesianOptimizer([(0.0, 1.0)], surrogate=gp, acquisition=UCB(1.0))
    X = FORMS["pandas"][0]
    grid = {"temporal_kernel": [kernel, RBF(duration)], "level_kernel": [None]}
    search = GridSearchCV(gp, grid, cv=2, verbose=3).fit(X, Y)
    assert str(duration) in capsys.readouterr().out
    for shown in (kernel, make_pipeline(gp), search, search.best_params_, search.cv_results_, opt):
        assert str(duration) in repr(shown)
    for shown in (gp, make_pipeline(gp), search):
        assert "<div" in shown._repr_html_()


TEXTS = {
    "lengthscale": (Matern("3h"), "length_scale of Matern .* Got '3h' .*Timedelta"),
    "part": (1.0 * RBF("90min") + RBF(2.0), "k1__k2__length_scale of Sum .* Got '90min'"),
    "bounds": (Matern(3.0, ("1h", "2D")), r"length_scale_bounds of Matern .*Timedelta\('1h'\)"),
    "period": (ExpSineSquared(1.0, "1D"), r"periodicity of ExpSineSquared .*Timedelta\('1D'\)"),
    "no duration": (RBF("short"), r"length_scale of RBF .* Got 'short' instead\.$"),
}


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("kind", [TimeVaryingGPRegressor, SparseTimeVaryingGPRegressor])
def test_a_text_in_a_kernel_names_the_duration_to_give(kind, name):
    kernel, message = TEXTS[name]
    X = FORMS["pandas"][0]
    for gp in (kind(None, kernel), kind(level_kernel=kernel)):
        for method in (gp.fit, gp.partial_fit):
            with pytest.raises(ValueError, match=message):
                method(X, Y)
        assert "TimeVaryingGPRegressor" in repr(gp)
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
    before = gp.predict(KINDS[fitted])
    calls = [gp.predict, gp.sample_y, gp.predict_interval]
    calls += [lambda X: gp.partial_fit(X, Y), lambda X: gp.score(X, Y)]
    for call in calls if fitted != given else ():
        with pytest.raises(ValueError, match=f"Column 'when' must be {fitted}, .* Got {given}"):
            call(KINDS[given])
    assert_array_equal(gp.predict(KINDS[fitted]), before)
    refitted = gp.fit(KINDS[given], Y)  # another fit may have another kind
    assert_array_equal(refitted.predict(KINDS[given]), gp.predict(KINDS[given]))


@pytest.mark.parametrize("copied", [clone, lambda gp: pickle.loads(pickle.dumps(gp))])
def test_the_kind_is_pickled(copied):
    gp = copied(regressor(time_column="when").fit(KINDS["durations"], Y))
    if hasattr(gp, "now_"):
        with pytest.raises(ValueError, match="must be durations"):
            gp.predict(KINDS["numbers"])
    gp.fit(KINDS["numbers"], Y).predict(KINDS["numbers"])


BAD = {
    "NaT": ([*STAMPS[:-1], pd.NaT], "without gaps. Got NaT instead. Drop row 23"),
    "None": ([*NAIVE[:-1], None], "without gaps. Got NaT"),
    "a number": ([*NAIVE[:-1], 1.0], "of one kind.* Got dates without a time zone and numbers"),
    "both": ([*NAIVE[:-1], DATES[0]], "of one kind.* Got dates with a .* and dates without"),
    "text": ([str(date) for date in NAIVE], "numbers or dates. Got dtype .* pandas.to_datetime"),
    "Period": (pd.period_range("2024", periods=N), "numbers or dates. Got dtype period.*to_timest"),
    "category": (pd.Categorical(list("ab") * 12), "numbers or dates. Got dtype category.*OneHot"),
    "generic NaT": ([*NAIVE[:-1], np.datetime64("NaT")], "without gaps. Got NaT"),
}


@pytest.mark.parametrize("case", BAD)
def test_columns_that_cannot_be_read_are_named_in_the_error(case):
    values, message = BAD[case]
    gp = regressor(time_column=1).fit(PLACE[:, np.newaxis] + [0.0, 1.0], Y)
    frame = pd.DataFrame(
        {"place": PLACE, "when": pd.Series(values, dtype=getattr(values, "dtype", object))}
    )
    for call in (gp.predict, lambda X: gp.fit(X, Y), lambda X: gp.partial_fit(X, Y)):
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


@pytest.mark.parametrize("kind", [TimeVaryingGPRegressor, SparseTimeVaryingGPRegressor])
def test_single_times_may_be_dates(kind):
    options = {"optimizer": None, "time_unit": "h"}
    gp = kind(*KERNELS, **options).fit(FORMS["pandas zoned"][0], Y)
    later = DATES[-1] + timedelta(hours=3)
    hours = HOURS[-1] + 3.0
    assert_allclose(gp.relevancy(later), gp.relevancy(hours), rtol=1e-6)
    places = [[0.2], [0.7]]
    assert_allclose(gp.posterior_at(later)(places), gp.posterior_at(hours)(places), rtol=1e-6)
    for call in (gp.relevancy, gp.posterior_at, gp.advance):
        with pytest.raises(ValueError, match="must be dates with a time zone, as in the data of f"):
            call(later.replace(tzinfo=None))
    assert gp.advance(later) is gp
    numbers = regressor().fit(KINDS["numbers"], Y)
    for call in (numbers.relevancy, numbers.posterior_at, numbers.advance, numbers.at):
        with pytest.raises(ValueError, match="must be numbers, as in the data of fit"):
            call(START)


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


@pytest.mark.parametrize("objects", [True, False])
def test_dates_that_floats_cannot_tell_apart_are_refused(objects):
    noon = pd.Timestamp("2026-03-01T12")
    for step, n_times in ((1000, 8), (0, 1), (100, None)):
        dates = pd.Series(
            [noon + pd.Timedelta(n * step, "ns") for n in range(8 if step != 100 else 2)]
        )
        frame = pd.DataFrame({"x": 0.0, "t": dates.astype(object) if objects else dates})
        gp = regressor(time_column="t", time_unit="s")
        if n_times is None:
            with pytest.raises(ValueError, match=r"Column 't' must be of dates .* 0.5 micro"):
                gp.fit(frame, Y[: len(frame)])
        else:
            times = gp.fit(frame, Y[: len(frame)]).X_train_[:, -1]
            assert len(np.unique(times)) == n_times


def test_frames_with_gaps_in_their_dates_are_refused():
    X = pandas_frame(pd.Series(NAIVE))
    gp = regressor(time_column="when").fit(X, Y)
    X.loc[5, "when"] = pd.NaT
    with pytest.raises(ValueError, match="Column 'when' must be dates without gaps"):
        gp.predict(X)
