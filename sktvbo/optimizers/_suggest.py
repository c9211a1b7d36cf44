"""Queries: `suggest` implements ``ask``, from the time and the context to the pending queries.

1. The context and the fixed or available values give the domain of this query (`of_query`).
2. Start points come first; until there is a surrogate, queries are drawn (`_initial_queries`).
3. Then the search space of each query is the intersection of what all parts allow
   (`allowed_space`).
4. A part chooses the query in it, or `search` does, where the acquisition function is largest,
   weighed by the probability that the query is allowed (`weighed_score`).

A `Choice` describes a query to the parts, see `sktvbo.optimizers._part`.
"""

import copy
import logging
from dataclasses import dataclass, field
from functools import cached_property, partial

import numpy as np
from numpy.random.bit_generator import ISeedSequence
from scipy.spatial.distance import cdist

from .._values import replaced
from .._warnings import warn_caller
from ..acquisition import AcquisitionState, PosteriorMean
from ..acquisition._compiled import objective_of
from ..acquisition._objective import Score
from ..acquisition._optimize import N_CANDIDATES, maximize_joint, optimize, untaken
from ..domain._feasible import STEP_CALLS
from ..domain._one_query import of_one_query
from ._budget import REST
from ._chance import Chance
from ._constants import N_DRAWN, N_FLOOR
from ._part import Optimum
from ._report import log_queries, logger
from ._state import MAX_PENDING, Forecast, made_until

# A new query keeps away from at most this many of the latest pending ones.
_MAX_HALLUCINATED = 32

# Points that satisfy constraints are searched near the start points, pending queries and this many
# of the latest observations.
_N_KNOWN = 32


@dataclass(frozen=True, eq=False)
class Choice:
    """A query to choose, or a recommendation, in the form for the parts of a run.

    Attributes
    ----------
    run : RunState
    surrogate : Surrogate or None
        At time t, conditioned on pending queries as well; None for an initial query.
    t : float
        Present time.
    rng : RandomState
    acquisition : callable or None
    latest : float or None
        Latest time of the query; None is t.
    queries : tuple of (x, time)
        Earlier queries of the same step, which follow the surrogate as well.
    effort : dict
        Limits of the effort of a search, arguments of `optimize`.
    is_query : bool
        False for a recommendation.
    cache : dict
        Results of `once`, for all queries of the step.
    """

    run: object
    surrogate: object
    t: float
    rng: np.random.RandomState
    acquisition: object = None
    latest: float | None = None
    queries: tuple = ()
    effort: dict = field(default_factory=dict)
    is_query: bool = True
    cache: dict = field(default_factory=dict)

    def once(self, make, *arguments):
        """Return ``make(run, *arguments)``, which is computed once in a step."""
        if make not in self.cache:
            self.cache[make] = make(self.run, *arguments)
        return self.cache[make]

    @property
    def number(self):
        """Id of the query."""
        return self.run.pending.n_total + len(self.queries)

    @property
    def taken(self):
        """Inputs (list) of the earlier queries of the step."""
        return [self.run.domain.to_unit(x) for x, _ in self.queries]

    def places_of(self, rows):
        """Return the inputs (m, u) of rows (d + 1,), failures, pending queries and those taken."""
        queried = [row[:-1] for row in (*rows, *self.run.failures.rows)]
        queried += [query.x for query in self.run.pending_now] + [x for x, _ in self.queries]
        return self.run.domain.unit_of(np.reshape(queried, (-1, self.run.domain.n_dims)))

    @cached_property
    def causes(self):
        """Reasons why a query may not be allowed, by the name of the part, see `Part.cause`."""
        causes = {part.name: part.cause(self) for part in self.run.at_moment("cause")}
        return {name: cause for name, cause in causes.items() if cause is not None}

    @cached_property
    def chance(self):
        """The `Chance` that a query is allowed at time t, None for 1."""
        return joint(self.causes, self.t)

    def fails(self, U):
        """Return which inputs (m, u) are known to violate a limit or to fail at time t (m,)."""
        return np.zeros(len(U), dtype=bool) if self.chance is None else self.chance.fails(U)

    def succeeds(self, U):
        """Return at which inputs (m, u) a query at time t is probably allowed (m,)."""
        return np.ones(len(U), dtype=bool) if self.chance is None else self.chance.succeeds(U)


# --- a step ---------------------------------------------------------------------------------------


