"""What a few learners predict together: an average, whose weights are learnt on the stream."""

import warnings
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.special import ndtr
from sklearn.base import is_classifier
from sklearn.exceptions import FitFailedWarning
from sklearn.metrics import accuracy_score, r2_score

# What is further from the median than so many typical errors does not count.
_FARTHEST = 3.0

# Of the weights in this median so much is the champion's, whatever else it has, and all others'.
_FOR_CHAMPION, _FOR_ALL = 0.1, 0.1

# Gains count this much of what they did a round before.
_FADING = 0.95

_LEAST_PROBABILITY = 1e-12


@dataclass(frozen=True, eq=False)
class Weights:
    """How much each member counts; the champion is the first.

    Attributes
    ----------
    total, squares : ndarray of shape (m,)
        Sums over batches of gains, and of their squares: of how much less the loss would have been,
        to first order, had the member counted more.
    n_batches : float
        How many these are.
    error, n_rows : ndarray of shape (k,), float
        Sums over rows of the squared errors that were served, and how many rows these are. Of
        classifiers neither matters.
    low, high : ndarray of shape (k,)
        Range of the targets so far.
    barred : ndarray of bool of shape (m,)
        Who probably errs more than the champion.
    saved, saved_squares : float
        Sums over rows of what losses would have been higher without the barred than with them, and
        of the squares.
    """

    total: np.ndarray
    squares: np.ndarray
    n_batches: float
    error: np.ndarray
    n_rows: float
    low: np.ndarray
    high: np.ndarray
    barred: np.ndarray
    saved: float = 0.0
    saved_squares: float = 0.0

    @classmethod
    def before(cls, y, *, classifier):
        """Of a champion that has learnt its first rows."""
        y = np.zeros((1, 1)) if classifier else as_columns(y)
        error = np.square(y - y.mean(axis=0)).sum(axis=0)
        return cls(
            np.zeros(1),
            np.zeros(1),
            0.0,
            error,
            len(y),
            y.min(axis=0),
            y.max(axis=0),
            np.zeros(1, bool),
        )

    @property
    def shares(self):
        """Weights (m,) of sum 1: with the barred, as probably as they are of use, and without."""
        if not self.barred.any():
            return self._shares(self.barred)
        spread = np.sqrt(self.saved_squares)
        trust = ndtr(self.saved / spread) if spread else 0.5
        with_all = self._shares(np.zeros_like(self.barred))
        return trust * with_all + (1.0 - trust) * self._shares(self.barred)

    def _shares(self, barred):
        """Weights of the others as Σg / (Σg² + v) where Σg is positive; else the champion's is 1.

        v, a typical square, keeps weights from those of whom little is known.
        """
        positive = (self.total > 0.0) & ~barred
        if not positive.any():
            return np.eye(len(self.total))[0]
        rates = self.squares + self.squares.mean() / self.n_batches
        found = np.divide(self.total, rates, out=np.zeros(len(positive)), where=positive)
        return found / found.sum()

    def after(self, gains):
        """With gains (n, m) on the rows of one more batch."""
        found = gains.sum(axis=0)
        return replace(
            self,
            total=self.total + found,
            squares=self.squares + found**2,
            n_batches=self.n_batches + 1.0,
        )

    def trusting(self, barred):
        """Weights without doubt, in which the barred count as others do, or do not at all."""
        return replace(self, saved=np.inf if barred else -np.inf, saved_squares=1.0)

    def compared(self, saved):
        """With what the losses (n,) of one more batch would have been higher without the barred."""
        return replace(
            self,
            saved=self.saved + saved.sum(),
            saved_squares=self.saved_squares + np.square(saved).sum(),
        )

    def seen(self, y, errors):
        """With squared errors (n, k) that were served where targets were y (n, k)."""
        return replace(
            self,
            error=self.error + errors.sum(axis=0),
            n_rows=self.n_rows + len(y),
            low=np.minimum(self.low, y.min(axis=0)),
            high=np.maximum(self.high, y.max(axis=0)),
        )

    def of(self, members):
        """The weights of some of the members, the first of which is the champion from now on."""
        return replace(
            self,
            total=self.total[members],
            squares=self.squares[members],
            barred=self.barred[members],
        )

    def joined(self, n):
        """With n more members, which have gained nothing and learn as fast as others do."""
        return replace(
            self,
            total=np.pad(self.total, (0, n)),
            squares=np.pad(self.squares, (0, n), constant_values=self.squares.mean()),
            barred=np.pad(self.barred, (0, n)),
        )

    def faded(self):
        """A round later."""
        sums = ["total", "squares", "n_batches", "error", "n_rows", "saved", "saved_squares"]
        return replace(self, **{name: _FADING * getattr(self, name) for name in sums})

    def bounded(self, outputs):
        """Outputs (m, n, k) of regressors, none of which is far from their weighted median.

        What has just diverged may have a weight still: it says what the median says, and has no
        vote in it where it is far out of the targets' range and others are not.
        """
        outputs = np.nan_to_num(outputs, nan=np.inf, posinf=np.inf, neginf=-np.inf)
        votes = (1.0 - _FOR_CHAMPION - _FOR_ALL) * self.shares + _FOR_ALL / len(outputs)
        votes[0] += _FOR_CHAMPION
        span = self.high - self.low
        low, high = self.low - span, self.high + span
        sane = (outputs >= low) & (outputs <= high)
        votes = votes[:, np.newaxis, np.newaxis] * (sane | ~sane.any(axis=0))
        order = outputs.argsort(axis=0)
        cumulated = np.take_along_axis(votes, order, axis=0).cumsum(axis=0)
        half = (cumulated >= 0.5 * cumulated[-1]).argmax(axis=0)
        place = np.take_along_axis(order, half[np.newaxis], axis=0)
        median = np.clip(np.take_along_axis(outputs, place, axis=0), low, high)
        reach = _FARTHEST * np.sqrt(self.error / self.n_rows)
        return np.where(np.abs(outputs - median) <= reach, outputs, median)


