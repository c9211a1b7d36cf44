"""Download of the Intel lab's log, from a local test server."""

import contextlib
import gzip
import hashlib
import os
import socket
import threading
import time
import tracemalloc
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.request import Request

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from sktvbo.datasets import _download, _intel_log, fetch_intel_temperature, load_intel_temperature
from sktvbo.datasets._intel_log import BINS, fill_gaps
from sktvbo.exceptions import InvalidObservationError, MissingDataError

ADDRESSES = _intel_log.LOG_URL, _intel_log.LOCATIONS_URL

LOCATIONS = b"1 0.0 0.0\n2 1.0 0.0\n3 2.0 0.0\n18 9.0 0.0\n"


def reading(day, minutes, mote, temperature, voltage=2.7):
    clock = f"{int(minutes) // 60:02d}:{int(minutes) % 60:02d}:31.5"
    return f"{day} {clock} 7 {mote} {temperature} 40.1 45.08 {voltage}"


def packed(lines):
    return gzip.compress("".join(f"{line}\n" for line in lines).encode(), mtime=0)


def day_of(mote, day="2004-03-01", skip=(), base=20.0):
    """Return a reading per bin of a day but ``skip``: ``base`` plus 0.1 degree a bin."""
    bins = sorted(set(range(144)).difference(skip))
    return [reading(day, 10 * k + 3, mote, base + 0.1 * k) for k in bins]


