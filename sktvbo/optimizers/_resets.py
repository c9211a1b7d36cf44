"""Algorithms with resets or a window: R-, ET-, BR- and SW-GP-UCB."""

import numpy as np
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF, Matern

from .. import theory
from .._validation import check_int, check_real
from ..acquisition import DimensionBeta
from ..gaussian_process._kernel_families import forgetting_rate
from ..gaussian_process._regressor import as_estimator, without_advice
from ..staleness import EventTriggeredReset, PeriodicReset, SlidingWindow, VariationBudget
from ._ask_tell import absent, algorithm
from ._base import BayesianOptimizer
from ._default_models import static_surrogate

# Scale of β in blocks and windows. With 25 to 50 observations, 0.2 explores too much: regret is 1.0
# to 2.9 times that of 0.1 on all but one of nine problems of mixed spaces and live systems.
_SCALE_OF_BETA = 0.1


def _length(algorithm, length, default):
    """Return a number of observations, or a callable that computes it from a surrogate."""
    if length is not None:
        return length
    if algorithm.horizon is None:
        return default
    return VariationBudget(algorithm.horizon, algorithm.variation_budget)


def _check_length(algorithm, name):
    """Raise a ValueError for an invalid length, the parameter ``name``, or variation budget."""
    for each in (name, "horizon"):
        if getattr(algorithm, each) is not None:
            check_int(getattr(algorithm, each), each, algorithm)
    check_real(algorithm.variation_budget, "variation_budget", algorithm, interval="(0, inf)")
    if getattr(algorithm, name) is not None:
        algorithm._check_unused(("horizon", "variation_budget"), f"with {name}=...")
    elif algorithm.horizon is None:
        algorithm._check_unused(("variation_budget",), "without a horizon")


# Number of the latest observations, from which R-GP-UCB learns the rate of change.
_N_LEARN = 200


@algorithm
class RGPUCB(BayesianOptimizer):
    """R-GP-UCB (Bogunovic et al. 2016, TVGP algorithm 1): GP-UCB within blocks.

    1. Query where μ + √β σ is largest. UCB discounts σ near the faces of a box: see the ``margin``
       of `~sktvbo.acquisition.UCB`.
    2. Observe. If the block holds N observations, drop them all.
    3. Add the observation; refit a Gaussian process of space alone.

    With ``reset_period="auto"``, N follows TVGP corollary 4.1 for the rate of change ε. When a
    block is full, ε is learnt from the latest 200 observations by the marginal likelihood. The
    model is the surrogate with another temporal kernel. For a spatial kernel without a known N,
    that of a Matérn 5/2 is used.

    When to use it: the function changes at a known, steady rate, and steps must be cheap. When not:
    otherwise. `TVGPUCB` forgets gradually, `ETGPUCB` after an abrupt change, `WDBO` irrelevant
    observations.

    Parameters
    ----------
    reset_period : int or "auto", default="auto"
        N, the number of observations in a block; for a known ε see `sktvbo.theory.reset_period`.

    Attributes
    ----------
    policy_ : PeriodicReset
        With the length of the block, and for "auto" ``epsilon_``, ε per observation.

    Notes
    -----
    The page :doc:`/differences` compares these defaults with the values of the paper.

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
    policy: None = absent()
    # Without a kernel in time there are no seasons to learn.
    seasonal_periods: None = absent()

    label = "R-GP-UCB"

    _make_surrogate = staticmethod(static_surrogate)

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
    """Reset policy whose period follows the rate of change, learnt from the latest observations.

    Attributes
    ----------
    epsilon_ : float
        Rate of change ε per observation (TVGP eq. 3), at the end of the last block.
    """

    def __init__(self):
        super().__init__(period=None)

    def check(self, surrogate=None):
        """Accept any surrogate: the period is no parameter."""

    def watch(self, run):
        """Store the observations told, removed ones included, for this step."""
        self._latest = run.latest

    def after_add(self, surrogate, now):
        """Return no rows."""
        del self._latest  # it would be stored with the policy
        return super().after_add(surrogate, now)

    def _length(self, surrogate):
        rows, y = self._latest(_N_LEARN)
        order = np.argsort(rows[:, -1], kind="stable")
        rows, y = rows[order], y[order]
        steps = np.arange(float(len(y)))
        model = _forgetting_model(surrogate).fit(np.column_stack([rows[:, :-1], steps]), y)
        self.epsilon_ = forgetting_rate(model.temporal_kernel_)
        kernel = model.spatial_kernel_
        return theory.reset_period(
            self.epsilon_,
            spatial_kernel=kernel if type(kernel) in (Matern, RBF) else Matern(nu=2.5),
            n_dims=rows.shape[1] - 1,
            horizon=np.inf,
        )

    def record(self):
        """Return the columns of the optimizer's history."""
        return super().record() | {"epsilon": getattr(self, "epsilon_", None)}


