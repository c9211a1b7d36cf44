"""Shared parts of the displays: axes, styles, state of an optimizer, and inputs along one axis."""

from dataclasses import dataclass
from numbers import Real

import numpy as np

from .._validation import check_int, check_real, invalid
from .._values import replaced
from .._warnings import without_warnings
from ..domain import as_domain
from ..exceptions import AskTellError, LimitWarning, MissingExtraError
from ..gaussian_process._dates import DURATIONS, NUMBERS, UNITS, dates_of
from ..optimizers._durable import run_of, snapshot, with_run

# Okabe and Ito's colours, distinguishable by colour-blind readers, without yellow, which is hard to
# see on white. After the last colour the line style changes.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_STYLES = ("-", "--", ":", "-.")

# Above this many dots a vector picture has them as one image: otherwise it has megabytes.
N_VECTORS = 500

# Box that keeps a text legible on any background.
TEXT_BOX = {"boxstyle": "round,pad=0.2", "facecolor": "white", "edgecolor": "none"}


def line_style(i):
    """Return colour and line style of the i-th algorithm, as keywords of a line."""
    return {
        "color": COLOURS[i % len(COLOURS)],
        "linestyle": _STYLES[i // len(COLOURS) % len(_STYLES)],
    }


def merge_style(style, options, artist=None):
    """Return a display's style updated with the user's keywords, such as "lw" for "linewidth".

    ``artist`` is the class of the artist drawn; None: a line.
    """
    from matplotlib.cbook import normalize_kwargs
    from matplotlib.lines import Line2D

    return style | normalize_kwargs(options, artist or Line2D)


# --- axes -----------------------------------------------------------------------------------------

# Dataclass options of a display: its fields are the data that it shows.
display_data = dataclass(eq=False, repr=False)


class Display:
    """Base class of the displays: one panel, or one for each parameter or outcome."""

    _panel_size, _margin = (6.4, 4.2), (0.0, 0.0)

    # Times are dates, in ``time_unit`` since 1970.
    dates = False

    def _panels(self, axes, n=1, columns=None, **options):
        """Return n axes: the given ones, or new ones for None, at most three beside one another."""
        try:
            # Import the package first: its submodule may be in sys.modules although it is missing.
            import matplotlib  # noqa: F401
            from matplotlib import pyplot as plt
        except ImportError as exc:
            raise MissingExtraError(
                f'{type(self).__name__}.plot needs matplotlib: pip install "sktvbo[plot]".'
            ) from exc
        if axes is not None:
            axes = np.atleast_1d(np.asarray(axes, dtype=object)).ravel()
            if len(axes) != n:
                raise invalid("axes", f"{n} of them, one per panel", got=str(len(axes)))
            return axes
        columns = columns or (2 if n == 4 else min(n, 3))
        rows = -(-n // columns)
        size = np.array(self._panel_size) * (columns, rows) + self._margin
        options = {"figsize": size, "layout": "constrained", "squeeze": False} | options
        grid = plt.subplots(rows, columns, **options)[1].ravel()
        for spare in grid[n:]:
            spare.set_visible(False)
        for ax in grid[:n]:  # also of shared axes
            ax.tick_params(labelbottom=True)
        return grid[:n]

    def _on_axis(self, t):
        """Return times as they are drawn: dates in days."""
        return np.asarray(t) * (UNITS[self.time_unit] / UNITS["D"]) if self.dates else t

    def _time_text(self, t):
        """Return a time as text."""
        if not self.dates:
            return f"{t:.4g} {self.time_unit}".rstrip()
        date = dates_of(np.array([t]), self.time_unit)[0].astype("datetime64[m]")
        return str(date).replace("T", " ")

    def _set_up_time(self, ax):
        """Set label and ticks of the axis of times."""
        if not self.dates:
            ax.set_xlabel(f"time ({self.time_unit})" if self.time_unit else "time")
            return
        from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

        locator = AutoDateLocator(maxticks=7)
        ax.xaxis.set_major_locator(locator)
        ax.xaxis.set_major_formatter(ConciseDateFormatter(locator))

    def _draw_observations(self, ax, kept, removed, size):
        """Draw observations, rows (input, time): red dots if kept, black crosses if removed.

        Return the two lines.
        """
        are_many = len(kept) + len(removed) > N_VECTORS
        many = {"rasterized": are_many}
        if are_many:  # small ones, so that they hide less of the plot
            size = 3.0
        dot = {"color": "red", "markersize": size, "markeredgecolor": "white"} | many
        dot |= {"markeredgewidth": 0.7, "label": f"kept ({len(kept)})"}
        cross = {"color": "black", "markersize": size - 0.5, "markeredgewidth": 1.3} | many
        cross["label"] = f"removed ({len(removed)})"
        if are_many:
            cross |= {"alpha": 0.35, "markeredgewidth": 0.6}
            dot["markeredgewidth"] = 0.2
        else:
            cross["path_effects"] = outline(2.6, "white")
        crosses = ax.plot(self._on_axis(removed[:, 1]), removed[:, 0], "x", **cross)
        dots = ax.plot(self._on_axis(kept[:, 1]), kept[:, 0], "o", **dot)
        return [*dots, *crosses]

    def _finish(self, axes):
        """Store the axes and return the display, at the end of ``plot``."""
        self.ax_, self.figure_ = axes, axes.figure
        return self


class PanelDisplay(Display):
    """Base class of the displays with any number of panels, and a legend for all of them."""

    _panel_size, _margin = (4.2, 2.9), (0.6, 0.5)

    def _finish(self, axes):
        self.axes_, self.figure_ = axes, axes[0].figure
        handles, labels = axes[0].get_legend_handles_labels()
        width = 2.4  # of a column, in inches
        ncols = max(min(len(labels), 4, int(self.figure_.get_figwidth() // width)), 1)
        options = {"loc": "outside upper center", "ncols": ncols, "frameon": False}
        self.figure_.legend(handles, labels, **options)
        return self


def draw_band(ax, x, lower, upper, colour, **options):
    """Draw a pale band between two curves."""
    ax.fill_between(x, lower, upper, color=colour, alpha=0.2, linewidth=0, **options)


def set_left_label(ax, label):
    """Label the vertical axis, unless the axes have others of a grid on their left."""
    if ax.get_subplotspec() is None or ax.get_subplotspec().is_first_col():
        ax.set_ylabel(label)


def legend_above(ax, **options):
    """Draw a legend above the axes, where it hides no data."""
    ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), frameon=False, **options)


# --- observations and the optimum over time -------------------------------------------------------


def outline(width, colour):
    """Return path effects of an outline, which keep a line legible on any colour."""
    from matplotlib.patheffects import withStroke

    return [withStroke(linewidth=width, foreground=colour)]


def draw_best_places(ax, times, inputs, label, linewidth, **options):
    """Draw the curve of the best input over time, and return its line in a list."""
    effects = outline(linewidth + 1.4, "black")
    style = {"color": "cyan", "linewidth": linewidth, "path_effects": effects}
    return ax.plot(times, inputs, label=label, **style, **options)


def coloured_range(mean, part, maximize):
    """Return the range of a colour scale of the best part of some means, and its open end."""
    check_real(part, "coloured", interval="(0, 1]")
    if part == 1.0:
        return mean.min(), mean.max(), "neither"
    if maximize:
        return np.quantile(mean, 1.0 - part), mean.max(), "min"
    return mean.min(), np.quantile(mean, part), "max"


# --- state of an optimizer ------------------------------------------------------------------------


def taking_numbers(optimizer):
    """Return a copy of an optimizer that takes times as numbers, also after dates."""
    run = run_of(optimizer)
    return with_run(optimizer, replaced(run, time=replaced(run.time, kind=NUMBERS)))


class OptimizerView:
    """State of an optimizer that has a surrogate, for a display.

    Parameters
    ----------
    optimizer : optimizer
        It is not changed.

    Attributes
    ----------
    optimizer : optimizer
        A copy that takes times as numbers, also after dates.
    domain : Domain
    surrogate : estimator
    sign : float
        -1 when minimizing: the surrogate is then conditioned on -y.
    told : ndarray of shape (n_told, d + 1)
    removed : ndarray of bool of shape (n_told,)
        Mask of the told observations that are no longer in the data set.
    """

    def __init__(self, optimizer):
        self._snapshot = optimizer = snapshot(optimizer)
        self.surrogate = optimizer.surrogate_
        if self.surrogate is None:
            expected = "one that has fitted a surrogate"
            got = f"{type(optimizer).__name__} without one after {optimizer.n_told_} observations"
            advice = "RandomSearch never has one; others do after the initial points."
            raise invalid("optimizer", expected, got=got, advice=advice, error=AskTellError)
        self.optimizer = taking_numbers(optimizer)
        self.domain, self.sign = as_domain(optimizer.domain), 1.0 if optimizer.maximize else -1.0
        self.told, self.removed = optimizer.told_X_, np.isfinite(optimizer.removed_at_)

    @property
    def told_at(self):
        """Times of the told observations (n_told,); an error if there are none."""
        if not len(self.told):
            expected = "None, or an int of at least 1, for a display"
            raise invalid("history", expected, 0, self.optimizer)
        return self.told[:, -1]

    @property
    def now(self):
        """Latest time that was told to the optimizer, or asked for."""
        times = self.told_at
        asked = self.optimizer.next_time_
        return float(times.max()) if asked is None else max(float(times.max()), asked)

    def number(self, t):
        """Return a time, which may be a date, in the optimizer's unit."""
        return float(t) if isinstance(t, Real) else run_of(self._snapshot).read_time(t)[0]

    def recommend(self, t, context):
        """Return the point recommended at a time, which may be past, without a warning."""
        return without_warnings(LimitWarning, self.optimizer.recommend, t, context=context)

    def contexts(self, times, context=None):
        """Return a context for each time (list), None on a domain without one.

        It is the given one, or that of the latest observation until the time, or the first.
        """
        if context is not None:
            return [context] * len(times)
        order = np.argsort(self.told_at, kind="stable")
        latest = np.searchsorted(self.told_at[order], times, side="right") - 1
        rows = self.told[order[np.maximum(latest, 0)], :-1]
        return [self.domain.decode_context(row) for row in rows]

    def labels(self, labels):
        """Return the labels of a display, with its options for times."""
        return time_labels(self._snapshot, labels)

    def times(self, since, until, n_times):
        """Return evenly spaced times (n_times,), by default from the first observation to now."""
        check_int(n_times, "n_times", low=2)
        now = self.now
        since = float(self.told_at.min()) if since is None else self.number(since)
        until = now if until is None else self.number(until)
        if not since < until:
            raise invalid("until", f"later than since={since}", until)
        return np.linspace(since, until, n_times)


def time_labels(optimizer, labels):
    """Return the labels of a display, with its options for an optimizer's times."""
    if run_of(optimizer).time.kind in (None, NUMBERS):
        return labels
    return {"time_unit": optimizer.time_unit, "dates": True} | labels


# --- regressors -----------------------------------------------------------------------------------


def regressor_labels(gp, labels):
    """Return the labels of a display, with its options for the times of a fitted regressor."""
    if gp._fitted_kind == NUMBERS:
        return labels
    return {"time_unit": gp._fitted_unit, "dates": gp._fitted_kind != DURATIONS} | labels


def names_of_places(gp):
    """Return the names of a fitted regressor's columns except time (list); x, or x0, x1, ..."""
    n = gp.n_features_in_ - 1
    names = list(getattr(gp, "feature_names_in_", ()))
    if not names:
        return ["x"] if n == 1 else [f"x{i}" for i in range(n)]
    del names[gp._time_position]
    return [str(name) for name in names]
