"""Held-out problems: in no paper, none of the development problems, and never tuned on.

They were chosen before any algorithm was run on them, but for draw8-1d: whether a bowl pays in one
dimension was asked there too.
"""

import numpy as np
from _development import Circling, Draw, Sliced, peaks


def qing(Z):
    return np.sum((Z**2 - np.arange(1, Z.shape[1] + 1)) ** 2, axis=1)


def brown(Z):
    a, b = Z[:, :-1] ** 2, Z[:, 1:] ** 2
    return np.sum(a ** (b + 1.0) + b ** (a + 1.0), axis=1)


def happy_cat(Z):
    d, r = Z.shape[1], np.sum(Z**2, axis=1)
    return np.abs(r - d) ** 0.25 + (0.5 * r + Z.sum(axis=1)) / d + 0.5


def log_goldstein_price(Z):
    x, y = Z.T
    left = 1.0 + (x + y + 1.0) ** 2 * (
        19.0 - 14.0 * x + 3.0 * x**2 - 14.0 * y + 6.0 * x * y + 3.0 * y**2
    )
    right = 30.0 + (2.0 * x - 3.0 * y) ** 2 * (
        18.0 - 32.0 * x + 12.0 * x**2 + 48.0 * y - 36.0 * x * y + 27.0 * y**2
    )
    return np.log(left * right)


def holder_table(Z):
    x, y = Z.T
    r = np.sqrt(x**2 + y**2)
    return -np.abs(np.sin(x) * np.cos(y) * np.exp(np.abs(1.0 - r / np.pi)))


LANGERMANN = np.array([[3.0, 5.0, 2.0], [5.0, 2.0, 6.0], [2.0, 1.0, 4.0], [7.0, 9.0, 5.0]])


def langermann(Z):
    r = np.sum((Z[:, np.newaxis] - LANGERMANN[:, : Z.shape[1]]) ** 2, axis=2)
    return -(np.exp(-r / np.pi) * np.cos(np.pi * r)) @ np.array([1.0, 2.0, 5.0, 2.0])


def perm(Z):
    i = np.arange(1, Z.shape[1] + 1)
    return sum(np.sum((i**k + 0.5) * ((Z / i) ** k - 1.0), axis=1) ** 2 for k in i)


def egg_crate(Z):
    return np.sum(Z**2 + 25.0 * np.sin(Z) ** 2, axis=1)


def alpine2(Z):
    return -np.prod(np.sqrt(Z) * np.sin(Z), axis=1)


def wavy(Z):
    return 1.0 - np.mean(np.cos(10.0 * Z) * np.exp(-0.5 * Z**2), axis=1)


def exponential(Z):
    return -np.exp(-0.5 * np.sum(Z**2, axis=1))


def ellipsoid(Z):
    return Z**2 @ np.arange(1.0, Z.shape[1] + 1.0)


def three_hump_camel(Z):
    x, y = Z.T
    return 2.0 * x**2 - 1.05 * x**4 + x**6 / 6.0 + x * y + y**2


PEAKS = (
    {"n_peaks": 6, "n_dims": 2, "shape": "cone", "shift_severity": 2.0},
    {"n_peaks": 5, "n_dims": 3, "shape": "gaussian", "shift_severity": 2.0},
    {"n_peaks": 3, "n_dims": 5, "shape": "cone", "shift_severity": 1.5},
)


def held_out_problems():
    """All of them, in the order of the tables."""
    return [
        *(Draw(seed) for seed in range(8, 16)),
        Sliced(qing, -2.5, 2.5, 4, noise=0.05),
        Sliced(brown, -1.0, 2.0, 3, noise=0.05),
        Sliced(happy_cat, -2.0, 2.0, 5, noise=0.05),
        Sliced(log_goldstein_price, -2.0, 2.0, 2, noise=0.05),
        Sliced(holder_table, -10.0, 10.0, 2, noise=0.05),
        Sliced(langermann, 0.0, 10.0, 3, noise=0.05),
        Sliced(perm, -3.0, 4.0, 4, noise=0.05),
        Sliced(egg_crate, -5.0, 5.0, 5, noise=0.05),
        Sliced(alpine2, 0.0, 10.0, 4, noise=0.05),
        Sliced(wavy, -np.pi, np.pi, 3, noise=0.05),
        Circling(egg_crate, -5.0, 5.0, 3, noise=0.05),
        Circling(happy_cat, -2.0, 2.0, 4, noise=0.05),
        Circling(ellipsoid, -3.0, 3.0, 6, noise=0.05),
        Circling(exponential, -2.0, 2.0, 5, noise=0.05),
        Circling(wavy, -np.pi, np.pi, 2, noise=0.05),
        Circling(three_hump_camel, -2.5, 2.5, 2, noise=0.05),
        *peaks(PEAKS, first_seed=10),
    ]
