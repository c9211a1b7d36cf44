"""Kalman filter and smoother of one series, whose process is a sum of independent chains.

See ``series.h`` for the model. The recursions, and r and Lambda of the backward pass, are those of
``kalman.pyx`` with one place and observations one after the other. An observation weighs the state
z by h, which has H in the first component of each chain. With c = P h and s = h' c + R,

    m <- m + c e / s,    P <- P - c c' / s,    e = y - h' m,

and backwards with u = (e - c' r) / s, x = Lambda c / s and g = 1 / s + c' x / s

    r <- r + h u,    Lambda <- Lambda - h x' - x h' + g h h'.

Twice the derivatives of the log likelihood are u^2 - g in R, and 2 (u z - g c + P x) in h, with the
smoothed z = m + P r.
"""

from libc.math cimport sqrt
from libc.string cimport memcpy

import numpy as np

cdef extern from "series.h" nogil:
    ctypedef struct sktvbo_series:
        Py_ssize_t n, k, chains, lines, N
        const Py_ssize_t* order
        const double* rate
        const Py_ssize_t* line
        const Py_ssize_t* first
        const double* weight
        const double* gap
        const double* Y
        const double* R
        const double* H
    Py_ssize_t sktvbo_filter_series(
        const sktvbo_series* S, Py_ssize_t first, Py_ssize_t last, double* m, double* P,
        double* sums, double* kept, double* work)
    void sktvbo_smooth_series(
        const sktvbo_series* S, Py_ssize_t first, Py_ssize_t last, const double* kept, double* r,
        double* Lambda, double* on_weight, double* on_rate, double* on_R, double* on_H,
        double* out, double* work)

# Numbers of kept states that are stored at once, unless the square root of the rows needs more.
cdef Py_ssize_t STORED = 2**20


