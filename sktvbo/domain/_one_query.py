"""The domain of one query: some parameters are fixed, or only some values are available now."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from .._validation import invalid_domain, invalid_observation
from .._values import replaced
from ..exceptions import DomainError
from ._constrained import Constrained
from ._context import WithContext
from ._finite import FiniteSet
from ._product import ParameterSpace
from ._rules import Rules
from ._terms import Categorical, Discrete, Real


def of_one_query(domain, fixed, available):
    """Return a domain, in its current context, whose search space is that of one query.

    Parameters
    ----------
    domain : Domain
    fixed : dict of str to object, or None
        Values of parameters, by the names of their columns.
    available : dict of str to list, array-like of shape (m, d), or None
        The only values that parameters may have, or the only members of a finite set.

    Returns
    -------
    Domain

    Raises
    ------
    InvalidObservationError
        An unknown name, or a value of a wrong type.
    DomainError
        A value is not one of the domain, or no point has all of these values.
    """
    if isinstance(domain, WithContext):
        return replaced(domain, chosen=of_one_query(domain.chosen, fixed, available))
    whole = domain.domain if isinstance(domain, Constrained) else domain
    terms, row, members = _terms(whole), np.full(whole.n_dims, np.nan), None
    given = {"fixed": fixed, "available": available}
    given = {name: value for name, value in given.items() if value is not None}
    if available is not None and not isinstance(available, Mapping):
        members, available = _members(whole, available), None
    for name, value in _named(fixed, "fixed", terms).items():
        row[list(terms).index(name)] = _number(terms[name], value, f"fixed[{name!r}]")
    lists = {
        name: _numbers(terms[name], values, f"available[{name!r}]")
        for name, values in _named(available, "available", terms).items()
    }
    names = list(terms)
    # Limits exclude single categories, but not single numbers.
    of_steps = {
        names.index(name): numbers
        for name, numbers in lists.items()
        if not isinstance(terms[name], Categorical)
    }
    fixed_to = {name: row[names.index(name)] for name in lists}
    is_other = any(v == v and v not in lists[name] for name, v in fixed_to.items())
    space, cause = replace(domain.search_space(), fixed=row), None
    try:
        space = space.within(*_limits(whole, terms, row, lists))
        if of_steps or members is not None:
            known = space.feasible
            rules = Rules([], whole, "a query") if known is None else known.rules
            rules = rules.among(of_steps, members)
            space = space.constrained(rules, None if known is None else known.find_known)
        is_empty = is_other or not space.allowed(space.candidates(1)).any()
    except DomainError as exc:
        is_empty, cause = True, exc
    if is_empty:
        got = " and ".join(f"{name}={value}" for name, value in given.items())
        expected = "values of some point of the domain"
        raise invalid_domain(" and ".join(given), expected, got=got) from cause
    return replaced(domain, _whole=space)


def _terms(domain):
    """Return the terms of a domain by the names of its columns."""
    if isinstance(domain, ParameterSpace):
        return dict(domain._parameters)
    if isinstance(domain, FiniteSet):
        terms = [Discrete(np.unique(column)) for column in domain.points.T]
    else:
        terms = [Real(low, high) for low, high in zip(domain.lower, domain.upper)]
    return dict(zip(domain.columns, terms))


def _named(values, what, terms):
    """Return a dict of values by name, all of whose names are known."""
    if values is None:
        return {}
    if not isinstance(values, Mapping) or not values.keys() <= terms.keys():
        expected = f"a dict of some of {', '.join(map(repr, terms))}"
        advice = "A context is given as context=..."
        raise invalid_observation(what, expected, values, advice=advice)
    return values


def _number(term, value, what):
    """Return the number in a row of a parameter's value, validated."""
    number = np.array([[term.encode(value, what)]])
    if not (np.isfinite(number).all() and term.inside(number).all()):
        expected = term.expected.format(term.low, term.high)
        raise invalid_domain(what, expected, value)
    return term.nearest(number).item()


def _numbers(term, values, what):
    """Return the numbers of a list of values, validated."""
    if isinstance(term, Real) and not np.isfinite(term.size):
        expected, advice = "of a parameter that has steps", "Limit a real by constraints."
        raise invalid_domain(what, expected, values, advice=advice)
    numbers = []
    if np.iterable(values) and not isinstance(values, str):
        numbers = [_number(term, value, what) for value in values]
    if not numbers:
        raise invalid_observation(what, "a list of at least one value", values)
    return numbers


def _limits(domain, terms, row, lists):
    """Return lowest and highest unit coordinates (u,) of the remaining values."""
    space = domain.search_space()
    low, high = space.lower.copy(), space.upper.copy()
    ends = np.append(domain.unit_columns[1:], domain.n_unit)
    for i, (name, term) in enumerate(terms.items()):
        numbers = lists.get(name, []) if np.isnan(row[i]) else [row[i]]
        if not numbers:
            continue
        columns = slice(domain.unit_columns[i], ends[i])
        if isinstance(term, Categorical):
            high[columns] = np.isin(np.arange(term.n_unit), numbers)
            if len(numbers) == 1:
                low[columns] = high[columns] = term.to_unit(np.array([numbers]))[0]
        else:
            rows = np.tile(domain.lower, (len(numbers), 1))
            rows[:, i] = numbers
            units = domain.unit_of(rows)[:, columns]
            low[columns], high[columns] = units.min(axis=0), units.max(axis=0)
    return low, high


def _members(domain, points):
    """Return some members of a finite set as rows (m, d)."""
    if not isinstance(domain, FiniteSet):
        expected = "a dict of values by parameter, or a list of members of a finite set"
        raise invalid_observation("available", expected, points)
    return domain.points[domain.indices(np.reshape(points, (-1, domain.n_dims)))]
