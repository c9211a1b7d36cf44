"""The axes of a domain's parameters: names, units, scales, and places along each."""

from dataclasses import dataclass

import numpy as np

from .._validation import invalid
from ..domain import FiniteSet, ParameterSpace, WithContext

# Up to this many whole numbers are drawn one by one.
_N_SINGLE = 20


@dataclass(frozen=True, eq=False)
class Axis:
    """One parameter, to be drawn along an axis.

    Attributes
    ----------
    name : str
    label : str
        With the unit.
    values : ndarray of shape (m,)
        Places along the axis, as in a row of the domain; positions of ordinals and categories,
        indices of arms.
    log : bool
    texts : tuple of str or None
        Of the positions.
    single : bool
        Whether there is nothing between two values.
    """

    name: str
    label: str
    values: np.ndarray
    log: bool = False
    texts: tuple | None = None
    single: bool = False

    @property
    def edges(self):
        """Ends of the cells (m + 1,) around the values."""
        v = np.log(self.values) if self.log else self.values
        if len(v) == 1:
            return np.array([v[0] - 0.5, v[0] + 0.5])
        middles = 0.5 * (v[1:] + v[:-1])
        edges = np.concatenate([[2.0 * v[0] - middles[0]], middles, [2.0 * v[-1] - middles[-1]]])
        return np.exp(edges) if self.log else edges

    def dress(self, ax, which):
        """Label the "x" or the "y" axis of some axes, with its scale and ticks."""
        options = {f"{which}label": self.label}
        if self.log:
            options[f"{which}scale"] = "log"
        if self.texts is not None:
            options[f"{which}ticks"] = self.values
            options[f"{which}ticklabels"] = self.texts
        ax.set(**options)


def axes_of(domain, n_values, names=None, units=None):
    """An `Axis` for each dimension of a domain, or one for the arms of a `FiniteSet`.

    Those of a context come last, where they usually are. ``names`` are those of what is chosen, if
    it has none; ``units`` are by name.
    """
    units = {} if units is None else dict(units)
    chosen, context = _parts(domain)
    axes = _axes_of(chosen, n_values, names, units)
    if context is not None:
        given = None
        if not isinstance(context, ParameterSpace):
            given = [f"context{i}" for i in range(context.n_dims)]
        axes += _axes_of(context, n_values, given, units)
    known = [axis.name for axis in axes]
    if unknown := units.keys() - set(known):
        raise invalid("units", f"a dict with some of {', '.join(known)}", got=str(sorted(unknown)))
    return axes


def _parts(domain):
    """What is chosen, and the context beside it, or None."""
    if isinstance(domain, WithContext):
        return domain.chosen, domain.context
    return domain, None


def _axes_of(domain, n_values, names, units):
    if isinstance(domain, FiniteSet):
        label = _with_unit("index of the arm", units.get("arm"))
        return [Axis("arm", label, np.arange(float(domain.size)), single=True)]
    specs = [("real",)] * domain.n_dims
    if isinstance(domain, ParameterSpace):
        if names is not None:
            raise invalid("names", "None for a domain that has names", names)
        names, specs = domain.names, list(domain.parameters.values())
    elif names is None:
        names = [f"x[{i}]" for i in range(domain.n_dims)]
    elif len(names) != domain.n_dims:
        raise invalid("names", f"{domain.n_dims} of them, one per dimension", names)
    return [
        _axis(domain, i, name, spec, units.get(name), n_values)
        for i, (name, spec) in enumerate(zip(names, specs))
    ]


def _axis(domain, i, name, spec, unit, n_values):
    # The places are spread as the domain's own draws are: geometrically along a logarithm.
    Q = np.full((n_values, domain.n_dims), 0.5)
    Q[:, i] = np.linspace(0.0, 1.0, n_values)
    kind = spec[0] if isinstance(spec, tuple) else None
    values = np.unique(domain.quantile(Q)[:, i])
    texts = None
    if kind in ("ordinal", "categorical"):
        values, texts = np.arange(float(len(spec[1]))), tuple(map(str, spec[1]))
    n_whole = domain.upper[i] - domain.lower[i] + 1.0
    whole = texts is not None or (kind in ("integer", "log-integer") and n_whole <= _N_SINGLE)
    if whole and texts is None:
        values = np.arange(domain.lower[i], domain.upper[i] + 1.0)
    return Axis(
        name, _with_unit(name, unit), values, kind in ("log-real", "log-integer"), texts, whole
    )


def _with_unit(name, unit):
    return name if unit is None else f"{name} ({unit})"


def rows_along(domain, i, values, row):
    """Rows (m, d) of the domain that differ from one (d,) along the i-th axis only.

    ``values`` (m,) are along this axis; of a `FiniteSet` they are indices.
    """
    rows, (chosen, _) = np.tile(row, (len(values), 1)), _parts(domain)
    if not isinstance(chosen, FiniteSet):
        rows[:, i] = values
    elif i == 0:
        rows[:, : chosen.n_dims] = chosen.points[np.asarray(values, dtype=np.intp)]
    else:
        rows[:, chosen.n_dims + i - 1] = values
    return rows


def coordinates(domain, X):
    """Where rows (n, d) are along each axis (n, n_axes)."""
    chosen, _ = _parts(domain)
    if not isinstance(chosen, FiniteSet):
        return X
    n = chosen.n_dims
    return np.column_stack([chosen.indices(X[:, :n]), X[:, n:]])
