"""Conversion of Optuna's distributions to a domain."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from functools import partial
from numbers import Real

import numpy as np
from optuna.distributions import CategoricalDistribution, IntDistribution
from scipy.optimize import NonlinearConstraint

from .._validation import invalid
from ..domain import ParameterSpace
from ..exceptions import DomainError


class Space:
    """Optuna's distributions by name and the equivalent domain."""

    def __init__(self, distributions):
        self.distributions = distributions
        self._axes = {name: _axis(d, name) for name, d in distributions.items()}
        self.domain = ParameterSpace({name: axis.spec for name, axis in self._axes.items()})

    def contains(self, name, value):
        """Return True if a parameter may have a value."""
        return _contains(self.distributions[name], value)

    def canonical(self, name, value):
        """Return a value as Optuna returns it, with NumPy scalars converted to Python's."""
        distribution = self.distributions[name]
        return distribution.to_external_repr(distribution.to_internal_repr(value))

    def encode(self, params):
        """Return the point with these parameters; None if one is missing or out of range."""
        if not all(name in params and self.contains(name, params[name]) for name in self._axes):
            return None
        return {
            name: axis.encode(self.canonical(name, params[name]))
            for name, axis in self._axes.items()
        }

    def nearest(self, name, value):
        """Return the coordinate nearest to a value; None for a category out of range."""
        distribution = self.distributions[name]
        if self.contains(name, value):
            value = self.canonical(name, value)
        elif isinstance(distribution, CategoricalDistribution) or not isinstance(value, Real):
            return None
        else:
            value = min(max(value, distribution.low), distribution.high)
        return self._axes[name].encode(value)

    def decode(self, point):
        """Return the parameters of a point of the domain."""
        return {name: self._axes[name].decode(value) for name, value in point.items()}


# Integer ranges with more values, or with larger ones on a log scale, are searched as reals.
_LARGEST, _LARGEST_LOG = 2**50, 2**44

# Number of values tried around the nearest one, where floats represent only some of them.
_N_TRIED = 512


@dataclass(frozen=True)
class _Axis:
    """Scale of a parameter in the domain; by default values are coordinates."""

    spec: tuple
    encode: Callable = lambda value: value
    decode: Callable = lambda v: v


def _axis(distribution, name):
    """Return the scale of a parameter in the domain; ``name`` is for messages."""
    if isinstance(distribution, CategoricalDistribution):
        return _positions_of_choices(distribution)
    low, high, step = distribution.low, distribution.high, distribution.step
    try:
        finite = all(map(math.isfinite, (low, high, 0 if step is None else high - low)))
    except OverflowError:
        finite = False
    if not finite:
        raise invalid(f"The range of {name!r}", "of finite floats", distribution, error=DomainError)
    if distribution.log:
        whole = isinstance(distribution, IntDistribution)
        if whole and high <= _LARGEST_LOG:
            return _Axis(("log-integer", low, high))
        if math.log(high) > math.log(low):
            axis = _Axis(("log-real", float(low), float(high)))
            # Integers are searched as reals.
            return replace(axis, decode=partial(_member, distribution)) if whole else axis
        step = 1 if whole else None
    if step is None and math.isfinite(high - low):
        return _Axis(("real", low, high))
    exact, width = Fraction(low), Fraction(high) - Fraction(low)
    if step is not None and width / Fraction(step) <= _LARGEST:
        return _positions_on_grid(distribution)
    # Fractions of a range with too large a width or too many values.
    return _Axis(
        ("real", 0.0, 1.0),
        lambda value: float((Fraction(value) - exact) / width),
        lambda v: _member(distribution, exact + Fraction(v) * width),
    )


def _positions_of_choices(distribution):
    stored = [distribution.to_internal_repr(choice) for choice in distribution.choices]
    return _Axis(
        # Optuna stores the first of equal choices, such as 1 and True.
        ("categorical", sorted(set(map(int, stored)))),
        lambda value: int(distribution.to_internal_repr(value)),
        lambda v: distribution.choices[v],
    )


def _positions_on_grid(distribution):
    low, step = Fraction(distribution.low), Fraction(distribution.step)

    def position(value):
        return round((Fraction(value) - low) / step)

    def decode(v):
        value = distribution.low + v * distribution.step
        value = min(value, distribution.high)  # rounding may exceed it
        if abs(value) <= 2**53 and _contains(distribution, value):
            return value
        return _member(distribution, low + v * step)

    return _Axis(("integer", 0, position(distribution.high)), position, decode)


def _member(distribution, number):
    """Return the value nearest to a number that Optuna can store as a float."""
    low, high, step = distribution.low, distribution.high, distribution.step
    if step is None:
        return min(max(float(number), low), high)
    nearest = round((Fraction(number) - Fraction(low)) / Fraction(step))
    for i in range(_N_TRIED):
        k = nearest + (i + 1) // 2 * (-1) ** i
        exact = Fraction(low) + k * Fraction(step)
        if isinstance(distribution, IntDistribution):
            x = float(exact)
            for value in (x, math.nextafter(x, low), math.nextafter(x, high)):
                value = int(value)
                if _contains(distribution, value) and (value - low) % step == 0:
                    return value
        else:
            decimal = Decimal(str(low)) + k * Decimal(str(step))
            for value in (min(low + k * step, high), float(decimal)):
                if _contains(distribution, value):
                    return value
    advice = "Optuna stores floats: use a wider step or smaller numbers."
    expected = "one with values that floats represent"
    raise invalid("A range", expected, distribution, advice=advice, error=DomainError)


def _contains(distribution, value):
    """Return True if a value belongs to a distribution."""
    try:
        return bool(distribution._contains(distribution.to_internal_repr(value)))
    except (TypeError, ValueError, OverflowError):
        return False


def only_value(distribution):
    """Return the value of a distribution with a single value."""
    choices = getattr(distribution, "choices", None)
    return distribution.low if choices is None else choices[0]


class Rule:
    """Constraint on a trial's parameters, as a constraint on points of a space.

    It counts as satisfied where it needs a parameter without a value.

    Parameters
    ----------
    constraint : callable or NonlinearConstraint
        Function of a dict of parameters.
    space : Space
    known : dict
        Parameters that complement or replace those of a point.
    unknown : set
        Receives the names of parameters without a value.
    """

    def __init__(self, constraint, space, known, unknown):
        self._constraint, self._space = constraint, space
        self._known, self._unknown = known, unknown
        self._returns_bool = None
        self.__name__ = getattr(constraint, "__name__", "a constraint")

    def __call__(self, point):
        params = self._space.decode(point) | self._known
        try:
            found = self._value(params)
        except KeyError as exc:
            if exc.args[0] in list(params):
                raise
            self._unknown.add(exc.args[0])
            found = None
        if self._returns_bool is None:
            self._returns_bool = found is None or isinstance(found, bool | np.bool_)
        if found is None:
            return True if self._returns_bool else math.inf
        if self._returns_bool and not isinstance(found, bool | np.bool_):
            return bool(np.all(np.asarray(found) >= 0.0))
        return found

    def _value(self, params):
        if not isinstance(self._constraint, NonlinearConstraint):
            return self._constraint(params)
        values = np.asarray(self._constraint.fun(params), dtype=np.float64)
        low, high = self._constraint.lb, self._constraint.ub
        return float(np.min(np.minimum(values - low, high - values)))
