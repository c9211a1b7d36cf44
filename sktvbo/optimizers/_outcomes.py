"""Outcomes that are measured with the objective: their limits, their values and violations.

Each outcome has a surrogate like the objective's, with its own hyperparameters, see `_models`. Its
rows are those of the data set, and failures, for which it was measured. Limits apply to the
outcomes without noise.
"""

import math
from collections.abc import Mapping
from numbers import Real
from typing import NamedTuple

import numpy as np

from .._tables import as_table, frame_columns, is_added
from .._validation import (
    LARGEST_Y,
    check_size,
    finite_number,
    invalid,
    invalid_observation,
    real_array,
)
from ..exceptions import InvalidObservationError
from ._constants import N_REMEMBERED
from ._state import OBJECTIVE, DataSet


class Limit(NamedTuple):
    """Lower and upper limit of an outcome, in its unit; infinite if there is none.

    With the ``scale`` "log" the logarithm of the outcome is modelled, otherwise it is "linear".
    """

    name: str
    low: float
    high: float
    scale: str = "linear"

    def of_model(self, values):
        """Return values of the outcome on the scale of its model."""
        return np.log(values) if self.scale == "log" else values

    @property
    def ends(self):
        """The limits on the scale of the model."""
        low = max(self.low, 0.0) if self.scale == "log" else self.low
        with np.errstate(divide="ignore"):
            return float(self.of_model(low)), float(self.of_model(self.high))

    def of_user(self, mean, std):
        """Return mean and standard deviation of the outcome from those of its model."""
        if self.scale != "log":
            return mean, std
        mean = np.exp(mean + 0.5 * std**2)
        return mean, mean * np.sqrt(np.expm1(std**2))


# --- arguments ------------------------------------------------------------------------------------


def with_scales(limits, scales, owner):
    """Return limits with the scales of the parameter ``outcome_scales``."""
    name, names = "outcome_scales", [limit.name for limit in limits if limit.name != OBJECTIVE]
    scales = {} if scales is None else scales
    if not isinstance(scales, Mapping) or not set(scales) <= set(names):
        expected = f"None or a dict of measured outcomes ({', '.join(map(repr, names)) or 'none'})"
        raise invalid(name, expected, scales, owner)
    for outcome, scale in scales.items():
        if scale not in ("linear", "log"):
            got = f"{outcome!r}: {scale!r}"
            raise invalid(name, "a dict of 'linear' or 'log'", owner=owner, got=got)
    for outcome, low, high, _ in limits:
        if scales.get(outcome) == "log" and (-np.inf < low <= 0.0 or high <= 0.0):
            got = f"a limit {low if low > -np.inf else high} of {outcome!r}"
            raise invalid(name, "'log' for positive limits", owner=owner, got=got)
    return tuple(limit._replace(scale=scales.get(limit.name, "linear")) for limit in limits)


def _check_scale(scale, values, label):
    """Raise unless values of an outcome, NaN if not measured, are valid on its scale."""
    if scale == "log" and np.any(np.asarray(values, dtype=np.float64) <= 0.0):
        expected, error = "positive, as its scale is 'log'", InvalidObservationError
        advice = "Tell None where it was not measured."
        raise invalid(label, expected, values, advice=advice, error=error)


def limits_of(constraints, owner):
    """Return the limits (tuple of `Limit`) of the parameter ``outcome_constraints``."""
    if constraints is None:
        return ()
    name, form = "outcome_constraints", "None or a dict of names and pairs (low, high)"
    if not isinstance(constraints, Mapping) or not constraints:
        raise invalid(name, form, constraints, owner)
    limits = []
    for outcome, pair in constraints.items():
        if not (isinstance(outcome, str) and outcome):
            raise invalid(name, form, constraints, owner)
        got, label = f"{outcome!r}: {pair!r}", f"{name}[{outcome!r}]"
        is_pair = isinstance(pair, tuple | list) and len(pair) == 2
        if (
            not is_pair
            or pair[0] is pair[1] is None
            or any(isinstance(end, float) and math.isinf(end) for end in pair)
        ):
            raise invalid(
                name, "pairs (low, high), with one None for no limit", owner=owner, got=got
            )
        low, high = (
            end if bound is None else finite_number(bound, label, largest=LARGEST_Y)
            for bound, end in zip(pair, (-np.inf, np.inf))
        )
        if not low < high:
            raise invalid(name, "pairs with low < high", owner=owner, got=got)
        limits.append(Limit(outcome, low, high))
    return tuple(limits)


