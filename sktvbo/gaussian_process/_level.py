"""Search for a level that all inputs share, for the advice after a fit.

Readings of a sensor whose calibration drifts, or under the same weather, are the sum of a function
of the input and of one of time. A product of kernels has no such sum: each input has its own change
in time, and a common change needs long lengthscales in space.
"""

from operator import itemgetter

import numpy as np
from sklearn.gaussian_process.kernels import ConstantKernel, Matern

from ._composite import summands
from ._exact_posterior import Dense
from ._hyperparameters import Objective, canonical_subset, with_entries
from ._quasi_newton import completed, minimize
from ._time_scales import interval_and_span

# A level must be likelier by this much, in nats: very strong evidence (R. Kass, A. Raftery, "Bayes
# Factors", Journal of the American Statistical Association 1995).
GAIN = 5.0

# A level is searched from the first number of rows on, and on a subset of at most the second.
_MIN_ROWS, _MAX_ROWS = 50, 150

# Lengthscales at which a level is compared: of space, relative to those of the fit, and of the
# level, relative to the span of the times.
_IN_SPACE, _OF_LEVEL = (0.8, 0.3, 0.1), 0.4

# A short search follows where at most the first number of nats is missing, or the second if a
# default kernel has a rough part, which a level can cause. It ends when its model predicts a
# smaller gain than the last number.
_CLOSE, _CLOSE_ROUGH, _LEAST_GAIN = 2.0, 50.0, 1.0

# A function with a lengthscale of this many spans hardly changes; STATIC is the kernel in time of
# one that does not change.
_SLOW, STATIC = 3.0, ConstantKernel(1.0, "fixed")


def with_level(covariance, rows, is_default):
    """Return a covariance with a level that all inputs share.

    Parameters
    ----------
    covariance : SeparableCovariance
        Without a level, and with the likeliest hyperparameters.
    rows : Rows
    is_default : bool
        True if the kernel in time is the default one: the level replaces its rough part.

    Returns
    -------
    shared : SeparableCovariance or None
        None with too few rows, or if the rows cannot show a level.
    is_static : bool
        True if its kernel in time is `STATIC`: apart from the level f hardly changes.
    """
    if rows.n < _MIN_ROWS or not np.ptp(rows.S, axis=0).any() or not np.ptp(rows.t):
        return None, False
    interval, span = interval_and_span(rows.t)
    temporal = summands(covariance.temporal)[0] if is_default else covariance.temporal
    is_static = is_default and bool(temporal.length_scale > _SLOW * span)
    temporal = STATIC if is_static else temporal
    level = 1.0 * Matern(max(_OF_LEVEL * span, interval), (interval, 10.0 * span), nu=0.5)
    kernels = covariance.spatial, temporal, covariance.n_dims, level
    return covariance.with_kernels(*kernels), is_static


def likely_level(covariance, shared, rows):
    """Return the level of a covariance, if it is likelier on a subset of the rows by `GAIN`.

    Parameters
    ----------
    covariance, shared : SeparableCovariance
        Without and with the level, see `with_level`.
    rows : Rows

    Returns
    -------
    level : Kernel or None
        Start of a search, with numbers of two digits.
    """
    criterion = Dense.criterion(canonical_subset(rows, _MAX_ROWS))
    objective, value = Objective(criterion, shared, None), -criterion(covariance, False)[0]
    values = [(objective.value(theta, False), theta) for theta in _starts(shared, rows)]
    lowest, theta = min(values, key=itemgetter(0))
    had_rough = len(summands(covariance.temporal)) > len(summands(shared.temporal))
    if not lowest < value + (_CLOSE_ROUGH if had_rough else _CLOSE):
        return None
    options = {"least_gain": _LEAST_GAIN, "to_reach": value - GAIN}
    known = objective.value, objective.slope, theta, objective.bounds
    found = completed(minimize(*known, hessian=objective.information, **options))
    return _rounded(shared.with_theta(found.x).level) if found.value < value - GAIN else None


def _starts(covariance, rows):
    """Return theta (3, n_theta) with the variance of y, at some lengthscales in space."""
    power = np.var(rows.targets) or 1.0
    theta = with_entries(covariance, covariance.theta, "signal_variance", power)
    in_space = np.array([name.startswith("spatial") for name in covariance.names])
    return np.clip(theta + np.log(_IN_SPACE)[:, np.newaxis] * in_space, *covariance.bounds.T)


def _rounded(level):
    """Return a level with numbers of two digits, as a warning shows them."""
    kernel, low, high = level.k2, *level.k2.length_scale_bounds
    given = (level.k1.constant_value, kernel.length_scale, low, high)
    variance, length_scale, low, high = (float(f"{number:.2g}") for number in given)
    return variance * Matern(np.clip(length_scale, low, high), (low, high), nu=kernel.nu)
