"""Terms of a product: reals, integers, lists of numbers, ordinals and categories.

A term has ``n_dims`` columns V (n, n_dims) of the rows, and ``n_unit`` columns U (n, n_unit) of the
unit form. ``low`` and ``high`` are numbers, or arrays (n_dims,) if a term has several columns.
``expected`` describes, in messages, a column with these two bounds. ``has_steps`` is True where
values have an order and neighbours, and ``climbs`` where a gradient may move them. ``listed`` are
the numbers of all values in rows and in equations, if these are listed.
"""

import math
import numbers
import reprlib
from collections.abc import Sequence
from datetime import date
from functools import cached_property

import numpy as np
from scipy.stats.distributions import rv_frozen

from .._validation import invalid, invalid_domain, is_gap, plain_number, real_array
from ..exceptions import DomainError, InvalidObservationError
from ._base import FEWER_DIGITS, TOLERANCE, have_fewer_digits
from ._search_space import CENTER, RADIUS


def named_term(spec, name):
    """Return the term of a user's ``(kind, ...)``; messages call it ``name``.

    As in `sklearn.model_selection.RandomizedSearchCV`, it may be a list of categories.
    """
    if isinstance(spec, list | tuple) and spec and isinstance(spec[0], str) and spec[0] in _KINDS:
        kind, *rest = spec
        return _KINDS[kind].from_spec(name, *rest)
    advice = _advice_on_distributions(spec) or _advice_on_ranges(spec)
    if isinstance(spec, list | np.ndarray) and not advice:
        return Categorical.from_spec(name, spec)
    expected = f"{_SPECS} or a list of categories"
    raise invalid_domain(name, expected, spec, advice=advice)


def _advice_on_distributions(spec):
    """Return advice on writing the range of a frozen distribution of scipy.stats, or ""."""
    if not isinstance(spec, rv_frozen):
        return ""
    kinds = {"loguniform": "log-real", "reciprocal": "log-real"}
    kind = kinds.get(spec.dist.name, "real" if hasattr(spec, "pdf") else "integer")
    ends = zip(spec.support(), ("low", "high"))
    low, high = (f"{end:g}" if np.all(np.isfinite(end)) else word for end, word in ends)
    return f"Write ({kind!r}, {low}, {high})."


def _advice_on_ranges(spec):
    """Return advice on writing a range if values may be one, two numbers and perhaps a type."""
    values = list(spec) if isinstance(spec, list | tuple) or np.ndim(spec) == 1 else []
    is_number = [isinstance(v, numbers.Real) and not isinstance(v, bool) for v in values]
    has_type = any(isinstance(v, type) for v in values)
    if sum(is_number) != 2 or len(values) > 2 + has_type or not all(is_number[:2]):
        return ""
    low, high = (plain_number(v) for v in values[:2])
    if not low < high and not has_type:
        return ""
    kind = "real" if isinstance(low, float) or isinstance(high, float) else "integer"
    return (
        f"({kind!r}, {low}, {high}) is the range, ('categorical', {values[:2]}) are two categories."
    )


def _number(value, name, error):
    if isinstance(value, float):  # the usual case, without an array
        return float(value)
    if isinstance(value, bool | np.bool_):
        advice = "Give 0 or 1, or take ('categorical', [False, True])."
        raise invalid(name, "one number", value, advice=advice, error=error)
    array = real_array(value, name, error)
    if array.ndim:
        raise invalid(name, "one number", value, error=error)
    return float(array)


