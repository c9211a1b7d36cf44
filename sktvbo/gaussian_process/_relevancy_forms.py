"""Quadratic forms of the relevancies, updated with rows and time.

With P the inverse covariance of the observations and C = C_S ∘ (B G Bᵀ) (see `_relevancy`), the
sweep needs q_i = P_iᵀ C P_i of all rows: a matrix product. For kernels that are an exponential
times a polynomial in time, C depends on the present time through B only, and the forms

    Q_i^{kl} = P_iᵀ (C_S ∘ b_k b_lᵀ) P_i,      q_i = Σ_kl G_kl Q_i^{kl},

can be updated. Appending a row changes P, padded with zeros, by u uᵀ / s with u = (P k, −1) and s
the variance given the other rows; dropping row i with u = P_i and s = −P_ii. With
w^{kl} = b_k ∘ C_S (b_l ∘ u),

    Q_i^{kl} ← Q_i^{kl} + (u_i/s) ([P w^{kl}]_i + [P w^{lk}]_i) + (u_i/s)² uᵀ w^{kl},

which is O(n²), and the sum V^{kl} = Σ_ij P_ij (C_S ∘ b_k b_lᵀ)_ij changes by uᵀ w^{kl} / s. A
step δ of the present time combines b, Q and V linearly: with η = c δ,

    B ← e^{−η} B T,      Q_i ← e^{−2η} Tᵀ Q_i T,      T_km = C(k, m) η^{k−m}.
"""

from dataclasses import dataclass
from math import comb

import numpy as np

from .._values import replaced
from ._cholesky import Buffer, product
from ._kernel_families import FAMILIES, Factor
from ._relevancy import basis_products, convolutions_in_space, future_basis

# Recompute updated values whose relative error is larger.
BOUND = 1e-9


@dataclass(frozen=True, eq=False)
class PlaceConvolutions:
    """Convolutions C_S of a spatial kernel between places, updated with rows.

    Attributes
    ----------
    spatial : Factor or Empirical
    S : ndarray of shape (n, d)
    buffer : Buffer
        Holds C_S in its first rows and columns.
    """

    spatial: object
    S: np.ndarray
    buffer: Buffer

    @classmethod
    def of(cls, spatial, S):
        """Compute the convolutions, O(n²)."""
        return cls(spatial, S, Buffer(convolutions_in_space(spatial, S)))

    @property
    def C(self):
        """Convolutions (n, n), a view."""
        return self.buffer.array[: len(self.S), : len(self.S)]

    def append(self, s):
        """Append a row at s (1, d), O(n)."""
        n, buffer = len(self.S), self.buffer.with_space_after(len(self.S))
        C = buffer.array
        C[n, :n] = C[:n, n] = convolutions_in_space(self.spatial, s, self.S)[0]
        if isinstance(self.spatial, Factor):
            C[n, n] = self.C[0, 0]  # the same at all places
        else:
            C[n, n] = convolutions_in_space(self.spatial, s)[0, 0]
        buffer.filled = n + 1
        return replaced(self, S=np.vstack([self.S, s]), buffer=buffer)

    def drop(self, i):
        """Drop row i, O(n²)."""
        n, buffer = len(self.S), self.buffer.for_drop(len(self.S))
        buffer.filled, C = n - 1, buffer.array[: n - 1, : n - 1]
        for to, of in ((slice(i), slice(i)), (slice(i, None), slice(i + 1, None))):
            C[to, :i], C[to, i:] = self.C[of, :i], self.C[of, i + 1 :]
        return replaced(self, S=np.delete(self.S, i, axis=0), buffer=buffer)


