"""Products: a box of real dimensions, and named parameters of any kind."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import Bounds
from scipy.stats import qmc

from .._tables import Row, check_names, rows_of
from .._validation import check_random_state, invalid_domain, real_array
from ..exceptions import DomainError
from ._base import Domain
from ._terms import Categorical, Ordinal, Real, named_term

if TYPE_CHECKING:
    from .._typing import Array, Point, RandomState


@lru_cache(maxsize=32)
def _sobol_digits(n, d):
    """Return the first n Sobol points (n, d) of the unit box as 32 binary digits; read only."""
    # To scramble them takes a third of a query with 60 observations.
    digits = (qmc.Sobol(d, scramble=False).random(n) * 2.0**32).astype(np.uint32)
    digits.flags.writeable = False
    return digits


def _mean_step(term):
    """Return the mean distance between neighbouring values in unit form; NaN for categories."""
    if math.isinf(term.size):
        return 0.0
    return np.nan if term.order == "unordered" or term.size == 1 else 1.0 / (term.size - 1)


class _Product(Domain):
    """A product of terms: rows and unit forms are concatenated from those of the terms."""

    def __init__(self, terms: Sequence[Any]) -> None:
        # Each term with its columns of a row, and with those of the unit form.
        self._of_rows = list(zip(terms, _columns([term.n_dims for term in terms])))
        self._of_unit = list(zip(terms, _columns([term.n_unit for term in terms])))
        n_dims = [term.n_dims for term in terms]
        infinite = [math.isinf(term.size) for term in terms]
        super().__init__(
            np.hstack([term.low for term in terms]),
            np.hstack([term.high for term in terms]),
            np.repeat(
                [is_real and term.climbs for is_real, term in zip(infinite, terms)],
                [term.n_unit for term in terms],
            ),
            math.inf if any(infinite) else math.prod(term.size for term in terms),
        )
        self.kinds = np.repeat([term.order for term in terms], n_dims)
        self.learnt = np.repeat([term.is_learnt for term in terms], n_dims)
        self.steps = np.repeat([_mean_step(term) for term in terms], n_dims)
        widths = np.repeat([term.n_unit // term.n_dims for term in terms], n_dims)
        self.unit_columns = np.cumsum(widths) - widths
        self.categories = [
            columns.start + term.members().astype(int)
            for term, columns in self._of_unit
            if isinstance(term, Categorical)
        ]

    def sample(self, n: int, rng: RandomState = None) -> Array:
        """Draw rows uniformly, in the logarithm for "log-real" parameters.

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
        return self.quantile(check_random_state(rng).uniform(size=(n, self.n_dims)))

    def quantile(self, Q: ArrayLike) -> Array:
        """Map numbers that are uniform in [0, 1] to rows that are uniform in the domain.

        Parameters
        ----------
        Q : array-like of shape (n, d)
            Independent, one for each parameter.

        Returns
        -------
        ndarray of shape (n, d)
        """
        return _joined("quantile", np.asarray(Q), self._of_rows)

    def candidates(self, n: int, rng: RandomState = None) -> Array:
        """Return points from which a search starts: all members if at most n, or Sobol points.

        Parameters
        ----------
        n : int
            Number of Sobol points, a power of two.
        rng : int, RandomState or Generator, default=None
            Shifts the Sobol points, digit by digit (XOR).

        Returns
        -------
        ndarray of shape (n, n_unit) or (size, n_unit), in unit form
        """
        if self.size <= n:
            return self._members
        return self._to_unit(self.quantile(self._sobol(n, rng)))

    @cached_property
    def _members(self):
        """All members in unit form (size, n_unit), in lexicographic order; read only."""
        values = [term.members() for term, _ in self._of_rows]
        members = self._to_unit(np.array(list(itertools.product(*values))))
        members.setflags(write=False)
        return members

    def decode_measured(self, x: ArrayLike) -> Point:
        """Return a row in the user's form, also outside of the domain.

        Parameters
        ----------
        x : array-like of shape (d,)
            NaN where a context is not given.

        Returns
        -------
        ndarray of shape (d,), or a dict of named parameters
            NaN where the row is NaN.
        """
        return np.array(x)

    def neighbours(self, u: ArrayLike) -> Array:
        """Return members that differ in one category or integer.

        All other values of a category; integers, and values of a list, that are 1, 2, 4, ... away.

        Parameters
        ----------
        u : array-like of shape (n_unit,)
            A member, in unit form.

        Returns
        -------
        ndarray of shape (k, n_unit)
            In unit form.
        """
        u = np.asarray(u, dtype=np.float64)
        values = [(term.neighbours(u[columns]), columns) for term, columns in self._of_unit]
        neighbours, start = np.tile(u, (sum(len(part) for part, _ in values), 1)), 0
        for part, columns in values:
            neighbours[start : start + len(part), columns] = part
            start += len(part)
        return neighbours

    def _sobol(self, n, rng):
        """Return Sobol points (n, d) of the unit box, shifted at random unless rng is None."""
        digits = _sobol_digits(n, self.n_dims)
        if rng is not None:
            rng = check_random_state(rng)
            digits = digits ^ rng.randint(2**32, size=self.n_dims, dtype=np.uint32)
        return digits * 2.0**-32

    def _to_unit(self, X):
        return _joined("to_unit", X, self._of_rows)

    def _from_unit(self, U):
        return _joined("from_unit", U, self._of_unit)

    def _inside(self, X):
        return np.all(_joined("inside", X, self._of_rows), axis=1)

    def _locate(self, X, what):
        nearest = _joined("nearest", X, self._of_rows)
        if (nearest == X).all():  # true of most points: a row that equals a member is inside
            return nearest
        inside = _joined("inside", X, self._of_rows)
        if not inside.all():
            row, i = np.argwhere(~inside)[0].tolist()
            term = next(term for term, columns in self._of_rows if i < columns.stop)
            expected = term.expected.format(self.lower[i], self.upper[i])
            raise invalid_domain(self._place(what, row, i), expected, X[row, i].item())
        return nearest


