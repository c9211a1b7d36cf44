"""Futures of kernels in time: convolutions, decay and lengthscale, in closed form or by quadrature.

`future_of` alone chooses the form for a kernel. The compiled families, their sums and products have
closed forms (`FutureBasis`). Others may provide theirs by the protocols of `sktvbo.kernels`
(`LinearBasis`, `Future`). Any other stationary kernel whose square is integrable has a quadrature
with nodes s_q > 0 and weights w_q:

    C(u, v) = ∫ k(s + u) k(s + v) ds ≈ Σ_q w_q k(s_q + u) k(s_q + v),   s > 0,

so C is Φ diag(w) Φᵀ with Φ_iq = k(s_q + u_i): one matrix product. The trapezoidal rule in x with
s = e^{c + (π/2) sinh x} reaches from far below to far above all scales of a kernel, with an error
that falls exponentially for smooth ones, even where their tails are powers (Takahasi and Mori
1974). Kernels with oscillations need nodes at equal distances; then s = l log(1 + e^{x − e^{−x}}).
The number of nodes doubles until C does not change.
"""

from functools import cached_property

import numpy as np
from sklearn.base import clone
from sklearn.gaussian_process.kernels import ConstantKernel, Product

from .._validation import invalid
from ..exceptions import UnsupportedKernelError
from ..kernels import Decaying, FutureConvolved
from ._cholesky import product
from ._composite import MATERN52_INTEGRAL, Composite
from ._dates import numeric_durations
from ._kernel_families import Factor, LinearBasis
from .kalman._state_space import equation

# Relative error of convolutions, and part of the integral that may lie outside of the nodes.
_TOLERANCE, _OUTSIDE = 1e-9, 1e-11

# Numbers of nodes; many for kernels that oscillate.
_FEW, _MANY = (32, 64, 128, 256), (512, 1024, 2048, 4096, 8192)

# The square is first evaluated on this grid of log s, where s² is a float. Its sum over the second
# number of last entries must be negligible, or the integral does not converge.
_SCAN = np.arange(-160.0, 345.0, 0.25)
_LAST_SCANNED = 40

# Ages at which numbers of nodes are compared, in units of ∫ (k / k(0))².
_AGES = np.array([0.0, 1.3e-4, 1.1e-3, 0.0317, 0.29, 0.83, 1.07, 3.1, 9.7])

# The youngest age is at most the one with this correlation: squares of smaller ones have lost their
# digits.
_PRESENT = 1e-100

# Bounds of a search keep this distance, in the logarithm, from values without a future.
_MARGIN = 0.05

# Gaps at which closed forms are compared with the correlation, in units of the lengthscale.
_GAPS = np.geomspace(1e-4, 1e3, 300)

# Gaps beyond these and the nodes, in units of the last one: a bound that stays above 0 is summed up
# to the largest size of a data set.
_BEYOND = np.geomspace(1.05, 1e6, 200)

# Nodes whose products are computed at a time.
_BLOCK = 512


