"""Axes of the parameters of a domain: names, units, scales and values."""

from dataclasses import dataclass

import numpy as np

from .._validation import invalid
from ..domain import FiniteSet, ParameterSpace, WithContext
from ..domain._terms import Discrete, Integer, LogInteger, LogReal, Ordinal

# Largest number of integers that are drawn one by one.
_N_DISCRETE = 20


@dataclass(frozen=True, eq=False)
class Axis:
    """Parameter drawn along an axis.

    Attributes
    ----------
    name : str
    label : str
        Name and unit.
    values : ndarray of shape (m,)
        Values along the axis, as in a row of the domain: positions of ordinals and categories, and
        indices of arms.
    log : bool
        True for a logarithmic scale.
    texts : tuple of str or None
        Tick labels of ordinals and categories.
    discrete : bool
        True if no other value lies between two values.
    """

    name: str
    label: str
    values: np.ndarray
    log: bool = False
    texts: tuple | None = None
    discrete: bool = False

    @property
    def edges(self):
        """Edges of the cells (m + 1,) around the values."""
        v = np.log(self.values) if self.log else self.values
        if len(v) == 1:
            return np.array([v[0] - 0.5, v[0] + 0.5])
        middles = 0.5 * (v[1:] + v[:-1])
        edges = np.concatenate([[2.0 * v[0] - middles[0]], middles, [2.0 * v[-1] - middles[-1]]])
        return np.exp(edges) if self.log else edges

    def set_up(self, ax, which):
        """Set label, scale and ticks of the "x" or "y" axis of ``ax``."""
        options = {f"{which}label": self.label}
        if self.log:
            options[f"{which}scale"] = "log"
        if self.texts is not None:
            options[f"{which}ticks"] = self.values
            options[f"{which}ticklabels"] = self.texts
        ax.set(**options)
        are_whole = self.texts is None and (self.values == np.rint(self.values)).all()
        if self.discrete and are_whole and not self.log:
            from matplotlib.ticker import MaxNLocator

            getattr(ax, f"{which}axis").set_major_locator(MaxNLocator(integer=True))


def axes_of(domain, n_values, names=None, units=None):
    """Return an `Axis` for each dimension of a domain, or one for the arms of a `FiniteSet`.

    Axes of a context are last. ``names`` are those of the dimensions of a domain without names, and
    ``units`` is a dict by name.
    """
    units = {} if units is None else dict(units)
    chosen, context = _split(domain)
    axes = _axes_of(chosen, n_values, names, units)
    if context is not None:
        names = None
        if not isinstance(context, ParameterSpace):
            names = [f"context{i}" for i in range(context.n_dims)]
        axes += _axes_of(context, n_values, names, units)
    known = [axis.name for axis in axes]
    if unknown := units.keys() - set(known):
        raise invalid("units", f"a dict with some of {', '.join(known)}", got=str(sorted(unknown)))
    return axes


def _split(domain):
    """Return the domain of the parameters, and that of the context or None."""
    if isinstance(domain, WithContext):
        return domain.chosen, domain.context
    return domain, None


def _axes_of(domain, n_values, names, units):
    """Return the axes of a domain without a context."""
    if isinstance(domain, FiniteSet):
        label = _with_unit("index of the arm", units.get("arm"))
        return [Axis("arm", label, np.arange(float(domain.size)), discrete=True)]
    terms = [None] * domain.n_dims
    if isinstance(domain, ParameterSpace):
        if names is not None:
            raise invalid("names", "None for a domain that has names", names)
        names, terms = domain.names, domain._parameters.values()
    elif names is None:
        names = domain.columns
    elif len(names) != domain.n_dims:
        raise invalid("names", f"{domain.n_dims} of them, one per dimension", names)
    return [
        _axis(domain, i, name, term, units.get(name), n_values)
        for i, (name, term) in enumerate(zip(names, terms))
    ]


def _axis(domain, i, name, term, unit, n_values):
    """Return the axis of the i-th dimension, with its term among named parameters or None."""
    label, log = _with_unit(name, unit), isinstance(term, LogReal | LogInteger)
    if isinstance(term, Ordinal):
        return Axis(name, label, term.members(), texts=tuple(map(str, term.queried)), discrete=True)
    if isinstance(term, Discrete) or (isinstance(term, Integer) and term.size <= _N_DISCRETE):
        return Axis(name, label, term.members(), log, discrete=term.size <= _N_DISCRETE)
    # Quantiles of the domain's uniform distribution are geometric on a logarithmic scale.
    Q = np.full((n_values, domain.n_dims), 0.5)
    Q[:, i] = np.linspace(0.0, 1.0, n_values)
    return Axis(name, label, np.unique(domain.quantile(Q)[:, i]), log)


def _with_unit(name, unit):
    return name if unit is None else f"{name} ({unit})"


def rows_along(domain, i, values, row):
    """Return rows (m, d) that equal ``row`` (d,) except for the values (m,) of the i-th axis.

    Values along the axis of a `FiniteSet` are indices.
    """
    rows, (chosen, _) = np.tile(row, (len(values), 1)), _split(domain)
    if not isinstance(chosen, FiniteSet):
        rows[:, i] = values
    elif i == 0:
        rows[:, : chosen.n_dims] = chosen.points[np.asarray(values, dtype=np.intp)]
    else:
        rows[:, chosen.n_dims + i - 1] = values
    return rows


def n_chosen_axes(domain):
    """Return the number of axes of the parameters, which come before those of a context."""
    chosen, _ = _split(domain)
    return 1 if isinstance(chosen, FiniteSet) else chosen.n_dims


def coordinates(domain, X):
    """Return the coordinates (n, n_axes) of rows (n, d) along each axis."""
    chosen, _ = _split(domain)
    if not isinstance(chosen, FiniteSet):
        return X
    n = chosen.n_dims
    return np.column_stack([chosen.indices(X[:, :n]), X[:, n:]])
