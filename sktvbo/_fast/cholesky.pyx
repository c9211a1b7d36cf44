"""Updates of a Cholesky factor or an inverse, and solves, O(n^2) each.

L is the lower triangle of a C-ordered array (capacity, capacity) of which the leading n x n block
is in use. Read by columns, as BLAS does, the same memory holds the upper triangular L' with leading
dimension `capacity`: a solve with L is BLAS's "U", transposed, without a copy.
"""

from libc.math cimport hypot, sqrt
from libc.stdlib cimport free, malloc

from scipy.linalg.cython_blas cimport dtrsm, dtrsv


cdef int _check(const double[:, ::1] L, Py_ssize_t n) except -1:
    if n < 0 or n > L.shape[0] or L.shape[0] != L.shape[1]:
        raise ValueError("L must be square with at least n rows")
    return 0


def solve_lower(const double[:, ::1] L, Py_ssize_t n, double[:, ::1] B, bint transpose=False):
    """Solve L X = B, or L' X = B, in place; each *row* of B (m, n) is one right-hand side."""
    cdef int n_ = <int> n, m = <int> B.shape[0], one = 1
    cdef int ld = <int> L.shape[1], ldb = <int> B.shape[1]
    cdef double alpha = 1.0
    _check(L, n)
    if B.shape[1] != n:
        raise ValueError("each row of B must hold n numbers")
    if n == 0 or m == 0:
        return
    cdef char uplo = b"U", diag = b"N", left = b"L", trans = b"N" if transpose else b"T"
    with nogil:
        if m == 1:
            dtrsv(&uplo, &trans, &diag, &n_, <double*> &L[0, 0], &ld, &B[0, 0], &one)
        else:
            dtrsm(&left, &uplo, &trans, &diag, &n_, &m, &alpha, <double*> &L[0, 0], &ld,
                  &B[0, 0], &ldb)


def append(double[:, ::1] L, Py_ssize_t n, const double[::1] k, double kappa):
    """Write row n of the factor of [[A, k], [k', kappa]], given that of A (n, n).

    Returns the square of the new pivot, kappa - |L^-1 k|^2. If it is not positive, row n is
    unusable and the rows before it are unchanged.
    """
    _check(L, n + 1)
    if k.shape[0] != n:
        raise ValueError("k must hold n numbers")
    cdef int n_ = <int> n, ld = <int> L.shape[1], one = 1
    cdef char uplo = b"U", diag = b"N", trans = b"T"
    cdef double pivot = kappa
    cdef Py_ssize_t j
    with nogil:
        for j in range(n):
            L[n, j] = k[j]
        if n > 0:
            dtrsv(&uplo, &trans, &diag, &n_, &L[0, 0], &ld, &L[n, 0], &one)
        for j in range(n):
            pivot -= L[n, j] * L[n, j]
        if pivot > 0.0:
            L[n, n] = sqrt(pivot)
    return pivot


def drop(const double[:, ::1] L, Py_ssize_t n, Py_ssize_t i, double[:, ::1] out):
    """Write the factor of A without row and column i to the leading block of ``out``.

    Rows above i stay. Rows below lose column i, and their trailing block S becomes the factor of
    S S' + l l', with l the lost column: a rank-one *update* by Givens rotations, which stays
    positive definite under rounding. Row by row, for access in memory order: each row applies the
    rotations of the rows before it, then computes its own. ``out`` may be L itself.
    """
    _check(L, n)
    if i < 0 or i >= n or out.shape[0] < n - 1 or out.shape[1] != out.shape[0]:
        raise ValueError("i must be in [0, n) and out square with at least n - 1 rows")
    cdef Py_ssize_t r, c
    cdef double x, lost, diagonal
    cdef double* cos = <double*> malloc(2 * n * sizeof(double))
    cdef double* sin = cos + n
    if cos == NULL:
        raise MemoryError(f"no memory for {2 * n} doubles")
    with nogil:
        for r in range(i):
            for c in range(r + 1):
                out[r, c] = L[r, c]
        for r in range(i + 1, n):
            lost = L[r, i]
            for c in range(i):
                out[r - 1, c] = L[r, c]
            for c in range(i + 1, r):
                x = L[r, c]
                out[r - 1, c - 1] = cos[c] * x + sin[c] * lost
                lost = cos[c] * lost - sin[c] * x
            diagonal = hypot(L[r, r], lost)
            cos[r] = L[r, r] / diagonal
            sin[r] = lost / diagonal
            out[r - 1, r - 1] = diagonal
    free(cos)


def symmetrize(double[:, ::1] A):
    """Copy the lower triangle of A (n, n) to the upper one, in place."""
    cdef Py_ssize_t n = A.shape[0], i, j
    if A.shape[1] != n:
        raise ValueError("A must be square")
    with nogil:
        for i in range(n):
            for j in range(i):
                A[j, i] = A[i, j]


def add_outer(double[:, ::1] A, const double[:, ::1] U, double scale):
    """Add scale U' U to A (n, n) in place, for a few rows of U (q, n): A is read once."""
    cdef Py_ssize_t q = U.shape[0], n = U.shape[1], i, j, k
    cdef double step
    if A.shape[0] != n or A.shape[1] != n:
        raise ValueError("add_outer: A (n, n) and U (q, n) do not fit each other")
    with nogil:
        for i in range(n):
            for k in range(q):
                step = scale * U[k, i]
                for j in range(n):
                    A[i, j] += step * U[k, j]


def block_plus(
    const double[:, :] A, const Py_ssize_t[::1] at, const double[:, ::1] Z, const double[::1] w,
    double[:, ::1] out,
):
    """Write the block of A in some rows and columns, padded with zeros, + Z' diag(w) Z to ``out``.

    A (N, N) has contiguous rows; ``at`` (m,) are positions in it. Z is (q, n), w (q,) and ``out``
    (n, n), with m <= n. A and ``out`` are passed over once.
    """
    cdef Py_ssize_t q = Z.shape[0], n = Z.shape[1], m = at.shape[0], N = A.shape[0], i, j, k
    cdef double step
    cdef const double* row
    if (A.shape[1] != N or w.shape[0] != q or m > n or out.shape[0] != n or out.shape[1] != n
            or (N > 1 and A.strides[1] != sizeof(double))):
        raise ValueError("block_plus: A (N, N), at (m,), Z (q, n), w (q,), out (n, n) do not fit")
    for i in range(m):
        if not 0 <= at[i] < N:
            raise ValueError("block_plus: the positions must be rows of A")
    with nogil:
        for i in range(n):
            if i < m:
                row = &A[at[i], 0]
                for j in range(m):
                    out[i, j] = row[at[j]]
                j = m
            else:
                j = 0
            while j < n:
                out[i, j] = 0.0
                j += 1
            for k in range(q):
                step = w[k] * Z[k, i]
                for j in range(n):
                    out[i, j] += step * Z[k, j]
