"""Temporal kernels composed of known ones by scikit-learn's ``+`` and ``*``.

A `Composite` is a sum of terms, each a product of constants, half-integer Matérn or Forgetting
kernels, RBF and ``ExpSineSquared``. Two forms of it are used:

Closed form, for covariance matrices. ``ExpSineSquared`` is an RBF kernel of points on a circle, as
the squared distance of two points of a unit circle is 4 sin²(π τ / p):

    exp(−2 sin²(π τ / p) / l²) = exp(−‖z(t) − z(t')‖² / (2 l²)),  z(t) = (cos, sin)(2π t / p).

So the functions of ``_fast.gram``, written for space, give values and derivatives of each kernel
from points on a line or on a circle.

Series, for convolutions over the future. Without RBF in time, a composite is a sum of

    k(τ) = Σ_g p_g(τ) e^{−c_g τ} cos(ω_g τ),     τ ≥ 0,     p_g a polynomial,

with the cosine series of ``ExpSineSquared``, whose coefficients are Bessel functions (Solin and
Särkkä 2014). Such sums are closed under addition and multiplication; see `FutureBasis`.
"""

from dataclasses import dataclass, replace
from functools import cached_property, reduce
from math import factorial
from operator import attrgetter

import numpy as np
from numpy.polynomial.polynomial import polyadd
from scipy.special import ive
from sklearn.gaussian_process.kernels import ConstantKernel, ExpSineSquared, Product, Sum

from .._fast import gram as _gram
from .._fast.gram import Family
from .._fast.sums import Sum as CompiledSum
from .._validation import invalid
from ._kernel_families import (
    FAMILIES,
    Factor,
    FutureBasis,
    recognize,
)

# A cosine series omits at most this part of the variance, with at most 66 harmonics down to this
# lengthscale.
_TOLERANCE = 1e-10
SHORTEST_PERIODIC = 0.1

# Products of cosine series omit parts of the variance below this.
_NEGLIGIBLE = 1e-13

# ∫ k² over the future of the Matérn 5/2 kernel of lengthscale 1.
MATERN52_INTEGRAL = sum(
    a * b * factorial(i + j) / 2.0 ** (i + j + 1)
    for i, a in enumerate(FAMILIES[Family.MATERN52].polynomial)
    for j, b in enumerate(FAMILIES[Family.MATERN52].polynomial)
) / np.sqrt(5.0)

# Values computed on demand that are the same for all theta.
_FOR_ALL_THETA = ("n_theta", "slices", "roles", "families", "_members")

# Factor of a term that is constant.
_NO_LINE = Factor(Family.CONSTANT, np.ones(1), 0)


@dataclass(frozen=True)
class Amplitude:
    """Constant kernel, with ``n_theta`` = 1 if it is learnt."""

    value: float
    n_theta: int

    frequency, period = 0.0, np.inf

    def with_theta(self, theta):
        return Amplitude(float(np.exp(theta[0])), 1) if self.n_theta else self

    @property
    def coefficients(self):
        return np.array([self.value])

    def coefficient_slopes(self):
        """Return derivatives (n_theta, 1) of `coefficients` in theta."""
        return np.full((self.n_theta, 1), self.value)

    @property
    def series(self):
        return {(0.0, 0.0): self.coefficients}


