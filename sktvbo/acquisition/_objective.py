"""Acquisition functions in one state, and objectives that close over a posterior.

An objective is what `sktvbo.acquisition._optimize` maximizes. It has three methods:

- ``values(U)``: values (m,) at inputs (m, u), in any unit;
- ``leading(U, n)``: the same, but of inputs that are not among the best n perhaps upper bounds,
  which are below these n;
- ``climb(places, space, unit, until)``: local maxima (b, u) in the continuous coordinates of a
  `SearchSpace`, from inputs (b, u), and their values (b,). Tolerances are multiples of ``unit``;

and ``posterior``, (m, u) -> mean (m,), std (m,) in units of y, or None.

`CompiledObjective` is one for posteriors with compiled code, `ScipyClimber` for any other
function.
"""

import copy
import time

import numpy as np
from scipy.optimize import minimize
from scipy.special import erf

from .._validation import invalid, real_array


class BoundaryMargin:
    """Factors of standard deviations: roots of the shares of neighbourhoods within the unit box.

    Parameters
    ----------
    rates : ndarray of shape (u,)
        1 / r for coordinates with faces, r being the margin; 0 for the others.
    """

    def __init__(self, rates):
        self.rates = rates
        self._faced = np.flatnonzero(rates)
        self._a = rates[self._faced, np.newaxis]
        # Share of a neighbourhood of the centre, relative to which the others are.
        self._centre = 2.0 * erf(0.5 * self._a)

    def factor(self, U):
        """Return factors (m,) at inputs U (m, u)."""
        low = self._a * U.T[self._faced]
        return np.sqrt(((erf(low) + erf(self._a - low)) / self._centre).prod(axis=0))

    def factor_with_gradient(self, U):
        """Return factors (m,) and their gradients (m, u); `sktvbo._fast.ascent` repeats this."""
        low, slopes = self._a * U.T[self._faced], np.zeros(U.shape)
        high, factor = self._a - low, self.factor(U)
        rise = self._a * (np.exp(-(low**2)) - np.exp(-(high**2))) / np.sqrt(np.pi)
        slopes[:, self._faced] = (factor * rise / (erf(low) + erf(high))).T
        return factor, slopes


# Finite differences, of functions scaled to the unit box, are taken over this distance.
_STEP = np.sqrt(np.finfo(np.float64).eps)


