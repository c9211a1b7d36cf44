"""Finite domains."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial import KDTree

from .._tables import as_table
from .._validation import check_int, check_random_state, invalid_domain, real_array
from .._values import distinct_rows
from ..exceptions import DomainError
from ._base import FEWER_DIGITS, TOLERANCE, Domain, have_fewer_digits

if TYPE_CHECKING:
    from .._typing import Array, Indices, RandomState

# A repr shows this many members at each end of a larger set.
_N_SHOWN = 3


class FiniteSet(Domain):
    """A finite set of points, such as the arms of a bandit or the positions of sensors.

    Parameters
    ----------
    points : array-like of shape (m, d), a data frame or a dict of columns
        The members, finite and distinct, at least one. The names of columns are those of the
        coordinates: data frames of points are matched by them.

    Attributes
    ----------
    points : ndarray of shape (m, d)
        The members in the order given, read-only.
    lower, upper : ndarray of shape (d,)
        The bounding box, read-only.
    n_dims, n_unit : int
        Number of dimensions d, and of coordinates of the unit form, here the same.
    continuous : ndarray of bool of shape (n_unit,)
        False everywhere.
    size : int
        Number of members m.

    Raises
    ------
    DomainError
        There is no point, a point is not finite, or two are equal.

    Examples
    --------
    >>> from sktvbo.domain import FiniteSet
    >>> arms = FiniteSet([[0.0, 0.0], [1.0, 2.0], [4.0, 2.0]])
    >>> arms.index([1.0, 2.0])
    1
    >>> arms.to_unit([1.0, 2.0])
    array([0.25, 1.  ])
    """

    def __init__(self, points: ArrayLike) -> None:
        table = as_table(points)
        if table is not None and all(isinstance(name, str) for name in table):
            self._names, self.is_named = tuple(table), True
        if table is not None:
            name = f"The 'points' parameter of {type(self).__name__}"
            columns = [
                real_array(c, f"{name}, column {k!r},", DomainError) for k, c in table.items()
            ]
            points = np.column_stack(columns)
        self.points = self._checked(points)
        self.points.setflags(write=False)
        super().__init__(
            self.points.min(axis=0),
            self.points.max(axis=0),
            np.zeros(self.points.shape[1], dtype=bool),
            len(self.points),
        )
        self._origin, self._width = self._unit_frame()
        # Without a width, rounding errors are relative to the coordinate itself.
        self._scale = np.where(self._width > 0.0, self._width, np.maximum(np.abs(self.lower), 1.0))
        self._members = self._to_unit(self.points)
        self._members.setflags(write=False)
        self._tree = KDTree(self._members)
        self._slack = self._slacks()

    @property
    def columns(self) -> tuple[str, ...]:
        return self._names if self.is_named else super().columns

    def _checked(self, points):
        array = real_array(points, f"The 'points' parameter of {type(self).__name__}", DomainError)
        array += 0.0  # turns -0.0 into 0.0, so that equal sets have equal hashes
        wrong = partial(invalid_domain, "points", owner=self)
        if array.ndim != 2 or array.size == 0:
            advice = "For one dimension give [[a], [b], ...]."
            expected = "an array of shape (m, d) with m, d >= 1"
            raise wrong(expected, got=f"shape {array.shape}", advice=advice)
        if not np.all(np.isfinite(array)):
            i = int(np.argwhere(~np.isfinite(array))[0, 0])
            raise wrong("finite", got=f"{array[i].tolist()} in row {i}")
        unique, first = distinct_rows(array)
        if len(unique) < len(array):
            i = int(np.setdiff1d(np.arange(len(array)), first)[0])
            got = f"{array[i].tolist()} in row {i} again"
            raise wrong("distinct", got=got, advice="Give each point once.")
        with np.errstate(over="ignore"):
            if not np.all(np.isfinite(np.ptp(array, axis=0))):
                raise wrong("points that span a finite width", got="one that overflows")
        return array

    def _slacks(self):
        """Return the largest distances (m,) of points with fewer digits from members, unit form."""
        if self.size == 1:
            return np.zeros(1)
        return FEWER_DIGITS * self._tree.query(self._members, k=2, p=np.inf)[0][:, 1]

    def _unit_frame(self):
        """Return the origin of the unit form (d,), and the divisors of the coordinates (d,)."""
        return self.lower, self.upper - self.lower

    def sample(self, n: int, rng: RandomState = None) -> Array:
        """Draw members uniformly, without replacement as long as there are enough.

        Parameters
        ----------
        n : int
            Number of rows.
        rng : int, RandomState, Generator or None
            Source of randomness.

        Returns
        -------
        ndarray of shape (n, d)
        """
        m = len(self.points)
        return self.points[check_random_state(rng).choice(m, size=n, replace=n > m)]

    def candidates(self, n: int, rng: RandomState = None) -> Array:
        """Return all members, in the order of ``points``.

        Parameters
        ----------
        n : int
            Not used: there are no more.
        rng : int, RandomState or Generator, default=None
            Not used.

        Returns
        -------
        ndarray of shape (m, n_unit)
            In unit form.
        """
        return self._members

    def neighbours(self, u: ArrayLike) -> Array:
        """Return all other members.

        Parameters
        ----------
        u : ndarray of shape (n_unit,)
            A member, in unit form.

        Returns
        -------
        ndarray of shape (m - 1, n_unit)
            In unit form.
        """
        here = self._tree.query(u, p=np.inf)[1]
        return np.delete(self._members, here, axis=0)

    def index(self, x: ArrayLike) -> int:
        """Return the row of a member in ``points``.

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

    def indices(self, X: ArrayLike) -> Indices:
        """Return the rows of many members in ``points``, see `index`.

        Parameters
        ----------
        X : array-like of shape (n, d)

        Returns
        -------
        ndarray of int of shape (n,)

        Raises
        ------
        InvalidObservationError
            Wrong shape, NaN, infinity, or something that is not a number.
        DomainError
            A row is not a member.
        """
        return self._indices(self._as_points(X), "X")

    def _to_unit(self, X):
        return (X - self._origin) / self._scale

    def _from_unit(self, U):
        nearest = self._tree.query(np.where(self._width > 0.0, U, 0.0), p=np.inf)[1]
        return self.points[nearest]

    def _nearest(self, X):
        """Return distances (n,) to the nearest members, over the scales, and their indices."""
        return self._tree.query(self._to_unit(X), p=np.inf)

    def _inside(self, X):
        return self._are(X, *self._nearest(X))

    def _are(self, X, distance, index):
        """Return a mask (n,) of the rows X (n, d) that are members up to missing digits."""
        inside = distance <= TOLERANCE
        near = np.flatnonzero(~inside & (distance <= self._slack[index]))
        inside[near] = have_fewer_digits(X[near], self.points[index[near]]).all(axis=1)
        return inside

    def _indices(self, X, what):
        distance, index = self._nearest(X)
        strange = np.flatnonzero(~self._are(X, distance, index))
        if strange.size:
            i = strange[0]
            raise invalid_domain(
                what if what == "x" else f"{what}[{i}]",
                f"one of the {len(self.points)} points of the domain",
                got=f"{X[i].tolist()}",
                advice=f"The nearest is {self.points[index[i]].tolist()} (index {index[i]}).",
            )
        return index

    def _locate(self, X, what):
        return self.points[self._indices(X, what)]

    def _arguments(self):
        if self.is_named:
            return (dict(zip(self.columns, self.points.T.tolist())),)
        return (self.points.tolist(),)

    def _shown(self):
        if self.size <= 2 * _N_SHOWN:
            return super()._shown()
        ends = self.points[:_N_SHOWN], self.points[-_N_SHOWN:]
        first, last = (repr(points.tolist())[1:-1] for points in ends)
        return f"[{first}, ..., {last}], shape={self.points.shape}"

    def _key(self):
        return self.columns, self.points.shape, self.points.tobytes()


