"""Covariance λ k_S ∘ k_T of observations with noise, and its hyperparameters.

`SeparableCovariance` holds the hyperparameters. Its matrices come from a subclass:
`CompiledCovariance` for kernels that have compiled code and their sums in time,
`ProductCovariance` for products in time as well, `GenericCovariance` for all others.
"""

import copy
from abc import ABC, abstractmethod
from functools import cached_property, partial
from itertools import accumulate, pairwise
from typing import ClassVar

import numpy as np
from sklearn.gaussian_process.kernels import ConstantKernel

from .._fast import cholesky as _cholesky
from .._fast import gram as _gram
from .._fast.gram import Family
from .._fast.sums import Sum as CompiledSum
from .._validation import invalid, real_array
from ..kernels import Empirical, Separable
from ._cholesky import dot
from ._composite import (
    SHORTEST_PERIODIC,
    Amplitude,
    Circle,
    Composite,
    summands,
)
from ._future import future_of, temporal_length_scale
from ._kernel_families import Factor, hyperparameters, is_like, recognize, recognize_or_raise

# Spatial factor when time is the only column.
_NO_SPACE = Factor(Family.CONSTANT, np.ones(0), 0)

# Prefixes of the kernels' hyperparameters, as in the parameters of a regressor.
_KERNELS = ("spatial_kernel", "temporal_kernel", "level_kernel")

# Covariances of points with themselves are computed in blocks of this many points.
_BLOCK = 64

# Values computed on demand, which are no part of the state: for one theta, and for all.
_FOR_THETA = (
    "theta",
    "temporal_length_scale",
    "_varying",
    "stationary_factors",
    "pair",
    "_kernels",
    "_compiled",
)
_ON_DEMAND = (*_FOR_THETA, "bounds", "names", "_learnt")


