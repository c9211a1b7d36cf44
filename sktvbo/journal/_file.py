"""The file of a journal: one writer, whole steps, checksums."""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from .._checks import check_choice, invalid
from ..exceptions import JournalError
from ._rows import COLUMNS, START, Place, checked, event_sum, part_sum, stored_parts

if TYPE_CHECKING:
    from .._typing import PathLike

# "sktv" in ASCII says whose file it is, the other number which form it has.
APPLICATION = 0x736B7476
FORMAT = 1

# Checksums of at most this many events, the latest, are compared when a run is taken up again.
_N_CHECKED = 100_000

_SCHEMA = """
CREATE TABLE events (
    number INTEGER PRIMARY KEY, kind TEXT NOT NULL, at REAL NOT NULL, told INTEGER,
    body TEXT NOT NULL, sum TEXT NOT NULL);
CREATE UNIQUE INDEX events_told ON events (told) WHERE told IS NOT NULL;
CREATE TABLE parts (name TEXT PRIMARY KEY, body TEXT NOT NULL, sum TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE updates (number INTEGER PRIMARY KEY, body TEXT NOT NULL, sum TEXT NOT NULL);
"""

# Connections that a forked child found open: they are the parent's, and closing one would end what
# the parent believes it holds.
_abandoned = []


@dataclass(frozen=True)
class Journal:
    """Where, and how safely, an optimizer writes its journal.

    Parameters
    ----------
    path : path-like
        The file; made when it does not exist. Beside it stand files of the same name with
        ``-wal``, ``-shm`` and ``-lock`` at the end, which belong to it while it is open.
    synchronous : "normal" or "full", default="normal"
        What a call has survived when it returns. "normal": the end of this process, in whatever
        way, ``kill -9`` included; when the machine loses power the last moments may be missing, but
        the file stays whole. "full": the loss of power as well, for a disk that keeps what it
        confirms; each call then waits for the disk.

    Examples
    --------
    >>> from sktvbo import WDBO
    >>> from sktvbo.journal import Journal
    >>> opt = WDBO([(0.0, 1.0)], journal=Journal("run.db", synchronous="full"))
    """

    path: object
    synchronous: str = "normal"

    @classmethod
    def of(cls, journal: PathLike | Journal) -> Journal:
        """A journal from a path, or itself.

        Parameters
        ----------
        journal : path-like or Journal

        Returns
        -------
        Journal
        """
        if not isinstance(journal, cls):
            try:
                journal = cls(os.fspath(journal))
            except TypeError:
                raise invalid("journal", "a path or a Journal", journal) from None
        check_choice(journal.synchronous, ("normal", "full"), "synchronous", cls)
        return journal


@contextlib.contextmanager
def explained(path, doing="written"):
    """Say of SQLite's errors what has happened, and what to do."""
    try:
        yield
    except sqlite3.Error as exc:
        raise _explanation(path, str(exc), doing) from exc
    except UnicodeDecodeError as exc:
        # The message itself quotes what is damaged.
        raise _explanation(path, "malformed text", doing) from exc


_DAMAGED = (
    "It is damaged. Restore a copy; sktvbo journal check says what is left, and sktvbo journal "
    "export saves it."
)


def _explanation(path, what, doing):
    advice = {
        "locked": "It is in use by another process, or by another optimizer of this one: only one "
        "at a time goes on with a run. Wait for it, or close() the other optimizer.",
        "not a database": "It is no journal. Give another path.",
        "full": "The disk is full. Make room, and call again: nothing of this call has happened.",
        "readonly": "It cannot be written. Change its permissions or those of its folder, or copy "
        "it to a disk that can be written.",
        "unable to open": "It, or its folder, does not exist or may not be written. Make the "
        "folder, or change the permissions.",
        "malformed": _DAMAGED,
        "decode": _DAMAGED,
        "disk I/O": "The disk failed, or a limit of file sizes was met. Make room, and call again: "
        "nothing of this call has happened.",
    }
    for key, sentence in advice.items():
        if key in what:
            return JournalError(f"The journal {path} could not be {doing} ({what}). {sentence}")
    return JournalError(f"The journal {path} could not be {doing} ({what}).")


