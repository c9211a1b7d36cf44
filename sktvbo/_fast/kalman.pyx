"""Kalman filter and smoother of several inputs with one dynamics.

The state is z = (z_1, ..., z_p), each z_a with a number per input, M inputs, N = p M numbers. Its
covariance P (N, N) has the prior sum_g T_g (x) K_g, with K_g (M, M) in space and T_g (p, p) in time
of each of s independent groups. From one time to the next z becomes (A (x) 1) z and P becomes
(A (x) 1) P (A (x) 1)' + sum_g Q_g (x) K_g. At each time, z_1 is observed at b >= 0 of the inputs,
with noise R: with H the observed rows of the identity, C = H P, S = C H' + diag(R) = L L',
U = L^-1 C and E = L^-1 (Y - H m),

    m <- m + U' E,    P <- P - U' U,    and then  P H' = C' S^-1 diag(R) in the observed rows and
    columns, which is accurate where the subtraction cancels (the aim of Joseph's form).

Targets are Y (n, k), k columns with one covariance. Means are (k, N).

The backward pass (Bryson and Frazier's smoother; de Jong's r and N) carries the derivatives of the
log likelihood of later observations: r (k, N) in the mean, (r r' - Lambda) / 2 in the covariance.
Observations change both in the observed rows, and Lambda in the observed columns:

    r <- r + H' S^-1 (Y - H m - C r),    Lambda <- (1 - H' S^-1 C) Lambda (1 - C' S^-1 H) + H' S^-1 H.

The rows of the matrix on the left are D = S^-1 diag(R) in observed columns, and -S^-1 C in the
others: no difference cancels. Each entry of Lambda is written to both triangles. An antisymmetric
part, which rounding adds, would not be contracted with the rest and could grow exponentially.

No covariance is inverted, so K may be singular. O(N^2 b) per time for p = 1, all in BLAS.
"""

from libc.math cimport log, sqrt
from libc.string cimport memcpy, memset

from scipy.linalg.cython_blas cimport dgemm, dtrsm
from scipy.linalg.cython_lapack cimport dpotrf, dpotri

import numpy as np

# States of at most this many numbers an input are mixed by loops, others by BLAS.
cdef enum:
    UNROLLED = 3


cdef void _mix(const double* A, Py_ssize_t p, Py_ssize_t M, double* z, bint transpose,
               double* work) noexcept nogil:
    """Update z (p, M) <- A z or A' z; ``work`` as for `_move`."""
    cdef double old[UNROLLED]
    cdef Py_ssize_t a, b, j
    cdef double total
    if p > UNROLLED:
        _multiply(A, p, M, z, transpose, work)
        memcpy(z, work, p * M * sizeof(double))
        return
    for j in range(M):
        for a in range(p):
            old[a] = z[a * M + j]
        for a in range(p):
            total = 0.0
            for b in range(p):
                total = total + (A[b * p + a] if transpose else A[a * p + b]) * old[b]
            z[a * M + j] = total


cdef void _multiply(const double* A, Py_ssize_t p, Py_ssize_t n, const double* X, bint transpose,
                    double* out) noexcept nogil:
    """Write A X or A' X, X (p, n), to ``out``."""
    cdef int p_ = <int> p, n_ = <int> n
    cdef char no = b"N", trans = b"T" if transpose else b"N"
    cdef double one = 1.0, zero = 0.0
    # Matrices by rows are their transposes to BLAS.
    dgemm(&no, &trans, &n_, &p_, &p_, &one, <double*> X, &n_, <double*> A, &p_, &zero, out, &n_)


cdef void _transposed(const double* X, Py_ssize_t n, double* out) noexcept nogil:
    """Write the transpose of X (n, n) to ``out``."""
    cdef Py_ssize_t i, j
    for i in range(n):
        for j in range(n):
            out[i * n + j] = X[j * n + i]