class SeparableCovariance(ABC):
    """λ k_S(x, x') k_T(t, t') with noise variance σ², all hyperparameters in one theta.

    With a level the covariance is λ (k_S k_T + k_L), with k_L(t, t') the covariance in time of the
    part that all inputs share. theta is the logarithm of (λ, spatial, temporal, level, σ², noise
    model), without those that are fixed or absent. Symmetric matrices have only their lower
    triangle filled in. Objects are values: `with_theta` returns another one, `of` makes the first.

    Attributes
    ----------
    signal_variance, noise_variance : float
        λ and σ².
    n_dims : int
        Number of spatial columns.
    noise_model : NoiseModel or None
    mean_variance : float
        Prior variance τ² of a constant mean; not part of the matrices.
    pair : (Factor, Factor) or None
        Factors of a compiled kernel in space and a single one in time.
    """

    pair = None

    # Lower bounds, as given, of the learnt lengthscales of ``ExpSineSquared`` in time, by name.
    periodic_bounds: ClassVar[dict] = {}

    def __init__(self, kernels, signal, noise, n_dims, noise_model, mean_variance):
        self.signal_variance, self._signal_bounds = signal
        self.noise_variance, self._noise_bounds = noise
        self.n_dims = n_dims
        self.noise_model = noise_model
        self.mean_variance = mean_variance
        self._given = kernels
        # Lengths of the parts of theta, any of which may be 0.
        self._sizes = [
            int(not isinstance(self._signal_bounds, str)),
            *map(len, self._kernel_thetas()),
            int(not isinstance(self._noise_bounds, str)),
            0 if noise_model is None else len(noise_model.theta),
        ]
        self._parts = [slice(*ends) for ends in pairwise(accumulate(self._sizes, initial=0))]

    @staticmethod
    def of(
        spatial,
        temporal,
        signal_variance,
        noise_variance,
        n_dims,
        noise_model=None,
        mean_variance=0.0,
        level=None,
    ):
        """Return a compiled covariance if all kernels have compiled code, else the generic one.

        Parameters
        ----------
        spatial : Kernel or None
            None when time is the only column.
        temporal : Kernel
        signal_variance, noise_variance : (float, bounds)
            Bounds are a pair or "fixed".
        n_dims : int
            Number of spatial columns.
        noise_model : NoiseModel, default=None
            Growth of the noise with age; None: constant noise.
        mean_variance : float, default=0.0
            Prior variance τ² of a constant mean.
        level : Kernel, default=None
            k_L; None: 0.

        Returns
        -------
        SeparableCovariance
        """
        kernels = (spatial, temporal) if level is None else (spatial, temporal, level)
        rest = (kernels, signal_variance, noise_variance, n_dims, noise_model, mean_variance)
        in_space = _NO_SPACE if spatial is None else recognize(spatial, n_dims)
        in_time = None if in_space is None else Composite.of(temporal, level)
        if in_time is None:
            return GenericCovariance(*rest)
        kind = ProductCovariance if in_time.families is None else CompiledCovariance
        kind = PairCovariance if in_time.alone is not None else kind
        if in_space.embedding is not None:
            if kind is not PairCovariance:
                return GenericCovariance(*rest)
            kind = EmbeddedCovariance
        return kind((in_space, in_time), *rest)

    def __getstate__(self):
        return {name: value for name, value in vars(self).items() if name not in _ON_DEMAND}

    # --- hyperparameters --------------------------------------------------------------------------

    @property
    @abstractmethod
    def _kernels(self):
        """Spatial kernel or None, temporal kernel, and that of a level if there is one."""

    def with_shortest_periodic(self, length_scale):
        """Return the same covariance with a lower bound for periodic lengthscales."""
        return self

    @abstractmethod
    def _kernel_thetas(self):
        """Return the parts of theta in space, and in time with that of the level."""

    @abstractmethod
    def _set_kernel_thetas(self, spatial, temporal):
        """Set the parts of theta in space and in time, in a new object."""

    @cached_property
    def theta(self):
        signal, *_, noise, _ = self._sizes
        on_signal, on_noise = np.log([[self.signal_variance], [self.noise_variance]])
        model = [] if self.noise_model is None else self.noise_model.theta
        return np.concatenate([on_signal[:signal], *self._kernel_thetas(), on_noise[:noise], model])

    @cached_property
    def _learnt(self):
        """Hyperparameters of the given kernels."""
        return [hyperparameters(kernel) for kernel in self._given]

    @cached_property
    def bounds(self):
        """Bounds of theta, (n_theta, 2)."""
        kernels, model = [h.bounds for h in self._learnt], self.noise_model
        parts = [_logarithms(self._signal_bounds), *kernels, _logarithms(self._noise_bounds)]
        return np.concatenate(parts if model is None else [*parts, model.bounds])

    @cached_property
    def names(self):
        """Names of the entries of theta, as in ``set_params``; one for each ARD lengthscale."""
        names = [f"{part}__{name}" for part, h in zip(_KERNELS, self._learnt) for name in h.names]
        signal, *_, noise, _ = self._sizes
        model = [] if self.noise_model is None else self.noise_model.hyperparameter_names
        return [
            *["signal_variance"] * signal,
            *names,
            *["noise_variance"] * noise,
            *[f"noise_model__{name}" for name in model],
        ]

    def with_theta(self, theta):
        """Return the same covariance with other hyperparameters."""
        theta = real_array(theta, "theta")
        if theta.shape != (sum(self._sizes),):
            expected = f"an array of shape ({sum(self._sizes)},)"
            raise invalid("theta", expected, got=f"shape {theta.shape}")
        signal, *kernels, noise, model = [theta[part] for part in self._parts]
        new = object.__new__(type(self))
        # Bounds and names are computed once for all theta.
        new.__dict__ = {**vars(self), "bounds": self.bounds, "names": self.names}
        for name in _FOR_THETA:
            new.__dict__.pop(name, None)
        new._set_kernel_thetas(*kernels)
        if signal.size:
            new.signal_variance = float(np.exp(signal[0]))
        if noise.size:
            new.noise_variance = float(np.exp(noise[0]))
        if model.size:
            new.noise_model = self.noise_model.clone_with_theta(model)
        return new

    def with_kernels(self, spatial, temporal, n_dims, level=None):
        """Return the same covariance with other kernels, of ``n_dims`` columns of space."""
        return self.of(
            spatial,
            temporal,
            (self.signal_variance, self._signal_bounds),
            (self.noise_variance, self._noise_bounds),
            n_dims,
            self.noise_model,
            self.mean_variance,
            level,
        )

    def with_temporal(self, temporal):
        """Return the covariance of the kernels as given, with another temporal one."""
        space, _, *level = self._given
        return self.with_kernels(space, temporal, self.n_dims, *level)

    @property
    def varying(self):
        """Covariance of the part of f that depends on space: without a level."""
        return self if self.level is None else self._varying

    @cached_property
    def _varying(self):
        return self.with_kernels(self.spatial, self.temporal, self.n_dims)

    def terms(self):
        """Return covariances whose sum this is: one for each term of temporal kernel and level."""
        parts = [(self.spatial, term) for term in summands(self.temporal)]
        if self.level is not None:
            parts += [(self._constant_in_space, term) for term in summands(self.level)]
        return [self.with_kernels(*part, self.n_dims) for part in parts]

    @property
    def _constant_in_space(self):
        return None if self.spatial is None else ConstantKernel(1.0, "fixed")

    @property
    def of_level(self):
        """Covariance of the level alone, which must exist."""
        return self.with_kernels(self._constant_in_space, self.level, self.n_dims)

    @property
    def spatial(self):
        """Spatial kernel with these hyperparameters; None when time is the only column."""
        return self._kernels[0]

    @property
    def temporal(self):
        """Temporal kernel with these hyperparameters."""
        return self._kernels[1]

    @property
    def level(self):
        """Kernel in time of the level with these hyperparameters, or None."""
        return self._kernels[2] if len(self._kernels) > 2 else None

    @property
    def kernel(self):
        """The product as one scikit-learn kernel of space and time, time last."""
        factor = self.temporal
        if self.spatial is not None:
            factor = Separable(self.spatial, self.temporal)
        if self.level is not None:
            factor = factor + Separable(ConstantKernel(1.0, "fixed"), self.level)
        return ConstantKernel(self.signal_variance, "fixed") * factor

    @cached_property
    def stationary_factors(self):
        """k_S and k_T in the form that relevancies need, or an UnsupportedKernelError.

        A level is left out: it has no effect on a choice among inputs.
        """
        purpose = "The relevancy of observations"
        spatial, temporal, *_ = self._kernels
        if spatial is None:
            spatial = _NO_SPACE
        elif not isinstance(spatial, Empirical):
            spatial = recognize_or_raise(spatial, self.n_dims, purpose)
        return spatial, future_of(temporal, purpose)

    @cached_property
    def temporal_length_scale(self):
        """Lengthscale l_T of the temporal kernel, see `_future.temporal_length_scale`."""
        return temporal_length_scale(self.temporal)

    def __str__(self):
        factors = [f"{self.signal_variance:.3g}", self.spatial, self.temporal]
        product = " * ".join(str(factor) for factor in factors if factor is not None)
        return product if self.level is None else f"{product} + {factors[0]} * {self.level}"

    # --- matrices ---------------------------------------------------------------------------------

    @abstractmethod
    def to_scaled(self, S, t):
        """Return points S (n, d), t (n,) as the pair that `cross_with_gradient` takes."""

    @abstractmethod
    def units(self):
        """Return d(scaled) / d(plain) of each coordinate, time last, (d + 1,)."""

    @abstractmethod
    def gram(self, S, t, out=None):
        """Return the covariance (n, n) of points S (n, d), t (n,); lower triangle."""

    @abstractmethod
    def cross(self, S, t, S2=None, t2=None, out=None):
        """Return the covariance (n, m) between two sets of points, or of one with itself.

        No point of the first set equals one of the second: see `white`. Written to ``out`` if
        given.
        """

    @abstractmethod
    def variance(self, S, t):
        """Return the prior variance (n,) of f at the points, the diagonal of `gram`."""

    @abstractmethod
    def white(self, S, t):
        """Return the part (n,) of the prior variance that a row shares with no other row.

        It comes from a scikit-learn ``WhiteKernel``: part of `gram` and `variance`, but not of
        `cross` between two sets of points, even at the same point.
        """

    @abstractmethod
    def variance_with_gradient(self, s, t, moving=None):
        """Return the prior variance of f at s (d,) and t, and its gradient (d + 1,), time last.

        ``moving`` is as in `cross_with_gradient`.
        """

    @abstractmethod
    def cross_with_gradient(self, s, t, Z, times, moving=None):
        """Return the covariance (n,) of a point with others, and its gradient (d + 1, n).

        s (d,) and t are plain coordinates times `units`, and the gradient is in these, time last.
        (Z, times) is a result of `to_scaled`. Rows of the gradient that ``moving`` (d,) excludes
        may be 0: a kernel may be defined at integers only.
        """

    def row(self, S, t, i):
        """Return row i (n,) of `gram`, both triangles."""
        point = S[i : i + 1], t[i : i + 1]
        k = self.cross(*point, S, t)[0]
        k[i] = self.variance(*point)[0]  # includes `white`
        return k

    def at_one_time(self, S, t, time):
        """Return arguments of ``_fast.posterior`` for inputs at one time, for any temporal kernel.

        Parameters
        ----------
        S, t : ndarray of shape (n, d) and (n,)
            Points.
        time : float

        Returns
        -------
        families : (Family, Family)
            In space and in time.
        units : ndarray of shape (d,)
            Units of the spatial kernel.
        basis : (Z, times)
            Scaled space (d, n) and times (n,) of the points.
        time : float
        variance : float
            Prior variance at that time.
        options : dict
            Further arguments by name.

        None if the spatial kernel has no compiled code, or with a level.
        """
        if self.level is not None:
            return None
        factor = _NO_SPACE if self.spatial is None else recognize(self.spatial, self.n_dims)
        if factor is None or factor.embedding is not None:
            return None
        times = np.append(t, time)[:, np.newaxis]
        in_time = self.signal_variance * self.temporal(times[:-1], times[-1:])[:, 0]
        variance = self.signal_variance * self.temporal.diag(times[-1:])[0]
        options = {"in_time": np.array(in_time, dtype=np.float64)}
        families, basis = (factor.family, Family.CONSTANT), (factor.scale(S), np.zeros(len(t)))
        return families, factor.units, basis, 0.0, float(variance), options

    def moving(self, S, t, time):
        """Return the same as `at_one_time` for all times from ``time`` on, or None."""
        return None

    # --- sums over derivatives in theta -----------------------------------------------------------

    @abstractmethod
    def gradient(self, S, t, K, P, a):
        """Return Σ_ij W_ij ∂K_ij/∂theta, W = a aᵀ − P, for λ's and the kernels' part of theta.

        K is ``gram(S, t)``, or None; K and P (n, n) need only their lower triangles.
        """

    @abstractmethod
    def cross_gradient(self, S, t, S2, t2, K, W):
        """Return Σ_ij W_ij ∂K_ij/∂theta, for λ's and the kernels' part of theta.

        K is ``cross(S, t, S2, t2)`` and W weights, both (n, m).
        """

    @abstractmethod
    def variance_gradient(self, S, t, w):
        """Return Σ_i w_i ∂k_ii/∂theta, for λ's and the kernels' part of theta."""

    @abstractmethod
    def white_gradient(self, S, t, w):
        """Return Σ_i w_i ∂white_i/∂theta, for λ's and the kernels' part of theta."""

    @abstractmethod
    def slope_products(self, S, t, K, a):
        """Return ∂K/∂theta a (n_theta, n) for λ's and the kernels' part of theta.

        K is ``gram(S, t)``. None without compiled code.
        """

    # --- noise ------------------------------------------------------------------------------------

    def noise(self, age):
        """Return the noise variance (n,) of observations of these ages."""
        if self.noise_model is None:
            return np.full(len(age), self.noise_variance)
        return self.noise_variance * self.noise_model.ratio(age)

    def noise_gradient(self, w, age):
        """Return Σ_i w_i ∂noise_i/∂theta, for the noise's part of theta."""
        *_, noise, model = self._sizes
        on_variance = np.array([dot(w, self.noise(age))] * noise)
        if not model:
            return on_variance
        on_model = [dot(w, slope) for slope in self.noise_model.slopes(age).T]
        return np.append(on_variance, self.noise_variance * np.array(on_model))


