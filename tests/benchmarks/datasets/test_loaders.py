import io
import re
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from datasets import (
    MissingDataError,
    _table,
    load_intel_temperature,
    load_irish_wind,
    load_la_traffic,
    load_ny_ozone,
    load_sp500,
)
from datasets._files import INTEL, OZONE, STOCKS, TRAFFIC, WIND
from numpy.testing import assert_array_equal

from sktvbo.exceptions import InvalidObservationError, MissingExtraError

DATASETS = {
    "intel": (load_intel_temperature, INTEL),
    "ozone": (load_ny_ozone, OZONE["2020"]),
    "summer": (partial(load_ny_ozone, version="summer2006"), OZONE["summer2006"]),
    "traffic": (load_la_traffic, TRAFFIC),
    "wind": (load_irish_wind, WIND),
    "stocks": (load_sp500, STOCKS),
}


# Arrays of the files, and what they are called in a Bunch.
VALUES = {"temperature_c": "temperature", "ozone_ppb": "ozone", "speed_mph": "speed"}
VALUES |= {"wind_knots": "wind", "close_usd": "close"}


def days_of(first, n):
    return (np.datetime64(first) + n).astype("U10")


def synthetic(table):
    """Return random arrays that satisfy the rules of a table."""
    rng, arrays = np.random.RandomState(0), {}
    for name, shape in table.shapes.items():
        kind = table.kinds.get(name)
        if name == "date":
            array = days_of("2006-07-01", np.arange(*shape))
        elif name == "t_s":
            array = np.arange(*shape, dtype=np.int32) * (600 if table is INTEL else 300)
        elif name == "idx48":
            array = rng.permutation(94)[:48].astype(np.int16)
        elif name == "last823_start":
            array = np.int16(436)
        elif kind == "U":
            array = np.array([f"S{i}" for i in range(*shape)])
        elif kind == "b":
            array = rng.uniform(size=shape) < 0.02
        else:
            array = rng.uniform(1.0, 70.0, size=shape).astype(np.float32)
        arrays[name] = array
    return arrays


@pytest.fixture
def write(tmp_path):
    def write(table, **changes):
        arrays = synthetic(table) | changes
        arrays = {name: array for name, array in arrays.items() if array is not None}
        np.savez(tmp_path / table.file, **arrays)
        return tmp_path

    return write


each_dataset = pytest.mark.parametrize(("load", "table"), DATASETS.values(), ids=DATASETS.keys())


# --- the real data --------------------------------------------------------------------------------


@each_dataset
def test_real_data(load, table):
    try:
        data = load()
    except MissingDataError as exc:
        pytest.skip(str(exc))
    stored, *_ = table.shapes
    name = VALUES[stored]
    assert data[name].shape == table.shapes[stored]
    assert data[name].dtype == data.t.dtype == np.float64
    assert (data[name] >= 0.0).all()
    assert data.frame is None
    if "lat_deg" in data:
        # The projection is local: a degree of latitude is 111 km.
        assert np.ptp(data.xy[:, 1]) == pytest.approx(111.2 * np.ptp(data.lat_deg), rel=0.01)


# --- contents -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "values", "index", "columns"),
    [
        ("intel", "temperature", "t", "sensor_id"),
        ("traffic", "speed", "t", "sensor_id"),
        ("wind", "wind", "date", "station"),
        ("stocks", "close", "date", "ticker"),
    ],
)
def test_as_frame(write, name, values, index, columns, monkeypatch):
    pytest.importorskip("pandas")
    load, table = DATASETS[name]
    data = load(data_dir=str(write(table)), as_frame=True)
    assert_array_equal(data.frame.to_numpy(), data[values])
    assert_array_equal(data.frame.index.to_numpy().astype(data[index].dtype), data[index])
    assert_array_equal(data.frame.columns, data[columns])
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingExtraError, match=r"sktvbo\[frames\]"):
        load(data_dir=write(table), as_frame=True)


