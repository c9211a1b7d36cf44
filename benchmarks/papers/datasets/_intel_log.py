"""Download of the Intel Berkeley lab's log, as the file that `load_intel_temperature` reads."""

from __future__ import annotations

import contextlib
import gzip
import os
import tempfile
import zlib
from datetime import date
from http.client import HTTPException
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit
from urllib.request import urlopen

import numpy as np
from sklearn.datasets import get_data_home

from sktvbo.exceptions import InvalidObservationError

from ._files import INTEL
from ._loaders import load_intel_temperature
from ._table import MissingDataError

if TYPE_CHECKING:
    from sklearn.utils import Bunch

    from sktvbo._typing import PathLike

LOG_URL = "https://db.csail.mit.edu/labdata/data.txt.gz"
LOCATIONS_URL = "https://db.csail.mit.edu/labdata/mote_locs.txt"
_COLUMNS = "date time epoch moteid temperature humidity light voltage"
_LONGEST_LINE = 500

_FIRST_DAY, _BIN, _BINS_PER_DAY = date(2004, 3, 1), 600, 144
_N_BINS = INTEL.shapes["t_s"][0]
# The other motes have less than 92 % of the bins; the readings of 18 drift as its battery fades.
SENSORS = [mote for mote in range(1, 55) if mote not in (5, 12, 14, 15, 18, 28, 49, 54)]

# A reading outside of these limits indicates a failing battery.
_COLDEST, _HOTTEST, _LOWEST_VOLTAGE = 0.0, 50.0, 2.35
# A gap of at most this many bins is filled linearly in time, a longer one by this many motes.
_SHORT_GAP, _N_NEIGHBOURS = 6, 4


def fetch_intel_temperature(
    *,
    data_home: PathLike | None = None,
    download_if_missing: bool = True,
    as_frame: bool = False,
    timeout: float = 60.0,
    allow_http: bool = False,
) -> Bunch:
    """Load the Intel Berkeley lab temperatures, after a download of their log if necessary.

    The log (34 MB, compressed) is read once. ``intel_lab_temperature.npz`` is stored in
    ``data_home``, which also serves as the ``data_dir`` of `load_intel_temperature` and of the
    problems.

    Parameters
    ----------
    data_home : path-like, default=None
        Folder of the file. None: scikit-learn's, ``~/scikit_learn_data`` or the one named by the
        environment variable ``SCIKIT_LEARN_DATA``.
    download_if_missing : bool, default=True
        False: raise a MissingDataError instead of downloading.
    as_frame : bool, default=False
        Also return a pandas data frame.
    timeout : float, default=60.0
        Seconds that the server may be silent.
    allow_http : bool, default=False
        Accept an unencrypted answer, for example when the server redirects there. The content could
        be altered on the way.

    Returns
    -------
    Bunch
        As from `load_intel_temperature`.

    Raises
    ------
    MissingDataError
        There is no file and the download is disabled, failed, or would use http.
    InvalidObservationError
        The downloaded file is not the log, or the stored file is damaged.
    MissingExtraError
        ``as_frame=True`` without pandas.

    Notes
    -----
    Lines that lack a value are skipped, as are readings outside of 0 to 50 degrees Celsius or below
    2.35 V. A bin is the mean of its valid readings. Gaps up to 6 bins are filled linearly in time.
    Longer ones follow the mean of the 4 nearest motes that were observed throughout the gap, plus
    an offset linear in time such that both ends fit; without such motes they are linear too. A gap
    at the first or last bin has one end, whose value (or offset) holds throughout.

    The published file follows the same rule, but from another author's ten-minute means, where only
    whole bins could be rejected, so that values differ.

    Examples
    --------
    >>> from datasets import fetch_intel_temperature
    >>> data = fetch_intel_temperature()  # doctest: +SKIP
    """
    home = Path(get_data_home(data_home))
    path = home / INTEL.file
    if not path.exists():
        if not download_if_missing:
            raise MissingDataError(
                f"{INTEL.file} was not found in {home}, and download_if_missing is False. Allow "
                "the download, or set data_home to the folder of an earlier one."
            )
        arrays = _download(timeout, allow_http)
        # The folder is on the file system of the file: os.replace is atomic there.
        with tempfile.TemporaryDirectory(dir=home, prefix="sktvbo-") as folder:
            new = Path(folder, "new.npz")
            np.savez_compressed(new, **arrays)
            os.replace(new, path)
    return load_intel_temperature(data_dir=home, as_frame=as_frame)


