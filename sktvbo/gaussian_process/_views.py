"""A posterior at one time, or in an interval of time, ready to be evaluated many times."""

import numpy as np
from scipy.linalg import eigh


class Posterior:
    """What is common to both: the gradient at a place and time.

    Parameters
    ----------
    gp : Conditioned
    moving : array-like of bool of shape (d,), or None
        Coordinates of which gradients are wanted; None for all.
    """

    def __init__(self, gp, moving):
        self._gp = gp
        self._moving = moving
        self._scale = gp.rows.scale
        self._level = gp.rows.location + gp.rows.scale * gp.mean.value
        self._basis = gp.covariance.to_scaled(*gp.basis)
        self._units = gp.covariance.units()  # d (scaled) / d (plain) of each coordinate, time last

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
        mean = self._level + scale * (k @ gp.weights)
        std_slope = (0.5 * prior_slope - dk @ w) / std
        return mean, scale * std, scale * (dk @ gp.weights), scale * std_slope


class TimeSlice(Posterior):
    """The posterior at one time, in the user's unit, as a function of space."""

    def __init__(self, gp, t, moving=None):
        self._t = t - gp.rows.layout.origin
        super().__init__(gp.during(self._t, self._t), moving)

    def __call__(self, S):
        """Mean and standard deviation (m,) at the places S (m, d)."""
        S = np.asarray(S, dtype=np.float64)
        return self._gp.posterior(S, np.full(len(S), self._t), return_std=True)

    def sample(self, S, rng):
        """A joint draw of f (m,) at the places S (m, d)."""
        S = np.asarray(S, dtype=np.float64)
        mean, cov = self._gp.joint(S, np.full(len(S), self._t))
        variances, directions = eigh(cov)
        # Rounding may leave some variances below 0. It also turns directions of equal variances, as
        # it pleases: the symmetric root is the same for all of them, and so is the draw.
        z = np.sqrt(np.maximum(variances, 0.0)) * (directions.T @ rng.standard_normal(len(S)))
        return mean + self._scale * (directions @ z)

    def with_gradient(self, s):
        """Mean, standard deviation and their gradients (d,) at one place s (d,)."""
        mean, std, mean_slope, std_slope = self._gradient(s, self._t)
        return mean, std, mean_slope[:-1], std_slope[:-1]


class TimeWindow(Posterior):
    """The posterior in an interval of time, which the last coordinate runs through from 0 to 1."""

    def __init__(self, gp, low, high, moving=None):
        self._low, self._width = low - gp.rows.layout.origin, high - low
        super().__init__(gp.during(self._low, self._low + self._width), moving)

    def __call__(self, U):
        """Mean and standard deviation (m,) at the points U (m, d + 1)."""
        S = np.ascontiguousarray(U[:, :-1], dtype=np.float64)
        return self._gp.posterior(S, self._low + self._width * U[:, -1], return_std=True)

    def with_gradient(self, u):
        """Mean, standard deviation and their gradients (d + 1,) at one point u (d + 1,)."""
        units = np.append(np.ones(len(u) - 1), self._width)
        mean, std, *slopes = self._gradient(u[:-1], self._low + self._width * u[-1])
        return mean, std, slopes[0] * units, slopes[1] * units