class Real:
    """Numbers of [low, high], uniform there."""

    kind = "real"
    order = "straight"
    expected = "in [{}, {}]"
    size = math.inf
    has_steps, listed, climbs = False, None, True

    # True if the range is not declared: it follows values, see `learnt_from`.
    is_learnt = False

    # Range before it is learnt; None: it must be declared.
    _unknown = 0.0, 1.0

    def __init__(self, low, high):
        self.low = low
        self.high = high
        self.n_dims = self.n_unit = np.size(low)
        self._width = high - low

    @classmethod
    def from_spec(cls, name, *bounds):
        if bounds == (None, None) and cls._unknown is not None:
            return cls(*cls._unknown)._learnt()
        if len(bounds) != 2:
            got = f"{len(bounds)} bound(s)"
            raise invalid_domain(name, f"({cls.kind!r}, low, high)", got=got)
        low, high = (_number(bound, name, DomainError) for bound in bounds)
        cls.check(low, high, f"The bounds of {name}")
        return cls(low, high)

    @classmethod
    def check(cls, low, high, name):
        """Raise a DomainError if two numbers are not valid bounds of such a term."""
        # The width is checked as well: it overflows for bounds near the largest float.
        if not math.isfinite(high - low):
            raise invalid_domain(name, "finite, with a finite difference", (low, high))
        if not low < high:
            raise invalid_domain(name, "low < high", (low, high))

    def _learnt(self):
        self.is_learnt = True
        return self

    def ranging(self, low, high):
        """Return the term with another range; itself if its range is declared, or this one."""
        if not self.is_learnt or (low, high) == (self.low, self.high):
            return self
        return type(self)(low, high)._learnt()

    def learnt_from(self, values):
        """Return the term with the range of the central 90 % of values (n,).

        It is unchanged if its range is declared, or as wide as that within a factor of 2, or if the
        values are constant.
        """
        low, high = np.quantile(values, (0.05, 0.95)).tolist()
        if low == high:
            low, high = float(np.min(values)), float(np.max(values))
        width = np.ptp(self.to_unit(np.array([low, high])))
        is_constant = high - low <= TOLERANCE * max(abs(low), abs(high))
        return self if is_constant or 0.5 <= width <= 2.0 else self.ranging(low, high)

    @property
    def spec(self):
        """The parameter in the user's form."""
        if self.is_learnt:
            return self.kind, None, None
        return self.kind, self.decode(self.low), self.decode(self.high)

    @property
    def key(self):
        """A hashable value, equal for equal terms."""
        return self.spec

    def encode(self, value, name):
        """Return the number in the row for a user's value; it may lie outside."""
        return _number(value, name, InvalidObservationError)

    def of_table(self, value):
        """Return the user's value for one of a table, which has the type of its column."""
        return value

    def decode(self, v):
        """Return the user's value for a number in the row."""
        return float(v)

    def inside(self, V):
        """Return a mask (n, n_dims) of the numbers that are values, up to rounding errors."""
        slack = TOLERANCE * self._width
        return (self.low - slack <= V) & (self.high + slack >= V)

    def nearest(self, V):
        """Return the values nearest to numbers."""
        return np.clip(V, self.low, self.high)

    def to_unit(self, V):
        return (V - self.low) / self._width

    def from_unit(self, U):
        return self.nearest(self.low * (1.0 - U) + self.high * U)

    def quantile(self, Q):
        """Return values (n, n_dims) for numbers Q (n, n_dims) that are uniform in [0, 1]."""
        return self.from_unit(Q)

    def neighbours(self, u):
        """Return unit forms that differ from u (n_unit,) by a step that is not continuous."""
        return np.empty((0, self.n_unit))


class Cyclic(Real):
    """Numbers on a circle, on which low and high coincide; two columns of the unit form.

    These are cosine and sine, so that distances are chords of a circle whose diameter is 1. A
    gradient cannot move them on the circle: searches change them by steps.
    """

    kind = "cyclic"
    order = "cyclic"
    expected = "a finite number"
    climbs, _unknown = False, None

    # Steps of a search, in parts of the circle, in both directions.
    _STEPS = np.outer([-1.0, 1.0], 0.5 ** np.arange(1, 25)).ravel()

    def __init__(self, low, high):
        super().__init__(low, high)
        self.n_unit = 2

    def inside(self, V):
        return np.isfinite(V)

    def nearest(self, V):
        V = np.asarray(V, dtype=np.float64)
        turned = self.low + np.mod(V - self.low, self._width)
        inside = (self.low <= V) & (self.high > V)
        return np.where(inside, V, np.where(turned < self.high, turned, self.low))

    def to_unit(self, V):
        angles = (V - self.low) * (2.0 * math.pi / self._width)
        return CENTER + RADIUS * np.concatenate([np.cos(angles), np.sin(angles)], axis=-1)

    def from_unit(self, U):
        angles = np.arctan2(U[..., 1:] - CENTER, U[..., :1] - CENTER) / (2.0 * math.pi)
        return self.nearest(self.low + self._width * angles)

    def quantile(self, Q):
        return self.nearest(self.low + self._width * Q)

    def neighbours(self, u):
        reached = self.from_unit(u[np.newaxis]) + self._width * self._STEPS[:, np.newaxis]
        return self.to_unit(reached)


