import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from sktvbo import datasets
from sktvbo.datasets import load_intel_temperature, load_ny_ozone
from sktvbo.exceptions import InvalidObservationError, MissingDataError, MissingExtraError

FILE = "intel_lab_temperature.npz"
OZONE_FILE = "ny_state_ozone_2020.npz"


def _real_file(name):
    folder = datasets._data_folder(None)
    if folder is None or not (folder / name).is_file():
        pytest.skip(f"{name} is not at hand: set SKTVBO_DATA")
    return folder / name


@pytest.fixture
def intel_file():
    return _real_file(FILE)


@pytest.fixture
def ozone_file():
    return _real_file(OZONE_FILE)


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


@pytest.fixture(params=["intel", "ozone"])
def either(request):
    """Loader, name of the file, function that writes a made-up one."""
    if request.param == "intel":
        return load_intel_temperature, FILE, request.getfixturevalue("write")
    return load_ny_ozone, OZONE_FILE, request.getfixturevalue("write_ozone")


def test_the_real_file(intel_file):
    data = load_intel_temperature()
    assert data.temperature.shape == (1152, 46)
    assert data.temperature.dtype == np.float64
    assert 10.0 < data.temperature.min() < data.temperature.max() < 40.0
    assert_array_equal(data.t, np.arange(1152) * 600.0)
    assert data.xy.shape == (46, 2)
    assert data.sensor_id.shape == (46,)
    assert np.mean(data.fill_code > 0) == pytest.approx(0.0101, abs=1e-3)
    assert data.frame is None
    assert "Intel Lab Data" in data.DESCR


def test_the_real_ozone_file(ozone_file):
    data = load_ny_ozone()
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


def test_folder_beside_the_repository_is_the_last_resort(monkeypatch, tmp_path):
    monkeypatch.delenv("SKTVBO_DATA", raising=False)
    module = tmp_path / "repository" / "sktvbo" / "datasets.py"
    monkeypatch.setattr(datasets, "__file__", str(module))
    assert datasets._data_folder(None) is None
    (tmp_path / "shared" / "data").mkdir(parents=True)
    assert datasets._data_folder(None) == (tmp_path / "shared" / "data").resolve()


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


def test_no_folder_at_all_is_said(monkeypatch, tmp_path):
    monkeypatch.delenv("SKTVBO_DATA", raising=False)
    monkeypatch.setattr(datasets, "__file__", str(tmp_path / "a" / "b" / "c.py"))
    with pytest.raises(MissingDataError, match="no data folder is set"):
        load_intel_temperature()


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
        ({"temperature_c": np.zeros((1152, 45))}, r"shape \(1152, 46\), got \(1152, 45\)"),
        ({"temperature_c": np.full((1152, 46), np.nan)}, "finite, got 52992 NaN"),
        ({"sensor_id": np.array(["a"] * 46)}, "sensor_id to be numeric"),
        ({"xy_m": np.full((46, 2), None)}, "xy_m cannot be read"),
        ({"t_s": np.zeros(1152)}, "steps of 600 s"),
    ],
)
def test_damaged_content(write, changes, message):
    with pytest.raises(InvalidObservationError, match=message):
        load_intel_temperature(data_dir=write(**changes))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"date": None, "xy_km": None}, "missing date, xy_km"),
        ({"ozone_ppb": np.zeros((338, 24))}, r"shape \(338, 25\), got \(338, 24\)"),
        ({"ozone_ppb": np.full((338, 25), np.inf)}, "finite, got 8450 NaN"),
        ({"date": np.arange(338)}, "date to be text"),
        ({"date": np.array(["monday"] * 338)}, "date as YYYY-MM-DD"),
        ({"date": np.array(["2020-01-01"] * 338)}, "steps of one day"),
        ({"imputed": np.zeros((338, 25))}, "imputed to be bool"),
        ({"site_name": np.full(25, None)}, "site_name cannot be read"),
    ],
)
def test_damaged_ozone_content(write_ozone, changes, message):
    with pytest.raises(InvalidObservationError, match=message):
        load_ny_ozone(data_dir=write_ozone(**changes))


@pytest.mark.parametrize("text", [datasets._INTEL_DESCR, datasets._OZONE_DESCR])
def test_description_has_no_local_path(text):
    assert str(Path.home()) not in text
