import re
import sys

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from sktvbo.datasets import (
    load_intel_temperature,
    load_irish_wind,
    load_la_traffic,
    load_ny_ozone,
    load_sp500,
)
from sktvbo.exceptions import InvalidObservationError, MissingDataError, MissingExtraError

FILE = "intel_lab_temperature.npz"
OZONE_FILE = "ny_state_ozone_2020.npz"
SUMMER_FILE = "ny_ozone_summer2006.npz"
TRAFFIC_FILE = "metr_la_speed_week1.npz"
WIND_FILE = "irish_wind.npz"
STOCKS_FILE = "sp500_subset_close.npz"


def real(load):
    """The real data, for the test to be skipped when they are not at hand."""
    try:
        return load()
    except MissingDataError as exc:
        pytest.skip(str(exc))


@pytest.fixture
def arrays():
    """Made-up arrays of the right form."""
    rng = np.random.RandomState(0)
    return {
        "temperature_c": rng.normal(20.0, 2.0, size=(1152, 46)).astype(np.float32),
        "t_s": np.arange(1152, dtype=np.int32) * 600,
        "xy_m": rng.uniform(0.0, 40.0, size=(46, 2)).astype(np.float32),
        "sensor_id": np.arange(1, 47, dtype=np.int16),
        "fill_code": np.zeros((1152, 46), dtype=np.uint8),
    }


@pytest.fixture
def write(tmp_path, arrays):
    def write(**changes):
        content = {k: v for k, v in {**arrays, **changes}.items() if v is not None}
        np.savez_compressed(tmp_path / FILE, **content)
        return tmp_path

    return write


@pytest.fixture
def ozone_arrays():
    """Made-up arrays of the right form."""
    rng = np.random.RandomState(0)
    date = np.datetime64("2020-01-01") + np.arange(338)
    return {
        "ozone_ppb": rng.randint(1, 84, size=(338, 25)).astype(np.float32),
        "date": date.astype("U10"),
        "xy_km": rng.uniform(-300.0, 300.0, size=(25, 2)).astype(np.float32),
        "lat_deg": rng.uniform(40.0, 45.0, size=25),
        "lon_deg": rng.uniform(-79.0, -72.0, size=25),
        "site_id": 360010000 + np.arange(25),
        "site_name": np.array([f"SITE {i}" for i in range(25)]),
        "imputed": rng.uniform(size=(338, 25)) < 0.02,
    }


@pytest.fixture
def write_ozone(tmp_path, ozone_arrays):
    def write(**changes):
        content = {k: v for k, v in {**ozone_arrays, **changes}.items() if v is not None}
        np.savez_compressed(tmp_path / OZONE_FILE, **content)
        return tmp_path

    return write


def load_summer(**options):
    return load_ny_ozone(version="summer2006", **options)


def _made_up(name):
    """Made-up arrays of the right form, of the other files."""
    rng = np.random.RandomState(0)

    def days(first, n):
        return (np.datetime64(first) + np.arange(n)).astype("U10")

    def places(m):
        return {
            "xy_km": rng.uniform(-300.0, 300.0, size=(m, 2)).astype(np.float32),
            "lat_deg": rng.uniform(40.0, 45.0, size=m),
            "lon_deg": rng.uniform(-79.0, -72.0, size=m),
        }

    def names(m):
        return np.array([f"S{i}" for i in range(m)])

    def readings(*shape):
        return rng.uniform(1.0, 70.0, size=shape).astype(np.float32)

    if name == SUMMER_FILE:
        return places(28) | {
            "ozone_ppb": readings(62, 28),
            "date": days("2006-07-01", 62),
            "site_index": np.arange(1, 29, dtype=np.int16),
            "imputed": rng.uniform(size=(62, 28)) < 0.02,
        }
    if name == TRAFFIC_FILE:
        return places(207) | {
            "speed_mph": readings(2016, 207),
            "t_s": np.arange(2016, dtype=np.int32) * 300,
            "sensor_id": np.arange(207, dtype=np.int32),
            "suspected_filled": rng.uniform(size=(2016, 207)) < 0.02,
        }
    if name == WIND_FILE:
        return places(12) | {
            "wind_knots": readings(6574, 12),
            "date": days("1961-01-01", 6574),
            "station": names(12),
            "station_name": names(12),
        }
    return {
        "close_usd": readings(1259, 94),
        "date": days("2013-02-08", 1259),
        "ticker": names(94),
        "idx48": rng.permutation(94)[:48].astype(np.int16),
        "last823_start": np.int16(436),
    }


