"""Exact conditioning of a Markov process over few places: what `Dense` does, linear in the rows.

λ k_S ∘ k_T with a Markov k_T is, at M places, the process of their states: a Kalman filter carries
it from observation to observation, O(M²) each however many there were, and a smoother goes back for
times in the past. Nothing is approximated. Two columns of targets are filtered, y and 1, which is
all that a learnt mean (`_mean`) and a scale that follows y need:

    1ᵀ G 1, 1ᵀ G y, yᵀ G y  come from the innovations,   1 − kᵀ G 1  is 1 less the filtered 1.

Other places are explained by those that were observed: f(x, t) = Σ_j w_j f(x_j, t) and an
independent rest, w from the Gram matrix in space.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.linalg import cho_solve, lapack, solve_triangular

from .._arrays import distinct_rows
from .._validation import RESOLUTION
from ..exceptions import NotPositiveDefiniteError
from ._conditioned import LOG_2PI, Conditioned, Dense, PosteriorFunction, squares
from ._constant_mean import ZERO, Mean, posterior
from ._covariance import SeparableCovariance
from ._markov import state_space
from ._rows import Rows
from ._timeline import Observations, Timeline
from ._tracked import Tracked

# So many of the latest observations are remembered with the state before: one that comes late
# by no more is put in its place at the price of those after it.
_TAIL = 32


class Sites:
    """Distinct places (M, d) whose states are tracked, and how others follow from them.

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
        """Positions (m,) of places (m, d); -1 for one that is not here."""
        if S.shape == self.S.shape and np.array_equal(S, self.S):
            return np.arange(len(S))
        if not S.shape[1]:
            return np.full(len(S), len(self) - 1)  # time alone has one place, once there is a row
        S = np.ascontiguousarray(S) + 0.0
        index = self._index
        return np.array([index.get(place.tobytes(), -1) for place in S], dtype=np.intp)

    def with_those_of(self, S):
        """These, and behind them what is new among places (m, d)."""
        new = S[self.find(S) < 0]
        return Sites(np.vstack([self.S, distinct(new)])) if len(new) else self


def distinct(S):
    """Distinct rows of S (n, d), in lexical order; also where there are no columns."""
    return distinct_rows(S + 0.0)[0] if S.shape[1] else S[:1]