class Future:
    """Future of any stationary kernel in time, with the same methods as a `Composite`.

    Parameters
    ----------
    kernel : Kernel
        Of one column.
    purpose : str
        Subject of errors.

    Raises
    ------
    UnsupportedKernelError
        ∫ k² over the future does not converge, or needs too many nodes.
    """

    _latest = None, None

    def __init__(self, kernel, purpose):
        self._kernel, self._purpose = kernel, purpose
        self._factor, self._given = _without_constants(kernel)
        if not kernel.is_stationary():
            raise self._error(
                "it is not stationary, so it is no function of age whose square can be "
                "integrated. Use a kernel that decays, such as Matern(nu=0.5)"
            )
        self._integral = self._integral_from(0.0)

    @cached_property
    def future_basis(self):
        """The `LinearBasis`; None where relevancies are computed from whole matrices."""
        matrices = equation(self._kernel)
        basis = None if matrices is None else LinearBasis(*matrices)
        return basis if basis is not None and basis.rates[0] > 0.0 else None

    def future_convolution(self, u, v, origin=0.0):
        """Return ∫ k k over the future (n, m), for ages u (n,), v (m,), over the decay at origin.

        The division prevents underflow for large ages.
        """
        if self.future_basis is not None:
            return self.future_basis.convolution(u, v, origin)
        youngest = min(u.min(), v.min())
        present = min(youngest, self._oldest)
        shift = youngest - present
        one, other = u - shift, None if v is u else v - shift
        C = self._convolution(one, other, present)
        return C if origin == 0.0 else C * (self._integral / self._integral_from(present))

    def _convolution(self, u, v, present):
        """Return ∫ k k (n, m) for ages u (n,), v (m,) from a present one on; None is u."""
        if isinstance(self._given, FutureConvolved):
            C = np.asarray(self._given.future_convolution(u, u if v is None else v))
            shape = len(u), len(u if v is None else v)
            if C.shape != shape:
                name = f"future_convolution() of {type(self._given).__name__}"
                raise invalid(name, f"an array of shape {shape}", got=f"shape {C.shape}")
            return self._factor**2 * C
        s, w, _ = self._nodes(present)
        C = np.zeros((len(u), len(u if v is None else v)))
        for i in range(0, len(s), _BLOCK):
            later, weights = s[i : i + _BLOCK], w[i : i + _BLOCK]
            Phi = self._k(np.add.outer(u, later))
            Psi = Phi if v is None else self._k(np.add.outer(v, later))
            C += product(Phi * weights, Psi.T)
        return C

    def _integral_from(self, present):
        """Return ∫ k² of ages from a present one on."""
        if self._uses_nodes:
            return self._nodes(present)[2]
        age = np.array([present])
        if self.future_basis is not None:
            return float(self.future_basis.convolution(age, age)[0, 0])
        return float(self._convolution(age, age, present)[0, 0])

    @property
    def _uses_nodes(self):
        return self.future_basis is None and not isinstance(self._given, FutureConvolved)

    @property
    def length_scale(self):
        """Lengthscale of the Matérn 5/2 kernel with the same ∫ (k(τ) / k(0))² over the future."""
        return float(self._integral / self._k(0.0) ** 2 / MATERN52_INTEGRAL)

    def decay(self, gaps):
        """Return an upper bound (n,) of the correlation that does not increase with the gap."""
        if isinstance(self._given, Decaying):
            return np.asarray(self._given.decay(gaps), dtype=np.float64)
        later, bounds = self._bounds
        if bounds is None:
            return self._k(gaps) / self._k(0.0)
        return bounds[np.searchsorted(later, gaps, side="right") - 1]

    def mean_square(self, gaps):
        """Return an upper bound (n,) of (k(τ) / k(0))² that does not increase with τ."""
        return self.decay(gaps) ** 2

    # --- nodes ------------------------------------------------------------------------------------

    def _k(self, ages):
        """Return k (...) at ages (...)."""
        # Powers of ages far beyond all scales overflow in kernels that are 0 there.
        with np.errstate(all="ignore"):
            k = self._kernel(np.reshape(ages, (-1, 1)), np.zeros((1, 1)))
        return np.asarray(k, dtype=np.float64).reshape(np.shape(ages))

    @cached_property
    def _bounds(self):
        """Gaps (m,), and the largest correlation (m,) from each on; None if it never increases.

        Nodes resolve the oscillations. Without them, the root of the part of ∫ k² that is left
        does not depend on their phases.
        """
        later = self._nodes(0.0)[0] if self._uses_nodes else self.length_scale * _GAPS
        later = np.concatenate([[0.0], later, later[-1] * _BEYOND])
        k = self._k(later) / self._k(0.0)
        if (np.diff(k) <= _TOLERANCE).all() and k[-1] >= 0.0:
            return later, None
        bounds = np.abs(k)
        if not self._uses_nodes:
            left = [self._integral_from(gap) / self._integral for gap in later]
            bounds = np.maximum(bounds, np.sqrt(np.maximum(left, 0.0)))
        return later, np.maximum.accumulate(bounds[::-1])[::-1]

    @cached_property
    def _oldest(self):
        """Age at which the correlation is lost in rounding."""
        seen = np.abs(self._k(np.exp(_SCAN))) > _PRESENT * np.abs(self._k(0.0))
        return np.inf if seen[-1] else float(np.exp(_SCAN[np.flatnonzero(seen)[-1]]))

    def _nodes(self, present):
        """Return nodes s (q,), weights (q,) and ∫ k² of ages from a present one on.

        Those of the latest present are stored.
        """
        known, nodes = self._latest
        if known != present:
            nodes = self._computed_nodes(present)
            self._latest = present, nodes
        return nodes

    def _computed_nodes(self, present):
        low, high, scale = self._range(present)

        def convolution(s, w):
            Phi = self._k(present + np.add.outer(scale * _AGES, s))
            return (Phi * w) @ Phi.T

        for rule, sizes in ((_over_scales, _FEW), (_equidistant, _MANY), (_over_scales, _MANY)):
            nodes = rule(low, high, scale, sizes[0])
            C = convolution(*nodes)
            for size in sizes[1:]:
                finer = rule(low, high, scale, size)
                C_finer = convolution(*finer)
                if np.abs(C_finer - C).max() <= _TOLERANCE * C_finer[0, 0]:
                    return *nodes, C[0, 0]
                nodes, C = finer, C_finer
        raise self._error(
            f"its convolutions are not determined by {_MANY[-1]} values, as it oscillates "
            "too often before it has decayed. Use a shorter decay, or one that is Matern (nu 0.5, "
            "1.5 or 2.5): its products with ExpSineSquared have closed forms"
        )

    def _range(self, present):
        """Return the ends of log s between which almost all of ∫ k² lies, and ∫ (k / max k)²."""
        s, k = np.exp(_SCAN), self._k(present + np.exp(_SCAN))
        n = len(k) if np.isfinite(k).all() else int(np.argmin(np.isfinite(k)))
        terms, largest = s[:n] * k[:n] ** 2, np.abs(k[:n]).max(initial=0.0)
        if largest == 0.0:
            raise self._error("its values at different times are 0, or not finite")
        least = _OUTSIDE * terms.sum()
        if terms[-_LAST_SCANNED:].sum() > least:
            raise self._error(self._reason(np.abs(k[:n])))
        low = np.argmax(np.cumsum(terms) > least)
        high = n - np.argmax(np.cumsum(terms[::-1]) > least)
        scale = terms.sum() * (_SCAN[1] - _SCAN[0]) / largest**2
        return _SCAN[low], _SCAN[min(high, n - 1)], scale

    def _reason(self, k):
        """Return the reason why ∫ k² does not converge, and advice."""
        before, last = k[-3 * _LAST_SCANNED : -2 * _LAST_SCANNED].max(), k[-_LAST_SCANNED:].max()
        if last > 0.9 * before:
            return (
                "it never forgets, as it has a part that does not decay with time. Multiply that "
                "part by a decay, such as Matern(nu=1.5)"
            )
        return (
            "it decays so slowly that the integral of its square over the future does not "
            "converge, or not within the range of floats. Let it decay faster (RationalQuadratic: "
            "alpha from 0.3 on), or multiply it by a decay, such as Matern(nu=1.5)"
        )

    def _error(self, reason):
        text = f"{self._purpose} is not available for {self._kernel}: {reason}."
        return UnsupportedKernelError(text)