def suggest(run, t, size, context=None, *, may_wait, fixed=None, available=None):
    """Return the run with ``size`` more queries pending, and these queries (x, time).

    Parameters
    ----------
    run : RunState
    t : float
        Present time.
    size : int
    context : object, default=None
        A user's context, or one for each query.
    may_wait : bool
        True if queries may be for a later time, when the algorithm chooses it.
    fixed, available : dict, or None
        Restrictions of the domain for these queries, see `of_one_query`.
    """
    details = {} if logger.isEnabledFor(logging.DEBUG) else None
    n_before, sizes, queries = run.pending.n_total, run.query_sizes, []
    follows = run.surrogate is not None and (
        not run.policy.queries_prior or run.config.safety is not None
    )
    if follows:
        # Queries at later times were taken back. A batch counts as one step.
        sizes = (*made_until(t, sizes), (t, len(run.data)))[-MAX_PENDING:]
    run = replaced(run, rng=copied(run.rng))
    for row, n in _groups(run.domain, context, size):
        here, new = _start_queries(of_query(run, row, fixed, available, n), t, n)
        n, best, forecast = n - len(new), (), None
        if follows:
            here, best, forecast = _best_queries(here, t, n, may_wait, details)
            more = [(each.x, each.t) for each in best]
        else:
            here, more = _initial_queries(here, t, n)
        for part in here.at_moment("suggested"):
            here = here.with_part(part.suggested(here, best))
        here, new = _with_pending(here, more, t), new + more
        time = replaced(here.time, now=t, next=new[-1][1])
        changes = {"time": time, "query_sizes": sizes, "forecast": forecast}
        run = replaced(here, config=run.config, **changes)
        queries += new
    if details is not None:
        log_queries(run, n_before, details)
    return run, queries


def recommend(run, t):
    """Return the row (d,) where the posterior mean at time t is best, within all limits."""
    choice = Choice(
        run,
        run.query_surrogate.at(t),
        t,
        copied(run.rng),
        PosteriorMean(),
        effort=_effort(run),
        is_query=False,
    )
    return _chosen(choice, allowed_space(choice)).x


def announce(run, x, t):
    """Return the run with a pending query (d,) that was not asked for.

    A query before the present time does not become the setting of the system.
    """
    after = run if t < run.time.now else run.with_setting(x, t)
    return _with_pending(after, [(x, t)], -np.inf)


def _with_pending(run, queries, asked):
    """Return the run with further pending queries (x, time), asked for at a time."""
    pending, n_forgotten = run.pending.append(queries, asked, run.time.now)
    if n_forgotten:
        warn_caller(
            f"{n_forgotten + MAX_PENDING} queries were asked for and not told; the latest "
            f"{MAX_PENDING} of them are stored. Tell each one as it was asked for, or cancel(x) "
            "it. A forgotten one can still be told with its time: tell(x, y, t).",
        )
    return replaced(run, pending=pending)


# --- the space of a query -------------------------------------------------------------------------


def _groups(domain, context, size):
    """Return contexts (c,) and the number of queries in each."""
    if context is None and domain.n_chosen == domain.n_dims:
        return [((), size)]
    contexts = domain.contexts(context, size)
    if len(contexts) == 1 or (contexts == contexts[0]).all():
        return [(contexts[0], size)]
    return [(row, 1) for row in contexts]


def of_query(run, context, fixed=None, available=None, n=1):
    """Return the run with the domain of n queries in a context (c,), see `of_one_query`."""
    run = in_context(run, context)
    domain = run.domain
    if domain.is_constrained:
        domain = domain.knowing(partial(_known_rows, run), n * STEP_CALLS)
    if fixed is not None or available is not None:
        domain = of_one_query(domain, fixed, available)
    return run if domain is run.domain else _in_domain(run, domain)


def _known_rows(run):
    """Return rows (m, d) that may satisfy the constraints."""
    latest = run.history.latest(_N_KNOWN)
    rows = [*run.config.start_points, *(entry.row[:-1] for entry in latest)]
    rows += [query.x for query in run.pending_now]
    return np.reshape(rows, (-1, run.domain.n_dims))


def _in_domain(run, domain):
    return replaced(run, config=replaced(run.config, domain=domain))


def in_context(run, context):
    """Return the run with a domain in which a context (c,) is fixed."""
    if not len(context):
        return run
    config = run.config
    start_points = np.array(config.start_points)
    start_points[:, config.domain.n_chosen :] = context
    domain = config.domain.in_context(context)
    return replaced(run, config=replaced(config, domain=domain, start_points=start_points))


def allowed_space(choice):
    """Return the search space of a choice, which all parts allow."""
    space = choice.run.domain.search_space()
    for part in choice.run.at_moment("narrow"):
        space = part.narrow(choice, space)
    return space


