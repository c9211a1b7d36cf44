"""Queries that failed: the probability of success is learnt in place and time.

A Gaussian process is fitted to the queries, with label 1 for failures and 0 for observations: least
squares on labels (Rasmussen & Williams 2006, section 6.5). Its covariance decays in time, so that
places which failed are tried again. The probability of success is that of the process, passed
through a probit, being below ½. Of queries near one place only the latest counts.

A failure with a measured outcome beyond its limit teaches the model of this outcome. Once there is
one, it is left out here: it would count twice.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy.spatial.distance import cdist
from scipy.special import log_ndtr
from sklearn.gaussian_process.kernels import Matern

from .._validation import LARGEST_Y, check_bool, check_size, invalid, real_array
from ..acquisition._compiled import ManyPlaces
from ..exceptions import InvalidObservationError
from ..gaussian_process import TimeVaryingGPRegressor
from ..gaussian_process._regressor import held, without_advice
from ..kernels import LogNormal
from ._chance import Factor, posterior_in, with_slopes
from ._outcomes import is_missing, outcomes_of_failures
from ._part import Part

# Number of the latest failures, and of the latest observations, that are used.
MAX_FAILURES = 150

# Slope of the probit: without uncertainty, labels 0 and 1 have z = ± half of this.
_SLOPE = 6.0

# Distance in the unit box below which only the latest of two queries is used.
_NEAR = 0.05

# Failures before which the hyperparameters are held.
_MIN_FAILURES = 3

# Growth of the number of queries, relative and absolute, after which they are searched again.
_GROWTH, _MOST = 1.25, 75

# Initial lengthscale in space (of the unit box) and in time (in intervals between queries), signal
# variance, and noise variance, which is held. The first three are medians of log-normal priors with
# these standard deviations: few labels say little about the duration of failures.
_LENGTH, _INTERVALS, _SIGNAL, _NOISE = 0.2, 50.0, 0.25, 0.01
_LENGTH_SPREAD, _INTERVALS_SPREAD, _SIGNAL_SPREAD = 0.5, 1.0, 0.5


@dataclass(frozen=True, eq=False)
class Failures(Part):
    """Queries that failed, and the hyperparameters of what is learnt from them.

    Attributes
    ----------
    rows : ndarray of shape (f, d + 1)
        The latest queries that failed, and their times, in the user's units.
    total : int
        How many there have been.
    learnt : tuple of float, or None
        Lengthscales in space and time, variance of the signal; None before a search.
    searched : int
        How many queries had been told when these were searched.
    queries : tuple of (int or None)
        Ids of the queries of the rows; None for a row that was not asked for.
    outcomes : ndarray of shape (f, k)
        Outcomes that were measured nevertheless; NaN of the others.
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
    def begun(cls, config):
        rows = np.empty((0, config.domain.n_dims + 1))
        return cls(rows, 0, None, 0, (), np.empty((0, len(config.measured_limits))), ())

    def outcomes_at(self, i):
        """Return the outcomes of row i as those of an `Observation`."""
        return tuple(None if v != v else v for v in self.outcomes[i].tolist()) or None

    def cause(self, choice):
        if not self.total or not len(_unexplained(self, choice.run)):
            return None
        gp = choice.once(_fitted, self)

        def at(t, latest, moving):
            return Success(ManyPlaces(posterior_in(gp, t, latest, moving)))

        return at

    def told(self, run, after, told):
        if told.y is not None:
            return self
        values = np.full(self.outcomes.shape[1], np.nan)
        if told.outcomes is not None:
            values = np.array(told.outcomes, dtype=np.float64)
        found = replace(
            self,
            rows=np.vstack([self.rows, told.row])[-MAX_FAILURES:],
            total=self.total + 1,
            queries=(*self.queries, told.query_id)[-MAX_FAILURES:],
            outcomes=np.vstack([self.outcomes, values])[-MAX_FAILURES:],
            n_before=(*self.n_before, run.history.total)[-MAX_FAILURES:],
        )
        queries = run.history.n_told + found.total
        due = min(_GROWTH * found.searched, found.searched + _MOST)
        if len(_unexplained(found, run)) < _MIN_FAILURES or queries < due:
            return found
        gp = _fitted(run, found, search=True)
        learnt = (
            gp.spatial_kernel_.length_scale,
            gp.temporal_kernel_.length_scale,
            gp.signal_variance_,
        )
        return replace(found, learnt=tuple(map(float, learnt)), searched=queries)

    def continued(self, run, new, change):
        old = run.failures
        learnt = old.learnt and (old.learnt[0] * change.typical, *old.learnt[1:])
        rows, outcomes = change.rows(old.rows), outcomes_of_failures(run, new)
        return replace(old, rows=rows, learnt=learnt, outcomes=outcomes)


def has_failed(y, failed):
    """Return True if a measurement was told as failed; y is left out then, or NaN."""
    if not check_bool(failed, "failed"):
        return False
    if not is_missing(y):
        expected = "left out, or NaN, with failed=True"
        raise invalid("y", expected, y, error=InvalidObservationError)
    return True


