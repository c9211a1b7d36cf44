"""Step to other parameters: the first state of a run that goes on from that of another one."""

import copy
from dataclasses import replace

import numpy as np

from .._sklearn import BaseEstimator
from .._validation import invalid, plain_number
from .._values import replaced
from ..domain import as_domain
from ..domain._change import Change
from ..domain._constrained import constrained
from ..exceptions import AskTellError, DomainError
from ..journal._encoding import NotPlainError, encode, outline
from ._default_models import MAX_SITES
from ._expert import without_answers
from ._models import (
    conditioned,
    models_of,
    new_surrogate,
    objective,
    outcome_targets,
    training,
    with_first_models,
    with_models,
)
from ._observe import refit
from ._outcomes import kept_outcomes
from ._query_parts import Start
from ._serialization import HELD
from ._state import Log, Model, SearchState

# Parameters of a surrogate that depend on the domain.
_OF_DOMAIN = ("sites", "prior_mean")


def changed(run, changes, begun):
    """Return an optimizer with other parameters than a run's.

    Also return the `Change` of its domain, and how many of its start points the run has asked.

    Parameters
    ----------
    run : RunState
    changes : dict of str to object
        Parameters, also nested ones.
    begun : bool
        The run has made a step.
    """
    old, new = run.algorithm, run.algorithm._copied()
    BaseEstimator.set_params(new, **changes)
    for name in HELD if begun else ():
        value, before = getattr(new, name), getattr(old, name)
        if value != before:
            expected = f"as before ({before!r}), as observations were told with it"
            advice = "Begin another run, and tell_many() the observations."
            raise invalid(name, expected, value, new, advice=advice)
    change = Change.between(as_domain(old.domain), as_domain(new.domain))
    if "domain" in changes:
        new.domain = change.domain
    if "start_points" in changes:
        return new, change, 0
    start = change.rows(run.config.start_points)
    if not len(start):
        return new, change, 0
    inside = constrained(change.domain, new.constraints, new).queryable(start)
    if new.safety is not None and not inside.any():
        raise invalid(
            "start_points",
            "at least one point inside of the new domain, with safety=...",
            owner=new,
            got=str(start.tolist()),
            advice="Give start_points there as well.",
            error=DomainError,
        )
    if not inside.all():
        new.start_points = change.domain.decode_all(start[inside]) if inside.any() else None
    n_asked = run.part("start").n_asked
    return new, change, int(np.count_nonzero(inside[:n_asked]))


def continued(run, new, change, n_started, changes):
    """Return the state of a run that goes on with other parameters.

    Parameters
    ----------
    run : RunState
    new : RunState
        State of the new run before its first step.
    change : Change
        From the domain of ``run`` to that of ``new``.
    n_started : int
        Start points of ``new`` that ``run`` has asked.
    changes : dict of str to object
        Parameters that were given.
    """
    new.check_seasons(run.time.kind)
    columns, policy = kept_outcomes(run, new), run.policy
    renewed = _is_given("policy", changes)
    if renewed or _differ(*(each.algorithm._make_policy() for each in (run, new))):
        policy, renewed = new.policy, True
    after = replaced(
        run,
        config=new.config,
        clock=new.clock if "clock" in changes else copy.copy(run.clock),
        rng=new.rng if "random_state" in changes else run.rng,
        policy=policy,
        policy_before=None if renewed else run.policy_before,
        data=replaced(run.data, rows=change.rows(run.data.rows), room=None),
        history=_history(run, new, change, columns),
        pending=_pending(run, new, change, changes),
        forecast=None,
        objective=run.objective._replace(sliced_search=None),
        at=_moved(run.latest if run.part("step limit") is None else run.at, new, change),
        parts={name: part.continued(run, new, change) for name, part in new.parts.items()},
        place=new.place,
    ).with_part(Start(n_started))
    if run.surrogate is None:
        return after
    if _is_given("surrogate", changes) or _has_other_model(run, after):
        return _with_new_models(after)
    surrogate = _rescaled(objective(after), change)
    models = [
        target.model
        if target.model.surrogate is None
        else Model(_rescaled(target, change), target.model.search)
        for target in outcome_targets(after)
    ]
    if surrogate is not run.surrogate:
        after = without_answers(after.with_objective(surrogate=surrogate))
    return with_models(after, models)