def _logarithms(bounds):
    """Return the logarithms (1, 2) of a pair of bounds, none (0, 2) of "fixed"."""
    return np.empty((0, 2)) if isinstance(bounds, str) else np.log([bounds])


def _with_thetas(kernels, thetas):
    """Return kernels with other hyperparameters; kernels without any stay the same objects."""
    return tuple(
        kernel.clone_with_theta(theta) if theta.size else kernel
        for kernel, theta in zip(kernels, thetas)
    )


class CompiledCovariance(SeparableCovariance):
    """Covariance of a compiled kernel in space and a `Composite` in time, without products in time.

    All terms are computed in one pass. Space (d, n) is scaled by its lengthscales, times are plain.

    Parameters
    ----------
    factors : (Factor, Composite)
        Kernels in space and in time. See `SeparableCovariance.of` for the other parameters.
    """

    _shortest_periodic = SHORTEST_PERIODIC

    def __init__(self, factors, *rest):
        self.factors = factors
        self._thetas = None
        self._scaled = None, None, None
        super().__init__(*rest)

    def __getstate__(self):
        return super().__getstate__() | {"_scaled": (None, None, None)}

    # --- hyperparameters --------------------------------------------------------------------------

    def _kernel_thetas(self):
        if self._thetas is None:
            space, *time = (h.theta for h in self._learnt)
            return [space, np.concatenate(time)]
        return [np.log(np.exp(theta)) for theta in self._thetas]  # rounded as in the kernels

    def _set_kernel_thetas(self, *thetas):
        (spatial, temporal), (on_space, on_time) = self.factors, thetas
        self.factors = spatial.with_theta(on_space), temporal.with_theta(on_time)
        self._thetas = thetas
        self._scaled = None, None, None

    @cached_property
    def _kernels(self):
        # Made on demand: a search clones no kernels.
        if self._thetas is None:
            return self._given
        space, time = self._thetas
        parts = np.split(time, np.cumsum([len(h.theta) for h in self._learnt[1:-1]]))
        return _with_thetas(self._given, [space, *parts])

    @cached_property
    def bounds(self):
        bounds = super().bounds.copy()
        part = self._parts[2]
        bounds[part] = self.factors[1].clipped(bounds[part], self._shortest_periodic)
        return bounds

    @property
    def periodic_bounds(self):
        names = self.names[self._parts[2]]
        bounds = np.exp(np.concatenate([h.bounds for h in self._learnt[1:]]))
        temporal = self.factors[1]
        pairs = zip(temporal.leaves, temporal.slices)
        learnt = [part.start for leaf, part in pairs if isinstance(leaf, Circle) and leaf.learnt[0]]
        return {names[i]: bounds[i, 0] for i in learnt}

    def with_temporal(self, temporal):
        space, known, *level = self._given
        if not is_like(temporal, known):
            return super().with_temporal(temporal)
        new, (on_space, _, *on_level) = copy.copy(self), self._learnt
        new._given, new._thetas = (space, temporal, *level), None
        new._learnt = [on_space, hyperparameters(temporal), *on_level]
        new._set_kernel_thetas(*new._kernel_thetas())
        return new

    def with_shortest_periodic(self, length_scale):
        new = copy.copy(self)
        vars(new).pop("bounds", None)
        new._shortest_periodic = length_scale
        return new

    @cached_property
    def stationary_factors(self):
        spatial, temporal = self.factors[0], self.factors[1].varying
        is_constant = self._given[0] is not None and spatial.family == Family.CONSTANT
        if is_constant or not temporal.decays:
            return super().stationary_factors  # an error that names the kernel
        return spatial, temporal.alone or temporal

    @cached_property
    def temporal_length_scale(self):
        temporal = self.factors[1].varying
        if not temporal.decays:
            return super().temporal_length_scale  # an error that names the kernel
        return temporal.length_scale

    # --- matrices ---------------------------------------------------------------------------------

    @cached_property
    def _compiled(self):
        spatial, temporal = self.factors
        weights = self.signal_variance * temporal.amplitudes
        terms = temporal.families, temporal.rates, weights, temporal.n_shared
        return CompiledSum(spatial.family, *terms)

    def _points(self, S, t):
        """Return the result of `_scale`, stored for the latest points."""
        # A likelihood, its gradient and a posterior scale the same points one after another.
        known_S, known_t, points = self._scaled
        if known_S is not S or known_t is not t:
            points = self._scale(S, t)
            self._scaled = S, t, points
        return points

    def _scale(self, S, t):
        """Return scaled space (d, n), and times (n,)."""
        return self.factors[0].scale(S), np.ascontiguousarray(t)

    def _write(self, one, other, out):
        """Write the covariance between two results of `_points` to ``out``, and return it.

        ``other``: None for the lower triangle between the same points.
        """
        if other is None:
            self._compiled.gram(*one, out)
        else:
            self._compiled.cross_gram(*one, *other, out)
        return out

    def to_scaled(self, S, t):
        return self._points(S, t)[0], t

    def units(self):
        return np.append(self.factors[0].units, 1.0)

    def gram(self, S, t, out=None):
        out = np.empty((len(t), len(t))) if out is None else out
        return self._write(self._points(S, t), None, out)

    def cross(self, S, t, S2=None, t2=None, out=None):
        one = self._points(S, t)
        other = one if S2 is None else self._points(S2, t2)
        out = np.empty((len(one[1]), len(other[1]))) if out is None else out
        return self._write(one, other, out)

    def row(self, S, t, i):
        Z, t = self._points(S, t)
        point = Z[:, i : i + 1].copy(), t[i : i + 1]
        return self._write(point, (Z, t), np.empty((1, len(t))))[0]

    def variance(self, S, t):
        return np.full(len(t), self.signal_variance * self.factors[1].variance)

    def white(self, S, t):
        return np.zeros(len(t))

    def variance_with_gradient(self, s, t, moving=None):
        return self.signal_variance * self.factors[1].variance, np.zeros(len(s) + 1)

    def cross_with_gradient(self, s, t, Z, times, moving=None):
        k, dk = np.empty(len(times)), np.empty((len(s) + 1, len(times)))
        self._compiled.cross_with_gradient(s, t, Z, times, k, dk)
        return k, dk

    def at_one_time(self, S, t, time):
        spatial, temporal = self.factors
        if temporal.n_shared:
            return None
        in_time, _ = temporal.row_with_slope(time, t)
        options = {"in_time": self.signal_variance * in_time}
        variance = self.signal_variance * temporal.variance
        families = spatial.family, Family.CONSTANT
        basis = self._points(S, t)[0], np.zeros(len(t))
        return families, spatial.units, basis, 0.0, variance, options

    def moving(self, S, t, time):
        spatial, temporal = self.factors
        if temporal.n_shared:
            return None
        terms = temporal.families, temporal.rates, self.signal_variance * temporal.amplitudes
        variance = self.signal_variance * temporal.variance
        families = spatial.family, Family.CONSTANT
        return families, spatial.units, self._points(S, t), time, variance, {"terms": terms}

    # --- sums over derivatives in theta -----------------------------------------------------------

    def gradient(self, S, t, K, P, a):
        return self._in_theta(self._compiled.contract_gradient, *self._points(S, t), P, a)

    def slope_products(self, S, t, K, a):
        return self._in_theta(self._compiled.slope_products, *self._points(S, t), a, n=(len(a),))

    def cross_gradient(self, S, t, S2, t2, K, W):
        points = *self._points(S, t), *self._points(S2, t2)
        return self._in_theta(self._compiled.contract_cross_gradient, *points, W)

    def _in_theta(self, contract, Z, t, *rest, n=()):
        """Return derivatives in theta (n_theta, *n) of a compiled function of points."""
        (spatial, temporal), end = self.factors, 1 + len(Z)
        slopes = np.empty((end + 2 * len(temporal.terms), *n))
        contract(Z, t, *rest, slopes)
        on_space, on_time = spatial.fold(slopes[1:end]), temporal.fold(slopes[end:])
        return np.concatenate([slopes[: self._sizes[0]], on_space, on_time])

    def variance_gradient(self, S, t, w):
        on_variance = w.sum() * self.signal_variance
        gradient = np.zeros(sum(self._sizes[:3]))
        gradient[self._parts[0]] = on_variance * self.factors[1].variance
        gradient[self._parts[2]] = on_variance * self.factors[1].variance_slopes
        return gradient

    def white_gradient(self, S, t, w):
        return np.zeros(sum(self._sizes[:3]))


