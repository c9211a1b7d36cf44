"""A bump with an oscillating centre."""

import numpy as np
from scipy.optimize import brentq

from sktvbo.problems._base import Problem
from sktvbo.problems._registry import register


class MovingBump(Problem):
    r"""Follow a bump whose centre oscillates between -5 and 5.

    .. math:: f(x, t) = \exp(-0.05 (x - 5 \sin 0.1 t)^2) + 0.5 \cos(0.2 x) + 1.5

    on [-50, 50]; time counts steps, and the period is 62.8 steps.

    Parameters
    ----------
    horizon : float, default=500.0
        In steps.
    noise_variance : float, default=0.01
    random_state : int, RandomState, Generator or None, default=None
        Random state of the noise.

    Notes
    -----
    Source: SparQ section 4.1.

    Examples
    --------
    >>> from problems import make
    >>> x_star, f_star = make("moving-bump").optimum(0.0)
    >>> print(x_star, f_star)
    [0.] 3.0
    """

    def __init__(self, *, horizon=500.0, noise_variance=0.01, random_state=None):
        super().__init__("moving-bump", [(-50.0, 50.0)], horizon, noise_variance, random_state)

    def _values(self, X, t):
        x = X[:, 0]
        bump = np.exp(-0.05 * (x - 5.0 * np.sin(0.1 * np.asarray(t))) ** 2)
        return bump + 0.5 * np.cos(0.2 * x) + 1.5

    def _argmax(self, t):
        # Between the cosine's peak at 0 and the bump's centre c both terms pull inwards at the
        # ends, and there is one stationary point; the cosine's other peaks, at 31.4 and beyond,
        # lie 0.7 lower.
        c = 5.0 * np.sin(0.1 * t)

        def slope(x):  # ten times that of f
            return (c - x) * np.exp(-0.05 * (x - c) ** 2) - np.sin(0.2 * x)

        return np.array([brentq(slope, 0.0, c, xtol=1e-13)])


register("moving-bump", MovingBump)
