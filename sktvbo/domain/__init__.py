"""Domains of queries: boxes, finite sets of points, and named parameters.

A point has two forms. A *row* (d,) is in the user's units, one number per dimension. Its *unit
form* (u,) is what a surrogate sees: u equals d, but each category has one column for itself.

A domain maps between the two forms, draws uniform samples and validates points. Its
``search_space()`` is what a maximizer of an acquisition function sees.
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
