"""Sparse Gaussian process regression on space and time."""

from dataclasses import KW_ONLY

import numpy as np
from sklearn.gaussian_process.kernels import WhiteKernel
from sklearn.utils import check_random_state

from .. import dpp
from .._checks import check_choice, check_int, finite_array
from ._base import TimeVaryingGP, estimator
from ._conditioned import Dense
from ._inducing import Inducing, bound

# This part of its mean diagonal is added to the covariance of the candidates: it keeps the rank
# full where the kernel is smoother than the points can tell.
_RIDGE = 1e-6

# A k-DPP chooses from at most this many rows: its matrix is quadratic in them.
_MAX_CANDIDATES = 2000


@estimator
class SparseTimeVaryingGPRegressor(TimeVaryingGP):
    """Gaussian process regression on space and time through a few inducing points.

    Maximizes Titsias' variational bound with heteroscedastic noise (SparQ proposition 5): O(n m²)
    time and O(n m) memory for n rows and m inducing points, where exact regression takes O(n³) and
    O(n²). The bound never exceeds the log marginal likelihood, and the posterior is the exact one
    when the inducing points are the training inputs.

    Parameters
    ----------
    spatial_kernel, temporal_kernel, signal_variance, signal_variance_bounds, noise_variance, \
    noise_variance_bounds, noise_model, time_column, optimizer, n_restarts_optimizer, hyperpriors, \
    normalize_y, mean_prior_std
        See `TimeVaryingGPRegressor`.
    n_inducing : int, default=50
        Number m of inducing points; all distinct rows if there are no more.
    inducing : "kdpp", "greedy", "kmeans" or array-like of shape (m, d + 1), default="kdpp"
        How they are chosen, with the kernel as it is before the search: a k-DPP sample (of at most
        2,000 rows, drawn uniformly if there are more), the rows of greatest determinant, the
        centres of clusters, or as given.
    random_state : int, RandomState or None, default=None
        For the choice of the inducing points, and for the restarts.

    Attributes
    ----------
    inducing_points_ : ndarray of shape (m, d + 1)
        In the units of X.
    elbo_ : float
        The bound at ``theta_``.
    X_train_, y_train_, spatial_kernel_, temporal_kernel_, signal_variance_, noise_variance_, \
    noise_model_, now_, theta_, n_features_in_, feature_names_in_
        See `TimeVaryingGPRegressor`.

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

    _: KW_ONLY
    n_inducing: int = 50
    inducing: str | np.ndarray = "kdpp"

    _kind = Inducing

    def _check_parameters(self):
        super()._check_parameters()
        check_int(self.n_inducing, "n_inducing", self)
        if isinstance(self.inducing, str):
            check_choice(self.inducing, _CHOOSE, "inducing", self)

    def _choose_basis(self, covariance, rows):
        """The inducing points (m, d + 1), in the units of X."""
        if not isinstance(self.inducing, str):
            d = rows.X.shape[1]
            return (finite_array(self.inducing, "The array of inducing points", ("m", d)),)
        distinct = np.unique(rows.X, axis=0)
        if len(distinct) <= self.n_inducing:
            return (distinct,)
        rng = check_random_state(self.random_state)
        choose = _CHOOSE[self.inducing]
        return (choose(covariance, rows.layout, distinct, self.n_inducing, rng),)

    def _dense(self):
        gp = self._fitted
        return Dense.of(gp.covariance, gp.rows)

    # --- what was learnt --------------------------------------------------------------------------

    @property
    def inducing_points_(self):
        return self._fitted.Z

    @property
    def elbo_(self):
        return self._fitted.objective

    def elbo(self, theta=None, eval_gradient=False):
        """Titsias' lower bound of the log marginal likelihood, with the present inducing points.

        Parameters
        ----------
        theta : array-like of shape (n_theta,), default=None
            Logarithms of the hyperparameters, in the order of ``theta_``; None is ``theta_``.
        eval_gradient : bool, default=False
            Also return the gradient in theta.

        Returns
        -------
        value : float
        gradient : ndarray of shape (n_theta,)
            Only with ``eval_gradient``.
        """
        gp = self._fitted
        if theta is None and not eval_gradient:
            return self.elbo_
        covariance = gp.covariance if theta is None else gp.covariance.with_theta(theta)
        value, gradient = bound(covariance, gp.rows, gp.Z, eval_gradient)
        return (value, gradient) if eval_gradient else value

    def kl_divergence(self):
        """Divergence KL[sparse ‖ exact] of the two posteriors, log p(y) − ELBO ≥ 0; O(n³).

        Returns
        -------
        divergence : float
        """
        return self.log_marginal_likelihood_value_ - self.elbo_


def _centres(covariance, layout, X, m, rng):
    """Centres of m clusters of the points X, in lengthscales, so that they are round."""
    # It takes a tenth of the time that importing this package takes, and is seldom needed.
    from sklearn.cluster import MiniBatchKMeans

    S, t = layout.split(X)
    scales = np.std(np.column_stack([S, t]), axis=0)
    if covariance.fused:
        scales = 1.0 / covariance.units()
    scales = np.where(scales > 0.0, scales, 1.0)
    clusters = MiniBatchKMeans(m, n_init=1, random_state=rng)
    columns = np.column_stack([S, t + layout.origin])
    centres = clusters.fit(columns / scales).cluster_centers_ * scales
    return np.insert(centres[:, :-1], layout.position, centres[:, -1], axis=1)


def _greatest_determinant(covariance, layout, X, m, rng):
    """m of the points X, chosen one by one so that their determinant is greatest."""
    kernel = covariance.kernel + WhiteKernel(_RIDGE * covariance.signal_variance)
    chosen = dpp.greedy_map(kernel, m, X=np.column_stack(layout.split(X)))
    return X[np.sort(chosen)]


def _kdpp_sample(covariance, layout, X, m, rng):
    """A k-DPP sample of m of the points X."""
    if len(X) > _MAX_CANDIDATES:
        X = X[rng.choice(len(X), _MAX_CANDIDATES, replace=False)]
    K = covariance.cross(*layout.split(X))
    K[np.diag_indices_from(K)] += _RIDGE * np.diagonal(K).mean()
    return X[np.sort(dpp.sample_kdpp(K, m, random_state=rng))]


_CHOOSE = {"kdpp": _kdpp_sample, "greedy": _greatest_determinant, "kmeans": _centres}