@dataclass(frozen=True, eq=False)
class Filter(Conditioned):
    """Conditioned by a Kalman filter.

    Attributes
    ----------
    sites : Sites
    state : Tracked
        Of the targets (y − location) / scale with the ``units``, a location and a scale, which
        never change, and of 1.
    tail : tuple of (Tracked, Observations)
        The states before the latest observations, with these.
    or_dense : bool
        Whether it becomes a `Dense`, which knows jitter, where the filter breaks down.
    """

    covariance: SeparableCovariance
    rows: Rows
    sites: Sites
    state: Tracked
    mean: Mean
    objective: float
    units: tuple
    or_dense: bool
    tail: tuple = ()

    @classmethod
    def of(cls, covariance, rows, sites, or_dense=False):
        """Filter all rows, O(n N²) for N = p M, the size of the state.

        Raises
        ------
        NotPositiveDefiniteError
            What was observed has no covariance, numerically, or solving with it overflows.
        """
        # What the rows keep when asked for S they would keep until the filter is made anew.
        sites = sites.with_those_of(rows.layout.split(rows.X)[0])
        units = rows.location, rows.scale
        given = _observations(rows, sites, rows.noise(covariance), units)
        try:
            process = state_space(covariance.temporal)
            state = Tracked.of(process, _spatial(covariance, process, sites.S), given)
            return cls._solved(covariance, rows, sites, state, units, or_dense)
        except NotPositiveDefiniteError:
            if not or_dense:
                raise
        return Dense.of(covariance, rows)

    @classmethod
    def _solved(cls, covariance, rows, sites, state, units, or_dense, tail=()):
        mean, value = _solve(state, rows, units, covariance.mean_variance)
        if not np.isfinite(value):
            raise NotPositiveDefiniteError(
                f"The likelihood under {covariance} overflowed. Scale y to a moderate range "
                "(normalize_y=True), or raise noise_variance."
            )
        value = float(value)
        return cls(covariance, rows, sites, state, mean, value, units, or_dense, tail)

    @staticmethod
    def criterion(rows, sites, *_):
        sites = sites.with_those_of(rows.S)
        return lambda covariance, eval_gradient: log_likelihood(
            covariance, rows, sites, eval_gradient
        )

    def log_likelihood(self, covariance, eval_gradient=False):
        """Of the same rows under another covariance of the same kinds of kernels."""
        return log_likelihood(covariance, self.rows, self.sites, eval_gradient)

    @property
    def _present(self):
        return self.during(self.state.t, self.state.t)

    @property
    def basis(self):
        """The sites at the time of the latest row: enough for the posterior at that time."""
        return self._present.basis

    @property
    def weights(self):
        return self._present.weights

    def explained(self, K, full=False):
        return self._present.explained(K, full)

    def projected(self, k):
        return self._present.projected(k)

    @property
    def information_gain(self):
        noise = self.rows.noise(self.covariance)
        gain = self.state.sums[0, -1] - np.sum(np.log(noise))
        lost = self.mean.lost(self.covariance.mean_variance, np.sum(1.0 / noise))
        return 0.5 * float(gain + lost)

    # --- other rows -------------------------------------------------------------------------------

    def append(self, X, y, variance, total, standardize=None):
        """O(N²) a row that is not before the others, or late by at most 32; else O(n N²)."""
        rows = self.rows.append(X, y, variance, total, standardize)
        before = self._with_places(rows.layout.split(rows.X[self.rows.n :])[0])
        if self._has_same_noise(rows):
            try:
                found = before._appended(rows)
            except NotPositiveDefiniteError:
                if not self.or_dense:
                    raise
                return Dense.of(self.covariance, rows)
            if found is not None:
                return found
        return before._recomputed(rows)

    @property
    def chosen(self):
        return self.sites, self.or_dense

    def _with_places(self, S):
        """The same, tracking also the places (m, d)."""
        sites = self.sites.with_those_of(S)
        if sites is self.sites:
            return self
        W, _ = self._interpolate(sites.S[len(self.sites) :])
        K = _spatial(self.covariance, self.state.process, sites.S)
        return replace(self, sites=sites, state=self.state.extended(K, W), tail=())

    def _appended(self, rows):
        """With the rows behind the present ones, or None if one is too late to be put in place."""
        new, state, tail = slice(self.rows.n, None), self.state, self.tail
        noise = rows.noise(self.covariance, new)
        given = _observations(rows, self.sites, noise, self.units, new)
        while given.t[0] < state.t:
            # What came after the late one is taken back, and told again in the order of time.
            if not tail:
                return None
            *tail, (state, later) = tail
            given = later.plus(given)
        if len(given) > _TAIL:
            state, tail = state.after(given), ()
        else:
            for i in range(len(given)):
                one = given.part(slice(i, i + 1))
                tail = (*tail, (state, one))[-_TAIL:]
                state = state.after(one)
        chosen = self.units, self.or_dense, tuple(tail)
        return self._solved(self.covariance, rows, self.sites, state, *chosen)

    def drop(self, indices, standardize=None):
        """O(n N²)."""
        return self._recomputed(self.rows.drop(indices, standardize))

    def at(self, now):
        return replace(self, rows=self.rows.at(now))

    def during(self, low, high):
        """A GP whose weights are on the sites at one time, for the posterior from low to high.

        O(N³) when it is first asked for a place that is no site. A window of kernels with more than
        one component, or in the past, is that of the dense posterior, O(n³).
        """
        if low == high:
            return Snapshot(self, low)
        if low >= self.state.t and self.state.process.order == 1:
            return Snapshot(self, self.state.t)
        return Dense.of(self.covariance, self.rows)

    # --- prediction -------------------------------------------------------------------------------

    @cached_property
    def _pivots(self):
        """Sites that span all (r,), and the Cholesky factor (r, r) of their covariance."""
        factor, order, rank, _ = lapack.dpstrf(self.state.K, lower=1)
        return order[:rank] - 1, np.tril(factor[:rank, :rank])

    def _interpolate(self, S):
        """Weights (m, M) of the sites at places (m, d), and K (m, r) with the pivots, halved."""
        chosen, L = self._pivots
        where = _at(self.state.process, len(S)), _at(self.state.process, len(chosen))
        K = self.covariance.cross(S, where[0], self.sites.S[chosen], where[1])
        half = solve_triangular(L, K.T, lower=True)
        W = np.zeros((len(S), len(self.sites)))
        W[:, chosen] = solve_triangular(L, half, lower=True, trans=1).T
        return W, half.T

    def _own(self, S, half, full=False):
        """Prior covariance (m, m), or variance (m,), that the sites leave open, in space."""
        at = _at(self.state.process, len(S))
        prior = self.covariance.cross(S, at) if full else self.covariance.variance(S, at)
        return prior - squares(half, full)

    def _mean(self, S, t):
        return self._posterior(S, t, full=False)[0]

    def _posterior(self, S, t, full):
        """See `Conditioned`. Times in the past are smoothed: O(n N²), and N² a place."""
        found, left = self._covariance(S, t) if full else self._marginals(S, t)
        columns = self._combined(found)
        rest = 1.0 - columns[1]
        rows = self.rows
        mean = rows.location + rows.scale * (self.mean.value * rest + columns[0])
        if self.mean.is_learnt:
            left = left + squares(rest[:, np.newaxis] / np.sqrt(self.mean.precision), full)
        return mean, left

    def _combined(self, found):
        """Columns (m, 2) of the units as (2, m): of the standardized y, and of 1."""
        by_y, by_one = _change_of_units(self.rows, self.units)
        return by_y * found[:, 0] + by_one * found[:, 1], found[:, 1]

    def _marginals(self, S, t):
        """Columns (m, 2) and variances (m,) of f given a mean of 0."""
        site = self.sites.find(S)
        outside = np.flatnonzero(site < 0)
        later = t >= self.state.t
        found, left = np.empty((len(t), 2)), np.empty(len(t))
        own = np.zeros(len(t))
        W = np.empty((0, len(self.sites)))
        if len(outside):
            W, half = self._interpolate(S[outside])
            own[outside] = self._own(S[outside], half)
            site[outside] = len(self.sites) + np.arange(len(outside))
        here = later & (site < len(self.sites))
        found[here], left[here] = self.state.marginals(site[here], t[here])
        for time in np.unique(t[later & ~here]):
            those = np.flatnonzero((t == time) & ~here)
            m, P = self.state.at(time)
            H = W[site[those] - len(self.sites)]
            found[those], left[those] = H @ m.T, np.einsum("ij,ij->i", H @ P, H)
        past = np.flatnonzero(~later)
        if len(past):
            past = past[np.argsort(t[past], kind="stable")]
            line = self._timeline(t[past])
            at = np.searchsorted(line.t, t[past]).astype(np.intp)
            answers = line.smooth(self.state.K, queries=(at, site[past], W))[1]
            found[past], left[past] = answers[:, :2], answers[:, 2]
        if len(outside):
            left[outside] += own[outside] * self._prior(t[outside])
        return found, left

    def _covariance(self, S, t):
        """Columns (m, 2) and covariance (m, m) of f given a mean of 0."""
        site = self.sites.find(S)
        outside = np.flatnonzero(site < 0)
        H = np.zeros((len(t), len(self.sites)))
        inside = np.flatnonzero(site >= 0)
        H[inside, site[inside]] = 1.0
        if len(outside):
            H[outside], half = self._interpolate(S[outside])
        if len(t) and (t == t[0]).all() and t[0] >= self.state.t:
            m, P = self.state.at(t[0])
            found, left = H @ m.T, H @ P @ H.T
        else:
            order = np.argsort(t, kind="stable")
            line = self._timeline(t)
            at = np.searchsorted(line.t, t[order])
            found, left = np.empty((len(t), 2)), np.empty((len(t), len(t)))
            found[order], left[np.ix_(order, order)] = line.joint(self.state.K, at, H[order])
        if len(outside):
            temporal = self.covariance.temporal(t[outside, np.newaxis])
            left[np.ix_(outside, outside)] += self._own(S[outside], half, full=True) * temporal
        return found, left

    def _timeline(self, stops):
        """All rows, and times to halt at."""
        noise = self.rows.noise(self.covariance)
        given = _observations(self.rows, self.sites, noise, self.units)
        return Timeline.of(self.state.process, given, stops)

    def _prior(self, t):
        """Prior variance (m,) in time, relative to that in space."""
        return np.array([self.state.process.prior(time)[0, 0] for time in t])

    def sites_at(self, t):
        """Standardized mean (M,), filtered 1 (M,) and covariance (M, M) of f at the sites."""
        if t >= self.state.t:
            m, P = self.state.at(t)
        else:
            found, P = self._covariance(self.sites.S, np.full(len(self.sites), t))
            m = found.T
        return *self._combined(m.T), P


