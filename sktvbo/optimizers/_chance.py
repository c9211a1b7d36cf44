"""Probability that a query is allowed, by input and time: a product of factors.

Acquisition functions are weighted by this probability. Below ½ the weight is much smaller: if
little is to be gained elsewhere, an input that always fails would otherwise have the largest value.
Improvements are multiplied by the weight (Gelbart et al. 2014). For other scores, such as a
confidence bound or a draw from the posterior, the expectation is taken. A failure has the score of
the worst input, and a lower one where it is certain, so that the result does not depend on the zero
of y.

Each factor is made for a window of time. For a single time its inputs (m, u) have no coordinate for
the time; for a longer window the last one is the time, from 0 to 1.
"""

import numpy as np

from .._fast.limits import log_weights
from ..acquisition._compiled import ManyPlaces
from ..acquisition._objective import expected
from ._constants import HOPELESS, N_DRAWN, OPTIMISM


class Probability:
    """Probability of one condition as a function of inputs in unit form.

    A subclass defines ``log(U)``, its logarithm (m,) at inputs U (m, u), and
    ``log_with_slopes(U)``, which also returns its derivatives (m, u) by the coordinates of the
    input.

    Attributes
    ----------
    is_sure : bool
        The weight is 1 at all inputs that a search compares, and only affects local climbs.
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
        """Return `log_weight` and its derivatives (m, u) by the input."""
        log_p, slopes = self.log_with_slopes(U)
        weight, slope = log_weights(log_p, self.z)
        return weight, slope[:, np.newaxis] * slopes

    def compiled(self):
        """Return the log weight as a `sktvbo._fast.limits.Limits`, or None."""
        return None

    def floor(self, values, succeed):
        """Return the value of a failure, given values (m,) and a mask (m,) of probable success."""
        return values.min()

    def least_excess(self, optimism):
        """Return the factor to use if no input probably succeeds."""
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
        """Return the logarithm of the probability (m,) at inputs U (m, u)."""
        return sum(factor.log(U) for factor in self._factors)

    def succeeds(self, U):
        """Return where (m,) a query probably succeeds."""
        return np.all([factor.succeeds(U) for factor in self._factors], axis=0)

    def fails(self, U):
        """Return where (m,) a query is known to violate a limit or to fail."""
        return self.log(U) < np.log(HOPELESS)

    # The weight of a factor depends on more than its probability.
    def log_weight(self, U):
        """Return the logarithm of the weight (m,) of an acquisition function."""
        return sum(factor.log_weight(U) for factor in self._factors)

    def log_weight_with_slopes(self, U):
        """Return `log_weight` and its derivatives (m, u) by the input."""
        weights = [factor.log_weight_with_slopes(U) for factor in self._factors]
        return [sum(parts) for parts in zip(*weights)]

    def compiled(self):
        """Return the log weight as a `sktvbo._fast.limits.Limits`, or None."""
        return self._factors[0].compiled() if len(self._factors) == 1 else None

    def least_excess(self, optimism):
        """Return the chance that weighs scores if no input probably succeeds."""
        return Chance([factor.least_excess(optimism) for factor in self._factors])

    def at_best(self, succeed):
        """Return the chance that weighs scores, given a mask (m,) of probable success."""
        return self if succeed.any() else self.least_excess(OPTIMISM)

    def weigh_draw(self, draw):
        """Return a draw of values (m,) at inputs in unit form, weighted as a score."""

        def weighed(U):
            succeed = self.succeeds(U)
            chance, values = self.at_best(succeed), draw(U)
            if chance.decides:
                return chance.log_weight(U)
            return expected(values, self.log_weight(U), *self.worth(values, succeed))[0]

        return weighed

    def worth(self, values, succeed):
        """Return the score of a failure, and the amount subtracted where it is certain.

        The amount is the range of the values (m,). Otherwise a failure could be as good as the best
        input, near which most others are. If the weight is sure, the amount is 0.
        """
        floor = max(factor.floor(values, succeed) for factor in self._factors)
        if self.is_sure:
            return floor, 0.0
        finite = values[np.isfinite(values)]
        spread = np.ptp(finite) if len(finite) else 0.0
        return floor, float(spread or np.abs(finite).max(initial=0.0) or 1.0)

    def weigh(self, score, posterior, space, places):
        """Return a score in a search space, weighed by this chance.

        A failure is worth as much as the worst of ``places`` (m, k), inputs in unit form at the
        time of the query, or the median of those that are probably within the limits. If none is,
        the limits alone decide: see `least_excess`.
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
        """Return a sampler (n, rng) that thins the rows of another one where queries fail."""

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
    """Return a function of mean and standard deviation (m,), and its derivatives (m, u) by inputs.

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
