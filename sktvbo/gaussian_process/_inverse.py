"""Inverse covariance of rows, and forms of it, with rank-one updates for added and removed rows.

With P the inverse covariance of the rows, padded with a zero for a new one, adding or removing a
row changes it by w z zᵀ (block inverse):

    a new row     z = (P k, −1), w = 1 / s, with s its variance given the other rows,
    without row i    z = P_i, w = −1 / P_ii.

A change is stored rather than written into a matrix of n² entries. Values share the matrix that
they began with, so a failed step costs and changes nothing.

Relevancies need the quadratic forms q_i = P_iᵀ C P_i of all rows, P_i a column of the inverse
covariance, and C = C_S ∘ C_T the convolutions in space and over the future: a product of two
matrices. For a kernel in time with a `FutureBasis`, C_T = B L Bᵀ with the m coefficients b of each
row, and with D_k = diag(b_k)

    q = Σ_kl L_kl G_kl,   G_kl = diag(P D_k C_S D_l P),   Σ_ij P_ij C_ij = Σ_kl L_kl V_kl,

where G and V do not depend on L. A change of P by w z zᵀ changes them by

    G_kl ← G_kl + w z ∘ (P (R_kl + R_lk)) + w² z² h_kl,   V_kl ← V_kl + w h_kl,

with R_kl = D_k C_S D_l z and h_kl = zᵀ R_kl: one product of P with m (m + 1) / 2 columns. A later
present, b ← b T, changes them by G ← Tᵀ G T. So a step costs O(n² m²) in place of O(n³).
"""

from dataclasses import dataclass
from operator import attrgetter

import numpy as np

from .._fast import cholesky as _cholesky
from .._values import replaced
from ._cholesky import Buffer, dot, half_product, matvec, product
from ._kernel_families import FutureBasis

# Write the changes into a new matrix after this many.
_MAX_CHANGES = 16

# Compare the inverse with the factor after this many changes; compute it again where their relative
# difference is larger.
COMPARE_EVERY, MAX_ERROR = 16, 1e-9

# Matrices are allocated for a multiple of this many rows.
_ALLOCATED_ROWS = 64


@dataclass(frozen=True, eq=False)
class Block:
    """Rows and columns of a larger symmetric matrix.

    Attributes
    ----------
    whole : ndarray of shape (N, N)
        With contiguous rows.
    positions : ndarray of int of shape (n,)
        Positions of the rows, in ascending order.
    """

    whole: np.ndarray
    positions: np.ndarray

    @classmethod
    def of(cls, whole):
        return cls(whole, np.arange(len(whole)))

    @property
    def is_whole(self):
        return len(self.positions) == len(self.whole)

    def product(self, X):
        """Return the product (n, c) with X (n, c)."""
        if self.is_whole:
            return product(self.whole, X)
        padded = np.zeros((len(self.whole), X.shape[1]))
        padded[self.positions] = X
        return product(self.whole, padded)[self.positions]

    def column(self, i):
        return self.whole[self.positions[i], self.positions]

    def drop(self, i):
        return Block(self.whole, np.delete(self.positions, i))

    @property
    def dense(self):
        """The matrix (n, n), a view if it is the whole one."""
        if self.is_whole:
            return self.whole
        return self.plus(np.empty((0, len(self.positions))), np.empty(0))

    def plus(self, Z, w):
        """Return the matrix, padded with zeros, + Zᵀ diag(w) Z, (n, n) for Z (q, n)."""
        out = _square(Z.shape[1])
        _cholesky.block_plus(self.whole, self.positions, Z, w, out)
        return out


