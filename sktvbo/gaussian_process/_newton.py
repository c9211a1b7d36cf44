"""Minimization over a box of a smooth function of few variables that costs much to evaluate.

Quasi-Newton: a model ½ sᵀ H s + gᵀ s of the function around the best place, with the BFGS
approximation H of its Hessian, is minimized over the box and within _LONGEST of that place; then a
line search goes as far as it pays. What the model promises to gain decides when to stop. H is
handed in and out: a function that has changed a little is minimized in one or two evaluations.
"""

from dataclasses import dataclass

import numpy as np

from .._fast.ascent import model_minimum

# A step changes no variable by more than this.
_LONGEST = 2.0

# At most so many steps, and evaluations on the way of one.
_MAX_STEPS, _MAX_TRIALS = 200, 20

# Of the fall that the slope promises, this share has to come true.
_ENOUGH = 1e-4


@dataclass(frozen=True, eq=False)
class Minimum:
    """Where a search has ended.

    Attributes
    ----------
    x : ndarray of shape (p,)
    value : float
    slope : ndarray of shape (p,)
    hessian : ndarray of shape (p, p) or None
        The approximation there; None if nothing was learnt of it.
    n_evaluations : int
    trouble : str
        What has stopped the search before it was over; empty if nothing has.
    """

    x: np.ndarray
    value: float
    slope: np.ndarray
    hessian: np.ndarray | None
    n_evaluations: int
    trouble: str = ""


def minimize(function, start, bounds, *, hessian=None, least_gain=1e-6):
    """Minimize a function over a box.

    Parameters
    ----------
    function : callable, (p,) -> (value, gradient (p,))
        An infinite value, or NaN, makes the search turn back. In place of the gradient may be a
        function that returns it: of places that are no better it is not called.
    start : ndarray of shape (p,)
        In the box.
    bounds : ndarray of shape (p, 2)
    hessian : ndarray of shape (p, p), or callable, default=None
        Positive definite; None: nothing is known. Or what returns it after the first evaluation.
    least_gain : float, default=1e-6
        The search ends when the model promises no more than this.

    Returns
    -------
    Minimum
        The last evaluation was there, unless no step was any better.
    """
    lowest, highest = bounds.T
    x, (value, slope) = start, function(start)
    slope = slope() if callable(slope) else slope
    n_evaluations, H = 1, hessian() if callable(hessian) else hessian
    if not np.isfinite(value):
        return Minimum(x, value, slope, H, n_evaluations, "there is no value at the start")
    for _ in range(_MAX_STEPS):
        model = np.eye(len(x)) * max(np.linalg.norm(slope), 1.0) if H is None else H
        low, high = np.maximum(lowest - x, -_LONGEST), np.minimum(highest - x, _LONGEST)
        step = model_minimum(model, slope, low, high)
        fall = -(slope @ step)
        if fall - 0.5 * (step @ model @ step) <= least_gain:
            return Minimum(x, value, slope, H, n_evaluations)
        rate = 1.0
        for _ in range(_MAX_TRIALS):
            # The sum may leave the box by rounding.
            there = np.minimum(np.maximum(x + rate * step, lowest), highest)
            found, gradient = function(there)
            n_evaluations += 1
            if found <= value - _ENOUGH * rate * fall:
                break
            rate *= _shorter(found, value, rate * fall)
        else:
            if H is None:
                return Minimum(x, value, slope, H, n_evaluations, "no step along the slope helps")
            H = None  # it has misled
            continue
        gradient = gradient() if callable(gradient) else gradient
        if np.array_equal(there, x):  # the step is lost in rounding
            return Minimum(x, value, slope, H, n_evaluations)
        H = updated(model, there - x, gradient - slope, fresh=H is None)
        x, value, slope = there, found, gradient
    return Minimum(x, value, slope, H, n_evaluations, f"{_MAX_STEPS} steps were not enough")


def promise(slope, hessian, x, bounds):
    """What a model of the function promises to gain within a box, from its gradient (p,) at x."""
    low, high = np.clip(bounds.T - x, -_LONGEST, _LONGEST)
    step = model_minimum(hessian, slope, low, high)
    return float(-(slope @ step) - 0.5 * (step @ hessian @ step))


def updated(H, step, change, fresh):
    """The BFGS update of H by the gradient's change along a step, damped (Powell 1978).

    A ``fresh`` H is first scaled to the curvature along the step.
    """
    curvature = step @ change
    if fresh and curvature > 0.0:
        H = np.eye(len(step)) * (change @ change / curvature)
    Hs = H @ step
    model = step @ Hs
    if curvature < 0.2 * model:
        share = 0.8 * model / (model - curvature)
        change = share * change + (1.0 - share) * Hs
        curvature = step @ change
    return H - Hs[:, np.newaxis] * Hs / model + change[:, np.newaxis] * change / curvature


def _shorter(found, value, fall):
    """By what to multiply a step that was too long: to the minimum of the parabola, or nearly."""
    excess = found - value + fall
    if not np.isfinite(excess):
        return 0.1
    return float(np.clip(0.5 * fall / excess, 0.1, 0.5))
