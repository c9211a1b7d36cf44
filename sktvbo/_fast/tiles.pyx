"""Cholesky factors, inverses and products of small matrices in one thread.

A BLAS starts its threads even for small matrices, where on a busy machine they wait for cores and
for each other. A limit on its threads would affect the whole process. Below 64 x 64 x 64, however,
every BLAS multiplies in the calling thread. All operations here consist of such products, or of the
faster ones of product.h, tile by tile, as fast as single-threaded LAPACK.

Triangular tiles on the diagonal are inverted, so a solve with them is a product as well. They are
small, and no worse conditioned than the whole matrix.

Matrices are C-ordered. Factors and inverses are lower triangles; the other triangle is not read and
its content is undefined.
"""

from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

from scipy.linalg.cython_blas cimport dgemm
from scipy.linalg.cython_lapack cimport dpotrf, dtrtri

cdef extern from "triangle.h":
    enum: LANES "SKTVBO_LANES"
    void multiply_lanes "sktvbo_multiply_lanes"(
        Py_ssize_t m, Py_ssize_t n, Py_ssize_t ld, const double* A, const double* x, double* out
        ) noexcept nogil
    void solve_lanes "sktvbo_solve_lanes"(
        Py_ssize_t n, Py_ssize_t ld, const double* L, double* x) noexcept nogil
    void solve_lanes_transposed "sktvbo_solve_lanes_transposed"(
        Py_ssize_t n, Py_ssize_t ld, const double* L, double* x) noexcept nogil

cdef extern from "product.h":
    int OWN "SKTVBO_OWN_PRODUCT"
    void multiply_own "sktvbo_multiply_own"(
        bint transpose_a, bint transpose_b, Py_ssize_t m, Py_ssize_t n, Py_ssize_t depth,
        double alpha, const double* A, Py_ssize_t lda, const double* B, Py_ssize_t ldb,
        double beta, double* C, Py_ssize_t ldc) noexcept nogil

cdef enum:
    DEPTH = 256  # a call multiplies TILE x TILE x DEPTH numbers

cdef char UPPER = b"U", PLAIN = b"N"


cdef double* _buffer(Py_ssize_t size) except NULL:
    cdef double* p = <double*> malloc(max(size, 1) * sizeof(double))
    if p == NULL:
        raise MemoryError(f"no memory for {size} doubles")
    return p


cdef int _check(const double[:, ::1] L, Py_ssize_t n) except -1:
    if n < 0 or n > L.shape[0] or L.shape[0] != L.shape[1]:
        raise ValueError("the matrix must be square with at least n rows")
    return 0


cdef void multiply(
    char op_a, char op_b, Py_ssize_t m, Py_ssize_t n, Py_ssize_t depth, double alpha,
    const double* A, Py_ssize_t lda, const double* B, Py_ssize_t ldb, double beta,
    double* C, Py_ssize_t ldc,
) noexcept nogil:
    """Compute C = alpha op(A) op(B) + beta C, op(A) (m, depth), op(B) (depth, n), C-ordered."""
    cdef Py_ssize_t i = 0, j, k, step_a = 1 if op_a == PLAIN else lda
    cdef Py_ssize_t row_a = lda if op_a == PLAIN else 1
    cdef Py_ssize_t step_b = ldb if op_b == PLAIN else 1, col_b = 1 if op_b == PLAIN else ldb
    cdef int mm, nn, kk, la = <int> lda, lb = <int> ldb, lc = <int> ldc
    cdef double kept
    if OWN and depth > 0:
        multiply_own(op_a != PLAIN, op_b != PLAIN, m, n, depth, alpha, A, lda, B, ldb, beta, C, ldc)
        return
    while i < m:
        mm = <int> min(TILE, m - i)
        j = 0
        while j < n:
            nn = <int> min(TILE, n - j)
            k = 0
            while k < depth:
                kk = <int> min(DEPTH, depth - k)
                kept = beta if k == 0 else 1.0
                # BLAS reads rows as columns: C' = op(B)' op(A)'.
                dgemm(&op_b, &op_a, &nn, &mm, &kk, &alpha,
                      <double*> B + k * step_b + j * col_b, &lb,
                      <double*> A + i * row_a + k * step_a, &la, &kept, C + i * ldc + j, &lc)
                k += DEPTH
            j += TILE
        i += TILE


cdef void _copy(
    const double* A, Py_ssize_t lda, Py_ssize_t m, Py_ssize_t n, double* B, Py_ssize_t ldb,
) noexcept nogil:
    """Copy A to B (m, n)."""
    cdef Py_ssize_t i
    for i in range(m):
        memcpy(B + i * ldb, A + i * lda, n * sizeof(double))


