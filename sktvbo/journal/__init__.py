"""Journals: every step of an optimizer in a file, from which a run can be resumed.

An optimizer with ``journal="run.db"`` writes an event for each query asked for, observation told,
query cancelled, change of parameters and search of hyperparameters before the call returns. The
``resume`` method of its class continues the run. A journal is an SQLite database; reading one
executes nothing. The command ``sktvbo journal`` shows, exports and checks journals."""

from ._file import Journal
from ._read import check, events
from ._rows import Event

__all__ = ["Event", "Journal", "check", "events"]
