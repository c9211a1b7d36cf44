"""TVGP: R-GP-UCB and TV-GP-UCB, and their baselines GP-UCB and random search.

I. Bogunovic, J. Scarlett, V. Cevher, "Time-Varying Gaussian Process Bandit Optimization",
AISTATS 2016. The defaults are those of figure 2: ε = 0.01, σ² = 0.01 and T = 200, a squared
exponential kernel with lengthscale 0.2, c1 = 0.8 and c2 = 4. All hyperparameters are known.
"""

from .._sklearn import BaseEstimator
from ..kernels import Forgetting
from ..optimizers import GPUCB, TVGPUCB, BayesianOptimizer, RandomSearch
from ..staleness import PeriodicReset
from ..theory import reset_period
from ._parts import STATIC, known_horizon, known_surrogate, log_ucb

ERRATA = (
    "The first query, and the first of each block, maximizes a constant (algorithm 1, line 3). "
    "The tie rule is not given: here it is drawn uniformly.",
    "With c2 = 0.4, as in section 5.2, β is negative for t ≤ 2: here it is 0.",
    "The horizon of figures 2a and 2b is not given: here T = 200, as in figures 2c and 2d.",
)


class BlockLength(BaseEstimator):
    """Block length N of R-GP-UCB for a fitted surrogate, see `sktvbo.theory.reset_period`.

    Parameters
    ----------
    epsilon : float
    horizon : float
    """

    def __init__(self, epsilon, horizon):
        self.epsilon = epsilon
        self.horizon = horizon

    def __call__(self, surrogate):
        return reset_period(
            self.epsilon,
            spatial_kernel=surrogate.spatial_kernel_,
            n_dims=surrogate.X_train_.shape[1] - 1,
            horizon=self.horizon,
        )


def _parts(
    noise_variance=0.01, c1=0.8, c2=4.0, spatial_kernel=None, temporal_kernel=STATIC, **parameters
):
    return {
        "surrogate": known_surrogate(
            spatial_kernel, noise_variance, temporal_kernel
        ),  # eq. (5)-(6)
        "acquisition": log_ucb(c1, c2),  # section 5; t counts all steps, across resets
        "n_initial_points": 1,
        "clock": "step",
        **parameters,
    }


def gp_ucb(domain, **known):
    """Return GP-UCB as the baseline of section 5."""
    return GPUCB(domain, **_parts(**known))


def r_gp_ucb(domain, *, epsilon=0.01, horizon=None, block_length=None, **known):
    """Return R-GP-UCB, algorithm 1; N follows corollary 4.1 unless ``block_length`` is given."""
    if "policy" not in known:
        length = block_length
        if length is None:
            length = BlockLength(epsilon, known_horizon(horizon, "R-GP-UCB", "block_length"))
        known["policy"] = PeriodicReset(length, from_prior=True)  # algorithm 1, lines 2-3
    return BayesianOptimizer(domain, **_parts(**known))


def tv_gp_ucb(domain, *, epsilon=0.01, **known):
    """Return TV-GP-UCB, algorithm 2."""
    forgetting = Forgetting(epsilon, "fixed")  # D and d of eq. (7)-(8)
    return TVGPUCB(domain, **_parts(temporal_kernel=forgetting, **known))


def random_search(domain, **parameters):
    """Return uniform queries at each step, the baseline of section 5."""
    return RandomSearch(domain, **{"clock": "step"} | parameters)


_PAPER = ("Bogunovic, Scarlett & Cevher", 2016)

ALGORITHMS = {
    "GP-UCB": (gp_ucb, *_PAPER),
    "R-GP-UCB": (r_gp_ucb, *_PAPER),
    "TV-GP-UCB": (tv_gp_ucb, *_PAPER),
    "random": (random_search, *_PAPER),
}
