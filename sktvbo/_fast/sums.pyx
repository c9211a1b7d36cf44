"""Covariances that are sums of terms in time, some of which all inputs share.

    K = k_S(Z, Z') sum_{r < m} w_r k_r(c_r |t - t'|) + sum_{r >= m} w_r k_r(c_r |t - t'|)

k_S and k_r are the correlations of ``gram``. The loop over a row computes k_S once, and each k_r
with its derivative in the logarithm of the lengthscale. These derivatives need no further
exponential, and K is the sum of its own in the logarithms of the weights: no matrix is read again.

In a symmetric matrix of points in the order of time, the exponentials exp(-c (t_i - t_j)) of a row
are those of the row before times exp(-c (t_i - t_{i-1})): most rows need one a term. They are
computed again after every ``REFRESH`` rows, so that rounding does not add up, and where times are
not in order.

Inputs are scaled, one row per dimension (d, n); times (n,) are not. Derivatives are in log lambda,
the logarithms of the d spatial lengthscales, of the R weights and of the R lengthscales in time,
in this order. Of symmetric matrices only the lower triangle is used.
"""

from libc.math cimport INFINITY, exp
from libc.stdlib cimport calloc, free

from .correlation cimport (
    add, correlate, decays, distances, multiply, row_weights, spread, squared_distances, stretch,
    two_dots, weighted_squares,
)
from .gram cimport CONSTANT, RBF, Family

cdef enum:
    REFRESH = 32


cdef struct Points:
    # The first n columns of coordinates (d, stride), and times.
    Py_ssize_t d, n, stride
    const double* Z
    const double* t


cdef struct Row:
    # Buffers of n numbers: distances in time, k_S and its slope, the sum over the terms that depend
    # on the input, one term and its slope, weights of entries, ones, and the exponentials of each
    # term. The time since the row before if these are known there, else -1; the latest time.
    double* v
    double* k
    double* h
    double* total
    double* term
    double* slope
    double* w
    double* ones
    double* e
    Py_ssize_t n
    double step, latest


cdef Points _points(const double[:, ::1] Z, const double[::1] t) except *:
    cdef Points found
    found.d, found.n, found.stride = Z.shape[0], t.shape[0], t.shape[0]
    if Z.shape[1] != found.n:
        raise ValueError("Z (d, n) and t (n,) do not fit each other")
    found.Z = &Z[0, 0] if found.d > 0 and found.n > 0 else NULL
    found.t = &t[0] if found.n > 0 else NULL
    return found


cdef Row _row(Py_ssize_t n, Py_ssize_t R) except *:
    """Return a row whose memory, to be freed, begins at v."""
    cdef Py_ssize_t j, size = max((8 + R) * n, 1)
    cdef double* p = <double*> calloc(size, sizeof(double))
    if p == NULL:
        raise MemoryError(f"no memory for {size} doubles")
    for j in range(n):
        p[7 * n + j] = 1.0
    return Row(p, p + n, p + 2 * n, p + 3 * n, p + 4 * n, p + 5 * n, p + 6 * n, p + 7 * n,
               p + 8 * n, n, -1.0, -INFINITY)