def check_names(limits, domain, owner):
    """Raise if a measured outcome has the name of another column of a frame."""
    for name, *_ in limits:
        if name in domain.columns or is_added(name):
            raise invalid(
                "outcome_constraints",
                "named unlike parameters, contexts and the other columns of to_frame()",
                owner=owner,
                got=repr(name),
                advice="Choose another name.",
            )


def is_missing(value):
    """Return True for None or NaN instead of a number."""
    if value is None:
        return True
    return np.size(value) == 1 and isinstance(value, Real | np.ndarray) and np.all(value != value)


def measured(run):
    """Return the names of the measured outcomes."""
    return [limit.name for limit in run.config.measured_limits]


def outcomes_of(run, outcomes, failed=False):
    """Return the outcomes (k,) of one observation, see `Observation`; it may have ``failed``."""
    columns, values = _columns(run, outcomes, failed), []
    for (name, value), limit in zip((columns or {}).items(), run.config.measured_limits):
        label = f"outcomes[{name!r}]"
        if not is_missing(value):
            value = finite_number(value, label, InvalidObservationError, LARGEST_Y)
            _check_scale(limit.scale, value, label)
        values.append(None if is_missing(value) else value)
    return columns and tuple(values)


def many_outcomes_of(run, outcomes, failed):
    """Return the outcomes of n observations as a list, see `outcomes_of`.

    Parameters
    ----------
    run : RunState
    outcomes : dict of columns, or a data frame
    failed : ndarray of bool of shape (n,)
    """
    n = len(failed)
    columns = _columns(run, outcomes, failed.all())
    if columns is None or all(column is None for column in columns.values()):
        return [columns and (None,) * len(columns)] * n
    table = np.empty((n, len(columns)))
    for i, ((name, column), limit) in enumerate(zip(columns.items(), run.config.measured_limits)):
        label = f"outcomes[{name!r}]"
        values = real_array(column, label, InvalidObservationError)
        if values.shape != (n,):
            got = f"shape {values.shape}"
            expected = f"an array of shape ({n},)"
            raise invalid_observation(label, expected, got=got)
        if np.isinf(values).any():
            expected = "finite, or NaN where it was not measured"
            raise invalid_observation(label, expected, column)
        check_size(values[~np.isnan(values)], label, LARGEST_Y, InvalidObservationError)
        _check_scale(limit.scale, values, label)
        table[:, i] = values
    return [tuple(None if v != v else v for v in row) for row in table.tolist()]


def _columns(run, outcomes, optional):
    """Return the outcomes told, by name in the order of the limits; None if there are none.

    A frame, or a row of one, may have other columns.
    """
    names, may_have_others = measured(run), not isinstance(outcomes, Mapping)
    if frame_columns(outcomes) is not None:
        outcomes = as_table(outcomes)
    known = outcomes.keys() if hasattr(outcomes, "keys") else None
    if (outcomes is None or (known is not None and len(known) == 0)) and (optional or not names):
        return dict.fromkeys(names) or None
    if not names:
        expected = "left out without outcome_constraints that name them"
        raise invalid_observation("outcomes", expected, outcomes)
    others = set() if known is None else set(known).difference(names)
    if known is None or not set(names).issubset(known) or (others and not may_have_others):
        raise invalid_observation(
            "outcomes",
            f"values named {', '.join(map(repr, names))}, None if not measured, and no others",
            got=repr(outcomes) if known is None else f"{', '.join(map(repr, known)) or 'none'}",
        )
    return {name: outcomes[name] for name in names}


# --- the state ------------------------------------------------------------------------------------


