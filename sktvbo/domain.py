"""Where queries may lie: a box, a finite set of points, or named parameters.

Every domain writes a point in two ways. A *row* (d,) is in the user's units, one number per
dimension. Its *unit form* (u,) is what a surrogate sees: u equals d but for categories, which have
one column each.

All domains offer the same to an optimizer: the maps between the two forms, uniform samples, one
place that decides whether a point is acceptable, and what a maximizer needs to know: points to
begin with (``candidates``), which unit coordinates a gradient may move (``continuous``), the steps
that no gradient knows of (``neighbours``), and how many members there are (``size``).
"""

import itertools
import math
import reprlib
from collections.abc import Mapping, Sequence

import numpy as np
from scipy.optimize import Bounds
from scipy.spatial import KDTree
from scipy.stats import qmc
from sklearn.utils import check_random_state

from .exceptions import DomainError, InvalidObservationError

__all__ = ["Arms", "Box", "FiniteSet", "ParameterSpace", "as_domain"]

# A point that far outside, relative to the width of its coordinate, is a rounding error.
_TOLERANCE = 1e-9

# Up to there an integer survives its scaling to [0, 1] and back.
_MAX_INTEGER = 2**50


def real_array(value, what, error):
    """Return a new C-ordered float64 array, or raise ``error`` when value is not made of reals."""
    try:
        array = np.asarray(value)
        if array.dtype.kind not in "biufO":
            raise TypeError(f"dtype {array.dtype}")
        return np.array(array, dtype=np.float64, order="C")
    except (TypeError, ValueError) as exc:
        raise error(f"{what} must be real numbers, got {reprlib.repr(value)} ({exc}).") from exc


def _sobol(n_dims, n, rng):
    """Sobol points (n, n_dims) of the unit box, scrambled unless rng is None."""
    if rng is None:
        return qmc.Sobol(n_dims, scramble=False).random(n)
    seed = rng.randint(2**32, dtype=np.uint64)
    return qmc.Sobol(n_dims, rng=np.random.default_rng(seed)).random(n)


