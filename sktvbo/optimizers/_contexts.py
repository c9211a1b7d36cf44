"""What has been measured beside queries, when they are asked for, told and looked at.

A run whose domain has a context holds rows of both. To be asked, it is given the domain as it is in
the present context, of which a search moves only what is chosen.
"""

import numpy as np

from .._validation import invalid
from .._values import replaced
from ..exceptions import AskTellError


def in_context(run, context):
    """The run as it is in a context (c,), with a domain where that is fixed."""
    if not len(context):
        return run
    start = np.array(run.start)
    start[:, run.domain.n_chosen :] = context
    return replaced(run, domain=run.domain.given(context), start=start)


def after_asking(run, t, size, context, *, may_wait):
    """As `Run.after_asking`, in a context as users give it: one for all, or one for each query."""
    if context is None and run.domain.n_chosen == run.domain.n_dims:
        return run.after_asking(t, size, may_wait=may_wait)
    contexts = run.domain.contexts(context, size)
    same = len(contexts) == 1 or (contexts == contexts[0]).all()
    groups = [(contexts[0], size)] if same else [(row, 1) for row in contexts]
    after, queries = run, []
    for i, (row, n) in enumerate(groups):
        asked, found = in_context(after, row).after_asking(t, n, may_wait=may_wait)
        queries += found
        # It is one step, whatever the contexts.
        of_step = after.queries if i else asked.queries
        after = replaced(asked, domain=run.domain, start=run.start, queries=of_step)
    return after, queries


def rows_in_context(domain, X, context, one):
    """Rows (m, d) of places as users give them, one or several, with their contexts."""
    rows = domain.place(X, context)[np.newaxis] if one else domain.places(X, context)
    if np.isnan(rows).any():
        domain.contexts(None, len(rows))  # an error: it must be given
    return rows


def measured(row, pending=None):
    """A row (d,) as it was told, and the context of the pending query where none was told."""
    open_ = np.isnan(row)
    if not open_.any():
        return row
    if pending is None:
        raise invalid(
            "context",
            "given for a point that is no pending query of ask()",
            None,
            advice="It is what has been measured beside x: tell(x, y, t, context=...).",
            error=AskTellError,
        )
    return np.where(open_, pending, row)


def corrected(row, pending, n_chosen):
    """A pending query's row (d,), in the context with which it was told where that is another."""
    return np.append(pending[:n_chosen], measured(row, pending)[n_chosen:])


def check_no_context(domain, caller):
    """Raise for a call that knows of no contexts."""
    if domain.n_chosen < domain.n_dims:
        raise invalid(
            f"The domain of {caller}",
            "one without a context",
            domain,
            advice="An expert is asked about places alone, whatever has been measured beside them.",
            error=AskTellError,
        )
