"""Table of the kernels that have compiled code and closed forms, and their recognition.

`FutureBasis` has the convolutions over the future of these and of their sums and products.

A new stationary family is a row of `FAMILIES`, a branch in ``_fast/gram.pyx`` and its twin in the
tests.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property
from typing import NamedTuple

import numpy as np
from scipy.linalg import expm, solve_continuous_lyapunov
from scipy.special import binom, erfcx, gamma
from scipy.stats import t as student_t
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Kernel, Matern, Product, Sum

from .._fast import convolution as _convolution
from .._fast import gram as _gram
from .._fast.gram import Family
from .._validation import LARGEST_X, invalid
from ..exceptions import UnsupportedKernelError
from ..kernels import ChordalMatern, Forgetting, ProportionalMatern
from ._cholesky import product


@dataclass(frozen=True)
class Correlation:
    """Correlation function of the distance r, with lengthscale l.

    Parameters
    ----------
    kernels : tuple of (type, float or None)
        Kernel classes that compute it, each with its ``nu`` if it has one.
    order : float or None
        ν of the Matérn family, infinite for RBF.
    scale : float
        Compiled code uses z = ``scale`` r / l.
    polynomial : tuple of float or None
        Coefficients α_k if the correlation is exp(-z) Σ_k α_k z^k.
    """

    kernels: tuple
    order: float | None
    scale: float
    polynomial: tuple | None

    @property
    def spectrum(self):
        """Distribution of 2π l f for frequencies f drawn from the spectral density, or None."""
        return None if self.order is None else matern_spectrum(self.order)


def matern_spectrum(order):
    """Return Student's t distribution with 2ν degrees of freedom, of 2π l f for a Matérn kernel."""
    return student_t(2.0 * order)


_MATERN12 = (Matern, 0.5), (Forgetting, None)
_MATERN52 = (Matern, 2.5), (ProportionalMatern, 2.5)

FAMILIES = {
    Family.CONSTANT: Correlation(((ConstantKernel, None),), None, 1.0, None),
    Family.RBF: Correlation(((RBF, None), (Matern, np.inf)), np.inf, np.sqrt(0.5), None),
    Family.MATERN12: Correlation(_MATERN12, 0.5, 1.0, (1.0,)),
    Family.MATERN32: Correlation(((Matern, 1.5),), 1.5, np.sqrt(3.0), (1.0, 1.0)),
    Family.MATERN52: Correlation(_MATERN52, 2.5, np.sqrt(5.0), (1.0, 1.0, 1.0 / 3.0)),
}

_FAMILY_OF = {
    kernel: family for family, correlation in FAMILIES.items() for kernel in correlation.kernels
}

_KINDS = {kind for kind, _ in _FAMILY_OF}


def family_of(kernel):
    """Return the family of a kernel, None if it has none.

    Exact types only: a subclass may compute anything.
    """
    kind = type(kernel)
    return _FAMILY_OF.get((kind, kernel.nu if issubclass(kind, Matern) else None))


_NUS = [nu for row in FAMILIES.values() for kind, nu in row.kernels if kind is Matern]
_SUPPORTED = f"RBF and Matern with nu in ({', '.join(f'{nu:g}' for nu in sorted(_NUS))})"


