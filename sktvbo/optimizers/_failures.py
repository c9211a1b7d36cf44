"""Queries that failed: the probability of success is learnt, by input and time.

A query fails because of its input, or by chance, with a rate that is learnt. A Gaussian process is
fitted to the queries, with label 1 for failures and 0 for observations: least squares on labels
(Rasmussen & Williams 2006, section 6.5). Its covariance decays in time, so that inputs which failed
are tried again. The probability of success is that of a label below ½, by a probit of the process.
It describes failures because of the input alone: failures by chance cost the same everywhere.

A success shows that its input does not fail. A failure is less informative when the rate c of
failures by chance is larger: the noise variance of its label is c / (1 - c). With it, the
probability that a single failure is due to its input is that of Bayes' rule, up to 0.06.

The model of an outcome learns from failures that were measured beyond its limit. Once there is such
a model, these failures are left out here: they would count twice.
"""

import math
from dataclasses import dataclass, replace

import numpy as np
from scipy.spatial.distance import cdist
from scipy.special import log_ndtr, ndtr
from sklearn.gaussian_process.kernels import Matern

from .._validation import (
    LARGEST_Y,
    check_bool,
    check_size,
    invalid,
    invalid_observation,
    real_array,
)
from ..acquisition._compiled import ManyPlaces
from ..exceptions import InvalidObservationError
from ..gaussian_process import TimeVaryingGPRegressor
from ..gaussian_process._regressor import as_fitted, without_advice
from ..kernels import LogNormal
from ._chance import Probability, posterior_in, with_slopes
from ._models import models_of
from ._outcomes import beyond_limits, is_missing, outcomes_of_failures
from ._part import Part

# Number of the latest failures that are stored, and of the latest queries that are used.
MAX_FAILURES, _MAX_QUERIES = 150, 300

# Slope of the probit: without uncertainty, labels 0 and 1 have z = ± half of this.
_SLOPE = 6.0

# Queries within this distance in the unit box are treated as repetitions of the latest of them. A
# larger one would average labels from both sides of the edge of a region that fails.
_SAME_INPUT = 0.01

# With fewer failures the hyperparameters are not searched.
_MIN_FAILURES = 3

# Growth of the number of queries, relative and absolute, after which they are searched again.
_GROWTH, _MOST = 1.25, 75

# Initial lengthscale in space (of the unit box) and in time (in intervals between queries). They
# are the medians of log-normal priors with these standard deviations, as a few labels hardly show
# the duration of failures. Variances of the signal, of the label of a success and of any label near
# others are fixed.
_LENGTH, _INTERVALS = 0.2, 50.0
_LENGTH_SPREAD, _INTERVALS_SPREAD = 0.5, 1.0
_SIGNAL, _NOISE = 0.25, 0.01

# Rates of failures by chance, means of labels, and the weight of successes before any query. The
# lower the mean, the fewer inputs are expected to fail.
_RATES = np.array([0.005, 0.01, 0.02, 0.04, 0.08, 0.12, 0.17, 0.25, 0.35, 0.5])
_MEANS = np.array([0.0, -0.3, -0.6, -1.0, -1.5])
_SUCCESSES = 2.0

# Values before a search: the rate is 1 / (the first number + successes), the mean is the second.
_QUERIES, _MEAN = 10.0, 0.0

# Least variance of a label before a query nearby: an input may begin to fail at any time.
_CHANGES = 0.02


