"""Constraints in the forms that users give: validated once, then evaluated at rows of a domain."""

import inspect
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TypeAlias

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, NonlinearConstraint
from scipy.sparse import issparse

from .._validation import invalid_domain, real_array
from ..exceptions import DomainError
from ._base import TOLERANCE

_EXPECTED = (
    "a LinearConstraint, a NonlinearConstraint or a callable of x, or a list of them, or None"
)

# Differences below this, relative to the terms of a sum, are rounding errors.
_ROUNDING = 8.0 * np.finfo(float).eps

# A callable of x, or of x and a context, returns True, or a number that is not negative, where x is
# feasible.
Constraint: TypeAlias = LinearConstraint | NonlinearConstraint | Callable[..., object]


class Rules:
    """All constraints, as functions of rows.

    Parameters
    ----------
    constraints : list of LinearConstraint, NonlinearConstraint and callables
    domain : domain
        Without constraints. Callables are given its points in the form of users.
    owner : object or str
        Named in errors.

    Attributes
    ----------
    equal : tuple of ndarray, (e, d) and (e,)
        Coefficients A and values b of the equations A x = b.
    rounding : ndarray of shape (e,)
        Rounding errors of A x - b.
    linear : tuple of ndarray, (k, d), (k,) and (k,)
        Coefficients and bounds of the other linear constraints.
    has_functions, by_answer : bool
        True if there are callables, and if one of them returns bools rather than numbers.
    """

    def __init__(self, constraints, domain, owner):
        linear = [c for c in constraints if isinstance(c, LinearConstraint)]
        parts = [_linear(c, domain, owner) for c in linear]
        none = np.empty((0, domain.n_dims)), *np.empty((4, 0))
        A, low, high, rounding, span = (np.concatenate(part) for part in zip(none, *parts))
        equal = _are_equal(low, high, rounding)
        self.equal, self.rounding = (A[equal], 0.5 * (low + high)[equal]), rounding[equal]
        self.linear = A[~equal], low[~equal], high[~equal]
        self.owner = owner
        self._tolerance = TOLERANCE * span[equal] + self.rounding
        self._decode_all, self.numbers = domain.decode_all, domain.numbers
        self._functions = [
            _FunctionConstraint(c, domain.decode(domain.sample(1, 0)[0]), owner)
            for c in constraints
            if not isinstance(c, LinearConstraint)
        ]
        self.has_functions = bool(self._functions)
        self.by_answer = any(function.by_answer for function in self._functions)

    def gaps(self, X):
        """Return the residuals (m, e) of the equations at rows X (m, d)."""
        A, b = self.equal
        return self.numbers(X) @ A.T - b

    def margins(self, X):
        """Return numbers (m, k) that must not be negative at rows X (m, d); not of bools."""
        A, low, high = self.linear
        margins = [_within(self.numbers(X) @ A.T, low, high)]
        functions = [function for function in self._functions if not function.by_answer]
        points = self._decode_all(X) if functions else ()
        for function in functions:
            margins.append(np.array([function(point) for point in points]).reshape(len(X), -1))
        return np.concatenate(margins, axis=1)

    def obeyed(self, X):
        """Return which of the rows X (m, d) satisfy all constraints (m,)."""
        A, low, high = self.linear
        obeyed = np.all(np.abs(self.gaps(X)) <= self._tolerance, axis=1)
        obeyed &= np.all(_within(self.numbers(X) @ A.T, low, high) >= 0.0, axis=1)
        # Functions may be slow: they are evaluated last, and only where all before are satisfied.
        if self._functions and obeyed.any():
            points = self._decode_all(X[obeyed])
            obeyed[obeyed] = [all(f.is_satisfied(x) for f in self._functions) for x in points]
        return obeyed