@dataclass(frozen=True)
class Factor:
    """Family and lengthscales of a known kernel, without the kernel object.

    Parameters
    ----------
    family : Family
    length_scales : ndarray of shape (d,)
    n_theta : int
        Number of hyperparameters: 0 (fixed), or that of groups of columns.
    forgetting : bool, default=False
        True if theta is the log rate of a `Forgetting` kernel rather than a log lengthscale.
    log_slope : float, default=1.0
        d log l / d theta.
    groups : tuple of int, default=(0,)
        First column of each group; within a group lengthscales are proportional.
    embedding : callable, default=None
        Map of inputs (n, d) to points (n, d') whose distances count; None: the identity.

    Attributes
    ----------
    units : ndarray of shape (d,)
        Factors from plain coordinates to those of the compiled code.
    members, ratios : ndarray of shape (d,) or None
        Group of each column, and its lengthscale over the largest of the group. None if each column
        is a group.
    """

    family: Family
    length_scales: np.ndarray
    n_theta: int
    forgetting: bool = False
    log_slope: float = 1.0
    groups: tuple = (0,)
    embedding: Callable | None = None

    @classmethod
    def of_rate(cls, epsilon, n_theta):
        """Return the factor of ``Forgetting(epsilon)``."""
        log_keep = np.log1p(-epsilon)
        # The lengthscale is l = -2 / log(1 - ε), so that d log l / d log ε = ε / ((1-ε) log(1-ε)).
        log_slope = epsilon / ((1.0 - epsilon) * log_keep)
        return cls(Family.MATERN12, np.array([-2.0 / log_keep]), n_theta, True, log_slope)

    def with_theta(self, theta):
        """Return the factor with other hyperparameters theta (n_theta,)."""
        if self.n_theta == 0:
            return self
        if self.forgetting:
            return Factor.of_rate(np.exp(theta[0]), self.n_theta)
        scales = np.exp(theta)
        if self.ratios is not None:
            scales = self.ratios * scales[self.members]
        new = object.__new__(Factor)  # a search makes many, whose other fields are the same
        units = FAMILIES[self.family].scale / scales
        vars(new).update(vars(self), length_scales=scales, units=units)
        vars(new).pop("future_basis", None)
        return new

    @property
    def theta(self):
        """Logarithms (n_theta,) of the learnt lengthscales."""
        if self.n_theta == 0:
            return np.empty(0)
        return np.log(np.maximum.reduceat(self.length_scales, self.groups))

    def __post_init__(self):
        lengths, members, ratios = self.length_scales, None, None
        if self.n_theta and len(self.groups) < len(lengths):
            members = np.repeat(np.arange(len(self.groups)), np.diff([*self.groups, len(lengths)]))
            ratios = lengths / np.maximum.reduceat(lengths, self.groups)[members]
        units = FAMILIES[self.family].scale / lengths
        vars(self).update(units=units, members=members, ratios=ratios)

    def __getstate__(self):
        # Without values computed on demand.
        return {name: value for name, value in vars(self).items() if name != "future_basis"}

    def scale(self, X):
        """Return X (n, d) as (d', n) in the units of the compiled code, C-ordered."""
        units = self.units
        if self.embedding is not None:
            X = self.embedding(X)
            units = np.full(X.shape[1], units[0])
        Z = np.empty((len(units), len(X)))
        length = _gram.scale(X, units, Z)
        if not length <= 100.0 * LARGEST_X:  # larger than any |x|, due to units and sum
            expected = f"within {LARGEST_X:g} lengthscales of 0"
            raise invalid("X", expected, got=f"a lengthscale of {self.length_scales.min():.3g}")
        return Z

    def fold(self, slopes):
        """Return derivatives in theta (n_theta, ...) from those (d, ...) in log lengthscale."""
        if self.n_theta == 0:
            return slopes[:0]
        if len(self.groups) < len(slopes):
            slopes = np.add.reduceat(slopes, self.groups, axis=0)
        return slopes if self.log_slope == 1.0 else slopes * self.log_slope

    def convolution(self, X, Y=None):
        """Return the convolution over its value at distance 0, (n, m); 1 without columns."""
        Z = self.scale(X)
        W, twice_mu = Z if Y is None else self.scale(Y), 0
        if not len(Z):
            return np.ones((len(X), W.shape[1]))
        if self.family == Family.RBF:
            # The convolution falls as exp(−r²/(4 l²)), and Z holds x / (√2 l).
            Z, W = Z * np.sqrt(0.5), W * np.sqrt(0.5)
        else:
            twice_mu = int(4.0 * FAMILIES[self.family].order) + X.shape[1]
        out = np.empty((Z.shape[1], W.shape[1]))
        _convolution.spatial(Z, W, self.family, twice_mu, 1.0, out, Y is None)
        return out

    # --- in time, of one lengthscale --------------------------------------------------------------

    def points(self, t):
        """Return coordinates (c, n) of times (n,), as ``_fast.gram`` takes them."""
        return self.scale(t[:, np.newaxis])

    def velocity(self, t):
        """Return the derivative (c,) of `points` at a time."""
        return self.units

    def slopes(self, contract, K, t, t2):
        """Return derivatives in theta (n_theta, ...) of a linear function of the matrix K.

        ``contract`` (K) returns those in the logarithms of a factor of K, of the units of the
        coordinates, and of another one. K is between times t (n,) and t2 (m,).
        """
        return self.fold(contract(K)[1:-1])

    @property
    def series(self):
        """Polynomials by (c, ω) of a series, see `_composite`; None for RBF."""
        alpha, rate = FAMILIES[self.family].polynomial, float(self.units[0])
        if alpha is None:
            return None
        return {(rate, 0.0): np.array(alpha) * rate ** np.arange(len(alpha))}

    def future_convolution(self, u, v, origin=0.0):
        """Return ∫ k k over the future (n, m), for ages u (n,), v (m,), over the decay at origin.

        The division prevents underflow for large ages.
        """
        if self.family == Family.RBF:
            return _future_rbf(self.length_scales[0], u, v, origin)
        return self.future_basis.convolution(u, v, origin)

    @cached_property
    def future_basis(self):
        """The `FutureBasis`; None for RBF."""
        alpha = FAMILIES[self.family].polynomial
        if alpha is None:
            return None
        return FutureBasis(self.units[:1], np.zeros(1), np.array([alpha]))

    def decay(self, gaps):
        """Return the correlation (n,) over gaps (n,) in time."""
        if self.family == Family.RBF:
            z = self.units[0] * gaps
            return np.exp(-z * z)
        return self.future_basis(gaps)[:, 0]


