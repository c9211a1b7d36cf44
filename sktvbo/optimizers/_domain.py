"""Step to another domain: a function from a state to the first state of another run."""

import copy
from dataclasses import replace

import numpy as np

from .._values import replaced
from ._default_models import MAX_SITES
from ._observe import conditioned
from ._outcomes import views, with_models
from ._state import Log

# Parameters of a surrogate that depend on the domain.
_OF_DOMAIN = ("sites", "prior_mean")


def in_domain(run, new, change, n_started):
    """Return the state of a run in another domain.

    Parameters
    ----------
    run : RunState
    new : RunState
        State of the new run before its first step.
    change : Change
        From the domain of ``run`` to that of ``new``.
    n_started : int
        Start points of ``new`` that ``run`` has asked.
    """
    log, domain, limiter, failures = run.history.log, new.domain, run.limiter, run.failures
    entries = [replace(entry, row=change.rows([entry.row])[0]) for entry in log]
    queries = [replace(query, x=change.rows([query.x])[0]) for query in run.pending.queries]
    queries = tuple(query for query in queries if domain.queryable(query.x[np.newaxis])[0])
    if limiter is not None and limiter.at is not None:
        *_, t = here = change.rows([limiter.at])[0]
        limiter = limiter.moved(domain.from_unit(domain.unit_of([here[:-1]]))[0], t)
    if failures is not None:
        learnt = failures.learnt and (failures.learnt[0] * change.typical, *failures.learnt[1:])
        failures = replace(failures, rows=change.rows(failures.rows), learnt=learnt)
    after = replaced(
        run,
        config=replaced(new.config, n_initial=run.config.n_initial),
        clock=copy.copy(run.clock),
        data=replaced(run.data, rows=change.rows(run.data.rows), room=None),
        history=replaced(run.history, log=Log(entries, log.limit, log.total)),
        pending=replaced(run.pending, queries=queries),
        n_started=n_started,
        limiter=limiter,
        failures=failures,
        forecast=None,
        sliced_search=None,
        timer=new.timer,
        place=new.place,
    )
    if run.surrogate is None:
        return after
    after = _with_surrogate(after, run, change)
    if run.outcomes is None:
        return after
    surrogates = [
        None if old.surrogate is None else _with_surrogate(new, old, change).surrogate
        for new, old in zip(views(after), views(run))
    ]
    models = [
        model._replace(surrogate=surrogate, sliced_search=None)
        for model, surrogate in zip(run.outcomes.models, surrogates)
    ]
    return with_models(after, models)


def _with_surrogate(after, run, change):
    """Return the state with a surrogate whose lengthscales mean the same as those of a run."""
    surrogate, domain = run.surrogate, after.domain
    X, _ = after.to_surrogate(after.data.rows, after.data.y)
    if not (np.array_equal(X, surrogate.X_train_) and (change.scales == 1.0).all()):
        if hasattr(surrogate, "rescaled"):
            parameters = after.new_surrogate(X[:, -1]).get_params(deep=False).items()
            parameters = {name: value for name, value in parameters if name in _OF_DOMAIN}
            surrogate = surrogate.rescaled(X, change.scales, change.typical, **parameters)
        else:
            surrogate = conditioned(after, surrogate, after.data)
        after = replaced(after, surrogate=surrogate, answers=None)
    members = domain.members(MAX_SITES)
    if members is not None:
        surrogate.posterior_at(after.time.now)(members)  # an error if the kernel does not know one
    return after