@pytest.fixture
def write_other(tmp_path):
    def write(name, **changes):
        content = {k: v for k, v in {**_made_up(name), **changes}.items() if v is not None}
        np.savez(tmp_path / name, **content)
        return tmp_path

    return write


OTHERS = {
    "summer": (load_summer, SUMMER_FILE),
    "traffic": (load_la_traffic, TRAFFIC_FILE),
    "wind": (load_irish_wind, WIND_FILE),
    "stocks": (load_sp500, STOCKS_FILE),
}
others = pytest.mark.parametrize(("load", "file"), OTHERS.values(), ids=OTHERS.keys())


@pytest.fixture(params=["intel", "ozone", *OTHERS])
def either(request):
    """Loader, name of the file, function that writes a made-up one."""
    if request.param == "intel":
        return load_intel_temperature, FILE, request.getfixturevalue("write")
    if request.param == "ozone":
        return load_ny_ozone, OZONE_FILE, request.getfixturevalue("write_ozone")
    load, file = OTHERS[request.param]
    write = request.getfixturevalue("write_other")
    return load, file, lambda: write(file)


def test_the_real_file():
    data = real(load_intel_temperature)
    assert data.temperature.shape == (1152, 46)
    assert data.temperature.dtype == np.float64
    assert 10.0 < data.temperature.min() < data.temperature.max() < 40.0
    assert_array_equal(data.t, np.arange(1152) * 600.0)
    assert data.xy.shape == (46, 2)
    assert data.sensor_id.shape == (46,)
    assert np.mean(data.fill_code > 0) == pytest.approx(0.0101, abs=1e-3)
    assert data.frame is None
    assert "Intel Lab Data" in data.DESCR


def test_the_real_ozone_file():
    data = real(load_ny_ozone)
    assert data.ozone.shape == data.imputed.shape == (338, 25)
    assert data.ozone.dtype == np.float64
    assert (data.ozone.min(), data.ozone.max()) == (1.0, 83.0)
    assert_array_equal(data.date[[0, -1]], np.array(["2020-01-01", "2020-12-03"], "datetime64[D]"))
    assert_array_equal(data.t, np.arange(338.0))
    assert data.xy.shape == (25, 2)
    assert "ROCHESTER 2" in data.site_name
    assert len(set(data.site_id)) == 25
    assert np.mean(data.imputed) == pytest.approx(0.023, abs=1e-3)
    # The projection is local: a degree of latitude is 111 km.
    assert np.ptp(data.xy[:, 1]) == pytest.approx(111.2 * np.ptp(data.lat_deg), rel=0.01)
    assert data.frame is None
    assert "US EPA AirData" in data.DESCR


def test_the_real_ozone_of_2006():
    data = real(load_summer)
    assert data.ozone.shape == data.imputed.shape == (62, 28)
    assert data.ozone.dtype == np.float64
    assert_array_equal(data.date[[0, -1]], np.array(["2006-07-01", "2006-08-31"], "datetime64[D]"))
    assert_array_equal(data.site_id, np.arange(1, 29))
    assert data.site_name is None
    assert np.mean(data.imputed) == pytest.approx(0.014, abs=1e-3)
    assert "28 sites" in data.DESCR


def test_the_real_traffic():
    data = real(load_la_traffic)
    assert data.speed.shape == data.suspected_filled.shape == (2016, 207)
    assert data.speed.dtype == np.float64
    assert (data.speed.min(), data.speed.max()) == (1.0, 70.0)
    assert_array_equal(data.t, np.arange(2016) * 300.0)
    assert len(set(data.sensor_id)) == 207
    assert np.ptp(data.xy[:, 1]) == pytest.approx(111.2 * np.ptp(data.lat_deg), rel=0.01)
    # The rush hours of working days, and of no other.
    hour, day = data.t % 86400 / 3600, data.t // 86400
    morning = [data.speed[(day == k) & (hour >= 7) & (hour < 9)].mean() for k in range(7)]
    assert set(np.flatnonzero(np.array(morning) > 60.0)) == {2, 3}
    assert "METR-LA" in data.DESCR


