"""Queries that failed: the probability of success is learnt in place and time.

A Gaussian process is fitted to the queries, with label 1 for failures and 0 for observations: least
squares on labels (Rasmussen & Williams 2006, section 6.5). Its covariance decays in time, so that
places which failed are tried again. The probability of success is that of the process, passed
through a probit, being below ½. Of queries near one place only the latest counts.

Acquisition functions are weighted by this probability, and much less where it is below ½: where
little else is to be gained, a place that always fails would otherwise have the largest value.
Improvements are multiplied by it (Gelbart et al. 2014). Of other scores, such as a confidence bound
or a draw from the posterior, the expectation is taken, with failures scored as the worst place; it
does not depend on the zero of y.
"""

from dataclasses import dataclass, replace
from numbers import Real

import numpy as np
from scipy.spatial.distance import cdist
from scipy.special import log_ndtr
from scipy.stats import lognorm
from sklearn.gaussian_process.kernels import Matern

from .._fast.limits import log_weights
from .._validation import LARGEST_Y, check_bool, check_size, invalid, real_array
from ..acquisition._compiled import ManyPlaces
from ..exceptions import InvalidObservationError
from ..gaussian_process import TimeVaryingGPRegressor

# Number of the latest failures, and of the latest observations, that are used.
MAX_FAILURES = 150

# Slope of the probit: without uncertainty, labels 0 and 1 have z = ± half of this.
_SLOPE = 6.0

# Random candidates of which one that is likely to succeed is taken.
_N_DRAWN = 64

# Distance in the unit box below which only the latest of two queries is used.
_NEAR = 0.05

