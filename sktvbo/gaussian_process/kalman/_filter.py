"""Exact conditioning of a Markov process over few places, linear in the number of rows.

λ k_S ∘ k_T with a Markov k_T is, at M places, a Markov process of their states. A Kalman filter
processes an observation in O(M²), for any number of earlier ones; a smoother returns to past times.
Both are exact. Two columns of targets are filtered, y and 1. They give a learnt mean
(`_prior_mean`) and a scale that follows y:

    1ᵀ G 1, 1ᵀ G y, yᵀ G y  come from the innovations,   1 − kᵀ G 1  is 1 less the filtered 1.

The other features of a linear mean (`_linear_mean`) are further columns.

At other places f(x, t) = Σ_j w_j f(x_j, t) plus an independent rest, with w from the Gram matrix in
space. A level l(t) is a part of f and of the state: f − l is interpolated.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.linalg import cho_solve, lapack, solve_triangular

from ..._validation import RESOLUTION
from ..._values import distinct_rows, replaced
from ...exceptions import NotPositiveDefiniteError
from .._cholesky import matvec
from .._conditioned import (
    LOG_2PI,
    BasisPosterior,
    Conditioned,
    Criterion,
    ProcessPosterior,
    squares,
)
from .._covariance import SeparableCovariance
from .._data import Rows
from .._exact_posterior import Dense
from .._linear_mean import Coefficients, estimate_coefficients
from .._prior_mean import ZERO, Mean, estimate_mean
from ._smoother import FilterState, Observations, Timeline, timeline
from ._state_space import Composed, process_of

# The states before this many latest observations are stored: a row that is late by at most this
# many is inserted at the cost of filtering those after it again.
_MAX_LATE_ROWS = 32

# Columns of targets, and rows, of a filter for `FilteredTerm`: bounds products of the columns, and
# the memory of the transitions.
_MAX_COLUMNS, _MAX_MOVES = 64, 1024


# First words of the names of hyperparameters: of all kernels, and of those of each group.
_OF_GROUPS = ("signal", "spatial", "temporal"), ("signal", "level")
_OF_KERNELS = (*_OF_GROUPS[0], "level")


class SiteIndex:
    """Index of the distinct places (M, d) whose states are tracked.

    Parameters
    ----------
    S : ndarray of shape (M, d)
    """

    def __init__(self, S):
        self.S = S + 0.0  # equal places have equal bytes
        self._index = {place.tobytes(): i for i, place in enumerate(self.S)}

    def __getstate__(self):
        return {"S": self.S}

    def __setstate__(self, state):
        self.__init__(state["S"])

    def __len__(self):
        return len(self.S)

    def find(self, S):
        """Return the positions (m,) of places (m, d), -1 for unknown places."""
        if S.shape == self.S.shape and np.array_equal(S, self.S):
            return np.arange(len(S))
        if not S.shape[1]:
            return np.full(len(S), len(self) - 1)  # one place without spatial columns
        S = np.ascontiguousarray(S) + 0.0
        index = self._index
        return np.array([index.get(place.tobytes(), -1) for place in S], dtype=np.intp)

    def with_places(self, S):
        """Return an index with the new ones among places (m, d) appended."""
        new = S[self.find(S) < 0]
        return SiteIndex(np.vstack([self.S, distinct(new)])) if len(new) else self


def distinct(S):
    """Return the distinct rows of S (n, d), in lexicographic order; d may be 0."""
    return distinct_rows(S + 0.0)[0] if S.shape[1] else S[:1]


@dataclass(frozen=True, eq=False)
class Filter(Conditioned):
    """Gaussian process conditioned by a Kalman filter.

    Attributes
    ----------
    sites : SiteIndex
    state : FilterState
        State for the targets (y − location) / scale, with fixed ``units`` (location, scale), and 1.
    tail : tuple of (FilterState, Observations)
        Latest observations, with the states before them.
    dense_fallback : bool
        True to become a `Dense`, which uses jitter, where the filter breaks down.
    """

    covariance: SeparableCovariance
    rows: Rows
    sites: SiteIndex
    state: FilterState
    mean: Mean | Coefficients
    objective: float
    units: tuple
    dense_fallback: bool
    tail: tuple = ()

    @classmethod
    def of(cls, covariance, rows, sites, dense_fallback=False):
        """Filter all rows, O(n N²); N = p M is the size of the state.

        Raises
        ------
        NotPositiveDefiniteError
            The covariance of observations is not positive definite, or solving overflows.
        """
        # Not rows.S, which the rows would store until the filter is rebuilt.
        sites = sites.with_places(rows.layout.split(rows.X)[0])
        units = rows.location, rows.scale
        data = _observations(rows, sites, rows.noise(covariance), units)
        try:
            process = process_of(covariance)
            state = FilterState.of(process, _in_space(covariance, process, sites.S), data)
            return cls._from_state(covariance, rows, sites, state, units, dense_fallback)
        except NotPositiveDefiniteError:
            if not dense_fallback:
                raise
        return Dense.of(covariance, rows)

    @classmethod
    def _from_state(cls, covariance, rows, sites, state, units, dense_fallback, tail=()):
        mean, value = _solve(state, rows, units, covariance.mean_variance)
        if not np.isfinite(value):
            raise NotPositiveDefiniteError(
                f"The likelihood under {covariance} overflowed. Scale y to a moderate range "
                "(normalize_y=True), or raise noise_variance."
            )
        value = float(value)
        return cls(covariance, rows, sites, state, mean, value, units, dense_fallback, tail)

    @staticmethod
    def criterion(rows, sites, dense_fallback=False):
        return _Likelihood(rows, sites.with_places(rows.S), dense_fallback)

    @classmethod
    def searchable(cls, covariance, sites, *_):
        process = process_of(covariance)
        if not isinstance(process, Composed):
            return covariance
        return covariance.with_shortest_periodic(process.shortest_periodic(len(sites)))

    @property
    def gradient(self):
        # The smoother takes O(n N²), the inverse of the covariance of the rows O(n³).
        if self.rows.n < self.state.m.shape[1]:
            return Dense.of(self.covariance, self.rows).gradient
        return super().gradient

    def log_likelihood(self, covariance, eval_gradient=False):
        """Return `log_likelihood` of the same rows under another covariance of the same kernels."""
        return log_likelihood(covariance, self.rows, self.sites, eval_gradient)

    @property
    def _log_determinant(self):
        return self.state.sums[0, -1]

    # --- other rows -------------------------------------------------------------------------------

    def append(self, X, y, variance, total, standardize=None, **robust):
        """Append rows, O(N²) each if late by at most 32 rows; otherwise O(n N²)."""
        rows = self.rows.append(X, y, variance, total, standardize, **robust)
        before = self._track_places(rows.layout.split(rows.X[self.rows.n :])[0])
        if self._has_same_noise(rows):
            try:
                appended = before._append_in_order(rows)
            except NotPositiveDefiniteError:
                if not self.dense_fallback:
                    raise
                return Dense.of(self.covariance, rows)
            if appended is not None:
                return appended
        return before._recomputed(rows)

    @property
    def extra_args(self):
        return self.sites, self.dense_fallback

    def _track_places(self, S):
        """Return the filter with the places (m, d) tracked as well."""
        sites = self.sites.with_places(S)
        if sites is self.sites:
            return self
        W, _ = self._interpolate(sites.S[len(self.sites) :])
        K = _in_space(self.covariance, self.state.process, sites.S)
        return replace(self, sites=sites, state=self.state.extended(K, W), tail=())

    def _append_in_order(self, rows):
        """Return the filter with further rows, or None if one is too late to be inserted."""
        new, state, tail = slice(self.rows.n, None), self.state, self.tail
        noise = rows.noise(self.covariance, new)
        data = _observations(rows, self.sites, noise, self.units, new)
        while data.t[0] < state.t:
            # Go back to the state before the late row, and filter in the order of time again.
            if not tail:
                return None
            *tail, (state, later) = tail
            data = later.merge(data)
        if len(data) > _MAX_LATE_ROWS:
            state, tail = state.update(data), ()
        else:
            for i in range(len(data)):
                one = data.subset(slice(i, i + 1))
                tail = (*tail, (state, one))[-_MAX_LATE_ROWS:]
                state = state.update(one)
        options = self.units, self.dense_fallback, tuple(tail)
        return self._from_state(self.covariance, rows, self.sites, state, *options)

    def drop(self, indices, standardize=None):
        """Drop rows, O(n N²)."""
        return self._recomputed(self.rows.drop(indices, standardize))

    def relevancy_sweep(self, now):
        return Dense.of(self.covariance, self.rows).relevancy_sweep(now)

    def during(self, low, high, level=True):
        """Return the posterior from low to high, with weights on the sites at one time.

        O(N³) at the first query that is no site. For an interval in the past, or kernels with more
        than one component, the dense posterior, O(n³).

        Parameters
        ----------
        low, high : float
        level : bool, default=True
            See `Conditioned.during`.
        """
        if low == high:
            return Snapshot(self, low, level)
        if low >= self.state.t and self.state.process.order == 1:
            return Snapshot(self, self.state.t)
        return Dense.of(self.covariance, self.rows)

    def terms(self):
        whole = FilteredTerm(self)
        return [replaced(whole, covariance=covariance) for covariance in self.covariance.terms()]

    # --- prediction -------------------------------------------------------------------------------

    @cached_property
    def _pivots(self):
        """Pivot sites (r,) that span all sites, and the Cholesky factor of their covariance."""
        factor, order, rank, _ = lapack.dpstrf(self.state.K[0], lower=1)
        return order[:rank] - 1, np.tril(factor[:rank, :rank])

    def _interpolate(self, S):
        """Return weights (m, c) of the state's first numbers at places (m, d), and L⁻¹ K (m, r)."""
        chosen, L = self._pivots
        where = _at(self.state.process, len(S)), _at(self.state.process, len(chosen))
        K = self.covariance.varying.cross(S, where[0], self.sites.S[chosen], where[1])
        half = solve_triangular(L, K.T, lower=True)
        W = np.zeros((len(S), self.state.n_shown))
        W[:, chosen] = solve_triangular(L, half, lower=True, trans=1).T
        if self.state.process.level:
            W[:, -1] = 1.0 - W.sum(axis=1)
        return W, half.T

    def _residual_covariance(self, S, half, full=False):
        """Return the prior covariance (m, m), or variance (m,), in space given the sites."""
        at, covariance = _at(self.state.process, len(S)), self.covariance.varying
        prior = covariance.cross(S, at) if full else covariance.variance(S, at)
        return prior - squares(half, full)

    def _mean(self, S, t, F=None):
        return self.joint(S, t, False, F)[0]

    def joint(self, S, t, full=True, F=None):
        """Return the same as `ProcessPosterior`. Past times cost O(n N²), and O(N²) each."""
        filtered, spread = self._covariance(S, t) if full else self._marginals(S, t)
        y, known = self._rescaled(filtered)
        rows = self.rows
        rest = (1.0 if rows.layout.trend is None else F) - known
        mean = rows.location + rows.scale * (rest @ self.mean.vector + y)
        if self.mean.is_learnt:
            spread = spread + squares(rest @ self.mean.root, full)
        return mean, spread

    def _rescaled(self, columns):
        """Return the column (m,) of the standardized y, and those of the features (m, q).

        Of columns (m, 1 + q) in ``units``.
        """
        by_y, by_one = _unit_conversion(self.rows, self.units)
        return by_y * columns[:, 0] + by_one * columns[:, 1], columns[:, 1:]

    def _marginals(self, S, t):
        """Return columns (m, 1 + q) and variances (m,) of f for a mean of 0."""
        site = self.sites.find(S)
        outside = np.flatnonzero(site < 0)
        later = t >= self.state.t
        columns, variance = np.empty((len(t), len(self.state.m))), np.empty(len(t))
        residual = np.zeros(len(t))
        W = np.empty((0, self.state.n_shown))
        if len(outside):
            W, half = self._interpolate(S[outside])
            residual[outside] = self._residual_covariance(S[outside], half)
            site[outside] = len(self.sites) + np.arange(len(outside))
        here = later & (site < len(self.sites))
        columns[here], variance[here] = self.state.marginals(site[here], t[here])
        for time in np.unique(t[later & ~here]):
            queries = np.flatnonzero((t == time) & ~here)
            m, P = self.state.at(time)
            H = W[site[queries] - len(self.sites)]
            columns[queries], variance[queries] = H @ m.T, np.einsum("ij,ij->i", H @ P, H)
        past = np.flatnonzero(~later)
        if len(past):
            past = past[np.argsort(t[past], kind="stable")]
            times = t[past]
            line = timeline(self.state.process, len(self.sites), self._data(), times)
            answers = line.smooth(self.state.K, queries=(times, site[past], W))[1]
            columns[past], variance[past] = answers[:, :-1], answers[:, -1]
        if len(outside):
            times, index = np.unique(t[outside], return_inverse=True)
            in_time = np.array([self.state.process.prior(time)[0, 0, 0] for time in times])
            variance[outside] += residual[outside] * in_time[index]
        return columns, variance

    def _covariance(self, S, t):
        """Return columns (m, 1 + q) and covariance (m, m) of f for a mean of 0."""
        site = self.sites.find(S)
        outside = np.flatnonzero(site < 0)
        H = np.zeros((len(t), self.state.n_shown))
        inside = np.flatnonzero(site >= 0)
        H[inside, site[inside]] = 1.0
        if len(outside):
            H[outside], half = self._interpolate(S[outside])
        if len(t) and (t == t[0]).all() and t[0] >= self.state.t:
            m, P = self.state.at(t[0])
            columns, cov = H @ m.T, H @ P @ H.T
        else:
            order = np.argsort(t, kind="stable")
            line = Timeline.of(self.state.process, self._data(), t)
            steps = np.searchsorted(line.t, t[order])
            columns, cov = np.empty((len(t), len(self.state.m))), np.empty((len(t), len(t)))
            columns[order], cov[np.ix_(order, order)] = line.joint(self.state.K, steps, H[order])
        if len(outside):
            residual = self._residual_covariance(S[outside], half, full=True)
            temporal, start = self.covariance.temporal, np.array([[self.state.process.start]])
            residual *= temporal(t[outside, np.newaxis]) / temporal.diag(start)
            cov[np.ix_(outside, outside)] += residual
        return columns, cov

    def _data(self):
        """Return all rows as observations."""
        return _observations(self.rows, self.sites, self.rows.noise(self.covariance), self.units)

    def state_at(self, t):
        """Return mean, filtered features and covariance of f at the sites, and of the level.

        (M,) or (M + 1,), each with q features, and (M, M) or (M + 1, M + 1); standardized.
        """
        H = np.eye(self.state.n_shown)
        if self.state.process.level:
            H = np.delete(H, slice(len(self.sites), -1), axis=0)
        if t >= self.state.t:
            m, P = self.state.at(t)
            return *self._rescaled(H @ m.T), H @ P @ H.T
        line = Timeline.of(self.state.process, self._data(), [t])
        columns, P = line.joint(self.state.K, np.full(len(H), np.searchsorted(line.t, t)), H)
        return *self._rescaled(columns), P


