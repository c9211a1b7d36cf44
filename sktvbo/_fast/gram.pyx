"""Separable covariance matrices and contractions of their gradients.

Each supported factor is a polynomial times an exponential in its scaled distance s:

    RBF           exp(-s^2)                    s = r / (sqrt(2) l)
    Matern 1/2    exp(-s)                      s = r / l
    Matern 3/2    (1 + s) exp(-s)              s = sqrt(3) r / l
    Matern 5/2    (1 + s + s^2/3) exp(-s)      s = sqrt(5) r / l

The product of a spatial and a temporal factor needs a single exponential per pair. Derivatives in
the logarithm of a lengthscale are the kernel times a rational function of s: the gradient needs no
exponential, and the n x n x p array of derivatives is never formed.

Coordinates are scaled, one row per dimension (d, n): the loop over the pairs of a row runs over
contiguous memory and vectorizes. Of symmetric matrices only the lower triangle is used.
"""

from libc.math cimport sqrt
from libc.stdlib cimport free, malloc

from .correlation cimport (
    add, covariances, distances, log_slope, multiply, row_weights, spread, squared_distances,
    weighted_squares,
)


cdef double* _buffer(Py_ssize_t size) except NULL:
    cdef double* p = <double*> malloc(max(size, 1) * sizeof(double))
    if p == NULL:
        raise MemoryError(f"no memory for {size} doubles")
    return p


def scale(const double[:, :] X, const double[::1] units, double[:, ::1] out):
    """Write X (n, d) times units (d,) to ``out`` (d, n); return the length of all of it."""
    cdef Py_ssize_t n = X.shape[0], d = X.shape[1], i, k
    cdef double total = 0.0
    if units.shape[0] != d or out.shape[0] != d or out.shape[1] != n:
        raise ValueError("scale: X (n, d), units (d,) and out (d, n) do not fit each other")
    for k in range(d):
        for i in range(n):
            out[k, i] = X[i, k] * units[k]
            total += out[k, i] * out[k, i]
    return sqrt(total)


def gram(
    const double[:, ::1] Z, const double[::1] u, Family spatial, Family temporal, double signal,
    double[:, ::1] out, bint multiply_out=False,
):
    """Write the lower triangle of signal k_S(Z, Z) k_T(u, u), with diagonal, to ``out`` (n, n).

    Z (d, n) and u (n,) are coordinates over lengthscale, times the constant of the family. With
    ``multiply_out`` it is multiplied instead.
    """
    cdef Py_ssize_t n = u.shape[0], d = Z.shape[0], i
    if Z.shape[1] != n or out.shape[0] != n or out.shape[1] != n:
        raise ValueError("gram: Z (d, n), u (n,) and out (n, n) do not fit each other")
    if n == 0:
        return
    cdef const double* pz = &Z[0, 0] if d > 0 else NULL
    cdef double* q = _buffer(3 * n)
    cdef double* v = q + n
    cdef double* k = q + 2 * n
    with nogil:
        for i in range(n):
            squared_distances(d, i + 1, pz + i, n, pz, n, q)
            distances(i + 1, u[i], &u[0], v)
            covariances(spatial, temporal, i + 1, signal, q, v, k if multiply_out else &out[i, 0])
            if multiply_out:
                multiply(i + 1, &out[i, 0], k, &out[i, 0])
    free(q)


def cross_gram(
    const double[:, ::1] Z1, const double[::1] u1, const double[:, ::1] Z2, const double[::1] u2,
    Family spatial, Family temporal, double signal, double[:, ::1] out, bint multiply_out=False,
):
    """Write signal k_S(Z1, Z2) k_T(u1, u2) to ``out`` (n1, n2); or multiply it, as `gram` does."""
    cdef Py_ssize_t n1 = u1.shape[0], n2 = u2.shape[0], d = Z1.shape[0], i
    if (Z1.shape[1] != n1 or Z2.shape[1] != n2 or Z2.shape[0] != d
            or out.shape[0] != n1 or out.shape[1] != n2):
        raise ValueError("cross_gram: Z1 (d, n1), Z2 (d, n2), out (n1, n2) do not fit each other")
    if n1 == 0 or n2 == 0:
        return
    cdef const double* p1 = &Z1[0, 0] if d > 0 else NULL
    cdef const double* p2 = &Z2[0, 0] if d > 0 else NULL
    cdef double* q = _buffer(3 * n2)
    cdef double* v = q + n2
    cdef double* k = q + 2 * n2
    with nogil:
        for i in range(n1):
            squared_distances(d, n2, p1 + i, n1, p2, n2, q)
            distances(n2, u1[i], &u2[0], v)
            covariances(spatial, temporal, n2, signal, q, v, k if multiply_out else &out[i, 0])
            if multiply_out:
                multiply(n2, &out[i, 0], k, &out[i, 0])
    free(q)


