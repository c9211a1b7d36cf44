"""File of a journal: one writer, atomic steps, checksums.

SQLite writes steps to a write-ahead log, the file ``-wal``, and moves them to the database now and
then. While a journal is open, and after a process was killed, both files are needed. The database
then has a negative format number, so that a copy of it alone is not taken for a complete journal.
"""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import time
import weakref
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from .._validation import check_bool, check_choice, invalid
from ..exceptions import JournalError
from ._rows import (
    ALONE,
    EVENTS,
    IN_FORCE,
    START,
    Position,
    checked,
    checked_alone,
    event_sum,
    part_sum,
    stored_parts,
)

if TYPE_CHECKING:
    from .._typing import PathLike

# "sktv" in ASCII: SQLite's application_id of a journal.
APPLICATION = 0x736B7476

# Version of the layout, SQLite's user_version of a complete journal.
FORMAT = 7

# Events whose checksums are compared when a run is resumed, the latest.
_N_CHECKED = 100_000

_SCHEMA = """
CREATE TABLE events (
    number INTEGER PRIMARY KEY, kind TEXT NOT NULL, at REAL NOT NULL, told INTEGER,
    body TEXT NOT NULL, sum TEXT NOT NULL);
CREATE UNIQUE INDEX events_told ON events (told) WHERE told IS NOT NULL;
CREATE TABLE parts (name TEXT PRIMARY KEY, body TEXT NOT NULL, sum TEXT NOT NULL) WITHOUT ROWID;
"""

# Connections of a parent process, in a forked child. Closing one would release the parent's locks.
_abandoned = []


@dataclass(frozen=True)
class Journal:
    """Path and durability of an optimizer's journal.

    Parameters
    ----------
    path : path-like
        SQLite database, created if it does not exist; complete by itself after ``close()``. While
        in use it needs its ``-wal`` file, also in a copy (see Notes). A relative path is that of
        the folder in which the run begins or is resumed.
    synchronous : "normal" or "full", default="normal"
        Failures after which all finished calls are stored. "normal": the process ends, by
        ``kill -9`` as well; a power failure may lose the latest steps, but damages nothing. "full":
        power failures as well, if the disk is reliable; each call waits for the disk.
    resume : bool, default=False
        True: resume the run in the file, or begin one if there is none. False: begin one, and raise
        a JournalError if the file holds a run.

    Notes
    -----
    With ``resume=True`` a file that holds a run is opened by the first step, or the first read of
    an attribute. These parameters must be those of the run: the algorithm, ``maximize``,
    ``time_unit``, ``domain``, ``constraints``, ``outcome_constraints``, ``safety``, ``max_step``
    and ``start_points``. A JournalError lists the differences, and how to continue with other
    limits: ``with_parameters`` of the optimizer records them in the file, once for all programs.
    Other parameters are those of the file, attributes show them, and a
    warning names those that were given otherwise. Parameters with
    functions or objects of custom classes, which the file cannot hold, are those of the
    constructor.

    Files with ``-wal``, ``-shm`` and ``-lock`` after the journal's name belong to it while it is
    open, or after a process was killed. To copy a journal in use, copy it with its ``-wal`` file; a
    copy without that is refused.

    Examples
    --------
    >>> from sktvbo import WDBO, Journal
    >>> opt = WDBO([(0.0, 1.0)], journal=Journal("run.db", resume=True))
    """

    path: object
    synchronous: str = "normal"
    resume: bool = False

    @classmethod
    def of(cls, journal: PathLike | Journal) -> Journal:
        """Return a journal, given itself or its path.

        Parameters
        ----------
        journal : path-like or Journal

        Returns
        -------
        Journal
        """
        if not isinstance(journal, cls):
            journal = cls(journal)
        text_path(journal.path)
        check_choice(journal.synchronous, ("normal", "full"), "synchronous", cls)
        check_bool(journal.resume, "resume", cls)
        return journal

    def located(self) -> Journal:
        """Return the journal with an absolute path: that of the present folder, if it is relative.

        Returns
        -------
        Journal
        """
        return replace(self, path=os.path.abspath(self.path))


@contextlib.contextmanager
def translated_errors(path, action="written"):
    """Raise a JournalError with advice in place of SQLite's errors."""
    try:
        yield
    except sqlite3.Error as exc:
        raise _translated(path, action, str(exc)) from exc
    except UnicodeDecodeError as exc:
        # The message of SQLite quotes the damaged text.
        raise _translated(path, action, "malformed text") from exc


_DAMAGED = (
    "It is damaged. Restore a copy; sktvbo journal check locates the damage, and sktvbo journal "
    "export saves the events before it."
)

