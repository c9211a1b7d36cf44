"""Prior means: a constant with a Gaussian prior, in closed form, and a quadratic over the unit box.

The constant: y = m + f + noise with m ~ N(0, τ²). With G the inverse covariance of f + noise and
u = G 1,

    precision of m given y:  A = 1/τ² + 1ᵀ u,      its posterior mean:  m̂ = uᵀ y / A,
    inverse covariance of y:  G − u uᵀ / A,        its log-determinant:  log|G| − log(τ² A).

The weights of the posterior are then G (y − m̂ 1), and a point with covariances k has the posterior
mean m̂ + kᵀ G (y − m̂ 1) and the variance k(x, x) − kᵀ G k + r² / A, r = 1 − kᵀ u. τ = ∞ is
generalized least squares: the limit, except that log 2π stands for log τ² in the likelihood, as if
the flat prior had the density 1.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from .._fast import cholesky as _cholesky
from .._sklearn import BaseEstimator
from .._validation import check_choice, check_int, check_real, invalid
from ._cholesky import matvec

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .._typing import Indices


@dataclass(frozen=True, eq=False)
class Mean:
    """Posterior of the constant mean, in units of the standardized y.

    Attributes
    ----------
    value : float
        m̂.
    precision : float
        A; infinite for a known mean of 0.
    direction : ndarray of shape (b,) or None
        u, or its equivalent in another basis. None for a known mean of 0, and in a Kalman filter,
        which filters a column of ones as well.
    share : float
        Share of the mean in the prediction: 1 for f, 0 for a term of f.
    """

    value: float
    precision: float
    direction: np.ndarray | None
    share: float = 1.0

    @property
    def is_learnt(self):
        """True if the mean has a prior variance, rather than being 0."""
        return self.precision < np.inf

    @property
    def vector(self):
        """The mean as a vector (1,)."""
        return np.array([self.value])

    @property
    def root(self):
        """The standard deviation 1 / √A as a matrix (1, 1)."""
        return np.array([[1.0 / np.sqrt(self.precision)]])

    # The same, with 0 for coefficients without information from rows.
    root_in_rows = root

    @property
    def directions(self):
        """u / √A as a matrix (b, 1), of a learnt mean."""
        return self.direction[:, np.newaxis] / np.sqrt(self.precision)

    def at(self, F):
        """Return the mean, a constant without features F."""
        return self.value

    def of_term(self, direction):
        """Return the mean as it enters a term of f, which excludes it."""
        return replace(self, value=0.0, direction=direction, share=0.0)

    def of_differences(self, level):
        """Return the mean of differences between inputs, around a ``level`` that all share."""
        return replace(self, value=float(self.value + level), share=0.0)

    def in_basis(self, U):
        """Return ``direction`` from the matrix U (b, 1)."""
        return U[:, 0]

    def in_snapshot(self, level, shares, U, with_level):
        """Return the mean with that of a level, and its direction U (b, 1).

        ``shares`` (1,) are those of the level in the feature; without the level the mean is one of
        differences.
        """
        mean = replace(self, value=float(self.value + level))
        if not self.is_learnt:
            return mean
        return replace(mean, direction=U[:, 0], share=self.share - shares[0] if with_level else 0.0)

    def trend_residual(self, K):
        """Return r (m,) of points with covariances K (m, b), for a learnt mean."""
        return self.share - matvec(K, self.direction)

    def residuals(self, K, F):
        """Return r / √A (m, 1) of points with covariances K (m, b), for a learnt mean."""
        return self.trend_residual(K)[:, np.newaxis] / np.sqrt(self.precision)

    def covariance(self, K, full, F=None):
        """Return the covariance (m, m), or variances (m,), due to the uncertain mean.

        K (m, b) are the covariances of the points with the observations.
        """
        if not self.is_learnt:
            return 0.0
        rest = self.trend_residual(K) / np.sqrt(self.precision)
        return np.outer(rest, rest) if full else rest * rest

    def corrected_weights(self, k, c, f=None):
        """Return weights (b,) of the observations at a point, and the variance due to the mean.

        k (b,) are the covariances of the point, c (b,) its weights for a known mean.
        """
        if not self.is_learnt:
            return c, 0.0
        rest = self.share - k @ self.direction
        return c + (rest / self.precision) * self.direction, rest * rest / self.precision

    def weight_corrections(self, K, F=None):
        """Return r uᵀ / A (m, b): the weights of the observations in m̂ r."""
        if not self.is_learnt:
            return 0.0
        return np.outer(self.trend_residual(K) / self.precision, self.direction)

    def downdate(self, G):
        """Return G − u uᵀ / A, written over G (b, b), C order."""
        if self.is_learnt:
            _cholesky.add_outer(G, self.direction[np.newaxis], -1.0 / self.precision)
        return G

    def downdate_product(self, Gv, v):
        """Return (G − u uᵀ / A) v, from G v and v (b,)."""
        if self.is_learnt:
            Gv = Gv - (self.direction @ v / self.precision) * self.direction
        return Gv

    # Precisions of rows given the others that are 0 up to rounding.
    least_precision = 0.0

    def information_correction(self, variance, noise, rows):
        """Return log(A / (1/τ² + Σ 1/σ_i²)): minus twice the information about m, in nats."""
        if not self.is_learnt:
            return 0.0
        return np.log(self.precision / (1.0 / variance + np.sum(1.0 / noise)))


ZERO = Mean(0.0, np.inf, None)


def prior_variance(std):
    """Return τ²; 0 or infinity if τ² or its reciprocal underflows or overflows."""
    variance = std * std
    return variance if variance >= np.finfo(float).tiny else 0.0


def estimate_mean(variance, ones, cross, direction):
    """Return the posterior of the mean given y (n,), and its term of the log likelihood.

    Parameters
    ----------
    variance : float
        τ² > 0, perhaps infinite.
    ones, cross : float
        1ᵀ u and uᵀ y.
    direction : ndarray of shape (n,) or None
        u, see `Mean`.
    """
    precision = 1.0 / variance + ones
    value = cross / precision
    log_prior = np.log(variance) if variance < np.inf else -np.log(2.0 * np.pi)
    gain = 0.5 * (cross * value - np.log(precision) - log_prior)
    return Mean(value, precision, direction), gain


@dataclass(frozen=True, eq=False)
class Polynomial:
    """Polynomial a + Σ_j (b_j + c_j x_j) x_j of an input x.

    Attributes
    ----------
    constant : float
    linear, square : ndarray of shape (d,)
    """

    constant: float
    linear: np.ndarray
    square: np.ndarray

    def __call__(self, S):
        """Return the values (m,) at inputs S (m, d)."""
        return self.constant + S @ self.linear + (S * S) @ self.square

    def slope(self, s):
        """Return the gradient (d,) at an input (d,)."""
        return self.linear + 2.0 * self.square * s

    def scaled(self, units):
        """Return the coefficients as a function of x · units (d,): constant, linear, square."""
        return self.constant, self.linear / units, self.square / units**2


class QuadraticMean(BaseEstimator):
    """Prior mean over the unit box that is highest in the middle and lowest in the corners.

    A Gaussian process predicts the average where it has no data. A user who draws a box expects the
    optimum inside it. For x in the unit box this prior mean is

        m(x) = −depth Σ_j ((x_j − ½)² − 1/12) / √(d/180),

    which has mean 0 and standard deviation ``depth`` for x uniform in the box.

    Parameters
    ----------
    depth : float, default=0.5
        In units of y (standardized with ``normalize_y``). Negative for a function that is to be
        minimized.
    columns : sequence of int, default=None
        Coordinates x_j of the mean, counted without the time column; d is their number. None: all.
    only_if_likelier : bool, default=False
        Use the mean only if the maximum marginal likelihood is larger than without it, and only
        from 10 rows on, or with a static part from removed rows. Every hyperparameter search makes
        the choice again.
    spread : float, default=0.0
        Prior standard deviation, for x uniform in the box, of a static part of f around this mean:
        linear and quadratic terms of each column. The information about it of rows that
        ``max_size``, or the policy of an optimizer, removes stays, see :doc:`/theory`. 0: none.

    References
    ----------
    J. Snoek et al., "Scalable Bayesian Optimization Using Deep Neural Networks", ICML 2015, use a
    quadratic prior mean for the same reason.

    Examples
    --------
    >>> from sktvbo import TimeVaryingGPRegressor
    >>> from sktvbo.gaussian_process import QuadraticMean
    >>> X = [[0.2, 0.2, 0.0], [0.4, 0.7, 1.0]]
    >>> gp = TimeVaryingGPRegressor(prior_mean=QuadraticMean(0.5), optimizer=None)
    >>> late = [[0.5, 0.5, 99.0], [1.0, 1.0, 99.0]]     # so late that only the prior mean matters
    >>> gp.fit(X, [0.1, 0.3]).predict(late).round(2)
    array([ 0.79, -1.58])
    """

    # Logarithm of the prior odds of the mean to none, with ``only_if_likelier``.
    log_odds: ClassVar[float] = 0.0

    def __init__(
        self,
        depth: float = 0.5,
        columns: Sequence[int] | None = None,
        only_if_likelier: bool = False,
        spread: float = 0.0,
    ) -> None:
        self.depth = depth
        self.columns = columns
        self.only_if_likelier = only_if_likelier
        self.spread = spread

    @property
    def _min_rows(self) -> float:
        """Number of rows from which the mean is compared with none, if no row has been removed.

        A flexible mean explains any few rows, and the rest is noise. A flat one, with a ``depth``
        of 0, is none.
        """
        return 10 if self.depth else np.inf

    def check(self, n_dims: int | None = None) -> None:
        """Raise a ValueError for an invalid parameter.

        Parameters
        ----------
        n_dims : int, default=None
            Number of spatial coordinates, if known.
        """
        check_real(self.depth, "depth", self)
        check_choice(self.only_if_likelier, (True, False), "only_if_likelier", self)
        check_real(self.spread, "spread", self, interval="[0, inf)")
        if self.columns is None:
            return
        high = None if n_dims is None else n_dims - 1
        indices = np.atleast_1d(self.columns).tolist()
        columns = {check_int(column, "columns", self, low=0, high=high) for column in indices}
        if np.ndim(self.columns) != 1 or not 0 < len(columns) == len(indices):
            raise invalid("columns", "different columns, at least one", self.columns, self)

    def columns_of(self, n_dims: int) -> Indices:
        """Return the coordinates of the mean.

        Parameters
        ----------
        n_dims : int
            Number of spatial coordinates.

        Returns
        -------
        columns : ndarray of int of shape (c,)
        """
        return np.arange(n_dims) if self.columns is None else np.asarray(self.columns, dtype=int)

    def polynomial(self, n_dims: int) -> Polynomial:
        """Return the mean as a function of inputs with ``n_dims`` coordinates.

        Parameters
        ----------
        n_dims : int

        Returns
        -------
        Polynomial
        """
        self.check(n_dims)
        columns, square = self.columns_of(n_dims), np.zeros(n_dims)
        square[columns] = -self.depth / np.sqrt(max(len(columns), 1) / 180.0)
        # −Σ_j ((x_j − ½)² − 1/12) = Σ_j (x_j − x_j² − 1/6)
        return Polynomial(float(square.sum()) / 6.0, -square, square)
