"""Base class of problems: an objective over domain x [0, horizon], its noise and its optimum."""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import qmc

from .._validation import (
    check_random_state,
    check_real,
    invalid_domain,
    invalid_observation,
    real_array,
)
from ..acquisition._objective import ScipyClimber
from ..acquisition._optimize import search
from ..domain import FiniteSet, as_domain
from ..exceptions import InvalidObservationError

if TYPE_CHECKING:
    from .._typing import Array, PointLike, PointsLike, RandomState

# A step begins this much early, which absorbs the rounding errors of a clock's ticks.
STEP_SLACK = 1e-9


def seed_of_function(random_state):
    """Return the seed of a random objective, independent of the stream of the noise."""
    return check_random_state(random_state).randint(np.iinfo(np.int32).max)


def numeric_maximum(values, domain, *, log2_samples=12, n_starts=8):
    """Maximize a vectorised function over a domain.

    A finite set, or a domain of at most 2**log2_samples members, is enumerated. In others a Sobol
    set is searched, and the best points are improved by L-BFGS-B and by steps of integers and
    categories: reliable for smooth functions with a few dozen maxima.

    Parameters
    ----------
    values : callable, (n, d) -> (n,)
    domain : Box, FiniteSet or ParameterSpace
    log2_samples : int, default=12
        Logarithm of the number of Sobol points.
    n_starts : int, default=8
        Number of points that are improved.

    Returns
    -------
    ndarray of shape (d,)
    """

    def unit_values(U):
        return values(domain.from_unit(U))

    space, candidates = domain.search_space(), domain.candidates(2**log2_samples)
    return domain.from_unit(search(ScipyClimber(unit_values), space, candidates, n_starts))


def by_parts(values, X, t, size):
    """Apply ``values(X, times)`` to parts of X and t, with arrays of ``size`` entries per row.

    Parameters
    ----------
    values : callable, (n, d) and (n,) or (1,) -> (n,)
    X : ndarray of shape (n, d)
    t : float or ndarray of shape (n,)
    size : int

    Returns
    -------
    ndarray of shape (n,)
    """
    n_parts = 1 + len(X) * size // 2**20  # arrays of at most about as many entries
    times = [np.atleast_1d(t)] * n_parts if np.ndim(t) == 0 else np.array_split(t, n_parts)
    return np.concatenate([values(x, s) for x, s in zip(np.array_split(X, n_parts), times)])