cdef void _move(const double* A, const double* Q, const double* K, Py_ssize_t s, Py_ssize_t p,
                Py_ssize_t M, double* P, bint transpose, double* work) noexcept nogil:
    """Update P <- (A (x) 1) P (A (x) 1)' + sum_g Q_g (x) K_g; with A' for A, without Q if s = 0.

    ``work`` (N, N) is used for p > UNROLLED only.
    """
    cdef Py_ssize_t N = p * M, i, j, a, b, g
    cdef double c, q
    if p == 1 and s < 2:
        c = A[0] * A[0]
        q = Q[0] if s else 0.0
        if c == 1.0 and q == 0.0:
            return
        if q == 0.0:
            for i in range(N * N):
                P[i] = c * P[i]
        else:
            for i in range(N * N):
                P[i] = c * P[i] + q * K[i]
        return
    # Each row has p numbers per input: first the columns are mixed, then the rows.
    cdef double old[UNROLLED]
    if p > UNROLLED:
        # P is symmetric, and so is the result.
        _multiply(A, p, M * N, P, transpose, work)
        _transposed(work, N, P)
        _multiply(A, p, M * N, P, transpose, work)
        memcpy(P, work, N * N * sizeof(double))
    else:
        for i in range(N):
            _mix(A, p, M, P + i * N, transpose, work)
        for i in range(M):
            for j in range(N):
                for a in range(p):
                    old[a] = P[(a * M + i) * N + j]
                for a in range(p):
                    c = 0.0
                    for b in range(p):
                        c = c + (A[b * p + a] if transpose else A[a * p + b]) * old[b]
                    P[(a * M + i) * N + j] = c
    for g in range(s):
        for a in range(p):
            for b in range(p):
                q = Q[(g * p + a) * p + b]
                if q == 0.0:
                    continue
                for i in range(M):
                    for j in range(M):
                        P[(a * M + i) * N + b * M + j] += q * K[(g * M + i) * M + j]


cdef int _observe(const Py_ssize_t* site, const double* Y, const double* R, Py_ssize_t b,
                  Py_ssize_t k, Py_ssize_t N, const double* m, const double* P,
                  double* C, double* L, double* E) noexcept nogil:
    """Compute C = H P (b, N), the factor L (b, b) of S, and E = L^-1 (Y - H m), (b, k). 0 if S is
    positive definite."""
    cdef Py_ssize_t i, j
    cdef int b_ = <int> b, k_ = <int> k, info = 0
    cdef char up = b"U", no = b"N", right = b"R"
    cdef double one = 1.0
    for i in range(b):
        memcpy(C + i * N, P + site[i] * N, N * sizeof(double))
        for j in range(k):
            E[i * k + j] = Y[i * k + j] - m[j * N + site[i]]
    if b == 1:
        L[0] = C[site[0]] + R[0]
        # Rounding may make a variance nonpositive.
        if not L[0] > 0.0:
            return 1
        L[0] = sqrt(L[0])
        for j in range(k):
            E[j] = E[j] / L[0]
        return 0
    for i in range(b):
        for j in range(b):
            L[i * b + j] = C[i * N + site[j]]
        L[i * b + i] += R[i]
    dpotrf(&up, &b_, L, &b_, &info)
    if info != 0:
        return info
    for i in range(b):
        # A pivot at the level of rounding errors is unusable.
        if not L[i * b + i] * L[i * b + i] > 1e-14 * (C[i * N + site[i]] + R[i]):
            return <int> i + 1
    dtrsm(&right, &up, &no, &no, &k_, &b_, &one, L, &b_, E, &k_)
    return 0


cdef void _solve(const double* L, Py_ssize_t b, Py_ssize_t n, double* B, bint transpose) noexcept nogil:
    """Update B (b, n) <- L^-1 B or L^-T B."""
    cdef char up = b"U", no = b"N", right = b"R", trans = b"T" if transpose else b"N"
    cdef int b_ = <int> b, n_ = <int> n
    cdef double one = 1.0
    cdef Py_ssize_t j
    if b == 1:
        for j in range(n):
            B[j] = B[j] / L[0]
    else:
        dtrsm(&right, &up, &trans, &no, &n_, &b_, &one, <double*> L, &b_, B, &n_)


