"""Exact conditioning on rows, through a Cholesky factor.

Notation: n rows with space S (n, d) and time t (n,), K = k((S, t), (S, t)), noise variances Σ (n,),
Δ = K + diag(Σ) = L Lᵀ, P = Δ⁻¹ (with the prior variance of a learnt mean in all entries of Δ), and
a = Δ⁻¹ (y − mean).
"""

from dataclasses import dataclass, field
from operator import attrgetter
from typing import NamedTuple

import numpy as np

from .._fast import cholesky as _cholesky
from .._validation import RESOLUTION
from ..exceptions import NotPositiveDefiniteError
from . import _relevancy
from ._cholesky import DenseCholesky, cholesky, lower_inverse, try_cholesky
from ._conditioned import BasisPosterior, Conditioned, Criterion, solve_for_weights, squares
from ._covariance import SeparableCovariance
from ._data import Rows
from ._inverse import (
    MAX_AGE,
    MAX_LOSS,
    Inverse,
    PlaceConvolutions,
    RelevancyForms,
    UpdatedForms,
)
from ._prior_mean import ZERO, Mean

# Refactorize if a row of L Lᵀ differs from that of Δ by more, relative to the diagonal. One row is
# compared after this many updates.
_MAX_RESIDUAL = 1e-9
_COMPARE_EVERY = 8

# A new factor is faster than updates of more than one in this many rows.
_MANY = 10

# Update the inverse from this many rows on. For fewer rows it is faster to compute it from the
# factor.
_MIN_ROWS_TO_UPDATE = 200

# Update the forms of relevancies, rather than compute these from full matrices, only for at most
# this many pairs of coefficients in time for each row.
_MAX_PAIRS = 0.25


@dataclass(eq=False)
class Cache:
    """Matrices of a `Dense` that are computed on demand; neither copied nor pickled with it.

    Attributes
    ----------
    inverse : Inverse or None
    lower_precision : ndarray of shape (n, n) or None
        Lower triangle of P from the last evaluation of a search; ``inverse`` is made from it.
    places : PlaceConvolutions or None
        Convolutions in space of the first rows; `relevancy_sweep` extends them.
    forms : RelevancyForms or None
        Updated with ``inverse``.
    sweep : RelevancySweep or None
        The last one whose removals `drop` can take over.
    n_sweeps : int
        Number of sweeps from full matrices with the same hyperparameters.
    """

    inverse: Inverse | None = None
    lower_precision: np.ndarray | None = None
    places: PlaceConvolutions | None = None
    forms: RelevancyForms | None = None
    sweep: object = None
    n_sweeps: int = 0

    def append(self, rows, change):
        """Return the cache of more rows.

        ``change`` are the arguments of `Inverse.append` for a single new row, or None.
        """
        inverse, places, forms = self.inverse, self.places, self.forms
        if change is None or inverse is None:
            return Cache(places=places, n_sweeps=self.n_sweeps)
        if forms is not None:
            places = places.extended(rows.S)
            forms = forms.append(places, rows.t, inverse, *change)
        inverse = inverse.append(*change)
        return Cache(inverse, places=places, forms=forms, n_sweeps=self.n_sweeps)

    def drop(self, indices):
        """Return the cache without some rows, in ascending order."""
        inverse, places, forms = self.inverse, self.places, self.forms
        if self.sweep is not None:
            left, known = self.sweep.state
            order = np.full(inverse.n, -1)
            order[left] = np.arange(len(left))
            order = order[indices]
            if isinstance(known, UpdatedForms) and (order < 0).sum() == inverse.n - len(left):
                # The sweep has removed some of these rows, and no others.
                inverse, forms, places = known.inverse, known.forms, known.forms.places
                indices = order[order >= 0]
        for i in reversed(indices):
            if forms is not None:
                forms = forms.drop(i, inverse)
            inverse = None if inverse is None else inverse.drop(i)
            places = None if places is None else places.drop(i)
        return Cache(inverse, places=places, forms=forms, n_sweeps=self.n_sweeps)


