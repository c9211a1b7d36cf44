"""Random search: the baseline that learns nothing."""

import numpy as np

from ..exceptions import AskTellError
from ._base import BayesianOptimizer


class RandomSearch(BayesianOptimizer):
    """Uniform queries, whatever was observed: what every other algorithm has to beat.

    1. Draw a point of the domain uniformly.
    2. Observe.

    When to use it: as a baseline. When not: otherwise.

    Parameters
    ----------
    domain, maximize, clock, random_state
        See :class:`BayesianOptimizer`.

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

    def __init__(self, domain=None, *, maximize=True, clock="wall", random_state=None):
        super().__init__(domain, maximize=maximize, clock=clock, random_state=random_state)

    def _absorb(self, run, x, t, y, now):
        return None, run.policy, np.append(run.kept, len(run.told)), 0

    def recommend(self, t=None):
        """The best query so far, at whatever time it was made."""
        run = self._started()
        self._time(run, t)
        if not run.y:
            raise AskTellError("recommend() expects at least one observation, got none.")
        best = np.argmax(run.y) if self.maximize else np.argmin(run.y)
        return run.domain.decode(run.told[best][:-1])
