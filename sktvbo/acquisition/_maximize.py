"""Maximization of an acquisition function over a domain.

Everything here works in the unit form of `sktvbo.domain` and asks a domain for a few things only:
``candidates``, ``continuous``, ``reach``, ``neighbours``, ``allowed`` and ``size``; ``from_unit``
turns the result into a row. The function is never evaluated anywhere else than at members, so an
integer is seen by the surrogate where it will be observed. Who wants a part of a domain searched
gives that part: ``domain.within(low, high)``, of which some coordinates may be fixed.
"""

from __future__ import annotations

import math
from contextlib import suppress
from time import monotonic
from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import minimize

from .._arrays import distinct_rows
from .._validation import invalid
from ..domain._climbs import climbed
from ..exceptions import DomainError

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike

    from .._typing import Array, Numbers, Posterior

# From each start, gradients and neighbours take at most this many turns; they seldom need five.
_MAX_ROUNDS = 50

# Numeric derivatives, of functions scaled to the unit box, are differences over this distance.
_STEP = np.sqrt(np.finfo(np.float64).eps)

# A joint draw tries this many places around each anchor, at distances within this range.
_N_AROUND = 32
_NEAR, _FAR = 1e-3, 0.1

# A joint draw at m places costs O(m³): of a larger domain, it is made at this many of the members.
_MAX_JOINT = 1024


def maximize(
    score: Callable[[Numbers, Numbers], tuple[Numbers, Numbers, Numbers]],
    posterior: Posterior,
    domain: object,
    rng: np.random.RandomState,
    *,
    anchors: ArrayLike | None = None,
    n_candidates: int = 512,
    n_starts: int = 6,
    until: float = math.inf,
) -> Array:
    """Where an acquisition function is largest.

    A domain of at most ``n_candidates`` members, or a `~sktvbo.domain.FiniteSet`, is enumerated.
    Others are searched as `search` says, from scrambled Sobol points, with analytic gradients.

    Parameters
    ----------
    score : callable, (mean, std) -> (value, d value / d mean, d value / d std)
        See `sktvbo.acquisition._score.Score` for one that ``sees_places``.
    posterior : callable, (m, u) -> mean (m,), std (m,)
        At places in unit form. For a domain with reals it also has ``with_gradient(place)``, which
        returns mean, std and their gradients (u,) at one place (u,). It may have
        ``landscape(score)``, which is climbed unless it is None: ``values(U)`` are scores (m,),
        in any unit, as are ``leading(U, n)`` but for upper bounds of those below the n largest,
        and ``climb(places, free, unit, until)`` gives local maxima (b, u) in the ``free``
        coordinates, and their values, from several places (b, u) at once.
    domain : Box, FiniteSet, ParameterSpace or TimeWindow
    rng : RandomState
    anchors : array-like of shape (k, u), default=None
        Members in unit form to consider besides the Sobol points, such as the incumbent.
    n_candidates : int, default=512
        Number of Sobol points, a power of two.
    n_starts : int, default=6
        How many of the best are improved.
    until : float, default=inf
        When to stop, on the clock of `time.monotonic`: with the best found, and not before the
        Sobol points and anchors have been compared.

    Returns
    -------
    x : ndarray of shape (d,)
        A row of the domain.
    """

    sees_places = getattr(score, "sees_places", False)

    def values(U):
        return score(*posterior(U), *([U] if sees_places else []))[0]

    def minus(u):
        mean, std, mean_slope, std_slope = posterior.with_gradient(u)
        if sees_places:
            found = score.with_slopes(np.array([mean]), np.array([std]), u[np.newaxis])
            value, on_mean, on_std, on_place = (part[0] for part in found)
        else:
            (value, on_mean, on_std), on_place = score(mean, std), 0.0
        return -value, -(on_mean * mean_slope + on_std * std_slope + on_place)

    of = getattr(posterior, "landscape", None)
    landscape = None if of is None else of(score)
    if landscape is None:
        landscape = Plain(values, minus, gradient=True)
    candidates = _with_anchors(domain, domain.candidates(n_candidates, rng), anchors)
    return domain.from_unit(_highest(landscape, domain, candidates, n_starts, until))