cdef void _condition(const Py_ssize_t* site, const double* R, Py_ssize_t b, Py_ssize_t k,
                     Py_ssize_t N, const double* L, const double* E, double* C, double* m,
                     double* P) noexcept nogil:
    """Condition m and P on the observations; C, given as H P, is overwritten."""
    cdef Py_ssize_t i, j, a
    cdef int b_ = <int> b, n_ = <int> N
    cdef double c, e, one = 1.0, minus = -1.0
    cdef char no = b"N", yes = b"T"
    _solve(L, b, N, C, False)
    for j in range(k):
        for i in range(b):
            e = E[i * k + j]
            for a in range(N):
                m[j * N + a] += e * C[i * N + a]
    if b == 1:
        for i in range(N):
            c = C[i]
            for a in range(N):
                P[i * N + a] -= c * C[a]
    else:
        dgemm(&no, &yes, &n_, &n_, &b_, &minus, C, &n_, C, &n_, &one, P, &n_)
    _solve(L, b, N, C, True)
    for i in range(b):
        for a in range(N):
            c = C[i * N + a] * R[i]
            P[site[i] * N + a] = c
            P[a * N + site[i]] = c


cdef Py_ssize_t _check(
    const Py_ssize_t[::1] move, const double[:, :, ::1] A, const double[:, :, :, ::1] Q,
    const double[:, :, ::1] K, const Py_ssize_t[::1] start, const Py_ssize_t[::1] site,
    const double[:, ::1] Y, const double[::1] R,
) except -1:
    """Check the shapes and return the largest number of observations at one time, at least 1."""
    cdef Py_ssize_t T = move.shape[0], M = K.shape[2], p = A.shape[1], i, widest = 1
    if p == 0 or M == 0 or Y.shape[1] == 0 or K.shape[0] == 0:
        raise ValueError("there must be a state, a place and a column of targets")
    if (A.shape[2] != p or Q.shape[2] != p or Q.shape[3] != p or Q.shape[0] != A.shape[0]
            or K.shape[1] != M or Q.shape[1] != K.shape[0]):
        raise ValueError("A (u, p, p), Q (u, s, p, p) and K (s, M, M) do not fit together")
    if Y.shape[0] != site.shape[0] or R.shape[0] != site.shape[0]:
        raise ValueError("site (n,), Y (n, k) and R (n,) do not fit together")
    if start.shape[0] != T + 1 or start[0] < 0 or start[T] > site.shape[0]:
        raise ValueError("starts (T + 1,) must lie in [0, n]")
    for i in range(site.shape[0]):
        if not 0 <= site[i] < M:
            raise ValueError("sites must be in [0, M)")
    for i in range(T):
        if not 0 <= move[i] < A.shape[0]:
            raise ValueError("moves must be in [0, u)")
        if start[i + 1] < start[i]:
            raise ValueError("starts must not go down")
        widest = max(widest, start[i + 1] - start[i])
    return widest


cdef int _check_kept(
    const double[:, :, ::1] m, const double[:, :, ::1] P, Py_ssize_t T, Py_ssize_t k, Py_ssize_t N,
) except -1:
    if (m is None or m.shape[0] != T or m.shape[1] != k or m.shape[2] != N
            or P.shape[0] != T or P.shape[1] != N or P.shape[2] != N):
        raise ValueError("kept moments must be (T, k, N) and (T, N, N)")


def _work(Py_ssize_t p, Py_ssize_t N):
    """Return the scratch memory of `_move`."""
    return np.empty(N * N if p > UNROLLED else 1)


