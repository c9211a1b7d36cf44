"""State-space form of temporal kernels whose Gaussian process is Markov.

A Matérn process with ν = p − ½ has the state z = (f, f'/c, ..., f⁽ᵖ⁻¹⁾/c^{p−1}), c = √(2ν) / l, in
which the transition does not depend on the lengthscale: with x = c δ for a time gap δ

    z(t + δ) = A(x) z(t) + noise of covariance Q(x),     A(x) = exp(F x),  Q(x) = P∞ − A P∞ Aᵀ,

F the companion matrix of (s + 1)^p, so that F + I is nilpotent and A is e^{−x} times a polynomial
(Hartikainen & Särkkä 2010). As P∞ − A P∞ Aᵀ has no digits where the gap is small, Q is written as
q ∫₀ˣ e^{−2s} g(s) g(s)ᵀ ds, g the last column of e^s A(s), a polynomial: incomplete gamma
functions. A forgetting kernel has p = 1; a constant is the case l = ∞, and a Wiener process moves
by A = 1 and Q = σ_w² δ from the variance that it has at first.

Gaps δ are differences of a process's `clock`. That of a Wiener process stands still before its
start.

``ExpSineSquared`` is a cosine series: a rotation for each harmonic, without noise. Composite
kernels have the block-diagonal matrices of their terms, and a term the Kronecker products of its
factors (Solin and Särkkä 2014): of A and P∞, and with M = A P∞ Aᵀ = P∞ − Q

    Q = Q₁ ⊗ P₂ + M₁ ⊗ Q₂,

which has no cancellation.

With a level f = g + l, of covariances in space K and 1 1ᵀ. P∞ and Q are stacks of s matrices: one
for each group of components with a covariance in space, zero elsewhere. Without a level s = 1.
"""

from dataclasses import dataclass, field
from functools import cached_property, reduce
from math import factorial

import numpy as np
from scipy.linalg import block_diag, expm
from scipy.special import gammainc
from sklearn.gaussian_process.kernels import Kernel, Product, Sum

from ..._fast.gram import Family
from ..._validation import invalid
from ...kernels import Markov, Wiener
from .._composite import SHORTEST_PERIODIC, Circle, Composite
from .._kernel_families import FAMILIES, Factor, recognize

# States of composite kernels with more numbers are slow.
LARGE_STATE = 300

# Lower bounds of periodic lengthscales in a search: at one place the first one whose state is not
# large, at several the last one, which has 16 harmonics.
_SHORTEST_PERIODIC = (SHORTEST_PERIODIC, 0.15, 0.2, 0.3, 0.5)

_ORDERS = {
    Family.CONSTANT: 1,
    Family.MATERN12: 1,
    Family.MATERN32: 2,
    Family.MATERN52: 3,
}
# P∞, and the intensity q of the noise that drives the last component.
_STATIONARY = {
    1: np.array([[1.0]]),
    2: np.eye(2),
    3: np.array([[1.0, 0.0, -1.0 / 3.0], [0.0, 1.0 / 3.0, 0.0], [-1.0 / 3.0, 0.0, 1.0]]),
}
_INTENSITY = {1: 2.0, 2: 4.0, 3: 16.0 / 3.0}


@dataclass(frozen=True)
class Chains:
    """Sum of independent Matérn processes with weights that vary in time; see ``_fast/series.h``.

    Attributes
    ----------
    order, rate : ndarray of shape (lines,)
        Order and rate of each kind of chain; rate 0 for a constant.
    line, weight : ndarray of shape (chains,)
        Kind and prior variance of each chain.
    H : ndarray of shape (n, chains) or None
        Weights of the chains in f; None for a single chain of weight 1.
    learns_H : bool
        True if a hyperparameter changes H.
    """

    order: np.ndarray
    rate: np.ndarray
    line: np.ndarray
    weight: np.ndarray
    H: np.ndarray | None = None
    learns_H: bool = False

    @property
    def prior(self):
        """Prior covariance (N, N) of the state."""
        return block_diag(*(w * _STATIONARY[p] for w, p in zip(self.weight, self._orders)))

    def contract_prior(self, X):
        """Return the sums (chains,) of X (N, N) times the derivative of `prior` in each weight."""
        ends = np.cumsum(self._orders)
        blocks = [X[end - p : end, end - p : end] for end, p in zip(ends, self._orders)]
        return np.array([np.sum(X * _STATIONARY[len(X)]) for X in blocks])

    @property
    def _orders(self):
        return self.order[self.line]


