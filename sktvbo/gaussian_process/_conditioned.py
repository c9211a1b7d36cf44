"""Gaussian processes conditioned on rows: immutable values, and the exact one of them.

Notation: n rows with space S (n, d) and time t (n,), K = k((S, t), (S, t)), noise variances Σ (n,),
Δ = K + diag(Σ) = L Lᵀ, P = Δ⁻¹ (with the prior variance of a learnt mean in all entries of Δ), and
a = Δ⁻¹ (y − mean).
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace

import numpy as np

from .._fast import cholesky as _cholesky
from .._validation import RESOLUTION, finite_number
from ..exceptions import NotPositiveDefiniteError
from . import _relevancy
from ._cholesky import DenseCholesky, cholesky, lower_inverse, matvec, try_cholesky
from ._constant_mean import ZERO, Mean, given
from ._covariance import SeparableCovariance
from ._inverse import InverseCache
from ._relevancy_forms import RelevancyForms
from ._rows import Rows

LOG_2PI = np.log(2.0 * np.pi)

# Refactorize after this many rank-one updates, or n: amortizes the O(n³) cost and bounds round-off.
_MAX_UPDATES = 256

# Refactorize if a row of L Lᵀ differs from that of Δ by more, relative to the diagonal. One row is
# compared after this many updates.
_MAX_RESIDUAL = 1e-9
_COMPARE_EVERY = 8

# Update the inverse and the relevancy forms from this many rows on. For fewer rows it is faster to
# compute them from the factor.
_MIN_ROWS_TO_UPDATE = 200

# Relevancy forms underflow at larger ages, in temporal lengthscales.
_MAX_AGE = 50.0


class PosteriorFunction(ABC):
    """A posterior as a function of a place: a weighted sum of covariances with a few points.

    Attributes
    ----------
    covariance : SeparableCovariance
    rows : Rows
    basis : (S, t)
        The points whose covariances k with a place make its posterior.
    mean : Mean
        The constant mean of the standardized y.
    weights : ndarray
        Of k in the posterior mean of the standardized y, less ``mean.value`` and the prior mean.
    objective : float
        What the search for hyperparameters maximizes, without priors.
    """

    @abstractmethod
    def explained(self, K, full=False):
        """Prior minus posterior variance (m,), or covariance, from K (m, b), which is overwritten.

        As if the mean were known, in units of the standardized y; b is the number of points of the
        ``basis``.
        """

    @abstractmethod
    def projected(self, k):
        """Half the gradient (b,) of ``explained`` in one place's covariances k (b,)."""

    @property
    def factors(self):
        """What makes `explained`, as ``_fast.posterior`` takes it: a dict; None if it cannot."""
        return None

    def explained_with_slope(self, k):
        """Prior minus posterior variance at a place, and half its gradient (b,) in k (b,)."""
        slope = self.projected(k)
        explained = k @ slope
        slope, variance = self.mean.widened(k, slope)
        return explained - variance, slope

    def posterior(self, S, t, return_std=False, return_cov=False):
        """Mean, and standard deviation or covariance, at places (m, d) and times (m,)."""
        if not (return_std or return_cov):
            return self._mean(S, t)
        scale, (mean, left) = self.rows.scale, self._posterior(S, t, full=return_cov)
        if return_cov:
            return mean, scale * (scale * left)
        return mean, scale * np.sqrt(np.maximum(left, 0.0))

    def joint(self, S, t):
        """Mean (m,), and the covariance (m, m) in units of the standardized y."""
        return self._posterior(S, t, full=True)

    def _mean(self, S, t):
        """Mean (m,)."""
        return self._mean_at(S, self.covariance.cross(S, t, *self.basis))

    def _posterior(self, S, t, full):
        """Mean (m,), and variances (m,) or covariance in units of the standardized y.

        All that is asked of the posterior comes from here and from `_mean`.
        """
        covariance = self.covariance
        K = covariance.cross(S, t, *self.basis)
        mean = self._mean_at(S, K)
        of_mean = self.mean.covariance(K, full)
        prior = covariance.cross(S, t) if full else covariance.variance(S, t)
        return mean, prior - self.explained(K, full) + of_mean

    def _mean_at(self, S, K):
        """Posterior mean (m,) at places (m, d) with covariances K (m, b)."""
        rows, found = self.rows, self.mean.value + matvec(K, self.weights)
        if rows.prior_mean is not None:
            found += rows.prior_mean(S)
        return rows.location + rows.scale * found