class Snapshot(PosteriorFunction):
    """A filter's posterior as weights on the sites at one time, for the views of it."""

    def __init__(self, gp, t):
        self._gp, self._t = gp, t
        self.covariance, self.rows = gp.covariance, gp.rows

    @property
    def basis(self):
        return self._gp.sites.S, np.full(len(self._gp.sites), self._t)

    @cached_property
    def mean(self):
        """That of the filter, with its direction in this basis."""
        mean = self._gp.mean
        return replace(mean, direction=self._known[1]) if mean.is_learnt else mean

    @cached_property
    def _known(self):
        """Weights (M,) of y and of 1, the pivots and the matrix (r, r) between them."""
        gp = self._gp
        y, one, P = gp.sites_at(self._t)
        chosen, L = gp._pivots
        variance = gp.state.process.prior(self._t)[0, 0]
        part = np.ix_(chosen, chosen)
        told = variance * gp.state.K[part] - P[part]
        inner = cho_solve((L, True), cho_solve((L, True), told).T) / variance**2
        weights = np.zeros((2, len(one)))
        y = y - gp.mean.value * one
        weights[:, chosen] = cho_solve((L, True), np.array([y, one])[:, chosen].T).T / variance
        return *weights, chosen, inner

    @property
    def weights(self):
        return self._known[0]

    def explained(self, K, full=False):
        _, _, chosen, inner = self._known
        K = K[:, chosen]
        return K @ inner @ K.T if full else np.einsum("ij,jk,ik->i", K, inner, K, optimize=True)

    def projected(self, k):
        _, _, chosen, inner = self._known
        slope = np.zeros(len(k))
        slope[chosen] = inner @ k[chosen]
        return slope

    def _mean(self, S, t):
        return self._gp._mean(S, t)

    def _posterior(self, S, t, full):
        return self._gp._posterior(S, t, full)