def kept_outcomes(run, new):
    """Return the positions (list) of the outcomes of a run that another one measures as well.

    Raise a ValueError for an outcome that was not measured with the observations.
    """
    known = measured(run)
    unknown = [name for name in measured(new) if name not in known]
    if unknown and run.history.total:
        raise invalid(
            "outcome_constraints",
            f"limits of measured outcomes: {', '.join(map(repr, [*known, OBJECTIVE]))}",
            owner=new.algorithm,
            got=f"a limit of {unknown[0]!r}",
            advice="Begin another run, and tell_many() observations with this outcome.",
        )
    scales = {limit.name: limit.scale for limit in run.config.measured_limits}
    for name, *_, scale in new.config.measured_limits:
        if run.history.total and scales.get(name, scale) != scale:
            expected = f"{scales[name]!r} for {name!r}, as before"
            advice = "Begin another run, and tell_many() the observations."
            raise invalid("outcome_scales", expected, scale, new.algorithm, advice=advice)
    return [known.index(name) for name in measured(new) if name in known]


def outcomes_of_failures(run, new):
    """Return the outcomes (f, k) of the failures of a run that continues as another one."""
    known, old = measured(run), run.failures.outcomes
    nothing = np.full(len(old), np.nan)
    outcomes = [old[:, known.index(name)] if name in known else nothing for name in measured(new)]
    return np.column_stack([np.empty((len(old), 0)), *outcomes])


# --- measurements ---------------------------------------------------------------------------------


def without_violation(run, points, margins=0.0):
    """Return the points (m, d) whose latest outcomes, also removed ones, are within the limits.

    Distances up to ``margins`` (k,) beyond the limits of k outcomes are not violations.
    """
    rows, distances = measurements(run, N_REMEMBERED)
    distances = without_noise(distances, margins)
    k, allowed = run.domain.n_chosen, np.ones(len(points), dtype=bool)
    for i, x in enumerate(points):
        here = distances[:, (rows[:, :k] == x[:k]).all(axis=1)]
        allowed[i] = not any(of_limit[~np.isnan(of_limit)][-1:].any() for of_limit in here)
    return points[allowed]


def without_noise(distances, margins):
    """Return distances (k, m) beyond limits, less those (k,) that may be noise."""
    return np.maximum(distances - np.reshape(margins, (-1, 1)), 0.0)


def measurements(run, n_latest=None):
    """Return rows (m, d + 1) at which outcomes are known, and their distances (k, m) beyond limits.

    A distance is 0 within the limit, and NaN if the outcome was not measured. The rows are those of
    the data set, or of the latest observations, and failures, in the order of time.
    """
    data, failures = run.data, run.failures
    if n_latest is not None:
        entries, positions = run.history.latest(n_latest), run.history.positions
        data = DataSet.of(positions[len(positions) - len(entries) :], entries)
    rows = np.vstack([data.rows.reshape(len(data), run.domain.n_dims + 1), failures.rows])
    outcomes = np.vstack([data.outcomes.reshape(len(data), len(measured(run))), failures.outcomes])
    y = np.append(data.y, np.full(len(failures.rows), np.nan))
    order = np.append(data.positions, np.array(failures.n_before) - 0.5)
    distances, chosen = beyond_limits(run, outcomes, y), np.lexsort([order, rows[:, -1]])
    chosen = chosen[~np.isnan(distances).all(axis=0)[chosen]]
    return rows[chosen], distances[:, chosen]


def beyond_limits(run, outcomes, y):
    """Return distances (k, m) beyond limits, see `measurements`, of outcomes (m, q) and y (m,).

    They are on the scales of the outcomes' models.
    """
    values, distances = dict(zip(measured(run), outcomes.T)) | {OBJECTIVE: y}, []
    for limit in run.config.limits:
        (low, high), value = limit.ends, limit.of_model(values[limit.name])
        distances.append(np.maximum(np.maximum(low - value, value - high), 0.0))
    return np.array(distances)


def summed(distances):
    """Return sums (m,) of known distances (k, m) beyond limits, over the largest of each limit."""
    largest = np.fmax.reduce(distances, axis=1, initial=0.0, keepdims=True)
    return np.nansum(distances / np.where(largest > 0.0, largest, 1.0), axis=0)
