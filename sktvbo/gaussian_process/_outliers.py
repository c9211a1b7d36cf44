"""Weights of outliers: noise variances are divided by weights of at most 1.

The score z of an observation is its residual from the prediction of the other observations (or of
those before it), over the standard deviation √v of that prediction, noise variance σ² included.
Its weight is w = σ² / (σ² + v max(|z| − L, 0)²): exactly 1 within L standard deviations, so that
data without outliers have the posterior of plain regression. The influence of an observation on the
posterior decreases as 1 / |z| beyond. This is the plateau function of Ezzerg, Bogunovic & Knoblauch
(arXiv 2511.15315) with c = √v, without the shift of y.

An outlier is alone, a change of the function is not: consecutive observations that all have large,
similar scores of one sign have weight 1. So have the rows beside a change, which suit the rows on
their side, and those appended soon after it. Of the latest row it is not known: until another one
is appended, its weight is at least σ² / (σ² + v (|z| / L − 1)), Huber's, with which its influence
is that of L standard deviations.
"""

from functools import lru_cache

import numpy as np
from scipy.spatial import cKDTree
from scipy.special import ndtr, stdtrit
from scipy.stats import kurtosis

from .._values import extents_of_most
from ._exact_posterior import Dense

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
_MAX_SHARE = 0.25

# Numbers of consecutive large scores of one sign that make a change of the function, among all rows
# of a fit and where rows were appended, and largest ratio of each to the one before or after it.
# Two outliers in succession are frequent in a fit.
_CHANGE, _APPENDED_CHANGE, _SIMILAR = 3, 2, 4.0

# In a fit they are outliers if that many in succession are expected this often by chance, with as
# many other large scores.
_BY_CHANCE = 0.02

# Before a search, rows farther from a smooth of y than this many robust standard deviations have
# at most the second number as weight: otherwise the search explains them as noise. The smooth is
# the median of the third number of nearest rows, by each of these factors of time.
_FAR, _HARDLY = 4.0, 1e-6
_N_NEAREST = 15
_TIME_FACTORS = (0.0, 0.3, 1.0, 3.0, 1e3)

# Distances are relative to the extents that this part of the rows has.
_MOST = 0.8

# If most y are equal, an outlier is farther from them than the other rows in the quadratic mean, by
# this factor: one event in 64 rows is an outlier, three are not.
_ALONE = 8.0

# Rows appended after a change that have full weight: their predictions are those of before it.
_SETTLES = 10

# A row is at the edge of a change if its score is at most the first number given the rows before or
# after it, the second number of them, and large given the others. The variances of both predictions
# differ by at most the third number.
_SUITS, _N_BESIDE, _INFORMED = 2.0, 50, 4.0

# No row is screened if more of them would be: the smooth follows the outliers.
_MAX_SCREENED = 0.35

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
            weights = screened(new.rows.X, new.rows.y, new.rows.layout.position)
            found = reweighted(new._recomputed(new.rows.with_weights(weights, standardize))).rows
            # Location and scale are not those of the screened rows.
            new = new._recomputed(found.with_weights(found.weights, standardize))
        return new
    X, y, variance, total = rows
    mean, spread = gp.joint(*gp.rows.layout.split(X), full=False)
    scale, heavy = gp.rows.scale, gp.rows.heavy_tails
    noise = np.where(total, 0.0, gp.covariance.noise_variance) + variance / scale / scale
    spread, least = np.maximum(spread, 0.0) + noise, limit(n + m, heavy)
    scores = (y - mean) / scale / np.sqrt(spread)
    weights = _weights(scores, spread, noise, least)
    if are_changes(gp.rows.scores, gp.rows.t, heavy, _APPENDED_CHANGE)[-_SETTLES:].any():
        # The hyperparameters are held, and do not explain the change.
        weights[:] = 1.0
    is_outlier = weights.min(initial=1.0) < 1.0
    if m == 1 and is_outlier:
        excess = np.minimum(np.abs(scores), _LARGEST) / least - 1.0
        weights = np.maximum(weights, noise / (noise + spread * np.maximum(excess, 0.0)))
    elif gp.rows.weights[-1] < 1.0:
        gp = _confirmed(gp, standardize)
    new = gp.append(*rows, standardize=standardize, weights=weights, scores=scores)
    if not is_outlier:
        return new
    if m > 1:
        return reweighted(new, n)
    weights = new.rows.weights.copy()
    if are_too_many(weights < 1.0):
        weights[np.argmax(np.where(weights < 1.0, weights, 0.0))] = 1.0
    changed = are_changes(new.rows.scores, new.rows.t, heavy, _APPENDED_CHANGE)
    weights[changed | ~may_be_outliers(new.rows.y)] = 1.0
    if (weights == new.rows.weights).all():
        return new
    return new._recomputed(new.rows.with_weights(weights, standardize))


