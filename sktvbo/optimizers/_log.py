"""Records of the logger ``sktvbo.optimizers``: queries at level DEBUG, events at level INFO.

Each record has an attribute ``sktvbo``, a dict of plain data whose "event" says which one it is.
"""

import logging

import numpy as np

from ._serialization import search_events

# Weights below this one are logged.
_OUTLIER = 0.5

logger = logging.getLogger("sktvbo.optimizers")


def _log(level, message, event, **fields):
    logger.log(level, message, extra={"sktvbo": {"event": event, **fields}})


def log_queries(run, first, details):
    """Log the pending queries from an id on, with the ``details`` by id of those with a model."""
    for query in run.pending.queries:
        if query.id >= first:
            x = run.domain.decode(query.x)
            x = x.tolist() if isinstance(x, np.ndarray) else x
            found = details.get(query.id, dict.fromkeys(("acquisition", "mean", "std")))
            shown = {"t": query.t} | {k: v for k, v in found.items() if v is not None}
            values = "".join(f", {name}={value:.6g}" for name, value in shown.items())
            message = f"Query {query.id}: x={x}{values}."
            _log(logging.DEBUG, message, "query", query=query.id, x=x, t=query.t, **found)


def log_events(run, after):
    """Log search, removal or reset, outliers, and expired queries of a step to the next state."""
    n, log, passed = len(after.data), after.history.log, after.time.passed
    told = log[max(run.history.total - log.first, 0) :]
    for _, _, search in search_events(run, after):
        message = f"Refit: hyperparameters searched, {n} observations in the data set."
        _log(logging.INFO, message, "refit", t=passed, **search)
    removed = [position for entry in told for position in entry.removed.tolist()]
    if removed:
        event = "reset" if any(e.n == 1 and len(e.removed) for e in told) else "removal"
        message = f"{event.capitalize()}: observations removed: {len(removed)}, left: {n}."
        _log(logging.INFO, message, event, t=passed, n=n, removed=removed)
    before = run.outlier_weights
    for position, weight in after.outlier_weights.items():
        if weight < _OUTLIER <= before.get(position, 1.0):
            message = f"Outlier: observation {position} has weight {weight:.2g}."
        elif before.get(position, 1.0) < _OUTLIER <= weight:
            message = f"No outlier: observation {position} has weight {weight:.2g} again."
        else:
            continue
        _log(logging.INFO, message, "outlier", t=passed, observation=position, weight=weight)
    left = {query.id for query in after.pending.queries} | {entry.query for entry in told}
    for query in run.pending.queries:
        if query.id not in left and query.t < passed - after.pending.timeout:
            message = f"Query {query.id} expired: asked for t={query.t}."
            _log(logging.INFO, message, "expired", t=passed, query=query.id)
