"""First state of a run: of a new one, or of one that continues with other parameters."""

import copy
from dataclasses import replace

import numpy as np
from sklearn.gaussian_process.kernels import Kernel

from .._durations import number_of_duration
from .._sklearn import BaseEstimator
from .._validation import check_random_state, invalid, invalid_domain, plain_number
from .._values import replaced
from ..domain import as_domain
from ..domain._change import Change
from ..domain._constrained import constrained
from ..exceptions import AskTellError, DomainError, InvalidObservationError
from ..journal._encoding import NotPlainError, encode, outline
from ..kernels import ChordalMatern
from ._budget import StepTimer
from ._clock import make_clock
from ._default_models import MAX_SITES
from ._failures import Failures
from ._limits import Limits
from ._models import (
    conditioned,
    models_of,
    new_surrogate,
    objective,
    outcome_targets,
    static_of,
    training,
    with_first_models,
    with_models,
)
from ._observe import refit
from ._outcomes import kept_outcomes
from ._parts import (
    Calibration,
    Cancelled,
    Expert,
    Exploration,
    Start,
    Unanswered,
    Visits,
    without_answers,
)
from ._ranges import ContextRanges, LearntRanges
from ._serialization import HELD
from ._state import (
    DataSet,
    History,
    Log,
    Model,
    PendingQueries,
    RunConfig,
    RunState,
    SearchState,
    n_stored,
)
from ._step_limiter import StepLimiter

# All kinds of parts, in the order in which they narrow a query: each one starts from the space that
# those before it allow.
KINDS = (
    StepTimer,
    Failures,
    StepLimiter,
    Cancelled,
    Start,
    Exploration,
    Limits,
    Visits,
    Expert,
    Calibration,
    Unanswered,
    ContextRanges,
    LearntRanges,
)


def first_state(algorithm):
    """Return the state of a run before its first step.

    Parameters
    ----------
    algorithm : AskTell
        With checked parameters, which nothing else changes.
    """
    policy = algorithm._make_policy()
    domain = constrained(as_domain(algorithm.domain), algorithm.constraints, algorithm)
    of_model = algorithm._of_model(domain, policy)
    config = RunConfig(algorithm, domain, _start_points(algorithm, domain), **of_model)
    parts = (kind.of(config) for kind in KINDS)
    outcomes = np.empty((0, len(config.measured_limits)))
    return RunState(
        config=config,
        clock=make_clock(algorithm.clock, algorithm),
        policy=policy,
        data=DataSet(outcomes=outcomes),
        rng=_random_state(algorithm.random_state),
        pending=_no_queries(algorithm),
        history=History(Log(limit=n_stored(algorithm.history))),
        parts={part.name: part for part in parts if part is not None},
    )


def has_auto_timeout(optimizer):
    """Return True if an optimizer learns when queries expire."""
    timeout = getattr(optimizer, "query_timeout", None)
    return isinstance(timeout, str) and timeout == "auto"


def _no_queries(algorithm):
    """Return the pending queries before the first one."""
    if has_auto_timeout(algorithm):
        return PendingQueries(delays=())
    timeout = number_of_duration(algorithm.query_timeout, algorithm.time_unit)
    return PendingQueries(timeout=np.inf if timeout is None else float(timeout))


def _random_state(random_state):
    """Return the run's own random state."""
    if random_state is None:  # copies of NumPy's global generator would be equal
        return np.random.RandomState()
    return copy.deepcopy(check_random_state(random_state))


def _start_points(algorithm, domain):
    """Return the start points (k, d) of an algorithm as rows of a domain."""
    if algorithm.start_points is None:
        prior = algorithm._prior
        return np.empty((0, domain.n_dims)) if prior is None else prior.start_points(domain)
    try:
        start = domain.places(algorithm.start_points)
    except (DomainError, InvalidObservationError) as exc:
        # The message calls them X.
        raise type(exc)(f"start_points{str(exc).removeprefix('X')}") from exc
    allowed = domain.queryable(start)
    if not allowed.all():
        got = str(start[np.argmin(allowed)].tolist())
        expected = "points that satisfy the constraints"
        raise invalid_domain("start_points", expected, owner=algorithm, got=got)
    return start


