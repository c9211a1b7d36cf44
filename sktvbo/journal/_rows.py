"""Rows of a journal, and their checksums."""

import hashlib
import json
from dataclasses import dataclass

from ..exceptions import JournalError

# Columns of an event, in the order that `checked` expects.
COLUMNS = "number, kind, at, told, body, sum"

# Query of the events behind a number, in the order that `checked` expects.
EVENTS = f"SELECT {COLUMNS} FROM events WHERE number > ? ORDER BY number"

# Query of some events, in the order that `checked_alone` expects.
ALONE = (
    f"SELECT {COLUMNS}, (SELECT sum FROM events AS e WHERE e.number = events.number - 1) "
    "FROM events WHERE "
)

# Condition for the event with the parameters in force.
IN_FORCE = "kind IN ('begin', 'with_parameters') ORDER BY number DESC LIMIT 1"


@dataclass(frozen=True)
class Position:
    """Position in a journal: the number of events before it, and their checksum."""

    number: int = 0
    sum: str = ""


START = Position()


@dataclass(frozen=True)
class Event:
    """Event of a journal: one step of the optimizer.

    Attributes
    ----------
    number : int
        From 1 on.
    kind : str
        "begin", "with_parameters", "ask", "announce", "tell", "untell", "fail", "cancel",
        "search", "ask_expert" or "tell_expert".
    at : float
        Time of writing, in seconds since 1970.
    told : int or None
        Position of the observation among all that were told.
    body : dict
        Plain data.
    """

    number: int
    kind: str
    at: float
    told: int | None
    body: dict


def event_sum(before, number, kind, at, told, body):
    """Return the checksum of an event and all events before it, whose checksum is ``before``."""
    # A damaged column may have become bytes.
    text = json.dumps([before, number, kind, at, told, body], default=repr)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def part_sum(name, body):
    """Return the checksum of a part of the state."""
    return hashlib.sha256(f"{name}\n{body}".encode()).hexdigest()[:32]


def checked(rows, position, path):
    """Yield the events of the rows that follow a position; raise an error for a wrong checksum."""
    for *content, total in rows:
        number, *_, body = content
        if number != position.number + 1 or event_sum(position.sum, *content) != total:
            raise JournalError(
                f"The journal {path} is damaged at event {position.number + 1}: its checksum is "
                "wrong. Restore a copy, or export the events before it."
            )
        position = Position(number, total)
        yield Event(*content[:-1], json.loads(body))


def checked_alone(rows, path):
    """Yield the events of rows that end with the checksum before each of them."""
    for *row, before in rows:
        yield from checked([row], Position(row[0] - 1, before or ""), path)


def stored_parts(rows, path):
    """Return the parts of the state, plain data by name, of rows (name, body, sum)."""
    parts = {}
    for name, body, total in rows:
        if part_sum(name, body) != total:
            raise JournalError(
                f"The journal {path} is damaged: the checksum of the {name!r} of its state is "
                "wrong. Restore a copy."
            )
        parts[name] = json.loads(body)
    return parts