def filter(const Py_ssize_t[::1] move, const double[:, :, ::1] A, const double[:, :, :, ::1] Q,
           const double[:, :, ::1] K, const Py_ssize_t[::1] start, const Py_ssize_t[::1] site,
           const double[:, ::1] Y, const double[::1] R, double[:, ::1] m, double[:, ::1] P,
           double[:, ::1] sums, kept_m=None, kept_P=None):
    """Filter T times in place. Returns 0, or the time + 1 at which S is not positive definite.

    ``move`` (T,) is the index of A (u, p, p) and Q (u, s, p, p) that lead to each time. Rows
    ``start[i]`` to ``start[i + 1]`` of ``site`` (n,), Y (n, k) and R (n,) are the observations at
    time i. ``sums`` (k, k + 1) is increased by E' E, and its last column by log |S|. ``kept_m``
    (T, k, N) and ``kept_P`` (T, N, N), if given, receive mean and covariance after each time.
    """
    cdef Py_ssize_t T = move.shape[0], M = K.shape[2], p = A.shape[1], k = Y.shape[1], N = p * M
    cdef Py_ssize_t s = K.shape[0], i, j, l, q, b, first, widest
    cdef bint keep = kept_P is not None
    cdef double[:, :, ::1] m_out
    cdef double[:, :, ::1] P_out
    widest = _check(move, A, Q, K, start, site, Y, R)
    if (P.shape[0] != N or P.shape[1] != N or m.shape[0] != k or m.shape[1] != N
            or sums.shape[0] != k or sums.shape[1] != k + 1):
        raise ValueError("m (k, N), P (N, N) and sums (k, k + 1) do not fit the other arrays")
    if keep:
        m_out, P_out = kept_m, kept_P
        _check_kept(m_out, P_out, T, k, N)
    cdef double[::1] C = np.empty(widest * N), L = np.empty(widest * widest)
    cdef double[::1] E = np.empty(widest * k), work = _work(p, N)
    with nogil:
        for i in range(T):
            for j in range(k):
                _mix(&A[move[i], 0, 0], p, M, &m[j, 0], False, &work[0])
            _move(&A[move[i], 0, 0], &Q[move[i], 0, 0, 0], &K[0, 0, 0], s, p, M, &P[0, 0], False,
                  &work[0])
            first, b = start[i], start[i + 1] - start[i]
            if b > 0:
                if _observe(&site[first], &Y[first, 0], &R[first], b, k, N, &m[0, 0], &P[0, 0],
                            &C[0], &L[0], &E[0]) != 0:
                    with gil:
                        return i + 1
                for j in range(b):
                    for l in range(k):
                        for q in range(k):
                            sums[l, q] += E[j * k + l] * E[j * k + q]
                    sums[0, k] += 2.0 * log(L[j * b + j])
                _condition(&site[first], &R[first], b, k, N, &L[0], &E[0], &C[0], &m[0, 0],
                           &P[0, 0])
            if keep:
                memcpy(&m_out[i, 0, 0], &m[0, 0], k * N * sizeof(double))
                memcpy(&P_out[i, 0, 0], &P[0, 0], N * N * sizeof(double))
    return 0


