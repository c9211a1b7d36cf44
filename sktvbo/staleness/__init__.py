"""Stale-data policies: which observations to drop, and when.

At each observation the optimizer calls its policy in this order:

1. ``watch(run)``: receives a `RunSoFar`;
2. ``before_add(surrogate, x, t, y)``: returns the rows of the surrogate's training data to drop
   before the observation is added. The first fit of the surrogate skips this call, and so do late
   observations: see `StaleDataPolicy`;
3. ``after_add(surrogate, now)``: returns the rows to drop once the observation is added and the
   hyperparameters are searched;
4. ``record()``: returns numbers by name for the optimizer's history.

A custom policy derives from `StaleDataPolicy`, which drops nothing, and overrides what it needs.
``x`` is in the surrogate's coordinates, the unit box; times are in the user's unit. The state of a
policy is in attributes with a trailing underscore: the optimizer works on a deep copy, and adopts
the copy only when the whole step succeeds. A policy does not modify the surrogate, whose interface
is `Surrogate`.
"""

from ._base import KeepAll, RunSoFar, StaleDataPolicy
from ._names import as_policy
from ._noise import NoiseThreshold
from ._relevancy import MaximumSize, RelevancyBudget, RelevancyCap, ResponseTime
from ._resets import EventTriggeredReset, PeriodicReset
from ._surrogate import FittedSurrogate, Surrogate
from ._windows import SlidingWindow, VariationBudget

__all__ = [
    "EventTriggeredReset",
    "FittedSurrogate",
    "KeepAll",
    "MaximumSize",
    "NoiseThreshold",
    "PeriodicReset",
    "RelevancyBudget",
    "RelevancyCap",
    "ResponseTime",
    "RunSoFar",
    "SlidingWindow",
    "StaleDataPolicy",
    "Surrogate",
    "VariationBudget",
    "as_policy",
]