def unconfirmed(weights):
    """Return a mask (n,) of the latest rows if all have a weight below 1.

    Further rows may show that they belong to a change of the function.
    """
    return np.minimum.accumulate(weights[::-1] < 1.0)[::-1]


def _confirmed(gp, standardize):
    """Condition a GP with the weights of outliers for the latest rows: no change follows."""
    weights, (scores, spread, noise) = gp.rows.weights, leave_one_out(gp)
    found = _weights(scores, spread, noise, limit(gp.rows.n, gp.rows.heavy_tails))
    weights = np.where(unconfirmed(weights), np.minimum(weights, found), weights)
    return gp._recomputed(gp.rows.with_weights(weights, standardize))


def reweighted(gp, n_known=0, full=False):
    """Condition a GP with weights that its own predictions confirm, a fixed point.

    Scores are those of leave-one-out predictions, O(n³) an iteration. The first ``n_known`` rows
    keep the scores that they have, and weight 1 if these make them part of a change. Rows of the
    mask ``full`` have weight 1.
    """
    if gp.rows.n < MIN_ROWS:
        return gp
    possible = may_be_outliers(gp.rows.y) & ~np.asarray(full)
    changed = are_changes(gp.rows.scores, gp.rows.t, gp.rows.heavy_tails)
    for i in range(_MAX_ITERATIONS):
        rows = gp.rows
        scores, spread, noise = leave_one_out(gp)
        heavy, size = has_heavy_tails(scores, rows.t), np.abs(scores)
        least = limit(rows.n, heavy)
        weights = _weights(scores, spread, noise, least)
        # An outlier spoils the predictions of its neighbours: first weigh the largest scores.
        before = rows.weights == 1.0
        weights[before & (size < 0.5 * size[before].max(initial=0.0))] = 1.0
        shown = np.where(changed | (np.arange(rows.n) < n_known), rows.scores, scores)
        changed |= are_changes(scores, rows.t, heavy)
        changed |= are_changes(shown, rows.t, heavy, _APPENDED_CHANGE if n_known else _CHANGE)
        weights[changed | ~possible] = 1.0
        if changed.any() and weights.min() < 1.0:
            # Rows beside a change are compared with the others as well.
            without = rows.with_weights(np.where(changed, _HARDLY, rows.weights), False)
            weights = np.maximum(weights, _weights(*leave_one_out(gp._recomputed(without)), least))
        if are_too_many(weights < 0.5):
            weights[:] = 1.0
        ratio = np.maximum(weights / rows.weights, rows.weights / weights)
        rows = rows.with_weights(weights, False, scores=shown, heavy_tails=heavy)
        gp = gp.with_rows(rows) if ratio.max() == 1.0 else gp._recomputed(rows)
        settled = ratio.max() < _TOLERANCE
        if settled or i == _MAX_ITERATIONS // 2:
            edges = _are_edges(gp, np.flatnonzero(weights < 1.0), least)
            if settled and not edges.any():
                break
            changed |= edges
    return gp


def _are_edges(gp, indices, least):
    """Return a mask (n,) of those rows that suit the rows before or after them, but not both.

    A function changes there: a row beside a change has large scores, and is no outlier.
    """
    rows, covariance = gp.rows, gp.covariance
    found, order = np.zeros(rows.n, dtype=bool), np.argsort(rows.t, kind="stable")
    times, noise = rows.t[order], rows.noise(covariance, full=True)
    for i in indices:
        sides = []
        first, last = np.searchsorted(times, rows.t[i]), np.searchsorted(times, rows.t[i], "right")
        for near in (order[max(first - _N_BESIDE, 0) : first], order[last : last + _N_BESIDE]):
            if len(near):
                others = np.delete(np.arange(rows.n), near)
                beside = Dense.of(covariance, rows.drop(others, standardize=False))
                mean, spread = beside.joint(rows.S[i : i + 1], rows.t[i : i + 1], full=False)
                spread = max(spread[0], 0.0) + noise[i]
                sides.append((abs(rows.y[i] - mean[0]) / rows.scale / np.sqrt(spread), spread))
        if len(sides) == 2:
            (score, spread), (other, beyond) = sorted(sides)
            found[i] = score <= _SUITS and other > least and spread <= _INFORMED * beyond
    return found


