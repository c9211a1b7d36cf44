"""Probabilities that outcomes are within limits, and the weights that scores have by them.

An outcome is Gaussian with a posterior of its own. The log weight of an input follows from the log
probability p of all limits: with a required quantile z it is 0 where the quantile of p is at least
z, and falls with the square of the lack below it. Without one it is log p, and falls faster where
p is below 1/2.

Where no input is probably within the limits, log p falls with the square of the distance from them in
standard deviations, and prefers whatever is uncertain. The weight is then minus the expected excess
E max(f - high, 0) + E max(low - f, 0), summed over standardized outcomes.
"""

import numpy as np

from libc.math cimport INFINITY, M_PI, exp, fmax, fmin, isnan, log, log1p, sqrt
from libc.stdlib cimport free, malloc

from scipy.special.cython_special cimport log_ndtr, ndtr, ndtri_exp

from .posterior cimport Posterior

# Distances from a limit, in standard deviations, beyond which a probability is 0 or 1.
cdef double FARTHEST = 1e6

# Exponent a of the weight p (2 p)^a of probabilities p below 1/2.
cdef double CAUTION = 10.0

# A log weight is minus this, times the square of the lack of a required quantile.
cdef double STEEPNESS = 20.0

cdef double LOG_2PI = log(2.0 * M_PI)


cdef double _widened(double std, double width, double least, double* slope) noexcept nogil:
    """Return sqrt((width std)^2 + least^2), and write its derivative in std."""
    cdef double found = sqrt(width * width * std * std + least * least)
    slope[0] = width * width * std / found
    return found


cdef void _within(
    double mean, double std, double low, double high, double* log_p, double* on_mean,
    double* on_std,
) noexcept nogil:
    """Compute log P(low <= f <= high) of Gaussian f, and its derivatives in mean and std."""
    cdef double a = fmin(fmax((low - mean) / std, -FARTHEST), FARTHEST)
    cdef double b = fmin(fmax((high - mean) / std, -FARTHEST), FARTHEST)
    # Of the two tails the smaller ones are subtracted.
    cdef double larger = log_ndtr(-a if a + b > 0.0 else b)
    cdef double smaller = log_ndtr(-b if a + b > 0.0 else a)
    cdef double found = larger + log1p(-exp(fmin(smaller - larger, 0.0)))
    cdef double at_low, at_high
    found = fmax(found, -0.5 * FARTHEST * FARTHEST)
    at_low = exp(-0.5 * (a * a + LOG_2PI) - found)
    at_high = exp(-0.5 * (b * b + LOG_2PI) - found)
    log_p[0] = found
    on_mean[0] = (at_low - at_high) / std
    on_std[0] = (a * at_low - b * at_high) / std


cdef void _beyond(
    double mean, double std, double low, double high, double optimism, double* value,
    double* on_mean, double* on_std,
) noexcept nogil:
    """Compute the expected excess of Gaussian f, and its derivatives in mean and std.

    The mean is first moved into the limits by ``optimism`` standard deviations.
    """
    cdef double sign, z, pdf, cdf
    cdef int side
    value[0] = on_mean[0] = on_std[0] = 0.0
    for side in range(2):
        sign = 1.0 if side else -1.0
        z = sign * (mean - (high if side else low))
        if z == -INFINITY:
            continue
        # std h(z) with h(z) = pdf + z cdf
        z = z / std - optimism
        pdf, cdf = exp(-0.5 * (z * z + LOG_2PI)), ndtr(z)
        value[0] += fmax(std * (pdf + z * cdf), 0.0)
        on_mean[0] += sign * cdf
        on_std[0] += pdf - optimism * cdf


cdef double _weight(double log_p, double z, double* slope) noexcept nogil:
    """Return the log weight of a log probability, and write its derivative."""
    cdef double found
    if isnan(z):
        found = log_p + log(2.0)
        slope[0] = 1.0 + CAUTION if found < 0.0 else 1.0
        return log_p + CAUTION * fmin(found, 0.0)
    found = ndtri_exp(log_p)
    slope[0] = 0.0
    if found >= z:
        return 0.0
    slope[0] = -2.0 * STEEPNESS * (found - z) * exp(log_p + 0.5 * (found * found + LOG_2PI))
    return -STEEPNESS * (found - z) * (found - z)


def within(
    const double[::1] mean, const double[::1] std, double low, double high, double width=1.0,
    double least=0.0,
):
    """Return log P(low <= f <= high) (m,) of Gaussian f, and its derivatives in mean and std.

    The standard deviation of f is sqrt((width std)^2 + least^2).
    """
    if mean.shape[0] != std.shape[0]:
        raise ValueError("mean and std must have one length")
    found = np.empty((3, mean.shape[0]))
    cdef double[:, ::1] out = found
    cdef double slope
    cdef Py_ssize_t i
    with nogil:
        for i in range(mean.shape[0]):
            _within(mean[i], _widened(std[i], width, least, &slope), low, high, &out[0, i],
                    &out[1, i], &out[2, i])
            out[2, i] *= slope
    return found[0], found[1], found[2]