@dataclass(frozen=True, eq=False)
class Failures(Part):
    """Queries that failed, and the hyperparameters of the model that learns from them.

    Every run has this part: its rows complete the history. Code that reads the history reads them
    as well, as `RunState.failures`.

    Attributes
    ----------
    rows : ndarray of shape (f, d + 1)
        The latest queries that failed, and their times, in the user's units.
    total : int
        Number of failures so far.
    learnt : tuple of float, or None
        Lengthscales in space and time, rate of failures by chance, mean of labels; None before a
        search.
    searched : int
        Number of queries told before these were searched.
    queries : tuple of (int or None)
        Ids of the queries of the rows; None for a row that was not asked for.
    outcomes : ndarray of shape (f, k)
        Outcomes that were measured nevertheless; NaN for the others.
    n_before : tuple of int
        Number of observations told before each of the rows.
    """

    rows: np.ndarray
    total: int
    learnt: tuple | None
    searched: int
    queries: tuple
    outcomes: np.ndarray
    n_before: tuple

    name = "failures"

    @classmethod
    def of(cls, config):
        rows = np.empty((0, config.domain.n_dims + 1))
        return cls(rows, 0, None, 0, (), np.empty((0, len(config.measured_limits))), ())

    def without(self, i):
        """Return the part without row i."""
        rows, outcomes = np.delete(self.rows, i, axis=0), np.delete(self.outcomes, i, axis=0)
        changes = {name: getattr(self, name) for name in ("queries", "n_before")}
        changes = {name: values[:i] + values[i + 1 :] for name, values in changes.items()}
        return replace(self, rows=rows, outcomes=outcomes, total=self.total - 1, **changes)

    def outcomes_at(self, i):
        """Return the outcomes of row i as those of an `Observation`."""
        return tuple(None if v != v else v for v in self.outcomes[i].tolist()) or None

    def cause(self, choice):
        if not self.total or not len(_unexplained(self, choice.run)):
            return None
        gp, level = choice.once(_fitted, self)

        def at(t, latest, moving):
            return Success(ManyPlaces(posterior_in(gp, t, latest, moving)), level)

        return at

    def told(self, run, after, answer):
        if answer.y is not None:
            return self
        values = np.full(self.outcomes.shape[1], np.nan)
        if answer.outcomes is not None:
            values = np.array(answer.outcomes, dtype=np.float64)
        failures = replace(
            self,
            rows=np.vstack([self.rows, answer.row])[-MAX_FAILURES:],
            total=self.total + 1,
            queries=(*self.queries, answer.query_id)[-MAX_FAILURES:],
            outcomes=np.vstack([self.outcomes, values])[-MAX_FAILURES:],
            n_before=(*self.n_before, run.history.total)[-MAX_FAILURES:],
        )
        queries = run.history.n_told + failures.total
        due = min(_GROWTH * failures.searched, failures.searched + _MOST)
        # Without a success, failures by chance and by input cannot be distinguished.
        few = len(_unexplained(failures, run)) < _MIN_FAILURES or not run.history.n_told
        if few or queries < due:
            return failures
        return replace(failures, learnt=_searched(run, failures), searched=queries)

    def continued(self, run, new, change):
        old = run.failures
        learnt = old.learnt and (old.learnt[0] * change.typical, *old.learnt[1:])
        rows, outcomes = change.rows(old.rows), outcomes_of_failures(run, new)
        return replace(old, rows=rows, learnt=learnt, outcomes=outcomes)


def has_failed(y, failed):
    """Return True if a measurement was told as failed; y must then be omitted, or NaN."""
    if not check_bool(failed, "failed"):
        return False
    if not is_missing(y):
        expected = "left out, or NaN, with failed=True"
        raise invalid_observation("y", expected, y)
    return True


