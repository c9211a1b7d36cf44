"""Dense Cholesky: factor, solve, append and drop; the one place for jitter and for threads."""

import warnings

import numpy as np
from scipy.linalg import blas, lapack

from .._fast import cholesky as _cholesky
from .._fast import tiles as _tiles
from .._validation import FIRST_JITTER, LAST_JITTER
from ..exceptions import JitterWarning, NotPositiveDefiniteError

# Below this many rows compiled code in one thread does the work: waking other threads costs more
# than they compute, most of all when other processes want the same cores (see
# benchmarks/speed/fit.py --threads). From there on LAPACK may use all threads of the process, whose
# limits are never touched.
WORTH_A_THREAD = 500


def try_cholesky(A):
    """Factor A (n, n, lower triangle, C order) in place; False if it is not positive definite."""
    if len(A) < WORTH_A_THREAD:
        return _tiles.factor(A) and bool(np.isfinite(A.diagonal()).all())
    # The lower triangle by rows is LAPACK's upper triangle by columns.
    _, info = lapack.dpotrf(A.T, lower=0, clean=0, overwrite_a=1)
    return info == 0 and bool(np.isfinite(A.diagonal()).all())


def cholesky(K, noise, kernel):
    """Lower factor of K + diag(noise) and the jitter that it took.

    Parameters
    ----------
    K : ndarray of shape (n, n)
        Only its lower triangle is read; it is not changed.
    noise : ndarray of shape (n,)
    kernel : object
        Named in the error.

    Warns
    -----
    JitterWarning
        The diagonal had to be increased; says by how much.

    Raises
    ------
    NotPositiveDefiniteError
        K is not finite, or not even jitter helps.
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
    jitter = FIRST_JITTER * scale
    while 0.0 < jitter <= 1.01 * LAST_JITTER * scale:
        A = K.copy()
        np.fill_diagonal(A, diagonal + jitter)
        if try_cholesky(A):
            warnings.warn(
                f"The {n} x {n} covariance matrix was positive definite only after {jitter:.1e} "
                "was added to its diagonal. Duplicate points with little noise do this: raise "
                "noise_variance or its lower bound.",
                JitterWarning,
                stacklevel=2,
            )
            return A, jitter
        jitter *= 10.0
    raise NotPositiveDefiniteError(
        f"The {n} x {n} covariance matrix of {kernel} is not positive definite, even with "
        f"{jitter / 10.0:.1e} added to its diagonal. Raise noise_variance or its lower bound, or "
        "check that the kernel is positive semi-definite."
    )


# So many columns share one pass over a matrix that multiplies them.
_FEW = 8

# After a drop there is room for this many rows.
_SPARE = 32


class Buffer:
    """Storage that several square matrices share as long as one is the others' beginning."""

    def __init__(self, A):
        self.array = A
        self.filled = len(A)

    def __getstate__(self):
        n = self.filled
        return {"array": self.array[:n, :n].copy(), "filled": n}

    def behind(self, n):
        """This, or a copy of its first n rows, where nothing stands behind these yet."""
        if self.filled == n < len(self.array):
            return self
        capacity = max(16, n + n // 2)
        grown = Buffer(np.empty((capacity, capacity)))
        grown.array[:n, :n] = self.array[:n, :n]
        grown.filled = n
        return grown

    def without(self, n):
        """An empty one for the first n rows but one: with some room, as a row may come for it."""
        capacity = min(n + _SPARE, len(self.array))
        return Buffer(np.empty((capacity, capacity)))


class DenseCholesky:
    """The Cholesky factor of an n x n covariance matrix Δ, as a value: updates return a new one.

    ``append`` writes into spare room behind the factor when nobody else has, so that growing costs
    O(n²) a row without copying; an older factor stays valid, its rows are never touched.
    """

    def __init__(self, L, jitter=0.0):
        self._buffer = Buffer(L)
        self.n = len(L)
        self.jitter = jitter

    def __getstate__(self):
        return {"L": np.tril(self.L), "jitter": self.jitter}

    def __setstate__(self, state):
        self.__init__(**state)

    @property
    def L(self):
        """Lower factor (n, n), a view; above the diagonal anything may stand."""
        return self._buffer.array[: self.n, : self.n]

    @property
    def log_determinant(self):
        return 2.0 * np.log(self.L.diagonal()).sum()

    def half_solve(self, B, transpose=False):
        """Each row b of B (m, n) replaced by L⁻¹ b, or by L⁻ᵀ b; returns B."""
        one_thread = self.n < WORTH_A_THREAD and len(B) > 1
        solve = _tiles.solve_lower if one_thread else _cholesky.solve_lower
        solve(self._buffer.array, self.n, B, transpose=transpose)
        return B

    def solve(self, b):
        """Δ⁻¹ b for b (n,)."""
        x = np.array(b, dtype=np.float64, ndmin=2)
        _cholesky.solve_lower(self._buffer.array, self.n, x)
        _cholesky.solve_lower(self._buffer.array, self.n, x, transpose=True)
        return x[0]

    def inverse(self):
        """Δ⁻¹ (n, n), both triangles; O(n³)."""
        P = lower_inverse(self.L.copy())
        _cholesky.symmetrize(P)
        return P

    def plus(self, variance):
        """The factor of Δ + variance I, O(n³)."""
        L = np.tril(self.L)
        A = blas.dgemm(1.0, L.T, L.T, trans_a=1)
        return DenseCholesky(*cholesky(A, np.full(self.n, variance), "observations"))

    def append(self, k, kappa):
        """The factor of [[Δ, k], [kᵀ, kappa]], or None if that is not positive definite; O(n²)."""
        n = self.n
        buffer = self._buffer.behind(n)
        pivot = _cholesky.append(buffer.array, n, k, kappa + self.jitter)
        # A pivot lost in the rounding of the subtraction says nothing.
        if not pivot > 1e-14 * kappa:
            return None
        return self._in(buffer, n + 1)

    def drop(self, i):
        """The factor without row and column i, O(n²)."""
        buffer = self._buffer.without(self.n)
        _cholesky.drop(self._buffer.array, self.n, i, buffer.array)
        return self._in(buffer, self.n - 1)

    def _in(self, buffer, n):
        """The factor that stands in the first n rows of a buffer."""
        buffer.filled = n
        new = object.__new__(DenseCholesky)
        new._buffer, new.n, new.jitter = buffer, n, self.jitter
        return new


def matvec(K, x):
    """K x (m,) for K (m, n), C order, and x (n,).

    By SciPy's BLAS, as the factorizations: NumPy's is another library, whose idle threads keep the
    cores from this one's for milliseconds after each call.
    """
    return blas.dgemv(1.0, K.T, x, trans=1)


def rmatvec(K, x):
    """Kᵀ x (n,) for K (m, n), C order, and x (m,); see `matvec`."""
    return blas.dgemv(1.0, K.T, x)


def product(A, B):
    """A B (m, n) for A (m, k) and B (k, n); see `matvec`."""
    B, few = np.ascontiguousarray(B), B.shape[1] <= _FEW
    if not (few and A.strides[1] == A.itemsize):
        A = np.ascontiguousarray(A)
    out = np.empty((len(A), B.shape[1]))
    if few:
        _tiles.product_with_few(A, B, out)
    elif max(*A.shape, *B.shape) < WORTH_A_THREAD:
        _tiles.product(A, B, out)
    else:
        blas.dgemm(1.0, B.T, A.T, c=out.T, overwrite_c=1)
    return out


def dot(a, b):
    """aᵀ b, without BLAS and its threads; see `matvec`."""
    return np.einsum("i,i->", a, b)


def lower_inverse(L):
    """Lower triangle of (L Lᵀ)⁻¹, written over L (n, n, C order)."""
    if len(L) < WORTH_A_THREAD:
        _tiles.inverse(L)
    else:
        lapack.dpotri(L.T, lower=0, overwrite_c=1)
    return L
