"""Convolutions of stationary kernels with themselves, from the formulas."""

from math import factorial

import numpy as np
from numpy.polynomial import Polynomial
from scipy.spatial.distance import cdist
from scipy.special import gamma, kv

from sktvbo._fast.gram import Family


def spatial(Z1, Z2, family, twice_mu, scale):
    """Return scale exp(-r²) for RBF, else scale r^μ K_μ(r) over its limit at 0."""
    n, m = Z1.shape[1], Z2.shape[1]
    r = cdist(Z1.T, Z2.T) if len(Z1) and n and m else np.zeros((n, m))
    if family == Family.RBF:
        return scale * np.exp(-(r**2))
    mu = twice_mu / 2.0
    # SciPy's K overflows where the product equals its limit.
    apart = r > 1e-20
    values = np.where(apart, r, 1.0) ** mu * kv(mu, np.where(apart, r, 1.0))
    return scale * np.where(apart, values / (2.0 ** (mu - 1.0) * gamma(mu)), 1.0)


def temporal_matern(p, l, t_i, t_j, now):
    """Return ∫ k(τ - t_i) k(τ - t_j) dτ over τ ≥ now, Matérn p + 1/2: W-DBO eq. (72) to (75)."""
    rate = 2.0 * np.sqrt(2.0 * p + 1.0) / l
    total = 0.0
    for k1 in range(p + 1):
        for k2 in range(p + 1):
            c = (
                (factorial(p) / factorial(2 * p)) ** 2
                * factorial(p + k1)
                * factorial(p + k2)
                / (factorial(k1) * factorial(k2) * factorial(p - k1) * factorial(p - k2))
                * rate ** (2 * p - k1 - k2 - 1)
            )
            P = Polynomial([0.0, 1.0]) ** (p - k1) * Polynomial([t_i - t_j, 1.0]) ** (p - k2)
            derivatives = [P, *(P.deriv(k) for k in range(1, 2 * p - k1 - k2 + 1))]
            total += c * sum(D(now - t_i) / rate**k for k, D in enumerate(derivatives))
    return np.exp(-0.5 * rate * (2.0 * now - t_i - t_j)) * total