class Conditioned(PosteriorFunction):
    """A Gaussian process conditioned on rows, a value: every change returns another one.

    Attributes
    ----------
    information_gain : float
        ½ log det(I + Σ⁻¹ K) of the rows, in nats.
    n_updates : int
        Updates since it was computed from the rows alone.
    """

    n_updates = 0

    @classmethod
    @abstractmethod
    def of(cls, covariance, rows, *basis):
        """Condition on rows, with known hyperparameters."""

    @staticmethod
    @abstractmethod
    def criterion(rows, *basis):
        """Return the objective of a search: (covariance, eval_gradient) -> (value, gradient)."""

    @classmethod
    def learnt(cls, criterion, covariance, rows, *basis):
        """Condition on rows, after a search for the maximum of their ``criterion``."""
        return cls.of(covariance, rows, *basis)

    @property
    def chosen(self):
        """Arguments of `of` after covariance and rows, a tuple."""
        return ()

    @property
    def gradient(self):
        """Gradient of ``objective`` in theta (n_theta,)."""
        return type(self).criterion(self.rows, *self.chosen)(self.covariance, True)[1]

    @abstractmethod
    def append(self, X, y, variance, total, standardize=None):
        """Condition on more rows, with the hyperparameters held.

        ``standardize`` says whether the scale follows y from now on; None: as before.
        """

    @abstractmethod
    def drop(self, indices, standardize=None):
        """Condition on fewer rows, with the hyperparameters held; see `append`."""

    @abstractmethod
    def at(self, now):
        """Move the present time, and with it the noise that grows with age."""

    def during(self, low, high):
        """Return the `PosteriorFunction` between two times since the origin."""
        return self

    def to_plain(self):
        """Return the arguments of `of`."""
        return {"covariance": self.covariance, "rows": self.rows, "basis": self.chosen}

    @classmethod
    def from_plain(cls, plain):
        """Condition again on `to_plain`: equal up to rounding."""
        return cls.of(plain["covariance"], plain["rows"], *plain["basis"])

    def _is_worn(self, n):
        """Return True if another update, to n rows, would be one too many."""
        return self.n_updates >= max(_MAX_UPDATES, n)

    def _recomputed(self, rows):
        """Condition on other rows from nothing."""
        return type(self).of(self.covariance, rows, *self.chosen)

    def _has_same_noise(self, rows):
        """Return True if the rows here and in ``rows`` have the same noise in both.

        It is in units of the standardized y, and may grow with age.
        """
        rescaled = rows.scale != self.rows.scale and rows.variance.any()
        aged = self.covariance.noise_model is not None and rows.now != self.rows.now
        return not (rescaled or aged)


class Cache:
    """Matrices of a `Dense` that are computed on demand; never copied nor stored with it.

    Attributes
    ----------
    inverse : InverseCache or None
    spare : ndarray of shape (n, n) or None
        Lower triangle of P as a search has left it, from which ``inverse`` is made.
    """

    __slots__ = ("inverse", "spare")

    def __init__(self, inverse=None, spare=None):
        self.inverse, self.spare = inverse, spare


