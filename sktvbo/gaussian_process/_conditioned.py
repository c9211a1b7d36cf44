"""Abstract bases: a Gaussian process conditioned on rows, an immutable value, and its posterior.

A `PosteriorView` evaluates the posterior many times, at one time or in an interval of time.
"""

from abc import ABC, abstractmethod

import numpy as np

from .._fast import posterior as _posterior
from .._validation import RESOLUTION, invalid
from .._values import replaced
from ._cholesky import draws, matvec
from ._linear_mean import estimate_coefficients
from ._prior_mean import ZERO, estimate_mean

LOG_2PI = np.log(2.0 * np.pi)

# Recompute from the rows after this many updates, or n if larger: amortizes the cost and bounds
# round-off.
_MAX_UPDATES = 256


class ProcessPosterior(ABC):
    """Posterior of f as a function of space and time.

    Attributes
    ----------
    covariance : SeparableCovariance
    rows : Rows
    mean : Mean
        Constant mean of the standardized y.
    """

    def posterior(self, S, t, return_std=False, return_cov=False, F=None):
        """Return mean, and standard deviation or covariance, at inputs (m, d) and times (m,).

        F (m, q) are the features of a linear mean there, if the rows have one.
        """
        if not (return_std or return_cov):
            return self._mean(S, t, F)
        scale, (mean, spread) = self.rows.scale, self.joint(S, t, return_cov, F)
        if return_cov:
            return mean, scale * (scale * spread)
        return mean, scale * np.sqrt(np.maximum(spread, 0.0))

    def draws(self, S, t, Z, F=None):
        """Return joint draws (k, m) of f, from standard normal Z (k, m), which is overwritten."""
        mean, cov = self.joint(S, t, True, F)
        prior = np.append(self.covariance.variance(S, t), cov.diagonal()).max()
        return mean + self.rows.scale * draws(cov, prior, Z)

    @abstractmethod
    def joint(self, S, t, full=True, F=None):
        """Return mean (m,), and covariance or variances (m,) in units of the standardized y."""

    @abstractmethod
    def _mean(self, S, t, F):
        """Return the mean (m,)."""


class BasisPosterior(ProcessPosterior):
    """Posterior as a weighted sum of covariances with basis points.

    Attributes
    ----------
    basis : (S, t)
        Basis points, whose covariances k with a point determine the posterior there.
    weights : ndarray
        Weights of k in the posterior mean of the standardized y, less ``mean.value`` and the prior
        mean.
    """

    # Arguments of ``_fast.posterior`` for `variance_reduction`, a dict; None if none exist.
    factors = None

    def terms(self):
        mean, rows = self.mean.of_term(self.mean.direction), self.rows.without_mean()
        covariances = self.covariance.terms()
        return [replaced(self, covariance=each, mean=mean, rows=rows) for each in covariances]

    def _apart_from_level(self, time):
        """Return the posterior without the deviations of level and mean, see `during`."""
        level = 0.0
        if self.covariance.level is not None:
            anywhere, basis = np.zeros((1, self.covariance.n_dims)), self.basis
            k = self.covariance.of_level.cross(anywhere, np.array([time]), *basis)[0]
            level = k @ self.weights
        mean = self.mean.of_differences(level)
        return replaced(self, covariance=self.covariance.varying, mean=mean)

    @abstractmethod
    def variance_reduction(self, K, full=False, F=None):
        """Return prior minus posterior variance (m,), or covariance, from K (m, b); overwrites K.

        For a known mean, in units of the standardized y; b is the number of basis points.
        """

    @abstractmethod
    def half_gradient(self, k):
        """Return half the gradient (b,) of `variance_reduction` in a point's covariances k (b,)."""

    def variance_reduction_with_slope(self, k, f=None):
        """Return prior minus posterior variance at a point, and half its gradient (b,) in k."""
        slope = self.half_gradient(k)
        reduction = k @ slope
        slope, variance = self.mean.corrected_weights(k, slope, f)
        return reduction - variance, slope

    def half_slope_in_features(self, k, f):
        """Return half the gradient (q,) of the posterior variance in the features of a point."""
        return self.mean.half_slope(k, f)

    def _mean(self, S, t, F=None):
        return self._mean_at(S, self.covariance.cross(S, t, *self.basis), F)

    def joint(self, S, t, full=True, F=None):
        covariance = self.covariance
        K = covariance.cross(S, t, *self.basis)
        mean = self._mean_at(S, K, F)
        of_mean = self.mean.covariance(K, full, F)
        prior = covariance.cross(S, t) if full else covariance.variance(S, t)
        return mean, prior - self.variance_reduction(K, full, F) + of_mean

    def _mean_at(self, S, K, F):
        """Return the posterior mean (m,) at inputs (m, d) with covariances K (m, b)."""
        rows, mean = self.rows, self.mean.at(F) + matvec(K, self.weights)
        if rows.mean_function is not None:
            mean += rows.mean_function(S)
        return rows.location + rows.scale * mean


