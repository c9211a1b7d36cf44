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


@cache
def _shifts(n):
    """Return C(m + j, m) and m + j (n, n) of powers m and j; the first one 0 from m + j = n on."""
    k = np.add.outer(np.arange(n), np.arange(n))
    return np.where(k < n, binom(k, np.arange(n)[:, np.newaxis]), 0.0), np.minimum(k, n - 1)


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
    def is_real(self):
        """True without seasons."""
        return not self.frequencies.any()

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
        if self.is_real:
            return real.ravel()
        imaginary = real & (self.frequencies > 0.0)[:, np.newaxis]
        return np.append(real.ravel(), imaginary.ravel())

    @cached_property
    def _expansion(self):
        """Coefficients (p + 1, g, p + 1) of e^{s u} b (g, m) in c u, the highest power first."""
        binomials, powers = _shifts(self.polynomials.shape[1])
        return (binomials * self.polynomials[:, powers]).transpose(2, 0, 1)[::-1]

    def _decays(self, z, steps, origin=0.0):
        """Return e^{−s δ} (n, g) of steps δ (n,), over e^{−c origin}; z is c δ (n, g).

        c in the divisor is that of the slowest exponential.
        """
        decay = np.exp(self.rates.min() * origin - z)
        if self.is_real:
            return decay
        return decay * np.exp(1j * np.multiply.outer(steps, self.frequencies))

    def __call__(self, ages, origin=0.0):
        """Return b (n, m) of ages (n,), over the decay of the slowest exponential at an origin."""
        z = np.multiply.outer(ages, self.rates)
        polynomials, *lower = self._expansion  # Horner's rule
        for coefficients in lower:
            polynomials = z[..., np.newaxis] * polynomials + coefficients
        b = self._decays(z, ages, origin)[..., np.newaxis] * polynomials
        b = b.reshape(len(ages), -1)
        parts = b if self.is_real else np.hstack([b.real, -b.imag])
        return np.ascontiguousarray(parts[:, self._used])

    def transition(self, step):
        """Return T (m, m), which maps b at a present time to that ``step`` later."""
        binomials, gaps, _ = _constants(self.polynomials.shape[1])
        z, n = self.rates * step, len(gaps)
        powers = (z[:, np.newaxis] ** np.arange(n))[:, gaps]
        found = self._decays(z, step)[:, np.newaxis, np.newaxis] * (binomials * powers)
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
        if self.is_real:
            found = plain.real
        else:
            conjugate = integrals(s.conj())
            total, difference = plain + conjugate, plain - conjugate
            found = 0.5 * np.block([[total.real, difference.imag], [total.imag, -difference.real]])
        return np.ascontiguousarray(found[self._used][:, self._used])

    @property
    def integral(self):
        """∫ k² over the future of age 0."""
        b = self.polynomials.ravel()  # b(0) has no imaginary parts
        b = np.append(b, np.zeros(len(self._used) - len(b)))[np.newaxis, self._used]
        return float(product(product(b, self.products), b.T)[0, 0])

    def convolution(self, u, v, origin=0.0):
        """Return ∫ k k over the future (n, m), for ages u (n,), v (m,), over the decay at origin.

        The division prevents underflow for large ages.
        """
        B = self(u, origin)
        A = B if v is u else self(v, origin)
        # NumPy's products start the threads of its BLAS: on a busy machine they wait for cores.
        return product(product(B, self.products), A.T)