@dataclass(frozen=True, eq=False)
class Inverse:
    """Inverse covariance P of y, including the mean's prior.

    Attributes
    ----------
    base : Block
        P of the first rows before the changes.
    Z : ndarray of shape (q, n)
        Changes z; rows added since are the last ones.
    w : ndarray of shape (q,)
    diagonal : ndarray of shape (n,)
        Of P.
    n_updates : int
        Rows added or removed since P was computed from the factor.
    """

    base: Block
    Z: np.ndarray
    w: np.ndarray
    diagonal: np.ndarray
    n_updates: int = 0

    @classmethod
    def of(cls, P, n_updates=0):
        """Return the inverse of a matrix P (n, n) without changes."""
        return cls(Block.of(P), np.empty((0, len(P))), np.empty(0), P.diagonal(), n_updates)

    def written(self):
        """Return the same without changes, which are written into a new matrix: O(n²)."""
        if not len(self.w) and self.base.is_whole:
            return self
        return Inverse.of(self.base.plus(self.Z, self.w), self.n_updates)

    @property
    def P(self):
        """P (n, n); the stored matrix itself, not a copy, for an inverse that is `written`."""
        return self.written().base.whole

    @property
    def n(self):
        return len(self.diagonal)

    def product(self, X):
        """Return P X (n, c) for X (n, c), O(n² c)."""
        n = len(self.base.positions)
        PX = np.zeros(X.shape)
        PX[:n] = self.base.product(X[:n])
        if len(self.w):
            PX += product(self.Z.T, self.w[:, np.newaxis] * product(self.Z, X))
        return PX

    def column(self, i):
        """Return column i of P (n,), O(n)."""
        n, column = len(self.base.positions), np.zeros(len(self.diagonal))
        if i < n:
            column[:n] = self.base.column(i)
        return column + np.einsum("q,qn->n", self.w * self.Z[:, i], self.Z)

    def append(self, u, variance):
        """Append a row; u is P k, ``variance`` its variance given the other rows; O(n)."""
        padded = replaced(
            self,
            Z=np.hstack([self.Z, np.zeros((len(self.w), 1))]),
            diagonal=np.append(self.diagonal, 0.0),
        )
        return padded._changed(np.append(u, -1.0), 1.0 / variance)

    def drop(self, i):
        """Drop row i, O(n)."""
        z, base = self.column(i), self.base
        base = base.drop(i) if i < len(base.positions) else base
        Z, diagonal = np.delete(self.Z, i, axis=1), np.delete(self.diagonal, i)
        shorter = replaced(self, base=base, Z=Z, diagonal=diagonal)
        return shorter._changed(np.delete(z, i), -1.0 / z[i])

    def _changed(self, z, w):
        """Return P + w z zᵀ."""
        new = replaced(
            self,
            Z=np.vstack([self.Z, z]),
            w=np.append(self.w, w),
            diagonal=self.diagonal + w * z * z,
            n_updates=self.n_updates + 1,
        )
        return new.written() if len(new.w) > _MAX_CHANGES else new

    def is_accurate(self, solver, mean):
        """Return False if round-off shows in a comparison with the factor; O(n²).

        The comparison is made every few updates only.
        """
        if self.n_updates % COMPARE_EVERY:
            return True
        z = np.ones((len(self.diagonal), 1))
        z[::2] = -1.0
        expected = mean.downdate_product(solver.solve(z[:, 0]), z[:, 0])
        error = np.abs(self.product(z)[:, 0] - expected).max()
        return bool(error <= MAX_ERROR * np.abs(expected).max())


def _square(n):
    """Return an empty array (n, n), in memory for a multiple of ``_ALLOCATED_ROWS`` rows.

    The allocator reuses blocks of equal size. A block larger than all before comes from the system
    page by page, which takes longer than filling it.
    """
    capacity = n + -n % _ALLOCATED_ROWS
    return np.empty(capacity * capacity)[: n * n].reshape(n, n)


# --- quadratic forms of the relevancies -----------------------------------------------------------

# Sums are computed again once subtractions have reduced them to this fraction.
MAX_LOSS = 1e-3

# Convolutions of removed rows stay in memory until there are more than the first number of stored
# rows for each row, plus the second number.
_MAX_FILLED, _SPARE_ROWS = 1.25, 32

# Forms underflow if all rows are older, in units of the slowest decay.
MAX_AGE = 50.0


@dataclass(frozen=True, eq=False)
class PlaceConvolutions:
    """Convolutions C_S of a spatial kernel between the inputs of rows, updated with these.

    Attributes
    ----------
    spatial : Factor or Empirical
    buffer : Buffer
        Convolutions of all added rows, including some that are removed.
    positions : ndarray of int of shape (n,)
        Positions of the rows in it.
    """

    spatial: object
    buffer: Buffer
    positions: np.ndarray

    @classmethod
    def of(cls, spatial, S):
        """Compute the convolutions of inputs S (n, d), O(n²)."""
        C = spatial.convolution(S)
        return cls(spatial, Buffer(C, len(C)), np.arange(len(C)))

    @property
    def block(self):
        """C_S as a `Block`."""
        filled = self.positions[-1] + 1
        return Block(self.buffer.array[:filled, :filled], self.positions)

    @property
    def C(self):
        """C_S (n, n)."""
        return self.block.dense

    def extended(self, S):
        """Append the inputs S beyond the first n, O(n) each."""
        places = self
        for i in range(len(self.positions), len(S)):
            places = places.append(S[: i + 1])
        return places

    def append(self, S):
        """Append the last of the inputs S (n + 1, d); O(n), or O(n²) once many rows are removed."""
        places, n = self, len(self.positions)
        if self.positions[-1] >= _MAX_FILLED * n + _SPARE_ROWS:
            buffer = Buffer.of_size(n, n)
            buffer.array[:n, :n] = self.C
            places = PlaceConvolutions(self.spatial, buffer, np.arange(n))
        end = places.positions[-1] + 1
        buffer, positions = places.buffer.with_row_after(end), np.append(places.positions, end)
        row = np.zeros(end + 1)
        row[positions] = self.spatial.convolution(S[-1:], S)[0]
        buffer.array[end, : end + 1] = buffer.array[: end + 1, end] = row
        return PlaceConvolutions(self.spatial, buffer, positions)

    def drop(self, i):
        """Drop row i, O(n); a row that was not appended changes nothing."""
        if i >= len(self.positions):
            return self
        return PlaceConvolutions(self.spatial, self.buffer, np.delete(self.positions, i))


