"""The real data that the literature's experiments use: loaders and a download.

The data are not shipped. A loader looks for its file in ``data_dir``; else in the folder that the
environment variable ``SKTVBO_DATA`` names; else in ``../shared/data`` beside the repository.
`fetch_intel_temperature` downloads the original and keeps what it makes of it in scikit-learn's
``data_home``.
"""

import gzip
import os
import shutil
import tempfile
import time
import zipfile
import zlib
from array import array as buffer
from datetime import date as _date
from http.client import HTTPException
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

import numpy as np
from sklearn.datasets import get_data_home
from sklearn.utils import Bunch

from .exceptions import InvalidObservationError, MissingDataError, MissingExtraError

__all__ = [
    "fetch_intel_temperature",
    "load_intel_temperature",
    "load_irish_wind",
    "load_la_traffic",
    "load_ny_ozone",
    "load_sp500",
]

_ENVIRONMENT = "SKTVBO_DATA"

_INTEL_FILE = "intel_lab_temperature.npz"
_INTEL_BIN = 600  # seconds
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

# The original log. The tests have a server of their own.
_LOG_URL = "http://db.csail.mit.edu/labdata/data.txt.gz"
_LOCATIONS_URL = "http://db.csail.mit.edu/labdata/mote_locs.txt"
_LOG_COLUMNS = "date time epoch moteid temperature humidity light voltage"
_LOG_FIRST, _LOG_DAYS = _date(2004, 2, 28), 38
_LOG_TIMEOUT = 30.0  # seconds without an answer
_BINS_PER_DAY = 86400 // _INTEL_BIN

# What is kept of it in data_home: for each bin the number of valid readings and their mean, 0
# without any.
_BINS_FILE = "sktvbo_intel_lab_bins.npz"
_BINS_SHAPES = {
    "mean_c": (_LOG_DAYS * _BINS_PER_DAY, None),
    "count": (_LOG_DAYS * _BINS_PER_DAY, None),
    "sensor_id": (None,),
    "xy_m": (None, 2),
}
# Outside of these a reading is that of a failing battery.
_COLDEST, _HOTTEST, _LOWEST_VOLTAGE = 0.0, 50.0, 2.35
# Gaps up to so many bins are filled linearly in time, longer ones from so many neighbours.
_SHORT_GAP, _N_NEIGHBOURS = 6, 4

_FETCH_DESCR = """\
Temperature in the Intel Berkeley Research Lab, {m} motes, 10-minute means, {n_days} days.

temperature  ({n}, {m})  degrees Celsius; row k is the mean over [t[k], t[k] + 600)
t            ({n},)      start of the bin, seconds since {first} 00:00, local clock
xy           ({m}, 2)    position in metres, origin in a corner of the lab
sensor_id    ({m},)      number of the mote
fill_code    ({n}, {m})  0 measured, 1 filled linearly in time, 2 filled from neighbours

Made of the log by `sktvbo.datasets.fetch_intel_temperature`.

Source: MIT CSAIL "Intel Lab Data", P. Bodik, W. Hong, C. Guestrin, S. Madden, M. Paskin and
R. Thibaux, db.csail.mit.edu/labdata/labdata.html.
"""

_OZONE_FILE = "ny_state_ozone_2020.npz"
_SUMMER_FILE = "ny_ozone_summer2006.npz"


def _ozone_shapes(n_days, n_sites):
    return {
        "ozone_ppb": (n_days, n_sites),
        "date": (n_days,),
        "xy_km": (n_sites, 2),
        "lat_deg": (n_sites,),
        "lon_deg": (n_sites,),
        "imputed": (n_days, n_sites),
    }


