"""Integers under linear equations: steps that keep the equations, and first points.

Integers and listed numbers have positions k = 0, 1, ... among their values. Where the values have
equal distances, an equation between numbers is one between positions. Reals in an equation move to
satisfy it. The other equations, M k = c, are between positions alone. The steps v with M v = 0 are
a lattice. Its basis follows from M by Euclid's algorithm, exactly, and is made short by reducing
pairs of vectors.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp

# Number of steps that are stored, the shortest; largest denominator of a relative coefficient.
_MAX_STEPS, _LARGEST_DENOMINATOR = 128, 10**6

# Seconds after which an integer program is given up, and the status of one without a solution.
_MAX_SECONDS, _INFEASIBLE = 1.0, 2

# Distances between listed numbers that differ by less than this part of the range are equal.
_EQUAL = 1e-9


class Column:
    """A coordinate of a row with steps, in a search space.

    Attributes
    ----------
    index : int
        Index of the coordinate in a row.
    low, high : int
        First and last position in the space.
    origin, pitch : float
        Numbers are origin + pitch k; NaN if they have unequal distances.
    numbers : ndarray or None
        Numbers of a list, in the order of positions.
    """

    def __init__(self, index, term, lower, upper, available=None):
        self.index, self._term = index, term
        self._rows, self.numbers = term.listed or (None, None)
        if available is not None:
            if self._rows is None:
                self._rows = self.numbers = np.unique(available)
            else:
                left = np.isin(self._rows, available)
                self._rows = self._rows[left]
                self.numbers = None if self.numbers is None else self.numbers[left]
        if self._rows is None:
            self.origin, self.pitch = term.low, 1.0
            ends = self.positions(term.from_unit(np.array([[lower], [upper]]))[:, 0])
            units = term.to_unit(self.rows(ends)[:, np.newaxis])[:, 0]
            self.low = int(ends[0]) + int(units[0] < lower - _EQUAL)
            self.high = int(ends[1]) - int(units[1] > upper + _EQUAL)
        else:
            self.origin, self.pitch = _line(self.numbers)
            units = term.to_unit(self._rows[:, np.newaxis])[:, 0]
            self.low = int(np.searchsorted(units, lower - _EQUAL))
            self.high = int(np.searchsorted(units, upper + _EQUAL)) - 1

    def positions(self, v):
        """Return the positions (n,) of entries v (n,) of rows."""
        if self._rows is None:
            return v - self._term.low
        return np.searchsorted(self._rows, v).astype(float)

    def rows(self, k):
        """Return the entries (n,) of rows at positions k (n,)."""
        if self._rows is None:
            return self._term.low + k
        return self._rows[np.asarray(k, dtype=int)]


def _line(numbers):
    """Return origin and pitch of numbers (n,) with equal distances; NaN for others and for None."""
    if numbers is None or not len(numbers):
        return math.nan, math.nan
    if len(numbers) == 1:
        return numbers[0], 1.0
    gaps = np.diff(numbers)
    if np.ptp(gaps) > _EQUAL * np.ptp(numbers):
        return math.nan, math.nan
    return numbers[0], (numbers[-1] - numbers[0]) / len(gaps)


class Lattice:
    """Positions in a search space that may change, and steps that keep equations.

    Parameters
    ----------
    space : SearchSpace
    rules : Rules

    Attributes
    ----------
    columns : list of Column
        The coordinates that may change.
    low, high : ndarray of shape (c,)
        Their first and last positions.
    steps : ndarray of int of shape (s, c)
        Changes of their positions, one of each pair of opposite ones, the shortest first.
    has_equations : bool
        True if some of these are in equations: to change one alone breaks them, unless a real
        makes up for it.
    is_irregular : bool
        True if some of those have numbers at unequal distances, which the steps do not change.
    """

    def __init__(self, space, rules):
        self._space = space
        self.columns = [c for c in columns_of(space, rules) if c.low < c.high]
        self.low = np.array([column.low for column in self.columns], dtype=float)
        self.high = np.array([column.high for column in self.columns], dtype=float)
        A, domain = rules.equal[0], space.domain
        of_steps = A[:, [column.index for column in self.columns]]
        self.has_equations = bool(of_steps.any())
        # Numbers at unequal distances stay: a row with a single 1 holds their positions.
        pitch = np.array([column.pitch for column in self.columns])
        stay = of_steps.any(axis=0) & np.isnan(pitch)
        self.is_irregular, of_steps = bool(stay.any()), of_steps * np.nan_to_num(pitch)
        reals = (domain.kinds == "straight") & space.continuous[domain.unit_columns]
        matrix = _without_reals(A[:, reals].tolist(), of_steps.tolist())
        self.steps = self._short_steps([*matrix, *np.eye(len(stay), dtype=int)[stay].tolist()])

    def _short_steps(self, matrix):
        """Return ``steps`` for the equations M k = c of a matrix (list of rows)."""
        n = len(self.columns)
        if not n:
            return np.empty((0, 0), dtype=np.int64)
        basis = _reduced(_kernel(matrix, n))
        pairs = list(combinations(basis, 2))
        steps = [*basis, *(a + b for a, b in pairs), *(a - b for a, b in pairs)]
        steps = [v for v in steps if any(v) and (np.abs(v) <= self.high - self.low).all()]
        distinct = dict.fromkeys(tuple(v if v[np.flatnonzero(v)[0]] > 0 else -v) for v in steps)
        short = sorted(distinct, key=lambda v: sum(a * a for a in v))[:_MAX_STEPS]
        return np.array(short, dtype=np.int64).reshape(-1, n)

    def positions(self, U):
        """Return the positions (m, c) of inputs (m, u)."""
        X = self._space.decode(U)
        return np.column_stack([column.positions(X[:, column.index]) for column in self.columns])

    def placed(self, U, K):
        """Return inputs U (m, u) with their positions replaced by K (m, c)."""
        domain, X = self._space.domain, self._space.decode(U)
        for column, k in zip(self.columns, K.T):
            X[:, column.index] = column.rows(k)
        return np.where(domain.continuous, U, domain.unit_of(X))

    def chords(self, K, steps):
        """Return the least and largest multiple (m,) of steps (m, c) from K (m, c) in bounds."""
        with np.errstate(divide="ignore", invalid="ignore"):
            ends = np.array([(self.low - K) / steps, (self.high - K) / steps])
        ends[:, steps == 0] = [[-np.inf], [np.inf]]
        back, ahead = ends.min(axis=0).max(axis=1), ends.max(axis=0).min(axis=1)
        return np.ceil(back - _EQUAL), np.floor(ahead + _EQUAL)

    def neighbours(self, u):
        """Return the inputs (m, u) that are 1, 2, 4, ... steps from one (u,), in both directions.

        Reals do not change.
        """
        K = self.positions(u[np.newaxis])
        steps = np.vstack([self.steps, -self.steps])
        most = self.chords(np.repeat(K, len(steps), axis=0), steps.astype(float))[1]
        reached, multiple = [], 1
        while (most >= multiple).any():
            reached.append(K + multiple * steps[most >= multiple])
            multiple *= 2
        if not reached:
            return np.empty((0, len(u)))
        K = np.vstack(reached)
        return self.placed(np.tile(u, (len(K), 1)), K)

    def around(self, u, n):
        """Return about n inputs (m, u) that differ from one (u,) a little in two positions."""
        here, pairs = self.positions(u[np.newaxis]), list(combinations(range(len(self.columns)), 2))
        if not pairs:
            return np.empty((0, len(u)))
        radius = max(int(0.5 * math.sqrt(n / len(pairs))), 1)
        sizes = np.delete(np.arange(-radius, radius + 1), radius)
        steps = np.reshape(np.meshgrid(sizes, sizes), (2, -1)).T
        K = np.repeat(here, len(pairs) * len(steps), axis=0)
        for i, pair in enumerate(pairs):
            K[i * len(steps) : (i + 1) * len(steps), pair] += steps
        K = K[((self.low <= K) & (self.high >= K)).all(axis=1)][:n]
        return self.placed(np.tile(u, (len(K), 1)), K)


def two_steps(n, c, rng):
    """Return random changes (n, c) of c integers, two at a time, small changes most often."""
    ways = np.zeros((n, c))
    sizes = np.floor(2.0 ** rng.uniform(0.0, 8.0, size=(n, 2))) * rng.choice([-1.0, 1.0], (n, 2))
    columns = np.argsort(rng.uniform(size=(n, c)), axis=1)[:, :2]
    np.put_along_axis(ways, columns, sizes[:, : columns.shape[1]], axis=1)
    return ways


def columns_of(space, rules=None):
    """Return the coordinates with steps (list of `Column`) of a search space."""
    domain, columns = space.domain, []
    for i, term in enumerate(_terms_of(domain)):
        if term.has_steps:
            unit = domain.unit_columns[i]
            ends = space.lower[unit], space.upper[unit]
            columns.append(Column(i, term, *ends, rules and rules.lists.get(i)))
    return columns


def has_steps(domain):
    """Return True if a domain has integers, or listed numbers, as coordinates."""
    return any(term.has_steps for term in _terms_of(domain))


def row_values(space):
    """Return the values in rows (list of ndarray), by coordinate, of a space without reals.

    None with reals, or for a set of points.
    """
    columns = {column.index: column for column in columns_of(space)}
    values = []
    for i, term in enumerate(_terms_of(space.domain)):
        if i in columns:
            values.append(columns[i].rows(np.arange(columns[i].low, columns[i].high + 1)))
        elif term.listed is not None:
            values.append(term.listed[0])  # categories; limits may exclude some
        else:
            return None
    return values or None


def _terms_of(domain):
    """Return the terms (list) of the coordinates of a row; empty for a finite set."""
    return [term for term, _ in getattr(domain, "_of_rows", ()) for _ in range(term.n_dims)]


# --- the lattice ----------------------------------------------------------------------------------


def _without_reals(of_reals, of_steps):
    """Return the equations that remain after reals are eliminated, as rows of integers.

    Parameters
    ----------
    of_reals, of_steps : list of list of float
        Coefficients of the reals, and of the positions.
    """
    rows = [_fractions([*a, *b]) for a, b in zip(of_reals, of_steps)]
    n = len(of_reals[0]) if rows else 0
    for i in range(n):
        pivot = next((row for row in rows if row[i]), None)
        if pivot is None:
            continue
        rows = [
            [a - row[i] / pivot[i] * b for a, b in zip(row, pivot)]
            for row in rows
            if row is not pivot
        ]
    left = [row[n:] for row in rows if any(row[n:])]
    scales = [math.lcm(*(c.denominator for c in row)) for row in left]
    return [[int(c * scale) for c in row] for row, scale in zip(left, scales)]


def _fractions(row):
    """Return coefficients (list of float) as fractions, up to a factor if not all are integers."""
    unit = 1.0 if all(c.is_integer() for c in row) else max(map(abs, row))
    return [Fraction(c / unit).limit_denominator(_LARGEST_DENOMINATOR) for c in row]


def _kernel(matrix, n):
    """Return a basis (list of ndarray (n,) of int) of the integers v with M v = 0.

    The columns of M and the unit vectors are changed by the same steps of Euclid's algorithm. A
    vector whose column has become 0 belongs to the basis.
    """
    rows = [
        np.array([*(row[j] for row in matrix), *(int(j == i) for i in range(n))], dtype=object)
        for j in range(n)
    ]
    for i in range(len(matrix)):
        live = [row for row in rows if row[i]]
        while len(live) > 1:
            pivot = min(live, key=lambda row: abs(row[i]))
            for row in live:
                if row is not pivot:
                    row -= row[i] // pivot[i] * pivot
            live = [row for row in live if row[i]]
        rows = [row for row in rows if not row[i]]
    return [row[len(matrix) :] for row in rows]


def _reduced(basis):
    """Return a basis (list of ndarray) with vectors made shorter by multiples of each other."""
    basis, shorter = [np.array(v) for v in basis], True
    while shorter:
        shorter = False
        for i, v in enumerate(basis):
            for j, w in enumerate(basis):
                multiple = 0 if i == j else round(Fraction(int(v @ w), int(w @ w)))
                reduced = v - multiple * w
                if reduced @ reduced < v @ v:
                    basis[i] = v = reduced
                    shorter = True
    return basis


# --- first points ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Variables:
    """Variables z (n,) of an integer program for a number: origin + weights @ z.

    A number of a list with unequal distances has a variable for each value, one of which is 1.
    """

    low: np.ndarray
    high: np.ndarray
    weights: np.ndarray
    origin: float = 0.0
    integral: bool = False
    column: Column | None = None
    positions: np.ndarray | None = None

    @classmethod
    def of(cls, ends, column):
        """Return the variables of a coordinate.

        Parameters
        ----------
        ends : ndarray of shape (2,)
            Least and largest number.
        column : Column or None
            None for a real.
        """
        if column is None:
            return cls(*ends.reshape(2, 1), np.ones(1))
        if not math.isnan(column.pitch):
            ends = np.array([[column.low], [column.high]], dtype=float)
            weights = np.array([column.pitch])
            return cls(*ends, weights, column.origin, True, column)
        k = np.arange(column.low, column.high + 1)
        zeros = np.zeros(len(k))
        numbers = zeros if column.numbers is None else column.numbers[k]
        return cls(zeros, zeros + 1.0, numbers, 0.0, True, column, k)

    def value(self, z):
        """Return the entry of a row for values z (n,) of the variables."""
        if self.column is None:
            return z[0]
        k = np.rint(z) if self.positions is None else self.positions[[np.argmax(z)]]
        return self.column.rows(k)[0]


class LinearProgram:
    """Integer program that finds rows near others that satisfy linear constraints.

    Parameters
    ----------
    space : SearchSpace
    rules : Rules

    Attributes
    ----------
    has_none : bool
        True once proved that no row satisfies them.
    """

    def __init__(self, space, rules):
        (E, b), (A, low, high) = rules.equal, rules.linear
        A, low, high = np.vstack([E, A]), np.append(b, low), np.append(b, high)
        domain = space.domain
        columns = {column.index: column for column in columns_of(space, rules)}
        used = (A != 0.0).any(axis=0)
        used[list(rules.lists)] = True
        self._used, self.has_none = np.flatnonzero(used), False
        ends = space.decode(np.array([space.lower, space.upper])[:, : domain.n_unit])
        turns = (domain.kinds == "cyclic") & (ends[0] != ends[1])  # not fixed
        ends[:, turns] = domain.number_bounds[:, turns]
        self._parts = [_Variables.of(ends[:, i], columns.get(i)) for i in self._used]
        self._widths = np.ptp(domain.number_bounds, axis=0)[self._used]
        self._numbers, self._stops = domain.numbers, np.cumsum([len(p.low) for p in self._parts])
        self._origins = np.array([part.origin for part in self._parts])
        # Numbers are V z + origins; a single variable of a list is 1, C z = 1.
        V, C = np.zeros((2, len(self._parts), sum(len(part.low) for part in self._parts)))
        for v, c, part, stop in zip(V, C, self._parts, self._stops):
            own = slice(stop - len(part.low), stop)
            v[own], c[own] = part.weights, 1.0
        C, A = C[[part.positions is not None for part in self._parts]], A[:, self._used]
        shift, ones = A @ self._origins, np.ones(len(C))
        rows, low, high = np.vstack([A @ V, C]), *(np.append(b - shift, ones) for b in (low, high))
        # The tolerances of the solver are absolute.
        sizes = np.abs(rows).max(axis=1, initial=0.0)
        sizes[sizes == 0.0] = 1.0
        self._V, self._rows = V, rows / sizes[:, np.newaxis]
        self._low, self._high = low / sizes, high / sizes

    def near(self, row):
        """Return a row (d,) that satisfies the constraints, to rounding; None if none is found.

        The sum of its distances from the given row, relative to the ranges, is about the least.
        """
        k, n = self._V.shape
        if not k:
            return np.array(row)
        target = self._numbers(row[np.newaxis])[0, self._used] - self._origins
        # V z - p + q = target, and the sum of p and q is the distance.
        near = np.hstack([self._V, -np.eye(k), np.eye(k)])
        low = np.concatenate([part.low for part in self._parts])
        high = np.concatenate([part.high for part in self._parts])
        integral = np.concatenate([np.full(len(p.low), p.integral) for p in self._parts])
        weights = 1.0 / np.where(self._widths > 0.0, self._widths, 1.0)
        result = milp(
            np.concatenate([np.zeros(n), weights, weights]),
            integrality=np.append(integral, np.zeros(2 * k)),
            bounds=Bounds(np.append(low, np.zeros(2 * k)), np.append(high, np.full(2 * k, np.inf))),
            constraints=[
                LinearConstraint(np.pad(self._rows, ((0, 0), (0, 2 * k))), self._low, self._high),
                LinearConstraint(near, target, target),
            ],
            options={"time_limit": _MAX_SECONDS, "mip_rel_gap": 0.1},
        )
        self.has_none = self.has_none or result.status == _INFEASIBLE
        if result.x is None:
            return None
        found, z = np.array(row), np.split(result.x[:n], self._stops[:-1])
        found[self._used] = [part.value(values) for part, values in zip(self._parts, z)]
        return found