class FixedForms:
    """q and sums from full matrices, updated in place while rows are dropped, O(n²) each.

    Dropped rows stay, as zeros of P.

    Parameters
    ----------
    P, C : ndarray of shape (n, n)
        Inverse covariance and convolutions.
    unit : float
        Power of two by which P, and so all results, are multiplied: squares neither overflow nor
        underflow.
    """

    def __init__(self, P, C, unit):
        self.unit, self._P, self._C = unit, unit * P, np.ascontiguousarray(C)
        self._at = np.arange(len(P))
        self._q = 2.0 * np.einsum("ij,ij->i", self._P, half_product(self._P, self._C))
        self._sum()

    @property
    def p(self):
        return self._P.diagonal()[self._at]

    @property
    def q(self):
        return self._q[self._at]

    def column(self, i):
        """Return column i of P (n,)."""
        return self._P[self._at[i], self._at]

    def mean_part(self, a):
        """Return aᵀ C a."""
        padded = np.zeros(len(self._P))
        padded[self._at] = a
        return dot(padded, matvec(self._C, padded))

    def without(self, i):
        """Drop row i of those left.

        With ρ = P_i / P_ii and s = P C P_i, q_j ← q_j − 2 ρ_j s_j + ρ_j² q_i.
        """
        j = self._at[i]
        v, q = self._P[j].copy(), self._q[j]
        rho, s = v / v[j], matvec(self._P, matvec(self._C, v))
        self._q += rho * (rho * q - 2.0 * s)
        _cholesky.add_outer(self._P, v[np.newaxis], -1.0 / v[j])
        self._P[j] = self._P[:, j] = 0.0
        self._at = np.delete(self._at, i)
        self.trace -= q / v[j]
        if not self.trace > MAX_LOSS * self._largest:
            self._sum()
        return self

    def _sum(self):
        """Compute Σ_ij P_ij C_ij."""
        self.trace = self._largest = float(np.einsum("ij,ij->", self._P, self._C))