@dataclass(frozen=True)
class Circle:
    """``ExpSineSquared``, of points on a circle. Methods are those of a `Factor` in time.

    Parameters
    ----------
    length_scale, period : float
    learnt : (bool, bool)
        True for each of the two that is a hyperparameter.
    """

    length_scale: float
    period: float
    learnt: tuple

    family = Family.RBF

    @property
    def n_theta(self):
        return sum(self.learnt)

    def with_theta(self, theta):
        values = iter(np.exp(theta))
        old = zip((self.length_scale, self.period), self.learnt)
        return Circle(*(float(next(values) if new else value) for value, new in old), self.learnt)

    @property
    def frequency(self):
        """Angular frequency of the first harmonic."""
        return 2.0 * np.pi / self.period

    def points(self, t):
        # The remainder is exact, the phase accurate many periods from the origin.
        phase = self.frequency * np.fmod(t, self.period)
        return np.sqrt(0.5) / self.length_scale * np.array([np.cos(phase), np.sin(phase)])

    def velocity(self, t):
        cos, sin = self.points(np.array([t]))[:, 0]
        return self.frequency * np.array([-sin, cos])

    def slopes(self, contract, K, t, t2):
        slopes = []
        if self.learnt[0]:
            slopes.append(contract(K)[1:-1].sum(axis=0))
        if self.learnt[1]:
            # d log k / d log p = 2 x sin(2 x) / l² with x = π τ / p.
            x = 0.5 * self.frequency * np.subtract.outer(t, t2)
            slopes.append(contract(K * (2.0 / self.length_scale**2 * x * np.sin(2.0 * x)))[0])
        return np.array(slopes)

    @cached_property
    def coefficients(self):
        """Coefficients (J + 1,) of the cosines of j 2π τ / p; None if too many are needed."""
        if self.length_scale < SHORTEST_PERIODIC * (1.0 - 1e-9):
            return None
        q = self._bessel[0]
        omitted = np.append(np.cumsum(q[::-1])[-2::-1], 0.0)
        return q[: 1 + np.argmax(omitted <= _TOLERANCE)]

    def coefficient_slopes(self):
        q = self._bessel[1][: len(self.coefficients)]
        return np.array([q, np.zeros_like(q)])[np.array(self.learnt)]

    @cached_property
    def _bessel(self):
        """More coefficients than are needed, and derivatives in the log lengthscale."""
        x, j = self.length_scale**-2.0, np.arange(14 + int(6.0 / self.length_scale))
        I = ive(np.append(1, j), x)  # of orders −1, 0, 1, ...
        twice, slopes = np.where(j, 2.0, 1.0), 0.5 * (I[:-2] + I[2:]) - I[1:-1]
        return twice * I[1:], twice[:-1] * -2.0 * x * slopes

    @property
    def series(self):
        if self.coefficients is None:
            return None
        return {(0.0, j * self.frequency): np.array([q]) for j, q in enumerate(self.coefficients)}


