"""What optimizers, policies and acquisition functions ask of a surrogate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from typing import Self

    from numpy.typing import ArrayLike
    from sklearn.gaussian_process.kernels import Kernel

    from ._typing import Array, Mask, Posterior, Sweep


class Surrogate(Protocol):
    """What a surrogate must have: a regressor of one's own with these names will do as well.

    `~sktvbo.gaussian_process.TimeVaryingGPRegressor` has them all. A surrogate is a scikit-learn
    estimator, of which the optimizer fits a `~sklearn.base.clone`. Rows are (x, t), x in the unit
    box and time, in the user's unit, last: a parameter ``time_column``, where there is one, is set
    to -1. When the optimizer minimizes, y comes with the opposite sign.

    Every optimizer needs ``fit``, ``updated``, ``advanced``, ``predict``, ``posterior_at`` and
    ``X_train_``. The rest is for the parts that say so:

    - ``posterior_between``: `~sktvbo.optimizers.ABO`;
    - ``spatial_kernel_``, and ``updated`` with ``y_variance`` and ``total_variance``:
      `~sktvbo.optimizers.SparQGPUCB`;
    - a parameter ``temporal_kernel``: ``RGPUCB(reset_period="auto")``, which sets it; a surrogate
      whose ``optimizer`` is None is held otherwise, and its ``spatial_kernel_`` read;
    - ``temporal_kernel_``: `~sktvbo.optimizers.ABO`, `~sktvbo.optimizers.TVGPUCB` (its
      ``epsilon_``), `RelevancyBudget`, `RelevancyCap`;
    - ``check_relevancy``, ``relevancy_sweep``: `RelevancyBudget`, `RelevancyCap`;
    - ``noise_std_``: `EventTriggeredReset`; ``noise_model_``: `NoiseThreshold`;
    - ``information_gain``: `~sktvbo.acquisition.InformationGainBeta`;
    - ``spatial_kernel_``, ``signal_variance_``, ``noise_variance_``: `VariationBudget`;
    - ``search_gain``: ``refit_every="auto"``, which searches at every observation without it.

    Attributes
    ----------
    X_train_ : ndarray of shape (n, d + 1)
        Rows conditioned on, in the order in which they came.
    optimizer : object
        None: hyperparameters are never searched, and ``updated`` is not asked to. A surrogate
        without this parameter is searched.
    spatial_kernel_, temporal_kernel_ : Kernel
        With the learnt hyperparameters.
    signal_variance_, noise_variance_ : float
        Of the standardized y.
    noise_std_ : float
        Standard deviation of the noise, in units of y.
    noise_model_ : object or None
        Has ``ratio(ages)``: noise variances at these ages, in units of that at age 0.
    """

    def fit(self, X: Array, y: Array) -> Self:
        """Learn from all rows, and return self, conditioned on them.

        Parameters
        ----------
        X : ndarray of shape (n, d + 1)
        y : ndarray of shape (n,)
        """

    def updated(
        self,
        X: Array | None = None,
        y: Array | None = None,
        y_variance: Array | None = None,
        *,
        drop: ArrayLike = (),
        refit: bool = False,
        hold_scale: bool = False,
        learn_with: tuple[Array, ...] | None = None,
        total_variance: bool = False,
        temporal_kernel: Kernel | None = None,
    ) -> Self:
        """A new surrogate without some rows and with others at the end; this one stays as it is.

        Parameters
        ----------
        X : ndarray of shape (m, d + 1), default=None
        y : ndarray of shape (m,), default=None
        y_variance : ndarray of shape (m,), default=None
            Variances of the new rows' noise: with ``total_variance`` all there is, otherwise on top
            of the learnt one.
        drop : ndarray of int, default=()
            Rows to drop, in any order; all may go when others come.
        refit : bool, default=False
            Search the hyperparameters, or hold them.
        hold_scale : bool, default=False
            Standardize y as before, rather than by the rows there are.
        learn_with : (X, y) or (X, y, y_variance), default=None
            More rows for the search and the scale, not to be conditioned on; with ``refit``. There
            are variances where some were told.
        total_variance : bool, default=False
        temporal_kernel : Kernel, default=None
            Kernel from which the search starts, with its bounds; None: as before. Only surrogates
            that the optimizer makes itself are given one.
        """

    def advanced(self, now: float) -> Self:
        """The surrogate at a later time, itself if nothing has changed; it stays as it is.

        Parameters
        ----------
        now : float
        """

    def predict(self, X: Array) -> Array:
        """Posterior mean (m,) at rows.

        Parameters
        ----------
        X : ndarray of shape (m, d + 1)
        """

    def posterior_at(self, t: float, moving: Mask | None = None) -> Posterior:
        """The posterior at time t as a function of space.

        Parameters
        ----------
        t : float
        moving : ndarray of bool of shape (d,), default=None
            Coordinates of which gradients are wanted; None: all.

        Returns
        -------
        posterior : callable
            ``posterior(S)`` gives mean and standard deviation (m,) at places S (m, d);
            ``posterior.with_gradient(s)`` both at one place (d,), and their gradients (d,): for
            domains with reals; ``posterior.sample(S, rng)`` draws f (m,) jointly: for
            `~sktvbo.acquisition.ThompsonSampling`. It may have ``scale``, of the observations, and
            ``mean(S)``, and ``landscape(score)``, which `sktvbo.acquisition.maximize` documents.
        """

    def posterior_between(self, low: float, high: float, moving: Mask | None = None) -> Posterior:
        """As ``posterior_at``, of rows (s, u) with u from 0 at time ``low`` to 1 at ``high``.

        Parameters
        ----------
        low, high : float
        moving : ndarray of bool of shape (d + 1,), default=None
            As in ``posterior_at``.
        """

    def check_relevancy(self) -> None:
        """Raise an `~sktvbo.exceptions.UnsupportedKernelError` where the sweep is impossible."""

    def relevancy_sweep(self, now: float) -> Sweep:
        """A `~sktvbo.relevancy.RelevancySweep` over the rows: ``relevancy()``, ``remove(i)``.

        Parameters
        ----------
        now : float
        """

    def information_gain(self) -> float:
        """What the rows tell about f, in nats."""

    def search_gain(self) -> float:
        """What a search of the hyperparameters promises to gain, in nats."""