@dataclass(frozen=True)
class Stationary:
    """Matérn process of half-integer order, or a constant.

    Parameters
    ----------
    order : int
        p, the number of components of the state; f is the first.
    rate : float
        c; 0 for a constant.
    log_slope : float or None
        −d log c / dθ for the one hyperparameter θ; None where there is none.
    """

    order: int
    rate: float
    log_slope: float | None = None
    start: float = field(default=0.0, init=False)

    has_chains, level = True, 0

    @property
    def observed(self):
        """Weights (p,) of the components in f."""
        return np.eye(1, self.order)[0]

    def state_space(self):
        """Return the matrices of `Markov`."""
        return self.rate * _companion(self.order), _STATIONARY[self.order], self.observed

    def clock(self, t):
        """Return the times (n, ...) of the process at times (n,): gaps are their differences."""
        return t

    def prior(self, t):
        """Return the prior covariance (s, p, p) of the state at time t."""
        return _STATIONARY[self.order][np.newaxis]

    def prior_slopes(self, t):
        """Return the derivatives (n_theta, s, p, p) of `prior` in theta."""
        return np.zeros((int(self.log_slope is not None), 1, self.order, self.order))

    def chains(self, t):
        """Return the process at times (n,) as `Chains`, if ``has_chains``."""
        order, rate = np.array([self.order]), np.array([self.rate])
        return Chains(order, rate, np.zeros(1, dtype=np.intp), np.ones(1))

    def contract_chains(self, t, weight, on_weight, on_rate, on_H):
        """Return the derivatives (n_theta,) from those in the chains' weight, log rate and H."""
        return np.zeros(0) if self.log_slope is None else -self.log_slope * on_rate

    def from_chains(self, t):
        """Return the matrix (p, N) that maps the chains' state at time t to z."""
        return np.eye(self.order)

    def transitions(self, gaps):
        """Return A (k, p, p) and Q (k, s, p, p) of time gaps (k,)."""
        x = self.rate * np.asarray(gaps, dtype=np.float64)
        # Beyond this many lengthscales A is 0; infinite x would give 0 · ∞.
        x = np.minimum(x, 1e4)
        return self._transition(x), self._noise(x)[:, np.newaxis]

    def slopes(self, gaps):
        """Return the derivatives of A and Q in theta, (n_theta, k, ...) each."""
        p, x = self.order, self.rate * np.asarray(gaps, dtype=np.float64)
        if self.log_slope is None:
            return np.zeros((0, len(x), p, p)), np.zeros((0, len(x), 1, p, p))
        x = np.minimum(x, 1e4)
        A = self._transition(x)
        # dA/dx = F A, dQ/dx = q A L Lᵀ Aᵀ with L the last unit vector, and dx/dθ = −x log_slope.
        by = (-self.log_slope * x)[:, np.newaxis, np.newaxis]
        last = A[:, :, -1]
        on_noise = _INTENSITY[p] * last[:, :, np.newaxis] * last[:, np.newaxis, :]
        return (by * (_companion(p) @ A))[np.newaxis], (by * on_noise)[np.newaxis, :, np.newaxis]

    def _transition(self, x):
        steps = _nilpotent(self.order)
        powers = [x**k for k in range(self.order)]
        return np.exp(-x)[:, np.newaxis, np.newaxis] * np.einsum("kn,kab->nab", powers, steps)

    def _noise(self, x):
        p = self.order
        if self.rate == 0.0:
            return np.zeros((len(x), p, p))
        column = _nilpotent(p)[:, :, -1]
        # ∫₀ˣ e^{−2s} s^k ds.
        integrals = np.array(
            [factorial(k) / 2.0 ** (k + 1) * gammainc(k + 1, 2.0 * x) for k in range(2 * p - 1)]
        )
        Q = np.zeros((len(x), p, p))
        for i, one in enumerate(column):
            for j, other in enumerate(column):
                Q += np.multiply.outer(integrals[i + j], np.outer(one, other))
        return _INTENSITY[p] * Q


