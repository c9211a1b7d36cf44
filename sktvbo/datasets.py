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

__all__ = ["load_intel_temperature", "load_ny_ozone"]

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

_OZONE_FILE = "ny_state_ozone_2020.npz"
_OZONE_SHAPES = {
    "ozone_ppb": (338, 25),
    "date": (338,),
    "xy_km": (25, 2),
    "lat_deg": (25,),
    "lon_deg": (25,),
    "site_id": (25,),
    "site_name": (25,),
    "imputed": (338, 25),
}
_OZONE_DESCR = """\
Ozone in New York State, 25 sites, daily maximum of the 8-hour mean, 2020-01-01 to 2020-12-03.

ozone             (338, 25)  parts per billion, to 1 ppb
date              (338,)     the day, datetime64[D]
t                 (338,)     days since the first day
xy                (25, 2)    position in km, local projection around the sites' mean position
lat_deg, lon_deg  (25,)      position in degrees
site_id           (25,)      number of the site in the Air Quality System
site_name         (25,)      name of the site
imputed           (338, 25)  whether the entry was missing and filled linearly in time (2.3 %)

Sites with at least 93 % of the days. Part of the values is preliminary (AirNow).

Source: US EPA AirData, daily maximum 8-hour ozone,
aqs.epa.gov/aqsweb/airdata/download_files.html.
"""

_NUMERIC = "iuf"
_KIND_NAMES = {_NUMERIC: "numeric", "U": "text", "b": "bool"}


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


def _damaged(path, what):
    return InvalidObservationError(
        f"The data file {path} is damaged: {what}. Replace it with an intact copy."
    )


def _read_npz(path, shapes, kinds):
    """Read the arrays named in ``shapes``; check shapes, that numbers are finite, and ``kinds``.

    ``kinds`` maps names to NumPy's codes of dtypes; an array it does not name is numeric.
    """
    try:
        archive = np.load(path, allow_pickle=False)
    # ValueError is what NumPy raises for a file of neither of its formats.
    except (zipfile.BadZipFile, EOFError, ValueError) as exc:
        raise _damaged(path, f"it is not a readable NumPy archive ({exc})") from exc
    if not isinstance(archive, np.lib.npyio.NpzFile):
        raise _damaged(path, "expected an archive (.npz), got a single array (.npy)")
    arrays = {}
    with archive:
        missing = [name for name in shapes if name not in archive.files]
        if missing:
            what = f"expected the arrays {', '.join(shapes)}, missing {', '.join(missing)}"
            raise _damaged(path, what)
        for name, shape in shapes.items():
            try:
                array = archive[name]
            except (zipfile.BadZipFile, zlib.error, EOFError, ValueError) as exc:
                raise _damaged(path, f"the array {name} cannot be read ({exc})") from exc
            if array.shape != shape:
                raise _damaged(path, f"expected {name} of shape {shape}, got {array.shape}")
            kind = kinds.get(name, _NUMERIC)
            if array.dtype.kind not in kind:
                what = f"expected {name} to be {_KIND_NAMES[kind]}, got dtype {array.dtype}"
                raise _damaged(path, what)
            if kind == _NUMERIC and not np.all(np.isfinite(array)):
                count = int(np.sum(~np.isfinite(array)))
                what = f"expected {name} to be finite, got {count} NaN or infinite entries"
                raise _damaged(path, what)
            arrays[name] = array
    return arrays


def _load(filename, shapes, data_dir, *, original, kinds=None):
    """Path and checked arrays of a data file."""
    contents = ", ".join(f"{name} {shape}" for name, shape in shapes.items())
    path = _find(filename, data_dir, original=original, contents=contents)
    return path, _read_npz(path, shapes, kinds or {})


def _as_frame(values, index=None, columns=None):
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
    path, arrays = _load(
        _INTEL_FILE,
        _INTEL_SHAPES,
        data_dir,
        original='MIT CSAIL "Intel Lab Data", db.csail.mit.edu/labdata/labdata.html',
    )
    t = arrays["t_s"].astype(np.float64)
    if not np.all(np.diff(t) == 600.0):
        raise _damaged(path, "expected t_s in steps of 600 s")
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


def load_ny_ozone(*, data_dir=None, as_frame=False):
    """Load the ozone of New York State: 25 sites, a value a day, 338 days of 2020.

    Parameters
    ----------
    data_dir : path-like, default=None
        Folder that holds ``ny_state_ozone_2020.npz``. None: the folder that the environment
        variable ``SKTVBO_DATA`` names, else ``../shared/data`` beside the repository.
    as_frame : bool, default=False
        Also give a pandas data frame.

    Returns
    -------
    Bunch
        ``ozone`` (338, 25) float64, daily maximum of the 8-hour mean in ppb; ``date`` (338,)
        datetime64[D]; ``t`` (338,) float64, days since the first day; ``xy`` (25, 2) float64, km;
        ``lat_deg`` and ``lon_deg`` (25,) float64; ``site_id`` (25,); ``site_name`` (25,);
        ``imputed`` (338, 25) bool, filled linearly in time; ``frame``, or None: a row for each day
        and site, sorted by day, with the columns date, day (that is t), x_km, y_km and ozone_ppb;
        ``DESCR``.

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
    Source: US EPA AirData, daily maximum 8-hour ozone.

    Examples
    --------
    >>> from sktvbo.datasets import load_ny_ozone
    >>> data = load_ny_ozone()  # doctest: +SKIP
    >>> data.ozone.shape  # doctest: +SKIP
    (338, 25)
    """
    path, arrays = _load(
        _OZONE_FILE,
        _OZONE_SHAPES,
        data_dir,
        original=(
            "US EPA AirData, daily maximum 8-hour ozone, "
            "aqs.epa.gov/aqsweb/airdata/download_files.html"
        ),
        kinds={"date": "U", "site_name": "U", "imputed": "b"},
    )
    try:
        date = arrays["date"].astype("datetime64[D]")
    except ValueError as exc:
        raise _damaged(path, f"expected date as YYYY-MM-DD ({exc})") from exc
    if not np.all(np.diff(date) == np.timedelta64(1, "D")):
        raise _damaged(path, "expected date in steps of one day")
    ozone = arrays["ozone_ppb"].astype(np.float64)
    t = (date - date[0]).astype(np.float64)
    xy = arrays["xy_km"].astype(np.float64)
    frame = None
    if as_frame:
        n_days, n_sites = ozone.shape
        columns = {
            "date": np.repeat(date.astype("datetime64[s]"), n_sites),
            "day": np.repeat(t, n_sites),
            "x_km": np.tile(xy[:, 0], n_days),
            "y_km": np.tile(xy[:, 1], n_days),
            "ozone_ppb": ozone.ravel(),
        }
        frame = _as_frame(columns)
    return Bunch(
        ozone=ozone,
        date=date,
        t=t,
        xy=xy,
        lat_deg=arrays["lat_deg"].astype(np.float64),
        lon_deg=arrays["lon_deg"].astype(np.float64),
        site_id=arrays["site_id"],
        site_name=arrays["site_name"],
        imputed=arrays["imputed"],
        frame=frame,
        DESCR=_OZONE_DESCR,
    )
