"""Minimization of an expensive smooth function of few variables over a box, in parts.

Quasi-Newton: the model ½ sᵀ H s + gᵀ s around the best point has the BFGS approximation H of the
Hessian. It is minimized over the box and within _MAX_STEP of that point. A backtracking line search
follows. The search stops when the model predicts little gain. H is an argument and a result: a
slightly changed function is minimized in one or two evaluations.
"""

from dataclasses import dataclass
from functools import partial
from math import hypot

import numpy as np

from .._fast.ascent import model_minimum

# A step changes no variable by more than this.
_MAX_STEP = 2.0

# Maximum numbers of steps, and of evaluations in one line search.
_MAX_STEPS, _MAX_TRIALS = 200, 20

# Armijo condition: the decrease is at least this share of the one predicted by the slope.
_ARMIJO = 1e-4

# A search that has to reach a value is given up if the missing gain is more than this many times
# the predicted one, after this number of steps: before, the Hessian is that of another point.
_HOPELESS, _TRUSTED_STEPS = 10.0, 2

# The model has no smaller eigenvalue than this part of its trace: where the function is flat,
# damping after damping would leave only rounding, of any sign.
_RESOLUTION = 1e-13


@dataclass(frozen=True, eq=False)
class Minimum:
    """Result of a minimization.

    Attributes
    ----------
    x : ndarray of shape (p,)
    value : float
    slope : ndarray of shape (p,)
    hessian : ndarray of shape (p, p) or None
        BFGS approximation at x; None if there was no update.
    first_value : float
        Value at the start.
    message : str
        Reason of an early stop; empty after convergence.
    """

    x: np.ndarray
    value: float
    slope: np.ndarray
    hessian: np.ndarray | None
    first_value: float
    message: str = ""


def minimize(
    value_at,
    slope_at,
    start,
    bounds,
    *,
    hessian=None,
    least_gain=1e-6,
    max_steps=_MAX_STEPS,
    to_reach=np.inf,
):
    """Minimize a function over a box: a computation in parts, see `completed`.

    Its parts are the calls of ``value_at``, of ``slope_at`` at accepted points, and of ``hessian``.

    Parameters
    ----------
    value_at : callable, (p,) -> float
        An infinite value, or NaN, makes the search turn back.
    slope_at : callable, (p,) -> gradient (p,)
    start : ndarray of shape (p,), or Minimum
        Point in the box; the result of an earlier search is continued, with its Hessian.
    bounds : ndarray of shape (p, 2)
    hessian : ndarray of shape (p, p), or callable, (p,) -> such an array or None, default=None
        Positive definite approximation, or a function of the start; None: unknown.
    least_gain : float, default=1e-6
        Stop when the model predicts a smaller gain.
    max_steps : int, default=200
    to_reach : float, default=inf
        Stop if a value below this one is unlikely to be reached.

    Returns
    -------
    Minimum
        Its x is the point of the last evaluation, unless the last line search failed.
    """
    lowest, highest = bounds.T
    if isinstance(start, Minimum):
        x, value, slope, H = start.x, start.value, start.slope, start.hessian
        first = start.first_value
    else:
        x, H = start, hessian
        value = first = yield partial(value_at, x)
        slope = yield partial(slope_at, x)
        if callable(hessian):
            H = yield partial(hessian, x)
    if not (np.isfinite(value) and np.isfinite(slope).all()):
        return Minimum(x, value, slope, H, first, "the function is not finite at the start")
    for n_steps in range(max_steps):
        model = np.eye(len(x)) * max(hypot(*slope), 1.0) if H is None else H
        low, high = np.maximum(lowest - x, -_MAX_STEP), np.minimum(highest - x, _MAX_STEP)
        step = model_minimum(model, slope, low, high)
        fall = -(slope @ step)
        gain = fall - 0.5 * (step @ model @ step)
        if gain <= least_gain:
            return Minimum(x, value, slope, H, first)
        if n_steps >= _TRUSTED_STEPS and value - to_reach > _HOPELESS * gain:
            return Minimum(x, value, slope, H, first, "given up")
        rate = 1.0
        for _ in range(_MAX_TRIALS):
            # The sum may leave the box by rounding.
            there = np.minimum(np.maximum(x + rate * step, lowest), highest)
            trial_value = yield partial(value_at, there)
            if trial_value <= value - _ARMIJO * rate * fall:
                break
            rate *= _backtracking_factor(trial_value, value, rate * fall)
        else:
            if H is None:
                message = "no descent along the gradient"
                return Minimum(x, value, slope, H, first, message)
            H = None  # inaccurate: try the gradient
            continue
        gradient = yield partial(slope_at, there)
        if np.array_equal(there, x):  # the step is below rounding
            return Minimum(x, value, slope, H, first)
        if not np.isfinite(gradient).all():
            return Minimum(x, value, slope, H, first, "the gradient is not finite")
        H = bfgs_update(model, there - x, gradient - slope, fresh=H is None)
        x, value, slope = there, trial_value, gradient
    return Minimum(x, value, slope, H, first, f"no convergence in {max_steps} steps")


def predicted_gain(slope, hessian, x, bounds):
    """Return the decrease within a box predicted by the quadratic model at x, with slope (p,)."""
    low, high = np.clip(bounds.T - x, -_MAX_STEP, _MAX_STEP)
    step = model_minimum(hessian, slope, low, high)
    return float(-(slope @ step) - 0.5 * (step @ hessian @ step))


def bfgs_update(H, step, change, fresh):
    """Return the damped BFGS update of H by the gradient's change along a step (Powell 1978).

    A ``fresh`` H is first scaled to the curvature along the step. H is returned as it is if the
    update were not positive definite up to rounding.
    """
    curvature = step @ change
    if fresh and curvature > 0.0:
        H = np.eye(len(step)) * (change @ (change / curvature))
    Hs = H @ step
    model = step @ Hs
    if not model > 0.0:
        return H
    if curvature < 0.2 * model:
        share = 0.8 * model / (model - curvature)
        change = share * change + (1.0 - share) * Hs
        curvature = step @ change
    # Divided first: products of two slopes may overflow.
    updated = H - Hs[:, np.newaxis] * (Hs / model) + change[:, np.newaxis] * (change / curvature)
    least = np.linalg.eigvalsh(updated)[0]
    return updated if least > _RESOLUTION * np.trace(updated) else H


def _backtracking_factor(trial_value, value, fall):
    """Return the factor for a step that is too long: minimum of the parabola, in [0.1, 0.5]."""
    excess = trial_value - value + fall
    if not np.isfinite(excess):
        return 0.1
    return float(np.clip(0.5 * fall / excess, 0.1, 0.5))


# --- computations in parts ------------------------------------------------------------------------


def completed(computation):
    """Compute all parts of a computation; return its result.

    A computation is a generator, so that a search can be spread over several steps. It yields its
    expensive parts, functions without arguments, and is sent their results. Cheap code between the
    parts is its own; a part changes nothing that another one needs, so that parts whose results are
    known can be left out.
    """
    result = None
    while True:
        try:
            part = computation.send(result)
        except StopIteration as end:
            return end.value
        result = part()


def next_part(computation, result=None):
    """Send the result of a part; return the next part and None, or None and the final result."""
    try:
        return computation.send(result), None
    except StopIteration as end:
        return None, end.value