def with_failures(y, failed, n):
    """Values told (n,) as a list, None where a measurement has failed; see `has_failed`."""
    mask = np.asarray(failed) if np.size(failed) else np.empty(0, dtype=bool)
    if mask.dtype != bool or mask.shape not in ((), (n,)):
        raise invalid("failed", f"True or False, or {n} of them", failed)
    y = np.full(n, np.nan) if y is None else real_array(y, "y", InvalidObservationError)
    if y.shape != (n,):
        expected, got = f"an array of shape ({n},)", f"shape {y.shape}"
        raise invalid("y", expected, got=got, error=InvalidObservationError)
    nan = np.isnan(y)
    if (mask & ~nan).any():
        got = f"{y[mask & ~nan][0]}"
        raise invalid("y", "NaN where failed=True", got=got, error=InvalidObservationError)
    mask = np.broadcast_to(mask, (n,))
    if not np.isfinite(y[~mask]).all():
        raise invalid(
            "y",
            "finite",
            got=f"{np.count_nonzero(~np.isfinite(y[~mask]))} NaN or infinity",
            advice="Where y contains NaN, tell failed=True for each measurement that failed.",
            error=InvalidObservationError,
        )
    check_size(y[~mask], "y", LARGEST_Y, InvalidObservationError)
    return [None if failed else value for value, failed in zip(y.tolist(), mask)]


def _unexplained(failures, run):
    """Return the rows (m, d + 1) of failures that no modelled outcome explains by its limit."""
    rows, limits, known = failures.rows, run.config.measured_limits, run.part("limits")
    if known is None or not known.models:
        return rows
    beyond = [
        (values < limit.low) | (values > limit.high)
        for values, limit in zip(failures.outcomes.T, limits)
    ]
    return rows[~np.any(beyond, axis=0)] if beyond else rows


def _fitted(run, failures, search=False):
    """Return a regressor of the labels, with searched or previously learnt hyperparameters."""
    succeeded = run.rows(run.history.latest(MAX_FAILURES))
    failed = _unexplained(failures, run)
    rows = np.vstack([succeeded, failed])
    X = np.column_stack([run.domain.unit_of(rows[:, :-1]), rows[:, -1]])
    labels = np.repeat([0.0, 1.0], [len(succeeded), len(failed)])
    latest = _latest_of_each_place(X)
    X, labels = X[latest], labels[latest]
    gaps = np.diff(np.unique(X[:, -1]))
    gap = np.median(gaps) if len(gaps) else 1.0
    usual = _LENGTH, _INTERVALS * gap, _SIGNAL
    length, duration, signal = failures.learnt or usual
    names = "spatial_kernel__length_scale", "temporal_kernel__length_scale", "signal_variance"
    spreads = _LENGTH_SPREAD, _INTERVALS_SPREAD, _SIGNAL_SPREAD
    priors = dict(zip(names, map(LogNormal, usual, spreads)))
    model = TimeVaryingGPRegressor(
        Matern(length, (0.05, 1.0), nu=1.5),
        Matern(duration, (1e-2 * duration, 1e3 * duration), nu=1.5),
        signal_variance=signal,
        signal_variance_bounds=(0.05, 1.0),
        noise_variance=_NOISE,
        noise_variance_bounds="fixed",
        solver="dense",
        optimizer="fmin_l_bfgs_b" if search else None,
        hyperpriors=priors if search else None,
    )
    return held(without_advice(model).fit(X, labels))


def _latest_of_each_place(X):
    """Return the indices of rows (n, u + 1), time last, without a later row nearby."""
    order = np.argsort(-X[:, -1], kind="stable")
    near = cdist(X[order, :-1], X[order, :-1]) < _NEAR
    chosen = np.ones(len(X), dtype=bool)
    for i, row in enumerate(near):
        if chosen[i]:
            chosen[i + 1 :] &= ~row[i + 1 :]
    return np.sort(order[chosen])


class Success(Factor):
    """Probability that a query does not fail.

    Parameters
    ----------
    posterior : ManyPlaces
        Posterior of the labels.
    """

    def __init__(self, posterior):
        self._posterior = posterior

    def log(self, U):
        return log_ndtr(_squashed(*self._posterior(U))[0])

    def log_with_slopes(self, U):
        z, slopes = with_slopes(_squashed, self._posterior, U)
        log_p = log_ndtr(z)
        density = np.exp(-0.5 * z**2 - log_p) / np.sqrt(2.0 * np.pi)
        return log_p, density[:, np.newaxis] * slopes


def _squashed(mean, std):
    """Return the probit's argument for labels below ½, and its derivatives in mean and std."""
    spread = np.sqrt(1.0 + (_SLOPE * std) ** 2)
    z = _SLOPE * (0.5 - mean) / spread
    return z, -_SLOPE / spread, -z * _SLOPE**2 * std / spread**2