cdef void _invert(const double* L, Py_ssize_t ld, Py_ssize_t n, double* D) noexcept nogil:
    """Write the inverse of a triangular tile to D (n, n), in rows of TILE, 0 above the diagonal."""
    cdef Py_ssize_t i, j
    cdef int n_ = <int> n, tile = TILE, info
    for i in range(n):
        for j in range(n):
            D[i * TILE + j] = L[i * ld + j] if j <= i else 0.0
    dtrtri(&UPPER, &PLAIN, &n_, D, &tile, &info)


def factor(double[:, ::1] A):
    """Compute the lower Cholesky factor of A (n, n), in place; False if A is not definite."""
    cdef Py_ssize_t n = A.shape[0], ld = A.shape[1], j = 0, r, w, h
    cdef int w_, ld_ = <int> ld, info = 0
    _check(A, n)
    if n == 0:
        return True
    cdef double* a = &A[0, 0]
    cdef double* D = _buffer(2 * TILE * TILE)
    cdef double* T = D + TILE * TILE
    with nogil:
        while j < n and info == 0:
            w = min(TILE, n - j)
            w_ = <int> w
            multiply(b"N", b"T", w, w, j, -1.0, a + j * ld, ld, a + j * ld, ld, 1.0,
                      a + j * ld + j, ld)
            dpotrf(&UPPER, &w_, a + j * ld + j, &ld_, &info)
            if info == 0 and j + w < n:
                _invert(a + j * ld + j, ld, w, D)
                r = j + w
                while r < n:
                    h = min(TILE, n - r)
                    _copy(a + r * ld + j, ld, h, w, T, TILE)
                    multiply(b"N", b"T", h, w, j, -1.0, a + r * ld, ld, a + j * ld, ld, 1.0,
                              T, TILE)
                    multiply(b"N", b"T", h, w, w, 1.0, T, TILE, D, TILE, 0.0,
                              a + r * ld + j, ld)
                    r += TILE
            j += TILE
    free(D)
    return info == 0


def inverse(double[:, ::1] L):
    """Overwrite L (n, n) by the lower triangle of (L L')^-1."""
    cdef Py_ssize_t n = L.shape[0], ld = L.shape[1], i, r, h, j
    _check(L, n)
    if n == 0:
        return
    cdef double* a = &L[0, 0]
    cdef double* D = _buffer(TILE * TILE + TILE * n)
    cdef double* T = D + TILE * TILE
    with nogil:
        # First L^-1 from the top: a row of tiles is -D (row of L) (inverse above it).
        r = 0
        while r < n:
            h = min(TILE, n - r)
            _invert(a + r * ld + r, ld, h, D)
            j = 0
            while j < r:
                multiply(b"N", b"N", h, TILE, r - j, -1.0, a + r * ld + j, ld, a + j * ld + j,
                          ld, 0.0, T + j, n)
                j += TILE
            multiply(b"N", b"N", h, r, h, 1.0, D, TILE, T, n, 0.0, a + r * ld, ld)
            _copy(D, TILE, h, h, a + r * ld + r, ld)
            r += TILE
        # Then its product with its transpose, from the top as well: rows above are not read.
        r = 0
        while r < n:
            h = min(TILE, n - r)
            _copy(a + r * ld + r, ld, h, h, D, TILE)
            _copy(a + r * ld, ld, h, r + h, T, n)
            multiply(b"T", b"N", h, r + h, h, 1.0, D, TILE, T, n, 0.0, a + r * ld, ld)
            multiply(b"T", b"N", h, r + h, n - r - h, 1.0, a + (r + h) * ld + r, ld,
                      a + (r + h) * ld, ld, 1.0, a + r * ld, ld)
            r += TILE
    free(D)


