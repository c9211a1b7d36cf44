"""A domain with constraints on what may be queried."""

from __future__ import annotations

import copyreg
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import LinearConstraint

from .._validation import check_random_state, invalid_domain
from .._values import replaced
from ._base import Domain
from ._context import WithContext, as_domain
from ._rules import Constraint, Rules, as_list, coefficients, in_context, reads_context

if TYPE_CHECKING:
    from .._typing import Array, Mask, Point, Points, RandomState
    from ._context import DomainLike


class Constrained(Domain):
    """The points of a domain that satisfy constraints.

    Queries and recommendations satisfy all constraints, exactly as evaluated at the returned
    numbers; equations up to 1e-9 of the largest range of a term of A x. Other points may be told
    nevertheless: they have been measured.

    Parameters
    ----------
    domain : Box, FiniteSet, ParameterSpace, or what `as_domain` takes
    constraints : LinearConstraint, NonlinearConstraint, callable, or a list of them
        - `scipy.optimize.LinearConstraint`, lb <= A x <= ub, in the numbers of a row, with the
          values of ordinals. With lb = ub it is an equation, between numbers on a linear scale.
        - `scipy.optimize.NonlinearConstraint`, lb <= fun(x) <= ub; fun gets x in the user's form, a
          dict for named parameters. Derivatives are found by differences. Without reals lb may
          equal ub.
        - a callable of such an x. It returns a number that is not negative where x is feasible, or
          True. Numbers are better: they show the direction of the boundary. With bools it is found
          by trying, to about a hundredth of the range. The function must be deterministic. A fast
          one is called some thousand times for a query. One that takes more than 0.3 ms is called
          at most 200 times, unless nothing feasible is known yet;
        - a `Vectorized` function of many points.

        On a domain with a context an optimizer's ``constraints`` may read it: a function with two
        required arguments is called with x and the context, in the user's form. A LinearConstraint
        then has a column for each number of the context, after the columns of x.
    owner : object or str, default=None
        Named in errors instead of this class.

    Attributes
    ----------
    domain : domain
    n_dims, n_unit, lower, upper, continuous
        As of the domain.
    size : int or float
        Number of members that satisfy the constraints, if few enough to be counted.

    Raises
    ------
    DomainError
        Invalid constraints, or no feasible point was found. An optimizer then needs one: a start
        point, or an observation, near which others are searched.

    Notes
    -----
    Random points are accepted if they satisfy the constraints. If few do, linear constraints are
    solved, with integers by SciPy's ``milp``, and numbers of functions are searched. Hit-and-run
    walks start from the points found; their steps are long in a set that is thin in some
    directions. Integers walk along the lattice of steps that keep linear equations. A space of at
    most a million members is enumerated if no point is found otherwise.

    Examples
    --------
    >>> from scipy.optimize import LinearConstraint
    >>> from sktvbo.domain import Constrained
    >>> mixture = Constrained([(0.0, 1.0)] * 3, [
    ...     LinearConstraint([1.0, 1.0, 1.0], 1.0, 1.0),        # the parts make a whole
    ...     lambda x: x[0] * x[1] <= 0.1,
    ... ])
    >>> X = mixture.sample(5, 0)
    >>> X.sum(axis=1).round(12)
    array([1., 1., 1., 1., 1.])
    >>> mixture.contains([0.5, 0.5, 0.0])
    False
    """

    is_constrained = True

    def __init__(
        self,
        domain: DomainLike,
        constraints: Constraint | Sequence[Constraint],
        *,
        owner: object = None,
    ) -> None:
        owner = self if owner is None else owner
        self.domain = domain = as_domain(domain)
        self.constraints = as_list(constraints, owner)
        if isinstance(domain, Constrained | WithContext):
            expected = "a domain without constraints and without a context"
            advice = "Give all constraints at once, for a domain without a context."
            raise invalid_domain("domain", expected, domain, owner, advice=advice)
        if any(map(reads_context, self.constraints)):
            expected, got = "functions of x alone, without a context", "one of two arguments"
            advice = "Give it as constraints=... of an optimizer whose domain has a context."
            raise invalid_domain("constraints", expected, owner=owner, got=got, advice=advice)
        name = owner if isinstance(owner, str) else type(owner).__name__
        self._whole = domain.search_space().constrained(Rules(self.constraints, domain, name))
        super().__init__(domain.lower, domain.upper, domain.continuous, self._whole.size)
        self.kinds, self.unit_columns, self.steps = domain.kinds, domain.unit_columns, domain.steps
        self.is_named = domain.is_named

    def sample(self, n: int, rng: RandomState = None) -> Array:
        """Draw members uniformly; by walks, and so about uniformly, if few points are feasible.

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
        return self._whole.feasible.sample(n, rng)

    def knowing(self, rows: Callable[[], Array], n_calls: int) -> Constrained:
        whole = self.search_space()
        space = whole.knowing(lambda: self.unit_of(rows()), n_calls)
        return self if space is whole else replaced(self, _whole=space)

    def members(self, limit: int) -> Array | None:
        # Points that may not be queried may be told.
        return self.domain.members(limit)

    # --- methods of the domain --------------------------------------------------------------------

    def decode(self, x: ArrayLike) -> Point:
        return self.domain.decode(x)

    def described(self, rows: ArrayLike) -> dict[str, Any]:
        return self.domain.described(rows)

    def decode_all(self, rows: ArrayLike) -> Points:
        return self.domain.decode_all(rows)

    def _to_unit(self, X):
        return self.domain._to_unit(X)

    def _from_unit(self, U):
        return self.domain._from_unit(U)

    def _inside(self, X):
        inside = self.domain._inside(X)
        inside[inside] = self._whole.feasible.rules.obeyed(X[inside])
        return inside

    def _locate(self, X, what):
        return self.domain._locate(X, what)

    def _as_point(self, x, finite=True):
        return self.domain._as_point(x, finite)

    def _rows(self, X):
        return self.domain._rows(X)

    @property
    def columns(self) -> tuple[str, ...]:
        return self.domain.columns

    def _label(self, i):
        return self.domain._label(i)

    def _arguments(self):
        return self.domain, self.constraints

    def _key(self):
        # Functions are compared by identity.
        return self.domain, *map(id, self.constraints)

    def to_plain(self) -> Any:
        """Return the constructor's arguments, for journals.

        Returns
        -------
        dict
        """
        return {"domain": self.domain, "constraints": self.constraints}

    @classmethod
    def from_plain(cls, state: Any) -> Constrained:
        """Return a domain from the constructor's arguments.

        Parameters
        ----------
        state : dict
            Returned by `to_plain`.

        Returns
        -------
        Constrained
        """
        return cls(**state)

    def __reduce__(self):
        # A copy is made without evaluating the constraints.
        return copyreg.__newobj__, (type(self),), vars(self)


class ConstrainedInContext(WithContext):
    """A domain with a context, and constraints that read it.

    Parameters
    ----------
    domain, context : domain
        As of `WithContext`.
    constraints : list
        Those that read the context, see `reads_context`.
    owner : str
        Named in errors.
    """

    def __init__(
        self, domain: Domain, context: Domain, constraints: list[Constraint], owner: str
    ) -> None:
        super().__init__(domain, context)
        self.constraints, self.owner, self.is_constrained = constraints, owner, True
        labels = np.isnan(self.context.number_bounds[0])
        for constraint in constraints:
            is_linear = isinstance(constraint, LinearConstraint)
            if is_linear and coefficients(constraint)[:, self.n_chosen :][:, labels].any():
                expected, got = "linear in numbers", "a coefficient of a category of the context"
                advice = "Give a callable."
                raise invalid_domain("constraints", expected, owner=owner, got=got, advice=advice)
        self._all, self._others = self.chosen, []
        if isinstance(domain, Constrained):
            self._all, self._others = domain.domain, domain.constraints

    def in_context(self, context: Array) -> WithContext:
        constraints, owner = self._of_chosen(context)
        chosen = Constrained(self._all, constraints, owner=owner)
        return replaced(self, current=context, chosen=chosen)

    def rules_in(self, context: Array) -> Rules:
        """Return the constraints in a context (c,), validated, as functions of rows (m, k)."""
        constraints, owner = self._of_chosen(context)
        return Rules(constraints, self._all, owner)

    def _of_chosen(self, context):
        """Return all constraints on x in a context (c,), and a name for errors."""
        values = self.context.decode_measured(context)
        numbers = self.context.numbers(context[np.newaxis])[0]
        bound = [in_context(constraint, numbers, values) for constraint in self.constraints]
        return [*self._others, *bound], f"{self.owner} in the context {values}"

    def sample(self, n: int, rng: RandomState = None) -> Array:
        if self.current is not None:
            return super().sample(n, rng)
        rng = check_random_state(rng)
        rows = [self.in_context(c).sample(1, rng) for c in self.context.sample(n, rng)]
        return np.reshape(rows, (n, self.n_dims))

    def queryable(self, X: ArrayLike) -> Mask:
        X, k = np.asarray(X), self.n_chosen
        queryable = super().queryable(X)
        if self.current is None:  # each row is in its own context, if that is known
            for i in np.flatnonzero(queryable & np.isfinite(X).all(axis=1)):
                queryable[i] = self.rules_in(X[i, k:]).obeyed(X[[i], :k])[0]
        return queryable

    def _inside(self, X):
        return super()._inside(X) & self.queryable(X)

    def _arguments(self):
        return self.chosen, self.context, self.constraints, self.owner

    def _key(self):
        return self.chosen, self.context, *map(id, self.constraints)


def constrained(domain, constraints, owner):
    """Return the domain with an optimizer's constraints on x."""
    constraints = as_list(constraints, owner)
    if not constraints:
        return domain
    if isinstance(domain, WithContext):
        reads = [reads_context(constraint, domain.n_dims) for constraint in constraints]
        others = [constraint for constraint, is_read in zip(constraints, reads) if not is_read]
        chosen = constrained(domain.chosen, others, owner)
        if not any(reads):
            return WithContext(chosen, domain.context)
        readers = [constraint for constraint, is_read in zip(constraints, reads) if is_read]
        limited = ConstrainedInContext(chosen, domain.context, readers, type(owner).__name__)
        limited.rules_in(domain.context.sample(1, 0)[0])  # raises if a constraint is invalid
        return limited
    limited = Constrained(domain, constraints, owner=owner)
    limited.search_space().feasible.check()  # raises if certainly no point is feasible
    return limited
