"""What the pictures share: axes, colours, the state of an optimizer, and places along one axis."""

from dataclasses import dataclass

import numpy as np

from .._validation import invalid
from ..domain import FiniteSet
from ..exceptions import AskTellError, DomainError, MissingExtraError

# Okabe and Ito's colours, which colour-blind readers can tell apart, without the yellow that is
# lost on white. The line style changes when they have all been used.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_STYLES = ("-", "--", ":", "-.")

# A text that must be legible on whatever is drawn below it stands in this box.
TEXT_BOX = {"boxstyle": "round,pad=0.2", "facecolor": "white", "edgecolor": "none"}

# This is the advice about an optimizer that has no surrogate.
NO_SURROGATE = "RandomSearch never has one; others do after n_initial_points."


def line_style(i):
    """Keywords of the i-th algorithm's line: its colour and line style."""
    return {
        "color": COLOURS[i % len(COLOURS)],
        "linestyle": _STYLES[i // len(COLOURS) % len(_STYLES)],
    }


def styled(style, options, artist):
    """The keywords of a display's own style, and a user's before them, as "lw" for "linewidth"."""
    from matplotlib.cbook import normalize_kwargs

    return style | normalize_kwargs(options, artist)


# --- axes -----------------------------------------------------------------------------------------

# The fields of a display are what it shows, as its docstring says.
stored = dataclass(eq=False, repr=False)


class Display:
    """What the displays share: the axes that they are drawn on."""

    _figsize = (6.4, 4.2)

    def _axes(self, ax):
        """The axes to draw on, new ones if need be."""
        plt = pyplot(f"{type(self).__name__}.plot")
        return new_axes(plt, self._figsize) if ax is None else ax

    def _drawn(self, ax):
        """Keep the axes, and return the display, as ``plot`` does at its end."""
        self.ax_, self.figure_ = ax, ax.figure
        return self


def pyplot(what):
    """Matplotlib's pyplot, or say which extra ``what`` needs."""
    try:
        # The package is imported by itself: a submodule that was imported before would hide that
        # it is gone.
        import matplotlib  # noqa: F401
        from matplotlib import pyplot as plt
    except ImportError as exc:
        raise MissingExtraError(f'{what} needs matplotlib: pip install "sktvbo[plot]".') from exc
    return plt


def new_axes(plt, figsize):
    """Axes of a new figure."""
    return plt.subplots(figsize=figsize, layout="constrained")[1]


def legend_above(ax, **options):
    """Draw a legend above the axes: inside it would hide what is drawn."""
    ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), frameon=False, **options)


# --- what is shown --------------------------------------------------------------------------------


def fitted_surrogate(optimizer):
    """The surrogate of an optimizer, or an AskTellError when it has none."""
    surrogate = optimizer.surrogate_
    if surrogate is None:
        raise invalid(
            "optimizer",
            "one that has fitted a surrogate",
            got=f"{type(optimizer).__name__} without one after {optimizer.n_told_} observations",
            advice=NO_SURROGATE,
            error=AskTellError,
        )
    return surrogate


def present(optimizer):
    """The latest time that an optimizer was told or asked for."""
    now = float(optimizer.told_X_[:, -1].max())
    return now if optimizer.next_time_ is None else max(now, optimizer.next_time_)


def was_removed(optimizer):
    """Which of the observations told (n,) are no longer in the data set."""
    return np.isfinite(optimizer.removed_at_)


def runs_on(comparison, problem):
    """Name of the problem, and its finished runs by algorithm, without those that have none.

    The problem may be None when the comparison has only one.
    """
    names = comparison.problems
    if problem is None and len(names) == 1:
        problem = names[0]
    if problem not in names:
        expected = f"one of {', '.join(names)}, the problems of the comparison"
        raise invalid("problem", expected, problem, advice="Make one display for each.")
    runs = {name: comparison.results.get((name, problem)) for name in comparison.algorithms}
    runs = {name: results for name, results in runs.items() if results}
    if not runs:
        expected = f"one with a finished run on {problem!r}"
        raise invalid("The comparison", expected, got="none", advice="See its failures.")
    return problem, runs


# --- places along one axis ------------------------------------------------------------------------


def has_one_axis(domain):
    """Whether all places of a domain can be drawn along one axis."""
    return isinstance(domain, FiniteSet) or domain.continuous.tolist() == [True]


def check_one_axis(domain, name, advice=""):
    """Raise a DomainError, which calls the domain ``name``, where its places need several axes."""
    if not has_one_axis(domain):
        expected = "of one real dimension, or a FiniteSet"
        raise invalid(name, expected, domain, advice=advice, error=DomainError)


def unit_places(domain, n_places):
    """Places (m, 1) along the axis, or all members of a finite set (m, u), in unit form."""
    if isinstance(domain, FiniteSet):
        return domain.to_unit(domain.points)
    return np.linspace(0.0, 1.0, n_places)[:, np.newaxis]


def place_label(label, arms):
    """The label of the axis of places that a user gave, or one that fits."""
    if label is None:
        return "index of the arm" if arms else "x"
    return label


def along_axis(domain, X):
    """Where points (n, d) of a domain with one axis are on it (n,)."""
    return domain.indices(X) if isinstance(domain, FiniteSet) else X[:, 0]


def axis_limits(places, arms):
    """Limits of the axis of places (n,)."""
    if arms:
        return -0.5, len(places) - 0.5
    margin = 0.02 * (places[-1] - places[0])
    return places[0] - margin, places[-1] + margin
