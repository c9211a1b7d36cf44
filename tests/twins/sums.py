"""Sums of terms by the general Matérn formula, with full matrices of derivatives."""

import numpy as np

from twins.gram import correlation, relative_slope


class Sum:
    """The same arguments as the compiled class; results are returned, not written to ``out``."""

    def __init__(self, spatial, families, rates, weights, n_shared):
        self.spatial, self.n_varying = spatial, len(weights) - n_shared
        self.terms = list(zip(families, rates, weights))

    def _factors(self, Z1, t1, Z2, t2):
        """Return the spatial correlation, its relative slopes, and the terms by time alone.

        The slopes (d, n1, n2) are d log k_S / d log l_m; a term comes with its d / d log l.
        """
        dz, dt = Z1[:, :, np.newaxis] - Z2[:, np.newaxis, :], t1[:, np.newaxis] - t2
        s = np.sqrt(np.sum(dz**2, axis=0))
        in_time = []
        for family, rate, weight in self.terms:
            z = rate * np.abs(dt)
            k = weight * correlation(family, z)
            in_time.append((k, k * relative_slope(family, z) * z**2))
        return correlation(self.spatial, s), relative_slope(self.spatial, s) * dz**2, in_time

    def cross_gram(self, Z1, t1, Z2, t2):
        in_space, _, in_time = self._factors(Z1, t1, Z2, t2)
        K = np.zeros((len(t1), len(t2)))
        for r, (k, _) in enumerate(in_time):
            K += k * in_space if r < self.n_varying else k
        return K

    def gram(self, Z, t):
        return np.tril(self.cross_gram(Z, t, Z, t))

    def cross_with_gradient(self, z, u, Z, times):
        z, u = np.asarray(z)[:, np.newaxis], np.array([u])
        in_space, _, in_time = self._factors(z, u, Z, times)
        dz, dt = z - Z, u - times
        k, dk = np.zeros(len(times)), np.zeros((len(Z) + 1, len(times)))
        to_place = -relative_slope(self.spatial, np.sqrt(np.sum(dz**2, axis=0))) * dz
        for r, ((family, rate, _), (term, _)) in enumerate(zip(self.terms, in_time)):
            value = (term * in_space if r < self.n_varying else term)[0]
            k += value
            if r < self.n_varying:
                dk[:-1] += value * to_place
            dk[-1] -= value * relative_slope(family, rate * np.abs(dt)) * rate**2 * dt
        return k, dk

    def derivatives(self, Z1, t1, Z2, t2):
        """Return those of K in log λ, d log lengthscales, R log weights and R log lengthscales."""
        in_space, slopes, in_time = self._factors(Z1, t1, Z2, t2)
        shared = [np.ones_like(in_space)] * (len(in_time) - self.n_varying)
        factors = [in_space] * self.n_varying + shared
        weights = [k * f for (k, _), f in zip(in_time, factors)]
        lengths = [h * f for (_, h), f in zip(in_time, factors)]
        none = np.zeros_like(in_space)
        varying = sum(weights[: self.n_varying], none)
        return [sum(weights, none), *(varying * slopes), *weights, *lengths]

    def contract_gradient(self, Z, t, P, a):
        W = np.outer(a, a) - np.tril(P) - np.tril(P, -1).T
        return np.array([np.sum(W * D) for D in self.derivatives(Z, t, Z, t)])

    def slope_products(self, Z, t, a):
        return np.array([D @ a for D in self.derivatives(Z, t, Z, t)])

    def contract_cross_gradient(self, Z1, t1, Z2, t2, W):
        return np.array([np.sum(W * D) for D in self.derivatives(Z1, t1, Z2, t2)])
