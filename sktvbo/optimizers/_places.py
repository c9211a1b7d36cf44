"""Arguments of users as rows of a run: points, contexts, columns, and the queries they answer."""

import re
from contextlib import contextmanager, suppress
from dataclasses import replace
from itertools import compress, repeat
from operator import attrgetter

import numpy as np

from .._tables import Row, as_row, as_table, in_memory, is_one, is_table, rows_of
from .._validation import check_variances, invalid, invalid_observation
from .._values import replaced
from .._warnings import warn_caller
from ..exceptions import (
    AmbiguousQueryWarning,
    AskTellError,
    DomainError,
    InvalidObservationError,
)
from ._failures import with_failures
from ._outcomes import measured
from ._state import Answer, Query

# Largest difference of an answer's x from its query: relative, for float32, and as a part of the
# range, for a few decimals. Another query must be this many times as far away.
_RELATIVE, _OF_RANGE, _TIMES_AS_FAR = 2.0**-23, 0.01, 4.0


# --- points of one query --------------------------------------------------------------------------


def place_of(run, x, context=None, *, answered=False):
    """Return a user's x as a row (d,) of the domain, or as a pending query.

    With ``answered`` the query may also be one that was told already.
    """
    if isinstance(x, Query):
        query = _query_of(run, x, answered=answered)
        if context is None:
            return query
        chosen = query.x[: run.domain.n_chosen]
        return replace(query, x=_row_in_context(run.domain, chosen, context))
    x, domain = without_outcomes(run, x), run.domain
    try:
        return domain.place(x, context)
    except DomainError as exc:
        x = domain.as_row(x)
        row = _known_row(domain, x, run.pending.unanswered)
        if row is None:
            raise _with_remedy(exc, domain, x) from exc
        return _row_in_context(domain, row[: domain.n_chosen], context)


def _known_row(domain, row, queries):
    """Return the row (d,) of an x outside of a domain that may answer a query, or None.

    It is x itself if that was asked in a wider domain. Near the edge of this one it is that of
    `_rounded_to`.
    """
    k = domain.n_chosen
    if any(np.array_equal(query.x[:k], row[:k]) for query in queries):
        return row
    nearest = _rounded_to(domain, row)
    return nearest if nearest is not None and at_place(domain, nearest, queries) else None


def _rounded_to(domain, row):
    """Return a row (d,) that is nearly a point of the domain, None if it is not.

    Reals stay as measured, also beyond the domain, unless they differ by a rounding error of
    float32. All other coordinates are those of the point.
    """
    nearest = domain.from_unit(domain.unit_of(row[np.newaxis]))
    gaps = _rounding_gaps(domain, row, nearest, np.ones(len(row), dtype=bool))
    if not np.isfinite(gaps[0]):
        return None
    is_real = np.isin(domain.kinds, ["straight", "curved"])
    differs = np.abs(row - nearest[0]) > _RELATIVE * np.maximum(np.abs(row), np.abs(nearest[0]))
    return np.where(is_real & differs, row, nearest[0])


def _with_remedy(error, domain, row):
    """Return the error of a row (d,) outside of a domain, with a remedy if it was measured."""
    numbers = ~np.isin(domain.kinds, ["labels", "unordered"])
    beyond = (row < domain.lower) | (row > domain.upper)
    if not (numbers & beyond).any():
        return error
    return DomainError(
        f"{error} To tell a measurement beyond the domain, widen it by "
        "with_parameters(domain=...); it may be narrowed again afterwards."
    )


def place_set(run, query, x):
    """Return the row (d,) of the point set instead of a query, NaN for a context without a value.

    ``query`` is a row or a `Query`, see `place_of`.
    """
    if x is None:
        return None
    if isinstance(x, Query):
        raise invalid("x", "the point that was set instead of the query", x)
    x, domain = without_outcomes(run, x), run.domain
    try:
        return domain.place(x)
    except DomainError as exc:
        row, asked, k = domain.as_row(x), getattr(query, "x", query), domain.n_chosen
        if np.array_equal(row[:k], asked[:k]):
            return row
        near = _rounded_to(domain, row)
        if near is None:
            raise _with_remedy(exc, domain, row) from exc
        return near


def rows_and_times(run, X, t, context):
    """Return rows (m, d) and times (m,) of a user's points, and True if X is one point.

    The rows include the contexts.
    """
    one, domain, X = is_one(X), run.domain, without_outcomes(run, X)
    rows = domain.place(X, context)[np.newaxis] if one else domain.places(X, context)
    if np.isnan(rows).any():
        domain.contexts(None, len(rows))  # an error: it must be given
    return rows, run.read_times(t, len(rows))[0], one


