"""Dense Cholesky: factor, solve, append and drop; jitter and threads are decided here only."""

from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.linalg import blas, lapack

from .._fast import cholesky as _cholesky
from .._fast import tiles as _tiles
from .._validation import FIRST_JITTER, LAST_JITTER
from .._values import GROW_LOCK
from .._warnings import warn_caller
from ..exceptions import JitterWarning, NotPositiveDefiniteError

# Below this many rows compiled code runs in one thread: waking other threads costs more than they
# save, most of all on busy cores (see benchmarks/speed/fit.py --threads). From this many rows on
# LAPACK may use all threads of the process, whose limits are not changed.
MIN_ROWS_FOR_THREADS = 500

# Bound on rounding errors of a posterior covariance, relative to the prior variance.
_ROUNDING = 1e-12


def try_cholesky(A):
    """Factorize A (n, n, lower triangle, C order) in place; False if not positive definite."""
    if len(A) < MIN_ROWS_FOR_THREADS:
        return _tiles.factor(A) and bool(np.isfinite(A.diagonal()).all())
    # The lower triangle by rows is LAPACK's upper triangle by columns.
    _, info = lapack.dpotrf(A.T, lower=0, clean=0, overwrite_a=1)
    return info == 0 and bool(np.isfinite(A.diagonal()).all())


def cholesky(K, noise, kernel):
    """Return the lower factor of K + diag(noise) and the jitter added to the diagonal.

    Parameters
    ----------
    K : ndarray of shape (n, n)
        Only the lower triangle is read; K is not changed.
    noise : ndarray of shape (n,)
    kernel : object
        Named in the error.

    Warns
    -----
    JitterWarning
        Jitter was necessary; the message states the amount.

    Raises
    ------
    NotPositiveDefiniteError
        K is not finite, or not positive definite even with jitter.
    """
    n = len(K)
    diagonal = np.diagonal(K) + noise
    A = K.copy()
    np.fill_diagonal(A, diagonal)
    if try_cholesky(A):
        return A, 0.0
    if not np.isfinite(np.tril(K)).all() or not np.isfinite(diagonal).all():
        raise NotPositiveDefiniteError(
            f"The {n} x {n} covariance matrix of {kernel} has entries that are not finite. "
            "Scale X and y to moderate ranges, or narrow the hyperparameters' bounds."
        )
    scale = np.abs(np.diagonal(K)).mean()
    L, jitter = _with_jitter(K, diagonal, FIRST_JITTER, scale)
    if L is None:
        raise NotPositiveDefiniteError(
            f"The {n} x {n} covariance matrix of {kernel} is not positive definite, even with "
            f"{jitter:.1e} added to its diagonal. Raise noise_variance or its lower bound, or "
            "check that the kernel is positive semi-definite."
        )
    warn_caller(
        f"The {n} x {n} covariance matrix was positive definite only after {jitter:.1e} was added "
        "to its diagonal. Duplicate points with little noise do this: raise noise_variance or its "
        "lower bound.",
        JitterWarning,
    )
    return L, jitter


def draws(K, prior, Z):
    """Return draws (k, m) of a Gaussian with the covariance K (m, m) of a posterior.

    K may be singular, or indefinite by rounding errors. With a jitter j just above these errors
    and L the factor of K + j I, K L⁻ᵀ z has the covariance K (K + j I)⁻¹ K. It is continuous in K,
    adds no noise between equal points, and is about K − j I where K's eigenvalues exceed j.

    Parameters
    ----------
    K : ndarray of shape (m, m)
    prior : float
        Prior variance, the scale of the rounding errors.
    Z : ndarray of shape (k, m)
        Standard normal; overwritten.

    Raises
    ------
    NotPositiveDefiniteError
        K is not finite, or far from positive semi-definite.
    """
    L, jitter = _with_jitter(K, np.diagonal(K), _ROUNDING, prior)
    if L is None:
        raise NotPositiveDefiniteError(
            f"The posterior covariance of {len(K)} points is not finite, or not positive definite "
            f"even with {jitter:.1e} added to its diagonal. Scale X and y to moderate ranges, or "
            "raise noise_variance or its lower bound."
        )
    return product(DenseCholesky(L).half_solve(Z, transpose=True), K)


