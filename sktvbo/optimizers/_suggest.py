"""Queries: the initial design, the maximum of the acquisition function, batches, contexts."""

import logging
from dataclasses import replace
from functools import partial

import numpy as np

from .._values import replaced
from .._warnings import warn_caller
from ..acquisition import AcquisitionState, PosteriorMean
from ..acquisition._compiled import objective_of
from ..acquisition._objective import Score
from ..acquisition._optimize import N_CANDIDATES, N_STARTS, maximize_joint, optimize
from ..domain import StepLimit
from ..exceptions import ForgottenQueryWarning, LimitWarning
from ._budget import REST
from ._caution import NEAR, steps_from
from ._failures import Causes, Risk, sampled, weighed
from ._log import log_queries, logger
from ._observe import made_until
from ._outcomes import CALM, Certificate, Feasibility, measurements, summed, without_violation
from ._random import copied
from ._state import MAX_PENDING, Forecast
from ._step_limiter import StepLimiter

# A new query keeps away from at most this many pending ones, the latest.
_MAX_HALLUCINATED = 32

# With the default acquisition function some queries are for a member without a visit among the
# latest observations. In a space of at most the first number of members every fifth: all are
# visited within five times as many steps. In one of at most the second number the query after the
# n-th at the same point, n = 4, 8, 16, ...: more of these would show nothing of other members.
_FEW_MEMBERS, _MANY_MEMBERS, _VISIT_EVERY, _MIN_REPEATS, _N_LATEST = 20, 1000, 5, 4, 1000

# Climbs that a search makes among certified places, where they are long.
_N_CERTIFIED_STARTS = 3

# Random places beside the data set over which the value of a failure is minimized.
_N_FLOOR = 64

# An initial point is the most distant of this many Sobol points.
_N_SPREAD = 16

# With a required safety, one of this number of queries is as near as is certified to the best place
# at which the limits probably hold.
_EXPAND_EVERY = 3

# Initial points are within this part of each range around the first start point.
_NEAR_START = 0.2

# With a required safety, an initial point is nearer to one within the limits by this factor than to
# any beyond.
_NEARER = 0.5


