"""ET: ET-GP-UCB.

P. Brunzema, A. von Rohr, F. Solowjow, S. Trimpe, "Event-Triggered Time-Varying Bayesian
Optimization". The defaults are those of figure 2: σ² = 0.02, a squared exponential kernel with
lengthscale 0.2, c1 = 0.4, c2 = 4 and δ_B = 0.1. All hyperparameters are known.
"""

from ..optimizers import ETGPUCB
from ._parts import known_surrogate, log_ucb

ERRATA = (
    "The noise variance of figure 2 is 0.02 in table 4 and 0.05 in the text: here 0.02.",
    "The first observation is not tested against the prior (algorithm 1 tests it): a reset there "
    "leaves the same data set, and changes the count of steps alone.",
)


def et_gp_ucb(
    domain, *, delta=0.1, noise_variance=0.02, c1=0.4, c2=4.0, spatial_kernel=None, **parameters
):
    """Return ET-GP-UCB, algorithm 1."""
    own = {
        "surrogate": known_surrogate(spatial_kernel, noise_variance),
        "acquisition": log_ucb(c1, c2),  # t counts all steps, across resets
        "delta": delta,  # δ_B of lemma 3; test and reset are eq. (10)-(11)
        "n_initial_points": 1,
        "clock": "step",
    }
    return ETGPUCB(domain, **own | parameters)


ALGORITHMS = {"ET-GP-UCB": (et_gp_ucb, "Brunzema, von Rohr, Solowjow & Trimpe", 2022)}
