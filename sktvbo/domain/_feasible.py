"""Search for inputs that satisfy constraints, and moves among them.

Random inputs are drawn until enough of them satisfy the constraints. Where too few do, the linear
constraints are satisfied first: reals are moved by projections, and integers by integer programs
(`sktvbo.domain._lattice`). Among inputs that satisfy these, some are drawn that satisfy the
functions; the nearly feasible ones are moved, reals by sequential quadratic programming and
integers step by step. Known inputs, such as start points and observations, are added.

From all these, walks fill the set: hit-and-run, whose directions are by turns random and
differences of two walkers, so that a thin set is walked lengthwise. A step is drawn from a chord of
the box, which shrinks towards the walker until the input drawn is a member (as in slice sampling:
Neal 2003). This only needs the test of membership. Integers walk along the steps of a lattice.

A slow function is called for few inputs, and at most a number of times in a step of the run.
"""

import copy
import math
from dataclasses import replace
from functools import cached_property

import numpy as np
from scipy.optimize import minimize

from .._validation import check_random_state, invalid_domain
from ._lattice import Lattice, LinearProgram, has_steps, row_values, two_steps

# Inputs drawn to explore the set; those kept of them; those from which repairs start.
_N_DRAWN, _N_SEEDS, _N_REPAIRED = 4096, 64, 16

# If less than this part of the candidates are feasible, this many times more are drawn; if still
# too few are, walks make up the number.
_ENOUGH, _MORE = 0.125, 4

# Steps of a walk per dimension; those of one that starts at the end of another; shortenings of a
# chord in a step.
_N_STEPS, _N_MORE_STEPS, _N_SHRINKS = 8, 4, 16

# Rounds of projections, and their distance inside of a constraint, in units of its coefficients.
_N_ROUNDS, _INSIDE = 100, 1e-9

# An input that a round moves by no more than this has come to its end.
_SETTLED = 1e-12

# Finite differences of functions are taken over this distance in unit form.
_STEP = 1e-7

# Inputs around known ones that differ from these in two integers.
_N_AROUND = 2048

# Integer programs that are solved for first inputs.
_N_PROGRAMS = 8

# Starts and rounds of a descent among integers to inputs that satisfy functions.
_N_DESCENTS, _MAX_DESCENT = 16, 40

# Members that are enumerated at the beginning, and at a time; members that are enumerated if
# nothing else was found, or a quarter of these if little was.
_MAX_COUNTED, _MAX_ENUMERATED = 2**16, 2**20

# With slow functions: calls at the beginning of a run, and in each of its steps; members that are
# enumerated; candidates that are tried, and those that suffice; inputs to which walks lead.
_FIRST_CALLS, STEP_CALLS, _MAX_SLOW, _N_TRIED, _N_ENOUGH, _N_FEW = 40, 150, 32, 40, 8, 4


