"""Algorithms whose model forgets gradually: TV-GP-UCB, UI-TVBO and W-GP-UCB."""

from __future__ import annotations

from numbers import Real

import numpy as np
from sklearn.gaussian_process.kernels import Sum

from .._validation import check_real, invalid
from ..acquisition import as_acquisition
from ..gaussian_process import GeometricInjection, WeightedTimeVaryingGPRegressor
from ..gaussian_process._kernel_families import forgetting_rate
from ..gaussian_process._regressor import length_scale_in_time
from ..kernels import Forgetting, Wiener
from ..staleness import KeepAll
from ._ask_tell import absent, algorithm
from ._base import BayesianOptimizer
from ._default_models import default_surrogate, smooth_kernel, static_surrogate


@algorithm
class TVGPUCB(BayesianOptimizer):
    """TV-GP-UCB (Bogunovic et al. 2016, TVGP algorithm 2): correlation that decays with time.

    1. Query where μ + √β σ is largest now, under the covariance k_S(x, x') (1 − ε)^(``|t − t'|`` /
       2) (eq. 7-8). UCB discounts σ near the faces of a box: see the ``margin`` of
       `~sktvbo.acquisition.UCB`.
    2. Observe; add the observation to the data set.
    3. Refit, ε included unless it is given (appendix B).

    No observation is removed, so that on a box each step is slower than the one before. On a
    `~sktvbo.domain.FiniteSet` of M points the posterior comes from an exact Kalman filter while the
    hyperparameters are held: a step takes O(M²), independent of the length of the run.
    Hyperparameters are held between searches (see ``refit_every``), which take O(n M²) or less.
    With ``refit_every=None``, or a ``surrogate`` with ``optimizer=None``, and a ``history``, memory
    is constant as well.

    When to use it: the function changes continually, like a Markov process. When not: it changes
    smoothly (`WDBO` models that), or the run is long and on a box.

    Parameters
    ----------
    epsilon : float in (0, 1) or "learn", default="learn"
        Rate of change ε per unit of time.

    Attributes
    ----------
    epsilon_ : float or None
        ε per unit of time, as given or learnt; None before there is a surrogate.

    Notes
    -----
    The page :doc:`/differences` compares these defaults with the values of the paper.

    References
    ----------
    I. Bogunovic, J. Scarlett, V. Cevher, "Time-Varying Gaussian Process Bandit Optimization",
    AISTATS 2016.

    Examples
    --------
    >>> from sktvbo import TVGPUCB
    >>> opt = TVGPUCB([(0.0, 10.0)], n_initial_points=5, random_state=0)
    >>> for t in range(40):
    ...     x = opt.ask(t)
    ...     opt.tell(x, -(x[0] - 5.0 - 0.05 * t) ** 2)
    >>> bool(abs(opt.recommend(40)[0] - 7.0) < 1.0)
    True
    """

    epsilon: float | str = "learn"
    policy: None = absent()

    label = "TV-GP-UCB"

    _surrogate_parameters = ("epsilon",)

    @property
    def _learns(self):
        return isinstance(self.epsilon, str) and self.epsilon == "learn"

    def _check_parameters(self):
        super()._check_parameters()
        known = isinstance(self.epsilon, Real) and 0.0 < self.epsilon < 1.0
        if not (known or self._learns):
            expected = "'learn' or a float in the range (0, 1)"
            raise invalid("epsilon", expected, self.epsilon, self)

    def _make_surrogate(self, times):
        if not self._learns:
            return default_surrogate(times, Forgetting(self.epsilon, "fixed"))
        # The same kernel, parametrized by its lengthscale -2 / log(1 - ε): with many queries per
        # unit of time, ε is too close to 1 for floats.
        return default_surrogate(times, smooth_kernel(times, nu=0.5))

    @property
    def epsilon_(self) -> float | None:
        surrogate = self.surrogate_
        if surrogate is None:
            return None
        kernel = surrogate.temporal_kernel_
        while isinstance(kernel, Sum):  # of an aperiodic part and seasons
            kernel = kernel.k1
        return forgetting_rate(kernel)


