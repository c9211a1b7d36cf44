"""O(n^2) update of the relevancy sweep after the removal of an observation.

With P the inverse covariance of the observations, a = P y and C the matrix of convolutions, the
sweep stores q_i = P_i' C P_i for all i. The removal of observation i changes P by the rank-one
v v' / P_ii with v = P_i. Substituted into q, with w = C v, s = P w and rho = v / P_ii,

    q_j <- q_j - 2 rho_j s_j + rho_j^2 q_i,     a <- a - v a_i / P_ii.

Three matrix-vector products in total. The last active row and column replace the removed ones, so
the active block stays contiguous.
"""

from libc.stdlib cimport free, malloc

from scipy.linalg.cython_blas cimport dgemv


cdef void _move_last(double[:, ::1] M, Py_ssize_t n, Py_ssize_t i) noexcept nogil:
    """Replace row and column i of the symmetric M by row and column n - 1."""
    cdef Py_ssize_t j, last = n - 1
    cdef double corner = M[last, last]
    for j in range(n):
        M[i, j] = M[last, j]
    for j in range(n):
        M[j, i] = M[i, j]
    M[i, i] = corner


def remove(
    double[:, ::1] P, double[:, ::1] C, double[::1] a, double[::1] q, Py_ssize_t[::1] index,
    Py_ssize_t n, Py_ssize_t i,
):
    """Remove position i < n from the leading n x n blocks, in place; position n - 1 moves to i.

    ``index`` (N,) is the observation at each position. Both triangles of both matrices are used.
    """
    cdef Py_ssize_t N = P.shape[0], j, k, last = n - 1
    if (P.shape[1] != N or C.shape[0] != N or C.shape[1] != N or a.shape[0] != N
            or q.shape[0] != N or index.shape[0] != N or not 0 <= i < n <= N):
        raise ValueError("remove: P, C (N, N), a, q, index (N,) and 0 <= i < n <= N are needed")
    cdef int n_ = <int> n, ld = <int> N, one = 1
    cdef double unit = 1.0, zero = 0.0, pivot = P[i, i], q_i = q[i], a_i = a[i]
    cdef double rho, step
    cdef char plain = b"N"
    cdef double* v = <double*> malloc(3 * n * sizeof(double))
    if v == NULL:
        raise MemoryError(f"no memory for {3 * n} doubles")
    cdef double* w = v + n
    cdef double* s = v + 2 * n
    with nogil:
        for j in range(n):
            v[j] = P[i, j]
        dgemv(&plain, &n_, &n_, &unit, &C[0, 0], &ld, v, &one, &zero, w, &one)
        dgemv(&plain, &n_, &n_, &unit, &P[0, 0], &ld, w, &one, &zero, s, &one)
        for j in range(n):
            rho = v[j] / pivot
            q[j] += rho * (rho * q_i - 2.0 * s[j])
            a[j] -= rho * a_i
        for k in range(n):
            step = v[k] / pivot
            for j in range(n):
                P[k, j] -= step * v[j]
        _move_last(P, n, i)
        _move_last(C, n, i)
        a[i] = a[last]
        q[i] = q[last]
    free(v)
    index[i], index[last] = index[last], index[i]
