"""Variables that are measured, not chosen: beside each point of a domain, a context."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from sklearn.utils import check_random_state

from .._tables import Row, as_row, as_table, is_one, is_table, rows_of
from .._validation import invalid
from ..exceptions import DomainError, InvalidObservationError
from ._base import Domain
from ._convert import without_context
from ._product import Box, ParameterSpace

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import ArrayLike

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
    from ._convert import DomainLike


class Context:
    """A variable that is measured and not chosen, in a dict of named parameters.

    Parameters
    ----------
    *spec
        Two numbers, the range where it usually is; or what else a `ParameterSpace` takes:
        ``Context("log-real", 1.0, 1e3)``, ``Context(["day", "night"])``.

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

    def term(self) -> object:
        """Return what a `ParameterSpace` takes.

        Returns
        -------
        tuple, list or distribution
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
    """A domain whose points are chosen when something has been measured: the context.

    A row is the point and the context, side by side, and so is the unit form: what a surrogate sees
    has a few coordinates more. What may be queried is a point with the context of the present.

    Parameters
    ----------
    domain : Box, FiniteSet, ParameterSpace, Constrained, or what `as_domain` takes
        Of what is chosen.
    context : list of (low, high) pairs, Box, dict or ParameterSpace
        Where contexts usually are: their scale, and no bounds. A number outside of it is a fact,
        and is taken as it is; categories have to be known.

    Attributes
    ----------
    chosen, context : domain
    lower, upper : ndarray of shape (d,)
        Of the rows, usual contexts included.
    n_dims, n_unit : int
        Of both together.
    n_chosen : int
        Dimensions of what is chosen, which come first in a row.
    continuous : ndarray of bool of shape (n_unit,)
        Which unit coordinates a gradient may move: none of the context's.
    size : float
        Infinity.

    Raises
    ------
    DomainError
        When one of them makes no sense.

    Notes
    -----
    In a dict of named parameters a `Context` says the same: ``{"power": ("real", 0.0, 1.0),
    "load": Context(0.0, 100.0)}``.

    The relevancy of an observation, which W-DBO and BOLT go by, is integrated over contexts as over
    places: how often which context comes is not known, and the integral weighs all alike.

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
        self.chosen, self.context = without_context(domain), without_context(context)
        if isinstance(self.chosen, WithContext):
            expected = "a domain without a context; give all of it at once"
            raise invalid("domain", expected, domain, self, error=DomainError)
        if not isinstance(self.context, Box | ParameterSpace):
            expected = "a list of (low, high) pairs, or a dict of named variables"
            raise invalid("context", expected, context, self, error=DomainError)
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
        self.n_chosen = self.chosen.n_dims
        self.is_named = self.chosen.is_named or self.context.is_named
        self.is_constrained = self.chosen.is_constrained

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns of a row; x0, ... and context0, ... where there are none.

        An underscore is put behind the name of a context when a parameter is called so.
        """
        return self.columns

    @property
    def columns(self) -> tuple[str, ...]:
        found, measured = list(self.chosen.columns), self.context.columns
        if not self.context.is_named:
            measured = tuple(f"context{i}" for i in range(self.context.n_dims))
        for name in measured:
            while name in found:
                name += "_"
            found.append(name)
        return tuple(found)

    # --- contexts ---------------------------------------------------------------------------------

    def contexts(self, context: ContextsLike, n: int) -> Array:
        if context is None:
            raise invalid(
                "context",
                f"given: {self._expected()}",
                None,
                advice="It is what has been measured beside the points of this domain.",
                error=InvalidObservationError,
            )
        if is_table(context):
            context = rows_of(context)
        elif is_one(context):
            return np.tile(self._measured(context), (n, 1))
        if len(context) != n:
            expected = f"one for all, or one for each of {n} point(s)"
            raise invalid("context", expected, got=str(len(context)), error=InvalidObservationError)
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

    def given(self, context: Array) -> Domain:
        return Given(self.chosen, self, context)

    def drawn(self, contexts: Array, rng: RandomState) -> Array:
        return np.column_stack([self.chosen.sample(len(contexts), rng), contexts])

    def decode_context(self, x: ArrayLike) -> dict[str, Any] | Array | None:
        return self.context.decode_measured(x[self.n_chosen :])

    def _parted(self, X, table, context):
        """Points without the columns of contexts, and these where no other context is given.

        ``table`` is X by name, or None.
        """
        names = self.columns[self.n_chosen :]
        found = () if table is None else [name for name in names if name in table]
        if not found:
            return X, context
        if context is None:
            context = type(table)({name: table[name] for name in found})
        return type(table)({k: v for k, v in table.items() if k not in names}), context

    def _measured(self, context):
        """Row (c,) of one context as users give it."""
        row = as_row(context)
        if row is not None:
            own = dict(zip(self.columns[self.n_chosen :], self.context.columns))
            # A table may have the columns of the points as well.
            of_points = self.chosen.columns if isinstance(row, Row) else ()
            context = type(row)({own.get(k, k): v for k, v in row.items() if k not in of_points})
        try:
            row = self.context.as_row(context)
        except InvalidObservationError as exc:
            # It names the variable that is no number.
            advice = re.sub(r"^x\b", "context", str(exc)) if "real numbers" in str(exc) else ""
            error = InvalidObservationError
            raise invalid("context", self._expected(), context, advice=advice, error=error) from exc
        known = np.isin(self.context.kinds, ["labels", "unordered"])
        strange = known & (row != np.clip(np.rint(row), self.context.lower, self.context.upper))
        if strange.any() or not np.isfinite(self.context.unit_of(row[np.newaxis])).all():
            raise invalid("context", self._expected(), context, error=DomainError)
        return row

    def _expected(self):
        if isinstance(self.context, ParameterSpace):
            return f"a dict of {', '.join(map(repr, self.context.names))} within what they may be"
        return f"an array of shape ({self.context.n_dims},) of finite numbers"

    # --- what all domains have --------------------------------------------------------------------

    def sample(self, n: int, rng: RandomState = None) -> Array:
        """Draw points and contexts uniformly, from where these usually are.

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
        rng = check_random_state(rng)
        return self.drawn(self.context.sample(n, rng), rng)

    def decode(self, x: ArrayLike) -> Point:
        """Return the point of a row, without its context, in the form that users get."""
        return self.chosen.decode(np.asarray(x)[: self.n_chosen])

    def decode_all(self, rows: ArrayLike) -> Points:
        """Return the points of rows, without contexts, in the form that users get."""
        return self.chosen.decode_all(np.asarray(rows)[:, : self.n_chosen])

    def allowed(self, U: ArrayLike) -> Mask:
        return self.chosen.allowed(U[:, : self.chosen.n_unit])

    def members(self, limit: int) -> Array | None:
        return None

    def _to_unit(self, X):
        parts = (
            self.chosen.to_unit(X[:, : self.n_chosen]),
            self.context.unit_of(X[:, self.n_chosen :]),
        )
        return np.column_stack(parts)

    def _from_unit(self, U):
        n = self.chosen.n_unit
        return np.column_stack([self.chosen.from_unit(U[:, :n]), self.context.from_unit(U[:, n:])])

    def _inside(self, X):
        contains = [self.chosen.contains(x) for x in X[:, : self.n_chosen]]
        return np.array(contains) & np.isfinite(X).all(axis=1)

    def _rows(self, X):
        return X if as_table(X) is None else self.places(X)

    def _locate(self, X, what):
        return np.column_stack(
            [self.chosen.validate_points(X[:, : self.n_chosen]), X[:, self.n_chosen :]]
        )

    def _label(self, i):
        return repr(self.names[i])

    def _argument(self):
        return self.chosen, self.context

    def _shown(self):
        return f"{self.chosen!r}, {self.context!r}"

    def _key(self):
        return self.chosen, self.context

    def to_plain(self) -> Any:
        """Return what it is made of.

        Returns
        -------
        dict
        """
        return {"domain": self.chosen, "context": self.context}

    @classmethod
    def from_plain(cls, state: Any) -> WithContext:
        """Make the domain of what it is made of.

        Parameters
        ----------
        state : dict
            Of `to_plain`.

        Returns
        -------
        WithContext
        """
        return cls(**state)

    def __reduce__(self):
        return type(self), (self.chosen, self.context)


