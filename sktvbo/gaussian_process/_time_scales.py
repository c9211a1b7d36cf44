"""Time scales of the kernels and noise models that have rates, compared with the data's times.

A rate is per unit of time: its time scale is 1 over it, up to a factor. ``_hyperparameters``
compares lengthscales, and ``_fit_warnings`` periods.
"""

from typing import NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.gaussian_process.kernels import (
    RBF,
    DotProduct,
    ExpSineSquared,
    RationalQuadratic,
    WhiteKernel,
)

from .._values import extents_of_most
from ..kernels import Forgetting, Wiener
from ._hyperparameters import MOST, leaves

# A time scale is far from the times if these are more than the first number of it apart, or span
# less than the second.
_TOO_SHORT, _TOO_LONG = 10.0, 1e-3

# Unknown kernels and noise models are evaluated at ages from and to these multiples of the interval
# and of the span of the times.
_FIRST_AGE, _LAST_AGE, _N_AGES = 1e-3, 1e15, 800

# Kernels whose parameters are no rates.
_WITHOUT_RATES = (RBF, RationalQuadratic, ExpSineSquared, DotProduct, WhiteKernel)

# Default bounds, which follow the times: up to lengthscales of this many spans. Where the given
# start is far from the times, searches start at the second fraction of their extent.
_DEFAULT_BOUNDS = {Forgetting: (1e-4, 0.9), Wiener: (1e-5, 1e1)}
_SLOWEST, _START = 200.0, 0.25

# 1 - ε must be no rounding error.
_LARGEST_EPSILON = 1.0 - 1e-10


class Rate(NamedTuple):
    """Rate of a kernel or noise model in time.

    Attributes
    ----------
    part : str
        Kernel or noise model, as in the names of hyperparameters.
    name : str
        Name of the parameter; that of the part if its parameters are unknown.
    value : object
        Value as shown to users.
    scale : float
        Time scale in units of the times; infinite if nothing changes.
    """

    part: str
    name: str
    value: object
    scale: float


def rates(covariance, rows):
    """Return the `Rate` of each kernel and noise model in time that has one.

    Parameters
    ----------
    covariance : SeparableCovariance
    rows : Rows
    """
    found, model = [], covariance.noise_model
    kernels = [
        (part, kernel)
        for part, kernel, _ in leaves(covariance, rows)
        if not (part.startswith("spatial") or isinstance(kernel, _WITHOUT_RATES))
    ]
    if not kernels and model is None:
        return found
    interval, span = interval_and_span(rows.t)
    ages = np.geomspace(_FIRST_AGE * interval, _LAST_AGE * span, _N_AGES)
    for part, kernel in kernels:
        if isinstance(kernel, Forgetting):
            found.append(Rate(part, f"{part}__epsilon", kernel.epsilon, _scale(kernel)))
        elif isinstance(kernel, Wiener):
            name = f"{part}__drift_variance"
            found.append(Rate(part, name, kernel.drift_variance, _scale(kernel)))
        elif kernel.is_stationary():
            found.append(Rate(part, part, kernel, _decay_time(kernel, ages)))
    if model is not None:
        names, name, value = list(model.bounds_by_name()), "noise_model", model
        if len(names) == 1:
            name, value = f"noise_model__{names[0]}", getattr(model, names[0])
        scale = _first(ages, np.asarray(model.ratio(ages)) >= 2.0)
        found.append(Rate("noise_model", name, value, scale))
    return found


def far_rates(covariance, rows, learnt):
    """Return names, values and scales of the rates far from the times that are not learnt."""
    if not np.ptp(rows.t):
        return []
    held = [
        rate
        for rate in rates(covariance, rows)
        if not any(name.startswith(f"{rate.part}__") for name in learnt)
    ]
    return [(r.name, r.value, r.scale) for r in held if is_far(r.scale, rows.t)]


def starts_early(kernel, t):
    """Return True if a `Wiener` kernel starts so early that times (n,) show no change of it."""
    return 0.0 < np.ptp(t) < _TOO_LONG * (t.min() - kernel.start)


def is_far(scale, t):
    """Return True if a time scale is far from the times (n,)."""
    interval, span = interval_and_span(t)
    return scale < interval / _TOO_SHORT or span / _TOO_LONG < scale < np.inf


def interval_and_span(t):
    """Return the median interval and the span of the distinct times (n,); ones of a single time."""
    gaps = np.diff(np.unique(t))
    return (float(np.median(gaps)), float(gaps.sum())) if gaps.size else (1.0, 1.0)


def _scale(kernel):
    """Return the time scale of a kernel of the package with a rate."""
    kernel.check()
    return kernel.length_scale if isinstance(kernel, Forgetting) else 1.0 / kernel.drift_variance


def _decay_time(kernel, ages):
    """Return the first of the ages at which a stationary kernel has decayed to 1/e of age 0."""
    now = np.zeros((1, 1))
    decayed = np.abs(kernel(now, ages[:, np.newaxis])[0]) <= np.exp(-1.0) * kernel.diag(now)[0]
    return np.inf if decayed[0] else _first(ages, decayed)  # noise has no time scale


def _first(ages, mask):
    """Return the first of the ages at which a mask is true, infinity if it never is."""
    return float(ages[np.argmax(mask)]) if mask.any() else np.inf


# --- bounds that follow the times -----------------------------------------------------------------


def _with_default_bounds(kernel):
    """Return the parts of a kernel, or of None, whose rates have the default bounds."""
    inner = [getattr(kernel, key) for key in ("k1", "k2", "kernel") if hasattr(kernel, key)]
    if inner:
        return [part for one in inner for part in _with_default_bounds(one)]
    kind = type(kernel)
    if kind not in _DEFAULT_BOUNDS:
        return []
    bounds = kernel.epsilon_bounds if kind is Forgetting else kernel.drift_variance_bounds
    return [kernel] * (not isinstance(bounds, str) and tuple(bounds) == _DEFAULT_BOUNDS[kind])


def follows_times(kernel):
    """Return True if bounds of a kernel, or of None, follow the times."""
    return bool(_with_default_bounds(kernel))


def follow_times(kernel, t):
    """Return a kernel whose default bounds of rates are widened to what times (n,) can show.

    A start far from the times moves to their scale. Without default bounds the kernel is returned.
    """
    if not follows_times(kernel):
        return kernel
    new, (interval, span) = clone(kernel), interval_and_span(t)
    longest = _SLOWEST * max(interval, span)
    for part in _with_default_bounds(new):
        low, high = _DEFAULT_BOUNDS[type(part)]
        scale, is_moved = _scale(part), is_far(_scale(part), t)
        if is_moved:
            extent = extents_of_most(t[:, np.newaxis], MOST)[0] or span
            scale = float(np.clip(_START * extent, interval, longest))
        if isinstance(part, Forgetting):
            slowest, fastest = -np.expm1(-2.0 / np.array([longest, interval]))
            part.epsilon_bounds = min(low, slowest), max(high, min(fastest, _LARGEST_EPSILON))
            part.epsilon = -np.expm1(-2.0 / scale) if is_moved else part.epsilon
        else:
            part.drift_variance_bounds = min(low, 0.2 / longest), max(high, 10.0 / interval)
            part.drift_variance = 1.0 / scale if is_moved else part.drift_variance
    return new
