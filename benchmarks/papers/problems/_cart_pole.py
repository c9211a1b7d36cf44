"""Cart-pole whose bearing wears: tune the gains of a linear controller."""

import numpy as np
from scipy.linalg import expm

from sktvbo._validation import check_real
from sktvbo.acquisition._objective import ScipyClimber
from sktvbo.acquisition._optimize import search
from sktvbo.domain import Box
from sktvbo.problems._base import STEP_SLACK, Problem
from sktvbo.problems._registry import register

_POLE_MASS = 0.0804  # kg
_POLE_LENGTH = 0.147  # m
_FRICTION = 2.2e-3  # N m s, of the bearing
_DRIVE_GAIN, _DRIVE_TIME = 1.0, 1.0  # m/s per unit of input; s
_GRAVITY = 9.81  # m/s^2
_SAMPLING = 0.02  # s
_N_STEPS = 1000  # 20 s
_START = np.array([4.0, 0.0, 0.1, -0.01])  # m, m/s, rad, rad/s
_Q, _R = 10.0 * np.eye(4), 1.0
_GAINS = [(-3.0, -2.0), (-6.0, -4.0), (-50.0, -25.0), (-4.0, -2.0)]
_MAX_FACTOR = 5.0  # some gains of the domain do not stabilize the pole above it


def _dynamics(friction):
    """Return A (4, 4) and b (4,) of z' = A z + b u, exact for a constant input per sample."""
    inertia = _POLE_MASS * _POLE_LENGTH**2 / 3.0  # a thin rod about its end
    lever = 0.5 * _POLE_MASS * _POLE_LENGTH / inertia
    A = np.zeros((5, 5))  # of (z, u), u constant
    A[0, 1] = A[2, 3] = 1.0
    A[1, [1, 4]] = np.array([-1.0, _DRIVE_GAIN]) / _DRIVE_TIME
    A[3] = -lever * A[1]  # the cart's acceleration tips the pole back
    A[3, 2:4] = lever * _GRAVITY, -friction / inertia
    A = expm(_SAMPLING * A)
    return A[:4, :4], A[:4, 4]


def _quadratic(X, M):
    """Return X' M X for stacks of matrices."""
    return np.swapaxes(X, -1, -2) @ M @ X


