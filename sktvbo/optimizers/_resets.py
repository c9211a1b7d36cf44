"""Algorithms that forget by resets or windows: R-, ET-, BR- and SW-GP-UCB."""

import numpy as np
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF, Matern

from .. import theory
from .._validation import check_int, check_real
from ..acquisition import InformationGainBeta
from ..gaussian_process._kernel_families import forgetting_rate
from ..staleness import EventTriggeredReset, PeriodicReset, SlidingWindow, VariationBudget
from ._base import StaticAlgorithm
from ._parameters import algorithm

# Observations in a window or a block when nothing is said of either: as the policies have it.
DEFAULT_LENGTH = 50


@algorithm
class VariationBudgeted(StaticAlgorithm):
    """IGP-UCB on a part of the observations, as long as one parameter or a budget says."""

    horizon: int | None = None
    variation_budget: float = 1.0

    # The parameter of this name gives the length outright.
    _length = None

    def _make_beta(self):
        return InformationGainBeta()

    def _length_or_budget(self):
        """The length, or what computes it of a surrogate."""
        length = getattr(self, self._length)
        if length is None and self.horizon is None:
            return DEFAULT_LENGTH
        return VariationBudget(self.horizon, self.variation_budget) if length is None else length

    def _check_parameters(self):
        super()._check_parameters()
        for name in (self._length, "horizon"):
            if getattr(self, name) is not None:
                check_int(getattr(self, name), name, self)
        check_real(self.variation_budget, "variation_budget", self, interval="(0, inf)")
        if getattr(self, self._length) is not None:
            self._check_unused(("horizon", "variation_budget"), f"with {self._length}=...")
        elif self.horizon is None:
            self._check_unused(("variation_budget",), "without a horizon")


# The rate of change is learnt from at most this many of the latest observations.
_N_LEARN = 200


@algorithm
class RGPUCB(StaticAlgorithm):
    """R-GP-UCB (Bogunovic et al. 2016, TVGP algorithm 1): GP-UCB within blocks.

    1. Query where μ + √β σ is largest; near the faces of a box σ counts for less, see the
       ``margin`` of `~sktvbo.acquisition.UCB`.
    2. Observe. When the block holds N observations, forget them all.
    3. Add the observation; refit a Gaussian process of space alone.

    With ``reset_period="auto"``, N is that of TVGP corollary 4.1 for the rate ε at which the
    function changes; ε is learnt by the marginal likelihood of a forgetting model of the last 200
    observations, whenever a block is full. The model is the surrogate with another temporal kernel;
    where N is not known for its spatial kernel, that of a Matérn 5/2 is taken.

    When to use it: the function changes at a known, steady rate, and steps must stay cheap. When
    not: otherwise; `TVGPUCB` forgets gradually, `ETGPUCB` when something has happened, `WDBO`
    what no longer matters.

    Parameters
    ----------
    reset_period : int or "auto", default="auto"
        N, observations in a block; for a known ε see `sktvbo.theory.reset_period`.

    Attributes
    ----------
    policy_ : PeriodicReset
        With the block's length, and with "auto" ``epsilon_``, ε per observation.

    Notes
    -----
    A block's first query is made with what the last block knew, where the paper draws it from the
    prior.

    References
    ----------
    I. Bogunovic, J. Scarlett, V. Cevher, "Time-Varying Gaussian Process Bandit Optimization",
    AISTATS 2016.

    Examples
    --------
    >>> from sktvbo import RGPUCB
    >>> opt = RGPUCB([(0.0, 10.0)], reset_period=20, n_initial_points=5, random_state=0)
    >>> for t in range(50):
    ...     x = opt.ask(t)
    ...     opt.tell(x, -(x[0] - 5.0 - 0.02 * t) ** 2)
    >>> len(opt.X_), opt.policy_.n_resets_
    (10, 2)
    """

    reset_period: int | str = "auto"

    label = "R-GP-UCB"

    def _check_parameters(self):
        super()._check_parameters()
        if not self._learns:
            check_int(self.reset_period, "reset_period", self)

    def _make_policy(self):
        if self._learns:
            return LearntReset()
        return PeriodicReset(self.reset_period)

    @property
    def _learns(self):
        return isinstance(self.reset_period, str) and self.reset_period == "auto"


