"""Download of the Intel lab's log, from a stand-in for the network."""

import gzip
import io
from functools import cache
from http.client import IncompleteRead
from urllib.error import HTTPError, URLError

import numpy as np
import pytest
from datasets import MissingDataError, _intel_log, fetch_intel_temperature, load_intel_temperature
from datasets._files import INTEL
from datasets._intel_log import LOCATIONS_URL, LOG_URL, SENSORS, fill_gaps
from numpy.testing import assert_allclose, assert_array_equal

from sktvbo.exceptions import InvalidObservationError

LOCATIONS = "".join(f"{mote} {mote}.5 {-mote}\n" for mote in range(1, 55)).encode()
DAYS = [f"2004-03-0{day}" for day in range(1, 9)]


def reading(day, minutes, mote, temperature, voltage=2.7):
    clock = f"{int(minutes) // 60:02d}:{int(minutes) % 60:02d}:31.5"
    return f"{day} {clock} 7 {mote} {temperature} 40.1 45.08 {voltage}"


@cache
def log(*more, without=()):
    """Return a log: a reading in every third bin of all motes, and then further lines."""
    lines = [
        reading(DAYS[k // 144], 10 * (k % 144) + 3, mote, 20.0 + 0.01 * k)
        for k in range(0, 1152, 3)
        for mote in range(1, 55)
        if mote not in without
    ]
    return gzip.compress("".join(f"{line}\n" for line in [*lines, *more]).encode(), mtime=0)


class Answer(io.BytesIO):
    """Answer of an address, which a redirect may have changed."""

    def __init__(self, url, content):
        super().__init__(content)
        self.url = url


class Web:
    """Stand-in for ``urlopen``: contents, errors and redirects by address."""

    def __init__(self):
        self.files = {LOCATIONS_URL: LOCATIONS, LOG_URL: log()}
        self.redirects, self.requests = {}, []

    def open(self, url, timeout):
        assert timeout > 0.0
        self.requests.append(url)
        content = self.files[url]
        if isinstance(content, Exception):
            raise content
        return Answer(self.redirects.get(url, url), content)


@pytest.fixture
def web(monkeypatch):
    web = Web()
    monkeypatch.setattr(_intel_log, "urlopen", web.open)
    return web


@pytest.fixture
def fetch(web, tmp_path, monkeypatch):
    def fetch(**options):  # by default into the folder of scikit-learn's data
        return fetch_intel_temperature(**options)

    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path))
    fetch.home = tmp_path
    return fetch


# --- contents -------------------------------------------------------------------------------------


def test_bins_and_positions_are_stored_once(fetch, web):
    data = fetch()
    assert_array_equal(data.sensor_id, SENSORS)
    assert_array_equal(data.xy[:, 0], np.array(SENSORS) + 0.5)
    assert_array_equal(data.t, 600.0 * np.arange(1152))
    # Two bins of three are gaps, filled linearly; the last two have one end.
    k = np.minimum(np.arange(1152), 1149)
    assert_allclose(data.temperature, np.tile(20.0 + 0.01 * k, (46, 1)).T, rtol=1e-12)
    assert_array_equal(data.fill_code, np.tile(np.arange(1152) % 3 > 0, (46, 1)).T)
    assert_array_equal(fetch(download_if_missing=False).temperature, data.temperature)
    assert web.requests == [LOCATIONS_URL, LOG_URL]
    assert [path.name for path in fetch.home.iterdir()] == [INTEL.file]
    assert_array_equal(load_intel_temperature(data_dir=fetch.home).xy, data.xy)


def test_a_bin_is_the_mean_of_its_valid_readings(fetch, web):
    more = [
        ("2004-03-01", 30.0, 1, 10.0),  # the fourth bin has 20.03 already
        ("2004-03-01", 39.9, 1, 12.0),
        ("2004-03-01", 40.0, 1, 30.6),  # of the next bin
        ("2004-03-01", 31.0, 1, 122.153),
        ("2004-03-01", 32.0, 1, 50.01),
        ("2004-03-01", 33.0, 1, -0.01),
        ("2004-03-01", 34.0, 1, 40.0, 2.34),
        ("2004-03-01", 35.0, 1, "nan"),
        ("2004-03-01", 35.0, 77, 11.0),  # no mote of the table
        ("2004-02-29", 35.0, 1, 11.0),  # before and after the days
        ("2004-03-09", 35.0, 1, 11.0),
        # The limits themselves are valid.
        ("2004-03-01", 70.0, 1, 0.0),
        ("2004-03-01", 80.0, 1, 50.0),
        ("2004-03-01", 100.0, 1, 25.0, 2.35),
    ]
    odd = ["2004-03-01 00:33:31.5 7 1 99", "", "? ? ? ? ? ? ? ?"]
    web.files[LOG_URL] = log(*odd, *(reading(*row) for row in more))
    temperature = fetch().temperature[:, 0]
    assert temperature[3] == pytest.approx((20.03 + 10.0 + 12.0) / 3)
    assert_allclose(temperature[[4, 7, 8, 10]], [30.6, 0.0, 50.0, 25.0])


# --- gaps -----------------------------------------------------------------------------------------


def gap(n, start, stop, m=1):
    """Return a random table (n, m) with a gap in its first column, and the table without gap."""
    whole = np.random.RandomState(0).normal(size=(n, m))
    table = whole.copy()
    table[start:stop, 0] = np.nan
    return table, whole