def check_surrogate(surrogate, owner):
    """Raise unless an optimizer can work with a surrogate, None for its own."""
    if surrogate is None:
        return
    if not hasattr(surrogate, "fit") or isinstance(surrogate, type):
        expected = "None or an estimator, see sktvbo.staleness.Surrogate"
        raise invalid("surrogate", expected, surrogate, owner)
    if hasattr(surrogate, "check"):
        surrogate.check()
    if getattr(surrogate, "max_size", None) is not None:
        advice = "Use the optimizer's max_size, or a policy."
        raise invalid("max_size", "None", surrogate.max_size, surrogate, advice=advice)
    # A kernel of degrees does not fit inputs that are scaled to the unit box.
    spatial = getattr(surrogate, "spatial_kernel", None)
    parts = [spatial, *spatial.get_params().values()] if isinstance(spatial, Kernel) else []
    if any(isinstance(part, ChordalMatern) for part in parts):
        expected, got = "a kernel other than ChordalMatern", f"{spatial}"
        advice = "Optimizers scale inputs to the unit box: use Matern."
        raise invalid("spatial_kernel", expected, owner=surrogate, got=got, advice=advice)


# --- a run that continues with other parameters ---------------------------------------------------


def changed(run, changes, has_begun):
    """Return an optimizer with other parameters than a run's.

    Also return the `Change` of its domain, and the number of its start points that the run has
    queried.

    Parameters
    ----------
    run : RunState
    changes : dict of str to object
        Parameters, also nested ones.
    has_begun : bool
        True if the run has made a step.
    """
    old, new = run.algorithm, run.algorithm._copied()
    BaseEstimator.set_params(new, **changes)
    for name in HELD if has_begun else ():
        value, before = getattr(new, name), getattr(old, name)
        if value != before:
            expected = f"as before ({before!r}), as observations were told with it"
            advice = "Begin another run, and tell_many() the observations."
            raise invalid(name, expected, value, new, advice=advice)
    change = Change.between(run.domain, as_domain(new.domain))
    if "domain" in changes:
        new.domain = change.domain
    if "start_points" in changes:
        return new, change, 0
    if old.start_points is None:
        return new, change, run.part("start").n_asked
    start = change.rows(run.config.start_points)
    if not len(start):
        return new, change, 0
    inside = constrained(change.domain, new.constraints, new).queryable(start)
    if new._needs_start_points and not inside.any():
        raise invalid_domain(
            "start_points",
            "at least one point inside of the new domain, with safety=...",
            owner=new,
            got=str(start.tolist()),
            advice="Give start_points there as well.",
        )
    if not inside.all():
        new.start_points = change.domain.decode_all(start[inside]) if inside.any() else None
    n_asked = run.part("start").n_asked
    return new, change, int(np.count_nonzero(inside[:n_asked]))


def continued(run, new, change, n_started, changes):
    """Return the state of a run that continues with other parameters.

    Parameters
    ----------
    run : RunState
    new : RunState
        State of the new run before its first step.
    change : Change
        From the domain of ``run`` to that of ``new``.
    n_started : int
        Number of start points of ``new`` that ``run`` has queried.
    changes : dict of str to object
        Parameters that were given.
    """
    new.check_seasons(run.time.kind)
    learnt = new.part(LearntRanges.name)
    if learnt is not None:
        new = learnt.continued(run, new, change).applied(new)
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
        data=_data(run, new, change, columns),
        history=_history(run, new, change, columns),
        pending=_pending(run, new, change, changes),
        forecast=None,
        objective=run.objective._replace(sliced_search=None),
        setting=_nearest_setting(run.setting, new, change),
        parts={name: part.continued(run, new, change) for name, part in new.parts.items()},
        position=new.position,
    ).with_part(Start(n_started))
    if run.surrogate is None:
        return after
    if _is_given("surrogate", changes) or _makes_other_model(run, after):
        after = _with_new_models(after)
    else:
        after = _with_rescaled_models(after, change)
    return replaced(after, static_before=static_of(after.surrogate))


def _data(run, new, change, columns):
    """Return the data set of a run, with ``columns`` of its outcomes."""
    data = run.data
    if not len(data):
        return new.data
    rows, outcomes = change.rows(data.rows), data.outcomes[:, columns]
    return replaced(data, rows=rows, outcomes=outcomes, room=None)


def _nearest_setting(setting, new, change):
    """Return a setting, a row (d + 1,) or None, with the nearest point of the new domain."""
    if setting is None:
        return None
    *x, t = change.rows([setting])[0]
    return np.append(new.domain.from_unit(new.domain.unit_of([x]))[0], t)


