"""How far an optimizer may go at once: limits of a step, and a region around the incumbent.

Both are parameters of every optimizer, ``max_step`` and ``trust_region``, and compose with any
acquisition function, surrogate and policy: they say in which part of the domain a query is looked
for. Distances are parts of a parameter's range, on its own scale: of the logarithm's range for
"log-real". Categories have no distance, and may change freely.
"""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from typing import TYPE_CHECKING

import numpy as np
from sklearn.base import BaseEstimator

from ._checks import check_choice, check_int, check_real, invalid, real_array
from ._tables import as_row

if TYPE_CHECKING:
    from typing import Literal

    from numpy.typing import ArrayLike

    from ._typing import Array
    from .domain._base import Domain

__all__ = ["StepLimit", "TrustRegion"]


class StepLimit(BaseEstimator):
    """How far a query may be from the one before, in each parameter by itself.

    The one before is the latest query that was asked for, or the latest place that was told or
    announced without having been asked for: that is where the machine is. When it is cancelled, the
    one before that. The first query of all is free, and ``recommend`` is, which moves nothing.
    Where an observation beyond reach is believed to be better than what may be hoped for within,
    queries go there step by step, and so they go to each of the ``start_points``.

    Parameters
    ----------
    part : float, sequence of float of shape (d,), or dict, default=0.1
        Of the range. A dict names parameters, and others are free; 0 holds a parameter, a category
        too. Of integers, ordinals and finite sets those members can be reached that are within the
        step; where there is none the query stays where it is.
    per : {"query", "time"}, default="query"
        A part per query; or per unit of time that has passed since the query before was made, or is
        to be made. Queries of one batch are then at one place. Where an algorithm waits, the time
        that it waits is not counted.

    Examples
    --------
    >>> import numpy as np
    >>> from sktvbo import WDBO
    >>> from sktvbo.caution import StepLimit
    >>> opt = WDBO([(0.0, 10.0)], max_step=0.1, n_initial_points=5, random_state=0)
    >>> for t in range(12):
    ...     x = opt.ask(t)
    ...     opt.tell(x, -(x[0] - 4.0) ** 2)
    >>> bool(abs(np.diff(opt.told_X_[:, 0])).max() <= 1.0 + 1e-9)
    True
    >>> slow = WDBO([(0.0, 10.0)], max_step=StepLimit(0.01, per="time"))    # 0.1 a second
    """

    def __init__(
        self, part: ArrayLike | Mapping[str, float] = 0.1, per: Literal["query", "time"] = "query"
    ) -> None:
        self.part = part
        self.per = per

    def parts(self, domain: Domain, owner: object = None) -> Array:
        """Parts of the range (d,), infinity for what is free.

        Parameters
        ----------
        domain : domain
        owner : object, default=None
            Who is named in errors; None is the limit itself.

        Returns
        -------
        ndarray of shape (d,)

        Raises
        ------
        ValueError
            They make no sense, or are not of this domain.
        """
        check_choice(self.per, ("query", "time"), "per", self)
        names, n_dims = getattr(getattr(domain, "domain", domain), "names", ()), domain.n_dims
        owner = self if owner is None else owner
        name = "part" if owner is self else "max_step"
        expected = f"a number in the range [0, inf), {n_dims} of them, or a dict by name"
        by_name = as_row(self.part)
        if by_name is not None and (names or isinstance(self.part, Mapping)):
            unknown = [key for key in by_name if key not in names]
            if unknown:
                raise invalid(
                    name, f"a dict of {', '.join(names) or 'no'} names", unknown[0], owner
                )
            found = [by_name.get(key, np.inf) for key in names]
        else:
            found = self.part
        if isinstance(found, bool) or (np.ndim(found) and isinstance(found, str)):
            raise invalid(name, expected, self.part, owner)
        parts = real_array(found, f"The '{name}' parameter")
        if parts.shape not in ((), (n_dims,)) or not np.all(parts >= 0.0):
            raise invalid(name, expected, self.part, owner)
        return np.array(np.broadcast_to(parts, n_dims))


class TrustRegion(BaseEstimator):
    """Look for queries in a box around the incumbent, which grows and shrinks with success.

    As in TuRBO (Eriksson et al. 2019), for an incumbent that moves: it is the place observed whose
    posterior mean is best at the time of the query, and a query is a success when it is better than
    what the incumbent was believed to be worth at that time. After some successes in a row the box
    is doubled, after some others halved; below the shortest it begins again at its first length, so
    that what has changed elsewhere is found.

    Parameters
    ----------
    length : float, default=0.8
        Side of the box at first, as a part of each range.
    shortest, longest : float, default=0.05, 1.6
        Between these it varies.
    n_successes : int, default=3
        After so many in a row it is doubled.
    n_failures : int, default=None
        After so many in a row it is halved; None: as many as dimensions, and 4 at least.

    References
    ----------
    D. Eriksson, M. Pearce, J. Gardner, R. Turner, M. Poloczek, "Scalable Global Optimization via
    Local Bayesian Optimization", NeurIPS 2019.

    Examples
    --------
    >>> from sktvbo import WDBO
    >>> from sktvbo.caution import TrustRegion
    >>> opt = WDBO([(0.0, 1.0)] * 6, trust_region=TrustRegion(0.4), random_state=0)
    """

    def __init__(
        self,
        length: float = 0.8,
        *,
        shortest: float = 0.05,
        longest: float = 1.6,
        n_successes: int = 3,
        n_failures: int | None = None,
    ) -> None:
        self.length = length
        self.shortest = shortest
        self.longest = longest
        self.n_successes = n_successes
        self.n_failures = n_failures

    def check(self) -> None:
        """Raise a ValueError for a parameter that makes no sense."""
        for name in ("shortest", "longest", "length"):
            check_real(getattr(self, name), name, self, interval="(0, inf)")
        if not self.shortest <= self.length <= self.longest:
            expected = f"between shortest={self.shortest} and longest={self.longest}"
            raise invalid("length", expected, self.length, self)
        check_int(self.n_successes, "n_successes", self)
        if self.n_failures is not None:
            check_int(self.n_failures, "n_failures", self)


def as_step_limit(value, domain, owner):
    """A `StepLimit` from the ``max_step`` of an optimizer, checked; None for None."""
    if value is None:
        return None
    limit = value if isinstance(value, StepLimit) else StepLimit(value)
    limit.parts(domain, limit if limit is value else owner)
    return limit


def as_trust_region(value, owner):
    """A `TrustRegion` from the ``trust_region`` of an optimizer, checked; None for None."""
    if value is None:
        return None
    if isinstance(value, Real) and not isinstance(value, bool):
        value = TrustRegion(check_real(value, "trust_region", owner, interval="[0.05, 1.6]"))
    if not isinstance(value, TrustRegion):
        raise invalid("trust_region", "None, a float or a TrustRegion", value, owner)
    value.check()
    return value
