"""Choice of the time column: the only column of dates, wherever it is, or an error."""

from functools import partial

import numpy as np
import pytest
from gaussian_process.cases import KINDS, each, first_start
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.ensemble import BaggingRegressor
from sklearn.feature_selection import SequentialFeatureSelector
from sklearn.gaussian_process.kernels import RBF, Matern
from sklearn.multioutput import RegressorChain

from sktvbo.exceptions import InvalidObservationError
from sktvbo.model_selection import OnlineTuner

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")

N = 40
RNG = np.random.default_rng(0)
FRAME = pd.DataFrame(
    {
        "site": RNG.uniform(size=N),
        "time": pd.date_range("2026-01-01", periods=N, freq="1h", tz="UTC"),
        "load": RNG.uniform(0.0, 5.0, size=N),
    }
)
HOURS = np.arange(float(N))
Y = np.sin(5.0 * FRAME["site"].to_numpy() + 0.3 * HOURS) + 0.1 * FRAME["load"].to_numpy()
FIRST, REST = slice(30), slice(30, None)

# What takes a frame, as a function of a fitted regressor, other rows and their values.
METHODS = {
    "predict": lambda gp, X, y: gp.predict(X),
    "predict_interval": lambda gp, X, y: gp.predict_interval(X),
    "predict_terms": lambda gp, X, y: gp.predict_terms(X),
    "sample_y": lambda gp, X, y: gp.sample_y(X),
    "partial_fit": lambda gp, X, y: gp.partial_fit(X, y),
    "condition_on": lambda gp, X, y: gp.condition_on(X, y),
    "refit": lambda gp, X, y: gp.refit((X, y)),
}


def dask(frame):
    return pytest.importorskip("dask.dataframe").from_pandas(frame, npartitions=3)


FORMS = {
    "pandas": lambda frame: frame,
    "objects": lambda frame: frame.astype({"time": object}),
    "polars": pl.from_pandas,
    "array": lambda frame: frame.to_numpy(),
    "rows": lambda frame: frame.to_numpy().tolist(),
    "dask": dask,
}


def model(kind=KINDS[0], **options):
    options = {"optimizer": None, "time_unit": "h", "random_state": 0} | options
    return kind(RBF([0.5, 3.0]), Matern(6.0, nu=1.5), **options)


# --- the only column of dates ---------------------------------------------------------------------


@each
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("place", range(3))
def test_the_only_column_of_dates_is_time_wherever_it_is(kind, form, place):
    names = ["site", "load"]
    names.insert(place, "time")
    X, later = (FORMS[form](FRAME[names].iloc[part]) for part in (FIRST, REST))
    numbers = FRAME.assign(time=HOURS)[["site", "load", "time"]].to_numpy()
    expected = model(kind).fit(numbers[FIRST], Y[FIRST])
    for fitted in (model(kind).fit(X, Y[FIRST]), model(kind).partial_fit(X, Y[FIRST])):
        assert fitted.time_column_ == place
        assert_allclose(fitted.predict(later), expected.predict(numbers[REST]), rtol=1e-6)
        longer = fitted.condition_on(later, Y[REST])
        assert longer.time_column_ == longer.refit().time_column_ == place
        again = expected.condition_on(numbers[REST], Y[REST])
        assert_allclose(longer.predict(X), again.predict(numbers[FIRST]), rtol=1e-6)


def test_max_size_keeps_the_latest_rows():
    X = FRAME[["time", "load"]]
    gp = model(max_size=10).set_params(spatial_kernel=RBF(3.0)).fit(X, Y)
    latest = (X["time"] - pd.Timestamp("1970", tz="UTC")) / pd.Timedelta("1h")
    assert gp.now_ == latest.max()
    assert gp.X_train_[:, 0].min() > latest.median()


@pytest.mark.parametrize("column", [2, "load"])
def test_an_explicit_column_is_time_beside_dates(column):
    gp = model().set_params(time_column=column).fit(FRAME, Y)
    assert gp.time_column_ == 2
    assert gp.now_ == FRAME["load"].max()


