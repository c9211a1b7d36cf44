"""BR-GP-UCB: blocks as long as a variation budget allows."""

from ..staleness import PeriodicReset
from ._budgeted import VariationBudgeted
from ._parameters import algorithm


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