def _columns(widths):
    """Return slices of adjacent columns with these widths."""
    stops = itertools.accumulate(widths)
    return [slice(stop - width, stop) for width, stop in zip(widths, stops)]


def _joined(method, array, parts):
    """Return the results of a method of each term for its columns of an array, side by side."""
    blocks = [getattr(term, method)(array[:, columns]) for term, columns in parts]
    return blocks[0] if len(blocks) == 1 else np.concatenate(blocks, axis=1)


class Box(_Product):
    """A box, the product of one interval per dimension.

    For an angle, whose two ends are one point, use a "cyclic" parameter of a `ParameterSpace`.

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
    continuous : ndarray of bool of shape (n_unit,)
        True everywhere.
    size : float
        Number of members, infinity.

    Raises
    ------
    DomainError
        The bounds are invalid.

    Examples
    --------
    >>> from sktvbo.domain import Box
    >>> box = Box([(0.0, 10.0), (-1.0, 1.0)])
    >>> box.to_unit([5.0, 0.0])
    array([0.5, 0.5])
    >>> box.contains([11.0, 0.0])
    False
    """

    def __init__(self, bounds: ArrayLike | Bounds) -> None:
        array = real_array(bounds, "The 'bounds' parameter of Box", DomainError)
        if array.ndim != 2 or array.shape[1] != 2 or len(array) == 0:
            expected, got = "an array of shape (d, 2) with d >= 1", f"shape {array.shape}"
            advice = "Give one (low, high) pair per dimension, [(low, high)] for one dimension."
            raise invalid_domain("bounds", expected, None, self, got=got, advice=advice)
        for i, (low, high) in enumerate(array.tolist()):
            Real.check(low, high, f"bounds[{i}]")
        # All intervals are one term of d columns, which avoids a loop over the dimensions.
        super().__init__([Real(array[:, 0].copy(), array[:, 1].copy())])

    def candidates(self, n: int, rng: RandomState = None) -> Array:
        """Return Sobol points, from which a search starts.

        Parameters
        ----------
        n : int
            Number of Sobol points, a power of two.
        rng : int, RandomState or Generator, default=None
            Shifts them, digit by digit (XOR).

        Returns
        -------
        ndarray of shape (n, n_unit)
        """
        return self._sobol(n, rng)

    def _arguments(self):
        return (list(zip(self.lower.tolist(), self.upper.tolist())),)

    def _key(self):
        return tuple(*self._arguments())


