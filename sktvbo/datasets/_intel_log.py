"""Log of the Intel Berkeley lab: download, means by bin, and gaps."""

from __future__ import annotations

import gzip
import math
import os
import tempfile
import zlib
from array import array as buffer
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from sklearn.datasets import get_data_home

from .._validation import check_int, check_real, invalid
from ..exceptions import MissingDataError
from ._download import download, unexpected
from ._files import INTEL
from ._loaders import intel_bunch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sklearn.utils import Bunch

    from .._typing import PathLike

LOG_URL = "https://db.csail.mit.edu/labdata/data.txt.gz"
LOCATIONS_URL = "https://db.csail.mit.edu/labdata/mote_locs.txt"
_COLUMNS = "date time epoch moteid temperature humidity light voltage"
_FIRST_DAY, _N_DAYS = date(2004, 2, 28), 38

# The log has 34 MB, and 151 MB when unpacked; a much larger file is another one.
LARGEST_LOG, LARGEST_UNPACKED, LARGEST_LOCATIONS = 70_000_000, 300_000_000, 100_000
_LONGEST_LINE = 500

_BIN = 600  # seconds
_BINS_PER_DAY = 86400 // _BIN
_N_BINS = _N_DAYS * _BINS_PER_DAY

# A reading outside of these limits indicates a failing battery.
_COLDEST, _HOTTEST, _LOWEST_VOLTAGE = 0.0, 50.0, 2.35
# A gap of at most this many bins is filled linearly in time, a longer one by this many motes.
_SHORT_GAP, _N_NEIGHBOURS = 6, 4

# The cache stores each bin's number of valid readings and their mean, 0 without any.
BINS = replace(
    INTEL,
    file="sktvbo_intel_lab_bins.npz",
    shapes={
        "mean_c": (_N_BINS, None),
        "count": (_N_BINS, None),
        "sensor_id": (None,),
        "xy_m": (None, 2),
    },
)


def fetch_intel_temperature(
    *,
    data_home: PathLike | None = None,
    download_if_missing: bool = True,
    first_day: str | date = "2004-03-01",
    n_days: int = 8,
    min_valid: float = 0.92,
    exclude: Sequence[int] = (18,),
    as_frame: bool = False,
    n_retries: int = 3,
    delay: float = 1.0,
    timeout: float = 900.0,
    allow_http: bool = False,
    sha256: str | None = None,
) -> Bunch:
    """Download the log of the Intel Berkeley lab and build a table of temperatures.

    The log (34 MB, compressed) is read once. The means of all its ten-minute bins are stored in
    ``data_home``, from which later calls read them.

    Parameters
    ----------
    data_home : path-like, default=None
        Folder of the cache. None: scikit-learn's, ``~/scikit_learn_data`` or the one named by the
        environment variable ``SCIKIT_LEARN_DATA``.
    download_if_missing : bool, default=True
        False: raise a MissingDataError instead of downloading.
    first_day : str or datetime.date, default="2004-03-01"
        First day of the table; the log covers 2004-02-28 to 2004-04-05.
    n_days : int, default=8
        Number of days.
    min_valid : float in (0, 1], default=0.92
        Motes with a smaller share of valid bins are left out.
    exclude : sequence of int, default=(18,)
        Further motes to leave out. The readings of 18 drift as its battery fades.
    as_frame : bool, default=False
        Also return a pandas data frame.
    n_retries : int, default=3
        Number of further attempts when the connection fails.
    delay : float, default=1.0
        Seconds between two attempts.
    timeout : float, default=900.0
        Seconds for each of the two files, all attempts included.
    allow_http : bool, default=False
        Accept unencrypted http, for example when the server redirects there. The content could be
        altered on the way.
    sha256 : str, default=None
        Checksum of the compressed log, if known: another log is refused.

    Returns
    -------
    Bunch
        As from `load_intel_temperature`, with 144 ``n_days`` bins and the remaining motes.

    Raises
    ------
    MissingDataError
        There is no cache and the download is disabled, failed, took too long, or would use http.
    InvalidObservationError
        The downloaded file is not the log, or the cache is damaged. Nothing is stored then.
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

    The file of `load_intel_temperature` follows the same rule, but from another author's
    ten-minute means, where only whole bins could be rejected. The tables therefore differ, possibly
    in the motes as well. No checksum of the log was published: without ``sha256`` only its form and
    its size are checked. More than 70 MB, or 300 MB unpacked, are refused.

    Examples
    --------
    >>> from sktvbo.datasets import fetch_intel_temperature
    >>> data = fetch_intel_temperature(n_days=5)  # doctest: +SKIP
    """
    days = _days_of_log(first_day, n_days)
    timeout = check_real(timeout, "timeout", interval="(0, inf)")
    min_valid = check_real(min_valid, "min_valid", interval="(0, 1]")
    home = Path(get_data_home(data_home))
    path = home / BINS.file
    if not path.exists():
        if not download_if_missing:
            raise MissingDataError(
                f"{BINS.file} was not found in {home}, and download_if_missing is False. Allow "
                "the download, or set data_home to the folder of an earlier one."
            )
        options = {"n_retries": n_retries, "delay": delay, "timeout": timeout}
        _make_bins(path, sha256, allow_http=allow_http, **options)
    bins = BINS.read(path)
    rows = slice(days.start * _BINS_PER_DAY, days.stop * _BINS_PER_DAY)
    observed = bins["count"][rows] > 0
    share = np.where(np.isin(bins["sensor_id"], exclude), 0.0, observed.mean(axis=0))
    keep = share >= min_valid
    if not keep.any():
        best = math.floor(1000.0 * share.max()) / 1000.0
        raise invalid(
            "min_valid",
            f"at most {best:g}, the largest share of valid bins that a mote has on these days",
            min_valid,
            advice="Lower it, or choose other days.",
        )
    xy = bins["xy_m"][keep]
    table = np.where(observed, bins["mean_c"][rows], np.nan)[:, keep]
    temperature, fill_code = fill_gaps(table, xy)
    return intel_bunch(
        temperature,
        _BIN * np.arange(float(len(table))),
        _FIRST_DAY + timedelta(days=days.start),
        as_frame,
        xy=xy,
        sensor_id=bins["sensor_id"][keep],
        fill_code=fill_code,
    )