@dataclass(frozen=True, eq=False)
class RelevancyForms:
    """q and sums from a `FutureBasis`, updated with rows and the present time.

    Attributes
    ----------
    basis : FutureBasis
    places : PlaceConvolutions
    now : float
        Present time, not before any row.
    unit : float
        Power of two: squares of P times it neither overflow nor underflow.
    B : ndarray of shape (n, m)
        b of the rows.
    G : ndarray of shape (n, r)
        G_kl of the pairs k ≤ l, of P times its unit.
    V : ndarray of shape (r,)
        V_kl of P times its unit.
    loss : float
        Sum of V over the largest one that it was updated from.
    """

    basis: FutureBasis
    places: PlaceConvolutions
    now: float
    unit: float
    B: np.ndarray
    G: np.ndarray
    V: np.ndarray
    loss: float = 1.0

    @classmethod
    def of(cls, basis, places, t, now, P, unit):
        """Compute the forms of P (n, n) and rows at times t (n,), O(n³ m)."""
        B, C, P = basis(now - t), places.C, unit * P
        k, l = basis.pairs
        # diag(P D_l T D_k P), C_S = T + Tᵀ, is one half of G_kl; the other one is that of k and l.
        halves = np.stack([product(half_product(P * b, C) * P, B) for b in B.T], axis=1)
        G = halves[:, k, l] + halves[:, l, k]
        weighted = product(P * C, B)
        V = np.einsum("nr,nr->r", B[:, k], weighted[:, l])
        return cls(basis, places, now, unit, B, G, V)

    @property
    def q(self):
        return self.G @ self.basis.weights

    @property
    def trace(self):
        return self.V @ self.basis.weights

    def mean_part(self, a):
        """Return aᵀ C a."""
        k, l = self.basis.pairs
        A = a[:, np.newaxis] * self.B
        forms = product(A.T, self.places.block.product(A))
        return self.basis.weights @ forms[k, l]

    def at(self, now):
        """Return the forms at a later time, O(n)."""
        if now == self.now:
            return self
        T, pairs = self.basis.transition(now - self.now), self.basis.pairs
        # b b' of a pair of coefficients is linear in those of all pairs before.
        k, l = pairs
        both = np.einsum("ik,jl->ijkl", T, T)[:, :, k, l]
        both = (both + np.swapaxes(both, 0, 1))[pairs] * np.where(k == l, 0.5, 1.0)[:, np.newaxis]
        return replaced(
            self, now=now, B=product(self.B, T), G=product(self.G, both), V=self.V @ both
        )

    def append(self, places, t, inverse, u, variance):
        """Append the last row, of ``places`` and times t (n + 1,), to those of an `Inverse`.

        u and ``variance`` are as in `Inverse.append`. A later row moves the present time.
        """
        moved = self.at(max(t[-1], self.now))
        B, z = np.vstack([moved.B, self.basis(moved.now - t[-1:])]), np.append(u, -1.0)
        R = _products(B, places.block, z, self.basis.pairs)
        PR = np.vstack([inverse.product(R[:-1]), np.zeros(len(self.V))])
        longer = replaced(moved, places=places, B=B, G=np.vstack([moved.G, np.zeros(len(self.V))]))
        return longer._changed(R, PR, z, 1.0 / variance)

    def drop(self, i, inverse):
        """Drop row i of an `Inverse`."""
        column = inverse.column(i)
        z = column / column[i]
        R = _products(self.B, self.places.block, z, self.basis.pairs)
        new = self._changed(R, inverse.product(R), z, -column[i])
        B, G, places = np.delete(new.B, i, axis=0), np.delete(new.G, i, axis=0), self.places.drop(i)
        return replaced(new, B=B, G=G, places=places)

    @property
    def C(self):
        """C (n, n)."""
        return product(product(self.B, self.basis.products), self.B.T) * self.places.C

    def is_accurate(self, inverse):
        """Return False if round-off shows in q of one row of an `Inverse`; O(n²).

        The comparison is made every few updates only.
        """
        if inverse.n_updates % COMPARE_EVERY:
            return True
        i, q = inverse.n_updates // COMPARE_EVERY * 7919 % inverse.n, self.q
        return bool(
            abs(self.mean_part(self.unit * inverse.column(i)) - q[i]) <= MAX_ERROR * q.max()
        )

    def _changed(self, R, PR, z, w):
        """Return the forms after a change of P by w z zᵀ; R is R_kl + R_lk (n, r), PR P R."""
        h, w, z = 0.5 * (z @ R), self.unit * w, z[:, np.newaxis]
        G = self.G + w * z * (self.unit * PR) + (w * z) ** 2 * h
        V = self.V + w * h
        old, total = self.trace, V @ self.basis.weights
        loss = min(self.loss * total / old, 1.0) if old > 0.0 else 0.0
        return replaced(self, G=G, V=V, loss=loss)


@dataclass(frozen=True, eq=False)
class UpdatedForms:
    """Equivalent of `FixedForms` from an `Inverse` and its `RelevancyForms`: an immutable value.

    Attributes
    ----------
    inverse : Inverse
    forms : RelevancyForms
    """

    inverse: Inverse
    forms: RelevancyForms

    column = property(attrgetter("inverse.column"))
    unit = property(attrgetter("forms.unit"))
    q = property(attrgetter("forms.q"))
    trace = property(attrgetter("forms.trace"))
    mean_part = property(attrgetter("forms.mean_part"))

    @property
    def p(self):
        return self.unit * self.inverse.diagonal

    def without(self, i):
        """Return the forms without row i; `FixedForms` where the sums have lost digits."""
        inverse, forms = self.inverse.drop(i), self.forms.drop(i, self.inverse)
        if forms.loss > MAX_LOSS:
            return UpdatedForms(inverse, forms)
        return FixedForms(inverse.P, forms.C, self.unit)


def _products(B, C, z, pairs):
    """Return D_k C_S D_l z + D_l C_S D_k z (n, r) of the pairs k ≤ l."""
    k, l = pairs
    Y = C.product(B * z[:, np.newaxis])
    return B[:, k] * Y[:, l] + B[:, l] * Y[:, k]
