"""Losses of single rows."""

import numpy as np
from sklearn.base import is_classifier

from .._checks import check_choice, invalid

# A class that was given no probability costs this much: the logarithm alone has no bound.
_LEAST_PROBABILITY = 1e-6


def zero_one(learner, X, y):
    return (np.asarray(learner.predict(X)) != y).astype(np.float64)


def log_loss(learner, X, y):
    probabilities, classes = np.asarray(learner.predict_proba(X)), np.asarray(learner.classes_)
    column = np.clip(np.searchsorted(classes, y), 0, len(classes) - 1)
    known = classes[column] == y
    of_true = np.where(known, probabilities[np.arange(len(y)), column], 0.0)
    return -np.log(np.clip(of_true, _LEAST_PROBABILITY, 1.0))


def squared_error(learner, X, y):
    return np.square(np.asarray(learner.predict(X)) - y)


def absolute_error(learner, X, y):
    return np.abs(np.asarray(learner.predict(X)) - y)


_LOSSES = {loss.__name__: loss for loss in (zero_one, log_loss, squared_error, absolute_error)}


def find_loss(loss, estimator, owner):
    """Losses (m,) of a learner on rows as a function (learner, X, y), from the parameter."""
    if callable(loss):
        return lambda learner, X, y: np.asarray(loss(y, learner.predict(X)), dtype=np.float64)
    if loss == "auto":
        loss = "zero_one" if is_classifier(estimator) else "squared_error"
    return _LOSSES[check_choice(loss, tuple(_LOSSES), "loss", owner)]


def losses_of(loss, learner, X, y):
    """Losses (m,) of a learner, numbers of the range [0, inf); otherwise a ValueError."""
    y = np.asarray(y)
    with np.errstate(over="ignore"):  # what has diverged says so below
        found = loss(learner, X, y)
    if found.shape == y.shape[:1] + found.shape[1:] and found.ndim > 1:
        found = found.reshape(len(found), -1).mean(axis=1)
    if found.shape != y.shape[:1]:
        raise invalid("The losses", f"one for each of {len(y)} rows", got=f"shape {found.shape}")
    if not np.all((found >= 0.0) & (found < np.inf)):
        wrong = found[~((found >= 0.0) & (found < np.inf))][0]
        raise invalid("The losses", "in the range [0, inf)", got=f"{wrong}")
    return found