def suggest(run, t, size, context=None, *, may_wait):
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
    """
    if context is None and run.domain.n_chosen == run.domain.n_dims:
        return _suggested(run, t, size, may_wait)
    contexts = run.domain.contexts(context, size)
    same = len(contexts) == 1 or (contexts == contexts[0]).all()
    groups = [(contexts[0], size)] if same else [(row, 1) for row in contexts]
    after, queries = run, []
    for i, (row, n) in enumerate(groups):
        asked, found = _suggested(in_context(after, row), t, n, may_wait)
        queries += found
        # A batch counts as one step.
        sizes = after.query_sizes if i else asked.query_sizes
        after = replaced(asked, config=run.config, query_sizes=sizes)
    return after, queries


def in_context(run, context):
    """Return the run with a domain in which a context (c,) is fixed."""
    if not len(context):
        return run
    config = run.config
    start_points = np.array(config.start_points)
    start_points[:, config.domain.n_chosen :] = context
    domain = config.domain.in_context(context)
    return replaced(run, config=replaced(config, domain=domain, start_points=start_points))


def recommend(run, t):
    """Return the row (d,) where the posterior mean at time t is best, within the limits.

    Where no place is, or the data say little about the limits there, it is the row of the least
    expected excess, and a warning states the probability.
    """
    surrogate, rng, certificate = run.model.at(t), copied(run.rng), None
    if run.outcomes is not None:
        certificate = Certificate(run, run.algorithm.safety or 0.5)
    risk = _risk(run, certificate)
    row = _best_query(run, surrogate, PosteriorMean(), t, t, rng, risk, certificate=certificate)[0]
    if certificate is None:
        return row
    feasibility, unit = Feasibility(run), run.domain.unit_of
    reason = f"No point is known to satisfy all limits with probability {certificate.level:g}"
    if row is not None:
        if feasibility.is_known(unit(row[np.newaxis]), t)[0]:
            return row
        reason = "The data say little about the limits"
    row = _of_least_excess(run, surrogate, feasibility, t, rng)
    probability = np.exp(feasibility.at(t).log(unit(row[np.newaxis]))[0])
    # With its numbers each situation has another text: Python shows the same one only once.
    warn_caller(
        f"{reason} at t={run.shown_time(t)}. The point of least expected violation is recommended: "
        f"all limits hold there with probability {probability:.2g}. See probability_feasible().",
        LimitWarning,
    )
    return row


def _of_least_excess(run, surrogate, feasibility, t, rng):
    """Return the row (d,) of the least expected excess over the limits at time t.

    It is one of the known rows if the data say little about the limits at time t elsewhere.
    """
    moving, space = run.domain.continuous, run.domain.search_space()
    chance = _risk(run).at(t, moving).least_excess(0.0)
    score = Score(PosteriorMean(), None).weighed(chance, 0.0)
    known = space.with_current_context(space.nearest(run.model.X_train_[:, :-1]))
    known = known[space.allowed(known)]
    row = optimize(objective_of(score, surrogate.posterior_at(t, moving)), space, rng, known)
    if len(known) and not feasibility.is_known(run.domain.unit_of(row[np.newaxis]), t)[0]:
        row = space.decode(known[[np.argmax(chance.log_weight(known))]])[0]
    return row


def announce(run, x, t):
    """Return the run with a query (d,) pending that it was not asked for."""
    return _with_pending(run, [(x, t)], -np.inf)


def _suggested(run, t, size, may_wait):
    """Return the run with ``size`` more queries pending, and these queries (x, time)."""
    rng, sizes = copied(run.rng), run.query_sizes
    details = {} if logger.isEnabledFor(logging.DEBUG) else None
    forecast, (first, n_started) = None, _start_queries(run, t, size)
    before = replaced(_with_pending(run, first, t) if first else run, n_started=n_started)
    size -= len(first)
    is_safe, starts = run.algorithm.safety is not None, run.config.start_points
    is_certified = True
    if run.surrogate is None or (run.policy.queries_prior and not is_safe):
        found = _initial_queries(before, t, size, rng)
        is_certified = not is_safe or len(without_violation(run, starts)) == len(starts)
    else:
        found = []
        if size:
            found, forecast, is_certified = _best_queries(before, t, size, rng, may_wait, details)
        # Queries at later times were taken back.
        sizes = (*made_until(t, sizes), (t, len(run.data)))[-MAX_PENDING:]
    after, found = _with_pending(before, found, t), first + found
    if is_safe:
        after = _warned(after, is_certified)
    if details is not None:
        log_queries(after, run.pending.n_total, details)
    time = replaced(run.time, now=t, next=found[-1][1])
    changes = {"rng": rng, "time": time, "query_sizes": sizes, "forecast": forecast}
    return replaced(after, **changes), found


def _warned(run, is_certified):
    """Return the run after a query; warn if it is the first for long that is not certified."""
    calm = run.outcomes.calm
    if not is_certified and calm == CALM:
        cause = "A start point was measured beyond a limit."
        if run.surrogate is not None:
            cause = (
                "No place within reach is known to satisfy all limits with probability "
                f"{run.algorithm.safety:g}."
            )
        warn_caller(
            f"{cause} The least risky known place is asked, or one near it; no warning follows "
            f"until {CALM} queries are safe. Tell a measurement of a place within the limits, "
            "tell(x, y, t, outcomes=...), or begin with other start_points. See "
            "probability_feasible().",
            LimitWarning,
        )
    after = min(calm + 1, CALM) if is_certified else 0
    return run if after == calm else replaced(run, outcomes=replaced(run.outcomes, calm=after))


def _with_pending(run, queries, asked):
    """Return the run with queries (x, time) more pending, asked for at a time."""
    pending, n_forgotten = run.pending.append(queries, asked, run.time.now)
    if n_forgotten:
        warn_caller(
            f"{n_forgotten + MAX_PENDING} queries were asked for and not told; the latest "
            f"{MAX_PENDING} of them are stored. Tell each one as it was asked for, or cancel(x) "
            "it. A forgotten one can still be told with its time: tell(x, y, t).",
            ForgottenQueryWarning,
        )
    run = replaced(run, pending=pending)
    if run.limiter is None or not queries:
        return run
    return replaced(run, limiter=run.limiter.moved(*queries[-1]))


def _risk(run, certificate=None):
    """Return where and when queries fail or violate a limit; None if nothing is known of it."""
    causes = Risk.of(run)
    if certificate is not None:
        causes.append(certificate)
    elif run.outcomes is not None and run.surrogate is not None:
        causes.append(Feasibility(run))
    return causes[0] if len(causes) == 1 else Causes(causes) if causes else None


def _start_queries(run, t, size):
    """Return at most ``size`` queries (x, time) to start points; and how many of these are done."""
    found, n_started, start_points = [], run.n_started, run.config.start_points
    # On the way from a start point within the limits to another one.
    turns_back = run.limiter is not None and run.algorithm.safety is not None and _is_beyond(run)
    turns_back = turns_back and len(without_violation(run, start_points[:n_started]))
    while len(found) < size and n_started < len(start_points):
        x = aim = start_points[n_started]
        if not _in_context_allowed(run.domain, aim[np.newaxis])[0]:
            break  # it waits for a context in which the constraints allow it
        if run.limiter is not None:
            x = None if turns_back else run.limiter.towards(run, t, aim)
        if x is None or np.array_equal(x, aim):
            n_started += 1
        if x is not None:
            found.append((x, t))
            if run.limiter is not None:
                run = replaced(run, limiter=run.limiter.moved(x, t))
    return found, n_started


def _in_context_allowed(domain, start_points):
    """Return which start points (k, d) the constraints allow in the present context (k,)."""
    if domain.n_chosen == domain.n_dims:
        return np.ones(len(start_points), dtype=bool)
    return domain.queryable(start_points)


def _initial_queries(run, t, size, rng):
    """Return queries (x, time) made without a surrogate, each within reach of the one before."""
    risk, domain, is_safe = _risk(run), run.domain, run.algorithm.safety is not None
    spreads = run.surrogate is None and run.algorithm.n_initial_points == "auto"
    if run.limiter is None and not spreads and not is_safe:
        return [(x, t) for x in sampled(domain.sample, domain, risk, t, size, rng)]
    found = []
    for _ in range(size):
        if is_safe:
            draw = _cautious(run, t, found)
        else:
            draw = _spread_out(run, t, found) if spreads else run.limiter.draw(run, t)
        found.append((sampled(draw, domain, risk, t, 1, rng)[0], t))
        if run.limiter is not None:
            run = replaced(run, limiter=run.limiter.moved(*found[-1]))
    return found


def _spread_out(run, t, queries):
    """Return a sampler (n, rng) of rows far from what was told, is pending, or in some queries.

    The rows are within reach, or near the first start point; the most distant one is the first.
    """
    limiter, start_points = run.limiter, run.config.start_points
    if limiter is None:
        start_points = start_points[_in_context_allowed(run.domain, start_points)]
        at = np.append(start_points[0], t) if len(start_points) else None
        limiter = StepLimiter(StepLimit(_NEAR_START), at)
    space = limiter.part_of(run, t)
    return _distant(run, space, queries, lambda n, rng: _drawn(space, n, rng))


def _cautious(run, t, queries):
    """Return a sampler (n, rng) of rows as in `_spread_out`, near a place within the limits.

    The rows are within reach as well, and nearer to what was told within the limits than to what
    was told beyond. Where there are none, and where a step limit leads away from a violation, the
    row is the step to the safest place. While all of these are beyond a limit, the rows are spread
    around the least violation.
    """
    domain, limiter, (centre, least) = run.domain, run.limiter, _safest(run)
    near = space = StepLimiter(StepLimit(NEAR), np.append(centre, t)).part_of(run, t)
    back, is_back, k = centre, False, near.domain.n_unit
    if limiter is not None:
        back, reach = limiter.step(run, t, centre), limiter.part_of(run, t)
        low = np.maximum(near.lower, reach.lower)
        high = np.minimum(near.upper, reach.upper)
        # A place that violates a limit itself is not asked again.
        is_back = np.any(low[:k] > high[:k]) or (least == 0.0 and _is_beyond(run))
        if not is_back:
            space = near.within(low, high)
    if is_back:
        return lambda n, rng: np.tile(back, (n, 1))
    here = domain.unit_of(centre[np.newaxis])
    steps, (rows, distances) = steps_from(domain, here[0]), measurements(run)
    told, beyond = domain.unit_of(rows[:, :-1]), summed(distances) > least
    within = np.vstack([here, told[~beyond & ~np.isnan(distances).any(axis=0)]])

    def draw(n, rng):
        places = _drawn(space, n, rng)
        places = np.vstack([places[near.allowed(places)], steps])
        if limiter is not None:
            places = places[reach.allowed(places)]
        if least == 0.0:
            gaps = [_gaps(places, rows, k) for rows in (within, told[beyond])]
            places = places[gaps[0] <= _NEARER * gaps[1]]
        return places if len(places) else domain.unit_of(back[np.newaxis])

    return _distant(run, space, queries, draw)


def _safest(run):
    """Return the row (d,) of a start point, and 0, unless all were measured beyond a limit.

    With a step limit it is the nearest one. Otherwise it is where the least violation was told, and
    this violation. If the constraints forbid all of these in the present context, it is the nearest
    place that they allow.
    """
    starts, space = without_violation(run, run.config.start_points), run.domain.search_space()
    starts = starts[_in_context_allowed(run.domain, starts)]
    if len(starts):
        if run.limiter is None or run.limiter.at is None:
            return starts[0], 0.0
        here = run.domain.unit_of(run.limiter.at[np.newaxis, :-1])
        return starts[np.argmin(_gaps(run.domain.unit_of(starts), here, run.domain.n_unit))], 0.0
    told, distances = measurements(run)
    least, is_partial = summed(distances), np.isnan(distances).any(axis=0)
    order = np.lexsort([least, is_partial])
    rows = np.vstack([told[order, :-1], run.config.start_points])
    known = space.with_current_context(space.nearest(run.domain.unit_of(rows)))
    allowed = np.flatnonzero(space.allowed(known[: len(order)]))
    if len(allowed):
        return space.decode(known[allowed[:1]])[0], least[order[allowed[0]]]
    places = space.candidates(N_CANDIDATES)
    return space.decode(places[[np.argmin(_gaps(places, known, space.domain.n_unit))]])[0], 0.0


def _is_beyond(run):
    """Return True if the latest query of a run with a step limit was told to violate a limit."""
    rows, distances = measurements(run)
    return (summed(distances) > 0.0)[(rows == run.limiter.at).all(axis=1)].any()


def _drawn(space, n, rng):
    """Return places (m, u) of a space, of which the most distant of others are taken."""
    return rng.permutation(space.candidates(_N_SPREAD * n, rng))[: _N_SPREAD * n]


def _distant(run, space, queries, draw):
    """Return a sampler of rows of the places that ``draw`` returns, the most distant first."""
    rows = [row[:-1] for row in run.data.rows]
    rows += [] if run.failures is None else [row[:-1] for row in run.failures.rows]
    rows += [query.x for query in run.pending_now] + [x for x, _ in queries]
    taken = run.domain.unit_of(np.reshape(rows, (-1, run.domain.n_dims)))

    def distant(n, rng):
        places = draw(n, rng)
        gaps = _gaps(places, taken, space.domain.n_unit)
        return space.decode(places[np.argsort(-gaps, kind="stable")[:n]])

    return distant


def _gaps(places, others, k):
    """Return distances (m,) of places from the nearest of others, in the first k coordinates."""
    # Arms have no distance: all others are equally far.
    steps = np.minimum(np.abs(places[:, np.newaxis, :k] - others[:, :k]), 1.0)
    return np.linalg.norm(steps, axis=2).min(axis=1, initial=np.inf)


def _best_queries(run, t, size, rng, may_wait, details):
    """Return queries (x, time), each with the pending ones and those before hallucinated.

    Also return the `Forecast` of the first, or None, and False if one lacks a required safety. What
    each was chosen for is added to ``details``, by id, unless it is None.
    """
    surrogate, config = run.model.at(t), run.config
    pending = run.pending.at(t)[-_MAX_HALLUCINATED:]
    if pending:
        surrogate = _hallucinated(run, surrogate, [(query.x, query.t) for query in pending])
    safety, certificate = config.algorithm.safety, None
    if safety is not None:
        certificate = Certificate(run, safety)
    queries, risk, forecast, timer = [], _risk(run, certificate), None, run.timer
    is_certified = True
    if timer is not None:
        timer.lap(REST)
    for i in range(size):
        if i:
            surrogate = _hallucinated(run, surrogate, queries[-1:])
        latest = t
        if may_wait:
            latest = config.algorithm._latest_query_time(t, surrogate, run.policy)
        space = None if run.limiter is None else run.limiter.part_of(run, t)
        algorithm = config.algorithm
        if algorithm._has_default_acquisition and algorithm._visits_members:
            space = _unvisited(run, space, queries, t, certificate)
        limits = {} if timer is None else timer.limits_of_query(size - i)
        acquisition, taken = config.acquisition, [run.domain.to_unit(row) for row, _ in queries]
        whole = run.domain.search_space() if space is None else space
        if certificate is not None and (run.pending.n_total + i) % _EXPAND_EVERY == 0:
            free = _risk(run)
            aim = _best_query(run, surrogate, acquisition, t, t, rng, free, whole, **limits)[0]
            x, time, posterior = certificate.towards(whole, t, aim, taken), t, None
        else:
            limits |= {"certificate": certificate, "taken": taken}
            x, time, posterior = _best_query(
                run, surrogate, acquisition, t, latest, rng, risk, space, **limits
            )
        if x is None:
            x, time, posterior = _least_risky(run, certificate, t, taken), t, None
            is_certified = False
        elif run.limiter is not None:
            part = space if certificate is None else certificate.part_of(space, time)
            x = run.limiter.heading(run, surrogate, t, part, x, risk)
        if run.limiter is not None:
            run = replaced(run, limiter=run.limiter.moved(x, time))
        if not (i or pending) and posterior is not None:
            (mean,), (std,) = posterior(run.domain.unit_of(x[np.newaxis]))
            forecast = Forecast(run.model, x, t, float(mean), float(std))
        if details is not None:
            known = _details_of(run, surrogate, x, time, t, latest, risk, space)
            details[run.pending.n_total + i] = known
        queries.append((x, time))
    if timer is not None:
        timer.queried(len(run.data))
    return queries, forecast, is_certified


def _least_risky(run, certificate, t, taken):
    """Return the row (d,) of a query where no place within reach is certified.

    With a step limit it is the step to the nearest place that is certified, if any, or otherwise to
    the least risky one.
    """
    whole = run.domain.search_space()
    if run.limiter is None:
        return certificate.least_risky(whole, t, taken)
    aim = certificate.towards(whole, t, run.limiter.at[:-1])
    if aim is None:
        aim = certificate.least_risky(whole, t)
    return run.limiter.step(run, t, aim)


def _unvisited(run, space, queries, t, certificate):
    """Return the members without a visit, if it is their turn; the same space if there are none.

    With a `Certificate` they are certified at time t. Failed and pending queries are visits, and so
    are some queries (x, time). Visits are unknown if fewer than the latest observations are stored.
    """
    whole = run.domain.search_space() if space is None else space
    log = run.history.log
    if whole.size > _MANY_MEMBERS or (log.first and len(log) < _N_LATEST):
        return space
    if whole.size <= _FEW_MEMBERS:
        turn = (run.pending.n_total + len(queries)) % _VISIT_EVERY == _VISIT_EVERY - 1
    else:
        turn = not queries and _is_repeated(log)
    if not turn:
        return space
    rows = [entry.row[:-1] for entry in log[-_N_LATEST:]]
    rows += [] if run.failures is None else [row[:-1] for row in run.failures.rows]
    rows += [query.x for query in run.pending_now] + [x for x, _ in queries]
    members = whole.candidates(_MANY_MEMBERS)
    taken = run.domain.unit_of(np.reshape(rows, (-1, run.domain.n_dims)))
    left = members[~np.isclose(members[:, np.newaxis], taken).all(axis=2).any(axis=1)]
    if certificate is not None and len(left):
        left = left[certificate.at(t).succeeds(left)]
    if not len(left):
        return space
    return replace(whole, members=left[:, : whole.domain.n_unit], size=len(left))


def _is_repeated(log):
    """Return True if the latest observation was the n-th at its point, n = 4, 8, 16, ...."""
    if len(log) < _MIN_REPEATS or (log[-1].row[:-1] != log[-2].row[:-1]).any():
        return False
    places = np.array([entry.row[:-1] for entry in log[-_N_LATEST:]])
    n = np.count_nonzero((places == places[-1]).all(axis=1))
    return n >= _MIN_REPEATS and n.bit_count() == 1


def _best_query(
    run,
    surrogate,
    acquisition,
    t,
    latest,
    rng,
    risk,
    space=None,
    *,
    certificate=None,
    n_candidates=N_CANDIDATES,
    until=np.inf,
    taken=(),
):
    """Return where, and when between t and ``latest``, an acquisition function is largest.

    Also return the posterior of f at t, (m, u) -> mean (m,), std (m,), or None if it is not
    compiled.
    Scores are weighed by a ``risk`` unless it is None. The search is in a ``space``; None: in all
    of the domain. It is limited and leaves out places ``taken`` as in `optimize`. With a
    `Certificate` it is among the places that this certifies, and the row is None if there are none.
    """
    # The latest queries are near a tracked optimum. Pending ones are left out: where nothing is
    # uncertain, a search from one would end there again.
    recent = run.model.X_train_[-3:, :-1]
    if acquisition.joint:
        draw = partial(_for_choices(surrogate, t, run.domain.continuous).sample, rng=rng)
        if risk is not None:
            draw = risk.at(t).weigh_draw(draw)
        space = run.domain.search_space() if space is None else space
        if certificate is not None:
            space = certificate.part_of(space, t)
        return maximize_joint(draw, space, rng, recent, n_candidates, taken), t, None
    score, posterior, space = _scored(run, surrogate, acquisition, t, latest, risk, space)
    objective, n_starts = objective_of(score, posterior), N_STARTS
    if certificate is not None:
        space, n_starts = certificate.part_of(space, t), _N_CERTIFIED_STARTS
    row = optimize(objective, space, rng, recent, n_candidates, n_starts, until, taken)
    if row is None or space.window is None:
        return row, t, None if _has_level(surrogate) else objective.posterior
    return row[:-1], float(row[-1]), None


def _has_level(surrogate):
    return getattr(surrogate, "level_kernel", None) is not None


def _for_choices(surrogate, t, moving):
    """Return the posterior for a choice among places: without the level that all places share."""
    without = {"level": False} if _has_level(surrogate) else {}
    return surrogate.posterior_at(t, moving, **without)


def _scored(run, surrogate, acquisition, t, latest, risk, space):
    """Return score, posterior and search space of `_best_query`."""
    space = run.domain.search_space() if space is None else space
    posterior = _for_choices(surrogate, t, run.domain.continuous)
    moving = space.continuous[: run.domain.n_unit]
    chance = None if risk is None else risk.at(t, moving)
    state = AcquisitionState(
        len(run.data),
        run.history.n_told,
        run.domain.n_dims,
        surrogate,
        posterior,
        n_pending=len(surrogate.X_train_) - len(run.model.X_train_),
        space=space,
        succeeds=None if chance is None else chance.succeeds,
    )
    if latest > t:
        space = space.during(t, latest)
        chance = None if risk is None else risk.between(t, latest, moving)
        posterior = surrogate.posterior_between(t, latest, run.domain.continuous)
    score = Score.over(acquisition, state, space, t)
    if risk is not None:
        places = run.domain.search_space().candidates(_N_FLOOR)
        if not isinstance(risk, Certificate):
            places = np.vstack([run.surrogate.X_train_[:, :-1], places])
        score = weighed(score, chance, state.posterior, space, places)
    return score, posterior, space


def _details_of(run, surrogate, x, time, t, latest, risk, space):
    """Return the value of the acquisition function at a query, None of a joint draw; mean, std."""
    place, acquisition, value = run.domain.to_unit(x[np.newaxis]), run.config.acquisition, None
    (mean,), (std,) = surrogate.posterior_at(time)(place)
    if not acquisition.joint:
        score, posterior, space = _scored(run, surrogate, acquisition, t, latest, risk, space)
        if space.window is not None:
            place = np.append(place, [[(time - t) / (latest - t)]], axis=1)
        value = float(score.values(*posterior(place), place)[0])
    return {"acquisition": value, "mean": float(run.sign * mean), "std": float(std)}


def _hallucinated(run, surrogate, queries):
    """Return the surrogate with its own posterior mean observed at some queries."""
    X = np.array([np.append(run.domain.to_unit(x), t) for x, t in queries])
    return surrogate.condition_on(X, surrogate.predict(X), restandardize=False)