def cross_with_gradient(
    const double[::1] z, double u, const double[:, ::1] Z, const double[::1] times,
    Family spatial, Family temporal, double signal, double[::1] k, double[:, ::1] dk,
):
    """Compute one row k (n,) of the covariance and its gradient in the point, dk (d + 1, n).

    The derivatives are with respect to the scaled coordinates z (d,) and, in the last row, u. At
    the kink of a Matern 1/2 factor the one-sided derivatives cancel, and the result is 0.
    """
    cdef Py_ssize_t n = times.shape[0], d = Z.shape[0], j, m
    if (Z.shape[1] != n or z.shape[0] != d or k.shape[0] != n
            or dk.shape[0] != d + 1 or dk.shape[1] != n):
        raise ValueError("cross_with_gradient: z (d,), Z (d, n), k (n,), dk (d + 1, n) do not fit")
    if n == 0:
        return
    cdef const double* pz = &Z[0, 0] if d > 0 else NULL
    cdef const double* px = &z[0] if d > 0 else NULL
    cdef double* q = _buffer(3 * n)
    cdef double* v = q + n
    cdef double* slope = q + 2 * n
    with nogil:
        squared_distances(d, n, px, 1, pz, n, q)
        distances(n, u, &times[0], v)
        covariances(spatial, temporal, n, signal, q, v, &k[0])
        # d log k / d z_m = -slope (z_m - Z_mj), as k depends on differences over lengthscales.
        log_slope(spatial, n, q, slope)
        for m in range(d):
            for j in range(n):
                dk[m, j] = -k[j] * slope[j] * (z[m] - Z[m, j])
        multiply(n, v, v, v)
        log_slope(temporal, n, v, slope)
        for j in range(n):
            dk[d, j] = -k[j] * slope[j] * (u - times[j])
    free(q)


def contract_gradient(
    const double[:, ::1] Z, const double[::1] u, Family spatial, Family temporal,
    const double[:, ::1] K, const double[:, ::1] P, const double[::1] a, double[::1] out,
):
    """Compute sum_ij W_ij dK_ij / d theta, W = a a' - P, for theta the logarithms of the signal
    variance, the d spatial lengthscales and the temporal lengthscale: ``out`` (d + 2,).

    K (n, n) is the result of ``gram``, P (n, n) symmetric; only lower triangles are read.
    """
    cdef Py_ssize_t n = u.shape[0], d = Z.shape[0], i, m
    if (Z.shape[1] != n or K.shape[0] != n or K.shape[1] != n or P.shape[0] != n
            or P.shape[1] != n or a.shape[0] != n or out.shape[0] != d + 2):
        raise ValueError("contract_gradient: shapes do not fit each other")
    for m in range(d + 2):
        out[m] = 0.0
    if n == 0:
        return
    cdef const double* pz = &Z[0, 0] if d > 0 else NULL
    cdef double* q = _buffer(3 * n)
    cdef double* slope = q + n
    cdef double* w = q + 2 * n
    with nogil:
        for i in range(n):
            out[0] += (a[i] * a[i] - P[i, i]) * K[i, i]
            # Each pair counts twice, for both triangles.
            out[0] += row_weights(i, a[i], &a[0], &P[i, 0], &K[i, 0], w)
            if spatial != CONSTANT:
                squared_distances(d, i, pz + i, n, pz, n, q)
                log_slope(spatial, i, q, slope)
                multiply(i, slope, w, slope)
                for m in range(d):
                    out[m + 1] += weighted_squares(i, Z[m, i], &Z[m, 0], slope)
            if temporal != CONSTANT:
                squared_distances(1, i, &u[i], 1, &u[0], n, q)
                log_slope(temporal, i, q, slope)
                multiply(i, slope, w, slope)
                out[d + 1] += weighted_squares(i, u[i], &u[0], slope)
    free(q)