def log_likelihood(covariance, rows, sites, eval_gradient):
    """log p(y) by innovations, and its gradient in theta, or None where it is not asked for.

    O(n N²), by a smoother whose derivatives of the state are contracted as they come; minus
    infinity where the filter breaks down, so that a search turns back.
    """
    process, noise = state_space(covariance.temporal), rows.noise(covariance)
    units = rows.location, rows.scale
    given = _observations(rows, sites, noise, units)
    K = _spatial(covariance, process, sites.S)
    N, learnt = process.order * len(K), covariance.mean_variance > 0.0
    if not learnt:
        given = replace(given, Y=given.Y[:, :1].copy())
    line = Timeline.of(process, given)
    sums, mean = None, ZERO
    try:
        sums = line.filter(K, np.zeros((given.Y.shape[1], N)), np.zeros((N, N)))
    except NotPositiveDefiniteError:
        return -np.inf, np.zeros(len(covariance.bounds)) if eval_gradient else None
    value = -0.5 * (rows.n * LOG_2PI + sums[0, -1] + sums[0, 0])
    if learnt:
        mean, gain = posterior(covariance.mean_variance, sums[1, 1], sums[0, 1], None)
        value += gain
    if not eval_gradient:
        return value, None
    # W = a aᵀ + a₁ a₁ᵀ / A − G with a = G (y − m̂ 1), a₁ = G 1: two columns (see `_mean`).
    combine = None
    if learnt:
        combine = np.array([[1.0, 0.0], [-mean.value, 1.0 / np.sqrt(mean.precision)]])
    (on_A, on_Q, on_K, on_R), _ = line.smooth(K, combine, learning=True)
    slopes = [np.sum(on_A * a) + np.sum(on_Q * q) for a, q in zip(*line.slopes())]
    # The gradient of λ k_S takes W as a difference, a aᵀ − P.
    at = _at(process, len(K))
    in_space = covariance.gradient(sites.S, at, K, -0.5 * (on_K + on_K.T), np.zeros(len(K)))
    names = covariance.names
    temporal = [i for i, name in enumerate(names) if name.startswith("temporal_kernel__")]
    in_space[temporal] += slopes
    in_rows = np.empty(rows.n)
    in_rows[np.argsort(rows.t, kind="stable")] = on_R
    return value, 0.5 * np.append(in_space, rows.noise_gradient(covariance, in_rows))


def has_white(covariance, S):
    """Whether observations at places (m, d) have a covariance that the place has not.

    What a ``WhiteKernel`` gives to each of them is no function of the place, which has one state.
    """
    at = _at(state_space(covariance.temporal), len(S))
    return bool(np.any(covariance.white(S, at) > RESOLUTION * covariance.variance(S, at)))


def _at(process, m):
    """A time (m times) at which the variance in time is 1."""
    return np.full(m, process.start)


def _spatial(covariance, process, S):
    """λ K_S (M, M) of places."""
    return covariance.cross(S, _at(process, len(S)))


def _observations(rows, sites, noise, units, where=slice(None)):
    """Some of the rows, their targets in units and beside them 1."""
    S, t = rows.layout.split(rows.X[where])
    y = (rows.y[where] - units[0]) / units[1]
    return Observations.of(t, sites.find(S), np.column_stack([y, np.ones(len(y))]), noise)


def _change_of_units(rows, units):
    """The standardized y is this much of y in the units, and so much of 1."""
    location, scale = units
    return scale / rows.scale, (location - rows.location) / rows.scale


def _solve(state, rows, units, mean_variance):
    """The mean and log p(y)."""
    a, b = _change_of_units(rows, units)
    (yy, y1, log_det), (_, ones, _) = state.sums
    square = a * a * yy + 2.0 * a * b * y1 + b * b * ones
    value = -0.5 * (state.n * LOG_2PI + log_det + square)
    if not mean_variance > 0.0:
        return ZERO, value
    mean, gain = posterior(mean_variance, ones, a * y1 + b * ones, None)
    return mean, value + gain
