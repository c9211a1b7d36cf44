import io
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest
from datasets import _table
from datasets._files import INTEL, OZONE, STOCKS, TRAFFIC, WIND
from datasets._table import MissingDataError, Table, data_folder
from numpy.testing import assert_array_equal

from sktvbo.exceptions import InvalidObservationError

TABLES = [INTEL, *OZONE.values(), TRAFFIC, WIND, STOCKS]
SMALL = Table(
    file="small.npz",
    shapes={"a": (3, 2), "flag": ()},
    kinds={"flag": "b"},
    original="a lab's web page",
    rule="Add one to all numbers.",
    descr="",
)


def write(folder, **changes):
    arrays = {"a": np.arange(6).reshape(3, 2), "flag": np.array(True), "unused": np.zeros(2)}
    np.savez(folder / SMALL.file, **(arrays | changes))
    return folder


# --- lookup ---------------------------------------------------------------------------------------


def test_folder_beside_the_repository_is_the_last_resort(monkeypatch, tmp_path):
    monkeypatch.delenv("SKTVBO_DATA", raising=False)
    module = tmp_path.joinpath("repository", *Path(_table.__file__).parts[-4:])
    assert module == tmp_path / "repository/benchmarks/papers/datasets/_table.py"
    monkeypatch.setattr(_table, "__file__", str(module))
    assert data_folder(None) is None
    (tmp_path / "shared" / "data").mkdir(parents=True)
    assert data_folder(None) == (tmp_path / "shared" / "data").resolve()
    monkeypatch.setenv("SKTVBO_DATA", "elsewhere")
    assert data_folder(None) == Path("elsewhere")
    assert data_folder("here") == Path("here")


def test_missing_file_says_how_to_make_it(tmp_path):
    with pytest.raises(MissingDataError) as info:
        SMALL.find(tmp_path)
    assert str(info.value) == (
        f"The data file small.npz was not found: it is not in {tmp_path}. The original is a lab's "
        "web page. Add one to all numbers. Store it as a NumPy archive called small.npz with the "
        "arrays a (3, 2), flag (), and set the environment variable SKTVBO_DATA (or data_dir) "
        "to its folder."
    )


# --- reading --------------------------------------------------------------------------------------


def test_the_declared_arrays_are_read(tmp_path):
    path, arrays = SMALL.load(write(tmp_path))
    assert path == tmp_path / "small.npz"
    assert list(arrays) == ["a", "flag"]
    assert_array_equal(arrays["a"], np.arange(6).reshape(3, 2))
    assert arrays["flag"].dtype == bool


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"a": np.zeros((2, 3))}, r"a must be of shape \(3, 2\)\. Got \(2, 3\) instead\."),
        ({"a": np.zeros(2)}, r"Got \(2,\) instead"),
        ({"a": np.full((3, 2), "x")}, "a must be numeric. Got dtype <U1 instead"),
        ({"a": np.diag([np.nan, 1.0, 2.0])[:, :2]}, "a must be finite. Got 1 NaN or infinity"),
        ({"a": np.full((3, 2), None)}, "not a readable NumPy archive"),
        ({"flag": np.array(1)}, "flag must be bool. Got dtype int"),
        ({"flag": np.ones(1, dtype=bool)}, r"flag must be of shape \(\)\. Got \(1,\)"),
    ],
)
def test_wrong_arrays_are_named(tmp_path, changes, message):
    folder = write(tmp_path, **changes)
    with pytest.raises(InvalidObservationError, match=rf"small.npz is damaged: .*{message}"):
        SMALL.load(folder)


def test_a_missing_array_is_named(tmp_path):
    np.savez(tmp_path / SMALL.file, a=np.zeros((3, 2)))
    with pytest.raises(InvalidObservationError, match=r"the arrays a, flag\. .* missing flag"):
        SMALL.load(tmp_path)


@pytest.mark.parametrize(
    ("damage", "what"),
    [
        (lambda content: content[:-300], "not a readable NumPy archive"),
        (lambda content: content[:70] + bytes(60) + content[130:], "not a readable NumPy archive"),
        (lambda _: b"not an archive", "not a readable NumPy archive"),
        (lambda _: b"", "not a readable NumPy archive"),
        (lambda _: array_file(), r"single array \(\.npy\)"),
    ],
    ids=["truncated", "zeroed", "garbage", "empty", "array"],
)
def test_damaged_bytes(tmp_path, damage, what):
    path = write(tmp_path) / SMALL.file
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(InvalidObservationError, match=rf"small.npz is damaged: .*{what}"):
        SMALL.load(tmp_path)


def array_file():
    """Return the bytes of a single array."""
    file = io.BytesIO()
    np.save(file, np.zeros(3))
    return file.getvalue()


# --- descriptions ---------------------------------------------------------------------------------


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.descr)
def test_descriptions_come_with_the_package(table):
    text = files("datasets").joinpath("descr", table.descr).read_text("utf-8")
    assert table.describe() == text
    title, rule, *_ = text.splitlines()
    assert rule == "=" * len(title)
    assert "Source:" in text
    assert str(Path.home()) not in text