# Advice by a part of SQLite's message.
_ADVICE = {
    "locked": "It is in use by another process, or by another optimizer of this one: only one at a "
    "time may write to it. Wait for it, or close() the other optimizer.",
    "not a database": "It is not a journal. Give another path.",
    "full": "The disk is full. Make room, and call again: nothing of this call has happened.",
    "readonly": "It cannot be written. Change its permissions or those of its folder, or copy it "
    "to a disk that can be written.",
    "unable to open": "It, or its folder, does not exist or may not be written. Make the folder, "
    "or change the permissions.",
    "malformed": _DAMAGED,
    "decode": _DAMAGED,
    "disk I/O": "The disk failed, or a limit of file sizes was met. Make room, and call again: "
    "nothing of this call has happened.",
}


def _translated(path, action, message):
    advice = next((f" {text}" for part, text in _ADVICE.items() if part in message), "")
    return JournalError(f"The journal {path} could not be {action} ({message}).{advice}")


def text_path(path):
    """Return a path as text, or raise a ValueError."""
    try:
        text = os.fspath(path)
    except TypeError:
        raise invalid("journal", "a path or a Journal", path) from None
    if isinstance(text, bytes):
        advice = "Convert it with os.fsdecode(path)."
        raise invalid("journal", "a path of text, or a Journal", path, advice=advice)
    return text


def wal_path(path):
    """Return the path of a journal's write-ahead log, which has its latest steps while in use."""
    return f"{Path(path).resolve()}-wal"


def _open(database, uri=False):
    return sqlite3.connect(
        database, uri=uri, isolation_level=None, timeout=0.0, check_same_thread=False
    )


def connect(path, mode):
    """Open a journal, or an empty file.

    Parameters
    ----------
    path : path-like
    mode : "rwc", "ro" or "ro&immutable=1"
        SQLite's; the last one is for a file that no process changes.

    Returns
    -------
    connection : sqlite3.Connection
    is_empty, is_complete : bool
    """
    # SQLite may create an empty log by itself.
    has_log = _size(wal_path(path)) > 0
    if has_log and not _size(path):
        raise JournalError(
            f"The journal {path} does not exist, but its latest steps are in {wal_path(path)}: it "
            "was deleted or renamed. Move it back, or give another path."
        )
    connection = _open(f"{Path(path).resolve().as_uri()}?mode={mode}", uri=True)
    try:
        application = connection.execute("PRAGMA application_id").fetchone()[0]
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        n_tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        if application != APPLICATION and (application or version or n_tables):
            raise JournalError(f"The file {path} is a database, but no journal. Give another path.")
        if n_tables and abs(version) != FORMAT:
            raise JournalError(
                f"The journal {path} has format {version}, and this version of sktvbo reads format "
                f"{FORMAT}. Use the version of sktvbo that its first event names."
            )
    except BaseException:
        connection.close()
        raise
    return connection, not n_tables, version != -FORMAT or has_log


def incomplete(path):
    """Return the error of a journal without its write-ahead log."""
    return JournalError(
        f"The journal {path} is not complete: its latest steps were in {wal_path(path)}, which "
        "does not exist. It was copied or renamed alone while it was in use. Copy both files, or "
        "close() the optimizer first. If the steps are lost, or another program has moved them to "
        f"the journal, accept it as it is: sqlite3 {path} 'PRAGMA user_version={FORMAT}'."
    )


def _size(path):
    """Return the size of a file, 0 if it does not exist."""
    try:
        return os.stat(path).st_size
    except FileNotFoundError:
        return 0


def _identity(path):
    """Return device and inode of a file, which do not depend on its name."""
    status = os.stat(path)
    return status.st_dev, status.st_ino


def _release(path, connection, lock, process):
    """Close a journal, which is a complete file afterwards."""
    if process != os.getpid():
        _abandoned.extend((connection, lock))
        return
    with translated_errors(path):
        try:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            # Restarts the log, so that setting the format needs no room on the disk.
            connection.execute("PRAGMA wal_checkpoint")
        finally:
            try:
                if connection.execute("PRAGMA user_version").fetchone()[0] == -FORMAT:
                    connection.execute(f"PRAGMA user_version={FORMAT}")
            finally:
                # The last connection moves the format to the database, and deletes the log.
                connection.close()
                lock.close()


def resuming(path):
    """Return the argument of an optimizer that resumes the run of a journal."""
    return f"journal=Journal({path!r}, resume=True)"


# Plain data as JSON.
to_text = json.JSONEncoder(allow_nan=False, separators=(",", ":")).encode


