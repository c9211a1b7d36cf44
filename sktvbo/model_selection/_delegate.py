"""Estimators that are, to the outside, what a learner within is."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from typing import TYPE_CHECKING

from sklearn.base import BaseEstimator, MetaEstimatorMixin
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import ArrayLike, NDArray

    from .._typing import Array


def _has(method):
    """Whether the learner, or before a fit the parameter, has a method."""

    def check(self):
        learner = self.learner_ if self.__sklearn_is_fitted__() else self.estimator
        getattr(learner, method)
        return True

    return check


class Delegate(MetaEstimatorMixin, BaseEstimator, metaclass=ABCMeta):
    """Base of a meta-estimator with the parameter ``estimator``, whose ``learner_`` answers."""

    @property
    @abstractmethod
    def learner_(self) -> BaseEstimator:
        """The fitted learner that answers."""

    @abstractmethod
    def __sklearn_is_fitted__(self):
        """Whether there is one."""

    def __sklearn_tags__(self):
        tags, inner = super().__sklearn_tags__(), get_tags(self.estimator)
        for name in (
            "estimator_type",
            "classifier_tags",
            "regressor_tags",
            "target_tags",
            "input_tags",
        ):
            setattr(tags, name, getattr(inner, name))
        return tags

    def _answering(self):
        check_is_fitted(self)
        return self.learner_

    @property
    def classes_(self) -> NDArray[Any]:
        return self._answering().classes_

    @available_if(_has("predict"))
    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """What the learner predicts.

        Parameters
        ----------
        X : array-like of shape (m, d)

        Returns
        -------
        ndarray of shape (m,)
        """
        return self._answering().predict(X)

    @available_if(_has("predict_proba"))
    def predict_proba(self, X: ArrayLike) -> Array:
        """Probabilities of ``classes_``.

        Parameters
        ----------
        X : array-like of shape (m, d)

        Returns
        -------
        ndarray of shape (m, n_classes)
        """
        return self._answering().predict_proba(X)

    @available_if(_has("predict_log_proba"))
    def predict_log_proba(self, X: ArrayLike) -> Array:
        """Logarithms of the probabilities of ``classes_``.

        Parameters
        ----------
        X : array-like of shape (m, d)

        Returns
        -------
        ndarray of shape (m, n_classes)
        """
        return self._answering().predict_log_proba(X)

    @available_if(_has("decision_function"))
    def decision_function(self, X: ArrayLike) -> Array:
        """The learner's decision function.

        Parameters
        ----------
        X : array-like of shape (m, d)

        Returns
        -------
        ndarray of shape (m,) or (m, n_classes)
        """
        return self._answering().decision_function(X)

    @available_if(_has("transform"))
    def transform(self, X: ArrayLike) -> Array:
        """What the learner makes of X.

        Parameters
        ----------
        X : array-like of shape (m, d)

        Returns
        -------
        ndarray of shape (m, k)
        """
        return self._answering().transform(X)

    @available_if(_has("score"))
    def score(self, X: ArrayLike, y: ArrayLike) -> float:
        """The learner's own score, such as accuracy or R².

        Parameters
        ----------
        X : array-like of shape (m, d)
        y : array-like of shape (m,)

        Returns
        -------
        float
        """
        return self._answering().score(X, y)
