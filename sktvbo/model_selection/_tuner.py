"""Learner on a data stream with hyperparameters that adapt to the stream."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from inspect import signature
from typing import TYPE_CHECKING, Self

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import BaseEstimator as AnyEstimator
from sklearn.base import clone, is_classifier
from sklearn.exceptions import FitFailedWarning
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import (
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
    validate_data,
)

from .._sklearn import BaseEstimator, MetaEstimatorMixin
from .._tables import in_memory
from .._validation import (
    LARGEST_Y,
    check_complete,
    check_int,
    check_random_state,
    check_real,
    finite_array,
    invalid,
)
from .._warnings import warn_caller
from ..domain import ParameterSpace
from ._one_by_one import as_given, as_learner, learns_one_by_one

if TYPE_CHECKING:
    from .._typing import Array, RandomState, StreamModel

# Half-life, in rows, of the sums that the weights are computed from.
_WEIGHT_ROWS = 1000.0

# Half-life, in rows, of the losses that decide which setting is the best.
_LOSS_ROWS = 200.0

# Number of latest states of a classifier whose mean output is its second vote.
_N_STATES = 4

# Outputs of regressors are clipped at 2 typical errors from the median of the 3 best learners.
_REACH, _N_BEST = 2.0, 3

# Larger outputs count as failures: the squares of their gains would overflow.
_LARGEST = 1e60


@dataclass(eq=False, repr=False)
class OnlineTuner(MetaEstimatorMixin, BaseEstimator):
    """Learner on a data stream with hyperparameters that adapt to the stream.

    Copies of an estimator learn in parallel, each with its own setting of the hyperparameters: the
    estimator's own, and others spread over the space. Each batch is first predicted, then scored,
    then learnt ("prequential"). Predictions are a weighted average over the copies. The weights
    depend on the losses on the latest rows, so they adapt when the stream drifts.

    Parameters
    ----------
    estimator : estimator
        A classifier or regressor, with ``partial_fit`` unless ``window`` is set, or a model of
        river, with ``learn_one`` and ``predict_one``. Its own setting must lie in the space, and is
        the best one before the second batch.
    space : ParameterSpace or dict
        Parameters of the estimator to tune, such as ``{"alpha": ("log-real", 1e-4, 1.0)}``; see
        `~sktvbo.domain.ParameterSpace`. Parts have names as in ``"ridge__alpha"``, for river as in
        ``"optimizer__lr__learning_rate"``. With ``window`` it may also contain "window".
    n_settings : int, default=12
        Number of settings, and of fits per batch. The first is the estimator's own, the others are
        a Latin hypercube over the space. A space with fewer members gives fewer settings.
    window : int, default=None
        Refit the estimator at each batch to this many latest rows. None uses ``partial_fit``. With
        "window" in the space, this is the value of the first setting.
    loss : "auto" or callable, default="auto"
        "auto" is the error rate of a classifier, or the squared error of a regressor. A callable
        ``(y, prediction)`` returns the losses of single rows, an array of shape (m,) in [0, inf).
    batch_size : int, default=100
        ``fit`` splits its rows, in their order, into batches of this size.
    n_jobs : int, default=None
        Number of threads that predict and learn, as in joblib.
    random_state : int, RandomState, Generator or None, default=None
        Source of the settings.

    Attributes
    ----------
    settings_ : list of dict
        The hyperparameters of each learner.
    learners_ : list of estimator
        The fitted learners.
    weights_ : ndarray of shape (n_settings,)
        Weights of the learners in the next prediction. They sum to 1.
    best_params_ : dict
        Setting with the lowest mean loss on the latest rows.
    best_estimator_ : estimator
        Learner with that setting.
    prequential_loss_ : float
        Mean loss of the predictions over all batches but the first; NaN before the second.
    classes_ : ndarray of shape (n_classes,)
        Labels of a classifier.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of these columns, if X has any.

    Notes
    -----
    Let p_i be the outputs of the learners, p = Σ w_i p_i their average and t the targets. The gain
    of learner i in a batch is g_i = 2 Σ (p - t)·(p - p_i) over rows: minus the slope of the squared
    error in the direction of p_i. With a callable loss it is the difference of the losses of p and
    p_i. Then w_i is proportional to Σ g_i / (Σ g_i² + v) where Σ g_i > 0, and 0 elsewhere:
    polynomial weights (Gaillard et al. 2014). The sums run over batches and lose half their weight
    in 1000 rows; v is the mean square.

    The output of a classifier is the mean of its probabilities and its vote, 1 for the most
    probable class. Probabilities alone are insufficient: learners with high learning rates are
    often overconfident. Each classifier counts twice: in its latest state, and averaged over its
    states after the latest four batches, which has lower errors on a stationary stream. So
    ``predict_proba`` returns shares of votes, which are not calibrated.

    Outputs of regressors are clipped at two typical errors from the median of the three best
    learners, because a learner may diverge within a batch. A learner that raises an error or
    predicts NaN is replaced by a copy of the best one with a random setting. This issues a
    `FitFailedWarning`.

    References
    ----------
    P. Gaillard, G. Stoltz, T. van Erven, "A second-order bound with excess losses", COLT 2014.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import SGDRegressor
    >>> from sktvbo.model_selection import OnlineTuner
    >>> tuner = OnlineTuner(
    ...     SGDRegressor(learning_rate="constant", eta0=0.001),
    ...     {"eta0": ("log-real", 1e-4, 0.3)},
    ...     random_state=0,
    ... )
    >>> rng = np.random.RandomState(0)
    >>> for t in range(40):
    ...     X = rng.normal(size=(50, 2))
    ...     y = np.cos(0.1 * t) * X[:, 0] + np.sin(0.1 * t) * X[:, 1]  # the function drifts
    ...     tuner = tuner.partial_fit(X, y)
    >>> tuner.best_params_["eta0"] > 0.01
    True
    """

    estimator: AnyEstimator | StreamModel
    space: object
    _: KW_ONLY
    n_settings: int = 12
    window: int | None = None
    loss: str | Callable = "auto"
    batch_size: int = 100
    n_jobs: int | None = None
    random_state: RandomState = None

    def __sklearn_tags__(self):
        tags, inner = super().__sklearn_tags__(), get_tags(self._learner())
        tags.estimator_type, tags.target_tags = inner.estimator_type, inner.target_tags
        tags.classifier_tags, tags.regressor_tags = inner.classifier_tags, inner.regressor_tags
        tags.input_tags = inner.input_tags
        return tags

    def _learner(self):
        return as_learner(self.estimator)

    def _classifies(self):
        return is_classifier(self._learner())

    def __sklearn_is_fitted__(self):
        return hasattr(self, "learners_")

    # --- learning ---------------------------------------------------------------------------------

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Restart with these rows as a stream of batches.

        Parameters
        ----------
        X : array-like of shape (n, d)
        y : array-like of shape (n,), or (n, k) for a regressor of several targets

        Returns
        -------
        self : OnlineTuner

        Raises
        ------
        TypeError, ValueError
            See `partial_fit`. The tuner is unchanged.
        """
        check_int(self.batch_size, "batch_size", self)
        new = copy.copy(self)
        X, y = in_memory(X), in_memory(y, "y")
        validate_data(new, X, y, skip_check_array=True)
        X, y = _as_rows(X), _as_rows(y)
        check_consistent_length(X, y)
        check_complete(y, "y")
        classes = np.unique(y) if self._classifies() else None
        for start in range(0, max(len(y), 1), self.batch_size):
            batch = slice(start, start + self.batch_size)
            new._step(_slice(X, batch), _slice(y, batch), classes, first=not start)
        self.__dict__ = new.__dict__
        return self

    def partial_fit(self, X: ArrayLike, y: ArrayLike, classes: ArrayLike | None = None) -> Self:
        """Predict, score and learn a batch.

        Parameters
        ----------
        X : array-like of shape (m, d)
        y : array-like of shape (m,), or (m, k) for a regressor of several targets
        classes : array-like of shape (n_classes,), default=None
            All labels of the stream, in the first call for a classifier. None: the labels of the
            first batch. With ``window``, later batches may have new labels.

        Returns
        -------
        self : OnlineTuner

        Raises
        ------
        TypeError
            Without ``window``, the estimator has no ``partial_fit``.
        ValueError
            Invalid parameters or data, or an error that all learners raise. The tuner is unchanged.
        """
        new = copy.copy(self)
        new._step(X, y, classes, first=not self.__sklearn_is_fitted__())
        self.__dict__ = new.__dict__
        return self

    def _step(self, X, y, classes, *, first):
        """Score and learn a batch. Attributes are replaced, never changed in place."""
        self._check_parameters()
        X, y = in_memory(X), in_memory(y, "y")
        validate_data(self, X, y, reset=first, skip_check_array=True)
        X, y = _as_rows(X), _as_rows(y)
        check_consistent_length(X, y)
        check_complete(y, "y")
        if self._classifies():
            y = column_or_1d(y, warn=True)
        elif np.isrealobj(target := np.asarray(y)):
            # The sums of errors are discounted: a value that is not finite would stay in them.
            finite_array(self._targets(target), "y", (len(y), "k"), largest=LARGEST_Y)
        if first:
            self._begin(y, classes)
            failed = []
        else:
            failed = self._score_batch(X, np.asarray(y))
        self._learn(X, y, failed)
        if first and not self._classifies():
            target = self._targets(np.asarray(y))
            self._lowest, self._highest = target.min(axis=0), target.max(axis=0)
            # Discounted sums over rows of squared errors and of ones, at first of the first mean.
            self._errors = _sums_of_errors(target - target.mean(axis=0))
        voters = self._voter_weights().reshape(-1, len(self.settings_))
        self.weights_ = voters.sum(axis=0)
        best = int(self._recent_loss.argmin())
        self.learners_ = [as_given(learner) for learner in self._learners]
        self.best_params_, self.best_estimator_ = dict(self.settings_[best]), self.learners_[best]
        self.prequential_loss_ = self._total_loss / self._n_rows if self._n_rows else np.nan

    def _check_parameters(self):
        check_int(self.n_settings, "n_settings", self)
        if self.window is not None:
            check_int(self.window, "window", self)
        needed = "partial_fit" if self.window is None else "fit"
        if not (hasattr(self.estimator, needed) or learns_one_by_one(self.estimator)):
            advice = "Set window=200, for example, to refit it to the latest 200 rows."
            raise invalid(
                "estimator",
                f"an estimator with {needed}, or a model of river, with learn_one and predict_one",
                self.estimator,
                self,
                advice=advice if hasattr(self.estimator, "fit") else "",
                error=TypeError,
            )
        if not callable(self.loss) and self.loss != "auto":
            raise invalid("loss", "'auto' or a callable", self.loss, self)

    def _begin(self, y, classes):
        """Draw the settings, and create their learners."""
        learner = self._learner()
        space, known = self._space(), learner.get_params()
        if self.window is not None:
            known["window"] = self.window
        unknown = [name for name in space.names if name not in known]
        if unknown:
            expected = f"made of parameters of {type(self.estimator).__name__}"
            got, advice = ", ".join(map(repr, unknown)), f"These are {', '.join(sorted(known))}."
            raise invalid("space", expected, owner=self, got=got, advice=advice)
        settings = [{name: known[name] for name in space.names}]
        try:
            space.validate_point(settings[0])
        except ValueError as exc:
            got = ", ".join(f"{name}={value!r}" for name, value in settings[0].items())
            advice = f"Set a value in the space, or let it be a category. {exc}"
            expected = "an estimator whose own setting lies in the space"
            raise invalid(
                "estimator", expected, owner=self, got=got, advice=advice, error=type(exc)
            ) from exc
        rng = copy.deepcopy(check_random_state(self.random_state))
        shape = (self.n_settings - 1, space.n_dims)
        ranks = rng.uniform(size=shape).argsort(axis=0)
        hypercube = (ranks + rng.uniform(size=shape)) / max(len(ranks), 1)
        for setting in space.decode_all(space.quantile(hypercube)):
            if setting not in settings:
                settings.append(setting)
        if self._classifies():
            self.classes_ = np.unique(y if classes is None else classes)
        self.settings_ = settings
        self._learners = [self._configured(clone(learner), setting) for setting in settings]
        # States of classifiers after earlier batches, and the rows of the longest window.
        self._earlier, self._latest_rows = None, None
        self._seed, self._y_shape = int(rng.randint(2**31 - 1)), np.shape(y)[1:]
        self._n_rows, self._total_loss = 0, 0.0
        self._recent_loss = np.zeros(len(settings))
        # Discounted sums over batches, by voter: gains, their squares, and ones.
        self._sums = np.zeros((3, len(settings) * (2 if self._classifies() else 1)))

    def _score_batch(self, X, y):
        """Update losses and gains; return the indices of learners that failed to predict."""
        if self._classifies() and self.window is not None:
            self.classes_ = np.union1d(self.classes_, y)
        if y.shape[1:] != self._y_shape:
            expected = f"of the shape of the first batch, {('m', *self._y_shape)}"
            raise invalid("y", expected, got=f"shape {y.shape}")
        outputs, failed = self._outputs(X)
        mean = np.tensordot(self._voter_weights(), outputs, 1)
        loss = self._losses(mean, y)
        losses = np.array([self._losses(output, y) for output in outputs])
        keep = 0.5 ** (len(y) / _WEIGHT_ROWS)
        target = self._targets(y)
        if callable(self.loss):
            gains = (loss - losses).sum(axis=1)
        else:
            gains = 2.0 * ((mean - target) * (mean - outputs)).sum(axis=(1, 2))
        self._sums = keep * self._sums + [gains, gains**2, np.ones_like(gains)]
        if not self._classifies():
            self._errors = keep * self._errors + _sums_of_errors(mean - target)
            self._lowest = np.minimum(self._lowest, target.min(axis=0))
            self._highest = np.maximum(self._highest, target.max(axis=0))
        recent = 0.5 ** (len(y) / _LOSS_ROWS) * self._recent_loss
        self._recent_loss = recent + losses[: len(recent)].sum(axis=1)
        self._n_rows, self._total_loss = self._n_rows + len(y), self._total_loss + loss.sum()
        return failed

    def _learn(self, X, y, failed):
        """Learn a batch with all learners; replace those that failed now or in predicting."""
        if self.window is None:
            options, learner = {}, self._learner()
            if self._classifies() and "classes" in signature(learner.partial_fit).parameters:
                options["classes"] = self.classes_

            def learn(i):
                return copy.deepcopy(self._learners[i]).partial_fit(X, y, **options)

        else:
            windows = [setting.get("window", self.window) for setting in self.settings_]
            windows = [round(check_real(n, "window", self, interval="[1, inf)")) for n in windows]
            if self._latest_rows is not None:
                X, y = map(_stack, self._latest_rows, (X, y))
            X, y = (_slice(rows, slice(-max(windows), None)) for rows in (X, y))
            self._latest_rows = X, y

            def learn(i):
                window = slice(-windows[i], None)
                learner = self._configured(clone(self._learner()), self.settings_[i])
                return learner.fit(_slice(X, window), _slice(y, window))

        learnt, failed_to_learn = self._each(learn, "learn")
        failed = sorted({*failed, *failed_to_learn})
        states = [learnt]
        if self._classifies() and self._earlier is not None:
            states += [list(state) for state in (self._learners, *self._earlier)[: _N_STATES - 1]]
        if failed:
            self._replace(failed, failed_to_learn, states)
        self._learners, *self._earlier = states

    def _replace(self, failed, failed_to_learn, states):
        """Replace failed learners by copies of the best one with random settings.

        ``states`` is changed in place.
        """
        able = [i for i in range(len(self.settings_)) if i not in failed_to_learn]
        best = min(able, key=lambda i: (i in failed, self._recent_loss[i]))
        space, rng = self._space(), check_random_state((self._seed + self._n_rows) % 2**32)
        settings = space.decode_all(space.sample(len(failed), rng))
        self.settings_ = list(self.settings_)
        for i, setting in zip(failed, settings):
            for state in states:
                state[i] = state[best]
            states[0][i] = self._configured(copy.deepcopy(states[0][best]), setting)
            self.settings_[i] = setting
        self._recent_loss = self._recent_loss.copy()
        self._recent_loss[failed] = self._recent_loss.max()
        sums = self._sums.reshape(3, -1, len(self.settings_)).copy()
        sums[0, :, failed] = 0.0
        self._sums = sums.reshape(3, -1)

    def _each(self, action, verb):
        """Return the result of an action for each learner, and the indices of those that failed."""
        results = Parallel(self.n_jobs, prefer="threads")(
            delayed(_attempt)(action, i) for i in range(len(self.settings_))
        )
        failed = [i for i, (_, error) in enumerate(results) if error is not None]
        if len(failed) == len(results):
            raise results[0][1]
        for i in failed:
            error = results[i][1]
            warn_caller(
                f"A learner could not {verb}: {self.settings_[i]}. {type(error).__name__}: {error}",
                FitFailedWarning,
            )
        return [result for result, _ in results], failed

    def _space(self):
        return self.space if isinstance(self.space, ParameterSpace) else ParameterSpace(self.space)

    def _configured(self, learner, setting):
        """Set a learner's parameters, except for the window, which the tuner uses."""
        if self.window is not None:
            setting = {name: value for name, value in setting.items() if name != "window"}
        return learner.set_params(**setting)

    # --- predicting -------------------------------------------------------------------------------

    def predict(self, X: ArrayLike) -> NDArray:
        """Predict by the weighted average of all learners.

        Parameters
        ----------
        X : array-like of shape (m, d)

        Returns
        -------
        ndarray of shape (m,) or (m, k)
            Labels of a classifier, or values.
        """
        return self._decoded(self._mean_output(X))

    @available_if(_classifies)
    def predict_proba(self, X: ArrayLike) -> Array:
        """Return shares of ``classes_`` in the weighted average, which are not calibrated.

        Parameters
        ----------
        X : array-like of shape (m, d)

        Returns
        -------
        ndarray of shape (m, n_classes)
        """
        return self._mean_output(X)

    def score(self, X: ArrayLike, y: ArrayLike) -> float:
        """Return the accuracy of a classifier or R² of a regressor.

        Parameters
        ----------
        X : array-like of shape (m, d)
        y : array-like of shape (m,) or (m, k)

        Returns
        -------
        float
        """
        return (accuracy_score if self._classifies() else r2_score)(y, self.predict(X))

    def _mean_output(self, X):
        check_is_fitted(self)
        return np.tensordot(self._voter_weights(), self._outputs(_as_rows(in_memory(X)))[0], 1)

    def _outputs(self, X):
        """Return outputs (v, m, k) of the voters, and the indices of learners that failed.

        A regressor has one vote, a classifier two. The best learner votes for those that failed.
        """

        def vote(i):
            if not self._classifies():
                return [_values(self._learners[i], X)]
            states = [state[i] for state in (self._learners, *self._earlier)]
            shares = [_shares(state, X, self.classes_) for state in states]
            return [_with_vote(shares[0]), _with_vote(np.mean(shares, axis=0))]

        votes, failed = self._each(vote, "predict")
        ranking = self._recent_loss.argsort(kind="stable")
        for i in failed:
            votes[i] = next(votes[j] for j in ranking if j not in failed)
        outputs = np.concatenate(np.swapaxes(votes, 0, 1))
        if not self._classifies():
            span = self._highest - self._lowest
            centre = np.median(outputs[ranking[:_N_BEST]], axis=0)
            centre = np.clip(centre, self._lowest - span, self._highest + span)
            reach = _REACH * np.sqrt(self._errors[0] / self._errors[1])
            outputs = np.clip(outputs, centre - reach, centre + reach)
        return outputs, failed

    def _voter_weights(self):
        """Return weights (v,): Σg / (Σg² + v) where Σg > 0, or only the best learner if none is."""
        gain, square, count = self._sums
        positive = gain > 0.0
        if not positive.any():
            return np.eye(len(gain))[self._recent_loss.argmin()]
        weights = np.where(positive, gain, 0.0) / (square + square.sum() / count.sum())
        return weights / weights.sum()

    def _decoded(self, output):
        """Return labels or values of an output (m, k)."""
        if self._classifies():
            return self.classes_[output.argmax(axis=1)]
        return output.reshape(len(output), *self._y_shape)

    def _targets(self, y):
        if self._classifies():
            return (y[:, np.newaxis] == self.classes_).astype(np.float64)
        return y.reshape(len(y), -1).astype(np.float64)

    def _losses(self, output, y):
        """Return the losses (m,) of single rows."""
        prediction = self._decoded(output)
        if callable(self.loss):
            losses = np.asarray(self.loss(y, prediction), dtype=np.float64)
        elif self._classifies():
            return (prediction != y).astype(np.float64)
        else:
            losses = np.square(prediction - y).reshape(len(y), -1).mean(axis=1)
        if losses.shape != (len(y),):
            got = f"shape {losses.shape}"
            raise invalid("The losses", f"one for each of {len(y)} rows", got=got)
        wrong = losses[~((losses >= 0.0) & (losses < np.inf))]
        if wrong.size:
            raise invalid("The losses", "in the range [0, inf)", got=f"{wrong[0]}")
        return losses