class FilteredTerm(ProcessPosterior):
    """Posterior of a term of f, from the weights of all rows in a filter; means take O(n).

    Variances filter the covariances with each place as targets: O(n N p) a place.
    """

    def __init__(self, gp):
        rows = gp.rows
        self._basis, noise = rows.layout.split(rows.X), rows.noise(gp.covariance)
        # y − K a = Σ a for a = Δ⁻¹ y.
        y, known = gp._rescaled(gp._marginals(*self._basis)[0])
        F = 1.0 if rows.layout.trend is None else rows.features
        directions = (F - known) / noise[:, np.newaxis]
        self._weights = (rows.targets - y) / noise - directions @ gp.mean.vector
        self._gp, self._noise = gp, noise
        self.covariance, self.rows = gp.covariance, rows.without_mean()
        self.mean = gp.mean.of_term(gp.mean.in_basis(directions))

    def _mean(self, S, t, F=None):
        return self.rows.scale * matvec(self.covariance.cross(S, t, *self._basis), self._weights)

    def joint(self, S, t, full=True, F=None):
        K = self.covariance.cross(S, t, *self._basis)
        prior = self.covariance.cross(S, t) if full else self.covariance.variance(S, t)
        variance = prior - self._reduction(K, full) + self.mean.covariance(K, full, F)
        return self.rows.scale * matvec(K, self._weights), variance

    def _reduction(self, K, full):
        """Return K Δ⁻¹ Kᵀ (m, m), or its diagonal (m,)."""
        if full:
            return self._products(K)
        blocks = np.split(K, np.arange(_MAX_COLUMNS, len(K), _MAX_COLUMNS))
        return np.concatenate([self._products(block).diagonal() for block in blocks])

    def _products(self, K):
        state, (S, t) = self._gp.state, self._basis
        data = Observations.of(t, self._gp.sites.find(S), K.T, self._noise)
        m, P = np.zeros((len(K), state.m.shape[1])), np.zeros(2 * state.m.shape[1:])
        sums, before = 0.0, None
        for first in range(0, len(data), _MAX_MOVES):
            part = data.subset(slice(first, first + _MAX_MOVES))
            line = Timeline.of(state.process, part, after=before)
            sums, before = sums + line.filter(state.K, m, P), float(line.t[-1])
        return sums[:, :-1]


