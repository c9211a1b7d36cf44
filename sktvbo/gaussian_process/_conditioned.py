"""A Gaussian process conditioned on rows, as a value; `Dense` does it by a Cholesky factor.

`Conditioned` says what every such value can do. Which one an estimator has is a matter of data and
kernel: `Dense` is exact, ``Inducing`` (of `_inducing`) goes through a few points.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from .._fast import cholesky as _cholesky
from .._validation import RESOLUTION, finite_number
from .._values import NO_UPDATES, Updates
from ..exceptions import NotPositiveDefiniteError
from . import _relevancy
from ._cholesky import DenseCholesky, cholesky, lower_inverse, matvec, try_cholesky
from ._constant_mean import ZERO, Mean, given
from ._covariance import SeparableCovariance
from ._kept import Kept
from ._relevancy_forms import Forms
from ._rows import Rows

LOG_2PI = np.log(2.0 * np.pi)

# What was updated so many times is made anew: then as many updates as there are rows have shared
# its price, and rounding errors have no more to add up from. So is a factor of which a row is off
# by more than this part of the diagonal; one row is looked at every few updates.
_MAX_UPDATES = 256
_MAX_RESIDUAL = 1e-9
_LOOK_EVERY = 8

# Ages, in temporal lengthscales, from which on the forms of the relevancies are not kept.
_FAR = 50.0


class Conditioned(ABC):
    """A Gaussian process conditioned on rows.

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
    information_gain : float
        What the rows tell about f, in nats.
    made_of : (Rows, tuple) or None
        What it was last made of from nothing, besides the covariance; None for its own.
    updates : Updates of (str, tuple)
        The calls that have updated it since, and their arguments.
    n_remade : int
        How often it was made from nothing because of too many updates, or of their errors.
    """

    made_of = None
    updates = NO_UPDATES
    n_remade = 0

    @classmethod
    @abstractmethod
    def of(cls, covariance, rows, *basis):
        """Conditioned on rows from nothing."""

    @staticmethod
    @abstractmethod
    def criterion(rows, *basis):
        """What a search maximizes: a callable (covariance, eval_gradient) -> (value, gradient)."""

    @classmethod
    def learnt(cls, criterion, covariance, rows, *basis):
        """Conditioned on rows, after a search for the maximum of their ``criterion``."""
        return cls.of(covariance, rows, *basis)

    @property
    def gradient(self):
        """That of ``objective`` in theta (n_theta,)."""
        return type(self).criterion(self.rows, *self._chosen)(self.covariance, True)[1]

    @abstractmethod
    def append(self, X, y, variance, total, standardize=None):
        """Conditioned on more rows, with the hyperparameters held.

        ``standardize`` says whether the scale follows y from now on; None: as before.
        """

    @abstractmethod
    def drop(self, indices, standardize=None):
        """Conditioned on fewer rows, with the hyperparameters held; see `append`."""

    @abstractmethod
    def at(self, now):
        """The same at another present time, which moves the noise that grows with age."""

    def during(self, low, high):
        """The same as seen between two times since the origin, for many evaluations."""
        return self

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

    # --- from nothing, and by updates -------------------------------------------------------------

    @property
    def origin(self):
        """The rows that it was last made of from nothing."""
        return self.rows if self.made_of is None else self.made_of[0]

    def updates_since(self, other):
        """The latest updates, by which this was made of another; None if it was not."""
        if self.origin is not other.origin or self.covariance is not other.covariance:
            return None
        before, n = other.updates, len(other.updates)
        if n > len(self.updates) or (n and self.updates[n - 1] is not before[-1]):
            return None
        return self.updates[n:]

    def to_plain(self):
        """What makes it again, the same to the bit: by the same calls."""
        return {
            "covariance": self.covariance,
            "rows": self.origin,
            "basis": self._chosen if self.made_of is None else self.made_of[1],
            "updates": self.updates,
            "n_remade": self.n_remade,
        }

    @classmethod
    def from_plain(cls, plain):
        """Made again of `to_plain`."""
        found = cls.of(plain["covariance"], plain["rows"], *plain["basis"])
        found = replace(found, n_remade=plain["n_remade"])
        for name, arguments in plain["updates"]:
            calls = {
                "append": found.append,
                "drop": found.drop,
                "at": found.at,
                "keep": found.keep,
            }
            found = calls[name](*arguments)
        return found

    @property
    def _chosen(self):
        """What `of` takes besides covariance and rows."""
        return ()

    def _after(self, found, call):
        """What an update has found, with a note of the call."""
        updates = Updates((*self.updates, call))
        made_of = (self.rows, self._chosen) if self.made_of is None else self.made_of
        return replace(found, made_of=made_of, updates=updates, n_remade=self.n_remade)

    def keep(self, *arguments):
        """The same, with more at hand for what is to come."""
        return self

    def _worn(self, n):
        """Whether another update, to n rows, would be one too many."""
        return len(self.updates) >= max(_MAX_UPDATES, self._updates_worth_making(n))

    def _updates_worth_making(self, n):
        """How many updates take as long as to make n rows anew."""
        return n

    def _remade(self, rows):
        """The same of other rows, from nothing."""
        found = type(self).of(self.covariance, rows, *self._chosen)
        return replace(found, n_remade=self.n_remade + 1)

    def _same_noise(self, rows):
        """Whether the rows that are here and in other ``rows`` have the same noise in both.

        It is in units of the standardized y, and may grow with age.
        """
        rescaled = rows.scale != self.rows.scale and rows.variance.any()
        aged = self.covariance.noise_model is not None and rows.now != self.rows.now
        return not (rescaled or aged)


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
    made_of: tuple | None = None
    updates: Updates = NO_UPDATES
    n_remade: int = 0

    @classmethod
    def of(cls, covariance, rows):
        """O(n³).

        Raises
        ------
        NotPositiveDefiniteError
            Δ has no Cholesky factor even with jitter, or solving with it overflows.
        """
        K = covariance.gram(rows.S, rows.t)
        solver = DenseCholesky(*cholesky(K, rows.noise(covariance), covariance))
        return cls._solved(covariance, rows, solver)

    @classmethod
    def _solved(cls, covariance, rows, solver):
        """O(n²), for a known factor."""
        mean, weights, value = _weights(solver, rows, covariance.mean_variance)
        if value == -np.inf:
            raise NotPositiveDefiniteError(
                f"Solving with the covariance matrix of {covariance} overflowed. "
                "Scale y to a moderate range (normalize_y=True), or raise noise_variance."
            )
        return cls(covariance, rows, solver, mean, weights, float(value))

    @staticmethod
    def criterion(rows):
        return _Likelihood(rows)

    @classmethod
    def learnt(cls, criterion, covariance, rows):
        found = criterion.at_last(covariance)
        if found is None:
            return cls.of(covariance, rows)
        solver, mean, weights, value, P = found
        new = cls(covariance, rows, solver, mean, weights, float(value))
        vars(new)["_spare"] = P
        return new

    @cached_property
    def kept(self):
        """The inverse covariance of y and what belongs to it; from now on it is kept up to date."""
        P = vars(self).pop("_spare", None)
        if P is None:
            P = self.mean.removed(self.solver.inverse())
        _cholesky.symmetrize(P)
        self._note("keep", ())
        return Kept(P)

    def keep(self, now=None):
        """The same; its inverse is kept from now on, and the forms at a time if that is given."""
        _ = self.kept
        if now is not None:
            self._forms_at(self.covariance.stationary_factors(), now)
        return self

    def __getstate__(self):
        # What may serve to keep the inverse is made again where it is missing.
        return {name: value for name, value in vars(self).items() if name != "_spare"}

    def _note(self, *call):
        """Note that something is kept from now on, for whoever makes this again."""
        if self.made_of is None:
            vars(self)["made_of"] = self.rows, self._chosen
        vars(self)["updates"] = Updates((*self.updates, call))

    @property
    def gradient(self):
        """O(n²), but for the first time after a search."""
        K = self.covariance.gram(*self.basis)
        return _gradient(self.covariance, self.rows, K, self.kept.P, self.weights)

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
        rows = self.rows.append(X, y, variance, total, standardize)
        n, solver, kept = self.rows.n, None, None
        if self._same_noise(rows) and 10 * len(X) <= n:
            solver = self.solver
            noise = rows.noise(self.covariance, slice(n, None))
            for i in range(n, rows.n):
                k = self.covariance.row(rows.S[: i + 1], rows.t[: i + 1], i)
                solver = solver.append(k[:-1], k[-1] + noise[i - n])
                if solver is None:
                    break
            if solver is not None and "kept" in vars(self) and rows.n == n + 1:
                kept = self._kept_with(rows, k[:-1], solver)
        call = "append", (X, y, variance, total, standardize)
        return self._updated(rows, solver, call, kept)

    def _kept_with(self, rows, k, solver):
        """What is kept, with the last of some rows, from its covariances k (n,) and the factor."""
        l, pivot = np.split(solver.L[-1], [len(k)])
        u, variance = self.solver.half_solve(l[np.newaxis].copy(), transpose=True)[0], pivot[0] ** 2
        u, more = self.mean.widened(k, u)
        return self.kept.grown(rows.S[-1:], rows.t[-1], u, variance + more)

    def drop(self, indices, standardize=None):
        """O(n²) a row; O(n³) for many, or where the noise of the other rows moves."""
        rows, solver, kept = self.rows.drop(indices, standardize), None, None
        if self._same_noise(rows) and 10 * len(indices) <= self.rows.n:
            solver, kept = self.solver, vars(self).get("kept")
            for i in reversed(indices):
                solver = solver.drop(int(i))
                kept = None if kept is None else kept.without(int(i))
        return self._updated(rows, solver, ("drop", (indices, standardize)), kept)

    def at(self, now):
        """O(n³) with a noise model, nothing without."""
        rows = self.rows.at(now)
        if not self._same_noise(rows):
            return type(self).of(self.covariance, rows)
        if self._worn(rows.n):
            return self._remade(rows)
        new = self._after(replace(self, rows=rows), ("at", (now,)))
        if "kept" in vars(self):
            vars(new)["kept"] = self.kept
        return new

    def _updated(self, rows, solver, call, kept=None):
        """With other rows, of which the factor is known, or None, after a call.

        ``kept`` is what is kept of them, or None.
        """
        if solver is None:
            return type(self).of(self.covariance, rows)
        count = len(self.updates) + 1
        look = count % _LOOK_EVERY == 0
        if self._worn(rows.n) or (look and self._residual(rows, solver, count) > _MAX_RESIDUAL):
            return self._remade(rows)
        new = self._after(self._solved(self.covariance, rows, solver), call)
        if kept is not None:
            if not kept.is_right(solver, new.mean):
                return self._remade(rows)
            vars(new)["kept"] = kept
        return new

    def _residual(self, rows, solver, count):
        """By how much a row of L Lᵀ is off that of Δ, relative to its diagonal; another each time.

        O(n²) at most.
        """
        i = (count // _LOOK_EVERY * 7919) % rows.n
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
        if self.kept.P.diagonal().max() * RESOLUTION * signal > 1.0:
            C = _relevancy.convolutions(*factors, rows.S, now - rows.t)
            mean_variance = self.covariance.mean_variance
            return _relevancy.sweep(self.solver, rows.targets, mean_variance, signal, C, past)
        forms = self._forms_at(factors, now)
        if forms is None:
            C = _relevancy.convolutions(*factors, rows.S, now - rows.t)
            return _relevancy.RelevancySweep(self.kept.P, self.weights, C, past=past)
        known = forms.q, forms.sums(self.weights), past
        return _relevancy.RelevancySweep(
            self.kept.P, self.weights, lambda: forms.convolutions, *known
        )

    def _forms_at(self, factors, now):
        """The forms of the relevancies at a time since the origin, where it pays to keep them.

        They pay when the hyperparameters are held. O(n) when the forms are there, otherwise O(n³).
        """
        kept, rows = self.kept, self.rows
        youngest = now - rows.t.max()
        # Forms of what has decayed too far would underflow.
        if not (kept.n_updates and 0.0 <= youngest * factors[1].units[0] < _FAR):
            return None
        forms = kept.forms
        if forms is None or now < forms.now:
            forms = Forms.of(factors, rows.S, rows.t, now, kept.P)
            if forms is not None:
                self._note("keep", (now,))
                vars(self)["kept"] = replace(kept, forms=forms)
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
