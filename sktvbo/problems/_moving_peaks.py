"""Moving peaks of varying height and width, in any number and dimension."""

import math

import numpy as np

from .._validation import check_choice, check_int, check_real, invalid
from ._base import STEP_SLACK, Problem, by_parts, seed_of_function
from ._registry import register

_SIDE = 100.0


def _check_range(pair, name, owner):
    """Return the pair (low, high) as floats, 0 < low <= high."""
    values = np.asarray(pair)
    if values.shape == (2,) and values.dtype.kind in "iuf":
        low, high = values.tolist()
        if 0.0 < low <= high < math.inf:
            return float(low), float(high)
    raise invalid(name, "a pair 0 < low <= high", pair, owner)


def _reflect(values, steps, low, high):
    """Return values plus steps, reflected at the ends of [low, high], and the steps' signs."""
    fixed = low == high
    width = np.where(fixed, 1.0, high - low)
    folds, offset = np.divmod(values + np.where(fixed, 0.0, steps) - low, width)
    turned = folds % 2.0 == 1.0
    return low + np.where(turned, width - offset, offset), np.where(turned, -1.0, 1.0)


def _unit(V):
    """Return rows (n, d) scaled to length 1; zero stays zero."""
    norms = np.linalg.norm(V, axis=1, keepdims=True)
    return np.divide(V, norms, out=np.zeros_like(V), where=norms > 0.0)


def _history(n, n_peaks, low, high, severities, correlation, rng):
    """Return the peaks (n, n_peaks, 2 + n_dims) after each change: height, steepness, centre."""
    *scales, shift = severities
    table = np.empty((n, n_peaks, len(low)))
    table[0] = low + (high - low) * rng.uniform(size=table[0].shape)
    directions = _unit(rng.standard_normal((n_peaks, len(low) - 2)))
    for k in range(1, n):
        steps = rng.standard_normal(table[k].shape)
        steps[:, :2] *= scales
        new = _unit(steps[:, 2:])
        directions = _unit((1.0 - correlation) * new + correlation * directions)
        steps[:, 2:] = shift * directions
        table[k], signs = _reflect(table[k - 1], steps, low, high)
        directions *= signs[:, 2:]
    return table


class MovingPeaks(Problem):
    r"""Stay on the highest of several moving peaks.

    .. math:: f(x, t) = \max_p \, h_p - w_p \lVert x - c_p \rVert \quad\text{(cones), or}\quad
        \max_p \, h_p \exp\left(-\tfrac12 (w_p \lVert x - c_p \rVert / h_p)^2\right)

    on [0, 100]^d, where the heights h, the steepnesses w and the centres c change with time. The
    maximizer is exactly the highest centre.

    At each change a height gets a Gaussian step of ``height_severity``, a steepness one of
    ``width_severity``, and a centre a step of length ``shift_severity`` in the direction of
    (1 - λ) r + λ v. Here r is a random step of that length, v the centre's last one and λ the
    ``correlation``. All are reflected at the ends of their ranges.

    Parameters
    ----------
    n_peaks : int, default=10
    n_dims : int, default=2
    shape : {"cone", "gaussian"}, default="cone"
        A Gaussian's standard deviation, h / w, is the radius at which the cone reaches zero.
    heights : (float, float), default=(30.0, 70.0)
    widths : (float, float), default=(1.0, 12.0)
        Range of the steepnesses, which Branke calls widths.
    shift_severity : float, default=1.0
        Distance that each centre moves per change. The side of the domain is 100.
    height_severity : float, default=7.0
    width_severity : float, default=1.0
    correlation : float in [0, 1], default=0.0
        0: each step has a new direction; 1: straight movement.
    change_every : float, default=10.0
        Steps between changes.
    smooth : bool, default=False
        Between two changes, False: all is constant; True: heights, steepnesses and centres are
        interpolated linearly.
    horizon : float, default=500.0
        In steps. All peaks are stored: 8 (``n_dims`` + 2) bytes per peak and change.
    noise_variance : float, default=1.0
    random_state : int, RandomState, Generator or None, default=None
        Random state of the peaks and, by a separate stream, of the noise. A longer horizon
        continues the movements of a shorter one.

    Notes
    -----
    The moving peaks benchmark of Branke (1999), "Memory enhanced evolutionary algorithms for
    changing optimization problems", with the ranges and the severities of its second scenario. The
    Gaussians, the linear interpolation and the noise are additions. Centres start uniform in the
    domain, heights and steepnesses uniform in their ranges.

    Examples
    --------
    >>> from sktvbo import problems
    >>> problem = problems.make("moving-peaks", n_peaks=50, n_dims=5, random_state=0)
    >>> x_star, f_star = problem.optimum(250.0)
    >>> x_star.shape, bool(30.0 <= f_star <= 70.0)
    ((5,), True)
    """

    def __init__(
        self,
        *,
        n_peaks=10,
        n_dims=2,
        shape="cone",
        heights=(30.0, 70.0),
        widths=(1.0, 12.0),
        shift_severity=1.0,
        height_severity=7.0,
        width_severity=1.0,
        correlation=0.0,
        change_every=10.0,
        smooth=False,
        horizon=500.0,
        noise_variance=1.0,
        random_state=None,
    ):
        n_peaks = check_int(n_peaks, "n_peaks", self)
        n_dims = check_int(n_dims, "n_dims", self)
        self._shape = check_choice(shape, ("cone", "gaussian"), "shape", self)
        ranges = _check_range(heights, "heights", self), _check_range(widths, "widths", self)
        named = {"height": height_severity, "width": width_severity, "shift": shift_severity}
        severities = [
            check_real(severity, f"{name}_severity", self, interval="[0, inf)")
            for name, severity in named.items()
        ]
        correlation = check_real(correlation, "correlation", self, interval="[0, 1]")
        self._change_every = check_real(change_every, "change_every", self, interval="(0, inf)")
        self._smooth = bool(smooth)
        seed = seed_of_function(random_state)
        super().__init__(
            "moving-peaks", [(0.0, _SIDE)] * n_dims, horizon, noise_variance, random_state
        )
        low, high = np.array([*ranges, *[(0.0, _SIDE)] * n_dims]).T
        # The last interpolation needs one state beyond the horizon.
        n = math.floor(self.horizon / self._change_every + STEP_SLACK) + 2
        rng = np.random.RandomState(seed)
        self._table = _history(n, n_peaks, low, high, severities, correlation, rng)

    def _peaks(self, t):
        """Return heights, steepnesses (m, n_peaks), centres (m, n_peaks, n_dims) at times (m,)."""
        position = t / self._change_every
        k = np.floor(position + STEP_SLACK).astype(np.intp)
        peaks = self._table[k]
        if self._smooth:
            u = np.maximum(position - k, 0.0)[:, np.newaxis, np.newaxis]
            peaks = (1.0 - u) * peaks + u * self._table[k + 1]
        return peaks[..., 0], peaks[..., 1], peaks[..., 2:]

    def _values(self, X, t):
        return by_parts(self._highest, X, t, self._table[0].size)

    def _highest(self, X, t):
        h, w, c = self._peaks(t)
        fall = w * np.linalg.norm(X[:, np.newaxis] - c, axis=2)
        if self._shape == "cone":
            return np.max(h - fall, axis=1)
        return np.max(h * np.exp(-0.5 * (fall / h) ** 2), axis=1)

    def _argmax(self, t):
        h, _, c = self._peaks(np.atleast_1d(t))
        return c[0, np.argmax(h[0])]


register("moving-peaks", MovingPeaks)
