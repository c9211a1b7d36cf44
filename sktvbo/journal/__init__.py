"""Journals: every step of an optimizer in a file, from which it goes on.

An optimizer with ``journal="run.db"`` writes a row for each query asked for, observation told,
query cancelled and search of the hyperparameters before the call returns; ``resume`` of its class
goes on where the file ends. A journal is an SQLite database; nothing that is read from one is
executed. The command ``sktvbo journal`` shows, exports and checks one.
"""

from ._file import Journal
from ._read import check, events
from ._rows import Event

__all__ = ["Event", "Journal", "check", "events"]
