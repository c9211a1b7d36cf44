"""Policies by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sklearn.base import clone

from .._validation import invalid
from ._base import KeepAll
from ._noise import NoiseThreshold
from ._relevancy import RelevancyBudget, RelevancyCap
from ._resets import EventTriggeredReset, PeriodicReset
from ._size import MaximumSize
from ._windows import SlidingWindow

if TYPE_CHECKING:
    from ._base import StaleDataPolicy

_POLICIES = {
    "keep-all": KeepAll,
    "sliding-window": SlidingWindow,
    "periodic-reset": PeriodicReset,
    "event-triggered-reset": EventTriggeredReset,
    "relevancy-budget": RelevancyBudget,
    "relevancy-cap": RelevancyCap,
    "noise-threshold": NoiseThreshold,
    "maximum-size": MaximumSize,
}


def as_policy(policy: StaleDataPolicy | str, owner: object = None) -> StaleDataPolicy:
    """Return a new stale-data policy from any of the forms in which users give one.

    Parameters
    ----------
    policy : stale-data policy or str
        The names are those of the classes: "keep-all", "sliding-window", "periodic-reset",
        "event-triggered-reset", "relevancy-budget", "relevancy-cap", "noise-threshold"
        and "maximum-size".
    owner : object, default=None
        Whose parameter it is, for messages.

    Returns
    -------
    policy : stale-data policy
        A clone, without a history.

    Raises
    ------
    ValueError
        Something else.

    Examples
    --------
    >>> from sktvbo.staleness import as_policy
    >>> as_policy("sliding-window")
    SlidingWindow()
    """
    if isinstance(policy, str) and policy in _POLICIES:
        return _POLICIES[policy]()
    needed = ("before_add", "after_add")
    if isinstance(policy, type) or not all(hasattr(policy, name) for name in needed):
        names = ", ".join(map(repr, _POLICIES))
        expected = f"{names}, None, or an object with {' and '.join(needed)}"
        raise invalid("policy", expected, policy, owner)
    return clone(policy, safe=False)