class TrendTerm(ProcessPosterior):
    """Posterior of the columns of a linear mean times their coefficients, without the constant."""

    def __init__(self, gp):
        self.covariance, self.mean, self.rows = gp.covariance, gp.mean, gp.rows.without_mean()
        # F of x = 0.
        self._origin = self.rows.layout.trend.features(np.zeros((1, gp.rows.X.shape[1])))

    def _mean(self, S, t, F):
        return self.rows.scale * ((F - self._origin) @ self.mean.vector)

    def joint(self, S, t, full=True, F=None):
        return self._mean(S, t, F), squares((F - self._origin) @ self.mean.root, full)


class Criterion(ABC):
    """Criterion of a search, such as the log marginal likelihood."""

    @abstractmethod
    def __call__(self, covariance, eval_gradient):
        """Return the value, minus infinity to make the search turn back, and the gradient in theta.

        The gradient may be None if not requested. With ``eval_gradient="later"`` it may be a
        function that computes it.
        """

    def information(self):
        """Return the information on theta (n_theta, n_theta) at the last evaluation, or None."""
        return None


class Conditioned(ProcessPosterior):
    """Gaussian process conditioned on rows, an immutable value: changes return another one.

    Attributes
    ----------
    objective : float
        Objective of the hyperparameter search at this theta, without priors.
    n_updates : int
        Updates since the value was computed from the rows alone.
    """

    n_updates = 0

    @classmethod
    @abstractmethod
    def of(cls, covariance, rows, *basis):
        """Condition on rows, with known hyperparameters."""

    @staticmethod
    @abstractmethod
    def criterion(rows, *basis):
        """Return the `Criterion` of a search."""

    @classmethod
    def searchable(cls, covariance, *basis):
        """Return a covariance with bounds for a search by the ``criterion``."""
        return covariance

    @classmethod
    def after_search(cls, criterion, covariance, rows, *basis):
        """Condition on rows, after a search for the maximum of their ``criterion``."""
        return cls.of(covariance, rows, *basis)

    @property
    def extra_args(self):
        """Arguments of `of` after covariance and rows, a tuple."""
        return ()

    @property
    def gradient(self):
        """Gradient of ``objective`` in theta (n_theta,)."""
        return type(self).criterion(self.rows, *self.extra_args)(self.covariance, True)[1]

    @property
    @abstractmethod
    def _log_determinant(self):
        """log |K + Σ|, of the K that the posterior approximates."""

    @property
    def information_gain(self):
        """½ log det(I + Σ⁻¹ K) (SparQ eq. 26) less the information about the mean, in nats."""
        noise, variance = self.rows.noise(self.covariance), self.covariance.mean_variance
        gain = self._log_determinant - np.sum(np.log(noise))
        return 0.5 * float(gain + self.mean.information_correction(variance, noise, self.rows))

    @abstractmethod
    def append(self, X, y, variance, total, standardize=None, **robust):
        """Condition on more rows, with the hyperparameters held.

        ``standardize``: True lets location and scale follow y, False holds them, None: as before.
        ``robust`` are the weights and scores of the rows; see `Rows`.
        """

    @abstractmethod
    def drop(self, indices, standardize=None):
        """Condition on fewer rows, with the hyperparameters held; see `append`."""

    @abstractmethod
    def terms(self):
        """Return the posteriors of the terms of f, which exclude the mean, in units of y."""

    def at(self, now):
        """Move the present time: condition again if noise grows with age, otherwise O(1)."""
        rows = self.rows.at(now)
        return self.with_rows(rows) if self._has_same_noise(rows) else self._recomputed(rows)

    @abstractmethod
    def relevancy_sweep(self, now):
        """Return the exact model's `RelevancySweep` of the rows; ``now`` in the user's unit."""

    def leave_one_out(self):
        """Return residuals (n,) of y and variances (n,) of f at the rows, given the other rows.

        In units of the standardized y. With the posterior mean μ and variance s at a row of noise
        variance σ², and c = 1 − s / σ²: (y − μ) / c and s / c (Rasmussen & Williams, eq. 5.12, by
        the matrix inversion lemma). A part of s that no row reduces is left out of c.
        """
        rows = self.rows
        mean, variance = self.joint(rows.S, rows.t, False, rows.features)
        apart, noise = self._apart(rows)
        share = np.maximum(1.0 - (variance - apart) / noise, RESOLUTION)
        return (rows.y - mean) / rows.scale / share, (variance - apart) / share + apart

    def _apart(self, rows):
        """Return the part (n,) of the variances of f that no row reduces, and noise variances."""
        return 0.0, rows.noise(self.covariance)

    def with_rows(self, rows):
        """Return the same with rows that differ only in parts without effect on the posterior."""
        return replaced(self, rows=rows)

    def during(self, low, high, level=True):
        """Return the `BasisPosterior` between two times since the origin.

        Without ``level``, at the time ``low`` only: the posterior of the part of f that depends on
        space, plus the posterior mean of the part that all inputs share.
        """
        return self if level else self._apart_from_level(low)

    def to_plain(self):
        """Return the arguments of `of`, for serialization."""
        return {"covariance": self.covariance, "rows": self.rows, "basis": self.extra_args}

    @classmethod
    def from_plain(cls, plain):
        """Condition on the rows of `to_plain`: equal up to rounding."""
        return cls.of(plain["covariance"], plain["rows"], *plain["basis"])

    def _can_update(self, rows):
        """Return True if another update, to other rows, is possible and accurate."""
        return self.n_updates < max(_MAX_UPDATES, rows.n) and self._has_same_noise(rows)

    def _recomputed(self, rows):
        """Condition on other rows without any update."""
        return type(self).of(self.covariance, rows, *self.extra_args)

    def _has_same_noise(self, rows):
        """Return True if the noise of shared rows is the same, in units of the standardized y."""
        rescaled = rows.scale != self.rows.scale and rows.variance.any()
        aged = self.covariance.noise_model is not None and rows.now != self.rows.now
        return not (rescaled or aged)


