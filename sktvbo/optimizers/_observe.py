"""Steps that add observations or failures, or take them back: from a state to the next one."""

import math
from collections.abc import Mapping
from numbers import Real
from typing import NamedTuple

import numpy as np

from .._validation import check_rows, invalid
from .._values import deep_copy, replaced
from .._warnings import warn_caller
from ..exceptions import ModelWarning
from ..gaussian_process.kalman._filter import Filter
from ..staleness import MaximumSize, RunSoFar
from ._budget import REST, SEARCH
from ._models import (
    after_slice,
    can_be_searched,
    conditioned,
    first_model,
    is_searching,
    learnt,
    model_on_data,
    models_of,
    next_model,
    objective,
    outcome_targets,
    posterior_at_rows,
    searched,
    static_of,
    summarized,
    training,
    unsummarized,
    with_models,
    with_static,
    without_rows,
)
from ._places import matching, not_pending
from ._state import (
    Model,
    Observation,
    Query,
    SearchState,
    made_until,
)

# Name of a policy's result in messages, of its class and a method.
_ROWS_OF = "The rows that {}.{} returns"

_NO_POSITIONS = np.empty(0, dtype=np.intp)

# A data set beyond this size gives a warning.
_MANY = 2000


def predicted_observation(run, answer):
    """Return the predicted mean and standard deviation of an observation before it is told.

    They have the units and the sign of y; None without a surrogate, or before the latest reset. The
    learnt noise and a known variance are included. The deviation is NaN if it is 0, or if a custom
    surrogate has no ``noise_std_``.
    """
    surrogate, known, x, t = run.query_surrogate, run.forecast, answer.x, answer.t
    if surrogate is None or run.policy.queries_prior or t < run.time.reset:
        return None
    is_known = known is not None and known.surrogate is surrogate and known.t == t
    if is_known and np.array_equal(known.x, x):
        mean, std = run.sign * known.mean, known.std
    else:
        (mean,), (std,) = posterior_at_rows(run, surrogate, x[np.newaxis], np.array([t]))
    noise = getattr(surrogate, "noise_std_", math.nan)
    return float(mean), math.hypot(std, noise, math.sqrt(answer.variance)) or math.nan


def observe(run, answer, *, predicted=None, hold=False, first=None, data_only=False):
    """Return the run with an observation, or a failure.

    Parameters
    ----------
    run : RunState
    answer : Answer
    predicted : (float, float), default=None
        See `predicted_observation`.
    hold : bool, default=False
        Hold the hyperparameters.
    first : Surrogate, default=None
        A first surrogate that includes the observation.
    data_only : bool, default=False
        Leave surrogate and policy as they are.
    """
    query, told, extended, changes = answer.query, run.data, run.data, {}
    passed = max(answer.t, run.time.passed, -math.inf if query is None else query.asked)
    time = replaced(run.time, now=max(answer.t, run.time.now), passed=passed)
    if answer.y is not None:
        told = run.data.append(run.history.total, answer)
        model, policy, data = run.objective, run.policy, run.data
        if answer.t >= time.reset:
            extended = data = told
            if not data_only and (
                run.surrogate is not None or len(extended) >= run.config.n_initial
            ):
                learnt = _learns_from(run, answer, extended, time.now, hold, first)
                model, policy, data, is_reset = learnt
                time = time.after_reset(answer.t) if is_reset else time
            elif not data_only:
                data = run.algorithm._before_surrogate(run, extended)
        entry = _entry(run, answer, told, data, policy, time.now, predicted)
        changes = {"policy": policy, "policy_before": run.policy, "forecast": None, "data": data}
        changes["static_before"] = static_of(run.surrogate)
        changes |= {"objective": model, "history": run.history.append(entry)}
    pending = run.pending.answered(query, passed)
    after = replaced(run, time=time, pending=pending, setting=run.setting_after(answer), **changes)
    learns = not (hold or data_only or first is not None)
    if len(run.data) <= _MANY < len(after.data):
        _warn_of_size(after)
    return run.step_to(after, "told", answer._replace(extended=extended, learns=learns))


def _warn_of_size(run):
    """Warn that steps become slow, unless a filter or a budget bounds them."""
    is_filter = isinstance(getattr(run.surrogate, "gp", None), Filter)
    if run.config.acquisition is None or run.timer is not None or is_filter:
        return
    warn_caller(
        f"The data set of this {type(run.algorithm).__name__} has more than {_MANY} observations. "
        "Each one makes the steps slower and takes memory. Give max_size=300, which keeps the "
        "most relevant ones, or else the latest, or step_budget: with_parameters() continues with "
        "these.",
        ModelWarning,
    )