class _Domain:
    """Maps and validation shared by the domains; lower, upper are the bounds of the rows."""

    def __init__(self, lower, upper, continuous, size):
        self.lower = lower
        self.upper = upper
        self.n_dims = len(lower)
        self.continuous = continuous
        self.n_unit = len(continuous)
        self.size = size
        self._width = upper - lower
        for array in (lower, upper, continuous, self._width):
            array.setflags(write=False)

    def to_unit(self, X):
        """Map rows to their unit form.

        Parameters
        ----------
        X : array-like of shape (n, d) or (d,)
            Rows in the domain's own units.

        Returns
        -------
        ndarray of shape (n, n_unit) or (n_unit,)
            For a `Box` and a `FiniteSet` ``(X - lower) / (upper - lower)``, outside of the domain
            too; a coordinate of zero width gives 0. For a `ParameterSpace` see there.

        Raises
        ------
        InvalidObservationError
            When X is not made of reals or its last axis is not ``n_dims`` long.
        DomainError
            When a row is not a member of a `ParameterSpace`.
        """
        return self._to_unit(self._last_axis(X, "X", self.n_dims))

    def from_unit(self, U):
        """Map the unit form to rows, the inverse of `to_unit`.

        Parameters
        ----------
        U : array-like of shape (n, n_unit) or (n_unit,)

        Returns
        -------
        ndarray of shape (n, d) or (d,)
            Always members: what is outside of the domain, or between its members, goes to the
            nearest. For a `Box` exactly ``lower`` at 0 and ``upper`` at 1.

        Raises
        ------
        InvalidObservationError
            When U is not made of reals or its last axis is not ``n_unit`` long.
        """
        return self._from_unit(self._last_axis(U, "U", self.n_unit))

    def decode(self, x):
        """Return a row in the form that users get: here, a copy of it.

        Parameters
        ----------
        x : array-like of shape (d,)

        Returns
        -------
        ndarray of shape (d,), or a dict from a `ParameterSpace`
        """
        return np.array(x, dtype=np.float64)

    def decode_all(self, rows):
        """Return rows in the form that users get: here, a copy of them.

        Parameters
        ----------
        rows : array-like of shape (n, d)

        Returns
        -------
        ndarray of shape (n, d), or a list of dicts from a `ParameterSpace`
        """
        return np.array(rows, dtype=np.float64)

    def _to_unit(self, X):
        flat = self._width == 0.0
        return np.where(flat, 0.0, (X - self.lower) / np.where(flat, 1.0, self._width))

    def sample(self, n, rng=None):
        """Draw rows uniformly, in the logarithm for "log-real" parameters.

        Parameters
        ----------
        n : int
            How many.
        rng : RandomState, int or None
            Source of randomness.

        Returns
        -------
        ndarray of shape (n, d)
        """
        return self.quantile(check_random_state(rng).uniform(size=(n, self.n_dims)))

    def validate_point(self, x):
        """Return the point as this package uses it, or say what is wrong with it.

        Parameters
        ----------
        x : array-like of shape (d,), or a scalar when d = 1
            For a `ParameterSpace` also a dict that gives each parameter.

        Returns
        -------
        ndarray of shape (d,), float64
            A new array that lies in the domain; rounding errors up to 1e-9 of the width are
            repaired.

        Raises
        ------
        InvalidObservationError
            Wrong shape, NaN, infinity, something that is not a number; a parameter that is missing
            or unknown.
        DomainError
            The point is outside of the domain.
        """
        return self._locate(self._as_point(x)[np.newaxis], "x")[0]

    def validate_points(self, X):
        """Do what `validate_point` does for the rows of X.

        Parameters
        ----------
        X : array-like of shape (n, d)
            For a `ParameterSpace` also a list of dicts.

        Returns
        -------
        ndarray of shape (n, d), float64
            A new array.

        Raises
        ------
        InvalidObservationError
            Wrong shape, NaN, infinity, or something that is not a number.
        DomainError
            A row is outside of the domain.
        """
        return self._locate(self._as_points(X), "X")

    def contains(self, x):
        """Tell whether a point lies in the domain, rounding errors forgiven.

        Parameters
        ----------
        x : array-like of shape (d,), or a scalar when d = 1
            For a `ParameterSpace` also a dict that gives each parameter.

        Returns
        -------
        bool
            False for a point with NaN or infinity.

        Raises
        ------
        InvalidObservationError
            When x has the wrong shape or the wrong names, or is not made of numbers.
        """
        try:
            point = self._as_point(x, finite=False)
        except DomainError:  # an unknown category has no number
            return False
        return bool(np.all(np.isfinite(point)) and self._inside(point[np.newaxis])[0])

    def _last_axis(self, value, what, length):
        array = real_array(value, what, InvalidObservationError)
        if array.ndim == 0 or array.shape[-1] != length:
            raise InvalidObservationError(
                f"{what} must have {length} coordinate(s) along its last axis, "
                f"got shape {array.shape}."
            )
        return array

    def _as_points(self, X):
        array = self._last_axis(X, "X", self.n_dims)
        if array.ndim != 2:
            raise InvalidObservationError(
                f"X must have shape (n, {self.n_dims}), got {array.shape}; "
                "wrap a single point in a list."
            )
        return self._finite(array, "X")

    def _as_point(self, x, finite=True):
        point = real_array(x, "x", InvalidObservationError)
        if point.ndim == 0 and self.n_dims == 1:
            point = point.reshape(1)
        if point.shape != (self.n_dims,):
            raise InvalidObservationError(
                f"x must have shape ({self.n_dims},), one number per dimension of the domain, "
                f"got shape {point.shape}."
            )
        return self._finite(point, "x") if finite else point

    def _finite(self, array, what):
        if not np.all(np.isfinite(array)):
            where = tuple(np.argwhere(~np.isfinite(array))[0].tolist())
            raise InvalidObservationError(
                f"{what} must be finite, got {array[where]} at {self._place(what, *where)}."
            )
        return array

    def _place(self, what, *where):
        """How a message calls a coordinate: x[i] of one point, X[row, i] of several."""
        *row, i = where
        return f"{what}[{', '.join([*map(str, row if what == 'X' else []), self._label(i)])}]"

    def _label(self, i):
        return str(i)


