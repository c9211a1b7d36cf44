"""UI-TVBO: inject uncertainty, keep the mean."""

from dataclasses import replace

import numpy as np

from .._checks import check_positive
from ..kernels import Wiener
from ._base import BayesianOptimizer, default_surrogate


class UITVBO(BayesianOptimizer):
    """UI-TVBO (Brunzema et al. 2022): a mean that stays, a variance that grows.

    1. Query where μ + √β σ is largest now, under the covariance
       k_S(x, x') (1 + σ_w² (min(t, t') − t_start)).
    2. Observe; add the observation to the data set.
    3. Refit the spatial hyperparameters.

    Between observations the mean stays as it is, and the variance grows by σ_w² k_S per unit of
    time: what was learnt is doubted, but not replaced by the prior.

    When to use it: the function takes a random walk, and the last known good place is better than
    none. When not: the run is long; the variance has no bound, and nothing is forgotten for good.

    Parameters
    ----------
    drift_variance : float, default=0.03
        σ_w², variance added per unit of time, relative to the spatial variance.
    domain, surrogate, acquisition, n_initial_points, refit_every, maximize, clock, random_state
        See :class:`BayesianOptimizer`.

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

    label = "UI-TVBO"

    def __init__(
        self,
        domain=None,
        *,
        drift_variance=0.03,
        surrogate=None,
        acquisition=None,
        n_initial_points=15,
        refit_every=1,
        maximize=True,
        clock="wall",
        random_state=None,
    ):
        super().__init__(
            domain,
            surrogate=surrogate,
            acquisition=acquisition,
            n_initial_points=n_initial_points,
            refit_every=refit_every,
            maximize=maximize,
            clock=clock,
            random_state=random_state,
        )
        self.drift_variance = drift_variance

    def _check_parameters(self):
        super()._check_parameters()
        check_positive(self.drift_variance, "drift_variance", self)

    def _make_surrogate(self, times, recent):
        return default_surrogate(Wiener(self.drift_variance, "fixed", start=times.min()))

    def _fresh_surrogate(self, run, times, t):
        # Pending queries may be older than all data, and the kernel knows of no time before start.
        pending = [time for _, time in run.pending]
        return super()._fresh_surrogate(run, np.append(times, pending), t)

    def _absorb(self, run, x, t, y, now):
        if run.surrogate is not None and t < run.surrogate.X_train_[:, -1].min():
            # So late an observation asks for an earlier start, which only a search gives.
            run = replace(run, since_refit=self.refit_every)
        return super()._absorb(run, x, t, y, now)
