"""The covariance λ k_S ∘ k_T of observations with noise, and its hyperparameters.

`SeparableCovariance` holds the hyperparameters. The matrices come from one of two classes of the
same methods: `_Fused` is compiled code for kernels that it knows, `_General` asks the kernels.
"""

from functools import cached_property
from itertools import accumulate, pairwise

import numpy as np
from sklearn.gaussian_process.kernels import ConstantKernel

from .._fast import cholesky as _cholesky
from .._fast import gram as _gram
from .._fast.gram import Family
from .._validation import invalid, real_array
from ..kernels import Empirical, Separable
from ._cholesky import dot
from ._kernel_families import Factor, recognize, recognize_or_raise

# This is the spatial factor when time is the only column.
_NO_SPACE = Factor(Family.CONSTANT, np.ones(0), 0)

# As a regressor's parameters are called.
_KERNELS = ("spatial_kernel", "temporal_kernel")

# Covariances of points with themselves are computed in blocks of this many points.
_BLOCK = 64

# What a covariance computes when it is first asked for it.
_SAME = ("bounds", "names")  # for all theta
_OWN = ("theta", "_stationary")
_CACHED = (*_OWN, *_SAME)


class SeparableCovariance:
    """λ k_S(x, x') k_T(t, t') with noise variance σ², all hyperparameters in one theta.

    theta is the logarithm of (λ, spatial, temporal, σ², noise model), without those that are fixed
    or not there. Matrices that are symmetric hold their lower triangle only.
    Objects are values: `with_theta` makes another one.

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
        How noise grows with age; None: it does not.
    mean_variance : float, default=0.0
        Prior variance τ² of a constant mean; it is no part of the matrices.
    """

    def __init__(
        self,
        spatial,
        temporal,
        signal_variance,
        noise_variance,
        n_dims,
        noise_model=None,
        mean_variance=0.0,
    ):
        signal, self._signal_bounds = signal_variance
        self.noise_variance, self._noise_bounds = noise_variance
        self.n_dims = n_dims
        self.noise_model = noise_model
        self.mean_variance = mean_variance
        self._product = _product_of(signal, (spatial, temporal), n_dims)
        # theta has parts of these lengths, any of which may be 0.
        self._sizes = [
            int(not isinstance(self._signal_bounds, str)),
            *self._product.sizes,
            int(not isinstance(self._noise_bounds, str)),
            0 if noise_model is None else len(noise_model.theta),
        ]
        self._parts = [slice(*ends) for ends in pairwise(accumulate(self._sizes, initial=0))]

    # --- hyperparameters --------------------------------------------------------------------------

    @property
    def signal_variance(self):
        return self._product.signal

    def __getstate__(self):
        # A copy or a pickle is the same whether or not what is cached was ever asked for.
        return {name: vars(self)[name] for name in vars(self) if name not in _CACHED}

    @cached_property
    def theta(self):
        parts = [
            [np.log(self.signal_variance)],
            *self._product.thetas,
            [np.log(self.noise_variance)],
            [] if self.noise_model is None else self.noise_model.theta,
        ]
        return np.concatenate([p for p, size in zip(parts, self._sizes) if size] or [[]])

    @cached_property
    def bounds(self):
        """Bounds of theta, (n_theta, 2)."""
        signal, *_, noise, _ = self._sizes
        parts = [
            np.log([self._signal_bounds]) if signal else None,
            *[None if kernel is None else kernel.bounds for kernel in self._product.originals],
            np.log([self._noise_bounds]) if noise else None,
            None if self.noise_model is None else self.noise_model.bounds,
        ]
        parts = [p for p, size in zip(parts, self._sizes) if size]
        return np.vstack(parts) if parts else np.empty((0, 2))

    def with_theta(self, theta):
        """The same covariance with other hyperparameters."""
        theta = real_array(theta, "theta")
        if theta.shape != (sum(self._sizes),):
            expected = f"an array of shape ({sum(self._sizes)},)"
            raise invalid("theta", expected, got=f"shape {theta.shape}")
        signal, *kernels, noise, model = [theta[part] for part in self._parts]
        new = object.__new__(type(self))
        for name in _SAME:
            getattr(self, name)
        state = vars(self).copy()
        for name in _OWN:
            state.pop(name, None)
        new.__dict__ = state
        value = float(np.exp(signal[0])) if signal.size else self.signal_variance
        new._product = self._product.with_theta(value, *kernels)
        if noise.size:
            new.noise_variance = float(np.exp(noise[0]))
        if model.size:
            new.noise_model = self.noise_model.clone_with_theta(model)
        return new

    @cached_property
    def names(self):
        """Names of the entries of theta, as in ``set_params``; of ARD lengthscales one each."""
        names = []
        for part, kernel in zip(_KERNELS, self._product.originals):
            for h in () if kernel is None else kernel.hyperparameters:
                names.extend([f"{part}__{h.name}"] * (0 if h.fixed else h.n_elements))
        signal, *_, noise, _ = self._sizes
        model = [] if self.noise_model is None else self.noise_model.hyperparameter_names
        return [
            *["signal_variance"] * signal,
            *names,
            *["noise_variance"] * noise,
            *[f"noise_model__{name}" for name in model],
        ]

    @property
    def spatial(self):
        """The spatial kernel with these hyperparameters; None when time is the only column."""
        return self._product.kernels[0]

    @property
    def temporal(self):
        """The temporal kernel with these hyperparameters."""
        return self._product.kernels[1]

    @property
    def kernel(self):
        """The whole as one scikit-learn kernel, of space and time, time last."""
        factor = self.temporal
        if self.spatial is not None:
            factor = Separable(self.spatial, self.temporal)
        return ConstantKernel(self.signal_variance, "fixed") * factor

    def stationary_factors(self):
        """k_S and k_T in the form that the relevancies need, or an UnsupportedKernelError."""
        return self._stationary

    @cached_property
    def _stationary(self):
        if self.fused and self._product.decays:
            return self._product.factors
        purpose = "The relevancy of observations"
        spatial, temporal = self._product.kernels
        if spatial is None:
            spatial = _NO_SPACE
        elif not isinstance(spatial, Empirical):
            spatial = recognize_or_raise(spatial, self.n_dims, purpose)
        return spatial, recognize_or_raise(temporal, 1, purpose)

    def __str__(self):
        factors = [f"{self.signal_variance:.3g}", self.spatial, self.temporal]
        return " * ".join(str(factor) for factor in factors if factor is not None)

    # --- matrices ---------------------------------------------------------------------------------

    @property
    def fused(self):
        """Whether compiled code makes the matrices."""
        return isinstance(self._product, _Fused)

    @property
    def families(self):
        """Families of both factors, as compiled code calls them; where it is ``fused``."""
        return self._product.families

    def to_scaled(self, S, t):
        """The points S (n, d), t (n,) as the pair that `cross_with_gradient` takes."""
        return self._product.to_scaled(S, t)

    def at_one_time(self, S, t, time):
        """What compiled code takes for places at one time, whatever the temporal kernel is.

        Parameters
        ----------
        S, t : ndarray of shape (n, d) and (n,)
            Points.
        time : float

        Returns
        -------
        factor : Factor
            In space.
        Z : ndarray of shape (d, n)
            Scaled places of the points.
        in_time : ndarray of shape (n,)
            λ k_T of their times and that one.
        variance : float
            Prior variance at that time.

        None if a kernel of space is not compiled.
        """
        factor = _NO_SPACE if self.spatial is None else recognize(self.spatial, self.n_dims)
        if factor is None:
            return None
        times = np.append(t, time)[:, np.newaxis]
        in_time = self.signal_variance * self.temporal(times[:-1], times[-1:])[:, 0]
        variance = self.signal_variance * self.temporal.diag(times[-1:])[0]
        in_time = np.array(in_time, dtype=np.float64)
        return factor, factor.scale(S), in_time, float(variance)

    def units(self):
        """d(scaled) / d(plain) of each coordinate, time last, (d + 1,)."""
        return self._product.units(self.n_dims)

    def gram(self, S, t, out=None):
        """Covariance (n, n) of the points S (n, d), t (n,); lower triangle."""
        return self._product.gram(S, t, out)

    def cross(self, S, t, S2=None, t2=None, out=None):
        """Covariance (n, m) between two sets of points; of one with itself if only one is given.

        Between two sets no point is the same as another: see `white`. Written to ``out`` if given.
        """
        return self._product.cross(S, t, S2, t2, out)

    def row(self, S, t, i):
        """Row i (n,) of `gram`, both triangles."""
        point = S[i : i + 1], t[i : i + 1]
        k = self.cross(*point, S, t)[0]
        k[i] = self.variance(*point)[0]  # which may be `white` in part
        return k

    def variance(self, S, t):
        """Prior variance (n,) of f at the points, the diagonal of `gram`."""
        return self._product.variance(S, t)

    def white(self, S, t):
        """Part (n,) of the prior variance that a row shares with no other, even at the same point.

        It comes from a scikit-learn ``WhiteKernel``: part of `gram` and `variance`, and not of
        `cross` between two sets of points.
        """
        return self._product.white(S, t)

    def variance_with_gradient(self, s, t, moving=None):
        """Prior variance of f at a place s (d,) and time, and its gradient (d + 1,), time last.

        ``moving`` is as in `cross_with_gradient`.
        """
        return self._product.variance_with_gradient(s, t, moving)

    def cross_with_gradient(self, s, t, Z, times, moving=None):
        """Covariance (n,) of a point with others, and its gradient (d + 1, n), time last.

        The place s (d,) and time are plain coordinates times `units`, in which the gradient is as
        well, and (Z, times) is what `to_scaled` returned. Rows of the gradient that ``moving`` (d,)
        excludes may be 0: a kernel may know integers only.
        """
        return self._product.cross_with_gradient(s, t, Z, times, moving)

    # --- sums over derivatives in theta -----------------------------------------------------------

    def gradient(self, S, t, K, P, a):
        """Σ_ij W_ij ∂K_ij/∂theta, W = a aᵀ − P, for the kernel's part of theta.

        K is ``gram(S, t)``; of it and of P (n, n) the lower triangles suffice.
        """
        return self._free(self._product.gradient(S, t, K, P, a))

    def cross_gradient(self, S, t, S2, t2, K, W):
        """Σ_ij W_ij ∂K_ij/∂theta, for the kernel's part of theta.

        K is ``cross(S, t, S2, t2)`` and W weights, both (n, m).
        """
        return self._free(self._product.cross_gradient(S, t, S2, t2, K, W))

    def variance_gradient(self, S, t, w):
        """Σ_i w_i ∂k_ii/∂theta, for the kernel's part of theta."""
        return self._free(self._product.variance_gradient(S, t, w))

    def white_gradient(self, S, t, w):
        """Likewise of `white`."""
        return self._free(self._product.white_gradient(S, t, w))

    def slope_products(self, S, t, K, a):
        """∂K/∂theta a (n_theta, n) for the kernel's part of theta; None where that is not compiled.

        K is ``gram(S, t)``.
        """
        slopes = self._product.slope_products(S, t, K, a)
        return None if slopes is None else self._free(slopes)

    def _free(self, slopes):
        """Derivatives by log λ and the kernels' theta, without the first if λ is fixed."""
        return slopes if self._sizes[0] else slopes[1:]

    # --- noise ------------------------------------------------------------------------------------

    def noise(self, age):
        """Noise variance (n,) of observations of these ages."""
        if self.noise_model is None:
            return np.full(len(age), self.noise_variance)
        return self.noise_variance * self.noise_model.ratio(age)

    def noise_gradient(self, w, age):
        """Σ_i w_i ∂noise_i/∂theta, for the noise's part of theta."""
        *_, noise, model = self._sizes
        on_variance = np.array([dot(w, self.noise(age))] * noise)
        if not model:
            return on_variance
        on_model = [dot(w, slope) for slope in self.noise_model.slopes(age).T]
        return np.append(on_variance, self.noise_variance * np.array(on_model))


