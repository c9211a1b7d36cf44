"""A domain of which only a part may be queried."""

from __future__ import annotations

import copyreg
from typing import TYPE_CHECKING

from .._validation import invalid
from ..exceptions import DomainError
from ._base import Domain
from ._context import WithContext, as_domain
from ._feasible import Feasible
from ._rules import Rules, as_list

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from numpy.typing import ArrayLike

    from .._typing import Array, Mask, Point, Points, RandomState
    from ._convert import DomainLike
    from ._rules import Constraint


class Constrained(Domain):
    """The points of a domain that satisfy constraints.

    Queries and recommendations satisfy all constraints, in exact arithmetic on the numbers that are
    returned; equations up to 1e-9 (of b, where that is larger than 1). A point that does not may be
    told all the same: it has been measured.

    Parameters
    ----------
    domain : Box, FiniteSet, ParameterSpace, or what `as_domain` takes
    constraints : LinearConstraint, NonlinearConstraint, callable, or a list of them
        - `scipy.optimize.LinearConstraint`, lb <= A x <= ub, in the numbers of a row. With lb = ub
          it is an equation, between reals that are on no other scale, and integers.
        - `scipy.optimize.NonlinearConstraint`, lb <= fun(x) <= ub with lb < ub; fun gets x as a
          user does, a dict for named parameters. Derivatives are found by differences.
        - a callable of such an x: it returns True where x may be queried, or a number that is 0 or
          more. Numbers are better: they say in which direction the edge lies, which answers of yes
          and no leave to trying, to about a hundredth of the range. It must give the same answer
          always, and may be called some thousand times for a query.
    owner : object or str, default=None
        Who is named in errors, in place of this class.

    Attributes
    ----------
    domain : domain
    n_dims, n_unit, lower, upper, continuous
        Those of the domain.
    size : int or float
        Number of members that satisfy the constraints, where these are not too many to be counted.

    Raises
    ------
    DomainError
        Constraints that make no sense, or that no point satisfies. Of a continuum some thousand
        points are tried, and some more are searched where constraints are numbers.

    Notes
    -----
    Of random points those are taken that satisfy the constraints. Where these are few, walks begin
    at some that do: hit-and-run, whose steps are long in a set that is thin in some directions.

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
        if isinstance(domain, Constrained):
            expected = "a domain without constraints; give all of them at once"
            raise invalid("domain", expected, domain, owner, error=DomainError)
        self._owner = owner if isinstance(owner, str) else type(owner).__name__
        self._rules = Rules(self.constraints, domain, self._owner)
        self._whole = self._part(domain)
        super().__init__(domain.lower, domain.upper, domain.continuous, self._whole.size)
        self.kinds, self.unit_columns = domain.kinds, domain.unit_columns
        self.is_named = domain.is_named

    def _part(self, view):
        return Feasible(view, self._rules, self.domain, self._owner)

    # --- what may be searched ---------------------------------------------------------------------

    def within(self, low: ArrayLike, high: ArrayLike) -> Domain:
        return self._part(self.domain.within(low, high))

    def sample(self, n: int, rng: RandomState = None) -> Array:
        """Draw members uniformly; where few are among random points, about uniformly, by walks.

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
        return self._whole.sample(n, rng)

    def candidates(self, n: int, rng: RandomState = None) -> Array:
        """Members to begin a search with, as of `ParameterSpace`.

        Parameters
        ----------
        n : int
            How many, a power of two.
        rng : RandomState, default=None
            Scrambles the Sobol points.

        Returns
        -------
        ndarray of shape (m, n_unit)
            In unit form.
        """
        return self._whole.candidates(n, rng)

    def neighbours(self, u: ArrayLike) -> Array:
        """The domain's neighbours that are members.

        Parameters
        ----------
        u : ndarray of shape (n_unit,)
            A member, in unit form.

        Returns
        -------
        ndarray of shape (k, n_unit)
        """
        return self._whole.neighbours(u)

    def allowed(self, U: ArrayLike) -> Mask:
        return self._whole.allowed(U)

    def members(self, limit: int) -> Array | None:
        # What may not be queried may be told.
        return self.domain.members(limit)

    def mended(self, U: ArrayLike) -> Array:
        return self._whole.mended(U)

    def margins(self, U: ArrayLike) -> Array:
        return self._whole.margins(U)

    @property
    def by_answer(self) -> bool:
        return self._whole.by_answer

    # --- the rest is the domain's -----------------------------------------------------------------

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
        return self.domain._inside(X) & self._rules.obeyed(X)

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

    def _shown(self):
        return f"{self.domain!r}, {self.constraints!r}"

    def _key(self):
        # Functions are equal when they are the same one.
        return self.domain, *map(id, self.constraints)

    def to_plain(self) -> Any:
        """What it is made of, for journals.

        Returns
        -------
        dict
        """
        return {"domain": self.domain, "constraints": self.constraints}

    @classmethod
    def from_plain(cls, state: Any) -> Constrained:
        """The domain that is made of these.

        Parameters
        ----------
        state : dict
            As of ``to_plain``.

        Returns
        -------
        Constrained
        """
        return cls(**state)

    def __reduce__(self):
        # Constraints are not asked again to make a copy.
        return copyreg.__newobj__, (type(self),), vars(self)


def constrained(domain, constraints, owner):
    """The domain, of which only what satisfies an optimizer's constraints may be queried."""
    if not as_list(constraints, owner):
        return domain
    if isinstance(domain, WithContext):
        return WithContext(constrained(domain.chosen, constraints, owner), domain.context)
    found = Constrained(domain, constraints, owner=owner)
    found.sample(1, 0)  # an error where nothing satisfies them
    return found
