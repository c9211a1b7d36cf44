"""Places that satisfy constraints: how they are found, and how a search moves among them.

Random places are drawn until enough of them satisfy the constraints. Where too few do, some are
moved to a place that does: by projections, for linear constraints; by sequential quadratic
programming, for functions. From these, walks fill the set: hit-and-run, whose directions are by
turns random and differences of two walkers, so that a thin set is walked lengthwise. A step is
drawn from a chord of the box, which shrinks towards the walker until the place drawn is a member
(as in slice sampling: Neal 2003); so nothing else has to be known of the set.
"""

import math
from dataclasses import replace
from functools import cached_property

import numpy as np
from scipy.optimize import minimize

from .._validation import check_random_state, invalid_domain

# Places drawn to explore the set; those kept of them; those from which repairs start.
_N_DRAWN, _N_SEEDS, _N_REPAIRED = 4096, 64, 16

# If less than this part of the candidates are feasible, this many times more are drawn; if still
# too few are, walks make up the number.
_ENOUGH, _MORE = 0.125, 4

# Steps of a walk per dimension; those of one that starts at the end of another; shortenings of a
# chord in a step.
_N_STEPS, _N_MORE_STEPS, _N_SHRINKS = 8, 4, 16

# Rounds of projections, and their distance inside of a constraint, in units of its coefficients.
_N_ROUNDS, _INSIDE = 100, 1e-9

# Finite differences of functions are taken over this distance in unit form.
_STEP = 1e-7


