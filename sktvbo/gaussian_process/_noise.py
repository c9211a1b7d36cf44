"""Noise that grows with the age of an observation."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from .._sklearn import BaseEstimator
from .._validation import check_bounds, check_real

if TYPE_CHECKING:
    from typing import Self

    from numpy.typing import ArrayLike

    from .._typing import Array, Bounds

# Weights are at least 1e-130: their reciprocals must not overflow.
_MAX_EXPONENT = 300.0

# Step in theta of finite differences.
_STEP = 1e-5


class NoiseModel(BaseEstimator):
    """Base of the noise models: growth of an observation's noise variance with its age.

    A subclass defines ``ratio(age)``. A constructor parameter is a hyperparameter if there is
    another one with the suffix ``_bounds``: a pair, or "fixed".

    Attributes
    ----------
    intervals : dict of str to str
        Allowed intervals of the hyperparameters of a subclass, such as ``{"discount": "(0, 1]"}``;
        default: positive numbers.
    theta : ndarray of shape (n_theta,)
        Logarithms of the hyperparameters without the fixed ones.
    bounds : ndarray of shape (n_theta, 2)
        Logarithms of their bounds.
    hyperparameter_names : list of str
        Their names.

    Examples
    --------
    >>> from sktvbo.gaussian_process import NoiseModel, TimeVaryingGPRegressor
    >>> class LinearInjection(NoiseModel):
    ...     def __init__(self, rate=1.0, rate_bounds=(1e-3, 1e3)):
    ...         self.rate = rate
    ...         self.rate_bounds = rate_bounds
    ...
    ...     def ratio(self, age):
    ...         return 1.0 + self.rate * age
    >>> gp = TimeVaryingGPRegressor(noise_model=LinearInjection(rate=0.5), optimizer=None)
    >>> gp = gp.fit([[0.1, 0.0], [0.2, 4.0]], [1.0, 2.0])
    >>> LinearInjection(rate=0.5).ratio(gp.now_ - gp.X_train_[:, -1])
    array([3., 1.])
    """

    intervals: ClassVar[dict] = {}

    def ratio(self, age: Array) -> Array:
        """Return the noise variance over σ² at ages (n,) ≥ 0."""
        raise NotImplementedError(f"{type(self).__name__} must define ratio(age).")

    def slopes(self, age: Array) -> Array:
        """Return derivatives (n, n_theta) of the ratio in theta; default: central differences."""
        theta, slopes = self.theta, np.empty((len(age), len(self.theta)))
        for i, step in enumerate(_STEP * np.eye(len(theta))):
            up, down = (self.clone_with_theta(theta + s).ratio(age) for s in (step, -step))
            slopes[:, i] = (up - down) / (2.0 * _STEP)
        return slopes

    @property
    def hyperparameter_names(self) -> list[str]:
        """Names of the learnt parameters."""
        given = self.bounds_by_name().items()
        return [name for name, bounds in given if not isinstance(bounds, str)]

    @property
    def theta(self) -> Array:
        """Logarithms of the hyperparameters, in the order of their names."""
        return np.log([float(getattr(self, name)) for name in self.hyperparameter_names])

    @property
    def bounds(self) -> Array:
        """Logarithms of the lower and upper bounds of the hyperparameters."""
        given = self.bounds_by_name().values()
        bounds = [bounds for bounds in given if not isinstance(bounds, str)]
        return np.log(bounds) if bounds else np.empty((0, 2))

    def bounds_by_name(self) -> dict[str, Bounds]:
        """Return the bounds of all hyperparameters by name, as given.

        Returns
        -------
        bounds : dict of str to pair of floats or "fixed"
        """
        parameters = self.get_params(deep=False)
        named = {name: f"{name}_bounds" for name in parameters}
        return {name: parameters[key] for name, key in named.items() if key in parameters}

    def clone_with_theta(self, theta: ArrayLike) -> Self:
        """Return the same model with other hyperparameters.

        Parameters
        ----------
        theta : ndarray of shape (n_hyperparameters,)
            Their logarithms.

        Returns
        -------
        NoiseModel
        """
        new = copy.copy(self)
        for name, value in zip(self.hyperparameter_names, theta):
            setattr(new, name, float(np.exp(value)))
        return new

    def check(self) -> None:
        """Raise a ValueError if a parameter is invalid."""
        for name, bounds in self.bounds_by_name().items():
            interval = self.intervals.get(name, "(0, inf)")
            high = float(interval[1:-1].split(",")[1])
            check_bounds(bounds, f"{name}_bounds", self, high=high if high < np.inf else None)
            if not isinstance(bounds, str):
                interval = f"({interval[1:]}"  # theta is a logarithm
            check_real(getattr(self, name), name, self, interval=interval)


class QuadraticInjection(NoiseModel):
    """Uncertainty injection: the noise variance of an observation is σ² (1 + rate² age²).

    An old observation is treated as a noisy observation of the present function, with a standard
    deviation that grows linearly with age. Best with a static temporal kernel,
    ``ConstantKernel(1.0, "fixed")``.

    Parameters
    ----------
    rate : float, default=1.0
        Drift of the function per unit of time, in noise standard deviations. 1 is SparQ's eq. (10),
        in steps.
    rate_bounds : pair of floats or "fixed", default="fixed"
        Bounds of the learnt rate; a fixed rate may be 0.

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

    intervals: ClassVar[dict] = {"rate": "[0, inf)"}

    def __init__(self, rate: float = 1.0, rate_bounds: Bounds = "fixed") -> None:
        self.rate = rate
        self.rate_bounds = rate_bounds

    def ratio(self, age: Array) -> Array:
        """Return the noise variance over σ² at ages (n,)."""
        return 1.0 + (self.rate * age) ** 2

    def slopes(self, age: Array) -> Array:
        """Return derivatives of the ratio in theta, (n, n_theta)."""
        return 2.0 * (self.rate * age[:, np.newaxis]) ** 2 * np.ones(len(self.theta))


class GeometricInjection(NoiseModel):
    """Geometric weights: the noise variance of an observation is σ² discount^(-age).

    Weighted Gaussian process regression with weights discount^age (W-GP-UCB). The literature's
    weights discount^(-t) are equivalent, but overflow.

    Parameters
    ----------
    discount : float in (0, 1], default=0.99
        Weight of an observation of age 1.
    discount_bounds : pair of floats in (0, 1] or "fixed", default="fixed"
        Bounds of the learnt discount.

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

    intervals: ClassVar[dict] = {"discount": "(0, 1]"}

    def __init__(self, discount: float = 0.99, discount_bounds: Bounds = "fixed") -> None:
        self.discount = discount
        self.discount_bounds = discount_bounds

    def ratio(self, age: Array) -> Array:
        """Return the noise variance over σ² at ages (n,)."""
        return np.exp(np.minimum(-age * np.log(self.discount), _MAX_EXPONENT))

    def slopes(self, age: Array) -> Array:
        """Return derivatives of the ratio in theta, (n, n_theta)."""
        return -(age * self.ratio(age))[:, np.newaxis] * np.ones(len(self.theta))