def excess(
    const double[::1] mean, const double[::1] std, double low, double high, double width=1.0,
    double least=0.0, double optimism=0.0,
):
    """Return the expected excess (m,) of Gaussian f beyond limits, and its derivatives.

    It is E max(f - high, 0) + E max(low - f, 0), with a mean that is first moved into the limits by
    ``optimism`` standard deviations. The standard deviation of f is that of `within`.
    """
    if mean.shape[0] != std.shape[0]:
        raise ValueError("mean and std must have one length")
    found = np.empty((3, mean.shape[0]))
    cdef double[:, ::1] out = found
    cdef double slope
    cdef Py_ssize_t i
    with nogil:
        for i in range(mean.shape[0]):
            _beyond(mean[i], _widened(std[i], width, least, &slope), low, high, optimism,
                    &out[0, i], &out[1, i], &out[2, i])
            out[2, i] *= slope
    return found[0], found[1], found[2]


def log_weights(const double[::1] log_p, double z=np.nan):
    """Return log weights (m,) of log probabilities, and their derivatives.

    Parameters
    ----------
    log_p : ndarray of shape (m,)
    z : float, default=nan
        Standard normal quantile of the required probability; NaN if none is.
    """
    found = np.empty((2, log_p.shape[0]))
    cdef double[:, ::1] out = found
    cdef Py_ssize_t i
    with nogil:
        for i in range(log_p.shape[0]):
            out[0, i] = _weight(log_p[i], z, &out[1, i])
    return found[0], found[1]


cdef class Limits:
    """Log weights of inputs, by the probability that k outcomes are within limits.

    Parameters
    ----------
    posteriors : list of Posterior
        Of standardized outcomes; all have the same number u of coordinates.
    units : ndarray of shape (k, u)
        Their coordinates over those of the unit form.
    low, high : ndarray of shape (k,)
        Standardized limits, infinite where there is none.
    widths, least : ndarray of shape (k,)
        The standard deviation is sqrt((width std)^2 + least^2).
    z : float, default=nan
        See `log_weights`.
    optimism : float, default=nan
        If given, the log weight is minus the sum of the `excess` of the outcomes.
    """

    def __init__(
        self, posteriors, units, low, high, widths, least, double z=np.nan, double optimism=np.nan
    ):
        arrays = units, low, high, widths, least
        arrays = (np.ascontiguousarray(part, dtype=np.float64) for part in arrays)
        self.units, self.low, self.high, self.widths, self.least = arrays
        self.posteriors, self.n_coordinates, self.z = list(posteriors), self.units.shape[1], z
        self.optimism, self.decides = optimism, not isnan(optimism)
        cdef Py_ssize_t k = len(posteriors)
        cdef Posterior posterior
        if not k == self.units.shape[0] == self.low.shape[0] == self.high.shape[0] or not (
            k == self.widths.shape[0] == self.least.shape[0]
        ):
            raise ValueError("the arrays must hold one row for each posterior")
        for posterior in self.posteriors:
            if posterior.n_coordinates != self.n_coordinates:
                raise ValueError("units must hold a number for each coordinate")

    cdef weigh(
        self, const double* places, Py_ssize_t b, double* log_weight, double* slopes
    ):
        """Compute log weights (b,) and their slopes (b, u) at inputs (b, u) in unit form."""
        cdef Py_ssize_t u = self.n_coordinates, i, j, m, size = 0
        cdef double value, on_mean, on_std, wide, slope
        cdef Posterior posterior
        for posterior in self.posteriors:
            size = max(size, 3 * b * u + 2 * b + posterior.workspace(b))
        cdef double* mean = <double*> malloc(size * sizeof(double))
        if mean == NULL:
            raise MemoryError("no memory for the covariances of the places")
        cdef double* std = mean + b
        cdef double* X = std + b
        cdef double* mean_slopes = X + b * u
        cdef double* std_slopes = mean_slopes + b * u
        cdef double* work = std_slopes + b * u
        for j in range(b):
            log_weight[j] = 0.0
        for m in range(b * u):
            slopes[m] = 0.0
        for i, posterior in enumerate(self.posteriors):
            with nogil:
                for j in range(b):
                    for m in range(u):
                        X[j * u + m] = places[j * u + m] * self.units[i, m]
                posterior.evaluate(X, b, True, mean, std, mean_slopes, std_slopes, work)
                for j in range(b):
                    wide = _widened(std[j], self.widths[i], self.least[i], &slope)
                    if self.decides:
                        _beyond(mean[j], wide, self.low[i], self.high[i], self.optimism, &value,
                                &on_mean, &on_std)
                    else:
                        _within(mean[j], wide, self.low[i], self.high[i], &value, &on_mean, &on_std)
                    log_weight[j] += value
                    for m in range(j * u, (j + 1) * u):
                        slopes[m] += self.units[i, m - j * u] * (
                            on_mean * mean_slopes[m] + slope * on_std * std_slopes[m])
        free(mean)
        for j in range(b):
            if self.decides:
                log_weight[j], value = -log_weight[j], -1.0
            else:
                log_weight[j] = _weight(log_weight[j], self.z, &value)
            for m in range(j * u, (j + 1) * u):
                slopes[m] *= value

    def log_weights_with_slopes(self, const double[:, ::1] U):
        """Return log weights (m,) and their slopes (m, u) at inputs U (m, u) in unit form."""
        if U.shape[1] != self.n_coordinates:
            raise ValueError("each row of U must hold n_coordinates numbers")
        found, slopes = np.empty(U.shape[0]), np.empty((U.shape[0], U.shape[1]))
        cdef double[::1] out = found
        cdef double[:, ::1] S = slopes
        if U.shape[0] > 0 and U.shape[1] > 0:
            self.weigh(&U[0, 0], U.shape[0], &out[0], &S[0, 0])
        return found, slopes
