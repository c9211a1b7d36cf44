"""Queries that could not be measured: where and when queries succeed is learnt from them.

A second Gaussian process sees the queries alone, with 1 for those that failed and 0 for the others,
least squares on labels (Rasmussen & Williams 2006, section 6.5). Its covariance forgets in time, so
that what fails for a while is tried again. A place succeeds with the probability that the process,
squashed by a probit, is below ½. The latest query near a place is what counts there.

What an acquisition function promises is weighed by that probability, and by next to nothing where
it is below even odds: where little more is to be gained elsewhere, a promise that is not kept would
otherwise be the best there is. Improvement is multiplied by it (Gelbart et al. 2014). Of a score
that is no improvement, such as a confidence bound or a draw from the posterior, the expectation is
taken, a failure being worth as much as the worst place of all; that does not depend on where the
zero of y is.
"""

from dataclasses import dataclass, replace
from numbers import Real

import numpy as np
from scipy.spatial.distance import cdist
from scipy.special import log_ndtr
from scipy.stats import lognorm
from sklearn.gaussian_process.kernels import Matern

from .._validation import LARGEST_Y, check_bool, check_size, invalid, real_array
from ..exceptions import InvalidObservationError
from ..gaussian_process import TimeVaryingGPRegressor

# So many failures are remembered, the latest, and as many of the latest observations are heeded.
MAX_FAILURES = 150

# Slope of the probit: where nothing is uncertain, 0 and 1 are this many halves away from even odds.
_SLOPE = 6.0

# Below even odds p it is weighed by p (2 p) to this power.
_CAUTION = 10.0

# Of this many random queries one is taken that is likely to succeed.
_N_DRAWN = 64

# Of queries that are nearer to one another than this, in the unit box, the latest is heeded.
_NEAR = 0.05

# Before this many failures are known, the hyperparameters are held.
_MIN_FAILURES = 3

# They are then searched when there are so many times more queries than at the latest search, or so
# many more.
_GROWTH, _MOST = 1.25, 75

# What is held before: lengthscale in space (of the unit box) and in time (in intervals between
# queries), variance of the signal. They are the medians of priors, whose logarithms have these
# standard deviations: few labels say little of how long failures last. The noise is held.
_LENGTH, _INTERVALS, _SIGNAL, _NOISE = 0.2, 50.0, 0.25, 0.01
_LENGTH_SPREAD, _INTERVALS_SPREAD, _SIGNAL_SPREAD = 0.5, 1.0, 0.5


