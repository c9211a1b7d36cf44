"""Random search: the baseline that learns nothing."""

import sys

import numpy as np

from .._checks import invalid
from ..exceptions import AskTellError
from ._base import Algorithm


class RandomSearch(Algorithm):
    """Uniform queries, whatever was observed: what every other algorithm has to beat.

    1. Draw a point of the domain uniformly.
    2. Observe.

    When to use it: as a baseline. When not: otherwise.

    Parameters
    ----------
    domain, maximize, clock, random_state, history, journal
        See `BayesianOptimizer`.

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
        domain=None,
        *,
        maximize=True,
        clock="wall",
        random_state=None,
        history=None,
        journal=None,
    ):
        super().__init__(
            domain,
            n_initial_points=sys.maxsize,  # never a surrogate
            maximize=maximize,
            clock=clock,
            random_state=random_state,
            history=history,
            journal=journal,
        )

    def recommend(self, t=None):
        """The best query so far, at whatever time it was made."""
        run = self._run_or_new()
        run.time(t)
        if not len(run.kept):
            raise invalid(
                "The number of observations before recommend()",
                "at least 1",
                got="0",
                error=AskTellError,
            )
        return run.domain.decode(run.kept.rows[np.argmax(run.sign * run.kept.y), :-1])
