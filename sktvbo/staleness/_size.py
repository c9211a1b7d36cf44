"""A policy that limits the size of the data set, whatever else is forgotten."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .._validation import check_int
from ..exceptions import UnsupportedKernelError
from ._base import NOTHING, StaleDataPolicy, least_relevant

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from .._surrogate import Surrogate


class MaximumSize(StaleDataPolicy):
    """Remove what is beyond a number of observations: the least relevant, or else the oldest.

    The ``max_size`` of an optimizer is this, behind its policy. It works with any surrogate: where
    the relevancy of observations is not known, the oldest by their times go.

    Parameters
    ----------
    max_size : int, default=300
        Observations that stay.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.gaussian_process.kernels import RationalQuadratic
    >>> from sktvbo import TimeVaryingGPRegressor
    >>> from sktvbo.staleness import MaximumSize
    >>> X = np.column_stack([np.linspace(0.0, 1.0, 6), [5.0, 4.0, 3.0, 2.0, 1.0, 0.0]])
    >>> unknown = TimeVaryingGPRegressor(temporal_kernel=RationalQuadratic(), optimizer=None)
    >>> MaximumSize(4).after_add(unknown.fit(X, X[:, 0]), now=5.0)
    array([5, 4])
    """

    def __init__(self, max_size: int = 300) -> None:
        self.max_size = max_size

    def check(self, surrogate: Surrogate | None = None) -> None:
        """Raise a ValueError for a parameter that makes no sense; see `StaleDataPolicy.check`."""
        check_int(self.max_size, "max_size", self)

    def after_add(self, surrogate: Surrogate, now: float) -> ArrayLike:
        """The rows beyond the number."""
        self.check()
        X = surrogate.X_train_
        beyond = len(X) - int(self.max_size)
        if beyond <= 0:
            return NOTHING
        if not _knows_relevancy(surrogate):
            return np.argsort(X[:, -1], kind="stable")[:beyond]
        sweep, rows = surrogate.relevancy_sweep(now), []
        for _ in range(beyond):
            least, _ = least_relevant(sweep)
            rows.append(int(sweep.index[least]))
            sweep.remove(least)
        return np.array(rows, dtype=np.intp)


def _knows_relevancy(surrogate):
    if not hasattr(surrogate, "check_relevancy"):
        return False
    try:
        surrogate.check_relevancy()
    except UnsupportedKernelError:
        return False
    return True