def smooth(const Py_ssize_t[::1] move, const double[:, :, ::1] A, const double[:, :, :, ::1] Q,
           const double[:, :, ::1] K, const Py_ssize_t[::1] start, const Py_ssize_t[::1] site,
           const double[:, ::1] Y, const double[::1] R,
           const double[:, ::1] first_m, const double[:, ::1] first_P,
           const double[:, :, ::1] kept_m, const double[:, :, ::1] kept_P,
           double[:, ::1] r, double[:, ::1] Lambda,
           slopes=None, queries=None):
    """Smooth the T times of a call to `filter`, backwards; updates r (k, N) and Lambda (N, N).

    ``first_m`` and ``first_P`` are the moments before the first time; other arrays as in `filter`.

    - ``slopes``: (on_A (u, p, p), on_Q (u, s, p, p), on_K (s, M, M), on_R (n,)). Twice the
      derivative of the log likelihood is added to the first three and written to ``on_R``.
    - ``queries``: (first (T + 1,), place (q,), W (w, c), out (q, k + 1)). ``out`` receives the
      smoothed means of z_1 at inputs and their variance, at each time after its observations. A
      input below M is one of the M; input M + i is W_i times the first c <= N numbers of the state.
    """
    cdef Py_ssize_t T = move.shape[0], M = K.shape[2], p = A.shape[1], k = Y.shape[1], N = p * M
    cdef Py_ssize_t s = K.shape[0], i, j, l, a, u, b, first, widest
    cdef double total
    cdef bint learning = slopes is not None, asked = queries is not None
    cdef double[:, :, :, ::1] on_Q
    cdef double[:, :, ::1] on_A, on_K
    cdef double[:, ::1] W, out
    cdef double[::1] on_R
    cdef const Py_ssize_t[::1] query, place
    widest = _check(move, A, Q, K, start, site, Y, R)
    _check_kept(kept_m, kept_P, T, k, N)
    if (first_m.shape[0] != k or first_m.shape[1] != N or first_P.shape[0] != N
            or first_P.shape[1] != N or r.shape[0] != k or r.shape[1] != N
            or Lambda.shape[0] != N or Lambda.shape[1] != N):
        raise ValueError("means (k, N) and matrices (N, N) do not fit the other arrays")
    if learning:
        on_A, on_Q, on_K, on_R = slopes
        for i in range(4):
            if on_Q.shape[i] != Q.shape[i] or i < 3 and on_A.shape[i] != A.shape[i]:
                raise ValueError("slopes in A and Q must have their shapes")
        if (on_K.shape[0] != s or on_K.shape[1] != M or on_K.shape[2] != M
                or on_R.shape[0] != R.shape[0]):
            raise ValueError("slopes in K and R must have their shapes")
    if asked:
        query, place, W, out = queries
        if (query.shape[0] != T + 1 or not 0 < W.shape[1] <= N or out.shape[0] != place.shape[0]
                or out.shape[1] != k + 1 or query[0] < 0 or query[T] > place.shape[0]):
            raise ValueError("arrays of the queries do not fit together")
        for i in range(T):
            if query[i + 1] < query[i]:
                raise ValueError("queries must not go back in time")
        for i in range(place.shape[0]):
            if not 0 <= place[i] < M + W.shape[0]:
                raise ValueError("places of queries must be in [0, M + w)")
    cdef double[::1] C = np.empty(widest * N), L = np.empty(widest * widest)
    cdef double[::1] E = np.empty(widest * k), X = np.empty(widest * N)
    cdef double[::1] G = np.empty(widest * widest), g = np.empty(widest), v = np.empty(N)
    cdef double[:, ::1] P = np.empty((N, N)), B = np.empty((N if learning else 0, N))
    cdef double[:, ::1] m = np.empty((k, N))
    cdef double[::1] work = _work(p, N)
    cdef const double* before_m
    cdef const double* before_P
    with nogil:
        for i in range(T - 1, -1, -1):
            u = move[i]
            if asked:
                for j in range(query[i], query[i + 1]):
                    _query(place[j], &W[0, 0] if W.shape[0] else NULL, W.shape[1], M, N, k,
                           &kept_m[i, 0, 0], &kept_P[i, 0, 0], &r[0, 0], &Lambda[0, 0], &v[0],
                           &out[j, 0])
            before_m = &first_m[0, 0] if i == 0 else &kept_m[i - 1, 0, 0]
            before_P = &first_P[0, 0] if i == 0 else &kept_P[i - 1, 0, 0]
            memcpy(&P[0, 0], before_P, N * N * sizeof(double))
            memcpy(&m[0, 0], before_m, k * N * sizeof(double))
            _move(&A[u, 0, 0], &Q[u, 0, 0, 0], &K[0, 0, 0], s, p, M, &P[0, 0], False, &work[0])
            for j in range(k):
                _mix(&A[u, 0, 0], p, M, &m[j, 0], False, &work[0])
            first, b = start[i], start[i + 1] - start[i]
            if b > 0:
                if _observe(&site[first], &Y[first, 0], &R[first], b, k, N, &m[0, 0], &P[0, 0],
                            &C[0], &L[0], &E[0]) != 0:
                    with gil:
                        return i + 1
                _solve(&L[0], b, N, &C[0], False)
                # E = L^-T (E - U r): Δ⁻¹ y of these observations.
                for j in range(b):
                    for l in range(k):
                        total = 0.0
                        for a in range(N):
                            total = total + C[j * N + a] * r[l, a]
                        E[j * k + l] -= total
                _solve(&L[0], b, k, &E[0], True)
                for j in range(b):
                    for l in range(k):
                        r[l, site[first + j]] += E[j * k + l]
                _solve(&L[0], b, N, &C[0], True)
                _inform(&site[first], &R[first], b, N, &L[0], &C[0], &X[0], &G[0], &g[0],
                        &Lambda[0, 0])
                for j in range(b if learning else 0):
                    total = -g[j]
                    for l in range(k):
                        total = total + E[j * k + l] * E[j * k + l]
                    on_R[first + j] = total
            if learning:
                _learn(s, p, M, k, &A[u, 0, 0], &Q[u, 0, 0, 0], &K[0, 0, 0], before_m, before_P,
                       &r[0, 0], &Lambda[0, 0], &P[0, 0], &B[0, 0], &on_A[u, 0, 0],
                       &on_Q[u, 0, 0, 0], &on_K[0, 0, 0], &work[0])
            for j in range(k):
                _mix(&A[u, 0, 0], p, M, &r[j, 0], True, &work[0])
            _move(&A[u, 0, 0], NULL, NULL, 0, p, M, &Lambda[0, 0], True, &work[0])
    return 0