@dataclass(frozen=True, eq=False)
class Dense(Conditioned):
    """Exact conditioning, through the Cholesky factor L of Δ = K + Σ (W-DBO section 2).

    The explained variance of a place is |L⁻¹ k|², the weights are Δ⁻¹ y.
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
        return cls._solved(covariance, rows, solver)

    @classmethod
    def _solved(cls, covariance, rows, solver, n_updates=0, inverse=None):
        """Condition with a known factor, O(n²)."""
        mean, weights, value = _weights(solver, rows, covariance.mean_variance)
        if value == -np.inf:
            raise NotPositiveDefiniteError(
                f"Solving with the covariance matrix of {covariance} overflowed. "
                "Scale y to a moderate range (normalize_y=True), or raise noise_variance."
            )
        known = (solver, mean, weights, float(value), n_updates, Cache(inverse))
        return cls(covariance, rows, *known)

    @staticmethod
    def criterion(rows):
        return _Likelihood(rows)

    @classmethod
    def learnt(cls, criterion, covariance, rows):
        found = criterion.at_last(covariance)
        if found is None:
            return cls.of(covariance, rows)
        solver, mean, weights, value, P = found
        return cls(covariance, rows, solver, mean, weights, float(value), cache=Cache(spare=P))

    def __getstate__(self):
        return vars(self) | {"cache": Cache()}

    @property
    def inverse(self):
        """P and the relevancy forms, an `InverseCache`."""
        cache = self.cache
        if cache.inverse is None:
            P, cache.spare = cache.spare, None
            if P is None:
                P = self.mean.removed(self.solver.inverse())
            _cholesky.symmetrize(P)
            cache.inverse = InverseCache(P)
        return cache.inverse

    @property
    def gradient(self):
        """Gradient of ``objective`` in theta, O(n²) once P is there."""
        K = self.covariance.gram(*self.basis)
        return _gradient(self.covariance, self.rows, K, self.inverse.P, self.weights)

    @property
    def basis(self):
        return self.rows.S, self.rows.t

    @property
    def information_gain(self):
        """½ log det(I + Σ⁻¹ K) (SparQ eq. 26), less what goes into learning the mean."""
        noise = self.rows.noise(self.covariance)
        gain = self.solver.log_determinant - np.sum(np.log(noise))
        lost = self.mean.lost(self.covariance.mean_variance, np.sum(1.0 / noise))
        return 0.5 * float(gain + lost)

    def append(self, X, y, variance, total, standardize=None):
        """O(n²) a row; O(n³) for many, or where the noise of the present rows moves."""
        rows, n = self.rows.append(X, y, variance, total, standardize), self.rows.n
        if 10 * len(X) > n or self._is_worn(rows.n) or not self._has_same_noise(rows):
            return self._recomputed(rows)
        noise, solver = rows.noise(self.covariance, slice(n, None)), self.solver
        for i in range(n, rows.n):
            k = self.covariance.row(rows.S[: i + 1], rows.t[: i + 1], i)
            solver = solver.append(k[:-1], k[-1] + noise[i - n])
            if solver is None:
                return self._recomputed(rows)
        inverse = self.cache.inverse
        if inverse is not None:
            updated = rows.n == n + 1 and n >= _MIN_ROWS_TO_UPDATE
            inverse = self._inverse_with(rows, k[:-1], solver) if updated else None
        return self._updated(rows, solver, inverse)

    def _inverse_with(self, rows, k, solver):
        """Append the last of some rows to the inverse, from its covariances k (n,)."""
        l, pivot = np.split(solver.L[-1], [len(k)])
        u, variance = self.solver.half_solve(l[np.newaxis].copy(), transpose=True)[0], pivot[0] ** 2
        u, more = self.mean.widened(k, u)
        return self.cache.inverse.append(rows.S[-1:], rows.t[-1], u, variance + more)

    def drop(self, indices, standardize=None):
        """O(n²) a row; O(n³) for many, or where the noise of the other rows moves."""
        rows, n = self.rows.drop(indices, standardize), self.rows.n
        if 10 * len(indices) > n or self._is_worn(rows.n) or not self._has_same_noise(rows):
            return self._recomputed(rows)
        solver, inverse = self.solver, self.cache.inverse
        if n < _MIN_ROWS_TO_UPDATE:
            inverse = None
        for i in reversed(indices):
            solver = solver.drop(int(i))
            inverse = None if inverse is None else inverse.drop(int(i))
        return self._updated(rows, solver, inverse)

    def at(self, now):
        """O(n³) with a noise model, nothing without."""
        rows = self.rows.at(now)
        if not self._has_same_noise(rows):
            return self._recomputed(rows)
        return replace(self, rows=rows)

    def _updated(self, rows, solver, inverse=None):
        """Condition on other rows, with their factor and, if not None, their inverse."""
        count = self.n_updates + 1
        compare = count % _COMPARE_EVERY == 0
        if compare and self._residual(rows, solver, count) > _MAX_RESIDUAL:
            return self._recomputed(rows)
        new = self._solved(self.covariance, rows, solver, count, inverse)
        if inverse is not None and not inverse.is_accurate(solver, new.mean):
            return self._recomputed(rows)
        return new

    def _residual(self, rows, solver, count):
        """Largest difference between a row of L Lᵀ and of Δ, relative to the diagonal, O(n²).

        Another row each time.
        """
        i = (count // _COMPARE_EVERY * 7919) % rows.n
        row, behind = slice(i, i + 1), slice(i, None)
        k = self.covariance.row(rows.S[behind], rows.t[behind], 0)
        k[0] += rows.noise(self.covariance, row)[0] + solver.jitter
        L = solver.L
        found = np.einsum("ij,j->i", L[behind, : i + 1], L[i, : i + 1])
        return float(np.abs(found - k).max() / k[0])

    def explained(self, K, full=False):
        return squares(self.solver.half_solve(K), full)

    def projected(self, k):
        return self.solver.solve(k)

    @property
    def factors(self):
        return {"lower": self.solver.L}

    def log_likelihood(self, covariance, eval_gradient=False):
        """Of the same rows under a covariance, with the jitter that the factor took."""
        return log_likelihood(covariance, self.rows, eval_gradient, jitter=self.solver.jitter)

    def relevancy_sweep(self, now):
        """See ``TimeVaryingGPRegressor.relevancy_sweep``; ``now`` in the user's unit."""
        rows = self.rows
        now, latest = finite_number(now, "now"), rows.latest
        # A time may have been rounded on its way here.
        if abs(now - latest) <= 4.0 * np.spacing(abs(now)):
            now = latest
        factors, now = self.covariance.stationary_factors(), now - rows.layout.origin
        signal = self.covariance.variance(rows.S, rows.t).mean()
        past = _relevancy.long_past(factors[1], rows.t) if self.mean.is_learnt else None
        if self.inverse.P.diagonal().max() * RESOLUTION * signal > 1.0:
            C = _relevancy.convolutions(*factors, rows.S, now - rows.t)
            mean_variance = self.covariance.mean_variance
            return _relevancy.sweep(self.solver, rows.targets, mean_variance, signal, C, past)
        forms = self._forms_at(factors, now)
        if forms is None:
            C = _relevancy.convolutions(*factors, rows.S, now - rows.t)
            return _relevancy.RelevancySweep(self.inverse.P, self.weights, C, past=past)
        known = forms.q, forms.sums(self.weights), past
        return _relevancy.RelevancySweep(
            self.inverse.P, self.weights, lambda: forms.convolutions, *known
        )

    def _forms_at(self, factors, now):
        """Return the relevancy forms at a time since the origin; None where they do not pay.

        O(n) if they are cached, otherwise O(n³). They pay for many rows whose inverse is updated.
        """
        inverse, rows = self.inverse, self.rows
        youngest = now - rows.t.max()
        if not (inverse.n_updates and 0.0 <= youngest * factors[1].units[0] < _MAX_AGE):
            return None
        forms = inverse.forms
        if forms is None or now < forms.now:
            forms = RelevancyForms.of(factors, rows.S, rows.t, now, inverse.P)
            if forms is not None:
                self.cache.inverse = replace(inverse, forms=forms)
            return forms
        return forms.at(now)