class Problem:
    """An objective f(x, t) to be maximized over x while the time t passes.

    A subclass defines ``_values(X, t)``, vectorised, and may define ``_argmax(t)``, the exact
    maximizer; both receive validated arguments. One with measured limits sets the attribute
    ``outcome_constraints``, and defines ``_outcomes(X, t)``, a dict of arrays.

    Parameters
    ----------
    name : str
    domain : Box, FiniteSet, ParameterSpace or any form that `sktvbo.domain.as_domain` accepts
    horizon : float
        End of the problem, which starts at time 0, in any unit.
    noise_variance : float, default=0.0
        Variance of the Gaussian noise that `observe` adds, in squared units of f.
    random_state : int, RandomState, Generator or None, default=None
        Random state of the noise.

    Attributes
    ----------
    name, domain, horizon, noise_variance
        As given; ``domain`` is a Box, a FiniteSet or a ParameterSpace.

    Raises
    ------
    ValueError
        An invalid horizon or noise variance.
    DomainError
        An invalid domain, or one with a context.

    Examples
    --------
    >>> import numpy as np
    >>> from sktvbo.problems import Problem
    >>> class Ramp(Problem):
    ...     def _values(self, X, t):
    ...         return X[:, 0] * np.cos(t)
    >>> problem = Ramp("ramp", [(0, 1)], horizon=10.0)
    >>> problem.value(0.5, t=0.0)
    0.5
    """

    # Limits {name: (low, high)} of outcomes, and variances of their noise by name. A subclass that
    # has some defines _outcomes.
    outcome_constraints: Mapping[str, tuple[float | None, float | None]] | None = None
    outcome_noise_variances: Mapping[str, float] = MappingProxyType({})

    def __init__(
        self,
        name: str,
        domain: object,
        horizon: float,
        noise_variance: float = 0.0,
        random_state: RandomState = None,
    ) -> None:
        self.name = name
        self.domain = as_domain(domain)
        if self.domain.n_chosen < self.domain.n_dims:
            expected = "a domain without a context"
            advice = "Loop over ask(t, context=...) and tell, or see optimize(..., context=...)."
            raise invalid_domain("domain", expected, self.domain, self, advice=advice)
        self.horizon = check_real(horizon, "horizon", self, interval="(0, inf)")
        self.noise_variance = check_real(
            noise_variance, "noise_variance", self, interval="[0, inf)"
        )
        self._optima = {}
        self.seed(random_state)

    def _values(self, X, t):
        """Return noise-free values at X (n, d) in the domain; t is a float or of shape (n,)."""
        raise NotImplementedError(f"{type(self).__name__} must define _values(X, t).")

    def _argmax(self, t):
        """Return the maximizer (d,) within the limits; the default searches numerically."""
        if self.outcome_constraints is None:
            return numeric_maximum(lambda X: self._values(X, t), self.domain)

        def penalized(X):
            values, within = self._values(X, t), self._within_limits(X, t)
            return np.where(within, values, -10.0 * (np.abs(values).max() + 1.0))

        return numeric_maximum(penalized, self.domain)

    def _outcomes(self, X, t):
        """Return noise-free outcomes at X (n, d) in the domain, a dict of names and arrays (n,)."""
        raise NotImplementedError(f"{type(self).__name__} must define _outcomes(X, t).")

    def _within_limits(self, X, t):
        """Return where all outcomes are within their limits (n,)."""
        outcomes, within = self._outcomes(X, t), np.ones(len(X), dtype=bool)
        for name, (low, high) in self.outcome_constraints.items():
            within &= outcomes[name] >= (-np.inf if low is None else low)
            within &= outcomes[name] <= (np.inf if high is None else high)
        return within

    def seed(self, random_state: RandomState = None) -> Self:
        """Restart the noise.

        Parameters
        ----------
        random_state : int, RandomState, Generator or None, default=None

        Returns
        -------
        self : Problem
        """
        self._rng = check_random_state(random_state)
        return self

    def value(self, x: PointLike, t: float) -> float:
        """Return the noise-free objective.

        Parameters
        ----------
        x : array-like of shape (d,), a scalar when d = 1, or a dict of named parameters
        t : float
            Time in [0, horizon].

        Returns
        -------
        float

        Raises
        ------
        InvalidObservationError
            An invalid point or time.
        DomainError
            A point outside of the domain.
        """
        return float(self._values(*self._query(x, t))[0])

    def values(self, X: PointsLike, t: ArrayLike) -> Array:
        """Return the noise-free objective at several points.

        Parameters
        ----------
        X : array-like of shape (n, d), or a list of dicts of named parameters
        t : float or array-like of shape (n,)
            Time in [0, horizon], one for all or one per row.

        Returns
        -------
        ndarray of shape (n,)

        Raises
        ------
        InvalidObservationError
            Invalid points or times.
        DomainError
            A point outside of the domain.
        """
        X = self.domain.validate_points(X)
        return self._values(X, self._check_time(t, n=len(X)))

    def observe(self, x: PointLike, t: float) -> float:
        """Return the objective with Gaussian noise from the problem's random state.

        Parameters
        ----------
        x : array-like of shape (d,), a scalar when d = 1, or a dict of named parameters
        t : float
            Time in [0, horizon].

        Returns
        -------
        float

        Raises
        ------
        InvalidObservationError
            An invalid point or time.
        DomainError
            A point outside of the domain.
        """
        value = self.value(x, t)
        return value + math.sqrt(self.noise_variance) * float(self._rng.standard_normal())

    def observe_outcomes(self, x: PointLike, t: float) -> dict[str, float]:
        """Return the outcomes with Gaussian noise from the problem's random state.

        Parameters
        ----------
        x : array-like of shape (d,), a scalar when d = 1, or a dict of named parameters
        t : float
            Time in [0, horizon].

        Returns
        -------
        dict of str to float
            Empty for a problem without ``outcome_constraints``.
        """
        if self.outcome_constraints is None:
            return {}
        outcomes = self._outcomes(*self._query(x, t))
        noise = {name: self.outcome_noise_variances.get(name, 0.0) for name in outcomes}
        return {
            name: float(value[0]) + math.sqrt(noise[name]) * float(self._rng.standard_normal())
            for name, value in outcomes.items()
        }

    def violates(self, x: PointLike, t: float) -> bool:
        """Return True if an outcome without noise is beyond its limit.

        Parameters
        ----------
        x : array-like of shape (d,), a scalar when d = 1, or a dict of named parameters
        t : float
            Time in [0, horizon].

        Returns
        -------
        bool
        """
        if self.outcome_constraints is None:
            return False
        return not self._within_limits(*self._query(x, t))[0]

    def optimum(self, t: float) -> tuple[Array, float]:
        """Return the maximizer of the objective at a time, within the limits, and its value.

        Parameters
        ----------
        t : float
            Time in [0, horizon].

        Returns
        -------
        x_star : ndarray of shape (d,)
            A row of the domain; ``domain.decode(x_star)`` names its parameters.
        f_star : float
            Noise-free value at x_star.

        Raises
        ------
        InvalidObservationError
            An invalid time.
        """
        t = float(self._check_time(t))
        if t not in self._optima:
            if len(self._optima) >= 4096:  # stored as runs of several algorithms need the same ones
                self._optima.clear()
            self._optima[t] = self._find_optimum(t)
        x_star, f_star = self._optima[t]
        return x_star.copy(), f_star

    def _find_optimum(self, t):
        x_star = self.domain.validate_point(self._argmax(t))
        return x_star, float(self._values(x_star[np.newaxis], t)[0])

    def _query(self, x, t):
        """Return a point as rows (1, d), and a time as a float, both validated."""
        return self.domain.validate_point(x)[np.newaxis], float(self._check_time(t))

    def _check_time(self, t, n=None):
        """Return time(s) as a 0-d array, or of shape (n,) if n is given and t is not a scalar."""
        times = real_array(t, "t", InvalidObservationError)
        if times.ndim and (n is None or times.shape != (n,)):
            expected = "a scalar" if n is None else f"a scalar or of shape ({n},)"
            got = f"shape {times.shape}"
            raise invalid_observation("t", expected, got=got)
        slack = STEP_SLACK * self.horizon
        inside = (times >= -slack) & (times <= self.horizon + slack)
        if not np.all(inside):
            wrong = float(times[~inside][0]) if times.ndim else float(times)
            expected = f"in [0, {self.horizon}], the span of {self.name!r}"
            raise invalid_observation("t", expected, wrong, advice="Use a longer horizon.")
        return np.clip(times, 0.0, self.horizon)

    def _objective_variance(self):
        """Return the variance of f over domain x [0, horizon], from a fixed Sobol set."""
        if isinstance(self.domain, FiniteSet):
            points = self.domain.points
            times = qmc.Sobol(1, scramble=False).random_base2(9)[:, 0]
            X, u = np.tile(points, (len(times), 1)), np.repeat(times, len(points))
        else:
            # The shift avoids the dyadic fractions, at which periodic functions repeat.
            U = (qmc.Sobol(self.domain.n_dims + 1, scramble=False).random_base2(14) + 0.5**0.5) % 1
            X, u = self.domain.quantile(U[:, :-1]), U[:, -1]
        return float(np.var(self._values(X, u * self.horizon)))

    def _set_noise(self, noise, variance=None):
        """Set the noise variance: as given, or as a fraction of the objective's variance."""
        noise = check_real(noise, "noise", self, interval="[0, inf)")
        if variance is None:
            self.noise_variance = noise * self._objective_variance()
        else:
            self.noise_variance = check_real(variance, "noise_variance", self, interval="[0, inf)")

    def __repr__(self):
        return (
            f"<{type(self).__name__} {self.name!r}: {self.domain.n_dims} dimension(s), "
            f"horizon {self.horizon:g}, noise variance {self.noise_variance:.4g}>"
        )