class Box(_Domain):
    """A box, the product of one interval per dimension.

    Parameters
    ----------
    bounds : array-like of shape (d, 2)
        A pair (low, high) per dimension, finite, low < high.

    Attributes
    ----------
    lower, upper : ndarray of shape (d,)
        The bounds, read-only.
    n_dims, n_unit : int
        Number of dimensions d, and of coordinates of the unit form, here the same.
    continuous : ndarray of shape (n_unit,), bool
        True everywhere.
    size : float
        Number of members, infinity.

    Raises
    ------
    DomainError
        When the bounds make no sense.

    Examples
    --------
    >>> from sktvbo.domain import Box
    >>> box = Box([(0.0, 10.0), (-1.0, 1.0)])
    >>> box.to_unit([5.0, 0.0])
    array([0.5, 0.5])
    >>> box.contains([11.0, 0.0])
    False
    """

    def __init__(self, bounds):
        array = real_array(bounds, "bounds", DomainError)
        if array.ndim != 2 or array.shape[1] != 2 or len(array) == 0:
            raise DomainError(
                f"bounds must have shape (d, 2) with d >= 1, got {array.shape}; "
                "give one (low, high) pair per dimension, [(low, high)] for one dimension."
            )
        for i, (low, high) in enumerate(array.tolist()):
            # The width as well: it overflows for bounds near the largest float.
            if not np.isfinite(high - low):
                raise DomainError(f"bounds[{i}] must be finite, got ({low}, {high}).")
            if not low < high:
                raise DomainError(f"bounds[{i}] must have low < high, got ({low}, {high}).")
        everywhere = np.ones(len(array), dtype=bool)
        super().__init__(array[:, 0].copy(), array[:, 1].copy(), everywhere, math.inf)

    def quantile(self, Q):
        """Rows (n, d) of independent uniform numbers Q (n, d) in [0, 1], uniform in the box."""
        return self.from_unit(Q)

    def candidates(self, n, rng=None):
        """Sobol points to begin a search with.

        Parameters
        ----------
        n : int
            How many, a power of two.
        rng : RandomState, default=None
            Scrambles them.

        Returns
        -------
        ndarray of shape (n, n_unit), in unit form
        """
        return _sobol(self.n_dims, n, rng)

    def neighbours(self, u):
        """Steps that a gradient cannot take: none, of shape (0, n_unit)."""
        return np.empty((0, self.n_unit))

    def _from_unit(self, U):
        return np.clip(self.lower * (1.0 - U) + self.upper * U, self.lower, self.upper)

    def _inside(self, X):
        slack = _TOLERANCE * self._width
        return np.all((self.lower - slack <= X) & (self.upper + slack >= X), axis=1)

    def _locate(self, X, what):
        outside = np.flatnonzero(~self._inside(X))
        if outside.size:
            row = X[outside[0]]
            i = int(np.argmax(np.maximum(self.lower - row, row - self.upper) / self._width))
            raise DomainError(
                f"{self._place(what, outside[0], i)} must lie in "
                f"[{self.lower[i]}, {self.upper[i]}], got {row[i]}."
            )
        return np.clip(X, self.lower, self.upper)

    def __eq__(self, other):
        if not isinstance(other, Box):
            return NotImplemented
        return np.array_equal(self.lower, other.lower) and np.array_equal(self.upper, other.upper)

    def __hash__(self):
        return hash((tuple(self.lower.tolist()), tuple(self.upper.tolist())))

    def __repr__(self):
        return f"Box({list(zip(self.lower.tolist(), self.upper.tolist()))})"

    def __reduce__(self):
        return Box, (np.column_stack([self.lower, self.upper]),)


