"""Checks of parameters, with one uniform sentence."""

from numbers import Integral, Real

import numpy as np


def check_positive(value, name, owner, *, zero=False, finite=True):
    """The value as a float > 0 (``zero=True``: or 0; ``finite=False``: or infinity)."""
    valid = isinstance(value, Real) and (value > 0.0 or (zero and value == 0.0))
    if not valid or (finite and value == np.inf):
        _raise(value, name, owner, f"a {'non-negative' if zero else 'positive'} float")
    return float(value)


def check_positive_int(value, name, owner):
    """The value as an int >= 1."""
    if not isinstance(value, Integral) or isinstance(value, bool) or value < 1:
        _raise(value, name, owner, "a positive int")
    return int(value)


def check_probability(value, name, owner):
    """The value as a float in (0, 1)."""
    if not isinstance(value, Real) or not 0.0 < value < 1.0:
        _raise(value, name, owner, "a float in (0, 1)")
    return float(value)


def _raise(value, name, owner, expected):
    raise ValueError(
        f"The '{name}' parameter of {type(owner).__name__} must be {expected}. "
        f"Got {value!r} instead."
    )
