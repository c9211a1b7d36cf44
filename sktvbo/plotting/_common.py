"""What the pictures share: axes, colours, and places along one axis."""

from ..domain import FiniteSet
from ..exceptions import MissingExtraError

# Okabe and Ito's colours, which colour-blind readers can tell apart, without the yellow that is
# lost on white. The line style changes when they have all been used.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_STYLES = ("-", "--", ":", "-.")


def look(i):
    """Colour and line style of the i-th algorithm."""
    return COLOURS[i % len(COLOURS)], _STYLES[i // len(COLOURS) % len(_STYLES)]


def pyplot(what):
    """Matplotlib's pyplot, or say which extra ``what`` needs."""
    try:
        # By itself: a submodule that was imported before would hide that matplotlib is gone.
        import matplotlib  # noqa: F401
        from matplotlib import pyplot as plt
    except ImportError as exc:
        raise MissingExtraError(f'{what} needs matplotlib: pip install "sktvbo[plot]".') from exc
    return plt


def axes(display, ax):
    """Axes for a display to draw on, new ones if need be."""
    plt = pyplot(f"{type(display).__name__}.plot")
    return new_axes(plt, display._figsize) if ax is None else ax


def new_axes(plt, figsize):
    """Axes of a new figure."""
    return plt.subplots(figsize=figsize, layout="constrained")[1]


def runs_on(comparison, problem):
    """Name of the problem, and its finished runs by algorithm, without those that have none.

    The problem may be None when the comparison has only one.
    """
    names = comparison.problems
    if problem is None and len(names) == 1:
        problem = names[0]
    if problem not in names:
        raise ValueError(
            f"problem must be one of {', '.join(names)}, the problems of the comparison, got "
            f"{problem!r}; make one display for each."
        )
    runs = {name: comparison.results.get((name, problem)) for name in comparison.algorithms}
    runs = {name: results for name, results in runs.items() if results}
    if not runs:
        raise ValueError(
            f"The comparison must have a finished run on {problem!r}, got none; see its failures."
        )
    return problem, runs


def has_one_axis(domain):
    """Whether all places of a domain can be drawn along one axis."""
    return isinstance(domain, FiniteSet) or domain.continuous.tolist() == [True]


def along_axis(domain, X):
    """Where points (n, d) of a domain with one axis are on it (n,)."""
    return domain.indices(X) if isinstance(domain, FiniteSet) else X[:, 0]


def axis_limits(places, arms):
    """Limits of the axis of places (n,)."""
    if arms:
        return -0.5, len(places) - 0.5
    margin = 0.02 * (places[-1] - places[0])
    return places[0] - margin, places[-1] + margin