class Weighted(Dense):
    """Dense conditioning with the width of weighted regression (see `WeightedGPRegressor`).

    Of the weights c of the observations in the mean at a place, c = Δ⁻¹ k where the mean is known,
    the width has σ² Σ_i (1/w_i − 1) c_i² less than the posterior variance.
    """

    @property
    def _excess(self):
        """σ² (1/w − 1) of the rows (n,); 0 where the noise is all given."""
        noise = self.covariance.noise(self.rows.ages) - self.covariance.noise_variance
        return np.where(self.rows.total, 0.0, np.maximum(noise, 0.0))

    @property
    def factors(self):
        return super().factors | {"excess": self._excess}

    def explained(self, K, full=False):
        shares = self.mean.shares(K)
        explained = super().explained(K, full)
        C = self.solver.half_solve(K, transpose=True) + shares
        return explained + squares(C * np.sqrt(self._excess), full)

    def explained_with_slope(self, k):
        explained, c = super().explained_with_slope(k)
        excess = self._excess * c
        return explained + c @ excess, c + self.mean.removed_from(self.solver.solve(excess), excess)


def log_likelihood(covariance, rows, eval_gradient, workspace=None, jitter=0.0):
    """log p(y) (W-DBO section 2), and its gradient in theta, or None where it is not asked for.

    −½ yᵀa − ½ log|Δ| − (n/2) log 2π, and ½ Σ_ij (a aᵀ − Δ⁻¹)_ij ∂Δ_ij/∂theta; with a mean that is
    learnt Δ has its prior variance added to all entries. Minus infinity where Δ is not numerically
    positive definite, so that a search turns back.

    Parameters
    ----------
    covariance : SeparableCovariance
    rows : Rows
    eval_gradient : bool
    workspace : ndarray of shape (3, n, n), default=None
        Memory that the evaluations of a search share.
    jitter : float, default=0.0
        Added to the diagonal of Δ.
    """
    return _evaluated(covariance, rows, eval_gradient, workspace, jitter)[:2]