class Snapshot(BasisPosterior):
    """Posterior of a filter as weights on the sites at one time, for `TimeSlice`.

    Without ``level`` it is that of differences between places: level and constant mean are known.

    With a level l, f − l at a place is a weighted sum of those at the sites, whose covariances with
    it are k − v for those k of f, and v the prior variance of l. So moments are polynomials in k.
    """

    def __init__(self, gp, t, level=True):
        self._gp, self._t, self._level = gp, t, level
        self.rows, self.covariance = gp.rows, gp.covariance if level else gp.covariance.varying
        # Prior variance of the level in ``covariance``.
        self._shared = 0.0
        if level and gp.covariance.level is not None:
            self._shared = gp.covariance.of_level.variance(*self._origin)[0]

    @property
    def basis(self):
        return self._gp.sites.S, np.full(len(self._gp.sites), self._t)

    @property
    def _origin(self):
        return np.zeros((1, self._gp.covariance.n_dims)), np.array([self._t])

    @cached_property
    def mean(self):
        """Mean of the filter with that of the level, and its direction in this basis."""
        mean, (weights, of_level) = self._gp.mean, self._projection[:2]
        value, *shares = of_level - self._shared * weights.sum(axis=1)
        return mean.in_snapshot(value, np.array(shares), weights[1:].T, self._level)

    @cached_property
    def _projection(self):
        """Weights (1 + q, M) of y and features, parts (1 + q,) in the level, pivots, reduction.

        Of a place with k at the pivots it is k' G k − 2 k' u + c, for k less the level's part.
        """
        gp = self._gp
        y, known, P = gp.state_at(self._t)
        columns = np.vstack([y - known @ gp.mean.vector, known.T])
        of_level = np.zeros(len(columns))
        if gp.state.process.level:
            # From f and l at the sites to f − l and l.
            T = np.eye(len(y))
            T[:-1, -1] = -1.0
            columns, P = columns @ T.T, T @ P @ T.T
            of_level = columns[:, -1]
        chosen, L = gp._pivots
        variance = gp.state.process.prior(self._t)[0, 0, 0]

        def solve(X):
            return cho_solve((L, True), X) / variance

        block = np.ix_(chosen, chosen)
        weights = np.zeros((len(columns), len(gp.sites)))
        weights[:, chosen] = solve(columns.T[chosen]).T
        G = solve(solve(variance * gp.state.K[0][block] - P[block]).T)
        u, c = np.zeros(len(chosen)), 0.0
        if self._shared:
            u, c = solve(P[chosen, -1]), self._shared - P[-1, -1]
        return weights, of_level, chosen, (G, u, c)

    @property
    def weights(self):
        return self._projection[0][0]

    def variance_reduction(self, K, full=False, F=None):
        *_, chosen, (G, u, c) = self._projection
        K = K[..., chosen] - self._shared
        if full:
            on_level = K @ u
            return K @ G @ K.T - on_level - on_level[:, np.newaxis] + c
        return np.einsum("ij,jk,ik->i", K, G, K, optimize=True) - 2.0 * K @ u + c

    def half_gradient(self, k):
        *_, chosen, (G, u, _) = self._projection
        slope = np.zeros(len(k))
        slope[chosen] = G @ (k[chosen] - self._shared) - u
        return slope

    def variance_reduction_with_slope(self, k, f=None):
        slope, variance = self.mean.corrected_weights(k, self.half_gradient(k), f)
        return self.variance_reduction(k[np.newaxis])[0] - variance, slope

    def _mean(self, S, t, F=None):
        return self._gp._mean(S, t, F) if self._level else super()._mean(S, t, F)

    def joint(self, S, t, full=True, F=None):
        return (self._gp if self._level else super()).joint(S, t, full, F)