def _future_rbf(l, u, v, origin):
    """Return exp(origin² / l²) ∫ k k over the future, for k(age) = exp(−age² / (2 l²)).

    The integral is (√π l/2) exp(−(u−v)²/(4 l²)) erfc((u+v)/(2 l)). With erfcx(z) = e^{z²} erfc(z)
    the exponential is a product that neither underflows early nor multiplies large by small.
    """
    u, v, origin = u / l, v / l, origin / l

    def decay(ages):
        return np.exp(0.5 * (origin - ages) * (origin + ages))

    tail = erfcx(0.5 * (u[:, np.newaxis] + v))
    return 0.5 * np.sqrt(np.pi) * l * decay(u)[:, np.newaxis] * tail * decay(v)


def recognize(kernel, n_dims):
    """Return the `Factor` of a kernel over ``n_dims`` columns, None without compiled code."""
    on_earth = type(kernel) is ChordalMatern and n_dims == 2
    family = _FAMILY_OF.get((Matern, kernel.nu)) if on_earth else family_of(kernel)
    if family is None:
        return None
    if family == Family.CONSTANT:
        # Compiled code has no other amplitude than the signal variance.
        is_one = kernel.hyperparameter_constant_value.fixed and kernel.constant_value == 1.0
        return Factor(family, np.ones(n_dims), 0) if is_one else None
    if type(kernel) is Forgetting:
        if n_dims != 1:
            return None
        kernel.check()
        return Factor.of_rate(kernel.epsilon, 0 if kernel.hyperparameter_epsilon.fixed else 1)
    scales = np.atleast_1d(np.asarray(kernel.length_scale, dtype=np.float64))
    if scales.ndim > 1 or scales.size not in (1, n_dims):
        expected, got = f"one, or one per column ({n_dims})", f"{scales.size} lengthscales"
        raise invalid("length_scale", expected, owner=kernel, got=got)
    if not ((scales > 0.0) & (scales < np.inf)).all():
        raise invalid("length_scale", "positive and finite", kernel.length_scale, kernel)
    groups = getattr(kernel, "groups", tuple(range(scales.size)))
    n_theta = 0 if kernel.hyperparameter_length_scale.fixed else len(groups)
    embedding = kernel.positions if on_earth else None
    scales = np.full(n_dims, scales)
    return Factor(family, scales, n_theta, groups=tuple(groups), embedding=embedding)


