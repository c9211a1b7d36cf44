"""Protocol of surrogates, for optimizers, policies and acquisition functions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from typing import Self

    from numpy.typing import ArrayLike
    from sklearn.gaussian_process.kernels import Kernel

    from .._typing import Array, Mask, Posterior, Sweep


class Surrogate(Protocol):
    """Protocol of surrogates; a custom regressor with these methods can be used as one.

    ``fit(X, y)``, which returns self, learns from rows X (n, d + 1) with values y (n,).
    A `~sktvbo.gaussian_process.TimeVaryingGPRegressor` has these methods, and its ``fitted_`` those
    of `FittedSurrogate` as well: an optimizer holds this value, and its ``surrogate_`` is the
    regressor. A surrogate is a scikit-learn estimator; the optimizer fits a
    `~sklearn.base.clone`. Rows are (x, t), with x in the unit box and time, in the user's unit,
    last: a parameter ``time_column`` is set to -1. If the optimizer minimizes, y has the opposite
    sign. Methods leave the surrogate unchanged.

    Every optimizer needs ``fit``, ``condition_on``, ``without``, ``with_rows``, ``refit``, ``at``,
    ``predict``, ``posterior_at`` and ``X_train_``. Some parts need more:

    - ``posterior_between``: `~sktvbo.optimizers.ABO`;
    - ``spatial_kernel_``, and ``condition_on`` with ``y_variance`` and ``total_variance``:
      `~sktvbo.optimizers.SparQGPUCB`;
    - a parameter ``temporal_kernel``: ``RGPUCB(reset_period="auto")``, which sets it. If the
      surrogate's ``optimizer`` is None, everything else is held, and ``spatial_kernel_`` is read;
    - ``temporal_kernel_``: `~sktvbo.optimizers.ABO`, `~sktvbo.optimizers.TVGPUCB` (its
      ``epsilon_``), `RelevancyBudget`, `RelevancyCap`;
    - ``check_relevancy``, ``relevancy_sweep``: `RelevancyBudget`, `RelevancyCap`;
    - ``noise_std_``: `EventTriggeredReset`, and ``predict`` of an optimizer with ``include_noise``;
      without it ``to_frame`` has no residuals; ``noise_model_``: `NoiseThreshold`;
    - ``information_gain``: `~sktvbo.acquisition.InformationGainBeta`;
    - ``spatial_kernel_``, ``signal_variance_``, ``noise_variance_``: `VariationBudget`;
    - ``signal_variance_``: ``recommend`` with ``outcome_constraints``;
    - ``rescaled``, as that of ``fitted_``: ``with_parameters``
      with another domain, which without it holds the hyperparameters in the unit box;
    - a parameter ``level_kernel``: where it is not None, ``posterior_at`` takes ``level=False``, as
      that of `~sktvbo.gaussian_process.TimeVaryingGPRegressor`;
    - a parameter ``robust``, and ``outlier_weights_`` (n,): optimizers with ``robust=True``;
    - ``search_gain``: ``refit_every="auto"``; without it every observation triggers a search.

    Attributes
    ----------
    X_train_ : ndarray of shape (n, d + 1)
        Rows conditioned on, in the order of arrival.
    optimizer : object
        None: ``refit`` is never called. A surrogate without this parameter is refitted.
    spatial_kernel_, temporal_kernel_ : Kernel
        With the learnt hyperparameters.
    signal_variance_, noise_variance_ : float
        Variances of the standardized y.
    noise_std_ : float
        Standard deviation of the noise, in units of y.
    noise_model_ : object or None
        Its ``ratio(ages)`` returns noise variances at these ages, relative to age 0.
    """

    @property
    def X_train_(self) -> Array:
        """Rows conditioned on (n, d + 1), in the order of arrival."""

    def condition_on(
        self,
        X: Array,
        y: Array,
        y_variance: Array | None = None,
        *,
        total_variance: bool = False,
        restandardize: bool | None = None,
    ) -> Self:
        """Return a surrogate with further rows at the end, hyperparameters held.

        Parameters
        ----------
        X : ndarray of shape (m, d + 1)
        y : ndarray of shape (m,)
        y_variance : ndarray of shape (m,), default=None
            Known noise variances, in addition to the learnt one. Passed only if some are told.
        total_variance : bool, default=False
            ``y_variance`` is the total noise. Passed by `~sktvbo.optimizers.SparQGPUCB` only.
        restandardize : bool
            True standardizes y by the present rows; False keeps location and scale.
        """

    def without(self, indices: ArrayLike, *, restandardize: bool | None = None) -> Self:
        """Return a surrogate without some rows, hyperparameters held.

        Parameters
        ----------
        indices : ndarray of int
            Rows to drop, in any order; at least one and not all.
        restandardize : bool
            See ``condition_on``.
        """

    def refit(
        self,
        extra_rows: tuple[Array, ...] | None = None,
        *,
        temporal_kernel: Kernel | None = None,
    ) -> Self:
        """Return a surrogate after a hyperparameter search from the present ones.

        Parameters
        ----------
        extra_rows : (X, y) or (X, y, y_variance), default=None
            Additional rows for the search and the scale of y, which are not conditioned on.
        temporal_kernel : Kernel, default=None
            Start of the search, with bounds; None: the present kernel. Passed only to surrogates
            made by the optimizer.
        """

    def at(self, now: float) -> Self:
        """Return the surrogate at a later time, itself if nothing changes.

        Parameters
        ----------
        now : float
        """

    def predict(self, X: Array) -> Array:
        """Return the posterior mean (m,) at rows.

        Parameters
        ----------
        X : ndarray of shape (m, d + 1)
        """

    def posterior_at(self, t: float, moving: Mask | None = None) -> Posterior:
        """Return the posterior at time t as a function of space.

        Parameters
        ----------
        t : float
        moving : ndarray of bool of shape (d,), default=None
            Coordinates whose gradients are needed; None: all.

        Returns
        -------
        posterior : callable
            ``posterior(S)`` gives mean and standard deviation (m,) at inputs S (m, d);
            ``posterior.with_gradient(s)`` both at one input (d,), and their gradients (d,): for
            domains with reals; ``posterior.sample(S, rng)`` draws f (m,) jointly: for
            `~sktvbo.acquisition.ThompsonSampling`. It may have ``scale``, of the observations, and
            ``mean(S)``, and ``compiled()``, see ``sktvbo.acquisition._compiled.objective_of``.
        """


class FittedSurrogate(Surrogate, Protocol):
    """Surrogate as an optimizer holds it: with what optimizers, or some parts, need beyond it.

    ``fitted_`` of the regressors is one; of a custom surrogate it is what `Surrogate` lists.
    """

    def with_rows(
        self,
        X: Array,
        y: Array,
        y_variance: Array | None = None,
        *,
        restandardize: bool | None = None,
    ) -> Self:
        """Return a surrogate with other rows, hyperparameters held.

        Parameters
        ----------
        X : ndarray of shape (n, d + 1)
        y : ndarray of shape (n,)
        y_variance : ndarray of shape (n,), default=None
            See ``condition_on``.
        restandardize : bool
            See ``condition_on``.
        """

    def posterior_between(self, low: float, high: float, moving: Mask | None = None) -> Posterior:
        """Return the posterior at rows (s, u), with u from 0 at time ``low`` to 1 at ``high``.

        Parameters
        ----------
        low, high : float
        moving : ndarray of bool of shape (d + 1,), default=None
            As in ``posterior_at``.
        """

    def check_relevancy(self) -> None:
        """Raise an `~sktvbo.exceptions.UnsupportedKernelError` if the sweep is impossible."""

    def relevancy_sweep(self, now: float) -> Sweep:
        """Return a `~sktvbo.relevancy.RelevancySweep` of the rows: ``relevancy()``, ``remove(i)``.

        Parameters
        ----------
        now : float
        """

    def information_gain(self) -> float:
        """Return the information of the rows about f, in nats."""

    def search_gain(self) -> float:
        """Return the predicted gain of a hyperparameter search, in nats."""