class CartPole(Problem):
    r"""Tune the gains of a cart-pole's controller while its bearing becomes stiffer.

    The state z is the cart's position and velocity and the pole's angle and angular velocity. For
    small angles, with the drive a first-order lag and the pole a thin rod turning about its end,

    .. math:: \tau \ddot p + \dot p = k u, \qquad
        J \ddot\varphi = \tfrac12 m l (g \varphi - \ddot p) - \mu \dot\varphi, \qquad
        J = \tfrac13 m l^2,

    and the controller u = -x·z is sampled and held. A query is a roll-out of 20 s: 1000 states,
    the first one [4, 0, 0.1, -0.01], the later ones disturbed by independent Gaussians. It yields
    minus the mean of 10 z·z + u² over the states. `value` is its expectation, exact; `observe`
    simulates a roll-out, so the noise differs with the gains, and is not quite Gaussian.

    Parameters
    ----------
    horizon : float, default=300.0
        In steps: roll-outs.
    change_time : float, default=100.0
        The step at which the friction changes.
    friction_factor : float, default=2.5
        Factor of the friction from then on; at most 5, as some gains do not stabilize above.
    process_noise : float, default=6e-4
        Standard deviation of each state's disturbance per sample, in the state's units.
    random_state : int, RandomState, Generator or None, default=None
        Random state of the roll-outs.

    Attributes
    ----------
    noise_variance : float
        Exact variance of the roll-outs at the centre of the domain, before the change.

    Notes
    -----
    Source: ET section 5, after the policy search of Brunzema, von Rohr and Trimpe (2022): the
    domain, m = 0.0804 kg, l = 0.147 m, μ = 2.2e-3 N m s, k = 1, τ = 1 s, 0.02 s between samples.
    Assumed here: g = 9.81 m/s², a thin rod, and a disturbance that enters all four states. The
    infinite-horizon optimal gains are then inside the domain before and after the change, and the
    whole domain stabilizes, up to five times the friction: values lie between -23 and -14.

    ET's objective is normalized, so its regrets compare in order, not in size.

    Examples
    --------
    >>> from problems import make
    >>> problem = make("cart-pole", random_state=0)
    >>> before, after = problem.optimum(0)[0], problem.optimum(100)[0]
    >>> print(before.round(1), after.round(1))
    [ -2.2  -4.7 -27.9  -3.1] [ -2.3  -5.  -31.4  -2.8]
    """

    def __init__(
        self,
        *,
        horizon=300.0,
        change_time=100.0,
        friction_factor=2.5,
        process_noise=6e-4,
        random_state=None,
    ):
        super().__init__("cart-pole", Box(_GAINS), horizon, random_state=random_state)
        self._change_time = check_real(change_time, "change_time", self, interval="(0, inf)")
        interval = f"(0, {_MAX_FACTOR:g}]"
        factor = check_real(friction_factor, "friction_factor", self, interval=interval)
        self._process_noise = check_real(process_noise, "process_noise", self, interval="[0, inf)")
        self._regimes = _dynamics(_FRICTION), _dynamics(factor * _FRICTION)
        self._best = {}
        self.noise_variance = self._rollout_variance(np.mean(_GAINS, axis=1), 0.0)

    def _regime(self, t):
        return (np.asarray(t) + STEP_SLACK >= self._change_time).astype(np.intp)

    def _closed_loop(self, X, regime):
        """Return F (n, 4, 4) with z' = F z, and the weights W (n, 4, 4) of the cost z·W z."""
        A, b = self._regimes[regime]
        return A - b[:, np.newaxis] * X[:, np.newaxis, :], _Q + _R * X[:, :, None] * X[:, None, :]

    def _values(self, X, t):
        regimes = np.broadcast_to(self._regime(t), len(X))
        values = np.empty(len(X))
        for regime in np.unique(regimes):
            chosen = regimes == regime
            values[chosen] = self._expected(*self._closed_loop(X[chosen], regime))
        return values

    def _expected(self, F, W):
        # A disturbance z with j later states costs z'P_j z, P_j = sum_{k<j} (F^k)'W F^k. The start
        # z0 has n, so the cost is z0'P_n z0 + noise² tr S_n, S_n = sum_{j<n} P_j. The bits of the
        # number of states give the sequence of doublings and increments of n, from n = 1.
        n, P, S, power = 1, W, np.zeros_like(W), F
        for bit in f"{_N_STEPS:b}"[1:]:
            S = S + n * P + _quadratic(power, S)
            P = P + _quadratic(power, P)
            power, n = power @ power, 2 * n
            if bit == "1":
                S, P = S + P, W + _quadratic(F, P)
                power, n = power @ F, n + 1
        noise = self._process_noise**2 * np.trace(S, axis1=1, axis2=2)
        return -(_START @ P @ _START + noise) / n

    def _rollout_variance(self, x, t):
        """Return the variance of a roll-out's result.

        The disturbance w of a state m + w, with the future cost (m + w)·P (m + w), changes the
        expectation by 2 m·P w + w·P w - tr P noise². These differences are uncorrelated, so their
        variances add up.
        """
        (F,), (W,) = self._closed_loop(x[np.newaxis], int(self._regime(t)))
        to_come = [W]
        for _ in range(_N_STEPS - 2):
            to_come.append(W + _quadratic(F, to_come[-1]))
        s2, total = self._process_noise**2, 0.0
        M = np.outer(_START, _START)  # second moment of the state
        for P in reversed(to_come):
            M, P2 = F @ M @ F.T, P @ P
            total += 4.0 * s2 * np.sum(P2 * M) + 2.0 * s2**2 * np.trace(P2)
            M = M + s2 * np.eye(4)
        return float(total) / _N_STEPS**2

    def observe(self, x, t):
        """Return the result of one roll-out; see `Problem.observe`."""
        x = self.domain.validate_point(x)
        regime = int(self._regime(self._check_time(t)))
        (F,), (W,) = self._closed_loop(x[np.newaxis], regime)
        Z = self._process_noise * self._rng.standard_normal((_N_STEPS, 4))
        Z[0] = _START
        for k in range(1, _N_STEPS):
            Z[k] += F @ Z[k - 1]
        return -float(np.sum((Z @ W) * Z)) / _N_STEPS

    def _argmax(self, t):
        regime = int(self._regime(t))
        if regime not in self._best:
            self._best[regime] = self._search(regime)
        return self._best[regime]

    def _search(self, regime):
        domain, h = self.domain, 1e-20
        # Complex step: the imaginary part of f(x + ih) is h f'(x), without cancellation.
        steps = 1j * h * np.diag(domain.upper - domain.lower)

        def values(U):
            return self._expected(*self._closed_loop(domain.from_unit(U), regime))

        def value_and_gradient(u):
            f = self._expected(*self._closed_loop(domain.from_unit(u) + steps, regime))
            return f[0].real, f.imag / h

        objective = ScipyClimber(values, value_and_gradient)
        best = search(objective, domain.search_space(), domain.candidates(1024), 4)
        return domain.from_unit(best)


register("cart-pole", CartPole)
