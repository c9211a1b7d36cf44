"""The base of all policies, and what they are told of a run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from sklearn.base import BaseEstimator

from .._validation import check_int, invalid

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike

    from .._surrogate import Surrogate
    from .._typing import Array, Indices

NOTHING = np.empty(0, dtype=np.intp)


def check_length(length, name: str, owner: object):
    """Raise unless this is a number of observations, or a callable that makes sense."""
    if not callable(length):
        check_int(length, name, owner)
    elif hasattr(length, "check"):
        length.check()


@dataclass(frozen=True)
class RunSoFar:
    """What a policy may know of a run, besides the surrogate, before an observation is added.

    Attributes
    ----------
    n_told : int
        Observations told, the new one and the removed ones included.
    queries : tuple of (float, int)
        Times of the latest queries (at most 1024) that were made with a surrogate, and sizes of the
        data set then.
    query_times, query_sizes : ndarray of shape (m,)
        The same as arrays.
    latest : callable
        ``latest(n)`` gives the latest n observations told before the new one, removed or not, as
        the surrogate sees them: rows of shape (n, d + 1), time last, and values of shape (n,).

    Notes
    -----
    A policy keeps of it what it needs, and not the whole: that would keep the whole run alive.
    """

    n_told: int
    queries: tuple
    latest: Callable

    @property
    def query_times(self) -> Array:
        return np.array([time for time, _ in self.queries], dtype=np.float64)

    @property
    def query_sizes(self) -> Indices:
        return np.array([size for _, size in self.queries], dtype=np.intp)


class StaleDataPolicy(BaseEstimator):
    """Base of stale-data policies: it forgets nothing, and each part may be overridden.

    Examples
    --------
    >>> import numpy as np
    >>> from sktvbo.staleness import StaleDataPolicy
    >>> class MaximumAge(StaleDataPolicy):
    ...     def __init__(self, age=10.0):
    ...         self.age = age
    ...
    ...     def after_add(self, surrogate, now):
    ...         return np.flatnonzero(now - surrogate.X_train_[:, -1] > self.age)
    """

    def check(self, surrogate: Surrogate | None = None) -> None:
        """Raise a ValueError for a parameter that makes no sense; called when a run begins.

        Parameters
        ----------
        surrogate : estimator, default=None
            The user's, unfitted, so that one with which the policy cannot work is refused before
            anything is observed; None: the algorithm's own.
        """

    def watch(self, run: RunSoFar) -> None:
        """Take notice of the run.

        Parameters
        ----------
        run : RunSoFar
        """

    def before_add(self, surrogate: Surrogate, x: Array, t: float, y: float) -> ArrayLike:
        """Rows to drop before an observation is added.

        Parameters
        ----------
        surrogate : Surrogate
            Fitted; it stays as it is.
        x : ndarray of shape (u,)
            Place of the observation, in the unit box.
        t, y : float
            Its time and its value.

        Returns
        -------
        indices : array-like of int, or bool mask of shape (n,)
            Positions in ``surrogate.X_train_``; none here.
        """
        return NOTHING

    def after_add(self, surrogate: Surrogate, now: float) -> ArrayLike:
        """Rows to drop after an observation was added.

        Parameters
        ----------
        surrogate : Surrogate
            Fitted, with the observation as its last row; it stays as it is.
        now : float
            Present time, not before any observation.

        Returns
        -------
        indices : array-like of int, or bool mask of shape (n,)
            Positions in ``surrogate.X_train_``; none here. At least one row has to stay.
        """
        return NOTHING

    def record(self) -> Mapping[str, float]:
        """Columns of the optimizer's history: a dict of str to float, the same names always.

        None stands for what is not known yet; NaN is an error.
        """
        return {}


def least_relevant(sweep):
    """Position of the least relevant observation of a `RelevancySweep`, and its relevancy."""
    relevancy = np.asarray(sweep.relevancy())
    unknown = np.count_nonzero(np.isnan(relevancy))
    if unknown:
        raise invalid(
            "The relevancies of the surrogate",
            "numbers",
            got=f"NaN for {unknown} of {relevancy.size} observations",
            advice="Without them no observation can be chosen to be forgotten.",
        )
    least = int(np.argmin(relevancy))
    return least, float(relevancy[least])


class KeepAll(StaleDataPolicy):
    """Forget nothing.

    Examples
    --------
    >>> from sktvbo.staleness import KeepAll
    >>> KeepAll().after_add(surrogate=None, now=1.0).size
    0
    """
