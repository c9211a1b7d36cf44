"""The file of a journal: one writer, whole steps, checksums.

SQLite writes steps to a second file, ``-wal``, and moves them to the first one now and then. While
a journal is open, and after a process was killed, both are needed. The first one says so by a
negative format, so that a copy of it alone is not taken for the whole.
"""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import time
import weakref
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from .._validation import check_choice, invalid
from ..exceptions import JournalError
from ._rows import COLUMNS, START, Place, checked, event_sum, part_sum, stored_parts

if TYPE_CHECKING:
    from .._typing import PathLike

# "sktv" in ASCII says whose file it is, the other number which form it has.
APPLICATION = 0x736B7476
FORMAT = 2

# Checksums of at most this many events, the latest, are compared when a run is taken up again.
_N_CHECKED = 100_000

_SCHEMA = """
CREATE TABLE events (
    number INTEGER PRIMARY KEY, kind TEXT NOT NULL, at REAL NOT NULL, told INTEGER,
    body TEXT NOT NULL, sum TEXT NOT NULL);
CREATE UNIQUE INDEX events_told ON events (told) WHERE told IS NOT NULL;
CREATE TABLE parts (name TEXT PRIMARY KEY, body TEXT NOT NULL, sum TEXT NOT NULL) WITHOUT ROWID;
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
        ``-wal``, ``-shm`` and ``-lock`` at the end, which belong to it while it is open, or after a
        process was killed. After ``close()`` the file alone is complete. To copy a journal in use,
        copy it with its ``-wal`` file; a copy without that is refused.
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


def log_of(path):
    """The file beside a journal in which its latest steps are, as long as it is open."""
    return f"{Path(path).resolve()}-wal"


def connect(path, mode):
    """A connection to a journal, or an empty file; whether it is empty; whether it is complete.

    The mode is SQLite's: "rwc", "ro" or, for a file that nobody changes, "ro&immutable=1".
    """
    # SQLite may make an empty log by itself.
    has_log = _size(log_of(path)) > 0
    if has_log and not _size(path):
        raise JournalError(
            f"The journal {path} does not exist, but its latest steps are in {log_of(path)}: it "
            "was deleted or renamed. Move it back, or give another path."
        )
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
        if count and abs(form) != FORMAT:
            raise JournalError(
                f"The journal {path} has format {form}, and this version of sktvbo knows format "
                f"{FORMAT}. Use the version of sktvbo that its first event names."
            )
    except BaseException:
        connection.close()
        raise
    return connection, not count, form != -FORMAT or has_log


def incomplete(path):
    """The error of a journal without the file in which its latest steps are."""
    return JournalError(
        f"The journal {path} is not complete: its latest steps were in {log_of(path)}, which is "
        "not there. It was copied, renamed or left alone while it was in use. Copy both files, or "
        "close() the optimizer first. If the steps are lost, or another program has moved them to "
        f"the journal, accept it as it is: sqlite3 {path} 'PRAGMA user_version={FORMAT}'."
    )


def _size(path):
    """Size of a file, 0 if it does not exist."""
    try:
        return os.stat(path).st_size
    except FileNotFoundError:
        return 0


def _identity(found):
    """What tells a file from all others, whatever its name."""
    return found.st_dev, found.st_ino


def _release(path, connection, lock, process):
    """Let others write to a journal, whose file is complete from now on."""
    if process != os.getpid():
        _abandoned.extend((connection, lock))
        return
    with explained(path):
        try:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            # The log begins again, so that the note needs no room on the disk.
            connection.execute("PRAGMA wal_checkpoint")
        finally:
            try:
                connection.execute(f"PRAGMA user_version={FORMAT}")
            finally:
                # The last connection moves the note to the file, and deletes the log.
                connection.close()
                lock.close()


# Plain data as JSON.
to_text = json.JSONEncoder(allow_nan=False, separators=(",", ":")).encode


class JournalFile:
    """A journal that is open for writing, by one at a time.

    Parameters
    ----------
    journal : Journal
    begun : bool, default=False
        Whether it must exist.

    Raises
    ------
    JournalError
        It is in use, no journal, of another format, not complete, or cannot be written.
    """

    def __init__(self, journal, begun=False):
        self.path = os.fspath(journal.path)
        self._where = str(Path(self.path).resolve())
        self._log = log_of(self.path)
        if begun and not _size(self._where):
            raise JournalError(
                f"The journal {self.path} does not exist any more. Move it back, or go on without "
                "it: from_json(to_json())."
            )
        self._process = os.getpid()
        lock = connection = None
        try:
            with explained(self.path, "opened"):
                # A file of its own, so that others may look at the journal in the meantime.
                lock = sqlite3.connect(
                    f"{self._where}-lock",
                    isolation_level=None,
                    timeout=0.0,
                    check_same_thread=False,
                )
                lock.execute("BEGIN EXCLUSIVE")
                connection, self._empty, complete = connect(self.path, "rwc")
                if not complete:
                    raise incomplete(self.path)
                connection.execute("PRAGMA journal_mode=WAL")
                connection.execute(f"PRAGMA synchronous={journal.synchronous}")
                connection.execute("PRAGMA wal_autocheckpoint=400")
        except BaseException:
            for opened in (connection, lock):
                if opened is not None:
                    opened.close()
            raise
        # Runs at the end of the process as well, where objects may be deleted in any order.
        self._release = weakref.finalize(self, _release, self.path, connection, lock, self._process)
        self._connection, self._left = connection, None
        try:
            with explained(self.path, "opened"):
                self._mark()
                self._files = _identity(os.stat(self._where)), _identity(os.stat(self._log))
        except BaseException:
            self._release()
            raise

    def _mark(self):
        """Note in the file that it is not complete without its log."""
        db = self._connection
        db.execute("BEGIN IMMEDIATE")
        db.execute(f"PRAGMA application_id={APPLICATION}")
        db.execute(f"PRAGMA user_version={-FORMAT}")
        db.execute("COMMIT")
        _, logged, moved = db.execute("PRAGMA wal_checkpoint").fetchone()
        # A reader of the file as it was keeps the note from it: try again at the next step.
        self._is_marked = logged == moved

    @property
    def is_open(self):
        """Whether this process may write to it."""
        return self._release.alive and self._process == os.getpid()

    def close(self):
        """Let others write to it."""
        if not self._release.alive:
            return
        missing = self.is_open and self._missing() == self._where
        self._release()
        if missing:
            raise self._gone(self._where)

    def _missing(self):
        """Path of the first of its files that is not in its place, or None."""
        for path, identity in zip((self._where, self._log), self._files):
            try:
                found = os.stat(path)
            except OSError:  # the file, or its folder, is not there, or may not be looked at
                return path
            if _identity(found) != identity:
                return path
        return None

    def _gone(self, path):
        advice = (
            f"Move it back, with {self._log}, and call again; or go on without a journal, with "
            "from_json(to_json())."
        )
        if path == self._log:
            advice = f"Call close(), which writes all steps to {self._where}, and call again."
        return JournalError(
            f"The journal {self.path} could not be written: {path} was deleted, renamed or "
            f"replaced by another file while it was in use. {advice}"
        )

    def _check_place(self):
        """Raise an error where what is written would be lost."""
        missing = self._missing()
        if missing is not None:
            raise self._gone(missing)
        if self._left not in (None, self._content()):
            raise JournalError(
                f"The journal {self.path} was overwritten by another program. Restore a copy, or "
                "go on without a journal, with from_json(to_json())."
            )

    def _content(self):
        """What changes with the content of the file."""
        found = os.stat(self._where)
        return found.st_size, found.st_mtime_ns

    @property
    def end(self):
        """The place where it ends."""
        if self._empty:
            return START
        query = "SELECT number, sum FROM events ORDER BY number DESC LIMIT 1"
        with explained(self.path, "read"):
            row = self._connection.execute(query).fetchone()
        return START if row is None else Place(*row)

    def append(self, place, events, parts, *, rewrite):
        """Write a step, all of it or nothing, behind a place; the place behind it.

        Parameters
        ----------
        place : Place
        events : list of (kind, told, body)
            ``told`` is the position of an observation among all, or None.
        parts : dict of str to plain data
            Those of the state that have changed.
        rewrite : bool
            Delete the events behind the place, and all parts, first.
        """
        self._check_place()
        # Unknown, until the step is whole.
        self._left = None
        with explained(self.path):
            db = self._connection
            if db.in_transaction:
                db.execute("ROLLBACK")
            if not self._is_marked:
                self._mark()
            db.execute("BEGIN IMMEDIATE")
            try:
                if self._empty:
                    self._create(db)
                self._take_back(db, place, rewrite)
                after = self._insert(db, place, events)
                self._replace(db, parts)
                db.execute("COMMIT")
            except BaseException:
                if db.in_transaction:
                    db.execute("ROLLBACK")
                raise
        self._empty = False
        self._left = self._content()
        return after

    def _create(self, db):
        if db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            return  # an interrupt came between a commit and the note of it
        for statement in _SCHEMA.split(";")[:-1]:
            db.execute(statement)

    def _take_back(self, db, place, rewrite):
        if rewrite:
            db.execute("DELETE FROM events WHERE number > ?", (place.number,))
            db.execute("DELETE FROM parts")
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

    def _replace(self, db, parts):
        for name, plain in parts.items():
            text = to_text(plain)
            row = (name, text, part_sum(name, text))
            db.execute("INSERT OR REPLACE INTO parts VALUES (?, ?, ?)", row)

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
