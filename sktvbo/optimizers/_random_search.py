"""Random search, the baseline without a model."""

from __future__ import annotations

import sys
from dataclasses import field
from typing import TYPE_CHECKING

import numpy as np

from .._validation import invalid
from ..exceptions import AskTellError
from ._base import Algorithm
from ._parameters import algorithm
from ._suggest import in_context

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import NoReturn

    from numpy.typing import ArrayLike

    from .._typing import ContextLike, ContextsLike, Model, Point, PointsLike, Time
    from ..acquisition import Acquisition


@algorithm
class RandomSearch(Algorithm):
    """Uniform queries, independent of the observations: the baseline of all algorithms.

    1. Draw a point of the domain uniformly.
    2. Observe.

    When to use it: as a baseline. When not: otherwise.

    Notes
    -----
    The page :doc:`/differences` has these defaults beside the values of the paper.

    With a ``history`` the data set is the stored observations, at least 256, and the best one.

    Examples
    --------
    >>> from sktvbo import RandomSearch
    >>> opt = RandomSearch([(0.0, 1.0)], random_state=0)
    >>> x = opt.ask(0.0)
    >>> opt.tell(x, 1.0)
    >>> bool(opt.recommend(1.0) == x)
    True
    """

    # Without a surrogate: no parameters of the constructor.
    n_initial_points: int = field(default=sys.maxsize, init=False)
    surrogate: Model | None = field(default=None, init=False)
    acquisition: Acquisition | str | None = field(default=None, init=False)
    refit_every: int | str | None = field(default="auto", init=False)
    max_size: int | None = field(default=None, init=False)
    seasonal_periods: None = field(default=None, init=False)
    robust: bool = field(default=False, init=False)
    outcome_constraints: Mapping[str, tuple[float | None, float | None]] | None = field(
        default=None, init=False
    )
    safety: float | None = field(default=None, init=False)

    label = "random"

    def predict(
        self,
        X: PointsLike,
        t: Time | ArrayLike | None = None,
        return_std: bool = False,
        *,
        context: ContextsLike = None,
        include_noise: bool = False,
        outcome: str | None = None,
    ) -> NoReturn:
        raise AskTellError(
            "predict() needs a surrogate, and RandomSearch has none. Use another algorithm."
        )

    def _before_surrogate(self, run, data):
        limit = run.history.log.limit
        if limit is None or len(data) <= limit + 1:
            return data
        return data.drop([int(_best(run, data) == 0)])

    def recommend(self, t: Time | None = None, *, context: ContextLike = None) -> Point:
        # The best query at any time, and in any context that allows it.
        run = self._run_or_new()
        run.read_time(t)
        run = in_context(run, run.domain.contexts(context, 1)[0])
        best = _best(run, run.data)
        if best is None:
            raise invalid(
                "The number of observations before recommend()",
                "at least 1 in the domain that satisfies the constraints, if there are any",
                got=str(len(run.data) and "none that does"),
                error=AskTellError,
            )
        return run.domain.decode(run.data.rows[best, :-1])


def _best(run, data):
    """Return the index of the best observation that may be asked, None if there is none."""
    if not len(data):
        return None
    allowed = run.domain.queryable(data.rows[:, :-1])
    return int(np.argmax(np.where(allowed, run.sign * data.y, -np.inf))) if allowed.any() else None