@each_dataset
def test_every_column_is_described(write, load, table):
    data = load(data_dir=write(table))
    described = set()
    for names in re.findall(r"^(\w.*) : ", data.DESCR, flags=re.MULTILINE):
        described |= set(names.split(", "))
    assert described == set(data) - {"DESCR"}
    largest = max((v for v in data.values() if v is not data.DESCR), key=np.size)
    assert str(largest.shape) in data.DESCR


# --- missing files --------------------------------------------------------------------------------


def test_folder_beside_the_repository_is_the_last_resort(monkeypatch, tmp_path):
    monkeypatch.delenv("SKTVBO_DATA", raising=False)
    module = tmp_path.joinpath("repository", *Path(_table.__file__).parts[-4:])
    monkeypatch.setattr(_table, "__file__", str(module))
    with pytest.raises(MissingDataError, match="no data folder is set"):
        load_irish_wind()
    (tmp_path / "shared" / "data").mkdir(parents=True)
    with pytest.raises(MissingDataError, match=r"it is not in .*/shared/data"):
        load_irish_wind()


def test_data_dir_precedes_the_environment(write, monkeypatch, tmp_path_factory):
    monkeypatch.setenv("SKTVBO_DATA", str(write(INTEL)))
    assert load_intel_temperature().temperature.shape == (1152, 46)
    with pytest.raises(MissingDataError, match="empty"):
        load_intel_temperature(data_dir=tmp_path_factory.mktemp("empty"))


@each_dataset
def test_the_error_of_a_missing_file_says_how_to_get_it(load, table, monkeypatch, tmp_path):
    """The source, and the arrays with their shapes."""
    monkeypatch.setenv("SKTVBO_DATA", str(tmp_path))
    with pytest.raises(MissingDataError) as info:
        load()
    shapes = [f"{name} {shape}" for name, shape in table.shapes.items()]
    for part in (table.file, table.original, table.rule, *shapes):
        assert part in str(info.value)
    assert isinstance(info.value, FileNotFoundError)


# --- damaged files --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "changes", "message"),
    [
        ("intel", {"t_s": np.zeros(1152)}, r"steps of 600 s\. Got 0.0 after 0.0 instead"),
        ("ozone", {"date": np.array(["monday"] * 338)}, "date must be given as YYYY-MM-DD"),
        ("ozone", {"imputed": np.zeros((338, 25))}, "imputed must be bool"),
        ("wind", {"date": days_of("1961-01-01", 2 * np.arange(6574))}, "one day"),
        ("stocks", {"date": np.array(["2013-02-08"] * 1259)}, "increasing order"),
        ("stocks", {"idx48": np.zeros(48)}, "distinct columns from 0 to 93"),
        ("stocks", {"last823_start": np.int16(437)}, r"last823_start must be 436\. Got 437"),
        ("stocks", {"close_usd": np.zeros((2, 3))}, r"be of shape \(1259, 94\)\. Got \(2, 3\)"),
        ("stocks", {"close_usd": np.full((1259, 94), np.nan)}, "finite. Got 118346 NaN or inf"),
        ("stocks", {"close_usd": np.full((1259, 94), None)}, "not a readable NumPy archive"),
        ("stocks", {"date": None}, r"the arrays close_usd, .*\. Of these, missing date"),
    ],
)
def test_damaged_contents(write, name, changes, message):
    load, table = DATASETS[name]
    with pytest.raises(InvalidObservationError, match=rf"{table.file} is damaged: .*{message}"):
        load(data_dir=write(table, **changes))


def single_array(_):
    file = io.BytesIO()
    np.save(file, np.zeros(3))
    return file.getvalue()


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: content[:-300],
        lambda content: content[:70] + bytes(60) + content[130:],
        lambda _: b"",
        single_array,
    ],
    ids=["truncated", "zeroed", "empty", "array"],
)
def test_damaged_bytes(write, damage):
    what = r"single array|not a readable NumPy archive"
    path = write(STOCKS) / STOCKS.file
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(InvalidObservationError, match=rf"{STOCKS.file} is damaged: .*{what}"):
        load_sp500(data_dir=path.parent)
