"""Selection of the inducing points and their number."""

import numpy as np
from sklearn.gaussian_process.kernels import WhiteKernel

from .. import dpp
from .._values import distinct_rows
from ._inducing_posterior import Inducing
from ._starts import random_subset

# This part of the mean diagonal is added to the candidates' covariance: it keeps full rank where
# close points are numerically dependent.
_RIDGE = 1e-6

# Points are chosen from at most this many rows; by a k-DPP, with quadratic memory, from at most the
# second number.
_MAX_ROWS, _MAX_CANDIDATES = 20_000, 2_000

# The chain of a k-DPP makes proposals of cost m², up to this total cost.
_MAX_CHAIN_COST = 6.4e8

# "auto" doubles the first number of points while the bound grows by _MIN_GAIN nats a row, up to the
# last number. It evaluates the bound on this many rows.
_FIRST, LAST, _MIN_GAIN, _N_PROBES = 50, 400, 0.05, 4_000


def choose(how, covariance, rows, m, rng):
    """Return inducing points (m, d + 1), in the units of X; all distinct rows if these are fewer.

    Parameters
    ----------
    how : "kdpp", "greedy" or "kmeans"
    covariance : SeparableCovariance
    rows : Rows
    m : int or "auto"
    rng : RandomState
    """
    distinct, _ = distinct_rows(random_subset(rows, _MAX_ROWS, rng).X)
    if m == "auto":
        m = _sufficient_number(covariance, rows, distinct, rng)
    if len(distinct) <= m:
        return distinct
    return METHODS[how](covariance, rows.layout, distinct, m, rng)


def _sufficient_number(covariance, rows, distinct, rng):
    """Return the number of points beyond which the bound grows little."""
    if len(distinct) <= _FIRST:
        return _FIRST
    candidates = _at_most(distinct, _MAX_CANDIDATES, rng)
    K = _gram(covariance, rows.layout, candidates)
    order = candidates[dpp.greedy_map(K, min(LAST, len(candidates)))]
    probes = random_subset(rows, _N_PROBES, rng)
    m, value = _FIRST, None
    while True:
        gp = Inducing.of(covariance, probes, order[:m])
        before, value = value, gp.repeated(rows.n / probes.n)
        if before is not None and value - before < _MIN_GAIN * rows.n:
            return m // 2
        if m >= len(order):
            return m
        m *= 2


def _at_most(X, n, rng):
    return X if len(X) <= n else X[rng.choice(len(X), n, replace=False)]


def _centres(covariance, layout, X, m, rng):
    """Return the centres of m clusters of the points X, in units of lengthscales."""
    # Imported here: seldom needed, and a tenth of the import time of this package.
    from sklearn.cluster import MiniBatchKMeans

    S, t = layout.split(X)
    scales = np.std(np.column_stack([S, t]), axis=0)
    if covariance.pair is not None and covariance.pair[0].embedding is None:
        scales = 1.0 / np.concatenate([factor.units for factor in covariance.pair])
    scales = np.where(scales > 0.0, scales, 1.0)
    clusters = MiniBatchKMeans(m, n_init=1, random_state=rng)
    columns = np.column_stack([S, t + layout.origin])
    centres = clusters.fit(columns / scales).cluster_centers_ * scales
    return np.insert(centres[:, :-1], layout.position, centres[:, -1], axis=1)


def _greatest_determinant(covariance, layout, X, m, rng):
    """Return m of the points X by greedy maximization of the determinant, in that order."""
    kernel = covariance.kernel + WhiteKernel(_RIDGE * covariance.signal_variance)
    return X[dpp.greedy_map(kernel, m, X=np.column_stack(layout.split(X)))]


def _kdpp_sample(covariance, layout, X, m, rng):
    """Return a k-DPP sample of m of the points X."""
    X = _at_most(X, max(_MAX_CANDIDATES, 2 * m), rng)
    n_steps = max(int(_MAX_CHAIN_COST / m**2), 1) if 10_000 * m**2 > _MAX_CHAIN_COST else None
    K = _gram(covariance, layout, X)
    return X[np.sort(dpp.sample_kdpp(K, m, n_steps=n_steps, random_state=rng))]


def _gram(covariance, layout, X):
    K = covariance.cross(*layout.split(X))
    K[np.diag_indices_from(K)] += _RIDGE * np.diagonal(K).mean()
    return K


METHODS = {"kdpp": _kdpp_sample, "greedy": _greatest_determinant, "kmeans": _centres}