class Score:
    """An acquisition function in one state, as a function of mean, standard deviation and input.

    Parameters
    ----------
    acquisition : AcquisitionFunction
    state : AcquisitionState
    margin : BoundaryMargin, default=None
        Reduces the standard deviations.
    rows : callable, (m, u) -> (m, d + 1), default=None
        Rows that an acquisition function that ``sees_places`` is given: inputs and times.
    """

    # Probability of success, which weighs a score, and the score of a failure: see `weighed`.
    success, floor, loss = None, -np.inf, 0.0

    def __init__(self, acquisition, state, margin=None, rows=None):
        self.acquisition = acquisition
        self.state = state
        self.margin = margin
        self._rows = rows

    @classmethod
    def over(cls, acquisition, state, space, time):
        """Return the score of inputs in a search space, at a time unless it has a window."""
        if acquisition.sees_places:

            def rows(U):
                places = space.decode(U)
                if space.window is None:
                    places = np.column_stack([places, np.full(len(U), time)])
                return places

            return cls(acquisition, state, rows=rows)
        faced = np.flatnonzero(space.domain.continuous)
        if not (acquisition.margin > 0.0 and len(faced)):
            return cls(acquisition, state)
        rates = np.zeros(len(space.lower))
        rates[faced] = 1.0 / max(acquisition.margin, 1e-9)  # does not overflow
        return cls(acquisition, state, BoundaryMargin(rates))

    def weighed(self, success, floor, loss=0.0):
        """Return the score, weighed by the probability of success.

        An improvement (an acquisition function with a ``logarithm``) is multiplied by a power of
        it, which is 1 unless all improvements are next to impossible: the largest logarithm where
        success is probable, without sign. Otherwise an input that probably fails could be the best.
        Other scores are replaced by their expectations, see `expected`.

        Parameters
        ----------
        success : object
            With ``log_weight(U)`` (m,), and ``log_weight_with_slopes(U)`` (m,), (m, u).
            ``compiled()`` returns the same as `sktvbo._fast.limits.Limits`, or None. With
            ``is_sure`` the weight is 1 except on the way of a climb. If it ``decides``, the score
            is the log weight alone.
        floor : float
            Score of a failure; of an improvement its largest logarithm where success is probable.
        loss : float, default=0.0
            The score of a failure that is certain is lower by this.
        """
        score = copy.copy(self)
        score.success, score.floor, score.loss = success, floor, loss
        return score

    def values(self, mean, std, U):
        """Return scores (m,) for means and standard deviations (m,) at inputs (m, u)."""
        if self.margin is not None:
            std = self.margin.factor(U) * std
        (value,) = self._evaluated(mean, std, U, slopes=False)
        return value if self.success is None else self.reduced(value, U)

    def reduced(self, value, U):
        """Return scores (m,) at inputs (m, u), weighed by the probability of success."""
        if self.success.is_sure:
            return value
        return self._weighed(value, self.success.log_weight(U))[0]

    def with_gradient(self, mean, std, U):
        """Return scores (m,) and their derivatives in mean, standard deviation and input.

        Returns
        -------
        value, on_mean, on_std : ndarray of shape (m,)
        on_place : ndarray of shape (m, u), or None
            None if the input alone does not change the score.
        """
        on_place = None
        if self.margin is None:
            value, on_mean, on_std = self._evaluated(mean, std, U)
        else:
            factor, slopes = self.margin.factor_with_gradient(U)
            value, on_mean, on_std = self._evaluated(mean, factor * std, U)
            on_place = (on_std * std)[:, np.newaxis] * slopes
            on_std = factor * on_std
        if self._rows is not None:
            on_place = self._differences(mean, std, U, value)
        if self.success is None:
            return value, on_mean, on_std, on_place
        log_weight, log_slopes = self.success.log_weight_with_slopes(U)
        value, weight, on_log = self._weighed(value, log_weight)
        slopes = on_log[:, np.newaxis] * log_slopes
        if on_place is not None:
            slopes = slopes + weight[:, np.newaxis] * on_place
        return value, weight * on_mean, weight * on_std, slopes

    def _evaluated(self, mean, std, U, slopes=True):
        """Return the scores (m,) and their two derivatives, or with slopes=False the scores."""
        rows = () if self._rows is None else (self._rows(U),)
        results = self.acquisition(mean, std, self.state, *rows)
        _check(results, mean, std, self.acquisition, slopes)
        return [np.broadcast_to(part, mean.shape) for part in (results if slopes else results[:1])]

    def _differences(self, mean, std, U, value):
        """Derivatives (m, u) in the input, with the same mean and standard deviation."""
        slopes = np.empty(U.shape)
        for i, column in enumerate(U.T):
            step, beside = np.where(column < 0.5, _STEP, -_STEP), U.copy()
            beside[:, i] += step
            with np.errstate(invalid="ignore"):  # where both are -inf
                slopes[:, i] = (self._evaluated(mean, std, beside, slopes=False)[0] - value) / step
        return slopes

    def _weighed(self, value, log_weight):
        """The weighed score (m,), and its derivatives in the score and in the log weight."""
        if self.success.decides:
            return log_weight, np.zeros(len(value)), np.ones(len(value))
        if self.acquisition.logarithm is not None:
            logarithm, slope = self.acquisition.logarithm(value)
            factor = max(-self.floor, 1.0)
            return logarithm + factor * log_weight, slope, np.full(len(value), factor)
        return expected(value, log_weight, self.floor, self.loss)


def expected(value, log_weight, floor, loss):
    """Return expectations (m,) of scores that may fail, and their derivatives.

    With weight w a score above the floor is w score + (1 - w) floor. Where failure is more probable
    than success, (1 - 2 w) loss is subtracted: an input that surely fails is below all others.

    Parameters
    ----------
    value : ndarray of shape (m,)
    log_weight : ndarray of shape (m,)
    floor, loss : float

    Returns
    -------
    value, on_value, on_log_weight : ndarray of shape (m,)
    """
    above, share = value > floor, np.exp(log_weight)
    gain = np.where(above, share * (value - floor), 0.0)
    expectation = np.where(above, floor + gain, value) - loss * np.maximum(1.0 - 2.0 * share, 0.0)
    rise = np.where(share < 0.5, 2.0 * loss * share, 0.0)
    return expectation, np.where(above, share, 1.0), gain + rise


