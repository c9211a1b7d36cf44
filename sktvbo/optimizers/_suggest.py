"""Where a run queries next: at random, or where its acquisition function is largest."""

from functools import partial

import numpy as np

from .._values import replaced
from ..acquisition import AcquisitionState
from ..acquisition._boundary_margin import Inside
from ..acquisition._maximize import TimeWindow, maximize, maximize_joint
from ..acquisition._score import Score, ScoreInside, ScoreOfPlaces
from ._failures import sampled, weighed

# A new query keeps away from at most this many pending ones, the latest.
_MAX_HALLUCINATED = 32

# A narrower margin is taken for this one, in sides of the box.
_MIN_MARGIN = 1e-9

# A failure is worth as much as the worst place of the data set, and of so many others.
_N_FLOOR = 64


def start_queries(run, t, size):
    """At most ``size`` queries (x, time) at start points, or on the way; how many are done then."""
    found, n_started = [], run.n_started
    while len(found) < size and n_started < len(run.start):
        x = aim = run.start[n_started]
        if run.limiter is not None:
            x = run.limiter.towards(run, t, aim)
        if x is None or np.array_equal(x, aim):
            n_started += 1
        if x is not None:
            found.append((x, t))
            if run.limiter is not None:
                run = replaced(run, limiter=run.limiter.moved(x, t))
    return found, n_started


def random_queries(run, t, size, rng):
    """Queries (x, time) made without a surrogate, each within reach of the one before."""
    risk, domain = run.risk, run.domain
    if run.limiter is None:
        return [(x, t) for x in sampled(domain.sample, domain, risk, t, size, rng)]
    found = []
    for _ in range(size):
        draw = run.limiter.draw(run, t)
        found.append((sampled(draw, domain, risk, t, 1, rng)[0], t))
        run = replaced(run, limiter=run.limiter.moved(*found[-1]))
    return found


def best_queries(run, t, size, rng, may_wait):
    """Queries (x, time), each with the pending ones and those before hallucinated."""
    surrogate = run.belief.at(t)
    pending = run.pending_at(t)[-_MAX_HALLUCINATED:]
    if pending:
        surrogate = _hallucinated(run, surrogate, [(query.x, query.t) for query in pending])
    queries, risk = [], run.risk
    for i in range(size):
        if i:
            surrogate = _hallucinated(run, surrogate, queries[-1:])
        latest = run.latest_query_time(t, surrogate, run.policy) if may_wait else t
        domain = run.domain if run.limiter is None else run.limiter.part_of(run, t)
        x, time = best_query(run, surrogate, run.acquisition, t, latest, rng, risk, domain)
        if run.limiter is not None:
            x = run.limiter.heading(run, surrogate, t, domain, x, risk)
            run = replaced(run, limiter=run.limiter.moved(x, time))
        queries.append((x, time))
    return queries


def best_query(run, surrogate, acquisition, t, latest, rng, risk, part=None):
    """Where, and when between t and ``latest``, an acquisition function is largest.

    Scores are to be maximized: the surrogate was given -y when minimizing. They are weighed by
    a ``risk`` unless it is None. The search is of a ``part`` of the domain; None: of all.
    """
    part = run.domain if part is None else part
    posterior = surrogate.posterior_at(t, run.domain.continuous)
    # The latest queries are near the optimum when the optimizer has been tracking it. Those not
    # told yet are left out: where nothing is in doubt, a search from one would end there again.
    recent = run.belief.X_train_[-3:, :-1]
    if getattr(acquisition, "joint", False):
        draw = partial(posterior.sample, rng=rng)
        if risk is not None:
            draw = risk.at(t).weigh_draw(draw)
        return maximize_joint(draw, part, rng, anchors=recent), t
    state = AcquisitionState(
        len(run.kept),
        run.n_told,
        run.domain.n_dims,
        surrogate,
        posterior,
        n_pending=len(surrogate.X_train_) - len(run.belief.X_train_),
    )
    if not latest > t:
        score = _score(run, acquisition, state, TimeWindow(part, t, t), risk)
        return maximize(score, posterior, part, rng, anchors=recent), t
    window = TimeWindow(part, t, latest)
    row = maximize(
        _score(run, acquisition, state, window, risk),
        surrogate.posterior_between(t, latest, run.domain.continuous),
        window,
        rng,
        anchors=np.column_stack([recent, np.zeros(len(recent))]),
    )
    return row[:-1], float(row[-1])


def _hallucinated(run, surrogate, queries):
    """The surrogate with its own posterior mean observed at some queries."""
    X = np.array([np.append(run.domain.to_unit(x), t) for x, t in queries])
    return surrogate.condition_on(X, surrogate.predict(X), restandardize=False)


def _score(run, acquisition, state, window, risk):
    """An acquisition function as a score of places now, or in a window of time."""
    waits = window.low < window.high
    faced, margin = run.domain.continuous, getattr(acquisition, "margin", 0.0)
    if getattr(acquisition, "sees_places", False):
        score = ScoreOfPlaces(acquisition, state, window.from_unit if waits else window.at_low)
    elif margin > 0.0 and faced.any():
        rate = 1.0 / max(margin, _MIN_MARGIN)
        rates = np.where(np.append(faced, False) if waits else faced, rate, 0.0)
        score = ScoreInside(acquisition, state, Inside(rates))
    else:
        score = Score(acquisition, state)
    if risk is None:
        return score
    places = np.vstack([run.surrogate.X_train_[:, :-1], run.domain.candidates(_N_FLOOR)])
    return weighed(score, risk, state.posterior, window, places)
