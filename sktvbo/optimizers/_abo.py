"""ABO, which also chooses the time of the next query."""

import numpy as np

from .._validation import check_real
from ..acquisition import as_acquisition
from ..gaussian_process._regressor import length_scale_in_time
from ..staleness import StaleDataPolicy
from ._base import Algorithm
from ._parameters import algorithm

# Number of lengthscales, the latest, to which a trend is fitted.
_N_TREND = 5

# Largest relative change of a settled lengthscale per step.
_SETTLED = 0.1


@algorithm
class ABO(Algorithm):
    """ABO (Nyikosa et al. 2018): choice of the place and the time of the next query.

    1. Query at the place and time that maximize μ + √β σ, over the domain and the times from now to
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
    The page :doc:`/differences` has these defaults beside the values of the paper.

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


class LengthScaleTrend(StaleDataPolicy):
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