@dataclass(frozen=True)
class Composite:
    """Sum of products of temporal kernels.

    Parameters
    ----------
    leaves : tuple of Amplitude, Factor or Circle
        In the order of theta.
    terms : tuple of tuple of int
        Indices of the leaves of each product.
    n_shared : int, default=0
        Number of terms of a level, which come last: in a covariance they do not depend on space.
    """

    leaves: tuple
    terms: tuple
    n_shared: int = 0

    def __getstate__(self):
        # Without values computed on demand.
        return {"leaves": self.leaves, "terms": self.terms, "n_shared": self.n_shared}

    @classmethod
    def of(cls, kernel, level=None):
        """Return the composite of a kernel of one column and of a level, or None.

        None if a kernel has an unknown part.
        """
        leaves = []
        terms = _expand(kernel, leaves)
        shared = [] if level is None else _expand(level, leaves)
        if terms is None or shared is None:
            return None
        return cls(tuple(leaves), tuple(terms + shared), len(shared))

    @cached_property
    def varying(self):
        """The composite of the terms that depend on space in a covariance."""
        if not self.n_shared:
            return self
        terms = self.terms[: -self.n_shared]
        n_leaves = 1 + max(i for term in terms for i in term)
        return Composite(self.leaves[:n_leaves], terms)

    @property
    def alone(self):
        """Factor of the kernel if this is a single known one, or None."""
        leaf = self.leaves[0]
        if len(self.leaves) > 1 or self.n_shared:
            return None
        if isinstance(leaf, Factor):
            return leaf
        return _NO_LINE if leaf == Amplitude(1.0, 0) else None

    @property
    def decays(self):
        """True if it goes to 0 with time, and has a closed form for convolutions."""
        if self.alone is not None:
            return self.alone.family != Family.CONSTANT
        return self.series is not None and self.series[0].min() > 0.0

    @cached_property
    def shared(self):
        """The composite of the terms of a level, which all inputs share."""
        return Composite(self.leaves, self.terms[len(self.terms) - self.n_shared :])

    @cached_property
    def n_theta(self):
        return sum(leaf.n_theta for leaf in self.leaves)

    @cached_property
    def slices(self):
        """Slice of theta for each leaf."""
        ends = np.cumsum([leaf.n_theta for leaf in self.leaves])
        return [slice(end - leaf.n_theta, end) for leaf, end in zip(self.leaves, ends)]

    def with_theta(self, theta):
        """Return the composite with other hyperparameters theta (n_theta,)."""
        leaves = list(self.leaves)
        for i, part in enumerate(self.slices):
            if leaves[i].n_theta:
                leaves[i] = leaves[i].with_theta(theta[part])
        new = Composite(tuple(leaves), self.terms, self.n_shared)
        vars(new).update((name, getattr(self, name)) for name in _FOR_ALL_THETA)
        return new

    def clipped(self, bounds, shortest):
        """Return bounds of theta (n_theta, 2), clipped where series would need more harmonics.

        The lower bound of a periodic lengthscale is at least ``shortest``, or its present value if
        that is less. A lengthscale without a series keeps its bounds.
        """
        bounds = bounds.copy()
        for leaf, part in zip(self.leaves, self.slices):
            if isinstance(leaf, Circle) and leaf.learnt[0] and leaf.coefficients is not None:
                lowest = np.log(min(shortest, leaf.length_scale))
                bounds[part.start, 0] = max(bounds[part.start, 0], lowest)
        return bounds

    def with_periodic(self, length_scale):
        """Return the composite with another value for all learnt periodic lengthscales."""
        leaves = (
            replace(leaf, length_scale=length_scale)
            if isinstance(leaf, Circle) and leaf.learnt[0]
            else leaf
            for leaf in self.leaves
        )
        return Composite(tuple(leaves), self.terms, self.n_shared)

    # --- covariance matrices ----------------------------------------------------------------------

    @cached_property
    def roles(self):
        """Leaves of each term by index: amplitudes, the first `Factor` (or None), and others."""
        roles = []
        for term in self.terms:
            kinds = {i: type(self.leaves[i]) for i in term}
            first = next((i for i in term if kinds[i] is Factor), None)
            amplitudes = [i for i in term if kinds[i] is Amplitude]
            roles.append((amplitudes, first, [i for i in term if i not in (first, *amplitudes)]))
        return roles

    @cached_property
    def amplitudes(self):
        """Product of the amplitudes of each term, (R,)."""
        products = np.ones(len(self.terms))
        for r, (amplitudes, *_) in enumerate(self.roles):
            for i in amplitudes:
                products[r] *= self.leaves[i].value
        return products

    @cached_property
    def variance(self):
        """k(0)."""
        return sum(self.amplitudes)

    @property
    def variance_slopes(self):
        """Derivatives (n_theta,) of `variance` in theta."""
        slopes = np.zeros(self.n_theta)
        for (amplitudes, *_), value in zip(self.roles, self.amplitudes):
            for i in amplitudes:
                slopes[self.slices[i]] += value
        return slopes

    @cached_property
    def factors(self):
        """The first `Factor` of each term."""
        return [_NO_LINE if i is None else self.leaves[i] for _, i, _ in self.roles]

    @cached_property
    def families(self):
        """Families (R,) of `factors`; None if a term has further kernels."""
        if any(others for *_, others in self.roles):
            return None
        return np.array([factor.family for factor in self.factors], dtype=np.intc)

    @cached_property
    def _members(self):
        """1 where a hyperparameter belongs to an amplitude, or to a factor, (n_theta, 2 R)."""
        members = np.zeros((self.n_theta, 2, len(self.terms)))
        for r, (amplitudes, first, _) in enumerate(self.roles):
            for i in amplitudes:
                members[self.slices[i], 0, r] = 1.0
            if first is not None:
                members[self.slices[first], 1, r] = 1.0
        return members.reshape(self.n_theta, 2 * len(self.terms))

    @cached_property
    def rates(self):
        """Ratios (R,) of scaled to plain times, for a composite with `families`."""
        return np.array([factor.units[0] for factor in self.factors])

    def fold(self, slopes):
        """Return derivatives in theta (n_theta, ...), for a composite with `families`.

        ``slopes`` (2 R, ...) are derivatives in the logarithms of the terms' R amplitudes and R
        lengthscales.
        """
        chain = np.ones((2, len(self.terms)))
        chain[1] = list(map(attrgetter("log_slope"), self.factors))
        return np.einsum("pi,i...->p...", self._members * chain.ravel(), slopes)

    @cached_property
    def _correlation(self):
        """The compiled kernel in time alone, for a composite with `families`."""
        weights = self.amplitudes, self.n_shared
        return CompiledSum(Family.CONSTANT, self.families, self.rates, *weights)

    def row_with_slope(self, t, times):
        """Return k (n,) between a time t and others, and its derivative (n,) in t."""
        if self.families is not None:
            k, dk = np.empty((2, 1, len(times)))
            space, times = np.empty((0, len(times))), np.ascontiguousarray(times)
            self._correlation.cross_with_gradient(np.empty(0), t, space, times, k[0], dk)
            return k[0], dk[0]
        rows = [self._row(leaf, t, times) for leaf in self.leaves]
        total, slope = np.zeros(len(times)), np.zeros(len(times))
        for term in self.terms:
            value, change = rows[term[0]]
            for i in term[1:]:
                k, dk = rows[i]
                value, change = value * k, change * k + value * dk
            total, slope = total + value, slope + change
        return total, slope

    def _row(self, leaf, t, times):
        if isinstance(leaf, Amplitude):
            return leaf.value, 0.0
        z, n = leaf.points(np.array([t]))[:, 0], len(times)
        k, dk, families = np.empty(n), np.empty((len(z) + 1, n)), (leaf.family, Family.CONSTANT)
        _gram.cross_with_gradient(z, 0.0, leaf.points(times), np.zeros(n), *families, 1.0, k, dk)
        return k, leaf.velocity(t) @ dk[:-1]

    # --- series -----------------------------------------------------------------------------------

    @cached_property
    def series(self):
        """Rates c (g,), frequencies ω (g,) and polynomials (g, p + 1) in τ.

        None with RBF, or with an ``ExpSineSquared`` of too many harmonics.
        """
        of_leaves, total = [leaf.series for leaf in self.leaves], {}
        if any(series is None for series in of_leaves):
            return None
        for term in self.terms:
            for key, polynomial in reduce(_multiplied, [of_leaves[i] for i in term]).items():
                _add(total, key, polynomial)
        polynomials = np.zeros((len(total), max(map(len, total.values()))))
        for row, polynomial in zip(polynomials, total.values()):
            row[: len(polynomial)] = polynomial
        rates, frequencies = np.array(list(total)).T
        return rates, frequencies, polynomials

    @cached_property
    def future_basis(self):
        """The `FutureBasis`; None with RBF."""
        if self.series is None:
            return None
        rates, frequencies, polynomials = self.series
        powers = rates[:, np.newaxis] ** np.arange(polynomials.shape[1])
        return FutureBasis(rates, frequencies, polynomials / powers)

    def future_convolution(self, u, v, origin=0.0):
        """Return the convolutions (n, m) over the future; see `FutureBasis.convolution`."""
        return self.future_basis.convolution(u, v, origin)

    @cached_property
    def length_scale(self):
        """Lengthscale of the Matérn 5/2 kernel with the same ∫ (k(τ) / k(0))² over the future.

        For a single known kernel, its own lengthscale.
        """
        if self.alone is not None:
            return float(self.alone.length_scales[0])
        return self.future_basis.integral / self.variance**2 / MATERN52_INTEGRAL

    def mean_square(self, gaps):
        """Return the average (n,) of (k(τ) / k(0))² over the phases of the seasons.

        With D_ω the sum of the terms of one frequency without its cosine, it is
        D_0² + ½ Σ_{ω>0} D_ω², which does not increase with τ.
        """
        decays, weights, frequencies = self._decays(gaps)
        shares = np.where(frequencies > 0.0, 0.5, 1.0)
        form = (weights * shares[:, np.newaxis]).T @ weights
        return np.einsum("an,an->n", decays, form @ decays) / self.variance**2

    def decay(self, gaps):
        """Return the correlation (n,) without its cosines, an upper bound."""
        if self.families is not None:
            return self.row_with_slope(0.0, gaps)[0] / self.variance
        decays, weights, _ = self._decays(gaps)
        return weights.sum(axis=0) @ decays / self.variance

    def _decays(self, gaps):
        """Return distinct τ^k e^{−c τ} (a, n), and their weights (w, a) in each D_ω; ω (w,)."""
        rates, frequencies, polynomials = self.series
        degrees = np.arange(polynomials.shape[1])
        rates, rate = np.unique(rates, return_inverse=True)
        frequencies, frequency = np.unique(frequencies, return_inverse=True)
        weights = np.zeros((len(frequencies), len(rates), len(degrees)))
        np.add.at(weights, (frequency, rate), polynomials)
        decays = (
            np.exp(-np.multiply.outer(rates, gaps))[:, np.newaxis] * np.power.outer(gaps, degrees).T
        )
        return decays.reshape(-1, len(gaps)), weights.reshape(len(frequencies), -1), frequencies


