"""Kalman filter and smoother at a single place, compiled for the process as a sum of chains.

The state of a cosine of time is constant here and its weight in f varies, whereas in
`_state_space` its state rotates. So no matrix is stored for each time gap, and the matrices of a
move are block-diagonal.
"""

from dataclasses import dataclass, replace

import numpy as np

from ..._fast import series as _series
from ._smoother import Observations, Timeline, check_filtered
from ._state_space import Chains


@dataclass(frozen=True, eq=False)
class Series:
    """Observations of one place and further times, in the order of time; see `Timeline`.

    Attributes
    ----------
    process : Stationary or Composed
    chains : Chains
    t : ndarray of shape (n,)
        Times since the first one.
    gap : ndarray of shape (n,)
        Times since the one before.
    asked : ndarray of int of shape (q,)
        Positions of the further times.
    data : Observations
        Of all times, those without an observation have infinite noise.
    """

    process: object
    chains: Chains
    t: np.ndarray
    gap: np.ndarray
    asked: np.ndarray
    data: Observations

    def filter_all(self, K):
        m, P = self._prior(K)
        k = len(m)
        sums = np.zeros((k, k + 1))
        failed = self._compiled(K).filter(m, P, sums)
        check_filtered(failed, sums)
        B = self.process.from_chains(self.t[-1])
        return sums, m @ B.T, B @ P @ B.T

    def smooth(self, K, combine=None, learning=False, queries=None):
        data, chains = self.data, self.chains
        if combine is not None:
            data = replace(data, Y=data.Y @ combine)
        m, P = self._prior(K, data)
        r, Lambda, n = np.zeros_like(m), np.zeros_like(P), len(data)
        on_weight, on_rate = np.zeros(len(chains.weight)), np.zeros(len(chains.rate))
        on_R, on_H = np.zeros(n), np.zeros(chains.H.shape) if chains.learns_H else None
        out = None if queries is None else np.empty((n, len(m) + 1))
        slopes = (on_weight, on_rate, on_R, on_H) if learning else None
        failed = self._compiled(K, data).smooth(m, P, r, Lambda, slopes, out)
        check_filtered(failed, r)
        answers = None
        if learning:
            on_weight += chains.contract_prior(r.T @ r - Lambda)
            on_K = on_weight @ chains.weight
            arguments = chains.weight, K[0, 0] * on_weight, on_rate, on_H
            slopes = self.process.contract_chains(self.t, *arguments), np.array([[on_K]]), on_R
        if queries is not None:
            _, place, W = queries
            answers = out[self.asked]
            if len(W):
                scale = np.append(1.0, W[:, 0])[place, np.newaxis]
                answers *= np.hstack([np.repeat(scale, len(m), axis=1), scale**2])
        return slopes, answers

    def _prior(self, K, data=None):
        P = K[0, 0] * self.chains.prior
        return np.zeros(((data or self.data).Y.shape[1], len(P))), P

    def _compiled(self, K, data=None):
        chains, data = self.chains, data or self.data
        return _series.Chains(
            chains.order,
            chains.rate,
            chains.line,
            K[0, 0] * chains.weight,
            self.gap,
            data.Y,
            data.R,
            chains.H,
        )


def timeline(process, M, data, stops=()):
    """Return a `Series` at M = 1 place if the process allows it, otherwise a `Timeline`.

    Parameters
    ----------
    process : Stationary, Brownian or Composed
    M : int
    data : Observations
    stops : array-like of shape (q,)
        Further times, ascending.
    """
    if M > 1 or not process.has_chains:
        return Timeline.of(process, data, stops)
    asked = np.searchsorted(data.t, stops)
    new = data.t[np.minimum(asked, len(data) - 1)] != stops
    if new.any():
        where = asked[new]
        data = Observations(
            np.insert(data.t, where, stops[new]),
            data.site,
            np.insert(data.Y, where, 0.0, axis=0),
            np.insert(data.R, where, np.inf),
        )
        asked += np.cumsum(new) - new
    t = data.t - data.t[0]
    return Series(process, process.chains(t), t, np.diff(data.t, prepend=data.t[0]), asked, data)
