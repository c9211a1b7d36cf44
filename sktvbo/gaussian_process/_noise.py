"""Noise that grows with the age of an observation."""

import copy
from numbers import Real

import numpy as np
from sklearn.base import BaseEstimator

# Weights below 1e-130 are nothing; their reciprocals must not overflow.
_MAX_EXPONENT = 300.0


class _Injection(BaseEstimator):
    """A model with one hyperparameter, of which theta is the logarithm.

    ``ratio(age)`` (n,) multiplies the noise variance; ``slopes(age)`` (n, n_theta) are its
    derivatives in theta.
    """

    _parameter = None  # name of the hyperparameter
    _highest = np.inf
    _zero_when_fixed = False

    @property
    def _value(self):
        return getattr(self, self._parameter)

    @property
    def _bounds(self):
        return getattr(self, f"{self._parameter}_bounds")

    @property
    def fixed(self):
        return isinstance(self._bounds, str) and self._bounds == "fixed"

    @property
    def hyperparameter_names(self):
        """Names of the hyperparameters that are not fixed."""
        return [] if self.fixed else [self._parameter]

    @property
    def theta(self):
        return np.empty(0) if self.fixed else np.log([self._value])

    @property
    def bounds(self):
        return np.empty((0, 2)) if self.fixed else np.log([self._bounds])

    def clone_with_theta(self, theta):
        """The same model with another hyperparameter."""
        new = copy.copy(self)
        if len(theta):
            setattr(new, self._parameter, float(np.exp(theta[0])))
        return new

    def check(self):
        """Raise a ValueError unless the parameters make sense."""
        value, most = self._value, f" and at most {self._highest:g}" * (self._highest < np.inf)
        zero = self._zero_when_fixed and self.fixed and value == 0
        if (
            not isinstance(value, Real)
            or not (zero or 0.0 < value < np.inf)
            or value > self._highest
        ):
            raise ValueError(
                f"The '{self._parameter}' parameter of {type(self).__name__} must be positive{most}"
                f"{' (or 0, when fixed)' * self._zero_when_fixed}. Got {value!r} instead."
            )
        if self.fixed:
            return
        pair = np.asarray(self._bounds)
        if (
            pair.shape != (2,)
            or pair.dtype.kind not in "iuf"
            or not 0.0 < pair[0] <= pair[1] < np.inf
            or pair[1] > self._highest
        ):
            raise ValueError(
                f"The '{self._parameter}_bounds' parameter of {type(self).__name__} must be "
                f"'fixed' or a pair 0 < low <= high{most}. Got {self._bounds!r} instead."
            )


class QuadraticInjection(_Injection):
    """Uncertainty injection: the noise variance of an observation is σ² (1 + rate² age²).

    What was seen a while ago is taken for a noisy observation of the present function, with a
    standard deviation that grows linearly with age. Best with a static temporal kernel,
    ``ConstantKernel(1.0, "fixed")``.

    Parameters
    ----------
    rate : float, default=1.0
        Drift rate, in 1 / time: noise standard deviations by which the function moves in a unit of
        time. 1 is SparQ's eq. (10), in steps.
    rate_bounds : pair of floats or "fixed", default="fixed"
        Bounds of the search when the rate is learnt from data.

    References
    ----------
    E. Mauduit, E. Berthier, A. Simonetto, "Time-varying Gaussian Process Bandit Optimization with
    Experts" (SparQ), equation 10.

    Examples
    --------
    >>> import numpy as np
    >>> from sktvbo.gaussian_process import QuadraticInjection
    >>> QuadraticInjection(rate=0.5).ratio(np.array([0.0, 2.0, 4.0]))
    array([1., 2., 5.])
    """

    _parameter = "rate"
    _zero_when_fixed = True

    def __init__(self, rate=1.0, rate_bounds="fixed"):
        self.rate = rate
        self.rate_bounds = rate_bounds

    def ratio(self, age):
        """Noise variance over σ² at ages (n,)."""
        return 1.0 + (self.rate * age) ** 2

    def slopes(self, age):
        """Derivatives of the ratio in theta, (n, n_theta)."""
        slopes = 2.0 * (self.rate * age[:, np.newaxis]) ** 2
        return slopes[:, :0] if self.fixed else slopes


class GeometricInjection(_Injection):
    """Geometric weights: the noise variance of an observation is σ² discount^(-age).

    Weighted Gaussian process regression with weights discount^age (W-GP-UCB). Ages, never the
    absolute weights discount^(-t) of the literature, which overflow.

    Parameters
    ----------
    discount : float in (0, 1], default=0.99
        Weight that is left after a unit of time.
    discount_bounds : pair of floats in (0, 1] or "fixed", default="fixed"
        Bounds of the search when the discount is learnt from data.

    References
    ----------
    Y. Deng, X. Zhou, B. Kim, A. Tewari, A. Gupta, N. Shroff, "Weighted Gaussian Process Bandits for
    Non-stationary Environments", AISTATS 2022.

    Examples
    --------
    >>> import numpy as np
    >>> from sktvbo.gaussian_process import GeometricInjection
    >>> GeometricInjection(discount=0.5).ratio(np.array([0.0, 1.0, 2.0]))
    array([1., 2., 4.])
    """

    _parameter = "discount"
    _highest = 1.0

    def __init__(self, discount=0.99, discount_bounds="fixed"):
        self.discount = discount
        self.discount_bounds = discount_bounds

    def ratio(self, age):
        """Noise variance over σ² at ages (n,)."""
        return np.exp(np.minimum(-age * np.log(self.discount), _MAX_EXPONENT))

    def slopes(self, age):
        """Derivatives of the ratio in theta, (n, n_theta)."""
        slopes = -(age * self.ratio(age))[:, np.newaxis]
        return slopes[:, :0] if self.fixed else slopes
