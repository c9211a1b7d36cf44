"""Steps that take something back: an observation, or a pending query."""

import numpy as np

from .._values import replaced
from ._models import conditioned, objective
from ._part import after_step
from ._state import Model, Query, not_pending


def untell(run, position):
    """Return the run without the observation at a position among all that were told.

    While it is in the data set, or the latest one, what was removed when it was told is back, as
    far as it is stored. The hyperparameters are held. When it is the latest one, the policy is as
    it was before.
    """
    history, data = run.history, run.data
    entry, stored = history.log.at([position])[0], history.positions
    is_latest, back = position == stored[-1], set()
    if is_latest or position in data.positions:
        back = set(entry.removed.tolist()).intersection(stored)
    data = data.drop(np.flatnonzero(data.positions == position))
    for i in sorted(back.difference({position}, data.positions.tolist())):
        other = history.log.at([i])[0]
        data = data.append(i, other.row, other.y, other.variance)
    data = data.take(np.argsort(data.positions, kind="stable"))
    history = history.take_back(position)
    surrogate, policy = run.surrogate, run.policy
    if is_latest and run.policy_before is not None:
        policy = run.policy_before
    if surrogate is not None:
        if not len(data) or history.n_told < run.config.n_initial:
            surrogate, policy = None, run.algorithm._make_policy()
        elif len(data) != len(run.data) or (data.positions != run.data.positions).any():
            surrogate = conditioned(objective(run), surrogate, data)
    after = replaced(
        run,
        objective=Model(surrogate, run.search),  # an unfinished search may have learnt from it
        policy=policy,
        policy_before=None,
        data=data,
        history=history,
    )
    query = Query(-1, entry.row[:-1], entry.row[-1])
    after = run.without_query(after_step(run, after, "taken_back", query), query)
    times = [row[-1] for row in (*run.rows(history.entries), *data.rows, *run.failures.rows)]
    time = replaced(run.time, passed=float(max(times, default=-np.inf)))
    return _at_latest_time(replaced(after, time=time))


def cancel(run, x):
    """Return the run without a pending `Query`, or without the latest one at a row x (d,).

    If it is the only one of its time, earlier times may be asked for again.
    """
    found = [x] if isinstance(x, Query) else run.matching(x, None)
    if not found:
        raise not_pending("x", str(x.tolist()))
    query = found[-1]
    after = replaced(run, pending=run.pending.without(query))
    after = run.without_query(after_step(run, after, "taken_back", query), query)
    return _at_latest_time(after)


def position_of(run, x, t, query):
    """Return the position of the latest observation at a row x (d,), or None.

    ``query`` is the id of the query that it answered, None: any; x and t may be None as well.
    """
    for position in reversed(run.history.positions):
        entry = run.history.log.at([position])[0]
        places, time = (entry.row[:-1], entry.asked_x), entry.row[-1]
        here = x is None or any((place == x)[~np.isnan(x)].all() for place in places)
        if here and t in (None, time) and query in (None, entry.query):
            return position
    return None


def _at_latest_time(run):
    """Return a run of which a time was taken back, at the latest that is told or pending."""
    queries = run.pending.queries
    now = max([run.time.passed, *(query.asked for query in queries)])
    if now == run.time.now:
        return run
    asked = [query.t for query in queries if np.isfinite(query.asked)]
    return replaced(run, time=replaced(run.time, now=now, next=asked[-1] if asked else None))
