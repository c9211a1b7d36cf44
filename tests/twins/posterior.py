"""The posterior and its scores, place by place, through an inverse."""

import numpy as np

from sktvbo._fast.gram import Family
from sktvbo._fast.posterior import Formula
from sktvbo.acquisition import UCB, ExpectedImprovement, ProbabilityOfImprovement
from twins import gram


class Posterior:
    """Of the same arguments as the compiled one, in the same order."""

    def __init__(
        self,
        spatial,
        temporal,
        signal,
        Z,
        times,
        time,
        moves,
        weights,
        lower,
        mean=0.0,
        direction=None,
        precision=np.inf,
        excess=None,
        outer=None,
        in_time=None,
        linear=None,
        square=None,
        features=None,
        directions=None,
        persistent=None,
        offset=None,
        more=0.0,
    ):
        self.factors, self.prior = (spatial, temporal, signal), signal + more
        self.persistent, self.offset = persistent, 0.0 if offset is None else offset
        self.in_time = in_time
        self.Z, self.times, self.time, self.moves = Z, times, time, moves
        self.weights, self.mean = weights, mean
        n = len(times)
        L_inverse = np.linalg.inv(np.tril(lower))
        inner = np.eye(n)
        if outer is not None:
            inner = inner - np.linalg.inv(np.tril(outer) @ np.tril(outer).T)
        self.P = L_inverse.T @ inner @ L_inverse
        # All that the latest points, by themselves, say.
        m = 0 if outer is not None else min(64, n // 2)
        self.of_the_latest = np.zeros((n, n))
        corner = (np.tril(lower) @ np.tril(lower).T)[n - m :, n - m :]
        self.of_the_latest[n - m :, n - m :] = np.linalg.inv(corner)
        self.direction = np.zeros(n) if direction is None else direction
        self.precision = precision
        self.linear = np.zeros(len(Z)) if linear is None else linear
        self.square = np.zeros(len(Z)) if square is None else square
        d = len(Z)
        none = np.zeros(0), np.zeros((0, d)), np.zeros((0, d))
        self.features = none if features is None else features
        self.D = np.zeros((0, n)) if directions is None else directions
        self.E = np.diag(np.zeros(n) if excess is None else excess)

    def with_gradients(self, X):
        return [np.array(parts) for parts in zip(*map(self._at, X))]

    def values(self, X):
        return self.with_gradients(X)[:2]

    def above(self, X):
        K = np.array([self._covariances(x)[0] for x in X])
        explained = np.einsum("ij,jk,ik->i", K, self.of_the_latest, K)
        rest = 1.0 - K @ self.direction
        return [self._level(x) for x in X] + K @ self.weights, np.sqrt(
            self.prior
            - explained
            + rest**2 / self.precision
            + np.array([np.sum(self._rest(x, k)[0] ** 2) for x, k in zip(X, K)])
        )

    def _level(self, x):
        z = x[: len(self.Z)]
        return self.mean + self.linear @ z + self.square @ z**2

    def _rest(self, x, k):
        constant, linear, square = self.features
        z = x[: len(self.Z)]
        return constant + linear @ z + square @ z**2 - self.D @ k, linear + 2.0 * square * z

    def _covariances(self, x):
        k, dk = self._of_product(x)
        k = k + self.offset
        if self.persistent is None:
            return k, dk
        family, variance, Z, ratios, one_each = self.persistent
        nowhere = 0.0, np.zeros(len(k))
        of_space = family, Family.CONSTANT, variance
        d = len(Z)
        for rows in np.arange(d)[:, np.newaxis] if one_each else [np.arange(d)]:
            points = nowhere[0], Z[rows], nowhere[1]
            more, slopes = gram.cross_with_gradient((x * ratios)[rows], *points, *of_space)
            k = k + more
            dk[rows] += ratios[rows, np.newaxis] * slopes[:-1]
        return k, dk

    def _of_product(self, x):
        z, time = (x[:-1], self.time + x[-1]) if self.moves else (x, self.time)
        if self.in_time is None:
            return gram.cross_with_gradient(z, time, self.Z, self.times, *self.factors)
        families = self.factors[0], Family.CONSTANT
        k, dk = gram.cross_with_gradient(z, time, self.Z, self.times, *families, 1.0)
        return k * self.in_time, dk * self.in_time

    def _at(self, x):
        k, dk = self._covariances(x)
        dk = dk if self.moves else dk[:-1]
        rest = 1.0 - k @ self.direction
        # The weights of the observations in the mean, and their derivatives.
        c = self.P @ k + rest / self.precision * self.direction
        dc = dk @ self.P - np.outer(dk @ self.direction, self.direction) / self.precision
        left, slopes = self._rest(x, k)
        variance = self.prior - k @ self.P @ k + rest**2 / self.precision - c @ self.E @ c
        variance += left @ left
        slope = -2.0 * (dk @ (c + left @ self.D) + dc @ self.E @ c)
        slope[: len(self.Z)] += 2.0 * left @ slopes
        std = np.sqrt(variance)
        on_mean = dk @ self.weights
        on_mean[: len(self.Z)] += self.linear + 2.0 * self.square * x[: len(self.Z)]
        return self._level(x) + k @ self.weights, std, on_mean, slope / (2.0 * std)


class State:
    incumbent, scale = 0.0, 1.0


def scores(formula, parameter, mean, std):
    if formula == Formula.BOUND:
        found = UCB(parameter**2)(mean, std, None)
    else:
        kinds = {
            Formula.PROBABILITY: ProbabilityOfImprovement(0.0),
            Formula.IMPROVEMENT: ExpectedImprovement(0.0),
        }
        found = kinds[formula](mean - parameter, std, State())
    return [np.broadcast_to(part, mean.shape) for part in found]