@algorithm
class UITVBO(BayesianOptimizer):
    """UI-TVBO (Brunzema et al. 2022): constant mean and growing variance between observations.

    1. Query where μ + √β σ is largest now, under the covariance k_S(x, x') (1 + σ_w² (min(t, t') −
       t_start)). UCB discounts σ near the faces of a box: see the ``margin`` of
       `~sktvbo.acquisition.UCB`.
    2. Observe; add the observation to the data set.
    3. Refit the spatial hyperparameters.

    Between observations the mean is constant, and the variance grows by σ_w² k_S per unit of time.
    Old observations become uncertain, and the posterior does not return to the prior.

    When to use it: the function follows a random walk, and the latest good input is better than
    none. When not: the run is long. The variance has no bound, and no observation is removed.

    Parameters
    ----------
    drift_variance : float, default=0.03
        σ_w², the variance added per unit of time, relative to the spatial variance.

    Notes
    -----
    The page :doc:`/differences` compares these defaults with the values of the paper.

    References
    ----------
    P. Brunzema, A. von Rohr, S. Trimpe, "On Controller Tuning with Time-Varying Bayesian
    Optimization", CDC 2022.

    Examples
    --------
    >>> from sktvbo import UITVBO
    >>> opt = UITVBO([(0.0, 10.0)], n_initial_points=5, random_state=0)
    >>> for t in range(40):
    ...     x = opt.ask(t)
    ...     opt.tell(x, -(x[0] - 5.0 - 0.05 * t) ** 2)
    >>> bool(abs(opt.recommend(40)[0] - 7.0) < 1.0)
    True
    """

    drift_variance: float = 0.03
    policy: None = absent()

    label = "UI-TVBO"

    _surrogate_parameters = ("drift_variance",)

    _searches_for_the_past = True

    def _check_parameters(self):
        super()._check_parameters()
        check_real(self.drift_variance, "drift_variance", self, interval="(0, inf)")

    def _make_surrogate(self, times):
        # The random walk starts before all observations and pending queries. Before that it is
        # constant, for predictions at even earlier times.
        start = min(times.data.min(), *times.pending, np.inf)
        return default_surrogate(
            times, Wiener(self.drift_variance, "fixed", start=start, before="constant")
        )


# Weight of an observation after the median interval between observations, by default.
_DISCOUNT_PER_INTERVAL = 0.96


@algorithm
class WGPUCB(BayesianOptimizer):
    """W-GP-UCB (Deng et al. 2022): weighted regression with weights that decay.

    1. Query where μ + √β s is largest, with μ from observations weighted by discount^age, and s
       from two matrices (`~sktvbo.gaussian_process.WeightedTimeVaryingGPRegressor`). UCB discounts
       s near the faces of a box: see the ``margin`` of `~sktvbo.acquisition.UCB`.
    2. Observe; add the observation to the data set.
    3. Refit a Gaussian process of space alone, with noise variance σ² discount^(−age).

    When to use it: the function drifts steadily, at a known rate. When not: the rate is unknown.
    `TVGPUCB` learns it, and its variance grows where there are no recent observations.

    Parameters
    ----------
    discount : float in (0, 1], default=None
        Weight of an observation after a unit of time. None: 0.96 after the median interval between
        the initial observations. The regret bound is for 1 − discount = γ_T^{−1/4} √(B_T / T).

    Notes
    -----
    The page :doc:`/differences` compares these defaults with the values of the paper.

    β is `~sktvbo.acquisition.DimensionBeta` by default. For the regret bound give
    ``acquisition=UCB(InformationGainBeta(anytime=True))``.

    The published confidence bound does not hold at all times simultaneously; with ``anytime=True``
    β distributes its δ over the steps. Its constants are from secondary sources.

    References
    ----------
    Y. Deng, X. Zhou, B. Kim, A. Tewari, A. Gupta, N. Shroff, "Weighted Gaussian Process Bandits for
    Non-stationary Environments", AISTATS 2022.

    Examples
    --------
    >>> from sktvbo import WGPUCB
    >>> opt = WGPUCB([(0.0, 10.0)], discount=0.9, n_initial_points=5, random_state=0)
    >>> for t in range(40):
    ...     x = opt.ask(t)
    ...     opt.tell(x, -(x[0] - 5.0 - 0.02 * t) ** 2)
    >>> bool(abs(opt.recommend(40)[0] - 5.8) < 1.0)
    True
    """

    discount: float | None = None
    policy: None = absent()

    label = "W-GP-UCB"

    _surrogate_parameters = ("discount",)
    # The surrogate has no kernel in time, and its noise grows with age: it weighs no outliers.
    seasonal_periods: None = absent()
    robust: bool = absent(False)

    def _check_parameters(self):
        super()._check_parameters()
        if self.discount is not None:
            check_real(self.discount, "discount", self, interval="(0, 1]")

    def _make_surrogate(self, times):
        discount = self.discount
        if discount is None:
            # Bounded below: with intervals close to 0 it would underflow.
            discount = max(_DISCOUNT_PER_INTERVAL ** (1.0 / times.interval), 1e-300)
        return static_surrogate(
            times, kind=WeightedTimeVaryingGPRegressor, noise_model=GeometricInjection(discount)
        )