def slope_products(
    const double[:, ::1] Z, const double[::1] u, Family spatial, Family temporal,
    const double[:, ::1] K, const double[::1] a, double[:, ::1] out,
):
    """Compute dK / d theta times a, for theta as in ``contract_gradient``: ``out`` (d + 2, n).

    K (n, n) is the result of ``gram``; only its lower triangle is read.
    """
    cdef Py_ssize_t n = u.shape[0], d = Z.shape[0], i, m
    if (Z.shape[1] != n or K.shape[0] != n or K.shape[1] != n or a.shape[0] != n
            or out.shape[0] != d + 2 or out.shape[1] != n):
        raise ValueError("slope_products: shapes do not fit each other")
    out[:] = 0.0
    if n == 0:
        return
    cdef const double* pz = &Z[0, 0] if d > 0 else NULL
    cdef const double* pa = &a[0]
    cdef double* q = _buffer(3 * n)
    cdef double* slope = q + n
    cdef double* w = q + 2 * n
    with nogil:
        for i in range(n):
            out[0, i] += K[i, i] * a[i]
            spread(i, pa, &K[i, 0], &out[0, 0])
            if spatial != CONSTANT:
                squared_distances(d, i, pz + i, n, pz, n, q)
                log_slope(spatial, i, q, slope)
                multiply(i, slope, &K[i, 0], slope)
                for m in range(d):
                    squared_distances(1, i, &Z[m, i], 1, &Z[m, 0], n, w)
                    multiply(i, slope, w, w)
                    spread(i, pa, w, &out[m + 1, 0])
            if temporal != CONSTANT:
                squared_distances(1, i, &u[i], 1, &u[0], n, q)
                log_slope(temporal, i, q, slope)
                multiply(i, slope, q, w)
                multiply(i, w, &K[i, 0], w)
                spread(i, pa, w, &out[d + 1, 0])
    free(q)


def contract_cross_gradient(
    const double[:, ::1] Z1, const double[::1] u1, const double[:, ::1] Z2, const double[::1] u2,
    Family spatial, Family temporal, const double[:, ::1] K, const double[:, ::1] W,
    double[::1] out,
):
    """Compute sum_ij W_ij dK_ij / d theta for K (n1, n2) of ``cross_gram``, with theta the
    logarithms of the d spatial lengthscales and the temporal lengthscale: ``out`` (d + 1,).
    """
    cdef Py_ssize_t n1 = u1.shape[0], n2 = u2.shape[0], d = Z1.shape[0], i, m
    if (Z1.shape[1] != n1 or Z2.shape[1] != n2 or Z2.shape[0] != d or K.shape[0] != n1
            or K.shape[1] != n2 or W.shape[0] != n1 or W.shape[1] != n2 or out.shape[0] != d + 1):
        raise ValueError("contract_cross_gradient: shapes do not fit each other")
    for m in range(d + 1):
        out[m] = 0.0
    if n1 == 0 or n2 == 0:
        return
    cdef const double* p1 = &Z1[0, 0] if d > 0 else NULL
    cdef const double* p2 = &Z2[0, 0] if d > 0 else NULL
    cdef double* q = _buffer(3 * n2)
    cdef double* slope = q + n2
    cdef double* w = q + 2 * n2
    with nogil:
        for i in range(n1):
            multiply(n2, &W[i, 0], &K[i, 0], w)
            if spatial != CONSTANT:
                squared_distances(d, n2, p1 + i, n1, p2, n2, q)
                log_slope(spatial, n2, q, slope)
                multiply(n2, slope, w, slope)
                for m in range(d):
                    out[m] += weighted_squares(n2, Z1[m, i], &Z2[m, 0], slope)
            if temporal != CONSTANT:
                squared_distances(1, n2, &u1[i], 1, &u2[0], n2, q)
                log_slope(temporal, n2, q, slope)
                multiply(n2, slope, w, slope)
                out[d] += weighted_squares(n2, u1[i], &u2[0], slope)
    free(q)