def _entry(run, answer, told, data, policy, now, predicted):
    """Return the `Observation` of an answer, after which ``data`` is left of the rows ``told``."""
    removed, weights = _NO_POSITIONS, ()
    if data is not told:
        nearest = np.minimum(np.searchsorted(data.positions, told.positions), len(data) - 1)
        removed = told.positions[data.positions[nearest] != told.positions]
        known = run.outlier_weights
        weights = tuple(known.get(i, math.nan) for i in removed.tolist()) if known else ()
    return Observation(
        row=answer.row,
        y=answer.y,
        now=now,
        n=len(data),
        removed=removed,
        record=_checked_record(policy),
        variance=answer.variance,
        query=answer.query_id,
        predicted=predicted,
        removed_weights=weights,
        outcomes=answer.outcomes,
        asked=answer.asked,
    )


# --- surrogate and policy -------------------------------------------------------------------------


def _learns_from(run, answer, data, now, hold, first):
    """Return model, policy and data set after an observation, and whether it is a reset.

    ``data`` is the data set with the observation; the policy may remove from it. An observation
    that is older than the newest row is late. Unless the policy wants late rows, only its
    ``after_add`` is called, and a late row that would be the only one left is dropped itself.
    """
    policy, timer, target, n = deep_copy(run.policy), run.timer, objective(run), len(data)
    is_late = not policy.wants_late_rows and answer.t < data.rows[:, -1].max()
    fresh, max_size, is_reset = False, None, False
    if timer is not None:
        timer.lap(REST)
        is_found = run.sliced_search is not None and run.sliced_search.optimum is not None
        fresh = not hold and (is_found or timer.wants_timing(n))
        max_size = timer.size_for(n)
    queries = made_until(run.time.now, run.query_sizes)
    n_told, latest = run.history.n_told + 1, run.latest_observations
    policy.watch(RunSoFar(n_told, queries, latest, max_size, run.domain))
    if run.surrogate is not None:
        latest, drop = training(run, data.latest), _NO_POSITIONS
        if not is_late:
            drop = _dropped_before(run, policy, answer, latest, n)
        is_reset = 0 < len(drop) == n - 1
        data = data.drop(drop) if len(drop) else data
        # An expert's answers are more informative than stale observations.
        has_answers = run.query_surrogate is not run.surrogate
        hold = hold or (has_answers and len(data) < target.min_to_learn)
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
    if is_late and data.positions[0] == run.history.total:
        return run.objective, run.policy, run.data, False
    return model, policy, data, is_reset


def _dropped_before(run, policy, answer, latest, n):
    """Return indices of the rows that a policy drops before an observation, the n-th row."""
    X, y = latest[:2]
    rows = policy.before_add(run.surrogate, X[0, :-1], answer.t, y[0])
    drop = check_rows(rows, n - 1, _ROWS_OF.format(type(policy).__name__, "before_add"))
    if answer.outcomes and any(policy.before_outcome(*each) for each in _measured(run, answer)):
        return np.arange(n - 1)
    return drop


def _measured(run, answer):
    """Yield surrogate, input, time and value of each outcome that was measured."""
    limits = run.config.measured_limits
    for model, value, limit in zip(models_of(run), answer.outcomes, limits):
        if model.surrogate is not None and value is not None:
            y = run.sign * limit.of_model(value)
            yield model.surrogate, run.domain.unit_of([answer.x])[0], answer.t, y


def _without_stale(target, policy, model, data, now):
    """Return a model and its data set without the rows that a policy drops."""
    n, name = len(data), _ROWS_OF.format(type(policy).__name__, "after_add")
    drop = check_rows(policy.after_add(model.surrogate, now), n, name)
    if len(drop) == n:
        raise invalid(name, f"fewer than all {n}", got="all of them")
    if not len(drop):
        return model, data
    leave = summarized if policy.summarizes else without_rows
    surrogate = leave(target, model.surrogate, drop, n - len(drop))
    return model._replace(surrogate=surrogate), data.drop(drop)


