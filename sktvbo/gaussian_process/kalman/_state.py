"""Filtered state of all places, an immutable value that is updated by observations.

With many places the covariance is not rewritten at every step. It is that of an earlier time, P₀,
propagated, less the outer products of the steps since then,

    P(t) = A P₀ Aᵀ + Q ⊗ K − Σ_k u_k(t) u_k(t)ᵀ,     u_k(t) = A(t − t_k) c_k / √s_k.

A step needs one row of P, O(N r) with r steps pending. `_MAX_PENDING` pending steps are applied in
one matrix product: O(N²) a step at the speed of BLAS. P₀ and the u_k are shared with earlier
states, which stay valid. Posterior variances of all places are updated at every step.
"""

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from scipy.linalg import blas

from ..._fast import kalman as _kalman
from ..._values import GrowableArrays, append_rows
from ...exceptions import NotPositiveDefiniteError
from ._series import timeline
from ._smoother import NO_ROWS, Timeline

# Maximum number of pending steps, and size of the state from which deferring is faster.
_MAX_PENDING = 64
_MIN_SIZE_TO_DEFER = 256


@dataclass(frozen=True, eq=False)
class FilterState:
    """Mean and covariance of the state of M places at one time.

    Attributes
    ----------
    process : Stationary, Brownian or Composed
    K : ndarray of shape (M, M)
        Prior covariance of the places.
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
        sums, m, P = timeline(process, len(K), data).filter_all(K)
        return cls._without_pending(process, K, float(data.t[-1]), m, P, sums, len(data))

    @classmethod
    def _without_pending(cls, process, K, t, m, P, sums, n):
        M, p = len(K), process.order
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
        return len(self.K)

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
        blocks += np.multiply.outer(Q[0], np.diagonal(self.K))
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
        step = {"pending_u": u.reshape(1, -1), "pending_t": [t]}
        pending, storage = append_rows(vars(self), step, self.storage)
        new = replace(
            self,
            t=float(t),
            m=m.reshape(len(m), -1),
            blocks=blocks,
            sums=sums,
            n=self.n + 1,
            storage=storage,
            **pending,
        )
        if new.n_pending < _MAX_PENDING:
            return new
        none = {"pending_u": np.empty((0, u.size)), "pending_t": np.empty(0), "storage": None}
        return replace(new, base_P=new.P, base_t=new.t, **none)

    def _row(self, t, site, A, Q):
        """Return the covariance (p, M) of the state at time t with f at a place."""
        p, M, r = self.process.order, self.M, self.n_pending
        rows = self.base_P[site::M].reshape(p, p, M)
        c = A @ np.tensordot(A[0], rows, 1) + np.outer(Q[:, 0], self.K[site])
        if r:
            moved = self._transitions(t, self.pending_t)[0]
            U = self.pending_u.reshape(r, p, M)
            share = np.einsum("ra,ra->r", moved[:, 0], U[:, :, site])
            weights = (share[:, np.newaxis, np.newaxis] * moved).transpose(1, 0, 2).reshape(p, -1)
            c -= blas.dgemm(1.0, U.reshape(r * p, M).T, weights.T).T
        return c

    def extended(self, K, W):
        """Return the state with more places, interpolated with weights W (w, M) of the others.

        K (M + w, M + w) is the prior covariance of all places.
        """
        p, M, M2, prior = self.process.order, self.M, len(K), self.process.prior(self.t)
        # Variance reduction at the present places, interpolated to the others.
        reduction = np.kron(prior, self.K) - self.P
        reduction = self._interpolated(self._interpolated(reduction, W).T, W)
        P = (np.kron(prior, K) - reduction).reshape(p, M2, p, M2)
        # Without round-off at the present places.
        P[:, :M, :, :M] = self.P.reshape(p, M, p, M)
        m, P = self._interpolated(self.m.T, W).T.copy(), P.reshape(p * M2, -1)
        return self._without_pending(self.process, K, self.t, m, P, self.sums, self.n)

    def _interpolated(self, X, W):
        """Return columns X (N, r) of the state with more places; see `extended`."""
        X = X.reshape(-1, self.M, X.shape[1])
        return np.concatenate([X, np.matmul(W, X)], axis=1).reshape(-1, X.shape[2])

    # --- posterior --------------------------------------------------------------------------------

    def marginals(self, site, t):
        """Return means (q, k) and variances (q,) of f at places (q,) and times (q,) from t on."""
        if len(t) and (t == t[0]).all():
            A, Q = self._transitions(t[:1], self.t)
            m = np.tensordot(self.m.reshape(len(self.m), -1, self.M), A[0, 0], (1, 0))
            v = np.einsum("a,b,abi->i", A[0, 0], A[0, 0], self.blocks)
            v += Q[0, 0, 0] * np.diagonal(self.K)
            return m[:, site].T, v[site]
        A, Q = self._transitions(t, self.t)
        m = np.einsum("qa,kaq->qk", A[:, 0], self.m.reshape(len(self.m), -1, self.M)[:, :, site])
        v = np.einsum("qa,qb,abq->q", A[:, 0], A[:, 0], self.blocks[:, :, site])
        return m, v + Q[:, 0, 0] * self.K[site, site]

    def at(self, t):
        """Return means (k, M) and covariance (M, M) of f at the places at a time from t on."""
        p, M = self.process.order, self.M
        A, Q = self._transitions(t, self.t)
        A = A[0, 0]
        m = np.tensordot(self.m.reshape(-1, p, M), A, (1, 0))
        P = np.einsum("a,aibj,b->ij", A, self.P.reshape(p, M, p, M), A, optimize=True)
        return m, P + Q[0, 0, 0] * self.K