def _as_rows(X):
    """Return X, or a batch of y, in a form whose rows can be counted and sliced."""
    if sparse.issparse(X):
        return X.tocsr()
    return X if hasattr(X, "shape") else np.asarray(X)


def _slice(X, rows):
    return X.iloc[rows] if hasattr(X, "iloc") else X[rows]


def _stack(above, below):
    if hasattr(above, "iloc") and hasattr(below, "iloc"):
        import pandas as pd

        return pd.concat([above, below])
    if hasattr(above, "vstack") and type(above) is type(below):  # polars
        return above.vstack(below)
    if sparse.issparse(above):
        return sparse.vstack([above, below]).tocsr()
    return np.concatenate([np.asarray(above), np.asarray(below)])


def _attempt(action, i):
    """Return the result of an action and None, or None and the error."""
    try:
        return action(i), None
    except Exception as error:
        return None, error


def _values(learner, X):
    """Return the predictions (m, k) of a regressor."""
    values = np.asarray(learner.predict(X), dtype=np.float64)
    if not np.all(np.abs(values) < _LARGEST):
        raise invalid("Predictions", f"numbers below {_LARGEST:g}", got="NaN, infinity or more")
    return values.reshape(len(values), -1)


def _shares(learner, X, classes):
    """Return the probabilities (m, k) of the classes, or 1 for the predicted class."""
    if not hasattr(learner, "predict_proba"):
        return (np.asarray(learner.predict(X))[:, np.newaxis] == classes).astype(np.float64)
    probabilities = np.asarray(learner.predict_proba(X))
    shares = np.zeros((len(probabilities), len(classes)))
    shares[:, np.searchsorted(classes, learner.classes_)] = probabilities
    return shares


def _with_vote(shares):
    """Return the mean of shares (m, k) and of votes for the largest."""
    return 0.5 * (shares + np.eye(shares.shape[1])[shares.argmax(axis=1)])


def _sums_of_errors(errors):
    """Return sums over rows (2, k) of squared errors (m, k), and of ones."""
    return np.array([np.square(errors).sum(axis=0), np.full(errors.shape[1], len(errors))])
