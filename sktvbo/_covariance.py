"""The covariance λ k_S ∘ k_T and its hyperparameters: fused where both kernels are known."""

import copy

import numpy as np
from sklearn.gaussian_process.kernels import ConstantKernel

from ._fast import cholesky as _cholesky
from ._fast import gram as _gram
from ._fast.gram import Family
from ._solvers import dot
from .kernels import Empirical, Factor, Separable, recognize, recognize_or_raise


class SeparableCovariance:
    """λ k_S(x, x') k_T(t, t') with noise variance σ², all hyperparameters in one theta.

    theta is the logarithm of (λ, spatial, temporal, σ², noise model), fixed ones left out. Matrices
    that are symmetric hold their lower triangle only. Objects are values: ``with_theta`` makes
    another one.

    Parameters
    ----------
    spatial : Kernel or None
        None when time is the only column.
    temporal : Kernel
    signal_variance, noise_variance : (float, bounds)
        Bounds are a pair or "fixed".
    n_dims : int
        Number of spatial columns.
    noise_model : QuadraticInjection or GeometricInjection, default=None
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
        self._kernels = (spatial, temporal)
        self.signal_variance, self._signal_bounds = signal_variance
        self.noise_variance, self._noise_bounds = noise_variance
        self.n_dims = n_dims
        self.noise_model = noise_model
        self.mean_variance = mean_variance
        if spatial is None:
            spatial_factor = Factor(Family.CONSTANT, np.ones(0), 0)
        else:
            spatial_factor = recognize(spatial, n_dims)
        temporal_factor = recognize(temporal, 1)
        self.fused = spatial_factor is not None and temporal_factor is not None
        self._factors = (spatial_factor, temporal_factor) if self.fused else None

    # --- hyperparameters ---------------------------------------------------------------------

    @property
    def _sizes(self):
        """Lengths of the five parts of theta."""
        if self.fused:
            spatial, temporal = (f.n_theta for f in self._factors)
        else:
            spatial, temporal = (0 if k is None else k.n_dims for k in self._kernels)
        fixed = [b is None or isinstance(b, str) for b in (self._signal_bounds, self._noise_bounds)]
        model = 0 if self.noise_model is None else len(self.noise_model.theta)
        return [int(not fixed[0]), spatial, temporal, int(not fixed[1]), model]

    @property
    def theta(self):
        parts = [
            [np.log(self.signal_variance)],
            [] if self.spatial is None else self.spatial.theta,
            self.temporal.theta,
            [np.log(self.noise_variance)],
            [] if self.noise_model is None else self.noise_model.theta,
        ]
        return np.concatenate([p for p, size in zip(parts, self._sizes) if size] or [[]])

    @property
    def bounds(self):
        """Bounds of theta, (n_theta, 2)."""
        spatial, temporal = self._kernels
        parts = [
            np.log([self._signal_bounds]) if self._sizes[0] else None,
            None if spatial is None else spatial.bounds,
            temporal.bounds,
            np.log([self._noise_bounds]) if self._sizes[3] else None,
            None if self.noise_model is None else self.noise_model.bounds,
        ]
        parts = [p for p, size in zip(parts, self._sizes) if size]
        return np.vstack(parts) if parts else np.empty((0, 2))

    def with_theta(self, theta):
        """The same covariance with other hyperparameters."""
        theta = np.asarray(theta, dtype=np.float64)
        sizes = self._sizes
        if theta.shape != (sum(sizes),):
            raise ValueError(f"theta must have shape ({sum(sizes)},). Got {theta.shape}.")
        signal, spatial, temporal, noise, model = np.split(theta, np.cumsum(sizes)[:-1])
        new = copy.copy(self)
        if model.size:
            new.noise_model = self.noise_model.clone_with_theta(model)
        if signal.size:
            new.signal_variance = float(np.exp(signal[0]))
        if noise.size:
            new.noise_variance = float(np.exp(noise[0]))
        if self.fused:
            # Kernel objects are costly to clone: `spatial` and `temporal` make them when asked.
            new._factors = tuple(
                f.with_theta(p) for f, p in zip(self._factors, (spatial, temporal))
            )
            new._pending = (spatial, temporal)
        else:
            new._kernels = tuple(
                k if k is None else k.clone_with_theta(p)
                for k, p in zip(self._kernels, (spatial, temporal))
            )
        return new

    @property
    def names(self):
        """Names of the entries of theta, as in ``set_params``; of ARD lengthscales one each."""
        names = []
        for part, kernel in zip(("spatial_kernel", "temporal_kernel"), self._kernels):
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

    _pending = None

    def _materialize(self):
        if self._pending is not None:
            self._kernels = tuple(
                k if k is None or not p.size else k.clone_with_theta(p)
                for k, p in zip(self._kernels, self._pending)
            )
            self._pending = None
        return self._kernels

    @property
    def spatial(self):
        """The spatial kernel with these hyperparameters; None when time is the only column."""
        return self._materialize()[0]

    @property
    def temporal(self):
        """The temporal kernel with these hyperparameters."""
        return self._materialize()[1]

    @property
    def kernel(self):
        """λ k_S ∘ k_T as one scikit-learn kernel, of space and time, time last."""
        spatial, temporal = self._materialize()
        factor = temporal if spatial is None else Separable(spatial, temporal)
        return ConstantKernel(self.signal_variance, "fixed") * factor

    # --- matrices ----------------------------------------------------------------------------

    def to_scaled(self, S, t):
        return self.scale(S, t) if self.fused else (S, t)

    def units(self):
        if not self.fused:
            return np.ones(self.n_dims + 1)
        Z, u = self.scale(np.ones((1, self.n_dims)), np.ones(1))
        return np.append(Z[:, 0], u)

    def scale(self, S, t):
        """Coordinates in the units of the compiled code: (d, n) and (n,)."""
        spatial, temporal = self._factors
        return spatial.scale(S), temporal.scale(t[:, np.newaxis])[0]

    @property
    def _families(self):
        spatial, temporal = self._factors
        return spatial.family, temporal.family, self.signal_variance

    def gram(self, S, t, out=None):
        """Covariance (n, n) of the points S (n, d), t (n,); lower triangle."""
        if self.fused:
            out = np.empty((len(t), len(t))) if out is None else out
            _gram.gram(*self.scale(S, t), *self._families, out)
            return out
        return self.cross(S, t)

    def cross(self, S, t, S2=None, t2=None, out=None):
        """Covariance (n, m) between two sets of points, of one with itself if only one is given.

        Written to ``out`` if given.
        """
        if self.fused:
            Z, u = self.scale(S, t)
            Z2, u2 = (Z, u) if S2 is None else self.scale(S2, t2)
            out = np.empty((len(u), len(u2))) if out is None else out
            _gram.cross_gram(Z, u, Z2, u2, *self._families, out)
            return out
        K = self.signal_variance * self.temporal(
            t[:, np.newaxis], None if t2 is None else t2[:, np.newaxis]
        )
        K = K if self.spatial is None else K * self.spatial(S, S2)
        # A kernel of the user's may return any layout and precision.
        if out is None:
            return np.ascontiguousarray(K, dtype=np.float64)
        out[:] = K
        return out

    def variance(self, S, t):
        """Prior variance (n,) of f at the points."""
        if self.fused:
            return np.full(len(t), self.signal_variance)
        variance = self.signal_variance * self.temporal.diag(t[:, np.newaxis])
        return variance if self.spatial is None else variance * self.spatial.diag(S)

    def variance_with_gradient(self, s, t, moving=None):
        """Prior variance of f at a place s (d,) and time, and its gradient (d + 1,), time last.

        ``moving`` is as in ``cross_with_gradient``.
        """
        if self.fused:
            return self.signal_variance, np.zeros(len(s) + 1)
        points, times, steps, rows = _stencil(s, t, moving)
        variances = self.variance(points, times)
        return variances[0], _differences(variances, steps, rows, len(s) + 1)

    def noise(self, age):
        """Noise variance (n,) of observations of these ages; none where the age is NaN."""
        ratio = np.ones(len(age)) if self.noise_model is None else self.noise_model.ratio(age)
        return self.noise_variance * np.where(np.isnan(age), 0.0, ratio)

    def noise_gradient(self, w, age):
        """Σ_i w_i ∂noise_i/∂theta, for the noise's part of theta."""
        *_, noise, model = self._sizes
        on_variance = [dot(w, self.noise(age))] * noise
        if not model:
            return np.array(on_variance)
        slopes = np.where(np.isnan(age), 0.0, self.noise_model.slopes(age)[:, 0])
        return np.append(on_variance, self.noise_variance * dot(w, slopes))

    def gradient(self, S, t, age, K, P, a):
        """Σ_ij W_ij ∂Δ_ij/∂theta, W = a aᵀ − P, Δ = K + diag(noise): (n_theta,).

        K is ``gram(S, t)``, P the inverse of Δ, a = P y; lower triangles suffice.
        """
        signal, *_ = self._sizes
        if self.fused:
            slopes = np.empty(self.n_dims + 2)
            families = self._families[:2]
            _gram.contract_gradient(*self.scale(S, t), *families, K, P, a, slopes)
            inner = [f.fold(s) for f, s in zip(self._factors, (slopes[1:-1], slopes[-1:]))]
            total = slopes[0]
        else:
            _cholesky.symmetrize(P)
            W = np.outer(a, a) - P
            total = np.sum(W * K)
            K_T, slope_T = self.temporal(t[:, np.newaxis], eval_gradient=True)
            if self.spatial is None:
                K_S, slope_S = 1.0, np.empty((len(t), len(t), 0))
            else:
                K_S, slope_S = self.spatial(S, eval_gradient=True)
            W *= self.signal_variance
            inner = [
                np.einsum("ij,ijk->k", W * K_T, slope_S),
                np.einsum("ij,ijk->k", W * K_S, slope_T),
            ]
        on_noise = self.noise_gradient(a * a - np.diagonal(P), age)
        return np.concatenate([[total] * signal, *inner, on_noise])

    def cross_gradient(self, S, t, S2, t2, K, W):
        """Σ_ij W_ij ∂K_ij/∂theta, for the kernel's part of theta.

        K is ``cross(S, t, S2, t2)`` and W weights, both (n, m).
        """
        signal, spatial, temporal, *_ = self._sizes
        total = np.einsum("ij,ij->", W, K)
        if self.fused:
            slopes = np.empty(self.n_dims + 1)
            _gram.contract_cross_gradient(
                *self.scale(S, t), *self.scale(S2, t2), *self._families[:2], K, W, slopes
            )
            inner = [f.fold(g) for f, g in zip(self._factors, (slopes[:-1], slopes[-1:]))]
            return np.concatenate([[total] * signal, *inner])
        return np.concatenate(
            [
                [total] * signal,
                self._theta_differences(
                    lambda c: np.einsum("ij,ij->", W, c.cross(S, t, S2, t2)),
                    range(signal, signal + spatial + temporal),
                ),
            ]
        )

    def variance_gradient(self, S, t, w):
        """Σ_i w_i ∂k_ii/∂theta; the kernel's part of theta."""
        signal, spatial, temporal, *_ = self._sizes
        total = [dot(w, self.variance(S, t))] * signal
        if self.fused:
            return np.append(total, np.zeros(spatial + temporal))
        entries = range(signal, signal + spatial + temporal)
        slopes = self._theta_differences(lambda c: dot(w, c.variance(S, t)), entries)
        return np.append(total, slopes)

    def _theta_differences(self, function, entries):
        """Central differences in some entries of theta.

        scikit-learn's kernels give no gradient between two sets of points.
        """
        theta, h = self.theta, np.cbrt(np.finfo(float).eps)
        slopes = []
        for i in entries:
            step = h * np.eye(len(theta))[i]
            up, down = (function(self.with_theta(theta + s)) for s in (step, -step))
            slopes.append((up - down) / (2.0 * h))
        return np.array(slopes)

    def cross_with_gradient(self, x, u, Z, times, moving=None):
        """Covariance (n,) of a point with (Z, times), and its gradient (d + 1, n) in the point.

        All coordinates are ``scale``d when ``fused``, plain otherwise; time is the last row. Rows
        of coordinates that ``moving`` (d,) excludes may be 0: a kernel may know integers only.
        """
        if self.fused:
            n, d = len(times), self.n_dims
            k, dk = np.empty(n), np.empty((d + 1, n))
            _gram.cross_with_gradient(x, u, Z, times, *self._families, k, dk)
            return k, dk
        points, at, steps, rows = _stencil(x, u, moving)
        K = self.cross(points, at, Z, times)
        return K[0], _differences(K, steps, rows, len(x) + 1)

    def stationary_factors(self):
        """Both kernels in the form that the relevancies need, or an UnsupportedKernelError."""
        purpose = "The relevancy of observations"
        if isinstance(self.spatial, Empirical):
            return self.spatial, recognize_or_raise(self.temporal, 1, purpose)
        static = [f.family == Family.CONSTANT for f in self._factors or ()]
        if self.fused and not static[1] and (self.n_dims == 0 or not static[0]):
            return self._factors
        if self.spatial is not None:
            recognize_or_raise(self.spatial, self.n_dims, purpose)
        recognize_or_raise(self.temporal, 1, purpose)
        raise AssertionError("one of the two kernels is not supported")

    def __str__(self):
        factors = [f"{self.signal_variance:.3g}", self.spatial, self.temporal]
        return " * ".join(str(f) for f in factors if f is not None)


# scikit-learn's kernels give no derivative in the points.
def _stencil(point, time, moving=None):
    """A point (d,) with two neighbours in each direction that moves, and a later one.

    Also the steps, and which rows of the gradient they give. Later only: a kernel may not know the
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
