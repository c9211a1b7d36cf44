"""A posterior at one time, or in an interval of time, ready to be evaluated many times."""

from time import monotonic

import numpy as np
from scipy.linalg import eigh

from .._fast import posterior as _posterior
from .._fast.ascent import Ascents, climb
from .._fast.gram import Family
from .._fast.posterior import Formula
from ..acquisition._boundary_margin import Inside

# A climb ends where no more than this part of the unit of scores is to be gained.
_GAIN = 1e-12

# So does one of which another is ahead by so many times what its slope promises.
_LEAD = 1000.0

# Of places whose scores are bounded, so many of the highest bounds are looked at first.
_LOOKED_AT_FIRST = 8


class Posterior:
    """What is common to both: the gradient at a place and time, and what compiled code makes of it.

    Parameters
    ----------
    gp : Conditioned
    start, width : float
        Of the interval, in the user's unit.
    moving : array-like of bool of shape (d,), or None
        Coordinates of which gradients are wanted; None for all.
    """

    def __init__(self, gp, start, width, moving):
        self._start, self._width = start - gp.rows.layout.origin, width
        self._gp = gp = gp.during(self._start, self._start + width)
        self._moving = moving
        self._scale = gp.rows.scale
        self._basis = gp.covariance.to_scaled(*gp.basis)
        self._units = gp.covariance.units()  # d (scaled) / d (plain) of each coordinate, time last

    @property
    def scale(self):
        """Scale of the observations, by which they were standardized."""
        return self._scale

    def landscape(self, score):
        """A score as a function of places, to be climbed by compiled code; None if it cannot be.

        Parameters
        ----------
        score : sktvbo.acquisition._score.Score
            With a ``formula`` no Python is called on the way. Of another callable there is none.
        """
        gp, moves, in_time = self._gp, self._width > 0.0, None
        if not (hasattr(score, "with_slopes") and gp.factors):
            return None
        if gp.covariance.fused:
            families, variance = gp.covariance.families, gp.covariance.signal_variance
            basis, time, units = self._basis, self._start * self._units[-1], self._units[:-1]
            if moves:
                units = np.append(units, self._width * self._units[-1])
        else:
            halves = None if moves else gp.covariance.at_one_time(*gp.basis, self._start)
            if halves is None:
                return None
            factor, Z, in_time, variance = halves
            families, units = (factor.family, Family.CONSTANT), factor.units
            basis, time = (Z, np.zeros(len(in_time))), 0.0
        constant, linear, square = 0.0, None, None
        if gp.rows.prior_mean is not None:
            constant, linear, square = gp.rows.prior_mean.scaled(units[: len(basis[0])])
        compiled = _posterior.Posterior(
            *families,
            variance,
            *basis,
            time,
            moves,
            gp.weights,
            in_time=in_time,
            mean=gp.mean.value + constant,
            linear=linear,
            square=square,
            direction=gp.mean.direction,
            precision=gp.mean.precision,
            **gp.factors,
        )
        return Landscape(compiled, units, score, gp.rows.location, gp.rows.scale)

    def _gradient(self, s, t):
        """Mean, standard deviation and their gradients (d + 1,) at a place (d,) and time."""
        gp, units, scale = self._gp, self._units, self._scale
        k, dk = gp.covariance.cross_with_gradient(
            s * units[:-1], t * units[-1], *self._basis, self._moving
        )
        explained, w = gp.explained_with_slope(k)
        prior, prior_slope = gp.covariance.variance_with_gradient(s, t, self._moving)
        std = np.sqrt(max(prior - explained, 1e-300))
        dk = dk * units[:, np.newaxis]
        mean, mean_slope = gp.mean.value + k @ gp.weights, dk @ gp.weights
        std_slope = 0.5 * prior_slope - dk @ w
        if gp.rows.prior_mean is not None:
            mean += gp.rows.prior_mean(s[np.newaxis])[0]
            mean_slope[:-1] += gp.rows.prior_mean.slope(s)
        std_slope /= std
        return gp.rows.location + scale * mean, scale * std, scale * mean_slope, scale * std_slope


class TimeSlice(Posterior):
    """The posterior at one time, in the user's unit, as a function of space."""

    def __init__(self, gp, t, moving=None):
        super().__init__(gp, t, 0.0, moving)

    def mean(self, S):
        """Mean (m,) at the places S (m, d)."""
        S = np.asarray(S, dtype=np.float64)
        return self._gp.posterior(S, np.full(len(S), self._start))

    def __call__(self, S):
        """Mean and standard deviation (m,) at the places S (m, d)."""
        S = np.asarray(S, dtype=np.float64)
        return self._gp.posterior(S, np.full(len(S), self._start), return_std=True)

    def sample(self, S, rng):
        """A joint draw of f (m,) at the places S (m, d)."""
        S = np.asarray(S, dtype=np.float64)
        mean, cov = self._gp.joint(S, np.full(len(S), self._start))
        variances, directions = eigh(cov)
        # Rounding may leave some variances below 0. It also turns directions of equal variances, as
        # it pleases: the symmetric root is the same for all of them, and so is the draw.
        z = np.sqrt(np.maximum(variances, 0.0)) * (directions.T @ rng.standard_normal(len(S)))
        return mean + self._scale * (directions @ z)

    def with_gradient(self, s):
        """Mean, standard deviation and their gradients (d,) at one place s (d,)."""
        mean, std, mean_slope, std_slope = self._gradient(s, self._start)
        return mean, std, mean_slope[:-1], std_slope[:-1]