class _FunctionConstraint:
    """A function of a point: numbers (k,), none negative where the constraint is satisfied.

    It is evaluated at one point, to learn if it returns bools, and to validate it.
    """

    def __init__(self, constraint, point, owner):
        self.by_answer, self._owner, self._bounds = False, owner, None
        if isinstance(constraint, NonlinearConstraint):
            self._function, name = constraint.fun, "A NonlinearConstraint"
            low, high = (real_array(b, name, DomainError) for b in (constraint.lb, constraint.ub))
            self._bounds = low, high
            self._interval = (low.item(), high.item()) if low.size == high.size == 1 else None
            if np.any(np.isnan(low)) or np.any(np.isnan(high)) or not np.all(low < high):
                raise invalid_domain(
                    "constraints",
                    "without equations between functions, lb < ub",
                    owner=owner,
                    got=f"a NonlinearConstraint with lb={low.tolist()} and ub={high.tolist()}",
                    advice="Between plain reals give a LinearConstraint with lb = ub. Otherwise "
                    "solve it for one of the variables, and leave that one out.",
                )
        else:
            self._function, self._interval = constraint, (0.0, np.inf)
            self.by_answer = isinstance(self._answer(point), bool | np.bool_)
        self(point)

    def is_satisfied(self, point):
        """Return True if a point satisfies the constraint."""
        value = self._answer(point)
        if self.by_answer and isinstance(value, bool | np.bool_):
            return bool(value)
        is_number = isinstance(value, float | int | np.integer) and not self.by_answer
        if is_number and self._interval is not None:
            return bool(self._interval[0] <= value <= self._interval[1])
        return bool(np.all(self._numbers(value) >= 0.0))

    def __call__(self, point):
        return self._numbers(self._answer(point))

    def _answer(self, point):
        """Return the value of the function."""
        try:
            return self._function(point)
        except LookupError as exc:
            description = f"x of shape {np.shape(point)}"
            if isinstance(point, Mapping):
                description = ", ".join(map(repr, point))
            raise invalid_domain(
                "constraints",
                f"functions of what is chosen, {description}",
                owner=self._owner,
                got=f"one that raises {type(exc).__name__}: {exc}",
                advice="A function that reads a context has it as second argument.",
            ) from exc

    def _numbers(self, value):
        """Return numbers (k,), none negative if satisfied, for a value of the function."""
        name = f"What {getattr(self._function, '__name__', 'a constraint')} returns"
        if self.by_answer:
            if not isinstance(value, bool | np.bool_):
                raise invalid_domain(name, "a bool here, as it was before", value)
            return np.array([0.0 if value else -np.inf])
        if value is None:
            expected = "True, False or a number"
            raise invalid_domain(name, expected, None, advice="Does it lack a return?")
        values = real_array(value, name, DomainError)
        if self._bounds is None:
            if values.size != 1 or values.ndim > 1:
                expected = "a bool, or a number that is not negative where x may be queried"
                raise invalid_domain(name, expected, value)
            values = values.reshape(1)
        else:
            low, high = self._bounds
            if values.ndim > 1 or low.size not in (1, values.size):
                expected = f"{low.size} number(s), as many as there are bounds"
                raise invalid_domain(name, expected, got=f"shape {values.shape}")
            values = _within(np.atleast_1d(values), low, high)
        # Where the function is not defined, a query is not either.
        return np.where(np.isnan(values), -np.inf, values)


def _within(values, low, high):
    """Return distances of values (..., k) from the nearer of two bounds, negative outside."""
    return np.minimum(values - low, high - values)


