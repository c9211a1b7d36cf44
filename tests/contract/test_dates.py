"""Dates wherever times are: the time since 1970 in the user's unit."""

import pickle
from datetime import UTC, datetime, timedelta, timezone

import numpy as np
import pytest
from contract.cases import BOX
from numpy.testing import assert_array_equal
from sklearn.gaussian_process.kernels import Matern

from sktvbo import GPUCB, WDBO, RandomSearch, SparQGPUCB, TimeVaryingGPRegressor
from sktvbo.exceptions import InvalidObservationError

pd = pytest.importorskip("pandas")

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
HOURS = NOON.timestamp() / 3600.0

FORMS = {
    "naive": lambda h: (NOON + timedelta(hours=h)).replace(tzinfo=None),
    "zoned": lambda h: (NOON + timedelta(hours=h)).astimezone(timezone(timedelta(hours=-7))),
    "numpy": lambda h: np.datetime64("2026-03-01T12", "h") + np.timedelta64(h, "h"),
    "pandas": lambda h: pd.Timestamp(NOON) + timedelta(hours=h),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_call_takes_dates(form):
    X = [[0.5, 0.0], [0.6, 0.0]]

    def run(date):
        opt = GPUCB(BOX, time_unit="h", n_initial_points=3, random_state=0)
        for h in range(6):
            opt.tell(opt.ask(date(h)), float(h % 3))
        opt.announce([1.0, 0.0], date(6))
        opt.tell([1.0, 0.0], 1.0, date(7))
        opt.tell_many(X, [1.0, 2.0], [date(8), date(9)])
        found = [*opt.predict(X, [date(9), date(10)]), opt.predict(X[0], date(9))]
        found += [*opt.recommend(date(10))]
        opt.untell([0.6, 0.0], date(9))
        return [*found, *opt.told_X_.ravel()]

    assert_array_equal(run(FORMS[form]), run(lambda h: HOURS + h))


# --- mixed kinds ----------------------------------------------------------------------------------

KINDS = {
    "numbers": lambda h: HOURS + h,
    "dates without a time zone": FORMS["naive"],
    "dates with a time zone": FORMS["zoned"],
}


def calls_with(t):
    X = [[0.5, 0.0], [0.6, 0.0]]
    return {
        "ask": lambda opt: opt.ask(t),
        "tell": lambda opt: opt.tell(X[0], 1.0, t),
        "tell_many": lambda opt: opt.tell_many(X, [1.0, 2.0], [t, t]),
        "announce": lambda opt: opt.announce(X[0], t),
        "predict": lambda opt: opt.predict(X, t),
        "recommend": lambda opt: opt.recommend(t),
        "untell": lambda opt: opt.untell(X[0], t),
        "ask_expert": lambda opt: opt.ask_expert(t),
        "tell_expert": lambda opt: opt.tell_expert(X, [1.0, 2.0], t),
    }


@pytest.mark.parametrize("begun", KINDS)
def test_times_of_another_kind_are_refused(begun):
    opt = SparQGPUCB(BOX, time_unit="h", n_initial_points=2, random_state=0)
    for h in range(3):
        opt.tell(opt.ask(KINDS[begun](h)), 1.0)
    before = opt.to_json()
    for copied in (opt, SparQGPUCB.from_json(before), pickle.loads(pickle.dumps(opt))):
        for given in KINDS.keys() - {begun}:
            for name, call in calls_with(KINDS[given](7)).items():
                with pytest.raises(
                    InvalidObservationError, match=f"must be {begun}, as .* Got {given}"
                ):
                    call(copied)
                assert copied.to_json() == before, name
        copied.ask(KINDS[begun](4))


def test_a_clock_that_tells_no_dates_is_refused_among_dates():
    opt = RandomSearch(BOX, random_state=0)
    opt.tell([0.5, 0.0], 1.0, NOON)
    for call in (opt.ask, opt.now, lambda: opt.announce([0.5, 0.0])):
        with pytest.raises(InvalidObservationError, match=r"must be dates with .*lambda"):
            call()


@pytest.mark.parametrize(("kind", "unit"), [*zip(KINDS, ("D", "us", "min"))])
def test_the_frame_of_a_run_has_its_times(kind, unit):
    """A run goes on from the frame of another one, with the same numbers."""
    opt = RandomSearch(BOX, time_unit=unit, random_state=0)
    second = timedelta(microseconds=123457)
    dates = [KINDS[kind](h) + (h * second if kind != "numbers" else 0) for h in range(4)]
    for t in dates:
        opt.tell(opt.ask(t), 1.0)
    twin, frame = RandomSearch(BOX, time_unit=unit), opt.to_frame()
    twin.tell_many(frame[["x0", "x1"]].to_numpy(), frame["y"], frame["time"])
    assert_array_equal(twin.told_X_, opt.told_X_)
    twin.ask(KINDS[kind](5))
    if kind != "numbers":
        assert [t.to_pydatetime() for t in frame["time"]] == dates


# --- changes of the clocks ------------------------------------------------------------------------


def test_local_time_without_a_zone_that_goes_back_is_explained():
    opt = RandomSearch(BOX, random_state=0)
    opt.ask(datetime(2026, 10, 25, 2, 50))
    with pytest.raises(InvalidObservationError, match=r"daylight saving.*now\(timezone.utc\)"):
        opt.ask(datetime(2026, 10, 25, 2, 10, fold=1))


NO_DATES = [np.datetime64("NaT"), "2026-03-01", timedelta(1), np.timedelta64(1, "h")]
NO_DATES += [pd.NaT, pd.Period("2026-03-01"), None]


@pytest.mark.parametrize("bad", NO_DATES)
def test_what_is_no_date_is_refused(bad):
    opt = WDBO(BOX, random_state=0)
    with pytest.raises(InvalidObservationError, match="t must be"):
        opt.tell_many([[0.5, 0.0]], [1.0], [bad])
    if bad is not None:
        with pytest.raises(InvalidObservationError, match="t must be"):
            opt.ask(bad)
    assert "_run" not in vars(opt)


@pytest.mark.parametrize(("unit", "scale"), [("h", 3.0), ("min", 180.0)])
def test_durations_of_a_surrogate_are_in_the_unit_of_the_run(unit, scale):
    surrogate = TimeVaryingGPRegressor(None, Matern(timedelta(hours=3), "fixed"))
    opt = WDBO([(0.0, 1.0)], surrogate=surrogate, time_unit=unit, random_state=0)
    for hour in range(6):
        opt.tell(opt.ask(NOON + timedelta(hours=hour)), float(hour % 3))
    assert opt.surrogate_.temporal_kernel_.length_scale == scale


FINE = {
    "numpy": lambda n: np.datetime64("2026-03-01T12", "ns") + np.timedelta64(n, "ns"),
    "hundreds": lambda n: np.datetime64(NOON_IN_HUNDREDS + n // 100, "100ns"),
    "pandas": lambda n: pd.Timestamp(NOON) + pd.Timedelta(n, "ns"),
}
NOON_IN_HUNDREDS = int(np.datetime64("2026-03-01T12", "ns").astype(int)) // 100


@pytest.mark.parametrize("form", FINE)
def test_dates_that_floats_cannot_tell_apart_are_refused(form):
    """Since 1970 the float of a date is a multiple of 0.24 microseconds."""
    date = FINE[form]
    opt = RandomSearch(BOX, random_state=0)
    for n in (0, 500, 1700):
        x = opt.ask(date(n))
        opt.tell(x, 1.0, date(n))
        opt.tell(x, 1.0, date(n))  # the same date again
    before = opt.told_X_
    assert len(np.unique(before[:, -1])) == 3
    noon = NOON.timestamp()
    closer = next(n for n in (1600, 1800) if noon + n * 1e-9 == noon + 1700 * 1e-9)
    with pytest.raises(InvalidObservationError, match=r"equal or at least 0\.5 microseconds"):
        opt.tell([0.5, 0.0], 1.0, date(closer))
    with pytest.raises(InvalidObservationError, match=r"equal or at least 0\.5 microseconds"):
        opt.tell_many([[0.5, 0.0]] * 9, np.zeros(9), [date(n) for n in range(1700, 2600, 100)])
    assert_array_equal(opt.told_X_, before)
