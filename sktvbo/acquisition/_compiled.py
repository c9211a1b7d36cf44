"""Scores of a posterior that compiled code evaluates and climbs."""

import time

import numpy as np

from .._fast import posterior as _posterior
from .._fast.ascent import Ascents, climb
from .._fast.posterior import Formula
from ._functions import UCB, ExpectedImprovement, PosteriorMean, ProbabilityOfImprovement
from ._objective import BoundaryMargin, ScipyClimber

# Acquisition functions that compiled code computes. Exact types only: a subclass may compute
# anything.
_FORMULAS = {
    UCB: Formula.BOUND,
    PosteriorMean: Formula.BOUND,
    ProbabilityOfImprovement: Formula.PROBABILITY,
    ExpectedImprovement: Formula.IMPROVEMENT,
}

# A climb ends where no more than this part of the unit of scores is to be gained.
_GAIN = 1e-12

# A climb ends if another one leads by more than this multiple of its expected gain.
_LEAD = 1000.0


def objective_of(score, posterior):
    """Return the objective of a score under a posterior, compiled if possible.

    Parameters
    ----------
    score : Score
    posterior : callable, (m, u) -> mean (m,), std (m,)
        With ``with_gradient(u)``. It may have ``compiled()``, which returns None or the four last
        arguments of `CompiledObjective`.

    Returns
    -------
    CompiledObjective or ScipyClimber
    """
    compiled = posterior.compiled() if hasattr(posterior, "compiled") else None
    if compiled is None:
        return ScipyClimber.of_posterior(score, posterior)
    return CompiledObjective(score, *compiled)


class ManyPlaces:
    """A posterior as a function of many inputs, compiled if possible.

    Parameters
    ----------
    posterior : callable
        See `objective_of`.

    Attributes
    ----------
    compiled : tuple or None
        What its ``compiled()`` returns.
    """

    def __init__(self, posterior):
        self._posterior = posterior
        self.compiled = posterior.compiled() if hasattr(posterior, "compiled") else None

    @property
    def scale(self):
        """Scale by which the observations were standardized."""
        return getattr(self._posterior, "scale", 1.0)

    def __call__(self, U):
        """Return mean and standard deviation (m,) at inputs (m, u), in units of y."""
        if self.compiled is None:
            return self._posterior(U)
        compiled, units, location, scale = self.compiled
        mean, std = compiled.values(U * units)
        return location + scale * mean, scale * std

    def with_gradients(self, U):
        """Return mean and standard deviation (m,), and their gradients (m, u)."""
        if self.compiled is None:
            results = [self._posterior.with_gradient(u) for u in U]
            return [np.array(part) for part in zip(*results)]
        compiled, units, location, scale = self.compiled
        mean, std, mean_slopes, std_slopes = compiled.with_gradients(U * units)
        slopes = scale * units * mean_slopes, scale * units * std_slopes
        return location + scale * mean, scale * std, *slopes


