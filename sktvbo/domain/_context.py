"""Contexts: variables that are measured with each query rather than chosen."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import Bounds

from .._tables import Row, as_row, as_table, is_one, is_table, rows_of
from .._validation import check_random_state, invalid_domain, invalid_observation
from .._values import replaced
from ..exceptions import InvalidObservationError
from ._base import Domain
from ._product import Box, ParameterSpace
from ._search_space import SearchSpace
from ._terms import Ordinal

if TYPE_CHECKING:
    from .._typing import (
        Array,
        ContextsLike,
        Mask,
        Point,
        PointLike,
        Points,
        PointsLike,
        RandomState,
    )

    DomainLike: TypeAlias = Domain | Sequence[Sequence[float]] | Array | Bounds | Mapping[str, Any]


class Context:
    """A variable that is measured rather than chosen, in a dict of named parameters.

    Parameters
    ----------
    *spec
        Two numbers, its usual range, by which it is scaled. Values beyond are accepted. A range
        ten times too wide, or three times too narrow, costs regret: a ModelWarning says so, and
        ``with_parameters(domain=...)`` changes it. ``Context(None, None)`` learns the range from
        the latest values. Or a parameter of a `ParameterSpace`, as in
        ``Context("log-real", 1.0, 1e3)``, ``("log-real", None, None)`` and
        ``Context(["day", "night"])``. Use `cyclic` for an hour, a weekday or an angle.

    Examples
    --------
    >>> from sktvbo import WDBO
    >>> from sktvbo.domain import Context
    >>> opt = WDBO({"power": ("real", 0.0, 1.0), "load": Context(0.0, 100.0)}, random_state=0)
    >>> opt.ask(0.0, context={"load": 35.0}).keys()
    dict_keys(['power'])
    """

    def __init__(self, *spec: object) -> None:
        self.spec = spec

    @classmethod
    def cyclic(cls, low: float, high: float) -> Context:
        """Return a variable on a circle, where high is low again.

        Parameters
        ----------
        low, high : float
            Ends of a turn: 0 and 24 for an hour, 0 and 7 for a weekday, 0 and 360 for degrees.

        Returns
        -------
        Context

        Examples
        --------
        >>> from sktvbo import WDBO
        >>> from sktvbo.domain import Context
        >>> opt = WDBO({"power": ("real", 0.0, 1.0), "hour": Context.cyclic(0, 24)})
        >>> opt.ask(0.0, context={"hour": 23.5}).keys()
        dict_keys(['power'])
        """
        return cls("cyclic", low, high)

    def term(self) -> object:
        """Return the parameter in the form that `ParameterSpace` takes.

        Returns
        -------
        tuple or list
        """
        spec = self.spec
        if len(spec) == 1:
            return spec[0]
        return spec if spec and isinstance(spec[0], str) else ("real", *spec)

    def __repr__(self):
        return f"Context({', '.join(map(repr, self.spec))})"

    def __eq__(self, other):
        return isinstance(other, Context) and self.spec == other.spec

    __hash__ = None


class WithContext(Domain):
    """A domain whose points are chosen in a measured context.

    A row is the point followed by the context, and so is the unit form: both are inputs of a
    surrogate. A query is a point in the current context.

    Parameters
    ----------
    domain : Box, FiniteSet, ParameterSpace, Constrained, or what `as_domain` takes
        Domain of the points.
    context : list of (low, high) pairs, Box, dict or ParameterSpace
        Usual range of contexts, by which they are scaled. Numbers outside of it are accepted;
        unknown categories are not.

    Attributes
    ----------
    chosen, context : domain
    current : ndarray of shape (c,), or None
        Row of the current context, see `in_context`.
    lower, upper : ndarray of shape (d,)
        Bounds of rows, with usual contexts.
    n_dims, n_unit : int
        Dimensions of both together, and coordinates of the unit form.
    n_chosen : int
        Dimensions of the points, which come first in a row.
    continuous : ndarray of bool of shape (n_unit,)
        Unit coordinates that a gradient may move: none of the context's.
    size : float
        Infinity.

    Raises
    ------
    DomainError
        The domain or the context is invalid.

    Notes
    -----
    A dict of named parameters with a `Context` is equivalent: ``{"power": ("real", 0.0, 1.0),
    "load": Context(0.0, 100.0)}``.

    The relevancy of an observation (W-DBO, BOLT) is integrated over contexts as over inputs. The
    integral weighs all contexts equally, since their frequencies are unknown.

    Examples
    --------
    >>> from sktvbo.domain import WithContext
    >>> domain = WithContext([(0.0, 1.0)], [(0.0, 100.0)])
    >>> domain.place([0.3], 120.0)
    array([  0.3, 120. ])
    >>> domain.to_unit([0.3, 120.0])
    array([0.3, 1.2])
    """

    def __init__(self, domain: DomainLike, context: object) -> None:
        self.chosen, self.context = _chosen(domain), _without_context(context)
        self.current = None
        if isinstance(self.chosen, WithContext):
            expected = "a domain without a context; give all of it at once"
            raise invalid_domain("domain", expected, domain, self)
        if not isinstance(self.context, Box | ParameterSpace):
            expected = "a list of (low, high) pairs, or a dict of named variables"
            raise invalid_domain("context", expected, context, self)
        parts = self.chosen, self.context
        super().__init__(
            np.hstack([part.lower for part in parts]),
            np.hstack([part.upper for part in parts]),
            np.append(self.chosen.continuous, np.zeros(self.context.n_unit, dtype=bool)),
            math.inf,
        )
        self.kinds = np.hstack([part.kinds for part in parts])
        columns = self.chosen.unit_columns, self.chosen.n_unit + self.context.unit_columns
        self.unit_columns = np.hstack(columns)
        self.steps = np.hstack([part.steps for part in parts])
        self.learnt = np.hstack([part.learnt for part in parts])
        self._are_labels = np.isin(self.context.kinds, ["labels", "unordered"])
        self.n_chosen = self.chosen.n_dims
        self.is_named = self.chosen.is_named or self.context.is_named
        self.is_constrained = self.chosen.is_constrained

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns of a row; x0, ... and context0, ... where there are none.

        An underscore is appended to the name of a context that is also a parameter's.
        """
        names, measured = list(self.chosen.columns), self.context.columns
        if not self.context.is_named:
            measured = tuple(f"context{i}" for i in range(self.context.n_dims))
        for name in measured:
            while name in names:
                name += "_"
            names.append(name)
        return tuple(names)

    # --- contexts ---------------------------------------------------------------------------------

    def contexts(self, context: ContextsLike, n: int) -> Array:
        if context is None:
            advice = "It holds the values that are measured with each point."
            raise invalid_observation("context", f"given: {self._expected()}", None, advice=advice)
        if is_table(context):
            context = rows_of(context)
        elif is_one(context):
            return np.tile(self._measured(context), (n, 1))
        if len(context) != n:
            expected = f"one for all, or one for each of {n} point(s)"
            raise invalid_observation("context", expected, got=str(len(context)))
        return np.array([self._measured(part) for part in context]).reshape(n, -1)

    def place(self, x: PointLike, context: ContextsLike | None = None) -> Array:
        x, context = self._parted(x, as_row(x), context)
        x = self.chosen.validate_point(x)
        if context is None:
            return np.append(x, np.full(self.context.n_dims, np.nan))
        return np.append(x, self.contexts(context, 1)[0])

    def places(self, X: PointsLike, context: ContextsLike | None = None) -> Array:
        X, context = self._parted(X, as_table(X), context)
        X = self.chosen.validate_points(X)
        contexts = np.full((len(X), self.context.n_dims), np.nan)
        if context is not None:
            contexts = self.contexts(context, len(X))
        return np.column_stack([X, contexts])

    def as_row(self, x: PointLike) -> Array:
        x, _ = self._parted(x, as_row(x), None)
        return np.append(self.chosen.as_row(x), np.full(self.context.n_dims, np.nan))

    def described(self, rows: ArrayLike) -> dict[str, Any]:
        rows, k = np.asarray(rows), self.n_chosen
        measured, names = rows[:, k:], self.columns[k:]
        if isinstance(self.context, ParameterSpace):
            decoded = [self.context.decode_measured(row) for row in measured]
            measured_names = zip(self.context.columns, names)
            contexts = {name: [row[own] for row in decoded] for own, name in measured_names}
        else:
            contexts = dict(zip(names, measured.T))
        return self.chosen.described(rows[:, :k]) | contexts

    def in_context(self, context: Array) -> WithContext:
        """Return the domain with a current context, in which it is sampled and searched.

        Parameters
        ----------
        context : ndarray of shape (c,)

        Returns
        -------
        WithContext
        """
        return replaced(self, current=context)

    def learnt_from(self, rows: Array) -> WithContext:
        return self._with_ranges(self.context.learnt_from(rows[:, self.n_chosen :]))

    def ranging(self, lower: Array, upper: Array) -> WithContext:
        k = self.n_chosen
        return self._with_ranges(self.context.ranging(lower[k:], upper[k:]))

    def _with_ranges(self, context):
        lower, upper = np.array(self.lower), np.array(self.upper)
        lower[self.n_chosen :], upper[self.n_chosen :] = context.lower, context.upper
        return replaced(self, context=context, lower=lower, upper=upper)

    def knowing(self, rows: Callable[[], Array], n_calls: int) -> WithContext:
        chosen = self.chosen.knowing(lambda: rows()[:, : self.n_chosen], n_calls)
        return self if chosen is self.chosen else replaced(self, chosen=chosen)

    def search_space(self) -> SearchSpace:
        """Return the domain in the current context, in the form for a maximizer.

        Returns
        -------
        SearchSpace
        """
        if self.current is None:
            self.contexts(None, 1)  # raises: it must be given
        fixed = self.context.unit_of(self.current[np.newaxis])[0]
        return self.chosen.search_space().given(self.current, fixed)

    def decode_context(self, x: ArrayLike) -> dict[str, Any] | Array | None:
        return self.context.decode_measured(x[self.n_chosen :])

    def _parted(self, X, table, context):
        """Return points without columns of contexts, and these columns unless a context is given.

        ``table`` is X by name, or None.
        """
        if table is None:
            return X, context
        names = self.columns[self.n_chosen :]
        measured = [name for name in names if name in table]
        if not measured:
            return X, context
        if context is None:
            context = type(table)({name: table[name] for name in measured})
        return type(table)({k: v for k, v in table.items() if k not in names}), context

    def _measured(self, context):
        """Return the row (c,) of one context, validated."""
        row = as_row(context)
        if row is not None:
            own = dict(zip(self.columns[self.n_chosen :], self.context.columns))
            # A table may have the columns of the points as well.
            of_points = self.chosen.columns if isinstance(row, Row) else ()
            context = type(row)({own.get(k, k): v for k, v in row.items() if k not in of_points})
        try:
            row = self.context.as_row(context)
        except InvalidObservationError as exc:
            # The message names the variable that is not a number.
            advice = re.sub(r"^x\b", "context", str(exc)) if "real numbers" in str(exc) else ""
            expected = self._expected()
            raise invalid_observation("context", expected, context, advice=advice) from exc
        nearest = np.clip(np.rint(row), self.context.lower, self.context.upper)
        strange = self._are_labels & (row != nearest)
        if strange.any() or not np.isfinite(self.context.unit_of(row[np.newaxis])).all():
            raise invalid_domain("context", self._expected(), context)
        return row

    def _expected(self):
        if not isinstance(self.context, ParameterSpace):
            return f"an array of shape ({self.context.n_dims},) of finite numbers"
        variables = [
            f"{name!r}, one of {term.values}"
            if isinstance(term, Ordinal)
            else f"{name!r}, a finite{' positive' * term.kind.startswith('log')} number"
            for name, term in self.context._parameters.items()
        ]
        return f"a dict of {'; '.join(variables)}"

    # --- methods of all domains -------------------------------------------------------------------

    def sample(self, n: int, rng: RandomState = None) -> Array:
        """Draw points uniformly: in the current context, or else in contexts drawn uniformly.

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
        rng = check_random_state(rng)
        if self.current is None:
            contexts = self.context.sample(n, rng)
        else:
            contexts = np.tile(self.current, (n, 1))
        return np.column_stack([self.chosen.sample(n, rng), contexts])

    def decode(self, x: ArrayLike) -> Point:
        """Return the point of a row, without its context, in the user's form."""
        return self.chosen.decode(np.asarray(x)[: self.n_chosen])

    def decode_all(self, rows: ArrayLike) -> Points:
        """Return the points of rows, without contexts, in the user's form."""
        return self.chosen.decode_all(np.asarray(rows)[:, : self.n_chosen])

    def queryable(self, X: ArrayLike) -> Mask:
        return self.chosen.queryable(np.asarray(X)[:, : self.n_chosen])

    def members(self, limit: int) -> Array | None:
        return None

    def _to_unit(self, X):
        k = self.n_chosen
        return np.column_stack([self.chosen.unit_of(X[:, :k]), self.context.unit_of(X[:, k:])])

    def _from_unit(self, U):
        n = self.chosen.n_unit
        return np.column_stack([self.chosen.from_unit(U[:, :n]), self.context.from_unit(U[:, n:])])

    def _inside(self, X):
        return self.chosen._inside(X[:, : self.n_chosen])

    def _rows(self, X):
        return X if as_table(X) is None else self.places(X)

    def _locate(self, X, what):
        k = self.n_chosen
        return np.column_stack([self.chosen.validate_points(X[:, :k]), X[:, k:]])

    def _label(self, i):
        return repr(self.columns[i])

    def _arguments(self):
        return self.chosen, self.context

    _key = _arguments

    def to_plain(self) -> Any:
        """Return the constructor's arguments, for journals.

        Returns
        -------
        dict
        """
        return {"domain": self.chosen, "context": self.context}

    @classmethod
    def from_plain(cls, state: Any) -> WithContext:
        """Return a domain from the constructor's arguments.

        Parameters
        ----------
        state : dict
            Returned by `to_plain`.

        Returns
        -------
        WithContext
        """
        return cls(**state)