def summands(kernel):
    """Return the summands of a kernel, in the order of its parts.

    Products of sums are multiplied out, as in a `Composite`.
    """
    if type(kernel) not in (Sum, Product):
        return [kernel]
    one, other = summands(kernel.k1), summands(kernel.k2)
    return one + other if type(kernel) is Sum else [a * b for a in one for b in other]


def _expand(kernel, leaves):
    """Add the leaves of a kernel to ``leaves``, and return its terms: tuples of their indices.

    None if a part is unknown.
    """
    kind = type(kernel)
    if kind in (Sum, Product):
        sides = [_expand(side, leaves) for side in (kernel.k1, kernel.k2)]
        if any(side is None for side in sides):
            return None
        one, other = sides
        return one + other if kind is Sum else [a + b for a in one for b in other]
    if kind is ConstantKernel:
        value = _positive(kernel, "constant_value")
        leaf = Amplitude(value, int(not kernel.hyperparameter_constant_value.fixed))
    elif kind is ExpSineSquared:
        learnt = kernel.hyperparameter_length_scale, kernel.hyperparameter_periodicity
        values = _positive(kernel, "length_scale"), _positive(kernel, "periodicity")
        leaf = Circle(*values, tuple(not h.fixed for h in learnt))
    else:
        leaf = recognize(kernel, 1)
        if leaf is None:
            return None
    leaves.append(leaf)
    return [(len(leaves) - 1,)]


def _positive(kernel, name):
    value = np.asarray(getattr(kernel, name), dtype=np.float64)
    if value.size != 1 or not 0.0 < value.item() < np.inf:
        raise invalid(name, "positive and finite", getattr(kernel, name), kernel)
    return value.item()


def _multiplied(one, other):
    """Return the product of two series, without its negligible terms."""
    series, total = {}, sum(p[0] for p in one.values()) * sum(p[0] for p in other.values())
    for (c, w), p in one.items():
        for (d, v), q in other.items():
            cosines = (w + v,) if w == 0.0 or v == 0.0 else (w + v, abs(w - v))
            # Much faster than a convolution, and most factors are constant.
            constant = len(p) == 1 or len(q) == 1
            polynomial = (p * q if constant else np.convolve(p, q)) / len(cosines)
            if polynomial[0] > _NEGLIGIBLE * total:
                for cosine in cosines:
                    _add(series, (c + d, cosine), polynomial)
    return series


def _add(series, key, polynomial):
    """Add a polynomial to the one of a rate and a frequency."""
    series[key] = polyadd(series[key], polynomial) if key in series else polynomial
