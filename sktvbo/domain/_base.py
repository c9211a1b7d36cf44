"""Base class of domains: the two forms of a point, validation, equality and copies."""

from __future__ import annotations

from decimal import Decimal
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from .._tables import as_row, as_table, check_names, is_table
from .._validation import invalid_observation, real_array
from ..exceptions import DomainError, InvalidObservationError
from ._search_space import SearchSpace

if TYPE_CHECKING:
    from collections.abc import Callable

    from .._typing import Array, ContextsLike, Mask, Point, PointLike, Points, PointsLike

# Outside by less than this, relative to the width of the coordinate: a rounding error.
TOLERANCE = 1e-9

# A number with fewer digits than one of a list differs from it by less than this part of the
# distance to the next one.
FEWER_DIGITS = 2e-3


def have_fewer_digits(rounded, numbers):
    """Return a mask (...) of the numbers that are others with fewer decimals, or as float32."""
    pairs = zip(np.ravel(rounded).tolist(), np.ravel(numbers).tolist())
    same = [
        v == n
        or np.float32(v) == np.float32(n)
        or round(n, -Decimal(repr(v)).as_tuple().exponent) == v
        for v, n in pairs
    ]
    return np.reshape(np.array(same, dtype=bool), np.shape(rounded))


class Domain:
    """A set of points, each with a row (d,) and a unit form (u,).

    A subclass offers ``sample``, ``candidates`` and ``neighbours``, and defines:

    - ``_to_unit(X)``: unit form (n, n_unit) of rows X (n, d), which may be outside of the domain;
    - ``_from_unit(U)``: the members (n, d) nearest to U (n, n_unit), a new array;
    - ``_inside(X)``: mask (n,) of the finite rows X (n, d) that are members, up to rounding errors;
    - ``_locate(X, what)``: these members (n, d) without rounding errors, a new array, or a
      `DomainError` about ``what``;
    - ``_arguments()``: the constructor's arguments (tuple), whose reprs evaluate to them;
    - ``_key()``: a hashable value, equal for equal domains of one type.

    It may define ``_shown()`` if the arguments are too long for a repr; ``kinds`` and
    ``unit_columns`` if coordinates are continuous; and ``search_space`` if only some points may be
    queried.

    Parameters
    ----------
    lower, upper : ndarray of shape (d,)
        Bounds of the rows.
    continuous : ndarray of bool of shape (n_unit,)
        Unit coordinates that a gradient may move.
    size : int or float
        Number of members, or infinity.

    Attributes
    ----------
    kinds : ndarray of str of shape (d,)
        For each coordinate of a row: "straight" if the unit form is linear in it, "curved" if it is
        real and the unit form is not linear, "steps" for integers, listed numbers and the
        coordinates of points, "cyclic", "labels" for ordinals or "unordered" for categories.
    unit_columns : ndarray of int of shape (d,)
        The first unit coordinate of each coordinate of a row.
    steps : ndarray of shape (d,)
        Mean distance between neighbouring values of each parameter in unit form: 0 for reals, NaN
        for categories and in a set of points.
    learnt : ndarray of bool of shape (d,)
        Coordinates of a context whose range is not declared, and follows the measured values.
    n_chosen : int
        Number of dimensions that are chosen rather than measured; they come first in a row.
    """

    # True if constraints exclude some of the points.
    is_constrained = False

    # True if the user named the columns of a row.
    is_named = False

    # For each parameter that is a category, the unit columns of its values that may be queried.
    categories = ()

    def __init__(self, lower: Array, upper: Array, continuous: Mask, size: float) -> None:
        self.lower = lower
        self.upper = upper
        self.continuous = continuous
        self.n_dims = self.n_chosen = len(lower)
        self.kinds = np.repeat("steps", len(lower))
        self.unit_columns = np.arange(len(lower))
        self.steps = np.full(len(lower), np.nan)
        self.learnt = np.zeros(len(lower), dtype=bool)
        self.n_unit = len(continuous)
        self.size = size
        for array in (lower, upper, continuous):
            array.setflags(write=False)

    @property
    def circular(self) -> Mask:
        """Coordinates of the unit form (n_unit,) that belong to cyclic parameters."""
        return self.unit_mask(self.kinds == "cyclic")

    def unit_mask(self, chosen: Mask) -> Mask:
        """Return a mask of the unit coordinates that belong to chosen coordinates of a row.

        Parameters
        ----------
        chosen : ndarray of bool of shape (d,)

        Returns
        -------
        ndarray of bool of shape (n_unit,)
        """
        return np.repeat(chosen, np.diff(self.unit_columns, append=self.n_unit))

    # --- the two forms of a point -----------------------------------------------------------------

    def to_unit(self, X: ArrayLike) -> Array:
        """Map rows to their unit form.

        Parameters
        ----------
        X : array-like of shape (n, d) or (d,)
            Rows in the domain's own units.

        Returns
        -------
        ndarray of shape (n, n_unit) or (n_unit,)
            For a `Box` and a `FiniteSet` ``(X - lower) / (upper - lower)``, also outside of the
            domain; a coordinate of zero width gives 0. For a `ParameterSpace` see there.

        Raises
        ------
        InvalidObservationError
            X is not made of reals, or its last axis is not ``n_dims`` long.
        DomainError
            A row is not a member of a `ParameterSpace`; see `unit_of`.
        """
        X = self._numbers(X)
        U = self._to_unit(X.reshape(-1, self.n_dims))
        return U.reshape(*X.shape[:-1], self.n_unit)

    def unit_of(self, X: ArrayLike) -> Array:
        """Map rows to their unit form, also outside of the domain.

        Parameters
        ----------
        X : array-like of shape (n, d)

        Returns
        -------
        ndarray of shape (n, n_unit)
            NaN where it is undefined, such as the logarithm of a negative number.
        """
        with np.errstate(divide="ignore", invalid="ignore"):
            return self._to_unit(np.asarray(X, dtype=np.float64))

    def from_unit(self, U: ArrayLike) -> Array:
        """Map the unit form to rows, the inverse of `to_unit`.

        Parameters
        ----------
        U : array-like of shape (n, n_unit) or (n_unit,)

        Returns
        -------
        ndarray of shape (n, d) or (d,)
            The nearest members. For a `Box` exactly ``lower`` at 0 and ``upper`` at 1.

        Raises
        ------
        InvalidObservationError
            U is not made of reals, or its last axis is not ``n_unit`` long.
        """
        U = self._last_axis(U, "U", self.n_unit)
        X = self._from_unit(U.reshape(-1, self.n_unit))
        return X.reshape(*U.shape[:-1], self.n_dims)

    def decode(self, x: ArrayLike) -> Point:
        """Return the point of a row in the user's form: here, a copy of the row.

        Parameters
        ----------
        x : array-like of shape (d,)

        Returns
        -------
        ndarray of shape (d,), or a dict from a `ParameterSpace`
        """
        return np.array(x, dtype=np.float64)

    def decode_all(self, rows: ArrayLike) -> Points:
        """Return the points of rows in the user's form: here, a copy of the rows.

        Parameters
        ----------
        rows : array-like of shape (n, d)

        Returns
        -------
        ndarray of shape (n, d), or a list of dicts from a `ParameterSpace`
        """
        return np.array(rows, dtype=np.float64)

    # --- numbers of linear constraints ------------------------------------------------------------

    @property
    def number_bounds(self) -> Array:
        """Lowest and highest `numbers` (2, d); NaN where values are not numbers."""
        return np.array([self.lower, self.upper])

    def numbers(self, X: Array) -> Array:
        """Return rows with the values of ordinals, if numbers, in place of their positions.

        Parameters
        ----------
        X : ndarray of shape (n, d)

        Returns
        -------
        ndarray of shape (n, d)
        """
        return X

    # --- the space of a search --------------------------------------------------------------------

    @cached_property
    def _whole(self):
        return SearchSpace.whole(self)

    def search_space(self) -> SearchSpace:
        """Return the domain in the form for a maximizer.

        Returns
        -------
        SearchSpace
        """
        return self._whole

    def knowing(self, rows: Callable[[], Array], n_calls: int) -> Domain:
        """Return the domain in one step of a run.

        Parameters
        ----------
        rows : callable, () -> ndarray of shape (n, d)
            Returns points that may satisfy its constraints: others are searched near them.
        n_calls : int
            Calls of slow functions, for all searches in the step.

        Returns
        -------
        domain
            This one, without constraints.
        """
        return self

    def learnt_from(self, rows: Array) -> Domain:
        """Return the domain in which ranges that are not declared follow rows.

        Parameters
        ----------
        rows : ndarray of shape (n, d)

        Returns
        -------
        domain : Domain
            This one, if all are declared.
        """
        return self

    def ranging(self, lower: Array, upper: Array) -> Domain:
        """Return the domain with other bounds where ranges are learnt.

        Parameters
        ----------
        lower, upper : ndarray of shape (d,)
            Bounds of declared ranges are ignored.

        Returns
        -------
        domain : Domain
            This one, if all are declared.
        """
        return self

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns of a row, to which data frames are matched; x0, ... by default."""
        return tuple(f"x{i}" for i in range(self.n_dims))

    # --- contexts: a `WithContext` overrides this -------------------------------------------------

    def contexts(self, context: ContextsLike, n: int) -> Array:
        """Return the contexts of n points as rows, validated.

        Parameters
        ----------
        context : array-like, a dict, a list of dicts, or None
            One context for all points, or n of them; None on a domain without a context.
        n : int

        Returns
        -------
        ndarray of shape (n, c)
        """
        if context is not None:
            expected = "None for a domain without a context"
            raise invalid_observation("context", expected, context)
        return np.empty((n, 0))

    def place(self, x: PointLike, context: ContextsLike | None = None) -> Array:
        """Return the row of a point and its context.

        Parameters
        ----------
        x : array-like, or a dict for named parameters
            The point, see `validate_point`.
        context : array-like of shape (c,), a dict or None, default=None
            None on a domain without a context.

        Returns
        -------
        ndarray of shape (d,)
            NaN for a context that is not given.
        """
        if context is not None:
            self.contexts(context, 1)  # an error
        return self.validate_point(x)

    def places(self, X: PointsLike, context: ContextsLike | None = None) -> Array:
        """Return the rows of points and their contexts.

        Parameters
        ----------
        X : array-like, or a list of dicts for named parameters
            The points, see `validate_points`.
        context : array-like, a dict, a list of dicts, or None, default=None
            See `contexts`.

        Returns
        -------
        ndarray of shape (n, d)
            NaN for contexts that are not given.
        """
        self.contexts(context, 1)
        return self.validate_points(X)

    def described(self, rows: ArrayLike) -> dict[str, Any]:
        """Return the columns of rows by name, in the user's form.

        Parameters
        ----------
        rows : array-like of shape (n, d)

        Returns
        -------
        dict
            See ``columns`` for the names.
        """
        return dict(zip(self.columns, np.asarray(rows).T))

    def decode_context(self, x: ArrayLike) -> dict[str, Any] | Array | None:
        """Return the context of a row in the user's form.

        Parameters
        ----------
        x : ndarray of shape (d,)

        Returns
        -------
        ndarray of shape (c,), a dict, or None
            None on a domain without a context.
        """
        return None

    def queryable(self, X: ArrayLike) -> Mask:
        """Return a mask of the rows that may be queried.

        Parameters
        ----------
        X : ndarray of shape (n, d)
            Finite, apart from a context.

        Returns
        -------
        ndarray of bool of shape (n,)
        """
        return self._inside(np.asarray(X, dtype=np.float64))

    def members(self, limit: int) -> Array | None:
        """Return all members in unit form (m, n_unit), or None if there are more than a limit.

        Parameters
        ----------
        limit : int

        Returns
        -------
        ndarray of shape (m, n_unit) or None
        """
        return None if self.size > limit else self.candidates(limit)

    # --- which points are members -----------------------------------------------------------------

    def validate_point(self, x: PointLike) -> Array:
        """Return the row of a point, validated.

        Parameters
        ----------
        x : array-like of shape (d,), a scalar when d = 1, a dict or a Series
            The values of a dict or a Series are matched by name, see ``columns``.

        Returns
        -------
        ndarray of shape (d,)
            A new array, a member of the domain: rounding errors up to 1e-9 of the width are
            removed.

        Raises
        ------
        InvalidObservationError
            Wrong shape, NaN, infinity, something that is not a number; a parameter that is missing
            or unknown.
        DomainError
            The point is outside of the domain.
        """
        return self._locate(self._as_point(x)[np.newaxis], "x")[0]

    def validate_points(self, X: PointsLike) -> Array:
        """Return the rows of points, validated.

        Parameters
        ----------
        X : array-like of shape (n, d), a list of dicts for named parameters, or a table
            The columns of a data frame or a dict are matched by name, see ``columns``.

        Returns
        -------
        ndarray of shape (n, d)
            A new array.

        Raises
        ------
        InvalidObservationError
            Wrong shape, NaN, infinity, or something that is not a number.
        DomainError
            A row is outside of the domain.
        """
        return self._locate(self._as_points(X), "X")

    def as_row(self, x: PointLike) -> Array:
        """Return the row of a point, which may lie outside of the domain.

        Parameters
        ----------
        x : array-like of shape (d,), a scalar when d = 1, a dict or a Series
            The values of a dict or a Series are matched by name, see ``columns``.

        Returns
        -------
        ndarray of shape (d,)
            A new array.

        Raises
        ------
        InvalidObservationError
            Wrong shape, NaN, infinity, something that is not a number, wrong names.
        DomainError
            An unknown category.
        """
        return self._as_point(x)

    def contains(self, x: PointLike) -> bool:
        """Return True if a point is a member of the domain, up to rounding errors.

        Parameters
        ----------
        x : array-like of shape (d,), a scalar when d = 1, a dict or a Series
            The values of a dict or a Series are matched by name, see ``columns``.

        Returns
        -------
        bool
            False for a point with NaN or infinity.

        Raises
        ------
        InvalidObservationError
            x has the wrong shape or the wrong names, or is not made of numbers.
        """
        try:
            point = self._as_point(x, finite=False)
        except DomainError:  # an unknown category has no number
            return False
        return bool(np.all(np.isfinite(point)) and self._inside(point[np.newaxis])[0])

    # --- equality and copies ----------------------------------------------------------------------

    def __eq__(self, other):
        if not isinstance(other, Domain):
            return NotImplemented
        return type(self) is type(other) and self._key() == other._key()

    def __hash__(self):
        return hash((type(self), self._key()))

    def __repr__(self):
        return f"{type(self).__name__}({self._shown()})"

    def _shown(self):
        """The arguments of the constructor as text, for a repr."""
        return ", ".join(map(repr, self._arguments()))

    def __reduce__(self):
        # A learnt range is not an argument.
        state = (vars(self),) if self.learnt.any() else ()
        return type(self), self._arguments(), *state

    # --- validation of points ---------------------------------------------------------------------

    def _last_axis(self, value, what, length):
        array = real_array(value, what, InvalidObservationError)
        if array.ndim == 0 or array.shape[-1] != length:
            expected = f"an array with {length} coordinate(s) along its last axis"
            raise invalid_observation(what, expected, got=f"shape {array.shape}")
        return array

    def _numbers(self, X):
        """Return the rows of points in any form, as an array."""
        X = X if type(X) is np.ndarray else self._rows(X)
        return self._last_axis(X, "X", self.n_dims)

    def _rows(self, X):
        """Return the rows of a table or of labelled points; anything else unchanged."""
        table = as_table(X)
        if table is not None:
            return self._of_table(table)
        if isinstance(X, list | tuple):
            rows = [as_row(x) for x in X]
            if any(row is not None for row in rows):
                pairs = enumerate(zip(X, rows))
                return [x if row is None else self._encode(row, "X", i) for i, (x, row) in pairs]
        return X

    def _of_table(self, table):
        """Return the rows of a table."""
        names = self.columns
        if self._has_names(table):
            check_names(table, names, "X", "a table of the columns")
        else:
            names = list(table)
        columns = [real_array(table[k], f"X[{k!r}]", InvalidObservationError) for k in names]
        return np.column_stack(columns)

    def _has_names(self, labels):
        """Return True if labels are names; frames and Series without names have numbers."""
        return self.is_named or any(isinstance(label, str) for label in labels)

    def _encode(self, point, what, *where):
        """Return the row of a labelled point, which may lie outside of the domain."""
        what = "".join([what, *(f"[{i}]" for i in where)])
        if not self._has_names(point):
            return list(point.values())
        check_names(point, self.columns, what, "a dict of the coordinates")
        return [point[name] for name in self.columns]

    def _as_points(self, X):
        array = self._numbers(X)
        if array.ndim != 2:
            expected = f"an array of shape (n, {self.n_dims})"
            advice = "Wrap a single point in a list."
            raise invalid_observation("X", expected, got=f"shape {array.shape}", advice=advice)
        return self._finite(array, "X")

    def _as_point(self, x, finite=True):
        row = None if type(x) is np.ndarray else as_row(x)
        if row is not None:
            x = self._encode(row, "x")
        elif type(x) is not np.ndarray and is_table(x):
            advice = "Give one row of it, such as frame.iloc[0], or all rows to tell_many()."
            raise invalid_observation("x", "one point", got="a table", advice=advice)
        point = real_array(x, "x", InvalidObservationError)
        if point.ndim == 0 and self.n_dims == 1:
            point = point.reshape(1)
        if point.shape != (self.n_dims,):
            expected = f"an array of shape ({self.n_dims},), one number per dimension of the domain"
            raise invalid_observation("x", expected, got=f"shape {point.shape}")
        return self._finite(point, "x") if finite else point

    def _finite(self, array, what):
        finite = np.isfinite(array)
        if not finite.all():
            where = tuple(np.argwhere(~finite)[0].tolist())
            got = f"{array[where]} at {self._place(what, *where)}"
            raise invalid_observation(what, "finite", got=got)
        return array

    def _label(self, i):
        """Name of the i-th coordinate of a row in messages."""
        return str(i)

    def _place(self, what, *where):
        """Name of a coordinate in messages: x[i] of one point, X[row, i] of several."""
        *row, i = where
        return f"{what}[{', '.join([*map(str, row if what == 'X' else []), self._label(i)])}]"