class FeasibleSet:
    """The part of a search space that satisfies constraints.

    Parameters
    ----------
    space : SearchSpace
        Without constraints, context and window.
    rules : Rules
    known : callable, () -> ndarray of shape (j, k), default=None
        Returns inputs that may be feasible, such as those of observations.

    Attributes
    ----------
    size : int or float
        Number of members that satisfy the constraints, if few enough to be counted.
    members : ndarray of shape (size, k), or None
        All of them, if they were counted.
    """

    def __init__(self, space, rules, known=None):
        self.space, self.rules, self._first = space, rules, self
        self.find_known = known
        self.size, self.members = space.size, None
        if math.isfinite(space.size):
            # Enumerates up to this many; a set of points returns all of its members.
            members = space.candidates(min(space.size, _MAX_COUNTED))
            if len(members) >= space.size and not (rules.is_slow and len(members) > _MAX_SLOW):
                self.members = members[self.allowed(members)]
                self.size = len(self.members)
                if not self.size:
                    raise self._nothing(f"none among {int(space.size)}")
        self._linear = _LinearConstraints(rules, space.domain, space.continuous)

    def knowing(self, known, n_calls):
        """Return the set in a step of a run: with known inputs, and calls of slow functions."""
        if self.members is not None and not self.rules.is_slow:
            return self  # all are known
        here = copy.copy(self)
        here.find_known, here.rules = known, self.rules.with_calls(n_calls)
        for name in "known", "_seeds", "_linear_part":
            here.__dict__.pop(name, None)
        return here

    @cached_property
    def known(self):
        """Inputs (j, k) that may be feasible."""
        if self.find_known is None:
            return np.empty((0, self.space.domain.n_unit))
        return self.find_known()

    @cached_property
    def _lattice(self):
        return Lattice(self.space, self.rules) if self._first is self else self._first._lattice

    @property
    def _needs_pairs(self):
        """True if two integers may have to change together, in a way that is not known."""
        lattice = self._lattice
        is_hidden = self.rules.has_functions and not lattice.has_equations
        return (is_hidden or lattice.is_irregular) and len(lattice.columns) > 1

    @property
    def _n_steps(self):
        return _N_STEPS * (int(self.space.continuous.sum()) + len(self._lattice.columns))

    @cached_property
    def _linear_part(self):
        """Set of all constraints except functions; None if there is one kind only."""
        rules = self.rules
        if not (rules.has_functions and rules.is_listed_or_linear):
            return None
        if self._first is self:
            return FeasibleSet(self.space, rules.without_functions())
        return self._first._linear_part.knowing(self.find_known, math.inf)

    def check(self):
        """Raise a DomainError if it is certain that no input is feasible."""
        part = self._linear_part if self.rules.has_functions else self
        if part is None or part.members is not None:
            return
        some, first = part.space.candidates(_N_SEEDS), part._first
        if not part.allowed(some).any() and not len(first._found) and first._program.has_none:
            raise self._nothing(self._outcome)

    def allowed(self, U):
        """Return a mask (m,) of the feasible ones among inputs (m, k)."""
        allowed = self.space.allowed(U)
        if allowed.any():
            allowed[allowed] = self.rules.obeyed(self.space.decode(U[allowed]))
        return allowed

    def _some(self, U, n):
        """Return the first feasible inputs of some (m, k): at least n, or all."""
        if not self.rules.is_slow:
            return U[self.allowed(U)]
        found = U[:0]
        for start in range(0, len(U), n):
            if len(found) < n:
                part = U[start : start + n]
                found = np.vstack([found, part[self.allowed(part)]])
        return found

    def candidates(self, n, rng=None):
        """Return feasible inputs (m, k) from which a search starts."""
        if self.members is not None:
            return self.members
        if self.rules.is_slow:
            return self._few_candidates(n, rng)
        for count in n, _MORE * n:
            drawn = self.space.candidates(count, rng)
            feasible = drawn[self.allowed(drawn)]
            if len(feasible) >= _ENOUGH * n:
                return feasible
            if not len(feasible):
                break  # more of them would be few
        rng = check_random_state(0 if rng is None else rng)
        if self._linear_part is not None:
            drawn = self._linear_part.candidates(n, rng)
            feasible = np.vstack([feasible, drawn[self.allowed(drawn)]])
            if len(feasible) >= _ENOUGH * n:
                return feasible
        moved = self.projected(drawn[: n if self.rules.is_listed_or_linear else 0])
        known = np.vstack([feasible, moved[self.allowed(moved)], self._seeds])
        count = math.ceil(_ENOUGH * n)
        return np.vstack([known, self._walk(known, count, _N_MORE_STEPS, rng)])

    def _few_candidates(self, n, rng):
        """Return the same, by few calls of the functions."""
        part = self.space if self._linear_part is None else self._linear_part
        rng = check_random_state(0 if rng is None else rng)
        drawn = rng.permutation(part.candidates(n, rng))[:_N_TRIED]
        feasible = self._some(drawn, _N_ENOUGH)
        known = np.vstack([feasible, self._seeds]) if len(feasible) < _N_ENOUGH else feasible
        if len(known) < _N_ENOUGH:
            known = np.vstack([known, self._walk(known, _N_FEW, _N_MORE_STEPS, rng)])
        return known

    def sample(self, n, rng=None):
        """Draw rows (n, d) uniformly, of a space without limits.

        If few random inputs are feasible, rows come from walks, and so only about uniformly.
        """
        rng, space = check_random_state(rng), self.space
        if self.members is not None:
            chosen = rng.choice(self.size, size=n, replace=n > self.size)
            return space.decode(self.members[chosen])
        members = np.empty((0, space.domain.n_dims))
        for n_drawn in (max(64, 4 * n), 1024, _N_DRAWN)[: 1 if self.rules.is_slow else 3]:
            if len(members) < n:
                rows = space.domain.sample(n_drawn, rng)
                members = np.vstack([members, self._some_rows(rows, n - len(members))])
        if len(members) < n and self._linear_part is not None:
            rows = self._linear_part.sample(n_drawn, rng)
            members = np.vstack([members, self._some_rows(rows, n - len(members))])
        if len(members) < n:
            walked = self._walk(self._seeds, n - len(members), self._n_steps, rng)
            members = np.vstack([members, space.decode(walked)])
        return members[:n]

    def _some_rows(self, rows, n):
        """Return the first feasible rows of some (m, d): at least n, or all."""
        if not self.rules.is_slow:
            return rows[self.rules.obeyed(rows)]
        found = rows[:0]
        for row in rows[:_N_TRIED, np.newaxis]:
            if len(found) < n and self.rules.obeyed(row)[0]:
                found = np.vstack([found, row])
        return found

    def margins(self, U):
        """Return numbers (m, e) that must be 0, and (m, k) that must not be negative."""
        X = self.space.decode(U)
        return self.rules.gaps(X), self.rules.margins(X)

    def projected(self, U):
        """Return inputs (m, k) moved to the nearest that satisfy the linear constraints.

        Inputs that satisfy them, and coordinates of integers and categories, stay.
        """
        U, linear, space = np.array(U), self._linear, self.space
        if not len(linear.slopes):
            return U
        low, high = space.lower[linear.columns], space.upper[linear.columns]
        wrong = np.flatnonzero(~linear.satisfied(space.decode(U)))
        for _ in range(_N_ROUNDS):
            if not len(wrong):
                break
            inputs = U[wrong]
            for i, slope in enumerate(linear.slopes):
                steps = linear.lack(i, space.decode(inputs))
                inputs[:, linear.columns] += steps[:, np.newaxis] * slope
                inputs[:, linear.columns] = np.clip(inputs[:, linear.columns], low, high)
            goes_on = (np.abs(inputs - U[wrong]) > _SETTLED).any(axis=1)
            U[wrong] = inputs
            wrong = wrong[goes_on & ~linear.satisfied(space.decode(inputs))]
        return U

    @cached_property
    def _seeds(self):
        """Feasible inputs (m, k) that are far from each other; an error if none is known."""
        known = self.known[self.allowed(self.known)]
        # In a part of the space that changes with each step, known inputs nearby are enough.
        is_enough = len(known) > 1 and (self.space.limited or self.rules.is_slow)
        found = known[:0] if is_enough else self._first._found
        if not len(found) and not len(known):
            raise self._nothing(self._first._outcome)
        if len(found) >= _N_SEEDS or not len(known):
            return np.vstack([found, known])
        if self._needs_pairs and not self.rules.is_slow:
            near = [self._lattice.around(u, _N_AROUND) for u in known[:2]]
            known = np.vstack([known, *(U[self.allowed(U)][:_N_SEEDS] for U in near)])
        return np.vstack([found, known, self._spread(known)])

    @cached_property
    def _found(self):
        """Feasible inputs (m, k) that a search without known ones finds."""
        here, rng = self, np.random.RandomState(0)
        if self.rules.is_slow and math.isinf(self.rules.calls_left):
            here = copy.copy(self)
            here.rules = self.rules.with_calls(_FIRST_CALLS)
        seeds = here._first_inputs(rng)
        if not len(seeds) and here is not self and not len(self.known):
            seeds = self._some(self.space.candidates(_N_DRAWN, 0), 1)  # calls, but no error
        return np.vstack([seeds, here._spread(seeds, rng)]) if len(seeds) else seeds

    def _spread(self, seeds, rng=None):
        """Return inputs (n, k) at the ends of walks from some seeds (m, k)."""
        rng = np.random.RandomState(0) if rng is None else rng
        n = _N_FEW if self.rules.is_slow else _N_SEEDS
        return self._walk(seeds, n, self._n_steps, rng)

    def _first_inputs(self, rng):
        """Return feasible inputs (m, k), at least two if found."""
        drawn = self.space.candidates(_N_DRAWN, rng)
        is_slow, moved = self.rules.is_slow, drawn[:1024]
        seeds = self._some(drawn[:_N_ENOUGH] if is_slow else drawn, 2)[:_N_SEEDS]
        if len(seeds) < (2 if is_slow else _N_SEEDS) and self.rules.is_listed_or_linear:
            if self._linear_part is not None:
                drawn = self._linear_part.candidates(_N_DRAWN // 4, rng)
            moved = self.projected(drawn[:1024])
            more = self._some(moved[:_N_ENOUGH] if is_slow else moved, 2)
            seeds = np.vstack([seeds, more[:_N_SEEDS]])
        if len(seeds) < 2 and not self.rules.has_functions:
            seeds = np.vstack([seeds, self._programmed(drawn)])
        for improve in self._repaired, self._descended:
            if len(seeds) < 2:
                seeds = np.vstack([seeds, improve(moved)])
        if len(seeds) >= _N_ENOUGH or self._linear_part is not None:
            return seeds
        more = self._enumerated(_MAX_ENUMERATED // (4 if len(seeds) else 1))
        return more if len(more) else seeds

    @property
    def _outcome(self):
        """End of the error message when no feasible input was found."""
        part = self if self._linear_part is None else self._linear_part
        if not part.rules.has_functions and part._first._program.has_none:
            return "linear ones that none satisfies"
        return "a search that found none"

    @cached_property
    def _program(self):
        return LinearProgram(self.space, self.rules)

    def _programmed(self, inputs):
        """Return feasible inputs (m, k) near some others, by integer programs."""
        rows = self.space.decode(inputs[:_N_PROGRAMS])
        found = []
        for row in rows:
            found.append(self._program.near(row))
            if self._program.has_none:
                break
        rows = np.reshape([row for row in found if row is not None], (-1, rows.shape[1]))
        moved = self.projected(self.space.domain.unit_of(rows))
        return moved[self.allowed(moved)]

    def _lacks(self, inputs, size=None):
        """Return the violation (m,) of numeric constraints by inputs (m, k), and their sizes (j,).

        It is the sum over constraints, each relative to its size: the median of its numbers.
        """
        margins = np.nan_to_num(self.margins(inputs)[1], nan=-np.inf)  # no call was left
        if size is None:
            tiny = np.finfo(float).tiny
            size = np.maximum(np.median(np.abs(margins), axis=0), tiny)
        return -np.minimum(margins / size, 0.0).sum(axis=1), size

    def _descended(self, inputs):
        """Return feasible inputs (m, k) at the ends of steps of integers that each violate less."""
        lattice, found = self._lattice, []
        if not (len(lattice.columns) and len(inputs) and self.margins(inputs[:1])[1].shape[1]):
            return inputs[:0]
        if self.rules.is_slow:
            inputs = inputs[:_N_FEW]
        lacks, size = self._lacks(inputs)
        for start in np.argsort(lacks, kind="stable")[:_N_DESCENTS]:
            u, lack = inputs[start], lacks[start]
            for _ in range(_MAX_DESCENT):
                near = np.vstack([lattice.neighbours(u), lattice.around(u, _N_DRAWN // 4)])
                if not (lack > 0.0 and len(near) and self.rules.calls_left > 0):
                    break
                values = self._lacks(near, size)[0]
                best = np.nanargmin(values) if np.isfinite(values).any() else 0
                if not values[best] < lack:
                    break
                u, lack = near[best], values[best]
            found.append(u)
        found = np.array(found)
        return found[self.allowed(found)]

    def _enumerated(self, most):
        """Return all feasible inputs (m, k); none if the space has more members than ``most``."""
        none, values = np.empty((0, self.space.domain.n_unit)), row_values(self.space)
        if values is None or self.rules.is_slow:
            return none
        sizes = [len(each) for each in values]
        if math.prod(sizes) > most:
            return none
        found = []
        for start in range(0, math.prod(sizes), _MAX_COUNTED):
            numbers = np.arange(start, min(start + _MAX_COUNTED, math.prod(sizes)))
            rows = np.column_stack(
                [each[i] for each, i in zip(values, np.unravel_index(numbers, sizes))]
            )
            found.append(rows[self.rules.obeyed(rows)])
        inputs = self.space.domain.unit_of(np.vstack(found))
        return inputs[self.space.allowed(inputs)]

    def _repaired(self, inputs):
        """Return feasible inputs (m, k) that quadratic programming finds near infeasible ones."""
        if self.rules.is_slow:
            inputs = inputs[:_N_FEW]
        if not (len(inputs) and self.margins(inputs[:1])[1].shape[1]):
            return inputs[:0]
        space, repaired = replace(self.space, feasible=self), []
        for start in inputs[np.argsort(self._lacks(inputs)[0], kind="stable")[:_N_REPAIRED]]:

            def closeness(U, start=start):
                return -np.sum((U - start) ** 2, axis=1)

            end = improved_by_sqp(space, closeness, start, 1.0)
            if end is not None:
                repaired.append(end)
        repaired = np.array(repaired).reshape(-1, inputs.shape[1])
        return repaired[self.allowed(repaired)]

    def _walk(self, seeds, n, n_steps, rng):
        """Return feasible inputs (n, k) at the ends of random walks from feasible seeds (m, k)."""
        if self.rules.is_slow:
            n_steps = int(min(n_steps, self.rules.calls_left // n))
        walkers = seeds[rng.randint(len(seeds), size=n)]
        has_reals, has_steps = self.space.continuous.any(), len(self._lattice.columns) > 0
        for step in range(n_steps):
            turn, is_second = divmod(step, 2) if has_reals and has_steps else (step, has_steps)
            if is_second:
                self._walk_steps(walkers, turn, rng)
            elif has_reals:
                self._walk_reals(walkers, turn, rng)
        return walkers

    def _walk_reals(self, walkers, turn, rng):
        """Move the reals of walkers (n, k)."""
        free, n = np.flatnonzero(self.space.continuous), len(walkers)
        low, high = self.space.lower[free], self.space.upper[free]
        ways = rng.standard_normal((n, walkers.shape[1]))
        if turn % 2 == 0:
            a, b = rng.randint(len(walkers), size=(2, n))
            ways = walkers[a] - walkers[b]
        ways = self._linear.level(ways)[:, free]
        inputs = walkers[:, free]
        with np.errstate(divide="ignore", invalid="ignore"):
            ends = np.array([(low - inputs) / ways, (high - inputs) / ways])
        ends[:, ways == 0.0] = [[-np.inf], [np.inf]]
        back, ahead = ends.min(axis=0).max(axis=1), ends.max(axis=0).min(axis=1)

        def moved(going, length):
            trial = walkers[going]
            trial[:, free] = np.clip(
                trial[:, free] + length[:, np.newaxis] * ways[going], low, high
            )
            return trial

        self._shrink(walkers, back, ahead, moved, lambda low, high: rng.uniform(low, high))

    def _walk_steps(self, walkers, turn, rng):
        """Move the integers of walkers (n, k) along steps of the lattice, or their differences.

        If functions exclude inputs, two integers change in turn, each by its own step.
        """
        lattice, n = self._lattice, len(walkers)
        K = lattice.positions(walkers)
        steps = lattice.steps if len(lattice.steps) else np.zeros((1, K.shape[1]))
        ways = steps[rng.randint(len(steps), size=n)].astype(float)
        back, ahead = lattice.chords(K, ways)
        if turn % 3 == 1:
            a, b = rng.randint(n, size=(2, n))
            ways = K[a] - K[b]
            common = np.gcd.reduce(ways.astype(np.int64), axis=1)
            ways /= np.maximum(common, 1)[:, np.newaxis]
            back, ahead = lattice.chords(K, ways)
        elif turn % 3 == 2 and self._needs_pairs:
            ways = two_steps(*ways.shape, rng)
            back, ahead = lattice.chords(K, ways)
            back, ahead = np.maximum(back, -1.0), np.minimum(ahead, 1.0)
        back[~ways.any(axis=1)] = np.inf

        def moved(going, length):
            positions = K[going] + length[:, np.newaxis] * ways[going]
            return self.projected(lattice.placed(walkers[going], positions))

        def draw(low, high):
            return np.minimum(np.floor(rng.uniform(low, high + 1.0)), high)

        self._shrink(walkers, back, ahead, moved, draw, 1.0)

    def _shrink(self, walkers, back, ahead, moved, draw, unit=0.0):
        """Move walkers (n, k) along chords that shrink until the input drawn is feasible.

        Parameters
        ----------
        walkers : ndarray of shape (n, k)
            Changed in place.
        back, ahead : ndarray of shape (n,)
            Ends of the chords.
        moved : callable, (going (m,), length (m,)) -> inputs (m, k)
        draw : callable, (low (m,), high (m,)) -> length (m,)
        unit : float
            Lengths are multiples of it; 0 for reals.
        """
        going = np.flatnonzero(np.isfinite(back) & np.isfinite(ahead) & (back <= ahead))
        for _ in range(_N_SHRINKS):
            if not len(going):
                break
            length = draw(back[going], ahead[going])
            trial = moved(going, length)
            allowed = self.allowed(trial)
            walkers[going[allowed]] = trial[allowed]
            going, length = going[~allowed], length[~allowed]
            back[going] = np.where(length < 0.0, length + unit, back[going])
            ahead[going] = np.where(length < 0.0, ahead[going], length - unit)
            going = going[back[going] <= ahead[going]]

    def neighbours(self, u):
        """Return feasible inputs (m, k) that differ from one (u,) by a step of the domain.

        Linear constraints that such a step violates are satisfied again by moving the reals. Where
        equations relate integers, or nothing else is feasible, two or more of them change.
        """
        inputs = self.space.domain.neighbours(u)
        inputs = self.projected(inputs[self.space.allowed(inputs)])
        inputs = inputs[self.allowed(inputs)]
        if self.space.domain.continuous.all() or not has_steps(self.space.domain):
            return inputs
        lattice = self._lattice
        if lattice.has_equations or (not len(inputs) and len(lattice.columns) > 1):
            more = self.projected(lattice.neighbours(u))
            inputs = np.vstack([inputs, more[self.allowed(more)]])
        if not len(inputs) and len(lattice.columns) > 1:
            more = lattice.around(u, _N_AROUND)
            inputs = more[self.allowed(more)]
        return inputs

    def _nothing(self, got):
        advice = "An equation is a LinearConstraint with lb = ub." * self.rules.has_functions
        if got.endswith("found none"):
            advice = (
                "If there is one, give it in start_points, or tell it: others are searched near "
                f"it. {advice}"
            ).strip()
        return invalid_domain(
            "constraints",
            f"satisfied by some point of the domain{' within reach' * self.space.limited}",
            owner=self.rules.owner,
            got=got,
            advice=advice,
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
        """Return signed distances (m,) of rows X (m, d) from satisfying constraint i, unit form."""
        values = self._numbers(X) @ self._A[i]
        return (np.clip(values, self._low[i], self._high[i]) - values) / self._lengths[i]

    def satisfied(self, X):
        """Return a mask (m,) of the rows X (m, d) that satisfy all of them."""
        values, slack = self._numbers(X) @ self._A.T, np.zeros(len(self._A))
        slack[: self.n_equations] = self._rounding
        return np.all((self._low - slack <= values) & (self._high + slack >= values), axis=1)


def improved_by_sqp(space, values, start, unit):
    """Return the end of sequential quadratic programming from an input, or None.

    Parameters
    ----------
    space : SearchSpace
    values : callable, (m, u) -> (m,)
        The function to be maximized.
    start : ndarray of shape (u,)
    unit : float
        Unit of the tolerances.

    Returns
    -------
    ndarray of shape (u,) or None
        It may violate constraints. None if no constraint is a number, or the search diverged.
    """
    free = np.flatnonzero(space.continuous)
    if space.feasible is None or not len(free):
        return None
    low, high, k = space.lower[free], space.upper[free], space.domain.n_unit

    def completed(Z):
        U = np.tile(start, (len(Z), 1))
        U[:, free] = np.clip(Z, low, high)
        return U

    def with_jacobian(function, scale=1.0):
        """Return a function of rows (m, f) as one of (f,), and its Jacobian by differences."""

        def fun(z):
            return function(z[np.newaxis])[0] / scale

        def jac(z):
            steps = np.where(z > 0.5 * (low + high), -_STEP, _STEP)
            values = function(np.vstack([z, z + np.diag(steps)])) / scale
            return ((values[1:] - values[0]) / steps[:, np.newaxis]).T

        return fun, jac

    # An iteration needs values at about this many inputs.
    n_rounds = int(min(50, space.feasible.rules.calls_left // (len(free) + 2)))
    constraints = []
    with np.errstate(invalid="ignore"):  # differences of infinities, where nothing is known
        for i, kind in enumerate(["eq", "ineq"]):

            def function(Z, i=i):
                return space.feasible.margins(completed(Z)[:, :k])[i]

            fun, jac = with_jacobian(function)
            slopes = np.linalg.norm(jac(start[free]), axis=1)
            scale = np.where(np.isfinite(slopes) & (slopes > 0.0), slopes, 1.0)
            if len(scale):
                fun, jac = with_jacobian(function, scale)
                constraints.append({"type": kind, "fun": fun, "jac": jac})
        if not constraints:
            return None
        fun, jac = with_jacobian(lambda Z: -values(completed(Z))[:, np.newaxis] / unit)
        result = minimize(
            lambda z: fun(z)[0],
            start[free],
            jac=lambda z: jac(z)[0],
            method="SLSQP",
            bounds=list(zip(low, high)),
            constraints=constraints,
            options={"maxiter": n_rounds, "ftol": 1e-10},
        )
    if not np.isfinite(result.x).all():
        return None
    return space.projected(completed(result.x[np.newaxis]))[0]
