"""Covariances by the general Matérn formula, with full matrices of derivatives.

In the scaled distance s = √(2ν) r / l the Matérn correlation is 2^(1-ν)/Γ(ν) s^ν K_ν(s), with
derivative -2^(1-ν)/Γ(ν) s^ν K_(ν-1)(s). Results are returned, not written to ``out``.
"""

import numpy as np
from scipy.special import gamma, kv, kve

from sktvbo._fast.gram import Family

NU = {Family.MATERN12: 0.5, Family.MATERN32: 1.5, Family.MATERN52: 2.5}


def correlation(family, s):
    """Return the correlation at the scaled distances s."""
    if family == Family.CONSTANT:
        return np.ones_like(s)
    if family == Family.RBF:
        return np.exp(-(s**2))
    nu = NU[family]
    positive = np.where(s > 0.0, s, 1.0)
    values = 2.0 ** (1.0 - nu) / gamma(nu) * positive**nu * kv(nu, positive)
    return np.where(s > 0.0, values, 1.0)


def relative_slope(family, s):
    """Return -k'(s) / (s k(s)), 0 at the kink of Matérn 1/2."""
    if family == Family.CONSTANT:
        return np.zeros_like(s)
    if family == Family.RBF:
        return np.full_like(s, 2.0)
    nu = NU[family]
    positive = np.where(s > 0.0, s, 1.0)
    slopes = kve(nu - 1.0, positive) / (positive * kve(nu, positive))
    # k'' exists at 0 from nu = 3/2 on: -k'/(s k) -> 1 / (2 nu - 2).
    at_zero = 0.0 if nu < 1.0 else 1.0 / (2.0 * nu - 2.0)
    return np.where(s > 0.0, slopes, at_zero)


def _differences(Z1, u1, Z2, u2):
    return Z1[:, :, np.newaxis] - Z2[:, np.newaxis, :], u1[:, np.newaxis] - u2


def cross_gram(Z1, u1, Z2, u2, spatial, temporal, signal):
    dz, du = _differences(Z1, u1, Z2, u2)
    s = np.sqrt(np.sum(dz**2, axis=0))
    return signal * correlation(spatial, s) * correlation(temporal, np.abs(du))


def gram(Z, u, spatial, temporal, signal):
    return np.tril(cross_gram(Z, u, Z, u, spatial, temporal, signal))


def cross_with_gradient(z, u, Z, times, spatial, temporal, signal):
    z, u = np.asarray(z)[:, np.newaxis], np.array([u])
    k = cross_gram(z, u, Z, times, spatial, temporal, signal)[0]
    dz, du = (d[..., 0, :] for d in _differences(z, u, Z, times))
    s = np.sqrt(np.sum(dz**2, axis=0))
    in_space = -k * relative_slope(spatial, s) * dz
    in_time = -k * relative_slope(temporal, np.abs(du)) * du
    return k, np.vstack([in_space, in_time])


def _derivatives(Z, u, spatial, temporal, K):
    """Return derivatives in the logarithms of the signal variance and of all lengthscales."""
    K = np.tril(K) + np.tril(K, -1).T
    dz, du = _differences(Z, u, Z, u)
    s = np.sqrt(np.sum(dz**2, axis=0))
    in_space = K * relative_slope(spatial, s) * dz**2
    return [K, *in_space, K * relative_slope(temporal, np.abs(du)) * du**2]


def contract_gradient(Z, u, spatial, temporal, K, P, a):
    W = np.outer(a, a) - np.tril(P) - np.tril(P, -1).T
    return np.array([np.sum(W * D) for D in _derivatives(Z, u, spatial, temporal, K)])


def slope_products(Z, u, spatial, temporal, K, a):
    return np.array([D @ a for D in _derivatives(Z, u, spatial, temporal, K)])


def contract_cross_gradient(Z1, u1, Z2, u2, spatial, temporal, K, W):
    dz, du = _differences(Z1, u1, Z2, u2)
    s = np.sqrt(np.sum(dz**2, axis=0))
    derivatives = [
        *(K * relative_slope(spatial, s) * dz**2),
        K * relative_slope(temporal, np.abs(du)) * du**2,
    ]
    return np.array([np.sum(W * derivative) for derivative in derivatives])