def search(values, minus, domain, candidates, n_starts, *, gradient=False):
    """Place where a function is largest, in unit form.

    Candidates that are the whole domain settle it. Otherwise each of the best ``n_starts`` is
    improved by turns: L-BFGS-B moves the continuous coordinates, then a step to the best of the
    neighbours changes one integer or category, until there is nothing to gain.

    Parameters
    ----------
    values : callable, (m, u) -> (m,)
    minus : callable, (u,) -> float
        What L-BFGS-B minimizes, minus the same function; with ``gradient`` it returns minus the
        gradient (u,) as well.
    domain : Box, FiniteSet, ParameterSpace or TimeWindow
    candidates : ndarray of shape (m, u)
    n_starts : int
    gradient : bool, default=False

    Returns
    -------
    ndarray of shape (u,)
    """
    landscape = Plain(values, minus, gradient)
    return _highest(landscape, domain, candidates, n_starts, math.inf)


def _with_anchors(domain, candidates, anchors):
    """Candidates with the anchors before them, unless they are the whole domain already."""
    if anchors is None or not len(anchors) or _complete(domain, candidates):
        return candidates
    anchors = domain.present(np.asarray(anchors))
    return np.vstack([anchors[domain.allowed(anchors)], candidates])


def _highest(landscape, domain, candidates, n_starts, until):
    """The best place (u,) that is found from the candidates."""
    if _complete(domain, candidates):
        return candidates[np.argmax(landscape.leading(candidates, 1))]
    found = landscape.leading(candidates, n_starts)
    order = np.argsort(-found, kind="stable")
    unit, order = _unit(found[order]), order[:n_starts]
    places, values = candidates[order], found[order]
    going = np.arange(len(order))
    for _ in range(_MAX_ROUNDS):
        if domain.continuous.any():
            moved, reached = landscape.climb(
                places[going], domain.continuous, unit, until, domain.reach
            )
            wrong = ~domain.allowed(moved)
            if wrong.any():
                starts = places[going[wrong]]
                moved[wrong] = climbed(
                    domain, landscape.values, starts, moved[wrong], unit, _over(until)
                )
                reached[wrong] = landscape.values(moved[wrong])
            better = reached > values[going]
            places[going[better]], values[going[better]] = moved[better], reached[better]
        if domain.continuous.all() or not monotonic() < until:
            break
        going = going[_step_aside(landscape, domain, places, values, going)]
        if not len(going):
            break
    return places[np.argmax(values)]


def _over(until):
    """Whether a time has come, as a function."""
    return lambda: not monotonic() < until


def _step_aside(landscape, domain, places, values, going):
    """Move each of the places ``going`` to its best neighbour; which of them that has improved."""
    around = [domain.neighbours(places[i]) for i in going]
    improved = np.zeros(len(going), dtype=bool)
    if any(map(len, around)):
        found = landscape.values(np.vstack(around))
        parts = np.split(found, np.cumsum([len(near) for near in around])[:-1])
        for j, (i, near, value) in enumerate(zip(going, around, parts)):
            if len(near) and value.max() > values[i]:
                places[i], values[i] = near[np.argmax(value)], value.max()
                improved[j] = True
    return improved


