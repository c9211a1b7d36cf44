"""Models that learn row by row, as river's do, with the methods of scikit-learn's estimators."""

from collections.abc import Iterator
from inspect import signature

import numpy as np
from scipy import sparse
from sklearn.base import ClassifierMixin

from .._sklearn import BaseEstimator, RegressorMixin


def learns_one_by_one(model):
    """Return True for a model with ``learn_one`` and ``predict_one``."""
    return hasattr(model, "learn_one") and hasattr(model, "predict_one")


def as_learner(model):
    """Return an estimator with ``partial_fit`` for a model that learns row by row, or the model."""
    if hasattr(model, "partial_fit") or not learns_one_by_one(model):
        return model
    last = list(model.steps.values())[-1] if hasattr(model, "steps") else model
    kind = _Classifier if hasattr(last, "predict_proba_one") else _Regressor
    return kind(model)


def as_given(learner):
    """Return the model of what `as_learner` returns."""
    return learner.model if isinstance(learner, _OneByOne) else learner


class _OneByOne(BaseEstimator):
    """Base of both kinds.

    Parameters
    ----------
    model : object
        With ``clone(new_params, include_attributes)``, and ``steps`` if it is a pipeline.
    """

    def __init__(self, model):
        self.model = model

    def __sklearn_clone__(self):
        return type(self)(self.model.clone())

    def get_params(self, deep=True):
        """Return the parameters, those of parts as in ``optimizer__lr__learning_rate``."""
        return _parameters(self.model)

    def set_params(self, **params):
        """Replace the model by one with other parameters and the same state."""
        self.model = _changed(self.model, params)
        return self

    def fit(self, X, y):
        self.model = self.model.clone()
        return self.partial_fit(X, y)

    def partial_fit(self, X, y):
        for x, target in zip(_dicts(X), np.asarray(y).tolist()):
            self.model.learn_one(x, target)
        return self

    def predict(self, X):
        return np.array([self.model.predict_one(x) for x in _dicts(X)])


class _Regressor(RegressorMixin, _OneByOne):
    """Regressor that learns row by row."""


class _Classifier(ClassifierMixin, _OneByOne):
    """Classifier that learns row by row."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return super().fit(X, y)

    def partial_fit(self, X, y, classes=None):
        if classes is not None:
            self.classes_ = classes
        return super().partial_fit(X, y)

    def predict_proba(self, X):
        labels = self.classes_.tolist()
        rows = [self._shares(x) for x in _dicts(X)]
        return np.array([[shares.get(label, 0.0) for label in labels] for shares in rows])

    def _shares(self, x):
        try:
            return self.model.predict_proba_one(x)
        except NotImplementedError:  # of the base class: there are no probabilities
            return {self.model.predict_one(x): 1.0}


def _dicts(X) -> Iterator[dict]:
    """Return rows as dicts, by the names of a frame's columns or by number."""
    if hasattr(X, "columns"):
        names = list(X.columns)
        rows = zip(*(np.asarray(X[name]).tolist() for name in names))
    else:
        rows = (X.toarray() if sparse.issparse(X) else np.asarray(X)).tolist()
        names = range(X.shape[1])
    return (dict(zip(names, row)) for row in rows)


def _parts(model):
    """Return the parameters of a model, or the steps of a pipeline, by name."""
    if hasattr(model, "steps"):
        return dict(model.steps)
    names = signature(type(model)).parameters
    return {name: getattr(model, name) for name in names if hasattr(model, name)}


def _parameters(model):
    parameters = {}
    for name, value in _parts(model).items():
        parameters[name] = value
        if hasattr(value, "clone"):
            parameters |= {f"{name}__{inner}": part for inner, part in _parameters(value).items()}
    return parameters


def _changed(model, params):
    """Return a copy of a model with other parameters and the same state."""
    new, inner = {}, {}
    for name, value in params.items():
        part, _, rest = name.partition("__")
        if rest:
            inner.setdefault(part, {})[rest] = value
        else:
            new[part] = value
    parts = _parts(model)
    new |= {part: _changed(parts[part], changes) for part, changes in inner.items()}
    return model.clone(new, include_attributes=True)