_OZONE_SHAPES = _ozone_shapes(338, 25) | {"site_id": (25,), "site_name": (25,)}
_SUMMER_SHAPES = _ozone_shapes(62, 28) | {"site_index": (28,)}
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
_SUMMER_DESCR = """\
Ozone in New York State, 28 sites, daily maximum of the 8-hour mean, 2006-07-01 to 2006-08-31.

ozone             (62, 28)  parts per billion
date              (62,)     the day, datetime64[D]
t                 (62,)     days since the first day
xy                (28, 2)   position in km, local projection around the sites' mean position
lat_deg, lon_deg  (28,)     position in degrees
site_id           (28,)     1 to 28, numbers of this file alone
site_name                   None
imputed           (62, 28)  whether the entry was missing and filled linearly in time (1.4 %)

Source: US EPA; the data set NYdata of the R package spTimer.
"""

_TRAFFIC_FILE = "metr_la_speed_week1.npz"
_TRAFFIC_SHAPES = {
    "speed_mph": (2016, 207),
    "t_s": (2016,),
    "xy_km": (207, 2),
    "lat_deg": (207,),
    "lon_deg": (207,),
    "sensor_id": (207,),
    "suspected_filled": (2016, 207),
}
_TRAFFIC_DESCR = """\
Speed on the motorways of Los Angeles, 207 loop detectors, 5-minute means, 7 days.

speed             (2016, 207)  miles per hour
t                 (2016,)      seconds since 2012-03-01 00:00, a Thursday
xy                (207, 2)     position in km, local projection around the mean position
lat_deg, lon_deg  (207,)       position in degrees
sensor_id         (207,)       number of the detector
suspected_filled  (2016, 207)  whether the entry lies on a straight line in time for four or more
                               readings: it was probably missing

Missing readings were filled linearly in time by those who published the data. The traffic of days
2 and 3, counted from 0, is that of a weekend.

Source: METR-LA, LA Metro; H. V. Jagadish et al., "Big Data and Its Technical Challenges", 2014,
and the repository github.com/liyaguang/DCRNN.
"""

_WIND_FILE = "irish_wind.npz"
_WIND_SHAPES = {
    "wind_knots": (6574, 12),
    "date": (6574,),
    "xy_km": (12, 2),
    "lat_deg": (12,),
    "lon_deg": (12,),
    "station": (12,),
    "station_name": (12,),
}
_WIND_DESCR = """\
Wind in Ireland, 12 stations, daily means, 1961-01-01 to 1978-12-31.

wind              (6574, 12)  knots; times 0.5148 metres per second
date              (6574,)     the day, datetime64[D]
t                 (6574,)     days since the first day
xy                (12, 2)     position in km, local projection around the stations' mean position
lat_deg, lon_deg  (12,)       position in degrees
station           (12,)       three letters
station_name      (12,)

Nothing is missing. Rosslare (ROS) fits the correlation in space badly and is often left out.

Source: J. Haslett and A. E. Raftery, "Space-time modelling with long-memory dependence: assessing
Ireland's wind power resource", Applied Statistics, 1989; the data set wind of the R package gstat.
"""

