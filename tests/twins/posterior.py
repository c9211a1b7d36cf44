"""Posterior and its scores, place by place, through an inverse."""

import numpy as np

from sktvbo._fast.gram import Family
from sktvbo._fast.posterior import Formula
from sktvbo.acquisition import UCB, ExpectedImprovement, ProbabilityOfImprovement
from twins.sums import Sum


class Posterior:
    """Posterior with the arguments of the compiled one."""

    def __init__(self, spatial, temporal, signal, Z, times, time, moves, weights, lower, **options):
        get, n, d = options.get, len(times), len(Z)
        terms = get("terms", ([temporal], [1.0], [signal]))
        self.in_time, outer = get("in_time"), get("outer")
        if self.in_time is not None:
            terms = [Family.CONSTANT], [1.0], [1.0]
        self.kernel, self.prior = Sum(spatial, *terms, 0), signal
        self.Z, self.times, self.time, self.moves = Z, times, time, moves
        self.weights, self.mean = weights, get("mean", 0.0)
        L_inverse = np.linalg.inv(np.tril(lower))
        inner = np.eye(n)
        if outer is not None:
            inner = inner - np.linalg.inv(np.tril(outer) @ np.tril(outer).T)
        self.P = L_inverse.T @ inner @ L_inverse
        # The inverse for the latest points alone.
        m = 0 if outer is not None else min(64, n // 2)
        self.of_the_latest = np.zeros((n, n))
        corner = (np.tril(lower) @ np.tril(lower).T)[n - m :, n - m :]
        self.of_the_latest[n - m :, n - m :] = np.linalg.inv(corner)
        self.direction, self.precision = get("direction", np.zeros(n)), get("precision", np.inf)
        self.share, self.E = get("share", 1.0), np.diag(get("excess", np.zeros(n)))
        self.linear, self.square = get("linear", np.zeros(d)), get("square", np.zeros(d))

    def with_gradients(self, X):
        return [np.array(parts) for parts in zip(*map(self._at, X))]

    def values(self, X):
        return self.with_gradients(X)[:2]

    def above(self, X):
        K = np.array([self._covariances(x)[0] for x in X])
        explained = np.einsum("ij,jk,ik->i", K, self.of_the_latest, K)
        rest = self.share - K @ self.direction
        return [self._level(x) for x in X] + K @ self.weights, np.sqrt(
            self.prior - explained + rest**2 / self.precision
        )

    def _level(self, x):
        z = x[: len(self.Z)]
        return self.mean + self.linear @ z + self.square @ z**2

    def _covariances(self, x):
        z, time = (x[:-1], self.time + x[-1]) if self.moves else (x, self.time)
        k, dk = self.kernel.cross_with_gradient(z, time, self.Z, self.times)
        return (k, dk) if self.in_time is None else (k * self.in_time, dk * self.in_time)

    def _at(self, x):
        k, dk = self._covariances(x)
        dk = dk if self.moves else dk[:-1]
        rest = self.share - k @ self.direction
        # The weights of the observations in the mean, and their derivatives.
        c = self.P @ k + rest / self.precision * self.direction
        dc = dk @ self.P - np.outer(dk @ self.direction, self.direction) / self.precision
        variance = self.prior - k @ self.P @ k + rest**2 / self.precision - c @ self.E @ c
        slope = -2.0 * (dk @ c + dc @ self.E @ c)
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