class CompiledObjective:
    """A score of a compiled posterior, of which all climbs are made in lockstep.

    With one of the package's acquisition functions no Python is called on the way, and values are
    of standardized y.

    Parameters
    ----------
    score : Score
    posterior : sktvbo._fast.posterior.Posterior
        Posterior of standardized y.
    units : ndarray of shape (u,)
        Its coordinates over those of the unit form.
    location, scale : float
        Location and scale by which y was standardized.

    Attributes
    ----------
    formula : (Formula, float) or None
        Score that compiled code computes, and its parameter: the width of a bound, or the
        standardized value that is to be exceeded. None: Python computes the score.
    """

    def __init__(self, score, posterior, units, location, scale):
        self._score = score
        self._posterior = posterior
        self._units = units
        self._location = location
        self._scale = scale
        self._margin = score.margin or BoundaryMargin(np.zeros(len(units)))
        acquisition, state = score.acquisition, score.state
        formula, self._limits = _FORMULAS.get(type(acquisition)), None
        if score.success is not None:
            self._limits = score.success.compiled()
            if self._limits is None:
                formula = None
            elif formula == Formula.BOUND:
                floor, loss = (score.floor - location) / scale, score.loss / scale
                self._score = score.weighed(score.success, floor, loss)
        if formula is None:
            self.formula = None
        elif type(acquisition) is PosteriorMean:
            self.formula = formula, 0.0
        elif formula == Formula.BOUND:
            self.formula = formula, float(np.sqrt(acquisition.beta_value(state)))
        else:
            acquisition.check()
            self.formula = formula, (state.incumbent + acquisition.xi - location) / scale

    def values(self, U):
        """Return scores (m,) at inputs (m, u)."""
        if self.formula is not None:
            return self._exact(U, self._margin.factor(U))
        return self._score.values(*self.posterior(U), U)

    def posterior(self, U):
        """Return posterior mean and standard deviation (m,) at inputs (m, u), in units of y."""
        mean, std = self._posterior.values(U * self._units)
        return self._location + self._scale * mean, self._scale * std

    def _exact(self, U, factor):
        """The formula's scores (m,), with factors (m,) of the standard deviations."""
        mean, std = self._posterior.values(U * self._units)
        value = _posterior.scores(*self.formula, mean, factor * std)[0]
        return value if self._limits is None else self._score.reduced(value, U)

    def leading(self, U, n):
        """Return scores (m,) of which the n largest are exact, others perhaps upper bounds.

        An input whose bound shows that it is not among the best n is not evaluated exactly.
        """
        first = max(n, 8)  # inputs with the highest bounds, which are evaluated exactly first
        weighs = self._limits is not None and not self._score.success.is_sure
        if self.formula is None or weighs or len(U) <= 2 * first:
            return self.values(U)
        formula, parameter = self.formula
        rises_with_std = formula == Formula.IMPROVEMENT or (
            formula == Formula.BOUND and parameter >= 0.0
        )
        if not rises_with_std:
            return self.values(U)
        factor, (mean, std) = self._margin.factor(U), self._posterior.above(U * self._units)
        scores = _posterior.scores(formula, parameter, mean, factor * std)[0]
        first = np.argpartition(-scores, first)[:first]
        scores[first] = self._exact(U[first], factor[first])
        rest = scores >= np.sort(scores[first])[-n]
        rest[first] = False
        if rest.any():
            scores[rest] = self._exact(U[rest], factor[rest])
        return scores

    def climb(self, places, space, unit, until=np.inf):
        """Return local maxima (b, u), and their values (b,); see `ScipyClimber.climb`."""
        columns = np.flatnonzero(space.continuous)
        low, high = space.lower[columns], space.upper[columns]
        places, units = np.array(places), self._units[columns]
        X = places * self._units
        ascents = Ascents(X[:, columns], units * high, _GAIN, units * low, _LEAD)
        if self.formula is not None:
            margin = self._units, self._margin.rates
            seconds = until - time.process_time()
            limits = self._limits, self._score.floor, self._score.loss
            climb(
                self._posterior, *self.formula, ascents, X, columns, unit, *margin, seconds, *limits
            )
        else:
            self._climb(ascents, X, columns, unit, until)
        places[:, columns] = np.clip(ascents.places / units, low, high)
        return places, unit * ascents.values

    def _climb(self, ascents, X, columns, unit, until):
        """Climb a score that Python computes."""
        while len(ascents.active) and (until == np.inf or time.process_time() < until):
            trials = X[ascents.active]
            trials[:, columns] = ascents.trials
            mean, std, *slopes = self._posterior.with_gradients(trials)
            mean, std = self._location + self._scale * mean, self._scale * std
            scored = self._score.with_gradient(mean, std, trials / self._units)
            value, on_mean, on_std, on_place = scored
            with np.errstate(invalid="ignore"):  # an input of score -inf may have any slope
                slope = sum(
                    (self._scale / unit * weight)[:, np.newaxis] * slope[:, columns]
                    for weight, slope in zip((on_mean, on_std), slopes)
                )
                if on_place is not None:
                    slope = slope + on_place[:, columns] / (unit * self._units[columns])
                ascents.advance(value / unit, slope)