def joint(causes, t, latest=None, moving=None):
    """Return the `Chance` that a query is allowed at a time, or in a window; None for 1.

    Parameters
    ----------
    causes : dict of callable
        See `Part.cause`.
    t : float
    latest : float, default=None
        End of the window; None is t.
    moving : ndarray of bool, default=None
        See `posterior_at` of a surrogate.
    """
    latest = t if latest is None else latest
    factors = [at(t, latest, moving) for at in causes.values()]
    return Chance(factors) if factors else None


# --- queries without a surrogate ------------------------------------------------------------------


def _start_queries(run, t, size):
    """Return the run with at most ``size`` start points pending, and these queries (x, time)."""
    queries = []
    while len(queries) < size:
        x, start = run.part("start").next(run, t)
        run = run.with_part(start)
        if x is None:
            break
        run = run.with_setting(x, t)
        queries.append((x, t))
    return (_with_pending(run, queries, t) if queries else run), queries


def _initial_queries(run, t, size):
    """Return the run, and queries (x, time) without a surrogate, each pending for the next ones."""
    queries, cache = [], {}
    while len(queries) < size:
        choice = Choice(run, None, t, run.rng, queries=tuple(queries), cache=cache)
        space = allowed_space(choice)
        draw = anywhere = _sampler(run.domain, space)
        for part in run.at_moment("sampler"):
            draw = part.sampler(choice, space, draw)
        # A step begins at the query before it.
        n = size if draw is anywhere and run.limiter is None else 1
        if choice.chance is not None:
            draw = choice.chance.sampler(draw, run.domain.to_unit)
        for x in draw(n, run.rng):
            run = run.with_setting(x, t)
            queries.append((x, t))
    return run, queries


def _sampler(domain, space):
    """Return a sampler (n, rng) of rows (n, d) in a space."""
    if not space.limited and space.avoided is None:
        return domain.sample

    def sample(n, rng):
        # On the way to a random input anywhere: a walk of short random steps would stay near its
        # start.
        aims = domain.to_unit(domain.sample(N_DRAWN, rng))
        if space.members is not None:
            k = space.domain.n_unit
            nearest = np.argmin(cdist(aims[:, :k], space.members), axis=1)
            places = space.with_current_context(space.members[nearest])
        else:
            places = domain.to_unit(space.decode(np.clip(aims, space.lower, space.upper)))
            places = places[space.allowed(places)]
        if not len(places):
            places = space.candidates(N_DRAWN, rng)
        return space.decode(places[rng.randint(len(places), size=n)])

    return sample


# --- queries that follow the surrogate ------------------------------------------------------------


def _best_queries(run, t, size, may_wait, details):
    """Return the run, queries (`Optimum`), each with earlier ones hallucinated, and a `Forecast`.

    The forecast is that of the first query, or None. The values of each query are added to
    ``details``, by id, unless that is None.
    """
    if run.timer is not None:
        run.timer.lap(REST)
    surrogate, waiting = run.query_surrogate.at(t), run.pending.at(t)[-_MAX_HALLUCINATED:]
    waiting = [(query.x, query.t) for query in waiting]
    optima, forecast, cache = [], None, {}
    for n_left in range(size, 0, -1):
        if waiting:
            surrogate = _hallucinated(run, surrogate, waiting)
        choice = Choice(
            run,
            surrogate,
            t,
            run.rng,
            run.config.acquisition,
            run.algorithm._latest_query_time(t, surrogate, run.policy) if may_wait else t,
            tuple((each.x, each.t) for each in optima),
            _effort(run, n_left),
            cache=cache,
        )
        space = allowed_space(choice)
        best = _chosen(choice, space)
        if run.limiter is not None and not best.is_fallback:
            best = run.limiter.heading(choice, space, best)
        if not waiting and best.posterior is not None:
            forecast = _forecast_of(run, t, best)
        if details is not None:
            details[choice.number] = _details_of(choice, space, best)
        run, waiting = run.with_setting(best.x, best.t), [(best.x, best.t)]
        optima.append(best)
    return run, optima, forecast


def _forecast_of(run, t, optimum):
    """Return the `Forecast` of a query whose posterior is known from the search for it."""
    (mean,), (std,) = optimum.posterior(run.domain.unit_of(optimum.x[np.newaxis]))
    return Forecast(run.query_surrogate, optimum.x, t, float(mean), float(std))


def _hallucinated(run, surrogate, queries):
    """Return the surrogate with its own posterior mean observed at some queries."""
    X = np.array([np.append(run.domain.to_unit(x), t) for x, t in queries])
    return surrogate.condition_on(X, surrogate.predict(X), restandardize=False)


def _effort(run, n_left=1):
    """Return limits of the effort of a search, with ``n_left`` queries left in the step."""
    return {} if run.timer is None else run.timer.effort(n_left)