class PairCovariance(CompiledCovariance):
    """Compiled covariance of two known kernels, with a single exponential for both."""

    @cached_property
    def pair(self):
        return self.factors[0], self.factors[1].alone

    @property
    def _families(self):
        spatial, temporal = self.pair
        return spatial.family, temporal.family

    @cached_property
    def _compiled(self):
        rates, weights = np.ones(1), np.array([self.signal_variance])
        return CompiledSum(self._families[0], self.factors[1].families, rates, weights, 0)

    def _scale(self, S, t):
        """Return space (d, n) and time (n,), each over its lengthscale."""
        spatial, temporal = self.pair
        return spatial.scale(S), temporal.scale(t[:, np.newaxis])[0]

    def to_scaled(self, S, t):
        return self._points(S, t)

    def units(self):
        return np.concatenate([factor.units for factor in self.pair])

    def _write(self, one, other, out):
        rest = *self._families, self.signal_variance, out
        _gram.gram(*one, *rest) if other is None else _gram.cross_gram(*one, *other, *rest)
        return out

    def at_one_time(self, S, t, time):
        spatial, temporal = self.pair
        basis, time = self._points(S, t), time * temporal.units[0]
        return self._families, spatial.units, basis, time, self.signal_variance, {}

    def moving(self, S, t, time):
        return self.at_one_time(S, t, time)

    def gradient(self, S, t, K, P, a):
        K = self.gram(S, t) if K is None else K
        return self._folded(_gram.contract_gradient, S, t, K, P, a)

    def slope_products(self, S, t, K, a):
        return self._folded(_gram.slope_products, S, t, K, a, n=(len(a),))

    def _folded(self, contract, S, t, *rest, n=()):
        """Return derivatives in theta (n_theta, *n) of a compiled function of points."""
        (spatial, temporal), points = self.pair, self._points(S, t)
        slopes = np.empty((2 + len(points[0]), *n))
        contract(*points, *self._families, *rest, slopes)
        on_signal, on_space, on_time = slopes[: self._sizes[0]], slopes[1:-1], slopes[-1:]
        return np.concatenate([on_signal, spatial.fold(on_space), temporal.fold(on_time)])


