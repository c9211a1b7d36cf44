"""Models of measured outcomes, and the probability that all limits hold.

Notation, at a place u and a time t, for each outcome f with limits low <= f <= high:

    mean, std        of the posterior of f
    width, least     the deviation that counts is sqrt((width std)² + least²)
    p                P(low <= f <= high), and of all outcomes, which are independent, the product
    z                standard normal quantile of the required probability, the ``safety``
    excess           E max(f - high, 0) + E max(low - f, 0)
"""

import math
from functools import cached_property

import numpy as np
from scipy.special import ndtri, ndtri_exp

from .._fast.limits import Limits as CompiledLimits
from .._fast.limits import excess, within
from ..acquisition._compiled import ManyPlaces
from ._chance import Factor, posterior_in, with_slopes
from ._constants import (
    LEAST,
    MIN_DIFFERENCES,
    NOISE_MARGIN,
    REACH,
    SURE,
    UNDERSTATED,
    UNKNOWN,
    WIDEST,
)
from ._models import data_of
from ._outcomes import OBJECTIVE, measured


class Feasibility:
    """Probability that all limits of a run with a surrogate hold, in place and time.

    Parameters
    ----------
    run : RunState
    widens : bool, default=False
        Standard deviations are not taken for smaller than data alone can show, see `_widening`.

    Attributes
    ----------
    is_modelled : ndarray of bool of shape (k,)
        Of each limit: its outcome was measured.
    """

    def __init__(self, run, widens=False):
        known, self._outcomes, self._data = run.part("limits"), [], []
        models = dict(zip(measured(run), [model.surrogate for model in known.models]))
        models, data = models | {OBJECTIVE: run.model}, _data_by_name(run) if widens else {}
        for limit in run.config.limits:
            surrogate, width, least = models[limit.name], 1.0, 0.0
            if surrogate is None:
                continue
            low, high = limit.ends
            if widens:
                width, least = _widening(surrogate, data[limit.name].y, low, high)
                width *= UNDERSTATED + known.excess
                self._data.append(data[limit.name])
            low, high = sorted((run.sign * low, run.sign * high))
            self._outcomes.append((surrogate, low, high, width, least))
        self.is_modelled = np.array([models[limit.name] is not None for limit in run.config.limits])
        self._unit_of = run.domain.unit_of

    def at(self, t, latest=None, moving=None, **required):
        """Return the `WithinLimits` at a time, or in the window up to a later one.

        ``required`` are its z and ``near``.
        """
        latest = t if latest is None else latest
        outcomes = [
            (ManyPlaces(posterior_in(surrogate.at(t), t, latest, moving)), *limits)
            for surrogate, *limits in self._outcomes
        ]
        return WithinLimits(outcomes, np.count_nonzero(~self.is_modelled), **required)

    def violated(self, place, t, distances):
        """Return if a limit was violated at a place (1, u) and time t, a share from 0 to 1.

        It is the probability given the model, and 1 if an outcome was measured at a distance beyond
        its limit (of all: (k,), NaN if it was not) that is no noise, whatever the model says.
        """
        if (distances > self.noise_margins)[self.is_modelled].any():
            return 1.0
        return -np.expm1(self.at(t).log(place)[0])

    @cached_property
    def noise_margins(self):
        """Distances (k,) beyond limits that may be noise: of each, two standard deviations.

        They are known if the `Feasibility` widens.
        """
        found = np.zeros(len(self.is_modelled))
        found[self.is_modelled] = [
            NOISE_MARGIN * _noise(surrogate.noise_std_, self._unit_of(data.rows[:, :-1]), data.y)
            for (surrogate, *_), data in zip(self._outcomes, self._data)
        ]
        return found

    def is_known(self, U, t):
        """Return at which places U (m, u) the limits are known to hold or not at time t (m,).

        The data explain most of the variance of each outcome there, or the limits surely hold.
        """
        found = np.ones(len(U), dtype=bool)
        for surrogate, *_ in self._outcomes:
            posterior = ManyPlaces(surrogate.at(t).posterior_at(t))
            share = (posterior(U)[1] / posterior.scale) ** 2 / surrogate.signal_variance_
            found &= share < UNKNOWN
        return found | (self.at(t).log(U) >= np.log(SURE))


def _data_by_name(run):
    """Return the data set (dict) of everything that has a limit, by name."""
    return {name: data_of(run, i) for i, name in enumerate(measured(run))} | {OBJECTIVE: run.data}