def _is_given(name, changes):
    """Return True if a parameter, or one of its own parameters, is among the changes."""
    return any(key.partition("__")[0] == name for key in changes)


def _differ(one, other):
    """Return True if two objects that have made no step differ in their parameters."""
    return outline(one) != outline(other)


def _makes_other_model(run, after):
    """Return True if two configurations make different surrogates for the same observations.

    This is the only comparison of models. Those of ``run`` and of ``after`` are both made in the
    domain and at the times of ``after``.
    """
    times, algorithm = after.data.rows[:, -1], copy.copy(run.algorithm)
    prior = after.algorithm._prior
    if prior is not None and algorithm._prior is not None:
        algorithm.earlier = algorithm._prior.over(prior.domain, "earlier", algorithm)
    config = replaced(run.config, domain=after.domain, algorithm=algorithm)
    before = replaced(after, config=config, policy=run.policy)
    return _differ(*(new_surrogate(objective(each), times) for each in (before, after)))


def _with_new_models(after):
    """Return the state with new surrogates of objective and outcomes, fitted to its data set."""
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
    """Return the pending queries of a run; those that the new domain excludes have expired."""
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
        pending = replaced(new.pending, n_total=pending.n_total, untold=pending.untold)
    return pending.with_expired(live, sorted(expired, key=lambda query: query.id))


def in_learnt_ranges(run, answers):
    """Return the run before some answers, with ranges of contexts that include them."""
    learnt, rows = run.part(LearntRanges.name), [a.x for a in answers if a.y is not None]
    if learnt is None or not rows:
        return run
    domain = learnt.domain_after(run, np.array(rows))
    if (domain.lower == run.domain.lower).all() and (domain.upper == run.domain.upper).all():
        return run
    after = LearntRanges(domain.lower, domain.upper).applied(run)
    after = replaced(after.with_objective(sliced_search=None), forecast=None)
    if run.surrogate is None:
        return after
    after = _with_rescaled_models(after, Change.of_ranges(run.domain, after.domain))
    return replaced(after, static_before=static_of(after.surrogate))


def _with_rescaled_models(after, change):
    """Return the state with models whose lengthscales keep their meaning in a change."""
    surrogate = _rescaled(objective(after), change)
    models = [
        target.model
        if target.model.surrogate is None
        else Model(_rescaled(target, change), target.model.search)
        for target in outcome_targets(after)
    ]
    if surrogate is not after.surrogate:
        after = without_answers(after.with_objective(surrogate=surrogate))
    return with_models(after, models)


def _rescaled(target, change):
    """Return a surrogate whose lengthscales keep their meaning in a change of the domain."""
    run, surrogate, data = target.run, target.model.surrogate, target.data
    X = training(run, data)[0]
    if not (np.array_equal(X, surrogate.X_train_) and (change.scales == 1.0).all()):
        if hasattr(surrogate, "rescaled"):
            parameters = new_surrogate(target, X[:, -1]).get_params(deep=False)
            if run.config.surrogate is not None:
                del parameters["spatial_kernel"]  # the user's keeps its meaning in the user's unit
            groups = tuple(run.domain.unit_columns.tolist())
            surrogate = surrogate.rescaled(X, change.scales, change.typical, groups, **parameters)
        else:
            surrogate = conditioned(target, surrogate, data)
    members = run.domain.members(MAX_SITES)
    if members is not None:
        surrogate.posterior_at(run.time.now)(members)  # an error if the kernel lacks one of them
    return surrogate


def check_held(optimizer, parameters):
    """Raise an AskTellError if parameters of a run that has begun are given other values.

    Parameters
    ----------
    optimizer : AskTell
    parameters : dict of str to object
        New values, also nested ones.
    """
    known = optimizer.get_params()
    others = [
        name
        for name, value in parameters.items()
        if name in known and not _surely_equal(value, known[name])
    ]
    if others:
        name = type(optimizer).__name__
        raise AskTellError(
            f"The parameters of a {name} whose run has begun must not be set: got "
            f"{', '.join(others)}. with_parameters({others[0]}=...) returns an optimizer that "
            "continues with the same observations, and set_params of a clone() is for a new run."
        )


def _surely_equal(value, known):
    """Return True if two values of a parameter are known to be equal."""
    if value is known:
        return True
    try:
        return encode(plain_number(value)) == encode(plain_number(known))
    except NotPlainError:
        return False
