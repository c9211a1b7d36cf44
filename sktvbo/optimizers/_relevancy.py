"""Algorithms that remove the least relevant observations: W-DBO, BOLT."""

from .._validation import check_real
from ..staleness import RelevancyBudget, RelevancyCap
from ._base import Algorithm
from ._parameters import algorithm


@algorithm
class WDBO(Algorithm):
    """W-DBO (Bardou et al. 2024, algorithm 1): remove irrelevant observations on the fly.

    1. Query where μ + √β σ is largest now; near the faces of a box σ counts for less, see the
       ``margin`` of `~sktvbo.acquisition.UCB`.
    2. Observe; add the observation; refit λ, l_S, l_T and σ² by marginal likelihood,
       with a `~sktvbo.gaussian_process.QuadraticMean` where that is likelier.
    3. Let the budget b grow by (1 + α)^{Δt / l_T} (eq. 80).
    4. While b > 1 + R̂ of the least relevant observation (eq. 12): remove it, b ← b / (1 + R̂).

    The data set, and with it the response time, stays as small as the function's change allows.

    When to use it: the function changes in time, smoothly or now and then abruptly, and a fast step
    matters. When not: the function is static (`GPUCB`), or its covariance has no closed-form
    convolution (see `sktvbo.relevancy`).

    Parameters
    ----------
    alpha : float, default=0.25
        Relative change of the predictions that forgetting may make per temporal lengthscale.
    max_size : int, default=None
        Largest data set: beyond it the least relevant observations are removed at any price, so
        that a step takes no longer however little the function changes. None is no limit.

    Attributes
    ----------
    policy_ : RelevancyBudget
        With the budget, and what the last step removed at which price.

    References
    ----------
    A. Bardou, P. Thiran, G. Ranieri, "This Too Shall Pass: Removing Stale Observations in Dynamic
    Bayesian Optimization", NeurIPS 2024.

    Examples
    --------
    >>> from sktvbo import WDBO
    >>> opt = WDBO([(0.0, 10.0)], n_initial_points=5, random_state=0)
    >>> for t in range(40):
    ...     x = opt.ask(t)
    ...     opt.tell(x, -(x[0] - 5.0 - 0.1 * t) ** 2)
    >>> bool(abs(opt.recommend(40)[0] - 9.0) < 0.5)
    True
    """

    alpha: float = 0.25

    label = "W-DBO"

    def _check_parameters(self):
        super()._check_parameters()
        check_real(self.alpha, "alpha", self, interval="[0, inf)")

    def _make_policy(self):
        return RelevancyBudget(alpha=self.alpha, max_size=self.max_size)


@algorithm
class BOLT(Algorithm):
    """BOLT (Bardou & Thiran, algorithm 1): keep as many observations as pays.

    1. Query where μ + √β σ is largest now; near the faces of a box σ counts for less, see the
       ``margin`` of `~sktvbo.acquisition.UCB`.
    2. Observe; add the observation; refit λ, l_S, l_T and σ² by marginal likelihood,
       with a `~sktvbo.gaussian_process.QuadraticMean` where that is likelier.
    3. Fit the response time R(n) to the times between the queries so far.
    4. n* = argmax_n Σ_{i≤n} k_T(i R(n))² (eq. 9): more would tell more, but makes each step slower.
    5. While there are more than n* observations: remove the least relevant one (W-DBO eq. 12).

    When to use it: time passes while the optimizer thinks, in a long run. When not: steps take the
    same time whatever the data set (``clock="step"``): then the recommended size has no bound.

    Parameters
    ----------
    max_size : int or "recommended", default="recommended"
        n*, or step 4.

    Attributes
    ----------
    policy_ : RelevancyCap
        With ``max_size_``, the present n*, and ``response_time_``, the model of R(n).

    References
    ----------
    A. Bardou, P. Thiran, "Optimizing Through Change: Bounds and Recommendations for Time-Varying
    Bayesian Optimization Algorithms".

    Examples
    --------
    >>> from sktvbo import BOLT
    >>> opt = BOLT([(0.0, 10.0)], max_size=20, n_initial_points=5, random_state=0)
    >>> for t in range(40):
    ...     x = opt.ask(t)
    ...     opt.tell(x, -(x[0] - 5.0 - 0.1 * t) ** 2)
    >>> len(opt.X_), bool(abs(opt.recommend(40)[0] - 9.0) < 0.5)
    (20, True)
    """

    max_size: int | str = "recommended"

    label = "BOLT"

    def _make_policy(self):
        return RelevancyCap(self.max_size)