def _forgetting_model(surrogate):
    """Return an unfitted copy of a surrogate with a temporal kernel that forgets at rate ε."""
    # (1 - ε)^{|i - j| / 2} is a Matérn 1/2 of lengthscale -2 / log(1 - ε); ε is in (1e-5, 0.9).
    bounds = tuple(-2.0 / np.log1p([-0.9, -1e-5]))
    surrogate = as_estimator(surrogate)
    model = without_advice(clone(surrogate))
    model.set_params(temporal_kernel=Matern(20.0, bounds, nu=0.5))
    parameters = surrogate.get_params(deep=False)
    priors = parameters.get("hyperpriors")
    if priors:
        others = {k: v for k, v in priors.items() if not k.startswith("temporal_kernel")}
        model.set_params(hyperpriors=others)
    if parameters.get("optimizer", True) is None:
        # The user's hyperparameters are held: learn ε alone.
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
class ETGPUCB(BayesianOptimizer):
    """ET-GP-UCB (Brunzema et al., ET algorithm 1): GP-UCB with resets on contradictions.

    1. Query where μ + √β σ is largest. UCB discounts σ near the faces of a box: see the ``margin``
       of `~sktvbo.acquisition.UCB`.
    2. Observe y. If ``|y − μ| > √ρ σ + w̄``, which is unlikely for a static function (lemma 3),
       drop all observations. An outcome with a limit triggers a reset in the same way.
    3. Add the observation; refit a Gaussian process of space alone.

    When to use it: the function changes abruptly, at an unknown frequency. When not: it drifts
    slowly, so that no single observation contradicts the model.

    Parameters
    ----------
    delta : float in (0, 1), default=0.1
        δ_B, probability of a reset when the function is static.

    Attributes
    ----------
    policy_ : EventTriggeredReset
        With the number of resets, and the latest deviation and its bound.

    Notes
    -----
    The page :doc:`/differences` compares these defaults with the values of the paper.

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
    policy: None = absent()
    # Without a kernel in time there are no seasons to learn.
    seasonal_periods: None = absent()

    label = "ET-GP-UCB"

    _make_surrogate = staticmethod(static_surrogate)

    def _check_parameters(self):
        super()._check_parameters()
        check_real(self.delta, "delta", self, interval="(0, 1)")

    def _make_policy(self):
        return EventTriggeredReset(self.delta)


@algorithm
class BRGPUCB(BayesianOptimizer):
    """BR-GP-UCB (Zhou & Shroff 2021, there R-GP-UCB): GP-UCB within blocks.

    1. Query where μ + √β σ is largest. UCB discounts σ near the faces of a box: see the ``margin``
       of `~sktvbo.acquisition.UCB`.
    2. Observe. If the block holds H = ⌈γ_T^{1/4} √(T / B_T)⌉ observations, drop them all.
    3. Add the observation; refit a Gaussian process of space alone.

    When to use it: each step must be cheap. When not: the function changes unevenly over space
    (`WDBO`), or abruptly (`ETGPUCB`).

    Parameters
    ----------
    reset_period : int, default=None
        H. None: computed from ``horizon`` and ``variation_budget``, or 50 without a ``horizon``.
    horizon : int, default=None
        T, the number of observations in the whole run, for the variation budget.
    variation_budget : float, default=1.0
        B_T, see `~sktvbo.staleness.VariationBudget`.

    Attributes
    ----------
    policy_ : PeriodicReset
        With the length of the block and the number of resets.

    Notes
    -----
    The page :doc:`/differences` compares these defaults with the values of the paper.

    β is ``DimensionBeta(0.1)`` by default. For the regret bound give
    ``acquisition=UCB(InformationGainBeta())``.

    The formula of H is derived here, from the balance of drift and variance. It agrees with the
    published rate. Its constant is uncertain, which is why H is a parameter.

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
    horizon: int | None = None
    variation_budget: float = 1.0
    policy: None = absent()
    # Without a kernel in time there are no seasons to learn.
    seasonal_periods: None = absent()

    label = "BR-GP-UCB"

    _make_surrogate = staticmethod(static_surrogate)

    def _make_beta(self):
        return DimensionBeta(_SCALE_OF_BETA)

    def _check_parameters(self):
        super()._check_parameters()
        _check_length(self, "reset_period")

    def _make_policy(self):
        return PeriodicReset(_length(self, self.reset_period, 50))


@algorithm
class SWGPUCB(BayesianOptimizer):
    """SW-GP-UCB (Zhou & Shroff 2021): GP-UCB on a sliding window.

    1. Query where μ + √β σ is largest. UCB discounts σ near the faces of a box: see the ``margin``
       of `~sktvbo.acquisition.UCB`.
    2. Observe; add the observation.
    3. Keep the latest w = ⌈γ_T^{1/4} √(T / B_T)⌉ observations; refit a Gaussian process of space
       alone.

    When to use it: the function changes steadily, and a fixed cost per step matters more than
    regret. When not: it changes abruptly (`ETGPUCB`), or unevenly over space (`WDBO`).

    Parameters
    ----------
    window : int, default=None
        w. None: computed from ``horizon`` and ``variation_budget``, or 25 without a ``horizon``.
    horizon : int, default=None
        T, the number of observations in the whole run, for the variation budget.
    variation_budget : float, default=1.0
        B_T, see `~sktvbo.staleness.VariationBudget`.

    Attributes
    ----------
    policy_ : SlidingWindow
        With the window.

    Notes
    -----
    The page :doc:`/differences` compares these defaults with the values of the paper.

    β is ``DimensionBeta(0.1)`` by default. For the regret bound give
    ``acquisition=UCB(InformationGainBeta())``.

    The formula of w is derived here, from the balance of drift and variance. It agrees with the
    published rate. Its constant is uncertain, which is why w is a parameter.

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
    horizon: int | None = None
    variation_budget: float = 1.0
    policy: None = absent()
    # Without a kernel in time there are no seasons to learn.
    seasonal_periods: None = absent()

    label = "SW-GP-UCB"

    _make_surrogate = staticmethod(static_surrogate)

    def _make_beta(self):
        return DimensionBeta(_SCALE_OF_BETA)

    def _check_parameters(self):
        super()._check_parameters()
        _check_length(self, "window")

    def _make_policy(self):
        return SlidingWindow(_length(self, self.window, 25))
