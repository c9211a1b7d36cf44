"""Inputs of a domain, in unit form, among which a maximizer chooses."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from .._validation import check_random_state, invalid_domain
from ._feasible import FeasibleSet

if TYPE_CHECKING:
    from collections.abc import Callable

    from .._typing import Array, Mask, RandomState

# Outside of the limits by less than this, in unit form: a rounding error.
_SLACK = 1e-12

# A finite domain of at most this many members is enumerated to find those within limits.
_MAX_MEMBERS = 4096

# Largest part of this many candidates that may be near avoided inputs: a search needs some.
_MOST_AVOIDED, _N_TRIED = 0.8, 128

# Inputs drawn around known ones are at distances from this part of the largest on. Candidates for
# certified inputs are at most the second number from known ones, in unit form.
_NEAREST, _FAR = 0.003, 0.3

# Center and radius of the circle on which the unit form of a cyclic parameter lies.
CENTER, RADIUS = 0.5, 0.5

# Integers and members that differ by less than this in unit form are the same.
_ROUNDING = 1e-8


@dataclass(frozen=True, eq=False)
class SearchSpace:
    """A domain for a maximizer: with constraints, limits, a context and a window of time.

    An input (u,) consists of k coordinates that are chosen, those of the context, which are fixed,
    and with a window the time, from 0 to 1. Made by ``domain.search_space()``, which adds
    constraints and context; then by `within`, `certified` and `during`.

    Attributes
    ----------
    domain : Domain
        Domain of the points, without constraints: it maps rows to the unit form and back.
    lower, upper : ndarray of shape (u,)
        Bounds; a coordinate where both are equal is fixed.
    continuous : ndarray of bool of shape (u,)
        Coordinates that a gradient may move.
    limited : bool
        True if the bounds exclude inputs of the domain.
    beyond : ndarray of shape (b, k), or None
        Members outside of the bounds that may be chosen nevertheless.
    members : ndarray of shape (m, k), or None
        All inputs, where limits or constraints left a few of finitely many.
    feasible : FeasibleSet or None
        None without constraints.
    avoided : (ndarray of shape (m, u), float), or None
        Inputs that are left out, and the distance around them, see `avoiding`.
    context : ndarray of shape (c,), or None
        Row of the context.
    window : (float, float) or None
        Earliest and latest time of a query, in the user's unit.
    fixed : ndarray of shape (d,), or None
        Row of the values that all inputs have; NaN where they are free.
    certificate : object, or None
        Restriction by measurements: ``at(t)``, or ``at(low, high)`` for a window, has
        ``succeeds(U)``, a mask (m,) of the allowed inputs (m, u). ``known`` (j, u) are inputs near
        which to search.
    time : float, or None
        Time of a query, with a certificate and without a window.
    """

    domain: Any
    lower: Array
    upper: Array
    continuous: Mask
    limited: bool = False
    beyond: Array | None = None
    members: Array | None = None
    feasible: FeasibleSet | None = None
    avoided: tuple[Array, float] | None = None
    context: Array | None = None
    window: tuple[float, float] | None = None
    fixed: Array | None = None
    certificate: Any = None
    time: float | None = None

    # --- parts and extensions ---------------------------------------------------------------------

    @classmethod
    def whole(cls, domain: Any) -> SearchSpace:
        """Return the space of all members of a domain."""
        # The unit form of arms is their index.
        upper = np.maximum(domain.to_unit(domain.upper), 1.0)
        return cls(domain, np.zeros_like(upper), upper, domain.continuous)

    def constrained(self, rules: Any, known: Callable[[], Array] | None = None) -> SearchSpace:
        """Return the part that satisfies constraints; ``known`` returns inputs (m, k) of it."""
        feasible = FeasibleSet(self, rules, known)
        return replace(self, feasible=feasible, members=feasible.members)

    def knowing(self, known: Callable[[], Array], n_calls: int) -> SearchSpace:
        """Return the space in a step of a run.

        ``known`` returns inputs (m, k) that may satisfy its constraints. Functions that are slow
        may be called ``n_calls`` times.
        """
        feasible = self.feasible.knowing(known, n_calls)
        return self if feasible is self.feasible else replace(self, feasible=feasible)

    def within(self, lower: Array, upper: Array, beyond: Array | None = None) -> SearchSpace:
        """Return the part of a space without a window that is within limits (u,).

        It is the intersection with earlier limits, or the nearest end of these. A coordinate where
        both are equal is fixed. The columns of a free category are from 0 to 1; limits of a context
        are ignored. The members ``beyond`` (b, u) are allowed as well. If no member is found, the
        one nearest to the middle of the limits is the only input.
        """
        if self.certificate is not None:
            space = self.reachable.within(lower, upper, beyond)
            return space.certified(self.certificate, self.time)
        domain = self.domain
        k = domain.n_unit
        lower, upper = np.array(lower, dtype=np.float64), np.array(upper, dtype=np.float64)
        fits = lower.shape == upper.shape == self.lower.shape
        if not fits or not np.all(lower[:k] <= upper[:k]):
            expected = f"{len(self.lower)} numbers each, low <= high"
            got = f"{lower.tolist()} and {upper.tolist()}"
            raise invalid_domain("The bounds of a search", expected, got=got)
        beyond = self._both_beyond(lower[:k], upper[:k], beyond)
        lower, upper = np.clip([lower[:k], upper[:k]], self.lower[:k], self.upper[:k])
        continuous = domain.continuous & (lower < upper)
        space = SearchSpace(domain, lower, upper, continuous, True, beyond, fixed=self.fixed)
        members = self._listed_members()
        if members is not None:
            space = replace(space, members=space._inside_or_nearest(members, members))
        if self.feasible is not None:
            space = space.constrained(self.feasible.rules, self.feasible.find_known)
        if self.avoided is not None:
            space = space.avoiding(*self.avoided)
        return space if self.context is None else space.given(self.context, self.lower[k:])

    def among(self, U: Array) -> SearchSpace:
        """Return the part of a space without a window that consists of some inputs (m, u)."""
        return replace(self, members=U[:, : self.domain.n_unit])

    def avoiding(self, U: Array, distance: float) -> SearchSpace:
        """Return the part of a space without a window that is not near some inputs (m, u).

        Reals that differ by less than the distance are near. It is halved until some of the space
        is left. Nothing is left out of a small space whose members are all among the inputs.
        """
        rest = replace(self, avoided=(U, distance))
        if math.isfinite(self.size):
            members = self.candidates(min(self.size, _MAX_MEMBERS))
            if len(members) >= self.size:
                left = members[~rest._is_avoided(members)]
                return rest.among(left) if len(left) else self
        inputs = self.candidates(_N_TRIED)
        if len(inputs) and rest._is_avoided(inputs).mean() > _MOST_AVOIDED:
            return self.avoiding(U, 0.5 * distance) if distance > _ROUNDING else self
        return rest

    def _is_avoided(self, U):
        """Return a mask (m,) of the inputs (m, u) that are left out."""
        (avoided, distance), k = self.avoided, self.domain.n_unit
        moves = self.domain.continuous | self.domain.circular
        near = np.where(moves, distance, _ROUNDING)
        return (np.abs(U[:, np.newaxis, :k] - avoided[:, :k]) < near).all(axis=2).any(axis=1)

    def certified(self, certificate: Any, t: float) -> SearchSpace:
        """Return the part of a space that a certificate allows, at time t unless it has a window.

        A part of it, or the same at other times, is certified as well.
        """
        return replace(self, certificate=certificate, time=t)

    @cached_property
    def reachable(self) -> SearchSpace:
        """The space without the restriction by measurements."""
        return self if self.certificate is None else replace(self, certificate=None)

    def at(self, t: float) -> SearchSpace:
        """Return the space without a window at another time, if that matters."""
        return self if self.certificate is None or t == self.time else replace(self, time=t)

    def given(self, context: Array, fixed: Array) -> SearchSpace:
        """Return the space in a context (c,), whose unit form is ``fixed``."""
        held = np.zeros(len(fixed), dtype=bool)
        return self._extended(fixed, fixed, held, context=context)

    def during(self, low: float, high: float) -> SearchSpace:
        """Return the space with one more coordinate, the time of a query, from low to high."""
        if not -math.inf < low < high < math.inf:
            expected = "finite with low < high"
            raise invalid_domain("The window of time", expected, (low, high))
        return self._extended(0.0, 1.0, True, window=(float(low), float(high)))

    def _extended(self, lower, upper, continuous, **changes):
        """Return the space with more coordinates."""
        lower, upper = np.append(self.lower, lower), np.append(self.upper, upper)
        continuous = np.append(self.continuous, continuous)
        return replace(self, lower=lower, upper=upper, continuous=continuous, **changes)

    # --- inputs for a maximizer -------------------------------------------------------------------

    @cached_property
    def size(self) -> float:
        """Number of inputs, or infinity."""
        if self.window is not None:
            return math.inf
        if self.certificate is not None and math.isfinite(self.reachable.size):
            members = self.reachable.candidates(min(self.reachable.size, 512))  # at most, to count
            count = self._chance.succeeds(members).sum()
            return int(count) if len(members) >= self.reachable.size else math.inf
        if self.members is not None:
            return len(self.members)
        if self.feasible is not None:
            return self.feasible.size
        return self.domain.size if (self.lower < self.upper).any() else 1

    @property
    def is_whole(self) -> bool:
        """True if all members of the domain are in the space."""
        parts = self.members, self.feasible, self.avoided, self.certificate
        return not self.limited and all(part is None for part in parts)

    @property
    def effort(self) -> tuple[int, int]:
        """Number of climbs of a search, and of halvings for the last allowed input of a line.

        Both take long with slow functions or a certificate.
        """
        if self.is_slow:
            return 2, 6
        return (6, 50) if self.certificate is None else (3, 8)

    @property
    def is_slow(self) -> bool:
        """True if functions of the constraints are slow: their calls are counted."""
        return self.feasible is not None and self.feasible.rules.is_slow

    def candidates(self, n: int, rng: RandomState = None) -> Array:
        """Return inputs (m, u) from which a search starts: all of them if the space is small."""
        if self.certificate is not None:
            return self._certified_candidates(n, rng)
        if self.members is not None:
            inputs = self.members
        elif self.feasible is not None:
            inputs = self.feasible.candidates(n, rng)
        else:
            inputs = self.domain.candidates(n, rng)
            if self.limited:
                inputs = self._drawn_together(inputs)
        if self.avoided is not None:
            inputs = inputs[~self._is_avoided(inputs)]
        inputs = self.with_current_context(inputs)
        return inputs if self.window is None else self._over_window(inputs, n)

    def _certified_candidates(self, n, rng):
        """Return certified inputs (m, u) that are spread over the space, and near known ones."""
        space, known = self.reachable, np.empty((0, len(self.lower)))
        inputs = space.candidates(n if space.size <= n else n // 2, rng)
        if space.size > n:
            known = space.with_current_context(space.nearest(self.certificate.known))
            known = known[self.allowed(known)]
        if len(known):
            inputs = np.vstack([inputs, space.around(known, n // 4, _FAR, rng)])
        return np.vstack([known, inputs[self.allowed(inputs)]])

    def _over_window(self, inputs, n):
        """Return inputs (m, u) at the beginning of the window, and at max(2, n // m) later times.

        These all differ, and are spread evenly. In each part of the window the inputs take turns: a
        Hammersley set, where they are Sobol points.
        """
        m = len(inputs)
        k = max(2, n // m)
        turns = (np.arange(m) + 0.5) / m
        inputs = np.tile(inputs, (k + 1, 1))
        inputs[m:, -1] = np.concatenate([(j + turns) / k for j in range(k)])
        return inputs

    def around(self, known: Array, n: int, farthest: float, rng: RandomState = None) -> Array:
        """Return inputs (n, u) around known ones (m, u), more of them near than far."""
        rng, free = check_random_state(0 if rng is None else rng), np.flatnonzero(self.continuous)
        inputs = known[rng.randint(len(known), size=n)]
        shifts = rng.standard_normal((n, len(free)))
        shifts *= np.geomspace(_NEAREST * farthest, farthest, n)[:, np.newaxis]
        inputs[:, free] = np.clip(inputs[:, free] + shifts, self.lower[free], self.upper[free])
        return self.projected(inputs)

    def nearest(self, U: Array) -> Array:
        """Return inputs (m, u) moved to the nearest members of the domain."""
        domain, inputs = self.domain, np.array(U)
        chosen = inputs[:, : domain.n_unit]
        moved = np.clip(chosen, 0.0, 1.0)
        if not domain.continuous.all() or self.fixed is not None:
            members = domain.unit_of(self._members(chosen))
            free = domain.continuous & (self.fixed is None or self.continuous[: domain.n_unit])
            moved = np.where(free, moved, members)
        chosen[:] = moved
        return inputs

    def with_current_context(self, U: Array) -> Array:
        """Return inputs (m, u) with the chosen coordinates of U, which come first in it.

        The others are the context and the beginning of the window.
        """
        fixed = self.lower[self.domain.n_unit :]
        if not len(fixed):
            return U
        return np.column_stack([U[:, : self.domain.n_unit], np.tile(fixed, (len(U), 1))])

    def allowed(self, U: Array) -> Mask:
        """Return a mask (m,) of the inputs (m, u) in limits, constraints and certificate."""
        k, allowed = self.domain.n_unit, np.ones(len(U), dtype=bool)
        if self.feasible is not None:
            allowed = self.feasible.allowed(U[:, :k])
        elif self.limited:
            allowed = _inside(U[:, :k], self.lower[:k], self.upper[:k])
            if self.beyond is not None:
                allowed |= _inside(U[:, np.newaxis, :k], self.beyond, self.beyond).any(axis=1)
        return self._left_of(U, allowed)

    def _left_of(self, U, allowed):
        """Return a mask (m,) of the allowed inputs (m, u) that are certified and not avoided."""
        if self.avoided is not None:
            allowed &= ~self._is_avoided(U)
        if self.certificate is not None and allowed.any():
            allowed[allowed] = self._chance.succeeds(U[allowed])
        return allowed

    @cached_property
    def _chance(self):
        """The certificate at the time, or in the window, of a query."""
        return self.certificate.at(*(self.window or (self.time,)))

    def neighbours(self, u: Array) -> Array:
        """Return the inputs (m, u) that differ from one (u,) by a step of the domain.

        Linear constraints that such a step violates are satisfied again by moving the reals.
        """
        k, is_free = self.domain.n_unit, self.feasible is None
        inputs = (self.domain if is_free else self.feasible).neighbours(u[:k])
        if len(u) > k:
            inputs = np.column_stack([inputs, np.tile(u[k:], (len(inputs), 1))])
        feasible = np.ones(len(inputs), dtype=bool)
        return inputs[self.allowed(inputs) if is_free else self._left_of(inputs, feasible)]

    def projected(self, U: Array) -> Array:
        """Return inputs (m, u) moved to the nearest that satisfy the linear constraints."""
        if self.feasible is None:
            return U
        k = self.domain.n_unit
        return np.column_stack([self.feasible.projected(U[:, :k]), U[:, k:]])

    def decode(self, U: Array) -> Array:
        """Return the rows (m, d) of inputs (m, u), with the context and, in a window, the time.

        The chosen coordinates are those of a member of the domain, exactly.
        """
        rows = self._members(U[:, : self.domain.n_unit])
        if self.context is not None:
            rows = np.column_stack([rows, np.tile(self.context, (len(U), 1))])
        if self.window is not None:
            (low, high), u = self.window, U[:, -1]
            rows = np.column_stack([rows, np.clip(low * (1.0 - u) + high * u, low, high)])
        return rows

    def _members(self, U):
        """Return the rows (m, k) of the members nearest to inputs (m, u), with fixed values."""
        rows = self.domain._from_unit(U)
        return rows if self.fixed is None else np.where(np.isnan(self.fixed), rows, self.fixed)

    # --- limits -----------------------------------------------------------------------------------

    def listed(self) -> Array | None:
        """Return the chosen coordinates of all inputs (m, k); None if they are too many to list."""
        return self._listed_members() if self.members is None else self.members

    def _listed_members(self):
        """Return all members of the domain (m, k); None if they are too many."""
        if not math.isfinite(self.domain.size):
            return None
        members = self.domain.candidates(min(self.domain.size, _MAX_MEMBERS))
        return members if len(members) >= self.domain.size else None

    def _both_beyond(self, lower, upper, beyond):
        """Return the members beyond these limits or the earlier ones that the others allow."""
        parts = [np.empty((0, len(lower)))] if beyond is None else [beyond[:, : len(lower)]]
        parts[0] = parts[0][self.allowed(parts[0])]
        if self.beyond is not None:
            parts.append(self.beyond[_inside(self.beyond, lower, upper)])
        members = np.vstack(parts)
        return members if len(members) else None

    def _drawn_together(self, drawn):
        """Return inputs (m, k) of the domain, scaled into the limits."""
        domain = self.domain
        low, high = self.lower[: domain.n_unit], self.upper[: domain.n_unit]
        inputs = low + drawn * (high - low)
        for columns in domain.categories:
            left = columns[high[columns] > 0.0]
            if 0 < len(left) < len(columns):  # each of those left is drawn as often
                own = left[np.argmax(drawn[:, columns], axis=1) % len(left)]
                inputs[:, columns] = low[columns]
                inputs[np.arange(len(inputs)), own] = high[own]
        members = domain.to_unit(domain.from_unit(inputs))
        # Reals stay where they are: their rows may be on another scale, with other roundings.
        inputs = np.where(domain.continuous, np.clip(inputs, low, high), members)
        return self._inside_or_nearest(inputs, members)

    def _inside_or_nearest(self, inputs, members):
        inside = inputs[self.allowed(inputs)]
        if len(inside):
            return inside
        middle = 0.5 * (self.lower + self.upper)[: self.domain.n_unit]
        gaps = np.linalg.norm(members - middle, axis=1)
        return members[[np.argmin(gaps)]]


def _inside(U, low, high):
    """Return a mask (...) of the inputs (..., k) within bounds, up to rounding."""
    return np.all((low - _SLACK <= U) & (high + _SLACK >= U), axis=-1)
