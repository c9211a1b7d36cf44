"""Dates wherever times are: the time since 1970 in the user's unit."""

from datetime import UTC, datetime, timedelta, timezone

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from optimizers.cases import BOX

from sktvbo import GPUCB, WDBO, RandomSearch, SparQGPUCB
from sktvbo.exceptions import InvalidObservationError

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
HOURS = NOON.timestamp() / 3600.0

FORMS = {
    "datetime": lambda h: NOON + timedelta(hours=h),
    "naive": lambda h: (NOON + timedelta(hours=h)).replace(tzinfo=None),
    "zoned": lambda h: (NOON + timedelta(hours=h)).astimezone(timezone(timedelta(hours=-7))),
    "numpy": lambda h: np.datetime64("2026-03-01T12:00:00.000000") + np.timedelta64(h, "h"),
    "hours": lambda h: np.datetime64("2026-03-01T12", "h") + np.timedelta64(h, "h"),
    "pandas": lambda h: pytest.importorskip("pandas").Timestamp(NOON) + timedelta(hours=h),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_call_takes_dates(form):
    date = FORMS[form]
    opt = GPUCB(BOX, time_unit="h", n_initial_points=3, random_state=0)
    twin = GPUCB(BOX, n_initial_points=3, random_state=0)
    for h in range(6):
        x = opt.ask(date(h))
        assert_array_equal(x, twin.ask(HOURS + h))
        opt.tell(x, float(h % 3)), twin.tell(x, float(h % 3))
    opt.announce([1.0, 0.0], date(6)), twin.announce([1.0, 0.0], HOURS + 6)
    opt.tell([1.0, 0.0], 1.0, date(7)), twin.tell([1.0, 0.0], 1.0, HOURS + 7)
    X, y = [[0.5, 0.0], [0.6, 0.0]], [1.0, 2.0]
    opt.tell_many(X, y, [date(8), date(9)])
    twin.tell_many(X, y, [HOURS + 8, HOURS + 9])
    assert_array_equal(
        opt.predict(X, [date(9), date(10)]), twin.predict(X, [HOURS + 9, HOURS + 10])
    )
    assert opt.predict(X[0], date(9)) == twin.predict(X[0], HOURS + 9)
    assert_array_equal(opt.recommend(date(10)), twin.recommend(HOURS + 10))
    assert_array_equal(
        opt.recommend([date(10), date(11)]), twin.recommend([HOURS + 10, HOURS + 11])
    )
    opt.untell([0.6, 0.0], date(9))
    assert_array_equal(opt.told_X_, twin.told_X_[:-1])


def test_columns_of_dates():
    pd = pytest.importorskip("pandas")
    dates = pd.date_range("2026-03-01 12:00", periods=3, freq="h")
    for t in (dates, dates.tz_localize("UTC"), pd.Series(dates), dates.to_numpy()):
        opt = RandomSearch(BOX, time_unit="h")
        opt.tell_many([[0.5, 0.0]] * 3, [1.0, 2.0, 3.0], t)
        assert_array_equal(opt.told_X_[:, -1], HOURS + np.arange(3.0))


def test_the_clock_may_tell_dates():
    opt = RandomSearch(BOX, clock=lambda: NOON, time_unit="D", random_state=0)
    assert opt.now() == HOURS / 24.0
    assert opt.ask(return_query=True).t == HOURS / 24.0


def test_an_expert_answers_at_dates():
    opt = SparQGPUCB(BOX, n_initial_points=2, random_state=0)
    for s in range(3):
        opt.tell(opt.ask(NOON + timedelta(seconds=s)), 1.0)
    places = opt.ask_expert(NOON + timedelta(seconds=4))
    opt.tell_expert(places, np.zeros(len(places)), NOON + timedelta(seconds=5))
    assert (opt.expert_X_[:, -1] == NOON.timestamp() + 5.0).all()


@pytest.mark.parametrize("unit", ["ns", "us", "ms", "s", "min", "h", "D", "W"])
def test_units(unit):
    opt = RandomSearch(BOX, time_unit=unit, random_state=0)
    opt.ask(NOON), opt.ask(NOON + timedelta(weeks=1))
    week = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1, "min": 60, "h": 3600, "D": 86400}
    expected = 604800.0 / week.get(unit, 604800.0)
    assert np.diff(opt.pending_X_[:, -1])[0] == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("bad", [np.datetime64("NaT"), "2026-03-01", timedelta(1), NOON.date()])
def test_what_is_no_date_is_refused(bad):
    opt = WDBO(BOX, random_state=0)
    with pytest.raises(InvalidObservationError, match="t must be"):
        opt.ask(bad)
    with pytest.raises(InvalidObservationError, match="t must be"):
        opt.tell_many([[0.5, 0.0]], [1.0], [bad])
    assert not hasattr(opt, "n_told_")


def test_a_unit_that_is_none_is_refused():
    with pytest.raises(ValueError, match="'time_unit' parameter of WDBO must be 'ns', 'us'"):
        WDBO(BOX, time_unit="year").ask(0.0)