class WithinLimits(Factor):
    """Probability that all limits hold, as a function of places in unit form.

    With a required quantile z the weight is 1 where that of the probability is at least z. Below it
    falls steeply, so that a search goes along the boundary of the certified places. With an
    optimism, where none of the limits probably holds, log and log weight are minus the expected
    excess: summed over the outcomes, in units of their standardized values. An outcome is then
    taken for better by this multiple of its standard deviation, so that uncertain places are
    explored.

    Parameters
    ----------
    outcomes : list of (ManyPlaces, float, float, float, float)
        Of each the posterior, lower and upper limit, and width and least of
        `sktvbo._fast.limits.within`. The posteriors are independent.
    n_unknown : int, default=0
        Number of limits on outcomes that were not measured yet: each holds with probability ½.
    z : float, default=nan
        Standard normal quantile of the required probability, if any.
    near : callable, () -> (callable or None), default=None
        A function (m, u) -> (m,) of the only places that may be certified, or None for all.
    optimism : float, default=nan
    """

    def __init__(self, outcomes, n_unknown=0, *, z=np.nan, near=None, optimism=np.nan):
        self._outcomes, self._log_unknown = outcomes, n_unknown * math.log(0.5)
        self.z, self._near, self._optimism = z, near, optimism
        self.is_sure, self.decides = not math.isnan(z), not math.isnan(optimism)

    def log(self, U):
        """Return the logarithm of the probability (m,) at places U (m, u)."""
        found = np.full(len(U), self._log_unknown)
        for posterior, *limits in self._outcomes:
            found += self._term(posterior, limits)(*posterior(U))[0]
        return found

    def log_with_slopes(self, U):
        """Return `log` and its derivatives (m, u) in the place."""
        found, slopes = np.full(len(U), self._log_unknown), np.zeros(U.shape)
        for posterior, *limits in self._outcomes:
            value, slope = with_slopes(self._term(posterior, limits), posterior, U)
            found += value
            slopes += slope
        return found, slopes

    def _term(self, posterior, limits):
        """Return what an outcome adds, as a function of mean and deviation, see `with_slopes`."""
        if not self.decides:
            return lambda mean, std: within(mean, std, *limits)
        scale, more = posterior.scale, (*limits, self._optimism)
        return lambda mean, std: -np.array(excess(mean, std, *more)) / scale

    def log_weight(self, U):
        return self.log(U) if self.decides else super().log_weight(U)

    def log_weight_with_slopes(self, U):
        return self.log_with_slopes(U) if self.decides else super().log_weight_with_slopes(U)

    def succeeds(self, U):
        """Return which places (m, u) are certified (m,), or probably within the limits."""
        if not self.is_sure:
            # An outcome that was not measured yet does not tell places apart.
            return self.log(U) - self._log_unknown >= np.log(0.5)
        found, near = ndtri_exp(self.log(U)) >= self.z, self._near and self._near()
        return found if near is None else found & near(U)

    def predicted(self, U):
        """Yield mean and widened standard deviation (m,) of each outcome, and its limits."""
        for posterior, low, high, width, least in self._outcomes:
            mean, std = posterior(U)
            yield mean, np.hypot(width * std, least), low, high

    def floor(self, values, succeed):
        """Return the value of a violation: the median of those where the limits probably hold.

        With the lowest value a search would stay where the limits hold surely. Where they have to
        hold with a required probability, nothing else is asked: it is like any other failure.
        """
        return values.min() if self.is_sure else np.median(values[succeed])

    def least_excess(self, optimism):
        return self if self.is_sure else WithinLimits(self._outcomes, optimism=optimism)

    def compiled(self):
        """Return the log weight compiled, or None."""
        parts = [posterior.compiled for posterior, *_ in self._outcomes]
        if not parts or None in parts or self._log_unknown:
            return None
        posteriors, units, locations, scales = zip(*parts)
        low, high, widths, least = np.array([part[1:] for part in self._outcomes]).T
        low, high = ((limit - np.array(locations)) / scales for limit in (low, high))
        limits = low, high, widths, least / np.array(scales)
        return CompiledLimits(posteriors, units, *limits, z=self.z, optimism=self._optimism)


def _noise(learnt, places, y):
    """Return the standard deviation of the noise of values y (n,) at places (n, u).

    A wrong model takes changes for noise. The nearer half of successive rows shows how large the
    noise is at most, by the median of their differences.
    """
    if len(y) < MIN_DIFFERENCES:
        return learnt
    steps = np.abs(np.diff(places, axis=0)).max(axis=1)
    differences = np.abs(np.diff(y))[steps <= np.median(steps)]
    return min(learnt, np.median(differences) / (ndtri(0.75) * math.sqrt(2.0)))


def _widening(surrogate, y, low, high):
    """Return factor and least value of the standard deviation of an outcome with values y (n,).

    Hyperparameters are learnt and treated as known, which makes deviations too small. A few values
    near one place do not show how much the outcome varies elsewhere either. The limit is assumed to
    be within reach: far from all data the outcome deviates by at least a part of the distance of
    the data from the limit. That distance is the only scale of equal values within the limits.
    """
    prior = np.sqrt(surrogate.signal_variance_) * surrogate.gp.rows.scale
    width, least = REACH * np.median(np.minimum(high - y, y - low)) / prior, surrogate.noise_std_
    if np.ptp(y) == 0.0 and width > 0.0:
        return width, LEAST * width * least
    places = surrogate.X_train_[:, :-1]
    widest = WIDEST if (places != places[0]).any() else np.inf
    return np.clip(width, 1.0, widest), LEAST * least
