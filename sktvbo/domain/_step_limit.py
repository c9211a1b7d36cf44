"""A limit on how far a query may be from the one before.

Distances are parts of a parameter's range, on its own scale: of the logarithm's range for
"log-real". Categories have no distance, and may change freely.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from sklearn.base import BaseEstimator

from .._tables import as_row
from .._validation import check_choice, invalid, real_array

if TYPE_CHECKING:
    from typing import Literal

    from numpy.typing import ArrayLike

    from .._typing import Array
    from ._base import Domain


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
    >>> from sktvbo.domain import StepLimit
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


def as_step_limit(value, domain, owner):
    """A `StepLimit` from the ``max_step`` of an optimizer, checked; None for None."""
    if value is None:
        return None
    limit = value if isinstance(value, StepLimit) else StepLimit(value)
    limit.parts(domain, limit if limit is value else owner)
    return limit