def _checked_record(policy):
    """Return the record of a policy: a dict of str to float or None."""
    record = policy.record() or {}
    name = f"The result of {type(policy).__name__}.record"
    if not isinstance(record, Mapping):
        raise invalid(name, "a dict of names and numbers", record)
    numbers = {}
    for key, value in record.items():
        number = isinstance(value, Real | np.bool_)
        if key in ("time", "n"):
            raise invalid(name, "a dict without 'time' and 'n', columns of every history", record)
        if not (isinstance(key, str) and (value is None or (number and value == value))):
            expected = "a dict of names and numbers, None if unknown"
            raise invalid(name, expected, got=f"{key!r}: {value!r}")
        numbers[key] = None if value is None else float(value)
    return numbers


# --- many observations ----------------------------------------------------------------------------


def observe_many(run, answers):
    """Return the run with answers (list of `Answer`), in order of time.

    The hyperparameters are learnt once, from all. Then the observations are added one by one with
    these, so that the policy sees each one as if it had been told alone. Only a single observation
    has a prediction, made before the hyperparameters are learnt. Also return the entries: each
    `Observation`, and the `Failures` after each failure.
    """
    measured, predicted = [i for i, answer in enumerate(answers) if answer.y is not None], None
    if len(answers) == 1 and measured:
        predicted = predicted_observation(run, answers[0])
    # The last observation that is needed makes the first surrogate.
    needed = max(run.config.n_initial - len(run.data) - 1, 0) if run.surrogate is None else 0
    before = measured[needed] if needed < len(measured) else len(answers)
    run, entries = _added(run, answers[:before], predicted=predicted)
    if before == len(answers):
        return run, entries
    run, more = _learnt_at_once(run, answers[before:], predicted)
    return run, entries + more


def _added(run, answers, **options):
    """Return the run with some answers, and their entries, see `observe_many`."""
    entries = []
    for answer in answers:
        run = observe(run, answer, **options)
        entries.append(run.failures if answer.y is None else run.history.log[-1])
    return run, entries


def _learnt_at_once(run, answers, predicted):
    """Return the run after it has learnt from answers at once, the first an observation."""
    recent = [answer for answer in answers if answer.t >= run.time.reset]
    holds = run.surrogate is not None and (
        not recent or run.config.refit_every is None or not can_be_searched(run.surrogate)
    )
    targets = objective(run), *outcome_targets(run)
    surrogate, *of_outcomes = [learnt(target, recent, holds) for target in targets]
    age = run.search.age + sum(answer.y is not None for answer in answers) if holds else 0
    entries, options = [], {"predicted": predicted, "hold": True}
    if run.never_drops:
        options = {"predicted": predicted, "data_only": True}
    elif run.surrogate is None:
        data = run.data.joined(targets[0].data_of(answers[:1], [run.history.total]))
        first = conditioned(targets[0], surrogate, data)
        run, entries = _added(run, answers[:1], predicted=predicted, first=first)
    else:
        surrogate = conditioned(targets[0], surrogate, run.data)
        run = run.with_objective(surrogate=surrogate, sliced_search=None)
    run, more = _added(run, answers[len(entries) :], **options)
    if run.never_drops:
        if len(surrogate.X_train_) < len(run.data):
            surrogate = conditioned(objective(run), surrogate, run.data)
        run = run.with_objective(surrogate=surrogate, sliced_search=None)
    run = run.with_objective(search=SearchState(age, len(run.data)))
    return _with_learnt_outcomes(run, of_outcomes), entries + more


def _with_learnt_outcomes(run, surrogates):
    """Return the run with surrogates of its outcomes, conditioned on the data set."""
    models = []
    for target, surrogate in zip(outcome_targets(run), surrogates):
        model = model_on_data(target, surrogate)
        if surrogate is not target.model.surrogate:
            model = model._replace(search=SearchState(run.search.age, len(target.data)))
        models.append(model)
    return with_models(run, models)


# --- a search on request --------------------------------------------------------------------------


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


# --- observations, failures and queries taken back ------------------------------------------------


def untell(run, told, handle=None):
    """Return the run without an observation or a failure.

    If an observation is in the data set, or is the latest one, the rows that were removed when it
    was told are restored, as far as they are stored. Hyperparameters do not change. If it is the
    latest one, the policy is restored as well. A query that was answered may be answered again.

    Parameters
    ----------
    run : RunState
    told : Told
    handle : Query, default=None
        Of the query that was answered, with a row for x, if it is known.
    """
    if told.failed:
        after = run.with_part(run.failures.without(told.position))
    else:
        after = _without_observation(run, told.position)
    if told.query is not None:
        query = handle or Query(told.query, told.asked, told.row[-1])
        after = replaced(after, pending=after.pending.with_untold(query))
    query = Query(-1, told.row[:-1], told.row[-1])
    after = run.without_query(run.step_to(after, "taken_back", query), query)
    rows = (*after.rows(after.history.entries), *after.data.rows, *after.failures.rows)
    passed = float(max((row[-1] for row in rows), default=-np.inf))
    return _at_latest_time(replaced(after, time=replaced(after.time, passed=passed)))


