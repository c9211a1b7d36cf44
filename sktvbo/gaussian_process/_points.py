"""The choice of inducing points: which, and how many."""

import numpy as np
from sklearn.gaussian_process.kernels import WhiteKernel

from .. import dpp
from .._arrays import distinct_rows
from ._inducing import Inducing
from ._starts import drawn

# This part of its mean diagonal is added to the covariance of the candidates: it keeps the rank
# full where the kernel is smoother than the points can tell.
_RIDGE = 1e-6

# Points are chosen from at most this many rows; by a k-DPP, whose matrix is quadratic in them, from
# at most this many.
_MAX_ROWS, _MAX_CANDIDATES = 20_000, 2_000

# A proposal of a k-DPP's chain costs O(m²): there are at most as many as make this of m².
_CHAIN = 6.4e8

# "auto" doubles the first number of points while the bound grows by this much a row, in nats, up to
# the last. It looks at this many rows.
_FIRST, LAST, _GAIN, _N_PROBES = 50, 400, 0.05, 4_000


def choose(how, covariance, rows, m, rng):
    """Inducing points (m, d + 1), in the units of X; all distinct rows if there are no more.

    Parameters
    ----------
    how : "kdpp", "greedy" or "kmeans"
    covariance : SeparableCovariance
    rows : Rows
    m : int or "auto"
    rng : RandomState
    """
    distinct, _ = distinct_rows(drawn(rows, _MAX_ROWS, rng).X)
    if m == "auto":
        m = _enough(covariance, rows, distinct, rng)
    if len(distinct) <= m:
        return distinct
    return METHODS[how](covariance, rows.layout, distinct, m, rng)


def _enough(covariance, rows, distinct, rng):
    """The number of points from which on the bound grows little."""
    if len(distinct) <= _FIRST:
        return _FIRST
    candidates = _some(distinct, _MAX_CANDIDATES, rng)
    K = _gram(covariance, rows.layout, candidates)
    order = candidates[dpp.greedy_map(K, min(LAST, len(candidates)))]
    probes = drawn(rows, _N_PROBES, rng)
    m, value = _FIRST, None
    while True:
        gp = Inducing.of(covariance, probes, order[:m])
        before, value = value, gp.repeated(rows.n / probes.n)
        if before is not None and value - before < _GAIN * rows.n:
            return m // 2
        if m >= len(order):
            return m
        m *= 2


def _some(X, n, rng):
    return X if len(X) <= n else X[rng.choice(len(X), n, replace=False)]


def _centres(covariance, layout, X, m, rng):
    """Centres of m clusters of the points X, in lengthscales, so that they are round."""
    # It takes a tenth of the time that importing this package takes, and is seldom needed.
    from sklearn.cluster import MiniBatchKMeans

    S, t = layout.split(X)
    scales = np.std(np.column_stack([S, t]), axis=0)
    if covariance.fused:
        scales = 1.0 / covariance.units()
    scales = np.where(scales > 0.0, scales, 1.0)
    clusters = MiniBatchKMeans(m, n_init=1, random_state=rng)
    columns = np.column_stack([S, t + layout.origin])
    centres = clusters.fit(columns / scales).cluster_centers_ * scales
    return np.insert(centres[:, :-1], layout.position, centres[:, -1], axis=1)


def _greatest_determinant(covariance, layout, X, m, rng):
    """m of the points X, chosen one by one so that their determinant is greatest, in that order."""
    kernel = covariance.kernel + WhiteKernel(_RIDGE * covariance.signal_variance)
    return X[dpp.greedy_map(kernel, m, X=np.column_stack(layout.split(X)))]


def _kdpp_sample(covariance, layout, X, m, rng):
    """A k-DPP sample of m of the points X."""
    X = _some(X, max(_MAX_CANDIDATES, 2 * m), rng)
    n_steps = max(int(_CHAIN / m**2), 1) if 10_000 * m**2 > _CHAIN else None
    K = _gram(covariance, layout, X)
    return X[np.sort(dpp.sample_kdpp(K, m, n_steps=n_steps, random_state=rng))]


def _gram(covariance, layout, X):
    K = covariance.cross(*layout.split(X))
    K[np.diag_indices_from(K)] += _RIDGE * np.diagonal(K).mean()
    return K


METHODS = {"kdpp": _kdpp_sample, "greedy": _greatest_determinant, "kmeans": _centres}