def test_short_gaps_are_filled_linearly():
    table, whole = gap(20, 4, 10, m=6)
    filled, code = fill_gaps(table, np.arange(12.0).reshape(6, 2))
    expected = whole[3, 0] + np.arange(1, 7) / 7 * (whole[10, 0] - whole[3, 0])
    assert_allclose(filled[4:10, 0], expected, rtol=1e-12)
    assert_array_equal(np.flatnonzero(code), np.ravel_multi_index((range(4, 10), [0] * 6), (20, 6)))
    assert set(code.ravel()) == {0, 1}
    assert_array_equal(filled[code == 0], whole[code == 0])
    table, whole = gap(20, 4, 16)  # a long one without neighbours is filled linearly, too
    filled, code = fill_gaps(table, np.zeros((1, 2)))
    assert_allclose(filled[:, 0][3:17], np.linspace(whole[3, 0], whole[16, 0], 14), rtol=1e-12)
    assert_array_equal(code[4:16, 0], 1)


def test_long_gaps_follow_the_four_nearest_that_were_observed_throughout():
    table, whole = gap(20, 4, 11, m=8)
    xy = np.column_stack([[0, 1, -2, 3, -4, 5, 6, 7], np.zeros(8)])
    table[11, 2] = np.nan  # missing at the gap's very end: not a neighbour
    filled, code = fill_gaps(table, xy)
    guide = whole[:, [1, 3, 4, 5]].mean(axis=1)
    offset = np.interp(np.arange(20), [3, 11], (whole[:, 0] - guide)[[3, 11]])
    assert_allclose(filled[4:11, 0], (guide + offset)[4:11], rtol=1e-12)
    assert_array_equal(code[4:11, 0], 2)
    assert code[11, 2] == 1


@pytest.mark.parametrize(
    ("start", "stop", "end", "m"), [(0, 3, 3, 1), (17, 20, 16, 1), (0, 9, 9, 2), (11, 20, 10, 2)]
)
def test_a_gap_with_one_end_holds_its_value_or_a_long_one_its_offset(start, stop, end, m):
    table, whole = gap(20, start, stop, m)
    filled, code = fill_gaps(table, np.eye(2)[:m])
    guide = whole[:, 1] if m == 2 else np.zeros(20)
    expected = guide + whole[end, 0] - guide[end]
    assert_allclose(filled[start:stop, 0], expected[start:stop], rtol=1e-12)
    assert_array_equal(code[start:stop, 0], m)


def test_the_rule_reproduces_the_published_file():
    try:
        data = load_intel_temperature()
    except MissingDataError:
        pytest.skip("intel_lab_temperature.npz is missing: set SKTVBO_DATA")
    assert_array_equal(data.sensor_id, SENSORS)
    table = np.where(data.fill_code > 0, np.nan, data.temperature)
    filled, code = fill_gaps(table, data.xy)
    assert_allclose(filled, data.temperature, atol=1e-5)  # stored in single precision
    assert_array_equal(code, data.fill_code)


# --- failures -------------------------------------------------------------------------------------


def test_a_missing_or_a_damaged_file_is_named(fetch):
    with pytest.raises(MissingDataError, match=r"download_if_missing is False"):
        fetch(download_if_missing=False)
    (fetch.home / INTEL.file).write_bytes(b"PK nothing")
    with pytest.raises(InvalidObservationError, match=rf"{INTEL.file} is damaged"):
        fetch()


ERRORS = URLError("Connection refused"), HTTPError(LOG_URL, 404, "Not Found", {}, None)


@pytest.mark.parametrize("error", [*ERRORS, TimeoutError("timed out"), IncompleteRead(b"12")])
def test_failed_downloads(fetch, web, error):
    url = LOCATIONS_URL if isinstance(error, TimeoutError) else LOG_URL
    web.files[url] = error
    with pytest.raises(MissingDataError, match=rf"{url} failed: .*Check the network") as info:
        fetch()
    assert str(error) in str(info.value)
    assert list(fetch.home.iterdir()) == []


@pytest.mark.parametrize(
    ("url", "content", "message"),
    [
        (LOG_URL, log()[:-9], "no complete gzip file"),
        (LOG_URL, b"<html>Moved</html>", "no complete gzip file"),
        (LOG_URL, gzip.compress(b"<html>\nMoved\n"), "lines of 'date time .* of the motes"),
        (LOG_URL, gzip.compress(b"0" * 5_000_000), "lines of 'date time"),
        (LOG_URL, log(without=(7,)), "lines of 'date time"),
        (LOCATIONS_URL, b"\xff", "is not the expected file"),
        (LOCATIONS_URL, LOCATIONS + b"1 2 2\n", "is not the expected file"),
        (LOCATIONS_URL, LOCATIONS.replace(b"7.5", b"nan"), "is not the expected file"),
        (LOCATIONS_URL, LOCATIONS[:-9], "is not the expected file"),
    ],
    ids=["cut", "page", "packed", "no line", "mote lacks", "binary", "twice", "nan", "cut places"],
)
def test_wrong_files(fetch, web, url, content, message):
    web.files[url] = content
    with pytest.raises(InvalidObservationError, match=message) as info:
        fetch()
    assert url in str(info.value)
    assert list(fetch.home.iterdir()) == []


# --- security -------------------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", ["http", "file"])
def test_the_addresses_use_https_and_redirects_elsewhere_are_refused(fetch, web, scheme):
    assert LOG_URL.startswith("https://")
    assert LOCATIONS_URL.startswith("https://")
    web.redirects[LOG_URL] = f"{scheme}://example.org/log"
    with pytest.raises(MissingDataError, match=r"log is not https, .* set allow_http=True"):
        fetch()
    assert list(fetch.home.iterdir()) == []
    if scheme == "http":
        assert fetch(allow_http=True).temperature.shape == (1152, 46)
        return
    with pytest.raises(MissingDataError, match="is not https"):
        fetch(allow_http=True)
