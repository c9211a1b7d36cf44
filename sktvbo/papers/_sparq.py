"""SparQ-GP-UCB.

E. Mauduit, E. Berthier, A. Simonetto, "Time-varying Gaussian Process Bandit Optimization with
Experts: no-regret in logarithmically-many side queries". The defaults are those of section 4.1:
T = 500, σ² = 0.01, δ = 0.05.
"""

import numpy as np
from sklearn.gaussian_process.kernels import RBF

from .._warnings import warn_caller
from ..acquisition import UCB, InformationGainBeta
from ..exceptions import ModelWarning
from ..gaussian_process import QuadraticInjection, TimeVaryingGPRegressor
from ..gaussian_process._fitted import FittedGP
from ..optimizers import SparQGPUCB
from ..optimizers._ask_tell import algorithm
from ._parts import STATIC

ERRATA = (
    "Algorithm 1, line 4, discards even the newest observation for t ≤ 2: here it stays.",
    "The norm of f_t in β is not given: here 1. The expert's variance is not given: here σ².",
    "6 log T places, or 6 log t, is not said: here 6 log t, rounded up.",
    "The expert answers for f_t before x_{t+1} is chosen: call ask_expert() with the time of the "
    "latest observation.",
)


class LatestPresent:
    """Model whose ages count from the latest observation, not from the time of the query."""

    def at(self, now):
        """Return the model itself: the present time is that of the latest observation."""
        return self


class LatestPresentGP(LatestPresent, FittedGP):
    """Fitted value of a `LatestPresentGPRegressor`."""


class LatestPresentGPRegressor(LatestPresent, TimeVaryingGPRegressor):
    """Regressor whose fitted value is a `LatestPresentGP`."""

    _fitted_class = LatestPresentGP


@algorithm
class PublishedSparQGPUCB(SparQGPUCB):
    """SparQ-GP-UCB that warns at the first query without an expert.

    Examples
    --------
    >>> from sktvbo import papers
    >>> papers.published("SparQ-GP-UCB", [(0.0, 1.0)]).n_queries
    'log'
    """

    _min_to_learn = 1

    def _asked(self, *step, **options):
        queries = super()._asked(*step, **options)
        run = self._run_or_raise()
        if run.history.n_told == self.n_initial_points and run.part("expert").asked_at is None:
            warn_caller(
                "SparQ-GP-UCB was asked for a query without an expert: only the last few "
                "observations remain. Call ask_expert() and tell_expert() before ask().",
                ModelWarning,
            )
        return queries


def sparq_gp_ucb(
    domain, *, norm_bound=1.0, delta=0.05, noise_variance=0.01, spatial_kernel=None, **parameters
):
    """Return SparQ-GP-UCB, algorithm 1; a kernel that is not given is learnt, and λ with it."""
    learns = spatial_kernel is None
    own = {
        "surrogate": LatestPresentGPRegressor(
            RBF(0.2, (1e-3, 1e2)) if learns else spatial_kernel,
            STATIC,
            signal_variance_bounds=(1e-4, 1e4) if learns else "fixed",
            noise_variance=noise_variance,
            noise_variance_bounds="fixed",
            noise_model=QuadraticInjection(),  # eq. (10): σ² (1 + age²)
        ),
        # Theorem 3.1: √β of UCB is √(2 log(2 |Σ + K|^½ / (δ |Σ|^½))) + B.
        "acquisition": UCB(InformationGainBeta(norm_bound, delta=delta, constant=np.log(2.0))),
        "n_initial_points": 1,
        "refit_every": 1,
        "clock": "step",
    }
    return PublishedSparQGPUCB(domain, **own | parameters)


ALGORITHMS = {"SparQ-GP-UCB": (sparq_gp_ucb, "Mauduit, Berthier & Simonetto", 2025)}
