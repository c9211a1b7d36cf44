"""Kalman filter and smoother over observations of a few places in the order of time.

All observations at once: a `Timeline` of any number of places, or a `Series` of a single one. One
after another: a `FilterState`.

Targets are any number of columns that share the covariance K_S ⊗ k_T, without scales or learnt
means. K (s, M, M) is K_S, and the covariance of a level in space if there is one. See
``_fast/kalman.pyx`` for the recursions.
"""

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from scipy.linalg import blas, lapack

from ..._fast import kalman as _kalman
from ..._fast import series as _series
from ..._values import GrowableArrays, append_rows
from ...exceptions import NotPositiveDefiniteError
from ._state_space import Chains

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
        """Return A (u, p, p) and Q (u, s, p, p) of the gaps.

        At the beginning A is 0, and Q the prior.
        """
        A, Q = self.process.transitions(self.gaps)
        if self.begins:
            A[0], Q[0] = 0.0, self.process.prior(self.t[0])
        return A, Q

    def contract_slopes(self, on_A, on_Q):
        """Return the sums (n_theta,) of on_A ∘ dA/dtheta and on_Q ∘ dQ/dtheta."""
        sums = 0.0
        # In blocks of gaps: the derivatives of a large state fill the memory.
        length = max(1, _MAX_SLOPES // self.process.order**2)
        for first in range(0, len(self.gaps), length):
            block = slice(first, first + length)
            in_A, in_Q = (slope.copy() for slope in self.process.slopes(self.gaps[block]))
            if self.begins and first == 0:
                in_A[:, 0], in_Q[:, 0] = 0.0, self.process.prior_slopes(self.t[0])
            pairs = zip(in_A, in_Q)
            sums += np.array([np.sum(on_A[block] * a) + np.sum(on_Q[block] * q) for a, q in pairs])
        return sums

    def filter_all(self, K):
        """Filter from the prior; returns the sums, and the moments after the last time."""
        k, N = self.data.Y.shape[1], self.process.order * K.shape[1]
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
        K : ndarray of shape (s, M, M)
        combine : ndarray of shape (k, k'), default=None
            Combines the columns of targets whose outer products enter the derivatives.
        learning : bool
        queries : (time, place, W), default=None
            Times among ``stops`` (q,), ascending; places (q,); weights (w, c) of the first numbers
            of the state at the others.

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
        (A, Q), T, N = line.transitions(), len(self.t), self.process.order * K.shape[1]
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

    def joint(self, K, steps, H):
        """Return means (q, k) and covariance (q, q) of f at places and times given all data.

        Fixed-point smoothing: later observations update each query through its covariance with the
        present state.

        Parameters
        ----------
        K : ndarray of shape (s, M, M)
        steps : ndarray of int of shape (q,)
            Positions among the times, ascending.
        H : ndarray of shape (q, c)
            Weights of the first numbers of the state.
        """
        (A, Q), p, (q, c) = self.transitions(), self.process.order, H.shape
        k, N = self.data.Y.shape[1], p * K.shape[1]
        m, P = np.zeros((k, N)), np.zeros((N, N))
        mean, cov, C = np.zeros((k, q)), np.zeros((q, q)), np.zeros((N, q))
        # The variances that data take from queries, as products Vᵀ V: many rows at once.
        V, filled = np.zeros((_MAX_COLUMNS, q)), 0
        first, sums = np.searchsorted(steps, np.arange(len(self.t) + 1)), np.zeros((k, k + 1))
        begin = steps[0] if q else len(self.t)
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
                covariances, errors, moments = (
                    lapack.dtrtrs(L, X, lower=1)[0]
                    for X in (C[site, :old], Y - before_m[:, site].T, before_P[site])
                )
                mean[:, :old] += errors.T @ covariances
                C[:, :old] -= moments.T @ covariances
                if filled + b > len(V):
                    cov -= V.T @ V
                    V, filled = np.zeros((max(b, _MAX_COLUMNS), q)), 0
                V[filled : filled + b, :old] = covariances
                filled += b
            if new.start < new.stop:
                C[:, new] = P[:, :c] @ H[new].T
                mean[:, new] = m[:, :c] @ H[new].T
                cov[: new.stop, new] = C[:c, : new.stop].T @ H[new].T
                cov[new, :old] = cov[:old, new].T
        return mean.T, cov - V.T @ V


# --- a single place -------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Series:
    """Observations of one place and further times, in the order of time; see `Timeline`.

    Filter and smoother are compiled for the process as a sum of chains. The state of a cosine of
    time is constant here and its weight in f varies, whereas in `_state_space` its state rotates.
    So no matrix is stored for each time gap, and the matrices of a move are block-diagonal.

    Attributes
    ----------
    process : Stationary or Composed
    chains : Chains
    t : ndarray of shape (n,)
        Times since the first one.
    gap : ndarray of shape (n,)
        Times since the one before.
    asked : ndarray of int of shape (q,)
        Positions of the further times.
    data : Observations
        Of all times, those without an observation have infinite noise.
    """

    process: object
    chains: Chains
    t: np.ndarray
    gap: np.ndarray
    asked: np.ndarray
    data: Observations

    def filter_all(self, K):
        m, P = self._prior(K)
        k = len(m)
        sums = np.zeros((k, k + 1))
        failed = self._compiled(K).filter(m, P, sums)
        check_filtered(failed, sums)
        B = self.process.from_chains(self.t[-1])
        return sums, m @ B.T, B @ P @ B.T

    def smooth(self, K, combine=None, learning=False, queries=None):
        data, chains = self.data, self.chains
        if combine is not None:
            data = replace(data, Y=data.Y @ combine)
        m, P = self._prior(K, data)
        r, Lambda, n = np.zeros_like(m), np.zeros_like(P), len(data)
        on_weight, on_rate = np.zeros(len(chains.weight)), np.zeros(len(chains.rate))
        on_R, on_H = np.zeros(n), np.zeros(chains.H.shape) if chains.learns_H else None
        out = None if queries is None else np.empty((n, len(m) + 1))
        slopes = (on_weight, on_rate, on_R, on_H) if learning else None
        failed = self._compiled(K, data).smooth(m, P, r, Lambda, slopes, out)
        check_filtered(failed, r)
        answers = None
        if learning:
            on_weight += chains.contract_prior(r.T @ r - Lambda)
            on_K = on_weight @ chains.weight
            arguments = chains.weight, K[0, 0, 0] * on_weight, on_rate, on_H
            slopes = self.process.contract_chains(self.t, *arguments), np.array([[[on_K]]]), on_R
        if queries is not None:
            _, place, W = queries
            answers = out[self.asked]
            if len(W):
                scale = np.append(1.0, W[:, 0])[place, np.newaxis]
                answers *= np.hstack([np.repeat(scale, len(m), axis=1), scale**2])
        return slopes, answers

    def _prior(self, K, data=None):
        P = K[0, 0, 0] * self.chains.prior
        return np.zeros(((data or self.data).Y.shape[1], len(P))), P

    def _compiled(self, K, data=None):
        chains, data = self.chains, data or self.data
        H = chains.H
        if H is None and data.Y.shape[1] > 2:
            H = np.ones((len(data), 1))
        return _series.Chains(
            chains.order,
            chains.rate,
            chains.line,
            K[0, 0, 0] * chains.weight,
            self.gap,
            data.Y,
            data.R,
            H,
        )


def timeline(process, M, data, stops=()):
    """Return a `Series` at M = 1 place if the process allows it, otherwise a `Timeline`.

    Parameters
    ----------
    process : Stationary, Brownian or Composed
    M : int
    data : Observations
    stops : array-like of shape (q,)
        Further times, ascending.
    """
    if M > 1 or not process.has_chains:
        return Timeline.of(process, data, stops)
    asked = np.searchsorted(data.t, stops)
    new = data.t[np.minimum(asked, len(data) - 1)] != stops
    if new.any():
        where = asked[new]
        data = Observations(
            np.insert(data.t, where, stops[new]),
            data.site,
            np.insert(data.Y, where, 0.0, axis=0),
            np.insert(data.R, where, np.inf),
        )
        asked += np.cumsum(new) - new
    t = data.t - data.t[0]
    return Series(process, process.chains(t), t, np.diff(data.t, prepend=data.t[0]), asked, data)


# --- one observation after another ----------------------------------------------------------------

# Maximum number of pending steps, and size of the state from which deferring is faster.
_MAX_PENDING = 64
_MIN_SIZE_TO_DEFER = 256


@dataclass(frozen=True, eq=False)
class FilterState:
    """Mean and covariance of the state of M places at one time, a value that observations update.

    With many places the covariance is not rewritten at every step. It is that of an earlier time,
    P₀, propagated, less the outer products of the steps since then,

        P(t) = A P₀ Aᵀ + Σ_g Q_g ⊗ K_g − Σ_k u_k(t) u_k(t)ᵀ,     u_k(t) = A(t − t_k) c_k / √s_k.

    A step needs one row of P, O(N r) with r steps pending. `_MAX_PENDING` pending steps are applied
    in one matrix product: O(N²) a step at the speed of BLAS. P₀ and the u_k are shared with earlier
    states, which stay valid. Posterior variances of all places are updated at every step.

    Attributes
    ----------
    process : Stationary, Brownian or Composed
    K : ndarray of shape (s, M, M)
        Prior covariances of the places, of each group of components.
    t : float
        Time of the latest observation.
    m : ndarray of shape (k, N)
        Mean for each column of targets.
    blocks : ndarray of shape (p, p, M)
        Covariance of the p components at each place.
    sums : ndarray of shape (k, k + 1)
        Yᵀ Δ⁻¹ Y, and log |Δ| as the last entry of the first row.
    n : int
        Number of observations.
    base_P : ndarray of shape (N, N)
        P₀, the covariance at the time ``base_t``.
    pending_u : ndarray of shape (r, N)
        u_k(t_k) of the steps since then, at the times ``pending_t``.
    storage : GrowableArrays or None
        Of the pending steps; shared with earlier states.
    """

    process: object
    K: np.ndarray
    t: float
    m: np.ndarray
    blocks: np.ndarray
    sums: np.ndarray
    n: int
    base_P: np.ndarray
    base_t: float
    pending_u: np.ndarray
    pending_t: np.ndarray
    storage: GrowableArrays | None = field(default=None, repr=False)

    @classmethod
    def of(cls, process, K, data):
        """Filter all observations, from the prior."""
        sums, m, P = timeline(process, K.shape[1], data).filter_all(K)
        return cls._without_pending(process, K, float(data.t[-1]), m, P, sums, len(data))

    @classmethod
    def _without_pending(cls, process, K, t, m, P, sums, n):
        M, p = K.shape[1], process.order
        blocks = np.einsum("aibi->abi", P.reshape(p, M, p, M)).copy()
        return cls(process, K, t, m, blocks, sums, n, P, t, np.empty((0, p * M)), np.empty(0))

    def __getstate__(self):
        # Without values computed on demand and spare storage.
        state = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return state | {"storage": None}

    @property
    def n_pending(self):
        return len(self.pending_t)

    @property
    def M(self):
        return self.K.shape[1]

    @property
    def _variances(self):
        """Prior variances (s, M) of the places."""
        return np.diagonal(self.K, axis1=1, axis2=2)

    @cached_property
    def P(self):
        """Covariance (N, N) at the time t."""
        if not self.n_pending and self.base_t == self.t:
            return self.base_P
        P = self.base_P.copy()
        m = np.zeros((1, len(P)))
        A, Q = self._transitions(self.t, self.base_t)
        nothing = np.empty((0, 1)), np.empty(0), m, P, np.zeros((1, 2))
        _kalman.filter(np.zeros(1, dtype=np.intp), A, Q, self.K, *NO_ROWS, *nothing)
        if self.n_pending:
            U = self._pending_at(self.t).reshape(self.n_pending, -1)
            blas.dgemm(-1.0, U.T, U.T, 1.0, P.T, trans_b=1, overwrite_c=1)
        return P

    def _pending_at(self, t):
        """Return the pending u (r, p, M) at time t."""
        r, p = self.n_pending, self.process.order
        U = self.pending_u.reshape(r, p, -1)
        return np.matmul(self._transitions(t, self.pending_t)[0], U)

    def _transitions(self, t, since):
        """Return A and Q of moves to times from others; one of both may be a single time."""
        clock = self.process.clock
        return self.process.transitions(clock(np.atleast_1d(t)) - clock(np.atleast_1d(since)))

    def update(self, data):
        """Return the state after observations that are not before t."""
        few = len(data) < 8 * len(np.unique(data.t))
        if few and self.m.shape[1] >= _MIN_SIZE_TO_DEFER:
            state = self
            for i in range(len(data)):
                state = state.update_with(data.t[i], data.site[i], data.Y[i], data.R[i])
            return state
        line = Timeline.of(self.process, data, after=self.t)
        m, P = self.m.copy(), self.P.copy()
        sums = self.sums + line.filter(self.K, m, P)
        n = self.n + len(data)
        return self._without_pending(self.process, self.K, float(line.t[-1]), m, P, sums, n)

    def update_with(self, t, site, y, R):
        """Return the state after one observation y (k,) at a place, not before t; O(N r)."""
        p, M = self.process.order, self.M
        A, Q = self._transitions(t, [self.t, self.base_t])
        m = np.matmul(A[0], self.m.reshape(-1, p, M))
        c = self._row(t, site, A[1], Q[1])
        variance = c[0, site] + R
        if not variance > 0.0:
            raise NotPositiveDefiniteError(
                f"The variance of the observation at time {t} is not positive in the Kalman "
                "filter. Raise noise_variance or its lower bound, or use solver='dense'."
            )
        root = np.sqrt(variance)
        E = (y - m[:, 0, site]) / root
        u = c / root
        m += E[:, np.newaxis, np.newaxis] * u
        blocks = (
            np.einsum("ac,cdi,bd->abi", A[0], self.blocks, A[0], optimize=p > 3)
            if p > 1
            else (A[0, 0, 0] ** 2 * self.blocks)
        )
        blocks += np.tensordot(Q[0], self._variances, (0, 0))
        blocks -= u[:, np.newaxis] * u
        # The subtraction may cancel the digits of the observed variance.
        blocks[:, 0, site] = blocks[0, :, site] = c[:, site] * (R / variance)
        sums = self.sums.copy()
        sums[:, :-1] += np.outer(E, E)
        sums[0, -1] += np.log(variance)
        if not np.isfinite(sums).all():
            raise NotPositiveDefiniteError(
                "Solving with the covariance overflowed in the Kalman filter. Scale y to a "
                "moderate range (normalize_y=True), or raise noise_variance."
            )
        return self._with_pending(u.ravel(), t, m=m.reshape(len(m), -1), blocks=blocks, sums=sums)

    def _with_pending(self, u, t, **moments):
        """Return the state after another step u (N,) at time t, with its other moments."""
        step = {"pending_u": u[np.newaxis], "pending_t": [t]}
        pending, storage = append_rows(vars(self), step, self.storage)
        new = replace(self, t=float(t), n=self.n + 1, storage=storage, **pending, **moments)
        if new.n_pending < _MAX_PENDING:
            return new
        none = {"pending_u": np.empty((0, len(u))), "pending_t": np.empty(0), "storage": None}
        return replace(new, base_P=new.P, base_t=new.t, **none)

    def _row(self, t, site, A, Q):
        """Return the covariance (p, M) of the state at time t with f at a place."""
        p, M, r = self.process.order, self.M, self.n_pending
        rows = self.base_P[site::M].reshape(p, p, M)
        c = A @ np.tensordot(A[0], rows, 1) + Q[:, :, 0].T @ self.K[:, site]
        if r:
            moved = self._transitions(t, self.pending_t)[0]
            U = self.pending_u.reshape(r, p, M)
            share = np.einsum("ra,ra->r", moved[:, 0], U[:, :, site])
            weights = (share[:, np.newaxis, np.newaxis] * moved).transpose(1, 0, 2).reshape(p, -1)
            c -= blas.dgemm(1.0, U.reshape(r * p, M).T, weights.T).T
        return c

    def extended(self, K, W):
        """Return the state with more places, interpolated with weights W (w, c) of `at`.

        K (s, M + w, M + w) are the prior covariances of all places.
        """
        p, M, M2, prior = self.process.order, self.M, K.shape[1], self.process.prior(self.t)
        # Variance reduction at the present places, interpolated to the others.
        reduction = sum(map(np.kron, prior, self.K)) - self.P
        reduction = self._interpolated(self._interpolated(reduction, W).T, W)
        P = (sum(map(np.kron, prior, K)) - reduction).reshape(p, M2, p, M2)
        # Without round-off at the present places.
        P[:, :M, :, :M] = self.P.reshape(p, M, p, M)
        m, P = self._interpolated(self.m.T, W).T.copy(), P.reshape(p * M2, -1)
        return self._without_pending(self.process, K, self.t, m, P, self.sums, self.n)

    def _interpolated(self, X, W):
        """Return columns X (N, r) of the state with more places; see `extended`."""
        X, level = X.reshape(-1, self.M, X.shape[1]), self.process.level
        new = np.matmul(W[:, : self.M], X)
        if level:
            # The level is that of the other places.
            new[0] += np.outer(W[:, -1], X[level, 0])
            new[level:] = X[level:, :1]
        return np.concatenate([X, new], axis=1).reshape(-1, X.shape[2])

    # --- posterior --------------------------------------------------------------------------------

    def marginals(self, site, t):
        """Return means (q, k) and variances (q,) of f at places (q,) and times (q,) from t on."""
        if len(t) and (t == t[0]).all():
            A, Q = self._transitions(t[:1], self.t)
            m = np.tensordot(self.m.reshape(len(self.m), -1, self.M), A[0, 0], (1, 0))
            v = np.einsum("a,b,abi->i", A[0, 0], A[0, 0], self.blocks)
            v += Q[0, :, 0, 0] @ self._variances
            return m[:, site].T, v[site]
        A, Q = self._transitions(t, self.t)
        m = np.einsum("qa,kaq->qk", A[:, 0], self.m.reshape(len(self.m), -1, self.M)[:, :, site])
        v = np.einsum("qa,qb,abq->q", A[:, 0], A[:, 0], self.blocks[:, :, site])
        return m, v + np.einsum("qs,sq->q", Q[:, :, 0, 0], self._variances[:, site])

    @property
    def n_shown(self):
        """Number c of the state's first numbers, with which f is a weighted sum at any place.

        These are f at the places; up to the level at the first place, if there is one.
        """
        level = self.process.level
        return level * self.M + 1 if level else self.M

    def at(self, t):
        """Return means (k, c) and covariance (c, c) of the state's first numbers, from t on."""
        p, M, c = self.process.order, self.M, self.n_shown
        A, Q = self._transitions(t, self.t)
        A, Q = A[0, : self.process.level + 1], Q[0, :, : self.process.level + 1]
        m = np.einsum("ea,kai->kei", A, self.m.reshape(-1, p, M))
        P = np.einsum("ea,aibj,fb->eifj", A, self.P.reshape(p, M, p, M), A, optimize=True)
        P += np.einsum("gef,gij->eifj", Q[:, :, : len(A)], self.K)
        return m.reshape(len(m), -1)[:, :c], P.reshape(len(A) * M, -1)[:c, :c]
