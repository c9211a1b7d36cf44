"""Downloads with limits on size and time, and a checksum if known."""

import hashlib
import time
from http.client import HTTPException
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, build_opener

from ..exceptions import InvalidObservationError, MissingDataError

_LONGEST_WAIT = 30.0  # seconds, for one answer
_CHUNK = 1 << 16


def download(url, path, *, largest, timeout, n_retries=0, delay=1.0, allow_http=False, sha256=None):
    """Download the content of an address to a path.

    Parameters
    ----------
    url : str
    path : Path
    largest : int
        Limit in bytes. A larger file is refused once it is announced or arrives.
    timeout : float
        Seconds in total, all attempts included.
    n_retries : int, default=0
        Number of further attempts when the connection fails.
    delay : float, default=1.0
        Seconds between two attempts.
    allow_http : bool, default=False
        Allow unencrypted connections, for the address and for its redirects.
    sha256 : str, default=None
        Checksum of the content, in hexadecimal digits; None if unknown.

    Raises
    ------
    MissingDataError
        The address does not answer, answers too late, or does not use https.
    InvalidObservationError
        The content is too large or has another checksum.
    """
    end = time.monotonic() + timeout
    opener = build_opener(Redirects(allow_http))
    while True:
        try:
            _check_scheme(url, allow_http)
            digest = _copy(opener, url, path, largest, end)
            break
        except (OSError, HTTPException) as exc:
            refused = isinstance(exc, HTTPError) and exc.code < 500
            late = time.monotonic() + delay >= end
            if refused or late or n_retries <= 0 or isinstance(exc, _InsecureError):
                raise MissingDataError(
                    f"The download of {url} failed: {exc}. Check the network connection and try "
                    "again, or use load_intel_temperature with a copy of its file."
                ) from exc
            n_retries -= 1
            time.sleep(delay)
    if sha256 is not None and digest != sha256.lower():
        raise unexpected(url, f"its SHA-256 is {digest}, not {sha256}")


def unexpected(url, what):
    return InvalidObservationError(
        f"The download of {url} is not the expected file: {what}. Nothing was stored. Try again, "
        "or open the address in a browser."
    )


class _InsecureError(OSError):
    """Connection without encryption that the caller did not allow."""


class Redirects(HTTPRedirectHandler):
    """Handler that follows redirects to https, and to http if allowed."""

    def __init__(self, allow_http):
        self.allow_http = allow_http

    def redirect_request(self, req, fp, code, msg, headers, newurl):
        _check_scheme(newurl, self.allow_http)
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _check_scheme(url, allow_http):
    scheme = urlsplit(url).scheme
    if scheme != "https" and not (allow_http and scheme == "http"):
        raise _InsecureError(
            f"{url} is not https, so its content could be altered on the way; to accept that, "
            "set allow_http=True"
        )


def _copy(opener, url, path, largest, end):
    """Write the content to the path and return its checksum."""
    digest, size = hashlib.sha256(), 0
    with opener.open(url, timeout=_time_left(end)) as response, path.open("wb") as file:
        announced = response.headers.get("Content-Length", "")
        expected = int(announced) if announced.isdecimal() else None
        _check_largest(url, expected or 0, largest)
        # read1 returns with the bytes that have arrived: a slow server cannot block it past `end`.
        while piece := response.read1(_CHUNK):
            size += len(piece)
            _check_largest(url, size, largest)
            file.write(piece)
            digest.update(piece)
            _time_left(end)
    if expected is not None and size != expected:
        raise ConnectionError(f"it ended after {size} of {expected} bytes")
    return digest.hexdigest()


def _check_largest(url, size, largest):
    if size > largest:
        raise unexpected(url, f"it has more than {largest} bytes")


def _time_left(end):
    """Return the seconds that an answer may take, or raise a TimeoutError."""
    left = end - time.monotonic()
    if left <= 0.0:
        raise TimeoutError("it took too long; a larger timeout gives it more time")
    return min(left, _LONGEST_WAIT)
