"""Separable covariance matrices and their contraction with a weight matrix, in one pass.

Each supported factor is a polynomial times an exponential in its scaled distance s:

    RBF           exp(-s^2)                    s = r / (sqrt(2) l)
    Matern 1/2    exp(-s)                      s = r / l
    Matern 3/2    (1 + s) exp(-s)              s = sqrt(3) r / l
    Matern 5/2    (1 + s + s^2/3) exp(-s)      s = sqrt(5) r / l

so the product of a spatial and a temporal factor needs a single exponential a pair, and their
derivatives in the logarithm of a lengthscale are the kernel itself times a rational function of s:
the gradient needs no exponential at all, and the n x n x p array of derivatives is never formed.

Coordinates arrive already scaled, one row per dimension (d, n), so that the loop over the pairs of
a row runs over contiguous memory and vectorizes. Symmetric matrices hold their lower triangle only;
the rest of the array is left as it came.
"""

from libc.math cimport exp, fabs, sqrt
from libc.stdlib cimport free, malloc


cdef double* _buffer(Py_ssize_t size) except NULL:
    cdef double* p = <double*> malloc(max(size, 1) * sizeof(double))
    if p == NULL:
        raise MemoryError(f"no memory for {size} doubles")
    return p


cdef void _squared_distances(
    const double* Z, Py_ssize_t stride, Py_ssize_t d, const double* z, Py_ssize_t z_stride,
    Py_ssize_t n, double* q,
) noexcept nogil:
    """q_j = sum_k (z_k - Z_kj)^2, j < n."""
    cdef Py_ssize_t j, k
    cdef double zk, diff
    cdef const double* row
    for j in range(n):
        q[j] = 0.0
    for k in range(d):
        zk = z[k * z_stride]
        row = Z + k * stride
        for j in range(n):
            diff = zk - row[j]
            q[j] += diff * diff


cdef void _correlate(
    Family spatial, Family temporal, double signal, const double* q, const double* v,
    Py_ssize_t n, double* out,
) noexcept nogil:
    """out_j = signal k_S(sqrt(q_j)) k_T(v_j); q squared, v plain scaled distances."""
    cdef Py_ssize_t j
    cdef double s
    # The exponent goes to `out` first, the polynomial is multiplied in after the exponential.
    if spatial == CONSTANT:
        for j in range(n):
            out[j] = 0.0
    elif spatial == RBF:
        for j in range(n):
            out[j] = -q[j]
    else:
        for j in range(n):
            out[j] = -sqrt(q[j])
    if temporal == RBF:
        for j in range(n):
            out[j] -= v[j] * v[j]
    elif temporal != CONSTANT:
        for j in range(n):
            out[j] -= v[j]
    for j in range(n):
        out[j] = signal * exp(out[j])
    if spatial == MATERN32:
        for j in range(n):
            out[j] *= 1.0 + sqrt(q[j])
    elif spatial == MATERN52:
        for j in range(n):
            out[j] *= 1.0 + sqrt(q[j]) + q[j] / 3.0
    if temporal == MATERN32:
        for j in range(n):
            out[j] *= 1.0 + v[j]
    elif temporal == MATERN52:
        for j in range(n):
            s = v[j]
            out[j] *= 1.0 + s + s * s / 3.0


cdef void _log_slope(
    Family family, const double* q, Py_ssize_t n, double* slope
) noexcept nogil:
    """slope_j with d log k / d log l_k = slope_j (z_k - Z_kj)^2, from the squared distances q."""
    cdef Py_ssize_t j
    cdef double s
    if family == CONSTANT:
        for j in range(n):
            slope[j] = 0.0
    elif family == RBF:
        for j in range(n):
            slope[j] = 2.0
    elif family == MATERN12:
        # At distance 0 the derivative is 0 (s -> 0 from the numerator's s^2).
        for j in range(n):
            slope[j] = 1.0 / sqrt(q[j]) if q[j] > 0.0 else 0.0
    elif family == MATERN32:
        for j in range(n):
            slope[j] = 1.0 / (1.0 + sqrt(q[j]))
    else:
        for j in range(n):
            s = sqrt(q[j])
            slope[j] = (1.0 + s) / (3.0 + 3.0 * s + q[j])


def gram(
    const double[:, ::1] Z, const double[::1] u, Family spatial, Family temporal, double signal,
    double[:, ::1] out,
):
    """Lower triangle, diagonal included, of signal k_S(Z, Z) k_T(u, u), written to ``out`` (n, n).

    Z (d, n) and u (n,) are coordinates over lengthscale, times the constant of the family.
    """
    cdef Py_ssize_t n = u.shape[0], d = Z.shape[0], i, j
    if Z.shape[1] != n or out.shape[0] != n or out.shape[1] != n:
        raise ValueError("gram: Z (d, n), u (n,) and out (n, n) do not fit each other")
    if n == 0:
        return
    cdef const double* pz = &Z[0, 0] if d > 0 else NULL
    cdef double* q = _buffer(2 * n)
    cdef double* v = q + n
    with nogil:
        for i in range(n):
            _squared_distances(pz, n, d, pz + i, n, i + 1, q)
            for j in range(i + 1):
                v[j] = fabs(u[i] - u[j])
            _correlate(spatial, temporal, signal, q, v, i + 1, &out[i, 0])
    free(q)


