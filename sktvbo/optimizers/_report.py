"""Tables and HTML of a run, and records of the logger ``sktvbo.optimizers``.

Queries are logged at level DEBUG, events at level INFO. Each record has an attribute ``sktvbo``, a
dict of plain data with the kind of event under "event".
"""

import logging
from html import escape

import numpy as np

from .._documentation import documentation_page
from ..exceptions import MissingExtraError
from ..gaussian_process._dates import NUMBERS, ZONED, dates_of
from ..gaussian_process._fitted import FittedGP
from ._outcomes import beyond_limits, measured
from ._serialization import search_events
from ._state import handles


def frame_of(run):
    """Return observations, failures and pending queries as a pandas.DataFrame, see `to_frame`."""
    try:
        import pandas as pd
    except ImportError as exc:
        raise MissingExtraError(
            "to_frame() needs pandas, which is not installed: pip install pandas."
        ) from exc
    rows = np.concatenate([run.rows(run.shown), run.failures.rows, pending_rows(run)])
    columns = run.domain.described(rows[:, :-1])
    for name, values in _columns_of_steps(run, rows, pd).items():
        while name in columns:
            name += "_"
        columns[name] = values
    columns |= _outcomes(run)
    # pandas would turn None among strings into NaN, and 1 next to None into 1.0.
    for name, values in columns.items():
        if isinstance(values, list) and len(set(map(type, values))) > 1:
            columns[name] = pd.Series(values, dtype=object)
    return pd.DataFrame(columns)


def _columns_of_steps(run, rows, pd):
    """Return the columns other than parameters and outcomes, of rows (n, d + 1), by name."""
    shown, failed, pending = run.shown, run.failures.rows, run.pending_now
    kind = np.repeat([0, 1, 2], [len(shown), len(failed), len(pending)])
    unknown = np.full(len(rows) - len(shown), np.nan)
    queries = [*(entry.query for entry in shown), *run.failures.queries]
    y, nothing = np.append([entry.y for entry in shown], unknown), (np.nan, np.nan)
    predicted = [entry.predicted or nothing for entry in shown] + [nothing] * len(unknown)
    mean, std = np.array(predicted).reshape(-1, 2).T

    def dated(times):
        if run.time.kind in (None, NUMBERS):
            return times
        dates = pd.Series(dates_of(times, run.algorithm.time_unit))
        return dates.dt.tz_localize("UTC") if run.time.kind == ZONED else dates

    return {
        "time": dated(rows[:, -1]),
        "y": y,
        "predicted_mean": mean,
        "predicted_std": std,
        "residual": (y - mean) / std,
        "outlier_weight": np.append(_outlier_weights(run), unknown),
        "removed_at": dated(np.append(removed_at(run), unknown)),
        "failed": kind == 1,
        "pending": kind == 2,
        "query": pd.array([*queries, *(query.id for query in pending)], dtype="Int64"),
    }


def _outcomes(run):
    """Return the columns of outcomes by name, with NaN for pending queries."""
    columns, unknown = {}, np.full(len(run.pending_now), np.nan)
    for i, name in enumerate(measured(run)):
        values = np.array([entry.outcomes[i] for entry in run.shown], dtype=np.float64)
        columns[name] = np.concatenate([values, run.failures.outcomes[:, i], unknown])
    return columns


def _outlier_weights(run):
    """Return the weights (m,) of the shown observations, NaN where unknown."""
    known = {}
    for entry in run.shown:
        known.update(zip(entry.removed.tolist(), entry.removed_weights))
    known |= run.outlier_weights
    return np.array([known.get(i, np.nan) for i in _positions(run).tolist()], dtype=np.float64)


def _positions(run):
    """Return the positions (m,) of the shown observations among all that were told."""
    stored = run.history.positions
    return np.array(stored, dtype=np.intp)[len(stored) - len(run.shown) :]


def removed_at(run):
    """Return the times (m,) of removal of the shown observations, NaN in the data set."""
    positions = _positions(run)
    times, entries = np.full(len(positions), np.nan), [e for e in run.shown if len(e.removed)]
    if entries:
        removed = np.concatenate([entry.removed for entry in entries])
        now = np.repeat([entry.now for entry in entries], [len(entry.removed) for entry in entries])
        # Latest time of an observation that was restored and removed again.
        where = np.minimum(np.searchsorted(positions, removed), len(positions) - 1)
        known = positions[where] == removed
        times[where[known]] = now[known]
    times[np.isin(positions, run.data.positions)] = np.nan  # it was restored
    return times


