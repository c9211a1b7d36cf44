"""Weights of places by the probability that outcomes are within limits, in NumPy."""

import numpy as np
from scipy.special import log_ndtr, ndtri_exp
from scipy.stats import norm


def within(mean, std, low, high):
    """Return log P(low ≤ f ≤ high) of Gaussian f with one or two limits."""
    a, b = np.clip((low - mean) / std, -1e6, 1e6), np.clip((high - mean) / std, -1e6, 1e6)
    flip = a + b > 0.0
    a, b = np.where(flip, -b, a), np.where(flip, -a, b)
    larger, smaller = log_ndtr(b), log_ndtr(a)
    with np.errstate(divide="ignore"):
        return np.maximum(larger + np.log1p(-np.exp(np.minimum(smaller - larger, 0.0))), -5e11)


def excess(mean, std, low, high, optimism=0.0):
    """Return E max(f − high, 0) + E max(low − f, 0) of Gaussian f, moved into the limits first."""
    total = np.zeros_like(mean)
    for beyond in (mean - high, low - mean):
        if np.isfinite(beyond).all():
            z = (beyond - optimism * std) / std
            total += std * (norm.pdf(z) + z * norm.cdf(z))
    return total


def log_weights(log_p, z=np.nan):
    """Return log weights (m,) of log probabilities."""
    if np.isnan(z):
        return log_p + 10.0 * np.minimum(log_p + np.log(2.0), 0.0)
    return -20.0 * np.minimum(ndtri_exp(log_p) - z, 0.0) ** 2
