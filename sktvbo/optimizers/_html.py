"""HTML representation of an optimizer, for notebooks."""

from html import escape

import numpy as np

from .._documentation import documentation_page
from ..gaussian_process._fitted import FittedGP
from ._outcomes import beyond_limits
from ._state import handles

# Pending queries that are shown.
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
        within = (beyond_limits(run, run.part("limits").values, y) == 0.0).all(axis=0)
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