class LearntReset(PeriodicReset):
    """Blocks of a length that follows the rate of change, learnt from the latest observations.

    Attributes
    ----------
    epsilon_ : float
        Rate of change ε per observation (TVGP eq. 3), as last learnt.
    """

    def __init__(self):
        super().__init__(period=None)

    def check(self, surrogate=None):
        """The period is learnt, and no parameter."""

    def watch(self, run):
        """Take the latest observations told, removed ones included."""
        self.latest_ = run.latest(_N_LEARN)

    def _length(self, surrogate):
        rows, y = self.latest_
        steps = np.arange(float(len(y)))
        model = _forgetting(surrogate).fit(np.column_stack([rows[:, :-1], steps]), y)
        self.epsilon_ = forgetting_rate(model.temporal_kernel_)
        kernel = model.spatial_kernel_
        return theory.reset_period(
            self.epsilon_,
            spatial_kernel=kernel if type(kernel) in (Matern, RBF) else Matern(nu=2.5),
            n_dims=rows.shape[1] - 1,
            horizon=np.inf,
        )

    def record(self):
        """Columns of the optimizer's history."""
        return super().record() | {"epsilon": getattr(self, "epsilon_", None)}


def _forgetting(surrogate):
    """The surrogate, unfitted, with a temporal kernel that forgets at a rate to be learnt."""
    # (1 - ε)^{|i - j| / 2} is a Matérn 1/2 of lengthscale -2 / log(1 - ε); ε is in (1e-5, 0.9).
    bounds = tuple(-2.0 / np.log1p([-0.9, -1e-5]))
    model = clone(surrogate).set_params(temporal_kernel=Matern(20.0, bounds, nu=0.5))
    priors = getattr(surrogate, "hyperpriors", None)
    if priors:
        others = {k: v for k, v in priors.items() if not k.startswith("temporal_kernel")}
        model.set_params(hyperpriors=others)
    if getattr(surrogate, "optimizer", True) is None:
        # What the user holds is held here too, and ε alone is learnt.
        spatial = clone(surrogate.spatial_kernel_)
        fixed = {f"{h.name}_bounds": "fixed" for h in spatial.hyperparameters}
        model.set_params(
            spatial_kernel=spatial.set_params(**fixed),
            signal_variance_bounds="fixed",
            noise_variance_bounds="fixed",
            optimizer="fmin_l_bfgs_b",
        )
    return model


@algorithm
class ETGPUCB(StaticAlgorithm):
    """ET-GP-UCB (Brunzema et al., ET algorithm 1): GP-UCB that starts afresh when contradicted.

    1. Query where μ + √β σ is largest; near the faces of a box σ counts for less, see the
       ``margin`` of `~sktvbo.acquisition.UCB`.
    2. Observe y. If ``|y − μ| > √ρ σ + w̄``, which a static function hardly ever does (lemma 3),
       forget everything.
    3. Add the observation; refit a Gaussian process of space alone.

    When to use it: the function changes abruptly now and then, and it is not known how often. When
    not: it drifts slowly, so that no single observation is conspicuous.

    Parameters
    ----------
    delta : float in (0, 1), default=0.1
        δ_B, probability of a reset though the function is static.

    Attributes
    ----------
    policy_ : EventTriggeredReset
        With the number of resets, and the last deviation and its bound.

    References
    ----------
    P. Brunzema, A. von Rohr, F. Solowjow, S. Trimpe, "Event-Triggered Time-Varying Bayesian
    Optimization".

    Examples
    --------
    >>> from sktvbo import ETGPUCB
    >>> opt = ETGPUCB([(0.0, 10.0)], n_initial_points=5, random_state=0)
    >>> for t in range(40):
    ...     x = opt.ask(t)
    ...     opt.tell(x, -(x[0] - (2.0 if t < 25 else 8.0)) ** 2)
    >>> opt.policy_.n_resets_, bool(abs(opt.recommend(40)[0] - 8.0) < 0.5)
    (1, True)
    """

    delta: float = 0.1

    label = "ET-GP-UCB"

    def _check_parameters(self):
        super()._check_parameters()
        check_real(self.delta, "delta", self, interval="(0, 1)")

    def _make_policy(self):
        return EventTriggeredReset(self.delta)


