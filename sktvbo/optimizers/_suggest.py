"""Queries: what parts demand, initial points, queries that follow the surrogate, batches, contexts.

Each query is a fold over the parts of the run, see `sktvbo.optimizers._part`: a search space that
all of them narrow, and a probability to which each is a factor.
"""

import copy
import logging

import numpy as np
from numpy.random.bit_generator import ISeedSequence

from .._values import replaced
from .._warnings import warn_caller
from ..acquisition import PosteriorMean
from ..domain._one_query import of_one_query
from ._budget import REST
from ._choice import Choice
from ._part import at_moment
from ._report import log_queries, logger
from ._state import MAX_PENDING, Forecast, made_until

# A new query keeps away from at most this many pending ones, the latest.
_MAX_HALLUCINATED = 32


def suggest(run, t, size, context=None, *, may_wait, fixed=None, available=None):
    """Return the run with ``size`` more queries pending, and these queries (x, time).

    Parameters
    ----------
    run : RunState
    t : float
        Present time.
    size : int
    context : object, default=None
        One context as users give it, or one for each query.
    may_wait : bool
        Queries may be for a later time, if the algorithm chooses it.
    fixed, available : dict, or None
        What is left of the domain for these queries, see `of_one_query`.
    """
    details = {} if logger.isEnabledFor(logging.DEBUG) else None
    config, sizes, queries = run.config, run.query_sizes, []
    follows = run.surrogate is not None and not run.policy.queries_prior
    follows |= run.surrogate is not None and run.algorithm.safety is not None
    if follows:
        # Queries at later times were taken back. A batch counts as one step.
        sizes = (*made_until(t, sizes), (t, len(run.data)))[-MAX_PENDING:]
    n_before, run = run.pending.n_total, replaced(run, rng=copied(run.rng))
    for row, n in _groups(run.domain, context, size):
        run = in_context(run, row)
        run = restricted(run, fixed, available)
        run, asked = _demanded(run, t, n)
        before, found, forecast = run, (), None
        if not follows:
            run, more = _initial_queries(run, t, n - len(asked))
        else:
            if run.timer is not None:
                run.timer.lap(REST)
            run, found, forecast = _best_queries(run, t, n - len(asked), may_wait, details)
            more = [(each.x, each.t) for each in found]
        for part in at_moment(run, "suggested"):
            run = run.with_part(part.suggested(before, found))
        run, asked = _with_pending(run, more, t), asked + more
        time = replaced(run.time, now=t, next=asked[-1][1])
        run = replaced(run, config=config, time=time, query_sizes=sizes, forecast=forecast)
        queries += asked
    if details is not None:
        log_queries(run, n_before, details)
    return run, queries


def _groups(domain, context, size):
    """Return contexts (c,) and how many queries are in each."""
    if context is None and domain.n_chosen == domain.n_dims:
        return [((), size)]
    contexts = domain.contexts(context, size)
    if len(contexts) == 1 or (contexts == contexts[0]).all():
        return [(contexts[0], size)]
    return [(row, 1) for row in contexts]


def in_context(run, context):
    """Return the run with a domain in which a context (c,) is fixed."""
    if not len(context):
        return run
    config = run.config
    start_points = np.array(config.start_points)
    start_points[:, config.domain.n_chosen :] = context
    domain = config.domain.in_context(context)
    return replaced(run, config=replaced(config, domain=domain, start_points=start_points))


def restricted(run, fixed, available):
    """Return the run with the domain of one query, see `of_one_query`."""
    if fixed is None and available is None:
        return run
    domain = of_one_query(run.domain, fixed, available)
    return replaced(run, config=replaced(run.config, domain=domain))


def recommend(run, t):
    """Return the row (d,) where the posterior mean at time t is best, within all limits."""
    surrogate, rng = run.model.at(t), copied(run.rng)
    choice = Choice(run, surrogate, PosteriorMean(), t, rng, latest=t, is_query=False)
    return choice.finder()().x


def announce(run, x, t):
    """Return the run with a query (d,) pending that it was not asked for.

    One that was made before the present time is not the latest one.
    """
    after = run if t < run.time.now else run.moved(x, t)
    return _with_pending(after, [(x, t)], -np.inf)


def _with_pending(run, queries, asked):
    """Return the run with queries (x, time) more pending, asked for at a time."""
    pending, n_forgotten = run.pending.append(queries, asked, run.time.now)
    if n_forgotten:
        warn_caller(
            f"{n_forgotten + MAX_PENDING} queries were asked for and not told; the latest "
            f"{MAX_PENDING} of them are stored. Tell each one as it was asked for, or cancel(x) "
            "it. A forgotten one can still be told with its time: tell(x, y, t).",
        )
    return replaced(run, pending=pending)