@each
def test_another_column_is_that_of_the_next_fit(kind):
    gp = model(kind, optimizer=first_start).fit(FRAME[FIRST], Y[FIRST])
    expected = gp.condition_on(FRAME[REST], Y[REST]).refit().predict(FRAME)
    gp.set_params(time_column="load")
    longer = gp.condition_on(FRAME[REST], Y[REST]).refit()
    assert gp.time_column_ == longer.time_column_ == 1
    assert_array_equal(longer.predict(FRAME), expected)
    assert gp.fit(FRAME, Y).time_column_ == 2


# --- columns that do not say which is time --------------------------------------------------------

AMBIGUOUS = {
    "two columns of dates": (
        FRAME.assign(end=FRAME["time"] + pd.Timedelta("1h")),
        "dates with a time zone in column 'time' and dates with a time zone in column 'end'",
    ),
    "two kinds of dates": (
        FRAME.assign(end=FRAME["time"].dt.tz_localize(None)),
        "with a time zone in column 'time' and dates without a time zone in column 'end'",
    ),
    "another count of time": (
        FRAME.assign(hour=2.0 * HOURS),
        "in column 'time', and column 'hour', which increases with them",
    ),
    "durations before numbers": (
        FRAME.assign(time=FRAME["time"] - FRAME["time"].iloc[0]),
        "durations in column 'time', but 'load' as last column",
    ),
    "two columns of durations": (
        FRAME.assign(time=FRAME["time"] - FRAME["time"].iloc[0], last=pd.Timedelta("1h")),
        "durations in column 'time' and durations in column 'last'",
    ),
}


@each
@pytest.mark.parametrize("form", ["pandas", "polars", "dask"])
@pytest.mark.parametrize("case", AMBIGUOUS)
def test_an_ambiguous_frame_is_an_error_that_names_the_parameter(kind, form, case):
    frame, message = AMBIGUOUS[case]
    X = FORMS[form](frame)
    gp = model(kind).set_params(spatial_kernel=RBF(1.0))
    state = dict(vars(gp))
    for method in (gp.fit, gp.partial_fit):
        expected = f"'time_column' parameter of {kind.__name__} must be .*Got -1 for .*{message}"
        with pytest.raises(ValueError, match=expected):
            method(X, Y)
    assert vars(gp) == state
    assert clone(gp).set_params(time_column="time").fit(X, Y).time_column_ == 1


def test_one_date_beside_durations_is_time():
    frame = FRAME.assign(lead=pd.to_timedelta(RNG.uniform(1.0, 9.0, N), unit="h"))
    gp = model().set_params(spatial_kernel=RBF(1.0)).fit(frame, Y)
    assert gp.time_column_ == 1


@pytest.mark.parametrize("n", [1, 2, 5])
def test_a_few_first_rows_do_not_decide_by_chance(n):
    frame = FRAME.assign(load=HOURS)[:n]
    assert model().partial_fit(frame, Y[:n]).time_column_ == 1


# --- times in the index ---------------------------------------------------------------------------

NUMERIC = FRAME[["site", "load"]]
INDEXED = {
    "dates": NUMERIC.set_index(FRAME["time"]),
    "dates as objects": NUMERIC.set_index(pd.Index(FRAME["time"].dt.date, dtype=object)),
    "durations": NUMERIC.set_index(pd.to_timedelta(HOURS, unit="h")),
    "periods": NUMERIC.set_index(pd.period_range("2026-01-01", periods=N, freq="h")),
    "a level of dates": NUMERIC.set_index([np.arange(N) % 3, FRAME["time"]]),
}


@each
@pytest.mark.parametrize("case", INDEXED)
def test_times_in_the_index_are_an_error_that_says_reset_index(kind, case):
    X = INDEXED[case]
    gp = model(kind).set_params(spatial_kernel=RBF(1.0))
    for method in (gp.fit, gp.partial_fit):
        with pytest.raises(ValueError, match=r"times in its index.*reset_index\(\), or set time_c"):
            method(X, Y)
    assert clone(gp).set_params(time_column="load").fit(X, Y).time_column_ == 1
    assert model(kind).fit(FRAME.set_index(X.index), Y).time_column_ == 1