@dataclass(frozen=True, eq=False)
class Failures:
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
    """

    rows: np.ndarray
    total: int = 0
    learnt: tuple | None = None
    searched: int = 0


def has_failed(y, failed):
    """Return True if a measurement was told as failed; y is left out then, or NaN."""
    if not check_bool(failed, "failed"):
        return False
    if not (y is None or (np.size(y) == 1 and isinstance(y, Real | np.ndarray) and np.all(y != y))):
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
            advice="Tell measurements that failed with failed=True for each of them.",
            error=InvalidObservationError,
        )
    check_size(y[~mask], "y", LARGEST_Y, InvalidObservationError)
    return [None if failed else value for value, failed in zip(y.tolist(), mask)]


def with_failure(failures, row, run):
    """What is known of failures after another one, of the query and time ``row`` (d + 1,)."""
    rows = row[np.newaxis] if failures is None else np.vstack([failures.rows, row])
    before = Failures(rows) if failures is None else failures
    after = replace(before, rows=rows[-MAX_FAILURES:], total=before.total + 1)
    queries = run.history.n_told + after.total
    due = min(_GROWTH * after.searched, after.searched + _MOST)
    if after.total < _MIN_FAILURES or queries < due:
        return after
    gp = _fitted(after, run, search=True)
    learnt = (
        gp.spatial_kernel_.length_scale,
        gp.temporal_kernel_.length_scale,
        gp.signal_variance_,
    )
    return replace(after, learnt=tuple(map(float, learnt)), searched=queries)


def _fitted(failures, run, search=False):
    """A regressor of the labels; with hyperparameters that are searched, or those learnt."""
    succeeded = run.rows(run.history.latest(MAX_FAILURES))
    rows = np.vstack([succeeded, failures.rows])
    X = np.column_stack([run.domain.to_unit(rows[:, :-1]), rows[:, -1]])
    labels = np.repeat([0.0, 1.0], [len(succeeded), len(failures.rows)])
    latest = _latest_of_each_place(X)
    X, labels = X[latest], labels[latest]
    gaps = np.diff(np.unique(X[:, -1]))
    gap = np.median(gaps) if len(gaps) else 1.0
    usual = _LENGTH, _INTERVALS * gap, _SIGNAL
    length, duration, signal = failures.learnt or usual
    names = "spatial_kernel__length_scale", "temporal_kernel__length_scale", "signal_variance"
    spreads = _LENGTH_SPREAD, _INTERVALS_SPREAD, _SIGNAL_SPREAD
    priors = {n: lognorm(spread, scale=m) for n, m, spread in zip(names, usual, spreads)}
    return TimeVaryingGPRegressor(
        Matern(length, (0.05, 1.0), nu=1.5),
        Matern(duration, (1e-2 * duration, 1e3 * duration), nu=1.5),
        signal_variance=signal,
        signal_variance_bounds=(0.05, 1.0),
        noise_variance=_NOISE,
        noise_variance_bounds="fixed",
        solver="dense",
        optimizer="fmin_l_bfgs_b" if search else None,
        hyperpriors=priors if search else None,
        warn=False,
    ).fit(X, labels)


def _latest_of_each_place(X):
    """Indices of rows (n, u + 1), time last, none of which has a later one near to it."""
    order = np.argsort(-X[:, -1], kind="stable")
    near = cdist(X[order, :-1], X[order, :-1]) < _NEAR
    chosen = np.ones(len(X), dtype=bool)
    for i, row in enumerate(near):
        if chosen[i]:
            chosen[i + 1 :] &= ~row[i + 1 :]
    return np.sort(order[chosen])


class Risk:
    """The probability that a query fails, in place and time.

    Parameters
    ----------
    failures : Failures
    run : Run
        That they are of.
    """

    def __init__(self, failures, run):
        self._gp = _fitted(failures, run)

    def at(self, t, moving=None):
        """The `Chance` of success at one time, of places (m, u) in unit form."""
        return Chance(self._gp.posterior_at(t, moving))

    def between(self, low, high, moving=None):
        """The same, of places with a time (m, u + 1), 0 at ``low`` and 1 at ``high``."""
        return Chance(self._gp.posterior_between(low, high, moving))


class Chance:
    """The probability of success as a function of places in unit form.

    Parameters
    ----------
    posterior : callable
        Of the labels, see `TimeVaryingGPRegressor.posterior_at`.
    """

    def __init__(self, posterior):
        self._posterior = posterior

    def log(self, U):
        """Logarithm of the probability (m,) at places U (m, u)."""
        return log_ndtr(_squashed(*self._posterior(U))[0])

    def log_weight(self, U):
        """Logarithm of what a promise counts (m,)."""
        return _cautious(self.log(U))[0]

    def log_weight_with_slopes(self, U):
        """The same, and its derivatives (m, u) in the place."""
        log_p, slopes = self.log_with_slopes(U)
        found, slope = _cautious(log_p)
        return found, slope[:, np.newaxis] * slopes

    def log_with_slopes(self, U):
        """Logarithm of the probability (m,), and its derivatives (m, u) in the place."""
        z, slopes = np.empty(len(U)), np.empty(U.shape)
        for i, u in enumerate(U):
            mean, std, mean_slope, std_slope = self._posterior.with_gradient(u)
            z[i], on_mean, on_std = _squashed(mean, std)
            slopes[i] = on_mean * mean_slope + on_std * std_slope
        log_p = log_ndtr(z)
        density = np.exp(-0.5 * z**2 - log_p) / np.sqrt(2.0 * np.pi)
        return log_p, density[:, np.newaxis] * slopes

    def weigh_draw(self, draw):
        """A draw of values (m,) at places in unit form, weighed as a score is."""

        def weighed(U):
            values = draw(U)
            floor = values.min()
            return floor + np.exp(self.log_weight(U)) * (values - floor)

        return weighed


def _cautious(log_p):
    """Logarithm of the weight of a probability, and its derivative in that of the probability."""
    below = np.minimum(log_p + np.log(2.0), 0.0)
    return log_p + _CAUTION * below, np.where(below < 0.0, 1.0 + _CAUTION, 1.0)


def _squashed(mean, std):
    """The probit's argument, a success being a label below ½, and its derivatives in both."""
    spread = np.sqrt(1.0 + (_SLOPE * std) ** 2)
    z = _SLOPE * (0.5 - mean) / spread
    return z, -_SLOPE / spread, -z * _SLOPE**2 * std / spread**2


def sampled(draw, domain, risk, t, size, rng):
    """Rows (size, d) for time t, drawn by (n, rng); where queries fail, fewer are taken."""
    if risk is None:
        return draw(size, rng)
    chosen, chance = [], risk.at(t)
    for _ in range(size):
        drawn = draw(_N_DRAWN, rng)
        share = chance.log_weight(domain.to_unit(drawn))
        taken = np.flatnonzero(np.log(rng.uniform(size=len(drawn))) < share)
        chosen.append(drawn[taken[0] if len(taken) else np.argmax(share)])
    return np.array(chosen)


def weighed(score, risk, posterior, space, t, places):
    """A score of places in a search space, weighed by the chance of success.

    A failure is worth as much as the worst of some places (m, k), of which the posterior is known
    at time t.
    """
    moving = space.continuous[: places.shape[1]]
    chance = risk.at(t, moving) if space.window is None else risk.between(*space.window, moving)
    shown = places if space.window is None else np.column_stack([places, np.zeros(len(places))])
    floor = score.values(*posterior(places), shown).min()
    return score.weighed(chance, floor)
