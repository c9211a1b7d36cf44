"""The present state of all places, as a value that grows by one observation at a time.

Where there are many places the covariance is not written anew at every step: it is that of an
earlier time, P₀, moved on, less the outer products of the steps since then,

    P(t) = A P₀ Aᵀ + Q ⊗ K − Σ_k u_k(t) u_k(t)ᵀ,     u_k(t) = A(t − t_k) c_k / √s_k.

A step needs one row of it, O(N r) for r steps since; at `_ROOM` of them they are settled in one
product of matrices, O(N²) a step at the speed of BLAS. P₀ and the u_k are shared with the states
before, which stay valid. Posterior variances are kept for every place.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.linalg import blas

from .._fast import kalman as _kalman
from ..exceptions import NotPositiveDefiniteError
from ._timeline import Timeline

# Steps that may wait to be settled, and the size of the state from which waiting pays.
_ROOM = 64
_WORTH_WAITING = 256

_NO_ROWS = np.zeros(2, dtype=np.intp), np.empty(0, dtype=np.intp)


class _Steps:
    """Room for the steps since the covariance was settled; states share it as far as they agree."""

    def __init__(self, size):
        self.u = np.empty((_ROOM, size))
        self.t = np.empty(_ROOM)
        self.filled = 0

    def __getstate__(self):
        n = self.filled
        return {"u": self.u[:n], "t": self.t[:n]}

    def __setstate__(self, state):
        u, t = state["u"], state["t"]
        self.__init__(u.shape[1])
        self.filled = len(t)
        self.u[: len(t)], self.t[: len(t)] = u, t

    def copy(self, n):
        new = _Steps(self.u.shape[1])
        new.u[:n], new.t[:n], new.filled = self.u[:n], self.t[:n], n
        return new


@dataclass(frozen=True, eq=False)
class Tracked:
    """Mean and covariance of the state of M places at one time.

    Attributes
    ----------
    process : Stationary or Brownian
    K : ndarray of shape (M, M)
        Prior covariance of the places.
    t : float
        Time of the latest observation.
    m : ndarray of shape (k, N)
        Mean for each column of targets.
    blocks : ndarray of shape (p, p, M)
        Covariance of the p components at each place.
    sums : ndarray of shape (k, k + 1)
        Yᵀ Δ⁻¹ Y, and log |Δ| at the end of the first row.
    n : int
        How many observations.
    """

    process: object
    K: np.ndarray
    t: float
    m: np.ndarray
    blocks: np.ndarray
    sums: np.ndarray
    n: int
    settled_P: np.ndarray
    settled_t: float
    steps: _Steps
    n_steps: int

    @classmethod
    def of(cls, process, K, given):
        """From the prior, with all observations."""
        line = Timeline.of(process, given)
        N = process.order * len(K)
        m, P = np.zeros((given.Y.shape[1], N)), np.zeros((N, N))
        sums = line.filter(K, m, P)
        return cls._settled(process, K, float(line.t[-1]), m, P, sums, len(given))

    @classmethod
    def _settled(cls, process, K, t, m, P, sums, n):
        M, p = len(K), process.order
        blocks = np.einsum("aibi->abi", P.reshape(p, M, p, M)).copy()
        return cls(process, K, t, m, blocks, sums, n, P, t, None, 0)

    def __getstate__(self):
        # What was computed on demand is not kept.
        return {name: getattr(self, name) for name in self.__dataclass_fields__}

    def settled(self):
        """The same, without steps that wait."""
        return replace(self, settled_P=self.P, settled_t=self.t, steps=None, n_steps=0)

    @property
    def M(self):
        return len(self.K)

    @cached_property
    def P(self):
        """Covariance (N, N) at the time t."""
        if not self.n_steps and self.settled_t == self.t:
            return self.settled_P
        P = self.settled_P.copy()
        m = np.zeros((1, len(P)))
        A, Q = self.process.moves([self.t - self.settled_t])
        nothing = np.empty((0, 1)), np.empty(0), m, P, np.zeros((1, 2))
        _kalman.filter(np.zeros(1, dtype=np.intp), A, Q, self.K, *_NO_ROWS, *nothing)
        if self.n_steps:
            U = self._moved_steps(self.t).reshape(self.n_steps, -1)
            blas.dgemm(-1.0, U.T, U.T, 1.0, P.T, trans_b=1, overwrite_c=1)
        return P

    def _moved_steps(self, t):
        """u (r, p, M) at the time t."""
        r, p = self.n_steps, self.process.order
        U = self.steps.u[:r].reshape(r, p, -1)
        return np.matmul(self.process.moves(t - self.steps.t[:r])[0], U)

    def after(self, given):
        """With observations that are not before the time t."""
        few = len(given) < 8 * len(np.unique(given.t))
        if few and self.m.shape[1] >= _WORTH_WAITING:
            state = self
            for i in range(len(given)):
                state = state.step(given.t[i], given.site[i], given.Y[i], given.R[i])
            return state
        line = Timeline.of(self.process, given, after=self.t)
        m, P = self.m.copy(), self.P.copy()
        sums = self.sums + line.filter(self.K, m, P)
        n = self.n + len(given)
        return self._settled(self.process, self.K, float(line.t[-1]), m, P, sums, n)

    def step(self, t, site, y, R):
        """With one observation y (k,) of a place, at a time that is not before t; O(N r)."""
        p, M = self.process.order, self.M
        A, Q = self.process.moves([t - self.t, t - self.settled_t])
        m = np.matmul(A[0], self.m.reshape(-1, p, M))
        c = self._row(t, site, A[1], Q[1])
        variance = c[0, site] + R
        if not variance > 0.0:
            raise NotPositiveDefiniteError(
                f"The covariance of what was observed at the time {t} is not positive in the "
                "Kalman filter. Raise noise_variance or its lower bound, or take solver='dense'."
            )
        root = np.sqrt(variance)
        E = (y - m[:, 0, site]) / root
        u = c / root
        m += E[:, np.newaxis, np.newaxis] * u
        blocks = (
            np.einsum("ac,cdi,bd->abi", A[0], self.blocks, A[0])
            if p > 1
            else (A[0, 0, 0] ** 2 * self.blocks)
        )
        blocks += Q[0][:, :, np.newaxis] * np.diagonal(self.K)
        blocks -= u[:, np.newaxis] * u
        # What the subtraction leaves of the variance observed may have lost its digits.
        blocks[:, 0, site] = blocks[0, :, site] = c[:, site] * (R / variance)
        sums = self.sums.copy()
        sums[:, :-1] += np.outer(E, E)
        sums[0, -1] += np.log(variance)
        if not np.isfinite(sums).all():
            raise NotPositiveDefiniteError(
                "Solving with the covariance overflowed in the Kalman filter. Scale y to a "
                "moderate range (normalize_y=True), or raise noise_variance."
            )
        steps = self._with_room(u, t)
        new = replace(
            self,
            t=float(t),
            m=m.reshape(len(m), -1),
            blocks=blocks,
            sums=sums,
            n=self.n + 1,
            steps=steps,
            n_steps=self.n_steps + 1,
        )
        if new.n_steps < _ROOM:
            return new
        return new.settled()

    def _row(self, t, site, A, Q):
        """Covariance (p, M) of the state at the time t with f at a place, then."""
        p, M, r = self.process.order, self.M, self.n_steps
        rows = self.settled_P[site::M].reshape(p, p, M)
        c = A @ np.tensordot(A[0], rows, 1) + np.outer(Q[:, 0], self.K[site])
        if r:
            moves = self.process.moves(t - self.steps.t[:r])[0]
            U = self.steps.u[:r].reshape(r, p, M)
            share = np.einsum("ra,ra->r", moves[:, 0], U[:, :, site])
            weights = (share[:, np.newaxis, np.newaxis] * moves).transpose(1, 0, 2).reshape(p, -1)
            c -= blas.dgemm(1.0, U.reshape(r * p, M).T, weights.T).T
        return c

    def _with_room(self, u, t):
        """The steps, and one more behind them."""
        steps, n = self.steps, self.n_steps
        if steps is None:
            steps = _Steps(u.size)
        elif steps.filled != n:
            steps = steps.copy(n)
        steps.u[n], steps.t[n], steps.filled = u.ravel(), t, n + 1
        return steps

    def extended(self, K, W):
        """With more places, which the present ones explain by weights W (w, M).

        K (M + w, M + w) is the prior covariance of all.
        """
        p, M, M2 = self.process.order, self.M, len(K)
        E = np.vstack([np.eye(M), W])
        m = np.matmul(self.m.reshape(-1, p, M), E.T)
        prior = self.process.prior(self.t)
        # What the present places explain of the prior is what observations have told of.
        told = np.einsum("ab,ij->aibj", prior, self.K) - self.P.reshape(p, M, p, M)
        told = np.einsum("xi,aibj,yj->axby", E, told, E, optimize=True)
        P = np.einsum("ab,ij->aibj", prior, K) - told
        # The present places keep their digits.
        P[:, :M, :, :M] = self.P.reshape(p, M, p, M)
        return self._settled(
            self.process, K, self.t, m.reshape(len(m), -1), P.reshape(p * M2, -1), self.sums, self.n
        )

    # --- what it says -----------------------------------------------------------------------------

    def marginals(self, site, t):
        """Means (q, k) and variances (q,) of f at places (q,) and times (q,) from t on."""
        if len(t) and (t == t[0]).all():
            A, Q = self.process.moves(t[:1] - self.t)
            m = np.tensordot(self.m.reshape(len(self.m), -1, self.M), A[0, 0], (1, 0))
            v = np.einsum("a,b,abi->i", A[0, 0], A[0, 0], self.blocks)
            v += Q[0, 0, 0] * np.diagonal(self.K)
            return m[:, site].T, v[site]
        A, Q = self.process.moves(t - self.t)
        m = np.einsum("qa,kaq->qk", A[:, 0], self.m.reshape(len(self.m), -1, self.M)[:, :, site])
        v = np.einsum("qa,qb,abq->q", A[:, 0], A[:, 0], self.blocks[:, :, site])
        return m, v + Q[:, 0, 0] * np.diagonal(self.K)[site]

    def at(self, t):
        """Means (k, M) and covariance (M, M) of f at all places at a time from t on."""
        p, M = self.process.order, self.M
        A, Q = self.process.moves([t - self.t])
        m = np.tensordot(self.m.reshape(len(self.m), p, M), A[0, 0], (1, 0))
        P = np.einsum("a,aibj,b->ij", A[0, 0], self.P.reshape(p, M, p, M), A[0, 0], optimize=True)
        return m, P + Q[0, 0, 0] * self.K