@algorithm
class BRGPUCB(VariationBudgeted):
    """BR-GP-UCB (Zhou & Shroff 2021, there R-GP-UCB): IGP-UCB within blocks.

    1. Query where μ + √β σ is largest, √β = B + R √(2 (γ + 1 + log(1/δ))), γ being the information
       gain of the block so far; near the faces of a box σ counts for less, see the ``margin`` of
       `~sktvbo.acquisition.UCB`.
    2. Observe. When the block holds H = ⌈γ_T^{1/4} √(T / B_T)⌉ observations, forget them all.
    3. Add the observation; refit a Gaussian process of space alone.

    When to use it: the run's length and the total change of the function are known. When not: the
    function goes on changing, so that the budget grows with the run: then the regret is linear.

    Parameters
    ----------
    reset_period : int, default=None
        H; None computes it from the ``horizon`` and the ``variation_budget``, or is 50 when
        there is no ``horizon`` either.
    horizon : int, default=None
        T, observations in the whole run, for a block that follows the variation budget.
    variation_budget : float, default=1.0
        B_T, see `~sktvbo.staleness.VariationBudget`.

    Attributes
    ----------
    policy_ : PeriodicReset
        With the block's length and the number of resets.

    Notes
    -----
    The form of H was derived again, from the balance of drift and variance, and agrees with the
    published rate; the constant is a parameter for this reason.

    References
    ----------
    X. Zhou, N. Shroff, "No-Regret Algorithms for Time-Varying Bayesian Optimization", CISS 2021.

    Examples
    --------
    >>> from sktvbo import BRGPUCB
    >>> opt = BRGPUCB([(0.0, 10.0)], reset_period=20, n_initial_points=5, random_state=0)
    >>> for t in range(50):
    ...     x = opt.ask(t)
    ...     opt.tell(x, -(x[0] - 5.0 - 0.02 * t) ** 2)
    >>> len(opt.X_), opt.policy_.n_resets_
    (10, 2)
    """

    reset_period: int | None = None

    label = "BR-GP-UCB"
    _length = "reset_period"

    def _make_policy(self):
        return PeriodicReset(self._length_or_budget())


@algorithm
class SWGPUCB(VariationBudgeted):
    """SW-GP-UCB (Zhou & Shroff 2021): IGP-UCB on the latest observations.

    1. Query where μ + √β σ is largest, √β = B + R √(2 (γ + 1 + log(1/δ))), γ being the information
       gain of the window; near the faces of a box σ counts for less, see the ``margin`` of
       `~sktvbo.acquisition.UCB`.
    2. Observe; add the observation.
    3. Keep the latest w = ⌈γ_T^{1/4} √(T / B_T)⌉ observations; refit a Gaussian process of space
       alone.

    When to use it: the function changes steadily and a fixed cost per step matters more than
    regret. When not: it changes now and then (`ETGPUCB`), or unevenly over space (`WDBO`).

    Parameters
    ----------
    window : int, default=None
        w; None computes it from the ``horizon`` and the ``variation_budget``, or is 50 when
        there is no ``horizon`` either.
    horizon : int, default=None
        T, observations in the whole run, for a window that follows the variation budget.
    variation_budget : float, default=1.0
        B_T, see `~sktvbo.staleness.VariationBudget`.

    Attributes
    ----------
    policy_ : SlidingWindow
        With the window.

    Notes
    -----
    The form of w was derived again, from the balance of drift and variance, and agrees with the
    published rate; the constant is a parameter for this reason.

    References
    ----------
    X. Zhou, N. Shroff, "No-Regret Algorithms for Time-Varying Bayesian Optimization", CISS 2021.

    Examples
    --------
    >>> from sktvbo import SWGPUCB
    >>> opt = SWGPUCB([(0.0, 10.0)], window=20, n_initial_points=5, random_state=0)
    >>> for t in range(50):
    ...     x = opt.ask(t)
    ...     opt.tell(x, -(x[0] - 5.0 - 0.02 * t) ** 2)
    >>> len(opt.X_), float(opt.X_[:, -1].min())
    (20, 30.0)
    """

    window: int | None = None

    label = "SW-GP-UCB"
    _length = "window"

    def _make_policy(self):
        return SlidingWindow(self._length_or_budget())