def cross_gram(
    const double[:, ::1] Z1, const double[::1] u1, const double[:, ::1] Z2, const double[::1] u2,
    Family spatial, Family temporal, double signal, double[:, ::1] out,
):
    """signal k_S(Z1, Z2) k_T(u1, u2), written to ``out`` (n1, n2)."""
    cdef Py_ssize_t n1 = u1.shape[0], n2 = u2.shape[0], d = Z1.shape[0], i, j
    if (Z1.shape[1] != n1 or Z2.shape[1] != n2 or Z2.shape[0] != d
            or out.shape[0] != n1 or out.shape[1] != n2):
        raise ValueError("cross_gram: Z1 (d, n1), Z2 (d, n2), out (n1, n2) do not fit each other")
    if n1 == 0 or n2 == 0:
        return
    cdef const double* p1 = &Z1[0, 0] if d > 0 else NULL
    cdef const double* p2 = &Z2[0, 0] if d > 0 else NULL
    cdef double* q = _buffer(2 * n2)
    cdef double* v = q + n2
    with nogil:
        for i in range(n1):
            _squared_distances(p2, n2, d, p1 + i, n1, n2, q)
            for j in range(n2):
                v[j] = fabs(u1[i] - u2[j])
            _correlate(spatial, temporal, signal, q, v, n2, &out[i, 0])
    free(q)


def cross_with_gradient(
    const double[::1] z, double u, const double[:, ::1] Z, const double[::1] times,
    Family spatial, Family temporal, double signal, double[::1] k, double[:, ::1] dk,
):
    """One row k (n,) of the covariance, and its gradient in the point, dk (d + 1, n).

    The derivatives are with respect to the scaled coordinates z (d,) and, in the last row, u. Where
    a Matern 1/2 factor has its kink the one-sided derivatives cancel and 0 is returned.
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
        _squared_distances(pz, n, d, px, 1, n, q)
        for j in range(n):
            v[j] = fabs(u - times[j])
        _correlate(spatial, temporal, signal, q, v, n, &k[0])
        # d log k / d z_m = -slope (z_m - Z_mj): a lengthscale and a difference are reciprocal.
        _log_slope(spatial, q, n, slope)
        for m in range(d):
            for j in range(n):
                dk[m, j] = -k[j] * slope[j] * (z[m] - Z[m, j])
        for j in range(n):
            v[j] *= v[j]
        _log_slope(temporal, v, n, slope)
        for j in range(n):
            dk[d, j] = -k[j] * slope[j] * (u - times[j])
    free(q)


def contract_gradient(
    const double[:, ::1] Z, const double[::1] u, Family spatial, Family temporal,
    const double[:, ::1] K, const double[:, ::1] P, const double[::1] a, double[::1] out,
):
    """sum_ij W_ij dK_ij / d theta, W = a a' - P, for theta the logarithms of the signal variance,
    the d spatial lengthscales and the temporal lengthscale: ``out`` (d + 2,).

    K (n, n) is what ``gram`` returned, P (n, n) symmetric; only lower triangles are read.
    """
    cdef Py_ssize_t n = u.shape[0], d = Z.shape[0], i, j, m
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
    cdef double total, diff, zi, ai
    with nogil:
        for i in range(n):
            out[0] += (a[i] * a[i] - P[i, i]) * K[i, i]
            ai = a[i]
            total = 0.0
            for j in range(i):
                # Each pair counts twice: the upper triangle is not visited.
                w[j] = 2.0 * (ai * a[j] - P[i, j]) * K[i, j]
                total += w[j]
            out[0] += total
            if spatial != CONSTANT:
                _squared_distances(pz, n, d, pz + i, n, i, q)
                _log_slope(spatial, q, i, slope)
                for j in range(i):
                    slope[j] *= w[j]
                for m in range(d):
                    zi = Z[m, i]
                    total = 0.0
                    for j in range(i):
                        diff = zi - Z[m, j]
                        total += slope[j] * diff * diff
                    out[m + 1] += total
            if temporal != CONSTANT:
                zi = u[i]
                for j in range(i):
                    q[j] = (zi - u[j]) * (zi - u[j])
                _log_slope(temporal, q, i, slope)
                total = 0.0
                for j in range(i):
                    total += slope[j] * w[j] * q[j]
                out[d + 1] += total
    free(q)


def contract_cross_gradient(
    const double[:, ::1] Z1, const double[::1] u1, const double[:, ::1] Z2, const double[::1] u2,
    Family spatial, Family temporal, const double[:, ::1] K, const double[:, ::1] W,
    double[::1] out,
):
    """sum_ij W_ij dK_ij / d theta for the rectangular K (n1, n2) of ``cross_gram``, with theta the
    logarithms of the d spatial lengthscales and the temporal lengthscale: ``out`` (d + 1,).
    """
    cdef Py_ssize_t n1 = u1.shape[0], n2 = u2.shape[0], d = Z1.shape[0], i, j, m
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
    cdef double total, diff, z
    with nogil:
        for i in range(n1):
            for j in range(n2):
                w[j] = W[i, j] * K[i, j]
            if spatial != CONSTANT:
                _squared_distances(p2, n2, d, p1 + i, n1, n2, q)
                _log_slope(spatial, q, n2, slope)
                for j in range(n2):
                    slope[j] *= w[j]
                for m in range(d):
                    z = Z1[m, i]
                    total = 0.0
                    for j in range(n2):
                        diff = z - Z2[m, j]
                        total += slope[j] * diff * diff
                    out[m] += total
            if temporal != CONSTANT:
                z = u1[i]
                for j in range(n2):
                    q[j] = (z - u2[j]) * (z - u2[j])
                _log_slope(temporal, q, n2, slope)
                total = 0.0
                for j in range(n2):
                    total += slope[j] * w[j] * q[j]
                out[d] += total
    free(q)
