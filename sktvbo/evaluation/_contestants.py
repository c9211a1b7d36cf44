"""What may take part in a run: the optimizers of this package, and anything with ask and tell."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Protocol

from sklearn.base import clone

from .._validation import invalid
from ._arguments import SET_BY_RUN

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Literal, TypeAlias

    from numpy.typing import ArrayLike

    from .._typing import Array, PointLike

    # An optimizer, or what makes one of a domain and a random state.
    Contestant: TypeAlias = "AskTell | Callable[[Any, Any], AskTell]"
    Expert: TypeAlias = Callable[[Array, float], ArrayLike] | Literal["problem"]


class AskTell(Protocol):
    """All that an algorithm needs to be run and compared: two methods.

    It is to maximize. A run works on a deep copy, or on a `~sklearn.base.clone` of a scikit-learn
    estimator, of which it sets the parameters ``domain``, ``random_state`` and ``maximize`` that
    there are. An algorithm that has to know domain and seed in its constructor is given as a
    function ``(domain, random_state)`` that makes one: `run` and `compare` call it for each run.

    Notes
    -----
    A run looks at more where there is more: the size of the data set is ``len(X_)``, and
    otherwise the number of observations; ``n_removed_`` observations were removed. Where there is
    ``suggest(t)``, it is called in place of ``ask``: it returns an object with the point ``x`` and
    the time ``t`` of the query, which may be later. A `SimulatedClock` is told a size of 0
    for an algorithm that has no model: one whose ``surrogate_`` is None, as that of
    `~sktvbo.optimizers.RandomSearch`, and one with neither ``surrogate_`` nor ``X_``. An algorithm
    of another package that does think shows its data as ``X_``, or is run on a `WallClock`.

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
        """Where to query.

        Parameters
        ----------
        t : float
            The present.

        Returns
        -------
        array-like of shape (d,), or dict for named parameters
        """

    def tell(self, x: Any, y: float, t: float) -> object:
        """Take notice of an observation.

        Parameters
        ----------
        x : ndarray of shape (d,) or dict
            Where it was made, as asked for.
        y : float
        t : float
        """


def check_contestant(optimizer, name="optimizer"):
    """Raise TypeError unless a run can be made of this."""
    usable = _asks_and_tells(optimizer) or callable(optimizer)
    if not usable or isinstance(optimizer, type):
        raise invalid(
            name,
            "an ask/tell optimizer, or a function (domain, random_state) that makes one",
            optimizer,
            advice="Use for example sktvbo.WDBO().",
            error=TypeError,
        )


def contestant(optimizer, domain, seed):
    """A copy of an algorithm, or a new one, for a run over a domain that maximizes."""
    if not _asks_and_tells(optimizer):
        made = optimizer(domain, seed)
        if not _asks_and_tells(made):
            expected = "an object with ask and tell"
            raise invalid(
                "What the function of an optimizer makes", expected, made, error=TypeError
            )
        return made
    if not hasattr(optimizer, "get_params"):
        return copy.deepcopy(optimizer)
    given = dict(zip(SET_BY_RUN, (domain, True, seed)))
    optimizer = clone(optimizer)
    known = optimizer.get_params(deep=False)
    return optimizer.set_params(**{name: given[name] for name in given if name in known})


def next_query(optimizer, t):
    """The next query of an optimizer, and its time, which ``suggest`` may choose."""
    if not hasattr(optimizer, "suggest"):
        return optimizer.ask(t), t
    query = optimizer.suggest(t)
    return query.x, query.t


def model_of(optimizer):
    """The surrogate that the next query is made with, or None."""
    return getattr(optimizer, "belief_", getattr(optimizer, "surrogate_", None))


def size_thought_about(optimizer):
    """Observations that the next answer takes time for: 0 without a model."""
    shows_model = hasattr(optimizer, "belief_") or hasattr(optimizer, "surrogate_")
    if shows_model and model_of(optimizer) is None:
        return 0
    return len(getattr(optimizer, "X_", ()))


def _asks_and_tells(thing):
    return all(callable(getattr(thing, method, None)) for method in ("ask", "tell"))