def _chosen(choice, space):
    """Return the `Optimum` of a choice in a space: that of a part, or of a search."""
    for part in choice.run.at_moment("choose"):
        optimum = part.choose(choice, space)
        if optimum is not None:
            return optimum
    return search(choice, space, choice.causes, choice.taken, choice.latest)


def search(choice, space, causes, taken=(), latest=None):
    """Return the `Optimum` in a space where the acquisition function is largest.

    Parameters
    ----------
    choice : Choice
    space : SearchSpace
    causes : dict
        Scores are weighed by these causes, see `Choice.causes`.
    taken : list of ndarray
        Inputs that are left out, as in `optimize`, unless all others are known to fail.
    latest : float, default=None
        Latest time of the query; None is the present.
    """
    run, t = choice.run, choice.t
    if len(taken) and _fails_elsewhere(space, causes, t, taken):
        taken = ()
    # The latest queries are near a tracked optimum, and any row may be the best known input.
    # Pending queries are left out: without uncertainty, a search from one would end there again.
    anchors = run.query_surrogate.X_train_[-3 if choice.is_query else 0 :, :-1]
    if choice.acquisition.joint:
        return _drawn(choice, space, joint(causes, t), anchors, taken)
    score, posterior, space = weighed_score(choice, space, causes, latest)
    objective, effort = objective_of(score, posterior), {"n_starts": space.effort[0]}
    row = optimize(objective, space, choice.rng, anchors, taken=taken, **effort | choice.effort)
    if row is not None and space.window is not None:
        return Optimum(row[:-1], float(row[-1]))
    return Optimum(row, t, None if _has_level(choice.surrogate) else objective.posterior)


def _fails_elsewhere(space, causes, t, taken):
    """Return True if the members of a small space that are not taken are known to fail."""
    if not causes or space.size > N_CANDIDATES:
        return False
    places = untaken(space.candidates(N_CANDIDATES), space, taken)
    return bool(joint(causes, t).fails(places).all())


def _drawn(choice, space, chance, anchors, taken):
    """Return the `Optimum` where a draw from the posterior is best."""
    draw = partial(_posterior(choice).sample, rng=choice.rng)
    if chance is not None:
        draw = chance.weigh_draw(draw)
    n = choice.effort.get("n_candidates", N_CANDIDATES)
    return Optimum(maximize_joint(draw, space, choice.rng, anchors, n, taken), choice.t)


def weighed_score(choice, space, causes, latest=None):
    """Return the score of a query up to a latest time, its posterior, and its search space.

    The acquisition function is weighed by the chance of some causes.
    """
    run, surrogate, t, posterior = choice.run, choice.surrogate, choice.t, _posterior(choice)
    moving = space.continuous[: run.domain.n_unit]
    chance = joint(causes, t, moving=moving)
    state = AcquisitionState(
        len(run.data),
        run.history.n_told,
        run.domain.n_dims,
        surrogate,
        posterior,
        n_pending=len(surrogate.X_train_) - len(run.query_surrogate.X_train_),
        space=space,
        succeeds=None if chance is None else chance.succeeds,
        latest=run.setting,
    )
    if latest is not None and latest > t:
        space = space.during(t, latest)
        chance = joint(causes, t, latest, moving)
        posterior = surrogate.posterior_between(t, latest, run.domain.continuous)
    score = Score.over(choice.acquisition, state, space, t)
    if chance is not None:
        places = run.domain.search_space().candidates(N_FLOOR)
        if not chance.is_sure:
            places = np.vstack([run.surrogate.X_train_[:, :-1], places])
        score = chance.weigh(score, state.posterior, space, places)
    return score, posterior, space


def _posterior(choice):
    """Return the posterior for a choice among inputs: without the level that all share."""
    without = {"level": False} if _has_level(choice.surrogate) else {}
    return choice.surrogate.posterior_at(choice.t, choice.run.domain.continuous, **without)


def _has_level(surrogate):
    return getattr(surrogate, "level_kernel", None) is not None


def _details_of(choice, space, optimum):
    """Return the value of the acquisition function at a query, None of a joint draw; mean, std."""
    run, t, latest = choice.run, choice.t, choice.latest
    place, value = run.domain.to_unit(optimum.x[np.newaxis]), None
    (mean,), (std,) = choice.surrogate.posterior_at(optimum.t)(place)
    if not choice.acquisition.joint:
        score, posterior, space = weighed_score(choice, space.reachable, choice.causes, latest)
        if space.window is not None:
            place = np.append(place, [[(optimum.t - t) / (latest - t)]], axis=1)
        value = float(score.values(*posterior(place), place)[0])
    return {"acquisition": value, "mean": float(run.sign * mean), "std": float(std)}


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