@dataclass(frozen=True)
class Brownian:
    """Wiener process of variance 1 + σ_w² δ after a time δ on its `clock`.

    Parameters
    ----------
    kernel : Wiener
    """

    kernel: Wiener
    order: int = field(default=1, init=False)

    has_chains, level = False, 0

    @property
    def start(self):
        """Time at which the variance is 1."""
        return float(self.kernel.start)

    def clock(self, t):
        # An error where the kernel is not defined.
        return self.kernel.elapsed(np.asarray(t)[:, np.newaxis])

    def prior(self, t):
        return self.kernel.diag([[t]])[np.newaxis, np.newaxis]

    def prior_slopes(self, t):
        return self.slopes(self.clock([t]))[1][:, 0]

    def transitions(self, gaps):
        Q = self.kernel.drift_variance * np.asarray(gaps)[:, np.newaxis, np.newaxis]
        return np.ones_like(Q), Q[:, np.newaxis]

    def slopes(self, gaps):
        # theta is log σ_w², so Q is its own derivative.
        is_learnt = not self.kernel.hyperparameter_drift_variance.fixed
        on_noise = self.transitions(gaps)[1][np.newaxis][: int(is_learnt)]
        return np.zeros_like(on_noise[:, :, 0]), on_noise


@dataclass(frozen=True)
class Oscillators:
    """Cosine series of a leaf: a constant, and a rotation for each harmonic.

    f is the sum of the constant and of the first component of each rotation.

    Parameters
    ----------
    leaf : Circle or Amplitude
    """

    leaf: object

    @cached_property
    def order(self):
        return 2 * len(self.leaf.coefficients) - 1

    @property
    def observed(self):
        return np.append(1.0, np.arange(self.order - 1) % 2 == 0)

    def state_space(self):
        """Return the matrices of `Markov`."""
        speed, one = np.arange(1.0, self.order // 2 + 1), np.arange(1, self.order, 2)
        F = np.zeros((self.order, self.order))
        F[one + 1, one] = speed * self.leaf.frequency
        return F - F.T, np.diag(self.weight), self.observed

    def prior(self, t):
        return np.diag(self.weight)[np.newaxis]

    def prior_slopes(self, t):
        return self.weight_slopes[:, np.newaxis, :, np.newaxis] * np.eye(self.order)

    @staticmethod
    def _repeated(q):
        """Return one number for the constant and two for each harmonic of q (..., J + 1)."""
        return np.repeat(q, [1] + [2] * (q.shape[-1] - 1), axis=-1)

    @property
    def weight(self):
        """Prior variances (p,) of the components."""
        return self._repeated(self.leaf.coefficients)

    @property
    def weight_slopes(self):
        """Derivatives (n_theta, p) of `weight` in theta."""
        return self._repeated(self.leaf.coefficient_slopes())

    def basis(self, t, slope=False):
        """Return the cosines and sines (n, p) at times (n,); or derivatives in the log period."""
        j = np.arange(self.order)
        quarter = np.where((j > 0) & (j % 2 == 0), 0.5 * np.pi, 0.0)
        speed = (j + 1) // 2 * self.leaf.frequency
        # The remainder is exact, the phase accurate many periods from the origin.
        phase = np.multiply.outer(np.fmod(t, self.leaf.period), speed) - quarter
        return np.multiply.outer(t, speed) * np.sin(phase) if slope else np.cos(phase)

    def from_basis(self, t):
        """Return the matrix (p, p) that maps coefficients of `basis` to the state at time t."""
        j = np.arange(self.order)
        A = self.transitions(np.fmod([t], self.leaf.period))[0][0]
        return A * np.where((j > 0) & (j % 2 == 0), -1.0, 1.0)

    def transitions(self, gaps):
        A = self._rotations(gaps)
        A[:, 0, 0] = 1.0
        return A, np.zeros_like(A[:, np.newaxis])

    def slopes(self, gaps):
        dA = np.zeros((self.leaf.n_theta, len(gaps), self.order, self.order))
        if isinstance(self.leaf, Circle) and self.leaf.learnt[1]:
            # The phase x = 2π j δ / p has dx / d log p = −x, and rotations dA/dx = A(x + π/2).
            j = np.repeat(np.arange(self.order // 2 + 1.0), [1] + [2] * (self.order // 2))
            x = j[:, np.newaxis] * self.leaf.frequency * gaps[:, np.newaxis, np.newaxis]
            dA[-1] = -x * self._rotations(gaps, 0.5 * np.pi)
        return dA, np.zeros_like(dA[:, :, np.newaxis])

    def _rotations(self, gaps, shift=0.0):
        """Return the rotations in gaps (k,), (k, p, p), without the constant."""
        x = np.multiply.outer(gaps, np.arange(1.0, self.order // 2 + 1)) * self.leaf.frequency
        A, one = np.zeros((len(gaps), self.order, self.order)), np.arange(1, self.order, 2)
        A[:, one, one] = A[:, one + 1, one + 1] = np.cos(x + shift)
        A[:, one + 1, one] = np.sin(x + shift)
        A[:, one, one + 1] = -A[:, one + 1, one]
        return A


@dataclass(frozen=True)
class Composed:
    """Process of a `Composite` kernel, of variance 1; with shared terms, these have variance 1 too.

    The first component of the state is f, the sum of components of the factors' states. The first
    component of the shared terms is their sum, the level, which is part of f.

    Parameters
    ----------
    composite : Composite
    """

    composite: Composite
    start: float = field(default=0.0, init=False)

    @cached_property
    def _factors(self):
        leaves = self.composite.leaves
        return [_stationary(k) if isinstance(k, Factor) else Oscillators(k) for k in leaves]

    @cached_property
    def order(self):
        return len(self._observed)

    @cached_property
    def _terms(self):
        """Weights (r,) of the factors' components in each term; the first one is 1."""
        factors = [[self._factors[i].observed for i in term] for term in self.composite.terms]
        return [reduce(np.kron, term) for term in factors]

    @cached_property
    def _observed(self):
        """Weights (p,) of the factors' components in f."""
        return np.concatenate(self._terms)

    @cached_property
    def level(self):
        """Component of the state that is the level, 0 for none."""
        if not self.composite.n_shared:
            return 0
        return sum(map(len, self._terms[: -self.composite.n_shared]))

    @cached_property
    def _sums(self):
        """Components that replace the first ones of groups, with weights (p,) of all; f is last."""
        if not self.level:
            return [(0, self._observed)]
        shared = np.where(np.arange(self.order) < self.level, 0.0, self._observed)
        whole = self._observed - shared
        whole[self.level] = 1.0
        return [(self.level, shared), (0, whole)]

    def shortest_periodic(self, n_places):
        """Return the lower bound of periodic lengthscales in a search, for a number of places."""
        *shorter, longest = _SHORTEST_PERIODIC
        for length in shorter if n_places == 1 else ():
            if Composed(self.composite.with_periodic(length)).order <= LARGE_STATE:
                return length
        return longest

    # --- chains -----------------------------------------------------------------------------------

    @cached_property
    def _chained(self):
        """Matérn leaf (or None) and other leaves of each term; None with products of Matérn."""
        leaves = []
        for term in self.composite.terms:
            lines = [i for i in term if isinstance(self.composite.leaves[i], Factor)]
            if len(lines) > 1:
                return None
            leaves.append((lines[0] if lines else None, [i for i in term if i not in lines]))
        return leaves

    def _weight(self, waves, replaced=()):
        """Return the variances (chains,) of a term; ``replaced``: those of some leaves."""
        replaced = dict(replaced)
        parts = [replaced.get(i, self._factors[i].weight) for i in waves]
        return reduce(np.kron, parts, np.ones(1)) / self.composite.variance

    def _basis(self, waves, t, slope=None):
        """Return the weights H (n, chains) of a term, or their slope in one leaf's log period."""
        H = np.ones((len(t), 1))
        for i in waves:
            other = self._factors[i].basis(t, i == slope)
            H = (H[:, :, np.newaxis] * other[:, np.newaxis]).reshape(len(t), -1)
        return H

    @property
    def has_chains(self):
        return self._chained is not None and not self.level

    def chains(self, t):
        constant = Stationary(1, 0.0)
        kinds = [constant if i is None else self._factors[i] for i, _ in self._chained]
        weights = [self._weight(waves) for _, waves in self._chained]
        return Chains(
            np.array([kind.order for kind in kinds]),
            np.array([kind.rate for kind in kinds]),
            np.repeat(np.arange(len(kinds)), [len(w) for w in weights]),
            np.concatenate(weights),
            np.hstack([self._basis(waves, t) for _, waves in self._chained]),
            any(getattr(leaf, "learnt", (False, False))[1] for leaf in self.composite.leaves),
        )

    def contract_chains(self, t, weight, on_weight, on_rate, on_H):
        on_theta, first = np.zeros(self.composite.n_theta), 0
        for on_line, (line, waves) in zip(on_rate, self._chained):
            block = slice(first, first + len(self._weight(waves)))
            if line is not None:
                part = self._factors[line].contract_chains(t, None, None, np.array([on_line]), None)
                on_theta[self.composite.slices[line]] += part
            for i in waves:
                leaf, theta = self.composite.leaves[i], self.composite.slices[i]
                slopes = [self._weight(waves, {i: w}) for w in self._factors[i].weight_slopes]
                if slopes:
                    on_theta[theta] += slopes @ on_weight[block]
                if isinstance(leaf, Circle) and leaf.learnt[1]:
                    on_theta[theta.stop - 1] += np.sum(on_H[:, block] * self._basis(waves, t, i))
            first = block.stop
        variance = self.composite.variance_slopes / self.composite.variance
        return on_theta - on_weight @ weight * variance

    def from_chains(self, t):
        blocks = []
        for term, (line, _) in zip(self.composite.terms, self._chained):
            kinds = [self._factors[i] for i in term]
            parts = [np.eye(f.order) if i == line else f.from_basis(t) for i, f in zip(term, kinds)]
            B = reduce(np.kron, parts)
            if line is not None:
                B = B.reshape(len(B), *(f.order for f in kinds))
                B = np.moveaxis(B, 1 + term.index(line), -1).reshape(len(B), -1)
            blocks.append(B)
        B = block_diag(*blocks)
        B[0] = self._observed @ B
        return B

    # --- matrices ---------------------------------------------------------------------------------

    clock = Stationary.clock

    def prior(self, t):
        return self._matrices([], False)[0][0, 0]

    def prior_slopes(self, t):
        return self._matrices([], True)[0][1:, 0]

    def transitions(self, gaps):
        _, A, Q = self._matrices(gaps, False)
        return A[0], Q[0]

    def slopes(self, gaps):
        _, A, Q = self._matrices(gaps, True)
        return A[1:], Q[1:]

    def _matrices(self, gaps, learning):
        """Return P∞, A and Q (1 + q, k or 1, ...): values and, with ``learning``, slopes."""
        gaps = np.asarray(gaps, dtype=np.float64)
        q, p, first = self.composite.n_theta if learning else 0, self.order, 0
        leaves = [self._leaf(i, gaps, q) for i in range(len(self._factors))]
        A, s = np.zeros((1 + q, len(gaps), p, p)), 1 + (self.level > 0)
        P, Q = np.zeros((1 + q, 1, s, p, p)), np.zeros((1 + q, len(gaps), s, p, p))
        for term in self.composite.terms:
            prior, move, noise = reduce(_product, [leaves[i] for i in term])
            block = slice(first, first + prior.shape[-1])
            group = int(0 < self.level <= first)
            for X, part in ((P[:, :, group], prior), (A, move), (Q[:, :, group], noise)):
                X[..., block, block] = part
            first = block.stop
        for X in (P, Q):
            self._normalize(X)
        return self._with_sums(P, True), self._with_sums(A), self._with_sums(Q, True)

    def _leaf(self, i, gaps, q):
        """Return P∞, A and Q of a factor, (1 + q, k or 1, r, r)."""
        process, matrices = self._factors[i], []
        slopes = [process.prior_slopes(0.0), *process.slopes(gaps)] if q else [None] * 3
        for value, slope in zip((process.prior(0.0), *process.transitions(gaps)), slopes):
            matrices.append(np.zeros((1 + q, *value.shape)))
            matrices[-1][0] = value
            if q:
                matrices[-1][1:][self.composite.slices[i]] = slope
        prior, A, Q = matrices
        return prior, A, Q[:, :, 0]

    def _normalize(self, X):
        """Divide covariances X (1 + q, k, s, p, p) by the variances of the groups, in place."""
        composite = self.composite
        for g, group in enumerate([composite.varying, composite.shared][: X.shape[2]]):
            X[:, :, g] /= group.variance
            if len(X) > 1:
                slopes = group.variance_slopes / group.variance
                X[1 : 1 + len(slopes), :, g] -= np.multiply.outer(slopes, X[0, :, g])

    def _with_sums(self, X, symmetric=False):
        """Replace first components by sums: T X T⁻¹, or T X Tᵀ if X is ``symmetric``."""
        for i, h in self._sums:
            # T is the identity except for row i, which is h.
            X[..., i, :] = h @ X
            if symmetric:
                X[..., :, i] = X @ h
            else:
                X -= X[..., :, i : i + 1] * (h - np.eye(1, self.order, i)[0])
        return X


@dataclass(frozen=True, eq=False)
class Linear:
    """Process of a kernel with the matrices F, P and H of `Markov`, of variance 1.

    Noise of short gaps is the integral of e^{Fs} W e^{Fᵀs}, W = −(F P + P Fᵀ), without the
    cancellation of P − A P Aᵀ (Van Loan 1978). Derivatives in theta are central differences.

    Parameters
    ----------
    kernel : Kernel
    """

    kernel: Kernel
    start: float = field(default=0.0, init=False)

    has_chains, level = False, 0
    clock = Stationary.clock

    @cached_property
    def _equation(self):
        """F and P (p, p) of a state whose first component is f over its standard deviation."""
        F, P, H = equation(self.kernel)
        first = int(np.argmax(np.abs(H)))
        T = np.eye(len(H))
        T[first], T[0] = T[0], H / np.sqrt(H @ P @ H)
        return T @ F @ np.linalg.inv(T), T @ P @ T.T

    @property
    def order(self):
        return len(self._equation[0])

    def prior(self, t):
        return self._equation[1][np.newaxis]

    def prior_slopes(self, t):
        return self._slopes(lambda process: [process.prior(t)])[0]

    def transitions(self, gaps):
        F, P = self._equation
        gaps, each = np.unique(np.asarray(gaps, dtype=np.float64), return_inverse=True)
        A, p = expm(gaps[:, np.newaxis, np.newaxis] * F), len(F)
        Q = P - A @ P @ A.transpose(0, 2, 1)
        short = gaps * np.abs(F).sum(axis=1).max() < 1.0
        blocks = np.block([[-F, -(F @ P + P @ F.T)], [np.zeros((p, p)), F.T]])
        powers = expm(gaps[short, np.newaxis, np.newaxis] * blocks)
        Q[short] = powers[:, p:, p:].transpose(0, 2, 1) @ powers[:, :p, p:]
        return A[each], (0.5 * (Q + Q.transpose(0, 2, 1)))[each][:, np.newaxis]

    def slopes(self, gaps):
        return self._slopes(lambda process: process.transitions(gaps))

    def _slopes(self, matrices):
        """Return the derivatives (n_theta, ...) of each of the matrices of a process in theta."""
        theta, h = self.kernel.theta, np.cbrt(np.finfo(float).eps)
        changes = [[np.zeros((0, *X.shape))] for X in matrices(self)]
        for step in h * np.eye(len(theta)):
            up, down = (
                matrices(Linear(self.kernel.clone_with_theta(theta + s))) for s in (step, -step)
            )
            for slopes, above, below in zip(changes, up, down):
                slopes.append((above - below)[np.newaxis] / (2.0 * h))
        return [np.concatenate(slopes) for slopes in changes]


def equation(kernel):
    """Return F and P (p, p) and H (p,) of a kernel, see `Markov`; None if they are not known."""
    if type(kernel) in (Sum, Product):
        sides = [equation(side) for side in (kernel.k1, kernel.k2)]
        if any(side is None for side in sides):
            return None
        (F, P, H), (F2, P2, H2) = sides
        if type(kernel) is Sum:
            return block_diag(F, F2), block_diag(P, P2), np.append(H, H2)
        both = np.kron(F, np.eye(len(F2))) + np.kron(np.eye(len(F)), F2)
        return both, np.kron(P, P2), np.kron(H, H2)
    if isinstance(kernel, Markov):
        return _checked(kernel)
    known = Composite.of(kernel)
    if known is None or known.series is None:
        return None
    leaf = known.leaves[0]
    return (_stationary(leaf) if isinstance(leaf, Factor) else Oscillators(leaf)).state_space()


def _checked(kernel):
    """Return the matrices of a kernel that gives them, if these have its values."""
    F, P, H = (np.asarray(X, dtype=np.float64) for X in kernel.state_space())
    name, p = f"state_space() of {type(kernel).__name__}", H.size
    if H.shape != (p,) or F.shape != (p, p) or P.shape != (p, p):
        got = f"shapes {F.shape}, {P.shape} and {H.shape}"
        raise invalid(name, "F and P of shape (p, p) and H of shape (p,)", got=got)
    ages = np.array([0.0, 1.0 / max(np.abs(F).max(), np.finfo(float).tiny)])
    found = np.array([H @ expm(age * F) @ P @ H for age in ages])
    expected = kernel(ages[:, np.newaxis], np.zeros((1, 1)))[:, 0]
    if not np.allclose(found, expected, rtol=1e-6, atol=1e-6 * abs(expected[0])):
        rule = "matrices with H exp(F τ) P H = k(τ)"
        got = f"{found[1]:.6g} at age {ages[1]:.3g}, where k is {expected[1]:.6g},"
        raise invalid(name, rule, got=got)
    return F, P, H


def _product(one, other):
    """Return P∞, A and Q of the product of two independent processes."""
    (P, A, Q), (P2, A2, Q2) = one, other
    return _multiplied(P, P2), _multiplied(A, A2), _multiplied(Q, P2) + _multiplied(P - Q, Q2)


def _multiplied(X, Y):
    """Return Kronecker products of (1 + q, ...) matrices, with their slopes by the product rule."""
    products = _kronecker(X[:1], Y)
    products[1:] += _kronecker(X[1:], Y[:1])
    return products


def _kronecker(X, Y):
    """Return the Kronecker products of stacks of square matrices."""
    products = X[..., :, np.newaxis, :, np.newaxis] * Y[..., np.newaxis, :, np.newaxis, :]
    p = X.shape[-1] * Y.shape[-1]
    return products.reshape(*products.shape[:-4], p, p)


def state_space(kernel, level=None):
    """Return the Markov process of a temporal kernel, or None if it has no known one.

    Parameters
    ----------
    kernel : Kernel
    level : Kernel, default=None
        Kernel of a level that all places share.

    Returns
    -------
    process : Stationary, Brownian, Composed, Linear or None
    """
    if type(kernel) is Wiener and level is None:
        return Brownian(kernel)
    temporal = recognize(kernel, 1) if level is None else None
    temporal = temporal or Composite.of(kernel, level)
    if isinstance(temporal, Composite):
        return None if temporal.series is None else Composed(temporal)
    if temporal is None:
        return Linear(kernel) if level is None and equation(kernel) is not None else None
    return _stationary(temporal)


def process_of(covariance):
    """Return the Markov process of a `SeparableCovariance` in time, or None."""
    return state_space(covariance.temporal, covariance.level)


def _stationary(factor):
    """Return the process of a `Factor`, None for RBF."""
    if factor.family not in _ORDERS:
        return None
    if factor.family == Family.CONSTANT:
        return Stationary(1, 0.0)
    rate = FAMILIES[factor.family].scale / float(factor.length_scales[0])
    log_slope = factor.log_slope if factor.n_theta else None
    return Stationary(_ORDERS[factor.family], rate, log_slope)


def _companion(p):
    """Return F (p, p), the companion matrix of (s + 1)^p."""
    F = np.eye(p, k=1)
    F[-1] = {1: [-1.0], 2: [-1.0, -2.0], 3: [-1.0, -3.0, -3.0]}[p]
    return F


def _nilpotent(p):
    """Return (F + I)^k / k! for k < p, (p, p, p)."""
    N = _companion(p) + np.eye(p)
    return np.array([np.linalg.matrix_power(N, k) / factorial(k) for k in range(p)])
