"""Probability that a query is allowed, in place and time: a product of factors.

Acquisition functions are weighted by this probability, and much less where it is below ½: where
little else is to be gained, a place that always fails would otherwise have the largest value.
Improvements are multiplied by it (Gelbart et al. 2014). Of other scores, such as a confidence bound
or a draw from the posterior, the expectation is taken, with failures scored as the worst place,
and lower where they are certain; it does not depend on the zero of y.

Each factor is made for a window of time. Of a certain time its places (m, u) have no coordinate for
the time; of a longer window the last one is the time, from 0 to 1.
"""

import numpy as np

from .._fast.limits import log_weights
from ..acquisition._compiled import ManyPlaces
from ..acquisition._objective import expected
from ._constants import HOPELESS, N_DRAWN, OPTIMISM


class Probability:
    """Probability of one condition as a function of places in unit form.

    A subclass defines ``log(U)``, its logarithm (m,) at places U (m, u), and
    ``log_with_slopes(U)``, which also returns its derivatives (m, u) in the place.

    Attributes
    ----------
    is_sure : bool
        The weight is 1 at all places that a search compares, and matters to climbs alone.
    decides : bool
        The log weight is maximized, whatever the score is.
    z : float
        Standard normal quantile below which the weight falls; NaN for that of ½.
    """

    is_sure = decides = False
    z = np.nan

    def succeeds(self, U):
        """Return where (m,) a query probably succeeds."""
        return self.log(U) >= np.log(0.5)

    def log_weight(self, U):
        """Return the logarithm of the weight (m,) of an acquisition function."""
        return log_weights(self.log(U), self.z)[0]

    def log_weight_with_slopes(self, U):
        """Return `log_weight` and its derivatives (m, u) in the place."""
        log_p, slopes = self.log_with_slopes(U)
        weight, slope = log_weights(log_p, self.z)
        return weight, slope[:, np.newaxis] * slopes

    def compiled(self):
        """Return the log weight as a `sktvbo._fast.limits.Limits`, or None."""
        return None

    def floor(self, values, succeed):
        """Return the value of a failure, given values (m,) and where (m,) success is probable."""
        return values.min()

    def least_excess(self, optimism):
        """Return the factor where no place probably succeeds."""
        return self


class Chance:
    """Joint probability of independent factors, as a weight of scores.

    Parameters
    ----------
    factors : list of Probability
    """

    def __init__(self, factors):
        self._factors = factors
        self.is_sure = all(factor.is_sure for factor in factors)
        self.decides = any(factor.decides for factor in factors)

    def log(self, U):
        """Return the logarithm of the probability (m,) at places U (m, u)."""
        return sum(factor.log(U) for factor in self._factors)

    def succeeds(self, U):
        """Return where (m,) a query probably succeeds."""
        return np.all([factor.succeeds(U) for factor in self._factors], axis=0)

    def fails(self, U):
        """Return where (m,) a query is known to violate a limit or to fail."""
        return self.log(U) < np.log(HOPELESS)

    # The weight of a factor is no function of its probability alone.
    def log_weight(self, U):
        """Return the logarithm of the weight (m,) of an acquisition function."""
        return sum(factor.log_weight(U) for factor in self._factors)

    def log_weight_with_slopes(self, U):
        """Return `log_weight` and its derivatives (m, u) in the place."""
        weights = [factor.log_weight_with_slopes(U) for factor in self._factors]
        return [sum(parts) for parts in zip(*weights)]

    def compiled(self):
        """Return the log weight as a `sktvbo._fast.limits.Limits`, or None."""
        return self._factors[0].compiled() if len(self._factors) == 1 else None

    def least_excess(self, optimism):
        """Return the chance by which to weigh where no place probably succeeds."""
        return Chance([factor.least_excess(optimism) for factor in self._factors])

    def at_best(self, succeed):
        """Return the chance by which to weigh, given where (m,) success is probable."""
        return self if succeed.any() else self.least_excess(OPTIMISM)

    def weigh_draw(self, draw):
        """Return a draw of values (m,) at places in unit form, weighted as a score."""

        def weighed(U):
            succeed = self.succeeds(U)
            chance, values = self.at_best(succeed), draw(U)
            if chance.decides:
                return chance.log_weight(U)
            return expected(values, self.log_weight(U), *self.worth(values, succeed))[0]

        return weighed

    def worth(self, values, succeed):
        """Return the score of a failure, and what is subtracted where it is certain.

        The latter is the range of the values (m,). Otherwise a failure could be as good as the best
        place, near which most others are. Where success is sure nothing is subtracted.
        """
        floor = max(factor.floor(values, succeed) for factor in self._factors)
        if self.is_sure:
            return floor, 0.0
        finite = values[np.isfinite(values)]
        spread = np.ptp(finite) if len(finite) else 0.0
        return floor, float(spread or np.abs(finite).max(initial=0.0) or 1.0)

    def weigh(self, score, posterior, space, places):
        """Return the score of places in a search space, weighed by this chance.

        A failure is worth as much as the worst of some places (m, k), or the median of those that
        are probably within the limits. Their posterior is known at the time of the query. If none
        is, the limits alone decide: see `least_excess`.
        """
        shown = places
        if space.window is not None:
            shown = np.column_stack([places, np.zeros(len(places))])
        succeed = self.succeeds(shown)
        chance = self.at_best(succeed)
        if chance.decides:
            return score.weighed(chance, 0.0)
        values = score.values(*ManyPlaces(posterior)(places), shown)
        if score.acquisition.logarithm is None:
            return score.weighed(chance, *chance.worth(values, succeed))
        largest = score.acquisition.logarithm(values[succeed])[0].max(initial=-np.inf)
        return score.weighed(chance, largest if np.isfinite(largest) else 0.0)

    def sampler(self, draw, unit_of):
        """Return a sampler (n, rng) of the rows of another one, fewer where queries fail."""

        def sample(n, rng):
            chosen = []
            for _ in range(n):
                drawn = draw(N_DRAWN, rng)
                share = self.log_weight(unit_of(drawn))
                accepted = np.flatnonzero(np.log(rng.uniform(size=len(drawn))) < share)
                chosen.append(drawn[accepted[0] if len(accepted) else np.argmax(share)])
            return np.array(chosen)

        return sample


def with_slopes(function, posterior, U):
    """Return a function of mean and standard deviation (m,), and its derivatives (m, u) in places.

    ``function`` returns its value and its derivatives in both; ``posterior`` is a `ManyPlaces`.
    """
    mean, std, mean_slopes, std_slopes = posterior.with_gradients(U)
    value, on_mean, on_std = function(mean, std)
    return value, on_mean[:, np.newaxis] * mean_slopes + on_std[:, np.newaxis] * std_slopes


def posterior_in(surrogate, t, latest, moving=None):
    """Return the posterior of f at a time, or in a window of time that ends later."""
    if latest == t:
        return surrogate.posterior_at(t, moving)
    return surrogate.posterior_between(t, latest, moving)