class FeasibleSet:
    """The part of a search space that satisfies constraints.

    Parameters
    ----------
    space : SearchSpace
        Without constraints, context and window.
    rules : Rules

    Attributes
    ----------
    size : int or float
        Number of members that satisfy the constraints, if few enough to be counted.
    members : ndarray of shape (size, k), or None
        All of them, if they were counted.
    """

    def __init__(self, space, rules):
        self.space, self.rules = space, rules
        self.size, self.members = space.size, None
        if math.isfinite(space.size):
            members = space.candidates(min(space.size, 2**16))  # at most, to enumerate them
            if len(members) >= space.size:
                self.members = members[self.allowed(members)]
                self.size = len(self.members)
                if not self.size:
                    raise self._nothing(int(space.size))
        self._n_steps = _N_STEPS * int(space.continuous.sum())
        self._linear = _LinearConstraints(rules, space.domain, space.continuous)

    def allowed(self, U):
        """Return which places (m, k) are feasible (m,)."""
        allowed = self.space.allowed(U)
        if allowed.any():
            allowed[allowed] = self.rules.obeyed(self.space.decode(U[allowed]))
        return allowed

    def candidates(self, n, rng=None):
        """Return feasible places (m, k) from which a search starts."""
        for count in n, _MORE * n:
            drawn = self.space.candidates(count, rng)
            feasible = drawn[self.allowed(drawn)]
            if len(feasible) >= _ENOUGH * n:
                return feasible
        moved = self.projected(drawn[:n])
        known = np.vstack([feasible, moved[self.allowed(moved)], self._seeds])
        count = math.ceil(_ENOUGH * n)
        walked = self._walk(known, count, _N_MORE_STEPS, check_random_state(rng or 0))
        return np.vstack([known, walked])

    def sample(self, n, rng=None):
        """Draw rows (n, d) uniformly, of a space without limits.

        If few of random places are feasible, by walks, and so only about uniformly.
        """
        rng, space = check_random_state(rng), self.space
        if self.members is not None:
            chosen = rng.choice(self.size, size=n, replace=n > self.size)
            return space.decode(self.members[chosen])
        members = np.empty((0, space.domain.n_dims))
        for n_drawn in (max(64, 4 * n), 1024, _N_DRAWN):
            if len(members) < n:
                rows = space.domain.sample(n_drawn, rng)
                members = np.vstack([members, rows[self.rules.obeyed(rows)]])
        if len(members) < n:
            walked = self._walk(self._seeds, n - len(members), self._n_steps, rng)
            members = np.vstack([members, space.decode(walked)])
        return members[:n]

    def margins(self, U):
        """Return numbers (m, e) that must be 0, and (m, k) that must not be negative."""
        X = self.space.decode(U)
        return self.rules.gaps(X), self.rules.margins(X)

    def projected(self, U):
        """Return places (m, k) moved to the nearest that satisfy the linear constraints.

        Places that satisfy them, and coordinates of integers and categories, stay.
        """
        U, linear, space = np.array(U), self._linear, self.space
        if not len(linear.slopes):
            return U
        low, high = space.lower[linear.columns], space.upper[linear.columns]
        wrong = np.flatnonzero(~linear.satisfied(space.decode(U)))
        for _ in range(_N_ROUNDS):
            if not len(wrong):
                break
            places = U[wrong]
            for i, slope in enumerate(linear.slopes):
                steps = linear.lack(i, space.decode(places))
                places[:, linear.columns] += steps[:, np.newaxis] * slope
                places[:, linear.columns] = np.clip(places[:, linear.columns], low, high)
            U[wrong] = places
            wrong = wrong[~linear.satisfied(space.decode(places))]
        return U

    @cached_property
    def _seeds(self):
        """Feasible places (m, k) that are far from each other; an error if none is found."""
        rng = np.random.RandomState(0)
        drawn = self.space.candidates(_N_DRAWN, rng)
        seeds = drawn[self.allowed(drawn)][:_N_SEEDS]
        if len(seeds) < _N_SEEDS:
            moved = self.projected(drawn[:1024])
            seeds = np.vstack([seeds, moved[self.allowed(moved)][:_N_SEEDS]])
        if len(seeds) < 2:
            seeds = np.vstack([seeds, self._repaired(moved)])
        if not len(seeds):
            raise self._nothing(len(drawn))
        return np.vstack([seeds, self._walk(seeds, _N_SEEDS, self._n_steps, rng)])

    def _repaired(self, places):
        """Feasible places (m, k) to which quadratic programming leads from the nearly feasible."""
        margins = self.margins(places)[1]
        if not margins.shape[1]:
            return places[:0]
        size = np.maximum(np.nanmedian(np.abs(margins), axis=0), np.finfo(float).tiny)
        lack = np.minimum(margins / size, 0.0).sum(axis=1)
        space, repaired = replace(self.space, feasible=self), []
        for start in places[np.argsort(-lack, kind="stable")[:_N_REPAIRED]]:

            def closeness(U, start=start):
                return -np.sum((U - start) ** 2, axis=1)

            end = improved_by_sqp(space, closeness, start, 1.0)
            if end is not None:
                repaired.append(end)
        repaired = np.array(repaired).reshape(-1, places.shape[1])
        return repaired[self.allowed(repaired)]

    def _walk(self, seeds, n, n_steps, rng):
        """Feasible places (n, k), at the ends of random walks from feasible seeds (m, k)."""
        walkers = seeds[rng.randint(len(seeds), size=n)]
        free = np.flatnonzero(self.space.continuous)
        if not len(free):
            return walkers
        low, high = self.space.lower[free], self.space.upper[free]
        for step in range(n_steps):
            ways = rng.standard_normal((n, walkers.shape[1]))
            if step % 2 == 0:
                a, b = rng.randint(len(walkers), size=(2, n))
                ways = walkers[a] - walkers[b]
            ways = self._linear.level(ways)[:, free]
            places = walkers[:, free]
            with np.errstate(divide="ignore", invalid="ignore"):
                ends = np.array([(low - places) / ways, (high - places) / ways])
            ends[:, ways == 0.0] = [[-np.inf], [np.inf]]
            back, ahead = ends.min(axis=0).max(axis=1), ends.max(axis=0).min(axis=1)
            going = np.flatnonzero(np.isfinite(back) & np.isfinite(ahead))
            for _ in range(_N_SHRINKS):
                if not len(going):
                    break
                length = rng.uniform(back[going], ahead[going])
                trial = walkers[going]
                trial[:, free] = np.clip(
                    trial[:, free] + length[:, np.newaxis] * ways[going], low, high
                )
                allowed = self.allowed(trial)
                walkers[going[allowed]] = trial[allowed]
                going, length = going[~allowed], length[~allowed]
                back[going] = np.where(length < 0.0, length, back[going])
                ahead[going] = np.where(length < 0.0, ahead[going], length)
        return walkers

    def _nothing(self, n):
        return invalid_domain(
            "constraints",
            f"satisfied by some point of the domain{' within reach' * self.space.limited}",
            owner=self.rules.owner,
            got=f"none among {n}",
            advice="An equation is a LinearConstraint with lb = ub." * self.rules.has_functions,
        )


