"""Weights of outliers: noise variances are divided by weights of at most 1.

The score z of an observation is its residual from the prediction of the other observations (or of
those before it), over the standard deviation √v of that prediction, noise variance σ² included.
Its weight is w = σ² / (σ² + v max(|z| − L, 0)²): exactly 1 within L standard deviations, so that
data without outliers have the posterior of plain regression. The influence of an observation on the
posterior decreases as 1 / |z| beyond. This is the plateau function of Ezzerg, Bogunovic & Knoblauch
(arXiv 2511.15315) with c = √v, without the shift of y.

An outlier is alone, a change of the function is not: consecutive observations that all have large,
similar scores of one sign have weight 1.
"""

from functools import lru_cache

import numpy as np
from scipy.special import ndtr, stdtrit
from scipy.stats import kurtosis

# Scores up to this number L have weight 1, of many rows. Hyperparameters learnt from few rows are
# uncertain: L of n rows is the quantile of the same level of Student's t with n degrees of freedom,
# 10.5 for n = 10 and 5.8 for n = 50.
_LIMIT = 5.0

# L where the scores have heavy tails: a kurtosis that exceeds a Gaussian's by more than the second
# number of its standard deviations, √(24 / n). With Gaussian noise it hardly ever does.
_HEAVY_LIMIT, _HEAVY = 2.0, 3.0

# Weights are 1 with fewer rows, or if a larger part of the rows would have a smaller weight. If
# an appended row exceeds the part, the largest of the smaller weights becomes 1.
MIN_ROWS = 10
_MAX_SHARE = 0.2

# Numbers of consecutive large scores of one sign that make a change of the function, and largest
# ratio of each to the one before or after it: fewer need to be more similar. Two are enough only
# where rows were appended: among all rows of a fit, two outliers in succession are frequent.
_CHANGES = ((3, 4.0), (2, 1.5))

# Before a search, rows farther from the median than this many robust standard deviations have
# at most the second number as weight: otherwise the search explains them as noise.
_FAR, _HARDLY = 8.0, 1e-6

# Fixed-point iterations end when no weight changes by more than this factor.
_MAX_ITERATIONS = 10
_TOLERANCE = 1.05

# Larger scores count as the first number, smaller weights as the second, against overflows.
_LARGEST, _SMALLEST = 1e100, 1e-200


def appended(gp, rows, standardize):
    """Condition a GP on more rows (X, y, variance, total), with their weights.

    The rows are compared with the predictions for them. If one of several is an outlier, the
    weights of all rows are computed again.
    """
    n, m = gp.rows.n, len(rows[1])
    if n < MIN_ROWS:
        new = gp.append(*rows, standardize=standardize)
        if n + m >= MIN_ROWS:
            weights = screened(new.rows.y)
            new = reweighted(new._recomputed(new.rows.with_weights(weights, standardize)))
        return new
    X, y, variance, total = rows
    mean, spread = gp.joint(*gp.rows.layout.split(X), full=False)
    scale, heavy = gp.rows.scale, gp.rows.heavy_tails
    noise = np.where(total, 0.0, gp.covariance.noise_variance) + variance / scale / scale
    spread = np.maximum(spread, 0.0) + noise
    scores = (y - mean) / scale / np.sqrt(spread)
    weights = _weights(scores, spread, noise, limit(n + m, heavy))
    new = gp.append(*rows, standardize=standardize, weights=weights, scores=scores)
    if weights.min(initial=1.0) == 1.0:
        return new
    if m > 1:
        return reweighted(new, n)
    weights = new.rows.weights.copy()
    if are_too_many(weights < 1.0):
        weights[np.argmax(np.where(weights < 1.0, weights, 0.0))] = 1.0
    weights[are_changes(new.rows.scores, new.rows.t, heavy)] = 1.0
    if (weights == new.rows.weights).all():
        return new
    return new._recomputed(new.rows.with_weights(weights, standardize))