def pending_rows(run):
    """Return inputs and times (p, d + 1) of the pending queries."""
    rows = [np.append(query.x, query.t) for query in run.pending_now]
    return np.array(rows).reshape(-1, run.domain.n_dims + 1)


# Largest number of pending queries that are shown.
_N_PENDING = 5


def representation(optimizer):
    """Return the parameters that are not the defaults, and the state of the run, as HTML.

    It reads one state, and computes nothing from the model: it cannot fail, warn or take long.
    """
    run, rows = vars(optimizer).get("_run"), [("parameters", repr(optimizer))]
    if run is None:
        rows.append(("state", "no run yet: it begins with the first ask or tell"))
    else:
        rows += _state(run)
    cells = "".join(
        f'<tr><th style="text-align:left">{escape(name)}</th>'
        f'<td style="text-align:left">{escape(text)}</td></tr>'
        for name, text in rows
    )
    title, page = escape(type(optimizer).__name__), documentation_page(type(optimizer))
    if page:
        title = f'<a href="{escape(page)}">{title}</a>'
    return f'<table class="sktvbo"><caption>{title}</caption><tbody>{cells}</tbody></table>'


def _state(run):
    """Yield the rows of a state, as pairs of texts."""
    n_told, n = run.history.n_told, len(run.data)
    yield (
        "observations",
        f"{n_told} told, {n} in the data set, {n_told - n} removed, {run.failures.total} failed",
    )
    if n:
        yield "best observation in the data set", _best(run)
    yield "hyperparameters", _hyperparameters(run.surrogate)
    pending = handles(run.domain, run.pending_now)
    shown = [f"id {query.id}: {_point(query.x)} at t = {query.t}" for query in pending]
    if len(shown) > _N_PENDING:
        shown[_N_PENDING:] = [f"and {len(shown) - _N_PENDING} more"]
    yield "pending queries", "; ".join(shown) or "none"


def _best(run):
    """Return the best observation, within the limits of measured outcomes if there are any."""
    y, within = run.data.y, np.ones(len(run.data), dtype=bool)
    if run.config.limits:
        within = (beyond_limits(run, run.data.outcomes, y) == 0.0).all(axis=0)
    if not within.any():
        return "none is within the limits"
    i = int(np.argmax(np.where(within, run.sign * y, -np.inf)))
    *x, t = run.data.rows[i]
    context = run.domain.decode_context(np.array(x))
    text = f"{_point(run.domain.decode(x))}, y = {y[i]:.4g} at t = {t}"
    return text if context is None else f"{text}, {_point(context, 'context')}"


def _point(x, name="x"):
    if isinstance(x, dict):
        return ", ".join(
            f"{key} = {value:.4g}" if isinstance(value, float) else f"{key} = {value}"
            for key, value in x.items()
        )
    return f"{name} = {np.array2string(np.asarray(x), precision=4)}"


def _hyperparameters(surrogate):
    if surrogate is None:
        return "no surrogate yet"
    if not isinstance(surrogate, FittedGP):
        return repr(surrogate)
    return (
        f"in space {surrogate.spatial_kernel_}, in time {surrogate.temporal_kernel_}, "
        f"noise variance {surrogate.noise_variance_:.2g} of the scaled values"
    )


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
            known = details.get(query.id, dict.fromkeys(("acquisition", "mean", "std")))
            shown = {"t": query.t} | {k: v for k, v in known.items() if v is not None}
            values = "".join(f", {name}={value:.6g}" for name, value in shown.items())
            message = f"Query {query.id}: x={x}{values}."
            _log(logging.DEBUG, message, "query", query=query.id, x=x, t=query.t, **known)


def log_events(run, after):
    """Log search, removal or reset, outliers, and expired queries of a step to the next state."""
    n, log, passed = len(after.data), after.history.log, after.time.passed
    entries = log[max(run.history.total - log.first, 0) :]
    for _, _, search in search_events(run, after):
        message = f"Refit: hyperparameters searched, {n} observations in the data set."
        _log(logging.INFO, message, "refit", t=passed, **search)
    removed = [position for entry in entries for position in entry.removed.tolist()]
    if removed:
        event = "removal" if after.time.resets == run.time.resets else "reset"
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
    left = {query.id for query in after.pending.queries} | {entry.query for entry in entries}
    for query in run.pending.queries:
        if query.id not in left and query.t < passed - after.pending.timeout:
            message = f"Query {query.id} expired: asked for t={query.t}."
            _log(logging.INFO, message, "expired", t=passed, query=query.id)