class _Likelihood(Criterion):
    """The `log_likelihood` of rows; with ``dense_fallback`` by `Dense` until the filter works.

    Otherwise no search would leave a start at which the filter breaks down.
    """

    def __init__(self, rows, sites, dense_fallback):
        self._rows, self._sites = rows, sites
        self._dense = Dense.criterion(rows) if dense_fallback else None

    def __call__(self, covariance, eval_gradient):
        likelihood = log_likelihood(covariance, self._rows, self._sites, eval_gradient)
        if likelihood[0] > -np.inf:
            self._dense = None
        return likelihood if self._dense is None else self._dense(covariance, eval_gradient)


def log_likelihood(covariance, rows, sites, eval_gradient):
    """Return log p(y) by innovations, and its gradient in theta or None.

    O(n N²), by a smoother that contracts derivatives of the state at each step. Minus infinity, so
    that a search turns back, if the filter breaks down.
    """
    process, noise = process_of(covariance), rows.noise(covariance)
    units = rows.location, rows.scale
    data = _observations(rows, sites, noise, units)
    K, M = _in_space(covariance, process, sites.S), len(sites)
    learnt = covariance.mean_variance > 0.0
    if not learnt:
        data = replace(data, Y=data.Y[:, :1].copy())
    line = timeline(process, M, data)
    sums, mean = None, ZERO
    try:
        sums = line.filter_all(K)[0]
    except NotPositiveDefiniteError:
        return -np.inf, np.zeros(len(covariance.bounds)) if eval_gradient else None
    value = -0.5 * (rows.n * LOG_2PI + sums[0, -1] + sums[0, 0])
    if learnt:
        known = rows.layout.trend, sums[1:, 1:-1], sums[0, 1:-1]
        mean, gain = _estimated(covariance.mean_variance, *known)
        value += gain
    if value == -np.inf:
        return value, np.zeros(len(covariance.bounds)) if eval_gradient else None
    if not eval_gradient:
        return value, None
    # W = a aᵀ + a₁ a₁ᵀ / A − G with a = G (y − m̂ 1), a₁ = G 1: two columns (see `_prior_mean`).
    # Those of a linear mean are a = G (y − F β̂) and G F R.
    combine = None
    if learnt:
        first = np.append(1.0, -mean.vector)[:, np.newaxis]
        root = mean.root_in_rows
        combine = np.hstack([first, np.vstack([np.zeros((1, root.shape[1])), root])])
    (slopes, on_K, on_R), _ = line.smooth(K, combine, learning=True)
    # The gradient of λ k_S takes W as a difference, a aᵀ − P.
    kinds = np.array([name.split("_")[0] for name in covariance.names])
    in_space = np.zeros(np.count_nonzero(np.isin(kinds, _OF_KERNELS)))
    for part, K_part, W, own in zip(_groups(covariance), K, on_K, _OF_GROUPS):
        W = -0.5 * (W + W.T)
        slopes_part = part.gradient(sites.S, _at(process, M), K_part, W, np.zeros(M))
        in_space[np.isin(kinds, own)[: len(in_space)]] += slopes_part
    in_space[np.isin(kinds, ("temporal", "level"))[: len(in_space)]] += slopes
    in_rows = np.empty(rows.n)
    in_rows[np.argsort(rows.t, kind="stable")] = on_R
    return value, 0.5 * np.append(in_space, rows.noise_gradient(covariance, in_rows))


