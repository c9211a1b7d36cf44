"""Prior mean that is linear in columns of X, with learnt coefficients: universal kriging.

    y = F β + h + noise,   F = [1, x_1, …, x_p],   β ~ N(0, Λ⁻¹),

with h the Gaussian process. With G the inverse covariance of h + noise and U = G F,

    precision of β given y:  A = Λ + Fᵀ U,      its posterior mean:  β̂ = A⁻¹ Uᵀ y,
    inverse covariance of y:  G − U A⁻¹ Uᵀ,     its log-determinant:  log|G| + log|Λ| − log|A|.

The weights of the posterior are G (y − F β̂). A point with features f and covariances k has the mean
fᵀ β̂ + kᵀ G (y − F β̂) and the variance k(x, x) − kᵀ G k + rᵀ A⁻¹ r, r = f − Uᵀ k. A flat prior is
generalized least squares: as for a constant mean (`_prior_mean`), log 2π stands for log τ² in the
likelihood, which is the restricted one (REML).

Columns are centred and scaled inside. In these coordinates A = R⁻ᵀ R⁻¹, and U R is stored.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from .._fast import cholesky as _cholesky
from .._sklearn import BaseEstimator
from .._validation import RESOLUTION, check_int, invalid
from ._cholesky import matvec, product, rmatvec
from ._prior_mean import ZERO

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

# Smaller eigenvalues of a matrix with diagonal 1 are 0 up to rounding: rows do not determine the
# coefficients there.
_RANK = 1e-10

# Columns have a part in a linear relation if their coefficient in it is larger.
_SHARE = 1e-3

# A column is constant if its range is a smaller part of its largest value.
_ROUNDING = 1e-12

# Less prior precision is rounding: the prior is flat.
_FLAT = 1e-30


class LinearMean(BaseEstimator):
    """Prior mean that is linear in columns of X, such as elevation or a working day.

    The prior mean of f is a constant plus Σ_j b_j x_j. The coefficients b are learnt with the
    posterior, and their uncertainty is part of predicted variances. This is universal kriging, or
    kriging with external drift. The constant is learnt as well, with a flat prior if
    ``mean_prior_std`` of the regressor is 0. Optimizers ignore a linear mean.

    Parameters
    ----------
    columns : sequence of str or int
        Columns x_j of X: names if X is a data frame, or positions counted from the left, time
        included. Time may be one of them; it also stays in the temporal kernel.
    in_kernel : bool or sequence of str or int, default=False
        Those columns that are also coordinates of ``spatial_kernel``: True for all, as for a drift
        in the coordinates themselves. False: rows that differ in these columns only are equal for
        the kernel.
    prior_std : float or array-like of shape (p,), default=inf
        Standard deviation of the Gaussian prior of each coefficient, in units of y (after
        normalization, if any) over those of the column. inf: flat, for generalized least squares,
        where the rows must determine the coefficients: no column may be constant, or a linear
        function of others. A finite value allows both, such as a holiday that has not come yet.

    See Also
    --------
    QuadraticMean : A given mean over the unit box.

    References
    ----------
    C. Rasmussen, C. Williams, "Gaussian Processes for Machine Learning", 2006, section 2.7.
    N. Cressie, "Statistics for Spatial Data", 1993, section 3.4 (universal kriging).

    Examples
    --------
    >>> import numpy as np
    >>> from sktvbo import TimeVaryingGPRegressor
    >>> from sktvbo.gaussian_process import LinearMean
    >>> rng = np.random.RandomState(0)
    >>> elevation, day = rng.uniform(0.0, 2.0, 100), np.arange(100.0)        # km, days
    >>> y = 15.0 - 6.5 * elevation + np.sin(0.1 * day) + 0.1 * rng.normal(size=100)
    >>> gp = TimeVaryingGPRegressor(prior_mean=LinearMean([0]))
    >>> gp = gp.fit(np.column_stack([elevation, day]), y)
    >>> bool(np.abs(gp.coef_[0] + 6.5) < 3.0 * gp.coef_std_[0] < 0.2)
    True
    """

    def __init__(
        self,
        columns: Sequence[str | int],
        in_kernel: bool | Sequence[str | int] = False,
        prior_std: ArrayLike = np.inf,
    ) -> None:
        self.columns = columns
        self.in_kernel = in_kernel
        self.prior_std = prior_std

    def check(self) -> None:
        """Raise a ValueError for an invalid parameter."""
        columns = _labels(self.columns)
        if not columns:
            expected = "a list of names or positions of columns, at least one"
            raise invalid("columns", expected, self.columns, self)
        if len(set(columns)) < len(columns):
            raise invalid("columns", "different columns", self.columns, self)
        if not isinstance(self.in_kernel, bool | np.bool_) and _labels(self.in_kernel) is None:
            expected = "True, False or a list of some of the columns"
            raise invalid("in_kernel", expected, self.in_kernel, self)
        self._prior_variances()

    def _prior_variances(self):
        """Return the prior variances (p,) of the coefficients."""
        p = len(self.columns)
        std = np.asarray(self.prior_std)
        is_valid = std.dtype.kind in "iuf" and std.shape in ((), (p,)) and bool(np.all(std > 0.0))
        if not is_valid:
            expected = f"a float in the range (0, inf], or {p} of them"
            raise invalid("prior_std", expected, self.prior_std, self)
        return np.full(p, 1.0) * std.astype(np.float64) ** 2

    def positions(
        self, names: Sequence[str], n_columns: int, time: int
    ) -> tuple[list[int], tuple[int, ...]]:
        """Return the positions of the columns in X, and of those that are outside of the kernel.

        Parameters
        ----------
        names : sequence of str
            Names of the columns of X, or empty.
        n_columns : int
            Number of columns of X.
        time : int
            Position of time.

        Returns
        -------
        columns : list of int
        outside : tuple of int
            In ascending order.

        Raises
        ------
        ValueError
            A column that X does not have, or one that is given twice.
        """
        columns = self._found(self.columns, "columns", names, n_columns)
        if isinstance(self.in_kernel, bool | np.bool_):
            inside = columns if self.in_kernel else []
        else:
            inside = self._found(self.in_kernel, "in_kernel", names, n_columns)
            if not set(inside) <= set(columns):
                raise invalid("in_kernel", f"some of {self.columns!r}", self.in_kernel, self)
        return columns, tuple(sorted(set(columns) - set(inside) - {time}))

    def _found(self, labels, parameter, names, n_columns):
        """Return the positions of labels in X."""
        found, names = [], list(names)
        for label in labels:
            if not isinstance(label, str):
                limits = {"low": -n_columns, "high": n_columns - 1}
                found.append(check_int(label, parameter, self, **limits) % n_columns)
            elif label in names:
                found.append(names.index(label))
            else:
                known = f"among {names}" if names else "positions, as X has no column names"
                raise invalid(parameter, known, label, self)
        if len(set(found)) < len(found):
            raise invalid(parameter, "different columns", labels, self)
        return found

    def trend(self, X: ArrayLike, columns: Sequence[int]) -> Trend:
        """Return the features of rows, with origin and units from these rows.

        Parameters
        ----------
        X : ndarray of shape (n, d + 1)
        columns : sequence of int

        Returns
        -------
        Trend
        """
        F = np.asarray(X)[:, columns]
        center, unit, constant = F.mean(axis=0), F.std(axis=0), _are_constant(F)
        center, unit = np.where(constant, F[0], center), np.where(constant, 1.0, unit)
        return Trend(np.asarray(columns, dtype=np.intp), center, unit, self._prior_variances())


def _labels(columns):
    """Return a sequence of names and positions as a list, or None for other values."""
    if isinstance(columns, str) or not hasattr(columns, "__len__"):
        return None
    labels = list(columns)
    return labels if all(np.ndim(label) == 0 for label in labels) else None


def _are_constant(columns):
    """Return a mask (p,) of the constant ones among columns (n, p), up to rounding."""
    return np.ptp(columns, axis=0) <= _ROUNDING * np.abs(columns).max(axis=0)


@dataclass(frozen=True, eq=False)
class Trend:
    """Features of rows X for a linear mean, and the prior of their coefficients.

    Attributes
    ----------
    columns : ndarray of int of shape (p,)
        Positions in X.
    center, unit : ndarray of shape (p,)
        Features are (x − center) / unit, after a first one of 1.
    variance : ndarray of shape (p,)
        Prior variance of each coefficient of x; infinite for a flat prior.
    """

    columns: np.ndarray
    center: np.ndarray
    unit: np.ndarray
    variance: np.ndarray

    def features(self, X):
        """Return F (m, 1 + p) of rows X (m, d + 1)."""
        F = np.ones((len(X), 1 + len(self.columns)))
        F[:, 1:] = (X[:, self.columns] - self.center) / self.unit
        return F

    @property
    def from_zero(self):
        """Matrix (1 + p, 1 + p) from coefficients of F to the constant and those of x."""
        T = np.diag(np.append(1.0, 1.0 / self.unit))
        T[0, 1:] = -self.center / self.unit
        return T

    def precision(self, mean_variance):
        """Return Λ (1 + p, 1 + p) of the coefficients of F; ``mean_variance`` is the constant's."""
        T = self.from_zero
        return T.T @ (T / np.append(mean_variance, self.variance)[:, np.newaxis])

    def log_prior(self, mean_variance):
        """Return −log |Λ|, with log 2π in place of that of each flat prior."""
        variances = np.append(mean_variance, self.variance)
        flat = np.isinf(variances)
        logarithms = np.where(flat, -np.log(2.0 * np.pi), np.log(np.where(flat, 1.0, variances)))
        return logarithms.sum() + 2.0 * np.log(self.unit).sum()

    def undetermined(self, X, mean_variance):
        """Return the positions in X of columns whose coefficients rows X (n, d + 1) leave unknown.

        These have flat priors. If some of them are constant, only those are returned.
        """
        flat = np.isinf(np.append(mean_variance, self.variance))
        F = self.features(X)
        _, (w, V), _ = _eigen(F[:, flat].T @ F[:, flat])
        unknown = np.zeros(len(flat), dtype=bool)
        unknown[flat] = np.any(np.abs(V[:, w <= _RANK]) > _SHARE, axis=1)
        constant = unknown[1:] & _are_constant(X[:, self.columns])
        return self.columns[constant if constant.any() else unknown[1:]].tolist()


