"""Steps that add observations or failures: functions from a state to the next one."""

import copy
import math
import time
from collections.abc import Mapping
from numbers import Real
from operator import attrgetter

import numpy as np

from .._validation import check_rows, invalid
from .._values import replaced
from ..exceptions import AskTellError
from ..gaussian_process._fitted import FittedGP
from ..gaussian_process._regressor import TimeVaryingGP, held
from ..staleness import MaximumSize, RunSoFar
from ._budget import MODEL, REST, SEARCH, Search
from ._default_models import started_without_seasons
from ._outcomes import models_of, views, with_models
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

# With refit_every="auto", hyperparameters are searched when that promises a larger gain, in nats.
_MIN_GAIN = 0.1

# Search at the latest after this many times n observations: with wrong hyperparameters a policy
# may remove the observations that would correct them.
_MAX_AGE = 10

# Hyperparameters are learnt from at most this many of the observations of tell_many, the latest.
_MAX_LEARNT = 1000

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
        (mean,), (std,) = posterior_at_rows(run, x[np.newaxis], np.array([t]))
    noise = getattr(model, "noise_std_", math.nan)
    return float(mean), math.hypot(std, noise, math.sqrt(told.variance)) or math.nan


def posterior_at_rows(run, rows, times):
    """Return mean and standard deviation (m,) of f at rows (m, d), times (m,), as users see y."""
    model, places = run.model, run.domain.unit_of(rows)
    mean, std = np.empty(len(rows)), np.empty(len(rows))
    alone = np.unique(times)
    if len(alone) > 1 and isinstance(model, FittedGP):
        # The model is the same until some time, and all earlier ones are one call.
        n = len(alone)
        while n and model.at(alone[n - 1]) is not model:
            n -= 1
        together, alone = np.isin(times, alone[:n]), alone[n:]
        if n:
            X = np.column_stack([places, times])[together]
            mean[together], std[together] = model.predict(X, return_std=True)
    for t in alone:
        here = times == t
        mean[here], std[here] = model.at(t).posterior_at(t)(places[here])
    return run.sign * mean, std


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
    query, data, history, row = told.query, run.data, run.history, told.row
    passed = max(told.t, run.time.passed, -math.inf if query is None else query.asked)
    pending, now, changes = run.pending.answered(query, passed), max(told.t, run.time.now), {}
    if told.y is not None:
        data = run.data.append(history.log.total, row, told.y, told.variance)
        model, policy, left = run.objective, run.policy, data
        if not data_only and (model.surrogate is not None or len(data) >= run.config.n_initial):
            model, policy, left = _updated_model(run, told, data, now, hold, first)
        elif not data_only:
            left = run.algorithm._before_surrogate(run, data)
        removed, weights = _NO_POSITIONS, ()
        if left is not data:
            removed, weights = _removed(run, data, left)
        entry = Observation(
            row=row,
            y=told.y,
            now=now,
            n=len(left.y),
            removed=removed,
            record=_checked_record(policy),
            variance=told.variance,
            query=query and query.id,
            predicted=predicted,
            removed_weights=weights,
            outcomes=told.outcomes,
            asked=told.asked,
        )
        changes = {"policy": policy, "policy_before": run.policy, "forecast": None, "data": left}
        changes |= {"objective": model, "history": history.append(entry)}
    time = replaced(run.time, now=now, passed=passed)
    after = replaced(run, time=time, pending=pending, at=run.told_at(told), **changes)
    learns = not (hold or data_only or first is not None)
    return after_step(run, after, "told", told._replace(whole=data, learns=learns))


def _removed(run, whole, left):
    """Return the positions, and the weights if robust, of the rows that a data set has lost."""
    at = np.minimum(np.searchsorted(left.positions, whole.positions), len(left) - 1)
    removed, known = whole.positions[left.positions[at] != whole.positions], run.outlier_weights
    return removed, tuple(known.get(i, math.nan) for i in removed.tolist()) if known else ()


# --- surrogate and policy -------------------------------------------------------------------------


