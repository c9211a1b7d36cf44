"""BR-GP-UCB: blocks as long as a variation budget allows."""

from ..acquisition import UCB, InformationGainBeta
from ..staleness import PeriodicReset, VariationBudget
from ._base import BayesianOptimizer, static_surrogate


class BRGPUCB(BayesianOptimizer):
    """BR-GP-UCB (Zhou & Shroff 2021, there R-GP-UCB): IGP-UCB within blocks.

    1. Query where μ + √β σ is largest, √β = B + R √(2 (γ + 1 + log(1/δ))), γ being the information
       gain of the block so far.
    2. Observe. When the block holds H = ⌈γ_T^{1/4} √(T / B_T)⌉ observations, forget them all.
    3. Add the observation; refit a Gaussian process of space alone.

    When to use it: the run's length and the total change of the function are known. When not: the
    function goes on changing, so that the budget grows with the run: then the regret is linear.

    Parameters
    ----------
    reset_period : int, default=None
        H; None computes it from the ``horizon`` and the ``variation_budget``.
    horizon : int, default=None
        T, observations in the whole run, for a block that follows the variation budget.
    variation_budget : float, default=1.0
        B_T, see :class:`~sktvbo.staleness.VariationBudget`.
    domain, surrogate, acquisition, n_initial_points, refit_every, maximize, clock, random_state
        See :class:`BayesianOptimizer`.

    Attributes
    ----------
    policy_ : PeriodicReset
        With the block's length and the number of resets.

    Notes
    -----
    The form of H was derived anew from the balance of drift and variance, and agrees with the
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

    label = "BR-GP-UCB"

    def __init__(
        self,
        domain=None,
        *,
        reset_period=None,
        horizon=None,
        variation_budget=1.0,
        surrogate=None,
        acquisition=None,
        n_initial_points=15,
        refit_every=1,
        maximize=True,
        clock="wall",
        random_state=None,
    ):
        super().__init__(
            domain,
            surrogate=surrogate,
            acquisition=acquisition,
            n_initial_points=n_initial_points,
            refit_every=refit_every,
            maximize=maximize,
            clock=clock,
            random_state=random_state,
        )
        self.reset_period = reset_period
        self.horizon = horizon
        self.variation_budget = variation_budget

    def _make_acquisition(self):
        return UCB(InformationGainBeta())

    def _make_policy(self):
        if self.reset_period is None:
            return PeriodicReset(VariationBudget(self.horizon, self.variation_budget))
        return PeriodicReset(self.reset_period)

    def _check_parameters(self):
        super()._check_parameters()
        if self.reset_period is None and self.horizon is None:
            raise ValueError(
                "BRGPUCB needs the length of its blocks: give reset_period, or the number of "
                "observations in the whole run as horizon. Got None for both."
            )

    def _make_surrogate(self, times, recent):
        return static_surrogate()