class ParameterSpace(_Product):
    """Named parameters: reals, integers, lists of numbers, ordinals and categories.

    A point is a dict, such as ``estimator.set_params`` takes. Histories hold its *row*, one number
    per parameter in the order of the dict: the number, or the position of the ordinal or category.
    The input of a surrogate is the *unit form*: reals, integers and positions scaled to [0, 1],
    "log-real" and "log-integer" after the logarithm. A cyclic parameter has two columns, cosine and
    sine on a circle of diameter 1. A category has one column per value, √½ in its
    own and 0 in the others, so that the distance of any two categories is 1.

    Parameters
    ----------
    parameters : dict of str to tuple or list
        - ``("real", low, high)`` with low < high;
        - ``("log-real", low, high)`` with 0 < low < high;
        - ``("cyclic", low, high)``, such as an angle or an hour: high is low again, and distances
          are those on the circle. Numbers beyond are turned back into [low, high);
        - ``("integer", low, high)``, both included, low <= high, at most 2**50 in size;
        - ``("log-integer", low, high)``, the same with 1 <= low;
        - ``("discrete", values)``, a list of numbers at their distances: 0, 1, 2, 10;
        - ``("ordinal", values)``, a list of distinct values in their order, each one step from the
          next: "low", "medium", "high", or numbers on a scale of another kind: 16, 32, 64;
        - ``("categorical", values)``, a list of distinct values of any type, without an order. They
          are compared by ``==`` and type: 1 and True differ, 1 and ``numpy.int64(1)`` do not;
        - a third item of the latter two, a list of some of the values: only those may be queried;
        - as for scikit-learn's ``RandomizedSearchCV``, a list or an array of categories; two
          numbers low < high, which may be meant as a range, are an error. For its distributions
          ``uniform``, ``loguniform`` and ``randint`` write "real", "log-real" and "integer".

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
    continuous : ndarray of bool of shape (n_unit,)
        Coordinates of the unit form that belong to reals.
    size : int or float
        Number of members, infinity with a real among the parameters.

    Raises
    ------
    DomainError
        The parameters are invalid.

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

    is_named = True

    def __init__(self, parameters: Mapping[str, Any]) -> None:
        if not isinstance(parameters, Mapping) or not parameters:
            expected = "a dict of at least one named parameter"
            raise invalid_domain("parameters", expected, parameters, self)
        for name in parameters:
            if not isinstance(name, str):
                expected = "a dict whose names are strings"
                raise invalid_domain("parameters", expected, name, self)
        self._parameters = {
            name: named_term(spec, f"parameters[{name!r}]") for name, spec in parameters.items()
        }
        self.names = tuple(self._parameters)
        terms = list(self._parameters.values())
        super().__init__(terms)
        ordinals = {i: term for i, term in enumerate(terms) if isinstance(term, Ordinal)}
        self._values = {i: term.numbers for i, term in ordinals.items()}

    @property
    def columns(self) -> tuple[str, ...]:
        return self.names

    def learnt_from(self, rows: Array) -> ParameterSpace:
        return self._with_terms(lambda term, i: term.learnt_from(rows[:, i]))

    def ranging(self, lower: Array, upper: Array) -> ParameterSpace:
        bounds = list(zip(lower.tolist(), upper.tolist()))
        return self._with_terms(lambda term, i: term.ranging(*bounds[i]))

    def _with_terms(self, change):
        """Return the space after a change (term, column) of terms whose ranges are learnt."""
        new = ParameterSpace(self.parameters)
        new._parameters = {
            name: change(term, i) if term.is_learnt else term
            for i, (name, term) in enumerate(self._parameters.items())
        }
        _Product.__init__(new, list(new._parameters.values()))
        return new

    @property
    def parameters(self) -> dict[str, Any]:
        """Parameters by name, a new dict."""
        return {name: term.spec for name, term in self._parameters.items()}

    @property
    def number_bounds(self) -> Array:
        bounds = super().number_bounds
        for i, values in self._values.items():
            bounds[:, i] = (np.nan, np.nan) if values is None else (values.min(), values.max())
        return bounds

    def numbers(self, X: Array) -> Array:
        X = np.array(X)
        for i, values in self._values.items():
            if values is not None:
                X[:, i] = values[X[:, i].astype(int)]
        return X

    def decode(self, x: ArrayLike) -> dict[str, Any]:
        """Return the point of a row as a dict of floats, ints and categories.

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

    def decode_measured(self, x: ArrayLike) -> dict[str, Any]:
        return {
            name: term.decode(v) if isinstance(term, Ordinal) and not np.isnan(v) else float(v)
            for (name, term), v in zip(self._parameters.items(), x)
        }

    def described(self, rows: ArrayLike) -> dict[str, Any]:
        terms = zip(self._parameters.items(), np.asarray(rows).T.tolist())
        return {name: [term.decode(v) for v in values] for (name, term), values in terms}

    def decode_all(self, rows: ArrayLike) -> list[dict[str, Any]]:
        """Return the points of rows as a list of dicts, see `decode`."""
        columns = self.described(self.validate_points(rows)).values()
        return [dict(zip(self.names, values)) for values in zip(*columns)]

    def to_unit(self, X: ArrayLike) -> Array:
        X = self._numbers(X)
        rows = self._locate(self._finite(X.reshape(-1, self.n_dims), "X"), "X")
        return self._to_unit(rows).reshape(*X.shape[:-1], self.n_unit)

    def _encode(self, point, what, *where):
        """Return the row of a dict, which may lie outside of the domain."""
        label = "".join([what, *(f"[{i}]" for i in where)])
        check_names(point, self.names, label, "a dict of the parameters")
        if isinstance(point, Row):
            point = {name: term.of_table(point[name]) for name, term in self._parameters.items()}
        return [
            term.encode(point[name], self._place(what, *where, i))
            for i, (name, term) in enumerate(self._parameters.items())
        ]

    def _of_table(self, table):
        rows = [self._encode(row, "X", i) for i, row in enumerate(rows_of(table))]
        return np.reshape(rows, (-1, self.n_dims))

    def _label(self, i):
        return repr(self.names[i])

    def _arguments(self):
        return (self.parameters,)

    def _shown(self):
        terms = self._parameters.items()
        return f"{{{', '.join(f'{name!r}: {term.spec!r}' for name, term in terms)}}}"

    def _key(self):
        return self.names, tuple(term.key for term in self._parameters.values())
