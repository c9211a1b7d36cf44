"""Base class of all policies, and the view of a run that they receive."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from .._sklearn import BaseEstimator

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike

    from .._typing import Array, Indices
    from ..domain._base import Domain
    from ._surrogate import Surrogate

NO_ROWS = np.empty(0, dtype=np.intp)


@dataclass(frozen=True)
class RunSoFar:
    """View of a run before an observation is added.

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
    max_size : int or None
        Largest data set that a ``step_budget`` allows. Rows that a policy leaves beyond it are
        removed by another one, which takes longer.
    domain : Domain or None
        Of the queries: its ``from_unit`` and ``described`` give inputs as users see them.
    columns : dict of str to list of int
        Columns of ``surrogate.X_train_`` by parameter, or by variable of a context: one each, or
        for a category one for each value. The last column of ``X_train_`` is the time.

    Notes
    -----
    A policy stores the parts that it needs, never this object: that would keep the whole run in
    memory.
    """

    n_told: int
    queries: tuple
    latest: Callable
    max_size: int | None = None
    domain: Domain | None = None

    @property
    def query_times(self) -> Array:
        return np.array([time for time, _ in self.queries], dtype=np.float64)

    @property
    def query_sizes(self) -> Indices:
        return np.array([size for _, size in self.queries], dtype=np.intp)

    @property
    def columns(self) -> dict[str, list[int]]:
        if self.domain is None:
            return {}
        starts = [*self.domain.unit_columns.tolist(), self.domain.n_unit]
        return {
            name: list(range(*pair)) for name, pair in zip(self.domain.columns, pairwise(starts))
        }


class StaleDataPolicy(BaseEstimator):
    """Base of stale-data policies: it drops nothing, and each method may be overridden.

    Attributes
    ----------
    max_size : int or None
        Largest data set that the policy leaves, which makes the same ``max_size`` of the optimizer
        redundant. None: no such limit.
    queries_prior : bool
        True if the next query ignores the data set and is drawn uniformly, as from a constant
        prior.
    wants_late_rows : bool
        True if late observations are as good as others, see Notes.
    summarizes : bool
        True if rows that the policy drops are irrelevant, and not wrong: their information on the
        part of f that never changes is kept, see `~sktvbo.gaussian_process.QuadraticMean`.

    Notes
    -----
    An observation is late if it is older than the newest one in the data set: it tells nothing
    about the present. `before_add` and `before_outcome` are not called for it, and it never
    replaces all others: where `after_add` would leave a late row alone, the data set stays as it
    is. ``wants_late_rows = True`` of a class lifts this rule.

    A reset is a `before_add` that returns all rows, or a `before_outcome` that returns True. An
    observation that is older than the latest reset never enters the data set, and is told as the
    others in all other respects: it is in ``told_X_``.

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

    max_size: int | str | None = None
    queries_prior = False
    wants_late_rows = False
    summarizes = False

    def check(self, surrogate: Surrogate | None = None) -> None:
        """Raise a ValueError for an invalid parameter; called when a run begins.

        Parameters
        ----------
        surrogate : estimator, default=None
            The user's, unfitted: one that the policy cannot work with is refused before the first
            observation. None: the algorithm's own.
        """

    def watch(self, run: RunSoFar) -> None:
        """Take note of the run.

        Parameters
        ----------
        run : RunSoFar
        """

    def before_add(self, surrogate: Surrogate, x: Array, t: float, y: float) -> ArrayLike:
        """Return the rows to drop before an observation is added; not called for a late one.

        Parameters
        ----------
        surrogate : Surrogate
            Fitted; not to be modified.
        x : ndarray of shape (u,)
            Coordinates of the observation in the unit box.
        t, y : float
            Its time and its value.

        Returns
        -------
        indices : array-like of int, or bool mask of shape (n,)
            Positions in ``surrogate.X_train_``; none here.
        """
        return NO_ROWS

    def before_outcome(self, surrogate: Surrogate, x: Array, t: float, value: float) -> bool:
        """Return True to drop all rows because of a measured outcome; called after `before_add`.

        Parameters
        ----------
        surrogate : Surrogate
            Of the outcome, fitted; not to be modified.
        x : ndarray of shape (u,)
            Coordinates of the observation in the unit box.
        t, value : float
            Its time and the outcome.
        """
        return False

    def after_add(self, surrogate: Surrogate, now: float) -> ArrayLike:
        """Return the rows to drop after an observation was added.

        Parameters
        ----------
        surrogate : Surrogate
            Fitted, with the observation as its last row, late or not; not to be modified.
        now : float
            Present time, not before any observation.

        Returns
        -------
        indices : array-like of int, or bool mask of shape (n,)
            Positions in ``surrogate.X_train_``; none here. At least one row has to stay.
        """
        return NO_ROWS

    def record(self) -> Mapping[str, float]:
        """Return columns of the optimizer's history, a dict of str to float.

        The names are the same at each step. None stands for an unknown value; NaN is an error.
        """
        return {}


class KeepAll(StaleDataPolicy):
    """Drop nothing.

    Examples
    --------
    >>> from sktvbo import TimeVaryingGPRegressor
    >>> from sktvbo.staleness import KeepAll
    >>> gp = TimeVaryingGPRegressor(optimizer=None).fit([[0.1, 0.0], [0.9, 1.0]], [1.0, 2.0])
    >>> KeepAll().after_add(gp, now=1.0).size
    0
    """

    if TYPE_CHECKING:  # the base class lets others return any array-like

        def before_add(self, surrogate: Surrogate, x: Array, t: float, y: float) -> Indices: ...
        def after_add(self, surrogate: Surrogate, now: float) -> Indices: ...