class ProductCovariance(CompiledCovariance):
    """Covariance of a compiled kernel in space and a `Composite` with products in time.

    Matrices are sums of terms, which are products of compiled ones; those of `gram` have a zero
    upper triangle.
    """

    def _scale(self, S, t):
        """Return scaled space (d, n), a constant (n,), and coordinates (c, n) of the leaves."""
        spatial, temporal = self.factors
        leaves = [None if isinstance(k, Amplitude) else k.points(t) for k in temporal.leaves]
        return spatial.scale(S), np.zeros(len(t)), leaves

    def _factors_of(self, r, points):
        """Return (points, families) of the pairs of factors whose product is term r.

        The first pair is space and a `Factor`, the others are a leaf each and a constant.
        """
        (spatial, temporal), (Z, constant, leaves) = self.factors, points
        _, first, others = temporal.roles[r]
        space = spatial.family
        if r >= len(temporal.terms) - temporal.n_shared:
            Z, space = np.empty((0, len(constant))), Family.CONSTANT
        coordinate, family = constant, Family.CONSTANT
        if first is not None:
            coordinate, family = leaves[first][0], temporal.leaves[first].family
        others = [
            ((leaves[i], constant), (temporal.leaves[i].family, Family.CONSTANT)) for i in others
        ]
        return [((Z, coordinate), (space, family)), *others]

    def _term(self, r, points, other, out):
        """Write term r to ``out``; its lower triangle if ``other`` points are None."""
        signal = self.signal_variance * self.factors[1].amplitudes[r]
        factors = self._factors_of(r, points)
        others = factors if other is None else self._factors_of(r, other)
        for i, ((one, families), (two, _)) in enumerate(zip(factors, others)):
            last = *families, signal if i == 0 else 1.0, out, i > 0
            _gram.gram(*one, *last) if other is None else _gram.cross_gram(*one, *two, *last)
        return out

    def _write(self, one, other, out):
        if other is None:
            out.fill(0.0)
        self._term(0, one, other, out)
        for r in range(1, len(self.factors[1].terms)):
            out += self._term(r, one, other, np.zeros_like(out))
        return out

    row = SeparableCovariance.row

    def cross_with_gradient(self, s, t, Z, times, moving=None):
        n, families = len(times), (self.factors[0].family, Family.CONSTANT)
        k, dk, still = np.empty(n), np.empty((len(s) + 1, n)), np.zeros(n)
        _gram.cross_with_gradient(s, 0.0, Z, still, *families, self.signal_variance, k, dk)
        in_time, slope = self.factors[1].varying.row_with_slope(t, times)
        dk *= in_time
        dk[-1] = k * slope
        level, level_slope = self.factors[1].shared.row_with_slope(t, times)
        dk[-1] += self.signal_variance * level_slope
        return k * in_time + self.signal_variance * level, dk

    def moving(self, S, t, time):
        return None

    def gradient(self, S, t, K, P, a):
        K = self.gram(S, t) if K is None else K
        return self._slopes(_contraction(_gram.contract_gradient, P, a), K, (S, t))

    def slope_products(self, S, t, K, a):
        contract = _contraction(_gram.slope_products, a, n=(len(a),))
        return self._slopes(contract, K, (S, t))

    def cross_gradient(self, S, t, S2, t2, K, W):
        def contract(points, families, K):
            slopes = np.empty(len(points[0]) + 2)
            slopes[0] = np.einsum("ij,ij->", W, K)
            _gram.contract_cross_gradient(*points, *families, K, W, slopes[1:])
            return slopes

        return self._slopes(contract, K, (S, t), (S2, t2))

    def _slopes(self, contract, K, one, other=None):
        """Return derivatives in theta of a linear function of the matrix K between points.

        ``contract`` (points, families, K) returns those (d + 2, ...) in log λ and log lengthscales,
        for ``points`` of rows, and of columns if these are others.
        """
        (spatial, temporal), points = self.factors, self._points(*one)
        points2 = None if other is None else self._points(*other)
        times = one[1], one[1] if other is None else other[1]
        on_space, on_leaves = 0.0, [0.0] * len(temporal.leaves)
        for r, term in enumerate(temporal.terms):
            K_r = K
            if len(temporal.terms) > 1:
                K_r = self._term(r, points, points2, np.zeros_like(K))
            factors = self._factors_of(r, points)
            if other is not None:
                both = zip(factors, self._factors_of(r, points2))
                factors = [((*one, *two), families) for (one, families), (two, _) in both]
            slopes = contract(*factors[0], K_r)
            if r < len(temporal.terms) - temporal.n_shared:
                on_space = on_space + slopes[:-1]
            else:
                on_space[0] += slopes[0]
            _, first, others = temporal.roles[r]
            for i in term:
                leaf = temporal.leaves[i]
                if i == first:
                    on_leaf = leaf.fold(slopes[-1:])
                elif i in others:
                    where = factors[1 + others.index(i)]
                    on_leaf = leaf.slopes(partial(contract, *where), K_r, *times)
                else:
                    on_leaf = slopes[: leaf.n_theta]
                on_leaves[i] = on_leaves[i] + on_leaf
        on_signal = on_space[: self._sizes[0]]
        return np.concatenate([on_signal, spatial.fold(on_space[1:]), *on_leaves])