class Server(ThreadingHTTPServer):
    """Server of ``files``: path -> bytes, or successive (status, bytes, announced length)."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.files, self.requests = {}, []
        self.redirects, self.drip = {}, 0.0

    def url(self, path):
        return f"http://127.0.0.1:{self.server_port}{path}"


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.requests.append(self.path)
        if self.path in self.server.redirects:
            self.send_response(302)
            self.send_header("Location", self.server.redirects[self.path])
            self.end_headers()
            return
        answer = self.server.files.get(self.path, [(404, b"", 0)])
        if isinstance(answer, bytes):
            answer = [(200, answer, len(answer))]
        status, content, length = answer.pop(0) if len(answer) > 1 else answer[0]
        self.send_response(status)
        if length is not None:
            self.send_header("Content-Length", str(length))
        self.end_headers()
        with contextlib.suppress(ConnectionError):  # the client has hung up
            self._send(content)

    def _send(self, content):
        if not self.server.drip:
            self.wfile.write(content)
            return
        for byte in content:
            self.wfile.write(bytes([byte]))
            time.sleep(self.server.drip)

    def log_message(self, *_):
        pass


@pytest.fixture
def server(monkeypatch):
    server = Server()
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setattr(_intel_log, "LOG_URL", server.url("/data.txt.gz"))
    monkeypatch.setattr(_intel_log, "LOCATIONS_URL", server.url("/mote_locs.txt"))
    server.files = {"/mote_locs.txt": LOCATIONS, "/data.txt.gz": packed(day_of(1) + day_of(2))}
    yield server
    server.drip = 0.0
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def fetch(server, tmp_path):
    def fetch(lines=None, **options):
        if lines is not None:
            server.files["/data.txt.gz"] = packed(lines)
        # The test server uses http.
        defaults = {"data_home": tmp_path / "home", "n_days": 1, "delay": 0.0, "allow_http": True}
        return fetch_intel_temperature(**(defaults | options))

    fetch.home = tmp_path / "home"
    return fetch


# --- contents -------------------------------------------------------------------------------------


def test_bins_and_positions(fetch):
    data = fetch(day_of(2, base=30.0) + day_of(1))
    assert_array_equal(data.sensor_id, [1, 2])
    assert_array_equal(data.xy, [[0.0, 0.0], [1.0, 0.0]])
    assert_array_equal(data.t, 600.0 * np.arange(144))
    assert_allclose(data.temperature[:, 0], 20.0 + 0.1 * np.arange(144), rtol=1e-12)
    assert_allclose(data.temperature[:, 1], 30.0 + 0.1 * np.arange(144), rtol=1e-12)
    assert_array_equal(data.fill_code, 0)
    assert data.frame is None
    assert "(144, 2)" in data.DESCR
    assert "2004-03-01" in data.DESCR


def test_a_bin_is_the_mean_of_its_valid_readings(fetch):
    extra = [
        reading("2004-03-01", 50.0, 1, 10.0),  # the sixth bin has 20.5 already
        reading("2004-03-01", 59.9, 1, 12.0),
        reading("2004-03-01", 60.0, 1, 30.6),  # of the next bin
        reading("2004-03-01", 51.0, 1, 122.153),
        reading("2004-03-01", 52.0, 1, 50.01),
        reading("2004-03-01", 53.0, 1, -0.01),
        reading("2004-03-01", 54.0, 1, 40.0, voltage=2.34),
        reading("2004-03-01", 55.0, 1, "nan"),
        reading("2004-03-01", 55.0, 77, 11.0),  # a mote without a position
        reading("2004-02-27", 55.0, 1, 11.0),  # before and after the log
        reading("2004-04-06", 55.0, 1, 11.0),
    ]
    data = fetch(day_of(1) + extra)
    assert data.temperature[5, 0] == pytest.approx((20.5 + 10.0 + 12.0) / 3)
    assert data.temperature[6, 0] == pytest.approx((20.6 + 30.6) / 2)
    assert data.temperature[4, 0] == pytest.approx(20.4)


def test_the_limits_themselves_are_valid(fetch):
    lines = day_of(1, skip=(0, 1, 2))
    for k, (temperature, voltage) in enumerate([(0.0, 2.7), (50.0, 2.7), (25.0, 2.35)]):
        lines.append(reading("2004-03-01", 10 * k, 1, temperature, voltage))
    assert_allclose(fetch(lines).temperature[:3, 0], [0.0, 50.0, 25.0])


def test_incomplete_lines_are_skipped(fetch):
    lines = day_of(1)
    ragged = ["2004-03-01 00:03:31.5 7", "2004-03-01 00:03:31.5 7 1 99", "", "? ? ? ? ? ? ? ?"]
    assert_allclose(fetch(ragged + lines).temperature[:, 0], 20.0 + 0.1 * np.arange(144))


def test_days_are_chosen_from_the_same_cache(fetch, server):
    lines = day_of(1, base=20.0) + day_of(1, day="2004-04-05", base=5.0)
    assert fetch(lines).temperature[0, 0] == pytest.approx(20.0)
    requests = len(server.requests)
    later = fetch(first_day="2004-04-05")
    assert later.temperature[0, 0] == pytest.approx(5.0)
    assert later.t[0] == 0.0
    assert len(server.requests) == requests


def test_motes_are_kept_by_their_share_of_valid_bins(fetch):
    lines = day_of(1) + day_of(2, skip=range(3, 15)) + day_of(3, skip=range(3, 14)) + day_of(18)
    assert_array_equal(fetch(lines).sensor_id, [1, 3])  # 92.4 % and not 91.7 %
    assert_array_equal(fetch(min_valid=0.9).sensor_id, [1, 2, 3])
    assert_array_equal(fetch(exclude=(1,)).sensor_id, [3, 18])
    assert_array_equal(fetch(exclude=()).sensor_id, [1, 3, 18])


def test_as_frame(fetch):
    pytest.importorskip("pandas")
    data = fetch(as_frame=True)
    assert_array_equal(data.frame.to_numpy(), data.temperature)
    assert_array_equal(data.frame.columns, [1, 2])


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


@pytest.mark.parametrize(("start", "stop", "end"), [(0, 3, 3), (17, 20, 16)])
def test_a_gap_with_one_end_holds_its_value(start, stop, end):
    table, whole = gap(20, start, stop)
    filled, _ = fill_gaps(table, np.zeros((1, 2)))
    assert_array_equal(filled[start:stop, 0], whole[end, 0])


@pytest.mark.parametrize(("start", "stop", "end"), [(0, 9, 9), (11, 20, 10)])
def test_a_long_gap_with_one_end_holds_its_offset(start, stop, end):
    table, whole = gap(20, start, stop, m=2)
    filled, code = fill_gaps(table, np.eye(2))
    expected = whole[:, 1] + whole[end, 0] - whole[end, 1]
    assert_allclose(filled[start:stop, 0], expected[start:stop], rtol=1e-12)
    assert code[start, 0] == 2


def test_a_long_gap_without_neighbours_is_linear():
    table, whole = gap(20, 4, 16)
    filled, code = fill_gaps(table, np.zeros((1, 2)))
    assert_allclose(filled[:, 0][3:17], np.linspace(whole[3, 0], whole[16, 0], 14), rtol=1e-12)
    assert_array_equal(code[4:16, 0], 1)


def test_the_rule_reproduces_the_stored_file():
    try:
        data = load_intel_temperature()
    except MissingDataError:
        pytest.skip("intel_lab_temperature.npz is missing: set SKTVBO_DATA")
    table = np.where(data.fill_code > 0, np.nan, data.temperature)
    filled, code = fill_gaps(table, data.xy)
    assert_allclose(filled, data.temperature, atol=1e-5)  # stored in single precision
    assert_array_equal(code, data.fill_code)


# --- the cache ------------------------------------------------------------------------------------


def test_one_download_is_enough(fetch, server):
    first, again = fetch(), fetch()
    assert sorted(server.requests) == ["/data.txt.gz", "/mote_locs.txt"]
    assert_array_equal(first.temperature, again.temperature)
    assert [path.name for path in fetch.home.iterdir()] == [BINS.file]
    assert fetch(download_if_missing=False).temperature.shape == (144, 2)


def test_default_home_is_that_of_scikit_learn(fetch, monkeypatch, tmp_path):
    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path / "elsewhere"))
    fetch(data_home=None)
    assert (tmp_path / "elsewhere" / BINS.file).is_file()


def test_no_download_when_it_is_disabled(fetch, server):
    with pytest.raises(MissingDataError, match=r"home.*download_if_missing is False"):
        fetch(download_if_missing=False)
    assert server.requests == []


def test_damaged_cache_is_named(fetch):
    fetch()
    (fetch.home / BINS.file).write_bytes(b"PK nothing")
    with pytest.raises(InvalidObservationError, match=rf"{BINS.file} is damaged"):
        fetch()


def test_cache_with_other_contents_is_named(fetch):
    fetch.home.mkdir()
    np.savez(fetch.home / BINS.file, mean_c=np.zeros((3, 2)))
    with pytest.raises(InvalidObservationError, match="missing count"):
        fetch()
    arrays = {"count": np.zeros((3, 2)), "sensor_id": np.arange(2), "xy_m": np.zeros((2, 2))}
    np.savez(fetch.home / BINS.file, mean_c=np.zeros((3, 2)), **arrays)
    with pytest.raises(InvalidObservationError, match=r"mean_c must be of shape .*Got \(3, 2\)"):
        fetch()


# --- failures -------------------------------------------------------------------------------------


def nothing_is_left(fetch):
    return list(fetch.home.iterdir()) == []


def test_no_network(fetch, monkeypatch):
    with socket.socket() as deaf:  # bound, but it does not listen
        deaf.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{deaf.getsockname()[1]}/mote_locs.txt"
        monkeypatch.setattr(_intel_log, "LOCATIONS_URL", url)
        with pytest.raises(MissingDataError, match=r"mote_locs.txt failed.*Check the network"):
            fetch(n_retries=1)
    assert nothing_is_left(fetch)


def test_a_missing_file_is_requested_once(fetch, server):
    del server.files["/data.txt.gz"]
    with pytest.raises(MissingDataError, match=r"data.txt.gz failed: .*404"):
        fetch(n_retries=3)
    assert server.requests.count("/data.txt.gz") == 1
    assert nothing_is_left(fetch)


def test_a_failing_server_is_asked_again(fetch, server):
    good = packed(day_of(1))
    trouble = [(503, b"", 0), (200, good[:-9], len(good)), (200, good, len(good))]
    server.files["/data.txt.gz"] = list(trouble)
    assert fetch(n_retries=2).temperature.shape == (144, 1)
    assert server.requests.count("/data.txt.gz") == 3


def test_truncated_download(fetch, server):
    content = packed(day_of(1))
    server.files["/data.txt.gz"] = [(200, content[:100], len(content))]
    with pytest.raises(MissingDataError, match=rf"ended after 100 of {len(content)} bytes"):
        fetch(n_retries=1)
    assert server.requests.count("/data.txt.gz") == 2
    assert nothing_is_left(fetch)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (packed(day_of(1))[:-9], "no complete gzip file"),
        (packed(day_of(1))[:200] + bytes(300), "no complete gzip file"),
        (packed(day_of(1))[:10] + b"\xff" * 300, "no complete gzip file"),
        (b"<html>Moved</html>", "no complete gzip file"),
        (packed(["<html>", "Moved", "</html>"]), r"lines of 'date time .*line 1 is '<html>"),
        (packed([]), "there is none"),
        (packed([reading("2004-03-01", 3, 77, 20.0)]), "no valid reading"),
    ],
    ids=["cut", "zeros", "noise", "page", "packed page", "empty", "other motes"],
)
def test_wrong_log(fetch, server, content, message):
    server.files["/data.txt.gz"] = content
    with pytest.raises(InvalidObservationError, match=message) as info:
        fetch()
    assert server.url("/data.txt.gz") in str(info.value)
    assert nothing_is_left(fetch)


@pytest.mark.parametrize(
    "content",
    [b"", b"<html>Moved</html>", b"1 2\n3 4\n", b"1 0 0\n1 2 2\n", b"1 0 nan\n", b"\xff"],
    ids=["empty", "page", "two columns", "twice", "nan", "binary"],
)
def test_wrong_positions(fetch, server, content):
    server.files["/mote_locs.txt"] = content
    with pytest.raises(InvalidObservationError, match=r"mote_locs.txt is not the expected file"):
        fetch()
    assert nothing_is_left(fetch)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"first_day": "2004-02-27"}, r"38 days from 2004-02-28\. Got 1 days from 2004-02-27"),
        ({"first_day": "2004-04-05", "n_days": 2}, "Got 2 days"),
        ({"first_day": "monday"}, r"date YYYY-MM-DD\. Got 'monday' instead"),
        ({"n_days": 0}, r"n_days must be an int .* Got 0 instead"),
        ({"min_valid": 0.0}, r"min_valid must be .* \(0, 1\]\. Got 0.0 instead"),
        ({"timeout": 0.0}, "timeout must be a float in the range"),
        ({"timeout": -1.0}, "timeout must be a float in the range"),
        ({"timeout": np.nan}, "timeout must be a float in the range"),
        ({"timeout": "long"}, "timeout must be a float in the range"),
    ],
)
def test_options_are_checked_before_anything_is_downloaded(fetch, server, options, message):
    with pytest.raises(ValueError, match=message):
        fetch(**options)
    assert server.requests == []


def test_no_mote_with_enough_bins(fetch):
    message = r"min_valid must be at most 0.5, the largest share .* Got 0.92 instead. Lower it"
    with pytest.raises(ValueError, match=message):
        fetch(day_of(1, skip=range(72)))


def test_an_excluded_mote_does_not_count_for_the_largest_share(fetch):
    with pytest.raises(ValueError, match=r"at most 0.833, .* Got 0.9 instead"):
        fetch(day_of(1) + day_of(2, skip=range(24)), min_valid=0.9, exclude=(1,))


# --- security -------------------------------------------------------------------------------------


def test_http_is_opt_in(fetch, server):
    with pytest.raises(MissingDataError, match=r"is not https, .* set allow_http=True"):
        fetch(allow_http=False, n_retries=9)
    assert server.requests == []
    assert nothing_is_left(fetch)


def test_the_addresses_use_https():
    assert all(url.startswith("https://") for url in ADDRESSES)


@pytest.mark.parametrize("target", ["ftp://127.0.0.1/log", "file:///etc/passwd"])
def test_redirects_lead_to_no_other_protocol(fetch, server, target):
    server.redirects["/data.txt.gz"] = target
    with pytest.raises(MissingDataError, match=r"data.txt.gz failed"):
        fetch(n_retries=0)
    assert nothing_is_left(fetch)


def test_a_redirect_from_https_to_http_is_refused():
    def follow(allow_http):
        request = Request("https://example.org/log")
        handler = _download.Redirects(allow_http)
        return handler.redirect_request(request, None, 302, "Found", {}, "http://example.org/log")

    with pytest.raises(OSError, match=r"http://example\.org/log is not https"):
        follow(allow_http=False)
    assert follow(allow_http=True).full_url == "http://example.org/log"


def test_redirects_are_followed(fetch, server):
    server.files["/new"] = server.files.pop("/data.txt.gz")
    server.redirects["/data.txt.gz"] = server.url("/new")
    assert fetch().temperature.shape == (144, 2)


def test_the_checksum_of_the_log(fetch, server):
    content = server.files["/data.txt.gz"]
    with pytest.raises(InvalidObservationError, match=r"data.txt.gz .* its SHA-256 is .*, not 00"):
        fetch(sha256="00")
    assert nothing_is_left(fetch)
    assert fetch(sha256=hashlib.sha256(content).hexdigest().upper()).temperature.shape == (144, 2)


def test_a_too_large_log_is_refused(fetch, server, monkeypatch):
    content = server.files["/data.txt.gz"]
    monkeypatch.setattr(_intel_log, "LARGEST_LOG", len(content) - 1)
    for length in (10**12, None):
        server.files["/data.txt.gz"] = [(200, content, length)]
        with pytest.raises(InvalidObservationError, match=r"it has more than \d+ bytes\. Nothing"):
            fetch()
        assert nothing_is_left(fetch)
    monkeypatch.setattr(_intel_log, "LARGEST_LOG", len(content))
    assert fetch().temperature.shape == (144, 2)  # without an announcement


@pytest.mark.parametrize("line", [b"0" * 99 + b"\n", b"0"], ids=["lines", "no end"])
def test_a_bomb_is_refused_while_it_is_small(fetch, server, monkeypatch, line):
    monkeypatch.setattr(_intel_log, "LARGEST_UNPACKED", 2_000_000)
    server.files["/data.txt.gz"] = gzip.compress(line * (50_000_000 // len(line)))
    tracemalloc.start()
    try:
        with pytest.raises(InvalidObservationError, match="unpacks to more than 2000000 bytes"):
            fetch()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 20_000_000
    assert nothing_is_left(fetch)


def test_a_slow_server_times_out(fetch, server):
    server.drip = 0.05  # seconds a byte
    begun = time.monotonic()
    with pytest.raises(MissingDataError, match="it took too long; a larger timeout gives it more"):
        fetch(timeout=0.5, n_retries=100)
    assert time.monotonic() - begun < 10.0
    assert nothing_is_left(fetch)


def test_the_cache_is_as_readable_as_the_umask_says(fetch):
    before = os.umask(0o027)
    try:
        fetch()
    finally:
        os.umask(before)
    assert (fetch.home / BINS.file).stat().st_mode & 0o777 == 0o640
