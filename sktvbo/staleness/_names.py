"""Policies by name."""

from __future__ import annotations

from sklearn.base import clone

from .._validation import invalid
from ._base import KeepAll, StaleDataPolicy
from ._noise import NoiseThreshold
from ._relevancy import MaximumSize, RelevancyBudget, RelevancyCap
from ._resets import EventTriggeredReset, PeriodicReset
from ._windows import SlidingWindow

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
    """Return a new stale-data policy for a name or a policy.

    Parameters
    ----------
    policy : StaleDataPolicy or str
        The names are those of the classes: "keep-all", "sliding-window", "periodic-reset",
        "event-triggered-reset", "relevancy-budget", "relevancy-cap", "noise-threshold"
        and "maximum-size".
    owner : object, default=None
        Owner of the parameter, for messages.

    Returns
    -------
    policy : StaleDataPolicy
        A clone, without state.

    Raises
    ------
    ValueError
        Neither a name nor an instance of a class derived from `StaleDataPolicy`.

    Examples
    --------
    >>> from sktvbo.staleness import as_policy
    >>> as_policy("sliding-window")
    SlidingWindow()
    """
    if isinstance(policy, StaleDataPolicy):
        return clone(policy)
    if isinstance(policy, str) and policy in _POLICIES:
        return _POLICIES[policy]()
    expected = f"{', '.join(map(repr, _POLICIES))}, None, or a StaleDataPolicy"
    advice = "Derive the class of a custom policy from sktvbo.staleness.StaleDataPolicy."
    raise invalid("policy", expected, policy, owner, advice=advice)