def test_the_real_wind():
    data = real(load_irish_wind)
    assert data.wind.shape == (6574, 12)
    assert data.wind.dtype == np.float64
    assert_array_equal(data.wind[0, :3], np.float32([15.04, 14.96, 13.17]))
    assert_array_equal(data.date[[0, -1]], np.array(["1961-01-01", "1978-12-31"], "datetime64[D]"))
    assert_array_equal(data.t, np.arange(6574.0))
    assert data.station_name[list(data.station).index("VAL")] == "Valentia"
    assert np.ptp(data.xy[:, 1]) == pytest.approx(111.2 * np.ptp(data.lat_deg), rel=0.01)
    assert "Haslett" in data.DESCR


def test_the_real_stocks():
    data = real(load_sp500)
    assert data.close.shape == (1259, 94)
    assert data.close.dtype == np.float64
    assert_array_equal(data.date[[0, -1]], np.array(["2013-02-08", "2018-02-07"], "datetime64[D]"))
    assert (data.t[0], data.t[-1]) == (0.0, 1825.0)
    assert set(np.diff(data.t)) == {1.0, 2.0, 3.0, 4.0}
    assert data.ticker[data.largest[0]] == "AAPL"
    assert len(data.close[data.last823 :]) == 823
    assert "kaggle.com" in data.DESCR


def test_others_are_returned_as_stored(write_other):
    renamed = {
        "ozone": "ozone_ppb",
        "speed": "speed_mph",
        "wind": "wind_knots",
        "close": "close_usd",
        "site_id": "site_index",
        "xy": "xy_km",
        "largest": "idx48",
        "last823": "last823_start",
    }
    ours = {stored: name for name, stored in renamed.items()}
    for load, file in OTHERS.values():
        data = load(data_dir=write_other(file))
        for stored, array in _made_up(file).items():
            value = np.asarray(data["t" if stored == "t_s" else ours.get(stored, stored)])
            assert_array_equal(value.astype(array.dtype), array)


@pytest.mark.parametrize(
    ("name", "values", "index", "columns"),
    [
        ("traffic", "speed", "t", "sensor_id"),
        ("wind", "wind", "date", "station"),
        ("stocks", "close", "date", "ticker"),
    ],
)
def test_others_as_frame(write_other, name, values, index, columns):
    pytest.importorskip("pandas")
    load, file = OTHERS[name]
    data = load(data_dir=write_other(file), as_frame=True)
    assert_array_equal(data.frame.to_numpy(), data[values])
    assert_array_equal(data.frame.index.to_numpy().astype(data[index].dtype), data[index])
    assert_array_equal(data.frame.columns, data[columns])


def test_summer_as_frame(write_other):
    pytest.importorskip("pandas")
    data = load_summer(data_dir=write_other(SUMMER_FILE), as_frame=True)
    assert len(data.frame) == 62 * 28
    assert data.frame.ozone_ppb[28 + 3] == data.ozone[1, 3]


def test_unknown_version_of_the_ozone():
    with pytest.raises(
        ValueError, match=r"version must be '2020' or 'summer2006'\. Got 2006 instead"
    ):
        load_ny_ozone(version=2006)


def test_ozone_is_returned_as_stored(write_ozone, ozone_arrays):
    data = load_ny_ozone(data_dir=write_ozone())
    for ours, stored in [("ozone", "ozone_ppb"), ("xy", "xy_km"), ("date", "date")]:
        assert_array_equal(data[ours].astype(ozone_arrays[stored].dtype), ozone_arrays[stored])
    for name in ("lat_deg", "lon_deg", "site_id", "site_name", "imputed"):
        assert_array_equal(data[name], ozone_arrays[name])