def _download(timeout, allow_http):
    """Return the arrays of the file."""
    with _opened(LOCATIONS_URL, timeout, allow_http) as answer:
        xy = read_locations(answer, SENSORS)
    with _opened(LOG_URL, timeout, allow_http) as answer:
        means = read_log(answer, SENSORS)
    temperature, fill_code = fill_gaps(means, xy)
    return {
        "temperature_c": temperature,
        "t_s": _BIN * np.arange(_N_BINS),
        "xy_m": xy,
        "sensor_id": np.array(SENSORS),
        "fill_code": fill_code,
    }


@contextlib.contextmanager
def _opened(url, timeout, allow_http):
    """Context with the answer of an address."""
    try:
        with urlopen(url, timeout=timeout) as answer:
            scheme = urlsplit(answer.url).scheme
            if scheme != "https" and not (allow_http and scheme == "http"):
                raise OSError(
                    f"{answer.url} is not https, so its content could be altered on the way; to "
                    "accept that, set allow_http=True"
                )
            yield answer
    except (OSError, HTTPException) as exc:
        raise MissingDataError(
            f"The download of {url} failed: {exc}. Check the network connection and try again, or "
            "use load_intel_temperature with a copy of its file."
        ) from exc


def _unexpected(url, what):
    return InvalidObservationError(
        f"The download of {url} is not the expected file: {what}. Nothing was stored. Try again, "
        "or open the address in a browser."
    )


def read_locations(answer, motes):
    """Return the positions (m, 2) of motes (m,)."""
    try:
        rows = [line.split() for line in answer.read().decode("ascii").splitlines()]
        places = {int(mote): (float(x), float(y)) for mote, x, y in rows}
        xy = np.array([places[mote] for mote in motes])
    except (ValueError, KeyError) as exc:
        what = f"expected a line 'moteid x y' of each mote ({exc})"
        raise _unexpected(LOCATIONS_URL, what) from exc
    if len(places) < len(rows) or not np.isfinite(xy).all():
        raise _unexpected(LOCATIONS_URL, "expected each mote once, with finite positions")
    return xy


def read_log(answer, motes):
    """Return the means (1152, m) of the valid readings of motes (m,) by bin, NaN without any.

    Lines that lack a value, of which the original has many, are skipped.
    """
    column_of = {str(mote): column for column, mote in enumerate(motes)}
    total, count = np.zeros((2, _N_BINS, len(motes)))
    try:
        with gzip.open(answer, "rt", encoding="ascii", errors="replace") as file:
            # The limit bounds the memory of a line without an end.
            for line in iter(lambda: file.readline(_LONGEST_LINE), ""):
                try:
                    day, clock, _, mote, temperature, _, _, voltage = line.split()
                    hours, minutes, _ = clock.split(":")
                    days = (date.fromisoformat(day) - _FIRST_DAY).days
                    row = _BINS_PER_DAY * days + (60 * int(hours) + int(minutes)) * 60 // _BIN
                    value, charged = float(temperature), float(voltage) >= _LOWEST_VOLTAGE
                except ValueError:
                    continue
                known = mote in column_of and 0 <= row < _N_BINS
                if known and charged and _COLDEST <= value <= _HOTTEST:
                    total[row, column_of[mote]] += value
                    count[row, column_of[mote]] += 1.0
    except (EOFError, gzip.BadGzipFile, zlib.error) as exc:
        raise _unexpected(LOG_URL, f"it is no complete gzip file ({exc})") from exc
    if not count.any(axis=0).all():
        what = f"expected lines of '{_COLUMNS}' with readings of the motes {motes}"
        raise _unexpected(LOG_URL, what)
    return np.where(count > 0.0, total / np.maximum(count, 1.0), np.nan)


def fill_gaps(table, xy):
    """Fill the gaps, NaN, of a table (n, m) of motes at xy (m, 2); see the Notes above.

    Returns
    -------
    filled, code : ndarray of shape (n, m)
        The table without gaps, and its ``fill_code``.
    """
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