def reweighted(gp, n_known=0):
    """Condition a GP with weights that its own predictions confirm, a fixed point.

    Scores are those of leave-one-out predictions, O(n³) an iteration. The first ``n_known`` rows
    keep the scores that they have, and weight 1 if these make them part of a change.
    """
    if gp.rows.n < MIN_ROWS:
        return gp
    for _ in range(_MAX_ITERATIONS):
        rows = gp.rows
        scores, spread, noise = leave_one_out(gp)
        heavy, size = has_heavy_tails(scores, rows.t), np.abs(scores)
        weights = _weights(scores, spread, noise, limit(rows.n, heavy))
        # An outlier spoils the predictions of its neighbours: first weigh the largest scores.
        full = rows.weights == 1.0
        weights[full & (size < 0.5 * size[full].max(initial=0.0))] = 1.0
        shown = np.append(rows.scores[:n_known], scores[n_known:])
        changes = _CHANGES if n_known else _CHANGES[:1]
        weights[are_changes(scores, rows.t, heavy, changes)] = 1.0
        weights[are_changes(shown, rows.t, heavy, changes)] = 1.0
        if are_too_many(weights < 1.0):
            weights[:] = 1.0
        ratio = np.maximum(weights / rows.weights, rows.weights / weights)
        rows = rows.with_weights(weights, False, scores=shown, heavy_tails=heavy)
        if ratio.max() == 1.0:
            return gp.with_rows(rows)
        gp = gp._recomputed(rows)
        if ratio.max() < _TOLERANCE:
            break
    return gp


def leave_one_out(gp):
    """Return scores (n,) of leave-one-out predictions, their variances and those of the noise."""
    rows, covariance = gp.rows, gp.covariance
    noise, (residual, latent) = rows.full_noise(covariance), gp.leave_one_out()
    # Of a weight near 0, the difference is rounding.
    spread = np.clip(latent, 0.0, covariance.variance(rows.S, rows.t)) + noise
    return residual / np.sqrt(spread), spread, noise


def screened(y):
    """Return weights (n,) for a first search: hardly any for rows far from the median of y."""
    weights = np.ones(len(y))
    if len(y) >= MIN_ROWS:
        distance = np.abs(y - np.median(y))
        limit = _FAR * 1.4826 * np.median(distance)
        far = distance > limit
        if not are_too_many(far):
            weights[far] = np.maximum(_HARDLY * (limit / distance[far]) ** 2, _SMALLEST)
    return weights


def are_changes(scores, t, heavy_tails=False, changes=_CHANGES):
    """Return a mask (n,) of the rows whose large scores belong to a change of the function."""
    order = np.argsort(t, kind="stable")
    size, sign = np.abs(scores)[order], np.sign(scores)[order]
    least = limit(len(scores), heavy_tails)
    joined = (np.minimum(size[1:], size[:-1]) > least) & (sign[1:] == sign[:-1])
    ratio = np.abs(np.diff(np.log(np.maximum(size, least))))
    found = np.zeros(len(size), dtype=bool)
    for n_change, most in changes:
        starts = np.flatnonzero(np.append(True, ~(joined & (ratio <= np.log(most)))))
        lengths = np.diff(starts, append=len(size))
        found[order] |= np.repeat(lengths >= n_change, lengths)
    return found


def has_heavy_tails(scores, t):
    """Return True if scores up to the limit have heavier tails than a Gaussian.

    Large scores of neighbours in time are left out: the function may have changed there.
    """
    z = scores[np.argsort(t, kind="stable")]
    large = np.abs(z) > _HEAVY_LIMIT
    near = np.convolve(large, [1, 0, 1], "same") > 0
    z = z[(np.abs(z) <= limit(len(z))) & ~(large & near)]
    return bool(len(z) and kurtosis(z) > _HEAVY * np.sqrt(24.0 / len(z)))


@lru_cache
def limit(n, heavy_tails=False):
    """Return the largest score with weight 1 among n rows."""
    return -stdtrit(n, ndtr(-(_HEAVY_LIMIT if heavy_tails else _LIMIT)))


def _weights(scores, spread, noise, least):
    excess = np.clip(np.abs(scores) - least, 0.0, _LARGEST)
    return noise / (noise + spread * excess**2)


def are_too_many(outliers):
    """Return True if the rows of a mask (n,) are too large a part of all rows to be outliers."""
    return np.count_nonzero(outliers) > _MAX_SHARE * len(outliers)
