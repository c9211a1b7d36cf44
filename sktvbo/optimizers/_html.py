"""HTML representation of an optimizer, for notebooks."""

from html import escape

import numpy as np

from ..domain import WithContext
from ..gaussian_process import TimeVaryingGPRegressor

# Pending queries that are shown.
_N_PENDING = 5


def representation(optimizer):
    """Return the parameters that are not the defaults, and the state of the run, as HTML."""
    rows = [("parameters", repr(optimizer)), *(_state(optimizer) if _has_run(optimizer) else [])]
    if len(rows) == 1:
        rows.append(("state", "no run yet: it begins with the first ask or tell"))
    cells = "".join(
        f'<tr><th style="text-align:left">{escape(name)}</th>'
        f'<td style="text-align:left">{escape(text)}</td></tr>'
        for name, text in rows
    )
    title = escape(type(optimizer).__name__)
    return f'<table class="sktvbo"><caption>{title}</caption><tbody>{cells}</tbody></table>'


def _has_run(optimizer):
    return "_run" in vars(optimizer)


def _state(optimizer):
    """Yield the rows of the state, as pairs of texts."""
    n_kept, pending = len(optimizer.X_), optimizer.pending_
    yield (
        "observations",
        f"{optimizer.n_told_} told, {n_kept} in the data set, {optimizer.n_removed_} removed, "
        f"{optimizer.n_failed_} failed",
    )
    if n_kept:
        yield "incumbent", _incumbent(optimizer)
    yield "hyperparameters", _hyperparameters(optimizer.surrogate_)
    shown = [f"id {query.id}: {_point(query.x)} at t = {query.t}" for query in pending]
    if len(shown) > _N_PENDING:
        shown[_N_PENDING:] = [f"and {len(shown) - _N_PENDING} more"]
    yield "pending queries", "; ".join(shown) or "none"


def _incumbent(optimizer):
    if isinstance(optimizer._run.domain, WithContext):
        return "depends on the context: recommend(t, context=...)"
    t = float(optimizer.X_[:, -1].max())
    x = optimizer.recommend(t)
    if optimizer.surrogate_ is None:
        return f"{_point(x)} at t = {t:g}"
    mean, std = optimizer.predict(x, t, return_std=True)
    return f"{_point(x)}, predicted {mean:.4g} ± {std:.2g} at t = {t:g}"


def _point(x):
    if isinstance(x, dict):
        return ", ".join(
            f"{name} = {value:.4g}" if isinstance(value, float) else f"{name} = {value}"
            for name, value in x.items()
        )
    return f"x = {np.array2string(np.asarray(x), precision=4)}"


def _hyperparameters(surrogate):
    if surrogate is None:
        return "no surrogate yet"
    if not isinstance(surrogate, TimeVaryingGPRegressor):
        return repr(surrogate)
    return (
        f"in space {surrogate.spatial_kernel_}, in time {surrogate.temporal_kernel_}, "
        f"noise variance {surrogate.noise_variance_:.2g} of the scaled values"
    )
