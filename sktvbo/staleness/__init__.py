"""Stale-data policies: what to forget, and when.

At each observation an optimizer calls its policy, in this order:

1. ``watch(run)``, where the policy has it: what it may know of the run, a `RunSoFar`;
2. ``before_add(surrogate, x, t, y)``: rows of the surrogate's training data to drop before the
   observation is added; not called at the observation with which the surrogate is first fitted;
3. ``after_add(surrogate, now)``: rows to drop now that it is added, and hyperparameters searched;
4. ``record()``, where the policy has it: numbers by name, for the optimizer's history; None for
   what is not known yet, as NaN is an error.

``x`` is in the surrogate's coordinates, the unit box, and times are the user's.
`StaleDataPolicy` is a base class, which nobody has to use. A policy's own state is in attributes
with a trailing underscore, which it replaces and never changes in place: the optimizer works on a
copy of the policy, and takes it over only when the whole step has succeeded. The surrogate is left
as it is; what policies and optimizers ask of it is written down in `Surrogate`.
"""

from .._surrogate import Surrogate
from ._base import KeepAll, RunSoFar, StaleDataPolicy
from ._names import as_policy
from ._noise import NoiseThreshold
from ._relevancy import RelevancyBudget, RelevancyCap, ResponseTime
from ._resets import EventTriggeredReset, PeriodicReset
from ._size import MaximumSize
from ._windows import SlidingWindow, VariationBudget

__all__ = [
    "EventTriggeredReset",
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
