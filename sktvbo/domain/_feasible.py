"""The members of a domain, or of a part of it, that satisfy constraints, as a search sees them.

Random places are drawn until enough of them satisfy the constraints. Where too few do, some are
brought to a place that does: by projections, for linear constraints; by sequential quadratic
programming, for functions. From these, walks fill the set: hit-and-run, along differences of other
walkers by turns, so that a thin set is walked lengthwise, and a set of fewer dimensions within
them. A step is drawn from a chord of the box, which shrinks towards the walker until the place that
is drawn is a member (as in slice sampling: Neal 2003), so that nothing need be known of the set.
"""

import math
from functools import cached_property

import numpy as np
from sklearn.utils import check_random_state

from .._validation import invalid
from ..exceptions import DomainError
from ._climbs import box, programmed

# Of finitely many members at most this many are listed.
_MAX_LISTED = 2**16

# What is drawn to know the set: so many places, of which so many are kept, or brought into it.
_N_DRAWN, _N_SEEDS, _N_REPAIRED = 4096, 64, 16

# Below this part of what is asked for, so many times as many candidates are drawn; and below it
# again they are filled up by walks.
_ENOUGH, _MORE = 0.125, 4

# Steps of a walk in each dimension; those of one from places that have walked already; and how
# often the chord is shortened in a step.
_N_STEPS, _N_MORE_STEPS, _N_SHRINKS = 8, 4, 16

# Rounds of projections, and how far inside of a constraint they lead, in units of its coefficients.
_N_ROUNDS, _INSIDE = 100, 1e-9


class Feasible:
    """What of a domain, or of a view, satisfies constraints.

    Parameters
    ----------
    view : domain or Within
    rules : Rules
    domain : domain
        Of which the view is a part: it has the maps between rows and unit form.
    owner : object
        Whose constraints they are, for messages.
    """

    def __init__(self, view, rules, domain, owner):
        self._view = view
        self._rules = rules
        self._domain = domain
        self._owner = owner
        self.continuous = view.continuous
        self.reach = view.reach
        self.by_answer = rules.by_answer
        self.size, self._members = view.size, None
        if math.isfinite(view.size):
            members = view.candidates(min(view.size, _MAX_LISTED))
            if len(members) >= view.size:
                members = members[self.allowed(members)]
                if not len(members):
                    raise self._nothing(int(view.size))
                self.size, self._members = len(members), members
        self._n_steps = _N_STEPS * int(view.continuous.sum())
        self._flat = _Flat(rules, domain, view.continuous)

    # --- what a maximizer asks --------------------------------------------------------------------

    def from_unit(self, U):
        """Rows (n, d) or (d,) of the unit form."""
        return self._view.from_unit(U)

    def allowed(self, U):
        """Which places (m, u) may be queried (m,)."""
        found = self._view.allowed(U)
        if found.any():
            found[found] = self._rules.obeyed(self.from_unit(U[found]))
        return found

    def candidates(self, n, rng=None):
        """Places to begin with (m, u), all of them allowed."""
        if self._members is not None:
            return self._members
        for count in n, _MORE * n:
            drawn = self._view.candidates(count, rng)
            found = drawn[self.allowed(drawn)]
            if len(found) >= _ENOUGH * n:
                return found
        brought = self.mended(drawn[:n])
        known = np.vstack([found, brought[self.allowed(brought)], self._seeds])
        count = math.ceil(_ENOUGH * n)
        walked = self._walk(known, count, _N_MORE_STEPS, check_random_state(rng or 0))
        return np.vstack([known, walked])

    def present(self, U):
        """Places as they are: what is constrained is chosen, and has no context."""
        return U

    def neighbours(self, u):
        """The domain's neighbours (k, u) of a place (u,), moved to where they are allowed."""
        found = self.mended(self._view.neighbours(u))
        return found[self.allowed(found)]

    def sample(self, n, rng=None):
        """Rows (n, d), drawn uniformly; by walks, and so only about uniformly, where few are."""
        rng = check_random_state(rng)
        if self._members is not None:
            chosen = rng.choice(len(self._members), size=n, replace=n > len(self._members))
            return self.from_unit(self._members[chosen])
        found = np.empty((0, self._domain.n_dims))
        for n_drawn in (max(64, 4 * n), 1024, _N_DRAWN):
            if len(found) < n:
                rows = self._view.sample(n_drawn, rng)
                found = np.vstack([found, rows[self._rules.obeyed(rows)]])
        if len(found) < n:
            walked = self._walk(self._seeds, n - len(found), self._n_steps, rng)
            found = np.vstack([found, self.from_unit(walked)])
        return found[:n]

    def margins(self, U):
        """What must be 0 (m, e), and what must not be negative (m, k), at places (m, u)."""
        X = self.from_unit(U)
        return self._rules.gaps(X), self._rules.margins(X)

    def mended(self, U):
        """Places (m, u), moved towards the nearest that satisfy the linear constraints.

        Those that are allowed already, and coordinates that are no reals, stay where they are.
        """
        U, flat = np.array(U), self._flat
        if not len(flat.slopes):
            return U
        low, high = box(self, flat.columns)
        wrong = np.flatnonzero(~flat.satisfied(self.from_unit(U)))
        for _ in range(_N_ROUNDS):
            if not len(wrong):
                break
            places = U[wrong]
            for i, slope in enumerate(flat.slopes):
                steps = flat.lack(i, self.from_unit(places))
                places[:, flat.columns] += steps[:, np.newaxis] * slope
                places[:, flat.columns] = np.clip(places[:, flat.columns], low, high)
            U[wrong] = places
            wrong = wrong[~flat.satisfied(self.from_unit(places))]
        return U

    # --- what is known of the set -----------------------------------------------------------------

    @cached_property
    def _seeds(self):
        """Some places that are allowed (k, u), far from each other; an error if none is found."""
        rng = np.random.RandomState(0)
        drawn = self._view.candidates(_N_DRAWN, rng)
        found = drawn[self.allowed(drawn)][:_N_SEEDS]
        if len(found) < _N_SEEDS:
            brought = self.mended(drawn[:1024])
            found = np.vstack([found, brought[self.allowed(brought)][:_N_SEEDS]])
        if len(found) < 2:
            found = np.vstack([found, self._repaired(brought)])
        if not len(found):
            raise self._nothing(len(drawn))
        return np.vstack([found, self._walk(found, _N_SEEDS, self._n_steps, rng)])

    def _repaired(self, places):
        """Allowed places (k, u) that quadratic programming reaches from the least wrong of some."""
        margins = self.margins(places)[1]
        if not margins.shape[1]:
            return places[:0]
        size = np.maximum(np.nanmedian(np.abs(margins), axis=0), np.finfo(float).tiny)
        lack = np.minimum(margins / size, 0.0).sum(axis=1)
        found = []
        for start in places[np.argsort(-lack, kind="stable")[:_N_REPAIRED]]:

            def near(U, start=start):
                return -np.sum((U - start) ** 2, axis=1)

            end = programmed(self, near, start, 1.0, lambda: False)
            if end is not None:
                found.append(end)
        found = np.array(found).reshape(-1, places.shape[1])
        return found[self.allowed(found)]

    def _walk(self, seeds, n, n_steps, rng):
        """Allowed places (n, u), so many steps of random walks away from allowed seeds (k, u)."""
        walkers = seeds[rng.randint(len(seeds), size=n)]
        free = np.flatnonzero(self.continuous)
        if not len(free):
            return walkers
        low, high = box(self, free)
        for step in range(n_steps):
            ways = self._flat.level(rng.standard_normal((n, walkers.shape[1])))[:, free]
            if step % 2 == 0:
                a, b = rng.randint(len(walkers), size=(2, n))
                ways = walkers[a][:, free] - walkers[b][:, free]
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
        return invalid(
            "constraints",
            "satisfied by some point of the domain",
            owner=self._owner,
            got=f"none among {n}",
            error=DomainError,
        )


