"""Parts that warn: overconfident surrogates, and answers that miss their queries."""

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import bdtri, chdtri, ndtri

from .._values import replaced
from .._warnings import warn_caller
from ..exceptions import OverconfidenceWarning, UnansweredQueryWarning
from ..staleness import KeepAll
from ._part import Part
from ._report import logger
from ._state import at_place, of_time

# Successive residuals of a test, and its probability of a false alarm.
_N_RESIDUALS, _FALSE_ALARM = 50, 1e-6

# Predicted deviations may be too small by this factor: hyperparameters learnt from few observations
# are uncertain, and predictions treat them as known.
_TOLERANCE = 1.2

# Largest root mean square that does not warn, 1.8.
_LARGEST = _TOLERANCE * math.sqrt(chdtri(_N_RESIDUALS, _FALSE_ALARM) / _N_RESIDUALS)

# The same of the median of their absolute values, as the standard deviation of a Gaussian.
_MEDIAN = ndtri(0.75)
_LARGEST_ROBUST = (
    _TOLERANCE
    * -ndtri(0.5 * bdtri(_N_RESIDUALS // 2 - 1, _N_RESIDUALS, 1.0 - _FALSE_ALARM))
    / _MEDIAN
)


@dataclass(frozen=True, eq=False)
class Calibration(Part):
    """Calibration of a run's predictions, with one warning if the latest residuals are too large.

    In a residual r_i = (y_i − μ_i) / s_i, μ_i and s_i² are mean and variance of y_i, with noise,
    given all observations before it. If the model is right, y_i given these is Gaussian with this
    mean and variance, whatever queries were made. So the r_i are standard normal and independent,
    and the sum of 50 squares has the chi-squared distribution with 50 degrees of freedom. It
    exceeds q = 113 with probability 1e-6. The bound is 1.2² q = 162, a root mean square of 1.8. If
    the s_i are too small by a factor of at most 1.2, a test gives a false alarm with probability at
    most 1e-6, and a run of n observations with probability at most 1e-6 n. With the right s_i a
    test has 1e-13. To save time, a test is made only when the latest residual is above 1.8.

    With ``robust=True`` the model expects outliers, and the median of the |r_i| is tested. It
    exceeds 1.3 with probability 1e-6, and the bound is 1.2 times that.

    Small residuals do not warn. They are usual, below 0.5, where the function is smoother than the
    model or has no noise, and only cost exploration.

    Attributes
    ----------
    has_warned : bool
    """

    has_warned: bool = False

    name = "calibration"

    @classmethod
    def begun(cls, config):
        return cls()

    def told(self, run, after, told):
        if self.has_warned or told.y is None:
            return self
        last = after.history.log[-1]
        if last.predicted is None:
            return self
        mean, std = last.predicted
        if not abs(last.y - mean) > _LARGEST * std:
            return self
        latest = after.history.latest(_N_RESIDUALS)
        predicted = [entry.predicted for entry in latest]
        if len(latest) < _N_RESIDUALS or None in predicted:
            return self
        residuals = [(entry.y - mean) / std for entry, (mean, std) in zip(latest, predicted)]
        size, largest, kind = math.sqrt(np.mean(np.square(residuals))), _LARGEST, "root mean square"
        if after.outlier_weights:
            size, largest, kind = np.median(np.abs(residuals)) / _MEDIAN, _LARGEST_ROBUST, "median"
        if not size > largest:
            return self
        message = (
            f"The last {_N_RESIDUALS} observations differ from their predictions by {size:.3g} "
            f"times the predicted standard deviation ({kind}): the surrogate is "
            f"overconfident. {_remedies(run)} to_frame() has predictions and residuals."
        )
        logger.warning(message, extra={"sktvbo": {"event": "miscalibrated", "rms": float(size)}})
        warn_caller(message, OverconfidenceWarning)
        return replaced(self, has_warned=True)

    def continued(self, run, new, change):
        return run.part(self.name)


def _remedies(run):
    """Return what may help an overconfident run, as sentences: of parameters that it has."""
    known, found = run.algorithm.get_params(deep=False), []
    if known.get("seasonal_periods", "") is None:
        found.append("If y has a daily or another period, give seasonal_periods.")
    if known.get("robust") is False:
        found.append("If single values are far from all others, use robust=True.")
    if known["surrogate"] is not None:
        found.append(
            "Let the surrogate learn the noise (noise_variance_bounds), or give it a larger "
            "noise_variance, or a temporal kernel with a shorter lengthscale."
        )
    found.append("Tell the noise of single values, where it is known, as y_variance.")
    if type(run.policy) is KeepAll:
        found.append("If the function changes or jumps, take an algorithm that forgets: WDBO.")
    return " ".join(found)


# Queries that are passed over before the warning.
_MANY = 10


@dataclass(frozen=True, eq=False)
class Unanswered(Part):
    """Pending queries that were passed over by observations which answer none.

    Such an observation has the time of a query and another place, as what a motor reads back, or
    its place and another time, that of the measurement. It passes over the latest query of its
    time, or else of its place. An observation beside the run does so as well.

    Attributes
    ----------
    passed : tuple of int
        Ids of these queries.
    has_warned : bool
    """

    passed: tuple = ()
    has_warned: bool = False

    name = "unanswered"

    @classmethod
    def begun(cls, config):
        return cls()

    def told(self, run, after, told):
        if told.query is not None or self.has_warned:
            return self
        pending = after.pending_now
        left = [query for query in pending if query.id not in self.passed]
        earlier = [query for query in left if query.t <= told.t]
        found = of_time(left, told.t, after.begin) or at_place(after.domain, told.x, earlier)
        if not found:
            return self
        known = {query.id for query in pending}
        passed = (*(i for i in self.passed if i in known), found[-1].id)
        if len(passed) < _MANY:
            return replaced(self, passed=passed)
        warn_caller(
            f"{_MANY} queries are pending whose times or places were told, but not both: "
            "tell(x, y, t) answers a query of the time t, and x may be rounded by a hundredth of "
            "each range. Other queries keep away from pending ones. Tell the handle of suggest(t): "
            "tell(query, y), with t=... for the time of the measurement and x=... for what was "
            "set. If these observations are beside the run, ignore this.",
            UnansweredQueryWarning,
        )
        return replaced(self, passed=(), has_warned=True)

    def continued(self, run, new, change):
        return run.part(self.name)