def _updated_model(run, told, data, now, hold, first):
    """Return model, policy and data set after an observation.

    ``data`` is the data set with the observation; the policy may remove from it.
    """
    X, target = run.to_surrogate(data.rows[-1:], data.y[-1:])
    policy = copy.copy(run.policy)
    history, timer, n, fresh = run.history, run.timer, len(data.y), False
    if timer is not None:
        timer.lap(REST)
        found = run.sliced_search is not None and run.sliced_search.found is not None
        fresh = not hold and (found or timer.wants_timing(n))
    queries = made_until(run.time.now, run.query_sizes)
    max_size = None if timer is None else timer.size_for(n)
    policy.watch(RunSoFar(history.n_told + 1, queries, run.latest_observations, max_size))
    before = run.surrogate
    if before is not None:
        found = policy.before_add(before, X[0, :-1], told.t, target[0])
        drop = check_rows(found, n - 1, _ROWS_OF.format(type(policy).__name__, "before_add"))
        if told.outcomes and any(policy.before_outcome(*each) for each in _measured(run, told)):
            drop = np.arange(n - 1)
        data = data.drop(drop) if len(drop) else data
        model = _next_model(run, X, target, drop, data, hold, fresh)
    elif first is not None:
        model = Model(first, SearchState(0, n))
    else:
        model = _first_model(run, data)
    surrogate = model.surrogate
    allowed = None if max_size is None else MaximumSize(max_size)
    for each in (policy, run.config.size_limit, allowed):
        if each is not None:
            surrogate, data = _without_stale(run, each, surrogate, data, now)
    model = model._replace(surrogate=surrogate)
    if timer is not None:
        timer.model_updated(n, fresh)
        model = _after_slice(run, model, data)
        timer.lap(SEARCH)
    return model, policy, data


def _measured(run, told):
    """Yield surrogate, place, time and value of each outcome that was measured."""
    limits = run.config.measured_limits
    for model, value, limit in zip(models_of(run), told.outcomes, limits):
        if model.surrogate is not None and value is not None:
            y = run.sign * limit.of_model(value)
            yield model.surrogate, run.domain.unit_of([told.x])[0], told.t, y


def outcome_model(run, whole, after):
    """Return the model of an outcome, from its views before and after a step.

    ``whole`` is the one after it without the removals of the step.
    """
    data, old = after.data, run.data.positions
    if not len(data):
        return Model()
    if run.surrogate is None:
        model = _first_model(run, whole.data)
        drop = ~np.isin(whole.data.positions, data.positions)
        if not drop.any():
            return model
        follow = len(data) >= run.min_to_learn
        surrogate = model.surrogate.without(np.flatnonzero(drop), restandardize=follow)
        return model._replace(surrogate=surrogate)
    drop = np.flatnonzero(~np.isin(old, data.positions))
    new = whole.data.positions[~np.isin(whole.data.positions, old)]
    model = run.objective
    if len(new) == 1 and data.positions[-1] == new[0]:
        X, target = run.to_surrogate(data.rows[-1:], data.y[-1:])
        model = _next_model(run, X, target, drop, data, hold=False, fresh=False)
    elif len(new) or len(drop):
        model = model._replace(surrogate=conditioned(after, run.surrogate, data))
    return model if run.timer is None else _after_slice(run, model, data)


def with_first_models(run):
    """Return the run with a surrogate, and those of its outcomes, fitted to the data set."""
    run = run.with_objective(surrogate=first_surrogate(run, run.data))
    return with_models(run, [on_its_rows(each) for each in views(run)])


def on_its_rows(run, surrogate=None):
    """Return the model of an outcome on the rows of its view, with known hyperparameters if any."""
    surrogate = run.surrogate if surrogate is None else surrogate
    if not len(run.data):
        return Model()
    if surrogate is None:
        return Model(first_surrogate(run, run.data), SearchState())
    return Model(conditioned(run, surrogate, run.data), run.search)


def _without_stale(run, policy, surrogate, data, now):
    """Return a surrogate and its data set without what a policy drops."""
    n, name = len(data.y), _ROWS_OF.format(type(policy).__name__, "after_add")
    drop = check_rows(policy.after_add(surrogate, now), n, name)
    if len(drop) == n:
        raise invalid(name, f"fewer than all {n}", got="all of them")
    if not len(drop):
        return surrogate, data
    data = data.drop(drop)
    return surrogate.without(drop, restandardize=n - len(drop) >= run.min_to_learn), data


def first_surrogate(run, data):
    """Return the first surrogate, fitted to a data set."""
    X, y = run.to_surrogate(data.rows, data.y)
    surrogate, known = run.new_surrogate(X[:, -1]), (X, y, *_some_variances(data.variance))
    if run.periods:
        surrogate = started_without_seasons(surrogate, len(run.periods), *known)
    return held(surrogate.fit(*known))


def conditioned(run, surrogate, data):
    """Return a surrogate with the same hyperparameters, conditioned on a data set."""
    X, y = run.to_surrogate(data.rows, data.y)
    follow = len(data) >= run.min_to_learn
    return surrogate.with_rows(X, y, *_some_variances(data.variance), restandardize=follow)


def _first_model(run, data):
    """Return the first model; with a budget its hyperparameters are searched in slices."""
    if run.timer is not None:
        X, y = run.to_surrogate(data.rows, data.y)
        surrogate = run.new_surrogate(X[:, -1])
        if isinstance(surrogate, TimeVaryingGP):
            surrogate = held(surrogate.partial_fit(X, y, *_some_variances(data.variance)))
            search = begun_search(run, surrogate, data) if can_be_searched(surrogate) else None
            return Model(surrogate, SearchState(1, len(data)), search)
    return Model(first_surrogate(run, data), SearchState(0, len(data)))