def _linear(constraint, domain, owner):
    """Return a LinearConstraint, validated: coefficients (k, d) and bounds (k,), (k,).

    And of each sum the rounding error (k,), and the largest range of a term in the domain (k,).
    """

    wrong = partial(invalid_domain, "constraints", owner=owner)
    A = coefficients(constraint)
    if A.shape[1] != domain.n_dims:
        got = f"a LinearConstraint with A of shape {A.shape}"
        raise wrong(f"linear in {domain.n_dims} number(s), one per dimension", got=got)
    name = "A bound of a LinearConstraint"
    bounds = (real_array(b, name, DomainError) for b in (constraint.lb, constraint.ub))
    low, high = (np.array(np.broadcast_to(b, len(A))) for b in bounds)
    if not np.isfinite(A).all() or not np.all(low <= high):
        raise wrong("made of finite coefficients, and lb <= ub", got=f"{A}, {low} and {high}")
    ends = domain.number_bounds
    for i in np.flatnonzero(np.any(A != 0.0, axis=0) & np.isnan(ends[0])):
        what = "category" if domain.kinds[i] == "unordered" else "ordinal without numbers,"
        got = f"a coefficient of the {what} {domain.columns[i]!r}"
        raise wrong("linear in numbers", got=got, advice="Give a callable.")
    span = (np.abs(A) * np.nan_to_num(ends[1] - ends[0])).max(axis=1)
    terms = np.abs(A) @ np.nan_to_num(np.abs(ends).max(axis=0))
    rounding = _ROUNDING * (terms + np.where(np.isfinite(low), np.abs(low), 0.0))
    equal = _are_equal(low, high, rounding)
    for i in np.flatnonzero(np.any(A[equal] != 0.0, axis=0) & (domain.kinds == "curved")):
        got = f"one with {domain.names[i]!r}, which is on another scale"
        raise wrong("without equations but between plain reals and integers", got=got)
    return A, low, high, rounding, span


def coefficients(constraint):
    """Return the coefficients (k, d) of a LinearConstraint."""
    A = constraint.A.toarray() if issparse(constraint.A) else constraint.A
    return np.atleast_2d(real_array(A, "A of a LinearConstraint", DomainError))


def reads_context(constraint, n_dims=None):
    """Return True if a constraint is one of what is chosen and of the context.

    A function then requires two arguments, and a LinearConstraint has ``n_dims`` columns, those of
    a row with its context.
    """
    if isinstance(constraint, LinearConstraint):
        return coefficients(constraint).shape[1] == n_dims
    function = constraint.fun if isinstance(constraint, NonlinearConstraint) else constraint
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # some compiled functions have no signature
        return False
    positional = inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD
    return sum(p.default is p.empty and p.kind in positional for p in parameters) == 2


def in_context(constraint, row, context):
    """Return a constraint that reads the context as one of what is chosen.

    Parameters
    ----------
    constraint : LinearConstraint, NonlinearConstraint or callable
        See `reads_context`.
    row : ndarray of shape (c,)
        The context in numbers, see `Domain.numbers`.
    context : ndarray of shape (c,) or dict
        The context in the form of users.
    """
    if isinstance(constraint, LinearConstraint):
        A = coefficients(constraint)
        shift, k = A[:, -len(row) :] @ row, A.shape[1] - len(row)
        return LinearConstraint(A[:, :k], constraint.lb - shift, constraint.ub - shift)
    if isinstance(constraint, NonlinearConstraint):
        fun = in_context(constraint.fun, row, context)
        return NonlinearConstraint(fun, constraint.lb, constraint.ub)

    def of_chosen(x):
        return constraint(x, context)

    of_chosen.__name__ = getattr(constraint, "__name__", "a constraint")
    return of_chosen


def _are_equal(low, high, rounding):
    """Return which bounds (k,) are equal to rounding, and so make an equation (k,)."""
    with np.errstate(invalid="ignore"):  # both bounds may be infinite
        return np.isfinite(low) & np.isfinite(high) & (high - low <= rounding)


def as_list(constraints, owner):
    """Return constraints as a list, or raise a DomainError."""
    kinds = LinearConstraint, NonlinearConstraint
    several = isinstance(constraints, Iterable) and not isinstance(constraints, str | dict)
    listed = list(constraints) if several else [] if constraints is None else [constraints]
    for constraint in listed:
        usable = isinstance(constraint, kinds) or callable(constraint)
        if not usable or isinstance(constraint, type | Bounds):
            raise invalid_domain("constraints", _EXPECTED, constraint, owner)
    return listed