class FiniteSet(_Domain):
    """A finite set of points, such as the arms of a bandit or the positions of sensors.

    Parameters
    ----------
    points : array-like of shape (m, d)
        The members, finite and distinct, at least one.

    Attributes
    ----------
    points : ndarray of shape (m, d)
        The members in the order given, read-only.
    lower, upper : ndarray of shape (d,)
        The bounding box, read-only.
    n_dims, n_unit : int
        Number of dimensions d, and of coordinates of the unit form, here the same.
    continuous : ndarray of shape (n_unit,), bool
        False everywhere.
    size : int
        Number of members m.

    Raises
    ------
    DomainError
        When there is no point, a point is not finite, or two are the same.

    Examples
    --------
    >>> from sktvbo.domain import FiniteSet
    >>> arms = FiniteSet([[0.0, 0.0], [1.0, 2.0], [4.0, 2.0]])
    >>> arms.index([1.0, 2.0])
    1
    >>> arms.to_unit([1.0, 2.0])
    array([0.25, 1.  ])
    """

    def __init__(self, points):
        array = real_array(points, "points", DomainError)
        if array.ndim != 2 or array.size == 0:
            raise DomainError(
                f"points must have shape (m, d) with m, d >= 1, got {array.shape}; "
                "for one dimension give [[a], [b], ...]."
            )
        if not np.all(np.isfinite(array)):
            i = int(np.argwhere(~np.isfinite(array))[0, 0])
            raise DomainError(f"points must be finite, got {array[i].tolist()} in row {i}.")
        array += 0.0  # turns -0.0 into 0.0, so that equal sets have equal hashes
        unique, first = np.unique(array, axis=0, return_index=True)
        if len(unique) < len(array):
            i = int(np.setdiff1d(np.arange(len(array)), first)[0])
            raise DomainError(
                f"points must be distinct, got {array[i].tolist()} in row {i} again; "
                "give each point once."
            )
        lower, upper = array.min(axis=0), array.max(axis=0)
        # Python's floats overflow to infinity without a warning.
        if not all(np.isfinite(b - a) for a, b in zip(lower.tolist(), upper.tolist())):
            raise DomainError("points must span a finite width, got one that overflows.")
        super().__init__(lower, upper, np.zeros(len(lower), dtype=bool), len(array))
        self.points = array
        self.points.setflags(write=False)
        # Without a width, the size of the coordinate itself says what a rounding error is.
        self._scale = np.where(self._width > 0.0, self._width, np.maximum(np.abs(self.lower), 1.0))
        self._tree = KDTree((self.points - self.lower) / self._scale)

    def sample(self, n, rng=None):
        """Draw members uniformly, without replacement as long as there are enough.

        Parameters
        ----------
        n : int
            How many.
        rng : RandomState, int or None
            Source of randomness.

        Returns
        -------
        ndarray of shape (n, d)
        """
        m = len(self.points)
        return self.points[check_random_state(rng).choice(m, size=n, replace=n > m)]

    def candidates(self, n, rng=None):
        """All members (m, n_unit), in unit form and in the order of ``points``."""
        return self.to_unit(self.points)

    def neighbours(self, u):
        """All other members (m - 1, n_unit), in unit form."""
        here = self._tree.query(u, p=np.inf)[1]
        return np.delete(self.to_unit(self.points), here, axis=0)

    def index(self, x):
        """Row of a member in ``points``.

        Parameters
        ----------
        x : array-like of shape (d,), or a scalar when d = 1

        Returns
        -------
        int

        Raises
        ------
        InvalidObservationError
            Wrong shape, NaN, infinity, or something that is not a number.
        DomainError
            x is not a member.
        """
        return int(self._indices(self._as_point(x)[np.newaxis], "x")[0])

    def indices(self, X):
        """Rows of many members in ``points``, see `index`.

        Parameters
        ----------
        X : array-like of shape (n, d)

        Returns
        -------
        ndarray of shape (n,), int

        Raises
        ------
        InvalidObservationError
            Wrong shape, NaN, infinity, or something that is not a number.
        DomainError
            A row is not a member.
        """
        return self._indices(self._as_points(X), "X")

    def _from_unit(self, U):
        nearest = self._tree.query(np.where(self._width > 0.0, U, 0.0), p=np.inf)[1]
        return np.array(self.points[nearest])

    def _nearest(self, X):
        return self._tree.query((X - self.lower) / self._scale, p=np.inf)

    def _inside(self, X):
        return self._nearest(X)[0] <= _TOLERANCE

    def _indices(self, X, what):
        distance, index = self._nearest(X)
        strange = np.flatnonzero(distance > _TOLERANCE)
        if strange.size:
            i = strange[0]
            raise DomainError(
                f"{what if what == 'x' else f'{what}[{i}]'} must be one of the "
                f"{len(self.points)} points of the domain, got {X[i].tolist()}; "
                f"the nearest is {self.points[index[i]].tolist()} (index {index[i]})."
            )
        return index

    def _locate(self, X, what):
        return self.points[self._indices(X, what)]

    def __eq__(self, other):
        if not isinstance(other, FiniteSet):
            return NotImplemented
        return np.array_equal(self.points, other.points)

    def __hash__(self):
        return hash((self.points.shape, self.points.tobytes()))

    def __repr__(self):
        return f"FiniteSet({self.points.tolist()})"

    def __reduce__(self):
        return FiniteSet, (np.array(self.points),)


