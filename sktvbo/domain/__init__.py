"""Domains of queries: boxes, finite sets of points, and named parameters.

A point has two forms. A *row* (d,) is in the user's units, one number per dimension. Its *unit
form* (u,) is what a surrogate sees: u equals d, but each category has one column for itself.

A domain maps between the two forms, draws uniform samples and validates points. Its
``search_space()`` is what a maximizer of an acquisition function sees.
"""

# The modules, each of which imports only those before it:
#   _lattice              integers under linear equations
#   _feasible             how inputs that satisfy constraints are found
#   _search_space         what a maximizer sees: bounds, members, constraints, context, time
#   _base                 rows and unit forms of points, and their validation
#   _rules                constraints in the forms that users give, as functions of rows
#   _terms, _product      one parameter of each kind; boxes and named parameters, made of them
#   _finite, _context     sets of points; domains with variables that are measured
#   _constrained          a domain with constraints, which may read a context
#   _one_query, _change   a domain narrowed for one query; one changed in the middle of a run
#   _step_limit           how far a query may be from the one before

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
