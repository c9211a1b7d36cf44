"""A learner whose fit goes on where the last one ended."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING

from sklearn.base import clone
from sklearn.utils.validation import validate_data

from .._checks import invalid
from ._delegate import Delegate

if TYPE_CHECKING:
    from typing import Self

    from numpy.typing import ArrayLike
    from sklearn.base import BaseEstimator


class WarmStarted(Delegate):
    """A learner with ``warm_start``, each fit of which goes on from the weights of the last.

    It makes a ``partial_fit`` of a fit that is short, such as one epoch with ``max_iter=1``, in
    which every hyperparameter takes effect at once. The ``partial_fit`` of scikit-learn's neural
    networks does not heed a new learning rate, for example.

    Parameters
    ----------
    estimator : estimator
        Has the parameter ``warm_start``, which is set to True.

    Attributes
    ----------
    learner_ : estimator
        Fitted. It answers ``predict``, ``score`` and what else it has.
    classes_ : ndarray of shape (n_classes,)
        Of a classifier.

    See Also
    --------
    OnlineTuner : Trains a population of such learners.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.ensemble import GradientBoostingRegressor
    >>> from sktvbo.model_selection import WarmStarted
    >>> X = np.linspace(0.0, 1.0, 40)[:, np.newaxis]
    >>> trees = WarmStarted(GradientBoostingRegressor(n_estimators=5)).fit(X, X[:, 0])
    >>> first = trees.score(X, X[:, 0])
    >>> trees = trees.set_params(estimator__n_estimators=25).partial_fit(X, X[:, 0])
    >>> trees.score(X, X[:, 0]) > first
    True
    """

    def __init__(self, estimator: BaseEstimator) -> None:
        self.estimator = estimator

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Begin anew.

        Parameters
        ----------
        X : array-like of shape (n, d)
        y : array-like of shape (n,)

        Returns
        -------
        self : WarmStarted

        Raises
        ------
        TypeError
            A learner without ``warm_start``.
        ValueError
            What the learner refuses. What was learnt stays as it was.
        """
        return self._learn(X, y, reset=True)

    def partial_fit(self, X: ArrayLike, y: ArrayLike, classes: ArrayLike | None = None) -> Self:
        """Go on from the present weights, with the present hyperparameters.

        Parameters
        ----------
        X : array-like of shape (n, d)
        y : array-like of shape (n,)
            For a classifier: all classes, each time.
        classes : object, default=None
            Ignored.

        Returns
        -------
        self : WarmStarted

        Raises
        ------
        TypeError, ValueError
            See `fit`.
        """
        return self._learn(X, y, reset=not self.__sklearn_is_fitted__())

    def _learn(self, X, y, *, reset):
        learner = clone(self.estimator)
        parameters = learner.get_params(deep=False) | {"warm_start": True}
        if "warm_start" not in learner.get_params(deep=False):
            expected = "a learner with the parameter warm_start"
            raise invalid("estimator", expected, self.estimator, self, error=TypeError)
        new = copy.copy(self)
        validate_data(new, X, y, reset=reset, skip_check_array=True)
        if not reset:
            learner = copy.deepcopy(self._learner)
        new._learner = learner.set_params(**parameters).fit(X, y)
        self.__dict__ = new.__dict__
        return self

    @property
    def learner_(self) -> BaseEstimator:
        return self._learner

    def __sklearn_is_fitted__(self):
        return hasattr(self, "_learner")