cdef void _inform(const Py_ssize_t* site, const double* R, Py_ssize_t b, Py_ssize_t N,
                  const double* L, double* D, double* Y, double* G, double* g,
                  double* Lambda) noexcept nogil:
    """Update Lambda for observations; D (b, N), given as S^-1 C, is overwritten.

    g (b,) <- diagonal of S^-1 + S^-1 C Lambda C' S^-1. Y (b, N) and G (b, b) are scratch.
    """
    cdef Py_ssize_t i, j, a, c
    cdef int b_ = <int> b, n_ = <int> N, info = 0
    cdef char up = b"U", no = b"N", yes = b"T"
    cdef double one = 1.0, zero = 0.0, total
    if b == 1:
        G[0] = 1.0 / (L[0] * L[0])
    else:
        memcpy(G, L, b * b * sizeof(double))
        dpotri(&up, &b_, G, &b_, &info)
    for i in range(b):
        for j in range(i):
            G[j * b + i] = G[i * b + j]
    for i in range(b):
        for a in range(N):
            D[i * N + a] = -D[i * N + a]
        # For several observations of a site, with any of them: the last.
        for j in range(b):
            D[i * N + site[j]] = G[i * b + j] * R[j]
    # Y = D Lambda and G = S^-1 + D Lambda D'.
    if b == 1:
        memset(Y, 0, N * sizeof(double))
        for c in range(N):
            total = D[c]
            for a in range(N):
                Y[a] += total * Lambda[c * N + a]
        for a in range(N):
            G[0] += Y[a] * D[a]
    else:
        dgemm(&no, &no, &n_, &b_, &n_, &one, Lambda, &n_, D, &n_, &zero, Y, &n_)
        dgemm(&yes, &no, &b_, &b_, &n_, &one, D, &n_, Y, &n_, &one, G, &b_)
    for j in range(b):
        c = site[j]
        g[j] = G[j * b + j]
        # S^-1 C is H - D in the row whose column is written, otherwise -D.
        for i in range(j + 1, b):
            if site[i] == c:
                break
        else:
            g[j] += Lambda[c * N + c] - 2.0 * Y[j * N + c]
    for j in range(b):
        memset(Lambda + site[j] * N, 0, N * sizeof(double))
    for j in range(b):
        for a in range(N):
            Lambda[site[j] * N + a] += Y[j * N + a]
    for j in range(b):
        for i in range(b):
            Lambda[site[j] * N + site[i]] = 0.0
    for j in range(b):
        for i in range(b):
            Lambda[site[j] * N + site[i]] += G[j * b + i]
    for j in range(b):
        for a in range(N):
            Lambda[a * N + site[j]] = Lambda[site[j] * N + a]


