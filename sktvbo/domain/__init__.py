"""Where queries may lie: a box, a finite set of points, or named parameters.

Every domain writes a point in two ways. A *row* (d,) is in the user's units, one number per
dimension. Its *unit form* (u,) is what a surrogate sees: u equals d but for categories, which have
one column each.

All domains offer the same to an optimizer: the maps between the two forms, uniform samples, one
place that decides whether a point is acceptable, and what a maximizer needs to know: points to
begin with (``candidates``), which unit coordinates a gradient may move (``continuous``), the steps
that no gradient knows of (``neighbours``), and how many members there are (``size``).
"""

from ._constrained import Constrained
from ._context import Context, WithContext, as_domain
from ._finite import Arms, FiniteSet
from ._product import Box, ParameterSpace
from ._step_limit import StepLimit

__all__ = [
    "Arms",
    "Box",
    "Constrained",
    "Context",
    "FiniteSet",
    "ParameterSpace",
    "StepLimit",
    "WithContext",
    "as_domain",
]
