"""Queries and observations of a run as tables."""

import numpy as np

from ..exceptions import MissingExtraError
from ..gaussian_process._dates import NUMBERS, ZONED, dates_of
from ._outcomes import measured


def frame_of(run):
    """Return observations, failures and pending queries as a pandas.DataFrame, see `to_frame`."""
    try:
        import pandas as pd
    except ImportError as exc:
        raise MissingExtraError(
            "to_frame() needs pandas, which is not installed: pip install pandas."
        ) from exc
    shown, failed, pending = run.shown, run.failures.rows, run.pending_now
    rows = np.concatenate([run.rows(shown), failed, pending_rows(run)])
    kind = np.repeat([0, 1, 2], [len(shown), len(failed), len(pending)])
    columns = run.domain.described(rows[:, :-1])
    unknown = np.full(len(rows) - len(shown), np.nan)
    queries = [entry.query for entry in shown] + [None] * len(failed)
    y, nothing = np.append([entry.y for entry in shown], unknown), (np.nan, np.nan)
    predicted = [entry.predicted or nothing for entry in shown] + [nothing] * len(unknown)
    mean, std = np.array(predicted).reshape(-1, 2).T

    def dated(times):
        if run.time.kind in (None, NUMBERS):
            return times
        dates = pd.Series(dates_of(times, run.algorithm.time_unit))
        return dates.dt.tz_localize("UTC") if run.time.kind == ZONED else dates

    own = {
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
    for name, values in own.items():
        while name in columns:
            name += "_"
        columns[name] = values
    columns |= _outcomes(run)
    # pandas would make NaN of None among strings, and 1.0 of 1 beside None.
    for name, values in columns.items():
        if isinstance(values, list) and len(set(map(type, values))) > 1:
            columns[name] = pd.Series(values, dtype=object)
    return pd.DataFrame(columns)


def _outcomes(run):
    """Return the columns of outcomes by name, of pending queries as well."""
    columns, unknown = {}, np.full(len(run.pending_now), np.nan)
    for i, name in enumerate(measured(run)):
        told = np.array([entry.outcomes[i] for entry in run.shown], dtype=np.float64)
        columns[name] = np.concatenate([told, run.failures.outcomes[:, i], unknown])
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
    times = np.full(len(positions), np.nan)
    for entry in run.shown:
        if len(entry.removed):
            times[np.isin(positions, entry.removed)] = entry.now
    times[np.isin(positions, run.data.positions)] = np.nan  # it has come back
    return times


def pending_rows(run):
    """Return places and times (p, d + 1) of the pending queries."""
    rows = [np.append(query.x, query.t) for query in run.pending_now]
    return np.array(rows).reshape(-1, run.domain.n_dims + 1)
