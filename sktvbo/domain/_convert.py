"""Conversion of bounds and dicts to domains."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import Bounds

from .._validation import invalid_domain
from ._base import Domain
from ._product import Box, ParameterSpace

if TYPE_CHECKING:
    from typing import Any, TypeAlias

    from .._typing import Array

    DomainLike: TypeAlias = Domain | Sequence[Sequence[float]] | Array | Bounds | Mapping[str, Any]


def without_context(domain: DomainLike) -> Domain:
    """Return a domain without a context from any of the forms that users give."""
    if isinstance(domain, Domain):
        return domain
    if isinstance(domain, Mapping):
        return ParameterSpace(domain)
    if isinstance(domain, Bounds):
        lower, upper = np.broadcast_arrays(np.atleast_1d(domain.lb), np.atleast_1d(domain.ub))
        return Box(np.column_stack([lower, upper]))
    if isinstance(domain, np.ndarray | Sequence) and not isinstance(domain, str | bytes):
        return Box(domain)
    raise invalid_domain(
        "domain",
        "a Box, a FiniteSet, a sequence of (low, high) pairs, a scipy.optimize.Bounds or a dict of "
        "named parameters",
        got=type(domain).__name__,
    )