class Answers:
    """A learner's answers to some rows, each of which it is asked for once."""

    def __init__(self, learner, X):
        self.learner, self.X = learner, X

    @cached_property
    def predicted(self):
        return np.asarray(self.learner.predict(self.X))

    @cached_property
    def probabilities(self):
        return np.asarray(self.learner.predict_proba(self.X))

    @property
    def classes_(self):
        return np.asarray(self.learner.classes_)

    def predict(self, X):
        return self.predicted

    def predict_proba(self, X):
        return self.probabilities

    def shares_of(self, classes):
        """Probabilities (n, k) of the classes, or the one that is predicted."""
        if not hasattr(self.learner, "predict_proba"):
            return (self.predicted[:, np.newaxis] == classes).astype(np.float64)
        found = np.zeros((len(self.probabilities), len(classes)))
        found[:, np.searchsorted(classes, self.classes_)] = self.probabilities
        return found


class Lately(Answers):
    """The mean of what a classifier answers, and what it would have a while ago."""

    def __init__(self, answers):
        self.answers = answers

    @cached_property
    def predicted(self):
        return self.classes_[self.probabilities.argmax(axis=1)]

    @cached_property
    def probabilities(self):
        return self.shares_of(self.classes_)

    @property
    def classes_(self):
        return np.unique(np.concatenate([one.classes_ for one in self.answers]))

    def shares_of(self, classes):
        return np.mean([one.shares_of(classes) for one in self.answers], axis=0)


class Together:
    """Learners as one; None, and those that fail, leave their part to the first.

    A tuple is a classifier in several states, whose mean counts.
    """

    def __init__(self, learners, weights):
        self.learners, self.weights = learners, weights
        self.champion = learners[0]
        self.classifies = is_classifier(getattr(self.champion, "learner", self.champion))

    @cached_property
    def classes_(self):
        known = [x if isinstance(x, tuple) else (x,) for x in self.learners if x is not None]
        return np.unique(np.concatenate([np.asarray(x.classes_) for each in known for x in each]))

    def outputs(self, X):
        """What each says (m, n, k): probabilities, or values none of which is far off."""
        found = [self._said(self.champion, X)]
        for learner in self.learners[1:]:
            said = found[0]
            if learner is not None:
                try:
                    said = self._said(learner, X)
                except Exception as exc:
                    warnings.warn(
                        "A challenger could not predict, and the champion answers for it. "
                        f"{type(exc).__name__}: {exc}",
                        FitFailedWarning,
                        stacklevel=4,
                    )
            found.append(said)
        found = np.stack(found)
        return found if self.classifies else self.weights.bounded(found)

    def _said(self, learner, X):
        answers = learner
        if isinstance(learner, tuple):
            answers = Lately([Answers(one, X) for one in learner])
        elif not isinstance(learner, Answers):
            answers = Answers(learner, X)
        if self.classifies:
            return answers.shares_of(self.classes_)
        return as_columns(answers.predicted)

    def mean(self, outputs):
        return np.tensordot(self.weights.shares, outputs, 1)

    def predict(self, X):
        found = self.mean(self.outputs(X))
        if self.classifies:
            return self.classes_[found.argmax(axis=1)]
        return found.reshape(np.shape(self.champion.predict(X)))

    def predict_proba(self, X):
        return self.mean(self.outputs(X))

    def predict_log_proba(self, X):
        return np.log(np.maximum(self.predict_proba(X), _LEAST_PROBABILITY))

    def decision_function(self, X):
        """Logarithms of the odds; of three classes or more, of the probabilities."""
        found = self.predict_log_proba(X)
        return found[:, 1] - found[:, 0] if found.shape[1] == 2 else found

    def transform(self, X):
        return self.champion.transform(X)

    def score(self, X, y):
        return (accuracy_score if self.classifies else r2_score)(y, self.predict(X))

    def learnt(self, X, y, gains=None):
        """The weights after a batch, by gains (n, m), or those in squared errors or Brier's score.

        The latter to first order: so the weights go to the best average, and not the best member.
        """
        outputs, weights = self.outputs(X), self.weights
        mean = self.mean(outputs)
        if self.classifies:
            y = (np.asarray(y)[:, np.newaxis] == self.classes_).astype(np.float64)
        else:
            y = as_columns(y)
            weights = weights.seen(y, np.square(mean - y))
        if gains is None:
            gains = 2.0 * ((mean - y) * (mean - outputs)).sum(axis=2).T
        return weights.after(gains)


def as_columns(y):
    """Targets (n, k) of one or of several."""
    y = np.asarray(y, dtype=np.float64)
    return y.reshape(len(y), -1)
