"""Weights of outliers: noise variances are divided by weights of at most 1.

The score z of an observation is its residual from the prediction of the other observations (or of
those before it), over the standard deviation √v of that prediction, noise variance σ² included.
Its weight is w = σ² / (σ² + v max(|z| − L, 0)²): exactly 1 within L standard deviations, so that
data without outliers have the posterior of plain regression. The influence of an observation on the
posterior decreases as 1 / |z| beyond. This is the plateau function of Ezzerg, Bogunovic & Knoblauch
(arXiv 2511.15315) with c = √v, without the shift of y.

An outlier is alone, a change of the function is not: neighbours, in succession at one input or at
equal times, that all have large, similar scores of one sign have weight 1. So have the rows beside
a change, which suit the rows on their side, and those appended soon after it. The latest row may be
either: until another one is appended, its weight is at least Huber's σ² / (σ² + v (|z| / L − 1)),
with which its influence is that of L standard deviations.
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree
from scipy.special import ndtr, stdtrit
from scipy.stats import kurtosis

from .._values import extents_of_most
from ._data import are_unconfirmed
from ._exact_posterior import Dense

# With many rows, scores up to this number L have weight 1. Hyperparameters learnt from few rows are
# uncertain: L for n rows is the quantile of the same level of Student's t with n degrees of
# freedom, 10.5 for n = 10 and 5.8 for n = 50.
_LIMIT = 5.0

# L where the scores have heavy tails: a kurtosis that exceeds a Gaussian's by more than the second
# number of its standard deviations, √(24 / n). With Gaussian noise it hardly ever does.
_HEAVY_LIMIT, _HEAVY = 2.0, 3.0

# Weights are 1 with fewer rows, or if a larger part of the rows would have a smaller weight. If
# an appended row exceeds the part, the largest of the smaller weights becomes 1.
MIN_ROWS = 10
_MAX_SHARE = 0.25

# Numbers of neighbouring large scores of one sign that make a change of the function, among all
# rows of a fit and where rows were appended, and largest ratio of neighbours. Two outliers in
# succession are frequent in a fit.
_CHANGE, _APPENDED_CHANGE, _SIMILAR = 3, 2, 4.0

# In a fit they are outliers if that many neighbours are expected this often by chance, with as many
# other large scores. Where inputs are observed together there are more ways to be neighbours: sets
# of n cells of a square grid grow by this factor with n (Klarner's constant, 4.06).
_BY_CHANCE, _WAYS_ON = 0.02, 4.0

# Before a search, rows farther from a smooth of y than this many robust standard deviations have
# at most the second number as weight: otherwise the search explains them as noise. The smooth is
# the median of the third number of nearest rows, by each of these factors of time.
_FAR_FROM_SMOOTH, _HARDLY = 4.0, 1e-6
_N_NEAREST = 15
_TIME_FACTORS = (0.0, 0.3, 1.0, 3.0, 1e3)

# Distances are relative to the extents that this part of the rows has.
_MOST = 0.8

# If most y are equal, an outlier is farther from them than the other rows in the quadratic mean, by
# this factor: one event in 64 rows is an outlier, three are not.
_ALONE = 8.0

# Number of rows after a change that have full weight: their predictions are from before it.
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
            new_rows = reweighted(new._recomputed(new.rows.with_weights(weights, standardize))).rows
            # Location and scale are not those of the screened rows.
            new = new._recomputed(new_rows.with_weights(new_rows.weights, standardize))
        return new
    scores, weights = _compared(gp, rows)
    is_outlier = weights.min(initial=1.0) < 1.0
    if gp.rows.weights[-1] < 1.0 and not (m == 1 and is_outlier):
        gp = _confirmed(gp, standardize)
    new = gp.append(*rows, standardize=standardize, weights=weights, scores=scores)
    if not is_outlier:
        return new
    if m > 1:
        return reweighted(new, n)
    rows, weights = new.rows, new.rows.weights.copy()
    if are_too_many(weights < 1.0):
        weights[np.argmax(np.where(weights < 1.0, weights, 0.0))] = 1.0
    changed = are_changes(rows.scores, rows.S, rows.t, rows.heavy_tails, _APPENDED_CHANGE)
    weights[changed | ~may_be_outliers(rows.y)] = 1.0
    if (weights == rows.weights).all():
        return new
    return new._recomputed(rows.with_weights(weights, standardize))


def _compared(gp, rows):
    """Return scores (m,) of more rows, by the predictions for them, and their weights (m,).

    A single outlier may be the first row of a change: it has Huber's weight.
    """
    X, y, variance, total = rows
    S, t, F = gp.rows.layout.places(X)
    mean, spread = gp.joint(S, t, False, F)
    scale, heavy = gp.rows.scale, gp.rows.heavy_tails
    noise = np.where(total, 0.0, gp.covariance.noise_variance) + variance / scale / scale
    spread, least = np.maximum(spread, 0.0) + noise, limit(gp.rows.n + len(y), heavy)
    scores = (y - mean) / scale / np.sqrt(spread)
    weights = _weights(scores, spread, noise, least)
    changed = are_changes(gp.rows.scores, gp.rows.S, gp.rows.t, heavy, _APPENDED_CHANGE)
    if changed[_latest_rows(gp.rows, X)].any():
        # The hyperparameters are held, and do not explain the change.
        weights[:] = 1.0
    if len(y) == 1 and weights[0] < 1.0:
        excess = np.minimum(np.abs(scores), _LARGEST) / least - 1.0
        weights = np.maximum(weights, noise / (noise + spread * np.maximum(excess, 0.0)))
    return scores, weights


def _latest_rows(rows, X):
    """Return a mask (n,) of the latest rows, and of the latest at the inputs of rows X."""
    latest = np.arange(rows.n) >= rows.n - _SETTLES
    for s in rows.layout.split(X)[0]:
        latest[np.flatnonzero(_are_equal(rows.S, s))[-_SETTLES:]] = True
    return latest


def _confirmed(gp, standardize):
    """Condition a GP with the weights of outliers for the latest rows: no change follows."""
    weights, (scores, spread, noise) = gp.rows.weights, leave_one_out(gp)
    new_weights = _weights(scores, spread, noise, limit(gp.rows.n, gp.rows.heavy_tails))
    weights = np.where(are_unconfirmed(weights), np.minimum(weights, new_weights), weights)
    return gp._recomputed(gp.rows.with_weights(weights, standardize))


def reweighted(gp, n_known=0, full=False):
    """Condition a GP with weights that its own predictions confirm, a fixed point.

    Scores are those of leave-one-out predictions, O(n³) an iteration. The first ``n_known`` rows
    keep their scores, and have weight 1 if these make them part of a change. Rows of the mask
    ``full`` have weight 1.
    """
    if gp.rows.n < MIN_ROWS:
        return gp
    possible = may_be_outliers(gp.rows.y) & ~np.asarray(full)
    S, t = gp.rows.S, gp.rows.t
    changed = are_changes(gp.rows.scores, S, t, gp.rows.heavy_tails)
    for i in range(_MAX_ITERATIONS):
        rows = gp.rows
        scores, spread, noise = leave_one_out(gp)
        heavy, size = has_heavy_tails(scores, S, t), np.abs(scores)
        least = limit(rows.n, heavy)
        weights = _weights(scores, spread, noise, least)
        # An outlier spoils the predictions of its neighbours: first weigh the largest scores.
        before = rows.weights == 1.0
        weights[before & (size < 0.5 * size[before].max(initial=0.0))] = 1.0
        shown = np.where(changed | (np.arange(rows.n) < n_known), rows.scores, scores)
        changed |= are_changes(scores, S, t, heavy)
        changed |= are_changes(shown, S, t, heavy, _APPENDED_CHANGE if n_known else _CHANGE)
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
    rows, covariance = gp.rows.without_trend(gp.mean), gp.covariance
    is_edge, order = np.zeros(rows.n, dtype=bool), np.argsort(rows.t, kind="stable")
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
            is_edge[i] = score <= _SUITS and other > least and spread <= _INFORMED * beyond
    return is_edge


def leave_one_out(gp):
    """Return scores (n,) of leave-one-out predictions, their variances and those of the noise."""
    rows, covariance = gp.rows, gp.covariance
    noise, (residual, latent) = rows.noise(covariance, full=True), gp.leave_one_out()
    # With a weight near 0, the difference is rounding.
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
        return _FAR_FROM_SMOOTH * scale
    # Most are 0. A distance is compared with the smaller ones: many equal ones are no outliers.
    known = np.sort(distance)
    smaller = np.sqrt(np.cumsum(known**2) / np.arange(1, len(known) + 1))
    return known[np.flatnonzero(np.append(True, known[1:] <= _ALONE * smaller[:-1]))[-1]]


def may_be_outliers(y):
    """Return a mask (n,) of the rows that may be outliers: few if most y are equal."""
    distance = np.abs(y - np.median(y))
    return distance > _limit_of(distance) if np.median(distance) == 0.0 else np.ones(len(y), bool)


def are_changes(scores, S, t, heavy_tails=False, n_change=_CHANGE):
    """Return a mask (n,) of the rows whose large scores belong to a change of the function.

    They belong to one if enough neighbours, at inputs S (n, d) and times t (n,), have large and
    similar scores of one sign.
    """
    n, least, size = len(scores), limit(len(scores), heavy_tails), np.abs(scores)
    large = size > least
    if np.count_nonzero(large) < n_change:
        return np.zeros(n, dtype=bool)
    i, j = neighbours(S, t, large)
    ratio = np.abs(np.log(np.maximum(size[i], least)) - np.log(np.maximum(size[j], least)))
    similar = (np.sign(scores[i]) == np.sign(scores[j])) & (ratio <= np.log(_SIMILAR))
    links = coo_array((np.ones(np.count_nonzero(similar)), (i[similar], j[similar])), (n, n))
    label = connected_components(links, directed=False)[1]
    lengths = np.bincount(label)[label]
    share = np.maximum(np.count_nonzero(large) - lengths, 0) / n
    expected = n * share * (_ways_on(S, t) * share) ** (lengths - 1.0)
    by_chance = (n_change == _CHANGE) & (expected >= _BY_CHANCE)
    return large & (lengths >= n_change) & ~by_chance


def neighbours(S, t, some):
    """Return pairs i, j of neighbours among some rows (mask), in any order of the rows.

    Neighbours of a row are those at its input and the next time there, the nearest ones at the next
    and the previous time, and the two nearest ones at its own time, if both are among some rows.
    The latter are at sites, inputs that are observed at other times as well.
    """
    at_time, at_input = _Groups.of(t), _Groups.of(*S.T, t)
    is_site, ranges = _are_sites(S, at_input), np.ptp(S, axis=0)
    columns, pairs = S / np.where(ranges > 0.0, ranges, 1.0), [np.empty((0, 2), dtype=int)]

    def add(i, others, all_or_none=False):
        if not all_or_none or some[others].all():
            others = others[some[others]]
            pairs.append(np.column_stack([np.full(len(others), i), others]))

    for i in np.flatnonzero(some):
        after = at_input.beside(i, 1)
        add(i, after[_are_equal(S[after], S[i])])
        for step in (-1, 1):
            add(i, _nearest(columns, i, at_time.beside(i, step), 1))
        others = at_time.beside(i, 0)
        others = others[(is_site[others] & is_site[i]) & ~_are_equal(S[others], S[i])]
        add(i, _nearest(columns, i, others, 2), all_or_none=True)
    return np.concatenate(pairs).T


class _Groups(NamedTuple):
    """Rows in lexicographic order of some columns, in groups of equal ones.

    Attributes
    ----------
    order, start, label : ndarrays of int
        Rows by group; first position of each group, and n; group of each row.
    """

    order: np.ndarray
    start: np.ndarray
    label: np.ndarray

    @classmethod
    def of(cls, *columns):
        order = np.lexsort(columns[::-1])
        ordered = np.column_stack(columns)[order]
        new = np.append(True, ~_are_equal(ordered[1:], ordered[:-1]))
        label = np.empty(len(order), dtype=int)
        label[order] = np.cumsum(new) - 1
        return cls(order, np.append(np.flatnonzero(new), len(order)), label)

    def beside(self, i, step):
        """Return the rows of the group that is ``step`` groups after that of row i."""
        k = self.label[i] + step
        inside = 0 <= k < len(self.start) - 1
        return self.order[self.start[k] : self.start[k + 1]] if inside else self.order[:0]


def _are_sites(S, at_input):
    """Return a mask (n,) of the rows whose input is observed at several times."""
    first = at_input.order[at_input.start[:-1]]
    same = _are_equal(S[first[1:]], S[first[:-1]])
    return (np.append(same, False) | np.append(False, same))[at_input.label]


def _nearest(columns, i, others, m):
    """Return the m rows of ``others`` that are nearest to row i, and all that are as near."""
    distances = np.sum((columns[others] - columns[i]) ** 2, axis=1)
    if len(others) <= m:
        return others
    return others[distances <= np.partition(distances, m - 1)[m - 1]]


def _are_equal(S, other):
    return np.equal(S, other).all(axis=1)


def _ways_on(S, t):
    """Return the number of ways to go on from a row to a neighbour: 1 in a single sequence."""
    one_by_one = len(_Groups.of(t).start) > len(t)
    sites = _are_sites(S, _Groups.of(*S.T, t))
    return 1.0 if one_by_one and (not sites.any() or _are_equal(S, S[0]).all()) else _WAYS_ON


def has_heavy_tails(scores, S, t):
    """Return True if scores up to the limit have heavier tails than a Gaussian.

    Large scores of neighbours are left out: the function may have changed there.
    """
    size, order = np.abs(scores), np.argsort(t, kind="stable")
    large = size > _HEAVY_LIMIT
    near = np.zeros(len(t), dtype=bool)
    near[order] = np.convolve(large[order], [1, 0, 1], "same") > 0
    near[_are_sites(S, _Groups.of(*S.T, t))] = False
    near[neighbours(S, t, large)] = True
    z = scores[(size <= limit(len(scores))) & ~(large & near)]
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