class Arms(FiniteSet):
    """The arms 0, 1, ..., n - 1 of a bandit, without any order or distance.

    The unit form of an arm is its index itself, which is what a kernel of arms expects, such as
    `sktvbo.kernels.Empirical`. Kernels of distances see arms with near indices as alike: for arms
    with coordinates take a `FiniteSet` of these.

    Parameters
    ----------
    n_arms : int
        At least one.

    Attributes
    ----------
    points : ndarray of shape (n_arms, 1)
        The indices, read-only.
    size : int
        Number of arms. All else is as in `FiniteSet`.

    Raises
    ------
    DomainError
        When n_arms is not a positive int.

    Examples
    --------
    >>> from sktvbo import TVGPUCB, TimeVaryingGPRegressor
    >>> from sktvbo.domain import Arms
    >>> from sktvbo.kernels import Empirical, Forgetting
    >>> kernel = Empirical([[1.0, 0.9, 0.0], [0.9, 1.0, 0.0], [0.0, 0.0, 1.0]])
    >>> gp = TimeVaryingGPRegressor(kernel, Forgetting(0.03), optimizer=None)
    >>> opt = TVGPUCB(Arms(3), surrogate=gp, n_initial_points=1, clock="step", random_state=0)
    >>> opt.tell([0], 1.0, t=0)
    >>> opt.tell([2], -1.0, t=0)
    >>> opt.recommend(0)
    array([0.])
    """

    def __init__(self, n_arms):
        if not isinstance(n_arms, int | np.integer) or isinstance(n_arms, bool) or n_arms < 1:
            raise DomainError(f"n_arms must be a positive int, got {n_arms!r}.")
        super().__init__(np.arange(float(n_arms))[:, np.newaxis])
        # With a width of 1, FiniteSet's maps to the unit form and back are the identity.
        self._width = self._scale = np.ones(1)
        self._width.setflags(write=False)
        self._tree = KDTree(self.points)

    def __eq__(self, other):
        if not isinstance(other, FiniteSet):
            return NotImplemented
        # Not equal to a FiniteSet of the same indices, whose unit form differs.
        return isinstance(other, Arms) and self.size == other.size

    def __hash__(self):
        return hash((Arms, self.size))

    def __repr__(self):
        return f"Arms({self.size})"

    def __reduce__(self):
        return Arms, (self.size,)


class _Real:
    """A parameter of ParameterSpace: numbers of [low, high], uniform there.

    ``inside``, ``nearest``, ``to_unit``, ``from_unit`` and ``quantile`` work on a column (n,) of
    rows; the unit form of a column is (n, n_unit).
    """

    kind = "real"
    size = math.inf
    n_unit = 1

    def __init__(self, what, *bounds):
        if len(bounds) != 2:
            raise DomainError(
                f"{what} must be ({self.kind!r}, low, high), got {len(bounds)} bound(s)."
            )
        self.low, self.high = (_number(bound, what, DomainError) for bound in bounds)
        # The width as well: it overflows for bounds near the largest float.
        if not math.isfinite(self.high - self.low):
            raise DomainError(f"{what} must have finite bounds, got ({self.low}, {self.high}).")
        self._check(what)

    def _check(self, what):
        if not self.low < self.high:
            raise DomainError(f"{what} must have low < high, got ({self.low}, {self.high}).")

    @property
    def spec(self):
        """What the user gave."""
        return self.kind, self.decode(self.low), self.decode(self.high)

    @property
    def expected(self):
        return f"lie in [{self.low}, {self.high}]"

    def encode(self, value, what):
        """Number in the row that stands for the user's value; it may lie outside."""
        return _number(value, what, InvalidObservationError)

    def decode(self, v):
        """User's value that a number in the row stands for."""
        return float(v)

    def inside(self, v):
        slack = _TOLERANCE * (self.high - self.low)
        return (self.low - slack <= v) & (v <= self.high + slack)

    def nearest(self, v):
        return np.clip(v, self.low, self.high)

    def to_unit(self, v):
        return ((v - self.low) / (self.high - self.low))[:, np.newaxis]

    def from_unit(self, U):
        u = U[:, 0]
        return self.nearest(self.low * (1.0 - u) + self.high * u)

    def quantile(self, q):
        """Values at the uniform numbers q of [0, 1]."""
        return self.from_unit(q[:, np.newaxis])

    def moves(self, v):
        """Values to try in place of v, besides those that a gradient leads to."""
        return np.empty(0)

    def __eq__(self, other):
        return type(self) is type(other) and (self.low, self.high) == (other.low, other.high)


class _LogReal(_Real):
    """Positive numbers of [low, high], uniform on a logarithmic scale."""

    kind = "log-real"

    def _check(self, what):
        super()._check(what)
        if not self.low > 0.0:
            raise DomainError(f"{what} must have low > 0, got {self.low}.")
        self._log_low = math.log(self.low)
        self._log_width = math.log(self.high) - self._log_low
        if not self._log_width > 0.0:
            raise DomainError(
                f"{what} must have bounds whose logarithms differ, got ({self.low}, {self.high}); "
                "use 'real' for an interval that narrow."
            )

    def inside(self, v):
        slack = math.exp(_TOLERANCE * self._log_width)
        return (self.low / slack <= v) & (v <= self.high * slack)

    def to_unit(self, v):
        return ((np.log(v) - self._log_low) / self._log_width)[:, np.newaxis]

    def from_unit(self, U):
        u = np.clip(U[:, 0], 0.0, 1.0)
        return self.nearest(self.low ** (1.0 - u) * self.high**u)


