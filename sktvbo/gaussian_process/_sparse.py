"""Sparse Gaussian process regression: Titsias' bound with heteroscedastic noise.

With inducing points Z, A = k(Z, Z) = L Lᵀ, the rows v_i = L⁻¹ k(Z, x_i) of V (n, m), noise
variances Σ = diag(1/s) and B = I + Vᵀ diag(s) V, b = Vᵀ (s ∘ y), β = B⁻¹ b, the bound of SparQ
proposition 5 is

    ELBO = −½ [ n log 2π + log|Σ| + log|B| + Σ s_i y_i² − bᵀβ + Σ s_i (k_ii − |v_i|²) ],

and with a = s ∘ (y − V β) (which is (Q + Σ)⁻¹ y) and U = V (I − B⁻¹) its derivatives are

    ∂/∂k(X, Z) = (a βᵀ + diag(s) U) L⁻¹,     ∂/∂A = −½ L⁻ᵀ (β βᵀ + B − 2 I + B⁻¹) L⁻¹,
    ∂/∂k_ii = −½ s_i,                        ∂/∂Σ_ii = ½ (a_i² − s_i + s_i² (k_ii − v_i · u_i)).

Six products of n x m by m x m at most, and never an n x n matrix.
"""

import copy
from dataclasses import dataclass
from numbers import Integral

import numpy as np
from scipy.linalg import blas
from sklearn.cluster import MiniBatchKMeans
from sklearn.gaussian_process.kernels import WhiteKernel
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from .. import dpp
from .._solvers import DenseCholesky, dot, times, transposed_times, try_cholesky
from .._threads import blas_threads
from ..exceptions import NotPositiveDefiniteError
from ._exact import _LOG_2PI, TimeVaryingGPRegressor, squares

# Of the inducing covariance's mean diagonal; the first that makes it positive definite is used.
_JITTERS = (1e-12, 1e-10, 1e-8, 1e-6)

_RIDGE = 1e-6

# Rows from which a k-DPP chooses: its matrix is quadratic in them.
_MAX_CANDIDATES = 2000


@dataclass
class _Sums:
    """What the data contribute, additive over rows: appended and dropped without the others.

    ``gram`` (m, m) is Vᵀ diag(s) V; ``one`` and ``y`` (m,) are Vᵀ s and Vᵀ (s ∘ y); the rest are
    Σ s, Σ s y, Σ s y², Σ log Σ_ii and Σ s (k_ii − |v_i|²). y is as given, not standardized.
    """

    n: int
    gram: np.ndarray
    one: np.ndarray
    y: np.ndarray
    weight: float
    weighted_y: float
    weighted_square: float
    log_noise: float
    lost: float

    @classmethod
    def of(cls, V, y, noise, variance, out=None):
        """From V (n, m), targets, noise variances and prior variances (n,); ``out`` is scratch."""
        s = 1.0 / noise
        scaled = np.multiply(V, np.sqrt(s)[:, np.newaxis], out=out)
        lost = dot(s, np.maximum(variance - np.einsum("ij,ij->i", V, V), 0.0))
        return cls(
            len(y),
            _gram(scaled),
            transposed_times(V, s),
            transposed_times(V, s * y),
            s.sum(),
            dot(s, y),
            dot(s, y * y),
            np.log(noise).sum(),
            lost,
        )

    def plus(self, other, sign=1):
        """The sum with, or with ``sign=-1`` without, other rows."""
        return _Sums(*(a + sign * b for a, b in zip(vars(self).values(), vars(other).values())))


