"""Change of the domain of a run: another domain for the same observations."""

from dataclasses import dataclass

import numpy as np

from .._validation import invalid
from ..exceptions import DomainError
from ._base import Domain
from ._constrained import Constrained
from ._context import WithContext
from ._product import ParameterSpace
from ._terms import Categorical, Ordinal


class UnfitDomainError(DomainError):
    """Error for a domain that does not fit the observations of another one.

    Attributes
    ----------
    reason : str
        Expected and given domain, for another message.
    """


@dataclass(frozen=True)
class Change:
    """Change from one domain to another.

    Attributes
    ----------
    domain : Domain
        The new domain, with a number for each value that the old one had.
    positions : dict of int to ndarray
        New positions of the values of ordinals, by coordinate of a row.
    scales : ndarray of shape (n_unit,)
        Factors of distances in the unit form; 1 for categories.
    typical : float
        Their geometric mean over the coordinates of a row that had a width.
    """

    domain: Domain
    positions: dict
    scales: np.ndarray
    typical: float

    @classmethod
    def between(cls, old, new):
        """Return the change between two domains, or raise an `UnfitDomainError`.

        Ranges that are learnt stay those of the old one.
        """
        return cls.of_ranges(old, *_converted(old, new))

    @classmethod
    def of_ranges(cls, old, domain, positions=None):
        """Return the change to a domain that differs in the ranges, and in ``positions``."""
        positions = positions or {}
        ends, scales = np.array([old.lower, old.upper]), np.ones(domain.n_unit)
        new_ends = renumbered(ends, positions)
        before = np.diff(old.unit_of(ends), axis=0)[0][old.unit_columns]
        after = np.diff(domain.unit_of(new_ends), axis=0)[0][domain.unit_columns]
        wide = (before > 0.0) & (domain.kinds != "unordered")
        scales[domain.unit_columns[wide]] = after[wide] / before[wide]
        counted = wide | (domain.kinds == "unordered")
        logs = np.log(scales[domain.unit_columns[counted]])
        return cls(domain, positions, scales, float(np.exp(logs.mean())) if len(logs) else 1.0)

    def rows(self, rows):
        """Return rows (n, d), or with further columns, in the new domain, a new array."""
        return renumbered(rows, self.positions)


def renumbered(rows, positions):
    """Return rows (n, d), or with further columns, with new positions of the values of ordinals."""
    rows = np.array(rows)
    for column, new in positions.items() if rows.size else ():
        rows[:, column] = new[rows[:, column].astype(int)]
    return rows


def _converted(old, new):
    """Return the new domain with a number for each value of the old one, and new positions."""
    if isinstance(new, Constrained):
        domain, positions = _converted(old, new.domain)
        return Constrained(domain, new.constraints), positions
    if isinstance(old, Constrained):
        return _converted(old.domain, new)
    if isinstance(old, WithContext) or isinstance(new, WithContext):
        contexts = [getattr(domain, "context", None) for domain in (old, new)]
        if None in contexts:
            raise _refused("one with the same context", *contexts)
        domain, positions = _converted(old.chosen, new.chosen)
        context, of_context = _converted(*contexts)
        positions |= {old.n_chosen + i: new for i, new in of_context.items()}
        return WithContext(domain, context), positions
    if type(old) is not type(new):
        raise _refused("of the same kind", old, new)
    named = isinstance(old, ParameterSpace)
    in_order = sorted if named else list
    if in_order(old.columns) != in_order(new.columns):
        raise _refused("one with the same parameters", old.columns, new.columns)
    return _converted_terms(old, new) if named else (new, {})


def _converted_terms(old, new):
    """Return the same for named parameters, in the order of the old ones."""
    terms, positions = {}, {}
    for i, (name, before) in enumerate(old._parameters.items()):
        after = new._parameters[name]
        if before.kind != after.kind:
            expected = f"one with the same kind of {name!r}"
            raise _refused(expected, before.spec, after.spec)
        if isinstance(before, Ordinal):
            choices = _merged(before, after, name)
            after = type(before)([choice.value for choice in choices], after.queried)
            positions[i] = np.array([float(choices.index(choice)) for choice in before.choices])
        terms[name] = after
    space = ParameterSpace({name: term.spec for name, term in terms.items()})
    return space.ranging(old.lower, old.upper), positions


def _merged(before, after, name):
    """Return the values of an ordinal or categorical term, with those of the new one."""
    choices, end = list(before.choices), 0
    for choice in after.choices:
        if choice not in choices:
            choices.insert(len(choices) if isinstance(before, Categorical) else end, choice)
        elif choices.index(choice) < end and not isinstance(before, Categorical):
            expected = f"one with the same order of the values of {name!r}"
            raise _refused(expected, before.spec, after.spec)
        end = choices.index(choice) + 1
    return choices


def _refused(expected, before, got):
    """Return the error for a domain that does not fit the observations of another one."""
    expected = f"{expected} as before ({before})"
    advice = "Otherwise begin a new optimizer, and tell it the observations that fit."
    options = {"got": str(got), "advice": advice, "error": UnfitDomainError}
    error = invalid("The new domain", expected, **options)
    error.reason = f"{expected}. Got {got} instead."
    return error
