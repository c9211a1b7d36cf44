"""User-defined functions as problems."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from .._validation import invalid, invalid_observation
from ._base import Problem, numeric_maximum

if TYPE_CHECKING:
    from .._typing import RandomState


class CallableProblem(Problem):
    """User-defined function as a problem, made by `from_callable`."""

    def __init__(self, function, domain, horizon, optimum, noise_variance, random_state, name):
        super().__init__(name, domain, horizon, noise_variance, random_state)
        self.function = function
        self.optimum_function = optimum

    def _values(self, X, t):
        times = np.broadcast_to(t, len(X)).tolist()
        values = [self._value(self.domain.decode(x), s) for x, s in zip(X, times)]
        return np.array(values, dtype=np.float64)

    def _value(self, x, t):
        value = self.function(x, t)
        if np.ndim(value) != 0 or not np.isfinite(value):
            what = f"The value of the function of {self.name!r} at x={x}, t={t}"
            raise invalid_observation(what, "one finite number", value)
        return value

    def _argmax(self, t):
        return numeric_maximum(
            lambda X: self._values(X, t), self.domain, log2_samples=10, n_starts=4
        )

    def _find_optimum(self, t):
        if self.optimum_function is None:
            return super()._find_optimum(t)
        x_star, f_star = self.optimum_function(t)
        return self.domain.validate_point(x_star), float(f_star)


def from_callable(
    function: Callable[[Any, float], float],
    domain: object,
    *,
    horizon: float,
    optimum: Callable[[float], tuple[ArrayLike, float]] | None = None,
    noise_variance: float = 0.0,
    random_state: RandomState = None,
    name: str = "callable",
) -> Problem:
    """Return a problem with a Python function as its objective.

    Parameters
    ----------
    function : callable, (x, t) -> float
        Noise-free objective, to be maximized; x is (d,), or a dict for named parameters.
    domain : Box, FiniteSet, ParameterSpace, sequence of (low, high) pairs, \
            scipy.optimize.Bounds, or dict of named parameters
    horizon : float
        End of the problem, which starts at time 0.
    optimum : callable, t -> (x_star, f_star), default=None
        The exact optimum. None: at most 1024 members of the domain are enumerated. Larger domains
        are searched numerically, with about a thousand calls per t; see Notes.
    noise_variance : float, default=0.0
        Variance of the Gaussian noise that `observe` adds.
    random_state : int, RandomState, Generator or None, default=None
        Random state of the noise.
    name : str, default="callable"

    Returns
    -------
    Problem

    Raises
    ------
    ValueError
        An invalid horizon or noise variance.
    DomainError
        An invalid domain.

    Notes
    -----
    Finite sets of any size are enumerated, too. The numeric search evaluates 1024 Sobol points and
    improves the best four by L-BFGS-B and by steps of integers and categories. It is
    **approximate**: a regret may be slightly wrong, even negative.

    Examples
    --------
    >>> from sktvbo.problems import from_callable
    >>> problem = from_callable(lambda x, t: -(x[0] - t / 10) ** 2, [(0, 1)], horizon=10.0)
    >>> x_star, f_star = problem.optimum(5.0)
    >>> print(x_star.round(4))
    [0.5]
    """
    if not callable(function):
        raise invalid("function", "callable", function, error=TypeError)
    if optimum is not None and not callable(optimum):
        raise invalid("optimum", "callable or None", optimum, error=TypeError)
    return CallableProblem(function, domain, horizon, optimum, noise_variance, random_state, name)
