"""Interface that a run needs of an optimizer: ask and tell."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

from numpy.typing import ArrayLike
from sklearn.base import clone

from .._validation import invalid
from ..optimizers import BayesianOptimizer, RandomSearch

if TYPE_CHECKING:
    from .._typing import Array, PointLike

    Expert: TypeAlias = Callable[[Array, float], ArrayLike] | Literal["problem"]

# An optimizer, or a function (domain, random_state) that makes one.
OptimizerLike: TypeAlias = "Optimizer | Callable[[Any, Any], Optimizer]"

# Parameters of an optimizer that a run overwrites.
SET_BY_RUN = {"domain", "maximize", "random_state"}


class Optimizer(Protocol):
    """Interface of an optimizer that can be run and compared: two methods.

    The optimizer maximizes. A run works on a deep copy, or on a `~sklearn.base.clone` of a
    scikit-learn estimator. Of the clone it sets those parameters of ``domain``, ``random_state``
    and ``maximize`` that exist. An algorithm that needs domain and seed in its constructor is given
    as a function ``(domain, random_state)`` that makes one; `run` and `compare` call it per run.

    Notes
    -----
    A run also uses optional members. The size of the data set is ``len(X_)``, else the number of
    observations. ``n_removed_`` is the number of removed observations. ``suggest(t)`` replaces
    ``ask``: it returns an object with the point ``x`` and the time ``t`` of the query, which may
    be later than now.

    A `SimulatedClock` gets a size of 0 for an algorithm without a model: ``surrogate_`` is None,
    as in `~sktvbo.optimizers.RandomSearch`, or it has neither ``surrogate_`` nor ``X_``. An
    algorithm of another package with a model should expose its data as ``X_``, or run on a
    `WallClock`.

    Examples
    --------
    >>> import numpy as np
    >>> from sktvbo import evaluation, problems
    >>> class Stay:
    ...     def __init__(self, domain, random_state):
    ...         self.best, self.value = domain.sample(1, random_state)[0], -np.inf
    ...         self.domain, self.rng = domain, np.random.RandomState(random_state)
    ...
    ...     def ask(self, t):
    ...         step = self.rng.normal(scale=0.1, size=self.domain.n_dims)
    ...         return self.domain.from_unit(self.domain.to_unit(self.best) + step)
    ...
    ...     def tell(self, x, y, t):
    ...         if y > self.value:
    ...             self.best, self.value = x, y
    >>> problem = problems.make("six-hump-camel", horizon=40.0)
    >>> comparison = evaluation.compare({"stay": lambda d, seed: Stay(d, seed)}, [problem], 2)
    >>> comparison.summary()[0]["n_replications"]
    2
    """

    def ask(self, t: float) -> PointLike:
        """Return the point to query.

        Parameters
        ----------
        t : float
            Present time.

        Returns
        -------
        array-like of shape (d,), or dict for named parameters
        """

    def tell(self, x: Any, y: float, t: float, /) -> object:
        """Record an observation.

        Parameters
        ----------
        x : ndarray of shape (d,) or dict
            Point of the observation, as returned by ``ask``.
        y : float
        t : float
        """


def check_optimizer(optimizer, name="optimizer"):
    """Raise TypeError unless this is an `Optimizer` or a function."""
    usable = _has_ask_and_tell(optimizer) or callable(optimizer)
    if not usable or isinstance(optimizer, type):
        expected = "an ask/tell optimizer, or a function (domain, random_state) that makes one"
        advice = "Use for example sktvbo.WDBO()."
        raise invalid(name, expected, optimizer, advice=advice, error=TypeError)


def copy_optimizer(optimizer, domain, seed):
    """Return a copy of an optimizer, or a new one, that maximizes over a domain."""
    if not _has_ask_and_tell(optimizer):
        new = optimizer(domain, seed)
        if not _has_ask_and_tell(new):
            name, expected = "The result of an optimizer function", "an object with ask and tell"
            raise invalid(name, expected, new, error=TypeError)
        return new
    if not hasattr(optimizer, "get_params"):
        return copy.deepcopy(optimizer)
    optimizer = clone(optimizer)
    values = {"domain": domain, "maximize": True, "random_state": seed}
    known = SET_BY_RUN & optimizer.get_params(deep=False).keys()
    return optimizer.set_params(**{name: values[name] for name in known})


def next_query(optimizer, t, **context):
    """Return the next point of an optimizer, its time and its handle.

    ``suggest`` may choose a later time. Optimizers of other packages have no handle, None.
    """
    if not hasattr(optimizer, "suggest"):
        return optimizer.ask(t, **context), t, None
    query = optimizer.suggest(t, **context)
    is_told = isinstance(optimizer, BayesianOptimizer | RandomSearch)
    return query.x, query.t, query if is_told else None


def surrogate_of(optimizer):
    """Return the surrogate of the next query, or None."""
    return getattr(optimizer, "belief_", getattr(optimizer, "surrogate_", None))


def surrogate_size(optimizer):
    """Return the number of observations in the surrogate of the next query, 0 without one."""
    has_surrogate = hasattr(optimizer, "belief_") or hasattr(optimizer, "surrogate_")
    if has_surrogate and surrogate_of(optimizer) is None:
        return 0
    return len(getattr(optimizer, "X_", ()))


def _has_ask_and_tell(optimizer):
    return all(callable(getattr(optimizer, method, None)) for method in ("ask", "tell"))