class _Integer(_Real):
    """Whole numbers from low to high."""

    kind = "integer"

    def _check(self, what):
        for bound in (self.low, self.high):
            if bound != round(bound) or abs(bound) > _MAX_INTEGER:
                raise DomainError(
                    f"{what} must have whole bounds of at most 2**50 in size, got {bound}."
                )
        if not self.low <= self.high:
            raise DomainError(f"{what} must have low <= high, got ({self.low}, {self.high}).")
        self.size = int(self.high - self.low) + 1
        self._divisor = max(self.high - self.low, 1.0)

    @property
    def expected(self):
        return f"be a whole number from {self.low:.0f} to {self.high:.0f}"

    def decode(self, v):
        return round(float(v))

    def inside(self, v):
        return np.abs(v - self.nearest(v)) <= _TOLERANCE

    def nearest(self, v):
        return np.clip(np.rint(v), self.low, self.high)

    def to_unit(self, v):
        return ((v - self.low) / self._divisor)[:, np.newaxis]

    def from_unit(self, U):
        return self.nearest(self.low + U[:, 0] * (self.high - self.low))

    def quantile(self, q):
        return self.nearest(self.low + np.floor(q * self.size))

    def moves(self, v):
        # Steps of 1, 2, 4, ... both ways: a far optimum is reached in few of them.
        steps = 2.0 ** np.arange((self.size - 1).bit_length())
        reached = np.concatenate([v - steps, v + steps])
        return reached[(self.low <= reached) & (reached <= self.high)]


class _Categorical:
    """Values without an order; the row holds the position of one. Methods as those of _Real."""

    kind = "categorical"
    low = 0.0

    def __init__(self, what, *values):
        choices = values[0] if len(values) == 1 else None
        if not isinstance(choices, Sequence) or isinstance(choices, str | bytes) or not choices:
            raise DomainError(
                f"{what} must be ('categorical', values) with a list of at least one value, "
                f"got {reprlib.repr(values)}."
            )
        self.choices = tuple(choices)
        for i, value in enumerate(self.choices):
            if any(_same(value, other) for other in self.choices[:i]):
                raise DomainError(f"{what} must have distinct values, got {value!r} again.")
        self.size = self.n_unit = len(self.choices)
        self.high = self.size - 1.0

    @property
    def spec(self):
        return self.kind, list(self.choices)

    @property
    def expected(self):
        return f"be the position of a category, from 0 to {self.high:.0f}"

    def encode(self, value, what):
        for i, choice in enumerate(self.choices):
            if _same(choice, value):
                return float(i)
        raise DomainError(f"{what} must be one of {list(self.choices)}, got {value!r}.")

    def decode(self, v):
        return self.choices[round(float(v))]

    def inside(self, v):
        return np.abs(v - self.nearest(v)) <= _TOLERANCE

    def nearest(self, v):
        return np.clip(np.rint(v), self.low, self.high)

    def to_unit(self, v):
        # Two different categories are 1 apart.
        return np.sqrt(0.5) * (v[:, np.newaxis] == np.arange(self.size))

    def from_unit(self, U):
        return np.argmax(U, axis=1).astype(np.float64)

    def quantile(self, q):
        return self.nearest(np.floor(q * self.size))

    def moves(self, v):
        return np.delete(np.arange(float(self.size)), int(v))

    def __eq__(self, other):
        return (
            type(self) is type(other)
            and self.size == other.size
            and all(map(_same, self.choices, other.choices))
        )


_KINDS = {kind.kind: kind for kind in (_Real, _LogReal, _Integer, _Categorical)}


def _number(value, what, error):
    array = real_array(value, what, error)
    if array.ndim:
        raise error(f"{what} must be one number, got {reprlib.repr(value)}.")
    return float(array)


def _same(a, b):
    """Equal and of one type, so that 1 and True are two; NaN equals itself."""
    return a is b or (type(a) is type(b) and bool(a == b or (a != a and b != b)))