def _contraction(function, *weights, n=()):
    """Return the ``contract`` of `ProductCovariance._slopes` of a compiled function."""

    def contract(points, families, K):
        slopes = np.empty((len(points[0]) + 2, *n))
        function(*points, *families, K, *weights, slopes)
        return slopes

    return contract


class PlainCoordinates:
    """Point functions of a covariance in plain coordinates: gradients are finite differences."""

    def to_scaled(self, S, t):
        return S, t

    def units(self):
        return np.ones(self.n_dims + 1)

    def variance_with_gradient(self, s, t, moving=None):
        points, times, steps, rows = _stencil(s, t, moving)
        variances = self.variance(points, times)
        return variances[0], _differences(variances, steps, rows, len(s) + 1)

    def cross_with_gradient(self, s, t, Z, times, moving=None):
        points, at, steps, rows = _stencil(s, t, moving)
        K = self.cross(points, at, Z, times)
        return K[0], _differences(K, steps, rows, len(s) + 1)


class EmbeddedCovariance(PlainCoordinates, PairCovariance):
    """Covariance of two known kernels, of which the spatial one maps inputs to other points."""

    def at_one_time(self, S, t, time):
        return None


class GenericCovariance(PlainCoordinates, SeparableCovariance):
    """Covariance of any two kernels, by calls of the kernels and by finite differences.

    Coordinates stay plain: space (n, d) and time (n,). The kernels may return any layout and
    precision.
    """

    @property
    def _kernels(self):
        return self._given

    def _kernel_thetas(self):
        space, *time = [np.empty(0) if k is None else k.theta for k in self._given]
        return [space, np.concatenate(time)]

    def _set_kernel_thetas(self, space, time):
        parts = np.split(time, [self._given[1].n_dims])
        self._given = _with_thetas(self._given, [space, *parts])

    def gram(self, S, t, out=None):
        return self.cross(S, t, out=out)

    def cross(self, S, t, S2=None, t2=None, out=None):
        spatial, temporal, *level = self._given
        times = t[:, np.newaxis], None if t2 is None else t2[:, np.newaxis]
        K = self.signal_variance * temporal(*times)
        K = K if spatial is None else K * spatial(S, S2)
        for kernel in level:
            K = K + self.signal_variance * kernel(*times)
        if out is None:
            return np.ascontiguousarray(K, dtype=np.float64)
        out[:] = K
        return out

    def variance(self, S, t):
        spatial, temporal, *level = self._given
        variance = temporal.diag(t[:, np.newaxis])
        variance = variance if spatial is None else variance * spatial.diag(S)
        shared = sum(kernel.diag(t[:, np.newaxis]) for kernel in level)
        return self.signal_variance * (variance + shared)

    def white(self, S, t):
        variance, shared = self.variance(S, t), np.empty(len(t))
        for first in range(0, len(t), _BLOCK):
            block = slice(first, first + _BLOCK)
            points = S[block], t[block]
            shared[block] = self.cross(*points, *points).diagonal()
        return np.maximum(variance - shared, 0.0)

    def gradient(self, S, t, K, P, a):
        spatial, temporal, *level = self._given
        _cholesky.symmetrize(P)
        W, K = np.outer(a, a) - P, self.gram(S, t) if K is None else K
        on_signal = [np.sum(W * K)] * self._sizes[0]
        K_T, slope_T = temporal(t[:, np.newaxis], eval_gradient=True)
        if spatial is None:
            K_S, slope_S = 1.0, np.empty((len(t), len(t), 0))
        else:
            K_S, slope_S = spatial(S, eval_gradient=True)
        W *= self.signal_variance
        on_space = np.einsum("ij,ijk->k", W * K_T, slope_S)
        on_time = np.einsum("ij,ijk->k", W * K_S, slope_T)
        slopes = [kernel(t[:, np.newaxis], eval_gradient=True)[1] for kernel in level]
        on_level = [np.einsum("ij,ijk->k", W, slope) for slope in slopes]
        return np.concatenate([on_signal, on_space, on_time, *on_level])

    def slope_products(self, S, t, K, a):
        return None

    def cross_gradient(self, S, t, S2, t2, K, W):
        value = np.einsum("ij,ij->", W, K)
        return self._differentiate(lambda c: np.einsum("ij,ij->", W, c.cross(S, t, S2, t2)), value)

    def variance_gradient(self, S, t, w):
        return self._differentiate(lambda c: dot(w, c.variance(S, t)))

    def white_gradient(self, S, t, w):
        return self._differentiate(lambda c: dot(w, c.white(S, t)))

    def _differentiate(self, function, value=None):
        """Return derivatives in log λ and theta of a function that is proportional to λ.

        In theta these are central differences: scikit-learn's kernels give no gradient between two
        sets of points. ``value`` is that of the function here, if known.
        """
        theta = np.concatenate(self._kernel_thetas())
        split, h = self._sizes[1:2], np.cbrt(np.finfo(float).eps)
        slopes = [function(self) if value is None else value] * self._sizes[0]
        for step in h * np.eye(len(theta)):
            values = []
            for moved in (theta + step, theta - step):
                new = copy.copy(self)
                new._set_kernel_thetas(*np.split(moved, split))
                values.append(function(new))
            slopes.append((values[0] - values[1]) / (2.0 * h))
        return np.array(slopes)


