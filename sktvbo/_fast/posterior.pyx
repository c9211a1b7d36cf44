"""Posterior of a separable kernel, its gradient and its score, at several inputs in one pass.

With k the covariances of an input with the n points of the posterior, the mean is m + k' w and the
variance lambda - k' P k, P = (L L')^-1. Two triangular solves for all inputs together give P k,
which the gradient of the variance needs as well. The other cost is one exponential (two where time
moves) per input and point, and sums over the points. Extensions as in `sktvbo.gaussian_process`:

    a learnt mean      r^2 / A more variance, r = 1 - k' u;                  P k + (r / A) u for P k
    a prior mean       a polynomial, added to m
    weighted           c' E c less, c the above, E diagonal;       c + (P - u u' / A) E c for c
    inducing points    P = L^-T (I - B^-1) L^-1, B with a separate factor

Inputs are rows of coordinates over lengthscale times the constant of the family, as in `gram`;
where time moves it is the last coordinate, relative to ``time``. Targets are standardized.
"""

import numpy as np

from libc.math cimport M_PI, exp, fabs, log, sqrt
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

from scipy.linalg.cython_blas cimport dtrsm, dtrsv
from scipy.linalg.cython_lapack cimport dpotrf
from scipy.special.cython_special cimport erfcx, log_ndtr

from . cimport tiles
from .correlation cimport add, correlate, differences, dot, multiply, squared_distances
from .tiles cimport TILE

cdef extern from "triangle.h":
    enum: LANES "SKTVBO_LANES"

# Number of inputs per evaluation: their covariances should stay in the cache.
cdef Py_ssize_t BLOCK = 128

# Number of rows from which a threaded BLAS is faster.
cdef Py_ssize_t WORTH_A_THREAD = 500

# Number of latest points in upper bounds.
cdef Py_ssize_t LATEST = 64

# Part of the prior variance added to upper bounds, for rounding.
cdef double SLACK = 1e-10

# Replacement for a variance that rounding made nonpositive, and smallest standard deviation in a
# score: the square of its reciprocal does not overflow.
cdef double NO_VARIANCE = 1e-300
cdef double NO_STD = np.finfo(np.float64).tiny ** 0.25


cdef void score_of(
    Formula formula, double parameter, double mean, double std, double* value, double* on_mean,
    double* on_std,
) noexcept nogil:
    """Compute a score and its derivatives in mean and standard deviation."""
    cdef double z, mills, far, h, pdf, cdf
    if formula == BOUND:
        value[0] = mean + parameter * std
        on_mean[0] = 1.0
        on_std[0] = parameter
        return
    std = NO_STD if std < NO_STD else std
    z = (mean - parameter) / std
    if formula == PROBABILITY:
        value[0] = z
        on_mean[0] = 1.0 / std
        on_std[0] = -z / std
        return
    # h(z) = pdf + z cdf is the improvement in units of std. For z <= 5, h is 1 + z cdf / pdf, in
    # units of the pdf; for z < -200, where these terms cancel, 1/z^2 - 3/z^4 + 15/z^6.
    pdf = exp(-0.5 * z * z) / sqrt(2.0 * M_PI)
    if z > 5.0:
        cdf = exp(log_ndtr(z))
        h = pdf + z * cdf
        value[0] = log(std) + log(h)
        on_mean[0] = cdf / h / std
        on_std[0] = pdf / h / std
        return
    mills = sqrt(0.5 * M_PI) * erfcx(-z / sqrt(2.0))
    if z < -200.0:
        far = 1.0 / (z * z)
        h = far * (1.0 - 3.0 * far + 15.0 * far * far)
    else:
        h = 1.0 + z * mills
    value[0] = log(std) + (log(h) - 0.5 * z * z - 0.5 * log(2.0 * M_PI))
    on_mean[0] = mills / h / std
    on_std[0] = 1.0 / h / std