@dataclass(frozen=True, eq=False)
class Coefficients:
    """Posterior of the coefficients of F, in units of the standardized y; see `Mean`.

    Attributes
    ----------
    vector : ndarray of shape (q,)
        β̂.
    root : ndarray of shape (q, r)
        R, with R Rᵀ = A⁻¹. r < q if rows and prior leave some coefficients unknown.
    told : ndarray of bool of shape (r,)
        False for columns of R that the prior determines, and the rows do not.
    direction : ndarray of shape (b, r) or None
        U R with 0 for these columns, or its equivalent in another basis.
    share, offset : ndarray of shape (q,)
        f is share ∘ F − offset.
    log_precision : float
        log |A|.
    """

    vector: np.ndarray
    root: np.ndarray
    told: np.ndarray
    direction: np.ndarray | None
    share: np.ndarray
    offset: np.ndarray
    log_precision: float

    is_learnt = True

    @property
    def value(self):
        """Posterior mean at F = (1, 0, …): at the centre of the columns."""
        return float(self.vector[0])

    def at(self, F):
        """Return the mean (m,) at points with features F (m, q)."""
        return matvec(F, self.vector)

    def of_term(self, direction):
        """Return the mean as it enters a term of f, which excludes it."""
        nothing = np.zeros(len(self.vector))
        return replace(self, vector=nothing, direction=direction, share=nothing)

    def of_differences(self, level):
        """Return the mean of differences between inputs, around a ``level`` that all share."""
        vector, share = self.vector.copy(), self.share.copy()
        vector[0] += level
        share[0] = 0.0
        return replace(self, vector=vector, share=share)

    def in_basis(self, U):
        """Return ``direction`` from the matrix U (b, q)."""
        return U @ self.root_in_rows

    def in_snapshot(self, level, shares, U, with_level):
        """Return the mean with that of a level, and U (b, q); see `Mean`."""
        mean = replace(self, direction=self.in_basis(U))
        if not with_level:
            return mean.of_differences(level)
        vector = self.vector.copy()
        vector[0] += level
        return replace(mean, vector=vector, offset=shares)

    @property
    def root_in_rows(self):
        return self.root * self.told

    @property
    def directions(self):
        return self.direction

    def residuals(self, K, F):
        """Return Rᵀ r (m, r) of points with covariances K (m, b) and features F (m, q)."""
        return (self.share * F - self.offset) @ self.root - product(K, self.direction)

    def covariance(self, K, full, F):
        rest = self.residuals(K, F)
        return rest @ rest.T if full else np.einsum("ij,ij->i", rest, rest)

    def corrected_weights(self, k, c, f):
        rest = self.residuals(k[np.newaxis], f)[0]
        return c + matvec(self.direction, rest), rest @ rest

    def half_slope(self, k, f):
        """Return half the gradient (q,) in f of the variance due to the coefficients."""
        return self.share * (self.root @ self.residuals(k[np.newaxis], f)[0])

    def weight_corrections(self, K, F):
        return self.residuals(K, F) @ self.direction.T

    def downdate(self, G):
        _cholesky.add_outer(G, np.ascontiguousarray(self.direction.T), -1.0)
        return G

    def downdate_product(self, Gv, v):
        return Gv - matvec(self.direction, rmatvec(self.direction, v))

    @property
    def least_precision(self):
        """Precisions (n,) of rows given the others that are 0 up to rounding.

        Such rows determine a coefficient alone.
        """
        return RESOLUTION * np.einsum("ij,ij->i", self.direction, self.direction)

    def information_correction(self, variance, noise, rows):
        F = rows.features
        known = rows.layout.trend.precision(variance) + F.T @ (F / noise[:, np.newaxis])
        return self.log_precision - _eigen(known)[2]