# Number of the latest lengthscales, to which a trend is fitted.
_N_TREND = 5

# Largest relative change of a settled lengthscale per step.
_SETTLED = 0.1


@algorithm
class ABO(BayesianOptimizer):
    """ABO (Nyikosa et al. 2018): choice of the input and the time of the next query.

    1. Query the input and time that maximize μ + √β σ, over the domain and the times from now to
       now + lookahead · l_T. UCB discounts σ near the faces of a box: see the ``margin`` of
       `~sktvbo.acquisition.UCB`.
    2. Wait until then; observe; add the observation to the data set.
    3. Refit λ, l_S, l_T and σ² by marginal likelihood.

    Queries are immediate until l_T has settled: its last five values change by less than a tenth
    per step. No observation is forgotten.

    ``suggest(t)`` returns a `Query` with the time to wait for. ``ask(t)`` returns a point for an
    immediate query.

    When to use it: queries are expensive and the function is smooth in time, so that waiting for a
    good time pays. When not: regret counts at all times, or the run is long.

    Parameters
    ----------
    lookahead : float, default=1/3
        Longest wait, in temporal lengthscales.

    Attributes
    ----------
    next_time_ : float
        Time of the latest query asked for: the ``t`` of the `Query` of ``suggest``, which ``tell``
        assumes.

    Notes
    -----
    The page :doc:`/differences` compares these defaults with the values of the paper.

    References
    ----------
    F. M. Nyikosa, M. A. Osborne, S. J. Roberts, "Bayesian Optimization for Dynamic Problems", 2018.

    Examples
    --------
    >>> import numpy as np
    >>> from sktvbo import ABO
    >>> opt = ABO([(0.0, 10.0)], n_initial_points=5, random_state=0)
    >>> t = 0.0
    >>> while t < 100.0:
    ...     query = opt.suggest(t)                   # query.t may be later than t
    ...     center = 5.0 + 2.0 * np.sin(0.1 * query.t)
    ...     opt.tell(query, np.exp(-(query.x[0] - center) ** 2))
    ...     t = query.t + 1.0
    >>> opt.n_told_ < 100
    True
    """

    lookahead: float = 1 / 3
    policy: None = absent()

    label = "ABO"

    def _make_policy(self):
        return LengthScaleTrend()

    def _check_parameters(self):
        super()._check_parameters()
        check_real(self.lookahead, "lookahead", self, interval="[0, inf)")
        if as_acquisition(self.acquisition or "ucb", self).joint:
            self._check_unused(("lookahead",), "with an acquisition function sampled at one time")

    def _latest_query_time(self, t, surrogate, policy):
        if not policy.settled:
            return t
        return t + self.lookahead * length_scale_in_time(surrogate)


class LengthScaleTrend(KeepAll):
    """Policy that drops nothing, and tracks the temporal lengthscale.

    Attributes
    ----------
    length_scales_ : tuple of float
        Latest values, at most five.
    """

    length_scales_ = ()

    def after_add(self, surrogate, now):
        """Record the lengthscale."""
        latest = length_scale_in_time(surrogate)
        self.length_scales_ = (*self.length_scales_, latest)[-_N_TREND:]
        return super().after_add(surrogate, now)

    @property
    def settled(self):
        """True if the lengthscale has stopped changing."""
        if len(self.length_scales_) < _N_TREND:
            return False
        slope = np.polynomial.polynomial.polyfit(np.arange(_N_TREND), self.length_scales_, 1)[1]
        return abs(slope) < _SETTLED * np.mean(self.length_scales_)

    def record(self):
        """Return the columns of the optimizer's history."""
        return {"length_scale": self.length_scales_[-1] if self.length_scales_ else None}
