"""Static part of f: information of removed rows about the part that never changes.

Model of the standardized y:

    y = m + φ(x)ᵀ w + h(x, t) + noise,   w ~ N(w₀, τ² I),

with a learnt constant m, φ linear and quadratic polynomials that are orthonormal over the unit box,
and h the Gaussian process. With P the inverse covariance of h, m and noise over the rows, and D the
removed rows,

    p(y_D | y of the others, w) ∝ exp(−½ wᵀ Λ_D w + η_Dᵀ w),   A = P_DD,
    Λ_D = U A⁻¹ Uᵀ,   η_D = U A⁻¹ v,   U = Φᵀ P_·D,   v = P_D· y,

as y_D given the others and w is Gaussian with precision A. The likelihood of all rows is the
product of that of the rows that stay and of such terms, in any order of removals. So the sums Λ and
η are sufficient: the posterior of w given them and the rows that stay is exactly that given all
rows, for fixed hyperparameters. It costs O(n d) a row from P, and O(d²) memory. Only the rows'
information about h is lost, which the relevancy measures.

The rows that stay have the prior mean φ(x)ᵀ ŵ, with ŵ the posterior mean given the removed rows:

    ŵ = (Λ + I / τ²)⁻¹ (η + w₀ / τ²).

The part that ŵ does not explain belongs to h. A fraction of Λ and η is forgotten with every removed
row, so that the static part may drift, and a change of regime is forgotten.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._values import replaced
from ._prior_mean import Polynomial

# Scales of the orthonormal polynomials x − ½ and (x − ½)² − 1/12 over [0, 1].
_LINEAR, _SQUARE = np.sqrt(12.0), np.sqrt(180.0)

# Directions with a smaller fraction of the largest information count as having none.
_ROUNDING = 1e-10


@dataclass(frozen=True, eq=False)
class StaticPart:
    """Information of removed rows about the coefficients w of a `QuadraticMean`.

    Attributes
    ----------
    columns : ndarray of int of shape (c,)
        Coordinates of the polynomials.
    deviation : float
        τ, in units of the standardized y.
    information : ndarray of shape (2 c, 2 c)
        Λ of the linear and then the quadratic coefficients, in units of 1 / y².
    shift : ndarray of shape (2 c,)
        η, in units of 1 / y.
    """

    columns: np.ndarray
    deviation: float
    information: np.ndarray
    shift: np.ndarray

    @classmethod
    def empty(cls, columns, spread):
        """Return the information of no rows, for a ``spread`` of the values over the box."""
        n = 2 * len(columns)
        known = np.asarray(columns, dtype=np.intp), float(spread / np.sqrt(n))
        return cls(*known, np.zeros((n, n)), np.zeros(n))

    def features(self, S):
        """Return φ (n, 2 c) of inputs S (n, d)."""
        x = S[:, self.columns] - 0.5
        return np.hstack([_LINEAR * x, _SQUARE * (x * x - 1.0 / 12.0)])

    def plus(self, information, shift):
        """Return this and further information."""
        return replaced(self, information=self.information + information, shift=self.shift + shift)

    def minus(self, information, shift):
        """Return this without some information, in the directions in which any is left."""
        values, directions = np.linalg.eigh(self.information - information)
        left = directions[:, values > _ROUNDING * np.abs(values).max(initial=0.0)]
        project = left @ left.T
        information = project @ (self.information - information) @ project
        return replaced(self, information=information, shift=project @ (self.shift - shift))

    def faded(self, part):
        """Return a fraction ``part`` of the information."""
        return replaced(self, information=part * self.information, shift=part * self.shift)

    def moved(self, columns, factors, offsets):
        """Return the information after a linear change of the inputs.

        φ of the new inputs is M φ of the old ones, up to a constant, so w becomes M⁻ᵀ w.

        Parameters
        ----------
        columns : ndarray of int of shape (c,)
            Indices of the coordinates after the change.
        factors, offsets : ndarray of shape (c,)
            New coordinates are x · factors + offsets.
        """
        a, b, c = factors, offsets, len(factors)
        # With u = x − ½ the new one is a u + s.
        s = 0.5 * (a - 1.0) + b
        M = np.diag(np.concatenate([a, a * a]))
        M[np.arange(c, 2 * c), np.arange(c)] = 2.0 * a * s * _SQUARE / _LINEAR
        information, shift = M @ self.information @ M.T, M @ self.shift
        columns = np.asarray(columns, dtype=np.intp)
        return replaced(self, columns=columns, information=information, shift=shift)

    def mean(self, prior, scale, n_dims):
        """Return φ(x)ᵀ ŵ, a `Polynomial`, for y of a scale.

        Parameters
        ----------
        prior : Polynomial or None
            φ(x)ᵀ w₀; None: 0.
        scale : float
        n_dims : int
        """
        c, weight = len(self.columns), 1.0 / self.deviation**2
        start = np.zeros(2 * c)
        if prior is not None:
            linear, square = prior.linear[self.columns], prior.square[self.columns]
            start[:c], start[c:] = (linear + square) / _LINEAR, square / _SQUARE
        information = scale * scale * self.information
        information[np.diag_indices(2 * c)] += weight
        w = np.linalg.solve(information, scale * self.shift + weight * start)
        linear, square = np.zeros((2, n_dims))
        linear[self.columns], square[self.columns] = _LINEAR * w[:c], _SQUARE * w[c:]
        # b (x − ½) + c ((x − ½)² − 1/12)
        constant = float(square.sum() / 6.0 - 0.5 * linear.sum())
        return Polynomial(constant, linear - square, square)


def information_of(gp, drop, static):
    """Return information and shift of rows to remove, in units of y.

    Parameters
    ----------
    gp : Dense
        Conditioned on all rows.
    drop : ndarray of int
        Rows to remove.
    static : StaticPart
        Defines the polynomials.
    """
    rows = gp.rows
    columns = np.column_stack([gp.inverse.column(int(i)) for i in drop])
    U, A = static.features(rows.S).T @ columns, columns[drop]
    v = ((rows.y - rows.location) / rows.scale) @ columns
    weighted = np.linalg.solve(0.5 * (A + A.T), np.column_stack([U.T, v]))
    information, shift = U @ weighted[:, :-1], U @ weighted[:, -1]
    return 0.5 * (information + information.T) / rows.scale**2, shift / rows.scale
