"""Places, contexts and columns as users give them, read for a run."""

import re
from contextlib import contextmanager, suppress
from dataclasses import replace
from itertools import repeat

import numpy as np

from .._tables import Row, as_row, as_table, is_one, is_table, rows_of
from .._validation import check_variances, invalid
from .._values import replaced
from .._warnings import warn_caller
from ..exceptions import AmbiguousQueryWarning, DomainError, InvalidObservationError
from ._failures import with_failures
from ._observe import addressed, is_repeated
from ._outcomes import measured
from ._part import Told
from ._state import Query, at_place, rounding_gaps, row_in_context, with_context_of


def place_of(run, x, context=None, *, answered=False):
    """Return a user's x as a row (d,) of the domain, or as a pending query.

    With ``answered`` the query may also be one that was told already.
    """
    if isinstance(x, Query):
        query = run.query_of(x, answered=answered)
        if context is None:
            return query
        chosen = query.x[: run.domain.n_chosen]
        return replace(query, x=row_in_context(run.domain, chosen, context))
    x, domain = without_outcomes(run, x), run.domain
    try:
        return domain.place(x, context)
    except DomainError:
        row = _known_place(domain, domain.as_row(x), run.pending.unanswered)
        if row is None:
            raise
        return row_in_context(domain, row[: domain.n_chosen], context)


def _known_place(domain, row, queries):
    """Return the row (d,) of an x outside of a domain that may answer a query, or None.

    It is x where that was asked in a wider domain, or the point of the domain that x rounds.
    """
    k = domain.n_chosen
    if any(np.array_equal(query.x[:k], row[:k]) for query in queries):
        return row
    nearest = _rounded_to(domain, row)
    return nearest if nearest is not None and at_place(domain, nearest, queries) else None


def _rounded_to(domain, row):
    """Return the point (d,) of the domain that a row (d,) rounds, None if there is none."""
    nearest = domain.from_unit(domain.unit_of(row[np.newaxis]))
    gaps = rounding_gaps(domain, row, nearest, np.ones(len(row), dtype=bool))
    return nearest[0] if np.isfinite(gaps[0]) else None


def place_set(run, query, x):
    """Return the row (d,) of what was set in place of a query, NaN for a context without a value.

    ``query`` is a place or a `Query`, see `place_of`.
    """
    if x is None:
        return None
    if isinstance(x, Query):
        raise invalid("x", "a point, what was set in place of the query", x)
    x, domain = without_outcomes(run, x), run.domain
    try:
        return domain.place(x)
    except DomainError:
        row, asked, k = domain.as_row(x), getattr(query, "x", query), domain.n_chosen
        if not np.array_equal(row[:k], asked[:k]):
            row = _rounded_to(domain, row)
        if row is None:
            raise
        return row


def rows_and_times(run, X, t, context):
    """Return rows (m, d) and times (m,) of places as users give them, and whether X is one place.

    The rows include the contexts.
    """
    one, domain, X = is_one(X), run.domain, without_outcomes(run, X)
    rows = domain.place(X, context)[np.newaxis] if one else domain.places(X, context)
    if np.isnan(rows).any():
        domain.contexts(None, len(rows))  # an error: it must be given
    return rows, run.read_times(t, len(rows))[0], one


def warn_ambiguous():
    """Warn the caller of an optimizer's method that x may be the answer to another query."""
    warn_caller(
        "Several queries at this x are pending, which were asked for at different times or in "
        "different contexts. The one asked for last is taken. To choose, give the time (t=) or the "
        "context (context=) of the query, or its handle, which suggest() returns. Withdraw those "
        "whose results are lost by cancel(query), or set query_timeout.",
        AmbiguousQueryWarning,
    )


def rivals_of(run, place, t):
    """Return the ids of other queries that a place (d,) and a time (None: any) may answer.

    They are no rivals of the query that is taken if the same would be recorded.
    """
    if isinstance(place, Query) or len(run.pending.queries) < 2:
        return set()
    found = run.matching(place, t)
    recorded = [
        (with_context_of(place, query.x).tobytes(), query.t if t is None else t) for query in found
    ]
    return {query.id for query, each in zip(found, recorded) if each != recorded[-1]}


@contextmanager
def _in_row(name, i):
    """Context in which errors about x, or x['rate'], are those about row i of a table."""
    try:
        yield
    except (DomainError, InvalidObservationError) as exc:
        message = re.sub(r"^x(\[)?", lambda m: f"{name}[{i}{', ' if m[1] else ']'}", str(exc))
        raise type(exc)(message) from exc


def _place_in(run, x, i, context):
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
        raise invalid("x", expected, x, error=InvalidObservationError)
    found = []
    for i, (query, each) in enumerate(zip(places, x)):
        with _in_row("x", i):
            found.append(place_set(run, query, each))
    return found


def columns_of(run, X, y, t, y_variance, context, failed):
    """Return the run, places, and columns (n,): y None of a failure, t, and variances.

    t is None where no time was given.
    """
    handles = isinstance(X, list | tuple) and any(isinstance(x, Query) for x in X)
    X, places = without_outcomes(run, X), None
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
        places = [_place_in(run, x, i, of_x) for i, (x, of_x) in enumerate(zip(X, contexts))]
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
    found, left, rivals = [None] * len(places), run, set()
    times = [None] * len(places) if t is None else t.tolist()

    def priority(i):
        # Handles choose first; each other one takes the latest query that is left.
        return isinstance(places[i], Query), times[i] or 0.0, i

    for i in sorted(range(len(places)), key=priority, reverse=True):
        rivals |= rivals_of(left, places[i], times[i])
        row, time, query = addressed(left, places[i], times[i], x[i])
        variance = 0.0 if y[i] is None else float(variances[i])
        observation = Told(row, y[i], time, variance, outcomes[i], query)
        if is_repeated(left, observation, x[i], found):
            continue
        if query is not None:
            left = replaced(left, pending=left.pending.without(query))
        found[i] = observation
    if rivals.intersection(query.id for query in left.pending_now):
        warn_ambiguous()
    new = [observation for observation in found if observation is not None]
    return sorted(new, key=lambda told: told.t)


def without_outcomes(run, X):
    """Return points without columns of outcomes, which `to_frame` adds, in any form of a point."""
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