class Arms(FiniteSet):
    """The arms 0, 1, ..., n - 1 of a bandit, without any order or distance.

    The unit form of an arm is its index itself, as expected by a kernel of arms such as
    `sktvbo.kernels.Empirical`. Kernels of distances treat arms with near indices as alike: for arms
    with coordinates use a `FiniteSet` of these.

    Parameters
    ----------
    n_arms : int or list of int
        Number of arms, at least one; or the indices of those that may be queried.

    Attributes
    ----------
    points : ndarray of shape (size, 1)
        The indices, read-only, in ascending order.
    size : int
        Number of arms. All else is as in `FiniteSet`.

    Raises
    ------
    DomainError
        n_arms is not a positive int, or a list of distinct indices.

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

    def __init__(self, n_arms: int | Sequence[int]) -> None:
        if np.ndim(n_arms) == 1 and len(n_arms):
            arms = [check_int(i, "n_arms", self, low=0, error=DomainError) for i in n_arms]
        else:
            arms = range(check_int(n_arms, "n_arms", self, error=DomainError))
        super().__init__(np.array(sorted(arms), dtype=np.float64)[:, np.newaxis])

    def _unit_frame(self):
        # The maps to the unit form and back are the identity.
        return np.zeros(1), np.ones(1)

    def _slacks(self):
        return np.zeros(self.size)  # indices are exact

    def _arguments(self):
        arms = self.points[:, 0].astype(int).tolist()
        return (self.size if arms == list(range(self.size)) else arms,)

    def _shown(self):
        return repr(self._arguments()[0])

    def _key(self):
        return self.points.tobytes()
