"""W-GP-UCB.

Y. Deng, X. Zhou, B. Kim, A. Tewari, A. Gupta, N. Shroff, "Weighted Gaussian Process Bandits for
Non-stationary Environments", AISTATS 2022. The defaults are those of ET table 1, which uses the
authors' code: T = 500, one dimension, a squared exponential kernel with lengthscale 0.2, λ = 1 and
noise variance 0.1.
"""

import math

import numpy as np

from ..acquisition import UCB, InformationGainBeta
from ..domain import as_domain
from ..gaussian_process import GeometricInjection, WeightedTimeVaryingGPRegressor
from ..optimizers import WGPUCB
from ..staleness._windows import maximum_gain
from ._parts import known_horizon, known_surrogate

ERRATA = (
    "The paper's text was not available: form and constants of β are from secondary sources.",
    "The confidence bound does not hold at all times simultaneously, as is claimed for it.",
    "B, δ and B_T of the experiments are not given: here 1, 0.1 and 1. R is the standard "
    "deviation of Gaussian noise.",
)


def w_gp_ucb(
    domain,
    *,
    discount=None,
    horizon=None,
    variation_budget=1.0,
    norm_bound=1.0,
    noise_bound=0.1**0.5,
    delta=0.1,
    regularizer=1.0,
    spatial_kernel=None,
    **parameters,
):
    """Return W-GP-UCB; a discount that is not given is that of the domain's dimension, or of 1."""
    if discount is None:
        horizon = known_horizon(horizon, "W-GP-UCB", "discount")
        n_dims = 1 if domain is None else as_domain(domain).n_unit
        static = known_surrogate(spatial_kernel, regularizer).fit(np.zeros((1, n_dims + 1)), [0.0])
        # 1 − γ = γ_T^{−1/4} √(B_T / T), with γ_T the maximum information gain.
        gain = maximum_gain(static, math.ceil(horizon))
        discount = 1.0 - min(gain**-0.25 * np.sqrt(variation_budget / horizon), 0.99)
    # √β = B + R/√λ √(2 (gain + log(1/δ))).
    beta = InformationGainBeta(norm_bound, noise_bound / np.sqrt(regularizer), delta, constant=0.0)
    own = {
        # Weights γ^{−t} and regularizer λ γ^{−t}: noise variance λ γ^{−age}, width of two matrices.
        "surrogate": known_surrogate(
            spatial_kernel,
            regularizer,
            kind=WeightedTimeVaryingGPRegressor,
            noise_model=GeometricInjection(float(discount)),
        ),
        "acquisition": UCB(beta),
        "n_initial_points": 1,
        "clock": "step",
    }
    return WGPUCB(domain, **own | parameters)


ALGORITHMS = {"W-GP-UCB": (w_gp_ucb, "Deng et al.", 2022)}