_STOCKS_FILE = "sp500_subset_close.npz"
_STOCKS_SHAPES = {
    "close_usd": (1259, 94),
    "date": (1259,),
    "ticker": (94,),
    "idx48": (48,),
    "last823_start": (),
}
_STOCKS_DESCR = """\
Daily closing prices of 94 US stocks, 1259 trading days, 2013-02-08 to 2018-02-07.

close    (1259, 94)  US dollars, adjusted for splits, not for dividends or all spin-offs
date     (1259,)     the day, datetime64[D]
t        (1259,)     days since the first day: not consecutive, as markets close
ticker   (94,)       A to CLX, those of the index that have no missing day
largest  (48,)       columns of the 48 with the largest median turnover of the first 252 days
last823  int         row at which the last 823 days begin

Stocks that left the index are not among them. The row 2017-08-01 looks wrong in part. It is of the
size of the set of Deng et al. (2022), 48 stocks and 823 days, but is another set.

Source: "S&P 500 stock data", C. Nugent, kaggle.com/datasets/camnugent/sandp500.
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


def _find(filename, data_dir, *, original, contents, rule=""):
    """Path of a data file, or a MissingDataError that says how to get it."""
    folder = _data_folder(data_dir)
    if folder is not None and (folder / filename).is_file():
        return folder / filename
    looked = "no data folder is set" if folder is None else f"it is not in {folder}"
    raise MissingDataError(
        f"The data file {filename} was not found: {looked}. The original is {original}. {rule}"
        f"Store it as a NumPy archive called {filename} with the arrays {contents}, and set the "
        f"environment variable {_ENVIRONMENT} (or data_dir) to its folder."
    )


def _damaged(path, what):
    return InvalidObservationError(
        f"The data file {path} is damaged: {what}. Replace it with an intact copy."
    )


def _fits(shape, expected):
    """Whether a shape is the expected one, in which None stands for any length."""
    return len(shape) == len(expected) and all(b in (a, None) for a, b in zip(shape, expected))


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
            if not _fits(array.shape, shape):
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


def _load(filename, shapes, data_dir, *, original, rule="", kinds=None):
    """Path and checked arrays of a data file."""
    contents = ", ".join(f"{name} {shape}" for name, shape in shapes.items())
    path = _find(filename, data_dir, original=original, contents=contents, rule=rule)
    return path, _read_npz(path, shapes, kinds or {})


def _dates(path, text, *, daily=True):
    """Dates (n,) of their text, one a day or at least increasing, and the days since the first."""
    try:
        date = text.astype("datetime64[D]")
    except ValueError as exc:
        raise _damaged(path, f"expected date as YYYY-MM-DD ({exc})") from exc
    steps = np.diff(date).astype(int)
    if not np.all(steps == 1 if daily else steps > 0):
        what = "in steps of one day" if daily else "in increasing order"
        raise _damaged(path, f"expected date {what}")
    return date, (date - date[0]).astype(np.float64)


def _seconds(path, t, step):
    """Times (n,) as floats, ``step`` seconds apart."""
    if not np.all(np.diff(t) == step):
        raise _damaged(path, f"expected t_s in steps of {step} s")
    return t.astype(np.float64)


def _places(arrays):
    """What all files with positions on the earth have in common."""
    return {
        "xy": arrays["xy_km"].astype(np.float64),
        "lat_deg": arrays["lat_deg"].astype(np.float64),
        "lon_deg": arrays["lon_deg"].astype(np.float64),
    }


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
    ET section 5. `fetch_intel_temperature` makes such a table of the original log.

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
        rule="fetch_intel_temperature() downloads it and makes such a table of it. ",
    )
    t = _seconds(path, arrays["t_s"], _INTEL_BIN)
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


def fetch_intel_temperature(
    *,
    data_home=None,
    download_if_missing=True,
    first_day="2004-03-01",
    n_days=8,
    min_valid=0.92,
    exclude=(18,),
    as_frame=False,
    n_retries=3,
    delay=1.0,
):
    """Download the log of the Intel Berkeley lab and make a table of temperatures of it.

    The log (34 MB, compressed) is read once; the means of all its ten-minute bins are kept in
    ``data_home``, and every later call takes them from there.

    Parameters
    ----------
    data_home : path-like, default=None
        Folder of the cache. None is scikit-learn's, ``~/scikit_learn_data`` unless the environment
        variable ``SCIKIT_LEARN_DATA`` says otherwise.
    download_if_missing : bool, default=True
        False: raise a MissingDataError instead of downloading.
    first_day : str or datetime.date, default="2004-03-01"
        First day of the table; the log goes from 2004-02-28 to 2004-04-05.
    n_days : int, default=8
        Number of days.
    min_valid : float in (0, 1], default=0.92
        Motes with a smaller share of valid bins are left out.
    exclude : sequence of int, default=(18,)
        Motes to leave out besides. The readings of 18 drift as its battery fades.
    as_frame : bool, default=False
        Also give a pandas data frame.
    n_retries : int, default=3
        How often to try again when the connection fails.
    delay : float, default=1.0
        Seconds between two attempts.

    Returns
    -------
    Bunch
        As from `load_intel_temperature`, with n = 144 ``n_days`` bins and m motes:
        ``temperature`` (n, m) float64, degrees Celsius; ``t`` (n,) float64, seconds since the
        first day 00:00; ``xy`` (m, 2) float64, metres; ``sensor_id`` (m,); ``fill_code`` (n, m);
        ``frame``, the temperatures with t as the index and the motes' numbers as columns, or None;
        ``DESCR``.

    Raises
    ------
    MissingDataError
        There is no cache and no download was wanted, or the download failed.
    InvalidObservationError
        What was downloaded is not the log, or the cache is damaged. Nothing is stored then.
    MissingExtraError
        ``as_frame=True`` without pandas.
    ValueError
        Days that are not in the log, or no mote with enough valid bins.

    Notes
    -----
    Lines that lack a value are skipped, as are readings outside of 0 to 50 degrees Celsius or below
    2.35 V. A bin is the mean of its valid readings. Gaps up to 6 bins are filled linearly in time.
    Longer ones follow the mean of the 4 nearest motes that were observed throughout the gap, plus
    an offset linear in time such that both ends fit; without such motes they are linear too. A gap
    at the first or last bin has one end, whose value (or offset) holds throughout.

    The file of `load_intel_temperature` was made by the same rule, but of another author's
    ten-minute means, where only whole bins could be rejected: the tables differ by that, and may
    differ in the motes kept. No checksum of the log is known, so only its form is checked.

    Examples
    --------
    >>> from sktvbo.datasets import fetch_intel_temperature
    >>> data = fetch_intel_temperature(n_days=5)  # doctest: +SKIP
    """
    days = _log_days(first_day, n_days)
    if not 0.0 < min_valid <= 1.0:
        raise ValueError(f"min_valid must lie in (0, 1], got {min_valid!r}.")
    home = Path(get_data_home(data_home))
    path = home / _BINS_FILE
    if not path.exists():
        if not download_if_missing:
            raise MissingDataError(
                f"{_BINS_FILE} was not found in {home}, and download_if_missing is False. Allow "
                "the download, or set data_home to the folder of an earlier one."
            )
        _make_bins(path, n_retries, delay)
    bins = _read_npz(path, _BINS_SHAPES, {})
    rows = slice(days.start * _BINS_PER_DAY, days.stop * _BINS_PER_DAY)
    observed = bins["count"][rows] > 0
    keep = (observed.mean(axis=0) >= min_valid) & ~np.isin(bins["sensor_id"], exclude)
    if not keep.any():
        raise ValueError(
            f"No mote has valid readings in {min_valid:.0%} of the bins of these days, the best "
            f"has {observed.mean(axis=0).max():.1%}; lower min_valid or choose other days."
        )
    xy, sensor_id = bins["xy_m"][keep], bins["sensor_id"][keep]
    table = np.where(observed, bins["mean_c"][rows], np.nan)[:, keep]
    temperature, fill_code = _fill(table, xy)
    n, m = temperature.shape
    t = _INTEL_BIN * np.arange(float(n))
    first = _date.fromordinal(_LOG_FIRST.toordinal() + days.start)
    return Bunch(
        temperature=temperature,
        t=t,
        xy=xy,
        sensor_id=sensor_id,
        fill_code=fill_code,
        frame=_as_frame(temperature, t, sensor_id) if as_frame else None,
        DESCR=_FETCH_DESCR.format(n=n, m=m, n_days=len(days), first=first),
    )


def _log_days(first_day, n_days):
    """Range of the days, counted from the first of the log."""
    try:
        first = _date.fromisoformat(str(first_day)).toordinal() - _LOG_FIRST.toordinal()
    except ValueError as exc:
        raise ValueError(f"first_day must be a date YYYY-MM-DD, got {first_day!r}.") from exc
    if not isinstance(n_days, int | np.integer) or n_days < 1:
        raise ValueError(f"n_days must be a positive int, got {n_days!r}.")
    if not 0 <= first <= _LOG_DAYS - n_days:
        raise ValueError(
            f"The log has the {_LOG_DAYS} days from {_LOG_FIRST}, got {n_days} days from "
            f"{first_day}."
        )
    return range(first, first + int(n_days))


def _make_bins(path, n_retries, delay):
    """Download log and positions, and store the means of the bins."""
    # Of the same file system as the cache, so that the last step cannot be seen half done.
    with tempfile.TemporaryDirectory(dir=path.parent, prefix="sktvbo-") as folder:
        locations, log, new = (Path(folder, name) for name in ("motes", "log", "bins.npz"))
        _download(_LOCATIONS_URL, locations, n_retries, delay)
        _download(_LOG_URL, log, n_retries, delay)
        sensor_id, xy = _read_locations(locations)
        count, mean = _bin(*_read_log(log), sensor_id)
        np.savez_compressed(new, mean_c=mean, count=count, sensor_id=sensor_id, xy_m=xy)
        os.replace(new, path)


def _download(url, path, n_retries, delay):
    while True:
        try:
            with urlopen(url, timeout=_LOG_TIMEOUT) as response, path.open("wb") as file:
                shutil.copyfileobj(response, file)
                expected = response.headers.get("Content-Length")
            size = path.stat().st_size
            if expected is not None and size != int(expected):
                raise ConnectionError(f"it ended after {size} of {expected} bytes")
            return
        except (OSError, HTTPException) as exc:
            refused = isinstance(exc, HTTPError) and exc.code < 500
            if refused or n_retries <= 0:
                raise MissingDataError(
                    f"The download of {url} failed: {exc}. Check the network connection and try "
                    "again, or use load_intel_temperature with a copy of its file."
                ) from exc
            n_retries -= 1
            time.sleep(delay)


def _strange(url, what):
    return InvalidObservationError(
        f"What came from {url} is not the expected file: {what}. Nothing was stored; try again, or "
        "look at the address with a browser."
    )


def _read_locations(path):
    """Numbers (m,) and positions (m, 2) of the motes, by increasing number."""
    try:
        table = np.array(
            [line.split() for line in path.read_text("ascii").splitlines()], dtype=float
        )
    except ValueError as exc:
        raise _strange(_LOCATIONS_URL, f"expected lines of 'moteid x y' ({exc})") from exc
    if table.ndim != 2 or table.shape[1] != 3 or not np.isfinite(table).all():
        raise _strange(_LOCATIONS_URL, "expected lines of 'moteid x y', three numbers each")
    sensor_id, first = np.unique(table[:, 0].astype(int), return_index=True)
    if len(first) < len(table):
        raise _strange(_LOCATIONS_URL, "expected each mote once")
    return sensor_id, table[first, 1:]


def _read_log(path):
    """Bin since the log's first day, mote, temperature and voltage, (n,) each, of a log's lines.

    Lines that lack a value are many in the original, and are skipped.
    """
    bins, motes, temperatures, voltages = (buffer("d") for _ in range(4))
    origin = _LOG_FIRST.toordinal()
    n_lines, odd = 0, None
    try:
        with gzip.open(path, "rt", encoding="ascii", errors="replace") as file:
            for n_lines, line in enumerate(file, start=1):
                try:
                    day, clock, _, mote, temperature, _, _, voltage = line.split()
                    hours, minutes, _ = clock.split(":")
                    since = (_date.fromisoformat(day).toordinal() - origin) * 86400
                    seconds = since + 3600 * int(hours) + 60 * int(minutes)
                    row = seconds // _INTEL_BIN, int(mote), float(temperature), float(voltage)
                except ValueError:
                    odd = odd or f"line {n_lines} is {line[:80]!r}"
                    continue
                for column, value in zip((bins, motes, temperatures, voltages), row):
                    column.append(value)
    except (EOFError, gzip.BadGzipFile, zlib.error) as exc:
        raise _strange(_LOG_URL, f"it is no complete gzip file ({exc})") from exc
    if 2 * len(bins) <= n_lines:
        what = f"expected lines of '{_LOG_COLUMNS}', but {odd or 'there is none'}"
        raise _strange(_LOG_URL, what)
    return tuple(map(np.asarray, (bins, motes, temperatures, voltages)))


def _bin(bins, motes, temperature, voltage, sensor_id):
    """Number of the valid readings and their mean, by bin and mote, each (n, m)."""
    shape = _LOG_DAYS * _BINS_PER_DAY, len(sensor_id)
    valid = (
        (temperature >= _COLDEST)
        & (temperature <= _HOTTEST)
        & (voltage >= _LOWEST_VOLTAGE)
        & (bins >= 0)
        & (bins < shape[0])
        & np.isin(motes, sensor_id)
    )
    if not valid.any():
        raise _strange(_LOG_URL, "it has no valid reading of a mote whose position is known")
    column = np.searchsorted(sensor_id, motes[valid])
    cell = bins[valid].astype(np.intp) * shape[1] + column
    count = np.bincount(cell, minlength=shape[0] * shape[1])
    total = np.bincount(cell, temperature[valid], minlength=len(count))
    return count.reshape(shape), (total / np.maximum(count, 1)).reshape(shape)


def _fill(table, xy):
    """Table (n, m) without its gaps, which are NaN, and how each entry was filled (n, m)."""
    filled, code = table.copy(), np.zeros(table.shape, dtype=np.uint8)
    n = len(table)
    for j, column in enumerate(table.T):
        edges = np.flatnonzero(np.diff(np.isnan(column), prepend=False, append=False))
        by_distance = np.argsort(np.linalg.norm(xy - xy[j], axis=1), kind="stable")
        for start, stop in edges.reshape(-1, 2).tolist():
            ends = [i for i in (start - 1, stop) if 0 <= i < n]
            guide, how = np.zeros(n), 1
            if stop - start > _SHORT_GAP:
                observed = ~np.isnan(table[max(start - 1, 0) : stop + 1]).any(axis=0)
                near = by_distance[observed[by_distance]][:_N_NEIGHBOURS]
                if len(near):
                    guide, how = table[:, near].mean(axis=1), 2
            gap = np.arange(start, stop)
            filled[gap, j] = guide[gap] + np.interp(gap, ends, (column - guide)[ends])
            code[gap, j] = how
    return filled, code


def load_ny_ozone(*, version="2020", data_dir=None, as_frame=False):
    """Load the ozone of New York State, a value a day.

    Parameters
    ----------
    version : {"2020", "summer2006"}, default="2020"
        25 sites and 338 days of 2020, or 28 sites and the 62 days of July and August 2006.
    data_dir : path-like, default=None
        Folder that holds ``ny_state_ozone_2020.npz`` or ``ny_ozone_summer2006.npz``. None: the
        folder that the environment variable ``SKTVBO_DATA`` names, else ``../shared/data`` beside
        the repository.
    as_frame : bool, default=False
        Also give a pandas data frame.

    Returns
    -------
    Bunch
        ``ozone`` (338, 25) float64, daily maximum of the 8-hour mean in ppb; ``date`` (338,)
        datetime64[D]; ``t`` (338,) float64, days since the first day; ``xy`` (25, 2) float64, km;
        ``lat_deg`` and ``lon_deg`` (25,) float64; ``site_id`` (25,); ``site_name`` (25,), None for
        2006; ``imputed`` (338, 25) bool, filled linearly in time; ``frame``, or None: a row for
        each day and site, sorted by day, with the columns date, day (that is t), x_km, y_km and
        ozone_ppb; ``DESCR``. For 2006 with 62 and 28.

    Raises
    ------
    MissingDataError
        The file is not at hand.
    InvalidObservationError
        The file is damaged.
    MissingExtraError
        ``as_frame=True`` without pandas.
    ValueError
        An unknown version.

    Notes
    -----
    Source: US EPA AirData, daily maximum 8-hour ozone. SparQ section 4.2 has 28 sites and two years
    of New York City, a set that is not public.

    Examples
    --------
    >>> from sktvbo.datasets import load_ny_ozone
    >>> data = load_ny_ozone()  # doctest: +SKIP
    >>> data.ozone.shape  # doctest: +SKIP
    (338, 25)
    """
    if version == "2020":
        file, shapes, descr = _OZONE_FILE, _OZONE_SHAPES, _OZONE_DESCR
        original = (
            "US EPA AirData, daily maximum 8-hour ozone, "
            "aqs.epa.gov/aqsweb/airdata/download_files.html"
        )
    elif version == "summer2006":
        file, shapes, descr = _SUMMER_FILE, _SUMMER_SHAPES, _SUMMER_DESCR
        original = "the data set NYdata of the R package spTimer, cran.r-project.org"
    else:
        raise ValueError(f"version must be '2020' or 'summer2006', got {version!r}.")
    path, arrays = _load(
        file,
        shapes,
        data_dir,
        original=original,
        rule="Fill the gaps linearly in time. ",
        kinds={"date": "U", "site_name": "U", "imputed": "b"},
    )
    date, t = _dates(path, arrays["date"])
    ozone = arrays["ozone_ppb"].astype(np.float64)
    places = _places(arrays)
    frame = None
    if as_frame:
        n_days, n_sites = ozone.shape
        columns = {
            "date": np.repeat(date.astype("datetime64[s]"), n_sites),
            "day": np.repeat(t, n_sites),
            "x_km": np.tile(places["xy"][:, 0], n_days),
            "y_km": np.tile(places["xy"][:, 1], n_days),
            "ozone_ppb": ozone.ravel(),
        }
        frame = _as_frame(columns)
    return Bunch(
        ozone=ozone,
        date=date,
        t=t,
        site_id=arrays["site_id" if version == "2020" else "site_index"],
        site_name=arrays.get("site_name"),
        imputed=arrays["imputed"],
        frame=frame,
        DESCR=descr,
        **places,
    )


def load_la_traffic(*, data_dir=None, as_frame=False):
    """Load the speed of the traffic in Los Angeles: 207 detectors, 5-minute means, 7 days.

    Parameters
    ----------
    data_dir : path-like, default=None
        Folder that holds ``metr_la_speed_week1.npz``. None: the folder that the environment
        variable ``SKTVBO_DATA`` names, else ``../shared/data`` beside the repository.
    as_frame : bool, default=False
        Also give a pandas data frame.

    Returns
    -------
    Bunch
        ``speed`` (2016, 207) float64, miles per hour; ``t`` (2016,) float64, seconds since
        2012-03-01 00:00; ``xy`` (207, 2) float64, km; ``lat_deg`` and ``lon_deg`` (207,) float64;
        ``sensor_id`` (207,); ``suspected_filled`` (2016, 207) bool; ``frame``, the speeds with t
        as the index and the detectors' numbers as columns, or None; ``DESCR``.

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
    Source: METR-LA. It stands for the data of TVGP section 5.2, the I-880 in California.

    Examples
    --------
    >>> from sktvbo.datasets import load_la_traffic
    >>> data = load_la_traffic()  # doctest: +SKIP
    >>> data.speed.shape  # doctest: +SKIP
    (2016, 207)
    """
    path, arrays = _load(
        _TRAFFIC_FILE,
        _TRAFFIC_SHAPES,
        data_dir,
        original=(
            "METR-LA, with the detectors' positions in github.com/liyaguang/DCRNN, "
            "data/sensor_graph/graph_sensor_locations.csv"
        ),
        rule="Take the 7 days from 2012-03-01 and fill the gaps linearly in time. ",
        kinds={"suspected_filled": "b"},
    )
    t = _seconds(path, arrays["t_s"], 300)
    speed = arrays["speed_mph"].astype(np.float64)
    return Bunch(
        speed=speed,
        t=t,
        sensor_id=arrays["sensor_id"],
        suspected_filled=arrays["suspected_filled"],
        frame=_as_frame(speed, t, arrays["sensor_id"]) if as_frame else None,
        DESCR=_TRAFFIC_DESCR,
        **_places(arrays),
    )


def load_irish_wind(*, data_dir=None, as_frame=False):
    """Load the wind of Ireland: 12 stations, daily means, 18 years.

    Parameters
    ----------
    data_dir : path-like, default=None
        Folder that holds ``irish_wind.npz``. None: the folder that the environment variable
        ``SKTVBO_DATA`` names, else ``../shared/data`` beside the repository.
    as_frame : bool, default=False
        Also give a pandas data frame.

    Returns
    -------
    Bunch
        ``wind`` (6574, 12) float64, knots; ``date`` (6574,) datetime64[D]; ``t`` (6574,) float64,
        days since the first day; ``xy`` (12, 2) float64, km; ``lat_deg`` and ``lon_deg`` (12,)
        float64; ``station`` and ``station_name`` (12,); ``frame``, the wind with the dates as the
        index and the stations as columns, or None; ``DESCR``.

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
    Source: Haslett and Raftery, Applied Statistics, 1989.

    Examples
    --------
    >>> from sktvbo.datasets import load_irish_wind
    >>> data = load_irish_wind()  # doctest: +SKIP
    >>> data.wind.shape  # doctest: +SKIP
    (6574, 12)
    """
    path, arrays = _load(
        _WIND_FILE,
        _WIND_SHAPES,
        data_dir,
        original="the data set wind of the R package gstat, cran.r-project.org",
        kinds={"date": "U", "station": "U", "station_name": "U"},
    )
    date, t = _dates(path, arrays["date"])
    wind = arrays["wind_knots"].astype(np.float64)
    index = date.astype("datetime64[s]")
    return Bunch(
        wind=wind,
        date=date,
        t=t,
        station=arrays["station"],
        station_name=arrays["station_name"],
        frame=_as_frame(wind, index, arrays["station"]) if as_frame else None,
        DESCR=_WIND_DESCR,
        **_places(arrays),
    )


def load_sp500(*, data_dir=None, as_frame=False):
    """Load the closing prices of 94 US stocks, 1259 trading days.

    Parameters
    ----------
    data_dir : path-like, default=None
        Folder that holds ``sp500_subset_close.npz``. None: the folder that the environment
        variable ``SKTVBO_DATA`` names, else ``../shared/data`` beside the repository.
    as_frame : bool, default=False
        Also give a pandas data frame.

    Returns
    -------
    Bunch
        ``close`` (1259, 94) float64, US dollars; ``date`` (1259,) datetime64[D]; ``t`` (1259,)
        float64, days since the first day; ``ticker`` (94,); ``largest`` (48,) int, columns of the
        stocks with the largest turnover; ``last823`` int, the row at which the last 823 days
        begin; ``frame``, the prices with the dates as the index and the tickers as columns, or
        None; ``DESCR``.

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
    It stands for the 48 stocks and 823 days of Deng et al. (2022), in ET appendix A.

    Examples
    --------
    >>> from sktvbo.datasets import load_sp500
    >>> data = load_sp500()  # doctest: +SKIP
    >>> data.close.shape  # doctest: +SKIP
    (1259, 94)
    """
    path, arrays = _load(
        _STOCKS_FILE,
        _STOCKS_SHAPES,
        data_dir,
        original='"S&P 500 stock data" of C. Nugent, kaggle.com/datasets/camnugent/sandp500',
        rule=(
            "Of the first 100 tickers keep the 94 without a missing day; idx48 are the columns of "
            "the 48 with the largest median of close times volume over the first 252 days. "
        ),
        kinds={"date": "U", "ticker": "U"},
    )
    date, t = _dates(path, arrays["date"], daily=False)
    close = arrays["close_usd"].astype(np.float64)
    n_days, n_stocks = close.shape
    largest, last823 = arrays["idx48"].astype(np.intp), int(arrays["last823_start"])
    if len(np.unique(largest)) < len(largest) or not 0 <= largest.min() <= largest.max() < n_stocks:
        raise _damaged(path, f"expected idx48 to be distinct columns from 0 to {n_stocks - 1}")
    if last823 != n_days - 823:
        raise _damaged(path, f"expected last823_start {n_days - 823}, got {last823}")
    index = date.astype("datetime64[s]")
    return Bunch(
        close=close,
        date=date,
        t=t,
        ticker=arrays["ticker"],
        largest=largest,
        last823=last823,
        frame=_as_frame(close, index, arrays["ticker"]) if as_frame else None,
        DESCR=_STOCKS_DESCR,
    )