def test_ozone_as_frame(write_ozone):
    pytest.importorskip("pandas")
    data = load_ny_ozone(data_dir=write_ozone(), as_frame=True)
    frame = data.frame
    assert list(frame.columns) == ["date", "day", "x_km", "y_km", "ozone_ppb"]
    assert len(frame) == 338 * 25
    row = frame.iloc[7 * 25 + 3]  # the eighth day, the fourth site
    assert row.date == data.date[7]
    assert row.day == data.t[7] == 7.0
    assert_array_equal([row.x_km, row.y_km], data.xy[3])
    assert row.ozone_ppb == data.ozone[7, 3]
    assert frame.date.dtype.kind == "M"
    assert frame.day.is_monotonic_increasing


def test_arrays_are_returned_as_stored(write, arrays):
    data = load_intel_temperature(data_dir=write())
    assert_array_equal(data.temperature, arrays["temperature_c"])
    assert_array_equal(data.xy, arrays["xy_m"])
    assert_array_equal(data.sensor_id, arrays["sensor_id"])
    assert_array_equal(data.fill_code, arrays["fill_code"])


def test_as_frame(write):
    pytest.importorskip("pandas")
    data = load_intel_temperature(data_dir=str(write()), as_frame=True)
    assert_array_equal(data.frame.to_numpy(), data.temperature)
    assert_array_equal(data.frame.index, data.t)
    assert_array_equal(data.frame.columns, data.sensor_id)


def test_every_column_is_described(either):
    load, _, write = either
    data = load(data_dir=write())
    described = set()
    for names in re.findall(r"^(\w.*) : ", data.DESCR, flags=re.MULTILINE):
        described |= set(names.split(", "))
    assert described == set(data) - {"DESCR"}
    largest = max((v for v in data.values() if v is not data.DESCR), key=np.size)
    assert str(largest.shape) in data.DESCR


def test_as_frame_without_pandas_names_the_extra(either, monkeypatch):
    load, _, write = either
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingExtraError, match=r"sktvbo\[frames\]"):
        load(data_dir=write(), as_frame=True)


# -- where it looks -----------------------------------------------------------------------------


def test_environment_names_the_folder_and_data_dir_wins(write, monkeypatch, tmp_path_factory):
    folder = write()
    monkeypatch.setenv("SKTVBO_DATA", str(folder))
    assert load_intel_temperature().temperature.shape == (1152, 46)
    with pytest.raises(MissingDataError, match="empty"):
        load_intel_temperature(data_dir=tmp_path_factory.mktemp("empty"))


def test_missing_file_says_what_to_do(monkeypatch, tmp_path):
    monkeypatch.setenv("SKTVBO_DATA", str(tmp_path))
    with pytest.raises(MissingDataError) as info:
        load_intel_temperature()
    for part in (
        FILE,
        str(tmp_path),
        "MIT CSAIL",
        "db.csail.mit.edu",
        "SKTVBO_DATA",
        "temperature_c (1152, 46)",
    ):
        assert part in str(info.value)
    assert isinstance(info.value, FileNotFoundError)


def test_missing_ozone_says_what_to_do(monkeypatch, tmp_path):
    monkeypatch.setenv("SKTVBO_DATA", str(tmp_path))
    with pytest.raises(MissingDataError) as info:
        load_ny_ozone()
    for part in (
        OZONE_FILE,
        str(tmp_path),
        "US EPA AirData",
        "daily maximum 8-hour ozone",
        "aqs.epa.gov/aqsweb/airdata/download_files.html",
        "SKTVBO_DATA",
        "ozone_ppb (338, 25)",
    ):
        assert part in str(info.value)


@others
def test_other_missing_files_say_what_to_do(load, file, monkeypatch, tmp_path):
    monkeypatch.setenv("SKTVBO_DATA", str(tmp_path))
    parts = {
        SUMMER_FILE: ["spTimer", "Fill the gaps", "site_index (28,)"],
        TRAFFIC_FILE: ["METR-LA", "7 days from 2012-03-01", "speed_mph (2016, 207)"],
        WIND_FILE: ["R package gstat", "wind_knots (6574, 12)"],
        STOCKS_FILE: ["C. Nugent", "94 without a missing day", "idx48 (48,)"],
    }
    with pytest.raises(MissingDataError) as info:
        load()
    for part in (file, str(tmp_path), "SKTVBO_DATA", *parts[file]):
        assert part in str(info.value)


# -- damaged files ------------------------------------------------------------------------------


def _truncate(path):
    path.write_bytes(path.read_bytes()[:-2000])


