"""Loaders of the real data that the literature's experiments use.

The data are not shipped. A loader looks for its file in ``data_dir``; else in the folder that the
environment variable ``SKTVBO_DATA`` names; else in ``../shared/data`` beside the repository.
"""

import os
import zipfile
import zlib
from pathlib import Path

import numpy as np
from sklearn.utils import Bunch

from .exceptions import InvalidObservationError, MissingDataError, MissingExtraError

__all__ = ["load_intel_temperature"]

_ENVIRONMENT = "SKTVBO_DATA"

_INTEL_FILE = "intel_lab_temperature.npz"
_INTEL_SHAPES = {
    "temperature_c": (1152, 46),
    "t_s": (1152,),
    "xy_m": (46, 2),
    "sensor_id": (46,),
    "fill_code": (1152, 46),
}
_INTEL_DESCR = """\
Temperature in the Intel Berkeley Research Lab, 46 motes, 10-minute means, 8 days.

temperature  (1152, 46)  degrees Celsius; row k is the mean over [t[k], t[k] + 600)
t            (1152,)     start of the bin, seconds since Monday 2004-03-01 00:00, local clock
xy           (46, 2)     position in metres, origin in a corner of the lab
sensor_id    (46,)       number of the mote
fill_code    (1152, 46)  0 measured, 1 filled linearly in time, 2 filled from neighbours (1 % of
                         the entries are filled)

Days 5 and 6, counted from 0, are a weekend without ventilation, much smoother than working days.

Source: MIT CSAIL "Intel Lab Data", P. Bodik, W. Hong, C. Guestrin, S. Madden, M. Paskin and
R. Thibaux, db.csail.mit.edu/labdata/labdata.html.
"""


def _data_folder(data_dir):
    """Folder to look in, the first of the three places that is named; None when none is."""
    if data_dir is not None:
        return Path(data_dir)
    if os.environ.get(_ENVIRONMENT):
        return Path(os.environ[_ENVIRONMENT])
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    return beside if beside.is_dir() else None


def _find(filename, data_dir, *, original, contents):
    """Path of a data file, or a MissingDataError that says how to get it."""
    folder = _data_folder(data_dir)
    if folder is not None and (folder / filename).is_file():
        return folder / filename
    looked = "no data folder is set" if folder is None else f"it is not in {folder}"
    raise MissingDataError(
        f"The data file {filename} was not found: {looked}. The original is {original}. "
        f"Store it as a NumPy archive called {filename} with the arrays {contents}, and set the "
        f"environment variable {_ENVIRONMENT} (or data_dir) to its folder."
    )


def _read_npz(path, shapes):
    """Read the arrays named in ``shapes`` and check that they are numeric, finite and so shaped."""

    def bad(what):
        return InvalidObservationError(
            f"The data file {path} is damaged: {what}. Replace it with an intact copy."
        )

    try:
        archive = np.load(path, allow_pickle=False)
    # ValueError is what NumPy raises for a file of neither of its formats.
    except (zipfile.BadZipFile, EOFError, ValueError) as exc:
        raise bad(f"it is not a readable NumPy archive ({exc})") from exc
    if not isinstance(archive, np.lib.npyio.NpzFile):
        raise bad("expected an archive (.npz), got a single array (.npy)")
    arrays = {}
    with archive:
        missing = [name for name in shapes if name not in archive.files]
        if missing:
            raise bad(f"expected the arrays {', '.join(shapes)}, missing {', '.join(missing)}")
        for name, shape in shapes.items():
            try:
                array = archive[name]
            except (zipfile.BadZipFile, zlib.error, EOFError, ValueError) as exc:
                raise bad(f"the array {name} cannot be read ({exc})") from exc
            if array.shape != shape:
                raise bad(f"expected {name} of shape {shape}, got {array.shape}")
            if array.dtype.kind not in "iuf":
                raise bad(f"expected {name} to be numeric, got dtype {array.dtype}")
            if not np.all(np.isfinite(array)):
                count = int(np.sum(~np.isfinite(array)))
                raise bad(f"expected {name} to be finite, got {count} NaN or infinite entries")
            arrays[name] = array
    return arrays


def _as_frame(values, index, columns):
    try:
        import pandas as pd
    except ImportError as exc:
        raise MissingExtraError(
            "as_frame=True needs pandas: pip install 'sktvbo[frames]', or use as_frame=False."
        ) from exc
    return pd.DataFrame(values, index=index, columns=columns)


def load_intel_temperature(*, data_dir=None, as_frame=False):
    """Load the Intel Berkeley lab temperatures: 46 sensors, 10-minute means, 8 days.

    Parameters
    ----------
    data_dir : path-like, default=None
        Folder that holds ``intel_lab_temperature.npz``. None: the folder that the environment
        variable ``SKTVBO_DATA`` names, else ``../shared/data`` beside the repository.
    as_frame : bool, default=False
        Also give a pandas data frame.

    Returns
    -------
    Bunch
        ``temperature`` (1152, 46) float64, degrees Celsius; ``t`` (1152,) float64, seconds since
        2004-03-01 00:00; ``xy`` (46, 2) float64, metres; ``sensor_id`` (46,); ``fill_code``
        (1152, 46), 0 measured, 1 filled in time, 2 filled from neighbours; ``frame``, the
        temperatures with t as the index and the sensors' numbers as columns, or None; ``DESCR``.

    Raises
    ------
    MissingDataError
        The file is not at hand.
    InvalidObservationError
        The file is damaged.
    MissingExtraError
        ``as_frame=True`` without pandas.

    Notes
    -----
    Source: MIT CSAIL "Intel Lab Data", the data of TVGP section 5.2, W-DBO appendix G.2 and
    ET section 5.

    Examples
    --------
    >>> from sktvbo.datasets import load_intel_temperature
    >>> data = load_intel_temperature()  # doctest: +SKIP
    >>> data.temperature.shape  # doctest: +SKIP
    (1152, 46)
    """
    path = _find(
        _INTEL_FILE,
        data_dir,
        original='MIT CSAIL "Intel Lab Data", db.csail.mit.edu/labdata/labdata.html',
        contents=", ".join(f"{name} {shape}" for name, shape in _INTEL_SHAPES.items()),
    )
    arrays = _read_npz(path, _INTEL_SHAPES)
    t = arrays["t_s"].astype(np.float64)
    if not np.all(np.diff(t) == 600.0):
        raise InvalidObservationError(
            f"The data file {path} is damaged: expected t_s in steps of 600 s. "
            "Replace it with an intact copy."
        )
    temperature = arrays["temperature_c"].astype(np.float64)
    sensor_id = arrays["sensor_id"]
    return Bunch(
        temperature=temperature,
        t=t,
        xy=arrays["xy_m"].astype(np.float64),
        sensor_id=sensor_id,
        fill_code=arrays["fill_code"],
        frame=_as_frame(temperature, t, sensor_id) if as_frame else None,
        DESCR=_INTEL_DESCR,
    )