class _Logarithmic:
    """Mixin of positive numbers, uniform on a logarithmic scale; one column."""

    def __init__(self, low, high):
        super().__init__(low, high)
        self._log_low = math.log(low)
        self._log_width = math.log(high) - self._log_low

    def to_unit(self, V):
        return (np.log(V) - self._log_low) / (self._log_width or 1.0)


class LogReal(_Logarithmic, Real):
    """Positive numbers of [low, high], uniform on a logarithmic scale; one column."""

    kind = "log-real"
    order = "curved"
    _unknown = 1.0, 10.0

    @classmethod
    def check(cls, low, high, name):
        super().check(low, high, name)
        if not low > 0.0:
            raise invalid_domain(name, "positive", (low, high))
        if not math.log(high) > math.log(low):
            expected = "far enough apart for their logarithms to differ"
            advice = "Use 'real' for an interval that narrow."
            raise invalid_domain(name, expected, (low, high), advice=advice)

    def inside(self, V):
        slack = math.exp(TOLERANCE * self._log_width)
        return (self.low / slack <= V) & (self.high * slack >= V)

    def from_unit(self, U):
        u = np.clip(U, 0.0, 1.0)
        return self.nearest(self.low ** (1.0 - u) * self.high**u)


class Integer(Real):
    """Whole numbers from low to high; one column."""

    kind = "integer"
    order = "steps"
    expected = "a whole number from {:.0f} to {:.0f}"
    has_steps, _unknown = True, None

    # An integer up to this power of two is unchanged by scaling to [0, 1] and back.
    largest = 50

    def __init__(self, low, high):
        super().__init__(low, high)
        self.size = int(high - low) + 1

    @classmethod
    def check(cls, low, high, name):
        if not all(abs(v) <= 2**cls.largest and v == round(v) for v in (low, high)):
            expected = f"whole numbers of at most 2**{cls.largest} in size"
            raise invalid_domain(name, expected, (low, high))
        if not low <= high:
            raise invalid_domain(name, "low <= high", (low, high))

    def decode(self, v):
        return round(float(v))

    def members(self):
        """Return all values, in ascending order."""
        return np.arange(self.low, self.high + 1.0)

    def inside(self, V):
        return np.abs(V - self.nearest(V)) <= TOLERANCE

    def nearest(self, V):
        return np.clip(np.rint(V), self.low, self.high)

    def to_unit(self, V):
        return (V - self.low) / (self._width or 1.0)

    def from_unit(self, U):
        return self.nearest(self.low + U * self._width)

    def quantile(self, Q):
        return self.nearest(self.low + np.floor(Q * self.size))

    @cached_property
    def _steps(self):
        """Steps of 1, 2, 4, ... in both directions: few of them lead to a far optimum."""
        steps = 2 ** np.arange((self.size - 1).bit_length())
        return np.concatenate([-steps, steps])

    def neighbours(self, u):
        reached = self.from_unit(u) + self._steps
        reached = reached[(reached >= self.low) & (reached <= self.high)]
        return self.to_unit(reached[:, np.newaxis])


class LogInteger(_Logarithmic, Integer):
    """Positive whole numbers, uniform on a logarithmic scale; one column."""

    kind = "log-integer"
    largest = 44

    @classmethod
    def check(cls, low, high, name):
        super().check(low, high, name)
        if not low >= 1.0:
            raise invalid_domain(name, "at least 1", (low, high))

    def from_unit(self, U):
        return self.nearest(np.exp(self._log_low + np.clip(U, 0.0, 1.0) * self._log_width))

    def quantile(self, Q):
        # Each number has the interval that is rounded to it; so have the first and the last.
        low, high = math.log(self.low - 0.5), math.log(self.high + 0.5)
        return self.nearest(np.exp(low + Q * (high - low)))


