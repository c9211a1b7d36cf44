"""Maximization of an acquisition function, or another objective, over a search space.

The maximizer sees an objective (`sktvbo.acquisition._objective`) and a
`sktvbo.domain._search_space.SearchSpace`. The objective is evaluated at members of the domain only:
a surrogate sees an integer where it will be observed.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from .._validation import check_random_state
from .._values import distinct_rows
from ..domain._base import Domain
from ..domain._feasible import improved_by_sqp
from ._functions import as_acquisition
from ._objective import ScipyClimber, Score

if TYPE_CHECKING:
    from .._typing import Array, Numbers, Posterior, RandomState

# Sobol points of a search, and climbs from the best of them.
N_CANDIDATES, N_STARTS = 512, 6

# Anchors at which slow functions of constraints are called, the best.
_N_ANCHORS = 12

# Each start alternates between gradients and neighbours for at most this many rounds; rarely five.
_MAX_ROUNDS = 50

# A start is at its end when a step to a neighbour gains no more than this part of the unit of
# scores. Angles would otherwise be halved further without an effect on the score.
_LEAST_GAIN = 1e-6

# A joint draw includes this many inputs around each anchor, at distances within this range.
_N_AROUND = 32
_NEAREST, _FARTHEST = 1e-3, 0.1

# A joint draw at m inputs costs O(m³): of larger finite domains, this many members are drawn.
_MAX_JOINT = 1024

# Random steps tried at a time where constraints only answer yes or no, and their first and last
# typical length in unit form.
_N_TRIED, _LONGEST, _SHORTEST = 32, 0.1, 1e-5


def maximize(
    score: Callable[[Numbers, Numbers], tuple[Numbers, Numbers, Numbers]],
    posterior: Posterior,
    domain: Domain,
    rng: RandomState,
    *,
    anchors: ArrayLike | None = None,
    n_candidates: int = N_CANDIDATES,
    n_starts: int = 6,
) -> Array:
    """Return the row of a domain where an acquisition function is largest.

    A domain of at most ``n_candidates`` members, or a `~sktvbo.domain.FiniteSet`, is enumerated.
    Others are searched from randomly shifted Sobol points, with L-BFGS-B.

    Parameters
    ----------
    score : callable, (mean, std) -> (value, d value / d mean, d value / d std)
        Called with arrays (m,).
    posterior : callable, (m, u) -> mean (m,), std (m,)
        At inputs in unit form. For a domain with reals it also has ``with_gradient(place)``, which
        returns mean, std and their gradients (u,) at one input (u,).
    domain : Box, FiniteSet, ParameterSpace or another domain
    rng : int, RandomState, Generator or None
    anchors : array-like of shape (k, u), default=None
        Members in unit form to consider in addition to the Sobol points, such as the incumbent.
    n_candidates : int, default=512
        Number of Sobol points, a power of two.
    n_starts : int, default=6
        Number of the best candidates that are improved.

    Returns
    -------
    x : ndarray of shape (d,)
        A row of the domain.
    """

    def acquisition(mean, std, state):
        return score(mean, std)

    objective = ScipyClimber.of_posterior(Score(as_acquisition(acquisition), None), posterior)
    space = domain.search_space()
    rng = check_random_state(rng)
    return optimize(objective, space, rng, anchors, n_candidates, n_starts)


def optimize(
    objective,
    space,
    rng,
    anchors=None,
    n_candidates=N_CANDIDATES,
    n_starts=N_STARTS,
    until=np.inf,
    taken=(),
):
    """Return the row (d,) of a search space where an objective is largest, None if it is empty.

    The anchors (k, u) may have another context, which is replaced, and lie outside of the domain:
    the nearest members are taken. At ``until``, a time of `time.process_time`, the search stops.
    Inputs ``taken`` (j, u) are excluded, as in `search`.
    """
    candidates = space.candidates(n_candidates, rng)
    if anchors is not None and len(anchors) and len(candidates) < space.size:
        anchors = space.with_current_context(space.nearest(np.asarray(anchors)))
        if space.is_slow:
            anchors = anchors[np.argsort(-objective.values(anchors), kind="stable")[:_N_ANCHORS]]
        candidates = np.vstack([anchors[space.allowed(anchors)], candidates])
    if not len(candidates):
        return None
    best = search(objective, space, candidates, n_starts, until, taken)
    return space.decode(best[np.newaxis])[0]


def search(objective, space, candidates, n_starts, until=np.inf, taken=()):
    """Return the input (u,) where an objective is largest.

    Candidates (m, u) that are all of the space settle it. Otherwise each of the best ``n_starts``
    is improved in turns: a climb moves the continuous coordinates, then a step to the best of the
    neighbours changes one integer or category, until there is nothing to gain, or no time left.
    Inputs ``taken`` (j, u), for example by other queries of a batch, are excluded unless nothing
    else is found.
    """
    if len(candidates) >= space.size:
        return _best(candidates, objective.leading(candidates, 1 + len(taken)), space, taken)
    scores = objective.leading(candidates, n_starts)
    order = np.argsort(-scores, kind="stable")
    unit, order = _unit(scores[order]), order[:n_starts]
    places, values = candidates[order], scores[order]
    going = np.arange(len(order))
    for _ in range(_MAX_ROUNDS):
        if space.continuous.any():
            moved, reached = objective.climb(places[going], space, unit, until)
            wrong = ~space.allowed(moved)
            if wrong.any():
                moved[wrong] = _feasible_ends(
                    objective.values, space, places[going[wrong]], moved[wrong], unit
                )
                reached[wrong] = objective.values(moved[wrong])
            better = reached > values[going]
            places[going[better]], values[going[better]] = moved[better], reached[better]
        if space.continuous.all() or time.process_time() >= until:
            break
        going = going[_step_aside(objective, space, places, values, going, _LEAST_GAIN * unit)]
        if not len(going):
            break
    if len(taken):  # all climbs may end at such an input
        places, values = np.vstack([places, candidates]), np.append(values, scores)
    return _best(places, values, space, taken)


def _best(places, values, space, taken):
    """Return the input (u,) of the largest value (m,), if possible without those ``taken``."""
    places = places[np.argsort(-values, kind="stable")]
    return [*untaken(places, space, taken)[:1], places[0]][0]


def untaken(places, space, taken):
    """Return those of inputs (m, u) in a space that are not ``taken`` (j, u)."""
    if not len(taken):
        return places
    k = space.domain.n_unit
    is_taken = np.isclose(places[:, np.newaxis, :k], np.asarray(taken)[:, :k]).all(axis=2)
    return places[~is_taken.any(axis=1)]


def _step_aside(objective, space, places, values, going, least):
    """Move each of the inputs ``going`` to its best neighbour; return which gain over ``least``."""
    around = [space.neighbours(places[i]) for i in going]
    improved = np.zeros(len(going), dtype=bool)
    if any(map(len, around)):
        scores = objective.values(np.vstack(around))
        parts = np.split(scores, np.cumsum([len(near) for near in around])[:-1])
        for j, (i, near, value) in enumerate(zip(going, around, parts)):
            if len(near) and value.max() > values[i]:
                improved[j] = value.max() > values[i] + least
                places[i], values[i] = near[np.argmax(value)], value.max()
    return improved


def _unit(scores):
    """Return the lead of the best of scores (m,), in descending order, over the median.

    Bounds may stand for the lower ones. Tolerances are multiples of this unit, so that the result
    does not depend on that of the function.
    """
    finite = scores[np.isfinite(scores)]
    if not len(finite):
        return 1.0
    return finite[0] - finite[len(finite) // 2] or abs(finite[0]) or 1.0


# --- constraints ----------------------------------------------------------------------------------


def _feasible_ends(values, space, starts, ends, unit):
    """Return feasible inputs (b, u), no worse than feasible starts, for infeasible ends of climbs.

    If constraints return numbers, sequential quadratic programming finds an input. Otherwise, and
    if that input is infeasible, the result is the last feasible one on the line from the start.
    """
    ends = np.array(ends)
    for i, start in enumerate(starts):
        end = improved_by_sqp(space, values, start, unit)
        if end is not None:
            ends[i] = end
    places = last_feasible(space, starts, ends)
    if space.feasible is not None and space.feasible.rules.by_answer:
        best = np.argmax(values(places))
        places[best] = _random_walk(values, space, places[best])
    return places


def last_feasible(space, starts, ends, n_halvings=None):
    """Return about the last feasible inputs (b, u) on the lines from feasible starts to ends."""
    n_halvings = space.effort[1] if n_halvings is None else n_halvings
    feasible, wrong = np.array(ends), np.flatnonzero(~space.allowed(ends))
    feasible[wrong] = starts[wrong]
    ways = (ends - starts)[wrong]
    low, high = np.zeros(len(wrong)), np.ones(len(wrong))
    for _ in range(n_halvings if len(wrong) else 0):
        middle = 0.5 * (low + high)
        places = starts[wrong] + middle[:, np.newaxis] * ways
        allowed = space.allowed(places)
        low[allowed], high[~allowed] = middle[allowed], middle[~allowed]
        feasible[wrong[allowed]] = places[allowed]
    return feasible


def _random_walk(values, space, best):
    """Return the end (u,) of random feasible steps that improve, with adapted lengths."""
    rng, free = np.random.RandomState(0), np.flatnonzero(space.continuous)
    low, high = space.lower[free], space.upper[free]
    value, length = values(best[np.newaxis])[0], _LONGEST
    while length > _SHORTEST:
        lengths = length * np.geomspace(0.05, 2.0, _N_TRIED)
        places = np.tile(best, (_N_TRIED, 1))
        steps = lengths[:, np.newaxis] * rng.standard_normal((_N_TRIED, len(free)))
        places[:, free] = np.clip(places[:, free] + steps, low, high)
        # Constraints may be slow: they are not evaluated at inputs that would not be better.
        places = places[values(places) > value]
        starts = np.tile(best, (len(places), 1))
        places = last_feasible(space, starts, places, 6)  # halvings: fewer than those of a climb
        reached = values(places) if len(places) else np.array([-np.inf])
        if reached.max() > value:
            gone = np.linalg.norm(places[np.argmax(reached)] - best)
            best, value = places[np.argmax(reached)], reached.max()
            length = min(max(gone, 0.5 * length), _LONGEST)
        else:
            length *= 0.5
    return best


# --- joint draws ----------------------------------------------------------------------------------


def maximize_joint(draw, space, rng, anchors=None, n_candidates=N_CANDIDATES, taken=()):
    """Return the row (d,) where a function drawn from the posterior is largest: Thompson sampling.

    The draw is made once, jointly, at the space's candidates, at the anchors and at 32 inputs
    around each anchor: the anchor, or with equal chance one of its neighbours if it has any, its
    continuous coordinates shifted by Gaussians whose standard deviations are spread over
    [0.001, 0.1] on a logarithmic scale. So a late query is not bound to the spacing of the Sobol
    points.

    In a space that the candidates enumerate, nothing else is drawn. If these are more than 1024
    members, the draw is made at 1024 of them, chosen uniformly, and at each anchor and the 32
    members nearest to it in unit form; other members cannot be found this time. All inputs differ.

    Parameters
    ----------
    draw : callable, (m, u) -> (m,)
        Values drawn at inputs in unit form.
    space : SearchSpace
    rng : int, RandomState, Generator or None
    anchors : array-like of shape (k, u), default=None
        Members in unit form.
    n_candidates : int, default=512
        Number of Sobol points, a power of two.
    taken : array-like of shape (j, u), default=()
        Inputs that are excluded, as in `search`.
    """
    candidates = space.candidates(n_candidates, rng)
    if len(candidates) >= space.size:
        if len(candidates) > _MAX_JOINT:
            candidates = candidates[_part(candidates, anchors, rng)]
    elif anchors is not None:
        anchors = space.with_current_context(space.nearest(np.asarray(anchors)))
        around = np.vstack([_around(anchor, space, rng) for anchor in anchors])
        around = space.projected(around)
        candidates, _ = distinct_rows(np.vstack([candidates, around[space.allowed(around)]]))
    if not len(candidates):
        return None
    return space.decode(_best(candidates, draw(candidates), space, taken)[np.newaxis])[0]


def _around(anchor, space, rng):
    """Return the anchor (u,) and inputs around it (_N_AROUND + 1, u)."""
    neighbours, free = space.neighbours(anchor), space.continuous
    places = np.tile(anchor, (_N_AROUND + 1, 1))
    if len(neighbours):
        places[2::2] = neighbours[rng.randint(len(neighbours), size=_N_AROUND // 2)]
    scales = np.geomspace(_NEAREST, _FARTHEST, _N_AROUND)[:, np.newaxis]
    shifted = places[1:, free] + scales * rng.standard_normal((_N_AROUND, int(free.sum())))
    places[1:, free] = np.clip(shifted, space.lower[free], space.upper[free])
    return places


def _part(members, anchors, rng):
    """Return indices of _MAX_JOINT members (m, u) drawn uniformly, and of those near anchors."""
    chosen = [rng.choice(len(members), size=_MAX_JOINT, replace=False)]
    for anchor in () if anchors is None else anchors:
        distances = np.sum((members - anchor) ** 2, axis=1)
        chosen.append(np.argpartition(distances, _N_AROUND)[: _N_AROUND + 1])
    return np.unique(np.concatenate(chosen))