def _with_context_of(row, pending):
    """Return a row (d,) with the context of a pending query's row where its own is NaN."""
    return np.where(np.isnan(row), pending, row)


def _row_in_context(domain, chosen, context):
    """Return chosen coordinates (k,), also outside of a domain, with a context; NaN for None."""
    row = np.append(chosen, np.full(domain.n_dims - domain.n_chosen, np.nan))
    if context is not None:
        row[domain.n_chosen :] = domain.contexts(context, 1)[0]
    return row


# --- the query that is answered -------------------------------------------------------------------


def at_place(domain, x, queries):
    """Return the queries at the chosen part of a row x (d,), in their order.

    If there are none, return those at the nearest point, if x is this point up to rounding and all
    others are much farther away.
    """
    if not queries:
        return []
    rows = np.array(list(map(attrgetter("x"), queries)))
    same = (rows == x)[:, : domain.n_chosen].all(axis=1)
    if not same.any():
        gaps = _rounding_gaps(domain, x, rows, domain.kinds != "steps")
        nearest, gap = rows[np.argmin(gaps), : domain.n_chosen], gaps.min()
        same = (rows[:, : domain.n_chosen] == nearest).all(axis=1)
        if gap == np.inf or gap * _TIMES_AS_FAR > gaps[~same].min(initial=np.inf):
            return []
    return list(compress(queries, same))


def _rounding_gaps(domain, x, rows, rounded):
    """Return distances (n,) of rows (n, d) from a row x (d,), infinite beyond rounding errors.

    A distance is the largest difference in unit form. Differences of float32 are allowed, and in
    the coordinates ``rounded`` (d,) a hundredth of the range, on the parameter's scale or a linear
    one. Labels must be equal.
    """
    k, columns = domain.n_chosen, domain.unit_columns
    numbers = ~np.isin(domain.kinds, ["labels", "unordered"])
    units = domain.unit_of(np.vstack([x, rows]))[:, columns]
    gaps, differences = np.abs(units[1:] - units[0]), np.abs(rows - x)
    turns = domain.kinds == "cyclic"
    if turns.any():
        widths = (domain.upper - domain.lower)[turns]
        parts = np.mod(differences[:, turns], widths)
        differences[:, turns] = np.minimum(parts, widths - parts)
        gaps[:, turns] = differences[:, turns] / widths
    with np.errstate(invalid="ignore"):
        near = differences <= _RELATIVE * np.maximum(np.abs(rows), np.abs(x))
        small = differences <= _OF_RANGE * (domain.upper - domain.lower)
        near = numbers & (near | (rounded & (small | (gaps <= _OF_RANGE))))
    gaps = np.where(near | (differences == 0.0), gaps, np.inf)[:, :k]
    return gaps.max(axis=1)


def of_time(queries, t, begin):
    """Return the queries for a time t, or asked for then; all of them if t is None.

    t may be rounded, to float32 when counted from the ``begin`` of the run.
    """
    if t is None:
        return queries
    slack = 4.0 * np.spacing(abs(t))
    if begin is not None:
        slack = max(slack, _RELATIVE * abs(t - begin))
    return [q for q in queries if abs(q.t - t) <= slack or abs(q.asked - t) <= slack]


def matching(run, x, t):
    """Return the pending queries at a row x (d,) and of a time (None: any), oldest first.

    If some of them are in the context of x, return only these. If there are none, return the only
    expired query there.
    """
    k, now = run.domain.n_chosen, run.time.now
    queries = at_place(run.domain, x, of_time(run.pending.at(now), t, run.begin))
    if not queries:
        expired = of_time(run.pending.expired_at(now), t, run.begin)
        late = at_place(run.domain, x, expired)
        queries = late if len(late) == 1 else []
    if len(queries) < 2:
        return queries
    for_t = [query for query in queries if query.t == t] or queries
    close = [np.allclose(query.x[k:], x[k:], rtol=_RELATIVE, atol=0.0) for query in for_t]
    return list(compress(for_t, close)) or for_t


def _query_of(run, handle, *, answered=False):
    """Return the pending or expired query, with a row for x, of a user's handle.

    With ``answered`` also one that was told already, if its answer is stored.
    """
    for query in run.pending.unanswered:
        if query.id == handle.id:
            x, k = run.domain.as_row(handle.x), run.domain.n_chosen
            same = np.array_equal(query.x[:k], x[:k])
            if same and query.t == handle.t:
                return query
            if same and query.id in run.pending.untold:  # its answer may have had another time
                return replaced(query, t=handle.t, asked=handle.asked)
    got = f"query {handle.id}"
    answer, k = _answer_to(run, handle), run.domain.n_chosen
    if answer is not None:
        x, asked = run.domain.as_row(handle.x), answer[1]
        if answered and (asked is None or np.array_equal(asked[:k], x[:k])):
            return replace(handle, x=_row_in_context(run.domain, x[:k], handle.context))
        raise not_pending("query", f"{got}, told already,")
    gone = "cancelled, expired or another optimizer's"
    if run.history.log.first:
        gone += ", or answered before the observations that are stored (see 'history')"
    raise not_pending("query", f"{got}, {gone},")