class Discrete(Integer):
    """Numbers of a list, at their distances; one column."""

    kind = "discrete"
    expected = "one of the listed numbers from {} to {}"

    def __init__(self, values):
        self._whole = all(isinstance(value, numbers.Integral) for value in values)
        self._members = np.sort(np.array(values, dtype=np.float64))
        self._members.setflags(write=False)
        super().__init__(self._members[0], self._members[-1])
        self.size = len(self._members)
        self._middles = 0.5 * self._members[1:] + 0.5 * self._members[:-1]
        # Without a width, rounding errors are relative to the number itself.
        self._exact = TOLERANCE * (self._width or abs(self.low) or 1.0)
        self._slack = self._slacks(self._members)

    @classmethod
    def from_spec(cls, name, *values):
        (numbers_,) = _lists(cls, name, values, 1)
        if any(isinstance(value, bool | np.bool_) for value in numbers_):
            raise invalid_domain(name, "made of numbers", numbers_)
        array = real_array(numbers_, name, DomainError)
        if array.ndim != 1 or not np.isfinite(array).all() or not np.isfinite(np.ptp(array)):
            raise invalid_domain(name, "made of finite numbers", numbers_)
        if np.any(np.diff(np.sort(array)) <= 2.0 * TOLERANCE * np.ptp(array)):
            expected = "made of numbers that differ by more than 2e-9 of their range"
            advice = "('ordinal', values) places them at equal distances."
            raise invalid_domain(name, expected, numbers_, advice=advice)
        return cls(numbers_)

    @property
    def spec(self):
        return self.kind, [self.decode(v) for v in self._members]

    @staticmethod
    def _slacks(members):
        """Return the largest distances (m,) of numbers with fewer digits from ascending members."""
        gaps = np.diff(members, prepend=-np.inf, append=np.inf)
        nearer = np.minimum(gaps[1:], gaps[:-1])
        return np.where(np.isfinite(nearer), FEWER_DIGITS * nearer, 0.0)

    @property
    def key(self):
        return self.kind, tuple(self._members.tolist())

    def decode(self, v):
        return int(v) if self._whole and float(v).is_integer() else float(v)

    def members(self):
        return self._members

    @property
    def listed(self):
        return self._members, self._members

    def inside(self, V):
        at = np.searchsorted(self._middles, V)
        gaps = np.abs(V - self._members[at])
        inside = gaps <= self._exact
        near = ~inside & (gaps <= self._slack[at])
        if near.any():
            inside[near] = have_fewer_digits(V[near], self._members[at][near])
        return inside

    def nearest(self, V):
        return self._members[np.searchsorted(self._middles, V)]

    def quantile(self, Q):
        return self._members[np.minimum(Q * self.size, self.size - 1.0).astype(int)]

    def neighbours(self, u):
        reached = np.searchsorted(self._members, self.from_unit(u)) + self._steps
        reached = reached[(reached >= 0) & (reached < self.size)]
        return self.to_unit(self._members[reached, np.newaxis])


