"""Algorithms that remove the least relevant observations: W-DBO and BOLT."""

from .._validation import check_real
from ..domain import as_domain
from ..staleness import RelevancyBudget, RelevancyCap
from ._ask_tell import absent, algorithm
from ._base import BayesianOptimizer

# Observations that W-DBO never removes. A season is learnt from its second period on, which needs
# the observations of the first, although the kernel does not make them relevant yet. With a
# context, a short lengthscale in time can explain a few noisy observations, which would remove the
# others.
_LEAST, _LEAST_WITH_SEASONS_OR_CONTEXT = 10, 100

# Largest data set by default. A function that hardly changes makes all observations relevant.
_LARGEST = 300


@algorithm
class WDBO(BayesianOptimizer):
    """W-DBO (Bardou et al. 2024, algorithm 1): removal of irrelevant observations.

    Tracks a moving optimum: a Gaussian process of input and time predicts the objective, each query
    is where its upper confidence bound is largest, and observations that hardly change predictions
    of the present and future are removed. The rate of change is learnt. It is the algorithm to
    begin with. Parameters that matter: the domain, ``maximize``, ``outcome_constraints``,
    ``seasonal_periods`` if y has a daily or other period, ``robust`` if single values are wrong,
    and ``max_size`` or ``step_budget`` to bound the time of a step.

    1. Query where μ + √β σ is largest now. UCB discounts σ near the faces of a box: see the
       ``margin`` of `~sktvbo.acquisition.UCB`.
    2. Observe; add the observation; refit λ, l_S, l_T, w and σ² by marginal likelihood.
    3. Multiply the budget b by (1 + α)^{Δt / l_T} (eq. 80).
    4. While b > 1 + R̂ of the least relevant observation (eq. 12): remove it, b ← b / (1 + R̂).

    The data set, and with it the response time, is as small as the rate of change allows, and has
    at most ``max_size`` observations. Removed observations leave their information about the part
    of the function that never changes, see :doc:`/theory`.

    When to use it: the function changes smoothly, or sometimes abruptly where it is queried, and
    fast steps matter. When not: the function is static (`GPUCB`), or its kernel in time never
    forgets. A far input that becomes the best is not found without ``exploration``.

    Parameters
    ----------
    alpha : float, default=0.25
        Relative change of the predictions that removals may cause per temporal lengthscale.
    max_size : int or None, default=300
        Largest data set. Beyond it the least relevant observations are removed whatever the budget:
        bounds the time of a step. None is no limit, as in the paper.

    Attributes
    ----------
    policy_ : RelevancyBudget
        With the budget, and the latest removals and their costs.

    Notes
    -----
    The page :doc:`/differences` compares these defaults with the values of the paper. At least 10
    observations stay, and 100 with seasons or a context.

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
    max_size: int | None = _LARGEST
    policy: None = absent()

    label = "W-DBO"

    def _check_parameters(self):
        super()._check_parameters()
        check_real(self.alpha, "alpha", self, interval="[0, inf)")

    def _make_policy(self):
        domain, least = as_domain(self.domain), _LEAST
        if self.seasonal_periods is not None or domain.n_chosen < domain.n_dims:
            least = _LEAST_WITH_SEASONS_OR_CONTEXT
        if self.max_size is not None:
            least = min(least, self.max_size)
        return RelevancyBudget(alpha=self.alpha, min_size=least, max_size=self.max_size)


@algorithm
class BOLT(BayesianOptimizer):
    """BOLT (Bardou & Thiran, algorithm 1): data set of the most informative size.

    1. Query where μ + √β σ is largest now. UCB discounts σ near the faces of a box: see the
       ``margin`` of `~sktvbo.acquisition.UCB`.
    2. Observe; add the observation; refit λ, l_S, l_T, w and σ² by marginal likelihood.
    3. Fit the response time R(n) to the times between the queries so far.
    4. n* = argmax_n Σ_{i≤n} k_T(i R(n))² (eq. 9), at most 300: a larger data set is more
       informative, but slows down each step.
    5. While there are more than n* observations: remove the least relevant one (W-DBO eq. 12).

    When to use it: the run is long, and time passes while the optimizer computes. When not: the
    time of a step does not depend on the data set (``clock="step"``). Equation 9 then recommends
    the largest one.

    Parameters
    ----------
    max_size : int, "recommended" or None, default="recommended"
        n*; "recommended" computes it in step 4. None is the same without a limit, as in the paper.

    Attributes
    ----------
    policy_ : RelevancyCap
        With ``max_size_``, the present n*, and ``response_time_``, the model of R(n).

    Notes
    -----
    The page :doc:`/differences` compares these defaults with the values of the paper.

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

    max_size: int | str | None = "recommended"
    policy: None = absent()

    label = "BOLT"

    def _make_policy(self):
        if self.max_size is None:
            return RelevancyCap()
        return RelevancyCap(self.max_size, largest=_LARGEST)