def _stencil(point, time, moving=None):
    """Return a point (d,) with two neighbours in each moving direction, and a later point.

    scikit-learn's kernels give no derivative in the points. Also returned are the steps, and the
    rows of the gradient that they give. In time there is a forward step only: a kernel may not be
    defined at earlier times.
    """
    rows = np.flatnonzero(np.ones(len(point), dtype=bool) if moving is None else moving)
    steps = np.cbrt(np.finfo(float).eps) * np.maximum(1.0, np.abs(point[rows]))
    step = np.sqrt(np.finfo(float).eps) * max(1.0, abs(time))
    moves = np.zeros((len(rows), len(point)))
    moves[np.arange(len(rows)), rows] = steps
    points = np.vstack([point, point + moves, point - moves, point])
    times = np.append(np.full(len(points) - 1, time), time + step)
    return points, times, np.append(steps, step), np.append(rows, len(point))


def _differences(values, steps, rows, n_rows):
    """Return derivatives (n_rows, ...) from values at a stencil's points; 0 outside ``rows``."""
    d = len(steps) - 1
    central = (values[1 : d + 1] - values[d + 1 : -1]) / 2.0
    forward = values[-1:] - values[:1]
    slopes = np.zeros((n_rows, *values.shape[1:]))
    slopes[rows] = (np.concatenate([central, forward]).T / steps).T
    return slopes