class Ordinal(Discrete):
    """Ordered values, each a step from the next; the row holds the position of one.

    Only those at the positions ``queried`` are members; None: all.
    """

    kind = "ordinal"
    order = "labels"
    expected = "the position of a value that may be queried, from {:.0f} to {:.0f}"

    def __init__(self, values, queried=None):
        self.choices = tuple(map(_Choice, values))
        members = self.choices if queried is None else list(map(_Choice, queried))
        super().__init__(np.flatnonzero([choice in members for choice in self.choices]).tolist())
        self._slack = np.zeros(self.size)  # positions are exact

    @classmethod
    def from_spec(cls, name, *values):
        parts = _lists(cls, name, values, 2)
        for part in parts:
            choices = list(map(_Choice, part))
            for i, choice in enumerate(choices):
                if choice in choices[:i]:
                    got = f"{reprlib.repr(choice.value)} again"
                    raise invalid_domain(name, "made of distinct values", got=got)
        unknown = [v for v in parts[-1] if _Choice(v) not in map(_Choice, parts[0])]
        if unknown:
            name = f"The queried part of {name}"
            raise invalid_domain(name, "some of its values", unknown[0])
        return cls(*parts)

    @property
    def values(self):
        """All values in the user's form."""
        return [choice.value for choice in self.choices]

    @property
    def numbers(self):
        """All values (m,) as numbers; None if they are not finite numbers."""
        are_numbers = all(isinstance(v, numbers.Real) and math.isfinite(v) for v in self.values)
        return np.array(self.values, dtype=np.float64) if are_numbers else None

    @property
    def listed(self):
        numbers = self.numbers
        return self._members, None if numbers is None else numbers[self._members.astype(int)]

    @property
    def queried(self):
        """Values that may be queried."""
        return [self.choices[int(i)].value for i in self._members]

    @property
    def spec(self):
        return (self.kind, self.values, *([self.queried] if self.size < len(self.choices) else []))

    @property
    def key(self):
        return self.kind, self.choices, tuple(self._members.tolist())

    def encode(self, value, name):
        if _Choice(value) in self.choices:
            return float(self.choices.index(_Choice(value)))
        at = self._rounded(value)
        if at is None:
            raise invalid_domain(name, f"one of {self.values}", value)
        return float(at)

    def _rounded(self, value):
        """Return the position of the only listed number that a value rounds, or None."""
        listed = self.numbers
        if listed is None or not _is_number(value) or not all(map(_is_number, self.values)):
            return None
        order, value = np.argsort(listed), float(value)
        near = np.abs(listed[order] - value) <= self._slacks(listed[order])
        near &= have_fewer_digits(np.full(len(order), value), listed[order])
        return order[near][0] if np.count_nonzero(near) == 1 else None

    def of_table(self, value):
        # Columns hold NaN for None, and 1.0 for 1 beside NaN.
        if _Choice(value) in self.choices:
            return value
        if _Choice(None) in self.choices and is_gap(value):
            return None
        kinds = numbers.Real, date
        same = [v for v in self.values if isinstance(v, kinds) and v == value]
        return same[0] if len(same) == 1 and isinstance(value, kinds) else value

    def decode(self, v):
        return self.choices[round(float(v))].value


class Categorical(Ordinal):
    """Values without an order; the row holds the position of one, an integer."""

    kind = "categorical"
    order = "unordered"
    has_steps = False
    numbers = None
    expected = "the position of a category that may be queried, from {:.0f} to {:.0f}"

    def __init__(self, values, queried=None):
        super().__init__(values, queried)
        self.n_unit = len(values)

    def to_unit(self, V):
        # The distance of two categories is 1.
        return np.sqrt(0.5) * (np.arange(self.n_unit) == V)

    def from_unit(self, U):
        columns = self._members.astype(int)
        return self._members[np.argmax(U[:, columns], axis=1), np.newaxis]

    def neighbours(self, u):
        others = self._members[self._members != self.from_unit(u[np.newaxis])[0]]
        return self.to_unit(others[:, np.newaxis])


def _is_number(value):
    is_real = isinstance(value, numbers.Real) and not isinstance(value, bool | np.bool_)
    return is_real and math.isfinite(value)


def _lists(term, name, values, most):
    """Return the lists of values of a user's ``(kind, values, ...)``, at most ``most``."""
    parts = [v.tolist() if isinstance(v, np.ndarray) and v.ndim == 1 else v for v in values]
    lists = [isinstance(v, Sequence) and not isinstance(v, str | bytes) and v for v in parts]
    if not (all(lists) and 1 <= len(parts) <= most):
        expected = f"({term.kind!r}, values) with a list of at least one value"
        raise invalid_domain(name, expected, values)
    return parts


# --- categories -----------------------------------------------------------------------------------


class _Choice:
    """A category, equal to others of its value and type: 1 and True differ, NaN equals NaN.

    A NumPy scalar has the type of the Python number, text or bool that it holds.
    """

    def __init__(self, value):
        self.value = value
        plain = isinstance(value, np.bool_ | np.number | np.character)
        self._compared = value.item() if plain else value

    def __eq__(self, other):
        a, b = self._compared, other._compared
        return a is b or (type(a) is type(b) and bool(a == b or (a != a and b != b)))

    def __hash__(self):
        # The value itself may not be hashable, such as a list.
        return hash(type(self._compared))


_TERMS = Real, LogReal, Cyclic, Integer, LogInteger, Discrete, Ordinal, Categorical
_KINDS = {term.kind: term for term in _TERMS}
_SPECS = ", ".join(
    f"({kind!r}, {'values' if issubclass(term, Discrete) else 'low, high'})"
    for kind, term in _KINDS.items()
)