def _eigen(A):
    """Return scales s (q,), eigenvalues and -vectors of s A s with diagonal 1, and log |A|.

    The determinant is that of A where it is not singular.
    """
    diagonal = A.diagonal()
    s = 1.0 / np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0))
    w, V = np.linalg.eigh(0.5 * (A + A.T) * np.outer(s, s))
    log_determinant = np.log(w[w > _RANK]).sum() - 2.0 * np.log(s).sum()
    return s, (w, V), log_determinant


def estimate_coefficients(trend, mean_variance, gram, cross, U):
    """Return the posterior of the coefficients given y (n,), and its term of the log likelihood.

    Coefficients that neither rows nor prior determine are 0.

    Parameters
    ----------
    trend : Trend
    mean_variance : float
        Prior variance of the constant, perhaps infinite.
    gram, cross : ndarray of shape (q, q) and (q,)
        Fᵀ U and Uᵀ y.
    U : ndarray of shape (b, q) or None
    """
    prior = trend.precision(mean_variance)
    A = prior + gram
    if not np.isfinite(A).all():
        return ZERO, -np.inf
    s, (w, V), _ = _eigen(A)
    # Where rows have no information, w is a rounding error of A, which exceeds a small prior
    # precision.
    of_prior = np.einsum("ik,ij,jk->k", V, prior * np.outer(s, s), V)
    told = w > _RANK
    w = np.where(told, w, of_prior)
    known = w > _FLAT
    told, root = told[known], s[:, np.newaxis] * V[:, known] / np.sqrt(w[known])
    half = (root * told).T @ cross
    log_precision = float(np.log(w[known]).sum() - 2.0 * np.log(s).sum())
    gain = 0.5 * (half @ half - log_precision - trend.log_prior(mean_variance))
    direction = None if U is None else product(U, root * told)
    known = root @ half, root, told, direction, np.ones(len(s)), np.zeros(len(s)), log_precision
    return Coefficients(*known), gain