def with_failures(y, failed, n):
    """Return the values told (n,) as a list, None where a measurement failed; see `has_failed`."""
    mask = np.asarray(failed) if np.size(failed) else np.empty(0, dtype=bool)
    if mask.dtype != bool or mask.shape not in ((), (n,)):
        raise invalid("failed", f"True or False, or {n} of them", failed)
    y = np.full(n, np.nan) if y is None else real_array(y, "y", InvalidObservationError)
    if y.shape != (n,):
        expected, got = f"an array of shape ({n},)", f"shape {y.shape}"
        raise invalid_observation("y", expected, got=got)
    nan = np.isnan(y)
    if (mask & ~nan).any():
        got = f"{y[mask & ~nan][0]}"
        raise invalid_observation("y", "NaN where failed=True", got=got)
    mask = np.broadcast_to(mask, (n,))
    if not np.isfinite(y[~mask]).all():
        raise invalid_observation(
            "y",
            "finite",
            got=f"{np.count_nonzero(~np.isfinite(y[~mask]))} NaN or infinity",
            advice="Where y contains NaN, tell failed=True for each measurement that failed.",
        )
    check_size(y[~mask], "y", LARGEST_Y, InvalidObservationError)
    return [None if failed else value for value, failed in zip(y.tolist(), mask)]


def _unexplained(failures, run):
    """Return the rows (m, d + 1) of failures that no modelled outcome explains by its limit."""
    rows = failures.rows
    if not models_of(run):
        return rows
    beyond = beyond_limits(run, failures.outcomes, np.full(len(rows), np.nan)) > 0.0
    return rows[~beyond.any(axis=0)]


def _labelled(run, failures):
    """Return rows (n, u + 1) and labels (n,) of the latest queries, in the order of time."""
    succeeded = run.rows(run.history.latest(_MAX_QUERIES))
    failed = _unexplained(failures, run)
    rows = np.vstack([succeeded, failed])
    labels = np.repeat([0.0, 1.0], [len(succeeded), len(failed)])
    latest = np.argsort(rows[:, -1], kind="stable")[-_MAX_QUERIES:]
    rows = rows[latest]
    return np.column_stack([run.domain.unit_of(rows[:, :-1]), rows[:, -1]]), labels[latest]


def _usual(X, labels):
    """Return the values of `Failures.learnt` before a search, for rows (n, u + 1) with labels."""
    gaps = np.diff(np.unique(X[:, -1]))
    duration = _INTERVALS * (np.median(gaps) if len(gaps) else 1.0)
    return _LENGTH, duration, 1.0 / (_QUERIES + np.sum(labels == 0.0)), _MEAN


def _variances(labels, rate):
    """Return the noise variances (n,) of labels, given the rate of failures by chance."""
    return np.where(labels, rate / (1.0 - rate), _NOISE)


def _fitted(run, failures):
    """Return a regressor of the labels above their mean, and this mean."""
    X, labels = _labelled(run, failures)
    learnt = failures.learnt or _usual(X, labels)
    return as_fitted(_regressor(X, labels, learnt, optimizer=None)), learnt[-1]


def _searched(run, failures):
    """Return the values learnt from the labels, see `Failures.learnt`."""
    X, labels = _labelled(run, failures)
    length, duration, *_ = failures.learnt or _usual(X, labels)
    rate, mean = _rate_and_mean(X, labels, length, duration)
    medians = _LENGTH, _usual(X, labels)[1]
    names = "spatial_kernel__length_scale", "temporal_kernel__length_scale"
    priors = dict(zip(names, map(LogNormal, medians, (_LENGTH_SPREAD, _INTERVALS_SPREAD))))
    learnt = length, duration, rate, mean
    gp = _regressor(X, labels, learnt, optimizer="fmin_l_bfgs_b", hyperpriors=priors)
    values = gp.spatial_kernel_.length_scale, gp.temporal_kernel_.length_scale, rate, mean
    return tuple(map(float, values))


def _regressor(X, labels, learnt, **options):
    """Return a regressor of labels (n,) at rows (n, u + 1), see `Failures.learnt`."""
    length, duration, rate, mean = learnt
    rows = _merged(X, labels - mean, _variances(labels, rate), duration)
    model = TimeVaryingGPRegressor(
        Matern(length, (0.05, 1.0), nu=1.5),
        Matern(duration, (1e-2 * duration, 1e3 * duration), nu=0.5),
        signal_variance=_SIGNAL,
        signal_variance_bounds="fixed",
        noise_variance=_NOISE,
        noise_variance_bounds="fixed",
        solver="dense",
        **options,
    )
    return without_advice(model).fit(*rows)


