"""BOLT: keep as many observations as pays."""

from ..staleness import RelevancyCap
from ._base import Algorithm
from ._parameters import algorithm


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