def _without_constants(kernel):
    """Return the constant factors of a kernel as one number, and the kernel without them."""
    if type(kernel) is not Product:
        return 1.0, kernel
    for constant, other in ((kernel.k1, kernel.k2), (kernel.k2, kernel.k1)):
        if type(constant) is ConstantKernel:
            factor, inner = _without_constants(other)
            return constant.constant_value * factor, inner
    return 1.0, kernel


def _over_scales(low, high, scale, n):
    """Return n nodes and weights of s = e^{c + (π/2) sinh x}, with e^c a scale."""
    c, half = np.log(scale), 0.5 * np.pi
    x = np.linspace(*np.arcsinh((np.array([low, high]) - c) / half), n)
    s = np.exp(c + half * np.sinh(x))
    return s, (x[1] - x[0]) * s * half * np.cosh(x)


def _equidistant(low, high, scale, n):
    """Return n nodes and weights of s = l log(1 + e^{x − e^{−x}}), with l a scale."""
    x = np.linspace(-3.5, max(np.exp(high) / scale, 1.0), n)
    z = x - np.exp(-x)
    s, share = scale * np.logaddexp(0.0, z), 1.0 / (1.0 + np.exp(-z))
    return s, (x[1] - x[0]) * scale * share * (1.0 + np.exp(-x))