def connect(path, mode):
    """A connection to a file that is a journal, or empty; and whether it is empty.

    The mode is SQLite's: "rwc", "ro" or, for a file that nobody changes, "ro&immutable=1".
    """
    uri = f"{Path(path).resolve().as_uri()}?mode={mode}"
    connection = sqlite3.connect(
        uri, uri=True, isolation_level=None, timeout=0.0, check_same_thread=False
    )
    try:
        application = connection.execute("PRAGMA application_id").fetchone()[0]
        form = connection.execute("PRAGMA user_version").fetchone()[0]
        count = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        if application != APPLICATION and (application or form or count):
            raise JournalError(f"The file {path} is a database, but no journal. Give another path.")
        if count and form != FORMAT:
            raise JournalError(
                f"The journal {path} has format {form}, and this version of sktvbo knows format "
                f"{FORMAT}. Use the version of sktvbo that its first event names."
            )
    except BaseException:
        connection.close()
        raise
    return connection, not count


# Plain data as JSON.
to_text = json.JSONEncoder(allow_nan=False, separators=(",", ":")).encode


class JournalFile:
    """A journal that is open for writing, by one at a time.

    Parameters
    ----------
    journal : Journal

    Raises
    ------
    JournalError
        It is in use, no journal, of another format, or cannot be written.
    """

    def __init__(self, journal):
        self.path = os.fspath(journal.path)
        self._process = os.getpid()
        self._lock = self._connection = None
        try:
            with explained(self.path, "opened"):
                # A file of its own, so that others may look at the journal in the meantime.
                self._lock = sqlite3.connect(
                    f"{self.path}-lock",
                    isolation_level=None,
                    timeout=0.0,
                    check_same_thread=False,
                )
                self._lock.execute("BEGIN EXCLUSIVE")
                self._connection, self._empty = connect(self.path, "rwc")
                self._connection.execute("PRAGMA journal_mode=WAL")
                self._connection.execute(f"PRAGMA synchronous={journal.synchronous}")
                self._connection.execute("PRAGMA wal_autocheckpoint=400")
        except BaseException:
            self.close()
            raise

    @property
    def is_open(self):
        """Whether this process may write to it."""
        return self._connection is not None and self._process == os.getpid()

    def close(self):
        """Let others write to it."""
        connections = [c for c in (self._connection, self._lock) if c is not None]
        self._connection = self._lock = None
        if self._process != os.getpid():
            _abandoned.extend(connections)
            return
        for connection in connections:
            connection.close()

    def __del__(self):
        if hasattr(self, "_lock"):
            self.close()

    @property
    def end(self):
        """The place where it ends."""
        if self._empty:
            return START
        query = "SELECT number, sum FROM events ORDER BY number DESC LIMIT 1"
        with explained(self.path, "read"):
            row = self._connection.execute(query).fetchone()
        return START if row is None else Place(*row)

    def append(self, place, events, parts, updates, *, anew):
        """Write a step, all of it or nothing, behind a place; the place behind it.

        Parameters
        ----------
        place : Place
        events : list of (kind, told, body)
            ``told`` is the position of an observation among all, or None.
        parts : dict of str to plain data
            Those of the state that have changed.
        updates : list of plain data
            Of the surrogate, more of them.
        anew : bool or "updates"
            True: what stands behind the place is taken back, and the parts are all there are.
            "updates": the updates are all there are.
        """
        with explained(self.path):
            db = self._connection
            if db.in_transaction:
                db.execute("ROLLBACK")
            db.execute("BEGIN IMMEDIATE")
            try:
                if self._empty:
                    self._create(db)
                self._take_back(db, place, anew)
                after = self._insert(db, place, events)
                self._replace(db, parts, updates)
                db.execute("COMMIT")
            except BaseException:
                if db.in_transaction:
                    db.execute("ROLLBACK")
                raise
        self._empty = False
        return after

    def _create(self, db):
        if db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            return  # an interrupt came between a commit and the note of it
        for statement in _SCHEMA.split(";")[:-1]:
            db.execute(statement)
        db.execute(f"PRAGMA application_id={APPLICATION}")
        db.execute(f"PRAGMA user_version={FORMAT}")

    def _take_back(self, db, place, anew):
        if anew is True:
            db.execute("DELETE FROM events WHERE number > ?", (place.number,))
            db.execute("DELETE FROM parts")
        if anew:
            db.execute("DELETE FROM updates")
        query = "SELECT number, sum FROM events ORDER BY number DESC LIMIT 1"
        last = db.execute(query).fetchone() or (0, "")
        if last != (place.number, place.sum):
            raise JournalError(
                f"The journal {self.path} ends with event {last[0]}, the run with event "
                f"{place.number}: somebody else has written to it. Go on with resume()."
            )

    def _insert(self, db, place, events):
        number, chain, at = place.number, place.sum, time.time()
        for kind, told, body in events:
            number, text = number + 1, to_text(body)
            chain = event_sum(chain, number, kind, at, told, text)
            row = (number, kind, at, told, text, chain)
            db.execute("INSERT INTO events VALUES (?, ?, ?, ?, ?, ?)", row)
        return Place(number, chain)

    def _replace(self, db, parts, updates):
        for name, plain in parts.items():
            text = to_text(plain)
            row = (name, text, part_sum(name, text))
            db.execute("INSERT OR REPLACE INTO parts VALUES (?, ?, ?)", row)
        for plain in updates:
            text = to_text(plain)
            db.execute(
                "INSERT INTO updates (body, sum) VALUES (?, ?)", (text, part_sum("update", text))
            )

    # --- what was written -------------------------------------------------------------------------

    @property
    def is_empty(self):
        """Whether nothing was ever written."""
        return not self.end.number

    def _rows(self, query, arguments=()):
        with explained(self.path, "read"):
            return self._connection.execute(query, arguments).fetchall()

    def header(self):
        """Body of the first event, once the latest events are found to be whole."""
        if self.is_empty:
            advice = "It was killed before its first step: begin again, with the same path."
            raise JournalError(f"The journal {self.path} holds no run yet. {advice}")
        first = max(self.end.number - _N_CHECKED, 0)
        query = f"SELECT {COLUMNS} FROM events WHERE number > ? ORDER BY number"
        before = START
        if first:
            total = self._rows("SELECT sum FROM events WHERE number = ?", (first,))[0][0]
            before = Place(first, total)
        for _ in checked(self._rows(query, (first,)), before, self.path):
            pass
        row = self._rows(f"SELECT {COLUMNS} FROM events WHERE number = 1")
        return next(checked(row, START, self.path)).body

    def _events(self, which, *arguments):
        """Some events; an index may lead to others, so the checksum of each is compared."""
        query = (
            f"SELECT {COLUMNS}, (SELECT sum FROM events AS e WHERE e.number = events.number - 1) "
            f"FROM events WHERE {which}"
        )
        return [
            event
            for *row, before in self._rows(query, arguments)
            for event in checked([row], Place(row[0] - 1, before or ""), self.path)
        ]

    @property
    def n_told(self):
        """How many observations were told."""
        query = "SELECT told FROM events NOT INDEXED WHERE told IS NOT NULL"
        last = self._rows(f"{query} ORDER BY number DESC LIMIT 1")
        return last[0][0] + 1 if last else 0

    def told(self, positions, first):
        """(position, body) of observations at some positions, and of those from a first one on."""
        found = self._events("told >= ? ORDER BY told", first)
        for i in positions:
            found += self._events("told = ?", int(i))
        if {event.told for event in found} != {*positions, *range(first, self.n_told)}:
            raise JournalError(
                f"The journal {self.path} is damaged: there are observations that are not where "
                "they belong. Restore a copy."
            )
        return [(event.told, event.body) for event in found]

    def latest(self, kind, count):
        """Bodies of the latest events of a kind, in their order."""
        found = self._events("kind = ? ORDER BY number DESC LIMIT ?", kind, count)
        return [event.body for event in found[::-1]]

    def parts(self):
        """The parts of the state, plain data by name."""
        return stored_parts(self._rows("SELECT name, body, sum FROM parts"), self.path)

    def updates(self):
        """The updates of the surrogate, plain data."""
        rows = self._rows("SELECT 'update', body, sum FROM updates ORDER BY number")
        return [stored_parts([row], self.path)["update"] for row in rows]