class SparseTimeVaryingGPRegressor(TimeVaryingGPRegressor):
    """Gaussian process regression on space and time through a few inducing points.

    Maximizes Titsias' variational bound with heteroscedastic noise (SparQ proposition 5): O(n m²)
    time and O(n m) memory for n rows and m inducing points, where exact regression takes O(n³) and
    O(n²). The bound never exceeds the log marginal likelihood, and the posterior is the exact one
    when the inducing points are the training inputs.

    Parameters
    ----------
    spatial_kernel, temporal_kernel, signal_variance, signal_variance_bounds, noise_variance, \
    noise_variance_bounds, noise_model, time_column, optimizer, n_restarts_optimizer, hyperpriors, \
    normalize_y
        See :class:`TimeVaryingGPRegressor`.
    n_inducing : int, default=50
        Number m of inducing points; all distinct rows if there are no more.
    inducing : "kdpp", "greedy", "kmeans" or array-like (m, d + 1), default="kdpp"
        How they are chosen, with the kernel as it is before the search: a k-DPP sample (of at most
        2,000 rows, drawn uniformly if there are more), the rows of greatest determinant, the
        centres of clusters, or as given.
    random_state : int, RandomState or None, default=None
        For the choice of the inducing points, and for the restarts.

    Attributes
    ----------
    inducing_points_ : ndarray (m, d + 1)
        In the units of X.
    elbo_ : float
        The bound at ``theta_``.
    X_train_, y_train_, spatial_kernel_, temporal_kernel_, signal_variance_, noise_variance_, \
    noise_model_, now_, theta_, n_features_in_, feature_names_in_
        See :class:`TimeVaryingGPRegressor`.

    Notes
    -----
    ``partial_fit`` and ``forget`` keep the inducing points and cost O(m²) a row and O(m³) a call
    (all rows again where the noise of all rows moves: with a ``noise_model``, or ``normalize_y``
    with ``y_variance``). ``log_marginal_likelihood``, ``log_marginal_likelihood_value_``,
    ``kl_divergence`` and ``relevancy`` are those of the exact regressor, at its price.

    References
    ----------
    M. Titsias, "Variational Learning of Inducing Variables in Sparse Gaussian Processes", AISTATS
    2009. E. Mauduit, E. Berthier, A. Simonetto (SparQ), proposition 5 and algorithms 2-3. D. Burt,
    C. Rasmussen, M. van der Wilk, "Convergence of Sparse Variational Inference in Gaussian
    Processes Regression", JMLR 2020.

    Examples
    --------
    >>> import numpy as np
    >>> from sktvbo.gaussian_process import SparseTimeVaryingGPRegressor
    >>> rng = np.random.RandomState(0)
    >>> X = np.column_stack([rng.uniform(size=3000), np.linspace(0.0, 10.0, 3000)])
    >>> y = np.sin(6.0 * X[:, 0] + X[:, 1]) + 0.1 * rng.normal(size=3000)
    >>> gp = SparseTimeVaryingGPRegressor(n_inducing=60, inducing="greedy").fit(X, y)
    >>> bool(gp.score(X, y) > 0.97)
    True
    """

    def __init__(
        self,
        spatial_kernel=None,
        temporal_kernel=None,
        *,
        signal_variance=1.0,
        signal_variance_bounds=(1e-3, 1e3),
        noise_variance=1e-2,
        noise_variance_bounds=(1e-6, 1e1),
        noise_model=None,
        time_column=-1,
        n_inducing=50,
        inducing="kdpp",
        optimizer="fmin_l_bfgs_b",
        n_restarts_optimizer=0,
        hyperpriors=None,
        normalize_y=False,
        random_state=None,
    ):
        super().__init__(
            spatial_kernel,
            temporal_kernel,
            signal_variance=signal_variance,
            signal_variance_bounds=signal_variance_bounds,
            noise_variance=noise_variance,
            noise_variance_bounds=noise_variance_bounds,
            noise_model=noise_model,
            time_column=time_column,
            optimizer=optimizer,
            n_restarts_optimizer=n_restarts_optimizer,
            hyperpriors=hyperpriors,
            normalize_y=normalize_y,
            random_state=random_state,
        )
        self.n_inducing = n_inducing
        self.inducing = inducing

    # --- inducing points ---------------------------------------------------------------------

    def _check_parameters(self):
        super()._check_parameters()
        if not isinstance(self.n_inducing, Integral) or self.n_inducing < 1:
            raise ValueError(
                "The 'n_inducing' parameter must be a positive int. "
                f"Got {self.n_inducing!r} instead."
            )
        if isinstance(self.inducing, str) and self.inducing not in ("kdpp", "greedy", "kmeans"):
            raise ValueError(
                "The 'inducing' parameter must be 'kdpp', 'greedy', 'kmeans' or an array. "
                f"Got {self.inducing!r} instead."
            )

    def _choose(self, covariance):
        """Inducing points (m, d + 1), in the units of X."""
        X = self.X_train_
        if not isinstance(self.inducing, str):
            Z = np.array(self.inducing, dtype=np.float64)
            if Z.ndim != 2 or Z.shape[1] != X.shape[1] or not len(Z) or not np.isfinite(Z).all():
                raise ValueError(
                    f"The 'inducing' parameter, as an array, must be finite with shape (m, "
                    f"{X.shape[1]}), like the rows of X. Got shape {Z.shape}."
                )
            return Z
        distinct = np.unique(X, axis=0)
        if len(distinct) <= self.n_inducing:
            return distinct
        rng = check_random_state(self.random_state)
        if self.inducing == "kmeans":
            # In lengthscales, so that the clusters are round for the kernel.
            S, t = self._split(distinct)
            scales = np.std(np.column_stack([S, t]), axis=0)
            if covariance.fused:
                Z, u = covariance.scale(np.ones((1, S.shape[1])), np.ones(1))
                scales = 1.0 / np.append(Z[:, 0], u)
            scales = np.where(scales > 0.0, scales, 1.0)
            clusters = MiniBatchKMeans(self.n_inducing, n_init=1, random_state=rng)
            columns = np.column_stack([S, t + self._time_origin])
            centres = clusters.fit(columns / scales).cluster_centers_ * scales
            return np.insert(centres[:, :-1], self._position, centres[:, -1], axis=1)
        if len(distinct) > _MAX_CANDIDATES and self.inducing == "kdpp":
            distinct = distinct[rng.choice(len(distinct), _MAX_CANDIDATES, replace=False)]
        S, t = self._split(distinct)
        # The ridge keeps the rank full where the kernel is smoother than m points can tell.
        if self.inducing == "greedy":
            kernel = covariance.kernel + WhiteKernel(_RIDGE * covariance.signal_variance)
            points = np.column_stack([S, t])
            chosen = dpp.greedy_map(kernel, self.n_inducing, X=points)
        else:
            K = covariance.cross(S, t)
            K[np.diag_indices_from(K)] += _RIDGE * np.diagonal(K).mean()
            chosen = dpp.sample_kdpp(K, self.n_inducing, random_state=rng)
        return distinct[np.sort(chosen)]

    def _set_data(self, X, y, y_variance):
        super()._set_data(X, y, y_variance)
        vars(self).pop("_basis_points", None)  # another origin of time, other rows to choose from

    def _learn(self, start=None):
        self._place(self._initial_covariance(follow_data=self.optimizer is not None))
        super()._learn(start)

    def _place(self, covariance):
        self.inducing_points_ = self._choose(covariance)
        self._basis_points = self._split(self.inducing_points_)

    # --- the bound ---------------------------------------------------------------------------

    def _workspace(self):
        return np.empty((3, len(self._t), len(self.inducing_points_)))

    def _factor(self, covariance):
        """Solver with L, and the jitter that was added to k(Z, Z)."""
        K = covariance.gram(*self._basis)
        diagonal = np.diagonal(K).copy()
        with blas_threads(len(K)):
            for relative in _JITTERS:
                A, jitter = K.copy(), relative * diagonal.mean()
                np.fill_diagonal(A, diagonal + jitter)
                if try_cholesky(A):
                    return DenseCholesky(A, jitter)
        raise NotPositiveDefiniteError(
            f"The {len(K)} x {len(K)} covariance matrix of the inducing points under {covariance} "
            f"is not positive definite, even with {jitter:.1e} added to its diagonal. Use fewer "
            "inducing points, or bound the lengthscales."
        )

    def _criterion(self, covariance, y, eval_gradient, workspace=None):
        """The bound, with its gradient in theta if asked for; see the module's formulas."""
        noise = self._noise(covariance)
        variance = covariance.variance(self._S, self._t)
        try:
            solver = self._factor(covariance)
        except NotPositiveDefiniteError:
            # As for the exact likelihood: a search turns back.
            return (-np.inf, np.zeros(len(covariance.bounds))) if eval_gradient else (-np.inf,)
        K, V, U = self._workspace() if workspace is None else workspace
        K = covariance.cross(self._S, self._t, *self._basis, out=K)
        V[:] = K
        solver.half_solve(V)
        sums = _Sums.of(V, y, noise, variance, out=U)
        value, outer, beta = self._solve_sums(sums, 0.0, 1.0)
        if not eval_gradient:
            return (value,)
        if value == -np.inf:
            return value, np.zeros(len(covariance.bounds))

        m, s = len(beta), 1.0 / noise
        with blas_threads(m):
            B_inverse = outer.inverse()
        # U = V (I - B^-1); the memory of a C-ordered U is that of a Fortran-ordered U'.
        blas.dgemm(1.0, np.eye(m) - B_inverse, V.T, c=U.T, overwrite_c=1)
        a = s * (y - times(V, beta))
        left = variance - np.einsum("ij,ij->i", V, U)
        on_noise = 0.5 * (a * a - s + s * s * left)
        U *= s[:, np.newaxis]
        blas.dger(1.0, beta, a, a=U.T, overwrite_a=1)
        on_cross = solver.half_solve(U, transpose=True)
        inner = np.outer(beta, beta) + sums.gram - np.eye(m) + B_inverse
        with blas_threads(m):
            solver.half_solve(inner, transpose=True)
            on_basis = -0.5 * solver.half_solve(np.ascontiguousarray(inner.T), transpose=True)

        basis = self._basis
        gradient = covariance.cross_gradient(self._S, self._t, *basis, K, on_cross)
        gradient += covariance.cross_gradient(*basis, *basis, covariance.cross(*basis), on_basis)
        if "signal_variance" in covariance.names:
            gradient[0] += solver.jitter * np.trace(on_basis)  # the jitter scales with the signal
        gradient += covariance.variance_gradient(self._S, self._t, -0.5 * s)
        return value, np.append(gradient, covariance.noise_gradient(on_noise, self._ages()))

    def _solve_sums(self, sums, mean, scale):
        """Bound, solver of B, and β for targets standardized by ``mean`` and ``scale``."""
        B = sums.gram.copy()
        B[np.diag_indices_from(B)] += 1.0
        b = (sums.y - mean * sums.one) / scale
        with blas_threads(len(b)):
            if not try_cholesky(B):
                return -np.inf, None, None
            outer = DenseCholesky(B)
            beta = outer.solve(b)
        square = sums.weighted_square - 2.0 * mean * sums.weighted_y + mean**2 * sums.weight
        value = -0.5 * (
            sums.n * _LOG_2PI
            + sums.log_noise
            + outer.log_determinant
            + square / scale / scale
            - b @ beta
            + sums.lost
        )
        return (value if np.isfinite(value) else -np.inf), outer, beta

    # --- conditioning and streaming ----------------------------------------------------------

    def _condition(self, covariance, solver=None, sums=None):
        self._y_mean, self._y_scale, _ = self._normalize()
        if not hasattr(self, "_basis_points"):
            self._place(covariance)
        if sums is None:
            solver = self._factor(covariance)
            sums = self._sums_of(covariance, solver, slice(None))
        value, outer, beta = self._solve_sums(sums, self._y_mean, self._y_scale)
        if value == -np.inf:
            raise NotPositiveDefiniteError(
                f"The bound under {covariance} overflowed. Scale y to a moderate range "
                "(normalize_y=True), or raise noise_variance."
            )
        self._covariance, self._solver, self._outer, self._sums = covariance, solver, outer, sums
        # k(x, Z) L⁻ᵀ β is the mean: fold L into the weights.
        self._weights = solver.half_solve(beta[np.newaxis].copy(), transpose=True)[0]
        self.elbo_ = float(value)
        self.signal_variance_ = covariance.signal_variance
        self.noise_variance_ = covariance.noise_variance
        self.noise_model_ = covariance.noise_model

    def _sums_of(self, covariance, solver, rows):
        """What some training rows contribute."""
        S, t = self._S[rows], self._t[rows]
        V = solver.half_solve(covariance.cross(S, t, *self._basis))
        noise = self._noise(covariance)[rows]
        return _Sums.of(V, self.y_train_[rows], noise, covariance.variance(S, t))

    def _append(self, X, y, y_variance):
        n, old = len(self.X_train_), (self._y_scale, self.now_)
        self._extend(X, y, y_variance)
        sums = None
        if not self._noise_moved(*old):
            sums = self._sums.plus(self._sums_of(self._covariance, self._solver, slice(n, None)))
        self._condition(self._covariance, self._solver, sums)

    def _drop(self, indices):
        old = self._y_scale, self.now_
        lost = self._sums_of(self._covariance, self._solver, indices)
        self._delete(indices)
        sums = None if self._noise_moved(*old) else self._sums.plus(lost, sign=-1)
        self._condition(self._covariance, self._solver, sums)

    # --- what was learnt ---------------------------------------------------------------------

    @property
    def _basis(self):
        return self._basis_points

    def _explained(self, K, full=False):
        explained = super()._explained(K, full)
        return explained - squares(self._outer.half_solve(K), full)

    def _explained_slope(self, k):
        v = self._solver.half_solve(k[np.newaxis].copy())[0]
        w = v - self._outer.solve(v)
        return self._solver.half_solve(w[np.newaxis], transpose=True)[0]

    def elbo(self, theta=None, eval_gradient=False):
        """Titsias' lower bound of the log marginal likelihood, with the present inducing points.

        Parameters
        ----------
        theta : array-like (n_theta,), default=None
            Logarithms of the hyperparameters, in the order of ``theta_``; None is ``theta_``.
        eval_gradient : bool, default=False
            Also return the gradient in theta.

        Returns
        -------
        value : float
        gradient : ndarray (n_theta,)
            Only with ``eval_gradient``.
        """
        check_is_fitted(self)
        if theta is None and not eval_gradient:
            return self.elbo_
        covariance = self._covariance if theta is None else self._covariance.with_theta(theta)
        result = self._criterion(covariance, self._normalize()[2], eval_gradient)
        return result if eval_gradient else result[0]

    def kl_divergence(self):
        """Divergence KL[sparse ‖ exact] of the two posteriors, log p(y) − ELBO ≥ 0; O(n³).

        Returns
        -------
        divergence : float
        """
        return self.log_marginal_likelihood_value_ - self.elbo_

    @property
    def log_marginal_likelihood_value_(self):
        return self._exact().log_marginal_likelihood_value_

    def _exact(self):
        """The exact regressor with the same data and hyperparameters."""
        check_is_fitted(self)
        exact = TimeVaryingGPRegressor()
        state = copy.copy(vars(self))
        for name in ("_basis_points", "_outer", "_sums", "n_inducing", "inducing"):
            del state[name]
        vars(exact).update(state)
        exact._condition(self._covariance)
        return exact

    def information_gain(self):
        """What the training data tells about the sparse f, ½ log det(I + Σ⁻¹ Q), in nats.

        Returns
        -------
        gain : float
        """
        check_is_fitted(self)
        return 0.5 * float(self._outer.log_determinant)

    def log_marginal_likelihood(self, theta=None, eval_gradient=False):
        """Log marginal likelihood of the exact model, O(n³); see ``elbo`` for its bound.

        Parameters
        ----------
        theta, eval_gradient
            As for ``elbo``.

        Returns
        -------
        value : float
        gradient : ndarray (n_theta,)
            Only with ``eval_gradient``.
        """
        return self._exact().log_marginal_likelihood(theta, eval_gradient)

    def relevancy_sweep(self, now=None):
        """Relevancies in the exact model with the same hyperparameters, O(n³).

        Parameters
        ----------
        now : float, default=None
            Present time; None is the latest training time.

        Returns
        -------
        sweep : sktvbo.relevancy.RelevancySweep
        """
        return self._exact().relevancy_sweep(now)


def _gram(V):
    """Vᵀ V (m, m), both triangles; by one BLAS with the factorizations."""
    G = blas.dsyrk(1.0, V.T)
    return np.triu(G) + np.triu(G, 1).T