def _flip(path):
    content = bytearray(path.read_bytes())
    content[5000:5100] = bytes(100)
    path.write_bytes(bytes(content))


def _garbage(path):
    path.write_bytes(b"not an archive")


def _empty(path):
    path.write_bytes(b"")


def _single_array(path):
    with path.open("wb") as file:
        np.save(file, np.zeros(3))


@pytest.mark.parametrize("damage", [_truncate, _flip, _garbage, _empty, _single_array])
def test_damaged_bytes(either, damage):
    load, file, write = either
    folder = write()
    damage(folder / file)
    with pytest.raises(InvalidObservationError, match=rf"{file} is damaged"):
        load(data_dir=folder)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"xy_m": None, "t_s": None}, "missing t_s, xy_m"),
        ({"temperature_c": np.zeros((1152, 45))}, r"shape \(1152, 46\)\. Got \(1152, 45\)"),
        ({"temperature_c": np.full((1152, 46), np.nan)}, r"finite\. Got 52992 NaN"),
        ({"sensor_id": np.array(["a"] * 46)}, r"sensor_id must be numeric\. Got dtype <U1"),
        ({"xy_m": np.full((46, 2), None)}, "xy_m cannot be read"),
        ({"t_s": np.zeros(1152)}, r"steps of 600 s\. Got 0.0 after 0.0 instead"),
    ],
)
def test_damaged_content(write, changes, message):
    with pytest.raises(InvalidObservationError, match=message):
        load_intel_temperature(data_dir=write(**changes))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"date": None, "xy_km": None}, "missing date, xy_km"),
        ({"ozone_ppb": np.zeros((338, 24))}, r"shape \(338, 25\)\. Got \(338, 24\)"),
        ({"ozone_ppb": np.full((338, 25), np.inf)}, r"finite\. Got 8450 NaN"),
        ({"date": np.arange(338)}, "date must be text"),
        ({"date": np.array(["monday"] * 338)}, "date must be given as YYYY-MM-DD"),
        ({"date": np.array(["2020-01-01"] * 338)}, "one day. Got 2020-01-01 after 2020-01-01"),
        ({"imputed": np.zeros((338, 25))}, "imputed must be bool"),
        ({"site_name": np.full(25, None)}, "site_name cannot be read"),
    ],
)
def test_damaged_ozone_content(write_ozone, changes, message):
    with pytest.raises(InvalidObservationError, match=message):
        load_ny_ozone(data_dir=write_ozone(**changes))


@pytest.mark.parametrize(
    ("name", "changes", "message"),
    [
        ("summer", {"site_index": None}, "missing site_index"),
        ("summer", {"date": np.array(["2006-07-01"] * 62)}, "steps of one day"),
        ("traffic", {"t_s": np.arange(2016)}, "steps of 300 s"),
        ("traffic", {"speed_mph": np.full((2016, 207), np.nan)}, r"finite\. Got 417312 NaN"),
        ("traffic", {"suspected_filled": np.zeros((2016, 207))}, "suspected_filled must be bool"),
        ("wind", {"wind_knots": np.zeros((6574, 11))}, r"shape \(6574, 12\)\. Got \(6574, 11\)"),
        ("wind", {"date": np.array(["monday"] * 6574)}, "date must be given as YYYY-MM-DD"),
        (
            "wind",
            {"date": (np.datetime64("1961-01-01") + 2 * np.arange(6574)).astype("U10")},
            "one day",
        ),
        ("wind", {"station": np.arange(12)}, "station must be text"),
        ("stocks", {"date": np.array(["2013-02-08"] * 1259)}, "increasing order"),
        ("stocks", {"idx48": np.zeros(48)}, "distinct columns from 0 to 93"),
        ("stocks", {"idx48": np.arange(48) + 47}, "distinct columns"),
        ("stocks", {"last823_start": np.int16(437)}, r"last823_start must be 436\. Got 437"),
        ("stocks", {"last823_start": np.zeros(1)}, r"shape \(\)\. Got \(1,\)"),
    ],
)
def test_damaged_content_of_the_others(write_other, name, changes, message):
    load, file = OTHERS[name]
    with pytest.raises(InvalidObservationError, match=message):
        load(data_dir=write_other(file, **changes))
