"""SW-GP-UCB and BR-GP-UCB, and IGP-UCB, which they restart or window.

X. Zhou, N. Shroff, "No-Regret Algorithms for Time-Varying Bayesian Optimization", CISS 2021, and
S. R. Chowdhury, A. Gopalan, "On Kernelized Multi-armed Bandits", ICML 2017. The defaults are those
of ET table 1: T = 500, a squared exponential kernel with lengthscale 0.2, noise variance 0.1.
"""

from ..acquisition import UCB
from ..optimizers import IGPUCB, SWGPUCB, BayesianOptimizer
from ..staleness import PeriodicReset, VariationBudget
from ._parts import MaximumGainBeta, known_horizon, known_surrogate

ERRATA = (
    "The papers' texts were not available: the formulas are from secondary sources.",
    "B, δ and B_T of the experiments are not given: here 1, 0.1 and 1. R is the standard "
    "deviation of Gaussian noise.",
)


# Of the experiments: it determines the regularizer, which is 1.004 or less for longer runs.
_HORIZON = 500


def _parts(
    own, horizon, norm_bound=1.0, noise_bound=0.1**0.5, delta=0.1, spatial_kernel=None, **parameters
):
    return {
        # The regularizer is 1 + 2/T, and not σ².
        "surrogate": known_surrogate(spatial_kernel, 1.0 + 2.0 / (horizon or _HORIZON)),
        # √β = B + R √(2 (γ_{t−1} + 1 + log(1/δ))), γ the maximum gain.
        "acquisition": UCB(MaximumGainBeta(norm_bound, noise_bound, delta)),
        "n_initial_points": 1,
        "clock": "step",
        **own,
        **parameters,
    }


def igp_ucb(domain, *, horizon=None, **known):
    """Return IGP-UCB."""
    return IGPUCB(domain, **_parts({}, horizon, **known))


def sw_gp_ucb(domain, *, window=None, horizon=None, variation_budget=1.0, **known):
    """Return SW-GP-UCB, with W = ⌈γ_T^{1/4} √(T / B_T)⌉ unless ``window`` is given."""
    own = {"window": window}
    if window is None:
        horizon = known_horizon(horizon, "SW-GP-UCB", "window")
        own = {"horizon": horizon, "variation_budget": variation_budget}
    return SWGPUCB(domain, **_parts(own, horizon, **known))


def br_gp_ucb(domain, *, reset_period=None, horizon=None, variation_budget=1.0, **known):
    """Return BR-GP-UCB, with H = ⌈γ_T^{1/4} √(T / B_T)⌉ unless ``reset_period`` is given."""
    length = reset_period
    if length is None:
        horizon = known_horizon(horizon, "BR-GP-UCB", "reset_period")
        length = VariationBudget(horizon, variation_budget)
    own = {"policy": PeriodicReset(length, from_prior=True)}
    return BayesianOptimizer(domain, **_parts(own, horizon, **known))


ALGORITHMS = {
    "IGP-UCB": (igp_ucb, "Chowdhury & Gopalan", 2017),
    "SW-GP-UCB": (sw_gp_ucb, "Zhou & Shroff", 2021),
    "BR-GP-UCB": (br_gp_ucb, "Zhou & Shroff", 2021),
}
