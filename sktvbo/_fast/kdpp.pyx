"""Determinantal point processes of k items: greedy maximization, and the swap chain.

Greedy. A pivoted Cholesky factorization: after m choices row l < m of L (k, N) is column l of the
factor of all of K, and residual[j] = K_jj - sum_l L_lj^2 is the Schur complement of item j given
the chosen ones (SparQ algorithm 3), the factor of the determinant if j is next. One column of K per
choice, O(N m) each: O(N k^2) time and O(N k) memory in total.

The chain (SparQ algorithm 2). With B = K_Z^-1 for the state Z, b = K_Zj, w = B b and the Schur
complement s = K_jj - b'w, replacing i at position p by j multiplies the determinant by

    det K_Z' / det K_Z = B_pp t,    t = s + w_p^2 / B_pp,

where t is the Schur complement of j given Z without i, and 1 / B_pp that of i: O(k^2) for the
product B b, and the only subtraction is in s. On acceptance, with v = w - B_p w_p / B_pp and
v_p = -1,

    B <- B - B_p B_p' / B_pp + v v' / t.

Half of the proposals are rejected by their random number alone.

Rounding. Leaving a nearly singular state subtracts large numbers, and the next such state amplifies
the error; even a new inverse is less accurate than its factor. Two residuals are therefore checked,
O(k): of the equation in K_Z w = b that belongs to the item most similar to j, in the same cluster
if there are clusters, and of the p-th one in K_Z B_p = e_p. There are three ways to decide:

- By the ratio above, if the residuals are tiny and both pivots, of i and of j, far from rounding.
  Otherwise the ratio can only reject: the random number must exceed it by a quarter plus many times
  the residuals.
- By t_j / t_i, both Schur complements given Z without i from K itself, with B only as the
  preconditioner of an iterative refinement, O(k^2). With x near the solution of K_-i x = b,
  B_-i = B - B_p B_p' / B_pp, the residual r = b - K_-i x and its correction d = B_-i r,

      t = K_jj - b'x - r'x - r'd

  has an error of third order in that of x, and r'd / t measures it in any units. B is updated with
  its own column p, which removes the errors of i, and with the refined x for v, which adds none.
- By the determinants of K_Z and K_Z' from their factors, O(k^3), if refinement fails, as in states
  that are singular up to rounding, and to accept after a fixed number of updates.
"""

cdef extern from *:
    """
    /* For aligned matrices with rows padded with zeros to whole vectors. Compiled for several
       generations of processors if the compiler supports it; the loader selects one. Faster than
       BLAS, whose calls cost as much as the work at these sizes. */
    #if defined(__x86_64__) && defined(__GLIBC__) && !defined(__clang__)
    #define CLONES __attribute__((target_clones("default", "avx2", "avx512f")))
    #else
    #define CLONES
    #endif
    #if defined(__GNUC__)
    #define ALIGNED(pointer) __builtin_assume_aligned(pointer, 64)
    #else
    #define ALIGNED(pointer) (pointer)
    #endif
    #define LANES 8  /* doubles of 64 bytes */

    /* w = B b; B (k, LANES * n), b (LANES * n,), w (k,) */
    CLONES static void product(const double *B, const double *b, double *w, int k, int n) {
        b = ALIGNED(b);
        for (int r = 0; r < k; r++) {
            const double *row = ALIGNED(B + (size_t) r * n * LANES);
            double total = 0.0;
            for (int m = 0; m < n * LANES; m++) total += row[m] * b[m];
            w[r] = total;
        }
    }

    /* B <- B + v v' - g g'; B (k, LANES * n), v and g (LANES * n,) */
    CLONES static void rank_two(double *B, const double *v, const double *g, int k, int n) {
        v = ALIGNED(v);
        g = ALIGNED(g);
        for (int r = 0; r < k; r++) {
            double *row = ALIGNED(B + (size_t) r * n * LANES);
            for (int m = 0; m < n * LANES; m++) row[m] += v[r] * v[m] - g[r] * g[m];
        }
    }
    """
    const int LANES
    void product(const double* B, const double* b, double* w, int k, int n) noexcept nogil
    void rank_two(double* B, const double* v, const double* g, int k, int n) noexcept nogil

from libc.math cimport exp, fabs, log, sqrt
from libc.stdint cimport uintptr_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy

from scipy.linalg.cython_blas cimport ddot, dgemv, idamax
from scipy.linalg.cython_lapack cimport dpotrf, dpotri

