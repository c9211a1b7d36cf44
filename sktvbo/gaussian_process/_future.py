"""Basis of the future of a decaying kernel in time, in which the present moves linearly.

Without RBF, a decaying kernel in time is a sum of exponentials times polynomials and cosines,

    k(τ) = Re Σ_g e^{−s_g τ} Σ_k α_gk (c_g τ)^k,     s_g = c_g − i ω_g,     τ ≥ 0.

At a time τ from now on, the covariance with a row of age u is k(τ + u), the same sum with other
coefficients: those of (c_g τ)^m in the polynomials are

    b_gm(u) = e^{−s_g u} Σ_{k≥m} α_gk C(k, m) (c_g u)^{k−m}.

With the real numbers b (m,) of each row, the convolution over the future is b(u)ᵀ L b(v), where L
are integrals of exponentials times powers. This is shorter and more accurate than the Lyapunov
equation of the state-space form, which needs a Schur decomposition of nearly defective matrices.
For Matérn kernels it equals W-DBO eq. (72)-(75), without cancellation. A later present is one
linear map for all rows: b(u + δ) = b(u) T(δ).
"""

from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
from scipy.special import binom, gamma

from ._cholesky import product


@cache
def _constants(n):
    """Return C(k, m), k − m and (k + m)! (n, n) of powers k and m; the first two 0 where k < m."""
    k, m = np.meshgrid(np.arange(n), np.arange(n), indexing="ij")
    return np.where(k >= m, binom(k, m), 0.0), np.maximum(k - m, 0), gamma(k + m + 1.0)


@dataclass(frozen=True, eq=False)
class FutureBasis:
    """The basis of one kernel.

    Attributes
    ----------
    rates, frequencies : ndarray of shape (g,)
        c > 0 and ω of each exponential.
    polynomials : ndarray of shape (g, p + 1)
        α, padded with zeros.
    """

    rates: np.ndarray
    frequencies: np.ndarray
    polynomials: np.ndarray

    @cached_property
    def size(self):
        """Number m of coefficients of a row."""
        return int(np.count_nonzero(self._used))

    @cached_property
    def _used(self):
        """Mask of the real and, with seasons, minus the imaginary parts of b that are not 0."""
        degrees = np.arange(self.polynomials.shape[1])
        last = np.where(self.polynomials != 0.0, degrees, 0).max(axis=1)
        real = degrees <= last[:, np.newaxis]
        if not self.frequencies.any():
            return real.ravel()
        imaginary = real & (self.frequencies > 0.0)[:, np.newaxis]
        return np.append(real.ravel(), imaginary.ravel())

    def _translations(self, steps, origin=0.0):
        """Return e^{−s δ} C(k, m) (c δ)^{k−m} (n, g, k, m) of steps δ (n,), over e^{−c origin}.

        c in the divisor is that of the slowest exponential.
        """
        binomials, gaps, _ = _constants(self.polynomials.shape[1])
        z = np.multiply.outer(steps, self.rates)
        decay = np.exp(self.rates.min() * origin - z)
        if self.frequencies.any():
            decay = decay * np.exp(1j * np.multiply.outer(steps, self.frequencies))
        powers = z[..., np.newaxis] ** np.arange(len(gaps))
        return decay[..., np.newaxis, np.newaxis] * (binomials * powers[..., gaps])

    def __call__(self, ages, origin=0.0):
        """Return b (n, m) of ages (n,), over the decay of the slowest exponential at an origin."""
        b = np.einsum("gk,ngkm->ngm", self.polynomials, self._translations(ages, origin))
        b = b.reshape(len(ages), -1)
        parts = np.hstack([b.real, -b.imag]) if np.iscomplexobj(b) else b
        return np.ascontiguousarray(parts[:, self._used])

    def transition(self, step):
        """Return T (m, m), which maps b at a present time to that ``step`` later."""
        found, n = self._translations(np.array([step]))[0], self.polynomials.shape[1]
        T = np.zeros((found.size // n, found.size // n), dtype=found.dtype)
        for g, block in enumerate(found):
            T[g * n : (g + 1) * n, g * n : (g + 1) * n] = block
        if np.iscomplexobj(T):
            T = np.block([[T.real, -T.imag], [T.imag, T.real]])
        return T[np.ix_(self._used, self._used)]

    @cached_property
    def pairs(self):
        """Pairs k ≤ l of coefficients, two arrays (r,)."""
        return np.triu_indices(self.size)

    @cached_property
    def weights(self):
        """Weights (r,) of symmetric forms of the pairs in their sum with L."""
        k, l = self.pairs
        return self.products[k, l] * np.where(k == l, 1.0, 2.0)

    @cached_property
    def products(self):
        """L (m, m), the integrals ½ Re(x (y + ȳ)) of the parts of the basis."""
        n = self.polynomials.shape[1]
        c, s = np.repeat(self.rates, n), np.repeat(self.rates - 1j * self.frequencies, n)
        power = np.tile(np.arange(n), len(self.rates))
        factorials = np.tile(_constants(n)[2], (len(self.rates), len(self.rates)))

        def integrals(other):
            total = np.add.outer(s, other)
            scaled = (c[:, np.newaxis] / total) ** power[:, np.newaxis] * (c / total) ** power
            return factorials * scaled / total

        plain = integrals(s)
        if not self.frequencies.any():
            found = plain.real
        else:
            conjugate = integrals(s.conj())
            total, difference = plain + conjugate, plain - conjugate
            found = 0.5 * np.block([[total.real, difference.imag], [total.imag, -difference.real]])
        return np.ascontiguousarray(found[np.ix_(self._used, self._used)])

    def convolution(self, u, v, origin=0.0):
        """Return ∫ k k over the future (n, m), for ages u (n,), v (m,), over the decay at origin.

        The division prevents underflow for large ages.
        """
        B = self(u, origin)
        A = B if v is u else self(v, origin)
        # NumPy's products start the threads of its BLAS: on a busy machine they wait for cores.
        return product(product(B, self.products), A.T)