def has_white_noise(covariance, S):
    """Return True if a ``WhiteKernel`` contributes to observations at places (m, d).

    Its part differs between observations of a place, which has a single state.
    """
    at = _at(process_of(covariance), len(S))
    return bool(np.any(covariance.white(S, at) > RESOLUTION * covariance.variance(S, at)))


def _groups(covariance):
    """Return the covariances of the part of f that depends on the place, and of a level if any."""
    return [covariance.varying] + ([] if covariance.level is None else [covariance.of_level])


def _in_space(covariance, process, S):
    """Return the covariances (s, M, M) of places (M, d) in space, one of each group."""
    at = _at(process, len(S))
    return np.array([group.cross(S, at) for group in _groups(covariance)])


def _at(process, m):
    """Return a time at which the variance in time is 1, repeated m times."""
    return np.full(m, process.start)


def _observations(rows, sites, noise, units, where=slice(None)):
    """Return some of the rows, with targets in ``units`` and a column of 1, or the features."""
    S, t, F = rows.layout.places(rows.X[where])
    y = (rows.y[where] - units[0]) / units[1]
    Y = np.column_stack([y, np.ones(len(y)) if F is None else F])
    return Observations.of(t, sites.find(S), Y, noise)


def _unit_conversion(rows, units):
    """Return (a, b) with y_standardized = a y_units + b."""
    location, scale = units
    return scale / rows.scale, (location - rows.location) / rows.scale


def _solve(state, rows, units, mean_variance):
    """Return the mean and log p(y)."""
    a, b = _unit_conversion(rows, units)
    yy, y1, log_det = state.sums[0, [0, 1, -1]]
    gram, cross = state.sums[1:, 1:-1], state.sums[0, 1:-1]
    square = a * a * yy + 2.0 * a * b * y1 + b * b * gram[0, 0]
    value = -0.5 * (state.n * LOG_2PI + log_det + square)
    if not mean_variance > 0.0:
        return ZERO, value
    mean, gain = _estimated(mean_variance, rows.layout.trend, gram, a * cross + b * gram[0])
    return mean, value + gain


def _estimated(mean_variance, trend, gram, cross):
    """Return the mean, and its term of the log likelihood, from Fᵀ G F (q, q) and Fᵀ G y (q,)."""
    if trend is None:
        return estimate_mean(mean_variance, gram[0, 0], cross[0], None)
    return estimate_coefficients(trend, mean_variance, gram, cross, None)