cdef class Chains:
    """Chains, and observations in the order of time.

    Parameters
    ----------
    order, rate : (lines,)
        Order 1, 2 or 3 and rate of each kind of chain; rate 0 for a constant.
    line, weight : (chains,)
        Kind and variance of each chain.
    gap : (n,)
        Time since the row before; 0 for none.
    Y : (n, k)
        Columns of targets, one or two without H.
    R : (n,)
        Noise variances, infinite in rows that are only queried.
    H : (n, chains) or None
        Weights of the chains; None for a single chain of weight 1.
    """

    cdef sktvbo_series S
    cdef readonly object first, arrays
    cdef Py_ssize_t n_work

    def __cinit__(self, const Py_ssize_t[::1] order, const double[::1] rate,
                  const Py_ssize_t[::1] line, const double[::1] weight, const double[::1] gap,
                  const double[:, ::1] Y, const double[::1] R, const double[:, ::1] H):
        cdef Py_ssize_t i, chains = line.shape[0], n = gap.shape[0]
        if chains == 0 or n == 0 or order.shape[0] != rate.shape[0] or weight.shape[0] != chains:
            raise ValueError("order, rate (lines,) and line, weight (chains,) do not fit together")
        if Y.shape[1] == 0 or Y.shape[0] != n or R.shape[0] != n:
            raise ValueError("gap (n,), Y (n, k) and R (n,) do not fit together")
        if H is None and Y.shape[1] > 2:
            raise ValueError("more than two columns of Y and H None do not fit together")
        if chains > 1 if H is None else (H.shape[0] != n or H.shape[1] != chains):
            raise ValueError("H must be (n, chains), or None for a single chain")
        for i in range(order.shape[0]):
            if not 1 <= order[i] <= 3:
                raise ValueError("orders must be 1, 2 or 3")
        cdef Py_ssize_t[::1] first = np.zeros(chains + 1, dtype=np.intp)
        for i in range(chains):
            if not 0 <= line[i] < order.shape[0]:
                raise ValueError("lines must be in [0, lines)")
            first[i + 1] = first[i] + order[line[i]]
        self.arrays = order, rate, line, weight, gap, Y, R, H
        self.first = first.base
        self.S.n, self.S.k, self.S.chains, self.S.lines = n, Y.shape[1], chains, order.shape[0]
        self.S.N = first[chains]
        self.S.order, self.S.rate, self.S.line = &order[0], &rate[0], &line[0]
        self.S.first, self.S.weight, self.S.gap = &first[0], &weight[0], &gap[0]
        self.S.Y, self.S.R, self.S.H = &Y[0, 0], &R[0], NULL
        if H is not None:
            self.S.H = &H[0, 0]
        self.n_work = 18 * self.S.lines + (self.S.N + 2) * self.S.N + (self.S.k + 1) * self.S.k

    cdef int _check(self, double[:, ::1] m, double[:, ::1] P) except -1:
        if (m.shape[0] != self.S.k or m.shape[1] != self.S.N or P.shape[0] != self.S.N
                or P.shape[1] != self.S.N):
            raise ValueError("moments must be (k, N) and (N, N)")

    def filter(self, double[:, ::1] m, double[:, ::1] P, double[:, ::1] sums):
        """Filter in place from m (k, N) and P (N, N) at the first row.

        ``sums`` (k, k + 1) is increased as by ``kalman.filter``. Returns 0, or the row + 1 whose
        variance is not positive.
        """
        cdef double[::1] work = np.empty(self.n_work)
        self._check(m, P)
        if sums.shape[0] != self.S.k or sums.shape[1] != self.S.k + 1:
            raise ValueError("sums must be (k, k + 1)")
        with nogil:
            failed = sktvbo_filter_series(&self.S, 0, self.S.n, &m[0, 0], &P[0, 0], &sums[0, 0],
                                          NULL, &work[0])
        return failed

    def smooth(self, double[:, ::1] m, double[:, ::1] P, double[:, ::1] r,
               double[:, ::1] Lambda, slopes=None, double[:, ::1] out=None):
        """Filter, and smooth backwards; all arguments are updated. Returns the same as `filter`.

        The forward pass runs twice if the states would fill the memory.

        - ``slopes``: (on_weight (chains,), on_rate (lines,), on_R (n,), on_H (n, chains) or None).
          Twice the derivatives of the log likelihood, of the rates in their logarithm, are added to
          the first two and written to the others where rows are observed.
        - ``out`` (n, k + 1) receives the smoothed means and variances of f at all rows.
        """
        cdef double[::1] on_weight, on_rate, on_R
        cdef double[:, ::1] on_H = None
        cdef double* to_H = NULL
        cdef bint learning = slopes is not None
        cdef Py_ssize_t n = self.S.n, k = self.S.k, N = self.S.N, size = (k + N) * N
        cdef Py_ssize_t i, first, last, failed = 0
        self._check(m, P)
        self._check(r, Lambda)
        if learning:
            on_weight, on_rate, on_R, on_H = slopes
            if (on_weight.shape[0] != self.S.chains or on_rate.shape[0] != self.S.lines
                    or on_R.shape[0] != n):
                raise ValueError("slopes in weights, rates and R must have their shapes")
            if on_H is not None:
                if self.S.H == NULL or on_H.shape[0] != n or on_H.shape[1] != self.S.chains:
                    raise ValueError("slopes in H must have its shape")
                to_H = &on_H[0, 0]
        if out is not None and (out.shape[0] != n or out.shape[1] != k + 1):
            raise ValueError("out must be (n, k + 1)")
        cdef Py_ssize_t length = max(<Py_ssize_t> sqrt(<double> n) + 1, STORED // size)
        length = min(length, n)
        cdef Py_ssize_t blocks = (n + length - 1) // length
        cdef double[:, ::1] states = np.empty((blocks, size))
        cdef double[:, ::1] kept = np.empty((length, size)), sums = np.zeros((k, k + 1))
        cdef double[::1] work = np.empty(self.n_work)
        with nogil:
            for i in range(blocks):
                memcpy(&states[i, 0], &m[0, 0], k * N * sizeof(double))
                memcpy(&states[i, k * N], &P[0, 0], N * N * sizeof(double))
                if i + 1 < blocks and failed == 0:
                    failed = sktvbo_filter_series(
                        &self.S, i * length, (i + 1) * length, &m[0, 0], &P[0, 0], &sums[0, 0],
                        NULL, &work[0])
            for i in range(blocks - 1, -1, -1):
                first, last = i * length, min((i + 1) * length, n)
                if failed == 0:
                    failed = sktvbo_filter_series(
                        &self.S, first, last, &states[i, 0], &states[i, k * N], &sums[0, 0],
                        &kept[0, 0], &work[0])
                if failed != 0:
                    break
                sktvbo_smooth_series(
                    &self.S, first, last, &kept[0, 0], &r[0, 0], &Lambda[0, 0],
                    &on_weight[0] if learning else NULL, &on_rate[0] if learning else NULL,
                    &on_R[0] if learning else NULL, to_H, &out[0, 0] if out is not None else NULL,
                    &work[0])
        return failed