def _next_model(run, X, target, drop, data, hold, fresh):
    """Return the model without some rows and with the last of a data set.

    A ``fresh`` surrogate is computed from the rows alone.
    """
    (surrogate, search, sliced), n = run.objective, len(data.y)
    few = n < run.min_to_learn
    early = run.algorithm._searches_for_the_past and X[0, -1] < surrogate.X_train_[:, -1].min()
    if sliced is not None and sliced.found is not None and not early:
        return _with_found(run, sliced, None, data)
    if fresh:
        surrogate = conditioned(run, surrogate, data)
    else:
        known, scale = _some_variances(data.variance[-1:]), {"restandardize": not few}
        if n == 1:
            surrogate = surrogate.with_rows(X, target, *known, **scale)
        else:
            surrogate = surrogate.without(drop, **scale) if len(drop) else surrogate
            surrogate = surrogate.condition_on(X, target, *known, **scale)
    search = SearchState(search.age + 1, search.size)
    # An expert's answers have taught more than stale observations would.
    hold = hold or (few and run.model is not run.surrogate)
    goes_on = sliced is not None and run.timer is not None and not early
    if hold or goes_on or not search_is_due(run, surrogate, n, early):
        return Model(surrogate, search, sliced)
    if run.timer is not None and not early and isinstance(surrogate, FittedGP):
        return Model(surrogate, search, begun_search(run, surrogate, data))
    return Model(surrogate.refit(**_search_arguments(run, surrogate, data)), SearchState(0, n))


def begun_search(run, surrogate, data):
    """Return a search of a surrogate's hyperparameters in slices, before its first one."""
    timer = run.timer
    expected = 0.0 if timer is None else timer.expected(SEARCH, len(data))
    return Search(surrogate, _search_arguments(run, surrogate, data), expected)


def _search_arguments(run, surrogate, data):
    """Return the arguments of a surrogate's ``refit``, a dict."""
    times, extra, n_missing = surrogate.X_train_[:, -1], None, run.min_to_learn - len(data)
    if n_missing > 0:
        # Removed observations still tell which kind of function it is.
        removed = run.history.latest_outside(data, n_missing)
        if removed:
            variances = np.array([entry.variance for entry in removed])
            rows, y = run.to_surrogate(run.rows(removed), [entry.y for entry in removed])
            extra = rows, y, *_some_variances(variances)
            times = np.concatenate([times[:-1], rows[:, -1], times[-1:]])
    return {"extra_rows": extra, **run.temporal_kernel_for(times)}


def _after_slice(run, model, data):
    """Return a model after a slice of its search, if it has one."""
    timer, before = run.timer, model.sliced_search
    if before is None:
        return model
    sliced = before.continued(timer.until)
    if sliced is before and sliced.found is None and timer.is_too_long(sliced):
        # It begins again when fewer rows are left.
        timer.searched(sliced.n, max(sliced.cost, sliced.expected))
        return model._replace(sliced_search=None)
    if sliced.found is not None:
        timer.searched(sliced.n, sliced.cost)
    if sliced.found is None or not timer.fits(MODEL, len(data)):
        return model._replace(sliced_search=sliced)
    timer.lap(SEARCH)
    model = _with_found(run, sliced, model.surrogate, data)
    timer.model_updated(len(data), fresh=True)
    return model


def _with_found(run, sliced, surrogate, data):
    """Return the model that a search has found, on a data set, in place of a surrogate."""
    found = sliced.found
    if sliced.surrogate is not surrogate:
        found = conditioned(run, found, data)
    return Model(found, SearchState(0, sliced.n))


def refit(run, deadline):
    """Return the run after a search of all hyperparameters, or a slice of some seconds of it.

    With a deadline, searches that are interrupted are completed before others begin.
    """
    if not models_of(run):
        return _refitted(run, deadline)
    parts, all_due, share = (run, *views(run)), deadline is None or not is_searching(run), None
    due = [
        part.surrogate is not None and (all_due or part.sliced_search is not None) for part in parts
    ]
    if deadline is not None:
        share = deadline / sum(due)
    after = [_refitted(part, share) if is_due else part for part, is_due in zip(parts, due)]
    return with_models(after[0], [each.objective for each in after[1:]])


def is_searching(run):
    """Return True while a search of hyperparameters is not completed."""
    return any(model.sliced_search is not None for model in (run, *models_of(run)))


