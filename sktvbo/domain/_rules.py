"""Constraints in the forms that users give: validated once, then evaluated at rows of a domain."""

import copy
import inspect
import time
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

# Kinds of numbers that equations cannot have.
_OTHER_SCALES = "curved", "cyclic"

# A function whose call takes more seconds than this is slow.
_SLOW = 3e-4

# A callable of x, or of x and a context, returns True, or a number that is not negative, where x is
# feasible.
Constraint: TypeAlias = LinearConstraint | NonlinearConstraint | Callable[..., object]


class Rules:
    """All constraints, as functions of rows.

    Parameters
    ----------
    constraints : list of LinearConstraint, NonlinearConstraint and callables
    domain : domain
        Without constraints. Callables get its points in the user's form.
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
        self.owner, self.lists, self._only, self._calls = owner, {}, None, None
        self._tolerance = TOLERANCE * span[equal] + self.rounding
        self.numbers, self._decode_all = domain.numbers, domain.decode_all
        others = [c for c in constraints if not isinstance(c, LinearConstraint)]
        row = domain.sample(1, 0) if others else None
        self._functions = [_FunctionConstraint(c, domain, row, owner) for c in others]

    @property
    def has_functions(self):
        return bool(self._functions)

    @property
    def is_listed_or_linear(self):
        """True if there are constraints other than functions."""
        return bool(len(self.equal[1]) + len(self.linear[1]) + len(self.lists)) or bool(self._only)

    @property
    def by_answer(self):
        return any(function.by_answer for function in self._functions)

    @property
    def is_slow(self):
        return any(function.seconds > _SLOW for function in self._functions)

    def without_functions(self):
        """Return the constraints except functions."""
        linear = copy.copy(self)
        linear._functions = []
        return linear

    def among(self, lists, rows=None):
        """Return the constraints with others: coordinates are among ``lists``, a dict by index.

        With ``rows`` (m, d), a row is also one of these.
        """
        rules = copy.copy(self)
        rules.lists = lists
        rules._only = None if rows is None else {row.tobytes() for row in rows}
        return rules

    def with_calls(self, n):
        """Return the constraints, with at most about n calls of slow ones in all."""
        if not self.is_slow:
            return self
        rules = copy.copy(self)
        rules._calls = _Calls(n)
        return rules

    @property
    def calls_left(self):
        """Number of calls left; infinity if they are not counted."""
        return np.inf if self._calls is None else self._calls.left

    def gaps(self, X):
        """Return the residuals (m, e) of the equations at rows X (m, d)."""
        A, b = self.equal
        return self.numbers(X) @ A.T - b

    def margins(self, X):
        """Return numbers (m, k) that must not be negative at rows X (m, d).

        Functions that return bools are left out. Those of others are NaN where no call is left.
        """
        A, low, high = self.linear
        margins = [_within(self.numbers(X) @ A.T, low, high)]
        functions = [function for function in self._functions if not function.by_answer]
        n = len(X) if self._calls is None else self._calls.taken(X, functions)
        points = self._decode_all(X[:n]) if functions and n else ()
        for function in functions:
            values = function.margins(points, X[:n]) if n else np.empty((0, function.size))
            margins.append(np.pad(values, ((0, len(X) - n), (0, 0)), constant_values=np.nan))
        return np.concatenate(margins, axis=1)

    def obeyed(self, X):
        """Return a mask (m,) of the rows X (m, d) that satisfy all constraints.

        It is False where no call of a slow one is left.
        """
        A, low, high = self.linear
        obeyed = np.all(np.abs(self.gaps(X)) <= self._tolerance, axis=1)
        obeyed &= np.all(_within(self.numbers(X) @ A.T, low, high) >= 0.0, axis=1)
        for i, numbers in self.lists.items():
            obeyed &= np.isin(X[:, i], numbers)
        if self._only is not None:
            obeyed &= np.array([x.tobytes() in self._only for x in X], dtype=bool)
        # Functions may be slow: they are evaluated last, and only where all before are satisfied.
        if self._functions and obeyed.any():
            answers = self._satisfied if self._calls is None else self._remembered
            obeyed[obeyed] = answers(X[obeyed])
        return obeyed

    def _satisfied(self, X):
        """Return a mask (m,) of the rows X (m, d) that satisfy all functions."""
        points, satisfied = self._decode_all(X), np.ones(len(X), dtype=bool)
        for function in self._functions:
            if satisfied.all():
                satisfied = function.satisfied(points, X)
            elif satisfied.any():
                left = np.flatnonzero(satisfied)
                satisfied[left] = function.satisfied([points[i] for i in left], X[left])
        return satisfied

    def _remembered(self, X):
        """Return the same, from earlier answers and the calls left."""
        calls, keys = self._calls, [x.tobytes() for x in X]
        new = np.array([i for i, key in enumerate(keys) if key not in calls.answers], dtype=int)
        new = new[: calls.taken(X[new], self._functions)]
        if len(new):
            answers = self._satisfied(X[new])
            calls.answers.update(zip([keys[i] for i in new], answers.tolist()))
        return np.array([calls.answers.get(key, False) for key in keys])


class _Calls:
    """Number of calls of slow functions left, and their answers by row.

    Attributes
    ----------
    left : int
    answers : dict of bytes to bool
    """

    def __init__(self, left):
        self.left, self.answers = left, {}

    def taken(self, X, functions):
        """Return the number of rows X (m, d) at which functions may be called, and count these."""
        n_each = sum(not function.is_vectorized for function in functions)
        n_once = len(functions) - n_each
        n = len(X) if self.left > 0 else 0
        if n_each:
            n = min(n, max(self.left - n_once, 0) // n_each)
        self.left -= n * n_each + n_once if n else 0
        return n


class Vectorized:
    """A constraint that is evaluated at many points by one call.

    Parameters
    ----------
    function : callable
        It gets points as an array (m, d), or for named parameters as a dict of arrays (m,). It
        returns m bools, or m numbers that are not negative where the points are feasible. Within a
        NonlinearConstraint it may return an array (m, k). A function that reads a context gets it
        as second argument, the same for all points.

    Examples
    --------
    >>> from sktvbo import WDBO
    >>> from sktvbo.domain import Vectorized
    >>> def below(X):
    ...     return 1.0 - X.sum(axis=1)
    >>> opt = WDBO([(0.0, 1.0)] * 3, constraints=Vectorized(below), random_state=0)
    >>> bool(opt.ask(0.0).sum() <= 1.0)
    True
    """

    def __init__(self, function: Callable[..., object]) -> None:
        self.function = self.__wrapped__ = function

    def __call__(self, *args: object) -> object:
        return self.function(*args)

    @property
    def __name__(self):
        return getattr(self.function, "__name__", "a constraint")


class _FunctionConstraint:
    """A function of a point: numbers (k,), none negative where the constraint is satisfied.

    It is evaluated twice at one row (1, d): to validate it, to find if it returns bools, and to
    measure the duration of a call.
    """

    def __init__(self, constraint, domain, row, owner):
        self.by_answer, self._owner, self._bounds = False, owner, None
        self._described = domain.described if domain.is_named else None
        self._function, self._interval, is_nonlinear = constraint, (0.0, np.inf), False
        if isinstance(constraint, NonlinearConstraint):
            self._function, is_nonlinear = constraint.fun, True
            self._set_bounds(constraint, domain.continuous.any())
        self.is_vectorized, times = isinstance(self._function, Vectorized), [time.perf_counter()]
        point = domain.decode_all(row)[0]
        value = self._table(row) if self.is_vectorized else point
        value = self._answer(value)
        times.append(time.perf_counter())
        answer = np.asarray(value).reshape(-1)[:1] if self.is_vectorized else [value]
        if not is_nonlinear and len(answer):
            self.by_answer = isinstance(answer[0], bool | np.bool_)
        self.size = self.margins([point], row).shape[1]
        times.append(time.perf_counter())
        self.seconds = np.diff(times).min()

    def _set_bounds(self, constraint, has_reals):
        name = "A NonlinearConstraint"
        low, high = (real_array(b, name, DomainError) for b in (constraint.lb, constraint.ub))
        self._bounds = low, high
        self._interval = (low.item(), high.item()) if low.size == high.size == 1 else None
        ordered = low < high if has_reals else low <= high
        if np.any(np.isnan(low)) or np.any(np.isnan(high)) or not np.all(ordered):
            raise invalid_domain(
                "constraints",
                "without equations between functions of reals, lb < ub",
                owner=self._owner,
                got=f"a NonlinearConstraint with lb={low.tolist()} and ub={high.tolist()}",
                advice="Between plain reals give a LinearConstraint with lb = ub. Otherwise "
                "solve it for one of the variables, and leave that one out.",
            )

    def satisfied(self, points, X):
        """Return a mask (m,) of points that satisfy the constraint; X (m, d) are their rows."""
        if self.is_vectorized:
            return np.all(self.margins(points, X) >= 0.0, axis=1)
        return np.array([self._is_satisfied(point) for point in points], dtype=bool)

    def margins(self, points, X):
        """Return numbers (m, k) that must not be negative, for the same points."""
        if self.is_vectorized:
            return self._many_numbers(self._answer(self._table(X)), len(X))
        return np.array([self._numbers(self._answer(point)) for point in points])

    def _table(self, X):
        """Return rows in the form that a vectorized function takes."""
        if self._described is None:
            return np.array(X)
        return {name: np.array(column) for name, column in self._described(X).items()}

    def _is_satisfied(self, point):
        value = self._answer(point)
        if self.by_answer and isinstance(value, bool | np.bool_):
            return bool(value)
        is_number = isinstance(value, float | int | np.integer) and not self.by_answer
        if is_number and self._interval is not None:
            return bool(self._interval[0] <= value <= self._interval[1])
        return bool(np.all(self._numbers(value) >= 0.0))

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
                f"functions of the chosen parameters, {description}",
                owner=self._owner,
                got=f"one that raises {type(exc).__name__}: {exc}",
                advice="A function that reads a context takes it as second argument; give one of "
                "many points at once as Vectorized(function).",
            ) from exc

    def _numbers(self, value):
        """Return numbers (k,), none negative if satisfied, for a value of the function."""
        name = f"The value of {getattr(self._function, '__name__', 'a constraint')}"
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
        # A point at which the function is not defined is infeasible.
        return np.where(np.isnan(values), -np.inf, values)

    def _many_numbers(self, values, n):
        """Return numbers (n, k) for the values of a vectorized function at n points."""
        name = f"The value of {self._function.__name__}"
        array = np.asarray(values)
        if self.by_answer and array.dtype == bool and array.shape == (n,):
            return np.where(array, 0.0, -np.inf)[:, np.newaxis]
        expected = f"{n} {'bools' if self.by_answer else 'numbers'}, one for each point"
        if self.by_answer or array.dtype == bool or not (array.ndim and len(array) == n):
            raise invalid_domain(name, expected, got=f"{array.dtype} of shape {array.shape}")
        numbers = real_array(values, name, DomainError).reshape(n, -1)
        if self._bounds is not None:
            numbers = _within(numbers, *self._bounds)
        elif numbers.shape[1] != 1:
            raise invalid_domain(name, expected, got=f"shape {array.shape}")
        return np.where(np.isnan(numbers), -np.inf, numbers)


def _within(values, low, high):
    """Return distances of values (..., k) from the nearer of two bounds, negative outside."""
    return np.minimum(values - low, high - values)


def _linear(constraint, domain, owner):
    """Return a LinearConstraint, validated: coefficients (k, d) and bounds (k,), (k,).

    Also, for each sum, the rounding error (k,) and the largest range of a term in the domain (k,).
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
    for i in np.flatnonzero(np.any(A[equal] != 0.0, axis=0) & np.isin(domain.kinds, _OTHER_SCALES)):
        got = f"one with {domain.names[i]!r}, which is on another scale"
        raise wrong("without equations except of plain reals and integers", got=got)
    return A, low, high, rounding, span


def coefficients(constraint):
    """Return the coefficients (k, d) of a LinearConstraint."""
    A = constraint.A.toarray() if issparse(constraint.A) else constraint.A
    return np.atleast_2d(real_array(A, "A of a LinearConstraint", DomainError))


def reads_context(constraint, n_dims=None):
    """Return True if a constraint reads the context as well as x.

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
    """Return a constraint that reads the context as a constraint on x alone.

    Parameters
    ----------
    constraint : LinearConstraint, NonlinearConstraint or callable
        See `reads_context`.
    row : ndarray of shape (c,)
        The context in numbers, see `Domain.numbers`.
    context : ndarray of shape (c,) or dict
        The context in the user's form.
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
    return Vectorized(of_chosen) if isinstance(constraint, Vectorized) else of_chosen


def _are_equal(low, high, rounding):
    """Return a mask (k,) of bounds that are equal up to rounding, and so make an equation."""
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
