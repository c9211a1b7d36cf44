"""A limit on the distance between successive queries.

Distances are shares of a parameter's range on its own scale, the logarithm for "log-real".
Categories have no distance, and may change freely.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import ArrayLike

from .._sklearn import BaseEstimator
from .._tables import as_row
from .._validation import check_choice, invalid, real_array
from ._base import Domain

if TYPE_CHECKING:
    from .._typing import Array


@dataclass(eq=False, repr=False)
class StepLimit(BaseEstimator):
    """Largest distance of a query from the previous one, in each parameter.

    The previous query is the latest that was asked for, told or announced, at its input or at the
    ``x`` of ``tell``: the machine is there. If it is cancelled, the one before it counts. The first
    query is free, and so is ``recommend``, which moves nothing. If the posterior mean at an
    observation beyond reach exceeds the mean plus one standard deviation at the best input within
    reach, queries go there step by step. They go to each of the ``start_points`` in the same way,
    and with ``safety`` to the nearest certified input if none is within reach; inputs on the way
    may be beyond a limit.

    Parameters
    ----------
    share : float, sequence of float of shape (d,), or dict, default=0.1
        Share of the range, at most 1. A dict names parameters, and others are free; 0 holds a
        parameter, also a category. The next integer, listed value or point of a finite set in each
        direction can be reached however small the share is.
    per : {"query", "time"}, default="query"
        The share is per query, or per unit of time between the times of two queries, and may then
        exceed 1. Queries of one batch are then at one input. The time for which an algorithm waits
        is not counted.

    Examples
    --------
    >>> import numpy as np
    >>> from sktvbo import WDBO
    >>> from sktvbo.domain import StepLimit
    >>> opt = WDBO([(0.0, 10.0)], max_step=0.1, n_initial_points=5, random_state=0)
    >>> for t in range(12):
    ...     x = opt.ask(t)
    ...     opt.tell(x, -(x[0] - 4.0) ** 2)
    >>> bool(abs(np.diff(opt.told_X_[:, 0])).max() <= 1.0 + 1e-9)
    True
    >>> slow = WDBO([(0.0, 10.0)], max_step=StepLimit(0.01, per="time"))    # 0.1 a second
    """

    share: ArrayLike | Mapping[str, float] = 0.1
    per: Literal["query", "time"] = "query"

    def shares(self, domain: Domain, owner: object = None) -> Array:
        """Return shares of the range (d,), infinity for free parameters.

        Parameters
        ----------
        domain : domain
        owner : object, default=None
            Named in errors; None is the limit itself.

        Returns
        -------
        ndarray of shape (d,)

        Raises
        ------
        ValueError
            They are invalid, or do not fit the domain.
        """
        check_choice(self.per, ("query", "time"), "per", self)
        names, n_dims = domain.columns if domain.is_named else (), domain.n_dims
        owner = self if owner is None else owner
        name = "share" if owner is self else "max_step"
        expected = f"a number in the range [0, inf), {n_dims} of them, or a dict by name"
        by_name = as_row(self.share)
        if by_name is not None and (names or isinstance(self.share, Mapping)):
            unknown = [key for key in by_name if key not in names]
            if unknown:
                expected = f"a dict of {', '.join(names) or 'no'} names"
                raise invalid(name, expected, unknown[0], owner)
            share = [by_name.get(key, np.inf) for key in names]
        else:
            share = self.share
        shares = real_array(share, f"The '{name}' parameter")
        fits = shares.shape in ((), (n_dims,)) and np.all(shares >= 0.0)
        if isinstance(share, bool) or not fits:
            raise invalid(name, expected, self.share, owner)
        shares = np.array(np.broadcast_to(shares, n_dims))
        if self.per == "query" and np.any((shares > 1.0) & (shares < np.inf)):
            expected = "at most 1: it is a share of the range"
            raise invalid(name, expected, self.share, owner, advice=_advice(domain, shares))
        return shares


def _advice(domain, shares):
    """Return the share of the range for the first number that is larger than 1."""
    i = np.argmax((shares > 1.0) & (shares < np.inf))
    share, width, moved = shares[i], domain.upper[i] - domain.lower[i], domain.lower.copy()
    moved[i] += share
    is_linear = np.isclose(
        domain.unit_of(moved[np.newaxis])[0, domain.unit_columns[i]] * width, share
    )
    if not is_linear or domain.kinds[i] in ("labels", "unordered") or share > width:
        return "A tenth of the range is 0.1."
    return f"{share:g} of a range of {width:g} is {share / width:.3g}."


def as_step_limit(value, domain, owner):
    """Return the `StepLimit` of an optimizer's ``max_step``, validated; None for None."""
    if value is None:
        return None
    limit = value if isinstance(value, StepLimit) else StepLimit(value)
    limit.shares(domain, limit if limit is value else owner)
    return limit
