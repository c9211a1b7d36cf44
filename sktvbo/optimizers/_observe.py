"""Steps that add observations or failures: functions from a state to the next one."""

import copy
import math
from collections.abc import Mapping
from numbers import Real
from operator import attrgetter

import numpy as np

from .._validation import check_rows, invalid
from .._values import replaced
from ..exceptions import AskTellError
from ..staleness import MaximumSize, RunSoFar
from ._budget import REST, SEARCH
from ._models import (
    after_slice,
    can_be_searched,
    conditioned,
    first_model,
    is_searching,
    latest_row,
    learnt,
    model_on_data,
    models_of,
    next_model,
    objective,
    outcome_targets,
    posterior_at_rows,
    searched,
    with_models,
    without_rows,
)
from ._part import after_step
from ._state import (
    Model,
    Observation,
    Query,
    SearchState,
    made_until,
    not_pending,
    with_context_of,
)

# Name of a policy's result in messages, of its class and a method.
_ROWS_OF = "The rows that {}.{} returns"

_NO_POSITIONS = np.empty(0, dtype=np.intp)


def addressed(run, x, t, place=None):
    """Return row (d,), time, and pending query or None, of an x or a `Query` and a time or None.

    ``place`` (d,) is what was set in place of the query, NaN for a context that is not given.
    """
    found = [x] if isinstance(x, Query) else run.matching(x, t)
    if found:
        query = found[-1]
        row = query.x if x is query else with_context_of(x, query.x)
        if place is not None:
            row = with_context_of(place, row)
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
            advice="It is what has been measured beside x: tell(x, y, t, context=...).",
            error=AskTellError,
        )
    return row


def is_repeated(run, told, place=None, others=()):
    """Return True if the query of an observation was told the same before.

    Parameters
    ----------
    run : RunState
    told : Told
    place : ndarray of shape (d,), default=None
        What was set, if it is said.
    others : list of Told or None, default=()
        Of the same step.

    Raises
    ------
    AskTellError
        Something else was told.
    """
    query, k = told.query, run.domain.n_chosen
    if query is None or query.id in map(attrgetter("id"), run.pending.unanswered):
        return False
    same = [each for each in others if each is not None and each.query_id == query.id]
    if same:
        row, values = same[0].row, (same[0].y, same[0].variance, same[0].outcomes)
    else:
        row, _, *values = run.answer_to(query)
    x = row if place is None else told.x
    old = [row[-1], row[k:-1].tolist(), row[:k].tolist(), *values]
    new = [told.t, told.x[k:].tolist(), x[:k].tolist(), told.y, told.variance, told.outcomes]
    names = "t", "context", "x", "y", "y_variance", "outcomes"
    differ = [i for i in range(6) if old[i] != new[i]]
    if not differ:
        return True

    def shown(values):
        parts = [(names[i], values[i]) for i in differ if i < 5 or values[i] is not None]
        return ", ".join("failed=True" if v is None else f"{name}={v}" for name, v in parts)

    advice = "To correct an observation, call untell(query), then tell(x, y, t)."
    if old[3] is None:
        advice = "A failure cannot be taken back. Tell another observation: tell(x, y, t)."
    raise invalid(
        f"An answer to query {query.id}, which was told already,",
        f"the same as before, {shown(old)}",
        got=shown(new),
        advice=advice,
        error=AskTellError,
    )


def predicted_observation(run, told):
    """Return mean and standard deviation of an observation before it is told.

    In units and with the sign of y; None without a model. The noise is included: that of the model,
    and a known variance. The deviation is NaN if it is 0, or if a custom surrogate has no
    ``noise_std_``.
    """
    model, known, x, t = run.model, run.forecast, told.x, told.t
    if model is None or run.policy.queries_prior:
        return None
    if known is not None and known.model is model and known.t == t and np.array_equal(known.x, x):
        mean, std = run.sign * known.mean, known.std
    else:
        (mean,), (std,) = posterior_at_rows(run, model, x[np.newaxis], np.array([t]))
    noise = getattr(model, "noise_std_", math.nan)
    return float(mean), math.hypot(std, noise, math.sqrt(told.variance)) or math.nan