cdef void _solve(
    const double* L, int ld, Py_ssize_t n, double* V, Py_ssize_t b, bint transpose, double* work
) noexcept nogil:
    """Replace each of b rows of V (b, n) by L^-1 v, or by L^-T v; see `_work`."""
    cdef int n_ = <int> n, m = <int> b, one = 1
    cdef char uplo = b"U", diag = b"N", left = b"L", trans = b"N" if transpose else b"T"
    cdef double alpha = 1.0
    # The lower triangle by rows is BLAS's upper triangle by columns.
    if b == 1:
        dtrsv(&uplo, &trans, &diag, &n_, <double*> L, &ld, V, &one)
    elif b <= LANES:
        tiles.solve_few(L, ld, n, V, b, transpose, work)
    elif n < WORTH_A_THREAD:
        tiles.solve(L, ld, n, V, b, transpose, work)
    else:
        dtrsm(&left, &uplo, &trans, &diag, &n_, &m, &alpha, <double*> L, &ld, V, &n_)


cdef Py_ssize_t _work(Py_ssize_t n) noexcept nogil:
    """Return the size of the workspace of `_solve`, in doubles."""
    return max(LANES * n, 2 * TILE * TILE)


cdef bint _is_factor(const double[:, :] L, Py_ssize_t n):
    return L.shape[0] == n and L.shape[1] == n and (n == 1 or L.strides[1] == sizeof(double))


