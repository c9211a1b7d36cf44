"""Where queries may lie: a box, or a finite set of points.

Both kinds of domain offer what an optimizer needs and nothing more: the affine map to the unit
box, uniform samples, and one place that decides whether a point is acceptable.
"""

import reprlib
from collections.abc import Sequence

import numpy as np
from scipy.optimize import Bounds
from scipy.spatial import KDTree
from sklearn.utils import check_random_state

from .exceptions import DomainError, InvalidObservationError

__all__ = ["Box", "FiniteSet", "as_domain"]

# A point that far outside, relative to the width of its coordinate, is a rounding error.
_TOLERANCE = 1e-9


def real_array(value, what, error):
    """Return a new C-ordered float64 array, or raise ``error`` when value is not made of reals."""
    try:
        array = np.asarray(value)
        if array.dtype.kind not in "biufO":
            raise TypeError(f"dtype {array.dtype}")
        return np.array(array, dtype=np.float64, order="C")
    except (TypeError, ValueError) as exc:
        raise error(f"{what} must be real numbers, got {reprlib.repr(value)} ({exc}).") from exc


class _Domain:
    """Affine map and validation shared by the domains; lower, upper are the bounding box."""

    def __init__(self, lower, upper):
        self.lower = lower
        self.upper = upper
        self.n_dims = len(lower)
        self._width = upper - lower
        for array in (lower, upper, self._width):
            array.setflags(write=False)

    def to_unit(self, X):
        """Map points to the unit box.

        Parameters
        ----------
        X : array-like of shape (n, d) or (d,)
            Points in the domain's own units. They are not required to lie inside.

        Returns
        -------
        ndarray of the shape of X
            ``(X - lower) / (upper - lower)``; a coordinate of zero width gives 0.

        Raises
        ------
        InvalidObservationError
            When X is not made of reals or its last axis is not ``n_dims`` long.
        """
        X = self._last_axis(X, "X")
        flat = self._width == 0.0
        return np.where(flat, 0.0, (X - self.lower) / np.where(flat, 1.0, self._width))

    def from_unit(self, U):
        """Map points of the unit box to the domain's own units, the inverse of `to_unit`.

        Parameters
        ----------
        U : array-like of shape (n, d) or (d,)

        Returns
        -------
        ndarray of the shape of U
            Exactly ``lower`` at 0 and ``upper`` at 1. For a `FiniteSet` the result need not be
            a member.

        Raises
        ------
        InvalidObservationError
            When U is not made of reals or its last axis is not ``n_dims`` long.
        """
        U = self._last_axis(U, "U")
        return np.where(self._width == 0.0, self.lower, self.lower * (1.0 - U) + self.upper * U)

    def validate_point(self, x):
        """Return the point as this package uses it, or say what is wrong with it.

        Parameters
        ----------
        x : array-like of shape (d,), or a scalar when d = 1

        Returns
        -------
        ndarray of shape (d,), float64
            A new array that lies in the domain; rounding errors up to 1e-9 of the width are
            repaired.

        Raises
        ------
        InvalidObservationError
            Wrong shape, NaN, infinity, or something that is not a number.
        DomainError
            The point is outside of the domain.
        """
        return self._locate(self._as_point(x)[np.newaxis], "x")[0]

    def validate_points(self, X):
        """Do what `validate_point` does for the rows of X.

        Parameters
        ----------
        X : array-like of shape (n, d)

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

        Returns
        -------
        bool
            False for a point with NaN or infinity.

        Raises
        ------
        InvalidObservationError
            When x has the wrong shape or is not made of numbers.
        """
        point = self._as_point(x, finite=False)
        return bool(np.all(np.isfinite(point)) and self._inside(point[np.newaxis])[0])

    def _last_axis(self, value, what):
        array = real_array(value, what, InvalidObservationError)
        if array.ndim == 0 or array.shape[-1] != self.n_dims:
            raise InvalidObservationError(
                f"{what} must have {self.n_dims} coordinate(s) along its last axis, "
                f"got shape {array.shape}."
            )
        return array

    def _as_points(self, X):
        array = self._last_axis(X, "X")
        if array.ndim != 2:
            raise InvalidObservationError(
                f"X must have shape (n, {self.n_dims}), got {array.shape}; "
                "wrap a single point in a list."
            )
        return _finite(array, "X")

    def _as_point(self, x, finite=True):
        point = real_array(x, "x", InvalidObservationError)
        if point.ndim == 0 and self.n_dims == 1:
            point = point.reshape(1)
        if point.shape != (self.n_dims,):
            raise InvalidObservationError(
                f"x must have shape ({self.n_dims},), one number per dimension of the domain, "
                f"got shape {point.shape}."
            )
        return _finite(point, "x") if finite else point


def _finite(array, what):
    if not np.all(np.isfinite(array)):
        where = tuple(np.argwhere(~np.isfinite(array))[0].tolist())
        raise InvalidObservationError(
            f"{what} must be finite, got {array[where]} at {what}[{', '.join(map(str, where))}]."
        )
    return array


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
    n_dims : int
        Number of dimensions d.

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
        super().__init__(array[:, 0].copy(), array[:, 1].copy())

    def sample(self, n, rng=None):
        """Draw points uniformly.

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
        return self.from_unit(check_random_state(rng).uniform(size=(n, self.n_dims)))

    def _inside(self, X):
        slack = _TOLERANCE * self._width
        return np.all((self.lower - slack <= X) & (self.upper + slack >= X), axis=1)

    def _locate(self, X, what):
        outside = np.flatnonzero(~self._inside(X))
        if outside.size:
            row = X[outside[0]]
            i = int(np.argmax(np.maximum(self.lower - row, row - self.upper) / self._width))
            name = f"x[{i}]" if what == "x" else f"{what}[{outside[0]}, {i}]"
            raise DomainError(
                f"{name} must lie in [{self.lower[i]}, {self.upper[i]}], got {row[i]}."
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
    n_dims : int
        Number of dimensions d.

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
        super().__init__(lower, upper)
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


def as_domain(domain):
    """Return a domain from any of the forms in which users give one.

    Parameters
    ----------
    domain : Box, FiniteSet, sequence of (low, high) pairs, or scipy.optimize.Bounds
        A `Box` or a `FiniteSet` is returned as it is.

    Returns
    -------
    Box or FiniteSet

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
    if isinstance(domain, Box | FiniteSet):
        return domain
    if isinstance(domain, Bounds):
        lower, upper = np.broadcast_arrays(np.atleast_1d(domain.lb), np.atleast_1d(domain.ub))
        return Box(np.column_stack([lower, upper]))
    if isinstance(domain, np.ndarray) or (
        isinstance(domain, Sequence) and not isinstance(domain, str | bytes)
    ):
        return Box(domain)
    raise DomainError(
        "domain must be a Box, a FiniteSet, a sequence of (low, high) pairs or a "
        f"scipy.optimize.Bounds, got {type(domain).__name__}."
    )