# Where no limit probably holds, queries take outcomes for better by this multiple of their standard
# deviations, so that uncertain places are explored.
OPTIMISM = 1.0

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
    queries : tuple of (int or None)
        Ids of the queries of the rows; None for a row that was not asked for.
    """

    rows: np.ndarray
    total: int = 0
    learnt: tuple | None = None
    searched: int = 0
    queries: tuple = ()


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


def with_failure(failures, row, run, query=None):
    """Return the failures with one more, at query and time ``row`` (d + 1,), and its `Query`."""
    rows = row[np.newaxis] if failures is None else np.vstack([failures.rows, row])
    before = Failures(rows) if failures is None else failures
    after = replace(
        before,
        rows=rows[-MAX_FAILURES:],
        total=before.total + 1,
        queries=(*before.queries, None if query is None else query.id)[-MAX_FAILURES:],
    )
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
    """Return a regressor of the labels, with searched or previously learnt hyperparameters."""
    succeeded = run.rows(run.history.latest(MAX_FAILURES))
    rows = np.vstack([succeeded, failures.rows])
    X = np.column_stack([run.domain.unit_of(rows[:, :-1]), rows[:, -1]])
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
    """Return the indices of rows (n, u + 1), time last, without a later row nearby."""
    order = np.argsort(-X[:, -1], kind="stable")
    near = cdist(X[order, :-1], X[order, :-1]) < _NEAR
    chosen = np.ones(len(X), dtype=bool)
    for i, row in enumerate(near):
        if chosen[i]:
            chosen[i + 1 :] &= ~row[i + 1 :]
    return np.sort(order[chosen])


class Risk:
    """Probability that a query fails, in place and time.

    Parameters
    ----------
    failures : Failures
    run : RunState
    """

    def __init__(self, failures, run):
        self._gp = _fitted(failures, run)

    def at(self, t, moving=None):
        """Return the `Success` at one time, for places (m, u) in unit form."""
        return Success(ManyPlaces(self._gp.posterior_at(t, moving)))

    def between(self, low, high, moving=None):
        """Return it for places with a time (m, u + 1), 0 at ``low`` and 1 at ``high``."""
        return Success(ManyPlaces(self._gp.posterior_between(low, high, moving)))


class Causes:
    """Several independent causes of failure, such as a `Risk`, as one.

    Parameters
    ----------
    causes : list of Risk, or objects with the same methods
    """

    def __init__(self, causes):
        self._causes = causes

    def at(self, t, moving=None):
        return Jointly([cause.at(t, moving) for cause in self._causes])

    def between(self, low, high, moving=None):
        return Jointly([cause.between(low, high, moving) for cause in self._causes])


class Chance:
    """Probability of success as a function of places in unit form.

    A subclass defines ``log(U)``, its logarithm (m,) at places U (m, u), and
    ``log_with_slopes(U)``, which also returns its derivatives (m, u) in the place.

    Attributes
    ----------
    is_sure : bool
        The weight is 1 at all places that a search compares, and matters to climbs alone.
    decides : bool
        The log weight is maximized, whatever the score is.
    """

    is_sure = decides = False

    def succeeds(self, U):
        """Return where (m,) a query probably succeeds."""
        return self.log(U) >= np.log(0.5)

    def log_weight(self, U):
        """Return the logarithm of the weight (m,) of an acquisition function."""
        return log_weights(self.log(U))[0]

    def log_weight_with_slopes(self, U):
        """Return `log_weight` and its derivatives (m, u) in the place."""
        log_p, slopes = self.log_with_slopes(U)
        found, slope = log_weights(log_p)
        return found, slope[:, np.newaxis] * slopes

    def compiled(self):
        """Return the log weight as a `sktvbo._fast.limits.Limits`, or None."""
        return None

    def floor(self, values, succeed):
        """Return the value of a failure, given values (m,) and where (m,) success is probable."""
        return values.min()

    def least_excess(self, optimism=OPTIMISM):
        """Return the `Chance` that decides if no place probably succeeds; None for the same."""
        return None

    def at_best(self, succeed):
        """Return the chance by which to weigh, given where (m,) success is probable."""
        return (None if succeed.any() else self.least_excess()) or self

    def weigh_draw(self, draw):
        """Return a draw of values (m,) at places in unit form, weighted as a score."""

        def weighed(U):
            succeed = self.succeeds(U)
            chance, values = self.at_best(succeed), draw(U)
            if chance.decides:
                return chance.log_weight(U)
            floor = self.floor(values, succeed)
            return floor + np.exp(self.log_weight(U)) * (values - floor)

        return weighed


class Success(Chance):
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
        mean, std, mean_slopes, std_slopes = self._posterior.with_gradients(U)
        z, on_mean, on_std = _squashed(mean, std)
        slopes = on_mean[:, np.newaxis] * mean_slopes + on_std[:, np.newaxis] * std_slopes
        log_p = log_ndtr(z)
        density = np.exp(-0.5 * z**2 - log_p) / np.sqrt(2.0 * np.pi)
        return log_p, density[:, np.newaxis] * slopes


class Jointly(Chance):
    """Joint chance of independent causes, as a function of places in unit form.

    Parameters
    ----------
    chances : list of Chance
    """

    def __init__(self, chances):
        self._chances = chances

    def log(self, U):
        return sum(chance.log(U) for chance in self._chances)

    def succeeds(self, U):
        return np.all([chance.succeeds(U) for chance in self._chances], axis=0)

    def floor(self, values, succeed):
        return max(chance.floor(values, succeed) for chance in self._chances)

    def least_excess(self, optimism=OPTIMISM):
        found = [chance.least_excess(optimism) for chance in self._chances]
        if not any(found):
            return None
        return Jointly([least or chance for least, chance in zip(found, self._chances)])

    @property
    def decides(self):
        return any(chance.decides for chance in self._chances)

    # The weight of a chance is no function of its probability alone: see `Certified`.
    def log_weight(self, U):
        return sum(chance.log_weight(U) for chance in self._chances)

    def log_weight_with_slopes(self, U):
        found = [chance.log_weight_with_slopes(U) for chance in self._chances]
        return [sum(parts) for parts in zip(*found)]


def _squashed(mean, std):
    """Return the probit's argument for labels below ½, and its derivatives in mean and std."""
    spread = np.sqrt(1.0 + (_SLOPE * std) ** 2)
    z = _SLOPE * (0.5 - mean) / spread
    return z, -_SLOPE / spread, -z * _SLOPE**2 * std / spread**2


def sampled(draw, domain, risk, t, size, rng):
    """Return rows (size, d) for time t from a sampler (n, rng), fewer where queries fail."""
    if risk is None:
        return draw(size, rng)
    chosen, chance = [], risk.at(t)
    for _ in range(size):
        drawn = draw(_N_DRAWN, rng)
        share = chance.log_weight(domain.to_unit(drawn))
        taken = np.flatnonzero(np.log(rng.uniform(size=len(drawn))) < share)
        chosen.append(drawn[taken[0] if len(taken) else np.argmax(share)])
    return np.array(chosen)


def weighed(score, chance, posterior, space, places):
    """Return the score of places in a search space, weighed by the `Chance` of success.

    A failure is worth as much as the worst of some places (m, k), or the median of those that are
    probably within the limits. Their posterior is known at the time of the query. If none is, the
    limits alone decide: see `LeastExcess`.
    """
    shown = places if space.window is None else np.column_stack([places, np.zeros(len(places))])
    succeed = chance.succeeds(shown)
    chance = chance.at_best(succeed)
    if chance.decides:
        return score.weighed(chance, 0.0)
    values = score.values(*ManyPlaces(posterior)(places), shown)
    if score.acquisition.logarithm is None:
        return score.weighed(chance, chance.floor(values, succeed))
    largest = score.acquisition.logarithm(values[succeed])[0].max(initial=-np.inf)
    return score.weighed(chance, largest if np.isfinite(largest) else 0.0)