@dataclass(frozen=True, eq=False)
class RelevancyForms:
    """Q, V and the values that update them, at a present time.

    Attributes
    ----------
    places : PlaceConvolutions
    temporal : Factor
        Factor with a polynomial.
    now : float
    B : ndarray of shape (n, p + 1)
    Q : ndarray of shape (p + 1, p + 1, n)
    V : ndarray of shape (p + 1, p + 1)
    """

    places: PlaceConvolutions
    temporal: Factor
    now: float
    B: np.ndarray
    Q: np.ndarray
    V: np.ndarray

    @classmethod
    def of(cls, factors, S, t, now, P):
        """Compute the forms, O(n³); None for kernels without them.

        Parameters
        ----------
        factors : (Factor or Empirical, Factor)
        S, t : ndarray of shape (n, d), (n,)
        now : float
            Present time, in the unit of t.
        P : ndarray of shape (n, n)
            Inverse covariance.
        """
        spatial, temporal = factors
        alpha = FAMILIES[temporal.family].polynomial
        if alpha is None:
            return None
        places, B = (
            PlaceConvolutions.of(spatial, S),
            future_basis(alpha, temporal.units[0], now - t),
        )
        C = places.C
        Q = np.empty((B.shape[1],) * 2 + t.shape)
        for l, b in enumerate(B.T):
            half = product(C, b[:, np.newaxis] * P)
            half *= P
            Q[:, l] = product(B.T, half)
        return cls(places, temporal, now, B, Q, _sums(C, B, P))

    @property
    def C(self):
        """Convolutions in space (n, n), a view."""
        return self.places.C

    def at(self, now):
        """Return the forms at another time, O(n)."""
        if now == self.now:
            return self
        eta, order = self.temporal.units[0] * (now - self.now), range(self.B.shape[1])
        T = np.array([[comb(k, m) * eta ** max(k - m, 0) for m in order] for k in order])
        T *= np.exp(-eta)
        Q, V = np.einsum("km,kln,lo->mon", T, self.Q, T), np.einsum("km,kl,lo->mo", T, self.V, T)
        return replaced(self, now=now, B=self.B @ T, Q=Q, V=V)

    def append(self, s, t, P, u, variance):
        """Append a row at s (1, d) and t; P is that before, u and ``variance`` s are as above.

        A time after the present time moves the latter.
        """
        if t > self.now:
            return self.at(t).append(s, t, P, u, variance)
        alpha = FAMILIES[self.temporal.family].polynomial
        b = future_basis(alpha, self.temporal.units[0], np.array([self.now - t]))
        Q = np.concatenate([self.Q, np.zeros((*self.Q.shape[:2], 1))], axis=2)
        new = replaced(self, places=self.places.append(s), B=np.vstack([self.B, b]), Q=Q)
        return new._changed(P, np.append(u, -1.0), variance)

    def drop(self, i, P):
        """Drop row i; P is that before."""
        new = self._changed(P, P[i], -P[i, i])
        B, Q = np.delete(self.B, i, axis=0), np.delete(new.Q, i, axis=2)
        return replaced(new, places=self.places.drop(i), B=B, Q=Q)

    def _changed(self, P, u, s):
        """Return the forms after a change of P, padded with zeros, by u uᵀ / s."""
        n, r = len(P), self.B.shape[1]
        W = self.B[:, :, np.newaxis] * product(self.C, self.B * u[:, np.newaxis])[:, np.newaxis]
        # w^kl + w^lk is symmetric: pairs k <= l suffice.
        k, l = np.triu_indices(r)  # pairs k <= l
        both = product(P, W[:n, k, l] + W[:n, l, k])
        linear = np.zeros((r, r, len(u)))
        linear[k, l, :n] = linear[l, k, :n] = both.T
        ratio, forms = u / s, np.einsum("i,ikl->kl", u, W)
        Q = self.Q + linear * ratio + forms[:, :, np.newaxis] * ratio**2
        return replaced(self, Q=Q, V=self.V + forms / s)

    @property
    def q(self):
        """P_iᵀ C P_i (n,)."""
        return np.einsum("kl,kln->n", basis_products(len(self.Q)), self.Q)

    def sums(self, a):
        """Return aᵀ C a for a (n,), and Σ_ij P_ij C_ij."""
        A, G = self.B * a[:, np.newaxis], basis_products(len(self.Q))
        return np.einsum("kl,nk,nl->", G, A, product(self.C, A)), np.sum(G * self.V)

    def is_accurate(self, P):
        """Return False if round-off shows in Q or V, compared with P; O(n²)."""
        # Recompute the entry of the oldest row of Q.
        q, (first, total) = self.q, self.sums(P[0])
        fresh = np.sum(basis_products(len(self.Q)) * _sums(self.C, self.B, P))
        return abs(first - q[0]) <= BOUND * q.max() and abs(fresh - total) <= BOUND * abs(fresh)

    @property
    def convolutions(self):
        """C (n, n), in the units of `q`."""
        return (self.B @ basis_products(len(self.Q))) @ self.B.T * self.C


def _sums(C, B, P):
    """Return V (p + 1, p + 1)."""
    return np.einsum("nk,nl->kl", B, product(C * P, B))