def _product_of(signal, kernels, n_dims):
    """The matrices of λ k_S ∘ k_T: compiled if both kernels are known."""
    spatial, temporal = kernels
    in_space = _NO_SPACE if spatial is None else recognize(spatial, n_dims)
    factors = (in_space, recognize(temporal, 1))
    known = all(factor is not None for factor in factors)
    return _Fused(signal, kernels, factors) if known else _General(signal, kernels)


def _with_thetas(kernels, thetas):
    """Kernels with other hyperparameters; those without any stay the same objects."""
    return tuple(
        kernel.clone_with_theta(theta) if theta.size else kernel
        for kernel, theta in zip(kernels, thetas)
    )


class _Fused:
    """λ k_S ∘ k_T of two kernels that compiled code knows.

    It works in coordinates of its own: space (d, n) and time (n,), each over its lengthscale.

    Parameters
    ----------
    signal : float
        λ.
    originals : (Kernel or None, Kernel)
        The kernels that were given, whose hyperparameters other than lengthscales count.
    factors : (Factor, Factor)
        What they compute.
    thetas : (ndarray, ndarray), default=None
        The kernels' theta; None for that of the originals.
    """

    def __init__(self, signal, originals, factors, thetas=None):
        self.signal = signal
        self.originals = originals
        self.factors = factors
        self._thetas = thetas
        self._scaled = None, None, None

    def __getstate__(self):
        # Of the kernels as objects there is no need in a pickle, nor of the latest points.
        state = {name: value for name, value in vars(self).items() if name != "kernels"}
        return state | {"_scaled": (None, None, None)}

    @property
    def sizes(self):
        """Lengths of both parts of theta."""
        return [f.n_theta for f in self.factors]

    @property
    def thetas(self):
        """Both parts of theta, as the kernels would have them."""
        if self._thetas is None:
            return [
                k.theta if f.forgetting else f.theta for k, f in zip(self.originals, self.factors)
            ]
        return [np.log(np.exp(theta)) for theta in self._thetas]

    @property
    def decays(self):
        """Whether neither kernel is a constant, but for that of no space."""
        spatial, temporal = self.factors
        constant = self.originals[0] is not None and spatial.family == Family.CONSTANT
        return not constant and temporal.family != Family.CONSTANT

    def with_theta(self, signal, *thetas):
        factors = tuple(f.with_theta(theta) for f, theta in zip(self.factors, thetas))
        return _Fused(signal, self.originals, factors, thetas)

    @cached_property
    def kernels(self):
        """Both kernels as objects, made when asked for: a search clones none."""
        if self._thetas is None:
            return self.originals
        return _with_thetas(self.originals, self._thetas)

    @property
    def families(self):
        return [f.family for f in self.factors]

    def to_scaled(self, S, t):
        # A likelihood, its gradient and a posterior ask for the same points one after another.
        known_S, known_t, scaled = self._scaled
        if known_S is not S or known_t is not t:
            spatial, temporal = self.factors
            scaled = spatial.scale(S), temporal.scale(t[:, np.newaxis])[0]
            self._scaled = S, t, scaled
        return scaled

    def units(self, n_dims):
        return np.concatenate([f.units for f in self.factors])

    def gram(self, S, t, out=None):
        out = np.empty((len(t), len(t))) if out is None else out
        _gram.gram(*self.to_scaled(S, t), *self.families, self.signal, out)
        return out

    def cross(self, S, t, S2=None, t2=None, out=None):
        one = self.to_scaled(S, t)
        other = one if S2 is None else self.to_scaled(S2, t2)
        out = np.empty((len(one[1]), len(other[1]))) if out is None else out
        _gram.cross_gram(*one, *other, *self.families, self.signal, out)
        return out

    def variance(self, S, t):
        return np.full(len(t), self.signal)

    def white(self, S, t):
        return np.zeros(len(t))

    def variance_with_gradient(self, s, t, moving):
        return self.signal, np.zeros(len(s) + 1)

    def cross_with_gradient(self, z, u, Z, times, moving):
        n = len(times)
        k, dk = np.empty(n), np.empty((len(z) + 1, n))
        _gram.cross_with_gradient(z, u, Z, times, *self.families, self.signal, k, dk)
        return k, dk

    def gradient(self, S, t, K, P, a):
        Z, u = self.to_scaled(S, t)
        slopes = np.empty(len(Z) + 2)
        _gram.contract_gradient(Z, u, *self.families, K, P, a, slopes)
        return self._folded(slopes)

    def slope_products(self, S, t, K, a):
        Z, u = self.to_scaled(S, t)
        slopes = np.empty((len(Z) + 2, len(u)))
        _gram.slope_products(Z, u, *self.families, K, a, slopes)
        return self._folded(slopes)

    def cross_gradient(self, S, t, S2, t2, K, W):
        Z, u = self.to_scaled(S, t)
        slopes = np.empty(len(Z) + 2)
        slopes[0] = np.einsum("ij,ij->", W, K)
        other = self.to_scaled(S2, t2)
        _gram.contract_cross_gradient(Z, u, *other, *self.families, K, W, slopes[1:])
        return self._folded(slopes)

    def variance_gradient(self, S, t, w):
        return np.append(dot(w, self.variance(S, t)), np.zeros(sum(self.sizes)))

    def white_gradient(self, S, t, w):
        return np.zeros(1 + sum(self.sizes))

    def _folded(self, slopes):
        """Derivatives by log λ and log lengthscales, (d + 2, ...), as derivatives by theta."""
        spatial, temporal = self.factors
        return np.concatenate([slopes[:1], spatial.fold(slopes[1:-1]), temporal.fold(slopes[-1:])])


