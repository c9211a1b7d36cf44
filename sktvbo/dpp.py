"""Determinantal point processes: diverse subsets of k rows, greedy or random.

A k-DPP with kernel matrix K gives a set Z of k items a probability proportional to det K_Z
(Kulesza & Taskar 2012): similar items seldom appear together. Its samples make good inducing points
(Burt et al. 2020) and good queries to an expert (SparQ algorithm 1).

Rounding: an item counts as a combination of the chosen ones if its variance given them is at most
10 k ε of its own variance, with ε the spacing of K's floats. A set with such an item has
probability zero, and K has a rank below k if no other set exists. No jitter is added to K. A
negative variance is an error beyond √ε, relatively.
"""

from __future__ import annotations

from math import ceil, log
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import eigh
from sklearn.gaussian_process.kernels import Kernel
from sklearn.utils import check_array

from ._fast import kdpp as _fast
from ._validation import check_choice, check_int, check_random_state, invalid
from .exceptions import NotPositiveDefiniteError

if TYPE_CHECKING:
    from ._typing import Indices, RandomState

__all__ = ["greedy_map", "sample_kdpp"]

_EPS = np.finfo(np.float64).eps
# Number of proposals in SparQ; the mixing time is shorter when N k is below about 1,000.
_MAX_STEPS = 10_000
# Proposals per call of NumPy's generator.
_BLOCK = 16_384
# Rank-one updates of the inverse before it is recomputed, which bounds round-off.
_REFRESH_AFTER = 1_000


def greedy_map(K: ArrayLike | Kernel, k: int, *, X: ArrayLike | None = None) -> Indices:
    """Choose k items one by one, each time the item that maximizes the determinant.

    Parameters
    ----------
    K : array-like of shape (N, N) or Kernel
        Positive semi-definite matrix, or a scikit-learn kernel of the rows of ``X``: then only k
        columns of the matrix are computed.
    k : int
        From 1 to N.
    X : array-like of shape (N, d), default=None
        The items, if K is a kernel.

    Returns
    -------
    indices : ndarray of int of shape (k,)
        In the order chosen; the first of them are the result for a smaller k. Ties, up to rounding,
        go to the lowest index.

    Raises
    ------
    NotPositiveDefiniteError
        The rank of K is below k, or a variance is negative. Only the chosen columns are checked:
        some indefinite matrices pass.
    ValueError
        K is not square, symmetric and finite, k is out of range, or X does not fit K.

    Notes
    -----
    A pivoted Cholesky factorization with O(N k²) time and O(N k) memory in addition to K (SparQ
    algorithm 3, Burt et al. 2020). The determinant is within a factor k!² of the largest.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> from sktvbo.dpp import greedy_map
    >>> X = np.array([[0.0], [0.1], [0.5], [0.9], [1.0]])
    >>> greedy_map(RBF(0.3), 3, X=X)
    array([0, 4, 2])
    >>> greedy_map(RBF(0.3)(X), 3)
    array([0, 4, 2])
    """
    if isinstance(K, Kernel):
        if X is None:
            got, advice = f"None, and K={K}", "Give X, or the matrix K(X)."
            raise invalid("X", "an array of the items when K is a kernel", got=got, advice=advice)
        X = check_array(X, dtype=np.float64, order="C")
        return _greedy_rows(K, X, check_int(k, "k", high=len(X)))
    if X is not None:
        raise invalid("K", "a scikit-learn Kernel when X is given", got=type(K).__name__)
    K, eps = _check_matrix(K)
    return _greedy_matrix(K, check_int(k, "k", high=len(K)), eps)


