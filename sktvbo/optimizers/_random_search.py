"""Random search: the baseline that learns nothing."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import numpy as np

from .._docstrings import described_like
from .._validation import invalid
from ..exceptions import AskTellError
from ._base import Algorithm, BayesianOptimizer

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import timedelta
    from typing import NoReturn

    from numpy.typing import ArrayLike

    from .._typing import (
        ContextLike,
        ContextsLike,
        PathLike,
        Point,
        PointsLike,
        RandomState,
        Time,
        TimeSource,
    )
    from ..domain import StepLimit
    from ..domain._convert import DomainLike
    from ..domain._rules import Constraint
    from ..journal import Journal


@described_like(BayesianOptimizer)
class RandomSearch(Algorithm):
    """Uniform queries, whatever was observed: what every other algorithm has to beat.

    1. Draw a point of the domain uniformly.
    2. Observe.

    When to use it: as a baseline. When not: otherwise.

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

    def __init__(
        self,
        domain: DomainLike | None = None,
        *,
        maximize: bool = True,
        clock: TimeSource = "wall",
        constraints: Constraint | Sequence[Constraint] | None = None,
        random_state: RandomState = None,
        history: int | None = None,
        journal: PathLike | Journal | None = None,
        max_step: ArrayLike | Mapping[str, float] | StepLimit | None = None,
        start_points: PointsLike | None = None,
        query_timeout: float | timedelta | np.timedelta64 | str | None = None,
        time_unit: str = "s",
    ) -> None:
        super().__init__(
            domain,
            n_initial_points=sys.maxsize,  # never a surrogate
            maximize=maximize,
            clock=clock,
            constraints=constraints,
            random_state=random_state,
            history=history,
            journal=journal,
            max_step=max_step,
            start_points=start_points,
            query_timeout=query_timeout,
            time_unit=time_unit,
        )

    def _n_initial(self, n_started):
        return self.n_initial_points

    def predict(
        self,
        X: PointsLike,
        t: Time | ArrayLike | None = None,
        return_std: bool = False,
        *,
        context: ContextsLike = None,
        include_noise: bool = False,
    ) -> NoReturn:
        raise AskTellError(
            "predict() needs a surrogate, and RandomSearch has none. Take another one."
        )

    def recommend(self, t: Time | None = None, *, context: ContextLike = None) -> Point:
        # The best query so far, whatever its time.
        run = self._run_or_new()
        run.read_time(t), run.domain.contexts(context, 1)  # validated, and without effect
        rows, y = run.data.rows.reshape(-1, run.domain.n_dims + 1)[:, :-1], run.data.y
        allowed = run.domain.allowed(run.domain.to_unit(rows))
        if not allowed.any():
            raise invalid(
                "The number of observations before recommend()",
                "at least 1 that satisfies the constraints, if there are any",
                got=str(len(rows) and "none that does"),
                error=AskTellError,
            )
        return run.domain.decode(rows[np.argmax(np.where(allowed, run.sign * y, -np.inf))])
