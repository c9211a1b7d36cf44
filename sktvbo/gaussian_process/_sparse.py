"""Sparse Gaussian process regression on space and time."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, overload

import numpy as np
from sklearn.utils import check_random_state

from .._docstrings import described_like
from .._validation import check_choice, check_int, finite_array, invalid, plain_number
from ._advice import advise_on_points
from ._base import TimeVaryingGP, estimator
from ._conditioned import Dense
from ._exact import TimeVaryingGPRegressor
from ._inducing import Inducing, bound
from ._points import METHODS, choose
from ._search import Knowledge
from ._starts import drawn, learnt_from_part, with_more_noise

if TYPE_CHECKING:
    from typing import Literal

    from numpy.typing import ArrayLike

    from .._typing import Array

# A search sees n rows of m points with n m² up to this number, and at least so many a point.
_WORK, _ROWS_A_POINT = 2e8, 6

# Of f at new rows the points may leave this part of the noise variance before they are chosen anew.
_TOLERANCE = 0.2


@described_like(TimeVaryingGPRegressor)
@estimator
class SparseTimeVaryingGPRegressor(TimeVaryingGP):
    """Gaussian process regression on space and time through a few inducing points.

    Maximizes Titsias' variational bound with heteroscedastic noise (SparQ proposition 5): O(n m²)
    time and O(n m) memory for n rows and m inducing points, where exact regression takes O(n³) and
    O(n²). The bound never exceeds the log marginal likelihood, and the posterior is the exact one
    when the inducing points are the training inputs.

    Parameters
    ----------
    n_inducing : int or "auto", default="auto"
        Number m of inducing points; all distinct rows if there are no more. "auto" doubles 50
        points while the bound grows by more than 0.05 nats a row, up to 400.
    inducing : "kdpp", "greedy", "kmeans" or array-like of shape (m, d + 1), default="kdpp"
        How they are chosen: a k-DPP sample (of some 2,000 rows, drawn uniformly if there are more),
        the rows of greatest determinant (of at most 20,000), the centres of clusters, or as given.
    random_state : int, RandomState or None, default=None
        For the choice of the inducing points, and for the restarts.

    Attributes
    ----------
    inducing_points_ : ndarray of shape (m, d + 1)
        In the units of X.
    elbo_ : float
        The bound at ``theta_``.

    Notes
    -----
    A fit learns the hyperparameters by exact regression on some 500 rows, from several starts,
    chooses the points, and goes on from there to maximize the bound; where n m² is above 2e8, that
    of 6 m or more rows, drawn uniformly. Then points are chosen anew, if those have a larger bound.
    A callable ``optimizer`` starts as the kernels are, with the bound of all rows.

    A `ModelWarning` says that points do not suffice: with them more than 3 % of the variance of y
    is taken for noise that exact regression does not take for noise.

    ``partial_fit`` and ``forget`` cost O(m²) a row and O(m³) a call (all rows again where the noise
    of all rows moves: with a ``noise_model``). They keep
    the inducing points, unless these were chosen, and tell little of the rows that are new: then
    they are chosen anew. ``log_marginal_likelihood``, ``log_marginal_likelihood_value_``,
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
    n_inducing: int | str = "auto"
    inducing: str | np.ndarray = "kdpp"

    _kind = Inducing

    def _check_parameters(self):
        super()._check_parameters()
        if not (isinstance(self.n_inducing, str) and self.n_inducing == "auto"):
            try:
                check_int(self.n_inducing, "n_inducing", self)
            except ValueError:
                expected = "'auto' or an int in the range [1, inf)"
                raise invalid("n_inducing", expected, self.n_inducing, self) from None
        if isinstance(self.inducing, str):
            check_choice(self.inducing, METHODS, "inducing", self)

    def _choose_basis(self, covariance, rows, m=None):
        """The inducing points (m, d + 1), in the units of X; their number may be known."""
        if not isinstance(self.inducing, str):
            d = rows.X.shape[1]
            return (finite_array(self.inducing, "The array of inducing points", ("m", d)),)
        rng = check_random_state(self.random_state)
        return (choose(self.inducing, covariance, rows, m or plain_number(self.n_inducing), rng),)

    def _learn_one(self, rows, start=None, knowledge=None, warn=False):
        """From an exact fit of a part of the rows to the points, and to the bound.

        The trace term of the bound drives a search that starts at little noise, with points that
        tell little, to a model of noise alone: so the points are chosen, and the noise is raised to
        what they leave, under hyperparameters that an exact fit has learnt; and chosen anew for
        those that the bound has.
        """
        rng, auto = check_random_state(self.random_state), isinstance(self.n_inducing, str)
        covariance = self._initial_covariance(rows, follow_data=self.optimizer is not None)
        teaches = self._teaches(rows)
        rows = rows.held() if teaches else rows
        own_search, known = teaches and self.optimizer == "fmin_l_bfgs_b", None
        if start is not None:
            covariance = covariance.with_theta(np.clip(start, *covariance.bounds.T))
        elif own_search:
            covariance, known = learnt_from_part(
                covariance, rows, self._search, self.hyperpriors, rng
            )
        noise_variance = covariance.noise_variance
        (Z,) = self._choose_basis(covariance, rows)
        if not teaches:
            gp = Inducing.of(covariance, rows, Z)
        else:
            most = max(_WORK / len(Z) ** 2, _ROWS_A_POINT * len(Z)) if own_search else np.inf
            gp = self._bounded(covariance, drawn(rows, most, rng), Z, known, warn)
            gp = Inducing.of(gp.covariance, rows, gp.Z)
        if warn:
            advise_on_points(gp, noise_variance, auto)
        return gp, Knowledge()

    def _bounded(self, covariance, rows, Z, known, warn):
        """With hyperparameters that maximize the bound, and points chosen for these.

        What is ``known`` is from a fit without points, where the hyperparameters are.
        """
        start, options = covariance.theta, {"warn": warn}
        if known is not None:
            start = with_more_noise(covariance, Inducing.of(covariance, rows, Z).unresolved)
            options["hessian"] = known.scaled_to(rows.n)
        learnt, _ = self._search(Inducing.criterion(rows, Z), covariance, start, **options)
        gp = Inducing.of(learnt, rows, Z)
        if not isinstance(self.inducing, str):
            return gp
        again = Inducing.of(learnt, rows, *self._choose_basis(learnt, rows, len(Z)))
        return max(gp, again, key=lambda gp: gp.objective)

    def _suited(self, gp, n_new):
        """With other points, where the present ones do not tell of the new rows."""
        if n_new and isinstance(self.inducing, str) and not gp.covers(n_new, _TOLERANCE):
            return self._condition(gp.covariance, gp.rows)
        return gp

    def _dense(self):
        gp = self._fitted
        return Dense.of(gp.covariance, gp.rows)

    # --- what was learnt --------------------------------------------------------------------------

    @property
    def inducing_points_(self) -> Array:
        return self._fitted.Z

    @property
    def elbo_(self) -> float:
        return self._fitted.objective

    @overload
    def elbo(
        self, theta: ArrayLike | None = None, eval_gradient: Literal[False] = False
    ) -> float: ...
    @overload
    def elbo(
        self, theta: ArrayLike | None = None, eval_gradient: bool = False
    ) -> tuple[float, Array]: ...
    def elbo(
        self, theta: ArrayLike | None = None, eval_gradient: bool = False
    ) -> float | tuple[float, Array]:
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

    def kl_divergence(self) -> float:
        """Divergence KL[sparse ‖ exact] of the two posteriors, log p(y) − ELBO ≥ 0; O(n³).

        Returns
        -------
        divergence : float
        """
        return self.log_marginal_likelihood_value_ - self.elbo_