def sample_kdpp(
    K: ArrayLike,
    k: int,
    *,
    method: Literal["mcmc", "exact"] = "mcmc",
    n_steps: int | None = None,
    random_state: RandomState = None,
) -> Indices:
    """Draw k items with a probability proportional to the determinant of their submatrix.

    Parameters
    ----------
    K : array-like of shape (N, N)
        Positive semi-definite.
    k : int
        From 1 to N.
    method : {"mcmc", "exact"}, default="mcmc"
        - "mcmc": ``n_steps`` proposals to exchange an item, starting at the greedy maximum
          (`~sktvbo.dpp.greedy_map`), O(N k² + n_steps k²);
        - "exact": from the eigenvectors of K, O(N³).
    n_steps : int, default=None
        Proposals of the chain; 0 gives the start. None is the smaller of 2 N k log(100), for a
        total variation of 0.01, and 10,000, the number in SparQ.
    random_state : int, RandomState, Generator or None, default=None

    Returns
    -------
    indices : ndarray of int of shape (k,)
        Sorted.

    Raises
    ------
    NotPositiveDefiniteError
        The rank of K is below k, or K has a negative eigenvalue beyond rounding. "mcmc" checks only
        the columns of its start, "exact" all eigenvalues.
    ValueError
        K is not square, symmetric and finite, or a parameter is out of range.

    Notes
    -----
    The chain is that of SparQ algorithm 2. It forgets a start Z within 2 N k log(1 / (ε P(Z)))
    proposals, up to a total variation of ε (Anari et al. 2016). The default omits the term in P(Z),
    which is smallest for the best Z. The exact sampler is that of Kulesza & Taskar (2012,
    algorithms 7 and 8), with the elementary symmetric polynomials in log space.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> from sktvbo.dpp import sample_kdpp
    >>> K = RBF(2.0)(np.arange(20.0)[:, None])
    >>> indices = sample_kdpp(K, 5, random_state=0)
    >>> bool(np.diff(indices).min() > 1)        # neighbours are similar
    True
    """
    K, eps = _check_matrix(K)
    k = check_int(k, "k", high=len(K))
    check_choice(method, ("mcmc", "exact"), "method")
    if n_steps is None:
        # The chain is then within 0.01 of its law, in total variation.
        n_steps = min(ceil(2.0 * len(K) * k * log(1.0 / 0.01)), _MAX_STEPS)
    n_steps = check_int(n_steps, "n_steps", low=0)
    rng = check_random_state(random_state)
    if method == "exact":
        return _exact_draws(K, k, 1, rng, eps)[0]
    return np.sort(_mcmc(K, k, n_steps, rng, eps))


# --- checks ---------------------------------------------------------------------------------------


def _check_matrix(K):
    """Return K as float64 in C order, and the spacing ε of its original floats."""
    if isinstance(K, Kernel):
        raise invalid("K", "a matrix (N, N)", got=f"the kernel {K}", advice="Give K(X).")
    K = np.asarray(K)
    if K.dtype.kind not in "biuf":
        raise invalid("K", "a matrix of real numbers", got=f"dtype {K.dtype}")
    if K.ndim != 2 or K.shape[0] != K.shape[1] or K.size == 0:
        advice = "Give the kernel matrix of the items with themselves."
        got = f"shape {K.shape}"
        raise invalid("K", "a square matrix (N, N), N ≥ 1", got=got, advice=advice)
    eps = max(_EPS, float(np.finfo(K.dtype).eps)) if K.dtype.kind == "f" else _EPS
    K = np.ascontiguousarray(K, dtype=np.float64)
    if not _fast.is_symmetric(K):
        K = _symmetrized(K, eps)
    return K, eps


def _symmetrized(K, eps):
    """Return the symmetric part of K, which must equal K up to rounding."""
    if not np.isfinite(K).all():
        raise invalid("K", "finite", got="NaN or infinity")
    gap = np.abs(K - K.T).max()
    if gap > np.sqrt(eps) * np.abs(K).max():
        got = f"entries K[i, j] and K[j, i] that differ by {gap:.1e}"
        advice = "Give (K + K.T) / 2 if the difference is an error."
        raise invalid("K", "symmetric", got=got, advice=advice)
    return 0.5 * (K + K.T)


def _not_psd(what, amount):
    expected, got = "positive semi-definite", f"{what} {amount:.2e}"
    advice = "That is beyond rounding: check the kernel, or add to the diagonal of K."
    return invalid("K", expected, got=got, advice=advice, error=NotPositiveDefiniteError)


def _rank_error(rank, k):
    return invalid(
        "K",
        f"of rank k = {k} or more",
        got=f"a matrix of rank {rank} up to rounding",
        advice=(
            "Ask for fewer items, remove duplicates, shorten the lengthscale, or add to the "
            "diagonal of K."
        ),
        error=NotPositiveDefiniteError,
    )


# --- greedy ---------------------------------------------------------------------------------------


def _tolerance(k, eps):
    """Return the relative variance that counts as zero after k subtractions."""
    return 10.0 * k * eps


def _greedy_matrix(K, k, eps):
    return _greedy(K.__getitem__, np.diagonal(K).copy(), k, eps)


def _greedy_rows(kernel, X, k):
    def column(j):
        return finite(np.ascontiguousarray(kernel(X, X[[j]])[:, 0], dtype=np.float64))

    def finite(values):
        if not np.isfinite(values).all():
            raise invalid(f"The kernel {kernel}", "finite at X", got="NaN or infinity")
        return values

    diagonal = finite(np.array(kernel.diag(X), dtype=np.float64))
    return _greedy(column, diagonal, k, _EPS)