def as_domain(domain: DomainLike) -> Domain:
    """Return a domain from any of the user's forms.

    Parameters
    ----------
    domain : Box, FiniteSet, ParameterSpace, sequence of (low, high) pairs, \
            scipy.optimize.Bounds, or dict of named parameters
        A domain is returned unchanged; for a dict see `ParameterSpace` and `Context`.

    Returns
    -------
    Box, FiniteSet, ParameterSpace or another domain

    Raises
    ------
    DomainError
        Any other type, or invalid bounds.

    Examples
    --------
    >>> from sktvbo.domain import as_domain
    >>> as_domain([(0, 1), (2, 4)])
    Box([(0.0, 1.0), (2.0, 4.0)])
    """
    if isinstance(domain, Mapping):
        measured = {k: v.term() for k, v in domain.items() if isinstance(v, Context)}
        if measured:
            chosen = {k: v for k, v in domain.items() if k not in measured}
            return WithContext(ParameterSpace(chosen), ParameterSpace(measured))
    return _chosen(domain)


def _chosen(domain):
    """Return a domain from any form, whose parameters have declared ranges unless measured."""
    domain = _without_context(domain)
    unknown = domain.learnt[: domain.n_chosen]
    if unknown.any():
        name = f"The range of {domain._label(np.argmax(unknown))}"
        advice = "Only that of a Context is learnt."
        raise invalid_domain(name, "two numbers", (None, None), advice=advice)
    return domain


def _without_context(domain):
    """Return a domain without a context from any of the user's forms."""
    if isinstance(domain, Domain):
        return domain
    if isinstance(domain, Mapping):
        return ParameterSpace(domain)
    if isinstance(domain, Bounds):
        lower, upper = np.broadcast_arrays(np.atleast_1d(domain.lb), np.atleast_1d(domain.ub))
        return Box(np.column_stack([lower, upper]))
    if isinstance(domain, np.ndarray | Sequence) and not isinstance(domain, str | bytes):
        return Box(domain)
    raise invalid_domain(
        "domain",
        "a Box, a FiniteSet, a sequence of (low, high) pairs, a scipy.optimize.Bounds or a dict of "
        "named parameters",
        got=type(domain).__name__,
    )