cdef class Posterior:
    """Posterior at one time, or with time as a coordinate.

    Parameters
    ----------
    spatial, temporal : Family
    signal : float
    Z : ndarray of shape (d, n)
        Scaled inputs of the n points.
    times : ndarray of shape (n,)
        Their scaled times.
    time : float
        Scaled time of all inputs, or the origin of their last coordinate.
    moves : bool
        True if time is the last coordinate.
    weights : ndarray of shape (n,)
    lower : ndarray of shape (n, n)
        L, with contiguous rows; its upper triangle is not read.
    mean : float, default=0.0
        m.
    direction, precision : ndarray of shape (n,) and float, default=None, inf
        u and A of a learnt mean.
    excess : ndarray of shape (n,), default=None
        Diagonal of E of a weighted posterior.
    outer : ndarray of shape (n, n), default=None
        Lower factor of B, with inducing points.
    in_time : ndarray of shape (n,), default=None
        Covariances of the points with the time, for a temporal kernel outside of the families;
        ``signal`` is the variance at that time. Only without ``moves``.
    linear, square : ndarray of shape (d,), default=None
        Coefficients of a mean m + sum_j (linear_j + square_j x_j) x_j, with x a scaled input.
    share : float, default=1.0
        Part of the learnt mean in the prediction: 0 in a term of f that excludes it.
    terms : (families, rates, weights) of ndarrays of shape (R,), default=None
        A sum in time, instead of ``temporal``: the weights sum to ``signal``, and a rate is that of
        scaled to given times. Only with ``moves``.

    Attributes
    ----------
    n_coordinates : int
        Coordinates of an input: d, or d + 1 with time.
    """

    def __init__(
        self, int spatial, int temporal, double signal, const double[:, ::1] Z,
        const double[::1] times, double time, bint moves, const double[::1] weights,
        const double[:, :] lower, double mean=0.0, const double[::1] direction=None,
        double precision=np.inf, const double[::1] excess=None, const double[:, :] outer=None,
        const double[::1] in_time=None, const double[::1] linear=None,
        const double[::1] square=None, double share=1.0, terms=None,
    ):
        cdef Py_ssize_t n = times.shape[0], j
        if n < 1 or Z.shape[1] != n or weights.shape[0] != n:
            raise ValueError("Z (d, n), times (n,) and weights (n,) do not fit each other")
        if direction is not None and direction.shape[0] != n:
            raise ValueError("direction must hold n numbers")
        if excess is not None and excess.shape[0] != n:
            raise ValueError("excess must hold n numbers")
        if in_time is not None and (moves or in_time.shape[0] != n):
            raise ValueError("in_time must hold n numbers, of one time")
        if (linear is None) != (square is None) or linear is not None and not (
            linear.shape[0] == square.shape[0] == Z.shape[0]
        ):
            raise ValueError("linear and square must both hold d numbers")
        if not _is_factor(lower, n) or not (outer is None or _is_factor(outer, n)):
            raise ValueError("a factor must be (n, n) with contiguous rows")
        self.n, self.d, self.n_coordinates = n, Z.shape[0], Z.shape[0] + moves
        self.spatial, self.temporal, self.signal = spatial, temporal, signal
        self.Z, self.times, self.time, self.moves = Z, times, time, moves
        self.weights, self.mean, self.direction, self.precision = weights, mean, direction, precision
        self.share = share
        self.lower, self.outer, self.excess = lower, outer, excess
        self.ld = <int> (lower.strides[0] // sizeof(double))
        self.outer_ld = 0 if outer is None else <int> (outer.strides[0] // sizeof(double))
        self.is_learnt, self.is_weighted = direction is not None, excess is not None
        self.is_sparse, self.has_trend = outer is not None, linear is not None
        self.linear, self.square = linear, square
        if terms is None:
            terms = np.array([temporal], dtype=np.intc), np.ones(1), np.full(1, signal)
        elif not moves:
            raise ValueError("terms are for moving times")
        self.families, self.rates, self.amplitudes = terms
        if not self.families.shape[0] == self.rates.shape[0] == self.amplitudes.shape[0]:
            raise ValueError("terms must be three arrays of one length")
        self.in_time = np.empty(n)
        scratch = np.empty((2, n))
        cdef double[:, ::1] work = scratch
        if in_time is not None:
            self.in_time[:] = in_time
        elif not moves:
            squared_distances(1, n, &time, 1, &times[0], n, &work[0, 0])
            correlate(temporal, n, &work[0, 0], &self.in_time[0], &work[1, 0])
            for j in range(n):
                self.in_time[j] *= signal

    cdef Py_ssize_t workspace(self, Py_ssize_t b) noexcept nogil:
        """Return the workspace of an evaluation of b inputs, in doubles."""
        return (5 * b + 5) * self.n + _work(self.n)

    cdef double level(self, const double* x) noexcept nogil:
        """Return the prior mean at an input x."""
        cdef double level = self.mean
        cdef Py_ssize_t j
        if self.has_trend:
            for j in range(self.d):
                level += (self.linear[j] + self.square[j] * x[j]) * x[j]
        return level

    cdef void covariances(
        self, const double* x, double* k, double* h, double* g, double* work
    ) noexcept nogil:
        """Compute the covariances k (n,) of an input x and the factors h, g (n,) of their slopes.

        ``work`` holds 5 n numbers."""
        cdef Py_ssize_t n = self.n, d = self.d, m, r
        cdef double* q = work
        cdef double* in_time = q + n
        cdef double* slope_in_time = in_time + n
        cdef double* part = slope_in_time + n
        cdef double* slope = part + n
        cdef double time, weight, square
        squared_distances(d, n, x, 1, &self.Z[0, 0] if d > 0 else NULL, n, q)
        correlate(self.spatial, n, q, k, h)
        if self.moves:
            time = self.time + x[d]
            for m in range(n):
                in_time[m] = slope_in_time[m] = 0.0
            for r in range(self.families.shape[0]):
                weight, square = self.amplitudes[r], self.rates[r] * self.rates[r]
                for m in range(n):
                    q[m] = square * (time - self.times[m]) * (time - self.times[m])
                correlate(self.families[r], n, q, part, slope)
                for m in range(n):
                    in_time[m] += weight * part[m]
                    slope_in_time[m] += weight * square * slope[m]
            multiply(n, k, slope_in_time, g)
            multiply(n, k, in_time, k)
            multiply(n, h, in_time, h)
        else:
            multiply(n, k, &self.in_time[0], k)
            multiply(n, h, &self.in_time[0], h)

    cdef void evaluate(
        self, const double* X, Py_ssize_t b, bint slopes, double* mean, double* std,
        double* on_mean, double* on_std, double* work,
    ) noexcept nogil:
        """Compute mean and standard deviation (b,) at inputs X (b, n_coordinates), with ``slopes``
        also their gradients (b, n_coordinates)."""
        cdef Py_ssize_t n = self.n, d = self.d, u = self.n_coordinates, i, j, m
        cdef double* K = work
        cdef double* V = K + b * n
        cdef double* E = V + b * n
        cdef double* H = E + b * n
        cdef double* G = H + b * n
        cdef double* rest_of_work = G + b * n
        cdef double* spare = rest_of_work + 5 * n
        cdef const double* L = &self.lower[0, 0]
        cdef const double* w = &self.weights[0]
        cdef const double* x
        cdef double rest, variance
        cdef double sums[2]

        for i in range(b):
            self.covariances(X + i * u, K + i * n, H + i * n, G + i * n, rest_of_work)
            mean[i] = self.level(X + i * u) + dot(n, K + i * n, w)

        memcpy(V, K, b * n * sizeof(double))
        _solve(L, self.ld, n, V, b, False, spare)
        for i in range(b):
            std[i] = self.signal - dot(n, V + i * n, V + i * n)  # the variance, for now
        if self.is_sparse:
            memcpy(E, V, b * n * sizeof(double))
            _solve(&self.outer[0, 0], self.outer_ld, n, E, b, False, spare)
            for i in range(b):
                std[i] += dot(n, E + i * n, E + i * n)
            if slopes:
                _solve(&self.outer[0, 0], self.outer_ld, n, E, b, True, spare)
                add(b * n, -1.0, E, V)
        if slopes or self.is_weighted:
            _solve(L, self.ld, n, V, b, True, spare)
        if self.is_learnt:
            for i in range(b):
                rest = self.share - dot(n, K + i * n, &self.direction[0])
                std[i] += rest * rest / self.precision
                add(n, rest / self.precision, &self.direction[0], V + i * n)
        if self.is_weighted:
            for i in range(b):
                multiply(n, &self.excess[0], V + i * n, E + i * n)
                std[i] -= dot(n, V + i * n, E + i * n)
            if slopes:
                memcpy(K, E, b * n * sizeof(double))
                _solve(L, self.ld, n, E, b, False, spare)
                _solve(L, self.ld, n, E, b, True, spare)
                for i in range(b):
                    if self.is_learnt:
                        rest = dot(n, &self.direction[0], K + i * n)
                        add(n, -rest / self.precision, &self.direction[0], E + i * n)
                    add(n, 1.0, E + i * n, V + i * n)

        for i in range(b):
            variance = std[i]
            std[i] = sqrt(NO_VARIANCE if variance < NO_VARIANCE else variance)
            if not slopes:
                continue
            x = X + i * u
            for m in range(d):
                differences(n, x[m], &self.Z[m, 0], H + i * n, w, V + i * n, sums)
                on_mean[i * u + m] = -sums[0]
                if self.has_trend:
                    on_mean[i * u + m] += self.linear[m] + 2.0 * self.square[m] * x[m]
                on_std[i * u + m] = sums[1] / std[i]
            if self.moves:
                differences(n, self.time + x[d], &self.times[0], G + i * n, w, V + i * n, sums)
                on_mean[i * u + d] = -sums[0]
                on_std[i * u + d] = sums[1] / std[i]

    def _check(self, X):
        if X.shape[1] != self.n_coordinates:
            raise ValueError("each row of X must hold n_coordinates numbers")

    def values(self, const double[:, ::1] X):
        """Return mean and standard deviation (m,) at inputs X (m, n_coordinates)."""
        self._check(X)
        cdef Py_ssize_t m = X.shape[0], i = 0, b
        found = np.empty((2, m))
        cdef double[:, ::1] out = found
        cdef double* work = <double*> malloc(self.workspace(min(m, BLOCK)) * sizeof(double))
        if work == NULL:
            raise MemoryError("no memory for the covariances of a block of places")
        with nogil:
            while i < m:
                b = min(m - i, BLOCK)
                self.evaluate(&X[i, 0] if X.shape[1] else NULL, b, False, &out[0, i], &out[1, i],
                              NULL, NULL, work)
                i += b
        free(work)
        return found[0], found[1]

    def above(self, const double[:, ::1] X):
        """Return mean and an upper bound of the standard deviation (m,) at X (m, n_coordinates).

        The bound is the standard deviation given the latest points alone. It is cheap, as the mean
        needs their covariances with an input as well.
        """
        self._check(X)
        cdef Py_ssize_t m = X.shape[0], n = self.n, u = X.shape[1], i = 0, j, b, s
        factor = self._factor_of_the_latest()
        cdef const double[:, ::1] latest = factor
        s = latest.shape[0]
        found = np.empty((2, m))
        cdef double[:, ::1] out = found
        cdef double rest, variance
        cdef Py_ssize_t most = min(m, BLOCK)
        cdef double* V = <double*> malloc(
            (most * s + 3 * n + max(5 * n, 2 * TILE * TILE)) * sizeof(double))
        if V == NULL:
            raise MemoryError("no memory for the covariances of a block of places")
        cdef double* k = V + most * s
        cdef double* h = k + n
        cdef double* g = h + n
        cdef double* spare = g + n
        with nogil:
            while i < m:
                b = min(m - i, BLOCK)
                for j in range(b):
                    self.covariances(&X[i + j, 0] if u > 0 else NULL, k, h, g, spare)
                    out[0, i + j] = self.level(&X[i + j, 0] if u > 0 else NULL)
                    out[0, i + j] += dot(n, k, &self.weights[0])
                    rest = self.share - dot(n, k, &self.direction[0]) if self.is_learnt else 0.0
                    out[1, i + j] = rest * rest / self.precision
                    memcpy(V + j * s, k + n - s, s * sizeof(double))
                if s > 0:
                    tiles.solve(&latest[0, 0], <int> s, s, V, b, False, spare)
                for j in range(b):
                    variance = self.signal - dot(s, V + j * s, V + j * s) + out[1, i + j]
                    variance = 0.0 if variance < 0.0 else variance
                    out[1, i + j] = sqrt(variance + SLACK * self.signal)
                i += b
        free(V)
        return found[0], found[1]

    def _factor_of_the_latest(self):
        """Return the lower factor (s, s) of the latest points' block of L L'; s = 0 for none."""
        cdef Py_ssize_t n = self.n, s = 0 if self.is_sparse else min(LATEST, n // 2), i, j
        cdef int s_ = <int> s, info
        cdef char uplo = b"U"
        product = np.zeros((s, s))
        last = np.zeros((s, s))
        if s == 0:
            return product
        cdef double[:, ::1] A = product, T = last
        cdef const double* rows = &self.lower[n - s, 0]
        with nogil:
            for i in range(s):
                for j in range(i + 1):
                    T[i, j] = self.lower[n - s + i, n - s + j]
            tiles.multiply(b"N", b"T", s, s, s, 1.0, &T[0, 0], s, &T[0, 0], s, 0.0, &A[0, 0], s)
            tiles.multiply(b"N", b"T", s, s, n - s, 1.0, rows, self.ld, rows, self.ld, 1.0,
                           &A[0, 0], s)
            dpotrf(&uplo, &s_, &A[0, 0], &s_, &info)
        return product if info == 0 else np.zeros((0, 0))

    def with_gradients(self, const double[:, ::1] X):
        """Return mean and standard deviation (m,), and their gradients (m, n_coordinates)."""
        self._check(X)
        cdef Py_ssize_t m = X.shape[0], u = X.shape[1], i = 0, b
        found, gradients = np.empty((2, m)), np.empty((2, m, u))
        cdef double[:, ::1] out = found
        cdef double[:, :, ::1] slopes = gradients
        cdef double* work = <double*> malloc(self.workspace(min(m, BLOCK)) * sizeof(double))
        if work == NULL:
            raise MemoryError("no memory for the covariances of a block of places")
        if u > 0:
            with nogil:
                while i < m:
                    b = min(m - i, BLOCK)
                    self.evaluate(&X[i, 0], b, True, &out[0, i], &out[1, i], &slopes[0, i, 0],
                                  &slopes[1, i, 0], work)
                    i += b
        free(work)
        return found[0], found[1], gradients[0], gradients[1]


def scores(
    Formula formula, double parameter, const double[::1] mean, const double[::1] std
):
    """Return scores (m,) of means and standard deviations (m,), and their derivatives (m,)."""
    if mean.shape[0] != std.shape[0]:
        raise ValueError("mean and std must have one length")
    found = np.empty((3, mean.shape[0]))
    cdef double[:, ::1] out = found
    cdef Py_ssize_t i
    with nogil:
        for i in range(mean.shape[0]):
            score_of(formula, parameter, mean[i], std[i], &out[0, i], &out[1, i], &out[2, i])
    return found[0], found[1], found[2]
