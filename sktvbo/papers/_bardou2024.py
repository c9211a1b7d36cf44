"""W-DBO.

A. Bardou, P. Thiran, G. Ranieri, "This Too Shall Pass: Removing Stale Observations in Dynamic
Bayesian Optimization", NeurIPS 2024. Time is scaled to [0, 1] in its experiments. What the text
leaves open is as in the authors' package wdbo_algo: β, the scaling of y, the starts of the search,
and the least number of observations.
"""

import numpy as np
from sklearn.gaussian_process.kernels import Matern

from ..acquisition import UCB, DimensionBeta
from ..optimizers import WDBO
from ..optimizers._ask_tell import algorithm
from ..staleness import RelevancyBudget
from ._parts import FixedStartGPRegressor, known_horizon

ERRATA = (
    "Table 4 and eq. (70) for a squared exponential kernel in time are wrong; not used here.",
    "wdbo_algo caps the convolution of k_S at 1 (appendix C allows it; eq. 10 has no cap), learns "
    "a constant mean where the paper has 0, fits after each removal, and uses the deviation of "
    "noisy observations in UCB. Its budget grows by the l_T just fitted, and pays for no more "
    "removals once it is at most the price of the last one. Here as in the paper.",
    "The text gives neither β nor how y is scaled.",
)

# wdbo_algo starts all positive hyperparameters at softplus(0).
START = float(np.log(2.0))

_WIDE = (1e-4, 1e4)


class UncappedBudget(RelevancyBudget):
    """Budget of which nothing is lost when the data set is as small as it may be."""

    def __init__(self, alpha=0.25, min_size=2):
        # A step of 1000 lengthscales pays for any data set, and does not overflow.
        super().__init__(alpha, min_size, max_step=1000.0)

    def after_add(self, surrogate, now):
        """Return the least relevant rows."""
        rows = super().after_add(surrogate, now)
        budget = self.offered_budget_
        for _, relevancy in self.removals_:
            budget /= 1.0 + relevancy
        self.budget_ = min(budget, 1e200)  # does not overflow
        return rows


def likelihood_surrogate(temporal_kernel):
    """Return a surrogate with mean 0, fitted by maximum likelihood from the same start each time.

    Its kernel in space is a Matérn 5/2 (appendix G.1).
    """
    return FixedStartGPRegressor(
        Matern(START, _WIDE, nu=2.5),
        temporal_kernel,
        signal_variance=START,  # λ of assumption 3.2
        signal_variance_bounds=_WIDE,
        noise_variance=START,
        noise_variance_bounds=(1e-4, 1e2),
        normalize_y=True,
        mean_prior_std=0.0,  # assumption 3.1
    )


def smooth_surrogate(temporal_nu, horizon):
    """Return the surrogate of W-DBO and BOLT, whose run is ``horizon`` long in the user's unit."""
    low, high = _WIDE
    return likelihood_surrogate(
        Matern(START * horizon, (low * horizon, high * horizon), nu=temporal_nu)
    )


@algorithm
class PublishedWDBO(WDBO):
    """W-DBO as published: its data set may be as small as two, from which it also learns.

    Examples
    --------
    >>> from sktvbo import papers
    >>> papers.published("W-DBO", [(0.0, 1.0)], horizon=600.0).alpha
    0.25
    """

    _min_to_learn = 2

    def _make_policy(self):
        return UncappedBudget(self.alpha)


def w_dbo(domain, *, alpha=0.25, temporal_nu=1.5, horizon=None, **parameters):
    """Return W-DBO, algorithm 1; the paper has ``temporal_nu=0.5`` on WLAN.

    ``horizon`` is the length of the run in the user's unit, which is 1 in the paper.
    """
    own = {
        "surrogate": smooth_surrogate(temporal_nu, known_horizon(horizon, "W-DBO")),
        "acquisition": UCB(DimensionBeta(0.2, max_dims=None)),  # wdbo_algo: β = 0.2 d log(2n)
        "alpha": alpha,  # relevancies of eq. (12), budget of eq. (80)
        "max_size": None,  # no limit
        "n_initial_points": 15,  # appendix G.1
        "refit_every": 1,  # algorithm 1, line 7
    }
    return PublishedWDBO(domain, **own | parameters)


ALGORITHMS = {"W-DBO": (w_dbo, "Bardou, Thiran & Ranieri", 2024)}