def _unit(found):
    """The unit of scores (m,) in falling order: how much better the best is than half of them.

    Bounds may stand for the lower ones. Tolerances are in this unit, so that no result depends on
    that of the function.
    """
    finite = found[np.isfinite(found)]
    if not len(finite):
        return 1.0
    return finite[0] - finite[len(finite) // 2] or abs(finite[0]) or 1.0


class Plain:
    """A function that is climbed by L-BFGS-B, from one place after another.

    Parameters
    ----------
    values, minus, gradient
        See `search`.
    """

    def __init__(self, values, minus, gradient):
        self.values = values
        self._minus = minus
        self._gradient = gradient

    def leading(self, U, n):
        """The function at places U (m, u), of which the n best are asked for; all of it here."""
        return self.values(U)

    def climb(self, places, free, unit, until, reach=None):
        """Local maxima in some coordinates, the others held.

        Parameters
        ----------
        places : ndarray of shape (b, u)
            Where to begin.
        free : ndarray of bool of shape (u,)
        unit : float
            The tolerances count in this.
        until : float
            When to stop.
        reach : ndarray of shape (2, u), default=None
            Lowest and highest value of each coordinate; None is 0 and 1.

        Returns
        -------
        places : ndarray of shape (b, u)
        values : ndarray of shape (b,)
            Of the function, there; minus infinity where there was no time to begin.
        """
        places, values = np.array(places), np.full(len(places), -np.inf)
        low, high = np.outer([0.0, 1.0], np.ones(len(free))) if reach is None else reach
        for i, start in enumerate(places):
            ascent = _Tracked(self._minus, start, free, unit, until)
            with suppress(_TimeIsUp):
                _slide(ascent, start[free], low[free], high[free], self._gradient)
            places[i, free], values[i] = ascent.best, ascent.value
        return places, values


class _TimeIsUp(Exception):
    pass


class _Tracked:
    """A function of the free coordinates, in a unit, that remembers where it was least."""

    def __init__(self, minus, start, free, unit, until):
        self._minus, self._start, self._free = minus, start, free
        self._unit, self._until = unit, until
        self.best, self.value = start[free], -np.inf

    def __call__(self, z):
        """As ``minus`` at the coordinates z, which may be a stencil's, in the unit."""
        if not monotonic() < self._until:
            raise _TimeIsUp
        u = self._start.copy()
        u[self._free] = z
        found = self._minus(u)
        value = found[0] if isinstance(found, tuple) else found
        if -value > self.value:
            self.best, self.value = np.array(z), -value
        if isinstance(found, tuple):
            return value / self._unit, found[1][self._free] / self._unit
        return value / self._unit


def _slide(objective, z, low, high, gradient):
    """L-BFGS-B from z on, by differences unless the objective gives its gradient."""

    def with_differences(z):
        value = objective(z)
        # SciPy's own differences refuse the bounds that L-BFGS-B leaves by rounding.
        steps = np.where(z < 0.5 * (low + high), _STEP, -_STEP)
        return value, np.array([objective(x) - value for x in z + np.diag(steps)]) / steps

    function = objective if gradient else with_differences
    minimize(function, z, method="L-BFGS-B", jac=True, bounds=list(zip(low, high)))


def maximize_joint(draw, domain, rng, *, anchors=None, n_candidates=512):
    """Where a function drawn from the posterior is largest, as Thompson sampling wants it.

    The draw is made once, jointly, at the domain's candidates, at the anchors and at 32 places
    around each anchor: the anchor, or with equal chance one of its neighbours where it has any,
    its continuous coordinates shifted by Gaussians whose standard deviations spread over
    [0.001, 0.1] on a logarithmic scale. So a late query is not bound to the Sobol points' spacing.

    Of a domain that the candidates enumerate, nothing else is drawn. If these are more than 1024
    members, the draw is made at 1024 of them, chosen uniformly, and at each anchor and the 32
    members nearest to it in unit form; other members cannot be found this time. No place occurs
    twice.

    Parameters
    ----------
    draw : callable, (m, u) -> (m,)
        Values drawn at places in unit form.
    domain : Box, FiniteSet, ParameterSpace or TimeWindow
    rng : RandomState
    anchors : array-like of shape (k, u), default=None
        Members in unit form.
    n_candidates : int, default=512
        Number of Sobol points, a power of two.

    Returns
    -------
    x : ndarray of shape (d,)
        A row of the domain.
    """
    candidates = domain.candidates(n_candidates, rng)
    if _complete(domain, candidates):
        if len(candidates) > _MAX_JOINT:
            candidates = candidates[_part(candidates, anchors, rng)]
    elif anchors is not None:
        anchors = domain.present(np.asarray(anchors))
        around = [_around(anchor, domain, rng) for anchor in anchors]
        around = domain.mended(np.vstack(around))
        candidates, _ = distinct_rows(np.vstack([candidates, around[domain.allowed(around)]]))
    return domain.from_unit(candidates[np.argmax(draw(candidates))])


def _around(anchor, domain, rng):
    """The anchor (u,) and places around it (_N_AROUND + 1, u)."""
    neighbours = domain.neighbours(anchor)
    places = np.tile(anchor, (_N_AROUND + 1, 1))
    if len(neighbours):
        places[2::2] = neighbours[rng.randint(len(neighbours), size=_N_AROUND // 2)]
    scales = np.geomspace(_NEAR, _FAR, _N_AROUND)[:, np.newaxis]
    shifts = scales * rng.standard_normal((_N_AROUND, int(domain.continuous.sum())))
    low, high = (0.0, 1.0) if domain.reach is None else domain.reach[:, domain.continuous]
    places[1:, domain.continuous] = np.clip(places[1:, domain.continuous] + shifts, low, high)
    return places


def _part(members, anchors, rng):
    """Indices of _MAX_JOINT members (m, u) drawn uniformly, and of those nearest to each anchor."""
    chosen = [rng.choice(len(members), size=_MAX_JOINT, replace=False)]
    for anchor in () if anchors is None else anchors:
        distances = np.sum((members - anchor) ** 2, axis=1)
        chosen.append(np.argpartition(distances, _N_AROUND)[: _N_AROUND + 1])
    return np.unique(np.concatenate(chosen))


def _complete(domain, candidates):
    return len(candidates) >= domain.size


class TimeWindow:
    """A domain together with an interval of time: where to query, and when.

    A row is one of the domain with the time at its end, in the user's unit; the unit form is the
    domain's with the time at its end, 0 at ``low`` and 1 at ``high``.

    Parameters
    ----------
    domain : domain, or view of one
    low, high : float
        low <= high.
    """

    def __init__(self, domain, low, high):
        if not -math.inf < low <= high < math.inf:
            expected = "finite with low <= high"
            raise invalid("The window of time", expected, (low, high), error=DomainError)
        self.domain = domain
        self.low = float(low)
        self.high = float(high)
        self.continuous = np.append(domain.continuous, low < high)
        self.size = math.inf if low < high else domain.size
        self.by_answer = domain.by_answer
        self.reach = None
        if domain.reach is not None:
            self.reach = np.column_stack([domain.reach, [0.0, 1.0]])

    def from_unit(self, U):
        """Rows (n, d + 1) or (d + 1,) of the unit form (n, u + 1) or (u + 1,)."""
        U = np.asarray(U, dtype=np.float64)
        u = U[..., -1:]
        t = np.clip(self.low * (1.0 - u) + self.high * u, self.low, self.high)
        return np.concatenate([self.domain.from_unit(U[..., :-1]), t], axis=-1)

    def at_low(self, U):
        """Rows (n, d + 1) at time ``low`` of the domain's unit form (n, u)."""
        return np.column_stack([self.domain.from_unit(U), np.full(len(U), self.low)])

    def candidates(self, n, rng=None):
        """Each of the domain's candidates (m, u) at time ``low`` and at k = max(2, n // m) others.

        All m k times are different and spread evenly over the window.
        """
        places = self.domain.candidates(n, rng)
        m = len(places)
        k = max(2, n // m) if self.low < self.high else 0
        # In each k-th part of the window the candidates take turns: with Sobol points that
        # is Hammersley's set.
        turns = (np.arange(m) + 0.5) / m
        times = np.concatenate([np.zeros(m), *[(j + turns) / k for j in range(k)]])
        return np.column_stack([np.tile(places, (k + 1, 1)), times])

    def neighbours(self, u):
        """The domain's neighbours of u (u + 1,), at the same time."""
        neighbours = self.domain.neighbours(u[:-1])
        return np.column_stack([neighbours, np.full(len(neighbours), u[-1])])

    def allowed(self, U):
        """Which places (m, u + 1) may be returned (m,): what the domain says of them."""
        return self.domain.allowed(U[:, :-1])

    def present(self, U):
        return np.column_stack([self.domain.present(U[:, :-1]), U[:, -1]])

    def mended(self, U):
        return np.column_stack([self.domain.mended(U[:, :-1]), U[:, -1]])

    def margins(self, U):
        return self.domain.margins(U[:, :-1])