class _Flat:
    """The linear constraints in the coordinates that move, and are straight.

    Attributes
    ----------
    columns : ndarray of shape (c,)
        These coordinates.
    slopes : ndarray of shape (k, c)
        What the constraints are linear in, of length 1; equations first.
    n_equations : int
    """

    def __init__(self, rules, domain, free):
        straight = (domain.kinds == "straight") & free[domain.unit_columns]
        of_rows, self.columns = np.flatnonzero(straight), domain.unit_columns[straight]
        widths = (domain.upper - domain.lower)[straight]
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
        self._rounding = 4.0 * np.finfo(float).eps * np.maximum(np.abs(b[used[: len(E)]]), 1.0)

    def level(self, ways):
        """Directions (m, u) without the part along which the equations change."""
        if self.n_equations:
            across = np.linalg.svd(self.slopes[: self.n_equations], full_matrices=False)
            basis = across.Vh[across.S > 1e-9]
            ways[:, self.columns] -= ways[:, self.columns] @ basis.T @ basis
        return ways

    def lack(self, i, X):
        """How far rows X (m, d) are, in unit form, from what the i-th constraint wants (m,)."""
        values = X @ self._A[i]
        return (np.clip(values, self._low[i], self._high[i]) - values) / self._lengths[i]

    def satisfied(self, X):
        """Which of the rows X (m, d) satisfy all of them (m,)."""
        values, slack = X @ self._A.T, np.zeros(len(self._A))
        slack[: self.n_equations] = self._rounding
        return np.all((self._low - slack <= values) & (self._high + slack >= values), axis=1)