class JournalContent:
    """Events and state of an open journal.

    Parameters
    ----------
    path : str
    connection : sqlite3.Connection
    """

    def __init__(self, path, connection):
        self.path, self._connection = path, connection

    @property
    def end(self):
        """Position behind the last event."""
        with translated_errors(self.path, "read"):
            return self._last_position()

    def _last_position(self):
        query = "SELECT number, sum FROM events ORDER BY number DESC LIMIT 1"
        row = self._connection.execute(query).fetchone()
        return START if row is None else Position(*row)

    def _rows(self, query, arguments=()):
        with translated_errors(self.path, "read"):
            return self._connection.execute(query, arguments).fetchall()

    def header(self):
        """Return the body of the event with the parameters in force, after a check of the latest.

        None: there are no events, as a process was killed before its first step.
        """
        end = self.end.number
        if not end:
            return None
        first = max(end - _N_CHECKED, 0)
        for _ in checked(self._rows(EVENTS, (first,)), self._behind(first), self.path):
            pass
        return self.in_force()

    def in_force(self):
        """Return the body of the event with the parameters in force."""
        return self._events(IN_FORCE)[0].body

    def since(self, number):
        """Yield the events behind the one of a number, and compare their checksums."""
        rows = self._connection.execute(EVENTS, (number,))
        yield from checked(rows, self._behind(number), self.path)

    def _behind(self, number):
        """Return the position behind the event of a number; without a checksum if there is none."""
        if not number:
            return START
        sums = self._rows("SELECT sum FROM events WHERE number = ?", (number,))
        return Position(number, sums[0][0] if sums else "")

    def _events(self, condition, *arguments):
        """Return some events, each with its checksum compared, as an index may be damaged."""
        return list(checked_alone(self._rows(ALONE + condition, arguments), self.path))

    @property
    def n_told(self):
        """Number of observations told."""
        query = "SELECT told FROM events NOT INDEXED WHERE told IS NOT NULL"
        last = self._rows(f"{query} ORDER BY number DESC LIMIT 1")
        return last[0][0] + 1 if last else 0

    def told(self, positions, first):
        """Return the events of the observations at positions, and from ``first`` on."""
        events = self._events("told >= ? ORDER BY told", first)
        for i in positions:
            events += self._events("told = ?", int(i))
        if {event.told for event in events} != {*positions, *range(first, self.n_told)}:
            raise JournalError(
                f"The journal {self.path} is damaged: its index lacks observations, or has wrong "
                "ones. Restore a copy."
            )
        return events

    def latest(self, kind, count=-1):
        """Return the latest events of a kind, or all, in their order."""
        return self._events("kind = ? ORDER BY number DESC LIMIT ?", kind, count)[::-1]

    def parts(self):
        """Return the parts of the state, plain data by name."""
        return stored_parts(self._rows("SELECT name, body, sum FROM parts"), self.path)

    @property
    def is_closed(self):
        """True if the writer closed it; False if it is open, or its process was killed."""
        return self._rows("PRAGMA user_version")[0][0] == FORMAT

    def counts(self):
        """Return the number of events of each kind (dict)."""
        return dict(self._rows("SELECT kind, count(*) FROM events GROUP BY kind"))