class Given(Domain):
    """A domain in one context: its rows have this, and a search moves only what is chosen.

    Parameters
    ----------
    view : domain, or view of one
        Of what is chosen.
    domain : WithContext
    context : ndarray of shape (c,)
    """

    def __init__(self, view, domain, context):
        self._view, self._domain, self._row = view, domain, context
        self._unit = domain.context.unit_of(context[np.newaxis])[0]
        self._n = len(view.continuous)
        continuous = np.append(view.continuous, np.zeros(len(self._unit), dtype=bool))
        super().__init__(domain.lower, domain.upper, continuous, view.size)
        self.kinds, self.unit_columns = domain.kinds, domain.unit_columns
        self.n_chosen = domain.n_chosen
        self.by_answer = view.by_answer
        if view.reach is not None:
            self.reach = np.column_stack([view.reach, np.tile(self._unit, (2, 1))])

    def within(self, low, high):
        """The part within bounds of the unit form; those of the context do not matter."""
        return Given(self._view.within(low[: self._n], high[: self._n]), self._domain, self._row)

    def present(self, U):
        """Places (m, u) as they are in this context."""
        return self._with(U[:, : self._n])

    def from_unit(self, U):
        """Rows (n, d) or (d,) of the unit form, with the context as it was measured."""
        rows = self._view.from_unit(U[..., : self._n])
        return np.concatenate(
            [rows, np.broadcast_to(self._row, (*rows.shape[:-1], len(self._row)))], -1
        )

    def candidates(self, n, rng=None):
        return self._with(self._view.candidates(n, rng))

    def sample(self, n, rng=None):
        rows = self._view.sample(n, rng)
        return np.column_stack([rows, np.tile(self._row, (len(rows), 1))])

    def neighbours(self, u):
        return self._with(self._view.neighbours(u[: self._n]))

    def allowed(self, U):
        return self._view.allowed(U[:, : self._n])

    def mended(self, U):
        return self._with(self._view.mended(U[:, : self._n]))

    def margins(self, U):
        return self._view.margins(U[:, : self._n])

    def decode(self, x):
        return self._domain.decode(x)

    def decode_all(self, rows):
        return self._domain.decode_all(rows)

    def members(self, limit):
        return None

    def _to_unit(self, X):
        return self._domain.to_unit(X)

    def _with(self, U):
        return np.column_stack([U, np.tile(self._unit, (len(U), 1))])


def as_domain(domain: DomainLike) -> Domain:
    """Return a domain from any of the forms in which users give one.

    Parameters
    ----------
    domain : Box, FiniteSet, ParameterSpace, sequence of (low, high) pairs, \
            scipy.optimize.Bounds, or dict of named parameters
        A domain is returned as it is; for a dict see `ParameterSpace`, and `Context`.

    Returns
    -------
    Box, FiniteSet, ParameterSpace or another domain

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
    if isinstance(domain, Mapping):
        measured = {k: v.term() for k, v in domain.items() if isinstance(v, Context)}
        if measured:
            chosen = {k: v for k, v in domain.items() if k not in measured}
            return WithContext(ParameterSpace(chosen), ParameterSpace(measured))
    return without_context(domain)
