"""One climb after another, with the same steps, in NumPy."""

import numpy as np
from scipy.optimize import lsq_linear

FIRST, LONGEST, SUFFICIENT, ROUNDING = 0.5, 2.0, 1e-4, 4.0 * np.finfo(float).eps
MAX_TURNS, MAX_SHORTER, MAX_LITTLE, LITTLE = 200, 15, 5, 1e-10


def towards_the_maximum(x, g, B, upper):
    """Return the step to the maximum of the quadratic model over the box."""
    p, held = np.zeros_like(x), ((x <= 0.0) & (g <= 0.0)) | ((x >= upper) & (g >= 0.0))
    while not held.all():
        free = ~held
        rest = g[free] - B[np.ix_(free, held)] @ p[held]
        p[free] = np.linalg.solve(B[np.ix_(free, free)], rest)
        beyond = free & ((x + p < 0.0) | (x + p > upper))
        if not beyond.any():
            break
        p[beyond] = np.clip(x + p, 0.0, upper)[beyond] - x[beyond]
        held |= beyond
    return p


def follow(B, s, y, is_first):
    if is_first and s @ y > 0.0:
        B = (y @ y) / (s @ y) * np.eye(len(s))
    Bs = B @ s
    if s @ y < 0.2 * (s @ Bs):
        part = 0.8 * (s @ Bs) / (s @ Bs - s @ y)
        y = part * y + (1.0 - part) * Bs
    return B + np.outer(y, y) / (s @ y) - np.outer(Bs, Bs) / (s @ Bs)


def climb(function, x, upper, gain):
    """Return place, value and number of evaluations; ``function`` gives value and gradient."""
    value, g = function(x)
    first, turns, little, reach, updates, B = value, 1, 0, LONGEST, 0, None
    while True:
        if updates == 0:
            B = max(np.linalg.norm(g) / FIRST, 1e-3) * np.eye(len(x))
        p = towards_the_maximum(x, g, B, upper)
        if not g @ p >= 0.0:
            B, updates = max(np.linalg.norm(g) / FIRST, 1e-3) * np.eye(len(x)), 0
            p = towards_the_maximum(x, g, B, upper)
        norm, slope = np.linalg.norm(p), g @ p
        if norm <= reach:
            length, reach = 1.0, LONGEST
        else:
            length = reach / norm
        if not slope > max(gain, ROUNDING * abs(value)):
            return x, value, turns
        for shorter in range(MAX_SHORTER + 1):
            trial = np.clip(x + length * p, 0.0, upper)
            found, gradient = function(trial)
            turns += 1
            gained = found - value
            if gained >= SUFFICIENT * length * slope:
                break
            if turns == MAX_TURNS or shorter == MAX_SHORTER:
                return x, value, turns
            part = 0.5 * length * slope / (length * slope - gained)
            length *= np.clip(part, 0.1, 0.5)
        B = follow(B, trial - x, g - gradient, updates == 0)
        updates += 1
        x, value, g = trial, found, gradient
        reach = LONGEST if shorter else 2.0 * reach
        little = 0 if gained > LITTLE * max(1.0, value - first) else little + 1
        if little == MAX_LITTLE or turns == MAX_TURNS or gained <= ROUNDING * abs(value):
            return x, value, turns


def model_minimum(H, slope, low, high):
    """Return the minimizer of ½ sᵀ H s + gᵀ s over a box around 0, by bounded least squares."""
    step, free = np.zeros(len(slope)), low < high
    if free.any():
        R = np.linalg.cholesky(H[np.ix_(free, free)]).T
        target = -np.linalg.solve(R.T, slope[free])
        step[free] = lsq_linear(R, target, (low[free], high[free]), "bvls", tol=1e-15).x
    return step
