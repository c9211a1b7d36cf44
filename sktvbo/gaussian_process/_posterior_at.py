"""Posterior at one time, or in an interval of time, for many evaluations."""

import numpy as np

from .._fast import posterior as _posterior
from .._validation import invalid


class Posterior:
    """Base of both: gradient at a place and time, and compiled posterior.

    Parameters
    ----------
    gp : Conditioned
    start : float
        Time, or beginning of the interval, in the user's unit.
    moving : array-like of bool of shape (d,), default=None
        Coordinates whose gradients are needed; None: all.
    width : float, default=0.0
        Length of the interval.
    level : bool, default=True
        False, at one time: standard deviations without those of the level and of the learnt mean,
        which all places share.
    """

    def __init__(self, gp, start, moving=None, width=0.0, level=True):
        self._start, self._width = start - gp.rows.layout.origin, width
        self._gp = gp = gp.during(self._start, self._start + width, level)
        self._moving = moving
        self._scale = gp.rows.scale
        self._basis = gp.covariance.to_scaled(*gp.basis)
        self._units = gp.covariance.units()  # d (scaled) / d (plain) of each coordinate, time last

    @property
    def scale(self):
        """Scale by which the observations were standardized."""
        return self._scale

    def compiled(self):
        """Return the posterior of standardized y as compiled code evaluates it, or None.

        Returns
        -------
        posterior : sktvbo._fast.posterior.Posterior
        units : ndarray of shape (u,)
            Compiled coordinates over those of the unit form.
        location, scale : float
            Location and scale of y.
        """
        gp, moves, factors = self._gp, self._width > 0.0, self._gp.factors
        if not factors:
            return None
        covariance = gp.covariance
        arguments = covariance.moving if moves else covariance.at_one_time
        parts = arguments(*gp.basis, self._start)
        if parts is None:
            return None
        families, units, basis, time, variance, options = parts
        constant, linear, square = 0.0, None, None
        if gp.rows.prior_mean is not None:
            constant, linear, square = gp.rows.prior_mean.scaled(units[: len(basis[0])])
        units = np.append(units, self._width * self._units[-1]) if moves else units
        compiled = _posterior.Posterior(
            *families,
            variance,
            *basis,
            time,
            moves,
            gp.weights,
            mean=gp.mean.value + constant,
            linear=linear,
            square=square,
            share=gp.mean.share,
            direction=gp.mean.direction,
            precision=gp.mean.precision,
            **options,
            **factors,
        )
        return compiled, units, gp.rows.location, gp.rows.scale

    def _gradient(self, s, t):
        """Return mean, standard deviation and their gradients (d + 1,) at a place (d,) and time."""
        gp, units, scale = self._gp, self._units, self._scale
        k, dk = gp.covariance.cross_with_gradient(
            s * units[:-1], t * units[-1], *self._basis, self._moving
        )
        explained, w = gp.variance_reduction_with_slope(k)
        prior, prior_slope = gp.covariance.variance_with_gradient(s, t, self._moving)
        std = np.sqrt(max(prior - explained, 1e-300))
        dk = dk * units[:, np.newaxis]
        mean, mean_slope = gp.mean.value + k @ gp.weights, dk @ gp.weights
        if gp.rows.prior_mean is not None:
            mean += gp.rows.prior_mean(s[np.newaxis])[0]
            mean_slope[:-1] += gp.rows.prior_mean.slope(s)
        std_slope = 0.5 * prior_slope - dk @ w
        std_slope /= std
        return gp.rows.location + scale * mean, scale * std, scale * mean_slope, scale * std_slope


class TimeSlice(Posterior):
    """Posterior at one time, in the user's unit, as a function of space."""

    def mean(self, S):
        """Return the mean (m,) at places S (m, d)."""
        S = self._places(S)
        return self._gp.posterior(S, np.full(len(S), self._start))

    def __call__(self, S):
        """Return mean and standard deviation (m,) at places S (m, d)."""
        S = self._places(S)
        return self._gp.posterior(S, np.full(len(S), self._start), return_std=True)

    def sample(self, S, rng):
        """Return a joint draw of f (m,) at places S (m, d)."""
        S = self._places(S)
        Z = rng.standard_normal((1, len(S)))
        return self._gp.draws(S, np.full(len(S), self._start), Z)[0]

    def with_gradient(self, s):
        """Return mean, standard deviation and their gradients (d,) at one place s (d,)."""
        (s,) = self._places([s])
        mean, std, mean_slope, std_slope = self._gradient(s, self._start)
        return mean, std, mean_slope[:-1], std_slope[:-1]

    def _places(self, S):
        """Return places as an array (m, d); others would be broadcast."""
        S, d = np.asarray(S, dtype=np.float64), self._gp.covariance.n_dims
        if S.ndim != 2 or S.shape[1] != d:
            raise invalid("Places", f"an array of shape (m, {d})", got=f"shape {S.shape}")
        return S


class TimeWindow(Posterior):
    """Posterior in an interval of time, in which the last coordinate runs from 0 to 1."""

    def __init__(self, gp, low, high, moving=None):
        super().__init__(gp, low, moving, high - low)

    def __call__(self, U):
        """Return mean and standard deviation (m,) at points U (m, d + 1)."""
        S = np.ascontiguousarray(U[:, :-1], dtype=np.float64)
        return self._gp.posterior(S, self._start + self._width * U[:, -1], return_std=True)

    def with_gradient(self, u):
        """Return mean, standard deviation and their gradients (d + 1,) at one point u (d + 1,)."""
        units = np.append(np.ones(len(u) - 1), self._width)
        mean, std, *slopes = self._gradient(u[:-1], self._start + self._width * u[-1])
        return mean, std, slopes[0] * units, slopes[1] * units