def _demanded(run, t, size):
    """Return the run with at most ``size`` queries pending that parts demand, and these."""
    queries = []
    for name in [part.name for part in at_moment(run, "demanded")]:
        while len(queries) < size:
            x, part = run.part(name).demanded(run, t)
            run = run.with_part(part)
            if x is None:
                break
            run = run.moved(x, t)
            queries.append((x, t))
    return (_with_pending(run, queries, t) if queries else run), queries


def _initial_queries(run, t, size):
    """Return the run, and queries (x, time) without a surrogate, each seen by the next one."""
    queries, known = [], {}
    while len(queries) < size:
        choice = Choice(run, None, None, t, run.rng, t, tuple(queries), known=known)
        draw = anywhere = choice.sampler()
        for part in at_moment(run, "sampler"):
            draw = part.sampler(choice, draw)
        # A step begins where the query before it is.
        n = size if draw is anywhere and run.part("step limit") is None else 1
        chance = choice.chance(t)
        if chance is not None:
            draw = chance.sampler(draw, run.domain.to_unit)
        for x in draw(n, run.rng):
            run = run.moved(x, t)
            queries.append((x, t))
    return run, queries


def _best_queries(run, t, size, may_wait, details):
    """Return the run, queries (`Found`), each with those before hallucinated, and a `Forecast`.

    The latter is of the first query, or None. What each was chosen for is added to ``details``, by
    id, unless it is None.
    """
    algorithm, acquisition, surrogate = run.algorithm, run.config.acquisition, run.model.at(t)
    waiting = [(query.x, query.t) for query in run.pending.at(t)[-_MAX_HALLUCINATED:]]
    found, forecast, known = [], None, {}
    for n_left in range(size, 0, -1):
        if waiting:
            surrogate = _hallucinated(run, surrogate, waiting)
        latest = algorithm._latest_query_time(t, surrogate, run.policy) if may_wait else t
        queries = tuple((each.x, each.t) for each in found)
        choice = Choice(
            run, surrogate, acquisition, t, run.rng, latest, queries, n_left, known=known
        )
        best = choice.finder()()
        if not best.is_fallback:
            for part in at_moment(run, "heading"):
                best = part.heading(choice, best)
        if not waiting and best.posterior is not None:
            (mean,), (std,) = best.posterior(run.domain.unit_of(best.x[np.newaxis]))
            forecast = Forecast(run.model, best.x, t, float(mean), float(std))
        if details is not None:
            details[choice.number] = _details_of(choice, best)
        run, waiting = run.moved(best.x, best.t), [(best.x, best.t)]
        found.append(best)
    return run, found, forecast


def _details_of(choice, found):
    """Return the value of the acquisition function at a query, None of a joint draw; mean, std."""
    run, t, latest = choice.run, choice.t, choice.latest
    place, value = run.domain.to_unit(found.x[np.newaxis]), None
    (mean,), (std,) = choice.surrogate.posterior_at(found.t)(place)
    if not choice.acquisition.joint:
        score, posterior, space = choice.scored(choice.space.reachable, choice.causes, latest)
        if space.window is not None:
            place = np.append(place, [[(found.t - t) / (latest - t)]], axis=1)
        value = float(score.values(*posterior(place), place)[0])
    return {"acquisition": value, "mean": float(run.sign * mean), "std": float(std)}


def _hallucinated(run, surrogate, queries):
    """Return the surrogate with its own posterior mean observed at some queries."""
    X = np.array([np.append(run.domain.to_unit(x), t) for x, t in queries])
    return surrogate.condition_on(X, surrogate.predict(X), restandardize=False)


# --- copies of random states ----------------------------------------------------------------------


class _Unseeded(ISeedSequence):
    """Seed of zeros, for a generator whose state is set afterwards; faster than a real one."""

    def generate_state(self, n_words, dtype=np.uint32):
        return [0] * n_words


_UNSEEDED = _Unseeded()


def copied(rng):
    """Return a copy of a RandomState, six times as fast as `copy.deepcopy`."""
    state = rng.get_state(legacy=False)
    if state["bit_generator"] != "MT19937":
        return copy.deepcopy(rng)
    # The generator reads its 624 words one by one, which is faster from a list.
    state["state"]["key"] = state["state"]["key"].tolist()
    new = np.random.RandomState(np.random.MT19937(_UNSEEDED))
    new.set_state(state)
    return new
