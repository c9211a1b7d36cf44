"""Random search, the baseline without a model."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .._validation import invalid
from ..exceptions import AskTellError
from ._ask_tell import AskTell
from ._parameters import algorithm
from ._suggest import in_context, restricted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .._typing import ContextLike, Point, PointsLike, Time


@algorithm
class RandomSearch(AskTell):
    """Uniform queries, independent of the observations: the baseline of all algorithms.

    1. Draw a point of the domain uniformly.
    2. Observe.

    When to use it: as a baseline. When not: otherwise.

    Notes
    -----
    The page :doc:`/differences` has these defaults beside the values of the paper.

    It has no model, and with that no ``predict`` and no ``refit``. With a ``history`` the data set
    is the stored observations, at least 256, and the best one.

    Examples
    --------
    >>> from sktvbo import RandomSearch
    >>> opt = RandomSearch([(0.0, 1.0)], random_state=0)
    >>> x = opt.ask(0.0)
    >>> opt.tell(x, 1.0)
    >>> bool(opt.recommend(1.0) == x)
    True
    """

    label = "random"

    def _before_surrogate(self, run, data):
        limit = run.history.log.limit
        if limit is None or len(data) <= limit + 1:
            return data
        return data.drop([int(_best(run, data) == 0)])

    def recommend(
        self,
        t: Time | None = None,
        *,
        context: ContextLike = None,
        fixed: Mapping[str, object] | None = None,
        available: Mapping[str, Sequence[object]] | PointsLike | None = None,
    ) -> Point:
        """Return the query of the best observation, at any time and in any context that allows it.

        Parameters
        ----------
        t : float or date, default=None
            Has no effect.
        context : array-like of shape (c,), or a dict for named variables, default=None
            Measured values, on a domain with a `~sktvbo.domain.Context`.
        fixed : dict, default=None
        available : dict of lists, or array-like of shape (m, d), default=None
            As in ``ask``: the query was one of those that they leave.

        Returns
        -------
        x : ndarray of shape (d,), or a dict for named parameters

        Raises
        ------
        AskTellError
            There is no observation yet that satisfies the constraints.
        """
        run = self._run_or_new()
        run.read_time(t)
        run = in_context(run, run.domain.contexts(context, 1)[0])
        run = restricted(run, fixed, available)
        best = _best(run, run.data)
        if best is None:
            raise invalid(
                "The number of observations before recommend()",
                "at least 1 in the domain that has what is fixed, and satisfies the constraints",
                got=str(len(run.data) and "none that does"),
                error=AskTellError,
            )
        return run.domain.decode(run.data.rows[best, :-1])


def _best(run, data):
    """Return the index of the best observation that may be asked, None if there is none."""
    if not len(data):
        return None
    rows = data.rows[:, :-1]
    allowed = run.domain.queryable(rows)
    allowed[allowed] = run.domain.search_space().allowed(run.domain.unit_of(rows[allowed]))
    return int(np.argmax(np.where(allowed, run.sign * data.y, -np.inf))) if allowed.any() else None