def _evaluated(covariance, rows, eval_gradient, workspace=None, jitter=0.0):
    """What `log_likelihood` returns, the solver, mean and weights, and the lower precision or None.

    The solver and the precision live in the workspace.
    """
    K, L, P = np.empty((3, rows.n, rows.n)) if workspace is None else workspace
    K = covariance.gram(rows.S, rows.t, out=K)
    L[:] = K
    L.reshape(-1)[:: rows.n + 1] = K.diagonal() + rows.noise(covariance) + jitter
    solver, mean, a, value = DenseCholesky(L, jitter), ZERO, None, -np.inf
    if try_cholesky(L):
        mean, a, value = _weights(solver, rows, covariance.mean_variance)
    found = value, None, solver, mean, a, None
    return _differentiated(covariance, rows, K, P, found) if eval_gradient else found


def _differentiated(covariance, rows, K, P, found):
    """What `_evaluated` has found, with gradient and precision: two thirds of the time."""
    value, _, solver, mean, a, _ = found
    if value == -np.inf:
        return value, np.zeros(len(covariance.bounds)), solver, mean, a, None
    P[:] = solver.L
    P = mean.removed(lower_inverse(P))
    return value, _gradient(covariance, rows, K, P, a), solver, mean, a, P


def _gradient(covariance, rows, K, P, a):
    """That of the log likelihood, from the covariance and the precision, lower triangles."""
    on_kernels = covariance.gradient(rows.S, rows.t, K, P, a)
    on_noise = rows.noise_gradient(covariance, a * a - P.diagonal())
    return 0.5 * np.concatenate([on_kernels, on_noise])


class _Likelihood:
    """The log likelihood of rows; the last evaluation has computed what conditioning takes."""

    def __init__(self, rows):
        self._rows, self._workspace, self._last = rows, None, None

    def __call__(self, covariance, eval_gradient):
        """With ``eval_gradient="later"`` what computes the gradient, before another evaluation."""
        if self._workspace is None:
            self._workspace = [np.empty((self._rows.n, self._rows.n)) for _ in range(3)]
        later = eval_gradient == "later"
        now = eval_gradient and not later
        self._last = covariance, _evaluated(covariance, self._rows, now, self._workspace)
        value, gradient, *_ = self._last[1]
        return value, self._gradient if later else gradient

    def _gradient(self):
        covariance, found = self._last
        K, _, P = self._workspace
        self._last = covariance, _differentiated(covariance, self._rows, K, P, found)
        return self._last[1][1]

    def information(self):
        """That on theta (n_theta, n_theta) at the last evaluation, O(n²); None if it is not known.

        ½ aᵀ ∂_i Δ P ∂_j Δ a, the mean of the observed and of the expected information in variances
        (Gilmour, Thompson & Cullis 1995), where P is the precision and a = P y: nearly minus the
        Hessian of the log likelihood where the model suits y.
        """
        covariance, (value, _, solver, mean, a, _) = self._last
        if covariance.noise_model is not None or value == -np.inf:
            return None
        rows, known = self._rows, self._workspace
        K = covariance.gram(rows.S, rows.t) if known is None else known[0]
        slopes = covariance.slope_products(rows.S, rows.t, K, a)
        if slopes is None:
            return None
        if len(slopes) < len(covariance.bounds):
            on_noise = np.where(rows.total, 0.0, covariance.noise_variance * a)
            slopes = np.vstack([slopes, on_noise])
        rest = slopes @ mean.direction / np.sqrt(mean.precision) if mean.is_learnt else 0.0
        V = solver.half_solve(slopes)  # written over the slopes
        return 0.5 * (V @ V.T - np.multiply.outer(rest, rest))

    def at_last(self, covariance):
        """Solver, mean, weights, value and precision, if the last evaluation was of this one."""
        if self._last is None:
            return None
        evaluated, (value, _, solver, mean, weights, P) = self._last
        if P is None or not np.array_equal(evaluated.theta, covariance.theta):
            return None
        self._workspace = None  # it has become what is returned
        return solver, mean, weights, value, P


def squares(V, full):
    """V Vᵀ (m, m), or only its diagonal (m,)."""
    return V @ V.T if full else np.einsum("ij,ij->i", V, V)


def _weights(solver, rows, mean_variance):
    """The mean, Δ⁻¹ (y − mean) (n,), and log p(y), minus infinity if something overflows."""
    y, mean = rows.targets, ZERO
    a = solver.solve(y)
    with np.errstate(over="ignore", invalid="ignore"):
        value = -0.5 * (y @ a + solver.log_determinant + len(y) * LOG_2PI)
        if mean_variance > 0.0:
            mean, gain = given(mean_variance, solver.solve(np.ones(len(y))), y)
            a -= mean.value * mean.direction
            value += gain
    return mean, a, value if np.isfinite(a).all() and np.isfinite(value) else -np.inf
