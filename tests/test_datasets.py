import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from sktvbo import datasets
from sktvbo.datasets import load_intel_temperature
from sktvbo.exceptions import InvalidObservationError, MissingDataError, MissingExtraError

FILE = "intel_lab_temperature.npz"


@pytest.fixture
def intel_file():
    folder = datasets._data_folder(None)
    if folder is None or not (folder / FILE).is_file():
        pytest.skip(f"{FILE} is not at hand: set SKTVBO_DATA")
    return folder / FILE


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


def test_as_frame_without_pandas_names_the_extra(write, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingExtraError, match=r"sktvbo\[frames\]"):
        load_intel_temperature(data_dir=write(), as_frame=True)


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
def test_damaged_bytes(write, damage):
    folder = write()
    damage(folder / FILE)
    with pytest.raises(InvalidObservationError, match=rf"{FILE} is damaged"):
        load_intel_temperature(data_dir=folder)


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


def test_description_has_no_local_path():
    assert str(Path.home()) not in datasets._INTEL_DESCR