cdef void _query(Py_ssize_t place, const double* W, Py_ssize_t width, Py_ssize_t M, Py_ssize_t N,
                 Py_ssize_t k, const double* m, const double* P, const double* r,
                 const double* Lambda, double* v, double* out) noexcept nogil:
    """Write smoothed means m h + r c and variance h' c - c' Lambda c, c = P h, of z_1 at an input."""
    cdef Py_ssize_t a, j, l
    cdef double weight, total, variance
    if place < M:
        memcpy(v, P + place * N, N * sizeof(double))
        variance = v[place]
    else:
        variance = 0.0
        for a in range(N):
            v[a] = 0.0
        for j in range(width):
            weight = W[(place - M) * width + j]
            if weight != 0.0:
                for a in range(N):
                    v[a] += weight * P[j * N + a]
        for j in range(width):
            variance = variance + W[(place - M) * width + j] * v[j]
    for l in range(k):
        total = 0.0
        if place < M:
            total = m[l * N + place]
        else:
            for j in range(width):
                total = total + W[(place - M) * width + j] * m[l * N + j]
        for a in range(N):
            total = total + v[a] * r[l * N + a]
        out[l] = total
    for a in range(N):
        total = 0.0
        for j in range(N):
            total = total + Lambda[a * N + j] * v[j]
        variance = variance - total * v[a]
    out[k] = variance


cdef void _learn(Py_ssize_t s, Py_ssize_t p, Py_ssize_t M, Py_ssize_t k, const double* A,
                 const double* Q, const double* K, const double* m, const double* P,
                 const double* r, const double* Lambda, double* G, double* B, double* on_A,
                 double* on_Q, double* on_K, double* work) noexcept nogil:
    """Add twice the derivatives in the move from m and P to here; G and B (N, N) are scratch.

    With G = r r' - Lambda they are G : Q_g (x) dK_g and G : dQ_g (x) K_g, and
    2 r' dA m + 2 G : (dA P A').
    """
    cdef Py_ssize_t N = p * M, i, j, a, b, g, e, l
    cdef int p_ = <int> p, size = <int> (M * N)
    cdef char no = b"N", yes = b"T"
    cdef double total, q, one = 1.0, two = 2.0
    for i in range(N):
        for j in range(N):
            G[i * N + j] = -Lambda[i * N + j]
        for l in range(k):
            q = r[l * N + i]
            for j in range(N):
                G[i * N + j] += q * r[l * N + j]
    for g in range(s):
        for a in range(p):
            for b in range(p):
                e = (g * p + a) * p + b
                total = 0.0
                for i in range(M):
                    for j in range(M):
                        q = G[(a * M + i) * N + b * M + j]
                        on_K[(g * M + i) * M + j] += Q[e] * q
                        total = total + q * K[(g * M + i) * M + j]
                on_Q[e] += total
    # B = P (A (x) 1)', row by row; or as the transpose of (A (x) 1) P.
    if p > UNROLLED:
        _multiply(A, p, M * N, P, False, work)
        _transposed(work, N, B)
        dgemm(&yes, &no, &p_, &p_, &size, &two, B, &size, <double*> G, &size, &one, on_A, &p_)
    else:
        for i in range(N):
            memcpy(B + i * N, P + i * N, N * sizeof(double))
            _mix(A, p, M, B + i * N, False, work)
    for a in range(p):
        for b in range(p):
            total = 0.0
            for l in range(k):
                for i in range(M):
                    total = total + r[l * N + a * M + i] * m[l * N + b * M + i]
            for i in range(M if p <= UNROLLED else 0):
                for j in range(N):
                    total = total + G[(a * M + i) * N + j] * B[(b * M + i) * N + j]
            on_A[a * p + b] += 2.0 * total
