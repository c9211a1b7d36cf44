"""State of a run for its page: the optimizer, the events of its journal, and summaries."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

# Decoding finds only classes of imported modules: these have the classes of a run.
from .. import optimizers, papers  # noqa: F401
from .._warnings import without_warnings
from ..exceptions import AskTellError, JournalError, LimitWarning
from ..journal._read import opened
from ..journal._rows import START
from ..optimizers._durable import Durable, read_optimizer, run_of, snapshot
from ..optimizers._outcomes import beyond_limits, measured
from ._common import taking_numbers

# Events that are read, and observations that are shown, the latest. A page must not take minutes.
_N_EVENTS, _N_OBSERVATIONS = 50_000, 10_000

# A run is stalled after a pause of this factor times the 95th percentile of its pauses, and of at
# least this many seconds. Then the least number of pauses for this, and the largest number used.
_PATIENCE, _LEAST, _MIN_PAUSES, _MAX_PAUSES = 10.0, 10.0, 20, 500


@dataclass(eq=False)
class Watched:
    """State of a run and of its journal at one moment.

    Attributes
    ----------
    name : str
        Path of the journal, or "".
    optimizer : optimizer or None
        A copy with the state of the run; None if that is not known.
    events : list of Event
        The latest of the journal; empty without one.
    counts : dict of str to int
        Number of all events of each kind.
    is_closed : bool
        The journal was closed.
    position : Position
        End of the journal.
    problem : str
        Damage of the journal, in words, or "".
    unknown : str
        Reason why the optimizer is unknown, or "".
    """

    name: str = ""
    optimizer: object = None
    events: list = field(default_factory=list)
    counts: dict = field(default_factory=dict)
    is_closed: bool = False
    position: object = START
    problem: str = ""
    unknown: str = ""

    @property
    def run(self):
        """State of the run, or None."""
        return None if self.optimizer is None else run_of(self.optimizer)

    @property
    def has_journal(self):
        return bool(self.name)

    # --- from the events --------------------------------------------------------------------------

    def _seconds(self, *kinds):
        found = (event.body.get("seconds") for event in self.events if event.kind in kinds)
        return np.array([value for value in found if value is not None])

    @cached_property
    def ask_seconds(self):
        """Seconds that queries took to compute (n,)."""
        return self._seconds("ask")

    @cached_property
    def tell_seconds(self):
        """Seconds that single observations took (n,)."""
        return self._seconds("tell", "fail")

    @cached_property
    def answers(self):
        """Times of the answers, in seconds since 1970, and seconds from query to answer (n, 2)."""
        asked, answers = {}, []
        for event in self.events:
            if event.kind == "ask":
                asked.update(dict.fromkeys(event.body["query"], event.at))
            elif event.kind == "tell" and event.body["query"] in asked:
                answers.append((event.at, event.at - asked.pop(event.body["query"])))
        return np.reshape(answers, (-1, 2))

    @property
    def warnings(self):
        """Warnings given: (seconds since 1970, category, text), the latest last."""
        return [
            (event.at, category, text)
            for event in self.events
            for category, text in event.body.get("warnings", ())
        ]

    def state(self, now):
        """Return a word for the state, a sentence on it, and since when (seconds since 1970).

        Parameters
        ----------
        now : float
            In seconds since 1970.
        """
        if self.problem and not self.events:
            return "unreadable", "Nothing can be read from this journal.", None
        if not self.events:
            n = len(self.run.pending_now)
            said = f"{n} queries have no answer yet" if n else "between two steps"
            return "waiting" if n else "running", f"The run is in memory: {said}.", None
        last = self.events[-1]
        if self.problem:
            return "damaged", "These are the events before the damage. The last one was", last.at
        if self.is_closed:
            return "closed", "No program has the run open. Its last step was", last.at
        pauses = np.diff([event.at for event in self.events[-_MAX_PAUSES:]])
        if len(pauses) >= _MIN_PAUSES:
            usual = float(np.quantile(pauses, 0.95))
            if now - last.at > max(_PATIENCE * usual, _LEAST):
                said = f"95 % of its pauses are shorter than {usual:.2g} s. Its program may have"
                return "stalled", f"{said} ended, or waits. The last step was", last.at
        n = None if self.run is None else len(self.run.pending_now)
        if last.kind == "ask" or n:
            said = "for an answer" if n is None else f"for the answers to {n} queries"
            said = "for the answer to a query" if n == 1 else said
            asked = next((e.at for e in reversed(self.events) if e.kind == "ask"), last.at)
            return "waiting", f"The run waits {said}. The latest query was asked", asked
        return "running", "The last step was", last.at

    # --- from the run -----------------------------------------------------------------------------

    @property
    def n_late(self):
        """Number of shown observations that were older than one before them."""
        entries = [] if self.run is None else self.run.shown
        times = np.array([entry.row[-1] for entry in entries])
        return int(np.count_nonzero(times < np.maximum.accumulate(times))) if len(times) else 0

    @property
    def n_lost(self):
        """Number of the latest queries that have expired without an answer."""
        pending = self.run.pending
        expired = pending.expired_at(self.run.time.now)
        return sum(query.id not in pending.untold for query in expired)

    @property
    def within(self):
        """Mask (n,) of the shown observations within all limits, None without limits or rows."""
        run = self.run
        if not (run.config.limits and len(run.shown)):
            return None
        outcomes = np.array([entry.outcomes or () for entry in run.shown], dtype=np.float64)
        outcomes = outcomes.reshape(len(run.shown), len(measured(run)))
        distances = beyond_limits(run, outcomes, np.array([entry.y for entry in run.shown]))
        return ~(distances > 0.0).any(axis=0)


def watched(source):
    """Return the `Watched` of an optimizer, or of the path of a journal."""
    if not isinstance(source, Durable):
        return _of_journal(os.fspath(source))
    optimizer = snapshot(source)
    journal = run_of(optimizer).algorithm.journal
    if journal is None:
        return Watched(optimizer=optimizer)
    return _of_journal(os.fspath(journal.path), optimizer)


def _of_journal(path, optimizer=None):
    """Return the `Watched` of a journal, which may be the one of an optimizer."""
    found = Watched(name=path, optimizer=optimizer)
    try:
        with opened(path) as content:
            _read(found, content)
    except JournalError as exc:
        found.problem = str(exc)
    return found


def _read(found, content):
    """Read the readable part of a journal, up to the first error."""
    found.position, found.counts = content.end, content.counts()
    found.is_closed = content.is_closed
    for event in content.since(max(found.position.number - _N_EVENTS, 0)):
        found.events.append(event)
    content.parts()  # raises an error if they are damaged
    if found.optimizer is None:
        try:
            found.optimizer = read_optimizer(optimizers.BayesianOptimizer, content, _N_OBSERVATIONS)
        except JournalError as exc:
            found.unknown = str(exc)


def recommended(found):
    """Return the recommendation now: row (d,), mean, deviation and probability of the limits.

    Unknown values are None, and so are all before the first observation.
    """
    run = found.run
    if run is None or not len(run.data):
        return None, None, None, None
    optimizer = taking_numbers(found.optimizer)
    context = run.domain.decode_context(run.data.rows[-1, :-1])
    try:
        x = without_warnings(LimitWarning, optimizer.recommend, run.time.now, context=context)
    except AskTellError:  # no observation satisfies the constraints
        return None, None, None, None
    row = run.domain.place(x, context)
    if run.surrogate is None:
        return row, None, None, None
    mean, std = optimizer.predict(x, run.time.now, return_std=True, context=context)
    chance = None
    if run.config.limits:
        chance = optimizer.probability_feasible(x, run.time.now, context=context)
    return row, float(mean), float(std), chance
