"""UI-TVBO: inject uncertainty, keep the mean."""

import numpy as np

from .._validation import check_real
from ..kernels import Wiener
from ._base import Algorithm
from ._parameters import algorithm
from ._surrogates import default_surrogate


@algorithm
class UITVBO(Algorithm):
    """UI-TVBO (Brunzema et al. 2022): a mean that stays, a variance that grows.

    1. Query where μ + √β σ is largest now, under the covariance k_S(x, x') (1 + σ_w² (min(t, t') −
       t_start)); near the faces of a box σ counts for less, see the ``margin`` of
       `~sktvbo.acquisition.UCB`.
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

    label = "UI-TVBO"

    _surrogate_parameters = ("drift_variance",)

    _searches_for_the_past = True

    def _check_parameters(self):
        super()._check_parameters()
        check_real(self.drift_variance, "drift_variance", self, interval="(0, inf)")

    def _make_beta(self):
        return "dimension"

    def _make_surrogate(self, times):
        # Pending queries may be older than all data, and the kernel knows of no time before start.
        start = min(times.kept.min(), *times.pending, np.inf)
        # One may ask what would have been best even earlier, however.
        return default_surrogate(
            Wiener(self.drift_variance, "fixed", start=start, before="constant")
        )