def observe(run, told, *, predicted=None, hold=False, first=None, data_only=False):
    """Return the run with an observation, or a failure.

    Parameters
    ----------
    run : RunState
    told : Told
    predicted : (float, float), default=None
        See `predicted_observation`.
    hold : bool, default=False
        Hold the hyperparameters.
    first : Surrogate, default=None
        A first surrogate that includes the observation.
    data_only : bool, default=False
        Leave surrogate and policy as they are.
    """
    query, whole, changes = told.query, run.data, {}
    passed = max(told.t, run.time.passed, -math.inf if query is None else query.asked)
    time = replaced(run.time, now=max(told.t, run.time.now), passed=passed)
    if told.y is not None:
        whole = run.data.append(run.history.total, told.row, told.y, told.variance)
        model, policy, data = run.objective, run.policy, whole
        if not data_only and (run.surrogate is not None or len(whole) >= run.config.n_initial):
            model, policy, data = _learns_from(run, told, whole, time.now, hold, first)
        elif not data_only:
            data = run.algorithm._before_surrogate(run, whole)
        entry = _entry(run, told, whole, data, policy, time.now, predicted)
        changes = {"policy": policy, "policy_before": run.policy, "forecast": None, "data": data}
        changes |= {"objective": model, "history": run.history.append(entry)}
    pending = run.pending.answered(query, passed)
    after = replaced(run, time=time, pending=pending, at=run.told_at(told), **changes)
    learns = not (hold or data_only or first is not None)
    return after_step(run, after, "told", told._replace(whole=whole, learns=learns))


def _entry(run, told, whole, data, policy, now, predicted):
    """Return the `Observation` of what is told, after which ``data`` is left of the whole."""
    removed, weights = _NO_POSITIONS, ()
    if data is not whole:
        at = np.minimum(np.searchsorted(data.positions, whole.positions), len(data) - 1)
        removed = whole.positions[data.positions[at] != whole.positions]
        known = run.outlier_weights
        weights = tuple(known.get(i, math.nan) for i in removed.tolist()) if known else ()
    return Observation(
        row=told.row,
        y=told.y,
        now=now,
        n=len(data),
        removed=removed,
        record=_checked_record(policy),
        variance=told.variance,
        query=told.query_id,
        predicted=predicted,
        removed_weights=weights,
        outcomes=told.outcomes,
        asked=told.asked,
    )


# --- surrogate and policy -------------------------------------------------------------------------


def _learns_from(run, told, data, now, hold, first):
    """Return model, policy and data set after an observation.

    ``data`` is the data set with the observation; the policy may remove from it.
    """
    policy, timer, target, n = copy.copy(run.policy), run.timer, objective(run), len(data)
    fresh, max_size = False, None
    if timer is not None:
        timer.lap(REST)
        is_found = run.sliced_search is not None and run.sliced_search.found is not None
        fresh = not hold and (is_found or timer.wants_timing(n))
        max_size = timer.size_for(n)
    queries = made_until(run.time.now, run.query_sizes)
    policy.watch(RunSoFar(run.history.n_told + 1, queries, run.latest_observations, max_size))
    if run.surrogate is not None:
        latest = latest_row(run, data)
        drop = _dropped_before(run, policy, told, latest, n)
        data = data.drop(drop) if len(drop) else data
        # An expert's answers have taught more than stale observations would.
        hold = hold or (run.model is not run.surrogate and len(data) < target.min_to_learn)
        model = next_model(target, drop, data, latest, hold=hold, fresh=fresh)
    elif first is not None:
        model = Model(first, SearchState(0, n))
    else:
        model = first_model(target, data)
    for each in (policy, run.config.size_limit, max_size and MaximumSize(max_size)):
        if each is not None:
            model, data = _without_stale(target, each, model, data, now)
    if timer is not None:
        timer.model_updated(n, fresh)
        model = after_slice(target, model, data)
        timer.lap(SEARCH)
    return model, policy, data


def _dropped_before(run, policy, told, latest, n):
    """Return indices of the rows that a policy drops before an observation, the n-th row."""
    X, y = latest[:2]
    found = policy.before_add(run.surrogate, X[0, :-1], told.t, y[0])
    drop = check_rows(found, n - 1, _ROWS_OF.format(type(policy).__name__, "before_add"))
    if told.outcomes and any(policy.before_outcome(*each) for each in _measured(run, told)):
        return np.arange(n - 1)
    return drop


def _measured(run, told):
    """Yield surrogate, place, time and value of each outcome that was measured."""
    limits = run.config.measured_limits
    for model, value, limit in zip(models_of(run), told.outcomes, limits):
        if model.surrogate is not None and value is not None:
            y = run.sign * limit.of_model(value)
            yield model.surrogate, run.domain.unit_of([told.x])[0], told.t, y


