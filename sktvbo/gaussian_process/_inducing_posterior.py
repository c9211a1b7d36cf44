"""Conditioning through inducing points: Titsias' bound with heteroscedastic noise.

With inducing points Z, A = k(Z, Z) = L Lᵀ, the rows v_i = L⁻¹ k(Z, x_i) of V (n, m), noise
variances Σ = diag(1/s) and B = I + Vᵀ diag(s) V, b = Vᵀ (s ∘ y), β = B⁻¹ b, the bound of SparQ
proposition 5 is

    ELBO = −½ [ n log 2π + log|Σ| + log|B| + Σ s_i y_i² − bᵀβ + Σ s_i (k_ii − |v_i|²) ],

and with a = s ∘ (y − V β) (which is (Q + Σ)⁻¹ y) and U = V (I − B⁻¹) its derivatives are

    ∂/∂k(X, Z) = (a βᵀ + diag(s) U) L⁻¹,     ∂/∂A = −½ L⁻ᵀ (β βᵀ + B − 2 I + B⁻¹) L⁻¹,
    ∂/∂k_ii = −½ s_i,                        ∂/∂Σ_ii = ½ (a_i² − s_i + s_i² (k_ii − v_i · u_i)).

The ``WhiteKernel`` part of a kernel is shared neither with other rows nor with inducing points. It
counts as noise; predictions include it in k_ii. A, k(X, Z) and the k_ii of the sums exclude it.

With a learnt mean (`_prior_mean`: G = (Q + Σ)⁻¹, A there is α here) the bound is that of y given
the mean, integrated over its prior. a and β are those of y − m̂ 1. To each product of two of them
the product of g = G 1 and γ = B⁻¹ Vᵀ s (1 in place of y), over α, is added.

At most six products of n x m by m x m matrices, and no n x n matrix.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import blas

from ..exceptions import NotPositiveDefiniteError
from ._cholesky import DenseCholesky, dot, matvec, rmatvec, try_cholesky
from ._conditioned import LOG_2PI, BasisPosterior, Conditioned, Criterion, squares
from ._covariance import SeparableCovariance
from ._data import Rows
from ._exact_posterior import Dense
from ._linear_mean import Coefficients, estimate_coefficients
from ._prior_mean import ZERO, Mean, estimate_mean

# Sums are computed in blocks of this many rows, which bounds the memory.
_BLOCK = 4096

# The first of these multiples of the mean diagonal that makes the inducing covariance positive
# definite is its jitter.
_JITTERS = (1e-12, 1e-10, 1e-8, 1e-6)


@dataclass(frozen=True, eq=False)
class Sums:
    """Sums over rows that determine the bound: rows are added and subtracted in O(m²) each.

    ``gram`` (m, m) is Vᵀ diag(s) V; ``features`` (m, q) and ``y`` (m,) are Vᵀ diag(s) F and
    Vᵀ (s ∘ y), with F (n, q) a column of 1 and the other features of a linear mean; the rest are
    Fᵀ diag(s) F, Fᵀ (s ∘ y), Σ s y², Σ log Σ_ii and Σ s (k_ii − |v_i|²). y is in fixed units.
    """

    n: int
    gram: np.ndarray
    features: np.ndarray
    y: np.ndarray
    weights: np.ndarray
    weighted_y: np.ndarray
    weighted_square: float
    log_noise: float
    trace_term: float

    @classmethod
    @np.errstate(over="ignore")
    def of(cls, V, y, noise, variance, F=None, out=None):
        """Return the sums of V (n, m), targets, noise and prior variances; overwrite ``out``.

        ``F`` (n, q) are the features of a linear mean; None: a column of 1.
        """
        s = 1.0 / noise
        weighted = s[np.newaxis] if F is None else s * F.T
        scaled = np.multiply(V, np.sqrt(s)[:, np.newaxis], out=out)
        trace_term = dot(s, np.maximum(variance - np.einsum("ij,ij->i", V, V), 0.0))
        return cls(
            len(y),
            _gram(scaled),
            np.column_stack([rmatvec(V, column) for column in weighted]),
            rmatvec(V, s * y),
            np.sum(s, keepdims=True)[np.newaxis] if F is None else weighted @ F,
            np.array([dot(column, y) for column in weighted]),
            dot(s, y * y),
            np.log(noise).sum(),
            trace_term,
        )

    def plus(self, other, sign=1):
        """Return the sums with other rows added, or subtracted for ``sign=-1``."""
        return Sums(*(a + sign * b for a, b in zip(vars(self).values(), vars(other).values())))

    def times(self, factor):
        """Return the sums of ``factor`` copies of the rows."""
        return Sums(*(factor * a for a in vars(self).values()))

    @property
    def unresolved(self):
        """Mean variance of f given the inducing points, in units of the noise variance."""
        return self.trace_term / self.n

    @np.errstate(over="ignore", invalid="ignore")
    def solve(self, location=0.0, scale=1.0, mean_variance=0.0, trend=None):
        """Return bound, solver of B, β and mean, for y standardized by location and scale.

        β is that of y less the mean, whose direction is γ. Returns minus infinity and None if B is
        not numerically positive definite.
        """
        B = self.gram.copy()
        B[np.diag_indices_from(B)] += 1.0
        b = (self.y - location * self.features[:, 0]) / scale
        if not try_cholesky(B):
            return -np.inf, None, None, None
        outer = DenseCholesky(B)
        beta = outer.solve(b)
        square = self.weighted_square + location**2 * self.weights[0, 0]
        square -= 2.0 * location * self.weighted_y[0]
        value = -0.5 * (
            self.n * LOG_2PI
            + self.log_noise
            + outer.log_determinant
            + square / scale / scale
            - b @ beta
            + self.trace_term
        )
        mean = ZERO
        if mean_variance > 0.0:
            gamma = np.column_stack([outer.solve(column) for column in self.features.T])
            gram = self.weights - self.features.T @ gamma
            cross = (self.weighted_y - location * self.weights[0]) / scale - self.features.T @ beta
            if trend is None:
                known = gram[0, 0], cross[0], gamma[:, 0]
                mean, gain = estimate_mean(mean_variance, *known)
            else:
                mean, gain = estimate_coefficients(trend, mean_variance, gram, cross, gamma)
            if gain == -np.inf:
                return -np.inf, None, None, None
            beta = beta - gamma @ mean.vector
            value += gain
        return (value if np.isfinite(value) else -np.inf), outer, beta, mean


@dataclass(frozen=True, eq=False)
class Inducing(BasisPosterior, Conditioned):
    """Conditioning through the inducing points Z (m, d + 1), in the units of X.

    The sums use (y − location) / scale with ``units``, the first location and scale of the rows:
    squares of values far from 0 would lose the digits of their spread.
    """

    covariance: SeparableCovariance
    rows: Rows
    Z: np.ndarray
    solver: DenseCholesky  # factor L of A
    outer: DenseCholesky  # factor of B
    sums: Sums
    mean: Mean | Coefficients
    weights: np.ndarray
    objective: float
    units: tuple
    n_updates: int = 0

    @classmethod
    def of(cls, covariance, rows, Z):
        """Condition on rows, O(n m²).

        Raises
        ------
        NotPositiveDefiniteError
            A has no Cholesky factor even with jitter, or the bound overflows.
        """
        solver = _factor(covariance, rows.layout.split(Z))
        units = rows.location, rows.scale
        sums = _sums(covariance, rows, slice(None), Z, solver, units)
        return cls._from_sums(covariance, rows, Z, solver, sums, units)

    @classmethod
    def _from_sums(cls, covariance, rows, Z, solver, sums, units, n_updates=0):
        """Condition with known sums, O(m³)."""
        units_now = (rows.location - units[0]) / units[1], rows.scale / units[1]
        units_now = *units_now, covariance.mean_variance, rows.layout.trend
        value, outer, beta, mean = sums.solve(*units_now)
        if value == -np.inf:
            raise NotPositiveDefiniteError(
                f"The bound under {covariance} overflowed. Scale y to a moderate range "
                "(normalize_y=True), or raise noise_variance."
            )
        # The mean of f is k(x, Z) L⁻ᵀ β: weights and direction include L⁻ᵀ.
        weights = solver.half_solve(beta[np.newaxis].copy(), transpose=True)[0]
        if mean.is_learnt:
            direction = np.atleast_2d(mean.direction.T).copy()
            direction = solver.half_solve(direction, transpose=True).T
            direction = np.ascontiguousarray(direction.reshape(mean.direction.shape))
            mean = replace(mean, direction=direction)
        known = (solver, outer, sums, mean, weights, float(value), units, n_updates)
        return cls(covariance, rows, Z, *known)

    @staticmethod
    def criterion(rows, Z):
        return _Bound(rows, Z)

    @property
    def basis(self):
        return self.rows.layout.split(self.Z)

    @property
    def _log_determinant(self):
        return self.outer.log_determinant + self.sums.log_noise

    @property
    def unresolved(self):
        """Mean variance of f given the inducing points, in units of the standardized y²."""
        return float(self.sums.trace_term / self.sums.weights[0, 0])

    def repeated(self, times):
        """Return the bound for each row repeated this many times."""
        (location, scale), rows = self.units, self.rows
        units_now = (rows.location - location) / scale, rows.scale / scale
        units_now = *units_now, self.covariance.mean_variance, rows.layout.trend
        return self.sums.times(times).solve(*units_now)[0]

    def covers(self, n_new, tolerance):
        """Return True if the points explain the last rows as well as the earlier ones.

        The variance given the points is at most a part ``tolerance`` of the noise variance, or
        twice that of the earlier rows.
        """
        new = _sums(
            *(self.covariance, self.rows, slice(-n_new, None), self.Z, self.solver, self.units)
        )
        before = self.sums.plus(new, sign=-1).unresolved
        return new.unresolved <= max(tolerance, 2.0 * before)

    def append(self, X, y, variance, total, standardize=None, **robust):
        """Append rows, O(m²) each and O(m³); O(n m²) if the noise of the present rows changes."""
        rows = self.rows.append(X, y, variance, total, standardize, **robust)
        return self._updated(rows, rows, slice(self.rows.n, None), 1)

    def drop(self, indices, standardize=None):
        """Drop rows, O(m²) each and O(m³); O(n m²) if the noise of the other rows changes."""
        return self._updated(self.rows.drop(indices, standardize), self.rows, indices, -1)

    @property
    def extra_args(self):
        return (self.Z,)

    def _updated(self, rows, source, where, sign):
        """Condition on rows that differ by those of ``source`` at ``where``."""
        if not self._can_update(rows):
            return self._recomputed(rows)
        change = _sums(self.covariance, source, where, self.Z, self.solver, self.units)
        known = (self.Z, self.solver, self.sums.plus(change, sign), self.units, self.n_updates + 1)
        return self._from_sums(self.covariance, rows, *known)

    def relevancy_sweep(self, now):
        return Dense.of(self.covariance, self.rows).relevancy_sweep(now)

    def _apart(self, rows):
        # The variance of f given the points.
        V = self.solver.half_solve(self.covariance.cross(rows.S, rows.t, *self.basis))
        apart = self.covariance.variance(rows.S, rows.t) - squares(V, full=False)
        return apart, _variances(self.covariance, rows, slice(None))[0]

    def variance_reduction(self, K, full=False, F=None):
        """Return |L⁻¹ k|² − v · B⁻¹ v."""
        V = self.solver.half_solve(K)
        inner = squares(V, full)
        return inner - squares(self.outer.half_solve(V), full)

    @property
    def factors(self):
        return {"lower": self.solver.L, "outer": self.outer.L}

    def half_gradient(self, k):
        v = self.solver.half_solve(k[np.newaxis].copy())[0]
        w = v - self.outer.solve(v)
        return self.solver.half_solve(w[np.newaxis], transpose=True)[0]


class _Bound(Criterion):
    """The `bound` of rows, whose evaluations share memory."""

    def __init__(self, rows, Z):
        self._rows, self._Z, self._workspace = rows, Z, np.empty((3, rows.n, len(Z)))

    def __call__(self, covariance, eval_gradient):
        return bound(covariance, self._rows, self._Z, eval_gradient, self._workspace)


def bound(covariance, rows, Z, eval_gradient, workspace=None):
    """Return the bound, and its gradient in theta or None; see the module's formulas.

    Minus infinity, so that a search turns back, if a matrix is not numerically positive definite.

    Parameters
    ----------
    covariance : SeparableCovariance
    rows : Rows
    Z : ndarray of shape (m, d + 1)
    eval_gradient : bool
    workspace : ndarray of shape (3, n, m), default=None
        Memory shared by the evaluations of a search.
    """
    noise, variance = _variances(covariance, rows, slice(None))
    basis = rows.layout.split(Z)
    nothing = np.zeros(len(covariance.bounds)) if eval_gradient else None
    try:
        solver = _factor(covariance, basis)
    except NotPositiveDefiniteError:
        return -np.inf, nothing
    K, V, U = np.empty((3, rows.n, len(Z))) if workspace is None else workspace
    K = covariance.cross(rows.S, rows.t, *basis, out=K)
    V[:] = K
    solver.half_solve(V)
    y, trend, F = rows.targets, rows.layout.trend, rows.features
    sums = Sums.of(V, y, noise, variance, F, out=U)
    value, outer, beta, mean = sums.solve(mean_variance=covariance.mean_variance, trend=trend)
    if value == -np.inf or not eval_gradient:
        return value, nothing

    m, s = len(beta), 1.0 / noise
    B_inverse = outer.inverse()
    # U = V (I − B⁻¹); the memory of a C-ordered U is that of a Fortran-ordered Uᵀ.
    blas.dgemm(1.0, np.eye(m) - B_inverse, V.T, c=U.T, overwrite_c=1)
    left = variance - np.einsum("ij,ij->i", V, U)
    on_noise = 0.5 * (s * s * left - s)
    U *= s[:, np.newaxis]
    inner = sums.gram - np.eye(m) + B_inverse
    pairs = [(s * (y - mean.at(F) - matvec(V, beta)), beta)]
    if mean.is_learnt:
        pairs += [(s * r, g) for r, g in zip(mean.residuals(V, F).T, mean.directions.T)]
    for a, b in pairs:
        on_noise += 0.5 * a * a
        blas.dger(1.0, b, a, a=U.T, overwrite_a=1)
        inner += np.outer(b, b)
    on_cross = solver.half_solve(U, transpose=True)
    solver.half_solve(inner, transpose=True)
    on_basis = -0.5 * solver.half_solve(np.ascontiguousarray(inner.T), transpose=True)

    gradient = covariance.cross_gradient(rows.S, rows.t, *basis, K, on_cross)
    A = covariance.cross(*basis, *basis)
    gradient += covariance.cross_gradient(*basis, *basis, A, on_basis)
    if "signal_variance" in covariance.names:
        gradient[0] += solver.jitter * np.trace(on_basis)  # the jitter scales with the signal
    gradient += covariance.variance_gradient(rows.S, rows.t, -0.5 * s)
    gradient += covariance.white_gradient(rows.S, rows.t, on_noise + 0.5 * s)
    return value, np.append(gradient, rows.noise_gradient(covariance, on_noise))


def _factor(covariance, basis):
    """Return the solver with the factor L of A and its jitter."""
    A = covariance.cross(*basis, *basis)
    diagonal = np.diagonal(A).copy()
    size = diagonal.mean() or 1.0  # 0 for a pure WhiteKernel
    for relative in _JITTERS:
        L, jitter = A.copy(), relative * size
        np.fill_diagonal(L, diagonal + jitter)
        if try_cholesky(L):
            return DenseCholesky(L, jitter)
    raise NotPositiveDefiniteError(
        f"The {len(A)} x {len(A)} covariance matrix of the inducing points under {covariance} "
        f"is not positive definite, even with {jitter:.1e} added to its diagonal. Use fewer "
        "inducing points, or bound the lengthscales."
    )


def _sums(covariance, rows, where, Z, solver, units):
    """Return the `Sums` of some of the rows, given by a slice or indices."""
    indices, (location, scale) = np.arange(rows.n)[where], units
    basis, total = rows.layout.split(Z), None
    for first in range(0, len(indices), _BLOCK):
        block = indices[first : first + _BLOCK]
        S, t = rows.S[block], rows.t[block]
        V = solver.half_solve(covariance.cross(S, t, *basis))
        y = (rows.y[block] - location) / scale
        known = y, *_variances(covariance, rows, block), rows.layout.features(rows.X[block])
        sums = Sums.of(V, *known)
        total = sums if total is None else total.plus(sums)
    return total


def _variances(covariance, rows, where):
    """Return noise and prior variances (n,) of some of the rows, given by a slice or indices."""
    points = rows.S[where], rows.t[where]
    white = covariance.white(*points)
    return rows.noise(covariance, where) + white, covariance.variance(*points) - white


def _gram(V):
    """Return Vᵀ V (m, m), both triangles, by the BLAS of the factorizations."""
    G = blas.dsyrk(1.0, V.T)
    return np.triu(G) + np.triu(G, 1).T