def future_of(kernel, purpose):
    """Return the future of a kernel in time, in closed form if known, or raise an error.

    Parameters
    ----------
    kernel : Kernel
        Of one column.
    purpose : str
        Subject of errors.

    Returns
    -------
    future : Factor, Composite or Future
        With ``future_convolution``, ``decay``, ``future_basis`` and a lengthscale.

    Raises
    ------
    UnsupportedKernelError
        A kernel that does not decay.
    """
    known = Composite.of(kernel)
    if known is not None and known.decays:
        return known.alone or known
    return Future(kernel, purpose)


def temporal_length_scale(kernel):
    """Return the lengthscale l_T of a temporal kernel, in units of time.

    An effective one, unless the kernel is a single known one: see `Composite.length_scale`.
    """
    future = future_of(kernel, "A temporal lengthscale")
    return float(future.length_scales[0] if isinstance(future, Factor) else future.length_scale)


def with_decaying_bounds(kernel, unit):
    """Return a kernel in time with bounds between which it decays, if it decays at its start.

    A search with other bounds may end where there are no relevancies, such as at a
    ``RationalQuadratic`` with alpha below 0.25. The bounds of each hyperparameter move towards its
    start, with the others held at theirs; pairs of durations, in a unit of time, are unchanged.
    Kernels with closed forms stay the same objects.
    """
    given, kernel = kernel, numeric_durations(kernel, unit or "s")
    known = Composite.of(kernel)
    if (known is not None and known.decays) or not has_future(kernel):
        return given
    new, theta, first = clone(given), kernel.theta, 0
    own, parameters = given.get_params(), kernel.get_params()
    for h in kernel.hyperparameters:
        if h.fixed:
            continue
        bounds = np.log(h.bounds)
        for i, side in np.ndindex(bounds.shape):
            bounds[i, side] = _last_decaying(kernel, theta, first + i, bounds[i, side])
        name = f"{h.name}_bounds"
        is_own = name in parameters and own[name] is parameters[name]
        if is_own and not np.array_equal(bounds, np.log(h.bounds)):
            pairs = [tuple(pair) for pair in np.exp(bounds).tolist()]
            new.set_params(**{name: pairs[0] if len(pairs) == 1 else pairs})
        first += h.n_elements
    return new


def _last_decaying(kernel, theta, i, bound):
    """Return the log of a bound of hyperparameter i, or the nearest where a kernel decays."""

    def decays_at(value):
        moved = theta.copy()
        moved[i] = value
        return has_future(kernel.clone_with_theta(moved))

    if decays_at(bound):
        return bound
    last, wrong, margin = theta[i], bound, np.copysign(_MARGIN, theta[i] - bound)
    while abs(last - wrong) > _MARGIN:
        middle = 0.5 * (last + wrong)
        last, wrong = (middle, wrong) if decays_at(middle) else (last, middle)
    return last if abs(theta[i] - last) < _MARGIN else last + margin


def has_future(kernel):
    """Return True if a kernel in time has a `future_of`."""
    try:
        future_of(kernel, "The future")
    except UnsupportedKernelError:
        return False
    return True
