"""What a fitted regressor answers: what was learnt, the posterior, relevancies."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, overload

import numpy as np
from scipy.stats import norm
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from .._validation import check_choice, check_int, check_real, invalid
from ._dates import NUMBERS, mixed_kinds, read_time
from ._inputs import finite_posterior, validated
from ._views import TimeSlice, TimeWindow

if TYPE_CHECKING:
    from typing import Any, Literal

    from numpy.typing import ArrayLike
    from sklearn.gaussian_process.kernels import Kernel

    from .._typing import Array, Mask, Posterior, RandomState, Time
    from ._noise import NoiseModel
    from ._relevancy import RelevancySweep


class Answers:
    """Part of a `TimeVaryingGP` that only looks at its ``_gp``, a ``Conditioned``."""

    @abstractmethod
    def _dense(self):
        """The exact posterior of the same rows under the same covariance, dense."""

    def _exact(self):
        """The same in any form."""
        return self._dense()

    @property
    def _fitted(self):
        """The conditioned GP, or a NotFittedError."""
        if not self.__sklearn_is_fitted__():
            check_is_fitted(self)
        return self._gp

    def __sklearn_is_fitted__(self):
        return hasattr(self, "_gp")

    @property
    def X_train_(self) -> Array:
        return self._fitted.rows.X

    @property
    def y_train_(self) -> Array:
        return self._fitted.rows.y

    @property
    def now_(self) -> float:
        return self._fitted.rows.now

    @property
    def n_absorbed_(self) -> int:
        return self._fitted.rows.before.n

    @property
    def n_remade_(self) -> int:
        return self._fitted.n_remade

    @property
    def updates_(self) -> tuple[object, ...]:
        """How this estimator was made of others, by ``updated``."""
        return self._fitted.updates

    def updates_since(self, other: object) -> list[Any] | None:
        """The latest of ``updates_``, by which this estimator was made of another.

        Parameters
        ----------
        other : estimator
            A fitted one.

        Returns
        -------
        list or None
            None: it was not made of the other one.
        """
        return self._fitted.updates_since(other._fitted)

    @property
    def signal_variance_(self) -> float:
        return self._fitted.covariance.signal_variance

    @property
    def noise_variance_(self) -> float:
        return self._fitted.covariance.noise_variance

    @property
    def noise_model_(self) -> NoiseModel | None:
        return self._fitted.covariance.noise_model

    @property
    def mean_(self) -> float:
        rows = self._fitted.rows
        return float(rows.location + rows.scale * self._gp.mean.value)

    @property
    def noise_std_(self) -> float:
        return float(np.sqrt(self.noise_variance_) * self._gp.rows.scale)

    @property
    def spatial_kernel_(self) -> Kernel:
        return self._fitted.covariance.spatial

    @property
    def temporal_kernel_(self) -> Kernel:
        return self._fitted.covariance.temporal

    @property
    def theta_(self) -> Array:
        return self._fitted.covariance.theta.copy()

    @overload
    def predict(
        self,
        X: ArrayLike,
        return_std: Literal[False] = False,
        return_cov: Literal[False] = False,
        *,
        include_noise: bool = False,
    ) -> Array: ...
    @overload
    def predict(
        self,
        X: ArrayLike,
        return_std: bool = False,
        return_cov: bool = False,
        *,
        include_noise: bool = False,
    ) -> tuple[Array, Array]: ...
    def predict(
        self,
        X: ArrayLike,
        return_std: bool = False,
        return_cov: bool = False,
        *,
        include_noise: bool = False,
    ) -> Array | tuple[Array, Array]:
        """Posterior of f, or of new observations.

        Parameters
        ----------
        X : array-like of shape (m, d + 1)
        return_std, return_cov : bool, default=False
            Also return the standard deviations, or the covariance; not both.
        include_noise : bool, default=False
            Of observations that are made at their times, whose noise is ``noise_std_``, rather than
            of f. The mean is the same.

        Returns
        -------
        mean : ndarray of shape (m,)
        std : ndarray of shape (m,)
            Only with ``return_std``.
        cov : ndarray of shape (m, m)
            Only with ``return_cov``.
        """
        if return_std and return_cov:
            raise invalid("return_cov", "False with return_std=True", return_cov)
        check_choice(include_noise, (True, False), "include_noise")
        gp, places = self._places(X)
        with np.errstate(over="ignore"):
            parts = gp.posterior(*places, return_std, return_cov)
            found = finite_posterior(parts, "mean", "uncertainty")
        if include_noise and return_std:
            return found[0], np.hypot(found[1], self.noise_std_)
        if include_noise and return_cov:
            found[1][np.diag_indices(len(places[1]))] += self.noise_std_**2
        return found

    def predict_interval(
        self, X: ArrayLike, level: float = 0.9, *, include_noise: bool = True
    ) -> tuple[Array, Array]:
        """Intervals that a new observation, or f, is in with a probability.

        Parameters
        ----------
        X : array-like of shape (m, d + 1)
        level : float, default=0.9
            Probability, in (0, 1).
        include_noise : bool, default=True
            Of observations that are made at their times, as in `predict`, rather than of f.

        Returns
        -------
        lower, upper : ndarray of shape (m,)
            The central interval of the posterior, which is Gaussian; the hyperparameters are taken
            for known.
        """
        level = check_real(level, "level", interval="(0, 1)")
        mean, std = self.predict(X, return_std=True, include_noise=include_noise)
        half = norm.ppf(0.5 + 0.5 * level) * std
        return mean - half, mean + half

    def _places(self, X):
        """The conditioned GP, and places and times (m, d), (m,) of X (m, d + 1) as it has them."""
        return self._fitted, self._gp.rows.layout.split(validated(self, X))

    def sample_y(self, X: ArrayLike, n_samples: int = 1, random_state: RandomState = 0) -> Array:
        """Draws of f from the posterior.

        Parameters
        ----------
        X : array-like of shape (m, d + 1)
        n_samples : int, default=1
        random_state : int, RandomState or None, default=0

        Returns
        -------
        samples : ndarray of shape (m, n_samples)
        """
        rng, n_samples = check_random_state(random_state), check_int(n_samples, "n_samples")
        gp, places = self._places(X)
        mean, cov = gp.joint(*places)
        # Rounding may leave eigenvalues of -1e-16, which are nothing to warn of.
        draws = rng.multivariate_normal(np.zeros(len(mean)), cov, n_samples, check_valid="ignore")
        return finite_posterior(mean[:, np.newaxis] + gp.rows.scale * draws.T, "draws")

    @overload
    def log_marginal_likelihood(
        self, theta: ArrayLike | None = None, eval_gradient: Literal[False] = False
    ) -> float: ...
    @overload
    def log_marginal_likelihood(
        self, theta: ArrayLike | None = None, eval_gradient: bool = False
    ) -> tuple[float, Array]: ...
    def log_marginal_likelihood(
        self, theta: ArrayLike | None = None, eval_gradient: bool = False
    ) -> float | tuple[float, Array]:
        """Log marginal likelihood of the training data, of the standardized y with ``normalize_y``.

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

        Notes
        -----
        Of the exact model, O(n³), whatever the estimator approximates; linear in n with the Kalman
        solver.
        """
        if theta is None and not eval_gradient:
            return self.log_marginal_likelihood_value_
        gp = self._exact()
        covariance = gp.covariance if theta is None else gp.covariance.with_theta(theta)
        value, gradient = gp.log_likelihood(covariance, eval_gradient)
        return (value, gradient) if eval_gradient else value

    @property
    def log_marginal_likelihood_value_(self) -> float:
        return self._exact().objective

    def information_gain(self) -> float:
        """What the training data tells about f, in nats.

        Returns
        -------
        gain : float
            ½ log det(I + Σ⁻¹ K) (SparQ eq. 26), of the f that the estimator approximates.
        """
        return self._fitted.information_gain

    def search_gain(self) -> float:
        """What a search of the hyperparameters promises to gain, with the rows there are.

        Returns
        -------
        gain : float
            In nats of the log likelihood, or posterior density with ``hyperpriors``: the maximum,
            within the bounds, of its gradient and of the Hessian that the last search has left.
            0 if there is nothing to search, infinite where no Hessian is known: before a search, of
            a callable ``optimizer``, or when the number of rows has changed by more than a tenth.

        Notes
        -----
        O(n²) in the exact model, but for the first time after a search.
        """
        gp = self._fitted
        if self.optimizer is None:
            return 0.0
        return self._knowledge.gain(gp, self.hyperpriors)

    def relevancy(self, now: Time | None = None) -> Array:
        """Relevancy of each training row to predictions from ``now`` on (W-DBO eq. 12).

        Parameters
        ----------
        now : float or date, default=None
            Present time; None is the latest training time.

        Returns
        -------
        relevancy : ndarray of shape (n,)
            2-Wasserstein distance between the posteriors with and without the row, relative to that
            between the posterior and the prior. See `sktvbo.relevancy.wasserstein_relevancy`.
        """
        return self.relevancy_sweep(now).relevancy()

    def check_relevancy(self) -> None:
        """Raise an UnsupportedKernelError unless the relevancy of these kernels is known.

        Raises
        ------
        UnsupportedKernelError
            A kernel without a closed-form convolution.
        """
        self._fitted.covariance.stationary_factors()

    def relevancy_sweep(self, now: Time | None = None) -> RelevancySweep:
        """Relevancies that stay up to date while rows are taken out, O(n²) each.

        Parameters
        ----------
        now : float or date, default=None
            See `relevancy`.

        Returns
        -------
        sweep : sktvbo.relevancy.RelevancySweep
            In the exact model; its removals leave the estimator as it is.
        """
        gp = self._dense()
        return gp.relevancy_sweep(gp.rows.latest if now is None else self._number_of(now, "now"))

    def posterior_at(self, t: Time, moving: Mask | None = None) -> Posterior:
        """The posterior at one time as a function of space alone, for many evaluations.

        Parameters
        ----------
        t : float or date
        moving : array-like of bool of shape (d,), default=None
            Coordinates of which gradients are wanted; None for all. Of others, such as an arm's
            index, they may be 0.

        Returns
        -------
        posterior : callable
            ``posterior(S)`` of places (m, d) gives mean and standard deviation (m,);
            ``posterior.with_gradient(s)`` of one place (d,) gives both and their gradients (d,);
            ``posterior.sample(S, rng)`` draws f (m,) jointly.
        """
        return TimeSlice(self._fitted, self._number_of(t, "t"), moving)

    def posterior_between(self, low: Time, high: Time, moving: Mask | None = None) -> Posterior:
        """The posterior as a function of space and of time in an interval.

        Parameters
        ----------
        low, high : float or date
        moving : array-like of bool of shape (d,), default=None
            See `posterior_at`.

        Returns
        -------
        posterior : callable
            As of `posterior_at`, of places with one more coordinate: time, 0 at ``low`` and 1 at
            ``high``.
        """
        low, high = self._number_of(low, "low"), self._number_of(high, "high")
        return TimeWindow(self._fitted, low, high, moving)

    def _number_of(self, time, name):
        """A time as a number in the user's unit; dates are of the kind that `fit` was given."""
        if type(time) is float:
            return time
        position = self._fitted.rows.layout.position
        kind, number = read_time(time, self.time_unit, name)
        known = self.time_kinds_.get(position, NUMBERS)
        if kind not in (NUMBERS, known):
            raise mixed_kinds(name, known, kind, "in the data of fit")
        return number
