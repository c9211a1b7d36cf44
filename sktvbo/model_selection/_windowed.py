"""A learner of a sliding window."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING

from sklearn.base import clone
from sklearn.utils.validation import validate_data

from .._checks import check_real, invalid
from ._batches import as_rows, cut, stack
from ._delegate import Delegate

if TYPE_CHECKING:
    from typing import Self

    from numpy.typing import ArrayLike
    from sklearn.base import BaseEstimator


class Windowed(Delegate):
    """A learner that is fitted to the latest rows only, anew at each batch.

    It gives any estimator, or pipeline, a ``partial_fit``. How much of the past to learn from is a
    hyperparameter, and on a drifting stream often the one that matters most.

    Parameters
    ----------
    estimator : estimator
    window : float, default=1000
        How many rows to learn from, rounded. A float, so that an optimizer may search it on a
        logarithmic scale.
    memory : int, default=None
        How many rows are remembered, for when ``window`` is enlarged; None is ``window``.

    Attributes
    ----------
    learner_ : estimator
        Fitted to the latest rows. It answers ``predict``, ``score`` and what else it has.
    X_window_, y_window_ : array-like of shape (n, d), (n,)
        The rows remembered.
    classes_ : ndarray of shape (n_classes,)
        Of a classifier: those in the window.

    See Also
    --------
    OnlineTuner : Tunes the window, and what else there is, on the stream.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LinearRegression
    >>> from sktvbo.model_selection import Windowed
    >>> learner = Windowed(LinearRegression(), window=20)
    >>> X = np.linspace(0.0, 1.0, 50)[:, np.newaxis]
    >>> learner.partial_fit(X, X[:, 0]).partial_fit(X, -X[:, 0]).predict([[1.0]]).round(6)
    array([-1.])
    """

    def __init__(
        self, estimator: BaseEstimator, window: int = 1000, memory: int | None = None
    ) -> None:
        self.estimator = estimator
        self.window = window
        self.memory = memory

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Learn from the latest of these rows, and forget all others.

        Parameters
        ----------
        X : array-like of shape (n, d)
        y : array-like of shape (n,)

        Returns
        -------
        self : Windowed

        Raises
        ------
        ValueError
            A window or a memory that is none, or what the learner refuses.
        """
        return self._learn(X, y, reset=True)

    def partial_fit(self, X: ArrayLike, y: ArrayLike, classes: ArrayLike | None = None) -> Self:
        """Add rows, and learn from the latest.

        Parameters
        ----------
        X : array-like of shape (m, d)
        y : array-like of shape (m,)
        classes : object, default=None
            Ignored: the learner knows the classes of its window.

        Returns
        -------
        self : Windowed

        Raises
        ------
        ValueError
            See `fit`. What was learnt stays as it was.
        """
        return self._learn(X, y, reset=not self.__sklearn_is_fitted__())

    def _learn(self, X, y, *, reset):
        window = memory = round(check_real(self.window, "window", self, interval="[1, inf)"))
        if self.memory is not None:
            memory = round(check_real(self.memory, "memory", self, interval="[1, inf)"))
            if memory < window:
                raise invalid("memory", f"at least the window, {window}", self.memory, self)
        new = copy.copy(self)
        validate_data(new, X, y, reset=reset, skip_check_array=True)
        X, y = as_rows(X), as_rows(y)
        if not reset:
            X, y = stack(self.X_window_, X), stack(self.y_window_, y)
        latest = slice(-window, None)
        new._learner = clone(self.estimator).fit(cut(X, latest), cut(y, latest))
        new.X_window_, new.y_window_ = (cut(rows, slice(-memory, None)) for rows in (X, y))
        self.__dict__ = new.__dict__
        return self

    @property
    def learner_(self) -> BaseEstimator:
        return self._learner

    def __sklearn_is_fitted__(self):
        return hasattr(self, "_learner")

    def __deepcopy__(self, memo):
        # What was learnt is replaced and never changed, so that copies may share it.
        new = clone(self)
        learnt = {name: value for name, value in vars(self).items() if name not in vars(new)}
        vars(new).update(learnt)
        return new
