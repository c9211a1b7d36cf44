"""Downloads that end: within a size, a time and, where it is known, a checksum."""

import hashlib
import time
from http.client import HTTPException
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, build_opener

from ..exceptions import InvalidObservationError, MissingDataError

_SILENCE = 30.0  # seconds without an answer
_CHUNK = 1 << 16


def download(url, path, *, largest, timeout, n_retries=0, delay=1.0, allow_http=False, sha256=None):
    """Write what is at an address to a path.

    Parameters
    ----------
    url : str
    path : Path
    largest : int
        Bytes; more are refused, as soon as they are announced or arrive.
    timeout : float
        Seconds for everything, all attempts included.
    n_retries : int, default=0
        How often to try again when the connection fails.
    delay : float, default=1.0
        Seconds between two attempts.
    allow_http : bool, default=False
        Whether a connection may be one that anybody on the way can change, of the address or of
        what it redirects to.
    sha256 : str, default=None
        Checksum of the content, in hexadecimal digits; None where it is not known.

    Raises
    ------
    MissingDataError
        The address does not answer, or not in time, or not by https.
    InvalidObservationError
        Something else is there.
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
        f"What came from {url} is not the expected file: {what}. Nothing was stored; try again, or "
        "look at the address with a browser."
    )


class _InsecureError(OSError):
    """A connection that was not asked for."""


class Redirects(HTTPRedirectHandler):
    """Follows to https, and to http where that is allowed."""

    def __init__(self, allow_http):
        self.allow_http = allow_http

    def redirect_request(self, req, fp, code, msg, headers, newurl):
        _check_scheme(newurl, self.allow_http)
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _check_scheme(url, allow_http):
    scheme = urlsplit(url).scheme
    if scheme != "https" and not (allow_http and scheme == "http"):
        raise _InsecureError(
            f"{url} is not https, and what comes by another way may be anybody's; to take it all "
            "the same, say allow_http=True"
        )


def _copy(opener, url, path, largest, end):
    """Write the content to the path; its checksum."""
    digest, size = hashlib.sha256(), 0
    with opener.open(url, timeout=_left(end)) as response, path.open("wb") as file:
        announced = response.headers.get("Content-Length", "")
        expected = int(announced) if announced.isdecimal() else None
        _check_largest(url, expected or 0, largest)
        # One piece at a time, as it arrives: a server that drips would keep a longer read for ever.
        while piece := response.read1(_CHUNK):
            size += len(piece)
            _check_largest(url, size, largest)
            file.write(piece)
            digest.update(piece)
            _left(end)
    if expected is not None and size != expected:
        raise ConnectionError(f"it ended after {size} of {expected} bytes")
    return digest.hexdigest()


def _check_largest(url, size, largest):
    if size > largest:
        raise unexpected(url, f"it has more than {largest} bytes")


def _left(end):
    """Seconds that an answer may take, or a TimeoutError."""
    left = end - time.monotonic()
    if left <= 0.0:
        raise TimeoutError("it took too long; a larger timeout gives it more time")
    return min(left, _SILENCE)