class TimeWindow(Posterior):
    """The posterior in an interval of time, which the last coordinate runs through from 0 to 1."""

    def __init__(self, gp, low, high, moving=None):
        super().__init__(gp, low, high - low, moving)

    def __call__(self, U):
        """Mean and standard deviation (m,) at the points U (m, d + 1)."""
        S = np.ascontiguousarray(U[:, :-1], dtype=np.float64)
        return self._gp.posterior(S, self._start + self._width * U[:, -1], return_std=True)

    def with_gradient(self, u):
        """Mean, standard deviation and their gradients (d + 1,) at one point u (d + 1,)."""
        units = np.append(np.ones(len(u) - 1), self._width)
        mean, std, *slopes = self._gradient(u[:-1], self._start + self._width * u[-1])
        return mean, std, slopes[0] * units, slopes[1] * units


class Landscape:
    """A score of places in unit form, whose climbs compiled code makes in lockstep.

    Parameters
    ----------
    posterior : sktvbo._fast.posterior.Posterior
        Of the standardized y.
    units : ndarray of shape (u,)
        Its coordinates over those of the unit form.
    score : callable
        See `Posterior.landscape`.
    location, scale : float
        Of y.
    """

    def __init__(self, posterior, units, score, location, scale):
        self._posterior = posterior
        self._units = units
        self._score = score
        self._location = location
        self._scale = scale
        self._formula = getattr(score, "formula", None)
        self._inside = getattr(score, "inside", None) or Inside(np.zeros(len(units)))
        if self._formula is not None and self._formula[0] != Formula.BOUND:
            formula, exceeded = self._formula
            self._formula = formula, (exceeded - location) / scale

    @property
    def _rises(self):
        """Whether the formula never falls when the standard deviation rises."""
        formula, parameter = self._formula
        return formula == Formula.IMPROVEMENT or (formula == Formula.BOUND and parameter >= 0.0)

    def values(self, U):
        """Scores (m,) at places U (m, u), of y standardized where there is a formula."""
        if self._formula is not None:
            return self._exact(U, self._inside.root(U))
        mean, std = self._posterior.values(U * self._units)
        mean, std = self._location + self._scale * mean, self._scale * std
        return self._score(mean, std, *self._seen(U))[0]

    def _exact(self, U, root):
        """The formula's scores (m,) at places U (m, u)."""
        mean, std = self._posterior.values(U * self._units)
        return _posterior.scores(*self._formula, mean, root * std)[0]

    def _seen(self, U):
        """What the score is given of places U (m, u) besides mean and standard deviation."""
        return [U] if getattr(self._score, "sees_places", False) else []

    def leading(self, U, n):
        """Scores (m,) of which the largest n are those of `values`, others perhaps upper bounds.

        A bound is below all of the n: a place whose score cannot be among them is not looked at
        any closer.
        """
        first = max(n, _LOOKED_AT_FIRST)
        if self._formula is None or not self._rises or len(U) <= 2 * first:
            return self.values(U)
        root, (mean, std) = self._inside.root(U), self._posterior.above(U * self._units)
        found = _posterior.scores(*self._formula, mean, root * std)[0]
        first = np.argpartition(-found, first)[:first]
        found[first] = self._exact(U[first], root[first])
        rest = found >= np.sort(found[first])[-n]
        rest[first] = False
        if rest.any():
            found[rest] = self._exact(U[rest], root[rest])
        return found

    def climb(self, places, free, unit, until, reach=None):
        """See `sktvbo.acquisition._maximize.Plain`; all climbs together."""
        columns = np.flatnonzero(free)
        places, units = np.array(places), self._units[columns]
        X = places * self._units
        low, high = (0.0, 1.0) if reach is None else reach[:, columns]
        ascents = Ascents(X[:, columns], units * high, _GAIN, units * low, _LEAD)
        if self._formula is not None:
            inside = self._units, self._inside.rates
            climb(self._posterior, *self._formula, ascents, X, columns, unit, until, *inside)
        else:
            self._climb(ascents, X, columns, unit, until)
        places[:, columns] = np.clip(ascents.places / units, low, high)
        return places, unit * ascents.values

    def _climb(self, ascents, X, columns, unit, until):
        """As the compiled function, with a score that is a Python function."""
        while len(ascents.active) and monotonic() < until:
            trials = X[ascents.active]
            trials[:, columns] = ascents.trials
            mean, std, *slopes = self._posterior.with_gradients(trials)
            mean, std = self._location + self._scale * mean, self._scale * std
            seen = self._seen(trials / self._units)
            value, on_mean, on_std, *on_place = self._score.with_slopes(mean, std, *seen)
            with np.errstate(invalid="ignore"):  # a place that is ruled out may have any slope
                slope = sum(
                    (self._scale / unit * weight)[:, np.newaxis] * slope[:, columns]
                    for weight, slope in zip((on_mean, on_std), slopes)
                )
                for own in on_place:
                    slope = slope + own[:, columns] / (unit * self._units[columns])
                ascents.advance(value / unit, slope)