def _without_observation(run, position):
    """Return the run without the observation at a position, except for the time."""
    entry, is_latest = run.history.log.take([position])[0], position == run.history.positions[-1]
    data, history = _data_without(run, position, entry, is_latest), run.history.take_back(position)
    surrogate, policy, time = run.surrogate, run.policy, replaced(run.time, resets=())
    is_restored = is_latest and run.policy_before is not None
    if is_restored:
        policy = run.policy_before
        surrogate = with_static(surrogate, run.static_before)
    if surrogate is not None:
        if not len(data) or history.n_told < run.config.n_initial:
            surrogate, policy = None, run.algorithm._make_policy()
        else:
            time = run.time.in_force(data.rows[:, -1])
            if len(data) != len(run.data) or (data.positions != run.data.positions).any():
                surrogate = conditioned(objective(run), surrogate, data)
                back = np.flatnonzero(~np.isin(data.positions, run.data.positions))
                if len(back) and not is_restored:
                    surrogate = unsummarized(surrogate, back)
    return replaced(
        run,
        objective=Model(surrogate, run.search),  # an unfinished search may have learnt from it
        policy=policy,
        policy_before=None,
        static_before=None,
        data=data,
        history=history,
        time=time,
    )


def _data_without(run, position, entry, is_latest):
    """Return the data set without an observation, with the rows that it removed: see `untell`."""
    data, stored, back = run.data, run.history.positions, set()
    if is_latest or position in data.positions:
        back = set(entry.removed.tolist()).intersection(stored)
    data = data.drop(np.flatnonzero(data.positions == position))
    for i in sorted(back.difference({position}, data.positions.tolist())):
        data = data.append(i, run.history.log.take([i])[0])
    return data.take(np.argsort(data.positions, kind="stable"))


def cancel(run, x):
    """Return the run without a pending `Query`, or without the latest one at a row x (d,).

    If it is the only one of its time, earlier times may be asked for again.
    """
    queries = [x] if isinstance(x, Query) else matching(run, x, None)
    if not queries:
        raise not_pending("x", str(x.tolist()))
    query = queries[-1]
    after = replaced(run, pending=run.pending.without(query))
    after = run.without_query(run.step_to(after, "taken_back", query), query)
    return _at_latest_time(after)


class Told(NamedTuple):
    """An observation, or a failure, that may be taken back.

    Attributes
    ----------
    position : int
        Of the observation among all that were told, or of the failure among those that are stored.
    failed : bool
    row : ndarray of shape (d + 1,)
    query : int or None
        Id of the query that it answers.
    asked : ndarray of shape (d,)
        Row of the query, or its own.
    """

    position: int
    failed: bool
    row: np.ndarray
    query: int | None
    asked: np.ndarray


def latest_told(run, x, t, query):
    """Return the latest observation or failure (`Told`) at a row x (d,), or None.

    ``query`` is the id of the query that it answered, None: any; x and t may be None as well.
    """
    for told in _all_told(run):
        places = (told.row[:-1], told.asked)
        here = x is None or any((place == x)[~np.isnan(x)].all() for place in places)
        if here and t in (None, told.row[-1]) and query in (None, told.query):
            return told
    return None


def _all_told(run):
    """Yield observations and failures (`Told`) that are stored, the latest first."""
    failures, left = run.failures, len(run.failures.rows)
    for position, entry in zip(reversed(run.history.positions), reversed(run.history.entries)):
        while left and failures.n_before[left - 1] > position:
            left -= 1
            yield _failed(failures, left)
        yield Told(position, False, entry.row, entry.query, entry.asked_x)
    for i in reversed(range(left)):
        yield _failed(failures, i)


def _failed(failures, i):
    row = failures.rows[i]
    return Told(i, True, row, failures.queries[i], row[:-1])


def _at_latest_time(run):
    """Return a run, after a time was taken back, at the latest time told or asked for."""
    queries = run.pending.queries
    now = max([run.time.passed, *(query.asked for query in queries)])
    if now == run.time.now:
        return run
    asked = [query.t for query in queries if np.isfinite(query.asked)]
    return replaced(run, time=replaced(run.time, now=now, next=asked[-1] if asked else None))