def _with_jitter(K, diagonal, first, scale):
    """Return the factor of K with another diagonal plus jitter, or None, and the last jitter.

    The jitter begins at ``first`` times ``scale`` and grows by factors of ten.
    """
    jitter = first * scale
    while 0.0 < jitter <= 1.01 * LAST_JITTER * scale:
        A = K.copy()
        np.fill_diagonal(A, diagonal + jitter)
        if try_cholesky(A):
            return A, jitter
        jitter *= 10.0
    return None, jitter / 10.0


# One pass over the matrix multiplies up to the first number of columns, or exactly the second:
# memory limits products with matrices of many rows, not arithmetic.
_FEW_COLUMNS, _PACKED_COLUMNS = 8, 16

# Spare rows after a drop.
_SPARE_ROWS = 32


@dataclass(eq=False)
class Buffer:
    """Storage shared by square matrices that are leading blocks of each other."""

    array: np.ndarray
    filled: int

    def __getstate__(self):
        n = self.filled
        return {"array": self.array[:n, :n].copy(), "filled": n}

    def with_row_after(self, n):
        """Return this buffer, or a copy of its first n rows, with row n free for the caller.

        Threads may append to the same matrix: no two get the same row.
        """
        with GROW_LOCK:
            if self.filled == n < len(self.array):
                self.filled = n + 1
                return self
        grown = Buffer.of_size(n, n + 1)
        grown.array[:n, :n] = self.array[:n, :n]
        return grown

    @staticmethod
    def of_size(n, filled):
        """Return an empty buffer for n rows and half as many more."""
        capacity = max(16, n + n // 2)
        return Buffer(np.empty((capacity, capacity)), filled)

    def for_drop(self, n):
        """Return an empty buffer for n − 1 rows, with some spare rows."""
        capacity = min(n + _SPARE_ROWS, len(self.array))
        return Buffer(np.empty((capacity, capacity)), n - 1)


class DenseCholesky:
    """Cholesky factor of an n x n covariance matrix Δ, a value: updates return another one.

    ``append`` writes into free space after the factor, so that growing costs O(n²) a row without
    copies. Older factors stay valid: their rows are never changed.

    Parameters
    ----------
    L : ndarray of shape (n, n)
        Lower factor; entries above the diagonal are undefined.
    jitter : float, default=0.0
        Included in the diagonal of Δ.
    buffer : Buffer, default=None
        Storage whose leading block is L; None: L itself.
    """

    def __init__(self, L, jitter=0.0, buffer=None):
        self.L, self.n, self.jitter = L, len(L), jitter
        self._buffer = Buffer(L, len(L)) if buffer is None else buffer

    def __getstate__(self):
        return {"L": np.tril(self.L), "jitter": self.jitter}

    def __setstate__(self, state):
        self.__init__(**state)

    @property
    def log_determinant(self):
        return 2.0 * float(np.add.reduce(np.log(self.L.diagonal())))

    def half_solve(self, B, transpose=False):
        """Replace each row b of B (m, n) by L⁻¹ b, or L⁻ᵀ b, and return B."""
        one_thread = self.n < MIN_ROWS_FOR_THREADS and len(B) > 1
        solve = _tiles.solve_lower if one_thread else _cholesky.solve_lower
        solve(self._buffer.array, self.n, B, transpose=transpose)
        return B

    def solve(self, b):
        """Return Δ⁻¹ b for b (n,)."""
        x = np.array(b, dtype=np.float64, ndmin=2)
        _cholesky.solve_lower(self._buffer.array, self.n, x)
        _cholesky.solve_lower(self._buffer.array, self.n, x, transpose=True)
        return x[0]

    def inverse(self):
        """Return Δ⁻¹ (n, n), both triangles; O(n³)."""
        P = lower_inverse(self.L.copy())
        _cholesky.symmetrize(P)
        return P

    def with_added_variance(self, variance):
        """Return the factor of Δ + variance I, O(n³)."""
        L = np.tril(self.L)
        A = blas.dgemm(1.0, L.T, L.T, trans_a=1)
        return DenseCholesky(*cholesky(A, np.full(self.n, variance), "observations"))

    def append(self, k, kappa):
        """Return the factor of [[Δ, k], [kᵀ, kappa]], None if not positive definite; O(n²)."""
        n = self.n
        buffer = self._buffer.with_row_after(n)
        pivot = _cholesky.append(buffer.array, n, k, kappa + self.jitter)
        # A smaller pivot is only rounding of the subtraction.
        if not pivot > 1e-14 * kappa:
            return None
        return DenseCholesky(buffer.array[: n + 1, : n + 1], self.jitter, buffer)

    def drop(self, i):
        """Return the factor without row and column i, O(n²)."""
        n, buffer = self.n - 1, self._buffer.for_drop(self.n)
        _cholesky.drop(self._buffer.array, self.n, i, buffer.array)
        return DenseCholesky(buffer.array[:n, :n], self.jitter, buffer)


def matvec(K, x):
    """Return K x (m,) for K (m, n), C order, and x (n,).

    Uses SciPy's BLAS, as the factorizations do: NumPy's is another library, whose idle threads
    block the cores for milliseconds after each call.
    """
    return blas.dgemv(1.0, K.T, x, trans=1)


def rmatvec(K, x):
    """Return Kᵀ x (n,) for K (m, n), C order, and x (m,); see `matvec`."""
    return blas.dgemv(1.0, K.T, x)


def product(A, B):
    """Return A B (m, n) for A (m, k) and B (k, n); see `matvec`."""
    n_columns = B.shape[1]
    if _FEW_COLUMNS < n_columns < _PACKED_COLUMNS:
        padded = np.zeros((len(B), _PACKED_COLUMNS))
        padded[:, :n_columns] = B
        return np.ascontiguousarray(product(A, padded)[:, :n_columns])
    B, few = np.ascontiguousarray(B), n_columns <= _FEW_COLUMNS
    if not (few and A.strides[1] == A.itemsize):
        A = np.ascontiguousarray(A)
    out = np.empty((len(A), B.shape[1]))
    if few:
        _tiles.product_with_few(A, B, out)
    elif n_columns == _PACKED_COLUMNS or max(*A.shape, *B.shape) < MIN_ROWS_FOR_THREADS:
        _tiles.product(A, B, out)
    else:
        blas.dgemm(1.0, B.T, A.T, c=out.T, overwrite_c=1)
    return out


def half_product(A, C):
    """Return A T (m, n) for A (m, n) and a symmetric C = T + Tᵀ (n, n); half the cost of A C.

    T is triangular, up to small blocks on its diagonal; q_i = A_i C A_iᵀ is 2 A_i T A_iᵀ.
    """
    if len(C) >= MIN_ROWS_FOR_THREADS:
        return blas.dtrmm(1.0, C.T, A.T, lower=0).T - A * (0.5 * C.diagonal())
    out = np.empty(A.shape)
    _tiles.half_product(np.ascontiguousarray(A), np.ascontiguousarray(C), out)
    return out


# aᵀ b, without BLAS and its threads; see `matvec`.
dot = partial(np.einsum, "i,i->")


def lower_inverse(L):
    """Return the lower triangle of (L Lᵀ)⁻¹, written over L (n, n, C order)."""
    if len(L) < MIN_ROWS_FOR_THREADS:
        _tiles.inverse(L)
    else:
        lapack.dpotri(L.T, lower=0, overwrite_c=1)
    return L