class _General:
    """λ k_S ∘ k_T of any two kernels, by their own calls and by differences.

    Coordinates stay plain: space (n, d) and time (n,). The kernels may return any layout and
    precision.

    Parameters
    ----------
    signal : float
        λ.
    kernels : (Kernel or None, Kernel)
    """

    def __init__(self, signal, kernels):
        self.signal = signal
        self.kernels = self.originals = kernels

    @property
    def sizes(self):
        """Lengths of both parts of theta."""
        return [0 if k is None else k.n_dims for k in self.kernels]

    @property
    def thetas(self):
        """Both parts of theta."""
        return [np.empty(0) if kernel is None else kernel.theta for kernel in self.kernels]

    def with_theta(self, signal, *thetas):
        return _General(signal, _with_thetas(self.kernels, thetas))

    def to_scaled(self, S, t):
        return S, t

    def units(self, n_dims):
        return np.ones(n_dims + 1)

    def gram(self, S, t, out=None):
        return self.cross(S, t, out=out)

    def cross(self, S, t, S2=None, t2=None, out=None):
        spatial, temporal = self.kernels
        K = self.signal * temporal(t[:, np.newaxis], None if t2 is None else t2[:, np.newaxis])
        K = K if spatial is None else K * spatial(S, S2)
        if out is None:
            return np.ascontiguousarray(K, dtype=np.float64)
        out[:] = K
        return out

    def variance(self, S, t):
        spatial, temporal = self.kernels
        variance = self.signal * temporal.diag(t[:, np.newaxis])
        return variance if spatial is None else variance * spatial.diag(S)

    def white(self, S, t):
        variance, shared = self.variance(S, t), np.empty(len(t))
        for first in range(0, len(t), _BLOCK):
            block = slice(first, first + _BLOCK)
            points = S[block], t[block]
            shared[block] = self.cross(*points, *points).diagonal()
        return np.maximum(variance - shared, 0.0)

    def variance_with_gradient(self, s, t, moving):
        points, times, steps, rows = _stencil(s, t, moving)
        variances = self.variance(points, times)
        return variances[0], _differences(variances, steps, rows, len(s) + 1)

    def cross_with_gradient(self, s, t, Z, times, moving):
        points, at, steps, rows = _stencil(s, t, moving)
        K = self.cross(points, at, Z, times)
        return K[0], _differences(K, steps, rows, len(s) + 1)

    def gradient(self, S, t, K, P, a):
        spatial, temporal = self.kernels
        _cholesky.symmetrize(P)
        W = np.outer(a, a) - P
        total = np.sum(W * K)
        K_T, slope_T = temporal(t[:, np.newaxis], eval_gradient=True)
        if spatial is None:
            K_S, slope_S = 1.0, np.empty((len(t), len(t), 0))
        else:
            K_S, slope_S = spatial(S, eval_gradient=True)
        W *= self.signal
        on_space = np.einsum("ij,ijk->k", W * K_T, slope_S)
        on_time = np.einsum("ij,ijk->k", W * K_S, slope_T)
        return np.concatenate([[total], on_space, on_time])

    def slope_products(self, S, t, K, a):
        return None

    def cross_gradient(self, S, t, S2, t2, K, W):
        slopes = self._theta_slopes(lambda c: np.einsum("ij,ij->", W, c.cross(S, t, S2, t2)))
        return np.append(np.einsum("ij,ij->", W, K), slopes)

    def variance_gradient(self, S, t, w):
        return self._diagonal_gradient(lambda c: dot(w, c.variance(S, t)))

    def white_gradient(self, S, t, w):
        return self._diagonal_gradient(lambda c: dot(w, c.white(S, t)))

    def _diagonal_gradient(self, function):
        """Derivatives of a function that is proportional to λ."""
        return np.append(function(self), self._theta_slopes(function))

    def _theta_slopes(self, function):
        """Central differences of a function of the covariance in the kernels' theta.

        scikit-learn's kernels give no gradient between two sets of points.
        """
        theta = np.concatenate([[] if k is None else k.theta for k in self.kernels])
        split, h = self.sizes[:1], np.cbrt(np.finfo(float).eps)
        slopes = []
        for step in h * np.eye(len(theta)):
            thetas = (np.split(theta + s, split) for s in (step, -step))
            up, down = (function(self.with_theta(self.signal, *pair)) for pair in thetas)
            slopes.append((up - down) / (2.0 * h))
        return np.array(slopes)


def _stencil(point, time, moving=None):
    """A point (d,) with two neighbours in each direction that moves, and a later one.

    scikit-learn's kernels give no derivative in the points. Also returned are the steps, and which
    rows of the gradient they give. In time there is a step forward only: a kernel may not know the
    times before.
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
    """Derivatives (n_rows, ...) from the values at a stencil's points; 0 but for ``rows``."""
    d = len(steps) - 1
    central = (values[1 : d + 1] - values[d + 1 : -1]) / 2.0
    forward = values[-1:] - values[:1]
    slopes = np.zeros((n_rows, *values.shape[1:]))
    slopes[rows] = (np.concatenate([central, forward]).T / steps).T
    return slopes