class ParameterSpace(_Domain):
    """Named parameters: reals, integers and categories.

    A point is a dict, such as ``estimator.set_params`` takes. Histories hold its *row*, one number
    per parameter in the order of the dict: the real, the integer, or the position of the category.
    A surrogate sees the *unit form*: reals and integers scaled to [0, 1], "log-real" after the
    logarithm; a category has one column per value, √½ in its own and 0 in the others, which puts
    any two categories a distance of 1 apart.

    Parameters
    ----------
    parameters : dict of str to tuple
        - ``("real", low, high)`` with low < high;
        - ``("log-real", low, high)`` with 0 < low < high;
        - ``("integer", low, high)``, both included, low <= high, at most 2**50 in size;
        - ``("categorical", values)``, a list of distinct values of any type. They are told apart by
          ``==`` and by type: 1 and True are two.

    Attributes
    ----------
    names : tuple of str
        The parameters, in the order of a row.
    lower, upper : ndarray of shape (d,)
        Bounds of the rows, read-only.
    n_dims : int
        Number of parameters d.
    n_unit : int
        Number of coordinates of the unit form.
    continuous : ndarray of shape (n_unit,), bool
        Which of these belong to reals.
    size : int or float
        Number of members, infinity with a real among the parameters.

    Raises
    ------
    DomainError
        When the parameters make no sense.

    Examples
    --------
    >>> from sktvbo.domain import ParameterSpace
    >>> space = ParameterSpace({
    ...     "alpha": ("log-real", 1e-4, 1.0),
    ...     "depth": ("integer", 2, 10),
    ...     "penalty": ("categorical", ["l1", "l2", None]),
    ... })
    >>> row = space.validate_point({"alpha": 0.01, "depth": 4, "penalty": None})
    >>> row
    array([0.01, 4.  , 2.  ])
    >>> space.to_unit(row)
    array([0.5       , 0.25      , 0.        , 0.        , 0.70710678])
    >>> space.decode(row)
    {'alpha': 0.01, 'depth': 4, 'penalty': None}
    """

    def __init__(self, parameters):
        if not isinstance(parameters, Mapping) or not parameters:
            raise DomainError(
                "parameters must be a dict of at least one named parameter, "
                f"got {reprlib.repr(parameters)}."
            )
        self._parameters = {name: self._make(name, spec) for name, spec in dict(parameters).items()}
        self.names = tuple(self._parameters)
        terms = list(self._parameters.values())
        stops = np.cumsum([term.n_unit for term in terms]).tolist()
        self._columns = [slice(stop - term.n_unit, stop) for term, stop in zip(terms, stops)]
        real = [math.isinf(term.size) for term in terms]
        super().__init__(
            np.array([term.low for term in terms]),
            np.array([term.high for term in terms]),
            np.repeat(real, [term.n_unit for term in terms]),
            math.inf if any(real) else math.prod(term.size for term in terms),
        )

    @staticmethod
    def _make(name, spec):
        if not isinstance(name, str):
            raise DomainError(f"The names of parameters must be strings, got {name!r}.")
        what = f"parameters[{name!r}]"
        if isinstance(spec, list | tuple) and spec and isinstance(spec[0], str):
            kind, *rest = spec
            if kind in _KINDS:
                return _KINDS[kind](what, *rest)
        raise DomainError(
            f"{what} must be ('real', low, high), ('log-real', low, high), ('integer', low, high) "
            f"or ('categorical', values), got {reprlib.repr(spec)}."
        )

    @property
    def parameters(self):
        """Dict of the parameters; a new one each time."""
        return {name: term.spec for name, term in self._parameters.items()}

    def decode(self, x):
        """Return the point of a row as a dict of float, int and the categories themselves.

        Parameters
        ----------
        x : array-like of shape (d,)

        Returns
        -------
        dict

        Raises
        ------
        InvalidObservationError
            Wrong shape, NaN, infinity, or something that is not a number.
        DomainError
            The row is not a member.
        """
        row = self.validate_point(x)
        return {name: term.decode(v) for (name, term), v in zip(self._parameters.items(), row)}

    def decode_all(self, rows):
        """Return the points of rows as a list of dicts, see `decode`."""
        return [self.decode(row) for row in rows]

    def quantile(self, Q):
        """Rows (n, d) of independent uniform numbers Q (n, d) in [0, 1], uniform in the space."""
        return np.column_stack([term.quantile(q) for term, q in zip(self._terms, Q.T)])

    def candidates(self, n, rng=None):
        """All members where there are at most n, else Sobol points; see `Box.candidates`."""
        if self.size <= n:
            values = [term.low + np.arange(term.size) for term in self._terms]
            return self.to_unit(list(itertools.product(*values)))
        return self.to_unit(self.quantile(_sobol(self.n_dims, n, rng)))

    def neighbours(self, u):
        """Members (k, n_unit) that differ from u (n_unit,) in one category or integer.

        All other values of a category; integers that are 1, 2, 4, ... away.
        """
        row = self.from_unit(u)
        found = []
        for term, columns, v in zip(self._terms, self._columns, row):
            for moved in term.to_unit(term.moves(v)):
                found.append(np.array(u))
                found[-1][columns] = moved
        return np.array(found).reshape(-1, self.n_unit)

    @property
    def _terms(self):
        return self._parameters.values()

    def _to_unit(self, X):
        rows = self._locate(self._finite(X.reshape(-1, self.n_dims), "X"), "X")
        U = np.hstack([term.to_unit(column) for term, column in zip(self._terms, rows.T)])
        return U.reshape(*X.shape[:-1], self.n_unit)

    def _from_unit(self, U):
        flat = U.reshape(-1, self.n_unit)
        rows = [
            term.from_unit(flat[:, columns]) for term, columns in zip(self._terms, self._columns)
        ]
        return np.column_stack(rows).reshape(*U.shape[:-1], self.n_dims)

    def _encode(self, point, what, *where):
        """Row of a dict; its numbers may lie outside."""
        if set(point) != set(self.names):
            missing = [name for name in self.names if name not in point]
            unknown = [name for name in point if name not in self.names]
            parts = [
                f"{verb} {', '.join(map(repr, names))}"
                for verb, names in (("lacks", missing), ("has the unknown", unknown))
                if names
            ]
            raise InvalidObservationError(
                f"{''.join([what, *(f'[{i}]' for i in where)])} must give each of the parameters "
                f"{', '.join(map(repr, self.names))} and no other, but {' and '.join(parts)}."
            )
        return [
            term.encode(point[name], self._place(what, *where, i))
            for i, (name, term) in enumerate(self._parameters.items())
        ]

    def _as_point(self, x, finite=True):
        return super()._as_point(self._encode(x, "x") if isinstance(x, Mapping) else x, finite)

    def _as_points(self, X):
        if isinstance(X, Sequence) and any(isinstance(x, Mapping) for x in X):
            X = [self._encode(x, "X", i) if isinstance(x, Mapping) else x for i, x in enumerate(X)]
        return super()._as_points(X)

    def _label(self, i):
        return repr(self.names[i])

    def _inside(self, X):
        return np.all(self._inside_each(X), axis=1)

    def _inside_each(self, X):
        return np.column_stack([term.inside(column) for term, column in zip(self._terms, X.T)])

    def _locate(self, X, what):
        wrong = np.argwhere(~self._inside_each(X))
        if wrong.size:
            row, i = wrong[0].tolist()
            term = self._parameters[self.names[i]]
            raise DomainError(f"{self._place(what, row, i)} must {term.expected}, got {X[row, i]}.")
        return np.column_stack([term.nearest(column) for term, column in zip(self._terms, X.T)])

    def __eq__(self, other):
        if not isinstance(other, ParameterSpace):
            return NotImplemented
        return self.names == other.names and self._parameters == other._parameters

    def __hash__(self):
        kinds = tuple(term.kind for term in self._terms)
        return hash((self.names, kinds, tuple(self.lower.tolist()), tuple(self.upper.tolist())))

    def __repr__(self):
        return f"ParameterSpace({self.parameters})"

    def __reduce__(self):
        return ParameterSpace, (self.parameters,)


