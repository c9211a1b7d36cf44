"""SW-GP-UCB: a window as long as a variation budget allows."""

from ..staleness import SlidingWindow
from ._budgeted import VariationBudgeted
from ._parameters import algorithm


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