class _LinearConstraints:
    """The linear constraints in the continuous coordinates in which the unit form is linear.

    Attributes
    ----------
    columns : ndarray of shape (c,)
        These coordinates of the unit form.
    slopes : ndarray of shape (k, c)
        Unit normals of the constraints; equations first.
    n_equations : int
    """

    def __init__(self, rules, domain, free):
        straight = (domain.kinds == "straight") & free[domain.unit_columns]
        of_rows, self.columns = np.flatnonzero(straight), domain.unit_columns[straight]
        widths = (domain.upper - domain.lower)[straight]
        self._numbers = rules.numbers
        (E, b), (A, low, high) = rules.equal, rules.linear
        A, low, high = np.vstack([E, A]), np.append(b, low), np.append(b, high)
        lengths = np.linalg.norm(A[:, of_rows] * widths, axis=1)
        with np.errstate(invalid="ignore"):  # both bounds may be infinite
            inside = np.fmin(_INSIDE * lengths, 0.25 * (high - low))
        used = lengths > 0.0
        self._A, self._lengths = A[used], lengths[used]
        self._low, self._high = (low + inside)[used], (high - inside)[used]
        self.slopes = self._A[:, of_rows] * widths / self._lengths[:, np.newaxis]
        self.n_equations = int(used[: len(E)].sum())
        self._rounding = rules.rounding[used[: len(E)]]

    def level(self, ways):
        """Remove from directions (m, k) the part along which the equations change."""
        if self.n_equations:
            across = np.linalg.svd(self.slopes[: self.n_equations], full_matrices=False)
            basis = across.Vh[across.S > 1e-9]
            ways[:, self.columns] -= ways[:, self.columns] @ basis.T @ basis
        return ways

    def lack(self, i, X):
        """Signed distances (m,), in unit form, of rows X (m, d) from satisfying constraint i."""
        values = self._numbers(X) @ self._A[i]
        return (np.clip(values, self._low[i], self._high[i]) - values) / self._lengths[i]

    def satisfied(self, X):
        """Return which of the rows X (m, d) satisfy all of them (m,)."""
        values, slack = self._numbers(X) @ self._A.T, np.zeros(len(self._A))
        slack[: self.n_equations] = self._rounding
        return np.all((self._low - slack <= values) & (self._high + slack >= values), axis=1)


def improved_by_sqp(space, values, start, unit):
    """Return the end of sequential quadratic programming from a place, or None.

    Parameters
    ----------
    space : SearchSpace
    values : callable, (m, u) -> (m,)
        The function to be maximized.
    start : ndarray of shape (u,)
    unit : float
        Tolerances are in this.

    Returns
    -------
    ndarray of shape (u,) or None
        It may violate constraints. None if no constraint is a number, or the search diverged.
    """
    free = np.flatnonzero(space.continuous)
    if space.feasible is None or not len(free):
        return None
    low, high, k = space.lower[free], space.upper[free], space.domain.n_unit

    def place(Z):
        U = np.tile(start, (len(Z), 1))
        U[:, free] = np.clip(Z, low, high)
        return U

    def with_jacobian(function, scale=1.0):
        """A function of rows (m, f) as one of (f,), and its Jacobian by differences."""

        def fun(z):
            return function(z[np.newaxis])[0] / scale

        def jac(z):
            steps = np.where(z > 0.5 * (low + high), -_STEP, _STEP)
            values = function(np.vstack([z, z + np.diag(steps)])) / scale
            return ((values[1:] - values[0]) / steps[:, np.newaxis]).T

        return fun, jac

    constraints = []
    with np.errstate(invalid="ignore"):  # differences of infinities, where nothing is known
        for i, kind in enumerate(["eq", "ineq"]):

            def function(Z, i=i):
                return space.feasible.margins(place(Z)[:, :k])[i]

            fun, jac = with_jacobian(function)
            slopes = np.linalg.norm(jac(start[free]), axis=1)
            scale = np.where(np.isfinite(slopes) & (slopes > 0.0), slopes, 1.0)
            if len(scale):
                fun, jac = with_jacobian(function, scale)
                constraints.append({"type": kind, "fun": fun, "jac": jac})
        if not constraints:
            return None
        fun, jac = with_jacobian(lambda Z: -values(place(Z))[:, np.newaxis] / unit)
        result = minimize(
            lambda z: fun(z)[0],
            start[free],
            jac=lambda z: jac(z)[0],
            method="SLSQP",
            bounds=list(zip(low, high)),
            constraints=constraints,
            options={"maxiter": 50, "ftol": 1e-10},
        )
    if not np.isfinite(result.x).all():
        return None
    return space.projected(place(result.x[np.newaxis]))[0]