def known_handle(run, handle):
    """Return a user's handle of a query that was answered, with a row for x."""
    x = _row_in_context(run.domain, run.domain.as_row(handle.x)[: run.domain.n_chosen], None)
    answer = _answer_to(run, handle)
    return replace(handle, x=x if answer is None else _with_context_of(x, answer[0][:-1]))


def _answer_to(run, query):
    """Return the answer that was told for a query, None if unknown.

    It is a tuple of its row (d + 1,), the row of the query (d,), y, variance and outcomes. For a
    failure, the row of the query and y are None. The latest failures, and observations, are known.
    """
    for entry in reversed(run.history.entries):
        if entry.query == query.id:
            return entry.row, entry.asked_x, entry.y, entry.variance, entry.outcomes
    failures = run.failures
    if query.id in failures.queries:
        i = failures.queries.index(query.id)
        return failures.rows[i], None, None, 0.0, failures.outcomes_at(i)
    return None


def not_pending(what, got, *, when="", advice=""):
    """Return the error of an x, or a query, that matches no pending one."""
    expected = f"a query of ask() that is still pending{when}"
    return invalid(what, expected, got=got, advice=advice, error=AskTellError)


def warn_ambiguous():
    """Warn the caller of an optimizer's method that x may be the answer to another query."""
    warn_caller(
        "Several queries at this x are pending, which were asked for at different times or in "
        "different contexts. The one asked for last is taken. To choose, give the time (t=) or the "
        "context (context=) of the query, or its handle, which suggest() returns. If results "
        "are lost, call cancel(query) or set query_timeout.",
        AmbiguousQueryWarning,
    )


def rivals_of(run, place, t):
    """Return the ids of other queries that a row (d,) and a time (None: any) may answer.

    Queries for which the same would be recorded are no rivals.
    """
    if isinstance(place, Query) or len(run.pending.queries) < 2:
        return set()
    queries = matching(run, place, t)
    recorded = [
        (_with_context_of(place, query.x).tobytes(), query.t if t is None else t)
        for query in queries
    ]
    return {query.id for query, each in zip(queries, recorded) if each != recorded[-1]}


def addressed(run, x, t, place=None):
    """Return row (d,), time, and pending query or None, of an x or a `Query` and a time or None.

    ``place`` (d,) is the row that was set instead of the query, NaN for a context not given.
    """
    queries = [x] if isinstance(x, Query) else matching(run, x, t)
    if queries:
        query = queries[-1]
        row = query.x if x is query else _with_context_of(x, query.x)
        if place is not None:
            row = _with_context_of(place, row)
        return row, query.t if t is None else t, query
    if place is not None:
        advice = "Tell other observations as tell(x, y, t)."
        raise not_pending("x_or_query", str(x.tolist()), when=" when x is given", advice=advice)
    if t is None:
        advice = "Tell the handle of suggest(), or give the time of the observation: tell(x, y, t)."
        raise not_pending("x", str(x.tolist()), when=" when no t is given", advice=advice)
    return with_known_context(x), t, None


def with_known_context(row):
    """Return a row (d,), or raise if its context is not known."""
    if np.isnan(row).any():
        raise invalid(
            "context",
            "given for a point that is no pending query of ask()",
            None,
            advice="Give the values measured with x: tell(x, y, t, context=...).",
            error=AskTellError,
        )
    return row


def is_repeated(run, answer, place=None, others=()):
    """Return True if the query of an observation was told the same before.

    Parameters
    ----------
    run : RunState
    answer : Answer
    place : ndarray of shape (d,), default=None
        Row that was set, if it is given.
    others : list of Answer or None, default=()
        Answers of the same step.

    Raises
    ------
    AskTellError
        Another answer was told.
    """
    query, k = answer.query, run.domain.n_chosen
    if query is None or query.id in map(attrgetter("id"), run.pending.unanswered):
        return False
    same = [each for each in others if each is not None and each.query_id == query.id]
    if same:
        row, values = same[0].row, (same[0].y, same[0].variance, same[0].outcomes)
    else:
        row, _, *values = _answer_to(run, query)
    x = row if place is None else answer.x
    old = [row[-1], row[k:-1].tolist(), row[:k].tolist(), *values]
    new = [answer.t, answer.x[k:].tolist(), x[:k].tolist(), answer.y]
    new += [answer.variance, answer.outcomes]
    names = "t", "context", "x", "y", "y_variance", "outcomes"
    differ = [i for i in range(6) if old[i] != new[i]]
    if not differ:
        return True

    def shown(values):
        parts = [(names[i], values[i]) for i in differ if i < 5 or values[i] is not None]
        return ", ".join("failed=True" if v is None else f"{name}={v}" for name, v in parts)

    advice = "To correct it, call untell(query), then tell the same query."
    raise invalid(
        f"An answer to query {query.id}, which was told already,",
        f"the same as before, {shown(old)}",
        got=shown(new),
        advice=advice,
        error=AskTellError,
    )