def recognize_or_raise(kernel, n_dims, purpose):
    """Return the `Factor` of a stationary kernel with a closed form for ``purpose``, or raise."""
    factor = recognize(kernel, n_dims)
    if factor is None or factor.family == Family.CONSTANT:
        reason = "it never forgets" if factor is not None else "no closed form is known for it"
        raise UnsupportedKernelError(
            f"{purpose} is not available for {kernel}: {reason}. Supported are {_SUPPORTED}."
        )
    return factor


@cache
def _attributes(kind):
    """Return the attributes of a class of kernels that describe hyperparameters, in their order."""
    return [name for name in dir(kind) if name.startswith("hyperparameter_")]


class Hyperparameters(NamedTuple):
    """Names (n_theta,), bounds (n_theta, 2) and theta (n_theta,) of a kernel, as it has them."""

    names: list
    bounds: np.ndarray
    theta: np.ndarray


def hyperparameters(kernel):
    """Return the `Hyperparameters` of a kernel, or of None, that are learnt.

    scikit-learn inspects all attributes of a kernel for each of these, and the parts of sums and
    products several times: this would take most of the time of a search with few rows.
    """
    if type(kernel) in (Sum, Product):
        one, other = hyperparameters(kernel.k1), hyperparameters(kernel.k2)
        names = [f"k1__{name}" for name in one.names] + [f"k2__{name}" for name in other.names]
        bounds, theta = map(np.concatenate, list(zip(one, other))[1:])
        return Hyperparameters(names, bounds, theta)
    kind, learnt = type(kernel), []
    if kind in _KINDS:
        learnt = [getattr(kernel, name) for name in _attributes(kind)]
    elif kernel is not None:
        learnt = kernel.hyperparameters
    learnt = [h for h in learnt if not h.fixed]
    if not learnt:
        return Hyperparameters([], np.empty((0, 2)), np.empty(0))
    names = [name for h in learnt for name in [h.name] * h.n_elements]
    if kind.bounds is not Kernel.bounds or kind.theta is not Kernel.theta:
        return Hyperparameters(names, kernel.bounds, kernel.theta)
    values = np.hstack([getattr(kernel, h.name) for h in learnt])
    return Hyperparameters(names, np.log(np.vstack([h.bounds for h in learnt])), np.log(values))


def parameters(kernel):
    """Return the parameters of a kernel and of its parts by name, as ``get_params`` does.

    ``get_params`` inspects the signatures of all classes, this function only those of unknown ones.
    Sums and products themselves are left out.
    """
    if type(kernel) not in (Sum, Product):
        return vars(kernel) if type(kernel) in _KINDS else kernel.get_params()
    one, other = parameters(kernel.k1), parameters(kernel.k2)
    values = {f"k1__{name}": value for name, value in one.items()}
    return values | {f"k2__{name}": value for name, value in other.items()}


def is_like(kernel, other):
    """Return True if two kernels differ at most in bounds and values of learnt hyperparameters."""
    if type(kernel) is not type(other):
        return False
    if type(kernel) in (Sum, Product):
        return is_like(kernel.k1, other.k1) and is_like(kernel.k2, other.k2)
    return _held_parameters(kernel) == _held_parameters(other)


def _held_parameters(kernel):
    """Return the parameters of a kernel by name, only the sizes of those that are learnt."""
    own, values = vars(kernel), {}
    for name, value in own.items():
        is_learnt = not isinstance(own.get(f"{name}_bounds", "fixed"), str)
        if name.endswith("_bounds"):
            values[name] = isinstance(value, str)
        else:
            values[name] = np.size(value) if is_learnt else value
    return values


def forgetting_rate(kernel):
    """Return the rate ε of a `Forgetting` kernel, or of the equivalent of a Matérn 1/2 kernel."""
    if isinstance(kernel, Forgetting):
        return kernel.epsilon
    # The lengthscale is l = -2 / log(1 - ε).
    return float(-np.expm1(-2.0 / kernel.length_scale))