# A ratio is used if residuals are below RESIDUAL and pivots above PIVOT, relative to the variances.
cdef double RESIDUAL = 1e-10
cdef double PIVOT = 1e-4
# A Schur complement's relative error is below this number of residuals of one equation.
cdef double SAFETY = 100.0
# Factor on the ratio before a rejection, as the residual may be small by chance.
cdef double SLACK = 1.25
# Relative change of t by the last correction at which refinement has converged.
cdef double CONVERGED = 1e-8
# Largest number of corrections in a refinement.
cdef int REFINEMENTS = 3
# A square tile of this size and its mirror image fit into the fastest cache.
cdef Py_ssize_t TILE = 16


def is_symmetric(const double[:, ::1] K):
    """Return True if K is finite and exactly symmetric.

    Tile by tile: each is read along its rows, its mirror image from the cache.
    """
    cdef Py_ssize_t N = K.shape[0], n_tiles = (N + TILE - 1) // TILE, I, J, r, c
    cdef bint right = True
    if K.shape[1] != N:
        raise ValueError("K must be square")
    with nogil:
        for I in range(n_tiles):
            for J in range(I + 1):
                for r in range(I * TILE, min((I + 1) * TILE, N)):
                    for c in range(J * TILE, min((J + 1) * TILE, r + 1)):
                        # NaN or infinity on both sides give NaN, which is not 0.
                        right &= K[r, c] - K[c, r] == 0.0
                if not right:
                    break
            if not right:
                break
    return right


def best(const double[::1] residual, const double[::1] diagonal, double tol):
    """Return the item with the largest residual, the lowest index in a tie; -1 if all are zero.

    A residual of at most ``tol`` times the diagonal counts as zero, and two that differ by less as
    tied: points of a regular grid often differ by rounding errors only.
    """
    cdef Py_ssize_t N = residual.shape[0], j, found = -1
    cdef double threshold
    if diagonal.shape[0] != N:
        raise ValueError("residual and diagonal must be of one length")
    with nogil:
        for j in range(N):
            if residual[j] > tol * diagonal[j] and (found < 0 or residual[j] > residual[found]):
                found = j
        if found >= 0:
            threshold = residual[found] - tol * diagonal[found]
            for j in range(found):
                if residual[j] > tol * diagonal[j] and residual[j] >= threshold:
                    found = j
                    break
    return found


def eliminate(
    const double[::1] column, double[:, ::1] L, double[::1] residual, Py_ssize_t m, Py_ssize_t j
):
    """Write row m of L (k, N), given those before it, and update the residuals after choice j.

    ``column`` is column j of K. Its entry j is unused; the residual replaces it.
    """
    cdef Py_ssize_t N = residual.shape[0], c
    if column.shape[0] != N or L.shape[1] != N or not 0 <= m < L.shape[0] or not 0 <= j < N:
        raise ValueError("eliminate: column, residual (N,), L (k, N), m < k and j < N are needed")
    if not residual[j] > 0.0:
        raise ValueError("the residual of the chosen item must be positive")
    cdef int N_ = <int> N, m_ = <int> m, one = 1
    cdef double minus = -1.0, unit = 1.0, pivot = sqrt(residual[j])
    cdef char plain = b"N"
    with nogil:
        memcpy(&L[m, 0], &column[0], N * sizeof(double))
        if m > 0:
            dgemv(&plain, &N_, &m_, &minus, &L[0, 0], &N_, &L[0, j], &N_, &unit, &L[m, 0], &one)
        for c in range(N):
            L[m, c] /= pivot
            residual[c] -= L[m, c] * L[m, c]
        L[m, j] = pivot
        residual[j] = 0.0


cdef bint _invert(const double* A, double* B, int k, int ld, double* log_det) noexcept nogil:
    """Compute B = A^-1 and log det A; False, with B undefined, if A is not positive definite."""
    cdef char uplo = b"U"
    cdef int info
    cdef Py_ssize_t r, c
    cdef double total = 0.0
    memcpy(B, A, k * ld * sizeof(double))
    dpotrf(&uplo, &k, B, &ld, &info)
    if info != 0:
        return False
    for r in range(k):
        total += log(B[r * ld + r])
    log_det[0] = 2.0 * total
    dpotri(&uplo, &k, B, &ld, &info)
    for r in range(k):
        for c in range(r):
            B[c * ld + r] = B[r * ld + c]
    return info == 0


cdef void _replace(
    double* A, const double* b, double corner, Py_ssize_t k, Py_ssize_t ld, Py_ssize_t p
) noexcept nogil:
    """Replace row and column p of A by b, with ``corner`` on the diagonal."""
    cdef Py_ssize_t m
    for m in range(k):
        A[m * ld + p] = b[m]
        A[p * ld + m] = b[m]
    A[p * ld + p] = corner