def _moved(at, new, change):
    """Return where a run is, a row (d + 1,) or None, as the nearest point of the new domain."""
    if at is None:
        return None
    *x, t = change.rows([at])[0]
    return np.append(new.domain.from_unit(new.domain.unit_of([x]))[0], t)


def _is_given(name, changes):
    """Return True if a parameter, or one of its own parameters, is among the changes."""
    return any(key.partition("__")[0] == name for key in changes)


def _differ(one, other):
    """Return True if two objects that have made no step have other parameters."""
    return outline(one) != outline(other)


def _has_other_model(run, after):
    """Return True if the surrogate that begins a run depends on what has changed."""
    times = after.data.rows[:, -1]
    config = replaced(after.config, algorithm=run.algorithm, limits=run.config.limits)
    before = replaced(after, config=config, policy=run.policy)
    return _differ(new_surrogate(before, times), new_surrogate(after, times))


def _with_new_models(after):
    """Return the state with surrogates that are fitted to its data set, also those of outcomes."""
    after = with_first_models(with_models(without_answers(after), ()))
    if len(after.data) < objective(after).min_to_learn:
        after = refit(after, None)
    search = SearchState(0, len(after.data))
    after = after.with_objective(search=search)
    return with_models(after, [model._replace(search=search) for model in models_of(after)])


def _history(run, new, change, columns):
    """Return the observations of a run, with ``columns`` of their outcomes."""
    log, limit = run.history.log, new.history.log.limit
    if log.first and (limit is None or limit > len(log)):
        raise invalid(
            "history",
            f"at most {len(log)}, as earlier observations are not stored any more",
            new.algorithm.history,
            new.algorithm,
        )
    entries = [
        entry.converted(change.rows, columns)
        for entry in (log if limit is None else log[max(len(log) - limit, 0) :])
    ]
    return replaced(run.history, log=Log(entries, limit, log.total))


def _pending(run, new, change, changes):
    """Return the pending queries of a run; those that may not be asked any more have expired."""
    queries, expired = (
        [replace(query, x=change.rows([query.x])[0]) for query in some]
        for some in (run.pending.queries, run.pending.expired)
    )
    rows = np.reshape([query.x for query in queries], (-1, new.domain.n_dims))
    inside = new.domain.queryable(rows)
    live = tuple(query for query, stays in zip(queries, inside) if stays)
    expired += [query for query, stays in zip(queries, inside) if not stays]
    pending = run.pending
    if "query_timeout" in changes:
        pending = replaced(new.pending, n_total=pending.n_total)
    return pending.with_expired(live, sorted(expired, key=lambda query: query.id))


def _rescaled(target, change):
    """Return a surrogate whose lengthscales mean the same as before a change of the domain."""
    run, surrogate, data = target.run, target.model.surrogate, target.data
    X = training(run, data.rows, data.y, data.variance)[0]
    if not (np.array_equal(X, surrogate.X_train_) and (change.scales == 1.0).all()):
        if hasattr(surrogate, "rescaled"):
            new = new_surrogate(run, X[:, -1], of_outcome=target.limit is not None)
            parameters = new.get_params(deep=False).items()
            parameters = {name: value for name, value in parameters if name in _OF_DOMAIN}
            groups = tuple(run.domain.unit_columns.tolist())
            surrogate = surrogate.rescaled(X, change.scales, change.typical, groups, **parameters)
        else:
            surrogate = conditioned(target, surrogate, data)
    members = run.domain.members(MAX_SITES)
    if members is not None:
        surrogate.posterior_at(run.time.now)(members)  # an error if the kernel does not know one
    return surrogate


def check_held(optimizer, given):
    """Raise an AskTellError if parameters of a run that has begun are given other values.

    Parameters
    ----------
    optimizer : AskTell
    given : dict of str to object
        Parameters, also nested ones.
    """
    known = optimizer.get_params()
    others = [
        name for name, value in given.items() if name in known and not _is_same(value, known[name])
    ]
    if others:
        name = type(optimizer).__name__
        raise AskTellError(
            f"The parameters of a {name} whose run has begun must not be set: got "
            f"{', '.join(others)}. with_parameters({others[0]}=...) returns an optimizer that goes "
            "on with the same observations, and set_params of a clone() is for a new run."
        )


def _is_same(value, known):
    """Return True if two values of a parameter are surely equal."""
    if value is known:
        return True
    try:
        return encode(plain_number(value)) == encode(plain_number(known))
    except NotPlainError:
        return False