def rescaled(kernel, scales, typical, groups):
    """Return a copy of a kernel for columns that were multiplied by ``scales`` (d,).

    Lengthscales and periods are multiplied as well: one for all columns by ``typical``. Other
    hyperparameters remain. In a kernel with a lengthscale for each group of columns, groups may
    have other numbers of columns than before: ``groups`` are their first columns now.
    """
    new, parameters = clone(kernel), kernel.get_params()
    for name, value in parameters.items():
        prefix = name[: name.rfind("__") + 2] if "__" in name else ""
        is_periodic = f"{prefix}periodicity" in parameters
        if name == prefix + ("periodicity" if is_periodic else "length_scale"):
            own, before = np.size(value) == len(scales), parameters.get(f"{prefix}groups", ())
            if len(before) == len(groups) > 1:
                widths = np.diff([*groups, len(scales)])
                largest = np.maximum.reduceat(value, before) * scales[list(groups)]
                changed = {name: np.repeat(largest, widths), f"{prefix}groups": groups}
            else:
                changed = {name: np.multiply(value, scales if np.ndim(value) and own else typical)}
            new.set_params(**changed)
    return new


# --- convolutions over the future -----------------------------------------------------------------


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
    """Basis of the future of a decaying kernel in time, in which the present moves linearly.

    Without RBF, such a kernel is a sum of exponentials times polynomials and cosines,

        k(τ) = Re Σ_g e^{−s_g τ} Σ_k α_gk (c_g τ)^k,     s_g = c_g − i ω_g,     τ ≥ 0.

    At a time τ from now on, the covariance with a row of age u is k(τ + u), the same sum with other
    coefficients: those of (c_g τ)^m in the polynomials are

        b_gm(u) = e^{−s_g u} Σ_{k≥m} α_gk C(k, m) (c_g u)^{k−m}.

    With the real numbers b (m,) of each row, the convolution over the future is b(u)ᵀ L b(v), where
    L are integrals of exponentials times powers. This is shorter and more accurate than the
    Lyapunov equation of the state-space form, which needs a Schur decomposition of nearly defective
    matrices. For Matérn kernels it equals W-DBO eq. (72)-(75), without cancellation. A later
    present is one linear map for all rows: b(u + δ) = b(u) T(δ).

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
        blocks = self._decays(z, step)[:, np.newaxis, np.newaxis] * (binomials * powers)
        T = np.zeros((blocks.size // n, blocks.size // n), dtype=blocks.dtype)
        for g, block in enumerate(blocks):
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
            L = plain.real
        else:
            conjugate = integrals(s.conj())
            total, difference = plain + conjugate, plain - conjugate
            L = 0.5 * np.block([[total.real, difference.imag], [total.imag, -difference.real]])
        return np.ascontiguousarray(L[self._used][:, self._used])

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


@dataclass(frozen=True, eq=False)
class LinearBasis:
    """The same for a kernel k(τ) = H e^{Fτ} P Hᵀ that provides these matrices, see `Markov`.

    At a time from now on, the covariance with a row of age u is the output of the equation that
    starts at b(u) = e^{Fu} P Hᵀ. L solves the Lyapunov equation Fᵀ L + L F = −Hᵀ H.

    Attributes
    ----------
    F, P : ndarray of shape (m, m)
    H : ndarray of shape (m,)
    """

    F: np.ndarray
    P: np.ndarray
    H: np.ndarray

    pairs, weights = FutureBasis.pairs, FutureBasis.weights
    convolution = FutureBasis.convolution

    @property
    def size(self):
        return len(self.H)

    @cached_property
    def rates(self):
        """Rate of the slowest decay, (1,)."""
        return -np.linalg.eigvals(self.F).real.max(keepdims=True)

    def __call__(self, ages, origin=0.0):
        decay = self.rates[0] * origin * np.eye(self.size)
        return expm(np.multiply.outer(ages, self.F) + decay) @ (self.P @ self.H)

    def transition(self, step):
        return expm(step * self.F).T

    @cached_property
    def products(self):
        return solve_continuous_lyapunov(self.F.T, -np.outer(self.H, self.H))
