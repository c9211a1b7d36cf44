"""BOLT.

A. Bardou, P. Thiran, "Optimizing Through Change: Bounds and Recommendations for Time-Varying
Bayesian Optimization Algorithms", 2025. Surrogate and acquisition function are those of W-DBO.
Time is in seconds.
"""

import numpy as np

from ..acquisition import UCB, DimensionBeta
from ..optimizers import BOLT
from ..optimizers._ask_tell import algorithm
from ..staleness import RelevancyCap
from ..theory._dataset_size import SizeCriterion, climb
from ._bardou2024 import smooth_surrogate
from ._parts import known_horizon

ERRATA = (
    "The starts of the search are not given: here those of W-DBO, relative to the 600 seconds.",
    "Eq. (63) prints log(L d n² / 6δ) under the power d; its proof gives 6δ once. The experiments "
    "do not say which β they have: here that of W-DBO.",
    "A cubic without constraints on its coefficients may fall, or be negative: there R is the "
    "smallest positive number.",
    "Nothing is removed before four sizes of the data set determine the cubic.",
)

# Largest n*: a constant R(n) and kernel have no maximum.
_LARGEST = 100_000


class SingleRemoval(RelevancyCap):
    """Remove one observation when there are more than n* (BOLT algorithm 1).

    R(n) is a cubic fitted by ordinary least squares (section 4). n* follows the sign of the finite
    difference from the last n* (section 3.3).

    Parameters
    ----------
    max_size : int or "recommended", default="recommended"
    min_size : int, default=2

    Attributes
    ----------
    coefficients_ : tuple of float, or None
        Coefficients of 1, n, n² and n³.
    """

    coefficients_ = None

    def __init__(self, max_size="recommended", min_size=2):
        super().__init__(max_size, min_size)

    def watch(self, run):
        """Fit R(n) to the times between the queries, once they determine it."""
        sizes = run.query_sizes[:-1]
        if len(set(sizes.tolist())) >= 4:
            fitted = np.polynomial.Polynomial.fit(sizes, np.diff(run.query_times), 3)
            self.coefficients_ = tuple(map(float, fitted.convert().coef))

    def after_add(self, surrogate, now):
        """Return at most one row, the least relevant."""
        rows = super().after_add(surrogate, now)[:1]
        self.removals_ = self.removals_[:1]
        return rows

    def response_time(self, n):
        """Return R(n)."""
        value = float(np.polynomial.polynomial.polyval(n, self.coefficients_))
        return max(value, np.finfo(np.float64).tiny)

    def _max_size(self, surrogate):
        if not isinstance(self.max_size, str):
            return int(self.max_size)
        if self.coefficients_ is None:
            return None
        start = self.max_size_ or len(surrogate.X_train_)
        return climb(SizeCriterion(surrogate.temporal_kernel_, self.response_time), start, _LARGEST)


@algorithm
class PublishedBOLT(BOLT):
    """BOLT as published: one removal a step, and a data set that may be as small as two.

    Examples
    --------
    >>> from sktvbo import papers
    >>> papers.published("BOLT", [(0.0, 1.0)], horizon=600.0).max_size
    'recommended'
    """

    _min_to_learn = 2

    def _make_policy(self):
        return SingleRemoval(self.max_size)


def bolt(domain, *, max_size="recommended", temporal_nu=1.5, horizon=None, **parameters):
    """Return BOLT, algorithm 1; ``horizon`` is 600 seconds in the paper."""
    own = {
        "surrogate": smooth_surrogate(temporal_nu, known_horizon(horizon, "BOLT")),
        "acquisition": UCB(DimensionBeta(0.2, max_dims=None)),
        "max_size": max_size,  # eq. (9) and (12)
        "n_initial_points": 15,  # section 5.1
        "refit_every": 1,
    }
    return PublishedBOLT(domain, **own | parameters)


ALGORITHMS = {"BOLT": (bolt, "Bardou & Thiran", 2025)}
