"""Rows of a journal, and their checksums."""

import hashlib
import json
from dataclasses import dataclass

from ..exceptions import JournalError

# Of an event, in the order in which `checked` takes them.
COLUMNS = "number, kind, at, told, body, sum"


@dataclass(frozen=True)
class Place:
    """A place in a journal: how many events there are before it, and their checksum."""

    number: int = 0
    sum: str = ""


START = Place()


@dataclass(frozen=True)
class Event:
    """One row of a journal.

    Attributes
    ----------
    number : int
        From 1 on.
    kind : str
        "begin", "ask", "announce", "tell", "untell", "fail", "cancel", "search", "ask_expert" or
        "tell_expert".
    at : float
        When it was written, in seconds since 1970.
    told : int or None
        Position of the observation among all that was told.
    body : dict
        Plain data.
    """

    number: int
    kind: str
    at: float
    told: int | None
    body: dict


def event_sum(before, number, kind, at, told, body):
    """Checksum of an event, and of all that are before it."""
    # What is damaged may have become bytes.
    text = json.dumps([before, number, kind, at, told, body], default=repr)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def part_sum(name, body):
    """Checksum of a part of the state."""
    return hashlib.sha256(f"{name}\n{body}".encode()).hexdigest()[:32]


def checked(rows, place, path):
    """Events of rows that follow a place, their checksums compared."""
    number, chain = place.number, place.sum
    for row in rows:
        *content, found = row
        if content[0] != number + 1 or event_sum(chain, *content) != found:
            raise JournalError(
                f"The journal {path} is damaged at event {number + 1}: its checksum is another. "
                "Restore a copy, or export what comes before."
            )
        number, chain = content[0], found
        *head, body = content
        yield Event(*head, json.loads(body))


def stored_parts(rows, path):
    """Parts of the state, plain data by name, of rows (name, body, sum)."""
    found = {}
    for name, body, total in rows:
        if part_sum(name, body) != total:
            raise JournalError(
                f"The journal {path} is damaged: the checksum of the {name!r} of its state is "
                "another. Restore a copy."
            )
        found[name] = json.loads(body)
    return found
