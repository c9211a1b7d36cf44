"""State-space form of temporal kernels whose Gaussian process is Markov.

A Matérn process with ν = p − ½ has the state z = (f, f'/c, ..., f⁽ᵖ⁻¹⁾/c^{p−1}), c = √(2ν) / l, in
which the transition does not depend on the lengthscale: with x = c δ for a time gap δ

    z(t + δ) = A(x) z(t) + noise of covariance Q(x),     A(x) = exp(F x),  Q(x) = P∞ − A P∞ Aᵀ,

F the companion matrix of (s + 1)^p, so that F + I is nilpotent and A is e^{−x} times a polynomial
(Hartikainen & Särkkä 2010). As P∞ − A P∞ Aᵀ has no digits where the gap is small, Q is written as
q ∫₀ˣ e^{−2s} g(s) g(s)ᵀ ds, g the last column of e^s A(s), a polynomial: incomplete gamma
functions. A forgetting kernel has p = 1; a constant is the case l = ∞, and a Wiener process moves
by A = 1 and Q = σ_w² δ from the variance that it has at first.
"""

from dataclasses import dataclass, field
from math import factorial

import numpy as np
from scipy.special import gammainc

from ..._fast.gram import Family
from ...kernels import Wiener
from .._kernel_families import FAMILIES, Factor, recognize

_ORDERS = {
    Family.CONSTANT: 1,
    Family.MATERN12: 1,
    Family.MATERN32: 2,
    Family.MATERN52: 3,
}
# P∞, and the intensity q of the noise that drives the last component.
_STATIONARY = {
    1: np.array([[1.0]]),
    2: np.eye(2),
    3: np.array([[1.0, 0.0, -1.0 / 3.0], [0.0, 1.0 / 3.0, 0.0], [-1.0 / 3.0, 0.0, 1.0]]),
}
_INTENSITY = {1: 2.0, 2: 4.0, 3: 16.0 / 3.0}


@dataclass(frozen=True)
class Stationary:
    """Matérn process of half-integer order, or a constant.

    Parameters
    ----------
    order : int
        p, the number of components of the state; f is the first.
    rate : float
        c; 0 for a constant.
    log_slope : float or None
        −d log c / dθ for the one hyperparameter θ; None where there is none.
    """

    order: int
    rate: float
    log_slope: float | None = None
    start: float = field(default=0.0, init=False)

    def prior(self, t):
        """Return the prior covariance (p, p) of the state at time t."""
        return _STATIONARY[self.order]

    def prior_slopes(self, t):
        """Return the derivatives (n_theta, p, p) of `prior` in theta."""
        return np.zeros((int(self.log_slope is not None), self.order, self.order))

    def transitions(self, gaps):
        """Return A and Q, (k, p, p) each, of time gaps (k,)."""
        x = self.rate * np.asarray(gaps, dtype=np.float64)
        # Beyond this many lengthscales A is 0; infinite x would give 0 · ∞.
        x = np.minimum(x, 1e4)
        return self._transition(x), self._noise(x)

    def slopes(self, gaps):
        """Return the derivatives of A and Q in theta, (n_theta, k, p, p) each."""
        p, x = self.order, self.rate * np.asarray(gaps, dtype=np.float64)
        if self.log_slope is None:
            return np.zeros((0, len(x), p, p)), np.zeros((0, len(x), p, p))
        x = np.minimum(x, 1e4)
        A = self._transition(x)
        # dA/dx = F A, dQ/dx = q A L Lᵀ Aᵀ with L the last unit vector, and dx/dθ = −x log_slope.
        by = (-self.log_slope * x)[:, np.newaxis, np.newaxis]
        last = A[:, :, -1]
        on_noise = _INTENSITY[p] * last[:, :, np.newaxis] * last[:, np.newaxis, :]
        return (by * (_companion(p) @ A))[np.newaxis], (by * on_noise)[np.newaxis]

    def _transition(self, x):
        steps = _nilpotent(self.order)
        powers = [x**k for k in range(self.order)]
        return np.exp(-x)[:, np.newaxis, np.newaxis] * np.einsum("kn,kab->nab", powers, steps)

    def _noise(self, x):
        p = self.order
        if self.rate == 0.0:
            return np.zeros((len(x), p, p))
        column = _nilpotent(p)[:, :, -1]
        # ∫₀ˣ e^{−2s} s^k ds.
        integrals = np.array(
            [factorial(k) / 2.0 ** (k + 1) * gammainc(k + 1, 2.0 * x) for k in range(2 * p - 1)]
        )
        Q = np.zeros((len(x), p, p))
        for i, one in enumerate(column):
            for j, other in enumerate(column):
                Q += np.multiply.outer(integrals[i + j], np.outer(one, other))
        return _INTENSITY[p] * Q


@dataclass(frozen=True)
class Brownian:
    """Wiener process of variance 1 + ``drift`` (t − ``start``).

    Parameters
    ----------
    drift : float
        σ_w².
    start : float
        Time at which the variance is 1, in the kernel's unit.
    is_learnt : bool
        True if log σ_w² is a hyperparameter.
    """

    drift: float
    start: float
    is_learnt: bool = False
    order: int = field(default=1, init=False)

    def prior(self, t):
        return np.array([[1.0 + self.drift * (t - self.start)]])

    def prior_slopes(self, t):
        return np.full((int(self.is_learnt), 1, 1), self.drift * (t - self.start))

    def transitions(self, gaps):
        Q = self.drift * np.asarray(gaps, dtype=np.float64)[:, np.newaxis, np.newaxis]
        return np.ones_like(Q), Q

    def slopes(self, gaps):
        on_noise = self.transitions(gaps)[1][np.newaxis][: int(self.is_learnt)]
        return np.zeros_like(on_noise), on_noise


def state_space(kernel):
    """Return the Markov process of a temporal kernel, or None if it has no known one.

    Parameters
    ----------
    kernel : Kernel

    Returns
    -------
    process : Stationary, Brownian or None
    """
    if type(kernel) is Wiener:
        learnt = not kernel.hyperparameter_drift_variance.fixed
        return Brownian(float(kernel.drift_variance), float(kernel.start), learnt)
    factor = recognize(kernel, 1)
    if not isinstance(factor, Factor) or factor.family not in _ORDERS:
        return None
    if factor.family == Family.CONSTANT:
        return Stationary(1, 0.0)
    rate = FAMILIES[factor.family].scale / float(factor.length_scales[0])
    log_slope = factor.log_slope if factor.n_theta else None
    return Stationary(_ORDERS[factor.family], rate, log_slope)


def _companion(p):
    """Return F (p, p), the companion matrix of (s + 1)^p."""
    F = np.eye(p, k=1)
    F[-1] = {1: [-1.0], 2: [-1.0, -2.0], 3: [-1.0, -3.0, -3.0]}[p]
    return F


def _nilpotent(p):
    """Return (F + I)^k / k! for k < p, (p, p, p)."""
    N = _companion(p) + np.eye(p)
    return np.array([np.linalg.matrix_power(N, k) / factorial(k) for k in range(p)])