def _days_of_log(first_day, n_days):
    """Return the range of the days, counted from the first of the log."""
    try:
        first = (date.fromisoformat(str(first_day)) - _FIRST_DAY).days
    except ValueError as exc:
        raise invalid("first_day", "a date YYYY-MM-DD", first_day) from exc
    n_days = check_int(n_days, "n_days")
    if not 0 <= first <= _N_DAYS - n_days:
        expected = f"among the {_N_DAYS} days from {_FIRST_DAY}"
        raise invalid("All days", expected, got=f"{n_days} days from {first_day}")
    return range(first, first + n_days)


def _make_bins(path, sha256, **options):
    """Download log and positions, and store the means by bin."""
    # The folder is on the file system of the cache: os.replace is atomic there.
    with tempfile.TemporaryDirectory(dir=path.parent, prefix="sktvbo-") as folder:
        locations, log, new = (Path(folder, name) for name in ("motes", "log", "bins.npz"))
        download(LOCATIONS_URL, locations, largest=LARGEST_LOCATIONS, **options)
        download(LOG_URL, log, largest=LARGEST_LOG, sha256=sha256, **options)
        sensor_id, xy = read_locations(locations)
        count, mean = bin_means(*read_log(log), sensor_id)
        np.savez_compressed(new, mean_c=mean, count=count, sensor_id=sensor_id, xy_m=xy)
        os.replace(new, path)


def read_locations(path):
    """Return numbers (m,) and positions (m, 2) of the motes, by increasing number."""
    try:
        table = np.array(
            [line.split() for line in path.read_text("ascii").splitlines()], dtype=float
        )
    except ValueError as exc:
        raise unexpected(LOCATIONS_URL, f"expected lines of 'moteid x y' ({exc})") from exc
    if table.ndim != 2 or table.shape[1] != 3 or not np.isfinite(table).all():
        raise unexpected(LOCATIONS_URL, "expected lines of 'moteid x y', three numbers each")
    sensor_id, first = np.unique(table[:, 0].astype(int), return_index=True)
    if len(first) < len(table):
        raise unexpected(LOCATIONS_URL, "expected each mote once")
    return sensor_id, table[first, 1:]


def read_log(path):
    """Return bin since the first day, mote, temperature and voltage, (n,) each, of a log's lines.

    Lines that lack a value, of which the original has many, are skipped.
    """
    bins, motes, temperatures, voltages = (buffer("d") for _ in range(4))
    origin = _FIRST_DAY.toordinal()
    n_lines, n_unpacked, odd = 0, 0, None
    try:
        with gzip.open(path, "rt", encoding="ascii", errors="replace") as file:
            # The limit bounds the memory of a line without an end.
            lines = iter(lambda: file.readline(_LONGEST_LINE), "")
            for n_lines, line in enumerate(lines, start=1):
                n_unpacked += len(line)
                if n_unpacked > LARGEST_UNPACKED:
                    raise unexpected(LOG_URL, f"it unpacks to more than {LARGEST_UNPACKED} bytes")
                try:
                    day, clock, _, mote, temperature, _, _, voltage = line.split()
                    hours, minutes, _ = clock.split(":")
                    since = (date.fromisoformat(day).toordinal() - origin) * 86400
                    seconds = since + 3600 * int(hours) + 60 * int(minutes)
                    row = seconds // _BIN, int(mote), float(temperature), float(voltage)
                except ValueError:
                    odd = odd or f"line {n_lines} is {line[:80]!r}"
                    continue
                for column, value in zip((bins, motes, temperatures, voltages), row):
                    column.append(value)
    except (EOFError, gzip.BadGzipFile, zlib.error) as exc:
        raise unexpected(LOG_URL, f"it is no complete gzip file ({exc})") from exc
    if 2 * len(bins) <= n_lines:
        what = f"expected lines of '{_COLUMNS}', but {odd or 'there is none'}"
        raise unexpected(LOG_URL, what)
    return tuple(map(np.asarray, (bins, motes, temperatures, voltages)))


def bin_means(bins, motes, temperature, voltage, sensor_id):
    """Return number and mean of the valid readings by bin and mote, each (n, m)."""
    shape = _N_BINS, len(sensor_id)
    valid = (
        (temperature >= _COLDEST)
        & (temperature <= _HOTTEST)
        & (voltage >= _LOWEST_VOLTAGE)
        & (bins >= 0)
        & (bins < shape[0])
        & np.isin(motes, sensor_id)
    )
    if not valid.any():
        raise unexpected(LOG_URL, "it has no valid reading of a mote with a known position")
    column = np.searchsorted(sensor_id, motes[valid])
    cell = bins[valid].astype(np.intp) * shape[1] + column
    count = np.bincount(cell, minlength=shape[0] * shape[1])
    total = np.bincount(cell, temperature[valid], minlength=len(count))
    return count.reshape(shape), (total / np.maximum(count, 1)).reshape(shape)


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