# --- columns --------------------------------------------------------------------------------------


@contextmanager
def _in_row(name, i):
    """Context in which errors about x, or x['rate'], become errors about row i of a table."""
    try:
        yield
    except (DomainError, InvalidObservationError) as exc:
        message = re.sub(r"^x(\[)?", lambda m: f"{name}[{i}{', ' if m[1] else ']'}", str(exc))
        raise type(exc)(message) from exc


def _point_in(run, x, i, context):
    """Return row i of a user's X as `place_of` does."""
    with _in_row("X", i):
        return place_of(run, x, context, answered=True)


def places_set(run, places, x):
    """Return rows, see `place_set`, of a user's column x: a list of n of them, or None."""
    if x is None:
        return [None] * len(places)
    x = rows_of(x) if is_table(x) else x
    if not isinstance(x, list | np.ndarray) or len(x) != len(places):
        expected = f"one point, or None, for each of {len(places)} queries"
        raise invalid_observation("x", expected, x)
    rows = []
    for i, (query, each) in enumerate(zip(places, x)):
        with _in_row("x", i):
            rows.append(place_set(run, query, each))
    return rows


def columns_of(run, X, y, t, y_variance, context, failed):
    """Return the run, points, and columns (n,): y, None for a failure, t, and variances.

    t is None if no time was given.
    """
    handles = isinstance(X, list | tuple) and any(isinstance(x, Query) for x in X)
    X, places = without_outcomes(run, X), None
    X = in_memory(X)
    if not handles and np.size(X) == 0:
        if context is not None:
            run.domain.contexts(context, 0)
        places = []
    elif not handles:
        with suppress(DomainError):
            places = list(run.domain.places(X, context))
    if places is None:
        X = rows_of(X)
        contexts = repeat(None) if context is None else run.domain.contexts(context, len(X))
        places = [_point_in(run, x, i, of_x) for i, (x, of_x) in enumerate(zip(X, contexts))]
    n = len(places)
    y = with_failures(y, failed, n)
    if t is not None:
        t, run = run.read_times(t, n)
    variances = np.zeros(n)
    if y_variance is not None:
        variances = check_variances(y_variance, n, "y_variance", zero=True)
    return run, places, y, t, variances


def observations_of(run, places, y, t, variances, outcomes, x):
    """Return observations for `observe_many`, in the order of time, without repeated ones.

    Parameters
    ----------
    run : RunState
    places : list of rows (d,) or Query
    y, t, variances, outcomes, x : sequences of length n
        As returned by `columns_of`, `many_outcomes_of` and `places_set`; None for t where no time
        was given.
    """
    answers, left, rivals = [None] * len(places), run, set()
    times = [None] * len(places) if t is None else t.tolist()

    def priority(i):
        # Handles come first; each point takes the latest query that is left.
        return isinstance(places[i], Query), times[i] or 0.0, i

    for i in sorted(range(len(places)), key=priority, reverse=True):
        rivals |= rivals_of(left, places[i], times[i])
        row, time, query = addressed(left, places[i], times[i], x[i])
        variance = 0.0 if y[i] is None else float(variances[i])
        observation = Answer(row, y[i], time, variance, outcomes[i], query)
        if is_repeated(left, observation, x[i], answers):
            continue
        if query is not None:
            left = replaced(left, pending=left.pending.without(query))
        answers[i] = observation
    if rivals.intersection(query.id for query in left.pending_now):
        warn_ambiguous()
    new = [observation for observation in answers if observation is not None]
    return sorted(new, key=lambda answer: answer.t)


def without_outcomes(run, X):
    """Return points, in any form, without the columns of outcomes that `to_frame` adds."""
    if not run.config.limits or type(X) is np.ndarray:
        return X
    names = measured(run)
    if isinstance(X, list):
        return [without_outcomes(run, x) for x in X]
    table = as_table(X) if is_table(X) else as_row(X)
    if table is None or not any(name in table for name in names):
        return X
    kind = Row if isinstance(table, Row) else dict
    return kind({name: column for name, column in table.items() if name not in names})