def solve_for_weights(solver, y, mean_variance, trend=None, F=None):
    """Return mean, Δ⁻¹ (y − mean) (n,), and log p(y), minus infinity on overflow.

    F (n, q) are the features of a ``trend``, if any.
    """
    mean, a = ZERO, solver.solve(y)
    with np.errstate(over="ignore", invalid="ignore"):
        value = -0.5 * (y @ a + solver.log_determinant + len(y) * LOG_2PI)
        if trend is not None:
            V = solver.half_solve(F.T.copy())
            gram, U = V @ V.T, solver.half_solve(V, transpose=True).T
            mean, gain = estimate_coefficients(trend, mean_variance, gram, U.T @ y, U)
            a -= U @ mean.vector if gain > -np.inf else 0.0
            value += gain
        elif mean_variance > 0.0:
            u = solver.solve(np.ones(len(y)))
            mean, gain = estimate_mean(mean_variance, np.add.reduce(u), u @ y, u)
            a -= mean.value * mean.direction
            value += gain
    return mean, a, value if np.isfinite(a).all() and np.isfinite(value) else -np.inf


def squares(V, full):
    """Return V Vᵀ (m, m), or only its diagonal (m,)."""
    return V @ V.T if full else np.einsum("ij,ij->i", V, V)


# --- posterior at one time, or in an interval of time ---------------------------------------------