def _check(results, mean, std, acquisition, slopes):
    """Raise a ValueError unless what an acquisition function returned can be used.

    A derivative may be one number for all inputs. It is checked with ``slopes``, and where the
    score is above -inf.
    """
    subject, shape = f"What {acquisition.name} returns", mean.shape
    if not isinstance(results, tuple | list) or len(results) != 3:
        expected = "a tuple: the score, and its derivatives in mean and standard deviation"
        raise invalid(subject, expected, results)
    matters = ~(np.isnan(mean) | np.isnan(std))
    for i, part in enumerate(results if slopes else results[:1]):
        numbers = real_array(part, subject)
        if numbers.shape != shape and not (i and numbers.shape == ()):
            expected = f"of the shape {shape} of the mean"
            raise invalid(subject, expected, got=f"shape {numbers.shape}")
        if np.any(np.isnan(numbers) & matters):
            advice = "Return a score of -inf where there is nothing to gain."
            raise invalid(subject, "numbers", got="NaN", advice=advice)
        if i == 0:
            matters = matters & (numbers > -np.inf)


class ScipyClimber:
    """An objective from Python functions, climbed by SciPy's L-BFGS-B from one input at a time.

    Parameters
    ----------
    values : callable, (m, u) -> (m,)
    value_and_gradient : callable, (u,) -> float, ndarray of shape (u,), default=None
        None: the gradient is found by differences.
    """

    posterior = None

    def __init__(self, values, value_and_gradient=None):
        self.values = values
        self._value_and_gradient = value_and_gradient

    @classmethod
    def of_posterior(cls, score, posterior):
        """Return the objective of a `Score`, under a posterior with ``with_gradient``."""

        def values(U):
            return score.values(*posterior(U), U)

        def value_and_gradient(u):
            mean, std, mean_slope, std_slope = posterior.with_gradient(u)
            results = score.with_gradient(np.array([mean]), np.array([std]), u[np.newaxis])
            (value,), (on_mean,), (on_std,), on_place = results
            slope = on_mean * mean_slope + on_std * std_slope
            return value, slope if on_place is None else slope + on_place[0]

        return cls(values, value_and_gradient)

    def leading(self, U, n):
        """Return the values (m,) at inputs (m, u)."""
        return self.values(U)

    def climb(self, places, space, unit, until=np.inf):
        """Return local maxima (b, u), and their values (b,).

        At ``until``, a time of `time.process_time`, the climbs stop where they are.
        """
        places, values = np.array(places), np.full(len(places), -np.inf)
        free = np.flatnonzero(space.continuous)
        low, high = space.lower[free], space.upper[free]

        def stop(z):
            if time.process_time() >= until:
                raise StopIteration  # for SciPy

        for i, start in enumerate(places.copy()):
            if time.process_time() >= until:
                break

            def along(z, i=i, start=start):
                u = start.copy()
                u[free] = z
                if self._value_and_gradient is None:
                    value, slope = float(self.values(u[np.newaxis])[0]), None
                else:
                    value, slope = self._value_and_gradient(u)
                    slope = -slope[free] / unit
                if value > values[i]:
                    places[i, free], values[i] = z, value
                return -value / unit, slope

            def with_differences(z, along=along):
                value, _ = along(z)
                # SciPy's own differences refuse the bounds that L-BFGS-B leaves by rounding.
                steps = np.where(z < 0.5 * (low + high), _STEP, -_STEP)
                return value, np.array([along(x)[0] - value for x in z + np.diag(steps)]) / steps

            function = with_differences if self._value_and_gradient is None else along
            options = {"method": "L-BFGS-B", "bounds": list(zip(low, high)), "callback": stop}
            minimize(function, start[free], jac=True, **options)
        return places, values
