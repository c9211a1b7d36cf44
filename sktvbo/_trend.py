"""A mean that depends on the place, with weights that are learnt in closed form.

y = m + φ(x)ᵀ w + f + noise with w ~ N(0, diag(s²)), on top of the constant m of `_mean`. With P₁
the inverse covariance of the observations without w, and Φ (n, q) the features at their places,

    precision of w given y:  A = diag(1/s²) + Φᵀ P₁ Φ = R Rᵀ,      its mean:  ŵ = A⁻¹ Φᵀ P₁ y,
    inverse covariance:      P = P₁ − Dᵀ D,  D = R⁻¹ Φᵀ P₁,        its log-determinant:
                             log|P₁| − log|A| − Σ log s².

At a place whose covariances are k, and in whose mean the observations have the weights c without w,

    r = R⁻¹ (φ(x) − Φᵀ c) = R⁻¹ (φ(x) − e) − D k,      e = Φᵀ u / A_m (see `_mean`),

is what w leaves: the weights become c + Dᵀ r, and the variance grows by |r|².
"""

from dataclasses import dataclass, fields, replace
from functools import cached_property

import numpy as np
from scipy.linalg import blas, lapack

from ._solvers import try_cholesky


@dataclass(frozen=True, eq=False)
class Polynomials:
    """q polynomials of a place x, a + Σ_j (b_j + c_j x_j) x_j.

    Attributes
    ----------
    constant : ndarray of shape (q,)
    linear, square : ndarray of shape (q, d)
    """

    constant: np.ndarray
    linear: np.ndarray
    square: np.ndarray

    def __call__(self, S):
        """Their values (m, q) at places S (m, d)."""
        return self.constant + S @ self.linear.T + (S * S) @ self.square.T

    def slopes(self, s):
        """Their gradients (q, d) at a place (d,)."""
        return self.linear + 2.0 * self.square * s

    def combined(self, T):
        """The polynomials T p (p, …) of these, T (p, q)."""
        return Polynomials(T @ self.constant, T @ self.linear, T @ self.square)

    def plus(self, other):
        """The sums of these and others."""
        return Polynomials(
            self.constant + other.constant, self.linear + other.linear, self.square + other.square
        )

    def minus(self, e):
        """The same less the numbers e (q,)."""
        return replace(self, constant=self.constant - e)

    def scaled(self, units):
        """The same as functions of x · units (d,): constant, linear and square."""
        return self.constant, self.linear / units, self.square / units**2


@dataclass(frozen=True, eq=False)
class Features:
    """What a mean is made of before anything is observed.

    Attributes
    ----------
    expected : Polynomials
        One.
    polynomials : Polynomials
        φ, q of them.
    stds : ndarray of shape (q,)
        Prior standard deviations of their weights, positive.
    """

    expected: Polynomials
    polynomials: Polynomials
    stds: np.ndarray

    @property
    def are_learnt(self):
        """Whether there are weights."""
        return len(self.stds) > 0


@dataclass(frozen=True, eq=False)
class Trend:
    """The weights given the observations, in units of the standardized y.

    Attributes
    ----------
    features : Features
    weights : ndarray of shape (q,)
        ŵ.
    e : ndarray of shape (q,)
    R : ndarray of shape (q, q)
        Its lower triangle.
    directions : ndarray of shape (q, n)
        D.
    log_ratio : float
        log|A| + Σ log s²: twice what the observations tell about w, in nats, and m known.
    """

    features: Features
    weights: np.ndarray
    e: np.ndarray
    R: np.ndarray
    directions: np.ndarray
    log_ratio: float

    def __getstate__(self):
        # A copy or a pickle is the same whether or not the properties below were ever asked for.
        return {f.name: getattr(self, f.name) for f in fields(self)}

    # Of what a search of the hyperparameters evaluates nobody asks for these.

    @cached_property
    def level(self):
        """What was expected, and φᵀ ŵ: one polynomial."""
        features = self.features
        return features.polynomials.combined(self.weights[np.newaxis]).plus(features.expected)

    @cached_property
    def white(self):
        """R⁻¹ (φ − e): q polynomials."""
        inverse = np.tril(lapack.dtrtri(self.R, lower=1)[0])
        return self.features.polynomials.minus(self.e).combined(inverse)

    def rest(self, S, K):
        """r (m, q) of places S (m, d) with covariances K (m, n)."""
        return self.white(S) - K @ self.directions.T


def trend_given(features, phi, solver, mean, a):
    """The mean with a trend on top, P y (n,), and what the trend adds to the log likelihood.

    Parameters
    ----------
    features : Features
    phi : ndarray of shape (n, q)
        Φ.
    solver : DenseCholesky
        Of the covariance of f + noise.
    mean : Mean
        The constant, given the observations, if there were no trend.
    a : ndarray of shape (n,)
        P₁ y, of what is left of y without what was expected.
    """
    U = solver.half_solve_few(np.array(phi.T, order="C"))
    A, e = U @ U.T, np.zeros(len(U))
    solver.half_solve_few(U, transpose=True)
    if mean.is_learnt:
        sums = mean.direction @ phi
        e = sums / mean.precision
        A -= e[:, np.newaxis] * sums
        U -= e[:, np.newaxis] * mean.direction
    A.reshape(-1)[:: len(A) + 1] += features.stds**-2.0
    if not (np.isfinite(A).all() and try_cholesky(A)):
        return mean, np.full_like(a, np.nan), -np.inf
    # By rows A is R, by columns its transpose.
    R, whole = A, np.column_stack((U, a @ phi))
    whole = blas.dtrsm(1.0, R.T, whole, lower=0, trans_a=1)
    D, half = np.ascontiguousarray(whole[:, :-1]), whole[:, -1]
    weights = blas.dtrsv(R.T, half, lower=0)
    log_ratio = 2.0 * float(np.log(R.diagonal() * features.stds).sum())
    trend = Trend(features, weights, e, R, D, log_ratio)
    mean = replace(mean, value=mean.value - float(e @ weights), trend=trend)
    return mean, a - half @ D, 0.5 * (float(half @ half) - log_ratio)
