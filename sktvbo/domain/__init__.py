"""Domains of queries: boxes, finite sets of points, and named parameters.

A point has two forms. A *row* (d,) is in the user's units, one number per dimension. Its *unit
form* (u,) is the input of a surrogate: u equals d, except that each category has its own column.

A domain maps between the two forms, draws uniform samples and validates points. Its
``search_space()`` is its form for the maximizer of an acquisition function.
"""

# The modules, each of which imports only those before it:
#   _lattice              integers under linear equations
#   _feasible             search for inputs that satisfy constraints
#   _search_space         a domain for a maximizer: bounds, members, constraints, context, time
#   _base                 rows and unit forms of points, and their validation
#   _rules                constraints in the forms that users give, as functions of rows
#   _terms, _product      one parameter of each kind; boxes and named parameters, made of them
#   _finite, _context     sets of points; domains with variables that are measured
#   _constrained          a domain with constraints, which may read a context
#   _one_query, _change   a domain narrowed for one query; one changed in the middle of a run
#   _step_limit           the largest distance of a query from the one before

from ._constrained import Constrained
from ._context import Context, WithContext, as_domain
from ._finite import Arms, FiniteSet
from ._product import Box, ParameterSpace
from ._rules import Vectorized
from ._step_limit import StepLimit

__all__ = [
    "Arms",
    "Box",
    "Constrained",
    "Context",
    "FiniteSet",
    "ParameterSpace",
    "StepLimit",
    "Vectorized",
    "WithContext",
    "as_domain",
]