def leave_one_out(gp):
    """Return scores (n,) of leave-one-out predictions, their variances and those of the noise."""
    rows, covariance = gp.rows, gp.covariance
    noise, (residual, latent) = rows.noise(covariance, full=True), gp.leave_one_out()
    # Of a weight near 0, the difference is rounding.
    spread = np.clip(latent, 0.0, covariance.variance(rows.S, rows.t)) + noise
    return residual / np.sqrt(spread), spread, noise


def screened(X, y, position):
    """Return weights (n,) for a first search: hardly any for rows X (n, d + 1) far from a smooth.

    ``position`` is that of time among the columns.
    """
    weights, (distance, limit) = np.ones(len(y)), smooth_distances(X, y, position)
    far = distance > limit
    if np.count_nonzero(far) <= _MAX_SCREENED * len(y):
        weights[far] = np.maximum(_HARDLY * (limit / distance[far]) ** 2, _SMALLEST)
    return weights


def smooth_distances(X, y, position):
    """Return the distances (n,) of y from a smooth, and the largest that is not an outlier's.

    The smooth is computed twice, the second time from the rows that are near the first one.
    """
    n, near = len(y), np.ones(len(y), dtype=bool)
    if n < MIN_ROWS:
        return np.zeros(n), np.inf
    metrics = _metrics(X, position)
    for _ in range(2):
        if 2 * np.count_nonzero(near) >= n:
            distance = _distances_from_smooth(metrics, y, near)
            limit = _limit_of(distance)
            near = distance <= limit
    return distance, limit


def _metrics(X, position):
    """Return columns of X (n, k) whose distances are compared: some factors of time."""
    extents = extents_of_most(X, _MOST)
    space, time = np.delete(extents, position) > 0.0, extents[position : position + 1] > 0.0
    S = (np.delete(X, position, axis=1) / np.delete(extents, position).clip(1e-300))[:, space]
    t = (X[:, position : position + 1] / extents[position].clip(1e-300))[:, time]
    factors = _TIME_FACTORS if S.size and t.size else (1.0,)
    return [np.column_stack([S, factor * t]) for factor in factors]


def _distances_from_smooth(metrics, y, near):
    """Return distances (n,) of y from the medians of y at the nearest rows of the mask ``near``."""
    best, known = np.abs(y - np.median(y[near])), y[near]
    for columns in metrics:
        if columns.shape[1]:
            nearest = cKDTree(columns[near]).query(columns, min(_N_NEAREST, len(known)))[1]
            distance = np.abs(y - np.median(known[nearest], axis=1))
            if np.median(distance) < np.median(best):
                best = distance
    return best


def _limit_of(distance):
    """Return the largest distance (n,) that is not an outlier's."""
    scale = 1.4826 * np.median(distance)
    if scale > 0.0:
        return _FAR * scale
    # Most are 0. A distance is compared with the smaller ones: many equal ones are no outliers.
    known = np.sort(distance)
    smaller = np.sqrt(np.cumsum(known**2) / np.arange(1, len(known) + 1))
    return known[np.flatnonzero(np.append(True, known[1:] <= _ALONE * smaller[:-1]))[-1]]


def may_be_outliers(y):
    """Return a mask (n,) of the rows that may be outliers: few if most y are equal."""
    distance = np.abs(y - np.median(y))
    return distance > _limit_of(distance) if np.median(distance) == 0.0 else np.ones(len(y), bool)


def are_changes(scores, t, heavy_tails=False, n_change=_CHANGE):
    """Return a mask (n,) of the rows whose large scores belong to a change of the function."""
    order, n = np.argsort(t, kind="stable"), len(scores)
    size, sign = np.abs(scores)[order], np.sign(scores)[order]
    least = limit(n, heavy_tails)
    large = size > least
    ratio = np.abs(np.diff(np.log(np.maximum(size, least))))
    joined = large[1:] & large[:-1] & (sign[1:] == sign[:-1]) & (ratio <= np.log(_SIMILAR))
    starts = np.flatnonzero(np.append(True, ~(joined & (np.diff(t[order]) > 0.0))))
    lengths = np.diff(starts, append=n)
    share = np.maximum(np.count_nonzero(large) - lengths, 0) / n
    by_chance = (n_change == _CHANGE) & (n * share**lengths >= _BY_CHANCE)
    found = np.zeros(n, dtype=bool)
    found[order] = np.repeat((lengths >= n_change) & ~by_chance, lengths)
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
