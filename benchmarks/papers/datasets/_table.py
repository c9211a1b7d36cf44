"""Data file: contents, source, lookup and reading."""

import contextlib
import errno
import os
import struct
import zipfile
import zlib
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path

import numpy as np

from sktvbo.exceptions import InvalidObservationError, MissingExtraError, SktvboError

_ENVIRONMENT = "SKTVBO_DATA"

# Errors that NumPy and zipfile raise for damaged files: ValueError for an unknown format,
# RuntimeError for a password, MemoryError for an absurd shape.
_UNREADABLE = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    MemoryError,
    NotImplementedError,
    OverflowError,
    RuntimeError,
    ValueError,
)

_NUMERIC = "iuf"
_KIND_NAMES = {_NUMERIC: "numeric", "U": "text", "b": "bool"}


class MissingDataError(SktvboError, FileNotFoundError):
    """A missing data set."""


@dataclass(frozen=True)
class Table:
    """NumPy archive of arrays.

    Parameters
    ----------
    file : str
        Its name.
    shapes : dict of str to tuple
        Names and shapes of its arrays.
    kinds : dict of str to str, default={}
        NumPy's codes of the arrays' kinds, "U" for text and "b" for bool; the others are numeric.
    original : str
        Source of the data.
    rule : str, default=""
        Sentence on how the file is made of the original.
    descr : str
        File of the folder ``descr`` with its description.
    """

    file: str
    shapes: dict
    original: str
    descr: str
    rule: str = ""
    kinds: dict = field(default_factory=dict)

    def load(self, data_dir):
        """Return path and checked arrays of the file."""
        path = self.find(data_dir)
        return path, self.read(path)

    def find(self, data_dir):
        """Return the path of the file; a MissingDataError says how to get it."""
        folder = data_folder(data_dir)
        if folder is not None and (folder / self.file).is_file():
            return folder / self.file
        looked = "no data folder is set" if folder is None else f"it is not in {folder}"
        rule = f"{self.rule} " if self.rule else ""
        contents = ", ".join(f"{name} {shape}" for name, shape in self.shapes.items())
        raise MissingDataError(
            f"The data file {self.file} was not found: {looked}. The original is {self.original}. "
            f"{rule}Store it as a NumPy archive called {self.file} with the arrays {contents}, and "
            f"set the environment variable {_ENVIRONMENT} (or data_dir) to its folder."
        )

    def read(self, path):
        """Return the arrays of a file after a check of shapes, kinds and finite numbers."""
        with _faults_as_damage(path):
            archive = np.load(path, allow_pickle=False)
            if not isinstance(archive, np.lib.npyio.NpzFile):
                raise ValueError("it is a single array (.npy)")
            with archive:
                arrays = {name: archive[name] for name in self.shapes if name in archive.files}
        if missing := [name for name in self.shapes if name not in arrays]:
            what = f"it must hold the arrays {', '.join(self.shapes)}"
            raise damaged(path, f"{what}. Of these, missing {', '.join(missing)}")
        for name, array in arrays.items():
            self._check_array(path, name, array)
        return arrays

    def _check_array(self, path, name, array):
        shape, kind = self.shapes[name], self.kinds.get(name, _NUMERIC)
        if array.shape != shape:
            raise damaged(path, f"{name} must be of shape {shape}. Got {array.shape} instead")
        if array.dtype.kind not in kind:
            what = f"{name} must be {_KIND_NAMES[kind]}. Got dtype {array.dtype} instead"
            raise damaged(path, what)
        if kind == _NUMERIC and not np.all(np.isfinite(array)):
            count = np.count_nonzero(~np.isfinite(array))
            raise damaged(path, f"{name} must be finite. Got {count} NaN or infinity instead")

    def describe(self):
        """Return the description of the columns."""
        return files(__package__).joinpath("descr", self.descr).read_text("utf-8")


def data_folder(data_dir):
    """Return the folder of the data: the first of the three places that is set, or None."""
    if data_dir is not None:
        return Path(data_dir)
    if os.environ.get(_ENVIRONMENT):
        return Path(os.environ[_ENVIRONMENT])
    beside = Path(__file__).resolve().parents[4] / "shared" / "data"
    return beside if beside.is_dir() else None


@contextlib.contextmanager
def _faults_as_damage(path):
    """Convert errors of reading a file to one that says it is damaged."""
    try:
        yield
    except (*_UNREADABLE, OSError) as exc:
        # EINVAL is a seek before the file's beginning, so damage. Other OSErrors, such as a
        # refused permission, are not.
        if isinstance(exc, OSError) and exc.errno != errno.EINVAL:
            raise
        raise damaged(path, f"it is not a readable NumPy archive ({exc})") from exc


def damaged(path, what):
    return InvalidObservationError(
        f"The data file {path} is damaged: {what}. Replace it with an intact copy."
    )


def dates(path, text, *, daily=True):
    """Return dates (n,) from text, daily or at least increasing, and the days since the first."""
    try:
        date = text.astype("datetime64[D]")
    except ValueError as exc:
        raise damaged(path, f"date must be given as YYYY-MM-DD ({exc})") from exc
    steps = np.diff(date).astype(int)
    right, how = (steps == 1, "steps of one day") if daily else (steps > 0, "increasing order")
    _check_steps(path, date, right, f"date must be in {how}")
    return date, floats(date - date[0])


def seconds(path, t, step):
    """Return times (n,) as floats after a check that they are ``step`` seconds apart."""
    _check_steps(path, t, np.diff(t) == step, f"t_s must be in steps of {step} s")
    return floats(t)


def _check_steps(path, values, right, what):
    """Raise an error that names the first wrong one of n - 1 steps."""
    if not right.all():
        k = int(np.argmin(right))
        raise damaged(path, f"{what}. Got {values[k + 1]} after {values[k]} instead")


def places(arrays):
    """Return the columns common to all files with coordinates."""
    return {
        "xy": floats(arrays["xy_km"]),
        "lat_deg": floats(arrays["lat_deg"]),
        "lon_deg": floats(arrays["lon_deg"]),
    }


def floats(array):
    return array.astype(np.float64)


def data_frame(values, index=None, columns=None):
    """Return a pandas data frame; dates in the index become those of pandas."""
    try:
        import pandas as pd
    except ImportError as exc:
        raise MissingExtraError(
            "as_frame=True needs pandas: pip install 'sktvbo[frames]', or use as_frame=False."
        ) from exc
    if index is not None and index.dtype.kind == "M":
        index = index.astype("datetime64[s]")
    return pd.DataFrame(values, index=index, columns=columns)
