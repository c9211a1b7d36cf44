"""Correlations by the general Matérn formula.

In the scaled distance s = √(2ν) r / l the Matérn correlation is 2^(1-ν)/Γ(ν) s^ν K_ν(s), with
derivative -2^(1-ν)/Γ(ν) s^ν K_(ν-1)(s).
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