def as_domain(domain):
    """Return a domain from any of the forms in which users give one.

    Parameters
    ----------
    domain : Box, FiniteSet, ParameterSpace, sequence of (low, high) pairs, \
            scipy.optimize.Bounds, or dict of named parameters
        A domain is returned as it is; for a dict see `ParameterSpace`.

    Returns
    -------
    Box, FiniteSet or ParameterSpace

    Raises
    ------
    DomainError
        Any other type, or bounds that make no sense.

    Examples
    --------
    >>> from sktvbo.domain import as_domain
    >>> as_domain([(0, 1), (2, 4)])
    Box([(0.0, 1.0), (2.0, 4.0)])
    """
    if isinstance(domain, Box | FiniteSet | ParameterSpace):
        return domain
    if isinstance(domain, Mapping):
        return ParameterSpace(domain)
    if isinstance(domain, Bounds):
        lower, upper = np.broadcast_arrays(np.atleast_1d(domain.lb), np.atleast_1d(domain.ub))
        return Box(np.column_stack([lower, upper]))
    if isinstance(domain, np.ndarray) or (
        isinstance(domain, Sequence) and not isinstance(domain, str | bytes)
    ):
        return Box(domain)
    raise DomainError(
        "domain must be a Box, a FiniteSet, a sequence of (low, high) pairs, a "
        "scipy.optimize.Bounds or a dict of named parameters, "
        f"got {type(domain).__name__}."
    )
