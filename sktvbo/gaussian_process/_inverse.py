"""Inverse covariance of rows that come and go, updated by rank one.

With P the inverse covariance of the rows, padded with a zero for a new one, a row that comes or
goes changes it by w z zᵀ (block inverse):

    a new row     z = (P k, −1), w = 1 / s, with s its variance given the other rows,
    without row i    z = P_i, w = −1 / P_ii.

A change is stored rather than written into a matrix of n² entries. Values share the matrix that
they began with, so a step that fails costs and changes nothing.
"""

from dataclasses import dataclass

import numpy as np

from .._fast import cholesky as _cholesky
from .._values import replaced
from ._cholesky import product

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
    at : ndarray of int of shape (n,)
        Positions of the rows, in ascending order.
    """

    whole: np.ndarray
    at: np.ndarray

    @classmethod
    def of(cls, whole):
        return cls(whole, np.arange(len(whole)))

    @property
    def is_whole(self):
        return len(self.at) == len(self.whole)

    def product(self, X):
        """Return the product (n, c) with X (n, c)."""
        if self.is_whole:
            return product(self.whole, X)
        padded = np.zeros((len(self.whole), X.shape[1]))
        padded[self.at] = X
        return product(self.whole, padded)[self.at]

    def column(self, i):
        return self.whole[self.at[i], self.at]

    def drop(self, i):
        return Block(self.whole, np.delete(self.at, i))

    @property
    def dense(self):
        """The matrix (n, n), a view if it is the whole one."""
        if self.is_whole:
            return self.whole
        return self.plus(np.empty((0, len(self.at))), np.empty(0))

    def plus(self, Z, w):
        """Return the matrix, padded with zeros, + Zᵀ diag(w) Z, (n, n) for Z (q, n)."""
        out = _square(Z.shape[1])
        _cholesky.block_plus(self.whole, self.at, Z, w, out)
        return out


@dataclass(frozen=True, eq=False)
class Inverse:
    """Inverse covariance P of y, including the mean's prior.

    Attributes
    ----------
    begun : Block
        P of the first rows before the changes.
    Z : ndarray of shape (q, n)
        Changes z; rows that came since are the last ones.
    w : ndarray of shape (q,)
    diagonal : ndarray of shape (n,)
        Of P.
    n_updates : int
        Rows that came or went since P was computed from the factor.
    """

    begun: Block
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
        if not len(self.w) and self.begun.is_whole:
            return self
        return Inverse.of(self.begun.plus(self.Z, self.w), self.n_updates)

    @property
    def P(self):
        """P (n, n); that in which others see what is written, for an inverse that is `written`."""
        return self.written().begun.whole

    @property
    def n(self):
        return len(self.diagonal)

    def product(self, X):
        """Return P X (n, c) for X (n, c), O(n² c)."""
        n = len(self.begun.at)
        found = np.zeros(X.shape)
        found[:n] = self.begun.product(X[:n])
        if len(self.w):
            found += product(self.Z.T, self.w[:, np.newaxis] * product(self.Z, X))
        return found

    def column(self, i):
        """Return column i of P (n,), O(n)."""
        n, found = len(self.begun.at), np.zeros(len(self.diagonal))
        if i < n:
            found[:n] = self.begun.column(i)
        return found + np.einsum("q,qn->n", self.w * self.Z[:, i], self.Z)

    def append(self, u, variance):
        """Append a row; u is P k, ``variance`` that given the other rows; O(n)."""
        padded = replaced(
            self,
            Z=np.hstack([self.Z, np.zeros((len(self.w), 1))]),
            diagonal=np.append(self.diagonal, 0.0),
        )
        return padded._changed(np.append(u, -1.0), 1.0 / variance)

    def drop(self, i):
        """Drop row i, O(n)."""
        z, begun = self.column(i), self.begun
        begun = begun.drop(i) if i < len(begun.at) else begun
        Z, diagonal = np.delete(self.Z, i, axis=1), np.delete(self.diagonal, i)
        shorter = replaced(self, begun=begun, Z=Z, diagonal=diagonal)
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

        Compared every few updates only.
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