cdef class Sum:
    """The kernel K.

    Parameters
    ----------
    spatial : Family
        Of k_S.
    families, rates, weights : (R,)
        Of the terms; a rate is that of scaled to plain distances.
    n_shared : int
        Number of the last terms, which do not depend on the input.
    """

    cdef Family spatial
    cdef Py_ssize_t R, varying
    cdef const int* families
    cdef const double* rates
    cdef const double* weights
    cdef object arrays

    def __cinit__(self, Family spatial, const int[::1] families, const double[::1] rates,
                  const double[::1] weights, Py_ssize_t n_shared):
        cdef Py_ssize_t R = weights.shape[0]
        if families.shape[0] != R or rates.shape[0] != R or not 0 <= n_shared <= R:
            raise ValueError("families, rates, weights (R,), n_shared <= R do not fit each other")
        self.arrays = families, rates, weights
        self.spatial, self.R, self.varying = spatial, R, R - n_shared
        self.families, self.rates, self.weights = NULL, NULL, NULL
        if R > 0:
            self.families, self.rates, self.weights = &families[0], &rates[0], &weights[0]

    cdef void _begin(self, const Points* x, Py_ssize_t i, const Points* p, Row* row) noexcept nogil:
        """Compute k_S and its slope between point i of x and all of p, and distances in time."""
        cdef Py_ssize_t j
        squared_distances(p.d, p.n, x.Z + i, x.stride, p.Z, p.stride, row.v)
        correlate(self.spatial, p.n, row.v, row.k, row.h)
        distances(p.n, x.t[i], p.t, row.v)
        for j in range(p.n):
            row.total[j] = 0.0

    cdef Points _before(self, const Points* x, Py_ssize_t i, Row* row) noexcept nogil:
        """Return the points before point i, whose row in a symmetric matrix is the next one."""
        cdef Points found = x[0]
        cdef Py_ssize_t r
        found.n, row.step = i, -1.0
        if i > 0:
            for r in range(self.R):
                row.e[r * row.n + i - 1] = 1.0
            if i % REFRESH != 0 and row.latest <= x.t[i - 1]:
                row.step = x.t[i] - x.t[i - 1]
        row.latest = max(row.latest, x.t[i])
        return found

    cdef void _term(self, Py_ssize_t r, Py_ssize_t n, Row* row, double* total) noexcept nogil:
        """Compute the part of term r in time, with its slope, and add it to a total."""
        cdef double* e = row.e + r * row.n
        cdef double factor = 1.0
        if row.step >= 0.0 and self.families[r] > RBF:
            factor = exp(-self.rates[r] * row.step)
        else:
            decays(self.families[r], n, self.rates[r], row.v, e)
        stretch(self.families[r], n, self.rates[r], self.weights[r], factor, row.v, e, row.term,
                row.slope, total)

    cdef void _values(
        self, const Points* x, Py_ssize_t i, const Points* p, Row* row, double* out
    ) noexcept nogil:
        """Write the covariances of point i of x with all of p to ``out``."""
        cdef Py_ssize_t r
        self._begin(x, i, p, row)
        for r in range(self.varying):
            self._term(r, p.n, row, row.total)
        multiply(p.n, row.total, row.k, out)
        for r in range(self.varying, self.R):
            self._term(r, p.n, row, out)

    cdef void _contract(
        self, const Points* x, Py_ssize_t i, const Points* p, Row* row, const double* w,
        double* on_space, double* on_terms,
    ) noexcept nogil:
        """Add sum_j w_j dk_j / d theta, k the covariances of point i of x with all of p."""
        cdef Py_ssize_t r, m
        self._begin(x, i, p, row)
        multiply(p.n, row.k, w, row.k)
        for r in range(self.varying):
            self._term(r, p.n, row, row.total)
            two_dots(p.n, row.k, row.term, row.slope, on_terms + r, self.R)
        if self.spatial != CONSTANT:
            multiply(p.n, row.h, w, row.h)
            multiply(p.n, row.h, row.total, row.h)
            for m in range(p.d):
                on_space[m] += weighted_squares(
                    p.n, x.Z[m * x.stride + i], p.Z + m * p.stride, row.h)
        for r in range(self.varying, self.R):
            self._term(r, p.n, row, row.total)
            two_dots(p.n, w, row.term, row.slope, on_terms + r, self.R)

    def gram(self, const double[:, ::1] Z, const double[::1] t, double[:, ::1] out):
        """Write the lower triangle of K (n, n), with diagonal, to ``out``."""
        cdef Points x = _points(Z, t), before
        cdef Py_ssize_t i, r
        cdef double variance = 0.0
        if out.shape[0] != x.n or out.shape[1] != x.n:
            raise ValueError("gram: points and out (n, n) do not fit each other")
        cdef Row row = _row(x.n, self.R)
        with nogil:
            for r in range(self.R):
                variance += self.weights[r]
            for i in range(x.n):
                before = self._before(&x, i, &row)
                self._values(&x, i, &before, &row, &out[i, 0])
                out[i, i] = variance
        free(row.v)

    def cross_gram(
        self, const double[:, ::1] Z1, const double[::1] t1, const double[:, ::1] Z2,
        const double[::1] t2, double[:, ::1] out,
    ):
        """Write K (n1, n2) to ``out``."""
        cdef Points x = _points(Z1, t1), p = _points(Z2, t2)
        cdef Py_ssize_t i
        if x.d != p.d or out.shape[0] != x.n or out.shape[1] != p.n:
            raise ValueError("cross_gram: points and out (n1, n2) do not fit each other")
        if p.n == 0:
            return
        cdef Row row = _row(p.n, self.R)
        with nogil:
            for i in range(x.n):
                self._values(&x, i, &p, &row, &out[i, 0])
        free(row.v)

    def cross_with_gradient(
        self, const double[::1] z, double u, const double[:, ::1] Z, const double[::1] times,
        double[::1] k, double[:, ::1] dk,
    ):
        """Compute one row k (n,) and its gradient in the point, dk (d + 1, n), time last.

        At the kink of a Matern 1/2 factor the one-sided derivatives cancel, and the result is 0.
        """
        cdef Points p = _points(Z, times), x = p
        cdef Py_ssize_t r, m, j
        cdef double gap
        if z.shape[0] != p.d or k.shape[0] != p.n or dk.shape[0] != p.d + 1 or dk.shape[1] != p.n:
            raise ValueError("cross_with_gradient: z (d,), points, k, dk (d + 1, n) do not fit")
        if p.n == 0:
            return
        x.n, x.stride, x.t = 1, 1, &u
        x.Z = &z[0] if p.d > 0 else NULL
        cdef Row row = _row(p.n, self.R)
        with nogil:
            self._values(&x, 0, &p, &row, &k[0])
            for m in range(p.d):
                for j in range(p.n):
                    dk[m, j] = -row.total[j] * row.h[j] * (z[m] - Z[m, j])
            for j in range(p.n):
                dk[p.d, j] = 0.0
            for r in range(self.R):
                self._term(r, p.n, &row, row.w)
                if r < self.varying:
                    multiply(p.n, row.slope, row.k, row.slope)
                for j in range(p.n):
                    gap = u - times[j]
                    # A derivative in log lengthscale is one in time, times minus the gap.
                    if gap != 0.0:
                        dk[p.d, j] -= row.slope[j] / gap
        free(row.v)

    def contract_gradient(
        self, const double[:, ::1] Z, const double[::1] t, const double[:, ::1] P,
        const double[::1] a, double[::1] out,
    ):
        """Compute sum_ij W_ij dK_ij / d theta, W = a a' - P: ``out`` (1 + d + 2 R,).

        P (n, n) is symmetric; only its lower triangle is read.
        """
        cdef Points x = _points(Z, t), before
        cdef Py_ssize_t i, r
        cdef double trace = 0.0
        if (P.shape[0] != x.n or P.shape[1] != x.n or a.shape[0] != x.n
                or out.shape[0] != 1 + x.d + 2 * self.R):
            raise ValueError("contract_gradient: shapes do not fit each other")
        out[:] = 0.0
        cdef Row row = _row(x.n, self.R)
        cdef double* on_terms = &out[0] + 1 + x.d
        with nogil:
            for i in range(x.n):
                trace += a[i] * a[i] - P[i, i]
                before = self._before(&x, i, &row)
                # Each pair counts twice, for both triangles.
                row_weights(i, a[i], &a[0], &P[i, 0], row.ones, row.w)
                self._contract(&x, i, &before, &row, row.w, &out[0] + 1, on_terms)
            for r in range(self.R):
                on_terms[r] += trace * self.weights[r]
                out[0] += on_terms[r]
        free(row.v)

    def slope_products(
        self, const double[:, ::1] Z, const double[::1] t, const double[::1] a, double[:, ::1] out,
    ):
        """Compute dK / d theta times a (n,): ``out`` (1 + d + 2 R, n)."""
        cdef Points x = _points(Z, t), before
        cdef Py_ssize_t i, r, m, first = 1 + x.d
        if a.shape[0] != x.n or out.shape[0] != first + 2 * self.R or out.shape[1] != x.n:
            raise ValueError("slope_products: shapes do not fit each other")
        out[:] = 0.0
        if x.n == 0:
            return
        cdef Row row = _row(x.n, self.R)
        with nogil:
            for i in range(x.n):
                before = self._before(&x, i, &row)
                self._begin(&x, i, &before, &row)
                for r in range(self.R):
                    self._term(r, i, &row, row.total if r < self.varying else row.w)
                    if r < self.varying:
                        multiply(i, row.term, row.k, row.term)
                        multiply(i, row.slope, row.k, row.slope)
                    out[first + r, i] += self.weights[r] * a[i]
                    spread(i, &a[0], row.term, &out[first + r, 0])
                    spread(i, &a[0], row.slope, &out[first + self.R + r, 0])
                multiply(i, row.h, row.total, row.h)
                for m in range(x.d):
                    squared_distances(1, i, &Z[m, i], 1, &Z[m, 0], x.stride, row.term)
                    multiply(i, row.term, row.h, row.term)
                    spread(i, &a[0], row.term, &out[1 + m, 0])
            for r in range(self.R):
                add(x.n, 1.0, &out[first + r, 0], &out[0, 0])
        free(row.v)

    def contract_cross_gradient(
        self, const double[:, ::1] Z1, const double[::1] t1, const double[:, ::1] Z2,
        const double[::1] t2, const double[:, ::1] W, double[::1] out,
    ):
        """Compute sum_ij W_ij dK_ij / d theta for K and W (n1, n2): ``out`` (1 + d + 2 R,)."""
        cdef Points x = _points(Z1, t1), p = _points(Z2, t2)
        cdef Py_ssize_t i, r
        if (x.d != p.d or W.shape[0] != x.n or W.shape[1] != p.n
                or out.shape[0] != 1 + x.d + 2 * self.R):
            raise ValueError("contract_cross_gradient: shapes do not fit each other")
        out[:] = 0.0
        if p.n == 0:
            return
        cdef Row row = _row(p.n, self.R)
        cdef double* on_terms = &out[0] + 1 + x.d
        with nogil:
            for i in range(x.n):
                self._contract(&x, i, &p, &row, &W[i, 0], &out[0] + 1, on_terms)
            for r in range(self.R):
                out[0] += on_terms[r]
        free(row.v)