cdef void solve(
    const double* a, Py_ssize_t ld, Py_ssize_t n, double* B, Py_ssize_t m, bint transpose,
    double* work,
) noexcept nogil:
    """Replace each row of B (m, n) by L^-1 b, or by L^-T b; ``work`` holds 2 TILE x TILE."""
    cdef Py_ssize_t t, j, w, i, h
    cdef double* b
    cdef double* D = work
    cdef double* T = D + TILE * TILE
    for t in range((n + TILE - 1) // TILE):
        j = TILE * ((n - 1) // TILE - t if transpose else t)
        w = min(TILE, n - j)
        _invert(a + j * ld + j, ld, w, D)
        i = 0
        while i < m:
            h = min(TILE, m - i)
            b = B + i * n
            _copy(b + j, n, h, w, T, TILE)
            if transpose:
                multiply(b"N", b"N", h, w, n - j - w, -1.0, b + j + w, n,
                          a + (j + w) * ld + j, ld, 1.0, T, TILE)
                multiply(b"N", b"N", h, w, w, 1.0, T, TILE, D, TILE, 0.0, b + j, n)
            else:
                multiply(b"N", b"T", h, w, j, -1.0, b, n, a + j * ld, ld, 1.0, T, TILE)
                multiply(b"N", b"T", h, w, w, 1.0, T, TILE, D, TILE, 0.0, b + j, n)
            i += TILE


def solve_lower(const double[:, ::1] L, Py_ssize_t n, double[:, ::1] B, bint transpose=False):
    """Solve L X = B, or L' X = B, in place; each *row* of B (m, n) is one right-hand side.

    L is the leading n x n block.
    """
    cdef Py_ssize_t m = B.shape[0], ld = L.shape[1]
    _check(L, n)
    if B.shape[1] != n:
        raise ValueError("each row of B must hold n numbers")
    if n == 0 or m == 0:
        return
    cdef double* work = _buffer(2 * TILE * TILE)
    with nogil:
        solve(&L[0, 0], ld, n, &B[0, 0], m, transpose, work)
    free(work)


cdef void lanes_of(const double* B, Py_ssize_t n, Py_ssize_t m, double* x) noexcept nogil:
    """Write m <= LANES rows B (m, n) as columns of x (n, LANES), padded with zeros."""
    cdef Py_ssize_t i, j
    for j in range(n):
        for i in range(m):
            x[j * LANES + i] = B[i * n + j]
        for i in range(m, LANES):
            x[j * LANES + i] = 0.0


cdef void solve_few(
    const double* L, Py_ssize_t ld, Py_ssize_t n, double* B, Py_ssize_t m, bint transpose,
    double* work,
) noexcept nogil:
    """`solve` for m <= LANES rows, as columns of ``work`` (n, LANES): L is read once."""
    cdef Py_ssize_t i, j
    lanes_of(B, n, m, work)
    if transpose:
        solve_lanes_transposed(n, ld, L, work)
    else:
        solve_lanes(n, ld, L, work)
    for i in range(m):
        for j in range(n):
            B[i * n + j] = work[j * LANES + i]


def product(const double[:, ::1] A, const double[:, ::1] B, double[:, ::1] out):
    """Write A B to ``out`` (m, n); A (m, k), B (k, n)."""
    cdef Py_ssize_t m = A.shape[0], n = B.shape[1], depth = A.shape[1]
    if B.shape[0] != depth or out.shape[0] != m or out.shape[1] != n:
        raise ValueError("product: A (m, k), B (k, n) and out (m, n) do not fit each other")
    if m == 0 or n == 0:
        return
    if depth == 0:
        out[:] = 0.0
        return
    with nogil:
        multiply(b"N", b"N", m, n, depth, 1.0, &A[0, 0], depth, &B[0, 0], n, 0.0, &out[0, 0], n)


def half_product(const double[:, ::1] A, const double[:, ::1] C, double[:, ::1] out):
    """Write A T to ``out`` (m, n), for A (m, n) and a symmetric C = T + T' (n, n).

    T is lower triangular in tiles, and half of C in those on its diagonal: half of the operations
    of A C. Of C the upper triangle of tiles is not read.
    """
    cdef Py_ssize_t m = A.shape[0], n = A.shape[1], j = 0, w, r
    if C.shape[0] != n or C.shape[1] != n or out.shape[0] != m or out.shape[1] != n:
        raise ValueError("half_product: A (m, n), C (n, n) and out (m, n) do not fit each other")
    if m == 0 or n == 0:
        return
    cdef const double* a = &A[0, 0]
    cdef const double* c = &C[0, 0]
    cdef double* o = &out[0, 0]
    with nogil:
        while j < n:
            w = min(TILE, n - j)
            r = j + w
            multiply(b"N", b"N", m, w, w, 0.5, a + j, n, c + j * n + j, n, 0.0, o + j, n)
            if r < n:
                multiply(b"N", b"N", m, w, n - r, 1.0, a + r, n, c + r * n + j, n, 1.0, o + j, n)
            j += TILE


def product_with_few(const double[:, :] A, const double[:, ::1] B, double[:, ::1] out):
    """Write A B to ``out`` (m, c), for few columns: A (m, n) is read once for eight of them.

    A may be a block of a larger array, with contiguous rows.
    """
    cdef Py_ssize_t m = A.shape[0], n = A.shape[1], c = B.shape[1], i, j, k, w
    if B.shape[0] != n or out.shape[0] != m or out.shape[1] != c:
        raise ValueError("product_with_few: A (m, n), B (n, c) and out (m, c) do not fit")
    if n > 1 and A.strides[1] != sizeof(double):
        raise ValueError("product_with_few: the rows of A must be contiguous")
    if m == 0 or c == 0:
        return
    if n == 0:
        out[:] = 0.0
        return
    cdef double* x = _buffer((n + m) * LANES)
    cdef double* y = x + n * LANES
    with nogil:
        k = 0
        while k < c:
            w = min(LANES, c - k)
            for j in range(n):
                for i in range(LANES):
                    x[j * LANES + i] = B[j, k + i] if i < w else 0.0
            multiply_lanes(m, n, A.strides[0] // <Py_ssize_t> sizeof(double), &A[0, 0], x, y)
            for j in range(m):
                for i in range(w):
                    out[j, k + i] = y[j * LANES + i]
            k += LANES
    free(x)
