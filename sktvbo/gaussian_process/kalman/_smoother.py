"""Kalman filter and smoother over observations of a few places in the order of time.

Targets are any number of columns that share the covariance K_S ⊗ k_T, without scales or learnt
means. K (M, M) is K_S. See ``_fast/kalman.pyx`` for the recursions.
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import lapack

from ..._fast import kalman as _kalman
from ...exceptions import NotPositiveDefiniteError

# Number of entries of the derivatives in one hyperparameter that are stored at once.
_MAX_SLOPES = 2**20

# Number of observations whose products are subtracted from a joint covariance at once.
_MAX_COLUMNS = 256

NO_ROWS = np.zeros(2, dtype=np.intp), np.empty(0, dtype=np.intp)


@dataclass(frozen=True, eq=False)
class Observations:
    """Observations with places and times, in the order of time.

    Attributes
    ----------
    t : ndarray of shape (n,)
    site : ndarray of int of shape (n,)
    Y : ndarray of shape (n, k)
        Columns of targets.
    R : ndarray of shape (n,)
        Noise variances.
    """

    t: np.ndarray
    site: np.ndarray
    Y: np.ndarray
    R: np.ndarray

    @classmethod
    def of(cls, t, site, Y, R):
        """Sort arrays by time; simultaneous observations keep their order."""
        order = slice(None) if (np.diff(t) >= 0.0).all() else np.argsort(t, kind="stable")
        site = np.ascontiguousarray(site[order], dtype=np.intp)
        return cls(t[order], site, np.ascontiguousarray(Y[order]), np.ascontiguousarray(R[order]))

    def __len__(self):
        return len(self.t)

    def subset(self, where):
        return Observations(self.t[where], self.site[where], self.Y[where], self.R[where])

    def merge(self, other):
        """Return the union, in the order of time."""
        parts = zip(vars(self).values(), vars(other).values())
        return Observations.of(*(np.concatenate(pair) for pair in parts))


def _distinct(gaps):
    """Return the distinct ones among gaps (k, ...), and the index (k,) of each."""
    keys = np.atleast_2d(gaps.T)
    order = np.lexsort(keys)
    new = np.ones(len(gaps), dtype=bool)
    new[1:] = (np.diff(keys[:, order]) != 0.0).any(axis=0)
    index = np.empty(len(gaps), dtype=np.intp)
    index[order] = np.cumsum(new) - 1
    return gaps[order[new]], index


def check_filtered(failed, sums):
    """Raise an error if a filter failed or has infinite sums."""
    if failed or not np.isfinite(sums).all():
        raise NotPositiveDefiniteError(
            "The covariance of the observations is not positive definite in the Kalman "
            "filter, or solving with it overflowed. Raise noise_variance or its lower bound, "
            "or use solver='dense', which adds jitter."
        )


@dataclass(frozen=True, eq=False)
class Timeline:
    """Observations at distinct times, and the transitions between them.

    Attributes
    ----------
    process : Stationary, Brownian or Composed
    t : ndarray of shape (T,)
        Distinct times, of observations and of ``stops``.
    gaps : ndarray of shape (u, ...)
        Distinct gaps of the process's clock; the first one stands for the beginning, which has no
        gap.
    gap : ndarray of int of shape (T,)
        Index of the gap before each time.
    start : ndarray of int of shape (T + 1,)
        Number of observations before each time.
    data : Observations
    """

    process: object
    t: np.ndarray
    gaps: np.ndarray
    gap: np.ndarray
    start: np.ndarray
    data: Observations
    begins: bool

    @classmethod
    def of(cls, process, data, stops=(), after=None):
        """Return the timeline of observations and of further times ``stops`` (q,).

        ``after`` is the time of a known initial state; None: start from the prior at the first
        time.
        """
        t = np.unique(np.concatenate([data.t, stops])) if len(stops) else np.unique(data.t)
        start = np.searchsorted(data.t, t, side="left")
        start = np.append(start, len(data)).astype(np.intp)
        gaps, gap = _distinct(
            np.diff(process.clock(t if after is None else np.append(after, t)), axis=0)
        )
        if after is None:
            gaps, gap = np.insert(gaps, 0, 0.0, axis=0), np.append(0, gap + 1)
        return cls(process, t, gaps, gap, start, data, after is None)

    def transitions(self):
        """Return A (u, p, p) and Q (u, p, p) of the gaps.

        At the beginning A is 0, and Q the prior.
        """
        A, Q = self.process.transitions(self.gaps)
        if self.begins:
            A[0], Q[0] = 0.0, self.process.prior(self.t[0])
        return A, Q

    def contract_slopes(self, on_A, on_Q):
        """Return the sums (n_theta,) of on_A ∘ dA/dtheta and on_Q ∘ dQ/dtheta."""
        found = 0.0
        # In blocks of gaps: the derivatives of a large state fill the memory.
        length = max(1, _MAX_SLOPES // self.process.order**2)
        for first in range(0, len(self.gaps), length):
            block = slice(first, first + length)
            in_A, in_Q = (slope.copy() for slope in self.process.slopes(self.gaps[block]))
            if self.begins and first == 0:
                in_A[:, 0], in_Q[:, 0] = 0.0, self.process.prior_slopes(self.t[0])
            pairs = zip(in_A, in_Q)
            found += np.array([np.sum(on_A[block] * a) + np.sum(on_Q[block] * q) for a, q in pairs])
        return found

    def filter_all(self, K):
        """Filter from the prior; returns the sums, and the moments after the last time."""
        k, N = self.data.Y.shape[1], self.process.order * len(K)
        m, P = np.zeros((k, N)), np.zeros((N, N))
        return self.filter(K, m, P), m, P

    def filter(self, K, m, P, where=slice(None), transitions=None, keep=False):
        """Filter from m (k, N) and P (N, N), which are overwritten.

        Returns the sums (k, k + 1) of the compiled filter; with ``keep`` also means and covariances
        after each time, (T, k, N) and (T, N, N).

        Raises
        ------
        NotPositiveDefiniteError
            The covariance of observations is not numerically positive definite.
        """
        A, Q = self.transitions() if transitions is None else transitions
        gap, data, start = self._cut(where)
        k, N = m.shape
        kept = (np.empty((len(gap), k, N)), np.empty((len(gap), N, N))) if keep else ()
        sums = np.zeros((k, k + 1))
        with np.errstate(all="ignore"):
            failed = _kalman.filter(
                gap, A, Q, K, start, data.site, data.Y, data.R, m, P, sums, *kept
            )
        check_filtered(failed, sums)
        return (sums, *kept) if keep else sums

    def _cut(self, where):
        """Return the gap indices, observations and starts of a slice of times."""
        first, last, _ = where.indices(len(self.t))
        start = self.start[first : last + 1]
        data = self.data.subset(slice(start[0], start[-1]))
        return self.gap[first:last], data, start - start[0]

    def smooth(self, K, combine=None, learning=False, queries=None):
        """Smooth backward from the end; see ``kalman.smooth``.

        The forward pass runs twice, so that only √T states are stored at once.

        Parameters
        ----------
        K : ndarray of shape (M, M)
        combine : ndarray of shape (k, k'), default=None
            Combines the columns of targets whose outer products enter the derivatives.
        learning : bool
        queries : (time, place, W), default=None
            Times among ``stops`` (q,), ascending; places (q,); weights (w, M) of the others.

        Returns
        -------
        slopes : tuple of ndarrays, or None
            Twice the derivatives in theta of the process, K and R.
        answers : ndarray of shape (q, k + 1), or None
        """
        data = self.data
        if combine is not None:
            data = Observations(data.t, data.site, data.Y @ combine, data.R)
        line = Timeline(self.process, self.t, self.gaps, self.gap, self.start, data, self.begins)
        (A, Q), T, N = line.transitions(), len(self.t), self.process.order * len(K)
        k = data.Y.shape[1]
        length = max(1, int(np.ceil(np.sqrt(T))))
        blocks = [slice(i, min(i + length, T)) for i in range(0, T, length)]
        m, P, states = np.zeros((k, N)), np.zeros((N, N)), []
        for block in blocks:
            states.append((m.copy(), P.copy()))
            if block is not blocks[-1]:
                line.filter(K, m, P, block, (A, Q))
        r, Lambda = np.zeros((k, N)), np.zeros((N, N))
        slopes, answers = None, None
        if learning:
            slopes = np.zeros_like(A), np.zeros_like(Q), np.zeros_like(K), np.empty(len(data))
        if queries is not None:
            times, place, W = queries
            first = np.append(np.searchsorted(times, self.t), len(times)).astype(np.intp)
            answers = np.empty((len(times), k + 1))
        for block, (before_m, before_P) in zip(blocks[::-1], states[::-1]):
            m, P = before_m.copy(), before_P.copy()
            _, kept_m, kept_P = line.filter(K, m, P, block, (A, Q), keep=True)
            gap, part, start = line._cut(block)
            options = {}
            if learning:
                rows = slice(self.start[block.start], self.start[block.stop])
                options["slopes"] = (*slopes[:3], slopes[3][rows])
            if queries is not None:
                index = first[block.start : block.stop + 1]
                rows = slice(index[0], index[-1])
                options["queries"] = (index - index[0], place[rows], W, answers[rows])
            state = (before_m, before_P, kept_m, kept_P, r, Lambda)
            _kalman.smooth(gap, A, Q, K, start, part.site, part.Y, part.R, *state, **options)
        if learning:
            slopes = self.contract_slopes(*slopes[:2]), *slopes[2:]
        return slopes, answers

    def joint(self, K, at, H):
        """Return means (q, k) and covariance (q, q) of f at places and times given all data.

        Fixed-point smoothing: later observations update each query through its covariance with the
        present state.

        Parameters
        ----------
        K : ndarray of shape (M, M)
        at : ndarray of int of shape (q,)
            Positions among the times, ascending.
        H : ndarray of shape (q, M)
            Weights of the places.
        """
        (A, Q), p, M, q = self.transitions(), self.process.order, len(K), len(at)
        k, N = self.data.Y.shape[1], p * M
        m, P = np.zeros((k, N)), np.zeros((N, N))
        mean, cov, C = np.zeros((k, q)), np.zeros((q, q)), np.zeros((N, q))
        # The variances that data take from queries, as products Vᵀ V: many rows at once.
        V, filled = np.zeros((_MAX_COLUMNS, q)), 0
        first, sums = np.searchsorted(at, np.arange(len(self.t) + 1)), np.zeros((k, k + 1))
        begin = at[0] if q else len(self.t)
        self.filter(K, m, P, slice(0, begin), (A, Q))
        for i in range(begin, len(self.t)):
            old, new = first[i], slice(first[i], first[i + 1])
            rows, move = slice(self.start[i], self.start[i + 1]), self.gap[i : i + 1]
            site, Y, R = self.data.site[rows], self.data.Y[rows], self.data.R[rows]
            b = len(site)
            C[:, :old] = (A[move[0]] @ C[:, :old].reshape(p, -1)).reshape(N, old)
            # The predicted state before the observations: a transition only.
            before_m, before_P = m.copy(), P.copy()
            nothing = np.empty((0, k)), np.empty(0)
            _kalman.filter(move, A, Q, K, *NO_ROWS, *nothing, before_m, before_P, sums)
            start = np.array([0, b], dtype=np.intp)
            failed = _kalman.filter(move, A, Q, K, start, site, Y, R, m, P, sums)
            check_filtered(failed, sums)
            if b and old:
                L = np.linalg.cholesky(before_P[np.ix_(site, site)] + np.diag(R))
                taken, errors, moments = (
                    lapack.dtrtrs(L, X, lower=1)[0]
                    for X in (C[site, :old], Y - before_m[:, site].T, before_P[site])
                )
                mean[:, :old] += errors.T @ taken
                C[:, :old] -= moments.T @ taken
                if filled + b > len(V):
                    cov -= V.T @ V
                    V, filled = np.zeros((max(b, _MAX_COLUMNS), q)), 0
                V[filled : filled + b, :old] = taken
                filled += b
            if new.start < new.stop:
                C[:, new] = P[:, :M] @ H[new].T
                mean[:, new] = m[:, :M] @ H[new].T
                cov[: new.stop, new] = C[:M, : new.stop].T @ H[new].T
                cov[new, :old] = cov[:old, new].T
        return mean.T, cov - V.T @ V