class PosteriorView:
    """Base of `TimeSlice` and `TimeWindow`: gradients in space and time, compiled posterior.

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
        False, at one time only: standard deviations exclude the level and the learnt mean, which
        all inputs share.
    """

    def __init__(self, gp, start, moving=None, width=0.0, level=True):
        self._start, self._width = start - gp.rows.layout.origin, width
        self._gp = gp = gp.during(self._start, self._start + width, level)
        self._moving = gp.rows.layout.inside_of(moving)
        self._scale = gp.rows.scale
        self._basis = gp.covariance.to_scaled(*gp.basis)
        self._units = gp.covariance.units()  # d (scaled) / d (plain) of each coordinate, time last

    @property
    def scale(self):
        """Scale by which the observations were standardized."""
        return self._scale

    def compiled(self):
        """Return the posterior of standardized y for compiled code, or None.

        Returns
        -------
        posterior : sktvbo._fast.posterior.Posterior
        units : ndarray of shape (u,)
            Ratios of compiled coordinates to those of the unit form.
        location, scale : float
            Location and scale of y.
        """
        gp, moves, factors = self._gp, self._width > 0.0, self._gp.factors
        if not factors or gp.rows.layout.trend is not None:
            return None
        covariance = gp.covariance
        arguments = covariance.moving if moves else covariance.at_one_time
        parts = arguments(*gp.basis, self._start)
        if parts is None:
            return None
        families, units, basis, time, variance, options = parts
        constant, linear, square = 0.0, None, None
        if gp.rows.mean_function is not None:
            constant, linear, square = gp.rows.mean_function.scaled(units[: len(basis[0])])
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
        """Return mean, standard deviation and their gradients (d + 1,) at s (d,) and time t."""
        gp, layout = self._gp, self._gp.rows.layout
        if layout.trend is None:
            return self._gradient_in_kernel(s, t, None)
        x = layout.joined(s[np.newaxis], np.array([t]))
        S, times, f = layout.places(x)
        mean, std, *slopes = self._gradient_in_kernel(S[0], t, f)
        k = gp.covariance.cross(S, times, *gp.basis)[0]
        on_features = gp.mean.vector, gp.half_slope_in_features(k, f) * (gp.rows.scale / std)
        whole = np.zeros((2, x.shape[1]))
        whole[:, layout.inside(x.shape[1])] = np.array(slopes)[:, :-1]
        whole[:, layout.position] = np.array(slopes)[:, -1]
        for slope, on_f in zip(whole, on_features):
            slope[layout.trend.columns] += gp.rows.scale * on_f[1:] / layout.trend.unit
        at, rest = whole[:, layout.position], np.delete(whole, layout.position, axis=1)
        return mean, std, *np.column_stack([rest, at])

    def _gradient_in_kernel(self, s, t, f):
        """Return the same at coordinates s (d,) of the kernel, for fixed features (1, q)."""
        gp, units, scale = self._gp, self._units, self._scale
        k, dk = gp.covariance.cross_with_gradient(
            s * units[:-1], t * units[-1], *self._basis, self._moving
        )
        explained, w = gp.variance_reduction_with_slope(k, f)
        prior, prior_slope = gp.covariance.variance_with_gradient(s, t, self._moving)
        std = np.sqrt(max(prior - explained, 1e-300))
        dk = dk * units[:, np.newaxis]
        mean, mean_slope = gp.mean.value + k @ gp.weights, dk @ gp.weights
        if f is not None:
            mean += gp.mean.at(f)[0] - gp.mean.value
        if gp.rows.mean_function is not None:
            mean += gp.rows.mean_function(s[np.newaxis])[0]
            mean_slope[:-1] += gp.rows.mean_function.slope(s)
        std_slope = 0.5 * prior_slope - dk @ w
        std_slope /= std
        return gp.rows.location + scale * mean, scale * std, scale * mean_slope, scale * std_slope


class TimeSlice(PosteriorView):
    """Posterior at one time, in the user's unit, as a function of space.

    ``read`` converts inputs other than arrays, such as data frames, to an array (m, d).
    """

    def __init__(self, gp, t, moving=None, level=True, read=np.asarray):
        super().__init__(gp, t, moving, level=level)
        self._read = read

    def mean(self, S):
        """Return the mean (m,) at inputs S (m, d)."""
        *points, F = self._points(S)
        return self._gp.posterior(*points, F=F)

    def __call__(self, S):
        """Return mean and standard deviation (m,) at inputs S (m, d)."""
        *points, F = self._points(S)
        return self._gp.posterior(*points, return_std=True, F=F)

    def sample(self, S, rng):
        """Return a joint draw of f (m,) at inputs S (m, d)."""
        *points, F = self._points(S)
        return self._gp.draws(*points, rng.standard_normal((1, len(points[1]))), F)[0]

    def with_gradient(self, s):
        """Return mean, standard deviation and their gradients (d,) at one input s (d,)."""
        s = self._checked([s])[0]
        mean, std, mean_slope, std_slope = self._gradient(s, self._start)
        return mean, std, mean_slope[:-1], std_slope[:-1]

    def _points(self, S):
        """Return space (m, d), times (m,) and features for inputs as given."""
        S = self._checked(S)
        return self._gp.rows.layout.places_at(S, np.full(len(S), self._start))

    def _checked(self, S):
        """Return inputs as an array (m, d); other shapes would be broadcast."""
        S = S if isinstance(S, np.ndarray | list) else self._read(S)
        S, d = np.asarray(S, dtype=np.float64), self._gp.rows.X.shape[1] - 1
        if S.ndim != 2 or S.shape[1] != d:
            raise invalid("Inputs", f"an array of shape (m, {d})", got=f"shape {S.shape}")
        return S


class TimeWindow(PosteriorView):
    """Posterior in an interval of time, in which the last coordinate runs from 0 to 1."""

    def __init__(self, gp, low, high, moving=None):
        super().__init__(gp, low, moving, high - low)

    def __call__(self, U):
        """Return mean and standard deviation (m,) at points U (m, d + 1)."""
        S = np.ascontiguousarray(U[:, :-1], dtype=np.float64)
        times = self._start + self._width * U[:, -1]
        *points, F = self._gp.rows.layout.places_at(S, times)
        return self._gp.posterior(*points, return_std=True, F=F)

    def with_gradient(self, u):
        """Return mean, standard deviation and their gradients (d + 1,) at one point u (d + 1,)."""
        units = np.append(np.ones(len(u) - 1), self._width)
        mean, std, *slopes = self._gradient(u[:-1], self._start + self._width * u[-1])
        return mean, std, slopes[0] * units, slopes[1] * units