cdef void _update(
    double* B, double* v, double t, int k, int ld, Py_ssize_t p, double* g
) noexcept nogil:
    """Update the inverse after the swap at p; v is overwritten, and g (ld,) scratch."""
    cdef Py_ssize_t m
    # Factors are split as roots over both vectors, which keeps B symmetric.
    cdef double x = 1.0 / sqrt(t), y = 1.0 / sqrt(B[p * ld + p])
    for m in range(k):
        v[m] *= x
        g[m] = y * B[p * ld + m]
    rank_two(B, v, g, k, ld // LANES)
    # In row and column p the two large terms cancel exactly: the remainder is written instead.
    for m in range(k):
        B[p * ld + m] = -x * v[m]
        B[m * ld + p] = -x * v[m]


cdef double _complement(
    double* A, double* B, double* b, double corner, double* x, int k, int ld,
    Py_ssize_t p, double* r, double* d
) noexcept nogil:
    """Return the Schur complement of an item given all but that at p; zero if refinement fails.

    x is A_-p^-1 b, refined in place, with x_p = 0. r and d are scratch; all are padded (ld,).
    """
    cdef Py_ssize_t m, attempt
    cdef int one = 1
    cdef double t, step, square
    cdef double* g = B + p * ld
    x[p] = 0.0
    for attempt in range(REFINEMENTS):
        product(A, x, r, k, ld // LANES)
        for m in range(k):
            r[m] = b[m] - r[m]
        r[p] = 0.0
        product(B, r, d, k, ld // LANES)
        step = d[p] / g[p]
        for m in range(k):
            d[m] -= step * g[m]
        d[p] = 0.0
        square = ddot(&k, r, &one, d, &one)
        t = corner - ddot(&k, b, &one, x, &one) - ddot(&k, r, &one, x, &one) - square
        for m in range(k):
            x[m] += d[m]
        if fabs(square) <= CONVERGED * t:
            return t
    return 0.0


cdef int _check(
    Py_ssize_t N, const Py_ssize_t[::1] Z, const Py_ssize_t[::1] rest,
    const Py_ssize_t[::1] leave, const Py_ssize_t[::1] enter,
) except -1:
    """Check that Z and rest form a permutation, and that positions are in range."""
    cdef Py_ssize_t k = Z.shape[0], n_rest = rest.shape[0], m, item
    cdef bint right = True
    if k == 0 or k + n_rest != N:
        raise ValueError("Z, not empty, and rest must hold each item once")
    cdef char* seen = <char*> calloc(N, 1)
    if seen == NULL:
        raise MemoryError(f"no memory for {N} bytes")
    with nogil:
        for m in range(N):
            item = Z[m] if m < k else rest[m - k]
            if item < 0 or item >= N or seen[item]:
                right = False
                break
            seen[item] = 1
        free(seen)
    if not right:
        raise ValueError("Z, not empty, and rest must hold each item once")
    with nogil:
        for m in range(leave.shape[0]):
            if not (0 <= leave[m] < k and 0 <= enter[m] < n_rest):
                right = False
                break
    if not right:
        raise ValueError("leave must hold positions in Z and enter positions in rest")
    return 0


def swap_chain(
    const double[:, ::1] K, Py_ssize_t[::1] Z, Py_ssize_t[::1] rest,
    const Py_ssize_t[::1] leave, const Py_ssize_t[::1] enter, const double[::1] u,
    double tol, Py_ssize_t period, Py_ssize_t[:, ::1] trace=None,
):
    """Make n proposals, changing Z (k,) and rest (N - k,) in place.

    Proposal m exchanges Z[leave[m]] and rest[enter[m]] if u[m] < min(1, ratio of determinants) / 2,
    unless the Schur complement of the new item is at most ``tol`` times its variance. The inverse
    is recomputed after ``period`` updates. Row r of ``trace`` (n / thin, k) is Z after thin (r + 1)
    proposals. Returns log det K_Z and the number of accepted proposals.
    """
    cdef Py_ssize_t N = K.shape[0], k = Z.shape[0], n = u.shape[0]
    if K.shape[1] != N or leave.shape[0] != n or enter.shape[0] != n:
        raise ValueError("K must be square; leave, enter and u of one length")
    _check(N, Z, rest, leave, enter)
    cdef Py_ssize_t thin = n + 1, n_rows = 0
    if trace is not None and trace.shape[0] > 0:
        n_rows = trace.shape[0]
        if trace.shape[1] != k or n % n_rows != 0:
            raise ValueError("trace must have k columns, and its number of rows divide n")
        thin = n // n_rows
    cdef int k_ = <int> k, one = 1
    cdef double log_det = 0.0, proposed = 0.0
    cdef double s, t, lost, ratio, x_p, B_pp, K_ii, K_jj, gap_i, gap_j, bound
    cdef Py_ssize_t step, m, c, p, q, i, j, since = 0, accepted = 0, row = 0
    cdef bint usable, sure
    cdef int n_vectors = <int> ((k + LANES - 1) // LANES), ld = LANES * n_vectors
    cdef size_t n_memory = (4 * k + 7) * ld + LANES
    cdef double* memory = <double*> calloc(n_memory, sizeof(double))
    if memory == NULL:
        raise MemoryError(f"no memory for {n_memory} doubles")
    cdef uintptr_t alignment = LANES * sizeof(double)
    # A is K_Z, and B its inverse.
    cdef double* A = <double*> ((<uintptr_t> memory + alignment - 1) // alignment * alignment)
    cdef double* B = A + k * ld
    cdef double* A_new = B + k * ld
    cdef double* B_new = A_new + k * ld
    cdef double* b = B_new + k * ld
    cdef double* w = b + ld
    cdef double* v = w + ld
    cdef double* x = v + ld
    cdef double* r = x + ld
    cdef double* d = r + ld
    cdef double* g = d + ld
    cdef bint regular
    with nogil:
        for m in range(k):
            for c in range(k):
                A[m * ld + c] = K[Z[m], Z[c]]
        regular = _invert(A, B, k_, ld, &log_det)
        for step in range(n if regular else 0):
            if n_rows > 0 and step > 0 and step % thin == 0:
                for m in range(k):
                    trace[row, m] = Z[m]
                row += 1
            if not u[step] < 0.5:
                continue
            p = leave[step]
            i, j = Z[p], rest[enter[step]]
            for m in range(k):
                b[m] = K[j, Z[m]]
            K_ii, K_jj = A[p * ld + p], K[j, j]
            if not K_jj > 0.0:
                continue
            product(B, b, w, k_, n_vectors)
            s = K_jj - ddot(&k_, b, &one, w, &one)
            B_pp = B[p * ld + p]
            t = (s if s > 0.0 else 0.0) + w[p] * w[p] / B_pp
            ratio = B_pp * t
            # Item q of Z is most similar to j.
            q = idamax(&k_, b, &one) - 1
            gap_j = fabs(ddot(&k_, &A[q * ld], &one, w, &one) - b[q])
            gap_j /= sqrt(A[q * ld + q]) * sqrt(K_jj)
            gap_i = fabs(ddot(&k_, &A[p * ld], &one, &B[p * ld], &one) - 1.0)
            sure = (gap_j <= RESIDUAL and gap_i <= RESIDUAL
                    and t > PIVOT * K_jj and PIVOT * B_pp * K_ii < 1.0)
            bound = ratio
            if not sure:
                bound = (SLACK * ratio + SAFETY * gap_j * B_pp * K_jj) * (1.0 + SAFETY * gap_i)
            if B_pp > 0.0 and u[step] >= 0.5 * bound:
                continue
            x_p = w[p] / B_pp
            for m in range(k):
                v[m] = w[m] - x_p * B[p * ld + m]
            usable = since < period and B_pp > 0.0
            if usable and not sure:
                for m in range(k):
                    x[m] = -B[p * ld + m] / B_pp
                t = _complement(A, B, b, K_jj, v, k_, ld, p, r, d)
                lost = _complement(A, B, &A[p * ld], K_ii, x, k_, ld, p, r, d)
                usable = t > 0.0 and lost > 0.0
                ratio = t / lost
            if usable:
                if not (t > tol * K_jj and u[step] < 0.5 * ratio):
                    continue
                v[p] = -1.0
                _update(B, v, t, k_, ld, p, g)
                log_det += log(ratio)
                since += 1
            else:
                if since > 0 and _invert(A, B_new, k_, ld, &proposed):
                    B, B_new = B_new, B
                    log_det = proposed
                    since = 0
                memcpy(A_new, A, k * ld * sizeof(double))
                _replace(A_new, b, K_jj, k, ld, p)
                if (not _invert(A_new, B_new, k_, ld, &proposed)
                        or not tol * K_jj * B_new[p * ld + p] < 1.0
                        or not u[step] < 0.5 * exp(proposed - log_det)):
                    continue
                B, B_new = B_new, B
                log_det = proposed
                since = 0
            _replace(A, b, K_jj, k, ld, p)
            Z[p] = j
            rest[enter[step]] = i
            accepted += 1
        # Recomputed, as log_det accumulates the errors of all ratios.
        if since > 0 and _invert(A, B_new, k_, ld, &proposed):
            log_det = proposed
        if n_rows > 0 and regular:
            for m in range(k):
                trace[row, m] = Z[m]
    free(memory)
    if not regular:
        raise ValueError("the state that the chain starts from is singular")
    return log_det, accepted