@dataclass(frozen=True, eq=False)
class Dense(BasisPosterior, Conditioned):
    """Exact conditioning, through the Cholesky factor L of Δ = K + Σ (W-DBO section 2).

    The variance reduction at a point is |L⁻¹ k|², the weights are Δ⁻¹ y.
    """

    covariance: SeparableCovariance
    rows: Rows
    solver: DenseCholesky
    mean: Mean
    weights: np.ndarray
    objective: float
    n_updates: int = 0
    cache: Cache = field(default_factory=Cache, repr=False)

    @classmethod
    def of(cls, covariance, rows):
        """Factorize Δ, O(n³).

        Raises
        ------
        NotPositiveDefiniteError
            Δ has no Cholesky factor even with jitter, or solving with it overflows.
        """
        K = covariance.gram(rows.S, rows.t)
        solver = DenseCholesky(*cholesky(K, rows.noise(covariance), covariance))
        return cls._from_factor(covariance, rows, solver)

    @classmethod
    def _from_factor(cls, covariance, rows, solver, n_updates=0, cache=None):
        """Condition with a known factor, O(n²)."""
        known = rows.targets, covariance.mean_variance, rows.layout.trend, rows.features
        mean, weights, value = solve_for_weights(solver, *known)
        if value == -np.inf:
            raise NotPositiveDefiniteError(
                f"Solving with the covariance matrix of {covariance} overflowed. "
                "Scale y to a moderate range (normalize_y=True), or raise noise_variance."
            )
        known = (solver, mean, weights, float(value), n_updates, cache or Cache())
        return cls(covariance, rows, *known)

    @staticmethod
    def criterion(rows):
        return _Likelihood(rows)

    @classmethod
    def after_search(cls, criterion, covariance, rows):
        evaluation = criterion.last_evaluation(covariance)
        if evaluation is None:
            return cls.of(covariance, rows)
        known = (evaluation.solver, evaluation.mean, evaluation.weights, float(evaluation.value))
        return cls(covariance, rows, *known, cache=Cache(lower_precision=evaluation.P))

    def __getstate__(self):
        return vars(self) | {"cache": Cache()}

    @property
    def inverse(self):
        """P, an `Inverse`."""
        cache = self.cache
        if cache.inverse is None:
            P, cache.lower_precision = cache.lower_precision, None
            if P is None:
                P = self.mean.downdate(lower_inverse(self.solver.L.copy()))
            _cholesky.symmetrize(P)
            cache.inverse = Inverse.of(P)
        return cache.inverse

    @property
    def precision(self):
        """P (n, n); O(n²) after updates."""
        self.cache.inverse = self.inverse.written()
        return self.cache.inverse.P

    @property
    def gradient(self):
        """Gradient of ``objective`` in theta, O(n²) if P is computed."""
        return _gradient(self.covariance, self.rows, None, self.precision, self.weights)

    basis = property(attrgetter("rows.S", "rows.t"))

    @property
    def _log_determinant(self):
        return self.solver.log_determinant

    def append(self, X, y, variance, total, standardize=None, **robust):
        """Append rows, O(n²) each; O(n³) for many, or if the noise of the present rows changes."""
        rows, n = self.rows.append(X, y, variance, total, standardize, **robust), self.rows.n
        if _MANY * len(X) > n or not self._can_update(rows):
            return self._recomputed(rows)
        noise, solver = rows.noise(self.covariance, slice(n, None)), self.solver
        for i in range(n, rows.n):
            k = self.covariance.row(rows.S, rows.t, i)[: i + 1]
            solver = solver.append(k[:-1], k[-1] + noise[i - n])
            if solver is None:
                return self._recomputed(rows)
        change = None
        if self.cache.inverse is not None and rows.n == n + 1 and n >= _MIN_ROWS_TO_UPDATE:
            change = self._change_of_inverse(k[:-1], solver, rows.layout.features(rows.X[-1:]))
        return self._updated(rows, solver, self.cache.append(rows, change))

    def leave_one_out(self):
        # The prediction without row i is y_i − a_i / P_ii, with variance 1 / P_ii, which includes
        # the noise of the row (Rasmussen & Williams, eq. 5.12).
        precision = np.maximum(self.inverse.diagonal, self.mean.least_precision)
        return self.weights / precision, 1.0 / precision - self.rows.noise(self.covariance)

    def _change_of_inverse(self, k, solver, f):
        """Return the arguments of `Inverse.append` for the last row of a factor.

        k (n,) are its covariances, and f (1, q) its features.
        """
        l, pivot = np.split(solver.L[-1], [len(k)])
        u, variance = self.solver.half_solve(l[np.newaxis].copy(), transpose=True)[0], pivot[0] ** 2
        u, more = self.mean.corrected_weights(k, u, f)
        return u, variance + more

    def drop(self, indices, standardize=None):
        """Drop rows, O(n²) each; O(n³) for many, or if the noise of the other rows changes."""
        rows, n = self.rows.drop(indices, standardize), self.rows.n
        if _MANY * len(indices) > n or not self._can_update(rows):
            return self._recomputed(rows)
        solver, cache = self.solver, self.cache
        for i in reversed(indices):
            solver = solver.drop(int(i))
        if n < _MIN_ROWS_TO_UPDATE:
            cache = Cache(places=cache.places, n_sweeps=cache.n_sweeps)
        return self._updated(rows, solver, cache.drop(indices))

    def _updated(self, rows, solver, cache):
        """Condition on other rows, with their updated factor and matrices."""
        count = self.n_updates + 1
        compare = count % _COMPARE_EVERY == 0
        if compare and self._residual(rows, solver, count) > _MAX_RESIDUAL:
            return self._recomputed(rows)
        new = self._from_factor(self.covariance, rows, solver, count, cache)
        if cache.inverse is not None and not cache.inverse.is_accurate(solver, new.mean):
            return self._recomputed(rows)
        if cache.forms is not None and not cache.forms.is_accurate(cache.inverse):
            cache.forms = None
        return new

    def _recomputed(self, rows):
        new = super()._recomputed(rows)
        new.cache.n_sweeps = self.cache.n_sweeps
        return new

    def _residual(self, rows, solver, count):
        """Return the largest difference of one row of L Lᵀ and Δ, relative to the diagonal, O(n²).

        ``count`` selects the row.
        """
        i = (count // _COMPARE_EVERY * 7919) % rows.n
        k = self.covariance.row(rows.S, rows.t, i)[i:]
        k[0] += rows.noise(self.covariance, slice(i, i + 1))[0] + solver.jitter
        L = solver.L
        row = np.einsum("ij,j->i", L[i:, : i + 1], L[i, : i + 1])
        return float(np.abs(row - k).max() / k[0])

    def variance_reduction(self, K, full=False, F=None):
        return squares(self.solver.half_solve(K), full)

    def half_gradient(self, k):
        return self.solver.solve(k)

    @property
    def factors(self):
        return {"lower": self.solver.L}

    def log_likelihood(self, covariance, eval_gradient=False):
        """Return the log likelihood of the same rows, with the jitter of the factor."""
        return _Likelihood(self.rows, self.solver.jitter)(covariance, eval_gradient)

    def relevancy_sweep(self, now):
        """Return the `RelevancySweep` of the rows; ``now`` in the user's unit."""
        rows, cache, past, least = self.rows, self.cache, None, self.mean.least_precision
        now = _relevancy.present(now, rows.latest) - rows.layout.origin
        spatial, temporal = self.covariance.stationary_factors
        signal = self.covariance.variance(rows.S, rows.t).sum() / rows.n
        if self.mean.is_learnt:
            past = temporal.decay(rows.t.max() - rows.t) < RESOLUTION
        if cache.places is None:
            cache.places = PlaceConvolutions.of(spatial, rows.S)
        cache.places = cache.places.extended(rows.S)
        determined = self.inverse.diagonal.max() * RESOLUTION * signal > 1.0
        forms = None if determined else self._forms_at(now, temporal.future_basis)
        if forms is not None:
            updated = UpdatedForms(self.inverse, forms)
            cache.sweep = _relevancy.RelevancySweep.of(self.weights, updated, past, least)
            return cache.sweep
        # Theorem 4.1, divided by the decay of the newest observation and ∫ k_S²: relevancies are
        # ratios, and old data or hundreds of dimensions do not give 0/0.
        ages = now - rows.t
        cache.n_sweeps += 1
        C = temporal.future_convolution(ages, ages, ages.min()) * cache.places.C
        if determined:
            trend = rows.layout.trend, rows.features
            known = rows.targets, self.covariance.mean_variance, signal, C, past, *trend
            return _relevancy.sweep(self.solver, *known)
        return _relevancy.RelevancySweep(self.precision, self.weights, C, past, least)

    def _forms_at(self, now, basis):
        """Return the `RelevancyForms` at a time since the origin; None where they are slower.

        O(n) if they were updated, otherwise O(n³) for each coefficient of the ``basis``. A search
        discards them. They are computed again after one sweep from full matrices for each
        coefficient: all of these sweeps together cost as much.
        """
        inverse, rows, forms = self.inverse, self.rows, self.cache.forms
        if basis is None or self.cache.n_sweeps < basis.size or not inverse.n_updates:
            return None
        if len(basis.weights) > _MAX_PAIRS * rows.n:
            return None
        if (now - rows.t.max()) * basis.rates.min() > MAX_AGE:
            return None
        if forms is None or now < forms.now or forms.loss <= MAX_LOSS:
            unit = _relevancy.unit_of(inverse.diagonal)
            known = self.cache.places, rows.t, now, self.precision, unit
            forms = self.cache.forms = RelevancyForms.of(basis, *known)
        return forms.at(now)


class Weighted(Dense):
    """Dense conditioning with the width of `WeightedTimeVaryingGPRegressor`.

    With the weights c of the observations in the mean at a point (c = Δ⁻¹ k for a known mean), the
    squared width is the posterior variance less σ² Σ_i (1/w_i − 1) c_i².
    """

    @property
    def _excess(self):
        """σ² (1/w − 1) of the rows (n,); 0 where the total noise is given."""
        noise = self.covariance.noise(self.rows.ages) - self.covariance.noise_variance
        return np.where(self.rows.total, 0.0, np.maximum(noise, 0.0))

    @property
    def factors(self):
        return super().factors | {"excess": self._excess}

    def variance_reduction(self, K, full=False, F=None):
        shares = self.mean.weight_corrections(K, F)
        explained = super().variance_reduction(K, full)
        C = self.solver.half_solve(K, transpose=True) + shares
        return explained + squares(C * np.sqrt(self._excess), full)

    def variance_reduction_with_slope(self, k, f=None):
        explained, c = super().variance_reduction_with_slope(k, f)
        excess = self._excess * c
        c_excess = self.mean.downdate_product(self.solver.solve(excess), excess)
        return explained + c @ excess, c + c_excess

    def half_slope_in_features(self, k, f):
        excess = self._excess * super().variance_reduction_with_slope(k, f)[1]
        mean = self.mean
        on_weights = mean.share * (mean.root @ (mean.direction.T @ excess))
        return super().half_slope_in_features(k, f) - on_weights


class _Evaluation(NamedTuple):
    """Log likelihood with the values that conditioning reuses; P is a lower triangle."""

    value: float
    solver: DenseCholesky
    mean: Mean
    weights: np.ndarray | None
    P: np.ndarray | None


def _gradient(covariance, rows, K, P, a):
    """Return the gradient of the log likelihood, from the lower triangles of K and P."""
    on_kernels = covariance.gradient(rows.S, rows.t, K, P, a)
    on_noise = rows.noise_gradient(covariance, a * a - P.diagonal())
    return 0.5 * np.concatenate([on_kernels, on_noise])


class _Likelihood(Criterion):
    """Log likelihood log p(y) of rows (W-DBO section 2), and its gradient in theta.

    −½ yᵀa − ½ log|Δ| − (n/2) log 2π, and ½ Σ_ij (a aᵀ − Δ⁻¹)_ij ∂Δ_ij/∂theta. With a learnt mean,
    its prior variance is added to all entries of Δ. Minus infinity, so that a search turns back, if
    Δ is not numerically positive definite. Conditioning can reuse the last evaluation.

    Parameters
    ----------
    rows : Rows
    jitter : float, default=0.0
        Added to the diagonal of Δ.
    """

    def __init__(self, rows, jitter=0.0):
        self._rows, self._jitter, self._workspace, self._last = rows, jitter, None, None
        self._features = rows.features

    def __call__(self, covariance, eval_gradient):
        """Return value and gradient, or with ``eval_gradient="later"`` a function that returns it.

        The function is valid until the next evaluation.
        """
        rows, n, mean, a, value = self._rows, self._rows.n, ZERO, None, -np.inf
        if self._workspace is None:
            self._workspace = np.empty((n, n)), np.empty((n, n)), np.empty((n, n))
        K, L, _ = self._workspace
        covariance.gram(rows.S, rows.t, out=K)
        L[:] = K
        L.reshape(-1)[:: n + 1] = K.diagonal() + rows.noise(covariance) + self._jitter
        solver = DenseCholesky(L, self._jitter)
        if try_cholesky(L):
            known = rows.targets, covariance.mean_variance, rows.layout.trend, self._features
            mean, a, value = solve_for_weights(solver, *known)
        self._last = covariance, _Evaluation(value, solver, mean, a, None)
        if eval_gradient == "later":
            return value, self._gradient
        return value, self._gradient() if eval_gradient else None

    def _gradient(self):
        """Return the gradient of the last evaluation: two thirds of its time."""
        covariance, evaluation = self._last
        if evaluation.value == -np.inf:
            return np.zeros(len(covariance.bounds))
        K, _, P = self._workspace
        P[:] = evaluation.solver.L
        P = evaluation.mean.downdate(lower_inverse(P))
        self._last = covariance, evaluation._replace(P=P)
        return _gradient(covariance, self._rows, K, P, evaluation.weights)

    def information(self):
        """Return the information on theta (n_theta, n_theta) at the last evaluation; O(n²).

        ½ aᵀ ∂_i Δ P ∂_j Δ a, a = P y: the average of observed and expected information on variances
        (Gilmour, Thompson & Cullis 1995). Close to minus the Hessian of the log likelihood if the
        model suits y. None without compiled slopes.
        """
        covariance, evaluation = self._last
        if covariance.noise_model is not None or evaluation.value == -np.inf:
            return None
        rows, known, a = self._rows, self._workspace, evaluation.weights
        K = covariance.gram(rows.S, rows.t) if known is None else known[0]
        slopes = covariance.slope_products(rows.S, rows.t, K, a)
        if slopes is None:
            return None
        if len(slopes) < len(covariance.bounds):
            on_noise = np.where(rows.total, 0.0, covariance.noise_variance * a)
            if rows.weights is not None:
                on_noise = on_noise / rows.weights
            slopes = np.vstack([slopes, on_noise])
        mean = evaluation.mean
        rest = slopes @ mean.directions if mean.is_learnt else np.zeros((len(slopes), 0))
        V = evaluation.solver.half_solve(slopes)  # overwrites the slopes
        return 0.5 * (V @ V.T - rest @ rest.T)

    def last_evaluation(self, covariance):
        """Return the last `_Evaluation` if it has a gradient and this covariance, or None."""
        if self._last is None:
            return None
        evaluated, evaluation = self._last
        if evaluation.P is None or not np.array_equal(evaluated.theta, covariance.theta):
            return None
        self._workspace = None  # the result owns it now
        return evaluation