def _refitted(run, deadline):
    """Return the run after a search for its surrogate alone, or a slice of it."""
    surrogate, until = run.surrogate, np.inf
    if deadline is not None:
        until = time.process_time() + deadline
    if not can_be_searched(surrogate):
        return run
    if not isinstance(surrogate, FittedGP):
        surrogate = surrogate.refit(**_search_arguments(run, surrogate, run.data))
        return replaced(run, objective=Model(surrogate, SearchState(0, len(run.data))))
    sliced = run.sliced_search or begun_search(run, surrogate, run.data)
    sliced = sliced.continued(until, n_sure=1)
    if sliced.found is None:
        return run.with_objective(sliced_search=sliced)
    return replaced(run, objective=_with_found(run, sliced, surrogate, run.data))


def _some_variances(variances):
    """Return known variances (n,) as the last argument of a surrogate's call; none where all are 0.

    A custom surrogate need not know of variances unless some are told.
    """
    return (variances,) if variances.any() else ()


def can_be_searched(surrogate):
    """Return True if a surrogate has hyperparameters to search."""
    return getattr(surrogate, "optimizer", True) is not None


def search_is_due(run, surrogate, size, required=False):
    """Return True if the hyperparameters of a surrogate of ``size`` rows are to be searched."""
    every, last = run.algorithm.refit_every, run.search
    age = last.age + 1
    if required or every is None:
        is_due = required
    elif every != "auto":
        is_due = age >= every
    elif not 0.5 * last.size <= size <= 1.1 * last.size or age >= _MAX_AGE * size:
        is_due = True
    else:
        gain = getattr(surrogate, "search_gain", None)
        is_due = gain is None or gain() > _MIN_GAIN
    return is_due and can_be_searched(surrogate)


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
    learning = [told for told in rest if told.y is not None]
    holds = run.surrogate is not None and (
        run.algorithm.refit_every is None or not can_be_searched(run.surrogate)
    )
    learnt = _learnt(run, learning, holds)
    of_outcomes = _learnt_outcomes(run, rest, holds)
    age = run.search.age + len(learning) if holds else 0
    if run.never_drops:
        for told in rest:
            run = add(run, told, data_only=True)
        if len(learnt.X_train_) < len(run.data):
            learnt = conditioned(run, learnt, run.data)
        run = run.with_objective(surrogate=learnt, sliced_search=None)
    else:
        if run.surrogate is None:
            data = run.data.append(run.history.total, rest[0].row, rest[0].y, rest[0].variance)
            run = add(run, rest[0], first=conditioned(run, learnt, data))
            rest = rest[1:]
        else:
            surrogate = conditioned(run, learnt, run.data)
            run = run.with_objective(surrogate=surrogate, sliced_search=None)
        for told in rest:
            run = add(run, told, hold=True)
    run = run.with_objective(search=SearchState(age, len(run.data)))
    return _with_learnt_outcomes(run, of_outcomes), entries


def _learnt_outcomes(run, observations, holds):
    """Return surrogates of the outcomes with hyperparameters learnt as by `_learnt`."""
    found = []
    for i, (each, limit) in enumerate(zip(views(run), run.config.measured_limits)):
        told = [
            told._replace(y=float(limit.of_model(told.outcomes[i])), variance=0.0)
            for told in observations
            if told.outcomes[i] is not None
        ]
        found.append(_learnt(each, told, holds) if told else each.surrogate)
    return found


def _with_learnt_outcomes(run, learnt):
    """Return the run with surrogates of its outcomes, conditioned on the data set."""
    models = []
    for each, surrogate in zip(views(run), learnt):
        model = on_its_rows(each, surrogate)
        if surrogate is not each.surrogate:
            model = model._replace(search=SearchState(run.search.age, len(each.data)))
        models.append(model)
    return with_models(run, models)


def _learnt(run, observations, holds):
    """Return a surrogate with hyperparameters learnt from observations and the data set.

    Of more than 1000 observations the latest are used, unless none is ever removed and the
    hyperparameters are held.
    """
    rows = np.array([told.row for told in observations])
    y = np.array([told.y for told in observations])
    variances = np.array([told.variance for told in observations])
    if run.surrogate is None:
        data, total = run.data, run.history.total
        for i, (row, value, variance) in enumerate(zip(rows, y, variances)):
            data = data.append(total + i, row, value, variance)
        return first_surrogate(run, data.drop(np.arange(max(len(data) - _MAX_LEARNT, 0))))
    if not (holds and run.never_drops):
        rows, y, variances = rows[-_MAX_LEARNT:], y[-_MAX_LEARNT:], variances[-_MAX_LEARNT:]
    X, targets = run.to_surrogate(rows, y)
    known = _some_variances(variances)
    surrogate = run.surrogate.condition_on(X, targets, *known, restandardize=True)
    if holds:
        return surrogate
    times = surrogate.X_train_[:, -1]
    return surrogate.refit(**run.temporal_kernel_for(times))