def _greedy(column, diagonal, k, eps):
    """Return indices (k,); ``column(j)`` is column j of K, C-ordered (N,)."""
    n = len(diagonal)
    if diagonal.min() < 0.0:
        raise _not_psd("a diagonal entry", diagonal.min())
    tol = _tolerance(k, eps)
    L, residual = np.empty((k, n)), diagonal.copy()
    indices = np.empty(k, dtype=np.intp)
    for m in range(k):
        j = _fast.best(residual, diagonal, tol)
        if j < 0:
            break
        indices[m] = j
        # Eliminating the last choice too shows whether all variances stay >= 0.
        _fast.eliminate(column(j), L, residual, m, j)
    else:
        m = k
    worst = np.argmin(residual + np.sqrt(eps) * diagonal)
    if residual[worst] < -np.sqrt(eps) * diagonal[worst]:
        raise _not_psd(f"for item {worst}, given others, the variance", residual[worst])
    if m < k:
        raise _rank_error(m, k)
    return indices


# --- sampling -------------------------------------------------------------------------------------


def _mcmc(K, k, n_steps, rng, eps):
    """Return the state of the chain (k,) after n_steps proposals."""
    n = len(K)
    Z = _greedy_matrix(K, k, eps)
    if k == n:
        return Z
    others = np.ones(n, dtype=bool)
    others[Z] = False
    rest = np.flatnonzero(others)
    for start in range(0, n_steps, _BLOCK):
        size = min(_BLOCK, n_steps - start)
        leave = rng.randint(k, size=size, dtype=np.intp)
        enter = rng.randint(n - k, size=size, dtype=np.intp)
        u = rng.uniform(size=size)
        _fast.swap_chain(K, Z, rest, leave, enter, u, _tolerance(k, eps), _REFRESH_AFTER)
    return Z


def _exact_draws(K, k, n_draws, rng, eps):
    """Return independent draws (n_draws, k), each sorted, from one eigendecomposition."""
    n = len(K)
    values, vectors = eigh(K)
    scale = max(values[-1], -values[0])
    if values[0] < -np.sqrt(eps) * scale:
        raise _not_psd("the eigenvalue", values[0])
    positive = values > n * eps * scale
    if np.count_nonzero(positive) < k:
        raise _rank_error(np.count_nonzero(positive), k)
    # Scaled eigenvalues give the same probabilities.
    values, vectors = values[positive] / scale, vectors[:, positive]
    chosen = _eigenvectors(np.log(values), k, n_draws, rng)
    return np.sort(_projection_draws(vectors.T[chosen], rng), axis=1)


def _log_elementary_symmetric(log_values, k):
    """Return logs of the polynomials e_l of the first n values, (k + 1, N + 1) for l and n.

    All terms are positive: no cancellation (Kulesza & Taskar 2012, algorithm 7).
    """
    E = np.full((k + 1, len(log_values) + 1), -np.inf)
    E[0] = 0.0
    for n, log_value in enumerate(log_values, 1):
        E[1:, n] = np.logaddexp(E[1:, n - 1], log_value + E[:-1, n - 1])
    return E


def _eigenvectors(log_values, k, n_draws, rng):
    """Draw indices (n_draws, k) of eigenvectors, with weights the products of their values."""
    E = _log_elementary_symmetric(log_values, k)
    left = np.full(n_draws, k)
    chosen = np.empty((n_draws, k), dtype=np.intp)
    for n in range(len(log_values), 0, -1):
        # If all remaining eigenvectors are needed, both terms are equal and the probability is 1.
        log_odds = log_values[n - 1] + E[np.maximum(left - 1, 0), n - 1] - E[left, n]
        take = np.flatnonzero((left > 0) & (rng.uniform(size=n_draws) < np.exp(log_odds)))
        left[take] -= 1
        chosen[take, left[take]] = n - 1
    return chosen


def _projection_draws(V, rng):
    """Draw items (n_draws, k) of the projection DPPs onto orthonormal rows V (n_draws, k, N).

    Chain rule: each item with a probability proportional to its variance given those before, as in
    ``_greedy`` (Kulesza & Taskar 2012, algorithm 8, with projections by Cholesky factorization).
    """
    n_draws, k, n = V.shape
    each = np.arange(n_draws)
    L, variance = np.empty_like(V), np.sum(V**2, axis=1)
    items = np.empty((n_draws, k), dtype=np.intp)
    for m in range(k):
        cumulated = np.cumsum(variance, axis=1)
        threshold = rng.uniform(size=(n_draws, 1)) * cumulated[:, -1:]
        j = np.minimum(np.sum(cumulated <= threshold, axis=1), n - 1)
        items[:, m] = j
        column = np.einsum("dk,dkn->dn", V[each, :, j], V)
        column -= np.einsum("dl,dln->dn", L[each, :m, j], L[:, :m])
        L[:, m] = column / np.sqrt(variance[each, j])[:, np.newaxis]
        variance = np.maximum(variance - L[:, m] ** 2, 0.0)
        variance[each, j] = 0.0
    return items