@each
@pytest.mark.parametrize("name", METHODS)
def test_later_frames_with_times_in_the_index(kind, name):
    gp = model(kind, optimizer=first_start).fit(FRAME, Y)
    before = gp.predict(FRAME)
    with pytest.raises(ValueError, match=r"times in its index.*reset_index\(\), or the columns of"):
        METHODS[name](gp, FRAME.set_index("time"), Y)
    assert_array_equal(gp.predict(FRAME), before)


# --- labels ---------------------------------------------------------------------------------------


@each
def test_labels_of_several_levels(kind):
    frame = FRAME.set_axis(pd.MultiIndex.from_product([["a"], FRAME.columns]), axis=1)
    assert model(kind, time_column=("a", "time")).fit(frame, Y).time_column_ == 1
    assert model(kind, time_column=("a", "load")).fit(frame, Y).time_column_ == 2
    for wrong in (("a", "when"), "time"):
        with pytest.raises(ValueError, match=r"must be one of \[\('a', 'site'\), .*Got"):
            model(kind, time_column=wrong).fit(frame, Y)


# --- tools that move columns ----------------------------------------------------------------------


@each
def test_tools_that_make_arrays_of_frames_refuse_a_name(kind):
    frame = FRAME.assign(time=HOURS)
    gp = model(kind, time_column="time").set_params(spatial_kernel=RBF(1.0))
    tools = [
        partial(RegressorChain(gp).fit, frame, np.column_stack([Y, Y])),
        partial(BaggingRegressor(gp, 2, random_state=0).fit, frame, Y),
        partial(SequentialFeatureSelector(gp, cv=2).fit, frame, Y),
    ]
    for fit in tools:
        with pytest.raises(ValueError, match=r"a position, as X has no column names.*Pipelines"):
            fit()


def test_a_position_from_the_left_stays_in_a_chain():
    chain = RegressorChain(model(time_column=1).set_params(spatial_kernel=RBF(1.0)))
    chain.fit(FRAME.assign(time=HOURS).to_numpy(), np.column_stack([Y, 2.0 * Y]))
    assert [gp.now_ for gp in chain.estimators_] == [HOURS[-1], HOURS[-1]]


# --- streams --------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["pandas", "polars", "dask"])
@pytest.mark.parametrize("window", [None, 20])
def test_a_tuner_passes_frames_on(form, window):
    tuner = OnlineTuner(
        model(),
        {"noise_variance": ("log-real", 1e-4, 1.0)},
        n_settings=2,
        window=window,
        batch_size=10,
        random_state=0,
    )
    tuner.fit(FORMS[form](FRAME), Y)
    assert all(gp.time_column_ == 1 for gp in tuner.learners_)
    assert tuner.predict(FORMS[form](FRAME)).shape == (N,)
    with pytest.raises(ValueError, match=r"reset_index\(\)"):
        clone(tuner).fit(INDEXED["dates"], Y)


@each
def test_lazy_frames_are_refused(kind):
    lazy = pl.from_pandas(FRAME).lazy()
    gp = model(kind, optimizer=first_start).fit(FRAME, Y)
    tuner = OnlineTuner(gp, {"noise_variance": ("log-real", 1e-4, 1.0)}, n_settings=2)
    calls = [partial(method, gp, lazy, Y) for method in METHODS.values()]
    calls += [partial(gp.fit, lazy, Y), partial(gp.fit, FRAME, lazy)]
    calls += [partial(tuner.fit, lazy, Y), partial(tuner.partial_fit, FRAME, lazy)]
    for call in calls:
        with pytest.raises(InvalidObservationError, match=r"[Xy] must be .* [Xy]\.collect\(\)\."):
            call()
