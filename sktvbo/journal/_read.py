"""What a journal holds: events one by one, the parts of the state, and whether all is well."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING

from ..exceptions import JournalError
from ._file import connect, explained, incomplete, log_of
from ._rows import COLUMNS, START, Place, checked, stored_parts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .._typing import PathLike
    from ._rows import Event

_EVENTS = f"SELECT {COLUMNS} FROM events WHERE number > ? ORDER BY number"


@contextlib.contextmanager
def reading(path):
    """A connection that reads a journal, also while another process writes to it.

    After what is read of an incomplete one, raise an error.
    """
    path = os.fspath(path)
    if not Path(path).is_file():
        raise JournalError(f"The journal {path} does not exist. Give the path of one.")
    with explained(path, "read"):
        try:
            connection, empty, complete = connect(path, "ro")
        except sqlite3.OperationalError:
            # Beside a journal on a disk that cannot be written there is no room for notes, and of a
            # killed process that had hardly begun there are notes that a reader may not take away.
            log = Path(log_of(path))
            if log.is_file() and log.stat().st_size:
                raise JournalError(
                    f"The journal {path} cannot be read where it is: its latest steps are in "
                    f"{log}, beside which nothing can be written. Copy both to another folder."
                ) from None
            connection, empty, complete = connect(path, "ro&immutable=1")
        with contextlib.closing(connection):
            if not empty:
                yield connection
            if not complete:
                raise incomplete(path)
            if empty:
                raise JournalError(f"The journal {path} holds no run yet. Give another path.")


def events(path: PathLike, after: int = 0) -> Iterator[Event]:
    """The events of a journal, one by one, with their checksums compared.

    Parameters
    ----------
    path : path-like
    after : int, default=0
        Number of the event behind which to begin.

    Yields
    ------
    event : Event
        With attributes ``number``, ``kind``, ``at`` (seconds since 1970), ``told`` (position of the
        observation among all, or None) and ``body``, a dict.

    Raises
    ------
    JournalError
        The file does not exist, is no journal, or is damaged; after the events of a file whose
        latest steps are missing, as it was copied without its ``-wal`` file.
    """
    with reading(path) as connection, explained(path, "read"):
        place = START
        if after:
            row = connection.execute("SELECT sum FROM events WHERE number = ?", (after,)).fetchone()
            place = Place(after, "" if row is None else row[0])
        yield from checked(connection.execute(_EVENTS, (after,)), place, path)


def check(path: PathLike) -> dict[str, int]:
    """Check all of a journal: the database, and the checksum of every row.

    Parameters
    ----------
    path : path-like

    Returns
    -------
    counts : dict of str to int
        How many events there are of each kind.

    Raises
    ------
    JournalError
        The file does not exist, is no journal, is damaged, or was copied without its ``-wal``
        file; says where.

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
    with reading(path) as connection, explained(path, "read"):
        found = connection.execute("PRAGMA integrity_check").fetchone()[0]
        if found != "ok":
            raise JournalError(f"The journal {path} is damaged ({found}). Restore a copy.")
        for event in checked(connection.execute(_EVENTS, (0,)), START, path):
            counts[event.kind] = counts.get(event.kind, 0) + 1
        stored_parts(connection.execute("SELECT name, body, sum FROM parts"), path)
    return counts
