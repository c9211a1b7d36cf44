"""One kernel of space or of time in the form that compiled code and closed forms take."""

from dataclasses import dataclass
from math import sqrt

import numpy as np
from sklearn.gaussian_process.kernels import Matern

from ._checks import invalid
from ._families import FAMILIES, family_of
from ._fast.gram import Family
from ._limits import LARGEST_X
from .exceptions import UnsupportedKernelError
from .kernels import Forgetting

_NUS = [nu for row in FAMILIES.values() for kind, nu in row.kernels if kind is Matern]
_SUPPORTED = (
    f"RBF, Matern with nu in ({', '.join(f'{nu:g}' for nu in sorted(_NUS))}) and, for time, "
    "Forgetting"
)


@dataclass(frozen=True)
class Factor:
    """A family and its lengthscales: all that a known kernel computes, free of its object.

    Parameters
    ----------
    family : Family
    length_scales : ndarray of shape (d,)
    n_theta : int
        Number of hyperparameters: 0 (fixed), 1 (the largest lengthscale, the others in proportion)
        or d.
    forgetting : bool, default=False
        Whether theta is the logarithm of the rate of a `Forgetting` kernel, not of a lengthscale.
    log_slope : float, default=1.0
        d log l / d theta.
    """

    family: Family
    length_scales: np.ndarray
    n_theta: int
    forgetting: bool = False
    log_slope: float = 1.0

    @classmethod
    def of_rate(cls, epsilon, n_theta):
        """The factor of ``Forgetting(epsilon)``."""
        log_keep = np.log1p(-epsilon)
        # The lengthscale is l = -2 / log(1 - ε), so that d log l / d log ε = ε / ((1-ε) log(1-ε)).
        log_slope = epsilon / ((1.0 - epsilon) * log_keep)
        return cls(Family.MATERN12, np.array([-2.0 / log_keep]), n_theta, True, log_slope)

    def with_theta(self, theta):
        """The same factor with other hyperparameters, theta (n_theta,)."""
        if self.n_theta == 0:
            return self
        if self.forgetting:
            return Factor.of_rate(np.exp(theta[0]), self.n_theta)
        scales = np.exp(theta)
        if self.n_theta == 1:
            scales = self.length_scales / self.length_scales.max() * scales
        return Factor(self.family, scales, self.n_theta)

    @property
    def theta(self):
        """Logarithms (n_theta,) of the lengthscales that are learnt."""
        if self.n_theta == 1:
            return np.log([self.length_scales.max()])
        return np.log(self.length_scales[: self.n_theta])

    @property
    def units(self):
        """What plain coordinates are multiplied by for the compiled code, (d,)."""
        return FAMILIES[self.family].scale / self.length_scales

    def scale(self, X):
        """X (n, d) as (d, n) in the units of the compiled code, C-ordered."""
        with np.errstate(over="ignore"):
            Z = np.multiply(X.T, self.units[:, np.newaxis], order="C")
            length = sqrt(np.einsum("ij,ij->", Z, Z))
        if not length <= 100.0 * LARGEST_X:  # the units and the sum may make it larger
            expected = f"within {LARGEST_X:g} lengthscales of 0"
            raise invalid("X", expected, got=f"a lengthscale of {self.length_scales.min():.3g}")
        return Z

    def fold(self, slopes):
        """Derivatives by log lengthscale (d, ...) as derivatives by theta (n_theta, ...)."""
        if self.n_theta == 0:
            return slopes[:0]
        if len(slopes) == 1:
            return slopes * self.log_slope
        if self.n_theta == 1:
            return np.array([slopes.sum(axis=0) * self.log_slope])
        return slopes


def recognize(kernel, n_dims):
    """The `Factor` of a kernel over ``n_dims`` columns, or None if only its own call will do."""
    family = family_of(kernel)
    if family is None:
        return None
    if family == Family.CONSTANT:
        # The signal variance is the one amplitude that compiled code multiplies by.
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
    if not (np.all(np.isfinite(scales)) and np.all(scales > 0.0)):
        raise invalid("length_scale", "positive and finite", kernel.length_scale, kernel)
    learnt = kernel.hyperparameter_length_scale
    n_theta = 0 if learnt.fixed else learnt.n_elements
    return Factor(family, np.broadcast_to(scales, (n_dims,)).copy(), n_theta)


def recognize_or_raise(kernel, n_dims, purpose):
    """The `Factor` of a stationary kernel with a closed form for ``purpose``, or an error."""
    factor = recognize(kernel, n_dims)
    if factor is None or factor.family == Family.CONSTANT:
        reason = "it never forgets" if factor is not None else "no closed form is known for it"
        raise UnsupportedKernelError(
            f"{purpose} is not available for {kernel}: {reason}. Supported are {_SUPPORTED}."
        )
    return factor


def forgetting_rate(kernel):
    """Rate ε of a `Forgetting` kernel, or of the one that a Matérn 1/2 kernel equals."""
    if isinstance(kernel, Forgetting):
        return kernel.epsilon
    # The lengthscale is l = -2 / log(1 - ε).
    return float(-np.expm1(-2.0 / kernel.length_scale))


def temporal_length_scale(kernel):
    """Lengthscale l_T of a temporal kernel, in units of time."""
    return float(recognize_or_raise(kernel, 1, "A temporal lengthscale").length_scales[0])