def _without_stale(target, policy, model, data, now):
    """Return a model and its data set without what a policy drops."""
    n, name = len(data), _ROWS_OF.format(type(policy).__name__, "after_add")
    drop = check_rows(policy.after_add(model.surrogate, now), n, name)
    if len(drop) == n:
        raise invalid(name, f"fewer than all {n}", got="all of them")
    if not len(drop):
        return model, data
    surrogate = without_rows(target, model.surrogate, drop, n - len(drop))
    return model._replace(surrogate=surrogate), data.drop(drop)


def _checked_record(policy):
    """Return the record of a policy: a dict of str to float or None."""
    record = policy.record() or {}
    name = f"What {type(policy).__name__}.record returns"
    if not isinstance(record, Mapping):
        raise invalid(name, "a dict of names and numbers", record)
    found = {}
    for key, value in record.items():
        number = isinstance(value, Real | np.bool_)
        if key in ("time", "n"):
            raise invalid(name, "a dict without 'time' and 'n', columns of every history", record)
        if not (isinstance(key, str) and (value is None or (number and value == value))):
            expected = "a dict of names and numbers, None for what is not known"
            raise invalid(name, expected, got=f"{key!r}: {value!r}")
        found[key] = None if value is None else float(value)
    return found


# --- many observations ----------------------------------------------------------------------------


def observe_many(run, observations):
    """Return the run with observations (list of Told), in order of time.

    The hyperparameters are learnt once, from all. Then the observations are added one by one with
    these, so that the policy sees each one as if it had been told alone, and has no prediction:
    that of a single one is made before the hyperparameters are learnt. Also return what was told:
    each `Observation`, and the `Failures` after each failure.
    """
    entries, predicted = [], None
    if len(observations) == 1 and observations[0].y is not None:
        predicted = predicted_observation(run, observations[0])

    def add(run, told, **options):
        after = observe(run, told, predicted=predicted, **options)
        entries.append(after.failures if told.y is None else after.history.log[-1])
        return after

    # The last one that is needed makes the first surrogate.
    measured = [i for i, told in enumerate(observations) if told.y is not None]
    needed = max(run.config.n_initial - len(run.data) - 1, 0) if run.surrogate is None else 0
    before = measured[needed] if needed < len(measured) else len(observations)
    for told in observations[:before]:
        run = add(run, told)
    rest = observations[before:]
    if not rest:
        return run, entries
    holds = run.surrogate is not None and (
        run.algorithm.refit_every is None or not can_be_searched(run.surrogate)
    )
    surrogate, *of_outcomes = (
        learnt(target, rest, holds) for target in (objective(run), *outcome_targets(run))
    )
    n_learnt = sum(told.y is not None for told in rest)
    age = run.search.age + n_learnt if holds else 0
    if run.never_drops:
        for told in rest:
            run = add(run, told, data_only=True)
        if len(surrogate.X_train_) < len(run.data):
            surrogate = conditioned(objective(run), surrogate, run.data)
        run = run.with_objective(surrogate=surrogate, sliced_search=None)
    else:
        if run.surrogate is None:
            data = run.data.append(run.history.total, rest[0].row, rest[0].y, rest[0].variance)
            run = add(run, rest[0], first=conditioned(objective(run), surrogate, data))
            rest = rest[1:]
        else:
            surrogate = conditioned(objective(run), surrogate, run.data)
            run = run.with_objective(surrogate=surrogate, sliced_search=None)
        for told in rest:
            run = add(run, told, hold=True)
    run = run.with_objective(search=SearchState(age, len(run.data)))
    return _with_learnt_outcomes(run, of_outcomes), entries


def _with_learnt_outcomes(run, surrogates):
    """Return the run with surrogates of its outcomes, conditioned on the data set."""
    models = []
    for target, surrogate in zip(outcome_targets(run), surrogates):
        model = model_on_data(target, surrogate)
        if surrogate is not target.model.surrogate:
            model = model._replace(search=SearchState(run.search.age, len(target.data)))
        models.append(model)
    return with_models(run, models)


# --- a search that is asked for -------------------------------------------------------------------


def refit(run, deadline):
    """Return the run after a search of all hyperparameters, or a slice of some seconds of it.

    With a deadline, searches that are interrupted are completed before others begin.
    """
    targets, goes_on = (objective(run), *outcome_targets(run)), deadline and is_searching(run)
    due = [
        target.model.surrogate is not None and not (goes_on and target.model.sliced_search is None)
        for target in targets
    ]
    share = None if deadline is None else deadline / sum(due)
    models = [
        searched(target, share) if is_due else target.model for target, is_due in zip(targets, due)
    ]
    if all(model is target.model for model, target in zip(models, targets)):
        return run
    return with_models(replaced(run, objective=models[0]), models[1:])