def _rate_and_mean(X, labels, length, duration):
    """Return the rate of failures by chance and the mean of labels (n,), of rows (n, u + 1).

    They are posterior means over a grid, by the likelihood of leave-one-out predictions (Rasmussen
    & Williams 2006, section 5.4.2). The kernel in space is rough: with a smooth one, failures at
    the edge of a region would be taken for failures by chance.
    """
    K = _SIGNAL * Matern(length, nu=0.5)(X[:, :-1]) * Matern(duration, nu=0.5)(X[:, -1:])
    grid = []
    for rate in _RATES:
        noise = _variances(labels, rate)
        inverse = np.linalg.inv(K + np.diag(noise))
        precision = np.diag(inverse)
        std = np.sqrt(np.maximum(1.0 / precision - noise, 0.0))
        predicted, share = labels - inverse @ labels / precision, inverse.sum(axis=1) / precision
        for mean in _MEANS:
            p = (1.0 - rate) * ndtr(_squashed(predicted + mean * share, std)[0])
            log_p = np.log(np.where(labels, 1.0 - p, p)).sum()
            grid.append((log_p + _SUCCESSES * np.log(1.0 - rate), rate, mean))
    log_p, *values = np.array(grid).T
    return np.average(values, axis=1, weights=np.exp(log_p - log_p.max()))


def _merged(X, labels, variances, duration):
    """Return rows (n, u + 1), labels and variances, with one label for rows near a later one.

    This label has the same information as they would have at one input: the state of a Kalman
    filter of a process with the covariance of an exponential kernel, without its prior. Rows are in
    the order of time.
    """
    near, latest = cdist(X[:, :-1], X[:, :-1]) < _SAME_INPUT, np.full(len(X), -1)
    for i in range(len(X) - 1, -1, -1):
        if latest[i] < 0:
            latest[near[i] & (latest < 0)] = i
    states = {}
    for i, t, label, noise in zip(
        *(part.tolist() for part in (latest, X[:, -1], labels, variances))
    ):
        mean, variance, before = states.get(i, (0.0, _SIGNAL, t))
        decay = math.exp((before - t) / duration)
        mean, variance = decay * mean, _SIGNAL + decay**2 * (variance - _SIGNAL)
        variance = max(variance, _CHANGES)
        gain = variance / (variance + noise)
        states[i] = mean + gain * (label - mean), (1.0 - gain) * variance, t
    mean, variance, _ = np.array(list(states.values())).T
    learnt = (_SIGNAL - variance) / _SIGNAL
    return X[list(states)], mean / learnt, variance / learnt


class Success(Probability):
    """Probability that a query does not fail because of its input.

    Parameters
    ----------
    posterior : ManyPlaces
        Posterior of the labels above their mean.
    level : float
        Mean of the labels.
    """

    def __init__(self, posterior, level):
        self._posterior, self._level = posterior, level

    def _z(self, mean, std):
        """Return the probit's argument (m,), and its derivatives, see `with_slopes`."""
        return _squashed(mean + self._level, std)

    def log(self, U):
        return log_ndtr(self._z(*self._posterior(U))[0])

    def log_with_slopes(self, U):
        z, slopes = with_slopes(self._z, self._posterior, U)
        log_p = log_ndtr(z)
        density = np.exp(-0.5 * z**2 - log_p) / np.sqrt(2.0 * np.pi)
        return log_p, density[:, np.newaxis] * slopes


def _squashed(mean, std):
    """Return the probit's argument for labels below ½, and its derivatives in mean and std."""
    spread = np.sqrt(1.0 + (_SLOPE * std) ** 2)
    z = _SLOPE * (0.5 - mean) / spread
    return z, -_SLOPE / spread, -z * _SLOPE**2 * std / spread**2