class JournalFile(JournalContent):
    """Journal that is open for writing, by one process and optimizer at a time.

    Parameters
    ----------
    journal : Journal
    must_exist : bool, default=False
        Raise an error instead of creating the file.

    Raises
    ------
    JournalError
        The file is in use, no journal, of another format, incomplete, or cannot be written.
    """

    def __init__(self, journal, must_exist=False):
        self.path = os.fspath(journal.path)
        self._database = str(Path(self.path).resolve())
        self._wal = wal_path(self.path)
        if must_exist and not _size(self._database):
            raise JournalError(
                f"The journal {self.path} does not exist any more. Move it back, or continue "
                "without it: from_json(to_json())."
            )
        self._process = os.getpid()
        lock = connection = None
        try:
            with translated_errors(self.path, "opened"):
                # Locks a separate file, so that others may read the journal in the meantime.
                lock = _open(f"{self._database}-lock")
                lock.execute("BEGIN EXCLUSIVE")
                connection, self._is_new, is_complete = connect(self.path, "rwc")
                if not is_complete:
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
        super().__init__(self.path, connection)
        # Size and time of the database after the last step; None: unknown.
        self._stamp = None
        self._is_marked = False
        try:
            with translated_errors(self.path, "opened"):
                # A run that is only read leaves its file as it is; either way there is a log now.
                self._mark_incomplete() if self._is_new else self._last_position()
                self._identities = {path: _identity(path) for path in (self._database, self._wal)}
        except BaseException:
            self._release()
            raise

    def _mark_incomplete(self):
        """Set the format of a file that needs its log."""
        db = self._connection
        db.execute("BEGIN IMMEDIATE")
        db.execute(f"PRAGMA application_id={APPLICATION}")
        db.execute(f"PRAGMA user_version={-FORMAT}")
        db.execute("COMMIT")
        _, n_logged, n_moved = db.execute("PRAGMA wal_checkpoint").fetchone()
        # A reader of an older state keeps the mark in the log: try again at the next step.
        self._is_marked = n_logged == n_moved

    @property
    def is_open(self):
        """True if this process may write."""
        return self._release.alive and self._process == os.getpid()

    def close(self):
        """Release the journal for other writers."""
        if not self._release.alive:
            return
        is_lost = self.is_open and self._missing_file() == self._database
        self._release()
        if is_lost:
            raise self._missing_error(self._database)

    def _missing_file(self):
        """Return the path of the first file that was moved, deleted or replaced, or None."""
        for path, identity in self._identities.items():
            try:
                if _identity(path) != identity:
                    return path
            except OSError:  # the file or its folder does not exist, or may not be read
                return path
        return None

    def _missing_error(self, path):
        advice = (
            f"Move it back, with {self._wal}, and call again; or continue without a journal, with "
            "from_json(to_json())."
        )
        if path == self._wal:
            advice = f"Call close(), which writes all steps to {self._database}, and call again."
        return JournalError(
            f"The journal {self.path} could not be written: {path} was deleted, renamed or "
            f"replaced by another file while it was in use. {advice}"
        )

    def _check_files(self):
        """Raise an error if a step that is written would be lost."""
        missing = self._missing_file()
        if missing is not None:
            raise self._missing_error(missing)
        if self._stamp not in (None, self._present_stamp()):
            raise JournalError(
                f"The journal {self.path} was overwritten by another program. Restore a copy, or "
                "continue without a journal, with from_json(to_json())."
            )

    def _present_stamp(self):
        status = os.stat(self._database)
        return status.st_size, status.st_mtime_ns

    @property
    def end(self):
        return START if self._is_new else super().end

    def append(self, position, events, parts, *, rewrite):
        """Write a step, all of it or nothing, behind a position.

        Parameters
        ----------
        position : Position
        events : list of (kind, told, body)
            ``told`` is the position of an observation among all, or None.
        parts : dict of str to plain data
            Parts of the state that have changed.
        rewrite : bool
            First delete the events behind the position, and all parts.

        Returns
        -------
        Position
            Behind the events.
        """
        self._check_files()
        self._stamp = None
        with translated_errors(self.path):
            db = self._connection
            if db.in_transaction:
                db.execute("ROLLBACK")
            if not self._is_marked:
                self._mark_incomplete()
            db.execute("BEGIN IMMEDIATE")
            try:
                if self._is_new:
                    self._create_tables(db)
                if rewrite:
                    db.execute("DELETE FROM events WHERE number > ?", (position.number,))
                    db.execute("DELETE FROM parts")
                self._check_end(position)
                after = self._insert(db, position, events)
                self._replace(db, parts)
                db.execute("COMMIT")
            except BaseException:
                if db.in_transaction:
                    db.execute("ROLLBACK")
                raise
        self._is_new = False
        self._stamp = self._present_stamp()
        return after

    def _create_tables(self, db):
        if db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            return  # an interrupt came after the commit, and before is_new was set
        for statement in _SCHEMA.split(";")[:-1]:
            db.execute(statement)

    def _check_end(self, position):
        last = self._last_position()
        if last != position:
            raise JournalError(
                f"The journal {self.path} ends with event {last.number}, the run with event "
                f"{position.number}: another program has written to it. Resume it with "
                f"{resuming(self.path)} in another optimizer."
            )

    def _insert(self, db, position, events):
        at = time.time()
        for kind, told, body in events:
            number, text = position.number + 1, to_text(body)
            position = Position(number, event_sum(position.sum, number, kind, at, told, text))
            row = (number, kind, at, told, text, position.sum)
            db.execute("INSERT INTO events VALUES (?, ?, ?, ?, ?, ?)", row)
        return position

    def _replace(self, db, parts):
        for name, plain in parts.items():
            text = to_text(plain)
            row = (name, text, part_sum(name, text))
            db.execute("INSERT OR REPLACE INTO parts VALUES (?, ?, ?)", row)
