"""Readers of a journal: its events, and a check of the whole file."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from ..exceptions import JournalError
from ._file import (
    JournalContent,
    connect,
    incomplete,
    text_path,
    translated_errors,
    wal_path,
)
from ._rows import stored_parts

if TYPE_CHECKING:
    from .._typing import PathLike
    from ._rows import Event


@contextlib.contextmanager
def reading(path):
    """Yield a connection that reads a journal, also while another process writes to it.

    Raise an error at the end if the journal is empty or incomplete.
    """
    path = text_path(path)
    if not Path(path).is_file():
        raise JournalError(f"The journal {path} does not exist. Give the path of a journal.")
    with translated_errors(path, "read"):
        try:
            connection, is_empty, is_complete = connect(path, "ro")
        except sqlite3.OperationalError:
            # SQLite cannot create the files that a reader needs on a read-only disk, and may not
            # roll back the first transaction of a killed process.
            log = Path(wal_path(path))
            if log.is_file() and log.stat().st_size:
                raise JournalError(
                    f"The journal {path} cannot be read in a folder that cannot be written, as its "
                    f"latest steps are in {log}. Copy both files to another folder."
                ) from None
            connection, is_empty, is_complete = connect(path, "ro&immutable=1")
        with contextlib.closing(connection):
            if not is_empty:
                yield connection
            if not is_complete:
                raise incomplete(path)
            if is_empty:
                raise JournalError(f"The journal {path} holds no run yet. Give another path.")


def events(path: PathLike, after: int = 0) -> Iterator[Event]:
    """Yield the events of a journal, one by one, and compare their checksums.

    Parameters
    ----------
    path : path-like
    after : int, default=0
        Number of the last event to skip.

    Yields
    ------
    event : Event
        With attributes ``number``, ``kind``, ``at`` (seconds since 1970), ``told`` (position of the
        observation among all, or None) and ``body``, a dict.

    Raises
    ------
    JournalError
        The file does not exist, is no journal, or is damaged. Raised after the last event if the
        file was copied without its ``-wal`` file, so that the latest steps are missing.
    """
    with reading(path) as connection, translated_errors(path, "read"):
        yield from JournalContent(path, connection).since(after)


@contextlib.contextmanager
def opened(path):
    """Yield the `JournalContent` of a journal at one moment; see `reading`."""
    with reading(path) as connection:
        connection.execute("BEGIN")
        yield JournalContent(path, connection)


def header(path):
    """Return the body of the event with the parameters in force."""
    with opened(path) as content:
        return content.in_force()


def check(path: PathLike) -> dict[str, int]:
    """Check the database of a journal, and the checksum of every row.

    Parameters
    ----------
    path : path-like

    Returns
    -------
    counts : dict of str to int
        Number of events of each kind.

    Raises
    ------
    JournalError
        The file does not exist, is no journal, is damaged, or was copied without its ``-wal``
        file. The message locates the damage.

    Examples
    --------
    >>> import os, tempfile
    >>> from sktvbo import RandomSearch, journal
    >>> path = os.path.join(tempfile.mkdtemp(), "run.db")
    >>> opt = RandomSearch([(0.0, 1.0)], journal=path, random_state=0)
    >>> for t in range(3):
    ...     opt.tell(opt.ask(t), 1.0)
    >>> journal.check(path)
    {'begin': 1, 'ask': 3, 'tell': 3}
    """
    counts = {}
    with reading(path) as connection, translated_errors(path, "read"):
        answer = connection.execute("PRAGMA integrity_check").fetchone()[0]
        if answer != "ok":
            raise JournalError(f"The journal {path} is damaged ({answer}). Restore a copy.")
        for event in JournalContent(path, connection).since(0):
            counts[event.kind] = counts.get(event.kind, 0) + 1
        stored_parts(connection.execute("SELECT name, body, sum FROM parts"), path)
    return counts
